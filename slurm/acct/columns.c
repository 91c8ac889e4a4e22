/* columns.c - tables as sacct, sstat, sshare and sacctmgr print them */
#include "slurm/acct/columns.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/clean.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"
#include "slurm/command.h"

/* Add the column of "name", "name%20" or "name%-20". */
static int add_column(struct acct_columns *c, const char *text, size_t len)
{
	char *name = xstrndup(text, len);
	char *percent = strchr(name, '%');
	const struct slurm_field *field;
	int64_t width = 0;

	if (percent) {
		bool left = percent[1] == '-';

		*percent = '\0';
		if (parse_int(percent + 1 + left, 1, 100000, &width, NULL) < 0)
			width = 0;
		width = left ? -width : width;
	}
	field = field_of_name(c->table, c->of, name);
	if (!field) {
		command_error("Invalid field requested: \"%s\"", name);
		free(name);
		return -1;
	}
	c->column = GROW(c->column, c->n, &c->cap);
	c->column[c->n++] =
	    (struct acct_column){ field, width ? (int)width : field->width };
	free(name);
	return 0;
}

int columns_make(struct acct_columns *c, const char *format)
{
	for (const char *at = format; *at; at += *at == ',') {
		size_t len = strcspn(at, ",");

		if (len && add_column(c, at, len) < 0)
			return -1;
		at += len;
	}
	return 0;
}

/* Print a value padded or cut to the width of the column, with a '+' at the end
 * if it was cut. */
static void put_cell(const struct acct_column *column, const char *text)
{
	int width = abs(column->width), len = (int)strlen(text);

	if (len > width)
		printf("%.*s+ ", width - 1, text);
	else
		printf("%*s ", column->width, text);
}

static void put_parsable(const struct acct_columns *c, size_t i,
                         const char *text)
{
	const char *delimiter = c->delimiter ? c->delimiter : "|";

	printf("%s%s", text, c->parsable || i + 1 < c->n ? delimiter : "");
}

static bool is_table(const struct acct_columns *c)
{
	return !c->parsable && !c->parsable2;
}

void columns_header(const struct acct_columns *c)
{
	if (c->no_header)
		return;
	for (size_t i = 0; i < c->n; i++)
		if (is_table(c))
			printf("%*.*s ", c->column[i].width,
			       abs(c->column[i].width),
			       c->column[i].field->header);
		else
			put_parsable(c, i, c->column[i].field->header);
	putchar('\n');
	for (size_t i = 0; is_table(c) && i < c->n; i++) {
		for (int n = abs(c->column[i].width); n > 0; n--)
			putchar('-');
		putchar(' ');
	}
	if (is_table(c))
		putchar('\n');
}

void columns_row(const struct acct_columns *c, const json_t *row)
{
	const struct style style = { .no_convert = c->no_convert,
		                     .unit = c->unit };
	struct buf value = { 0 };

	for (size_t i = 0; i < c->n; i++) {
		const struct slurm_field *field = c->column[i].field;

		buf_clear(&value);
		field->value(row, field, &style, &value);
		if (!value.len)
			buf_puts(&value, field->none ? field->none : "");
		if (value.len)
			value.data[text_clean(value.data, value.len)] = '\0';
		if (is_table(c))
			put_cell(&c->column[i], value.data ? value.data : "");
		else
			put_parsable(c, i, value.data ? value.data : "");
	}
	putchar('\n');
	buf_free(&value);
}

void columns_free(struct acct_columns *c)
{
	free(c->column);
	c->column = NULL;
	c->n = c->cap = 0;
}

void columns_help(const struct slurm_field *table, unsigned of)
{
	const char *before = "";
	unsigned n = 0;

	for (const struct slurm_field *f = table; f->header; f++) {
		if (!(f->of & of))
			continue;
		printf("%s%-19s", before, f->name);
		before = ++n % 4 ? " " : "\n";
	}
	putchar('\n');
}
