/*
 * log_file.h - kept logs: what a task printed in one attempt, a file each
 *
 * DIR/JOB/ATTEMPT.TASK.gz has lines with a time before each (log_lines.h),
 * which takes any gzip to read; ATTEMPT.TASK.N.gz is of what came in place of
 * that within the attempt.  When more is written than the limit, the
 * oldest goes; the comment of the file's first member says how much did.  A
 * file has its name only when it is whole, so writing one again after a crash
 * is harmless.  Nothing is synced: what a power failure takes along is a log,
 * not a job.
 *
 * Files are the daemon's alone: who may read which is for it to say.
 */
#ifndef AISCHEDD_RUN_LOG_FILE_H
#define AISCHEDD_RUN_LOG_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "libcommon/err.h"

struct log_id {
	uint64_t job;
	uint32_t attempt, task;
	uint32_t again; /* in place of so many before it */
};

/* In the order in which they are read: below 0, 0, above. */
int log_id_cmp(const struct log_id *a, const struct log_id *b);

struct log_writer;
struct log_reader;

/*
 * limit: bytes that are kept, times not counted.  dir is made, its parent is
 * there; it is borrowed.
 * Fails: errno of open().
 */
struct log_writer *log_writer_new(const char *dir, const struct log_id *id,
                                  int64_t limit, struct err *err);

/* Fails: ENOSPC, EIO; then nothing but drop() is of use. */
int log_writer_add(struct log_writer *w, const void *data, size_t len,
                   struct err *err);

/* All of it was written: now it is there.  w is no more, even on failure. */
int log_writer_end(struct log_writer *w, struct err *err);
void log_writer_drop(struct log_writer *w); /* NULL is fine */

/* Fails: ENOENT it is not kept (or not yet). */
struct log_reader *log_reader_open(const char *dir, const struct log_id *id,
                                   struct err *err);
void log_reader_close(struct log_reader *r); /* NULL is fine */

/* Bytes that were not kept, times not counted. */
int64_t log_reader_omitted(const struct log_reader *r);

/* At most len bytes, lines with their times; 0: the end.  Fails: EIO. */
ssize_t log_reader_read(struct log_reader *r, void *data, size_t len,
                        struct err *err);

bool log_is_kept(const char *dir, const struct log_id *id);

/* Those of the job, in order, on the heap; 0: none. */
size_t log_list(const char *dir, uint64_t job, struct log_id **ret);

/* All that is kept of the job goes.  Fails: EIO and others of unlink(); that
 * there is nothing is success. */
int log_remove(const char *dir, uint64_t job, struct err *err);

#endif
