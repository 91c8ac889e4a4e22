/* test_change.c - changes of jobs, nodes, queues and configurations */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/state/cluster/node.h"
#include "aischedd/state/cluster/reconf.h"
#include "aischedd/state/pass/apply.h"
#include "aischedd/state/pass/snapshot.h"
#include "libcommon/parse.h"
#include "libcommon/steps.h"
#include "tests/unit/check.h"
#include "tests/unit/state/world.h"

#define PLAY(w, ...) \
	world_play(w, "", (const char *const[]){ __VA_ARGS__, NULL })

#define TWO_QUEUES                                \
	"default_queue = \"batch\"\n"             \
	"pool here { runner = local }\n"          \
	"queue batch { default_time = \"1h\" }\n" \
	"queue other { max_time = \"30m\" grace = \"5s\" }\n"

static const struct {
	const char *name;
	const char *step[24];
} cases[] = {
	/* --- updates --- */
	{ "a job is given less, and starts",
	  { "submit cpus-per-task=3", "submit cpus-per-task=3", "run",
	    "jobs => 1 R, 2 PD Resources", "update 2 cpus-per-task=1", "run",
	    "jobs => 1 R, 2 R" } },
	{ "what can never fit is refused and nothing changes",
	  { "submit", "update 1 cpus-per-task=5 => ! needs 5 CPUs *", "run",
	    "jobs => 1 R" } },
	{ "no such field",
	  { "submit",
	    "update 1 colour=red => ! there is no field 'colour': they are the long options of aisub",
	    "update 1 array=0-9 => ! 'array' cannot be changed",
	    "update 1 wait=yes => ! 'wait' cannot be changed",
	    "update 1 wrap=true => ! 'wrap' cannot be changed",
	    "update 1 socket=x => ! 'socket' cannot be changed",
	    "update 1 hold=yes => ! use `aictl hold` and `aictl release`" } },
	{ "all of it or nothing",
	  { "submit comment=old",
	    "update 1 comment=new;colour=red => ! there is no field 'colour': they are the long options of aisub",
	    "update 1 priority=7;cpus-per-task=5 => ! needs 5 CPUs *",
	    "update 1 time=10;array_limit=3 => ! job 1 is not of an array",
	    "comment => old", "update 1 comment=new;priority=7",
	    "comment => new" } },
	{ "a priority that an operator gave is no wish of the user's",
	  { "submit", "operator", "update 1 priority=1000", "user",
	    "update 1 comment=x",
	    "update 1 priority=999 => ! priority 999 is "
	    "above the class's 50: *",
	    "run", "update 1 comment=y" } },
	{ "a bad value",
	  { "submit", "update 1 time=soon => ! --time: *",
	    "update 1 requeue=perhaps => ! requeue: *" } },
	{ "what a job needs is not taken away",
	  { "submit", "update 1 job-name= => ! job-name cannot be empty",
	    "update 1 output= => ! output cannot be empty" } },
	{ "flags",
	  { "submit exclusive", "update 1 exclusive=no", "update 1 requeue=yes",
	    "run", "lost", "jobs => 1 PD Unevaluated", "update 1 requeue=no",
	    "run", "lost", "jobs => 1 NF NodeFail" } },
	{ "memory said in another way",
	  { "submit mem-per-cpu=100M", "update 1 mem=200M",
	    "update 1 mem-per-task=300M" } },
	{ "a job that runs keeps what it holds",
	  { "submit", "run",
	    "update 1 cpus-per-task=2 => ! job 1 is RUNNING: cpus-per-task can "
	    "be changed only while it is pending",
	    "update 1 comment=fine", "update 1 job_name=new" } },
	{ "a longer time needs an operator",
	  { "submit time=10", "run",
	    "update 1 time=20 => ! raising the time limit of a job that has "
	    "started needs an operator of queue 'batch'",
	    "update 1 time=UNLIMITED => ! raising the *",
	    "update 1 time= => ! raising the *", "operator",
	    "update 1 time=20" } },
	{ "a job that has ended",
	  { "submit", "cancel", "update 1 comment=x => ! job 1 has ended" } },
	{ "a job that waited for one long gone",
	  { "submit", "run", "end 1 0", "submit hold dependency=afterok:1",
	    "commit", "forget", "update 2 comment=x" } },
	{ "into another queue, with its manners",
	  { "submit time=10", "why => Unevaluated: *", "update 1 queue=other",
	    "submit time=60",
	    "update 2 queue=other => ! queue 'other' allows "
	    "a time limit of at most 30:00",
	    "update 2 queue=x => ! there is no queue 'x'; *" } },
	{ "a closed queue takes none",
	  { "submit", "close other",
	    "update 1 queue=other => ! queue 'other' is closed" } },
	{ "a deadline that has passed",
	  { "submit", "run",
	    "update 1 deadline=now-1 => ! the deadline has passed" } },
	{ "top stays with a job that is changed otherwise",
	  { "submit cpus-per-task=4", "submit cpus-per-task=4",
	    "submit cpus-per-task=4", "top 3", "update 3 comment=x", "run",
	    "jobs => 1 PD *, 2 PD *, 3 R" } },
	{ "top is before those that went there before",
	  { "submit cpus-per-task=4", "submit cpus-per-task=4",
	    "submit cpus-per-task=4", "top 2", "top 3", "top 3", "run",
	    "jobs => 1 PD *, 2 PD *, 3 R" } },
	{ "only a job that waits goes to the top",
	  { "submit", "run",
	    "top 1 => ! job 1 is RUNNING: only a pending job can go to the "
	    "top" } },
	{ "an error names a task as users do",
	  { "submit array=0-3 cpus-per-task=4", "run",
	    "top 2 => ! job 1_0 is RUNNING: only a pending job can go to the "
	    "top" } },
	/* --- nodes --- */
	{ "nothing starts on a drained node, what runs goes on",
	  { "submit", "run", "drain n0 disk", "submit", "run",
	    "jobs => 1 R, 2 PD NodeDown", "undrain n0", "run",
	    "jobs => 1 R, 2 R" } },
	{ "draining takes a reason",
	  { "drain n0 => ! draining needs a reason: -r TEXT" } },
	{ "a node that shrank",
	  { "submit cpus-per-task=3", "node n0 2", "run",
	    "jobs => 1 PD NeverFits" } },
	{ "a node that shrank below what runs there",
	  { "submit cpus-per-task=3", "run", "node n0 2", "submit", "run",
	    "jobs => 1 R, 2 PD Resources", "end 1 0", "run",
	    "jobs => 1 CD, 2 R" } },
	{ "a node that lost its GPUs",
	  { "submit gpus=1", "run", "node n0 4", "submit", "run",
	    "jobs => 1 R, 2 R" } },
	{ "another node",
	  { "submit cpus-per-task=4", "submit cpus-per-task=4", "run",
	    "jobs => 1 R, 2 PD Resources", "node n1 4", "run",
	    "jobs => 1 R, 2 R" } },
	/* --- queues --- */
	{ "nothing starts from a closed queue",
	  { "submit", "submit hold", "close batch", "release 2", "run",
	    "jobs => 1 PD QueueClosed, 2 PD QueueClosed",
	    "why => QueueClosed: queue 'batch' is closed", "open batch", "run",
	    "jobs => 1 R, 2 R" } },
	{ "jobs that run go on when their queue is closed",
	  { "submit", "run", "close batch", "end 1 0", "jobs => 1 CD" } },
};

