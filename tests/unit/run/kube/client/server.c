/* server.c - an API server whose answers the test decides */
#include "tests/unit/run/kube/client/server.h"

#include <arpa/inet.h>
#include <check.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/listener.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sha1.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "aischedd/run/kube/client/file.h"
#include "libcommon/buf.h"
#include "libcommon/mem.h"

struct reply {
	TAILQ_ENTRY(reply) next;
	char *start, *bytes;
	enum reply_then then;
	bool stream;
	struct buf frames; /* sent behind the answer to a WebSocket's key */
	bool socket;
};

struct served {
	TAILQ_ENTRY(served) next;
	struct kube_server *server;
	struct bufferevent *bev;
	bool closing;
};

struct kube_server {
	struct event_base *base;
	struct evconnlistener *listener;
	SSL_CTX *tls;
	char *ca;
	TAILQ_HEAD(, reply) replies;
	TAILQ_HEAD(, served) conns;
	struct served *stream;
	struct buf pushed; /* bytes pushed before the stream's request came */
	size_t nreplies;
	unsigned nrequests, nconns;
	char *head, *body, *user;
};

/* --- certificates --- */

static char *base64(const void *data, size_t len)
{
	unsigned char *out = xmalloc(len / 3 * 4 + 5);

	EVP_EncodeBlock(out, data, (int)len);
	return (char *)out;
}

static char *pem_base64(X509 *cert, EVP_PKEY *key)
{
	BIO *bio = BIO_new(BIO_s_mem());
	char *data, *ret;
	long len;

	if (cert)
		PEM_write_bio_X509(bio, cert);
	else
		PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL);
	len = BIO_get_mem_data(bio, &data);
	ret = base64(data, (size_t)len);
	BIO_free(bio);
	return ret;
}

static X509 *make_cert(const char *name, const char *san, EVP_PKEY *key)
{
	X509 *cert = X509_new();
	X509_NAME *subject = X509_get_subject_name(cert);

	X509_set_version(cert, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
	X509_gmtime_adj(X509_getm_notBefore(cert), -3600);
	X509_gmtime_adj(X509_getm_notAfter(cert), 86400);
	X509_set_pubkey(cert, key);
	X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
	                           (const unsigned char *)name, -1, -1, 0);
	X509_set_issuer_name(cert, subject);
	if (san) {
		X509_EXTENSION *ext =
		    X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, san);

		X509_add_ext(cert, ext, -1);
		X509_EXTENSION_free(ext);
	}
	ck_assert_int_ne(X509_sign(cert, key, EVP_sha256()), 0);
	return cert;
}

void make_client(const char *user, char **ret_cert, char **ret_key)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *cert = make_cert(user, NULL, key);

	*ret_cert = pem_base64(cert, NULL);
	*ret_key = pem_base64(NULL, key);
	X509_free(cert);
	EVP_PKEY_free(key);
}

static int accept_all(int ok, X509_STORE_CTX *ctx)
{
	(void)ok;
	(void)ctx;
	return 1;
}

static void set_tls(struct kube_server *s)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *cert = make_cert(SERVER_NAME, "DNS:" SERVER_NAME, key);

	s->tls = SSL_CTX_new(TLS_server_method());
	SSL_CTX_use_certificate(s->tls, cert);
	SSL_CTX_use_PrivateKey(s->tls, key);
	SSL_CTX_set_verify(s->tls, SSL_VERIFY_PEER, accept_all);
	s->ca = pem_base64(cert, NULL);
	X509_free(cert);
	EVP_PKEY_free(key);
}

static char *user_of(struct bufferevent *bev)
{
	SSL *ssl = bufferevent_openssl_get_ssl(bev);
	X509 *cert = ssl ? SSL_get1_peer_certificate(ssl) : NULL;
	char name[64] = "";

	if (cert)
		X509_NAME_get_text_by_NID(X509_get_subject_name(cert),
		                          NID_commonName, name, sizeof(name));
	X509_free(cert);
	return xstrdup(name);
}

/* --- connections --- */

static void conn_close(struct served *conn)
{
	struct kube_server *s = conn->server;

	TAILQ_REMOVE(&s->conns, conn, next);
	if (s->stream == conn)
		s->stream = NULL;
	bufferevent_free(conn->bev);
	free(conn);
}

static void conn_then(struct served *conn, enum reply_then then)
{
	struct linger linger = { .l_onoff = 1, .l_linger = 0 };

	if (then == THEN_RESET) {
		setsockopt(bufferevent_getfd(conn->bev), SOL_SOCKET, SO_LINGER,
		           &linger, sizeof(linger));
		then = THEN_CLOSE;
	}
	if (then != THEN_CLOSE)
		return;
	conn->closing = true;
	if (!evbuffer_get_length(bufferevent_get_output(conn->bev)))
		conn_close(conn);
}

