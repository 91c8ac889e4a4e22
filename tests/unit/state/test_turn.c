/* test_turn.c - jobs start in the order of the positions that users see */
#include <stdlib.h>

#include "aischedd/state/cluster/usage.h"
#include "aischedd/state/life/update.h"
#include "aischedd/state/pass/apply.h"
#include "aischedd/state/pass/why.h"
#include "libcommon/mem.h"
#include "tests/unit/check.h"
#include "tests/unit/dice.h"
#include "tests/unit/state/world.h"

enum { WORLDS = 60, JOBS = 40 };

static const char *const confs[] = {
	WORLD_CONF,
	"pool here { runner = local }\n"
	"queue batch { default_time = 1h max_wait = 2h }\n",
	"pool here { runner = local }\n"
	"queue batch { }\n"
	"scheduling { order = shortest }\n",
	"pool here { runner = local }\n"
	"queue batch { }\n"
	"scheduling { backfill = no order = least_served }\n",
};

static const struct {
	const char *name;
	const char *step[24];
} cases[] = {
	{ "alike jobs have a place and a start each",
	  { "submit cpus-per-task=4 time=5", "submit cpus-per-task=4 time=5",
	    "run", "submit cpus-per-task=4 time=5", "run",
	    "submit cpus-per-task=4 time=5", "run", "turn 2 => 1 at 300",
	    "turn 3 => 2 at 600", "turn 4 => 3 at 900" } },
	{ "who is promised nothing has a place still",
	  { "submit cpus-per-task=4", "run", "submit cpus-per-task=4",
	    "submit cpus-per-task=4", "submit cpus-per-task=3 nice=1", "run",
	    "submit cpus-per-task=4", "run", "turn 2 => 1", "turn 3 => 2",
	    "turn 4 => 4", "turn 5 => 3" } },
	{ "a job that was held starts after those that have waited longer",
	  { "submit cpus-per-task=4",
	    "run",
	    "submit cpus-per-task=4 hold",
	    "+1000",
	    "submit cpus-per-task=4",
	    "+1000",
	    "submit cpus-per-task=3",
	    "+1000",
	    "release 2",
	    "run",
	    "turn 3 => 1",
	    "turn 4 => 2",
	    "turn 2 => 3",
	    "end 1 0",
	    "run",
	    "turn 4 => 1",
	    "turn 2 => 2",
	    "end 3 0",
	    "run",
	    "turn 2 => 1" } },
};

START_TEST(turn_case)
{
	struct world w;

	world_with_node(&w, NULL);
	world_play(&w, cases[_i].name, cases[_i].step);
	world_fini(&w);
}
END_TEST

/* Submit random jobs. Each needs the whole node, so that one runs at a time. */
static void submit_some(struct world *w, struct dice *d)
{
	for (int i = 0; i < JOBS; i++) {
		struct buf options = { 0 };
		uint64_t id;

		w->who.user = PICK(d, "ada", "bob");
		w->who.uid = (uint32_t)*w->who.user;
		dice_puts(
		    d, &options, "cpus-per-task=%s time=%s nice=%s%s",
		    ANY("3", "4"), ANY("10", "20"), ANY("0", "0", "0", "1"),
		    ANY("", "", "", " hold", " begin=now+600", " array=0-2"));
		buf_addc(&options, '\0');
		id = world_submit(w, options.data);
		buf_free(&options);
		ck_assert_uint_ne(id, 0);
		world_tick(w, roll(d, 900));
		id = 1 + roll(d, (uint32_t)id);
		if (state_job(w->state, id) &&
		    state_job(w->state, id)->state == JOB_PENDING)
			world_event(w, id, roll(d, 3) ? EV_release : EV_hold);
		world_run(w);
	}
}

static void settle(struct world *w)
{
	for (int i = 0; i < 20 && state_wants_plan(w->state); i++)
		world_run(w);
}

/* Returns the job that starts next according to what users see, that is, the
 * one with position 1; 0: none. Checks that no position is given twice. */
static uint64_t next_of(const struct world *w)
{
	bool seen[4 * JOBS] = { false };
	uint64_t ret = 0;

	for (const struct job *job = state_first_job(w->state); job;
	     job = job->all_next) {
		uint32_t position;
		int64_t expected;

		if (job->state != JOB_PENDING)
			continue;
		state_why(w->state, job, w->now, NULL, &expected, &position);
		ck_assert_uint_lt(position, ARRAY_SIZE(seen));
		ck_assert_msg(!position || !seen[position],
		              "two jobs have position %u", position);
		seen[position] = true;
		if (position == 1)
			ret = job->id;
	}
	return ret;
}

