/* nodes.c - check that the nodes of a job are those that it asks for */
#include "aischedd/sched/check/nodes.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/sched/check/audit.h"
#include "aischedd/sched/check/lists.h"
#include "aischedd/sched/check/slices.h"

static bool among(const uint32_t *list, uint32_t from, uint32_t to, uint32_t x)
{
	for (uint32_t i = from; i < to; i++) {
		if (list[i] == x)
			return true;
	}
	return false;
}

/* Read a text that consists of one integer. Returns false if it does not. */
static bool read_number(const char *s, long long *ret)
{
	char *end;

	if (!isdigit((unsigned char)s[*s == '-']))
		return false;
	errno = 0;
	*ret = strtoll(s, &end, 10);
	return !errno && !*end && *ret != LLONG_MIN;
}

/* Whether a word of a constraint holds on nodes with this feature. On nodes
 * with feature "k=v" the words "k" and "k=v" hold; with "k", the words "k" and
 * "k="; with "k=2", also "k>1" and "k<3". */
static bool is_about(const struct snap *s, uint32_t word, uint32_t feature)
{
	const char *ask = s->word[word], *have = s->word[feature];
	const char *op = strpbrk(ask, "=<>"), *eq = strchr(have, '=');
	size_t key = eq ? (size_t)(eq - have) : strlen(have);
	long long value, bound;

	if (word == feature)
		return true;
	if (!op || *op == '=')
		return !strncmp(ask, have, key) &&
		       (eq ? !ask[key] : !strcmp(ask + key, "="));
	if (!eq || (size_t)(op - ask) != key || strncmp(ask, have, key) != 0)
		return false;
	return read_number(eq + 1, &value) && read_number(op + 1, &bound) &&
	       (*op == '<' ? value < bound : value > bound);
}

static bool any_is_asked(const struct snap *s, const uint32_t *list,
                         uint32_t from, uint32_t to, uint32_t word)
{
	for (uint32_t i = from; i < to; i++) {
		if (is_about(s, word, list[i]))
			return true;
	}
	return false;
}

static bool has_word(const struct snap *s, uint32_t node, uint32_t word)
{
	return any_is_asked(s, s->feature, s->node.feature_first[node],
	                    s->node.feature_first[node + 1], word) ||
	       any_is_asked(s, s->taint, s->node.taint_first[node],
	                    s->node.taint_first[node + 1], word);
}

/* Evaluate the part of a postfix rule that ends before *end, for a node. Set
 * *end to where the part begins. */
static bool rule_value(const struct snap *s, const int32_t *rule, uint32_t node,
                       uint32_t *end)
{
	int32_t item = rule[--*end];
	bool a, b;

	if (item >= 0)
		return has_word(s, node, (uint32_t)item);
	b = rule_value(s, rule, node, end);
	if (rule_count(item))
		return true; /* has_counted() checks the counts */
	if (item == RULE_NOT)
		return !b;
	a = rule_value(s, rule, node, end);
	return item == RULE_AND ? a && b : a || b;
}

static bool is_soft(const char *taint)
{
	const char *effect = strstr(taint, CONSTRAINT_TAINT_PREFERS);
	const char *value = strchr(taint, '=');

	return effect && (!value || effect < value);
}

/* Whether the node has a taint that the request does not name. With `soft`,
 * look only at soft taints, else only at hard ones. */
static bool is_shunned(const struct snap *s, uint32_t req, uint32_t node,
                       bool soft)
{
	uint32_t from = s->req.rule_first[req], to = s->req.rule_first[req + 1];

	for (uint32_t i = s->node.taint_first[node];
	     i < s->node.taint_first[node + 1]; i++) {
		bool named = is_soft(s->word[s->taint[i]]) != soft;

		/* A word before RULE_NOT names no taint. */
		for (uint32_t k = from; k < to; k++)
			named |= s->rule[k] >= 0 &&
			         (k + 1 == to || s->rule[k + 1] != RULE_NOT) &&
			         is_about(s, (uint32_t)s->rule[k], s->taint[i]);
		if (!named)
			return true;
	}
	return false;
}

uint32_t check_granted(const struct snap *s, uint32_t req, uint32_t node)
{
	uint32_t end = s->req.prefer_first[req + 1];
	uint32_t bits = (uint32_t)!is_shunned(s, req, node, true) << 31;

	for (int i = 0; end > s->req.prefer_first[req]; i++)
		bits |= (uint32_t)rule_value(s, s->prefer, node, &end) << i;
	return bits;
}

