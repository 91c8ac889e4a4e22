/* http.c - requests to one API server, in order of urgency */
#include "aischedd/run/kube/client/http.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "aischedd/run/kube/client/http_priv.h"
#include "aischedd/run/kube/client/outcome.h"
#include "aischedd/run/kube/client/who.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"

enum {
	LEASE_EXTRA = 2, /* Lease calls in flight beyond `inflight` */
	WAIT_MAX_MS = KUBE_WAIT_MAX_S * 1000
};

const struct kube_limits kube_limits_default = {
	.inflight = 16,
	.try_ms = 30000,
	/* short, because renewals of the Lease wait for the files, too */
	.file_ms = 3000,
	.plugin_ms = 30000,
	.backoff_ms = 250,
	.backoff_max_ms = 5000,
	.reload_ms = 60000,
	.body = (size_t)16 << 20,
};

int64_t kube_http_jitter(struct kube_http *http, int64_t ms)
{
	/* xorshift: random enough to spread the requests of several daemons */
	http->noise ^= http->noise << 13;
	http->noise ^= http->noise >> 7;
	http->noise ^= http->noise << 17;
	return ms + (int64_t)(http->noise % (uint64_t)(ms / 4 + 1));
}

int64_t kube_http_backoff(struct kube_http *http, unsigned tries)
{
	int64_t ms = http->limits.backoff_ms;

	while (tries-- > 1 && ms < http->limits.backoff_max_ms)
		ms *= 2;
	if (ms > http->limits.backoff_max_ms)
		ms = http->limits.backoff_max_ms;
	return kube_http_jitter(http, ms);
}

void kube_http_pump(struct kube_http *http)
{
	event_active(http->pump, EV_TIMEOUT, 0);
}

/* --- errors that hold back all calls --- */

void kube_http_recovered(struct kube_http *http)
{
	http->failures = 0;
	http->closed_until = 0;
	kube_http_pump(http);
	if (!http->trouble.code)
		return;
	http->trouble = (struct err){ 0 };
	http->fn(NULL, http->arg);
}

void kube_http_failed(struct kube_http *http, int64_t started_ms,
                      int64_t wait_ms, const struct err *err)
{
	int64_t now = clock_boot_ms();
	bool news =
	    !http->trouble.code || strcmp(http->trouble.text, err->text);

	/* Requests that were sent together fail together: count them as one
	 * failure. A Lease call that fails during a pause does not extend the
	 * pause. */
	if (!http->failures ||
	    (started_ms >= http->failed_ms && now >= http->closed_until)) {
		http->failures++;
		http->failed_ms = now;
		http->closed_until =
		    now + kube_http_backoff(http, http->failures);
	}
	if (wait_ms > WAIT_MAX_MS)
		wait_ms = WAIT_MAX_MS;
	if (wait_ms > 0 && now + wait_ms > http->closed_until)
		http->closed_until = now + kube_http_jitter(http, wait_ms);
	http->stale = true;
	kube_http_pump(http);
	if (!news)
		return;
	http->trouble = *err;
	http->fn(&http->trouble, http->arg);
}

void kube_http_busy(struct kube_http *http, int64_t wait_ms)
{
	int64_t until;

	if (wait_ms > WAIT_MAX_MS)
		wait_ms = WAIT_MAX_MS;
	until = clock_boot_ms() + kube_http_jitter(http, wait_ms);
	if (until > http->busy_until)
		http->busy_until = until;
	kube_http_pump(http);
}

int64_t kube_http_guarded_ms(struct kube_http *http)
{
	return http->guard ? http->guard(http->guard_arg) : 0;
}

/* --- the queues --- */

/* Milliseconds that are added to a call's time of arrival, by its rank. The
 * call with the smallest sum is sent first. */
static const int64_t patience[KUBE_NRANKS] = {
	[KUBE_LEASE] = -1000, [KUBE_STOP] = 0,     [KUBE_START] = 500,
	[KUBE_READ] = 1000,   [KUBE_CLEAN] = 4000, [KUBE_NOTE] = 8000,
};

void kube_http_enqueue(struct kube_call *call, bool first)
{
	struct kube_http *http = call->http;
	struct calls *queue = &http->waiting[call->rank];

	call->state = CALL_WAITING;
	if (first)
		TAILQ_INSERT_HEAD(queue, call, of_list);
	else
		TAILQ_INSERT_TAIL(queue, call, of_list);
	http->nwaiting++;
	kube_call_set_timer(call, call->until_ms);
	kube_http_pump(http);
}

/* Whether this call may be sent now. During a pause only Lease calls may. */
static bool may_go(const struct kube_http *http, const struct kube_call *call,
                   int64_t now)
{
	unsigned bound = http->limits.inflight;

	if (call->rank == KUBE_LEASE)
		return http->nflying < bound + LEASE_EXTRA;
	if (now < http->closed_until || now < http->busy_until)
		return false;
	/* While the server fails, only one call at a time is sent, to test
	 * whether it works again. */
	if (http->failures && http->ntrying)
		return false;
	return call->silence_ms || http->nflying < bound;
}

static struct kube_call *choose(struct kube_http *http, int64_t now)
{
	struct kube_call *best = NULL;

	for (int rank = 0; rank < KUBE_NRANKS; rank++) {
		struct kube_call *call = TAILQ_FIRST(&http->waiting[rank]);

		if (call && may_go(http, call, now) &&
		    (!best || call->due_ms < best->due_ms))
			best = call;
	}
	return best;
}

