/*
 * adopt.h - Jobs that somebody made with kubectl
 *
 * Such a Job is offered to the daemon, which makes a job of it, and then
 * claimed: labels say whose it is and which number it has.  It runs when it is
 * no longer suspended and its pods are bound to the nodes of the plan; it is
 * stopped by suspending it.  Its owner's will comes first: deleting the Job
 * cancels the job, suspending it puts the job back into the queue.
 *
 * As with our own Jobs, each step compares what is wanted with what is there.
 */
#ifndef AISCHEDD_RUN_KUBE_ADOPT_H
#define AISCHEDD_RUN_KUBE_ADOPT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "aischedd/run/kube/adopt_ask.h"
#include "aischedd/run/kube/adopt_pod.h"
#include "aischedd/run/kube/adopt_run.h"
#include "aischedd/run/kube/client/watch.h"
#include "aischedd/run/kube/note.h"
#include "aischedd/run/kube/object/foreign.h"
#include "aischedd/run/runner.h"
#include "libcommon/map.h"

struct kube;

struct kube_adoptee {
	struct kube *kube;
	struct kube_foreign at; /* texts are its own */
	bool seen;              /* by the watch; else the daemon told of it */
	bool gone, marked;
	json_t *obj;        /* to be offered; NULL: it is ours, or never */
	int64_t offered_ms; /* 0: not as it is now */
	bool offering;
	char *refused; /* why, or NULL */
	uint64_t job;  /* 0: not taken */
	enum job_state state;
	bool withdrawn;               /* was told */
	unsigned asking[ADOPT_KINDS]; /* adopt_ask.c */
	struct kube_adopt_run run;    /* adopt_run.c, adopt_end.c */
	struct kube_adopt_pods pods;  /* adopt_pod.c */
	struct kube_note note;        /* note.c */
};

struct kube_adoption {
	struct map by_uid; /* all */
	struct map by_job; /* those that are jobs, by number */
	TAILQ_HEAD(, adopt_call) calls;
};

/* What the watch of Jobs says of one that we did not make. */
void kube_adopt_seen(struct kube *kube, json_t *obj, bool deleted);
void kube_adopt_news(struct kube *kube, enum kube_news news);
void kube_adopt_free(struct kube *kube);

/* Look what is to be done, and do it.  May free it. */
void kube_adopt_step(struct kube_adoptee *j);
void kube_adopt_step_all(struct kube *kube);

/* Return NULL if there is none.  owner: uid of the Job. */
struct kube_adoptee *kube_adopt_find(struct kube *kube, const char *owner);
struct kube_adoptee *kube_adopt_of(struct kube *kube, uint64_t job);

/* Take over what the object says, unless that is older than what is known. */
void kube_adopt_look(struct kube_adoptee *j, json_t *obj);
bool kube_adopt_is_over(const struct kube_adoptee *j);

/* Write on it whose it is; returns true if that is there already. */
bool kube_adopt_claim(struct kube_adoptee *j);

/* Tell the daemon; fills in job and attempt. */
void kube_adopt_tell(struct kube_adoptee *j, struct run_event *ev);

/* As runner_ops says. */
bool kube_adopt_told(struct runner *r, const struct adopted *what);
void kube_adopt_explain(struct runner *r, uint64_t job, const char *code,
                        const char *text);

#endif
