/*
 * reader.h - history is read on a thread of its own
 *
 * A question goes in on the loop's thread; it is answered on the reader's,
 * with a connection of its own, and `done` is called on the loop's again.
 */
#ifndef AISCHEDD_READER_H
#define AISCHEDD_READER_H

#include "aischedd/store/store.h"

struct event_base;
struct reader;

struct question {
	struct history_query query;
	past_job_fn *row; /* on the reader's thread */
	void (*done)(struct question *q);
	void *arg;
	int result; /* of store_history() */
	struct err err;
	struct question *next; /* the reader's */
};

struct reader *reader_new(struct event_base *base, const char *store_path,
                          struct err *err);
void reader_free(struct reader *reader); /* questions are dropped; NULL */

/* q stays the caller's and must live until done. */
void reader_ask(struct reader *reader, struct question *q);

#endif