static struct reply *take_reply(struct kube_server *s)
{
	struct reply *reply;

	TAILQ_FOREACH(reply, &s->replies, next)
		if (!strncmp(s->head, reply->start, strlen(reply->start)))
			break;
	ck_assert_msg(reply, "no reply to %.120s", s->head);
	TAILQ_REMOVE(&s->replies, reply, next);
	s->nreplies--;
	return reply;
}

/* Append the answer to the key in a WebSocket's request. */
static void add_accept(const char *head, struct buf *out)
{
	static const char name[] = "Sec-WebSocket-Key: ";
	const char *key = strstr(head, name);
	uint8_t sum[SHA1_DIGEST_LENGTH];
	struct buf text = { 0 };
	SHA1_CTX ctx;
	char *base64;

	ck_assert_ptr_nonnull(key);
	key += strlen(name);
	buf_add(&text, key, strcspn(key, "\r"));
	buf_puts(&text, "258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
	SHA1Init(&ctx);
	SHA1Update(&ctx, (const uint8_t *)text.data, text.len);
	SHA1Final(sum, &ctx);
	base64 = kube_base64_of(sum, sizeof(sum));
	buf_printf(out, "Sec-WebSocket-Accept: %s\r\n\r\n", base64);
	free(base64);
	buf_free(&text);
}

static void serve_socket(struct served *conn, struct reply *reply)
{
	struct buf out = { 0 };

	add_accept(conn->server->head, &out);
	buf_add(&out, reply->frames.data, reply->frames.len);
	bufferevent_write(conn->bev, out.data, out.len);
	buf_free(&out);
}

static void serve(struct served *conn)
{
	struct kube_server *s = conn->server;
	struct reply *reply = take_reply(s);

	s->nrequests++;
	free(s->user);
	s->user = user_of(conn->bev);
	bufferevent_write(conn->bev, reply->bytes, strlen(reply->bytes));
	if (reply->socket)
		serve_socket(conn, reply);
	if (reply->stream) {
		s->stream = conn;
		if (s->pushed.len)
			bufferevent_write(conn->bev, s->pushed.data,
			                  s->pushed.len);
		buf_clear(&s->pushed);
	}
	conn_then(conn, reply->then);
	free(reply->start);
	free(reply->bytes);
	buf_free(&reply->frames);
	free(reply);
}

/* Take a request from the connection. Returns false if none is complete. */
static bool take_request(struct served *conn)
{
	struct evbuffer *in = bufferevent_get_input(conn->bev);
	struct evbuffer_ptr end = evbuffer_search(in, "\r\n\r\n", 4, NULL);
	struct kube_server *s = conn->server;
	const char *length;
	size_t len, body;
	char *head;

	if (end.pos < 0)
		return false;
	len = (size_t)end.pos + 4;
	head = xcalloc(len + 1, 1);
	evbuffer_copyout(in, head, len);
	length = strcasestr(head, "content-length:");
	body = length ? strtoul(length + 15, NULL, 10) : 0;
	if (evbuffer_get_length(in) < len + body) {
		free(head);
		return false;
	}
	free(s->head);
	free(s->body);
	s->head = head;
	s->body = xcalloc(body + 1, 1);
	evbuffer_drain(in, len);
	evbuffer_remove(in, s->body, body);
	return true;
}

static void on_read(struct bufferevent *bev, void *arg)
{
	struct served *conn = arg;

	(void)bev;
	if (!conn->closing && take_request(conn))
		serve(conn);
}

static void on_written(struct bufferevent *bev, void *arg)
{
	struct served *conn = arg;

	(void)bev;
	if (conn->closing)
		conn_close(conn);
}

static void on_event(struct bufferevent *bev, short what, void *arg)
{
	(void)bev;
	if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
		conn_close(arg);
}

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd,
                      struct sockaddr *addr, int len, void *arg)
{
	struct kube_server *s = arg;
	struct served *conn = xcalloc(1, sizeof(*conn));

	(void)listener;
	(void)addr;
	(void)len;
	conn->server = s;
	if (s->tls)
		conn->bev = bufferevent_openssl_socket_new(
		    s->base, fd, SSL_new(s->tls), BUFFEREVENT_SSL_ACCEPTING,
		    BEV_OPT_CLOSE_ON_FREE);
	else
		conn->bev =
		    bufferevent_socket_new(s->base, fd, BEV_OPT_CLOSE_ON_FREE);
	TAILQ_INSERT_TAIL(&s->conns, conn, next);
	s->nconns++;
	bufferevent_setcb(conn->bev, on_read, on_written, on_event, conn);
	bufferevent_enable(conn->bev, EV_READ | EV_WRITE);
}

