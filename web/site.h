/*
 * site.h - answer requests by path: the page, the API, metrics and health
 *
 * Everything but the page itself, metrics and health needs a session. The API
 * only reads; each of its paths is answered by a request to the daemon in the
 * name of the session's user.
 */
#ifndef WEB_SITE_H
#define WEB_SITE_H

#include <stdbool.h>
#include <sys/types.h>

#include "web/link.h"

struct site_conf {
	const char *metrics; /* "open", "loopback" or "none" */
	const char
	    /* header in which a proxy names the user; "": none */
	    *proxy_header;
	/* Uids of processes that may be the proxy, as ",33,1000,"; or "". */
	const char *proxy_uids;
	char **hosts; /* names that the Host header may have besides those of
	                 loopback; NULL-terminated */
};

/* conf must outlive the site. */
struct site *site_new(struct web_link *link, const struct site_conf *conf);

/* Count an answer, and say how many connections there are, for the metrics.
 * site_tell() reports new counts to the daemon, and is to be called
 * periodically. */
void site_count(struct site *site, unsigned status);
void site_set_connections(struct site *site, size_t n);
void site_tell(struct site *site);

/* Returns whether a process of this user may be the proxy. */
bool site_trusts(const struct site *site, uid_t uid);

#endif
