/*
 * kube.h - the runner of a cluster, as its own files see it
 *
 * kube.c hears: it watches nodes, pods and Jobs, and gives each to whom it
 * concerns: nodes.c, pods.c, jobs.c.  job.c acts: an
 * attempt (attempt.c) looks at what is wanted of it (slot.c) and at
 * what the cluster has (look.c), and asks (ask.c) for what is missing
 * (make.c) or for its end (end.c); whatever happens, it is asked
 * again and looks again.  recover.c finds out what is there when the
 * daemon starts.
 *
 * Calls change nothing here but by their answers and by what watches tell, and
 * only the holder of the Lease makes any.
 */
#ifndef AISCHEDD_RUN_KUBE_KUBE_H
#define AISCHEDD_RUN_KUBE_KUBE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "aischedd/run/kube/client/http.h"
#include "aischedd/run/kube/client/watch.h"
#include "aischedd/run/kube/drain.h"
#include "aischedd/run/kube/lease.h"
#include "aischedd/run/kube/nodes.h"
#include "aischedd/run/kube/object/object.h"
#include "aischedd/run/kube/object/pod.h"
#include "aischedd/run/runner.h"
#include "libcommon/map.h"

struct event;
struct event_base;
struct kube;
struct kube_adoptee;

/* A pod of a Job of ours. */
struct kube_task {
	TAILQ_ENTRY(kube_task) of_list;
	struct kube_pod pod;
	struct kube_owner owner;
	struct kube_attempt *attempt; /* NULL: nobody's any more */
	bool marked;  /* of before the list that is being read */
	bool counted; /* as use of its node by others */
	bool gone;    /* kept for how it ended */
	bool binding, leaving, forced; /* asked for, and not refused */
	int64_t gone_ms; /* since when it is deleted and not gone, or 0 */
};

TAILQ_HEAD(kube_tasks, kube_task);

/* A Secret that tasks of an array share. */
struct kube_shared {
	struct kube *kube;
	char *name;
	unsigned users; /* attempts, and Jobs that are to stay */
	bool there;     /* for all we know */
	bool asking;    /* for it, or that it goes */
};

/* A Job of ours, as the watch tells. */
struct job_seen {
	struct kube_shared *shared; /* or NULL */
	char *name, *uid;
	char *queue; /* if its pods are to find each other; else NULL */
	struct kube_owner owner;
	uint32_t indexes, tasks;         /* now; that it was started with */
	uint32_t replace;                /* pods of each index, if they fail */
	bool marked, deleting, removing; /* by whomever; asked by us */
	int64_t rest_ms; /* its removal was refused: not before then */
};

/* One task of a job as it is wanted. */
struct slot {
	char *node;
	uint32_t index; /* of the Job */
	bool seen;      /* its pod was there */
	bool failed;    /* the start did, because of it */
	char *lost; /* why its pod ended for no reason of its own, or NULL */
};

enum ask_kind {
	ASK_JOB,
	ASK_LOOK, /* at the Job that is there already */
	ASK_SECRET,
	ASK_UNSHARE, /* delete a Secret that was shared */
	ASK_SERVICE,
	ASK_INDEXES,
	ASK_BIND,
	ASK_LEAVE,
	ASK_DELETE, /* the Job, of an attempt that does not end */
	ASK_FORCE,  /* delete a pod without waiting for its node */
	ASK_REMOVE, /* the Job of nobody */
	ASK_WHY,    /* the cluster makes no pods of some Jobs */
	ASK_KINDS
};

/* Refused calls that are not those of a start are made again after this. */
enum { KUBE_REST_MS = 5000 };

/* Why calls of a kind are not allowed; code 0: they are. */
struct refusal {
	struct err err;
	int64_t ms; /* the last time */
};

/* A call under way. */
struct ask {
	TAILQ_ENTRY(ask) of_list;
	struct kube *kube;
	enum ask_kind kind;
	struct kube_owner owner;
	char *of; /* uid of the pod, name of the Job; or NULL */
};

TAILQ_HEAD(asks, ask);

struct kube_attempt {
	TAILQ_ENTRY(kube_attempt) of_touched; /* where touched */
	bool touched;
	struct kube *kube;
	struct kube_owner id;
	char name[KUBE_NAME_SIZE];
	char *uid; /* of its Job; NULL: not known */
	struct kube_tasks tasks;
	struct map at; /* of tasks: by index, the one that counts */

