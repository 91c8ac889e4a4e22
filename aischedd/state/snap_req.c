/* snap_req.c - what jobs ask for, for the scheduler */
#include "aischedd/state/snap_req.h"

#include "aischedd/state/job.h"
#include "aischedd/state/license.h"
#include "aischedd/state/node.h"
#include "aischedd/state/row.h"
#include "aischedd/state/snap_build.h"
#include "aischedd/state/snapshot.h"

#include <string.h>

#include "libcommon/constraint.h"
#include "libcommon/hostlist.h"

/* One request; its lists begin where these counts stood. */
struct req_row {
	const struct row_key *key;
	uint32_t gpu_type;
	uint32_t rule, want, avoid, license;
};

static void push_hosts(struct build *b, struct arena_list *v, const char *text)
{
	struct hostlist list;

	if (!*text || hostlist_parse(&list, text, NULL) < 0)
		return;
	for (size_t i = 0; i < list.n; i++) {
		int node = state_node_find(b->state, list.name[i]);

		if (node >= 0)
			*(uint32_t *)snapshot_push(b, v, sizeof(uint32_t)) =
			    (uint32_t)node;
	}
	hostlist_free(&list);
}

static void push_rule(struct build *b, const char *text)
{
	int32_t rule[256];
	size_t n = 0;

	if (!*text || constraint_parse(text, snapshot_word, b, rule,
	                               ARRAY_SIZE(rule), &n, NULL) < 0)
		return;
	for (size_t i = 0; i < n; i++)
		*(int32_t *)snapshot_push(b, &b->rules, sizeof(int32_t)) =
		    rule[i];
}

static void push_licenses(struct build *b, const char *text)
{
	struct snap_license_use use[MAX_LICENSES];
	size_t n;

	if (licenses_parse(b->state->conf, text, use, &n, NULL) < 0)
		return;
	for (size_t i = 0; i < n; i++)
		*(struct snap_license_use *)snapshot_push(
		    b, &b->uses, sizeof(*use)) = use[i];
}

/* The number of the request in this key, which stays where it is until the
 * snapshot is built; equal ones share one. */
uint32_t snapshot_req(struct build *b, const char *key, uint64_t hash)
{
	void **known = map_at(&b->req_of, hash);
	struct req_row *req;

	if (*known)
		return (uint32_t)(uintptr_t)*known - 1;
	*known = (void *)(uintptr_t)(b->reqs.n + 1);
	req = arena_push(b->scratch, &b->reqs, sizeof(*req));
	*req = (struct req_row){
		.key = (const struct row_key *)(const void *)key,
		.gpu_type =
		    snapshot_word_or_none(b, row_text(key, KEY_GPU_TYPE)),
		.rule = (uint32_t)b->rules.n,
		.want = (uint32_t)b->wants.n,
		.avoid = (uint32_t)b->avoids.n,
		.license = (uint32_t)b->uses.n,
	};
	push_rule(b, row_text(key, KEY_RULE));
	push_hosts(b, &b->wants, row_text(key, KEY_WANT));
	push_hosts(b, &b->avoids, row_text(key, KEY_AVOID));
	push_licenses(b, row_text(key, KEY_LICENSES));
	return (uint32_t)b->reqs.n - 1;
}

uint32_t snapshot_req_of_placed(struct build *b, struct job *job)
{
	const struct placed_key *key = placed_key(b->state, job);

	return snapshot_req(b, key->text, key->req_hash);
}

/* Of a job that is in no row. */
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

static uint32_t reservation_of(const struct snap *snap, const char *name)
{
	for (uint32_t i = 0; *name && i < snap->resv.n; i++)
		if (!strcmp(snap->resv.name[i], name))
			return i;
	return SNAP_NONE;
}

void snapshot_reqs(struct build *b)
{
	const struct req_row *r = b->reqs.p;
	size_t n = b->reqs.n;
	uint32_t *tasks = COLUMN(uint32_t, n), *min = COLUMN(uint32_t, n);
	uint32_t *nodes = COLUMN(uint32_t, n), *per = COLUMN(uint32_t, n);
	int64_t *cpus = COLUMN(int64_t, n), *mem = COLUMN(int64_t, n);
	int64_t *gpus = COLUMN(int64_t, n), *limit = COLUMN(int64_t, n);
	uint32_t *type = COLUMN(uint32_t, n), *rule = COLUMN(uint32_t, n);
	uint32_t *want = COLUMN(uint32_t, n), *avoid = COLUMN(uint32_t, n);
	uint32_t *license = COLUMN(uint32_t, n);
	uint64_t *pools = COLUMN(uint64_t, n);
	uint8_t *exclusive = COLUMN(uint8_t, n), *one = COLUMN(uint8_t, n);
	uint8_t *need = COLUMN(uint8_t, n), *like = COLUMN(uint8_t, n);
	uint8_t *numa = COLUMN(uint8_t, n);
	uint32_t *reservation = COLUMN(uint32_t, n);

	for (size_t i = 0; i < n; i++) {
		const struct row_key *key = r[i].key;

		tasks[i] = key->tasks;
		min[i] = key->min_tasks;
		nodes[i] = key->nodes;
		per[i] = key->tasks_per_node;
		cpus[i] = key->cpus;
		mem[i] = key->mem;
		gpus[i] = key->gpus;
		limit[i] = key->time_limit;
		pools[i] = key->pools;
		exclusive[i] = key->exclusive;
		one[i] = key->one_process;
		need[i] = key->need;
		like[i] = key->like;
		numa[i] = key->numa;
		reservation[i] = reservation_of(
		    b->snap, row_text((const char *)key, KEY_RESERVATION));
		type[i] = r[i].gpu_type;
		rule[i] = r[i].rule;
		want[i] = r[i].want;
		avoid[i] = r[i].avoid;
		license[i] = r[i].license;
	}
	rule[n] = (uint32_t)b->rules.n;
	want[n] = (uint32_t)b->wants.n;
	avoid[n] = (uint32_t)b->avoids.n;
	license[n] = (uint32_t)b->uses.n;
	b->snap->req = (struct snap_reqs){
		.n = (uint32_t)n,
		.tasks = tasks,
		.min_tasks = min,
		.nodes = nodes,
		.tasks_per_node = per,
		.cpus = cpus,
		.mem = mem,
		.gpus = gpus,
		.gpu_type = type,
		.pools = pools,
		.exclusive = exclusive,
		.one_process = one,
		.time_limit = limit,
		.rule_first = rule,
		.want_first = want,
		.avoid_first = avoid,
		.license_first = license,
		.need = need,
		.like = like,
		.numa = numa,
		.reservation = reservation,
	};
	b->snap->rule = b->rules.p;
	b->snap->want = b->wants.p;
	b->snap->avoid = b->avoids.p;
	b->snap->license_use = b->uses.p;
}
