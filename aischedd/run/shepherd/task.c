/* task.c - start the tasks of an order as processes */
#include "aischedd/run/shepherd/task.h"

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

#include "aischedd/run/keyring.h"
#include "aischedd/run/shepherd/env.h"
#include "aischedd/run/shepherd/limit.h"
#include "aischedd/run/shepherd/open.h"
#include "aischedd/run/shepherd/proc.h"
#include "aischedd/run/shepherd/shepherd.h"
#include "aischedd/run/shepherd/steps.h"
#include "aischedd/run/shepherd/user.h"
#include "aischedd/run/shepherd/vars.h"
#include "libcommon/buf.h"
#include "libcommon/clean.h"
#include "libcommon/clock.h"
#include "libcommon/rlimits.h"

#define EXEC_MS 20000 /* time for a task to exec the script */
#define SAY_MS  2000  /* time to write one of our own lines to outputs */

/* The last report of a process that cannot exec the script. */
struct failure {
	enum start_fault fault;
	struct err err;
};

/* --- starting tasks --- */

/* Program and arguments of a task. */
struct image {
	char **argv, **env;
	/* NULL: the process keeps the limits that it inherited */
	const struct rlimits *limits;
};

/* Set *err to why exec failed, and return whose fault that is. If the
 * submitter's limits are in force, ENOMEM is the fault of the user who
 * set these. */
static enum start_fault exec_failed(const struct image *image, struct err *err)
{
	enum start_fault fault =
	    errno == ENOMEM && image->limits ? FAULT_USER : fault_of(errno);

	if (errno == ENOEXEC)
		err_set(err, ENOEXEC,
		        "the script does not begin with '#!' and an "
		        "interpreter");
	else if (errno == E2BIG)
		err_set(err, E2BIG,
		        "arguments and environment of the job are too large "
		        "for this machine");
	else
		err_sys(err, "cannot run '%s'", image->argv[0]);
	return fault;
}

static char **arguments(struct shepherd *s, struct arena *arena)
{
	const char *args = s->order.job.spec->args;
	json_t *list = args ? json_loads(args, 0, NULL) : NULL;
	size_t n = json_array_size(list);
	char **argv = arena_array(arena, char *, n + 2);

	argv[0] = arena_strdup(arena, files_script(s));
	for (size_t i = 0; i < n; i++) {
		const char *arg = json_string_value(json_array_get(list, i));

		argv[i + 1] = arena_strdup(arena, arg ? arg : "");
	}
	json_decref(list);
	return argv;
}

static char **environment(struct shepherd *s, uint32_t i, struct arena *arena)
{
	struct env_of e = {
		.order = &s->order,
		.slot = i,
		.rank = s->task[i].rank,
		.start = s->outcome.start,
		.tmpdir = s->tmpdir,
		.end_file = s->end_file,
		.run_id = s->claim.run_id,
		.home = s->home,
		.shell = s->shell,
	};

	return env_build(&e, arena);
}

static const struct rlimits *limits(struct shepherd *s, struct arena *arena)
{
	const char *text = s->order.job.spec->rlimits;
	struct rlimits *limits = arena_array(arena, struct rlimits, 1);

	return text && !rlimits_parse(limits, text, NULL) ? limits : NULL;
}

/* Reset the OOM score, so that the job does not inherit ours. */
void task_reset_oom_score(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, "0", 1) < 0) {
		/* The score stays as it is, which breaks nothing. */
	}
	close(fd);
}

void task_unblock_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Do all that needs the shepherd's rights or may be slow. Then become the user,
 * who can stop the process from then on. */
static int prepare_as_shepherd(struct shepherd *s, uint32_t i, struct err *err)
{
	const struct task *t = &s->task[i];

	if (setsid() < 0)
		return err_sys(err, "cannot begin a session");
	if (cgroup_join(&s->cg, err) < 0)
		return -1;
	task_reset_oom_score();
	limits_bind_self(s, i);
	if (dup2(t->out, STDOUT_FILENO) < 0 || dup2(t->err, STDERR_FILENO) < 0)
		return err_sys(err, "cannot pass on files");
	if (keyring_join() < 0 && s->other_user)
		return err_sys(err, "cannot begin a session keyring");
	return user_become(s, err);
}

/* Do the rest before exec, with the user's rights. PR_SET_PDEATHSIG lets the
 * process be killed if the shepherd ends. */
