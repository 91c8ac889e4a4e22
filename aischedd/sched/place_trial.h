/*
 * place_trial.h - one attempt to place a job in one pool, and why it failed
 *
 * Made by place.c; place_topology.c chooses domains of the topology, and
 * place_lack.c says why an attempt failed.
 */
#ifndef AISCHEDD_SCHED_PLACE_TRIAL_H
#define AISCHEDD_SCHED_PLACE_TRIAL_H

#include "aischedd/sched/fit.h"
#include "aischedd/sched/place.h"

struct place_trial {
	struct place *p;
	uint32_t req, tasks;
	uint32_t nodes; /* use exactly this many nodes; 0: any number */
	unsigned trees;
	const struct allowed *allowed;
	/* the classes of the pool: a slice of allowed->class */
	uint32_t class, class_end;
	uint32_t left; /* tasks left to place */
	/* nodes still to be used if their number is exact */
	uint32_t nodes_left;
	int64_t ask;  /* tasks that the next node must hold */
	int64_t most; /* an upper bound of tasks on one node */
	/* The parts of the constraint that have a count, such as "ib*2".
	 * wanted: bit i is set if part i must hold on the next node; wants: by
	 * part, on how many more nodes it must hold. */
	uint8_t wanted;
	uint32_t wants[CONSTRAINT_MAX_COUNTS];
	uint32_t
	    kind; /* only nodes of this kind (place_scarce.h), or SNAP_NONE */
	uint32_t inside; /* only in this domain, or SNAP_NONE */
	/* CAP_KEEP: add tasks one by one to nodes, up to place.cap on each.
	 * CAP_RISE: the same, but raise place.cap by one whenever all nodes
	 * with fewer tasks are full, so that tasks are divided evenly. */
	enum { CAP_NONE, CAP_KEEP, CAP_RISE } cap;
	bool wishes; /* the job prefers something that a node may not be able to
	                give */
	/* WISH_LIMIT: use only nodes that fall short of the job's preferences
	 * by at most `excess`. WISH_SEEK: place nothing, but set `excess` to
	 * the amount by which the best node falls short. */
	enum { WISH_NONE, WISH_LIMIT, WISH_SEEK } wish;
	struct fit_excess excess;
	/* spare: use only nodes on which each free GPU keeps its share of CPUs
	 * and memory; set to false if there is no such node. sparing: the value
	 * that `spare` has when the trial begins. */
	bool sparing, spare;
	bool packs;  /* do not spread tasks, though the pool's order does */
	bool apart;  /* the tasks of a node were not put there all at once */
	bool breaks; /* tasks that were spread would have broken a promise */
};

static inline int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* place_trial_all() places all tasks in domains as the request needs and
 * prefers; place_trial_fill() places them on any nodes on which they fit. Both
 * return false if the tasks do not fit. */
bool place_trial_all(struct place_trial *t);
bool place_trial_fill(struct place_trial *t);

#endif
