/* sacct.c - list jobs of all times */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "libcommon/clean.h"
#include "libcommon/jobid.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"
#include "libcommon/names.h"
#include "libcommon/parse.h"
#include "slurm/command.h"
#include "slurm/fields.h"
#include "slurm/job.h"
#include "slurm/rows.h"
#include "slurm/select.h"
#include "slurm/steps.h"
#include "slurm/words.h"

#define USUAL "JobID,JobName,Partition,Account,AllocCPUS,State,ExitCode"
#define BRIEF "JobID,State,ExitCode"
#define LONG                                                               \
	"JobID,JobIDRaw,JobName,Partition,MaxVMSize,MaxRSS,AveRSS,AveCPU," \
	"NTasks,AllocCPUS,Elapsed,State,ExitCode,ReqMem,AllocTRES"

/* Fields that the rows must have for all columns. */
static const char needs[] =
    "display_id job_id array_job_id array_task_id name user uid gid account "
    "queue class state acts exit_code signal reason submit_time eligible_time "
    "start_time expected_start end_time elapsed time_limit cpus tasks gpus "
    "mem_mib num_nodes peak_mem_mib cpu_seconds nodelist workdir comment "
    "command priority restarts constraint reservation output error cluster";

enum { PAST_FIRST = 1 }; /* the earliest time that is asked for */

/* One column as it was asked for. */
struct acct_column {
	const struct slurm_field *field;
	int width; /* negative: aligned left */
};

struct sacct {
	struct select by;        /* first: select.h */
	json_t *clusters, *jobs; /* jobs: as given, with their steps */
	const char *format, *delimiter;
	int64_t since, until; /* ROW_NONE: not given */
	bool everyone, only_jobs, no_header, no_convert, help;
	bool parsable, parsable2; /* with and without one at the end */
	struct acct_column *column;
	size_t n, cap;
};

/* --- the command line ----------------------------------------------------- */

/* "12", "12_3", "12.batch", "12.0" */
static int set_jobs(void *ctx, const struct opt *opt, const char *value,
                    struct err *err)
{
	struct sacct *s = ctx;
	json_t *list = NULL, *item;
	struct opt at = { .offset = 0 };
	size_t i;
	int rc = command_add_items(&list, &at, value, err);

	(void)opt;
	if (!s->jobs)
		s->jobs = json_array();
	if (!s->by.ids)
		s->by.ids = json_array();
	json_array_foreach(list, i, item) {
		const char *text = json_string_value(item);
		char *job = xstrndup(text, strcspn(text, ".+"));
		struct jobid id;

		if (jobid_parse(&id, job, NULL) < 0) {
			fprintf(stderr,
			        "sacct: fatal: Bad job/step specified: %s\n",
			        text);
			exit(EXIT_FAILURE);
		}
		idset_free(&id.tasks);
		json_array_append(s->jobs, item);
		json_array_append_new(s->by.ids, json_string(job));
		free(job);
	}
	json_decref(list);
	return rc;
}

/* MMDD[YY] and MM/DD[/YY] as YYYY-MM-DD; anything else as it is, but that Slurm
 * takes a '-' before the hour, too. */
static char *usual_time(const char *value, int64_t now)
{
	size_t digits = strspn(value, "0123456789");
	int month = 0, day = 0, year = -1, end = 0;
	time_t t = now;
	struct tm tm;
	char *text;

	if (digits == 4 || digits == 6)
		sscanf(value, digits == 4 ? "%2d%2d%n" : "%2d%2d%n%2d%n",
		       &month, &day, &end, &year, &end);
	else if (digits == 2 && value[2] == '/')
		sscanf(value, "%2d/%2d%n/%2d%n", &month, &day, &end, &year,
		       &end);
	/* 2026-11-22 begins with no month. */
	if (end && month <= 12 && (!value[end] || value[end] == '-')) {
		localtime_r(&t, &tm);
		return xasprintf("%04d-%02d-%02d%s%s",
		                 year < 0 ? tm.tm_year + 1900 : 2000 + year,
		                 month, day, value[end] ? "T" : "",
		                 value[end] ? value + end + 1 : "");
	}
	text = xstrdup(value);
	if (strlen(text) > 10 && text[4] == '-' && text[10] == '-')
		text[10] = 'T';
	return text;
}

static int set_time(void *ctx, const struct opt *opt, const char *value,
                    struct err *err)
{
	int64_t *ret = (int64_t *)(void *)((char *)ctx + opt->offset);
	int64_t now = time(NULL);
	char *text = usual_time(value, now);
	int rc;

