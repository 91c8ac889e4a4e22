/* check.c - run all suites of this binary, in order of their names */
#include "tests/unit/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SUITES = 64 };

static struct check_case {
	const char *name;
	suite_fn *fn;
} entries[MAX_SUITES];
static size_t nentries;
static const char *suite_now;

void check_register(const char *name, suite_fn *fn)
{
	if (nentries == MAX_SUITES)
		abort();
	entries[nentries++] = (struct check_case){ name, fn };
}

const char *check_suite(void)
{
	return suite_now;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct check_case *)a)->name,
	              ((const struct check_case *)b)->name);
}

bool glob_match(const char *pattern, const char *text)
{
	const char *star = NULL, *again = NULL;

	while (*text) {
		if (*pattern == '*') {
			star = ++pattern;
			again = text;
		} else if (*pattern == '?' || *pattern == *text) {
			pattern++;
			text++;
		} else if (star) {
			/* Let the last star match one more character. */
			pattern = star;
			text = ++again;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

static void show(const char *title, const char *text)
{
	fprintf(stderr, "# %s:\n", title);
	while (*text) {
		int len = (int)strcspn(text, "\n");

		fprintf(stderr, "# %.*s\n", len, text);
		text += len + (text[len] == '\n');
	}
}

void check_equal(const char *got, const char *want)
{
	if (!strcmp(got, want))
		return;
	show("got", got);
	show("want", want);
	ck_abort_msg("the texts on stderr differ");
}

void check_long(bool good, const char *text, const char *format, ...)
{
	char message[1024];
	va_list args;

	if (good)
		return;
	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	show(message, text);
	ck_abort_msg("%s: see stderr", message);
}

int main(void)
{
	SRunner *runner = srunner_create(NULL);
	int failed;

	qsort(entries, nentries, sizeof(*entries), by_name);
	for (size_t i = 0; i < nentries; i++) {
		Suite *suite = suite_create(entries[i].name);
		TCase *tc = tcase_create(entries[i].name);

		tcase_set_timeout(tc, 300);
		suite_now = entries[i].name;
		entries[i].fn(tc);
		suite_add_tcase(suite, tc);
		srunner_add_suite(runner, suite);
	}
	srunner_set_tap(runner, "-");
	srunner_run_all(runner, CK_SILENT);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
