/* closer.c - close sockets whose close(2) may never return */
#include "aischedd/rpc/closer.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libcommon/mem.h"
#include "libcommon/spawn.h"

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE 2
#endif

struct closer {
	pthread_mutex_t lock;
	int *fd; /* the sockets to close */
	size_t n, cap;
	/* a thread closes sockets until none is left */
	bool running;
	bool quit; /* closer_free() was called */
};

/* A thread that keeps all descriptors open until it exits, or a child process
 * if the thread cannot have a descriptor table of its own. */
struct keeper {
	pthread_t thread;
	sem_t keeps, may_exit;
	bool failed;
	pid_t child; /* if the thread has failed */
};

bool closer_forks;

static void *keep(void *arg)
{
	struct keeper *k = arg;

	/* In a container, unshare() is often forbidden. Then use
	 * close_range(): with these arguments it closes nothing, and unshares
	 * the descriptor table. */
	k->failed =
	    closer_forks || (unshare(CLONE_FILES) < 0 &&
	                     syscall(SYS_close_range, UINT_MAX, UINT_MAX,
	                             CLOSE_RANGE_UNSHARE) < 0);
	sem_post(&k->keeps);
	sem_wait(&k->may_exit);
	return NULL;
}

static void wait_briefly(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
}

/* Where containers may call neither unshare() nor close_range(), fork, which
 * takes long if the daemon is large: wait between the forks. Flags of 0 mean
 * that no SIGCHLD tells the daemon's other threads of the child. The child may
 * only wait until it is killed, as other threads may have held locks. */
static void fork_child(struct keeper *k)
{
	pid_t parent = getpid();

	do {
		wait_briefly();
		k->child = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, 0);
	} while (k->child < 0);
	if (k->child > 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (getppid() == parent)
		pause();
	_exit(EXIT_SUCCESS);
}

static void keeper_start(struct keeper *k)
{
	sem_init(&k->keeps, 0, 0);
	sem_init(&k->may_exit, 0, 0);
	while (pthread_create(&k->thread, NULL, keep, k) != 0)
		wait_briefly();
	sem_wait(&k->keeps);
	if (k->failed)
		fork_child(k);
}

static void keeper_end(struct keeper *k)
{
	sem_post(&k->may_exit);
	pthread_join(k->thread, NULL);
	sem_destroy(&k->keeps);
	sem_destroy(&k->may_exit);
	if (!k->failed)
		return;
	kill(k->child, SIGKILL);
	waitpid(k->child, NULL, __WCLONE);
}

/* Take the sockets to close. If there are none, this thread has to end, and
 * must not use the closer any more. */
static size_t take(struct closer *c, int **ret)
{
	size_t n;
	bool last;

	pthread_mutex_lock(&c->lock);
	n = c->n;
	*ret = c->fd;
	c->fd = NULL;
	c->n = c->cap = 0;
	c->running = n > 0;
	last = c->quit && !n;
	pthread_mutex_unlock(&c->lock);
	if (last) {
		pthread_mutex_destroy(&c->lock);
		free(c);
	}
	return n;
}

static void *run(void *arg)
{
	struct closer *c = arg;
	struct keeper keeper;
	size_t n;
	int *fd;

	while ((n = take(c, &fd))) {
		keeper_start(&keeper);
		for (size_t i = 0; i < n; i++)
			close(fd[i]);
		keeper_end(&keeper);
		free(fd);
	}
	return NULL;
}

/* Start the thread. If that fails, the next closer_close() tries again. */
static void start(struct closer *c)
{
	if (!c->running && c->n)
		c->running = spawn_thread(run, c) == 0;
}

struct closer *closer_new(void)
{
	struct closer *c = xcalloc(1, sizeof(*c));

	pthread_mutex_init(&c->lock, NULL);
	return c;
}

void closer_close(struct closer *c, int fd)
{
	pthread_mutex_lock(&c->lock);
	c->fd = GROW(c->fd, c->n, &c->cap);
	c->fd[c->n++] = fd;
	start(c);
	pthread_mutex_unlock(&c->lock);
}

void closer_free(struct closer *c)
{
	bool last;

	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	c->quit = true;
	start(c);
	last = !c->running;
	pthread_mutex_unlock(&c->lock);
	if (!last)
		return;
	pthread_mutex_destroy(&c->lock);
	free(c->fd);
	free(c);
}
