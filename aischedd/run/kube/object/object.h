/*
 * object.h - the objects of a job in a cluster, as JSON
 *
 * Pure. An attempt of a job is an Indexed Job, a Secret with what its pods run
 * and, if it has more than one task, a headless Service by which these find
 * each other. All three have the same name, made of cluster, job and attempt.
 * Labels of each object name its job, queue and cluster; annotations name
 * attempt, store and pool. The caller owns the objects that are returned.
 */
#ifndef AISCHEDD_RUN_KUBE_OBJECT_OBJECT_H
#define AISCHEDD_RUN_KUBE_OBJECT_OBJECT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "aischedd/run/runner.h"
#include "libcommon/buf.h"
#include "libcommon/conf/conf.h"
#include "libcommon/err.h"
#include "libcommon/jobid.h"

#define KUBE_LABEL_JOB     "aisched.io/job-id"
#define KUBE_LABEL_QUEUE   "aisched.io/queue"
#define KUBE_LABEL_CLUSTER "aisched.io/cluster"
/* of a Service that leads to the ports of a job */
#define KUBE_LABEL_PORTS "aisched.io/ports"
/* of a Job of stand-ins and its pods: the template of nodes */
#define KUBE_LABEL_STANDIN "aisched.io/standin"
/* of such a Job: a hash of what a change needs a new Job for */
#define KUBE_NOTE_SHAPE "aisched.io/shape"
/* of such a Job that has ProvisioningRequests in place of pods: how many nodes
 * there are to be in all */
#define KUBE_NOTE_TARGET "aisched.io/target"
/* prefix of the labels of --label */
#define KUBE_LABEL_USER   "label.aisched.io/"
#define KUBE_NOTE_ATTEMPT "aisched.io/attempt"
#define KUBE_NOTE_STORE   "aisched.io/store"
#define KUBE_NOTE_POOL    "aisched.io/pool"
#define KUBE_NOTE_TASKS   "aisched.io/tasks" /* number of tasks at the start */
/* Annotations of a Job that goes on when tasks are lost with their nodes: the
 * members `least` and `whole` of struct spec_loss. */
#define KUBE_NOTE_LEAST "aisched.io/least-tasks"
#define KUBE_NOTE_WHOLE "aisched.io/whole-tasks"
/* Annotation of a pod: its output goes to files of the user. */
#define KUBE_NOTE_FILES  "aisched.io/files"
#define KUBE_NOTE_LEAVE  "aisched.io/leave"  /* of a pod: why it is to end */
#define KUBE_NOTE_SECRET "aisched.io/secret" /* of a Job: the shared Secret */

/* Condition of a pod that ended for a reason other than its processes, such as
 * an eviction by the kubelet. */
#define KUBE_DISRUPTED "DisruptionTarget"

/* Value of KUBE_NOTE_LEAVE: the job continues without this pod, whose outcome
 * does not count. */
#define KUBE_LEAVE_SHRINK "shrink"

/* Size of the name of an attempt's objects. */
enum { KUBE_NAME_SIZE = JOBID_OBJECT_SIZE };

/* The folder in which a container has the Secret. */
#define KUBE_JOB_DIR "/aisched/job"

/* The pool and daemon for which objects are made; borrowed. */
struct kube_home {
	const struct conf_pool *pool;
	const char *cluster;
	const char *store; /* id of our database */
	/* seconds after which the daemon gives up a silent node */
	int64_t node_timeout;
	bool by_claims; /* the pods of the job get GPUs by ResourceClaims */
	/* the claim that the template of a Job of one pod names; NULL: it has
	 * the name of kube_grant_name() */
	const char *claim;
	const char *namespace; /* of the objects */
	/* tasks of a pod whose script starts them; 0: it is one task */
	uint32_t pod_tasks;
};

/* The attempt to which an object belongs, from its labels and annotations. */
struct kube_owner {
	uint64_t job;
	uint32_t attempt;
};

