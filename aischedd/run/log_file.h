/*
 * log_file.h - kept logs: one file for each task and attempt
 *
 * DIR/JOB/ATTEMPT.TASK.gz has lines with a time before each (log_lines.h); any
 * gzip can read it. ATTEMPT.TASK.N.gz is the log of the Nth replacement of the
 * task within the attempt. If a task writes more than the limit, the oldest
 * lines are dropped; the comment of the file's first gzip member says how many
 * bytes are missing. A file gets its name only when it is complete, so writing
 * it again after a crash does no harm. Nothing is synced: a power failure may
 * lose logs, but no jobs. Only the daemon can read the files; it decides which
 * users may read them.
 */
#ifndef AISCHEDD_RUN_LOG_FILE_H
#define AISCHEDD_RUN_LOG_FILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "libcommon/err.h"

struct log_id {
	uint64_t job;
	uint32_t attempt, task;
	/* how often the task had been replaced within the attempt */
	uint32_t again;
};

/* Compare two logs by the order in which they are read: by attempt, task and
 * number of replacements. Returns <0, 0 or >0. */
int log_id_cmp(const struct log_id *a, const struct log_id *b);

struct log_writer;
struct log_reader;

/* Begin to write a log. limit: most bytes to keep, times not counted.
 * Makes the folder dir (borrowed), whose parent must exist. Fails with
 * errno of open(). */
struct log_writer *log_writer_new(const char *dir, const struct log_id *id,
                                  int64_t limit, struct err *err);

/* Append output. Fails with ENOSPC or EIO; after that only log_writer_drop()
 * may be called. */
int log_writer_add(struct log_writer *w, const void *data, size_t len,
                   struct err *err);

/* Finish the file and give it its name. Frees w, even on failure. */
int log_writer_end(struct log_writer *w, struct err *err);
void log_writer_drop(struct log_writer *w); /* NULL is allowed */

/* Open a kept log. Fails with ENOENT if there is none, or not yet. */
struct log_reader *log_reader_open(const char *dir, const struct log_id *id,
                                   struct err *err);
void log_reader_close(struct log_reader *r); /* NULL is allowed */

/* Returns how many bytes, times not counted, were dropped to keep the limit. */
int64_t log_reader_omitted(const struct log_reader *r);

/* Read at most len bytes of lines, which include their times. Returns the
 * number of bytes read, 0 at the end. Fails with EIO. */
ssize_t log_reader_read(struct log_reader *r, void *data, size_t len,
                        struct err *err);

/* List the kept logs of the job in the order in which they are read. Returns
 * how many there are; the caller frees *ret. */
size_t log_list(const char *dir, uint64_t job, struct log_id **ret);

/* Returns the size of all files in dir in bytes, 0 if dir does not exist.
 * If *stop becomes set, returns early, with a smaller sum. Any thread may
 * call this. */
int64_t log_total(const char *dir, const atomic_bool *stop);

/* Remove all kept logs of the job, if any. Fails with EIO or errno
 * of unlink(). */
int log_remove(const char *dir, uint64_t job, struct err *err);

#endif