/* --- called by tests --- */

struct kube_server *server_new(struct event_base *base, int port, bool tls)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
		                    .sin_port = htons((uint16_t)port),
		                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct kube_server *s = xcalloc(1, sizeof(*s));

	s->base = base;
	TAILQ_INIT(&s->replies);
	TAILQ_INIT(&s->conns);
	if (tls)
		set_tls(s);
	s->listener = evconnlistener_new_bind(
	    base, on_accept, s, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_REUSEABLE, 16,
	    (struct sockaddr *)&addr, sizeof(addr));
	ck_assert_msg(s->listener != NULL, "cannot listen on port %d", port);
	return s;
}

void server_free(struct kube_server *s)
{
	struct reply *reply;
	struct served *conn;

	while ((conn = TAILQ_FIRST(&s->conns)))
		conn_close(conn);
	while ((reply = TAILQ_FIRST(&s->replies))) {
		TAILQ_REMOVE(&s->replies, reply, next);
		free(reply->start);
		free(reply->bytes);
		buf_free(&reply->frames);
		free(reply);
	}
	evconnlistener_free(s->listener);
	SSL_CTX_free(s->tls);
	buf_free(&s->pushed);
	free(s->ca);
	free(s->head);
	free(s->body);
	free(s->user);
	free(s);
}

int server_port(const struct kube_server *s)
{
	struct sockaddr_in addr;
	socklen_t len = sizeof(addr);

	getsockname(evconnlistener_get_fd(s->listener),
	            (struct sockaddr *)&addr, &len);
	return ntohs(addr.sin_port);
}

static struct reply *add_reply(struct kube_server *s, const char *start,
                               char *bytes, enum reply_then then)
{
	struct reply *reply = xcalloc(1, sizeof(*reply));

	reply->start = xstrdup(start);
	reply->bytes = bytes;
	reply->then = then;
	TAILQ_INSERT_TAIL(&s->replies, reply, next);
	s->nreplies++;
	return reply;
}

void server_raw(struct kube_server *s, const char *start, const char *bytes,
                enum reply_then then)
{
	add_reply(s, start, xstrdup(bytes), then);
}

void server_json(struct kube_server *s, const char *start, int code,
                 const char *headers, const char *json)
{
	add_reply(s, start,
	          xasprintf("HTTP/1.1 %d X\r\nContent-Length: %zu\r\n%s\r\n%s",
	                    code, strlen(json), headers, json),
	          THEN_KEEP);
}

void server_socket(struct kube_server *s, const char *start,
                   const char *protocol, const void *bytes, size_t len,
                   enum reply_then then)
{
	struct reply *reply =
	    add_reply(s, start,
	              xasprintf("HTTP/1.1 101 Switching Protocols\r\n"
	                        "Upgrade: websocket\r\n"
	                        "Connection: Upgrade\r\n"
	                        "Sec-WebSocket-Protocol: %s\r\n",
	                        protocol),
	              then);

	reply->socket = true;
	buf_add(&reply->frames, bytes, len);
}

void server_stream(struct kube_server *s, const char *start)
{
	s->stream = NULL; /* later pushes belong to this stream */
	add_reply(s, start,
	          xstrdup("HTTP/1.1 200 OK\r\n"
	                  "Transfer-Encoding: chunked\r\n\r\n"),
	          THEN_KEEP)
	    ->stream = true;
}

void server_push(struct kube_server *s, const char *bytes)
{
	struct buf chunk = { 0 };

	buf_printf(&chunk, "%zx\r\n%s\r\n", strlen(bytes), bytes);
	if (s->stream)
		bufferevent_write(s->stream->bev, chunk.data, chunk.len);
	else
		buf_add(&s->pushed, chunk.data, chunk.len);
	buf_free(&chunk);
}

void server_end(struct kube_server *s, enum reply_then then)
{
	struct served *conn = s->stream;

	ck_assert_ptr_nonnull(conn);
	s->stream = NULL;
	if (then == THEN_KEEP)
		bufferevent_write(conn->bev, "0\r\n\r\n", 5);
	conn_then(conn, then);
}

const char *server_ca(const struct kube_server *s)
{
	return s->ca;
}

unsigned server_requests(const struct kube_server *s)
{
	return s->nrequests;
}

unsigned server_connections(const struct kube_server *s)
{
	return s->nconns;
}

size_t server_waiting(const struct kube_server *s)
{
	return s->nreplies;
}

const char *server_head(const struct kube_server *s)
{
	return s->head;
}

const char *server_body(const struct kube_server *s)
{
	return s->body;
}

const char *server_user(const struct kube_server *s)
{
	return s->user;
}
