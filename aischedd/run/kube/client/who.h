/*
 * who.h - as whom calls go out: configuration and credentials
 */
#ifndef AISCHEDD_RUN_KUBE_CLIENT_WHO_H
#define AISCHEDD_RUN_KUBE_CLIENT_WHO_H

#include <stdbool.h>
#include <stdint.h>

struct kube_http;

/* The server does not accept what calls with that badge identified with. */
void kube_who_renew(struct kube_http *http, uint64_t badge);

/* Whether a call can go out now; if not, what is missing is on its way. */
bool kube_who_is_ready(struct kube_http *http, int64_t now);

#endif
