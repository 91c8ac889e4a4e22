/*
 * keep.c - the logs of pods that have ended, kept before the pods go
 *
 * A log is read as the API has it and goes to a file of log_file.h, a few at a
 * time for all attempts.  When something fails it is read again, from its
 * begin; when that does not help, the end of the job says so and does not
 * wait.  A server that cannot be reached is waited for.
 */
#include "aischedd/run/kube/keep.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/attempt.h"
#include "aischedd/run/kube/client/call.h"
#include "aischedd/run/kube/kube.h"
#include "aischedd/run/kube/log_pods.h"
#include "aischedd/run/log_file.h"
#include "aischedd/run/log_lines.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"

enum {
	READERS = 8,        /* at a time */
	SILENCE_MS = 10000, /* of a node that does not answer */
	WHOLE_MS = 60000,   /* for one log */
	TRIES = 3,
	AGAIN_MAX = 10 /* pods of one task whose logs are kept */
};

/* The log of one pod. */
struct kube_kept {
	TAILQ_ENTRY(kube_kept) of_list;
	struct kube_keep *keep;
	struct log_id id;
	char *pod, *container;
	struct kube_call *call; /* NULL: it waits for its turn */
	struct log_writer *writer;
	struct log_lines lines;
	struct buf text;
	unsigned tries;
	int64_t until_ms;
};

struct kube_keep {
	struct kube *kube;
	struct kube_owner owner;
	unsigned left;
	char *lost; /* why the first that is not kept is not, or NULL */
};

static void kept_free(struct kube_kept *k)
{
	struct kube *kube = k->keep->kube;

	TAILQ_REMOVE(&kube->keep.list, k, of_list);
	if (k->call)
		kube->keep.nreading--;
	log_writer_drop(k->writer);
	buf_free(&k->text);
	free(k->pod);
	free(k->container);
	free(k);
}

/* It is read, or given up: err says why. */
static void finish(struct kube_kept *k, const struct err *err)
{
	struct kube_keep *keep = k->keep;

	if (err && !keep->lost)
		keep->lost =
		    xasprintf("the log of task %" PRIu32 " is not kept: %s",
		              k->id.task, err->text);
	keep->left--;
	kept_free(k);
}

static int on_data(const void *data, size_t len, void *arg, struct err *err)
{
	struct kube_kept *k = arg;

	if (clock_boot_ms() > k->until_ms)
		return err_set(err, ETIMEDOUT, "it takes more than %d s",
		               WHOLE_MS / 1000);
	buf_clear(&k->text);
	if (log_lines_feed(&k->lines, data, len, &k->text, err) < 0)
		return -1;
	return log_writer_add(k->writer, k->text.data, k->text.len, err);
}

static void pump(struct kube *kube);

static void look_again(struct kube *kube, const struct kube_owner *owner)
{
	struct kube_attempt *a = kube_attempt_find(kube, owner);
	struct kube_adoptee *j = kube_adopt_of(kube, owner->job);

	if (a)
		kube_attempt_touch(a);
	if (j)
		kube_adopt_step(j);
}

static void on_done(const struct kube_answer *answer, void *arg)
{
	struct kube_kept *k = arg;
	struct kube_keep *keep = k->keep;
	struct kube *kube = keep->kube;
	struct err err = { 0 };
	int rc = -1;

	kube->keep.nreading--;
	k->call = NULL;
	if (answer->err)
		err = *answer->err;
	else
		rc = log_lines_end(&k->lines, &err);
	if (rc == 0) {
		rc = log_writer_end(k->writer, &err);
		k->writer = NULL;
	}
	/* A broken connection is another's fault, and may be mended. */
	if (rc == 0 || err.code != ECONNRESET || k->tries >= TRIES)
		finish(k, rc < 0 ? &err : NULL);
	pump(kube);
	if (!keep->left)
		look_again(kube, &keep->owner);
}

static int start(struct kube *kube, struct kube_kept *k, struct err *err)
{
	struct buf path = { 0 };

	log_writer_drop(k->writer);
	k->writer = log_writer_new(kube->log.folder, &k->id,
	                           kube->pool->log_limit, err);
	if (!k->writer)
		return -1;
	k->lines = (struct log_lines){ .keep_times = true };
	log_lines_begin(&k->lines);
	k->tries++;
	k->until_ms = clock_boot_ms() + WHOLE_MS;
	kube_log_path(kube, k->pod, k->container, &path);
	kube->keep.nreading++;
	k->call = kube_http_send(
	    kube->http, &(struct kube_request){ .rank = KUBE_READ,
	                                        .path = path.data,
	                                        .relayed = true,
	                                        .silence_ms = SILENCE_MS,
	                                        .data = on_data,
	                                        .done = on_done,
	                                        .arg = k });
	buf_free(&path);
	return 0;
}

/* Begin to read as many as may be. */
static void pump(struct kube *kube)
{
	struct kube_kept *k, *next;
	struct err err;

	for (k = TAILQ_FIRST(&kube->keep.list);
	     k && kube->keep.nreading < READERS; k = next) {
		next = TAILQ_NEXT(k, of_list);
		if (!k->call && start(kube, k, &err) < 0)
			finish(k, &err); /* the tick steps its attempt */
	}
}

/* It still can be asked for. */
static bool has_log(const struct kube *kube, const struct kube_log_pod *p)
{
	return !p->gone && !p->pod->to_files &&
	       kube_nodes_is_up(kube->nodes, p->pod->node);
}

/* Of a task that failed again and again, not all of its pods matter. */
static bool is_among_last(const struct kube_log_pod *list, size_t n, size_t i)
{
	return i + AGAIN_MAX >= n ||
	       list[i + AGAIN_MAX].id.task != list[i].id.task;
}

struct kube_keep *kube_keep_begin(struct kube *kube,
                                  const struct kube_owner *owner)
{
	struct kube_keep *keep = xcalloc(1, sizeof(*keep));
	struct kube_log_pod *list;
	size_t n = kube_log_pods(kube, owner, &list);

	keep->kube = kube;
	keep->owner = *owner;
	for (size_t i = 0; i < n; i++) {
		struct kube_kept *k;

		if (!has_log(kube, &list[i]) || !is_among_last(list, n, i))
			continue;
		k = xcalloc(1, sizeof(*k));
		k->keep = keep;
		k->id = list[i].id;
		k->pod = xstrdup(list[i].pod->name);
		k->container = xstrdup(list[i].pod->container);
		TAILQ_INSERT_TAIL(&kube->keep.list, k, of_list);
		keep->left++;
	}
	free(list);
	pump(kube);
	return keep;
}

bool kube_keep_is_done(const struct kube_keep *keep)
{
	return !keep->left;
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
		if (k->keep != keep)
			continue;
		if (k->call)
			kube_http_cancel(k->call);
		kept_free(k);
	}
	free(keep->lost);
	free(keep);
}
