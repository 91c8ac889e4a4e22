/* squeue.c - list jobs */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "libcommon/idset.h"
#include "libcommon/jobid.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"
#include "slurm/command.h"
#include "slurm/fields.h"
#include "slurm/job.h"
#include "slurm/json/json.h"
#include "slurm/json/json_job.h"
#include "slurm/rows.h"
#include "slurm/select.h"
#include "slurm/sinfo.h"
#include "slurm/sort.h"
#include "slurm/squeue_steps.h"
#include "slurm/steps.h"
#include "slurm/words.h"

struct squeue {
	struct select by; /* first, as SELECT_AT() requires */
	struct format_wish wish;
	const char *sort;
	json_t *clusters;
	json_t *steps; /* -s: ids as "12.0" or "12"; empty: all */
	json_t *licenses;
	bool no_header, is_long, start, array, no_convert, json;
	int64_t every; /* seconds; 0: print once */
};

#define USUAL       "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R"
#define LONG        "%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R"
#define STARTS      "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %20Y %R"
#define STEPS       "%.15i %.8j %.9P %.8u %.9M %N"
#define ORDER       "P,t,-p"
#define STEP_ORDER  "P"
#define START_ORDER "S"

/* --- the command line ----------------------------------------------------- */

static int set_ids(void *ctx, const struct opt *opt, const char *value,
                   struct err *err)
{
	struct squeue *q = ctx;
	const json_t *item;
	size_t i;

	if (command_add_items(ctx, opt, value ? value : "", err) < 0)
		return -1;
	json_array_foreach(q->by.ids, i, item) {
		const char *text = json_string_value(item);
		struct jobid id;

		if (jobid_parse(&id, text, NULL) < 0)
			return err_set(err, EINVAL, "Invalid job id: %s", text);
		idset_free(&id.tasks);
	}
	return 0;
}

static int set_every(void *ctx, const struct opt *opt, const char *value,
                     struct err *err)
{
	struct squeue *q = ctx;

	(void)opt;
	if (parse_int(value, 1, 1000000, &q->every, NULL) < 0)
		return err_set(err, EINVAL, "--iterate=%s", value);
	return 0;
}

static int set_steps(void *ctx, const struct opt *opt, const char *value,
                     struct err *err)
{
	struct squeue *q = ctx;

	if (!q->steps)
		q->steps = json_array();
	return command_add_items(ctx, opt, value ? value : "", err);
}

static int set_json(void *ctx, const struct opt *opt, const char *value,
                    struct err *err)
{
	struct squeue *q = ctx;

	(void)opt, (void)value, (void)err;
	q->json = true;
	return 0;
}

#define AT(member) .offset = offsetof(struct squeue, member)

