/*
 * link.h - requests to the daemon over the socket pair that it gave us
 *
 * Frames as any tool sends them, but with the cookie of a session where others
 * have a credential. Answers come in the order of the requests.
 */
#ifndef WEB_LINK_H
#define WEB_LINK_H

#include <jansson.h>

#include "libcommon/buf.h"
#include "libcommon/err.h"

struct event_base;
struct web_link;
struct web_query;

/* The last frame of an answer and what came before it; or err.code is set. All
 * of it is borrowed for the call. */
struct web_answer {
	struct err err;
	const json_t *last;
	struct buf parts;
};

typedef void web_answer_fn(const struct web_answer *answer, void *arg);

/* gone: the daemon has ended. */
struct web_link *web_link_new(struct event_base *base, int fd,
                              void (*gone)(void));

/* Takes req. cookie: NULL if nobody has logged in. */
struct web_query *web_link_ask(struct web_link *link, json_t *req,
                               const char *cookie, web_answer_fn *fn,
                               void *arg);

/* The answer is no longer wanted. */
void web_query_forget(struct web_query *query);

#endif
