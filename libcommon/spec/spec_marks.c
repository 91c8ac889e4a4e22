/* spec_marks.c - which fields of a request have changed */
#include "libcommon/spec/spec_marks.h"

#include <inttypes.h>
#include <string.h>

#include "libcommon/map.h"

void spec_marks(const struct spec *spec, struct buf *out)
{
	struct spec copy = *spec;

	for (size_t i = 0; i < spec_nfields; i++) {
		const struct spec_field *field = &spec_fields[i];
		const char *text =
		    field->is_text ? *spec_text(&copy, field) : NULL;
		int64_t number =
		    field->is_text ? SPEC_UNSET : *spec_int(&copy, field);
		uint64_t hash;

		if (!text && number == SPEC_UNSET)
			continue;
		hash = text ? hash_bytes(0, text, strlen(text))
		            : hash_bytes(0, &number, sizeof(number));
		buf_printf(out, "%s%s=%016" PRIx64, out->len ? "," : "",
		           field->name, hash);
	}
}

/* Returns the mark of a field, without its name, and its length. If there is
 * none, the length is 0. */
static const char *mark_of(const char *marks, const char *name, size_t *ret_len)
{
	size_t len = strlen(name);

	for (const char *p = marks; *p; p += *p == ',') {
		size_t n = strcspn(p, ",");

		if (n > len && p[len] == '=' && !memcmp(p, name, len)) {
			*ret_len = n - len;
			return p + len;
		}
		p += n;
	}
	*ret_len = 0;
	return "";
}

void spec_take_marked(struct spec *to, const struct spec *from,
                      const char *marks, const char *others)
{
	struct spec copy = *from;

	for (size_t i = 0; i < spec_nfields; i++) {
		const struct spec_field *field = &spec_fields[i];
		size_t n, m;
		const char *a = mark_of(marks, field->name, &n);
		const char *b = mark_of(others, field->name, &m);

		if (n == m && !memcmp(a, b, n))
			continue;
		if (field->is_text)
			*spec_text(to, field) = *spec_text(&copy, field);
		else
			*spec_int(to, field) = *spec_int(&copy, field);
	}
}
