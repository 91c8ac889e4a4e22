/*
 * ask.c - one request as it is, for tests
 *
 *	ask '{"op": "status"}' [<RAW]
 *	ask --ops
 *
 * Prints the answer, or "refused: TEXT" and exits with 1.  --ops prints each
 * request and the least role that it takes.
 */
#include <err.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libcommon/buf.h"
#include "libcommon/client.h"
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
	return 0;
}

static int ask(const char *text)
{
	json_error_t e;
	json_t *body = json_loads(text, 0, &e), *answer;
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
	if (argc != 2)
		errx(EXIT_USAGE, "one request is expected");
	if (!strcmp(argv[1], "--ops")) {
		print_ops();
		return EXIT_SUCCESS;
	}
	return ask(argv[1]);
}
