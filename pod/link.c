/* link.c - a non-blocking connection between pods */
#include "pod/link.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CHUNK = 65536, IDLE_S = 15, ASK_S = 5, ASKS = 3 };

/* Use keepalive, to notice if the other machine has gone without closing
 * the connection. */
static void watch_over(int fd)
{
	static const struct {
		int level, option, value;
	} options[] = { { SOL_SOCKET, SO_KEEPALIVE, 1 },
		        { IPPROTO_TCP, TCP_KEEPIDLE, IDLE_S },
		        { IPPROTO_TCP, TCP_KEEPINTVL, ASK_S },
		        { IPPROTO_TCP, TCP_KEEPCNT, ASKS },
		        { IPPROTO_TCP, TCP_USER_TIMEOUT,
		          1000 * (IDLE_S + ASK_S * ASKS) },
		        { IPPROTO_TCP, TCP_NODELAY, 1 } };

	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
		setsockopt(fd, options[i].level, options[i].option,
		           &options[i].value, sizeof(options[i].value));
}

void pod_link_init(struct pod_link *link, int fd, const uint8_t key[POD_KEY],
                   bool client)
{
	*link = (struct pod_link){ .fd = fd };
	fcntl(fd, F_SETFL, O_NONBLOCK);
	watch_over(fd);
	pod_chan_init(&link->chan, key, client);
	buf_add(&link->out, link->chan.hello, POD_HELLO);
	pod_link_flush(link);
}

void pod_link_close(struct pod_link *link)
{
	if (link->fd >= 0)
		close(link->fd);
	link->fd = -1;
}

void pod_link_fini(struct pod_link *link)
{
	pod_link_close(link);
	buf_free(&link->in);
	buf_free(&link->out);
}

bool pod_link_read(struct pod_link *link)
{
	ssize_t n = link->fd < 0 ? 0
	                         : recv(link->fd, buf_room(&link->in, CHUNK),
	                                CHUNK, MSG_DONTWAIT);

	if (n > 0)
		buf_grew(&link->in, (size_t)n);
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

static void drop_done(struct pod_link *link)
{
	size_t left = link->in.len - link->in_at;

	if (!link->in_at)
		return;
	memmove(link->in.data, link->in.data + link->in_at, left);
	link->in.len = left;
	link->in_at = 0;
}

bool pod_link_next(struct pod_link *link, struct pod_frame *ret)
{
	long n;

	do {
		n = link->in.data
		        ? pod_chan_take(&link->chan,
		                        (const uint8_t *)link->in.data +
		                            link->in_at,
		                        link->in.len - link->in_at, ret)
		        : 0;
		if (n > 0)
			link->in_at += (size_t)n;
		if (n > 0 && !ret->type && link->chan.client)
			pod_link_put(link, POD_PROOF, NULL, 0, NULL, 0);
	} while (n > 0 && !ret->type);
	if (n > 0)
		return true;
	if (n < 0)
		pod_link_close(link);
	drop_done(link);
	return false;
}

void pod_link_put(struct pod_link *link, uint8_t type, const void *head,
                  size_t head_len, const void *data, size_t len)
{
	if (link->fd < 0)
		return;
	pod_chan_put(&link->chan, &link->out, type, head, head_len, data, len);
	pod_link_flush(link);
}

void pod_link_tell(struct pod_link *link, uint8_t type, json_t *obj)
{
	char *text = json_dumps(obj, JSON_COMPACT);

	if (text)
		pod_link_put(link, type, text, strlen(text), NULL, 0);
	free(text);
	json_decref(obj);
}

json_t *pod_link_json(const struct pod_frame *frame)
{
	return json_loadb((const char *)frame->data, frame->len,
	                  JSON_REJECT_DUPLICATES, NULL);
}

size_t pod_link_unsent(const struct pod_link *link)
{
	return link->out.len - link->out_at;
}

void pod_link_flush(struct pod_link *link)
{
	while (link->fd >= 0 && pod_link_unsent(link)) {
		ssize_t n =
		    send(link->fd, link->out.data + link->out_at,
		         pod_link_unsent(link), MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n > 0)
			link->out_at += (size_t)n;
		else if (errno != EINTR && errno != EAGAIN)
			pod_link_close(link);
		else if (errno == EAGAIN)
			break;
	}
	if (!pod_link_unsent(link)) {
		buf_clear(&link->out);
		link->out_at = 0;
	} else if (link->out_at > POD_LINK_FULL) {
		size_t left = pod_link_unsent(link);

		memmove(link->out.data, link->out.data + link->out_at, left);
		link->out.len = left;
		link->out_at = 0;
	}
}
