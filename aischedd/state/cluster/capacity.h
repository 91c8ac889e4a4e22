/*
 * capacity.h - the capacity of pools by the hour, and how much of it no
 * job could hold
 *
 * Capacity is counted in rollups that have no user. For all nodes of a pool
 * that have the same type of GPU there are four rollups. One counts all that
 * the nodes have; the other three count what no job holds because the node is
 * reserved, drained or down. All four are booked, stored and reported like the
 * use of jobs. The rest of what the nodes have is held by jobs, or idle. CPUs,
 * memory and GPUs used by other processes than jobs are not counted.
 * state_look_at_capacity() is called from time to time, if something has
 * changed; until the next call the amounts count as unchanged.
 */
#ifndef AISCHEDD_STATE_CLUSTER_CAPACITY_H
#define AISCHEDD_STATE_CLUSTER_CAPACITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aischedd/state/cluster/rollup.h"

enum capacity_part {
	CAPACITY_OFFERED, /* everything that the nodes have */
	CAPACITY_RESERVED,
	CAPACITY_DRAINED,
	CAPACITY_DOWN,
	CAPACITY_PARTS
};

/* The rollups of a pool's nodes with one type of GPU, and their
 * present rates. */
struct capacity {
	struct rollup *rollup[CAPACITY_PARTS];
	int64_t rate[CAPACITY_PARTS][RATES];
	/* the new rate[], while state_look_at_capacity() runs */
	int64_t seen[CAPACITY_PARTS][RATES];
	bool waits; /* the pool has not reported all its nodes yet */
	bool known; /* rate[] was computed since the daemon was started */
};

struct capacity_table {
	struct capacity *row;
	size_t n, cap;
	uint64_t nchanges; /* 1 + state->nchanges at the last look; 0: none */
	/* time of the last look; before the first look, the time that
	 * state_capacity_since() has set */
	int64_t since_ms;
};

/* Whether the rollup counts capacity; if so, sets *ret_part to the part. */
bool rollup_is_capacity(const struct rollup *r, enum capacity_part *ret_part);

/* Set the time up to which the loaded capacity is known. Amounts found by the
 * first look are counted from that time on. */
void state_capacity_since(struct state *state, int64_t since_ms);

/* Whether something has changed since the last state_look_at_capacity(). */
bool state_capacity_stale(const struct state *state);

/* Compute the present capacity from all nodes and the jobs on them, and count
 * it from now on. Returns whether all pools have reported all their nodes. */
bool state_look_at_capacity(struct state *state);

/* --- for this folder ---------------------------------------------------- */

/* When the wall clock is set, do not count the time that it jumps over; call
 * these two functions like ledger_pause() and ledger_go_on(). */
void capacity_pause(struct state *state, int64_t ms);
void capacity_go_on(struct state *state, int64_t ms);

void capacity_free(struct state *state);

#endif
