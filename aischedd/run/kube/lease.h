/*
 * lease.h - one daemon acts in a cluster: a Lease says which
 *
 * It is held by the id of a store.  Whoever holds it renews it; whoever does
 * not waits until it has not changed for as long as it says.  Time is this
 * process's own, since it last saw a change: clocks need not agree, and a
 * process that slept finds that it no longer holds it.
 */
#ifndef AISCHEDD_RUN_KUBE_LEASE_H
#define AISCHEDD_RUN_KUBE_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "aischedd/run/kube/client/http.h"
#include "libcommon/buf.h"

struct event_base;
struct kube_lease;

/* It is held now, or no longer; from the loop. */
typedef void kube_lease_fn(void *arg);

/* Texts are borrowed for as long as it lives.  Cannot fail. */
struct kube_lease *kube_lease_new(struct event_base *base,
                                  struct kube_http *http, const char *namespace,
                                  const char *name, const char *holder,
                                  kube_lease_fn *fn, void *arg);
/* Before the http, which then calls nobody back.  NULL is fine. */
void kube_lease_free(struct kube_lease *lease);

/* For how long we may act, at this very moment; 0: not at all. */
int64_t kube_lease_left_ms(const struct kube_lease *lease);

/*
 * Send what only its holder may: what has not gone out when it is lost never
 * does.  path and body are in place of those of the request, and are taken.
 */
void kube_lease_send(const struct kube_lease *lease, struct buf *path,
                     json_t *body, const struct kube_request *request);

/* Why it is not held, one sentence; NULL: it is, or it was not tried yet. */
const char *kube_lease_trouble(const struct kube_lease *lease);

#endif
