/*
 * pty.h - a job that is a command on this terminal
 */
#ifndef AISUB_PTY_H
#define AISUB_PTY_H

#include "libcommon/spec/spec_opt.h"

/* Check that no given option excludes --pty, as --wait does. Fails with
 * EINVAL. */
int pty_check(const struct submit *submit, struct err *err);

/* Submit the job, wait until it starts, and run the command, or a shell, in it.
 * The job ends with the command, or when this process ends. Returns the exit
 * status for aisub. */
int pty_run(struct submit *submit, char **command);

#endif
