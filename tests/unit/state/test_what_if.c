/* test_what_if.c - --test-only predicts what aiq says after a submission, and a
 * snapshot does not contain what happens while it is made */
#include <stdlib.h>
#include <string.h>

#include "aischedd/sched/text/text.h"
#include "aischedd/state/cluster/node.h"
#include "aischedd/state/life/submit_check.h"
#include "aischedd/state/pass/snapshot.h"
#include "aischedd/state/pass/what_if.h"
#include "aischedd/state/pass/why.h"
#include "libcommon/mem.h"
#include "tests/unit/check.h"
#include "tests/unit/dice.h"
#include "tests/unit/state/world.h"

enum { WORLDS = 120, SUBMITS = 40 };

static const char *const confs[] = {
	"licenses { matlab = 2 }\n" WORLD_CONF,
	"licenses { matlab = 1 }\n"
	"pool here { runner = local }\n"
	"queue batch { default_time = 1h max_gpus_per_user = 1 }\n"
	"scheduling { backfill_depth = 3 }\n",
	"licenses { matlab = 1 }\n"
	"pool here { runner = local }\n"
	"queue batch { }\n"
	"scheduling { backfill = no order = shortest }\n",
	"licenses { matlab = 2 }\n"
	"pool here { runner = local }\n"
	"class soft { preemptible = yes }\n"
	"queue batch { quota { cpus = 4 } class = soft }\n"
	"queue other { quota { cpus = 4 } max_jobs = 3 class = soft }\n",
};

/* The answer to a user about a job, predicted or real. */
struct told {
	bool starts;
	enum reason why;
	int64_t expected;
	uint32_t position;
	struct buf nodes, text;
};

static struct told foretold(struct world *w, const struct spec *spec,
                            uint32_t queue)
{
	struct state_test *test =
	    state_test_take(w->state, spec, &w->who, queue, w->now);
	struct told t = { 0 };
	const struct what_if *what;
	const char *text;

	state_test_plan(test);
	what = state_test_tell(w->state, test, &text);
	t.starts = what->starts;
	t.why = what->why;
	t.expected = what->expected;
	t.position = what->position;
	buf_puts(&t.nodes, what->nodes.data ? what->nodes.data : "");
	buf_puts(&t.text, text);
	state_test_free(w->state, test);
	return t;
}

static struct told told_of(struct world *w, uint64_t id)
{
	const struct job *job = state_job(w->state, id);
	struct told t = { 0 };

	t.starts = job->state != JOB_PENDING;
	t.why =
	    state_why(w->state, job, w->now, &t.text, &t.expected, &t.position);
	if (t.starts)
		t.expected = w->now;
	for (uint32_t i = 0; t.starts && i < job->place->ntasks; i++) {
		uint32_t node = job->place->task[i].node;

		buf_printf(&t.nodes, "%s%s", i ? "," : "",
		           state_node(w->state, node)->name);
	}
	return t;
}

static void told_free(struct told *t)
{
	buf_free(&t->nodes);
	buf_free(&t->text);
}

static const char *text_of(const struct buf *text)
{
	return text->len ? text->data : "";
}

static void told_text(const struct world *w, const struct told *t,
                      struct buf *out)
{
	if (t->starts)
		buf_printf(out, "starts");
	else
		buf_printf(out, "%s position=%u: %s", reason_name(t->why),
		           t->position, text_of(&t->text));
	if (t->expected != NO_TIME)
		buf_printf(out, " at %lld", (long long)(t->expected - w->now));
}

static void random_options(struct dice *d, bool two_queues, struct buf *out)
{
	buf_clear(out);
	buf_printf(out, "cpus-per-task=%u", 1 + roll(d, 4));
	if (roll(d, 3))
		buf_printf(out, " time=%u", 1 + roll(d, 3) * 10);
	if (!roll(d, 4))
		buf_printf(out, " tasks=%u", 1 + roll(d, 3));
	if (!roll(d, 5))
		buf_printf(out, " gpus=%u", 1 + roll(d, 2));
	if (!roll(d, 8))
		buf_printf(out, " nice=%u", roll(d, 3));
	if (!roll(d, 10))
		buf_puts(out, " array=0-2%2");
	if (!roll(d, 12))
		buf_puts(out, " exclusive");
	if (!roll(d, 15))
		buf_puts(out,
		         PICK(d, " hold", " begin=now+60",
		              " dependency=singleton", " deadline=now+2h"));
	if (!roll(d, 12))
		buf_puts(out, " licenses=matlab");
	if (!roll(d, 12))
		buf_puts(out, " min-tasks=1 tasks=3");
	if (two_queues)
		buf_printf(out, " queue=%s", PICK(d, "batch", "other"));
	buf_addc(out, '\0');
}

static void random_event(struct world *w, struct dice *d)
{
	uint64_t last = state_next_id(w->state);
	uint64_t id = last > 1 ? 1 + roll(d, (uint32_t)last - 1) : 0;
	const struct job *job = id ? state_job(w->state, id) : NULL;

	if (!roll(d, 3))
		world_tick(w, 1 + roll(d, 400));
	if (!job || roll(d, 2))
		return;
	if (job->state == JOB_RUNNING)
		world_end(w, id, 0);
	else if (job->state == JOB_PENDING && !roll(d, 4))
		world_event(w, id, roll(d, 2) ? EV_hold : EV_release);
	else if (job->state == JOB_PENDING && !roll(d, 4))
		world_event(w, id, EV_cancel);
}

/* Run passes until nothing more happens in this second. */
static void settle(struct world *w)
{
	for (int i = 0; i < 20 && state_wants_plan(w->state); i++)
		world_run(w);
}

