/*
 * buf.h - growing buffers
 *
 * A zeroed struct buf is empty. After the first addition, a zero byte always
 * follows the len bytes of data, so that a text can be used as a string.
 */
#ifndef LIBCOMMON_BUF_H
#define LIBCOMMON_BUF_H

#include <stddef.h>
#include <stdint.h>

struct buf {
	char *data;
	size_t len, cap;
};

void buf_add(struct buf *buf, const void *data, size_t len);
void buf_addc(struct buf *buf, char c);
void buf_puts(struct buf *buf, const char *s);
void buf_printf(struct buf *buf, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Append a decimal number. This is faster than buf_printf(), which matters in a
 * listing of 100,000 rows. */
void buf_i64(struct buf *buf, int64_t value);

/* Append a JSON string with its quotes. Characters that a terminal may execute
 * are escaped, see text_is_hidden(); bytes that are not UTF-8 become U+FFFD. */
void buf_json(struct buf *buf, const char *s);

/* Returns a pointer to free space of at least len bytes at the end of the text.
 * After writing bytes there, call buf_grew() with their number. */
char *buf_room(struct buf *buf, size_t len);
void buf_grew(struct buf *buf, size_t len);

void buf_clear(struct buf *buf); /* keeps the memory */
void buf_free(struct buf *buf);  /* leaves an empty, usable buffer */

/* Returns the text, never NULL, which the caller must free(); buf is
 * empty afterwards. */
char *buf_take(struct buf *buf);

/* Returns the line that begins at *at, sets *ret_len to its length without the
 * newline, and moves *at behind it. Returns NULL at the end of the text, or if
 * *at is NULL. */
const char *text_line(const char **at, size_t *ret_len);

#endif
