/*
 * snap.h - everything the scheduler looks at, as one immutable value
 *
 * Struct of arrays: the index is the identity for the pass.  Built by
 * state_snapshot() or read from text (snap_text.h) into one arena, checked
 * once by snap_check(); after that the core asserts, never errors.  Lists of
 * varying length are slices: those of element i are first[i] .. first[i+1]-1.
 *
 * Resources are integers: CPUs and GPUs in thousandths, memory in MiB.
 */
#ifndef AISCHEDD_SCHED_SNAP_H
#define AISCHEDD_SCHED_SNAP_H

#include <stdint.h>

#include "libcommon/conf.h"
#include "libcommon/err.h"
#include "libcommon/mem.h"

#define SNAP_NONE  UINT32_MAX
#define SNAP_NEVER (-1) /* a time that does not come */

enum node_state { NODE_UP, NODE_DRAIN, NODE_DOWN };

struct snap_pools {
	uint32_t n; /* <= LIMIT_POOLS */
	const char *const *name;
	const uint8_t *order; /* enum node_order */
	const uint8_t *ready; /* 0: its runner is not; nothing starts there */
};

struct snap_nodes {
	uint32_t n;
	const char *const *name;
	const uint32_t *pool;
	const uint8_t *state;                /* enum node_state */
	const int64_t *cpu_total, *cpu_free; /* free <= total, may be < 0 */
	const int64_t *mem_total, *mem_free;
	const uint32_t *gpu_first;     /* slice of gpu */
	const uint32_t *cpu_first;     /* slice of cpu; empty: not bound */
	const uint32_t *feature_first; /* slice of feature */
	const uint32_t *taint_first;   /* slice of taint */
	const uint32_t *domain;  /* smallest topology domain, or SNAP_NONE */
	const int64_t *retry_at; /* starts fail here: not before this time */
};

struct snap_gpus { /* devices; index in the node is the device number */
	uint32_t n;
	const uint16_t *free; /* milli, 0 .. 1000 */
	const uint32_t *type; /* index of a word, SNAP_NONE: unknown */
	const uint8_t *numa;  /* NUMA node */
	const uint8_t *link;  /* link group: NVLink, PCIe switch */
};

struct snap_cpus { /* hardware threads; index in the node is the number */
	uint32_t n;
	const uint16_t *free; /* milli, 0 .. 1000 */
	const uint16_t *core; /* siblings have the same */
	const uint8_t *numa;
};

struct snap_domains { /* parents before children */
	uint32_t n;
	const char *const *name; /* "z1/b1" */
	const uint32_t *parent;  /* SNAP_NONE at the top */
	const uint8_t *level;    /* 0 is the widest */
};

struct snap_queues { /* parents before children; leaves take jobs */
	uint32_t n;
	const char *const *name;
	const uint32_t *parent;        /* SNAP_NONE below the root */
	const int64_t (*quota)[RES_N]; /* CONF_NONE: not rationed */
	const int64_t (*limit)[RES_N]; /* CONF_NONE: none */
	const int64_t *weight, *priority;
	const int64_t *max_jobs, *max_jobs_user, *max_gpus_user;
	const int64_t *assumed_time; /* of jobs without limit, CONF_NONE */
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

/* Shapes: what a job asks for; jobs that ask for the same share one. */
struct snap_reqs {
	uint32_t n;
	const uint32_t *tasks, *min_tasks; /* min_tasks <= tasks */
	const uint32_t *nodes;             /* 0: any number */
	const uint32_t *tasks_per_node;    /* 0: as many as fit */
	const int64_t *cpus, *mem, *gpus;  /* per task */
	const uint32_t *gpu_type;          /* word, SNAP_NONE: any */
	const uint64_t *pools;             /* bit i: pool i */
	/* No other job on its nodes.  That is known from what runs; what is
	 * free and used counts only what was asked for. */
	const uint8_t *exclusive;
	const uint8_t *one_process;  /* all tasks' share to one on each node */
	const int64_t *time_limit;   /* seconds, SNAP_NEVER: none */
	const uint32_t *rule_first;  /* slice of rule: constraint */
	const uint32_t *want_first;  /* slice of want: --nodelist */
	const uint32_t *avoid_first; /* slice of avoid: --exclude */
	const uint32_t *license_first; /* slice of license_use */
};

struct snap_license_use {
	uint32_t license;
	int64_t count;
};

/*
 * Waiting jobs that are alike in all that the policy looks at are one row.
 * Its members are in order of submission; an array is one member that
 * counts its unstarted tasks.  Only eligible jobs are here: held, dependent
 * and future ones have their reason already.
 */
struct snap_pend {
	uint32_t n;
	const uint32_t *req, *queue, *user;
	const int64_t *priority; /* class + own - nice; higher first */
	const uint32_t *member_first;
	/* A suspended job that is to go on: its running entry, which keeps
	 * memory and GPUs and needs its CPUs back on the same nodes. */
	const uint32_t *resumes; /* index in run, or SNAP_NONE */
};

struct snap_member {
	uint64_t job;   /* ids ascend in order of submission */
	uint32_t count; /* 1, or unstarted tasks of an array */
	uint32_t room;  /* tasks of the array that may start now (%limit) */
};

struct snap_run { /* all jobs that hold something */
	uint32_t n;
	const uint64_t *job;
	const uint32_t *req, *queue, *user;
	const int64_t *priority, *start;
	const int64_t *end;       /* at its time limit, or SNAP_NEVER */
	const uint8_t *suspended; /* holds memory and GPUs, no CPUs */
	const uint8_t *preemptible;
	const uint32_t *task_first; /* slice of task */
};

/* Where one task runs and what it holds there. */
struct snap_task {
	uint32_t node;
	uint16_t gpu_milli; /* of each device in gpus: 1000 or the fraction */
	uint64_t gpus;      /* bit i: device i of the node */
	uint32_t cpu_first; /* slice of cpu_use (until the next task's) */
};

struct snap_cpu_use {
	uint16_t cpu;   /* number in the node */
	uint16_t milli; /* 1000: alone */
};

struct snap {
	int64_t now;  /* the only clock the core has */
	uint64_t gen; /* state generation; echoed in the plan */
	struct snap_pools pool;
	struct snap_nodes node;
	struct snap_gpus gpu;
	struct snap_cpus cpu;
	struct snap_domains domain;
	struct snap_queues queue;
	struct snap_users user;
	struct snap_licenses license;
	struct snap_reqs req;
	struct snap_pend pend;
	struct snap_run run;

	uint32_t nwords; /* features, taints, GPU types */
	const char *const *word;
	const uint32_t *feature, *taint; /* words */
	const int32_t *rule; /* constraint in postfix: word, or RULE_* */
	const uint32_t *want, *avoid; /* nodes */
	const struct snap_license_use *license_use;
	const struct snap_member *member;
	const struct snap_task *task; /* one more than used: ends cpu_use */
	const struct snap_cpu_use *cpu_use;
};

enum { RULE_AND = -1, RULE_OR = -2 };

/* Indices in range, slices ascending, parents before children, free within
 * total, members ascending.  Fails: EINVAL, says which entry. */
int snap_check(const struct snap *snap, struct err *err);

#endif
