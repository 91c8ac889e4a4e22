/* shepherd_task.c - from the order to running processes */
#include "aischedd/run/shepherd.h"

#include <fcntl.h>
#include <linux/mempolicy.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "aischedd/run/shepherd_env.h"
#include "aischedd/run/shepherd_user.h"
#include "libcommon/buf.h"

#define MAX_PIDS  32768
#define MAX_NUMA  256
#define LONG_BITS (8 * sizeof(unsigned long))

/* What a process that could not become a task says before it ends. */
struct failure {
	enum start_fault fault;
	struct err err;
};

/* The CPUs of one process: a slice of cpu_use. */
static void cpus_of(const struct shepherd *s, uint32_t i, uint32_t *ret_first,
                    uint32_t *ret_end)
{
	const struct run_job *job = &s->order.job;

	/* One process for several tasks has the CPUs of all of them. */
	*ret_first = job->task[s->ntasks == job->ntasks ? i : 0].cpu_first;
	*ret_end =
	    job->task[s->ntasks == job->ntasks ? i + 1 : job->ntasks].cpu_first;
}

/* --- limits of the group --- */

/* What the CPUs of the whole job come to. */
struct cpu_sum {
	struct buf list; /* "0,4", as the kernel reads it */
	int64_t milli;
	bool whole, part; /* it has some that are its own, some it shares */
};

static void cpu_sum(const struct shepherd *s, struct cpu_sum *ret)
{
	const struct run_job *job = &s->order.job;
	uint32_t n = s->order.bind ? order_uses(job) : 0;

	*ret = (struct cpu_sum){ 0 };
	for (uint32_t i = 0; i < n; i++) {
		const struct snap_cpu_use *use = &job->cpu_use[i];

		buf_printf(&ret->list, "%s%u", i ? "," : "", use->cpu);
		ret->milli += use->milli;
		ret->whole = ret->whole || use->milli >= 1000;
		ret->part = ret->part || use->milli < 1000;
	}
	if (n)
		return;
	ret->milli = job->req->cpus_milli * job->ntasks;
	ret->part = true;
}

/* Own CPUs are limit enough; where one is shared, time must be divided. */
static void limit_cpus(struct shepherd *s, const struct cpu_sum *sum)
{
	if (sum->whole)
		cgroup_set_cpus(&s->cg, sum->list.data, NULL);
	if (sum->part)
		cgroup_limit_cpu(&s->cg, sum->milli);
}

static void make_group(struct shepherd *s)
{
	struct cpu_sum sum;

	cpu_sum(s, &sum);
	/* Each directory costs a short job a noticeable part of its time. */
	if (!sum.whole)
		s->cg.dir[CG_CPUSET] = NULL;
	if (!sum.part)
		s->cg.dir[CG_CPU] = NULL;
	cgroup_make(&s->cg);
	s->watch_memory = cgroup_limit_memory(&s->cg, job_mem_mib(s)) < 0;
	cgroup_limit_pids(&s->cg, MAX_PIDS);
	limit_cpus(s, &sum);
	buf_free(&sum.list);
}

/* --- binding --- */

/*
 * Directly by the kernel's numbers, which the daemon got from hwloc: to load
 * a topology in each shepherd takes longer than many a job.
 */
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

/* Memory near the CPUs; only of there when the job insists on it. */
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
	/* Kernels before 5.15 lack PREFERRED_MANY and go without. */
	syscall(SYS_set_mempolicy, strict ? MPOL_BIND : MPOL_PREFERRED_MANY,
	        mask, MAX_NUMA + 1);
}

static void bind_self(const struct shepherd *s, uint32_t i)
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

void tasks_bind(struct shepherd *s)
{
	struct cpu_sum sum;
	uint32_t first, end;

	cpu_sum(s, &sum);
	limit_cpus(s, &sum);
	buf_free(&sum.list);
	for (uint32_t i = 0; i < s->ntasks; i++) {
		struct cpus cpus;

		cpus_of(s, i, &first, &end);
		if (s->task[i].ended || first == end || !s->order.bind)
			continue;
		cpus = cpus_new(s, first, end);
		bind_process(s->task[i].pid, &cpus);
		proc_descendants(s->task[i].pid, bind_process, &cpus);
		CPU_FREE(cpus.set);
	}
}

/* --- one task --- */

static enum start_fault exec_failed(const char *script, struct err *err)
{
	if (errno == ENOEXEC)
		err_set(err, ENOEXEC,
		        "the script does not begin with '#!' and an "
		        "interpreter");
	else if (errno == E2BIG)
		err_set(err, E2BIG,
		        "arguments and environment of the job are too large "
		        "for this machine");
	else
		err_sys(err, "cannot run '%s'", script);
	return errno == ENOMEM || errno == ENFILE || errno == EAGAIN
	           ? FAULT_SYSTEM
	           : FAULT_USER;
}

