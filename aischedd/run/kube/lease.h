/*
 * lease.h - a Lease decides which daemon may act in a cluster
 *
 * The daemon that holds the Lease writes the id of its store there, and renews
 * the Lease regularly. Another daemon may take the Lease only if the Lease has
 * not changed for its leaseDurationSeconds. Each daemon measures this time with
 * its own clock, from the last change that it saw. So clocks need not agree,
 * and a daemon that was suspended finds that it no longer holds the Lease.
 */
#ifndef AISCHEDD_RUN_KUBE_LEASE_H
#define AISCHEDD_RUN_KUBE_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "aischedd/run/kube/client/http.h"
#include "libcommon/buf.h"

struct event_base;
struct kube_lease;

/* Called from the loop when we get the Lease or lose it. */
typedef void kube_lease_fn(void *arg);

/* Strings must live as long as the Lease. Does not fail. */
struct kube_lease *kube_lease_new(struct event_base *base,
                                  struct kube_http *http, const char *namespace,
                                  const char *name, const char *holder,
                                  kube_lease_fn *fn, void *arg);
/* Free the Lease; no callbacks follow. Must be called before http is freed.
 * NULL is allowed. */
void kube_lease_free(struct kube_lease *lease);

/* Returns for how many ms from now on we may act; 0: not at all. */
int64_t kube_lease_left_ms(const struct kube_lease *lease);

/*
 * Send a request that only the holder of the Lease may make. The request fails
 * without being sent if we lose the Lease while the request waits in the queue.
 * path and body are used instead of request->path and request->body, and freed.
 */
void kube_lease_send(const struct kube_lease *lease, struct buf *path,
                     json_t *body, const struct kube_request *request);

/* Returns why we do not hold the Lease, in one sentence; NULL: we hold it, or
 * have not tried yet. */
const char *kube_lease_trouble(const struct kube_lease *lease);

#endif
