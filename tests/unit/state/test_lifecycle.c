/* test_lifecycle.c - each event in each state of a job */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/state/cluster/counts.h"
#include "aischedd/state/cluster/node.h"
#include "aischedd/state/life/lifecycle.h"
#include "tests/unit/check.h"
#include "tests/unit/state/world.h"

#define PLAY(w, ...) \
	world_play(w, "", (const char *const[]){ __VA_ARGS__, NULL })

/* The events that bring a new job into a state. */
static const struct {
	enum job_state state;
	const char *how[4];
} paths[] = {
	{ JOB_PENDING, { NULL } },
	{ JOB_CONFIGURING, { "plan" } },
	{ JOB_RUNNING, { "run" } },
	{ JOB_SUSPENDED, { "run", "suspend" } },
	{ JOB_COMPLETING, { "run", "cancel" } },
	{ JOB_COMPLETED, { "run", "end 1 0" } },
	{ JOB_FAILED, { "run", "end 1 1" } },
	{ JOB_CANCELLED, { "cancel" } },
	{ JOB_TIMEOUT, { "run", "time_limit", "end 1 0" } },
	{ JOB_NODE_FAIL, { "run", "lost" } },
	{ JOB_DEADLINE, { "deadline" } },
};

/*
 * The state after an event; ".": unchanged, "!": refused. The columns are the
 * events hold release start started start_failed ended lost unknown suspend
 * resume resumed requeue preempt signal cancel time_limit deadline shrink
 * shrunk grow replaced tasks_lost used noted
 */
static const struct {
	enum job_state state;
	const char *want;
} table[] = {
	/* clang-format off */
	{ JOB_PENDING,     ". . CF . . . . . ! ! . ! ! ! CA . DL . . . . . . ." },
	{ JOB_CONFIGURING, ". . . R PD CD NF . ! ! . CG CG ! CG . CG . . . . . . ." },
	{ JOB_RUNNING,     ". . . . PD CD NF NF S . . CG CG . CG CG CG . . . . . . ." },
	{ JOB_SUSPENDED,   ". . . . . CD NF NF . . R CG CG . CG . CG . . . . . . ." },
	{ JOB_COMPLETING,  "! ! . . CA CA CA CA ! ! . ! ! ! . . . . . . . . . ." },
	{ JOB_COMPLETED,   "! ! . . . . . . ! ! . ! ! ! . . . . . . . . . ." },
	{ JOB_FAILED,      "! ! . . . . . . ! ! . ! ! ! . . . . . . . . . ." },
	{ JOB_CANCELLED,   "! ! . . . . . . ! ! . ! ! ! . . . . . . . . . ." },
	{ JOB_TIMEOUT,     "! ! . . . . . . ! ! . ! ! ! . . . . . . . . . ." },
	{ JOB_NODE_FAIL,   "! ! . . . . . . ! ! . ! ! ! . . . . . . . . . ." },
	{ JOB_DEADLINE,    "! ! . . . . . . ! ! . ! ! ! . . . . . . . . . ." },
	/* clang-format on */
};

static void job_in(struct world *w, enum job_state state)
{
	world_play(w, "", (const char *const[]){ "submit time=10", NULL });
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		if (paths[i].state == state)
			world_play(w, "", paths[i].how);
	ck_assert_int_eq(state_job(w->state, 1)->state, state);
}

/* Returns a placement for the events that carry one. */
static struct placement *somewhere(void)
{
	const struct snap_task task[2] = { { .node = 0 }, { .cpu_first = 1 } };
	const struct snap_cpu_use use = { 0, 1000 };

	return placement_new(1, task, &use, NULL);
}

static const char *outcome(struct world *w, enum event_kind kind)
{
	static const struct outcome fine = { .peak_mem_kib = SPEC_UNSET };
	struct placement *place = somewhere();
	const struct event_in ev = { .kind = kind,
		                     .now = w->now,
		                     .time = w->now,
		                     .outcome = &fine,
		                     .place = place };
	struct job *job = state_job(w->state, 1);
	int before = job->state;
	int result = state_event(w->state, job, &ev, &w->err);

	free(place);
	world_check(w);
	if (result < 0) {
		ck_assert_int_eq(w->err.code, EINVAL);
		ck_assert_int_eq(job->state, before);
		return "!";
	}
	return job->state == before
	           ? "."
	           : job_state_letter((enum job_state)job->state);
}

