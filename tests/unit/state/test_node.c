/* test_node.c - nodes with the same name in several pools */
#include "aischedd/state/cluster/node.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/sched/text/text.h"
#include "aischedd/state/cluster/device.h"
#include "aischedd/state/cluster/pool.h"
#include "aischedd/state/cluster/reconf.h"
#include "aischedd/state/load.h"
#include "aischedd/state/pass/placed.h"
#include "aischedd/state/pass/snapshot.h"
#include "aischedd/state/placement.h"
#include "aischedd/state/state_priv.h"
#include "libcommon/mig.h"
#include "tests/unit/check.h"
#include "tests/unit/state/world.h"

#define POOLS "pool a { runner = local }\npool b { }\npool c { }\n"
#define CONF  POOLS "queue batch { }\n"

static const struct {
	const char *name;
	const char *step[20];
} plays[] = {
	{ "each is what its own pool says",
	  { "node a/n0 2", "node b/n0 6",
	    "snap node => node a/n0 cpus=2 *; node b/n0 pool=b cpus=6 *",
	    "submit cpus-per-task=6 pool=b", "run", "jobs => 1 R",
	    "submit cpus-per-task=3 pool=a => ! *the largest * has 2 (a/n0)" } },
	{ "a name that one pool has needs no pool",
	  { "node a/n0 2", "node b/n1 2",
	    "snap node => node n0 *; node n1 *" } },
	{ "one is drained",
	  { "node a/n0 2", "node b/n0 2", "drain b/n0 disk", "submit pool=b",
	    "submit pool=a", "run", "jobs => 1 PD NodeDown, 2 R",
	    "undrain b/n0", "run", "jobs => 1 R, 2 R" } },
	{ "a name alone means all of them",
	  { "node a/n0 2", "node b/n0 2", "drain n0 disk", "submit pool=b",
	    "submit pool=a", "run", "jobs => 1 PD NodeDown, 2 PD NodeDown" } },
	{ "a job may ask for one",
	  { "node a/n0 2", "node b/n0 2", "node c/n0 2",
	    "submit cpus-per-task=2 nodelist=b/n0",
	    "submit cpus-per-task=2 exclude=a/n0,b/n0", "run",
	    "jobs => 1 R, 2 R", "submit nodelist=n0", "run",
	    "snap run => run 3 * on=?/n0:*; run 2 * on=c/n0:*; run 1 * "
	    "on=b/n0:*",
	    "submit nodelist=d/n0 => ! --nodelist: there is no node 'd/n0'*" } },
	{ "a reservation is of one",
	  { "node a/n0 2", "node b/n0 2", "reserve one 10 60 b/n0 ada",
	    "reservations => one 10-60 b/n0 ada+",
	    "reserve all 10 60 n0 ada => ! "
	    "reservation 'one' keeps node 'n0' at that time",
	    "reserve all 100 160 n0 ada", "unreserve one",
	    "reservations => all 100-160 a/n0,b/n0 ada+" } },
	{ "one that is gone is forgotten",
	  { "node b/n0 2", "node b/n1 2", "gone b/n0", "plan",
	    "snap node => node _0 *; node n1 *", "commit", "plan",
	    "node b/n2 4", "submit cpus-per-task=3", "run",
	    "snap run => run 1 * on=n2:*", "snap node => node n2 *; node n1 *",
	    "gone b/n1", "plan", "snap node => node n2 *; node _1 *" } },
	{ "a drained one is kept, and is drained when it comes back",
	  { "node b/n0 2", "drain n0 disk", "tell", "gone b/n0", "plan",
	    "commit", "plan", "node b/n0 2", "submit pool=b", "run",
	    "jobs => 1 PD NodeDown", "gone b/n0", "undrain n0", "tell",
	    "commit", "+60", "plan", "snap node => node _0 *" } },
	{ "a reserved one is kept",
	  { "node b/n0 2", "reserve r 100 160 b/n0 ada", "gone b/n0", "plan",
	    "commit", "plan", "reservations => r 100-160 n0 ada+",
	    "unreserve r", "commit", "+60", "plan",
	    "snap node => node _0 *" } },
	{ "one with a job is kept",
	  { "node b/n0 2", "submit", "run", "gone b/n0", "plan", "commit",
	    "plan", "jobs => 1 R", "end 1 0", "commit", "tell", "+60", "plan",
	    "snap node => node _0 *" } },
};

