/* test_admission.c - submissions that are allowed or refused */
#include <stdlib.h>
#include <string.h>

#include "aischedd/sched/order_position.h"
#include "aischedd/state/cluster/node.h"
#include "aischedd/state/cluster/pool.h"
#include "aischedd/state/cluster/reconf.h"
#include "aischedd/state/life/submit_check.h"
#include "aischedd/state/pass/what_if.h"
#include "libcommon/parse.h"
#include "tests/unit/check.h"
#include "tests/unit/state/world.h"

#define PLAY(w, ...) \
	world_play(w, "", (const char *const[]){ __VA_ARGS__, NULL })

static const char conf[] = "max_jobs = 50\n"
			   "default_queue = \"batch\"\n"
			   "licenses { matlab = 2 }\n"
			   "pool here { runner = local }\n"
			   "pool there { }\n"
			   "class gold { priority = 200 }\n"
			   "class kept { users = {\"eve\", \"@staff\"} }\n"
			   "node \"n0\" { pool = here features = {\"ib\"} }\n"
			   "queue batch { max_submit = 30 }\n"
			   "queue short { max_time = \"10m\" "
			   "default_time = \"5m\" }\n"
			   "queue team { users = {\"eve\", \"@staff\"} }\n"
			   "queue mine { max_submit_per_user = 3 }\n"
			   "queue shut { state = closed }\n"
			   "queue top { max_submit = 4 max_submit_per_user = 3 "
			   "max_time = \"1h\" }\n"
			   "queue left { parent = \"top\" }\n"
			   "queue right { parent = \"top\" class = \"gold\" "
			   "pools = {\"here\"} }\n"
			   "queue grove { classes = {\"train\", \"gold\"} }\n"
			   "queue trees { parent = grove }\n"
			   "queue plain { classes = train }\n"
			   "queue vault { class = kept }\n";

static bool in_staff(const char *group, const void *arg)
{
	return *(const bool *)arg && !strcmp(group, "staff");
}

/* Options and the expected error; NULL: accepted. The world has node n0 with 4
 * CPUs, 4000 MiB and 2 GPUs. */
