/* call.c - one request to the API server, and each attempt to send it */
#include "aischedd/run/kube/client/call.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/client/http_priv.h"
#include "aischedd/run/kube/client/outcome.h"
#include "aischedd/run/kube/client/path.h"
#include "aischedd/run/kube/client/socket.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"

enum {
	MAX_HEAD = 64 << 10,  /* bytes of headers */
	MAX_REFUSAL = 1 << 20 /* bytes of the body of a refusal */
};

static const struct {
	/* HTTP method and Content-Type; type NULL: the request has no body */
	const char *name, *type;
} methods[] = {
	[KUBE_GET] = { "GET", NULL },
	[KUBE_POST] = { "POST", "application/json" },
	[KUBE_PUT] = { "PUT", "application/json" },
	[KUBE_DELETE] = { "DELETE", "application/json" },
	[KUBE_MERGE] = { "PATCH", "application/merge-patch+json" },
	[KUBE_STRATEGIC] = { "PATCH",
	                     "application/strategic-merge-patch+json" },
	[KUBE_JSON_PATCH] = { "PATCH", "application/json-patch+json" },
};

/* --- create, end and free a call --- */

static void on_timer(evutil_socket_t fd, short what, void *arg);

void kube_call_set_timer(struct kube_call *call, int64_t at_ms)
{
	int64_t ms = at_ms - clock_boot_ms();

	if (!at_ms) {
		evtimer_del(call->timer);
		return;
	}
	ms = ms > 0 ? ms : 0;
	event_add(call->timer,
	          &(struct timeval){ .tv_sec = ms / 1000,
	                             .tv_usec = ms % 1000 * 1000 });
}

/* Returns the path of the request, with further parameters: for a change, the
 * field manager; for a POST, an order to refuse unknown fields instead of
 * dropping them. */
static char *full_path(const struct kube_request *request)
{
	struct buf path = { 0 };

	buf_puts(&path, request->path);
	if (request->method != KUBE_GET && request->method != KUBE_DELETE)
		kube_path_query(&path, "fieldManager", "aischedd");
	if (request->method == KUBE_POST)
		kube_path_query(&path, "fieldValidation", "Strict");
	return buf_take(&path);
}

struct kube_call *kube_call_new(struct kube_http *http,
                                const struct kube_request *request)
{
	struct kube_call *call = xcalloc(1, sizeof(*call));

	*call = (struct kube_call){
		.http = http,
		.method = request->method,
		.rank = request->rank,
		.path = full_path(request),
		.once = request->once,
		.gzip = request->gzip,
		.relayed = request->relayed,
		.guarded = request->guarded,
		.deadline_ms = request->deadline_ms,
		.silence_ms = request->silence_ms,
		.data = request->data,
		.done = request->done,
		.arg = request->arg,
	};
	if (request->body)
		call->body = json_dumps(request->body, JSON_COMPACT);
	else if (methods[call->method].type && call->method != KUBE_DELETE)
		call->body = xstrdup("{}");
	call->timer = evtimer_new(http->base, on_timer, call);
	return call;
}

void kube_call_land(struct kube_call *call)
{
	struct kube_http *http = call->http;

	http->nflying -= !call->silence_ms;
	http->ntrying -= !call->heard;
	kube_transfer_fini(&call->transfer);
	kube_call_set_timer(call, 0);
	/* send the next call, which may have waited for this one */
	kube_http_pump(http);
}

void kube_call_heard(struct kube_call *call)
{
	call->http->ntrying -= !call->heard;
	call->heard = true;
}

void kube_call_leave(struct kube_call *call)
{
	struct kube_http *http = call->http;

	switch (call->state) {
	case CALL_WAITING:
		TAILQ_REMOVE(&http->waiting[call->rank], call, of_list);
		http->nwaiting--;
		break;
	case CALL_RESTING:
		TAILQ_REMOVE(&http->resting, call, of_list);
		break;
	case CALL_FLYING:
		TAILQ_REMOVE(&http->flying, call, of_list);
		break;
	case CALL_ENDED:
		TAILQ_REMOVE(&http->ended, call, of_list);
		break;
	}
}

