/* bench_state - measure the parts of a scheduling pass outside of sched_plan():
 * taking the snapshot (ms), finishing it on another thread (finish_ms) and
 * applying the plan, the longest of its parts (apply_ms); also events that
 * concern many jobs, users' usage and recurring jobs. Prints a line for each
 * measurement */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "aischedd/sched/plan.h"
#include "aischedd/state/cluster/node.h"
#include "aischedd/state/cluster/pool.h"
#include "aischedd/state/cluster/queue.h"
#include "aischedd/state/cluster/reconf.h"
#include "aischedd/state/cluster/reserve.h"
#include "aischedd/state/cluster/usage.h"
#include "aischedd/state/cluster/volume.h"
#include "aischedd/state/life/alarm.h"
#include "aischedd/state/life/cron.h"
#include "aischedd/state/life/submit.h"
#include "aischedd/state/life/submit_check.h"
#include "aischedd/state/pass/apply.h"
#include "aischedd/state/pass/snapshot.h"
#include "aischedd/state/pass/sweep.h"
#include "aischedd/state/state.h"
#include "libcommon/cron/schedule.h"
#include "libcommon/cron/zones.h"
#include "libcommon/mem.h"
#include "libcommon/mig.h"

enum { NODES = 1000, CPUS = 64 };

static const char config[] = "pool here { runner = local }\nqueue batch { }\n";

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void add_nodes(struct state *state)
{
	uint8_t numa[CPUS] = { 0 };
	uint16_t core[CPUS];
	struct node_info info = { .ncpus = CPUS,
		                  .cpu_numa = numa,
		                  .cpu_core = core,
		                  .cpu_milli = CPUS * 1000,
		                  .mem_mib = 1 << 20 };
	char name[32];

	for (uint16_t i = 0; i < CPUS; i++)
		core[i] = i;
	for (int i = 0; i < NODES; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		info.name = name;
		state_node_seen(state, 0, &info);
	}
	state_pool_ready(state, 0, true);
}

static bool in_group(const char *group, const void *arg)
{
	return group == arg; /* false: nobody is in a group */
}

/* Submit jobs that request this; their time limits are of several shapes. */
static void add_jobs_of(struct state *state, struct spec *spec, uint32_t jobs,
                        uint32_t shapes)
{
	struct submitter who = { .user = "ada", .in_group = in_group };

	spec->name = "job";
	spec->output = "out";
	spec->workdir = "/";
	for (uint32_t i = 0; i < jobs; i++) {
		uint32_t queue;
		struct err err;

		spec->time_limit = 60 + i % shapes;
		if (state_check_request(state, spec, &who, 0, &queue, &err) <
		    0) {
			fprintf(stderr, "bench_state: %s\n", err.text);
			exit(1);
		}
		state_submit(state, spec, &who, queue, 1, 1,
		             state_take_ids(state, 1), 0);
	}
}

/* Submit jobs of several shapes, more than the nodes can run. near: the jobs
 * near which they are to run, or NULL. */
static void add_jobs(struct state *state, uint32_t jobs, uint32_t shapes,
                     const char *near)
{
	struct spec spec;

	spec_init(&spec);
	spec.near = near;
	add_jobs_of(state, &spec, jobs, shapes);
}

static int no_past(uint64_t job, uint32_t task, struct past *ret, void *arg)
{
	(void)job;
	(void)task;
	(void)ret;
	(void)arg;
	return -1;
}

static double least(double a, double b)
{
	return a < b ? a : b;
}

static double most(double a, double b)
{
	return a > b ? a : b;
}

/* The fastest and the slowest of some passes, in s. */
struct span {
	double least, most;
};

static void span_add(struct span *s, double x)
{
	s->least = s->least ? least(s->least, x) : x;
	s->most = most(s->most, x);
}

/* The times that parts of a pass took. */
struct pass_spans {
	struct span taken, finished, planned, applied;
};

static void make_pass(struct state *state, int64_t now, struct pass_spans *ret)
{
	struct arena *arena = arena_new();
	double began = now_s();
	struct build *build = state_take_snapshot(state, now, arena);
	const struct snap *snap;
	const struct plan *plan;
	const struct queue_found *found;
	struct apply *apply;
	bool last = false;
	double longest = 0;

	span_add(&ret->taken, now_s() - began);
	began = now_s();
	snap = snapshot_finish(build);
	span_add(&ret->finished, now_s() - began);
	began = now_s();
	plan = sched_plan(snap, arena);
	found = snapshot_read_plan(build, plan, arena);
	span_add(&ret->planned, now_s() - began);
	began = now_s();
	state_end_snapshot(state, build);
	apply = apply_begin(state, snap, plan, found, arena);
	while (!last) {
		last = apply_part(apply, APPLY_STARTS, now);
		longest = most(longest, now_s() - began);
		began = now_s();
	}
	span_add(&ret->applied, longest);
	apply_free(apply);
	arena_free(arena);
}

