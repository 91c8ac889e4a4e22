/*
 * spec.h - requests: what users ask for when submitting a job
 *
 * A struct spec has the values exactly as given, before any default of a queue
 * or pool. The struct, its JSON in requests and its numbers in the store are
 * made from one table of fields (SPEC_FIELDS). The command line of aisub,
 * AISUB_* variables, #AISUB and #SBATCH lines, --help, completion and the
 * man-page test are made from one table of options (spec_opts in spec_opt.c).
 *
 * A spec owns nothing: its strings belong to whoever made it (an arena).
 */
#ifndef LIBCOMMON_SPEC_SPEC_H
#define LIBCOMMON_SPEC_SPEC_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/err.h"
#include "libcommon/mem.h"
#include "libcommon/names.h"
#include "libcommon/parse.h" /* TIME_UNLIMITED */

#define SPEC_UNSET INT64_MIN /* an integer that was not given */

/*
 * S(name) a text, NULL if not given; I(name) an int64_t, SPEC_UNSET if not
 * given. Flags are 0 or 1. Requests have the names of fields, and databases
 * their positions in this list, so append new fields.
 */
#define SPEC_FIELDS(S, I)                                                    \
	S(name)    /* job name; aisub always sets it */                      \
	S(queue)   /* NULL: the default queue */                             \
	S(account) /* free text for accounting */                            \
	S(class)   /* class of work */                                       \
	S(comment)                                                           \
	I(priority)       /* in place of that of its class */                \
	I(nice)           /* subtracted from the priority */                 \
	I(tasks)          /* 1 .. LIMIT_TASKS */                             \
	I(min_tasks)      /* <= tasks */                                     \
	I(nodes)          /* exactly this many nodes */                      \
	I(tasks_per_node) /* at most this many on each */                    \
	I(cpus)           /* milli-CPUs a task */                            \
	I(mem)            /* MiB a task; not with mem_node, mem_cpu */       \
	I(mem_node)       /* MiB a node; 0: all that it has */               \
	I(mem_cpu)        /* MiB a CPU */                                    \
	I(gpus)           /* milli-GPUs a task; not with gpus_* */           \
	I(gpus_job)       /* whole GPUs for all tasks together */            \
	I(gpus_node)      /* whole GPUs a node */                            \
	S(gpu_type)                                                          \
	I(exclusive)     /* no other job on its nodes */                     \
	S(licenses)      /* "name[:count],..." */                            \
	I(time_limit)    /* seconds > 0 or TIME_UNLIMITED */                 \
	I(begin)         /* unix seconds */                                  \
	I(deadline)      /* unix seconds */                                  \
	I(signal)        /* signal number sent before the time limit */      \
	I(signal_before) /* seconds before the limit */                      \
	I(signal_batch)  /* 1: only to the script ("B:"), 2: to steps */     \
	I(grace)         /* seconds between SIGTERM and SIGKILL */           \
	S(array)         /* "0-99:2%10", canonical */                        \
	S(dependency)    /* "afterok:1:2,after:3+5"; '?' for any */          \
	I(hold)                                                              \
	I(requeue) /* 1 --requeue, 0 --no-requeue */                         \
	I(max_restarts)                                                      \
	S(constraint) /* features: "a&b|c" */                                \
	S(nodelist)   /* hostlist */                                         \
	S(exclude)    /* hostlist */                                         \
	S(pool)                                                              \
	S(topology) /* "zone,rack:preferred", see topology.h */              \
	S(numa)     /* "strict", "tight" or "prefer" */                      \
	S(reservation)                                                       \
	S(output)        /* pattern, relative to workdir; never NULL */      \
	S(error)         /* NULL: stderr joins stdout */                     \
	S(input)         /* NULL: /dev/null */                               \
	I(append)        /* 1: append to its files, 0: truncate them */      \
	S(workdir)       /* absolute */                                      \
	I(umask)         /* of the submitter, for the job's processes */     \
	I(launch_script) /* 1: run once with the whole allocation */         \
	S(image)                                                             \
	S(mount)                                                             \
	S(args) /* the script's arguments: a JSON array of texts */          \
	S(submit_host)                                                       \
	S(on_task_failure) /* "end", "restart" or "replace" */               \
	S(kube_uid) /* uid of the Kubernetes Job from which this job was     \
	               made; aisub never sets it */                          \
	S(command)  /* for people: the script's name, or what --wrap says */ \
	S(rlimits)  /* of the submitter, as in rlimits.h */                  \
	I(cron_id)                                                           \
	I(cron_time)   /* for which time of recurring work it runs */        \
	I(cron_last)   /* the time of the previous run */                    \
	I(cron_missed) /* times after cron_last that did not run */          \
	S(links)       /* "strict", "prefer" or "any"; NULL: prefer */       \
	I(allocation)  /* enum allocation; unset: it has a script */         \
	I(mail_types)  /* bits of enum mail_type */                          \
	S(mail_user)   /* recipient; NULL: its user */                       \
	S(labels)      /* see labels.h */                                    \
	I(segment)     /* nodes or tasks of each segment, in one domain */   \
	I(has_cpus)    /* milli-CPUs and MiB of a job that has whole nodes;  \
	                * the daemon sets them when the job starts */        \
	I(has_mem)                                                           \
	S(prefer)     /* features, most preferred first: "a&b,c" */          \
	S(spread)     /* level of the topology: "rack", "node:preferred" */  \
	S(kube_marks) /* with kube_uid: marks of what that Job asks for, as  \
	               * last read, see spec_marks.h */                      \
	S(near)       /* jobs and a level of the topology, see near.h */     \
	S(apart)                                                             \
	I(tmp)                 /* MiB of disk on each node */                \
	I(kill_on_invalid_dep) /* 1: end it if --dependency cannot be met */ \
	I(no_idle_check)       /* 1: its GPUs may be idle, if the queue lets \
	                        * jobs say so */                             \
	S(ports)               /* see ports.h */                             \
	I(kube_pod)            /* 1: kube_uid is that of a pod, not a Job */ \
	I(shared_tasks)        /* tasks of steps that share the CPUs of one  \
	                        * task a node: sbatch --overcommit */        \
	I(gpu_memory)          /* MiB of each GPU, or of its part of one */  \
	I(gpu_part)            /* milli-GPUs that such a part counts; the    \
	                        * daemon sets them */                        \
	S(device)    /* of each task, other than GPUs: see devices.h */      \
	I(kube_pods) /* with kube_uid: pods of the Job that are one task, as \
	              * they share ResourceClaims */

