/* affinity.c - jobs that are to run near other jobs, or apart from them */
#include "aischedd/state/pass/affinity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/state/pass/places.h"
#include "aischedd/state/pass/row.h"
#include "aischedd/state/pass/shun.h"
#include "aischedd/state/state_priv.h"
#include "libcommon/mem.h"
#include "libcommon/near.h"
#include "libcommon/roster.h"
#include "libcommon/topology.h"

struct namer {
	uint64_t id;
	struct job *job;
};

/* The jobs that name one job or array. */
struct namers {
	struct roster all; /* struct namer */
	uint32_t naparts;  /* how many name it with --apart */
};

typedef void record_fn(const struct job *job, void *arg);

/* --- names -----------------------------------------------------------------
 */

bool affinity_is_asked(const struct spec *spec)
{
	return spec->near || spec->apart;
}

/* Call fn for each record of the jobs or tasks that a name stands for. */
static void each_named(const struct state *state, const struct near_job *name,
                       record_fn *fn, void *arg)
{
	const struct array *array = state_array(state, name->job);
	const struct job *job = NULL;

	if (name->task != NO_TASK)
		job = state_task(state, name->job, name->task);
	else if (!array)
		job = state_job(state, name->job);
	if (job)
		fn(job, arg);
	if (job || !array || name->task != NO_TASK)
		return;
	for (job = array->first; job; job = job->array_next)
		fn(job, arg);
}

static void each_of(const struct state *state, const struct near *near,
                    record_fn *fn, void *arg)
{
	for (uint32_t i = 0; i < near->n; i++)
		each_named(state, &near->job[i], fn, arg);
}

/* Parse --near or --apart. Returns false if it is not given, or names a level
 * that is no longer configured. */
static bool parse(const struct state *state, const char *text, struct near *ret)
{
	return text && *text &&
	       near_parse(text, &state->conf->topology.levels, ret, NULL) == 0;
}

/* --- which jobs may be named ------------------------------------------------
 */

struct candidate {
	uint32_t uid;
	bool found;
};

static void look_for(const struct job *job, void *arg)
{
	struct candidate *c = arg;

	c->found |= job->uid == c->uid &&
	            !job_state_is_final((enum job_state)job->state);
}

static int check_name(const struct state *state, const struct near_job *name,
                      uint32_t uid, uint64_t before, struct err *err)
{
	const struct namers *namers =
	    map_find(&state->affinities.by_job, name->job);
	struct candidate c = { .uid = uid };
	char task[16] = "";

	each_named(state, name, look_for, &c);
	if (name->task != NO_TASK)
		snprintf(task, sizeof(task), "_%u", name->task);
	if (!c.found)
		return err_set(err, ENOENT,
		               "you have no job %llu%s that waits or runs",
		               (unsigned long long)name->job, task);
	if (before && name->job >= before)
		return err_set(err, EINVAL,
		               "job %llu%s was not submitted before this one",
		               (unsigned long long)name->job, task);
	if (namers && namers->all.n >= AFFINITY_NAMERS)
		return err_set(err, EAGAIN,
		               "%d jobs name job %llu already; submit an array",
		               AFFINITY_NAMERS, (unsigned long long)name->job);
	return 0;
}

static int check_option(const struct state *state, const char *option,
                        const char *text, uint32_t uid, uint64_t before,
                        struct err *err)
{
	struct near near;

	if (!text)
		return 0;
	if (near_parse(text, &state->conf->topology.levels, &near, err) < 0)
		return err_wrap(err, "--%s", option);
	for (uint32_t i = 0; i < near.n; i++)
		if (check_name(state, &near.job[i], uid, before, err) < 0)
			return err_wrap(err, "--%s", option);
	return 0;
}

/* Returns how many jobs of the user name others. */
static uint64_t naffine_of(const struct state *state, uint32_t uid)
{
	/* The map has indexes plus one. */
	uintptr_t known = (uintptr_t)map_find(&state->users.by_uid, uid);

	return known ? state->users.user[known - 1].naffine : 0;
}

int affinity_check(const struct state *state, const struct spec *spec,
                   uint32_t uid, uint64_t before, struct err *err)
{
	if (affinity_is_asked(spec) && naffine_of(state, uid) >= AFFINITY_USER)
		return err_set(err, EAGAIN,
		               "%d of your jobs with --near or --apart wait or "
		               "run already",
		               AFFINITY_USER);
	if (affinity_is_asked(spec) && state->affinities.njobs >= AFFINITY_MOST)
		return err_set(err, EAGAIN,
		               "%d jobs with --near or --apart wait or run "
		               "already",
		               AFFINITY_MOST);
	if (check_option(state, "near", spec->near, uid, before, err) < 0)
		return -1;
	return check_option(state, "apart", spec->apart, uid, before, err);
}

