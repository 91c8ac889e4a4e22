/* test_places.c - the topology of nodes, and requests about it */
#include <string.h>

#include "aischedd/state/cluster/node.h"
#include "aischedd/state/cluster/pool.h"
#include "aischedd/state/cluster/reconf.h"
#include "libcommon/mem.h"
#include "tests/unit/check.h"
#include "tests/unit/state/world.h"

#define TREE                                              \
	"topology { levels = {zone, rack} }\n"            \
	"pool here { runner = local }\nqueue batch { }\n" \
	"node \"n[0-3]\" { topology = \"z1/r[0-1]\" }\n"  \
	"node m0 { topology = z2 }\nnode m1 { }\n"

static void node(struct world *w, const char *name)
{
	world_node(w, name, 4, 4000, 0);
}

static void all_nodes(struct world *w)
{
	static const char *const name[] = {
		"n0", "n1", "n2", "n3", "m0", "m1"
	};

	for (size_t i = 0; i < ARRAY_SIZE(name); i++)
		node(w, name[i]);
}

/* Steps that show the topology in the snapshot of a pass, then submit jobs. */
static const struct {
	const char *name;
	const char *step[12];
} plays[] = {
	{ "each node in its domain",
	  { "snap level => level zone; level rack",
	    "snap domain => domain z1; domain z1/r0 parent=z1 level=rack; "
	    "domain z1/r1 parent=z1 level=rack; domain z2",
	    "snap node => node n0 * domain=z1/r0 *; node n1 * domain=z1/r0 *; "
	    "node n2 * domain=z1/r1 *; node n3 * domain=z1/r1 *; "
	    "node m0 * domain=z2 *; node m1 cpus=4 mem=4000M threads=4*" } },
	{ "what is needed, what is liked",
	  { "submit topology=rack", "submit topology=zone,rack:preferred",
	    "submit topology=rack:preferred", "submit tasks=2 topology=zone",
	    "snap pend => pend 1 *need=rack; pend 2 *need=zone like=rack; "
	    "pend 3 *like=rack; pend 4 *need=zone" } },
	{ "a wider wish is met, too",
	  { "submit topology=rack,zone:preferred",
	    "snap pend => pend 1 *need=rack" } },
	{ "alignment",
	  { "submit numa=strict", "submit numa=prefer",
	    "snap pend => pend 1 *numa=strict; pend 2 *numa=prefer" } },
	{ "refused",
	  { "submit topology=shelf => ! --topology: there is no topology level "
	    "'shelf'; levels are zone, rack",
	    "submit tasks=9 topology=rack => ! even if all nodes were empty, at "
	    "most 8 of its 9 tasks would fit in one rack",
	    "submit tasks=9 topology=rack:preferred" } },
};

START_TEST(play)
{
	struct world w;

	world_init(&w, TREE);
	all_nodes(&w);
	world_play(&w, plays[_i].name, plays[_i].step);
	world_fini(&w);
}
END_TEST

static void reload(struct world *w, const char *conf)
{
	conf_free(w->old_conf);
	w->old_conf = w->conf;
	w->conf = world_conf(conf);
	ck_assert_int_eq(state_reconf(w->state, w->conf, w->now, &w->err), 0);
}

START_TEST(a_level_that_is_gone)
{
	static const char *const before[] = { "submit topology=rack", "run",
		                              "submit topology=rack",
		                              "submit topology=rack:preferred",
		                              NULL };
	static const char *const after[] = { "snap pend => pend 2-3 *pools=-",
		                             "plan", "why 2 => NeverFits: *",
		                             NULL };
	struct world w;

	world_init(&w, TREE);
	all_nodes(&w);
	world_play(&w, "before", before);
	reload(&w, "topology { levels = {zone} }\n"
	           "pool here { runner = local }\nqueue batch { }\n"
	           "node \"n[0-3],m[0-1]\" { topology = z1 }\n");
	world_play(&w, "after", after);
	world_fini(&w);
}
END_TEST

