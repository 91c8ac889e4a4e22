/*
 * load.h - load the state from the store; describe jobs to runners
 */
#ifndef AISCHEDD_STATE_LOAD_H
#define AISCHEDD_STATE_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aischedd/state/cluster/node.h"
#include "aischedd/state/job.h"
#include "aischedd/state/state.h"
#include "libcommon/buf.h"

/* Append the nodes of a claim, as "n0,n1*2"; appends nothing if claim
 * is NULL. */
void state_claim_format(const struct state *state, const struct held *claim,
                        struct buf *out);
/* Append the times of evictions, as "1000,1200"; appends nothing if `evictions`
 * is NULL. */
void state_evictions_format(const struct evictions *evictions, struct buf *out);

/* The parts of a job that the store has as text; each may be NULL. */
struct job_texts {
	const char *depend, *place, *leaving, *claim, *evictions, *ledger;
	const char *space;
};

/* Add a loaded job, whose queue and user the caller has set. Takes over the job
 * and sets *job to NULL. Fails with EINVAL if a text is not valid, and then
 * frees the job. */
int state_load_job(struct state *state, struct job **job,
                   const struct job_texts *texts, struct err *err);
void state_load_array(struct state *state, const struct array *array);

/* Restore whether a node is drained. pool: "" if the store has none for this
 * node. A node whose pool is no longer configured is ignored. */
void state_load_node(struct state *state, const char *name, const char *pool,
                     bool drained, const char *reason);

/* Restore whether a node is being added or removed, and since when: scale.h. */
void state_load_want(struct state *state, const char *name, const char *pool,
                     enum node_want want, int64_t at);
/* Restore whether the queue is open. configured: whether the configuration said
 * that it is open when `open` was stored. If the configuration says something
 * else now, `open` is ignored. */
void state_load_queue(struct state *state, const char *name, bool open,
                      bool configured);
void state_load_next_id(struct state *state, uint64_t next_id);

/* Call it when everything is loaded. It computes what is not stored: counts,
 * alarms and rows; and it repeats effects, such as EFFECT_DRAIN, that may have
 * been lost with the old daemon. */
void state_loaded(struct state *state, int64_t now);

/* Fill in *ret, which a runner needs to start the job. *ret refers to spec, req
 * and node_names, which this function also fills in, and to strings and the
 * placement of the job. */
void state_run_job(const struct state *state, const struct job *job,
                   struct spec *spec, struct request *req,
                   const char **node_names, struct run_job *ret);

/* List the attempts that hold nodes of the pool, for the runner's recover().
 * Returns their number. The caller frees the list with free(); its strings
 * belong to the jobs. */
size_t state_attempts(const struct state *state, uint32_t pool,
                      struct run_attempt **ret);

#endif
