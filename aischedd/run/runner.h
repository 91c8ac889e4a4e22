/*
 * runner.h - what the daemon asks of runners of jobs
 *
 * A runner serves one pool: this machine, or a cluster. Requests come only
 * after the commit that made them durable, may be repeated, and never block;
 * results come back as events on the loop's thread. Every event names its
 * attempt; events of an older attempt are dropped.
 */
#ifndef AISCHEDD_RUN_RUNNER_H
#define AISCHEDD_RUN_RUNNER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "aischedd/sched/snap.h"
#include "libcommon/conf/conf.h"
#include "libcommon/err.h"
#include "libcommon/names.h"
#include "libcommon/spec/spec.h"

struct buf;
struct event_base;

/* A node as its runner sees it; the receiver applies corrections of the
 * configuration (node sections, reserve_*). */
struct node_info {
	const char *name;
	uint32_t ncpus; /* hardware threads that can be bound, 0: no binding */
	const uint8_t *cpu_numa;  /* [ncpus] */
	const uint16_t *cpu_core; /* [ncpus] hardware threads of one core have
	                             the same number */
	int64_t cpu_milli, mem_mib;
	uint32_t nnumas;         /* NUMA nodes; 0: not known */
	const int64_t *numa_mem; /* [nnumas] MiB */
	uint32_t slots;          /* tasks at a time; 0: any number */
	uint32_t ngpus;
	const char *gpu_type;               /* of all GPUs; NULL: unknown */
	const uint8_t *gpu_numa, *gpu_link; /* [ngpus] */
	/*
	 * gpus_named: tasks get the very GPUs of the plan, though their CPUs
	 * need not be bound. Then gpu_numas_known says whether gpu_numa is
	 * known, and gpus_held has the GPUs that no task may have, one bit
	 * each; used_gpus counts them, too.
	 */
	bool gpus_named, gpu_numas_known;
	uint64_t gpus_held;
	bool down;
	bool gone;          /* the runner no longer has it */
	bool cordoned;      /* nothing new may start there */
	const char *reason; /* why it is down or cordoned, or NULL */
	struct strlist features, taints;
	const char *topology; /* "z1/b1/r3", or NULL */
	/* Used there by others than our jobs. */
	int64_t used_cpu_milli, used_mem_mib;
	uint32_t used_gpus, used_slots;
};

/* How many nodes or pods may mount a volume claim at a time. */
enum volume_share { VOLUME_SHARED, VOLUME_ONE_NODE, VOLUME_ONE_POD };

/* A volume claim as its runner sees it. */
struct volume_info {
	/* NULL: all claims are known now, or why says what prevents that */
	const char *name;
	bool gone;
	const char *why; /* why it cannot be mounted now, or NULL */
	enum volume_share share;
	bool anywhere;        /* on all nodes of the pool, else on `nodes` */
	struct strlist nodes; /* unless anywhere */
};

/* An attempt's use of its GPUs, as far as their driver told. */
struct gpu_use {
	int64_t busy_ms, known_ms; /* of all GPUs together; known_ms: the time
	                              for which busy_ms was measured */
	int64_t mem_mib, mem_total_mib; /* the most in use at once, and the
	                                   size; 0: not known */
};

/* How one attempt of a job ended. */
struct outcome {
	int exit_code;        /* 0..255; of the task that failed first */
	int signal;           /* 0: none */
	bool oom;             /* a process was killed for memory */
	int64_t start, end;   /* unix seconds */
	int64_t cpu_ms;       /* all tasks together */
	bool late;            /* it was ended for exceeding its time limit */
	int64_t peak_mem_kib; /* SPEC_UNSET: not known */
	struct gpu_use gpu;
	const char *text; /* remark for the user, or NULL */
};

enum start_fault {
	FAULT_SYSTEM, /* of a node: try again there later, or elsewhere */
	FAULT_USER,   /* no such shell, output not writable: FAILED */
	FAULT_POOL    /* of the pool: try again later, on any node */
};

