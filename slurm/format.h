/*
 * format.h - columns of output, and the options that choose them
 *
 * A field describes a column: its names in Slurm's options, and how its value
 * is made from a row. A format is the list of columns that -o or
 * -O selected from a table of fields.
 */
#ifndef SLURM_FORMAT_H
#define SLURM_FORMAT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "libcommon/buf.h"
#include "libcommon/err.h"
#include "libcommon/opt.h"

/* How values are written. */
struct style {
	bool no_convert; /* --noconvert: always print MiB */
	char unit;       /* unit of sizes, one of "KMGTP"; 0: choose by size */
};

struct slurm_field;

/* A flag in slurm_field.of, beside the bits of commands: do not cut values that
 * are aligned right to the width of the column. */
#define FIELD_WHOLE 0x100u

/* Append the value of this field in the row. */
typedef void field_value_fn(const json_t *row, const struct slurm_field *field,
                            const struct style *style, struct buf *out);

struct slurm_field {
	char letter;      /* of -o "%i"; 0: none */
	const char *name; /* of -O; any case; NULL: none */
	const char *header;
	/* keys of the row that value uses, separated by blanks */
	const char *needs;
	field_value_fn *value;
	const char *none; /* written if the row has no value */
	/* bits of the commands that have the field, and FIELD_WHOLE; each table
	 * has bits of its own */
	unsigned of;
	int width; /* width in sacct; negative: aligned left */
};

/* The head of a field_value_fn, and a statement that marks its arguments as
 * used. */
#define VALUE(name)                                                          \
	static void name(const json_t *row, const struct slurm_field *field, \
	                 const struct style *style, struct buf *out)
#define UNUSED (void)row, (void)field, (void)style, (void)out

field_value_fn v_text; /* prints the text of the key in `needs` */
field_value_fn v_none; /* prints nothing, so that `none` is printed */

/* One column, with the text around it. */
struct slurm_column {
	const struct slurm_field *field; /* NULL: only the text */
	size_t width;                    /* 0: as wide as the value */
	bool right;
	char *after; /* text behind it */
};

struct slurm_format {
	char *before; /* text before the first column */
	struct slurm_column *column;
	size_t n, cap;
};

/*
 * Parse -o "%.18i %t", or "%all" for all letters. An unknown letter is reported
 * on stderr, and printed as itself; noun is the word for the rows in that
 * message: "job", "job step" or "node". The table ends with a field without a
 * header.
 */
void format_letters(struct slurm_format *ret, const struct slurm_field *table,
                    const char *noun, const char *text);
/* Parse -O "jobid:10,state". `of` is the bit of the command: only fields that
 * this command has are known. An unknown name is reported on stderr, and left
 * out. */
void format_names(struct slurm_format *ret, const struct slurm_field *table,
                  unsigned of, const char *noun, const char *text);
void format_free(struct slurm_format *format);

/* Add to a list the keys of rows that the columns use. */
void format_needs(const struct slurm_format *format, json_t *fields);

void format_put_header(const struct slurm_format *format, FILE *out);
void format_put_row(const struct slurm_format *format, const json_t *row,
                    const struct style *style, FILE *out);

/* The text given with -o or -O, whichever came last. */
struct format_wish {
	const char *letters, *names; /* one of them, or neither */
};
int format_set_letters(void *ctx, const struct opt *opt, const char *value,
                       struct err *err);
int format_set_names(void *ctx, const struct opt *opt, const char *value,
                     struct err *err);

/* Returns the field with this name, in upper or lower case; NULL if the command
 * has none. `of` is the bit of the command. */
const struct slurm_field *field_of_name(const struct slurm_field *table,
                                        unsigned of, const char *name);

/* Returns the field with this letter; NULL if there is none. */
const struct slurm_field *field_of_letter(const struct slurm_field *table,
                                          char letter);

#endif
