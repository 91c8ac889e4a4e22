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
#include "libcommon/mig.h"

enum { ORDER_FILES = 4 }; /* device files of one device */

/* A partition (MIG) that a GPU of the node has. */
struct order_part {
	const char *uuid; /* NULL: there is no such partition */
	/* minor numbers of the two files in /dev/nvidia-caps that a process
	 * opens to use it; -1: unknown */
	int32_t cap[2];
};

/* A device of the node that a job gets by name, with the numbers of its device
 * files. */
struct order_file {
	uint32_t major, minor;
};

struct order_device {
	const char *kind, *name;
	uint32_t nfiles;
	struct order_file file[ORDER_FILES];
};

struct order {
	/* its cpu_use has the kernel's numbers of CPUs, not the plan's */
	struct run_job job;
	const char *host;
	const char *tmp_dir;   /* parent of the job's temporary folder */
	int64_t max_processes; /* most processes and threads of the whole job */
	/* set of bits: which rlimits the job inherits from its submitter */
	uint32_t rlimits;
	uint32_t node_cpus, node_gpus;
	const char *gpu_uuid[LIMIT_GPUS]; /* NULL: unknown */
	/* number that CUDA gives each GPU if it numbers them by bus ids */
	uint8_t gpu_index[LIMIT_GPUS];
	/* N of /dev/nvidiaN; -1: unknown */
	int32_t gpu_minor[LIMIT_GPUS];
	int64_t gpu_mem_mib[LIMIT_GPUS]; /* 0: unknown */
	/* partitions of each GPU, by the units at which they start */
	struct order_part gpu_part[LIMIT_GPUS][MIG_UNITS];
	/* major number of the files in /dev/nvidia-caps; 0: no GPU of the node
	 * has partitions, or it is unknown */
	uint32_t caps_major;
	/* devices of the node besides GPUs; bit i of run_job.devs[] is the
	 * device i */
	uint32_t ndevices;
	struct order_device device[LIMIT_DEVICES];
	/* the job can open no GPUs but its own; no devices but its own */
	bool constrain_devices, constrain_others;
	/* path of aisched-gpu; NULL: there is none */
	const char *gpu_program;
	/* seconds between samples of GPU use */
	int64_t sample_s;
	/* [order_uses()] the kernel's number of each CPU's NUMA node; NULL:
	 * there is only one node */
	const uint8_t *cpu_numa;
	/* bind tasks to CPUs; false: the machine or the job does not
	 * allow it */
	bool bind;
	struct cgroup_ways ways;
	/* set by order_read(): the JSON that owns the strings */
	json_t *texts;
};

/* Whether the job is an allocation. Such a job runs no script: a client holds
 * it, or it is kept until somebody ends it. */
bool order_is_allocation(const struct order *order);

/* Returns how many entries of cpu_use the job's tasks have. */
uint32_t order_uses(const struct run_job *job);

/* Returns the partition that a task of the job has; NULL if it has none. */
const struct order_part *order_part(const struct order *order,
                                    const struct snap_task *task);

/* Convert the tasks and their CPUs, which resume() and resize() change, to JSON
 * and back. */
json_t *order_place_to_json(const struct order *order);
int order_place_from_json(struct order *ret, json_t *obj, struct arena *arena,
                          struct err *err);

/*
 * Write the order into a new memory file. Returns its descriptor, which the
 * caller closes; -1 with errno on failure.
 */
int order_write(const struct order *order, struct err *err);

/*
 * Read an order from its memory file, which stays mapped. The order is valid as
 * long as the arena and ret->texts are. Fails with EINVAL if a daemon of
 * another version wrote it.
 */
int order_read(int fd, struct order *ret, struct arena *arena, struct err *err);

#endif
