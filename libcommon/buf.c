/* buf.c - growing buffers */
#include "libcommon/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/clean.h"
#include "libcommon/mem.h"

char *buf_room(struct buf *buf, size_t len)
{
	if (buf->cap - buf->len < len + 1) {
		size_t cap = buf->cap ? buf->cap : 64;

		while (cap - buf->len < len + 1)
			cap *= 2;
		buf->data = xrealloc(buf->data, cap, 1);
		buf->cap = cap;
	}
	return buf->data + buf->len;
}

void buf_grew(struct buf *buf, size_t len)
{
	buf->len += len;
	buf->data[buf->len] = '\0';
}

void buf_add(struct buf *buf, const void *data, size_t len)
{
	char *p = buf_room(buf, len);

	if (len)
		memcpy(p, data, len);
	buf_grew(buf, len);
}

void buf_addc(struct buf *buf, char c)
{
	buf_add(buf, &c, 1);
}

void buf_puts(struct buf *buf, const char *s)
{
	buf_add(buf, s, strlen(s));
}

void buf_printf(struct buf *buf, const char *fmt, ...)
{
	va_list ap, again;
	char *p = buf_room(buf, 128);
	int len;

	va_start(ap, fmt);
	va_copy(again, ap);
	len = vsnprintf(p, 128, fmt, ap);
	if (len >= 128) {
		p = buf_room(buf, (size_t)len);
		vsnprintf(p, (size_t)len + 1, fmt, again);
	}
	va_end(again);
	va_end(ap);
	if (len > 0)
		buf_grew(buf, (size_t)len);
}

void buf_i64(struct buf *buf, int64_t value)
{
	char text[24], *p = text + sizeof(text);
	uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;

	do
		*--p = (char)('0' + rest % 10);
	while (rest /= 10);
	if (value < 0)
		*--p = '-';
	buf_add(buf, p, (size_t)(text + sizeof(text) - p));
}

void buf_json(struct buf *buf, const char *s)
{
	buf_addc(buf, '"');
	while (*s) {
		const char *plain = s;
		uint32_t c;
		size_t n;

		while (*s >= ' ' && *s < 0x7f && *s != '"' && *s != '\\')
			s++;
		buf_add(buf, plain, (size_t)(s - plain));
		if (!*s)
			break;
		n = text_char(s, TEXT_CHAR_MAX, &c);
		if (n && (c & ~0x7ffu) == 0xd800)
			n = 0; /* a surrogate */
		if (!n) {
			buf_puts(buf, "\xef\xbf\xbd");
			n = 1;
		} else if (text_is_hidden(c)) {
			buf_printf(buf, "\\u%04x", c);
		} else {
			if (c == '"' || c == '\\')
				buf_addc(buf, '\\');
			buf_add(buf, s, n);
		}
		s += n;
	}
	buf_addc(buf, '"');
}

void buf_clear(struct buf *buf)
{
	buf->len = 0;
	if (buf->data)
		buf->data[0] = '\0';
}

void buf_free(struct buf *buf)
{
	free(buf->data);
	*buf = (struct buf){ 0 };
}

char *buf_take(struct buf *buf)
{
	char *s = buf->data ? buf->data : xstrdup("");

	*buf = (struct buf){ 0 };
	return s;
}

const char *text_line(const char **at, size_t *ret_len)
{
	const char *line = *at;

	if (!line || !*line)
		return NULL;
	*ret_len = strcspn(line, "\n");
	*at = line + *ret_len + (line[*ret_len] == '\n');
	return line;
}
