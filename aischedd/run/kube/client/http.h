/*
 * http.h - requests to one API server, in order of urgency
 *
 * Requests wait in queues and go out a bounded number at a time; connections
 * are kept.  What a server says about itself (slow down, not now, who are
 * you) holds all of them back, and what is worth another try is tried again,
 * so that callers see answers.  An unreachable server, a refused certificate,
 * lost credentials and a kubeconfig that cannot be read are one trouble for
 * all: told once, tried again by one request at a time, over when it is
 * mended.  Files are read again whenever something is wrong, and every
 * minute.
 *
 * A POST may reach the server although its answer is lost, and is sent again:
 * give objects names, and take EEXIST for what it may mean.
 *
 * All on the loop's thread, which never waits.
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
 * How urgent: lease, stop, start, read, clean, note.  The most urgent goes
 * first; one that has waited for long goes before more urgent ones that came
 * much later, so that nothing waits for ever.
 */
enum kube_rank {
	KUBE_START, /* Job, Secret, Binding */
	KUBE_STOP,  /* what makes room: preemption, cancel */
	KUBE_LEASE, /* goes out at once, whatever else is the matter */
	KUBE_READ,  /* lists, logs */
	KUBE_CLEAN, /* deletion of what has ended */
	KUBE_NOTE,  /* Events, conditions */
	KUBE_NRANKS
};

struct kube_limits {
	unsigned inflight;  /* requests at a time, streams not counted */
	int64_t try_ms;     /* until a try is given up for dead */
	int64_t plugin_ms;  /* until an exec plugin is killed */
	int64_t backoff_ms; /* after the first failure; doubles */
	int64_t backoff_max_ms;
	int64_t reload_ms; /* files are read again that often */
	size_t body;       /* bytes of an answer that is not a stream */
};

extern const struct kube_limits kube_limits_default;

struct kube_answer {
	int code;              /* of HTTP; 0: there was none */
	json_t *body;          /* borrowed; NULL: none, or data() had it */
	const char *reason;    /* of a refusal: "AlreadyExists"; "": none */
	const struct err *err; /* NULL: success; codes as kube_status_read() */
};

/* Called once for each request, from the loop; the call is not used after. */
typedef void kube_done_fn(const struct kube_answer *answer, void *arg);

/* The body of a success, as it comes.  -1 with *err set ends the request. */
typedef int kube_data_fn(const void *data, size_t len, void *arg,
                         struct err *err);

struct kube_request {
	enum kube_method method;
	enum kube_rank rank;
	const char *path;   /* "/api/v1/nodes?limit=5" */
	const json_t *body; /* or NULL */
	/* All in all, waiting and tries; 0: however long the server is away. */
	int64_t deadline_ms;
	bool guarded; /* only as long as kube_http_guard() says */
	bool once;    /* whatever comes is the answer; no second try */
	/* May last (watch, list, followed log): does not count as one in
	 * flight, and is dead when it is silent for so long; 0: ordinary. */
	int64_t silence_ms;
	bool gzip; /* large enough to be compressed */
	/* The server has the answer, of any type, from a node: when there is
	 * none, that is no trouble of the server. */
	bool relayed;
	kube_data_fn *data; /* NULL: the body is JSON, for done() */
	kube_done_fn *done;
	void *arg;
};

/* Something holds all requests back; NULL: no longer.  For the log. */
typedef void kube_trouble_fn(const struct err *err, void *arg);

/*
 * path, context: as kube_config_load() takes them; a configuration that does
 * not load is trouble, not failure.  limits may be NULL.  Cannot fail.
 */
struct kube_http *kube_http_new(struct event_base *base, const char *path,
                                const char *context,
                                const struct kube_limits *limits,
                                kube_trouble_fn *fn, void *arg);

/* Not from a callback; done() is not called. */
void kube_http_free(struct kube_http *http); /* NULL is fine */

/*
 * For how many ms from now on guarded requests may go out; 0: none may.  Asked
 * before each of them does; one that waits when that is 0 is answered with
 * ETIMEDOUT.
 */
typedef int64_t kube_guard_fn(void *arg);
void kube_http_guard(struct kube_http *http, kube_guard_fn *fn, void *arg);

/* Texts of the request are borrowed for the call.  Cannot fail: done() tells,
 * and not before this has returned. */
struct kube_call *kube_http_send(struct kube_http *http,
                                 const struct kube_request *request);

/* done() will not be called; what was sent may happen all the same. */
void kube_http_cancel(struct kube_call *call);

/*
 * Let data() have nothing for a while; from data() itself, too, for what
 * comes next.  What the server sends meanwhile waits there, not here.
 */
void kube_http_pause(struct kube_call *call, bool pause);

const struct err *kube_http_trouble(const struct kube_http *http); /* or NULL */

/* The configuration in force, until the loop goes on; NULL: none yet. */
const struct kube_config *kube_http_config(const struct kube_http *http);

/* Requests that have not gone out yet. */
size_t kube_http_backlog(const struct kube_http *http);

/* Requests sent since the start, tries counted; for tests and metrics. */
uint64_t kube_http_sent(const struct kube_http *http);

#endif
