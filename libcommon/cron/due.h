/*
 * due.h - find the time of recurring work that runs now
 *
 * A time is missed if nobody looked at it in time: the daemon was away, the
 * machine slept, or the clock jumped over it. Only the latest of all missed
 * times may run, and only if the work allows it; the others are counted.
 */
#ifndef LIBCOMMON_CRON_DUE_H
#define LIBCOMMON_CRON_DUE_H

#include "libcommon/cron/schedule.h"

/* A time is missed if nobody looks within this many seconds. */
#define DUE_SLACK_S 60

struct due_rule {
	const struct schedule *schedule;
	const struct zone *zone;
	int64_t created;
	int64_t until; /* no time after this; SCHEDULE_NEVER: for ever */
	int64_t shift; /* each time is delayed by this: due_shift() */
	/* missed times further back do not run; SCHEDULE_NEVER: all may */
	int64_t late_s;
	bool make_up; /* a missed time may still run */
};

struct due {
	int64_t time;    /* of the schedule, to run now; or SCHEDULE_NEVER */
	int64_t last;    /* all times up to this one are settled */
	int64_t next;    /* of the schedule; SCHEDULE_NEVER: there is none */
	int64_t wake;    /* next, with the delay of this work; SCHEDULE_NEVER */
	uint64_t missed; /* times since the last one that do not run */
};

/* Find what is due now. last: due.last of the call before, or when the work was
 * made; up_since: since when each time has been looked at. */
void due_look(const struct due_rule *rule, int64_t last, int64_t up_since,
              int64_t now, struct due *ret);

/* Returns by how much this work is delayed, less than `most`: the same after
 * each restart. @every is never delayed. */
int64_t due_shift(const struct schedule *schedule, const char *cluster,
                  uint64_t id, int64_t most);

#endif
