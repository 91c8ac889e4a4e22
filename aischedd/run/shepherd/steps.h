/*
 * steps.h - the steps of a job: what srun starts in it
 *
 * srun of the job's user, or of root, connects to the socket `step` in the
 * folder of the attempt and hands over a request with its descriptors
 * (libcommon/step_msg.h). The shepherd never blocks on a client, whatever that
 * does. A step waits, in order of arrival, until the job has enough free
 * resources for it. The daemon is not involved.
 */
#ifndef AISCHEDD_RUN_SHEPHERD_STEPS_H
#define AISCHEDD_RUN_SHEPHERD_STEPS_H

#include <poll.h>
#include <sys/resource.h>

#include "aischedd/run/shepherd/shepherd.h"

enum {
	STEPS_OPEN_MAX = 64, /* connections; others are accepted later */
	STEPS_POLL_MAX = STEPS_OPEN_MAX + 1
};

/* Make the attempt's socket for steps and listen on it. Fails with errno. */
int steps_open(struct shepherd *s, struct err *err);

/* If the job is an allocation that a client holds: expect the client from now
 * on, and end the job once the client has disconnected. */
void steps_await_owner(struct shepherd *s);

/* Fill in what to poll for, at most STEPS_POLL_MAX; returns how many. */
size_t steps_poll(const struct shepherd *s, struct pollfd *ret);
/* Handle what poll() reported for these n. */
void steps_hear(struct shepherd *s, const struct pollfd *p, size_t n);

/* Returns whether the process was a task of a step. */
bool steps_task_ended(struct shepherd *s, pid_t pid, int status,
                      const struct rusage *use);
/* Start and stop steps, and report to clients, as it is due by now. */
void steps_step(struct shepherd *s, int64_t now);
/* Returns when steps_step() is to be called next, monotonic ms, or 0. */
int64_t steps_due(const struct shepherd *s);

/* Signal the processes of all steps. */
void steps_signal(struct shepherd *s, int signo);
/* Signal the processes of one step; returns false if it does not run. */
bool steps_signal_one(struct shepherd *s, uint32_t id, int signo);
/* Whether some step runs. */
bool steps_run(const struct shepherd *s);
/* Tell the clients that the job ends, and start nothing more. */
void steps_job_ends(struct shepherd *s);

#endif
