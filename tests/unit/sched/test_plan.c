/* test_plan.c - refusals at submission, and the checker of plans */
#include <string.h>

#include "aischedd/sched/check/plan_check.h"
#include "aischedd/sched/text/text.h"
#include "tests/unit/check.h"

/* Jobs, and why they could never fit on the nodes; NULL: they could. */
static const struct {
	const char *jobs, *why;
} fits[] = {
	{ "pend 10 cpus=8", NULL },
	{ "pend 10 gpus=2 cpus=4", NULL },
	{ "pend 10 tasks=4 cpus=4", NULL },
	{ "pend 10 want=n1", NULL }, /* n1 is down, but may come back */
	{ "run 9 cpus=8 on=c0\npend 10 cpus=8", NULL },
	{ "run 9 suspended cpus=99 on=c0\npend 9 cpus=99 resumes", NULL },
	{ "pend 10 gpus=99 pools=k",
	  NULL }, /* pool k has no nodes yet: they may have 99 GPUs */
	{ "pend 10 cpus=9 pools=p",
	  "needs 9 CPUs on one node; the largest that it may use has 8 (c0)" },
	{ "pend 10 gpus=4 pools=p",
	  "needs 4 GPUs on one node; the largest that it may use has 2 (n0)" },
	{ "pend 10 mem=64G pools=p", "needs 64G of memory on one node; the "
	                             "largest that it may use has 32G (n0)" },
	{ "pend 10 gpus=1 cpus=8 mem=1G pools=p",
	  "needs 8 CPUs on one node; the largest that it may use has 4 (n0)" },
	{ "pend 10 cpus=8 mem=32G pools=p",
	  "no node has 8 CPUs and 32G of memory together" },
	{ "pend 10 tasks=5 cpus=4 pools=p",
	  "has 5 tasks; at most 4 fit even if all nodes are empty" },
	{ "pend 10 tasks=5 nodes=5 pools=p",
	  "needs 5 nodes; 3 of those that it may use could hold one of its tasks" },
	{ "pend 10 tasks=4 cpus=4 tasks_per_node=1 pools=p",
	  "has 4 tasks; at most 3 fit even if all nodes are empty" },
	{ "pend 10 gpus=1.5 pools=p",
	  "asks for 1.5 GPUs a task; more than 1 must be a whole number" },
	{ "pend 10 rule=ib pools=p", "no node of its pools has the features "
	                             "that it asks for" },
	{ "pend 10 gpus=1 want=c0 pools=p",
	  "none of the nodes that it names has a GPU" },
	{ "pend 10 gpus=1 rule=ib pools=p",
	  "no node of its pools has the "
	  "features that it asks for, and such GPUs" },
	{ "pend 10 cpus=33", "needs 33 CPUs in all; queue 'q' never allows "
	                     "more than 32" },
	{ "pend 10 licenses=l:2", "needs 2 of licence 'l', which has 1" },
};

START_TEST(could_fit)
{
	static const char cluster[] =
	    "pool p\npool k ready=no\nqueue q limit=cpus:32\n"
	    "license l total=1\n"
	    "node n0 pool=p cpus=4 mem=32G gpus=2\n"
	    "node n1 pool=p cpus=4 mem=32G gpus=2 state=down\n"
	    "node c0 pool=p cpus=8 mem=16G\n";
	struct arena *arena = arena_new();
	struct buf text = { 0 };
	const struct snap *snap;
	struct err why = { 0 };
	int status;

	buf_printf(&text, "%s%s\n", cluster, fits[_i].jobs);
	snap = snap_read(text.data, arena, &why);
	ck_assert_msg(snap != NULL, "%s", why.text);
	status = sched_could_fit(snap, 0, &why);
	ck_assert_int_eq(status, fits[_i].why ? -1 : 0);
	if (fits[_i].why)
		ck_assert_str_eq(why.text, fits[_i].why);
	buf_free(&text);
	arena_free(arena);
}
END_TEST

/* Each node has one free GPU. Thousands of rows, which differ in memory,
 * request two GPUs on one node, and no job can be moved for them. The last row
 * may evict a job: the budget of the pass must not be used up before its
 * turn. */
