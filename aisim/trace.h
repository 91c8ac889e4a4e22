/*
 * trace.h - the input of a simulation: jobs, and events of the cluster
 *
 * A trace is read from JSON lines, the Standard Workload Format, the history of
 * a daemon or a replay (aiq/replay.h); a replay has everything that the jobs
 * requested. Times are seconds of the simulation, which begins at 0. Each job
 * is checked against the configuration when it is read; trace_finish() sorts
 * jobs and events, and resolves the names of jobs that others refer to.
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
#include "libcommon/cron/cron_rule.h"
#include "libcommon/map.h"

/* The state's time at second 0 if no other is chosen: a midnight of 2001. The
 * state has no negative times, but a trace may. */
#define TRACE_EPOCH ((int64_t)11574 * 86400)

#define TRACE_NEVER INT64_MAX
#define TRACE_MAX_S ((int64_t)1 << 40)    /* latest time */
#define TRACE_MIN_S (-(int64_t)900000000) /* earliest time */

/* How a job goes on after an eviction. */
enum on_evict {
	ON_EVICT_RESUME,  /* continues where it was */
	ON_EVICT_RESTART, /* starts from the beginning */
	ON_EVICT_END      /* ends */
};

/* The GPUs of a task of a job that is running at second 0. */
struct trace_dev {
	uint64_t gpus; /* bit i: device i */
	/* Profile and units of its partition; 0: none. */
	uint8_t profile, units;
};

/* The real start, end and use of a job of a replay, in seconds of
 * the simulation. */
struct trace_real {
	int64_t start, end;     /* first start, end; TRACE_NEVER: none */
	int64_t cost;           /* millionths of the currency */
	int64_t gpu_ms, cpu_ms; /* GPUs and CPUs times ms, of all tasks */
	uint32_t evictions;
	bool costs; /* cost is known */
};

struct trace_job {
	const char *name;
	char *packed; /* its spec as packed by spec_pack(); NULL after its
	                 arrival */
	/* Has ids of jobs, not names, after trace_finish(). */
	const char *dependency;
	const char *near, *apart;
	uint32_t user, queue;
	uint32_t line; /* line of the file */
	/* Number of its tasks if it is running at second 0. */
	uint32_t nrunning;
	const uint32_t *node;        /* [nrunning] their nodes */
	const struct trace_dev *dev; /* [nrunning] their GPUs; NULL: any */
	int64_t submit, started;
	int64_t work;        /* seconds until it ends, or TRACE_NEVER */
	int64_t grace;       /* seconds from eviction to end */
	int64_t resume_cost; /* seconds of work that each eviction adds */
	int64_t begin;       /* for a job of a replay; TRACE_NEVER: none */
	int64_t deadline;    /* TRACE_NEVER: none */
	int64_t longest; /* for a replayed job, longest_ms of its line; after an
	                    attempt that was not evicted, TRACE_NEVER */
	uint64_t rank;   /* order of jobs that arrive in the same second; jobs
	                    of equal rank are in order of task, then line */
	uint64_t array;  /* id of the first task, after trace_finish() */
	uint64_t cron;   /* id of its cron entry in the state; 0: none */
	const char *in;  /* name of the array that it belongs to, or NULL */
	uint32_t task, limit; /* its index in the array; how many tasks may run
	                         at once, 0: any number */
	int8_t preemptible;   /* -1: as in its class */
	uint8_t on_evict;
	bool start_fails;
	bool replayed; /* its spec is the original request: add nothing */
	struct trace_real real;
};

/* An array, at the index that trace_array() returns. */
struct trace_array {
	const char *name;
	uint64_t id; /* id of its first task */
	/* Number of its tasks in the trace, and their range. */
	uint32_t n, min, max;
	uint32_t limit;
};

/* A reason for leaving out jobs, and how many were left out for it. */
struct left_reason {
	char *text;
	size_t n;
};

struct left_out {
	/* Maps the hash of a name to the index of its reason + 1. */
	struct map jobs;
	struct left_reason *reason;
	size_t nreasons, cap, n;
};

/* Kinds of events. The events of one second are applied in this order. */
enum trace_act_kind {
	TRACE_NODE_DOWN,
	TRACE_GPU_DOWN,
	TRACE_GPU_UP,
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
	uint32_t gpu;     /* its GPU, of gpu_down and gpu_up */
	const char *name; /* name of the job to cancel, hold or release */
	uint64_t job;     /* id of this job, after trace_finish() */
	struct reserve_ask reserve; /* with times of the simulation */
};

/* A cron entry, which is in the state, too. */
struct trace_cron {
	struct trace_job job; /* what its runs have in common */
	char *packed;         /* their spec */
	uint64_t id;          /* in the state */
};