/* --- the index ---------------------------------------------------------------
 */

/* Drop the key of a job, which says whether others are to be apart from the
 * job. If the job is in a row, move it to the row of its new key. */
static void key_again(const struct job *named, void *arg)
{
	struct state *state = arg;
	struct job *job = state_job(state, named->id);

	placed_key_forget(state, job);
	if (job->row)
		state_reindex(state, job, job->eligible);
}

static struct namers *namers_of(struct state *state, uint64_t id)
{
	void **at = map_at(&state->affinities.by_job, id);
	struct namers *namers = *at;

	if (!namers) {
		namers = xcalloc(1, sizeof(*namers));
		roster_init(&namers->all, sizeof(struct namer));
		*at = namers;
	}
	return namers;
}

static void index_apart(struct state *state, struct namers *namers, uint64_t id,
                        int by)
{
	struct near_job name = { id, NO_TASK };
	bool was = namers->naparts > 0;

	namers->naparts += (uint32_t)by;
	if (was != (namers->naparts > 0))
		each_named(state, &name, key_again, state);
}

static void index_text(struct state *state, struct job *job, const char *text,
                       bool apart, int by)
{
	struct near near;

	/* levels NULL: whether the level exists does not matter here */
	if (!text || near_parse(text, NULL, &near, NULL) < 0)
		return;
	for (uint32_t i = 0; i < near.n; i++) {
		uint64_t id = near.job[i].job;
		struct namers *namers = namers_of(state, id);
		struct namer namer = { job->id, job };

		if (by > 0)
			roster_put(&namers->all, &namer);
		else
			roster_del(&namers->all, job->id);
		if (apart)
			index_apart(state, namers, id, by);
		if (namers->all.n || namers->naparts)
			continue;
		roster_free(&namers->all);
		map_del(&state->affinities.by_job, id);
		free(namers);
	}
}

/* Add the job to the lists of the jobs that it names, or remove it (by -1). If
 * both options name the same job, that job's list has one entry for both. */
static void index_job(struct state *state, struct job *job, int by)
{
	struct spec spec;

	if (!job->affine)
		return;
	spec_unpack(&spec, job->packed);
	index_text(state, job, spec.apart, true, by);
	index_text(state, job, spec.near, false, by);
	state->affinities.njobs += (size_t)by;
	state->users.user[job->user].naffine += (uint64_t)by;
}

void affinity_add(struct state *state, struct job *job)
{
	index_job(state, job, 1);
}

void affinity_del(struct state *state, struct job *job)
{
	index_job(state, job, -1);
}

void affinity_free(struct affinity_index *index)
{
	struct namers *namers;
	size_t at = 0;

	while ((namers = map_each(&index->by_job, &at))) {
		roster_free(&namers->all);
		free(namers);
	}
	map_free(&index->by_job);
}

/* Update the rows of waiting jobs that name this job or array. */
static void tell(struct state *state, uint64_t id, int64_t now)
{
	const struct namers *namers = map_find(&state->affinities.by_job, id);
	struct roster_at at = { 0 };
	const struct namer *n;

	while (namers && (n = roster_next(&namers->all, &at)))
		if (n->job->state == JOB_PENDING && !n->job->place)
			state_reindex(state, n->job, now);
}

void affinity_moved(struct state *state, const struct job *job, int64_t now)
{
	if (!state->affinities.njobs)
		return;
	tell(state, job->id, now);
	if (job->array && job->array != job->id)
		tell(state, job->array, now);
}

/* --- jobs that --near names and that wait ------------------------------------
 */

struct waits {
	bool placed;
	const struct job *pending; /* the first that waits, or NULL */
};

static void look_at(const struct job *job, void *arg)
{
	struct waits *w = arg;

	w->placed |= job->place != NULL;
	if (!w->pending && !job->place &&
	    !job_state_is_final((enum job_state)job->state))
		w->pending = job;
}

bool affinity_hinders(const struct state *state, const struct job *job,
                      struct buf *text)
{
	struct waits w = { 0 };
	struct near near;
	struct spec spec;

	if (!job->affine)
		return false;
	spec_unpack(&spec, job->packed);
	if (!parse(state, spec.near, &near))
		return false;
	each_of(state, &near, look_at, &w);
	if (w.placed || !w.pending)
		return false;
	if (text)
		buf_printf(text,
		           "waits for job %llu, near which it is to run, to "
		           "start",
		           (unsigned long long)(w.pending->array
		                                    ? w.pending->array
		                                    : w.pending->id));
	return true;
}

