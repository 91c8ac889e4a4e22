/*
 * job.h - what a pod knows of its job
 *
 * This data is in a file of the Job's Secret, as JSON that
 * aischedd/run/kube/object/agent.c has written.
 */
#ifndef POD_JOB_H
#define POD_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "libcommon/err.h"
#include "pod/chan.h"

#define POD_JOB_FILE "/aisched/job/pod"
/* A variable with which tests name another file. */
#define POD_JOB_VAR "AISCHED_POD_JOB"

enum { POD_PORT = 6819, POD_PODS_MAX = 4096, POD_NAME_MAX = 160 };

struct pod_job {
	int64_t id;
	char *name; /* of its Job: pod I is called NAME-I.NAME */
	char *host; /* for tests: the address of all pods, which listen at
	               consecutive ports; or NULL */
	int64_t port;
	int64_t pods;
	/* In each pod: */
	int64_t tasks, cpus, mem_mib, gpus;
	int64_t grace; /* seconds from SIGTERM to SIGKILL */
	/* Signal that is sent to steps, signal_after seconds after the pod has
	 * started; 0: none. */
	int64_t signal, signal_after;
	bool signal_first; /* signal steps in the first pod, too */
	uint8_t key[POD_KEY];
};

int pod_job_read(struct pod_job *ret, struct err *err);
void pod_job_free(struct pod_job *job);

/* Write the host name of a pod, by which other pods connect to it. */
void pod_job_node(const struct pod_job *job, int64_t pod,
                  char ret[POD_NAME_MAX]);

/* Returns the index of this pod. */
int64_t pod_job_self(const struct pod_job *job);

/* Connect to the agent of a pod. Tries again for a while, because the name of
 * a pod resolves only some time after it has started. Returns a descriptor,
 * or -1. */
int pod_job_connect(const struct pod_job *job, int64_t pod, struct err *err);

#endif
