/*
 * log.h - one line per event, on stderr or in a file: verb noun key=value
 *
 * Levels: err: an admin must act; warning: the daemon coped (say how); notice:
 * a state changed; info; debug. If stderr goes to systemd's journal
 * (JOURNAL_STREAM), lines begin with the priority as <N>, else with the local
 * time. Thread safe.
 */
#ifndef LIBCOMMON_LOG_H
#define LIBCOMMON_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "libcommon/err.h"

enum log_level { LOG_ERR_, LOG_WARNING_, LOG_NOTICE_, LOG_INFO_, LOG_DEBUG_ };

void log_init(enum log_level least);

/*
 * Write log lines to the end of the file at path from now on. If a log file is
 * already open, it is closed; so this reopens a log that was rotated. Only one
 * thread may call this. Fails with an errno value of open(2); lines then go
 * where they went before.
 */
int log_open(const char *path, struct err *err);

void log_err(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warning(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_notice(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Whether a message may be logged again: each kind of message has a struct
 * log_limit of its own, for which log_again() returns true at most once a
 * minute. When it returns true, *ret_skipped is the number of calls that
 * returned false since the last one that returned true. */
struct log_limit {
	int64_t last;
	unsigned skipped;
};
bool log_again(struct log_limit *limit, unsigned *ret_skipped);

#endif
