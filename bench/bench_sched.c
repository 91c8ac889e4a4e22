/* bench_sched - how fast the scheduling core decides; one line a number */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "aischedd/sched/plan.h"

enum { GPUS = 8, CPUS = 64, MEM = 512 * 1024 };

/* Enough of a snapshot: equal nodes, one queue, one user, rows of jobs. */
struct world {
	struct arena *arena;
	struct snap snap;
	uint32_t *rows_of; /* members of each row */
};

static uint32_t *slices(struct arena *arena, uint32_t n, uint32_t each)
{
	uint32_t *first = arena_array(arena, uint32_t, n + 1);

	for (uint32_t i = 0; i <= n; i++)
		first[i] = i * each;
	return first;
}

#define COLUMN(w, type, n, value)                                   \
	({                                                          \
		type *column_ = arena_array((w)->arena, type, (n)); \
		for (uint32_t i_ = 0; i_ < (n); i_++)               \
			column_[i_] = (value);                      \
		column_;                                            \
	})

static void add_nodes(struct world *w, uint32_t n, uint16_t gpu_free,
                      int64_t cpu_free)
{
	static const char *const pool[] = { "sim" };
	static const uint8_t order[] = { ORDER_PACK }, ready[] = { 1 };
	struct snap *s = &w->snap;

	s->pool = (struct snap_pools){ 1, pool, order, ready };
	s->node = (struct snap_nodes){
		.n = n,
		.name = COLUMN(w, const char *, n, "n"),
		.pool = COLUMN(w, uint32_t, n, 0),
		.state = COLUMN(w, uint8_t, n, NODE_UP),
		.cpu_total = COLUMN(w, int64_t, n, CPUS * 1000),
		.cpu_free = COLUMN(w, int64_t, n, cpu_free),
		.mem_total = COLUMN(w, int64_t, n, MEM),
		.mem_free = COLUMN(w, int64_t, n, cpu_free ? MEM : 0),
		.gpu_first = slices(w->arena, n, GPUS),
		.cpu_first = slices(w->arena, n, 0),
		.feature_first = slices(w->arena, n, 0),
		.taint_first = slices(w->arena, n, 0),
		.domain = COLUMN(w, uint32_t, n, SNAP_NONE),
		.retry_at = COLUMN(w, int64_t, n, 0),
	};
	s->gpu = (struct snap_gpus){
		.n = n * GPUS,
		.free = COLUMN(w, uint16_t, n * GPUS, gpu_free),
		.type = COLUMN(w, uint32_t, n * GPUS, SNAP_NONE),
		.numa = COLUMN(w, uint8_t, n * GPUS, i_ % GPUS / 4),
		.link = COLUMN(w, uint8_t, n * GPUS, i_ % GPUS / 4),
	};
}

static void add_queue(struct world *w)
{
	static const char *const name[] = { "q" }, *const user[] = { "u" };
	static const uint32_t parent[] = { SNAP_NONE };
	static const int64_t none[1][RES_N] = { { -1, -1, -1 } }, no[] = { -1 };

	w->snap.queue = (struct snap_queues){ 1,  name, parent, none, none, no,
		                              no, no,   no,     no,   no };
	w->snap.user = (struct snap_users){ 1, user };
}

/* One running job on each node that has all of it. */
static void fill_nodes(struct world *w)
{
	struct snap *s = &w->snap;
	uint32_t n = s->node.n;
	struct snap_task *task = arena_array(w->arena, struct snap_task, n + 1);

	for (uint32_t i = 0; i < n; i++)
		task[i] = (struct snap_task){ i, 1000, 0xff, 0 };
	s->run = (struct snap_run){
		.n = n,
		.job = COLUMN(w, uint64_t, n, i_ + 1),
		.req = COLUMN(w, uint32_t, n, s->req.n - 1),
		.queue = COLUMN(w, uint32_t, n, 0),
		.user = COLUMN(w, uint32_t, n, 0),
		.priority = COLUMN(w, int64_t, n, 0),
		.start = COLUMN(w, int64_t, n, 0),
		.end = COLUMN(w, int64_t, n, 1000000 + (i_ * 7919) % 100000),
		.suspended = COLUMN(w, uint8_t, n, 0),
		.preemptible = COLUMN(w, uint8_t, n, 0),
		.task_first = slices(w->arena, n, 1),
	};
	s->task = task;
}

/* Shapes: request i asks for gpus + i % 8 GPUs and more CPUs and memory with
 * each; the last one is a whole node, for what runs. */
