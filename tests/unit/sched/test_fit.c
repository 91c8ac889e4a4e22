/* test_fit.c - tasks on one node: how many fit, and on which devices */
#include "aischedd/sched/fit.h"

#include <string.h>

#include "aischedd/sched/text/text.h"
#include "tests/unit/check.h"

/* Keys of node n0 and of a request. want lists the tasks that fit, in the order
 * in which they are placed: for each the numbers of its GPUs, a colon, and the
 * numbers of its CPUs. */
static const struct {
	const char *name, *node, *task, *want;
} cases[] = {
	{ "strict: CPUs and GPU from one NUMA node",
	  "cpus=8 threads=8 numa=0*4,1*4 gpus=2 gpu_numa=0,1",
	  "cpus=3 gpus=1 numa=strict", "0:012 1:456 " },
	{ "strict: what is free here and there does not add up",
	  "cpus=8 threads=8 numa=0*4,1*4 thread_free=0*3,1000*5 gpus=2 "
	  "gpu_numa=0,1 gpu_free=1000,0",
	  "cpus=2 gpus=1 numa=strict", "" },
	{ "any: it does",
	  "cpus=8 threads=8 numa=0*4,1*4 thread_free=0*3,1000*5 gpus=2 "
	  "gpu_numa=0,1 gpu_free=1000,0",
	  "cpus=2 gpus=1", "0:45 " },
	{ "strict: not three of two and two GPUs",
	  "cpus=8 gpus=4 gpu_numa=0*2,1*2", "gpus=3 numa=strict", "" },
	{ "prefer: three of them all the same",
	  "cpus=8 gpus=4 gpu_numa=0*2,1*2", "gpus=3 numa=prefer", "012: " },
	{ "prefer: where both are, not where GPUs are fewest",
	  "cpus=8 threads=8 numa=0*4,1*4 thread_free=0*3,1000*5 gpus=3 "
	  "gpu_numa=0,1*2",
	  "cpus=2 gpus=1 numa=prefer", "1:45 2:67 " },
	{ "any: near the tightest GPUs",
	  "cpus=8 threads=8 numa=0*4,1*4 thread_free=0*3,1000*5 gpus=3 "
	  "gpu_numa=0,1*2 gpu_link=0,1*2",
	  "cpus=2 gpus=1", "0:45 1:67 " },
	{ "prefer: the rest unaligned",
	  "cpus=6 threads=6 numa=0*3,1*3 gpus=3 gpu_numa=0*3",
	  "cpus=2 gpus=1 numa=prefer", "0:01 1:34 2:25 " },
	{ "strict: CPUs alone", "cpus=6 threads=6 numa=0*3,1*3",
	  "cpus=2 numa=strict", ":01 :34 " },
	{ "any: CPUs alone, all of them", "cpus=6 threads=6 numa=0*3,1*3",
	  "cpus=2", ":01 :34 :25 " },
	{ "strict: CPUs of a node that are only counted", "cpus=4",
	  "cpus=2 numa=strict", ": : " },
	{ "strict: GPUs alone where CPUs are only counted",
	  "cpus=9 gpus=4 gpu_numa=0,1*3", "gpus=2 numa=strict", "12: " },
	{ "strict: parts of a GPU",
	  "cpus=4 threads=4 numa=0*2,1*2 gpus=2 gpu_numa=0,1 "
	  "gpu_free=500,1000",
	  "gpus=0.5 numa=strict", "0:0 1:2 1:3 " },
	{ "strict: parts of a CPU",
	  "cpus=3 threads=3 numa=0,1*2 gpus=2 gpu_numa=0,1",
	  "cpus=1.5 gpus=0.25 numa=strict", "1:12 " },
	{ "prefer: no CPU is broken while another part is free",
	  "cpus=5.5 threads=6 numa=0*3,1*3 thread_free=1000*3,500,1000*2 "
	  "gpus=3 gpu_numa=0*3",
	  "cpus=1.5 gpus=1 numa=prefer", "0:03 1:12 2:24 " },
	{ "strict: one link group where there is one",
	  "cpus=9 gpus=8 gpu_numa=0*4,1*4 gpu_link=0,1,2,3,4*2,5*2",
	  "gpus=2 numa=strict", "45: 67: 01: 23: " },
	{ "strict: GPUs of a type",
	  "cpus=9 gpus=4 gpu_type=x,y,x*2 gpu_numa=0*2,1*2",
	  "gpus=2 gpu_type=x numa=strict", "23: " },
	{ "strict: memory of a NUMA node, where it is counted",
	  "cpus=8 mem=64G threads=8 numa=0*4,1*4 numa_mem=32G,32G",
	  "cpus=1 mem=20G numa=strict", ":0 :4 " },
	{ "strict: more memory than a NUMA node has",
	  "cpus=8 mem=64G threads=8 numa=0*4,1*4 numa_mem=32G,32G",
	  "cpus=1 mem=40G numa=strict", "" },
	{ "tight: as much memory as two NUMA nodes have",
	  "cpus=8 mem=64G threads=8 numa=0*4,1*4 numa_mem=32G,32G",
	  "cpus=1 mem=40G numa=tight", ":0 " },
	{ "tight: one where one could do", "cpus=8 gpus=4 gpu_numa=0*2,1*2",
	  "gpus=2 numa=tight", "01: 23: " },
	{ "tight: not three of two and one, where one node has three",
	  "cpus=8 gpus=6 gpu_numa=0*3,1*3 gpu_free=1000*2,0,1000,0*2",
	  "gpus=3 numa=tight", "" },
	{ "tight: both where it takes both", "cpus=8 gpus=4 gpu_numa=0*2,1*2",
	  "gpus=3 numa=tight", "012: " },
	{ "tight: the two of four that are free",
	  "cpus=8 gpus=8 gpu_numa=0*2,1*2,2*2,3*2 "
	  "gpu_free=1000*2,0,1000*3,0,1000",
	  "gpus=4 numa=tight", "0145: " },
	{ "links: one group where one could do",
	  "cpus=8 gpus=6 gpu_link=0*3,1*3 gpu_free=0,1000*5",
	  "gpus=3 links=strict", "345: " },
	{ "links: no two of two groups",
	  "cpus=8 gpus=4 gpu_link=0*2,1*2 gpu_free=0,1000*2,0",
	  "gpus=2 links=strict", "" },
	{ "links: as many groups as it takes", "cpus=8 gpus=4 gpu_link=0*2,1*2",
	  "gpus=3 links=strict", "012: " },
	{ "links: with CPUs and GPUs of one NUMA node",
	  "cpus=8 threads=8 numa=0*4,1*4 gpus=8 gpu_numa=0*4,1*4 "
	  "gpu_link=0*2,1*2,2*2,3*2 gpu_free=0,1000*7",
	  "gpus=4 numa=strict links=strict", "4567:4 " },
	{ "damage: no block of four for one GPU",
	  "cpus=8 gpus=7 gpu_link=0*4,1*3", "gpus=1", "4: 5: 6: 0: 1: 2: 3: " },
	{ "strict: memory is the node's",
	  "cpus=9 mem=3G gpus=4 gpu_numa=0*2,1*2", "gpus=1 mem=1G numa=strict",
	  "0: 1: 2: " },
};

