/* log_size.c - how large the kept output is */
#include "aischedd/log_size.h"

#include <stdlib.h>

#include "aischedd/run/log_file.h"
#include "aischedd/thread.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"

/* rest for this many times the duration of the last count, see log_size.h */
enum { REST = 100 };

struct log_size {
	struct thread_task task;
	struct thread *thread;
	const char *dir;
	atomic_bool stop;
	bool busy;
	int64_t bytes, next_ms;
	/* results of the thread */
	int64_t found, took_ms;
};

static void add_up(struct thread_task *task)
{
	struct log_size *s = (struct log_size *)(void *)task;
	int64_t began_ms = clock_ms();

	s->found = log_total(s->dir, &s->stop);
	s->took_ms = clock_ms() - began_ms;
}

static void added_up(struct thread_task *task)
{
	struct log_size *s = (struct log_size *)(void *)task;

	s->bytes = s->found;
	s->next_ms = clock_ms() + LOG_SIZE_MS + REST * s->took_ms;
	s->busy = false;
}

static struct log_size *size_new(struct daemon *d)
{
	struct log_size *s = xcalloc(1, sizeof(*s));

	s->task = (struct thread_task){ .work = add_up, .done = added_up };
	s->thread = thread_new(d->base, NULL);
	s->dir = d->logs;
	s->bytes = -1;
	return s;
}

int64_t log_size(struct daemon *d)
{
	struct log_size *s = d->log_size;

	if (!s)
		s = d->log_size = size_new(d);
	if (s->thread && !s->busy && clock_ms() >= s->next_ms) {
		s->busy = true;
		thread_do(s->thread, &s->task);
	}
	return s->bytes;
}

void daemon_free_log_size(struct daemon *d)
{
	if (!d->log_size)
		return;
	atomic_store(&d->log_size->stop, true);
	thread_free(d->log_size->thread);
	free(d->log_size);
}