START_TEST(each_event_in_each_state)
{
	const char *want = table[_i].want;

	for (int e = 0; e < EV_N; e++) {
		size_t len = strcspn(want, " ");
		struct world w;
		const char *got;

		world_with_node(&w, NULL);
		job_in(&w, table[_i].state);
		got = outcome(&w, (enum event_kind)e);
		ck_assert_msg(strlen(got) == len && !strncmp(got, want, len),
		              "%s in %s: got %s, want %.*s",
		              world_event_name((enum event_kind)e),
		              job_state_name(table[_i].state), got, (int)len,
		              want);
		world_commit(&w);
		world_fini(&w);
		want += len + (want[len] == ' ');
	}
	ck_assert_str_eq(want, "");
}
END_TEST

/* --- sequences of events ----------------------------------------------- */

static const struct {
	const char *name;
	const char *step[24];
} lives[] = {
	{ "a job runs and is told to the runner after the commit",
	  { "submit", "jobs => 1 PD Unevaluated", "plan", "jobs => 1 CF",
	    "effects => start 1.1", "started", "end 1 0", "jobs => 1 CD",
	    "effects => forget 1.1", "commit", "jobs =>" } },
	{ "an exit status makes it FAILED",
	  { "submit", "run", "end 1 3", "jobs => 1 F NonZeroExitCode" } },
	{ "cancel stops it, and whatever its exit it is CANCELLED",
	  { "submit", "run", "tell", "cancel", "effects => stop 1.1", "end 1 0",
	    "jobs => 1 CA Cancelled" } },
	{ "a second cancel does not wait for the grace",
	  { "submit", "run", "cancel", "tell", "cancel",
	    "effects => stop 1.1 grace=0" } },
	{ "nor does a cancel when the time is up",
	  { "submit time=10", "run", "time_limit", "tell", "cancel",
	    "effects => stop 1.1 grace=0", "end 1 0",
	    "jobs => 1 TO TimeLimit" } },
	{ "the first cancel of a job that was to come back lets it end",
	  { "submit", "run", "requeue", "tell", "cancel", "effects =>",
	    "cancel", "effects => stop 1.1 grace=0" } },
	{ "cancelled before it was started",
	  { "submit", "plan", "cancel", "start_failed",
	    "jobs => 1 CA Cancelled" } },
	{ "cancelled while suspended",
	  { "submit", "run", "suspend", "cancel", "tell", "end 1 0",
	    "jobs => 1 CA Cancelled" } },
	{ "a requeued job begins again with another attempt",
	  { "submit", "run", "tell", "requeue", "effects => stop 1.1",
	    "end 1 0", "jobs => 1 PD Unevaluated", "effects => forget 1.1",
	    "plan", "effects => start 1.2", "started", "end 1 0",
	    "jobs => 1 CD" } },
	{ "as often as it may",
	  { "submit max-restarts=1", "run", "requeue", "end 1 0", "run",
	    "requeue => ! job 1 was restarted 1 time, as often as it may; "
	    "`aictl update 1 max_restarts=N` allows more",
	    "end 1 0", "jobs => 1 CD" } },
	{ "--no-requeue",
	  { "submit no-requeue", "run",
	    "requeue => ! job 1 was submitted with --no-requeue",
	    "jobs => 1 R" } },
	{ "a requeue that turns into a cancel",
	  { "submit", "run", "requeue", "cancel", "end 1 0",
	    "jobs => 1 CA Cancelled" } },
	{ "a job that ends by itself while it is cancelled is CANCELLED",
	  { "submit", "run", "cancel", "lost", "jobs => 1 CA Cancelled" } },
	{ "a machine that failed: NODE_FAIL",
	  { "submit", "run", "lost", "jobs => 1 NF NodeFail" } },
	{ "a machine that failed: again, if the job asks",
	  { "submit requeue max-restarts=1", "run", "lost",
	    "jobs => 1 PD Unevaluated", "run", "lost",
	    "jobs => 1 NF NodeFail" } },
	{ "when a task fails, all start again, ever later, as often as may be",
	  { "submit on-task-failure=restart max-restarts=2", "run", "tell",
	    "end 1 3", "jobs => 1 PD StartFailed", "effects => forget 1.1",
	    "next => 1", "plan", "jobs => 1 PD StartFailed", "+1", "run",
	    "end 1 3", "next => 2", "+2", "run", "jobs => 1 R", "end 1 3",
	    "jobs => 1 F NonZeroExitCode" } },
	{ "all start again: a node that fails counts likewise",
	  { "submit on-task-failure=restart max-restarts=1", "run", "lost",
	    "jobs => 1 PD Unevaluated", "run", "end 1 1",
	    "jobs => 1 F NonZeroExitCode" } },
	{ "all start again, but not what was cancelled",
	  { "submit on-task-failure=restart", "run", "cancel", "end 1 1",
	    "jobs => 1 CA Cancelled" } },
	{ "nor what ended well",
	  { "submit on-task-failure=restart", "run", "end 1 0",
	    "jobs => 1 CD" } },
	{ "tasks were replaced, until too many had failed",
	  { "submit on-task-failure=replace", "run", "replaced", "jobs => 1 R",
	    "end 1 1", "jobs => 1 F NonZeroExitCode" } },
	{ "tasks are replaced: on another node when theirs fails",
	  { "submit on-task-failure=replace", "run", "lost",
	    "jobs => 1 PD Unevaluated" } },
	{ "a start that failed by the system is tried again, ever later",
	  { "submit", "plan", "start_failed", "jobs => 1 PD StartFailed",
	    "why => StartFailed: cannot fork; next try in 0:01", "plan",
	    "jobs => 1 PD StartFailed", "+1", "jobs => 1 PD Unevaluated",
	    "plan", "start_failed",
	    "why => StartFailed: cannot fork; next try in 0:02", "+2", "plan",
	    "started", "end 1 0", "jobs => 1 CD" } },
	{ "a user's hold",
	  { "submit hold",
	    "why => JobHeldUser: it was held by its user; "
	    "`aictl release 1` lets it go on",
	    "hold", "plan", "jobs => 1 PD JobHeldUser", "release", "release",
	    "plan", "jobs => 1 CF" } },
	{ "an operator's hold",
	  { "submit", "operator", "hold", "user", "hold",
	    "why => JobHeldAdmin: it was held by an operator; "
	    "`aictl release 1` lets it go on",
	    "release => ! job 1 was held by an operator: only one can release "
	    "it",
	    "operator", "release", "jobs => 1 PD Unevaluated" } },
	{ "a hold of a job that runs counts once it is requeued",
	  { "submit", "operator", "run", "hold", "jobs => 1 R", "user",
	    "release => ! job 1 was held by an operator: only one can release "
	    "it",
	    "requeue", "end 1 0", "jobs => 1 PD JobHeldAdmin", "operator",
	    "release", "run", "hold", "release", "requeue", "end 1 0",
	    "jobs => 1 PD Unevaluated" } },
	{ "a suspended job gives back its CPUs and asks for them again",
	  { "submit cpus-per-task=4", "run", "tell", "suspend",
	    "effects => suspend 1.1", "jobs => 1 S JobHeldAdmin", "resume",
	    "jobs => 1 S Resources", "plan", "jobs => 1 R",
	    "effects => continue 1.1" } },
	{ "a resume that is taken back",
	  { "submit", "run", "suspend", "resume", "suspend", "plan",
	    "jobs => 1 S JobHeldAdmin" } },
	{ "after a restart of the daemon: what was not started is started",
	  { "submit", "plan", "tell", "unknown", "effects => start 1.1" } },
	{ "after a restart of the daemon: what was to stop is stopped",
	  { "submit", "run", "cancel", "tell", "started",
	    "effects => stop 1.1" } },
	{ "cancelled while another has its CPUs: these are free when both are gone",
	  { "submit cpus-per-task=2 mem-per-task=1M", "run", "suspend",
	    "submit cpus-per-task=3 mem-per-task=1M", "run",
	    "jobs => 1 S JobHeldAdmin, 2 R", "cancel 1",
	    "snap node => node n0 cpus=4 mem=4000M gpus=2 gpu_type=h100*2 "
	    "threads=4",
	    "submit cpus-per-task=1 mem-per-task=1M", "run",
	    "jobs => 1 CG, 2 R, 3 PD Resources" } },
	{ "after a restart of the daemon: what was to sleep is suspended",
	  { "submit", "run", "suspend", "tell", "started",
	    "effects => suspend 1.1" } },
	{ "a preempted job that may not be requeued ends",
	  { "submit no-requeue", "run", "preempt", "jobs => 1 CG", "end 1 0",
	    "jobs => 1 PR Preempted" } },
	{ "also if it is held",
	  { "submit no-requeue", "run", "hold", "preempt", "end 1 0",
	    "jobs => 1 PR Preempted" } },
	{ "a preempted job comes back and that is no restart",
	  { "submit max-restarts=0", "run", "preempt", "end 1 0",
	    "jobs => 1 PD Unevaluated", "run", "jobs => 1 R" } },
	{ "a signal",
	  { "submit",
	    "signal => ! job 1 is PENDING: only a running job can be "
	    "signalled",
	    "run", "tell", "signal", "effects => signal 1.1 10" } },
};