/* Whether some GPU of the node has, or can have, the request's partition. */
static bool has_partition(const struct snap *s, uint32_t req, uint32_t node)
{
	bool has =
	    !s->gpu.parts && mig_has(s->node.mig[node], s->req.profile[req]);

	for (uint32_t i = s->node.gpu_first[node];
	     i < s->node.gpu_first[node + 1]; i++)
		has |= check_slices_may(s, req, node, i);
	return has;
}

/* Returns why the request may not run on a node, or NULL. Ignores failed starts
 * on the node, and where other jobs are. */
static const char *why_not(const struct snap *s, uint32_t req, uint32_t node)
{
	const struct snap_reqs *r = &s->req;
	uint32_t from = r->rule_first[req], to = r->rule_first[req + 1];
	uint32_t end = to;

	if (!(r->pools[req] >> s->node.pool[node] & 1))
		return "not in its pools";
	if (s->node.state[node] != NODE_UP)
		return "not up";
	if (!s->pool.ready[s->node.pool[node]])
		return "its runner is not ready";
	if (r->profile[req] && !has_partition(s, req, node))
		return "its GPUs have no such partitions";
	if (r->gpu_mem[req] > s->node.gpu_mem[node])
		return "its GPUs have too little memory";
	for (uint32_t i = 0; i < s->dev.n; i++) {
		if (r->devs[req].n[i] > s->node.dev_total[node].n[i])
			return "has too few devices";
	}
	if (from < to && !rule_value(s, s->rule, node, &end))
		return "does not meet the constraint";
	if (is_shunned(s, req, node, false))
		return "tainted";
	if (r->want_first[req] < r->want_first[req + 1] &&
	    !among(s->want, r->want_first[req], r->want_first[req + 1], node))
		return "not in its node list";
	if (among(s->avoid, r->avoid_first[req], r->avoid_first[req + 1], node))
		return "excluded";
	return NULL;
}

const char *check_forbidden(const struct snap *s, uint32_t req, uint32_t node)
{
	const char *why = why_not(s, req, node);

	if (!why && s->node.retry_at[node] > s->now)
		why = "starts fail there";
	if (!why && among(s->shun, s->req.shun_first[req],
	                  s->req.shun_first[req + 1], node))
		why = "not near, or not apart from, other jobs, or refused";
	return why;
}

int64_t check_gpus(const struct snap *s, uint32_t req, uint32_t node)
{
	int64_t size = s->req.gpu_mem[req], all = s->node.gpu_mem[node];
	int64_t part = s->req.gpus[req];

	if (!size || part >= 1000)
		return part;
	for (part = 1; part < 999 && part * all < size * 1000; part++)
		;
	return part;
}

uint32_t check_domain(const struct snap *s, uint32_t node, uint8_t level)
{
	uint32_t d = s->node.domain[node];

	while (d != SNAP_NONE && s->domain.level[d] != level)
		d = s->domain.parent[d];
	return d;
}

/* Whether all tasks, or those of each segment (consecutive ranks), are in one
 * domain of the level that the job needs. */
static bool is_together(const struct snap *s, uint32_t req,
                        const struct snap_task *t, uint32_t n)
{
	uint8_t level = s->req.need[req];
	uint32_t domain = SNAP_NONE, segment = s->req.segment[req];

	for (uint32_t i = 0; level != LEVEL_NONE && i < n; i++) {
		if (!i || (segment && i % segment == 0))
			domain = check_domain(s, t[i].node, level);
		if (domain == SNAP_NONE ||
		    check_domain(s, t[i].node, level) != domain)
			return false;
	}
	return true;
}

uint32_t check_spread_at(const struct snap *s, uint32_t req, uint32_t node)
{
	uint8_t level = s->req.spread[req] != LEVEL_NONE
	                    ? s->req.spread[req]
	                    : s->req.spread_like[req];

	return level == LEVEL_NODE ? s->domain.n + node
	                           : check_domain(s, node, level);
}

