/*
 * http.h - requests to one API server, in order of urgency
 *
 * Requests wait in queues and go out a bounded number at a time; connections
 * are kept. When a server asks to slow down, is not ready or rejects the
 * credentials, all requests are held back. A request that fails for the moment
 * is sent again, so that callers get the server's answer; but a refusal that a
 * node may have sent delays only its own request, which fails after a few
 * tries. If the server cannot be reached, or if the certificate, the
 * credentials or the kubeconfig cannot be used, all requests are held back: the
 * kube_trouble_fn is called once with the reason, and one request at a time
 * tests whether the server works again. The kubeconfig and its files are read
 * again whenever something is wrong, and every minute; if reading fails or
 * takes too long, the previous configuration stays in use.
 *
 * If the answer to a POST is lost, the POST is sent again, although the server
 * may have handled it: so callers must name objects, and expect EEXIST.
 *
 * Everything runs on the loop's thread, and nothing blocks it.
 */
#ifndef AISCHEDD_RUN_KUBE_CLIENT_HTTP_H
#define AISCHEDD_RUN_KUBE_CLIENT_HTTP_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aischedd/run/kube/client/kubeconfig.h"
#include "aischedd/run/kube/client/status.h"
#include "libcommon/err.h"

struct event_base;
struct kube_http;
struct kube_call;

/*
 * The urgency of a call. The most urgent call is sent first; but one that has
 * waited long is sent before more urgent ones that came much later, so that no
 * call waits for ever.
 */
enum kube_rank {
	KUBE_START, /* Job, Secret, Binding */
	KUBE_STOP,  /* calls that free resources: preemption, cancel */
	KUBE_LEASE, /* is sent at once, even while others are held back */
	KUBE_READ,  /* lists, logs */
	KUBE_CLEAN, /* deletion of objects of ended jobs */
	KUBE_NOTE,  /* Events, conditions */
	KUBE_NRANKS
};

struct kube_limits {
	/* requests in flight at a time, without watches and followed logs */
	unsigned inflight;
	int64_t try_ms;    /* limit for one try */
	int64_t file_ms;   /* limit for reading the kubeconfig and its files */
	int64_t plugin_ms; /* limit for a program that prints credentials */
	/* pause after the first failure; each further failure doubles it */
	int64_t backoff_ms;
	int64_t backoff_max_ms;
	/* how often the kubeconfig and its files are read again */
	int64_t reload_ms;
	size_t body; /* most bytes of an answer that is not passed to data() */
};

extern const struct kube_limits kube_limits_default;

struct kube_answer {
	int code;     /* HTTP status; 0: the server did not answer */
	json_t *body; /* borrowed; NULL: none, or it was passed to data() */
	const char *reason; /* reason of a refusal: "AlreadyExists"; "": none */
	/* NULL: success; codes as of kube_status_read() */
	const struct err *err;
};

/* Called once for each request, from the loop. Afterwards the call is freed. */
typedef void kube_done_fn(const struct kube_answer *answer, void *arg);

/* Called for each part of the body of a 2xx answer. Returning -1 with *err set
 * ends the request. */
typedef int kube_data_fn(const void *data, size_t len, void *arg,
                         struct err *err);

struct kube_request {
	enum kube_method method;
	enum kube_rank rank;
	const char *path;   /* "/api/v1/nodes?limit=5" */
	const json_t *body; /* or NULL */
	/* limit for all tries, with the time between them; 0: no limit */
	int64_t deadline_ms;
	bool guarded; /* it is sent only while the kube_guard_fn allows it */
	bool once;    /* do not send it a second time */
	/* For watches, lists and followed logs: the request does not count as
	 * in flight, and fails if nothing arrives for this long. 0: an ordinary
	 * request. */
	int64_t silence_ms;
	bool gzip; /* compress the body, which may be large */
	/* The server relays the answer from a node; so it need not be JSON, and
	 * silence does not mean that the server is in trouble. */
	bool relayed;
	kube_data_fn *data; /* NULL: pass the body, JSON, to done() */
	kube_done_fn *done;
	void *arg;
};

/* Called when all requests are held back, with the reason; and when they are no
 * longer held back, with NULL. For the log. */
typedef void kube_trouble_fn(const struct err *err, void *arg);

/*
 * Make a client. path, context: as for kube_config_load(). If the configuration
 * cannot be loaded, fn is told why, and loading is repeated. limits may be
 * NULL. Does not fail.
 */
struct kube_http *kube_http_new(struct event_base *base, const char *path,
                                const char *context,
                                const struct kube_limits *limits,
                                kube_trouble_fn *fn, void *arg);

/* Free without calling done(); not allowed in a callback. */
void kube_http_free(struct kube_http *http); /* NULL is allowed */

/*
 * Returns for how many ms from now on guarded requests may be sent; 0: not now.
 * Called before each guarded request is sent; if the result is 0, the request
 * fails with ETIMEDOUT.
 */
typedef int64_t kube_guard_fn(void *arg);
void kube_http_guard(struct kube_http *http, kube_guard_fn *fn, void *arg);

/* Send a request, or let it wait. Strings of the request are borrowed until
 * this returns. Does not fail: errors go to done(), which is called after this
 * has returned. */
struct kube_call *kube_http_send(struct kube_http *http,
                                 const struct kube_request *request);

/* Free the call without calling done(). If the request was already sent, it may
 * still take effect. */
void kube_http_cancel(struct kube_call *call);

/*
 * Stop or resume calling data(); allowed in data() itself. Until it is resumed,
 * nothing is read from the server.
 */
void kube_http_pause(struct kube_call *call, bool pause);

const struct err *kube_http_trouble(const struct kube_http *http); /* or NULL */

/* Returns the configuration in force, valid until control returns to the loop;
 * NULL: none yet. */
const struct kube_config *kube_http_config(const struct kube_http *http);

/* Returns the number of requests that wait to be sent. */
size_t kube_http_backlog(const struct kube_http *http);

/* Returns how often requests were sent since the start; for tests. */
uint64_t kube_http_sent(const struct kube_http *http);

/* Classes of answers: the first digit of the HTTP status; 0: no answer. */
enum { KUBE_CLASSES = 6 };

/* Returns the number of answers of this class to requests with this method
 * since the start. */
uint64_t kube_http_answered(const struct kube_http *http,
                            enum kube_method method, int class);

#endif
