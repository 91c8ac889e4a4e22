/* log.c - one line per event, on stderr or in a file */
#include "libcommon/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "libcommon/clock.h"

enum {
	LINE = 4096, /* longer lines are cut; writes of up to this size to a
	                pipe are atomic */
	REPEAT_S = 60
};

/* Set before other threads are started. */
static enum log_level least_level = LOG_INFO_;
static bool to_journal;

/* Does not change when a log file is reopened. */
static _Atomic int log_fd = STDERR_FILENO;

static const char *const level_name[] = { "err", "warning", "notice", "info",
	                                  "debug" };

/* Whether stderr is the file that JOURNAL_STREAM identifies. Programs inherit
 * that variable even if their stderr was redirected. */
static bool stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	char own[64];
	struct stat st;

	if (!stream || fstat(STDERR_FILENO, &st) < 0)
		return false;
	snprintf(own, sizeof(own), "%ju:%ju", (uintmax_t)st.st_dev,
	         (uintmax_t)st.st_ino);
	return !strcmp(stream, own);
}

void log_init(enum log_level least)
{
	least_level = least;
	to_journal = stderr_is_journal();
}

int log_open(const char *path, struct err *err)
{
	/* With O_NONBLOCK, opening a named pipe that nobody reads fails instead
	 * of blocking. */
	int fd = open(path,
	              O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY |
	                  O_NONBLOCK,
	              0640);

	if (fd < 0)
		return err_sys(err, "cannot open '%s' (log_file)", path);
	if (log_fd == STDERR_FILENO) {
		to_journal = false;
		log_fd = fd;
		return 0;
	}
	/* Other threads may be writing: dup3() replaces the file without
	 * closing the descriptor in between. */
	dup3(fd, log_fd, O_CLOEXEC);
	close(fd);
	return 0;
}

/* Write "<4>" for the journal (syslog's numbers begin with 3 for err), else
 * "2026-11-21T18:30:00 warning ". */
static size_t put_prefix(char *line, size_t size, enum log_level level)
{
	time_t now = time(NULL);
	struct tm tm = { 0 };
	size_t len;

	if (to_journal)
		return (size_t)snprintf(line, size, "<%d>", 3 + (int)level);
	localtime_r(&now, &tm);
	len = strftime(line, size, "%Y-%m-%dT%H:%M:%S ", &tm);
	return len + (size_t)snprintf(line + len, size - len, "%s ",
	                              level_name[level]);
}

__attribute__((format(printf, 2, 0))) static void log_line(enum log_level level,
                                                           const char *fmt,
                                                           va_list ap)
{
	char line[LINE];
	int saved = errno, n;
	size_t start, len;

	if (level > least_level)
		return;
	start = put_prefix(line, sizeof(line), level);
	n = vsnprintf(line + start, sizeof(line) - start, fmt, ap);
	len = start + (n < 0 ? 0 : (size_t)n);
	if (len > sizeof(line) - 1)
		len = sizeof(line) - 1;
	/* A user's value must not begin a new line. */
	for (size_t i = start; i < len; i++)
		if ((unsigned char)line[i] < ' ' || line[i] == 127)
			line[i] = '?';
	line[len++] = '\n';
	/* Use one write(), so that lines of several threads do not mix. If it
	 * fails, there is nowhere to report that. */
	(void)!write(log_fd, line, len);
	errno = saved;
}

#define LEVEL(function, level)              \
	void function(const char *fmt, ...) \
	{                                   \
		va_list ap;                 \
                                            \
		va_start(ap, fmt);          \
		log_line((level), fmt, ap); \
		va_end(ap);                 \
	}

LEVEL(log_err, LOG_ERR_)
LEVEL(log_warning, LOG_WARNING_)
LEVEL(log_notice, LOG_NOTICE_)
LEVEL(log_info, LOG_INFO_)
LEVEL(log_debug, LOG_DEBUG_)

bool log_again(struct log_limit *limit, unsigned *ret_skipped)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	int64_t now = clock_ms() / 1000;
	bool again;

	pthread_mutex_lock(&lock);
	/* last is 0 before the first message. */
	again = !limit->last || now - limit->last >= REPEAT_S;
	if (again) {
		*ret_skipped = limit->skipped;
		limit->skipped = 0;
		limit->last = now;
	} else {
		limit->skipped++;
	}
	pthread_mutex_unlock(&lock);
	return again;
}
