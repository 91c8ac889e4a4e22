/*
 * adopt.h - Jobs that somebody made with kubectl
 *
 * Such a Job is offered to the daemon, which makes a job of it, and then
 * claimed: labels say whose it is and which number it has.  It runs when it is
 * no longer suspended and its pods are bound to the nodes of the plan; it is
 * stopped by suspending it.  Its owner's will goes before ours: deleting it
 * cancels the job, suspending it puts the job back into the queue.
 *
 * adopt.c is the Job: offered, claimed, wound up.  adopt_run.c is
 * one attempt, adopt_pod.c its pods, adopt_ask.c the calls.  As with
 * our own Jobs, each step compares what is wanted with what is there.
 */
#ifndef AISCHEDD_RUN_KUBE_ADOPT_H
#define AISCHEDD_RUN_KUBE_ADOPT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "aischedd/run/kube/kube.h"
#include "aischedd/run/kube/note.h"
#include "aischedd/run/kube/object/foreign.h"

enum adopt_ask {
	ADOPT_CLAIM,
	ADOPT_RESUME,
	ADOPT_SUSPEND,
	ADOPT_EXPIRE, /* its time is over */
	ADOPT_DELETE,
	ADOPT_BIND,  /* a pod, as in the next */
	ADOPT_FORCE, /* delete it without waiting for its node */
	ADOPT_KINDS
};

struct adopt_pod {
	TAILQ_ENTRY(adopt_pod) of_list;
	struct kube_adoptee *of;
	struct kube_pod pod;
	struct adopt_slot *slot; /* NULL: it has none */
	bool marked;             /* of before the list that is being read */
	bool gone;               /* kept for how it ended */
	bool counted;            /* as use of its node by others */
	bool binding, forced;    /* asked for, and not refused */
	int64_t gone_ms;         /* since when it is deleted, or 0 */
};

TAILQ_HEAD(adopt_pods, adopt_pod);

/* A place for a pod, and for those that come after it. */
struct adopt_slot {
	char *node;
	struct adopt_pod *pod; /* NULL: it is free */
	bool ran;              /* one of its pods has */
	bool failed;           /* the start did, because of it */
};

/* One attempt of the job. */
struct adopt_run {
	uint32_t attempt; /* 0: there is none */
	bool ordered;     /* we know its nodes */
	struct adopt_slot *slot;
	uint32_t nslots;
	struct kube_amount most; /* of each pod, as was asked for */
	int64_t grace_s;
	int64_t since_ms; /* it was begun */
	bool on;          /* the Job was seen unsuspended */
	bool started;     /* RUN_STARTED was told */
	bool stop;        /* as by stop() */
	enum stop_why why;
	int64_t stop_ms;  /* since when it is taken down; 0: it is not */
	struct err fault; /* why it cannot start; code 0: it can */
	enum start_fault whose;
	char *lost;             /* why it cannot go on, or NULL */
	bool taken_back;        /* was told */
	struct kube_keep *keep; /* its logs; NULL: none is read yet */
	bool over;              /* its last event was told */
};

struct kube_adoptee {
	struct kube *kube;
	struct kube_foreign at; /* texts are its own */
	bool seen;              /* by the watch; else we were told of it */
	bool gone, marked;
	json_t *obj;        /* to be offered; NULL: it is ours, or never */
	int64_t offered_ms; /* 0: not as it is now */
	bool offering;
	char *refused; /* why, or NULL */
	uint64_t job;  /* 0: not taken */
	enum job_state state;
	bool withdrawn; /* was told */
	unsigned asking[ADOPT_KINDS];
	struct adopt_run run;
	struct adopt_pods pods;
	struct kube_note note;
};

/* --- adopt.c --- */

/* What the watch of Jobs says of one that we did not make. */
void kube_adopt_seen(struct kube *kube, json_t *obj, bool deleted);
void kube_adopt_news(struct kube *kube, enum kube_news news);
void kube_adopt_free(struct kube *kube);

/* Look what is to be done, and do it.  May free it. */
void kube_adopt_step(struct kube_adoptee *j);
void kube_adopt_step_all(struct kube *kube);

/* NULL: none.  owner: uid of the Job. */
struct kube_adoptee *kube_adopt_find(struct kube *kube, const char *owner);
struct kube_adoptee *kube_adopt_of(struct kube *kube, uint64_t job);

/* The object is at least as new as what is known. */
void kube_adopt_look(struct kube_adoptee *j, json_t *obj);
bool kube_adopt_is_over(const struct kube_adoptee *j);

/* Write on it whose it is, unless that is there; true: it is. */
bool kube_adopt_claim(struct kube_adoptee *j);

bool kube_adopt_told(struct runner *r, const struct adopted *what);
void kube_adopt_explain(struct runner *r, uint64_t job, const char *code,
                        const char *text);

/* --- adopt_run.c; false: it is none of these jobs --- */

bool kube_adopt_start(struct kube *kube, const struct run_job *job);
bool kube_adopt_stop(struct kube *kube, uint64_t job, uint32_t attempt,
                     enum stop_why why, int64_t grace);
bool kube_adopt_forget(struct kube *kube, uint64_t job, uint32_t attempt);
bool kube_adopt_recover(struct kube *kube, const struct kube_owner *id);

void kube_adopt_run_step(struct kube_adoptee *j);
void kube_adopt_run_reset(struct kube_adoptee *j);

/* --- adopt_end.c --- */

/* It is stopped, or cannot start, or go on. */
bool kube_adopt_is_down(const struct kube_adoptee *j);

/* It cannot start, or go on; the first reason counts. */
void kube_adopt_fail(struct kube_adoptee *j, enum start_fault whose,
                     const char *text);

/* Its Job is suspended, or goes. */
void kube_adopt_take_down(struct kube_adoptee *j);
/* What nobody will say has ended is given up. */
void kube_adopt_fence(struct kube_adoptee *j);
/* What its pods have printed is read, or cannot be. */
bool kube_adopt_is_kept(struct kube_adoptee *j);

void kube_adopt_tell(struct kube_adoptee *j, struct run_event *ev);
/* Nothing of it runs any more, or will. */
void kube_adopt_tell_end(struct kube_adoptee *j);

/* --- adopt_pod.c --- */

/* pod is taken if it is of such a Job, else false. */
bool kube_adopt_pod(struct kube *kube, struct kube_pod *pod, bool deleted);
void kube_adopt_pods_news(struct kube *kube, enum kube_news news);
void kube_adopt_pod_free(struct adopt_pod *p);

struct adopt_pod *kube_adopt_pod_find(struct kube_adoptee *j, const char *uid);
bool kube_adopt_pod_is_alive(const struct adopt_pod *p);
bool kube_adopt_any_alive(const struct kube_adoptee *j);

/* Give its pods the slots that are free. */
void kube_adopt_deal(struct kube_adoptee *j);
/* As use of their nodes by others, when no attempt accounts for them. */
void kube_adopt_count(struct kube_adoptee *j);

/* --- adopt_ask.c --- */

bool kube_adopt_is_asking(const struct kube_adoptee *j);

/* Unless it is asked for already; body is taken. */
void kube_adopt_ask(struct kube_adoptee *j, enum adopt_ask kind, json_t *body);
void kube_adopt_ask_pod(struct adopt_pod *p, enum adopt_ask kind, json_t *body);
void kube_adopt_asks_free(struct kube *kube);

#endif
