/* task.c - from the order to running processes */
#include "aischedd/run/shepherd/shepherd.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "aischedd/run/shepherd/env.h"
#include "aischedd/run/shepherd/user.h"
#include "libcommon/buf.h"

/* What a process that could not become a task says before it ends. */
struct failure {
	enum start_fault fault;
	struct err err;
};

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
		.slot = i,
		.rank = s->task[i].rank,
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
	limits_bind_self(s, i);
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

static int fork_task(struct shepherd *s, uint32_t i, int report,
                     struct err *err)
{
	pid_t pid = cgroup_fork(&s->cg);

	if (pid < 0)
		return err_sys(err, "cannot start a process");
	if (pid == 0)
		task_main(s, i, report);
	s->task[i].pid = pid;
	s->task[i].state = TASK_RUNS;
	return 0;
}

static int fork_tasks(struct shepherd *s, int report, struct err *err)
{
	for (uint32_t i = 0; i < s->ntasks; i++)
		if (fork_task(s, i, report, err) < 0)
			return -1;
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
	s->ntasks = s->alive = env_nprocs(&s->order.job);
	s->task = xcalloc(s->ntasks, sizeof(*s->task));
	for (uint32_t i = 0; i < s->ntasks; i++) {
		s->task[i].rank = i;
		s->task[i].report = -1;
		for (int k = 0; k < 3; k++)
			s->task[i].fd[k] = -1;
	}
	*ret_fault = FAULT_SYSTEM;
	if (user_find(s, ret_fault, err) < 0 ||
	    files_make(s, ret_fault, err) < 0 ||
	    files_open(s, ret_fault, err) < 0)
		return -1;
	limits_make(s);
	/* From here on something of the job may run: after a power failure
	 * too it must be known that it may have. */
	*ret_fault = FAULT_SYSTEM;
	if (record_sync(s->claim_fd, s->dirfd, err) < 0)
		return -1;
	return launch(s, ret_fault, err);
}

/* Others run meanwhile: what it has to say is read when it has ended. */
int task_start(struct shepherd *s, uint32_t i, struct err *err)
{
	enum start_fault fault;
	int report[2], status;

	if (files_open_task(s, i, &fault, err) < 0)
		return -1;
	if (pipe2(report, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_sys(err, "cannot make a pipe");
	status = fork_task(s, i, report[1], err);
	close(report[1]);
	if (status < 0)
		close(report[0]);
	else
		s->task[i].report = report[0];
	return status;
}

int task_report(struct task *t, struct err *err)
{
	struct failure f;
	ssize_t n;

	if (t->report < 0)
		return 0;
	n = read(t->report, &f, sizeof(f));
	close(t->report);
	t->report = -1;
	if (n != (ssize_t)sizeof(f))
		return 0;
	*err = f.err;
	return 1;
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
		again = again || p.fd < 0; /* it has not begun */
		/* A full pipe that nobody reads must not hold us up. */
		if (again || poll(&p, 1, 0) != 1)
			continue;
		if (write(p.fd, line.data, line.len) < 0)
			continue;
	}
	buf_free(&line);
}
