/* json_out.c - print JSON that a terminal shows as it is */
#include "libcommon/client/json_out.h"

#include <stdlib.h>

#include "libcommon/buf.h"
#include "libcommon/clean.h"

char *json_out_text(const json_t *json, size_t flags)
{
	char *text = json_dumps(json, flags);
	const char *at = text, *plain = text;
	struct buf out = { 0 };
	uint32_t c = 0;
	size_t n;

	if (!text)
		return NULL;
	for (; *at; at += n ? n : 1) {
		n = text_char(at, TEXT_CHAR_MAX, &c);
		if (c < 0x7f || !text_is_hidden(c))
			continue;
		buf_add(&out, plain, (size_t)(at - plain));
		buf_printf(&out, "\\u%04x", c);
		plain = at + n;
	}
	buf_puts(&out, plain);
	free(text);
	return buf_take(&out);
}

void json_out(const json_t *json, size_t flags, FILE *out)
{
	char *text = json_out_text(json, flags);

	if (text)
		fputs(text, out);
	free(text);
}
