#include "aischedd/state/cluster/counts.h"
#include "aischedd/state/cluster/reconf.h"

#include "tests/unit/check.h"
#include "tests/unit/state/world.h"

enum { S = 1000 }; /* milliseconds */

static const struct queue_counts *of_queue(const struct world *w)
{
	return state_queue_counts(w->state, 0);
}

static const struct held_counts *held(const struct world *w)
{
	const struct count_table *t = state_count_table(w->state);

	ck_assert_uint_eq(t->nheld, 1);
	return t->held[0];
}

START_TEST(each_attempt_is_a_start_but_one_wait)
{
	static const char *const steps[] = { "submit cpus-per-task=2",
		                             "+30",
		                             "run",
		                             "requeue 1",
		                             "end 1 0",
		                             "+5",
		                             "run",
		                             "end 1 0",
		                             "commit",
		                             NULL };
	struct world w;

	world_with_node(&w, NULL);
	world_play(&w, "attempts", steps);
	ck_assert_uint_eq(of_queue(&w)->submitted, 1);
	ck_assert_uint_eq(of_queue(&w)->started, 2);
	ck_assert_uint_eq(of_queue(&w)->requeued[REQUEUE_USER], 1);
	ck_assert_uint_eq(of_queue(&w)->ended[JOB_COMPLETED], 1);
	ck_assert_uint_eq(of_queue(&w)->wait.n, 1);
	ck_assert(of_queue(&w)->wait.sum == 30);
	world_fini(&w);
}
END_TEST

START_TEST(what_is_held_is_summed_until_now)
{
	static const char *const steps[] = { "submit cpus-per-task=2", "run",
		                             "+10", NULL };
	struct world w;

	world_with_node(&w, NULL);
	world_play(&w, "held", steps);
	ck_assert(held_until(held(&w), RES_CPU, w.now * S) == 2000.0 * 10);
	world_end(&w, 1, 0);
	world_tick(&w, 50);
	ck_assert(held_until(held(&w), RES_CPU, w.now * S) == 2000.0 * 10);
	world_fini(&w);
}
END_TEST

/* The cost uses the price of the time at which something was held. */
START_TEST(what_is_held_costs)
{
	static const char *const before[] = { "submit cpus-per-task=2", "run",
		                              "+10", NULL };
	static const char *const after[] = { "+10", "end 1 0", "+50", NULL };
	struct world w;

	world_with_node(&w, WORLD_CONF "price { cpu = 3600 }\n");
	world_play(&w, "dear", before);
	ck_assert(held_until(held(&w), RATE_COST, w.now * S) == 3.6e9 * 2 * 10);
	w.old_conf = w.conf;
	w.conf = world_conf(WORLD_CONF "price { cpu = 1800 }\n");
	ck_assert_int_eq(state_reconf(w.state, w.conf, w.now, &w.err), 0);
	world_play(&w, "less", after);
	ck_assert(held_until(held(&w), RATE_COST, w.now * S) ==
	          3.6e9 * 2 * 10 + 1.8e9 * 2 * 10);
	world_fini(&w);
}
END_TEST

/* Prices, and what a job of 2 CPUs, 2 GiB and 1 GPU of type h100 costs an
 * hour. */
static const struct {
	const char *name, *conf;
	double cost;
} prices[] = {
	{ "no price", WORLD_CONF, 0 },
	{ "all of it is charged",
	  WORLD_CONF "price { cpu = 1 memory = 0.5 gpu = 10 }\n", 13 },
	{ "the dearest alone is charged",
	  WORLD_CONF "price { cpu = 1 memory = 0.5 gpu = 10 }\n"
	             "accounting { charge = max }\n",
	  10 },
	{ "of the same price",
	  WORLD_CONF "price { cpu = 5 memory = 1 gpu = 3 }\n"
	             "accounting { charge = max }\n",
	  10 },
	{ "the price of the pool goes first",
	  "pool here { runner = local price { gpu = 2.5 } }\nqueue batch { }\n"
	  "price { cpu = 1 memory = 0.5 gpu = 10 }\n",
	  5.5 },
	{ "that of the type even before it",
	  "pool here { runner = local price { gpu = 2.5 }\n"
	  "gpu_price = {\"a100:7\", \"h100:3.2\"} }\nqueue batch { }\n",
	  3.2 },
	{ "but not that of another type",
	  "pool here { runner = local price { gpu = 2.5 }\n"
	  "gpu_price = {\"h1000:7\", \"h10:8\"} }\nqueue batch { }\n",
	  2.5 },
	{ "a pool may be free",
	  "pool here { runner = local price { cpu = 0 } }\nqueue batch { }\n"
	  "price { cpu = 1 memory = 0.5 }\n",
	  1 },
	{ "the factor of the queue",
	  "pool here { runner = local }\nqueue batch { price_factor = 0.4 }\n"
	  "price { cpu = 1 gpu = 10 }\n",
	  4.8 },
	{ "that of the queue above",
	  "pool here { runner = local }\nqueue all { price_factor = 1.5 }\n"
	  "queue batch { parent = all }\nprice { cpu = 1 }\n",
	  3 },
	{ "a factor of the dearest",
	  "pool here { runner = local }\nqueue batch { price_factor = 2 }\n"
	  "price { cpu = 1 gpu = 10 }\naccounting { charge = max }\n",
	  20 },
	{ "the least price", WORLD_CONF "price { gpu = 0.000001 }\n",
	  0.000001 },
};

