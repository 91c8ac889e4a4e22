/* checkpoint.c - move the write-ahead log into the database, on a thread */
#include "aischedd/store/checkpoint.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "aischedd/store/db.h"
#include "aischedd/store/space.h"
#include "libcommon/mem.h"

/* make a checkpoint when the log has this many pages */
enum { WAL_PAGES = 1000 };

struct checkpoints {
	char *path;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool due, quit, running;
};

static void *run(void *arg)
{
	struct checkpoints *c = arg;
	struct db db;

	if (db_open(&db, c->path, false, NULL, 0, NULL) < 0)
		return NULL;
	db_exec(&db, "PRAGMA synchronous = FULL", NULL);
	space_in_chunks(db.sql, c->path);
	pthread_mutex_lock(&c->lock);
	while (!c->quit) {
		if (!c->due) {
			pthread_cond_wait(&c->wake, &c->lock);
			continue;
		}
		c->due = false;
		pthread_mutex_unlock(&c->lock);
		/* PASSIVE does not wait: pages that a reader still needs stay
		 * in the log until a later checkpoint. */
		sqlite3_wal_checkpoint_v2(
		    db.sql, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
		pthread_mutex_lock(&c->lock);
	}
	pthread_mutex_unlock(&c->lock);
	db_close(&db);
	return NULL;
}

void checkpoints_now(struct checkpoints *c)
{
	pthread_mutex_lock(&c->lock);
	c->due = true;
	pthread_cond_signal(&c->wake);
	pthread_mutex_unlock(&c->lock);
}

static int wal_grew(void *arg, sqlite3 *sql, const char *name, int pages)
{
	struct checkpoints *c = arg;

	(void)sql;
	(void)name;
	if (pages >= WAL_PAGES)
		checkpoints_now(c);
	return SQLITE_OK;
}

struct checkpoints *checkpoints_start(sqlite3 *sql, const char *path)
{
	struct checkpoints *c = xcalloc(1, sizeof(*c));

	c->path = xstrdup(path);
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->wake, NULL);
	c->running = pthread_create(&c->thread, NULL, run, c) == 0;
	sqlite3_wal_hook(sql, wal_grew, c);
	return c;
}

void checkpoints_stop(struct checkpoints *c)
{
	if (!c)
		return;
	if (c->running) {
		pthread_mutex_lock(&c->lock);
		c->quit = true;
		pthread_cond_signal(&c->wake);
		pthread_mutex_unlock(&c->lock);
		pthread_join(c->thread, NULL);
	}
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->wake);
	free(c->path);
	free(c);
}
