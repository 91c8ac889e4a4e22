/*
 * place_index.h - nodes with room, in the order in which a pool fills them
 *
 * Each class of nodes (match.h) has a few balanced trees (treaps) in the
 * order of its pool: tightest first to pack, emptiest first to spread, least
 * free in percent for best fit, the lower node index first among equals.  A
 * subtree knows the most of each resource that a node in it has free, so that
 * the first node with enough is found without a look at those without, and a
 * request that fits nowhere fails at the root.  Must be told (shelf_refresh)
 * when a node's counters changed.
 */
#ifndef AISCHEDD_SCHED_PLACE_INDEX_H
#define AISCHEDD_SCHED_PLACE_INDEX_H

#include "aischedd/sched/match.h"
#include "aischedd/sched/work.h"

/* Which tree a node is in. */
enum shelf_tree {
	SHELF_OPEN, /* anybody's */
	SHELF_LATE, /* starts failed there a moment ago: not yet again */
	SHELF_PART, /* in the domain that is being filled, see place_topology.c
	             */
	SHELF_NTREES,
	SHELF_NONE = SHELF_NTREES /* down, drained, or runner not ready */
};

enum {
	IN_OPEN = 1 << SHELF_OPEN,
	IN_LATE = 1 << SHELF_LATE,
	IN_PART = 1 << SHELF_PART
};

/* What a node needs to have free; necessary, not sufficient. */
struct shelf_need {
	int64_t cpu, mem, slot;
	int64_t gpu;   /* free thousandths of all GPUs together */
	int64_t whole; /* GPUs wholly free */
	int64_t part;  /* free thousandths of one GPU that is shared */
	int64_t empty; /* 1: no task may be there */
	/* GPUs that its CPUs are worth beyond those it has, and GPUs beyond
	 * its CPUs: place_ratio.h. */
	int64_t more_cpu, more_gpu;
};

enum shelf_dim {
	DIM_CPU,
	DIM_MEM,
	DIM_SLOT,
	DIM_GPU,
	DIM_WHOLE,
	DIM_PART,
	DIM_EMPTY,
	DIM_MORE_CPU,
	DIM_MORE_GPU,
	DIM_N
};

struct shelf;

/* worth: mix_worth() */
struct shelf *shelf_new(const struct work *w, const struct match *m,
                        int64_t worth, struct arena *arena);

enum shelf_tree shelf_tree(const struct shelf *shelf, uint32_t node);
void shelf_move(struct shelf *shelf, uint32_t node, enum shelf_tree tree);
void shelf_refresh(struct shelf *shelf, uint32_t node);

/* How many nodes of the class are in the tree. */
uint32_t shelf_count(const struct shelf *shelf, uint32_t class,
                     enum shelf_tree tree);

/* The first node in order that has what is needed and that accept() takes;
 * SNAP_NONE when there is none. */
typedef bool shelf_accept_fn(uint32_t node, void *arg);
uint32_t shelf_find(const struct shelf *shelf, uint32_t class,
                    enum shelf_tree tree, const struct shelf_need *need,
                    shelf_accept_fn *accept, void *arg);

/* What a request for so much would take of more_cpu; < 0: of more_gpu. */
int64_t shelf_balance(const struct shelf *shelf, int64_t cpu, int64_t gpu);

/* Whether one node has what is needed. */
bool shelf_has(const struct shelf *shelf, uint32_t node,
               const struct shelf_need *need);

/* What the node has free of one thing; -1 where an exclusive job runs. */
int64_t shelf_have(const struct shelf *shelf, uint32_t node,
                   enum shelf_dim dim);

/* Whether a goes before b; both of the same pool. */
bool shelf_before(const struct shelf *shelf, uint32_t a, uint32_t b);

/* The most that a node of the tree has of one thing, and (ret_node unless
 * NULL) the first node that has it; -1 when the tree is empty. */
int64_t shelf_most(const struct shelf *shelf, uint32_t class,
                   enum shelf_tree tree, enum shelf_dim dim,
                   uint32_t *ret_node);

/* What all nodes of the class, in whatever tree, have free together. */
const int64_t *shelf_sum(const struct shelf *shelf, uint32_t class);

/* The same of a domain of the topology, and when that changed last: a count
 * of all changes, which only grows. */
const int64_t *shelf_domain_sum(const struct shelf *shelf, uint32_t domain);
uint64_t shelf_domain_changed(const struct shelf *shelf, uint32_t domain);
uint64_t shelf_changes(const struct shelf *shelf);

#endif
