/*
 * capacity.h - what pools have, by the hour, and what of it no job could hold
 *
 * Capacity is counted in rollups that have no user. For the nodes of a pool
 * with the same type of GPU there is one rollup of all that they have, and one
 * each of what no job holds and is reserved, drained or down. These are booked,
 * stored and reported like the use of jobs. The rest of what the nodes have is
 * held by jobs, or idle. CPUs, memory and GPUs that processes other than jobs
 * use are not counted. state_look_at_capacity() is called from time to time, if
 * something has changed; until the next call the amounts count as unchanged.
 */
#ifndef AISCHEDD_STATE_CLUSTER_CAPACITY_H
#define AISCHEDD_STATE_CLUSTER_CAPACITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aischedd/state/cluster/rollup.h"

enum capacity_part {
	CAPACITY_OFFERED, /* all that the nodes have */
	CAPACITY_RESERVED,
	CAPACITY_DRAINED,
	CAPACITY_DOWN,
	CAPACITY_PARTS
};

/* The rollups of a pool's nodes with GPUs of a type, and what they count. */
struct capacity {
	struct rollup *rollup[CAPACITY_PARTS];
	int64_t rate[CAPACITY_PARTS][RATES];
	int64_t seen[CAPACITY_PARTS][RATES]; /* found by the present look */
	bool waits; /* its pool has not reported all its nodes */
	bool known; /* looked at since the daemon was started */
};

struct capacity_table {
	struct capacity *row;
	size_t n, cap;
	uint64_t nchanges; /* state's `nchanges` at the last look, + 1 */
	int64_t since_ms;  /* time of the last look, or as loaded */
};

/* Whether the rollup counts capacity; if so, *ret_part is set to the part. */
bool rollup_is_capacity(const struct rollup *r, enum capacity_part *ret_part);

/* Set the time up to which the loaded capacity is known. From that time on,
 * the findings of the first look count. */
void state_capacity_since(struct state *state, int64_t since_ms);

/* Whether something has changed since the last state_look_at_capacity(). */
bool state_capacity_stale(const struct state *state);

/* Compute the capacity from all nodes and the jobs on them, and count it from
 * now on. Returns whether that of all pools is known. */
bool state_look_at_capacity(struct state *state);

/* --- for this folder ---------------------------------------------------- */

/* Do not count the time that the wall clock skipped when it was set; to be
 * called like ledger_pause() and ledger_go_on(). */
void capacity_pause(struct state *state, int64_t ms);
void capacity_go_on(struct state *state, int64_t ms);

void capacity_free(struct state *state);

#endif
