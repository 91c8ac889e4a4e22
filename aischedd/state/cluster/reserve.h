/*
 * reserve.h - nodes kept for some users, or for nobody, for a while
 *
 * From start until before end nothing but jobs that name the reservation runs
 * on its nodes; the scheduler sees it coming and starts nothing there that
 * would be in its way.  No two keep the same node at the same time.  One that
 * repeats has its next window as soon as one is over: at the same time of the
 * day, in local time.
 *
 * Groups are known to whoever submits: users who come in through one become
 * guests then.
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
	int64_t start, end; /* of this window, or the next */
	enum repeat repeat;
	char *users;    /* "ann,@ml"; empty: nobody's, for maintenance */
	char *guests;   /* "bob", of its groups */
	uint32_t *node; /* ascending */
	uint32_t nnodes;
};

struct reservation_list {
	struct reservation *resv;
	size_t n, cap;
	int64_t next; /* one begins or ends, or NO_TIME */
	bool dirty;   /* to be written */
};

/* What is wanted.  Texts are copied. */
struct reserve_ask {
	const char *name;
	int64_t start, end;
	enum repeat repeat;
	const char *users; /* as above; whether there are such is checked */
	const char *nodes; /* a hostlist; NULL: so many of a pool: */
	const char *pool;  /* NULL: the only one */
	uint32_t count;
};

/*
 * Make it, or change nothing.  Of a pool, nodes that are free by then come
 * first.
 * Fails: EINVAL (times, names), EEXIST (name taken), ENOENT (no such node,
 * pool), EBUSY (another keeps the nodes), EAGAIN (too many).
 */
int state_reserve(struct state *state, const struct reserve_ask *ask,
                  int64_t now, struct err *err);

/* Jobs that name it and have not begun wait until there is one of this name
 * again.  Fails: ENOENT. */
int state_unreserve(struct state *state, const char *name, int64_t now,
                    struct err *err);

size_t state_nreservations(const struct state *state);
const struct reservation *state_reservation(const struct state *state,
                                            size_t i);
/* "n[0-3]" */
void state_reservation_nodes(const struct state *state,
                             const struct reservation *r, struct buf *out);

/* The one that keeps the node at that time, or NULL. */
const struct reservation *state_node_reserved(const struct state *state,
                                              uint32_t node, int64_t at);

/* As the store has it; nodes that are not known yet become known, as gone.
 * Fails: EINVAL. */
int state_load_reservation(struct state *state, const struct reserve_ask *ask,
                           const char *guests, struct err *err);

/* --- for this folder ---------------------------------------------------- */

struct reservation *reserve_find(const struct state *state, const char *name);

/* Handle what begins or ends by now. */
void reserve_tick(struct state *state, int64_t now);

/* Set when the next one begins or ends. */
void reserve_arm(struct state *state, int64_t now);
void reserve_free(struct state *state);

#endif
