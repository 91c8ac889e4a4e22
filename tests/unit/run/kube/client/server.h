/*
 * server.h - an API server that says what a test tells it to
 *
 * It lives on the test's own loop, on a free loopback port.  A test lines up
 * replies; each request takes the first one that is meant for it and fails the
 * test when there is none.
 */
#ifndef TESTS_UNIT_RUN_KUBE_CLIENT_SERVER_H
#define TESTS_UNIT_RUN_KUBE_CLIENT_SERVER_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>

/* The name in its certificate; the address is not. */
#define SERVER_NAME "kube.test"

enum reply_then {
	THEN_KEEP,   /* the connection goes on */
	THEN_CLOSE,  /* properly */
	THEN_RESET,  /* with an RST */
	THEN_SILENCE /* it stays open, and nothing comes */
};

struct kube_server;

/* On port, or any free one when it is 0; with TLS when tls is true. */
struct kube_server *server_new(struct event_base *base, int port, bool tls);
void server_free(struct kube_server *s); /* stops listening, closes all */
int server_port(const struct kube_server *s);

/* Its certificate as the kubeconfig has it: base64 of PEM. */
const char *server_ca(const struct kube_server *s);

/* A certificate of a user and its key, base64 of PEM; heap strings. */
void make_client(const char *user, char **ret_cert, char **ret_key);

/* What a request that begins with start ("GET /api/v1/nodes?") gets: bytes as
 * they are. */
void server_raw(struct kube_server *s, const char *start, const char *bytes,
                enum reply_then then);

/* The same, with status line and length; headers: "" or "Name: x\r\n". */
void server_json(struct kube_server *s, const char *start, int code,
                 const char *headers, const char *json);

/* The head of a chunked answer; what is in it follows by server_push(). */
void server_stream(struct kube_server *s, const char *start);
void server_push(struct kube_server *s, const char *bytes);
void server_end(struct kube_server *s, enum reply_then then); /* KEEP: whole */

/* What was asked so far. */
unsigned server_requests(const struct kube_server *s);
unsigned server_connections(const struct kube_server *s);
size_t server_waiting(const struct kube_server *s); /* replies left */

/* The last request: all of its head, its body, the user of its certificate
 * ("" for none). */
const char *server_head(const struct kube_server *s);
const char *server_body(const struct kube_server *s);
const char *server_user(const struct kube_server *s);

#endif
