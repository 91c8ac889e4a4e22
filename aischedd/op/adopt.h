/* adopt.h - take over Jobs that users made in a cluster with kubectl */
#ifndef AISCHEDD_OP_ADOPT_H
#define AISCHEDD_OP_ADOPT_H

#include "aischedd/daemon.h"

/* Submit a job for a Job that a runner has found, or refuse the Job. If a
 * job that was submitted for this Job before has ended, tell the runner how
 * it ended. */
void daemon_adopt(struct pool_runner *p, const struct adoption *a);
/* Tell the runner of the effect's pool the id and the state of the job, which
 * was submitted for a Job of that runner. */
void daemon_adopted(struct daemon *d, const struct effect *e);
/* Requeue the adopted job of the event, or cancel it if it may not
 * be requeued. */
void daemon_take_back(struct daemon *d, const struct run_event *ev);
/* Start the timer that tells owners of adopted jobs why their jobs wait. Call
 * this after each pass. */
void daemon_explain_soon(struct daemon *d);
void daemon_free_adoptees(struct daemon *d);

#endif