START_TEST(change_case)
{
	struct world w;

	world_with_node(&w, TWO_QUEUES);
	world_play(&w, cases[_i].name, cases[_i].step);
	world_fini(&w);
}
END_TEST

/* A plan that was made from an older snapshot starts no job that has changed
 * since. Large passes take a while, on another thread. */
START_TEST(a_plan_of_before_starts_nothing_that_changed)
{
	struct arena *arena = arena_new();
	const struct snap *snap;
	const struct plan *plan;
	struct world w;

	world_with_node(&w, NULL);
	PLAY(&w, "submit", "submit", "submit", "submit array=0-1");
	snap = state_snapshot(w.state, w.now, arena);
	plan = sched_plan(snap, arena);
	ck_assert_uint_eq(plan->nstarts, 4);
	PLAY(&w, "update 1 cpus-per-task=3", "hold 2", "cancel 3");
	state_apply_plan(w.state, snap, plan, &arena, w.now);
	world_check(&w);
	ck_assert_str_eq(world_jobs(&w),
	                 "1 PD Unevaluated, 2 PD JobHeldUser, 3 CA Cancelled, "
	                 "4_[1] PD Resources, 4_0 CF");
	PLAY(&w, "run",
	     "jobs => 1 R, 2 PD JobHeldUser, 3 CA Cancelled, "
	     "4_[1] PD Resources, 4_0 R");
	world_fini(&w);
}
END_TEST

