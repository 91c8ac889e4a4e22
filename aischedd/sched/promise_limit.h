/*
 * promise_limit.h - what is left of limits and licences from now on
 *
 * Each licence and each limit that admit.h checks has a list of changes: what
 * running jobs give back when they end, and what promised jobs take and give
 * back. Lists are made when a promise is first sought.
 */
#ifndef AISCHEDD_SCHED_PROMISE_LIMIT_H
#define AISCHEDD_SCHED_PROMISE_LIMIT_H

#include "aischedd/sched/admit.h"
#include "aischedd/sched/place.h"

struct limit_future;

struct limit_future *limit_future_new(const struct place *place);

/* Whether the demand counts against any limit or licence. */
bool limit_future_counts(const struct limit_future *f, const struct demand *d);

/*
 * Returns the first time from `from` on at which all limits and licences have
 * room for the demand, for this length of time (SNAP_NEVER: for ever). Returns
 * SNAP_NEVER if there is no such time. Adds to *looks how many changes were
 * looked at.
 */
int64_t limit_future_start(struct limit_future *f, const struct demand *d,
                           int64_t from, int64_t length, size_t *looks);

/* Returns a job that, at this time, gives back some of what is demanded, or
 * 0. */
uint64_t limit_future_blocker(struct limit_future *f, const struct demand *d,
                              int64_t at);

/* A limit or licence of which a promised job would lack some. */
struct limit_lack {
	bool license;
	uint32_t name; /* the licence, or the queue */
	uint64_t job;
};

/* Whether promised jobs still get what they need if a job takes this demand
 * from now until `until`. If not, *ret says what one of them would lack. */
bool limit_future_allows(struct limit_future *f, const struct demand *d,
                         int64_t until, struct limit_lack *ret);

/* Keep the demand of a promised job for it, from its start until its end. */
void limit_future_keep(struct limit_future *f, const struct demand *d,
                       int64_t from, int64_t until, uint64_t job);
/* Undo a call of limit_future_keep(). */
void limit_future_release(struct limit_future *f, const struct demand *d,
                          int64_t from, int64_t until, uint64_t job);

/* Note that a job takes what it demands from now until `until`. back: what it
 * gives back then, which is more than `d` if it resumes. */
void limit_future_take(struct limit_future *f, const struct demand *d,
                       const struct demand *back, int64_t until);

/* Note that this many tasks of a run are evicted: they end now or, with
 * `suspend`, give back their CPUs. whole: no task of the run is left. */
void limit_future_leave(struct limit_future *f, uint32_t run, uint32_t ntasks,
                        bool whole, bool suspend);
/* Whether promised jobs lack nothing even if the run moves and starts anew,
 * until `until`. nmoves: how many runs move; assume that each of them needs as
 * much as this one. */
bool limit_future_may_move(struct limit_future *f, uint32_t run, int64_t until,
                           size_t nmoves);
/* Whether promised jobs lack nothing even if the run is suspended. The time of
 * its end is then not known. */
bool limit_future_may_suspend(struct limit_future *f, uint32_t run);
/* Note that an evicted run starts anew elsewhere, until `until`. */
void limit_future_move(struct limit_future *f, uint32_t run, int64_t until);

#endif
