/*
 * visit.h - one request of a browser, until it is answered
 *
 * serve.c reads and answers HTTP; site.c decides the answer.
 */
#ifndef WEB_VISIT_H
#define WEB_VISIT_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/buf.h"
#include "web/link.h"

enum {
	VISIT_HEADER = 16 * 1024, /* bytes of request line and header */
	VISIT_BODY = 4096,        /* bytes of a body */
	VISIT_MS = 10000          /* until a request is whole, and answered */
};

struct event;
struct site_route;
struct site;

struct visit {
	struct site *site;
	struct MHD_Connection *connection;
	const char *method, *path; /* borrowed */
	const char *host;          /* the Host header */
	bool loopback;             /* the peer is on this machine */
	bool proxied;              /* it came to the socket of the proxy */
	bool trusted;              /* it is the proxy */
	uint64_t address;          /* hash of its address */
	struct buf body;
	bool too_long; /* the body */
	bool asked;    /* the site has seen it */

	/* of a session; or "=" and the user whom the proxy names; or "" */
	char cookie[66];
	bool named; /* the daemon has been told to look up this user */
	struct web_query *query; /* while the daemon is asked */
	const struct site_route *route;
	struct event *soon; /* of serve.c */
	int64_t began_ms;

	/* The answer; complete once status is set. */
	unsigned status;
	int retry_s;      /* of status 429: seconds until the next try */
	const char *type; /* static */
	const void *data; /* static, or owned by text */
	size_t len;
	struct buf text;
	char set_cookie[200]; /* "": none */
	bool store;           /* may be kept by the browser */
	bool zipped;
};

/* Answer with static bytes, or with text, which is taken. */
void visit_static(struct visit *v, const char *type, const void *data,
                  size_t len);
void visit_text(struct visit *v, unsigned status, const char *type,
                struct buf *text);
/* Answer with one line of JSON: {"error": ...} */
void visit_error(struct visit *v, unsigned status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* serve.c calls this once, when the request is complete. It sets a status, or
 * asks the daemon and calls visit_done() later. */
void site_visit(struct visit *v);
void visit_done(struct visit *v);

#endif
