/* usage.c - what users have used of queues, decaying over time */
#include "aischedd/state/cluster/usage.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/state/cluster/node.h"
#include "aischedd/state/cluster/pool.h"
#include "aischedd/state/pass/row.h"
#include "aischedd/state/state_priv.h"
#include "libcommon/mem.h"
#include "libcommon/steps.h"

/* --- arithmetic -------------------------------------------------------- */

typedef unsigned __int128 wide;

/* Fixed-point numbers with 62 bits after the point. */
#define ONE     ((uint64_t)1 << 62)
#define LN2     0x2c5c85fdf473de6b /* ln 2 */
#define PER_LN2 0x5c551d94ae0bf85e /* 1 / ln 2 */

/* The largest usage, so that the sum of two does not overflow. All pools
 * together use less in a hundred years. */
#define USAGE_MOST ((int64_t)1 << 61)

/* Returns 2^-x: computes e^-y by a series, where y is the fraction of x times
 * ln 2, and shifts the sum right by the integer part of x. */
static uint64_t half_to_the(wide x)
{
	uint64_t y = (uint64_t)((wide)(uint64_t)(x & (ONE - 1)) * LN2 >> 62);
	uint64_t sum = ONE, term = y;

	if (x >> 62 >= 62)
		return 0;
	for (uint64_t k = 2; term; k++) {
		sum += k & 1 ? term : -term;
		term = (uint64_t)((wide)term * y >> 62) / k;
	}
	return sum >> (uint64_t)(x >> 62);
}

static uint64_t left_after(int64_t seconds, int64_t half_life)
{
	return half_to_the(((wide)(uint64_t)seconds << 62) /
	                   (uint64_t)half_life);
}

/* Returns rate (1 - left) H / ln 2: the usage that a constant rate adds in a
 * span of time. left: the fraction of a charge that is left after this span. */
static int64_t grown(int64_t rate, uint64_t left, int64_t half_life)
{
	uint64_t part = (uint64_t)((wide)(ONE - left) * PER_LN2 >> 62);
	wide sum =
	    ((wide)(uint64_t)llabs(rate) * part >> 30) * (uint64_t)half_life >>
	    32;
	int64_t most = sum < (wide)USAGE_MOST ? (int64_t)sum : USAGE_MOST;

	return rate < 0 ? -most : most;
}

static int64_t within(int64_t amount)
{
	return amount < 0 ? 0 : amount < USAGE_MOST ? amount : USAGE_MOST;
}

int64_t usage_at(const struct usage *u, int64_t half_life, int64_t when)
{
	uint64_t left;
	int64_t old;

	if (when <= u->at)
		return u->amount;
	left = left_after(when - u->at, half_life);
	old = (int64_t)(((wide)(uint64_t)u->amount * left + ONE / 2) >> 62);
	return within(old + grown(u->rate, left, half_life));
}

void usage_change(struct usage *u, int64_t half_life, int64_t by, int64_t when)
{
	if (when < u->at) {
		uint64_t left = left_after(u->at - when, half_life);

		u->amount = within(u->amount + grown(by, left, half_life));
	} else {
		u->amount = usage_at(u, half_life, when);
		u->at = when;
	}
	u->rate += by;
}

uint16_t usage_light(int64_t used, int64_t all, uint32_t users)
{
	uint64_t light;

	if (!used)
		return LIGHT_MOST;
	light =
	    half_to_the(((wide)(uint64_t)used << 62) / (uint64_t)all * users);
	return (uint16_t)(((wide)light * LIGHT_MOST + ONE / 2) >> 62);
}

/* --- what a job is charged --------------------------------------------- */

/* Add to held[] what one task of the job keeps from other jobs. An exclusive
 * job keeps the whole node, which is counted with its first task there. */
static void hold_task(const struct state *state, const struct job *job,
                      const struct row_key *req, uint32_t task,
                      int64_t held[RES_N])
{
	const struct snap_task *t = &job->place->task[task];
	const struct node *node = &state->nodes.node[t->node];

	if (!req->exclusive) {
		held[RES_CPU] += req->cpus;
		held[RES_MEM] += req->mem;
		held[RES_GPU] += req->gpus;
	} else if (!task || t[-1].node != t->node) {
		held[RES_CPU] += node->cpu_milli;
		held[RES_MEM] += node->mem_mib;
		held[RES_GPU] += 1000 * (int64_t)node->ngpus;
	}
}

