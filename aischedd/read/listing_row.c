/* listing_row.c - the values in a row, as JSON or as text */
#include "aischedd/read/listing_row.h"

#include <string.h>

#include "libcommon/parse.h"

void put_null(struct row_view *v)
{
	if (v->json)
		buf_puts(v->out, "null");
}

void put_int(struct row_view *v, int64_t value)
{
	buf_i64(v->out, value);
}

void put_int_or(struct row_view *v, int64_t value, int64_t none)
{
	if (value == none)
		put_null(v);
	else
		put_int(v, value);
}

void put_text(struct row_view *v, const char *s)
{
	size_t plain;

	if (!s) {
		put_null(v);
		return;
	}
	if (v->json) {
		buf_json(v->out, s);
		return;
	}
	while ((plain = strcspn(s, "\t\n\\")), s[plain]) {
		buf_add(v->out, s, plain);
		buf_puts(v->out, s[plain] == '\t'   ? "\\t"
		                 : s[plain] == '\n' ? "\\n"
		                                    : "\\\\");
		s += plain + 1;
	}
	buf_add(v->out, s, plain);
}

void put_milli(struct row_view *v, int64_t milli)
{
	format_milli(v->out, milli);
}

void put_milli_or(struct row_view *v, int64_t milli, int64_t none)
{
	if (milli == none)
		put_null(v);
	else
		put_milli(v, milli);
}

void put_micro_or(struct row_view *v, int64_t micro, int64_t none)
{
	if (micro == none)
		put_null(v);
	else
		buf_printf(v->out, "%lld.%06lld", (long long)micro / 1000000,
		           (long long)micro % 1000000);
}

void put_gpu_util(struct row_view *v, const struct gpu_use *use,
                  int64_t held_ms)
{
	if (use->known_ms > 0 && use->known_ms >= held_ms / 10 * 9)
		put_milli(v, (use->busy_ms * 1000 + use->known_ms / 2) /
		                 use->known_ms);
	else
		put_null(v);
}

void put_quote(struct row_view *v)
{
	if (v->json)
		buf_addc(v->out, '"');
}

void put_buf(struct row_view *v, struct buf *text)
{
	put_text(v, text->data ? text->data : "");
	buf_free(text);
}

void put_amounts(struct row_view *v, const int64_t amount[RES_N])
{
	static const char *const names[] = { "cpus", "memory_mib", "gpus" };

	buf_addc(v->out, '{');
	for (int r = 0; r < RES_N; r++) {
		buf_printf(v->out, "%s\"%s\":", r ? "," : "", names[r]);
		if (amount[r] == CONF_NONE)
			buf_puts(v->out, "null");
		else if (r == RES_MEM)
			put_int(v, amount[r]);
		else
			put_milli(v, amount[r]);
	}
	buf_addc(v->out, '}');
}

void put_amounts_text(struct row_view *v, const int64_t amount[RES_N])
{
	static const char *const names[] = { "cpus=", "mem=", "gpus=" };
	struct buf text = { 0 };

	for (int r = 0; r < RES_N; r++) {
		if (amount[r] == CONF_NONE)
			continue;
		buf_printf(&text, "%s%s", text.len ? "," : "", names[r]);
		if (r == RES_MEM)
			format_mib(&text, amount[r]);
		else
			format_milli(&text, amount[r]);
	}
	put_buf(v, &text);
}
