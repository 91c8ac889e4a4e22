/* snap.c - check once that a snapshot is consistent, so that the core can rely
 * on it */
#include "aischedd/sched/snap.h"

#include <stdbool.h>

#include "libcommon/constraint.h"
#include "libcommon/limits.h"

enum { MAX_RULE = 1024 }; /* the most words and operators of one rule */

/* Amounts and times below these bounds do not overflow when they are added up
 * over all nodes, or multiplied by the number of tasks of a job. */
#define AMOUNT_MAX ((int64_t)1 << 40)
#define TIME_MAX   ((int64_t)1 << 53)

static bool amount_ok(int64_t v)
{
	return v >= 0 && v < AMOUNT_MAX;
}

static bool free_ok(int64_t nfree, int64_t total)
{
	return amount_ok(total) && nfree <= total && nfree > -AMOUNT_MAX;
}

static bool time_ok(int64_t t)
{
	return t >= SNAP_NEVER && t < TIME_MAX;
}

static bool index_ok(uint32_t i, uint32_t n)
{
	return i < n || i == SNAP_NONE;
}

static int bad(struct err *err, const char *what, uint32_t i, const char *why)
{
	return err_set(err, EINVAL, "snapshot: %s %u: %s", what, (unsigned)i,
	               why);
}

/* Check that n slices of an array follow each other from index 0 and that each
 * is at most max long. */
static int check_slices(const char *what, const uint32_t *first, uint32_t n,
                        uint32_t max, struct err *err)
{
	if (n && (!first || first[0] != 0))
		return bad(err, what, 0, "slices do not begin at 0");
	for (uint32_t i = 0; i < n; i++) {
		if (first[i] > first[i + 1] || first[i + 1] - first[i] > max)
			return bad(err, what, i, "slice out of range");
	}
	return 0;
}

static int check_words(const struct snap *s, const char *what, uint32_t owner,
                       const uint32_t *word, uint32_t from, uint32_t to,
                       struct err *err)
{
	for (uint32_t i = from; i < to; i++) {
		if (word[i] >= s->nwords)
			return bad(err, what, owner, "unknown word");
	}
	return 0;
}

static int check_parents(const char *what, const uint32_t *parent, uint32_t n,
                         struct err *err)
{
	for (uint32_t i = 0; i < n; i++) {
		if (parent[i] != SNAP_NONE && parent[i] >= i)
			return bad(err, what, i, "stands before its parent");
	}
	return 0;
}

static int check_domains(const struct snap *s, struct err *err)
{
	const struct snap_domains *d = &s->domain;

	if (s->nlevels > LEVEL_NODE)
		return bad(err, "level", LEVEL_NODE, "too many levels");
	if (check_parents("domain", d->parent, d->n, err) < 0)
		return -1;
	for (uint32_t i = 0; i < d->n; i++) {
		if (d->level[i] >= s->nlevels ||
		    (d->parent[i] != SNAP_NONE &&
		     d->level[d->parent[i]] >= d->level[i]))
			return bad(err, "domain", i, "level out of range");
	}
	return 0;
}

static bool level_ok(const struct snap *s, uint8_t level)
{
	return level < s->nlevels || level == LEVEL_NONE;
}

/* Check the number of a GPU of a node with partitions of this model. */
static bool parts_ok(uint64_t parts, uint8_t model)
{
	uint64_t marks = MIG_NO_WHOLE | MIG_NO_PARTS, again = 0;
	uint8_t held = mig_parts_held(parts);

	if (!mig_parts_fixed(parts))
		return held >> mig_units(model) == 0 &&
		       mig_parts_hold(parts & marks, held) == parts;
	for (uint32_t i = 0; i < MIG_UNITS; i++) {
		uint8_t profile = mig_parts_at(parts, i);

		if (profile >= mig_nprofiles() ||
		    (profile && !mig_parts_add(&again, profile, i)))
			return false;
	}
	return true;
}

