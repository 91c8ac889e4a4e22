/* test_list.c - listings of aiq, made from answers of the daemon */
#include <stdlib.h>
#include <string.h>

#include "aiq/aiq.h"
#include "aiq/columns.h"
#include "aiq/list.h"
#include "libcommon/job_fields.h"
#include "libcommon/mem.h"
#include "tests/unit/check.h"

/* Replacement of client_call(): answers with these rows, in parts of this size,
 * and then with the last frame. */
static const char *sent_rows, *sent_missing;
static size_t part_size;
static json_t *asked;

json_t *client_call(struct client *client, json_t *req, const void *raw,
                    size_t raw_len, client_part_fn *part, void *arg,
                    struct err *err)
{
	size_t len = strlen(sent_rows);

	(void)client, (void)raw, (void)raw_len, (void)err;
	json_decref(asked);
	asked = json_incref(req);
	for (size_t at = 0; at < len; at += part_size)
		part(sent_rows + at,
		     len - at < part_size ? len - at : part_size, arg);
	return sent_missing ? json_pack("{s:[s]}", "missing", sent_missing)
	                    : json_object();
}

static int list(const struct aiq *aiq, char **ret_text, struct err *err)
{
	struct format format;
	size_t len;
	FILE *out = open_memstream(ret_text, &len);
	int rc;

	ck_assert_int_eq(format_parse(&format, aiq->view, aiq->format, NULL),
	                 0);
	rc = list_print(aiq, NULL, &format, out, 0, err);
	fclose(out);
	format_free(&format);
	return rc;
}

/* clang-format off */
static const struct {
	const char *name;
	const struct view *view;
	const char *format;
	bool json, no_header;
	const char *rows, *want;
} cases[] = {
	{ "columns are as wide as their widest value", &view_jobs,
	  "display_id,name", false, false,
	  "12\ttrain\n7_3\tx\n",
	  "JOBID  NAME\n12     train\n7_3    x\n" },
	{ "empty values are dashes", &view_jobs,
	  "display_id,comment,name", false, true,
	  "12\t\tx\n13\ta b\t\n", "12  -    x\n13  a b  -\n" },
	{ "no rows, only headers", &view_jobs, "display_id,name", false, false,
	  "", "JOBID  NAME\n" },
	{ "times are local", &view_jobs, "display_id,start_time", false, true,
	  "1\t0\n2\t\n", "1  1970-01-01T00:00:00\n2  -\n" },
	{ "a start is expected until it is known", &view_jobs, "%S", false,
	  true, "\t86400\n0\t\n\t\n",
	  "1970-01-02T00:00:00\n1970-01-01T00:00:00\n-\n" },
	{ "seconds and sizes have units", &view_jobs, "cpu_seconds,mem_mib",
	  false, true, "3661.4\t1536\n\t\n", "1:01:01  1.5G\n      -     -\n" },
	{ "a signal is an exit, too", &view_jobs, "exit,job_id", false, true,
	  "3\t\t1\n\t15\t2\n\t\t3\n0\t0\t4\n",
	  "   3  1\nTERM  2\n   -  3\n   0  4\n" },
	{ "totals are of all tasks", &view_jobs, "%C %i", false, true,
	  "0.5\t4\t1\n", "2 1\n" },
	{ "a template is as squeue's", &view_jobs, "%.6i|%4t<%j>", false, false,
	  "12\tR\ttrain\n", " JOBID|ST  <NAME>\n    12|R   <train>\n" },
	{ "a template's widths cut", &view_jobs, "%.2i %2j.", false, true,
	  "12345\tgr\xc3\xbc\xc3\x9f\n", "12 gr.\n" },
	{ "widths count characters", &view_jobs, "%4j.", false, true,
	  "gr\xc3\xbc\n", "gr\xc3\xbc .\n" },
	{ "a template shows what was escaped on one line", &view_jobs, "%j",
	  false, true, "a\\tb\\n\\\\\n", "a?b?\\\n" },
	{ "nothing reaches the terminal as a command", &view_jobs, "%j", false,
	  true, "\033[2Jx\n", "?[2Jx\n" },
	{ "columns are added to the usual ones", &view_shares, "+jobs", false,
	  false, "q\tu\t\t\t\t\t9.5\t1\t0.5\t2\t3\t4\n",
	  "QUEUE  USER  QUOTA  FAIR_SHARE  ALLOCATED  RATIO  USAGE  SHARE  "
	  "FACTOR  RUNNING  PENDING  JOBS\n"
	  "q      u     -      -           -              -    9.5      1  "
	  "   0.5        2        3     4\n" },
	{ "JSON rows are passed on", &view_nodes, NULL, true, false,
	  "{\"name\":\"n1\"}\n{\"name\":\"n2\"}\n",
	  "{\"nodes\":[\n{\"name\":\"n1\"},\n{\"name\":\"n2\"}\n]}\n" },
	{ "no rows are an empty array", &view_jobs, NULL, true, false, "",
	  "{\"jobs\":[]}\n" },
};
/* clang-format on */

