/*
 * scaled.h - nodes of templates: added when requested, and given back
 *
 * A node is added when the delay of its template has passed since the state
 * requested it. It costs money from the request until it is given back.
 */
#ifndef AISIM_SCALED_H
#define AISIM_SCALED_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct state;

/* A node that was asked for and has not been given back. */
struct scaled_node {
	uint32_t node;
	int64_t asked;
	int64_t comes; /* when it is to be added; NO_TIME: it was added */
};

struct scaled {
	struct scaled_node *node;
	size_t n, cap;
	size_t most;    /* the most nodes at a time */
	uint64_t asked; /* how often a node was asked for */
	int64_t held_s; /* node-seconds of the nodes that were given back */
	double cost;    /* their cost, in millionths of the currency */
};

void scaled_add(struct scaled *scaled, struct state *state, uint32_t node,
                int64_t now);
void scaled_remove(struct scaled *scaled, struct state *state, uint32_t node,
                   int64_t now);

/* Returns when the next node comes, or NO_TIME. */
int64_t scaled_next(const struct scaled *scaled);

/* If a node is due by `now`, report to the state that it exists. Returns the
 * index of the node, or -1 if none is due. */
int64_t scaled_take(struct scaled *scaled, struct state *state, int64_t now);

/* Print the sums up to now as members of a JSON object. */
void scaled_print(const struct scaled *scaled, const struct state *state,
                  int64_t now, FILE *out);
void scaled_fini(struct scaled *scaled);

#endif
