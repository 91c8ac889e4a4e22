/* curl.c - run libcurl's multi interface on libevent's loop */
#include "aischedd/run/kube/client/curl.h"

#include <assert.h>
#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "config.h"
#include "libcommon/mem.h"

enum {
	CONNECT_MS = 10000,
	/* close a connection that has been idle for this long; servers close
	 * it after 90 s */
	IDLE_S = 60
};

/* A socket of libcurl, and the events it waits for. */
struct sock {
	LIST_ENTRY(sock) next;
	struct event *ev;
};

struct kube_curl {
	struct event_base *base;
	CURLM *multi;
	struct event *timer;
	LIST_HEAD(, sock) socks;
	kube_curl_fn *fn;
	void *arg;
	bool inside, ending;
};

static void tell_ended(struct kube_curl *kc)
{
	CURLMsg *msg;
	int left;

	while ((msg = curl_multi_info_read(kc->multi, &left))) {
		CURL *easy = msg->easy_handle;
		CURLcode code = msg->data.result;

		if (msg->msg != CURLMSG_DONE)
			continue;
		kc->fn(easy, code, kc->arg);
	}
}

static void act(struct kube_curl *kc, curl_socket_t fd, int flags)
{
	int running;

	kc->inside = true;
	curl_multi_socket_action(kc->multi, fd, flags, &running);
	kc->inside = false;
	tell_ended(kc);
}

static void on_socket(evutil_socket_t fd, short what, void *arg)
{
	act(arg, fd,
	    (what & EV_READ ? CURL_CSELECT_IN : 0) |
	        (what & EV_WRITE ? CURL_CSELECT_OUT : 0));
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	act(arg, CURL_SOCKET_TIMEOUT, 0);
}

static void sock_free(struct sock *sock)
{
	LIST_REMOVE(sock, next);
	event_free(sock->ev);
	free(sock);
}

static int want_socket(CURL *easy, curl_socket_t fd, int what, void *arg,
                       void *sockp)
{
	struct kube_curl *kc = arg;
	struct sock *sock = sockp;
	short events = EV_PERSIST;

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		if (sock)
			sock_free(sock);
		curl_multi_assign(kc->multi, fd, NULL);
		return 0;
	}
	if (what & CURL_POLL_IN)
		events |= EV_READ;
	if (what & CURL_POLL_OUT)
		events |= EV_WRITE;
	if (sock) {
		event_free(sock->ev);
	} else {
		sock = xcalloc(1, sizeof(*sock));
		LIST_INSERT_HEAD(&kc->socks, sock, next);
		curl_multi_assign(kc->multi, fd, sock);
	}
	sock->ev = event_new(kc->base, fd, events, on_socket, kc);
	event_add(sock->ev, NULL);
	return 0;
}

static int want_timer(CURLM *multi, long ms, void *arg)
{
	struct kube_curl *kc = arg;

	(void)multi;
	if (ms < 0)
		evtimer_del(kc->timer);
	else
		event_add(kc->timer,
		          &(struct timeval){ .tv_sec = ms / 1000,
		                             .tv_usec = ms % 1000 * 1000 });
	return 0;
}