static int check_devices(const struct snap *s, uint32_t node, struct err *err)
{
	const struct snap_nodes *n = &s->node;
	uint32_t with_mem = snap_node_nnumas(s, node);
	uint32_t nnumas = with_mem ? with_mem : SNAP_NUMAS;

	for (uint32_t i = n->gpu_first[node]; i < n->gpu_first[node + 1]; i++) {
		if (s->gpu.free[i] > 1000)
			return bad(err, "node", node, "more than a GPU free");
		if (!index_ok(s->gpu.type[i], s->nwords))
			return bad(err, "node", node, "unknown GPU type");
		if (s->gpu.numa[i] >= nnumas)
			return bad(err, "node", node, "unknown NUMA node");
		if (s->gpu.parts && !parts_ok(s->gpu.parts[i], n->mig[node]))
			return bad(err, "node", node,
			           "overlapping or impossible partitions");
	}
	for (uint32_t i = 0; i < snap_node_npieces(s, node); i++) {
		uint32_t piece = n->piece_first[node] + i;

		if (s->piece.kind[piece] >= s->dev.n)
			return bad(err, "node", node, "unknown kind of device");
		if (s->piece.numa[piece] >= nnumas &&
		    s->piece.numa[piece] != PIECE_NOWHERE)
			return bad(err, "node", node, "unknown NUMA node");
	}
	for (uint32_t i = n->cpu_first[node]; i < n->cpu_first[node + 1]; i++) {
		if (s->cpu.free[i] > 1000)
			return bad(
			    err, "node", node,
			    "one CPU has more than 1000 thousandths free");
		if (s->cpu.numa[i] >= nnumas)
			return bad(err, "node", node, "unknown NUMA node");
	}
	for (uint32_t i = n->numa_first[node]; i < n->numa_first[node + 1];
	     i++) {
		if (!amount_ok(s->numa_mem[i]))
			return bad(err, "node", node, "memory out of range");
	}
	return 0;
}

/* Whether these numbers are in range, and 0 for kinds that there are not. */
static bool devs_ok(const struct snap *s, const struct device_counts *c,
                    int least)
{
	for (uint32_t i = 0; i < DEVICE_KINDS; i++) {
		if (c->n[i] < (i < s->dev.n ? least : 0) ||
		    c->n[i] > (i < s->dev.n ? DEVICE_MAX : 0))
			return false;
	}
	return true;
}

static bool node_devs_ok(const struct snap *s, uint32_t node)
{
	const struct device_counts *total = &s->node.dev_total[node];
	const struct device_counts *left = &s->node.dev_free[node];
	bool ok = devs_ok(s, total, 0) && devs_ok(s, left, INT16_MIN);

	for (uint32_t i = 0; i < s->dev.n; i++)
		ok &= left->n[i] <= total->n[i];
	return ok;
}

static int check_node(const struct snap *s, uint32_t i, struct err *err)
{
	const struct snap_nodes *n = &s->node;

	if (n->pool[i] >= s->pool.n)
		return bad(err, "node", i, "unknown pool");
	if (n->state[i] > NODE_DOWN)
		return bad(err, "node", i, "unknown state");
	if (!free_ok(n->cpu_free[i], n->cpu_total[i]))
		return bad(err, "node", i, "CPUs out of range");
	if (!free_ok(n->mem_free[i], n->mem_total[i]))
		return bad(err, "node", i, "memory out of range");
	if (!free_ok(n->tmp_free[i], n->tmp_total[i]))
		return bad(err, "node", i, "disk out of range");
	if (!free_ok(n->slot_free[i], n->slot_total[i]))
		return bad(err, "node", i, "slots out of range");
	if (!node_devs_ok(s, i))
		return bad(err, "node", i, "devices out of range");
	if (!index_ok(n->domain[i], s->domain.n))
		return bad(err, "node", i, "unknown domain");
	if (n->weight[i] < 0)
		return bad(err, "node", i, "weight out of range");
	if (!amount_ok(n->gpu_mem[i]))
		return bad(err, "node", i, "gpu_mem out of range");
	if (!time_ok(n->retry_at[i]))
		return bad(err, "node", i, "retry_at out of range");
	if (n->coming[i] > NODE_ASKED)
		return bad(err, "node", i, "coming out of range");
	if (n->coming[i] != NODE_HERE && n->retry_at[i] <= s->now)
		return bad(err, "node", i, "it is coming but not late");
	if (check_devices(s, i, err) < 0 ||
	    check_words(s, "node", i, s->feature, n->feature_first[i],
	                n->feature_first[i + 1], err) < 0)
		return -1;
	return check_words(s, "node", i, s->taint, n->taint_first[i],
	                   n->taint_first[i + 1], err);
}

