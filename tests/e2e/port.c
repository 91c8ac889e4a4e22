/*
 * port.c - a server that echoes, and a client, for tests of aictl forward
 *
 *	port serve ADDRESS FILE   listen at a free port, and write its number to
 *	                          FILE
 *	port call PORT            connect to 127.0.0.1:PORT, send our input, and
 *	                          print the answer
 *	port hold PORT            like call, but keep the connection open when
 *	                          our input ends
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static void copy(int from, int to)
{
	static char data[65536];
	ssize_t n;

	while ((n = read(from, data, sizeof(data))) > 0)
		for (ssize_t at = 0, sent; at < n; at += sent)
			if ((sent = write(to, data + at, (size_t)(n - at))) < 0)
				return;
}

static struct addrinfo *address(const char *host, const char *port)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
		                        .ai_flags = AI_NUMERICHOST };
	struct addrinfo *ret;

	if (getaddrinfo(host, port, &hints, &ret))
		errx(EXIT_FAILURE, "no address '%s'", host);
	return ret;
}

static void serve(const char *host, const char *file)
{
	struct addrinfo *at = address(host, "0");
	int fd = socket(at->ai_family, SOCK_STREAM, 0), conn;
	struct sockaddr_storage own = { 0 };
	socklen_t len = sizeof(own);
	char *name;
	FILE *out;

	if (fd < 0 || bind(fd, at->ai_addr, at->ai_addrlen) || listen(fd, 64) ||
	    getsockname(fd, (void *)&own, &len) ||
	    asprintf(&name, "%s.new", file) < 0 || !(out = fopen(name, "w")))
		err(EXIT_FAILURE, "serve");
	fprintf(out, "%u\n",
	        ntohs(own.ss_family == AF_INET
	                  ? ((struct sockaddr_in *)&own)->sin_port
	                  : ((struct sockaddr_in6 *)&own)->sin6_port));
	if (fclose(out) || rename(name, file))
		err(EXIT_FAILURE, "serve");
	signal(SIGCHLD, SIG_IGN);
	while ((conn = accept(fd, NULL, NULL)) >= 0) {
		if (!fork()) {
			copy(conn, conn);
			_exit(EXIT_SUCCESS);
		}
		close(conn);
	}
}

static void call(const char *port, bool ends)
{
	struct addrinfo *at = address("127.0.0.1", port);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	pid_t sender;

	if (fd < 0 || connect(fd, at->ai_addr, at->ai_addrlen))
		err(EXIT_FAILURE, "call");
	sender = fork();
	if (!sender) {
		copy(STDIN_FILENO, fd);
		if (ends)
			shutdown(fd, SHUT_WR);
		_exit(EXIT_SUCCESS);
	}
	copy(fd, STDOUT_FILENO);
	kill(sender, SIGKILL);
	waitpid(sender, NULL, 0);
	freeaddrinfo(at);
}

int main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	if (argc == 4 && !strcmp(argv[1], "serve"))
		serve(argv[2], argv[3]);
	else if (argc == 3 && !strcmp(argv[1], "call"))
		call(argv[2], true);
	else if (argc == 3 && !strcmp(argv[1], "hold"))
		call(argv[2], false);
	else
		errx(EXIT_FAILURE, "unknown words");
	return EXIT_SUCCESS;
}
