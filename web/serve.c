/*
 * serve.c - HTTP: connections, and their requests as visits
 *
 * Each connection serves one request, so what it can use is bounded. The
 * client has VISIT_MS to send the whole request, and SERVE_SEND_MS to read the
 * answer; then the connection is shut down. If an address has too many
 * connections, one is closed: the oldest that is not answered or, if all are
 * answered, the oldest. A visitor with many open connections cannot keep
 * others from connecting.
 */
#include "web/serve.h"

#include <arpa/inet.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "libcommon/clock.h"
#include "libcommon/map.h"
#include "libcommon/mem.h"
#include "web/site.h"
#include "web/visit.h"

/* A connection. */
struct guest {
	TAILQ_ENTRY(guest) next;
	int fd;
	uint64_t address;
	bool loopback, proxied, trusted, shut;
	size_t most;         /* limit of connections from its address */
	struct visit *visit; /* NULL: its header is not complete yet */
	int64_t began_ms, answered_ms;
};

struct http_server {
	struct site *site;
	struct MHD_Daemon *mhd;
	bool proxied; /* it listens on a Unix socket, for a proxy */
	struct event *ready, *soon, *tick;
};

/* Connections of all servers, oldest first. */
static TAILQ_HEAD(, guest) guests = TAILQ_HEAD_INITIALIZER(guests);
static size_t nguests;

/* --- the loop ------------------------------------------------------------- */

static void run(evutil_socket_t fd, short what, void *arg)
{
	struct http_server *server = arg;
	MHD_UNSIGNED_LONG_LONG ms;

	(void)fd;
	(void)what;
	MHD_run(server->mhd);
	if (MHD_get_timeout(server->mhd, &ms) == MHD_YES && ms == 0)
		event_active(server->soon, EV_TIMEOUT, 0);
}

/* Shut down the socket of a connection; libmicrohttpd closes the socket when it
 * next reads or writes. */
static void shut(struct guest *guest)
{
	if (!guest->shut)
		shutdown(guest->fd, SHUT_RDWR);
	guest->shut = true;
}

static void time_out(struct guest *guest, int64_t now)
{
	struct visit *v = guest->visit;

	if (guest->answered_ms) {
		if (now - guest->answered_ms > SERVE_SEND_MS)
			shut(guest);
	} else if (now - guest->began_ms > VISIT_MS) {
		if (!v || !v->query) {
			shut(guest);
			return;
		}
		web_query_forget(v->query);
		visit_error(v, 504, "the daemon does not answer");
		visit_done(v);
	}
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct http_server *server = arg;
	struct guest *guest, *next;
	int64_t now = clock_ms();

	for (guest = TAILQ_FIRST(&guests); guest; guest = next) {
		next = TAILQ_NEXT(guest, next);
		time_out(guest, now);
	}
	site_tell(server->site);
	run(fd, what, server);
}

/* --- connections ---------------------------------------------------------- */

/* Note the address of a connection, and whether it is a loopback address, which
 * proves that the peer is on this machine. */
static void look_at(struct guest *guest, const struct sockaddr *addr)
{
	const struct sockaddr_in *in = (const void *)addr;
	const struct sockaddr_in6 *in6 = (const void *)addr;

	if (addr->sa_family == AF_INET) {
		guest->loopback = ntohl(in->sin_addr.s_addr) >> 24 == 127;
		guest->address =
		    hash_bytes(1, &in->sin_addr, sizeof(in->sin_addr));
	} else if (addr->sa_family == AF_INET6) {
		guest->loopback = IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
		guest->address =
		    hash_bytes(1, &in6->sin6_addr, sizeof(in6->sin6_addr));
	}
}

/* Note that a connection came over the socket for a proxy. If the configuration
 * trusts the peer's uid, it may have many connections, for all users of the
 * proxy. */
