/*
 * cron_rule.h - the options of recurring work
 *
 * aisub takes them as --cron and --cron-*; requests to submit or update
 * recurring work have them as texts under the same names.
 */
#ifndef LIBCOMMON_CRON_CRON_RULE_H
#define LIBCOMMON_CRON_CRON_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "libcommon/buf.h"
#include "libcommon/err.h"

/* The policy for a time that comes while an earlier run has not ended: skip the
 * new run, start it as well, or start it and end the earlier ones. */
enum cron_policy { CRON_FORBID, CRON_ALLOW, CRON_REPLACE, CRON_POLICIES };

enum { CRON_JITTER_MAX_S = 3600 };

struct cron_rule {
	const char *schedule; /* text for schedule_parse() */
	const char *zone;     /* name in tzdata; "": the configured zone */
	enum cron_policy policy;
	bool make_up; /* run once for times that were missed */
	/* A missed time does not run if it is more than this many seconds ago;
	 * SCHEDULE_NEVER: it may run however old it is. */
	int64_t late_s;
	int64_t jitter_s; /* bound of the delay that is added to each time */
	int64_t until;    /* last time that may run, or SCHEDULE_NEVER */
};

/* The names of the options, without dashes: "cron", "cron-policy",
 * ..., NULL. */
extern const char *const cron_fields[];

/* Initialize a rule: it has no schedule, and all other options have their
 * defaults. */
void cron_rule_init(struct cron_rule *rule);

/*
 * Set one field from its text, which rule may point to afterwards. Relative
 * times count from `now`. Fails with EINVAL or ERANGE if the value is bad, with
 * ENOENT if there is no such field. The error text does not name the field.
 */
int cron_rule_set(struct cron_rule *rule, const char *field, const char *value,
                  int64_t now, struct err *err);

const char *cron_policy_name(enum cron_policy policy);

#endif
