/*
 * test_random.c - the plans of random snapshots are valid
 *
 * Clusters and jobs are random. They are made as text, so that a snapshot whose
 * plan is wrong can be put into tests/scenario. The plan is checked; and the
 * snapshot, if written and read again, must give the same plan.
 */
#include <string.h>

#include "aischedd/sched/check/plan_check.h"
#include "aischedd/sched/text/text.h"
#include "tests/unit/check.h"
#include "tests/unit/dice.h"

enum { WORLDS = 600 };

static uint32_t add_nodes(struct dice *d, struct buf *t)
{
	uint32_t n = 2 + roll(d, 8);

	dice_puts(d, t, "policy age=1%s%s%s%s%s\n",
	          ANY("", "", " order=least_served", " order=least_left",
	              " order=smallest"),
	          ANY("", "", " backfill=no"), ANY("", "", " consolidate=no"),
	          ANY("", "", " hold_after=0"), ANY("", "", "", " budget=3"));
	dice_puts(d, t, "pool a order=%s\npool b order=%s%s\n",
	          ANY("pack", "spread"), ANY("pack", "spread"),
	          ANY("", "", "", "", " ready=no"));
	buf_puts(
	    t,
	    "array a limit=2\narray b limit=5\n"
	    "device da\ndevice db\nlevel zone\nlevel rack\ndomain a\ndomain b\n"
	    "domain a/1 parent=a level=rack\n"
	    "domain a/2 parent=a level=rack\n"
	    "domain b/1 parent=b level=rack\n");
	for (uint32_t i = 0; i < n; i++) {
		buf_printf(t, "node n%u", (unsigned)i);
		dice_puts(
		    d, t, " cpus=%s mem=%s%s%s%s%s%s%s%s%s\n",
		    ANY("4", "8", "8 threads=8 core=0*2,1*2,2*2,3*2",
		        "6 threads=6 numa=0*3,1*3",
		        "8 threads=8 numa=0*4,1*4 numa_mem=8G,8G",
		        "9 threads=9 numa=0-8 "
		        "numa_mem=2G,2G,1G,3G,2G,2G,2G,1G,1G"),
		    ANY("16G", "64G", "16G tmp=20G", "64G tmp=9G"),
		    ANY("", " gpus=4 gpu_link=0*2,1*2",
		        " gpus=4 gpu_type=x*2,y*2", " gpus=2 gpu_type=x",
		        " gpus=8 gpu_numa=0*4,1*4", " gpus=2 mig=h100-80",
		        " gpus=4 gpu_numa=0*2,1*2 mig=a30",
		        " gpus=2 parts=3g.40gb@0/3g.40gb@4,-",
		        " gpus=2 mig=h100-80 parts=1g.10gb@5/1g.10gb@6!,-",
		        " gpus=3 mig=h100-80 parts=@4!/@5!,whole,split",
		        " gpus=2 mig=a30 parts=split/@0!,-",
		        " gpus=2 parts=7g.80gb@0,4g.40gb@0/2g.20gb@4",
		        " gpus=2 gpu_mem=40G", " gpus=4 gpu_mem=80G",
		        " gpus=4 gpu_type=x*2,y*2 gpu_mem=24G",
		        " gpus=8 gpu_numa=0*4,1*4 gpu_link=0*2,1*2,2*2,3*2",
		        " gpus=4 gpu_root=1*2,2*2"),
		    ANY("", "", " features=f", " features=f,g", " features=k=1",
		        " features=k=2,h=a"),
		    ANY("", "", "", " taints=t",
		        " taints=s:PreferNoSchedule=1"),
		    ANY("", "", "", " pool=b"),
		    ANY("", " domain=a", " domain=a/1", " domain=a/2",
		        " domain=a/1", " domain=b/1", " domain=b/1"),
		    ANY("", "", "", " slots=1", " slots=3", " chooses",
		        " weight=2", " weight=0"),
		    ANY("", " devices=da:2", " devices=da:4,db:1",
		        " devices=da:2,db:1 pieces=da@1/0,da@2/0,db@2/-"),
		    ANY("", "", "", "", " state=drain", " state=down",
		        " retry_at=1050", " cpus_free=-1",
		        " retry_at=1060 coming=off",
		        " retry_at=1030 coming=asked"));
	}
	return n;
}

static const char *const quota[] = {
	"",
	"",
	" quota=gpus:0",
	" quota=gpus:2",
	" quota=cpus:4,gpus:1",
	" quota=cpus:8,mem:16G weight=0",
	" quota=gpus:3 weight=3 priority=1",
	NULL,
};

