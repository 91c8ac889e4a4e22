/* lease.c - a Lease decides which daemon acts in a cluster */
#include "aischedd/run/kube/lease.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "aischedd/run/kube/client/call.h"
#include "aischedd/run/kube/client/http.h"
#include "aischedd/run/kube/client/http_priv.h"
#include "aischedd/run/kube/client/json.h"
#include "aischedd/run/kube/client/path.h"
#include "aischedd/run/kube/client/status.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"
#include "libcommon/rfc3339.h"

enum {
	/* leaseDurationSeconds: another daemon takes the Lease only if it was
	 * not renewed for that long */
	DURATION_S = 15,
	SAFE_MS = 10000, /* we act for this long after a renewal was sent */
	RENEW_MS = 3000,
	RETRY_MS = 2000,
	ASK_MS = 5000 /* deadline of a call to read or write the Lease */
};

struct kube_lease {
	struct kube_http *http;
	const char *namespace, *name, *holder;
	kube_lease_fn *fn;
	void *arg;
	struct event *timer;
	struct kube_call *call; /* NULL: no call in progress */
	json_t *seen;           /* the Lease as last read, or NULL */
	int64_t seen_ms;        /* when we last saw a change of its spec */
	int64_t asked_ms;       /* when the call was sent */
	int64_t until_ms;       /* time until which we hold the Lease */
	bool told;              /* fn was told that we hold it */
	struct err err;         /* why we do not hold it; code 0: not known */
};

int64_t kube_lease_left_ms(const struct kube_lease *lease)
{
	int64_t left = lease->until_ms - clock_boot_ms();

	return left > 0 ? left : 0;
}

void kube_lease_send(const struct kube_lease *lease, struct buf *path,
                     json_t *body, const struct kube_request *request)
{
	struct kube_request whole = *request;

	whole.path = path->data;
	whole.body = body;
	whole.guarded = true;
	kube_http_send(lease->http, &whole);
	buf_free(path);
	json_decref(body);
}

const char *kube_lease_trouble(const struct kube_lease *lease)
{
	return !kube_lease_left_ms(lease) && lease->err.code ? lease->err.text
	                                                     : NULL;
}

static void wait_ms(struct kube_lease *lease, int64_t ms)
{
	struct timeval tv = { .tv_sec = (time_t)(ms / 1000),
		              .tv_usec = (suseconds_t)(ms % 1000 * 1000) };

	event_add(lease->timer, &tv);
}

static void tell(struct kube_lease *lease)
{
	bool held = kube_lease_left_ms(lease) > 0;

	if (held == lease->told)
		return;
	lease->told = held;
	lease->fn(lease->arg);
}

static void path_of(const struct kube_lease *lease, bool all, struct buf *path)
{
	buf_puts(path, "/apis/coordination.k8s.io/v1/namespaces");
	kube_path_name(path, lease->namespace);
	buf_puts(path, "/leases");
	if (!all)
		kube_path_name(path, lease->name);
}

static void ask(struct kube_lease *lease, enum kube_method method,
                const json_t *body, kube_done_fn *done)
{
	struct buf path = { 0 };

	path_of(lease, method == KUBE_POST, &path);
	lease->asked_ms = clock_boot_ms();
	lease->call = kube_http_send(
	    lease->http, &(struct kube_request){ .method = method,
	                                         .rank = KUBE_LEASE,
	                                         .path = path.data,
	                                         .body = body,
	                                         .deadline_ms = ASK_MS,
	                                         .done = done,
	                                         .arg = lease });
	buf_free(&path);
}

/* Store the Lease that was read. If its spec has changed, store the time of the
 * change in seen_ms. */
static void see(struct kube_lease *lease, json_t *obj)
{
	const json_t *was = json_object_get(lease->seen, "spec");

	if (!was || !json_equal(was, json_object_get(obj, "spec")))
		lease->seen_ms = clock_boot_ms();
	json_incref(obj);
	json_decref(lease->seen);
	lease->seen = obj;
}

static void on_written(const struct kube_answer *answer, void *arg)
{
	struct kube_lease *lease = arg;

	lease->call = NULL;
	if (!answer->err && answer->body) {
		see(lease, answer->body);
		lease->until_ms = lease->asked_ms + SAFE_MS;
		lease->err.code = 0;
		wait_ms(lease, RENEW_MS);
	} else {
		/* Another daemon may have taken the Lease: read it again. */
		json_decref(lease->seen);
		lease->seen = NULL;
		if (answer->err)
			lease->err = *answer->err;
		wait_ms(lease, RETRY_MS);
	}
	tell(lease);
}