void usage_held(const struct state *state, struct job *job, int64_t ret[RES_N])
{
	const struct row_key *req = (const void *)placed_key(state, job)->text;

	memset(ret, 0, RES_N * sizeof(*ret));
	for (uint32_t i = 0; i < job->place->ntasks; i++)
		hold_task(state, job, req, i, ret);
	if (job->state == JOB_SUSPENDED)
		ret[RES_CPU] = 0; /* its CPUs are free for other jobs */
}

static int64_t charge_of(struct state *state, struct job *job)
{
	const struct pool_sum *sum = pool_sums(state);
	const struct row_key *req = (const void *)placed_key(state, job)->text;
	const struct snap_task *t = job->place->task;
	int64_t held[RES_N] = { 0 }, part[RES_N] = { 0 }, most = 0;

	for (uint32_t i = 0; i < job->place->ntasks; i++) {
		uint32_t pool = state->nodes.node[t[i].node].pool;
		const int64_t *total = sum[pool].total;

		hold_task(state, job, req, i, held);
		if (i + 1 < job->place->ntasks &&
		    state->nodes.node[t[i + 1].node].pool == pool)
			continue;
		for (int r = 0; r < RES_N; r++) {
			if (total[r] > 0)
				part[r] +=
				    (int64_t)((wide)(uint64_t)held[r] *
				              CHARGE_ALL / (uint64_t)total[r]);
			held[r] = 0;
		}
	}
	if (job->state == JOB_SUSPENDED)
		part[RES_CPU] = 0; /* its CPUs are free for other jobs */
	for (int r = 0; r < RES_N; r++)
		most = part[r] > most ? part[r] : most;
	return most;
}

static void touch(struct state *state, struct usage *u)
{
	u->dirty = state->usages.dirty = true;
	state->usages.judged = false;
}

static void change(struct state *state, const struct job *job, int64_t by,
                   int64_t when)
{
	struct usage *u = usage_of(state, job->queue, job->user);

	usage_change(u, state->conf->scheduling.fairshare_half_life, by, when);
	touch(state, u);
}

void usage_charge(struct state *state, struct job *job, int64_t now)
{
	int64_t charge = job->place ? charge_of(state, job) : 0;

	ledger_book(state, job, now);
	if (charge == job->runs->charge)
		return;
	change(state, job, charge - job->runs->charge, now);
	job_runs(job)->charge = charge;
	state_touch(state, job);
}

void usage_backdate(struct state *state, struct job *job, int64_t from,
                    int64_t to)
{
	change(state, job, -job->runs->charge, from);
	change(state, job, job->runs->charge, to);
}

/* --- the table of entries ----------------------------------------------- */

enum { STEPS_JUDGE = 2 }; /* the work of judge() for each entry, in steps */

static uint64_t usage_key(uint32_t queue, uint32_t user)
{
	return (uint64_t)queue << 32 | user;
}

struct usage *usage_find(const struct state *state, uint32_t queue,
                         uint32_t user)
{
	return map_find(&state->usages.by_key, usage_key(queue, user));
}

struct usage *usage_of(struct state *state, uint32_t queue, uint32_t user)
{
	struct usage *u = usage_find(state, queue, user);

	if (u)
		return u;
	u = xmalloc(sizeof(*u));
	*u =
	    (struct usage){ .queue = queue, .user = user, .light = LIGHT_MOST };
	map_set(&state->usages.by_key, usage_key(queue, user), u);
	state->usages.usage =
	    GROW(state->usages.usage, state->usages.n, &state->usages.cap);
	state->usages.usage[state->usages.n++] = u;
	state->usages.judged = false;
	return u;
}

static void drop(struct state *state, size_t i)
{
	struct usage *u = state->usages.usage[i];

	map_del(&state->usages.by_key, usage_key(u->queue, u->user));
	state->usages.usage[i] = state->usages.usage[--state->usages.n];
	free(u);
}