static const struct {
	const char *name, *options, *want;
	int code;
} cases[] = {
	{ "all that there is", "cpus-per-task=4 mem=4000M gpus=2", NULL, 0 },
	{ "no such queue", "queue=x",
	  "there is no queue 'x'; `aiq --queues` lists them", ENOENT },
	{ "a queue of queues", "queue=top",
	  "queue 'top' has queues below it: submit to one of those", EINVAL },
	{ "a queue of others", "queue=team",
	  "user 'ada' may not use queue 'team'", EACCES },
	{ "a closed queue", "queue=shut", "queue 'shut' is closed", EAGAIN },
	{ "its time limit", "queue=short time=10", NULL, 0 },
	{ "a longer one", "queue=short time=11",
	  "queue 'short' allows a time limit of at most 10:00", EINVAL },
	{ "a limit further up", "queue=left time=61",
	  "queue 'top' allows a time limit of at most 1:00:00", EINVAL },
	{ "too many CPUs", "cpus-per-task=5",
	  "needs 5 CPUs on one node; the largest that it may use has 4 (n0)",
	  EINVAL },
	{ "too much memory", "mem=5000M",
	  "needs * of memory on one node; the largest that it may use has *",
	  EINVAL },
	{ "too many GPUs", "gpus=3", "needs 3 GPUs *", EINVAL },
	{ "too many tasks", "tasks=5",
	  "has 5 tasks; at most 4 fit even if all nodes are empty", EINVAL },
	{ "a feature that there is", "constraint=ib", NULL, 0 },
	{ "a feature that there is not", "constraint=tape", "*", EINVAL },
	{ "a node that there is", "nodelist=n0", NULL, 0 },
	{ "a node that there is not", "nodelist=n[0-1]",
	  "--nodelist: there is no node 'n1'; `aiq --nodes` lists them",
	  ENOENT },
	{ "all nodes excluded", "exclude=n0", "*", EINVAL },
	{ "no such pool", "pool=x", "there is no pool 'x'", ENOENT },
	{ "a pool that the queue may not use", "queue=right pool=there",
	  "queue 'right' may not use pool 'there'", EINVAL },
	{ "licences", "licenses=matlab:2", NULL, 0 },
	{ "no such licence", "licenses=ansys", "there is no licence 'ansys'",
	  ENOENT },
	{ "more licences than there are", "licenses=matlab:3", "*matlab*",
	  EINVAL },
	{ "no such class", "class=lead", "there is no class 'lead'", ENOENT },
	{ "a class of others", "class=kept",
	  "user 'ada' may not use class 'kept'", EACCES },
	{ "a queue whose class is others'", "queue=vault",
	  "user 'ada' may not use class 'kept', that of the queue: name "
	  "another one with --class",
	  EACCES },
	{ "another class there", "queue=vault class=train", NULL, 0 },
	{ "a class that the queue allows", "queue=trees class=gold", NULL, 0 },
	{ "one that it does not allow", "queue=plain class=inference",
	  "queue 'plain' takes no jobs of class 'inference'", EACCES },
	{ "nor does the one above", "queue=trees class=inference",
	  "queue 'grove' takes no jobs of class 'inference'", EACCES },
	{ "a lower priority", "priority=10", NULL, 0 },
	{ "a higher priority", "priority=51",
	  "priority 51 is above the class's 50: that needs an operator of "
	  "queue 'batch'",
	  EPERM },
	{ "being nice", "nice=10", NULL, 0 },
	{ "being otherwise", "nice=-1",
	  "a negative nice needs an operator of queue 'batch'", EPERM },
	{ "a deadline that has passed", "deadline=now-1",
	  "the deadline has passed", EINVAL },
	{ "a deadline that is too early", "time=10 deadline=now+599",
	  "the deadline comes before the time limit would be reached", EINVAL },
	{ "a deadline", "time=10 deadline=now+600", NULL, 0 },
	{ "an array as large as the queue may be", "array=0-29", NULL, 0 },
	{ "a larger one", "array=0-30",
	  "queue 'batch' holds 0 of at most 30 jobs (max_submit); 31 more are "
	  "asked for",
	  EAGAIN },
	{ "as many as a user may have", "queue=mine array=0-2", NULL, 0 },
	{ "more", "queue=mine array=0-3",
	  "user 'ada' has 0 of at most 3 jobs in queue 'mine' "
	  "(max_submit_per_user); 4 more are asked for",
	  EAGAIN },
};

START_TEST(admission_case)
{
	struct world w;
	uint64_t id;

	world_with_node(&w, conf);
	id = world_submit(&w, cases[_i].options);
	if (!cases[_i].want) {
		ck_assert_msg(id == 1, "%s: %s", cases[_i].name, w.err.text);
	} else {
		ck_assert_msg(!id, "%s", cases[_i].name);
		ck_assert_msg(glob_match(cases[_i].want, w.err.text), "%s: %s",
		              cases[_i].name, w.err.text);
		ck_assert_int_eq(w.err.code, cases[_i].code);
		ck_assert_uint_eq(state_next_id(w.state), 1);
		ck_assert_ptr_null(state_first_job(w.state));
	}
	world_fini(&w);
}
END_TEST

START_TEST(groups_count)
{
	bool staff = true;
	struct world w;

	world_with_node(&w, conf);
	w.who.in_group = in_staff;
	w.who.arg = &staff;
	ck_assert_uint_eq(world_submit(&w, "queue=team"), 1);
	staff = false;
	ck_assert_uint_eq(world_submit(&w, "queue=team"), 0);
	w.who.user = "eve";
	ck_assert_uint_eq(world_submit(&w, "queue=team"), 2);
	PLAY(&w, "submit class=kept", "update 3 class=train");
	w.who.user = "ada";
	PLAY(&w, "update 3 class=kept => ! user 'ada' may not use class 'kept'",
	     "update 2 comment=x");
	w.who.operator_ = true;
	PLAY(&w, "update 3 class=kept", "update 3 queue=plain;class=train",
	     "update 3 class=kept => ! queue 'plain' takes no jobs of class "
	     "'kept'");
	w.who.operator_ = false;
	world_fini(&w);
}
END_TEST

