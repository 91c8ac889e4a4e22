/*
 * ports.h - Services that lead to the ports of jobs (--port)
 *
 * The Service of a job is made before the pods of its first attempt are bound,
 * and is deleted when the job has ended. In between it stays, whatever becomes
 * of the attempts, so its address does, too. It leads to the pod of the first
 * task, found by labels that the pods of all attempts have.
 *
 * No Job owns the Service, as none lasts as long. So a daemon that starts lists
 * these Services in each namespace and reports each by RUN_PORTS; the daemon
 * answers which of them are no longer needed. No Service is made before the
 * Services of its namespace have been listed.
 */
#ifndef AISCHEDD_RUN_KUBE_SPACE_PORTS_H
#define AISCHEDD_RUN_KUBE_SPACE_PORTS_H

#include <stdbool.h>
#include <stdint.h>

#include "aischedd/run/kube/ask.h"
#include "libcommon/err.h"

struct kube;
struct kube_answer;
struct kube_attempt;
struct kube_space;
struct run_job;
struct runner;

/* The Service of a job in a namespace. */
struct kube_ports {
	struct kube *kube;
	struct kube_space *space;
	uint64_t job;
	char *name;
	char *uid; /* NULL: not known */
	/* the Service may exist although its uid is not known: the answer to a
	 * call that makes it did not come, or said that the name is taken */
	bool unsure;
	bool unwanted; /* delete it */
	bool asking;   /* a call about it is unanswered */
	int64_t rest_ms;
};

/* The list of the Services in a namespace. */
struct kube_ports_list {
	bool asking, done;
	struct err why;  /* why it is refused; code 0: it is not */
	int64_t rest_ms; /* no other call before this time */
};

/* Note the Service that an attempt needs, if its job has ports. */
void kube_ports_order(struct kube_attempt *a, const struct run_job *job);

/* Make the Service of attempt a, if it has one that is not made yet. */
void kube_ports_make(struct kube_attempt *a);

/* See runner_ops. */
void kube_ports_none(struct runner *r, uint64_t job, const char *but);

/* List Services and delete those that are not needed, as far as that is due. */
void kube_ports_step(struct kube *kube);

/* Whether the namespace has a Service of a job, or may have one. */
bool kube_ports_used(const struct kube_space *space);

/* Handle the answer to a call about the Service with this name. a: the attempt
 * for which it is made, or NULL. */
void kube_ports_answered(struct kube_space *space, const char *name,
                         struct kube_attempt *a, enum kube_ask_kind kind,
                         const struct kube_answer *answer);
void kube_ports_listed(struct kube_space *space,
                       const struct kube_answer *answer);

/* Forget all Services; they are not deleted. */
void kube_ports_free(struct kube *kube);

#endif
