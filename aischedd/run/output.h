/*
 * output.h - expand the names of a job's files, as in "slurm-%A_%a.out"
 *
 * Pure. Used by the shepherd, which opens the files, and by the daemon, which
 * tells users where they are.
 */
#ifndef AISCHEDD_RUN_OUTPUT_H
#define AISCHEDD_RUN_OUTPUT_H

#include <stdint.h>

#include "libcommon/buf.h"

struct output_name {
	/* array_job 0: the job is not in an array */
	uint64_t job, array_job;
	uint32_t array_task, task, node_index;
	const char *name, *user, *node;
};

/*
 * Append the pattern with these conversions replaced: %j job id, %A array id,
 * %a index in the array, %x job name, %u user, %N first node, %n index of that
 * node, %t task, %% a percent sign. A width, as in %4j, pads numbers with
 * zeros. Anything else is copied. In a pattern with a backslash nothing is
 * replaced and the backslashes are removed, as in Slurm. A relative name is put
 * below workdir, which is absolute.
 */
void output_expand(const char *pattern, const char *workdir,
                   const struct output_name *name, struct buf *out);

/* Find the first %t of a pattern, so that the rest can be expanded before the
 * task is known. Returns where it begins, or NULL if there is none; *ret_end is
 * where it ends. */
const char *output_task(const char *pattern, const char **ret_end,
                        int *ret_width);

#endif