static void drop(struct kube_call *call)
{
	if (call->socket)
		kube_socket_hang_up(call->socket);
	else
		kube_curl_remove(call->http->curl, call->transfer.easy);
}

void kube_call_free(struct kube_call *call)
{
	kube_call_leave(call);
	if (call->transfer.easy) {
		drop(call);
		kube_call_land(call);
	}
	event_free(call->timer);
	buf_free(&call->in);
	free(call->path);
	free(call->body);
	free(call);
}

void kube_call_answer(struct kube_call *call, const struct kube_answer *what)
{
	call->state = CALL_ENDED;
	TAILQ_INSERT_TAIL(&call->http->ended, call, of_list);
	call->done(what, call->arg);
	kube_call_free(call);
}

void kube_call_answer_failure(struct kube_call *call, int code,
                              const char *reason, const struct err *err)
{
	kube_call_answer(call, &(struct kube_answer){ .code = code,
	                                              .reason = reason,
	                                              .err = err });
}

void kube_call_give_up(struct kube_call *call)
{
	const struct err *why = &call->last;
	struct err err;

	if (!why->code)
		why = &call->http->trouble;
	if (call->guarded)
		err_set(&err, ETIMEDOUT,
		        "no answer before this daemon's Lease expired%s%s",
		        why->code ? ": " : "", why->code ? why->text : "");
	else
		err_set(&err, ETIMEDOUT, "no answer within %g s%s%s",
		        (double)call->deadline_ms / 1000, why->code ? ": " : "",
		        why->code ? why->text : "");
	kube_call_answer_failure(call, 0, "", &err);
}

bool kube_call_is_late(struct kube_call *call)
{
	int64_t now = clock_boot_ms();

	if (call->guarded)
		call->until_ms = now + kube_http_guarded_ms(call->http);
	return call->until_ms && now >= call->until_ms;
}

void kube_call_rest(struct kube_call *call, int64_t ms)
{
	int64_t at = clock_boot_ms() + ms;

	if (call->until_ms && at > call->until_ms)
		at = call->until_ms;
	call->state = CALL_RESTING;
	TAILQ_INSERT_TAIL(&call->http->resting, call, of_list);
	kube_call_set_timer(call, at);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct kube_call *call = arg;

	(void)fd;
	(void)what;
	if (call->state == CALL_FLYING) {
		drop(call);
		kube_outcome_tried(call, CURLE_OPERATION_TIMEDOUT);
		return;
	}
	if (kube_call_is_late(call)) {
		kube_call_leave(call);
		kube_call_give_up(call);
	} else if (call->state == CALL_WAITING) {
		kube_call_set_timer(call, call->until_ms);
	} else {
		kube_call_leave(call);
		kube_http_enqueue(call, true);
	}
}

/* --- send a call once --- */

/* Called by libcurl for each header line. If the result is below size * n,
 * libcurl ends the transfer. */
static size_t on_head(char *line, size_t size, size_t n, void *arg)
{
	struct kube_call *call = arg;
	long code = 0;

	call->head += size * n;
	if (call->head > MAX_HEAD) {
		err_set(&call->broken, EMSGSIZE,
		        "the headers of the answer are larger than %d KiB",
		        MAX_HEAD >> 10);
		return 0;
	}
	if (call->heard || (*line != '\r' && *line != '\n'))
		return size * n;
	curl_easy_getinfo(call->transfer.easy, CURLINFO_RESPONSE_CODE, &code);
	if (code < 200)
		return size * n; /* the headers of another response follow */
	kube_call_heard(call);
	if (code != 401 && code != 502 && code != 503)
		kube_http_recovered(call->http);
	return size * n;
}

static size_t on_body(char *data, size_t size, size_t n, void *arg)
{
	struct kube_call *call = arg;
	size_t max = call->http->limits.body, len = size * n;
	long code = 0;

	if (call->state != CALL_FLYING)
		return 0; /* the call was cancelled */
	if (call->paused)
		return CURL_WRITEFUNC_PAUSE;
	if (call->silence_ms)
		kube_call_set_timer(call, clock_boot_ms() + call->silence_ms);
	curl_easy_getinfo(call->transfer.easy, CURLINFO_RESPONSE_CODE, &code);
	if (code / 100 == 2 && call->data) {
		call->gave = true;
		if (call->data(data, len, call->arg, &call->broken) < 0)
			return 0;
		return len;
	}
	if (code / 100 != 2 && max > MAX_REFUSAL)
		max = MAX_REFUSAL;
	if (len > max - call->in.len) {
		err_set(&call->broken, EMSGSIZE,
		        "the answer is larger than %zu KiB", max >> 10);
		return 0;
	}
	buf_add(&call->in, data, len);
	return len;
}