static int check_nodes(const struct snap *s, struct err *err)
{
	const struct snap_nodes *n = &s->node;

	if (s->pool.n > LIMIT_POOLS)
		return bad(err, "pool", s->pool.n, "too many pools");
	if (s->dev.n > DEVICE_KINDS)
		return bad(err, "device", s->dev.n, "too many kinds");
	for (uint32_t i = 0; i < s->pool.n; i++) {
		if (s->pool.order[i] >= NODE_NORDERS)
			return bad(err, "pool", i, "unknown order");
	}
	if (check_slices("GPUs of node", n->gpu_first, n->n, LIMIT_GPUS, err) ||
	    check_slices("CPUs of node", n->cpu_first, n->n, LIMIT_CPUS, err) ||
	    (s->piece.n && check_slices("devices of node", n->piece_first, n->n,
	                                LIMIT_DEVICES, err)) ||
	    check_slices("NUMA nodes of node", n->numa_first, n->n, SNAP_NUMAS,
	                 err) ||
	    check_slices("features of node", n->feature_first, n->n, UINT32_MAX,
	                 err) ||
	    check_slices("taints of node", n->taint_first, n->n, UINT32_MAX,
	                 err))
		return -1;
	if (n->n &&
	    (n->gpu_first[n->n] != s->gpu.n || n->cpu_first[n->n] != s->cpu.n))
		return bad(err, "node", n->n - 1, "devices left over");
	for (uint32_t i = 0; i < n->n; i++) {
		if (check_node(s, i, err) < 0)
			return -1;
	}
	return check_domains(s, err);
}

/* Check the part of a postfix rule that ends before *end, and set *end to its
 * start. top: a count is allowed here. */
static bool part_ok(const struct snap *s, const int32_t *rule, uint32_t from,
                    uint32_t *end, bool top)
{
	int32_t item;

	if (*end == from)
		return false;
	item = rule[--*end];
	if (item >= 0)
		return (uint32_t)item < s->nwords;
	if (rule_count(item))
		return top && part_ok(s, rule, from, end, false);
	if (item == RULE_NOT)
		return *end > from && rule[*end - 1] >= 0 &&
		       part_ok(s, rule, from, end, false);
	top &= item == RULE_AND;
	return part_ok(s, rule, from, end, top) &&
	       part_ok(s, rule, from, end, top);
}

static bool rule_ok(const struct snap *s, uint32_t from, uint32_t to)
{
	uint32_t end = to, ncounts = 0;

	for (uint32_t i = from; i < to; i++)
		ncounts += rule_count(s->rule[i]) > 0;
	return from == to ||
	       (to - from <= MAX_RULE && ncounts <= CONSTRAINT_MAX_COUNTS &&
	        part_ok(s, s->rule, from, &end, true) && end == from);
}

static bool prefer_ok(const struct snap *s, uint32_t from, uint32_t to)
{
	int n = 0;

	for (uint32_t end = to; end > from; n++) {
		if (n == CONSTRAINT_MAX_LIST ||
		    !part_ok(s, s->prefer, from, &end, false))
			return false;
	}
	return to - from <= MAX_RULE;
}

static bool nodes_ok(const struct snap *s, const uint32_t *node, uint32_t from,
                     uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		if (node[i] >= s->node.n)
			return false;
	}
	return true;
}

