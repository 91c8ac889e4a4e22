/* sbatch.c - submit batch jobs */
#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libcommon/client/batch.h"
#include "libcommon/client/choose.h"
#include "libcommon/limits.h"
#include "libcommon/parse.h"
#include "slurm/rows.h"
#include "slurm/sbatch.h"
#include "slurm/words.h"

#define USUAL_PATH "/usr/local/bin:/usr/bin:/bin"

enum { PATIENCE_S = 30, STATUS_WAIT_LOST = 1 };

/* --- the script ----------------------------------------------------------- */

static bool is_blank(const struct buf *script)
{
	for (size_t i = 0; i < script->len; i++)
		if (!isspace((unsigned char)script->data[i]))
			return false;
	return true;
}

/* Check the script by sbatch's rules. Returns false after printing sbatch's
 * message. */
static bool check_script(const struct buf *script)
{
	if (!script->len) {
		command_error("Batch script is empty!");
		return false;
	}
	if (is_blank(script)) {
		command_error("Batch script contains only whitespace!");
		return false;
	}
	if (script->len < 2 || memcmp(script->data, "#!", 2) != 0) {
		command_error("This does not look like a batch script.  The "
		              "first");
		command_error("line must start with #! followed by the path "
		              "to an interpreter.");
		command_error("For instance: #!/bin/sh");
		return false;
	}
	if (memchr(script->data, '\0', script->len)) {
		command_error("The SLURM controller does not allow scripts "
		              "that contain a NULL character '\\0'.");
		return false;
	}
	if (memmem(script->data, script->len, "\r\n", 2)) {
		command_error("Batch script contains DOS line breaks (\\r\\n)");
		command_error("instead of expected UNIX line breaks (\\n).");
		return false;
	}
	return true;
}

/* Read the script from a file, or from standard input if name is NULL. */
static bool read_script(struct buf *script, const char *name)
{
	int fd = name ? batch_open(name) : STDIN_FILENO;
	struct err err;
	int rc;

	if (fd < 0) {
		command_error("Unable to open file %s", name);
		return false;
	}
	rc = batch_read(fd, name ? name : "stdin", script, &err);
	if (name)
		close(fd);
	if (rc < 0) {
		command_error("%s", err.text);
		return false;
	}
	return check_script(script);
}

/* --- the environment ------------------------------------------------------ */

static bool is_kept(const char *variable)
{
	return !strncmp(variable, "SLURM_", strlen("SLURM_")) ||
	       !strncmp(variable,
	                "AISCHED_SOCKET=", strlen("AISCHED_SOCKET=")) ||
	       !strncmp(variable, "AISCHED_MUNGE_SOCKET=",
	                strlen("AISCHED_MUNGE_SOCKET="));
}

/* Whether the list, separated by c, has the item `text`. In a list separated by
 * commas, which names variables, the item may also be "text=...". */
static bool has_item(const char *list, char c, const char *text, size_t len)
{
	const char end[] = { c, '\0' };

	for (const char *s = list; *s; s += *s == c) {
		size_t n = strcspn(s, end);

		if (n >= len && !strncmp(s, text, len) &&
		    (n == len || (c == ',' && s[len] == '=')))
			return true;
		s += n;
	}
	return false;
}

/* Returns the path of the folder with the links for Slurm's commands, which the
 * caller frees. Returns NULL if srun is not there, or if the path cannot be an
 * item of PATH or --export. */
static char *own_folder(void)
{
	char self[PATH_MAX], *folder, *srun;
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	bool found;

	if (len <= 0)
		return NULL;
	self[len] = '\0';
	*strrchr(self, '/') = '\0';
	folder = xasprintf("%s/bin", self);
	srun = xasprintf("%s/srun", folder);
	found = access(srun, X_OK) == 0 && !strpbrk(folder, ",:'\"");
	free(srun);
	if (found)
		return folder;
	free(folder);
	return NULL;
}

/* Read "NAME=VALUE" strings, each ended by a zero byte, and set those
 * variables. Appends ",NAME" for each to names. */
