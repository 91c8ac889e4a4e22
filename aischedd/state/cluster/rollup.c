/* rollup.c - rollups: sums of use by the hour, for each user, queue and
 * so on */
#include "aischedd/state/cluster/rollup.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/state/cluster/ledger.h"
#include "aischedd/state/life/submit.h"
#include "aischedd/state/state_priv.h"
#include "libcommon/cron/period.h"
#include "libcommon/mem.h"

enum {
	HOURS_AT_ONCE = 1000, /* a turn books at most this many hours */
	/* a span of more hours is booked in several turns */
	HOURS_LONG = 48,
	HOUR_MS = 3600000
};

typedef __int128 wide;

/* --- book amounts in sums of hours ------------------------------------- */

/* Returns the upper bound of a bucket in milliseconds. Bucket 0 has waits below
 * a second, the last bucket all waits beyond 40 days. */
static int64_t bound_of(uint32_t bucket)
{
	int64_t ms = 1000;

	while (bucket--)
		ms = ms * 11 / 10;
	return ms;
}

/* Returns the index of the bucket that counts this wait. */
static uint32_t bucket_of(int64_t wait_ms)
{
	uint32_t bucket = 0;

	for (int64_t ms = 1000; wait_ms >= ms; ms = ms * 11 / 10)
		if (++bucket == ROLLUP_BUCKETS - 1)
			break;
	return bucket;
}

int64_t rollup_bucket_ms(uint32_t bucket)
{
	return bucket ? (bound_of(bucket - 1) + bound_of(bucket)) / 2 : 0;
}

static int64_t clamp(wide n)
{
	return n > INT64_MAX   ? INT64_MAX
	       : n < INT64_MIN ? INT64_MIN
	                       : (int64_t)n;
}

int64_t rollup_sum(int64_t a, int64_t b)
{
	return clamp((wide)a + b);
}

static int64_t amount(int64_t sum, int64_t rate, int64_t ms)
{
	return clamp(sum + (wide)rate * ms);
}

void rollup_add(int64_t sum[ROLLUP_NSUMS], const int64_t rate[RATES],
                int64_t ms)
{
	wide cost = (wide)rate[RATE_COST] * ms + sum[SUM_cost_rest];

	sum[SUM_held_cpu] = amount(sum[SUM_held_cpu], rate[RES_CPU], ms);
	sum[SUM_held_mem] = amount(sum[SUM_held_mem], rate[RES_MEM], ms);
	sum[SUM_held_gpu] = amount(sum[SUM_held_gpu], rate[RES_GPU], ms);
	sum[SUM_cost] = clamp(sum[SUM_cost] + cost / HOUR_MS);
	sum[SUM_cost_rest] = (int64_t)(cost % HOUR_MS);
}

static void touch(struct state *state, struct rollup *r)
{
	struct rollup_table *t = &state->rollups;

	if (r->dirty)
		return;
	r->dirty = true;
	t->changed = GROW(t->changed, t->nchanged, &t->changed_cap);
	t->changed[t->nchanged++] = r;
}

/* Returns the begin and the end of the hour that contains a time; borrowed
 * until the next call. */
static const int64_t *hour_of(struct state *state, int64_t at_ms)
{
	struct rollup_table *t = &state->rollups;
	int64_t at = at_ms / 1000;

	if (at < t->hour[0] || at >= t->hour[1])
		period_of(t->zone, PERIOD_HOUR, at, t->hour);
	return t->hour;
}

/* Returns the element of r->due for the hour that contains this time; adds one
 * if there is none. r->due is in order of time, and usually the last element is
 * the right one. */
static struct rollup_due *due_of(struct state *state, struct rollup *r,
                                 int64_t at_ms)
{
	int64_t hour = hour_of(state, at_ms)[0];
	size_t low = 0, high = r->ndue;

	touch(state, r);
	if (high && r->due[high - 1].hour < hour)
		low = high;
	while (low < high) {
		size_t mid = (low + high) / 2;

		if (r->due[mid].hour < hour)
			low = mid + 1;
		else
			high = mid;
	}
	if (low < r->ndue && r->due[low].hour == hour)
		return &r->due[low];
	r->due = GROW(r->due, r->ndue, &r->due_cap);
	memmove(&r->due[low + 1], &r->due[low],
	        (r->ndue - low) * sizeof(*r->due));
	r->due[low] = (struct rollup_due){ .hour = hour };
	r->ndue++;
	return &r->due[low];
}

