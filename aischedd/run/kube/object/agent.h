/*
 * agent.h - jobs whose script runs once, and takes steps (pod/README.md)
 *
 * Such a job has one pod for each of its nodes, and an agent runs in each pod.
 * Pure, except that it makes random keys.
 */
#ifndef AISCHEDD_RUN_KUBE_OBJECT_AGENT_H
#define AISCHEDD_RUN_KUBE_OBJECT_AGENT_H

#include "aischedd/run/kube/object/mount.h"
#include "aischedd/run/kube/object/object.h"
#include "libcommon/buf.h"

/* On a Job: the pod of index 0 runs the script, and its end ends the Job. */
#define KUBE_NOTE_ONCE "aisched.io/once"

#define KUBE_AGENT_DIR "/aisched/bin"
/* Where the program is in the image of the pool's pod_agent_image. */
#define KUBE_AGENT_FILE "/usr/libexec/aisched/aisched-pod"
/* The file of the Secret that tells the pods about the job. */
#define KUBE_AGENT_KEY "pod"

/* Whether the script of the job runs once, with an agent in each pod. */
bool kube_agent_is(const struct kube_home *home, const struct run_job *job);

/* The request of a job with one pod for all tasks of a node. */
struct kube_agent_pods {
	struct run_job job;
	struct request req;
	const char **node;
	struct snap_task *task; /* gpus: of all tasks there */
	uint32_t tasks;         /* of each pod */
};

/* Free it with kube_agent_pods_free(). Fails with EINVAL if nodes have
 * different numbers of tasks: all pods of a Job are alike. */
int kube_agent_pods(const struct run_job *job, struct kube_agent_pods *ret,
                    struct err *err);
void kube_agent_pods_free(struct kube_agent_pods *pods);

/* Add an init container that brings the program into a pod. It resembles this
 * container. */
void kube_agent_install(json_t *pod, const json_t *container,
                        struct kube_volumes *v, const char *image);

/* Append the variables of the script, as shell text. */
void kube_agent_env(struct buf *out, const struct kube_home *home,
                    const struct run_job *job);

/* Returns the text of KUBE_AGENT_KEY, on the heap, with a new key. */
char *kube_agent_file(const struct kube_home *home, const struct run_job *job);

#endif
