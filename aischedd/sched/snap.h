/*
 * snap.h - everything the scheduler looks at, as one immutable value
 *
 * Most members are arrays: during a pass, a node, queue or job is identified by
 * its index in them. Built by state_snapshot() or read from text (text.h) into
 * one arena, checked once by snap_check(). The planner relies on this check,
 * and only asserts. Lists of varying length are slices of one array: element i
 * has its entries first[i] .. first[i+1]-1.
 *
 * Resources are integers: CPUs and GPUs in thousandths, memory in MiB.
 */
#ifndef AISCHEDD_SCHED_SNAP_H
#define AISCHEDD_SCHED_SNAP_H

#include <stdbool.h>
#include <stdint.h>

#include "libcommon/conf/conf.h"
#include "libcommon/err.h"
#include "libcommon/mem.h"
#include "libcommon/mig.h"
#include "libcommon/spec/devices.h"

#define SNAP_NONE  UINT32_MAX
#define SNAP_NEVER (-1)      /* a time that never comes */
#define LEVEL_NONE 255       /* no level of the topology */
#define LEVEL_NODE 254       /* each node is a domain of its own */
#define SLOTS_ANY  INT32_MAX /* a node takes any number of tasks */
#define SNAP_NUMAS 32        /* NUMA nodes that a node may have */

enum node_state { NODE_UP, NODE_DRAIN, NODE_DOWN };

/* Whether a node exists, or autoscaling could add it. */
enum node_coming {
	NODE_HERE,
	NODE_OFF,  /* it can be asked for, and would be there at retry_at */
	NODE_ASKED /* it was asked for, and is expected at retry_at */
};

/* How many NUMA nodes each task of a request must or should use. The span of a
 * task is the least number of NUMA nodes that it could use on the node if the
 * node were empty. */
enum numa {
	NUMA_ANY,
	NUMA_PREFER, /* as close to its span as possible */
	NUMA_STRICT, /* one NUMA node */
	NUMA_TIGHT   /* exactly its span */
};

/* In how many link groups all GPUs of a job on one node must or should be. */
enum links {
	LINKS_PREFER, /* as few as the free GPUs allow */
	LINKS_ANY,
	LINKS_STRICT /* as few as if the node were empty */
};

/* The scheduling section of the configuration. */
struct snap_policy {
	uint8_t order; /* enum job_order */
	bool backfill, consolidate;
	uint32_t backfill_depth; /* how many jobs are promised a start */
	/* Points added to a job's priority: for each day that it has waited (at
	 * most seven), for asking for all that the cluster has, for a user
	 * without any past use. */
	int64_t age_weight, size_weight, fairshare_weight;
	int64_t hold_after; /* s, or CONF_NONE; see order_score_hold() */
	/* How many claims a pass answers before it stops; a claim that looks at
	 * many nodes counts as more than one. Work is counted, not time, so
	 * that a plan is the same on every machine. CONF_NONE: no bound. */
	int64_t budget;
};

struct snap_pools {
	uint32_t n; /* <= LIMIT_POOLS */
	const char *const *name;
	const uint8_t *order; /* enum node_order */
	/* 0: its runner is not ready; nothing starts there */
	const uint8_t *ready;
	const int64_t *weight; /* pools with less weight are tried first */
};

/* Nodes are divided into at most this many tiers, first by the job's
 * preferences that they meet, then by weight; all further nodes form one
 * tier. */
enum { SNAP_MOST_TIERS = 64 };

struct snap_nodes {
	uint32_t n;
	const char *const *name;
	const uint32_t *pool;
	const uint8_t *state;                /* enum node_state */
	const int64_t *cpu_total, *cpu_free; /* free <= total, may be < 0 */
	const int64_t *mem_total, *mem_free;
	const int64_t *tmp_total, *tmp_free;   /* MiB of its disk */
	const int64_t *slot_total, *slot_free; /* how many tasks it may run in
	                                          all; how many more */
	/* of each kind of device (snap.dev); free <= total, may be < 0 */
	const struct device_counts *dev_total, *dev_free;
	const uint32_t *gpu_first; /* slice of gpu */
	const uint32_t *cpu_first; /* slice of cpu; empty: CPUs are only
	                              counted */
	/* slice of piece; NULL if there are no pieces */
	const uint32_t *piece_first;
	/* slice of numa_mem: memory of its NUMA nodes, by number; empty: memory
	 * is not counted by NUMA node */
	const uint32_t *numa_first;
	const uint32_t *feature_first; /* slice of feature */
	const uint32_t *taint_first;   /* slice of taint */
	const uint32_t *domain; /* smallest topology domain, or SNAP_NONE */
	const uint8_t
	    *mig; /* enum mig_model: partitions that its GPUs can have */
	const int64_t *gpu_mem; /* MiB of each of its GPUs; 0: unknown */
	/* 1: its kubelet chooses the devices of tasks, so no task is moved to
	 * other devices there */
	const uint8_t *chooses;
	/* start nothing on the node before this time: a start failed there, or
	 * it is still coming */
	const int64_t *retry_at;
	const uint8_t *coming; /* enum node_coming */
	/* in a pool, nodes with less weight are taken first */
	const int64_t *weight;
};

