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

/* Seconds until the next try after so many failures. */
int64_t backoff_s(uint32_t fails);

struct held *held_new(const uint32_t *node, uint32_t n);

/* Give the claim to the job, in place of the one it has. */
void claim_hold(struct state *state, struct job *job, struct held *claim);

/* The last plan holds these nodes for the job. */
void claim_set(struct state *state, struct job *job, const uint32_t *node,
               uint32_t n, int64_t now);

/* Drop the claims that the last plan no longer wants. */
void claims_expire(struct state *state, int64_t now);

/* Drop the job's claim, if any.  The caller puts a pending job in another row
 * after it. */
void claim_drop(struct state *state, struct job *job);

/* Remember for whom the job is evicted; whole: all of it, not some tasks. */
void evict_note(struct job *job, const struct event_in *ev, bool whole);

/* The seconds that the job has to make room for others: its grace, but no more
 * than evict_timeout. */
int64_t evict_grace(const struct state *state, const struct job *job);

/* Set the time by which the evicted job should be gone. */
void evict_watch(struct state *state, struct job *job, int64_t now);

/* The job is not gone in time: avoid its nodes and drop the claims on them. */
void evict_overdue(struct state *state, struct job *job, int64_t now);

/* Whether all of the job is being evicted. */
bool evict_is_ending(const struct job *job);

/* Until when the job must not be evicted again. */
int64_t evict_safe_until(const struct state *state, const struct job *job);

/* Charge these nodes of the job (none named: all) with its failed start. */
void nodes_blame(struct state *state, const struct job *job,
                 const struct strlist *whose, int64_t now);

/* Clear the charges: a start succeeded on the job's nodes. */
void nodes_absolve(struct state *state, const struct job *job);

/* Append the sentence on a job that has a claim; raise the expected start. */
void evict_why(const struct state *state, const struct job *job,
               struct buf *text, int64_t *ret_expected);

/* Append the same sentence on a job for which these would be evicted. */
void evict_text(const struct state *state, const uint64_t *job, uint32_t njobs,
                const uint32_t *node, uint32_t nnodes, struct buf *text);

#endif
