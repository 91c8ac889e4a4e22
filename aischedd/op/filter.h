/*
 * filter.h - lists of texts in a request, which choose jobs
 *
 * A list is sorted once, so that it may be long and is looked into for each
 * job.  No list names everything.
 */
#ifndef AISCHEDD_OP_FILTER_H
#define AISCHEDD_OP_FILTER_H

#include <jansson.h>
#include <stdbool.h>

#include "aischedd/daemon.h"

struct filter {
	bool all; /* there is no list */
	size_t n;
	const char **text; /* sorted, each once; borrowed from the request */
};

struct filters {
	struct filter users, queues, names, nodes;
	bool all_states;
	uint32_t states; /* a bit each */
};

/* Keep the request as long as the filters. */
void filters_init(struct filters *f, const json_t *body);
void filters_fini(struct filters *f);

bool filter_has(const struct filter *f, const char *text);
/* The same for a text of len bytes. */
bool filter_has_part(const struct filter *f, const char *text, size_t len);
bool filter_has_state(const struct filters *f, enum job_state state);

/* Check that the queues and nodes that are named exist.  Fails with ENOENT. */
int filter_check(const struct daemon *d, const struct filters *f,
                 struct err *err);

/* The texts of a list, each once, in their order; returns how many.  Room for
 * all of them is the caller's. */
size_t filter_unique(const json_t *list, const char **ret);

/* Go on in the list of all jobs where a slice ended before job next: it, and
 * the one before it, may be gone.  NULL: there are no more. */
struct job *filter_resume(const struct state *state, uint64_t next,
                          uint64_t last);

#endif
