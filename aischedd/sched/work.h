/*
 * work.h - the mutable side of a pass: what is free, what is used
 *
 * Flat counters copied from the snapshot.  Every change is written to the
 * trail, and a trial is undone by popping old values.  So an undo cannot fail,
 * and cannot miss a counter.  A struct work belongs to one pass, and lives in
 * its arena.
 */
#ifndef AISCHEDD_SCHED_WORK_H
#define AISCHEDD_SCHED_WORK_H

#include <stdbool.h>
#include <stddef.h>

#include "aischedd/sched/tally.h"

struct work_change {
	int64_t *at, old;
};

enum { WORK_BLOCK = 1024 };

/* While CPUs are chosen for a task: how many of a core are idle and not yet
 * chosen, how many it has, and how many of the idle ones come next. */
struct work_core {
	uint16_t idle, size, chosen;
};

/* The rest of a GPU that has partitions. blocked: how much is blocked,
 * which is the sum described in fit_mig.h; most: thousandths of the
 * GPU that the largest partition has which still fits. */
struct work_mig {
	uint16_t blocked, most;
};

enum { LOOSE_NUMA = 1, LOOSE_LINKS = 2, LOOSE_SLICES = 4, LOOSE_DEVS = 8 };

struct work {
	const struct snap *snap;
	struct arena *arena;

	/* By node: */
	int64_t *cpu, *mem, *tmp; /* free; may be < 0 */
	int64_t *slot;   /* how many more tasks the node takes; may be < 0 */
	int64_t *gpu;    /* free thousandths of all devices together */
	int64_t *whole;  /* devices wholly free */
	int64_t *idle;   /* CPUs wholly free; 0 if CPUs are only counted */
	int64_t *tasks;  /* tasks there */
	int64_t *sealed; /* tasks of exclusive jobs there */

	int64_t *dev; /* by node, and there by kind (snap.dev): free devices
	                 other than GPUs; may be < 0 */
	/* by piece: 1 if it is free; 0 or below if tasks have it */
	int64_t *piece;
	const int64_t *piece_now; /* the same in the snapshot */
	/* the pieces of the task that fit_task() has placed last, as bits */
	uint64_t chosen;
	int64_t *device; /* by GPU: free thousandths; may be < 0 */
	/* the same in the snapshot; NULL: as it says */
	const int64_t *device_now;
	/* by device: how often each of its slices is taken, 8 bits each;
	 * NULL: no node can have partitions */
	int64_t *slices;
	const int64_t *slices_now; /* the same in the snapshot */
	/* by model of GPU and slices in use; see fit_mig_rests() */
	struct work_mig (*mig)[256];
	int64_t *thread;           /* by CPU: free thousandths */
	const int64_t *thread_now; /* the same in the snapshot */
	int64_t *numa_mem;         /* by NUMA node: free; may be < 0 */
	/* by NUMA node: its memory minus that of tasks bound to it */
	int64_t *numa_bound;
	const int64_t *numa_now, *bound_now; /* the same in the snapshot */
	struct work_core *core; /* scratch of fit.c, by core number */

	int64_t *license; /* by licence: how many are free */
	/* by queue: what it and all queues below it use */
	int64_t (*used)[RES_N];
	int64_t (*firm)[RES_N]; /* part of used: by jobs that may not be
	                           preempted */
	/* by queue: running jobs in it and in all queues below it */
	int64_t *jobs;
	/* The counters above are for the time at which all evicted jobs have
	 * ended and all claimants have started. At present, this much more is
	 * used, by queue: what evicted jobs still use, minus the claims; may be
	 * < 0. */
	int64_t (*late)[RES_N];
	int64_t *late_jobs;

	uint32_t *nusers; /* by queue: how many queues, from it up to the root,
	                     count users */
	uint64_t *user_key;     /* hash table with open addressing: queue and
	                           user, + 1 */
	int64_t (*user_use)[4]; /* by slot of user_key: enum user_count */
	size_t user_mask;

