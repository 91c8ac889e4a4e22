/* evict.c - evicted jobs, and claims: nodes held for jobs until they
 * can start */
#include "aischedd/state/life/evict.h"
#include "aischedd/state/cluster/counts.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/state/cluster/node.h"
#include "aischedd/state/life/alarm.h"
#include "aischedd/state/life/lifecycle.h"
#include "aischedd/state/pass/row.h"
#include "aischedd/state/state_priv.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"

enum {
	BACKOFF_MAX_S = 300,
	HOUR_S = 3600,
	/* a sentence names at most this many jobs and this many nodes */
	NAMED = 4
};

/* A time that is later than any real one. */
#define FOR_EVER ((int64_t)1 << 52)

int64_t backoff_s(uint32_t fails)
{
	return fails < 8 ? 1 << fails : BACKOFF_MAX_S;
}

/* --- claims ------------------------------------------------------------ */

static bool is_same(const struct held *claim, const uint32_t *node, uint32_t n)
{
	return claim && claim->n == n &&
	       !memcmp(claim->node, node, n * sizeof(*node));
}

struct held *held_new(const uint32_t *node, uint32_t n)
{
	struct held *held = xmalloc(sizeof(*held) + n * sizeof(*node));

	held->serial = 0;
	held->n = n;
	memcpy(held->node, node, n * sizeof(*node));
	return held;
}

void claim_hold(struct state *state, struct job *job, struct held *claim)
{
	if (!job->claim) {
		state->claims.holder = GROW(
		    state->claims.holder, state->claims.n, &state->claims.cap);
		state->claims.holder[state->claims.n++] = job;
	}
	free(job->claim);
	job->claim = claim;
	placed_changed(state, job);
}

void claim_set(struct state *state, struct job *job, const uint32_t *node,
               uint32_t n, int64_t now)
{
	if (!is_same(job->claim, node, n)) {
		claim_hold(state, job, held_new(node, n));
		state_touch(state, job);
		if (job->state == JOB_PENDING)
			state_reindex(state, job, now);
	}
	job->claim->serial = state->last_plan.serial;
}

void claim_drop(struct state *state, struct job *job)
{
	size_t i = 0;

	if (!job->claim)
		return;
	while (state->claims.holder[i] != job)
		i++;
	state->claims.holder[i] = state->claims.holder[--state->claims.n];
	free(job->claim);
	job->claim = NULL;
	state_touch(state, job);
}

static void drop_and_wait(struct state *state, struct job *job, int64_t now)
{
	claim_drop(state, job);
	if (job->state == JOB_PENDING)
		state_reindex(state, job, now);
}

/* Whether the claim has a node in a pool that is not ready. Plans do not see
 * such a pool and cannot keep claims there, so claims_expire() must not drop
 * them: after a restart of the daemon no pool is ready at first. */
static bool is_out_of_sight(const struct state *state, const struct held *claim)
{
	for (uint32_t i = 0; i < claim->n; i++) {
		const struct node *node = &state->nodes.node[claim->node[i]];

		if (!state->pools.pool[node->pool].ready)
			return true;
	}
	return false;
}

void claims_expire(struct state *state, int64_t now)
{
	for (size_t i = state->claims.n; i-- > 0;) {
		const struct held *claim = state->claims.holder[i]->claim;

		if (claim->serial != state->last_plan.serial &&
		    !is_out_of_sight(state, claim))
			drop_and_wait(state, state->claims.holder[i], now);
	}
}

static bool is_claimed(const struct held *claim, uint32_t node)
{
	for (uint32_t i = 0; i < claim->n; i++)
		if (claim->node[i] == node)
			return true;
	return false;
}

static void void_claims_on(struct state *state, uint32_t node, int64_t now)
{
	for (size_t i = state->claims.n; i-- > 0;)
		if (is_claimed(state->claims.holder[i]->claim, node))
			drop_and_wait(state, state->claims.holder[i], now);
}

/* --- evictions --------------------------------------------------------- */