/* Whether a task would fit if nothing else ran on the node. */
static bool is_large(const struct snap *s, uint32_t req, uint32_t node)
{
	uint32_t resv = s->req.reservation[req], type = s->req.gpu_type[req];
	int64_t gpus = 0;

	for (uint32_t i = s->node.gpu_first[node];
	     i < s->node.gpu_first[node + 1]; i++)
		gpus += (type == SNAP_NONE || type == s->gpu.type[i]) &&
		                check_slices_may(s, req, node, i)
		            ? 1000
		            : 0;
	return gpus >= s->req.gpus[req] &&
	       s->req.cpus[req] <= s->node.cpu_total[node] &&
	       s->req.mem[req] <= s->node.mem_total[node] &&
	       s->req.tmp[req] <= s->node.tmp_total[node] &&
	       (resv == SNAP_NONE ||
	        among(s->resv_node, s->resv.node_first[resv],
	              s->resv.node_first[resv + 1], node));
}

uint32_t check_spread(const struct snap *s, uint32_t req, uint32_t pool,
                      uint8_t *could, uint32_t *ret_part)
{
	uint32_t n = 0;

	*ret_part = s->req.nodes[req] ? s->req.tasks_per_node[req] : 1;
	for (uint32_t i = 0; i < s->node.n; i++) {
		uint32_t at = check_spread_at(s, req, i);

		if (at == SNAP_NONE || could[at] || s->node.pool[i] != pool ||
		    why_not(s, req, i) || !is_large(s, req, i))
			continue;
		could[at] = 1;
		n++;
	}
	return n;
}

/* Whether a job that is spread is divided evenly among the domains that
 * check_spread() marks. A part is one task or, if the job asks for a number of
 * nodes, all tasks of one node. */
static bool is_even(const struct audit *a, uint32_t req,
                    const struct snap_task *t, uint32_t n)
{
	const struct snap *s = a->s;
	uint32_t slots = s->domain.n + s->node.n, part, most, least, domains;
	uint8_t *could = arena_array(a->arena, uint8_t, slots);
	uint32_t *has = arena_array(a->arena, uint32_t, slots);

	if (s->req.spread[req] == LEVEL_NONE)
		return true;
	domains = check_spread(s, req, s->node.pool[t->node], could, &part);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = check_spread_at(s, req, t[i].node);

		if (at == SNAP_NONE || !could[at])
			return false;
		has[at]++;
	}
	least = n;
	most = 0;
	for (uint32_t i = 0; i < slots; i++) {
		if (!could[i])
			continue;
		least = has[i] < least ? has[i] : least;
		most = has[i] > most ? has[i] : most;
	}
	return domains && most - least <= part;
}

/* Whether each part of the constraint that has a count, such as "ib*2", holds
 * on at least that many nodes, if it holds on all of the `later` nodes that the
 * job gets later. */
static bool has_counted(const struct snap *s, uint32_t req,
                        const struct snap_task *t, uint32_t n, uint32_t later)
{
	for (uint32_t i = s->req.rule_first[req];
	     i < s->req.rule_first[req + 1]; i++) {
		uint32_t have = 0;

		for (uint32_t k = 0; rule_count(s->rule[i]) && k < n; k++) {
			uint32_t end = i;
			bool again = false;

			for (uint32_t j = 0; j < k; j++)
				again |= t[j].node == t[k].node;
			have +=
			    !again && rule_value(s, s->rule, t[k].node, &end);
		}
		if (have + later < rule_count(s->rule[i]))
			return false;
	}
	return true;
}

/* Count the nodes of these tasks; *ret_most is the largest number of tasks on
 * one of them. */
static uint32_t count_nodes(const struct audit *a, const struct snap_task *t,
                            uint32_t n, uint32_t *ret_most)
{
	uint32_t nodes = 0;

	*ret_most = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t *tasks = &a->scratch[t[i].node];

		nodes += !(*tasks)++;
		if (*tasks > *ret_most)
			*ret_most = *tasks;
	}
	for (uint32_t i = 0; i < n; i++)
		a->scratch[t[i].node] = 0;
	return nodes;
}

