/*
 * spec.h - requests: what users ask for when submitting a job
 *
 * The values exactly as given, before any default of a queue or pool. One table
 * of fields (SPEC_FIELDS) gives the struct, its JSON on the wire and its
 * numbers in the store; one table of options (spec_opts in spec_opt.c) gives
 * the command line of aisub, AISUB_* variables, #AISUB and #SBATCH lines,
 * --help, completion and the man-page check.
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
 * given. Flags are 0 or 1. The names are those of the wire; their numbers are
 * in databases, so new ones go to the end.
 */
#define SPEC_FIELDS(S, I)                                                    \
	S(name)    /* job name; aisub always sets it */                      \
	S(queue)   /* NULL: the default queue */                             \
	S(account) /* free text for accounting */                            \
	S(class)   /* class of work */                                       \
	S(comment)                                                           \
	I(priority)       /* in place of the class's */                      \
	I(nice)           /* subtracted from the priority */                 \
	I(tasks)          /* 1 .. LIMIT_TASKS */                             \
	I(min_tasks)      /* <= tasks */                                     \
	I(nodes)          /* exactly this many nodes */                      \
	I(tasks_per_node) /* at most this many on each */                    \
	I(cpus)           /* milli-CPUs a task */                            \
	I(mem)            /* MiB a task; one of mem, mem_node, mem_cpu */    \
	I(mem_node)       /* MiB a node; 0: all that it has */               \
	I(mem_cpu)        /* MiB a CPU */                                    \
	I(gpus)           /* milli-GPUs a task; one of gpus, gpus_* */       \
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
	I(append)        /* open mode: 1 append, 0 truncate */               \
	S(workdir)       /* absolute */                                      \
	I(umask)         /* of the submitter; the processes get it */        \
	I(launch_script) /* 1: run once with the whole allocation */         \
	S(image)                                                             \
	S(mount)                                                             \
	S(args) /* the script's arguments: a JSON array of texts */          \
	S(submit_host)                                                       \
	S(on_task_failure) /* "end", "restart" or "replace" */               \
	S(kube_uid) /* the cluster's Job that it was made from; aisub sets   \
	               none */                                               \
	S(command)  /* for people: the script's name, or what --wrap says */ \
	S(rlimits)  /* of the submitter, as in rlimits.h */                  \
	I(cron_id)                                                           \
	I(cron_time)   /* of a run of recurring work: its time */            \
	I(cron_last)   /* the time of the previous run */                    \
	I(cron_missed) /* times between the two without a run */             \
	S(links)       /* "strict", "prefer" or "any"; NULL: prefer */       \
	I(allocation)  /* enum allocation; not given: it has a script */     \
	I(mail_types)  /* bits of enum mail_type */                          \
	S(mail_user)   /* address; NULL: that of its user */                 \
	S(labels)      /* see labels.h */                                    \
	I(segment)     /* nodes or tasks of each run in one domain */        \
	I(has_cpus)    /* milli-CPUs and MiB of a job that has whole nodes;  \
	                * the daemon sets them when it starts */             \
	I(has_mem)                                                           \
	S(prefer) /* features, the dearest first: "a&b,c" */

struct spec {
#define S(name) const char *name;
#define I(name) int64_t name;
	SPEC_FIELDS(S, I)
#undef S
#undef I
};

/* A job without script ends with its client, or is kept until it is ended. */
enum allocation { ALLOCATION_HELD = 1, ALLOCATION_KEPT };

/* The fate of a job if one of its tasks fails. */
enum task_failure { FAILURE_ENDS, FAILURE_RESTARTS, FAILURE_REPLACES };

/* The fields as data, in the same order. */
struct spec_field {
	const char *name;
	bool is_text;
	size_t offset;    /* in struct spec */
	int64_t min, max; /* of a number */
};

extern const struct spec_field spec_fields[];
extern const size_t spec_nfields;

void spec_init(struct spec *spec); /* nothing given */

static inline bool spec_is_set(int64_t number)
{
	return number != SPEC_UNSET;
}

const char **spec_text(struct spec *spec, const struct spec_field *field);
int64_t *spec_int(struct spec *spec, const struct spec_field *field);

/*
 * Check a text for this field: its length, UTF-8, no control characters, and
 * the syntax of arrays, dependencies, hostlists and the like. Fails with EINVAL
 * or ERANGE; the text does not name the field.
 */
int spec_check_text(const struct spec_field *field, const char *s,
                    struct err *err);
/* Check only its length, which bounds what a peer can send. */
int spec_check_length(const struct spec_field *field, size_t len,
                      struct err *err);

/* Check each given field by itself. Fails with EINVAL and names the field. */
int spec_check(const struct spec *spec, struct err *err);

/* Returns a new object with the given fields, which must be UTF-8. */
json_t *spec_to_json(const struct spec *spec);

/*
 * Strict: refuses unknown fields, wrong types, texts over LIMIT_TEXT, numbers
 * out of range, and a job without name, output or workdir, with EINVAL. Strings
 * are copied into the arena.
 */
int spec_from_json(struct spec *ret, json_t *obj, struct arena *arena,
                   struct err *err);

/* Returns FAILURE_ENDS if not given. */
enum task_failure spec_task_failure(const struct spec *spec);

/* Returns how often a failed job or task is restarted, if at all. */
int64_t spec_max_restarts(const struct spec *spec);

/*
 * The request per task, in whichever of the three ways it was given. A request
 * per node is divided among the tasks that may share a node: all of them if
 * neither nodes nor tasks_per_node is given.
 */
struct request {
	uint32_t tasks, min_tasks;
	uint32_t nodes;          /* 0: any number */
	uint32_t tasks_per_node; /* 0: as many as fit */
	uint32_t segment;        /* tasks of each run; 0: no runs */
	int64_t cpus_milli, mem_mib, gpus_milli;
};

/*
 * Check the whole spec for contradictions (both mem and mem_cpu, more nodes
 * than tasks, array with a bad range, ...) and resolve it. mem_mib is
 * default_mem_per_cpu_mib for each CPU if no memory is given; a part of a CPU
 * has that part of it, rounded up. Used by aisub before it asks the daemon, and
 * by the daemon, which trusts nobody. Fails with EINVAL or ERANGE.
 */
int spec_resolve(const struct spec *spec, int64_t default_mem_per_cpu_mib,
                 struct request *ret, struct err *err);

/* Resolve a spec that was resolved before, at a tenth of the cost. Does not
 * fail. */
void spec_request(const struct spec *spec, int64_t default_mem_per_cpu_mib,
                  struct request *ret);

/* Whether no other job may be on its nodes: it says so, or has all memory of
 * them. */
bool spec_takes_nodes(const struct spec *spec);

/* Whether it may be on several nodes. */
bool spec_may_spread(const struct spec *spec);

/* Amounts of CPUs and memory that a job has, of all its tasks and nodes. */
struct request_sum {
	int64_t cpus_milli, mem_mib;
};

/*
 * Returns what `tasks` tasks have together: all CPUs of their nodes if the job
 * is exclusive, all memory if it asks for that. whole: what these nodes have.
 */
struct request_sum spec_has(const struct spec *spec, const struct request *req,
                            int64_t default_mem_per_cpu_mib, uint32_t tasks,
                            uint32_t nodes, const struct request_sum *whole);

/* The processes that --signal is for. */
enum signal_scope spec_signal_scope(const struct spec *spec);

#endif