static int check_reservations(const struct snap *s, struct err *err)
{
	const struct snap_reservations *r = &s->resv;

	if (check_slices("nodes of reservation", r->node_first, r->n,
	                 UINT32_MAX, err) < 0 ||
	    check_slices("users of reservation", r->user_first, r->n,
	                 UINT32_MAX, err) < 0)
		return -1;
	for (uint32_t i = 0; i < r->n; i++) {
		if (!time_ok(r->start[i]) || !time_ok(r->end[i]) ||
		    r->start[i] < 0 || r->end[i] <= r->start[i])
			return bad(err, "reservation", i, "time out of range");
		if (!nodes_ok(s, s->resv_node, r->node_first[i],
		              r->node_first[i + 1]))
			return bad(err, "reservation", i, "unknown node");
		for (uint32_t k = r->user_first[i]; k < r->user_first[i + 1];
		     k++) {
			if (s->resv_user[k] >= s->user.n)
				return bad(err, "reservation", i,
				           "unknown user");
		}
	}
	return 0;
}

static bool counts_nodes(const struct snap *s, uint32_t req)
{
	bool counts = false;

	for (uint32_t k = s->req.rule_first[req];
	     k < s->req.rule_first[req + 1]; k++)
		counts |= rule_count(s->rule[k]) > 0;
	return counts;
}

/* Whether the segments of a request have the same size and, if it asks for a
 * number of nodes, consist of whole nodes. */
static bool segment_ok(const struct snap *s, uint32_t i)
{
	const struct snap_reqs *r = &s->req;
	uint64_t each = r->tasks_per_node[i], nodes = r->nodes[i];
	uint32_t segment = r->segment[i];

	if (!segment)
		return true;
	return r->need[i] != LEVEL_NONE && r->like[i] == LEVEL_NONE &&
	       r->min_tasks[i] == r->tasks[i] && segment < r->tasks[i] &&
	       r->tasks[i] % segment == 0 && !counts_nodes(s, i) &&
	       (!nodes ||
	        (each && nodes * each == r->tasks[i] && segment % each == 0));
}

static bool spread_level_ok(const struct snap *s, uint32_t i, uint8_t level)
{
	return level_ok(s, level) || (level == LEVEL_NODE && !s->req.nodes[i]);
}

/* Whether the parts of a job that is spread all have the same size, and no
 * other option says in which domains they are placed. */
static bool spread_ok(const struct snap *s, uint32_t i)
{
	const struct snap_reqs *r = &s->req;
	uint64_t each = r->tasks_per_node[i], nodes = r->nodes[i];

	if (!spread_level_ok(s, i, r->spread[i]) ||
	    !spread_level_ok(s, i, r->spread_like[i]))
		return false;
	return !snap_is_spread(s, i) ||
	       (r->need[i] == LEVEL_NONE && r->like[i] == LEVEL_NONE &&
	        r->min_tasks[i] == r->tasks[i] && !r->segment[i] &&
	        !counts_nodes(s, i) &&
	        (!nodes || (each && nodes * each == r->tasks[i])));
}

/* Whether the places of devices are about kinds that the request asks for, and
 * those beside GPUs belong to tasks with GPUs. */
static bool places_ok(const struct snap *s, uint32_t req)
{
	const struct snap_reqs *r = &s->req;
	unsigned kinds = r->pcie[req] | r->near[req];

	for (; kinds; kinds &= kinds - 1) {
		if (!r->devs[req].n[__builtin_ctz(kinds)])
			return false;
	}
	return !(r->pcie[req] & r->near[req]) &&
	       (!r->pcie[req] || r->gpus[req]);
}