START_TEST(many_ask_in_vain_for_others_to_move)
{
	enum { NODES = 200, ROWS = 4000 };
	struct arena *arena = arena_new();
	struct buf text = { 0 };
	const struct snap *snap;
	const struct plan *plan;
	struct err why = { 0 };

	buf_printf(&text,
	           "pool a\npool b\n"
	           "queue q priority=9 quota=gpus:1000\n"
	           "queue r quota=gpus:2\n"
	           "node n[0-%d] pool=a cpus=8 mem=64G gpus=2\n"
	           "node m pool=b cpus=8 mem=64G gpus=2\n",
	           NODES - 1);
	for (int i = 0; i < NODES; i++)
		buf_printf(&text,
		           "run %d queue=q preemptible cpus=5 gpus=1 on=n%d\n",
		           i + 1, i);
	buf_puts(&text, "run 1000 queue=r preemptible gpus=2 on=m\n");
	for (int i = 0; i < ROWS; i++)
		buf_printf(&text, "pend %d queue=q pools=a mem=%dM gpus=2\n",
		           2000 + i, 1000 + i);
	buf_puts(&text, "pend 9000 queue=r priority=1 pools=b gpus=2\n");
	snap = snap_read(text.data, arena, &why);
	ck_assert_msg(snap != NULL, "%s", why.text);
	plan = sched_plan(snap, arena);
	ck_assert_uint_eq(plan->nevictions, 1);
	ck_assert_uint_eq(plan->eviction[0].by, 9000);
	buf_free(&text);
	arena_free(arena);
}
END_TEST

/* Each node has tasks of eight elastic jobs, each of which runs on eight nodes;
 * a gang within its quota needs half of each node. */
START_TEST(elastic_jobs_on_many_nodes_make_way)
{
	enum { NODES = 1024, TASKS = 8 };
	struct arena *arena = arena_new();
	struct buf text = { 0 };
	const struct snap *snap;
	const struct plan *plan;
	struct err why = { 0 };

	buf_printf(&text,
	           "queue a quota=gpus:0\nqueue b quota=gpus:%d\n"
	           "node n[0-%d] cpus=64 mem=64G gpus=%d\n"
	           "pend 9000 queue=b tasks=%d gpus=%d\n",
	           NODES * TASKS, NODES - 1, TASKS, NODES, TASKS / 2);
	for (int i = 0; i < NODES; i++) {
		buf_printf(&text,
		           "run %d queue=a tasks=%d min_tasks=4 gpus=1 "
		           "preemptible on=",
		           i + 1, TASKS);
		for (int t = 0; t < TASKS; t++)
			buf_printf(&text, "%sn%d:g%d", t ? "," : "",
			           (i + t) % NODES, t);
		buf_puts(&text, "\n");
	}
	snap = snap_read(text.data, arena, &why);
	ck_assert_msg(snap != NULL, "%s", why.text);
	plan = sched_plan(snap, arena);
	ck_assert_msg(plan_check(snap, plan, &why) == 0, "%s", why.text);
	ck_assert_uint_eq(plan->nevictions, NODES);
	ck_assert_uint_eq(plan->eviction[0].by, 9000);
	buf_free(&text);
	arena_free(arena);
}
END_TEST

/* Job 1 is promised a start at 1500. Then 300 jobs of 1 CPU start on n1, within
 * the queue's limit of 310 CPUs; from 1100 on, one of them ends each second. */
START_TEST(many_start_after_a_promise)
{
	enum { JOBS = 300 };
	struct arena *arena = arena_new();
	struct buf text = { 0 };
	const struct snap *snap;
	const struct plan *plan;
	struct err why = { 0 };

	buf_puts(&text, "now 1000\npolicy depth=9\nqueue q limit=cpus:310\n"
	                "queue r\nnode n0 cpus=8\nnode n1 cpus=999\n"
	                "run 9 queue=r cpus=8 end=1500 on=n0\n"
	                "pend 1 queue=q want=n0 cpus=8 time=100\n");
	for (int i = 0; i < JOBS; i++)
		buf_printf(&text, "pend %d queue=q want=n1 cpus=1 time=%d\n",
		           10 + i, 100 + i);
	/* The limit leaves 160 CPUs for job 850 when 150 jobs have ended, and
	 * 100 CPUs for job 851 when 90 have ended. Job 851 ends before job 850
	 * starts; job 852 would not, so it starts after job 850 has ended. */
	buf_puts(&text, "pend 850 queue=q want=n1 cpus=160 time=50\n"
	                "pend 851 queue=q want=n1 cpus=100 time=50\n"
	                "pend 852 queue=q want=n1 cpus=100 time=61\n");
	snap = snap_read(text.data, arena, &why);
	ck_assert_msg(snap != NULL, "%s", why.text);
	plan = sched_plan(snap, arena);
	ck_assert_msg(plan_check(snap, plan, &why) == 0, "%s", why.text);
	ck_assert_uint_eq(plan->nstarts, JOBS);
	ck_assert_int_eq(plan->verdict[0].expected, 1500);
	ck_assert_int_eq(plan->verdict[JOBS + 1].expected, 1249);
	ck_assert_int_eq(plan->verdict[JOBS + 2].expected, 1189);
	ck_assert_int_eq(plan->verdict[JOBS + 3].expected, 1299);
	buf_free(&text);
	arena_free(arena);
}
END_TEST

