/* table.c - print columns */
#include "libcommon/client/table.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "libcommon/buf.h"
#include "libcommon/clean.h"
#include "libcommon/mem.h"

#define FLUSH_BYTES ((size_t)256 * 1024)

enum {
	GAP = 2,     /* spaces between columns */
	COLOUR = 16, /* bytes of the escape sequences around a value */
};

struct cell {
	uint32_t len;   /* bytes */
	uint32_t width; /* columns of the terminal */
};

struct table_column {
	const char *header;
	bool right;
	uint32_t width; /* of the widest value so far */
	table_colour_fn *colour;
};

/* All values are in data, one behind the other, and their sizes in cell, row
 * by row. */
struct table {
	struct table_column *column;
	size_t ncols;
	struct buf data;
	struct cell *cell;
	size_t ncells, cap;
	/* The value that is being read: its offset in data, its column, and
	 * whether the last character was a backslash. */
	size_t start, at;
	bool escaped;
};

/* Returns the number of characters of UTF-8 text, each of which counts as
 * one column. */
static uint32_t text_width(const char *s, size_t len)
{
	uint32_t width = 0;

	for (size_t i = 0; i < len; i++)
		width += (s[i] & 0xc0) != 0x80;
	return width;
}

struct table *table_new(size_t ncols, const char *const *header,
                        const bool *right)
{
	struct table *table = xcalloc(1, sizeof(*table));

	table->ncols = ncols;
	table->column = xcalloc(ncols, sizeof(*table->column));
	for (size_t i = 0; i < ncols; i++)
		table->column[i] =
		    (struct table_column){ header[i], right[i], 0, NULL };
	return table;
}

void table_colour(struct table *table, size_t column, table_colour_fn *fn)
{
	table->column[column].colour = fn;
}

void table_free(struct table *table)
{
	if (!table)
		return;
	buf_free(&table->data);
	free(table->column);
	free(table->cell);
	free(table);
}

size_t table_rows(const struct table *table)
{
	return table->ncells / table->ncols;
}

static void end_cell(struct table *table)
{
	struct table_column *column = &table->column[table->at++];
	char *text = table->data.data + table->start;
	size_t len = table->data.len - table->start;
	uint32_t width;

	/* Replace control characters, which a terminal would execute. */
	if (len)
		len = text_clean(text, len);
	table->data.len = table->start + len;
	width = text_width(text, len);
	table->cell = GROW(table->cell, table->ncells, &table->cap);
	table->cell[table->ncells++] = (struct cell){ (uint32_t)len, width };
	if (width > column->width)
		column->width = width;
	table->start = table->data.len;
}

static void end_row(struct table *table)
{
	while (table->at < table->ncols)
		end_cell(table);
	table->at = 0;
}

static void add_special(struct table *table, unsigned char c)
{
	if (table->escaped) {
		table->escaped = false;
		buf_addc(&table->data, c == '\\' ? '\\' : '?');
	} else if (c == '\\') {
		table->escaped = true;
	} else if (c == '\n') {
		end_row(table);
	} else if (c == '\t' && table->at + 1 < table->ncols) {
		end_cell(table);
	} else {
		buf_addc(&table->data, (char)c);
	}
}

static bool is_plain(char c)
{
	return c >= ' ' && c < 127 && c != '\\';
}

void table_add_tsv(struct table *table, const char *data, size_t len)
{
	const char *end = data + len;

	while (data < end) {
		char *start = buf_room(&table->data, (size_t)(end - data));
		char *p = start;

		if (!table->escaped)
			while (data < end && is_plain(*data))
				*p++ = *data++;
		buf_grew(&table->data, (size_t)(p - start));
		if (data < end)
			add_special(table, (unsigned char)*data++);
	}
}

static char *put_spaces(char *p, size_t n)
{
	memset(p, ' ', n);
	return p + n;
}

/* Write as much of the text as fits into width - 1 columns, then
 * an ellipsis. */
static char *put_cut(char *p, const char *text, size_t len, uint32_t width)
{
	static const char ellipsis[] = "…";
	size_t keep = 0;

	for (; keep < len; keep++)
		if ((text[keep] & 0xc0) != 0x80 && width-- == 1)
			break;
	memcpy(p, text, keep);
	memcpy(p + keep, ellipsis, sizeof(ellipsis) - 1);
	return p + keep + sizeof(ellipsis) - 1;
}

