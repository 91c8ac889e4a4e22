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
	bool all; /* there is no list: everything is selected */
	size_t n;
	/* sorted, without duplicates; borrowed from the request */
	const char **text;
};

/* Hides rows of other users from a peer, if the configuration says so. */
struct veil {
	bool hides;
	char *user;    /* name of the peer, whose own rows are shown */
	json_t *names; /* queues that the peer operates, whose rows are shown,
	                  too */
	struct filter queues;
};

void veil_init(struct veil *v, const struct daemon *d, const struct peer *peer,
               const char *what);
void veil_fini(struct veil *v);
bool veil_shows(const struct veil *v, const char *user, const char *queue);

struct filters {
	struct filter users, queues, names, nodes, accounts;
	struct filter labels; /* a job matches only if it has all of these */
	bool all_states;
	uint32_t states; /* bit mask of job states */
};

/* Read the filters of a request's body, from which they borrow. */
void filters_init(struct filters *f, const json_t *body);
void filters_fini(struct filters *f);

/* Read one filter from a list of texts; if list is NULL, it
 * selects everything. */
void filter_init(struct filter *f, const json_t *list);
void filter_fini(struct filter *f);

bool filter_has(const struct filter *f, const char *text);
/* As filter_has(), for a text of len bytes. */
bool filter_has_part(const struct filter *f, const char *text, size_t len);
bool filter_has_state(const struct filters *f, enum job_state state);

/* Whether a job with these labels has all labels that the filters ask for;
 * see labels.h. */
bool filter_labels(const struct filters *f, const char *labels);
/* Check the syntax of the labels that the filters ask for. Fails
 * with EINVAL. */
int filter_check_labels(const struct filters *f, struct err *err);

/* Check that the queues and nodes that the filters name exist. Fails
 * with ENOENT. */
int filter_check(const struct daemon *d, const struct filters *f,
                 struct err *err);

/* Copy pointers to the strings of the list to ret, in order and without
 * duplicates; returns how many. ret must have room for all. */
size_t filter_unique(const json_t *list, const char **ret);

/* Returns the job at which a walk over all jobs continues after a pause, or
 * NULL at the end. next: id of the job that was to be visited next; last: id of
 * the job visited last. Either job may have been removed meanwhile. */
struct job *filter_resume(const struct state *state, uint64_t next,
                          uint64_t last);

#endif
