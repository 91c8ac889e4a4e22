/* kube_call.c - one request: its tries, and what comes of them */
#include "aischedd/run/kube_call.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube_split.h"
#include "libcommon/mem.h"

enum {
	MAX_AGAIN = 5,        /* tries when it is not the server as a whole */
	MAX_HEAD = 64 << 10,  /* bytes of headers */
	MAX_REFUSAL = 1 << 20 /* bytes of the body of one */
};

static const struct {
	const char *name, *type; /* of HTTP; NULL: it needs no body */
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

/* --- the call --- */

static void on_timer(evutil_socket_t fd, short what, void *arg);

void call_set_timer(struct kube_call *call, int64_t at_ms)
{
	int64_t ms = at_ms - kube_now_ms();

	if (!at_ms) {
		evtimer_del(call->timer);
		return;
	}
	ms = ms > 0 ? ms : 0;
	event_add(call->timer,
	          &(struct timeval){ .tv_sec = ms / 1000,
	                             .tv_usec = ms % 1000 * 1000 });
}

/* Who wrote an object is kept with it, and what it cannot have is an error
 * rather than dropped. */
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

struct kube_call *call_new(struct kube_http *http,
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

/* The try is over, whatever came of it. */
static void land(struct kube_call *call)
{
	struct kube_http *http = call->http;

	http->nflying -= !call->silence_ms;
	http->ntrying -= !call->heard;
	kube_transfer_fini(&call->transfer);
	call_set_timer(call, 0);
	http_pump(http); /* there is room for another */
}

/* Take it out of whatever list it is in. */
static void leave(struct kube_call *call)
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

void call_free(struct kube_call *call)
{
	leave(call);
	if (call->transfer.easy) {
		kube_curl_remove(call->http->curl, call->transfer.easy);
		land(call);
	}
	event_free(call->timer);
	buf_free(&call->in);
	free(call->path);
	free(call->body);
	free(call);
}

/* Tell the caller; the call is in no list. */
static void answer(struct kube_call *call, const struct kube_answer *what)
{
	call->state = CALL_ENDED;
	TAILQ_INSERT_TAIL(&call->http->ended, call, of_list);
	call->done(what, call->arg);
	call_free(call);
}

static void answer_failure(struct kube_call *call, int code, const char *reason,
                           const struct err *err)
{
	answer(call, &(struct kube_answer){
			 .code = code, .reason = reason, .err = err });
}

/* Its time is up. */
static void give_up(struct kube_call *call)
{
	const struct err *why = &call->last;
	struct err err;

	if (!why->code)
		why = &call->http->trouble;
	if (call->guarded)
		err_set(&err, ETIMEDOUT, "no answer while we may act%s%s",
		        why->code ? ": " : "", why->code ? why->text : "");
	else
		err_set(&err, ETIMEDOUT, "no answer within %g s%s%s",
		        (double)call->deadline_ms / 1000, why->code ? ": " : "",
		        why->code ? why->text : "");
	answer_failure(call, 0, "", &err);
}

/* The guard may have more time to give than when it was asked last. */
static bool is_late(struct kube_call *call)
{
	int64_t now = kube_now_ms();

	if (call->guarded)
		call->until_ms = now + http_guarded_ms(call->http);
	return call->until_ms && now >= call->until_ms;
}

void call_rest(struct kube_call *call, int64_t ms)
{
	int64_t at = kube_now_ms() + ms;

	if (call->until_ms && at > call->until_ms)
		at = call->until_ms;
	call->state = CALL_RESTING;
	TAILQ_INSERT_TAIL(&call->http->resting, call, of_list);
	call_set_timer(call, at);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct kube_call *call = arg;

	(void)fd;
	(void)what;
	if (call->state == CALL_FLYING) {
		kube_curl_remove(call->http->curl, call->transfer.easy);
		call_tried(call, CURLE_OPERATION_TIMEDOUT);
		return;
	}
	if (is_late(call)) {
		leave(call);
		give_up(call);
	} else if (call->state == CALL_WAITING) {
		call_set_timer(call, call->until_ms);
	} else {
		leave(call);
		http_enqueue(call, true);
	}
}

/* --- a try --- */

/* Returning less than was given makes libcurl end the transfer. */
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
		return size * n; /* more headers follow */
	call->heard = true;
	call->http->ntrying--;
	if (code != 401 && code != 502 && code != 503)
		http_recovered(call->http);
	return size * n;
}

static size_t on_body(char *data, size_t size, size_t n, void *arg)
{
	struct kube_call *call = arg;
	size_t max = call->http->limits.body, len = size * n;
	long code = 0;

	if (call->state != CALL_FLYING)
		return 0; /* cancelled */
	if (call->paused)
		return CURL_WRITEFUNC_PAUSE;
	if (call->silence_ms)
		call_set_timer(call, kube_now_ms() + call->silence_ms);
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
	/* Not to wait for a "100 Continue" before a large script. */
	kube_transfer_header(t, "Expect:");
}

static void set_times(struct kube_call *call)
{
	int64_t ms = call->http->limits.try_ms;
	CURL *easy = call->transfer.easy;

	if (call->silence_ms) {
		call_set_timer(call, call->started_ms + call->silence_ms);
		return;
	}
	if (call->until_ms && call->until_ms - call->started_ms < ms)
		ms = call->until_ms - call->started_ms;
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)(ms > 1 ? ms : 1));
	call_set_timer(call, 0);
}