static void add_jobs(struct world *w, uint32_t jobs, uint32_t shapes,
                     int64_t gpus, uint32_t tasks)
{
	struct snap *s = &w->snap;
	struct snap_member *m = arena_array(w->arena, struct snap_member, jobs);
	uint32_t n = shapes + 1;

	s->req = (struct snap_reqs){
		.n = n,
		.tasks = COLUMN(w, uint32_t, n, tasks),
		.min_tasks = COLUMN(w, uint32_t, n, tasks),
		.nodes = COLUMN(w, uint32_t, n, 0),
		.tasks_per_node = COLUMN(w, uint32_t, n, 0),
		.cpus = COLUMN(w, int64_t, n,
		               i_ + 1 < n ? 1000 + i_ / 8 * 100 : CPUS * 1000),
		.mem = COLUMN(w, int64_t, n, i_ + 1 < n ? 1024 + i_ : MEM),
		.gpus = COLUMN(w, int64_t, n,
		               i_ + 1 < n ? gpus + i_ % 8 * 1000 : GPUS * 1000),
		.gpu_type = COLUMN(w, uint32_t, n, SNAP_NONE),
		.pools = COLUMN(w, uint64_t, n, 1),
		.exclusive = COLUMN(w, uint8_t, n, 0),
		.one_process = COLUMN(w, uint8_t, n, 0),
		.time_limit = COLUMN(w, int64_t, n, 3600),
		.rule_first = slices(w->arena, n, 0),
		.want_first = slices(w->arena, n, 0),
		.avoid_first = slices(w->arena, n, 0),
		.license_first = slices(w->arena, n, 0),
	};
	for (uint32_t row = 0, k = 0; row < shapes; row++) {
		for (uint32_t i = row; i < jobs; i += shapes)
			m[k++] = (struct snap_member){ 1000000 + i, 1, 1 };
	}
	s->member = m;
	s->pend = (struct snap_pend){
		.n = shapes,
		.req = COLUMN(w, uint32_t, shapes, i_),
		.queue = COLUMN(w, uint32_t, shapes, 0),
		.user = COLUMN(w, uint32_t, shapes, 0),
		.priority = COLUMN(w, int64_t, shapes, 0),
		.member_first = slices(w->arena, shapes, jobs / shapes),
		.resumes = COLUMN(w, uint32_t, shapes, SNAP_NONE),
	};
}

static struct world world_new(void)
{
	struct world w = { .arena = arena_new() };

	w.snap.now = 1000000;
	add_queue(&w);
	return w;
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Seconds of the fastest of a few passes. */
static double pass_s(const struct snap *s, uint32_t *ret_starts)
{
	double best = 1e9;

	for (int i = 0; i < 5; i++) {
		struct arena *arena = arena_new();
		double begin = now_s(), took;
		const struct plan *plan = sched_plan(s, arena);

		took = now_s() - begin;
		best = took < best ? took : best;
		*ret_starts = plan->nstarts;
		arena_free(arena);
	}
	return best;
}

/* What placing the same jobs costs that looks at each node for each job. */
static double linear_s(const struct snap *s, uint32_t jobs)
{
	int *nfree = calloc(s->node.n, sizeof(*nfree));
	double begin = now_s(), took;
	volatile int sink = 0;

	for (uint32_t i = 0; i < s->node.n; i++)
		nfree[i] = GPUS;
	for (uint32_t j = 0; j < jobs; j++) {
		uint32_t best = SNAP_NONE;

		for (uint32_t i = 0; i < s->node.n; i++) {
			if (nfree[i] >= 4 &&
			    (best == SNAP_NONE || nfree[i] < nfree[best]))
				best = i;
		}
		if (best != SNAP_NONE)
			nfree[best] -= 4;
		sink += (int)best;
	}
	took = now_s() - begin;
	free(nfree);
	return took;
}

static void bench_place(uint32_t nodes, uint32_t tasks)
{
	struct world w = world_new();
	uint32_t jobs = nodes * 2 / tasks, starts;
	double took, linear;

	add_nodes(&w, nodes, 1000, CPUS * 1000);
	add_jobs(&w, jobs, 1, 4000, tasks);
	took = pass_s(&w.snap, &starts);
	linear = linear_s(&w.snap, nodes * 2);
	printf("place nodes=%u jobs=%u tasks=%u started=%u ms=%.2f "
	       "tasks_per_s=%.0f linear_scan_takes=%.1fx\n",
	       nodes, jobs, tasks, starts, took * 1e3, starts * tasks / took,
	       linear / took);
	arena_free(w.arena);
}

static void bench_full(uint32_t nodes, uint32_t jobs, uint32_t shapes,
                       uint32_t tasks)
{
	struct world w = world_new();
	uint32_t starts;
	double took;

	add_nodes(&w, nodes, 0, 0);
	add_jobs(&w, jobs, shapes, 1000, tasks);
	fill_nodes(&w);
	took = pass_s(&w.snap, &starts);
	printf("full nodes=%u jobs=%u shapes=%u tasks=%u started=%u ms=%.2f\n",
	       nodes, jobs, shapes, tasks, starts, took * 1e3);
	arena_free(w.arena);
}

int main(void)
{
	for (uint32_t nodes = 1250; nodes <= 20000; nodes *= 2)
		bench_place(nodes, 1);
	bench_place(5000, 16);
	for (uint32_t nodes = 2500; nodes <= 20000; nodes *= 2)
		bench_full(nodes, 100000, 1000, 1);
	bench_full(10000, 100000, 8, 1);
	bench_full(10000, 100000, 1000, 16);
	bench_full(10000, 1000000, 1000, 1);
	return 0;
}
