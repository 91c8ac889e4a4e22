/*
 * filter.h - lists of strings in a request that select jobs
 *
 * A list is sorted once, as it may be long and is searched for each job.
 * Without a list everything is selected.
 */
#ifndef AISCHEDD_OP_FILTER_H
#define AISCHEDD_OP_FILTER_H

#include <jansson.h>
#include <stdbool.h>

#include "aischedd/daemon.h"

struct filter {
	bool all; /* no list: selects everything */
	size_t n;
	/* sorted, without duplicates; borrowed from the request */
	const char **text;
};

/* Limits the rows that a peer may see if others' jobs or use are hidden. */
struct veil {
	bool hides;
	char *user;    /* the peer, whose own rows are shown */
	json_t *names; /* queues that the peer operates */
	struct filter queues;
};

void veil_init(struct veil *v, const struct daemon *d, const struct peer *peer,
               const char *what);
void veil_fini(struct veil *v);
bool veil_shows(const struct veil *v, const char *user, const char *queue);

struct filters {
	struct filter users, queues, names, nodes, accounts;
	struct filter labels; /* a job must have all of them */
	bool all_states;
	uint32_t states; /* one bit each */
};

/* The filters borrow from the request. */
void filters_init(struct filters *f, const json_t *body);
void filters_fini(struct filters *f);

/* Begin one filter; a list of NULL selects everything. */
void filter_init(struct filter *f, const json_t *list);
void filter_fini(struct filter *f);

bool filter_has(const struct filter *f, const char *text);
/* The same for a text of len bytes. */
bool filter_has_part(const struct filter *f, const char *text, size_t len);
bool filter_has_state(const struct filters *f, enum job_state state);

/* Whether these labels include all wanted ones; see labels.h. */
bool filter_labels(const struct filters *f, const char *labels);
/* Check the syntax of the wanted labels. Fails with EINVAL. */
int filter_check_labels(const struct filters *f, struct err *err);

/* Check that the named queues and nodes exist. Fails with ENOENT. */
int filter_check(const struct daemon *d, const struct filters *f,
                 struct err *err);

/* List the strings without duplicates, in order; returns how many. ret must
 * hold all of them. */
size_t filter_unique(const json_t *list, const char **ret);

/* Continue at job `next` in the list of all jobs after a slice; `next`, and
 * `last` before it, may be gone. Returns NULL at the end. */
struct job *filter_resume(const struct state *state, uint64_t next,
                          uint64_t last);

#endif
