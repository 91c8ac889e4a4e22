/*
 * reserve.h - reservations: nodes kept for some users, or for nobody
 *
 * From its start until its end, only jobs that name the reservation run on its
 * nodes. The scheduler knows the start beforehand, and starts no other job
 * there that might still run by then. No two reservations keep the same node at
 * the same time. When a reservation that repeats is over, its start and end
 * move to its next window, at the same local time of a later day.
 *
 * A reservation has a list of guests: users who submitted a job for it as
 * members of a group that may use it. The list is needed because the groups of
 * a user are known only while a request of this user is handled.
 */
#ifndef AISCHEDD_STATE_CLUSTER_RESERVE_H
#define AISCHEDD_STATE_CLUSTER_RESERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aischedd/state/cluster/window.h"
#include "libcommon/buf.h"
#include "libcommon/err.h"

struct state;

struct reservation {
	char *name;
	int64_t start, end; /* of the present or the next window */
	enum repeat repeat;
	/* users and groups who may use it, as "ann,@ml"; empty: nobody */
	char *users;
	/* members of these groups who submitted jobs, as "bob,eve" */
	char *guests;
	uint32_t *node; /* indexes of the nodes, ascending */
	uint32_t nnodes;
	/* it overlaps the reservation that is being made, at some time */
	bool meets;
};

struct reservation_list {
	struct reservation *resv;
	size_t n, cap;
	int64_t next; /* when the next reservation begins or ends, or NO_TIME */
	bool dirty;   /* some reservations are to be written */
};

/* A request for a reservation; the strings are copied. */
struct reserve_ask {
	const char *name;
	int64_t start, end;
	enum repeat repeat;
	/* as in struct reservation; the caller has checked that these users and
	 * groups exist */
	const char *users;
	const char *nodes; /* a hostlist; NULL: any `count` nodes of the pool */
	const char *pool;  /* pool of these nodes; NULL: the only pool */
	uint32_t count;
};

/*
 * Make a reservation; changes nothing if it fails. If the request is for a
 * number of nodes of a pool, prefers nodes that will be up and free at the
 * start. Fails with EINVAL (times, names), EEXIST (name taken), ENOENT (no such
 * node or pool), EBUSY (another reservation keeps the nodes), EAGAIN (too
 * many).
 */
int state_reserve(struct state *state, const struct reserve_ask *ask,
                  int64_t now, struct err *err);

/* Delete a reservation. Pending jobs that name it wait until there is a new one
 * with that name. Fails with ENOENT. */
int state_unreserve(struct state *state, const char *name, int64_t now,
                    struct err *err);

size_t state_nreservations(const struct state *state);
const struct reservation *state_reservation(const struct state *state,
                                            size_t i);
/* Append the names of the reservation's nodes, as "n[0-3]"; by_pool: as
 * "POOL/n[0-3]", for the store. */
void state_reservation_nodes(const struct state *state,
                             const struct reservation *r, bool by_pool,
                             struct buf *out);

/* Returns the reservation that keeps the node at that time, or NULL. */
const struct reservation *state_node_reserved(const struct state *state,
                                              uint32_t node, int64_t at);

/* Load a reservation from the store; unknown nodes are added to the state,
 * marked as gone. Fails with EINVAL if the text of its nodes is not valid. */
int state_load_reservation(struct state *state, const struct reserve_ask *ask,
                           const char *guests, struct err *err);

/* --- for this folder ---------------------------------------------------- */

struct reservation *reserve_find(const struct state *state, const char *name);

/* Handle reservations that have begun or ended by now: a repeating one moves to
 * its next window, others are deleted when they are over. */
void reserve_tick(struct state *state, int64_t now);

/* Compute at which time the next reservation begins or ends. */
void reserve_arm(struct state *state, int64_t now);
void reserve_free(struct state *state);

#endif
