/*
 * who.h - get the credentials of calls from a kubeconfig or a program
 */
#ifndef AISCHEDD_RUN_KUBE_CLIENT_WHO_H
#define AISCHEDD_RUN_KUBE_CLIENT_WHO_H

#include <stdbool.h>
#include <stdint.h>

struct kube_http;

/* Renew the credentials, because the server rejected a call. badge: the value
 * of http->badge when the call was sent; if http->badge has changed since, the
 * credentials have been renewed, and nothing is done. */
void kube_who_renew(struct kube_http *http, uint64_t badge);

/* Whether there are credentials and a configuration with which a call can be
 * sent now. If not, begins to get them. now: of clock_boot_ms(). */
bool kube_who_is_ready(struct kube_http *http, int64_t now);

#endif