/* A copy of a plan that a test can change. */
struct draft {
	struct plan plan;
	struct start start[8];
	struct verdict verdict[8];
	struct snap_task task[16];
	struct snap_cpu_use use[16];
};

static void another_snapshot(struct draft *d)
{
	d->plan.gen++;
}

static void row_without_verdict(struct draft *d)
{
	d->plan.nverdicts--;
}

static void start_of_nobody(struct draft *d)
{
	d->start[0].member = 99;
}

static void started_twice(struct draft *d)
{
	d->start[1] = d->start[0];
}

static void half_a_gang(struct draft *d)
{
	d->start[0].ntasks = 1;
}

static void on_a_drained_node(struct draft *d)
{
	d->task[0].node = 2;
}

static void two_on_one_node(struct draft *d)
{
	d->task[1] = d->task[0];
	d->task[1].cpu_first = d->task[2].cpu_first;
}

static void gpu_twice(struct draft *d)
{
	d->task[1].node = 0;
}

static void too_few_gpus(struct draft *d)
{
	d->task[0].gpus = 1;
}

static void gpu_that_is_not_there(struct draft *d)
{
	d->task[0].gpus = 0x30;
}

static void part_of_a_gpu(struct draft *d)
{
	d->task[0].gpu_milli = 500;
}

static void cpu_twice(struct draft *d)
{
	d->use[1].cpu = d->use[0].cpu;
}

static void cpu_that_is_not_there(struct draft *d)
{
	d->use[0].cpu = 99;
}

static void fewer_cpus(struct draft *d)
{
	d->use[0].milli = 500;
}

static void waits_without_reason(struct draft *d)
{
	d->verdict[2].why = WHY_None;
}

static void reason_of_the_ended(struct draft *d)
{
	d->verdict[2].why = WHY_TimeLimit;
}

static void waits_but_fits(struct draft *d)
{
	d->plan.nstarts = 1;
	d->verdict[1] = d->verdict[2];
	d->verdict[1].started = 0;
}

static void expected_in_the_past(struct draft *d)
{
	d->verdict[2].expected = 1;
}

static void other_starts(struct draft *d)
{
	d->verdict[0].started = 2;
}

static void shared_tasks(struct draft *d)
{
	d->start[1].task_first = 1;
}

static const struct {
	void (*spoil)(struct draft *);
	const char *why;
} spoiled[] = {
	{ another_snapshot, "not of this snapshot" },
	{ row_without_verdict, "not of this snapshot" },
	{ start_of_nobody, "start of nobody" },
	{ started_twice, "shares tasks with another" },
	{ half_a_gang, "starts with 1 tasks" },
	{ on_a_drained_node, "is on n2: not up" },
	{ two_on_one_node, "given twice" },
	{ gpu_twice, "given twice" },
	{ too_few_gpus, "has not the GPUs it asks for" },
	{ gpu_that_is_not_there, "has a GPU that n0 does not have" },
	{ part_of_a_gpu, "has not its part of the GPU" },
	{ cpu_twice, "CPU 0 of n0 is given twice" },
	{ cpu_that_is_not_there, "n0 has no CPU 99" },
	{ fewer_cpus, "has not the CPUs it asks for" },
	{ waits_without_reason, "waits without reason" },
	{ reason_of_the_ended, "waits for no reason there is" },
	{ waits_but_fits, "waits but fits in 'default'" },
	{ expected_in_the_past, "is expected in the past" },
	{ other_starts, "its row counts other starts" },
	{ shared_tasks, "shares tasks with another" },
};