START_TEST(prices_of_pools_types_and_queues)
{
	static const char *const steps[] = {
		"submit queue=batch cpus-per-task=2 mem-per-task=2G "
		"gpus-per-task=1",
		"run", "+10", NULL
	};
	struct world w;

	world_with_node(&w, prices[_i].conf);
	world_play(&w, prices[_i].name, steps);
	ck_assert_double_eq_tol(held_until(held(&w), RATE_COST, w.now * S),
	                        prices[_i].cost * 1e6 * 10, 1e-3);
	world_fini(&w);
}
END_TEST

START_TEST(evictions_are_counted_with_what_they_cost)
{
	static const char *const steps[] = {
		"submit cpus-per-task=2 gpus-per-task=2",
		"run",
		"+10",
		"submit cpus-per-task=1",
		"look",
		"decide evict 1 all preempt 2",
		"end 1 0",
		NULL
	};
	struct world w;

	world_with_node(&w, NULL);
	world_play(&w, "evicted", steps);
	ck_assert_uint_eq(of_queue(&w)->evicted[EVICT_PREEMPT], 1);
	ck_assert_uint_eq(of_queue(&w)->requeued[REQUEUE_USER], 0);
	ck_assert(held(&w)->gpu_evicted_s == 2 * 10);
	world_fini(&w);
}
END_TEST

/* The GPU time of an attempt was lost if an operator ended it, but not if the
 * job's user did. */
START_TEST(requeues_by_an_operator_are_counted_with_what_they_cost)
{
	static const char *const steps[] = {
		"submit cpus-per-task=2 gpus-per-task=2",
		"run",
		"+10",
		"requeue",
		"end 1 0",
		"run",
		"+5",
		"operator",
		"requeue",
		"end 1 0",
		NULL
	};
	struct world w;

	world_with_node(&w, NULL);
	world_play(&w, "requeued", steps);
	ck_assert_uint_eq(of_queue(&w)->requeued[REQUEUE_USER], 2);
	ck_assert(held(&w)->gpu_evicted_s == 2 * 5);
	world_fini(&w);
}
END_TEST

START_TEST(what_a_pass_found_is_said_of_all_of_a_row)
{
	static const char *const steps[] = { "submit cpus-per-task=4",
		                             "submit cpus-per-task=3",
		                             "+7",
		                             "submit cpus-per-task=3",
		                             "submit cpus-per-task=1 hold",
		                             "run",
		                             NULL };
	struct world w;

	world_with_node(&w, NULL);
	world_play(&w, "rows", steps);
	ck_assert_uint_eq(of_queue(&w)->found.judged[WHY_Resources], 2);
	ck_assert_uint_eq(of_queue(&w)->aside[WHY_JobHeldUser], 1);
	ck_assert_int_eq(of_queue(&w)->found.pending[RES_CPU], 2 * 3000);
	ck_assert_int_eq(of_queue(&w)->found.oldest, w.now - 7);
	world_fini(&w);
}
END_TEST

START_TEST(starts_before_a_promised_one_are_backfilled)
{
	static const char *const steps[] = { "submit cpus-per-task=3 time=60",
		                             "run",
		                             "submit cpus-per-task=4",
		                             "submit cpus-per-task=1 time=10",
		                             "run",
		                             "jobs => 1 R, 2 PD Resources, 3 R",
		                             NULL };
	struct world w;

	world_with_node(&w, NULL);
	world_play(&w, "backfill", steps);
	ck_assert_uint_eq(of_queue(&w)->started, 2);
	ck_assert_uint_eq(of_queue(&w)->backfilled, 1);
	world_fini(&w);
}
END_TEST

