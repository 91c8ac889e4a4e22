/*
 * held_job.h - a job without a script, which lasts as long as its client: srun
 * and salloc outside of jobs, aisub --pty
 *
 * While the job waits, it depends on the client's connection to the daemon;
 * after its start, on the client's connection to the job's shepherd. Thus the
 * job is ended if the client ends, for whatever reason.
 */
#ifndef LIBCOMMON_CLIENT_HELD_JOB_H
#define LIBCOMMON_CLIENT_HELD_JOB_H

#include <stdbool.h>

#include "libcommon/client/retry.h"

struct held_job {
	long long id;
	char *node, *socket; /* NULL until it has started */
	int conn; /* connection to the shepherd; -1: none, the job is not held
	           */
	struct retry retry;
};

/* Called with a line {"waits": reason} if the job cannot start at once. */
typedef client_part_fn held_job_waits_fn;

/* Wait until a submitted job has started, even if the daemon restarts
 * meanwhile. Fails like client_call(), and with ESHUTDOWN if the job
 * has ended. */
int held_job_wait(struct held_job *a, held_job_waits_fn *waits, void *arg,
                  struct err *err);

/* Connect to the shepherd, and set the job's variables in our environment. If
 * kept is true, disconnect again; the job then lasts until it is cancelled or
 * reaches its time limit. Fails with ECONNRESET if the job has ended. */
int held_job_hold(struct held_job *a, bool kept, struct err *err);

/* Read a message; to be called when conn is readable. Returns false if the job
 * ends, or the shepherd is gone. */
bool held_job_hear(struct held_job *a);

/* End the job with this exit status, wait until it has ended, and free a. */
void held_job_end(struct held_job *a, int status);

void held_job_free(struct held_job *a);

#endif
