/*
 * serve.h - HTTP on the listening sockets inherited from the daemon
 */
#ifndef WEB_SERVE_H
#define WEB_SERVE_H

#include "libcommon/err.h"

struct event_base;
struct site;

enum {
	SERVE_GUESTS = 512,   /* connections */
	SERVE_ADDRESS = 32,   /* connections from one address */
	SERVE_PROXY = 256,    /* connections from a proxy, for all its users */
	SERVE_SEND_MS = 30000 /* time to read an answer */
};

/* Serve on a listening socket; if it is a Unix socket, it is for a proxy. */
int serve_start(struct site *site, struct event_base *base, int fd,
                struct err *err);

#endif
