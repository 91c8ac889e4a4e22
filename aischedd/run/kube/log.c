/* log.c - read the logs of containers while they run */
#include "aischedd/run/kube/log.h"

#include <event2/event.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "aischedd/run/kube/client/call.h"
#include "aischedd/run/kube/client/path.h"
#include "aischedd/run/kube/kube.h"
#include "aischedd/run/kube/log_pods.h"
#include "aischedd/run/log_lines.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"

enum {
	/* a followed log is requested again after this long without data */
	SILENCE_MS = 3600000,
	/* a log that is not followed is given up after this long without
	 * data */
	NODE_MS = 10000,
	PAUSE_MS = 1000, /* pause between two requests */
	/* how long to wait for further lines of a log whose pod has ended */
	LINGER_MS = 3000
};

struct run_log {
	TAILQ_ENTRY(run_log) of_list;
	struct kube *kube;
	struct log_id id;
	bool follow;
	struct log_lines *lines;
	struct run_reader reader;
	struct kube_call *call; /* NULL: no call in progress */
	/* the call reads the log to its end, without following it */
	bool last;
	bool paused;
	struct buf text;
	int64_t again_ms; /* time before which no other call is made */
	/* when the log of the ended pod was first seen to be silent; 0: the pod
	 * runs, or data has arrived since */
	int64_t over_ms;
};

void kube_log_path(const char *namespace, const char *pod,
                   const char *container, int64_t since, struct buf *path)
{
	time_t t = since;
	struct tm tm;
	char text[32];

	buf_puts(path, "/api/v1/namespaces");
	kube_path_name(path, namespace);
	buf_puts(path, "/pods");
	kube_path_name(path, pod);
	buf_puts(path, "/log");
	kube_path_query(path, "container", container);
	kube_path_query(path, "timestamps", "true");
	if (since < 0)
		return;
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&t, &tm));
	kube_path_query(path, "sinceTime", text);
}

static void log_free(struct run_log *log)
{
	TAILQ_REMOVE(&log->kube->log.readers, log, of_list);
	if (log->call)
		kube_http_cancel(log->call);
	buf_free(&log->text);
	free(log);
}

static void end(struct run_log *log, const struct err *err)
{
	struct run_reader reader = log->reader;

	log_free(log);
	reader.end(err, reader.arg);
}

/* End the reading with ESTALE, as the pod was deleted before its whole log was
 * read. */
static void end_stale(struct run_log *log)
{
	struct err err;

	err_set(&err, ESTALE, "the pod is gone");
	end(log, &err);
}

/* Returns the pod whose log is read; NULL: the pod is gone. */
static const struct kube_pod *pod_of(const struct run_log *log)
{
	const struct kube_owner owner = { log->id.job, log->id.attempt };
	const struct kube_pod *pod = NULL;
	struct kube_log_pod *list;
	size_t n = kube_log_pods(log->kube, &owner, &list);

	for (size_t i = 0; i < n; i++)
		if (!log_id_cmp(&list[i].id, &log->id) && !list[i].gone)
			pod = list[i].pod;
	free(list);
	return pod;
}

static int on_data(const void *data, size_t len, void *arg, struct err *err)
{
	struct run_log *log = arg;

	log->over_ms = 0; /* data still arrives */
	buf_clear(&log->text);
	if (log_lines_feed(log->lines, data, len, &log->text, err) < 0)
		return -1;
	if (log->text.len)
		log->reader.data(log->text.data, log->text.len,
		                 log->reader.arg);
	return 0;
}

/* Whether the log may be readable later. */
static bool may_help(const struct err *err)
{
	return err->code != EPERM && err->code != EACCES;
}

static void on_done(const struct kube_answer *answer, void *arg)
{
	struct run_log *log = arg;
	struct err err = { 0 };

	log->call = NULL;
	if (answer->err)
		err = *answer->err;
	else
		log_lines_end(log->lines, &err);
	if (err.code == ENOENT || (log->last && log->follow && err.code))
		end_stale(log);
	else if (log->last || (err.code && !may_help(&err)))
		end(log, err.code ? &err : NULL);
	/* the container has ended, or the connection broke: step() looks at the
	 * pod */
	else
		log->again_ms = clock_boot_ms() + PAUSE_MS;
}

static void ask(struct run_log *log, const struct kube_pod *pod)
{
	int64_t since = log_lines_since(log->lines);
	struct buf path = { 0 };

	kube_log_path(pod->namespace, pod->name, pod->container, since, &path);
	log->last = !log->follow || kube_pod_is_over(pod);
	if (!log->last)
		kube_path_query(&path, "follow", "true");
	log_lines_begin(log->lines);
	log->call = kube_http_send(
	    log->kube->http, &(struct kube_request){
				 .rank = KUBE_READ,
				 .path = path.data,
				 .relayed = true,
				 .silence_ms = log->last ? NODE_MS : SILENCE_MS,
				 .data = on_data,
				 .done = on_done,
				 .arg = log });
	if (log->paused)
		kube_http_pause(log->call, true);
	buf_free(&path);
}

/* Whether the log of an ended pod has been silent for LINGER_MS, although its
 * call is still open. */
static bool lingers(struct run_log *log)
{
	int64_t now = clock_boot_ms();

	if (!log->over_ms || log->paused)
		log->over_ms = now;
	return now - log->over_ms > LINGER_MS;
}

static void step(struct run_log *log)
{
	const struct kube_pod *pod = pod_of(log);
	bool over = pod && kube_pod_is_over(pod);

	if (!pod)
		end_stale(log);
	else if (log->call && over && !log->last && lingers(log))
		end_stale(log);
	else if (!log->call && (over || clock_boot_ms() >= log->again_ms))
		ask(log, pod);
}

void kube_log_look(struct kube *kube)
{
	if (!TAILQ_EMPTY(&kube->log.readers) || !TAILQ_EMPTY(&kube->keep.list))
		event_active(kube->soon, EV_TIMEOUT, 0);
}

void kube_log_step(struct kube *kube)
{
	struct run_log *log, *next;

	for (log = TAILQ_FIRST(&kube->log.readers); log; log = next) {
		next = TAILQ_NEXT(log, of_list);
		step(log);
	}
	kube_keep_step(kube);
}

struct run_log *kube_log_open(struct runner *r, const struct log_id *id,
                              bool follow, struct log_lines *lines,
                              const struct run_reader *reader)
{
	struct run_log *log = xcalloc(1, sizeof(*log));
	struct kube *kube = kube_of(r);

	log->kube = kube;
	log->id = *id;
	log->follow = follow;
	log->lines = lines;
	log->reader = *reader;
	TAILQ_INSERT_TAIL(&kube->log.readers, log, of_list);
	kube_log_look(kube);
	return log;
}

void kube_log_pause(struct run_log *log, bool pause)
{
	log->paused = pause;
	if (log->call)
		kube_http_pause(log->call, pause);
}

void kube_log_close(struct run_log *log)
{
	log_free(log);
}

void kube_log_free_all(struct kube *kube)
{
	while (!TAILQ_EMPTY(&kube->log.readers))
		log_free(TAILQ_FIRST(&kube->log.readers));
}