static void add_hours(struct state *state, struct rollup *r,
                      const int64_t rate[RATES], int64_t from, int64_t to)
{
	while (from < to) {
		int64_t end = hour_of(state, from)[1] * 1000;

		end = end < to ? end : to;
		rollup_add(due_of(state, r, from)->sum, rate, end - from);
		from = end;
	}
}

static int64_t hours_in(int64_t from_ms, int64_t to_ms)
{
	return (to_ms - from_ms + HOUR_MS - 1) / HOUR_MS;
}

static void add_lag(struct rollup_table *t, const struct rollup_lag *lag)
{
	t->lag = GROW(t->lag, t->nlags, &t->lag_cap);
	t->lag[t->nlags++] = *lag;
}

/* Book a span of time at these rates: now, or in several turns if it
 * is long. */
static void add_span(struct state *state, struct rollup *r,
                     const int64_t rate[RATES], int64_t from, int64_t to)
{
	struct rollup_lag lag = { .rollup = r, .from_ms = from, .to_ms = to };

	if (hours_in(from, to) <= HOURS_LONG) {
		add_hours(state, r, rate, from, to);
		return;
	}
	memcpy(lag.rate, rate, sizeof(lag.rate));
	add_lag(&state->rollups, &lag);
	state->rollups.lags_changed = true;
	touch(state, r);
}

/* Book some hours of the last of the long spans. */
static void book_lag(struct state *state)
{
	struct rollup_table *t = &state->rollups;
	struct rollup_lag *lag = &t->lag[t->nlags - 1];
	int64_t end = lag->from_ms + (int64_t)HOURS_AT_ONCE * HOUR_MS;

	end = end < lag->to_ms ? end : lag->to_ms;
	add_hours(state, lag->rollup, lag->rate, lag->from_ms, end);
	lag->from_ms = end;
	t->nlags -= lag->from_ms == lag->to_ms;
	t->lags_changed = true;
}

int64_t state_lag_hours(const struct state *state)
{
	const struct rollup_table *t = &state->rollups;
	int64_t hours = 0;

	for (size_t i = 0; i < t->nlags; i++)
		hours += hours_in(t->lag[i].from_ms, t->lag[i].to_ms);
	return hours;
}

static bool is_idle(const struct rollup *r)
{
	for (int i = 0; i < RATES; i++)
		if (r->rate[i])
			return false;
	return true;
}

static void book(struct state *state, struct rollup *r, int64_t at_ms)
{
	if (at_ms <= r->booked_ms)
		return;
	if (!is_idle(r))
		add_span(state, r, r->rate, r->booked_ms, at_ms);
	r->booked_ms = at_ms;
	touch(state, r);
}

void rollup_change(struct state *state, struct rollup *r,
                   const int64_t rate[RATES], int sign, int64_t at_ms)
{
	int64_t by[RATES];

	for (int i = 0; i < RATES; i++)
		by[i] = rate[i] * sign;
	book(state, r, at_ms);
	/* If at_ms is before booked_ms, this corrects what was booked
	 * since at_ms. */
	add_span(state, r, by, at_ms, r->booked_ms);
	for (int i = 0; i < RATES; i++)
		r->rate[i] += by[i];
	touch(state, r);
}

void rollup_resume(struct rollup *r, const int64_t rate[RATES])
{
	for (int i = 0; i < RATES; i++)
		r->rate[i] += rate[i];
}

bool state_book_some(struct state *state, int64_t now_ms)
{
	struct rollup_table *t = &state->rollups;
	int64_t left = HOURS_AT_ONCE;

	if (t->nlags) {
		book_lag(state);
		return true;
	}
	for (; t->walk < t->n && left > 0; t->walk++) {
		struct rollup *r = t->rollup[t->walk];
		int64_t hours = hours_in(r->booked_ms, now_ms);

		if (is_idle(r) || r->booked_ms >= now_ms)
			continue;
		book(state, r, now_ms);
		left -= hours > HOURS_LONG ? 1 : hours + 1;
	}
	if (t->walk < t->n)
		return true;
	t->walk = 0;
	return t->nlags > 0;
}

