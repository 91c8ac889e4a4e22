/* place.c - choose nodes for one job, all of its tasks or none */
#include "aischedd/sched/place.h"

#include <string.h>

#include "aischedd/sched/fit.h"
#include "aischedd/sched/place_index.h"
#include "aischedd/sched/place_lack.h"
#include "aischedd/sched/place_scarce.h"
#include "aischedd/sched/place_topology.h"
#include "aischedd/sched/place_trial.h"
#include "aischedd/sched/promise.h"
#include "aischedd/sched/verdict.h"

struct place *place_new(const struct snap *snap, const struct tally *tally,
                        struct arena *arena)
{
	struct place *p = arena_array(arena, struct place, 1);

	p->snap = snap;
	p->arena = arena;
	p->pool = p->within = SNAP_NONE;
	p->work = work_new(snap, tally, arena);
	p->match = match_new(snap, arena);
	p->index = place_index_new(p->work, p->match,
	                           place_index_worth(snap, tally), arena);
	p->scarce =
	    place_scarce_new(snap, p->match, p->index, tally->req_gpus, arena);
	p->own = arena_array(arena, uint32_t, snap->node.n);
	p->had = arena_array(arena, struct place_had, snap->node.n);
	p->domains = domain_new(snap, arena);
	p->topology = place_topology_new(p);
	p->spread = spread_new(snap, p->match, arena);
	p->watched = arena_array(arena, uint8_t, snap->node.n);
	p->run = SNAP_NONE;
	p->until = SNAP_NEVER;
	p->task_cap = p->use_cap = 64;
	p->task = arena_array(arena, struct snap_task, p->task_cap);
	p->use = arena_array(arena, struct snap_cpu_use, p->use_cap);
	if (snap->piece.n)
		p->held = arena_array(arena, uint64_t, p->task_cap);
	return p;
}

/* Returns the end of a job of this length if it starts now, or SNAP_NEVER. */
static int64_t end_of(const struct snap *s, int64_t length)
{
	return length == SNAP_NEVER || length == CONF_NONE ? SNAP_NEVER
	                                                   : s->now + length;
}

/* A job that resumes may run for the rest of its time limit, but for
 * at least a second. */
int64_t place_row_end(const struct snap *s, uint32_t row)
{
	uint32_t run = s->pend.resumes[row];
	int64_t length = s->req.time_limit[s->pend.req[row]];

	if (length == SNAP_NEVER)
		return end_of(s, s->queue.assumed_time[s->pend.queue[row]]);
	if (run != SNAP_NONE)
		length =
		    length > s->run.ran[run] ? length - s->run.ran[run] : 1;
	return end_of(s, length);
}

void place_for(struct place *p, uint32_t row, uint64_t job)
{
	const struct snap *s = p->snap;
	uint32_t req = s->pend.req[row];

	p->job = job;
	p->queue = s->pend.queue[row];
	p->run = s->pend.resumes[row];
	p->until = place_row_end(s, row);
	p->careful = p->promises && promise_begin(p->promises, req);
}

void place_for_run(struct place *p, uint32_t run)
{
	const struct snap *s = p->snap;

	p->job = s->run.job[run];
	p->queue = s->run.queue[run];
	p->run = SNAP_NONE;
	p->until = s->run.end[run];
	p->careful = p->promises && promise_begin(p->promises, s->run.req[run]);
}

void place_for_moved(struct place *p, uint32_t run)
{
	const struct snap *s = p->snap;

	place_for_run(p, run);
	p->until = end_of(s, s->req.time_limit[s->run.req[run]]);
	if (p->until == SNAP_NEVER)
		p->until = end_of(s, s->queue.assumed_time[p->queue]);
}

static void *grow(struct arena *arena, const void *old, size_t n, size_t need,
                  size_t *cap, size_t size)
{
	void *p;

	if (!*cap)
		*cap = 4;
	while (*cap < need)
		*cap *= 2;
	p = arena_alloc(arena, *cap, size);
	return n ? memcpy(p, old, n * size) : p;
}

