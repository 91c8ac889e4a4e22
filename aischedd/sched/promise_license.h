/*
 * promise_license.h - licences from now on
 *
 * What of each licence becomes free when running jobs end, and what promised
 * jobs keep of it. Each licence has a list of changes, which is made when it is
 * first asked for.
 */
#ifndef AISCHEDD_SCHED_PROMISE_LICENSE_H
#define AISCHEDD_SCHED_PROMISE_LICENSE_H

#include "aischedd/sched/place.h"

struct license_future;

struct license_future *license_future_new(const struct place *place);

/* Whether a request needs any licence. */
static inline bool license_future_needs(const struct snap *s, uint32_t req)
{
	return s->req.license_first[req] != s->req.license_first[req + 1];
}

/*
 * Returns the first time, from this one on, at which all licences of the
 * request are free for this length (SNAP_NEVER: for ever), or SNAP_NEVER.
 * *looks is increased by how many changes were looked at.
 */
int64_t license_future_start(struct license_future *f, uint32_t req,
                             int64_t from, int64_t length, size_t *looks);

/* Returns a running job that gives a licence of the request back at this time,
 * or 0. */
uint64_t license_future_blocker(const struct license_future *f, uint32_t req,
                                int64_t at);

/* Whether a job that starts now and ends then leaves promised jobs their
 * licences; if not, *ret_license is one that it would take from *ret_job. */
bool license_future_allows(struct license_future *f, uint32_t req,
                           int64_t until, uint32_t *ret_license,
                           uint64_t *ret_job);

/* Keep the licences of a job that is promised a start. */
void license_future_keep(struct license_future *f, uint32_t req, int64_t from,
                         int64_t until, uint64_t job);

/* Note that a job takes its licences from what is free now until then. */
void license_future_take(struct license_future *f, uint32_t req, int64_t until);

/* Note that a run is evicted: it ends now, or is suspended. */
void license_future_leave(struct license_future *f, uint32_t run, bool ends);
/* Whether promised jobs have their licences even if the run moves, and starts
 * anew until then; nmoves: how many runs move, as if each needed the same. */
bool license_future_may_move(const struct license_future *f, uint32_t run,
                             int64_t until, size_t nmoves);
/* Note that an evicted run starts anew elsewhere, until then. */
void license_future_move(struct license_future *f, uint32_t run, int64_t until);

#endif
