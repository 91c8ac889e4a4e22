/*
 * steps.h - the steps of a job: what srun starts in it
 *
 * srun of the job's user, or of root, connects to the socket `step` in the
 * folder of the attempt and hands over a request with its descriptors
 * (libcommon/step_msg.h). Nothing that a client does or omits makes the
 * shepherd wait. Steps for which the job has too little room wait in order of
 * arrival. The daemon has no part in it.
 */
#ifndef AISCHEDD_RUN_SHEPHERD_STEPS_H
#define AISCHEDD_RUN_SHEPHERD_STEPS_H

#include <poll.h>
#include <sys/resource.h>

#include "aischedd/run/shepherd/shepherd.h"

enum {
	STEPS_OPEN_MAX = 64, /* more wait until they are accepted */
	STEPS_POLL_MAX = STEPS_OPEN_MAX + 1
};

/* Listen. Without it the job has no steps. */
int steps_open(struct shepherd *s, struct err *err);

/* If a client is to hold the allocation, wait for one, and end the job once it
 * is gone. */
void steps_await_owner(struct shepherd *s);

/* Fill in what to poll for, at most STEPS_POLL_MAX; returns how many. */
size_t steps_poll(const struct shepherd *s, struct pollfd *ret);
void steps_hear(struct shepherd *s, const struct pollfd *p, size_t n);

/* Returns whether the process was a task of a step. */
bool steps_task_ended(struct shepherd *s, pid_t pid, int status,
                      const struct rusage *use);
/* Start, stop and tell what is due. */
void steps_step(struct shepherd *s, int64_t now);
/* Returns when something is due, monotonic ms, or 0. */
int64_t steps_due(const struct shepherd *s);

/* Signal the processes of all steps. */
void steps_signal(struct shepherd *s, int signo);
/* Signal those of one step; returns false if it does not run. */
bool steps_signal_one(struct shepherd *s, uint32_t id, int signo);
/* Whether some step runs. */
bool steps_run(const struct shepherd *s);
/* Tell the clients that the job ends, and start nothing more. */
void steps_job_ends(struct shepherd *s);

#endif
