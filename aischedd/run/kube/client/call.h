/*
 * call.h - one request to the API server, and each attempt to send it
 */
#ifndef AISCHEDD_RUN_KUBE_CLIENT_CALL_H
#define AISCHEDD_RUN_KUBE_CLIENT_CALL_H

#include <event2/event.h>
#include <sys/queue.h>

#include "aischedd/run/kube/client/curl.h"
#include "aischedd/run/kube/client/http.h"
#include "libcommon/buf.h"

enum call_state {
	CALL_WAITING, /* in the queue of its rank */
	CALL_RESTING, /* waits for the time of its next try */
	CALL_FLYING,
	CALL_ENDED /* cancelled inside a callback of libcurl, freed after it */
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

	struct event *timer; /* for the deadline, the next try or silence */
	/* the waiting call with the least due_ms is sent next */
	int64_t due_ms;
	/* deadline; 0: none; for a guarded call, what the guard last allowed */
	int64_t until_ms;
	unsigned tries;
	/* credentials were renewed because the server rejected this call */
	bool renewed;
	struct err last; /* error of the last try; code 0: no try yet */

	/* The current try. */
	struct kube_transfer transfer;
	struct kube_socket *socket; /* the WebSocket that it opens, or NULL */
	int64_t started_ms;
	uint64_t badge; /* the value of http->badge when it was sent */
	struct buf in;
	size_t head; /* bytes of headers so far */
	bool heard;  /* the headers of the response have arrived */
	bool gave;   /* data() was called */
	bool paused; /* data() must not be called now */
	/* why we stopped reading the response; code 0: we did not */
	struct err broken;
};

TAILQ_HEAD(calls, kube_call);

struct kube_call *kube_call_new(struct kube_http *http,
                                const struct kube_request *request);
void kube_call_free(struct kube_call *call); /* also removes it from its list */
void kube_call_launch(struct kube_call *call);
void kube_call_rest(struct kube_call *call, int64_t ms);
void kube_call_set_timer(struct kube_call *call,
                         int64_t at_ms); /* 0: no timer */

/* Note that the server has answered the current try. */
void kube_call_heard(struct kube_call *call);

/* End the current try and free what it used, whatever its result was. */
void kube_call_land(struct kube_call *call);

/* Remove the call from the list it is in. */
void kube_call_leave(struct kube_call *call);

/* Whether its deadline has passed. For a guarded call, asks the guard again,
 * which may allow more time by now. */
bool kube_call_is_late(struct kube_call *call);

/* Call done() and free the call, which must be in no list. */
void kube_call_answer(struct kube_call *call, const struct kube_answer *what);
void kube_call_answer_failure(struct kube_call *call, int code,
                              const char *reason, const struct err *err);
/* answer that its deadline has passed */
void kube_call_give_up(struct kube_call *call);

#endif