START_TEST(operators_raise_priorities)
{
	struct world w;

	world_with_node(&w, conf);
	w.who.operator_ = true;
	ck_assert_uint_eq(world_submit(&w, "priority=1000 nice=-5"), 1);
	ck_assert_int_eq(state_job(w.state, 1)->priority, 1005);
	world_fini(&w);
}
END_TEST

START_TEST(what_a_queue_gives)
{
	struct world w;

	world_with_node(&w, conf);
	world_submit(&w, "queue=right");
	ck_assert_int_eq(state_job(w.state, 1)->priority, 200);
	ck_assert_int_eq(state_job(w.state, 1)->time_limit, 3600);
	world_submit(&w, "queue=short");
	ck_assert_int_eq(state_job(w.state, 2)->time_limit, 300);
	ck_assert_int_eq(state_job(w.state, 2)->grace, 30);
	world_submit(&w, "");
	ck_assert_int_eq(state_job(w.state, 3)->time_limit, TIME_UNLIMITED);
	ck_assert_int_eq(state_job(w.state, 3)->priority, 50);
	world_fini(&w);
}
END_TEST

START_TEST(a_user_has_a_share_of_all_jobs)
{
	struct world w;

	world_with_node(&w, "max_jobs = 50\nmax_user_jobs = 10\n"
	                    "pool here { runner = local }\n"
	                    "queue batch { }\nqueue other { }\n"
	                    "default_queue = \"batch\"\n");
	PLAY(&w, "submit array=0-8", "submit queue=other",
	     "submit => ! *has 10 jobs, *of 10 allowed (max_user_jobs)*",
	     "submit queue=other array=0-1 => ! *(max_user_jobs)*");
	w.who.operator_ = true;
	PLAY(&w, "submit array=0-19");
	w.who.operator_ = false;
	world_event(&w, 2, EV_cancel);
	PLAY(&w, "submit => ! *has 29 jobs*");
	world_event(&w, 3, EV_cancel);
	PLAY(&w, "submit");
	world_fini(&w);
}
END_TEST

START_TEST(a_long_grace_takes_an_operator)
{
	struct world w;

	world_with_node(&w, conf);
	PLAY(&w,
	     "submit grace=31s => ! queue 'batch' allows a grace of at most "
	     "0:30: more needs one of its operators");
	PLAY(&w, "submit grace=30s", "update 1 grace=31s => ! *at most 0:30*");
	w.who.operator_ = true;
	PLAY(&w, "update 1 grace=100d");
	w.who.operator_ = false;
	PLAY(&w, "update 1 comment=x");
	ck_assert_int_eq(state_job(w.state, 1)->grace, 8640000);
	world_fini(&w);
}
END_TEST

static const struct {
	const char *name;
	const char *step[16];
} counts[] = {
	{ "a limit further up counts what is below",
	  { "submit queue=left array=0-1", "submit queue=right",
	    "submit queue=right => ! user 'ada' has 3 of at most 3 jobs in "
	    "queue 'top' (max_submit_per_user)",
	    "cancel 1", "commit", "submit queue=left", "submit queue=left" } },
	{ "a move counts where the job did not count before",
	  { "submit queue=mine array=0-2", "submit queue=left array=0-1",
	    "update 2 queue=mine => ! user 'ada' has 3 of at most 3 jobs in "
	    "queue 'mine' (max_submit_per_user); 2 more are asked for",
	    "submit queue=right", "update 3 queue=left",
	    "update 3 queue=left" } },
	{ "jobs that have ended do not count",
	  { "submit queue=mine array=0-2",
	    "submit queue=mine => ! user 'ada' has 3 of at most 3 jobs in "
	    "queue 'mine' (max_submit_per_user)",
	    "run", "end 2 0", "submit queue=mine" } },
	{ "no more than there may be in all",
	  { "submit array=0-29", "submit queue=short array=0-19",
	    "submit queue=short => ! the queues hold 50 of at most 50 jobs "
	    "(max_jobs)" } },
	{ "what fits no node waits while nodes are not known",
	  { "submit cpus-per-task=5 => ! needs 5 CPUs *" } },
};

