/*
 * cron_rule.h - the options of recurring work
 *
 * aisub takes them as --cron and --cron-*, the daemon as texts under the same
 * names, for updates, too.
 */
#ifndef LIBCOMMON_CRON_CRON_RULE_H
#define LIBCOMMON_CRON_CRON_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "libcommon/buf.h"
#include "libcommon/err.h"

/* Choices for a time at which an earlier run has not ended: no run, one more
 * run, or one that replaces the earlier ones. */
enum cron_policy { CRON_FORBID, CRON_ALLOW, CRON_REPLACE, CRON_POLICIES };

enum { CRON_JITTER_MAX_S = 3600 };

struct cron_rule {
	const char *schedule; /* schedule_parse() */
	const char *zone;     /* a name of tzdata, "": the configured one */
	enum cron_policy policy;
	bool make_up; /* run once for times that were missed */
	/* missed times further back do not run; SCHEDULE_NEVER: all may */
	int64_t late_s;
	int64_t jitter_s; /* each run is delayed by less than this */
	int64_t until;    /* no time after this one, or SCHEDULE_NEVER */
};

/* The names, as on the command line: "cron", "cron-policy", ..., NULL. */
extern const char *const cron_fields[];

/* Begin with no schedule, and the defaults of the rest. */
void cron_rule_init(struct cron_rule *rule);

/*
 * Take one value, which is borrowed if it is a text; now: for relative times.
 * Fails with EINVAL, or ENOENT if there is no such field. The text does not
 * name the field.
 */
int cron_rule_set(struct cron_rule *rule, const char *field, const char *value,
                  int64_t now, struct err *err);

const char *cron_policy_name(enum cron_policy policy);

#endif
