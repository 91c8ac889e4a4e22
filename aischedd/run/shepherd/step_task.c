/*
 * step_task.c - start the tasks of a step as processes
 *
 * The process that is to become the task reads the request itself, and opens
 * files as the user. So a long request or a slow file server does not block the
 * shepherd.
 */
#include "aischedd/run/shepherd/step_task.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aischedd/run/keyring.h"
#include "aischedd/run/shepherd/env.h"
#include "aischedd/run/shepherd/limit.h"
#include "aischedd/run/shepherd/open.h"
#include "aischedd/run/shepherd/task.h"
#include "aischedd/run/shepherd/user.h"

#define EXIT_LOST      1 /* the process of the task could not be made */
#define EXIT_NOT_RUN   126
#define EXIT_NOT_FOUND 127

/* --- descriptors ---------------------------------------------------------- */

/* The descriptors that one task gets. */
struct ends {
	int own[3];
	int pty; /* the task's side of a terminal; -1: none */
};

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void step_task_given(struct job_step *step)
{
	while (step->ngive > 0)
		close(step->give[--step->ngive]);
	step->gives = false;
}

void step_task_close(struct job_step *step)
{
	for (int i = 0; i < 3; i++)
		close_fd(&step->fd[i]);
	close_fd(&step->request);
}

static int make_pipe(struct job_step *step, int i, struct ends *e,
                     struct err *err)
{
	int fd[2];

	if (pipe2(fd, O_CLOEXEC) < 0)
		return err_sys(err, "cannot make a pipe");
	e->own[i] = fd[i != STDIN_FILENO];
	step->give[step->ngive++] = fd[i == STDIN_FILENO];
	return 0;
}

/* Make a terminal: the task gets one side of it, and srun the other. */
static int make_pty(const struct shepherd *s, struct job_step *step,
                    struct ends *e, struct err *err)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (master < 0)
		return err_sys(err, "cannot make a terminal");
	step->give[step->ngive++] = master;
	if (grantpt(master) < 0 || unlockpt(master) < 0)
		return err_sys(err, "cannot make a terminal");
	step_size_terminal(&step->req, master);
	e->pty = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (e->pty < 0)
		return err_sys(err, "cannot open a terminal");
	if (s->other_user && fchown(e->pty, s->order.job.uid, (gid_t)-1) < 0)
		return err_sys(err, "cannot give away a terminal");
	return 0;
}

/* Whether stream i (stdin, stdout or stderr) of this task is connected to srun,
 * by a descriptor of srun's or by a pipe. */
static bool has_stream(const struct job_step *step, int i, uint32_t rank)
{
	return step->req.task[i] == STEP_ALL_TASKS ||
	       step->req.task[i] == (int64_t)rank;
}

static int make_ends(const struct shepherd *s, struct job_step *step,
                     uint32_t rank, struct ends *e, struct err *err)
{
	static const int64_t pipes[] = { STEP_PIPE_IN, STEP_PIPE_OUT,
		                         STEP_PIPE_ERR };

	*e = (struct ends){ { -1, -1, -1 }, -1 };
	if (step->req.flags & STEP_PTY)
		return make_pty(s, step, e, err);
	for (int i = 0; i < 3; i++)
		if (step->req.flags & pipes[i] && has_stream(step, i, rank) &&
		    make_pipe(step, i, e, err) < 0)
			return -1;
	return 0;
}

static void close_ends(struct ends *e)
{
	for (int i = 0; i < 3; i++)
		close_fd(&e->own[i]);
	close_fd(&e->pty);
}

int64_t step_task_slot(const struct shepherd *s, int64_t rank)
{
	for (uint32_t i = 0; i < s->ntasks; i++)
		if (s->task[i].rank == rank)
			return i;
	return order_is_allocation(&s->order) && rank == 0 ? 0 : -1;
}

/* --- code of the process that becomes the task ---------------------------- */

struct image {
	char **argv, **env;
	struct step_request req; /* its texts are in step->request, mapped */
};

__attribute__((noreturn, format(printf, 2, 3))) static void give_up(
    const struct shepherd *s, const char *fmt, ...)
{
	int code = errno;
	va_list ap;

	dprintf(STDERR_FILENO, "slurmstepd-%s: error: ", s->order.host);
	va_start(ap, fmt);
	vdprintf(STDERR_FILENO, fmt, ap);
	va_end(ap);
	dprintf(STDERR_FILENO, ": %s\n", strerror(code));
	_exit(code > 0 && code < 126 ? code : EXIT_LOST);
}

