/* scancel.c - cancel jobs, or send them a signal */
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "libcommon/buf.h"
#include "libcommon/idset.h"
#include "libcommon/jobid.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"
#include "slurm/command.h"
#include "slurm/rows.h"
#include "slurm/select.h"
#include "slurm/steps.h"
#include "slurm/words.h"

enum { STATUS_DENIED = 210, STATUS_NO_STEP = 225, STATUS_UNREACHABLE = 8 };

struct scancel {
	struct select by; /* first, as SELECT_AT() requires */
	json_t *clusters;
	bool batch, full, quiet, verbose, interactive;
	int signo;     /* 0: end the jobs */
	json_t *steps; /* array of [job, step] */
};

/* Set the user. As in Slurm, fails if the user is unknown on this machine. */
static int set_users(void *ctx, const struct opt *opt, const char *value,
                     struct err *err)
{
	struct scancel *s = ctx;
	int64_t uid;

	if (!getpwnam(value) && parse_int(value, 0, UINT32_MAX, &uid, NULL) < 0)
		return err_set(err, EINVAL, "Invalid user name: %s", value);
	return select_add_users(&s->by, opt, value, err);
}

static int set_signal(void *ctx, const struct opt *opt, const char *value,
                      struct err *err)
{
	struct scancel *s = ctx;

	(void)opt, (void)err;
	if (parse_signal(value, &s->signo, NULL) == 0)
		return 0;
	fprintf(stderr, "Unknown job signal: %s\n", value);
	exit(EXIT_FAILURE);
}

#define AT(member) .offset = offsetof(struct scancel, member)

/* clang-format off */
static const struct opt opts[] = {
	{ 'A', "account", "ACCOUNT", "jobs of this account",
	  command_add_items, SELECT_AT(accounts) },
	{ 'b', "batch", NULL, "signal the batch shell only",
	  opt_set_true, AT(batch) },
	{ 0, "ctld", NULL, NULL, .set = command_ignore },
	{ 'c', "cron", NULL, NULL, .set = command_ignore },
	{ 'f', "full", NULL, "signal all processes of the jobs",
	  opt_set_true, AT(full) },
	{ 'H', "hurry", NULL, NULL, .set = command_ignore },
	{ 'i', "interactive", NULL, "ask before each job",
	  opt_set_true, AT(interactive) },
	{ 'M', "clusters", "CLUSTER", "this cluster's own name, or all",
	  command_add_items, AT(clusters) },
	{ 0, "cluster", "CLUSTER", NULL, command_add_items, AT(clusters) },
	{ 0, "me", NULL, "your jobs", opt_set_true, SELECT_AT(me) },
	{ 'n', "name", "NAME", "jobs of this name",
	  command_add_items, SELECT_AT(names) },
	{ 0, "jobname", "NAME", NULL, command_add_items, SELECT_AT(names) },
	{ 'p', "partition", "QUEUE", "jobs of this queue",
	  command_add_items, SELECT_AT(queues) },
	{ 'q', "qos", "CLASS", "jobs of this class",
	  command_add_items, SELECT_AT(classes) },
	{ 'Q', "quiet", NULL, "no message about jobs that do not exist",
	  opt_set_true, AT(quiet) },
	{ 'R', "reservation", "NAME", "jobs in this reservation",
	  command_add_items, SELECT_AT(reservations) },
	{ 's', "signal", "SIGNAL", "send SIGNAL instead", .set = set_signal },
	{ 't', "state", "STATE", "jobs in this state", .set = select_add_states },
	{ 'u', "user", "USER", "jobs of this user", .set = set_users },
	{ 'v', "verbose", NULL, "say what is done",
	  opt_set_true, AT(verbose) },
	{ 'w', "nodelist", "NODE,...", "jobs on these nodes",
	  .set = select_add_nodes },
	OPT_END
};
/* clang-format on */

static const struct command_line line = {
	.name = "scancel",
	.usage = "[OPTION]... [JOB]...",
	.opts = opts,
	.env = "SCANCEL_",
	.usage_status = 1,
};

