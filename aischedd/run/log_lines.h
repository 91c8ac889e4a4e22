/*
 * log_lines.h - a log with a time before each line, as a cluster gives it
 *
 * The times distinguish lines of a log from an error text of the API, and allow
 * reading to continue after a broken connection: since() is the second to ask
 * from; what was already read of it is dropped. Lines can only be requested by
 * the second and may be slightly out of order, so the second before the last
 * one is requested again. Pure.
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
	AT_ODD  /* in text that is no line of a log */
};

/* All zero: nothing read yet. */
struct log_lines {
	bool keep_times; /* set it to pass times on */

	/* The lines read so far. */
	bool any;
	int64_t last_us;  /* latest time of a line */
	uint64_t had[2];  /* complete lines in its second, and in the one before
	                     that */
	int64_t begun_us; /* time of the incomplete line */
	size_t begun;     /* bytes of it passed on */

	/* The current source. */
	enum log_lines_at at;
	bool again, first; /* in repeated lines; nothing received yet */
	uint64_t skip;     /* complete lines to drop */
	size_t drop;       /* bytes of this line to drop */
	int64_t now_us;    /* time of this line */
	char stamp[LOG_STAMP_MAX];
	size_t stamp_len;
	char odd[160];
	size_t odd_len;
};

/* Begin another source: the whole log, or its part from since() on. */
void log_lines_begin(struct log_lines *lines);

/* The unix second to ask from; -1: from the beginning. */
int64_t log_lines_since(const struct log_lines *lines);

/*
 * Append the new part of these bytes to out. Fails with ENODATA if it is no
 * log; the error quotes it.
 */
int log_lines_feed(struct log_lines *lines, const char *data, size_t len,
                   struct buf *out, struct err *err);

/* Call it when the source ended properly. Fails likewise. */
int log_lines_end(const struct log_lines *lines, struct err *err);

#endif
