/* scontrol.c - hold, release and requeue jobs, and print their scripts */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "libcommon/idset.h"
#include "libcommon/jobid.h"
#include "libcommon/mem.h"
#include "slurm/rows.h"
#include "slurm/scontrol/scontrol.h"
#include "slurm/words.h"

#define AT(member) .offset = offsetof(struct scontrol, member)

/* clang-format off */
static const struct opt opts[] = {
	{ 'a', "all", NULL, NULL, .set = command_ignore },
	{ 'd', "details", NULL, "show job: the devices on each node", opt_set_true, AT(details) },
	{ 'M', "clusters", "CLUSTER", "this cluster's own name, or all", command_add_items, AT(clusters) },
	{ 0, "cluster", "CLUSTER", NULL, command_add_items, AT(clusters) },
	{ 0, "hide", NULL, NULL, .set = command_ignore },
	{ 'o', "oneliner", NULL, "a line for each record", opt_set_true, AT(one_line) },
	{ 'Q', "quiet", NULL, "no messages", opt_set_true, AT(quiet) },
	{ 'v', "verbose", NULL, NULL, .set = command_ignore },
	OPT_END
};
/* clang-format on */

static const struct command_line line = {
	.name = "scontrol",
	.usage = "[OPTION]... COMMAND",
	.opts = opts,
	.usage_status = 1,
};

bool scontrol_connect(struct scontrol *s, const char *what)
{
	struct err err;

	if (!s->client)
		s->client = command_connect(&err);
	if (!s->client)
		fprintf(stderr, "%s error: %s\n", what, words_of_job(&err));
	return s->client != NULL;
}

/* --- hold, release, requeue ----------------------------------------------- */

static bool is_id(const char *text)
{
	struct jobid id;

	if (jobid_parse(&id, text, NULL) < 0)
		return false;
	idset_free(&id.tasks);
	return true;
}

/* Returns Slurm's message for why the action on a job failed. */
static const char *words_of(const struct err *err, const char *action)
{
	bool pending =
	    strstr(err->text, "PENDING") &&
	    (!strncmp(action, "requeue", 7) || !strcmp(action, "suspend") ||
	     !strcmp(action, "resume"));

	if (err->code == EINVAL && pending)
		return "Job is pending execution";
	if (strstr(err->text, "has ended"))
		return !strcmp(action, "suspend") || !strcmp(action, "resume")
		           ? "Job/step already completing or completed"
		           : "Job has already finished";
	return words_of_job(err);
}

/* Whether scontrol prints a second line after some failures of the action. */
static bool is_told_twice(const char *action)
{
	return !strcmp(action, "hold") || !strcmp(action, "uhold") ||
	       !strcmp(action, "release");
}

static int report(const struct scontrol *s, const json_t *answer,
                  const char *action)
{
	const json_t *failed = json_object_get(answer, "failed"), *item;
	bool twice = is_told_twice(action);
	size_t i;

	json_array_foreach(failed, i, item) {
		struct err err = { .code = (int)row_int(item, "code") };

		snprintf(err.text, sizeof(err.text), "%s",
		         row_text(item, "text"));
		if (s->quiet)
			continue;
		/* Print "12" for "12_[...]": the user named the array as a
		 * whole. */
		fprintf(stderr, "%s for job %.*s\n", words_of(&err, action),
		        (int)(strstr(row_text(item, "job"), "_[")
		                  ? strcspn(row_text(item, "job"), "_")
		                  : strlen(row_text(item, "job"))),
		        row_text(item, "job"));
		if (twice &&
		    (err.code == ENOENT || strstr(err.text, "has ended")))
			fprintf(stderr, "slurm_suspend error: %s\n",
			        words_of(&err, action));
	}
	return json_array_size(failed) ? EXIT_FAILURE : EXIT_SUCCESS;
}

json_t *scontrol_ids(char *const *words)
{
	json_t *ids = json_array();

	for (; *words; words++) {
		const char *text = *words;
		const char *equals = strchr(text, '=');
		json_t *some = NULL, *item;
		struct opt at = { .offset = 0 };
		size_t i;

		text = equals ? equals + 1 : text;
		command_add_items(&some, &at, text, NULL);
		json_array_foreach(some, i, item) {
			if (is_id(json_string_value(item))) {
				json_array_append(ids, item);
				continue;
			}
			fprintf(stderr, "Invalid job id specified for job %s\n",
			        json_string_value(item));
			json_decref(some);
			json_decref(ids);
			return NULL;
		}
		json_decref(some);
	}
	return ids;
}

/* Returns the ids in `words`, or those of jobs with a name, from "name=NAME" or
 * "jobname=NAME". */