static void add_queues(struct dice *d, struct buf *t)
{
	dice_puts(d, t,
	          "queue top%s%s\nqueue l parent=top%s%s%s\n"
	          "queue r parent=top%s%s\nqueue o%s%s\n"
	          "license lic total=%s\nreservation r %s nodes=n0 users=u\n",
	          ANY("", "", "", " limit=cpus:16,gpus:8", " max_jobs=9"),
	          quota, ANY("", "", " limit=mem:32G", " limit=gpus:2.5"),
	          ANY("", "", " max_jobs_user=2"), quota,
	          ANY("", "", " max_gpus_user=2", " max_jobs=2"), quota, quota,
	          ANY("", "", " max_wait=0"), ANY("1", "3"),
	          ANY("start=900 end=1200", "start=900 end=5000",
	              "start=1500 end=2500", "start=900000 end=950000",
	              "start=900000 end=950000", "start=900000 end=950000",
	              "start=900000 end=950000"));
}

static void add_shape(struct dice *d, struct buf *t)
{
	/* Some jobs request little, so that more of the running jobs fit on
	 * their nodes and can be evicted. */
	if (!roll(d, 3)) {
		dice_puts(d, t, " cpus=%s gpus=%s queue=%s user=%s",
		          ANY("1", "2", "3"), ANY("0", "0", "1"),
		          ANY("l", "r", "o"), ANY("u", "v"));
		return;
	}
	dice_puts(
	    d, t, " cpus=%s mem=%s gpus=%s%s%s%s%s%s%s%s%s%s queue=%s user=%s",
	    ANY("1", "1", "2", "4", "0.5", "1.25", "0", "0.3"),
	    ANY("0", "1G", "8G", "20G", "0 tmp=3G", "1G tmp=8G", "1G tmp=20G"),
	    ANY("0", "0", "0", "1", "1", "2", "0.5", "0.3", "4", "1 gpu_type=x",
	        "2 gpu_type=y", "0.5 gpu_type=x", "0.5 profile=3g.40gb",
	        "0.125 profile=1g.10gb", "0.5 profile=2g.12gb",
	        "1 profile=7g.80gb", "0.834 gpu_mem=20G", "0.5 gpu_mem=20G",
	        "0.25 gpu_mem=10G", "0.999 gpu_mem=30G gpu_type=x",
	        "1 gpu_mem=40G"),
	    ANY("", "", "", "", " rule=f", " rule=f,g,|", " rule=t",
	        " rule=f,t,g,&,|", " rule=f,*2", " rule=f,g,*1,&",
	        " rule=f,*1,g,*2,&", " rule=f,!", " rule=f,!,t,|", " rule=k",
	        " rule=k=1", " rule=k>1", " rule=k,!,h,!,&", " rule=h,!,*2",
	        " rule=k<2,f,|,*1", " rule=t,t,!,|",
	        " rule=s:PreferNoSchedule,s:PreferNoSchedule,!,|"),
	    ANY("", "", "", "", " prefer=f", " prefer=f,!", " prefer=f,g,&,f,g",
	        " prefer=k>1,k=1,f,|"),
	    ANY("", "", "", "", " need=zone", " need=rack", " like=rack",
	        " need=zone like=rack"),
	    ANY("", "", "", " numa=strict", " numa=prefer", " numa=tight"),
	    ANY("", "", " links=strict", " links=any"),
	    ANY("", "", "", "", "", " want=n0,n1", " avoid=n0", " shun=n0",
	        " shun=n0,n1 beside=1,3", " want=n0,n1 shun=n1"),
	    ANY("", "", "", "", " devices=da:1", " devices=da:2",
	        " devices=da:3", " devices=da:1,db:1", " devices=da:1 near=da",
	        " devices=da:1,db:1 near=da,db"),
	    ANY("", "", "", "", "", "", " exclusive", " licenses=lic"),
	    ANY("", "", "", " pools=a", " time=600", " reservation=r"),
	    ANY("l", "r", "o"), ANY("u", "v"));
}

/* Append the request of a job with segments, which has a fixed size and needs a
 * level of the topology. */
static void add_segments(struct dice *d, struct buf *t)
{
	dice_puts(d, t, " cpus=%s gpus=%s%s need=%s%s%s queue=%s user=%s",
	          ANY("1", "2", "0.5"), ANY("0", "1", "2", "0.5"),
	          ANY("", "", " numa=strict", " links=strict"),
	          ANY("zone", "rack", "rack"),
	          ANY(" tasks=4 segment=2", " tasks=6 segment=2",
	              " tasks=6 segment=3", " tasks=3 segment=1",
	              " tasks=4 segment=2 tasks_per_node=3",
	              " tasks=4 segment=2 nodes=2 tasks_per_node=2",
	              " tasks=3 segment=1 nodes=3 tasks_per_node=1",
	              " tasks=8 segment=4 nodes=4 tasks_per_node=2"),
	          ANY("", "", "", " exclusive", " time=600"),
	          ANY("l", "r", "o"), ANY("u", "v"));
}

