/*
 * test_promise.c - promised starts in simulated clusters
 *
 * Jobs arrive and end, and after each of these events the starts of a new plan
 * are carried out. A promised start must never become later. This is checked
 * for the first pending job on any cluster, also if most jobs demand one NUMA
 * node or the fewest link groups, and for all pending jobs on a single node if
 * no job uses parts of devices. With only CPUs and one promise, the starts must
 * be those of EASY backfill. Some jobs are tasks of arrays that run only some
 * of them at a time. Where jobs wait for limits and licences, and only the
 * first few are promised a start, each start that is told comes true.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/sched/check/plan_check.h"
#include "aischedd/sched/text/text.h"
#include "libcommon/mem.h"
#include "tests/unit/check.h"
#include "tests/unit/dice.h"

enum {
	WORLDS = 150,
	EASY_WORLDS = 100,
	STRICT_WORLDS = 100,
	JOBS = 40,
	ARRAYS = 3,
	EASY_CPUS = 16
};

enum phase { COMES, WAITS, RUNS, IS_OVER };

struct test_job {
	enum phase phase;
	char shape[160];
	char on[600];
	/* lasts: how long it runs; 0: forever */
	int64_t arrives, lasts, start;
	int64_t limit;    /* its time limit; 0: none */
	int64_t promised; /* SNAP_NEVER: none */
	bool strict;      /* demands NUMA nodes or link groups */
	uint32_t array;   /* 0: none */
	uint32_t cpus;    /* requested; for the comparison with EASY */
};

struct promise_world {
	struct dice d;
	/* check all promises, not only that of the first pending job */
	bool all;
	bool strict; /* most jobs demand NUMA nodes or link groups */
	bool limits; /* limits of queues and users, and licences */
	bool rows;   /* the waiting tasks of an array are one row */
	struct buf base, text;
	struct buf promises; /* of the last plan, as in a snapshot */
	int64_t now, wake;
	/* their ids are 1, 2, ..., in order of arrival */
	struct test_job job[JOBS];
};

/* --- the world ------------------------------------------------------------ */

static void add_nodes(struct promise_world *w)
{
	uint32_t n = w->all ? 1 : 2 + roll(&w->d, 5);

	buf_printf(&w->base,
	           "policy age=0 size=0 fairshare=0 consolidate=no depth=%s\n",
	           w->all && !w->limits ? "100" : PICK(&w->d, "1", "3", "100"));
	if (w->limits)
		dice_puts(&w->d, &w->base,
		          "license a total=2\nlicense b total=4\n"
		          "queue q%s%s%s\n",
		          ANY("", "", " max_jobs=3", " max_jobs=1"),
		          ANY("", " max_jobs_user=1", " max_jobs_user=2"),
		          ANY("", " max_gpus_user=2", " limit=cpus:6",
		              " limit=gpus:3"));
	buf_printf(&w->base,
	           "pool a order=%s\npool b\nlevel rack\n"
	           "domain r0 level=rack\ndomain r1 level=rack\n",
	           PICK(&w->d, "pack", "spread"));
	for (uint32_t i = 0; i < n; i++) {
		buf_printf(&w->base, "node n%u mem=64G", (unsigned)i);
		dice_puts(&w->d, &w->base, " cpus=%s%s%s domain=%s\n",
		          ANY("4", "8", "16",
		              "8 threads=8 core=0*2,1*2,2*2,3*2 numa=0*4,1*4"),
		          ANY("", " gpus=4", " gpus=4 gpu_type=x*2,y*2",
		              " gpus=4 gpu_numa=0*2,1*2", " gpus=8",
		              " gpus=2 gpu_mem=40G", " gpus=2 gpu_mem=80G"),
		          ANY("", "", "", " pool=b"), ANY("r0", "r1"));
	}
	if (!roll(&w->d, 4)) {
		unsigned end = 1600 + (unsigned)roll(&w->d, 500);

		buf_printf(&w->base,
		           "reservation r start=%u end=%u nodes=n0 users=z\n",
		           1000 + (unsigned)roll(&w->d, 500), end);
	}
}

