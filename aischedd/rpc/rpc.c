/* rpc.c - listeners, and what connections share */
#include "aischedd/rpc/rpc.h"

#include <assert.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "aischedd/rpc/conn.h"
#include "aischedd/rpc/holder.h"
#include "aischedd/rpc/listen.h"
#include "libcommon/buf.h"
#include "libcommon/fdpass.h"
#include "libcommon/log.h"
#include "libcommon/mem.h"
#include "libcommon/paths.h"

static const struct rpc_limits usual = {
	.auth_ms = AUTH_DEADLINE_S * 1000,
	.idle_ms = 60000,
	.frame_ms = 30000,
	.linger_ms = 5000,
	.body_bytes = 512 << 20,
	.body_kept = 128 << 20,
	.body_user = LIMIT_JSON + LIMIT_RAW,
};

/* seconds without accepting connections if there are no free descriptors */
enum { PAUSE_S = 1 };

struct listener {
	struct rpc *rpc;
	struct evconnlistener *lev;
	char *path; /* path of the socket; NULL: TCP */
};

struct rpc {
	struct conns conns;
	struct listener **listener;
	size_t nlisteners, cap;
	struct event *unpause;
	struct log_limit accept_fails;
};

/* Returns the origin of a connection: on a Unix socket the uid of the peer's
 * process, over TCP a hash of the peer's address without its port. */
static uint64_t origin_of(int fd, const struct sockaddr *addr)
{
	const struct sockaddr_in *in = (const void *)addr;
	const struct sockaddr_in6 *in6 = (const void *)addr;
	struct ucred cred = { .uid = (uid_t)-1 };
	socklen_t len = sizeof(cred);

	if (addr->sa_family == AF_INET)
		return hash_bytes(0, &in->sin_addr, sizeof(in->sin_addr));
	if (addr->sa_family == AF_INET6)
		return hash_bytes(0, &in6->sin6_addr, sizeof(in6->sin6_addr));
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		cred.uid = (uid_t)-1;
	return cred.uid;
}

static void on_accept(struct evconnlistener *lev, evutil_socket_t fd,
                      struct sockaddr *addr, int len, void *arg)
{
	struct listener *listener = arg;

	(void)lev;
	(void)len;
	conn_new(&listener->rpc->conns, fd, !listener->path,
	         origin_of(fd, addr));
}

static void pause_listeners(struct rpc *rpc, bool pause)
{
	for (size_t i = 0; i < rpc->nlisteners; i++)
		if (pause)
			evconnlistener_disable(rpc->listener[i]->lev);
		else
			evconnlistener_enable(rpc->listener[i]->lev);
}

static void on_unpause(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	pause_listeners(arg, false);
}

/* accept() failed, mostly for lack of descriptors: close the least needed
 * connection, or stop accepting for PAUSE_S seconds. Otherwise the connection
 * that waits to be accepted would wake the loop again and again. */
static void on_accept_error(struct evconnlistener *lev, void *arg)
{
	struct listener *listener = arg;
	struct rpc *rpc = listener->rpc;
	int code = errno;
	unsigned skipped;

	(void)lev;
	if (holder_make_room(&rpc->conns))
		return;
	if (log_again(&rpc->accept_fails, &skipped))
		log_warning("accept fail error='%s' skipped=%u, retrying in "
		            "%d s",
		            strerror(code), skipped, PAUSE_S);
	pause_listeners(rpc, true);
	event_add(rpc->unpause, &(struct timeval){ .tv_sec = PAUSE_S });
}

static void add_listener(struct rpc *rpc, int fd, const char *path)
{
	struct listener *listener = xcalloc(1, sizeof(*listener));

	listener->rpc = rpc;
	listener->path = path ? xstrdup(path) : NULL;
	listener->lev = evconnlistener_new(rpc->conns.base, on_accept, listener,
	                                   LEV_OPT_CLOSE_ON_EXEC, 0, fd);
	evconnlistener_set_error_cb(listener->lev, on_accept_error);
	rpc->listener = GROW(rpc->listener, rpc->nlisteners, &rpc->cap);
	rpc->listener[rpc->nlisteners++] = listener;
}

