/* aisub - submit jobs */
#include <err.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "aisub/pty.h"
#include "libcommon/client/batch.h"
#include "libcommon/client/client.h"
#include "libcommon/client/follow.h"
#include "libcommon/client/json_out.h"
#include "libcommon/client/retry.h"
#include "libcommon/limits.h"
#include "libcommon/spec/spec_opt.h"

enum {
	PATIENCE_S = 30, /* how long to wait for a daemon that restarts */
	ID_SIZE = 24,    /* size of a job id as text */
	TEST_TIMES = 3,  /* times of a schedule that --test-only prints */
	/* First bytes of a script, which must have no zero byte. */
	BINARY_CHECK = 1024
};

static const struct opt_prog prog = {
	.name = "aisub",
	.usage = "[OPTION]... SCRIPT [ARG]...\n"
		 "  or:  aisub [OPTION]... --wrap COMMAND\n"
		 "  or:  aisub [OPTION]... --pty [COMMAND [ARG]...]\n"
		 "  or:  aisub [OPTION]... < SCRIPT",
	.about = "Submit a batch job.  Every option may also be on #AISUB "
		 "lines of the script\nor in a variable, like "
		 "AISUB_CPUS_PER_TASK; #SBATCH lines are understood.",
	.opts = spec_opts,
	.stop_at_operand = true,
};

struct script {
	const char *name; /* for messages; its last part is the default name of
	                     the job */
	bool is_stdin;
	struct buf text;
};

/* --- the script ----------------------------------------------------------- */

/* Check that the script begins with #! and is a text, as sbatch does. */
static int check_script(const struct script *script, struct err *err)
{
	const char *name = script->name, *text = script->text.data;
	size_t len = script->text.len;
	size_t head = len < BINARY_CHECK ? len : BINARY_CHECK;

	if (!len)
		return err_set(err, EINVAL, "script '%s' is empty", name);
	if (len < 2 || memcmp(text, "#!", 2))
		return err_set(err, EINVAL,
		               "'%s' does not look like a batch script: its "
		               "first line must be #! and the path of an "
		               "interpreter, like #!/bin/sh",
		               name);
	if (memchr(text, '\0', head))
		return err_set(err, EINVAL,
		               "'%s' does not look like a batch script: there "
		               "are zero bytes in it",
		               name);
	if (memmem(text, len, "\r\n", 2))
		return err_set(err, EINVAL,
		               "script '%s' contains DOS line breaks (\\r\\n); "
		               "`sed -i 's/\\r$//'` removes them",
		               name);
	return 0;
}

/* Read the script; if name is NULL or "-", from stdin. */
static int read_script(struct script *script, const char *name, struct err *err)
{
	int fd = STDIN_FILENO, rc;

	if (name && strcmp(name, "-")) {
		script->name = name;
		fd = batch_open(name);
		if (fd < 0)
			return err_sys(err, "cannot open script '%s'", name);
	} else {
		script->name = "stdin";
		script->is_stdin = true;
		if (isatty(fd))
			warnx("reading the script from the terminal until ^D; "
			      "see 'aisub --help'");
	}
	rc = batch_read(fd, script->name, &script->text, err);
	if (fd != STDIN_FILENO)
		close(fd);
	return rc < 0 ? -1 : check_script(script, err);
}

/* --- defaults ------------------------------------------------------------- */

static const char *default_name(const struct submit *submit,
                                const struct script *script)
{
	const char *slash;

	if (submit->wrap)
		return "wrap";
	if (script->is_stdin)
		return "sbatch";
	slash = strrchr(script->name, '/');
	return slash ? slash + 1 : script->name;
}

static int complete(struct submit *submit, const struct script *script,
                    char **args, struct err *err)
{
	const struct batch_job job = {
		.name = default_name(submit, script),
		.command = submit->wrap       ? submit->wrap
		           : script->is_stdin ? NULL
		                              : script->name,
		.once = submit->launch ? !strcmp(submit->launch, "script")
		                       : submit->only_slurm,
		.args = args,
	};

	return batch_complete(submit, &job, err);
}

/* Check the options of command line, AISUB_* variables and script together. */
static int check(struct submit *submit, struct err *err)
{
	struct request req;

	if (submit->follow && submit->spec.array)
		return err_set(err, EINVAL,
		               "--follow cannot follow an array; `aiq --log "
		               "-f JOB_TASK` follows one of its tasks");
	if (batch_check_cron(submit, err) < 0)
		return -1;
	return submit_resolve(submit, &req, err);
}

/* --- the answer ----------------------------------------------------------- */

static void print_warnings(const struct submit *submit, json_t *answer)
{
	json_t *warnings = json_object_get(answer, "warnings"), *text;
	size_t i;

	if (submit->quiet)
		return;
	json_array_foreach(warnings, i, text)
		warnx("warning: %s", json_string_value(text));
}

