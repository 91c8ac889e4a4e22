/*
 * runner.h - what the daemon asks of runners of jobs
 *
 * A runner serves one pool: this machine, or a cluster. The daemon calls the
 * runner only after it has committed the reason for the call to the store.
 * Calls may be repeated and never block; their results come back as events on
 * the loop's thread. Every event names its attempt; the daemon drops events of
 * an older attempt.
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

#define RUN_NUMA_UNKNOWN 255

/* A device other than a GPU that its runner knows by name. */
struct run_device {
	const char *name; /* no other device of the node has it */
	uint8_t kind;     /* number of its section in the configuration */
	/* its NUMA node, or RUN_NUMA_UNKNOWN; the PCIe root under which it is,
	 * a number that struct node_info explains */
	uint8_t numa;
	uint16_t root;
};

/* How the kubelet of a node places what a pod gets (its topology manager). */
enum node_policy {
	NODE_POLICY_UNKNOWN,
	NODE_POLICY_NONE,
	NODE_POLICY_BEST_EFFORT,
	/* a pod that has more NUMA nodes than needed is refused */
	NODE_POLICY_RESTRICTED,
	/* a pod that has more than one NUMA node is refused */
	NODE_POLICY_SINGLE,
	NODE_POLICIES
};

/* A node as its runner sees it. The daemon then applies what the configuration
 * says about the node (node sections, reserve_*). */
struct node_info {
	const char *name;
	/* hardware threads to which tasks can be bound; 0: tasks are
	 * not bound */
	uint32_t ncpus;
	const uint8_t *cpu_numa; /* [ncpus] */
	/* [ncpus] the number of each hardware thread's core */
	const uint16_t *cpu_core;
	int64_t cpu_milli, mem_mib;
	int64_t tmp_mib; /* disk for temporary files */
	/* number of NUMA nodes whose memory is counted; 0: unknown */
	uint32_t nnumas;
	const int64_t *numa_mem; /* [nnumas] MiB */
	/* tasks that can run at a time; 0: any number */
	uint32_t slots;
	uint32_t ngpus;
	/* the type of all GPUs; NULL: unknown */
	const char *gpu_type;
	int64_t gpu_mem_mib;                /* of each GPU; 0: unknown */
	const uint8_t *gpu_numa, *gpu_link; /* [ngpus] */
	/* [ngpus] the partitions that each GPU has for good (libcommon/mig.h);
	 * NULL: no GPU has any. Several GPUs of the node may stand for parts
	 * of the same one, if the runner does not know where partitions are.
	 * If it does (gpus_named), it marks those that must not be given to any
	 * task with MIG_HELD, and units of GPUs whose partitions are made as
	 * needed; used_gpu_milli includes them. */
	const uint64_t *gpu_parts;
	/* the model of GPUs whose partitions are made as needed (enum
	 * mig_model); others have MIG_NO_PARTS */
	uint8_t mig;
	/* [MIG_PROFILES_MOST] how many partitions of each profile are in use,
	 * but not by our jobs; NULL: none */
	const uint16_t *used_parts;
	/*
	 * gpus_named: tasks get exactly those GPUs that the plan chose for
	 * them, even if their CPUs are not bound. Only if gpus_named is set,
	 * the next two members are used. gpu_numas_known: whether gpu_numa is
	 * known. gpu_held: thousandths of each GPU that must not be given to
	 * any task; they are included in used_gpu_milli.
	 */
	bool gpus_named, gpu_numas_known;
	bool gpus_shared;         /* tasks can get parts of its GPUs */
	const uint16_t *gpu_held; /* [ngpus] */
	/* unless gpus_named: how the node's kubelet chooses GPUs and CPUs */
	enum node_policy policy;
	/* [LIMIT_SOCKETS] how many of them are free in each NUMA node, as far
	 * as the kubelet knows; NULL: not known */
	const int64_t *zone_gpus, *zone_cpus;
	bool down;
	bool gone;          /* the node no longer exists */
	bool cordoned;      /* no new tasks may start there */
	const char *reason; /* why the node is down or cordoned, or NULL */
	struct strlist features, taints;
	const char *topology; /* "z1/b1/r3", or NULL */
	/* Amounts of the node's resources that are in use, but not by
	 * our jobs. */
	int64_t used_cpu_milli, used_mem_mib, used_tmp_mib, used_gpu_milli;
	uint32_t used_slots;
	/* devices other than GPUs: all; in use, but not by our jobs */
	struct device_counts devs, used_devs;
	/* [ndevices] Devices of which tasks get particular ones, counted in
	 * devs, without those in use by others; at most LIMIT_DEVICES.
	 * kinds_named: bit i is set if those of kind i are known by name; a
	 * node section cannot add any. */
	const struct run_device *device;
	uint32_t ndevices;
	/* [ngpus] the PCIe root of each GPU, 0: unknown; NULL: all unknown.
	 * GPUs and devices of the same root have the same number. */
	const uint16_t *gpu_root;
	uint8_t kinds_named;
	/* In a cluster, bit i: PCIe roots, or NUMA nodes, of some devices of
	 * kind i are known, also if others use these devices. */
	uint8_t kinds_rooted, kinds_zoned;
};

