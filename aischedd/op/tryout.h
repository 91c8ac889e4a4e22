/*
 * tryout.h - plan jobs without submitting them (--test-only)
 *
 * Jobs are planned one after the other, and requests in the order in which they
 * arrived. If many jobs are pending, planning one more takes as long as a pass,
 * so a thread does it.
 */
#ifndef AISCHEDD_OP_TRYOUT_H
#define AISCHEDD_OP_TRYOUT_H

#include "aischedd/op/op.h"
#include "libcommon/spec/spec.h"

/* A request whose jobs have been checked. */
struct tryout_ask {
	struct arena *arena; /* owns specs, queues and all else of the jobs */
	const struct spec *spec;
	const uint32_t *queue;
	size_t n;
	json_t *next; /* when recurring work would run; NULL if the work does
	                 not recur */
};

/* Plan the jobs and answer the request: at once if few jobs are pending,
 * otherwise later. Takes over the arena and next. Fails with EMSGSIZE if
 * planning all jobs would take too long. */
int daemon_try(struct daemon *d, struct ask *ask, const struct request_in *in,
               const struct tryout_ask *what, struct err *err);

/* Go on with the request that had to wait for the end of a sweep, if it
 * is over. */
void daemon_go_on_trying(struct daemon *d);

void daemon_free_tryouts(struct daemon *d);

#endif
