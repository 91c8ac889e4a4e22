/* adopt.h - take over Jobs that users made in a cluster with kubectl */
#ifndef AISCHEDD_OP_ADOPT_H
#define AISCHEDD_OP_ADOPT_H

#include "aischedd/daemon.h"

/* Submit a job for a Job that a runner has found, or refuse it. If this was
 * done before and the job has ended, tell the runner so. */
void daemon_adopt(struct pool_runner *p, const struct adoption *a);
/* Tell the runner whether a job was submitted for its Job or was refused. */
void daemon_adopted(struct daemon *d, const struct effect *e);
/* Requeue the adopted job of the event, or cancel it if it may not
 * be requeued. */
void daemon_take_back(struct daemon *d, const struct run_event *ev);
/* Schedule the sending of explanations to owners of adopted jobs why these
 * wait. Call it after each pass. */
void daemon_explain_soon(struct daemon *d);
void daemon_free_adoptees(struct daemon *d);

#endif