START_TEST(play_case)
{
	struct world w;

	world_init(&w, CONF);
	world_play(&w, plays[_i].name, plays[_i].step);
	world_fini(&w);
}
END_TEST

static void say(struct world *w, const char *node)
{
	world_node(w, node, 4, 4000, 0);
}

START_TEST(a_node_is_expected_in_no_pool_yet)
{
	struct world w;
	int n;

	world_init(&w, CONF);
	world_check(&w);
	n = state_node_expect(w.state, "n0");
	world_check(&w);
	ck_assert_int_eq(n, state_node_expect(w.state, "n0"));
	ck_assert_int_eq(state_drain(w.state, (uint32_t)n, true, "disk", NULL),
	                 0);
	ck_assert_int_lt(state_node_expect(w.state, "d/n0"), 0);
	/* The node belongs to the pool that lists it first. */
	say(&w, "c/n0");
	say(&w, "b/n0");
	ck_assert_int_eq(state_node_of(w.state, 2, "n0"), n);
	ck_assert(state_node(w.state, (uint32_t)n)->drained);
	ck_assert_str_eq(state_node_label(w.state, (uint32_t)n), "c/n0");
	ck_assert(
	    !state_node(w.state, (uint32_t)state_node_of(w.state, 1, "n0"))
		 ->drained);
	ck_assert_int_lt(state_node_expect(w.state, "b/n1"), 0);
	ck_assert_int_ge(state_node_expect(w.state, "a/n1"), 0);
	world_fini(&w);
}
END_TEST

START_TEST(a_placement_names_the_pool)
{
	struct world w;
	struct buf text = { 0 };
	struct placement *place;
	const struct job *job;

	world_init(&w, CONF);
	say(&w, "a/n0");
	ck_assert_uint_eq(world_submit(&w, "pool=a"), 1);
	world_run(&w);
	say(&w, "b/n0");
	job = state_job(w.state, 1);
	state_placement_format(w.state, job->place, true, &text);
	ck_assert(glob_match("a/n0:*", text.data));
	place = state_placement_parse(w.state, text.data, NULL);
	ck_assert_uint_eq(place->task[0].node, job->place->task[0].node);
	ck_assert_uint_eq(place->task[0].units, 0);
	free(place);
	place = state_placement_parse(w.state, "a/n0:2:500:0/1000@1+f0", NULL);
	ck_assert_uint_eq(place->task[0].numas, 1);
	ck_assert_uint_eq(place->task[0].units, 0xf0);
	buf_clear(&text);
	state_placement_format(w.state, place, true, &text);
	ck_assert_str_eq(text.data, "a/n0:2:500:0/1000@1+f0");
	free(place);
	place = state_placement_parse(
	    w.state, "a/n0:0:0:=/dev/x:1,/dev/y;a/n0:0:0:=/dev/y", NULL);
	ck_assert_uint_eq(place->devs[0], 3);
	ck_assert_uint_eq(place->devs[1], 2);
	buf_clear(&text);
	state_placement_format(w.state, place, true, &text);
	ck_assert_str_eq(text.data,
	                 "a/n0:0:0:=/dev/x:1,/dev/y;a/n0:0:0:=/dev/y");
	free(place);
	/* A node of a pool that is no longer configured is kept by its name. */
	place = state_placement_parse(w.state, "old/n7:0:0:", NULL);
	ck_assert(state_node(w.state, place->task[0].node)->expected);
	free(place);
	buf_free(&text);
	world_fini(&w);
}
END_TEST

