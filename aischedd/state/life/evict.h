/*
 * evict.h - jobs that are evicted, and nodes held for claimants meanwhile
 */
#ifndef AISCHEDD_STATE_LIFE_EVICT_H
#define AISCHEDD_STATE_LIFE_EVICT_H

#include <stdbool.h>
#include <stdint.h>

#include "aischedd/state/job.h"
#include "aischedd/state/life/lifecycle.h"
#include "libcommon/buf.h"

struct state;

/* The jobs that have claims. */
struct claim_list {
	struct job **holder;
	size_t n, cap;
};

/* Returns the name of an enum evict, such as "preempt"; NULL for EVICT_NONE. */
const char *evict_name(unsigned evict);

/* Seconds until the next try after this many failures. */
int64_t backoff_s(uint32_t fails);

struct held *held_new(const uint32_t *node, uint32_t n);

/* Give the claim to the job, replacing the one it has. */
void claim_hold(struct state *state, struct job *job, struct held *claim);

/* Note that the last plan holds these nodes for the job. */
void claim_set(struct state *state, struct job *job, const uint32_t *node,
               uint32_t n, int64_t now);

/* Drop the claims that the last plan does not name. */
void claims_expire(struct state *state, int64_t now);

/* Drop the job's claim, if any. The caller then updates a pending job's row. */
void claim_drop(struct state *state, struct job *job);

/* Note why and for whom the job is evicted; whole: all of it, not only some
 * tasks. */
void evict_note(struct state *state, struct job *job, const struct event_in *ev,
                bool whole);

/* The seconds that the job gets to make room for others: its grace, but no more
 * than evict_timeout. */
int64_t evict_grace(const struct state *state, const struct job *job);

/* Set the time by which the evicted job should be gone. */
void evict_watch(struct state *state, struct job *job, int64_t now);

/* Avoid the nodes of an evicted job that has not ended in time, and drop the
 * claims on them. */
void evict_overdue(struct state *state, struct job *job, int64_t now);

/* Whether all of the job is being evicted. */
bool evict_is_ending(const struct job *job);

/* Returns the time before which the job must not be evicted again. */
int64_t evict_safe_until(const struct state *state, const struct job *job);

/* Count a failed start against those of the job's nodes that `whose` names, or
 * against all of them if it names none. */
void nodes_blame(struct state *state, const struct job *job,
                 const struct strlist *whose, int64_t now);

/* Forget failed starts on the job's nodes, after a start has succeeded. */
void nodes_absolve(struct state *state, const struct job *job);

/* Append the sentence about a job that has a claim; move the expected start to
 * the time by which its victims should be gone. */
void evict_why(const struct state *state, const struct job *job,
               struct buf *text, int64_t *ret_expected);

/* Append the same sentence for a job that does not exist yet and for which
 * these jobs would be evicted from these nodes. */
void evict_text(const struct state *state, const uint64_t *job, uint32_t njobs,
                const uint32_t *node, uint32_t nnodes, struct buf *text);

#endif