/* Read operands such as "12 13_4,14_[1-3] 15.0". Returns 0, or the exit
 * status. */
static int read_ids(struct scancel *s, char **operand)
{
	for (; *operand; operand++) {
		struct jobid id;
		int64_t step;
		const char *dot = strrchr(*operand, '.');

		if (dot && parse_int(dot + 1, 0, INT32_MAX, &step, NULL) == 0) {
			char *job =
			    xstrndup(*operand, (size_t)(dot - *operand));
			bool is_job = jobid_parse(&id, job, NULL) == 0;

			if (is_job) {
				idset_free(&id.tasks);
				json_array_append_new(
				    s->steps,
				    json_pack("[s I]", job, (json_int_t)step));
			}
			free(job);
			if (is_job)
				continue;
		}
		if (jobid_parse(&id, *operand, NULL) < 0) {
			command_error("Invalid job id %s", *operand);
			return EXIT_FAILURE;
		}
		idset_free(&id.tasks);
		if (!s->by.ids)
			s->by.ids = json_array();
		json_array_append_new(s->by.ids, json_string(*operand));
	}
	return 0;
}

/* Compare jobs for qsort(): pending ones first. They are cancelled first, so
 * that none of them starts in the place of a running job that was cancelled. */
static int by_state(const void *a, const void *b)
{
	const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;
	bool runs_x = strcmp(row_text(x, "state"), "PENDING") != 0;
	bool runs_y = strcmp(row_text(y, "state"), "PENDING") != 0;

	return runs_x - runs_y;
}

static bool is_wanted(const struct scancel *s, json_t *row)
{
	char answer[16];

	if (!s->interactive)
		return true;
	answer_clean(row);
	printf("Cancel job_id=%s name=%s partition=%s [y/n]? ",
	       row_text(row, "display_id"), row_text(row, "name"),
	       row_text(row, "queue"));
	fflush(stdout);
	return fgets(answer, sizeof(answer), stdin) && *answer == 'y';
}

static void put_filter(const char *name, const json_t *list, struct buf *out)
{
	const json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
		buf_printf(out, "%s%s%s", i ? "," : name, i ? "" : "=",
		           json_string_value(item));
	if (json_array_size(list))
		buf_addc(out, ' ');
}

static void tell_filters(const struct scancel *s)
{
	const struct select *by = &s->by;
	struct buf text = { 0 };

	put_filter("account", by->accounts, &text);
	put_filter("job_name", by->names, &text);
	put_filter("nodelist", by->nodes, &text);
	put_filter("partition", by->queues, &text);
	put_filter("qos", by->classes, &text);
	put_filter("reservation", by->reservations, &text);
	put_filter("state", by->states, &text);
	put_filter("user_name", by->users, &text);
	command_error("No active jobs match ALL job filters, including: %s",
	              text.len ? text.data : "");
	buf_free(&text);
}

/* Returns an array with the ids of the jobs that the filters select, NULL on
 * failure. */
static json_t *choose(const struct scancel *s, struct client *client,
                      struct err *err)
{
	json_t *fields = json_array(), *rows = NULL, *ids = NULL;
	size_t missing;

	rows_add_fields(fields, "display_id state");
	if (select_read(&s->by, client, fields, &rows, &missing, err) == 0) {
		size_t n = json_array_size(rows);
		json_t **row = calloc(n + 1, sizeof(json_t *));

		ids = json_array();
		for (size_t i = 0; row && i < n; i++)
			row[i] = json_array_get(rows, i);
		if (row)
			qsort(row, n, sizeof(json_t *), by_state);
		for (size_t i = 0; row && i < n; i++) {
			/* Turn the id of an array with a limit, such as
			 * 12_[0-9%3], into one without: 12_[0-9]. */
			char *id = strdup(row_text(row[i], "display_id"));
			char *limit = id ? strchr(id, '%') : NULL;

			if (limit)
				memcpy(limit, "]", sizeof("]"));
			if (id && is_wanted(s, row[i]))
				json_array_append_new(ids, json_string(id));
			free(id);
		}
		free(row);
		if (!n && s->verbose)
			tell_filters(s);
	}
	json_decref(fields);
	json_decref(rows);
	return ids;
}

