/*
 * trace.h - the input of a simulation: jobs, and events of the cluster
 *
 * Read from JSON lines, the Standard Workload Format, a daemon's history or its
 * replay, which has all that the jobs asked for.
 * Times are seconds of the simulation, which begins at 0. Each job is checked
 * against the configuration when it is read; trace_finish() orders all and
 * resolves the names in references to other jobs.
 */
#ifndef AISIM_TRACE_H
#define AISIM_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

#include "aischedd/state/cluster/reserve.h"
#include "aischedd/state/state.h"
#include "libcommon/buf.h"
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

/* The fate that a job of a replay really had; seconds of the simulation. */
struct trace_real {
	int64_t start, end;     /* first start, end; TRACE_NEVER: none */
	int64_t cost;           /* millionths of the currency */
	int64_t gpu_ms, cpu_ms; /* held by all tasks: thousandths of a second */
	uint32_t evictions;
	bool costs; /* cost is known */
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
	int64_t work;            /* seconds until it ends, or TRACE_NEVER */
	int64_t grace;           /* seconds an eviction takes */
	int64_t resume_cost;     /* seconds of work each eviction adds */
	int64_t begin, deadline; /* of a replay; TRACE_NEVER: none */
	int64_t longest; /* of a replay: the longest attempt, if none ended by
	                    itself */
	uint64_t rank;   /* orders jobs of one second, before `task` and
	                    `line` */
	uint64_t array;  /* id of the first task, after trace_finish() */
	const char *in;  /* the array that it is a task of, or NULL */
	uint32_t task, limit; /* likewise; limit: tasks at once, 0: any */
	int8_t preemptible;   /* -1: as its class says */
	uint8_t on_evict;
	bool start_fails;
	bool replayed; /* it asks for what it once asked for, nothing else */
	struct trace_real real;
};

/* An array, at the index that trace_array() returns. */
struct trace_array {
	const char *name;
	uint64_t id;          /* that of its first task */
	uint32_t n, min, max; /* its tasks in the trace */
	uint32_t limit;
};

/* Jobs that are left out, and why; two replays can share it. */
struct left_reason {
	char *text;
	size_t n;
};

struct left_out {
	struct map jobs; /* hash of the name -> the reason's index + 1 */
	struct left_reason *reason;
	size_t nreasons, cap, n;
};

/* Events of one second, in the order in which they are applied. */
enum trace_act_kind {
	TRACE_NODE_DOWN,
	TRACE_NODE_UP,
	TRACE_DRAIN,
	TRACE_UNDRAIN,
	TRACE_RESERVE,
	TRACE_HOLD,
	TRACE_RELEASE,
	TRACE_CANCEL
};

struct trace_act {
	int64_t at;
	enum trace_act_kind kind;
	uint32_t line;
	uint32_t node;
	const char *name;           /* of the job to cancel, hold, release */
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
	struct trace_array *array;
	size_t narrays, array_cap;
	struct map arrays;   /* hash of the name -> index + 1 */
	struct map array_of; /* id -> index + 1 */

	/* Jobs of a history that do not suit this cluster. */
	size_t nleft_out;
	struct err left_out; /* the first one's reason */
	/* All jobs that are left out, with reasons. Jobs that it already names
	 * are left out, too. NULL: they are not collected. */
	struct left_out *left;
	bool is_replay;  /* its jobs have `real` */
	size_t ndropped; /* dependencies on jobs that are not in the replay */
	/* Lines for people: what else is missing. */
	struct buf lacks;
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

/*
 * Add the lines of a replay, of which `begun` has the first bytes. Fails with
 * EINVAL if it was cut, is of another version, or has times that run backwards.
 */
int trace_read_replay(struct trace *trace, gzFile file, struct buf *begun,
                      struct err *err);

/* Shift all times so that the first job arrives in second 0. */
void trace_shift(struct trace *trace);

/* Leave a job out, with the reason of err. */
void trace_leave(struct trace *trace, const char *name, const struct err *why);
/* Whether it is left out already. */
bool trace_leaves(struct trace *trace, const char *name);
void left_free(struct left_out *left);

/* Returns the array of this id, or NULL. */
const struct trace_array *trace_array(const struct trace *trace, uint64_t id);
/* Returns the id of a task of it; 0: it is not in the trace. */
uint64_t trace_task(const struct trace *trace, const struct trace_array *array,
                    uint32_t task);
/* Returns the job of this name that was added, before trace_finish(); or
 * NULL. */
struct trace_job *trace_find(const struct trace *trace, const char *name);

/* Add an event about a job. */
void trace_act(struct trace *trace, enum trace_act_kind kind, const char *name,
               uint32_t line, int64_t at);

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
