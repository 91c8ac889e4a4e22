/*
 * agent.h - jobs whose script runs once, in the first pod, and starts steps
 *
 * Such a job has one pod for each of its nodes, and an agent runs in each pod
 * (pod/README.md). Pure, except that it makes random keys.
 */
#ifndef AISCHEDD_RUN_KUBE_OBJECT_AGENT_H
#define AISCHEDD_RUN_KUBE_OBJECT_AGENT_H

#include "aischedd/run/kube/object/mount.h"
#include "aischedd/run/kube/object/object.h"
#include "libcommon/buf.h"

/* Annotation of a Job: only the pod of index 0 runs the script, and its end
 * ends the Job. */
#define KUBE_NOTE_ONCE "aisched.io/once"

#define KUBE_AGENT_DIR "/aisched/bin"
/* The agent's program in the image pod_agent_image of the pool. */
#define KUBE_AGENT_FILE "/usr/libexec/aisched/aisched-pod"
/* The file in the Secret that tells the agents about the job. */
#define KUBE_AGENT_KEY "pod"

/* Whether the script of the job runs once, with an agent in each pod. */
bool kube_agent_is(const struct kube_home *home, const struct run_job *job);

/* The request of a job with one pod for all tasks of a node. */
struct kube_agent_pods {
	struct run_job job;
	struct request req;
	const char **node;
	/* one for each pod: GPUs and other devices of all tasks there */
	struct snap_task *task;
	uint64_t *devs;
	uint32_t tasks; /* number of tasks of each pod */
};

/* Merge the tasks of each node of a job into one pod. Free ret with
 * kube_agent_pods_free(). Fails with EINVAL if nodes have different numbers of
 * tasks: all pods of a Job are alike. */
int kube_agent_pods(const struct run_job *job, struct kube_agent_pods *ret,
                    struct err *err);
void kube_agent_pods_free(struct kube_agent_pods *pods);

/* Add to the pod an init container that copies the agent's program from the
 * image. It has the resources and securityContext of `container`. */
void kube_agent_install(json_t *pod, const json_t *container,
                        struct kube_volumes *v, const char *image);

/* Append the environment variables of the script, such as SLURM_NNODES, as
 * shell text. */
void kube_agent_env(struct buf *out, const struct kube_home *home,
                    const struct run_job *job);

/* Returns the content of the file KUBE_AGENT_KEY, with a new random key, on the
 * heap. */
char *kube_agent_file(const struct kube_home *home, const struct run_job *job);

#endif
