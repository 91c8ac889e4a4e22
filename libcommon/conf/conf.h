/*
 * conf.h - etc/aischedd.conf as plain data
 *
 * conf_load() reads a file with its includes, adds the defaults and checks
 * everything. A struct conf never changes; a reload loads another one and swaps
 * the pointer. The parser, the defaults, `aischedd --print-config` and the
 * man-page test are made from one table of keys (conf_keys.c). A conf owns all
 * that it points to, until conf_free().
 */
#ifndef LIBCOMMON_CONF_CONF_H
#define LIBCOMMON_CONF_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "libcommon/buf.h"
#include "libcommon/err.h"
#include "libcommon/runner_kind.h"
#include "libcommon/spec/devices.h"

/* A number that is not given; as a limit: no limit. */
#define CONF_NONE      (-1)
#define CONF_UNLIMITED (-1) /* an unlimited time */

struct arena;

enum resource {
	RES_CPU,
	RES_MEM,
	RES_GPU,
	RES_N
}; /* units: milli-CPUs, MiB, milli-GPUs */

struct strlist {
	size_t n;
	const char *const *s;
};

static inline bool strlist_has(const struct strlist *list, const char *text)
{
	for (size_t i = 0; i < list->n; i++)
		if (!strcmp(list->s[i], text))
			return true;
	return false;
}