/* --- count starts and ends of jobs ------------------------------------- */

static void count_wait(struct state *state, struct rollup *r, int64_t at_ms,
                       uint32_t bucket)
{
	int64_t hour = hour_of(state, at_ms)[0];

	for (size_t i = r->nwait; i-- > 0;)
		if (r->wait[i].hour == hour && r->wait[i].bucket == bucket) {
			r->wait[i].n++;
			return;
		}
	r->wait = GROW(r->wait, r->nwait, &r->wait_cap);
	r->wait[r->nwait++] = (struct rollup_wait){ hour, bucket, 1 };
}

void rollup_started(struct state *state, struct rollup *r, int64_t at_ms,
                    int64_t wait_ms)
{
	struct rollup_due *due = due_of(state, r, at_ms);

	due->sum[SUM_jobs]++;
	due->sum[SUM_waits]++;
	due->sum[SUM_wait_ms] += wait_ms;
	if (wait_ms > due->wait_max_ms)
		due->wait_max_ms = wait_ms;
	count_wait(state, r, at_ms, bucket_of(wait_ms));
}

static enum rollup_sum sum_of_state(enum job_state state)
{
	switch (state) {
	case JOB_COMPLETED:
		return SUM_completed;
	case JOB_FAILED:
		return SUM_failed;
	case JOB_CANCELLED:
		return SUM_cancelled;
	case JOB_TIMEOUT:
		return SUM_timeout;
	default:
		return SUM_other;
	}
}

static bool has_failed(enum job_state state)
{
	return state == JOB_FAILED || state == JOB_TIMEOUT ||
	       state == JOB_OUT_OF_MEMORY || state == JOB_NODE_FAIL;
}

bool rollup_is_lost(int cause, int why)
{
	return cause == CAUSE_PREEMPT || cause == CAUSE_RECALL ||
	       why == WHY_NodeFail;
}

void rollup_ended(struct state *state, struct rollup *r,
                  const struct attempt_row *row, int64_t all_gpu_ms)
{
	int64_t *sum = due_of(state, r, row->ended_ms)->sum;
	int64_t ms = row->ended_ms - row->began_ms;

	sum[SUM_attempts]++;
	if (job_state_is_final(row->state))
		sum[sum_of_state(row->state)]++;
	if (has_failed(row->state))
		sum[SUM_failed_gpu_ms] += all_gpu_ms;
	if (row->state == JOB_PENDING &&
	    (row->cause == CAUSE_PREEMPT || row->why == WHY_NodeFail))
		sum[SUM_evicted]++;
	if (row->state == JOB_PENDING && rollup_is_lost(row->cause, row->why))
		sum[SUM_evicted_gpu_ms] += row->sum.held[RES_GPU];
	sum[SUM_gpu_busy_ms] += row->gpu.busy_ms;
	sum[SUM_gpu_known_ms] += row->gpu.known_ms;
	if (row->cpu_ms != SPEC_UNSET) {
		sum[SUM_cpu_used_ms] += row->cpu_ms;
		sum[SUM_cpu_known_ms] += row->sum.held[RES_CPU];
	}
	if (row->peak_kib != SPEC_UNSET) {
		sum[SUM_mem_used_mib_s] +=
		    (int64_t)((wide)row->peak_kib * ms / 1024000);
		sum[SUM_mem_known_mib_s] += row->sum.held[RES_MEM];
	}
}

/* --- find and add rollups ---------------------------------------------- */

static uint64_t hash_parts(const char *const part[PARTS])
{
	uint64_t hash = 0;

	for (int i = 0; i < PARTS; i++)
		hash = hash_bytes(hash, part[i], strlen(part[i]) + 1);
	return hash;
}

static bool has_parts(const struct rollup *r, const char *const part[PARTS])
{
	for (int i = 0; i < PARTS; i++)
		if (strcmp(r->part[i], part[i]) != 0)
			return false;
	return true;
}