/* Returns the next free entry of p->task, after growing the arrays for it and
 * its CPUs. */
static struct snap_task *next_task(struct place *p, size_t ncpus)
{
	size_t cap = p->task_cap;

	if (p->held && p->ntasks + 2 > cap)
		p->held = grow(p->arena, p->held, p->ntasks + 1, p->ntasks + 2,
		               &cap, sizeof(*p->held));
	if (p->ntasks + 2 > p->task_cap)
		p->task = grow(p->arena, p->task, p->ntasks + 1, p->ntasks + 2,
		               &p->task_cap, sizeof(*p->task));
	if (p->nuse + ncpus > p->use_cap)
		p->use = grow(p->arena, p->use, p->nuse, p->nuse + ncpus,
		              &p->use_cap, sizeof(*p->use));
	return &p->task[p->ntasks];
}

static void end_task(struct place *p, uint32_t nuse, uint64_t held)
{
	if (p->held)
		p->held[p->ntasks] = held;
	p->nuse += nuse;
	p->task[++p->ntasks].cpu_first = (uint32_t)p->nuse;
}

bool place_may_use(const struct place *p, uint32_t req, uint32_t node)
{
	const struct allowed *a = match_req(p->match, req);
	uint32_t class = match_class_of(p->match, node);
	uint32_t i = 0;

	while (i < a->nclasses && a->class[i] != class)
		i++;
	return i < a->nclasses && match_allows(a, node) &&
	       place_index_tree(p->index, node) == TREE_OPEN;
}

/* Returns the index in a->class of a node's class, or a->nclasses if the class
 * is not there. */
static uint32_t class_at(const struct place *p, const struct allowed *a,
                         uint32_t node)
{
	uint32_t class = match_class_of(p->match, node), i = 0;

	while (i < a->nclasses && a->class[i] != class)
		i++;
	return i;
}

void place_count_wants(const struct place *p, uint32_t req,
                       uint32_t ret[CONSTRAINT_MAX_COUNTS])
{
	const struct allowed *a = match_req(p->match, req);

	memset(ret, 0, CONSTRAINT_MAX_COUNTS * sizeof(*ret));
	memcpy(ret, a->count, a->ncounts * sizeof(*ret));
	for (uint32_t n = 0; a->ncounts && n < p->snap->node.n; n++) {
		uint32_t at = p->own[n] ? class_at(p, a, n) : a->nclasses;

		for (uint32_t k = 0; at < a->nclasses && k < a->ncounts; k++)
			ret[k] -= ret[k] && a->counted[at] >> k & 1;
	}
}

bool place_grows_right(const struct place *p, uint32_t req, uint32_t node,
                       const struct place_growth *more)
{
	const struct allowed *a = match_req(p->match, req);
	uint32_t at = p->own[node] ? a->nclasses : class_at(p, a, node);

	for (uint32_t k = 0; k < a->ncounts; k++) {
		if (more->wants[k] > more->later &&
		    (at == a->nclasses || !(a->counted[at] >> k & 1)))
			return false;
	}
	return true;
}

/* Whether each part of the constraint that counts nodes holds on enough of
 * these nodes. */
static bool has_counts(const struct place *p, const struct allowed *a,
                       const uint32_t *node, uint32_t n)
{
	for (uint32_t k = 0; k < a->ncounts; k++) {
		uint32_t have = 0;

		for (uint32_t i = 0; i < n; i++) {
			uint32_t at = class_at(p, a, node[i]);
			uint32_t before = 0;

			while (before < i && node[before] != node[i])
				before++;
			have += before == i && at < a->nclasses &&
			        a->counted[at] >> k & 1;
		}
		if (have < a->count[k])
			return false;
	}
	return true;
}

/* Whether all tasks, or those of each segment, are in one domain of the level
 * that the request needs. */
