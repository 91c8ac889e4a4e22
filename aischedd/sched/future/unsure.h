/*
 * unsure.h - jobs whose start is not known, and the starts that they may delay
 *
 * A job to which no start is promised, because too many are promised already,
 * starts some day all the same. A job behind it is told its start only if it
 * ends before that, or is on other nodes.
 */
#ifndef AISCHEDD_SCHED_FUTURE_UNSURE_H
#define AISCHEDD_SCHED_FUTURE_UNSURE_H

#include "aischedd/sched/place.h"

struct future_unsure;

struct future_unsure *future_unsure_new(const struct place *place);

/* Note that a job of this request starts some day, from this time on, and may
 * then use what jobs behind it need: nodes and, if it is limited, limits or
 * licences. */
void future_unsure_note(struct future_unsure *u, uint32_t req, bool limited,
                        int64_t from);

/* Note that jobs behind may not start: from this time on, those of the queue
 * that could use the nodes of this request; or, while a limit or licence is
 * held for a job (until SNAP_NEVER: for ever), those that are limited. */
void future_unsure_bar(struct future_unsure *u, uint32_t queue, uint32_t req,
                       int64_t from);
void future_unsure_hold(struct future_unsure *u, int64_t from, int64_t until);

/* A job that is promised a start. */
struct unsure_promise {
	uint32_t queue, req;
	bool limited; /* it counts against limits or licences */
	int64_t start, end;
	const uint32_t *node; /* n nodes; NULL: any that the request allows */
	uint32_t n;
};

/* Whether the job can be told its start. */
bool future_unsure_allows(const struct future_unsure *u,
                          const struct unsure_promise *job);

#endif
