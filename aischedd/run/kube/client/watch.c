/* watch.c - list and watch all objects of one kind */
#include "aischedd/run/kube/client/watch.h"

#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/client/http_priv.h"
#include "aischedd/run/kube/client/json.h"
#include "aischedd/run/kube/client/path.h"
#include "aischedd/run/kube/client/split.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"

enum {
	BACKOFF_MS = 800,
	BACKOFF_MAX_MS = 30000,
	/* a watch that ends after at least this time restarts at once */
	HEALTHY_MS = 1000,
	/* after this many failures in a row, all objects are listed again */
	BAD_MAX = 3
};

enum step {
	STEP_LIST, /* list all objects, from the first page */
	STEP_PAGE, /* get the next page of the list */
	STEP_WATCH /* watch changes since `version` */
};

struct kube_watch {
	struct kube_http *http;
	struct kube_watch_spec spec;
	char *path;
	struct event *timer; /* for the next step */
	enum step step;
	bool whole;    /* list without pages: the token of a page had expired */
	char *version; /* resourceVersion from which to watch */
	char *next;    /* token of the next page */
	unsigned bad;  /* number of steps that failed in a row */

	/* The current step. */
	struct kube_call *call;
	struct kube_split split;
	int64_t begun_ms;
	/* when anything was received, in any step; 0: never */
	int64_t heard_ms;
	bool got;     /* something was received in this step */
	bool expired; /* the server no longer has the changes since `version` */
	bool absent;  /* it does not have the kind of objects, or forbids it */
	/* busy: a callback runs; then kube_watch_free() only sets `dead`, and
	 * the callback frees the watch when it ends */
	bool busy, dead;
};

const struct kube_watch_spec kube_watch_default = {
	.page = 500,
	.max = (size_t)16 << 20,
	.silence_ms = 90000, /* the server sends a bookmark each minute */
	.renew_s = 300,
};

/* --- free the watch, pass on news --- */

static void destroy(struct kube_watch *w)
{
	if (w->call)
		kube_http_cancel(w->call);
	kube_split_fini(&w->split);
	event_free(w->timer);
	free(w->path);
	free(w->version);
	free(w->next);
	free(w);
}

int64_t kube_watch_silent_ms(const struct kube_watch *watch)
{
	return watch->heard_ms ? clock_boot_ms() - watch->heard_ms : -1;
}

void kube_watch_free(struct kube_watch *watch)
{
	if (!watch)
		return;
	if (watch->busy)
		watch->dead = true;
	else
		destroy(watch);
}

/* Pass news to the user of the watch. Returns -1 if that has freed the
 * watch. */
static int tell(struct kube_watch *w, enum kube_news news, json_t *obj,
                const struct err *err)
{
	if (!w->dead)
		w->spec.fn(news, obj, err, w->spec.arg);
	return w->dead ? -1 : 0;
}

static void keep(char **at, const char *s)
{
	free(*at);
	*at = s && *s ? xstrdup(s) : NULL;
}

/* --- handle what the server sends --- */

static int on_item(json_t *obj, void *arg, struct err *err)
{
	(void)err;
	return tell(arg, KUBE_ADDED, obj, NULL);
}

/* Handle an event of type ERROR, with which the server ends a watch. status:
 * the object of the event. */
static int on_error(struct kube_watch *w, const json_t *status, struct err *err)
{
	struct kube_reader r = { .obj = status };
	const char *message = kube_text(&r, "message");
	int64_t code = kube_int(&r, "code", 0);

	w->expired = code == 410;
	return err_set(err, w->expired ? ESTALE : EIO, "watch of %s: %s",
	               w->path,
	               message ? message : "an error without a message");
}

/* Handle an event of a watch: type and object. */
static int on_event(json_t *event, void *arg, struct err *err)
{
	static const struct {
		const char *type;
		enum kube_news news;
	} types[] = {
		{ "ADDED", KUBE_ADDED },
		{ "MODIFIED", KUBE_MODIFIED },
		{ "DELETED", KUBE_DELETED },
	};
	struct kube_watch *w = arg;
	struct kube_reader r = { .obj = event };
	const char *type = kube_text(&r, "type");
	json_t *obj = kube_map(&r, "object");
	const char *version = kube_text(&r, "object.metadata.resourceVersion");

	if (type && !strcmp(type, "ERROR"))
		return on_error(w, obj, err);
	if (!type || !version)
		return err_set(err, EPROTO,
		               "watch of %s: an event without type or version",
		               w->path);
	keep(&w->version, version);
	w->got = true;
	w->bad = 0;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (!strcmp(type, types[i].type))
			return tell(w, types[i].news, obj, NULL);
	return 0; /* BOOKMARK */
}

/* Send KUBE_RESET when the first data of a list arrives: objects known so far
 * may no longer exist. */
static int begin_list(struct kube_watch *w)
{
	if (w->step != STEP_LIST || w->got)
		return 0;
	w->got = true;
	return tell(w, KUBE_RESET, NULL, NULL);
}

static int on_data(const void *data, size_t len, void *arg, struct err *err)
{
	struct kube_watch *w = arg;
	int rc;

	w->busy = true;
	w->heard_ms = clock_boot_ms();
	rc = begin_list(w);
	if (rc == 0)
		rc = kube_split_feed(&w->split, data, len,
		                     w->step == STEP_WATCH ? on_event : on_item,
		                     w, err);
	w->busy = false;
	if (w->dead) {
		destroy(w);
		return -1;
	}
	return rc;
}

/* --- begin a step, handle its end --- */

