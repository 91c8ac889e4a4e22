/* test_sweep.c - the rows of many jobs are looked up again in slices */
#include "aischedd/state/cluster/pool.h"
#include "aischedd/state/cluster/queue.h"
#include "aischedd/state/cluster/reconf.h"
#include "aischedd/state/cluster/volume.h"
#include "aischedd/state/life/alarm.h"
#include "aischedd/state/life/update.h"
#include "aischedd/state/pass/apply.h"
#include "aischedd/state/pass/row.h"
#include "aischedd/state/pass/snapshot.h"
#include "aischedd/state/pass/sweep.h"
#include "aischedd/state/pass/why.h"
#include "aischedd/state/state_priv.h"
#include "libcommon/mem.h"
#include "libcommon/steps.h"
#include "tests/unit/check.h"
#include "tests/unit/state/world.h"

#define QUEUES                                                      \
	"default_queue = \"batch\"\npool here { runner = local }\n" \
	"pool there { runner = kubernetes }\n"

/* So many that a sweep takes at least three turns. */
enum { MANY = STEPS_SLICE / 8 };

/* Submit unlike jobs, without the checks after each that world_submit()
 * makes. */
static void submit_many(struct world *w, const char *options)
{
	struct spec spec = world_spec(w, options);
	int queue = conf_queue_find(w->conf, spec.queue);

	ck_assert_int_ge(queue, 0);
	for (int i = 0; i < MANY; i++) {
		spec.time_limit = 60 + i;
		state_submit(w->state, &spec, &w->who, (uint32_t)queue, 1, 2,
		             state_take_ids(w->state, 1), w->now);
	}
	world_check(w);
}

static void with_many(struct world *w, const char *conf)
{
	world_with_node(w, conf);
	submit_many(w, "queue=batch cpus-per-task=4");
}

static void set_open(struct world *w, bool open)
{
	state_queue_set_open(w->state,
	                     (uint32_t)conf_queue_find(w->conf, "batch"), open,
	                     w->now);
	world_check(w);
}

static int reload(struct world *w, const char *conf)
{
	conf_free(w->old_conf);
	w->old_conf = w->conf;
	w->conf = world_conf(conf);
	return state_reconf(w->state, w->conf, w->now, &w->err);
}

static size_t rows(const struct world *w)
{
	return w->state->rows.all.n;
}

static enum reason why_last(const struct world *w)
{
	uint32_t position;
	int64_t expected;

	return state_why(w->state, w->state->records.last, w->now, NULL,
	                 &expected, &position);
}

/* Tick until the sweep is over. Returns how many ticks that took. */
static int finish(struct world *w)
{
	int n = 0;

	while (state_is_sweeping(w->state)) {
		uint64_t before = steps_so_far;

		ck_assert(!state_wants_plan(w->state));
		ck_assert_int_eq(state_next_tick(w->state), 0);
		state_tick(w->state, w->now);
		ck_assert_uint_le(steps_so_far - before, STEPS_SLICE);
		n++;
	}
	world_check(w);
	return n;
}

START_TEST(a_queue_is_closed_and_opened_in_slices)
{
	uint64_t before;
	struct world w;

	with_many(&w, NULL);
	before = steps_so_far;
	set_open(&w, false);
	ck_assert_uint_le(steps_so_far - before, STEPS_SLICE);
	ck_assert_uint_gt(rows(&w), MANY / 2);
	ck_assert_int_eq(why_last(&w), WHY_QueueClosed);
	ck_assert_int_ge(finish(&w), 2);
	ck_assert_uint_eq(rows(&w), 0);
	set_open(&w, true);
	ck_assert_uint_lt(rows(&w), MANY / 2);
	ck_assert_int_eq(why_last(&w), WHY_Unevaluated);
	ck_assert_int_ge(finish(&w), 2);
	ck_assert_uint_eq(rows(&w), MANY);
	world_fini(&w);
}
END_TEST

START_TEST(a_queue_is_opened_again_before_all_know_that_it_is_closed)
{
	struct world w;

	with_many(&w, NULL);
	set_open(&w, false);
	set_open(&w, true);
	finish(&w);
	world_plan(&w); /* the next sweep waits for a pass */
	ck_assert_int_eq(state_next_tick(w.state), 0);
	state_tick(w.state, w.now);
	finish(&w);
	ck_assert_uint_eq(rows(&w) + 1, MANY);
	world_fini(&w);
}
END_TEST