START_TEST(count_case)
{
	struct world w;

	world_with_node(&w, conf);
	world_play(&w, counts[_i].name, counts[_i].step);
	world_fini(&w);
}
END_TEST

START_TEST(while_nodes_are_not_known_all_is_taken)
{
	struct world w;

	world_init(&w, NULL);
	ck_assert_uint_eq(world_submit(&w, "cpus-per-task=64 gpus=8"), 1);
	world_plan(&w);
	ck_assert_str_eq(world_jobs(&w), "1 PD RunnerDown");
	ck_assert_uint_eq(world_submit(&w, "nodelist=n7"), 2);
	world_plan(&w);
	ck_assert_str_eq(world_jobs(&w), "1 PD RunnerDown, 2 PD RunnerDown");
	world_play(&w, "", (const char *const[]){ "cancel 2", "commit", NULL });
	state_pool_trouble(w.state, 0, "its server is silent");
	ck_assert_ptr_nonnull(
	    strstr(world_why(&w, 1), " is not ready: its server is silent"));
	state_pool_trouble(w.state, 0, NULL);
	ck_assert_ptr_null(strstr(world_why(&w, 1), "silent"));
	world_node(&w, "n0", 4, 4000, 0);
	world_plan(&w);
	ck_assert_str_eq(world_jobs(&w), "1 PD NeverFits");
	world_fini(&w);
}
END_TEST

/* Limits count all jobs of a request, although none of them is submitted
 * yet. */
START_TEST(a_request_is_counted_as_a_whole)
{
	struct world w;
	struct spec spec;
	uint64_t ahead = 0;
	uint32_t queue;

	world_with_node(&w, conf);
	spec = world_spec(&w, "queue=mine array=0-1");
	ck_assert_int_eq(state_check_submit(w.state, &spec, &w.who, w.now,
	                                    &ahead, &queue, &w.err),
	                 0);
	ck_assert_uint_eq(ahead, 2);
	ck_assert_int_eq(state_check_submit(w.state, &spec, &w.who, w.now,
	                                    &ahead, &queue, &w.err),
	                 -1);
	ck_assert_uint_eq(ahead, 2);
	world_fini(&w);
}
END_TEST

/* --- test-only --------------------------------------------------------- */

static const struct {
	const char *name, *before, *options, *want;
} trials[] = {
	{ "it would start", "", "cpus-per-task=3", "starts on n0" },
	{ "a gang would", "", "tasks=2", "starts on n0" },
	{ "it would wait", "cpus-per-task=4 time=10", "",
	  "Resources at 600: *waits for job 1 to end*" },
	{ "held", "", "hold", "JobHeldUser*" },
	{ "for its time", "", "begin=now+60", "BeginTime at 60: *1:00" },
	{ "for another", "", "dependency=afterok:1",
	  "Dependency: waits for afterok:1*" },
	{ "for all of a name", "job-name=a", "job-name=a dependency=singleton",
	  "Dependency: *" },
	{ "for nobody of a name", "job-name=b",
	  "job-name=a dependency=singleton", "starts on n0" },
	{ "in the place of another", "cpus-per-task=4",
	  "cpus-per-task=4 class=interactive", "Preempting*; evicts 1" },
};

