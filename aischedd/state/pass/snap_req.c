/* snap_req.c - copy the requests of jobs into a snapshot */
#include "aischedd/state/pass/snap_req.h"

#include <string.h>

#include "aischedd/state/cluster/license.h"
#include "aischedd/state/cluster/node.h"
#include "aischedd/state/job.h"
#include "aischedd/state/pass/row.h"
#include "aischedd/state/pass/shun.h"
#include "aischedd/state/pass/snap_build.h"
#include "aischedd/state/pass/snapshot.h"
#include "libcommon/constraint.h"
#include "libcommon/hostlist.h"

/* One request. rule, prefer, want, avoid, shun, beside and license say where
 * the request's slices begin in the lists rules, prefers, wants, avoids, shuns,
 * besides and uses of struct build. list_shunned() sets shun, refused and
 * refusal. */
struct req_row {
	const struct row_key *key;
	const struct shun *shuns; /* NULL: it shuns no node */
	uint32_t gpu_type, reservation;
	uint8_t profile;
	uint32_t rule, prefer, want, avoid, shun, beside, license;
	int64_t refused;
	/* the first of its refusals: index in build.refusals, plus one; or 0 */
	uint32_t refusal;
};

/* X(type, column of struct snap_reqs, its value for a struct req_row *r) */
#define REQ_COLUMNS(X)                                      \
	X(uint32_t, tasks, r->key->tasks)                   \
	X(uint32_t, min_tasks, r->key->min_tasks)           \
	X(uint32_t, nodes, r->key->nodes)                   \
	X(uint32_t, tasks_per_node, r->key->tasks_per_node) \
	X(int64_t, cpus, r->key->cpus)                      \
	X(int64_t, mem, r->key->mem)                        \
	X(int64_t, tmp, r->key->tmp)                        \
	X(struct device_counts, devs, r->key->devs)         \
	X(int64_t, gpus, r->key->gpus)                      \
	X(uint32_t, gpu_type, r->gpu_type)                  \
	X(uint8_t, profile, r->profile)                     \
	X(int64_t, gpu_mem, r->key->gpu_mem)                \
	X(uint64_t, pools, r->key->pools)                   \
	X(uint8_t, exclusive, r->key->exclusive)            \
	X(uint8_t, one_process, r->key->one_process)        \
	X(int64_t, time_limit, r->key->time_limit)          \
	X(uint32_t, rule_first, r->rule)                    \
	X(uint32_t, prefer_first, r->prefer)                \
	X(uint32_t, want_first, r->want)                    \
	X(uint32_t, avoid_first, r->avoid)                  \
	X(uint32_t, shun_first, r->shun)                    \
	X(uint32_t, beside_first, r->beside)                \
	X(uint32_t, license_first, r->license)              \
	X(uint8_t, need, r->key->need)                      \
	X(uint8_t, like, r->key->like)                      \
	X(uint32_t, segment, r->key->segment)               \
	X(uint8_t, spread, r->key->spread)                  \
	X(uint8_t, spread_like, r->key->spread_like)        \
	X(uint8_t, numa, r->key->numa)                      \
	X(uint8_t, links, r->key->links)                    \
	X(uint8_t, pcie, r->key->pcie)                      \
	X(uint8_t, near, r->key->near)                      \
	X(uint32_t, reservation, r->reservation)            \
	X(int64_t, refused, r->refused)

static const char *name_in(const char *text)
{
	const char *slash = strchr(text, '/');

	return slash ? slash + 1 : text;
}

static uint64_t name_key(const char *name)
{
	return hash_bytes(0, name, strlen(name));
}

/* Index the nodes of the snapshot by name, because on another thread the
 * state may not be read. Nodes of several pools that have the same name
 * are chained. */