static int check_req(const struct snap *s, uint32_t i, struct err *err)
{
	const struct snap_reqs *r = &s->req;

	if (!r->tasks[i] || r->tasks[i] > LIMIT_TASKS)
		return bad(err, "request", i, "tasks out of range");
	if (!r->min_tasks[i] || r->min_tasks[i] > r->tasks[i])
		return bad(err, "request", i, "min_tasks out of range");
	if (r->nodes[i] > r->tasks[i])
		return bad(err, "request", i, "more nodes than tasks");
	if (!amount_ok(r->cpus[i]) || !amount_ok(r->mem[i]) ||
	    !amount_ok(r->gpus[i]) || !amount_ok(r->tmp[i]))
		return bad(err, "request", i, "amount out of range");
	if (!devs_ok(s, &r->devs[i], 0))
		return bad(err, "request", i, "devices out of range");
	if (!places_ok(s, i))
		return bad(err, "request", i, "places of devices it has not");
	if (!index_ok(r->gpu_type[i], s->nwords))
		return bad(err, "request", i, "unknown GPU type");
	if (!time_ok(r->time_limit[i]))
		return bad(err, "request", i, "time limit out of range");
	if (!level_ok(s, r->need[i]) || !level_ok(s, r->like[i]))
		return bad(err, "request", i, "unknown level");
	if (r->profile[i] && (r->profile[i] >= mig_nprofiles() ||
	                      r->gpus[i] != mig_milli(r->profile[i]) ||
	                      r->gpu_type[i] != SNAP_NONE))
		return bad(err, "request", i,
		           "not the part of a GPU that its profile is");
	if (!amount_ok(r->gpu_mem[i]) ||
	    (r->gpu_mem[i] && (!r->gpus[i] || r->profile[i])))
		return bad(err, "request", i, "no GPUs with that memory");
	if (r->numa[i] > NUMA_TIGHT || r->links[i] > LINKS_STRICT)
		return bad(err, "request", i, "unknown alignment");
	if (!time_ok(r->refused[i]) ||
	    (r->refused[i] && r->shun_first[i] == r->shun_first[i + 1]))
		return bad(err, "request", i, "refused by no node");
	if (!index_ok(r->reservation[i], s->resv.n))
		return bad(err, "request", i, "unknown reservation");
	if (!rule_ok(s, r->rule_first[i], r->rule_first[i + 1]))
		return bad(err, "request", i, "rule is not well formed");
	if (!prefer_ok(s, r->prefer_first[i], r->prefer_first[i + 1]))
		return bad(err, "request", i, "wish is not well formed");
	if (!nodes_ok(s, s->want, r->want_first[i], r->want_first[i + 1]) ||
	    !nodes_ok(s, s->avoid, r->avoid_first[i], r->avoid_first[i + 1]) ||
	    !nodes_ok(s, s->shun, r->shun_first[i], r->shun_first[i + 1]))
		return bad(err, "request", i, "unknown node");
	for (uint32_t k = r->beside_first[i] + 1; k < r->beside_first[i + 1];
	     k++)
		if (s->beside[k - 1] >= s->beside[k])
			return bad(err, "request", i,
			           "jobs beside it do not ascend");
	if (!segment_ok(s, i))
		return bad(err, "request", i, "segments do not divide it");
	if (!spread_ok(s, i))
		return bad(err, "request", i, "cannot be spread");
	for (uint32_t k = r->license_first[i]; k < r->license_first[i + 1];
	     k++) {
		if (s->license_use[k].license >= s->license.n ||
		    !amount_ok(s->license_use[k].count))
			return bad(err, "request", i, "licence out of range");
	}
	return 0;
}

static int check_reqs(const struct snap *s, struct err *err)
{
	const struct snap_reqs *r = &s->req;

	if (check_slices("rule of request", r->rule_first, r->n, UINT32_MAX,
	                 err) ||
	    check_slices("wishes of request", r->prefer_first, r->n, UINT32_MAX,
	                 err) ||
	    check_slices("nodes of request", r->want_first, r->n, UINT32_MAX,
	                 err) ||
	    check_slices("exclusions of request", r->avoid_first, r->n,
	                 UINT32_MAX, err) ||
	    check_slices("shunned nodes of request", r->shun_first, r->n,
	                 UINT32_MAX, err) ||
	    check_slices("jobs beside request", r->beside_first, r->n,
	                 UINT32_MAX, err) ||
	    check_slices("licences of request", r->license_first, r->n,
	                 UINT32_MAX, err))
		return -1;
	for (uint32_t i = 0; i < r->n; i++) {
		if (check_req(s, i, err) < 0)
			return -1;
	}
	for (uint32_t i = 0; i < s->license.n; i++) {
		if (!free_ok(s->license.free[i], s->license.total[i]))
			return bad(err, "licence", i, "count out of range");
	}
	for (uint32_t i = 0; i < s->array.n; i++) {
		if (!s->array.limit[i])
			return bad(err, "array", i, "limit out of range");
	}
	return 0;
}

