/*
 * slices.h - long requests take turns
 *
 * A request that needs more than one slice of a turn waits in a queue for its
 * next slice. The user whose requests have taken the fewest steps so far comes
 * first, however many requests there are.
 */
#ifndef AISCHEDD_RPC_SLICES_H
#define AISCHEDD_RPC_SLICES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "libcommon/map.h"

/* A member of each long request's struct, by which the request is queued. */
struct slice {
	TAILQ_ENTRY(slice) next;
	uid_t uid;
	/* whether the slice is in the queue */
	bool waits;
};

struct slices {
	TAILQ_HEAD(, slice) queue;
	/* steps that each uid has taken; cleared when the queue is empty */
	struct map had;
};

void slices_init(struct slices *s);
void slices_fini(struct slices *s);
/* append to the queue */
void slices_add(struct slices *s, struct slice *slice);
/* Return a slice that was taken to the front of the queue. */
void slices_put_back(struct slices *s, struct slice *slice);
void slices_remove(struct slices *s, struct slice *slice);

/* Removes from the queue the first slice of the user who has taken the fewest
 * steps so far, and returns it; NULL if the queue is empty. */
struct slice *slices_take(struct slices *s);

/* Count these steps, which a slice took, for its user. */
void slices_charge(struct slices *s, uid_t uid, uint64_t steps);

#endif
