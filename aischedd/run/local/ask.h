/*
 * ask.h - what the daemon may ask of the runner; see runner.h
 */
#ifndef AISCHEDD_RUN_LOCAL_ASK_H
#define AISCHEDD_RUN_LOCAL_ASK_H

#include "aischedd/run/local/local.h"

void local_start(struct runner *r, const struct run_job *job);
/* Send the attempt to the nursery, which forks its shepherd. Returns false if
 * the nursery's socket is full now. */
bool attempt_launch(struct attempt *a);
void local_stop(struct runner *r, uint64_t job, uint32_t attempt,
                enum stop_why why, int64_t grace);
void local_signal(struct runner *r, uint64_t job, uint32_t attempt,
                  const struct run_signal *what);
void local_suspend(struct runner *r, uint64_t job, uint32_t attempt);
void local_resume(struct runner *r, const struct run_job *job);
void local_resize(struct runner *r, const struct run_job *job);
void local_forget(struct runner *r, uint64_t job, uint32_t attempt);
void local_step_socket(struct runner *r, uint64_t job, uint32_t attempt,
                       struct buf *out);
void local_steps(struct runner *r, uint64_t job, uint32_t attempt,
                 struct buf *out);

#endif
