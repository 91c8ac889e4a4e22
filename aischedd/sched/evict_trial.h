/*
 * evict_trial.h - the order of victims, and evictions on trial
 *
 * Victims are ordered by standing, the lowest first; among equals by the work
 * lost, the least first; then by the time of start, then of submission, the
 * latest first. A trial is a list of steps. work_undo() undoes them, but not
 * the changes of place_index: see evict_trial_refresh().
 */
#ifndef AISCHEDD_SCHED_EVICT_TRIAL_H
#define AISCHEDD_SCHED_EVICT_TRIAL_H

#include "aischedd/sched/evict.h"

/* The modes of a trial. */
enum evict_mode {
	MODE_MOVE, /* move runs to other places; evict none for good */
	/* evict from other queues, as far as the rules allow in the state
	 * before the trial */
	MODE_RECLAIM,
	/* evict from any queue, as far as the rules allow in the state before
	 * the trial */
	MODE_TAKE,
	/* evict from any queue, as far as the rules allow after the victims
	 * taken so far, assuming that there is no other place for any of them
	 */
	MODE_STRICT
};

/* Values of evictor.left, the fate of a task. FATE_STAYS: it is not evicted;
 * FATE_GIVEN: this trial evicts the task, but not its whole run; FATE_GONE:
 * this trial evicts its whole run; FATE_LEFT: it is already being evicted for
 * an earlier claim; FATE_SEEN: the same, and this trial uses what the task
 * still holds. */
enum evict_fate { FATE_STAYS, FATE_GIVEN, FATE_GONE, FATE_LEFT, FATE_SEEN };

/* A step of a trial: it evicts one task of a run, or all tasks that the run
 * still has. */
struct evict_step {
	uint32_t run;
	uint32_t task; /* index in snap.task; SNAP_NONE: all of the run */
	bool seen;  /* the task is already being evicted for an earlier claim */
	bool stays; /* not evicted after all; evict_trial_tidy() then
	               removes the step */
};

/* A run, or one of its tasks, that the trial moves to another place.
 * first_task, ntasks: its new tasks in place->task. */
struct evict_moved {
	uint32_t run;
	bool whole;
	size_t first_task, ntasks;
};

/* The last few requests for which no job could be moved; see evict.c. */
enum { FUTILE_MAX = 32 };

struct evict_futile {
	struct evict_futile_one {
		uint32_t req, queue, user;
	} vain[FUTILE_MAX]; /* a ring buffer */
	uint32_t n; /* number of entries added so far; set to 0 to forget all */
};

struct evictor {
	struct pass *p;
	const struct snap *s;
	struct work *w;

	uint32_t norder; /* number of runs that may be evicted */

	/* Made by evict_trial_list() before the first trial. */
	uint32_t *order;      /* the runs, the first victim first */
	uint32_t *rank;       /* by run: its index in order, or SNAP_NONE */
	uint32_t *owner;      /* by task: its run */
	uint32_t *first, *at; /* by node: slice of the tasks there; those
	                         of ending runs come first, then by rank */
	int64_t *surplus;     /* by run: tasks above its minimum */
	int64_t *whole;       /* by run: > 0 if all of it is evicted */
	int64_t *left;        /* by task: FATE_STAYS, ... */
	struct evict_levels *levels;
	uint64_t looks; /* nodes and tasks looked at in this pass */
	/* of work.tried: how much of it earlier claimants used, and what it
	 * was when the search for the present one began */
	uint64_t tried, tried_before;
	const struct domains *domains;
	struct spread *spread; /* how the claimant is divided if it is spread */

	/* Evictions that were decided in this pass, by run: members of struct
	 * eviction. */
	uint8_t *why, *suspend;
	uint64_t *by;
	struct arena_list evicted; /* runs */
	struct evict_futile futile;

	/* Valid only during a trial. */
	const struct claimant *c;
	enum evict_mode mode;
	uint8_t *allowed; /* by queue: bits of the resources of which its branch
	                     used more than its share before the trial */
	uint8_t *reach;   /* by node: 1 if the claimant may be placed there */
	uint8_t *only;    /* by run: 1 if it may be evicted; ignored unless
	                     `chosen` is set */
	bool chosen;
	struct arena_list step, moved, offers;
	uint32_t *moved_at; /* by run: its index in moved, if it moves */
	/* index in place->task of the first task of the trial */
	size_t first_task;
	uint64_t worst;           /* cost of the most expensive offer that was
	                             taken */
	struct snap_cpu_use *use; /* scratch: CPUs of one task */
	int64_t todo;             /* tasks still to be placed */
	uint32_t nodes_left;      /* nodes still to be used; 0: any number */
	/* how many tasks to place at a time: a segment, or the share of a
	 * domain; 0: the whole job */
	uint32_t segment;
	uint32_t pool; /* use only this pool, or SNAP_NONE */
};

