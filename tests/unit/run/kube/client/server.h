/*
 * server.h - an API server whose answers the test decides
 *
 * It runs on the test's own event loop, on a free loopback port. A test queues
 * replies. Each request takes the first reply that was queued for it, and fails
 * the test if there is none.
 */
#ifndef TESTS_UNIT_RUN_KUBE_CLIENT_SERVER_H
#define TESTS_UNIT_RUN_KUBE_CLIENT_SERVER_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>

/* The name in the server's certificate, which has no IP address. */
#define SERVER_NAME "kube.test"

enum reply_then {
	THEN_KEEP,   /* keep the connection */
	THEN_CLOSE,  /* close the connection properly */
	THEN_RESET,  /* close it with an RST */
	THEN_SILENCE /* keep it, and send nothing */
};

struct kube_server;

/* Listen on this port, or on a free one if it is 0; tls: serve HTTPS. */
struct kube_server *server_new(struct event_base *base, int port, bool tls);
/* stop listening, close all connections */
void server_free(struct kube_server *s);
int server_port(const struct kube_server *s);

/* Returns the server's certificate as in a kubeconfig: base64 of PEM. */
const char *server_ca(const struct kube_server *s);

/* Make a user's certificate and key as base64 of PEM, which the caller
 * frees. */
void make_client(const char *user, char **ret_cert, char **ret_key);

/* Queue these bytes as the reply to a request whose first line begins with
 * start, as in "GET /api/v1/nodes?". */
void server_raw(struct kube_server *s, const char *start, const char *bytes,
                enum reply_then then);

/* Queue a reply with this status, these headers ("" or "Name: x\r\n") and JSON
 * as its body; the Content-Length is added. */
void server_json(struct kube_server *s, const char *start, int code,
                 const char *headers, const char *json);

/* Queue the reply that turns the connection into a WebSocket, followed by these
 * bytes. */
void server_socket(struct kube_server *s, const char *start,
                   const char *protocol, const void *bytes, size_t len,
                   enum reply_then then);

/* Queue the head of a chunked reply. server_push() then sends pieces of its
 * body, and server_end() ends it. */
void server_stream(struct kube_server *s, const char *start);
void server_push(struct kube_server *s, const char *bytes);
void server_end(struct kube_server *s,
                enum reply_then then); /* THEN_KEEP: the body is complete */

/* Each returns a number: of requests so far, of connections so far, of replies
 * that are still queued. */
unsigned server_requests(const struct kube_server *s);
unsigned server_connections(const struct kube_server *s);
size_t server_waiting(const struct kube_server *s);

/* Each returns a part of the last request: its head, its body, the user of its
 * certificate ("": none). */
const char *server_head(const struct kube_server *s);
const char *server_body(const struct kube_server *s);
const char *server_user(const struct kube_server *s);

#endif
