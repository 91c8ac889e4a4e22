/*
 * link.h - requests to the daemon over the socket pair inherited from it
 *
 * Frames are like those of other tools, but with the cookie of a session in
 * place of a credential. Answers come in any order, each with its request's
 * number, so a slow request delays no other. Only a few requests of one visitor
 * are sent to the daemon at a time; the others wait here.
 */
#ifndef WEB_LINK_H
#define WEB_LINK_H

#include <jansson.h>
#include <stdint.h>

#include "libcommon/buf.h"
#include "libcommon/err.h"

struct event_base;
struct web_link;
struct web_query;

/* The last frame of an answer and the parts before it, or an error if err.code
 * is not 0. Valid only while the web_answer_fn is called. */
struct web_answer {
	struct err err;
	const json_t *last;
	struct buf parts;
};

typedef void web_answer_fn(const struct web_answer *answer, void *arg);

/* Use the socket fd; gone() is called when the daemon has ended. */
struct web_link *web_link_new(struct event_base *base, int fd,
                              void (*gone)(void));
/* Free a link; the functions of pending requests are never called. */
void web_link_free(struct web_link *link);

/* Send a request, and free it; fn is called with the answer. cookie is NULL if
 * nobody has logged in. visitor is a number by which the requests of one
 * visitor are counted. */
struct web_query *web_link_ask(struct web_link *link, json_t *req,
                               const char *cookie, uint64_t visitor,
                               web_answer_fn *fn, void *arg);

/* Returns how many requests of a visitor have no answer yet. */
size_t web_link_count(const struct web_link *link, uint64_t visitor);

/* Drop a request: its function will not be called. */
void web_query_forget(struct web_query *query);

#endif
