/*
 * client.h - the tools' side of a connection
 *
 * Blocking; each request has a credential of its own, except those that
 * anybody may make (ping).  Who answers on a Unix socket is whoever may write
 * to its folder: the path is what is trusted.  Over TCP the daemon's answers
 * carry credentials too: its uid must be root's, the caller's, or that of
 * the user $AISCHED_DAEMON_USER names.
 */
#ifndef LIBCOMMON_CLIENT_H
#define LIBCOMMON_CLIENT_H

#include <jansson.h>
#include <stddef.h>

#include "libcommon/err.h"

struct client;

/*
 * address: a path, "host:port", "tcp://host:port"; NULL: $AISCHED_SOCKET,
 * else conf_default_socket() when it exists, else the system's.  Does not
 * return before the daemon's hello.
 * Fails: ECONNREFUSED, ENOENT (no daemon; the text says what to do),
 * ETIMEDOUT, EPROTONOSUPPORT, EACCES (the default socket is a stranger's).
 */
struct client *client_open(const char *address, struct err *err);
void client_close(struct client *client); /* NULL is fine */

/* Called for each part of an answer, as it arrives; -1 stops reading, and
 * the connection is then good for nothing but client_close(). */
typedef int client_part_fn(const void *data, size_t len, void *arg);

/*
 * Send req (borrowed) with raw bytes beside it and wait for the answer; part
 * may be NULL when none are expected.  Owns: the answer is the caller's.
 * Fails: the daemon's refusal with its code and text; ECONNRESET when the
 * answer was lost (ask again with the same token), EAGAIN munge is down,
 * EACCES the answer is not from the daemon.
 */
json_t *client_call(struct client *client, json_t *req, const void *raw,
                    size_t raw_len, client_part_fn *part, void *arg,
                    struct err *err);

/* client_call() in several steps, for many requests in flight: send without
 * waiting, then take the answers in order.  (Over TCP a ping goes alone.) */
int client_send(struct client *client, json_t *req, const void *raw,
                size_t raw_len, struct err *err);
json_t *client_recv(struct client *client, client_part_fn *part, void *arg,
                    struct err *err);

/* The connection's descriptor, for poll(); the client keeps it. */
int client_fd(const struct client *client);

#endif
