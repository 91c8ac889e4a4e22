#include "pod/room.h"

#include <stdio.h>
#include <stdlib.h>

#include "libcommon/mem.h"
#include "libcommon/step_msg.h"
#include "tests/unit/check.h"

/* A job of three pods, each with 2 tasks, 4 CPUs, 1000 MiB and 2 GPUs. */
static const struct pod_job job = {
	.id = 7, .pods = 3, .tasks = 2, .cpus = 4, .mem_mib = 1000, .gpus = 2
};

#define ANY .gpus = -1, .gpus_task = -1

static const struct {
	struct room_want ask;
	/* tasks in each pod; all 0: refused, for the reason `why` */
	int64_t tasks[3];
	const char *why;
} cases[] = {
	{ { .tasks = 6, ANY }, { 2, 2, 2 }, NULL },
	{ { .tasks = 3, ANY }, { 1, 1, 1 }, NULL },
	{ { .tasks = 1, ANY }, { 1 }, NULL },
	/* Each pod gets a task, and then the first pod a second one. */
	{ { .tasks = 4, ANY }, { 2, 1, 1 }, NULL },
	{ { .tasks = 2, .nodes = 1, ANY }, { 2 }, NULL },
	{ { .tasks = 4, .nodes = 1, ANY }, { 4 }, NULL },
	{ { .tasks = 12, ANY }, { 4, 4, 4 }, NULL },
	{ { .tasks = 3, .nodes = 2, .per_node = 2, ANY }, { 2, 1 }, NULL },
	{ { .tasks = 3, .cpus = 4, ANY }, { 1, 1, 1 }, NULL },
	{ { .tasks = 3, .gpus = -1, .gpus_task = 2 }, { 1, 1, 1 }, NULL },
	{ { .tasks = 13, .flags = STEP_OVERCOMMIT, ANY }, { 9, 2, 2 }, NULL },
	{ { .tasks = 13, ANY },
	  { 0 },
	  "More processors requested than permitted" },
	{ { .tasks = 4, .cpus = 4, ANY },
	  { 0 },
	  "More processors requested than permitted" },
	{ { .tasks = 4, .nodes = 4, ANY },
	  { 0 },
	  "More nodes requested than available" },
	{ { .tasks = 3, .mem_mib = 3003, ANY },
	  { 0 },
	  "Memory required by task is not available" },
	{ { .tasks = 1, .gpus = 3, .gpus_task = -1 },
	  { 0 },
	  "Invalid generic resource (gres) specification" },
	{ { .tasks = 4, .nodes = 2, .per_node = 1, ANY },
	  { 0 },
	  "Requested node configuration is not available" },
};

START_TEST(where_tasks_go)
{
	struct room_claim claim = { .ask = cases[_i].ask };
	int64_t got[3] = { 0 };
	struct err err;

	if (cases[_i].why) {
		ck_assert_int_lt(room_check(&job, &claim.ask, &err), 0);
		ck_assert_str_eq(err.text, cases[_i].why);
		return;
	}
	ck_assert_int_eq(room_check(&job, &claim.ask, &err), 0);
	ck_assert(room_take(&job, &claim, NULL, 0));
	for (size_t i = 0; i < claim.nparts; i++)
		got[claim.part[i].pod] = claim.part[i].tasks;
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(got[i], cases[_i].tasks[i]);
	room_free(&claim);
}
END_TEST

START_TEST(a_step_takes_its_pods_whole)
{
	struct room_claim a = { .ask = { .tasks = 2, .nodes = 2, ANY } };
	struct room_claim b = { .ask = { .tasks = 2, .nodes = 2, ANY } };
	struct room_claim c = { .ask = { .tasks = 1, ANY } };
	struct room_claim o = { .ask = {
				    .tasks = 6, .flags = STEP_OVERLAP, ANY } };
	struct room_claim *others[] = { &a, &c };

	ck_assert(room_take(&job, &a, NULL, 0));
	ck_assert(!room_take(&job, &b, others, 1));
	ck_assert(room_take(&job, &c, others, 1));
	ck_assert_int_eq(c.part[0].pod, 2);
	ck_assert(room_take(&job, &o, others, 2));
	room_free(&a);
	room_free(&c);
	room_free(&o);
}
END_TEST

START_TEST(exact_steps_share_pods)
{
	struct room_claim claim[7], *others[7];

	for (size_t i = 0; i < 7; i++) {
		claim[i] =
		    (struct room_claim){ .ask = { .tasks = 1,
			                          .cpus = 2,
			                          .gpus = -1,
			                          .gpus_task = 1,
			                          .flags = STEP_EXACT } };
		others[i] = &claim[i];
		ck_assert_int_eq(room_take(&job, &claim[i], others, i), i < 6);
		if (i == 6)
			break;
		ck_assert_int_eq(claim[i].part[0].pod, (int64_t)i / 2);
		ck_assert_uint_eq(claim[i].part[0].gpus, 1U << i % 2);
	}
	for (size_t i = 0; i < 6; i++)
		room_free(&claim[i]);
}
END_TEST

SUITE(pod_room)
{
	tcase_add_loop_test(tc, where_tasks_go, 0, ARRAY_SIZE(cases));
	tcase_add_test(tc, a_step_takes_its_pods_whole);
	tcase_add_test(tc, exact_steps_share_pods);
}
