/* srun.c - run a step in a job, on the daemon's machine or in a pod */
#include "slurm/srun.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "slurm/srun_opts.h"
#include "slurm/srun_step.h"

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

/* Add a word of --export: "NAME=VALUE", or "NAME" with the value from our
 * environment. */
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

/* Variables given with a value come before those of our environment, because
 * the shepherd takes the first of two variables with the same name. */
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

/* Whether the arguments have a ":", which in Slurm separates the components of
 * a heterogeneous job. */
static bool has_components(int argc, char **argv)
{
	for (int i = 1; i + 1 < argc; i++)
		if (!strcmp(argv[i], ":"))
			return true;
	return false;
}

static int run(const struct srun_way *way, struct srun *s, char *const *argv)
{
	struct srun_job job = { 0 };
	int status = EXIT_FAILURE;

	if (s->quiet)
		s->verbose = false;
	if (s->pty)
		s->tasks = 1;
	if (!s->job)
		return way->alone(s, argv);
	if (way->find(s, &job) == 0)
		status = job.run ? job.run(s, argv) : srun_step(s, &job, argv);
	free(job.node);
	free(job.socket);
	return status;
}

int srun_run(const struct srun_way *way, int argc, char **argv)
{
	struct srun s = { .arena = arena_new() };
	int first, status;

	json_object_seed(1); /* a fixed seed is safe: the keys are our own */
	if (has_components(argc, argv)) {
		command_error("heterogeneous jobs are not supported");
		arena_free(s.arena);
		return EXIT_FAILURE;
	}
	srun_options(&s, argc, argv, &first);
	if (first < argc) {
		status = run(way, &s, argv + first);
	} else {
		fprintf(stderr, "srun: fatal: No command given to execute.\n");
		status = EXIT_FAILURE;
	}
	arena_free(s.arena);
	return status;
}
