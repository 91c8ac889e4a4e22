/*
 * place_topology.h - the domain of the topology in which a job is placed
 */
#ifndef AISCHEDD_SCHED_PLACE_TOPOLOGY_H
#define AISCHEDD_SCHED_PLACE_TOPOLOGY_H

#include "aischedd/sched/place_trial.h"

struct place_topology *place_topology_new(struct place *p);

/* place_topology_fill() places all tasks in the narrowest domain that has room,
 * among those that the request needs or prefers. place_topology_fill_in()
 * places them in this domain. Both return false if the tasks do not fit. */
bool place_topology_fill(struct place_trial *t);
bool place_topology_fill_in(struct place_trial *t, uint32_t domain);

/* Divide all tasks evenly among the domains of the level over which the request
 * is spread. If the request only prefers this (spread_like), divide them as
 * evenly as the free resources allow. */
bool place_topology_spread(struct place_trial *t);

/* Called after place_topology_fill() has failed: set lack->domain to that
 * domain of the needed level in which the most tasks fit. */
void place_topology_lack(struct place_trial *t, struct place_lack *lack);

#endif
