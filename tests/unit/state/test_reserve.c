/* test_reserve.c - nodes reserved for some users, or for maintenance */
#include <stdio.h>
#include <string.h>

#include "aischedd/state/cluster/reserve.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"
#include "tests/unit/check.h"
#include "tests/unit/state/world.h"

/* clang-format off */
static const struct {
	const char *name;
	const char *step[24];
} cases[] = {
	{ "only its users run there while it lasts",
	  { "node n1 4", "reserve r 0 100 n0 u",
	    "reservations => r 0-100 n0 u+",
	    "submit reservation=r time=1 cpus-per-task=4",
	    "submit cpus-per-task=4", "submit cpus-per-task=4", "run",
	    "jobs => 1 R, 2 R, 3 PD Resources",
	    "snap reservation => reservation r start=1000 end=1100 nodes=n0 "
	    "users=u" } },
	{ "nothing begins that would be there when it begins",
	  { "reserve r 600 700 n0 -", "submit time=5", "submit time=20", "run",
	    "jobs => 1 R, 2 PD Reservation" } },
	{ "a job waits for its begin",
	  { "reserve r 60 1060 n0 u", "submit reservation=r time=10", "run",
	    "jobs => 1 PD Reservation",
	    "why => Reservation: reservation 'r' begins in 1m",
	    "next => 60", "+60", "wants => yes", "run", "jobs => 1 R" } },
	{ "and for ever once it is over",
	  { "reserve r 0 60 n0 u", "submit reservation=r hold", "+60",
	    "reservations =>", "release", "wants => yes",
	    "why => Reservation: reservation 'r' is over; `aictl update 1 "
	    "reservation=` lets it run without",
	    "run", "jobs => 1 PD Reservation", "update 1 reservation=", "run",
	    "jobs => 1 R" } },
	{ "one of the same name will do",
	  { "reserve r 0 60 n0 u", "submit reservation=r hold", "unreserve r",
	    "release", "jobs => 1 PD Reservation", "reserve r 0 60 n0 u",
	    "run", "jobs => 1 R" } },
	{ "but it must be for the user",
	  { "reserve r 0 60 n0 u", "submit reservation=r hold", "unreserve r",
	    "reserve r 0 60 n0 ann", "release", "run",
	    "why => Reservation: reservation 'r' is not for its user" } },
	{ "members of its groups are its guests",
	  { "reserve r 0 60 n0 ann,@staff", "submit reservation=r time=1",
	    "reservations => r 0-60 n0 ann,@staff+u", "run", "jobs => 1 R",
	    "submit reservation=r time=1",
	    "reservations => r 0-60 n0 ann,@staff+u" } },
	{ "who may not use it is told so",
	  { "reserve r 0 60 n0 ann,@others",
	    "submit reservation=r => ! user 'u' may not use reservation 'r'",
	    "submit reservation=s => ! there is no reservation 's'; `aictl "
	    "reserve list` lists them",
	    "reserve m 60 90 n0 -",
	    "submit reservation=m => ! reservation 'm' is for maintenance: no "
	    "job runs in it" } },
	{ "a job must fit into it",
	  { "reserve r 0 120 n0 u",
	    "submit reservation=r time=3 => ! the time limit is longer than "
	    "reservation 'r', which lasts 2:00" } },
	{ "a job may be put into one later",
	  { "reserve r 0 120 n0 u", "submit hold", "update 1 reservation=r",
	    "release", "run", "jobs => 1 R" } },
	{ "what has no limit ends with it",
	  { "reserve r 0 120 n0 u", "submit reservation=r",
	    "submit reservation=r time=2", "run", "tell", "next => 120",
	    "+120", "effects => stop 1.1", "jobs => 1 CG, 2 R" } },
	{ "one that repeats begins again",
	  { "reserve r 100 200 n0 u daily", "submit reservation=r time=1", "run",
	    "+200", "reservations => r 86300-86400 n0 u+", "run",
	    "jobs => 1 PD Reservation" } },
	{ "also after it was missed",
	  { "reserve r 100 200 n0 u weekly", "+1000000",
	    "reservations => r 209700-209800 n0 u+" } },
	{ "it lasts less than that",
	  { "reserve r 0 86400 n0 - daily => ! a daily reservation must be "
	    "shorter than a day",
	    "reserve r 0 604800 n0 - weekly => ! a weekly reservation must be "
	    "shorter than a week" } },
	{ "two do not keep a node at once",
	  { "node n1 4", "reserve a 100 200 n0 -",
	    "reserve b 199 300 n[0-1] - => ! reservation 'a' keeps node 'n0' "
	    "at that time",
	    "reserve b 200 300 n0 -", "reserve c 0 300 n1 -",
	    "reservations => a 100-200 n0 +; b 200-300 n0 +; c 0-300 n1 +" } },
	{ "nor later on",
	  { "reserve a 100 200 n0 - daily",
	    "reserve b 864150 864160 n0 - => ! reservation 'a' keeps *",
	    "reserve b 864200 864300 n0 -",
	    "reserve c 250 300 n0 - weekly",
	    "reserve d 86440 86540 n0 - weekly => ! reservation 'a' *" } },
	{ "of a pool, those that are free by then",
	  { "node n1 4", "node n2 4", "submit nodelist=n0",
	    "submit nodelist=n1 time=1", "run", "drain n2 x",
	    "reserve a 120 200 1 -", "reserve b 120 200 1 -",
	    "reservations => a 120-200 n1 +; b 120-200 n0 +",
	    "reserve c 120 200 2 - => ! pool 'here' has only 1 of the 2 nodes "
	    "free at that time" } },
	{ "what makes no sense is refused",
	  { "reserve r 10 10 n0 - => ! it would end before it begins",
	    "reserve r -100 10 n0 - => ! it would begin in the past",
	    "reserve r 31622401 31622402 n0 - => ! it must begin within a year*",
	    "reserve -r 0 10 n0 - => ! bad name '-r'*",
	    "reserve r 0 10 x0 - => ! there is no node 'x0'*",
	    "reserve r 0 10 n[ - => ! *",
	    "unreserve r => ! there is no reservation 'r'",
	    "reserve r 0 10 n0 -",
	    "reserve r 20 30 n0 - => ! there is a reservation 'r' already",
	    "reservations => r 0-10 n0 +" } },
};
/* clang-format on */

