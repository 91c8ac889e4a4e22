/* test_local_port.c - the shepherd looks for ports beside its other work */
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/run/local/world.h"

/* Open three million files, so that looking at all of them takes seconds. */
#define MANY_FILES                                               \
	"#!/bin/bash\n"                                          \
	"ulimit -n 15100 || exec echo not here >pipe\n"          \
	"for ((i = 0; i < 15000; i++)); do exec {f}</dev/null; " \
	"done 2>/dev/null\n"                                     \
	"for ((i = 0; i < 200; i++)); do sleep 1000 & done\n"    \
	"echo ready >pipe; wait"

/* Listen at a port of this machine that is not the job's. */
static int listen_somewhere(uint16_t *ret_port)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&at, len), 0);
	ck_assert_int_eq(listen(fd, 1), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	*ret_port = ntohs(at.sin_port);
	return fd;
}

static void ask_port(int conn, uint16_t port, const char *expected)
{
	char text[512];
	ssize_t n;
	int len = snprintf(text, sizeof(text), "P%u", port);

	ck_assert_int_eq(send(conn, text, (size_t)len, 0), len);
	n = recv(conn, text, sizeof(text) - 1, 0);
	ck_assert_int_gt(n, 0);
	text[n] = '\0';
	ck_assert_msg(glob_match(expected, text), "%s", text);
}

LOCAL_TEST(a_search_that_takes_too_long_is_ended)
{
	uint16_t port;
	int listens = listen_somewhere(&port), conn;

	lw_make_pipe(w, "pipe");
	lw_start(w, JOB(.script = MANY_FILES));
	lw_expect(w, RUN_STARTED, 1);
	if (strcmp(lw_hear(w, "pipe"), "ready\n") == 0) {
		conn = lw_connect_steps(w);
		ask_port(conn, port,
		         "*it takes too long to look for port * in the job*");
		close(conn);
	}
	lw_stop(w, 1, STOP_CANCEL, 0);
	lw_expect(w, RUN_ENDED, 1);
	close(listens);
}

LOCAL_TEST(a_port_of_others_is_refused)
{
	uint16_t port;
	int listens = listen_somewhere(&port), conn;

	lw_start_ready(w, JOB(.script = "echo ready >pipe; exec sleep 1000"));
	conn = lw_connect_steps(w);
	ask_port(conn, port, "*port * is not the job's*");
	close(conn);
	lw_stop(w, 1, STOP_CANCEL, 0);
	lw_expect(w, RUN_ENDED, 1);
	close(listens);
}

SUITE(local_port)
{
	/* In one mode only, as it takes seconds. */
	tcase_add_loop_test(tc, a_search_that_takes_too_long_is_ended,
	                    LOCAL_SELF, LOCAL_SELF + 1);
	tcase_add_loop_test(tc, a_port_of_others_is_refused, 0, LOCAL_MODES);
}
