/* outcome.c - decide after each try of a call: answer, or try again */
#include "aischedd/run/kube/client/outcome.h"

#include <errno.h>
#include <string.h>

#include "aischedd/run/kube/client/http_priv.h"
#include "aischedd/run/kube/client/split.h"
#include "aischedd/run/kube/client/who.h"
#include "libcommon/clock.h"

enum {
	MAX_AGAIN = 5, /* retry_later() gives up a call after this many tries */
	/* longest wait that the answer to a relayed call can ask for */
	RELAYED_WAIT_MS = 5000
};

/* Returns libcurl's error in words without times and counts, so that the same
 * trouble always has the same text. */
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

/* Try the call again as soon as the server accepts requests. Lease calls are
 * not held back until then, so a Lease call is delayed here. */
static void retry(struct kube_call *call, int code, const char *reason,
                  const struct err *err)
{
	call->last = *err;
	if (call->once)
		kube_call_answer_failure(call, code, reason, err);
	else if (kube_call_is_late(call))
		kube_call_give_up(call);
	else if (call->rank == KUBE_LEASE)
		kube_call_rest(call,
		               kube_http_backoff(call->http, call->tries));
	else
		kube_http_enqueue(call, true);
}

/* Try the call again a little later, but not more than MAX_AGAIN times in all.
 * wait_ms: the shortest pause until then. */
static void retry_later(struct kube_call *call, int code, const char *reason,
                        int64_t wait_ms, const struct err *err)
{
	int64_t rest_ms = kube_http_backoff(call->http, call->tries);

	call->last = *err;
	if (call->once || call->gave || call->tries >= MAX_AGAIN)
		kube_call_answer_failure(call, code, reason, err);
	else if (kube_call_is_late(call))
		kube_call_give_up(call);
	else
		kube_call_rest(call, rest_ms > wait_ms ? rest_ms : wait_ms);
}

static void tell_success(struct kube_call *call, int code)
{
	struct kube_answer what = { .code = code, .reason = "" };
	struct err err;

	if (call->in.len) {
		what.body = kube_parse(call->in.data, call->in.len, &err);
		if (!what.body) {
			retry_later(call, code, "", 0, &err);
			return;
		}
	}
	kube_call_answer(call, &what);
	json_decref(what.body);
}

/* Whether to renew the credentials with which the call was refused. A relayed
 * call may have been refused by a node that lies, and renewing may take a
 * program's time: so relayed calls renew the credentials only now and then. */
static bool may_renew(struct kube_call *call)
{
	struct kube_http *http = call->http;
	int64_t now = clock_boot_ms();

	if (call->renewed)
		return false;
	if (!call->relayed)
		return true;
	if (http->doubted_ms && now - http->doubted_ms < http->limits.reload_ms)
		return false;
	http->doubted_ms = now;
	return true;
}

static void refuse_stranger(struct kube_call *call, const struct err *said)
{
	struct kube_http *http = call->http;
	const struct kube_config *c = http->config;
	struct err err;

	if (may_renew(call)) {
		call->renewed = true;
		kube_who_renew(http, call->badge);
		kube_http_enqueue(call, true);
		return;
	}
	call->renewed = false;
	if (call->relayed) {
		retry_later(call, 401, "Unauthorized", 0, said);
		return;
	}
	err_set(&err, EACCES,
	        "API server '%s' does not accept the credentials of user '%s' "
	        "in %s; renew them (%s)",
	        c->server, c->user, c->source, said->text);
	kube_http_failed(http, call->started_ms, -1, &err);
	retry(call, 401, "Unauthorized", &err);
}

/* Whether a node did not answer a relayed call, so that the API server is not
 * to blame. */
static bool is_silent(const struct kube_call *call, CURLcode code)
{
	return call->relayed && code == CURLE_OPERATION_TIMEDOUT;
}

/* Handle the answer of a busy server: hold back all calls. If the call is
 * relayed, a node may have sent the answer: then hold back only this call. */
static void be_busy(struct kube_call *call, int code, int64_t wait_ms,
                    const struct kube_status *status, const struct err *err)
{
	struct kube_http *http = call->http;

	if (call->relayed) {
		if (wait_ms > RELAYED_WAIT_MS)
			wait_ms = RELAYED_WAIT_MS;
		retry_later(call, code, status->reason, wait_ms, err);
		return;
	}
	if (code == 429)
		kube_http_busy(http, wait_ms > 0 ? wait_ms : 1000);
	else
		kube_http_failed(http, call->started_ms, wait_ms, err);
	retry(call, code, status->reason, err);
}

static void tell_refusal(struct kube_call *call, int code, int64_t wait_s)
{
	json_t *body =
	    call->in.len ? kube_parse(call->in.data, call->in.len, NULL) : NULL;
	struct kube_status status;
	int64_t wait_ms;
	struct err err;

	kube_status_read(code, body, call->method, call->path, &status, &err);
	wait_ms =
	    wait_s < KUBE_WAIT_MAX_S ? wait_s * 1000 : KUBE_WAIT_MAX_S * 1000;
	if (wait_s <= 0)
		wait_ms = status.wait_ms;
	switch (status.refusal) {
	case KUBE_FINAL:
		kube_call_answer(call,
		                 &(struct kube_answer){ .code = code,
		                                        .body = body,
		                                        .reason = status.reason,
		                                        .err = &err });
		break;
	case KUBE_AGAIN:
		retry_later(call, code, status.reason, 0, &err);
		break;
	case KUBE_BUSY:
		be_busy(call, code, wait_ms, &status, &err);
		break;
	case KUBE_STRANGER:
		refuse_stranger(call, &err);
		break;
	}
	json_decref(body);
}

static void count(struct kube_call *call, long status)
{
	long class = status / 100;

	if (class < 0 || class >= KUBE_CLASSES)
		class = 0;
	call->http->answered[call->method][class]++;
}

void kube_outcome_tried(struct kube_call *call, CURLcode code)
{
	CURL *easy = call->transfer.easy;
	curl_off_t wait_s = 0;
	long status = 0;
	struct err err;

	curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &wait_s);
	/* libcurl reports no error if a response ends within its headers. */
	if (code == CURLE_OK && !call->heard)
		code = CURLE_GOT_NOTHING;
	count(call, status);
	if (code != CURLE_OK)
		explain(call, code, &err);
	kube_call_leave(call);
	kube_call_land(call);
	if (call->broken.code) {
		kube_call_answer_failure(call, (int)status, "", &call->broken);
	} else if (code != CURLE_OK && (call->heard || is_silent(call, code))) {
		retry_later(call, (int)status, "", 0, &err);
	} else if (code != CURLE_OK) {
		kube_http_failed(call->http, call->started_ms, -1, &err);
		retry(call, 0, "", &err);
	} else if (status / 100 == 2) {
		tell_success(call, (int)status);
	} else {
		tell_refusal(call, (int)status, wait_s);
	}
}

void kube_outcome_refused(struct kube_call *call, int status, int64_t wait_s)
{
	kube_call_leave(call);
	kube_call_land(call);
	tell_refusal(call, status, wait_s);
}