static char **arguments(struct shepherd *s)
{
	const char *args = s->order.job.spec->args;
	json_t *list = args ? json_loads(args, 0, NULL) : NULL;
	size_t n = json_array_size(list);
	char **argv = arena_array(s->arena, char *, n + 2);

	argv[0] = arena_strdup(s->arena, files_script(s));
	for (size_t i = 0; i < n; i++) {
		const char *arg = json_string_value(json_array_get(list, i));

		argv[i + 1] = arena_strdup(s->arena, arg ? arg : "");
	}
	json_decref(list);
	return argv;
}

static char **environment(struct shepherd *s, uint32_t i)
{
	struct env_of e = {
		.order = &s->order,
		.rank = i,
		.pid = getpid(),
		.start = s->outcome.start,
		.tmpdir = files_tmpdir(s),
		.run_id = s->claim.run_id,
		.home = s->home,
		.shell = s->shell,
	};

	return env_build(&e, s->arena);
}

/* Our own place in the order of those killed for memory is not the job's. */
static void reset_oom_score(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, "0", 1) < 0) {
		/* It stays as it is: nothing depends on it. */
	}
	close(fd);
}

static int task_prepare(struct shepherd *s, uint32_t i, struct failure *f)
{
	const char *workdir = s->order.job.spec->workdir;
	struct task *t = &s->task[i];
	sigset_t none;

	f->fault = FAULT_SYSTEM;
	if (setsid() < 0)
		return err_sys(&f->err, "cannot begin a session");
	if (cgroup_join(&s->cg, &f->err) < 0)
		return -1;
	reset_oom_score();
	bind_self(s, i);
	for (int fd = 0; fd < 3; fd++)
		if (dup2(t->fd[fd], fd) < 0)
			return err_sys(&f->err, "cannot pass on files");
	if (user_become(s, &f->err) < 0)
		return -1;
	/* Should the shepherd be killed: the rest is found by the daemon. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != s->claim.pid)
		return err_set(&f->err, ESRCH, "the shepherd is gone");
	umask(user_umask(s));
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	f->fault = FAULT_USER;
	if (chdir(workdir) < 0)
		return err_sys(&f->err, "cannot enter working directory '%s'",
		               workdir);
	return 0;
}

static void task_main(struct shepherd *s, uint32_t i, int report)
{
	struct failure f = { 0 };

	if (task_prepare(s, i, &f) == 0) {
		char **argv = arguments(s);

		execve(argv[0], argv, environment(s, i));
		f.fault = exec_failed(argv[0], &f.err);
	}
	if (write(report, &f, sizeof(f)) != (ssize_t)sizeof(f))
		_exit(126);
	_exit(127);
}

static int fork_tasks(struct shepherd *s, int report, struct err *err)
{
	for (uint32_t i = 0; i < s->ntasks; i++) {
		pid_t pid = cgroup_fork(&s->cg);

		if (pid < 0)
			return err_sys(err, "cannot start a process");
		if (pid == 0)
			task_main(s, i, report);
		s->task[i].pid = pid;
		s->alive++;
	}
	return 0;
}

/* All have become the script once the pipe ends without a word. */
static int launch(struct shepherd *s, enum start_fault *ret_fault,
                  struct err *err)
{
	struct failure f;
	int report[2], status;
	ssize_t n;

	*ret_fault = FAULT_SYSTEM;
	if (pipe2(report, O_CLOEXEC) < 0)
		return err_sys(err, "cannot make a pipe");
	s->outcome.start = time(NULL);
	status = fork_tasks(s, report[1], err);
	close(report[1]);
	n = read(report[0], &f, sizeof(f));
	close(report[0]);
	if (status == 0 && n == (ssize_t)sizeof(f)) {
		*ret_fault = f.fault;
		status = err_set(err, f.err.code, "%s", f.err.text);
	}
	return status;
}

int tasks_start(struct shepherd *s, enum start_fault *ret_fault,
                struct err *err)
{
	s->ntasks = env_nprocs(&s->order.job);
	s->task = arena_array(s->arena, struct task, s->ntasks);
	*ret_fault = FAULT_SYSTEM;
	if (user_find(s, ret_fault, err) < 0 ||
	    files_make(s, ret_fault, err) < 0 ||
	    files_open(s, ret_fault, err) < 0)
		return -1;
	make_group(s);
	/* From here on something of the job may run: after a power failure
	 * too it must be known that it may have. */
	*ret_fault = FAULT_SYSTEM;
	if (record_sync(s->claim_fd, s->dirfd, err) < 0)
		return -1;
	return launch(s, ret_fault, err);
}

void tasks_say(struct shepherd *s, const char *fmt, ...)
{
	struct buf line = { 0 };
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	buf_printf(&line, "aischedd: error: %s\n", text);
	for (uint32_t i = 0; i < s->ntasks; i++) {
		struct pollfd p = { .fd = s->task[i].fd[2], .events = POLLOUT };
		bool again = false;

		for (uint32_t j = 0; j < i && !again; j++)
			again = s->task[j].fd[2] == p.fd;
		/* A full pipe that nobody reads must not hold us up. */
		if (again || poll(&p, 1, 0) != 1)
			continue;
		if (write(p.fd, line.data, line.len) < 0)
			continue;
	}
	buf_free(&line);
}
