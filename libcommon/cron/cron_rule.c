/* cron_rule.c - the options of recurring work */
#include "libcommon/cron/cron_rule.h"

#include <string.h>

#include "libcommon/cron/schedule.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"

static const char *const policies[CRON_POLICIES] = { "forbid", "allow",
	                                             "replace" };

const char *cron_policy_name(enum cron_policy policy)
{
	return policies[policy];
}

void cron_rule_init(struct cron_rule *rule)
{
	*rule = (struct cron_rule){ .zone = "",
		                    .make_up = true,
		                    .late_s = SCHEDULE_NEVER,
		                    .until = SCHEDULE_NEVER };
}

typedef int rule_fn(struct cron_rule *rule, const char *value, int64_t now,
                    struct err *err);

static int set_schedule(struct cron_rule *rule, const char *value, int64_t now,
                        struct err *err)
{
	struct schedule schedule;

	(void)now;
	if (schedule_parse(&schedule, value, err) < 0)
		return -1;
	rule->schedule = value;
	return 0;
}

static int set_policy(struct cron_rule *rule, const char *value, int64_t now,
                      struct err *err)
{
	(void)now;
	for (int i = 0; i < CRON_POLICIES; i++)
		if (!strcmp(value, policies[i])) {
			rule->policy = (enum cron_policy)i;
			return 0;
		}
	return err_set(err, EINVAL,
	               "bad policy '%s': use allow, forbid or replace", value);
}

static int set_missed(struct cron_rule *rule, const char *value, int64_t now,
                      struct err *err)
{
	(void)now;
	if (strcmp(value, "run") != 0 && strcmp(value, "skip") != 0)
		return err_set(err, EINVAL, "bad word '%s': use run or skip",
		               value);
	rule->make_up = *value == 'r';
	return 0;
}

static int set_late(struct cron_rule *rule, const char *value, int64_t now,
                    struct err *err)
{
	int64_t late;

	(void)now;
	if (parse_duration(value, &late, err) < 0)
		return -1;
	rule->late_s = late == TIME_UNLIMITED ? SCHEDULE_NEVER : late;
	return 0;
}

static int set_zone(struct cron_rule *rule, const char *value, int64_t now,
                    struct err *err)
{
	(void)now;
	(void)err;
	rule->zone = value;
	return 0;
}

static int set_jitter(struct cron_rule *rule, const char *value, int64_t now,
                      struct err *err)
{
	int64_t jitter;

	(void)now;
	if (parse_duration(value, &jitter, err) < 0)
		return -1;
	if (jitter == TIME_UNLIMITED || jitter > CRON_JITTER_MAX_S)
		return err_set(err, ERANGE, "'%s' is more than an hour", value);
	rule->jitter_s = jitter;
	return 0;
}

static int set_until(struct cron_rule *rule, const char *value, int64_t now,
                     struct err *err)
{
	if (!*value) {
		rule->until = SCHEDULE_NEVER;
		return 0;
	}
	return parse_time(value, now, &rule->until, err);
}

const char *const cron_fields[] = { "cron",       "cron-policy", "cron-missed",
	                            "cron-late",  "cron-tz",     "cron-jitter",
	                            "cron-until", NULL };
static rule_fn *const setters[] = { set_schedule, set_policy, set_missed,
	                            set_late,     set_zone,   set_jitter,
	                            set_until };
_Static_assert(ARRAY_SIZE(setters) + 1 == ARRAY_SIZE(cron_fields), "one each");

int cron_rule_set(struct cron_rule *rule, const char *field, const char *value,
                  int64_t now, struct err *err)
{
	for (size_t i = 0; cron_fields[i]; i++)
		if (!strcmp(field, cron_fields[i]))
			return setters[i](rule, value, now, err);
	return err_set(err, ENOENT, "recurring work has no field '%s'", field);
}
