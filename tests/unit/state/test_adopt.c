/* test_adopt.c - jobs made with kubectl that the state adopts, and their
 * nodes */
#include <string.h>

#include "aischedd/state/cluster/node.h"
#include "aischedd/state/life/adopt.h"
#include "aischedd/state/life/lifecycle.h"
#include "aischedd/state/life/submit.h"
#include "aischedd/state/life/update.h"
#include "aischedd/state/load.h"
#include "tests/unit/check.h"
#include "tests/unit/state/world.h"

static struct world w;

static void setup(void)
{
	world_with_node(&w, NULL);
}

static void teardown(void)
{
	world_fini(&w);
}

static void adopt(void)
{
	struct spec spec = world_spec(&w, "");

	spec.kube_uid = "u-1";
	spec.pool = "here";
	state_submit(w.state, &spec, &w.who, 0, 1, 1,
	             state_take_ids(w.state, 1), w.now);
}

/* Returns the next effect of this kind, NULL if there is none. */
static const struct effect *effect(enum effect_kind kind)
{
	const struct effect *list;
	size_t n = state_take_effects(w.state, &list);

	for (size_t i = 0; i < n; i++)
		if (list[i].kind == kind)
			return &list[i];
	return NULL;
}

START_TEST(its_runner_is_told_of_it)
{
	const struct effect *e;

	world_submit(&w, "");
	ck_assert_ptr_null(effect(EFFECT_ADOPT));
	adopt();
	e = effect(EFFECT_ADOPT);
	ck_assert_ptr_nonnull(e);
	ck_assert_uint_eq(e->job, 2);
	ck_assert_int_eq(e->state, JOB_PENDING);
}
END_TEST

START_TEST(and_of_its_end)
{
	const struct effect *e;

	adopt();
	effect(EFFECT_ADOPT);
	world_event(&w, 1, EV_cancel);
	e = effect(EFFECT_ADOPT);
	ck_assert_ptr_nonnull(e);
	ck_assert_uint_eq(e->job, 1);
	ck_assert_int_eq(e->state, JOB_CANCELLED);
}
END_TEST

START_TEST(and_again_after_a_restart)
{
	adopt();
	effect(EFFECT_ADOPT);
	state_loaded(w.state, w.now);
	ck_assert_ptr_nonnull(effect(EFFECT_ADOPT));
}
END_TEST

START_TEST(one_that_ran_for_too_long_has_timed_out)
{
	struct outcome late = { .exit_code = 1, .late = true, .end = 2000 };
	struct event_in ev = { .kind = EV_ended,
		               .now = 2000,
		               .outcome = &late };

	adopt();
	world_run(&w);
	ck_assert_int_eq(state_event(w.state, state_job(w.state, 1), &ev, NULL),
	                 0);
	ck_assert_int_eq(state_job(w.state, 1)->state, JOB_TIMEOUT);
}
END_TEST

START_TEST(users_of_clusters_are_no_users_of_this_machine)
{
	uint32_t ann = state_foreign_uid(w.state, "k8s:ann");
	uint32_t bob = state_foreign_uid(w.state, "k8s:bob");

	ck_assert_uint_ne(ann, bob);
	ck_assert_uint_ge(ann, 0xc0000000u);
	ck_assert_uint_lt(ann, 0xffff0000u);
	ck_assert_uint_eq(state_foreign_uid(w.state, "k8s:ann"), ann);
}
END_TEST

START_TEST(two_users_are_never_one)
{
	uint32_t ann = state_foreign_uid(w.state, "k8s:ann");

	state_intern_user(w.state, ann, "k8s:twin");
	ck_assert_uint_ne(state_foreign_uid(w.state, "k8s:ann"), ann);
	ck_assert_uint_eq(state_foreign_uid(w.state, "k8s:twin"),
	                  state_foreign_uid(w.state, "k8s:twin"));
}
END_TEST

