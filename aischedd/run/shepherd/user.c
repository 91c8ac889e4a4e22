/* user.c - become the job's user; the job's files */
#include "aischedd/run/shepherd/user.h"

#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "aischedd/run/output.h"
#include "aischedd/run/shepherd/env.h"
#include "aischedd/run/shepherd/fault.h"
#include "aischedd/run/shepherd/tmp.h"
#include "libcommon/buf.h"

#define DEFAULT_UMASK 022

static const char *in_dir(struct shepherd *s, const char *name)
{
	struct buf buf = { 0 };
	const char *path;

	buf_printf(&buf, "%s/%s", s->dir, name);
	path = arena_strdup(s->arena, buf.data);
	buf_free(&buf);
	return path;
}

const char *files_script(struct shepherd *s)
{
	return in_dir(s, "script");
}

static void find_groups(struct shepherd *s)
{
	const struct run_job *job = &s->order.job;
	int n = 64;

	do {
		s->ngroups = n;
		s->group = arena_array(s->arena, gid_t, (size_t)n);
	} while (getgrouplist(job->user, job->gid, s->group, &n) < 0 &&
	         n > s->ngroups);
	s->ngroups = n;
}

int user_find(struct shepherd *s, enum start_fault *ret_fault, struct err *err)
{
	const struct run_job *job = &s->order.job;
	struct passwd *pw;

	s->home = getenv("HOME");
	s->shell = getenv("SHELL");
	/* Without root's rights the group is the daemon's, too. */
	if (job->uid == geteuid() && (job->gid == getegid() || geteuid() != 0))
		return 0;
	if (geteuid() != 0) {
		*ret_fault = FAULT_USER;
		return err_set(err, EPERM,
		               "the daemon runs as uid %u and cannot run jobs "
		               "of user '%s'",
		               geteuid(), job->user);
	}
	s->other_user = true;
	find_groups(s);
	pw = getpwuid(job->uid);
	s->home = pw ? arena_strdup(s->arena, pw->pw_dir) : "/";
	s->shell = pw && *pw->pw_shell ? arena_strdup(s->arena, pw->pw_shell)
	                               : "/bin/sh";
	return 0;
}

mode_t user_umask(const struct shepherd *s)
{
	int64_t mask = s->order.job.spec->umask;

	return mask == SPEC_UNSET ? DEFAULT_UMASK : (mode_t)mask;
}

int user_enter(struct shepherd *s, struct err *err)
{
	const struct run_job *job = &s->order.job;

	umask(user_umask(s));
	if (s->other_user && (setgroups((size_t)s->ngroups, s->group) < 0 ||
	                      setegid(job->gid) < 0 || seteuid(job->uid) < 0))
		return err_sys(err, "cannot act as user '%s'", job->user);
	return 0;
}

void user_leave(struct shepherd *s)
{
	umask(077);
	if (!s->other_user)
		return;
	/* Going on with the user's rights would be worse than to end. */
	if (seteuid(0) < 0 || setegid(getgid()) < 0 || setgroups(0, NULL) < 0)
		abort();
}

