/* socket.c - a WebSocket to the API server, for commands in pods */
#include "aischedd/run/kube/client/socket.h"

#include <ctype.h>
#include <errno.h>
#include <event2/event.h>
#include <sha1.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "aischedd/run/kube/client/file.h"
#include "aischedd/run/kube/client/frame.h"
#include "aischedd/run/kube/client/http_priv.h"
#include "aischedd/run/kube/client/outcome.h"
#include "libcommon/mem.h"

enum {
	OPEN_MS = 30000, /* limit for connecting and the handshake */
	PIECE = 16384,
	FULL = 65536, /* unsent bytes at which kube_socket_is_full() */
	MAX_HEAD = 65536,
	MAX_REFUSAL = 1 << 20,
	SWITCHING = 101
};

struct kube_socket {
	struct kube_http *http;
	const struct kube_socket_ops *ops;
	void *arg;
	char *protocols;
	struct kube_call *call; /* the opening call; NULL: the socket is open */
	/* A libcurl handle for this connection only. In the pool of the other
	 * calls, libcurl might take the connection for idle and close it. */
	struct kube_curl *curl;
	/* taken from `call` when the socket opens */
	struct kube_transfer transfer;
	CURLcode code; /* the result of connecting */
	struct event *wake, *in, *out;
	char *key;      /* Sec-WebSocket-Key of the handshake */
	struct buf got; /* the server's answer to the handshake */
	size_t body; /* where the answer's body begins in `got`; 0: its headers
	                are incomplete */
	struct buf message, unsent;
	struct kube_frames frames;
	bool paused, busy, closed, over;
};

/* --- open and close ------------------------------------------------------- */

static CURL *easy_of(const struct kube_socket *s)
{
	return s->call ? s->call->transfer.easy : s->transfer.easy;
}

static void event_drop(struct event **ev)
{
	if (*ev)
		event_free(*ev);
	*ev = NULL;
}

void kube_socket_hang_up(struct kube_socket *s)
{
	event_drop(&s->wake);
	event_drop(&s->in);
	event_drop(&s->out);
	if (s->curl) {
		kube_curl_remove(s->curl, easy_of(s));
		kube_curl_free(s->curl);
	}
	s->curl = NULL;
	free(s->key);
	s->key = NULL;
	s->body = 0;
	buf_free(&s->got);
	buf_free(&s->unsent);
}

static void socket_free(struct kube_socket *s)
{
	struct kube_call *call = s->call;

	kube_socket_hang_up(s);
	if (call) {
		call->socket = NULL;
		kube_http_cancel(call);
	} else if (s->transfer.easy) {
		kube_transfer_fini(&s->transfer);
	}
	buf_free(&s->message);
	free(s->protocols);
	free(s);
}

void kube_socket_close(struct kube_socket *s)
{
	s->closed = true;
	if (!s->busy)
		socket_free(s);
}

/* Tell the user of the socket that it has ended. err: NULL if the server closed
 * it. The caller frees the socket when its callbacks have returned. */
static void end(struct kube_socket *s, const struct err *err)
{
	if (s->closed)
		return;
	s->closed = true;
	s->ops->end(err, s->arg);
}

/* End the socket, as the opening call has ended without a WebSocket: the server
 * refused it or could not be reached. */
static void on_done(const struct kube_answer *answer, void *arg)
{
	struct kube_socket *s = arg;
	struct err err;

	err_set(&err, EPROTO, "the API server did not change the protocol");
	s->call->socket = NULL;
	s->call = NULL;
	end(s, answer->err ? answer->err : &err);
	if (!s->busy)
		socket_free(s);
}

struct kube_socket *kube_socket_open(struct kube_http *http, const char *path,
                                     const char *protocols,
                                     const struct kube_socket_ops *ops,
                                     void *arg)
{
	struct kube_socket *s = xcalloc(1, sizeof(*s));

	s->http = http;
	s->ops = ops;
	s->arg = arg;
	s->protocols = xstrdup(protocols);
	s->call =
	    kube_http_send(http, &(struct kube_request){ .method = KUBE_GET,
	                                                 .rank = KUBE_READ,
	                                                 .path = path,
	                                                 .deadline_ms = OPEN_MS,
	                                                 .once = true,
	                                                 .silence_ms = OPEN_MS,
	                                                 .relayed = true,
	                                                 .done = on_done,
	                                                 .arg = s });
	s->call->socket = s;
	return s;
}

/* --- sending -------------------------------------------------------------- */