	/* By node: the whole GPUs that the job being placed has there; bit i:
	 * device i. */
	uint64_t *own_gpus;
	/* By node: the GPUs that jobs are promised there, as bits. A task that
	 * starts now takes others if there are any as good. Shared by all
	 * counters of a pass; NULL: none is promised. */
	uint64_t *awaited;
	/* By node: one more than the highest number of a NUMA node and of a
	 * link group; 0: not looked up yet, see fit_devices.h. */
	uint16_t *nnumas, *nlinks;
	struct snap_cpu_use *use; /* scratch: CPUs of one task */
	size_t use_cap;
	/* the sets of NUMA nodes and of GPUs that were tried for tasks, counted
	 * in looks at nodes, which take as much time */
	uint64_t *tried;

	bool grouped; /* some node has more than one link group of GPUs */
	/* Assume that tasks not bound to NUMA nodes move their memory
	 * elsewhere. Set while claims are settled, because such tasks may have
	 * started after the claim was granted. */
	bool fluid;
	unsigned loose; /* LOOSE_*: demands that are ignored, to explain why a
	                   job waits */

	/* in blocks of WORK_BLOCK changes, so that it grows without copies */
	struct work_change **trail;
	size_t ntrail, trail_cap;
};

/* Counters of a user in a queue; LATE_: like late_jobs and late of struct work,
 * but for the user. */
enum user_count { USER_JOBS, USER_GPUS, USER_LATE_JOBS, USER_LATE_GPUS };

struct work *work_new(const struct snap *snap, const struct tally *tally,
                      struct arena *arena);

/* Make counters of nodes only, without those of queues and users and without
 * numbers of tasks. The caller fills in each node with work_fill(): as it is
 * now, or as if nothing ran there. like: full counters of the same snapshot;
 * may be NULL if only WORK_EMPTY is used. */
enum work_kind { WORK_NOW, WORK_EMPTY };

struct work *work_new_blank(const struct snap *snap, const struct work *like,
                            struct arena *arena);
void work_fill(struct work *w, uint32_t node, enum work_kind kind);

static inline size_t work_mark(const struct work *w)
{
	return w->ntrail;
}

void work_add(struct work *w, int64_t *at, int64_t amount);
void work_undo(struct work *w, size_t mark);
void work_commit(struct work *w); /* forget the trail */

/*
 * A task of this request takes (sign -1) or gives back (1) what it holds on its
 * node: work_cpus() its CPUs (the counter, and those in `use`), work_rest()
 * everything else.
 */
void work_cpus(struct work *w, uint32_t req, uint32_t node,
               const struct snap_cpu_use *use, uint32_t nuse, int sign);
void work_rest(struct work *w, uint32_t req, const struct snap_task *task,
               int sign);

/* The same for pieces of a node, given as bits. */
void work_pieces(struct work *w, uint32_t node, uint64_t pieces, int sign);

/* Take or give back all that task t of a running job holds; a suspended one
 * holds no CPUs. If the job is exclusive, its node is closed to others, or
 * opened again. */
void work_run_task(struct work *w, uint32_t run, uint32_t t, int sign);

/* Whether what this task has taken was free: no GPU, slice or piece of its node
 * is taken twice, the memory and slots of its node suffice and, with `binds`,
 * the memory of its NUMA nodes suffices, too. */
bool work_is_sound(const struct work *w, const struct snap_task *task,
                   bool binds);

/* Add a job (sign 1) to the use of its queue and all ancestors, or remove it
 * (-1). work_charge() counts its resources; work_charge_job() counts its GPUs
 * for the user and, with `whole`, the job itself for queue and user. */
void work_charge(struct work *w, uint32_t queue, const int64_t amount[RES_N],
                 bool firm, int sign);
void work_charge_job(struct work *w, uint32_t queue, uint32_t user,
                     int64_t gpus, bool whole, int sign);

/* Change work.late: add what an evicted job uses until it has ended (sign 1),
 * or subtract what a claim will use only then (-1); whole: as for
 * work_charge_job(). */
void work_delay(struct work *w, uint32_t queue, uint32_t user,
                const int64_t amount[RES_N], bool whole, int sign);

/* Set ret to the resources of this many tasks of a run; without CPUs if it is
 * suspended. */
void work_amount(const struct snap *s, uint32_t run, int64_t tasks,
                 int64_t ret[RES_N]);

/* Returns the counters of a user in a queue, by enum user_count. */
int64_t *work_user(struct work *w, uint32_t queue, uint32_t user);

#endif
