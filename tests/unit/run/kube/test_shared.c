/* test_shared.c - Secrets that the tasks of an array share */
#include "aischedd/run/kube/shared.h"
#include "tests/unit/check.h"
#include "tests/unit/run/kube/stage.h"

START_TEST(a_task_that_starts_while_it_is_deleted_makes_it_anew)
{
	struct kube_stage st;
	struct kube_shared *shared;
	struct kube_attempt *a;

	stage_begin(&st);
	stage_hold_lease(&st);
	a = stage_job(&st, 1, 1);
	shared = kube_shared_get(a->space, "as-c-1");
	shared->there = true;
	kube_shared_put(shared);
	ck_assert(shared->asking); /* to delete it */
	a->make.shared = kube_shared_get(a->space, "as-c-1");
	ck_assert_ptr_eq(a->make.shared, shared);
	a->make.secret = json_object();
	kube_shared_make(a);
	ck_assert_ptr_nonnull(a->make.secret);
	kube_shared_gone(shared, NULL);
	ck_assert(!shared->asking && !shared->there);
	kube_shared_make(a);
	ck_assert(shared->asking && a->make.secret);
	stage_end(&st);
}
END_TEST

SUITE(kube_shared)
{
	tcase_add_test(tc,
	               a_task_that_starts_while_it_is_deleted_makes_it_anew);
}