/* By how many nodes or pods a volume claim may be mounted at a time. */
enum volume_share { VOLUME_SHARED, VOLUME_ONE_NODE, VOLUME_ONE_POD };

/* A volume claim as its runner sees it. */
struct volume_info {
	const char *namespace;
	/* NULL: this event is about all claims of the namespace. It says that
	 * all of them have been reported or, if `why` is set, that they cannot
	 * be listed. */
	const char *name;
	bool gone;
	const char *why; /* why the claim cannot be mounted now, or NULL */
	enum volume_share share;
	/* the claim can be mounted on all nodes of the pool */
	bool anywhere;
	/* if not `anywhere`: nodes where the claim can be mounted */
	struct strlist nodes;
};

/* How an attempt used its GPUs, as far as their driver reported it. */
struct gpu_use {
	/* sums over all GPUs. known_ms: the time that was measured; busy_ms:
	 * the part of this time in which the GPUs were busy */
	int64_t busy_ms, known_ms;
	/* peak use and total size of GPU memory; 0: unknown */
	int64_t mem_mib, mem_total_mib;
};

/* How one attempt of a job ended. */
struct outcome {
	/* 0..255; exit code of the task that failed first */
	int exit_code;
	int signal;         /* signal that ended that task; 0: none */
	bool oom;           /* a process was killed for lack of memory */
	bool out_of_disk;   /* it stored more than it requested */
	int64_t start, end; /* unix seconds */
	int64_t cpu_ms;     /* CPU time of all tasks together */
	/* the attempt was ended because it exceeded its time limit */
	bool late;
	int64_t peak_mem_kib; /* SPEC_UNSET: unknown */
	struct gpu_use gpu;
	const char *text; /* remark for the user, or NULL */
};

enum start_fault {
	/* fault of some nodes: try again later, or on other nodes */
	FAULT_SYSTEM,
	/* fault of the job, such as a missing shell or output that cannot be
	 * written: the job becomes FAILED */
	FAULT_USER,
	FAULT_POOL, /* fault of the pool: try again later, on any node */
	/* some nodes refuse such a task: try it again later, or on other
	 * nodes; other tasks may start there */
	FAULT_REFUSED
};

enum run_event_kind {
	/* all attempts named in recover() have been answered */
	RUN_SYNCED,
	RUN_NODE,         /* a node appeared or changed */
	RUN_VOLUME,       /* a volume claim appeared or changed */
	RUN_STARTED,      /* the attempt's processes run */
	RUN_START_FAILED, /* no process of the attempt runs, and none will */
	RUN_ENDED,        /* no process of the attempt runs any longer */
	/* no process of the attempt runs; its outcome is unknown */
	RUN_LOST,
	/* answer to recover(): the attempt never started here */
	RUN_UNKNOWN,
	RUN_RESIZED, /* answer to resize() */
	/* a failed task is started again, as the job asks for */
	RUN_REPLACED,
	/* Tasks are lost with their nodes, and the job goes on without them
	 * (spec_loss()). nodes, gpus: those of the lost tasks. The daemon then
	 * calls resize(). */
	RUN_TASKS_LOST,
	RUN_USED, /* gpu: how the attempt has used its GPUs so far */
	/* text: what delays the attempt; NULL: nothing delays it now */
	RUN_NOTED,
	/* text: which pod a signal did not reach; NULL: the last signal
	 * reached all pods */
	RUN_UNREACHED,
	/* text: what the runner cannot do now, and why; NULL: the trouble
	 * is over */
	RUN_TROUBLE,
	/* text: topology labels or GPUs that nodes lack; NULL: none now */
	RUN_LACKS,
	/* the autoscaler adds none of the nodes of the template `scale`; text:
	 * why */
	RUN_SCALE_REFUSED,
	/* a Job that somebody made with kubectl should run, or was changed
	 * while waiting */
	RUN_ADOPT,
	RUN_WITHDRAWN,  /* the owner of an adopted Job deleted it */
	RUN_TAKEN_BACK, /* the owner of an adopted Job suspended it: requeue */
	/* after the start of the daemon: there is an address for the ports of
	 * this job; answered by no_ports() unless the job waits */
	RUN_PORTS,
	/* nothing of ours is left in a pool that is leaving
	 * (conf_keep_pool()) */
	RUN_LEFT
};

