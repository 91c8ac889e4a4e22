/*
 * evict.h - evicted jobs, and claims: nodes held for jobs until they can start
 */
#ifndef AISCHEDD_STATE_LIFE_EVICT_H
#define AISCHEDD_STATE_LIFE_EVICT_H

#include <stdbool.h>
#include <stdint.h>

#include "aischedd/state/job.h"
#include "aischedd/state/life/lifecycle.h"
#include "libcommon/buf.h"

struct state;

/* The jobs that have a claim (struct held): nodes are held for them until the
 * jobs evicted there have ended. */
struct claim_list {
	struct job **holder;
	size_t n, cap;
};

/* Returns the name of an enum evict, such as "preempt"; NULL for EVICT_NONE. */
const char *evict_name(unsigned evict);

/* Returns how many seconds to wait before the next try; fails: how many tries
 * failed before this failure. */
int64_t backoff_s(uint32_t fails);

struct held *held_new(const uint32_t *node, uint32_t n);

/* Give the claim to the job, which then owns it; the job's old claim
 * is freed. */
void claim_hold(struct state *state, struct job *job, struct held *claim);

/* Give the job a claim to these nodes, which the last plan holds for the job.
 * If the job has an equal claim already, keep the old one. */
void claim_set(struct state *state, struct job *job, const uint32_t *node,
               uint32_t n, int64_t now);

/* Drop all claims that the last plan did not keep. */
void claims_expire(struct state *state, int64_t now);

/* Drop the job's claim, if it has one. If the job is pending, the caller must
 * then update its row. */
void claim_drop(struct state *state, struct job *job);

/* Record why and for which job this job is evicted. whole: all of its tasks are
 * evicted, which counts against max_evictions_per_hour. */
void evict_note(struct state *state, struct job *job, const struct event_in *ev,
                bool whole);

/* Returns how many seconds an evicted job gets to end: its grace, but at
 * most evict_timeout. */
int64_t evict_grace(const struct state *state, const struct job *job);

/* Set the time by which the evicted job, or its evicted tasks, should have
 * ended (job->runs->leave_by), and an alarm that calls evict_overdue() then. */
void evict_watch(struct state *state, struct job *job, int64_t now);

/* Handle an evicted job that has not ended by job->runs->leave_by: start
 * nothing on its nodes for a while, and drop the claims to them. */
void evict_overdue(struct state *state, struct job *job, int64_t now);

/* Whether all tasks of the job are being evicted. */
bool evict_is_ending(const struct job *job);

/* Returns the time before which no plan may evict the job. */
int64_t evict_safe_until(const struct state *state, const struct job *job);

/* Whether the name is one of the list. */
bool nodes_are_among(const struct strlist *list, const char *name);

/* Record a failed start on those of the job's nodes that `whose` names, or on
 * all of them if the list is empty. On a node where the starts of two different
 * jobs have failed in a row, nothing starts for a while. */
void nodes_blame(struct state *state, const struct job *job,
                 const struct strlist *whose, int64_t now);

/* Forget failed starts recorded for the job's nodes, because the job has
 * started there. */
void nodes_absolve(struct state *state, const struct job *job);

/* For a job that has a claim: append to `text` (unless that is NULL) which
 * jobs are evicted for it and which nodes are held. *ret_expected, the job's
 * expected start, is moved to the time at which the last grace of the evicted
 * jobs ends, if that is later. */
void evict_why(const struct state *state, const struct job *job,
               struct buf *text, int64_t *ret_expected);

/* Append the sentence of evict_why() for a job that need not be in the state.
 * job: ids of the jobs that are evicted for it; node: the nodes that are held
 * for it. */
void evict_text(const struct state *state, const uint64_t *job, uint32_t njobs,
                const uint32_t *node, uint32_t nnodes, struct buf *text);

#endif
