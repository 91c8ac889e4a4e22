/*
 * evict_trial.h - who may leave for others, and leaving in a trial
 *
 * Runs go in this order: the lowest standing, the least work lost, the latest
 * start, the latest submitted.  What is taken in a trial is a list of steps,
 * on the work's trail; the index hears of them when they are kept.
 */
#ifndef AISCHEDD_SCHED_EVICT_TRIAL_H
#define AISCHEDD_SCHED_EVICT_TRIAL_H

#include "aischedd/sched/evict.h"

/* What a trial may do. */
enum evict_mode {
	MOVE,    /* take whoever finds another place */
	RECLAIM, /* of other queues, whom the rules allow to begin with */
	TAKE,    /* whom the rules allow to begin with */
	STRICT   /* whom they allow at his turn, should no one find a place */
};

/* Of evictor.left: what becomes of a task.  It was given up by its job, or
 * goes with all of it, by this trial; or it leaves for an earlier claim, and
 * this trial looks at its room, too (SEEN). */
enum { STAYS, GIVEN, GONE, LEFT, SEEN };

/* One task of a run leaves, or all that it has left. */
struct evict_step {
	uint32_t run;
	uint32_t task; /* index in snap.task; SNAP_NONE: all */
	bool seen;     /* it leaves anyway */
	bool stays;    /* it need not: until evict_trial_tidy() */
};

/* A run, or one of its tasks, that finds another place: what it gets there is
 * of the trial. */
struct evict_moved {
	uint32_t run;
	bool whole;
	size_t first_task, ntasks;
};

/* For whom nobody could move: the last few, see evict.c. */
enum { FUTILE_MAX = 32 };

struct evict_futile {
	struct evict_futile_one {
		uint32_t req, queue, user;
	} vain[FUTILE_MAX]; /* a ring */
	uint32_t n;         /* ever added; 0: forget all */
};

struct evictor {
	struct pass *p;
	const struct snap *s;
	struct work *w;

	uint32_t norder; /* runs that may go */

	/* Once somebody may take from them. */
	uint32_t *order;      /* they, the first to go first */
	uint32_t *rank;       /* by run: its place in order, or SNAP_NONE;
	                       * those that leave already come first */
	uint32_t *owner;      /* by task: its run */
	uint32_t *first, *at; /* by node: slice of tasks there, by rank */
	int64_t *surplus;     /* by run: tasks it could give up */
	int64_t *whole;       /* by run: all of it leaves */
	int64_t *left;        /* by task: STAYS, ... */
	uint64_t looks;       /* how much was tried in this pass */
	const struct domains *domains;

	/* Decided in this pass, by run. */
	uint8_t *why, *suspend; /* enum evict */
	uint64_t *by;
	struct arena_list evicted; /* runs */
	struct evict_futile futile;

	/* The trial. */
	const struct claimant *c;
	enum evict_mode mode;
	uint8_t *allowed; /* by queue: of what its branch uses more than its
	                   * share, before anything is taken; as bits */
	uint8_t *reach;   /* by node: the claimant is to go there */
	uint8_t *only;    /* by run: just these may go, if chosen is set */
	bool chosen;
	struct arena_list step, moved, offers;
	uint32_t *moved_at; /* by run: where in moved it is, if it is */
	size_t first_task;  /* in place: from there on they are of the trial */
	uint64_t worst;     /* cost of the dearest offer that was taken */
	struct snap_cpu_use *use; /* CPUs of one task */
	int64_t todo; /* tasks to place; on so many nodes, 0: any number */
	uint32_t nodes_left;
};

static inline struct evict_step *evict_step_at(const struct evictor *e,
                                               size_t i)
{
	return (struct evict_step *)e->step.p + i;
}

struct evictor *evict_trial_new(struct pass *p);

/* Before the first trial: who goes when, and where their tasks are. */
void evict_trial_list(struct evictor *e);

/* Where it, or the last of its tasks that moves, goes in this trial; or
 * NULL. */
const struct evict_moved *evict_trial_moved_of(const struct evictor *e,
                                               uint32_t run);

/* Whether all of it finds another place. */
bool evict_trial_moves(const struct evictor *e, uint32_t run);

/* Tasks that a run of so many could give up: none while it is stopped. */
static inline int64_t evict_trial_surplus(const struct snap *s, uint32_t run,
                                          int64_t ntasks)
{
	return s->run.suspended[run]
	           ? 0
	           : ntasks - s->req.min_tasks[s->run.req[run]];
}

/* So many tasks of a run, or (whole) the job, count as use of its queue again,
 * or (sign -1) no longer. */
void evict_trial_charge(struct evictor *e, uint32_t run, int64_t tasks,
                        bool whole, int sign);

/* A step more: what is left of a task that leaves anyway is looked at, a task
 * leaves, or a run. */
void evict_trial_see_task(struct evictor *e, uint32_t task);
void evict_trial_take_task(struct evictor *e, uint32_t task);
void evict_trial_take(struct evictor *e, uint32_t run);

/* Step i is taken back (the trail has both), and then forgotten. */
void evict_trial_untake(struct evictor *e, size_t i);
void evict_trial_drop(struct evictor *e, size_t i);

/* Of a run that leaves keep the tasks that may stay, if these are its minimum
 * or more (the trail has that); then, with evict_trial_tidy(), it only gives up
 * the others. */
typedef bool may_stay_fn(void *arg, uint32_t task);
bool evict_trial_shrink(struct evictor *e, uint32_t run, may_stay_fn *may_stay,
                        void *arg);

/* Steps of those who stay, from this one on, are forgotten. */
void evict_trial_tidy(struct evictor *e, size_t first);

/* The promises hear that what the run was to lose leaves, as they did. */
void evict_trial_tell_run(const struct evictor *e, uint32_t run);

/* The promises hear of a step: its tasks leave, or not. */
void evict_trial_tell(const struct evictor *e, const struct evict_step *step,
                      bool leave);

/* Undo the trail, and forget the steps from this one on. */
void evict_trial_undo(struct evictor *e, size_t mark, size_t nsteps);

/* The index hears of a run, or of the steps from this one on. */
void evict_trial_refresh_run(struct evictor *e, uint32_t run);
void evict_trial_refresh(struct evictor *e, size_t i);

/* Who moves counts as use of its queue where it goes (sign 1), or no more. */
void evict_trial_charge_moved(struct evictor *e, const struct evict_moved *m,
                              int sign);

#endif
