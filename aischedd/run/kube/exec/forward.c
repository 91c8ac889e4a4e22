/* forward.c - carry connections of users to ports of pods */
#include "aischedd/run/kube/exec/forward.h"

#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/client/path.h"
#include "aischedd/run/kube/client/socket.h"
#include "aischedd/run/kube/kube.h"
#include "aischedd/run/kube/log_pods.h"
#include "libcommon/clean.h"
#include "libcommon/mem.h"

#define PROTOCOL "v4.channel.k8s.io"

enum channel { CHANNEL_DATA, CHANNEL_ERR, CHANNELS };

enum {
	PORT_BYTES = 2, /* the port, with which each channel begins */
	SAID_MAX = 400, /* bytes that are kept of the node's error */
	/* When the user sends nothing more, the connection ends if the port
	 * sends nothing for this many seconds. */
	SILENT_S = 5
};

struct kube_forward {
	struct run_exec base;
	TAILQ_ENTRY(kube_forward) of_list;
	struct kube *kube;
	struct kube_socket *socket;
	struct event *over;
	uint16_t port;
	bool open;          /* the node takes what the user sends */
	bool ends;          /* the user sends nothing more */
	int channel;        /* of the message that is being read */
	int head[CHANNELS]; /* bytes of the port that were read */
	struct buf said;    /* the node's error */
};

static void forward_free(struct kube_forward *f)
{
	TAILQ_REMOVE(&f->kube->forwards.list, f, of_list);
	if (f->socket)
		kube_socket_close(f->socket);
	event_free(f->over);
	buf_free(&f->said);
	free(f);
}

void kube_forward_free_all(struct kube *kube)
{
	while (!TAILQ_EMPTY(&kube->forwards.list))
		forward_free(TAILQ_FIRST(&kube->forwards.list));
}

/* --- end of the connection ------------------------------------------------ */

/* Set *err from the text in which the node says why it cannot connect. */
static void read_error(struct kube_forward *f, struct err *err)
{
	buf_addc(&f->said, '\0');
	f->said.data[text_clean(f->said.data, f->said.len - 1)] = '\0';
	if (strstr(f->said.data, "connection refused"))
		err_set(err, ECONNREFUSED,
		        "no process of the job listens at port %u", f->port);
	else
		err_set(err, EIO, "port %u of the job: %s", f->port,
		        f->said.data);
}

static void on_end(const struct err *why, void *arg)
{
	struct kube_forward *f = arg;
	const struct run_exec_ops *ops = f->base.ops;
	void *to = f->base.arg;
	struct err err;

	f->socket = NULL;
	if (f->said.len)
		read_error(f, &err);
	else if (why)
		err = *why;
	why = why || f->said.len ? &err : NULL;
	forward_free(f);
	ops->end(why ? -1 : 0, why, to);
}

/* End the connection: the user has left, or has sent their last byte and the
 * port has sent nothing for SILENT_S. */
static void on_over(evutil_socket_t fd, short what, void *arg)
{
	struct kube_forward *f = arg;

	(void)fd, (void)what;
	kube_socket_close(f->socket);
	on_end(NULL, f);
}

static void await_silence(struct kube_forward *f)
{
	if (f->ends)
		event_add(f->over, &(struct timeval){ .tv_sec = SILENT_S });
}

/* --- messages of the node ------------------------------------------------- */

static void on_open(const char *protocol, void *arg)
{
	/* do not accept input yet: the node may still fail to connect */
	(void)protocol, (void)arg;
}

/* Skip the port, with which each channel begins. On the data channel the port
 * comes as soon as the node takes data. */
static void skip_port(struct kube_forward *f, const char **at, size_t *len)
{
	int *head = &f->head[f->channel];

	for (; *len && *head < PORT_BYTES; ++*head, ++*at, --*len)
		;
	if (f->channel != CHANNEL_DATA || *head < PORT_BYTES || f->open)
		return;
	f->open = true;
	f->base.ops->drained(f->base.arg);
}

static int on_data(const void *data, size_t len, bool first, bool last,
                   void *arg, struct err *err)
{
	struct kube_forward *f = arg;
	const char *at = data;

	(void)last, (void)err;
	if (first)
		f->channel = -1;
	if (len && f->channel < 0) {
		f->channel = (unsigned char)*at++;
		len--;
	}
	if (!len || f->channel < 0 || f->channel >= CHANNELS)
		return 0;
	skip_port(f, &at, &len);
	if (f->channel == CHANNEL_ERR) {
		size_t room = SAID_MAX - f->said.len;

		buf_add(&f->said, at, len < room ? len : room);
	} else if (len) {
		await_silence(f);
		f->base.ops->output(1, at, len, f->base.arg);
	}
	return 0;
}

static void on_drained(void *arg)
{
	struct kube_forward *f = arg;

	if (f->open)
		f->base.ops->drained(f->base.arg);
}

/* --- requests of the user ------------------------------------------------- */

static char *path_of(const struct kube_pod *pod, uint16_t port)
{
	struct buf path = { 0 };
	char number[8];

	snprintf(number, sizeof(number), "%u", port);
	buf_puts(&path, "/api/v1/namespaces");
	kube_path_name(&path, pod->namespace);
	buf_puts(&path, "/pods");
	kube_path_name(&path, pod->name);
	buf_puts(&path, "/portforward");
	kube_path_query(&path, "ports", number);
	return buf_take(&path);
}

static struct run_exec *forward_open(struct runner *r,
                                     const struct run_exec_wish *wish,
                                     const struct run_exec_ops *ops, void *arg,
                                     struct err *err)
{
	static const struct kube_socket_ops socket_ops = {
		.open = on_open,
		.data = on_data,
		.drained = on_drained,
		.end = on_end,
	};
	struct kube *kube = kube_of(r);
	const struct kube_pod *pod = kube_log_pod_of(kube, wish);
	struct kube_forward *f;
	char *path;

	if (!pod) {
		err_set(err, EAGAIN, "no task %" PRIu32 " of the job runs",
		        wish->task);
		return NULL;
	}
	f = xcalloc(1, sizeof(*f));
	f->kube = kube;
	f->base.ops = ops;
	f->base.arg = arg;
	f->port = wish->port;
	f->over = evtimer_new(kube->base, on_over, f);
	TAILQ_INSERT_TAIL(&kube->forwards.list, f, of_list);
	path = path_of(pod, wish->port);
	f->socket =
	    kube_socket_open(kube->http, path, PROTOCOL, &socket_ops, f);
	free(path);
	return &f->base;
}

/* Let the loop end the connection later, as the caller still uses exec. */
static void forward_close(struct run_exec *exec)
{
	struct kube_forward *f = (void *)exec;

	event_active(f->over, EV_TIMEOUT, 0);
}

static void forward_input(struct run_exec *exec, const void *data, size_t len)
{
	struct kube_forward *f = (void *)exec;

	kube_socket_send(f->socket, CHANNEL_DATA, data, len);
}

static void forward_end_input(struct run_exec *exec)
{
	struct kube_forward *f = (void *)exec;

	f->ends = true;
	await_silence(f);
}

static bool forward_is_full(const struct run_exec *exec)
{
	const struct kube_forward *f = (const void *)exec;

	return kube_socket_is_full(f->socket);
}

static void forward_pause(struct run_exec *exec, bool pause)
{
	struct kube_forward *f = (void *)exec;

	kube_socket_pause(f->socket, pause);
}

const struct runner_exec kube_forward_calls = {
	.open = forward_open,
	.close = forward_close,
	.input = forward_input,
	.end_input = forward_end_input,
	.is_full = forward_is_full,
	.pause = forward_pause,
};
