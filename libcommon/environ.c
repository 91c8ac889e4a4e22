/* environ.c - the environments of other processes */
#include "libcommon/environ.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_BYTES  ((size_t)4 << 20)
#define READ_BYTES ((size_t)128 << 10)

/* Read a file of the process to its end; returns 0 or an errno. */
static int slurp(pid_t pid, const char *name, size_t max, struct buf *ret)
{
	char path[40];
	ssize_t n;
	int fd, code;

	buf_clear(ret);
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? ESRCH : errno;
	/* Each read() returns bytes of one environment only, even if the
	 * process calls exec meanwhile. */
	do {
		n = read(fd, buf_room(ret, READ_BYTES), READ_BYTES);
		if (n > 0)
			buf_grew(ret, (size_t)n);
	} while (n > 0 && ret->len < max);
	code = n < 0 ? errno : 0;
	close(fd);
	return code;
}

/* The fields of /proc/PID/stat, numbered as in proc(5). */
enum { STATE = 3, VSIZE = 23, START_CODE = 26, ENV_START = 50, ENV_END = 51 };

/* Whether env is the whole environment of the process, according to
 * its /proc/PID/stat. */
static bool is_whole(const struct buf *env, const struct buf *stat)
{
	uint64_t vsize = 0, code = 0, start = 0, end = 0;
	/* The second field, the program's name in parentheses, may itself
	 * contain parentheses. */
	const char *p = stat->len ? strrchr(stat->data, ')') : NULL;

	p = p ? p + 1 : NULL;
	for (int field = STATE; p && field <= ENV_END; field++) {
		uint64_t *number = field == VSIZE        ? &vsize
		                   : field == START_CODE ? &code
		                   : field == ENV_START  ? &start
		                   : field == ENV_END    ? &end
		                                         : NULL;

		if (number)
			sscanf(p, " %" SCNu64, number);
		p = strchr(p + 1, ' ');
	}
	/* Zombies and kernel threads have no memory, and no environment. */
	if (!vsize)
		return true;
	/* During exec Linux sets the bounds of the code last, after those of
	 * the environment. In gVisor START_CODE is always 0. */
	return code ? env->len == end - start : env->len > 0;
}

int environ_read(pid_t pid, struct buf *env)
{
	struct buf stat = { 0 };
	int code = slurp(pid, "environ", MAX_BYTES, env);
	bool whole;

	if (code || env->len >= MAX_BYTES)
		return code;
	/* The process may have called exec during the read: compare the length
	 * with what stat says now. */
	code = slurp(pid, "stat", MAX_BYTES, &stat);
	whole = is_whole(env, &stat);
	buf_free(&stat);
	return code ? code : whole ? 0 : EAGAIN;
}

const char *environ_value(const struct buf *env, const char *name)
{
	size_t len = strlen(name);

	for (size_t at = 0; at < env->len; at += strlen(env->data + at) + 1) {
		const char *p = env->data + at;

		if (!strncmp(p, name, len) && p[len] == '=')
			return p + len + 1;
	}
	return NULL;
}

bool environ_has(const struct buf *env, const char *variable)
{
	for (size_t at = 0; at < env->len; at += strlen(env->data + at) + 1)
		if (!strcmp(env->data + at, variable))
			return true;
	return false;
}
