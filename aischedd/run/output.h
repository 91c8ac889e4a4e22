/*
 * output.h - expand the names of a job's files: "slurm-%A_%a.out"
 *
 * Pure. Used by the shepherd, which opens the files, and by the daemon, which
 * tells users where they are.
 */
#ifndef AISCHEDD_RUN_OUTPUT_H
#define AISCHEDD_RUN_OUTPUT_H

#include <stdint.h>

#include "libcommon/buf.h"

struct output_name {
	uint64_t job, array_job; /* array_job 0: no array */
	uint32_t array_task, task, node_index;
	const char *name, *user, *node;
};

/*
 * Append a pattern, in which these are replaced: %j job id, %A array id, %a
 * index in the array, %x job name, %u user, %N first node, %n its index, %t
 * task, %% a percent sign; a width as in %4j pads with zeros. Anything else is
 * copied, and a pattern with a backslash is copied without the backslashes, as
 * in Slurm. Relative names begin at workdir (absolute).
 */
void output_expand(const char *pattern, const char *workdir,
                   const struct output_name *name, struct buf *out);

/*
 * Find the first %t of a pattern, to expand the rest before the task is known.
 * Returns where it begins; NULL if there is none. *ret_end: where it ends.
 */
const char *output_task(const char *pattern, const char **ret_end,
                        int *ret_width);

#endif
