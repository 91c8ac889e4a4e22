/*
 * log_lines.h - a log with a time before each line, as a cluster gives it
 *
 * The times tell lines of a log from an error text of the API, and allow
 * reading to continue after a broken connection: log_lines_since() says from
 * which second to request the log again, and log_lines_feed() drops the lines
 * that were already read. The API takes only whole seconds, and lines may be
 * slightly out of order, so the second before that of the latest line is
 * requested again, too. Pure.
 */
#ifndef AISCHEDD_RUN_LOG_LINES_H
#define AISCHEDD_RUN_LOG_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/buf.h"
#include "libcommon/err.h"

enum { LOG_STAMP_MAX = 40 }; /* "2026-11-22T01:02:03.123456789+01:00 " */

enum log_lines_at {
	AT_STAMP, /* in the time before a line */
	AT_TEXT,
	AT_OLD, /* in a line that was read before */
	AT_ODD  /* in text without a time: no line of a log */
};

/* All zero: nothing read yet. */
struct log_lines {
	bool keep_times; /* set by the caller to get the times, too */

	/* The lines read so far. */
	bool any;
	int64_t last_us;  /* latest time of a line */
	uint64_t had[2];  /* complete lines read with a time in the second of
	                     last_us, and in the second before */
	int64_t begun_us; /* time of a line not read to its end */
	size_t begun;     /* bytes of that line already passed on */

	/* The current source. */
	enum log_lines_at at;
	/* again: among lines that an earlier source had, too; first: nothing
	 * received yet */
	bool again, first;
	uint64_t skip;  /* complete lines still to drop */
	size_t drop;    /* bytes of the current line still to drop */
	int64_t now_us; /* time of the current line */
	char stamp[LOG_STAMP_MAX];
	size_t stamp_len;
	char odd[160];
	size_t odd_len;
};

/* Begin to read another answer of the API: the whole log, or its part from
 * log_lines_since() on. */
void log_lines_begin(struct log_lines *lines);

/* Returns the unix second from which to request the log; -1: its beginning. */
int64_t log_lines_since(const struct log_lines *lines);

/*
 * Append to out the part of these bytes that was not read before. Fails with
 * ENODATA, and quotes the text, if it is no log.
 */
int log_lines_feed(struct log_lines *lines, const char *data, size_t len,
                   struct buf *out, struct err *err);

/* Check the end of an answer that was not cut off. Fails as log_lines_feed().
 */
int log_lines_end(const struct log_lines *lines, struct err *err);

#endif
