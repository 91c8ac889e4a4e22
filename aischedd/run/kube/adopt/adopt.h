/*
 * adopt.h - Jobs that others made with kubectl
 *
 * Such a Job is offered to the daemon, which makes a job of it, and is then
 * claimed with labels that name the daemon and the job. To run it, it is
 * unsuspended and its pods are bound to the nodes of the plan; to stop it, it
 * is suspended. Its owner decides: deleting the Job cancels the job, suspending
 * it puts the job back into the queue.
 *
 * As with our own Jobs, each step compares what is wanted with what is there.
 */
#ifndef AISCHEDD_RUN_KUBE_ADOPT_ADOPT_H
#define AISCHEDD_RUN_KUBE_ADOPT_ADOPT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "aischedd/run/kube/adopt/ask.h"
#include "aischedd/run/kube/adopt/pod.h"
#include "aischedd/run/kube/adopt/run.h"
#include "aischedd/run/kube/client/watch.h"
#include "aischedd/run/kube/note.h"
#include "aischedd/run/kube/object/foreign.h"
#include "aischedd/run/runner.h"
#include "libcommon/map.h"

struct kube;

struct kube_adoptee {
	struct kube *kube;
	struct kube_foreign at; /* owns its strings */
	bool seen;              /* 0: only the daemon has named it */
	bool gone, marked;
	/* the object to offer; NULL: taken, or not to be offered */
	json_t *obj;
	int64_t offered_ms; /* 0: not in its present version */
	bool offering;
	char *refused; /* why it was refused, or NULL */
	char *asks;    /* what it asked for when last seen suspended, or NULL */
	uint64_t job;  /* 0: not taken */
	enum job_state state;
	bool withdrawn;               /* RUN_WITHDRAWN was told */
	unsigned asking[ADOPT_KINDS]; /* ask.c */
	struct kube_adopt_run run;    /* of run.c and end.c */
	struct kube_adopt_pods pods;  /* pod.c */
	struct kube_note note;        /* note.c */
};

struct kube_adoption {
	struct map by_uid; /* all */
	struct map by_job; /* those that are jobs, by job */
	TAILQ_HEAD(, adopt_call) calls;
};

/* Handle what the watch of Jobs reports of a Job that we did not make. */
void kube_adopt_seen(struct kube *kube, json_t *obj, bool deleted);
void kube_adopt_news(struct kube *kube, enum kube_news news);
void kube_adopt_free(struct kube *kube);

/* Compare, and act. May free it. */
void kube_adopt_step(struct kube_adoptee *j);
void kube_adopt_step_all(struct kube *kube);

/* Find by uid of the Job, or by job; return NULL if there is none. */
struct kube_adoptee *kube_adopt_find(struct kube *kube, const char *owner);
struct kube_adoptee *kube_adopt_of(struct kube *kube, uint64_t job);

/* Note what the object says, unless that is older than what is known. */
void kube_adopt_look(struct kube_adoptee *j, json_t *obj);
bool kube_adopt_is_over(const struct kube_adoptee *j);

/* Write our claim on the object; returns true if it is already there. */
bool kube_adopt_claim(struct kube_adoptee *j);

/* Tell the daemon; fills in job and attempt. */
void kube_adopt_tell(struct kube_adoptee *j, struct run_event *ev);

/* See runner_ops. */
bool kube_adopt_told(struct runner *r, const struct adopted *what);
void kube_adopt_explain(struct runner *r, uint64_t job, const char *code,
                        const char *text);

#endif
