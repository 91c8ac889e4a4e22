/*
 * pty.h - a job that is a command on this terminal
 */
#ifndef AISUB_PTY_H
#define AISUB_PTY_H

#include "libcommon/spec/spec_opt.h"

/* Check that no option is given that needs a script, or an end to wait for.
 * Fails with EINVAL. */
int pty_check(const struct submit *submit, struct err *err);

/* Submit the job, wait until it starts, and run the command, or a shell, in it.
 * The job ends with it, and with us. Returns the status to exit with. */
int pty_run(struct submit *submit, char **command);

#endif