static void begin(struct kube_watch *w);

static void begin_later(struct kube_watch *w)
{
	int64_t ms = BACKOFF_MS;

	for (unsigned n = 1; n < w->bad && ms < BACKOFF_MAX_MS; n++)
		ms *= 2;
	if (ms > BACKOFF_MAX_MS)
		ms = BACKOFF_MAX_MS;
	if (w->absent && w->spec.absent_ms)
		ms = w->spec.absent_ms;
	ms = kube_http_jitter(w->http, ms);
	event_add(w->timer, &(struct timeval){ .tv_sec = ms / 1000,
	                                       .tv_usec = ms % 1000 * 1000 });
}

static void begin_again(struct kube_watch *w, const struct err *err)
{
	w->bad++;
	if (w->bad >= BAD_MAX)
		w->step = STEP_LIST;
	if (tell(w, KUBE_TROUBLE, NULL, err) == 0)
		begin_later(w);
}

static void list_done(struct kube_watch *w, const struct kube_answer *answer)
{
	struct kube_reader r = { .obj = NULL };
	const char *version;
	json_t *rest = NULL;
	struct err err;

	w->absent = answer->code == 404 || answer->code == 403;
	if (answer->code == 410 && !w->whole) {
		w->whole = true;
		w->step = STEP_LIST;
		begin(w);
		return;
	}
	if (answer->err)
		err = *answer->err;
	else if (!kube_split_is_whole(&w->split))
		err_set(&err, EPROTO, "list of %s: it was truncated", w->path);
	else
		r.obj = rest = kube_split_rest(&w->split, &err);
	version = kube_text(&r, "metadata.resourceVersion");
	if (rest && !version)
		err_set(&err, EPROTO, "list of %s: it has no version", w->path);
	if (!version) {
		json_decref(rest);
		begin_again(w, &err);
		return;
	}
	keep(&w->version, version);
	keep(&w->next, kube_text(&r, "metadata.continue"));
	json_decref(rest);
	if (begin_list(w) < 0)
		return;
	if (!w->next) {
		w->whole = false;
		w->step = STEP_WATCH;
		if (tell(w, KUBE_SYNCED, NULL, NULL) < 0)
			return;
	} else {
		w->step = STEP_PAGE;
	}
	begin(w);
}

/* Whether the watch ended in a normal way, which is not reported: servers and
 * proxies end watches regularly. */
static bool is_usual(const struct kube_watch *w,
                     const struct kube_answer *answer)
{
	bool lived = w->got || clock_boot_ms() - w->begun_ms >= HEALTHY_MS;

	return lived && (!answer->err || answer->err->code == ECONNRESET);
}

static void watch_done(struct kube_watch *w, const struct kube_answer *answer)
{
	struct err err;

	if (w->expired || answer->code == 410) {
		w->step = STEP_LIST;
		if (!w->bad) {
			w->bad = 1; /* the first time, list again at once */
			begin(w);
			return;
		}
	}
	if (is_usual(w, answer)) {
		w->bad = 0;
		begin(w);
		return;
	}
	if (answer->err)
		err = *answer->err;
	else
		err_set(&err, ECONNRESET, "watch of %s: it ended at once",
		        w->path);
	begin_again(w, &err);
}

static void on_done(const struct kube_answer *answer, void *arg)
{
	struct kube_watch *w = arg;

	w->call = NULL;
	w->busy = true;
	if (w->step == STEP_WATCH)
		watch_done(w, answer);
	else
		list_done(w, answer);
	w->busy = false;
	if (w->dead)
		destroy(w);
}

static void put_number(struct buf *path, const char *key, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, value);
	kube_path_query(path, key, text);
}

static char *step_path(struct kube_watch *w)
{
	struct buf path = { 0 };

	buf_puts(&path, w->path);
	if (w->step == STEP_WATCH) {
		kube_path_query(&path, "watch", "1");
		kube_path_query(&path, "allowWatchBookmarks", "true");
		kube_path_query(&path, "resourceVersion", w->version);
		/* Have the server end the watch after a random time, renew_s to
		 * twice renew_s, so that not all watches end together. */
		put_number(&path, "timeoutSeconds",
		           kube_http_jitter(w->http, 4 * w->spec.renew_s) -
		               3 * w->spec.renew_s);
	} else if (!w->whole) {
		put_number(&path, "limit", w->spec.page);
	}
	if (w->step == STEP_PAGE)
		kube_path_query(&path, "continue", w->next);
	return buf_take(&path);
}

static void begin(struct kube_watch *w)
{
	char *path = step_path(w);

	kube_split_fini(&w->split);
	kube_split_init(&w->split, w->step != STEP_WATCH, w->spec.max);
	w->begun_ms = clock_boot_ms();
	w->got = w->expired = false;
	w->call = kube_http_send(
	    w->http, &(struct kube_request){ .method = KUBE_GET,
	                                     .rank = KUBE_READ,
	                                     .path = path,
	                                     .silence_ms = w->spec.silence_ms,
	                                     .gzip = w->step != STEP_WATCH,
	                                     .data = on_data,
	                                     .done = on_done,
	                                     .arg = w });
	free(path);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	begin(arg);
}

struct kube_watch *kube_watch_new(struct kube_http *http,
                                  const struct kube_watch_spec *spec)
{
	struct kube_watch *w = xcalloc(1, sizeof(*w));

	w->http = http;
	w->spec = *spec;
	w->path = xstrdup(spec->path);
	w->spec.path = w->path;
	w->timer = evtimer_new(http->base, on_timer, w);
	begin(w);
	return w;
}
