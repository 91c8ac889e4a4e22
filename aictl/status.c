/* status.c - print the status of the daemon as text */
#include <stdio.h>
#include <string.h>

#include "aictl/aictl.h"
#include "libcommon/buf.h"
#include "libcommon/parse.h"

static bool ends_with(const char *s, const char *end)
{
	size_t len = strlen(s), n = strlen(end);

	return len >= n && !strcmp(s + len - n, end);
}

/* Returns the unit of a value, which is the end of its name, as in uptime_s,
 * pass_ms, wal_bytes; "" for none. */
static const char *unit_of(const char *key)
{
	static const char *const units[] = { "_s", "_ms", "bytes", "_mib" };

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (ends_with(key, units[i]))
			return units[i];
	return "";
}

static void add_bytes(struct buf *out, double bytes)
{
	static const char *const unit[] = { "bytes", "KiB", "MiB", "GiB",
		                            "TiB" };
	size_t i = 0;

	while (bytes >= 1024 && i + 1 < sizeof(unit) / sizeof(unit[0])) {
		bytes /= 1024;
		i++;
	}
	buf_printf(out, i ? "%.1f %s" : "%.0f %s", bytes, unit[i]);
}

static void add_value(struct buf *out, const char *unit, const json_t *value);

/* Append the members of an object: counts as "3 pending, 2 running", others as
 * "last 0.8 ms, max 3 ms". */
static void add_members(struct buf *out, const char *unit, const json_t *object)
{
	json_t *value;
	const char *key;
	bool first = true;

	if (!json_object_size(object))
		buf_puts(out, "none");
	json_object_foreach((json_t *)object, key, value) {
		const char *own = unit_of(key);

		if (!first)
			buf_puts(out, ", ");
		first = false;
		if (json_is_integer(value) && !*own && !*unit) {
			add_value(out, "", value);
			buf_printf(out, " %s", key);
			continue;
		}
		if (strcmp(key, "bytes") != 0 && strcmp(key, "path") != 0) {
			buf_add(out, key, strcspn(key, "_"));
			buf_addc(out, ' ');
		}
		add_value(out, *own ? own : unit, value);
	}
}

static void add_list(struct buf *out, const json_t *list)
{
	json_t *value;
	size_t i;

	if (!json_array_size(list))
		buf_puts(out, "none");
	json_array_foreach(list, i, value) {
		if (i)
			buf_puts(out, "\n             ");
		add_value(out, "", value);
	}
}

static void add_value(struct buf *out, const char *unit, const json_t *value)
{
	double n = json_number_value(value);

	if (json_is_object(value))
		add_members(out, unit, value);
	else if (json_is_array(value))
		add_list(out, value);
	else if (json_is_string(value))
		buf_puts(out, json_string_value(value));
	else if (!json_is_number(value))
		buf_puts(out, json_is_true(value) ? "yes" : "no");
	else if (!strcmp(unit, "_s"))
		format_duration(out, (int64_t)n);
	else if (!strcmp(unit, "_ms"))
		buf_printf(out, "%.3g ms", n);
	else if (!strcmp(unit, "bytes"))
		add_bytes(out, n);
	else if (!strcmp(unit, "_mib"))
		format_mib(out, (int64_t)n);
	else
		buf_printf(out, "%.10g", n);
}

void status_print(const json_t *status)
{
	struct buf text = { 0 };
	json_t *value;
	const char *key;

	json_object_foreach((json_t *)status, key, value) {
		const char *unit = unit_of(key);
		int len =
		    (int)(strlen(key) - (*unit == '_' ? strlen(unit) : 0));
		char label[32];

		snprintf(label, sizeof(label), "%.*s", len, key);
		for (char *s = label; *s; s++)
			*s = *s == '_' ? ' ' : *s;
		add_value(&text, unit, value);
		printf("%-12s %s\n", label, text.len ? text.data : "");
		buf_clear(&text);
	}
	buf_free(&text);
}
