/*
 * keep.c - save the logs of pods before the pods are deleted
 *
 * Each log is written to a file of log_file.h. The logs of ended pods are read,
 * a few at a time for all attempts. The log of a pod that still runs is
 * followed: if the pod is being deleted, its log disappears with it soon after
 * the last line. A call that breaks is repeated from where it broke; if that
 * does not help, the rest of the log is lost, and the job's outcome says so.
 * While the API server cannot be reached, the end of the job waits; while it
 * refuses the calls for a log as busy, or with status 401, for some minutes.
 */
#include "aischedd/run/kube/keep.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/attempt.h"
#include "aischedd/run/kube/client/call.h"
#include "aischedd/run/kube/client/path.h"
#include "aischedd/run/kube/kube.h"
#include "aischedd/run/kube/log_pods.h"
#include "aischedd/run/log_file.h"
#include "aischedd/run/log_lines.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"

enum {
	READERS = 8,     /* most logs of ended pods that are read at a time */
	FOLLOWERS = 256, /* most logs that are followed at a time */
	/* after this time without data, give up reading an ended pod's log */
	SILENCE_MS = 10000,
	FOLLOW_MS = 3600000, /* the same for a followed log */
	WHOLE_MS = 60000,    /* limit for reading a whole log */
	/* how long to wait for further lines of a log whose pod has ended */
	LINGER_MS = 3000,
	/* kube_keep_is_reading() waits this long for the first bytes of a
	 * log */
	FIRST_MS = 1000,
	AGAIN_MS = 1000, /* pause between two calls for a log */
	TRIES = 3,
	/* repeat calls for a log that are refused for this time */
	REFUSED_MS = 300000,
	AGAIN_MAX = 10 /* most pods per task whose logs are saved */
};

/* The log of one pod. */
struct kube_kept {
	TAILQ_ENTRY(kube_kept) of_list;
	struct kube_keep *keep;
	struct log_id id;
	char *namespace, *pod, *container;
	struct kube_call *call; /* NULL: no call in progress */
	bool follow;            /* the call lasts as long as the pod runs */
	bool gave;              /* a part of the log was received */
	bool done;
	struct log_writer *writer;
	struct log_lines lines;
	struct buf text;
	unsigned tries;
	int64_t begun_ms; /* time of the first call; 0: no call yet */
	int64_t again_ms; /* time before which no other call is made */
	/* since when all calls have been refused for the moment; 0: the last
	 * call was not */
	int64_t refused_ms;
	int64_t until_ms; /* deadline of a call that does not follow the log */
	/* when the log of the ended pod was first seen to be silent; 0: the pod
	 * runs, or data has arrived since */
	int64_t over_ms;
};

struct kube_keep {
	struct kube *kube;
	struct kube_owner owner;
	unsigned left;
	/* the reason for which the first of the lost logs could not be saved;
	 * NULL: no log was lost */
	char *lost;
};

static void stop_call(struct kube_kept *k)
{
	struct kube_keeps *keeps = &k->keep->kube->keep;

	k->call = NULL;
	if (k->follow)
		keeps->nfollowing--;
	else
		keeps->nreading--;
}

static void kept_free(struct kube_kept *k)
{
	TAILQ_REMOVE(&k->keep->kube->keep.list, k, of_list);
	if (k->call) {
		kube_http_cancel(k->call);
		stop_call(k);
	}
	log_writer_drop(k->writer);
	buf_free(&k->text);
	free(k->namespace);
	free(k->pod);
	free(k->container);
	free(k);
}

/* End the file of a log. err: NULL if the log was read to its end, else why the
 * rest is given up; what was read so far stays in the file. */
static void finish(struct kube_kept *k, const struct err *err)
{
	struct kube_keep *keep = k->keep;
	struct err failed;

	if (!k->gave && err)
		log_writer_drop(k->writer);
	else if (k->writer && log_writer_end(k->writer, &failed) < 0)
		err = &failed;
	k->writer = NULL;
	k->done = true;
	if (err && !keep->lost)
		keep->lost = xasprintf(
		    "the log of task %" PRIu32 " is not kept%s: %s", k->id.task,
		    k->gave ? " to its end" : "", err->text);
	keep->left--;
}