/* Returns a + b, but at most INT64_MAX. */
static int64_t add(int64_t a, int64_t b)
{
	return a < INT64_MAX - b ? a + b : INT64_MAX;
}

static void judge(struct state *state, int64_t now)
{
	int64_t half_life = state->conf->scheduling.fairshare_half_life;
	int64_t *all = xcalloc(state->conf->nqueues, sizeof(*all));
	uint32_t *users = xcalloc(state->conf->nqueues, sizeof(*users));

	for (size_t i = state->usages.n; i-- > 0;) {
		struct usage *u = state->usages.usage[i];

		u->used = usage_at(u, half_life, now);
		if (u->used < USAGE_NOTHING && !u->jobs && !u->dirty) {
			drop(state, i);
			continue;
		}
		all[u->queue] = add(all[u->queue], u->used);
		users[u->queue]++;
	}
	for (size_t i = 0; i < state->usages.n; i++) {
		struct usage *u = state->usages.usage[i];

		u->part = 0;
		if (u->used)
			u->part = (uint32_t)((wide)(uint64_t)u->used * 1000000 /
			                     (uint64_t)all[u->queue]);
		u->light = usage_light(u->used, all[u->queue], users[u->queue]);
	}
	free(all);
	free(users);
}

void state_judge_usage(struct state *state, int64_t now)
{
	struct usage_table *t = &state->usages;

	/* A guest without jobs is left over from --test-only. The last
	 * call counted it as a user of the queue: judge again without it. */
	if (t->judged && t->judged_at == now && (!t->guest || t->guest->jobs))
		return;
	steps_add((uint64_t)STEPS_JUDGE * t->n);
	judge(state, now);
	t->guest = NULL;
	t->judged = true;
	t->judged_at = now;
}

void state_judge_usage_again(struct state *state, int64_t now)
{
	state->usages.judged = false;
	state_judge_usage(state, now);
}

void usage_try(struct state *state, const struct job *job, int64_t now)
{
	usage_of(state, job->queue, job->user)->jobs++;
	state_judge_usage(state, now);
}

void usage_untry(struct state *state, const struct job *job)
{
	struct usage *u = usage_of(state, job->queue, job->user);

	if (!--u->jobs && !u->used)
		state->usages.guest = u;
}

void usage_reconf(struct state *state, const struct conf *conf,
                  const uint32_t *queue_to, int64_t now)
{
	int64_t half_life = state->conf->scheduling.fairshare_half_life;
	bool is_other = conf->scheduling.fairshare_half_life != half_life;
	size_t n = state->usages.n;

	map_free(&state->usages.by_key);
	state->usages.judged = false;
	state->usages.guest = NULL;
	state->usages.n = 0;
	for (size_t i = 0; i < n; i++) {
		struct usage *u = state->usages.usage[i];

		if (is_other) {
			usage_change(u, half_life, 0, now);
			touch(state, u);
		}
		u->queue = queue_to[u->queue];
		if (u->queue == (uint32_t)-1) {
			free(u);
			continue;
		}
		map_set(&state->usages.by_key, usage_key(u->queue, u->user), u);
		state->usages.usage[state->usages.n++] = u;
	}
}

void usage_free(struct state *state)
{
	for (size_t i = 0; i < state->usages.n; i++)
		free(state->usages.usage[i]);
	free(state->usages.usage);
	map_free(&state->usages.by_key);
}

/* --- for listings and the store ---------------------------------------- */

size_t state_nusages(const struct state *state)
{
	return state->usages.n;
}

const struct usage *state_usage(const struct state *state, size_t i)
{
	return state->usages.usage[i];
}

void state_load_usage(struct state *state, const char *queue, uint32_t uid,
                      const char *user, int64_t amount, int64_t at)
{
	int q = conf_queue_find(state->conf, queue);
	struct usage *u;

	if (q < 0)
		return;
	u = usage_of(state, (uint32_t)q, state_intern_user(state, uid, user));
	u->amount = within(amount);
	u->at = at;
	state->usages.judged = false;
}