/* --- --near and --apart in the key of a row ------------------------------ */

static bool is_kept_off(const struct state *state, uint64_t id)
{
	const struct namers *namers = map_find(&state->affinities.by_job, id);

	return namers && namers->naparts;
}

static void check_level(const struct state *state, const char *text,
                        struct row_key *key)
{
	struct near near;

	if (text && !parse(state, text, &near))
		key->pools = 0;
}

/* Append "NEAR;APART;JOB;ARRAY;PLACED": the two options; the ids of the job and
 * of its array, or 0 if no other job is to be apart from the job; and the id of
 * the job if it has nodes, or 0. */
static void put_text(const struct state *state, const struct job *job,
                     const struct spec *spec, struct buf *out)
{
	bool kept = state->affinities.njobs && (is_kept_off(state, job->id) ||
	                                        is_kept_off(state, job->array));

	if (!job->affine && !kept)
		return;
	buf_printf(out, "%s;%s;%llu;%llu;%llu", spec->near ? spec->near : "",
	           spec->apart ? spec->apart : "",
	           (unsigned long long)(kept ? job->id : 0),
	           (unsigned long long)(kept ? job->array : 0),
	           (unsigned long long)(job->place ? job->id : 0));
}

void affinity_key(const struct state *state, const struct job *job,
                  const struct spec *spec, struct row_key *key, struct buf *out)
{
	check_level(state, spec->near, key);
	check_level(state, spec->apart, key);
	put_text(state, job, spec, out);
}

/* --- nodes that jobs shun ------------------------------------------------ */

/* The domains in which a job must or must not start now, because of --near and
 * --apart. */
struct company {
	const struct state *state;
	/* If shun is not NULL, domains are noted in it instead of in the
	 * members near and off. */
	struct shun *shun;
	struct shun_domains *domains;
	const struct job *self; /* the job itself, if it has nodes */
	int level;              /* topology level of domains added next */
	bool is_near;
	int near_level;
	/* domains, by place_domain(). near: the job must start in one of them,
	 * if is_near. off: it must start in none of them. */
	struct map near, off;
	uint64_t off_levels; /* bit i: level i - 1 */
};

static void add_domain(struct company *c, struct map *to, uint32_t node)
{
	uint64_t domain;

	if (c->shun) {
		shun_note(c->domains, c->state, c->shun, node, c->level,
		          to == &c->near);
		return;
	}
	domain = place_domain(c->state, node, c->level);
	if (domain)
		map_set(to, domain, c);
}

static void add_near(const struct job *job, void *arg)
{
	struct company *c = arg;

	if (!job->place)
		return;
	c->is_near = true;
	for (uint32_t i = 0; i < job->place->ntasks; i++)
		add_domain(c, &c->near, job->place->task[i].node);
}

static void add_off(const struct job *job, void *arg)
{
	const struct placement *held[] = { job->place, job->runs->leaving };
	struct company *c = arg;

	c->off_levels |= (uint64_t)1 << (c->level + 1);
	for (size_t h = 0; h < ARRAY_SIZE(held); h++)
		for (uint32_t i = 0; held[h] && i < held[h]->ntasks; i++)
			add_domain(c, &c->off, held[h]->task[i].node);
	for (uint32_t i = 0; job->claim && i < job->claim->n; i++)
		add_domain(c, &c->off, job->claim->node[i]);
}

/* Whether one of the names stands for this job, or for its array or task. */
static bool has_name(const struct near *near, const struct job *job)
{
	for (uint32_t i = 0; i < near->n; i++) {
		const struct near_job *name = &near->job[i];

		if (name->task == NO_TASK
		        ? name->job == job->id || name->job == job->array
		        : name->job == job->array && name->task == job->task)
			return true;
	}
	return false;
}

/* Add the domains of jobs whose --apart names `job`, or its array. id: the id
 * of the job or of the array, whose list of namers is searched. */
static void add_namers(struct company *c, uint64_t id, const struct job *job)
{
	const struct namers *namers =
	    map_find(&c->state->affinities.by_job, id);
	struct roster_at at = { 0 };
	const struct namer *n;

	while (namers && (n = roster_next(&namers->all, &at))) {
		struct near near;
		struct spec spec;

		if (!n->job->place && !n->job->claim)
			continue;
		spec_unpack(&spec, n->job->packed);
		if (!parse(c->state, spec.apart, &near) ||
		    !has_name(&near, job))
			continue;
		c->level = near.level;
		add_off(n->job, c);
	}
}