/* A Job made with kubectl that should become a job of ours, or that was changed
 * since it was last read. */
struct adoption {
	uint64_t job;     /* the job that it has become; 0: none, or unknown */
	const char *uid;  /* the Job's uid in the cluster */
	const char *name; /* "NAMESPACE/NAME", for the log */
	const char *user;
	const struct spec *spec;    /* NULL: it cannot be adopted, or read */
	const char *marks;          /* hashes of its fields (spec_marks.h) */
	const char *priority_class; /* PriorityClass of its pods, or "" */
	/* why it cannot be adopted or read, if spec is NULL */
	const char *why;
};

/* The daemon's decision about an adoption, or later the state of the
 * adopted job. */
struct adopted {
	const char *uid; /* NULL: as in an earlier call for this job */
	/* job made for the Job; 0: the adoption, or the change, was refused */
	uint64_t job;
	/* state of the job; the last call for this job has a final state */
	enum job_state state;
	const char *why;   /* why it was refused */
	const char *marks; /* marks of the job's spec; NULL: unknown */
};

/* An attempt of which the daemon knows that it runs. */
struct run_attempt {
	uint64_t job;
	uint32_t attempt;
	bool started;      /* its RUN_STARTED is stored */
	const char *space; /* as in struct run_job; NULL: not known */
};

struct run_event {
	enum run_event_kind kind;
	uint64_t job;
	uint32_t attempt;
	/* RUN_STARTED: when the attempt began, in Unix seconds */
	int64_t time;
	/* RUN_STARTED as an answer to recover(): the attempt is suspended */
	bool suspended;
	/* RUN_STARTED as an answer to recover(): the namespace in which the
	 * attempt runs; NULL: the runner has none */
	const char *space;
	/* RUN_RESIZED: number of the resize() that is answered.
	 * RUN_TASKS_LOST: number of the last start() or resize(), which says
	 * which tasks the runner knew. */
	uint32_t resize;
	/* RUN_REPLACED: how many tasks have been replaced so far */
	uint32_t replaced;
	enum start_fault fault; /* RUN_START_FAILED */
	/* FAULT_SYSTEM, FAULT_REFUSED: the nodes at fault; empty: all nodes of
	 * the job. RUN_TASKS_LOST: the node of each lost task. */
	struct strlist nodes;
	/* RUN_TASKS_LOST: nodes that did not take a task */
	struct strlist refused;
	/* RUN_TASKS_LOST: [nodes.n] the GPUs of each task; 0: not known */
	const uint64_t *gpus;
	/* RUN_LOST: the attempt was lost because the machine restarted */
	bool rebooted;
	const char *text;   /* a sentence, or NULL */
	const char *scale;  /* name of a template of nodes */
	struct gpu_use gpu; /* RUN_USED */
	/* RUN_USED: for how long no GPU of the attempt was busy, up to now */
	int64_t idle_ms;
	const struct outcome *outcome;    /* RUN_ENDED */
	const struct node_info *node;     /* RUN_NODE */
	const struct volume_info *volume; /* RUN_VOLUME */
	const struct adoption *adopt;     /* RUN_ADOPT */
};

typedef void run_event_fn(const struct run_event *ev, void *arg);