/* Check the slices of s->claim that belong to n jobs. The slices follow each
 * other without gaps from *end on; set *end to the end of the last one. The
 * slices of running jobs come first, then those of waiting jobs. */
static int check_claims(const struct snap *s, const char *what,
                        const uint32_t *first, uint32_t n, uint32_t *end,
                        struct err *err)
{
	if (!n)
		return 0;
	if (!first || first[0] != *end)
		return bad(err, what, 0, "claims do not begin where they must");
	for (uint32_t i = 0; i < n; i++) {
		if (first[i] > first[i + 1] ||
		    first[i + 1] - first[i] > LIMIT_TASKS)
			return bad(err, what, i, "claims out of range");
	}
	if (!nodes_ok(s, s->claim, first[0], first[n]))
		return bad(err, what, 0, "claims an unknown node");
	*end = first[n];
	return 0;
}

static int check_task(const struct snap *s, const struct snap_task *t,
                      uint32_t run, struct err *err)
{
	uint32_t ngpus, ncpus, nnumas;

	if (t->node >= s->node.n)
		return bad(err, "running job", run, "unknown node");
	ngpus = s->node.gpu_first[t->node + 1] - s->node.gpu_first[t->node];
	ncpus = s->node.cpu_first[t->node + 1] - s->node.cpu_first[t->node];
	if (t->gpu_milli > 1000 || (ngpus < 64 && t->gpus >> ngpus))
		return bad(err, "running job", run, "unknown GPU");
	if (t->units && (!t->gpus || t->gpus & (t->gpus - 1)))
		return bad(err, "running job", run,
		           "slices of no GPU, or of several");
	nnumas = snap_node_nnumas(s, t->node);
	if (nnumas < SNAP_NUMAS && t->numas >> nnumas)
		return bad(err, "running job", run, "unknown NUMA node");
	if (t[1].cpu_first < t->cpu_first)
		return bad(err, "running job", run, "CPUs out of range");
	for (uint32_t i = t->cpu_first; i < t[1].cpu_first; i++) {
		if (s->cpu_use[i].cpu >= ncpus || s->cpu_use[i].milli > 1000)
			return bad(err, "running job", run, "unknown CPU");
	}
	return 0;
}

static int check_run(const struct snap *s, struct err *err)
{
	const struct snap_run *r = &s->run;

	if (check_slices("tasks of running job", r->task_first, r->n,
	                 LIMIT_TASKS, err) < 0)
		return -1;
	if (r->n && s->task[0].cpu_first != 0)
		return bad(
		    err, "running job", 0,
		    "the list of used CPUs does not begin with its first task");
	for (uint32_t i = 0; i < r->n; i++) {
		if (r->req[i] >= s->req.n || r->queue[i] >= s->queue.n ||
		    r->user[i] >= s->user.n)
			return bad(err, "running job", i,
			           "unknown request, queue or user");
		if (!index_ok(r->array[i], s->array.n))
			return bad(err, "running job", i, "unknown array");
		if (!time_ok(r->start[i]) || !time_ok(r->end[i]) ||
		    !time_ok(r->safe_until[i]) || r->ran[i] < 0 ||
		    !time_ok(r->ran[i]))
			return bad(err, "running job", i, "time out of range");
		for (uint32_t t = r->task_first[i]; t < r->task_first[i + 1];
		     t++) {
			uint32_t node = s->task[t].node, npieces;

			if (check_task(s, &s->task[t], i, err) < 0)
				return -1;
			npieces = snap_node_npieces(s, node);
			if (npieces < 64 && snap_held(s, t) >> npieces)
				return bad(err, "running job", i,
				           "unknown device");
		}
	}
	return 0;
}

/* Whether the member has waited for a shorter time than the one before it, or
 * as long but was submitted later. */
