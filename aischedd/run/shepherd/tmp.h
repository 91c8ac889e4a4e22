/*
 * tmp.h - the temporary folder of an attempt
 *
 * The folder is in the configured tmp_dir, so that a job cannot fill the disk
 * of the daemon's database. A symbolic link to it, "tmp" in the attempt's own
 * folder, is made first: by this link the temporary folder is found and removed
 * even after a crash.
 */
#ifndef AISCHEDD_RUN_SHEPHERD_TMP_H
#define AISCHEDD_RUN_SHEPHERD_TMP_H

#include <stdbool.h>
#include <stddef.h>

#include "libcommon/err.h"

/*
 * Make the folder path, which only our user may enter, and the link to it in
 * dirfd. Returns a descriptor of the folder, which holds a lock: it keeps
 * systemd-tmpfiles from removing old files in the folder.
 */
int tmp_make(int dirfd, const char *path, struct err *err);

/* Remove at most this many files of the folder and, if none is left, the link.
 * Returns true if another call can remove more. */
bool tmp_remove(int dirfd, size_t most);

#endif