/* Record the time of an eviction, and forget evictions more than an
 * hour ago. */
static void note_time(struct job *job, int64_t now)
{
	const struct evictions *old = job->runs->evictions;
	uint32_t n = old ? old->n : 0, from = 0;
	struct evictions *e;

	while (from < n &&
	       (old->at[from] <= now - HOUR_S || n - from >= LIMIT_EVICTIONS))
		from++;
	e = xmalloc(sizeof(*e) + (n - from + 1) * sizeof(*e->at));
	e->n = n - from + 1;
	if (n > from)
		memcpy(e->at, old->at + from, (n - from) * sizeof(*e->at));
	e->at[e->n - 1] = now;
	free(job->runs->evictions);
	job_runs(job)->evictions = e;
}

void evict_note(struct state *state, struct job *job, const struct event_in *ev,
                bool whole)
{
	/* EVICT_NONE comes from `aictl preempt`, not from a plan. */
	counts_evicted(state, job,
	               ev->evict == EVICT_NONE ? EVICT_PREEMPT : ev->evict);
	job->evict = (uint8_t)ev->evict;
	job_runs(job)->evict_by = ev->evict_by;
	if (whole)
		note_time(job, ev->now);
}

int64_t evict_grace(const struct state *state, const struct job *job)
{
	int64_t most = state->conf->scheduling.evict_timeout;

	return job->grace < most ? job->grace : most;
}

void evict_watch(struct state *state, struct job *job, int64_t now)
{
	job_runs(job)->leave_by = now + evict_grace(state, job) +
	                          state->conf->scheduling.evict_timeout;
	state_alarm(state, job->runs->leave_by, job->id);
}

bool evict_is_ending(const struct job *job)
{
	return job->state == JOB_COMPLETING &&
	       (job->cause == CAUSE_PREEMPT || job->evict != EVICT_NONE);
}

int64_t evict_safe_until(const struct state *state, const struct job *job)
{
	const struct conf_scheduling *c = &state->conf->scheduling;
	int64_t since = job->runs->resumed > job->runs->start
	                    ? job->runs->resumed
	                    : job->runs->start;
	int64_t safe = since + state->conf->queues[job->queue].min_runtime;
	const struct evictions *e = job->runs->evictions;

	if (!c->max_evictions_per_hour)
		return FOR_EVER;
	if (!e)
		return safe;
	if (since + c->resume_cooldown > safe)
		safe = since + c->resume_cooldown;
	if (e->n >= c->max_evictions_per_hour) {
		int64_t oldest = e->at[e->n - c->max_evictions_per_hour];

		if (oldest + HOUR_S > safe)
			safe = oldest + HOUR_S;
	}
	return safe;
}

/* --- nodes where starts or evictions failed ----------------------------- */

static void back_off(struct state *state, struct node *node, int64_t now,
                     const char *why)
{
	int64_t wait = backoff_s(node->fails++);
	struct buf text = { 0 };

	node->retry_at = now + wait;
	state_alarm(state, node->retry_at, 0);
	buf_printf(&text, "%s; nothing starts here for ", why);
	format_duration(&text, wait);
	free(node->avoid_reason);
	node->avoid_reason = buf_take(&text);
	state_replan(state);
}

bool nodes_are_among(const struct strlist *list, const char *name)
{
	size_t i = 0;

	while (i < list->n && strcmp(list->s[i], name) != 0)
		i++;
	return i < list->n;
}

void nodes_blame(struct state *state, const struct job *job,
                 const struct strlist *whose, int64_t now)
{
	for (uint32_t i = 0; i < job->place->ntasks; i++) {
		struct node *node =
		    &state->nodes.node[job->place->task[i].node];
		uint64_t before = node->failed_job;
		struct buf why = { 0 };

		if (whose->n && !nodes_are_among(whose, node->name))
			continue;
		node->failed_job = job->id;
		if (!before || before == job->id)
			continue;
		buf_printf(&why, "the starts of job %llu and job %llu failed",
		           (unsigned long long)before,
		           (unsigned long long)job->id);
		back_off(state, node, now, why.data);
		buf_free(&why);
	}
}

