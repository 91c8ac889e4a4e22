/* test_scale.c - nodes that are added when jobs need them, and given back */
#include <string.h>

#include "aischedd/run/runner.h"
#include "aischedd/state/cluster/node.h"
#include "aischedd/state/cluster/reconf.h"
#include "aischedd/state/cluster/scale.h"
#include "aischedd/state/pass/apply.h"
#include "aischedd/state/state.h"
#include "tests/unit/check.h"
#include "tests/unit/state/world.h"

/* A pool without nodes, and a template of two nodes that are there after 100
 * seconds. */
#define CONF                                                                  \
	"pool p { runner = kubernetes }\n"                                    \
	"scale s { max = 2  cpus = 4  memory = 4G  tmp = 9G  delay = 100s\n"  \
	"idle_for = 50s  resume = \"/bin/true\"  suspend = \"/bin/true\" }\n" \
	"queue batch { }\n"

#define CONF_FEATURES                                                \
	"pool p { runner = kubernetes }\n"                           \
	"scale s { max = 1  cpus = 4  memory = 4G  features = big  " \
	"resume = \"/bin/true\"  suspend = \"/bin/true\" }\n"        \
	"queue batch { }\n"

/* A template whose nodes an autoscaler adds. */
#define CONF_STANDIN                                                       \
	"pool p { runner = kubernetes }\n"                                 \
	"scale s { max = 2  cpus = 4  memory = 4G  delay = 100s\n"         \
	"idle_for = 50s  by = standin  labels = {\"g=s\"}  taints = t }\n" \
	"queue batch { }\n"

static void begin_with(struct world *w, const char *conf)
{
	world_init(w, conf);
	state_scale_begin(w->state);
	state_pool_ready(w->state, 0, true);
}

static void begin(struct world *w)
{
	begin_with(w, CONF);
}

/* The runner reports a node that an autoscaler has added; cpus 0: removed. */
static void see_added(struct world *w, const char *name, uint32_t cpus)
{
	const char *label = "g=s", *taint = "t";

	state_node_seen(w->state, 0,
	                &(struct node_info){ .name = name,
	                                     .cpu_milli = cpus * 1000,
	                                     .mem_mib = 4096,
	                                     .features = { 1, &label },
	                                     .taints = { 1, &taint },
	                                     .gone = !cpus });
}

static uint32_t standins(const struct world *w)
{
	struct run_standin ret;

	ck_assert(state_scale_standins(w->state, 0, &ret));
	return ret.n;
}

/* The runner reports the node. */
static void see(struct world *w, const char *name, uint32_t cpus, bool down)
{
	state_node_seen(w->state, 0,
	                &(struct node_info){ .name = name,
	                                     .cpu_milli = cpus * 1000,
	                                     .mem_mib = 4096,
	                                     .tmp_mib = 9 << 10,
	                                     .down = down,
	                                     .gone = !cpus });
}

static uint32_t index_of(const struct world *w, const char *name)
{
	return (uint32_t)state_node_of(w->state, 0, name);
}

static enum node_want wish(const struct world *w, const char *name)
{
	return state_node(w->state, index_of(w, name))->want;
}

static void later(struct world *w, int64_t seconds)
{
	world_tick(w, seconds);
	world_plan(w);
}

/* A node that was there before has the features of its template, too. */
START_TEST(a_template_gives_its_features)
{
	struct world w;

	world_init(&w, CONF_FEATURES);
	see(&w, "s-1", 4, false);
	world_check(&w);
	state_scale_begin(w.state);
	world_check(&w);
	state_pool_ready(w.state, 0, true);
	world_submit(&w, "constraint=big");
	world_plan(&w);
	ck_assert_str_eq(world_jobs(&w), "1 CF");
	world_fini(&w);
}
END_TEST