	rc = parse_time(text, now, ret, NULL);
	if (rc < 0 && !strncmp(text, "1970-", 5)) {
		*ret = PAST_FIRST;
		rc = 0;
	}
	/* 18:30 is the last one. */
	if (rc == 0 && *ret > now && strchr(text, ':') && !strchr(text, '-'))
		*ret -= 24 * 60 * 60;
	free(text);
	return rc < 0 ? err_set(err, EINVAL, "Invalid time specification: %s",
	                        value)
	              : 0;
}

static int set_fixed(void *ctx, const struct opt *opt, const char *value,
                     struct err *err)
{
	struct sacct *s = ctx;

	(void)value, (void)err;
	s->format = opt->letter == 'b' ? BRIEF : LONG;
	return 0;
}

#define AT(member) .offset = offsetof(struct sacct, member)

/* clang-format off */
static const struct opt opts[] = {
	{ 'A', "accounts", "ACCOUNT,...", "jobs of these accounts", command_add_items, SELECT_AT(accounts) },
	{ 0, "account", "ACCOUNT,...", NULL, command_add_items, SELECT_AT(accounts) },
	{ 'a', "allusers", NULL, "jobs of everyone", opt_set_true, AT(everyone) },
	{ 'X', "allocations", NULL, "jobs without their steps", opt_set_true, AT(only_jobs) },
	{ 'b', "brief", NULL, "id, state and exit code", .set = set_fixed },
	{ 'M', "clusters", "CLUSTER,...", "this cluster's own name, or all", command_add_items, AT(clusters) },
	{ 0, "cluster", "CLUSTER,...", NULL, command_add_items, AT(clusters) },
	{ 'L', "allclusters", NULL, NULL, .set = command_ignore },
	{ 0, "delimiter", "TEXT", "between columns, in place of |", opt_set_text, AT(delimiter) },
	{ 'D', "duplicates", NULL, NULL, .set = command_ignore },
	{ 'E', "endtime", "TIME", "jobs that existed before this time", set_time, AT(until) },
	{ 'o', "format", "NAME[%WIDTH],...", "columns", opt_set_text, AT(format) },
	{ 'e', "helpformat", NULL, "list the columns", opt_set_true, AT(help) },
	{ 'j', "jobs", "JOB,...", "these jobs: 12, 12_3", .set = set_jobs },
	{ 0, "job", "JOB,...", NULL, .set = set_jobs },
	{ 'l', "long", NULL, "many columns", .set = set_fixed },
	{ 0, "name", "NAME,...", "jobs of these names", command_add_items, SELECT_AT(names) },
	{ 'N', "nodelist", "NODE,...", "jobs on these nodes", command_add_items, SELECT_AT(nodes) },
	{ 0, "noconvert", NULL, "sizes in megabytes", opt_set_true, AT(no_convert) },
	{ 'n', "noheader", NULL, "print no header line", opt_set_true, AT(no_header) },
	{ 'r', "partition", "QUEUE,...", "jobs of these queues", command_add_items, SELECT_AT(queues) },
	{ 'p', "parsable", NULL, "columns end with |", opt_set_true, AT(parsable) },
	{ 'P', "parsable2", NULL, "| between columns", opt_set_true, AT(parsable2) },
	{ 'q', "qos", "CLASS,...", "jobs of these classes", command_add_items, SELECT_AT(classes) },
	{ 'S', "starttime", "TIME", "jobs that existed after this time", set_time, AT(since) },
	{ 's', "state", "STATE,...", "jobs in these states", .set = select_add_states },
	{ 'T', "truncate", NULL, NULL, .set = command_ignore },
	{ 0, "units", "UNIT", NULL, .set = command_ignore },
	{ 'u', "user", "USER,...", "jobs of these users", .set = select_add_users },
	{ 0, "uid", "USER,...", NULL, .set = select_add_users },
	{ 'v', "verbose", NULL, NULL, .set = command_ignore },
	OPT_END
};
/* clang-format on */

static const struct command_line line = {
	.name = "sacct",
	.usage = "[OPTION]...",
	.opts = opts,
	.usage_status = 1,
};

/* --- columns -------------------------------------------------------------- */

static void print_names(void)
{
	const char *before = "";
	unsigned n = 0;

	for (const struct slurm_field *f = job_fields; f->header; f++) {
		if (!(f->of & OF_SACCT))
			continue;
		printf("%s%-19s", before, f->name);
		before = ++n % 4 ? " " : "\n";
	}
	putchar('\n');
}