int user_become(const struct shepherd *s, struct err *err)
{
	uid_t uid = s->order.job.uid, ruid, euid, suid;
	gid_t gid = s->order.job.gid;

	if (!s->other_user)
		return 0;
	if (setgroups((size_t)s->ngroups, s->group) < 0 ||
	    setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
		return err_sys(err, "cannot become user '%s'",
		               s->order.job.user);
	if (getresuid(&ruid, &euid, &suid) < 0 || ruid != uid || euid != uid ||
	    suid != uid || (uid != 0 && setresuid(-1, 0, -1) == 0))
		return err_set(err, EPERM, "could still become root");
	return 0;
}

/* --- files in dir --- */

static int write_script(struct shepherd *s, struct err *err)
{
	const struct run_job *job = &s->order.job;
	int fd =
	    openat(s->dirfd, "script",
	           O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0500);
	const char *p = job->script;
	size_t left = job->script_len;

	if (fd < 0)
		return err_sys(err, "cannot write '%s/script'", s->dir);
	while (left) {
		ssize_t n = write(fd, p, left);

		if (n < 0)
			break;
		p += n;
		left -= (size_t)n;
	}
	if (left || (s->other_user && fchown(fd, job->uid, job->gid) < 0)) {
		err_sys(err, "cannot write '%s/script'", s->dir);
		close(fd);
		return -1;
	}
	close(fd);
	return 0;
}

/* Nobody can guess its name and take it first. */
static int make_tmp(struct shepherd *s, struct err *err)
{
	const struct run_job *job = &s->order.job;
	struct buf path = { 0 };
	int fd;

	buf_printf(&path, "%s/aisched-%" PRIu64 ".%" PRIu32 "-%.8s",
	           s->order.tmp_dir, job->job, job->attempt, s->claim.run_id);
	s->tmpdir = arena_strdup(s->arena, path.data);
	buf_free(&path);
	/* It stays open, for its lock, while the shepherd lives. */
	fd = tmp_make(s->dirfd, s->tmpdir, err);
	if (fd < 0)
		return -1;
	if (s->other_user && fchown(fd, job->uid, job->gid) < 0)
		return err_sys(err, "cannot give away '%s'", s->tmpdir);
	return 0;
}

int files_make(struct shepherd *s, enum start_fault *ret_fault, struct err *err)
{
	*ret_fault = FAULT_SYSTEM;
	/* Other users' jobs reach their script through it, but cannot list
	 * it. */
	if (s->other_user && fchmod(s->dirfd, 0711) < 0)
		return err_sys(err, "cannot open up '%s'", s->dir);
	if (write_script(s, err) < 0)
		return -1;
	return make_tmp(s, err);
}

/* --- files of the user --- */

static int user_fault(enum start_fault *ret_fault, struct err *err,
                      const char *what, const char *path)
{
	*ret_fault = fault_of(errno);
	return err_sys(err, "cannot %s '%s'", what, path);
}

/* Make the missing folders above a file. */
static void make_parents(char *path)
{
	for (char *p = path + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(path, 0777);
		*p = '/';
	}
}

/* Open without waiting for the other end of a pipe. */
static int open_now(const char *path, int flags)
{
	int fd = open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);

	if (fd < 0 && errno == ENXIO) {
		/* A pipe without reader: open it for reading, too. */
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

/* Expand a pattern for a file of a task. */
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

/*
 * O_NONBLOCK belongs to the open file, which the tasks share: open once more
 * what a writer may have to wait for.
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

/* Open each name once: tasks with the same name share one file. */
static int output(struct shepherd *s, const char *pattern, uint32_t task,
                  enum start_fault *ret_fault, struct err *err)
{
	struct buf path = file_path(s, pattern, task);
	int fd;

	for (size_t i = 0; i < s->nfiles; i++) {
		if (strcmp(s->file[i].path, path.data))
			continue;
		buf_free(&path);
		return s->file[i].fd;
	}
	fd = open_output(s, path.data);
	if (fd < 0) {
		user_fault(ret_fault, err, "open output", path.data);
		buf_free(&path);
		return -1;
	}
	s->file = GROW(s->file, s->nfiles, &s->files_cap);
	s->file[s->nfiles++] =
	    (struct file){ buf_take(&path), fd, open_to_say(fd) };
	return fd;
}

/* Refuse /proc: it would show what the shepherd has, such as where its memory
 * is. */
static bool is_of_proc(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

int files_open_input(const struct shepherd *s, uint32_t rank,
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

/* The #! line names the interpreter; without one exec reports the error. */
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

static int open_task(struct shepherd *s, uint32_t i,
                     enum start_fault *ret_fault, struct err *err)
{
	const struct spec *spec = s->order.job.spec;
	struct task *t = &s->task[i];

	t->out = output(s, spec->output, t->rank, ret_fault, err);
	if (t->out < 0)
		return -1;
	t->err = spec->error ? output(s, spec->error, t->rank, ret_fault, err)
	                     : t->out;
	return t->err < 0 ? -1 : 0;
}

int files_open(struct shepherd *s, enum start_fault *ret_fault, struct err *err)
{
	int status;

	*ret_fault = FAULT_SYSTEM;
	status = user_enter(s, err);
	if (!status)
		status = check_user_side(s, ret_fault, err);
	for (uint32_t i = 0; !status && i < s->ntasks; i++)
		status = open_task(s, i, ret_fault, err);
	user_leave(s);
	return status;
}

int files_open_task(struct shepherd *s, uint32_t i, enum start_fault *ret_fault,
                    struct err *err)
{
	int status = user_enter(s, err);

	*ret_fault = FAULT_SYSTEM;
	if (!status)
		status = open_task(s, i, ret_fault, err);
	user_leave(s);
	return status;
}