/* All that a runner needs to start a job; borrowed for the call. */
struct run_job {
	uint64_t job;
	/* number of this attempt at the job, from 1 */
	uint32_t attempt;
	uint64_t array_job; /* 0: the job is not in an array */
	uint32_t array_task, array_count, array_min, array_max, array_step;
	uint32_t restarts;
	uid_t uid;
	gid_t gid;
	const char *user; /* login name */
	const struct spec *spec;
	const struct request *req;
	const char *queue;
	/* namespace of the attempt; NULL: the runner has none */
	const char *space;
	const char *cluster;
	int64_t time_limit; /* seconds or TIME_UNLIMITED */
	int64_t grace;      /* seconds from SIGTERM to SIGKILL */
	/* Allocation of the whole job. Where a member is 0, the job gets the
	 * sum of what its tasks ask for. */
	struct request_sum whole;
	uint32_t ntasks;
	/* [ntasks + 1]; the last entry only marks the end of cpu_use */
	const struct snap_task *task;
	const struct snap_cpu_use *cpu_use;
	/* [ntasks] The particular devices other than GPUs of each task: bit i
	 * is device i that the runner reported (struct node_info). NULL:
	 * none. */
	const uint64_t *devs;
	const char *const *node_name; /* [ntasks] */
	const void *script,
	    *env; /* env: NAME=VALUE, each ended by a zero byte */
	size_t script_len, env_len;
	bool append;     /* the job was requeued: append to its output files */
	uint32_t resize; /* number of this resize, which RUN_RESIZED repeats */
};

static inline uint64_t run_job_devs(const struct run_job *job, uint32_t task)
{
	return job->devs ? job->devs[task] : 0;
}

/* Why an attempt is stopped. The runner writes this to the job's output. */
enum stop_why {
	STOP_CANCEL,
	STOP_TIME_LIMIT,
	STOP_REQUEUE,
	STOP_PREEMPT,
	STOP_NODE_FAIL,
	STOP_DEADLINE
};

struct runner;

/* The stand-ins that are to be there for a template of nodes; borrowed for the
 * call. */
struct run_standin {
	const struct conf_scale *conf;
	/* what each of them requests, besides conf->gpus */
	int64_t cpu_milli, mem_mib, tmp_mib;
	uint32_t n;     /* how many nodes are to be added */
	uint32_t there; /* how many nodes of the template there are */
};

/* A signal for a job that runs. */
struct run_signal {
	int signo;
	enum signal_scope scope;
	/* for scope steps: the id of a step, or -1 for all steps; signo 0 ends
	 * the step */
	int64_t step;
	/* the job's user: a number that jobs of no other user have, known only
	 * while the daemon runs. Set in calls of the runner. */
	uint32_t user;
};

/* An output of a task while it is read. */
struct run_log;
struct log_id;    /* run/log_file.h */
struct log_lines; /* run/log_lines.h */

/* Functions that are called from the loop, after log_open() has returned. */
struct run_reader {
	void (*data)(const void *data, size_t len, void *arg);
	/* All was read if err is NULL; else err says why reading failed, and
	 * ESTALE means that the rest must be read from the kept log
	 * (log_file.h). The run_log is freed after the call. */
	void (*end)(const struct err *err, void *arg);
	void *arg;
};

/* Kinds of API calls that a runner has sent to its server since the daemon
 * started; for metrics. */
enum call_verb {
	CALL_GET,
	CALL_POST,
	CALL_PUT,
	CALL_PATCH,
	CALL_DELETE,
	CALL_VERBS
};

/* Answers are counted by the first digit of their status; 0: no answer came. */
enum { CALL_CLASSES = 6 };

struct run_calls {
	uint64_t n[CALL_VERBS][CALL_CLASSES];
	/* The longest time for which any watch has received nothing from the
	 * server; -1: some watch has never received anything. */
	int64_t silent_ms;
};

struct run_exec_ops;

/* A command that a user runs in a job, or a connection of a user to a port of
 * the job. Each runner has a larger struct that begins with this one. */
struct run_exec {
	const struct run_exec_ops *ops;
	void *arg;
};

struct run_exec_wish {
	uint64_t job;
	uint32_t attempt, task;
	uint32_t user;           /* of the job, as in struct run_signal */
	const char *const *argv; /* ends with NULL; borrowed for the call */
	bool tty;
	bool no_input;          /* its input is empty from the start */
	const char *term;       /* value of TERM for the command, or NULL */
	uint16_t rows, columns; /* size of its terminal; 0: unknown */
	uint16_t port;          /* connect to this port; 0: run argv instead */
};

/* Functions that are called from the loop, after open() has returned. */
struct run_exec_ops {
	/* The command has written to its stdout (stream 1) or stderr (2). */
	void (*output)(int stream, const void *data, size_t len, void *arg);
	/* The first call says that the command has begun and can be signalled;
	 * each call says that input can be taken. */
	void (*drained)(void *arg);
	/* The command has ended with this exit status or, if err is not NULL,
	 * failed. The run_exec is freed after the call. */
	void (*end)(int status, const struct err *err, void *arg);
};

