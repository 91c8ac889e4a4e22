/*
 * verdict.h - why a job waits: the reason, its numbers and the sentence
 */
#ifndef AISCHEDD_SCHED_VERDICT_H
#define AISCHEDD_SCHED_VERDICT_H

#include "aischedd/sched/match.h"
#include "aischedd/sched/snap.h"
#include "libcommon/buf.h"
#include "libcommon/names.h"

/* Values of verdict.what beyond enum resource: other things that can be short
 * or limited. */
enum {
	WHAT_NODE = RES_N, /* one more node, or one without other jobs */
	/* whole CPUs; in NeverFits: all that a task needs, on one node */
	WHAT_DEVICES,
	/* nothing is short, but what is free is kept for other jobs */
	WHAT_KEPT,
	WHAT_FEATURES, /* a node that the job may use at all, of any size */
	WHAT_GANG,     /* each task fits, but not all of them together */
	WHAT_LICENSES,
	WHAT_PART_OF_GPU, /* a number of GPUs above 1 that is not whole */
	WHAT_JOBS,        /* a limit on the number of jobs */
	WHAT_NUMA,        /* all that a task needs, on one NUMA node */
	WHAT_COUNTS,      /* nodes that the constraint counts */
	WHAT_DOMAIN,      /* one domain of the level that the job needs */
	WHAT_SLOT,        /* one more task on the node */
	WHAT_LINKS,       /* GPUs in the fewest link groups */
	WHAT_SLICES,      /* slices of a GPU where its partition may be */
	WHAT_TMP,         /* disk of the node */
	WHAT_DEV,         /* WHAT_DEV + i: devices of kind i */
	/* WHAT_NEAR + i: devices of kind i where the task needs them */
	WHAT_NEAR = WHAT_DEV + DEVICE_KINDS
};

/* For whom a node or a limit is kept. */
enum kept_for {
	KEPT_PROMISE,     /* a job that is promised a start there */
	KEPT_WAITER,      /* a job that has waited for the node for long */
	KEPT_RESERVATION, /* the users of a reservation */
	/* for nobody: the job would outlast its own reservation */
	KEPT_OWN_END,
	KEPT_ENTITLED, /* a job that would evict this one; no node is named */
	KEPT_LIMIT     /* a job that has waited for the limit for long, or is
	                * promised what is left of it */
};

/* Why a job may not start within the reservation that it names. */
enum resv_fault { RESV_BEGINS, RESV_IS_OVER, RESV_OF_OTHERS };

/*
 * Why jobs of a row wait. The verdict is about the first job of the row that
 * does not start; WHY_None: all jobs start. A job whose array runs as many
 * tasks as it may (member.room) is passed over while another job of the row
 * waits for something else.
 */
struct verdict {
	enum reason why;
	uint32_t started; /* how many jobs of the row start in this plan */
	uint64_t first; /* the waiting job that the verdict is about, 0: none */
	/* the job that the waiting job waits for, 0: none in particular */
	uint64_t job;
	/* what users call this job; NULL: its number */
	const char *job_name;
	int64_t expected;  /* expected start, SNAP_NEVER: cannot be known */
	uint32_t position; /* 1: the job is the next of its queue */
	/* an earlier pass judged the row and its verdict still holds; `why` is
	 * WHY_Unevaluated */
	bool kept;
	/* enum judged: JUDGED_PROMISED or JUDGED_OPEN, for the next pass of the
	 * round, although no start is told; else JUDGED_NO */
	uint8_t judged;
	uint32_t name; /* node, queue, pool, licence or reservation that
	                * the sentence names, or SNAP_NONE */
	int what;      /* what is short or limited: enum resource or WHAT_* */
	union {
		/* Resources, Fragmentation, GangPartial, Topology,
		 * NumaAlignment, LinkAlignment, Partition, Devices, NodeDown;
		 * and NeverFits, unless a licence is short. */
		struct verdict_lack {
			/* what one task needs, or how many nodes or NUMA nodes
			 * are needed; Partition: the index of the GPU */
			int64_t need;
			union {
				/* free on node `name`; NeverFits: its total */
				int64_t have;
				int64_t numa_gpus; /* GPUs free on the NUMA node
				                      with the most */
				int64_t link_gpus; /* GPUs free in the link
				                      group with the most */
				int64_t slices;    /* free on GPU `need` */
				enum match_lack kind; /* WHAT_FEATURES: what the
				                         closest nodes lack */
			};
			union {
				int64_t total;     /* of node `name` */
				int64_t numa_cpus; /* CPUs free on that NUMA
				                      node; -1: not counted */
				int64_t all_gpus;  /* free on the node */
			};
			union {
				int64_t sum;      /* free in the pool */
				int64_t numa_mem; /* memory free on that NUMA
				                     node; -1: not counted */
			};
			uint32_t got;    /* tasks that fit */
			uint32_t domain; /* Topology: the domain with the most
			                    room */
		} lack;
		/* QueueLimit, ExceedsQueueLimit, QueueQuota, QueueMaxJobs,
		 * UserLimit, Licenses; and NeverFits, if a licence is short. */
		struct verdict_limit {
			int64_t need, used, max;
		} limit;
		/* Priority */
		struct {
			enum kept_for whom;
			uint32_t resv; /* KEPT_RESERVATION, KEPT_OWN_END */
			int64_t start; /* KEPT_PROMISE: the promised start */
			int64_t end;   /* KEPT_RESERVATION: when the waiting job
			                * would end, or SNAP_NEVER */
			bool license;  /* KEPT_LIMIT: `name` is a licence */
		} keep;
		enum resv_fault resv; /* Reservation */
		int64_t retry_at;     /* StartFailed: time of the next try */
		uint32_t held; /* Preempting: tasks for which nodes are held */
		/* NodesComing: for how many nodes the job waits, including node
		 * `name`; 0: it is not known when the job can start */
		uint32_t ncoming;
	};
};

/* Returns the reason that users see. This is Reservation, not Priority, if a
 * reservation keeps the node or if the job would outlast the reservation that
 * it names; otherwise v->why. */
enum reason verdict_reason(const struct verdict *v);

/* Append the reason as a sentence with its numbers. */
void verdict_text(const struct snap *snap, uint32_t row,
                  const struct verdict *v, struct buf *out);

#endif