START_TEST(a_queue_gives_its_manners)
{
	const struct job *job;
	struct world w;

	world_with_node(&w, TWO_QUEUES);
	world_submit(&w, "");
	job = state_job(w.state, 1);
	ck_assert_int_eq(job->time_limit, 3600);
	PLAY(&w, "update 1 queue=other");
	ck_assert_int_eq(job->time_limit, 1800);
	ck_assert_int_eq(job->grace, 5);
	world_fini(&w);
}
END_TEST

/* Report node n0 as up or down, with a reason. Returns the reason that is
 * shown. */
static const char *n0_seen(struct world *w, bool down, const char *reason)
{
	struct node_info info = { .name = "n0",
		                  .down = down,
		                  .reason = reason };

	state_node_seen(w->state, 0, &info);
	return node_reason(state_node(w->state, 0));
}

START_TEST(why_a_node_is_drained_outlives_its_loss)
{
	struct world w;

	world_with_node(&w, NULL);
	PLAY(&w, "drain n0 bad fan");
	ck_assert_str_eq(n0_seen(&w, false, NULL), "bad fan");
	ck_assert_str_eq(n0_seen(&w, true, "no answer"), "no answer");
	ck_assert_str_eq(n0_seen(&w, false, "cordoned"), "bad fan");
	PLAY(&w, "undrain n0");
	ck_assert_str_eq(n0_seen(&w, false, "cordoned"), "cordoned");
	ck_assert_ptr_null(n0_seen(&w, false, NULL));
	world_fini(&w);
}
END_TEST

/* --- closing a queue closes those below it ----------------------------- */

START_TEST(a_queue_is_closed_with_all_below)
{
	static const char *const steps[] = {
		"submit queue=leaf",
		"close top",
		"run",
		"jobs => 1 PD QueueClosed",
		"why => QueueClosed: queue 'top' is closed",
		"submit queue=leaf => ! queue 'top' is closed",
		"open top",
		"run",
		"jobs => 1 R",
		NULL
	};
	struct world w;

	world_with_node(&w, "pool here { runner = local }\n"
	                    "queue top { }\n"
	                    "queue leaf { parent = \"top\" }\n");
	world_play(&w, "", steps);
	world_fini(&w);
}
END_TEST

/* --- reload ------------------------------------------------------------ */