static void print_json(json_t *value)
{
	json_out(value, JSON_COMPACT, stdout);
	putchar('\n');
}

/* Print "would evict job 12, 14". */
static void print_evicts(const json_t *evicts)
{
	const json_t *id;
	size_t i;

	json_array_foreach(evicts, i, id)
		printf("%s%lld", i ? ", " : "would evict job ",
		       (long long)json_integer_value(id));
	if (json_array_size(evicts))
		putchar('\n');
}

static const char *text_of(const json_t *obj, const char *key)
{
	return json_string_value(json_object_get(obj, key));
}

/* Print "would wait (Resources): ...". */
static void print_wait(json_t *test)
{
	const char *reason = text_of(test, "reason");
	const char *text = text_of(test, "reason_text");
	json_t *expected = json_object_get(test, "expected_start");
	struct buf when = { 0 };

	if (json_is_integer(expected)) {
		buf_puts(&when, "would start at ");
		format_time(&when, json_integer_value(expected));
	} else {
		buf_puts(&when, "would wait");
	}
	printf("%s (%s): %s\n", when.data, reason ? reason : "?",
	       text ? text : "?");
	buf_free(&when);
	print_evicts(json_object_get(test, "evicts"));
}

/* Print the devices that the job would get, and when it would start if it
 * demanded what it prefers and would not get. */
static void print_devices(json_t *test)
{
	const char *devices = text_of(test, "devices");
	json_t *demand = json_object_get(test, "demand");
	const char *numa = text_of(demand, "numa");
	const char *links = text_of(demand, "links");

	if (devices)
		printf("devices %s\n", devices);
	if (!demand)
		return;
	printf("with%s%s%s%s it ", numa ? " --numa " : "", numa ? numa : "",
	       links ? " --links " : "", links ? links : "");
	print_wait(demand);
}

/* Print the result of --test-only: "would start now on n0", or why not. */
static void print_test(json_t *test)
{
	const char *nodes = text_of(test, "nodes");

	if (json_is_true(json_object_get(test, "starts"))) {
		printf("would start now on %s\n", nodes ? nodes : "?");
		print_devices(test);
	} else {
		print_wait(test);
	}
}

/* For --json, print the job as `aiq --json` does. An array may have several
 * rows: print only the first, which stands for all tasks that have not started,
 * if there are any. */
static int print_job(struct retry *retry, const char *id, struct err *err)
{
	json_t *req = json_pack("{s:s, s:[s], s:s}", "op", "jobs", "ids", id,
	                        "format", "json");
	struct buf rows = { 0 };
	json_t *answer = retry_call(retry, req, NULL, &rows, err);
	int rc = answer ? 0 : -1;

	if (answer && rows.len)
		printf("%.*s\n", (int)strcspn(rows.data, "\n"), rows.data);
	else if (answer)
		rc = err_set(err, ENOENT,
		             "job %s was submitted, but the daemon does not "
		             "list it",
		             id);
	json_decref(req);
	json_decref(answer);
	buf_free(&rows);
	return rc;
}

/* Print the next times of the schedule, for --cron --test-only. */
static void print_next(const json_t *next)
{
	const json_t *one;
	size_t i;

	json_array_foreach(next, i, one)
		if (i < TEST_TIMES)
			printf("next %s\n",
			       json_string_value(json_object_get(one, "time")));
}

/* Print the entry of recurring work that was made. */
static void print_cron(const struct submit *submit, json_t *cron)
{
	long long id =
	    (long long)json_integer_value(json_object_get(cron, "cron_id"));
	const char *next =
	    json_string_value(json_object_get(cron, "next_text"));

	if (submit->json)
		print_json(cron);
	else if (submit->quiet)
		return;
	else if (submit->parsable)
		printf("%lld\n", id);
	else if (submit->spec.hold == 1)
		printf("Submitted cron entry %lld, paused\n", id);
	else
		printf("Submitted cron entry %lld, next %s\n", id,
		       next ? next : "none");
}

/* Print the result of the request; ret_id is the id of the job, and stays empty
 * for --test-only. */
static int report(struct retry *retry, const struct submit *submit,
                  json_t *answer, char ret_id[ID_SIZE], struct err *err)
{
	json_t *test = json_array_get(json_object_get(answer, "tests"), 0);
	json_t *id = json_array_get(json_object_get(answer, "job_ids"), 0);
	json_t *next = json_object_get(answer, "next");

	answer_clean(submit->json ? json_object_get(answer, "warnings")
	                          : answer);
	print_warnings(submit, answer);
	if (submit->test_only) {
		if (next)
			json_object_set(test, "next", next);
		if (submit->json)
			print_json(test);
		if (submit->json || submit->quiet)
			return 0;
		print_next(next);
		print_test(test);
		return 0;
	}
	if (submit->cron.schedule) {
		print_cron(submit, json_object_get(answer, "cron"));
		return 0;
	}
	if (!json_is_integer(id))
		return err_set(err, EPROTO, "the daemon's answer has no id");
	snprintf(ret_id, ID_SIZE, "%lld", (long long)json_integer_value(id));
	if (submit->json)
		return print_job(retry, ret_id, err);
	if (submit->parsable && !submit->quiet)
		printf("%s\n", ret_id);
	else if (!submit->quiet)
		printf("Submitted batch job %s\n", ret_id);
	return 0;
}

