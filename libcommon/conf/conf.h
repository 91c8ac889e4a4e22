/*
 * conf.h - etc/aischedd.conf as plain data
 *
 * conf_load() reads, completes and checks a whole file with its includes; the
 * result never changes, so a reload loads another one and swaps the pointer.
 * One table of keys (conf_keys.c) gives the parser, the defaults, `aischedd
 * --print-config` and the man-page check. Everything belongs to the conf and
 * lives until conf_free().
 */
#ifndef LIBCOMMON_CONF_CONF_H
#define LIBCOMMON_CONF_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/buf.h"
#include "libcommon/err.h"
#include "libcommon/runner_kind.h"

#define CONF_NONE      (-1) /* a number that is not given: no restriction */
#define CONF_UNLIMITED (-1) /* a time without end */

struct arena;

enum resource {
	RES_CPU,
	RES_MEM,
	RES_GPU,
	RES_N
}; /* thousandths, MiB, thousandths */

struct strlist {
	size_t n;
	const char *const *s;
};

struct conf_class {
	const char *name;
	int64_t priority;
	bool preemptible;
	struct strlist users;       /* "name" or "@group"; empty: all */
	const char *priority_class; /* NULL: the one of its own name */
};

/* X(symbol, name in the configuration and in the text of snapshots) */
#define NODE_ORDERS(X)      \
	X(PACK, "pack")     \
	X(SPREAD, "spread") \
	X(BEST_FIT, "best_fit")

enum node_order {
#define X(sym, name) ORDER_##sym,
	NODE_ORDERS(X)
#undef X
};

#define JOB_ORDERS(X)             \
	X(POINTS, "points")       \
	X(TIME, "shortest")       \
	X(AREA, "smallest")       \
	X(SERVED, "least_served") \
	X(REST, "least_left")

enum job_order {
#define X(sym, name) BY_##sym,
	JOB_ORDERS(X)
#undef X
};

#define X(sym, name) +1
enum { NODE_NORDERS = NODE_ORDERS(X), JOB_NORDERS = JOB_ORDERS(X) };
#undef X

/* How nodes of a cluster give GPUs. */
enum conf_devices {
	DEVICES_AUTO,  /* as they show */
	DEVICES_DRA,   /* by claims */
	DEVICES_PLUGIN /* as a resource that is counted */
};

struct conf_pool {
	const char *name;
	enum runner_kind runner;
	enum node_order order;
	int64_t default_memory_per_cpu; /* MiB; CONF_NONE: as much as its nodes
	                                   have */
	/* of kubernetes only */
	const char *kubeconfig, *context, *namespace, *node_selector, *image;
	const char *pod_agent_image;
	const char *gpu_resource, *service_account, *user_annotation;
	const char *priority_class;
	enum conf_devices devices;
	const char *device_driver, *device_class;
	bool devices_shared;    /* others give them, too */
	bool cpus_unlimited;    /* cpu_limit = none */
	int64_t cpu_overcommit; /* thousandths: CPUs for each that nodes have */
	struct strlist allow_mounts, image_pull_secrets, drain_conditions;
	int64_t price[RES_N];     /* CONF_NONE: that of struct conf */
	struct strlist gpu_price; /* "h100:3.20" */
	int64_t weight;           /* pools with less are tried first */
	int64_t log_limit;        /* bytes */
	bool run_as_root;
	bool constrain_devices; /* of local only */
};