/* Whether --numa strict is taken in the pool. */
static bool aligns(const struct world *w, uint32_t pool)
{
	struct spec spec;

	spec_init(&spec);
	spec.numa = "strict";
	return pool_aligns(w->state, pool, &spec, NULL);
}

START_TEST(clusters_choose_devices_themselves)
{
	static const struct {
		uint32_t pool;
		const char *device, *want;
	} cases[] = {
		{ 0, "rdma:2:pcie", NULL },
		{ 0, "rdma:numa", NULL },
		{ 1, "rdma:2", NULL },
		{ 1, "rdma:2:pcie",
		  "pool 'y': its nodes choose devices themselves (device "
		  "plugin): --device rdma:2:pcie cannot be had there" },
	};
	struct world w;

	world_init(&w, "pool x { runner = local }\n"
	               "pool y { runner = kubernetes }\n"
	               "device rdma { }\nqueue batch { }\n");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct spec spec;

		spec_init(&spec);
		spec.device = cases[i].device;
		ck_assert_int_eq(
		    pool_aligns(w.state, cases[i].pool, &spec, &w.err),
		    !cases[i].want);
		if (cases[i].want)
			ck_assert_str_eq(w.err.text, cases[i].want);
	}
	world_fini(&w);
}
END_TEST

/* A node of a cluster with two GPUs; what is known of devices of kind 0. */
struct near_node {
	bool named, gpu_root, gpu_numa, dev_root, dev_numa;
};

static void say_near(struct world *w, const char *name,
                     const struct near_node *near)
{
	static const uint8_t zero[2];
	static const uint16_t held[2], roots[2] = { 1, 2 };

	state_node_seen(w->state, 0,
	                &(struct node_info){
			    .name = name,
			    .cpu_milli = 4000,
			    .mem_mib = 1000,
			    .ngpus = 2,
			    .gpu_numa = zero,
			    .gpu_link = zero,
			    .gpu_held = held,
			    .gpu_root = near->gpu_root ? roots : held,
			    .gpus_named = near->named,
			    .gpu_numas_known = near->gpu_numa,
			    .kinds_named = 1,
			    .kinds_rooted = near->dev_root,
			    .kinds_zoned = near->dev_numa,
			});
}

/* Facts that the nodes of a cluster know, and the answers to two requests. */
static const struct {
	const char *name;
	struct near_node a, b;   /* b is not there unless it knows something */
	const char *pcie, *numa; /* NULL: it is taken */
} near_cases[] = {
	{ "all is known", { true, true, true, true, true }, { 0 }, NULL, NULL },
	{ "a plugin gives GPUs",
	  { false, false, false, true, true },
	  { 0 },
	  "its nodes choose devices themselves (device plugin)",
	  "its nodes choose devices themselves (device plugin)" },
	{ "of GPUs nothing is known",
	  { true, false, false, true, true },
	  { 0 },
	  "PCIe roots of its GPUs are not known",
	  "NUMA nodes of its GPUs are not known ('node' sections can say "
	  "them)" },
	{ "of devices nothing is known",
	  { true, true, true, false, false },
	  { 0 },
	  "PCIe roots of its rdma are not known",
	  "NUMA nodes of its rdma are not known" },
	{ "each is known elsewhere",
	  { true, true, true, false, false },
	  { true, false, true, true, true },
	  "no node has known PCIe roots of both GPUs and rdma",
	  NULL },
	{ "one node knows all",
	  { false, false, false, true, true },
	  { true, true, true, true, true },
	  NULL,
	  "its nodes choose devices themselves (device plugin)" },
};

