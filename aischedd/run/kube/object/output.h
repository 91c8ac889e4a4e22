/*
 * output.h - redirect the output of tasks to files of the user
 *
 * Pure. Standard output and error of a container go to a file if the file is
 * below a mount, so that it outlives the container; else the daemon reads and
 * keeps the output. The first process of each container opens the files.
 */
#ifndef AISCHEDD_RUN_KUBE_OBJECT_OUTPUT_H
#define AISCHEDD_RUN_KUBE_OBJECT_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "aischedd/run/runner.h"
#include "libcommon/buf.h"

/* Whether output to this path goes to a file of the user, or to /dev/null, so
 * that the daemon does not keep it. */
bool kube_output_is_file(const struct spec *spec, const char *path);

/* Whether the daemon keeps no output of the job. */
bool kube_output_all_files(const struct run_job *job);

/* Append shell text that sets the names of the files for kube_output_script.
 * now: unix seconds at which the attempt begins. */
void kube_output_env(struct buf *out, const struct run_job *job, int64_t now);

/* Shell text that redirects input, output and errors of the shell to the
 * files. */
extern const char kube_output_script[];

#endif
