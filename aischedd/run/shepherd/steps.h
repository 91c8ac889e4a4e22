/*
 * steps.h - the steps of a job: what srun starts in it
 *
 * An srun that runs as the job's user or as root connects to the socket `step`
 * in the attempt's folder and sends a request with its descriptors
 * (libcommon/step_msg.h). The shepherd never blocks on a client, whatever the
 * client does. Steps wait, in order of arrival, until enough resources of the
 * job are free. The daemon is not involved.
 */
#ifndef AISCHEDD_RUN_SHEPHERD_STEPS_H
#define AISCHEDD_RUN_SHEPHERD_STEPS_H

#include <poll.h>
#include <sys/resource.h>

#include "aischedd/run/shepherd/shepherd.h"

enum {
	/* most connections; further ones are accepted later */
	STEPS_OPEN_MAX = 64,
	STEPS_POLL_MAX = STEPS_OPEN_MAX + 1
};

/* Make the attempt's socket for steps and listen on it. Fails with errno. */
int steps_open(struct shepherd *s, struct err *err);

/* If the job is an allocation that a client holds, wait for that client from
 * now on. The job is ended once the client has disconnected, or if it does not
 * connect in time. */
void steps_await_owner(struct shepherd *s);

/* Fill in the descriptors to poll, at most STEPS_POLL_MAX. Returns how many. */
size_t steps_poll(const struct shepherd *s, struct pollfd *ret);
/* Handle what poll() reported for these n descriptors. */
void steps_hear(struct shepherd *s, const struct pollfd *p, size_t n);

/* Handle the end of a process. Returns whether it was a task of a step. */
bool steps_task_ended(struct shepherd *s, pid_t pid, int status,
                      const struct rusage *use);
/* Start and stop steps, and send results to clients, as is due by now. */
void steps_step(struct shepherd *s, int64_t now);
/* Returns when steps_step() must be called next, in monotonic ms, or 0
 * for never. */
int64_t steps_due(const struct shepherd *s);

/* Send the signal to the processes of all steps. */
void steps_signal(struct shepherd *s, int signo);
/* Send the signal to the processes of one step. Returns false if that step does
 * not run. */
bool steps_signal_one(struct shepherd *s, uint32_t id, int signo);
/* Whether any step runs. */
bool steps_run(const struct shepherd *s);
/* Tell clients that the job ends, and start no further steps. */
void steps_job_ends(struct shepherd *s);

#endif