static bool is_near(const struct snap *s, uint32_t req, const uint32_t *node,
                    uint32_t n)
{
	uint8_t need = s->req.need[req];
	uint32_t segment = s->req.segment[req] ? s->req.segment[req] : n;

	for (uint32_t i = 0; need != LEVEL_NONE && i < n; i++) {
		uint32_t domain = domain_of(s, node[i], need);
		uint32_t first = node[i - i % segment];

		if (domain == SNAP_NONE || domain != domain_of(s, first, need))
			return false;
	}
	return true;
}

static bool is_even(const struct place *p, uint32_t req, const uint32_t *node,
                    uint32_t n)
{
	if (p->snap->req.spread[req] == LEVEL_NONE)
		return true;
	spread_make(p->spread, req, p->snap->node.pool[node[0]], false);
	return spread_suits(p->spread, node, n);
}

bool place_suits(struct place *p, uint32_t req, const uint32_t *node,
                 uint32_t n)
{
	const struct snap *s = p->snap;
	uint32_t nodes = 0, most = 0;
	bool near = is_near(s, req, node, n);

	for (uint32_t i = 0; i < n; i++) {
		nodes += !p->own[node[i]]++;
		if (p->own[node[i]] > most)
			most = p->own[node[i]];
		near &= s->node.pool[node[i]] == s->node.pool[node[0]];
	}
	for (uint32_t i = 0; i < n; i++)
		p->own[node[i]] = 0;
	return near && is_even(p, req, node, n) &&
	       (!s->req.nodes[req] || nodes == s->req.nodes[req]) &&
	       (!s->req.tasks_per_node[req] ||
	        most <= s->req.tasks_per_node[req]) &&
	       has_counts(p, match_req(p->match, req), node, n);
}

bool place_keeps_promises(const struct place *p, uint32_t req, uint32_t node,
                          int64_t n)
{
	if (p->heedless || !(p->watched[node] || p->careful))
		return true;
	return promise_allows(p->promises, req, node, n - p->had[node].tasks);
}

/* Whether more tasks may go to a node that already has `own` tasks of the job.
 * If the request demands an exact number of nodes, all tasks of a node are
 * placed at once, so none is added later; but a job that grows uses only nodes
 * that it already has, or one in place of a node that it has lost. */
static bool may_add_node(const struct place *p, uint32_t req, uint32_t own)
{
	return !p->snap->req.nodes[req] ||
	       (p->grows && !p->growth.opens) == (own > 0);
}

static bool is_capped(const struct place *p)
{
	return p->cap && p->capped == p->job;
}

bool place_fits(const struct place *p, uint32_t req, uint32_t node, int64_t n)
{
	const struct snap_reqs *r = &p->snap->req;
	uint32_t own = p->own[node];

	if (!may_add_node(p, req, own))
		return false;
	if (is_capped(p) && own + n > p->cap)
		return false;
	if (r->tasks_per_node[req] && own + n > r->tasks_per_node[req])
		return false;
	return fit_has(p->work, req, node, own, n) &&
	       place_keeps_promises(p, req, node, own + n);
}

int64_t place_room(const struct place *p, uint32_t req, uint32_t node,
                   int64_t max)
{
	const struct snap_reqs *r = &p->snap->req;
	uint32_t own = p->own[node];
	int64_t some = 0;

	if (!may_add_node(p, req, own))
		return 0;
	if (r->tasks_per_node[req])
		max = smaller(max, (int64_t)r->tasks_per_node[req] - own);
	max = max > 0 ? fit_count(p->work, req, node, own, max) : 0;
	if (!max || place_keeps_promises(p, req, node, own + max))
		return max;
	/* Binary search: `some` tasks keep the promises, max tasks do not. */
	while (max - some > 1) {
		int64_t n = some + (max - some) / 2;

		if (place_keeps_promises(p, req, node, own + n))
			some = n;
		else
			max = n;
	}
	return some;
}

