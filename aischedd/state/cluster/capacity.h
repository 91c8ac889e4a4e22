/*
 * capacity.h - what pools have, by the hour, and what of it no job could hold
 *
 * It is kept in rollups that have no user. For the nodes of a pool with the
 * same type of GPU there is one rollup of all that they have, and one each of
 * what is reserved, drained or down while no job holds it. They are booked,
 * stored and reported like the use of jobs. The rest of what the nodes have was
 * held by jobs, or idle. CPUs, memory and GPUs that processes other than jobs
 * use are not counted. The nodes are looked at now and then, if something has
 * changed; in between the amounts are taken to stay the same.
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
	int64_t seen[CAPACITY_PARTS][RATES]; /* found by the current look */
	bool waits; /* its pool has not reported all its nodes */
	bool known; /* it was looked at since it was loaded */
};

struct capacity_table {
	struct capacity *row;
	size_t n, cap;
	uint64_t nchanges; /* of the state when it was looked at, + 1 */
	int64_t since_ms;  /* of the last look, or when that was stored */
};

/* Whether the rollup is of capacity, and of which part. */
bool rollup_is_capacity(const struct rollup *r, enum capacity_part *ret_part);

/* Tell until when the loaded capacity is known to have been true. Capacity that
 * the first look finds counts from then on. */
void state_capacity_since(struct state *state, int64_t since_ms);

/* Whether something has changed since the last look. */
bool state_capacity_stale(const struct state *state);

/* Look at all nodes and at the jobs on them. Returns whether the capacity of
 * all pools is known. */
bool state_look_at_capacity(struct state *state);

/* --- for this folder ---------------------------------------------------- */

/* The wall clock was set: as ledger_pause() and ledger_go_on(). */
void capacity_pause(struct state *state, int64_t ms);
void capacity_go_on(struct state *state, int64_t ms);

void capacity_free(struct state *state);

#endif
