/* volume.c - the volume claims of pools, and where jobs that mount them
 * can run */
#include "aischedd/state/cluster/volume.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/state/cluster/pool.h"
#include "aischedd/state/pass/row.h"
#include "aischedd/state/state_priv.h"
#include "libcommon/hostlist.h"
#include "libcommon/mem.h"

struct volume {
	char *name;
	char *why; /* why the claim cannot be mounted, or NULL */
	enum volume_share share;
	/* it can be mounted on all nodes; false: only on those in `nodes` */
	bool anywhere;
	struct map nodes; /* by the hash of their names */
};

static uint64_t text_key(uint64_t seed, const char *s, size_t len)
{
	return hash_bytes(seed, s, len);
}

/* --- names --------------------------------------------------------------- */

/* Returns the name of the next volume claim in the text of --mount, or NULL.
 * Moves *mount behind it. */
static const char *next_claim(const char **mount, size_t *ret_len)
{
	const char *s = *mount;

	while (s && *s) {
		const char *end = s + strcspn(s, ",");
		bool claim = !strncmp(s, "pvc:", 4);

		*mount = *end ? end + 1 : end;
		if (claim) {
			*ret_len = strcspn(s + 4, ":,");
			return s + 4;
		}
		s = *mount;
	}
	return NULL;
}

bool volume_is_named(const char *mount)
{
	size_t len;

	return next_claim(&mount, &len) != NULL;
}

void volume_names(const char *mount, struct buf *out)
{
	const char *name;
	size_t len;

	while ((name = next_claim(&mount, &len)))
		buf_printf(out, "%.*s,", (int)len, name);
}

static const struct volume *find(const struct state *state, uint32_t pool,
                                 const char *name, size_t len)
{
	return map_find(&state->volumes.claims, text_key(pool + 1, name, len));
}

#define EACH_NAME(s, names, len)                                   \
	for (const char *s = (names); (len = strcspn(s, ",")), *s; \
	     s += len + (s[len] == ','))

/* --- reports of runners --------------------------------------------------- */

static void volume_free(struct volume *v)
{
	if (!v)
		return;
	free(v->name);
	free(v->why);
	map_free(&v->nodes);
	free(v);
}

/* Update the rows of all jobs that mount claims. A PENDING job with nodes is
 * just being started: skip it. */
static void changed(struct state *state, int64_t now)
{
	for (struct job *job = state->records.first; job; job = job->all_next) {
		if (!job->claims)
			continue;
		placed_key_forget(job);
		if (job->state == JOB_PENDING && !job->place)
			state_reindex(state, job, now);
	}
	map_free(&state->nodes.fits);
	state->gen++;
	state_replan(state);
}

static void listed(struct state *state, uint32_t pool, const char *why)
{
	state->volumes.listed[pool] = !why;
	text_set(&state->volumes.blind[pool], why);
}

void state_volume_seen(struct state *state, uint32_t pool,
                       const struct volume_info *info, int64_t now)
{
	struct map *claims = &state->volumes.claims;
	struct volume *v;
	uint64_t key;

	if (!info->name) {
		listed(state, pool, info->why);
		changed(state, now);
		return;
	}
	key = text_key(pool + 1, info->name, strlen(info->name));
	volume_free(map_del(claims, key));
	if (!info->gone) {
		v = xcalloc(1, sizeof(*v));
		v->name = xstrdup(info->name);
		text_set(&v->why, info->why);
		v->share = info->share;
		v->anywhere = info->anywhere;
		for (size_t i = 0; i < info->nodes.n; i++)
			map_set(&v->nodes,
			        text_key(0, info->nodes.s[i],
			                 strlen(info->nodes.s[i])),
			        v);
		map_set(claims, key, v);
	}
	changed(state, now);
}

/* --- use ------------------------------------------------------------------ */