struct conf_class {
	const char *name;
	int64_t priority;
	bool preemptible;
	struct strlist users; /* "name" or "@group"; empty: all */
	/* The PriorityClass of its pods; NULL: the one with the name of
	 * the class. */
	const char *priority_class;
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

/* How pods get the GPUs of a cluster's nodes. */
enum conf_devices {
	DEVICES_AUTO,  /* by whichever of the next two a node offers */
	DEVICES_DRA,   /* by ResourceClaims (Dynamic Resource Allocation) */
	DEVICES_PLUGIN /* as a counted resource of a device plugin */
};

/* How several pods share a GPU. */
enum conf_sharing {
	SHARING_NONE,     /* they do not */
	SHARING_CAPACITY, /* each by a ResourceClaim for part of its capacity */
	SHARING_CLAIMS    /* all by one ResourceClaim for the GPU */
};

/* A kind of devices other than GPUs. */
struct conf_device {
	const char *name;
	/* the resource by which device plugins count it, "rdma/hca"; NULL: only
	 * node sections say how many a node has */
	const char *resource;
	/* the DeviceClass by which ResourceClaims request it, and the driver
	 * whose ResourceSlices list it; NULL: it is not given by claims */
	const char *class, *driver;
	/*
	 * Devices of this machine, of which jobs get particular ones. pci:
	 * patterns "VENDOR:DEVICE" of devices on the PCI bus. path: patterns of
	 * device files, each of them a device or, with `pci`, a file of such a
	 * device.
	 */
	struct strlist pci, path;
};

struct conf_pool {
	const char *name;
	enum runner_kind runner;
	enum node_order order;
	/* MiB; CONF_NONE: the least ratio of memory to CPUs among its nodes. */
	int64_t default_memory_per_cpu;
	/* For runner = kubernetes only. */
	const char *kubeconfig, *context, *namespace, *node_selector, *image;
	struct strlist namespaces; /* as given; empty: `namespace` alone */
	struct strlist spaces;     /* the same, but never empty */
	const char *pod_agent_image;
	const char *gpu_resource, *service_account, *user_annotation;
	const char *priority_class;
	/* URL of the exporter on each node, with "{node}"; NULL: none */
	const char *gpu_metrics;
	enum conf_devices devices;
	const char *device_driver, *device_class, *mig_class;
	enum conf_sharing gpu_sharing;
	bool devices_shared;    /* use ResourceClaims even on nodes whose GPUs
	                           other schedulers may allocate */
	bool cpus_unlimited;    /* cpu_limit = none */
	int64_t cpu_overcommit; /* how many CPUs are given out for each CPU of a
	                           node, in thousandths */
	struct strlist allow_mounts, image_pull_secrets, drain_conditions;
	int64_t price[RES_N]; /* in the units of conf.price; CONF_NONE: that of
	                         struct conf */
	struct strlist gpu_price; /* "h100:3.20" */
	int64_t weight;    /* pools with a smaller weight are tried first */
	int64_t log_limit; /* bytes */
	bool run_as_root;
	bool isolate_network;   /* pods of other jobs cannot connect to a job */
	bool constrain_devices; /* for runner = local only */
	/* the kinds of devices of the configuration, those of all pools */
	const struct conf_device *kinds;
	const char *const *kind_names;
	size_t nkinds;
	bool leaving; /* see conf_keep_pool(); not a key */
};

/* A particular device of a node section. */
struct conf_piece {
	uint8_t kind;  /* index of its device section */
	uint16_t root; /* number of its PCIe root, from 0 */
};

/* One node of a node section; titles like "n[000-127]" are expanded. */
struct conf_node {
	const char *name;
	int pool;             /* index */
	int64_t cpus;         /* CPUs; CONF_NONE: as the runner reports */
	int64_t memory;       /* MiB; CONF_NONE likewise */
	int64_t tmp;          /* MiB of disk; CONF_NONE likewise */
	int64_t gpus;         /* devices; CONF_NONE likewise */
	const char *gpu_type; /* NULL likewise */
	int64_t sockets, gpu_link_groups; /* number of each; CONF_NONE: 1 */
	/* For each GPU the number of its NUMA node and of its link group; for
	 * each NUMA node the size of its memory. Empty: divided evenly. */
	struct strlist gpu_numa, gpu_links, numa_memory;
	struct strlist gpu_roots; /* PCIe root of each GPU; empty: unknown */
	int64_t gpu_memory;       /* MiB of each GPU; CONF_NONE: not known */
	const char *mig;          /* enum mig_model; NULL: no partitions */
	struct strlist mig_fixed; /* "0:3g.40gb@0,3g.40gb@4" */
	/* [LIMIT_GPUS] those of mig_fixed, see libcommon/mig.h; NULL: none */
	const uint64_t *parts;
	const char *topology; /* "z1/b1/r3"; NULL: none */
	struct strlist features, taints;
	/* "rdma:4", "rdma:4:roots=0,0,1,1"; empty: as the runner reports */
	struct strlist devices;
	struct device_counts devs; /* the same, by kind */
	/* [npieces] those with roots, for aisim */
	const struct conf_piece *pieces;
	uint32_t npieces;
	int64_t reserve_cpus;   /* milli; 0: none */
	int64_t reserve_memory; /* MiB; 0: none */
	int64_t weight;         /* nodes with a smaller weight are used first */
	bool by_pool;           /* the title of its section is "POOL/NAME" */
	int line;
};

enum idle_action { IDLE_NOTIFY, IDLE_CANCEL };

enum preempt_how { PREEMPT_SUSPEND, PREEMPT_REQUEUE, PREEMPT_CANCEL };

/*
 * Parents come before their children in conf.queues. Restrictions (limit,
 * max_*, users, pools, classes, state) also apply to all queues below this one;
 * default_time, grace, class and the like are inherited if not given.
 */
struct conf_queue {
	const char *name;
	int parent; /* index; -1: the root */
	bool leaf;
	int64_t quota[RES_N], limit[RES_N]; /* CONF_NONE: no quota, no limit */
	int64_t weight, priority;
	uint64_t pools;                  /* bit i: jobs may use pool i */
	struct strlist users, operators; /* "name" or "@group"; empty: all */
	int64_t max_time, default_time, assumed_time; /* s; CONF_NONE: none */
	int64_t max_jobs, max_jobs_per_user;          /* that run at a time */
	/* Most jobs that have not ended. */
	int64_t max_submit, max_submit_per_user;
	int64_t max_gpus_per_user;            /* milli */
	int64_t max_wait, min_runtime, grace; /* s */
	/* Seconds for which GPUs may be idle; CONF_NONE: no limit. */
	int64_t idle_gpu;
	/* Factor, in millionths, of the price of its jobs. */
	int64_t price_factor;
	enum preempt_how preempt;
	enum idle_action idle_gpu_action;
	bool idle_gpu_opt_out;  /* jobs may say --no-idle-check */
	bool closed;            /* state = closed: like `aictl queue close` */
	const char *class;      /* of jobs that name none */
	struct strlist classes; /* classes that its jobs may have; empty: all */
	/* Namespace of its jobs in clusters; NULL: `namespace` of the pool. */
	const char *namespace;
	int line;
};

/* How the nodes of a template are added and given back. */
enum scale_by {
	SCALE_PROGRAM, /* by programs; the nodes are named NAME-1 and so on */
	/* by an autoscaler, which names them itself: */
	SCALE_STANDIN,     /* asked by pods */
	SCALE_PROVISIONING /* asked by ProvisioningRequests */
};

/* A template of nodes that can be added to a pool. */
struct conf_scale {
	const char *name;
	int pool;             /* index */
	int64_t max;          /* nodes */
	int64_t cpus, memory; /* of a node; memory in MiB */
	int64_t tmp;          /* MiB of disk of a node */
	int64_t gpus;         /* of a node */
	const char *gpu_type; /* NULL: none */
	struct strlist features, labels, taints;
	const char *topology; /* "z1/b1", or NULL */
	int64_t delay;        /* seconds that a node takes to arrive */
	int64_t idle_for;     /* s: a node idle for longer is given back */
	int64_t price;        /* of a node for an hour, in millionths */
	enum scale_by by;
	const char *resume, *suspend;   /* programs; NULL: not given */
	const char *priority_class;     /* of stand-ins; NULL: not given */
	const char *provisioning_class; /* of ProvisioningRequests */
};

struct conf_license {
	const char *name;
	int64_t count;
};

/* Recurring work. */
struct conf_cron {
	const char *time_zone;     /* zone of schedules that name none; "": that
	                              of this machine */
	int64_t max, max_per_user; /* entries */
	int64_t max_runs;          /* jobs of one entry that have not ended */
	int64_t min_period;        /* seconds */
};

/* The program that checks the health of this machine. */
struct conf_health {
	const char *program;       /* "": none */
	int64_t interval, timeout; /* s */
};

/* Mails about jobs. */
struct conf_mail {
	/* Called like sendmail(8); "": no mails are sent. */
	const char *command;
	const char *from;       /* "": aisched at this machine */
	struct strlist domains; /* allowed domains of recipients; empty: any */
	int64_t per_user; /* mails to one user in an hour; any more are joined
	                     into one */
	int64_t queue;    /* mails that may wait to be sent */
};

struct conf_scheduling {
	bool backfill, consolidate;
	enum job_order order;
	int64_t backfill_depth, age_weight, size_weight, fairshare_weight;
	int64_t hold_after; /* s; max_wait of a queue takes precedence */
	int64_t fairshare_half_life, resume_cooldown, max_evictions_per_hour;
	int64_t start_timeout, evict_timeout, node_timeout; /* s */
};

/* From where /metrics may be read without a login. */
enum metrics_access { METRICS_NONE, METRICS_LOOPBACK, METRICS_OPEN };

enum charge { CHARGE_SUM, CHARGE_MAX };

struct conf_accounting {
	const char *time_zone; /* zone of days and months in reports; NULL: that
	                          of the daemon */
	const char *currency;
	/* Whether a job costs the sum of its resources' prices, or the highest
	 * of them. */
	enum charge charge;
	int64_t sample; /* seconds between samples of how busy jobs' GPUs are */
	int64_t hours_keep; /* s; how long sums of use by hour are kept */
};

struct conf_topology {
	struct strlist levels; /* names, the widest level first */
	struct strlist labels; /* "level=label", for levels whose node label has
	                          another name */
	/* For each level, the key of the label that names the domain of a
	 * node. */
	struct strlist keys;
};

struct conf {
	struct arena *arena; /* owns everything here */
	const char *path;    /* absolute; NULL: the built-in configuration */
	const char *cluster, *state_dir, *tmp_dir;
	const char *log_file; /* "": stderr */
	const char *http, *munge_socket, *default_queue;
	bool http_open;            /* `http` need not be a loopback address */
	struct strlist http_hosts; /* host names, besides loopback, under which
	                              the page may be requested */
	/* Unix socket for a reverse proxy, and its group; "": none. */
	const char *http_socket, *http_group;
	/* Header in which the proxy names the user. */
	const char *web_proxy_header;
	/* Users as whom the proxy may run; others cannot use http_socket. */
	struct strlist web_proxy_users;
	bool web_proxy_admins; /* operators and admins keep their rights when
	                          they come through the proxy */
	enum metrics_access metrics_access;
	const char *web_user;
	int64_t web_session; /* s */
	struct strlist listen, admins, operators;
	int64_t history_keep;    /* s */
	int64_t max_script_size; /* bytes */
	int64_t max_jobs; /* most jobs that have not ended, in all queues */
	int64_t max_user_jobs; /* most jobs of one user that have not ended */
	int64_t metrics_max_series;
	int64_t metrics_users; /* how many users metrics name; 0: none */
	int64_t max_processes; /* most processes of a job; CONF_NONE: chosen for
	                          the machine */
	struct strlist propagate_limits; /* names of limits */
	uint32_t rlimits; /* the same limits, as bits of rlimits_select() */
	struct conf_topology topology;