/* clang-format off */
static const struct opt opts[] = {
	{ 'A', "account", "ACCOUNT,...", "jobs of these accounts",
	  command_add_items, SELECT_AT(accounts) },
	{ 'a', "all", NULL, "all queues: nothing is hidden here",
	  .set = command_ignore },
	{ 'r', "array", NULL, "a line for each task of an array",
	  opt_set_true, AT(array) },
	{ 0, "array-unique", NULL, NULL, .set = command_ignore },
	{ 'M', "clusters", "CLUSTER,...", "this cluster's own name, or all",
	  command_add_items, AT(clusters) },
	{ 0, "cluster", "CLUSTER,...", NULL, command_add_items, AT(clusters) },
	{ 'o', "format", "FORMAT", "columns by letters: \"%.18i %t\"",
	  format_set_letters, AT(wish) },
	{ 'O', "Format", "NAME[:[.]WIDTH],...", "columns by names",
	  format_set_names, AT(wish) },
	{ 0, "federation", NULL, NULL, .set = command_ignore },
	{ 'h', "noheader", NULL, "print no header line",
	  opt_set_true, AT(no_header) },
	{ 0, "hide", NULL, NULL, .set = command_ignore },
	{ 'i', "iterate", "SECONDS", "repeat at this interval", .set = set_every },
	{ 'j', "jobs", "JOB,...", "these jobs: 12, 12_3", set_ids,
	  SELECT_AT(ids) },
	{ 0, "job", "JOB,...", NULL, set_ids, SELECT_AT(ids) },
	{ 'L', "licenses", "NAME,...", "jobs that asked for these licences",
	  command_add_items, AT(licenses) },
	{ 0, "json", "data_parser", "print JSON, in one shape", .set = set_json, .optional = true },
	{ 0, "local", NULL, NULL, .set = command_ignore },
	{ 'l', "long", NULL, "more columns", opt_set_true, AT(is_long) },
	{ 0, "me", NULL, "your jobs", opt_set_true, SELECT_AT(me) },
	{ 'n', "name", "NAME,...", "jobs of these names",
	  command_add_items, SELECT_AT(names) },
	{ 0, "names", "NAME,...", NULL, command_add_items, SELECT_AT(names) },
	{ 0, "noconvert", NULL, "sizes in megabytes",
	  opt_set_true, AT(no_convert) },
	{ 'w', "nodelist", "NODE,...", "jobs on these nodes",
	  .set = select_add_nodes },
	{ 0, "nodes", "NODE,...", NULL, .set = select_add_nodes },
	{ 'p', "partition", "QUEUE,...", "jobs of these queues",
	  command_add_items, SELECT_AT(queues) },
	{ 'P', "priority", NULL, NULL, .set = command_ignore },
	{ 'q', "qos", "CLASS,...", "jobs of these classes",
	  command_add_items, SELECT_AT(classes) },
	{ 'R', "reservation", "NAME,...", "jobs in these reservations",
	  command_add_items, SELECT_AT(reservations) },
	{ 0, "sibling", NULL, NULL, .set = command_ignore },
	{ 'S', "sort", "[-]LETTER,...", "order, by letters of --format",
	  opt_set_text, AT(sort) },
	{ 0, "start", NULL, "expected starts of pending jobs",
	  opt_set_true, AT(start) },
	{ 't', "states", "STATE,...", "jobs in these states, like PD or RUNNING",
	  .set = select_add_states },
	{ 0, "state", "STATE,...", NULL, .set = select_add_states },
	{ 's', "steps", "STEP,...", "steps that run: all, or 12.0, 12.batch, 12",
	  set_steps, AT(steps), .optional = true },
	{ 'u', "users", "USER,...", "jobs of these users", .set = select_add_users },
	{ 0, "user", "USER,...", NULL, .set = select_add_users },
	{ 'v', "verbose", NULL, NULL, .set = command_ignore },
	OPT_END
};
/* clang-format on */

static const struct command_line line = {
	.name = "squeue",
	.usage = "[OPTION]...",
	.opts = opts,
	.env = "SQUEUE_",
	.usage_status = 1,
};

static const struct slurm_field *fields_of(const struct squeue *q)
{
	return q->steps ? squeue_step_fields : job_fields;
}

static const char *order_of(const struct squeue *q)
{
	return q->sort    ? q->sort
	       : q->steps ? STEP_ORDER
	       : q->start ? START_ORDER
	                  : ORDER;
}

/* --- rows ----------------------------------------------------------------- */

/* Whether ids name tasks of the array, and no id names the whole array. */
static bool names_tasks(const struct squeue *q, uint64_t array)
{
	const json_t *item;
	bool some = false;
	size_t i;

	json_array_foreach(q->by.ids, i, item) {
		struct jobid id;
		bool all;

		if (jobid_parse(&id, json_string_value(item), NULL) < 0)
			continue;
		all = !id.tasks.n;
		idset_free(&id.tasks);
		if (id.job == array && all)
			return false;
		some = some || id.job == array;
	}
	return some;
}

static bool names_task(const struct squeue *q, uint64_t array, uint32_t task)
{
	const json_t *item;
	bool named = false;
	size_t i;

	json_array_foreach(q->by.ids, i, item) {
		struct jobid id;

		if (jobid_parse(&id, json_string_value(item), NULL) < 0)
			continue;
		named =
		    named || (id.job == array && idset_has(&id.tasks, task));
		idset_free(&id.tasks);
	}
	return named;
}

static json_t *task_row(const json_t *row, int64_t task)
{
	json_t *one = json_copy((json_t *)(uintptr_t)row);
	char *id = xasprintf("%lld_%lld", (long long)row_int(row, "job_id"),
	                     (long long)task);

	json_object_set_new(one, "display_id", json_string(id));
	json_object_set_new(one, "array_task_id", json_integer(task));
	free(id);
	return one;
}

/* Split rows that stand for the pending tasks of an array into a row for each
 * task: with -r for all tasks, else only for those whose ids were given. Takes
 * rows. */
