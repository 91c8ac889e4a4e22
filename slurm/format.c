/* format.c - columns of output, and the options that choose them */
#include "slurm/format.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "libcommon/clean.h"
#include "libcommon/mem.h"
#include "slurm/command.h"
#include "slurm/rows.h"

void v_text(const json_t *row, const struct slurm_field *field,
            const struct style *style, struct buf *out)
{
	UNUSED;
	buf_puts(out, row_text(row, field->needs));
}

void v_none(const json_t *row, const struct slurm_field *field,
            const struct style *style, struct buf *out)
{
	UNUSED;
}

enum { NAME_WIDTH = 20, WIDTH_MAX = 100000 };

const struct slurm_field *field_of_letter(const struct slurm_field *table,
                                          char letter)
{
	for (; table->header; table++)
		if (letter && table->letter == letter)
			return table;
	return NULL;
}

const struct slurm_field *field_of_name(const struct slurm_field *table,
                                        unsigned of, const char *name)
{
	for (; table->header; table++)
		if ((table->of & of) && !strcasecmp(table->name, name))
			return table;
	return NULL;
}

static struct slurm_column *add_column(struct slurm_format *format,
                                       const struct slurm_field *field)
{
	format->column = GROW(format->column, format->n, &format->cap);
	format->column[format->n] = (struct slurm_column){ .field = field };
	return &format->column[format->n++];
}

static size_t take_width(const char **at)
{
	size_t width = 0;

	for (; isdigit((unsigned char)**at); ++*at)
		if (width < WIDTH_MAX)
			width = width * 10 + (size_t)(**at - '0');
	return width < WIDTH_MAX ? width : WIDTH_MAX;
}

/* As in Slurm, sinfo does not say its name in this message. */
static void unknown(const char *noun, const char *what, size_t len)
{
	if (!strcmp(noun, "node"))
		fprintf(stderr, "Invalid node format specification: %.*s\n",
		        (int)len, what);
	else
		command_error("Invalid %s format specification: %.*s", noun,
		              (int)len, what);
}

/* Parse -o %all: the columns of all letters, separated by bars. As in Slurm,
 * those of nodes lack the reservation, and those with capital letters end with
 * a blank. */
static void all_letters(struct slurm_format *ret,
                        const struct slurm_field *table, const char *noun)
{
	bool nodes = !strcmp(noun, "node");
	struct buf text = { 0 };

	for (int upper = 0; upper < 2; upper++)
		for (char c = 'a'; c <= 'z'; c++) {
			char letter = (char)(upper ? toupper(c) : c);

			if (field_of_letter(table, letter) &&
			    !(nodes && letter == 'i'))
				buf_printf(&text, "%s%%%c%s",
				           text.len ? "|" : "", letter,
				           nodes && upper ? " " : "");
		}
	format_letters(ret, table, noun, text.data);
	buf_free(&text);
}

void format_letters(struct slurm_format *ret, const struct slurm_field *table,
                    const char *noun, const char *text)
{
	struct buf literal = { 0 };
	char **where = &ret->before;

	if (!strcasecmp(text, "%all")) {
		all_letters(ret, table, noun);
		return;
	}
	*ret = (struct slurm_format){ 0 };
	for (const char *s = text; *s;) {
		const char *start = s;
		struct slurm_column column = { 0 }, *added;

		if (*s != '%') {
			buf_addc(&literal, *s++);
			continue;
		}
		s++;
		column.right = *s == '.';
		s += column.right;
		column.width = take_width(&s);
		column.field = field_of_letter(table, *s);
		if (!column.field) {
			unknown(noun, s, *s != '\0');
			s += *s != '\0';
			buf_add(&literal, start, (size_t)(s - start));
			continue;
		}
		s++;
		*where = buf_take(&literal);
		added = add_column(ret, column.field);
		added->width = column.width;
		added->right = column.right;
		/* The array may have moved, so point again to where the text
		 * behind the last column goes. */
		where = &ret->column[ret->n - 1].after;
	}
	*where = buf_take(&literal);
}

/* Add the column of an item "name[:[.][width][suffix]]". A dot aligns it
 * right. */