	bool ordered; /* we know what it is to be: start() was called */
	json_t *job, *secret, *service; /* to be made; NULL: they are */
	struct kube_shared *shared;     /* what secret is; NULL: its own */
	struct slot *slot;
	uint32_t nslots;
	uint32_t indexes;  /* that the slots need */
	uint32_t have;     /* that the Job has */
	uint32_t resize;   /* of the last resize() */
	bool resizing;     /* which is not answered yet */
	uint32_t replace;  /* so many pods that fail, before all end */
	uint32_t replaced; /* that was told */
	int64_t grace_s;
	int64_t since_ms; /* it was begun; 0: not yet */
	int64_t waits_ms; /* since when an image cannot be had; 0: it can */
	int64_t why_ms;   /* when to ask next why it has no pods; 0: unknown */
	int64_t rest_ms;  /* nothing is asked before then */
	bool noted;       /* RUN_NOTED was told, with a text */

	unsigned asking[ASK_KINDS];
	bool job_gone;    /* it was there and is not */
	bool started;     /* RUN_STARTED was told */
	bool stop;        /* as by stop() */
	int64_t stop_ms;  /* since when it is taken down; 0: it is not */
	bool ending;      /* a task failed: the others are ended */
	struct err fault; /* why it cannot start; code 0: it can */
	enum start_fault whose;
	struct kube_keep *keep; /* its logs; NULL: it has not ended yet */
	bool over;              /* its last event was told */
	bool forgotten;         /* goes as soon as nothing is asked */
};

/* Calls about Jobs that others made, and Events on them, under way. */
TAILQ_HEAD(adopt_calls, adopt_call);
TAILQ_HEAD(sayings, saying);

enum { SEE_NODES, SEE_PODS, SEE_JOBS, SEE_N };

struct kube {
	struct runner runner;
	struct event_base *base;
	const struct conf *conf;
	const struct conf_pool *pool;
	struct kube_home home;
	char *store, *lease_name;
	run_event_fn *fn;
	void *arg;

	struct kube_http *http;
	struct kube_lease *lease;
	struct kube_nodes *nodes;
	struct kube_watch *watch[SEE_N];
	bool synced[SEE_N];
	struct err
	    blind[SEE_N]; /* why a watch does not work; code 0: it does */
	struct refusal refusal[ASK_KINDS];
	struct err old; /* why the version will not do; code 0: it will */
	bool version_known, version_asked;
	int64_t version_ms; /* when to ask for it again, if it will not do */
	struct event *tick, *soon;

	struct map attempts;                /* by job and attempt */
	TAILQ_HEAD(, kube_attempt) touched; /* are to look again */
	struct map pods;         /* of ours, by uid: struct kube_task */
	struct map others;       /* by uid: struct other of pods.c */
	struct map jobs;         /* by name: struct job_seen */
	struct map shared;       /* by name: struct kube_shared */
	struct kube_tasks loose; /* tasks without attempt */
	struct asks asks;

	struct map adoptees; /* Jobs that others made, by uid */
	struct map adopted;  /* those that are jobs, by number */
	struct adopt_calls adopt_calls;
	struct sayings sayings;
	unsigned nsayings;
	struct map drains; /* nodes of drain.c, by name */
	struct drain_calls drain_calls;
	struct err undrained; /* why a node is not cordoned; code 0: all are */
	int64_t why_ms;       /* why.c asks, but not before then */
	struct err mute; /* why Events cannot be written; code 0: they can */
	char *logs;      /* the folder of those that are kept */
	TAILQ_HEAD(, run_log) logs_read; /* somebody reads them now */
	TAILQ_HEAD(, kept) keeping;      /* or will be */
	unsigned nreading;               /* of those */

	/* recover(): what is to be answered, until it can be. */
	uint64_t *want_job;
	uint32_t *want_attempt;
	size_t nwant;
	bool recovered;

	struct buf lacks;            /* what shortcomings() returned */
	struct buf told, told_lacks; /* trouble that was told, and lacks */
};

static inline struct kube *kube_of(struct runner *r)
{
	return (struct kube *)(void *)((char *)r -
	                               offsetof(struct kube, runner));
}