static void put_digits(struct buf *out, uint64_t set)
{
	for (; set; set &= set - 1)
		buf_i64(out, __builtin_ctzll(set));
}

START_TEST(fit)
{
	struct arena *arena = arena_new();
	struct buf text = { 0 }, got = { 0 };
	const struct snap *snap;
	struct work *w;
	struct err why;
	int64_t n;

	buf_printf(&text, "node n0 %s\npend 1 %s\n", cases[_i].node,
	           cases[_i].task);
	snap = snap_read(text.data, arena, &why);
	ck_assert_msg(snap != NULL, "%s", why.text);
	w = work_new(snap, tally_new(snap, arena), arena);
	n = fit_count(w, 0, 0, 0, 9);
	for (int64_t i = 1; i < 5; i++)
		ck_assert_int_eq(fit_has(w, 0, 0, 0, i),
		                 fit_count(w, 0, 0, 0, i) == i);
	for (int64_t i = n; i > 0; i--) {
		struct snap_cpu_use use[8];
		struct snap_task task;
		uint64_t cpus = 0;
		uint32_t nuse;

		ck_assert_int_eq(fit_count(w, 0, 0, 0, 9), i);
		nuse = fit_task(w, 0, 0, 1, &task, use);
		for (uint32_t k = 0; k < nuse; k++)
			cpus |= (uint64_t)1 << use[k].cpu;
		put_digits(&got, task.gpus);
		buf_addc(&got, ':');
		put_digits(&got, cpus);
		buf_addc(&got, ' ');
	}
	ck_assert_int_eq(fit_count(w, 0, 0, 0, 9), 0);
	ck_assert_msg(!strcmp(got.len ? got.data : "", cases[_i].want),
	              "%s: got %s", cases[_i].name, got.len ? got.data : "");
	buf_free(&text);
	buf_free(&got);
	arena_free(arena);
}
END_TEST

SUITE(fit)
{
	tcase_add_loop_test(tc, fit, 0, ARRAY_SIZE(cases));
}