/* Read one part of the text up to the next ';' into ret, which has room for
 * it. Returns what follows. */
static const char *take_part(const char *text, char *ret)
{
	size_t len = strcspn(text, ";");

	memcpy(ret, text, len);
	ret[len] = '\0';
	return text[len] ? text + len + 1 : text + len;
}

/* Find the domains for jobs that have this text of put_text() in their keys.
 * The caller has set c->state and, if need be, c->shun and c->domains. */
static void company_init(struct company *c, const char *text)
{
	const struct state *state = c->state;
	char *part = xmalloc(strlen(text) + 1);
	const struct job *kept;
	struct near near;
	uint64_t array;

	text = take_part(text, part);
	if (parse(state, part, &near)) {
		c->level = c->near_level = near.level;
		each_of(state, &near, add_near, c);
	}
	text = take_part(text, part);
	if (parse(state, part, &near)) {
		c->level = near.level;
		each_of(state, &near, add_off, c);
	}
	text = take_part(text, part);
	kept = state_job(state, strtoull(part, NULL, 10));
	text = take_part(text, part);
	array = strtoull(part, NULL, 10);
	if (kept)
		add_namers(c, kept->id, kept);
	if (kept && array && array != kept->id)
		add_namers(c, array, kept);
	c->self = state_job(state, strtoull(text, NULL, 10));
	free(part);
}

static void company_fini(struct company *c)
{
	map_free(&c->near);
	map_free(&c->off);
}

static bool has_task_on(const struct job *job, uint32_t node)
{
	for (uint32_t i = 0; job && job->place && i < job->place->ntasks; i++)
		if (job->place->task[i].node == node)
			return true;
	return false;
}

/* Whether the job may not start on this node now. A job never shuns nodes that
 * it has already. */
static bool shuns(const struct company *c, uint32_t node)
{
	bool result = false;

	if (c->is_near) {
		uint64_t at = place_domain(c->state, node, c->near_level);

		result = !at || !map_find(&c->near, at);
	}
	for (uint64_t left = c->off_levels; left && !result; left &= left - 1) {
		int level = __builtin_ctzll(left) - 1;
		uint64_t at = place_domain(c->state, node, level);

		result = at && map_find(&c->off, at);
	}
	return result && !has_task_on(c->self, node);
}

void affinity_shun(const struct state *state, const char *text,
                   struct shun_domains *domains, struct arena *arena,
                   struct shun *ret)
{
	struct company c = { .state = state, .shun = ret, .domains = domains };

	company_init(&c, text);
	if (c.is_near)
		shun_all_but_near(domains, state, ret, c.near_level);
	for (uint32_t i = 0;
	     c.self && c.self->place && i < c.self->place->ntasks; i++)
		*(uint32_t *)arena_push(arena, &ret->own, sizeof(uint32_t)) =
		    c.self->place->task[i].node;
	shun_noted(domains, ret);
	company_fini(&c);
}

struct id_list {
	uint64_t *id;
	size_t n, cap;
};

static void add_id(const struct job *job, void *arg)
{
	struct id_list *list = arg;

	if (!job->place)
		return;
	list->id = GROW(list->id, list->n, &list->cap);
	list->id[list->n++] = job->id;
}

static int by_id(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

void affinity_beside(const struct state *state, const char *text,
                     void (*fn)(uint64_t job, void *arg), void *arg)
{
	char *part = xmalloc(strlen(text) + 1);
	struct id_list list = { 0 };
	struct near near;

	take_part(text, part);
	if (parse(state, part, &near))
		each_of(state, &near, add_id, &list);
	if (list.n)
		qsort(list.id, list.n, sizeof(*list.id), by_id);
	for (size_t i = 0; i < list.n; i++)
		if (!i || list.id[i] != list.id[i - 1])
			fn(list.id[i], arg);
	free(list.id);
	free(part);
}

bool affinity_still_fits(const struct state *state, const struct job *job,
                         const struct snap_task *task, uint32_t ntasks)
{
	struct buf text = { 0 };
	struct company c = { .state = state };
	struct spec spec;
	bool fits = true;

	if (!state->affinities.njobs)
		return true;
	spec_unpack(&spec, job->packed);
	put_text(state, job, &spec, &text);
	if (text.len) {
		company_init(&c, text.data);
		for (uint32_t i = 0; i < ntasks && fits; i++)
			fits = !shuns(&c, task[i].node);
		company_fini(&c);
	}
	buf_free(&text);
	return fits;
}