static bool comes_after(const struct snap_member *m)
{
	return m->since > m[-1].since ||
	       (m->since == m[-1].since && m->job > m[-1].job);
}

static int check_row(const struct snap *s, uint32_t i, struct err *err)
{
	const struct snap_pend *p = &s->pend;
	uint32_t from = p->member_first[i], to = p->member_first[i + 1];
	uint32_t run = p->resumes[i];

	if (p->req[i] >= s->req.n || p->queue[i] >= s->queue.n ||
	    p->user[i] >= s->user.n)
		return bad(err, "row", i, "unknown request, queue or user");
	if (!index_ok(p->array[i], s->array.n))
		return bad(err, "row", i, "unknown array");
	if (from == to)
		return bad(err, "row", i, "has no members");
	for (uint32_t m = from; m < to; m++) {
		if (!s->member[m].count ||
		    (m > from && !comes_after(&s->member[m])))
			return bad(err, "row", i, "members do not ascend");
		if (!time_ok(s->member[m].since))
			return bad(err, "row", i, "time out of range");
	}
	if (p->judged[i] > JUDGED_OPEN)
		return bad(err, "row", i, "judged is out of range");
	if (p->light[i] > 1000)
		return bad(err, "row", i, "light is out of range");
	if (p->claim_first[i] < p->claim_first[i + 1] &&
	    (to - from != 1 || run != SNAP_NONE))
		return bad(err, "row", i, "more than one job has the claim");
	if (p->claim_first[i + 1] - p->claim_first[i] > s->req.tasks[p->req[i]])
		return bad(err, "row", i,
		           "its claim has more nodes than tasks");
	if (run == SNAP_NONE)
		return 0;
	if (run >= s->run.n || !s->run.suspended[run] || to - from != 1 ||
	    s->member[from].count != 1 || s->run.req[run] != p->req[i] ||
	    s->run.job[run] != s->member[from].job)
		return bad(err, "row", i, "resumes what is not suspended");
	return 0;
}

static int check_policy(const struct snap_policy *p, struct err *err)
{
	if (p->order < JOB_NORDERS && amount_ok(p->age_weight) &&
	    amount_ok(p->size_weight) && amount_ok(p->fairshare_weight) &&
	    time_ok(p->hold_after))
		return 0;
	return err_set(err, EINVAL, "snapshot: the policy is out of range");
}

static int check_promises(const struct snap *s, struct err *err)
{
	for (uint32_t i = 0; i < s->npromises; i++) {
		const struct snap_promise *it = &s->promise[i];

		if (!time_ok(it->start) ||
		    (i && it->job < s->promise[i - 1].job))
			return bad(err, "promise", i, "out of order");
		if (!nodes_ok(s, s->promise_node, it->node_first,
		              it->node_first + it->n))
			return bad(err, "promise", i, "unknown node");
	}
	return 0;
}

int snap_check(const struct snap *snap, struct err *err)
{
	const struct snap_pend *p = &snap->pend;
	const struct snap_run *r = &snap->run;
	uint32_t nclaims = 0;

	if (!time_ok(snap->now))
		return err_set(err, EINVAL, "snapshot: now is out of range");
	if (check_policy(&snap->policy, err) < 0 ||
	    check_nodes(snap, err) < 0 ||
	    check_parents("queue", snap->queue.parent, snap->queue.n, err) ||
	    check_reservations(snap, err) < 0 ||
	    check_promises(snap, err) < 0 || check_reqs(snap, err) < 0 ||
	    check_run(snap, err) < 0 ||
	    check_claims(snap, "running job", r->claim_first, r->n, &nclaims,
	                 err) < 0 ||
	    check_claims(snap, "row", p->claim_first, p->n, &nclaims, err) <
	        0 ||
	    check_slices("members of row", p->member_first, p->n, UINT32_MAX,
	                 err) < 0)
		return -1;
	for (uint32_t i = 0; i < p->n; i++) {
		if (check_row(snap, i, err) < 0)
			return -1;
	}
	return 0;
}