START_TEST(verifier_sees)
{
	static const char world[] =
	    "now 1000\ngen 4\nnode n[0-1] cpus=4 threads=4 gpus=4\n"
	    "node n2 cpus=4 threads=4 gpus=4 state=drain\n"
	    "pend 10 tasks=2 gpus=2 cpus=2 tasks_per_node=1\n"
	    "pend 11 cpus=1\npend 12 cpus=4\npend 13 cpus=3\n";
	struct arena *arena = arena_new();
	const struct snap *snap = snap_read(world, arena, NULL);
	const struct plan *plan = sched_plan(snap, arena);
	struct draft d = { .plan = *plan };
	struct err why = { 0 };

	ck_assert_uint_eq(plan->nstarts, 2);
	memcpy(d.start, plan->start, 2 * sizeof(*d.start));
	memcpy(d.verdict, plan->verdict, 4 * sizeof(*d.verdict));
	memcpy(d.task, plan->task, 4 * sizeof(*d.task));
	memcpy(d.use, plan->cpu_use, 5 * sizeof(*d.use));
	d.plan.start = d.start;
	d.plan.verdict = d.verdict;
	d.plan.task = d.task;
	d.plan.cpu_use = d.use;
	ck_assert_msg(plan_check(snap, &d.plan, &why) == 0, "%s", why.text);
	spoiled[_i].spoil(&d);
	ck_assert_int_eq(plan_check(snap, &d.plan, &why), -1);
	ck_assert_msg(strstr(why.text, spoiled[_i].why) != NULL,
	              "want '%s', got '%s'", spoiled[_i].why, why.text);
	arena_free(arena);
}
END_TEST

/* Snapshots in which job 10 may not start on n0, and why. */
static const struct {
	const char *line, *why;
} forbidding[] = {
	{ "node n0 cpus=4 taints=x\npend 10", "is on n0: tainted" },
	{ "node n0 cpus=4 features=y\npend 10 rule=f",
	  "does not meet the constraint" },
	{ "node n0 cpus=4 features=y\npend 10 rule=y,!",
	  "does not meet the constraint" },
	{ "node n0 cpus=4 features=y=1\npend 10 rule=y>1",
	  "does not meet the constraint" },
	{ "node n0 cpus=4 features=y=1\npend 10 rule=y=",
	  "does not meet the constraint" },
	{ "node n0 cpus=4 features=y taints=x\npend 10 rule=y,x,!,|",
	  "is on n0: tainted" },
	{ "node n0 cpus=4\nnode n1 cpus=4\npend 10 want=n1",
	  "not in its node list" },
	{ "node n0 cpus=4\npend 10 avoid=n0", "excluded" },
	{ "pool p\npool o\nnode n0 cpus=4\npend 10 pools=o",
	  "not in its pools" },
	{ "pool p ready=no\nnode n0 cpus=4\npend 10",
	  "its runner is not ready" },
	{ "node n0 cpus=4 retry_at=99\npend 10", "starts fail there" },
	{ "node n0 cpus=4 mem=1G\npend 10 mem=2G", "memory of n0" },
	{ "node n0 cpus=4 cpus_free=0.5\npend 10", "CPUs of n0" },
	{ "node n0 cpus=4\nrun 1 on=n0\npend 10 exclusive", "not for two" },
	{ "node n0 cpus=4\nrun 1 on=n0 exclusive\npend 10", "not for two" },
	{ "license l total=1\nnode n0 cpus=4\npend 10 licenses=l:2",
	  "licence 'l' is given twice" },
	{ "queue q limit=cpus:0.5\nnode n0 cpus=4\npend 10",
	  "queue 'q' is over its limit" },
	{ "queue q max_jobs=0\nnode n0 cpus=4\npend 10",
	  "queue 'q' is over its number of jobs" },
	{ "queue q max_jobs_user=0\nnode n0 cpus=4\npend 10",
	  "queue 'q' is over its limit for a user" },
	{ "node n0 cpus=4\npend 10*1/0", "starts or claims too often" },
	{ "node n0 cpus=4\npend 10 tasks=2", "starts with 1 tasks" },
};

START_TEST(verifier_forbids)
{
	struct arena *arena = arena_new();
	const struct snap *easy =
	    snap_read("node n0 cpus=4\npend 10", arena, NULL);
	const struct plan *plan = sched_plan(easy, arena);
	const struct snap *snap;
	struct err why = { 0 };

	snap = snap_read(forbidding[_i].line, arena, &why);
	ck_assert_msg(snap != NULL, "%s", why.text);
	ck_assert_uint_eq(plan->nstarts, 1);
	ck_assert_int_eq(plan_check(easy, plan, &why), 0);
	ck_assert_int_eq(plan_check(snap, plan, &why), -1);
	ck_assert_msg(strstr(why.text, forbidding[_i].why) != NULL,
	              "%s: want '%s', got '%s'", forbidding[_i].line,
	              forbidding[_i].why, why.text);
	arena_free(arena);
}
END_TEST