/* One node of a node section; titles like "n[000-127]" are expanded. */
struct conf_node {
	const char *name;
	int pool;             /* index */
	int64_t cpus;         /* CPUs; CONF_NONE: as the runner reports */
	int64_t memory;       /* MiB; CONF_NONE likewise */
	int64_t gpus;         /* devices; CONF_NONE likewise */
	const char *gpu_type; /* NULL likewise */
	int64_t sockets, gpu_link_groups; /* CONF_NONE: 1 */
	/* Numbers of each GPU's NUMA node and link group, sizes of the NUMA
	 * nodes; empty: evenly. */
	struct strlist gpu_numa, gpu_links, numa_memory;
	int64_t gpu_memory;   /* MiB of each GPU; CONF_NONE: not known */
	const char *mig;      /* enum mig_model; NULL: no partitions */
	const char *topology; /* "z1/b1/r3"; NULL: none */
	struct strlist features, taints;
	int64_t reserve_cpus;   /* milli; 0: none */
	int64_t reserve_memory; /* MiB; 0: none */
	int64_t weight;         /* nodes with less are taken first */
	bool by_pool;           /* its section is called "POOL/NAME" */
	int line;
};

enum idle_action { IDLE_NOTIFY, IDLE_CANCEL };

enum preempt_how { PREEMPT_SUSPEND, PREEMPT_REQUEUE, PREEMPT_CANCEL };

/*
 * Parents come before their children. Restrictions (limit, max_*, users, pools,
 * classes, state) also hold for all queues below; default_time, grace, class
 * and the like are inherited if not given.
 */
struct conf_queue {
	const char *name;
	int parent; /* index; -1: the root */
	bool leaf;
	int64_t quota[RES_N], limit[RES_N]; /* CONF_NONE: not rationed */
	int64_t weight, priority;
	uint64_t pools; /* bit i: pool i; all if none is given */
	struct strlist users, operators; /* "name" or "@group"; empty: all */
	int64_t max_time, default_time, assumed_time; /* s; CONF_NONE: none */
	int64_t max_jobs, max_jobs_per_user;          /* at a time */
	int64_t max_submit, max_submit_per_user;      /* not ended, at a time */
	int64_t max_gpus_per_user;                    /* milli */
	int64_t max_wait, min_runtime, grace;         /* s */
	int64_t idle_gpu;     /* s; CONF_NONE: no limit */
	int64_t price_factor; /* millionths */
	enum preempt_how preempt;
	enum idle_action idle_gpu_action;
	bool closed;            /* state = closed: like `aictl queue close` */
	const char *class;      /* of jobs that name none */
	struct strlist classes; /* classes that jobs may name; empty: all */
	int line;
};

struct conf_license {
	const char *name;
	int64_t count;
};

/* Recurring work. */
struct conf_cron {
	const char *time_zone;     /* of schedules that name none; "": this
	                              machine's */
	int64_t max, max_per_user; /* entries */
	int64_t max_runs;          /* of one entry that have not ended */
	int64_t min_period;        /* seconds */
};

/* The program that says whether this machine is well. */
struct conf_health {
	const char *program;       /* "": none */
	int64_t interval, timeout; /* s */
};

/* Mails about jobs. */
struct conf_mail {
	const char *command;    /* like sendmail(8); "": none is sent */
	const char *from;       /* "": aisched at this machine */
	struct strlist domains; /* of recipients; empty: any */
	int64_t per_user; /* mails an hour; more of them become one digest */
	int64_t queue;    /* the most that wait */
};

struct conf_scheduling {
	bool backfill, consolidate;
	enum job_order order;
	int64_t backfill_depth, age_weight, size_weight, fairshare_weight;
	int64_t hold_after; /* s; the max_wait of a queue has precedence */
	int64_t fairshare_half_life, resume_cooldown, max_evictions_per_hour;
	int64_t start_timeout, evict_timeout, node_timeout; /* s */
};

/* Where /metrics may be read without a login. */
enum metrics_access { METRICS_NONE, METRICS_LOOPBACK, METRICS_OPEN };

enum charge { CHARGE_SUM, CHARGE_MAX };

struct conf_accounting {
	const char *time_zone; /* of days and months; NULL: the daemon's */
	const char *currency;
	/* for the sum of all resources, or only the dearest one */
	enum charge charge;
	int64_t sample; /* seconds between looks at GPUs of jobs */
};

