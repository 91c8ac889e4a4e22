/*
 * place.h - choose nodes for one job, all of its tasks or none
 *
 * A trial subtracts the tasks that it places from the counters (work.h) and
 * keeps place_index up to date. place_undo() undoes that; place_commit() makes
 * the tasks part of the plan.  All tasks of a job are in one pool; pools are
 * tried by weight, those of equal weight in the order of the configuration.
 */
#ifndef AISCHEDD_SCHED_PLACE_H
#define AISCHEDD_SCHED_PLACE_H

#include "aischedd/sched/domain.h"
#include "aischedd/sched/place_index.h"
#include "libcommon/constraint.h"
#include "libcommon/names.h"

/* The tasks and GPUs that the job being placed already has on a node. */
struct place_had {
	uint32_t tasks;
	uint64_t gpus;
};

/* The tasks that a running job gets next. opens: all of them on one node more,
 * in place of a node that a job with a number of nodes has lost. */
struct place_growth {
	uint32_t tasks;
	bool opens;
	/* by part of the constraint with a count: on how many more of the job's
	 * nodes it must hold; and how many nodes, or tasks if the job may have
	 * any number of nodes, the job gets after these */
	uint32_t wants[CONSTRAINT_MAX_COUNTS];
	uint32_t later;
};

struct place {
	const struct snap *snap;
	struct arena *arena;
	struct work *work;
	struct match *match;
	struct place_index *index;
	struct place_scarce *scarce; /* NULL: no GPUs are scarcer than others */
	uint32_t *own;         /* by node: tasks of the job being placed */
	struct place_had *had; /* by node: what running or starting tasks of
	                          this job have there */

	const struct domains *domains;
	struct place_topology *topology; /* the state of place_topology.c */
	struct spread *spread;           /* how a job that is spread is
	                                    divided */

	/* The claim that is being placed; see place_for(). */
	uint64_t job;
	uint32_t queue;
	int64_t until; /* when the tasks that are placed end, or SNAP_NEVER */
	/* the suspended run that the claim resumes, or SNAP_NONE */
	uint32_t run;
	uint64_t looks; /* nodes that were looked at in this pass */
	bool grows;     /* the claim is for more tasks of a job that already has
	                   tasks */
	struct place_growth growth; /* with grows: what the job gets next */
	/* No node may have more than `cap` tasks of the job `capped`; cap 0:
	 * any number. */
	uint64_t capped;
	uint32_t cap;

	/* The promises made to other jobs (promise.h). */
	struct promises *promises; /* NULL: there are none */
	uint8_t *watched; /* by node: 1 if promises must be checked there before
	                     a task is placed */
	uint32_t nkept;   /* how often future_keep() has kept a node for a
	                     promised job or a reservation */
	bool careful;     /* check promises on all nodes, not only on watched
	                     ones */
	bool heedless;    /* ignore all promises */

	/* All tasks placed so far; those of the trial come last. */
	struct snap_task *task;
	uint64_t *held; /* by task: its pieces; NULL if there are no pieces */
	struct snap_cpu_use *use;
	size_t ntasks, task_cap, nuse, use_cap;
	/* where the tasks, CPUs and trail of the trial begin */
	size_t first_task, first_use, mark;
	uint32_t pool, within; /* pool: use only this pool; within: only this
	                          domain; SNAP_NONE: any */
};

/* Why a trial failed, in the pool in which most tasks fit. */
struct place_lack {
	/* WHY_Topology, WHY_NumaAlignment, WHY_LinkAlignment, WHY_Partition,
	 * WHY_Devices or WHY_Affinity; WHY_None: an amount is short. */
	enum reason why;
	/* domain of the needed level in which most tasks fit */
	uint32_t domain;
	uint32_t got;   /* tasks that would fit */
	uint32_t node;  /* the node that has the most of what is short, or
	                   SNAP_NONE */
	int what;       /* enum resource, or WHAT_* */
	int64_t need;   /* what one task needs (WHAT_NODE: how many nodes) */
	int64_t have;   /* free on the node (WHAT_NODE: how many nodes fit) */
	int64_t total;  /* total of the node */
	int64_t sum;    /* free in the whole pool */
	bool scattered; /* enough of each resource is free in the pool, but
	                   scattered over nodes */
};

struct place *place_new(const struct snap *snap, const struct tally *tally,
                        struct arena *arena);