static json_t *find_ids(struct scontrol *s, char *const *words)
{
	const char *word =
	    strncasecmp(words[0], "job", 3) ? words[0] : words[0] + 3;

	if (strncasecmp(word, "name=", 5) != 0)
		return scontrol_ids(words);
	if (!scontrol_connect(s, "slurm_load_jobs"))
		return NULL;
	return scontrol_ids_of_name(s, word + 5);
}

static int control(struct scontrol *s, const char *action, char **words)
{
	json_t *ids = find_ids(s, words), *req, *answer;
	int status = EXIT_FAILURE;
	struct err err;

	if (!ids && is_told_twice(action))
		fputs("slurm_suspend error: " WORDS_NO_JOB "\n", stderr);
	if (!ids || !scontrol_connect(s, "slurm_update")) {
		json_decref(ids);
		return EXIT_FAILURE;
	}
	/* As in Slurm, it is no error if no job has the name. */
	if (!json_array_size(ids)) {
		json_decref(ids);
		return EXIT_SUCCESS;
	}
	/* Ignore SIGTERM: if scontrol runs in the job that it requeues, the
	 * signal comes before the answer. */
	if (!strncmp(action, "requeue", 7))
		signal(SIGTERM, SIG_IGN);
	req = json_pack("{s:s, s:s, s:o}", "op", "control", "action", action,
	                "ids", ids);
	answer = client_call(s->client, req, NULL, 0, NULL, NULL, &err);
	if (answer)
		status = report(s, answer, action);
	else
		fprintf(stderr, "slurm_update error: %s\n", words_of_job(&err));
	json_decref(req);
	json_decref(answer);
	return status;
}

static int do_control(struct scontrol *s, char **words)
{
	return control(s, words[0], words + 1);
}

/* --- write batch_script --------------------------------------------------- */

static int put_part(const void *data, size_t len, void *arg)
{
	return fwrite(data, 1, len, arg) == len ? 0 : -1;
}

