/*
 * curl.h - libcurl's multi interface on the loop
 *
 * Nothing here waits: libcurl says which sockets and times it watches, the loop
 * tells it what happened, names are resolved on libcurl's own threads. During
 * callbacks of libcurl (data, headers) its handles may not be added or removed;
 * kube_curl_is_inside() tells.
 */
#ifndef AISCHEDD_RUN_KUBE_CLIENT_CURL_H
#define AISCHEDD_RUN_KUBE_CLIENT_CURL_H

#include <curl/curl.h>
#include <stdbool.h>

#include "aischedd/run/kube/client/kubeconfig.h"

struct event_base;
struct kube_curl;

/* Called when a transfer has ended, or, if it is to connect only, has
 * connected. It is still added. */
typedef void kube_curl_fn(CURL *easy, CURLcode code, void *arg);

/* Does not fail. */
struct kube_curl *kube_curl_new(struct event_base *base, kube_curl_fn *fn,
                                void *arg);
void kube_curl_free(
    struct kube_curl *kc); /* all transfers must be removed before */

void kube_curl_add(struct kube_curl *kc, CURL *easy);
/* Resume a transfer whose write function returned CURL_WRITEFUNC_PAUSE; libcurl
 * may call that function at once. */
void kube_curl_resume(struct kube_curl *kc, CURL *easy);
void kube_curl_remove(struct kube_curl *kc, CURL *easy);
bool kube_curl_is_inside(const struct kube_curl *kc);

/* One transfer, and what must live as long as it. */
struct kube_transfer {
	CURL *easy; /* NULL: none */
	struct curl_slist *headers, *connect_to;
	char error[CURL_ERROR_SIZE]; /* libcurl's message on the error */
};

/*
 * Make a transfer to this server; path begins with '/' and may have a query.
 * The credentials may be NULL; they are sent over TLS only. All arguments are
 * copied. The caller adds its options, then the headers are set.
 */
void kube_transfer_init(struct kube_transfer *t,
                        const struct kube_config *config, const char *path,
                        const char *token, const char *cert, const char *key);
void kube_transfer_header(struct kube_transfer *t, const char *header);
void kube_transfer_fini(
    struct kube_transfer *t); /* call it only when removed */

#endif
