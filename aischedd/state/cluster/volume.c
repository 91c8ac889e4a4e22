/* volume.c - the volume claims of pools, and where jobs that mount them
 * can run */
#include "aischedd/state/cluster/volume.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/state/cluster/pool.h"
#include "aischedd/state/pass/row.h"
#include "aischedd/state/pass/sweep.h"
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

/* The report of a runner on all claims of a namespace. */
struct volume_space {
	bool listed; /* all claims were reported */
	char *blind; /* why the runner cannot list them, or NULL */
};

static uint64_t text_key(uint64_t seed, const char *s, size_t len)
{
	return hash_bytes(seed, s, len);
}

/* --- names of volume claims ---------------------------------------------- */

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

void volume_names(const struct state *state, uint32_t queue, const char *mount,
                  struct buf *out)
{
	const char *space = state->conf->queues[queue].namespace, *name;
	size_t len;

	while ((name = next_claim(&mount, &len)))
		buf_printf(out, "%s%s%.*s,", space ? space : "",
		           space ? "/" : "", (int)len, name);
}

static uint64_t space_key(uint32_t pool, const char *space, size_t len)
{
	return text_key(pool + 1, space, len);
}

/* A claim in a pool. */
struct at {
	uint32_t pool;
	uint64_t space; /* space_key() */
	const char *name;
	size_t len;
};

/* Returns the claim in this pool for a name from a list
 * that volume_names() wrote. */
static struct at at_listed(const struct state *state, uint32_t pool,
                           const char *name, size_t len)
{
	const char *space = state->conf->pools[pool].namespace;
	const char *slash = memchr(name, '/', len);
	struct at at = { pool, 0, name, len };

	if (!slash) {
		at.space = space_key(pool, space, strlen(space));
		return at;
	}
	at.space = space_key(pool, name, (size_t)(slash - name));
	at.name = slash + 1;
	at.len = len - (size_t)(at.name - name);
	return at;
}

/* Returns the claim in this pool for a name from the job's --mount. */
static struct at at_mounted(const struct state *state, const struct job *job,
                            uint32_t pool, const char *name, size_t len)
{
	const char *space =
	    job->runs->space
		? job->runs->space
		: conf_namespace(state->conf, (int)job->queue, (int)pool);

	return (struct at){ pool, space_key(pool, space, strlen(space)), name,
		            len };
}

static const struct volume *find(const struct state *state, const struct at *at)
{
	return map_find(&state->volumes.claims,
	                text_key(at->space, at->name, at->len));
}

