/* runners.h - carry out effects of the state by runners, pass events of runners
 * to the state */
#ifndef AISCHEDD_RUNNERS_H
#define AISCHEDD_RUNNERS_H

#include "aischedd/daemon.h"

/* Make a runner for each pool that has one. */
int daemon_new_runners(struct daemon *d, struct err *err);

/* Tell the state which nodes the pools without runner have: those that the
 * present configuration names. */
void daemon_see_sections(struct daemon *d);

/* Returns the section of this machine as a node of the pool, or NULL. */
const struct conf_node *daemon_this_host(const struct conf *conf,
                                         uint32_t pool);

/* Returns the runner of a job that has nodes, or NULL. */
struct runner *daemon_runner_of(const struct daemon *d, const struct job *job);

/* Append the path of the socket on which the job's shepherd accepts requests
 * for steps. The job must have nodes. Fails with EOPNOTSUPP if its runner has
 * no steps. */
int daemon_step_socket(const struct daemon *d, const struct job *job,
                       struct buf *out, struct err *err);

/* Append the record of the job's steps. The job must have nodes. */
void daemon_steps(const struct daemon *d, const struct job *job,
                  struct buf *out);

/* Carry out one effect of the state. Carrying it out again does no harm. */
void daemon_do_effect(struct daemon *d, const struct effect *e);

#endif
