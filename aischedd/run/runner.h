/*
 * runner.h - what the daemon asks of whatever runs its jobs
 *
 * A runner serves one pool: this machine, or a cluster.  Requests come only
 * after the commit that made them durable, may be repeated, and never block;
 * what happened comes back as events on the loop's thread.  Every event
 * carries the attempt it speaks of; one of an older attempt is dropped.
 */
#ifndef AISCHEDD_RUN_RUNNER_H
#define AISCHEDD_RUN_RUNNER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "aischedd/sched/snap.h"
#include "libcommon/conf/conf.h"
#include "libcommon/err.h"
#include "libcommon/names.h"
#include "libcommon/spec.h"

struct event_base;

/* A node as its runner sees it; corrections of the configuration (node
 * sections, reserve_*) are applied by whoever receives it. */
struct node_info {
	const char *name;
	uint32_t ncpus; /* hardware threads that may be bound, 0: no binding */
	const uint8_t *cpu_numa;  /* [ncpus] */
	const uint16_t *cpu_core; /* [ncpus] siblings have the same */
	int64_t cpu_milli, mem_mib;
	uint32_t slots; /* tasks that may be there at once; 0: any number */
	uint32_t ngpus;
	const char *gpu_type;               /* of all of them; NULL: unknown */
	const uint8_t *gpu_numa, *gpu_link; /* [ngpus] */
	bool down;
	bool gone;          /* the runner no longer has it */
	bool cordoned;      /* nothing new may start there */
	const char *reason; /* why it is down or cordoned, or NULL */
	struct strlist features, taints;
	const char *topology; /* "z1/b1/r3", or NULL */
	/* What others than our jobs use there. */
	int64_t used_cpu_milli, used_mem_mib;
	uint32_t used_gpus, used_slots;
};

/* How one attempt of a job ended. */
struct outcome {
	int exit_code;        /* 0..255; of the task that failed first */
	int signal;           /* 0: none */
	bool oom;             /* some process of it was killed for memory */
	int64_t start, end;   /* unix seconds */
	int64_t cpu_ms;       /* all tasks together */
	bool late;            /* it was ended for running too long */
	int64_t peak_mem_kib; /* SPEC_UNSET: not known */
	const char *text;     /* what a person should know, or NULL */
};

enum start_fault {
	FAULT_SYSTEM, /* another node, or later, might do: tried again */
	FAULT_USER,   /* no such shell, output not writable: FAILED */
	FAULT_POOL    /* later might do, on any of its nodes */
};

enum run_event_kind {
	RUN_SYNCED,       /* every job of recover() has been answered */
	RUN_NODE,         /* node appeared or changed */
	RUN_STARTED,      /* the attempt's processes run */
	RUN_START_FAILED, /* none of it runs or will */
	RUN_ENDED,        /* nothing of it runs any more */
	RUN_LOST,         /* nothing of it runs; how it ended is not known */
	RUN_UNKNOWN,      /* answer to recover(): never started here */
	RUN_RESIZED,      /* answer to resize() */
	RUN_REPLACED,  /* a task failed and is started again, as the job asks */
	RUN_NOTED,     /* text: what it waits for meanwhile; NULL: nothing */
	RUN_TROUBLE,   /* text: what holds the pool up; NULL: no longer */
	RUN_LACKS,     /* text: what nodes are wanting in; NULL: nothing now */
	RUN_ADOPT,     /* somebody made a job with other means */
	RUN_WITHDRAWN, /* that one's owner deleted it */
	RUN_TAKEN_BACK /* that one's owner stopped it: it waits again */
};

/* A job that was not submitted: a Job that somebody made with kubectl. */
struct adoption {
	const char *uid;  /* by which the cluster knows it */
	const char *name; /* "NAMESPACE/NAME", for the log */
	const char *user;
	const struct spec *spec; /* NULL: it cannot be taken */
	const char *why;         /* then: why not */
};

/* What has become of it. */
struct adopted {
	const char *uid;      /* NULL: as was said of this job before */
	uint64_t job;         /* 0: it was refused */
	enum job_state state; /* final: nothing more will come */
	const char *why;      /* refused */
};

struct run_event {
	enum run_event_kind kind;
	uint64_t job;
	uint32_t attempt;
	int64_t time;           /* RUN_STARTED: unix seconds it began */
	bool suspended;         /* RUN_STARTED after recover() */
	uint32_t resize;        /* RUN_RESIZED: that of the request */
	uint32_t replaced;      /* RUN_REPLACED: tasks of it, so far */
	enum start_fault fault; /* RUN_START_FAILED */
	struct strlist nodes;   /* FAULT_SYSTEM: whose it is; none: all that it
	                         * was to have */
	bool rebooted;          /* RUN_LOST: by a machine restart */
	const char *text;       /* for a person, or NULL */
	const struct outcome *outcome; /* RUN_ENDED */
	const struct node_info *node;  /* RUN_NODE */
	const struct adoption *adopt;  /* RUN_ADOPT */
};

typedef void run_event_fn(const struct run_event *ev, void *arg);

/* Everything a start needs; borrowed for the call. */
struct run_job {
	uint64_t job;
	uint32_t attempt;   /* 1 is the first; also the claim */
	uint64_t array_job; /* 0: not of an array */
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
	uint32_t ntasks;
	const struct snap_task *task; /* [ntasks], plus one that ends cpu_use */
	const struct snap_cpu_use *cpu_use;
	const char *const *node_name; /* [ntasks] */
	const void *script,
	    *env; /* env: NAME=VALUE, each ended by a zero byte */
	size_t script_len, env_len;
	bool append;     /* requeued: output is appended to */
	uint32_t resize; /* grows each time tasks are told to leave */
};