static void look_at_proxy(struct guest *guest, const struct site *site)
{
	struct ucred cred = { .uid = (uid_t)-1 };
	socklen_t len = sizeof(cred);

	if (getsockopt(guest->fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		cred.uid = (uid_t)-1;
	guest->proxied = true;
	guest->trusted = site_trusts(site, cred.uid);
	guest->address = hash_bytes(3, &cred.uid, sizeof(cred.uid));
	guest->most = guest->trusted ? SERVE_PROXY : SERVE_ADDRESS;
}

static void make_room(uint64_t address, size_t most)
{
	struct guest *guest, *oldest = NULL;
	size_t n = 0;

	TAILQ_FOREACH(guest, &guests, next) {
		if (guest->shut ||
		    (guest->address != address && nguests < SERVE_GUESTS))
			continue;
		n++;
		if (!oldest || (oldest->answered_ms && !guest->answered_ms))
			oldest = guest;
	}
	if (oldest && (n >= most || nguests >= SERVE_GUESTS))
		shut(oldest);
}

static void come(const struct http_server *server,
                 struct MHD_Connection *connection, void **context)
{
	struct guest *guest = xcalloc(1, sizeof(*guest));
	const union MHD_ConnectionInfo *info;

	info = MHD_get_connection_info(connection,
	                               MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	if (info && info->client_addr)
		look_at(guest, info->client_addr);
	info = MHD_get_connection_info(connection,
	                               MHD_CONNECTION_INFO_CONNECTION_FD);
	guest->fd = info->connect_fd;
	guest->most = SERVE_ADDRESS;
	if (server->proxied)
		look_at_proxy(guest, server->site);
	guest->began_ms = clock_ms();
	make_room(guest->address, guest->most);
	TAILQ_INSERT_TAIL(&guests, guest, next);
	site_set_connections(server->site, ++nguests);
	*context = guest;
}

static void on_connection(void *arg, struct MHD_Connection *connection,
                          void **context,
                          enum MHD_ConnectionNotificationCode code)
{
	const struct http_server *server = arg;
	struct guest *guest = *context;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		come(server, connection, context);
	} else if (guest) {
		TAILQ_REMOVE(&guests, guest, next);
		site_set_connections(server->site, --nguests);
		free(guest);
		*context = NULL;
	}
}

/* --- visits --------------------------------------------------------------- */

void visit_static(struct visit *v, const char *type, const void *data,
                  size_t len)
{
	v->status = 200;
	v->type = type;
	v->data = data;
	v->len = len;
}

void visit_text(struct visit *v, unsigned status, const char *type,
                struct buf *text)
{
	v->text = *text;
	*text = (struct buf){ 0 };
	v->status = status;
	v->type = type;
	v->data = v->text.data ? v->text.data : "";
	v->len = v->text.len;
}

void visit_error(struct visit *v, unsigned status, const char *fmt, ...)
{
	struct buf text = { 0 };
	char line[600];
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	buf_puts(&text, "{\"error\":");
	buf_json(&text, line);
	buf_puts(&text, "}\n");
	visit_text(v, status, "application/json", &text);
}

void visit_done(struct visit *v)
{
	v->query = NULL;
	MHD_resume_connection(v->connection);
	/* Run libmicrohttpd in the next turn of the loop, not here: the caller
	 * may still use the visit. */
	event_active(v->soon, EV_TIMEOUT, 0);
}

#define CSP                                                           \
	"default-src 'none'; script-src 'self'; style-src 'self'; "   \
	"img-src 'self' data:; connect-src 'self'; base-uri 'none'; " \
	"form-action 'none'; frame-ancestors 'none'"

static const char *const headers[][2] = {
	{ "Content-Security-Policy", CSP },
	{ "Cross-Origin-Resource-Policy", "same-origin" },
	{ "Cross-Origin-Opener-Policy", "same-origin" },
	{ "X-Content-Type-Options", "nosniff" },
	{ "X-Frame-Options", "DENY" },
	{ "Referrer-Policy", "no-referrer" },
	{ "Connection", "close" },
};

static enum MHD_Result answer(struct visit *v)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(
	    v->len, (void *)(uintptr_t)v->data,
	    v->text.data ? MHD_RESPMEM_MUST_COPY : MHD_RESPMEM_PERSISTENT);
	enum MHD_Result result;
	char retry[12];

	site_count(v->site, v->status);
	snprintf(retry, sizeof(retry), "%d", v->retry_s);
	for (size_t i = 0; i < ARRAY_SIZE(headers); i++)
		MHD_add_response_header(r, headers[i][0], headers[i][1]);
	MHD_add_response_header(r, "Content-Type", v->type);
	MHD_add_response_header(r, "Cache-Control",
	                        v->store ? "no-cache" : "no-store");
	if (v->zipped)
		MHD_add_response_header(r, "Content-Encoding", "gzip");
	if (v->set_cookie[0])
		MHD_add_response_header(r, "Set-Cookie", v->set_cookie);
	if (v->status == 429)
		MHD_add_response_header(r, "Retry-After", retry);
	if (v->status == 405)
		MHD_add_response_header(r, "Allow", "GET, HEAD, POST");
	result = MHD_queue_response(v->connection, v->status, r);
	MHD_destroy_response(r);
	return result;
}

static struct guest *guest_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
	    connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info->socket_context;
}

