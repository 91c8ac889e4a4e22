/*
 * jobid.h - parse the three forms of job ids: 12, 12_3, 12_[1-5,9]
 */
#ifndef LIBCOMMON_JOBID_H
#define LIBCOMMON_JOBID_H

#include <stdint.h>

#include "libcommon/err.h"
#include "libcommon/idset.h"

/* Used instead of a task index for a job that is no array, or for all tasks of
 * an array. */
#define NO_TASK UINT32_MAX

struct jobid {
	uint64_t job;       /* > 0 */
	struct idset tasks; /* empty: the job, which may be a whole array */
};

/* Parse a job id; the caller must idset_free(&ret->tasks). Fails with EINVAL
 * or ERANGE. */
int jobid_parse(struct jobid *ret, const char *s, struct err *err);

#endif
