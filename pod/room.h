/*
 * room.h - the resources that steps have in the pods of their job
 *
 * The agent of the first pod assigns the resources of all pods; these functions
 * do no I/O. A step gets all free resources of its pods; with --exact only what
 * it requests; with --overlap it shares resources with other steps. Steps get
 * resources in order of arrival; only steps with --overlap may overtake a step
 * that waits.
 */
#ifndef POD_ROOM_H
#define POD_ROOM_H

#include <jansson.h>
#include <stdbool.h>

#include "libcommon/err.h"
#include "pod/job.h"

/* The request of a step. */
struct room_want {
	int64_t tasks, nodes, per_node; /* nodes or per_node 0: any number */
	int64_t cpus;                   /* of each task; 0: not given */
	int64_t mem_mib;                /* of the step; 0: not given */
	int64_t gpus;                   /* of each pod; -1: not given */
	int64_t gpus_task;              /* of each task; -1: not given */
	int64_t flags;                  /* bits of enum step_flag */
	bool *only; /* for each pod of the job whether it may be used; NULL: all
	               may */
};

/* The resources of a step in one pod. */
struct room_part {
	int64_t pod, tasks, cpus, mem_mib;
	uint64_t gpus;
};

struct room_claim {
	struct room_want ask;
	struct room_part *part; /* [nparts]; nparts is 0 while the step waits */
	size_t nparts;
};

/* Read the request of a step into *ret, which is the `ask` of a claim: then
 * room_free() frees its memory, too. Fails with EINVAL. */
int room_ask_read(const struct pod_job *job, const json_t *obj,
                  struct room_want *ret, struct err *err);

/* Check that the step would fit if no other step ran. Fails with EINVAL, and
 * with the error text of Slurm. */
int room_check(const struct pod_job *job, const struct room_want *ask,
               struct err *err);

/* Give the step resources that none of the n other steps has. Returns false if
 * too little is free now. */
bool room_take(const struct pod_job *job, struct room_claim *claim,
               struct room_claim *const *other, size_t n);
void room_free(struct room_claim *claim);

#endif
