/*
 * runner_kind.h - the kinds of runners, and what each can do
 *
 * Callers test a trait, not a kind. So a new kind needs only a line of
 * RUNNER_KINDS and its traits in runner_kind.c.
 */
#ifndef LIBCOMMON_RUNNER_KIND_H
#define LIBCOMMON_RUNNER_KIND_H

#include <stdbool.h>

/* X(symbol, name in the configuration) */
#define RUNNER_KINDS(X)   \
	X(NONE, "none")   \
	X(LOCAL, "local") \
	X(KUBERNETES, "kubernetes")

enum runner_kind {
#define X(sym, name) RUNNER_##sym,
	RUNNER_KINDS(X)
#undef X
};

struct runner_traits {
	bool runs;    /* it runs jobs, and reports the nodes of its pool; the
	                 daemon waits for this report */
	bool is_here; /* it runs jobs on this machine; at most one pool can have
	                 it */
	bool has_api; /* it is a client of the API server that the pool's keys
	                 name */
	bool has_labels;  /* labels of its nodes may give their topology */
	bool has_images;  /* it runs container images and mounts volumes */
	bool shares_gpus; /* several tasks can share a GPU */
	bool binds; /* it binds tasks to the CPUs and NUMA nodes that the plan
	               chose */
	bool can_freeze; /* it can suspend processes */
};

const struct runner_traits *runner_traits(enum runner_kind kind);

#endif
