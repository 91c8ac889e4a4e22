/* proc.c - the processes of a step in this pod */
#include "pod/proc.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libcommon/environ.h"
#include "pod/env.h"

static bool has_session(pid_t pid, const pid_t *task, size_t n)
{
	pid_t sid = getsid(pid);

	for (size_t i = 0; i < n; i++)
		if (task[i] > 0 && (sid == task[i] || pid == task[i]))
			return true;
	return false;
}

/* Whether the process is a zombie, or does not exist. */
static bool is_zombie(pid_t pid)
{
	char path[32], text[512], *end;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return true;
	text[n] = '\0';
	end = strrchr(text, ')');
	return end && end[1] == ' ' && strchr("ZX", end[2]);
}

/* Returns the pid of the next entry of /proc that is a process other than this
 * one; -1: there is none. */
static pid_t next_process(DIR *dir)
{
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (isdigit((unsigned char)*entry->d_name) && pid != getpid())
			return pid;
	}
	return -1;
}

size_t pod_proc_signal_steps(int signo)
{
	DIR *dir = opendir("/proc");
	struct buf env = { 0 };
	size_t found = 0;
	pid_t pid;

	while ((pid = next_process(dir)) >= 0)
		if (!environ_read(pid, &env) &&
		    environ_value(&env, POD_STEP_VAR) && !is_zombie(pid)) {
			found++;
			kill(pid, signo);
		}
	buf_free(&env);
	if (dir)
		closedir(dir);
	return found;
}

size_t pod_proc_signal(const char *variable, const pid_t *task, size_t n,
                       int signo, size_t *unclear)
{
	DIR *dir = opendir("/proc");
	struct buf env = { 0 };
	size_t found = 0;
	pid_t pid;

	*unclear = 0;
	while ((pid = next_process(dir)) >= 0) {
		int code = 0;

		if (!has_session(pid, task, n)) {
			code = environ_read(pid, &env);
			*unclear += code == EAGAIN;
			if (code || !environ_has(&env, variable))
				continue;
		}
		if (is_zombie(pid))
			continue;
		found++;
		if (signo)
			kill(pid, signo);
	}
	buf_free(&env);
	if (dir)
		closedir(dir);
	return found;
}