START_TEST(life)
{
	struct world w;

	world_with_node(&w, NULL);
	world_play(&w, lives[_i].name, lives[_i].step);
	world_fini(&w);
}
END_TEST

START_TEST(stale_reports_change_nothing)
{
	struct event_in ev = { .kind = EV_lost, .attempt = 1 };
	struct world w;

	world_with_node(&w, NULL);
	world_submit(&w, "");
	world_run(&w);
	world_event(&w, 1, EV_requeue);
	world_end(&w, 1, 0);
	world_run(&w);
	ck_assert_int_eq(state_event(w.state, state_job(w.state, 1), &ev, NULL),
	                 0);
	ck_assert_str_eq(world_jobs(&w), "1 R");
	world_fini(&w);
}
END_TEST

static int64_t waited(const struct world *w)
{
	const struct job *job = state_job(w->state, 1);

	return job->eligible == NO_TIME ? -1 : w->now - job->eligible;
}

START_TEST(a_run_is_no_wait)
{
	static const enum event_kind how[] = { EV_requeue, EV_preempt };
	struct world w;

	world_with_node(&w, NULL);
	world_submit(&w, "");
	for (size_t i = 0; i < ARRAY_SIZE(how); i++) {
		w.now += 100;
		world_run(&w);
		w.now += 3000;
		world_event(&w, 1, how[i]);
		w.now += 20; /* until its processes have ended */
		world_end(&w, 1, 143);
		ck_assert_int_eq(waited(&w), 100 * ((int64_t)i + 1));
	}
	world_fini(&w);
}
END_TEST