/* Functions for commands whose input and output go through the daemon, and for
 * connections. For connections `resize` and `signal` are NULL, output() gets
 * the received bytes as stdout, and the exit status is 0. */
struct runner_exec {
	/* Begin a command. Returns NULL with *err set if that fails. */
	struct run_exec *(*open)(struct runner *r,
	                         const struct run_exec_wish *wish,
	                         const struct run_exec_ops *ops, void *arg,
	                         struct err *err);
	/* The user has disconnected: end the command. Its output may be
	 * dropped; end() is still called. */
	void (*close)(struct run_exec *exec);
	void (*input)(struct run_exec *exec, const void *data, size_t len);
	void (*end_input)(struct run_exec *exec);
	void (*resize)(struct run_exec *exec, uint16_t rows, uint16_t columns);
	void (*signal)(struct run_exec *exec, int signo);
	/* no more input can be taken now */
	bool (*is_full)(const struct run_exec *exec);
	/* stop or resume reading of output */
	void (*pause)(struct run_exec *exec, bool pause);
};

struct runner_ops {
	/* Start all tasks of the job. Answered by RUN_STARTED or
	 * RUN_START_FAILED, and after RUN_STARTED later by RUN_ENDED or
	 * RUN_LOST. Does nothing if it was called before for this attempt. */
	void (*start)(struct runner *r, const struct run_job *job);
	/* End the job: send SIGCONT and SIGTERM, then SIGKILL after `grace`
	 * seconds. Answered by RUN_ENDED or RUN_LOST. */
	void (*stop)(struct runner *r, uint64_t job, uint32_t attempt,
	             enum stop_why why, int64_t grace);
	/* Send a signal to processes of the job. */
	void (*signal)(struct runner *r, uint64_t job, uint32_t attempt,
	               const struct run_signal *what);
	/* Suspend the job; or resume it, on the CPUs in job->cpu_use: only its
	 * numbers and its tasks are set. */
	void (*suspend)(struct runner *r, uint64_t job, uint32_t attempt);
	void (*resume)(struct runner *r, const struct run_job *job);
	/*
	 * Let the job continue with exactly the tasks of `job`: stop running
	 * tasks that are not among them, as stop() does, and start those that
	 * do not run yet. Answered by RUN_RESIZED with the number job->resize
	 * once the stopped tasks have ended. May be called again at any time,
	 * even before RUN_STARTED.
	 */
	void (*resize)(struct runner *r, const struct run_job *job);
	/* Remove all that the runner keeps about the attempt. The store has
	 * committed that the attempt ended or did not start. */
	void (*forget)(struct runner *r, uint64_t job, uint32_t attempt);
	/*
	 * Called once, before anything else, with the attempts that run here
	 * as far as the daemon knows. The runner answers for each attempt with
	 * RUN_STARTED, RUN_START_FAILED, RUN_ENDED, RUN_LOST or RUN_UNKNOWN,
	 * and sends RUN_SYNCED after the last answer. Attempts that run here
	 * but are not named are ended.
	 */
	void (*recover)(struct runner *r, size_t n,
	                const struct run_attempt *list);
	/*
	 * Answer RUN_ADOPT with the committed decision of the daemon. Also
	 * called when an adopted job has ended and, after a start of the
	 * daemon, for each adopted job before the cluster is read. May be
	 * repeated; returns false if the runner was told the same before. A
	 * runner without adoption has NULL in this member and the next two.
	 */
	bool (*adopt)(struct runner *r, const struct adopted *what);
	/* Tell the owner of an adopted job why it waits, in an Event of
	 * the Job. */
	void (*explain)(struct runner *r, uint64_t job, const char *code,
	                const char *text);
	/* Cordon the node, so that the cluster places no other pods there. If
	 * reason is NULL, uncordon it. */
	void (*drain)(struct runner *r, const char *node, const char *reason);
	/* Have the autoscaler of the cluster add these nodes, in addition to
	 * those that are there, by stand-ins for them; remove stand-ins of
	 * templates that are not listed. Called at the start of the daemon and
	 * at each change, with all templates of the pool. NULL: this runner
	 * has no stand-ins. */
	void (*stand_in)(struct runner *r, size_t n,
	                 const struct run_standin *list);
	/* Append the path of the socket on which the attempt's shepherd
	 * accepts requests for steps (libcommon/step_msg.h). NULL: this runner
	 * has no steps. */
	void (*step_socket)(struct runner *r, uint64_t job, uint32_t attempt,
	                    struct buf *out);
	/* Runs commands of users in jobs. NULL: such commands are sent to the
	 * shepherd's socket, if there is one. */
	const struct runner_exec *exec;
	/* Connects users to ports of jobs. NULL: this runner cannot. */
	const struct runner_exec *forward;
	/* Remove the address of the job's ports, which start() makes and which
	 * remains after its attempts: the job has ended, or runs in another
	 * pool. but: keep the address in this namespace; NULL: remove all.
	 * NULL: this runner makes no addresses. */
	void (*no_ports)(struct runner *r, uint64_t job, const char *but);
	/* Append the record of the attempt's steps, which exists from the
	 * attempt's start until forget(). NULL: this runner has no steps. */
	void (*steps)(struct runner *r, uint64_t job, uint32_t attempt,
	              struct buf *out);
	/*
	 * Find the next output that can be read: sets *id to the first output
	 * of the attempt that is not before *id. Returns false if there is
	 * none, or none yet. wait: if a failed task will be replaced, do not
	 * go on to the next task before the output of the replacement. This
	 * member and the next three are for output that the runner has itself;
	 * they are NULL if output is in files of the user.
	 */
	bool (*log_next)(struct runner *r, struct log_id *id, bool wait);
	/* Begin to read the output written so far or, with `follow`, until the
	 * task ends. Text that was already read with `lines` is not passed on
	 * again. The caller owns `lines`. */
	struct run_log *(*log_open)(struct runner *r, const struct log_id *id,
	                            bool follow, struct log_lines *lines,
	                            const struct run_reader *reader);
	/* Stop or resume the calls of data(); this may be called within data().
	 * While reading is paused, nothing is read or buffered. */
	void (*log_pause)(struct run_log *log, bool pause);
	void (*log_close)(struct run_log *log);
	/* The configuration was reloaded: use this one, which stays valid
	 * until the next call. NULL: the runner uses nothing that a reload
	 * can change. */
	void (*reconf)(struct runner *r, const struct conf *conf,
	               const struct conf_pool *pool);
	/* Returns the limits that this machine cannot enforce, one sentence for
	 * each; "" if it can enforce all. */
	const char *(*shortcomings)(struct runner *r);
	/* Get the counts of API calls. NULL: this runner calls no server. */
	void (*calls)(struct runner *r, struct run_calls *ret);
	void (*free)(struct runner *r); /* jobs of the runner keep running */
};