static int read_variables(const char *file, struct buf *names, struct err *err)
{
	struct buf text = { 0 };
	int64_t fd;
	int rc;

	if (parse_int(file, 3, INT_MAX, &fd, NULL) < 0)
		fd = open(file, O_RDONLY | O_CLOEXEC);
	rc = fd < 0 ? -1 : batch_read((int)fd, file, &text, err);
	if (fd >= 0)
		close((int)fd);
	for (size_t i = 0; rc == 0 && i < text.len;
	     i += strlen(text.data + i) + 1) {
		char *name = text.data + i, *equals = strchr(name, '=');

		if (!equals || equals == name)
			continue;
		*equals = '\0';
		setenv(name, equals + 1, 1);
		buf_printf(names, ",%s", name);
		*equals = '=';
	}
	buf_free(&text);
	return rc;
}

/* Unset all variables but those that Slurm sets for jobs and those that say
 * where the daemon is. */
static void forget_variables(void)
{
	json_t *kept = json_object(), *value;
	const char *name;

	for (char **env = environ; *env; env++) {
		char *text = is_kept(*env) ? xstrdup(*env) : NULL;
		char *equals = text ? strchr(text, '=') : NULL;

		if (equals) {
			*equals = '\0';
			json_object_set_new(kept, text,
			                    json_string(equals + 1));
		}
		free(text);
	}
	clearenv();
	json_object_foreach(kept, name, value)
		setenv(name, json_string_value(value), 1);
	json_decref(kept);
}

/* Export the variables of the file that --export-file names. If --export lists
 * variables, add them to this list. If --export is missing or has ALL, the
 * variables of the file replace our own environment. */
static int take_file(struct sbatch *sbatch)
{
	const char *list = sbatch->submit.export_env;
	struct buf names = { 0 };
	struct err err;
	char *text;
	int rc;

	if (!sbatch->export_file)
		return 0;
	if (!list || has_item(list, ',', "ALL", 3)) {
		forget_variables();
		list = NULL;
	}
	rc = read_variables(sbatch->export_file, &names, &err);
	if (rc < 0)
		command_error("Could not open user environment file %s",
		              sbatch->export_file);
	if (rc == 0 && list && names.len) {
		text = xasprintf("%s%s", list, names.data);
		sbatch->submit.export_env =
		    arena_strdup(sbatch->submit.arena, text);
		free(text);
	}
	buf_free(&names);
	return rc;
}

/* Add the folder of our srun to the job's PATH: the script must find srun even
 * if sbatch was called by its path, or if the job gets a new environment. */
static void lead_to_srun(struct submit *submit)
{
	const char *list = submit->export_env, *path = getenv("PATH");
	char *folder = own_folder(), *text = NULL;

	if (!folder)
		return;
	path = path ? path : USUAL_PATH;
	if (!list || has_item(list, ',', "ALL", 3)) {
		if (!has_item(path, ':', folder, strlen(folder)))
			text = xasprintf("%s:%s", folder, path);
		if (text)
			setenv("PATH", text, 1);
	} else if (!has_item(list, ',', "PATH", 4)) {
		text = xasprintf("%s,PATH=%s:" USUAL_PATH, list, folder);
		submit->export_env = arena_strdup(submit->arena, text);
	}
	free(text);
	free(folder);
}

/* Add SLURM_* variables, and those that say where the daemon is, to the list of
 * variables to export. With ALL they are exported anyway. */
static void keep_variables(struct submit *submit)
{
	const char *list = submit->export_env;
	struct buf text = { 0 };

	if (!list || !strcmp(list, "ALL") || !strncmp(list, "ALL,", 4))
		return;
	buf_puts(&text, list);
	for (char **env = environ; *env; env++)
		if (is_kept(*env))
			buf_printf(&text, ",%.*s", (int)strcspn(*env, "="),
			           *env);
	submit->export_env = arena_strdup(submit->arena, text.data);
	buf_free(&text);
}

static int complete(struct sbatch *sbatch, const char *file, char **args,
                    struct err *err)
{
	struct submit *submit = &sbatch->submit;
	const char *slash = file ? strrchr(file, '/') : NULL;
	const struct batch_job job = {
		.name = submit->wrap ? "wrap"
		        : slash      ? slash + 1
		        : file       ? file
		                     : "sbatch",
		.command = submit->wrap ? submit->wrap : file,
		.once = true,
		.args = args,
	};

	keep_variables(submit);
	lead_to_srun(submit);
	if (sbatch_resolve(sbatch, err) < 0)
		return -1;
	if (batch_complete(submit, &job, err) < 0)
		return -1;
	return batch_check_files(submit, err);
}

/* --- the request ---------------------------------------------------------- */

