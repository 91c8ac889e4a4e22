/*
 * forward.h - carry connections of users to ports of jobs
 *
 * The job's shepherd connects, because it knows the processes of the job, and
 * passes the connection to the daemon, which carries the bytes.
 */
#ifndef AISCHEDD_RUN_LOCAL_FORWARD_H
#define AISCHEDD_RUN_LOCAL_FORWARD_H

#include "aischedd/run/runner.h"

struct local;

extern const struct runner_exec local_forward_calls;

void local_forward_free_all(struct local *l);

#endif