static void check_near(const struct world *w, const char *device,
                       const char *want)
{
	struct spec spec;
	struct err err = { 0 };
	char *text = NULL;

	spec_init(&spec);
	spec.device = device;
	spec.gpus = 2000;
	if (want)
		text = xasprintf("pool 'y': %s: --device %s cannot be had "
		                 "there",
		                 want, device);
	ck_assert_int_eq(pool_aligns(w->state, 0, &spec, &err), !want);
	if (want)
		ck_assert_str_eq(err.text, text);
	free(text);
}

START_TEST(near_case)
{
	static const struct near_node none;
	struct world w;

	world_init(&w, "pool y { runner = kubernetes }\n"
	               "device rdma { class = c driver = d }\nqueue q { }\n");
	check_near(&w, "rdma:2:pcie", NULL);
	say_near(&w, "a", &near_cases[_i].a);
	if (memcmp(&near_cases[_i].b, &none, sizeof(none)) != 0)
		say_near(&w, "b", &near_cases[_i].b);
	state_pool_ready(w.state, 0, true);
	check_near(&w, "rdma:2:pcie", near_cases[_i].pcie);
	check_near(&w, "rdma:2:numa", near_cases[_i].numa);
	state_node_seen(w.state, 0,
	                &(struct node_info){ .name = "a", .gone = true });
	state_node_seen(w.state, 0,
	                &(struct node_info){ .name = "b", .gone = true });
	check_near(&w, "rdma:2:pcie",
	           "its nodes choose devices themselves (device plugin)");
	world_fini(&w);
}
END_TEST

START_TEST(devices_in_numa_nodes_need_gpus)
{
	struct world w;
	struct spec spec;

	world_init(&w, "pool y { runner = kubernetes }\n"
	               "device rdma { class = c driver = d }\nqueue q { }\n");
	spec_init(&spec);
	spec.device = "rdma:numa";
	ck_assert(!pool_aligns(w.state, 0, &spec, &w.err));
	ck_assert_str_eq(w.err.text,
	                 "pool 'y': its jobs are bound to no NUMA nodes, and "
	                 "this one asks for no GPUs: --device rdma:numa cannot "
	                 "be had there");
	world_fini(&w);
}
END_TEST

START_TEST(pools_change_places)
{
	static const uint8_t zero[2];
	struct node_info named = { .name = "n0",
		                   .cpu_milli = 4000,
		                   .mem_mib = 1000,
		                   .ngpus = 2,
		                   .gpu_numa = zero,
		                   .gpu_link = zero,
		                   .gpus_named = true,
		                   .gpu_numas_known = true };
	struct node_info counted = named;
	struct world w;

	counted.gpus_named = false;
	world_init(&w, "pool x { runner = kubernetes }\n"
	               "pool y { runner = kubernetes }\nqueue batch { }\n");
	state_pool_ready(w.state, 0, true);
	state_pool_ready(w.state, 1, true);
	state_node_seen(w.state, 0, &named);
	state_node_seen(w.state, 1, &counted);
	ck_assert(aligns(&w, 0));
	ck_assert(!aligns(&w, 1));
	w.old_conf = w.conf;
	w.conf =
	    world_conf("pool y { runner = kubernetes }\n"
	               "pool x { runner = kubernetes }\nqueue batch { }\n");
	ck_assert_int_eq(state_reconf(w.state, w.conf, w.now, &w.err), 0);
	ck_assert(!aligns(&w, 0));
	ck_assert(aligns(&w, 1));
	state_node_seen(w.state, 1, &counted);
	ck_assert(!aligns(&w, 1));
	world_fini(&w);
}
END_TEST