static void index_hosts(struct build *b)
{
	const struct snap_nodes *node = &b->snap->node;

	b->namesake = arena_array(b->scratch, uint32_t, (size_t)node->n + 1);
	for (uint32_t i = 0; i < node->n; i++) {
		void **at =
		    map_at(&b->host_of, name_key(name_in(node->name[i])));

		b->namesake[i] = (uint32_t)(uintptr_t)*at;
		*at = (void *)(uintptr_t)(i + 1);
	}
}

/* Whether a text "NAME" or "POOL/NAME" names this node. */
static bool is_meant(const struct snap *snap, uint32_t node, const char *text)
{
	const char *name = name_in(snap->node.name[node]);
	const char *pool = snap->pool.name[snap->node.pool[node]];
	size_t len = (size_t)(name_in(text) - text);

	return !strcmp(name, text + len) &&
	       (!len ||
	        (strlen(pool) == len - 1 && !memcmp(pool, text, len - 1)));
}

static void push_host(struct build *b, struct arena_list *v, uint32_t node)
{
	*(uint32_t *)snapshot_push(b, v, sizeof(node)) = node;
}

/* Append the nodes of a list to v, looked up in the snapshot instead of
 * the state. */
static void push_hosts_taken(struct build *b, struct arena_list *v,
                             const struct hostlist *list)
{
	if (!b->namesake)
		index_hosts(b);
	for (size_t i = 0; i < list->n; i++) {
		const char *text = list->name[i];
		uintptr_t next =
		    (uintptr_t)map_find(&b->host_of, name_key(name_in(text)));

		for (; next; next = b->namesake[next - 1])
			if (is_meant(b->snap, (uint32_t)next - 1, text))
				push_host(b, v, (uint32_t)next - 1);
	}
}

static void push_hosts(struct build *b, struct arena_list *v, const char *text)
{
	struct hostlist list;

	if (!*text || hostlist_parse(&list, text, NULL) < 0)
		return;
	if (!b->state)
		push_hosts_taken(b, v, &list);
	for (size_t i = 0; b->state && i < list.n; i++)
		for (int node = state_node_find(b->state, list.name[i]);
		     node >= 0;
		     node = state_node_next(b->state, list.name[i], node))
			push_host(b, v, (uint32_t)node);
	hostlist_free(&list);
}

/* Exclude the nodes on which the named volume claims cannot be mounted. If that
 * would exclude all nodes, exclude none: a job with such claims is in no row,
 * and state_check_fit() asks whether the job would fit without its claims. */
static void push_unreached(struct build *b, const char *claims, uint64_t pools)
{
	const struct state *state = b->state;
	size_t before = b->avoids.n;
	bool any = false;

	if (!*claims)
		return;
	for (uint32_t i = 0; i < state->nodes.n; i++) {
		if (!(pools >> state->nodes.node[i].pool & 1))
			continue;
		if (volume_reaches(state, claims, i, b->nheld > 0))
			any = true;
		else
			*(uint32_t *)snapshot_push(b, &b->avoids,
			                           sizeof(uint32_t)) = i;
	}
	if (!any)
		b->avoids.n = before;
}

static void push_beside(uint64_t job, void *arg)
{
	struct build *b = arg;

	*(uint64_t *)snapshot_push(b, &b->besides, sizeof(uint64_t)) = job;
}

/* Note which nodes jobs with this text in their keys shun. */
static const struct shun *shun_of(struct build *b, const char *text)
{
	struct shun *shun = arena_array(b->scratch, struct shun, 1);

	if (!b->domains)
		b->domains = shun_domains_new(b->snap->node.n, b->scratch);
	affinity_shun(b->state, text, b->domains, b->scratch, shun);
	return shun;
}

void snapshot_take_refusals(struct build *b)
{
	const struct refusal_list *list = &b->state->refusals;

	for (uint32_t i = 0; i < list->n; i++)
		if (list->it[i].retry_at > b->snap->now)
			*(struct build_refusal *)arena_push(
			    b->scratch, &b->refusals,
			    sizeof(struct build_refusal)) =
			    (struct build_refusal){ .it = list->it[i] };
}

