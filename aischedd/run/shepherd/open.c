/* open.c - open the job's outputs and input as its user */
#include "aischedd/run/shepherd/open.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "aischedd/run/output.h"
#include "aischedd/run/shepherd/record.h"
#include "aischedd/run/shepherd/user.h"
#include "libcommon/buf.h"
#include "libcommon/clock.h"
#include "libcommon/fdpass.h"

#define OPEN_MS 20000 /* time to open all files of a start */

static int user_fault(enum start_fault *ret_fault, struct err *err,
                      const char *what, const char *path)
{
	*ret_fault = fault_of(errno);
	return err_sys(err, "cannot %s '%s'", what, path);
}

/* Make those folders above the file that are missing. */
static void make_parents(char *path)
{
	for (char *p = path + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(path, 0777);
		*p = '/';
	}
}

/* Open a file for reading or writing. If it is a named pipe, do not wait for
 * the other end to be opened. */
static int open_now(const char *path, int flags)
{
	int fd = open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);

	if (fd < 0 && errno == ENXIO) {
		/* No process reads the pipe: open it for reading, too, so that
		 * this succeeds. */
		flags &= ~(O_WRONLY | O_CREAT | O_TRUNC);
		fd = open(path,
		          flags | O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	}
	if (fd >= 0)
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	return fd;
}

static int open_output(struct shepherd *s, char *path)
{
	const struct run_job *job = &s->order.job;
	bool append = job->append || job->spec->append == 1;
	int flags = O_WRONLY | O_CREAT | O_APPEND | (append ? 0 : O_TRUNC);
	int fd = open_now(path, flags);

	if (fd < 0 && errno == ENOENT) {
		make_parents(path);
		fd = open_now(path, flags);
	}
	return fd;
}

/* Returns the path of a file of this task, from a pattern such as "out-%j". */
static struct buf file_path(const struct shepherd *s, const char *pattern,
                            uint32_t task)
{
	const struct run_job *job = &s->order.job;
	struct output_name name = { .job = job->job,
		                    .array_job = job->array_job,
		                    .array_task = job->array_task,
		                    .task = task,
		                    .name = job->spec->name,
		                    .user = job->user,
		                    .node = s->order.host };
	struct buf path = { 0 };

	output_expand(pattern, job->spec->workdir, &name, &path);
	return path;
}

/* Whether the file is in /proc. Such a file must be refused, as it would show
 * data of the shepherd, such as where its memory is. */
