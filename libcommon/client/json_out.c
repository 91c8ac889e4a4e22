/* json_out.c - print JSON that a terminal shows as it is */
#include "libcommon/client/json_out.h"

#include <stdlib.h>

#include "libcommon/buf.h"
#include "libcommon/clean.h"

char *json_out_text(const json_t *json, size_t flags)
{
	char *text = json_dumps(json, flags);
	struct buf out = { 0 };

	if (!text)
		return NULL;
	for (const char *at = text; *at;) {
		const char *plain = at;
		uint32_t c = 0;
		size_t len = 0;

		while (*at && !(c = text_hidden(at, &len)))
			at++;
		buf_add(&out, plain, (size_t)(at - plain));
		if (c)
			buf_printf(&out, "\\u%04x", c);
		at += c ? len : 0;
	}
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
