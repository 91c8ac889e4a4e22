/*
 * adopt.h - jobs that others made in a cluster
 */
#ifndef AISCHEDD_OP_ADOPT_H
#define AISCHEDD_OP_ADOPT_H

#include "aischedd/daemon.h"

/* Take a job that a runner offers, or note what became of one. */
void daemon_adopt(struct pool_runner *p, const struct adoption *a);
/* Tell the runner whether the state has taken the job, or refused it. */
void daemon_adopted(struct daemon *d, const struct effect *e);
/* Requeue the job of the event; one that may not be requeued ends. */
void daemon_take_back(struct daemon *d, const struct run_event *ev);
/* Explain to their owners why they wait, after a while; called after a plan. */
void daemon_explain_soon(struct daemon *d);
void daemon_free_adoptees(struct daemon *d);

#endif
