/*
 * lifecycle.h - what happens to a job, as the files of its life share it
 *
 * lifecycle.c has the table; each entry is a life_fn of one of the others:
 * lifecycle_start.c, lifecycle_stop.c what is asked of it while it runs,
 * lifecycle_tasks.c tasks that come and go, lifecycle_end.c.
 */
#ifndef AISCHEDD_STATE_LIFECYCLE_H
#define AISCHEDD_STATE_LIFECYCLE_H

#include "aischedd/state/state_priv.h"

typedef int life_fn(struct state *state, struct job *job,
                    const struct event_in *ev, struct err *err);

/* lifecycle_start.c */
life_fn life_start, life_started, life_start_failed, life_start_again;
/* Nodes are its own from now on, or no longer. */
void life_place(struct state *state, struct job *job, const struct placement *p,
                int64_t now);
void life_unplace(struct state *state, struct job *job, int64_t now);

/* lifecycle_stop.c */
life_fn life_cancel, life_cancel_completing, life_time_limit, life_deadline;
life_fn life_requeue, life_preempt, life_signal;
life_fn life_suspend, life_suspend_again, life_resume, life_resumed;
void life_effect_stop(struct state *state, const struct job *job);
void life_effect_suspend(struct state *state, const struct job *job,
                         enum effect_kind kind);

/* lifecycle_tasks.c */
life_fn life_shrink, life_shrunk, life_grow, life_replaced;
life_fn life_found_running, life_found_suspended, life_found_completing;

/* lifecycle_end.c */
life_fn life_ended, life_lost;
void life_stop_clock(struct job *job, int64_t now);
/* NULL or empty: there is nothing to be said. */
void life_set_text(struct job *job, const char *text);
void life_back_to_queue(struct state *state, struct job *job, int64_t now);
/*
 * Nothing of the attempt runs any more: what its stop was for decides, else
 * `to` and `why`, which say how it ended by itself.
 */
void life_settle(struct state *state, struct job *job, enum job_state to,
                 enum reason why, int64_t now);

#endif