static int prepare_as_user(struct shepherd *s, uint32_t i,
                           enum start_fault *ret_fault, struct err *err)
{
	const char *workdir = s->order.job.spec->workdir;
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != s->claim.pid)
		return err_set(err, ESRCH, "the shepherd is gone");
	umask(user_umask(s));
	task_unblock_signals();
	fd = open_input(s, s->task[i].rank, ret_fault, err);
	if (fd < 0)
		return -1;
	if (dup2(fd, STDIN_FILENO) < 0)
		return err_sys(err, "cannot pass on files");
	if (chdir(workdir) < 0) {
		*ret_fault = fault_of(errno);
		return err_sys(err, "cannot enter working directory '%s'",
		               workdir);
	}
	return 0;
}

void task_limits(struct shepherd *s)
{
	const struct rlimits *own = limits(s, s->arena);

	if (own)
		rlimits_set(own, s->order.rlimits);
}

static void task_main(struct shepherd *s, uint32_t i, const struct image *image,
                      int report)
{
	struct failure f = { .fault = FAULT_SYSTEM };

	env_set_pid(image->env, getpid());
	if (prepare_as_shepherd(s, i, &f.err) == 0 &&
	    prepare_as_user(s, i, &f.fault, &f.err) == 0) {
		if (image->limits)
			rlimits_set(image->limits, s->order.rlimits);
		execve(image->argv[0], image->argv, image->env);
		f.fault = exec_failed(image, &f.err);
	}
	if (write(report, &f, sizeof(f)) != (ssize_t)sizeof(f))
		_exit(126);
	_exit(127);
}

static int fork_task(struct shepherd *s, uint32_t i, int report,
                     struct err *err)
{
	struct arena *arena = arena_new();
	struct image image = { arguments(s, arena), environment(s, i, arena),
		               limits(s, arena) };
	pid_t pid = cgroup_fork(&s->cg);

