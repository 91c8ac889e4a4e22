/* exec.c - run a command in the container of a pod */
#include "aischedd/run/kube/exec/exec.h"

#include <errno.h>
#include <event2/event.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/client/path.h"
#include "aischedd/run/kube/client/socket.h"
#include "aischedd/run/kube/client/split.h"
#include "aischedd/run/kube/kube.h"
#include "libcommon/mem.h"

#define PROTOCOL_5 "v5.channel.k8s.io"
#define PROTOCOL_4 "v4.channel.k8s.io"

enum channel {
	CHANNEL_IN,
	CHANNEL_OUT,
	CHANNEL_ERR,
	CHANNEL_STATUS,
	CHANNEL_SIZE,
	CHANNEL_CLOSE = 255 /* since v5.channel.k8s.io */
};

enum {
	STATUS_MAX = 65536,
	/* how long to wait for the last output after the exit status */
	LINGER_S = 5
};

struct kube_exec {
	const struct kube_exec_ops *ops;
	void *arg;
	struct kube_socket *socket;
	struct event *linger;
	bool closes; /* the protocol can tell the server that input has ended */
	int channel; /* channel of the message that is being read */
	struct buf status;
};

static void exec_free(struct kube_exec *e)
{
	event_free(e->linger);
	buf_free(&e->status);
	free(e);
}

void kube_exec_close(struct kube_exec *e)
{
	kube_socket_close(e->socket);
	exec_free(e);
}

/* --- end of the command --------------------------------------------------- */

/* Returns the command's exit status from the Status that reports its failure;
 * -1 if it has none. */
static int exit_code(const json_t *status)
{
	const json_t *causes, *cause;
	size_t i;

	causes = json_object_get(json_object_get(status, "details"), "causes");
	json_array_foreach(causes, i, cause) {
		const char *why =
		    json_string_value(json_object_get(cause, "reason"));
		const char *code =
		    json_string_value(json_object_get(cause, "message"));

		if (why && code && !strcmp(why, "ExitCode"))
			return (int)(strtol(code, NULL, 10) & 0xff);
	}
	return -1;
}

/* Returns the exit status of the command from the Status that the server sent,
 * or -1 with *err set. */
static int read_status(const struct kube_exec *e, struct err *err)
{
	json_t *body = kube_parse(e->status.data, e->status.len, NULL);
	const char *is = json_string_value(json_object_get(body, "status"));
	const char *why = json_string_value(json_object_get(body, "message"));
	int code = is && !strcmp(is, "Success") ? 0 : exit_code(body);

	if (code < 0)
		err_set(err, EIO, "%s",
		        why && *why ? why : "the node does not say why");
	json_decref(body);
	return code;
}

static void on_end(const struct err *why, void *arg)
{
	struct kube_exec *e = arg;
	const struct kube_exec_ops *ops = e->ops;
	void *to = e->arg;
	struct err err;
	int code = -1;

	if (e->status.len)
		code = read_status(e, &err);
	else if (why)
		err = *why;
	else
		err_set(&err, ECONNRESET,
		        "the node has closed the connection: how the command "
		        "ended is not known");
	exec_free(e);
	ops->end(code, code < 0 ? &err : NULL, to);
}

/* Close the connection, as the server has sent the exit status but does not
 * close it. */
static void on_linger(evutil_socket_t fd, short what, void *arg)
{
	struct kube_exec *e = arg;

	(void)fd, (void)what;
	kube_socket_close(e->socket);
	on_end(NULL, e);
}

/* --- messages of the server ----------------------------------------------- */

static void on_open(const char *protocol, void *arg)
{
	struct kube_exec *e = arg;

	e->closes = !strcmp(protocol, PROTOCOL_5);
	e->ops->drained(e->arg);
}

static int take_status(struct kube_exec *e, const char *data, size_t len,
                       bool last, struct err *err)
{
	if (len > STATUS_MAX - e->status.len)
		return err_set(err, EMSGSIZE, "a status larger than %d KiB",
		               STATUS_MAX >> 10);
	buf_add(&e->status, data, len);
	if (last)
		event_add(e->linger, &(struct timeval){ .tv_sec = LINGER_S });
	return 0;
}

static int on_data(const void *data, size_t len, bool first, bool last,
                   void *arg, struct err *err)
{
	struct kube_exec *e = arg;
	const uint8_t *from = data;

	if (first)
		e->channel = -1;
	if (len && e->channel < 0) {
		e->channel = *from++;
		len--;
	}
	if (e->channel == CHANNEL_STATUS)
		return take_status(e, (const char *)from, len, last, err);
	if (len && (e->channel == CHANNEL_OUT || e->channel == CHANNEL_ERR))
		e->ops->output(e->channel, from, len, e->arg);
	return 0;
}

static void on_drained(void *arg)
{
	struct kube_exec *e = arg;

	e->ops->drained(e->arg);
}

/* --- messages to the server ----------------------------------------------- */

static char *path_of(const struct kube_exec_wish *wish)
{
	struct buf path = { 0 };

	buf_puts(&path, "/api/v1/namespaces");
	kube_path_name(&path, wish->namespace);
	buf_puts(&path, "/pods");
	kube_path_name(&path, wish->pod);
	buf_puts(&path, "/exec");
	kube_path_query(&path, "container", wish->container);
	kube_path_query(&path, "stdout", "true");
	if (wish->input)
		kube_path_query(&path, "stdin", "true");
	/* With a terminal, the command has no separate stderr. */
	kube_path_query(&path, wish->tty ? "tty" : "stderr", "true");
	for (const char *const *word = wish->argv; *word; word++)
		kube_path_query(&path, "command", *word);
	return buf_take(&path);
}

struct kube_exec *kube_exec_open(struct kube *kube,
                                 const struct kube_exec_wish *wish,
                                 const struct kube_exec_ops *ops, void *arg)
{
	static const struct kube_socket_ops socket_ops = {
		.open = on_open,
		.data = on_data,
		.drained = on_drained,
		.end = on_end,
	};
	struct kube_exec *e = xcalloc(1, sizeof(*e));
	char *path = path_of(wish);

	e->ops = ops;
	e->arg = arg;
	e->linger = evtimer_new(kube->base, on_linger, e);
	e->socket = kube_socket_open(
	    kube->http, path, PROTOCOL_5 ", " PROTOCOL_4, &socket_ops, e);
	free(path);
	return e;
}

void kube_exec_input(struct kube_exec *e, const void *data, size_t len)
{
	kube_socket_send(e->socket, CHANNEL_IN, data, len);
}

void kube_exec_end_input(struct kube_exec *e)
{
	static const char in[] = { CHANNEL_IN };

	if (e->closes)
		kube_socket_send(e->socket, CHANNEL_CLOSE, in, sizeof(in));
}

void kube_exec_resize(struct kube_exec *e, uint16_t rows, uint16_t columns)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "{\"Width\":%u,\"Height\":%u}",
	                 columns, rows);

	kube_socket_send(e->socket, CHANNEL_SIZE, text, (size_t)n);
}

bool kube_exec_is_full(const struct kube_exec *e)
{
	return kube_socket_is_full(e->socket);
}

void kube_exec_pause(struct kube_exec *e, bool pause)
{
	kube_socket_pause(e->socket, pause);
}
