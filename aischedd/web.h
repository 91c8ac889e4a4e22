/*
 * web.h - start the web program, and start it again when it ends
 *
 * The daemon listens, and passes its sockets and one end of a socket pair
 * (rpc_add_web()) to the program, which gives up its privileges before it reads
 * a byte. When the program ends, it is started again: at first after a second,
 * later after up to a minute. It ends when the daemon ends.
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

/* Returns the address of the page, as in "http://127.0.0.1:7118/", or NULL if
 * only a proxy can reach it. */
const char *web_url(const struct web *web);

/* Statuses by which answers are counted; the last one is "other". */
extern const char *const web_codes[];
extern const size_t web_ncodes;

/*
 * Add a report of the program: {"codes": {"200": "3", ...}, "connections": 1,
 * "bad_proxies": 0}. codes: number of answers since the previous report, by
 * status; connections: number of open ones; bad_proxies: answers since the
 * previous report that refused a user named by a proxy. Adds nothing if it
 * fails, with EINVAL.
 */
int web_add_answers(struct web *web, const json_t *told, struct err *err);
/* Returns how many answers had the status web_codes[i] since the
 * daemon started. */
uint64_t web_answered(const struct web *web, size_t i);

/* Returns how many connections the program had according to its last report. */
uint64_t web_connections(const struct web *web);
/* Returns how many requests of a proxy were refused because of the
 * user named. */
uint64_t web_bad_proxies(const struct web *web);

#endif