/* The time for which a user holds a job does not count as waiting, but that of
 * an operator's hold does. */
START_TEST(a_job_that_its_user_holds_gets_no_older)
{
	struct world w;

	world_with_node(&w, NULL);
	world_submit(&w, "");
	w.now += 100;
	world_event(&w, 1, EV_hold);
	ck_assert_int_eq(waited(&w), -1);
	w.now += 604800;
	world_event(&w, 1, EV_release);
	ck_assert_int_eq(waited(&w), 0);
	w.now += 10;
	w.who.operator_ = true;
	world_event(&w, 1, EV_hold);
	w.now += 10;
	world_event(&w, 1, EV_release);
	ck_assert_int_eq(waited(&w), 20);
	world_fini(&w);
}
END_TEST

START_TEST(replaced_tasks_are_counted)
{
	struct event_in ev = { .kind = EV_replaced,
		               .attempt = 1,
		               .replaced = 2,
		               .text = "task 3 failed" };
	struct job *job;
	struct world w;

	world_with_node(&w, NULL);
	world_submit(&w, "on-task-failure=replace");
	world_run(&w);
	job = state_job(w.state, 1);
	state_event(w.state, job, &ev, NULL);
	ck_assert_uint_eq(job->runs->replaced, 2);
	ck_assert_str_eq(world_why(&w, 1), "None: task 3 failed");
	/* The runner repeats its first report. */
	ev.replaced = 1;
	ev.text = "task 1 failed";
	state_event(w.state, job, &ev, NULL);
	ck_assert_uint_eq(job->runs->replaced, 2);
	ck_assert_str_eq(world_why(&w, 1), "None: task 3 failed");
	world_event(&w, 1, EV_requeue);
	world_end(&w, 1, 0);
	world_run(&w);
	ck_assert_uint_eq(job->runs->replaced, 0);
	world_fini(&w);
}
END_TEST

/* Only the tasks of the lost node leave the job; it keeps its attempt, and the
 * next plan adds others. */