/* Print an error and exit, as a shell does if it cannot run a command. */
__attribute__((noreturn)) static void not_run(const char *command)
{
	int code = errno;

	dprintf(STDERR_FILENO, "aisched: cannot run '%s': %s\n", command,
	        strerror(code));
	_exit(code == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN);
}

static char **arguments(struct image *image, const char **at, const char *end,
                        struct arena *arena)
{
	size_t n = (size_t)image->req.argc;
	char **argv;

	if (n > (size_t)(end - *at))
		return NULL;
	argv = arena_array(arena, char *, n + 1);
	for (size_t i = 0; i < n; i++) {
		const char *text = step_next_text(at, end);

		if (!text)
			return NULL;
		argv[i] = arena_strdup(arena, text);
	}
	return argv;
}

/* Map the request into memory, and make argv and environment from it. */
static bool read_request(struct shepherd *s, const struct job_step *step,
                         uint32_t rank, struct image *image)
{
	struct arena *arena = arena_new();
	struct env_step of = { .id = step->id,
		               .tasks = (uint32_t)step->req.tasks,
		               .cpus = step->req.cpus,
		               .has_gpus = step->req.gpus >= 0,
		               .gpus = step->task[rank].gpus,
		               .umask = (mode_t)step->req.umask };
	struct env_of e = { .order = &s->order,
		            .rank = rank,
		            .start = s->outcome.start,
		            .tmpdir = s->tmpdir,
		            .end_file = s->end_file,
		            .run_id = s->claim.run_id,
		            .home = s->home,
		            .shell = s->shell,
		            .step = &of };
	int64_t slot = step_task_slot(s, step->req.rank);
	struct stat st;
	const char *data, *at;

	if (fstat(step->request, &st) < 0 || st.st_size <= 0 ||
	    st.st_size > STEP_REQUEST_MAX)
		return false;
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE,
	            step->request, 0);
	if (data == MAP_FAILED ||
	    step_request_parse(data, (size_t)st.st_size, &image->req, NULL) < 0)
		return false;
	at = image->req.texts;
	image->argv = arguments(image, &at, data + st.st_size, arena);
	of.job_name = *image->req.job_name ? image->req.job_name : NULL;
	of.env = at;
	of.env_len = (size_t)(data + st.st_size - at);
	if (step->req.flags & STEP_AS_TASK) {
		e.rank = (uint32_t)step->req.rank;
		e.slot = slot > 0 ? (uint32_t)slot : 0;
		e.step = NULL;
		e.like = &of;
	}
	image->env = env_build(&e, arena);
	env_set_pid(image->env, getpid());
	return image->argv != NULL;
}

static void bind_cpus(const struct job_step *step)
{
	cpu_set_t *set;
	size_t size;
	int max = 0;

	if (!step->ncpus)
		return;
	for (uint32_t i = 0; i < step->ncpus; i++)
		max = step->cpu[i] > max ? step->cpu[i] : max;
	set = CPU_ALLOC((size_t)max + 1);
	size = CPU_ALLOC_SIZE((size_t)max + 1);
	CPU_ZERO_S(size, set);
	for (uint32_t i = 0; i < step->ncpus; i++)
		CPU_SET_S(step->cpu[i], size, set);
	sched_setaffinity(0, size, set);
	CPU_FREE(set);
}

static int pass_on(const struct job_step *step, uint32_t rank,
                   const struct ends *e)
{
	for (int i = 0; i < 3; i++) {
		int fd = e->pty >= 0                 ? e->pty
		         : e->own[i] >= 0            ? e->own[i]
		         : has_stream(step, i, rank) ? step->fd[i]
		                                     : -1;

		if (fd < 0)
			fd = open("/dev/null", O_RDWR | O_CLOEXEC);
		if (fd < 0 || dup2(fd, i) < 0)
			return -1;
	}
	return e->pty < 0 ? 0 : ioctl(STDIN_FILENO, TIOCSCTTY, 0);
}

/* Do all that needs the shepherd's rights, then become the user. With the
 * shepherd's rights, never write to a descriptor or open a file of the user. */