/* The plan made for the snapshot `easy` evicts job 12. For the snapshot `line`
 * this plan is wrong: the eviction is forbidden, because of `why`. */
#define PREEMPT "now 1000\nqueue q\nnode n0 cpus=2\nrun 11 on=n0\n"
#define RECLAIM                                                  \
	"now 1000\nqueue a quota=gpus:1\nqueue b quota=gpus:1\n" \
	"node n0 cpus=8 gpus=2\nrun 11 queue=b gpus=1 on=n0\n"
#define SPLIT                                                     \
	"now 1000\npolicy consolidate=no\nqueue a quota=gpus:1\n" \
	"queue b quota=gpus:1\nnode n[0-1] cpus=8 gpus=1\n"       \
	"run 11 queue=b gpus=1 preemptible on=n0\n"
#define MOVE "now 1000\nqueue q\nnode n[0-1] cpus=4\nrun 11 cpus=2 on=n1\n"

static const struct {
	const char *easy, *line, *why;
} unlawful[] = {
	{ PREEMPT "run 12 preemptible on=n0\npend 20 priority=5",
	  PREEMPT "run 12 on=n0\npend 20 priority=5", "may not be evicted" },
	{ PREEMPT "run 12 preemptible on=n0\npend 20 priority=5",
	  PREEMPT "run 12 preemptible ending on=n0\npend 20 priority=5",
	  "leaves already" },
	{ PREEMPT "run 12 preemptible on=n0\npend 20 priority=5",
	  PREEMPT "run 12 preemptible safe=1001 on=n0\npend 20 priority=5",
	  "may not be evicted yet" },
	{ PREEMPT "run 12 preemptible on=n0\npend 20 priority=5",
	  PREEMPT "run 12 preemptible on=n0\npend 20 priority=5 barred",
	  "is evicted for job 20, which failed to start" },
	{ PREEMPT "run 12 preemptible on=n0\npend 20 priority=5",
	  PREEMPT "run 12 preemptible on=n0\npend 20",
	  "is not of lower priority than job 20" },
	{ PREEMPT "run 12 preemptible on=n0\npend 20 priority=5",
	  PREEMPT "run 12 preemptible on=n0\npend 21 priority=5",
	  "is evicted for nobody" },
	{ PREEMPT "run 12 preemptible on=n0\npend 20 priority=5",
	  PREEMPT "run 12 preemptible on=n0\npend 20 cpus=2 priority=5",
	  "claims on n0 do not fit" },
	{ "now 1000\nqueue q\nnode n0 cpus=2\nrun 11 on=n0\n"
	  "run 12 preemptible on=n0\npend 20 priority=5",
	  "now 1000\nqueue q\nnode n0 cpus=3\nrun 11 on=n0\n"
	  "run 12 preemptible on=n0\npend 20 priority=5",
	  "is evicted though 1 of its tasks are not in the way" },
	{ PREEMPT "run 12 preemptible on=n0\npend 20 priority=5",
	  "now 1000\nqueue q limit=cpus:1\nnode n0 cpus=2\nrun 11 on=n0\n"
	  "run 12 preemptible on=n0\npend 20 priority=5",
	  "queue 'q' is over its limit" },
	{ PREEMPT "run 12 tasks=2 preemptible on=n0\npend 20 priority=5",
	  PREEMPT "run 12 tasks=2 preemptible suspended on=n0\n"
	          "pend 20 priority=5",
	  "of its tasks are not in the way" },
	{ RECLAIM "run 12 queue=b gpus=1 preemptible on=n0\n"
	          "pend 20 queue=a gpus=1",
	  RECLAIM "run 12 queue=b gpus=1 preemptible on=n0\n"
	          "pend 20 queue=b gpus=1",
	  "share of queue 'a': more than it asks for" },
	{ RECLAIM "run 12 queue=b gpus=1 preemptible on=n0\n"
	          "pend 20 queue=a gpus=1",
	  "now 1000\nqueue a quota=gpus:1\nqueue b quota=gpus:2\n"
	  "node n0 cpus=8 gpus=2\nrun 11 queue=b gpus=1 on=n0\n"
	  "run 12 queue=b gpus=1 preemptible on=n0\npend 20 queue=a gpus=1",
	  "share of queue 'b': less than its quota" },
	{ RECLAIM "run 12 queue=b gpus=1 preemptible on=n0\n"
	          "pend 20 queue=a gpus=1",
	  "now 1000\nqueue a quota=gpus:1\nqueue b quota=gpus:1\n"
	  "node n0 cpus=8 gpus=2\nrun 11 queue=a gpus=1 on=n0\n"
	  "run 12 queue=b gpus=1 preemptible on=n0\npend 20 queue=a gpus=1",
	  "queue 'a' takes more than its share" },
	{ SPLIT "run 12 queue=b gpus=1 preemptible on=n1\n"
	        "pend 20 queue=a gpus=1 want=n1",
	  SPLIT "run 12 queue=b gpus=1 priority=5 preemptible on=n1\n"
	        "pend 20 queue=a gpus=1 want=n1",
	  "although jobs that it could preempt use what its queue has above" },
	{ MOVE "run 12 cpus=1 preemptible on=n0\npend 20 cpus=4",
	  "now 1000\npolicy consolidate=no\nqueue q\nnode n[0-1] cpus=4\n"
	  "run 11 cpus=2 on=n1\nrun 12 cpus=1 preemptible on=n0\n"
	  "pend 20 cpus=4",
	  "is moved, which nobody wants" },
	{ MOVE "run 12 cpus=1 preemptible on=n0\npend 20 cpus=4",
	  "now 1000\nqueue q\nnode n[0-1] cpus=4\nrun 11 cpus=4 on=n1\n"
	  "run 12 cpus=1 preemptible on=n0\npend 20 cpus=4",
	  "claims on n1 do not fit" },
	{ "now 1000\nqueue q\nnode n0 cpus=4\n"
	  "run 12 tasks=3 min_tasks=1 on=n0",
	  "now 1000\nqueue q\nnode n0 cpus=4\n"
	  "run 12 tasks=2 min_tasks=1 on=n0",
	  "grows too much" },
	{ "now 1000\nqueue q\nnode n0 cpus=4\n"
	  "run 12 tasks=3 min_tasks=1 on=n0",
	  "now 1000\nqueue q limit=cpus:2\nnode n0 cpus=4\n"
	  "run 12 tasks=3 min_tasks=1 on=n0",
	  "queue 'q' is over its limit" },
};

