/*
 * link.h - requests to the daemon over the socket pair that it gave us
 *
 * Frames are those of other tools, but with the cookie of a session in place of
 * a credential. Answers come in any order, each with its request's number, so a
 * slow request delays no other. The daemon gets only a few requests of one
 * visitor at a time; the others wait here.
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

/* Takes the last frame of an answer and what came before it, or an error
 * (err.code). All of it is borrowed for the call. */
struct web_answer {
	struct err err;
	const json_t *last;
	struct buf parts;
};

typedef void web_answer_fn(const struct web_answer *answer, void *arg);

/* gone is called when the daemon has ended. */
struct web_link *web_link_new(struct event_base *base, int fd,
                              void (*gone)(void));
/* Pending requests are never answered. */
void web_link_free(struct web_link *link);

/* Send a request, which is taken. cookie: NULL if nobody has logged in.
 * visitor: a number for whoever asks, by which requests are counted. */
struct web_query *web_link_ask(struct web_link *link, json_t *req,
                               const char *cookie, uint64_t visitor,
                               web_answer_fn *fn, void *arg);

/* Returns how many requests of a visitor have no answer yet. */
size_t web_link_count(const struct web_link *link, uint64_t visitor);

/* Forget a request whose answer is no longer wanted. */
void web_query_forget(struct web_query *query);

#endif
