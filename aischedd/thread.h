/*
 * thread.h - a thread for long tasks
 *
 * The thread does one task after the other, and returns each to the loop when
 * it is done. Tasks must not touch anything that the loop may change meanwhile.
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
	struct thread_task *next; /* next task in the thread's list */
};

struct thread *thread_new(struct event_base *base, struct err *err);

/* Wait until the current task is done, then free the thread. Tasks that were
 * not begun or not returned yet remain the caller's. NULL is allowed. */
void thread_free(struct thread *thread);

/* Let the thread do a task. The task remains the caller's, and must stay valid
 * until its done() is called. */
void thread_do(struct thread *thread, struct thread_task *task);

#endif
