/*
 * dependency.h - "afterok:12:13,after:14_3+5", what a job waits for
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

/* One condition that is not met yet. */
struct dep {
	uint8_t kind;
	bool never;      /* can no longer be met */
	uint32_t task;   /* of the array, or NO_TASK: all of it */
	uint64_t job;    /* 0: singleton */
	int64_t delay_s; /* after:JOB+MINUTES */
	int64_t at;      /* the delay runs until then, or NO_TIME */
	/* For state/life/depend.c: who is told about that job, or NULL. */
	struct dep_watch *watch;
};

struct deps {
	bool any;      /* '?': one is enough */
	int64_t alarm; /* set for the first of the delays, or NO_TIME */
	uint32_t n;
	struct dep dep[];
};

/* Each condition is taken once.  Owns: the caller, free().  Fails with EINVAL.
 */
int dependency_parse(const char *text, struct deps **ret, struct err *err);

void dependency_format(const struct deps *deps, struct buf *out);

#endif