/* --- pods.c --- */

/* What the watch of all pods says; obj is NULL where news have none. */
void kube_pods_news(struct kube *kube, enum kube_news news, json_t *obj);
void kube_pods_free(struct kube *kube);

/* Its node is used by it, unless its attempt is accounted for otherwise. */
void kube_task_count(struct kube *kube, struct kube_task *task);

/* Of one that is loose. */
void kube_task_free(struct kube *kube, struct kube_task *task);

/* --- jobs.c --- */

void kube_jobs_news(struct kube *kube, enum kube_news news, json_t *obj);
void kube_jobs_free(struct kube *kube);

/* --- kube.c --- */

/* What holds the pool up is told when it begins, changes and is over. */
void kube_tell_trouble(struct kube *kube);

/* --- attempt.c --- */

uint64_t kube_key(uint64_t job, uint32_t attempt);
uint64_t kube_text_key(const char *text);

struct kube_attempt *kube_attempt_find(struct kube *kube,
                                       const struct kube_owner *id);
struct kube_attempt *kube_attempt_new(struct kube *kube,
                                      const struct kube_owner *id);
void kube_attempt_free(struct kube_attempt *a);

/* It looks again, once, when all that has come by now was heard. */
void kube_attempt_touch(struct kube_attempt *a);

/* The objects that are yet to be made. */
void kube_attempt_drop_orders(struct kube_attempt *a);

/* Its Job is known, and so, which pods are its own. */
void kube_attempt_set_uid(struct kube_attempt *a, const char *uid);

/* A loose pod that says it is of this attempt: whether its Job made it. */
void kube_attempt_link(struct kube_attempt *a, struct kube_task *task);

/* One of its pods is no more. */
void kube_attempt_lose(struct kube_attempt *a, struct kube_task *task);

bool kube_attempt_is_asking(const struct kube_attempt *a);
bool kube_attempt_any_alive(struct kube_attempt *a);

/* NULL: it has no pod (yet, or any more). */
struct kube_task *kube_task_at(struct kube_attempt *a, uint32_t index);
bool kube_task_is_bound(const struct kube_task *task);

/* What it ran ended badly, and not because it was told to. */
bool kube_task_has_failed(const struct kube_task *task);

/* Of those the one that decides, if they are too many: the first or, where
 * some were replaced, the last; NULL: there is none. */
struct kube_task *kube_attempt_failed(struct kube_attempt *a, uint32_t *ret_n);

/* It holds its node. */
bool kube_task_is_alive(const struct kube_task *task);

/* It was deleted for good, and nobody who could say that it has ended is
 * there: the object goes with its Job. */
bool kube_task_is_given_up(const struct kube_task *task);

/* Why a pod is gone that was not to go. */
const char *kube_task_loss(const struct kube_attempt *a,
                           const struct kube_task *task);

/* --- slot.c --- */

void kube_slots_free(struct slot *slot, uint32_t n);

/* The first reason counts. */
void kube_slot_lose(struct slot *slot, const char *pod, const char *why);

/* NULL: no task is to be the pod of that index. */
struct slot *kube_slot_at(struct kube_attempt *a, uint32_t index);

/* Its tasks are to be where job says; pods that are there stay. */
void kube_attempt_set_slots(struct kube_attempt *a, const struct run_job *job);

/* What is not wanted any more ends; told when it has. */
void kube_attempt_shrink(struct kube_attempt *a);

/* --- look.c --- */

struct kube_look {
	uint32_t idle, alive; /* tasks that have not run; that hold a node */
	bool bad;             /* one has failed, or is lost */
	int64_t start;        /* of the last that started, or 0 */
};

struct kube_look kube_attempt_look(struct kube_attempt *a);

/* --- make.c --- */

void kube_attempt_make(struct kube_attempt *a);

/*
 * Its pods, all of which run, are to find each other by name: if they have to,
 * and cannot yet.  Not sooner: for each pod that gets an address meanwhile, the
 * cluster would write down the addresses of all.
 */
void kube_attempt_publish(struct kube_attempt *a);

/* All of its pods are there, or were. */
bool kube_attempt_is_made(struct kube_attempt *a);

