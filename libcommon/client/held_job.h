/*
 * held_job.h - a job without a script, held by its client: srun and salloc
 * outside of jobs, aisub --pty
 *
 * While the job waits, our connection to the daemon stands for us; once it has
 * started, our connection to its shepherd. So the job ends when we do, however
 * we end.
 */
#ifndef LIBCOMMON_CLIENT_HELD_JOB_H
#define LIBCOMMON_CLIENT_HELD_JOB_H

#include <stdbool.h>

#include "libcommon/client/retry.h"

struct held_job {
	long long id;
	char *node, *socket; /* NULL until it has started */
	int conn;            /* to the shepherd; -1: nobody holds it */
	struct retry retry;
};

/* Called with a line {"waits": reason} if it cannot start at once. */
typedef client_part_fn held_job_waits_fn;

/* Wait until a submitted job has started; if the daemon goes away meanwhile,
 * wait for that, too. Fails as client_call(); with ESHUTDOWN if the job has
 * ended. */
int held_job_wait(struct held_job *a, held_job_waits_fn *waits, void *arg,
                  struct err *err);

/* Hold the job, and set its variables in our environment. If it is kept, only
 * set the variables: scancel or its time limit ends it. Fails with ECONNRESET
 * if the job ends. */
int held_job_hold(struct held_job *a, bool kept, struct err *err);

/* Returns false once the shepherd has said that the job ends, or is gone; to be
 * called when conn is readable. */
bool held_job_hear(struct held_job *a);

/* End the job with this exit status, wait until it has ended, and free a. */
void held_job_end(struct held_job *a, int status);

void held_job_free(struct held_job *a);

#endif
