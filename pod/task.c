/* task.c - one task: from the request of a step to a running process */
#include "pod/task.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { EXIT_LOST = 127 };

/* --- in the process that becomes the task --------------------------------- */

__attribute__((noreturn, format(printf, 2, 3))) static void give_up(
    const struct pod_image *image, const char *fmt, ...)
{
	const struct pod_layout *layout = image->layout;
	char name[POD_NAME_MAX];
	int code = errno;
	va_list ap;

	pod_job_node(image->job, layout->pod[layout->self], name);
	dprintf(STDERR_FILENO, "slurmstepd-%s: error: ", name);
	va_start(ap, fmt);
	vdprintf(STDERR_FILENO, fmt, ap);
	va_end(ap);
	dprintf(STDERR_FILENO, ": %s\n", strerror(code));
	_exit(code > 0 && code < 126 ? code : EXIT_LOST);
}

/* Returns the flags to open a file for output. A file that several tasks write
 * to must not be truncated by each of them. */
static int open_flags(const struct step_request *req, const char *pattern)
{
	bool alone = req->tasks == 1 || strstr(pattern, "%t");

	return O_WRONLY | O_CREAT | O_APPEND |
	       (alone && !(req->flags & STEP_APPEND) ? O_TRUNC : 0);
}

/* Expand %t, %s and %J in a file name; srun has expanded the rest. */
static void expand(const struct pod_image *image, const char *pattern,
                   int64_t rank, struct buf *out)
{
	step_file_expand(pattern, (uint64_t)image->job->id,
	                 (uint32_t)image->layout->step, (uint32_t)rank, out);
}

static void open_files(const struct pod_image *image, int64_t rank)
{
	static const char *const names[] = { "stdin", "stdout", "stderr" };
	const struct step_request *req = image->req;

	for (int i = 0; i < 3; i++) {
		struct buf path = { 0 };
		int fd;

		if (!*req->file[i])
			continue;
		expand(image, req->file[i], rank, &path);
		fd = open(path.data,
		          (i == STDIN_FILENO ? O_RDONLY
		                             : open_flags(req, req->file[i])) |
		              O_CLOEXEC,
		          0666);
		if (fd < 0)
			give_up(image, "Could not open %s file %s", names[i],
			        path.data);
		dup2(fd, i);
		buf_free(&path);
	}
}

static void enter(const struct pod_image *image)
{
	const struct pod_layout *layout = image->layout;
	const char *cwd = image->req->cwd;
	char name[POD_NAME_MAX];

	if (chdir(cwd) == 0)
		return;
	pod_job_node(image->job, layout->pod[layout->self], name);
	dprintf(STDERR_FILENO,
	        "slurmstepd-%s: error: couldn't chdir to `%s': %s: going to "
	        "/tmp instead\n",
	        name, cwd, strerror(errno));
	if (chdir("/tmp") < 0)
		give_up(image, "chdir(): /tmp");
}

static void take_ends(const int end[3])
{
	for (int i = 0; i < 3; i++) {
		int fd = end[i] >= 0 ? end[i]
		                     : open("/dev/null", O_RDWR | O_CLOEXEC);

		if (fd < 0 || dup2(fd, i) < 0)
			_exit(EXIT_LOST);
	}
}

__attribute__((noreturn)) static void become(const struct pod_image *image,
                                             int64_t local, const int end[3],
                                             bool pty)
{
	int64_t rank = pod_layout_first(image->layout) + local;
	sigset_t none;

	setsid();
	take_ends(end);
	if (pty)
		ioctl(STDIN_FILENO, TIOCSCTTY, 0);
	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	umask((mode_t)image->req->umask);
	open_files(image, rank);
	enter(image);
	environ = pod_env(image->job, image->layout, image->req, local,
	                  image->env, image->env_len, image->arena);
	execvp(image->argv[0], image->argv);
	give_up(image, "execve(): %s", image->argv[0]);
}

/* --- in the agent --------------------------------------------------------- */

static bool has_stream(const struct step_request *req, int i, int64_t rank)
{
	return req->task[i] == STEP_ALL_TASKS || req->task[i] == rank;
}

static int make_pty(const struct step_request *req, struct pod_task *t,
                    int end[3], struct err *err)
{
	int fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

	t->out = fd;
	if (fd < 0 || grantpt(fd) < 0 || unlockpt(fd) < 0)
		return err_sys(err, "cannot make a terminal");
	step_size_terminal(req, fd);
	end[0] = ioctl(fd, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (end[0] < 0)
		return err_sys(err, "cannot open a terminal");
	end[1] = end[2] = end[0];
	return 0;
}

/* Make a pipe to or from a task; our end is non-blocking. */
static int make_pipe(int *ours, int *theirs, bool input, struct err *err)
{
	int fd[2];

	if (pipe2(fd, O_CLOEXEC) < 0)
		return err_sys(err, "cannot make a pipe");
	*ours = fd[input];
	*theirs = fd[!input];
	fcntl(*ours, F_SETFL, O_NONBLOCK);
	return 0;
}

static int make_ends(const struct step_request *req, int64_t rank,
                     struct pod_task *t, int end[3], struct err *err)
{
	static const int64_t pipes[] = { STEP_PIPE_IN, STEP_PIPE_OUT,
		                         STEP_PIPE_ERR };
	int *ours[] = { &t->in, &t->out, &t->err };

	if (req->flags & STEP_PTY)
		return make_pty(req, t, end, err);
	for (int i = 0; i < 3; i++)
		if (req->flags & pipes[i] && has_stream(req, i, rank) &&
		    make_pipe(ours[i], &end[i], i == 0, err) < 0)
			return -1;
	return 0;
}

static void shut(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

int pod_task_start(const struct pod_image *image, int64_t local,
                   struct pod_task *ret, struct err *err)
{
	int64_t rank = pod_layout_first(image->layout) + local;
	bool pty = image->req->flags & STEP_PTY;
	int end[3] = { -1, -1, -1 }, rc;

	*ret = (struct pod_task){ .in = -1, .out = -1, .err = -1 };
	rc = make_ends(image->req, rank, ret, end, err);
	ret->pid = rc < 0 ? -1 : fork();
	if (rc == 0 && ret->pid == 0)
		become(image, local, end, pty);
	for (int i = 0; i < 3; i++)
		if (i == 0 || !pty)
			shut(&end[i]);
	if (rc == 0 && ret->pid > 0)
		return 0;
	shut(&ret->in);
	shut(&ret->out);
	shut(&ret->err);
	return rc < 0 ? -1 : err_sys(err, "cannot start a process");
}