/* The plan made for the snapshot `easy` promises job 20 a start at 2000 on n0.
 * For the snapshot `line` this plan is wrong because of `why`. */
#define PROMISE(end)                              \
	"now 1000\nqueue q\nnode n[0-1] cpus=2\n" \
	"run 11 cpus=2 time=1500 start=500 end=" end " on=n0\n"

static const struct {
	const char *easy, *line, *why;
} promising[] = {
	/* In `line` job 11 ends too late. */
	{ PROMISE("2000") "run 12 cpus=2 on=n1\npend 20 cpus=2",
	  PROMISE("2001") "run 12 cpus=2 on=n1\npend 20 cpus=2",
	  "job 20: is promised 2000, when there is no room for it" },
	/* Job 21 starts before 2000 and has no time limit. */
	{ PROMISE("2000") "run 12 cpus=1 on=n1\npend 20 cpus=2\n"
	                  "pend 21 cpus=1 want=n1",
	  "now 1000\nqueue q\nnode n0 cpus=2\nnode n1 cpus=2\n"
	  "run 11 cpus=1 time=1500 start=500 end=2000 on=n1\n"
	  "run 12 cpus=1 on=n0\npend 20 cpus=2\npend 21 cpus=1 want=n1",
	  "job 20: is promised 2000, when there is no room for it" },
	/* Job 12 moves to n0 for job 21, and its time limit starts anew. */
	{ "now 1000\nqueue q\nnode n0 cpus=4\nnode n1 cpus=2\nnode n2 cpus=3\n"
	  "run 11 cpus=3 time=1500 start=500 end=2000 on=n0\n"
	  "run 12 cpus=1 time=900 preemptible start=500 end=1400 on=n1\n"
	  "run 13 cpus=2 on=n2\npend 20 cpus=4\npend 21 cpus=2",
	  "now 1000\nqueue q\nnode n0 cpus=4\nnode n1 cpus=2\nnode n2 cpus=3\n"
	  "run 11 cpus=3 time=1500 start=500 end=2000 on=n0\n"
	  "run 12 cpus=1 time=2900 preemptible start=500 end=3400 on=n1\n"
	  "run 13 cpus=2 on=n2\npend 20 cpus=4\npend 21 cpus=2",
	  "job 20: is promised 2000, when there is no room for it" },
	/* Only job 21, which is behind job 20, prevents the start that the
	 * previous plan promised. */
	{ PROMISE("2000") "run 12 cpus=2 on=n1\npend 20 cpus=2\npend 21 cpus=2",
	  PROMISE("2000") "run 12 cpus=2 time=500 start=500 end=1500 on=n1\n"
	                  "pend 20 cpus=2\npend 21 cpus=2\npromise 20 1500 n1",
	  "job 20: is promised 2000, not 1500, for jobs behind it" },
};