/* Why an attempt is stopped; the runner says so in the job's output. */
enum stop_why {
	STOP_CANCEL,
	STOP_TIME_LIMIT,
	STOP_REQUEUE,
	STOP_PREEMPT,
	STOP_NODE_FAIL,
	STOP_DEADLINE
};

struct runner;

/* What a task prints is being read. */
struct run_log;
struct log_id;    /* run/log_file.h */
struct log_lines; /* run/log_lines.h */

/* Called from the loop, and not before log_open() has returned. */
struct run_reader {
	void (*data)(const void *data, size_t len, void *arg);
	/* That was all, or err says why not; the log is no more.  ESTALE: what
	 * is missing will be found among what is kept. */
	void (*end)(const struct err *err, void *arg);
	void *arg;
};

struct runner_ops {
	/* Start all tasks; answered by RUN_STARTED or RUN_START_FAILED, later
	 * RUN_ENDED or RUN_LOST.  Repeated for the same attempt: no effect. */
	void (*start)(struct runner *r, const struct run_job *job);
	/* SIGCONT, SIGTERM, SIGKILL after grace seconds; then RUN_ENDED. */
	void (*stop)(struct runner *r, uint64_t job, uint32_t attempt,
	             enum stop_why why, int64_t grace);
	/* To every process of the job, or only the script's own. */
	void (*signal)(struct runner *r, uint64_t job, uint32_t attempt,
	               int signo, bool script_only);
	/* tasks and cpu_use as in run_job: the CPUs it goes on with. */
	void (*suspend)(struct runner *r, uint64_t job, uint32_t attempt);
	void (*resume)(struct runner *r, uint64_t job, uint32_t attempt,
	               uint32_t ntasks, const struct snap_task *task,
	               const struct snap_cpu_use *cpu_use);
	/*
	 * It goes on with these tasks: others are stopped as by stop(), those
	 * that do not run yet are started.  RUN_RESIZED, with job->resize,
	 * when the others are gone.  May be said again at any time, also
	 * before RUN_STARTED.
	 */
	void (*resize)(struct runner *r, const struct run_job *job);
	/* The end, or that it did not start, is committed: what is kept about
	 * the attempt may go. */
	void (*forget)(struct runner *r, uint64_t job, uint32_t attempt);
	/* Once, before anything else: attempts that should be known here.
	 * Each is answered by RUN_STARTED, RUN_START_FAILED, RUN_ENDED,
	 * RUN_LOST or RUN_UNKNOWN, then comes RUN_SYNCED; what runs here and
	 * is not named is ended. */
	void (*recover)(struct runner *r, size_t n, const uint64_t *job,
	                const uint32_t *attempt);
	/*
	 * Answers RUN_ADOPT after the commit; said of each such job after a
	 * start, before anything is heard of the cluster, and of each that has
	 * ended.  May be repeated.  False: that was known.  This and the next
	 * two are NULL in a runner that has no use for them.
	 */
	bool (*adopt)(struct runner *r, const struct adopted *what);
	/* Why such a job waits, for those who look at it elsewhere. */
	void (*explain)(struct runner *r, uint64_t job, const char *code,
	                const char *text);
	/* Nobody else is to use the node, either; reason NULL: they may. */
	void (*drain)(struct runner *r, const char *node, const char *reason);
	/*
	 * Output that this runner has, not a file of the user; NULL: never.
	 * log_next() finds the first of the attempt, from id on, that can be
	 * asked for, and makes id that; false: none, or none yet.  wait: the
	 * one before may have failed, and none is passed over that will come
	 * in its place.
	 */
	bool (*log_next)(struct runner *r, struct log_id *id, bool wait);
	/* What is there; with follow, until the task has ended.  What lines
	 * had before is not given again; lines stays the caller's. */
	struct run_log *(*log_open)(struct runner *r, const struct log_id *id,
	                            bool follow, struct log_lines *lines,
	                            const struct run_reader *reader);
	/* From data(), too.  Nothing is held here meanwhile. */
	void (*log_pause)(struct run_log *log, bool pause);
	void (*log_close)(struct run_log *log);
	/* The configuration was read again: from now on this one holds, which
	 * stays until the next call.  NULL: nothing in it is for this runner.
	 */
	void (*reconf)(struct runner *r, const struct conf *conf,
	               const struct conf_pool *pool);
	/* What this machine cannot enforce, one sentence each; "" is all. */
	const char *(*shortcomings)(struct runner *r);
	void (*free)(struct runner *r); /* jobs go on */
};

struct runner {
	const struct runner_ops *ops;
};

/* What the configuration says of this machine's runner; borrowed. */
struct runner_local_conf {
	const char *state_dir;        /* attempts live in run/JOB.ATTEMPT */
	const char *tmp_dir;          /* and have a temporary folder here */
	int64_t max_processes;        /* of a job, CONF_NONE: by the machine */
	const struct conf_node *node; /* the section of this host, or NULL */
};

/*
 * The runner of this machine.  Discovers it and reports RUN_NODE from the
 * loop, then waits for recover().
 * Fails: no shepherd program, state_dir or tmp_dir not usable.
 */
struct runner *runner_local_new(struct event_base *base,
                                const struct runner_local_conf *conf,
                                run_event_fn *fn, void *arg, struct err *err);

/*
 * The runner of a cluster, at pool: Jobs in its namespace, on the nodes that
 * it selects.  store: the id of the daemon's database; logs: the folder of
 * those that are kept; both are copied, the rest is borrowed.  Nothing that is
 * wrong with the cluster keeps it from being made: it tells, and goes on when
 * that is mended.
 */
struct runner *runner_kube_new(struct event_base *base, const struct conf *conf,
                               const struct conf_pool *pool, const char *store,
                               const char *logs, run_event_fn *fn, void *arg);

#endif