static bool prepare_as_shepherd(struct shepherd *s, struct job_step *step,
                                uint32_t rank, const struct ends *e)
{
	struct err err;

	if (setsid() < 0 || cgroup_join(&s->cg, &err) < 0)
		return false;
	task_reset_oom_score();
	bind_cpus(step);
	/* Make srun's descriptors stdin, stdout and stderr; exec closes
	 * all others. */
	if (pass_on(step, rank, e) < 0)
		return false;
	if (keyring_join() < 0 && s->other_user)
		return false;
	return user_become(s, &err) == 0;
}

/* Returns the flags with which a task opens an output file. A file that several
 * tasks share must not be truncated, as this would delete output of others. */
static int open_flags(const struct step_request *req, const char *pattern)
{
	bool alone = req->tasks == 1 || strstr(pattern, "%t");

	return O_WRONLY | O_CREAT | O_APPEND |
	       (alone && !(req->flags & STEP_APPEND) ? O_TRUNC : 0);
}

static void open_files(const struct shepherd *s, const struct job_step *step,
                       uint32_t rank, const struct step_request *req)
{
	static const char *const names[] = { "stdin", "stdout", "stderr" };

	for (int i = 0; i < 3; i++) {
		struct buf path = { 0 };
		int fd;

		if (!*req->file[i])
			continue;
		step_file_expand(req->file[i], s->order.job.job, step->id, rank,
		                 &path);
		fd = open_for_user(path.data,
		                   i == STDIN_FILENO
		                       ? O_RDONLY
		                       : open_flags(req, req->file[i]));
		if (fd < 0)
			give_up(s, "Could not open %s file %s", names[i],
			        path.data);
		dup2(fd, i);
		buf_free(&path);
	}
}

static void enter(const struct shepherd *s, const char *cwd)
{
	if (chdir(cwd) == 0)
		return;
	dprintf(STDERR_FILENO,
	        "slurmstepd-%s: error: couldn't chdir to `%s': %s: going to "
	        "/tmp instead\n",
	        s->order.host, cwd, strerror(errno));
	if (chdir("/tmp") < 0)
		give_up(s, "chdir(): /tmp");
}

__attribute__((noreturn)) static void become(struct shepherd *s,
                                             struct job_step *step,
                                             uint32_t rank,
                                             const struct ends *e)
{
	struct image image;
	bool as_task;

	if (!read_request(s, step, rank, &image) ||
	    !prepare_as_shepherd(s, step, rank, e))
		_exit(EXIT_LOST);
	as_task = image.req.flags & STEP_AS_TASK;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != s->claim.pid)
		_exit(EXIT_LOST);
	umask(as_task ? user_umask(s) : (mode_t)step->req.umask);
	task_unblock_signals();
	open_files(s, step, rank, &image.req);
	enter(s, as_task && !*image.req.cwd ? s->order.job.spec->workdir
	                                    : image.req.cwd);
	task_limits(s);
	environ = image.env;
	execvp(image.argv[0], image.argv);
	if (as_task)
		not_run(image.argv[0]);
	give_up(s, "execve(): %s", image.argv[0]);
}

/* --- code of the shepherd ------------------------------------------------- */

/* Returns the GPUs that this task sees: its own part of the step's GPUs if srun
 * asked for GPUs per task, otherwise all GPUs of the step. */
static uint64_t gpus_of_task(const struct job_step *step, uint32_t rank)
{
	uint64_t gpus = step->gpus, own = 0;
	int64_t each = step->req.gpus / step->req.tasks;

	if (!(step->req.flags & STEP_GPUS_PER_TASK))
		return gpus;
	for (int64_t i = 0; gpus && i < each * (rank + 1); i++) {
		if (i >= each * rank)
			own |= gpus & -gpus;
		gpus &= gpus - 1;
	}
	return own;
}

int step_task_start(struct shepherd *s, struct job_step *step, struct err *err)
{
	uint32_t rank = step->begun;
	struct ends e;
	pid_t pid;

	step->task[rank].gpus = gpus_of_task(step, rank);
	if (make_ends(s, step, rank, &e, err) < 0) {
		close_ends(&e);
		return -1;
	}
	pid = cgroup_fork(&s->cg);
	if (pid == 0)
		become(s, step, rank, &e);
	close_ends(&e);
	if (pid < 0)
		return err_sys(err, "cannot start a process");
	step->task[rank].pid = pid;
	step->begun++;
	step->alive++;
	step->gives = true;
	return 0;
}