struct snap_gpus { /* GPUs; the index in the node is the device number */
	uint32_t n;
	const uint16_t *free; /* free thousandths, 0 .. 1000 */
	const uint32_t *type; /* index of a word, SNAP_NONE: unknown */
	const uint8_t *numa;  /* NUMA node */
	const uint8_t *link;  /* link group: NVLink, PCIe switch */
	/* The partitions that it has for good (libcommon/mig.h): jobs get
	 * these, and never the whole GPU or a fraction of it. If it has none,
	 * and the node's model says which are made as needed: what others hold,
	 * and whether it is only given whole, or only in partitions. NULL: all
	 * are 0. */
	const uint64_t *parts;
	const uint16_t *root; /* PCIe root, 0: unknown; NULL: all unknown */
};

struct snap_cpus { /* hardware threads; the index in the node is the CPU
	              number */
	uint32_t n;
	const uint16_t *free; /* free thousandths, 0 .. 1000 */
	const uint16_t *core; /* equal for threads of one core */
	const uint8_t *numa;
};

struct snap_devs {  /* kinds of devices other than GPUs */
	uint32_t n; /* <= DEVICE_KINDS */
	const char *const *name;
};

/* Particular devices other than GPUs, on nodes where it is known where each of
 * them is; the index in the node is their number. There they are also counted,
 * like all devices. They are free unless a task has them. */
struct snap_pieces {
	uint32_t n;           /* 0: none, and all columns are NULL */
	const uint8_t *kind;  /* index in snap.dev */
	const uint8_t *numa;  /* NUMA node, or PIECE_NOWHERE */
	const uint16_t *root; /* PCIe root, as of GPUs; 0: unknown */
};

/* Its NUMA node is not known: for a task that is bound it may be any. */
#define PIECE_NOWHERE 255

struct snap_domains { /* parents before children */
	uint32_t n;
	const char *const *name; /* "z1/b1" */
	const uint32_t *parent;  /* SNAP_NONE at the top */
	const uint8_t *level;    /* 0 is the widest */
};

/* Nodes that only some users may use from start until end. */
struct snap_reservations {
	uint32_t n;
	const char *const *name;
	const int64_t *start, *end;
	const uint32_t *node_first; /* slice of resv_node */
	const uint32_t *user_first; /* slice of resv_user; empty: for no user */
};

struct snap_queues { /* parents before children; jobs are in leaf queues */
	uint32_t n;
	const char *const *name;
	const uint32_t *parent;        /* SNAP_NONE below the root */
	const int64_t (*quota)[RES_N]; /* CONF_NONE: no quota, no fair share */
	const int64_t (*limit)[RES_N]; /* CONF_NONE: no limit */
	const int64_t *weight, *priority;
	const int64_t *max_jobs, *max_jobs_user, *max_gpus_user;
	const int64_t *assumed_time; /* s, the time limit assumed for jobs
	                                without one, or CONF_NONE */
	const int64_t *max_wait;     /* s, or CONF_NONE; see
	                                order_score_hold() */
};

struct snap_users {
	uint32_t n;
	const char *const *name;
};

struct snap_licenses {
	uint32_t n;
	const char *const *name;
	const int64_t *total, *free; /* free may be < 0 after a reload */
};

/* Arrays of which only some tasks may run at a time. */
struct snap_arrays {
	uint32_t n;
	const char *const *name;
	const uint32_t *limit; /* how many */
};