START_TEST(trial)
{
	struct buf got = { 0 };
	const struct what_if *what;
	struct state_test *test;
	struct world w;
	struct spec spec;
	const char *before, *text;

	world_with_node(&w, NULL);
	world_submit(&w, trials[_i].before);
	world_run(&w);
	before = world_jobs(&w);
	spec = world_spec(&w, trials[_i].options);
	test = state_test_take(w.state, &spec, &w.who, 0, w.now);
	state_test_plan(test);
	what = state_test_tell(w.state, test, &text);
	if (what->starts)
		buf_printf(&got, "starts on %s", what->nodes.data);
	else
		buf_puts(&got, reason_name(what->why));
	if (!what->starts && what->expected != NO_TIME)
		buf_printf(&got, " at %lld",
		           (long long)(what->expected - w.now));
	if (!what->starts)
		buf_printf(&got, ": %s", text);
	for (size_t i = 0; i < what->nevicts; i++)
		buf_printf(&got, "; evicts %llu",
		           (unsigned long long)what->evict[i]);
	ck_assert_msg(glob_match(trials[_i].want, got.data), "%s: %s",
	              trials[_i].name, got.data);
	ck_assert_str_eq(world_jobs(&w), before);
	ck_assert_uint_eq(state_next_id(w.state), 2);
	world_check(&w);
	state_test_free(w.state, test);
	buf_free(&got);
	world_fini(&w);
}
END_TEST

/* Returns the memory per CPU, in MiB, that a new job gets if it requests
 * none. */
static int64_t memory_given(struct world *w)
{
	return state_job(w->state, world_submit(w, ""))->mem_default;
}

START_TEST(memory_of_a_job_that_does_not_say)
{
	struct node_info gone = { .name = "n1", .gone = true };
	struct world w;

	world_init(&w, NULL);
	ck_assert_int_eq(memory_given(&w), 0);
	world_node(&w, "n0", 4, 4000, 0);
	ck_assert_int_eq(memory_given(&w), 1000);
	world_node(&w, "n1", 4, 2000, 0);
	ck_assert_int_eq(memory_given(&w), 500);
	state_node_seen(w.state, 0, &gone);
	ck_assert_int_eq(memory_given(&w), 1000);
	w.old_conf = w.conf;
	w.conf = world_conf("pool here { default_memory_per_cpu = 700M }\n"
	                    "queue batch { }\n");
	ck_assert_int_eq(state_reconf(w.state, w.conf, w.now, &w.err), 0);
	ck_assert_int_eq(memory_given(&w), 700);
	world_fini(&w);
}
END_TEST

/* Only the first thousand jobs of a row get positions, so one more does not
 * need a pass. */
START_TEST(one_more_that_waits_needs_no_pass)
{
	struct world w;

	world_with_node(&w, NULL);
	world_submit(&w, "cpus-per-task=4");
	world_run(&w);
	for (int i = 0; i < LINE_ROW; i++) {
		world_submit(&w, "cpus-per-task=4");
		ck_assert(state_wants_plan(w.state));
		world_run(&w);
	}
	world_submit(&w, "cpus-per-task=4");
	ck_assert(!state_wants_plan(w.state));
	ck_assert(!strncmp(world_why(&w, LINE_ROW + 2), "Resources:", 10));
	world_submit(&w, "cpus-per-task=3");
	ck_assert(state_wants_plan(w.state));
	world_run(&w);
	ck_assert(!state_wants_plan(w.state));
	world_end(&w, 1, 0);
	world_submit(&w, "cpus-per-task=4");
	ck_assert(state_wants_plan(w.state));
	world_fini(&w);
}
END_TEST

SUITE(admission)
{
	tcase_add_loop_test(tc, admission_case, 0, ARRAY_SIZE(cases));
	tcase_add_test(tc, groups_count);
	tcase_add_test(tc, operators_raise_priorities);
	tcase_add_test(tc, what_a_queue_gives);
	tcase_add_test(tc, a_user_has_a_share_of_all_jobs);
	tcase_add_test(tc, a_long_grace_takes_an_operator);
	tcase_add_loop_test(tc, count_case, 0, ARRAY_SIZE(counts));
	tcase_add_test(tc, while_nodes_are_not_known_all_is_taken);
	tcase_add_test(tc, a_request_is_counted_as_a_whole);
	tcase_add_loop_test(tc, trial, 0, ARRAY_SIZE(trials));
	tcase_add_test(tc, memory_of_a_job_that_does_not_say);
	tcase_add_test(tc, one_more_that_waits_needs_no_pass);
}
