/* proc.c - the processes of this machine, from /proc */
#include "aischedd/run/shepherd/proc.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libcommon/environ.h"
#include "libcommon/mem.h"

#define MAX_DEPTH (1 << 22) /* more processes than there can be */

struct proc {
	pid_t pid, parent;
	bool below; /* it is a descendant of the root */
};

/* Read a small file of /proc as text. Returns its length, 0 if the file
 * is gone. */
static ssize_t slurp(const char *path, char *ret, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return 0;
	n = read(fd, ret, size - 1);
	close(fd);
	if (n < 0)
		n = 0;
	ret[n] = '\0';
	return n;
}

/* Returns the pid of the next process in an open /proc, 0 at the end. */
pid_t proc_next(DIR *dir)
{
	for (struct dirent *e; (e = readdir(dir));)
		if (isdigit((unsigned char)e->d_name[0]))
			return (pid_t)strtol(e->d_name, NULL, 10);
	return 0;
}

/* Returns the parent's pid, or 0 if the process is gone. *ret_state: the letter
 * of its state. */
static pid_t parent_of(pid_t pid, char *ret_state)
{
	char path[32], text[512];
	const char *p;
	char state;
	int parent;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (!slurp(path, text, sizeof(text)))
		return 0;
	/* The process's name, in parentheses, may contain any character,
	 * even parentheses. */
	p = strrchr(text, ')');
	if (!p || sscanf(p, ") %c %d", &state, &parent) != 2)
		return 0;
	*ret_state = state;
	/* A zombie counts as existing, as it may have threads that
	 * still run. */
	return state == 'X' ? 0 : parent;
}

static size_t list_all(struct proc **ret)
{
	DIR *dir = opendir("/proc");
	struct proc *all = NULL;
	size_t n = 0, cap = 0;

	if (!dir)
		return 0;
	for (pid_t pid; (pid = proc_next(dir));) {
		char state;
		pid_t parent = parent_of(pid, &state);

		if (!parent)
			continue;
		all = GROW(all, n, &cap);
		all[n++] = (struct proc){ pid, parent, false };
	}
	closedir(dir);
	*ret = all;
	return n;
}

size_t proc_descendants(pid_t root, proc_fn *fn, void *arg)
{
	struct proc *all = NULL;
	size_t n = list_all(&all), found = 0;
	pid_t *queue = xcalloc(n + 1, sizeof(*queue));

	queue[0] = root;
	for (size_t at = 0; at <= found; at++) {
		for (size_t i = 0; i < n; i++) {
			if (all[i].parent != queue[at] || all[i].below)
				continue;
			all[i].below = true;
			queue[++found] = all[i].pid;
		}
	}
	for (size_t i = 1; i <= found; i++)
		fn(queue[i], arg);
	free(queue);
	free(all);
	return found;
}

/* Get the file of the program that a process runs. Fails if the process may not
 * be looked at. */
static int program_of(const char *pid, struct stat *ret)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/%s/exe", pid);
	return stat(path, ret);
}

bool proc_is_ready(pid_t pid)
{
	struct stat own, its;
	char state, text[16];

	snprintf(text, sizeof(text), "%d", (int)pid);
	return parent_of(pid, &state) && state == 'R' &&
	       program_of("self", &own) == 0 && program_of(text, &its) == 0 &&
	       own.st_dev == its.st_dev && own.st_ino == its.st_ino;
}

bool proc_is_below(pid_t pid, pid_t root)
{
	/* If a process on the way to root is reaped before we ask for its
	 * parent, this returns false. Its children then have another parent,
	 * so the next call can find root. */
	for (int depth = 0; pid > 1 && depth < MAX_DEPTH; depth++) {
		char state;

		pid = parent_of(pid, &state);
		if (pid == root)
			return true;
	}
	return false;
}

void proc_signal(pid_t pid, int signo, proc_is_fn *is, const void *arg)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0) {
		/* Use kill() where containers forbid pidfd_open(). */
		if (errno != ESRCH && is(pid, arg))
			kill(pid, signo);
		return;
	}
	if (is(pid, arg))
		syscall(SYS_pidfd_send_signal, fd, signo, NULL, 0);
	close(fd);
}

void proc_threads(pid_t pid, proc_fn *fn, void *arg)
{
	char path[32];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (!dir)
		return;
	for (pid_t tid; (tid = proc_next(dir));)
		fn(tid, arg);
	closedir(dir);
}

/* Returns the number after "name:" at the beginning of a line of the text, or 0
 * if there is no such line. */
static int64_t field_kib(const char *text, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = text; p; p = strchr(p, '\n')) {
		p += *p == '\n';
		if (!strncmp(p, name, len) && p[len] == ':')
			return strtoll(p + len + 1, NULL, 10);
	}
	return 0;
}

int64_t proc_memory_kib(pid_t pid)
{
	char path[32], text[4096];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (!slurp(path, text, sizeof(text)))
		return 0;
	return field_kib(text, "VmRSS") + field_kib(text, "VmSwap");
}

int64_t proc_memory_exact_kib(pid_t pid)
{
	char path[40], text[4096];
	int64_t kib;

	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
	if (!slurp(path, text, sizeof(text)))
		return proc_memory_kib(pid);
	kib = field_kib(text, "Pss") + field_kib(text, "SwapPss");
	return kib ? kib : proc_memory_kib(pid);
}

bool proc_has_env(pid_t pid, const char *name, const char *value, bool *unclear)
{
	struct buf env = { 0 };
	int code = environ_read(pid, &env);
	const char *has = code ? NULL : environ_value(&env, name);
	bool ret = has && !strcmp(has, value);

	if (unclear)
		*unclear = code == EAGAIN;
	buf_free(&env);
	return ret;
}
