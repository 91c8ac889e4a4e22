/* dependency.c - parse --dependency */
#include "libcommon/dependency.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/jobid.h"
#include "libcommon/limits.h"
#include "libcommon/map.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"
#include "libcommon/steps.h"

static const char *const kind_name[] = {
	[DEP_AFTER] = "after",    [DEP_ANY] = "afterany",
	[DEP_OK] = "afterok",     [DEP_NOT_OK] = "afternotok",
	[DEP_CORR] = "aftercorr", [DEP_SINGLETON] = "singleton",
};

static int take_kind(const char **s)
{
	size_t len = strcspn(*s, ":,?");

	for (size_t i = 0; i < ARRAY_SIZE(kind_name); i++)
		if (strlen(kind_name[i]) == len &&
		    !strncmp(kind_name[i], *s, len)) {
			*s += len;
			return (int)i;
		}
	return -1;
}

/* Parse JOB[_TASK][+MINUTES]. */
static bool take_job(const char **s, struct dep *dep)
{
	int64_t n;

	if (!take_number(s, INT64_MAX, &n) || !n)
		return false;
	dep->job = (uint64_t)n;
	dep->task = NO_TASK;
	dep->delay_s = 0;
	if (**s == '_') {
		++*s;
		if (!take_number(s, LIMIT_ARRAY - 1, &n))
			return false;
		dep->task = (uint32_t)n;
	}
	if (**s == '+' && dep->kind == DEP_AFTER) {
		++*s;
		if (!take_number(s, UINT32_MAX, &n))
			return false;
		dep->delay_s = n * 60;
	}
	return true;
}

/* The conditions read so far; known maps the hash of each to its index + 1. */
struct reading_deps {
	struct deps *deps;
	struct map known;
};

static bool same(const struct dep *a, const struct dep *b)
{
	return a->kind == b->kind && a->task == b->task && a->job == b->job &&
	       a->delay_s == b->delay_s;
}

static void add(struct reading_deps *r, const struct dep *dep)
{
	const uint64_t key[] = { dep->kind, dep->task, dep->job,
		                 (uint64_t)dep->delay_s };
	uint64_t hash = hash_bytes(0, key, sizeof(key));
	uintptr_t known = (uintptr_t)map_find(&r->known, hash);
	uint32_t n = r->deps ? r->deps->n : 0;

	steps_add(1);
	if (known && same(&r->deps->dep[known - 1], dep))
		return;
	if (!(n & (n - 1))) /* the array is full: double its size */
		r->deps = xrealloc(
		    r->deps,
		    sizeof(*r->deps) + (n ? 2 * n : 1) * sizeof(struct dep), 1);
	r->deps->n = n + 1;
	r->deps->dep[n] = *dep;
	map_set(&r->known, hash, (void *)(uintptr_t)(n + 1));
}

/* Parse KIND:JOB[:JOB]... or singleton. */
static bool take_condition(const char **s, struct reading_deps *r)
{
	int kind = take_kind(s);
	struct dep dep = { .kind = (uint8_t)kind,
		           .task = NO_TASK,
		           .at = NO_TIME };

	if (kind == DEP_SINGLETON)
		add(r, &dep);
	if (kind < 0 || kind == DEP_SINGLETON)
		return kind >= 0;
	if (**s != ':')
		return false;
	while (**s == ':' && (!r->deps || r->deps->n <= LIMIT_DEPS)) {
		++*s;
		if (!take_job(s, &dep))
			return false;
		add(r, &dep);
	}
	return true;
}

static int bad(const char *text, struct err *err)
{
	return err_set(err, EINVAL,
	               "bad dependency '%s': use after, afterany, afterok, "
	               "afternotok or aftercorr with :JOB[:JOB], or singleton",
	               text);
}

int dependency_parse(const char *text, struct deps **ret, struct err *err)
{
	struct reading_deps r = { 0 };
	const char *s = text;
	char between = 0;
	int rc = 0;

	while (rc == 0) {
		if (!take_condition(&s, &r))
			rc = bad(text, err);
		else if (r.deps->n > LIMIT_DEPS)
			rc = err_set(err, EINVAL,
			             "a dependency names at most %d jobs",
			             LIMIT_DEPS);
		else if (!*s)
			break;
		else if (*s != ',' && *s != '?')
			rc = bad(text, err);
		else if (between && between != *s)
			rc = err_set(err, EINVAL,
			             "bad dependency '%s': use ',' (all) or "
			             "'?' (any), not both",
			             text);
		else
			between = *s++;
	}
	map_free(&r.known);
	if (rc < 0) {
		free(r.deps);
		return -1;
	}
	r.deps->alarm = NO_TIME;
	r.deps->any = between == '?';
	*ret = r.deps;
	return 0;
}

static void put_dep(const struct dep *dep, struct buf *out)
{
	buf_puts(out, kind_name[dep->kind]);
	if (dep->kind == DEP_SINGLETON)
		return;
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

static void put_deps(const struct deps *deps, bool never, struct buf *out)
{
	bool any = false;

	for (uint32_t i = 0; deps && i < deps->n; i++) {
		if (never && !deps->dep[i].never)
			continue;
		if (any)
			buf_addc(out, deps->any ? '?' : ',');
		put_dep(&deps->dep[i], out);
		any = true;
	}
}

void dependency_format(const struct deps *deps, struct buf *out)
{
	put_deps(deps, false, out);
}

void dependency_format_never(const struct deps *deps, struct buf *out)
{
	put_deps(deps, true, out);
}