/* Place n of the `left` tasks that the job still gets on this node. */
static void put(struct place *p, uint32_t req, uint32_t node, int64_t n,
                int64_t left)
{
	size_t ncpus =
	    snap_node_ncpus(p->snap, node) ? fit_max_cpus(p->snap, req) : 0;

	for (int64_t i = 0; i < n; i++) {
		struct snap_task *task = next_task(p, ncpus);
		uint32_t nuse = fit_task(p->work, req, node, left - i, task,
		                         p->use + p->nuse);

		end_task(p, nuse, p->work->chosen);
	}
	p->own[node] += (uint32_t)n;
	place_index_refresh(p->index, node);
}

void place_put(struct place *p, uint32_t req, uint32_t node, int64_t n)
{
	put(p, req, node, n, n);
}

uint32_t place_put_next(struct place *p, uint32_t req, const uint32_t *node,
                        uint32_t n)
{
	uint32_t same = place_same(node, n), all = same;

	/* Several segments may use the node: count all tasks that the job gets
	 * there. */
	for (uint32_t i = same; p->snap->req.segment[req] && i < n; i++)
		all += node[i] == node[0];
	if (!fit_has(p->work, req, node[0], p->own[node[0]], all))
		return 0;
	put(p, req, node[0], same, all);
	return same;
}

void place_begin(struct place *p)
{
	p->first_task = p->ntasks;
	p->first_use = p->nuse;
	p->mark = work_mark(p->work);
}

void place_undo(struct place *p)
{
	uint32_t last = SNAP_NONE;

	work_undo(p->work, p->mark);
	for (size_t i = p->first_task; i < p->ntasks; i++) {
		uint32_t node = p->task[i].node;

		p->own[node] = p->had[node].tasks;
		p->work->own_gpus[node] = p->had[node].gpus;
		if (node != last)
			place_index_refresh(p->index, node);
		last = node;
	}
	p->ntasks = p->first_task;
	p->nuse = p->first_use;
}

void place_commit(struct place *p, uint32_t req)
{
	if (p->promises)
		promise_started(p->promises, req);
	for (size_t i = p->first_task; i < p->ntasks; i++) {
		uint32_t node = p->task[i].node;

		place_disown(p, node);
		if (p->snap->req.exclusive[req]) {
			work_add(p->work, &p->work->sealed[node], 1);
			place_index_refresh(p->index, node);
		}
	}
	work_commit(p->work);
}

unsigned place_trees(const struct place *p, uint32_t req)
{
	const struct allowed *a = match_req(p->match, req);
	unsigned trees = 0;

	for (uint32_t c = 0; c < a->nclasses; c++) {
		for (int tree = 0; tree < NTREES; tree++) {
			if (place_index_count(p->index, a->class[c], tree))
				trees |= 1u << tree;
		}
	}
	return trees;
}

/* Move the trial on to the classes of the request's next pool. Returns false if
 * there is no other pool. */
static bool next_pool(struct place_trial *t)
{
	const struct match *m = t->p->match;
	const uint32_t *class = t->allowed->class;

	t->class = t->class_end;
	while (t->class_end < t->allowed->nclasses &&
	       match_class(m, class[t->class_end])->pool ==
	           match_class(m, class[t->class])->pool)
		t->class_end++;
	return t->class < t->class_end;
}

/* Set the trial to the request's classes of this pool. Returns false if
 * it has none. */
static bool go_to_pool(struct place_trial *t, uint32_t pool)
{
	t->class_end = 0;
	while (next_pool(t)) {
		uint32_t class = t->allowed->class[t->class];

		if (match_class(t->p->match, class)->pool == pool)
			return true;
	}
	return false;
}

/* Whether tasks that were not put on a node all at once keep the promises
 * there. Each was asked about as if those before it had been put with it, but
 * they may have got devices that are farther apart. */
