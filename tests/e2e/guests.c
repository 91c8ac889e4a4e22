/*
 * guests.c - open connections to the web page that no browser would, for web.t
 *
 *	guests PORT hold N	open N connections that say nothing, print how
 *				many were opened, and keep them until stdin ends
 *	guests PORT slow N	the same, each sending a byte of a header when
 *				it can; ends when the last one was closed
 *	guests PORT stall N	the same, each asking for the page and reading
 *				nothing
 *	guests PORT few N	open N connections that say nothing, wait until
 *				all but the newest 32 are closed, then ask on
 *				those; print how many are answered
 *	guests PORT raw		send stdin, print what comes back
 */
#include <arpa/inet.h>
#include <err.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST = 1000, FEW = 32, EXIT_TROUBLE = 2 };

static struct pollfd guest[MOST];

static int come(int port, int room)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		                  .sin_port = htons((uint16_t)port),
		                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (room)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	if (fd < 0 || connect(fd, (struct sockaddr *)&in, sizeof(in)) < 0)
		err(EXIT_TROUBLE, "connect");
	return fd;
}

static void say(int fd, const char *text)
{
	if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
		return; /* it was closed; poll() reports that */
}

static int raw(int port)
{
	int fd = come(port, 0);
	char bytes[65536];
	ssize_t n;

	while ((n = read(STDIN_FILENO, bytes, sizeof(bytes))) > 0)
		if (send(fd, bytes, (size_t)n, MSG_NOSIGNAL) < n)
			break;
	shutdown(fd, SHUT_WR);
	while ((n = read(fd, bytes, sizeof(bytes))) > 0)
		fwrite(bytes, 1, (size_t)n, stdout);
	return 0;
}

static int open_guests(int n)
{
	int open = 0;
	char byte;

	poll(guest, (nfds_t)n, 500);
	for (int i = 0; i < n; i++) {
		if (guest[i].revents & (POLLHUP | POLLERR) ||
		    recv(guest[i].fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0)
			guest[i].fd = -1;
		open += guest[i].fd >= 0;
	}
	return open;
}

/* Send a byte on each connection every half second, so that none is silent and
 * no request is ever complete. */
static void be_slow(int n)
{
	while (open_guests(n))
		for (int i = 0; i < n; i++)
			if (guest[i].fd >= 0)
				say(guest[i].fd, "x");
}

/* Send the requests on the 32 connections without a pause: the server also
 * closes these if they are silent for long. */
static void be_few(int n)
{
	int answered = 0;
	char byte;

	for (int i = 0; i < n - FEW; i++)
		if (recv(guest[i].fd, &byte, 1, 0) > 0)
			errx(EXIT_TROUBLE, "somebody was answered unasked");
	for (int i = n > FEW ? n - FEW : 0; i < n; i++)
		say(guest[i].fd,
		    "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
	for (int i = n > FEW ? n - FEW : 0; i < n; i++)
		answered += recv(guest[i].fd, &byte, 1, 0) == 1;
	printf("%d\n", answered);
}

int main(int argc, char **argv)
{
	int port = argc > 2 ? (int)strtol(argv[1], NULL, 10) : 0;
	int n = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 0;
	const char *how = argc > 2 ? argv[2] : "";
	char end;

	if (!strcmp(how, "raw"))
		return raw(port);
	if (n < 1 || n > MOST)
		errx(EXIT_TROUBLE, "hold, slow, stall, few or raw is expected");
	for (int i = 0; i < n; i++) {
		guest[i].fd = come(port, strcmp(how, "stall") ? 0 : 2048);
		guest[i].events = POLLIN;
		if (!strcmp(how, "slow"))
			say(guest[i].fd, "GET / HTTP/1.1\r\nX-Slow: ");
		if (!strcmp(how, "stall"))
			say(guest[i].fd,
			    "GET /app.js HTTP/1.1\r\nHost: localhost\r\n\r\n");
	}
	if (!strcmp(how, "few")) {
		be_few(n);
		return 0;
	}
	printf("%d\n", n);
	fflush(stdout);
	if (!strcmp(how, "slow"))
		be_slow(n);
	else if (read(STDIN_FILENO, &end, 1) < 0)
		return EXIT_TROUBLE;
	return 0;
}
