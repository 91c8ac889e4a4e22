/* test_names.c - the lists of states, reasons, requests and actions */
#include "libcommon/names.h"

#include <string.h>

#include "libcommon/mem.h"
#include "libcommon/msg.h"
#include "tests/unit/check.h"

START_TEST(states_are_read_back)
{
	for (int i = 0; i < JOB_NSTATES; i++) {
		ck_assert_int_eq(job_state_parse(job_state_name(i)), i);
		ck_assert_int_eq(job_state_parse(job_state_letter(i)), i);
	}
	ck_assert_int_eq(job_state_parse("running"), JOB_RUNNING);
	ck_assert_int_eq(job_state_parse("oom"), JOB_OUT_OF_MEMORY);
	ck_assert_int_eq(job_state_parse("RUN"), -1);
	ck_assert_int_eq(job_state_parse(""), -1);
}
END_TEST

START_TEST(only_ended_states_are_final)
{
	for (int i = 0; i < JOB_NSTATES; i++)
		ck_assert_int_eq(job_state_is_final(i), i >= JOB_COMPLETED);
}
END_TEST

START_TEST(reasons_have_names_and_texts)
{
	for (int i = 0; i < WHY_NREASONS; i++) {
		for (int k = 0; k < i; k++)
			ck_assert_str_ne(reason_name(i), reason_name(k));
		ck_assert(*reason_text(i));
	}
	ck_assert(reason_is_pending(WHY_Resources));
	ck_assert(reason_is_pending(WHY_RunnerDown));
	ck_assert(!reason_is_pending(WHY_None));
	ck_assert(!reason_is_pending(WHY_TimeLimit));
}
END_TEST

/* Tools like psij split squeue's lines at spaces. */
START_TEST(names_have_no_spaces)
{
	for (int i = 0; i < WHY_NREASONS; i++)
		ck_assert_ptr_null(strchr(reason_name(i), ' '));
}
END_TEST

START_TEST(requests_are_read_back)
{
	for (int i = 0; i < OP_N; i++)
		ck_assert_int_eq(op_parse(op_name(i)), i);
	for (int i = 0; i < ACTION_N; i++)
		ck_assert_int_eq(action_parse(action_name(i)), i);
	ck_assert_int_eq(op_parse("PING"), -1);
	ck_assert_int_eq(op_parse(""), -1);
	ck_assert_int_eq(action_parse("kill"), -1);
}
END_TEST

static const struct {
	enum op op;
	enum role least;
} roles[] = {
	{ OP_ping, ROLE_NOBODY }, { OP_submit, ROLE_USER },
	{ OP_drain, ROLE_ADMIN }, { OP_queue, ROLE_OPERATOR },
	{ OP_dump, ROLE_ADMIN },  { OP_shutdown, ROLE_ADMIN },
};

START_TEST(requests_need_roles)
{
	for (size_t i = 0; i < ARRAY_SIZE(roles); i++)
		ck_assert_int_eq(op_role(roles[i].op), roles[i].least);
	ck_assert_int_eq(action_role(ACTION_hold), ROLE_USER);
	ck_assert_int_eq(action_role(ACTION_top), ROLE_OPERATOR);
	/* Only a ping is allowed without a credential. */
	for (int i = 0; i < OP_N; i++)
		ck_assert(i == OP_ping || op_role(i) > ROLE_NOBODY);
}
END_TEST

SUITE(names)
{
	tcase_add_test(tc, states_are_read_back);
	tcase_add_test(tc, only_ended_states_are_final);
	tcase_add_test(tc, reasons_have_names_and_texts);
	tcase_add_test(tc, names_have_no_spaces);
	tcase_add_test(tc, requests_are_read_back);
	tcase_add_test(tc, requests_need_roles);
}