/* A start is not counted as backfill if the job before it waits in another
 * pool. */
START_TEST(a_start_in_another_pool_is_not)
{
	static const char *const steps[] = {
		"submit queue=a cpus-per-task=3 time=60",
		"run",
		"submit queue=a cpus-per-task=4",
		"submit queue=b cpus-per-task=1 time=10",
		"run",
		"jobs => 1 R, 2 PD Resources, 3 R",
		NULL
	};
	struct world w;

	world_with_node(&w, "pool here { runner = local }\n"
	                    "pool there { runner = kubernetes }\n"
	                    "queue a { pools = {\"here\"} }\n"
	                    "queue b { pools = {\"there\"} }\n");
	world_node(&w, "there/n1", 4, 4000, 0);
	world_play(&w, "pools", steps);
	ck_assert_uint_eq(state_queue_counts(w.state, 1)->started, 1);
	ck_assert_uint_eq(state_queue_counts(w.state, 1)->backfilled, 0);
	world_fini(&w);
}
END_TEST

/* Pending jobs are counted as overdue even if no pass looks at them again. */
START_TEST(jobs_are_overdue_after_the_wait_of_their_queue)
{
	static const char *const steps[] = { "submit cpus-per-task=4",
		                             "run",
		                             "submit cpus-per-task=4",
		                             "submit cpus-per-task=4",
		                             "+10",
		                             "submit cpus-per-task=4",
		                             "run",
		                             NULL };
	static const char *const later[] = { "+50", "end 1 0", "run", NULL };
	struct world w;

	world_with_node(&w, "pool here { runner = local }\n"
	                    "queue batch { max_wait = \"1m\" }\n");
	world_play(&w, "before", steps);
	ck_assert_uint_eq(counts_overdue(of_queue(&w), w.now + 49), 0);
	ck_assert_uint_eq(counts_overdue(of_queue(&w), w.now + 50), 2);
	ck_assert_uint_eq(counts_overdue(of_queue(&w), w.now + 59), 2);
	ck_assert_uint_eq(counts_overdue(of_queue(&w), w.now + 60), 3);
	world_play(&w, "later", later);
	ck_assert_uint_eq(counts_overdue(of_queue(&w), w.now), 1);
	ck_assert_uint_eq(counts_overdue(of_queue(&w), w.now + 10), 2);
	world_fini(&w);
}
END_TEST

START_TEST(a_plan_of_other_queues_counts_nothing)
{
	static const char *const before[] = { "submit queue=b cpus-per-task=4",
		                              "run",
		                              "submit queue=b cpus-per-task=4",
		                              "look", NULL };
	static const char *const after[] = { "decide wake 60", NULL };
	struct world w;

	world_with_node(&w, "pool here { runner = local }\n"
	                    "queue a { }\nqueue b { }\n");
	world_play(&w, "before", before);
	w.old_conf = w.conf;
	w.conf = world_conf("pool here { runner = local }\n"
	                    "queue b { }\nqueue a { }\n");
	ck_assert_int_eq(state_reconf(w.state, w.conf, w.now, &w.err), 0);
	world_play(&w, "after", after);
	for (int why = 0; why < WHY_NREASONS; why++)
		ck_assert_uint_eq(
		    state_queue_counts(w.state, 1)->found.judged[why],
		    0); /* of queue a */
	world_fini(&w);
}
END_TEST

SUITE(counts)
{
	tcase_add_test(tc, starts_before_a_promised_one_are_backfilled);
	tcase_add_test(tc, a_start_in_another_pool_is_not);
	tcase_add_test(tc, jobs_are_overdue_after_the_wait_of_their_queue);
	tcase_add_test(tc, a_plan_of_other_queues_counts_nothing);
	tcase_add_test(tc, each_attempt_is_a_start_but_one_wait);
	tcase_add_test(tc, what_is_held_is_summed_until_now);
	tcase_add_test(tc, what_is_held_costs);
	tcase_add_loop_test(tc, prices_of_pools_types_and_queues, 0,
	                    ARRAY_SIZE(prices));
	tcase_add_test(tc, evictions_are_counted_with_what_they_cost);
	tcase_add_test(tc,
	               requeues_by_an_operator_are_counted_with_what_they_cost);
	tcase_add_test(tc, what_a_pass_found_is_said_of_all_of_a_row);
}
