/*
 * runner.h - what the daemon asks of runners of jobs
 *
 * A runner serves one pool: this machine, or a cluster. Requests come only
 * after the commit that made them durable, may be repeated, and never block;
 * results come back as events on the loop's thread. Every event names its
 * attempt; the daemon drops events of an older attempt.
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

/* A node as its runner sees it. The daemon then applies what the configuration
 * says about the node (node sections, reserve_*). */
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
	 * gpus_named: tasks get exactly the GPUs that the plan chose, even if
	 * their CPUs are not bound. Only then are these two used:
	 * gpu_numas_known says whether gpu_numa is known; bit i of gpus_held is
	 * set if GPU i must not be given to any task. used_gpus includes the
	 * held GPUs.
	 */
	bool gpus_named, gpu_numas_known;
	uint64_t gpus_held;
	bool down;
	bool gone;          /* the runner no longer has it */
	bool cordoned;      /* nothing new may start there */
	const char *reason; /* why it is down or cordoned, or NULL */
	struct strlist features, taints;
	const char *topology; /* "z1/b1/r3", or NULL */
	/* Resources of the node that are in use, but not by our jobs. */
	int64_t used_cpu_milli, used_mem_mib;
	uint32_t used_gpus, used_slots;
};

/* How many nodes or pods may mount a volume claim at a time. */
enum volume_share { VOLUME_SHARED, VOLUME_ONE_NODE, VOLUME_ONE_POD };

/* A volume claim as its runner sees it. */
struct volume_info {
	/* NULL: this event is about no single claim: every claim has been
	 * reported or, if why is set, claims cannot be listed */
	const char *name;
	bool gone;
	const char *why; /* why the claim cannot be mounted now, or NULL */
	enum volume_share share;
	bool anywhere;        /* can be mounted on all nodes of the pool */
	struct strlist nodes; /* unless anywhere: where it can be mounted */
};

/* An attempt's use of its GPUs, as far as their driver reported it. */
struct gpu_use {
	int64_t busy_ms, known_ms; /* of all GPUs together; known_ms: the time
	                              for which busy_ms was measured */
	int64_t mem_mib, mem_total_mib; /* peak use, and total size; 0: not
	                                   known */
};

/* How one attempt of a job ended. */
struct outcome {
	int exit_code;        /* 0..255; of the task that failed first */
	int signal;           /* 0: none */
	bool oom;             /* a process was killed for memory */
	int64_t start, end;   /* unix seconds */
	int64_t cpu_ms;       /* all tasks together */
	bool late;            /* ended because it exceeded its time limit */
	int64_t peak_mem_kib; /* SPEC_UNSET: not known */
	struct gpu_use gpu;
	const char *text; /* remark for the user, or NULL */
};

enum start_fault {
	FAULT_SYSTEM, /* of a node: try again later, or on another node */
	FAULT_USER,   /* no such shell, output not writable: FAILED */
	FAULT_POOL    /* of the pool: try again later, on any node */
};

enum run_event_kind {
	RUN_SYNCED,       /* every job of recover() has been answered */
	RUN_NODE,         /* node appeared or changed */
	RUN_VOLUME,       /* volume claim appeared or changed */
	RUN_STARTED,      /* the attempt's processes run */
	RUN_START_FAILED, /* no process of it runs, and none will */
	RUN_ENDED,        /* no process of it runs any longer */
	RUN_LOST,         /* no process of it runs; its outcome is not known */
	RUN_UNKNOWN,      /* answer to recover(): never started here */
	RUN_RESIZED,      /* answer to resize() */
	RUN_REPLACED,     /* a failed task is started again, as the job asks */
	RUN_USED,         /* gpu: the attempt's use of GPUs so far */
	RUN_NOTED,        /* text: what delays the attempt; NULL: nothing now */
	RUN_UNREACHED,    /* text: which pod a signal did not reach; NULL: the
	                     last signal arrived */
	RUN_TROUBLE,      /* text: what the runner cannot do now, and why;
	                     NULL: nothing */
	RUN_LACKS,        /* text: what nodes lack; NULL: nothing now */
	RUN_ADOPT,        /* somebody made a Job with kubectl */
	RUN_WITHDRAWN,    /* the owner of an adopted Job deleted it */
	RUN_TAKEN_BACK /* the owner of an adopted Job suspended it: requeue */
};

/* A Job that somebody made with kubectl. */
struct adoption {
	const char *uid;  /* the Job's uid in the cluster */
	const char *name; /* "NAMESPACE/NAME", for the log */
	const char *user;
	const struct spec *spec;    /* NULL: it cannot be adopted */
	const char *priority_class; /* of its pods, or "" */
	const char *why;            /* the reason, if spec is NULL */
};