/* near: "1" if all jobs are to run near the first one, which runs; or NULL. */
static void bench_snapshot(uint32_t jobs, uint32_t shapes, const char *near)
{
	struct buf warnings = { 0 };
	struct err err;
	struct conf *conf = conf_parse(config, "bench", &warnings, &err);
	struct state *state = state_new(conf, no_past, NULL);
	struct pass_spans first = { 0 }, t = { 0 };

	add_nodes(state);
	if (near) {
		add_jobs(state, 1, 1, NULL);
		make_pass(state, 0, &first);
	}
	add_jobs(state, jobs, shapes, near);
	for (int i = 0; i < 5; i++)
		make_pass(state, i, &t);
	printf("%s nodes=%d jobs=%u shapes=%u ms=%.2f most_ms=%.2f "
	       "finish_ms=%.2f apply_ms=%.2f most_apply_ms=%.2f\n",
	       near ? "near" : "snapshot", NODES, jobs, shapes,
	       t.taken.least * 1e3, t.taken.most * 1e3, t.finished.least * 1e3,
	       t.applied.least * 1e3, t.applied.most * 1e3);
	state_free(state);
	conf_free(conf);
	buf_free(&warnings);
}

/* Arrays of three tasks wait, of which one may run at a time; no node is
 * free. */
static void bench_arrays(uint32_t arrays)
{
	struct buf warnings = { 0 };
	struct conf *conf = conf_parse(config, "bench", &warnings, NULL);
	struct state *state = state_new(conf, no_past, NULL);
	struct pass_spans first = { 0 }, t = { 0 };
	struct spec spec;

	add_nodes(state);
	spec_init(&spec);
	spec.cpus = CPUS * 1000;
	add_jobs_of(state, &spec, NODES, 1);
	make_pass(state, 0, &first);
	spec.cpus = 1000;
	spec.array = "0-2%1";
	add_jobs_of(state, &spec, arrays, 1);
	for (int i = 0; i < 5; i++)
		make_pass(state, i, &t);
	printf("arrays nodes=%d arrays=%u ms=%.2f most_ms=%.2f finish_ms=%.1f "
	       "plan_ms=%.1f apply_ms=%.2f most_apply_ms=%.2f\n",
	       NODES, arrays, t.taken.least * 1e3, t.taken.most * 1e3,
	       t.finished.least * 1e3, t.planned.least * 1e3,
	       t.applied.least * 1e3, t.applied.most * 1e3);
	state_free(state);
	conf_free(conf);
	buf_free(&warnings);
}

/* --- many devices --------------------------------------------------------- */

enum { BIG_NODES = 5000, BIG_CPUS = 128, BIG_GPUS = 8, RACK = 16 };

static const char racks[] = "topology { levels = {\"rack\"} }\n"
			    "pool here { runner = local }\n"
			    "queue batch { }\n";

/* How many of the BIG_NODES have CPUs to which tasks are bound, GPUs, and
 * partitions on all of their GPUs. */
struct equipped {
	int cpus, gpus, parts;
};

static void add_big_node(struct state *state, int i, const struct equipped *e)
{
	static const int64_t numa_mem[] = { 256 << 10, 256 << 10 };
	uint8_t cpu_numa[BIG_CPUS], gpu_numa[BIG_GPUS];
	uint64_t parts[BIG_GPUS] = { 0 };
	uint16_t core[BIG_CPUS];
	char name[32], rack[32];
	struct node_info info = {
		.name = name,
		.topology = rack,
		.ncpus = i < e->cpus ? BIG_CPUS : 0,
		.cpu_numa = cpu_numa,
		.cpu_core = core,
		.cpu_milli = BIG_CPUS * 1000,
		.mem_mib = 512 << 10,
		.nnumas = 2,
		.numa_mem = numa_mem,
		.ngpus = i < e->gpus ? BIG_GPUS : 0,
		.gpu_numa = gpu_numa,
		.gpu_link = gpu_numa,
		.gpu_parts = i < e->parts ? parts : NULL,
		.gpus_named = true,
		.gpu_numas_known = true,
	};

	for (uint16_t c = 0; c < BIG_CPUS; c++) {
		core[c] = c / 2;
		cpu_numa[c] = c >= BIG_CPUS / 2;
	}
	for (int g = 0; g < BIG_GPUS; g++) {
		gpu_numa[g] = g >= BIG_GPUS / 2;
		mig_parts_add(&parts[g], mig_find("3g.40gb"), 0);
	}
	snprintf(name, sizeof(name), "n%d", i);
	snprintf(rack, sizeof(rack), "r%d", i / RACK);
	state_node_seen(state, 0, &info);
}

