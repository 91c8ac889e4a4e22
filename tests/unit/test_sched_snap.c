/* test_sched_snap.c - a snapshot that is not whole is refused */
#include <stddef.h>
#include <string.h>

#include "aischedd/sched/snap_text.h"
#include "tests/unit/check.h"

static const char whole[] =
    "now 1000\n"
    "pool a\n"
    "domain z1\n"
    "domain z1/r1 parent=z1\n"
    "queue top\n"
    "queue leaf parent=top\n"
    "license lic total=4\n"
    "node n0 cpus=4 mem=8G gpus=2 threads=4 features=f taints=t domain=z1\n"
    "node n1 cpus=4 mem=8G\n"
    "run 5 gpus=1 cpus=1 on=n0:g0:c0\n"
    "run 6 suspended on=n0\n"
    "pend 6 resumes\n"
    "pend 10,11 rule=f,t,& want=n0 avoid=n1 licenses=lic:2\n";

/* One number of it that makes it wrong. */
static const struct {
	const char *why;
	size_t column, size;
	uint32_t index;
	int64_t value;
} broken[] = {
#define AT(column, type, index, value) \
	offsetof(struct snap, column), sizeof(type), index, value
	{ "unknown order", AT(pool.order, uint8_t, 0, 2) },
	{ "unknown pool", AT(node.pool, uint32_t, 0, 1) },
	{ "unknown state", AT(node.state, uint8_t, 0, 3) },
	{ "CPUs out of range", AT(node.cpu_free, int64_t, 0, 4001) },
	{ "CPUs out of range", AT(node.cpu_total, int64_t, 1, -1) },
	{ "memory out of range", AT(node.mem_free, int64_t, 0, 1 << 20) },
	{ "unknown domain", AT(node.domain, uint32_t, 0, 2) },
	{ "retry_at out of range", AT(node.retry_at, int64_t, 0, -2) },
	{ "more than a GPU free", AT(gpu.free, uint16_t, 1, 1001) },
	{ "unknown GPU type", AT(gpu.type, uint32_t, 0, 99) },
	{ "more than a CPU free", AT(cpu.free, uint16_t, 3, 1001) },
	{ "slices do not begin at 0", AT(node.gpu_first, uint32_t, 0, 1) },
	{ "slice out of range", AT(node.gpu_first, uint32_t, 1, 3) },
	{ "devices left over", AT(node.cpu_first, uint32_t, 2, 5) },
	{ "unknown word", AT(feature, uint32_t, 0, 99) },
	{ "unknown word", AT(taint, uint32_t, 0, 99) },
	{ "stands before its parent", AT(domain.parent, uint32_t, 0, 1) },
	{ "stands before its parent", AT(queue.parent, uint32_t, 1, 1) },
	{ "count out of range", AT(license.free, int64_t, 0, 5) },
	{ "tasks out of range", AT(req.tasks, uint32_t, 0, 0) },
	{ "tasks out of range", AT(req.tasks, uint32_t, 0, 65537) },
	{ "min_tasks out of range", AT(req.min_tasks, uint32_t, 0, 2) },
	{ "more nodes than tasks", AT(req.nodes, uint32_t, 0, 2) },
	{ "amount out of range", AT(req.cpus, int64_t, 0, -1) },
	{ "unknown GPU type", AT(req.gpu_type, uint32_t, 0, 99) },
	{ "time limit out of range", AT(req.time_limit, int64_t, 0, -5) },
	{ "rule is not well formed", AT(rule, int32_t, 0, RULE_AND) },
	{ "rule is not well formed", AT(rule, int32_t, 2, 0) },
	{ "rule is not well formed", AT(rule, int32_t, 1, 99) },
	{ "unknown node", AT(want, uint32_t, 0, 2) },
	{ "unknown node", AT(avoid, uint32_t, 0, 2) },
	{ "licence out of range",
	  AT(license_use, struct snap_license_use, 0, 7) },
	{ "unknown request, queue or user", AT(run.req, uint32_t, 0, 99) },
	{ "time out of range", AT(run.end, int64_t, 0, -2) },
	{ "unknown node", AT(task, struct snap_task, 0, 9) },
	{ "unknown CPU", AT(cpu_use, uint16_t, 0, 4) },
	{ "unknown request, queue or user", AT(pend.queue, uint32_t, 0, 2) },
	{ "has no members", AT(pend.member_first, uint32_t, 1, 0) },
	{ "members do not ascend", AT(member, struct snap_member, 1, 12) },
	{ "resumes what is not suspended", AT(pend.resumes, uint32_t, 0, 0) },
	{ "resumes what is not suspended", AT(pend.resumes, uint32_t, 1, 1) },
	{ "now is out of range", offsetof(struct snap, now), 0, 0, -2 },
#undef AT
};

/* The first bytes of element i: enough for a number, and for the first field
 * of a struct. */
static void put(char *column, size_t size, uint32_t i, int64_t value)
{
	size_t n = size > sizeof(value) ? sizeof(uint32_t) : size;

	memcpy(column + i * size, &value, n);
}

