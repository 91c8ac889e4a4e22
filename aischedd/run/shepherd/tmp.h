/*
 * tmp.h - the temporary folder of an attempt
 *
 * It is in the configured tmp_dir, away from the daemon's database, whose disk
 * a job must not fill. A link "tmp" in the attempt's own folder, made first,
 * says where it is, so that it can be removed.
 */
#ifndef AISCHEDD_RUN_SHEPHERD_TMP_H
#define AISCHEDD_RUN_SHEPHERD_TMP_H

#include <stdbool.h>
#include <stddef.h>

#include "libcommon/err.h"

/*
 * Make path, for us alone, and the link to it in dirfd. Returns a descriptor of
 * the folder, with a lock that keeps systemd-tmpfiles away.
 */
int tmp_make(int dirfd, const char *path, struct err *err);

/* Remove at most this many of its files, and finally the link. Returns as
 * tree_remove() does. */
bool tmp_remove(int dirfd, size_t most);

#endif
