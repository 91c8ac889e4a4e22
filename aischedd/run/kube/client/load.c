/* load.c - read a kubeconfig, and the files it names, in a thread */
#include "aischedd/run/kube/client/load.h"

#include <event2/event.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "libcommon/mem.h"
#include "libcommon/spawn.h"

/* Shared by the thread and the loop; whichever drops it last frees it. */
struct load_task {
	atomic_int holders;
	char *path, *context; /* or NULL */
	int done_fd;
	atomic_bool is_done; /* the members below are set */
	struct kube_config *config;
	struct err err;
};

struct kube_load {
	struct load_task *task;
	struct event *ended, *late;
	int64_t deadline_ms;
	kube_load_fn *fn;
	void *arg;
};

static void let_go(struct load_task *r)
{
	if (atomic_fetch_sub(&r->holders, 1) > 1)
		return;
	if (r->done_fd >= 0)
		close(r->done_fd);
	kube_config_free(r->config);
	free(r->path);
	free(r->context);
	free(r);
}

static void *read_files(void *arg)
{
	struct load_task *r = arg;

	r->config = kube_config_load(r->path, r->context, &r->err);
	atomic_store(&r->is_done, true);
	eventfd_write(r->done_fd, 1);
	let_go(r);
	return NULL;
}

static void on_ended(evutil_socket_t fd, short what, void *arg)
{
	struct kube_load *load = arg;
	struct load_task *r = load->task;
	struct kube_config *config;
	struct err err;

	(void)fd;
	(void)what;
	if (!atomic_load(&r->is_done))
		return;
	evtimer_del(load->late);
	config = r->config;
	r->config = NULL;
	err = r->err;
	load->fn(config, config ? NULL : &err, true, load->arg);
}

static void on_late(evutil_socket_t fd, short what, void *arg)
{
	struct kube_load *load = arg;
	const char *path = load->task->path;
	struct err err;

	(void)fd;
	(void)what;
	err_set(&err, ETIMEDOUT,
	        "kubeconfig%s%s%s, or a file that it names, could not be read "
	        "within %g s; does its file server answer?",
	        path && *path ? " '" : "", path ? path : "",
	        path && *path ? "'" : "", (double)load->deadline_ms / 1000);
	load->fn(NULL, &err, false, load->arg);
}

struct kube_load *kube_load_start(struct event_base *base, const char *path,
                                  const char *context, int64_t deadline_ms,
                                  kube_load_fn *fn, void *arg, struct err *err)
{
	const struct timeval after = { .tv_sec = deadline_ms / 1000,
		                       .tv_usec = deadline_ms % 1000 * 1000 };
	struct load_task *r = xcalloc(1, sizeof(*r));
	struct kube_load *load;

	atomic_init(&r->holders, 2);
	atomic_init(&r->is_done, false);
	r->path = path ? xstrdup(path) : NULL;
	r->context = context ? xstrdup(context) : NULL;
	r->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	errno = r->done_fd < 0 ? errno : spawn_thread(read_files, r);
	if (errno) {
		err_sys(err, "kubeconfig: cannot start a thread");
		atomic_store(&r->holders, 1);
		let_go(r);
		return NULL;
	}
	load = xcalloc(1, sizeof(*load));
	*load = (struct kube_load){
		.task = r, .deadline_ms = deadline_ms, .fn = fn, .arg = arg
	};
	load->ended = event_new(base, r->done_fd, EV_READ, on_ended, load);
	event_add(load->ended, NULL);
	load->late = evtimer_new(base, on_late, load);
	event_add(load->late, &after);
	return load;
}

void kube_load_free(struct kube_load *load)
{
	if (!load)
		return;
	event_free(load->ended);
	event_free(load->late);
	let_go(load->task);
	free(load);
}