/* A job that is spread has a fixed size, and no other needs of the topology. */
static void add_spread(struct dice *d, struct buf *t)
{
	dice_puts(d, t, " cpus=%s gpus=%s%s%s=%s%s%s%s queue=%s user=%s",
	          ANY("1", "2", "0.5"),
	          ANY("0", "0", "1", "0.5", "1 gpu_type=x", "0.5 gpu_mem=20G"),
	          ANY("", "", "", " numa=strict", " links=strict"),
	          ANY(" spread", " spread", " spread_like"),
	          ANY("zone", "rack", "rack"),
	          ANY(" tasks=2", " tasks=3", " tasks=5", " tasks=8",
	              " tasks=4 tasks_per_node=2",
	              " tasks=4 nodes=2 tasks_per_node=2",
	              " tasks=3 nodes=3 tasks_per_node=1"),
	          ANY("", "", "", " rule=f", " want=n0,n1", " avoid=n0",
	              " shun=n0,n1"),
	          ANY("", "", "", " exclusive", " time=600", " reservation=r",
	              " prefer=f"),
	          ANY("l", "r", "o"), ANY("u", "v"));
}

/* Add the request of a job that is spread over nodes: each node is a domain. */
static void add_spread_on_nodes(struct dice *d, struct buf *t)
{
	dice_puts(d, t, " cpus=%s gpus=%s tasks=%s %s=node%s queue=%s user=%s",
	          ANY("1", "2", "0.5"), ANY("0", "1", "0.5"),
	          ANY("2", "3", "5", "9"),
	          ANY("spread", "spread", "spread_like"),
	          ANY("", "", "", " rule=f", " want=n0,n1", " time=600"),
	          ANY("l", "r", "o"), ANY("u", "v"));
}

/* Add jobs that are running or ending, on any nodes, whether they fit there or
 * not. */
static void add_runs(struct dice *d, struct buf *t, uint32_t nnodes)
{
	uint32_t nruns = roll(d, 10);

	for (uint32_t i = 0; i < nruns; i++) {
		bool suspended = !roll(d, 6),
		     ending = !suspended && !roll(d, 5);
		struct buf shape = { 0 };
		uint32_t second;
		bool firm;

		add_shape(d, &shape);
		/* not elastic: the job has lost tasks with a node */
		buf_puts(
		    &shape,
		    PICK(d, "", "", " tasks=4 min_tasks=1",
		         " tasks=3 min_tasks=2", " tasks=6 min_tasks=2 nodes=3",
		         suspended ? "" : " tasks=3",
		         suspended ? "" : " tasks=4 nodes=3",
		         suspended ? "" : " tasks=5 nodes=2",
		         suspended ? "" : " tasks=6 nodes=3 tasks_per_node=2"));
		firm = !roll(d, 4);
		buf_printf(t, "run %u%s%s%s", (unsigned)i + 1, shape.data,
		           suspended ? " suspended" : "",
		           ending ? " ending" : "");
		dice_puts(d, t, "%s%s%s priority=%s start=%s",
		          firm ? ANY("")
		               : ANY(" preemptible", " preemptible freezable"),
		          ANY("", "", "", " safe=1100"),
		          ANY("", " end=1100", " end=900", " end=5000"),
		          ANY("0", "0", "5"), ANY("0", "500", "990"));
		buf_puts(t, PICK(d, "", " served=30000", " served=400000"));
		buf_puts(t, PICK(d, "", "", "", " array=a", " array=b"));
		if (suspended)
			buf_puts(t, PICK(d, "", " ran=300", " ran=599"));
		if (!roll(d, 4))
			buf_printf(t, " claim=n%u", (unsigned)roll(d, nnodes));
		second = roll(d, nnodes);
		buf_printf(t, " on=n%u,n%u\n", (unsigned)roll(d, nnodes),
		           (unsigned)second);
		if (suspended && roll(d, 3))
			buf_printf(t, "pend %u%s resumes%s\n", (unsigned)i + 1,
			           shape.data, firm ? " nonpreemptible" : "");
		buf_free(&shape);
	}
}