/* name, name%20, name%-20 */
static int add_column(struct sacct *s, const char *text, size_t len)
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
	field = field_of_name(job_fields, OF_SACCT, name);
	if (!field) {
		command_error("Invalid field requested: \"%s\"", name);
		free(name);
		return -1;
	}
	s->column = GROW(s->column, s->n, &s->cap);
	s->column[s->n++] =
	    (struct acct_column){ field, width ? (int)width : field->width };
	free(name);
	return 0;
}

static int make_columns(struct sacct *s)
{
	const char *format = s->format ? s->format : getenv("SACCT_FORMAT");

	for (const char *at = format ? format : USUAL; *at; at += *at == ',') {
		size_t len = strcspn(at, ",");

		if (len && add_column(s, at, len) < 0)
			return -1;
		at += len;
	}
	return 0;
}

/* As wide as asked, a '+' where it was cut. */
static void put_cell(const struct acct_column *column, const char *text)
{
	int width = abs(column->width), len = (int)strlen(text);

	if (len > width)
		printf("%.*s+ ", width - 1, text);
	else
		printf("%*s ", column->width, text);
}

static void put_parsable(const struct sacct *s, size_t i, const char *text)
{
	const char *delimiter = s->delimiter ? s->delimiter : "|";

	printf("%s%s", text, s->parsable || i + 1 < s->n ? delimiter : "");
}

static bool is_table(const struct sacct *s)
{
	return !s->parsable && !s->parsable2;
}

static void print_header(const struct sacct *s)
{
	if (s->no_header)
		return;
	for (size_t i = 0; i < s->n; i++)
		if (is_table(s))
			put_cell(&s->column[i], s->column[i].field->name);
		else
			put_parsable(s, i, s->column[i].field->name);
	putchar('\n');
	for (size_t i = 0; is_table(s) && i < s->n; i++) {
		for (int n = abs(s->column[i].width); n > 0; n--)
			putchar('-');
		putchar(' ');
	}
	if (is_table(s))
		putchar('\n');
}

static void print_row(const struct sacct *s, const json_t *row)
{
	const struct style style = { .no_convert = s->no_convert };
	struct buf value = { 0 };

	for (size_t i = 0; i < s->n; i++) {
		const struct slurm_field *field = s->column[i].field;

		buf_clear(&value);
		field->value(row, field, &style, &value);
		if (!value.len)
			buf_puts(&value, field->none ? field->none : "");
		if (value.len)
			value.data[text_clean(value.data, value.len)] = '\0';
		if (is_table(s))
			put_cell(&s->column[i], value.data ? value.data : "");
		else
			put_parsable(s, i, value.data ? value.data : "");
	}
	putchar('\n');
	buf_free(&value);
}

/* --- rows ----------------------------------------------------------------- */

static int64_t midnight(void)
{
	time_t now = time(NULL);
	struct tm tm;

	localtime_r(&now, &tm);
	tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
	tm.tm_isdst = -1;
	return mktime(&tm);
}

static json_t *all_states(void)
{
	json_t *list = json_array();

	for (int i = 0; i < JOB_NSTATES; i++)
		json_array_append_new(
		    list, json_string(job_state_name((enum job_state)i)));
	return list;
}

static json_t *make_request(const struct sacct *s)
{
	json_t *req = json_pack("{s:s}", "op", "jobs");

	if (s->everyone || s->by.users || s->by.ids || !geteuid())
		json_object_set_new(req, "all", json_true());
	if (s->by.ids) {
		json_object_set(req, "ids", s->by.ids);
		return req;
	}
	json_object_set_new(req, "states", all_states());
	if (s->by.users)
		json_object_set(req, "users", s->by.users);
	if (s->by.names)
		json_object_set(req, "names", s->by.names);
	json_object_set_new(
	    req, "since",
	    json_integer(s->since == ROW_NONE ? midnight() : s->since));
	return req;
}

static bool has(const json_t *list, const char *text)
{
	const json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
		if (!strcmp(json_string_value(item), text))
			return true;
	return !list;
}

static bool fits(const struct sacct *s, const json_t *row)
{
	int64_t end = row_int(row, "end_time");

	if (s->until != ROW_NONE && row_int(row, "submit_time") > s->until)
		return false;
	if (s->since != ROW_NONE && job_is_over(row) && end != ROW_NONE &&
	    end < s->since)
		return false;
	return has(s->by.states, row_text(row, "state")) &&
	       has(s->by.users, row_text(row, "user")) &&
	       has(s->by.queues, row_text(row, "queue")) &&
	       has(s->by.names, row_text(row, "name")) &&
	       has(s->by.accounts, row_text(row, "account")) &&
	       has(s->by.classes, row_text(row, "class"));
}

/* Whether the job, or its part (".batch", ".0"), is among those that were
 * named; "": the job itself. */
