/* output.c - expand the names of a job's files */
#include "aischedd/run/output.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#define MAX_WIDTH 10
/* value of %a in Slurm for a job that is not in an array */
#define NO_ARRAY_TASK 4294967294u

static bool expand_one(char letter, int width, const struct output_name *name,
                       struct buf *out)
{
	uint64_t array = name->array_job ? name->array_job : name->job;
	uint64_t index = name->array_job ? name->array_task : NO_ARRAY_TASK;

	switch (letter) {
	case 'j':
	case 'J':
		buf_printf(out, "%0*" PRIu64, width, name->job);
		return true;
	case 'A':
		buf_printf(out, "%0*" PRIu64, width, array);
		return true;
	case 'a':
		buf_printf(out, "%0*" PRIu64, width, index);
		return true;
	case 't':
		buf_printf(out, "%0*" PRIu32, width, name->task);
		return true;
	case 'n':
		buf_printf(out, "%0*" PRIu32, width, name->node_index);
		return true;
	case 'N':
		buf_add(out, name->node, strcspn(name->node, "."));
		return true;
	case 'u':
		buf_puts(out, name->user);
		return true;
	case 'x':
		buf_puts(out, name->name);
		return true;
	case '%':
		buf_addc(out, '%');
		return true;
	default:
		return false;
	}
}

/* Returns the letter of the conversion that begins at p, a '%'; *ret_width is
 * its width, or 0. */
static const char *parse_one(const char *p, int *ret_width)
{
	int width = 0;

	for (p++; isdigit((unsigned char)*p); p++)
		if (width < MAX_WIDTH)
			width = width * 10 + *p - '0';
	*ret_width = width < MAX_WIDTH ? width : MAX_WIDTH;
	return p;
}

void output_expand(const char *pattern, const char *workdir,
                   const struct output_name *name, struct buf *out)
{
	bool raw = strchr(pattern, '\\') != NULL;

	if (pattern[0] != '/')
		buf_printf(out, "%s/", workdir);
	for (const char *p = pattern; *p; p++) {
		const char *q;
		int width;

		if (raw && *p == '\\')
			continue;
		if (raw || *p != '%') {
			buf_addc(out, *p);
			continue;
		}
		q = parse_one(p, &width);
		if (expand_one(*q, width, name, out))
			p = q;
		else
			buf_addc(out, *p);
	}
}

const char *output_task(const char *pattern, const char **ret_end,
                        int *ret_width)
{
	if (strchr(pattern, '\\'))
		return NULL;
	for (const char *p = pattern; (p = strchr(p, '%'));) {
		const char *q = parse_one(p, ret_width);

		if (*q == 't') {
			*ret_end = q + 1;
			return p;
		}
		p = *q == '%' ? q + 1 : p + 1;
	}
	return NULL;
}
