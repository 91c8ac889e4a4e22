/*
 * slices.h - long requests take turns
 *
 * A request that needs more than a slice of a turn waits here for its next one.
 * The user who has had the fewest steps goes first, whatever the number of
 * requests.
 */
#ifndef AISCHEDD_RPC_SLICES_H
#define AISCHEDD_RPC_SLICES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "libcommon/map.h"

/* Embedded in a request. */
struct slice {
	TAILQ_ENTRY(slice) next;
	uid_t uid;
	bool waits; /* it is in the queue */
};

struct slices {
	TAILQ_HEAD(, slice) queue;
	/* steps taken, by uid; forgotten when the queue is empty */
	struct map had;
};

void slices_init(struct slices *s);
void slices_fini(struct slices *s);
void slices_add(struct slices *s, struct slice *slice); /* at the end */
void slices_remove(struct slices *s, struct slice *slice);

/* Take out the first slice of the user who has had the fewest steps; returns
 * NULL if none waits. */
struct slice *slices_take(struct slices *s);

/* Note that a slice of this user took this many steps. */
void slices_charge(struct slices *s, uid_t uid, uint64_t steps);

#endif
