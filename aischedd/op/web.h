/*
 * web.h - sessions of users on the web page
 */
#ifndef AISCHEDD_OP_WEB_H
#define AISCHEDD_OP_WEB_H

#include "aischedd/daemon.h"

/* Returns the user whose session this cookie names, or NULL; the caller frees
 * it. arg is the daemon. See rpc_add_web(). */
struct peer *daemon_session(const char *cookie, size_t len, void *arg);

#endif
