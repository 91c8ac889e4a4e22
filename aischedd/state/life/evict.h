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

/* The jobs that have a claim (struct held). */
struct claim_list {
	struct job **holder;
	size_t n, cap;
};

/* Returns the name of an enum evict, such as "preempt"; NULL for EVICT_NONE. */
const char *evict_name(unsigned evict);

/* Returns the seconds to wait after a failure; fails: how many came before. */
int64_t backoff_s(uint32_t fails);

struct held *held_new(const uint32_t *node, uint32_t n);

/* Give the claim to the job, which then owns it; frees the job's old one. */
void claim_hold(struct state *state, struct job *job, struct held *claim);

/* Give the job a claim to these nodes, or keep the same claim, because the last
 * plan holds them for it. */
void claim_set(struct state *state, struct job *job, const uint32_t *node,
               uint32_t n, int64_t now);

/* Drop all claims that the last plan did not keep. */
void claims_expire(struct state *state, int64_t now);

/* Drop the job's claim, if it has one. If the job is pending, the caller must
 * then update its row. */
void claim_drop(struct state *state, struct job *job);

/* Record why and for which job this one is evicted. whole: all of its tasks,
 * which counts against max_evictions_per_hour. */
void evict_note(struct state *state, struct job *job, const struct event_in *ev,
                bool whole);

/* Returns the seconds that the job has to end when it is evicted: its grace,
 * but at most evict_timeout. */
int64_t evict_grace(const struct state *state, const struct job *job);

/* Set the time by which the evicted job, or its evicted tasks, should have
 * ended, and an alarm for evict_overdue(). */
void evict_watch(struct state *state, struct job *job, int64_t now);

/* Handle an evicted job that has not ended in time: start nothing on its nodes
 * for a while, and drop the claims to them. */
void evict_overdue(struct state *state, struct job *job, int64_t now);

/* Whether all of the job is being evicted. */
bool evict_is_ending(const struct job *job);

/* Returns the time before which no plan may evict the job. */
int64_t evict_safe_until(const struct state *state, const struct job *job);

/* Record a failed start on those of the job's nodes that `whose` names, or on
 * all of them if it names none. On a node where two jobs in a row failed to
 * start, nothing starts for a while. */
void nodes_blame(struct state *state, const struct job *job,
                 const struct strlist *whose, int64_t now);

/* Forget the failed starts on the job's nodes, because the job has started. */
void nodes_absolve(struct state *state, const struct job *job);

/* For a job that has a claim: append which jobs are evicted for it and which
 * nodes are held (text NULL: do not). Move *ret_expected, the expected start of
 * the job, to the time by which the victims should have ended, if that is
 * later. */
void evict_why(const struct state *state, const struct job *job,
               struct buf *text, int64_t *ret_expected);

/* Append the same for a job that may not exist yet, with these victims and
 * these nodes. */
void evict_text(const struct state *state, const uint64_t *job, uint32_t njobs,
                const uint32_t *node, uint32_t nnodes, struct buf *text);

#endif