struct big_costs {
	struct span first, again; /* s of a snapshot after a node has changed,
	                             and of the next one */
	size_t bytes; /* of it, and of what it shares with the next one */
};

static void take_big(struct state *state, const struct equipped *e,
                     struct big_costs *ret)
{
	struct arena *arena[2] = { arena_new(), arena_new() };
	struct build *build[2];
	double began;

	add_big_node(state, 0, e);
	began = now_s();
	build[0] = state_take_snapshot(state, 1, arena[0]);
	span_add(&ret->first, now_s() - began);
	ret->bytes = arena_used(arena[0]);
	snapshot_finish(build[0]);
	state_end_snapshot(state, build[0]);
	began = now_s();
	build[1] = state_take_snapshot(state, 1, arena[1]);
	span_add(&ret->again, now_s() - began);
	state_end_snapshot(state, build[1]);
	arena_free(arena[0]);
	arena_free(arena[1]);
}

/* Measure snapshots of the nodes, with jobs that request 32 CPUs, and 4 GPUs if
 * there are any. */
static struct big_costs measure_big(const struct equipped *e, uint32_t jobs)
{
	struct buf warnings = { 0 };
	struct conf *conf = conf_parse(racks, "bench", &warnings, NULL);
	struct state *state = state_new(conf, no_past, NULL);
	struct big_costs costs = { 0 };
	struct pass_spans spans = { 0 };
	struct spec spec;

	for (int i = 0; i < BIG_NODES; i++)
		add_big_node(state, i, e);
	state_pool_ready(state, 0, true);
	spec_init(&spec);
	spec.cpus = 32000;
	spec.gpus = e->gpus ? 4000 : 0;
	add_jobs_of(state, &spec, jobs, 1);
	if (jobs)
		make_pass(state, 0, &spans);
	for (int i = 0; i < 5; i++)
		take_big(state, e, &costs);
	state_free(state);
	conf_free(conf);
	buf_free(&warnings);
	return costs;
}

/* Returns how many seconds it takes to write this many bytes to new memory. */
static double write_s(size_t bytes)
{
	double began = now_s(), took;
	char *p = malloc(bytes);

	memset(p, 1, bytes);
	took = now_s() - began;
	/* never true; keeps the compiler from dropping memset() */
	if (p[bytes / 2] != 1)
		abort();
	free(p);
	return took;
}

/* Returns by how much the first amount is more, divided by n. */
static double per(const struct big_costs *more, const struct big_costs *less,
                  int n)
{
	return ((double)more->bytes - (double)less->bytes) / n;
}

static void bench_devices(uint32_t jobs)
{
	static const struct equipped all = { BIG_NODES, BIG_NODES, 0 },
				     no_cpus = { 0, BIG_NODES, 0 },
				     bare = { 0 },
				     one = { BIG_NODES, BIG_NODES, 1 };
	struct big_costs a = measure_big(&all, jobs),
			 c = measure_big(&no_cpus, jobs),
			 b = measure_big(&bare, jobs),
			 p = measure_big(&one, jobs);

	printf("devices nodes=%d gpus=%d cpus=%d running=%u ms=%.2f "
	       "most_ms=%.2f again_ms=%.2f mib=%.1f writing_takes=%.2fx "
	       "cpu_bytes=%.1f gpu_bytes=%.1f parts_bytes=%.1f\n",
	       BIG_NODES, BIG_NODES * BIG_GPUS, BIG_NODES * BIG_CPUS, jobs,
	       a.first.least * 1e3, a.first.most * 1e3, a.again.least * 1e3,
	       (double)a.bytes / 1048576, write_s(a.bytes) / a.first.least,
	       per(&a, &c, BIG_NODES * BIG_CPUS),
	       per(&c, &b, BIG_NODES * BIG_GPUS),
	       per(&p, &a, BIG_NODES * BIG_GPUS));
}