struct trace {
	const char *file; /* name of the file, for errors */
	struct state *state;
	struct arena *arena;
	/* The state's time at second 0 (TRACE_EPOCH), and the last second that
	 * is simulated (TRACE_NEVER). Set them before the file is read. */
	int64_t epoch, until;
	struct trace_job *job; /* at index id - 1 */
	size_t njobs, job_cap;
	struct trace_act *act; /* sorted by time */
	size_t nacts, act_cap;
	const char **user;
	size_t nusers, user_cap;
	struct map names; /* maps the hash of a job's name to its id */
	struct map users; /* maps the hash of a user's name to its index + 1 */
	struct trace_array *array;
	size_t narrays, array_cap;
	struct map arrays;   /* maps the hash of a name to its index + 1 */
	struct map array_of; /* maps the id of an array to its index + 1 */
	struct trace_cron *cron;
	size_t ncrons, cron_cap;
	struct zones *zones; /* of cron entries */

	/* Number of jobs of a history that this configuration cannot take. */
	size_t nleft_out;
	struct err left_out; /* reason for the first of these jobs */
	/* The jobs that were left out, with reasons. Several traces may share
	 * this, so that all leave out the same jobs. NULL: do not collect
	 * them. */
	struct left_out *left;
	bool is_replay;  /* the file is a replay, so `real` of jobs is set */
	size_t ndropped; /* dropped dependencies on jobs that are not in the
	                    replay */
	/* Other things that the replay lacks, one a line. */
	struct buf lacks;
};

/* Make a trace for a state that has its nodes already. file must be valid
 * until trace_free(). */
struct trace *trace_new(struct state *state, const char *file);
void trace_free(struct trace *trace); /* NULL is allowed */

/*
 * Add the jobs of the trace's file. Fails with EINVAL or the like, and a text
 * like "FILE:LINE: what". Jobs that the configuration cannot take are errors in
 * JSON lines; in the other formats they are left out and counted.
 */
int trace_read_jobs(struct trace *trace, struct err *err);
int trace_read_swf(struct trace *trace, struct err *err);
int trace_read_history(struct trace *trace, struct err *err);

/*
 * Add the lines of a replay, whose first bytes have been read into `begun`.
 * Fails with EINVAL if the file is incomplete, of another version, or has
 * attempts that ended before they began.
 */
int trace_read_replay(struct trace *trace, gzFile file, struct buf *begun,
                      struct err *err);

/* Shift all times so that the first job arrives in second 0. */
void trace_shift(struct trace *trace);

/* Note that a job is left out, with the text of `why` as the reason. */
void trace_leave(struct trace *trace, const char *name, const struct err *why);
/* Whether the job of this name has been left out already. */
bool trace_leaves(struct trace *trace, const char *name);
void left_free(struct left_out *left);

/* Returns the array with this id, or NULL. */
const struct trace_array *trace_array(const struct trace *trace, uint64_t id);
/* Returns the id of a task of the array; 0 if it is not in the trace. */
uint64_t trace_task(const struct trace *trace, const struct trace_array *array,
                    uint32_t task);
/* Returns the job with this name, or NULL; only before trace_finish(). */
struct trace_job *trace_find(const struct trace *trace, const char *name);

/* Add an event about a job. */
void trace_act(struct trace *trace, enum trace_act_kind kind, const char *name,
               uint32_t line, int64_t at);

/* Add the job or event of one JSON line; error texts do not name file
 * and line. */
int trace_line(struct trace *trace, const char *text, size_t len, uint32_t line,
               struct err *err);

/* Returns the index of the user with this name, who is added if necessary. */
uint32_t trace_user(struct trace *trace, const char *name);

/* Check a job, complete its spec and set its queue. Fails with EINVAL, ENOENT
 * or EPERM. */
int trace_check(struct trace *trace, struct trace_job *job, struct spec *spec,
                struct err *err);

/* Check a job and add it. Strings are copied; the array `node` is not. Fails
 * with EINVAL, ENOENT or EPERM. */
int trace_add(struct trace *trace, const struct trace_job *job,
              struct spec *spec, struct err *err);

/* Add a cron entry to the trace and to the state. Its runs will be like `job`,
 * which arrives when the entry is made. Fails with EINVAL or ENOENT. */
int trace_add_cron(struct trace *trace, const struct trace_job *job,
                   struct spec *spec, const struct cron_rule *rule,
                   struct err *err);

/* Add a job for each run of each cron entry up to trace->until; which of them
 * are skipped will turn out when their times come. Fails with EINVAL if that
 * does not end, with E2BIG if there are too many. */
int trace_add_runs(struct trace *trace, struct err *err);

/* Give the state the time zones of the trace, by names. */
void trace_set_zones(struct trace *trace);

/* Sort the jobs and resolve names, after all files have been read. Fails with
 * EINVAL, and a text like "FILE:LINE: what", if a job names another that does
 * not exist. */
int trace_finish(struct trace *trace, struct err *err);

#endif