START_TEST(a_job_gets_its_nodes)
{
	struct world w;

	begin(&w);
	world_effects(&w);
	ck_assert_uint_eq(world_submit(&w, "tasks=3 cpus-per-task=4"), 0);
	ck_assert_uint_eq(world_submit(&w, "cpus-per-task=4 tmp=10G"), 0);
	ck_assert_uint_ne(world_submit(&w, "tasks=2 cpus-per-task=4 tmp=9G"),
	                  0);
	world_plan(&w);
	ck_assert_str_eq(world_effects(&w), "add s-1, add s-2");
	world_plan(&w);
	ck_assert_str_eq(world_effects(&w), "");
	ck_assert_str_eq(world_why(&w, 1),
	                 "NodesComing: waits for s-1 and 1 more node to be "
	                 "added; starts in about 1m 40s");
	see(&w, "s-1", 4, true);
	see(&w, "s-2", 4, false);
	world_plan(&w);
	ck_assert_str_eq(world_jobs(&w), "1 PD NodesComing");
	see(&w, "s-1", 4, false);
	world_run(&w);
	ck_assert_str_eq(world_jobs(&w), "1 R");
	world_effects(&w);
	later(&w, 60);
	ck_assert_str_eq(world_effects(&w), "");
	world_end(&w, 1, 0);
	world_commit(&w);
	world_plan(&w);
	world_effects(&w);
	later(&w, 49);
	ck_assert_str_eq(world_effects(&w), "");
	later(&w, 1);
	ck_assert_str_eq(world_effects(&w), "remove s-1, remove s-2");
	see(&w, "s-1", 0, false);
	see(&w, "s-2", 4, true);
	ck_assert_int_eq(wish(&w, "s-1"), WANT_NOTHING);
	ck_assert_int_eq(wish(&w, "s-2"), WANT_REMOVED);
	state_scale_done(w.state, index_of(&w, "s-2"), false, "broken", w.now);
	ck_assert_int_eq(wish(&w, "s-2"), WANT_REMOVED);
	state_scale_done(w.state, index_of(&w, "s-2"), false, NULL, w.now);
	ck_assert_int_eq(wish(&w, "s-2"), WANT_NOTHING);
	ck_assert_uint_ne(world_submit(&w, "tasks=2 cpus-per-task=4"), 0);
	world_plan(&w);
	ck_assert_str_eq(world_effects(&w), "add s-1, add s-2");
	world_fini(&w);
}
END_TEST

START_TEST(a_node_that_does_not_come_is_given_back)
{
	struct world w;

	begin(&w);
	world_submit(&w, "cpus-per-task=4");
	world_plan(&w);
	ck_assert_str_eq(world_effects(&w), "add s-1");
	later(&w, 199);
	ck_assert_str_eq(world_effects(&w), "");
	later(&w, 1);
	ck_assert_str_eq(world_effects(&w), "remove s-1");
	state_scale_done(w.state, index_of(&w, "s-1"), false, NULL, w.now);
	world_plan(&w);
	ck_assert_str_eq(world_why(&w, 1),
	                 "NodesComing: waits for s-1 to be added; starts in "
	                 "about 5m; the last try failed: s-1 was not ready "
	                 "within 200 s");
	later(&w, 199);
	ck_assert_str_eq(world_effects(&w), "");
	later(&w, 1);
	ck_assert_str_eq(world_effects(&w), "add s-1");
	state_scale_done(w.state, index_of(&w, "s-1"), true, "no quota", w.now);
	state_scale_done(w.state, index_of(&w, "s-1"), false, NULL, w.now);
	world_effects(&w);
	later(&w, 399); /* the second pause is twice as long as the first */
	ck_assert_str_eq(world_effects(&w), "");
	later(&w, 1);
	ck_assert_str_eq(world_effects(&w), "add s-1");
	world_fini(&w);
}
END_TEST

/* The program that adds a node may have to wait for another program of the
 * template. The delay of the node begins when its program begins. */
START_TEST(a_node_has_its_time_from_when_the_program_begins)
{
	struct world w;

	begin(&w);
	world_submit(&w, "cpus-per-task=4");
	world_plan(&w);
	world_effects(&w);
	later(&w, 150);
	state_scale_started(w.state, index_of(&w, "s-1"), w.now);
	world_plan(&w);
	later(&w, 199);
	ck_assert_str_eq(world_effects(&w), "");
	later(&w, 1);
	ck_assert_str_eq(world_effects(&w), "remove s-1");
	world_fini(&w);
}
END_TEST

START_TEST(a_node_that_does_not_go_is_removed_again)
{
	struct world w;

	begin(&w);
	see(&w, "s-1", 4, false);
	world_plan(&w);
	later(&w, 50);
	ck_assert_str_eq(world_effects(&w), "remove s-1");
	state_scale_done(w.state, index_of(&w, "s-1"), false, NULL, w.now);
	later(&w, 199);
	ck_assert_str_eq(world_effects(&w), "");
	later(&w, 1);
	ck_assert_str_eq(world_effects(&w), "remove s-1");
	world_fini(&w);
}
END_TEST

/* If a node that was added is smaller than its template says, a job that does
 * not fit there does not ask for another node. */
START_TEST(a_template_counts_as_what_it_gave)
{
	struct world w;

	begin(&w);
	world_submit(&w, "cpus-per-task=4");
	world_plan(&w);
	ck_assert_str_eq(world_effects(&w), "add s-1");
	see(&w, "s-1", 3, false);
	world_plan(&w);
	ck_assert_str_eq(world_effects(&w), "");
	ck_assert_str_eq(world_jobs(&w), "1 PD NeverFits");
	world_fini(&w);
}
END_TEST