/* Link the refusals of each request. */
static void link_refusals(struct build *b)
{
	struct build_refusal *refusal = b->refusals.p;
	struct req_row *r = b->reqs.p;

	for (uint32_t i = 0; i < b->refusals.n; i++) {
		uintptr_t req =
		    (uintptr_t)map_find(&b->req_of, refusal[i].it.req_hash);

		if (!req)
			continue;
		refusal[i].next = r[req - 1].refusal;
		r[req - 1].refusal = i + 1;
	}
}

static void list_refused(struct build *b, struct req_row *r)
{
	const struct build_refusal *refusal = b->refusals.p;

	for (uint32_t i = r->refusal; i; i = refusal[i - 1].next) {
		const struct refusal *it = &refusal[i - 1].it;

		*(uint32_t *)snapshot_push(b, &b->shuns, sizeof(uint32_t)) =
		    it->node;
		if (!r->refused || it->retry_at < r->refused)
			r->refused = it->retry_at;
	}
}

/* List the nodes that the requests shun. */
static void list_shunned(struct build *b)
{
	struct req_row *r = b->reqs.p;

	link_refusals(b);
	for (size_t i = 0; i < b->reqs.n; i++) {
		r[i].shun = (uint32_t)b->shuns.n;
		if (r[i].shuns)
			shun_list(b->domains, r[i].shuns, b->arena, &b->shuns);
		list_refused(b, &r[i]);
	}
}

/* Append the constraint in the text to the snapshot's rules; wishes: append the
 * list of preferred constraints in the text to the snapshot's preferences. */
static void push_rule(struct build *b, const char *text, bool wishes)
{
	int32_t rule[CONSTRAINT_MAX_ITEMS];
	size_t n = 0;

	if (!*text ||
	    (wishes ? constraint_parse_list : constraint_parse)(
		text, snapshot_word, b, rule, ARRAY_SIZE(rule), &n, NULL) < 0)
		return;
	for (size_t i = 0; i < n; i++)
		*(int32_t *)snapshot_push(b, wishes ? &b->prefers : &b->rules,
		                          sizeof(int32_t)) = rule[i];
}

static void push_licenses(struct build *b, const char *text)
{
	struct snap_license_use use[MAX_LICENSES];
	const struct snap_licenses *license = &b->snap->license;
	size_t n;

	if (!*text ||
	    (b->state ? licenses_parse(b->state->conf, text, use, &n, NULL)
	              : licenses_parse_named(license->name, license->n, text,
	                                     use, &n, NULL)) < 0)
		return;
	for (size_t i = 0; i < n; i++)
		*(struct snap_license_use *)snapshot_push(
		    b, &b->uses, sizeof(*use)) = use[i];
}

static uint32_t reservation_of(const struct snap *snap, const char *name)
{
	for (uint32_t i = 0; *name && i < snap->resv.n; i++)
		if (!strcmp(snap->resv.name[i], name))
			return i;
	return SNAP_NONE;
}

/* Append a request whose slices begin at the present ends of the lists. */
static struct req_row *push_row(struct build *b, const struct row_key *key)
{
	struct req_row *r = arena_push(b->scratch, &b->reqs, sizeof(*r));

	*r = (struct req_row){
		.key = key,
		.rule = (uint32_t)b->rules.n,
		.prefer = (uint32_t)b->prefers.n,
		.want = (uint32_t)b->wants.n,
		.avoid = (uint32_t)b->avoids.n,
		.beside = (uint32_t)b->besides.n,
		.license = (uint32_t)b->uses.n,
	};
	return r;
}

/* Returns the MIG profile that a GPU type names, or 0. In requests that an
 * earlier version wrote, the same word may be a type of whole GPUs: it is a
 * profile only if `gpus` is the profile's fraction of a GPU. */
