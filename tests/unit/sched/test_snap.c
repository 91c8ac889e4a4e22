/* test_snap.c - snapshots that are not consistent are refused */
#include <stddef.h>
#include <string.h>

#include "aischedd/sched/check/plan_check.h"
#include "aischedd/sched/text/text.h"
#include "tests/unit/check.h"

static const char whole[] =
    "now 1000\n"
    "pool a\n"
    "level zone\n"
    "level rack\n"
    "domain z1\n"
    "domain z1/r1 parent=z1 level=rack\n"
    "queue top\n"
    "queue leaf parent=top\n"
    "license lic total=4\n"
    "node n0 cpus=4 mem=8G gpus=2 threads=4 features=f taints=t domain=z1\n"
    "node n1 cpus=4 mem=8G\n"
    "node n2 cpus=1 threads=1 gpus=1 gpu_numa=1 numa_mem=1G,1G\n"
    "run 5 gpus=1 cpus=1 on=n0:g0:c0\n"
    "run 6 suspended on=n0\n"
    "run 7 min_tasks=1 tasks=2 on=n1 claim=n1\n"
    "run 7 min_tasks=1 tasks=2 ending on=n1\n"
    "pend 6 resumes\n"
    "pend 10,11 rule=f,t,& want=n0 avoid=n1 licenses=lic:2\n"
    "pend 12 claim=n0\n";

/* Values that make the snapshot `whole` inconsistent, and the error of each. A
 * value is put at `index` of the array `column` or, if size is 0, into a member
 * of struct snap itself. */
static const struct {
	const char *why;
	size_t column, size;
	uint32_t index;
	int64_t value;
} broken[] = {
#define AT(column, type, index, value) \
	offsetof(struct snap, column), sizeof(type), index, value
	{ "unknown order", AT(pool.order, uint8_t, 0, 3) },
	{ "unknown pool", AT(node.pool, uint32_t, 0, 1) },
	{ "unknown state", AT(node.state, uint8_t, 0, 3) },
	{ "CPUs out of range", AT(node.cpu_free, int64_t, 0, 4001) },
	{ "CPUs out of range", AT(node.cpu_total, int64_t, 1, -1) },
	{ "memory out of range", AT(node.mem_free, int64_t, 0, 1 << 20) },
	{ "unknown domain", AT(node.domain, uint32_t, 0, 2) },
	{ "retry_at out of range", AT(node.retry_at, int64_t, 0, -2) },
	{ "coming out of range", AT(node.coming, uint8_t, 0, 3) },
	{ "it is coming but not late", AT(node.coming, uint8_t, 1, 1) },
	{ "more than a GPU free", AT(gpu.free, uint16_t, 1, 1001) },
	{ "unknown GPU type", AT(gpu.type, uint32_t, 0, 99) },
	{ "unknown NUMA node", AT(gpu.numa, uint8_t, 0, 32) },
	{ "unknown NUMA node", AT(cpu.numa, uint8_t, 0, 32) },
	{ "unknown NUMA node", AT(cpu.numa, uint8_t, 4, 2) },
	{ "unknown NUMA node", AT(gpu.numa, uint8_t, 2, 2) },
	{ "one CPU has more than 1000 thousandths free",
	  AT(cpu.free, uint16_t, 3, 1001) },
	{ "slices do not begin at 0", AT(node.gpu_first, uint32_t, 0, 1) },
	{ "slice out of range", AT(node.gpu_first, uint32_t, 1, 3) },
	{ "devices left over", AT(node.cpu_first, uint32_t, 3, 6) },
	{ "unknown word", AT(feature, uint32_t, 0, 99) },
	{ "unknown word", AT(taint, uint32_t, 0, 99) },
	{ "weight out of range", AT(node.weight, int64_t, 0, -1) },
	{ "stands before its parent", AT(domain.parent, uint32_t, 0, 1) },
	{ "level out of range", AT(domain.level, uint8_t, 1, 2) },
	{ "level out of range", AT(domain.level, uint8_t, 1, 0) },
	{ "unknown level", AT(req.need, uint8_t, 0, 2) },
	{ "unknown level", AT(req.like, uint8_t, 0, 2) },
	{ "unknown alignment", AT(req.numa, uint8_t, 0, 4) },
	{ "unknown alignment", AT(req.links, uint8_t, 0, 3) },
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
	{ "rule is not well formed", AT(rule, int32_t, 2, RULE_NOT) },
	{ "unknown node", AT(want, uint32_t, 0, 3) },
	{ "unknown node", AT(avoid, uint32_t, 0, 3) },
	{ "licence out of range",
	  AT(license_use, struct snap_license_use, 0, 7) },
	{ "unknown request, queue or user", AT(run.req, uint32_t, 0, 99) },
	{ "time out of range", AT(run.end, int64_t, 0, -2) },
	{ "time out of range", AT(run.ran, int64_t, 0, -1) },
	{ "unknown node", AT(task, struct snap_task, 0, 9) },
	{ "unknown CPU", AT(cpu_use, uint16_t, 0, 4) },
	{ "unknown request, queue or user", AT(pend.queue, uint32_t, 0, 2) },
	{ "has no members", AT(pend.member_first, uint32_t, 1, 0) },
	{ "members do not ascend", AT(member, struct snap_member, 1, 12) },
	{ "resumes what is not suspended", AT(pend.resumes, uint32_t, 0, 0) },
	{ "resumes what is not suspended", AT(pend.resumes, uint32_t, 1, 1) },
	{ "time out of range", AT(run.safe_until, int64_t, 1, -2) },
	{ "light is out of range", AT(pend.light, uint16_t, 0, 1001) },
	{ "claims do not begin", AT(run.claim_first, uint32_t, 0, 1) },
	{ "claims do not begin", AT(pend.claim_first, uint32_t, 0, 0) },
	{ "claims out of range", AT(pend.claim_first, uint32_t, 1, 99) },
	{ "claims an unknown node", AT(claim, uint32_t, 1, 3) },
	{ "more than one job has", AT(pend.claim_first, uint32_t, 2, 2) },
	{ "now is out of range", offsetof(struct snap, now), 0, 0, -2 },
	{ "policy is out of range", offsetof(struct snap, policy.age_weight), 0,
	  0, -1 },
#undef AT
};

