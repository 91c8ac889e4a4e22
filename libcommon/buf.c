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

/* Returns the length in bytes of the UTF-8 sequence at s, 0 if it is
 * invalid. */
static int utf8_len(const unsigned char *s)
{
	int n = s[0] < 0x80   ? 1
	        : s[0] < 0xc2 ? 0
	        : s[0] < 0xe0 ? 2
	        : s[0] < 0xf0 ? 3
	        : s[0] < 0xf5 ? 4
	                      : 0;

	for (int i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

void buf_json(struct buf *buf, const char *s)
{
	const unsigned char *p = (const unsigned char *)s;

	buf_addc(buf, '"');
	while (*p) {
		const unsigned char *plain = p;
		uint32_t hidden;
		size_t len;
		int n;

		while (*p >= ' ' && *p < 0x7f && *p != '"' && *p != '\\')
			p++;
		buf_add(buf, plain, (size_t)(p - plain));
		if (!*p)
			break;
		n = utf8_len(p);
		hidden = n ? text_hidden((const char *)p, &len) : 0;
		if (hidden) {
			buf_printf(buf, "\\u%04x", hidden);
		} else if (n > 1) {
			buf_add(buf, p, (size_t)n);
		} else if (n == 0) {
			buf_puts(buf, "\xef\xbf\xbd");
			n = 1;
		} else if (*p == '"' || *p == '\\') {
			buf_addc(buf, '\\');
			buf_addc(buf, (char)*p);
		} else {
			buf_printf(buf, "\\u%04x", *p);
		}
		p += n;
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
