/*
 * curl.h - run libcurl's multi interface on libevent's loop
 *
 * Nothing here blocks: libcurl says on which sockets and times it waits, the
 * loop tells it what has happened, and names are resolved on libcurl's own
 * threads. While libcurl runs a callback for data or headers, no transfer may
 * be added or removed; kube_curl_is_inside() returns true then.
 */
#ifndef AISCHEDD_RUN_KUBE_CLIENT_CURL_H
#define AISCHEDD_RUN_KUBE_CLIENT_CURL_H

#include <curl/curl.h>
#include <stdbool.h>

#include "aischedd/run/kube/client/kubeconfig.h"

struct event_base;
struct kube_curl;

/* Called when a transfer has ended or, with CURLOPT_CONNECT_ONLY, has
 * connected. The transfer must still be removed. */
typedef void kube_curl_fn(CURL *easy, CURLcode code, void *arg);

/* Does not fail. */
struct kube_curl *kube_curl_new(struct event_base *base, kube_curl_fn *fn,
                                void *arg);
void kube_curl_free(
    struct kube_curl *kc); /* All transfers must have been removed. */

void kube_curl_add(struct kube_curl *kc, CURL *easy);
/* Resume a transfer whose write function returned CURL_WRITEFUNC_PAUSE; libcurl
 * may call that function at once. */
void kube_curl_resume(struct kube_curl *kc, CURL *easy);
void kube_curl_remove(struct kube_curl *kc, CURL *easy);
bool kube_curl_is_inside(const struct kube_curl *kc);

/* A transfer, and what must live as long as the transfer. */
struct kube_transfer {
	CURL *easy; /* NULL: there is no transfer */
	struct curl_slist *headers, *connect_to;
	char error[CURL_ERROR_SIZE]; /* libcurl's error message */
};

/*
 * Make a transfer to the server of this configuration. path begins with '/' and
 * may have a query. token, cert and key may be NULL; they are sent over TLS
 * only. All arguments are copied. The caller adds its own options and headers,
 * then sets CURLOPT_HTTPHEADER to t->headers.
 */
void kube_transfer_init(struct kube_transfer *t,
                        const struct kube_config *config, const char *path,
                        const char *token, const char *cert, const char *key);
void kube_transfer_header(struct kube_transfer *t, const char *header);
void kube_transfer_fini(
    struct kube_transfer *t); /* The transfer must have been removed. */

#endif
