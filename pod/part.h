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

/* Start the tasks that a launch frame asks for. If that fails, tells srun why
 * and returns NULL. The link stays the caller's and outlives the part, even
 * once its connection is lost. */
struct step_part *part_new(const struct pod_job *job, struct pod_link *link,
                           const struct pod_frame *frame);
void part_free(struct step_part *part);

/* Handle a frame from srun: a request, or input for a task. */
void part_hear(struct step_part *part, const struct pod_frame *frame);

/* Whether the process was one of its tasks. */
bool part_reaped(struct step_part *part, pid_t pid, int status);

/* Fill in what to poll for, at most part_most() entries; returns how many. */
size_t part_most(const struct step_part *part);
size_t part_poll(const struct step_part *part, struct pollfd *ret);
void part_move(struct step_part *part, const struct pollfd *p, size_t n);

/* Do what is due by now. Returns false once no process of the part is left and
 * srun has been told all. */
bool part_step(struct step_part *part);
/* Returns the milliseconds until part_step() is to be called; -1: no limit. */
int part_timeout(const struct step_part *part);

/* Signal all its processes. */
void part_signal(struct step_part *part, int signo);

/* End the tasks because the job ends: SIGKILL follows after the grace of the
 * job, whatever srun asks for. */
void part_job_ends(struct step_part *part);

/* End the tasks of a step that was launched while the job was already ending.
 */
void part_end(struct step_part *part);

#endif
