/* adopt.h - jobs that users made in a cluster with kubectl */
#ifndef AISCHEDD_OP_ADOPT_H
#define AISCHEDD_OP_ADOPT_H

#include "aischedd/daemon.h"

/* Take a Job that a runner offers, or refuse it. If it was taken before and its
 * job has ended, tell the runner. */
void daemon_adopt(struct pool_runner *p, const struct adoption *a);
/* Tell the runner whether the state has taken the job, or refused it. */
void daemon_adopted(struct daemon *d, const struct effect *e);
/* Requeue the job of the event, or cancel it if it may not be requeued. */
void daemon_take_back(struct daemon *d, const struct run_event *ev);
/* Tell the owners of adopted jobs why these wait, a little later. Call it after
 * each pass. */
void daemon_explain_soon(struct daemon *d);
void daemon_free_adoptees(struct daemon *d);

#endif
