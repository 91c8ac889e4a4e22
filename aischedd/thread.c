/* thread.c - a thread for long tasks */
#include "aischedd/thread.h"

#include <event2/event.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "libcommon/mem.h"

struct list {
	struct thread_task *first, **end;
};

struct thread {
	pthread_t id;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct list todo, done;
	/* activated by the thread when a task is done */
	struct event *back;
	bool quit;
};

static void append(struct list *list, struct thread_task *task)
{
	task->next = NULL;
	*list->end = task;
	list->end = &task->next;
}

static struct thread_task *take(struct list *list)
{
	struct thread_task *task = list->first;

	if (!task)
		return NULL;
	list->first = task->next;
	if (!list->first)
		list->end = &list->first;
	return task;
}

static void *work(void *arg)
{
	struct thread *t = arg;

	pthread_mutex_lock(&t->lock);
	while (!t->quit) {
		struct thread_task *task = take(&t->todo);

		if (!task) {
			pthread_cond_wait(&t->wake, &t->lock);
			continue;
		}
		pthread_mutex_unlock(&t->lock);
		task->work(task);
		pthread_mutex_lock(&t->lock);
		append(&t->done, task);
		event_active(t->back, EV_READ, 0);
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

static void hand_back(evutil_socket_t fd, short what, void *arg)
{
	struct thread *t = arg;
	struct thread_task *task;

	(void)fd;
	(void)what;
	do {
		pthread_mutex_lock(&t->lock);
		task = take(&t->done);
		pthread_mutex_unlock(&t->lock);
		if (task)
			task->done(task);
	} while (task);
}

struct thread *thread_new(struct event_base *base, struct err *err)
{
	struct thread *t = xcalloc(1, sizeof(*t));

	t->todo.end = &t->todo.first;
	t->done.end = &t->done.first;
	t->back = event_new(base, -1, EV_PERSIST, hand_back, t);
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->wake, NULL);
	errno = pthread_create(&t->id, NULL, work, t);
	if (!errno)
		return t;
	err_sys(err, "cannot start a thread");
	event_free(t->back);
	free(t);
	return NULL;
}

void thread_free(struct thread *t)
{
	if (!t)
		return;
	pthread_mutex_lock(&t->lock);
	t->quit = true;
	pthread_cond_signal(&t->wake);
	pthread_mutex_unlock(&t->lock);
	pthread_join(t->id, NULL);
	pthread_mutex_destroy(&t->lock);
	pthread_cond_destroy(&t->wake);
	event_free(t->back);
	free(t);
}

void thread_do(struct thread *t, struct thread_task *task)
{
	pthread_mutex_lock(&t->lock);
	append(&t->todo, task);
	pthread_cond_signal(&t->wake);
	pthread_mutex_unlock(&t->lock);
}