static struct rollup *new_rollup(struct state *state, uint64_t hash,
                                 const char *const part[PARTS], int64_t id)
{
	struct rollup_table *t = &state->rollups;
	struct rollup *r = xcalloc(1, sizeof(*r));

	r->id = id;
	r->hash = hash;
	for (int i = 0; i < PARTS; i++)
		r->part[i] = xstrdup(part[i]);
	r->next = map_find(&t->by_hash, hash);
	map_set(&t->by_hash, hash, r);
	map_set(&t->by_id, (uint64_t)id, r);
	t->rollup = GROW(t->rollup, t->n, &t->cap);
	t->rollup[t->n++] = r;
	if (id >= t->next_id)
		t->next_id = id + 1;
	return r;
}

static struct rollup *find_or_make(struct state *state,
                                   const char *const part[PARTS])
{
	uint64_t hash = hash_parts(part);
	struct rollup *r = map_find(&state->rollups.by_hash, hash);

	while (r && !has_parts(r, part))
		r = r->next;
	return r ? r
	         : new_rollup(state, hash, part,
	                      state->rollups.next_id ? state->rollups.next_id
	                                             : 1);
}

struct rollup *rollup_of(struct state *state, const struct job *job)
{
	const struct node *node = &state->nodes.node[job->place->task[0].node];
	const char *part[PARTS];
	struct spec spec;

	spec_unpack(&spec, job->packed);
	part[PART_USER] = state->users.user[job->user].name;
	part[PART_ACCOUNT] = spec.account ? spec.account : "";
	part[PART_QUEUE] = state->conf->queues[job->queue].name;
	part[PART_CLASS] = state_class(state, &spec, job->queue);
	part[PART_POOL] = state->conf->pools[node->pool].name;
	part[PART_GPU] =
	    job->ledger->rate[RES_GPU] && node->gpu_type ? node->gpu_type : "";
	return find_or_make(state, part);
}

struct rollup *rollup_of_pool(struct state *state, const char *class,
                              const char *pool, const char *gpu_type)
{
	const char *const part[PARTS] = {
		[PART_USER] = "",   [PART_ACCOUNT] = "",
		[PART_QUEUE] = "",  [PART_CLASS] = class,
		[PART_POOL] = pool, [PART_GPU] = gpu_type,
	};

	return find_or_make(state, part);
}

struct rollup *rollup_find(const struct state *state, int64_t id)
{
	return map_find(&state->rollups.by_id, (uint64_t)id);
}

size_t state_nrollups(const struct state *state)
{
	return state->rollups.n;
}

const struct rollup *state_rollup(const struct state *state, size_t i)
{
	return state->rollups.rollup[i];
}

void state_set_zone(struct state *state, const struct zone *zone)
{
	state->rollups.zone = zone;
	memset(state->rollups.hour, 0, sizeof(state->rollups.hour));
}

const struct zone *state_zone(const struct state *state)
{
	return state->rollups.zone;
}

void state_load_rollup(struct state *state, int64_t id,
                       const char *const part[PARTS], int64_t booked_ms)
{
	new_rollup(state, hash_parts(part), part, id)->booked_ms = booked_ms;
}

void state_load_lag(struct state *state, int64_t id,
                    const struct rollup_lag *lag)
{
	struct rollup_lag copy = *lag;

	copy.rollup = rollup_find(state, id);
	if (copy.rollup && copy.from_ms < copy.to_ms)
		add_lag(&state->rollups, &copy);
}

void rollups_committed(struct state *state)
{
	struct rollup_table *t = &state->rollups;

	t->lags_changed = false;
	for (size_t i = 0; i < t->nchanged; i++) {
		t->changed[i]->ndue = t->changed[i]->nwait = 0;
		t->changed[i]->dirty = false;
	}
	t->nchanged = 0;
}

void rollups_free(struct state *state)
{
	struct rollup_table *t = &state->rollups;

	for (size_t i = 0; i < t->n; i++) {
		struct rollup *r = t->rollup[i];

		for (int p = 0; p < PARTS; p++)
			free(r->part[p]);
		free(r->due);
		free(r->wait);
		free(r);
	}
	free(t->rollup);
	free(t->changed);
	free(t->lag);
	map_free(&t->by_hash);
	map_free(&t->by_id);
}