/* Take or renew the Lease. The resourceVersion makes the call fail if somebody
 * has changed the Lease since we read it. */
static void take(struct kube_lease *lease)
{
	struct kube_reader r = { .obj = lease->seen };
	const char *holder = kube_text(&r, "spec.holderIdentity");
	const char *version = kube_text(&r, "metadata.resourceVersion");
	const char *since = kube_text(&r, "spec.acquireTime");
	int64_t terms = kube_int(&r, "spec.leaseTransitions", 0);
	bool ours = holder && !strcmp(holder, lease->holder);
	char now[28];
	json_t *obj;

	rfc3339_format(clock_wall_us(), now);
	obj = json_pack(
	    "{s:s, s:s, s:{s:s, s:s, s:s*}, s:{s:s, s:i, s:s, s:s, s:I}}",
	    "apiVersion", "coordination.k8s.io/v1", "kind", "Lease", "metadata",
	    "name", lease->name, "namespace", lease->namespace,
	    "resourceVersion", version, "spec", "holderIdentity", lease->holder,
	    "leaseDurationSeconds", DURATION_S, "acquireTime",
	    ours && since ? since : now, "renewTime", now, "leaseTransitions",
	    (json_int_t)(ours || !lease->seen ? terms : terms + 1));
	ask(lease, lease->seen ? KUBE_PUT : KUBE_POST, obj, on_written);
	json_decref(obj);
}

static bool is_free(const struct kube_lease *lease)
{
	struct kube_reader r = { .obj = lease->seen };
	const char *holder = kube_text(&r, "spec.holderIdentity");
	int64_t s = kube_int(&r, "spec.leaseDurationSeconds", DURATION_S);

	return !holder || !*holder || !strcmp(holder, lease->holder) ||
	       clock_boot_ms() > lease->seen_ms + s * 1000;
}

static void on_read(const struct kube_answer *answer, void *arg)
{
	struct kube_lease *lease = arg;
	struct kube_reader r = { .obj = answer->body };
	const char *holder;

	lease->call = NULL;
	if (answer->err && answer->err->code != ENOENT) {
		lease->err = *answer->err;
		wait_ms(lease, RETRY_MS);
		tell(lease);
		return;
	}
	if (!answer->err)
		see(lease, answer->body);
	if (answer->err || is_free(lease)) {
		take(lease);
		return;
	}
	lease->until_ms = 0; /* we no longer hold the Lease */
	holder = kube_text(&r, "spec.holderIdentity");
	err_set(&lease->err, EBUSY,
	        "another daemon runs jobs there: '%s' holds Lease '%s' in "
	        "namespace '%s'; waiting until it no longer does",
	        holder ? holder : "", lease->name, lease->namespace);
	wait_ms(lease, RETRY_MS);
	tell(lease);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct kube_lease *lease = arg;

	(void)fd, (void)what;
	if (lease->call)
		return;
	if (kube_lease_left_ms(lease) && lease->seen)
		take(lease);
	else
		ask(lease, KUBE_GET, NULL, on_read);
}

static int64_t guard(void *arg)
{
	return kube_lease_left_ms(arg);
}

struct kube_lease *kube_lease_new(struct event_base *base,
                                  struct kube_http *http, const char *namespace,
                                  const char *name, const char *holder,
                                  kube_lease_fn *fn, void *arg)
{
	struct kube_lease *lease = xcalloc(1, sizeof(*lease));

	lease->http = http;
	lease->namespace = namespace;
	lease->name = name;
	lease->holder = holder;
	lease->fn = fn;
	lease->arg = arg;
	lease->timer = evtimer_new(base, on_timer, lease);
	kube_http_guard(http, guard, lease);
	wait_ms(lease, 0);
	return lease;
}

void kube_lease_free(struct kube_lease *lease)
{
	if (!lease)
		return;
	if (lease->call)
		kube_http_cancel(lease->call);
	kube_http_guard(lease->http, NULL, NULL);
	event_free(lease->timer);
	json_decref(lease->seen);
	free(lease);
}