static int report(const struct scancel *s, const json_t *answer)
{
	const json_t *failed = json_object_get(answer, "failed"), *item;
	int status = EXIT_SUCCESS;
	size_t i;

	json_array_foreach(failed, i, item) {
		struct err err = { .code = (int)row_int(item, "code") };

		snprintf(err.text, sizeof(err.text), "%s",
		         row_text(item, "text"));
		/* A job that has ended cannot be signalled: report it as
		 * unknown. */
		if (s->signo && strstr(err.text, "has ended"))
			err.code = ENOENT;
		/* Cancelling a job that has ended is no failure. */
		if (err.code == ENOENT && !s->signo) {
			if (s->verbose && !s->quiet)
				command_error("Kill job error on job id %s: %s",
				              row_text(item, "job"),
				              WORDS_NO_JOB);
			continue;
		}
		if (!s->quiet || err.code != ENOENT)
			command_error("Kill job error on job id %s: %s",
			              row_text(item, "job"),
			              words_of_job(&err));
		status = err.code == EPERM || err.code == EACCES ? STATUS_DENIED
		                                                 : EXIT_FAILURE;
	}
	return status;
}

/* Returns which processes of a job to signal, as the daemon's request names
 * them: the steps, with -b the script, with -f all. */
static const char *scope_of(const struct scancel *s)
{
	return s->full ? "all" : s->batch ? "script" : "steps";
}

/* Cancel or signal jobs, LIMIT_IDS in each request. Returns the exit status. */
static int cancel(const struct scancel *s, struct client *client,
                  const json_t *ids, struct err *err)
{
	int status = EXIT_SUCCESS;

	for (size_t i = 0; i < json_array_size(ids); i += LIMIT_IDS) {
		json_t *some = json_array(), *req, *answer;

		for (size_t j = i;
		     j < i + LIMIT_IDS && j < json_array_size(ids); j++) {
			json_array_append(some, json_array_get(ids, j));
			if (s->verbose)
				fprintf(
				    stderr, "scancel: %s job %s\n",
				    s->signo ? "Signalling" : "Terminating",
				    json_string_value(json_array_get(ids, j)));
		}
		req = json_pack("{s:s, s:o, s:i, s:s}", "op", "cancel", "ids",
		                some, "signal", s->signo, "scope", scope_of(s));
		answer = client_call(client, req, NULL, 0, NULL, NULL, err);
		json_decref(req);
		if (!answer)
			return -1;
		if (status == EXIT_SUCCESS)
			status = report(s, answer);
		json_decref(answer);
	}
	return status;
}

/* --- steps ---------------------------------------------------------------- */

/* Whether a step with this number is running in a job whose id is in `job`. */
static bool step_runs(struct client *client, const char *job, int64_t number)
{
	json_t *fields = json_array(), *rows = NULL;
	json_t *req =
	    json_pack("{s:s, s:[s], s:b}", "op", "jobs", "ids", job, "all", 1);
	const json_t *row, *step;
	bool runs = false;
	size_t i, j;

	rows_add_fields(fields, "job_id state start_time");
	if (rows_read(client, req, fields, &rows, NULL, NULL) == 0 &&
	    steps_read(client, rows, NULL) == 0)
		json_array_foreach(rows, i, row)
			json_array_foreach(json_object_get(row, "steps"), j,
			                   step)
				runs =
				    runs || (row_int(step, "step") == number &&
				             !strcmp(row_text(step, "state"),
				                     "RUNNING"));
	json_decref(fields);
	json_decref(rows);
	return runs;
}

/* Report the answer to a request for one step, and return the exit status. As
 * in Slurm, succeeds for a pending job, and if the signal was for a step that
 * is not running. */
