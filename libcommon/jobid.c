/* jobid.c - parse the three forms of job ids; name a job's objects */
#include "libcommon/jobid.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/limits.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"

/* Parse "3", or "[1-5,9]". */
static int parse_tasks(struct idset *ret, const char *s, struct err *err)
{
	size_t len = strlen(s);
	int64_t task;
	char *inner;
	int rc;

	if (*s != '[') {
		if (parse_int(s, 0, LIMIT_ARRAY - 1, &task, err) < 0)
			return -1;
		*ret = (struct idset){ 0 };
		idset_add(ret, (uint32_t)task);
		return 0;
	}
	if (s[len - 1] != ']')
		return err_set(err, EINVAL, "a ']' is missing at the end");
	inner = xstrndup(s + 1, len - 2);
	rc = idset_parse(ret, NULL, inner, err);
	free(inner);
	return rc;
}

int jobid_parse(struct jobid *ret, const char *s, struct err *err)
{
	size_t len = strcspn(s, "_");
	char *number;
	struct idset tasks = { 0 };
	int64_t job;
	int rc;

	if (strlen(s) > LIMIT_TEXT)
		return err_set(err, EINVAL,
		               "a job id has at most %d bytes: divide the "
		               "tasks of '%.32s...' among several ids",
		               LIMIT_TEXT, s);
	number = xstrndup(s, len);
	rc = parse_int(number, 1, INT64_MAX, &job, NULL);
	free(number);
	if (rc < 0)
		return err_set(err, EINVAL,
		               "bad job id '%s': use 12, 12_3 or 12_[1-5,9]",
		               s);
	if (s[len] && parse_tasks(&tasks, s + len + 1, err) < 0)
		return err_wrap(err, "bad job id '%s'", s);
	*ret = (struct jobid){ .job = (uint64_t)job, .tasks = tasks };
	return 0;
}

enum { CLUSTER_IN_NAME = 20 };

void jobid_object(char ret[JOBID_OBJECT_SIZE], const char *cluster,
                  uint64_t job, const char *end)
{
	char part[CLUSTER_IN_NAME + 1];
	size_t n = 0;

	for (; cluster[n] && n < CLUSTER_IN_NAME; n++)
		part[n] = isalnum((unsigned char)cluster[n])
		              ? (char)tolower((unsigned char)cluster[n])
		              : '-';
	part[n] = '\0';
	snprintf(ret, JOBID_OBJECT_SIZE, "aj-%s-%" PRIu64 "-%.10s", part, job,
	         end);
}