static bool keeps_promises_apart(const struct place_trial *t)
{
	const struct place *p = t->p;

	return !t->apart || p->heedless || !p->nkept ||
	       promise_allows_trial(p->promises, t->req);
}

static bool try_all(struct place_trial *t)
{
	t->apart = false;
	place_begin(t->p);
	if (place_trial_all(t)) {
		if (keeps_promises_apart(t))
			return true;
		t->breaks = true;
	}
	place_undo(t->p);
	return false;
}

/* Tasks of a node share link groups, and leave to others what they can if they
 * are put together. If they are spread one by one, the first may get the last
 * GPU of a group, so that no other fits beside it, or all of them together
 * break a promise: place such a job as if its pool packed tasks. */
static bool try_packed(struct place_trial *t, uint32_t pool)
{
	const struct snap *s = t->p->snap;
	bool placed;

	if (s->pool.order[pool] != ORDER_SPREAD ||
	    !(t->breaks || s->req.links[t->req] == LINKS_STRICT))
		return false;
	t->packs = true;
	placed = try_all(t);
	t->packs = false;
	return placed;
}

/* Place all tasks on nodes of the trial's pool: first only on nodes that meet
 * the most important preferences, then also on those that meet fewer, and so
 * on; at last on any. */
static bool try_pool(struct place_trial *t)
{
	const struct allowed *all = t->allowed;
	uint32_t first = t->class, end = t->class_end;
	uint32_t pool = match_class(t->p->match, all->class[first])->pool;

	for (uint32_t i = 0; i < all->nbest; i++) {
		t->allowed = &all->best[i];
		if (!go_to_pool(t, pool))
			continue;
		if (try_all(t))
			return true;
	}
	t->allowed = all;
	t->class = first;
	t->class_end = end;
	t->breaks = false;
	return try_all(t) || try_packed(t, pool);
}

bool place_try(struct place *p, uint32_t req, uint32_t tasks, unsigned trees,
               struct place_lack *ret_lack)
{
	struct place_trial t = { .p = p,
		                 .req = req,
		                 .tasks = tasks,
		                 .nodes = p->snap->req.nodes[req],
		                 .trees = trees,
		                 .kind = SNAP_NONE,
		                 .inside = SNAP_NONE,
		                 .wishes = fit_has_wishes(p->work, req),
		                 .allowed = match_req(p->match, req) };
	bool first = true;

	if (ret_lack)
		*ret_lack =
		    (struct place_lack){ .node = SNAP_NONE, .what = WHAT_NODE };
	while (next_pool(&t)) {
		uint32_t class = t.allowed->class[t.class];
		struct place_lack lack;

		if (p->pool != SNAP_NONE &&
		    p->pool != match_class(p->match, class)->pool)
			continue;
		if (try_pool(&t))
			return true;
		if (!ret_lack)
			continue;
		lack = place_lack_of(&t);
		if (first || lack.got > ret_lack->got)
			*ret_lack = lack;
		first = false;
	}
	return false;
}

/* Place more tasks of a job close to its `node`: try one domain around this
 * node after the other, from the preferred level up to the needed one. */
static bool grow_near(struct place *p, uint32_t req, uint32_t node,
                      uint32_t tasks, struct place_lack *ret_lack)
{
	const struct snap *s = p->snap;
	uint8_t need = s->req.need[req], like = s->req.like[req];
	int from = like != LEVEL_NONE ? like : need;
	int to = need != LEVEL_NONE ? need : 0;

	for (int level = from; from != LEVEL_NONE && level >= to; level--) {
		p->within = domain_of(s, node, (uint8_t)level);
		if (p->within != SNAP_NONE &&
		    place_try(p, req, tasks, IN_OPEN, ret_lack))
			return true;
	}
	p->within = SNAP_NONE;
	return need == LEVEL_NONE &&
	       place_try(p, req, tasks, IN_OPEN, ret_lack);
}