static const struct {
	const char *name, *before;
	const char *step[8];
	const char *after;
	const char *then[8];
} reloads[] = {
	{ "queues move, and jobs with them",
	  "default_queue = \"b\"\n"
	  "pool here { runner = local }\n"
	  "queue a { }\nqueue b { }\n",
	  { "submit queue=a", "submit queue=b cpus-per-task=4", "run",
	    "jobs => 1 R, 2 PD Resources" },
	  "pool here { runner = local }\n"
	  "queue new { }\nqueue b { }\nqueue a { }\n",
	  { "jobs => 1 R, 2 PD Unevaluated", "end 1 0", "run",
	    "jobs => 1 CD, 2 R", "end 2 0", "commit" } },
	{ "a queue that has jobs is not taken away",
	  "default_queue = \"b\"\n"
	  "pool here { runner = local }\n"
	  "queue a { }\nqueue b { }\n",
	  { "submit queue=a hold" },
	  "! queue 'a' still has 1 job\n"
	  "pool here { runner = local }\n"
	  "queue b { }\n",
	  { "jobs => 1 PD JobHeldUser" } },
	{ "nor one whose last job is not yet written",
	  "default_queue = \"b\"\n"
	  "pool here { runner = local }\n"
	  "queue a { }\nqueue b { }\n",
	  { "submit queue=a hold", "cancel 1" },
	  "! queue 'a' still has 1 job\n"
	  "pool here { runner = local }\n"
	  "queue b { }\n",
	  { "jobs => 1 CA Cancelled", "commit" } },
	{ "a queue that has none is",
	  "default_queue = \"b\"\n"
	  "pool here { runner = local }\n"
	  "queue a { }\nqueue b { }\n",
	  { "submit queue=a", "run", "end 1 0", "commit" },
	  "pool here { runner = local }\nqueue b { }\n",
	  { "submit", "run", "jobs => 2 R" } },
	{ "a queue that gets queues below it takes no jobs",
	  "pool here { runner = local }\nqueue a { }\n",
	  { "submit hold" },
	  "! queue 'a' still has 1 job\n"
	  "pool here { runner = local }\n"
	  "queue a { }\nqueue b { parent = \"a\" }\n",
	  { "jobs => 1 PD JobHeldUser" } },
	{ "limits are those of now",
	  "pool here { runner = local }\nqueue a { max_jobs = 1 }\n",
	  { "submit", "submit", "run", "jobs => 1 R, 2 PD QueueMaxJobs" },
	  "pool here { runner = local }\nqueue a { max_jobs = 2 }\n",
	  { "run", "jobs => 1 R, 2 R" } },
	{ "a node is corrected",
	  "pool here { runner = local }\nqueue a { }\n",
	  { "submit cpus-per-task=4", "run", "end 1 0", "commit" },
	  "pool here { runner = local }\nqueue a { }\n"
	  "node \"n0\" { pool = here cpus = 2 }\n",
	  { "submit cpus-per-task=4 => ! needs 4 CPUs on one node; the largest "
	    "that it may use has 2 (n0)" } },
	{ "what was closed by hand stays closed",
	  "pool here { runner = local }\nqueue a { }\n",
	  { "submit", "close a" },
	  "pool here { runner = local }\nqueue a { max_jobs = 3 }\n",
	  { "run", "jobs => 1 PD QueueClosed" } },
	{ "what was opened by hand stays open",
	  "pool here { runner = local }\nqueue a { state = closed }\n",
	  { "open a", "submit" },
	  "pool here { runner = local }\n"
	  "queue a { state = closed max_jobs = 3 }\n",
	  { "run", "jobs => 1 R" } },
	{ "unless the file says otherwise than before",
	  "pool here { runner = local }\nqueue a { state = closed }\n",
	  { "open a", "submit", "close a" },
	  "pool here { runner = local }\nqueue a { }\n",
	  { "run", "jobs => 1 R" } },
	{ "a pool with nodes is not taken away",
	  "pool here { runner = local }\nqueue a { }\n",
	  { "jobs =>" },
	  "! pool 'here' has nodes: removing it needs a restart\n"
	  "pool there { runner = local }\nqueue a { }\n",
	  { "jobs =>" } },
};