/* All of them or none: the first is bound when the last is there. */
void kube_attempt_bind(struct kube_attempt *a);

/* The answer to a call of ask.c. */
void kube_attempt_answered(struct kube_attempt *a, enum ask_kind kind,
                           struct kube_task *task,
                           const struct kube_answer *answer);

/* --- why.c --- */

/* Its Job is there, and some of its pods are not: ask why, now and then, and
 * for all at once. */
void kube_attempt_ask_why(struct kube_attempt *a);

/* The answer; NULL: there is none. */
void kube_told_why(struct kube *kube, const json_t *events);

/* --- end.c --- */

/* Its pods end, with their grace. */
void kube_task_leave(struct kube_attempt *a, struct kube_task *task,
                     const char *why);
void kube_attempt_take_down(struct kube_attempt *a);

/* Of a node that is lost, pods stay: their end is ours to say. */
void kube_attempt_fence(struct kube_attempt *a);

void kube_attempt_tell(struct kube_attempt *a, struct run_event *ev);

/* Say what holds it up; NULL: nothing any more. */
void kube_attempt_note(struct kube_attempt *a, const char *text);

/* So many of its pods have failed so far, the last of them this. */
void kube_attempt_tell_replaced(struct kube_attempt *a, uint32_t n,
                                const struct kube_task *last);

/* It cannot start; the first reason counts. */
void kube_attempt_fail(struct kube_attempt *a, enum start_fault whose,
                       const char *text);

/* Nothing of it runs any more, or will. */
void kube_attempt_tell_end(struct kube_attempt *a);

/* --- job.c --- */

/* Look what is to be done, and do it.  May free it. */
void kube_attempt_step(struct kube_attempt *a);

void kube_job_start(struct runner *r, const struct run_job *job);
void kube_job_resize(struct runner *r, const struct run_job *job);
void kube_job_stop(struct runner *r, uint64_t job, uint32_t attempt,
                   enum stop_why why, int64_t grace);
void kube_job_forget(struct runner *r, uint64_t job, uint32_t attempt);

/* --- ask.c --- */

/* Events about Jobs of which no pods can be made. */
void kube_ask_why(struct kube *kube);

/* body is taken; of: see struct ask; a may be NULL for ASK_REMOVE. */
void kube_ask_job(struct kube_attempt *a, enum ask_kind kind, json_t *body);
void kube_ask_pod(struct kube_attempt *a, enum ask_kind kind,
                  const struct kube_task *task, json_t *body);
void kube_ask_remove(struct kube *kube, struct job_seen *job);

/* It could not be; a sweep asks again. */
void kube_job_remove_later(struct job_seen *job);

/* Of a, or (NULL) that it goes. */
void kube_ask_shared(struct kube_shared *shared, struct kube_attempt *a);
void kube_asks_free(struct kube *kube);

/* --- version.c --- */

/* If it is not known yet, or was too old. */
void kube_version_ask(struct kube *kube);

/* --- shared.c --- */

/* One user more, or less: when there is none it goes. */
struct kube_shared *kube_shared_get(struct kube *kube, const char *name);
void kube_shared_put(struct kube_shared *shared); /* NULL is fine */

/* When recover() has been answered: what is there for nobody goes. */
void kube_shared_recall(struct kube *kube);

/* a, which uses it, needs it there. */
void kube_shared_make(struct kube_attempt *a);

/* The Job is to go, and is no user any more: true when its Secret is on its
 * way out, after which kube_shared_gone() sees to the Job. */
bool kube_shared_goes_first(struct job_seen *job);

/* The answers to kube_ask_shared(); gone() may free it. */
void kube_shared_made(struct kube_shared *shared, const struct err *err);
void kube_shared_gone(struct kube_shared *shared, const struct err *err);

/* When the attempts and Jobs are about to be. */
void kube_shared_free(struct kube *kube);

/* --- recover.c --- */

void kube_recover(struct runner *r, size_t n, const uint64_t *job,
                  const uint32_t *attempt);

/* Answer recover() if that can be done now. */
void kube_try_recover(struct kube *kube);

/* Remove the Jobs that nobody knows, or one if it is such a one. */
void kube_sweep_one(struct kube *kube, struct job_seen *job);
void kube_sweep(struct kube *kube);

#endif