enum run_event_kind {
	RUN_SYNCED,       /* every job of recover() has been answered */
	RUN_NODE,         /* node appeared or changed */
	RUN_VOLUME,       /* likewise a volume claim */
	RUN_STARTED,      /* the attempt's processes run */
	RUN_START_FAILED, /* nothing of it runs, or will */
	RUN_ENDED,        /* nothing of it runs any longer */
	RUN_LOST,         /* nothing of it runs; its outcome is not known */
	RUN_UNKNOWN,      /* answer to recover(): never started here */
	RUN_RESIZED,      /* answer to resize() */
	RUN_REPLACED,     /* a failed task is started again, as the job asks */
	RUN_USED,         /* gpu: used so far */
	RUN_NOTED,        /* text: what it waits for meanwhile; NULL: nothing */
	RUN_UNREACHED,    /* text: where a signal did not go; NULL: it does */
	RUN_TROUBLE,      /* text: what holds the pool up; NULL: nothing now */
	RUN_LACKS,        /* text: what nodes lack; NULL: nothing now */
	RUN_ADOPT,        /* somebody made a job with kubectl */
	RUN_WITHDRAWN,    /* its owner deleted it */
	RUN_TAKEN_BACK    /* its owner suspended it: requeue the job */
};

/* A Job that somebody made with kubectl. */
struct adoption {
	const char *uid;  /* by which the cluster knows it */
	const char *name; /* "NAMESPACE/NAME", for the log */
	const char *user;
	const struct spec *spec;    /* NULL: it cannot be adopted */
	const char *priority_class; /* of its pods, or "" */
	const char *why;            /* the reason, if spec is NULL */
};

/* The result of an adoption, or the state of the job later. */
struct adopted {
	const char *uid;      /* NULL: the one told earlier for this job */
	uint64_t job;         /* 0: it was refused */
	enum job_state state; /* final: the last message about it */
	const char *why;      /* refused */
};

struct run_event {
	enum run_event_kind kind;
	uint64_t job;
	uint32_t attempt;
	int64_t time;           /* RUN_STARTED: unix seconds when it began */
	bool suspended;         /* RUN_STARTED after recover() */
	uint32_t resize;        /* RUN_RESIZED: number of the request */
	uint32_t replaced;      /* RUN_REPLACED: replaced tasks so far */
	enum start_fault fault; /* RUN_START_FAILED */
	/* FAULT_SYSTEM: nodes to blame; none: all of its nodes */
	struct strlist nodes;
	bool rebooted;      /* RUN_LOST: by a restart of the machine */
	const char *text;   /* a sentence, or NULL */
	struct gpu_use gpu; /* RUN_USED */
	int64_t idle_ms; /* RUN_USED: for how long no GPU has done anything */
	const struct outcome *outcome;    /* RUN_ENDED */
	const struct node_info *node;     /* RUN_NODE */
	const struct volume_info *volume; /* RUN_VOLUME */
	const struct adoption *adopt;     /* RUN_ADOPT */
};

typedef void run_event_fn(const struct run_event *ev, void *arg);

/* Everything that a start needs; borrowed for the call. */
struct run_job {
	uint64_t job;
	uint32_t attempt;   /* from 1 on; also names the claim */
	uint64_t array_job; /* 0: no array */
	uint32_t array_task, array_count, array_min, array_max, array_step;
	uint32_t restarts;
	uid_t uid;
	gid_t gid;
	const char *user; /* login name */
	const struct spec *spec;
	const struct request *req;
	const char *queue;
	const char *cluster;
	int64_t time_limit; /* seconds or TIME_UNLIMITED */
	int64_t grace;      /* seconds from SIGTERM to SIGKILL */
	/* All that it has, whatever its tasks ask for; 0: what they ask for. */
	struct request_sum whole;
	uint32_t ntasks;
	const struct snap_task *task; /* [ntasks], plus one that ends cpu_use */
	const struct snap_cpu_use *cpu_use;
	const char *const *node_name; /* [ntasks] */
	const void *script,
	    *env; /* env: NAME=VALUE, each ended by a zero byte */
	size_t script_len, env_len;
	bool append;     /* requeued: append to output files */
	uint32_t resize; /* counts the times that tasks were told to end */
};

