/* limit.c - limit the resources of the job; bind its tasks to CPUs */
#include "aischedd/run/shepherd/limit.h"

#include <linux/mempolicy.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "aischedd/run/deny.h"
#include "aischedd/run/quota.h"
#include "aischedd/run/shepherd/end.h"
#include "aischedd/run/shepherd/shepherd.h"
#include "libcommon/buf.h"

#define MAX_NUMA     256
#define NVIDIA_MAJOR 195 /* major number of /dev/nvidiaN */
#define LONG_BITS    (8 * sizeof(unsigned long))

/* Find the CPUs of process i, which are the entries of cpu_use from *ret_first
 * to before *ret_end. */
static void cpus_of(const struct shepherd *s, uint32_t i, uint32_t *ret_first,
                    uint32_t *ret_end)
{
	const struct run_job *job = &s->order.job;

	/* If one process stands for all tasks, it has the CPUs of all
	 * of them. */
	*ret_first = job->task[s->ntasks == job->ntasks ? i : 0].cpu_first;
	*ret_end =
	    job->task[s->ntasks == job->ntasks ? i + 1 : job->ntasks].cpu_first;
}

/* --- limits of the cgroup --- */

/* All CPUs of the job, except those of tasks that a resize ends. */
struct cpu_sum {
	struct buf list; /* "0,4", as the kernel reads it */
	int64_t milli;
	/* whole: some CPUs are for this job alone; part: some are shared with
	 * other jobs */
	bool whole, part;
};

static void cpu_sum(const struct shepherd *s, struct cpu_sum *ret)
{
	const struct run_job *job = &s->order.job;
	uint32_t n = s->order.bind ? order_uses(job) : 0;

	*ret = (struct cpu_sum){ .milli = job->req->cpus_milli * s->nleaving };
	for (uint32_t i = 0; i < n; i++) {
		const struct snap_cpu_use *use = &job->cpu_use[i];

		buf_printf(&ret->list, "%s%u", i ? "," : "", use->cpu);
		ret->milli += use->milli;
		ret->whole = ret->whole || use->milli >= 1000;
		ret->part = ret->part || use->milli < 1000;
	}
	if (n)
		return;
	ret->milli = job->whole.cpus_milli
	                 ? job->whole.cpus_milli
	                 : ret->milli + job->req->cpus_milli * job->ntasks;
	ret->part = true;
}

/* Bind the cgroup to the CPUs that the job has alone. If the job shares CPUs
 * with others, limit its CPU time. */
static void limit_cpus(struct shepherd *s, struct cpu_sum *sum)
{
	/* Tasks that a resize ends keep their CPUs until they end, so add the
	 * CPUs bound before; the kernel accepts a CPU that is listed twice. */
	if (s->nleaving && s->cpus.len && sum->whole)
		buf_printf(&sum->list, ",%s", s->cpus.data);
	if (sum->whole)
		cgroup_set_cpus(&s->cg, sum->list.data, NULL);
	if (sum->part)
		cgroup_limit_cpu(&s->cg, sum->milli);
	buf_free(&s->cpus);
	s->cpus = sum->list;
}

/* Deny all GPUs of which the job has nothing. */
static void deny_gpus(const struct order *o, struct device_list *ret)
{
	uint64_t own = 0;

	ret->major = NVIDIA_MAJOR;
	for (uint32_t i = 0; i < o->job.ntasks; i++)
		own |= o->job.task[i].gpus;
	for (uint32_t i = 0; i < o->node_gpus; i++)
		if (!(own >> i & 1) && o->gpu_minor[i] >= 0)
			ret->minor[ret->n++] = o->gpu_minor[i];
}

/* Deny all partitions of GPUs but the job's own. */
static void deny_parts(const struct order *o, struct device_list *ret)
{
	ret->major = o->caps_major;
	ret->all_but = true;
	for (uint32_t i = 0; i < o->job.ntasks; i++) {
		const struct order_part *part = order_part(o, &o->job.task[i]);

		if (!part || ret->n + 2 > DENY_MOST)
			continue;
		ret->minor[ret->n++] = part->cap[0];
		ret->minor[ret->n++] = part->cap[1];
	}
}

/* Add a device file to the list of its major number. Devices of a list that
 * denies all others are denied already. */
static size_t deny_one(struct device_list *list, size_t n,
                       const struct order_file *d)
{
	size_t i = 0;

	while (i < n && list[i].major != d->major)
		i++;
	if (i == DENY_LISTS || (i < n && list[i].all_but) ||
	    list[i].n == DENY_MOST)
		return n;
	list[i].major = d->major;
	list[i].minor[list[i].n++] = (int32_t)d->minor;
	return i == n ? n + 1 : n;
}

/* Deny all devices besides GPUs that no task of the job has. Returns the number
 * of lists. */
static size_t deny_others(const struct order *o, struct device_list *list,
                          size_t n)
{
	uint64_t own = 0;

	for (uint32_t i = 0; i < o->job.ntasks; i++)
		own |= run_job_devs(&o->job, i);
	for (uint32_t i = 0; i < o->ndevices; i++)
		for (uint32_t k = 0; k < o->device[i].nfiles; k++)
			if (!(own >> i & 1))
				n = deny_one(list, n, &o->device[i].file[k]);
	return n;
}

