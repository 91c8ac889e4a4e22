/* sort.c - rows in the order of -S */
#include "slurm/sort.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/mem.h"
#include "libcommon/names.h"
#include "slurm/job.h"
#include "slurm/rows.h"

static int compare_numbers(double a, double b)
{
	return (a > b) - (a < b);
}

/* Whether to skip this key of a field when rows are compared. A text is skipped
 * if another key of the field has its value as a number. The reason is skipped
 * in fields of the priority, which use it only to print 0 for held jobs. */
static bool is_said_by_numbers(const char *key, char letter)
{
	return !strcmp(key, "display_id") || !strcmp(key, "state_letter") ||
	       !strcmp(key, "limit") || !strcmp(key, "time") ||
	       (!strcmp(key, "reason") && strchr("pQ", letter));
}

/* Returns the id of the job's array, or of the job if it is in none. */
static double of_array(const json_t *row)
{
	int64_t id = row_int(row, "array_job_id");

	return (double)(id == ROW_NONE ? row_int(row, "job_id") : id);
}

/* Compare two rows for qsort(), by the keys from which the field is made. */
static int compare_by(const json_t *a, const json_t *b,
                      const struct slurm_field *field)
{
	for (const char *s = field->needs; *s; s += strspn(s, " ")) {
		size_t len = strcspn(s, " ");
		char key[32];
		const json_t *x, *y;
		int order;

		snprintf(key, sizeof(key), "%.*s", (int)len, s);
		s += len;
		x = json_object_get(a, key);
		y = json_object_get(b, key);
		if (!strcmp(key, "state"))
			order = job_state_parse(json_string_value(x)) -
			        job_state_parse(json_string_value(y));
		else if (is_said_by_numbers(key, field->letter))
			continue;
		else if (!strcmp(key, "array_job_id"))
			order = compare_numbers(of_array(a), of_array(b));
		else if (!strcmp(key, "priority"))
			order = compare_numbers((double)job_priority(a),
			                        (double)job_priority(b));
		else if (!strcmp(key, "time_limit") &&
		         (!json_is_number(x) || !json_is_number(y)))
			/* Jobs without a time limit sort last. */
			order = !json_is_number(x) - !json_is_number(y);
		else if (json_is_string(x) && json_is_string(y))
			order =
			    strcmp(json_string_value(x), json_string_value(y));
		else
			order = compare_numbers(json_number_value(x),
			                        json_number_value(y));
		if (order)
			return order;
	}
	return 0;
}

/* Set by sort_rows() for compare(): qsort() passes no argument. */
static const struct slurm_field *sort_table;
static const char *sort_order;
static char sort_last;

static int compare(const void *a, const void *b)
{
	const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;

	for (const char *s = sort_order; *(s += strspn(s, ",+-")); s++) {
		const struct slurm_field *field;
		int order;

		field = field_of_letter(sort_table, *s);
		order = field ? compare_by(x, y, field) : 0;
		if (order)
			return s > sort_order && s[-1] == '-' ? -order : order;
	}
	return compare_by(x, y, field_of_letter(sort_table, sort_last));
}

void sort_needs(const struct slurm_field *table, const char *order, char last,
                json_t *fields)
{
	rows_add_fields(fields, field_of_letter(table, last)->needs);
	for (const char *s = order; *(s += strspn(s, ",+-")); s++) {
		const struct slurm_field *field = field_of_letter(table, *s);

		if (field)
			rows_add_fields(fields, field->needs);
	}
}

char sort_unknown(const struct slurm_field *table, const char *order)
{
	for (const char *s = order; *(s += strspn(s, ",+-")); s++) {
		const struct slurm_field *field = field_of_letter(table, *s);

		/* Rows cannot be sorted by a field that never has a value. */
		if (!field || (!*field->needs && field->none && !*field->none))
			return *s;
	}
	return '\0';
}

const json_t **sort_rows(const struct slurm_field *table, const char *order,
                         char last, const json_t *rows)
{
	size_t n = json_array_size(rows);
	const json_t **row = xcalloc(n + 1, sizeof(*row));

	for (size_t i = 0; i < n; i++)
		row[i] = json_array_get(rows, i);
	sort_table = table;
	sort_order = order;
	sort_last = last;
	qsort(row, n, sizeof(const json_t *), compare);
	return row;
}