	size_t nclasses, npools, nnodes, nqueues, nlicenses, nscales;
	const struct conf_class *classes;
	const struct conf_pool *pools;
	const struct conf_node *nodes;
	const struct conf_queue *queues;
	const struct conf_license *licenses;
	size_t ndevices; /* <= DEVICE_KINDS */
	const struct conf_device *devices;
	const char *const *device_names; /* of the same */
	const struct conf_scale *scales;
	struct conf_scheduling scheduling;
	struct conf_cron cron;
	struct conf_accounting accounting;
	struct strlist private; /* "jobs", "usage": what users may not see of
	                           other users */
	int64_t price[RES_N];   /* price for an hour, in millionths; CONF_NONE:
	                           none */
	struct conf_health health;
	struct conf_mail mail;
	struct conf *kept; /* owns texts of a pool that is leaving, or NULL */
};

/*
 * Load the file at path. NULL means, for root, /etc/aisched/aischedd.conf if it
 * exists, and otherwise the built-in configuration of one machine (one local
 * pool, one open queue "default", the caller's own state folder and socket).
 * Only one thread may load at a time, because the parser has global state.
 * Warnings about suspicious values are appended to warnings, one a line, as
 * `file:line: text`. Fails with EINVAL, and a text like "file:line: what is
 * wrong", or with an errno value of open(2).
 */
struct conf *conf_load(const char *path, struct buf *warnings, struct err *err);

/* Append a warning if tmp_dir is on the file system of state_dir, and one if
 * the program of health_check cannot be run. */
void conf_check_paths(const struct conf *conf, struct buf *warnings);

/* Load a configuration from text; for tests. name: what errors call the
 * text. */
struct conf *conf_parse(const char *text, const char *name,
                        struct buf *warnings, struct err *err);
void conf_free(struct conf *conf); /* NULL is allowed */

/* Append all values, including defaults, as a file that conf_load() accepts. */
void conf_print(const struct conf *conf, struct buf *out);

/* Whether both have the same values: conf_print() prints the same. */
bool conf_same(const struct conf *a, const struct conf *b);

/* Append the section of a pool as conf_print() does. */
void conf_print_pool(const struct conf *conf, const struct conf_pool *pool,
                     struct buf *out);

/* Append a copy of the pool as one that is leaving: it is no longer configured,
 * but jobs still run there. No new job may use it, and conf_print() leaves it
 * out. The texts of the pool must outlive conf. Fails if there are LIMIT_POOLS
 * pools. */
int conf_keep_pool(struct conf *conf, const struct conf_pool *pool,
                   struct err *err);

/* Free `other` together with conf. */
void conf_own(struct conf *conf, struct conf *other);

/* Returns the index of the queue, pool or class of this name, or -1. */
int conf_queue_find(const struct conf *conf, const char *name);
int conf_pool_find(const struct conf *conf, const char *name);
int conf_class_find(const struct conf *conf, const char *name);

/* Returns the namespace in which jobs of the queue run in the pool. */
const char *conf_namespace(const struct conf *conf, int queue, int pool);

/* Returns the first queue, this one or one above it, that does not allow this
 * class; -1 if all allow it. */
int conf_queue_without_class(const struct conf *conf, int queue,
                             const char *class);

/* Returns the queue of jobs that name none; -1 if such jobs are refused. */
int conf_default_queue(const struct conf *conf);

/* Returns the path of the default socket of a daemon that runs as this user.
 * Tools try it if no address is given. The caller frees it. */
char *conf_default_socket(void);

/* Returns the keys as "section.key" ("queue.max_time", "cluster"),
 * NULL-terminated, for the test of the man page. */
const char *const *conf_key_names(void);

#endif
