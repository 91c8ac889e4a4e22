/*
 * near.h - parse --near and --apart: "12,13_4:rack"
 */
#ifndef LIBCOMMON_NEAR_H
#define LIBCOMMON_NEAR_H

#include <stdint.h>

#include "libcommon/conf/conf.h"
#include "libcommon/err.h"
#include "libcommon/jobid.h"

enum { NEAR_MOST = 32 }; /* jobs that one option may name */

struct near {
	int level; /* of the configuration, or SPREAD_NODE (topology.h) */
	uint32_t n;
	struct near_job {
		uint64_t job;  /* may be an array */
		uint32_t task; /* NO_TASK: the job, or all tasks of the array */
	} job[NEAR_MOST];
};

/* Parse a list of job ids and the name of a level. `levels` are those of the
 * configuration; if it is NULL, any name stands for level 0. Fails with EINVAL
 * or ERANGE, or with ENOENT if there is no level of that name. */
int near_parse(const char *s, const struct strlist *levels, struct near *ret,
               struct err *err);

#endif