/* Overwrite element i of a column: a number, or the first field of a struct. */
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
	char *member, *column;

	snap = snap_read(whole, arena, &why);
	ck_assert_msg(snap != NULL, "%s", why.text);
	copy = *snap;
	member = (char *)&copy + broken[_i].column;
	if (broken[_i].size) {
		memcpy(&column, member, sizeof(column));
		put(column, broken[_i].size, broken[_i].index,
		    broken[_i].value);
	} else {
		memcpy(member, &broken[_i].value, sizeof(int64_t));
	}
	ck_assert_int_eq(snap_check(&copy, &why), -1);
	ck_assert_int_eq(why.code, EINVAL);
	ck_assert_msg(strstr(why.text, broken[_i].why) != NULL,
	              "want '%s', got '%s'", broken[_i].why, why.text);
	arena_free(arena);
}
END_TEST

/* Texts that are not valid snapshots, and the errors. */
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
	{ "node n0 cpus=1 threads=1 numa=32 numa_mem=1G\nrun 1 on=n0:c0",
	  "line 1: NUMA node above 31 in '32'" },
	{ "node n0 cpus=1 gpus=2 gpu_numa=31-32 numa_mem=1G\nrun 1 on=n0:g0",
	  "line 1: NUMA node above 31 in '31" },
	{ "node n0 cpus=1 gpus=1 gpu_numa=1 numa_mem=1G",
	  "node 0: unknown NUMA node" },
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
	{ "node n0 cpus=1 gpus=1\nrun 1 on=n0:g0/500\nrun 2 on=n0:g0/501",
	  "line 3: tasks hold more than there is of GPU '0'" },
	{ "node n0 cpus=1\nrun 1 on=n0:x", "bad devices 'x'" },
	{ "node n0 cpus=1\nrun 1 on=n0*2:g-", "devices of many tasks: 'g-'" },
	{ "node n0 cpus=1\nrun 1 on=n0\nrun 1 on=n0", "twice" },
	{ "pend 1 resumes", "no running job '1'" },
	{ "pend 1 exclusive=1", "no value goes with 'exclusive'" },
	{ "pend 3-1", "bad range from '3'" },
	{ "pend 1,1", "members do not ascend" },
	{ "pend 1 rule=a,&", "rule is not well formed" },
	{ "pend 1 rule=*2", "rule is not well formed" },
	{ "pend 1 rule=a,*0,b", "rule is not well formed" },
	{ "pend 1 rule=a,b,*0", "rule is not well formed" },
	{ "pend 1 rule=!", "rule is not well formed" },
	{ "pend 1 rule=a,!,!", "rule is not well formed" },
	{ "pend 1 rule=a,*2,!", "rule is not well formed" },
	{ "pend 1 rule=a,b,&,!", "rule is not well formed" },
	{ "pend 1 rule=a,*2,b,|", "rule is not well formed" },
	{ "pend 1 rule=a,b,*2,|,c,&", "rule is not well formed" },
	{ "pend 1 rule=a,b,*2,&,*3", "rule is not well formed" },
	{ "pend 1 rule=a,*100001", "line 1: " },
	{ "level x\nlevel x", "line 2: this stands here twice" },
	{ "domain d", "domain 0: level out of range" },
	{ "pend 1 need=rack", "unknown level 'rack'" },
	{ "pend 1 numa=maybe", "bad value 'maybe'" },
	{ "pend 1 licenses=x", "unknown licence 'x'" },
	{ "pend 1 queue=x", "unknown queue 'x'" },
	{ "pend 1 tasks=0", "tasks out of range" },
	{ "now x", "line 1: " },
	{ "policy", "nothing follows 'policy'" },
	{ "policy age=x", "line 1: bad number 'x'" },
	{ "policy hats=1", "unknown key 'hats'" },
	{ "policy backfill=perhaps", "bad value 'perhaps'" },
	{ "policy age=1\npolicy age=2", "line 2: this stands here twice" },
	{ "pend 1 light=1001", "light is out of range" },
	{ "pend 1 light=70000", "line 1: " },
	{ "pend 1 nonpreemptible=1", "no value goes with 'nonpreemptible'" },
	{ "pend 1 since=x", "line 1: bad number 'x'" },
	{ "pend 1-2 since=1,2,3", "too many values from '3'" },
	{ "pend 1-2 since=1*3", "too many values from '1'" },
	{ "pend 1 claim=n0", "unknown node 'n0'" },
	{ "node n0 cpus=1\npend 1 claim=n0*x", "line 2: bad number 'x'" },
	{ "node n0 cpus=1\npend 1-2 claim=n0", "more than one job has" },
	{ "node n0 cpus=1\nrun 1 ending on=n0\nrun 1 ending on=n0", "twice" },
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

