/* reconf.c - replace the configuration that the state uses */
#include "aischedd/state/cluster/reconf.h"
#include "aischedd/state/cluster/counts.h"

#include <stdlib.h>

#include "aischedd/state/cluster/node.h"
#include "aischedd/state/cluster/queue.h"
#include "aischedd/state/cluster/scale.h"
#include "aischedd/state/cluster/usage.h"
#include "aischedd/state/life/submit.h"
#include "aischedd/state/pass/apply.h"
#include "aischedd/state/pass/row.h"
#include "aischedd/state/pass/snap_node.h"
#include "aischedd/state/pass/sweep.h"
#include "aischedd/state/state_priv.h"
#include "libcommon/mem.h"

/* Fill in queue_to: the number of each queue in the new configuration, or -1 if
 * that does not have the queue. Fails if a queue that has jobs, or a pool that
 * has nodes, is missing there. jobs: the number of jobs of each queue,
 * including those that have ended and are not yet written. */
static int remap(const struct state *state, const struct conf *conf,
                 const uint32_t *jobs, uint32_t *queue_to, struct err *err)
{
	const struct conf *old = state->conf;

	for (size_t q = 0; q < old->nqueues; q++) {
		const char *name = old->queues[q].name;
		int to = conf_queue_find(conf, name);

		queue_to[q] = (uint32_t)to;
		if (jobs[q] && (to < 0 || !conf->queues[to].leaf))
			return err_set(err, EBUSY,
			               "queue '%s' still has %u job%s", name,
			               jobs[q], jobs[q] == 1 ? "" : "s");
	}
	for (size_t i = 0; i < state->nodes.n; i++) {
		const struct node *node = &state->nodes.node[i];
		const char *pool = old->pools[node->pool].name;

		if (conf_pool_find(conf, pool) < 0 && !node->gone)
			return err_set(err, EBUSY,
			               "pool '%s' has nodes: removing it needs "
			               "a restart",
			               pool);
	}
	return 0;
}

static void reconf_queues(struct state *state, const struct conf *conf,
                          const uint32_t *queue_to, int64_t now)
{
	struct queue_state *queue = xcalloc(conf->nqueues, sizeof(*queue));

	for (size_t q = 0; q < conf->nqueues; q++)
		queue[q].closed = conf->queues[q].closed;
	for (size_t q = 0; q < state->conf->nqueues; q++) {
		uint32_t to = queue_to[q];
		bool closed;

		if (to == (uint32_t)-1)
			continue;
		closed = queue[to].closed;
		queue[to] = state->queues.queue[q];
		/* Keep a queue open or closed as an operator has set it, unless
		 * its `closed` in the configuration has changed. */
		if (state->conf->queues[q].closed != closed)
			queue[to].closed = closed;
	}
	free(state->queues.queue);
	state->queues.queue = queue;
	state->queues.dirty = true;
	usage_reconf(state, conf, queue_to, now);
}

/* Give the jobs of the page the new numbers of their queues. */
static void renumber_page(const struct idmap_page *page,
                          const uint32_t *queue_to)
{
	for (size_t i = 0; i < IDMAP_PAGE; i++) {
		const struct job *job = page->value[i];

		if (job)
			__builtin_prefetch(&job->queue, 1);
	}
	for (size_t i = 0; i < IDMAP_PAGE; i++) {
		struct job *job = page->value[i];

		if (job)
			job->queue = queue_to[job->queue];
	}
}

/* Give all jobs the new numbers of their queues, if these differ. Reads pages,
 * because the list cannot be read ahead: that takes three times as long. */
static void renumber_jobs(struct state *state, const uint32_t *jobs,
                          const uint32_t *queue_to)
{
	size_t n = state->conf->nqueues, q = 0, at = 0;
	const struct idmap_page *page;

	while (q < n && (!jobs[q] || queue_to[q] == q))
		q++;
	if (q == n)
		return;
	while ((page = idmap_each(&state->records.jobs, &at)))
		renumber_page(page, queue_to);
	row_forget_tops(state);
}

/* Returns the number of jobs of each queue, including those that have ended and
 * are not yet written. The caller frees it. */
static uint32_t *count_jobs(const struct state *state)
{
	const struct unwritten *u = &state->unwritten;
	uint32_t *jobs = xcalloc(state->conf->nqueues, sizeof(*jobs));

	for (size_t q = 0; q < state->conf->nqueues; q++)
		jobs[q] = (uint32_t)state->queues.queue[q].jobs;
	for (size_t i = 0; i < u->njobs; i++)
		if (job_state_is_final((enum job_state)u->job[i]->state))
			jobs[u->job[i]->queue] += job_count(u->job[i]);
	return jobs;
}

static void reconf_pools(struct state *state, const struct conf *conf)
{
	struct pool_table *old = &state->pools;
	/* Sums and kinds hold for the old numbers: leave them out. */
	struct pool_table new = { .kind = old->kind,
		                  .kind_cap = old->kind_cap };

	nodes_reconf(state, conf);
	for (size_t i = 0; i < state->conf->npools; i++) {
		int pool = conf_pool_find(conf, state->conf->pools[i].name);

		if (pool >= 0)
			new.pool[pool] = old->pool[i];
		else
			free(old->pool[i].trouble);
	}
	*old = new;
}

int state_reconf(struct state *state, const struct conf *conf, int64_t now,
                 struct err *err)
{
	size_t n = state->conf->nqueues;
	uint32_t *queue_to = xcalloc(n, sizeof(*queue_to));
	uint32_t *jobs = count_jobs(state);
	int result = remap(state, conf, jobs, queue_to, err);
	bool same = conf_same(state->conf, conf);

	if (result == 0) {
		counts_reconf(state, conf, queue_to);
		reconf_queues(state, conf, queue_to, now);
		renumber_jobs(state, jobs, queue_to);
	}
	free(queue_to);
	free(jobs);
	if (result < 0)
		return -1;
	reconf_pools(state, conf);
	state->conf = conf;
	node_frame_drop(&state->nodes); /* it has the levels of the topology */
	node_index_sections(state);
	scale_reconf(state);
	map_free(&state->nodes.fits);
	state_forget_plan(state);
	for (size_t i = 0; i < state->nodes.n; i++) {
		node_apply_conf(state, &state->nodes.node[i]);
		pool_count_node(state, &state->nodes.node[i]);
	}
	if (!same)
		sweep_begin(state, SWEEP_ALL, now);
	state->gen++;
	state_replan(state);
	return 0;
}