struct spec {
#define S(name) const char *name;
#define I(name) int64_t name;
	SPEC_FIELDS(S, I)
#undef S
#undef I
};

/* The kind of a job without a script: HELD ends when its client is gone, KEPT
 * only when it is cancelled or reaches its limit. */
enum allocation { ALLOCATION_HELD = 1, ALLOCATION_KEPT };

/* How a failed task affects its job: the job ends, all tasks are restarted, or
 * that task is replaced. */
enum task_failure { FAILURE_ENDS, FAILURE_RESTARTS, FAILURE_REPLACES };

/* The fields as a table, in the order of SPEC_FIELDS. */
struct spec_field {
	const char *name;
	bool is_text;
	size_t offset;    /* in struct spec */
	int64_t min, max; /* of a number */
};

extern const struct spec_field spec_fields[];
extern const size_t spec_nfields;

void spec_init(struct spec *spec); /* no field is given */

static inline bool spec_is_set(int64_t number)
{
	return number != SPEC_UNSET;
}

const char **spec_text(struct spec *spec, const struct spec_field *field);
int64_t *spec_int(struct spec *spec, const struct spec_field *field);

/*
 * Check that a text is valid for this field: its length, that it is UTF-8
 * without control characters, and the syntax of arrays, dependencies,
 * hostlists and the like. Fails with EINVAL or ERANGE; the error text does not
 * name the field.
 */
int spec_check_text(const struct spec_field *field, const char *s,
                    struct err *err);
/* Check only the length of a text for this field; it must not be 0. */
int spec_check_length(const struct spec_field *field, size_t len,
                      struct err *err);

/* Check the value of each given field, but not whether fields go together.
 * Fails with EINVAL or ERANGE; the text names the field. */