static json_t *split_arrays(const struct squeue *q, json_t *rows)
{
	json_t *ret = json_array(), *row;
	size_t i;

	json_array_foreach(rows, i, row) {
		const char *text = row_text(row, "array_tasks");
		uint64_t array = (uint64_t)row_int(row, "job_id");
		bool some = *text && names_tasks(q, array);
		struct idset tasks;
		uint32_t most;

		if (!*text || !(some || q->array) ||
		    idset_parse(&tasks, &most, text, NULL) < 0) {
			json_array_append(ret, row);
			continue;
		}
		for (int64_t t = idset_next(&tasks, -1); t >= 0;
		     t = idset_next(&tasks, t))
			if (!some || names_task(q, array, (uint32_t)t))
				json_array_append_new(ret, task_row(row, t));
		idset_free(&tasks);
	}
	json_decref(rows);
	return ret;
}

/* Returns the jobs that request one of the licences of -L. Takes rows. */
static json_t *keep_licensed(const struct squeue *q, json_t *rows)
{
	json_t *ret = json_array(), *row, *item;
	size_t i, k;

	json_array_foreach(rows, i, row) {
		bool has = false;

		json_array_foreach(q->licenses, k, item) {
			const char *name = json_string_value(item);

			for (const char *s = row_text(row, "licenses"); *s;
			     s += *s == ',') {
				size_t len = strcspn(s, ":,");

				has = has || (len == strlen(name) &&
				              !strncmp(s, name, len));
				s += strcspn(s, ",");
			}
		}
		if (has)
			json_array_append(ret, row);
	}
	json_decref(rows);
	return ret;
}

static void print_json(const struct squeue *q, const json_t *rows,
                       const char *cluster)
{
	const json_t **row = sort_rows(fields_of(q), order_of(q), 'i', rows);
	json_t *jobs = json_array();

	for (size_t i = 0; row[i]; i++)
		json_array_append_new(jobs, json_job(row[i], cluster));
	json_print("jobs", jobs, cluster);
	free(row);
}

static void print_rows(const struct squeue *q,
                       const struct slurm_format *format, json_t *rows)
{
	const struct style style = { .no_convert = q->no_convert };
	const json_t **row = sort_rows(fields_of(q), order_of(q), 'i', rows);

	if (!q->no_header)
		format_put_header(format, stdout);
	for (size_t i = 0; row[i]; i++)
		if (!q->start || job_is_pending(row[i]))
			format_put_row(format, row[i], &style, stdout);
	free(row);
}

/* --- the listing ---------------------------------------------------------- */

/* Whether the only id of -j is a task of an array that the daemon knows. */
static bool is_in_array(const struct squeue *q, struct client *client)
{
	json_t *fields = json_pack("[s]", "job_id"), *rows = NULL;
	struct select by = { 0 };
	size_t missing = 1;
	struct jobid id;
	bool known;

	if (jobid_parse(&id, json_string_value(json_array_get(q->by.ids, 0)),
	                NULL) < 0 ||
	    !id.tasks.n) {
		json_decref(fields);
		return false;
	}
	idset_free(&id.tasks);
	by.ids = json_array();
	json_array_append_new(by.ids,
	                      json_sprintf("%llu", (unsigned long long)id.job));
	known = select_read(&by, client, fields, &rows, &missing, NULL) == 0 &&
	        !missing;
	select_free(&by);
	json_decref(fields);
	json_decref(rows);
	return known;
}

static int print_once(const struct squeue *q, struct client *client,
                      const struct slurm_format *format, const char *cluster,
                      struct err *err)
{
	json_t *fields = json_array(), *rows = NULL;
	size_t missing = 0;
	int rc;

	if (q->steps) {
		rows_add_fields(fields, squeue_step_needs);
	} else {
		format_needs(format, fields);
		sort_needs(job_fields, order_of(q), 'i', fields);
	}
	rows_add_fields(fields,
	                q->json ? json_job_needs : "array_tasks job_id");
	if (q->licenses)
		rows_add_fields(fields, "licenses");
	rc = select_read(&q->by, client, fields, &rows, &missing, err);
	json_decref(fields);
	if (rc < 0)
		return -1;
	/* As in Slurm, an unknown id is an error only if no other id was
	 * given. */
	if (missing && json_array_size(q->by.ids) == 1 &&
	    !json_array_size(rows) && !is_in_array(q, client)) {
		json_decref(rows);
		return err_set(err, ENOENT, WORDS_NO_JOB);
	}
	rows = split_arrays(q, rows);
	if (q->licenses)
		rows = keep_licensed(q, rows);
	if (q->steps && steps_read(client, rows, err) < 0) {
		json_decref(rows);
		return -1;
	}
	if (q->steps) {
		json_t *steps = squeue_steps(rows, q->steps);

		json_decref(rows);
		rows = steps;
	}
	if (!q->json && !q->no_header && (q->is_long || q->every))
		command_put_date();
	if (q->json)
		print_json(q, rows, cluster);
	else
		print_rows(q, format, rows);
	json_decref(rows);
	return 0;
}