/* The node is as large as the template says, but the job does not fit, because
 * other pods use a part of it. The job then asks for another node, and the
 * first one is removed. */
START_TEST(a_node_that_no_job_can_use_is_a_failure)
{
	struct world w;

	begin(&w);
	world_submit(&w, "cpus-per-task=4 nodes=1");
	world_plan(&w);
	ck_assert_str_eq(world_effects(&w), "add s-1");
	state_node_seen(w.state, 0,
	                &(struct node_info){ .name = "s-1",
	                                     .cpu_milli = 4000,
	                                     .mem_mib = 4096,
	                                     .used_cpu_milli = 100 });
	world_plan(&w);
	ck_assert_str_eq(world_effects(&w), "add s-2");
	later(&w, 50);
	ck_assert_str_eq(world_effects(&w), "remove s-1");
	see(&w, "s-1", 0, false);
	world_plan(&w);
	ck_assert_str_eq(world_effects(&w), "");
	ck_assert_ptr_nonnull(strstr(
	    world_why(&w, 1), "the last try failed: no job could use s-1"));
	world_fini(&w);
}
END_TEST

/* After a reload, a node that exists but is not ready still counts as being
 * added. */
START_TEST(a_reload_leaves_nodes_that_are_not_ready)
{
	struct world w;

	begin(&w);
	world_submit(&w, "cpus-per-task=4");
	world_plan(&w);
	state_node_seen(w.state, 0,
	                &(struct node_info){ .name = "s-1",
	                                     .cpu_milli = 4000,
	                                     .mem_mib = 4096,
	                                     .cordoned = true });
	w.old_conf = w.conf;
	w.conf = world_conf(CONF);
	ck_assert_int_eq(state_reconf(w.state, w.conf, w.now, &w.err), 0);
	world_plan(&w);
	ck_assert_int_eq(wish(&w, "s-1"), WANT_ADDED);
	ck_assert_str_eq(world_jobs(&w), "1 PD NodesComing");
	world_fini(&w);
}
END_TEST

START_TEST(a_reload_changes_templates)
{
	struct world w;

	begin(&w);
	world_submit(&w, "cpus-per-task=4");
	world_plan(&w);
	ck_assert_str_eq(world_effects(&w), "add s-1");
	w.old_conf = w.conf;
	w.conf = world_conf("pool p { runner = kubernetes }\n"
	                    "queue batch { }\n");
	ck_assert_int_eq(state_reconf(w.state, w.conf, w.now, &w.err), 0);
	world_plan(&w);
	ck_assert_str_eq(world_jobs(&w), "1 PD NeverFits");
	ck_assert_int_eq(state_node_of(w.state, 0, "s-1"), -1);
	world_fini(&w);
}
END_TEST

/* Nodes that an autoscaler adds have names of their own. */
START_TEST(a_stand_in_goes_when_its_node_comes)
{
	struct world w;

	begin_with(&w, CONF_STANDIN);
	world_submit(&w, "tasks=2 cpus-per-task=4 constraint=t&g=s");
	world_plan(&w);
	ck_assert_str_eq(world_jobs(&w), "1 PD NodesComing");
	ck_assert_uint_eq(standins(&w), 2);
	see_added(&w, "x", 4);
	world_plan(&w);
	ck_assert_uint_eq(standins(&w), 1);
	see_added(&w, "y", 4);
	world_run(&w);
	ck_assert_str_eq(world_jobs(&w), "1 R");
	ck_assert_uint_eq(standins(&w), 0);
	world_fini(&w);
}
END_TEST

START_TEST(a_stand_in_goes_with_its_job)
{
	struct world w;

	begin_with(&w, CONF_STANDIN);
	world_submit(&w, "cpus-per-task=4 constraint=t");
	world_plan(&w);
	ck_assert_uint_eq(standins(&w), 1);
	world_event(&w, 1, EV_cancel);
	world_plan(&w);
	ck_assert_uint_eq(standins(&w), 0);
	world_fini(&w);
}
END_TEST

/* A job that tolerates no taint of the template waits for no node of it. */
START_TEST(a_template_has_taints)
{
	struct world w;

	begin_with(&w, CONF_STANDIN);
	world_submit(&w, "cpus-per-task=4");
	world_plan(&w);
	ck_assert_uint_eq(standins(&w), 0);
	world_fini(&w);
}
END_TEST

/* Nodes that are there count, whoever added them; their places are free again
 * when they are gone. */