/*
 * X(type, column of struct snap_reqs): the single values of a request, except
 * tasks, cpus, mem and devs.
 *
 * min_tasks       the fewest tasks with which the job can run; at most `tasks`
 * nodes           0: any number
 * tasks_per_node  0: as many as fit
 * gpus            per task
 * gpu_type        word, SNAP_NONE: any
 * profile         of the partition that each task gets (libcommon/mig.h); 0: no
 *                 partition. With a partition, gpus is its part of one GPU
 * gpu_mem         MiB; 0: any. If gpus is below 1000, each task gets a part of
 *                 a GPU with that much memory (snap_gpus_on()), and gpus is
 *                 what counts against limits; else each of its GPUs has as much
 * pools           bit i: pool i
 * exclusive       1: no other job on its nodes; free and used amounts count
 *                 only its request
 * one_process     1: all tasks on a node share their resources in one process
 * time_limit      seconds, SNAP_NEVER: none
 * need            all tasks in one domain of this level, LEVEL_NONE: anywhere
 * like            preferred: all tasks in one domain of this level or of a
 *                 narrower one
 * segment         not 0: instead of all tasks, only each group of this many
 *                 consecutive ranks must be in one domain of the needed level;
 *                 groups may share a domain. The job has a fixed size; if it
 *                 asks for a number of nodes, each has tasks_per_node tasks
 * spread          the parts of the job are divided evenly among the domains of
 *                 this level, LEVEL_NONE: not; see domain.h. A part is all
 *                 tasks on one node if the job has a number of nodes, else one
 *                 task. The job has a fixed size and no other needs of the
 *                 topology. If it has a number of nodes, each has
 *                 tasks_per_node tasks, and the level is not LEVEL_NODE
 * spread_like     the same, but only preferred
 * numa            enum numa
 * links           enum links
 * reservation     the one in which the job runs, or SNAP_NONE
 * pcie            bit i: each of its devices of kind i (snap.dev) is under the
 *                 PCIe root of a GPU of its task, and beside a GPU of its own
 *                 as far as there are as many
 * near            bit i: they are in the NUMA nodes of the task's GPUs; without
 *                 GPUs, of its CPUs. No kind is in both
 */
/* clang-format off */
#define SNAP_REQ_OTHERS(X)                                                  \
	X(uint32_t, min_tasks) X(uint32_t, nodes) X(uint32_t, tasks_per_node) \
	X(int64_t, gpus) X(uint32_t, gpu_type) X(uint8_t, profile)          \
	X(int64_t, gpu_mem)                                                 \
	X(int64_t, tmp)                                                     \
	X(uint64_t, pools)                                                  \
	X(uint8_t, exclusive) X(uint8_t, one_process) X(int64_t, time_limit) \
	X(uint8_t, need) X(uint8_t, like) X(uint32_t, segment)              \
	X(uint8_t, spread) X(uint8_t, spread_like)                          \
	X(uint8_t, numa) X(uint8_t, links) X(uint32_t, reservation)         \
	X(uint8_t, pcie) X(uint8_t, near)                                   \
	X(int64_t, refused)
/* clang-format on */

/* Requests: what a job asks for; jobs that ask for the same share one. */
struct snap_reqs {
	uint32_t n;
	const uint32_t *tasks;
	const int64_t *cpus, *mem;        /* per task */
	const struct device_counts *devs; /* per task */
#define X(type, name) const type *name;
	SNAP_REQ_OTHERS(X)
#undef X
	const uint32_t *rule_first;   /* slice of rule: constraint */
	const uint32_t *prefer_first; /* slice of prefer */
	const uint32_t *want_first;   /* slice of want: --nodelist */
	const uint32_t *avoid_first;  /* slice of avoid: --exclude */
	/* Slice of shun: nodes on which it may not start now because of where
	 * other jobs are (--near, --apart) or, at the end of the slice, because
	 * they have refused it. They count for what would fit if no job ran.
	 * refused: when the first of the latter may be tried again; 0: there
	 * are none. */
	const uint32_t *shun_first;
	/* Slice of beside: ids of running jobs near which it is to run, in
	 * ascending order: none of them is evicted or moved for it. */
	const uint32_t *beside_first;
	const uint32_t *license_first; /* slice of license_use */
};

struct snap_license_use {
	uint32_t license;
	uint32_t zero; /* in place of padding: lists are compared as bytes */
	int64_t count;
};

/*
 * The decision of an earlier pass for a row, if that pass stopped before all
 * rows had their turn. The next pass continues from there and does not decide
 * again.
 */
