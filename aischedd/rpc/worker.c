/* worker.c - threads for blocking calls: MUNGE and the name service */
#include "aischedd/rpc/worker.h"

#include <event2/event.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "aischedd/rpc/ident.h"
#include "libcommon/auth.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"
#include "libcommon/spawn.h"

enum { NTHREADS = 4 };

TAILQ_HEAD(works, cred_work);

/*
 * Threads and their work. A work (encoding or decoding one credential) passes
 * from the list `queue` to a thread and then to the list `done`. While the loop
 * waits for a work, the work is also in `alive`, oldest first. This is also the
 * order of their deadlines, as all works have the same time limit. The limits
 * of connections and requests also bound the number of works.
 */
struct workers {
	char *munge_socket;
	struct idents *idents;
	struct event *woken, *timer;
	int64_t deadline_ms;
	struct works alive; /* only the loop's thread uses it */

	int wake_fd;
	pthread_mutex_t lock; /* protects what follows, and work->state */
	pthread_cond_t more;
	struct works queue, done;
	bool quit;
	/* users of this struct: the loop and each thread; the last one
	 * frees it */
	int holders;
};

static void free_work(struct cred_work *work)
{
	free(work->cred);
	free(work->peer);
	free(work);
}

static void let_go(struct workers *w)
{
	bool last;

	pthread_mutex_lock(&w->lock);
	last = --w->holders == 0;
	pthread_mutex_unlock(&w->lock);
	if (!last)
		return;
	if (w->wake_fd >= 0)
		close(w->wake_fd);
	idents_free(w->idents);
	pthread_cond_destroy(&w->more);
	pthread_mutex_destroy(&w->lock);
	free(w->munge_socket);
	free(w);
}

static void run_work(struct workers *w, struct cred_work *work)
{
	uid_t uid;
	gid_t gid;

	if (work->encode) {
		work->cred =
		    auth_encode(w->munge_socket, work->digest, &work->err);
		work->failed = !work->cred;
		return;
	}
	work->failed = auth_decode(w->munge_socket, work->cred, &uid, &gid,
	                           work->digest, &work->err) < 0;
	if (!work->failed)
		work->peer = ident_get(w->idents, uid, gid);
}

static void *worker_main(void *arg)
{
	struct workers *w = arg;
	struct cred_work *work;

	pthread_mutex_lock(&w->lock);
	while (!w->quit) {
		work = TAILQ_FIRST(&w->queue);
		if (!work) {
			pthread_cond_wait(&w->more, &w->lock);
			continue;
		}
		TAILQ_REMOVE(&w->queue, work, of_queue);
		work->state = CRED_RUNNING;
		pthread_mutex_unlock(&w->lock);
		run_work(w, work);
		pthread_mutex_lock(&w->lock);
		if (work->state == CRED_FORGOTTEN) {
			free_work(work);
			continue;
		}
		work->state = CRED_DONE;
		if (TAILQ_EMPTY(&w->done))
			eventfd_write(w->wake_fd, 1);
		TAILQ_INSERT_TAIL(&w->done, work, of_queue);
	}
	pthread_mutex_unlock(&w->lock);
	let_go(w);
	return NULL;
}

static struct cred_work *next_done(struct workers *w)
{
	struct cred_work *work;

	pthread_mutex_lock(&w->lock);
	work = TAILQ_FIRST(&w->done);
	if (work)
		TAILQ_REMOVE(&w->done, work, of_queue);
	pthread_mutex_unlock(&w->lock);
	return work;
}

static void on_woken(evutil_socket_t fd, short what, void *arg)
{
	struct workers *w = arg;
	struct cred_work *work;
	eventfd_t count;

	(void)what;
	eventfd_read(fd, &count);
	while ((work = next_done(w))) {
		TAILQ_REMOVE(&w->alive, work, of_alive);
		work->done(work, work->arg);
		free_work(work);
	}
}

void workers_forget(struct workers *w, struct cred_work *work)
{
	bool mine;

	if (!work)
		return;
	TAILQ_REMOVE(&w->alive, work, of_alive);
	pthread_mutex_lock(&w->lock);
	mine = work->state != CRED_RUNNING;
	if (work->state == CRED_QUEUED)
		TAILQ_REMOVE(&w->queue, work, of_queue);
	else if (work->state == CRED_DONE)
		TAILQ_REMOVE(&w->done, work, of_queue);
	work->state = CRED_FORGOTTEN;
	pthread_mutex_unlock(&w->lock);
	if (mine)
		free_work(work);
}

