/*
 * part.h - the tasks of a step in this pod
 */
#ifndef POD_PART_H
#define POD_PART_H

#include <poll.h>
#include <sys/types.h>

#include "pod/job.h"
#include "pod/link.h"

struct step_part;

/* Start the tasks that a POD_LAUNCH frame requests. If that fails, report the
 * reason over the link and return NULL. The link belongs to the caller, who
 * must not free it before part_free(), even if the connection is lost. */
struct step_part *part_new(const struct pod_job *job, struct pod_link *link,
                           const struct pod_frame *frame);
void part_free(struct step_part *part);

/* Handle a frame from srun: an order, input for a task, or a terminal size. */
void part_hear(struct step_part *part, const struct pod_frame *frame);

/* Note the end of a process; returns whether it was one of these tasks. */
bool part_reaped(struct step_part *part, pid_t pid, int status);

/* Set entries for poll(), at most part_most() of them, and return
 * their number. */
size_t part_most(const struct step_part *part);
size_t part_poll(const struct step_part *part, struct pollfd *ret);
void part_move(struct step_part *part, const struct pollfd *p, size_t n);

/* Do what is due by now. Returns false when no process of the step is left in
 * this pod and everything has been sent to srun. */
bool part_step(struct step_part *part);
/* Returns within how many milliseconds to call part_step(); -1: no limit. */
int part_timeout(const struct step_part *part);

/* Signal all processes of the step in this pod. */
void part_signal(struct step_part *part, int signo);

/* Tell srun that the job ends. If srun has asked to stop the step sooner, its
 * tasks still get the grace of the job before SIGKILL. */
void part_job_ends(struct step_part *part);

/* End the tasks of a step that was launched while the job was already ending.
 */
void part_end(struct step_part *part);

#endif