static char *put_text(char *p, const char *text, size_t len)
{
	return (char *)memcpy(p, text, len) + len;
}

static char *put_value(char *p, const struct table_column *column,
                       const char *text, size_t len)
{
	const char *colour = column->colour ? column->colour(text, len) : NULL;

	if (!colour)
		return put_text(p, text, len);
	p = put_text(p, colour, strlen(colour));
	p = put_text(p, text, len);
	return put_text(p, "\033[0m", 4);
}

/* Append a row whose values begin at text, in columns of these widths. Returns
 * the end of the values. */
static const char *put_row(struct buf *out, const struct table *table,
                           const uint32_t *width, const char *text,
                           const struct cell *cell)
{
	size_t most = 4; /* for an ellipsis and the newline */
	char *line, *p;

	for (size_t i = 0; i < table->ncols; i++)
		most += cell[i].len + width[i] + GAP + COLOUR;
	line = p = buf_room(out, most);
	for (size_t i = 0; i < table->ncols; i++, text += cell++->len) {
		bool right = table->column[i].right;
		uint32_t pad = 0;

		if (cell->width < width[i])
			pad = width[i] - cell->width;
		if (i)
			p = put_spaces(p, GAP);
		if (right)
			p = put_spaces(p, pad);
		if (cell->width > width[i])
			p = put_cut(p, text, cell->len, width[i]);
		else
			p = put_value(p, &table->column[i], text, cell->len);
		if (!right && i + 1 < table->ncols)
			p = put_spaces(p, pad);
	}
	while (p > line && p[-1] == ' ')
		p--;
	*p++ = '\n';
	buf_grew(out, (size_t)(p - line));
	return text;
}

static void put_header(struct buf *out, const struct table *table,
                       const uint32_t *width)
{
	struct cell *cell = xcalloc(table->ncols, sizeof(*cell));
	struct buf text = { 0 };

	for (size_t i = 0; i < table->ncols; i++) {
		const char *header = table->column[i].header;
		size_t len = strlen(header);

		cell[i] =
		    (struct cell){ (uint32_t)len, text_width(header, len) };
		buf_add(&text, header, len);
	}
	put_row(out, table, width, text.data, cell);
	buf_free(&text);
	free(cell);
}

/* Set the width of each column in ret. If limit is not 0 and all columns
 * together are wider, the last column gets what the others leave of limit. */
static void choose_widths(const struct table *table, bool header,
                          uint32_t limit, uint32_t *ret)
{
	uint32_t *last = &ret[table->ncols - 1], before = 0;

	for (size_t i = 0; i < table->ncols; i++) {
		const struct table_column *c = &table->column[i];
		uint32_t title = text_width(c->header, strlen(c->header));

		ret[i] = header && title > c->width ? title : c->width;
		if (&ret[i] != last)
			before += ret[i] + GAP;
	}
	if (limit && before + *last > limit)
		*last = before < limit ? limit - before : 1;
}

void table_print(const struct table *table, FILE *out, bool header, int width)
{
	uint32_t *widths = xcalloc(table->ncols, sizeof(*widths));
	const char *text = table->data.data;
	struct buf lines = { 0 };

	choose_widths(table, header, width > 0 ? (uint32_t)width : 0, widths);
	if (header)
		put_header(&lines, table, widths);
	for (size_t row = 0; row < table_rows(table); row++) {
		text = put_row(&lines, table, widths, text,
		               &table->cell[row * table->ncols]);
		if (lines.len >= FLUSH_BYTES) {
			fwrite(lines.data, 1, lines.len, out);
			buf_clear(&lines);
		}
	}
	if (lines.len)
		fwrite(lines.data, 1, lines.len, out);
	buf_free(&lines);
	free(widths);
}

int terminal_width(void)
{
	struct winsize size;

	if (!isatty(STDOUT_FILENO))
		return 0;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_col)
		return 80;
	return size.ws_col;
}

void table_show(size_t ncols, const char *const *header, const bool *right,
                struct buf *tsv)
{
	struct table *table = table_new(ncols, header, right);

	if (tsv->len)
		table_add_tsv(table, tsv->data, tsv->len);
	table_print(table, stdout, true, terminal_width());
	table_free(table);
	buf_free(tsv);
}