static void make_format(const struct squeue *q, struct slurm_format *format)
{
	const char *noun = q->steps ? "job step" : "job";

	if (q->wish.names)
		format_names(format, fields_of(q), OF_SQUEUE, noun,
		             q->wish.names);
	else
		format_letters(format, fields_of(q), noun,
		               q->wish.letters ? q->wish.letters
		               : q->steps      ? STEPS
		               : q->start      ? STARTS
		               : q->is_long    ? LONG
		                               : USUAL);
}

static bool is_node(const json_t *nodes, const char *name)
{
	const json_t *row;
	size_t i;

	json_array_foreach(nodes, i, row)
		if (!strcmp(row_text(row, "name"), name))
			return true;
	return false;
}

/* Fails with ENODEV if -w names a node that is not there. */
static int check_nodes(const struct squeue *q, struct client *client,
                       struct err *err)
{
	json_t *partitions = NULL, *nodes = NULL, *item;
	int rc = 0;
	size_t i;

	if (!q->by.nodes)
		return 0;
	if (partitions_read(client, &partitions, &nodes, err) < 0)
		return -1;
	json_array_foreach(q->by.nodes, i, item) {
		const char *name = json_string_value(item);

		if (rc == 0 && !is_node(nodes, name))
			rc = err_set(err, ENODEV, "Invalid node name %s", name);
	}
	json_decref(partitions);
	json_decref(nodes);
	return rc;
}

static int run(const struct squeue *q, const struct slurm_format *format,
               struct err *err)
{
	struct client *client = command_connect(err);
	bool says = q->clusters && !q->no_header && !q->json;
	char *cluster = NULL;
	int rc = client ? command_check_clusters(client, q->clusters, err) : -1;

	if (rc == 0)
		rc = check_nodes(q, client, err);
	if (rc == 0 && (says || q->json)) {
		cluster = command_cluster(client, err);
		rc = cluster ? 0 : -1;
	}
	if (rc == 0 && says)
		printf("CLUSTER: %s\n", cluster);
	while (rc == 0) {
		rc = print_once(q, client, format, cluster, err);
		if (!q->every)
			break;
		fflush(stdout);
		sleep((unsigned)q->every);
		puts("");
	}
	free(cluster);
	client_close(client);
	return rc;
}

/* Report an unknown letter of -S. As in Slurm, the header is printed before
 * it. */
static int bad_sort(const struct squeue *q, const struct slurm_format *format)
{
	if (!q->no_header)
		format_put_header(format, stdout);
	fflush(stdout);
	command_error("Invalid sort specification: %c",
	              sort_unknown(fields_of(q), q->sort));
	return EXIT_FAILURE;
}

int squeue_main(int argc, char **argv)
{
	struct squeue q = { 0 };
	int first = command_parse(&line, &q, argc, argv);
	int status = EXIT_SUCCESS;
	struct slurm_format format;
	struct err err;

	/* For an option with an optional value, getopt() does not take the next
	 * argument, but Slurm's -s does. */
	if (first < argc && q.steps && !json_array_size(q.steps)) {
		const struct opt *opt = command_find(&line, "steps");

		command_apply(&line, opt, &q, argv[first++]);
	}
	if (first < argc) {
		command_error("Unrecognized option: %s", argv[first]);
		return 1;
	}
	make_format(&q, &format);
	if (q.sort && sort_unknown(fields_of(&q), q.sort))
		status = bad_sort(&q, &format);
	else if (run(&q, &format, &err) < 0) {
		bool is_own = q.clusters && err.code == ENOENT &&
		              strcmp(err.text, WORDS_NO_JOB) != 0;

		if (is_own || err.code == ENODEV)
			command_error("%s", err.text);
		else
			fprintf(stderr, "slurm_load_jobs error: %s\n",
			        words_of_job(&err));
		status = EXIT_FAILURE;
	}
	format_free(&format);
	select_free(&q.by);
	json_decref(q.steps);
	json_decref(q.licenses);
	json_decref(q.clusters);
	return status;
}
