/*
 * format.h - columns of output, and the three ways to ask for them
 *
 * A field is one line of a table: what Slurm calls it, where, and how its
 * value is made from a row.  A format is what -o or -O asked for, made from a
 * table of fields.
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
	bool no_convert; /* always MiB, whatever the size */
	char unit;       /* of sizes: one of "KMGTP"; 0: as it comes out */
};

struct slurm_field;

/* A bit of slurm_field.of beside those of the commands: the value is not cut
 * where it is aligned right. */
#define FIELD_WHOLE 0x100u

/* Append the value of a row. */
typedef void field_value_fn(const json_t *row, const struct slurm_field *field,
                            const struct style *style, struct buf *out);

struct slurm_field {
	char letter;      /* of -o "%i"; 0: none */
	const char *name; /* of -O; any case; NULL: none */
	const char *header;
	/* fields of the row that it uses, separated by blanks */
	const char *needs;
	field_value_fn *value;
	const char *none; /* written if the row has no value */
	/* bits of the commands that have it, defined beside the table */
	unsigned of;
	int width; /* of sacct; negative: aligned left */
};

/* The head of such a function, and the arguments that it does not use. */
#define VALUE(name)                                                          \
	static void name(const json_t *row, const struct slurm_field *field, \
	                 const struct style *style, struct buf *out)
#define UNUSED (void)row, (void)field, (void)style, (void)out

field_value_fn v_text; /* the text of the field that it needs */
field_value_fn v_none; /* nothing: `none` is written */

/* One column, with the text around it. */
struct slurm_column {
	const struct slurm_field *field; /* NULL: only the text */
	size_t width;                    /* 0: as it comes */
	bool right;
	char *after; /* text behind it */
};

struct slurm_format {
	char *before; /* text before the first column */
	struct slurm_column *column;
	size_t n, cap;
};

/*
 * Parse -o "%.18i %t". An unknown letter is reported on stderr, and printed as
 * itself. table ends with a field without a header.
 */
void format_letters(struct slurm_format *ret, const struct slurm_field *table,
                    const char *text);
/* Parse -O "jobid:10,state". An unknown name is reported on stderr, and left
 * out. */
void format_names(struct slurm_format *ret, const struct slurm_field *table,
                  unsigned of, const char *text);
void format_free(struct slurm_format *format);

/* Add to a list the fields of rows that the columns use. */
void format_needs(const struct slurm_format *format, json_t *fields);

void format_put_header(const struct slurm_format *format, FILE *out);
void format_put_row(const struct slurm_format *format, const json_t *row,
                    const struct style *style, FILE *out);

/* The format of -o or -O, whichever came last. */
struct format_wish {
	const char *letters, *names; /* one of them, or neither */
};
int format_set_letters(void *ctx, const struct opt *opt, const char *value,
                       struct err *err);
int format_set_names(void *ctx, const struct opt *opt, const char *value,
                     struct err *err);

/* Returns the field with this name, in any case, of a command; NULL: there is
 * none. */
const struct slurm_field *field_of_name(const struct slurm_field *table,
                                        unsigned of, const char *name);

/* Returns the field of a letter; NULL: there is none. */
const struct slurm_field *field_of_letter(const struct slurm_field *table,
                                          char letter);

#endif
