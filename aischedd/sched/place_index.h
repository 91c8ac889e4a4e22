/*
 * place_index.h - nodes by free room, in the order in which their pool is
 * filled
 *
 * Each class of nodes (match.h) has a few balanced trees (treaps) in the order
 * of its pool: tightest first to pack, emptiest first to spread, least free in
 * percent for best fit, the lower node index first among equals. The root of
 * each subtree stores, for each resource, the largest amount that any of its
 * nodes has free. A search can therefore skip subtrees in which too little is
 * free, and a request that fits nowhere fails at once. Call
 * place_index_refresh() whenever the counters of a node have changed.
 */
#ifndef AISCHEDD_SCHED_PLACE_INDEX_H
#define AISCHEDD_SCHED_PLACE_INDEX_H

#include "aischedd/sched/match.h"
#include "aischedd/sched/work.h"

/* The tree that a node is in. */
enum place_tree {
	TREE_OPEN, /* open to all requests */
	/* not used before retry_at: a start failed there, or the node is still
	 * coming */
	TREE_LATE,
	TREE_PART, /* in the domain being filled, see place_topology.c */
	NTREES,
	TREE_NONE = NTREES /* down, drained, or runner not ready */
};

enum {
	IN_OPEN = 1 << TREE_OPEN,
	IN_LATE = 1 << TREE_LATE,
	IN_PART = 1 << TREE_PART
};

/* The amounts that a node must have free. Even on a node that has all of these
 * free, a task might not fit. */
struct place_need {
	int64_t cpu, mem, tmp, slot;
	int64_t gpu;   /* free thousandths of all GPUs together */
	int64_t whole; /* GPUs wholly free */
	/* thousandths of a fraction or partition, for which a GPU that is
	 * shared must have room */
	int64_t part;
	int64_t empty; /* 1: no task may be there */
	/* more_cpu: by how much the free CPUs, counted in GPUs
	 * (place_index_worth()), exceed the free GPUs; more_gpu: by how much
	 * the free GPUs exceed these CPUs. */
	int64_t more_cpu, more_gpu;
	/* Unless 0: the harms that taking `whole` GPUs may do, as bits
	 * (place_index_harms()). */
	uint16_t harm;
};

enum place_dim {
	DIM_CPU,
	DIM_MEM,
	DIM_TMP,
	DIM_SLOT,
	DIM_GPU,
	DIM_WHOLE,
	DIM_PART,
	DIM_EMPTY,
	DIM_MORE_CPU,
	DIM_MORE_GPU,
	DIM_N
};

struct place_index;

/*
 * Returns how many GPUs a CPU is worth, in 2^20ths: the ratio of GPUs to CPUs
 * in all that running and waiting jobs ask for; 0 if they do not ask for both.
 * GPUs on a node without free CPUs are useless, and so are CPUs without free
 * GPUs; the ratio makes the two comparable.
 */
int64_t place_index_worth(const struct snap *snap, const struct tally *tally);

/* worth: as returned by place_index_worth() */
struct place_index *place_index_new(const struct work *w, const struct match *m,
                                    int64_t worth, struct arena *arena);

enum place_tree place_index_tree(const struct place_index *index,
                                 uint32_t node);
void place_index_move(struct place_index *index, uint32_t node,
                      enum place_tree tree);
void place_index_refresh(struct place_index *index, uint32_t node);

/* Returns how many nodes of the class are in the tree. */
uint32_t place_index_count(const struct place_index *index, uint32_t class,
                           enum place_tree tree);

/* Returns the first node, in the order of the pool, that has free what `need`
 * says and for which accept() returns true; SNAP_NONE if there is none. */
typedef bool place_index_accept_fn(uint32_t node, void *arg);
uint32_t place_index_find(const struct place_index *index, uint32_t class,
                          enum place_tree tree, const struct place_need *need,
                          place_index_accept_fn *accept, void *arg);

/* Returns the CPUs of a request, counted in GPUs, minus its GPUs. If this is >
 * 0, the request uses up that much of more_cpu; if < 0, of more_gpu. */
int64_t place_index_balance(const struct place_index *index, int64_t cpu,
                            int64_t gpu);

/* Whether this node has free what `need` says. */
bool place_index_has(const struct place_index *index, uint32_t node,
                     const struct place_need *need);

/* Whether taking GPUs from some nodes may do harm (fit/blocks.h). */
bool place_index_has_harm(const struct place_index *index);

/* Returns the harms that taking n GPUs does on the nodes of a tree, as bits:
 * bit 0 is no harm. n is at most FIT_BLOCKS_GPUS; some node may do harm. */
uint16_t place_index_harms(const struct place_index *index, uint32_t class,
                           enum place_tree tree, int64_t n);

/* Returns how much of one dimension the node has free, or -1 if an exclusive
 * job runs there. */
int64_t place_index_have(const struct place_index *index, uint32_t node,
                         enum place_dim dim);

/* Whether node a goes before node b in the order of their pool. */
bool place_index_before(const struct place_index *index, uint32_t a,
                        uint32_t b);

/* Returns the most of one dimension that a node of the tree has free, or -1 if
 * the tree is empty. *ret_node, unless NULL: the first node that has it. */
int64_t place_index_most(const struct place_index *index, uint32_t class,
                         enum place_tree tree, enum place_dim dim,
                         uint32_t *ret_node);

/* Returns the sums of what all nodes of the class, in all trees, have free. */
const int64_t *place_index_sum(const struct place_index *index, uint32_t class);

/* place_index_domain_sum() returns the sums of what the nodes of a topology
 * domain have free. place_index_changes() counts all changes of the index;
 * place_index_changed() returns the value that this count had after the last
 * change of the node, place_index_domain_changed() after that of the domain's
 * sums. */
const int64_t *place_index_domain_sum(const struct place_index *index,
                                      uint32_t domain);
uint64_t place_index_changed(const struct place_index *index, uint32_t node);
uint64_t place_index_domain_changed(const struct place_index *index,
                                    uint32_t domain);
uint64_t place_index_changes(const struct place_index *index);

#endif