START_TEST(nodes_go_with_their_pool)
{
	struct world w;
	struct node_info gone = { .name = "n0", .gone = true };

	world_init(&w, CONF);
	say(&w, "a/n0");
	say(&w, "b/n0");
	w.old_conf = w.conf;
	w.conf = world_conf("pool c { }\npool b { }\nqueue batch { }\n");
	ck_assert_int_lt(state_reconf(w.state, w.conf, w.now, &w.err), 0);
	ck_assert_str_eq(w.err.text,
	                 "pool 'a' has nodes: removing it needs a restart");
	state_node_seen(w.state, 0, &gone);
	world_check(&w);
	ck_assert_int_eq(state_reconf(w.state, w.conf, w.now, &w.err), 0);
	world_check(&w);
	ck_assert_int_lt(state_node_of(w.state, 0, "n0"), 0);
	ck_assert_int_ge(state_node_of(w.state, 1, "n0"), 0);
	ck_assert_str_eq(state_node_label(w.state, (uint32_t)state_node_of(
						       w.state, 1, "n0")),
	                 "n0");
	/* A drained node whose pool no longer exists is not loaded. */
	state_load_node(w.state, "n5", "a", true, "disk");
	ck_assert_int_lt(state_node_find(w.state, "n5"), 0);
	world_fini(&w);
}
END_TEST

START_TEST(nodes_of_a_pool_that_was_taken_out_go)
{
	struct world w;
	struct placement *place;
	int drained;

	world_init(&w, CONF);
	say(&w, "a/n0");
	state_pool_ready(w.state, 0, false);
	place = state_placement_parse(w.state, "old/n7:0:0:", NULL);
	drained = state_node_expect(w.state, "n8");
	state_drain(w.state, (uint32_t)drained, true, "disk", NULL);
	ck_assert_int_ge(state_node_find(w.state, "n7"), 0);
	world_check(&w);
	state_pool_ready(w.state, 0, true);
	world_check(&w);
	ck_assert_int_lt(state_node_find(w.state, "n7"), 0);
	ck_assert(state_node(w.state, place->task[0].node)->removed);
	ck_assert_int_eq(state_node_find(w.state, "n8"), drained);
	ck_assert_int_ge(state_node_find(w.state, "n0"), 0);
	free(place);
	world_fini(&w);
}
END_TEST

/* An autoscaler takes away each node after a while, and adds others. */
START_TEST(nodes_come_and_go_under_new_names)
{
	struct world w;
	size_t most = 0;

	world_init(&w, CONF);
	say(&w, "a/first");
	for (int i = 0; i < 1000; i++) {
		char name[24];

		snprintf(name, sizeof(name), "b/burst-%d", i);
		say(&w, name);
		world_submit(&w, "pool=b");
		world_run(&w);
		world_end(&w, (uint64_t)i + 1, 0);
		world_commit(&w);
		world_effects(&w);
		state_node_seen(
		    w.state, 1,
		    &(struct node_info){ .name = name + 2, .gone = true });
		world_plan(&w);
		ck_assert_int_lt(state_node_find(w.state, name), 0);
		ck_assert_uint_eq(state_nodes_there(w.state), 1);
		world_commit(&w);
		if (state_nnodes(w.state) > most)
			most = state_nnodes(w.state);
	}
	ck_assert_uint_le(most, 4);
	world_check(&w);
	world_fini(&w);
}
END_TEST

/* --- what is kept while nodes report ------------------------------------- */

START_TEST(a_report_about_others_keeps_what_snapshots_share)
{
	struct world w;
	uint8_t zero[4] = { 0 };
	uint16_t core[4] = { 0, 1, 2, 3 };
	struct node_info info = { .name = "n0",
		                  .ncpus = 4,
		                  .cpu_numa = zero,
		                  .cpu_core = core,
		                  .cpu_milli = 4000,
		                  .mem_mib = 4000,
		                  .gpu_numa = zero,
		                  .gpu_link = zero };
	size_t n;

	world_init(&w, NULL);
	world_node(&w, "n0", 4, 4000, 0);
	world_submit(&w, "mem=1000");
	world_run(&w);
	world_run(&w);
	/* copies of jobs, and columns of nodes, are not made anew */
	((struct placed_run *)placed_runs(w.state, &n))->waited = 77;
	info.used_mem_mib = 500;
	state_node_seen(w.state, 0, &info);
	ck_assert_ptr_nonnull(w.state->nodes.frame);
	ck_assert_int_eq(placed_runs(w.state, &n)->waited, 77);
	ck_assert_uint_eq(n, 1);
	state_drain(w.state, 0, true, "disk", NULL);
	ck_assert_ptr_nonnull(w.state->nodes.frame);
	ck_assert_int_eq(placed_runs(w.state, &n)->waited, 77);
	placed_all_changed(w.state);
	world_check(&w);
	/* a node that has less itself makes them stale */
	info.mem_mib = 3000;
	state_node_seen(w.state, 0, &info);
	ck_assert_ptr_null(w.state->nodes.frame);
	world_check(&w);
	world_fini(&w);
}
END_TEST