static int on_data(const void *data, size_t len, void *arg, struct err *err)
{
	struct kube_kept *k = arg;

	if (!k->follow && clock_boot_ms() > k->until_ms)
		return err_set(err, ETIMEDOUT, "it takes more than %d s",
		               WHOLE_MS / 1000);
	k->over_ms = 0; /* data still arrives */
	buf_clear(&k->text);
	if (log_lines_feed(&k->lines, data, len, &k->text, err) < 0)
		return -1;
	k->gave = !log_writer_add(k->writer, k->text.data, k->text.len, err);
	return k->gave ? 0 : -1;
}

static void look_again(struct kube *kube, const struct kube_owner *owner)
{
	struct kube_attempt *a = kube_attempt_find(kube, owner);
	struct kube_adoptee *j = kube_adopt_of(kube, owner->job);

	if (a)
		kube_attempt_touch(a);
	if (j)
		kube_adopt_step(j);
}

/* Note the failure of a call for a log, if it failed. A call that was refused
 * because the API server was busy, or could not check the credentials, counts
 * as no try. */
static void count_try(struct kube_kept *k, const struct kube_answer *answer,
                      const struct err *err)
{
	bool refused =
	    err->code && (answer->code == 429 || answer->code == 401);

	k->again_ms = clock_boot_ms() + AGAIN_MS;
	if (!refused) {
		k->refused_ms = 0;
		k->tries += err->code != 0;
	} else if (!k->refused_ms) {
		k->refused_ms = clock_boot_ms();
	}
}

/* Whether a failed call for a log is worth repeating. */
static bool may_help(const struct kube_kept *k, const struct err *err)
{
	if (k->refused_ms)
		return clock_boot_ms() - k->refused_ms < REFUSED_MS;
	/* A call for a followed log is repeated unless access is denied or the
	 * disk is full; a call for another log, only if the connection
	 * broke. */
	return k->tries < TRIES && (k->follow || err->code == ECONNRESET) &&
	       err->code != EPERM && err->code != EACCES && err->code != ENOSPC;
}

static void on_done(const struct kube_answer *answer, void *arg)
{
	struct kube_kept *k = arg;
	struct kube_keep *keep = k->keep;
	struct kube *kube = keep->kube;
	struct err err = { 0 };

	if (answer->err)
		err = *answer->err;
	else
		log_lines_end(&k->lines, &err);
	count_try(k, answer, &err);
	stop_call(k);
	if (k->gave && (err.code == ENOENT || err.code == ENODATA))
		finish(k, NULL); /* it was followed until its pod was deleted */
	else if (err.code && !may_help(k, &err))
		finish(k, &err);
	else if (!err.code && !k->follow)
		finish(k, NULL);
	kube_keep_step(kube);
	if (!keep->left)
		look_again(kube, &keep->owner);
}

static int begin(struct kube *kube, struct kube_kept *k, struct err *err)
{
	if (k->writer) {
		log_lines_begin(&k->lines);
		return 0;
	}
	k->begun_ms = clock_boot_ms();
	k->writer = log_writer_new(kube->log.folder, &k->id,
	                           kube->pool->log_limit, err);
	k->lines = (struct log_lines){ .keep_times = true };
	log_lines_begin(&k->lines);
	return k->writer ? 0 : -1;
}

static void ask(struct kube *kube, struct kube_kept *k, bool follow)
{
	int64_t since = log_lines_since(&k->lines);
	struct buf path = { 0 };

	k->follow = follow;
	k->until_ms = clock_boot_ms() + WHOLE_MS;
	kube_log_path(k->namespace, k->pod, k->container, since, &path);
	if (follow) {
		kube_path_query(&path, "follow", "true");
		kube->keep.nfollowing++;
	} else {
		kube->keep.nreading++;
	}
	k->call = kube_http_send(
	    kube->http, &(struct kube_request){
			    .rank = KUBE_READ,
			    .path = path.data,
			    .relayed = true,
			    .silence_ms = follow ? FOLLOW_MS : SILENCE_MS,
			    .data = on_data,
			    .done = on_done,
			    .arg = k });
	buf_free(&path);
}

/* --- make and end calls for logs --- */

/* Whether the log of an ended pod has been silent for LINGER_MS, although its
 * call is still open. */
static bool lingers(struct kube_kept *k)
{
	int64_t now = clock_boot_ms();

	if (!k->over_ms)
		k->over_ms = now;
	return now - k->over_ms > LINGER_MS;
}

/* Make or end the call for one log. pod: the pod of the log; NULL if the pod is
 * gone. */