static bool is_staff(const char *group, const void *arg)
{
	(void)arg;
	return !strcmp(group, "staff");
}

START_TEST(reserve_case)
{
	struct world w;

	world_with_node(&w, NULL);
	w.who.user = "u";
	w.who.in_group = is_staff;
	world_play(&w, cases[_i].name, cases[_i].step);
	world_fini(&w);
}
END_TEST

/* A plan made from a snapshot that does not have the reservation is not
 * applied. */
START_TEST(a_plan_that_does_not_know_it_is_void)
{
	static const char *const before[] = { "submit", "look", NULL };
	static const char *const after[] = { "reserve r 0 100 n0 -",
		                             "decide start 1 n0",
		                             "jobs => 1 PD*", NULL };
	struct world w;

	world_with_node(&w, NULL);
	world_play(&w, "", before);
	world_play(&w, "", after);
	world_fini(&w);
}
END_TEST

START_TEST(there_are_not_too_many)
{
	struct world w;
	struct err err;
	char name[16];

	world_with_node(&w, NULL);
	for (int i = 0; i <= LIMIT_RESERVATIONS; i++) {
		struct reserve_ask ask = { .name = name,
			                   .start = w.now + i,
			                   .end = w.now + i + 1,
			                   .nodes = "n0",
			                   .users = "" };

		snprintf(name, sizeof(name), "r%d", i);
		ck_assert_int_eq(state_reserve(w.state, &ask, w.now, &err),
		                 i < LIMIT_RESERVATIONS ? 0 : -1);
	}
	ck_assert_int_eq(err.code, EAGAIN);
	world_fini(&w);
}
END_TEST

SUITE(reserve)
{
	tcase_add_loop_test(tc, reserve_case, 0, ARRAY_SIZE(cases));
	tcase_add_test(tc, a_plan_that_does_not_know_it_is_void);
	tcase_add_test(tc, there_are_not_too_many);
}
