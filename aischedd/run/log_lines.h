/*
 * log_lines.h - a log with a time before each line, as a cluster gives it
 *
 * The times tell a line of a log from what the API says in its place, and
 * where to go on when a connection broke: since() is the second to ask from,
 * and what was had of it before is dropped.  Lines are asked for by the second
 * and may be a little out of order, so it is the one before the last that is
 * asked for again.
 *
 * Pure.
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
	AT_OLD, /* in a line that was had before */
	AT_ODD  /* in what is no line of a log */
};

/* Zeroed: nothing was had yet. */
struct log_lines {
	bool keep_times; /* set it to have them passed on */

	/* What was had. */
	bool any;
	int64_t last_us;  /* the latest time of a line */
	uint64_t had[2];  /* whole lines in its second, in the one before */
	int64_t begun_us; /* of the line that is not whole yet */
	size_t begun;     /* bytes of it that were passed on */

	/* Of this source. */
	enum log_lines_at at;
	bool again, first; /* others are behind us; nothing came yet */
	uint64_t skip;     /* whole lines to drop */
	size_t drop;       /* bytes of this line likewise */
	int64_t now_us;    /* of this line */
	char stamp[LOG_STAMP_MAX];
	size_t stamp_len;
	char odd[160];
	size_t odd_len;
};

/* Another source begins: all of the log, or what is in it from since() on. */
void log_lines_begin(struct log_lines *lines);

/* The unix second to ask from; -1: from the beginning. */
int64_t log_lines_since(const struct log_lines *lines);

/*
 * What is new in these bytes goes to out.
 * Fails: ENODATA it is no log; the text is what it says.
 */
int log_lines_feed(struct log_lines *lines, const char *data, size_t len,
                   struct buf *out, struct err *err);

/* The source ended properly.  Fails as above. */
int log_lines_end(const struct log_lines *lines, struct err *err);

#endif
