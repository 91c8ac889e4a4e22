/*
 * promise.h - starts that are promised to jobs that cannot start now
 *
 * Backfill: the first jobs that do not fit are promised a start, each at the
 * earliest time at which it fits beside the promises made before, assuming that
 * running jobs end at their time limits. From then on no job is placed where it
 * would break a promise: place.c asks here before it uses a watched node, on
 * which something is promised or reserved. With one promise this is EASY
 * backfill, with many conservative backfill. A reservation is a promise to its
 * users with a fixed time and whole nodes. A job that cannot be promised a
 * start, because the jobs that block it have no known end, holds no job back.
 */
#ifndef AISCHEDD_SCHED_PROMISE_H
#define AISCHEDD_SCHED_PROMISE_H

#include "aischedd/sched/admit.h"
#include "aischedd/sched/place.h"
#include "aischedd/sched/plan.h"

struct promises;

/* Make the promises of a pass and set place->promises to them. Nodes of the
 * snapshot's reservations are watched from the start. */
struct promises *promise_new(struct place *place, const struct tally *tally);

/*
 * Promise a start to the job of the row, which cannot start now; place_for()
 * was called for it. Returns the time at which it starts at the latest, and
 * keeps its nodes for it from then on. Returns SNAP_NEVER, without a promise,
 * if that time cannot be known, or if backfill_depth jobs are already promised
 * a start. Jobs that wait for limits or licences (limited) are counted
 * separately; promises of nodes that are not there yet are not counted. last:
 * what the last plan promised the job, or NULL. *ret_blocker: the job whose end
 * it waits for, or 0.
 */
int64_t promise_make(struct promises *ps, uint32_t row, bool limited,
                     const struct snap_promise *last, uint64_t *ret_blocker);

/* Whether backfill_depth jobs are promised a start, so that promise_make()
 * makes no more promises. A job that had a promise (last) may have one of the
 * other kind: it may be the job ahead that changed its kind. */
bool promise_is_full(const struct promises *ps, bool limited,
                     const struct snap_promise *last);

/*
 * Jobs behind the row's next job are told no start that it may delay.
 * promise_open(): it starts as soon as it can, but when is not known;
 * place_for() was called for it. promise_bars_from(): from this time on it
 * holds back jobs of its queue that could use its nodes.
 * promise_holds_limits(): from this time until it starts it may hold back jobs
 * that use limits or licences.
 */
void promise_open(struct promises *ps, uint32_t row);
void promise_bars_from(struct promises *ps, uint32_t row, int64_t from);
void promise_holds_limits(struct promises *ps, uint32_t row, int64_t from,
                          int64_t until);

/* Whether the last promise made, to a job of this row that starts at this time,
 * is not delayed by a job ahead whose start is not known. */
bool promise_is_sure(const struct promises *ps, uint32_t row, int64_t at);

/*
 * Keep room for all jobs of a row that wait because their array runs as many
 * tasks as it may, from the next one on, a job of this member; place_for() was
 * called for it. Appends to *ret, as struct array_promise, those that may be
 * told their start.
 */
void promise_array(struct promises *ps, uint32_t row, uint32_t member,
                   uint32_t begun, struct arena_list *ret);

/* Note that the row's next job starts or, if n is 0, has a claim. `until` is
 * its end; task: the tasks with which it starts. */
void promise_began(struct promises *ps, uint32_t row, int64_t until,
                   const struct snap_task *task, uint32_t n);

/* List all promises made, as struct snap_promise, and their nodes. */
void promise_made(const struct promises *ps, const struct arena_list **ret,
                  const struct arena_list **ret_node);

/* Forbid later jobs of the queue (SNAP_NONE: of all queues) to use any node
 * that this job could use. */
void promise_bar(struct promises *ps, uint32_t queue, uint32_t req,
                 uint64_t job);

/*
 * Called after a trial (place_try, place_try_resume) for the row has failed.
 * Returns whether promises are the reason; then *v is Priority, with the job,
 * the node and the time of the promise.
 */
bool promise_explains(struct promises *ps, uint32_t row, struct verdict *v);

/*
 * Whether the reservation that the row names, if any, allows it to start; if
 * not, *v is Reservation and says why.
 */
bool promise_is_open(const struct snap *snap, uint32_t row, struct verdict *v);

/*
 * Whether promised jobs still get what they need of limits and licences if a
 * job takes this demand from now until `until`. If not, *v is Priority and says
 * what one of them would lack.
 */
bool promise_leaves_limits(struct promises *ps, const struct demand *d,
                           int64_t until, struct verdict *v);

/* Note that a job takes this demand of limits and licences from now until
 * `until`: a job of the row or, if `row` is SNAP_NONE, a running job. */
void promise_took(struct promises *ps, uint32_t row, const struct demand *d,
                  int64_t until);
/* Note a change of a run. promise_grew(): it has this many more tasks from now
 * on. promise_left(): this many of its tasks are evicted (whole: all that it
 * has) or suspended. promise_moved(): it is evicted and starts anew elsewhere,
 * until `until`. */
void promise_grew(struct promises *ps, uint32_t run, uint32_t ntasks);
void promise_left(struct promises *ps, uint32_t run, uint32_t ntasks,
                  bool whole, bool suspend);
void promise_moved(struct promises *ps, uint32_t run, int64_t until);

/* Whether promised jobs still get what they need of limits and licences if the
 * run moves. Call place_for_moved() for the run first. nmoves: how many runs
 * move. */
bool promise_may_move(const struct promises *ps, uint32_t run, size_t nmoves);
/* Whether promised jobs still get what they need of limits and licences if the
 * run is suspended. The time of its end is then not known. */
bool promise_may_suspend(const struct promises *ps, uint32_t run);

/*
 * Note that a trial evicts a task of a running job (index in snap.task), or no
 * longer does. Need not be called for jobs that an earlier plan evicted.
 */
void promise_leave(struct promises *ps, uint32_t task, bool leaves);

/* Returns the first job to end on the node that holds some of what is short, or
 * 0. what: enum resource or WHAT_*; most WHAT_* are taken as CPUs. */
uint64_t promise_blocker(struct promises *ps, uint32_t node, int64_t what);

/* Returns the next time at which a reservation begins or ends, or SNAP_NEVER.
 */
int64_t promise_wake(const struct snap *snap);

/* Called by place.c only. */

/* Prepare for the claim that place_for() has set. Returns whether promises must
 * be checked on every node, not only on watched ones. */
bool promise_begin(struct promises *ps, uint32_t req);

/* Whether n tasks of the request, for which place_for() was called, may be on a
 * watched node. */
bool promise_allows(struct promises *ps, uint32_t req, uint32_t node,
                    int64_t n);

/* Whether the present trial of struct place keeps all promises on watched
 * nodes, given the CPUs and devices that it chose. */
bool promise_allows_trial(struct promises *ps, uint32_t req);

/* Note that the tasks of the present trial of struct place are part of the
 * plan. A second call for the same trial does nothing. */
void promise_started(struct promises *ps, uint32_t req);

/* Note that one task (index in place->task) of the job being placed has a claim
 * on its node. */
void promise_claimed(struct promises *ps, uint32_t req, size_t task);

/* promise_back() forgets the tasks that were claimed since promise_mark()
 * returned this mark. */
size_t promise_mark(const struct promises *ps);
void promise_back(struct promises *ps, size_t mark);

/* Whether everything promised on the node fits beside the tasks known to be
 * there. */
bool promise_holds(struct promises *ps, uint32_t node);

#endif