json_t *sbatch_send(struct retry *retry, struct sbatch *sbatch,
                    struct buf *script, struct err *err)
{
	size_t len = script->len;
	json_t *answer = batch_send(retry, &sbatch->submit, script, err);

	/* remove the environment that batch_send() appended */
	script->len = len;
	return answer;
}

int sbatch_choose_queue(struct retry *retry, struct sbatch *sbatch,
                        struct buf *script, struct err *err)
{
	struct submit *submit = &sbatch->submit;
	const char *list = submit->spec.queue, *best = NULL;
	bool test_only = submit->test_only;
	int64_t first = 0;

	if (!list || !strchr(list, ','))
		return 0;
	submit->test_only = true;
	for (const char *s = list; *s; s += *s == ',') {
		size_t len = strcspn(s, ",");
		char *name = xstrndup(s, len);
		json_t *answer;

		submit->spec.queue = arena_strdup(submit->arena, name);
		free(name);
		s += len;
		answer = sbatch_send(retry, sbatch, script, err);
		/* If one queue of the list does not exist, submit nothing. */
		if (!answer && strstr(err->text, "there is no queue")) {
			submit->test_only = test_only;
			return -1;
		}
		if (answer && (!best || choose_start(answer) < first)) {
			first = choose_start(answer);
			best = submit->spec.queue;
		}
		json_decref(answer);
	}
	submit->test_only = test_only;
	submit->spec.queue = best;
	return best ? 0 : -1;
}

void sbatch_refused(const struct sbatch *sbatch, const struct err *err)
{
	const char *first, *words = words_of_submit(err, &first);
	const char *queue = sbatch->submit.spec.queue;
	const char *constraint = sbatch->submit.spec.constraint;

	if (strstr(err->text, "give only one of --mem-per-task")) {
		fprintf(stderr,
		        "%s: fatal: --mem, --mem-per-cpu, and --mem-per-gpu "
		        "are mutually exclusive.\n",
		        command_name);
		return;
	}
	/* Without a constraint, the cause is a lack of GPUs or nodes. */
	if (!strcmp(words, "Invalid feature specification") &&
	    (!constraint || !*constraint))
		words = "Requested node configuration is not available";
	if (!strcmp(words, "Invalid partition name specified"))
		command_error("invalid partition specified: %s",
		              queue ? queue : "");
	if (first)
		command_error("%s", first);
	if (sbatch->submit.test_only)
		fprintf(stderr, "allocation failure: %s\n", words);
	else
		command_error("%s: %s", sbatch_failed(), words);
}

/* Returns the exit status after a failure: 1, or the number in
 * $SLURM_EXIT_ERROR. */
static int failure(void)
{
	const char *text = getenv("SLURM_EXIT_ERROR");
	int64_t status;

	if (text && parse_int(text, 0, UINT8_MAX, &status, NULL) == 0)
		return (int)status;
	return EXIT_FAILURE;
}

/* --- the answer ----------------------------------------------------------- */

static int print_test(const struct submit *submit, const json_t *answer)
{
	const json_t *test =
	    json_array_get(json_object_get(answer, "tests"), 0);
	int64_t start = choose_start(answer);
	struct buf when = { 0 };
	struct request req;

	if (start == INT64_MAX) {
		fprintf(stderr, "allocation failure: %s\n",
		        row_text(test, "reason_text"));
		return EXIT_FAILURE;
	}
	spec_request(&submit->spec, 0, &req);
	format_time(&when, start ? start : submit->now);
	fprintf(stderr,
	        "sbatch: Job 0 to start at %s using %lld processors on nodes "
	        "%s in partition %s\n",
	        when.data, (long long)(req.tasks * req.cpus_milli / 1000),
	        row_text(test, "nodes"), row_text(answer, "queue"));
	buf_free(&when);
	return EXIT_SUCCESS;
}

static void print_id(const struct sbatch *sbatch, const char *cluster,
                     const char *id)
{
	if (sbatch->submit.quiet && !sbatch->submit.parsable)
		return;
	if (sbatch->submit.parsable)
		printf("%s%s%s\n", id, cluster ? ";" : "",
		       cluster ? cluster : "");
	else
		printf("Submitted batch job %s%s%s\n", id,
		       cluster ? " on cluster " : "", cluster ? cluster : "");
}