enum judged {
	JUDGED_NO,
	JUDGED_WAITS, /* the row waits for something that concerns no other row,
	                 and gets no turn */
	JUDGED_BLOCKED, /* the row's job does not fit, or is over a limit */
	/* the job was promised a start: its row has its turn again, to get the
	 * same promise, without using the budget */
	JUDGED_PROMISED,
	/* as JUDGED_BLOCKED, and promise_open() was called for it: its row has
	 * its turn again, to do the same */
	JUDGED_OPEN
};

/*
 * Waiting jobs that are alike in all that the policy looks at are one row. The
 * members that have waited longest come first; among equals, those submitted
 * earlier. An array is one member that counts its unstarted tasks. Only
 * eligible jobs are here: held, dependent and future jobs already have their
 * reason.
 */
struct snap_pend {
	uint32_t n;
	const uint8_t *judged; /* enum judged */
	const uint32_t *req, *queue, *user;
	const int64_t *priority; /* the job's own priority plus that of its
	                            class, minus nice; the highest goes first */
	/* The array, if it has a limit, whose tasks all jobs of the row are;
	 * else SNAP_NONE. An array may have several rows. */
	const uint32_t *array;
	const uint32_t *member_first;
	/* If the row is a suspended job that is to resume: the index of its
	 * run, which keeps memory and GPUs and needs CPUs again on the same
	 * nodes. */
	const uint32_t *resumes;    /* index in run, or SNAP_NONE */
	const uint8_t *preemptible; /* 0: its jobs are never evicted and may use
	                               only the quota */
	/* 1: its last start failed: evict no job for it */
	const uint8_t *barred;
	const uint16_t *light; /* 0 .. 1000, how little its user has used
	                          recently; 1000: nothing */
	const int64_t *served; /* seconds that it ran before; see
	                          order_service.h */
	/* Slice of claim: nodes held for the row's job, one for each task,
	 * until evicted jobs have ended there; such a row has one member. */
	const uint32_t *claim_first;
};

struct snap_member {
	uint64_t job;   /* ids ascend in order of submission */
	uint32_t count; /* 1, or unstarted tasks of an array */
	uint32_t room;  /* tasks of the array that may start now (%limit) */
	int64_t since;  /* when it became eligible */
};

/*
 * All jobs that hold resources. An elastic job that is losing tasks is here
 * twice: the tasks that stay, then those that are ending.
 */
struct snap_run {
	uint32_t n;
	const uint64_t *job;
	const uint32_t *req, *queue, *user;
	const uint32_t *array; /* as in snap_pend */
	const int64_t *priority, *start;
	const int64_t *end;       /* when its time limit ends, or SNAP_NEVER */
	const uint8_t *suspended; /* holds memory and GPUs, no CPUs */
	const uint8_t *preemptible;
	/* 1: the run is ending because an earlier plan evicted it, and other
	 * jobs have claims on its nodes. The use of its queue no longer
	 * includes this run. */
	const uint8_t *ending;
	const uint8_t *freezable;  /* can be suspended in place */
	const int64_t *safe_until; /* may not be evicted before this time */
	const int64_t *waited; /* seconds that it waited before it started */
	const int64_t *served; /* seconds that it has run so far */
	/* seconds of its time limit that were over when it was suspended; they
	 * count once it resumes */
	const int64_t *ran;
	const uint32_t *task_first; /* slice of task */
	/* slice of claim: nodes held for the tasks that the run is to gain, or
	 * for its new place */
	const uint32_t *claim_first;
};

/* Where a running task is, and what it holds there. */
struct snap_task {
	uint32_t node;
	uint16_t gpu_milli; /* of each device in gpus: 1000 or the fraction */
	uint8_t units; /* bit i: slice i of its GPU; 0: it has no partition */
	uint64_t gpus; /* bit i: device i of the node */
	uint32_t cpu_first; /* slice of cpu_use; ends where the slice of the
	                       next task begins */
	/* bit i: part of its memory is in NUMA node i (snap_numa_share()
	 * returns how much); 0 if the node does not count memory by NUMA
	 * node */
	uint32_t numas;
};

struct snap_cpu_use {
	uint16_t cpu;   /* number of the CPU in the node */
	uint16_t milli; /* thousandths used; 1000: the whole CPU */
};

/* A start that the last plan promised to a job, and its nodes, one for each
 * task. Sorted by job; promises to tasks of the same array are in the order of
 * the tasks. */
struct snap_promise {
	uint64_t job;
	int64_t start;
	uint32_t node_first, n; /* slice of promise_node */
};

