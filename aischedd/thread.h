/*
 * thread.h - long work beside the loop
 *
 * A thread that does one task after the other and hands each back to the
 * loop.  Tasks touch nothing that the loop may change meanwhile.
 */
#ifndef AISCHEDD_THREAD_H
#define AISCHEDD_THREAD_H

#include "libcommon/err.h"

struct event_base;
struct thread;

struct thread_task {
	void (*work)(struct thread_task *task); /* on the thread */
	void (*done)(struct thread_task *task); /* on the loop's, afterwards */
	struct thread_task *next;               /* the thread's */
};

struct thread *thread_new(struct event_base *base, struct err *err);

/* Waits for the task at hand; what was not begun or not handed back is left
 * to its owner.  NULL is fine. */
void thread_free(struct thread *thread);

/* task stays the caller's and must live until done. */
void thread_do(struct thread *thread, struct thread_task *task);

#endif