struct conf_topology {
	struct strlist levels; /* widest first */
	struct strlist labels; /* "level=label", where their names differ */
	struct strlist keys;   /* by level: its name, or that label */
};

struct conf {
	struct arena *arena; /* owns everything here */
	const char *path;    /* absolute; NULL for the built-in configuration */
	const char *cluster, *state_dir, *tmp_dir;
	const char *log_file; /* "": stderr */
	const char *http, *munge_socket, *default_queue;
	bool http_open;            /* http may be no loopback address */
	struct strlist http_hosts; /* names that the page may have */
	const char *http_socket, *http_group; /* for a proxy; "": none */
	const char *web_proxy_header;         /* in which it names its user */
	struct strlist web_proxy_users;       /* as whom it may run */
	bool web_proxy_admins; /* admins are admins behind it, too */
	enum metrics_access metrics_access;
	const char *web_user;
	int64_t web_session; /* s */
	struct strlist listen, admins, operators;
	int64_t history_keep;    /* s */
	int64_t max_script_size; /* bytes */
	int64_t max_jobs; /* most jobs that have not ended, in all queues */
	int64_t max_user_jobs; /* the same for one user */
	int64_t metrics_max_series;
	int64_t metrics_users; /* named in metrics; 0: none */
	int64_t max_processes; /* of a job; CONF_NONE: by the machine */
	struct strlist propagate_limits; /* names of limits */
	uint32_t rlimits; /* the same limits, as bits of rlimits_select() */
	struct conf_topology topology;

	size_t nclasses, npools, nnodes, nqueues, nlicenses;
	const struct conf_class *classes;
	const struct conf_pool *pools;
	const struct conf_node *nodes;
	const struct conf_queue *queues;
	const struct conf_license *licenses;
	struct conf_scheduling scheduling;
	struct conf_cron cron;
	struct conf_accounting accounting;
	struct strlist private; /* "jobs", "usage": only those who may see them
	                         */
	int64_t price[RES_N];   /* millionths for an hour; CONF_NONE: none */
	struct conf_health health;
	struct conf_mail mail;
};

/*
 * Load path. NULL means /etc/aisched/aischedd.conf for root, if it exists, else
 * the built-in configuration of one machine (one local pool, one open queue
 * "default", the caller's own state folder and socket). Only one thread may
 * load at a time, because the parser is global. Warnings (suspicious values)
 * are appended to warnings, one a line, `file:line: text`. Fails with EINVAL,
 * "file:line: what is wrong", or with an errno of open.
 */
struct conf *conf_load(const char *path, struct buf *warnings, struct err *err);

/* Append a warning for each folder that is on the wrong disk, and for a program
 * that cannot be run. */
void conf_check_paths(const struct conf *conf, struct buf *warnings);

/* Load from text, called `name` in errors; for tests. */
struct conf *conf_parse(const char *text, const char *name,
                        struct buf *warnings, struct err *err);
void conf_free(struct conf *conf); /* NULL is allowed */

/* Append all values in force as a file that conf_load() accepts. */
void conf_print(const struct conf *conf, struct buf *out);

/* Returns the index of the queue, pool or class of this name, or -1. */
int conf_queue_find(const struct conf *conf, const char *name);
int conf_pool_find(const struct conf *conf, const char *name);
int conf_class_find(const struct conf *conf, const char *name);

/* Returns the queue, this one or one above it, whose `classes` lack the class;
 * -1 if there is none. */
int conf_queue_without_class(const struct conf *conf, int queue,
                             const char *class);

/* Returns the queue of a job that names none, or -1. */
int conf_default_queue(const struct conf *conf);

/* Returns the default socket of this user's daemon, which tools try if none is
 * given. */
char *conf_default_socket(void);

/* Returns the keys as "section.key" ("queue.max_time", "cluster"),
 * NULL-terminated, for the test of the man page. */
const char *const *conf_key_names(void);

#endif