struct snap {
	int64_t now;  /* the only time that the scheduler knows */
	uint64_t gen; /* generation of the state; copied to the plan */
	struct snap_policy policy;
	struct snap_pools pool;
	struct snap_nodes node;
	struct snap_gpus gpu;
	struct snap_cpus cpu;
	struct snap_devs dev;
	struct snap_pieces piece;
	uint32_t nlevels; /* number of levels of the topology */
	const char *const *level;
	struct snap_domains domain;
	struct snap_reservations resv;
	struct snap_queues queue;
	struct snap_users user;
	struct snap_licenses license;
	struct snap_arrays array;
	struct snap_reqs req;
	struct snap_pend pend;
	struct snap_run run;

	uint32_t nwords; /* number of words: features, taints, GPU types */
	const char *const *word;
	const int64_t *numa_mem;         /* MiB in total */
	const uint32_t *feature, *taint; /* indices of words */
	/* Postfix expressions, in which each item is a word or RULE_*. rule:
	 * the constraint of a request. prefer: its preferences, the most
	 * important first, each a constraint without counts. */
	const int32_t *rule, *prefer;
	const uint32_t *want, *avoid, *shun; /* indices of nodes */
	const uint64_t *beside;              /* ids of jobs */
	const struct snap_license_use *license_use;
	const struct snap_member *member;
	const uint32_t *claim; /* indices of nodes */
	uint32_t npromises;
	const struct snap_promise *promise;
	const uint32_t *promise_node;
	const uint32_t *resv_node, *resv_user;
	/* one entry more than there are tasks: its cpu_first is the end of
	 * cpu_use */
	const struct snap_task *task;
	const struct snap_cpu_use *cpu_use;
	/* by task: bit i: piece i of its node; NULL if there are no pieces */
	const uint64_t *held;
};

/* RULE_NOT follows a word. RULE_NOT - n, n > 0, applies to the part before it:
 * that part must hold on at least n of the job's nodes, not on all. A count is
 * allowed only at the top, joined by RULE_AND; see libcommon/constraint.h. */
enum { RULE_AND = -1, RULE_OR = -2, RULE_NOT = -3 };

static inline uint32_t rule_count(int32_t item)
{
	return item < RULE_NOT ? (uint32_t)RULE_NOT - (uint32_t)item : 0;
}

/* A segment, or a job that is spread, consists of parts: single tasks or, if
 * the job asks for a number of nodes, all tasks of one node. Returns how many
 * tasks one part has. */
static inline uint32_t snap_segment_part(const struct snap *s, uint32_t req)
{
	return s->req.nodes[req] ? s->req.tasks_per_node[req] : 1;
}

/* Returns n, the number of tasks for which a domain has room, rounded down to
 * whole segments. */
static inline int64_t snap_segments(const struct snap *s, uint32_t req,
                                    int64_t n)
{
	return n - n % s->req.segment[req];
}

/* Whether jobs with this request are to run near this running job. */
static inline bool snap_is_beside(const struct snap *s, uint32_t req,
                                  uint64_t job)
{
	uint32_t from = s->req.beside_first[req];
	uint32_t to = s->req.beside_first[req + 1];

	while (from < to) {
		uint32_t mid = from + (to - from) / 2;

		if (s->beside[mid] == job)
			return true;
		if (s->beside[mid] < job)
			from = mid + 1;
		else
			to = mid;
	}
	return false;
}

static inline bool snap_is_spread(const struct snap *s, uint32_t req)
{
	return s->req.spread[req] != LEVEL_NONE ||
	       s->req.spread_like[req] != LEVEL_NONE;
}

/* Whether the run stands for the ending tasks of the same job as the run
 * before it. */
static inline bool snap_is_part(const struct snap *s, uint32_t run)
{
	return run && s->run.job[run - 1] == s->run.job[run];
}

/* Whether `queue` is the queue `below` or one of its ancestors. */
static inline bool snap_queue_is_above(const struct snap *s, uint32_t queue,
                                       uint32_t below)
{
	while (below != SNAP_NONE && below != queue)
		below = s->queue.parent[below];
	return below == queue;
}

static inline bool snap_counts_users(const struct snap *s, uint32_t queue)
{
	return s->queue.max_jobs_user[queue] != CONF_NONE ||
	       s->queue.max_gpus_user[queue] != CONF_NONE;
}

