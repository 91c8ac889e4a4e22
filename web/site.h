/*
 * site.h - what is where: pages, the API, metrics and health
 *
 * Everything but the page itself, metrics and health takes a session. The API
 * only reads: each of its addresses is a request to the daemon, in the name of
 * the session's user.
 */
#ifndef WEB_SITE_H
#define WEB_SITE_H

#include "web/link.h"

/* metrics: "open", "loopback" or "none"; hosts: names that the Host header may
 * have besides those of loopback; NULL-terminated. */
struct site *site_new(struct web_link *link, const char *metrics, char **hosts);

#endif
