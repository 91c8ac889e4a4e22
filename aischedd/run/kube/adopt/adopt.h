/*
 * adopt.h - adopt Jobs made with kubectl
 *
 * The runner offers such a Job to the daemon (RUN_ADOPT), which makes a job of
 * it. Then the runner claims the Job with labels that name the daemon and the
 * job. To start the job, it resumes the Job and binds the pods to the nodes of
 * the plan; to stop it, it suspends the Job. The owner stays in control:
 * deleting the Job cancels the job, suspending the Job requeues the job.
 *
 * A pod that waits in a queue by itself (plain.h) goes the same way: to start
 * the job, the runner removes the pod's gate and binds the pod. It cannot be
 * suspended, so to stop the job the runner deletes it.
 *
 * As with our own Jobs, each step compares what is wanted with what the cluster
 * has, and makes the calls that bring the two together.
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
struct kube_space;

struct kube_adoptee {
	struct kube *kube;
	struct kube_space *space; /* NULL until a watch has reported it */
	struct kube_foreign at;   /* the state of the Job; owns its strings */
	/* the watch has reported the Job; false: only adopt() has named it */
	bool seen;
	/* gone: it was deleted; marked: the list being read has not shown it
	 * yet */
	bool gone, marked;
	/* the Job as JSON, if it is to be offered to the daemon: it has no job
	 * yet, or was changed after its job was made; else NULL */
	json_t *obj;
	/* labels of its pods; their terms of podAntiAffinity (peers.h); each
	 * may be NULL */
	json_t *labels, *apart;
	uint64_t user;      /* kube_text_key() of the user named in the Job */
	int64_t offered_ms; /* when obj was offered; 0: not yet */
	bool offering;      /* the daemon is being called with the offer */
	char *refused;      /* why the daemon refused it, or NULL */
	/* Marks (spec_marks.h). asks: those of the Job as last read; "" if the
	 * Job would be refused, NULL while it is not suspended. taken: those of
	 * the job's spec; NULL: unknown. */
	char *asks, *taken;
	bool changing; /* a change was offered and is not answered yet */
	bool lacks;    /* a claim, or template, of its pods does not exist */
	uint64_t job;  /* id of its job; 0: it has no job yet */
	enum job_state state;
	bool withdrawn;               /* RUN_WITHDRAWN was sent */
	unsigned asking[ADOPT_KINDS]; /* ask.c: number of unanswered calls */
	struct kube_adopt_run run;    /* run.c and end.c */
	struct kube_adopt_pods pods;  /* pod.c */
	struct kube_note note;        /* note.c */
};

struct kube_adoption {
	struct map by_uid; /* all adoptees, by the uid of the Job */
	struct map by_job; /* adoptees that have become jobs, by job id */
	bool lacking;      /* some adoptees may lack claims */
	TAILQ_HEAD(, adopt_call) calls;
};

/* Handle what the watch reports about a Job that we did not make. */
void kube_adopt_seen(struct kube_space *space, json_t *obj, bool deleted);
void kube_adopt_news(struct kube_space *space, enum kube_news news);
/* The same for pods that wait in a queue by themselves; after a list the caller
 * steps all. */
void kube_adopt_plain_seen(struct kube_space *space, json_t *pod, bool deleted);
void kube_adopt_plain_news(struct kube *kube, enum kube_news news);
/* Handle that a ResourceClaim or a template of claims was made. */
void kube_adopt_claim_made(struct kube *kube);
void kube_adopt_free(struct kube *kube);

/* Offer the Job to the daemon, or make the calls that it needs now. May free
 * j. */
void kube_adopt_step(struct kube_adoptee *j);
void kube_adopt_step_all(struct kube *kube);

/* Find an adopted Job by its uid, or by the id of its job. Return NULL if there
 * is none. */
struct kube_adoptee *kube_adopt_find(struct kube *kube, const char *owner);
struct kube_adoptee *kube_adopt_of(struct kube *kube, uint64_t job);

/* Update j->at from the object, unless the object is older. */
void kube_adopt_look(struct kube_adoptee *j, json_t *obj);
bool kube_adopt_is_over(const struct kube_adoptee *j);

/* Make the call that claims the Job for this daemon by labels. Returns true if
 * the Job has these labels already. */
bool kube_adopt_claim(struct kube_adoptee *j);

/* Pass the event to the daemon; fills in job and attempt. */
void kube_adopt_tell(struct kube_adoptee *j, struct run_event *ev);

/* See runner_ops. */
bool kube_adopt_told(struct runner *r, const struct adopted *what);
void kube_adopt_explain(struct runner *r, uint64_t job, const char *code,
                        const char *text);

#endif
