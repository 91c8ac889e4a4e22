/* user.c - become the job's user; make the job's script and folder */
#include "aischedd/run/shepherd/user.h"

#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aischedd/run/quota.h"
#include "aischedd/run/shepherd/end.h"
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
	/* A daemon that is not root cannot change its group, so its user's jobs
	 * run with the daemon's group. */
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

/* --- files in the attempt's folder --- */

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

/* If the job asks for disk and the file system has project quotas, limit the
 * temporary folder. The last digits of the run id are secret; the first are in
 * the name of the folder. */
static void limit_tmp(struct shepherd *s)
{
	uint32_t secret = (uint32_t)strtoul(s->claim.run_id + 24, NULL, 16);

	if (job_tmp_mib(s))
		s->project = quota_open(s->tmp_fd, secret, job_tmp_mib(s));
}

/* Make the temporary folder. Its name has a part of the run id, so that nobody
 * can guess the name and make such a folder first. */
static int make_tmp(struct shepherd *s, struct err *err)
{
	const struct run_job *job = &s->order.job;
	struct buf path = { 0 };

	buf_printf(&path, "%s/aisched-%" PRIu64 ".%" PRIu32 "-%.8s",
	           s->order.tmp_dir, job->job, job->attempt, s->claim.run_id);
	s->tmpdir = arena_strdup(s->arena, path.data);
	buf_free(&path);
	/* Keep the descriptor open as long as the shepherd lives: it holds the
	 * lock on the folder. */
	s->tmp_fd = tmp_make(s->dirfd, s->tmpdir, err);
	if (s->tmp_fd < 0)
		return -1;
	limit_tmp(s);
	if (s->other_user && fchown(s->tmp_fd, job->uid, job->gid) < 0)
		return err_sys(err, "cannot give away '%s'", s->tmpdir);
	return 0;
}

int files_make(struct shepherd *s, enum start_fault *ret_fault, struct err *err)
{
	*ret_fault = FAULT_SYSTEM;
	/* Let jobs of other users reach their scripts in this folder, but not
	 * list it. */
	if (s->other_user && fchmod(s->dirfd, 0711) < 0)
		return err_sys(err, "cannot open up '%s'", s->dir);
	if (write_script(s, err) < 0)
		return -1;
	s->end_file = in_dir(s, END_FILE);
	return make_tmp(s, err);
}