static void submit_both(struct world *w, const char *options)
{
	struct buf want = { 0 }, got = { 0 };
	struct told before, after;
	struct spec spec = world_spec(w, options);
	uint64_t ahead = 0, id;
	uint32_t queue;

	if (state_check_submit(w->state, &spec, &w->who, w->now, &ahead, &queue,
	                       &w->err) < 0)
		return;
	before = foretold(w, &spec, queue);
	id = world_submit(w, options);
	ck_assert_uint_ne(id, 0);
	world_run(w);
	if (spec.array)
		id = state_task(w->state, id, 0)->id;
	after = told_of(w, id);
	told_text(w, &before, &got);
	told_text(w, &after, &want);
	ck_assert_msg(!strcmp(got.data, want.data),
	              "%s at %lld, job %llu: --test-only said '%s', then it "
	              "was '%s'; %s",
	              options, (long long)w->now, (unsigned long long)id,
	              got.data, want.data, world_jobs(w));
	told_free(&before);
	told_free(&after);
	buf_free(&want);
	buf_free(&got);
}

DICE_TEST(a_test_is_a_submission_that_is_undone, seed)
{
	struct dice d = dice_of(seed);
	const char *conf = confs[seed % ARRAY_SIZE(confs)];
	struct buf options = { 0 };
	struct world w;

	world_with_node(&w, conf);
	world_node(&w, "n1", 4, 4000, 0);
	for (int i = 0; i < SUBMITS; i++) {
		w.who.user = PICK(&d, "ada", "bob", "eve");
		w.who.uid = (uint32_t)*w.who.user;
		random_event(&w, &d);
		settle(&w);
		random_options(&d, strstr(conf, "other"), &options);
		submit_both(&w, options.data);
		settle(&w);
	}
	buf_free(&options);
	world_fini(&w);
}

/* Returns the snapshot as text, without the budget, which only a pass has. */
static char *snap_text(const struct snap *snap)
{
	struct snap copy = *snap;
	struct buf text = { 0 };

	copy.policy.budget = CONF_NONE;
	snap_write(&copy, &text);
	return buf_take(&text);
}

static void submit_some(struct world *w, struct dice *d, bool two_queues)
{
	struct buf options = { 0 };

	for (uint32_t n = roll(d, 6); n > 0; n--) {
		random_options(d, two_queues, &options);
		options.len--;
		if (!roll(d, 6))
			buf_puts(&options, PICK(d, " nodelist=n1",
			                        " exclude=n0", " exclude=n1"));
		world_submit(w, options.data);
	}
	buf_free(&options);
}

/* Take a snapshot, and finish it after much has changed: it must be as if it
 * had been finished at once. */
static void finish_later(struct world *w, struct dice *d, bool two_queues)
{
	struct arena *arena = arena_new(), *twin = arena_new(),
		     *dump = arena_new();
	char *at_once = snap_text(state_peek(w->state, w->now, twin)), *later;
	struct build *taken = state_take_snapshot(w->state, w->now, arena);
	struct build *peeked = state_take_peek(w->state, w->now, dump);

	for (uint32_t n = roll(d, 30); n > 0; n--)
		random_event(w, d);
	submit_some(w, d, two_queues);
	world_commit(w);
	later = snap_text(snapshot_finish(taken));
	state_end_snapshot(w->state, taken);
	ck_assert_str_eq(later, at_once);
	free(later);
	later = snap_text(snapshot_finish(peeked));
	state_end_snapshot(w->state, peeked);
	ck_assert_str_eq(later, at_once);
	free(later);
	free(at_once);
	arena_free(arena);
	arena_free(twin);
	arena_free(dump);
}

DICE_TEST(a_snapshot_is_of_when_it_was_taken, seed)
{
	struct dice d = dice_of(seed);
	const char *conf = confs[seed % ARRAY_SIZE(confs)];
	bool two_queues = strstr(conf, "other");
	struct arena *arena = arena_new();
	struct world w;

	world_with_node(&w, conf);
	world_node(&w, "n1", 4, 4000, 0);
	for (int i = 0; i < SUBMITS / 4; i++) {
		w.who.user = PICK(&d, "ada", "bob", "eve");
		w.who.uid = (uint32_t)*w.who.user;
		random_event(&w, &d);
		submit_some(&w, &d, two_queues);
		finish_later(&w, &d, two_queues);
		if (roll(&d, 2))
			world_run(&w);
	}
	/* A snapshot that is never finished, as when the daemon ends. */
	state_end_snapshot(w.state, state_take_snapshot(w.state, w.now, arena));
	arena_free(arena);
	world_fini(&w);
}

static bool in_team(const char *group, const void *arg)
{
	(void)arg;
	return !strcmp(group, "team");
}

/* A member of a group for which nodes are reserved is told when the reservation
 * begins. */
START_TEST(a_reservation_for_a_group)
{
	static const char *const steps[] = { "reserve mine 0 3600 n0 @team",
		                             NULL };
	struct world w;

	world_with_node(&w, NULL);
	world_play(&w, "group", steps);
	w.who.in_group = in_team;
	submit_both(&w, "cpus-per-task=1 time=10 reservation=mine");
	ck_assert_str_eq(world_jobs(&w), "1 R");
	world_fini(&w);
}
END_TEST

SUITE(what_if)
{
	dice_add(tc, a_test_is_a_submission_that_is_undone, WORLDS);
	dice_add(tc, a_snapshot_is_of_when_it_was_taken, WORLDS);
	tcase_add_test(tc, a_reservation_for_a_group);
}