static void arm(struct workers *w)
{
	struct cred_work *oldest = TAILQ_FIRST(&w->alive);
	int64_t ms;

	if (!oldest)
		return;
	ms = oldest->until_ms - clock_ms();
	ms = ms > 0 ? ms : 0;
	event_add(w->timer, &(struct timeval){ .tv_sec = ms / 1000,
	                                       .tv_usec = ms % 1000 * 1000 });
}

/* Report a work whose deadline has passed. A thread may still be writing to the
 * work, so pass done() a copy that has only the error. */
static void expire(struct workers *w, struct cred_work *work)
{
	struct cred_work late = { .encode = work->encode, .failed = true };
	cred_done_fn *done = work->done;
	void *arg = work->arg;

	err_set(&late.err, EAGAIN,
	        "munged did not answer within %g s; is it running? try again",
	        (double)w->deadline_ms / 1000);
	workers_forget(w, work);
	done(&late, arg);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct workers *w = arg;
	struct cred_work *oldest;
	int64_t now = clock_ms();

	(void)fd;
	(void)what;
	while ((oldest = TAILQ_FIRST(&w->alive)) && oldest->until_ms <= now)
		expire(w, oldest);
	arm(w);
}

static int start_threads(struct workers *w, struct err *err)
{
	int rc = 0;

	pthread_mutex_lock(&w->lock);
	for (int i = 0; i < NTHREADS && rc == 0; i++) {
		rc = spawn_thread(worker_main, w);
		w->holders += rc == 0;
	}
	pthread_mutex_unlock(&w->lock);
	errno = rc;
	return rc ? err_sys(err, "cannot start a thread") : 0;
}

struct workers *workers_new(struct event_base *base, const char *munge_socket,
                            struct err *err)
{
	struct workers *w = xcalloc(1, sizeof(*w));

	w->munge_socket = munge_socket ? xstrdup(munge_socket) : NULL;
	w->deadline_ms = AUTH_DEADLINE_S * 1000;
	w->idents = idents_new();
	w->holders = 1;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->more, NULL);
	TAILQ_INIT(&w->alive);
	TAILQ_INIT(&w->queue);
	TAILQ_INIT(&w->done);
	w->timer = evtimer_new(base, on_timer, w);
	w->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (w->wake_fd < 0) {
		err_sys(err, "eventfd");
		workers_free(w);
		return NULL;
	}
	w->woken =
	    event_new(base, w->wake_fd, EV_READ | EV_PERSIST, on_woken, w);
	event_add(w->woken, NULL);
	if (start_threads(w, err) < 0) {
		workers_free(w);
		return NULL;
	}
	return w;
}

void workers_free(struct workers *w)
{
	struct cred_work *work;

	if (!w)
		return;
	while ((work = TAILQ_FIRST(&w->alive)))
		workers_forget(w, work);
	event_free(w->timer);
	if (w->woken)
		event_free(w->woken);
	pthread_mutex_lock(&w->lock);
	w->quit = true;
	pthread_cond_broadcast(&w->more);
	pthread_mutex_unlock(&w->lock);
	let_go(w);
}

void workers_set_deadline(struct workers *w, int64_t ms)
{
	w->deadline_ms = ms;
}

static struct cred_work *add_work(struct workers *w, struct cred_work *work)
{
	work->until_ms = clock_ms() + w->deadline_ms;
	TAILQ_INSERT_TAIL(&w->alive, work, of_alive);
	if (!evtimer_pending(w->timer, NULL))
		arm(w);
	pthread_mutex_lock(&w->lock);
	TAILQ_INSERT_TAIL(&w->queue, work, of_queue);
	pthread_cond_signal(&w->more);
	pthread_mutex_unlock(&w->lock);
	return work;
}

struct cred_work *workers_decode(struct workers *w, const char *cred,
                                 size_t len, cred_done_fn *done, void *arg)
{
	struct cred_work *work = xcalloc(1, sizeof(*work));

	work->cred = xstrndup(cred, len);
	work->done = done;
	work->arg = arg;
	return add_work(w, work);
}

struct cred_work *workers_encode(struct workers *w,
                                 const unsigned char digest[WIRE_DIGEST],
                                 cred_done_fn *done, void *arg)
{
	struct cred_work *work = xcalloc(1, sizeof(*work));

	work->encode = true;
	memcpy(work->digest, digest, WIRE_DIGEST);
	work->done = done;
	work->arg = arg;
	return add_work(w, work);
}