static void add_job(struct promise_world *w, struct test_job *job)
{
	struct dice *d = &w->d;
	uint32_t late = roll(d, 3);
	struct buf shape = { 0 };
	bool part = !w->all; /* whether some jobs use parts of a GPU or CPU */

	job->arrives = 1000 + late * roll(d, 600);
	job->lasts = roll(d, 10) ? 10 * (1 + roll(d, 60)) : 0;
	job->limit = job->lasts;
	job->promised = SNAP_NEVER;
	dice_puts(
	    d, &shape, " cpus=%s mem=%s gpus=%s%s%s%s",
	    ANY("1", "1", "2", "4", "8", part ? "0.5" : "3",
	        part ? "1.25" : "1"),
	    ANY("0", "1G", "20G"),
	    ANY("0", "0", "0", "1", "2", part ? "0.5" : "1", part ? "0.3" : "3",
	        "4", part ? "0.5 gpu_mem=20G" : "1"),
	    ANY("", "", "", part ? " gpu_type=x" : "", " exclusive",
	        " need=rack", part ? " numa=strict" : ""),
	    ANY("", "", " tasks=2", " tasks=3", " tasks=4 nodes=2", " tasks=6"),
	    ANY("", "", "", " tasks_per_node=1", " tasks_per_node=2"));
	if (w->limits)
		dice_puts(d, &shape, " queue=q user=%s%s", ANY("u", "v", "w"),
		          ANY("", "", "", " licenses=a", " licenses=a:2,b",
		              " licenses=b:3"));
	ck_assert_uint_lt(shape.len, sizeof(job->shape));
	snprintf(job->shape, sizeof(job->shape), "%s", shape.data);
	buf_free(&shape);
}

/* Make jobs equal that are tasks of an array. */
static void add_arrays(struct promise_world *w)
{
	struct dice *d = &w->d;
	uint32_t n = roll(d, ARRAYS + 1);

	w->rows = roll(d, 2);
	for (uint32_t i = 1; i <= n; i++) {
		uint32_t first = (i - 1) * JOBS / ARRAYS;
		uint32_t last = first + 2 + roll(d, JOBS / ARRAYS - 2);

		buf_printf(&w->base, "array a%u limit=%u\n", (unsigned)i,
		           1 + (unsigned)roll(d, 4));
		w->job[first].array = i;
		for (uint32_t k = first + 1; k < last; k++)
			w->job[k] = w->job[first];
	}
}

/* --- the world of strict jobs --------------------------------------------- */

static void add_strict_nodes(struct promise_world *w)
{
	uint32_t n = 1 + roll(&w->d, 4);

	dice_puts(&w->d, &w->base,
	          "policy age=0 size=0 fairshare=0 consolidate=no depth=%s\n"
	          "pool a order=%s\n",
	          ANY("1", "3", "100"), ANY("pack", "spread"));
	for (uint32_t i = 0; i < n; i++)
		buf_printf(
		    &w->base, "node n%u mem=64G %s\n", (unsigned)i,
		    PICK(&w->d,
		         "cpus=8 threads=8 numa=0*4,1*4 gpus=4 "
		         "gpu_numa=0*2,1*2 gpu_link=0*2,1*2",
		         "cpus=8 threads=8 core=0*2,1*2,2*2,3*2 numa=0*4,1*4 "
		         "numa_mem=24G,40G gpus=4 gpu_numa=0*2,1*2",
		         "cpus=12 threads=12 numa=0*4,1*4,2*4 "
		         "numa_mem=16G,16G,32G gpus=6 gpu_numa=0*2,1*2,2*2 "
		         "gpu_link=0*3,1*3",
		         "cpus=16 threads=16 numa=0*8,1*8 gpus=8 "
		         "gpu_numa=0*4,1*4 gpu_link=0*2,1*2,2*2,3*2",
		         "cpus=8 gpus=8 gpu_link=0*4,1*4",
		         "cpus=8 threads=8 numa=0*4,1*4"));
}

static void add_strict_job(struct promise_world *w, struct test_job *job)
{
	struct dice *d = &w->d;
	struct buf shape = { 0 };

	/* Let a plan start several jobs: a test of many starts is short then.
	 */
	job->arrives = 1000 + 100 * roll(d, 8);
	job->lasts = roll(d, 40) ? 100 * (1 + roll(d, 2)) : 0;
	job->limit = job->lasts;
	job->promised = SNAP_NEVER;
	dice_puts(d, &shape, " cpus=%s mem=%s gpus=%s%s%s",
	          ANY("1", "1", "2", "3", "4", "0.5", "6"),
	          ANY("0", "1G", "12G", "20G"),
	          ANY("0", "0", "1", "1", "2", "2", "3", "4", "0.5"),
	          ANY(" numa=strict", " numa=strict", " numa=tight",
	              " links=strict", " numa=strict links=strict",
	              " numa=tight links=strict", ""),
	          ANY("", "", "", " tasks=2", " tasks=3",
	              " tasks=2 tasks_per_node=1", " exclusive"));
	ck_assert_uint_lt(shape.len, sizeof(job->shape));
	snprintf(job->shape, sizeof(job->shape), "%s", shape.data);
	buf_free(&shape);
	job->strict =
	    strstr(job->shape, "strict") || strstr(job->shape, "tight");
}