	if (pid == 0)
		task_main(s, i, &image, report);
	arena_free(arena);
	if (pid < 0)
		return err_sys(err, "cannot start a process");
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

/* Start all tasks with a pipe, whose reading end is s->report. A task that
 * cannot exec writes a struct failure. Each exec closes the writing end, so the
 * pipe ends when all tasks have called exec. */
static int launch(struct shepherd *s, struct err *err)
{
	int report[2], status;

	if (pipe2(report, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_sys(err, "cannot make a pipe");
	s->outcome.start = time(NULL);
	s->exec_by = clock_ms() + EXEC_MS;
	status = fork_tasks(s, report[1], err);
	close(report[1]);
	s->report = report[0];
	return status;
}

static int too_late(struct err *err)
{
	return err_set(err, ETIMEDOUT,
	               "it did not run the script within %d s: it was "
	               "stopped, or its folder or interpreter cannot be "
	               "reached",
	               EXEC_MS / 1000);
}

/* Whether a task has not called exec because it waits for a CPU, as it may for
 * long on an overloaded machine. */
static bool is_one_ready(const struct shepherd *s)
{
	bool ret = false;

	for (uint32_t i = 0; i < s->ntasks && !ret; i++)
		ret = proc_is_ready(s->task[i].pid);
	return ret;
}

int tasks_started(struct shepherd *s, enum start_fault *ret_fault,
                  struct err *err)
{
	struct failure f;
	ssize_t n = s->report < 0 ? 0 : read(s->report, &f, sizeof(f));

	if (n == (ssize_t)sizeof(f)) {
		*ret_fault = f.fault;
		return err_set(err, f.err.code, "%s", f.err.text);
	}
	if (n < 0 && errno == EAGAIN) {
		/* Extend the deadline, as a suspended process cannot
		 * call exec. */
		if (s->suspended ||
		    (clock_ms() >= s->exec_by && is_one_ready(s)))
			s->exec_by = clock_ms() + EXEC_MS;
		*ret_fault = FAULT_USER;
		return clock_ms() >= s->exec_by ? too_late(err) : 0;
	}
	if (s->report >= 0)
		close(s->report);
	s->report = -1;
	s->started = true;
	return 1;
}

/* Begin an allocation. It has no task, but counts as one that runs until its
 * client or the daemon ends the job. */
static int begin_allocation(struct shepherd *s)
{
	s->outcome.start = time(NULL);
	s->alive = 1;
	steps_await_owner(s);
	return 0;
}

int tasks_start(struct shepherd *s, enum start_fault *ret_fault,
                struct err *err)
{
	bool holds = order_is_allocation(&s->order);

	s->ntasks = s->alive = holds ? 0 : env_nprocs(&s->order.job);
	s->leave_grace = s->order.job.grace;
	s->task = xcalloc(s->ntasks + 1, sizeof(*s->task));
	for (uint32_t i = 0; i < s->ntasks; i++) {
		s->task[i].rank = i;
		s->task[i].out = s->task[i].err = s->task[i].report = -1;
	}
	*ret_fault = FAULT_SYSTEM;
	if (user_find(s, ret_fault, err) < 0 ||
	    files_make(s, ret_fault, err) < 0 ||
	    (!holds && open_outputs(s, ret_fault, err) < 0))
		return -1;
	*ret_fault = FAULT_SYSTEM;
	if (steps_open(s, err) < 0)
		return -1;
	limits_make(s);
	/* From here on processes of the job may run, so the claim must survive
	 * a power failure. */
	if (record_sync(s->claim_fd, s->dirfd, err) < 0)
		return -1;
	return holds ? begin_allocation(s) : launch(s, err);
}

/* Start one task while others run. If exec fails in its process, task_report()
 * returns the error after that process has ended. */
int task_start(struct shepherd *s, uint32_t i, struct err *err)
{
	enum start_fault fault;
	int report[2], status;

	if (open_outputs_of_task(s, i, &fault, err) < 0)
		return -1;
	if (pipe2(report, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_sys(err, "cannot make a pipe");
	status = fork_task(s, i, report[1], err);
	close(report[1]);
	if (status < 0) {
		close(report[0]);
		return -1;
	}
	s->task[i].report = report[0];
	s->task[i].exec_by = clock_ms() + EXEC_MS;
	s->task[i].late = false;
	return 0;
}

void task_check(struct task *t, int64_t now)
{
	struct pollfd p = { .fd = t->report, .events = POLLIN };

	if (t->report < 0 || t->state != TASK_RUNS || now < t->exec_by)
		return;
	/* The pipe is readable: the process has called exec, which closed the
	 * pipe, or has written why not and will end. */
	if (poll(&p, 1, 0) == 1) {
		t->exec_by = INT64_MAX;
		return;
	}
	if (proc_is_ready(t->pid)) {
		t->exec_by = now + EXEC_MS;
		return;
	}
	t->late = true;
	t->exec_by = INT64_MAX;
	kill(t->pid, SIGKILL);
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
	if (t->late)
		too_late(err);
	else if (n == (ssize_t)sizeof(f))
		*err = f.err;
	else
		return 0;
	return 1;
}

/* Whether the file is stderr of a task. */
static bool is_stderr(const struct shepherd *s, const struct file *file)
{
	for (uint32_t i = 0; i < s->ntasks; i++)
		if (s->task[i].err == file->fd)
			return true;
	return false;
}

static void say_to_each(const struct shepherd *s, const struct buf *line)
{
	for (size_t i = 0; i < s->nfiles; i++) {
		if (!is_stderr(s, &s->file[i]))
			continue;
		/* A pipe that is full because nobody reads it does not get
		 * the line. */
		if (write(s->file[i].say_fd, line->data, line->len) < 0)
			continue;
	}
}

/* Write the line to all stderr files in a child process, as a file may be
 * on a server that does not answer. The child is not waited for longer
 * than SAY_MS. */
static void say_by_child(const struct shepherd *s, const struct buf *line)
{
	int done[2];
	struct pollfd p;
	pid_t pid;

	if (pipe2(done, O_CLOEXEC) < 0)
		return;
	pid = fork();
	if (pid == 0) {
		say_to_each(s, line);
		_exit(0);
	}
	close(done[1]);
	p = (struct pollfd){ .fd = done[0], .events = POLLIN };
	if (pid > 0 && poll(&p, 1, SAY_MS) != 1)
		kill(pid, SIGKILL);
	close(done[0]);
}

void tasks_say(struct shepherd *s, const char *fmt, ...)
{
	struct buf line = { 0 };
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	text[text_clean(text, strlen(text))] = '\0';
	buf_printf(&line, "aischedd: error: %s\n", text);
	say_by_child(s, &line);
	buf_free(&line);
}