START_TEST(nodes_that_are_there_leave_fewer_to_add)
{
	struct world w;

	begin_with(&w, CONF_STANDIN);
	see_added(&w, "x", 4);
	see_added(&w, "y", 4);
	see_added(&w, "z", 4);
	world_submit(&w, "tasks=4 cpus-per-task=4 constraint=t");
	world_plan(&w);
	ck_assert_uint_eq(standins(&w), 0);
	see_added(&w, "x", 0);
	world_plan(&w);
	ck_assert_uint_eq(standins(&w), 0);
	see_added(&w, "y", 0);
	see_added(&w, "z", 0);
	world_submit(&w, "tasks=2 cpus-per-task=4 constraint=t");
	world_plan(&w);
	ck_assert_uint_eq(standins(&w), 2);
	world_fini(&w);
}
END_TEST

START_TEST(an_autoscaler_that_does_nothing_is_a_failure)
{
	struct world w;

	begin_with(&w, CONF_STANDIN);
	world_submit(&w, "cpus-per-task=4 constraint=t");
	world_plan(&w);
	later(&w, 200);
	ck_assert_uint_eq(standins(&w), 0);
	ck_assert_ptr_nonnull(
	    strstr(world_why(&w, 1),
	           "the last try failed: s-1 was not ready within 200 s"));
	later(&w, 199);
	ck_assert_uint_eq(standins(&w), 0);
	later(&w, 1);
	ck_assert_uint_eq(standins(&w), 1);
	world_fini(&w);
}
END_TEST

/* The autoscaler removes a node that no job could use: do not ask for another
 * at once. */
START_TEST(a_node_that_is_removed_unused_is_a_failure)
{
	struct world w;

	begin_with(&w, CONF_STANDIN);
	world_submit(&w, "cpus-per-task=4 nodes=1 constraint=t");
	world_plan(&w);
	see_added(&w, "x", 4);
	state_node_seen(w.state, 0,
	                &(struct node_info){ .name = "x",
	                                     .cpu_milli = 4000,
	                                     .mem_mib = 4096,
	                                     .used_cpu_milli = 100 });
	world_plan(&w);
	ck_assert_uint_eq(standins(&w), 1);
	see_added(&w, "x", 0);
	world_plan(&w);
	ck_assert_ptr_nonnull(
	    strstr(world_why(&w, 1),
	           "the last try failed: x was removed before a job used it"));
	world_fini(&w);
}
END_TEST

/* After a reload the nodes that are there do not count as those that come. */
START_TEST(a_reload_leaves_stand_ins)
{
	struct world w;

	begin_with(&w, CONF_STANDIN);
	see_added(&w, "x", 4);
	world_submit(&w, "tasks=2 cpus-per-task=4 constraint=t");
	world_plan(&w);
	ck_assert_uint_eq(standins(&w), 1);
	w.old_conf = w.conf;
	w.conf = world_conf(CONF_STANDIN);
	ck_assert_int_eq(state_reconf(w.state, w.conf, w.now, &w.err), 0);
	world_plan(&w);
	ck_assert_uint_eq(standins(&w), 1);
	world_fini(&w);
}
END_TEST

/* In a simulation nothing else gives idle nodes back. */
START_TEST(a_simulation_has_no_autoscaler)
{
	struct world w;

	world_init(&w, CONF_STANDIN);
	state_scale_simulate(w.state);
	state_scale_begin(w.state);
	state_pool_ready(w.state, 0, true);
	see(&w, "s-1", 4, false);
	world_plan(&w);
	later(&w, 50);
	ck_assert_str_eq(world_effects(&w), "remove s-1");
	world_fini(&w);
}
END_TEST

SUITE(scale)
{
	tcase_add_test(tc, a_simulation_has_no_autoscaler);
	tcase_add_test(tc, a_template_gives_its_features);
	tcase_add_test(tc, a_job_gets_its_nodes);
	tcase_add_test(tc, a_node_that_does_not_come_is_given_back);
	tcase_add_test(tc, a_node_has_its_time_from_when_the_program_begins);
	tcase_add_test(tc, a_node_that_does_not_go_is_removed_again);
	tcase_add_test(tc, a_template_counts_as_what_it_gave);
	tcase_add_test(tc, a_node_that_no_job_can_use_is_a_failure);
	tcase_add_test(tc, a_reload_leaves_nodes_that_are_not_ready);
	tcase_add_test(tc, a_reload_changes_templates);
	tcase_add_test(tc, a_stand_in_goes_when_its_node_comes);
	tcase_add_test(tc, a_stand_in_goes_with_its_job);
	tcase_add_test(tc, a_template_has_taints);
	tcase_add_test(tc, nodes_that_are_there_leave_fewer_to_add);
	tcase_add_test(tc, an_autoscaler_that_does_nothing_is_a_failure);
	tcase_add_test(tc, a_node_that_is_removed_unused_is_a_failure);
	tcase_add_test(tc, a_reload_leaves_stand_ins);
}