int spec_check(const struct spec *spec, struct err *err);

/* Returns a new object with the given fields, which must be UTF-8. */
json_t *spec_to_json(const struct spec *spec);

/*
 * Read a spec, with its strings copied into the arena. Fails with EINVAL for
 * unknown fields, wrong types, texts that are too long, numbers out of range,
 * and a job without name, output or workdir.
 */
int spec_from_json(struct spec *ret, json_t *obj, struct arena *arena,
                   struct err *err);

/* Returns what on_task_failure says, FAILURE_ENDS if it is not given. */
enum task_failure spec_task_failure(const struct spec *spec);

/* Returns how many restarts a job or task may have if it may be restarted. */
int64_t spec_max_restarts(const struct spec *spec);

/*
 * Rule for a job that loses tasks because their node fails. The job goes on
 * while it has at least `least` tasks; 0: it ends. Lost tasks are placed anew
 * until the job has `whole` tasks again; 0: they are never placed anew.
 */
struct spec_loss {
	uint32_t least, whole;
};

struct spec_loss spec_loss(const struct spec *spec);

/*
 * The request of each task, whether it was given for a task, a node or the job.
 * A request per node is divided among the tasks that may share a node: all of
 * them if neither nodes nor tasks_per_node is given.
 */
struct request {
	uint32_t tasks, min_tasks;
	uint32_t nodes;          /* 0: any number */
	uint32_t tasks_per_node; /* 0: as many as fit */
	uint32_t segment;        /* tasks of each segment; 0: no segments */
	int64_t cpus_milli, mem_mib, gpus_milli;
	int64_t tmp_mib; /* disk; 0: it may use any amount */
	/* each of its GPUs has that much; 0: any. If it gets a part of a GPU
	 * (spec_gets_part()), gpus_milli is the part for which it counts. */
	int64_t gpu_mem_mib;
};

/*
 * Check the whole spec for contradictions (both mem and mem_cpu, more nodes
 * than tasks, array with a bad range, ...) and resolve it. If no memory is
 * given, mem_mib is the number of CPUs, which may be a fraction, times
 * default_mem_per_cpu_mib, rounded up. aisub calls this to report errors early,
 * and the daemon calls it again, because it does not trust its clients. Fails
 * with EINVAL or ERANGE.
 */
int spec_resolve(const struct spec *spec, int64_t default_mem_per_cpu_mib,
                 struct request *ret, struct err *err);

/* Returns the number of tasks among which a request per node is divided. */
int64_t request_tasks_on_node(const struct request *req);

/* Resolve a spec that spec_resolve() has accepted before. This skips most
 * checks, so it takes a tenth of the time and cannot fail. */
void spec_request(const struct spec *spec, int64_t default_mem_per_cpu_mib,
                  struct request *ret);

/* Returns how many MiB of disk a job must request on each node so that each of
 * its tasks has task_mib. All other fields of the spec must be set already. */
int64_t spec_tmp_of_node(const struct spec *spec, int64_t task_mib);

/* Whether no other job may be on the nodes of this one: it is exclusive, or
 * requests all memory of its nodes. */
bool spec_takes_nodes(const struct spec *spec);

/* Whether each task gets a part of a GPU that has spec->gpu_memory, so that the
 * part depends on the GPUs of its node. */
bool spec_gets_part(const struct spec *spec);

/* Whether the tasks of this job may be on several nodes. */
bool spec_may_spread(const struct spec *spec);

/* CPUs and memory of all tasks of a job together, or of several nodes. */
struct request_sum {
	int64_t cpus_milli, mem_mib;
};

/*
 * Returns the CPUs and memory that a job with `tasks` tasks on `nodes` nodes
 * has: all CPUs of the nodes if it is exclusive, all their memory if it
 * requests 0 MiB a node. `whole` is the sum of what the nodes have.
 */
struct request_sum spec_has(const struct spec *spec, const struct request *req,
                            int64_t default_mem_per_cpu_mib, uint32_t tasks,
                            uint32_t nodes, const struct request_sum *whole);

/* Returns which processes of the job --signal is for. */
enum signal_scope spec_signal_scope(const struct spec *spec);

#endif
