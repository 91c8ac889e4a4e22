/*
 * listing.h - rows for aiq: jobs, attempts, nodes, queues, shares
 *
 * One table of fields for each kind of row gives both forms: JSON objects, and
 * values between tabs. Rows are written straight into a buffer: a JSON tree of
 * 100,000 jobs would take a second.
 */
#ifndef AISCHEDD_READ_LISTING_H
#define AISCHEDD_READ_LISTING_H

#include <jansson.h>
#include <stdbool.h>

#include "aischedd/read/shares.h"
#include "aischedd/state/cluster/used.h"
#include "aischedd/state/state.h"
#include "aischedd/store/store.h"
#include "libcommon/buf.h"
#include "libcommon/err.h"

enum listing_kind {
	LIST_JOBS,
	LIST_NODES,
	LIST_QUEUES,
	LIST_SHARES,
	LIST_ATTEMPTS,
	LIST_CRONS /* written by aischedd/op/cron.c; has no fields */
};

enum { LISTING_FIELDS = 120 };

/* The fields of each row and the form of rows that a request asks for. */
struct listing {
	enum listing_kind kind;
	bool json;
	size_t nfields;
	uint8_t field[LISTING_FIELDS];
};

/* Read which fields and form are requested. fields: array of names, or NULL for
 * the usual ones; format: "json" or "tsv". Fails with EINVAL. */
int listing_new(struct listing *ret, enum listing_kind kind, json_t *fields,
                const char *format, struct err *err);

/* Append one row and a newline. */
void listing_job(const struct listing *l, const struct state *state,
                 const struct job *job, int64_t now, struct buf *out);
void listing_past(const struct listing *l, const struct past_job *past,
                  struct buf *out);
void listing_attempt(const struct listing *l, const struct past_attempt *past,
                     struct buf *out);
void listing_node(const struct listing *l, const struct state *state,
                  uint32_t node, const struct node_left *left, int64_t now,
                  struct buf *out);
void listing_queue(const struct listing *l, const struct state *state,
                   uint32_t queue, struct buf *out);
void listing_share(const struct listing *l, const struct state *state,
                   const struct share_row *row, struct buf *out);

/* Append the path of the file with the output of a task. place: the name of the
 * task's node; a ':' and what follows it are ignored. */
void listing_output(const struct job *job, const char *user, const char *place,
                    uint32_t task, bool want_error, struct buf *out);

#endif