/* Why an attempt is stopped; the runner writes it to the job's output. */
enum stop_why {
	STOP_CANCEL,
	STOP_TIME_LIMIT,
	STOP_REQUEUE,
	STOP_PREEMPT,
	STOP_NODE_FAIL,
	STOP_DEADLINE
};

struct runner;

/* A signal for a job that runs. */
struct run_signal {
	int signo;
	enum signal_scope scope;
	int64_t step; /* of scope steps; signo 0 ends it; -1: all */
};

/* Reading the output of a task. */
struct run_log;
struct log_id;    /* run/log_file.h */
struct log_lines; /* run/log_lines.h */

/* Called from the loop, after log_open() has returned. */
struct run_reader {
	void (*data)(const void *data, size_t len, void *arg);
	/* Everything was read, or err says why not; frees the log. ESTALE: the
	 * rest will be in the kept log. */
	void (*end)(const struct err *err, void *arg);
	void *arg;
};

/* Calls that a runner has made of a server since its start; for metrics. */
enum call_verb {
	CALL_GET,
	CALL_POST,
	CALL_PUT,
	CALL_PATCH,
	CALL_DELETE,
	CALL_VERBS
};

/* Answers by the first digit of their status; 0: none came. */
enum { CALL_CLASSES = 6 };

struct run_calls {
	uint64_t n[CALL_VERBS][CALL_CLASSES];
	/* for how long the watch that is silent the longest has heard nothing;
	 * -1: it has never heard anything */
	int64_t silent_ms;
};

