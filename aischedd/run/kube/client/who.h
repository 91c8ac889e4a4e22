/*
 * who.h - the credentials of calls: configuration, plugin
 */
#ifndef AISCHEDD_RUN_KUBE_CLIENT_WHO_H
#define AISCHEDD_RUN_KUBE_CLIENT_WHO_H

#include <stdbool.h>
#include <stdint.h>

struct kube_http;

/* Renew the credentials that had this badge, which the server rejected. */
void kube_who_renew(struct kube_http *http, uint64_t badge);

/* Whether a call can go out now; if not, obtains what is missing. */
bool kube_who_is_ready(struct kube_http *http, int64_t now);

#endif
