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

/* The frame is a launch. Tasks are started at once. Returns NULL, and tells
 * srun why, if they cannot be. The link stays the caller's, and is there as
 * long as the part, even if it is lost. */
struct step_part *part_new(const struct pod_job *job, struct pod_link *link,
                           const struct pod_frame *frame);
void part_free(struct step_part *part);

/* An order of srun, or input for a task. */
void part_hear(struct step_part *part, const struct pod_frame *frame);

/* Whether the process was one of its tasks. */
bool part_reaped(struct step_part *part, pid_t pid, int status);

/* What to poll for: at most part_most() entries; returns how many. */
size_t part_most(const struct step_part *part);
size_t part_poll(const struct step_part *part, struct pollfd *ret);
void part_move(struct step_part *part, const struct pollfd *p, size_t n);

/* What time brings. Returns false when nothing is left of it. */
bool part_step(struct step_part *part);
/* Milliseconds until part_step() has something to do; -1: for ever. */
int part_timeout(const struct step_part *part);

/* Signal all its processes. */
void part_signal(struct step_part *part, int signo);

/* The job ends: its tasks have the time that it has, whatever srun says. */
void part_job_ends(struct step_part *part);

/* The job was about to end when they were launched: signal them, too. */
void part_end(struct step_part *part);

#endif