START_TEST(a_queue_without_waiting_jobs_needs_no_sweep)
{
	static const char *const steps[] = { "close other", "open other",
		                             NULL };
	uint64_t before;
	struct world w;

	with_many(&w, QUEUES "queue batch { }\nqueue other { }\n");
	before = steps_so_far;
	world_play(&w, "", steps);
	ck_assert_uint_eq(steps_so_far - before, 0);
	ck_assert(!state_is_sweeping(w.state));
	world_fini(&w);
}
END_TEST

/* A plan that was made before may start jobs of the queue that was closed. */
START_TEST(a_plan_from_before_is_not_applied)
{
	struct arena *arena = arena_new();
	const struct snap *snap;
	struct world w;

	with_many(&w, NULL);
	snap = state_snapshot(w.state, w.now, arena);
	set_open(&w, false);
	state_apply_plan(w.state, snap, sched_plan(snap, arena), &arena, w.now);
	ck_assert_ptr_null(w.state->records.placed);
	finish(&w);
	ck_assert(state_wants_plan(w.state));
	world_run(&w);
	ck_assert_ptr_null(w.state->records.placed);
	world_fini(&w);
}
END_TEST

/* While a snapshot is read, all its rows are dropped, but none may be freed. */
START_TEST(rows_that_a_snapshot_read_are_freed_in_slices)
{
	struct arena *arena = arena_new();
	struct build *taken;
	uint64_t before;
	struct world w;
	int n = 0;

	with_many(&w, NULL);
	taken = state_take_snapshot(w.state, w.now, arena);
	set_open(&w, false);
	finish(&w);
	snapshot_finish(taken);
	before = steps_so_far;
	state_end_snapshot(w.state, taken);
	ck_assert_uint_lt(steps_so_far - before, MANY);
	for (; rows_are_left(&w.state->rows); n++) {
		before = steps_so_far;
		ck_assert_int_eq(state_next_tick(w.state), 0);
		state_tick(w.state, w.now);
		ck_assert_uint_lt(steps_so_far - before, MANY);
	}
	ck_assert_int_ge(n, 1);
	ck_assert_int_ne(state_next_tick(w.state), 0);
	arena_free(arena);
	world_fini(&w);
}
END_TEST

/* Cancel the job at which the sweep is, and all that follow. */
START_TEST(jobs_that_end_meanwhile_are_skipped)
{
	struct world w;

	with_many(&w, NULL);
	set_open(&w, false);
	while (w.state->sweep.at) {
		struct event_in ev = { .kind = EV_cancel, .now = w.now };

		ck_assert_int_eq(
		    state_event(w.state, w.state->sweep.at, &ev, NULL), 0);
		state_committed(w.state);
	}
	ck_assert_int_le(finish(&w), 1);
	ck_assert_uint_eq(rows(&w), 0);
	world_fini(&w);
}
END_TEST

START_TEST(a_configuration_is_replaced_in_slices)
{
	uint64_t before;
	struct world w;

	with_many(&w, QUEUES "queue batch { pools = {\"here\"} }\n");
	before = steps_so_far;
	ck_assert_int_eq(
	    reload(&w, QUEUES "queue batch { pools = {\"there\"} }\n"), 0);
	ck_assert_uint_le(steps_so_far - before, STEPS_SLICE);
	world_check(&w);
	ck_assert_int_ge(finish(&w), 2);
	for (const struct job *job = state_first_job(w.state); job;
	     job = job->all_next)
		ck_assert_uint_eq(
		    ((const struct row_key *)(const void *)job->row->key)
			->pools,
		    2);
	world_fini(&w);
}
END_TEST

START_TEST(an_unchanged_configuration_needs_no_sweep)
{
	uint64_t before;
	struct world w;

	with_many(&w, QUEUES "queue batch { }\n");
	before = steps_so_far;
	ck_assert_int_eq(reload(&w, "# changed\n" QUEUES "queue batch { }\n"),
	                 0);
	ck_assert_uint_le(steps_so_far - before, 100);
	ck_assert(!state_is_sweeping(w.state));
	ck_assert(state_wants_plan(w.state));
	world_check(&w);
	world_fini(&w);
}
END_TEST

