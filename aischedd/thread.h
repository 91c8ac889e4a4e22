/*
 * thread.h - a thread for long tasks
 *
 * It does one task after the other and returns each to the loop. Tasks touch
 * nothing that the loop may change meanwhile.
 */
#ifndef AISCHEDD_THREAD_H
#define AISCHEDD_THREAD_H

#include "libcommon/err.h"

struct event_base;
struct thread;

struct thread_task {
	void (*work)(struct thread_task *task); /* called on the thread */
	void (*done)(struct thread_task
	                 *task);  /* called on the loop's thread afterwards */
	struct thread_task *next; /* used by the thread */
};

struct thread *thread_new(struct event_base *base, struct err *err);

/* Wait for the current task, then free the thread. Tasks that were not begun or
 * not returned remain the owner's. NULL is allowed. */
void thread_free(struct thread *thread);

/* Do a task, which remains the caller's and must live until done. */
void thread_do(struct thread *thread, struct thread_task *task);

#endif