static uint8_t profile_of(const char *type, int64_t gpus)
{
	uint8_t profile = mig_find(type);

	return profile && gpus == mig_milli(profile) ? profile : 0;
}

/* Whether all texts of the key are empty, as they are for most jobs. */
static bool is_plain(const char *key)
{
	static const char none[KEY_TEXTS];

	return !memcmp(key + sizeof(struct row_key), none, sizeof(none));
}

/* Append the request of a key, which must stay as it is until the snapshot is
 * finished. */
static void add_req(struct build *b, const char *key)
{
	const char *text[KEY_TEXTS];
	struct req_row *r =
	    push_row(b, (const struct row_key *)(const void *)key);

	r->gpu_type = r->reservation = SNAP_NONE;
	if (is_plain(key))
		return;
	row_key_texts(key, text);
	r->profile = profile_of(text[KEY_GPU_TYPE], r->key->gpus);
	r->gpu_type = r->profile ? SNAP_NONE
	                         : snapshot_word_or_none(b, text[KEY_GPU_TYPE]);
	r->reservation = reservation_of(b->snap, text[KEY_RESERVATION]);
	push_rule(b, text[KEY_RULE], false);
	push_rule(b, text[KEY_PREFER], true);
	push_hosts(b, &b->wants, text[KEY_WANT]);
	push_hosts(b, &b->avoids, text[KEY_AVOID]);
	push_unreached(b, text[KEY_CLAIMS], r->key->pools);
	if (*text[KEY_AFFINITY]) {
		r->shuns = shun_of(b, text[KEY_AFFINITY]);
		affinity_beside(b->state, text[KEY_AFFINITY], push_beside, b);
	}
	push_licenses(b, text[KEY_LICENSES]);
}

uint32_t snapshot_req(struct build *b, const char *key, uint64_t hash)
{
	void **known = map_at(&b->req_of, hash);

	if (!*known) {
		add_req(b, key);
		*known = (void *)(uintptr_t)b->reqs.n;
	}
	return (uint32_t)(uintptr_t)*known - 1;
}

void snapshot_expect_reqs(struct build *b, size_t n)
{
	map_reserve(&b->req_of, n);
	b->reqs = (struct arena_list){
		.p = arena_array_raw(b->scratch, struct req_row, n + 1),
		.cap = n + 1,
	};
}

uint32_t snapshot_req_of_other(struct build *b, const struct job *job)
{
	struct buf key = { 0 };
	uint64_t hash;
	char *copy;

	row_key_build(b->state, job, &key);
	hash = row_req_hash(key.data, key.len);
	copy = arena_alloc(b->scratch, key.len, 1);
	memcpy(copy, key.data, key.len);
	buf_free(&key);
	return snapshot_req(b, copy, hash);
}

void snapshot_reqs(struct build *b)
{
	static const struct row_key none;
	size_t n = b->reqs.n;
	const struct req_row *r;
	struct {
#define X(type, name, value) type *name;
		REQ_COLUMNS(X)
#undef X
	} to;

#define X(type, name, value) to.name = arena_array_raw(b->arena, type, n + 1);
	REQ_COLUMNS(X)
#undef X
	push_row(b, &none); /* marks the end of the last request's slices */
	list_shunned(b);
	r = b->reqs.p;
	for (size_t i = 0; i <= n; i++, r++) {
#define X(type, name, value) to.name[i] = value;
		REQ_COLUMNS(X)
#undef X
	}
	b->snap->req = (struct snap_reqs){ .n = (uint32_t)n,
#define X(type, name, value) .name = to.name,
		                           REQ_COLUMNS(X)
#undef X
	};
	b->snap->rule = b->rules.p;
	b->snap->prefer = b->prefers.p;
	b->snap->want = b->wants.p;
	b->snap->avoid = b->avoids.p;
	b->snap->shun = b->shuns.p;
	b->snap->beside = b->besides.p;
	b->snap->license_use = b->uses.p;
}