static void fail(struct kube_socket *s, const char *why)
{
	struct kube_call *call = s->call;
	struct err err;

	s->over = true;
	if (call) {
		kube_call_heard(call);
		snprintf(call->transfer.error, sizeof(call->transfer.error),
		         "%s", why);
		kube_socket_hang_up(s);
		kube_outcome_tried(call, CURLE_RECV_ERROR);
		return;
	}
	err_set(&err, ECONNRESET, "the connection to the API server broke: %s",
	        why);
	end(s, &err);
}

static void flush(struct kube_socket *s)
{
	CURLcode code = CURLE_OK;
	size_t at = 0, n;

	while (at < s->unsent.len) {
		code = curl_easy_send(easy_of(s), s->unsent.data + at,
		                      s->unsent.len - at, &n);
		if (code != CURLE_OK)
			break;
		at += n;
	}
	if (at) {
		memmove(s->unsent.data, s->unsent.data + at,
		        s->unsent.len - at);
		s->unsent.len -= at;
	}
	if (code != CURLE_OK && code != CURLE_AGAIN)
		fail(s, curl_easy_strerror(code));
	else if (s->unsent.len)
		event_add(s->out, NULL);
}

static void add_frame(struct kube_socket *s, enum kube_opcode opcode,
                      const void *data, size_t len)
{
	uint8_t mask[4];

	/* The mask need not be secret: it only keeps proxies from taking the
	 * data for HTTP. */
	if (getrandom(mask, sizeof(mask), GRND_NONBLOCK) < 0)
		memset(mask, 0, sizeof(mask));
	kube_frame_add(&s->unsent, opcode, mask, data, len);
	event_add(s->out, NULL);
}

void kube_socket_send(struct kube_socket *s, uint8_t channel, const void *data,
                      size_t len)
{
	if (s->call || s->over)
		return;
	buf_clear(&s->message);
	buf_addc(&s->message, (char)channel);
	buf_add(&s->message, data, len);
	add_frame(s, FRAME_BINARY, s->message.data, s->message.len);
}

bool kube_socket_is_full(const struct kube_socket *s)
{
	return s->unsent.len >= FULL;
}

/* --- the handshake -------------------------------------------------------- */

/* Returns the value of the header `name` in `head`, and sets *ret_len to its
 * length. NULL: there is no such header. */
static const char *header(const char *head, const char *name, size_t *ret_len)
{
	size_t len = strlen(name), n;
	const char *line;

	while ((line = text_line(&head, &n)) && *line != '\r') {
		if (n <= len || line[len] != ':' ||
		    strncasecmp(line, name, len))
			continue;
		line += len + 1;
		n -= len + 1;
		while (n && isspace((unsigned char)*line))
			line++, n--;
		while (n && isspace((unsigned char)line[n - 1]))
			n--;
		*ret_len = n;
		return line;
	}
	return NULL;
}

static bool has_header(const char *head, const char *name, const char *value)
{
	size_t n;
	const char *is = header(head, name, &n);

	return is && n == strlen(value) && !strncasecmp(is, value, n);
}

