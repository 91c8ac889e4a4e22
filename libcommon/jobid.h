/*
 * jobid.h - parse the three forms of job ids: 12, 12_3, 12_[1-5,9]; name a
 * job's objects in clusters
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

/* Size of the name of an object, with its zero byte. The API allows longer
 * names for Jobs, but the Job controller makes host names of pods from them:
 * "NAME-INDEX". */
enum { JOBID_OBJECT_SIZE = 64 };

/* Get the name "aj-CLUSTER-JOB-END", which is a DNS label: of a long name of a
 * cluster only the beginning is used, and of `end` only 10 bytes. */
void jobid_object(char ret[JOBID_OBJECT_SIZE], const char *cluster,
                  uint64_t job, const char *end);

#endif
