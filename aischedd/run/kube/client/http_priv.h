/*
 * http_priv.h - the inside of http.c, for the other files of the client
 *
 * http.c decides when a call is sent, and keeps what all calls share:
 * configuration, credentials, trouble.
 */
#ifndef AISCHEDD_RUN_KUBE_CLIENT_HTTP_PRIV_H
#define AISCHEDD_RUN_KUBE_CLIENT_HTTP_PRIV_H

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>

#include "aischedd/run/kube/client/call.h"
#include "aischedd/run/kube/client/credential.h"
#include "aischedd/run/kube/client/curl.h"
#include "aischedd/run/kube/client/http.h"
#include "aischedd/run/kube/client/kubeconfig.h"
#include "aischedd/run/kube/client/load.h"
#include "aischedd/run/kube/client/plugin.h"

enum { KUBE_WAIT_MAX_S = 120 /* longest wait that a server can ask for */ };

struct kube_http {
	struct event_base *base;
	char *path, *context;
	struct kube_limits limits;
	kube_trouble_fn *fn;
	void *arg;
	kube_guard_fn *guard; /* NULL: no guarded call may be sent */
	void *guard_arg;
	struct kube_curl *curl;
	struct event *pump;

	struct kube_config *config; /* NULL: not loaded yet */
	bool stale; /* read the kubeconfig and its files before the next try */
	struct kube_load *load; /* the reading in progress; or NULL */
	bool awaits_load;       /* calls wait for its result */
	int64_t loaded_ms;      /* when a reading last began or ended */
	struct kube_credential credential; /* from the plugin */
	/* when to renew the credential, in unix seconds, if it expires */
	int64_t renew_at;
	struct kube_plugin_run *run; /* the running plugin; or NULL */
	uint64_t badge; /* counts changes of the credentials in use */
	/* when a relayed call last renewed the credentials; or 0 */
	int64_t doubted_ms;

	struct calls waiting[KUBE_NRANKS], resting, flying, ended;
	size_t nwaiting;
	/* calls in flight, without watches and followed logs */
	unsigned nflying;
	/* calls in flight that the server has not answered yet */
	unsigned ntrying;
	uint64_t nsent;
	uint64_t answered[KUBE_METHODS][KUBE_CLASSES];

	struct err trouble; /* why calls are held back; code 0: they are not */
	unsigned failures;  /* failures in a row */
	int64_t failed_ms;  /* when the last failure was */
	int64_t closed_until; /* end of the pause after failures */
	int64_t busy_until;   /* end of the pause that the server asked for */
	uint64_t noise;       /* state of the random numbers */
};

/* Returns ms plus up to a quarter more. */
int64_t kube_http_jitter(struct kube_http *http, int64_t ms);
int64_t kube_http_backoff(struct kube_http *http, unsigned tries);

/* Returns for how many ms guarded calls may be sent; 0: not now. */
int64_t kube_http_guarded_ms(struct kube_http *http);

/* Send waiting calls soon. */
void kube_http_pump(struct kube_http *http);

/* Note that the server has answered a call: it works, so end any trouble. */
void kube_http_recovered(struct kube_http *http);

/* Note that a call sent at started_ms failed for a reason that concerns all
 * calls, and hold them back; wait_ms: the pause that the server asked for, or
 * -1. */
void kube_http_failed(struct kube_http *http, int64_t started_ms,
                      int64_t wait_ms, const struct err *err);

/* Hold back all calls for the pause that the server asks for. */
void kube_http_busy(struct kube_http *http, int64_t wait_ms);

/* Put the call into the queue of its rank: at the front if `first`, else at the
 * end. */
void kube_http_enqueue(struct kube_call *call, bool first);

#endif
