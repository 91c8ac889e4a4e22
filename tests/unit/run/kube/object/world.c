/* world.c - a Kubernetes client and a test server on one event loop */
#include "tests/unit/run/kube/object/world.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libcommon/log.h"
#include "libcommon/mem.h"

enum { PATIENCE_S = 60 };

static int norder;

static void on_trouble(const struct err *err, void *arg)
{
	struct kube_world *w = arg;

	w->trouble = err ? *err : (struct err){ 0 };
	w->ntroubles += err != NULL;
}

void world_begin(struct kube_world *w, bool tls)
{
	*w = (struct kube_world){ .base = event_base_new(),
		                  .folder = "/tmp/test_kube.XXXXXX",
		                  .limits = { .inflight = 4,
		                              .try_ms = 5000,
		                              .file_ms = 5000,
		                              .plugin_ms = 5000,
		                              .backoff_ms = 5,
		                              .backoff_max_ms = 20,
		                              .reload_ms = 60000,
		                              .body = 4096 } };
	log_init(LOG_ERR_); /* plain HTTP logs a warning */
	ck_assert_ptr_nonnull(mkdtemp(w->folder));
	snprintf(w->conf, sizeof(w->conf), "%s/conf", w->folder);
	w->server = server_new(w->base, 0, tls);
	norder = 0;
}

void world_file(struct kube_world *w, const char *name, const char *text)
{
	char *path = xasprintf("%s/%s", w->folder, name);
	FILE *file = fopen(path, "w");

	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	fclose(file);
	free(path);
}

void world_conf(struct kube_world *w, const char *cluster, const char *user)
{
	const char *ca = server_ca(w->server);
	char *text =
	    xasprintf("current-context: a\n"
	              "contexts: [{name: a, context: {cluster: c, user: u}}]\n"
	              "clusters:\n"
	              "- name: c\n"
	              "  cluster: {server: 'http%s://127.0.0.1:%d'%s%s%s}\n"
	              "users: [{name: u, user: {%s}}]\n",
	              ca ? "s" : "", server_port(w->server),
	              ca ? ", certificate-authority-data: " : "", ca ? ca : "",
	              cluster, user);

	world_file(w, "conf", text);
	free(text);
}

void world_http(struct kube_world *w)
{
	w->http =
	    kube_http_new(w->base, w->conf, NULL, &w->limits, on_trouble, w);
}

void world_end(struct kube_world *w)
{
	char *path = xasprintf("%s/token", w->folder);

	kube_http_free(w->http);
	if (w->server)
		server_free(w->server);
	event_base_free(w->base);
	unlink(w->conf);
	unlink(path);
	rmdir(w->folder);
	free(path);
}

static void on_late(evutil_socket_t fd, short what, void *arg)
{
	struct kube_world *w = arg;

	(void)fd;
	(void)what;
	w->late = true;
}

void world_run(struct kube_world *w, const bool *done)
{
	struct event *late = evtimer_new(w->base, on_late, w);
	const struct timeval patience = { .tv_sec = PATIENCE_S };

	event_add(late, &patience);
	while (!*done && !w->late)
		event_base_loop(w->base, EVLOOP_ONCE);
	event_free(late);
	ck_assert_msg(*done, "nothing happens; trouble: %s", w->trouble.text);
}

void world_wait(struct kube_world *w, int64_t ms)
{
	struct event *late = evtimer_new(w->base, on_late, w);

	event_add(late, &(struct timeval){ .tv_sec = ms / 1000,
	                                   .tv_usec = ms % 1000 * 1000 });
	while (!w->late)
		event_base_loop(w->base, EVLOOP_ONCE);
	w->late = false;
	event_free(late);
}

static void on_done(const struct kube_answer *answer, void *arg)
{
	struct result *r = arg;

	ck_assert(!r->done);
	r->done = true;
	r->call = NULL;
	r->code = answer->code;
	r->order = ++norder;
	snprintf(r->reason, sizeof(r->reason), "%s", answer->reason);
	if (answer->err)
		r->err = *answer->err;
	r->body = json_incref(answer->body);
}

void result_send(struct kube_world *w, struct result *ret,
                 struct kube_request request)
{
	*ret = (struct result){ 0 };
	request.done = on_done;
	request.arg = ret;
	ret->call = kube_http_send(w->http, &request);
	ck_assert(!ret->done);
}

void result_get(struct kube_world *w, struct result *ret, const char *path)
{
	result_send(w, ret,
	            (struct kube_request){ .rank = KUBE_READ, .path = path });
	world_run(w, &ret->done);
}

void result_clear(struct result *r)
{
	json_decref(r->body);
	r->body = NULL;
}
