/*
 * ask.c - send one request unchanged, for tests
 *
 *	ask '{"op": "status"}' [<RAW]
 *	ask @FILE [<RAW]
 *	ask --ops
 *	ask --actions
 *	ask --notified SOCKET
 *
 * Prints the answer, or "refused: TEXT" and exits with 1. --ops prints the name
 * of each request with the least role that may make it, --actions those of the
 * actions of "control". --notified listens on SOCKET in place of systemd and
 * prints a daemon's first notification.
 */
#include <err.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "libcommon/buf.h"
#include "libcommon/client/client.h"
#include "libcommon/msg.h"

static void print_ops(void)
{
	static const char *const roles[] = { "nobody", "user", "operator",
		                             "admin" };

	for (int op = 0; op < OP_N; op++)
		printf("%s %s\n", op_name((enum op)op),
		       roles[op_role((enum op)op)]);
}

static void read_raw(struct buf *raw)
{
	ssize_t n;

	while ((n = read(STDIN_FILENO, buf_room(raw, 65536), 65536)) > 0)
		buf_grew(raw, (size_t)n);
}

static int print_part(const void *data, size_t len, void *arg)
{
	(void)arg;
	fwrite(data, 1, len, stdout);
	fflush(stdout);
	return 0;
}

static int notified(const char *path)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char text[256];
	ssize_t n;

	snprintf(un.sun_path, sizeof(un.sun_path), "%s", path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&un, sizeof(un)) < 0)
		err(EXIT_FAILURE, "%s", path);
	n = recv(fd, text, sizeof(text), 0);
	close(fd);
	printf("%.*s\n", n > 0 ? (int)n : 0, text);
	return EXIT_SUCCESS;
}

static int ask(const char *text)
{
	json_error_t e;
	json_t *body = *text == '@' ? json_load_file(text + 1, 0, &e)
	                            : json_loads(text, 0, &e);
	json_t *answer;
	struct buf raw = { 0 };
	struct client *client;
	struct err why;
	int status = EXIT_SUCCESS;

	if (!body)
		errx(EXIT_USAGE, "%s: %s", text, e.text);
	read_raw(&raw);
	client = client_open(NULL, &why);
	if (!client)
		errx(EXIT_FAILURE, "%s", why.text);
	answer = client_call(client, body, raw.data, raw.len, print_part, NULL,
	                     &why);
	if (answer) {
		json_dumpf(answer, stdout, JSON_COMPACT);
		putchar('\n');
	} else {
		printf("refused: %s\n", why.text);
		status = EXIT_FAILURE;
	}
	json_decref(answer);
	json_decref(body);
	client_close(client);
	buf_free(&raw);
	return status;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "--notified"))
		return notified(argv[2]);
	if (argc != 2)
		errx(EXIT_USAGE, "one request is expected");
	if (!strcmp(argv[1], "--ops")) {
		print_ops();
		return EXIT_SUCCESS;
	}
	if (!strcmp(argv[1], "--actions")) {
		for (int i = 0; i < ACTION_N; i++)
			puts(action_name((enum action)i));
		return EXIT_SUCCESS;
	}
	return ask(argv[1]);
}