/*
 * Set the claim that later trials place: this job of the row, or more tasks of
 * the run. The job is assumed to end after its time limit or, without one,
 * after the assumed_time of its queue. New tasks of a run end with the run.
 */
void place_for(struct place *p, uint32_t row, uint64_t job);
void place_for_run(struct place *p, uint32_t run);
/* Returns the pieces of a task in p->task. */
static inline uint64_t place_pieces(const struct place *p, size_t task)
{
	return p->held ? p->held[task] : 0;
}

/* place_own() counts a task as one of the job being placed; had: the task
 * already runs or starts. place_disown() forgets all such tasks on a node. */
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

/* Returns how many nodes at the head of a list of n nodes are the same
 * as the first. */
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

/* Set the claim to all tasks of a run that moves: it starts again elsewhere,
 * and its time limit starts anew. */
void place_for_moved(struct place *p, uint32_t run);

/* Returns the trees (IN_*) of the index in which the request may use nodes. */
unsigned place_trees(const struct place *p, uint32_t req);

/*
 * Try to place this many tasks of the request on nodes in one of the trees
 * (IN_*). On failure nothing has changed, and *ret_lack (unless NULL) says why.
 * Several trials may be made in a row: place_undo() undoes all of them.
 */
bool place_try(struct place *p, uint32_t req, uint32_t tasks, unsigned trees,
               struct place_lack *ret_lack);

/* Try to give a suspended job CPUs on its nodes again. A failure is reported as
 * by place_try(). */
bool place_try_resume(struct place *p, uint32_t run,
                      struct place_lack *ret_lack);

/* Whether a job of the request may start on the node now: the request allows
 * the node, and the node is in TREE_OPEN (place_index.h). */
bool place_may_use(const struct place *p, uint32_t req, uint32_t node);

/* Whether a job of the request may run on these nodes, one for each task.
 * Checks the pool, the domains, the number of nodes, and the counts in the
 * constraint ("ib*2"). */
bool place_suits(struct place *p, uint32_t req, const uint32_t *node,
                 uint32_t n);

/* Whether n tasks of the job for which place_for() was called, including those
 * that it already has on the node, break no promise there. */
bool place_keeps_promises(const struct place *p, uint32_t req, uint32_t node,
                          int64_t n);

/* place_room() returns how many more tasks fit on a node that the request may
 * use, at most max; place_fits() whether n more fit. */
int64_t place_room(const struct place *p, uint32_t req, uint32_t node,
                   int64_t max);
bool place_fits(const struct place *p, uint32_t req, uint32_t node, int64_t n);

/* Set ret, by part of the constraint with a count, to the number of nodes on
 * which it does not hold yet but must, beside those in place->own. */
void place_count_wants(const struct place *p, uint32_t req,
                       uint32_t ret[CONSTRAINT_MAX_COUNTS]);

/* Whether a job whose tasks are in place->own may get its next task on the
 * node: each part of the constraint holds there that needs more new nodes than
 * the job gets later. */
bool place_grows_right(const struct place *p, uint32_t req, uint32_t node,
                       const struct place_growth *more);

/* Try to place more tasks. place_try_grow() does so for a running job, whose
 * tasks are in place->own; place_try_more() places one, for a job that starts
 * in this pass and has its first task on `node`. */
bool place_try_grow(struct place *p, uint32_t run, struct place_growth more,
                    struct place_lack *ret_lack);
bool place_try_more(struct place *p, uint32_t req, uint32_t node,
                    struct place_lack *ret_lack);
/* Try to place one more task of an exclusive job on a node that the job already
 * has to itself. */
bool place_try_beside(struct place *p, uint32_t req, uint32_t node);

/* place_begin() begins a trial in which the caller chooses the nodes;
 * place_put() places n tasks on a node on which they fit. */
void place_begin(struct place *p);
void place_put(struct place *p, uint32_t req, uint32_t node, int64_t n);
/* Place tasks on the first node of a list of n nodes, which has one entry for
 * each task: as many tasks as there are entries of this node at the head of the
 * list. Returns how many; 0 if the node has too little room for all its entries
 * in the list. */
uint32_t place_put_next(struct place *p, uint32_t req, const uint32_t *node,
                        uint32_t n);

void place_undo(struct place *p);

/* Keep the trial. If the request is exclusive, close its nodes to other jobs.
 */
void place_commit(struct place *p, uint32_t req);

#endif