/* The result of an adoption, or the state of the job later. */
struct adopted {
	const char *uid;      /* NULL: the uid that an earlier call named */
	uint64_t job;         /* 0: it was refused */
	enum job_state state; /* after a final state no call follows */
	const char *why;      /* the reason, if it was refused */
};

struct run_event {
	enum run_event_kind kind;
	uint64_t job;
	uint32_t attempt;
	int64_t time;           /* RUN_STARTED: unix seconds when it began */
	bool suspended;         /* RUN_STARTED after recover(): suspended now */
	uint32_t resize;        /* RUN_RESIZED: number of the request */
	uint32_t replaced;      /* RUN_REPLACED: replaced tasks so far */
	enum start_fault fault; /* RUN_START_FAILED */
	/* FAULT_SYSTEM: the nodes at fault; empty: all of its nodes */
	struct strlist nodes;
	bool rebooted;      /* RUN_LOST: because the machine restarted */
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
	/* Allocation of the whole job; a member that is 0: the sum of what its
	 * tasks ask for. */
	struct request_sum whole;
	uint32_t ntasks;
	const struct snap_task *task; /* [ntasks + 1]; the last entry only
	                                 marks the end of cpu_use */
	const struct snap_cpu_use *cpu_use;
	const char *const *node_name; /* [ntasks] */
	const void *script,
	    *env; /* env: NAME=VALUE, each ended by a zero byte */
	size_t script_len, env_len;
	bool append;     /* requeued: append to output files */
	uint32_t resize; /* number of this resize, for RUN_RESIZED */
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
	int64_t step; /* for scope steps: the step's id, or -1 for all steps;
	                 signo 0 ends the step */
};

/* Reading the output of a task. */
struct run_log;
struct log_id;    /* run/log_file.h */
struct log_lines; /* run/log_lines.h */

/* Called from the loop, after log_open() has returned. */
struct run_reader {
	void (*data)(const void *data, size_t len, void *arg);
	/* Everything was read, or err says why not. The log is freed. ESTALE:
	 * read the rest from the kept log (log_file.h). */
	void (*end)(const struct err *err, void *arg);
	void *arg;
};

/* API calls that a runner has sent to its server since the start; for metrics.
 */
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
	/* time since the server last sent anything to a watch, of the watch
	 * for which that is longest; -1: one has never received anything */
	int64_t silent_ms;
};

/* A command of a user in a job. */
struct run_exec;

struct run_exec_wish {
	uint64_t job;
	uint32_t attempt, task;
	const char *const *argv; /* ends with NULL; borrowed for the call */
	bool tty;
	const char *term;       /* its TERM, or NULL */
	uint16_t rows, columns; /* of its terminal; 0: not known */
};

/* Called from the loop, after open() has returned. */
struct run_exec_ops {
	/* Its stdout (1) or stderr (2). */
	void (*output)(int stream, const void *data, size_t len, void *arg);
	/* It has begun and can be signalled, or there is room for more
	 * input. */
	void (*drained)(void *arg);
	/* Its exit status, or err. Frees it. */
	void (*end)(int status, const struct err *err, void *arg);
};

/* For commands whose streams go through the daemon. */
struct runner_exec {
	/* Returns NULL with *err set if it cannot be begun. */
	struct run_exec *(*open)(struct runner *r,
	                         const struct run_exec_wish *wish,
	                         const struct run_exec_ops *ops, void *arg,
	                         struct err *err);
	/* The user has left: end it. Its output may be dropped; end() is
	 * called. */
	void (*close)(struct run_exec *exec);
	void (*input)(struct run_exec *exec, const void *data, size_t len);
	void (*end_input)(struct run_exec *exec);
	void (*resize)(struct run_exec *exec, uint16_t rows, uint16_t columns);
	void (*signal)(struct run_exec *exec, int signo);
	bool (*is_full)(const struct run_exec *exec);     /* of input */
	void (*pause)(struct run_exec *exec, bool pause); /* of output */
};