#define BARE "pool here { runner = local }\nqueue batch { }\n"

/* Add a node for which the runner reports how many CPUs it has, but not
 * which. */
static void counted_node(struct world *w)
{
	static const uint8_t zero[8];
	struct node_info info = { .name = "g0",
		                  .cpu_milli = 6500,
		                  .mem_mib = 1024,
		                  .ngpus = 4,
		                  .gpu_numa = zero,
		                  .gpu_link = zero };

	info.gpus_named = runner_traits(w->conf->pools[0].runner)->has_api;
	state_node_seen(w->state, 0, &info);
	state_pool_ready(w->state, 0, true);
}

static const struct {
	const char *name, *conf, *want;
} nodes[] = {
	{ "as found", BARE, "snap node => node g0 cpus=6.5 mem=1G gpus=4" },
	{ "one socket", BARE "node g0 { sockets = 1 }",
	  "snap node => node g0 cpus=6.5 mem=1G gpus=4" },
	{ "two sockets", BARE "node g0 { sockets = 2 }",
	  "snap node => node g0 cpus=6.5 mem=1G gpus=4 gpu_numa=0*2,1*2 "
	  "threads=6 numa=0*3,1*3 numa_mem=512M,512M" },
	{ "link groups", BARE "node g0 { gpu_link_groups = 4 }",
	  "snap node => node g0 cpus=6.5 mem=1G gpus=4 gpu_link=0-3" },
	{ "CPUs for the system",
	  BARE "node g0 { sockets = 2 cpus = 4 reserve_cpus = 1 }",
	  "snap node => node g0 cpus=3 mem=1G gpus=4 gpu_numa=0*2,1*2 "
	  "threads=4 numa=0*2,1*2 thread_free=1000*3,0 "
	  "numa_mem=512M,512M" },
	{ "partitions for good",
	  "pool here { }\nqueue batch { }\n"
	  "node g0 { mig_fixed = {\"1:3g.40gb@4,1g.10gb\"} }",
	  "snap node => node g0 cpus=6.5 mem=1G gpus=4 "
	  "parts=-,1g.10gb@0/3g.40gb@4,-,-" },
};

START_TEST(sockets)
{
	const char *const steps[] = { nodes[_i].want, NULL };
	const char *const bare[] = { nodes[0].want, NULL };
	struct world w;

	world_init(&w, nodes[_i].conf);
	counted_node(&w);
	world_play(&w, nodes[_i].name, steps);
	reload(&w, BARE);
	world_play(&w, "found again", bare);
	reload(&w, nodes[_i].conf);
	world_play(&w, "once more", steps);
	world_fini(&w);
}
END_TEST

/* --numa is about GPUs where nobody binds CPUs: the second job would get none
 * in the NUMA node of its GPU. */
START_TEST(cpus_that_nobody_binds_are_in_no_numa_node)
{
	static const char *const steps[] = {
		"snap node => node g0 cpus=6.5 mem=1G gpus=4 gpu_numa=0*2,1*2",
		"submit gpus-per-task=1 cpus-per-task=2 numa=strict",
		"submit gpus-per-task=1 cpus-per-task=4 numa=strict", "run",
		NULL
	};
	struct world w;

	world_init(&w, "pool here { runner = kubernetes }\nqueue batch { }\n"
	               "node g0 { sockets = 2 }");
	counted_node(&w);
	world_play(&w, "sockets of a cluster", steps);
	ck_assert_int_ne(state_job(w.state, 1)->state, JOB_PENDING);
	ck_assert_int_ne(state_job(w.state, 2)->state, JOB_PENDING);
	world_fini(&w);
}
END_TEST

SUITE(places)
{
	tcase_add_loop_test(tc, play, 0, ARRAY_SIZE(plays));
	tcase_add_test(tc, a_level_that_is_gone);
	tcase_add_loop_test(tc, sockets, 0, ARRAY_SIZE(nodes));
	tcase_add_test(tc, cpus_that_nobody_binds_are_in_no_numa_node);
}
