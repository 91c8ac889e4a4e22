/*
 * log_file.h - kept logs: one file for each task and attempt
 *
 * DIR/JOB/ATTEMPT.TASK.gz has lines with a time before each (log_lines.h); any
 * gzip can read it. ATTEMPT.TASK.N.gz belongs to the Nth replacement within the
 * attempt. If more is written than the limit, the oldest lines go; the comment
 * of the file's first member says how much is missing. A file gets its name
 * only when it is complete, so writing one again after a crash does no harm.
 * Nothing is synced: a power failure may lose logs, not jobs. Only the daemon
 * may read the files; it decides who else may.
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
	uint32_t again; /* how often the task was replaced before */
};

/* Compare in the order in which logs are read; returns <0, 0 or >0. */
int log_id_cmp(const struct log_id *a, const struct log_id *b);

struct log_writer;
struct log_reader;

/*
 * Begin to write a log. limit: bytes to keep, without times. Makes dir, whose
 * parent must exist; dir is borrowed. Fails with errno of open().
 */
struct log_writer *log_writer_new(const char *dir, const struct log_id *id,
                                  int64_t limit, struct err *err);

/* Append output. Fails with ENOSPC or EIO; after that only log_writer_drop()
 * may be called. */
int log_writer_add(struct log_writer *w, const void *data, size_t len,
                   struct err *err);

/* Finish the file and give it its name. Frees w, even on failure. */
int log_writer_end(struct log_writer *w, struct err *err);
void log_writer_drop(struct log_writer *w); /* NULL is allowed */

/* Open a kept log. Fails with ENOENT if it is not kept (or not yet). */
struct log_reader *log_reader_open(const char *dir, const struct log_id *id,
                                   struct err *err);
void log_reader_close(struct log_reader *r); /* NULL is allowed */

/* Returns how many bytes, without times, were dropped to stay in the limit. */
int64_t log_reader_omitted(const struct log_reader *r);

/* Read at most len bytes of lines with their times. Returns the number of bytes
 * read, 0 at the end. Fails with EIO. */
ssize_t log_reader_read(struct log_reader *r, void *data, size_t len,
                        struct err *err);

/* List the logs of the job on the heap, in the order of reading. Returns how
 * many there are. */
size_t log_list(const char *dir, uint64_t job, struct log_id **ret);

/* Returns the size of all files in dir, in bytes; 0 if there is no dir. Ends
 * early, with less, once *stop is set. Any thread may call it. */
int64_t log_total(const char *dir, const atomic_bool *stop);

/* Remove all logs of the job, if any. Fails with EIO and others of unlink(). */
int log_remove(const char *dir, uint64_t job, struct err *err);

#endif
