/*
 * fuzz_frame.c - send the input to the RPC server as an unauthenticated client
 *
 * The first byte chooses where the rest is cut into two pieces, and whether the
 * connection uses TCP. There is no munged, so every credential is refused and
 * only a ping can reach the handler.
 */
#include <assert.h>
#include <event2/event.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "aischedd/rpc/conn.h"
#include "tests/fuzz/fuzz.h"

enum { MOST = 16 * 1024 }; /* fits into the socket's buffer */

static struct conns all;
static char cluster[] = "fuzz";
static size_t pings;

static void handle(struct ask *ask, const struct request_in *in, void *arg)
{
	(void)arg;
	assert(in->op == OP_ping && !in->peer->known && !in->raw_len);
	assert(json_is_object(in->body));
	rpc_reply(ask, json_object());
	pings++;
}

static void forget(struct ask *ask, void *arg)
{
	(void)ask;
	(void)arg;
}

static void set_up(void)
{
	if (all.base)
		return;
	conns_init(&all);
	all.base = event_base_new();
	all.workers = workers_new(all.base, "/nonexistent", NULL);
	all.cluster = cluster;
	all.calls = (struct rpc_calls){ .handler = handle, .gone = forget };
	all.limits =
	    (struct rpc_limits){ 10000, 10000, 10000, 10000, 1 << 20, 0, 0 };
}

/* A frame head that is accepted must be encoded to the same bytes again. */
static void check_head(const unsigned char *data, size_t size)
{
	unsigned char again[WIRE_HEAD];
	struct frame_head head;

	if (size < WIRE_HEAD || frame_head_get(&head, data, NULL) < 0)
		return;
	frame_head_put(again, &head);
	assert(!memcmp(again, data, WIRE_HEAD));
}

/* Check that the server has sent a hello, then answers in order: at most one to
 * a ping, and at most one refusal, after which it closes the connection. */
static void check_answers(int fd)
{
	static unsigned char out[1 << 20];
	uint32_t seq = 0;
	size_t n = 0, at = 0, good = 0;
	ssize_t got;

	while ((got = recv(fd, out + n, sizeof(out) - n, 0)) > 0)
		n += (size_t)got;
	while (at < n) {
		struct frame_head head;

		assert(n - at >= WIRE_HEAD);
		assert(!frame_head_get(&head, out + at, NULL));
		at += WIRE_HEAD;
		assert(head.cred_len == 0 && head.raw_len == 0);
		assert(n - at >= head.json_len && head.json_len >= 2);
		if (seq == 0 && head.seq == 0)
			assert(head.kind == FRAME_HELLO);
		else
			assert(head.kind == FRAME_REPLY && head.seq == ++seq);
		good += head.json_len == 2;
		at += head.json_len;
	}
	assert(good == pings);
}

/* Whether the server has kept the connection open. The connection must not
 * count as authenticated. */
static bool is_open(void)
{
	assert(!all.nknown);
	return all.strangers[0].n || all.strangers[1].n;
}

static void feed(int fd, const uint8_t *data, size_t size)
{
	if (size)
		assert(send(fd, data, size, MSG_NOSIGNAL) == (ssize_t)size);
	event_base_loop(all.base, EVLOOP_NONBLOCK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t first;
	int fd[2];

	if (size < 1 || size > MOST)
		return 0;
	set_up();
	check_head(data + 1, size - 1);
	first = (size - 1) * (data[0] >> 1) / 128;
	assert(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd));
	pings = 0;
	conn_new(&all, fd[0], data[0] & 1, 0);
	feed(fd[1], data + 1, first);
	if (is_open())
		feed(fd[1], data + 1 + first, size - 1 - first);
	shutdown(fd[1], SHUT_WR);
	while (is_open())
		event_base_loop(all.base, EVLOOP_ONCE);
	assert(all.body_bytes == 0);
	check_answers(fd[1]);
	close(fd[1]);
	return 0;
}