static void step(struct kube *kube, struct kube_kept *k,
                 const struct kube_pod *pod)
{
	bool over = !pod || kube_pod_is_over(pod);
	struct err err;

	if (k->call && k->follow && over && lingers(k)) {
		kube_http_cancel(k->call);
		stop_call(k);
	}
	if (k->call ||
	    ((!over || k->refused_ms) && clock_boot_ms() < k->again_ms))
		return;
	err_set(&err, ENOENT, "its pod is gone");
	if (!pod)
		finish(k, k->gave ? NULL : &err);
	else if (over ? kube->keep.nreading >= READERS
	              : kube->keep.nfollowing >= FOLLOWERS)
		return;
	else if (begin(kube, k, &err) < 0)
		finish(k, &err);
	else
		ask(kube, k, !over);
}

static const struct kube_pod *find(const struct kube_log_pod *list, size_t n,
                                   const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!list[i].gone && !strcmp(list[i].pod->name, name))
			return list[i].pod;
	return NULL;
}

void kube_keep_step(struct kube *kube)
{
	const struct kube_keep *keep = NULL;
	struct kube_log_pod *list = NULL;
	struct kube_kept *k;
	size_t n = 0;

	/* The logs of one attempt are adjacent in the list. */
	TAILQ_FOREACH(k, &kube->keep.list, of_list) {
		if (k->done)
			continue;
		if (k->keep != keep) {
			keep = k->keep;
			free(list);
			n = kube_log_pods(kube, &keep->owner, &list);
		}
		step(kube, k, find(list, n, k->pod));
	}
	free(list);
}

/* --- choose the pods whose logs are saved --- */

/* Whether the pod's log can be read from its node. */
static bool has_log(const struct kube *kube, const struct kube_log_pod *p)
{
	return !p->gone && !p->pod->to_files &&
	       kube_nodes_is_up(kube->nodes, p->pod->node);
}

/* Whether entry i is among the last AGAIN_MAX logs of its task: earlier ones of
 * a task that failed again and again are not saved. */
static bool is_among_last(const struct kube_log_pod *list, size_t n, size_t i)
{
	return i + AGAIN_MAX >= n ||
	       list[i + AGAIN_MAX].id.task != list[i].id.task;
}

static bool is_known(const struct kube_keep *keep, const char *pod)
{
	const struct kube_kept *k;

	TAILQ_FOREACH(k, &keep->kube->keep.list, of_list)
		if (k->keep == keep && !strcmp(k->pod, pod))
			return true;
	return false;
}

struct kube_keep *kube_keep_new(struct kube *kube,
                                const struct kube_owner *owner)
{
	struct kube_keep *keep = xcalloc(1, sizeof(*keep));

	keep->kube = kube;
	keep->owner = *owner;
	return keep;
}

void kube_keep_add(struct kube_keep *keep, bool all)
{
	struct kube *kube = keep->kube;
	struct kube_log_pod *list;
	size_t n = kube_log_pods(kube, &keep->owner, &list), added = 0;

	for (size_t i = 0; i < n; i++) {
		struct kube_kept *k;

		if ((!all && !list[i].pod->deleting) ||
		    !has_log(kube, &list[i]) || !is_among_last(list, n, i) ||
		    is_known(keep, list[i].pod->name))
			continue;
		k = xcalloc(1, sizeof(*k));
		k->keep = keep;
		k->id = list[i].id;
		k->namespace = xstrdup(list[i].pod->namespace);
		k->pod = xstrdup(list[i].pod->name);
		k->container = xstrdup(list[i].pod->container);
		TAILQ_INSERT_TAIL(&kube->keep.list, k, of_list);
		keep->left++;
		added++;
	}
	free(list);
	if (added)
		kube_keep_step(kube);
}

bool kube_keep_is_done(const struct kube_keep *keep)
{
	return !keep->left;
}

bool kube_keep_is_reading(const struct kube_keep *keep)
{
	int64_t now = clock_boot_ms();
	const struct kube_kept *k;

	TAILQ_FOREACH(k, &keep->kube->keep.list, of_list)
		if (k->keep == keep && !k->done && !k->gave &&
		    (!k->begun_ms || now - k->begun_ms < FIRST_MS))
			return false;
	return true;
}

const char *kube_keep_lost(const struct kube_keep *keep)
{
	return keep ? keep->lost : NULL;
}

void kube_keep_free(struct kube_keep *keep)
{
	struct kube_kept *k, *next;

	if (!keep)
		return;
	for (k = TAILQ_FIRST(&keep->kube->keep.list); k; k = next) {
		next = TAILQ_NEXT(k, of_list);
		if (k->keep == keep)
			kept_free(k);
	}
	free(keep->lost);
	free(keep);
}