/* When a server has vanished without a word, so have its other connections:
 * those from before the last failure are not used again. */
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

void call_launch(struct kube_call *call)
{
	struct kube_http *http = call->http;
	const struct kube_config *config = http->config;
	const struct kube_credential *cred = &http->credential;
	struct kube_transfer *t = &call->transfer;

	/* Its timer has not come to that yet, if we were stopped meanwhile. */
	if (is_late(call)) {
		give_up(call);
		return;
	}
	call->state = CALL_FLYING;
	TAILQ_INSERT_TAIL(&http->flying, call, of_list);
	call->tries++;
	call->started_ms = kube_now_ms();
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
	kube_curl_add(http->curl, t->easy);
}

/* --- what came of it --- */

/* Without times and counts, so that the same trouble has the same text. */
static const char *words(const struct kube_call *call, CURLcode code)
{
	long errnum = 0;

	curl_easy_getinfo(call->transfer.easy, CURLINFO_OS_ERRNO, &errnum);
	if (code == CURLE_COULDNT_CONNECT && errnum)
		return strerror((int)errnum);
	if (code != CURLE_PARTIAL_FILE && *call->transfer.error)
		return call->transfer.error;
	return curl_easy_strerror(code);
}

static void explain(const struct kube_call *call, CURLcode code,
                    struct err *err)
{
	const struct kube_config *c = call->http->config;
	const char *why = words(call, code);

	switch (code) {
	case CURLE_OPERATION_TIMEDOUT:
		if (call->silence_ms)
			err_set(err, ETIMEDOUT,
			        "API server '%s' has said nothing for %g s",
			        c->server, (double)call->silence_ms / 1000);
		else
			err_set(err, ETIMEDOUT,
			        "API server '%s' does not "
			        "answer",
			        c->server);
		break;
	case CURLE_PEER_FAILED_VERIFICATION:
		err_set(err, EACCES,
		        "the certificate of API server '%s' is refused: %s; "
		        "check certificate-authority and tls-server-name of "
		        "cluster '%s' in %s",
		        c->server, why, c->cluster, c->source);
		break;
	case CURLE_SSL_CERTPROBLEM:
		err_set(err, EACCES,
		        "the client certificate of user '%s' in %s cannot be "
		        "used: %s",
		        c->user, c->source, why);
		break;
	default:
		if (call->heard)
			err_set(err, ECONNRESET,
			        "the connection to API server '%s' broke: %s",
			        c->server, why);
		else
			err_set(err, ECONNREFUSED,
			        "API server '%s' cannot be reached: %s",
			        c->server, why);
	}
}

/* The same again as soon as the server takes requests.  The lease does not
 * wait for that, and so needs a pause of its own. */
