/*
 * bench_sched - measure how fast the scheduling core plans; prints a line for
 * each measurement
 *
 * Without arguments all measurements run, else those whose names are given.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "aischedd/sched/text/text.h"

enum { GPUS = 8, RACK = 16 };

/* Returns the beginning of a snapshot as text (text.h). */
static struct buf world_begin(void)
{
	struct buf text = { 0 };

	buf_puts(&text, "now 1000000\n"
	                "policy backfill=yes depth=100 consolidate=yes\n"
	                "pool sim\n");
	return text;
}

static void add_nodes(struct buf *text, uint32_t first, uint32_t last,
                      const char *more)
{
	buf_printf(text, "node n[%u-%u] cpus=64 mem=512G gpus=%d%s\n", first,
	           last, GPUS, more);
}

static struct buf world_new(const char *queues, uint32_t nodes)
{
	struct buf text = world_begin();

	add_nodes(&text, 0, nodes - 1, "");
	buf_puts(&text, queues);
	return text;
}

/* Returns a snapshot with nodes in racks of 16, blocks of 5 racks and zones of
 * 25 blocks. */
static struct buf world_with_racks(uint32_t nodes, const char *more)
{
	struct buf text = world_begin();

	buf_puts(&text, "level zone\nlevel block\nlevel rack\n");
	for (uint32_t r = 0; r < nodes / RACK; r++) {
		uint32_t b = r / 5, z = b / 25;
		struct buf in = { 0 };

		if (r % 125 == 0)
			buf_printf(&text, "domain z%u level=zone\n", z);
		if (r % 5 == 0)
			buf_printf(&text,
			           "domain z%u/b%u parent=z%u level=block\n", z,
			           b, z);
		buf_printf(&text,
		           "domain z%u/b%u/r%u parent=z%u/b%u level=rack\n", z,
		           b, r, z, b);
		buf_printf(&in, " domain=z%u/b%u/r%u%s", z, b, r, more);
		add_nodes(&text, r * RACK, r * RACK + RACK - 1, in.data);
		buf_free(&in);
	}
	return text;
}

/* Run a job of one GPU on each GPU, except on the first `but` GPUs. If ends is
 * true, the jobs' end times are spread over the cluster, else they are
 * unknown. bound: nodes are as inside() says, and the jobs have CPUs. */
static void fill_nodes(struct buf *text, uint32_t nodes, const char *queue,
                       bool ends, uint32_t but, bool bound)
{
	for (uint32_t i = but; i < nodes * GPUS; i++) {
		buf_printf(text,
		           "run %u queue=%s cpus=8 mem=64G gpus=1 preemptible "
		           "start=%u on=n%u:g%u",
		           i + 1, queue, 999999 - i, i / GPUS, i % GPUS);
		if (bound)
			buf_printf(text, ":c%u-%u", i % GPUS * 16,
			           i % GPUS * 16 + 7);
		if (ends)
			buf_printf(text, " end=%u",
			           1000060 + i * 7919 % (nodes * GPUS));
		buf_addc(text, '\n');
	}
}

/* Add pending jobs of several shapes, which differ in CPUs and in GPUs. Each
 * task requests `gpus` GPUs, or up to 7 more. */
