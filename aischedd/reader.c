/* reader.c - history is read on a thread of its own */
#include "aischedd/reader.h"

#include <event2/event.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "libcommon/mem.h"

struct reader {
	char *path;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct question *asked, **asked_end, *answered, **answered_end;
	struct event *back; /* made active by the thread */
	bool quit;
};

static void append(struct question ***end, struct question *q)
{
	q->next = NULL;
	**end = q;
	*end = &q->next;
}

static struct question *take(struct question **first, struct question ***end)
{
	struct question *q = *first;

	*first = q->next;
	if (!*first)
		*end = first;
	return q;
}

static void *answer_all(void *arg)
{
	struct reader *r = arg;

	pthread_mutex_lock(&r->lock);
	while (!r->quit) {
		struct question *q;

		if (!r->asked) {
			pthread_cond_wait(&r->wake, &r->lock);
			continue;
		}
		q = take(&r->asked, &r->asked_end);
		pthread_mutex_unlock(&r->lock);
		q->result =
		    store_history(r->path, &q->query, q->row, q->arg, &q->err);
		pthread_mutex_lock(&r->lock);
		append(&r->answered_end, q);
		event_active(r->back, EV_READ, 0);
	}
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

static void hand_back(evutil_socket_t fd, short what, void *arg)
{
	struct reader *r = arg;

	(void)fd;
	(void)what;
	for (;;) {
		struct question *q = NULL;

		pthread_mutex_lock(&r->lock);
		if (r->answered)
			q = take(&r->answered, &r->answered_end);
		pthread_mutex_unlock(&r->lock);
		if (!q)
			return;
		q->done(q);
	}
}

struct reader *reader_new(struct event_base *base, const char *store_path,
                          struct err *err)
{
	struct reader *r = xcalloc(1, sizeof(*r));

	r->path = xstrdup(store_path);
	r->asked_end = &r->asked;
	r->answered_end = &r->answered;
	r->back = event_new(base, -1, EV_PERSIST, hand_back, r);
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->wake, NULL);
	errno = pthread_create(&r->thread, NULL, answer_all, r);
	if (!errno)
		return r;
	err_sys(err, "cannot start a thread");
	event_free(r->back);
	free(r->path);
	free(r);
	return NULL;
}

void reader_free(struct reader *r)
{
	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	r->quit = true;
	pthread_cond_signal(&r->wake);
	pthread_mutex_unlock(&r->lock);
	pthread_join(r->thread, NULL);
	pthread_mutex_destroy(&r->lock);
	pthread_cond_destroy(&r->wake);
	event_free(r->back);
	free(r->path);
	free(r);
}

void reader_ask(struct reader *r, struct question *q)
{
	pthread_mutex_lock(&r->lock);
	append(&r->asked_end, q);
	pthread_cond_signal(&r->wake);
	pthread_mutex_unlock(&r->lock);
}
