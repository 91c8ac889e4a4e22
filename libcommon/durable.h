/*
 * durable.h - files whose names survive a crash of the machine
 */
#ifndef LIBCOMMON_DURABLE_H
#define LIBCOMMON_DURABLE_H

#include <stddef.h>

#include "libcommon/err.h"

/*
 * Make an empty file, unless it exists, such that it is still there after the
 * machine has crashed. nfolders: how many of the folders above the file may be
 * new. May wait for the disk. Fails with errno of open() or fsync().
 */
int durable_touch(const char *path, unsigned nfolders, struct err *err);

/* Replace the content of a file, whole or not at all, likewise; does nothing if
 * the content is the same. `PATH~` may be left if the machine crashes
 * meanwhile. */
int durable_write(const char *path, const char *text, size_t len,
                  unsigned nfolders, struct err *err);

#endif
