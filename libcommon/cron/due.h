/*
 * due.h - find the time of a schedule for which recurring work runs now
 *
 * A time of the schedule is missed if due_look() is not called within
 * DUE_SLACK_S after it: the daemon was down, the machine slept, or the clock
 * jumped over it. Only the latest of all missed times may still run, and only
 * if the work allows that; the others are counted.
 */
#ifndef LIBCOMMON_CRON_DUE_H
#define LIBCOMMON_CRON_DUE_H

#include "libcommon/cron/schedule.h"

/* If due_look() is not called within this many seconds after a time, the time
 * is missed. */
#define DUE_SLACK_S 60

struct due_rule {
	const struct schedule *schedule;
	const struct zone *zone;
	int64_t created;
	int64_t until; /* last time that may run; SCHEDULE_NEVER: there is no
	                  last one */
	/* Seconds, from due_shift(), that are added to each time. */
	int64_t shift;
	/* A missed time does not run if it is more than this many seconds ago;
	 * SCHEDULE_NEVER: it may run however old it is. */
	int64_t late_s;
	bool make_up; /* a missed time may still run */
};

struct due {
	int64_t time; /* time of the schedule to run now, or SCHEDULE_NEVER */
	int64_t last; /* all times up to this one have been run or counted as
	                 missed */
	int64_t next; /* next time of the schedule, or SCHEDULE_NEVER */
	/* When to call again: next plus shift, or SCHEDULE_NEVER. */
	int64_t wake;
	uint64_t missed; /* number of times since the previous call that are not
	                    run */
};

/* Find the time that is due now. `last` is due.last of the previous call, or
 * the time when the work was created. Times before `up_since` count as missed:
 * the daemon was not running then. */
void due_look(const struct due_rule *rule, int64_t last, int64_t up_since,
              int64_t now, struct due *ret);

/* Returns by how many seconds each time of this work is delayed: a number below
 * `most` that depends only on the cluster's name and the id, so it is the same
 * after a restart. Returns 0 for @every. */
int64_t due_shift(const struct schedule *schedule, const char *cluster,
                  uint64_t id, int64_t most);

#endif