static bool mounts(const struct job *job, const char *name, size_t len)
{
	struct spec spec;
	const char *other;
	size_t n;

	spec_unpack(&spec, job->packed);
	while ((other = next_claim(&spec.mount, &n)))
		if (n == len && !memcmp(other, name, len))
			return true;
	return false;
}

static const struct node *node_of(const struct state *state,
                                  const struct job *job)
{
	return &state->nodes.node[job->place->task[0].node];
}

/* Returns a job, other than `but`, that has nodes in the pool and mounts the
 * claim; NULL if there is none. */
static const struct job *holder(const struct state *state, uint32_t pool,
                                const char *name, size_t len,
                                const struct job *but)
{
	for (const struct job *job = state->records.placed; job;
	     job = job->row_next)
		if (job->claims && job != but &&
		    node_of(state, job)->pool == pool && mounts(job, name, len))
			return job;
	return NULL;
}

static bool names_node(const char *text, const struct node *node)
{
	struct hostlist list;
	bool has = false;

	if (hostlist_parse(&list, text, NULL) < 0)
		return false;
	for (size_t i = 0; i < list.n; i++)
		has |= !strcmp(list.name[i], node->name) ||
		       !strcmp(list.name[i], node->full);
	hostlist_free(&list);
	return has;
}

/* Whether --exclude or --nodelist keeps the job off this node. */
static bool keeps_off(const struct spec *spec, const struct node *node)
{
	return (spec->exclude && names_node(spec->exclude, node)) ||
	       (spec->nodelist && !names_node(spec->nodelist, node));
}

/* Whether the job cannot mount the claim in this pool now. If so, append the
 * reason to text, unless that is NULL. */
static bool hinders_one(const struct state *state, const struct job *job,
                        const struct spec *spec, uint32_t pool,
                        const char *name, size_t len, struct buf *text)
{
	const struct volume *v = find(state, pool, name, len);
	const char *of = state->conf->pools[pool].name;
	const char *blind = state->volumes.blind[pool];
	const struct job *by = NULL;
	struct buf none = { 0 };
	struct buf *to = text ? text : &none;
	uint32_t tasks = spec->tasks == SPEC_UNSET ? 1 : (uint32_t)spec->tasks;
	bool result = true;

	if (v && v->share != VOLUME_SHARED)
		by = holder(state, pool, name, len, job);
	if (!state->volumes.listed[pool])
		buf_printf(to,
		           "the volume claims of pool '%s' are not known%s%s",
		           of, blind ? ": " : " yet", blind ? blind : "");
	else if (!v)
		buf_printf(to, "there is no volume claim '%.*s' in pool '%s'",
		           (int)len, name, of);
	else if (v->why)
		buf_printf(to, "volume claim '%s' %s", v->name, v->why);
	else if (v->share == VOLUME_ONE_POD && tasks > 1)
		buf_printf(to,
		           "volume claim '%s' is ReadWriteOncePod, but the job "
		           "has %u tasks",
		           v->name, tasks);
	else if (by && v->share == VOLUME_ONE_POD)
		buf_printf(to,
		           "volume claim '%s' is ReadWriteOncePod, and job "
		           "%llu uses it",
		           v->name, (unsigned long long)by->id);
	else if (by && keeps_off(spec, node_of(state, by)))
		buf_printf(to,
		           "volume claim '%s' is ReadWriteOnce, and job %llu "
		           "has it on node '%s'",
		           v->name, (unsigned long long)by->id,
		           node_of(state, by)->name);
	else if (v->share == VOLUME_ONE_NODE && spec->nodes != SPEC_UNSET &&
	         spec->nodes > 1)
		buf_printf(to,
		           "volume claim '%s' is ReadWriteOnce, but the job "
		           "asks for %lld nodes",
		           v->name, (long long)spec->nodes);
	else
		result = false;
	buf_free(&none);
	return result;
}

bool volume_hinders(const struct state *state, const struct job *job,
                    struct buf *text)
{
	struct spec spec;
	uint64_t pools;
	bool any = false;

