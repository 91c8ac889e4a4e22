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

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/*
 * How much the job stores in its temporary folder: the shepherd adds up the
 * blocks of all files there, a few hundred files at a time, and never takes
 * more than a small part of a CPU. It follows no link and enters no other file
 * system: one that the user has mounted there may not answer. Not counted are
 * deleted files that are still open, and folders deeper than TMP_WATCH_DEPTH.
 * A file with several links counts only once.
 */
enum { TMP_WATCH_DEPTH = 64 };

struct tmp_watch {
	/* [depth] the folders that are being read, outermost first */
	DIR *dir[TMP_WATCH_DEPTH];
	uint32_t depth;
	/* the file system of the temporary folder */
	uint32_t major, minor;
	int64_t blocks; /* of 512 bytes, found so far in this round */
	int64_t at;     /* monotonic ms: when to go on; 0: at once */
	bool full;      /* the job stores more than it may, and is ended */
};

/* Read on in the folder if it is time to. Returns true, and only once, when
 * more than limit_mib is found there. */
bool tmp_watch_step(struct tmp_watch *w, const char *path, int64_t limit_mib,
                    int64_t now);
/* Returns when to call tmp_watch_step(), in monotonic ms, or 0 for never. */
int64_t tmp_watch_due(const struct tmp_watch *w);
/* Close the folders. */
void tmp_watch_end(struct tmp_watch *w);

#endif