static void all_devices(void)
{
	bench_devices(0);
	bench_devices(BIG_NODES * BIG_GPUS / 4);
}

/* --- events that concern many jobs --------------------------------------- */

/* The configuration before and after a reload; in `renumbered`, the queue has
 * another number. */
static const char cluster[] = "pool here { runner = kubernetes }\n"
			      "queue batch { }\n";
static const char changed[] = "pool here { runner = kubernetes }\n"
			      "queue batch { weight = 2 }\n";
static const char renumbered[] = "pool here { runner = kubernetes }\n"
				 "default_queue = \"batch\"\n"
				 "queue a { }\nqueue batch { }\n";

static void close_queue(struct state *state, void *arg)
{
	(void)arg;
	state_queue_set_open(state, 0, false, 1);
}

/* End the snapshot of a pass that was made meanwhile. */
static void end_snapshot(struct state *state, void *arg)
{
	state_end_snapshot(state, arg);
}

static void open_queue(struct state *state, void *arg)
{
	(void)arg;
	state_queue_set_open(state, 0, true, 1);
}

static void reload(struct state *state, void *arg)
{
	struct err err;

	if (state_reconf(state, arg, 1, &err) < 0)
		exit(1);
}

static void set_clock(struct state *state, void *arg)
{
	(void)arg;
	state_clock_set(state, 60000, 61000);
}

static void see_volumes(struct state *state, void *arg)
{
	const struct volume_info all = { .namespace = "default" };

	(void)arg;
	state_volume_seen(state, 0, &all, 1);
}

static void see_pool(struct state *state, void *arg)
{
	(void)arg;
	state_pool_ready(state, 0, false);
	state_pool_ready(state, 0, true);
}

static void reserve(struct state *state, void *arg)
{
	const struct reserve_ask ask = { .name = "r",
		                         .start = 100,
		                         .end = 200,
		                         .users = "",
		                         .nodes = "n1" };
	struct err err;

	(void)arg;
	if (state_reserve(state, &ask, 1, &err) < 0)
		exit(1);
}

/* Measure the longest turn that an event takes part in, and all of them. */
static void bench_event(struct state *state, const char *name,
                        void event(struct state *state, void *arg), void *arg)
{
	double began = now_s(), at = began, longest = 0, now;

	event(state, arg);
	do {
		longest = most(longest, now_s() - at);
		at = now_s();
		if (state_next_tick(state) == 0)
			state_tick(state, 1);
		/* The daemon allocates memory in each turn. Without this, the
		 * allocator sorts all freed rows when it is next used; each
		 * call sorts at most 10,000. */
		free(xmalloc(4096));
		free(xmalloc(4096));
		now = now_s();
		longest = most(longest, now - at);
	} while (state_next_tick(state) == 0);
	printf("event what=%s longest_ms=%.1f all_ms=%.0f\n", name,
	       longest * 1e3, (now - began) * 1e3);
}

static void bench_events(uint32_t jobs)
{
	struct buf warnings = { 0 };
	struct conf *conf = conf_parse(cluster, "bench", &warnings, NULL);
	struct conf *other = conf_parse(changed, "bench", &warnings, NULL);
	struct conf *last = conf_parse(renumbered, "bench", &warnings, NULL);
	struct state *state = state_new(conf, no_past, NULL);
	struct arena *arena = arena_new();
	struct build *taken;

	add_nodes(state);
	add_jobs(state, jobs, jobs, NULL);
	state_tick(state, 1);
	printf("events jobs=%u\n", jobs);
	bench_event(state, "close", close_queue, NULL);
	bench_event(state, "open", open_queue, NULL);
	taken = state_take_snapshot(state, 1, arena);
	bench_event(state, "close_in_pass", close_queue, NULL);
	snapshot_finish(taken);
	bench_event(state, "end_pass", end_snapshot, taken);
	arena_free(arena);
	bench_event(state, "open_again", open_queue, NULL);
	bench_event(state, "clock", set_clock, NULL);
	bench_event(state, "volume", see_volumes, NULL);
	bench_event(state, "numa", see_pool, NULL);
	bench_event(state, "reserve", reserve, NULL);
	bench_event(state, "reload", reload, other);
	bench_event(state, "renumber", reload, last);
	state_free(state);
	conf_free(conf);
	conf_free(other);
	conf_free(last);
	buf_free(&warnings);
}

/* --- users --------------------------------------------------------------- */

/* Measure how long it takes to recompute the decayed usage of users without
 * jobs. */