static int by_arrival(const void *a, const void *b)
{
	const struct test_job *x = a, *y = b;

	if (x->arrives != y->arrives)
		return x->arrives < y->arrives ? -1 : 1;
	return (x->array > y->array) - (x->array < y->array);
}

/* --- one pass ---------------------------------------------------------- */

/* Whether the job is written in the row of a job before it. */
static bool is_in_row(const struct promise_world *w, uint32_t i)
{
	const struct test_job *job = &w->job[i];

	return w->rows && i && job->array && job->phase == WAITS &&
	       job[-1].array == job->array && job[-1].phase == WAITS;
}

static void write_shape(struct promise_world *w, uint32_t i)
{
	const struct test_job *job = &w->job[i];

	buf_printf(&w->text, "%s %u", job->phase == RUNS ? "run" : "pend",
	           (unsigned)i + 1);
	while (++i < JOBS && is_in_row(w, i))
		buf_printf(&w->text, ",%u", (unsigned)i + 1);
	buf_puts(&w->text, job->shape);
	if (job->array)
		buf_printf(&w->text, " array=a%u", (unsigned)job->array);
}

static void write_world(struct promise_world *w)
{
	buf_clear(&w->text);
	buf_printf(&w->text, "now %lld\n%s", (long long)w->now, w->base.data);
	for (uint32_t i = 0; i < JOBS; i++) {
		const struct test_job *job = &w->job[i];

		if ((job->phase != WAITS && job->phase != RUNS) ||
		    is_in_row(w, i))
			continue;
		write_shape(w, i);
		if (job->limit)
			buf_printf(&w->text, " time=%lld",
			           (long long)job->limit);
		if (job->phase == RUNS)
			buf_printf(&w->text, " start=%lld on=%s",
			           (long long)job->start, job->on);
		if (job->phase == RUNS && job->limit)
			buf_printf(&w->text, " end=%lld",
			           (long long)(job->start + job->limit));
		buf_addc(&w->text, '\n');
	}
	buf_puts(&w->text, w->promises.len ? w->promises.data : "");
}

/* Count what the bars of a soak are about. */
static void count_start(const struct promise_world *w,
                        const struct test_job *job)
{
	if (!w->strict)
		return;
	dice_sum("starts", 1);
	dice_sum("starts with demands for NUMA nodes or links", job->strict);
	dice_sum("of these, promised before",
	         job->strict && job->promised != SNAP_NEVER);
}

/* Carry out the starts of a plan: "start 12 n0:g0-3". */
static void begin_jobs(struct promise_world *w, const char *plan)
{
	for (const char *line = plan; line && *line;) {
		const char *end = strchr(line, '\n');
		unsigned id;
		int at;

		if (sscanf(line, "start %u %n", &id, &at) == 1) {
			struct test_job *job = &w->job[id - 1];

			check_long(job->promised == SNAP_NEVER ||
			               w->now <= job->promised,
			           w->text.data, "job %u was promised %lld", id,
			           (long long)job->promised);
			count_start(w, job);
			job->phase = RUNS;
			job->start = w->now;
			snprintf(job->on, sizeof(job->on), "%.*s",
			         (int)(end - line) - at, line + at);
		}
		line = end ? end + 1 : NULL;
	}
}

static void look_at_promise(struct promise_world *w, uint64_t id, int64_t at)
{
	struct test_job *job = &w->job[id - 1];

	/* Behind limits a start may be told no longer, but comes true all the
	 * same. */
	if (w->limits && at == SNAP_NEVER && w->now < job->promised)
		return;
	check_long(job->promised == SNAP_NEVER ||
	               (at != SNAP_NEVER && at <= job->promised),
	           w->text.data, "job %u was promised %lld, now %lld",
	           (unsigned)id, (long long)job->promised, (long long)at);
	job->promised = at;
}