START_TEST(refused)
{
	struct arena *arena = arena_new();
	const struct snap *snap;
	struct snap copy;
	struct err why = { 0 };
	char *column;

	snap = snap_read(whole, arena, &why);
	ck_assert_msg(snap != NULL, "%s", why.text);
	copy = *snap;
	memcpy(&column, (char *)&copy + broken[_i].column, sizeof(column));
	if (broken[_i].size)
		put(column, broken[_i].size, broken[_i].index,
		    broken[_i].value);
	else
		copy.now = broken[_i].value;
	ck_assert_int_eq(snap_check(&copy, &why), -1);
	ck_assert_int_eq(why.code, EINVAL);
	ck_assert_msg(strstr(why.text, broken[_i].why) != NULL,
	              "want '%s', got '%s'", broken[_i].why, why.text);
	arena_free(arena);
}
END_TEST

/* Text that is not a snapshot. */
static const struct {
	const char *text, *why;
} bad_text[] = {
	{ "nods n0", "line 1: unknown keyword 'nods'" },
	{ "node", "line 1: nothing follows 'node'" },
	{ "\n# hm\nnode n0", "line 3: needs a value: 'cpus'" },
	{ "node n0 cpus=x", "line 1: bad number 'x'" },
	{ "node n0 cpus", "line 1: no value for 'cpus'" },
	{ "node n0 cpus=1 what=1", "line 1: unknown key 'what'" },
	{ "node n0 cpus=1 gpus=65", "line 1: " },
	{ "node n0 cpus=1 gpus=2 gpu_numa=0", "too few values from" },
	{ "node n0 cpus=1 gpus=2 gpu_numa=0*3", "too many values from" },
	{ "node n0 cpus=1 threads=2 core=3-2", "bad range to '2'" },
	{ "node n0 cpus=1 state=asleep", "bad value 'asleep'" },
	{ "node n0 cpus=1 pool=p", "unknown pool 'p'" },
	{ "node n0 cpus=1\nnode n0 cpus=1", "line 2: this stands here twice" },
	{ "node n[0 cpus=1", "line 1: bad host list" },
	{ "node n%0 cpus=1", "bad % in" },
	{ "queue q limit=hats:1", "bad amount 'hats'" },
	{ "queue q limit=cpus", "bad amount 'cpus'" },
	{ "queue q weight=1 colour=1", "unknown key 'colour'" },
	{ "license l", "needs a value: 'total'" },
	{ "run x on=n0", "line 1: " },
	{ "run 1 on=n0", "unknown node 'n0'" },
	{ "node n0 cpus=1\nrun 1 on=n0:g0", "fewer GPUs than" },
	{ "node n0 cpus=1\nrun 1 on=n0:c0", "fewer CPUs than" },
	{ "node n0 cpus=1\nrun 1 on=n0:x", "bad devices 'x'" },
	{ "node n0 cpus=1\nrun 1 on=n0*2:g-", "devices of many tasks: 'g-'" },
	{ "node n0 cpus=1\nrun 1 on=n0\nrun 1 on=n0", "twice" },
	{ "pend 1 resumes", "no running job '1'" },
	{ "pend 1 exclusive=1", "no value goes with 'exclusive'" },
	{ "pend 3-1", "bad range from '3'" },
	{ "pend 1,1", "members do not ascend" },
	{ "pend 1 rule=a,&", "rule is not well formed" },
	{ "pend 1 licenses=x", "unknown licence 'x'" },
	{ "pend 1 queue=x", "unknown queue 'x'" },
	{ "pend 1 tasks=0", "tasks out of range" },
	{ "now x", "line 1: " },
};

START_TEST(bad_text_case)
{
	struct arena *arena = arena_new();
	struct err why = { 0 };

	ck_assert_ptr_null(snap_read(bad_text[_i].text, arena, &why));
	ck_assert_msg(strstr(why.text, bad_text[_i].why) != NULL,
	              "%s: want '%s', got '%s'", bad_text[_i].text,
	              bad_text[_i].why, why.text);
	arena_free(arena);
}
END_TEST

START_TEST(empty_is_whole)
{
	struct arena *arena = arena_new();
	const struct snap *snap = snap_read("", arena, NULL);
	const struct plan *plan;
	struct snap zero = { 0 };

	ck_assert_ptr_nonnull(snap);
	plan = sched_plan(snap, arena);
	ck_assert_uint_eq(plan->nstarts, 0);
	ck_assert_int_eq(plan_check(snap, plan, NULL), 0);
	ck_assert_int_eq(snap_check(&zero, NULL), 0);
	arena_free(arena);
}
END_TEST

SUITE(sched_snap)
{
	tcase_add_loop_test(tc, refused, 0, (int)ARRAY_SIZE(broken));
	tcase_add_loop_test(tc, bad_text_case, 0, (int)ARRAY_SIZE(bad_text));
	tcase_add_test(tc, empty_is_whole);
}