static void bench_usage(uint32_t users)
{
	struct buf warnings = { 0 };
	struct conf *conf = conf_parse(config, "bench", &warnings, NULL);
	struct state *state = state_new(conf, no_past, NULL);
	double took = 1e9;
	char name[32];

	for (uint32_t i = 0; i < users; i++) {
		snprintf(name, sizeof(name), "u%u", i);
		state_load_usage(state, "batch", 1000 + i, name,
		                 (int64_t)(i + 1) << 30, 1793577600 - 60 * i);
	}
	for (int i = 0; i < 5; i++) {
		double began = now_s();

		state_judge_usage(state, 1793577600 + i);
		took = least(took, now_s() - began);
	}
	printf("usage users=%u ms=%.2f\n", users, took * 1e3);
	state_free(state);
	conf_free(conf);
	buf_free(&warnings);
}

/* --- recurring work ------------------------------------------------------ */

static const struct zone *get_zone(const char *name, struct err *err, void *arg)
{
	return zones_get(arg, name, err);
}

/* Measure how long it takes to find the next time of typical schedules: the
 * mean and the longest of many searches. */
static void bench_next(struct zones *zones)
{
	static const char *const specs[] = { "*/5 * * * *", "30 2 * * *",
		                             "0 0 1 1 *", "0 0 29 2 *",
		                             "15 10-18 * * mon-fri" };
	const struct zone *zone = zones_get(zones, "Europe/Berlin", NULL);
	double worst = 0, sum = 0;
	int n = 0;

	for (size_t i = 0; zone && i < ARRAY_SIZE(specs); i++) {
		int64_t at = 1793577600;
		struct schedule schedule;

		schedule_parse(&schedule, specs[i], NULL);
		for (int k = 0; k < 2000; k++, n++) {
			double began = now_s(), took;

			at = schedule_next(&schedule, zone, 0, at);
			took = now_s() - began;
			sum += took;
			worst = took > worst ? took : worst;
		}
	}
	printf("cron_next mean_us=%.2f worst_us=%.1f\n", sum / n * 1e6,
	       worst * 1e6);
}

static void bench_entries(struct zones *zones, uint32_t entries)
{
	struct buf warnings = { 0 };
	struct conf *conf = conf_parse(config, "bench", &warnings, NULL);
	struct state *state = state_new(conf, NULL, NULL);
	struct cron_rule rule;
	struct spec spec;
	struct cron_ask ask = {
		.uid = 7, .user = "ada", .spec = &spec, .rule = &rule
	};
	size_t before;
	double began;

	spec_init(&spec);
	spec.name = "job";
	spec.output = "slurm-%j.out";
	spec.workdir = "/home/ada";
	cron_rule_init(&rule);
	cron_rule_set(&rule, "cron", "0 3 * * *", 0, NULL);
	cron_rule_set(&rule, "cron-tz", "Europe/Berlin", 0, NULL);
	state_cron_zones(state, get_zone, zones);
	before = mallinfo2().uordblks;
	for (uint32_t i = 0; i < entries; i++)
		state_cron_add(state, &ask, state_take_ids(state, 1),
		               1793577600);
	printf("cron_entries entries=%u mib=%.1f ", entries,
	       (double)(mallinfo2().uordblks - before) / 1048576);
	began = now_s();
	state_cron_recheck(state, 1793577600);
	printf("recheck_ms=%.1f ", (now_s() - began) * 1e3);
	began = now_s();
	state_tick(state, 1793577600 + 86400);
	printf("all_due_ms=%.1f\n", (now_s() - began) * 1e3);
	state_free(state);
	conf_free(conf);
	buf_free(&warnings);
}

/* Usage: bench_state [arrays | devices | events [JOBS]] */
int main(int argc, char **argv)
{
	struct zones *zones;

	if (argc > 1 && !strcmp(argv[1], "events")) {
		bench_events(argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10)
		                      : 1000000);
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "arrays")) {
		bench_arrays(100000);
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "devices")) {
		all_devices();
		return 0;
	}
	zones = zones_new();
	bench_snapshot(100000, 1000, NULL);
	bench_snapshot(1000000, 8, NULL);
	bench_snapshot(1000000, 1000, NULL);
	bench_snapshot(1000000, 100000, NULL);
	bench_snapshot(1000000, 1000000, NULL);
	bench_snapshot(900, 900, "1");
	bench_arrays(100000);
	all_devices();
	bench_events(1000000);
	bench_usage(65536);
	bench_next(zones);
	bench_entries(zones, 10000);
	zones_free(zones);
	return 0;
}
