/*
 * pod_hostile.c - attack aisched-pod, the agent in a pod, for pods.t
 *
 *	pod_hostile ADDRESS PORT HOW [KEY | N]
 *
 * HOW is one of:
 *
 *	types		send a frame of each type with a MAC made with KEY, each
 *			on a connection of its own
 *	words		send something other than a hello
 *	silent		connect N times, print that this is done, and wait until
 *			the agent hangs up
 *	nonsense	prove to have KEY, then send invalid frames
 *
 * Prints how many connections got more than a hello or, with the key, anything
 * but a proof and a refusal.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "libcommon/mem.h"
#include "pod/chan.h"

enum { PATIENCE_MS = 60000 };

static const uint8_t types[] = { POD_PROOF, POD_ASK,   POD_LAUNCH, POD_ORDER,
	                         POD_INPUT, POD_SIZE,  POD_DONE,   POD_ROOM,
	                         POD_TELL,  POD_OUTPUT };
static const char *const words[] = { "\n", "GET / HTTP/1.1\r\n\r\n", "aispod1 ",
	                             "\x16\x03\x01\x02" };
static const struct {
	uint8_t type;
	const char *text;
} nonsense[] = {
	{ POD_ASK, "" },
	{ POD_ASK, "{\"tasks\": -1}" },
	{ POD_LAUNCH, "" },
	{ POD_LAUNCH, "{}" },
	{ POD_INPUT, "x" },
	{ POD_DONE, "" },
	{ POD_ORDER, "{\"stop\": 0}" },
	{ 'Z', "zzz" },
};
static struct sockaddr_in to = { .sin_family = AF_INET };

/* Connect to the agent from an address like that of another pod. */
static int call(void)
{
	struct sockaddr_in from = { .sin_family = AF_INET,
		                    .sin_addr = { htonl(0x7f000002) } };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&from, sizeof(from)) < 0 ||
	    connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		err(EXIT_FAILURE, "connect");
	return fd;
}

/* Returns everything received until the agent hung up. */
static struct buf hear_all(int fd)
{
	struct pollfd p = { fd, POLLIN, 0 };
	struct buf in = { 0 };
	ssize_t n;

	while (poll(&p, 1, PATIENCE_MS) > 0 &&
	       (n = read(fd, buf_room(&in, 4096), 4096)) > 0)
		buf_grew(&in, (size_t)n);
	if (!p.revents)
		errx(EXIT_FAILURE, "it does not hang up");
	close(fd);
	return in;
}

static void say(int fd, const struct buf *out)
{
	if (send(fd, out->data, out->len, MSG_NOSIGNAL) < 0 && errno != EPIPE &&
	    errno != ECONNRESET)
		err(EXIT_FAILURE, "send");
}

static void read_key(const char *hex, uint8_t ret[POD_KEY])
{
	for (size_t i = 0; i < POD_KEY; i++) {
		unsigned byte;

		if (sscanf(hex + 2 * i, "%2x", &byte) != 1)
			errx(EXIT_FAILURE, "bad key");
		ret[i] = (uint8_t)byte;
	}
}

/* Connect and exchange hellos. Returns the connection. */
static int meet(const uint8_t key[POD_KEY], struct pod_chan *chan)
{
	uint8_t hello[POD_HELLO];
	struct pod_frame f;
	int fd = call();

	pod_chan_init(chan, key, true);
	say(fd, &(struct buf){ (char *)chan->hello, POD_HELLO, 0 });
	if (recv(fd, hello, POD_HELLO, MSG_WAITALL) != POD_HELLO ||
	    pod_chan_take(chan, hello, POD_HELLO, &f) != POD_HELLO)
		errx(EXIT_FAILURE, "no hello");
	return fd;
}

static int try_types(const uint8_t key[POD_KEY])
{
	int answered = 0;

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		struct pod_chan chan;
		struct buf out = { 0 }, in;
		int fd = meet(key, &chan);

		pod_chan_put(&chan, &out, types[i], NULL, 0, NULL, 0);
		pod_chan_put(&chan, &out, types[i], "{}", 2, NULL, 0);
		say(fd, &out);
		in = hear_all(fd);
		answered += in.len > 0;
		buf_free(&in);
		buf_free(&out);
	}
	return answered;
}

static int try_words(void)
{
	int answered = 0;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		struct buf in;
		int fd = call();

		say(fd, &(struct buf){ (char *)(uintptr_t)words[i],
		                       strlen(words[i]), 0 });
		in = hear_all(fd);
		answered += in.len > POD_HELLO;
		buf_free(&in);
	}
	return answered;
}

static int try_silence(int n)
{
	int *fd = xcalloc((size_t)n, sizeof(*fd)), answered = 0;

	for (int i = 0; i < n; i++)
		fd[i] = call();
	puts("connected");
	fflush(stdout);
	for (int i = 0; i < n; i++) {
		struct buf in = hear_all(fd[i]);

		answered += in.len > POD_HELLO;
		buf_free(&in);
	}
	free(fd);
	return answered;
}

/* Whether all frames are a proof or a refusal. */
static bool is_refused(struct pod_chan *chan, const struct buf *in)
{
	struct pod_frame f;
	size_t at = 0;
	long n;

	while ((n = pod_chan_take(chan, (uint8_t *)in->data + at, in->len - at,
	                          &f)) > 0) {
		at += (size_t)n;
		if (f.type != POD_PROOF &&
		    (f.type != POD_TELL || !memmem(f.data, f.len, "error", 5)))
			return false;
	}
	return n == 0 && at == in->len;
}

static int try_nonsense(const uint8_t key[POD_KEY])
{
	int answered = 0;

	for (size_t i = 0; i < ARRAY_SIZE(nonsense); i++) {
		struct pod_chan chan;
		struct buf out = { 0 }, in;
		int fd = meet(key, &chan);

		pod_chan_put(&chan, &out, POD_PROOF, NULL, 0, NULL, 0);
		pod_chan_put(&chan, &out, nonsense[i].type, nonsense[i].text,
		             strlen(nonsense[i].text), NULL, 0);
		say(fd, &out);
		shutdown(fd, SHUT_WR);
		in = hear_all(fd);
		answered += !is_refused(&chan, &in);
		buf_free(&in);
		buf_free(&out);
	}
	return answered;
}

int main(int argc, char **argv)
{
	const char *how = argc > 3 ? argv[3] : "";
	uint8_t key[POD_KEY] = { 0 };

	if (argc < 4 || inet_pton(AF_INET, argv[1], &to.sin_addr) != 1)
		errx(EXIT_FAILURE, "usage");
	to.sin_port = htons((uint16_t)strtol(argv[2], NULL, 10));
	if (!strcmp(how, "types") && argc > 4) {
		read_key(argv[4], key);
		printf("%d\n", try_types(key));
	} else if (!strcmp(how, "nonsense") && argc > 4) {
		read_key(argv[4], key);
		printf("%d\n", try_nonsense(key));
	} else if (!strcmp(how, "words")) {
		printf("%d\n", try_words());
	} else if (!strcmp(how, "silent") && argc > 4) {
		printf("%d\n", try_silence((int)strtol(argv[4], NULL, 10)));
	} else {
		errx(EXIT_FAILURE, "usage");
	}
	return EXIT_SUCCESS;
}