void snap_threads(const struct snap *s, int64_t *ret)
{
	for (uint32_t i = 0; i < s->cpu.n; i++)
		ret[i] = 1000;
	for (uint32_t run = 0; run < s->run.n && s->cpu.n; run++) {
		for (uint32_t t = s->run.task_first[run];
		     t < s->run.task_first[run + 1] && !s->run.suspended[run];
		     t++) {
			const struct snap_task *task = &s->task[t];
			int64_t *thread = ret + s->node.cpu_first[task->node];

			for (uint32_t u = task->cpu_first;
			     u < task[1].cpu_first; u++)
				thread[s->cpu_use[u].cpu] -=
				    s->cpu_use[u].milli;
		}
	}
	for (uint32_t i = 0; i < s->cpu.n; i++)
		ret[i] = s->cpu.free[i] < ret[i] ? s->cpu.free[i] : ret[i];
}

int64_t snap_numa_share(const struct snap *s, uint32_t node, uint32_t numas,
                        int64_t mem, uint32_t numa)
{
	const int64_t *total = s->numa_mem + s->node.numa_first[node];
	int64_t all = 0, before = 0;

	for (uint32_t i = 0; i < snap_node_nnumas(s, node); i++) {
		if (!(numas >> i & 1))
			continue;
		before += i < numa ? total[i] : 0;
		all += total[i];
	}
	if (!(numas >> numa & 1))
		return 0;
	if (!all)
		return numa == (uint32_t)__builtin_ctz(numas) ? mem : 0;
	/* Rounded in such a way that all parts add up to the whole. */
	return (int64_t)((__int128)mem * (before + total[numa]) / all -
	                 (__int128)mem * before / all);
}

uint32_t snap_task_numas(const struct snap *s, const struct snap_task *t,
                         const struct snap_cpu_use *use)
{
	const uint8_t *gpu = s->gpu.numa + s->node.gpu_first[t->node];
	const uint8_t *cpu = s->cpu.numa + s->node.cpu_first[t->node];
	uint32_t n = snap_node_nnumas(s, t->node), all, numas = 0;

	all = n < SNAP_NUMAS ? ((uint32_t)1 << n) - 1 : UINT32_MAX;
	for (uint32_t i = t->cpu_first; i < t[1].cpu_first; i++)
		numas |= (uint32_t)1 << cpu[use[i].cpu];
	for (uint64_t left = numas ? 0 : t->gpus; left; left &= left - 1)
		numas |= (uint32_t)1 << gpu[__builtin_ctzll(left)];
	return numas & all ? numas & all : all;
}

void snap_numas(const struct snap *s, bool bound, int64_t *ret)
{
	uint32_t n = s->node.n ? s->node.numa_first[s->node.n] : 0;

	for (uint32_t i = 0; i < n; i++)
		ret[i] = s->numa_mem[i];
	for (uint32_t run = 0; n && run < s->run.n; run++) {
		if (bound && !snap_binds(s, s->run.req[run]))
			continue;
		for (uint32_t t = s->run.task_first[run];
		     t < s->run.task_first[run + 1]; t++) {
			const struct snap_task *task = &s->task[t];
			int64_t *nfree = ret + s->node.numa_first[task->node];

			for (uint32_t left = task->numas; left;
			     left &= left - 1) {
				uint32_t i = (uint32_t)__builtin_ctz(left);

				nfree[i] -= snap_numa_share(
				    s, task->node, task->numas,
				    s->req.mem[s->run.req[run]], i);
			}
		}
	}
}

void snap_capacity(const struct snap *s, int64_t ret[RES_N])
{
	for (int r = 0; r < RES_N; r++)
		ret[r] = 0;
	for (uint32_t i = 0; i < s->node.n; i++) {
		if (s->node.state[i] == NODE_DOWN)
			continue;
		ret[RES_CPU] += s->node.cpu_total[i];
		ret[RES_MEM] += s->node.mem_total[i];
		ret[RES_GPU] += 1000 * (int64_t)(s->node.gpu_first[i + 1] -
		                                 s->node.gpu_first[i]);
	}
}