static inline uint32_t snap_node_ngpus(const struct snap *s, uint32_t node)
{
	return s->node.gpu_first[node + 1] - s->node.gpu_first[node];
}

static inline uint32_t snap_node_ncpus(const struct snap *s, uint32_t node)
{
	return s->node.cpu_first[node + 1] - s->node.cpu_first[node];
}

static inline uint32_t snap_node_npieces(const struct snap *s, uint32_t node)
{
	return s->piece.n
	           ? s->node.piece_first[node + 1] - s->node.piece_first[node]
	           : 0;
}

/* Returns the pieces that task t has, as bits. */
static inline uint64_t snap_held(const struct snap *s, uint32_t t)
{
	return s->held ? s->held[t] : 0;
}

/* Whether it matters to a request where its devices are. */
static inline bool snap_places_devs(const struct snap *s, uint32_t req)
{
	return s->req.pcie[req] || s->req.near[req];
}

/* Returns how many NUMA nodes of the node have their memory counted. */
static inline uint32_t snap_node_nnumas(const struct snap *s, uint32_t node)
{
	return s->node.numa_first[node + 1] - s->node.numa_first[node];
}

/* Whether each task gets a part of a GPU by its memory, which is another part
 * on nodes with other GPUs. */
static inline bool snap_is_by_mem(const struct snap *s, uint32_t req)
{
	int64_t gpus = s->req.gpus[req];

	return gpus > 0 && gpus < 1000 && s->req.gpu_mem[req];
}

/* Returns the GPUs that a task gets on a node with as much GPU memory as the
 * request asks for, in thousandths. */
static inline int64_t snap_gpus_on(const struct snap *s, uint32_t req,
                                   uint32_t node)
{
	return snap_is_by_mem(s, req)
	           ? gpu_part(s->req.gpu_mem[req], s->node.gpu_mem[node])
	           : s->req.gpus[req];
}

/* Returns a lower bound of the GPUs that a task gets on any node. */
static inline int64_t snap_gpus_least(const struct snap *s, uint32_t req)
{
	return snap_is_by_mem(s, req) ? 1 : s->req.gpus[req];
}

/* Whether n tasks of the request find enough devices among these. */
static inline bool snap_has_devs(const struct snap *s, uint32_t req, int64_t n,
                                 const struct device_counts *have)
{
	for (uint32_t i = 0; i < s->dev.n; i++) {
		int64_t need = n * s->req.devs[req].n[i];

		if (need && have->n[i] < need)
			return false;
	}
	return true;
}

static inline uint32_t snap_run_ntasks(const struct snap *s, uint32_t run)
{
	return s->run.task_first[run + 1] - s->run.task_first[run];
}

/* Check that indices are in range, slices and members ascending, parents
 * before children, free within total. Fails with EINVAL and says which entry
 * is wrong. */
int snap_check(const struct snap *snap, struct err *err);

/* Set ret[i] to the free thousandths of CPU i. This is below 0 if other jobs
 * already use the CPU of a suspended job that is ending. */
void snap_threads(const struct snap *snap, int64_t *ret);

/*
 * Returns the part of a task's memory (mem) that counts for NUMA node numa, one
 * of its NUMA nodes (numas, as bits). Parts are in proportion to the sizes of
 * the NUMA nodes and add up to mem.
 */
int64_t snap_numa_share(const struct snap *snap, uint32_t node, uint32_t numas,
                        int64_t mem, uint32_t numa);

/* Returns the NUMA nodes that are assumed to hold a task's memory if that is
 * not known: those of its CPUs, else those of its GPUs, else all. */
uint32_t snap_task_numas(const struct snap *snap, const struct snap_task *task,
                         const struct snap_cpu_use *use);

/* Whether tasks of the request are bound to the memory of their NUMA nodes. */
static inline bool snap_binds(const struct snap *s, uint32_t req)
{
	return s->req.numa[req] == NUMA_STRICT ||
	       s->req.numa[req] == NUMA_TIGHT;
}

/* Set ret[i] to the free MiB of numa_mem[i]; with `bound`, subtract
 * only the memory of tasks that are bound to their NUMA nodes.
 * Without `bound`, the result is below 0 where tasks that are not
 * bound have part of their memory elsewhere. */
void snap_numas(const struct snap *snap, bool bound, int64_t *ret);

/* Add up the CPUs, memory and GPUs of all nodes that are not down. */
void snap_capacity(const struct snap *snap, int64_t ret[RES_N]);

#endif
