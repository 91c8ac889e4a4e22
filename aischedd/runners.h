/*
 * runners.h - effects to runners, events from runners
 */
#ifndef AISCHEDD_RUNNERS_H
#define AISCHEDD_RUNNERS_H

#include "aischedd/daemon.h"

/* Make a runner for each pool that has one. */
int daemon_new_runners(struct daemon *d, struct err *err);

/* Tell the state the nodes of pools that have no runner, as the configuration
 * names them now. */
void daemon_see_sections(struct daemon *d);

/* Append the path of the socket on which steps of the job are requested; the
 * job must have nodes. Fails with EOPNOTSUPP if its runner has none. */
int daemon_step_socket(const struct daemon *d, const struct job *job,
                       struct buf *out, struct err *err);

/* Append the record of the steps of a job that has nodes. */
void daemon_steps(const struct daemon *d, const struct job *job,
                  struct buf *out);

/* Carry out one effect of the state; effects may be repeated. */
void daemon_do_effect(struct daemon *d, const struct effect *e);

#endif