static int report_step(const struct scancel *s, const json_t *answer,
                       const char *job, int64_t number, bool runs)
{
	const json_t *item =
	    json_array_get(json_object_get(answer, "failed"), 0);
	struct err err = { .code = ENOENT };
	int status = STATUS_NO_STEP;

	if (item) {
		err.code = (int)row_int(item, "code");
		snprintf(err.text, sizeof(err.text), "%s",
		         row_text(item, "text"));
		if (strstr(err.text, "is PENDING"))
			return EXIT_SUCCESS;
		if (strstr(err.text, "has ended"))
			err.code = ENOENT;
		status = err.code == EPERM || err.code == EACCES ? STATUS_DENIED
		                                                 : EXIT_FAILURE;
	} else if (runs || s->signo) {
		return EXIT_SUCCESS;
	}
	command_error("Kill job error on job step id %s.%lld: %s", job,
	              (long long)number, words_of_job(&err));
	return status;
}

static int cancel_step(const struct scancel *s, struct client *client,
                       const char *job, int64_t number, struct err *err)
{
	bool runs = step_runs(client, job, number);
	json_t *req =
	    json_pack("{s:s, s:[s], s:i, s:I}", "op", "cancel", "ids", job,
	              "signal", s->signo, "step", (json_int_t)number);
	json_t *answer;
	int status;

	if (s->verbose)
		fprintf(stderr, "scancel: %s step %s.%lld\n",
		        s->signo ? "Signalling" : "Terminating", job,
		        (long long)number);
	answer = client_call(client, req, NULL, 0, NULL, NULL, err);
	json_decref(req);
	if (!answer)
		return -1;
	status = report_step(s, answer, job, number, runs);
	json_decref(answer);
	return status;
}

/* Cancel or signal the steps one by one. Returns the first exit status that is
 * not 0. */
static int cancel_steps(const struct scancel *s, struct client *client,
                        struct err *err)
{
	int first = EXIT_SUCCESS, status;
	json_t *pair;
	size_t i;

	json_array_foreach(s->steps, i, pair) {
		status = cancel_step(
		    s, client, json_string_value(json_array_get(pair, 0)),
		    json_integer_value(json_array_get(pair, 1)), err);
		if (status < 0)
			return -1;
		first = first ? first : status;
	}
	return first;
}

static int run(struct scancel *s, struct err *err)
{
	struct client *client = command_connect(err);
	json_t *ids = NULL;
	int status = -1;

	if (client && command_check_clusters(client, s->clusters, err) == 0) {
		status = cancel_steps(s, client, err);
		ids = select_has_filter(&s->by) || s->interactive
		          ? choose(s, client, err)
		          : json_incref(s->by.ids);
		if (ids && status == EXIT_SUCCESS)
			status = cancel(s, client, ids, err);
		else if (!ids && !json_array_size(s->steps))
			status = -1;
	}
	json_decref(ids);
	client_close(client);
	return status;
}

static void bad_state(const char *name)
{
	fprintf(stderr,
	        "Invalid job state specified: %s\n"
	        "Valid job states are PENDING, RUNNING, and SUSPENDED\n",
	        name);
	exit(EXIT_FAILURE);
}

int scancel_main(int argc, char **argv)
{
	struct scancel s = { .by.bad_state = bad_state, .steps = json_array() };
	int first = command_parse(&line, &s, argc, argv);
	struct err err;
	int status = read_ids(&s, argv + first);

	if (status)
		goto out;
	if (first == argc && !select_has_filter(&s.by)) {
		command_error("No job identification provided");
		status = EXIT_FAILURE;
		goto out;
	}
	/* As in Slurm, SIGKILL for a whole job cancels it. */
	if (s.signo == SIGKILL && !s.batch && !s.full &&
	    !json_array_size(s.steps))
		s.signo = 0;
	status = run(&s, &err);
	if (status < 0 && words_is_unreachable(&err)) {
		command_error("Kill job error on job id %s: %s",
		              first < argc ? argv[first] : "0",
		              words_of_job(&err));
		status = STATUS_UNREACHABLE;
	} else if (status < 0) {
		command_error("%s", err.text);
		status = EXIT_FAILURE;
	}
out:
	select_free(&s.by);
	json_decref(s.clusters);
	json_decref(s.steps);
	return status;
}
