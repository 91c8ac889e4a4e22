/*
 * lifecycle_stop.h - stop, signal, suspend and resume a running job
 */
#ifndef AISCHEDD_STATE_LIFE_LIFECYCLE_STOP_H
#define AISCHEDD_STATE_LIFE_LIFECYCLE_STOP_H

#include "aischedd/state/life/lifecycle.h"
#include "aischedd/state/state.h"

life_handler life_cancel, life_cancel_completing, life_time_limit,
    life_deadline;
life_handler life_requeue, life_preempt, life_signal, life_signal_completing;
life_handler life_used;
life_handler life_suspend, life_suspend_again, life_resume, life_resumed;

/* Leave EFFECT_STOP for the job's runner, with the reason and the grace that
 * follow from job->cause. */
void life_effect_stop(struct state *state, const struct job *job);
/* Leave EFFECT_SUSPEND or EFFECT_RESUME for the job's runner. */
void life_effect_suspend(struct state *state, const struct job *job,
                         enum effect_kind kind);

/* Set job->gpus_idle (the GPUs were idle for longer than the queue allows), and
 * count the job accordingly. */
void life_set_idle(struct state *state, struct job *job, bool idle);

/* Whether the job's runner can suspend processes in place (freeze them). The
 * job must hold nodes. */
bool job_can_freeze(const struct state *state, const struct job *job);

#endif
