/*
 * buf.h - growing buffers
 *
 * A zeroed struct buf is empty. data is always followed by a zero byte once
 * anything was added, so text can be used as a string.
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

/* Append a decimal number, without printf: a listing of 100,000 rows has
 * many. */
void buf_i64(struct buf *buf, int64_t value);

/* Append a JSON string with its quotes; bytes that are not UTF-8 become
 * U+FFFD. */
void buf_json(struct buf *buf, const char *s);

/* Returns a place for at least len more bytes; buf_grew() says how many of them
 * were filled. */
char *buf_room(struct buf *buf, size_t len);
void buf_grew(struct buf *buf, size_t len);

void buf_clear(struct buf *buf); /* keeps the memory */
void buf_free(struct buf *buf);  /* it is empty again */

/* Returns the text as a heap string, never NULL; buf is empty again. */
char *buf_take(struct buf *buf);

/* Returns the next line from *at on, without its newline, and moves *at
 * behind it; NULL at the end.  *at may be NULL. */
const char *text_line(const char **at, size_t *ret_len);

#endif