struct kube_curl *kube_curl_new(struct event_base *base, kube_curl_fn *fn,
                                void *arg)
{
	struct kube_curl *kc = xcalloc(1, sizeof(*kc));

	/* Let sending to a closed connection fail with EPIPE, instead of
	 * killing the daemon. */
	signal(SIGPIPE, SIG_IGN);
	curl_global_init(CURL_GLOBAL_DEFAULT);
	kc->base = base;
	kc->fn = fn;
	kc->arg = arg;
	kc->multi = curl_multi_init();
	if (!kc->multi)
		abort(); /* out of memory */
	kc->timer = evtimer_new(base, on_timer, kc);
	LIST_INIT(&kc->socks);
	curl_multi_setopt(kc->multi, CURLMOPT_SOCKETFUNCTION, want_socket);
	curl_multi_setopt(kc->multi, CURLMOPT_SOCKETDATA, kc);
	curl_multi_setopt(kc->multi, CURLMOPT_TIMERFUNCTION, want_timer);
	curl_multi_setopt(kc->multi, CURLMOPT_TIMERDATA, kc);
	curl_multi_setopt(kc->multi, CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
	/* Set a high limit, because it includes connections in use, and many
	 * calls may follow logs. */
	curl_multi_setopt(kc->multi, CURLMOPT_MAXCONNECTS, 4096L);
	return kc;
}

void kube_curl_free(struct kube_curl *kc)
{
	struct sock *sock;

	if (!kc)
		return;
	assert(!kc->inside);
	curl_multi_cleanup(kc->multi);
	while ((sock = LIST_FIRST(&kc->socks)))
		sock_free(sock);
	event_free(kc->timer);
	free(kc);
	curl_global_cleanup();
}

void kube_curl_add(struct kube_curl *kc, CURL *easy)
{
	CURLMcode code;

	assert(!kc->inside);
	code = curl_multi_add_handle(kc->multi, easy);
	assert(code == CURLM_OK);
}

void kube_curl_remove(struct kube_curl *kc, CURL *easy)
{
	assert(!kc->inside);
	curl_multi_remove_handle(kc->multi, easy);
}

void kube_curl_resume(struct kube_curl *kc, CURL *easy)
{
	assert(!kc->inside);
	kc->inside = true;
	curl_easy_pause(easy, CURLPAUSE_CONT);
	kc->inside = false;
}

bool kube_curl_is_inside(const struct kube_curl *kc)
{
	return kc->inside;
}

/* --- set up a transfer --- */

static bool is_loopback(const char *host)
{
	return !strcmp(host, "localhost") || !strncmp(host, "127.", 4) ||
	       !strcmp(host, "[::1]");
}

/* Set the proxy of the kubeconfig. Let a SOCKS proxy resolve the names of
 * hosts, as Go's client (and so kubectl) does. */
static void set_proxy(CURL *easy, const struct kube_config *c)
{
	static const char socks[] = "socks5://";
	char *remote;

	if (!c->proxy) {
		/* Ignore the proxy that the environment names if the server is
		 * on this machine, or if the daemon runs in its cluster. */
		if (c->in_pod || is_loopback(c->host))
			curl_easy_setopt(easy, CURLOPT_PROXY, "");
		return;
	}
	if (strncmp(c->proxy, socks, strlen(socks))) {
		curl_easy_setopt(easy, CURLOPT_PROXY, c->proxy);
		return;
	}
	remote = xasprintf("socks5h://%s", c->proxy + strlen(socks));
	curl_easy_setopt(easy, CURLOPT_PROXY, remote);
	free(remote);
}

static void set_blob(CURL *easy, CURLoption option, const char *text)
{
	struct curl_blob blob = { .data = (void *)(uintptr_t)text,
		                  .len = strlen(text),
		                  .flags = CURL_BLOB_COPY };

	curl_easy_setopt(easy, option, &blob);
}

static void set_tls(CURL *easy, const struct kube_config *c, const char *cert,
                    const char *key)
{
	curl_easy_setopt(easy, CURLOPT_SSLVERSION,
	                 (long)CURL_SSLVERSION_TLSv1_2);
	/* Do not also trust the system's folder of CAs, which libcurl would
	 * search in addition to the CA set below. */
	curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
	if (c->insecure) {
		curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
		curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
	} else if (c->ca) {
		set_blob(easy, CURLOPT_CAINFO_BLOB, c->ca);
	}
	if (!cert)
		return;
	set_blob(easy, CURLOPT_SSLCERT_BLOB, cert);
	set_blob(easy, CURLOPT_SSLKEY_BLOB, key);
	curl_easy_setopt(easy, CURLOPT_SSLCERTTYPE, "PEM");
	curl_easy_setopt(easy, CURLOPT_SSLKEYTYPE, "PEM");
}

void kube_transfer_header(struct kube_transfer *t, const char *header)
{
	struct curl_slist *longer = curl_slist_append(t->headers, header);

	if (!longer)
		abort(); /* out of memory */
	t->headers = longer;
}

/*
 * Set the URL of the request. libcurl checks that the server's certificate is
 * for the name in the URL. If the kubeconfig says that the certificate has
 * another name (tls_name), put tls_name into the URL, and make libcurl connect
 * to the server's real address.
 */
static void set_server(struct kube_transfer *t, const struct kube_config *c,
                       const char *path)
{
	char *url = xasprintf("%s://%s:%s%s%s", c->tls ? "https" : "http",
	                      c->tls_name ? c->tls_name : c->host, c->port,
	                      c->prefix, path);

	curl_easy_setopt(t->easy, CURLOPT_URL, url);
	free(url);
	if (!c->tls_name)
		return;
	url = xasprintf("::%s:%s", c->host, c->port);
	t->connect_to = curl_slist_append(NULL, url);
	curl_easy_setopt(t->easy, CURLOPT_CONNECT_TO, t->connect_to);
	free(url);
	url = xasprintf("Host: %s:%s", c->host, c->port);
	kube_transfer_header(t, url);
	free(url);
}

void kube_transfer_init(struct kube_transfer *t,
                        const struct kube_config *config, const char *path,
                        const char *token, const char *cert, const char *key)
{
	CURL *easy = curl_easy_init();
	char *header;

	if (!easy)
		abort(); /* out of memory */
	*t = (struct kube_transfer){ .easy = easy };
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, t->error);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	/* Removing a transfer must not block until its name look-up ends. */
	curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	/* HTTP/1.1 has one request at a time on a connection, so a slow reader
	 * does not delay other requests, and a dead connection fails only
	 * one. */
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION,
	                 (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
	curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, (long)IDLE_S);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, 30L);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, 10L);
	curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	curl_easy_setopt(easy, CURLOPT_USERAGENT, PACKAGE "/" VERSION);
	set_server(t, config, path);
	set_proxy(easy, config);
	if (!config->tls)
		return;
	set_tls(easy, config, cert, key);
	if (!token)
		return;
	header = xasprintf("Authorization: Bearer %s", token);
	kube_transfer_header(t, header);
	free(header);
}

void kube_transfer_fini(struct kube_transfer *t)
{
	curl_easy_cleanup(t->easy);
	curl_slist_free_all(t->headers);
	curl_slist_free_all(t->connect_to);
	*t = (struct kube_transfer){ .easy = NULL };
}