static inline struct evict_step *evict_step_at(const struct evictor *e,
                                               size_t i)
{
	return (struct evict_step *)e->step.p + i;
}

struct evictor *evict_trial_new(struct pass *p);

/* Compute the order of victims and list the tasks on each node. Further calls
 * do nothing. */
void evict_trial_list(struct evictor *e);

/* Called before each trial: count what the pass has started since the last
 * call. */
void evict_trial_begin(struct evictor *e);

/* Returns, as bits, the resources of which `branch` (the run's queue or a queue
 * above it) uses more than its share. The use of jobs that the run could
 * preempt in its queue is not counted. */
unsigned evict_trial_above(const struct evictor *e, uint32_t branch,
                           uint32_t run);

/* evict_trial_note_above() notes what evict_trial_above() would return at
 * present for each run of this queue; evict_trial_noted_above() returns that.
 */
void evict_trial_note_above(struct evictor *e, uint32_t queue, uint32_t branch);
unsigned evict_trial_noted_above(const struct evictor *e, uint32_t run);

/* Returns the new place of the run, or of the last of its tasks that moves, in
 * this trial; NULL if it does not move. */
const struct evict_moved *evict_trial_moved_of(const struct evictor *e,
                                               uint32_t run);

/* Whether all of the run moves to another place. */
bool evict_trial_moves(const struct evictor *e, uint32_t run);

/* Returns how many of a run's ntasks tasks are above its minimum; 0 while it is
 * suspended. */
static inline int64_t evict_trial_surplus(const struct snap *s, uint32_t run,
                                          int64_t ntasks)
{
	int64_t least = s->req.min_tasks[s->run.req[run]];

	return s->run.suspended[run] || ntasks < least ? 0 : ntasks - least;
}

/* Count this many tasks of a run as use of its queue again (sign 1), or no
 * longer (-1); with `whole`, count the job itself, too. */
void evict_trial_charge(struct evictor *e, uint32_t run, int64_t tasks,
                        bool whole, int sign);
/* Count this amount of a run as used again, or no longer. */
void evict_trial_charge_amount(struct evictor *e, uint32_t run,
                               const int64_t amount[RES_N], bool whole,
                               int sign);

/* Add a step to the trial: use what an ending task still holds (see_task),
 * evict a task (take_task), or evict a run (take). */
void evict_trial_see_task(struct evictor *e, uint32_t task);
void evict_trial_take_task(struct evictor *e, uint32_t task);
void evict_trial_take(struct evictor *e, uint32_t run);

/* evict_trial_untake() takes step i back; work_undo() can undo this, too.
 * evict_trial_drop() removes the step from the list. */
void evict_trial_untake(struct evictor *e, size_t i);
void evict_trial_drop(struct evictor *e, size_t i);

/* Keep those tasks of an evicted run for which may_stay() returns true; if they
 * are fewer than the run's minimum, keep none. After evict_trial_tidy() the run
 * loses only the others. Returns whether tasks are kept. */
typedef bool may_stay_fn(void *arg, uint32_t task);
bool evict_trial_shrink(struct evictor *e, uint32_t run, may_stay_fn *may_stay,
                        void *arg);

/* Remove the spared steps, from index `first` on. */
void evict_trial_tidy(struct evictor *e, size_t first);

/* Tell the promises that all tasks of the run are evicted after all. */
void evict_trial_tell_run(const struct evictor *e, uint32_t run);

/* Tell the promises that the tasks of a step are evicted (leave), or
 * that they stay. */
void evict_trial_tell(const struct evictor *e, const struct evict_step *step,
                      bool leave);

/* Undo all changes of counters since work_mark() returned `mark`, and remove
 * the steps from nsteps on. */
void evict_trial_undo(struct evictor *e, size_t mark, size_t nsteps);

/* Update place_index for the nodes of a run, or of the steps from i on. */
void evict_trial_refresh_run(struct evictor *e, uint32_t run);
void evict_trial_refresh(struct evictor *e, size_t i);

/* Count a run or task that moves as use of its queue at its new place (sign 1),
 * or no longer (-1). */
void evict_trial_charge_moved(struct evictor *e, const struct evict_moved *m,
                              int sign);

#endif
