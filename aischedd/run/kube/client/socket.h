/*
 * socket.h - a WebSocket to the API server, for commands in pods and
 * connections to them
 *
 * A call as in http.h opens the socket. It waits its turn and has the same
 * credentials as other calls, but is not repeated. The socket has a connection
 * of its own. Little is buffered: a message is passed on in parts as they
 * arrive, nothing is read while the socket is paused, and senders must check
 * kube_socket_is_full().
 */
#ifndef AISCHEDD_RUN_KUBE_CLIENT_SOCKET_H
#define AISCHEDD_RUN_KUBE_CLIENT_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/err.h"

struct kube_http;
struct kube_socket;

struct kube_socket_ops {
	/* The socket is open; the server has chosen this subprotocol. */
	void (*open)(const char *protocol, void *arg);
	/* Called for each part of a message; first, last: it is the first or
	 * the last one. The first byte of a message is its channel. Returning
	 * -1 with *err set ends the socket. */
	int (*data)(const void *data, size_t len, bool first, bool last,
	            void *arg, struct err *err);
	/* The socket is no longer full. Also called when all data has been
	 * sent. */
	void (*drained)(void *arg);
	/* The server has refused the socket, or the connection is over; err
	 * NULL: the server has closed it. The socket is freed after this
	 * call. */
	void (*end)(const struct err *err, void *arg);
};

/* Open a socket. protocols: subprotocols offered to the server, "a, b". Does
 * not fail; the functions of ops are called from the loop. */
struct kube_socket *kube_socket_open(struct kube_http *http, const char *path,
                                     const char *protocols,
                                     const struct kube_socket_ops *ops,
                                     void *arg);

/* Close the socket without a call of end(). The functions of ops may call
 * this. */
void kube_socket_close(struct kube_socket *s);

/* Send a message. Ignored while the socket is not open. */
void kube_socket_send(struct kube_socket *s, uint8_t channel, const void *data,
                      size_t len);
bool kube_socket_is_full(const struct kube_socket *s);
void kube_socket_pause(struct kube_socket *s, bool pause);

/* --- for call.c ----------------------------------------------------------- */

struct kube_call;

/* Connect, for the try that the socket's call has prepared. */
void kube_socket_dial(struct kube_socket *s);
/* End that try. The transfer still belongs to the call. */
void kube_socket_hang_up(struct kube_socket *s);

#endif
