/*
 * order.h - the order: all that a shepherd needs to run one attempt
 *
 * The daemon writes the order into a memory file that the shepherd inherits:
 * JSON, then the bytes of script and environment. The order need not survive a
 * crash: the daemon repeats a start until a shepherd has claimed the attempt.
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
	const char *tmp_dir;   /* parent of the job's temporary folder */
	int64_t max_processes; /* processes and threads of the whole job */
	uint32_t rlimits; /* bits: which rlimits it gets from its submitter */
	uint32_t node_cpus, node_gpus;
	const char *gpu_uuid[LIMIT_GPUS]; /* NULL: not known */
	uint8_t gpu_index[LIMIT_GPUS];    /* CUDA's numbers by bus id */
	int32_t gpu_minor[LIMIT_GPUS];    /* of /dev/nvidiaN; -1: not known */
	bool constrain_devices;           /* the job can open only its GPUs */
	const char *gpu_program;          /* aisched-gpu; NULL: there is none */
	int64_t sample_s;                 /* seconds between GPU samples */
	const uint8_t *cpu_numa; /* [order_uses()] kernel's number of the NUMA
	                            node; NULL: there is only one node */
	bool bind;               /* false: the machine cannot bind */
	struct cgroup_ways ways;
	json_t *texts; /* of order_read(): the JSON that owns the strings */
};

/* Whether the job is an allocation, which runs no script: a client holds it, or
 * it is kept until somebody ends it. */
bool order_is_allocation(const struct order *order);

/* Returns how many cpu_use entries its tasks have. */
uint32_t order_uses(const struct run_job *job);

/* Convert to and from JSON what resume() and resize() change: the tasks and
 * their CPUs. */
json_t *order_place_to_json(const struct order *order);
int order_place_from_json(struct order *ret, json_t *obj, struct arena *arena,
                          struct err *err);

/*
 * Write the order into a new memory file. Returns its descriptor, which the
 * caller closes; -1 with errno on failure.
 */
int order_write(const struct order *order, struct err *err);

/*
 * Read an order from its memory file. It is valid as long as the arena and
 * ret->texts are; the file stays mapped. Fails with EINVAL if another version
 * of the daemon wrote it.
 */
int order_read(int fd, struct order *ret, struct arena *arena, struct err *err);

#endif