START_TEST(reload)
{
	const char *after = reloads[_i].after;
	size_t refusal = *after == '!' ? strcspn(after, "\n") : 0;
	struct world w;
	int result;

	world_with_node(&w, reloads[_i].before);
	world_play(&w, reloads[_i].name, reloads[_i].step);
	w.old_conf = w.conf;
	w.conf = world_conf(after + refusal);
	result = state_reconf(w.state, w.conf, w.now, &w.err);
	world_check(&w);
	if (refusal) {
		ck_assert_int_eq(result, -1);
		ck_assert_int_eq(w.err.code, EBUSY);
		ck_assert_msg(strlen(w.err.text) == refusal - 2 &&
		                  !strncmp(w.err.text, after + 2, refusal - 2),
		              "%s: %s", reloads[_i].name, w.err.text);
	} else {
		ck_assert_msg(result == 0, "%s: %s", reloads[_i].name,
		              w.err.text);
	}
	world_play(&w, reloads[_i].name, reloads[_i].then);
	world_fini(&w);
}
END_TEST

/* Split an array into one record for each task, then set its limit through each
 * of these records, as a request that names the array does. */
START_TEST(an_array_limit_is_set_once)
{
	enum { TASKS = 200 };
	struct world w;
	uint64_t before;
	char step[64];

	world_with_node(&w, NULL);
	world_submit(&w, "array=0-199");
	for (int i = 1; i < TASKS; i++) {
		snprintf(step, sizeof(step), "split 1 %d", i);
		PLAY(&w, step);
	}
	before = steps_so_far;
	for (int id = 1; id <= TASKS; id++) {
		snprintf(step, sizeof(step), "update %d array_limit=3", id);
		PLAY(&w, step);
	}
	ck_assert_uint_ge(steps_so_far - before, TASKS);
	ck_assert_uint_lt(steps_so_far - before, 50 * TASKS);
	world_fini(&w);
}
END_TEST

/* Release every other job of a row, then the others from both ends in turn, so
 * that each place is far from the one before. */
START_TEST(the_way_to_a_place_in_a_row_counts)
{
	enum { JOBS = 200, HALF = JOBS / 2 };
	struct world w;
	uint64_t before;
	char step[64];

	world_with_node(&w, NULL);
	for (int i = 0; i < JOBS; i++)
		world_submit(&w, i % 2 ? "" : "hold");
	before = steps_so_far;
	for (int i = 0; i < HALF; i++) {
		snprintf(step, sizeof(step), "release %d",
		         i % 2 ? JOBS - i : i + 1);
		PLAY(&w, step);
	}
	ck_assert_uint_ge(steps_so_far - before, HALF * HALF / 2);
	world_fini(&w);
}
END_TEST

/* Put many jobs, each in a row of its own, to the top: all rows are looked at
 * once, not once for each of these jobs. */
START_TEST(the_search_for_the_top_is_made_once)
{
	enum { JOBS = 300 };
	struct world w;
	uint64_t before;
	char step[64];

	world_with_node(&w, TWO_QUEUES);
	for (int i = 0; i < JOBS; i++) {
		snprintf(step, sizeof(step), "priority=%d%s", -i,
		         i % 2 ? "" : " queue=other");
		world_submit(&w, step);
	}
	before = steps_so_far;
	for (int id = 1; id <= JOBS; id++) {
		snprintf(step, sizeof(step), "top %d", id);
		PLAY(&w, step);
	}
	ck_assert_uint_ge(steps_so_far - before, JOBS);
	ck_assert_uint_lt(steps_so_far - before, 10 * JOBS);
	world_fini(&w);
}
END_TEST

SUITE(change)
{
	tcase_add_loop_test(tc, change_case, 0, ARRAY_SIZE(cases));
	tcase_add_test(tc, a_plan_of_before_starts_nothing_that_changed);
	tcase_add_test(tc, a_queue_gives_its_manners);
	tcase_add_test(tc, why_a_node_is_drained_outlives_its_loss);
	tcase_add_test(tc, a_queue_is_closed_with_all_below);
	tcase_add_test(tc, an_array_limit_is_set_once);
	tcase_add_test(tc, the_way_to_a_place_in_a_row_counts);
	tcase_add_test(tc, the_search_for_the_top_is_made_once);
	tcase_add_loop_test(tc, reload, 0, ARRAY_SIZE(reloads));
}
