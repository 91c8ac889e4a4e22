/* test_services.c - Services that lead to the ports of jobs */
#include "aischedd/run/kube/space/ports.h"

#include <errno.h>
#include <jansson.h>

#include "libcommon/mem.h"
#include "tests/unit/check.h"
#include "tests/unit/run/kube/stage.h"

static struct kube_stage st;
static struct kube_attempt *a;

/* Let an attempt wait for its Service. */
static void set_up(void)
{
	stage_begin(&st);
	stage_lease(&st);
	a = stage_job(&st, 7, 1);
	a->start.told = false;
	a->uid = xstrdup("u-1");
	a->make.ports = json_object();
}

static void tear_down(void)
{
	kube_ports_free(st.kube);
	stage_end(&st);
}

/* Answer the list of Services with this error. */
static void refuse_list(int code, int errnum)
{
	struct err err;

	err_set(&err, errnum, "refused");
	kube_ports_listed(&st.space,
	                  &(struct kube_answer){ .code = code, .err = &err });
}

START_TEST(a_start_waits_for_a_list_that_fails_for_the_moment)
{
	refuse_list(500, EIO);
	kube_ports_make(a);
	ck_assert_int_eq(a->end.fault.code, 0);
	/* the namespace may have Services, so it is not given up */
	ck_assert(kube_ports_used(&st.space));
}
END_TEST

START_TEST(a_start_fails_if_the_list_is_forbidden)
{
	refuse_list(403, EPERM);
	kube_ports_make(a);
	ck_assert_str_eq(a->end.fault.text, "refused");
	ck_assert(!kube_ports_used(&st.space));
}
END_TEST

SUITE(kube_services)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_start_waits_for_a_list_that_fails_for_the_moment);
	tcase_add_test(tc, a_start_fails_if_the_list_is_forbidden);
}
