/* test_align.c - the checker of plans finds tasks that are not aligned with
 * NUMA nodes or links */
#include <string.h>

#include "aischedd/sched/check/plan_check.h"
#include "aischedd/sched/text/text.h"
#include "tests/unit/check.h"

/* Beginnings of snapshots. TWO: a node with two NUMA nodes of four CPUs each;
 * TWO_MEM: the same with memory. NINE: a node with nine NUMA nodes of two CPUs
 * each. GPUS: two nodes with GPUs in NUMA nodes and link groups. */
#define TWO            "now 1000\nqueue q\nnode n0 cpus=8 threads=8 numa=0*4,1*4"
#define TWO_MEM(sizes) TWO " mem=16G numa_mem=" sizes "\n"
#define NINE                                                                          \
	"now 1000\nqueue q\nnode n0 cpus=18 threads=18 mem=18G numa=0*2,1*2,2*2,3*2," \
	"4*2,5*2,6*2,7*2,8*2"
#define GPUS                                                             \
	"now 1000\nqueue q\nnode n[0-1] cpus=8 gpus=8 gpu_numa=0*4,1*4 " \
	"gpu_link=0*2,1*2,2*2,3*2\n"
/* ROOTS: two nodes with two link groups, and a device beside each GPU; FEW: a
 * node with devices beside two of four GPUs. BESIDE: what a job asks for. */
#define ROOTS                                                                  \
	"now 1000\ndevice a\nqueue q\nnode n0 cpus=8 gpus=4 gpu_link=0*2,1*2 " \
	"gpu_root=1,2,3,4 devices=a:4 pieces=a@1/0,a@2/0,a@3/0,a@4/0\n"        \
	"node n1 cpus=8 features=f gpus=4 gpu_link=0*2,1*2 "                   \
	"gpu_root=1,2,3,4 devices=a:4 pieces=a@1/0,a@2/0,a@3/0,a@4/0\n"        \
	"run 1 gpus=1 on=n0:g0\nrun 2 gpus=1 on=n0:g2\n"
#define FEW                                                                    \
	"now 1000\ndevice a\nqueue q\nnode n0 cpus=8 gpus=4 gpu_numa=0,0,1,1 " \
	"gpu_root=1,2,3,4 devices=a:2 pieces=a@2/0,a@4/1\n"
#define BESIDE "pend 10 gpus=2 devices=a:2 pcie=a"

/* The plan made for the snapshot `easy` is checked against the snapshot `line`,
 * for which it is wrong because of `why`. */