/* Message of the handler of SIGINT. It is formatted in advance, because a
 * signal handler must not call snprintf(). */
static char goes_on[128];

static void on_interrupt(int signo)
{
	ssize_t n = write(STDERR_FILENO, goes_on, strlen(goes_on));

	(void)n; /* an error cannot be reported */
	signal(signo, SIG_DFL);
	raise(signo);
}

/* Print a message on Ctrl-C, because it ends aisub but not the job. */
static void catch_interrupt(const char *id)
{
	struct sigaction act = { .sa_handler = on_interrupt };

	snprintf(goes_on, sizeof(goes_on),
	         "\naisub: job %s goes on without aisub; `aicancel %s` ends "
	         "it\n",
	         id, id);
	sigaction(SIGINT, &act, NULL);
}

/* Wait for the job's end, for --wait or --follow; returns the exit status. */
static int wait_for_end(struct retry *retry, const struct submit *submit,
                        const char *id)
{
	struct err why;
	int status;

	catch_interrupt(id);
	if (submit->follow &&
	    follow_job(submit->socket, id, -1, true, &why) < 0)
		warnx("%s", why.text);
	status = retry_wait(retry, &id, 1, &why);
	if (status < 0)
		errx(EXIT_FAILURE, "job %s: %s", id, why.text);
	return status;
}

static int submit_job(const struct submit *submit, struct script *script)
{
	struct retry retry = { .address = submit->socket,
		               .patience_s = PATIENCE_S };
	char id[ID_SIZE] = "";
	int status = EXIT_SUCCESS;
	struct err why;
	json_t *answer = batch_send(&retry, submit, &script->text, &why);

	if (!answer || report(&retry, submit, answer, id, &why) < 0)
		errx(EXIT_FAILURE, "%s", why.text);
	if (fflush(stdout))
		err(EXIT_FAILURE, "job %s: stdout", id);
	if (*id && (submit->wait || submit->follow))
		status = wait_for_end(&retry, submit, id);
	json_decref(answer);
	retry_close(&retry);
	return status;
}

/* Run `aisub --pty`. Options that need a script are refused on the command
 * line, but ignored in AISUB_* variables, which are read after the check. */
static int run_pty(struct submit *submit, char **command)
{
	struct err why;

	if (pty_check(submit, &why) < 0 ||
	    submit_from_env(submit, environ, &why) < 0)
		errx(EXIT_USAGE, "%s", why.text);
	return pty_run(submit, command);
}

int main(int argc, char **argv)
{
	struct buf warnings = { 0 };
	struct script script = { 0 };
	struct submit submit;
	struct err why;
	int i, status;

	/* Jansson's hash tables have only keys of this program, so they need no
	 * random seed from /dev/urandom. */
	json_object_seed(1);
	submit_init(&submit, arena_new(), &warnings, time(NULL));
	i = opt_parse(&prog, &submit, argc, argv);
	if (submit.pty) {
		status = run_pty(&submit, argv + i);
		buf_free(&warnings);
		arena_free(submit.arena);
		return status;
	}
	if (submit.wrap && i < argc)
		errx(EXIT_USAGE,
		     "--wrap takes the whole command: '%s' is one word too "
		     "many",
		     argv[i]);
	if (submit_from_env(&submit, environ, &why) < 0)
		errx(EXIT_USAGE, "%s", why.text);
	if (submit.wrap)
		buf_printf(&script.text, "#!/bin/sh\n%s\n", submit.wrap);
	else if (read_script(&script, argv[i], &why) < 0)
		errx(EXIT_FAILURE, "%s", why.text);
	else if (submit_from_script(&submit, script.name, script.text.data,
	                            script.text.len, &why) < 0)
		errx(EXIT_USAGE, "%s", why.text);
	if (warnings.len && !submit.quiet)
		fputs(warnings.data, stderr);
	if (complete(&submit, &script, argv + i + (i < argc), &why) < 0)
		errx(EXIT_FAILURE, "%s", why.text);
	if (check(&submit, &why) < 0)
		errx(EXIT_USAGE, "%s", why.text);
	if (batch_check_files(&submit, &why) < 0)
		errx(EXIT_FAILURE, "%s", why.text);

	status = submit_job(&submit, &script);
	buf_free(&script.text);
	buf_free(&warnings);
	arena_free(submit.arena);
	return status;
}