/* If calls wait for the end of a pause, set the timer for that time. */
static void arm(struct kube_http *http, int64_t now)
{
	int64_t at = http->closed_until > http->busy_until ? http->closed_until
	                                                   : http->busy_until;

	if (http->nwaiting && at > now)
		event_add(
		    http->pump,
		    &(struct timeval){ .tv_sec = (at - now) / 1000,
		                       .tv_usec = (at - now) % 1000 * 1000 });
}

static void on_pump(evutil_socket_t fd, short what, void *arg)
{
	struct kube_http *http = arg;
	struct kube_call *call;
	int64_t now;

	(void)fd;
	(void)what;
	while ((call = TAILQ_FIRST(&http->ended)))
		kube_call_free(call);
	if (!http->nwaiting)
		return;
	now = clock_boot_ms();
	if (kube_who_is_ready(http, now))
		while ((call = choose(http, now))) {
			TAILQ_REMOVE(&http->waiting[call->rank], call, of_list);
			http->nwaiting--;
			kube_call_launch(call);
		}
	arm(http,
	    /* the same `now` as for may_go(): if a pause has ended since, the
	     * calls that it held back still need the timer */
	    now);
}

/* --- create the client, send requests --- */

static void on_transfer(CURL *easy, CURLcode code, void *arg)
{
	struct kube_http *http = arg;
	struct kube_call *call;

	kube_curl_remove(http->curl, easy);
	curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&call);
	if (call->state == CALL_FLYING)
		kube_outcome_tried(call, code);
}

struct kube_http *kube_http_new(struct event_base *base, const char *path,
                                const char *context,
                                const struct kube_limits *limits,
                                kube_trouble_fn *fn, void *arg)
{
	struct kube_http *http = xcalloc(1, sizeof(*http));

	http->base = base;
	http->path = path ? xstrdup(path) : NULL;
	http->context = context ? xstrdup(context) : NULL;
	http->limits = limits ? *limits : kube_limits_default;
	http->fn = fn;
	http->arg = arg;
	if (getrandom(&http->noise, sizeof(http->noise), GRND_NONBLOCK) < 0)
		http->noise = (uint64_t)clock_boot_ms();
	http->noise |= 1;
	for (int rank = 0; rank < KUBE_NRANKS; rank++)
		TAILQ_INIT(&http->waiting[rank]);
	TAILQ_INIT(&http->resting);
	TAILQ_INIT(&http->flying);
	TAILQ_INIT(&http->ended);
	http->pump = evtimer_new(base, on_pump, http);
	http->curl = kube_curl_new(base, on_transfer, http);
	return http;
}

void kube_http_guard(struct kube_http *http, kube_guard_fn *fn, void *arg)
{
	http->guard = fn;
	http->guard_arg = arg;
}

static void free_all(struct calls *calls)
{
	struct kube_call *call;

	while ((call = TAILQ_FIRST(calls)))
		kube_call_free(call);
}

void kube_http_free(struct kube_http *http)
{
	if (!http)
		return;
	assert(!kube_curl_is_inside(http->curl));
	for (int rank = 0; rank < KUBE_NRANKS; rank++)
		free_all(&http->waiting[rank]);
	free_all(&http->resting);
	free_all(&http->flying);
	free_all(&http->ended);
	kube_load_free(http->load);
	kube_plugin_cancel(http->run);
	kube_curl_free(http->curl);
	kube_credential_fini(&http->credential);
	kube_config_free(http->config);
	event_free(http->pump);
	free(http->path);
	free(http->context);
	free(http);
}

struct kube_call *kube_http_send(struct kube_http *http,
                                 const struct kube_request *request)
{
	struct kube_call *call = kube_call_new(http, request);
	int64_t now = clock_boot_ms();

	call->due_ms = now + patience[call->rank];
	call->until_ms = call->deadline_ms ? now + call->deadline_ms : 0;
	if (call->guarded)
		call->until_ms = now + kube_http_guarded_ms(http);
	kube_http_enqueue(call, false);
	return call;
}

void kube_http_cancel(struct kube_call *call)
{
	struct kube_http *http = call->http;

	assert(call->state != CALL_ENDED);
	if (call->state == CALL_FLYING && kube_curl_is_inside(http->curl)) {
		TAILQ_REMOVE(&http->flying, call, of_list);
		TAILQ_INSERT_TAIL(&http->ended, call, of_list);
		call->state = CALL_ENDED;
	} else {
		kube_call_free(call);
	}
	kube_http_pump(http);
}

void kube_http_pause(struct kube_call *call, bool pause)
{
	if (call->paused == pause)
		return;
	call->paused = pause;
	if (call->state != CALL_FLYING)
		return;
	if (call->silence_ms) /* leave the timers of other calls alone */
		kube_call_set_timer(
		    call, pause ? 0 : clock_boot_ms() + call->silence_ms);
	if (!pause)
		kube_curl_resume(call->http->curl, call->transfer.easy);
}

const struct err *kube_http_trouble(const struct kube_http *http)
{
	return http->trouble.code ? &http->trouble : NULL;
}

const struct kube_config *kube_http_config(const struct kube_http *http)
{
	return http->config;
}

size_t kube_http_backlog(const struct kube_http *http)
{
	return http->nwaiting;
}

uint64_t kube_http_sent(const struct kube_http *http)
{
	return http->nsent;
}

uint64_t kube_http_answered(const struct kube_http *http,
                            enum kube_method method, int class)
{
	return http->answered[method][class];
}