static const struct job *running(const struct world *w)
{
	const struct job *job = state_first_job(w->state);

	while (job && job->state != JOB_RUNNING)
		job = job->all_next;
	return job;
}

DICE_TEST(jobs_start_in_order, seed)
{
	struct dice d = dice_of(seed);
	const struct job *job;
	struct world w;

	world_with_node(&w, confs[seed % ARRAY_SIZE(confs)]);
	submit_some(&w, &d);
	settle(&w);
	while ((job = running(&w)) != NULL) {
		uint64_t next = next_of(&w);

		world_end(&w, job->id, 0);
		settle(&w);
		job = running(&w);
		ck_assert_msg(
		    !next || (job && (job->id == next || job->array == next)),
		    "job %llu was next, and %llu started",
		    (unsigned long long)next,
		    (unsigned long long)(job ? job->id : 0));
	}
	world_fini(&w);
}

/* Submit a random job, which may be older and of a lighter user than others,
 * or have a priority of its own. */
static uint64_t submit_for_top(struct world *w, struct dice *d)
{
	struct buf options = { 0 };
	uint64_t id;

	w->who.user = PICK(d, "ada", "bob", "eve");
	w->who.uid = (uint32_t)*w->who.user;
	w->who.operator_ = true;
	dice_puts(d, &options, "time=%s%s", ANY("10", "20"),
	          ANY("", "", "", " array=0-2"));
	buf_printf(&options, " priority=%u", roll(d, 3) ? 0 : roll(d, 200));
	dice_puts(d, &options, " queue=%s cpus-per-task=%s",
	          ANY("batch", "batch", "other"), ANY("1", "4"));
	buf_addc(&options, '\0');
	id = world_submit(w, options.data);
	buf_free(&options);
	ck_assert_uint_ne(id, 0);
	world_tick(w, roll(d, 4) ? 1 : roll(d, 9 * 86400));
	return id;
}

/* Whether the job is in front of the plan's order of its queue. */
static bool is_first(const struct world *w, const struct job *job)
{
	uint32_t position;
	int64_t expected;

	state_why(w->state, job, w->now, NULL, &expected, &position);
	return position == 1;
}

/* A job that goes to the top is the first of its queue: at once, and after any
 * time that all of them wait on. */
DICE_TEST(the_top_is_before_all, seed)
{
	struct dice d = dice_of(seed);
	struct buf conf = { 0 };
	const char *heavy;
	struct world w;
	uint64_t last = 0;

	dice_puts(&d, &conf,
	          "default_queue = \"batch\"\npool here { runner = local }\n"
	          "queue batch { }\nqueue other { }\n"
	          "scheduling { age_weight = %s size_weight = %s "
	          "fairshare_weight = %s hold_after = \"1000d\" }\n",
	          ANY("0", "1", "1000"), ANY("0", "50"),
	          ANY("0", "10", "1000"));
	world_with_node(&w, conf.data);
	buf_free(&conf);
	world_submit(&w, "cpus-per-task=4 class=interactive");
	world_run(&w);
	for (int i = 0; i < JOBS / 2; i++)
		last = submit_for_top(&w, &d);
	heavy = PICK(&d, "ada", "bob", "eve");
	state_load_usage(w.state, "batch", (uint32_t)*heavy, heavy,
	                 (int64_t)1 << 50, w.now);
	for (int i = 0; i < JOBS / 4; i++) {
		struct job *job =
		    state_job(w.state, 2 + roll(&d, (uint32_t)last - 1));
		int64_t priority;

		if (!job)
			continue;
		ck_assert_int_eq(state_top(w.state, job, &w.err), 0);
		priority = job->priority;
		world_tick(&w, roll(&d, 9) ? 1 : 7 * 86400);
		state_forget_plan(w.state);
		world_run(&w);
		ck_assert_msg(is_first(&w, job), "job %llu is not first",
		              (unsigned long long)job->id);
		ck_assert_int_eq(state_top(w.state, job, &w.err), 0);
		ck_assert_msg(job->priority == priority,
		              "job %llu goes to the top twice",
		              (unsigned long long)job->id);
	}
	world_fini(&w);
}

SUITE(turn)
{
	tcase_add_loop_test(tc, turn_case, 0, (int)ARRAY_SIZE(cases));
	dice_add(tc, jobs_start_in_order, WORLDS);
	dice_add(tc, the_top_is_before_all, WORLDS);
}
