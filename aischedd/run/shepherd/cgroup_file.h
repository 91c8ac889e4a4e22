/*
 * cgroup_file.h - files in the kernel's folders
 *
 * Small texts and numbers, each read or written in one call.
 */
#ifndef AISCHEDD_RUN_SHEPHERD_CGROUP_FILE_H
#define AISCHEDD_RUN_SHEPHERD_CGROUP_FILE_H

#include <stdint.h>

#include "libcommon/buf.h"
#include "libcommon/mem.h"

/* Fail with errno. */
int cgroup_file_write(const char *dir, const char *file, const char *text);
int cgroup_file_write_number(const char *dir, const char *file, int64_t n);

/* Read the whole file, or "" if that fails. file "": dir is the file. */
void cgroup_file_read(const char *dir, const char *file, struct buf *out);

/* Returns the number after "name " in a file of such lines, or of a file that
 * is one number (name ""); -1 if it is absent. */
int64_t cgroup_file_read_number(const char *dir, const char *file,
                                const char *name);

/* "dir/name" */
const char *cgroup_file_path(const char *dir, const char *name,
                             struct arena *arena);

#endif
