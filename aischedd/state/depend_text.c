/* depend_text.c - "afterok:12:13,afterany:14_3" */
#include <stdlib.h>
#include <string.h>

#include "aischedd/state/state_priv.h"
#include "libcommon/mem.h"

static const char *const kind_name[] = {
	[DEP_AFTER] = "after",    [DEP_ANY] = "afterany",
	[DEP_OK] = "afterok",     [DEP_NOT_OK] = "afternotok",
	[DEP_CORR] = "aftercorr", [DEP_SINGLETON] = "singleton",
};

static int kind_parse(const char *s, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(kind_name); i++)
		if (strlen(kind_name[i]) == len &&
		    !strncmp(kind_name[i], s, len))
			return (int)i;
	return -1;
}

static int number(const char **s, uint64_t max, uint64_t *ret)
{
	uint64_t n = 0;
	const char *p = *s;

	while (*p >= '0' && *p <= '9') {
		n = n * 10 + (uint64_t)(*p++ - '0');
		if (n > max)
			return -1;
	}
	if (p == *s)
		return -1;
	*s = p;
	*ret = n;
	return 0;
}

/* JOB[_TASK][+MINUTES] */
static int target_parse(const char **s, struct dep *dep)
{
	uint64_t n;

	if (number(s, INT64_MAX, &dep->job) < 0 || !dep->job)
		return -1;
	if (**s == '_') {
		++*s;
		if (number(s, LIMIT_ARRAY, &n) < 0)
			return -1;
		dep->task = (uint32_t)n;
	}
	if (**s == '+' && dep->kind == DEP_AFTER) {
		++*s;
		if (number(s, UINT32_MAX, &n) < 0)
			return -1;
		dep->delay_s = (int64_t)n * 60;
	}
	return 0;
}

static int add(struct deps **deps, const struct dep *dep, struct err *err)
{
	uint32_t n = *deps ? (*deps)->n : 0;

	if (n == LIMIT_DEPS)
		return err_set(err, EINVAL,
		               "a dependency names at most %d jobs",
		               LIMIT_DEPS);
	*deps =
	    xrealloc(*deps, sizeof(**deps) + (n + 1) * sizeof(struct dep), 1);
	(*deps)->n = n + 1;
	(*deps)->dep[n] = *dep;
	return 0;
}

static int one_parse(const char **s, struct deps **deps, struct err *err)
{
	size_t len = strcspn(*s, ":,?");
	int kind = kind_parse(*s, len);
	struct dep dep = { .kind = (uint8_t)kind,
		           .task = NO_TASK,
		           .at = NO_TIME };

	if (kind < 0)
		return err_set(err, EINVAL,
		               "'%.*s' is no kind of dependency: after, "
		               "afterany, afterok, afternotok, aftercorr, "
		               "singleton",
		               (int)len, *s);
	*s += len;
	if (kind == DEP_SINGLETON)
		return add(deps, &dep, err);
	if (**s != ':')
		return err_set(err, EINVAL, "%s needs a job: %s:JOB",
		               kind_name[kind], kind_name[kind]);
	while (**s == ':') {
		const char *from = ++*s;

		dep.task = NO_TASK;
		dep.delay_s = 0;
		if (target_parse(s, &dep) < 0 || !strchr(":,?", **s))
			return err_set(err, EINVAL,
			               "'%.*s' in the dependency is no job",
			               (int)strcspn(from, ":,?"), from);
		if (add(deps, &dep, err) < 0)
			return -1;
	}
	return 0;
}

/* Whether there is or was such a job, or such a task of an array. */
static bool exists(const struct state *state, const struct dep *dep)
{
	struct past past;

	if (dep->kind == DEP_SINGLETON)
		return true;
	if (dep->task == NO_TASK
	        ? state_job(state, dep->job) || state_array(state, dep->job)
	        : state_task(state, dep->job, dep->task) != NULL)
		return true;
	return state->past(dep->job, dep->task, &past, state->past_arg) == 0;
}

static int no_such_job(const struct dep *dep, struct err *err)
{
	if (dep->task == NO_TASK)
		return err_set(err, ENOENT, "there is no job %llu to depend on",
		               (unsigned long long)dep->job);
	return err_set(err, ENOENT, "there is no job %llu_%u to depend on",
	               (unsigned long long)dep->job, dep->task);
}

int deps_parse(const struct state *state, const char *text, struct deps **ret,
               struct err *err)
{
	struct deps *deps = NULL;
	const char *s = text;
	char between = 0;

	for (;;) {
		if (one_parse(&s, &deps, err) < 0)
			goto bad;
		if (!*s)
			break;
		if (between && between != *s) {
			err_set(err, EINVAL,
			        "dependency '%s' mixes ',' (all) and '?' "
			        "(any)",
			        text);
			goto bad;
		}
		between = *s++;
	}
	deps->any = between == '?';
	for (uint32_t i = 0; state && i < deps->n; i++)
		if (!exists(state, &deps->dep[i])) {
			no_such_job(&deps->dep[i], err);
			goto bad;
		}
	*ret = deps;
	return 0;
bad:
	free(deps);
	return -1;
}

void state_depend_format(const struct job *job, struct buf *out)
{
	const struct deps *deps = job->deps;

	for (uint32_t i = 0; deps && i < deps->n; i++) {
		const struct dep *dep = &deps->dep[i];

		if (i)
			buf_addc(out, deps->any ? '?' : ',');
		buf_puts(out, kind_name[dep->kind]);
		if (dep->kind == DEP_SINGLETON)
			continue;
		buf_addc(out, ':');
		buf_i64(out, (int64_t)dep->job);
		if (dep->task != NO_TASK) {
			buf_addc(out, '_');
			buf_i64(out, dep->task);
		}
		if (dep->delay_s) {
			buf_addc(out, '+');
			buf_i64(out, dep->delay_s / 60);
		}
	}
}