	if (!job->claims)
		return false;
	spec_unpack(&spec, job->packed);
	pools = spec_pools(state, &spec, job->queue);
	for (uint32_t pool = 0; pool < state->conf->npools; pool++) {
		const char *rest = spec.mount, *name;
		bool can = true;
		size_t len;

		if (!(pools >> pool & 1))
			continue;
		while (can && (name = next_claim(&rest, &len)))
			can = !hinders_one(state, job, &spec, pool, name, len,
			                   any ? NULL : text);
		if (can) {
			if (text)
				buf_clear(text);
			return false;
		}
		any = true;
	}
	return any;
}

bool volume_wants_one_node(const struct state *state, const char *names,
                           uint64_t pools)
{
	size_t len;

	for (uint32_t pool = 0; pool < state->conf->npools; pool++)
		EACH_NAME(name, names, len)
		{
			const struct volume *v = find(state, pool, name, len);

			if (pools >> pool & 1 && v && v->share != VOLUME_SHARED)
				return true;
		}
	return false;
}

static bool is_on(const struct job *job, uint32_t node)
{
	for (uint32_t i = 0; i < job->place->ntasks; i++)
		if (job->place->task[i].node == node)
			return true;
	return false;
}

static bool reaches_one(const struct state *state, const char *name, size_t len,
                        uint32_t n)
{
	const struct node *node = &state->nodes.node[n];
	const struct volume *v = find(state, node->pool, name, len);

	return state->volumes.listed[node->pool] && v && !v->why &&
	       (v->anywhere ||
	        map_find(&v->nodes,
	                 text_key(0, node->name, strlen(node->name))));
}

/* Whether the claim can be mounted on this node as far as other jobs are
 * concerned: it cannot if one node only may mount it, and a job other than
 * `but` has it mounted on another node. */
static bool is_free_for(const struct state *state, const char *name, size_t len,
                        uint32_t n, const struct job *but)
{
	uint32_t pool = state->nodes.node[n].pool;
	const struct volume *v = find(state, pool, name, len);
	const struct job *by;

	if (!v || v->share == VOLUME_SHARED)
		return true;
	by = holder(state, pool, name, len, but);
	return !by || is_on(by, n);
}

bool volume_reaches(const struct state *state, const char *names, uint32_t node,
                    bool now)
{
	size_t len;

	EACH_NAME(name, names, len)
	if (!reaches_one(state, name, len, node) ||
	    (now && !is_free_for(state, name, len, node, NULL)))
		return false;
	return true;
}

bool volume_still_fits(const struct state *state, const struct job *job,
                       const struct snap_task *task, uint32_t ntasks)
{
	const char *rest, *name;
	struct spec spec;
	size_t len;

	if (!job->claims)
		return true;
	if (volume_hinders(state, job, NULL))
		return false;
	spec_unpack(&spec, job->packed);
	rest = spec.mount;
	while ((name = next_claim(&rest, &len)))
		for (uint32_t i = 0; i < ntasks; i++)
			if (!reaches_one(state, name, len, task[i].node) ||
			    !is_free_for(state, name, len, task[i].node, job))
				return false;
	return true;
}

void volume_moved(struct state *state, const struct job *job, int64_t now)
{
	struct buf names = { 0 };
	struct spec spec;

	if (!job->claims)
		return;
	spec_unpack(&spec, job->packed);
	volume_names(spec.mount, &names);
	if (volume_wants_one_node(state, names.data, UINT64_MAX))
		changed(state, now);
	buf_free(&names);
}

void volumes_free(struct volume_table *volumes)
{
	struct volume *v;
	size_t at = 0;

	while ((v = map_each(&volumes->claims, &at)))
		volume_free(v);
	map_free(&volumes->claims);
	for (size_t i = 0; i < LIMIT_POOLS; i++)
		free(volumes->blind[i]);
}
