/*
 * room.h - what steps have of the pods of their job
 *
 * Pure. The first pod of a job keeps it for all. A step that asks for nothing
 * in particular takes its pods whole; --exact takes what it asks for, --overlap
 * nothing. Who waits is served in order, and overtaken by overlapping steps
 * only.
 */
#ifndef POD_ROOM_H
#define POD_ROOM_H

#include <jansson.h>
#include <stdbool.h>

#include "libcommon/err.h"
#include "pod/job.h"

/* What srun asks for. */
struct room_want {
	int64_t tasks, nodes, per_node; /* nodes, per_node: 0: any */
	int64_t cpus;                   /* of each task; 0: not said */
	int64_t mem_mib;                /* of the step; 0: not said */
	int64_t gpus;                   /* of each pod; -1: not said */
	int64_t gpus_task;              /* of each task; -1: not said */
	int64_t flags;                  /* enum step_flag */
	bool *only; /* [pods] that may be taken; NULL: all */
};

/* What a step has of a pod. */
struct room_part {
	int64_t pod, tasks, cpus, mem_mib;
	uint64_t gpus;
};

struct room_claim {
	struct room_want ask;
	struct room_part *part; /* [nparts]; 0 while it waits */
	size_t nparts;
};

/* Read what srun sent; *ret is freed with room_ask_free(). Fails with EINVAL.
 */
int room_ask_read(const struct pod_job *job, const json_t *obj,
                  struct room_want *ret, struct err *err);
void room_ask_free(struct room_want *ask);

/* Fails with EINVAL, in Slurm's words, if an empty job has no room for it. */
int room_check(const struct pod_job *job, const struct room_want *ask,
               struct err *err);

/* Give it room beside the others that have some. Returns false if there is
 * none now. */
bool room_take(const struct pod_job *job, struct room_claim *claim,
               struct room_claim *const *other, size_t n);
void room_free(struct room_claim *claim);

#endif