static char *accept_of(const char *key)
{
	char *text = xasprintf("%s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key);
	uint8_t sum[SHA1_DIGEST_LENGTH];
	SHA1_CTX ctx;

	SHA1Init(&ctx);
	SHA1Update(&ctx, (const uint8_t *)text, strlen(text));
	SHA1Final(sum, &ctx);
	free(text);
	return kube_base64_of(sum, sizeof(sum));
}

/* Returns the subprotocol that the server has chosen, on the heap; NULL if it
 * is none of those we offered. */
static char *chosen(const struct kube_socket *s)
{
	size_t n, len;
	const char *is = header(s->got.data, "Sec-WebSocket-Protocol", &n);

	for (const char *at = s->protocols; is && *at; at += len) {
		at += strspn(at, ", ");
		len = strcspn(at, ", ");
		if (len && len == n && !strncmp(at, is, n))
			return xstrndup(is, n);
	}
	return NULL;
}

static void ask(struct kube_socket *s)
{
	const struct kube_call *call = s->call;
	const struct kube_config *c = call->http->config;
	uint8_t noise[16] = { 0 };
	bool has_host = false;

	if (getrandom(noise, sizeof(noise), GRND_NONBLOCK) < 0)
		noise[0] = 1;
	s->key = kube_base64_of(noise, sizeof(noise));
	buf_printf(&s->unsent, "GET %s%s HTTP/1.1\r\n", c->prefix, call->path);
	for (const struct curl_slist *h = call->transfer.headers; h;
	     h = h->next) {
		buf_printf(&s->unsent, "%s\r\n", h->data);
		has_host |= !strncasecmp(h->data, "Host:", 5);
	}
	if (!has_host)
		buf_printf(&s->unsent, "Host: %s:%s\r\n", c->host, c->port);
	buf_printf(&s->unsent,
	           "Connection: Upgrade\r\n"
	           "Upgrade: websocket\r\n"
	           "Sec-WebSocket-Version: 13\r\n"
	           "Sec-WebSocket-Key: %s\r\n"
	           "Sec-WebSocket-Protocol: %s\r\n\r\n",
	           s->key, s->protocols);
	flush(s);
}

/* The handshake has succeeded: take over the connection from the call, free the
 * call, and tell the user that the socket is open. */
static void open_up(struct kube_socket *s, const char *protocol)
{
	struct kube_call *call = s->call;

	s->transfer = call->transfer;
	curl_easy_setopt(s->transfer.easy, CURLOPT_ERRORBUFFER,
	                 s->transfer.error);
	call->transfer = (struct kube_transfer){ .easy = NULL };
	call->socket = NULL;
	s->call = NULL;
	kube_call_heard(call);
	kube_http_recovered(call->http);
	kube_call_free(call);
	s->ops->open(protocol, s->arg);
}

static void agree(struct kube_socket *s)
{
	char *accepts = accept_of(s->key), *protocol = chosen(s);

	if (has_header(s->got.data, "Upgrade", "websocket") &&
	    has_header(s->got.data, "Sec-WebSocket-Accept", accepts) &&
	    protocol)
		open_up(s, protocol);
	else
		fail(s, "it answers as no server of WebSockets does");
	free(accepts);
	free(protocol);
}

static void refuse(struct kube_socket *s, int code)
{
	struct kube_call *call = s->call;
	size_t n;
	const char *wait = header(s->got.data, "Retry-After", &n);
	int64_t wait_s = wait ? strtol(wait, NULL, 10) : 0;

	buf_clear(&call->in);
	buf_add(&call->in, s->got.data + s->body, s->got.len - s->body);
	kube_call_heard(call);
	s->over = true;
	kube_socket_hang_up(s);
	kube_outcome_refused(call, code, wait_s);
}

/* Whether the body of the server's refusal is complete. closed: the server has
 * closed the connection. */
static bool is_whole(const struct kube_socket *s, bool closed)
{
	size_t n;
	const char *len = header(s->got.data, "Content-Length", &n);

	if (header(s->got.data, "Transfer-Encoding", &n))
		return closed ||
		       !strcmp(s->got.data + s->got.len - 5, "0\r\n\r\n");
	return closed ||
	       (len && s->got.len - s->body >= (size_t)strtoul(len, NULL, 10));
}

static int on_frame(const void *data, size_t len, bool first, bool last,
                    void *arg, struct err *err);
static int on_control(enum kube_opcode opcode, const void *data, size_t len,
                      void *arg, struct err *err);

static void take(struct kube_socket *s, const char *data, size_t len)
{
	static const struct kube_frame_ops ops = { on_frame, on_control };
	struct err err;

	if (kube_frames_feed(&s->frames, data, len, &ops, s, &err) == 0 ||
	    s->closed)
		return;
	s->over = true;
	err_wrap(&err, "what the API server sends cannot be used");
	end(s, &err);
}

static void shake(struct kube_socket *s, const char *data, size_t len,
                  bool closed)
{
	const char *behind;
	struct buf rest = { 0 };
	int code;

	buf_add(&s->got, data, len);
	if (!s->body) {
		behind = strstr(s->got.data, "\r\n\r\n");
		if (!behind && (closed || s->got.len > MAX_HEAD)) {
			fail(s, "its answer has no end");
			return;
		}
		if (!behind)
			return;
		s->body = (size_t)(behind + 4 - s->got.data);
	}
	code = strncmp(s->got.data, "HTTP/1.1 ", 9)
	           ? 0
	           : (int)strtol(s->got.data + 9, NULL, 10);
	if (code < SWITCHING || code / 100 == 2) {
		fail(s, "it answers as no server of WebSockets does");
	} else if (code != SWITCHING) {
		if (s->got.len > MAX_REFUSAL || is_whole(s, closed))
			refuse(s, code);
	} else {
		buf_add(&rest, s->got.data + s->body, s->got.len - s->body);
		s->got.data[s->body] = '\0';
		agree(s);
		if (!s->call && !s->closed && rest.len)
			take(s, rest.data, rest.len);
		buf_free(&rest);
	}
}

/* --- reading -------------------------------------------------------------- */

static int on_frame(const void *data, size_t len, bool first, bool last,
                    void *arg, struct err *err)
{
	struct kube_socket *s = arg;

	if (s->closed || s->over)
		return 0;
	return s->ops->data(data, len, first, last, s->arg, err);
}

static int on_control(enum kube_opcode opcode, const void *data, size_t len,
                      void *arg, struct err *err)
{
	struct kube_socket *s = arg;

	(void)err;
	if (s->closed || s->over)
		return 0;
	if (opcode == FRAME_PING && !kube_socket_is_full(s))
		add_frame(s, FRAME_PONG, data, len);
	if (opcode != FRAME_CLOSE)
		return 0;
	add_frame(s, FRAME_CLOSE, data, len < 2 ? len : 2);
	flush(s);
	s->over = true;
	end(s, NULL);
	return 0;
}

/* Read once. Returns whether the caller should read again at once: TLS may have
 * buffered bytes for which the descriptor does not become readable. */
static bool read_some(struct kube_socket *s)
{
	char piece[PIECE];
	size_t n = 0;
	CURLcode code = curl_easy_recv(easy_of(s), piece, sizeof(piece), &n);
	bool closed = code == CURLE_OK && !n;

	if (code == CURLE_AGAIN)
		return false;
	if (s->call && (n || closed))
		shake(s, piece, n, closed);
	else if (closed)
		fail(s, "it was closed in the middle");
	else if (code != CURLE_OK)
		fail(s, curl_easy_strerror(code));
	else
		take(s, piece, n);
	return !closed && code == CURLE_OK;
}

static void leave(struct kube_socket *s)
{
	s->busy = false;
	if (s->closed)
		socket_free(s);
}

static void on_in(evutil_socket_t fd, short what, void *arg)
{
	struct kube_socket *s = arg;

	(void)fd, (void)what;
	s->busy = true;
	if (!s->paused && read_some(s) && s->in && !s->over && !s->closed)
		event_active(s->in, EV_READ, 0);
	if (s->paused && s->in)
		event_del(s->in);
	leave(s);
}

static void on_out(evutil_socket_t fd, short what, void *arg)
{
	struct kube_socket *s = arg;

	(void)fd, (void)what;
	s->busy = true;
	flush(s);
	if (!s->call && !s->closed && !s->over && !kube_socket_is_full(s))
		s->ops->drained(s->arg);
	leave(s);
}

void kube_socket_pause(struct kube_socket *s, bool pause)
{
	if (s->paused == pause)
		return;
	s->paused = pause;
	if (pause || !s->in)
		return; /* on_in() stops reading when it sees `paused` */
	event_add(s->in, NULL);
	event_active(s->in, EV_READ, 0);
}

/* --- connecting ----------------------------------------------------------- */

static void on_connected(CURL *easy, CURLcode code, void *arg)
{
	struct kube_socket *s = arg;

	(void)easy;
	s->code = code;
	/* on_wake() does the rest: in this callback libcurl must
	 * not be called */
	event_active(s->wake, EV_TIMEOUT, 0);
}

static void on_wake(evutil_socket_t none, short what, void *arg)
{
	struct kube_socket *s = arg;
	struct kube_call *call = s->call;
	curl_socket_t fd = CURL_SOCKET_BAD;

	(void)none, (void)what;
	s->busy = true;
	curl_easy_getinfo(call->transfer.easy, CURLINFO_ACTIVESOCKET, &fd);
	if (s->code == CURLE_OK && fd == CURL_SOCKET_BAD)
		s->code = CURLE_COULDNT_CONNECT;
	if (s->code == CURLE_OK) {
		s->in = event_new(s->http->base, fd, EV_READ | EV_PERSIST,
		                  on_in, s);
		s->out = event_new(s->http->base, fd, EV_WRITE, on_out, s);
		event_add(s->in, NULL);
		ask(s);
	} else {
		kube_socket_hang_up(s);
		kube_outcome_tried(call, s->code);
	}
	leave(s);
}

void kube_socket_dial(struct kube_socket *s)
{
	s->over = false;
	s->frames = (struct kube_frames){ .nhead = 0 };
	s->wake = evtimer_new(s->http->base, on_wake, s);
	s->curl = kube_curl_new(s->http->base, on_connected, s);
	curl_easy_setopt(easy_of(s), CURLOPT_CONNECT_ONLY, 1L);
	curl_easy_setopt(easy_of(s), CURLOPT_HTTPPROXYTUNNEL, 1L);
	kube_curl_add(s->curl, easy_of(s));
}
