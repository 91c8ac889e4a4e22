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

/*
 * Add a report of the program: {"codes": {"200": "3", ...}, "connections": 1,
 * "bad_proxies": 0}. Codes count the answers since its last report, bad_proxies
 * those that refused a user whom a proxy names; connections are those that are
 * open now. Fails with EINVAL, and then adds nothing.
 */
int web_add_answers(struct web *web, const json_t *told, struct err *err);
/* Returns how many had the status web_codes[i], since the daemon began. */
uint64_t web_answered(const struct web *web, size_t i);

/* Returns how many connections the program had when it told last. */
uint64_t web_connections(const struct web *web);
/* Returns how often it refused a user whom a proxy names. */
uint64_t web_bad_proxies(const struct web *web);

#endif
