/* sacct.c - list jobs, ended ones too */
#include <ctype.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "libcommon/jobid.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"
#include "libcommon/names.h"
#include "libcommon/parse.h"
#include "slurm/acct/columns.h"
#include "slurm/acct/when.h"
#include "slurm/command.h"
#include "slurm/fields.h"
#include "slurm/job.h"
#include "slurm/json/json.h"
#include "slurm/json/json_past.h"
#include "slurm/rows.h"
#include "slurm/sbatch.h"
#include "slurm/select.h"
#include "slurm/steps.h"
#include "slurm/words.h"

#define USUAL "JobID,JobName,Partition,Account,AllocCPUS,State,ExitCode"
#define BRIEF "JobID,State,ExitCode"
#define LONG                                                               \
	"JobID,JobIDRaw,JobName,Partition,MaxVMSize,MaxRSS,AveRSS,AveCPU," \
	"NTasks,AllocCPUS,Elapsed,State,ExitCode,ReqMem,AllocTRES"

/* The keys of rows that the columns need. */
static const char needs[] =
    "display_id job_id allocation array_job_id array_task_id array_tasks name user "
    "uid gid "
    "account "
    "queue class state acts exit_code signal reason submit_time eligible_time "
    "start_time expected_start end_time elapsed time_limit alloc_cpus tasks "
    "gpus alloc_mem_mib num_nodes peak_mem_mib cpu_seconds nodelist workdir comment "
    "command priority restarts constraint reservation output error cluster";

struct sacct {
	struct select by; /* first, as SELECT_AT() requires */
	/* jobs: the ids as given, some with a step */
	json_t *clusters, *jobs;
	json_t *groups;                  /* gids; NULL: not given */
	int64_t least_nodes, most_nodes; /* 0: not given */
	struct acct_columns columns;
	struct buf format;    /* empty: not given */
	int64_t since, until; /* ROW_NONE: not given */
	bool everyone, only_jobs, help, json;
};

/* --- the command line ----------------------------------------------------- */

/* Add ids such as "12", "12_3", "12.batch" and "12.0". */
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

static int set_time(void *ctx, const struct opt *opt, const char *value,
                    struct err *err)
{
	int64_t *ret = (int64_t *)(void *)((char *)ctx + opt->offset);

	if (when_parse(value, time(NULL), ret, err) == 0)
		return 0;
	fprintf(stderr, "Invalid time specification (pos=0): %s\n", value);
	exit(EXIT_FAILURE);
}

static int set_unit(void *ctx, const struct opt *opt, const char *value,
                    struct err *err)
{
	struct sacct *s = ctx;

	(void)opt, (void)err;
	if (!*value || value[1] || !strchr("KMGTP", *value)) {
		command_error("Invalid unit type '%s'. Possible options are "
		              "'KMGTP'",
		              value);
		fputs("sacct: fatal: Invalid unit type\n", stderr);
		exit(EXIT_FAILURE);
	}
	s->columns.unit = *value;
	return 0;
}

/* Add users. Fails if one is neither a number nor a user of this machine. */
static int set_users(void *ctx, const struct opt *opt, const char *value,
                     struct err *err)
{
	struct sacct *s = ctx;
	json_t *names = NULL, *item;
	struct opt at = { .offset = 0 };
	int64_t uid;
	size_t i;

	if (command_add_items(&names, &at, value, err) < 0)
		return -1;
	json_array_foreach(names, i, item) {
		const char *name = json_string_value(item);

		if (getpwnam(name) ||
		    parse_int(name, 0, UINT32_MAX, &uid, NULL) == 0)
			continue;
		err_set(err, EINVAL, "Invalid user id: %s", name);
		json_decref(names);
		return -1;
	}
	json_decref(names);
	return select_add_users(&s->by, opt, value, err);
}

/* Add groups, given by name or gid. */
static int set_groups(void *ctx, const struct opt *opt, const char *value,
                      struct err *err)
{
	struct sacct *s = ctx;
	json_t *names = NULL, *item;
	struct opt at = { .offset = 0 };
	size_t i;