static void look_at_promises(struct promise_world *w, const struct snap *s,
                             const struct plan *plan)
{
	bool first = true;

	for (uint32_t row = 0; row < s->pend.n; row++) {
		const struct verdict *v = &plan->verdict[row];

		if (v->why == WHY_None || v->why == WHY_NeverFits)
			continue;
		if (w->all || first)
			look_at_promise(w, v->first, v->expected);
		first = false;
	}
	for (uint32_t i = 0; w->all && i < plan->npromised; i++)
		look_at_promise(w, s->member[plan->promised[i].member].job,
		                plan->promised[i].expected);
}

static void write_promise(struct promise_world *w, const struct snap *s,
                          const struct plan *plan,
                          const struct snap_promise *it)
{
	const uint32_t *node = plan->promise_node + it->node_first;

	buf_printf(&w->promises, "promise %u %lld", (unsigned)it->job,
	           (long long)it->start);
	for (uint32_t i = 0; i < it->n; i++)
		buf_printf(&w->promises, "%s%s", i ? "," : " ",
		           s->node.name[node[i]]);
	buf_addc(&w->promises, '\n');
}

/* Keep the promises of a plan for the next snapshot, in the order of jobs. */
static void keep_promises(struct promise_world *w, const struct snap *s,
                          const struct plan *plan)
{
	buf_clear(&w->promises);
	for (uint32_t id = 1; id <= JOBS; id++) {
		for (uint32_t i = 0; i < plan->npromises; i++) {
			if (plan->promise[i].job == id)
				write_promise(w, s, plan, &plan->promise[i]);
		}
	}
}

static void plan_world(struct promise_world *w)
{
	struct arena *arena = arena_new();
	struct buf out = { 0 };
	const struct snap *snap;
	const struct plan *plan;
	struct err why;

	write_world(w);
	snap = snap_read(w->text.data, arena, &why);
	check_long(snap != NULL, w->text.data, "%s", why.text);
	plan = sched_plan(snap, arena);
	check_long(plan_check(snap, plan, &why) == 0, w->text.data, "%s",
	           why.text);
	w->wake = plan->wake;
	look_at_promises(w, snap, plan);
	keep_promises(w, snap, plan);
	plan_write(snap, plan, &out);
	begin_jobs(w, out.data);
	buf_free(&out);
	arena_free(arena);
}

/* --- time ----------------------------------------------------------------- */

static int64_t next_event(const struct promise_world *w)
{
	int64_t next = w->wake > w->now ? w->wake : INT64_MAX;

	for (uint32_t i = 0; i < JOBS; i++) {
		const struct test_job *job = &w->job[i];
		int64_t at = INT64_MAX;

		if (job->phase == COMES)
			at = job->arrives;
		else if (job->phase == RUNS && job->lasts)
			at = job->start + job->lasts;
		next = at < next ? at : next;
	}
	return next;
}

static void go_on(struct promise_world *w)
{
	for (uint32_t i = 0; i < JOBS; i++) {
		struct test_job *job = &w->job[i];

		if (job->phase == COMES && job->arrives <= w->now)
			job->phase = WAITS;
		else if (job->phase == RUNS && job->lasts &&
		         job->start + job->lasts <= w->now)
			job->phase = IS_OVER;
	}
}

static void live(struct promise_world *w)
{
	w->strict ? add_strict_nodes(w) : add_nodes(w);
	for (uint32_t i = 0; i < JOBS; i++)
		w->strict ? add_strict_job(w, &w->job[i])
			  : add_job(w, &w->job[i]);
	if (!w->strict)
		add_arrays(w);
	qsort(w->job, JOBS, sizeof(*w->job), by_arrival);
	while ((w->now = next_event(w)) != INT64_MAX) {
		go_on(w);
		plan_world(w);
	}
	buf_free(&w->base);
	buf_free(&w->text);
	buf_free(&w->promises);
	free(w);
}

static struct promise_world *world_new(uint64_t seed)
{
	struct promise_world *w = xcalloc(1, sizeof(*w));

	w->d = dice_of(seed);
	return w;
}

DICE_TEST(never_later, seed)
{
	live(world_new(seed));
}

DICE_TEST(never_later_on_one_node, seed)
{
	struct promise_world *w = world_new(seed);

	w->all = true;
	live(w);
}

