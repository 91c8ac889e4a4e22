/*
 * run.h - run an attempt of a job whose Job was made with kubectl
 */
#ifndef AISCHEDD_RUN_KUBE_ADOPT_RUN_H
#define AISCHEDD_RUN_KUBE_ADOPT_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "aischedd/run/kube/object/object.h"
#include "aischedd/run/kube/object/pod.h"
#include "aischedd/run/runner.h"
#include "libcommon/err.h"

struct kube;
struct kube_adopt_pod;
struct kube_adoptee;
struct kube_keep;

/* A task of the plan: its node, and the pod that runs the task now. */
struct kube_adopt_slot {
	char *node;
	/* its GPUs, one bit each; 0: not known. Slots of pods that share
	 * ResourceClaims all have those of the one task that they are */
	uint64_t gpus;
	struct kube_adopt_pod *pod; /* NULL: free */
	bool ran;                   /* one of its pods has run */
	bool failed;                /* its pod made the start fail */
};

struct kube_adopt_run {
	uint32_t attempt; /* 0: no attempt */
	bool ordered;     /* start() was called: its nodes are known */
	bool by_claims;   /* its pods get GPUs by ResourceClaims */
	struct kube_adopt_slot *slot;
	uint32_t nslots;
	struct kube_amount most; /* what the job requests for each pod */
	/* the volume claims that the job mounts, as in --mount; or NULL */
	char *mount;
	/* how many times provisioners had failed, before this start, to make
	 * volumes for the claims; UINT32_MAX: not counted yet */
	uint32_t refusals;
	char *wait; /* what its volumes wait for, or NULL */
	int64_t grace_s;
	int64_t since_ms; /* when the attempt began */
	int64_t why_ms;   /* why.h; 0: its pods were never missing */
	bool on;          /* the watch has reported the Job as not suspended */
	bool started;     /* RUN_STARTED was sent */
	bool stop;        /* stop() was called */
	enum stop_why why;
	int64_t stop_ms; /* when we began to stop it; 0: never */
	/* why the attempt could not start; code 0: no such reason */
	struct err fault;
	enum start_fault whose; /* who is to blame for `fault` */
	char *lost;             /* why the attempt cannot continue, or NULL */
	bool taken_back;        /* RUN_TAKEN_BACK was sent */
	struct kube_keep *keep; /* saves its logs; NULL: not begun */
	bool over;              /* the last event of the attempt was reported */
};

/* See runner_ops; kube_adopt_run_start() serves start() and resize(). Return
 * false, and do nothing, if the job was not made from an adopted Job. */
bool kube_adopt_run_start(struct kube *kube, const struct run_job *job);
bool kube_adopt_run_stop(struct kube *kube, uint64_t job, uint32_t attempt,
                         enum stop_why why, int64_t grace);
bool kube_adopt_run_forget(struct kube *kube, uint64_t job, uint32_t attempt);
bool kube_adopt_run_recover(struct kube *kube, const struct kube_owner *id);

void kube_adopt_run_step(struct kube_adoptee *j);
void kube_adopt_run_reset(struct kube_adoptee *j);

#endif
