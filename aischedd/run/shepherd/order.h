/*
 * order.h - the order: all that a shepherd needs to run one attempt
 *
 * The daemon writes it into a memory file that the shepherd inherits: JSON,
 * then the bytes of script and environment. It need not be durable: a start is
 * repeated until a shepherd has claimed the attempt.
 */
#ifndef AISCHEDD_RUN_SHEPHERD_ORDER_H
#define AISCHEDD_RUN_SHEPHERD_ORDER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "aischedd/run/runner.h"
#include "aischedd/run/shepherd/cgroup.h"
#include "libcommon/buf.h"
#include "libcommon/err.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"

struct order {
	/* Here cpu_use has the operating system's numbers, not the plan's. */
	struct run_job job;
	const char *host;
	const char *tmp_dir;   /* parent of its temporary folder */
	int64_t max_processes; /* processes and threads of the whole job */
	uint32_t rlimits;      /* which limits it gets from its submitter */
	uint32_t node_cpus, node_gpus;
	const char *gpu_uuid[LIMIT_GPUS]; /* NULL: not known */
	uint8_t gpu_index[LIMIT_GPUS];    /* as CUDA numbers them by bus id */
	int32_t gpu_minor[LIMIT_GPUS];    /* of /dev/nvidiaN; -1: not known */
	bool constrain_devices;           /* it cannot open GPUs of others */
	const char *gpu_program;          /* aisched-gpu; NULL: there is none */
	int64_t sample_s;                 /* how often GPUs are looked at */
	const uint8_t *cpu_numa; /* [uses] OS NUMA node; NULL: only one */
	bool bind;               /* false: the machine cannot bind */
	struct cgroup_ways ways;
	json_t *texts; /* of an order that was read: owns its strings */
};

/* Whether it runs no script: a client holds it, or it is kept. */
bool order_is_allocation(const struct order *order);

/* Returns how many cpu_use entries its tasks have. */
uint32_t order_uses(const struct run_job *job);

/* The part that changes when a suspended job resumes: tasks and their CPUs. */
json_t *order_place_to_json(const struct order *order);
int order_place_from_json(struct order *ret, json_t *obj, struct arena *arena,
                          struct err *err);

/*
 * Write it into a new memory file. Owns: the caller closes the descriptor.
 * Fails with the error of the system.
 */
int order_write(const struct order *order, struct err *err);

/*
 * Read it back. It lives as long as the arena, its texts and the mapping of the
 * file. Fails with EINVAL if another version wrote it.
 */
int order_read(int fd, struct order *ret, struct arena *arena, struct err *err);

#endif
