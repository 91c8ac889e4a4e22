/*
 * site.h - what is where: pages, the API, metrics and health
 *
 * Everything but the page itself, metrics and health takes a session. The API
 * only reads: each of its addresses is a request to the daemon, in the name of
 * the session's user.
 */
#ifndef WEB_SITE_H
#define WEB_SITE_H

#include <stdbool.h>
#include <sys/types.h>

#include "web/link.h"

struct site_conf {
	const char *metrics; /* "open", "loopback" or "none" */
	const char
	    *proxy_header;      /* in which a proxy names its user; "": none */
	const char *proxy_uids; /* as whom it may run: ",33,1000,"; "" */
	char **hosts; /* names that the Host header may have besides those of
	                 loopback; NULL-terminated */
};

/* Borrows what conf points to. */
struct site *site_new(struct web_link *link, const struct site_conf *conf);

/* Returns whether a proxy may run as this user. */
bool site_trusts(const struct site *site, uid_t uid);

#endif
