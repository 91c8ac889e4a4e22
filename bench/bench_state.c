/* bench_state - how long the loop copies pending jobs before each pass; one
 * line a number */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "aischedd/state/cluster/node.h"
#include "aischedd/state/cluster/pool.h"
#include "aischedd/state/life/submit.h"
#include "aischedd/state/life/submit_check.h"
#include "aischedd/state/pass/snapshot.h"
#include "aischedd/state/state.h"

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
	return group == arg; /* none */
}

/* Add jobs of this many shapes that ask for more than there is. */
static void add_jobs(struct state *state, uint32_t jobs, uint32_t shapes)
{
	struct submitter who = { .user = "ada", .in_group = in_group };
	struct spec spec;

	spec_init(&spec);
	spec.name = "job";
	spec.output = "out";
	spec.workdir = "/";
	for (uint32_t i = 0; i < jobs; i++) {
		uint32_t queue;
		struct err err;

		spec.time_limit = 60 + i % shapes;
		if (state_check_request(state, &spec, &who, 0, &queue, &err) <
		    0) {
			fprintf(stderr, "bench_state: %s\n", err.text);
			exit(1);
		}
		state_submit(state, &spec, &who, queue, 1, 1,
		             state_take_ids(state, 1), 0);
	}
}

static int no_past(uint64_t job, uint32_t task, struct past *ret, void *arg)
{
	(void)job;
	(void)task;
	(void)ret;
	(void)arg;
	return -1;
}

static void bench_snapshot(uint32_t jobs, uint32_t shapes)
{
	struct buf warnings = { 0 };
	struct err err;
	struct conf *conf = conf_parse(config, "bench", &warnings, &err);
	struct state *state = state_new(conf, no_past, NULL);
	double best = 1e9;

	add_nodes(state);
	add_jobs(state, jobs, shapes);
	for (int i = 0; i < 5; i++) {
		struct arena *arena = arena_new();
		double took = now_s();

		state_snapshot(state, i, arena);
		took = now_s() - took;
		best = took < best ? took : best;
		arena_free(arena);
	}
	printf("snapshot nodes=%d jobs=%u shapes=%u ms=%.2f\n", NODES, jobs,
	       shapes, best * 1e3);
	state_free(state);
	conf_free(conf);
	buf_free(&warnings);
}

int main(void)
{
	bench_snapshot(100000, 1000);
	bench_snapshot(1000000, 8);
	bench_snapshot(1000000, 1000);
	bench_snapshot(1000000, 100000);
	return 0;
}
