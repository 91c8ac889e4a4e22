/*
 * client.h - the tools' end of a connection
 *
 * Blocking; each request has a credential of its own, except those that anybody
 * may make (ping). On a Unix socket the path is trusted: whoever may write to
 * its folder can answer. Over TCP the daemon's answers carry credentials, too:
 * its uid must be root's, the caller's, or that of the user in
 * $AISCHED_DAEMON_USER.
 */
#ifndef LIBCOMMON_CLIENT_CLIENT_H
#define LIBCOMMON_CLIENT_CLIENT_H

#include <jansson.h>
#include <stddef.h>

#include "libcommon/err.h"

struct client;

/*
 * Connect. address: a path, "host:port", "tcp://host:port"; NULL:
 * $AISCHED_SOCKET, else conf_default_socket() if it exists, else the system's.
 * Returns after the daemon's hello. Fails with ECONNREFUSED or ENOENT (no
 * daemon; the text says what to do), ETIMEDOUT, EPROTONOSUPPORT, EACCES
 * (another user owns the default socket).
 */
struct client *client_open(const char *address, struct err *err);
void client_close(struct client *client); /* NULL is allowed */

/* Called for each part of an answer as it arrives; if it returns -1, reading
 * stops, and the connection can only be closed. */
typedef int client_part_fn(const void *data, size_t len, void *arg);

/*
 * Send req (borrowed) with raw bytes beside it and wait for the answer; part
 * may be NULL if none are expected. An answer that is late, but not one to wait
 * or log, is told once on stderr. Owns: the caller, the answer. Fails with
 * the code and text of the daemon's refusal; ECONNRESET if the answer was lost
 * (ask again with the same token), EAGAIN if munged cannot be reached, EACCES
 * if the answer is not from the daemon.
 */
json_t *client_call(struct client *client, json_t *req, const void *raw,
                    size_t raw_len, client_part_fn *part, void *arg,
                    struct err *err);

/* client_call() in two steps, for many requests in flight: send without
 * waiting, then take the answers in order. (Over TCP a ping must be alone.) */
int client_send(struct client *client, json_t *req, const void *raw,
                size_t raw_len, struct err *err);
json_t *client_recv(struct client *client, client_part_fn *part, void *arg,
                    struct err *err);

/* Returns the connection's descriptor, for poll(); the client keeps it. */
int client_fd(const struct client *client);

#endif