static void set_method(struct kube_call *call)
{
	struct kube_transfer *t = &call->transfer;
	char *type;

	curl_easy_setopt(t->easy, CURLOPT_CUSTOMREQUEST,
	                 methods[call->method].name);
	if (!call->body)
		return;
	curl_easy_setopt(t->easy, CURLOPT_POSTFIELDS, call->body);
	curl_easy_setopt(t->easy, CURLOPT_POSTFIELDSIZE_LARGE,
	                 (curl_off_t)strlen(call->body));
	type = xasprintf("Content-Type: %s", methods[call->method].type);
	kube_transfer_header(t, type);
	free(type);
	/* Do not wait for "100 Continue" before sending a large body. */
	kube_transfer_header(t, "Expect:");
}

static void set_times(struct kube_call *call)
{
	int64_t ms = call->http->limits.try_ms;
	CURL *easy = call->transfer.easy;

	if (call->silence_ms) {
		kube_call_set_timer(call, call->started_ms + call->silence_ms);
		return;
	}
	if (call->until_ms && call->until_ms - call->started_ms < ms)
		ms = call->until_ms - call->started_ms;
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)(ms > 1 ? ms : 1));
	kube_call_set_timer(call, 0);
}

/* Do not reuse connections that are older than the last failure: if it was
 * caused by a server that vanished, these connections are dead, too. */
static void avoid_dead_connections(struct kube_call *call)
{
	const struct kube_http *http = call->http;
	int64_t s = (call->started_ms - http->failed_ms) / 1000;

	if (http->failures)
		curl_easy_setopt(call->transfer.easy, CURLOPT_FRESH_CONNECT,
		                 1L);
	if (http->failed_ms)
		curl_easy_setopt(call->transfer.easy, CURLOPT_MAXLIFETIME_CONN,
		                 (long)(s > 1 ? s : 1));
}

void kube_call_launch(struct kube_call *call)
{
	struct kube_http *http = call->http;
	const struct kube_config *config = http->config;
	const struct kube_credential *cred = &http->credential;
	struct kube_transfer *t = &call->transfer;

	/* The deadline may have passed without its timer having run, if this
	 * process was stopped meanwhile. */
	if (kube_call_is_late(call)) {
		kube_call_give_up(call);
		return;
	}
	call->state = CALL_FLYING;
	TAILQ_INSERT_TAIL(&http->flying, call, of_list);
	call->tries++;
	call->started_ms = clock_boot_ms();
	call->badge = http->badge;
	call->head = 0;
	call->heard = false;
	buf_clear(&call->in);
	http->nflying += !call->silence_ms;
	http->ntrying++;
	http->nsent++;

	kube_transfer_init(t, config, call->path,
	                   config->token ? config->token : cred->token,
	                   cred->cert ? cred->cert : config->cert,
	                   cred->cert ? cred->key : config->key);
	kube_transfer_header(t, call->relayed ? "Accept: */*"
	                                      : "Accept: application/json");
	set_method(call);
	curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, t->headers);
	curl_easy_setopt(t->easy, CURLOPT_PRIVATE, call);
	curl_easy_setopt(t->easy, CURLOPT_HEADERFUNCTION, on_head);
	curl_easy_setopt(t->easy, CURLOPT_HEADERDATA, call);
	curl_easy_setopt(t->easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(t->easy, CURLOPT_WRITEDATA, call);
	if (config->compress && call->gzip)
		curl_easy_setopt(t->easy, CURLOPT_ACCEPT_ENCODING, "gzip");
	set_times(call);
	avoid_dead_connections(call);
	if (call->socket)
		kube_socket_dial(call->socket);
	else
		kube_curl_add(http->curl, t->easy);
}