START_TEST(tasks_are_lost_with_their_node)
{
	const char *nodes[] = { "n1", "n1", "n7" };
	const uint64_t gpus[] = { 0, 0, 0 };
	struct event_in ev = { .kind = EV_tasks_lost,
		               .attempt = 1,
		               .nodes = { 3, nodes },
		               .gpus = gpus,
		               .text = "2 tasks are lost" };
	static const char *const before[] = { "node n1 4",
		                              "decide start 1 n0,n1,n0,n1",
		                              "started 1", "tell", NULL };
	static const char *const after[] = {
		"effects => resize 1.1",
		"jobs => 1 R",
		"wants => yes",
		"snap run => run 1 * tasks=4 * on=n0:c-,n0:c-",
		"decide grow 1 n0",
		"effects => resize 1.1",
		"end 1 0",
		"jobs => 1 CD",
		NULL
	};
	struct job *job;
	struct world w;

	world_with_node(&w, NULL);
	world_submit(&w, "on-task-failure=replace tasks=4");
	world_play(&w, "before", before);
	job = state_job(w.state, 1);
	state_event(w.state, job, &ev, NULL);
	ck_assert_str_eq(world_why(&w, 1), "None: 2 tasks are lost");
	ck_assert_uint_eq(job->attempt, 1);
	ck_assert_uint_eq(job->runs->restarts, 0);
	ck_assert_ptr_null(job->runs->leaving);
	world_play(&w, "after", after);
	world_fini(&w);
}
END_TEST

/* A node that did not take tasks of two jobs is not used for a while. */
START_TEST(a_node_that_takes_no_tasks_is_left_alone)
{
	const char *nodes[] = { "n1" };
	const uint64_t gpus[] = { 0 };
	struct event_in ev = { .kind = EV_tasks_lost,
		               .now = 1000,
		               .attempt = 1,
		               .nodes = { 1, nodes },
		               .refused = { 1, nodes },
		               .gpus = gpus,
		               .text = "1 task is lost" };
	static const char *const before[] = {
		"node n1 4", "decide start 1 n0,n1,n0",
		"started 1", "decide start 2 n0,n1",
		"started 2", NULL
	};
	struct world w;

	world_with_node(&w, NULL);
	world_submit(&w, "on-task-failure=replace tasks=3");
	world_submit(&w, "on-task-failure=replace tasks=2");
	world_play(&w, "before", before);
	state_event(w.state, state_job(w.state, 1), &ev, NULL);
	ck_assert_int_eq(state_node(w.state, 1)->fails, 0);
	state_event(w.state, state_job(w.state, 2), &ev, NULL);
	ck_assert_int_eq(state_node(w.state, 1)->fails, 1);
	ck_assert_int_eq(state_node(w.state, 1)->retry_at, 1001);
	ck_assert_int_eq(state_node(w.state, 0)->fails, 0);
	world_fini(&w);
}
END_TEST

/* The lost tasks that the runner reports may be those that were evicted, so the
 * report is ignored. The runner is told which tasks the job has, and looks
 * again. */
START_TEST(tasks_lost_before_an_eviction_was_known_are_not_taken_for_others)
{
	const char *nodes[] = { "n1" };
	const uint64_t gpus[] = { 0 };
	struct event_in ev = { .kind = EV_tasks_lost,
		               .attempt = 1,
		               .nodes = { 1, nodes },
		               .gpus = gpus,
		               .text = "1 task is lost" };
	static const char *const before[] = { "node n1 4",
		                              "decide start 1 n0,n1,n1",
		                              "started 1", "tell", NULL };
	const uint32_t evicted[] = { 1 };
	struct event_in shrink = { .kind = EV_shrink,
		                   .evict = EVICT_PREEMPT,
		                   .loss = evicted,
		                   .nlosses = 1 };
	struct job *job;
	struct world w;

	world_with_node(&w, NULL);
	world_submit(&w, "on-task-failure=replace tasks=3 min-tasks=1");
	world_play(&w, "before", before);
	job = state_job(w.state, 1);
	state_event(w.state, job, &shrink, NULL);
	ck_assert_uint_eq(job->place->ntasks, 2);
	state_event(w.state, job, &ev, NULL);
	ck_assert_uint_eq(job->place->ntasks, 2);
	ev.resize = job->runs->resize;
	state_event(w.state, job, &ev, NULL);
	ck_assert_uint_eq(job->place->ntasks, 1);
	world_fini(&w);
}
END_TEST

