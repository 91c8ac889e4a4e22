/* log_lines.c - read a log from a cluster, with a time before each line */
#include "aischedd/run/log_lines.h"

#include <string.h>

#include "libcommon/rfc3339.h"

enum { US = 1000000 };

/* --- position in the log --- */

static int64_t second_of(int64_t us)
{
	return us / US;
}

/* Count a line that was read completely, if its time is in the last second that
 * was read or in the second before. */
static void count(struct log_lines *l, int64_t us)
{
	int64_t last = second_of(l->last_us);

	if (second_of(us) == last)
		l->had[0]++;
	else if (second_of(us) == last - 1)
		l->had[1]++;
	l->begun = 0;
}

/* Store the time of the line that begins, which may be earlier than that of the
 * latest line. */
static void advance(struct log_lines *l, int64_t us)
{
	int64_t step = second_of(us) - second_of(l->last_us);

	l->begun_us = us;
	if (l->any && us <= l->last_us)
		return;
	if (!l->any || step > 0) {
		l->had[1] = l->any && step == 1 ? l->had[0] : 0;
		l->had[0] = 0;
	}
	l->any = true;
	l->last_us = us;
}

int64_t log_lines_since(const struct log_lines *l)
{
	return l->any ? second_of(l->last_us) - 1 : -1;
}

void log_lines_begin(struct log_lines *l)
{
	l->at = AT_STAMP;
	l->again = l->any;
	l->first = true;
	l->skip = l->had[0] + l->had[1];
	l->drop = 0;
	l->stamp_len = l->odd_len = 0;
}

/* --- parsing one line --- */

/* Whether the line that begins now was already read completely. If only a part
 * of the line was read, sets l->drop to that many bytes. */
static bool is_old(struct log_lines *l)
{
	l->drop = 0;
	if (!l->again)
		return false;
	if (l->now_us > l->last_us) {
		/* A line later than all read so far is new, even if
		 * lines before it are missing because the log was
		 * truncated meanwhile. */
		l->again = false;
		return false;
	}
	if (second_of(l->now_us) < log_lines_since(l))
		return true;
	if (l->skip) {
		l->skip--;
		return true;
	}
	l->again = false;
	if (l->begun && l->now_us == l->begun_us)
		l->drop = l->begun;
	return false;
}

static void begin_line(struct log_lines *l, struct buf *out)
{
	l->first = false;
	if (is_old(l)) {
		l->at = AT_OLD;
		return;
	}
	l->at = AT_TEXT;
	if (!l->drop) {
		l->begun = 0;
		advance(l, l->now_us);
		if (l->keep_times)
			buf_add(out, l->stamp, l->stamp_len);
	}
}

/* Collect the time before a line, as in "2026-11-22T01:02:03.123456789Z ". When
 * the time is complete, begin the line. Other text is not part of a log. */
static void add_stamp(struct log_lines *l, char c, struct buf *out)
{
	bool whole = c == ' ';

	if (l->stamp_len < sizeof(l->stamp) - 1)
		l->stamp[l->stamp_len++] = c;
	if (!whole && c != '\n' && l->stamp_len < sizeof(l->stamp) - 1)
		return;
	l->stamp[l->stamp_len - 1] = '\0';
	if (whole && rfc3339_parse(l->stamp, &l->now_us, NULL) == 0) {
		l->stamp[l->stamp_len - 1] = ' ';
		begin_line(l, out);
		return;
	}
	l->stamp[l->stamp_len - 1] = c;
	memcpy(l->odd, l->stamp, l->stamp_len);
	l->odd_len = l->stamp_len - (c == '\n');
	l->at = AT_ODD;
}

static int refuse(const char *text, size_t len, struct err *err)
{
	return err_set(err, ENODATA, "%.*s", (int)len, text);
}

/* End a line. Text without a time is an error, except at the beginning of a log
 * that is requested again from some second on: the first bytes may be the rest
 * of an older line. */
static int end_line(struct log_lines *l, struct err *err)
{
	if (l->at == AT_ODD && !(l->first && l->again))
		return refuse(l->odd, l->odd_len, err);
	if (l->at == AT_TEXT)
		count(l, l->now_us);
	l->first = false;
	l->at = AT_STAMP;
	l->stamp_len = l->odd_len = 0;
	return 0;
}

static void add_odd(struct log_lines *l, const char *data, size_t len)
{
	size_t room = sizeof(l->odd) - l->odd_len;

	len = len < room ? len : room;
	memcpy(l->odd + l->odd_len, data, len);
	l->odd_len += len;
}

/* Append the rest of a line to out, without the bytes that were
 * already read. */
static void add_text(struct log_lines *l, const char *data, size_t len,
                     struct buf *out)
{
	size_t drop = l->drop < len ? l->drop : len;

	l->drop -= drop;
	buf_add(out, data + drop, len - drop);
	l->begun += len - drop;
}

int log_lines_feed(struct log_lines *l, const char *data, size_t len,
                   struct buf *out, struct err *err)
{
	const char *end = data + len;

	while (data < end) {
		const char *eol;
		size_t n;

		if (l->at == AT_STAMP) {
			add_stamp(l, *data++, out);
			if (l->at == AT_ODD && data[-1] == '\n' &&
			    end_line(l, err) < 0)
				return -1;
			continue;
		}
		eol = memchr(data, '\n', (size_t)(end - data));
		n = (size_t)((eol ? eol + 1 : end) - data);
		if (l->at == AT_TEXT)
			add_text(l, data, n, out);
		else if (l->at == AT_ODD)
			add_odd(l, data, n - (eol != NULL));
		data += n;
		if (eol && end_line(l, err) < 0)
			return -1;
	}
	return 0;
}

int log_lines_end(const struct log_lines *l, struct err *err)
{
	if (l->at == AT_ODD)
		return refuse(l->odd, l->odd_len, err);
	if (l->at == AT_STAMP && l->stamp_len)
		return refuse(l->stamp, l->stamp_len, err);
	return 0;
}
