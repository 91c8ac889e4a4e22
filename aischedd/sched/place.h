/*
 * place.h - choose nodes for one job, all of its tasks or none
 *
 * A trial takes what it places from the counters (work.h) and keeps the index
 * up to date.  place_undo() gives everything back, place_commit() makes it part
 * of the plan.  All tasks of a job are in one pool; pools are tried in the
 * order of the configuration.
 */
#ifndef AISCHEDD_SCHED_PLACE_H
#define AISCHEDD_SCHED_PLACE_H

#include "aischedd/sched/domain.h"
#include "aischedd/sched/place_index.h"
#include "libcommon/names.h"

/* The tasks and GPUs that the job being placed already has on a node. */
struct place_had {
	uint32_t tasks;
	uint64_t gpus;
};

struct place {
	const struct snap *snap;
	struct arena *arena;
	struct work *work;
	struct match *match;
	struct place_index *index;
	struct place_scarce *scarce; /* NULL: no GPUs are scarcer than others */
	uint32_t *own;         /* by node: tasks of the job being placed */
	struct place_had *had; /* by node, of these */

	const struct domains *domains;
	struct place_topology *topology; /* place_topology.c's */

	/* The claim that is being placed; see place_for(). */
	uint64_t job;
	uint32_t queue;
	int64_t until;  /* end of what is placed, or SNAP_NEVER */
	uint32_t run;   /* the run that resumes, or SNAP_NONE */
	uint64_t looks; /* nodes that were looked at in this pass */
	bool grows;     /* the run has other tasks */

	/* The promises made to other jobs (promise.h). */
	struct promises *promises; /* NULL: nothing */
	uint8_t *watched;          /* by node: 1: ask the promises there */
	uint32_t nkept;            /* how many times room was kept on a node */
	bool careful;              /* ask the promises on all nodes */
	bool heedless;             /* ask the promises nowhere */

	/* All tasks placed so far; those of the trial come last. */
	struct snap_task *task;
	struct snap_cpu_use *use;
	size_t ntasks, task_cap, nuse, use_cap;
	size_t first_task, first_use, mark; /* where those of the trial begin */
	uint32_t pool,
	    within; /* use only this pool, this domain; or SNAP_NONE */
};

/* Why a trial failed, in the pool in which most tasks fit. */
struct place_lack {
	/* Topology, or an alignment; None: an amount is short. */
	enum reason why;
	/* domain of the needed level in which most tasks fit */
	uint32_t domain;
	uint32_t got; /* tasks that would fit */
	uint32_t
	    node; /* the node with the most of what is lacking, or SNAP_NONE */
	int what; /* enum resource, or WHAT_* */
	int64_t need;   /* needed for one task (WHAT_NODE: nodes) */
	int64_t have;   /* free on the node (WHAT_NODE: nodes that fit) */
	int64_t total;  /* total of the node */
	int64_t sum;    /* free in the pool */
	bool scattered; /* enough of everything is free in the pool */
};

struct place *place_new(const struct snap *snap, const struct tally *tally,
                        struct arena *arena);

/*
 * Place this job of the row from now on, or more tasks of the run. A job ends
 * by its time limit or the assumed_time of its queue; a run ends as before.
 */
void place_for(struct place *p, uint32_t row, uint64_t job);
void place_for_run(struct place *p, uint32_t run);
/* Count a task as one of the job being placed, which may already run or start
 * (had); or no longer count those on a node. */
static inline void place_own(struct place *p, const struct snap_task *task,
                             bool had)
{
	p->own[task->node]++;
	if (task->gpu_milli == 1000)
		p->work->own_gpus[task->node] |= task->gpus;
	if (had)
		p->had[task->node] =
		    (struct place_had){ p->own[task->node],
			                p->work->own_gpus[task->node] };
}

/* How many of n nodes are the same as the first one. */
static inline uint32_t place_same(const uint32_t *node, uint32_t n)
{
	uint32_t same = 1;

	while (same < n && node[same] == node[0])
		same++;
	return same;
}

static inline void place_disown(struct place *p, uint32_t node)
{
	p->own[node] = 0;
	p->had[node] = (struct place_had){ 0 };
	p->work->own_gpus[node] = 0;
}

/* Returns the end of the row's job if it starts now. */
int64_t place_row_end(const struct snap *s, uint32_t row);

/* Place a run that starts again elsewhere: its time limit starts anew. */
void place_for_moved(struct place *p, uint32_t run);

/* The trees (IN_*) that hold nodes which the request may use. */
unsigned place_trees(const struct place *p, uint32_t req);

/*
 * Try to place this many tasks of the request on nodes in one of the trees
 * (IN_*). On failure nothing has changed, and *ret_lack (unless NULL) says why.
 * Trials may follow each other: undo goes back to where the first began.
 */
bool place_try(struct place *p, uint32_t req, uint32_t tasks, unsigned trees,
               struct place_lack *ret_lack);

/* Try to give a suspended job its CPUs back on its nodes; otherwise as
 * place_try(). */
bool place_try_resume(struct place *p, uint32_t run,
                      struct place_lack *ret_lack);

/* Whether the request may run on the node: it is up and allowed. */
bool place_may_use(const struct place *p, uint32_t req, uint32_t node);

/* Whether these nodes, one for each task, suit a job of the request: pool,
 * domain, number, and the counted parts of its constraint. */
bool place_suits(struct place *p, uint32_t req, const uint32_t *node,
                 uint32_t n);

/* Whether n tasks of the job for which place_for() was called, including those
 * that it already has on the node, break no promise there. */
bool place_keeps_promises(const struct place *p, uint32_t req, uint32_t node,
                          int64_t n);

/* How many more tasks fit on a node that may be used, at most max; and whether
 * n more fit. */
int64_t place_room(const struct place *p, uint32_t req, uint32_t node,
                   int64_t max);
bool place_fits(const struct place *p, uint32_t req, uint32_t node, int64_t n);

/* Place one more task of a running job, beside those it has (own); or of a job
 * that starts, whose first tasks are placed. */
bool place_try_grow(struct place *p, uint32_t run, struct place_lack *ret_lack);
bool place_try_more(struct place *p, uint32_t req, uint32_t node,
                    struct place_lack *ret_lack);
/* The same on a node that an exclusive job already has for itself. */
bool place_try_beside(struct place *p, uint32_t req, uint32_t node);

/* A trial by hand: place n tasks on a node on which they fit. */
void place_begin(struct place *p);
void place_put(struct place *p, uint32_t req, uint32_t node, int64_t n);
/* The same for a list of n nodes, one for each task: place those tasks that the
 * first node gets in a row. Returns how many, or 0 if not all tasks fit that
 * the list gives to the node. */
uint32_t place_put_next(struct place *p, uint32_t req, const uint32_t *node,
                        uint32_t n);

void place_undo(struct place *p);

/* Keep the trial; an exclusive request closes its nodes to others. */
void place_commit(struct place *p, uint32_t req);

#endif
