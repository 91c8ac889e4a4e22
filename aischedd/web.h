/*
 * web.h - start the web program, and start it again
 *
 * The daemon listens, and hands its sockets over with one end of a socket pair
 * (rpc_add_web()); the program gives up its privileges before it reads a byte.
 * When it ends it is started again: first after a second, later after up to a
 * minute. It ends when the daemon does.
 */
#ifndef AISCHEDD_WEB_H
#define AISCHEDD_WEB_H

#include "aischedd/daemon.h"
#include "aischedd/session.h"

struct web;

/* Returns NULL without an error if the configuration has neither http nor
 * http_socket. Fails as listen_tcp() and listen_unix(), or with ENOENT if there
 * is no such program, user or group. */
int web_new(struct web **ret, struct daemon *d, struct err *err);
void web_free(struct web *web); /* NULL is allowed */

/* Returns where the page is: "http://127.0.0.1:7118/", or NULL if it is behind
 * a proxy only. */
const char *web_url(const struct web *web);

/* Statuses that answers are counted by; the last is "other". */
extern const char *const web_codes[];
extern const size_t web_ncodes;

/* Add the counts, {"200": "3", ...}, of answers that the program has given
 * since its last report. Fails with EINVAL, and then adds nothing. */
int web_add_answers(struct web *web, const json_t *codes, struct err *err);
/* Returns how many had the status web_codes[i], since the daemon began. */
uint64_t web_answered(const struct web *web, size_t i);

#endif
