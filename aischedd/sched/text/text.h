/*
 * text.h - snapshots and plans as text
 *
 * `aictl dump` prints this text, scenarios and the fuzzer are written in it,
 * and a pass of yesterday can be replayed from it.  Each line is about one
 * thing: a keyword, a name, then key=value in any order.  A key that is not
 * given has its default, so that a scenario gives only what matters.  '#'
 * begins a comment.
 *
 *	now 1000
 *	pool gpu order=spread
 *	node n[0-3] cpus=64 mem=512G gpus=8 gpu_type=h100 features=ib
 *	queue prod limit=gpus:16
 *	run 11 queue=prod gpus=4 end=1600 on=n0:g0-3
 *	pend 12,15-18 queue=prod tasks=2 gpus=8 limit=600
 *
 * Unless the free amounts of a node are given, they are its totals minus what
 * runs there.  A running task without devices gets the lowest that are free.
 * In names, characters other than letters, digits and ._/=@+- are written as
 * %XX.  Writing a snapshot that was read gives the same text again.
 *
 * policy [order=NAME backfill=no depth=N consolidate=no age=N
 *	size=N fairshare=N hold_after=S]
 * pool NAME [order=pack|spread|best_fit] [ready=no] [weight=]
 * level NAME (of the topology, the widest first)
 * device NAME (a kind of devices other than GPUs)
 * domain NAME [parent=NAME] [level=LEVEL]
 * node HOSTLIST [pool= state=up|drain|down cpus= mem= cpus_free= mem_free=
 *	tmp= tmp_free= slots= slots_free= devices=NAME:N,... devices_free=
 *	gpus=N gpu_type=LIST gpu_numa=LIST gpu_link=LIST gpu_free=LIST
 *	parts=PARTS gpu_root=LIST pieces=PIECES
 *	threads=N core=LIST numa=LIST thread_free=LIST numa_mem=SIZES
 *	features=WORDS taints=WORDS domain= mig=MODEL gpu_mem=SIZE
 *	chooses retry_at=TIME coming=here|off|asked weight=]
 *	LIST: "0*4,1*4" or "0-7", one value per device;
 *	PARTS: "3g.40gb@0/3g.40gb@4,-", per device the partitions that it has
 *	for good, or -; 3g.40gb@4! is held by others than jobs;
 *	split/@4!: it is given only in partitions, and unit 4 is held; whole:
 *	it is never given in partitions
 *	SIZES: "32G,32G", one per NUMA node
 *	PIECES: "rdma@1/0,rdma@2/-", particular devices: kind, PCIe root (0:
 *	unknown) and NUMA node of each
 * queue NAME [parent= quota=cpus:8,mem:64G,gpus:2 limit=... weight= priority=
 *	max_jobs= max_jobs_user= max_gpus_user= assumed_time= max_wait=]
 * license NAME total=N [free=N]
 * array NAME limit=N
 * reservation NAME start=TIME end=TIME [nodes=NODES users=NAMES]
 * run JOB [queue= user= array= priority= start= end= suspended preemptible
 *	ending freezable safe=TIME waited=S served=S ran=S REQUEST]
 *	on=TASK,... [claim=NODES]
 *	TASK: node, or node*N, or node:g0-3:c0-7+8/500 (GPUs 0-3, CPUs 0-7 and
 *	half of CPU 8; g- is no GPU, c- no CPU; g0/500 is half of GPU 0);
 *	g0:u4-7 is the partition of GPU 0 with slices 4-7;
 *	d0+2: pieces 0 and 2;
 *	m0+1: memory in these NUMA nodes; else where its CPUs are
 *	NODES: n0,n1*4: nodes that are held, one for each task
 * pend MEMBERS [queue= user= array= priority= resumes nonpreemptible barred
 *	light=N served=S judged=waits|blocked|promised|open since=TIME,...
 *	claim=NODES REQUEST]
 *	MEMBERS: 12,15-18 jobs; 20*100/8 an array with 100 tasks waiting of
 *	which 8 may start
 *	since: 900*2,950 by member, ascending; the last value is also that of
 *	all further members; without it, members begin to wait now
 * promise JOB TIME NODES: made by the last plan; in the order of jobs
 * REQUEST: tasks= min_tasks= nodes= tasks_per_node= cpus= mem= tmp= gpus=
 *	devices=NAME:N,...
 *	gpu_type= profile= gpu_mem=SIZE pools=NAMES time= exclusive one_process
 *	rule=WORDS
 *	want=NODES avoid=NODES shun=NODES beside=JOBS licenses=NAME:N,...
 *	need=LEVEL like=LEVEL segment= spread=LEVEL|node spread_like=LEVEL|node
 *	numa=prefer|strict|tight links=any|strict reservation=NAME
 *	refused=TIME pcie=NAMES near=NAMES (kinds of devices)
 *	(rule is postfix: ib,h100,a100,|,&; a,*2 is a on two nodes or more)
 *	prefer=WORDS (postfix, one or more: ib,h100,a100,| is ib, then either)
 */
#ifndef AISCHEDD_SCHED_TEXT_TEXT_H
#define AISCHEDD_SCHED_TEXT_TEXT_H

#include "aischedd/sched/plan.h"

/*
 * Read a snapshot into the arena and check it (snap_check). Fails with EINVAL,
 * "line 7: ...".
 */
const struct snap *snap_read(const char *text, struct arena *arena,
                             struct err *err);

void snap_write(const struct snap *snap, struct buf *out);

/*
 * A plan, for people and for scenarios:
 *
 *	evict 11 all why=reclaim by=15 suspend
 *	evict 13 0,2 why=preempt by=15
 *	start 12 n0:g0-7,n1:g0-7
 *	grow 14 n1:g0
 *	claim 15 n0,n1*2
 *	claim run 14 n3
 *	wake 1200
 *	again
 *	partial
 *	wait 15 +3 Resources at=1600 position=1: each of its 2 tasks needs ...
 *
 * Decisions of one kind come in the order in which they were made. A line
 * follows for each row that waits: its first waiting job, how many more of its
 * jobs wait, the reason, and the expected start if it is known.
 */
void plan_write(const struct snap *snap, const struct plan *plan,
                struct buf *out);

#endif
