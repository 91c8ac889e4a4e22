/*
 * call.h - the insides of a client: what its files share
 *
 * http.c decides when a call goes out, and keeps what all calls need:
 * configuration, credentials, trouble.  call.c is one call and a try of
 * it, outcome.c what came of that, and whether there is another.
 */
#ifndef AISCHEDD_RUN_KUBE_CLIENT_CALL_H
#define AISCHEDD_RUN_KUBE_CLIENT_CALL_H

#include <event2/event.h>
#include <sys/queue.h>

#include "aischedd/run/kube/client/curl.h"
#include "aischedd/run/kube/client/http.h"
#include "aischedd/run/kube/client/plugin.h"

enum call_state {
	CALL_WAITING, /* in its rank's queue */
	CALL_RESTING, /* until it is tried again */
	CALL_FLYING,
	CALL_ENDED /* cancelled while libcurl was calling back */
};

struct kube_call {
	TAILQ_ENTRY(kube_call) of_list;
	struct kube_http *http;
	enum call_state state;
	enum kube_method method;
	enum kube_rank rank;
	char *path, *body; /* body: NULL or JSON */
	bool once, gzip, relayed, guarded;
	int64_t deadline_ms, silence_ms;
	kube_data_fn *data;
	kube_done_fn *done;
	void *arg;

	struct event *timer; /* deadline, rest or silence */
	int64_t due_ms;      /* its place among other ranks */
	int64_t until_ms;    /* 0: no deadline; guarded: as of the last look */
	unsigned tries;
	bool renewed;    /* the credentials, for this one */
	struct err last; /* of the last try; code 0: there was none */

	/* Of the current try. */
	struct kube_transfer transfer;
	int64_t started_ms;
	uint64_t badge; /* http->badge that it went with */
	struct buf in;
	size_t head;       /* bytes of headers */
	bool heard;        /* all headers came */
	bool gave;         /* data() was called */
	bool paused;       /* data() is not to be */
	struct err broken; /* why we do not go on reading; code 0: we do */
};

TAILQ_HEAD(calls, kube_call);

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

/* --- of http.c --- */

/* ms and up to a quarter more. */
int64_t http_jitter(struct kube_http *http, int64_t ms);
int64_t http_backoff(struct kube_http *http, unsigned tries);

/* For how long what is guarded may go out; 0: not at all. */
int64_t http_guarded_ms(struct kube_http *http);

/* Look whether calls can go out, soon. */
void http_pump(struct kube_http *http);

/* A server that works has answered. */
void http_recovered(struct kube_http *http);

/* Nothing works, as a try that began at started_ms has shown; wait_ms: as
 * the server asks, or -1. */
void http_failed(struct kube_http *http, int64_t started_ms, int64_t wait_ms,
                 const struct err *err);

/* The server asks for a pause. */
void http_busy(struct kube_http *http, int64_t wait_ms);

/* Into the queue of its rank; first: before the others there. */
void http_enqueue(struct kube_call *call, bool first);

/* --- of who.c --- */

/* What calls identified with at that time is not accepted. */
void http_renew(struct kube_http *http, uint64_t badge);

/* Whether a call can go out now; if not, what is missing is on its way. */
bool http_is_ready(struct kube_http *http, int64_t now);

/* --- of call.c --- */

struct kube_call *call_new(struct kube_http *http,
                           const struct kube_request *request);
void call_free(struct kube_call *call); /* out of its list, too */
void call_launch(struct kube_call *call);
void call_rest(struct kube_call *call, int64_t ms);
void call_set_timer(struct kube_call *call, int64_t at_ms); /* 0: none */

/* The try is over, whatever came of it. */
void call_land(struct kube_call *call);

/* Take it out of whatever list it is in. */
void call_leave(struct kube_call *call);

/* The guard may have more time to give than when it was asked last. */
bool call_is_late(struct kube_call *call);

/* Tell the caller; the call is in no list, and then no more. */
void call_answer(struct kube_call *call, const struct kube_answer *what);
void call_answer_failure(struct kube_call *call, int code, const char *reason,
                         const struct err *err);
void call_give_up(struct kube_call *call); /* its time is up */

/* --- of outcome.c --- */

/* As libcurl says; of one that was flying. */
void call_tried(struct kube_call *call, CURLcode code);

#endif