/* An attempt that an older version was about to start has no namespace yet. */
START_TEST(a_start_that_is_repeated_has_a_namespace)
{
	struct event_in ev = { .kind = EV_unknown, .attempt = 1 };
	struct job *job;
	struct world w;

	world_with_node(&w, "pool here { runner = kubernetes }\n"
	                    "queue batch { namespace = aisched }\n");
	world_submit(&w, "");
	world_plan(&w);
	job = state_job(w.state, 1);
	ck_assert_str_eq(job->runs->space, "aisched");
	free(job->runs->space);
	job_runs(job)->space = NULL;
	state_event(w.state, job, &ev, NULL);
	ck_assert_int_eq(job->state, JOB_CONFIGURING);
	ck_assert_str_eq(job->runs->space, "aisched");
	world_fini(&w);
}
END_TEST

START_TEST(what_holds_it_up_is_told)
{
	struct event_in ev = { .kind = EV_noted,
		               .attempt = 1,
		               .text = "it may not be stopped" };
	struct job *job;
	struct world w;

	world_with_node(&w, NULL);
	world_submit(&w, "");
	world_run(&w);
	job = state_job(w.state, 1);
	state_event(w.state, job, &ev, NULL);
	ck_assert_str_eq(world_why(&w, 1), "None: it may not be stopped");
	ev.text = NULL;
	state_event(w.state, job, &ev, NULL);
	ck_assert_str_eq(world_why(&w, 1), "None: ");
	world_fini(&w);
}
END_TEST

/* A start that fails because of the pool does not count against the node. Two
 * failures of another kind would make the node suspect. */
START_TEST(what_is_wrong_with_a_pool_is_no_fault_of_a_node)
{
	struct event_in ev = { .kind = EV_start_failed,
		               .attempt = 1,
		               .fault = FAULT_POOL,
		               .text = "exceeded quota" };
	struct world w;

	world_with_node(&w, NULL);
	for (uint64_t id = 1; id <= 3; id++) {
		world_submit(&w, "");
		world_plan(&w);
		state_event(w.state, state_job(w.state, id), &ev, NULL);
		ck_assert_int_eq(state_job(w.state, id)->state, JOB_PENDING);
	}
	ck_assert_int_eq(state_node(w.state, 0)->fails, 0);
	world_fini(&w);
}
END_TEST

START_TEST(of_a_gang_those_are_to_blame_whose_pods_did_not_run)
{
	struct event_in ev = { .kind = EV_start_failed,
		               .attempt = 1,
		               .fault = FAULT_SYSTEM,
		               .nodes = { 1, (const char *[]){ "n1" } },
		               .text = "1 of 2 pods did not run" };
	struct world w;

	world_with_node(&w, NULL);
	world_node(&w, "n1", 4, 4000, 0);
	for (uint64_t id = 1; id <= 2; id++) {
		world_submit(&w, "ntasks=2 nodes=2");
		world_plan(&w);
		state_event(w.state, state_job(w.state, id), &ev, NULL);
		ck_assert_int_eq(state_job(w.state, id)->state, JOB_PENDING);
	}
	ck_assert_int_eq(state_node(w.state, 0)->fails, 0);
	ck_assert_int_eq(state_node(w.state, 1)->fails, 1);
	world_fini(&w);
}
END_TEST

/* A node that has refused a job gets no other job with the same request for a
 * while, each time for longer, but jobs with other requests. */
START_TEST(a_node_that_refused_a_request_is_avoided_by_it)
{
	struct event_in ev = { .kind = EV_start_failed,
		               .attempt = 1,
		               .fault = FAULT_REFUSED,
		               .text = "not aligned" };
	const struct count_table *counts;
	const struct job *job;
	struct world w;

	world_with_node(&w, NULL);
	world_node(&w, "n1", 4, 4000, 2);
	world_submit(&w, "");
	world_plan(&w);
	job = state_job(w.state, 1);
	ck_assert_uint_eq(job->place->task[0].node, 0);
	ev.now = w.now;
	state_event(w.state, state_job(w.state, 1), &ev, NULL);
	ck_assert_int_eq(job->state, JOB_PENDING);
	ck_assert_uint_eq(job->runs->restarts, 0);
	counts = state_count_table(w.state);
	ck_assert_uint_eq(counts->start_failures[0][FAULT_REFUSED], 1);
	world_submit(&w, "");
	world_submit(&w, "cpus-per-task=4");
	world_plan(&w);
	ck_assert_uint_eq(state_job(w.state, 2)->place->task[0].node, 1);
	ck_assert_uint_eq(state_job(w.state, 3)->place->task[0].node, 0);
	ck_assert_int_eq(state_node(w.state, 0)->fails, 0);
	world_fini(&w);
}
END_TEST