struct runner_ops {
	/* Start all tasks; answered by RUN_STARTED or RUN_START_FAILED, later
	 * RUN_ENDED or RUN_LOST. Repeated for the same attempt it has no
	 * effect. */
	void (*start)(struct runner *r, const struct run_job *job);
	/* SIGCONT, SIGTERM, SIGKILL after grace seconds; then RUN_ENDED. */
	void (*stop)(struct runner *r, uint64_t job, uint32_t attempt,
	             enum stop_why why, int64_t grace);
	/* Signal processes of the job. */
	void (*signal)(struct runner *r, uint64_t job, uint32_t attempt,
	               const struct run_signal *what);
	/* Suspend; or resume with the CPUs in tasks and cpu_use, as in
	 * run_job. */
	void (*suspend)(struct runner *r, uint64_t job, uint32_t attempt);
	void (*resume)(struct runner *r, uint64_t job, uint32_t attempt,
	               uint32_t ntasks, const struct snap_task *task,
	               const struct snap_cpu_use *cpu_use);
	/*
	 * Go on with these tasks: others are stopped as by stop(), missing ones
	 * are started. Answered by RUN_RESIZED, with job->resize, when the
	 * others have ended. May be repeated at any time, also before
	 * RUN_STARTED.
	 */
	void (*resize)(struct runner *r, const struct run_job *job);
	/* The end, or that it did not start, is committed: remove what is kept
	 * about the attempt. */
	void (*forget)(struct runner *r, uint64_t job, uint32_t attempt);
	/* Called once, before anything else: attempts that should be known
	 * here. Each is answered by RUN_STARTED, RUN_START_FAILED, RUN_ENDED,
	 * RUN_LOST or RUN_UNKNOWN, then comes RUN_SYNCED; attempts that run
	 * here and are not named are ended. */
	void (*recover)(struct runner *r, size_t n, const uint64_t *job,
	                const uint32_t *attempt);
	/*
	 * Answers RUN_ADOPT after the commit. Also called for each such job
	 * after a start, before any news of the cluster, and for each that has
	 * ended. May be repeated. Returns false if that was already known. This
	 * and the next two are NULL in a runner that does not need them.
	 */
	bool (*adopt)(struct runner *r, const struct adopted *what);
	/* Show in the cluster why an adopted job waits. */
	void (*explain)(struct runner *r, uint64_t job, const char *code,
	                const char *text);
	/* Keep everybody else off the node, too; reason NULL: no longer. */
	void (*drain)(struct runner *r, const char *node, const char *reason);
	/* Append the path of the socket where the shepherd of the attempt takes
	 * steps (libcommon/step_msg.h). NULL: this runner has no steps. */
	void (*step_socket)(struct runner *r, uint64_t job, uint32_t attempt,
	                    struct buf *out);
	/* Append the record of the steps of an attempt, from its start until
	 * forget(); NULL as above. */
	void (*steps)(struct runner *r, uint64_t job, uint32_t attempt,
	              struct buf *out);
	/*
	 * For output that this runner has itself, not in a file of the user;
	 * NULL: it has none. log_next() finds the first part of the attempt's
	 * output, from id on, that can be read, and sets id to it; returns
	 * false if there is none, or none yet. wait: a failed task is not
	 * skipped if it will be replaced.
	 */
	bool (*log_next)(struct runner *r, struct log_id *id, bool wait);
	/* Read the output so far; with follow, until the task has ended. Text
	 * that `lines` has already read is not passed on again; the caller
	 * keeps it. */
	struct run_log *(*log_open)(struct runner *r, const struct log_id *id,
	                            bool follow, struct log_lines *lines,
	                            const struct run_reader *reader);
	/* Allowed in data(), too. Nothing is held here meanwhile. */
	void (*log_pause)(struct run_log *log, bool pause);
	void (*log_close)(struct run_log *log);
	/* The configuration was read again: use this one, which lives until the
	 * next call. NULL: this runner needs nothing of it. */
	void (*reconf)(struct runner *r, const struct conf *conf,
	               const struct conf_pool *pool);
	/* Returns the limits that this machine cannot enforce, a sentence for
	 * each; "": it can enforce all. */
	const char *(*shortcomings)(struct runner *r);
	/* NULL: this runner calls no server. */
	void (*calls)(struct runner *r, struct run_calls *ret);
	void (*free)(struct runner *r); /* jobs run on */
};

struct runner {
	const struct runner_ops *ops;
};

/* The configuration of this machine's runner; borrowed. */
struct runner_local_conf {
	const char *state_dir; /* attempts are in run/JOB.ATTEMPT */
	const char *tmp_dir;   /* their temporary folders are here */
	int64_t max_processes; /* of a job, CONF_NONE: by the machine */
	uint32_t rlimits;      /* which limits jobs get from their submitters */
	bool constrain_devices;       /* jobs can open no GPUs of others */
	int64_t sample_s;             /* how often GPUs are looked at */
	struct rlimit files;          /* RLIMIT_NOFILE of processes below us */
	const struct conf_node *node; /* the section of this host, or NULL */
	const struct conf_health *health;
};

/*
 * Make the runner of this machine. It finds the machine's resources and reports
 * RUN_NODE from the loop, then waits for recover(). Fails if there is no
 * shepherd program, or if state_dir or tmp_dir cannot be used.
 */
struct runner *runner_local_new(struct event_base *base,
                                const struct runner_local_conf *conf,
                                run_event_fn *fn, void *arg, struct err *err);

/*
 * Make the runner of a cluster for a pool: Jobs in its namespace, on the nodes
 * that it selects. store: the id of the daemon's database; logs: the folder of
 * kept logs; both are copied, the rest is borrowed. Trouble of the cluster is
 * reported later and does not make this fail.
 */
struct runner *runner_kube_new(struct event_base *base, const struct conf *conf,
                               const struct conf_pool *pool, const char *store,
                               const char *logs, run_event_fn *fn, void *arg);

#endif