START_TEST(verifier_keeps_promises)
{
	struct arena *arena = arena_new();
	struct err why = { 0 };
	const struct snap *easy = snap_read(promising[_i].easy, arena, &why);
	const struct snap *snap = snap_read(promising[_i].line, arena, &why);
	const struct plan *plan;

	ck_assert_msg(easy && snap, "%s", why.text);
	plan = sched_plan(easy, arena);
	ck_assert_uint_eq(plan->npromises > 0, 1);
	ck_assert_int_eq(plan->promise[0].start, 2000);
	ck_assert_msg(plan_check(easy, plan, &why) == 0, "%s", why.text);
	ck_assert_int_eq(plan_check(snap, plan, &why), -1);
	ck_assert_msg(strstr(why.text, promising[_i].why) != NULL,
	              "want '%s', got '%s'", promising[_i].why, why.text);
	arena_free(arena);
}
END_TEST

/* The plan made for another snapshot asks for node a. For the snapshot `line`
 * this plan is wrong because of `why`. */
static const struct {
	const char *line, *why;
} asking[] = {
	{ "node a cpus=4 retry_at=1200 coming=asked\npend 20 cpus=4",
	  "a is needlessly asked for" },
	{ "node a cpus=4 retry_at=1300 coming=off\npend 20 cpus=4",
	  "is promised 1200 on a, which is not ready then" },
};

START_TEST(verifier_checks_what_is_asked_for)
{
	struct arena *arena = arena_new();
	struct err why = { 0 };
	const struct snap *easy = snap_read(
	    "now 1000\nnode a cpus=4 retry_at=1200 coming=off\npend 20 cpus=4",
	    arena, &why);
	const struct snap *snap;
	struct buf line = { 0 };
	const struct plan *plan;

	ck_assert_msg(easy != NULL, "%s", why.text);
	buf_printf(&line, "now 1000\n%s", asking[_i].line);
	snap = snap_read(line.data, arena, &why);
	ck_assert_msg(snap != NULL, "%s", why.text);
	plan = sched_plan(easy, arena);
	ck_assert_uint_eq(plan->nasked, 1);
	ck_assert_msg(plan_check(easy, plan, &why) == 0, "%s", why.text);
	ck_assert_int_eq(plan_check(snap, plan, &why), -1);
	ck_assert_msg(strstr(why.text, asking[_i].why) != NULL,
	              "want '%s', got '%s'", asking[_i].why, why.text);
	buf_free(&line);
	arena_free(arena);
}
END_TEST

START_TEST(verifier_protects)
{
	struct arena *arena = arena_new();
	const struct snap *easy = snap_read(unlawful[_i].easy, arena, NULL);
	const struct snap *snap = snap_read(unlawful[_i].line, arena, NULL);
	const struct plan *plan;
	struct err why = { 0 };

	ck_assert(easy && snap);
	plan = sched_plan(easy, arena);
	ck_assert_uint_eq(plan->nevictions + plan->ngrows > 0, 1);
	ck_assert_msg(plan_check(easy, plan, &why) == 0, "%s", why.text);
	ck_assert_msg(plan_check(snap, plan, &why) < 0, "%s: no '%s'",
	              unlawful[_i].line, unlawful[_i].why);
	ck_assert_msg(strstr(why.text, unlawful[_i].why) != NULL,
	              "%s: want '%s', got '%s'", unlawful[_i].line,
	              unlawful[_i].why, why.text);
	arena_free(arena);
}
END_TEST