	(void)opt;
	if (command_add_items(&names, &at, value, err) < 0)
		return -1;
	if (!s->groups)
		s->groups = json_array();
	json_array_foreach(names, i, item) {
		const char *name = json_string_value(item);
		const struct group *group = getgrnam(name);
		int64_t gid = group ? (int64_t)group->gr_gid : 0;

		if (!group && parse_int(name, 0, UINT32_MAX, &gid, NULL) < 0) {
			fprintf(stderr, "sacct: fatal: Invalid group id: %s\n",
			        name);
			exit(EXIT_FAILURE);
		}
		json_array_append_new(s->groups, json_integer(gid));
	}
	json_decref(names);
	return 0;
}

/* Set the range of nodes from "MIN[-MAX]". */
static int set_nodes(void *ctx, const struct opt *opt, const char *value,
                     struct err *err)
{
	struct sacct *s = ctx;

	(void)opt;
	return sbatch_parse_nodes(value, &s->least_nodes, &s->most_nodes, err);
}

/* Add the columns of -o, -b or -l behind those that were given before. */
static int set_format(void *ctx, const struct opt *opt, const char *value,
                      struct err *err)
{
	struct sacct *s = ctx;

	(void)err;
	if (s->format.len)
		buf_addc(&s->format, ',');
	buf_puts(&s->format, opt->letter == 'b'   ? BRIEF
	                     : opt->letter == 'l' ? LONG
	                                          : value);
	return 0;
}

static int set_json(void *ctx, const struct opt *opt, const char *value,
                    struct err *err)
{
	struct sacct *s = ctx;

	(void)opt, (void)value, (void)err;
	s->json = true;
	return 0;
}

#define AT(member) .offset = offsetof(struct sacct, member)

