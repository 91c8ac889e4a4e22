/* test_table.c - print columns */
#include "libcommon/client/table.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/mem.h"
#include "tests/unit/check.h"

static const char *const header[] = { "JOBID", "NAME", "REASON" };
static const bool right[] = { true, false, false };

static const struct {
	const char *name, *tsv;
	bool header;
	int width;
	const char *want;
} cases[] = {
	{ "no rows are a header", "", true, 0, "JOBID  NAME  REASON\n" },
	{ "no rows without header are nothing", "", false, 0, "" },
	{ "numbers go right, text left", "7\ta\tx\n12\tlonger\ty\n", true, 0,
	  "JOBID  NAME    REASON\n"
	  "    7  a       x\n"
	  "   12  longer  y\n" },
	{ "without header columns are narrower", "7\ta\tx\n12\tb\ty\n", false,
	  0,
	  " 7  a  x\n"
	  "12  b  y\n" },
	{ "characters count, not bytes", "1\té\tx\n2\tee\ty\n", false, 0,
	  "1  é   x\n"
	  "2  ee  y\n" },
	{ "lines do not end in spaces", "1\tname\t\n2\t\t\n", false, 0,
	  "1  name\n"
	  "2\n" },
	{ "a short row is filled up", "1\n2\tb\tc\n", false, 0,
	  "1\n"
	  "2  b  c\n" },
	{ "a surplus tab is shown", "1\tb\tc\td\n", false, 0, "1  b  c?d\n" },
	{ "escapes", "1\ta\\\\b\tx\\ty\\nz\\q\n", false, 0,
	  "1  a\\b  x?y?z?\n" },
	{ "the terminal is told nothing", "1\ta\033[2J\177\tb\xc2\x9b!\r\n",
	  false, 0, "1  a?[2J?  b?!?\n" },
	{ "an incomplete row waits", "1\ta\tx\n2\tb\ty", false, 0,
	  "1  a  x\n" },
	{ "the last column is cut at the edge", "1\ta\tabcdefgh\n", false, 10,
	  "1  a  abc…\n" },
	{ "what just fits is not cut", "1\ta\tabcd\n", false, 10,
	  "1  a  abcd\n" },
	{ "characters are not cut in two", "1\ta\téèêëé\n", false, 10,
	  "1  a  éèê…\n" },
	{ "no room leaves the ellipsis", "1\tabcdefgh\txyz\n", false, 5,
	  "1  abcdefgh  …\n" },
	{ "the header is cut as well", "1\ta\tx\n", true, 15,
	  "JOBID  NAME  R…\n"
	  "    1  a     x\n" },
};

/* Returns the table as text; tsv is added in parts of this size. */
static char *print(const char *tsv, size_t part, bool with_header, int width)
{
	struct table *table = table_new(ARRAY_SIZE(header), header, right);
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (size_t len = strlen(tsv); len;) {
		size_t n = part < len ? part : len;

		table_add_tsv(table, tsv, n);
		tsv += n;
		len -= n;
	}
	table_print(table, out, with_header, width);
	fclose(out);
	table_free(table);
	return text;
}

START_TEST(printed)
{
	for (size_t part = 1; part < 100; part += 33) {
		char *got = print(cases[_i].tsv, part, cases[_i].header,
		                  cases[_i].width);

		ck_assert_msg(!strcmp(got, cases[_i].want), "%s: got\n%s",
		              cases[_i].name, got);
		free(got);
	}
}
END_TEST

static const char *green(const char *value, size_t len)
{
	return len == 3 && !memcmp(value, "yes", 3) ? "\033[32m" : NULL;
}

START_TEST(colours_take_no_room)
{
	struct table *table = table_new(ARRAY_SIZE(header), header, right);
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	table_colour(table, 1, green);
	table_add_tsv(table, "1\tyes\tx\n2\tlong\ty\n", 17);
	table_print(table, out, false, 0);
	fclose(out);
	ck_assert_str_eq(text, "1  \033[32myes\033[0m   x\n"
	                       "2  long  y\n");
	free(text);
	table_free(table);
}
END_TEST

/* More rows than are written at once. */
START_TEST(many_rows)
{
	struct table *table = table_new(ARRAY_SIZE(header), header, right);
	char *text = NULL;
	size_t size, lines = 0;
	FILE *out = open_memstream(&text, &size);

	for (int i = 0; i < 20000; i++)
		table_add_tsv(table, "123456\tsome name\tPriority\n", 26);
	ck_assert_uint_eq(table_rows(table), 20000);
	table_print(table, out, true, 0);
	fclose(out);
	for (const char *p = text; (p = strchr(p, '\n')); p++)
		lines++;
	ck_assert_uint_eq(lines, 20001);
	ck_assert_str_eq(text + size - 28, "123456  some name  Priority\n");
	free(text);
	table_free(table);
}
END_TEST

SUITE(table)
{
	tcase_add_loop_test(tc, printed, 0, ARRAY_SIZE(cases));
	tcase_add_test(tc, colours_take_no_room);
	tcase_add_test(tc, many_rows);
}