/* Jobs that run are adapted in slices, too. */
START_TEST(running_jobs_learn_of_a_configuration_in_slices)
{
	uint64_t before;
	struct world w;

	world_init(&w, QUEUES "queue batch { }\n");
	world_node(&w, "n0", 1, 100, 0);
	submit_many(&w, "queue=batch hold");
	/* the last job that a sweep looks at */
	world_submit(&w, "queue=batch");
	world_run(&w);
	ck_assert_ptr_nonnull(w.state->records.last->place);
	before = steps_so_far;
	ck_assert_int_eq(
	    reload(&w, QUEUES "queue batch { preempt = cancel }\n"), 0);
	ck_assert_uint_le(steps_so_far - before, STEPS_SLICE);
	ck_assert_int_ne(w.state->records.last->on_preempt, PREEMPT_CANCEL);
	ck_assert_int_ge(finish(&w), 2);
	ck_assert_int_eq(w.state->records.last->on_preempt, PREEMPT_CANCEL);
	world_fini(&w);
}
END_TEST

/* Make a pass during which there are turns. */
static void pass_with_events(struct world *w)
{
	struct arena *arena = arena_new();
	const struct snap *snap = state_snapshot(w->state, w->now, arena);
	const struct plan *plan = sched_plan(snap, arena);

	for (int i = 0; i < 2; i++) {
		state_queue_set_open(
		    w->state, (uint32_t)conf_queue_find(w->conf, "other"), i,
		    w->now);
		state_tick(w->state, w->now);
		ck_assert(!state_is_sweeping(w->state));
	}
	state_apply_plan(w->state, snap, plan, &arena, w->now);
}

/* A queue is closed or opened in each turn. */
START_TEST(events_that_keep_coming_do_not_put_passes_off)
{
	struct world w;
	int turns = 0, passes = 0;

	world_with_node(&w, QUEUES "queue batch { }\nqueue other { }\n");
	submit_many(&w, "queue=batch cpus-per-task=4");
	submit_many(&w, "queue=other cpus-per-task=4");
	for (; passes < 3 && turns < 1000; turns++) {
		state_queue_set_open(w.state,
		                     (uint32_t)conf_queue_find(w.conf, "other"),
		                     turns % 2, w.now);
		state_tick(w.state, w.now);
		if (!state_wants_plan(w.state))
			continue;
		pass_with_events(&w);
		passes++;
	}
	ck_assert_int_eq(passes, 3);
	ck_assert_ptr_eq(w.state->records.placed, w.state->records.first);
	world_fini(&w);
}
END_TEST

/* A pass between two sweeps finds jobs in rows whose queue is closed. */
START_TEST(a_pass_between_sweeps_starts_no_job_of_a_closed_queue)
{
	struct world w;

	world_with_node(&w, QUEUES "queue batch { }\nqueue other { }\n");
	submit_many(&w, "queue=batch cpus-per-task=4");
	submit_many(&w, "queue=other cpus-per-task=4 hold");
	state_queue_set_open(
	    w.state, (uint32_t)conf_queue_find(w.conf, "other"), false, w.now);
	ck_assert(state_is_sweeping(w.state));
	/* the sweep is behind the first jobs */
	set_open(&w, false);
	finish(&w);
	ck_assert(state_wants_plan(w.state));
	ck_assert_uint_gt(rows(&w), 0);
	world_plan(&w);
	ck_assert_ptr_null(w.state->records.placed);
	state_tick(w.state, w.now);
	ck_assert(state_is_sweeping(w.state));
	finish(&w);
	ck_assert_uint_eq(rows(&w), 0);
	world_fini(&w);
}
END_TEST

/* The number of the queue becomes 0 while rows with the number 2 are left. */
START_TEST(queues_are_renumbered_before_the_sweep)
{
	struct world w;

	with_many(&w, QUEUES "queue a { }\nqueue b { }\nqueue batch { }\n");
	ck_assert_int_eq(state_top(w.state, w.state->records.last, &w.err), 0);
	ck_assert_int_eq(reload(&w, QUEUES "queue batch { }\n"), 0);
	world_check(&w);
	ck_assert(state_is_sweeping(w.state));
	ck_assert_uint_eq(state_queue_count(w.state, 0, false), MANY);
	ck_assert_int_eq(state_top(w.state, w.state->records.first, &w.err), 0);
	ck_assert_int_gt(w.state->records.first->priority,
	                 w.state->records.last->priority);
	finish(&w);
	world_run(&w);
	ck_assert_ptr_eq(w.state->records.placed, w.state->records.first);
	world_fini(&w);
}
END_TEST

/* Events that concern jobs with one option only, and jobs with that option,
 * which wait for what the events report. */
static void see_claims(struct world *w)
{
	const struct volume_info all = { .namespace = "aisched" };

	state_volume_seen(w->state, 0, &all, w->now);
}