struct runner {
	const struct runner_ops *ops;
};

/* Configuration of the runner of this machine; borrowed. */
struct runner_local_conf {
	/* each attempt has the folder run/JOB.ATTEMPT in this folder */
	const char *state_dir;
	/* the attempts' temporary folders are made here */
	const char *tmp_dir;
	/* most processes of a job; CONF_NONE: no limit but the machine's */
	int64_t max_processes;
	/* set of bits: which rlimits jobs inherit from their submitters */
	uint32_t rlimits;
	/* a job can open no GPUs and no devices but its own */
	bool constrain_devices;
	const struct conf_device *devices; /* [ndevices] */
	size_t ndevices;
	int64_t sample_s;    /* seconds between samples of GPU use */
	struct rlimit files; /* RLIMIT_NOFILE for child processes */
	/* section of this host in the configuration, or NULL */
	const struct conf_node *node;
	const struct conf_health *health;
};

/*
 * Make the runner of this machine. It finds out what the machine has, reports
 * this with RUN_NODE from the loop, then waits for recover(). Fails if the
 * shepherd program is missing, or if state_dir or tmp_dir cannot be used.
 */
struct runner *runner_local_new(struct event_base *base,
                                const struct runner_local_conf *conf,
                                run_event_fn *fn, void *arg, struct err *err);

/*
 * Make the runner of a pool in a cluster. It makes Jobs in the pool's
 * namespace, for the nodes that the pool selects. store: the id of the daemon's
 * database; logs: the folder of kept logs; both are copied, the other arguments
 * are borrowed. Does not fail: if the cluster cannot be reached, this is
 * reported later with RUN_TROUBLE.
 */
struct runner *runner_kube_new(struct event_base *base, const struct conf *conf,
                               const struct conf_pool *pool, const char *store,
                               const char *logs, run_event_fn *fn, void *arg);

#endif
