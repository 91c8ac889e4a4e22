/*
 * object.h - what a job is in a cluster: its objects, as JSON
 *
 * Pure.  One attempt of a job is an Indexed Job, a Secret with what its pods
 * run and, for more than one task, a headless Service by which they find each
 * other; all three have one name, made of cluster, job and attempt.  Every
 * object says whose it is: labels of job, queue and cluster, annotations of
 * attempt, store and pool.  The objects returned are the caller's.
 */
#ifndef AISCHEDD_RUN_KUBE_OBJECT_OBJECT_H
#define AISCHEDD_RUN_KUBE_OBJECT_OBJECT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "aischedd/run/runner.h"
#include "libcommon/conf/conf.h"
#include "libcommon/err.h"

#define KUBE_LABEL_JOB     "aisched.io/job-id"
#define KUBE_LABEL_QUEUE   "aisched.io/queue"
#define KUBE_LABEL_CLUSTER "aisched.io/cluster"
#define KUBE_NOTE_ATTEMPT  "aisched.io/attempt"
#define KUBE_NOTE_STORE    "aisched.io/store"
#define KUBE_NOTE_POOL     "aisched.io/pool"
#define KUBE_NOTE_TASKS    "aisched.io/tasks" /* that it started with */
/* On a pod: its output goes to files of the user. */
#define KUBE_NOTE_FILES  "aisched.io/files"
#define KUBE_NOTE_LEAVE  "aisched.io/leave"  /* of a pod: why it is to end */
#define KUBE_NOTE_SECRET "aisched.io/secret" /* that it shares */

/* The job goes on without this pod: what becomes of it is not its end. */
#define KUBE_LEAVE_SHRINK "shrink"

/* Where a container finds the Secret. */
#define KUBE_JOB_DIR "/aisched/job"

/* A Job controller appends "-INDEX" to make the name of a host. */
enum { KUBE_NAME_SIZE = 64 };

/* Where the objects are made, and for whom; borrowed. */
struct kube_home {
	const struct conf_pool *pool;
	const char *cluster;
	const char *store;    /* the id of our database */
	int64_t node_timeout; /* s; after which a silent node is given up */
};

/* Whose an object is, as its labels and annotations say. */
struct kube_owner {
	uint64_t job;
	uint32_t attempt;
};

void kube_object_name(char ret[KUBE_NAME_SIZE], const char *cluster,
                      uint64_t job, uint32_t attempt);

/* --- what all of them have --- */

json_t *kube_object_labels(const struct kube_home *home,
                           const struct run_job *job);
json_t *kube_object_notes(const struct kube_home *home,
                          const struct run_job *job);
void kube_object_number(json_t *obj, const char *key, uint64_t n);

/* With name, labels and annotations. */
json_t *kube_object_new(const struct kube_home *home, const struct run_job *job,
                        const char *version, const char *kind);

/* A string that the kubelet leaves as it is: it replaces "$(NAME)" in arguments
 * and environment by the value of that variable, and "$$" by "$". */
json_t *kube_object_literal(const char *text);

/* Let obj go when the Job goes that has this name and uid. */
void kube_object_own(json_t *obj, const char *name, const char *uid);

/*
 * Whether the object (a Job or a pod) is of this store and pool.  Anybody who
 * may make Jobs there can copy what it says.  That does no more than to have it
 * deleted: while we know the uid of a Job nothing else is its like, and after a
 * restart one has started only if its pods ran, which are bound by us alone and
 * need a Secret that went with the first.
 */
bool kube_object_is_ours(const json_t *obj, const struct kube_home *home,
                         struct kube_owner *ret);

/* --- a Service --- */

/* Its tasks look for each other, by the names that a Service gives them. */
static inline bool kube_object_is_gang(const struct run_job *job)
{
	return job->ntasks > 1 || job->req->tasks > 1;
}

json_t *kube_object_service(const struct kube_home *home,
                            const struct run_job *job);

/* --- what is done to them --- */

json_t *kube_object_binding(const char *namespace, const char *pod,
                            const char *uid, const char *node);

/* Body of a DELETE; grace_s < 0: as the object says. */
json_t *kube_object_deletion(const char *uid, int64_t grace_s);

/* PATCH of a pod: it is to end, with its grace, and stay to be looked at. */
json_t *kube_object_leave(const char *uid, const char *why);

/* PATCH of a Job: it has so many indexes. */
json_t *kube_object_indexes(const char *uid, uint32_t n);

#endif