static void reserve(struct world *w)
{
	static const char *const steps[] = { "reserve r 100 200 n0 -", NULL };

	world_play(w, "", steps);
}

static void see_gpus(struct world *w)
{
	state_pool_ready(w->state, 0, false);
	state_pool_ready(w->state, 0, true);
}

static const struct {
	const char *name, *options;
	void (*happen)(struct world *w);
} kinds[] = {
	{ "claims", "queue=batch mount=pvc:data:/data", see_claims },
	{ "reservations", "queue=batch reservation=old", reserve },
	{ "gpus", "queue=batch gpus-per-task=1 numa=strict", see_gpus },
};

/* Make a reservation that jobs can name. */
static void reserve_old(struct world *w)
{
	static const char *const steps[] = { "reserve old 0 50 n0 ada", NULL };

	world_play(w, "", steps);
}

START_TEST(an_event_concerns_few_jobs)
{
	uint64_t before;
	struct world w;

	with_many(&w, "pool here { runner = kubernetes }\nqueue batch { }\n");
	before = steps_so_far;
	kinds[_i].happen(&w);
	ck_assert_msg(steps_so_far - before < MANY, "%s", kinds[_i].name);
	ck_assert_msg(!state_is_sweeping(w.state), "%s", kinds[_i].name);
	world_fini(&w);
}
END_TEST

START_TEST(an_event_that_concerns_many_jobs_is_taken_in_slices)
{
	uint64_t before;
	struct world w;

	world_with_node(&w,
	                "pool here { runner = kubernetes }\nqueue batch { }\n");
	reserve_old(&w);
	submit_many(&w, kinds[_i].options);
	before = steps_so_far;
	kinds[_i].happen(&w);
	ck_assert_msg(steps_so_far - before <= STEPS_SLICE, "%s",
	              kinds[_i].name);
	ck_assert_msg(state_is_sweeping(w.state), "%s", kinds[_i].name);
	ck_assert_msg(finish(&w) >= 2, "%s", kinds[_i].name);
	world_fini(&w);
}
END_TEST

/* A job whose start failed is tried again after the clock was set, although
 * many others wait. */
START_TEST(the_clock_is_set_in_slices)
{
	uint64_t before, id;
	struct world w;

	world_with_node(&w, NULL);
	for (int i = 0; i < 3; i++)
		submit_many(&w, "queue=batch hold");
	id = world_submit(&w, "");
	world_plan(&w);
	world_event(&w, id, EV_start_failed);
	before = steps_so_far;
	state_clock_set(w.state, -500000, (w.now - 500) * 1000);
	ck_assert_uint_le(steps_so_far - before, STEPS_SLICE);
	ck_assert(state_is_sweeping(w.state));
	ck_assert_int_eq(why_last(&w), WHY_StartFailed);
	ck_assert_int_ge(finish(&w), 1);
	ck_assert_ptr_nonnull(w.state->records.last->row);
	world_fini(&w);
}
END_TEST

SUITE(sweep)
{
	tcase_add_test(tc, a_queue_is_closed_and_opened_in_slices);
	tcase_add_test(
	    tc, a_queue_is_opened_again_before_all_know_that_it_is_closed);
	tcase_add_test(tc, a_queue_without_waiting_jobs_needs_no_sweep);
	tcase_add_test(tc, a_plan_from_before_is_not_applied);
	tcase_add_test(tc, rows_that_a_snapshot_read_are_freed_in_slices);
	tcase_add_test(tc, jobs_that_end_meanwhile_are_skipped);
	tcase_add_test(tc, a_configuration_is_replaced_in_slices);
	tcase_add_test(tc, an_unchanged_configuration_needs_no_sweep);
	tcase_add_test(tc, running_jobs_learn_of_a_configuration_in_slices);
	tcase_add_test(tc, events_that_keep_coming_do_not_put_passes_off);
	tcase_add_test(tc,
	               a_pass_between_sweeps_starts_no_job_of_a_closed_queue);
	tcase_add_test(tc, queues_are_renumbered_before_the_sweep);
	tcase_add_loop_test(tc, an_event_concerns_few_jobs, 0,
	                    ARRAY_SIZE(kinds));
	tcase_add_loop_test(tc,
	                    an_event_that_concerns_many_jobs_is_taken_in_slices,
	                    0, ARRAY_SIZE(kinds));
	tcase_add_test(tc, the_clock_is_set_in_slices);
}
