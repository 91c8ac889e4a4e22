/*
 * match.h - which nodes may run which request, whatever is free there
 *
 * Nodes of about the same size are one class if no request of the snapshot can
 * distinguish them by pool, features, taints, GPU types, GPU memory and numbers
 * of other devices, and if they have the same weight. So a constraint is
 * evaluated once for each class, not for each node. Nodes that a request names
 * (--nodelist, --exclude) are kept in a separate bitmap.
 */
#ifndef AISCHEDD_SCHED_MATCH_H
#define AISCHEDD_SCHED_MATCH_H

#include <stdbool.h>

#include "aischedd/sched/snap.h"
#include "libcommon/constraint.h"

struct node_class {
	uint32_t pool;
	bool mixed; /* some node has GPUs of more than one type, or with
	               partitions for good */
	uint32_t nnodes;
	uint32_t *node;       /* the nodes, ascending */
	int64_t most[RES_N];  /* the largest total of any of its nodes */
	int64_t most_tmp;     /* likewise of disk */
	const uint64_t *word; /* the bits of its nodes, see match.c */
};

/* Where one request may run. */
struct allowed {
	bool known;
	uint32_t nclasses;
	const uint32_t *class; /* in order of their pools */
	/* bit i: node i; NULL: all nodes of the classes */
	const uint64_t *only;
	/* the same, but including the nodes that the request shuns now because
	 * of where other jobs are */
	const uint64_t *ever;
	/* where it might run if it shunned no nodes; NULL: it shuns none */
	const struct allowed *unshunned;
	/* The counted parts of its constraint: at least count[i] of the job's
	 * nodes must be of classes that have bit i in counted. */
	uint32_t ncounts;
	uint32_t count[CONSTRAINT_MAX_COUNTS];
	const uint8_t *counted; /* by index in `class`: the parts that hold, as
	                           bits */
	/* Sets of classes to try in turn. The first has the classes that meet
	 * the most important preferences and have the least weight; each
	 * further set has the next best classes, too. The set of all classes is
	 * not in the list. */
	uint32_t nbest;
	const struct allowed *best;
};

/* The first thing that a node lacks for a request, apart from its size, in the
 * order of the checks: the larger the value, the closer the node comes to being
 * allowed. */
enum match_lack {
	MATCH_POOL, /* the node is in none of the request's pools */
	MATCH_GPU,
	MATCH_GPU_TYPE,
	MATCH_GPU_MEMORY, /* its GPUs have less, or it is not known */
	MATCH_DEVICES,    /* other than GPUs: it has too few */
	MATCH_FEATURES,
	MATCH_TAINTS, /* the constraint does not name all hard taints of the
	                 node */
	MATCH_NOTHING /* the node lacks nothing, but the request may exclude it
	                 by name */
};

struct match;

struct match *match_new(const struct snap *snap, struct arena *arena);

uint32_t match_nclasses(const struct match *m);
const struct node_class *match_class(const struct match *m, uint32_t class);
/* Whether the two classes differ only in the size of their nodes. */
bool match_same_kind(const struct match *m, uint32_t a, uint32_t b);
uint32_t match_class_of(const struct match *m, uint32_t node);

/* Returns where a request may run, which is computed at the first call for it.
 */
const struct allowed *match_req(struct match *m, uint32_t req);

/* Returns what the closest nodes lack for the request. If the request names
 * nodes (--nodelist), only these are looked at. Nodes that it excludes
 * (--exclude) are looked at, too. */
enum match_lack match_closest(struct match *m, uint32_t req);

/* Whether no node of the class is large enough for a task. */
static inline bool match_class_too_small(const struct node_class *c,
                                         const struct snap *s, uint32_t req)
{
	return s->req.cpus[req] > c->most[RES_CPU] ||
	       s->req.mem[req] > c->most[RES_MEM] ||
	       s->req.tmp[req] > c->most_tmp ||
	       s->req.gpus[req] > c->most[RES_GPU];
}

/* Whether the request may run on the node, which is of one of the request's
 * classes. */
static inline bool match_allows(const struct allowed *a, uint32_t node)
{
	return !a->only || (a->only[node / 64] >> node % 64 & 1);
}

/* Whether the request could run on the node if it shunned no nodes. */
static inline bool match_ever_allows(const struct allowed *a, uint32_t node)
{
	return !a->ever || (a->ever[node / 64] >> node % 64 & 1);
}

/* Whether jobs of the request may run on the node, given what it is and
 * which nodes the request names. */
bool match_could_use(struct match *m, uint32_t req, uint32_t node);

#endif
