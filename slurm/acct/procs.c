/* procs.c - the resources that the processes of a step use, from /proc of this
 * machine */
#include "slurm/acct/procs.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Read /proc/PID/NAME, and add a zero byte. Returns false if it cannot be
 * read. */
static bool slurp(const char *pid, const char *name, struct buf *out)
{
	char path[64], part[4096];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%.20s/%s", pid, name);
	buf_clear(out);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	while ((n = read(fd, part, sizeof(part))) > 0)
		buf_add(out, part, (size_t)n);
	close(fd);
	return out->len > 0;
}

/* Whether the environment sets name to number. If number is -1: whether the
 * environment lacks the variable. */
static bool has(const struct buf *env, const char *name, int64_t number)
{
	size_t len = strlen(name);

	for (size_t at = 0; at < env->len; at += strlen(env->data + at) + 1) {
		const char *item = env->data + at;

		if (!strncmp(item, name, len) && item[len] == '=')
			return strtoll(item + len + 1, NULL, 10) == number;
	}
	return number == -1;
}

static int64_t kib_of(const struct buf *status, const char *name)
{
	const char *at = strstr(status->data, name);

	return at ? strtoll(at + strlen(name), NULL, 10) : 0;
}

/* Returns the CPU time in /proc/PID/stat, with that of ended children. Parses
 * from the last ')', because the name of the program, in parentheses, may have
 * blanks. */
static int64_t cpu_ms_of(const struct buf *stat)
{
	const char *at = strrchr(stat->data, ')');
	unsigned long long user = 0, sys = 0;
	long long below_user = 0, below_sys = 0;
	long ticks = sysconf(_SC_CLK_TCK);

	if (!at || sscanf(at,
	                  ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu "
	                  "%llu %lld %lld",
	                  &user, &sys, &below_user, &below_sys) != 4)
		return 0;
	return (int64_t)(user + sys) * 1000 / ticks +
	       (below_user + below_sys) * 1000 / ticks;
}

static int64_t most(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static void add(const char *pid, struct buf *text, struct procs_use *use)
{
	if (!slurp(pid, "status", text))
		return;
	use->n++;
	use->rss_kib += kib_of(text, "\nVmRSS:");
	use->vm_kib += kib_of(text, "\nVmSize:");
	use->peak_kib = most(use->peak_kib, kib_of(text, "\nVmHWM:"));
	use->vm_peak_kib = most(use->vm_peak_kib, kib_of(text, "\nVmPeak:"));
	if (slurp(pid, "stat", text))
		use->cpu_ms += cpu_ms_of(text);
	buf_printf(&use->pids, "%s%s", use->pids.len ? "," : "", pid);
}

void procs_read(int64_t job, int64_t step, struct procs_use *ret)
{
	DIR *proc = opendir("/proc");
	struct buf text = { 0 };
	const struct dirent *entry;

	*ret = (struct procs_use){ 0 };
	while (proc && (entry = readdir(proc))) {
		if (!isdigit((unsigned char)*entry->d_name) ||
		    !slurp(entry->d_name, "environ", &text) ||
		    !has(&text, "SLURM_JOB_ID", job) ||
		    !has(&text, "AISCHED_STEP_ID", step))
			continue;
		add(entry->d_name, &text, ret);
	}
	if (proc)
		closedir(proc);
	buf_free(&text);
}

void procs_free(struct procs_use *use)
{
	buf_free(&use->pids);
}
