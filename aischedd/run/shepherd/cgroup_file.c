/* cgroup_file.c - read and write the small files of cgroupfs and /proc */
#include "aischedd/run/shepherd/cgroup_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int cgroup_file_write(const char *dir, const char *file, const char *text)
{
	struct buf path = { 0 };
	size_t len = strlen(text);
	ssize_t n = -1;
	int fd, code;

	buf_printf(&path, "%s/%s", dir, file);
	fd = open(path.data, O_WRONLY | O_CLOEXEC);
	buf_free(&path);
	if (fd < 0)
		return -1;
	n = write(fd, text, len);
	code = errno;
	close(fd);
	errno = code;
	return n == (ssize_t)len ? 0 : -1;
}

int cgroup_file_write_number(const char *dir, const char *file, int64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, n);
	return cgroup_file_write(dir, file, text);
}

void cgroup_file_read(const char *dir, const char *file, struct buf *out)
{
	struct buf path = { 0 };
	ssize_t n;
	int fd;

	buf_clear(out);
	buf_add(out, "", 0);
	buf_printf(&path, "%s%s%s", dir, *file ? "/" : "", file);
	fd = open(path.data, O_RDONLY | O_CLOEXEC);
	buf_free(&path);
	if (fd < 0)
		return;
	do {
		n = read(fd, buf_room(out, 4096), 4096);
		if (n > 0)
			buf_grew(out, (size_t)n);
	} while (n > 0);
	close(fd);
}

int64_t cgroup_file_read_number(const char *dir, const char *file,
                                const char *name)
{
	struct buf text = { 0 };
	size_t len = strlen(name);
	int64_t n = -1;

	cgroup_file_read(dir, file, &text);
	for (const char *p = text.data; text.len && p; p = strchr(p, '\n')) {
		p += *p == '\n';
		if (!*p || strncmp(p, name, len))
			continue;
		if (len && p[len] != ' ')
			continue;
		n = strtoll(p + len, NULL, 10);
		break;
	}
	buf_free(&text);
	return n;
}

const char *cgroup_file_path(const char *dir, const char *name,
                             struct arena *arena)
{
	struct buf buf = { 0 };
	const char *path;

	buf_printf(&buf, "%s/%s", dir, name);
	path = arena_strdup(arena, buf.data);
	buf_free(&buf);
	return path;
}