static int listen_at(struct rpc *rpc, const char *address, struct err *err)
{
	char *host, *port;
	int fd[LISTEN_MAX], n;
	int tcp = address_parse(address, &host, &port, err);

	if (tcp < 0)
		return err_wrap(err, "listen");
	if (!tcp) {
		/* Everybody may connect: MUNGE authenticates the users. */
		fd[0] = listen_unix(address, 0666, (gid_t)-1, err);
		if (fd[0] < 0)
			return -1;
		add_listener(rpc, fd[0], address);
		return 0;
	}
	n = listen_tcp(host, port, fd, err);
	for (int i = 0; i < n; i++)
		add_listener(rpc, fd[i], NULL);
	free(host);
	free(port);
	return n < 0 ? -1 : 0;
}

struct rpc *rpc_new(struct event_base *base, const struct conf *conf,
                    const struct rpc_calls *calls, struct err *err)
{
	struct rpc *rpc = xcalloc(1, sizeof(*rpc));

	signal(SIGPIPE, SIG_IGN);
	conns_init(&rpc->conns);
	rpc->conns.base = base;
	rpc->conns.cluster = xstrdup(conf->cluster);
	rpc->conns.calls = *calls;
	rpc->unpause = evtimer_new(base, on_unpause, rpc);
	rpc->conns.workers = workers_new(base, conf->munge_socket, err);
	if (!rpc->conns.workers)
		goto fail;
	rpc_set_limits(rpc, &usual);
	for (size_t i = 0; i < conf->listen.n; i++)
		if (listen_at(rpc, conf->listen.s[i], err) < 0)
			goto fail;
	return rpc;
fail:
	rpc_free(rpc);
	return NULL;
}

void rpc_add_web(struct rpc *rpc, int fd)
{
	conn_new_web(&rpc->conns, fd);
}

/* OP_session begins a session, so it cannot need one. OP_metrics needs none,
 * because the web program checks who may read metrics (metrics_access). */
bool rpc_is_open(enum op op)
{
	return op == OP_session || op == OP_metrics;
}

/* Connections that were not accepted yet are closed, too. */
static void close_listener(struct conns *all, struct evconnlistener *lev,
                           bool tcp)
{
	int fd = evconnlistener_get_fd(lev);

	evconnlistener_free(lev);
	conns_close_fd(all, fd, !tcp && !fdpass_refuse(fd));
}

void rpc_free(struct rpc *rpc)
{
	struct conns *all;

	if (!rpc)
		return;
	all = &rpc->conns;
	for (size_t i = 0; i < rpc->nlisteners; i++) {
		struct listener *listener = rpc->listener[i];

		if (listener->path)
			unlink(listener->path);
		close_listener(all, listener->lev, !listener->path);
		free(listener->path);
		free(listener);
	}
	conns_fini(all);
	workers_free(all->workers);
	event_free(rpc->unpause);
	free(rpc->listener);
	free(all->cluster);
	free(rpc);
}

size_t rpc_connections(const struct rpc *rpc)
{
	const struct conns *all = &rpc->conns;

	return all->nknown + all->strangers[0].n + all->strangers[1].n;
}

size_t rpc_connections_of(const struct rpc *rpc, bool tcp)
{
	const struct conns *all = &rpc->conns;
	const struct conn *conn;
	size_t n = all->strangers[tcp].n;

	TAILQ_FOREACH(conn, &all->known, of_list)
		n += conn->tcp == tcp;
	return n;
}

uint64_t rpc_auth_failures(const struct rpc *rpc)
{
	return rpc->conns.auth_failures;
}

static bool is_sending(const struct conn_list *list)
{
	const struct conn *conn;

	TAILQ_FOREACH(conn, list, of_list)
		if (conn_is_sending(conn))
			return true;
	return false;
}

bool rpc_stop(struct rpc *rpc)
{
	struct conns *all = &rpc->conns;

	all->stopping = true;
	event_del(rpc->unpause);
	pause_listeners(rpc, true);
	return !is_sending(&all->strangers[false].list) &&
	       !is_sending(&all->strangers[true].list) &&
	       !is_sending(&all->known);
}

void rpc_set_limits(struct rpc *rpc, const struct rpc_limits *limits)
{
	assert(limits->body_bytes >=
	       limits->body_kept + LIMIT_JSON + LIMIT_RAW);
	rpc->conns.limits = *limits;
	workers_set_deadline(rpc->conns.workers, limits->auth_ms);
}
