/*
 * output.h - where tasks print to files of the user
 *
 * Pure. Standard output and error of a container go to a file if that is below
 * a mount, so that it outlives the container; else the daemon reads and keeps
 * them. The first process of each container opens the files.
 */
#ifndef AISCHEDD_RUN_KUBE_OBJECT_OUTPUT_H
#define AISCHEDD_RUN_KUBE_OBJECT_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "aischedd/run/runner.h"
#include "libcommon/buf.h"

/* Whether output to that name goes to a file, or nowhere, as requested. */
bool kube_output_is_file(const struct spec *spec, const char *path);

/* Whether the daemon keeps no output of the job. */
bool kube_output_all_files(const struct run_job *job);

/* Append shell text that tells the first processes about the files; now: unix
 * seconds at which the attempt begins. */
void kube_output_env(struct buf *out, const struct run_job *job, int64_t now);

/* Shell functions and commands that open the files for what runs next. */
extern const char kube_output_script[];

#endif