struct runner_ops {
	/* Start all tasks; answered by RUN_STARTED or RUN_START_FAILED, later
	 * RUN_ENDED or RUN_LOST. Repeated for the same attempt it has no
	 * effect. */
	void (*start)(struct runner *r, const struct run_job *job);
	/* End the job with SIGCONT and SIGTERM, then SIGKILL after grace
	 * seconds; answered by RUN_ENDED. */
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
	 * Continue with exactly the tasks of job: stop running tasks that are
	 * not among them, as stop() does, and start those that do not run yet.
	 * Answered by RUN_RESIZED, with job->resize, when the stopped tasks
	 * have ended. May be repeated at any time, also before RUN_STARTED.
	 */
	void (*resize)(struct runner *r, const struct run_job *job);
	/* The store has committed that the attempt ended or did not start:
	 * remove what the runner keeps about it. */
	void (*forget)(struct runner *r, uint64_t job, uint32_t attempt);
	/* Called once, before anything else, with the attempts that the daemon
	 * believes to run here. Each is answered by RUN_STARTED,
	 * RUN_START_FAILED, RUN_ENDED, RUN_LOST or RUN_UNKNOWN; then comes
	 * RUN_SYNCED. Attempts that run here and are not named are ended. */
	void (*recover)(struct runner *r, size_t n, const uint64_t *job,
	                const uint32_t *attempt);
	/*
	 * Answer RUN_ADOPT, after the commit. After a start of the daemon this
	 * is called for each adopted job before the cluster is read; it is also
	 * called when such a job has ended. May be repeated. Returns false if
	 * the runner already knew that. This member and the next two are NULL
	 * in a runner that does not need them.
	 */
	bool (*adopt)(struct runner *r, const struct adopted *what);
	/* Write why an adopted job waits where its owner sees it: in Events of
	 * the Job. */
	void (*explain)(struct runner *r, uint64_t job, const char *code,
	                const char *text);
	/* Cordon the node, so that the cluster places no other pods there;
	 * reason NULL: uncordon it. */
	void (*drain)(struct runner *r, const char *node, const char *reason);
	/* Append the path of the socket on which the attempt's shepherd accepts
	 * requests for steps (libcommon/step_msg.h). NULL: this runner has no
	 * steps. */
	void (*step_socket)(struct runner *r, uint64_t job, uint32_t attempt,
	                    struct buf *out);
	/* NULL: commands of users go to that socket, if there is one. */
	const struct runner_exec *exec;
	/* Append the record of the steps of an attempt; available from its
	 * start until forget(). NULL: this runner has no steps. */
	void (*steps)(struct runner *r, uint64_t job, uint32_t attempt,
	              struct buf *out);
	/*
	 * This member and the next three read output that the runner has
	 * itself, not in files of the user; NULL: it has none. log_next() sets
	 * id to the first part of the attempt's output, from id on, that can be
	 * read; returns false if there is none, or none yet. wait: do not skip
	 * a failed task that will be replaced.
	 */
	bool (*log_next)(struct runner *r, struct log_id *id, bool wait);
	/* Read the output so far; with follow, until the task has ended. Text
	 * that was already read with `lines` is not passed on again. The caller
	 * owns `lines`. */
	struct run_log *(*log_open)(struct runner *r, const struct log_id *id,
	                            bool follow, struct log_lines *lines,
	                            const struct run_reader *reader);
	/* Stop or resume the calls of data(); also allowed inside data().
	 * While paused, nothing is read or buffered. */
	void (*log_pause)(struct run_log *log, bool pause);
	void (*log_close)(struct run_log *log);
	/* The configuration was reloaded: use this one, which is valid until
	 * the next call. NULL: this runner uses nothing that can change. */
	void (*reconf)(struct runner *r, const struct conf *conf,
	               const struct conf_pool *pool);
	/* Returns the limits that this machine cannot enforce, a sentence for
	 * each; "": it can enforce all. */
	const char *(*shortcomings)(struct runner *r);
	/* Count API calls. NULL: this runner calls no server. */
	void (*calls)(struct runner *r, struct run_calls *ret);
	void (*free)(struct runner *r); /* its jobs keep running */
};

struct runner {
	const struct runner_ops *ops;
};

/* The configuration of this machine's runner; borrowed. */
struct runner_local_conf {
	const char *state_dir; /* attempts are in run/JOB.ATTEMPT */
	const char *tmp_dir;   /* their temporary folders are here */
	int64_t max_processes; /* of a job; CONF_NONE: as the machine allows */
	uint32_t rlimits; /* bits: which rlimits jobs get from submitters */
	bool constrain_devices;       /* a job can open only its own GPUs */
	int64_t sample_s;             /* seconds between samples of GPU use */
	struct rlimit files;          /* RLIMIT_NOFILE of child processes */
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
 * Make the runner of a pool in a cluster. It makes Jobs in the pool's
 * namespace, on the nodes that the pool selects. store: the id of the daemon's
 * database; logs: the folder of kept logs. These two are copied, the other
 * arguments are borrowed. Does not fail: if the cluster cannot be reached, that
 * is reported later with RUN_TROUBLE.
 */
struct runner *runner_kube_new(struct event_base *base, const struct conf *conf,
                               const struct conf_pool *pool, const char *store,
                               const char *logs, run_event_fn *fn, void *arg);

#endif