DICE_TEST(never_later_behind_limits, seed)
{
	struct promise_world *w = world_new(seed);

	w->all = w->limits = true;
	live(w);
}

DICE_TEST(strict_jobs_are_never_later, seed)
{
	struct promise_world *w = world_new(seed);

	w->strict = true;
	live(w);
}

/* --- EASY -------------------------------------------------------------- */

static int64_t limit_end(const struct test_job *job)
{
	return job->start + job->limit;
}

/* Returns how many CPUs are free at a time if all running jobs last as long as
 * their time limits. */
static uint32_t free_at(const struct promise_world *w, int64_t at)
{
	uint32_t n = EASY_CPUS;

	for (uint32_t i = 0; i < JOBS; i++) {
		if (w->job[i].phase == RUNS &&
		    (at == w->now || limit_end(&w->job[i]) > at))
			n -= w->job[i].cpus;
	}
	return n;
}

/* Returns the earliest end of a running job after which this many CPUs are
 * free. */
static int64_t shadow_time(const struct promise_world *w, uint32_t cpus)
{
	int64_t first = INT64_MAX;

	for (uint32_t i = 0; i < JOBS; i++) {
		const struct test_job *job = &w->job[i];

		if (job->phase == RUNS && limit_end(job) < first &&
		    free_at(w, limit_end(job)) >= cpus)
			first = limit_end(job);
	}
	return first;
}

/* EASY backfill: start jobs in order until one does not fit. Call this job the
 * head. Start later jobs only if they end before the head can start, or use
 * CPUs that the head will not need. */
static void begin_easy(struct promise_world *w)
{
	const struct test_job *head = NULL;
	int64_t shadow = 0;
	uint32_t extra = 0;

	for (uint32_t i = 0; i < JOBS; i++) {
		struct test_job *job = &w->job[i];
		bool in_time;

		if (job->phase != WAITS)
			continue;
		in_time = !head || w->now + job->limit <= shadow;
		if (job->cpus <= free_at(w, w->now) &&
		    (in_time || job->cpus <= extra)) {
			job->phase = RUNS;
			job->start = w->now;
			extra -= in_time ? 0 : job->cpus;
		} else if (!head) {
			head = job;
			shadow = shadow_time(w, job->cpus);
			extra = free_at(w, shadow) - job->cpus;
		}
	}
}

DICE_TEST(easy, seed)
{
	struct promise_world *ours = xcalloc(1, sizeof(*ours)), *w;

	ours->d = dice_of(seed);
	buf_printf(&ours->base,
	           "policy age=0 size=0 fairshare=0 depth=1\n"
	           "node n0 cpus=%d\n",
	           EASY_CPUS);
	for (uint32_t i = 0; i < JOBS; i++) {
		struct test_job *job = &ours->job[i];
		uint32_t spare;

		job->arrives = 1000 + roll(&ours->d, 2000);
		job->lasts = 1 + roll(&ours->d, 400);
		spare = roll(&ours->d, 2);
		job->limit = job->lasts + spare * roll(&ours->d, 400);
		job->promised = SNAP_NEVER;
		job->cpus = 1 + roll(&ours->d, EASY_CPUS);
		if (roll(&ours->d, 3))
			job->cpus = 1 + job->cpus / 4;
		snprintf(job->shape, sizeof(job->shape), " tasks=%u",
		         (unsigned)job->cpus);
	}
	qsort(ours->job, JOBS, sizeof(*ours->job), by_arrival);
	w = xcalloc(1, sizeof(*w));
	memcpy(w, ours, sizeof(*w));
	while ((w->now = ours->now = next_event(w)) != INT64_MAX) {
		go_on(w);
		go_on(ours);
		begin_easy(w);
		plan_world(ours);
		for (uint32_t i = 0; i < JOBS; i++)
			ck_assert_int_eq(ours->job[i].phase, w->job[i].phase);
	}
	buf_free(&ours->base);
	buf_free(&ours->text);
	buf_free(&ours->promises);
	free(ours);
	free(w);
}

SUITE(promise)
{
	dice_add(tc, never_later, WORLDS);
	dice_add(tc, never_later_on_one_node, WORLDS);
	dice_add(tc, never_later_behind_limits, WORLDS);
	dice_add(tc, easy, EASY_WORLDS);
}

SUITE(promise_strict)
{
	dice_add(tc, strict_jobs_are_never_later, STRICT_WORLDS);
}