static void add_rows(struct dice *d, struct buf *t, uint32_t nnodes)
{
	uint32_t job = 20, nrows = 1 + roll(d, 16);

	for (uint32_t i = 0; i < nrows; i++) {
		uint32_t n = roll(d, 5) ? 1 + roll(d, 5) : 0;
		/* A requeued job is behind jobs with larger ids that have
		 * waited longer. */
		uint32_t requeued = n && !roll(d, 3) ? job++ : 0;

		/* A row with a claim has only one job. */
		buf_printf(t, "pend %u", (unsigned)job++);
		if (!n)
			buf_printf(t, " claim=n%u", (unsigned)roll(d, nnodes));
		for (uint32_t k = 1; k < n; k++, job += 1 + roll(d, 3))
			buf_printf(t, ",%u%s", (unsigned)job,
			           PICK(d, "", "", "", "*3/1", "*4"));
		if (requeued)
			buf_printf(t, ",%u since=", (unsigned)requeued);
		for (uint32_t k = 0; requeued && k < n; k++)
			buf_puts(t, "0,");
		if (requeued)
			buf_puts(t, "500");
		if (!roll(d, 6)) {
			add_segments(d, t);
		} else if (!roll(d, 6)) {
			add_spread(d, t);
		} else if (!roll(d, 8)) {
			add_spread_on_nodes(d, t);
		} else {
			add_shape(d, t);
			buf_puts(t, PICK(d, "", "", " tasks=2", " tasks=5",
			                 " tasks=4 nodes=2", " tasks=3 nodes=3",
			                 " tasks=4 min_tasks=1"));
			buf_puts(t, PICK(d, "", "", " tasks_per_node=1",
			                 " tasks_per_node=2"));
		}
		/* The state sees to it that claims are within the limit. */
		if (n)
			buf_puts(t, PICK(d, "", "", " array=a", " array=b"));
		dice_puts(d, t, " priority=%s%s%s%s\n", ANY("0", "5", "9"),
		          ANY("", "", " served=50000", " served=500"),
		          ANY("", "", "", " nonpreemptible"),
		          ANY("", "", "", "", "", " barred"));
	}
}

/* The positions in queues that were seen so far. */
struct positions {
	uint32_t n, queue[512], position[512];
};

/* Check that no other job of the queue has the same position. */
static void note_position(struct positions *all, uint32_t queue,
                          uint32_t position, const char *world)
{
	for (uint32_t i = 0; position && i < all->n; i++)
		ck_assert_msg(
		    all->queue[i] != queue || all->position[i] != position,
		    "position %u twice in\n%s", (unsigned)position, world);
	ck_assert_uint_lt(all->n, ARRAY_SIZE(all->queue));
	all->queue[all->n] = queue;
	all->position[all->n++] = position;
}

static void check_positions(const struct snap *s, const struct plan *plan,
                            const char *world)
{
	struct positions all = { 0 };

	for (uint32_t row = 0; row < plan->nverdicts; row++)
		note_position(&all, s->pend.queue[row],
		              plan->verdict[row].position, world);
	for (uint32_t i = 0; i < plan->npromised; i++)
		note_position(&all, s->pend.queue[plan->promised[i].row],
		              plan->promised[i].position, world);
	for (uint32_t i = 0; i < plan->nqueued; i++)
		note_position(&all, s->pend.queue[plan->queued[i].row],
		              plan->queued[i].position, world);
}

static void plan_text(const struct snap *snap, const char *world,
                      struct buf *out)
{
	struct arena *arena = arena_new();
	const struct plan *plan = sched_plan(snap, arena);
	struct err why;

	check_long(plan_check(snap, plan, &why) == 0, world, "%s", why.text);
	check_positions(snap, plan, world);
	plan_write(snap, plan, out);
	arena_free(arena);
}

DICE_TEST(random_world, seed)
{
	struct dice d = dice_of(seed);
	struct arena *arena = arena_new();
	struct buf text = { 0 }, written = { 0 }, one = { 0 }, two = { 0 };
	const struct snap *snap, *copy;
	uint32_t nnodes;
	struct err why;

	buf_puts(&text, "now 1000\n");
	nnodes = add_nodes(&d, &text);
	add_queues(&d, &text);
	add_runs(&d, &text, nnodes);
	add_rows(&d, &text, nnodes);
	snap = snap_read(text.data, arena, &why);
	check_long(snap != NULL, text.data, "%s", why.text);
	plan_text(snap, text.data, &one);

	snap_write(snap, &written);
	copy = snap_read(written.data, arena, &why);
	check_long(copy != NULL, written.data, "%s", why.text);
	plan_text(copy, text.data, &two);
	check_long(!strcmp(one.data, two.data), text.data,
	           "a copy of the world gives another plan");

	buf_free(&text);
	buf_free(&written);
	buf_free(&one);
	buf_free(&two);
	arena_free(arena);
}

SUITE(sched_random)
{
	dice_add(tc, random_world, WORLDS);
}
