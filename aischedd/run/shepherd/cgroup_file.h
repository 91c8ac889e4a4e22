/*
 * cgroup_file.h - read and write the small files of cgroupfs and /proc
 */
#ifndef AISCHEDD_RUN_SHEPHERD_CGROUP_FILE_H
#define AISCHEDD_RUN_SHEPHERD_CGROUP_FILE_H

#include <stdint.h>

#include "libcommon/buf.h"
#include "libcommon/mem.h"

/* Write to the file dir/file. Returns -1 with errno on failure. */
int cgroup_file_write(const char *dir, const char *file, const char *text);
int cgroup_file_write_number(const char *dir, const char *file, int64_t n);

/* Replace the contents of out with those of dir/file, or with "" if that cannot
 * be read. If file is "", dir is the path of the file itself. */
void cgroup_file_read(const char *dir, const char *file, struct buf *out);

/* Returns the number in the line "name NUMBER" of the file or, if name is "",
 * at the beginning of the file; -1 if there is none. */
int64_t cgroup_file_read_number(const char *dir, const char *file,
                                const char *name);

/* Returns "dir/name", in the arena. */
const char *cgroup_file_path(const char *dir, const char *name,
                             struct arena *arena);

#endif
