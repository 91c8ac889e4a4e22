/* sheet.c - rows of JSON objects as a table or CSV */
#include "aiq/sheet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/client/table.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"

/* --- choose columns ---------------------------------------------------- */

const char *sheet_word(const char **list, size_t *ret_len)
{
	const char *word = *list;

	*ret_len = strcspn(word, ",");
	*list = word + *ret_len + (word[*ret_len] == ',');
	return word;
}

static const struct sheet_column *find(const struct sheet_column *column,
                                       size_t n, const char *name, size_t len)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(column[i].name) == len &&
		    !strncmp(column[i].name, name, len))
			return &column[i];
	return NULL;
}

int sheet_choose(const struct sheet_column *column, size_t n, const char *list,
                 const char *what, struct sheet_column *ret, size_t most,
                 struct err *err)
{
	size_t chosen = 0, len;

	while (*list) {
		const char *word = sheet_word(&list, &len);
		const struct sheet_column *c = find(column, n, word, len);

		if (!c)
			return err_set(err, EINVAL,
			               "%s has no column '%.*s'; see aiq(1)",
			               what, (int)len, word);
		if (chosen == most)
			return err_set(err, EINVAL,
			               "more than %zu columns are named", most);
		ret[chosen++] = *c;
	}
	return (int)chosen;
}

/* --- sort and cut rows ------------------------------------------------- */

static int by_column(const void *a, const void *b, void *arg)
{
	const char *sort = arg;
	bool down = *sort == '-';
	const json_t *x = json_object_get(*(json_t *const *)a, sort + down);
	const json_t *y = json_object_get(*(json_t *const *)b, sort + down);
	int order;

	if (json_is_null(x) || json_is_null(y))
		return json_is_null(x) - json_is_null(y);
	if (json_is_string(x))
		order = strcmp(json_string_value(x), json_string_value(y));
	else
		order = (json_number_value(x) > json_number_value(y)) -
		        (json_number_value(x) < json_number_value(y));
	return down ? -order : order;
}

json_t *sheet_arrange(const json_t *rows, const char *sort, int64_t top)
{
	size_t n = json_array_size(rows);
	json_t **row = xcalloc(n + 1, sizeof(*row));
	json_t *sorted = json_array();

	for (size_t i = 0; i < n; i++)
		row[i] = json_array_get(rows, i);
	if (sort)
		qsort_r(row, n, sizeof(json_t *), by_column,
		        (char *)(uintptr_t)sort);
	if (top >= 0 && (size_t)top < n)
		n = (size_t)top;
	for (size_t i = 0; i < n; i++)
		json_array_append(sorted, row[i]);
	free(row);
	return sorted;
}

/* --- values ------------------------------------------------------------ */

static void put_list(struct buf *out, const json_t *list)
{
	const json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
		buf_printf(out, "%s%s", i ? "," : "", json_string_value(item));
}

static void put_value(struct buf *out, const struct sheet_column *c,
                      const json_t *value)
{
	double number = json_number_value(value);

	if (json_is_string(value) && json_string_length(value))
		buf_puts(out, json_string_value(value));
	else if (json_is_array(value) && json_array_size(value))
		put_list(out, value);
	else if (!json_is_number(value))
		buf_puts(out, "-");
	else if (c->show == SHEET_HOURS)
		buf_printf(out, "%.1f", number);
	else if (c->show == SHEET_RATIO)
		buf_printf(out, "%.0f %%", number * 100);
	else if (c->show == SHEET_MONEY)
		buf_printf(out, "%.2f", number);
	else if (c->show == SHEET_SECONDS)
		format_duration(out, (int64_t)(number + 0.5));
	else
		buf_printf(out, "%.0f", number);
}

void sheet_put_text(struct buf *out, const char *s)
{
	bool formula = *s && strchr("=+-@", *s);

	if (!formula && !strpbrk(s, ",\"\r\n")) {
		buf_puts(out, s);
		return;
	}
	buf_puts(out, formula ? "\"'" : "\"");
	for (; *s; s++) {
		if (*s == '"')
			buf_addc(out, '"');
		buf_addc(out, *s);
	}
	buf_addc(out, '"');
}

static void put_csv(struct buf *out, const struct sheet_column *c,
                    const json_t *value)
{
	struct buf list = { 0 };

	if (json_is_number(value)) {
		buf_printf(out, "%.*f", c->places, json_number_value(value));
	} else if (json_is_string(value)) {
		sheet_put_text(out, json_string_value(value));
	} else if (json_array_size(value)) {
		put_list(&list, value);
		sheet_put_text(out, list.data);
		buf_free(&list);
	}
}

/* --- output ------------------------------------------------------------ */

void sheet_csv(const struct sheet_column *column, size_t n, const json_t *rows,
               bool header)
{
	struct buf text = { 0 };
	const json_t *row;
	size_t i;

	for (i = 0; header && i < n; i++)
		buf_printf(&text, "%s%s", i ? "," : "", column[i].name);
	if (header)
		buf_puts(&text, "\r\n");
	json_array_foreach(rows, i, row) {
		for (size_t c = 0; c < n; c++) {
			if (c)
				buf_addc(&text, ',');
			put_csv(&text, &column[c],
			        json_object_get(row, column[c].name));
		}
		buf_puts(&text, "\r\n");
	}
	if (text.len)
		fwrite(text.data, 1, text.len, stdout);
	buf_free(&text);
}

static void put_line(struct buf *out, const struct sheet_column *column,
                     size_t n, const json_t *row, bool is_total)
{
	for (size_t i = 0; i < n; i++) {
		if (i)
			buf_addc(out, '\t');
		if (is_total && column[i].show == SHEET_TEXT)
			buf_puts(out, i ? "" : "TOTAL");
		else
			put_value(out, &column[i],
			          json_object_get(row, column[i].name));
	}
	buf_addc(out, '\n');
}

void sheet_table(const struct sheet_column *column, size_t n,
                 const json_t *rows, const json_t *total, bool header)
{
	const char **name = xcalloc(n + 1, sizeof(*name));
	bool *right = xcalloc(n + 1, sizeof(*right));
	struct table *table;
	struct buf text = { 0 };
	const json_t *row;
	size_t i;

	for (i = 0; i < n; i++) {
		name[i] = column[i].header;
		right[i] = column[i].show != SHEET_TEXT &&
		           column[i].show != SHEET_LIST;
	}
	table = table_new(n, name, right);
	json_array_foreach(rows, i, row)
		put_line(&text, column, n, row, false);
	if (total)
		put_line(&text, column, n, total, true);
	table_add_tsv(table, text.data, text.len);
	table_print(table, stdout, header, terminal_width());
	table_free(table);
	buf_free(&text);
	free(right);
	free(name);
}