/* --- each member of a report ---------------------------------------------- */

/* The members of struct node_info; whether the snapshots of this test show a
 * change of it; and a change. */
#define MEMBERS(X)                                                      \
	X(name, false, (void)0)                                         \
	X(ncpus, true, i.ncpus = 3)                                     \
	X(cpu_numa, true, i.cpu_numa = other)                           \
	X(cpu_core, true, i.cpu_core = numbers)                         \
	X(cpu_milli, true, i.cpu_milli = 3500)                          \
	X(mem_mib, true, i.mem_mib = 7000)                              \
	X(tmp_mib, true, i.tmp_mib = 7000)                              \
	X(nnumas, true, i.nnumas = 0)                                   \
	X(numa_mem, true, i.numa_mem = amounts)                         \
	X(slots, true, i.slots = 7)                                     \
	X(ngpus, true, i.ngpus = 1)                                     \
	X(gpu_type, true, i.gpu_type = "b")                             \
	X(gpu_mem_mib, true, i.gpu_mem_mib = 30000)                     \
	X(gpu_numa, true, i.gpu_numa = other)                           \
	X(gpu_link, true, i.gpu_link = other)                           \
	X(gpu_parts, true, i.gpu_parts = parts)                         \
	X(mig, true, i.mig = MIG_A30)                                   \
	X(used_parts, false, i.used_parts = numbers)                    \
	X(gpus_named, false, i.gpus_named = false)                      \
	X(gpu_numas_known, false, i.gpu_numas_known = false)            \
	X(gpus_shared, false, i.gpus_shared = true)                     \
	X(gpu_held, true, (i.gpu_held = numbers, i.used_gpu_milli = 5)) \
	X(policy, false, i.policy = NODE_POLICY_NONE)                   \
	X(zone_gpus, true, i.zone_gpus = amounts)                       \
	X(zone_cpus, false, i.zone_cpus = amounts)                      \
	X(down, true, i.down = true)                                    \
	X(gone, true, i.gone = true)                                    \
	X(cordoned, true, i.cordoned = true)                            \
	X(reason, false, i.reason = "fan")                              \
	X(features, true, i.features = words)                           \
	X(taints, true, i.taints = words)                               \
	X(topology, true, i.topology = "z1")                            \
	X(used_cpu_milli, true, i.used_cpu_milli = 500)                 \
	X(used_mem_mib, true, i.used_mem_mib = 500)                     \
	X(used_tmp_mib, true, i.used_tmp_mib = 500)                     \
	X(used_gpu_milli, true,                                         \
	  (i.gpus_named = false, i.used_gpu_milli = 1000))              \
	X(used_slots, true, i.used_slots = 1)                           \
	X(devs, true, i.devs.n[0] = 4)                                  \
	X(used_devs, true, i.used_devs.n[0] = 1)                        \
	X(device, true, i.device = device + 1)                          \
	X(ndevices, true, i.ndevices = 1)                               \
	X(gpu_root, true, i.gpu_root = numbers)                         \
	X(kinds_named, false, i.kinds_named = 0)                        \
	X(kinds_rooted, false, i.kinds_rooted = 0)                      \
	X(kinds_zoned, false, i.kinds_zoned = 0)