static bool is_named(const struct sacct *s, const json_t *row, const char *part)
{
	const json_t *item;
	size_t i;
	bool all = true;

	json_array_foreach(s->jobs, i, item) {
		const char *text = json_string_value(item);
		const char *dot = strchr(text, '.');
		char *own;
		bool same;

		if (!dot)
			continue;
		own = xasprintf("%s%s", row_text(row, "display_id"), part);
		same = *part && !strcmp(own, text);
		free(own);
		if (same)
			return true;
		all = all && strncmp(text, row_text(row, "display_id"),
		                     (size_t)(dot - text)) != 0;
	}
	return all;
}

/* Its script, then its steps. */
static void print_parts(const struct sacct *s, json_t *row)
{
	json_t *steps = json_object_get(row, "steps"), *step;
	char part[24];
	size_t i;

	json_array_foreach(steps, i, step)
		json_object_set(step, "cluster",
		                json_object_get(row, "cluster"));
	if (is_named(s, row, ".batch")) {
		json_object_set_new(row, "batch", json_true());
		print_row(s, row);
	}
	json_array_foreach(steps, i, step) {
		snprintf(part, sizeof(part), ".%lld",
		         (long long)row_int(step, "step"));
		if (is_named(s, row, part))
			print_row(s, step);
	}
}

static int by_id(const void *a, const void *b)
{
	static const char *const keys[] = { "array_job_id", "array_task_id",
		                            "job_id" };
	const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		int64_t m = row_int(x, keys[i]), n = row_int(y, keys[i]);

		if (!i && m == ROW_NONE)
			m = row_int(x, "job_id");
		if (!i && n == ROW_NONE)
			n = row_int(y, "job_id");
		if (m != n)
			return m < n ? -1 : 1;
	}
	return 0;
}

static void print_jobs(const struct sacct *s, const json_t *rows,
                       const char *cluster)
{
	size_t n = json_array_size(rows);
	json_t **row = xcalloc(n + 1, sizeof(json_t *));

	for (size_t i = 0; i < n; i++)
		row[i] = json_array_get(rows, i);
	qsort(row, n, sizeof(json_t *), by_id);
	print_header(s);
	for (size_t i = 0; i < n; i++) {
		if (!fits(s, row[i]))
			continue;
		json_object_set_new(row[i], "cluster", json_string(cluster));
		if (is_named(s, row[i], ""))
			print_row(s, row[i]);
		if (!s->only_jobs && row_int(row[i], "start_time") != ROW_NONE)
			print_parts(s, row[i]);
	}
	free(row);
}

static int run(const struct sacct *s, struct err *err)
{
	json_t *fields = json_array(), *rows = NULL, *req;
	struct client *client = command_connect(err);
	char *cluster = client ? command_cluster(client, err) : NULL;
	int rc = -1;

	rows_add_fields(fields, needs);
	json_array_remove(fields, json_array_size(fields) - 1); /* cluster */
	if (cluster && command_check_clusters(client, s->clusters, err) == 0) {
		req = make_request(s);
		if (s->by.nodes)
			json_object_set(req, "nodes", s->by.nodes);
		rc = rows_read(client, req, fields, &rows, NULL, err);
	}
	if (rc == 0 && !s->only_jobs)
		rc = steps_read(client, rows, err);
	if (rc == 0)
		print_jobs(s, rows, cluster);
	free(cluster);
	json_decref(fields);
	json_decref(rows);
	client_close(client);
	return rc;
}

int sacct_main(int argc, char **argv)
{
	struct sacct s = { .since = ROW_NONE, .until = ROW_NONE };
	int first = command_parse(&line, &s, argc, argv), status = 0;
	struct err err;

	if (s.help) {
		print_names();
		return EXIT_SUCCESS;
	}
	if (first < argc) {
		fprintf(stderr, "sacct: fatal: Unknown arguments:\n");
		for (; first < argc; first++)
			fprintf(stderr, "sacct: fatal:  %s\n", argv[first]);
		return EXIT_FAILURE;
	}
	if (json_array_size(s.by.ids) > LIMIT_IDS) {
		command_error("more than %d jobs are named: name fewer",
		              LIMIT_IDS);
		status = EXIT_FAILURE;
	} else if (make_columns(&s) < 0) {
		status = EXIT_FAILURE;
	} else if (run(&s, &err) < 0) {
		command_error("%s", words_is_unreachable(&err)
		                        ? words_of_job(&err)
		                        : err.text);
		status = EXIT_FAILURE;
	}
	free(s.column);
	select_free(&s.by);
	json_decref(s.jobs);
	json_decref(s.clusters);
	return status;
}