int check_nodes(const struct audit *a, uint32_t req, uint64_t job,
                const struct snap_task *t, uint32_t n)
{
	const struct snap *s = a->s;
	uint32_t most, nodes = count_nodes(a, t, n, &most);

	for (uint32_t i = 0; i < n; i++) {
		const char *why = check_forbidden(s, req, t[i].node);

		if (why)
			return check_bad(a, job, "is on %s: %s",
			                 s->node.name[t[i].node], why);
		if (s->node.pool[t[i].node] != s->node.pool[t[0].node])
			return check_bad(a, job, "is in two pools");
	}
	if (s->req.nodes[req] && nodes != s->req.nodes[req])
		return check_bad(a, job, "is on %u nodes", (unsigned)nodes);
	if (s->req.tasks_per_node[req] && most > s->req.tasks_per_node[req])
		return check_bad(a, job, "has %u tasks on one node",
		                 (unsigned)most);
	if (!is_together(s, req, t, n))
		return check_bad(a, job, "%s not in one %s",
		                 s->req.segment[req] ? "has a segment that is"
		                                     : "is",
		                 s->level[s->req.need[req]]);
	if (!is_even(a, req, t, n))
		return check_bad(a, job, "is not spread evenly");
	if (!has_counted(s, req, t, n, 0))
		return check_bad(a, job, "has too few nodes of some kind");
	return 0;
}

/* List all tasks that a run keeps or gets by this plan, including those for
 * which it has claims. Returns how many there are. */
static uint32_t list_tasks(const struct audit *a, uint32_t run,
                           struct snap_task *ret)
{
	const struct plan *plan = a->plan;
	const struct snap *s = a->s;
	uint32_t n = 0;

	for (uint32_t t = s->run.task_first[run];
	     t < s->run.task_first[run + 1]; t++) {
		if (!a->lost[t])
			ret[n++] = s->task[t];
	}
	for (uint32_t i = 0; i < plan->ngrows; i++) {
		const struct grow *g = &plan->grow[i];

		for (uint32_t k = 0; g->run == run && k < g->ntasks; k++)
			ret[n++] = plan->task[g->task_first + k];
	}
	for (uint32_t i = 0; i < plan->nclaims; i++) {
		const struct plan_claim *c = &plan->claim[i];

		for (uint32_t k = 0;
		     c->row == SNAP_NONE && c->run == run && k < c->n; k++)
			ret[n++].node = plan->claim_node[c->node_first + k];
	}
	return n;
}

static bool in_one_pool(const struct snap *s, const struct snap_task *t,
                        uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (s->node.pool[t[i].node] != s->node.pool[t->node])
			return false;
	}
	return true;
}

/* Whether the tasks, with those that the job gets later, can be on enough nodes
 * of each kind that its constraint counts. */
static bool may_have_counted(const struct audit *a, uint32_t req,
                             const struct snap_task *t, uint32_t n)
{
	const struct snap_reqs *r = &a->s->req;
	uint32_t most, nodes = count_nodes(a, t, n, &most);
	uint32_t all = r->nodes[req] ? r->nodes[req] : r->tasks[req];
	uint32_t have = r->nodes[req] ? nodes : n;

	return has_counted(a->s, req, t, n, have < all ? all - have : 0);
}

int check_growth(const struct audit *a, uint32_t run)
{
	const struct snap *s = a->s;
	uint32_t req = s->run.req[run], had = check_stays(a, run);
	struct snap_task *t =
	    arena_array(a->arena, struct snap_task, had + a->more[run]);
	uint32_t most, n = list_tasks(a, run, t), nodes;
	const struct snap_task *old = s->task + s->run.task_first[run];
	uint32_t nold = check_ntasks(s, run);
	uint64_t job = s->run.job[run];

	for (uint32_t i = had; i < n; i++) {
		const char *why = check_forbidden(s, req, t[i].node);

		if (why)
			return check_bad(a, job, "grows on %s: %s",
			                 s->node.name[t[i].node], why);
		if (s->node.pool[t[i].node] != s->node.pool[old->node] &&
		    in_one_pool(s, old, nold))
			return check_bad(a, job, "grows into another pool");
	}
	nodes = count_nodes(a, t, n, &most);
	if (s->req.nodes[req] && nodes > s->req.nodes[req])
		return check_bad(a, job, "grows to %u nodes", (unsigned)nodes);
	if (s->req.tasks_per_node[req] && most > s->req.tasks_per_node[req])
		return check_bad(a, job, "grows to %u tasks on one node",
		                 (unsigned)most);
	if (may_have_counted(a, req, t, had) && !may_have_counted(a, req, t, n))
		return check_bad(a, job, "grows to too few nodes of some kind");
	if (is_together(s, req, old, nold) && !is_together(s, req, t, n))
		return check_bad(a, job, "grows out of its %s",
		                 s->level[s->req.need[req]]);
	return 0;
}
