/* srun.c - run a step in a job */
#include "slurm/srun.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libcommon/clock.h"
#include "slurm/rows.h"
#include "slurm/srun_opts.h"
#include "slurm/srun_step.h"
#include "slurm/words.h"

enum { PATIENCE_MS = 9000, PAUSE_US = 100000 };

/* --- the environment ------------------------------------------------------ */

struct list {
	struct arena *arena;
	struct arena_list vars;
};

static void add(struct list *l, const char *var)
{
	*(char **)arena_push(l->arena, &l->vars, sizeof(char *)) =
	    arena_strdup(l->arena, var);
}

static bool is_kept(const char *var)
{
	return !strncmp(var, "SLURM", 5) || !strncmp(var, "AISCHED_", 8);
}

/* NAME=VALUE, or a NAME of ours. */
static void add_word(struct list *l, const char *word)
{
	const char *value = getenv(word);
	char *var;

	if (strchr(word, '=')) {
		add(l, word);
	} else if (value) {
		var = xasprintf("%s=%s", word, value);
		add(l, var);
		free(var);
	}
}

/* The first of two variables of one name counts in the shepherd. */
char **srun_env(const char *export_env, struct arena *arena)
{
	struct list l = { .arena = arena };
	bool all = !export_env, none = false;

	for (const char *s = export_env; s && *s; s += *s == ',') {
		size_t len = strcspn(s, ",");
		char *word = xstrndup(s, len);

		if (!strcmp(word, "ALL"))
			all = true;
		else if (!strcmp(word, "NONE") || !strcmp(word, "NIL"))
			none = true;
		else
			add_word(&l, word);
		free(word);
		s += len;
	}
	for (char **env = environ; *env; env++)
		if ((all && !none) || is_kept(*env))
			add(&l, *env);
	arena_push(arena, &l.vars, sizeof(char *));
	return l.vars.p;
}

/* --- the job -------------------------------------------------------------- */

/* A step outlives a daemon; that srun comes just when one begins again is no
 * reason to fail. */
static struct client *connect_patiently(struct err *err)
{
	int64_t until = clock_ms() + PATIENCE_MS;
	struct client *client;

	while (!(client = command_connect(err)) && words_is_unreachable(err) &&
	       clock_ms() < until)
		usleep(PAUSE_US);
	return client;
}

static json_t *ask_for_job(const char *id, struct err *err)
{
	struct client *client = connect_patiently(err);
	json_t *req = json_pack("{s:s, s:s}", "op", "step", "id", id), *answer;

	answer = client && req
	             ? client_call(client, req, NULL, 0, NULL, NULL, err)
	             : NULL;
	if (!req)
		err_set(err, ENOENT, "'%s' is no job", id);
	json_decref(req);
	client_close(client);
	return answer;
}

static int find_job(const char *id, struct srun_job *ret)
{
	struct err err;
	json_t *answer = ask_for_job(id, &err);

	if (answer) {
		*ret = (struct srun_job){
			.id = row_int(answer, "job_id"),
			.node = xstrdup(row_text(answer, "node")),
			.socket = xstrdup(row_text(answer, "socket")),
		};
		json_decref(answer);
		return 0;
	}
	if (err.code == EAGAIN || err.code == ESHUTDOWN ||
	    err.code == EOPNOTSUPP) {
		command_error("Unable to create step for job %s: %s", id,
		              err.code == EAGAIN ? "Job is pending execution"
		              : err.code == ESHUTDOWN
		                  ? "Job/step already completing or completed"
		                  : err.text);
		return -1;
	}
	command_error("Unable to confirm allocation for job %s: %s", id,
	              err.code == EINVAL ? WORDS_NO_JOB : words_of_job(&err));
	if (err.code == ENOENT || err.code == EINVAL)
		fprintf(stderr,
		        "srun: Check SLURM_JOB_ID environment variable. "
		        "Expired or invalid job %s\n",
		        id);
	return -1;
}

static bool is_node(const char *name, const char *node)
{
	size_t len = strcspn(node, ".");

	return !strcmp(name, node) ||
	       (strlen(name) == len && !strncmp(name, node, len)) ||
	       !strcmp(name, "localhost");
}

/* A job of this machine has one node. */
static int check_nodes(const struct srun *s, const struct srun_job *job)
{
	if (s->nodes <= 1 && (!s->node || is_node(s->node, job->node)))
		return 0;
	command_error("Unable to create step for job %lld: Requested node "
	              "configuration is not available",
	              (long long)job->id);
	return -1;
}

static void complete(struct srun *s)
{
	if (!s->tasks)
		s->tasks = s->tasks_per_node ? s->tasks_per_node : 1;
	if (s->quiet)
		s->verbose = false;
	if (s->pty)
		s->tasks = 1;
}

/* Components of a heterogeneous job stand between colons. */
static bool has_components(int argc, char **argv)
{
	for (int i = 1; i + 1 < argc; i++)
		if (!strcmp(argv[i], ":"))
			return true;
	return false;
}

static int run(struct srun *s, char *const *argv)
{
	struct srun_job job;
	int status = EXIT_FAILURE;

	if (!s->job) {
		command_error("Unable to allocate resources: steps outside a "
		              "job are not supported yet; put srun into a "
		              "script for sbatch");
		return EXIT_FAILURE;
	}
	if (find_job(s->job, &job) < 0)
		return EXIT_FAILURE;
	complete(s);
	if (check_nodes(s, &job) == 0)
		status = srun_step(s, &job, argv);
	free(job.node);
	free(job.socket);
	return status;
}

int srun_main(int argc, char **argv)
{
	struct srun s = { .arena = arena_new() };
	int first, status;

	json_object_seed(1); /* our tables hold our own keys */
	if (has_components(argc, argv)) {
		command_error("heterogeneous jobs are not supported");
		arena_free(s.arena);
		return EXIT_FAILURE;
	}
	srun_options(&s, argc, argv, &first);
	if (first < argc) {
		status = run(&s, argv + first);
	} else {
		fprintf(stderr, "srun: fatal: No command given to execute.\n");
		status = EXIT_FAILURE;
	}
	arena_free(s.arena);
	return status;
}
