/*
 * trace.h - the input of a simulation: jobs, and events of the cluster
 *
 * Read from JSON lines, the Standard Workload Format or a daemon's history.
 * Times are seconds of the simulation, which begins at 0. Each job is checked
 * against the configuration when it is read; trace_finish() orders all and
 * resolves the names in references to other jobs.
 */
#ifndef AISIM_TRACE_H
#define AISIM_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aischedd/state/cluster/reserve.h"
#include "aischedd/state/state.h"
#include "libcommon/map.h"

#define TRACE_NEVER INT64_MAX
#define TRACE_MAX_S ((int64_t)1 << 40)    /* no time is later */
#define TRACE_MIN_S (-(int64_t)900000000) /* or earlier */

/* The price that a job pays for an eviction. */
enum on_evict {
	ON_EVICT_RESUME,  /* it resumes where it was */
	ON_EVICT_RESTART, /* it starts again */
	ON_EVICT_END      /* it ends */
};

/* The devices of a task that runs from the beginning. */
struct trace_dev {
	uint64_t gpus;          /* bit i: device i */
	uint8_t profile, units; /* of its partition; 0: none */
};

struct trace_job {
	const char *name;
	char *packed; /* its spec, spec_pack(); NULL once it has arrived */
	const char *dependency; /* with ids after trace_finish() */
	uint32_t user, queue;
	uint32_t line;        /* line of the file */
	uint32_t nrunning;    /* its tasks if it runs from the beginning */
	const uint32_t *node; /* [nrunning] their nodes */
	const struct trace_dev *dev; /* [nrunning] their GPUs; NULL: any */
	int64_t submit, started;
	int64_t work;        /* seconds until it ends, or TRACE_NEVER */
	int64_t grace;       /* seconds an eviction takes */
	int64_t resume_cost; /* seconds of work each eviction adds */
	int8_t preemptible;  /* -1: as its class says */
	uint8_t on_evict;
	bool start_fails;
};

/* Events of one second, in the order in which they are applied. */
enum trace_act_kind {
	TRACE_NODE_DOWN,
	TRACE_NODE_UP,
	TRACE_DRAIN,
	TRACE_RESERVE,
	TRACE_CANCEL
};

struct trace_act {
	int64_t at;
	enum trace_act_kind kind;
	uint32_t line;
	uint32_t node;
	const char *name;           /* of the job to cancel */
	uint64_t job;               /* its id, after trace_finish() */
	struct reserve_ask reserve; /* times are those of the simulation */
};

struct trace {
	const char *file; /* for errors */
	struct state *state;
	struct arena *arena;
	struct trace_job *job; /* at index id - 1 */
	size_t njobs, job_cap;
	struct trace_act *act; /* sorted by time */
	size_t nacts, act_cap;
	const char **user;
	size_t nusers, user_cap;
	struct map names, users; /* hash -> number + 1 */

	/* Jobs of a history that do not suit this cluster. */
	size_t nleft_out;
	struct err left_out; /* the first one's reason */
};

/* Make a trace for a state that has its nodes. file is borrowed. */
struct trace *trace_new(struct state *state, const char *file);
void trace_free(struct trace *trace); /* NULL is allowed */

/*
 * Add the jobs of a file. Fails with EINVAL and the like, "FILE:LINE: what": in
 * JSON lines for any wrong line, in the other formats for lines that cannot be
 * read; jobs that do not suit this cluster are skipped and counted.
 */
int trace_read_jobs(struct trace *trace, struct err *err);
int trace_read_swf(struct trace *trace, struct err *err);
int trace_read_history(struct trace *trace, struct err *err);

/* Add one JSON line; the error does not name file and line. */
int trace_line(struct trace *trace, const char *text, size_t len, uint32_t line,
               struct err *err);

/* Returns the index of the user of this name. */
uint32_t trace_user(struct trace *trace, const char *name);

/* Check the job and add it; strings are copied, node is not. Fails with EINVAL,
 * ENOENT or EPERM. */
int trace_add(struct trace *trace, const struct trace_job *job,
              struct spec *spec, struct err *err);

/* Resolve names once all files are read. Fails with EINVAL, "FILE:LINE: what",
 * if a job names another that does not exist. */
int trace_finish(struct trace *trace, struct err *err);

#endif