static const struct {
	const char *easy, *line, *why;
} misaligned[] = {
	/* strict and tight require a number of NUMA nodes */
	{ TWO "\npend 10 cpus=6", TWO "\npend 10 cpus=6 numa=strict",
	  "job 10: is in 2 NUMA nodes of n0, not 1" },
	{ TWO "\nrun 1 cpus=2 on=n0:c0-1\nrun 2 cpus=2 on=n0:c4-5\n"
	      "pend 10 cpus=4",
	  TWO "\nrun 1 cpus=2 on=n0:c0-1\nrun 2 cpus=2 on=n0:c4-5\n"
	      "pend 10 cpus=4 numa=tight",
	  "job 10: is in 2 NUMA nodes of n0, not 1" },
	{ NINE
	  "\nrun 1 tasks=7 on=n0:c0,n0:c2,n0:c4,n0:c6,n0:c8,n0:c10,n0:c12\n"
	  "pend 10 cpus=6",
	  NINE
	  "\nrun 1 tasks=7 on=n0:c0,n0:c2,n0:c4,n0:c6,n0:c8,n0:c10,n0:c12\n"
	  "pend 10 cpus=6 numa=tight",
	  "job 10: is in 4 NUMA nodes of n0, not 3" },
	{ GPUS "run 1 gpus=3 on=n0:g0-2\nrun 2 gpus=3 on=n0:g5-7\n"
	       "pend 10 gpus=2 want=n0",
	  GPUS "run 1 gpus=3 on=n0:g0-2\nrun 2 gpus=3 on=n0:g5-7\n"
	       "pend 10 gpus=2 want=n0 numa=strict",
	  "job 10: is in 2 NUMA nodes of n0, not 1" },
	/* NUMA nodes count even if a task has only memory there */
	{ TWO_MEM("8G,8G") "pend 10 cpus=0 mem=12G",
	  TWO_MEM("8G,8G") "pend 10 cpus=0 mem=12G numa=strict",
	  "job 10: is in 2 NUMA nodes of n0, not 1" },
	{ TWO "\npend 10 mem=0", TWO_MEM("8G,8G") "pend 10 mem=0",
	  "job 10: has memory in no NUMA node of n0" },
	{ TWO_MEM("8G,8G") "pend 10", TWO "\npend 10",
	  "job 10: has memory in no NUMA node of n0" },
	/* the same memory may not be given to two tasks */
	{ TWO_MEM("8G,8G") "pend 10,11 mem=6G numa=strict",
	  TWO_MEM("5G,11G") "pend 10,11 mem=6G numa=strict",
	  "job 10: memory of NUMA node 0 of n0 is given twice" },
	{ TWO_MEM("8G,8G") "run 1 mem=2G numa=strict on=n0:c4\n"
	                   "pend 10 mem=6G numa=strict",
	  TWO_MEM("8G,8G") "run 1 mem=3G numa=strict on=n0:c4:m1\n"
	                   "pend 10 mem=6G numa=strict",
	  "job 10: memory of NUMA node 1 of n0 is given twice" },
	/* memory is divided in proportion to the sizes of NUMA nodes: 3G and 9G
	 */
	{ TWO_MEM("8G,8G") "run 1 mem=2G numa=strict on=n0:c4\n"
	                   "pend 10 cpus=6 mem=12G numa=tight",
	  TWO_MEM("4G,12G") "run 1 mem=4G numa=strict on=n0:c4\n"
	                    "pend 10 cpus=6 mem=12G numa=tight",
	  "job 10: memory of NUMA node 1 of n0 is given twice" },
	/* the same on a node with more than SETS_OF NUMA nodes */
	{ NINE " numa_mem=2G,2G,2G,2G,2G,2G,2G,2G,2G\n"
	       "pend 10 cpus=3 mem=4G numa=tight",
	  NINE " numa_mem=1G,3G,2G,2G,2G,2G,2G,2G,2G\n"
	       "run 1 cpus=0 mem=1G numa=strict on=n0:m0\n"
	       "pend 10 cpus=3 mem=4G numa=tight",
	  "job 10: memory of NUMA node 0 of n0 is given twice" },
	/* tasks that are not bound to NUMA nodes use memory, too */
	{ TWO_MEM("8G,8G") "pend 10 mem=6G numa=strict",
	  TWO_MEM("8G,8G") "run 1 mem=4G on=n0:c1\n"
	                   "pend 10 mem=6G numa=strict",
	  "job 10: is bound to memory of n0 that others have" },
	/* link groups of jobs that start and that grow */
	{ GPUS "run 1 gpus=1 on=n0:g0\nrun 2 gpus=1 on=n0:g2\n"
	       "run 3 gpus=4 on=n0:g4-7\npend 10 gpus=2 links=any want=n0",
	  GPUS "run 1 gpus=1 on=n0:g0\nrun 2 gpus=1 on=n0:g2\n"
	       "run 3 gpus=4 on=n0:g4-7\npend 10 gpus=2 links=strict want=n0",
	  "job 10: has GPUs of 2 link groups of n0" },
	{ GPUS "run 12 tasks=2 min_tasks=1 gpus=1 want=n0 on=n0:g0",
	  GPUS "run 12 tasks=2 min_tasks=1 gpus=1 want=n0 links=strict "
	       "on=n0:g4",
	  "job 12: has GPUs of 2 link groups of n0" },
	/* preferences: another node would have been better */
	{ GPUS "run 1 gpus=1 on=n0:g0\nrun 2 gpus=1 on=n0:g2\n"
	       "run 3 gpus=4 on=n0:g4-7\npend 10 gpus=2 links=any",
	  GPUS "run 1 gpus=1 on=n0:g0\nrun 2 gpus=1 on=n0:g2\n"
	       "run 3 gpus=4 on=n0:g4-7\npend 10 gpus=2",
	  "job 10: is on n0 though n1 is better for what it wishes" },
	{ GPUS "run 1 gpus=2 on=n0:g0-1\nrun 2 gpus=2 on=n0:g4-5\n"
	       "pend 10 gpus=3 links=any",
	  GPUS "run 1 gpus=2 on=n0:g0-1\nrun 2 gpus=2 on=n0:g4-5\n"
	       "pend 10 gpus=3 links=any numa=prefer",
	  "job 10: is on n0 though n1 is better for what it wishes" },
	{ TWO "\nnode n1 cpus=8 threads=8 numa=0*4,1*4\n"
	      "run 1 cpus=2 on=n0:c0-1\nrun 2 cpus=2 on=n0:c4-5\n"
	      "pend 10 cpus=4",
	  TWO "\nnode n1 cpus=8 threads=8 numa=0*4,1*4\n"
	      "run 1 cpus=2 on=n0:c0-1\nrun 2 cpus=2 on=n0:c4-5\n"
	      "pend 10 cpus=4 numa=prefer",
	  "job 10: is on n0 though n1 is better for what it wishes" },
	{ ROOTS BESIDE " links=any", ROOTS BESIDE,
	  "job 10: is on n0 though n1 is better for what it wishes" },
	{ ROOTS BESIDE " links=any", ROOTS BESIDE " links=any prefer=f",
	  "job 10: is on n0 though it prefers n1" },
	/* a job that is left pending though it fits; claims */
	{ FEW "run 1 gpus=1 on=n0:g1\n" BESIDE,
	  FEW "run 1 gpus=1 on=n0:g0\n" BESIDE,
	  "job 10: waits but fits in 'default'" },
	{ FEW "run 1 gpus=2 on=n0:g0-1\npend 10 gpus=2 devices=a:2 near=a",
	  FEW "run 1 gpus=2 on=n0:g1-2\npend 10 gpus=2 devices=a:2 near=a",
	  "job 10: waits but fits in 'default'" },
	{ TWO "\nrun 1 cpus=2 on=n0:c0-1\npend 10 tasks=2 cpus=4 numa=strict",
	  TWO "\nnode n1 cpus=4\npend 10 tasks=2 cpus=4 numa=strict",
	  "job 10: waits but fits in 'default'" },
	{ TWO "\nrun 11 cpus=4 on=n0:c4-7\n"
	      "run 12 cpus=4 preemptible on=n0:c0-3\n"
	      "pend 20 cpus=4 numa=strict priority=5",
	  TWO "\nrun 11 cpus=4 on=n0:c0-1+4-5\n"
	      "run 12 cpus=4 preemptible on=n0:c2-3+6-7\n"
	      "pend 20 cpus=4 numa=strict priority=5",
	  "claims on n0 do not fit" },
	/* promised starts */
	{ TWO "\nrun 1 cpus=4 end=2000 on=n0:c0-3\nrun 2 cpus=4 on=n0:c4-7\n"
	      "pend 20 cpus=4 numa=strict",
	  TWO "\nrun 1 cpus=4 end=2000 on=n0:c0-1+4-5\n"
	      "run 2 cpus=4 on=n0:c2-3+6-7\npend 20 cpus=4 numa=strict",
	  "job 20: is promised 2000 on n0, where it cannot be aligned then" },
	{ GPUS "run 1 gpus=2 end=2000 on=n0:g0-1\n"
	       "run 2 gpus=6 on=n0:g2-7\n"
	       "pend 20 gpus=2 links=strict want=n0",
	  GPUS "run 1 gpus=2 end=2000 on=n0:g1-2\n"
	       "run 2 gpus=6 on=n0:g0+3-7\n"
	       "pend 20 gpus=2 links=strict want=n0",
	  "job 20: is promised 2000 on n0, where it cannot be aligned then" },
	{ TWO_MEM("8G,8G") "run 1 mem=8G end=2000 on=n0:c0\n"
	                   "run 2 mem=8G on=n0:c4\n"
	                   "pend 20 mem=6G numa=strict",
	  TWO_MEM("8G,8G") "run 1 mem=8G end=2000 on=n0:c0:m0+1\n"
	                   "run 2 mem=8G on=n0:c4:m0+1\n"
	                   "pend 20 mem=6G numa=strict",
	  "job 20: is promised 2000 on n0, where it cannot be aligned then" },
	/* promised starts where fractions of CPUs are used */
	{ TWO "\nrun 1 cpus=7.5 end=2000 on=n0:c0-6+7/500\n"
	      "run 2 cpus=0.5 on=n0:c7/500\npend 20 cpus=7",
	  TWO "\nrun 1 cpus=7.5 end=3000 on=n0:c0-6+7/500\n"
	      "run 2 cpus=0.5 on=n0:c7/500\npend 20 cpus=7",
	  "job 20: is promised 2000, when there is no room for it" },
	/* a suspended job must resume on its devices and near its memory */
	{ GPUS "run 9 suspended gpus=1 on=n0:g0\npend 9 gpus=1 resumes",
	  GPUS "run 9 suspended gpus=1 on=n0:g1\npend 9 gpus=1 resumes",
	  "job 9: goes on elsewhere" },
	{ TWO_MEM("8G,8G") "run 9 suspended mem=1G on=n0:c0\n"
	                   "pend 9 mem=1G resumes",
	  TWO_MEM("8G,8G") "run 9 suspended mem=1G on=n0:c0:m0+1\n"
	                   "pend 9 mem=1G resumes",
	  "job 9: goes on elsewhere" },
	{ TWO "\nrun 1 cpus=3 on=n0:c0-2\n"
	      "run 9 suspended cpus=2 on=n0:c0-1\npend 9 cpus=2 resumes",
	  TWO "\nrun 1 cpus=3 on=n0:c0-2\n"
	      "run 9 suspended cpus=2 numa=strict on=n0:c0-1\n"
	      "pend 9 cpus=2 numa=strict resumes",
	  "job 9: goes on in NUMA nodes of n0 that it did not have" },
	{ TWO "\nrun 1 cpus=3 on=n0:c0-2\n"
	      "run 9 suspended cpus=2 on=n0:c0-1\npend 9 cpus=2 resumes",
	  TWO "\nrun 1 on=n0:c0\n"
	      "run 9 suspended cpus=2 on=n0:c0-1\npend 9 cpus=2 resumes",
	  "job 9: goes on in NUMA nodes of n0 that it did not have" },
};