static const struct {
	const char *name;
	bool shows;
	size_t at, size;
} members[] = {
#define X(member, shows, change)                              \
	{ #member, shows, offsetof(struct node_info, member), \
	  sizeof(((struct node_info *)NULL)->member) },
	MEMBERS(X)
#undef X
};

/* Returns a report of which this member differs from the other reports. */
static struct node_info report(size_t member)
{
	static const uint8_t same[4], other[4] = { 1, 1, 0, 1 };
	static const uint16_t numbers[MIG_PROFILES_MOST] = { 2, 1, 2 };
	static const int64_t sizes[] = { 4000, 4000 };
	static const int64_t amounts[LIMIT_SOCKETS] = { 5000, 3000 };
	static const uint64_t parts[] = { MIG_NO_PARTS, 0 };
	static const struct run_device device[] = {
		{ .name = "d0", .root = 1 },
		{ .name = "d1", .root = 2, .numa = 1 },
		{ .name = "d2", .root = 3, .numa = 1 },
	};
	static const uint16_t core[] = { 0, 1, 2, 3 }, roots[] = { 1, 2 };
	static const char *const word[] = { "w" };
	struct strlist words = { .s = word, .n = 1 };
	struct node_info i = { .name = "n0",
		               .ncpus = 4,
		               .cpu_numa = same,
		               .cpu_core = core,
		               .cpu_milli = 4000,
		               .mem_mib = 8000,
		               .tmp_mib = 8000,
		               .nnumas = 2,
		               .numa_mem = sizes,
		               .slots = 9,
		               .ngpus = 2,
		               .gpu_type = "a",
		               .gpu_mem_mib = 40000,
		               .gpu_numa = same,
		               .gpu_link = same,
		               .gpus_named = true,
		               .gpu_numas_known = true,
		               .devs = { { 2 } },
		               .device = device,
		               .ndevices = 2,
		               .gpu_root = roots,
		               .kinds_named = 1,
		               .kinds_rooted = 1,
		               .kinds_zoned = 1 };

	switch (member) {
#define X(member, shows, change)                 \
	case offsetof(struct node_info, member): \
		change;                          \
		break;
		MEMBERS(X)
#undef X
	}
	return i;
}

/* Set ret to what a snapshot shows of the only node. */
static void put_node(const struct world *w, struct buf *ret)
{
	struct arena *arena = arena_new();
	struct buf all = { 0 };

	buf_clear(ret);
	snap_write(snap_build(w->state, w->now, arena, NULL, false), &all);
	buf_puts(ret, strstr(all.data, "\nnode "));
	buf_free(&all);
	arena_free(arena);
}

/* Snapshots share columns of nodes until node_frame_key() changes, which lists
 * what these have of a node. */
START_TEST(snapshots_show_each_member_of_a_report)
{
	struct buf before = { 0 }, after = { 0 };
	struct node_info info = report(SIZE_MAX);
	struct world w;

	world_init(&w, "topology { levels = {rack} }\n"
	               "pool here { runner = kubernetes }\n"
	               "device rdma { class = \"c\" }\nqueue batch { }\n");
	state_node_seen(w.state, 0, &info);
	state_pool_ready(w.state, 0, true);
	put_node(&w, &before);
	info = report(members[_i].at);
	state_node_seen(w.state, 0, &info);
	put_node(&w, &after);
	ck_assert_msg(members[_i].shows ==
	                  (strcmp(before.data, after.data) != 0),
	              "%s: %s\n%s", members[_i].name, before.data, after.data);
	world_check(&w);
	buf_free(&before);
	buf_free(&after);
	world_fini(&w);
}
END_TEST

/* A member that is missing in MEMBERS leaves a gap, unless it is where others
 * would have padding. */
