/*
 * http_priv.h - the inside of http.c, for the other files of a client
 *
 * http.c decides when a call goes out, and keeps what all calls need:
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
#include "aischedd/run/kube/client/plugin.h"

struct kube_http {
	struct event_base *base;
	char *path, *context;
	struct kube_limits limits;
	kube_trouble_fn *fn;
	void *arg;
	kube_guard_fn *guard; /* NULL: nothing guarded may go out */
	void *guard_arg;
	struct kube_curl *curl;
	struct event *pump;

	struct kube_config *config; /* NULL: not loaded yet */
	bool stale;                 /* files are read before the next try */
	int64_t loaded_ms;
	struct kube_credential credential; /* of the plugin */
	int64_t renew_at;                  /* unix s, if it expires */
	struct kube_plugin_run *run;       /* it runs */
	uint64_t badge; /* counts changes of what calls identify with */

	struct calls waiting[KUBE_NRANKS], resting, flying, ended;
	size_t nwaiting;
	unsigned nflying; /* without streams */
	unsigned ntrying; /* that no answer began for */
	uint64_t nsent;

	struct err trouble;   /* code 0: none */
	unsigned failures;    /* in a row */
	int64_t failed_ms;    /* the last one */
	int64_t closed_until; /* after failures */
	int64_t busy_until;   /* as the server asked */
	uint64_t noise;       /* state of jitter */
};

/* ms and up to a quarter more. */
int64_t kube_http_jitter(struct kube_http *http, int64_t ms);
int64_t kube_http_backoff(struct kube_http *http, unsigned tries);

/* For how long what is guarded may go out; 0: not at all. */
int64_t kube_http_guarded_ms(struct kube_http *http);

/* Look whether calls can go out, soon. */
void kube_http_pump(struct kube_http *http);

/* A server that works has answered. */
void kube_http_recovered(struct kube_http *http);

/* Nothing works, as a try that began at started_ms has shown; wait_ms: as
 * the server asks, or -1. */
void kube_http_failed(struct kube_http *http, int64_t started_ms,
                      int64_t wait_ms, const struct err *err);

/* The server asks for a pause. */
void kube_http_busy(struct kube_http *http, int64_t wait_ms);

/* Into the queue of its rank; first: before the others there. */
void kube_http_enqueue(struct kube_call *call, bool first);

#endif