void nodes_absolve(struct state *state, const struct job *job)
{
	for (uint32_t i = 0; i < job->place->ntasks; i++) {
		struct node *node =
		    &state->nodes.node[job->place->task[i].node];

		free(node->avoid_reason);
		node->avoid_reason = NULL;
		node->failed_job = 0;
		node->fails = 0;
		node->retry_at = 0;
	}
}

void evict_overdue(struct state *state, struct job *job, int64_t now)
{
	const struct placement *p =
	    job->runs->leaving ? job->runs->leaving : job->place;
	struct buf why = { 0 };

	buf_printf(&why, "job %s, which was evicted, has not ended",
	           job_id_text(job).text);
	for (uint32_t i = 0; i < p->ntasks; i++) {
		struct node *node = &state->nodes.node[p->task[i].node];

		if (i && p->task[i].node == p->task[i - 1].node)
			continue;
		back_off(state, node, now, why.data);
		void_claims_on(state, p->task[i].node, now);
	}
	buf_free(&why);
	job_runs(job)->leave_by = now + state->conf->scheduling.evict_timeout;
	state_alarm(state, job->runs->leave_by, job->id);
}

/* --- evictions and claims as sentences --------------------------------- */

static bool leaves_for(const struct job *job, uint64_t by)
{
	return job->runs->evict_by == by &&
	       (evict_is_ending(job) || job->runs->leaving);
}

static void list_jobs(const uint64_t *job, uint32_t n, struct buf *text)
{
	buf_printf(text, n == 1 ? "%u job is" : "%u jobs are", n);
	buf_puts(text, " being evicted for it (");
	for (uint32_t i = 0; i < n && i < NAMED; i++)
		buf_printf(text, "%sjob %llu", i ? ", " : "",
		           (unsigned long long)job[i]);
	buf_puts(text, n > NAMED ? ", ...); " : "); ");
}

/* Append "n0, n1 are held"; a node that is repeated is listed once. */
static void list_nodes(const struct state *state, const uint32_t *node,
                       uint32_t nnodes, struct buf *text)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < nnodes; i++) {
		if (i && node[i] == node[i - 1])
			continue;
		if (n++ < NAMED)
			buf_printf(text, "%s%s", n > 1 ? ", " : "",
			           state->nodes.node[node[i]].name);
	}
	if (n > NAMED)
		buf_printf(text, " and %u more node%s", n - NAMED,
		           n - NAMED == 1 ? "" : "s");
	buf_puts(text, n > 1 ? " are held" : " is held");
}

void evict_text(const struct state *state, const uint64_t *job, uint32_t njobs,
                const uint32_t *node, uint32_t nnodes, struct buf *text)
{
	if (njobs)
		list_jobs(job, njobs, text);
	list_nodes(state, node, nnodes, text);
}

void evict_why(const struct state *state, const struct job *job,
               struct buf *text, int64_t *ret_expected)
{
	int64_t timeout = state->conf->scheduling.evict_timeout;
	uint64_t victim[NAMED];
	uint32_t n = 0;

	for (const struct job *j = state->records.placed; j; j = j->row_next) {
		if (!leaves_for(j, job->id))
			continue;
		if (n++ < NAMED)
			victim[n - 1] = j->id;
		if (j->runs->leave_by - timeout > *ret_expected)
			*ret_expected = j->runs->leave_by - timeout;
	}
	if (text)
		evict_text(state, victim, n, job->claim->node, job->claim->n,
		           text);
}

const char *evict_name(unsigned evict)
{
	static const char *const names[] = {
#define X(sym, name) [EVICT_##sym] = #name,
		EVICTS(X)
#undef X
	};

	return evict != EVICT_NONE && evict < ARRAY_SIZE(names) ? names[evict]
	                                                        : NULL;
}