START_TEST(all_members_of_a_report_are_tested)
{
	size_t end = 0;

	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		size_t padding = members[i].size < sizeof(void *)
		                     ? members[i].size - 1
		                     : sizeof(void *) - 1;

		ck_assert_msg(members[i].at - end <= padding,
		              "a member before %s is not tested",
		              members[i].name);
		end = members[i].at + members[i].size;
	}
	ck_assert_uint_lt(sizeof(struct node_info) - end, sizeof(void *));
}
END_TEST

/* Report node i with two devices, in this order. */
static void see_devices(struct world *w, int i, const char *first,
                        const char *second)
{
	char name[24];
	const struct run_device device[] = { { .name = first },
		                             { .name = second } };
	const struct node_info info = { .name = name,
		                        .cpu_milli = 4000,
		                        .mem_mib = 4000,
		                        .device = device,
		                        .ndevices = 2,
		                        .devs = { { 2 } },
		                        .kinds_named = 1 };

	snprintf(name, sizeof(name), "n%d", i);
	state_node_seen(w->state, 0, &info);
}

/* Returns the name of the only device that a job has. */
static char device_of(const struct world *w, uint64_t id)
{
	const struct placement *place = state_job(w->state, id)->place;
	uint64_t devs = placement_devs(place, 0);

	ck_assert_int_eq(__builtin_popcountll(devs), 1);
	return *state_node(w->state, place->task[0].node)
	            ->named->name[__builtin_ctzll(devs)];
}

START_TEST(tasks_keep_their_devices_as_all_nodes_report)
{
	enum { NODES = 20, JOBS = 2 * NODES };
	static const char *const seen[][2] = { { "b", "a" }, { "a", "c" } };
	struct world w;
	char had[JOBS + 1];

	world_init(&w, "pool here { runner = kubernetes }\n"
	               "device rdma { class = \"c\" }\nqueue batch { }\n");
	for (int i = 0; i < NODES; i++)
		see_devices(&w, i, "a", "b");
	state_pool_ready(w.state, 0, true);
	for (uint64_t id = 1; id <= JOBS; id++)
		world_submit(&w, "device=rdma:1");
	world_run(&w);
	for (uint64_t id = 1; id <= JOBS; id++)
		had[id] = device_of(&w, id);
	for (size_t k = 0; k < ARRAY_SIZE(seen); k++) {
		uint64_t before = w.state->nodes.device_searches;

		for (int i = 0; i < NODES; i++)
			see_devices(&w, i, seen[k][0], seen[k][1]);
		/* one search through all jobs, not one for each node */
		ck_assert_uint_le(w.state->nodes.device_searches, before + 1);
		for (uint64_t id = 1; id <= JOBS; id++)
			ck_assert_int_eq(device_of(&w, id), had[id]);
	}
	world_check(&w);
	world_fini(&w);
}
END_TEST

SUITE(node)
{
	tcase_add_loop_test(tc, play_case, 0, ARRAY_SIZE(plays));
	tcase_add_test(tc, a_node_is_expected_in_no_pool_yet);
	tcase_add_test(tc, a_placement_names_the_pool);
	tcase_add_test(tc, clusters_choose_devices_themselves);
	tcase_add_loop_test(tc, near_case, 0, ARRAY_SIZE(near_cases));
	tcase_add_test(tc, devices_in_numa_nodes_need_gpus);
	tcase_add_test(tc, pools_change_places);
	tcase_add_test(tc, nodes_go_with_their_pool);
	tcase_add_test(tc, nodes_of_a_pool_that_was_taken_out_go);
	tcase_add_test(tc, nodes_come_and_go_under_new_names);
	tcase_add_test(tc, a_report_about_others_keeps_what_snapshots_share);
	tcase_add_loop_test(tc, snapshots_show_each_member_of_a_report, 0,
	                    ARRAY_SIZE(members));
	tcase_add_test(tc, all_members_of_a_report_are_tested);
	tcase_add_test(tc, tasks_keep_their_devices_as_all_nodes_report);
}