static int wait_for(struct retry *retry, const char *id)
{
	struct err err;
	int status;

	fflush(stdout);
	status = retry_wait(retry, &id, 1, &err);
	if (status >= 0)
		return status;
	command_error("%s", err.text);
	return STATUS_WAIT_LOST;
}

static void print_warnings(const struct sbatch *sbatch, const json_t *answer)
{
	const json_t *warnings = json_object_get(answer, "warnings"), *text;
	size_t i;

	if (sbatch->verbose)
		json_array_foreach(warnings, i, text)
			fprintf(stderr, "sbatch: warning: %s\n",
			        json_string_value(text));
}

static int submit_job(struct retry *retry, struct sbatch *sbatch,
                      struct buf *script, struct err *err)
{
	char *cluster = NULL, id[24];
	json_t *answer;
	int status = EXIT_SUCCESS;

	if (command_check_clusters(retry->client, sbatch->clusters, err) < 0)
		return -1;
	if (sbatch->clusters)
		cluster = command_cluster(retry->client, err);
	answer = sbatch_choose_queue(retry, sbatch, script, err) == 0
	             ? sbatch_send(retry, sbatch, script, err)
	             : NULL;
	if (!answer) {
		sbatch_refused(sbatch, err);
		free(cluster);
		return failure();
	}
	print_warnings(sbatch, answer);
	if (sbatch->submit.test_only) {
		status = print_test(&sbatch->submit, answer);
	} else {
		snprintf(id, sizeof(id), "%lld",
		         (long long)json_integer_value(json_array_get(
			     json_object_get(answer, "job_ids"), 0)));
		print_id(sbatch, cluster, id);
		if (sbatch->submit.wait)
			status = wait_for(retry, id);
	}
	json_decref(answer);
	free(cluster);
	return status;
}

static int run(struct sbatch *sbatch, struct buf *script)
{
	struct retry retry = { .patience_s = PATIENCE_S };
	struct err err;
	int status;

	retry.client = command_connect(&err);
	if (!retry.client) {
		command_error("Batch job submission failed: %s",
		              words_of_job(&err));
		return failure();
	}
	status = submit_job(&retry, sbatch, script, &err);
	if (status < 0) {
		command_error("%s", err.text);
		status = failure();
	}
	retry_close(&retry);
	return status;
}

/* Take the options of the environment, and the script with its options. Returns
 * false, after printing why, if the script is not valid. */
static bool read_options(struct sbatch *sbatch, struct buf *script,
                         const char *file)
{
	sbatch_from_env(sbatch);
	if (sbatch->submit.wrap) {
		buf_printf(script,
		           "#!/bin/sh\n# This script was created by "
		           "sbatch --wrap.\n\n%s\n",
		           sbatch->submit.wrap);
		return true;
	}
	if (!read_script(script, file))
		return false;
	sbatch_from_script(sbatch, script);
	return true;
}

static int check_together(const struct sbatch *sbatch, bool has_operand)
{
	if (sbatch->submit.wrap && has_operand)
		command_error("Script arguments not permitted with --wrap "
		              "option");
	else if (sbatch->submit.quiet && sbatch->verbose)
		command_error("don't specify both --verbose (-v) and --quiet "
		              "(-Q)");
	else
		return 0;
	return -1;
}

int sbatch_main(int argc, char **argv)
{
	struct buf warnings = { 0 }, script = { 0 };
	struct arena *arena = arena_new();
	struct sbatch sbatch;
	const char *file;
	struct err err;
	int first, status = EXIT_FAILURE;

	json_object_seed(1); /* a fixed seed is safe: the keys are our own */
	sbatch_init(&sbatch, arena, &warnings);
	first = command_parse(&sbatch_line, &sbatch, argc, argv);
	file = first < argc ? argv[first] : NULL;
	if (check_together(&sbatch, file != NULL) < 0 ||
	    !read_options(&sbatch, &script, file))
		goto out;
	if (take_file(&sbatch) < 0) {
		status = failure();
		goto out;
	}
	if (complete(&sbatch, file, argv + first + (file != NULL), &err) < 0) {
		sbatch_refused(&sbatch, &err);
		status = failure();
		goto out;
	}
	if (sbatch.verbose && warnings.len)
		fputs(warnings.data, stderr);
	status = run(&sbatch, &script);
out:
	json_decref(sbatch.clusters);
	buf_free(&warnings);
	buf_free(&script);
	arena_free(arena);
	return status;
}
