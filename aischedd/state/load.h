/*
 * load.h - load the state from the store; describe jobs to runners
 */
#ifndef AISCHEDD_STATE_LOAD_H
#define AISCHEDD_STATE_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aischedd/state/job.h"
#include "aischedd/state/state.h"
#include "libcommon/buf.h"

/* Format "n0,n1*2"; nothing if there is no claim. */
void state_claim_format(const struct state *state, const struct held *claim,
                        struct buf *out);
/* "1000,1200" */
void state_evictions_format(const struct evictions *evictions, struct buf *out);

/* The parts of a job that are stored as text, as formatted above, or NULL. */
struct job_texts {
	const char *depend, *place, *leaving, *claim, *evictions, *ledger;
};

/* Add the job, whose queue and user are set; *job becomes NULL. Fails with
 * EINVAL. */
int state_load_job(struct state *state, struct job **job,
                   const struct job_texts *texts, struct err *err);
void state_load_array(struct state *state, const struct array *array);

/* pool: "" if the store does not know it. A node whose pool is no longer
 * configured is left out. */
void state_load_node(struct state *state, const char *name, const char *pool,
                     bool drained, const char *reason);

/* configured: what the configuration said when `open` was stored; if it has
 * changed since, the configuration wins. */
void state_load_queue(struct state *state, const char *name, bool open,
                      bool configured);
void state_load_next_id(struct state *state, uint64_t next_id);

/* Call it when all is loaded: derives the rest, effects included. */
void state_loaded(struct state *state, int64_t now);

/* Returns what the runner needs for a start; strings and placement are
 * borrowed. */
void state_run_job(const struct state *state, const struct job *job,
                   struct spec *spec, struct request *req,
                   const char **node_names, struct run_job *ret);

/* Lists the attempts that the runner of a pool should know, for recover(). */
size_t state_attempts(const struct state *state, uint32_t pool,
                      uint64_t **ret_job, uint32_t **ret_attempt);

#endif
