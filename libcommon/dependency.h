/*
 * dependency.h - parse --dependency: "afterok:12:13,after:14_3+5"
 */
#ifndef LIBCOMMON_DEPENDENCY_H
#define LIBCOMMON_DEPENDENCY_H

#include <stdbool.h>
#include <stdint.h>

#include "libcommon/buf.h"
#include "libcommon/err.h"

enum dep_kind {
	DEP_AFTER,
	DEP_ANY,
	DEP_OK,
	DEP_NOT_OK,
	DEP_CORR,
	DEP_SINGLETON
};

/* A condition on which a job still waits. */
struct dep {
	uint8_t kind;
	bool never;      /* it can no longer be met */
	uint32_t task;   /* NO_TASK: the job or whole array */
	uint64_t job;    /* the job it depends on; 0: singleton */
	int64_t delay_s; /* after:JOB+MINUTES */
	/* Time when the delay ends, or NO_TIME if it has not begun. */
	int64_t at;
	/* Set by state/life/depend.c: the watch on `job`, or NULL. */
	struct dep_watch *watch;
};

struct deps {
	bool any;      /* conditions are separated by '?': one is enough */
	int64_t alarm; /* time when the first delay ends, or NO_TIME */
	uint32_t n;
	struct dep dep[];
};

/* Parse a dependency; duplicate conditions are dropped. The caller must
 * free(*ret). Fails with EINVAL. */
int dependency_parse(const char *text, struct deps **ret, struct err *err);

void dependency_format(const struct deps *deps, struct buf *out);

/* Like dependency_format(), but append only the dependencies that can no longer
 * be met. */
void dependency_format_never(const struct deps *deps, struct buf *out);

#endif