static bool try_more(struct place *p, uint32_t req, uint32_t node,
                     struct place_growth more, struct place_lack *ret_lack)
{
	bool found;

	p->pool = p->snap->node.pool[node];
	p->grows = true;
	p->growth = more;
	found = grow_near(p, req, node, more.tasks, ret_lack);
	p->grows = false;
	p->growth = (struct place_growth){ 0 };
	p->pool = p->within = SNAP_NONE;
	return found;
}

bool place_try_more(struct place *p, uint32_t req, uint32_t node,
                    struct place_lack *ret_lack)
{
	return try_more(p, req, node, (struct place_growth){ .tasks = 1 },
	                ret_lack);
}

bool place_try_grow(struct place *p, uint32_t run, struct place_growth more,
                    struct place_lack *ret_lack)
{
	const struct snap *s = p->snap;

	return try_more(p, s->run.req[run],
	                s->task[s->run.task_first[run]].node, more, ret_lack);
}

bool place_try_beside(struct place *p, uint32_t req, uint32_t node)
{
	struct work *w = p->work;
	int64_t sealed = w->sealed[node];
	struct place_had had = p->had[node];
	uint32_t own = p->own[node];
	bool fits;

	p->grows = true;
	p->own[node] = p->had[node].tasks = (uint32_t)w->tasks[node];
	work_add(w, &w->sealed[node], -sealed);
	fits = place_fits(p, req, node, 1);
	work_add(w, &w->sealed[node], sealed);
	p->grows = false;
	place_begin(p);
	if (fits) {
		place_put(p, req, node, 1);
	} else {
		p->own[node] = own;
		p->had[node] = had;
	}
	return fits;
}

static bool resume_task(struct place *p, uint32_t run,
                        const struct snap_task *had)
{
	uint32_t req = p->snap->run.req[run], node = had->node;
	size_t ncpus =
	    snap_node_ncpus(p->snap, node) ? fit_max_cpus(p->snap, req) : 0;
	struct snap_task *task;

	if (p->work->sealed[node] || !fit_cpus_again(p->work, req, had) ||
	    !place_keeps_promises(p, req, node, p->own[node]))
		return false;
	if (p->snap->req.exclusive[req] && p->work->tasks[node] != p->own[node])
		return false;
	task = next_task(p, ncpus);
	task->node = node;
	task->gpus = had->gpus;
	task->gpu_milli = had->gpu_milli;
	task->units = had->units;
	task->numas = had->numas;
	end_task(p, fit_resume(p->work, req, had, p->use + p->nuse),
	         snap_held(p->snap, (uint32_t)(had - p->snap->task)));
	place_index_refresh(p->index, node);
	return true;
}

bool place_try_resume(struct place *p, uint32_t run,
                      struct place_lack *ret_lack)
{
	const struct snap *s = p->snap;
	uint32_t t, first = s->run.task_first[run];
	uint32_t end = s->run.task_first[run + 1];

	place_begin(p);
	for (t = first; t < end; t++)
		p->own[s->task[t].node]++;
	for (t = first; t < end; t++) {
		if (!resume_task(p, run, &s->task[t]))
			break;
	}
	for (uint32_t i = first; i < end; i++)
		p->own[s->task[i].node] = 0;
	if (t == end && (p->heedless || !p->nkept ||
	                 promise_allows_trial(p->promises, s->run.req[run])))
		return true;
	t -= t == end;
	if (ret_lack) {
		uint32_t node = s->task[t].node;
		int64_t have = p->work->cpu[node];

		/* The free CPUs are below 0 while claims wait for evicted jobs
		 * to end. */
		*ret_lack =
		    (struct place_lack){ .got = t - first,
			                 .node = node,
			                 .what = RES_CPU,
			                 .need = s->req.cpus[s->run.req[run]],
			                 .have = have < 0 ? 0 : have,
			                 .total = s->node.cpu_total[node] };
	}
	place_undo(p);
	return false;
}