static void add_name(struct slurm_format *format,
                     const struct slurm_field *table, unsigned of,
                     const char *noun, const char *item, size_t len)
{
	char *name = xstrndup(item, len);
	char *colon = strchr(name, ':');
	const struct slurm_field *field;
	struct slurm_column *column;

	if (colon)
		*colon = '\0';
	field = field_of_name(table, of, name);
	if (!field) {
		unknown(noun, name, strlen(name));
		free(name);
		return;
	}
	column = add_column(format, field);
	column->width = NAME_WIDTH;
	if (colon) {
		const char *s = colon + 1;
		bool has_width;

		column->right = *s == '.';
		s += column->right;
		has_width = isdigit((unsigned char)*s);
		column->width = has_width || column->right ? take_width(&s) : 0;
		column->after = xstrdup(s);
	}
	free(name);
}

void format_names(struct slurm_format *ret, const struct slurm_field *table,
                  unsigned of, const char *noun, const char *text)
{
	*ret = (struct slurm_format){ 0 };
	for (const char *s = text; *s; s += *s == ',') {
		size_t len = strcspn(s, ",");

		if (len)
			add_name(ret, table, of, noun, s, len);
		s += len;
	}
}

static struct format_wish *wish_of(void *ctx, const struct opt *opt)
{
	return (struct format_wish *)(void *)((char *)ctx + opt->offset);
}

int format_set_letters(void *ctx, const struct opt *opt, const char *value,
                       struct err *err)
{
	(void)err;
	*wish_of(ctx, opt) = (struct format_wish){ .letters = value };
	return 0;
}

int format_set_names(void *ctx, const struct opt *opt, const char *value,
                     struct err *err)
{
	(void)err;
	*wish_of(ctx, opt) = (struct format_wish){ .names = value };
	return 0;
}

void format_free(struct slurm_format *format)
{
	for (size_t i = 0; i < format->n; i++)
		free(format->column[i].after);
	free(format->column);
	free(format->before);
	*format = (struct slurm_format){ 0 };
}

void format_needs(const struct slurm_format *format, json_t *fields)
{
	for (size_t i = 0; i < format->n; i++)
		rows_add_fields(fields, format->column[i].field->needs);
}

static bool is_continuation(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* Print a value padded or cut to the width of the column. Nothing marks a cut
 * value. */
static void put(const struct slurm_column *column, const char *s, size_t len,
                FILE *out)
{
	bool whole = !column->width ||
	             (column->right && (column->field->of & FIELD_WHOLE));
	size_t shown = 0, end = 0;
	int pad;

	while (end < len &&
	       (whole || shown < column->width || is_continuation(s[end])))
		shown += !is_continuation(s[end++]);
	pad = shown < column->width ? (int)(column->width - shown) : 0;
	fprintf(out, "%*s", column->right ? pad : 0, "");
	fwrite(s, 1, end, out);
	fprintf(out, "%*s", column->right ? 0 : pad, "");
	if (column->after)
		fputs(column->after, out);
}

void format_put_header(const struct slurm_format *format, FILE *out)
{
	if (format->before)
		fputs(format->before, out);
	for (size_t i = 0; i < format->n; i++) {
		struct slurm_column column = format->column[i];
		const char *header = column.field->header;
		size_t len = strlen(header);

		/* Cut the headers of all columns. */
		if (column.width && len > column.width)
			len = column.width;
		put(&column, header, len, out);
	}
	fputc('\n', out);
}

void format_put_row(const struct slurm_format *format, const json_t *row,
                    const struct style *style, FILE *out)
{
	struct buf value = { 0 };

	if (format->before)
		fputs(format->before, out);
	for (size_t i = 0; i < format->n; i++) {
		const struct slurm_field *field = format->column[i].field;

		buf_clear(&value);
		field->value(row, field, style, &value);
		if (!value.len)
			buf_puts(&value, field->none ? field->none : "");
		if (value.len)
			value.len = text_clean(value.data, value.len);
		put(&format->column[i], value.data ? value.data : "", value.len,
		    out);
	}
	buf_free(&value);
	fputc('\n', out);
}
