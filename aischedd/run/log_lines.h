/*
 * log_lines.h - read a log from a cluster, with a time before each line
 *
 * A text without times is an error message of the API, not a log. The times
 * also let reading continue after a broken connection: log_lines_since() says
 * from which second on to request the log again, and log_lines_feed() drops
 * the lines that were already read. The API accepts only whole seconds, and
 * lines may be slightly out of order, so the log is requested from one second
 * before that of the latest line. Pure.
 */
#ifndef AISCHEDD_RUN_LOG_LINES_H
#define AISCHEDD_RUN_LOG_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/buf.h"
#include "libcommon/err.h"

/* bytes of a time such as "2026-11-22T01:02:03.123456789+01:00 " */
enum { LOG_STAMP_MAX = 40 };

enum log_lines_at {
	AT_STAMP, /* the time before a line */
	AT_TEXT,
	/* a line that was read in an earlier answer */
	AT_OLD,
	/* text without a time, which is not a line of a log */
	AT_ODD
};

/* Where reading has got to. All zero: nothing was read yet. */
struct log_lines {
	/* set by the caller if the output should include the times */
	bool keep_times;

	/* The lines read so far. any: at least one line was begun. */
	bool any;
	int64_t last_us; /* latest time of a line */
	/* how many complete lines were read with a time in the second of
	 * last_us, and how many in the second before */
	uint64_t had[2];
	/* time of the last line that was begun */
	int64_t begun_us;
	/* bytes of that line that were passed on */
	size_t begun;

	/* The answer of the API that is being read. */
	enum log_lines_at at;
	/* again: the next line may be one of an earlier answer; first: no line
	 * of this answer was read yet */
	bool again, first;
	/* complete lines that are still to be dropped */
	uint64_t skip;
	/* bytes of the current line that are still to be dropped */
	size_t drop;
	int64_t now_us; /* time of the current line */
	char stamp[LOG_STAMP_MAX];
	size_t stamp_len;
	char odd[160];
	size_t odd_len;
};

/* Begin to read another answer of the API, which has the whole log or its part
 * from log_lines_since() on. */
void log_lines_begin(struct log_lines *lines);

/* Returns the Unix second from which to request the log; -1: from
 * its beginning. */
int64_t log_lines_since(const struct log_lines *lines);

/* Append to out the part of the data that was not read before. If the data is
 * no log, fails with ENODATA and the data as the error's text. */
int log_lines_feed(struct log_lines *lines, const char *data, size_t len,
                   struct buf *out, struct err *err);

/* Call this at the end of an answer: fails as log_lines_feed() if the answer is
 * no log, or ends in the middle of a line's time. */
int log_lines_end(const struct log_lines *lines, struct err *err);

#endif
