/* near.c - parse --near and --apart: "12,13_4:rack" */
#include "libcommon/near.h"

#include <stdio.h>
#include <string.h>

#include "libcommon/topology.h"

/* Parse one job id of len bytes. */
static int parse_job(const char *s, size_t len, struct near_job *ret,
                     struct err *err)
{
	char text[64];
	struct jobid id;
	int result = 0;

	if (!len || len >= sizeof(text))
		return err_set(err, EINVAL, "'%s': use JOB[,JOB]...[:LEVEL]",
		               s);
	snprintf(text, sizeof(text), "%.*s", (int)len, s);
	if (jobid_parse(&id, text, err) < 0)
		return -1;
	*ret = (struct near_job){ id.job, NO_TASK };
	if (id.tasks.n && idset_count(&id.tasks) > 1)
		result =
		    err_set(err, EINVAL,
		            "'%s': name one task, or the whole array", text);
	else if (id.tasks.n)
		ret->task = idset_min(&id.tasks);
	idset_free(&id.tasks);
	return result;
}

int near_parse(const char *s, const struct strlist *levels, struct near *ret,
               struct err *err)
{
	size_t end = strcspn(s, ":");
	const char *level = s[end] ? s + end + 1 : "node";

	ret->n = 0;
	for (const char *p = s;; p++) {
		size_t len = strcspn(p, ",:");

		if (ret->n == NEAR_MOST)
			return err_set(err, EINVAL,
			               "at most %d jobs may be named",
			               NEAR_MOST);
		if (parse_job(p, len, &ret->job[ret->n++], err) < 0)
			return -1;
		p += len;
		if (*p != ',')
			break;
	}
	return level_parse(level, strlen(level), levels, &ret->level, err);
}