/* clang-format off */
static const struct opt opts[] = {
	{ 'A', "accounts", "ACCOUNT,...", "jobs of these accounts", command_add_items, SELECT_AT(accounts) },
	{ 0, "account", "ACCOUNT,...", NULL, command_add_items, SELECT_AT(accounts) },
	{ 'a', "allusers", NULL, "jobs of everyone", opt_set_true, AT(everyone) },
	{ 'X', "allocations", NULL, "jobs without their steps", opt_set_true, AT(only_jobs) },
	{ 'b', "brief", NULL, "id, state and exit code", .set = set_format },
	{ 'M', "clusters", "CLUSTER,...", "this cluster's own name, or all", command_add_items, AT(clusters) },
	{ 0, "cluster", "CLUSTER,...", NULL, command_add_items, AT(clusters) },
	{ 'L', "allclusters", NULL, NULL, .set = command_ignore },
	{ 0, "delimiter", "TEXT", "between columns, in place of |", opt_set_text, AT(columns.delimiter) },
	{ 0, "array", NULL, NULL, .set = command_ignore },
	{ 'D', "duplicates", NULL, NULL, .set = command_ignore },
	{ 'E', "endtime", "TIME", "jobs that existed before this time", set_time, AT(until) },
	{ 'o', "format", "NAME[%WIDTH],...", "columns", .set = set_format },
	{ 'g', "group", "GROUP,...", "jobs of these groups", .set = set_groups },
	{ 0, "gid", "GROUP,...", NULL, .set = set_groups },
	{ 'e', "helpformat", NULL, "list the columns", opt_set_true, AT(help) },
	{ 'j', "jobs", "JOB,...", "these jobs: 12, 12_3", .set = set_jobs },
	{ 0, "job", "JOB,...", NULL, .set = set_jobs },
	{ 0, "json", "data_parser", "print JSON, in one shape", .set = set_json, .optional = true },
	{ 'l', "long", NULL, "many columns", .set = set_format },
	{ 0, "name", "NAME,...", "jobs of these names", command_add_items, SELECT_AT(names) },
	{ 'N', "nodelist", "NODE,...", "jobs on these nodes", .set = select_add_nodes },
	{ 'i', "nnodes", "MIN[-MAX]", "jobs of so many nodes", .set = set_nodes },
	{ 0, "noconvert", NULL, "sizes in megabytes", opt_set_true, AT(columns.no_convert) },
	{ 'n', "noheader", NULL, "print no header line", opt_set_true, AT(columns.no_header) },
	{ 'r', "partition", "QUEUE,...", "jobs of these queues", command_add_items, SELECT_AT(queues) },
	{ 'p', "parsable", NULL, "columns end with |", opt_set_true, AT(columns.parsable) },
	{ 'P', "parsable2", NULL, "| between columns", opt_set_true, AT(columns.parsable2) },
	{ 'q', "qos", "CLASS,...", "jobs of these classes", command_add_items, SELECT_AT(classes) },
	{ 'S', "starttime", "TIME", "jobs that existed after this time", set_time, AT(since) },
	{ 's', "state", "STATE,...", "jobs in these states", .set = select_add_states },
	{ 'T', "truncate", NULL, NULL, .set = command_ignore },
	{ 0, "units", "K|M|G|T|P", "unit of sizes", .set = set_unit },
	{ 'u', "user", "USER,...", "jobs of these users", .set = set_users },
	{ 0, "uid", "USER,...", NULL, .set = set_users },
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

static const char *format_of(const struct sacct *s)
{
	const char *format = getenv("SACCT_FORMAT");

	return s->format.len ? s->format.data : format ? format : USUAL;
}

/* --- rows ----------------------------------------------------------------- */

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
	json_object_set_new(req, "since",
	                    json_integer(s->since == ROW_NONE
	                                     ? when_midnight(time(NULL))
	                                     : s->since));
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

static bool has_group(const struct sacct *s, const json_t *row)
{
	const json_t *item;
	size_t i;

	json_array_foreach(s->groups, i, item)
		if (json_integer_value(item) == row_int(row, "gid"))
			return true;
	return !s->groups;
}

static bool fits(const struct sacct *s, const json_t *row)
{
	int64_t end = row_int(row, "end_time");

	if (s->until != ROW_NONE && row_int(row, "submit_time") > s->until)
		return false;
	if (s->since != ROW_NONE && job_is_over(row) && end != ROW_NONE &&
	    end < s->since)
		return false;
	if (s->most_nodes && (row_int(row, "num_nodes") < s->least_nodes ||
	                      row_int(row, "num_nodes") > s->most_nodes))
		return false;
	return has_group(s, row) && has(s->by.states, row_text(row, "state")) &&
	       has(s->by.users, row_text(row, "user")) &&
	       has(s->by.queues, row_text(row, "queue")) &&
	       has(s->by.names, row_text(row, "name")) &&
	       has(s->by.accounts, row_text(row, "account")) &&
	       has(s->by.classes, row_text(row, "class"));
}

/* Whether to print a part of the job: "" is the job itself, others are ".batch"
 * or ".0". If -j names parts of this job, only these are printed. */
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

/* Print the rows of a job's script and of its steps, as far as -j allows. */
static void print_parts(const struct sacct *s, json_t *row)
{
	json_t *steps = json_object_get(row, "steps"), *step;
	char part[24];
	size_t i;

	json_array_foreach(steps, i, step)
		json_object_set(step, "cluster",
		                json_object_get(row, "cluster"));
	if (row_int(row, "allocation") == ROW_NONE &&
	    is_named(s, row, ".batch")) {
		json_object_set_new(row, "batch", json_true());
		columns_row(&s->columns, row);
	}
	json_array_foreach(steps, i, step) {
		snprintf(part, sizeof(part), ".%lld",
		         (long long)row_int(step, "step"));
		if (is_named(s, row, part))
			columns_row(&s->columns, step);
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

static void print_one(const struct sacct *s, json_t *row, json_t *list)
{
	if (s->json) {
		json_array_append_new(list, json_past(row));
		return;
	}
	if (is_named(s, row, ""))
		columns_row(&s->columns, row);
	if (!s->only_jobs && row_int(row, "start_time") != ROW_NONE)
		print_parts(s, row);
}

static void print_jobs(const struct sacct *s, const json_t *rows,
                       const char *cluster)
{
	size_t n = json_array_size(rows);
	json_t **row = xcalloc(n + 1, sizeof(json_t *)), *list = json_array();

	for (size_t i = 0; i < n; i++)
		row[i] = json_array_get(rows, i);
	qsort(row, n, sizeof(json_t *), by_id);
	if (!s->json)
		columns_header(&s->columns);
	for (size_t i = 0; i < n; i++) {
		if (!fits(s, row[i]))
			continue;
		json_object_set_new(row[i], "cluster", json_string(cluster));
		print_one(s, row[i], list);
	}
	if (s->json)
		json_print("jobs", json_incref(list), cluster);
	json_decref(list);
	free(row);
}

/* Turn CONFIGURING into RUNNING: Slurm's accounting does not know that state,
 * and programs take an unknown state for the end of the job. */
static void skip_configuring(json_t *rows)
{
	json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
		if (!strcmp(row_text(row, "state"), "CONFIGURING"))
			json_object_set_new(row, "state",
			                    json_string("RUNNING"));
}

/* Whether a column of jobs is made from their steps. */
static bool wants_derived(const struct sacct *s)
{
	return strcasestr(format_of(s), "derivedexitcode");
}

static int run(const struct sacct *s, struct err *err)
{
	json_t *fields = json_array(), *rows = NULL, *req;
	struct client *client = command_connect(err);
	char *cluster = client ? command_cluster(client, err) : NULL;
	int rc = -1;

	rows_add_fields(fields, needs);
	/* Do not request "cluster", the last of these fields: print_jobs()
	 * adds it to the rows. */
	json_array_remove(fields, json_array_size(fields) - 1);
	if (cluster && command_check_clusters(client, s->clusters, err) == 0) {
		req = make_request(s);
		if (s->by.nodes)
			json_object_set(req, "nodes", s->by.nodes);
		rc = rows_read(client, req, fields, &rows, NULL, err);
	}
	skip_configuring(rows);
	if (rc == 0 && (!s->only_jobs || wants_derived(s)))
		rc = steps_read(client, rows, err);
	if (rc == 0)
		print_jobs(s, rows, cluster);
	free(cluster);
	json_decref(fields);
	json_decref(rows);
	client_close(client);
	return rc;
}

/* Whether the time of -S is before that of -E (default: now). Prints Slurm's
 * message if not. */
static bool is_span(const struct sacct *s)
{
	int64_t until = s->until == ROW_NONE ? time(NULL) : s->until;
	struct buf from = { 0 }, to = { 0 };

	if (s->since == ROW_NONE || s->since <= until)
		return true;
	put_moment(s->since, &from);
	put_moment(until, &to);
	command_error("Start time (%s) requested is after end time (%s).",
	              from.data, to.data);
	buf_free(&from);
	buf_free(&to);
	return false;
}

static void bad_state(const char *name)
{
	fprintf(stderr, "sacct: fatal: unrecognized job state value '%s'\n",
	        name);
	exit(EXIT_FAILURE);
}

int sacct_main(int argc, char **argv)
{
	struct sacct s = { .by.bad_state = bad_state,
		           .since = ROW_NONE,
		           .until = ROW_NONE,
		           .columns = { .table = job_fields, .of = OF_SACCT } };
	int first = command_parse(&line, &s, argc, argv), status = 0;
	struct err err;

	if (s.help) {
		columns_help(job_fields, OF_SACCT);
		return EXIT_SUCCESS;
	}
	if (first < argc) {
		command_error("Unknown arguments:");
		for (; first < argc; first++)
			command_error(" %s", argv[first]);
		return EXIT_FAILURE;
	}
	if (!is_span(&s)) {
		status = EXIT_FAILURE;
	} else if (json_array_size(s.by.ids) > LIMIT_IDS) {
		command_error("more than %d jobs are named: name fewer",
		              LIMIT_IDS);
		status = EXIT_FAILURE;
	} else if (columns_make(&s.columns, format_of(&s)) < 0) {
		status = EXIT_FAILURE;
	} else if (run(&s, &err) < 0) {
		command_error("%s", words_is_unreachable(&err)
		                        ? words_of_job(&err)
		                        : err.text);
		status = EXIT_FAILURE;
	}
	columns_free(&s.columns);
	buf_free(&s.format);
	select_free(&s.by);
	json_decref(s.jobs);
	json_decref(s.clusters);
	json_decref(s.groups);
	return status;
}
