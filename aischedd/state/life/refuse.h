/*
 * refuse.h - requests that nodes have refused
 *
 * A kubelet may refuse a pod that a plan has placed on its node, for example
 * because it cannot align the GPUs of the pod. Then no job with the same
 * request starts on that node for a while, each time for longer; other jobs do.
 * A restart of the daemon forgets refusals.
 */
#ifndef AISCHEDD_STATE_LIFE_REFUSE_H
#define AISCHEDD_STATE_LIFE_REFUSE_H

#include <stdint.h>

#include "libcommon/conf/conf.h"

struct job;
struct state;

struct refusal {
	uint64_t req_hash; /* of the request, as in struct row */
	int64_t retry_at;  /* nothing like it starts there until then */
	uint32_t node;
	uint32_t fails; /* how often in a row the node has refused it */
};

struct refusal_list {
	struct refusal it[256];
	uint32_t n;
};

/* Note that those of the job's nodes that `whose` names, or all of them if the
 * list is empty, have refused its request. If there are too many refusals, that
 * with the earliest end is forgotten. */
void refusals_note(struct state *state, struct job *job,
                   const struct strlist *whose, int64_t now);

/* Forget the refusals of the job's request on its nodes, because it has started
 * there. */
void refusals_forget(struct state *state, struct job *job);

/* The clock was set: let refused requests be tried now. */
void refusals_retry(struct state *state, int64_t now);

#endif
