/* aisub - submit jobs */
#include <ctype.h>
#include <err.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "aisub/folder.h"
#include "libcommon/export.h"
#include "libcommon/follow.h"
#include "libcommon/limits.h"
#include "libcommon/paths.h"
#include "libcommon/retry.h"
#include "libcommon/spec_opt.h"

enum {
	PATIENCE_S = 30,       /* for a daemon that restarts meanwhile */
	ID_SIZE = 24,          /* of a job id as text */
	READ_SIZE = 64 * 1024, /* at once, of a script */
	BINARY_CHECK = 1024,   /* bytes that must be without a zero byte */
	COMMAND_MAX = 500 /* bytes of a command that are kept to be shown */
};

static const struct opt_prog prog = {
	.name = "aisub",
	.usage = "[OPTION]... SCRIPT [ARG]...\n"
		 "  or:  aisub [OPTION]... --wrap COMMAND\n"
		 "  or:  aisub [OPTION]... < SCRIPT",
	.about = "Submit a batch job.  Every option may also stand on #AISUB "
		 "lines of the script\nor in a variable, like "
		 "AISUB_CPUS_PER_TASK; #SBATCH lines are understood.",
	.opts = spec_opts,
	.stop_at_operand = true,
};

struct script {
	const char *name; /* for messages and, its last part, for the job */
	bool is_stdin;
	struct buf text;
};

/* --- the script ----------------------------------------------------------- */

/* As the shell finds commands: here, then in $PATH. */
static int open_script(const char *name)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	const char *path = getenv("PATH");

	if (fd >= 0 || errno != ENOENT || strchr(name, '/') || !path)
		return fd;
	while (fd < 0 && *path) {
		size_t len = strcspn(path, ":");
		char *file = xasprintf("%.*s/%s", (int)len, path, name);

		fd = open(file, O_RDONLY | O_CLOEXEC);
		free(file);
		path += len + (path[len] == ':');
	}
	if (fd < 0)
		errno = ENOENT;
	return fd;
}

