/* env.c - the environment of a job's processes */
#include "aischedd/run/shepherd/env.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "aischedd/run/shepherd/vars.h"
#include "libcommon/map.h"

/* Whether to drop this variable of the submitter even if we do not set it. A
 * submitter may run in a job: the AISCHED_* and SLURM_* variables of that job
 * must not reach the new job. */
static bool is_stale(const char *var, size_t len)
{
	if (strncmp(var, "SLURM", 5) && strncmp(var, "AISCHED", 7))
		return false;
	if (!strncmp(var, DEVICE_VAR, strlen(DEVICE_VAR)))
		return true;
	for (const char *const *name = env_names(); *name; name++)
		if (strlen(*name) == len && !strncmp(*name, var, len))
			return true;
	return false;
}

struct env {
	char **var;
	size_t n, cap;
	struct map names; /* variables by the hashes of their names */
	/* seed of the hashes, so that submitters cannot choose names
	 * that collide */
	uint64_t seed;
	struct arena *arena;
};

static bool has_name(const char *var, const char *name, size_t len)
{
	return !strncmp(var, name, len) && var[len] == '=';
}

/* Returns the key in env->names of the variable of this name; if there is none,
 * the key at which to add it. */
static uint64_t env_key(const struct env *env, const char *name, size_t len)
{
	uint64_t key = hash_bytes(env->seed, name, len);
	const char *var;

	while ((var = map_find(&env->names, key)) && !has_name(var, name, len))
		key++;
	return key;
}

static bool env_has(const struct env *env, const char *name, size_t len)
{
	return map_find(&env->names, env_key(env, name, len)) != NULL;
}

/* Add a variable NAME=VALUE, whose name is len bytes long. */
static void env_add(struct env *env, char *var, size_t len)
{
	char **old = env->var;

	map_set(&env->names, env_key(env, var, len), var);
	if (env->n + 1 >= env->cap) {
		env->cap = env->cap ? env->cap * 2 : 256;
		env->var = arena_array(env->arena, char *, env->cap);
		if (env->n)
			memcpy(env->var, old, env->n * sizeof(*old));
	}
	env->var[env->n++] = var;
	env->var[env->n] = NULL;
}

static void env_set(void *arg, const char *name, const char *value)
{
	struct env *env = arg;
	size_t len = strlen(name), size = strlen(value) + 1;
	char *var = arena_alloc(env->arena, len + 1 + size, 1);

	memcpy(var, name, len);
	var[len] = '=';
	memcpy(var + len + 1, value, size);
	env_add(env, var, len);
}

static void env_default(struct env *env, const char *name, const char *value)
{
	if (value && !env_has(env, name, strlen(name)))
		env_set(env, name, value);
}

static void add_theirs(struct env *env, const char *p, size_t left, bool stale)
{
	while (left) {
		size_t len = strnlen(p, left);
		const char *eq = memchr(p, '=', len);
		size_t name = eq ? (size_t)(eq - p) : 0;

		/* Ignore a last variable that has no zero byte at its end. */
		if (len == left)
			break;
		if (name && (stale || !is_stale(p, name)) &&
		    !env_has(env, p, name))
			env_add(env, arena_strdup(env->arena, p), name);
		p += len + 1;
		left -= len + 1;
	}
}

static void add_id(struct env *env, const struct env_step *step)
{
	char id[16];

	snprintf(id, sizeof(id), "%" PRIu32, step->id);
	env_set(env, STEP_ID_VAR, id);
}

char **env_build(const struct env_of *e, struct arena *arena)
{
	const struct run_job *job = &e->order->job;
	struct env env = { .arena = arena };

	if (getrandom(&env.seed, sizeof(env.seed), GRND_NONBLOCK) < 0)
		env.seed = 0;
	env_each(e, env_set, &env);
	if (e->like) {
		add_id(&env, e->like);
		add_theirs(&env, e->like->env, e->like->env_len, true);
	}
	if (e->step)
		add_theirs(&env, e->step->env, e->step->env_len, true);
	else
		add_theirs(&env, job->env, job->env_len, false);
	env_default(&env, "PATH", "/usr/local/bin:/usr/bin:/bin");
	env_default(&env, "HOME", e->home);
	env_default(&env, "USER", e->order->job.user);
	env_default(&env, "LOGNAME", e->order->job.user);
	env_default(&env, "SHELL", e->shell);
	map_free(&env.names);
	return env.var;
}

void env_set_pid(char **env, pid_t pid)
{
	static const char *const names[] = { TASK_PID_VAR, TASK_PID_TWIN };

	for (; *env; env++)
		for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
			size_t len = strlen(names[i]);

			if (has_name(*env, names[i], len))
				snprintf(*env + len + 1, sizeof(TASK_PID_ROOM),
				         "%d", (int)pid);
		}
}