static struct visit *begin(struct http_server *server,
                           struct MHD_Connection *connection,
                           const char *method, const char *path)
{
	struct guest *guest = guest_of(connection);
	struct visit *v = xcalloc(1, sizeof(*v));

	v->site = server->site;
	v->connection = connection;
	v->method = method;
	v->path = path;
	v->host =
	    MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host");
	v->loopback = guest->loopback;
	v->address = guest->address;
	v->proxied = guest->proxied;
	v->trusted = guest->trusted;
	v->began_ms = guest->began_ms;
	v->soon = server->soon;
	guest->visit = v;
	return v;
}

static void add_body(struct visit *v, const char *data, size_t *size)
{
	if (v->body.len + *size > VISIT_BODY)
		v->too_long = true;
	else
		buf_add(&v->body, data, *size);
	*size = 0;
}

/* Called by libmicrohttpd when the header is complete, for each piece of a
 * body, when the request is complete, and after visit_done(). */
static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection,
                                  const char *path, const char *method,
                                  const char *version, const char *data,
                                  size_t *size, void **context)
{
	struct visit *v = *context;

	(void)version;
	if (!v) {
		*context = begin(arg, connection, method, path);
		return MHD_YES;
	}
	if (*size) {
		add_body(v, data, size);
		return MHD_YES;
	}
	if (!v->asked) {
		v->asked = true;
		site_visit(v);
	}
	if (v->status) {
		guest_of(connection)->answered_ms = clock_ms();
		return answer(v);
	}
	MHD_suspend_connection(connection);
	return MHD_YES;
}

static void on_completed(void *arg, struct MHD_Connection *connection,
                         void **context, enum MHD_RequestTerminationCode code)
{
	struct visit *v = *context;

	(void)arg;
	(void)code;
	if (!v)
		return;
	guest_of(connection)->visit = NULL;
	web_query_forget(v->query);
	buf_free(&v->body);
	buf_free(&v->text);
	free(v);
	*context = NULL;
}

int serve_start(struct site *site, struct event_base *base, int fd,
                struct err *err)
{
	struct http_server *server = xcalloc(1, sizeof(*server));
	const union MHD_DaemonInfo *info;
	struct sockaddr_storage addr = { 0 };
	socklen_t len = sizeof(addr);

	server->site = site;
	server->proxied =
	    getsockname(fd, (struct sockaddr *)&addr, &len) == 0 &&
	    addr.ss_family == AF_UNIX;
	server->mhd = MHD_start_daemon(
	    MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request,
	    server, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_NOTIFY_CONNECTION,
	    on_connection, server, MHD_OPTION_NOTIFY_COMPLETED, on_completed,
	    server, MHD_OPTION_CONNECTION_LIMIT, (unsigned)SERVE_GUESTS + 64,
	    MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)VISIT_HEADER + 4096,
	    MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
	if (!server->mhd) {
		free(server);
		return err_set(err, EIO, "cannot serve HTTP");
	}
	info = MHD_get_daemon_info(server->mhd, MHD_DAEMON_INFO_EPOLL_FD);
	server->ready =
	    event_new(base, info->epoll_fd, EV_READ | EV_PERSIST, run, server);
	server->soon = event_new(base, -1, 0, run, server);
	server->tick = event_new(base, -1, EV_PERSIST, on_tick, server);
	event_add(server->ready, NULL);
	event_add(server->tick, &(struct timeval){ .tv_usec = 500000 });
	return 0;
}