static int read_all(int fd, const char *name, struct buf *ret, struct err *err)
{
	for (;;) {
		char *room = buf_room(ret, READ_SIZE);
		ssize_t n = read(fd, room, READ_SIZE);

		if (n == 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return err_sys(err, "cannot read script '%s'", name);
		if (n > 0)
			buf_grew(ret, (size_t)n);
		if (ret->len > LIMIT_SCRIPT_MAX)
			return err_set(err, E2BIG,
			               "script '%s' is longer than %d MiB",
			               name, LIMIT_SCRIPT_MAX >> 20);
	}
}

/* The rules of sbatch. */
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

/* name NULL or "-": standard input. */
static int read_script(struct script *script, const char *name, struct err *err)
{
	int fd = STDIN_FILENO, rc;

	if (name && strcmp(name, "-")) {
		script->name = name;
		fd = open_script(name);
		if (fd < 0)
			return err_sys(err, "cannot open script '%s'", name);
	} else {
		script->name = "stdin";
		script->is_stdin = true;
		if (isatty(fd))
			warnx("reading the script from the terminal, to its "
			      "end with ^D; 'aisub --help' says more");
	}
	rc = read_all(fd, script->name, &script->text, err);
	if (fd != STDIN_FILENO)
		close(fd);
	return rc < 0 ? -1 : check_script(script, err);
}

/* --- what was not said ---------------------------------------------------- */

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

/* What `aiq JOB` shows as the command: on one line, and cut when it is long.
 * NULL: the script came from standard input, or its name is not UTF-8. */
static const char *command_of(const struct submit *submit,
                              const struct script *script)
{
	const char *text = submit->wrap ? submit->wrap : script->name;
	size_t len = strlen(text);
	json_t *utf8 = script->is_stdin ? NULL : json_string(text);
	char *copy, *ret;

	if (!utf8 || !len) {
		json_decref(utf8);
		return NULL;
	}
	json_decref(utf8);
	if (len > COMMAND_MAX)
		len = COMMAND_MAX;
	while (len < strlen(text) && (text[len] & 0xc0) == 0x80)
		len--; /* not within a character */
	copy = xstrndup(text, len);
	ret = arena_strdup(submit->arena, copy);
	free(copy);
	for (char *s = ret; *s; s++)
		if (iscntrl((unsigned char)*s))
			*s = ' ';
	return ret;
}

/* --chdir may be relative to the current folder, which is the default. */
static int set_workdir(struct submit *submit, struct err *err)
{
	const char *dir = submit->spec.workdir;
	char *cwd, *path;

	if (dir && *dir == '/')
		return 0;
	cwd = getcwd(NULL, 0);
	if (!cwd)
		return err_sys(err, "the current folder");
	path = dir ? xasprintf("%s/%s", cwd, dir) : xstrdup(cwd);
	submit->spec.workdir = arena_strdup(submit->arena, path);
	free(path);
	free(cwd);
	return 0;
}

static int set_args(struct submit *submit, char **args, struct err *err)
{
	json_t *list = json_array();
	char *text;
	int rc = 0;

	for (size_t i = 0; args[i] && rc == 0; i++)
		if (json_array_append_new(list, json_string(args[i])) < 0)
			rc = err_set(err, EINVAL,
			             "argument %zu of the script, '%s', is "
			             "not UTF-8",
			             i + 1, args[i]);
	text = json_dumps(list, JSON_COMPACT);
	submit->spec.args = arena_strdup(submit->arena, text);
	free(text);
	json_decref(list);
	return rc;
}

static int complete(struct submit *submit, const struct script *script,
                    char **args, struct err *err)
{
	struct spec *spec = &submit->spec;
	char host[256];
	mode_t mask = umask(077);

	umask(mask);
	spec->umask = mask & 0777;
	if (!spec->name)
		spec->name = default_name(submit, script);
	spec->command = command_of(submit, script);
	if (!spec->output)
		spec->output = spec->array ? "slurm-%A_%a.out" : "slurm-%j.out";
	if (submit->launch ? !strcmp(submit->launch, "script")
	                   : submit->only_slurm)
		spec->launch_script = 1;
	if (gethostname(host, sizeof(host)) == 0)
		spec->submit_host = arena_strdup(submit->arena, host);
	if (*args && set_args(submit, args, err) < 0)
		return -1;
	return set_workdir(submit, err);
}

/* What all places together must not say. */
static int check(const struct submit *submit, struct err *err)
{
	struct request req;

	if (submit->follow && submit->spec.array)
		return err_set(err, EINVAL,
		               "--follow cannot follow an array; `aiq --log "
		               "-f JOB_TASK` follows one of its tasks");
	return spec_resolve(&submit->spec, 0, &req, err);
}

/* A daemon on another machine may have other folders. */
static bool is_remote(const struct submit *submit)
{
	const char *address =
	    submit->socket ? submit->socket : getenv("AISCHED_SOCKET");
	char *host, *port;

	if (!address || address_parse(address, &host, &port, NULL) <= 0)
		return false;
	free(host);
	free(port);
	return true;
}

static int check_files(const struct submit *submit, struct err *err)
{
	const struct spec *spec = &submit->spec;

	if (is_remote(submit) || spec->mount)
		return 0; /* with mounts, names are those in containers */
	if (folder_check(spec->workdir, spec->output, err) < 0)
		return -1;
	return spec->error ? folder_check(spec->workdir, spec->error, err) : 0;
}

/* --- the request ---------------------------------------------------------- */

/* The same in every repetition: the daemon takes each token once. */
static int make_token(char ret[33], struct err *err)
{
	unsigned char bytes[16];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return err_sys(err, "getrandom");
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

static json_t *send_job(struct retry *retry, const struct submit *submit,
                        struct script *script, struct err *err)
{
	size_t script_len = script->text.len;
	json_t *req, *answer;
	char token[33];

	if (make_token(token, err) < 0 ||
	    export_env(&script->text, submit->export_env, environ, err) < 0)
		return NULL;
	req = json_pack("{s:s, s:s, s:[o], s:I, s:I, s:b}", "op", "submit",
	                "token", token, "specs", spec_to_json(&submit->spec),
	                "script_len", (json_int_t)script_len, "env_len",
	                (json_int_t)(script->text.len - script_len),
	                "test_only", submit->test_only);
	answer = retry_call(retry, req, &script->text, NULL, err);
	json_decref(req);
	return answer;
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
	json_dumpf(value, stdout, JSON_COMPACT);
	putchar('\n');
}

/* "would evict job 12, 14": who runs now and would leave for it. */
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

/* --test-only: "would start now on n0" and why not. */
static void print_test(json_t *test)
{
	const char *nodes = json_string_value(json_object_get(test, "nodes"));
	const char *reason = json_string_value(json_object_get(test, "reason"));
	const char *text =
	    json_string_value(json_object_get(test, "reason_text"));
	json_t *expected = json_object_get(test, "expected_start");
	struct buf when = { 0 };

	if (json_is_true(json_object_get(test, "starts"))) {
		printf("would start now on %s\n", nodes ? nodes : "?");
		return;
	}
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

/* --json: the job as aiq shows it.  Of an array that has begun there are
 * several: the first is what has not started, while there is some of it. */
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
		             "job %s was submitted, but is not shown", id);
	json_decref(req);
	json_decref(answer);
	buf_free(&rows);
	return rc;
}

/* Say what became of the request; *ret_id stays empty when it was a test. */
static int report(struct retry *retry, const struct submit *submit,
                  json_t *answer, char ret_id[ID_SIZE], struct err *err)
{
	json_t *test = json_array_get(json_object_get(answer, "tests"), 0);
	json_t *id = json_array_get(json_object_get(answer, "job_ids"), 0);

	print_warnings(submit, answer);
	if (submit->test_only) {
		if (submit->json)
			print_json(test);
		else if (!submit->quiet)
			print_test(test);
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

/* Made before Ctrl-C can come: a handler may not format text. */
static char goes_on[128];

static void on_interrupt(int signo)
{
	ssize_t n = write(STDERR_FILENO, goes_on, strlen(goes_on));

	(void)n; /* nobody is left to be told */
	signal(signo, SIG_DFL);
	raise(signo);
}

/* Ctrl-C ends aisub, not the job: say so. */
static void catch_interrupt(const char *id)
{
	struct sigaction act = { .sa_handler = on_interrupt };

	snprintf(goes_on, sizeof(goes_on),
	         "\naisub: job %s goes on without aisub; `aicancel %s` ends "
	         "it\n",
	         id, id);
	sigaction(SIGINT, &act, NULL);
}

/* --wait, --follow: the status to exit with. */
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
	json_t *answer = send_job(&retry, submit, script, &why);

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

int main(int argc, char **argv)
{
	struct buf warnings = { 0 };
	struct script script = { 0 };
	struct submit submit;
	struct err why;
	int i, status;

	/* Our tables hold our own keys: no need to read /dev/urandom. */
	json_object_seed(1);
	submit_init(&submit, arena_new(), &warnings, time(NULL));
	i = opt_parse(&prog, &submit, argc, argv);
	if (submit.wrap && i < argc)
		errx(EXIT_USAGE,
		     "--wrap takes the whole command: '%s' is too much",
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
	if (check_files(&submit, &why) < 0)
		errx(EXIT_FAILURE, "%s", why.text);

	status = submit_job(&submit, &script);
	buf_free(&script.text);
	buf_free(&warnings);
	arena_free(submit.arena);
	return status;
}