/* A snapshot exactly as snap_write() writes it. It has every key, because all
 * differ from their defaults. */
static const char everything[] =
    "now 1000\n"
    "gen 7\n"
    "policy order=shortest backfill=no depth=3 consolidate=no age=5 size=6"
    " fairshare=7 hold_after=60 budget=9\n"
    "pool a order=spread\n"
    "queue q quota=gpus:2 limit=cpus:8 weight=2 priority=-1 max_jobs=9"
    " max_jobs_user=8 max_gpus_user=1.5 assumed_time=60 max_wait=3600\n"
    "array 16 limit=4\n"
    "node n0 cpus=4 retry_at=1010 gpus=2\n"
    "node n1 cpus=4\n"
    "run 11 user=u preemptible freezable safe=1200 waited=9 tasks=3 min_tasks=1"
    " on=n0,n1 claim=n1\n"
    "run 11 user=u preemptible ending tasks=3 min_tasks=1 on=n1\n"
    "run 13 user=u array=16 suspended on=n1\n"
    "pend 13 user=u nonpreemptible resumes since=0\n"
    "pend 15 user=u barred light=250 since=900 tasks=2 claim=n0,n1\n"
    "pend 16-20 user=u array=16 since=900*2,950,980\n"
    "pend 21-23 user=v judged=blocked\n";

START_TEST(everything_comes_back)
{
	struct arena *arena = arena_new();
	struct err why = { 0 };
	const struct snap *snap = snap_read(everything, arena, &why);
	struct buf text = { 0 };

	ck_assert_msg(snap != NULL, "%s", why.text);
	snap_write(snap, &text);
	ck_assert_str_eq(text.data, everything);
	buf_free(&text);
	arena_free(arena);
}
END_TEST

START_TEST(plan_as_text)
{
	static const struct snap_task task[] = { { .node = 1 },
		                                 { .node = 1 },
		                                 { 0 } };
	static const uint32_t loss[] = { 0, 1, 0 }, node[] = { 0, 0, 1, 1 };
	static const struct eviction eviction[] = {
		{ 0, 0, 2, EVICT_RECLAIM, true, 15 },
		{ 0, 2, 1, EVICT_PREEMPT, false, 16 },
		{ 2, 2, 1, EVICT_CONSOLIDATE, false, 0 },
	};
	static const struct grow grow[] = { { 0, 0, 2 } };
	static const struct plan_claim claim[] = {
		{ .row = 1, .member = 1, .node_first = 0, .n = 3 },
		{ .row = SNAP_NONE, .run = 2, .node_first = 3, .n = 1 },
	};
	const struct plan plan = {
		.nevictions = 3,
		.ngrows = 1,
		.nclaims = 2,
		.eviction = eviction,
		.loss = loss,
		.grow = grow,
		.claim = claim,
		.claim_node = node,
		.task = task,
		.wake = 1100,
	};
	struct arena *arena = arena_new();
	struct buf text = { 0 };

	plan_write(snap_read(everything, arena, NULL), &plan, &text);
	ck_assert_str_eq(text.data, "evict 11 all why=reclaim by=15 suspend\n"
	                            "evict 11 0 why=preempt by=16\n"
	                            "evict 13 all why=consolidate\n"
	                            "grow 11 n1*2\n"
	                            "claim 15 n0*2,n1\n"
	                            "claim run 13 n1\n"
	                            "wake 1100\n");
	buf_free(&text);
	arena_free(arena);
}
END_TEST

SUITE(sched_snap)
{
	tcase_add_test(tc, everything_comes_back);
	tcase_add_test(tc, plan_as_text);
	tcase_add_loop_test(tc, refused, 0, (int)ARRAY_SIZE(broken));
	tcase_add_loop_test(tc, bad_text_case, 0, (int)ARRAY_SIZE(bad_text));
	tcase_add_test(tc, empty_is_whole);
}
