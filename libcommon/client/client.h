/*
 * client.h - a tool's connection to the daemon
 *
 * The functions block. Each request has a credential of its own, except
 * requests that anybody may make (ping). On a Unix socket the path is trusted:
 * whoever can write to its folder could pretend to be the daemon. Over TCP the
 * daemon's answers carry credentials, too. The uid in these credentials must be
 * that of root, of the caller, or of the user in $AISCHED_DAEMON_USER.
 */
#ifndef LIBCOMMON_CLIENT_CLIENT_H
#define LIBCOMMON_CLIENT_CLIENT_H

#include <jansson.h>
#include <stddef.h>

#include "libcommon/err.h"

struct client;

/*
 * Connect, and wait for the daemon's hello. address is a path, "host:port" or
 * "tcp://host:port"; if it is NULL, that in $AISCHED_SOCKET, or else
 * conf_default_socket() if it exists, or else system_socket. Fails with
 * ECONNREFUSED or ENOENT (no daemon; the text says what to do), ETIMEDOUT,
 * EPROTONOSUPPORT, EACCES (another user owns the default socket).
 */
struct client *client_open(const char *address, struct err *err);
void client_close(struct client *client); /* NULL is allowed */

/* Called for each part of an answer as it arrives. If it returns -1, the call
 * fails, and the connection can only be closed. */
typedef int client_part_fn(const void *data, size_t len, void *arg);

/*
 * Send req, which the caller keeps, with raw bytes beside it, and wait for the
 * answer, which the caller must json_decref(). `part` may be NULL if no parts
 * are expected. If the answer is late, print a warning to stderr, unless the
 * request waits for a job or a command. Fails with the code and text of the
 * daemon's refusal; ECONNRESET if the answer was lost (ask again with the same
 * token), EAGAIN if munged cannot be reached, EACCES if the answer is not from
 * the daemon, EINVAL if req is NULL: jansson packs no text that is not UTF-8.
 */
json_t *client_call(struct client *client, json_t *req, const void *raw,
                    size_t raw_len, client_part_fn *part, void *arg,
                    struct err *err);

/* client_call() in two steps, to have several requests in flight: send them
 * without waiting, then receive the answers in the same order. (Over TCP, a
 * ping must not be sent while another request is in flight.) */
int client_send(struct client *client, json_t *req, const void *raw,
                size_t raw_len, struct err *err);
json_t *client_recv(struct client *client, client_part_fn *part, void *arg,
                    struct err *err);

/* Clean all texts of an answer (see text_clean()), before they are printed. */
void answer_clean(json_t *answer);

/* Returns the descriptor of the connection, for poll(); it must not
 * be closed. */
int client_fd(const struct client *client);

#endif