START_TEST(verifier_aligns)
{
	struct arena *arena = arena_new();
	struct err why = { 0 };
	const struct snap *easy = snap_read(misaligned[_i].easy, arena, &why);
	const struct snap *snap = snap_read(misaligned[_i].line, arena, &why);
	const struct plan *plan;

	ck_assert_msg(easy && snap, "%s", why.text);
	plan = sched_plan(easy, arena);
	ck_assert_msg(plan_check(easy, plan, &why) == 0, "%s", why.text);
	ck_assert_msg(plan_check(snap, plan, &why) < 0, "%s: no '%s'",
	              misaligned[_i].line, misaligned[_i].why);
	ck_assert_msg(strstr(why.text, misaligned[_i].why) != NULL,
	              "%s: want '%s', got '%s'", misaligned[_i].line,
	              misaligned[_i].why, why.text);
	arena_free(arena);
}
END_TEST

/* Snapshots whose plans are correct although preferences are not met. */
static const char *const lawful[] = {
	/* no set of NUMA nodes has as much memory as job 20 claims */
	"now 1000\nqueue q\nnode n0 cpus=4 threads=4 numa=0*2,1*2 mem=8G "
	"numa_mem=4G,4G gpus=2 gpu_numa=0,1\n"
	"run 1 mem=1G numa=strict on=n0:c0\n"
	"run 2 cpus=2 preemptible on=n0:c2-3\n"
	"pend 20 cpus=3 mem=7G gpus=1 numa=prefer links=strict priority=5",
	/* the NUMA nodes of n0 together have less than the 3G of job 10 */
	"now 1000\nqueue q\nnode n0 cpus=1 threads=1 mem=4G numa_mem=2G\n"
	"node n1 cpus=4 threads=4 numa=0*2,1*2 mem=8G numa_mem=4G,4G gpus=1\n"
	"pend 10 mem=3G numa=prefer",
	/* devices beside GPUs */
	ROOTS BESIDE,
	ROOTS BESIDE " links=any prefer=f",
	FEW "run 1 gpus=1 on=n0:g0\n" BESIDE,
	FEW "run 1 gpus=1 on=n0:g1\n" BESIDE,
	FEW "pend 10 gpus=1 devices=a:2 near=a",
	FEW "pend 10 gpus=2 devices=a:2 near=a",
};

START_TEST(verifier_allows)
{
	struct arena *arena = arena_new();
	struct err why = { 0 };
	const struct snap *snap = snap_read(lawful[_i], arena, &why);

	ck_assert_msg(snap != NULL, "%s", why.text);
	ck_assert_msg(plan_check(snap, sched_plan(snap, arena), &why) == 0,
	              "%s: %s", lawful[_i], why.text);
	arena_free(arena);
}
END_TEST

SUITE(sched_align)
{
	tcase_add_loop_test(tc, verifier_allows, 0, (int)ARRAY_SIZE(lawful));

	tcase_add_loop_test(tc, verifier_aligns, 0,
	                    (int)ARRAY_SIZE(misaligned));
}