START_TEST(what_it_used_adds_up)
{
	const struct outcome first = {
		.signal = 15, .cpu_ms = 30, .peak_mem_kib = 2000, .end = 1010
	};
	const struct outcome second = { .oom = true,
		                        .signal = 9,
		                        .cpu_ms = 12,
		                        .peak_mem_kib = 1000,
		                        .end = 1025,
		                        .text = "too much" };
	struct event_in ev = { .kind = EV_ended, .now = 1020 };
	const struct job *job;
	struct world w;

	world_with_node(&w, NULL);
	world_submit(&w, "");
	world_run(&w);
	world_event(&w, 1, EV_requeue);
	ev.outcome = &first;
	state_event(w.state, state_job(w.state, 1), &ev, NULL);
	w.now = 1020;
	world_run(&w);
	ev.outcome = &second;
	state_event(w.state, state_job(w.state, 1), &ev, NULL);
	job = state_job(w.state, 1);
	ck_assert_str_eq(world_jobs(&w), "1 OOM OutOfMemory");
	ck_assert_str_eq(world_why(&w, 1), "OutOfMemory: too much");
	ck_assert_int_eq(job->runs->cpu_ms, 42);
	ck_assert_int_eq(job->runs->peak_mem_kib, 2000);
	ck_assert_int_eq(job->runs->signal, 9);
	ck_assert_uint_eq(job->runs->restarts, 1);
	ck_assert_uint_eq(job->attempt, 2);
	ck_assert_int_eq(job->runs->start, 1020);
	ck_assert_int_eq(job->runs->end, 1025);
	ck_assert_int_eq(job_elapsed(job, 9999), 5);
	world_fini(&w);
}
END_TEST

START_TEST(a_grace_that_runs_can_be_shortened)
{
	struct event_in kill = { .kind = EV_signal,
		                 .signal = { .signo = SIGKILL } };
	struct world w;

	world_with_node(&w, NULL);
	PLAY(&w, "submit grace=20s", "run", "cancel", "tell",
	     "update 1 grace=5s", "effects => stop 1.1");
	ck_assert_int_eq(state_job(w.state, 1)->grace, 5);
	PLAY(&w, "update 1 grace=9s", "tell");
	ck_assert_int_eq(state_job(w.state, 1)->grace, 5);
	ck_assert_int_eq(
	    state_event(w.state, state_job(w.state, 1), &kill, NULL), 0);
	PLAY(&w, "effects => stop 1.1 grace=0");
	world_fini(&w);
}
END_TEST

SUITE(lifecycle)
{
	tcase_add_loop_test(tc, each_event_in_each_state, 0, ARRAY_SIZE(table));
	tcase_add_loop_test(tc, life, 0, ARRAY_SIZE(lives));
	tcase_add_test(tc, stale_reports_change_nothing);
	tcase_add_test(tc, a_run_is_no_wait);
	tcase_add_test(tc, a_job_that_its_user_holds_gets_no_older);
	tcase_add_test(tc, replaced_tasks_are_counted);
	tcase_add_test(tc, tasks_are_lost_with_their_node);
	tcase_add_test(tc, a_node_that_takes_no_tasks_is_left_alone);
	tcase_add_test(
	    tc,
	    tasks_lost_before_an_eviction_was_known_are_not_taken_for_others);
	tcase_add_test(tc, a_start_that_is_repeated_has_a_namespace);
	tcase_add_test(tc, what_holds_it_up_is_told);
	tcase_add_test(tc, what_is_wrong_with_a_pool_is_no_fault_of_a_node);
	tcase_add_test(tc, of_a_gang_those_are_to_blame_whose_pods_did_not_run);
	tcase_add_test(tc, a_node_that_refused_a_request_is_avoided_by_it);
	tcase_add_test(tc, what_it_used_adds_up);
	tcase_add_test(tc, a_grace_that_runs_can_be_shortened);
}