static const size_t part_sizes[] = { 1, 3, 7, 4096 };

START_TEST(listing)
{
	const char *name = cases[_i].name;

	setenv("TZ", "UTC", 1);
	sent_missing = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(part_sizes); i++) {
		struct aiq aiq = { .view = cases[_i].view,
			           .format = cases[_i].format,
			           .json = cases[_i].json,
			           .no_header = cases[_i].no_header };
		struct err why = { 0 };
		char *got;

		part_size = part_sizes[i];
		sent_rows = cases[_i].rows;
		ck_assert_msg(!list(&aiq, &got, &why), "%s: %s", name,
		              why.text);
		ck_assert_msg(!strcmp(got, cases[_i].want),
		              "%s, in parts of %zu: got\n%s", name, part_size,
		              got);
		free(got);
	}
}
END_TEST

START_TEST(unknown_jobs_fail_after_the_listing)
{
	char id[] = "99", *operand[] = { id }, *got;
	struct aiq aiq = { .view = &view_jobs,
		           .format = "%i",
		           .no_header = true,
		           .operand = operand,
		           .noperands = 1 };
	struct err why;

	part_size = 100;
	sent_rows = "12\n";
	sent_missing = "99";
	ck_assert_int_eq(list(&aiq, &got, &why), -1);
	ck_assert_str_eq(got, "12\n");
	ck_assert_str_eq(why.text, "no such job: '99'");
	free(got);
}
END_TEST

/* clang-format off */
static const struct {
	const char *name;
	const struct view *view;
	const char *format;
	bool json;
	const char *want; /* the fields that aiq requests */
} asks[] = {
	{ "only what is shown is asked for", &view_jobs, "job_id,exit", false,
	  "[\"job_id\",\"exit_code\",\"signal\"]" },
	{ "the text of a quota, for people", &view_queues, "name,quota", false,
	  "[\"name\",\"quota_text\"]" },
	{ "its amounts, for programs", &view_queues, "name,quota", true,
	  "[\"name\",\"quota\"]" },
	{ "JSON has all keys", &view_jobs, NULL, true, "null" },
	{ "or those that are named", &view_jobs, "state", true,
	  "[\"state\"]" },
};
/* clang-format on */

START_TEST(fields_asked)
{
	struct aiq aiq = { .view = asks[_i].view,
		           .format = asks[_i].format,
		           .json = asks[_i].json };
	char *got, *fields;

	part_size = 100;
	sent_rows = "";
	sent_missing = NULL;
	ck_assert_int_eq(list(&aiq, &got, NULL), 0);
	fields = json_dumps(json_object_get(asked, "fields"),
	                    JSON_ENCODE_ANY | JSON_COMPACT);
	ck_assert_msg(!strcmp(fields ? fields : "null", asks[_i].want),
	              "%s: got %s", asks[_i].name, fields);
	free(fields);
	free(got);
}
END_TEST

static const struct {
	const char *name, *format;
} bad_formats[] = {
	{ "no such column", "display_id,foo" },
	{ "a part of a column's name", "display" },
	{ "an empty name", "job_id,,state" },
	{ "no such letter", "%i %$" },
	{ "a letter is missing", "%i %" },
	{ "a width beyond all measure", "%100000i" },
	{ "text without columns", "100%%" },
	{ "nothing", "" },
};

START_TEST(bad_format)
{
	struct format format;
	struct err why = { 0 };

	ck_assert_msg(format_parse(&format, &view_jobs, bad_formats[_i].format,
	                           &why) < 0 &&
	                  why.code == EINVAL && *why.text,
	              "%s was taken", bad_formats[_i].name);
}
END_TEST

/* Every column must be a field of the daemon, which refuses unknown ones. */
START_TEST(columns_are_fields)
{
	static const char *const fields[] = {
#define X(name, usual, shown) #name,
		JOB_FIELDS(X)
#undef X
	};

	for (size_t c = 0; c < view_jobs.ncolumns; c++) {
		const struct column *column = &view_jobs.columns[c];
		const char *name =
		    column->field[0] ? column->field[0] : column->name;
		size_t i = 0;

		while (i < ARRAY_SIZE(fields) && strcmp(name, fields[i]) != 0)
			i++;
		ck_assert_msg(i < ARRAY_SIZE(fields), "%s", name);
	}
}
END_TEST

SUITE(list)
{
	tcase_add_loop_test(tc, listing, 0, ARRAY_SIZE(cases));
	tcase_add_test(tc, unknown_jobs_fail_after_the_listing);
	tcase_add_loop_test(tc, fields_asked, 0, ARRAY_SIZE(asks));
	tcase_add_loop_test(tc, bad_format, 0, ARRAY_SIZE(bad_formats));
	tcase_add_test(tc, columns_are_fields);
}