/* Jobs 20 and 10 share a row, in this order. Job 15, which was submitted last,
 * takes n1, where the last plan promised job 10 a start. With age=0 job 15
 * comes before the row, so job 10 may start later; with age=1000 job 15 comes
 * behind the row. */
#define ROW_OF_TWO                                                     \
	"now 1000\nqueue q\nnode n[0-2] cpus=2\n"                      \
	"run 11 cpus=2 end=1500 on=n0\nrun 12 cpus=2 end=1600 on=n1\n" \
	"run 13 cpus=2 end=2000 on=n2\n"                               \
	"pend 20,10 cpus=2 time=900 since=100,200\n"                   \
	"pend 15 cpus=2 time=900 want=n1 since=900\n"                  \
	"promise 10 1600 n1\npromise 20 1500 n0\n"

static int64_t promised_to(const struct plan *plan, uint64_t job)
{
	for (uint32_t i = 0; i < plan->npromises; i++) {
		if (plan->promise[i].job == job)
			return plan->promise[i].start;
	}
	return SNAP_NEVER;
}

START_TEST(verifier_knows_who_is_behind)
{
	struct arena *arena = arena_new();
	struct err why = { 0 };
	const struct snap *equal =
	    snap_read("policy depth=9 age=0\n" ROW_OF_TWO, arena, &why);
	const struct snap *aged =
	    snap_read("policy depth=9 age=1000\n" ROW_OF_TWO, arena, &why);
	const struct plan *plan;

	ck_assert_msg(equal && aged, "%s", why.text);
	plan = sched_plan(equal, arena);
	ck_assert_int_eq(promised_to(plan, 10), 2000);
	ck_assert_msg(plan_check(equal, plan, &why) == 0, "%s", why.text);
	ck_assert_int_eq(plan_check(aged, plan, &why), -1);
	ck_assert_str_eq(why.text, "plan: job 10: is promised 2000, not 1600, "
	                           "for jobs behind it");
	plan = sched_plan(aged, arena);
	ck_assert_int_eq(promised_to(plan, 10), 1600);
	ck_assert_msg(plan_check(aged, plan, &why) == 0, "%s", why.text);
	arena_free(arena);
}
END_TEST

/* The plan is longer than the initial size of every array that grows. */
START_TEST(many_jobs)
{
	struct arena *arena = arena_new();
	struct err why = { 0 };
	const struct snap *snap =
	    snap_read("queue q max_jobs_user=9999\n"
	              "node n[00-49] cpus=64 gpus=8 threads=64 core=0-31,0-31\n"
	              "pend 1-300,400*100 cpus=1.5 gpus=0.5\n"
	              "pend 301 tasks=200 cpus=2.25\n"
	              "pend 302-303 tasks=40 nodes=20 cpus=3.5\n"
	              "pend 304 tasks=4000 cpus=0.3\n"
	              "pend 305 tasks=500 cpus=1.7\n",
	              arena, &why);
	const struct plan *plan;

	ck_assert_msg(snap != NULL, "%s", why.text);
	plan = sched_plan(snap, arena);
	ck_assert_msg(plan_check(snap, plan, &why) == 0, "%s", why.text);
	/* all but job 305, which does not fit */
	ck_assert_uint_eq(plan->nstarts, 404);
	arena_free(arena);
}
END_TEST

SUITE(sched_plan)
{
	tcase_add_test(tc, many_ask_in_vain_for_others_to_move);
	tcase_add_test(tc, elastic_jobs_on_many_nodes_make_way);
	tcase_add_test(tc, many_start_after_a_promise);
	tcase_add_loop_test(tc, could_fit, 0, (int)ARRAY_SIZE(fits));
	tcase_add_loop_test(tc, verifier_sees, 0, (int)ARRAY_SIZE(spoiled));
	tcase_add_loop_test(tc, verifier_protects, 0,
	                    (int)ARRAY_SIZE(unlawful));
	tcase_add_loop_test(tc, verifier_keeps_promises, 0,
	                    ARRAY_SIZE(promising));
	tcase_add_test(tc, verifier_knows_who_is_behind);
	tcase_add_loop_test(tc, verifier_checks_what_is_asked_for, 0,
	                    ARRAY_SIZE(asking));
	tcase_add_loop_test(tc, verifier_forbids, 0,
	                    (int)ARRAY_SIZE(forbidding));
	tcase_add_test(tc, many_jobs);
}
