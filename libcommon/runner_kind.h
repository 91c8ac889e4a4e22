/*
 * runner_kind.h - the kinds of runners, and what each can do
 *
 * Callers ask for a trait, not for a kind: a new kind is a line of
 * RUNNER_KINDS and a row of the table in runner_kind.c.
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
	bool runs;    /* it runs jobs: the daemon waits for its nodes */
	bool is_here; /* it runs jobs on this machine: at most one pool */
	bool has_api; /* it is a client of an API server, named by keys of the
	                 pool */
	bool has_labels;  /* labels of its nodes may say their topology */
	bool has_images;  /* it runs images and mounts volumes */
	bool shares_gpus; /* tasks may have parts of one GPU */
	bool binds;       /* tasks have the CPUs and the memory of the plan */
	bool can_freeze;  /* it stops processes in place */
};

const struct runner_traits *runner_traits(enum runner_kind kind);

#endif