static void add_rows(struct buf *text, const char *queue, uint32_t jobs,
                     uint32_t shapes, uint32_t gpus, uint32_t tasks)
{
	for (uint32_t i = 0; i < shapes; i++) {
		buf_puts(text, "pend ");
		for (uint32_t k = i; k < jobs; k += shapes)
			buf_printf(text, "%s%u", k > i ? "," : "", 1000000 + k);
		buf_printf(text,
		           " queue=%s tasks=%u cpus=%u.%u mem=1G gpus=%u "
		           "time=3600\n",
		           queue, tasks, 1 + i / 80 % 7, i / 8 % 10,
		           gpus + i % 8);
	}
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct pass_result {
	double took; /* CPU time of the fastest of several passes, in seconds */
	uint32_t starts, tasks, evictions, promises;
	bool partial; /* the budget was spent */
};

static struct pass_result measure(struct buf *text)
{
	struct arena *world = arena_new();
	struct pass_result r = { .took = 1e9 };
	struct err err;
	const struct snap *snap = snap_read(text->data, world, &err);

	if (!snap) {
		fprintf(stderr, "bench_sched: %s\n", err.text);
		exit(1);
	}
	buf_free(text);
	for (int i = 0; i < 5; i++) {
		struct arena *arena = arena_new();
		double begin = now_s(), took;
		const struct plan *plan = sched_plan(snap, arena);

		took = now_s() - begin;
		r.took = took < r.took ? took : r.took;
		r.starts = plan->nstarts;
		r.evictions = plan->nevictions;
		r.partial = plan->partial;
		r.tasks = r.promises = 0;
		for (uint32_t k = 0; k < plan->nstarts; k++)
			r.tasks += plan->start[k].ntasks;
		for (uint32_t k = 0; k < plan->nverdicts; k++)
			r.promises += plan->verdict[k].expected != SNAP_NEVER;
		arena_free(arena);
	}
	arena_free(world);
	return r;
}

/* Returns how long it takes to place jobs of 4 GPUs if every node is looked at
 * for each of them. */
static double linear_s(uint32_t nodes)
{
	int *nfree = calloc(nodes, sizeof(*nfree));
	double begin = now_s(), took;

	for (uint32_t i = 0; i < nodes; i++)
		nfree[i] = GPUS;
	for (uint32_t j = 0; j < nodes * 2; j++) {
		uint32_t best = UINT32_MAX;

		for (uint32_t i = 0; i < nodes; i++) {
			if (nfree[i] >= 4 &&
			    (best == UINT32_MAX || nfree[i] < nfree[best]))
				best = i;
		}
		if (best != UINT32_MAX)
			nfree[best] -= 4;
	}
	took = now_s() - begin;
	/* never true; keeps the compiler from dropping the loop */
	if (nfree[0] > GPUS)
		abort();
	free(nfree);
	return took;
}

/* Fill empty nodes with jobs of 4 GPUs. */
static void bench_place(uint32_t nodes, uint32_t tasks)
{
	struct buf text = world_new("queue all quota=gpus:1000000\n", nodes);
	uint32_t jobs = nodes * 2 / tasks;
	struct pass_result r;

	add_rows(&text, "all", jobs, 1, 4, tasks);
	r = measure(&text);
	printf("place nodes=%u jobs=%u tasks=%u started=%u ms=%.2f "
	       "tasks_per_s=%.0f linear_scan_takes=%.1fx\n",
	       nodes, jobs, tasks, r.starts, r.took * 1e3, r.tasks / r.took,
	       linear_s(nodes) / r.took);
}

/* Add what the decision inside a node looks at: 128 CPUs of 64 cores, and two
 * NUMA nodes with 4 linked GPUs each. */
static const char *inside(void)
{
	static struct buf text;

	if (text.len)
		return text.data;
	buf_puts(&text, " threads=128 core=");
	for (int i = 0; i < 64; i++)
		buf_printf(&text, "%d*2,", i);
	text.data[--text.len] = '\0';
	buf_puts(&text, " numa=0*64,1*64 numa_mem=256G,256G gpu_numa=0*4,1*4 "
	                "gpu_link=0*4,1*4");
	return text.data;
}

/* Fill empty nodes, in racks, with jobs or gangs that demand one NUMA node and
 * one link group for each task. */
static void bench_align(uint32_t nodes, uint32_t tasks)
{
	struct buf text = world_with_racks(nodes, inside());
	uint32_t jobs = nodes * 2 / tasks;
	struct pass_result r;

	buf_printf(&text,
	           "pend 1000000-%u %s tasks=%u gpus=4 cpus=32 mem=128G "
	           "numa=strict links=strict\n",
	           1000000 + jobs - 1, tasks > 1 ? "need=rack" : "", tasks);
	r = measure(&text);
	printf("align nodes=%u jobs=%u tasks=%u started=%u ms=%.2f "
	       "tasks_per_s=%.0f jobs_per_s=%.0f\n",
	       nodes, jobs, tasks, r.starts, r.took * 1e3, r.tasks / r.took,
	       r.starts / r.took);
}

/* Add single jobs with a partition each, of four sizes in turn: half of them
 * are the smallest. */
static void add_partitions(struct buf *text, uint32_t jobs)
{
	static const struct {
		const char *profile, *gpus;
		uint32_t turns; /* bit i: the i-th of 8 jobs */
	} kind[] = { { "1g.10gb", "0.125", 0x55 },
		     { "2g.20gb", "0.25", 0x22 },
		     { "3g.40gb", "0.5", 0x08 },
		     { "4g.40gb", "0.5", 0x80 } };

	for (size_t k = 0; k < ARRAY_SIZE(kind); k++) {
		const char *between = "pend ";

		for (uint32_t i = 0; i < jobs; i++) {
			if (!(kind[k].turns >> i % 8 & 1))
				continue;
			buf_printf(text, "%s%u", between, 1000000 + i);
			between = ",";
		}
		buf_printf(text, " cpus=2 mem=8G gpus=%s profile=%s\n",
		           kind[k].gpus, kind[k].profile);
	}
}

/* Fill empty nodes with partitions; most find one. */
static void bench_mig(uint32_t nodes, uint32_t jobs)
{
	struct buf more = { 0 }, text;
	struct pass_result r;

	buf_printf(&more, "%s mig=h100-80 gpu_mem=80G", inside());
	text = world_with_racks(nodes, more.data);
	buf_free(&more);
	add_partitions(&text, jobs);
	r = measure(&text);
	printf("mig nodes=%u jobs=%u started=%u ms=%.2f tasks_per_s=%.0f\n",
	       nodes, jobs, r.starts, r.took * 1e3, r.tasks / r.took);
}

/* Fill empty nodes with gangs whose tasks must be in one rack. */
static void bench_topology(uint32_t nodes, uint32_t tasks)
{
	struct buf text = world_with_racks(nodes, "");
	uint32_t jobs = nodes / tasks;
	struct pass_result r;

	buf_printf(&text, "pend 1000000-%u need=rack tasks=%u gpus=8 cpus=8\n",
	           1000000 + jobs - 1, tasks);
	r = measure(&text);
	printf("topology nodes=%u levels=3 jobs=%u tasks=%u started=%u "
	       "ms=%.2f tasks_per_s=%.0f\n",
	       nodes, jobs, tasks, r.starts, r.took * 1e3, r.tasks / r.took);
}

/* Plan for a full cluster, in which no pending job fits. ends: the end times of
 * running jobs are known. */
static void bench_full(uint32_t nodes, uint32_t jobs, uint32_t shapes,
                       uint32_t tasks, bool ends)
{
	struct buf text = world_new("queue all quota=gpus:1000000\n", nodes);
	struct pass_result r;

	fill_nodes(&text, nodes, "all", ends, 0, false);
	add_rows(&text, "all", jobs, shapes, 1, tasks);
	r = measure(&text);
	printf("full nodes=%u jobs=%u shapes=%u tasks=%u ends=%s promised=%u "
	       "ms=%.2f\n",
	       nodes, jobs, shapes, tasks, ends ? "known" : "unknown",
	       r.promises, r.took * 1e3);
}

/* Plan after a job has ended: its GPU is free, and the first pending job gets
 * it. */
static void bench_ended(uint32_t nodes, uint32_t jobs, uint32_t shapes,
                        bool ends)
{
	struct buf text = world_new("queue all quota=gpus:1000000\n", nodes);
	struct pass_result r;

	fill_nodes(&text, nodes, "all", ends, 1, false);
	add_rows(&text, "all", jobs, shapes, 1, 1);
	r = measure(&text);
	printf("ended nodes=%u jobs=%u shapes=%u ends=%s started=%u "
	       "promised=%u ms=%.2f\n",
	       nodes, jobs, shapes, ends ? "known" : "unknown", r.starts,
	       r.promises, r.took * 1e3);
}

/* Reclaim as in the benchmark of KAI Scheduler: jobs of queue a with 1 GPU each
 * hold all GPUs; queue b, within its quota, has a gang with a task of 4 GPUs
 * for each node. bound: nodes are as inside() says; aligned: each task demands
 * one NUMA node and one link group. */
static void bench_reclaim(uint32_t nodes, bool bound, bool aligned)
{
	struct buf queues = { 0 }, text = world_begin();
	struct pass_result r;

	buf_printf(&queues, "queue a quota=gpus:0\nqueue b quota=gpus:%u\n",
	           nodes * GPUS);
	add_nodes(&text, 0, nodes - 1, bound ? inside() : "");
	buf_puts(&text, queues.data);
	buf_free(&queues);
	fill_nodes(&text, nodes, "a", false, 0, bound);
	buf_printf(&text,
	           "pend 1000000 queue=b tasks=%u cpus=1 mem=1G gpus=4%s\n",
	           nodes, aligned ? " numa=strict links=strict" : "");
	r = measure(&text);
	printf("reclaim nodes=%u gang=%u cpus=%s aligned=%s evicted=%u "
	       "ms=%.2f\n",
	       nodes, nodes, bound ? "bound" : "counted",
	       aligned ? "yes" : "no", r.evictions, r.took * 1e3);
}

/* Consolidate: a job with 2 GPUs runs on each node, and a gang asks for all
 * GPUs of half of the nodes. */
static void bench_move(uint32_t nodes)
{
	struct buf text = world_new("queue all quota=gpus:1000000\n", nodes);
	struct pass_result r;

	for (uint32_t i = 0; i < nodes; i++)
		buf_printf(&text,
		           "run %u queue=all cpus=8 mem=64G gpus=2 preemptible "
		           "start=%u on=n%u:g0-1\n",
		           i + 1, 999999 - i, i);
	buf_printf(&text, "pend 1000000 queue=all tasks=%u cpus=1 gpus=%d\n",
	           nodes / 2, GPUS);
	r = measure(&text);
	printf("move nodes=%u gang=%u moved=%u ms=%.2f\n", nodes, nodes / 2,
	       r.evictions, r.took * 1e3);
}

/* Plan for a full cluster as in bench_full(), in three nested queues. The
 * limits of each allow `spare` GPUs more than are in use. */
static void bench_limits(uint32_t nodes, uint32_t jobs, uint32_t shapes,
                         uint32_t spare)
{
	static const char *const queue[] = { "all", "team parent=all",
		                             "group parent=team" };
	uint32_t gpus = nodes * GPUS;
	struct buf queues = { 0 }, text;
	struct pass_result r;

	for (size_t i = 0; i < ARRAY_SIZE(queue); i++)
		buf_printf(
		    &queues, "queue %s max_jobs=%u limit=cpus:%u,gpus:%u\n",
		    queue[i], gpus + spare, 8 * (gpus + spare), gpus + spare);
	text = world_new(queues.data, nodes);
	buf_free(&queues);
	fill_nodes(&text, nodes, "group", true, 0, false);
	add_rows(&text, "group", jobs, shapes, 1, 1);
	r = measure(&text);
	printf("limits nodes=%u jobs=%u shapes=%u spare=%u promised=%u "
	       "ms=%.2f\n",
	       nodes, jobs, shapes, spare, r.promises, r.took * 1e3);
}

/* --- an adversary --------------------------------------------------------- */

enum { MANY = 64 }; /* GPUs of a node, each in a link group of its own */

/* Add nodes with as many devices and groups of them as a node may have. */
static void add_odd_nodes(struct buf *text, uint32_t nodes)
{
	buf_printf(text,
	           "node n[0-%u] cpus=128 mem=512G threads=128 core=0-127 "
	           "numa=0*16,1*16,2*16,3*16,4*16,5*16,6*16,7*16 "
	           "numa_mem=64G,64G,64G,64G,64G,64G,64G,64G gpus=%d "
	           "gpu_numa=0*8,1*8,2*8,3*8,4*8,5*8,6*8,7*8 gpu_link=0-%d\n",
	           nodes - 1, MANY, MANY - 1);
}

/* Run a job of 1 GPU and 2 CPUs on each GPU but the first of each node; its
 * CPUs are in the next NUMA node. */
static void scatter(struct buf *text, uint32_t nodes)
{
	for (uint32_t i = 0; i < nodes * MANY; i++) {
		uint32_t g = i % MANY, cpu = (2 * g + 16) % 128;

		if (g == 0)
			continue;
		buf_printf(text,
		           "run %u queue=a cpus=2 mem=4G gpus=1 preemptible "
		           "start=%u end=%u on=n%u:g%u:c%u-%u\n",
		           i + 1, 999999 - i, 1000060 + i * 7919 % 100003,
		           i / MANY, g, cpu, cpu + 1);
	}
}

/* Add rows of one job each, no two of which request the same. */
static void add_unlike(struct buf *text, uint32_t requests)
{
	static const char *const numa[] = { "tight", "strict", "prefer",
		                            "any" };
	static const char *const links[] = { "strict", "prefer", "any" };

	for (uint32_t i = 0; i < requests; i++)
		buf_printf(text,
		           "pend %u queue=b tasks=%u cpus=%u mem=%uM gpus=%u "
		           "numa=%s links=%s time=%u\n",
		           10000000 + i, 1 + i % 7, 1 + i % 13, 1024 + i,
		           1 + i * 5 % 37, numa[i % 4], links[i % 3], 600 + i);
}

/* Plan for unlike requests on nodes with as many link groups as GPUs. taken:
 * they are scattered with jobs of another queue; evict: these may be evicted.
 */
static void bench_adversary(uint32_t nodes, uint32_t requests, bool taken,
                            bool evict)
{
	struct buf text = { 0 };
	struct pass_result r;

	/* the budget of the daemon */
	buf_puts(&text, "now 1000000\n"
	                "policy backfill=yes depth=100 consolidate=yes "
	                "budget=100000\n");
	add_odd_nodes(&text, nodes);
	buf_printf(&text, "queue a quota=gpus:%u\nqueue b quota=gpus:%u\n",
	           evict ? 0 : nodes * MANY, nodes * MANY);
	if (taken)
		scatter(&text, nodes);
	add_unlike(&text, requests);
	r = measure(&text);
	printf("adversary nodes=%u requests=%u gpus=%s started=%u evicted=%u "
	       "promised=%u partial=%s ms=%.2f\n",
	       nodes, requests,
	       !taken  ? "free"
	       : evict ? "evicted"
	               : "taken",
	       r.starts, r.evictions, r.promises, r.partial ? "yes" : "no",
	       r.took * 1e3);
}

static void all_adversary(void)
{
	for (int kind = 0; kind < 3; kind++) {
		for (uint32_t nodes = 125; nodes <= 1000; nodes *= 2)
			bench_adversary(nodes, 1000, kind, kind == 2);
		bench_adversary(125, 2000, kind, kind == 2);
	}
}

/* Plan for jobs with devices beside their GPUs, on nodes with a device for each
 * GPU, which all have PCIe roots of their own. how: what is demanded of the
 * devices, a word of snapshots and others. */
static void bench_beside(uint32_t nodes, uint32_t requests, const char *how)
{
	struct buf text = { 0 };
	struct pass_result r;

	buf_puts(&text, "now 1000000\n"
	                "policy backfill=yes depth=100 budget=100000\n"
	                "device rdma\n");
	add_odd_nodes(&text, nodes);
	text.len--;
	buf_puts(&text, " gpu_root=1");
	for (int i = 1; i < MANY; i++)
		buf_printf(&text, ",%d", i + 1);
	buf_printf(&text, " devices=rdma:%d pieces=rdma@1/0", MANY);
	for (int i = 1; i < MANY; i++)
		buf_printf(&text, ",rdma@%d/%d", i + 1, i / 8);
	buf_puts(&text, "\n");
	for (uint32_t i = 0; i < requests; i++)
		buf_printf(&text, "pend %u cpus=2 gpus=%u devices=rdma:%u %s\n",
		           10000000 + i, 12 + i % 7, 8 + i % 5, how);
	r = measure(&text);
	printf("beside nodes=%u requests=%u %s started=%u partial=%s "
	       "ms=%.2f\n",
	       nodes, requests, how, r.starts, r.partial ? "yes" : "no",
	       r.took * 1e3);
}

static void all_beside(void)
{
	bench_beside(30, 300, "pcie=rdma");
	bench_beside(30, 300, "near=rdma numa=tight");
}

static void all_place(void)
{
	for (uint32_t nodes = 1250; nodes <= 20000; nodes *= 2)
		bench_place(nodes, 1);
	bench_place(5000, 16);
}

static void all_topology(void)
{
	for (uint32_t nodes = 2000; nodes <= 16000; nodes *= 2)
		bench_topology(nodes, 16);
	bench_topology(10000, 16);
	bench_topology(10000, 8);
}

static void all_align(void)
{
	bench_align(5000, 1);
	bench_align(5000, 8);
}

static void all_mig(void)
{
	bench_mig(5000, 20000);
}

static void all_full(void)
{
	for (int ends = 0; ends < 2; ends++) {
		for (uint32_t nodes = 2500; nodes <= 20000; nodes *= 2)
			bench_full(nodes, 100000, 1000, 1, ends);
		bench_full(10000, 100000, 8, 1, ends);
		bench_full(10000, 100000, 1000, 16, ends);
	}
	bench_full(10000, 1000000, 1000, 1, false);
}

static void all_ended(void)
{
	for (int ends = 0; ends < 2; ends++) {
		bench_ended(10000, 100000, 8, ends);
		bench_ended(10000, 100000, 1000, ends);
	}
}

static void all_reclaim(void)
{
	for (uint32_t nodes = 125; nodes <= 4000; nodes *= 2)
		bench_reclaim(nodes, false, false);
	bench_reclaim(1000, true, false);
	bench_reclaim(1000, true, true);
}

static void all_move(void)
{
	for (uint32_t nodes = 500; nodes <= 2000; nodes *= 2)
		bench_move(nodes);
}

static void all_limits(void)
{
	bench_limits(4400, 100000, 1000, 0);
	bench_limits(4400, 100000, 1000, 100000);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} all[] = { { "place", all_place },     { "topology", all_topology },
		    { "align", all_align },     { "mig", all_mig },
		    { "full", all_full },       { "ended", all_ended },
		    { "reclaim", all_reclaim }, { "move", all_move },
		    { "limits", all_limits },   { "adversary", all_adversary },
		    { "beside", all_beside } };

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		bool wanted = argc < 2;

		for (int k = 1; k < argc; k++)
			wanted |= !strcmp(argv[k], all[i].name);
		if (wanted)
			all[i].run();
	}
	return 0;
}