START_TEST(a_node_that_is_drained_is_told)
{
	const struct effect *e;

	ck_assert_int_eq(state_drain(w.state, 0, true, "fan", NULL), 0);
	e = effect(EFFECT_DRAIN);
	ck_assert_ptr_nonnull(e);
	ck_assert_uint_eq(e->node, 0);
	state_loaded(w.state, w.now);
	ck_assert_ptr_nonnull(effect(EFFECT_DRAIN));
	ck_assert_int_eq(state_drain(w.state, 0, false, NULL, NULL), 0);
	ck_assert_ptr_nonnull(effect(EFFECT_DRAIN));
	state_loaded(w.state, w.now);
	ck_assert_ptr_null(effect(EFFECT_DRAIN));
}
END_TEST

/* The owner of a Job changes it while it waits; an invalid change is
 * refused. */
START_TEST(its_request_can_be_replaced)
{
	struct job *job;
	struct spec spec;
	struct err err;

	adopt();
	job = state_job(w.state, 1);
	effect(EFFECT_ADOPT);
	spec_unpack(&spec, job->packed);
	spec.time_limit = 120;
	spec.hold = 1;
	spec.kube_marks = "time_limit=1";
	ck_assert_int_eq(state_reread(w.state, job, &w.who, &spec, w.now, &err),
	                 0);
	ck_assert_ptr_nonnull(effect(EFFECT_ADOPT));
	ck_assert_int_eq(job->time_limit, 120);
	ck_assert_int_eq(job->hold, HOLD_USER);

	spec_unpack(&spec, job->packed);
	ck_assert_str_eq(spec.kube_marks, "time_limit=1");
	spec.hold = SPEC_UNSET;
	spec.queue = "none";
	ck_assert_int_eq(state_reread(w.state, job, &w.who, &spec, w.now, &err),
	                 -1);
	ck_assert_ptr_null(effect(EFFECT_ADOPT));
	ck_assert_int_eq(job->hold, HOLD_USER);

	spec.queue = NULL;
	ck_assert_int_eq(state_reread(w.state, job, &w.who, &spec, w.now, &err),
	                 0);
	ck_assert_int_eq(job->hold, HOLD_NONE);
}
END_TEST

START_TEST(what_an_operator_holds_stays_held)
{
	const struct event_in hold = { .kind = EV_hold,
		                       .now = w.now,
		                       .by_operator = true };
	struct job *job;
	struct spec spec;
	struct err err;

	adopt();
	job = state_job(w.state, 1);
	ck_assert_int_eq(state_event(w.state, job, &hold, &err), 0);
	for (int i = 0; i < 2; i++) {
		spec_unpack(&spec, job->packed);
		spec.hold = i ? SPEC_UNSET : 1;
		ck_assert_int_eq(
		    state_reread(w.state, job, &w.who, &spec, w.now, &err), 0);
		ck_assert_int_eq(job->hold, HOLD_ADMIN);
	}
}
END_TEST

START_TEST(a_pod_ends_when_it_is_evicted)
{
	struct spec spec = world_spec(&w, "");

	spec.kube_uid = "u-2";
	spec.kube_pod = 1;
	spec.pool = "here";
	state_submit(w.state, &spec, &w.who, 0, 1, 1,
	             state_take_ids(w.state, 1), w.now);
	ck_assert_int_eq(state_job(w.state, 1)->on_preempt, PREEMPT_CANCEL);
}
END_TEST

SUITE(adopt)
{
	tcase_add_test(tc, a_pod_ends_when_it_is_evicted);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, its_runner_is_told_of_it);
	tcase_add_test(tc, and_of_its_end);
	tcase_add_test(tc, and_again_after_a_restart);
	tcase_add_test(tc, its_request_can_be_replaced);
	tcase_add_test(tc, what_an_operator_holds_stays_held);
	tcase_add_test(tc, one_that_ran_for_too_long_has_timed_out);
	tcase_add_test(tc, users_of_clusters_are_no_users_of_this_machine);
	tcase_add_test(tc, two_users_are_never_one);
	tcase_add_test(tc, a_node_that_is_drained_is_told);
}