void kube_object_name(char ret[KUBE_NAME_SIZE], const char *cluster,
                      uint64_t job, uint32_t attempt);

/* --- parts that all objects have --- */

json_t *kube_object_labels(const struct kube_home *home,
                           const struct run_job *job);
json_t *kube_object_notes(const struct kube_home *home,
                          const struct run_job *job);
void kube_object_number(json_t *obj, const char *key, uint64_t n);

/* Set the CPUs, the memory and, unless it is 0, the disk of a pod's requests or
 * limits. */
void kube_object_amounts(json_t *list, int64_t cpu_milli, int64_t mem_mib,
                         int64_t tmp_mib);

/* Returns an object of this apiVersion and kind with the job's name, labels and
 * annotations. */
json_t *kube_object_new(const struct kube_home *home, const struct run_job *job,
                        const char *version, const char *kind);

/* Returns the text with each '$' doubled: in arguments and environment, the
 * kubelet replaces "$(NAME)" with the value of that variable, and "$$" with
 * "$". */
json_t *kube_object_literal(const char *text);

/* Make the Job of this name and uid the owner of obj, so that deleting the Job
 * deletes obj. */
void kube_object_own(json_t *obj, const char *name, const char *uid);

/*
 * Whether the labels and annotations of the object name this store and pool;
 * sets *ret to the job and attempt that they name. Other users can copy labels
 * and annotations. So callers also compare the name of a Job, and a pod belongs
 * to an attempt only if its owner is the attempt's Job. After a restart of the
 * daemon, a copied Job is not taken for a running attempt, as its pods have not
 * run: only the daemon binds pods.
 */
bool kube_object_is_ours(const json_t *obj, const struct kube_home *home,
                         struct kube_owner *ret);

/* --- Services and NetworkPolicy --- */

/* Whether the tasks of the job find each other by a Service. */
static inline bool kube_object_is_gang(const struct run_job *job)
{
	return job->ntasks > 1 || job->req->tasks > 1;
}

json_t *kube_object_service(const struct kube_home *home,
                            const struct run_job *job);

/* Returns the NetworkPolicy that lets only pods of the same attempt connect to
 * its pods, and others to the ports of --port. */
json_t *kube_object_policy(const struct kube_home *home,
                           const struct run_job *job);

/* Returns the Service that leads to the ports of --port, at the first task of
 * each attempt. It has attempt 0, as it belongs to none. */
json_t *kube_object_ports(const struct kube_home *home,
                          const struct run_job *job);

/* --- patches --- */

json_t *kube_object_binding(const char *namespace, const char *pod,
                            const char *uid, const char *node);

/* The body of a DELETE of the object with this uid; grace_s < 0: with the grace
 * period that the object has. */
json_t *kube_object_deletion(const char *uid, int64_t grace_s);

/* PATCH of a pod: make the kubelet end it with its grace period, and keep the
 * object. why: the value of KUBE_NOTE_LEAVE. */
json_t *kube_object_leave(const char *uid, const char *why);

/* PATCH of the status of a pod that is given up: set it to Failed, with this
 * reason and text, and the condition KUBE_DISRUPTED, so that the Job controller
 * does not count it as a failure. */
json_t *kube_object_failure(const char *uid, const char *reason,
                            const char *why);

/* PATCH of a Job: set the number of indexes. */
json_t *kube_object_indexes(const char *uid, uint32_t n);

/* Append shell text that exports a variable under two names, AISCHED_NAME and
 * SLURM_NAME. value: has no single quote */
void kube_object_export(struct buf *out, const char *name, const char *value);
void kube_object_export_n(struct buf *out, const char *name, int64_t n);

/* The same for a number that is that of each pod, as Slurm writes it:
 * "8(x4)". */
void kube_object_export_each(struct buf *out, const char *name, int64_t n,
                             uint32_t pods);

#endif