static int do_write(struct scontrol *s, char **words)
{
	const char *id = words[1] ? words[2] : NULL;
	const char *name = id ? words[3] : NULL;
	char *file;
	json_t *req, *answer;
	FILE *out = stdout;
	struct err err;

	if (!id || strcasecmp(words[1], "batch_script") != 0 || !is_id(id)) {
		fprintf(stderr, "invalid write argument: expected "
		                "batch_script JOB [-|FILE]\n");
		return EXIT_FAILURE;
	}
	if (!scontrol_connect(s, "job script retrieval failed"))
		return EXIT_FAILURE;
	file = name ? xstrdup(name) : xasprintf("slurm-%s.sh", id);
	if (strcmp(file, "-") != 0)
		out = fopen(file, "we");
	if (!out) {
		command_error("failed to open file `%s`: %m", file);
		free(file);
		return EXIT_FAILURE;
	}
	req = json_pack("{s:s, s:s}", "op", "script", "id", id);
	answer = client_call(s->client, req, NULL, 0, put_part, out, &err);
	json_decref(req);
	if (out != stdout && fclose(out) != 0 && answer) {
		command_error("failed to write file `%s`: %m", file);
		json_decref(answer);
		answer = NULL;
	} else if (!answer) {
		fprintf(stderr, "job script retrieval failed: %s\n",
		        words_of_job(&err));
	} else if (out != stdout) {
		printf("batch script for job %s written to %s\n", id, file);
	}
	free(file);
	json_decref(answer);
	return answer ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* --- other verbs ---------------------------------------------------------- */

static int do_ping(struct scontrol *s, char **words)
{
	struct err err;
	char host[256] = "localhost";

	(void)words;
	gethostname(host, sizeof(host) - 1);
	if (!s->client)
		s->client = command_connect(&err);
	printf("Slurmctld(primary) at %s is %s\n", host,
	       s->client ? "UP" : "DOWN");
	return s->client ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int do_version(struct scontrol *s, char **words)
{
	(void)s, (void)words;
	puts("slurm " SLURM_VERSION);
	return EXIT_SUCCESS;
}

/* Print whether the job runs, as scontrol wait_job does. row NULL: there is no
 * such job. */
static int tell_job(const char *id, const json_t *row)
{
	if (!row) {
		fprintf(stderr, "scontrol: Problem running job %s\n", id);
	} else if (strcmp(row_text(row, "state"), "RUNNING")) {
		fprintf(stderr, "scontrol: Job %s no longer running\n", id);
	} else {
		fprintf(stderr, "scontrol: Nodes are ready for job %s\n", id);
		return EXIT_SUCCESS;
	}
	return EXIT_FAILURE;
}

/* wait_job: succeed if the job is running. As in Slurm, it does not wait for a
 * pending job. */
static int do_wait_job(struct scontrol *s, char **words)
{
	json_t *fields = json_pack("[s]", "state"), *rows = NULL;
	const char *id = words[1];
	int status = EXIT_FAILURE;

	if (!is_id(id)) {
		fprintf(stderr, "Invalid job_id %s\n", id);
	} else if (scontrol_connect(s, "slurm_load_jobs")) {
		json_t *req = json_pack("{s:s, s:[s], s:b}", "op", "jobs",
		                        "ids", id, "all", 1);

		rows_read(s->client, req, fields, &rows, NULL, NULL);
		status = tell_job(id, json_array_get(rows, 0));
	}
	json_decref(fields);
	json_decref(rows);
	return status;
}

/* completing: list jobs that have ended but still occupy nodes. There are none
 * in aisched, so print nothing. */
static int do_completing(struct scontrol *s, char **words)
{
	(void)s, (void)words;
	return EXIT_SUCCESS;
}

int scontrol_refuse(struct scontrol *s, char **words)
{
	(void)s;
	command_error("%s is not supported: queues and nodes are in "
	              "aischedd.conf, aictl(1) changes what runs",
	              words[0]);
	return EXIT_FAILURE;
}

static int refuse_notify(struct scontrol *s, char **words)
{
	(void)s, (void)words;
	command_error("notify is not supported: nothing writes into the output "
	              "of jobs but their own processes");
	return EXIT_FAILURE;
}

enum { NO_ARGUMENT = -1 };

/* The commands, with the fewest letters to which each may be shortened, and the
 * fewest arguments. */
static const struct {
	const char *name;
	size_t least;
	int (*run)(struct scontrol *s, char **words);
	int arguments;
} verbs[] = {
	{ "show", 3, scontrol_show, 1 },
	{ "hold", 4, do_control, 1 },
	{ "uhold", 5, do_control, 1 },
	{ "release", 3, do_control, 1 },
	{ "requeue", 3, do_control, 1 },
	{ "requeuehold", 11, do_control, 1 },
	{ "suspend", 2, do_control, 1 },
	{ "resume", 3, do_control, 1 },
	{ "top", 3, do_control, 1 },
	{ "update", 1, scontrol_update, 1 },
	{ "write", 5, do_write, 1 },
	{ "ping", 3, do_ping, NO_ARGUMENT },
	{ "version", 4, do_version, NO_ARGUMENT },
	{ "completing", 2, do_completing, NO_ARGUMENT },
	{ "create", 2, scontrol_create, 1 },
	{ "delete", 1, scontrol_delete, 1 },
	{ "notify", 1, refuse_notify, 2 },
	{ "reconfigure", 3, scontrol_refuse, 0 },
	{ "reboot", 3, scontrol_refuse, 0 },
	{ "shutdown", 8, scontrol_refuse, 0 },
	{ "takeover", 8, scontrol_refuse, 0 },
	{ "token", 3, scontrol_refuse, 0 },
	{ "setdebug", 2, scontrol_refuse, 0 },
	{ "wait_job", 2, do_wait_job, 1 },
};

/* Print Slurm's message if there are too few or too many arguments. Returns
 * false then. */
static bool has_arguments(const char *verb, int fewest, char *const *words)
{
	static const char *const behind[] = { "update", "create", "delete" };
	int n = 0;

	while (words[n + 1])
		n++;
	if (fewest == NO_ARGUMENT && n)
		fprintf(stderr, "too many arguments for keyword:%s\n", verb);
	if (fewest == NO_ARGUMENT || n >= fewest)
		return fewest != NO_ARGUMENT || !n;
	for (size_t i = 0; i < ARRAY_SIZE(behind); i++)
		if (!strcmp(behind[i], verb)) {
			fprintf(stderr, "too few arguments for %s keyword\n",
			        verb);
			return false;
		}
	fprintf(stderr, "too few arguments for keyword:%s\n", verb);
	return false;
}

static bool is_own_cluster(struct scontrol *s)
{
	struct err err;
	bool own = scontrol_connect(s, "slurm_load_ctl_conf");

	if (own && command_check_clusters(s->client, s->clusters, &err) < 0) {
		command_error("%s", err.text);
		client_close(s->client);
		own = false;
	}
	json_decref(s->clusters);
	s->clusters = NULL;
	return own;
}

int scontrol_main(int argc, char **argv)
{
	struct scontrol s = { 0 };
	int first = command_parse(&line, &s, argc, argv), status;
	char **words = argv + first;

	if (s.clusters && !is_own_cluster(&s))
		return EXIT_FAILURE;
	if (!*words) {
		command_error("give a command: there is no prompt");
		return EXIT_FAILURE;
	}
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		if (!scontrol_is_word(verbs[i].name, verbs[i].least, *words,
		                      strlen(*words)))
			continue;
		*words = (char *)(uintptr_t)verbs[i].name;
		status = EXIT_FAILURE;
		if (has_arguments(verbs[i].name, verbs[i].arguments, words))
			status = verbs[i].run(&s, words);
		client_close(s.client);
		return status;
	}
	fprintf(stderr, "invalid keyword: %s\n", *words);
	return EXIT_FAILURE;
}