static bool is_listed(const struct state *state, const struct at *at)
{
	const struct volume_space *space =
	    map_find(&state->volumes.spaces, at->space);

	return space && space->listed;
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

/* Update the rows and keys of all jobs that mount claims. */
static void changed(struct state *state, int64_t now)
{
	for (struct job *job = state->records.placed; job; job = job->row_next)
		if (job->claims)
			placed_key_forget(state, job);
	sweep_begin(state, SWEEP_CLAIMS, now);
	map_free(&state->nodes.fits);
	state->gen++;
	state_replan(state);
}

static void listed(struct state *state, uint64_t key, const char *why)
{
	struct volume_space *space = map_find(&state->volumes.spaces, key);

	if (!space) {
		space = xcalloc(1, sizeof(*space));
		map_set(&state->volumes.spaces, key, space);
	}
	space->listed = !why;
	text_set(&space->blind, why);
}

void state_volume_seen(struct state *state, uint32_t pool,
                       const struct volume_info *info, int64_t now)
{
	struct map *claims = &state->volumes.claims;
	struct volume *v;
	uint64_t space, key;

	space = space_key(pool, info->namespace, strlen(info->namespace));
	if (!info->name) {
		listed(state, space, info->why);
		changed(state, now);
		return;
	}
	key = text_key(space, info->name, strlen(info->name));
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

/* --- where jobs can mount their claims ------------------------------------ */

static bool mounts(const struct state *state, const struct job *job,
                   const struct at *at)
{
	struct spec spec;
	const char *other;
	size_t n;

	spec_unpack(&spec, job->packed);
	while ((other = next_claim(&spec.mount, &n)))
		if (n == at->len && !memcmp(other, at->name, n) &&
		    at_mounted(state, job, at->pool, other, n).space ==
		        at->space)
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
static const struct job *holder(const struct state *state, const struct at *at,
                                const struct job *but)
{
	for (const struct job *job = state->records.placed; job;
	     job = job->row_next)
		if (job->claims && job != but &&
		    node_of(state, job)->pool == at->pool &&
		    mounts(state, job, at))
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
	const struct at at = at_mounted(state, job, pool, name, len);
	const struct volume *v = find(state, &at);
	const struct volume_space *space =
	    map_find(&state->volumes.spaces, at.space);
	const char *of = state->conf->pools[pool].name;
	const char *blind = space ? space->blind : NULL;
	const struct job *by = NULL;
	struct buf none = { 0 };
	struct buf *to = text ? text : &none;
	uint32_t tasks = spec->tasks == SPEC_UNSET ? 1 : (uint32_t)spec->tasks;
	bool result = true;

	if (v && v->share != VOLUME_SHARED)
		by = holder(state, &at, job);
	if (!is_listed(state, &at))
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
			const struct at at = at_listed(state, pool, name, len);
			const struct volume *v = find(state, &at);

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

static bool reaches_one(const struct state *state, const struct at *at,
                        uint32_t n)
{
	const struct node *node = &state->nodes.node[n];
	const struct volume *v = find(state, at);

	return is_listed(state, at) && v && !v->why &&
	       (v->anywhere ||
	        map_find(&v->nodes,
	                 text_key(0, node->name, strlen(node->name))));
}

/* Whether other jobs allow the claim to be mounted on this node: false if
 * it can be mounted on one node only, and a job other than `but` mounts
 * it on another. */
static bool is_free_for(const struct state *state, const struct at *at,
                        uint32_t n, const struct job *but)
{
	const struct volume *v = find(state, at);
	const struct job *by;

	if (!v || v->share == VOLUME_SHARED)
		return true;
	by = holder(state, at, but);
	return !by || is_on(by, n);
}

bool volume_reaches(const struct state *state, const char *names, uint32_t node,
                    bool now)
{
	uint32_t pool = state->nodes.node[node].pool;
	size_t len;

	EACH_NAME(name, names, len)
	{
		const struct at at = at_listed(state, pool, name, len);

		if (!reaches_one(state, &at, node) ||
		    (now && !is_free_for(state, &at, node, NULL)))
			return false;
	}
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
		for (uint32_t i = 0; i < ntasks; i++) {
			const uint32_t node = task[i].node;
			const struct at at =
			    at_mounted(state, job, state->nodes.node[node].pool,
			               name, len);

			if (!reaches_one(state, &at, node) ||
			    !is_free_for(state, &at, node, job))
				return false;
		}
	return true;
}

void volume_moved(struct state *state, const struct job *job, int64_t now)
{
	struct buf names = { 0 };
	struct spec spec;

	if (!job->claims)
		return;
	spec_unpack(&spec, job->packed);
	volume_names(state, job->queue, spec.mount, &names);
	if (volume_wants_one_node(state, names.data, UINT64_MAX))
		changed(state, now);
	buf_free(&names);
}

void volumes_free(struct volume_table *volumes)
{
	struct volume_space *space;
	struct volume *v;
	size_t at = 0;

	while ((v = map_each(&volumes->claims, &at)))
		volume_free(v);
	map_free(&volumes->claims);
	at = 0;
	while ((space = map_each(&volumes->spaces, &at))) {
		free(space->blind);
		free(space);
	}
	map_free(&volumes->spaces);
}