/* Deny the job all GPUs and devices but its own. Files that are open stay open,
 * so a task that a resize ends can use its devices until it ends. */
static void limit_devices(struct shepherd *s)
{
	struct order *o = &s->order;
	struct device_list list[DENY_LISTS] = { 0 };
	size_t n = 0;

	if (o->constrain_devices)
		deny_gpus(o, &list[0]);
	n += list[0].n > 0;
	if (o->constrain_devices && o->caps_major)
		deny_parts(o, &list[n++]);
	if (o->constrain_others)
		n = deny_others(o, list, n);
	if (!n && s->deny_fd < 0)
		return;
	if ((!s->cg.dir[CG_V2] ||
	     deny_devices(s->cg.dir[CG_V2], list, n, &s->deny_fd) < 0) &&
	    s->deny_fd < 0)
		/* nothing could be denied: the job can open all GPUs, and CUDA
		 * counts them all */
		o->constrain_devices = false;
}

void limits_make(struct shepherd *s)
{
	struct cpu_sum sum;

	cpu_sum(s, &sum);
	/* Making a directory takes a noticeable part of a short job's time:
	 * make only those that are needed. */
	if (!sum.whole)
		s->cg.dir[CG_CPUSET] = NULL;
	if (!sum.part)
		s->cg.dir[CG_CPU] = NULL;
	cgroup_make(&s->cg);
	s->watch_memory = cgroup_limit_memory(&s->cg, job_mem_mib(s)) < 0;
	cgroup_limit_pids(&s->cg, s->order.max_processes);
	limit_cpus(s, &sum);
	limit_devices(s);
}

void limits_change(struct shepherd *s)
{
	struct cpu_sum sum;

	cpu_sum(s, &sum);
	/* The kernel refuses a limit below what is in use; then the old limit
	 * stays. */
	if (!s->watch_memory)
		cgroup_limit_memory(&s->cg, job_mem_mib(s));
	limit_cpus(s, &sum);
	limit_devices(s);
	if (s->project)
		quota_limit(s->tmp_fd, s->project, job_tmp_mib(s));
}

/* --- binding to CPUs and memory --- */

/* A set of CPUs by the kernel's numbers. The daemon gets the numbers from hwloc
 * and sends them: if each shepherd loaded hwloc's topology, this would take
 * longer than many jobs run. */
struct cpus {
	cpu_set_t *set;
	size_t size;
};

static void bind_thread(pid_t tid, void *arg)
{
	const struct cpus *cpus = arg;

	sched_setaffinity(tid, cpus->size, cpus->set);
}

static void bind_process(pid_t pid, void *arg)
{
	proc_threads(pid, bind_thread, arg);
}

static struct cpus cpus_new(const struct shepherd *s, uint32_t first,
                            uint32_t end)
{
	const struct snap_cpu_use *use = s->order.job.cpu_use;
	struct cpus cpus;
	int max = 0;

	for (uint32_t i = first; i < end; i++)
		max = use[i].cpu > max ? use[i].cpu : max;
	cpus.set = CPU_ALLOC((size_t)max + 1);
	cpus.size = CPU_ALLOC_SIZE((size_t)max + 1);
	CPU_ZERO_S(cpus.size, cpus.set);
	for (uint32_t i = first; i < end; i++)
		CPU_SET_S(use[i].cpu, cpus.size, cpus.set);
	return cpus;
}

/* Let memory be allocated near the CPUs if possible; if the job asks for
 * "strict", only there. */
static void bind_memory(const struct shepherd *s, uint32_t first, uint32_t end)
{
	const char *numa = s->order.job.spec->numa;
	bool strict = numa && !strcmp(numa, "strict");
	unsigned long mask[MAX_NUMA / LONG_BITS] = { 0 };

	if (!s->order.cpu_numa)
		return;
	for (uint32_t i = first; i < end; i++) {
		unsigned node = s->order.cpu_numa[i];

		mask[node / LONG_BITS] |= 1UL << node % LONG_BITS;
	}
	/* Kernels before 5.15 lack MPOL_PREFERRED_MANY: the call fails, and no
	 * policy is set. */
	syscall(SYS_set_mempolicy, strict ? MPOL_BIND : MPOL_PREFERRED_MANY,
	        mask, MAX_NUMA + 1);
}

void limits_bind_self(const struct shepherd *s, uint32_t i)
{
	uint32_t first, end;
	struct cpus cpus;

	cpus_of(s, i, &first, &end);
	if (first == end || !s->order.bind)
		return;
	cpus = cpus_new(s, first, end);
	bind_thread(0, &cpus);
	CPU_FREE(cpus.set);
	bind_memory(s, first, end);
}

void limits_bind(const struct shepherd *s, uint32_t i)
{
	pid_t pid = s->task[i].pid;
	uint32_t first, end;
	struct cpus cpus;

	cpus_of(s, i, &first, &end);
	if (s->task[i].state != TASK_RUNS || first == end || !s->order.bind)
		return;
	cpus = cpus_new(s, first, end);
	bind_process(pid, &cpus);
	proc_descendants(pid, bind_process, &cpus);
	CPU_FREE(cpus.set);
}
