/*
 * visit.h - one request of a browser, until it is answered
 *
 * serve.c reads the request and sends the answer; site.c chooses the answer.
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
	VISIT_MS = 10000 /* time until a request is complete, and answered */
};

struct event;
struct site_route;
struct site;

struct visit {
	struct site *site;
	struct MHD_Connection *connection;
	const char *method, *path; /* owned by libmicrohttpd */
	const char *host;          /* the Host header */
	bool loopback;             /* the peer is on this machine */
	bool proxied;              /* it came over the socket for a proxy */
	bool trusted;              /* the peer may be the proxy */
	uint64_t address;          /* hash of its address */
	struct buf body;
	bool too_long; /* the body is longer than VISIT_BODY */
	bool asked;    /* site_visit() has been called */

	/* Cookie of a session; or "=" and the user whom the proxy names;
	 * or "". */
	char cookie[66];
	bool named; /* the daemon has been told to look up this user */
	/* The pending request to the daemon, or NULL. */
	struct web_query *query;
	const struct site_route *route;
	struct event *soon; /* makes serve.c run libmicrohttpd soon */
	int64_t began_ms;

	/* The answer; complete once status is set. */
	unsigned status;
	int retry_s;      /* for status 429: seconds until the next try */
	const char *type; /* a static string */
	const void *data; /* static, or owned by text */
	size_t len;
	struct buf text;
	char set_cookie[200]; /* "": none */
	bool store;           /* the browser may cache it */
	bool zipped;
};

/* Set the answer: static bytes, or a text, which visit_text() takes over. */
void visit_static(struct visit *v, const char *type, const void *data,
                  size_t len);
void visit_text(struct visit *v, unsigned status, const char *type,
                struct buf *text);
/* Answer with one line of JSON: {"error": ...} */
void visit_error(struct visit *v, unsigned status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Called once by serve.c, when the request is complete. Either sets the
 * answer, or sends a request to the daemon and calls visit_done() after it has
 * set the answer. */
void site_visit(struct visit *v);
void visit_done(struct visit *v);

#endif
