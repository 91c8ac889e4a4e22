/*
 * kube_keep.c - the logs of pods that have ended, kept before the pods go
 *
 * A log is read as the API has it and goes to a file of log_file.h, a few at a
 * time for all attempts.  When something fails it is read again, from its
 * begin; when that does not help, the end of the job says so and does not
 * wait.  A server that cannot be reached is waited for.
 */
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube.h"
#include "aischedd/run/kube_call.h"
#include "aischedd/run/kube_log.h"
#include "aischedd/run/log_file.h"
#include "aischedd/run/log_lines.h"
#include "libcommon/mem.h"

enum {
	READERS = 8,        /* at a time */
	SILENCE_MS = 10000, /* of a node that does not answer */
	WHOLE_MS = 60000,   /* for one log */
	TRIES = 3
};

/* The log of one pod. */
struct kept {
	TAILQ_ENTRY(kept) of_list;
	struct kube_keep *keep;
	struct log_id id;
	char *pod;
	struct kube_call *call; /* NULL: it waits for its turn */
	struct log_writer *writer;
	struct log_lines lines;
	struct buf text;
	unsigned tries;
	int64_t until_ms;
};

struct kube_keep {
	struct kube_attempt *attempt;
	unsigned left;
	char *lost; /* why the first that is not kept is not, or NULL */
};

static void kept_free(struct kept *k)
{
	struct kube *kube = k->keep->attempt->kube;

	TAILQ_REMOVE(&kube->keeping, k, of_list);
	if (k->call)
		kube->nreading--;
	log_writer_drop(k->writer);
	buf_free(&k->text);
	free(k->pod);
	free(k);
}

/* It is read, or given up: err says why. */
static void finish(struct kept *k, const struct err *err)
{
	struct kube_keep *keep = k->keep;

	if (err && !keep->lost)
		keep->lost = xasprintf("the log of task %u is not kept: %s",
		                       k->id.task, err->text);
	keep->left--;
	kept_free(k);
}

static int on_data(const void *data, size_t len, void *arg, struct err *err)
{
	struct kept *k = arg;

	if (kube_now_ms() > k->until_ms)
		return err_set(err, ETIMEDOUT, "it takes more than %d s",
		               WHOLE_MS / 1000);
	buf_clear(&k->text);
	if (log_lines_feed(&k->lines, data, len, &k->text, err) < 0)
		return -1;
	return log_writer_add(k->writer, k->text.data, k->text.len, err);
}

static void pump(struct kube *kube);

static void on_done(const struct kube_answer *answer, void *arg)
{
	struct kept *k = arg;
	struct kube_attempt *a = k->keep->attempt;
	struct kube *kube = a->kube;
	struct err err = { 0 };
	int rc = -1;

	kube->nreading--;
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
	if (!a->keep->left)
		kube_attempt_touch(a);
}

static int start(struct kube *kube, struct kept *k, struct err *err)
{
	struct buf path = { 0 };

	log_writer_drop(k->writer);
	k->writer =
	    log_writer_new(kube->logs, &k->id, kube->pool->log_limit, err);
	if (!k->writer)
		return -1;
	k->lines = (struct log_lines){ .keep_times = true };
	log_lines_begin(&k->lines);
	k->tries++;
	k->until_ms = kube_now_ms() + WHOLE_MS;
	kube_log_path(kube, k->pod, &path);
	kube->nreading++;
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
	struct kept *k, *next;
	struct err err;

	for (k = TAILQ_FIRST(&kube->keeping); k && kube->nreading < READERS;
	     k = next) {
		next = TAILQ_NEXT(k, of_list);
		if (!k->call && start(kube, k, &err) < 0)
			finish(k, &err); /* the tick steps its attempt */
	}
}

/* What has run and still can be asked for. */
static bool has_log(const struct kube *kube, const struct kube_task *task)
{
	const struct kube_pod *pod = &task->pod;

	return pod->ran && pod->index >= 0 && !task->gone && !pod->to_files &&
	       kube_nodes_is_up(kube->nodes, pod->node);
}

static void begin(struct kube_attempt *a)
{
	struct kube_keep *keep = xcalloc(1, sizeof(*keep));
	struct kube *kube = a->kube;
	struct kube_task *task;

	keep->attempt = a;
	a->keep = keep;
	TAILQ_FOREACH(task, &a->tasks, of_list) {
		struct kept *k;

		if (!has_log(kube, task) ||
		    kube_task_at(a, (uint32_t)task->pod.index) != task)
			continue;
		k = xcalloc(1, sizeof(*k));
		k->keep = keep;
		k->id = (struct log_id){ a->id.job, a->id.attempt,
			                 (uint32_t)task->pod.index };
		k->pod = xstrdup(task->pod.name);
		TAILQ_INSERT_TAIL(&kube->keeping, k, of_list);
		keep->left++;
	}
	pump(kube);
}

bool kube_attempt_keep(struct kube_attempt *a)
{
	if (!a->keep)
		begin(a);
	return !a->keep->left;
}

const char *kube_attempt_unkept(const struct kube_attempt *a)
{
	return a->keep ? a->keep->lost : NULL;
}

void kube_attempt_keep_free(struct kube_attempt *a)
{
	struct kept *k, *next;

	if (!a->keep)
		return;
	for (k = TAILQ_FIRST(&a->kube->keeping); k; k = next) {
		next = TAILQ_NEXT(k, of_list);
		if (k->keep != a->keep)
			continue;
		if (k->call)
			kube_http_cancel(k->call);
		kept_free(k);
	}
	free(a->keep->lost);
	free(a->keep);
}