static bool is_of_proc(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

int open_for_user(char *path, int flags)
{
	int fd = open_now(path, flags);

	if (fd < 0 && errno == ENOENT && flags & O_CREAT) {
		make_parents(path);
		fd = open_now(path, flags);
	}
	if (fd < 0 || !is_of_proc(fd))
		return fd;
	close(fd);
	errno = EACCES;
	return -1;
}

int open_input(const struct shepherd *s, uint32_t rank,
               enum start_fault *ret_fault, struct err *err)
{
	const char *pattern = s->order.job.spec->input;
	struct buf path = file_path(s, pattern ? pattern : "/dev/null", rank);
	int fd = open_now(path.data, O_RDONLY);

	if (fd < 0) {
		user_fault(ret_fault, err, "open input", path.data);
	} else if (is_of_proc(fd)) {
		close(fd);
		fd = -1;
		*ret_fault = FAULT_USER;
		err_set(err, EACCES,
		        "input '%s' is in /proc: read it in the script",
		        path.data);
	}
	buf_free(&path);
	return fd;
}

/* --- code of the process that opens files --- */

/* The report on one file. The file's descriptor comes with it, unless
 * opening failed. */
struct reply {
	bool failed;
	enum start_fault fault;
	struct err err;
};

/*
 * Returns a descriptor to which lines of our own can be written without
 * waiting. For a regular file, which never makes a writer wait, this is fd
 * itself. Any other file is opened again, with O_NONBLOCK: if the flag were set
 * on fd, it would also apply to the tasks, which share the open file.
 */
static int open_to_say(int fd)
{
	struct stat st;
	char path[32];

	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/* Send fd, an open file, to the shepherd. Also send say_fd, the result of
 * open_to_say(fd), if it differs from fd. */
static void send_file(int to, int fd, int say_fd)
{
	int fds[] = { fd, say_fd }, n = fd == say_fd ? 1 : 2;
	struct reply reply = { .failed = false };

	while (fdpass_send(to, &reply, sizeof(reply), fds, n, 0) < 0) {
		/* The kernel limits how many descriptors of a user may be
		 * in transit. */
		if (errno != ETOOMANYREFS)
			_exit(126);
		poll(NULL, 0, 1);
	}
}

/* Check that the user can execute the interpreter in the script's #! line. If
 * there is no such line, succeeds: exec will report the error. */
static int check_interpreter(struct shepherd *s, enum start_fault *ret_fault,
                             struct err *err)
{
	const char *script = s->order.job.script;
	size_t len = s->order.job.script_len, n = 2;
	char path[256];

	if (len < 3 || memcmp(script, "#!", 2))
		return 0;
	while (n < len && (script[n] == ' ' || script[n] == '\t'))
		n++;
	script += n;
	len -= n;
	for (n = 0; n < len && n < sizeof(path) - 1; n++) {
		if (strchr(" \t\r\n", script[n]))
			break;
		path[n] = script[n];
	}
	path[n] = '\0';
	if (faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0)
		return 0;
	return user_fault(ret_fault, err, "run the script with its interpreter",
	                  path);
}

static int check_user_side(struct shepherd *s, enum start_fault *ret_fault,
                           struct err *err)
{
	const char *workdir = s->order.job.spec->workdir;

	if (faccessat(AT_FDCWD, workdir, X_OK, AT_EACCESS) < 0)
		return user_fault(ret_fault, err, "enter working directory",
		                  workdir);
	if (check_interpreter(s, ret_fault, err) < 0)
		return -1;
	if (faccessat(AT_FDCWD, files_script(s), X_OK, AT_EACCESS) < 0) {
		*ret_fault = FAULT_SYSTEM;
		return err_sys(err,
		               "user '%s' cannot reach '%s' (state_dir and "
		               "what is above it need mode +x)",
		               s->order.job.user, files_script(s));
	}
	return 0;
}

/* A child process that opens the files of tasks, from index first to
 * before end. */
struct opening {
	uint32_t first, end;
	bool check; /* check that the user can reach workdir and script, too */
	int conn, pid;
	int64_t until;
};

/* Returns the file that an earlier task has opened at this path, as tasks share
 * files; NULL if there is none. */
static struct file *find_file(const struct shepherd *s, const char *path)
{
	for (size_t i = 0; i < s->nfiles; i++)
		if (!strcmp(s->file[i].path, path))
			return &s->file[i];
	return NULL;
}

static struct file *add_file(struct shepherd *s, char *path, int fd, int say_fd)
{
	s->file = GROW(s->file, s->nfiles, &s->files_cap);
	s->file[s->nfiles] = (struct file){ path, fd, say_fd };
	return &s->file[s->nfiles++];
}

/* Opens a file that no earlier task has opened, or receives its descriptor from
 * the opener; fills in *ret. */
typedef int get_file_fn(struct shepherd *s, struct opening *o, char *path,
                        struct file *ret, enum start_fault *ret_fault,
                        struct err *err);

static int output(struct shepherd *s, struct opening *o, const char *pattern,
                  uint32_t rank, get_file_fn *get, enum start_fault *ret_fault,
                  struct err *err)
{
	struct buf buf = file_path(s, pattern, rank);
	struct file *known = find_file(s, buf.data), file;

	if (known) {
		buf_free(&buf);
		return known->fd;
	}
	if (get(s, o, buf.data, &file, ret_fault, err) < 0) {
		buf_free(&buf);
		return -1;
	}
	return add_file(s, buf_take(&buf), file.fd, file.say_fd)->fd;
}

static int each_output(struct shepherd *s, struct opening *o, get_file_fn *get,
                       enum start_fault *ret_fault, struct err *err)
{
	const struct spec *spec = s->order.job.spec;

	for (uint32_t i = o->first; i < o->end; i++) {
		struct task *t = &s->task[i];

		t->out = t->err =
		    output(s, o, spec->output, t->rank, get, ret_fault, err);
		if (t->out >= 0 && spec->error)
			t->err = output(s, o, spec->error, t->rank, get,
			                ret_fault, err);
		if (t->out < 0 || t->err < 0)
			return -1;
	}
	return 0;
}

static int get_by_opening(struct shepherd *s, struct opening *o, char *path,
                          struct file *ret, enum start_fault *ret_fault,
                          struct err *err)
{
	int fd = open_output(s, path);

	if (fd < 0)
		return user_fault(ret_fault, err, "open output", path);
	*ret = (struct file){ .fd = fd, .say_fd = open_to_say(fd) };
	send_file(o->conn, fd, ret->say_fd >= 0 ? ret->say_fd : fd);
	return 0;
}

static void open_all(struct shepherd *s, struct opening *o)
{
	struct reply r = { .failed = true, .fault = FAULT_SYSTEM };

	if (user_become(s, &r.err) == 0) {
		umask(user_umask(s));
		if ((!o->check || check_user_side(s, &r.fault, &r.err) == 0) &&
		    each_output(s, o, get_by_opening, &r.fault, &r.err) == 0)
			_exit(0);
	}
	send(o->conn, &r, sizeof(r), MSG_NOSIGNAL);
	_exit(1);
}

/* --- code of the shepherd --- */

static int no_answer(struct opening *o, enum start_fault *ret_fault,
                     struct err *err)
{
	*ret_fault = FAULT_USER;
	if (clock_ms() < o->until)
		return err_set(err, ECHILD,
		               "the process that opens the job's files was "
		               "killed");
	return err_set(err, ETIMEDOUT,
	               "the job's files could not be opened within %d s: "
	               "their folder cannot be reached, or the process that "
	               "opens them was stopped",
	               OPEN_MS / 1000);
}

/* Returns true once the connection has data, false after the deadline. */
static bool await(const struct opening *o)
{
	struct pollfd p = { .fd = o->conn, .events = POLLIN };
	int64_t left;

	while ((left = o->until - clock_ms()) > 0)
		if (poll(&p, 1, (int)left) == 1)
			return true;
	return false;
}

static int get_from_opener(struct shepherd *s, struct opening *o, char *path,
                           struct file *ret, enum start_fault *ret_fault,
                           struct err *err)
{
	struct reply reply;
	int fds[2], n;

	(void)s, (void)path;
	if (!await(o) ||
	    fdpass_recv(o->conn, &reply, sizeof(reply), fds, ARRAY_SIZE(fds),
	                &n, 0) != (ssize_t)sizeof(reply))
		return no_answer(o, ret_fault, err);
	if (reply.failed) {
		*ret_fault = reply.fault;
		return err_set(err, reply.err.code, "%s", reply.err.text);
	}
	if (n < 1) {
		*ret_fault = FAULT_USER;
		return err_set(err, EMFILE,
		               "the job has more outputs than files may be "
		               "open");
	}
	*ret = (struct file){ .fd = fds[0], .say_fd = fds[n - 1] };
	return 0;
}

/* Whether all output files of these tasks are open already. */
static bool all_known(const struct shepherd *s, const struct opening *o)
{
	const struct spec *spec = s->order.job.spec;
	bool known = true;

	for (uint32_t i = o->first; i < o->end && known; i++) {
		uint32_t rank = s->task[i].rank;
		struct buf out = file_path(s, spec->output, rank);
		struct buf error = file_path(
		    s, spec->error ? spec->error : spec->output, rank);

		known = find_file(s, out.data) && find_file(s, error.data);
		buf_free(&out);
		buf_free(&error);
	}
	return known;
}

static int open_by_user(struct shepherd *s, struct opening *o,
                        enum start_fault *ret_fault, struct err *err)
{
	int pair[2] = { -1, -1 }, status;

	*ret_fault = FAULT_SYSTEM;
	if (all_known(s, o))
		return each_output(s, o, get_from_opener, ret_fault, err);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, "cannot make a socket");
	o->pid = fork();
	if (o->pid == 0) {
		o->conn = pair[1];
		open_all(s, o);
	}
	close(pair[1]);
	if (o->pid < 0) {
		close(pair[0]);
		return err_sys(err, "cannot start a process");
	}
	o->conn = pair[0];
	o->until = clock_ms() + OPEN_MS;
	status = each_output(s, o, get_from_opener, ret_fault, err);
	close(o->conn);
	/* The process has not been reaped, so no other can have its pid. */
	if (status < 0)
		kill(o->pid, SIGKILL);
	return status;
}

int open_outputs(struct shepherd *s, enum start_fault *ret_fault,
                 struct err *err)
{
	struct opening o = { .end = s->ntasks, .check = true };

	return open_by_user(s, &o, ret_fault, err);
}

int open_outputs_of_task(struct shepherd *s, uint32_t i,
                         enum start_fault *ret_fault, struct err *err)
{
	struct opening o = { .first = i, .end = i + 1 };

	return open_by_user(s, &o, ret_fault, err);
}