static void retry(struct kube_call *call, int code, const char *reason,
                  const struct err *err)
{
	call->last = *err;
	if (call->once)
		answer_failure(call, code, reason, err);
	else if (is_late(call))
		give_up(call);
	else if (call->rank == KUBE_LEASE)
		call_rest(call, http_backoff(call->http, call->tries));
	else
		http_enqueue(call, true);
}

/* The same again a little later, but not for ever. */
static void retry_later(struct kube_call *call, int code, const char *reason,
                        const struct err *err)
{
	call->last = *err;
	if (call->once || call->gave || call->tries >= MAX_AGAIN)
		answer_failure(call, code, reason, err);
	else if (is_late(call))
		give_up(call);
	else
		call_rest(call, http_backoff(call->http, call->tries));
}

static void tell_success(struct kube_call *call, int code)
{
	struct kube_answer what = { .code = code, .reason = "" };
	struct err err;

	if (call->in.len) {
		what.body = kube_parse(call->in.data, call->in.len, &err);
		if (!what.body) {
			retry_later(call, code, "", &err);
			return;
		}
	}
	answer(call, &what);
	json_decref(what.body);
}

static void refuse_stranger(struct kube_call *call, const struct err *said)
{
	struct kube_http *http = call->http;
	const struct kube_config *c = http->config;
	struct err err;

	if (!call->renewed) {
		call->renewed = true;
		http_renew(http, call->badge);
		http_enqueue(call, true);
		return;
	}
	call->renewed = false;
	err_set(&err, EACCES,
	        "API server '%s' does not accept the credentials of user '%s' "
	        "in %s; renew them (%s)",
	        c->server, c->user, c->source, said->text);
	http_failed(http, call->started_ms, -1, &err);
	retry(call, 401, "Unauthorized", &err);
}

/* Of a node, not of the server. */
static bool is_silent(const struct kube_call *call, CURLcode code)
{
	return call->relayed && code == CURLE_OPERATION_TIMEDOUT;
}

static void tell_refusal(struct kube_call *call, int code, int64_t wait_ms)
{
	json_t *body =
	    call->in.len ? kube_parse(call->in.data, call->in.len, NULL) : NULL;
	struct kube_http *http = call->http;
	struct kube_status status;
	struct err err;

	kube_status_read(code, body, call->method, call->path, &status, &err);
	if (wait_ms <= 0)
		wait_ms = status.wait_ms;
	switch (status.refusal) {
	case KUBE_FINAL:
		answer(call, &(struct kube_answer){ .code = code,
		                                    .body = body,
		                                    .reason = status.reason,
		                                    .err = &err });
		break;
	case KUBE_AGAIN:
		retry_later(call, code, status.reason, &err);
		break;
	case KUBE_BUSY:
		if (call->relayed && code != 429) {
			retry_later(call, code, status.reason, &err);
			break;
		}
		if (code == 429)
			http_busy(http, wait_ms > 0 ? wait_ms : 1000);
		else
			http_failed(http, call->started_ms, wait_ms, &err);
		retry(call, code, status.reason, &err);
		break;
	case KUBE_STRANGER:
		refuse_stranger(call, &err);
		break;
	}
	json_decref(body);
}

void call_tried(struct kube_call *call, CURLcode code)
{
	CURL *easy = call->transfer.easy;
	curl_off_t wait_s = 0;
	long status = 0;
	struct err err;

	curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &wait_s);
	/* libcurl takes headers that were cut off for all there are. */
	if (code == CURLE_OK && !call->heard)
		code = CURLE_GOT_NOTHING;
	if (code != CURLE_OK)
		explain(call, code, &err);
	leave(call);
	land(call);
	if (call->broken.code) {
		answer_failure(call, (int)status, "", &call->broken);
	} else if (code != CURLE_OK && (call->heard || is_silent(call, code))) {
		retry_later(call, (int)status, "", &err);
	} else if (code != CURLE_OK) {
		http_failed(call->http, call->started_ms, -1, &err);
		retry(call, 0, "", &err);
	} else if (status / 100 == 2) {
		tell_success(call, (int)status);
	} else {
		tell_refusal(call, (int)status, wait_s * 1000);
	}
}
