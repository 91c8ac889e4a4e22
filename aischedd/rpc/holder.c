/* holder.c - how many connections and how much memory each user holds */
#include "aischedd/rpc/holder.h"

#include <stdlib.h>

#include "aischedd/rpc/conn.h"
#include "libcommon/mem.h"

/* No user has this uid: it stands for the web program, whose connection all
 * visitors share. */
#define WEB_UID ((uid_t)-3)

/* --- connections of unknown peers -------------------------------------- */

static struct strangers *strangers_of(const struct conn *conn)
{
	return &conn->all->strangers[conn->tcp];
}

static uintptr_t origin_count(const struct strangers *s, uint64_t origin)
{
	return (uintptr_t)map_find(&s->origins, origin);
}

static void origin_add(struct strangers *s, uint64_t origin, int n)
{
	uintptr_t count = origin_count(s, origin) + (uintptr_t)(intptr_t)n;

	if (count)
		map_set(&s->origins, origin, (void *)count);
	else
		map_del(&s->origins, origin);
}

/* Returns the oldest connection of the origin that has the most connections. */
static struct conn *find_superfluous(const struct strangers *s)
{
	struct conn *found = NULL, *conn;
	uintptr_t most = 0;

	TAILQ_FOREACH(conn, &s->list, of_list) {
		uintptr_t count = origin_count(s, conn->origin);

		if (count > most) {
			most = count;
			found = conn;
		}
	}
	return found;
}

void holder_add_stranger(struct conn *conn)
{
	struct strangers *s = strangers_of(conn);

	if (s->n >= LIMIT_STRANGERS)
		conn_close(find_superfluous(s));
	TAILQ_INSERT_TAIL(&s->list, conn, of_list);
	s->n++;
	origin_add(s, conn->origin, 1);
}

static void remove_stranger(struct conn *conn)
{
	struct strangers *s = strangers_of(conn);

	TAILQ_REMOVE(&s->list, conn, of_list);
	s->n--;
	origin_add(s, conn->origin, -1);
}

/* --- connections of users ---------------------------------------------- */

void holder_remove(struct conn *conn)
{
	struct conns *all = conn->all;
	struct holder *h = conn->holder;

	if (!h) {
		remove_stranger(conn);
		return;
	}
	TAILQ_REMOVE(&all->known, conn, of_list);
	all->nknown--;
	conn->holder = NULL;
	if (--h->nconns)
		return;
	map_del(&all->holders, h->uid);
	free(h);
}

/* Returns the connection that has been idle for the longest time and has
 * no unanswered requests, or NULL. Looks only at the user `of`; NULL: at
 * all users. */
static struct conn *find_idle(const struct conns *all, const struct holder *of)
{
	struct conn *conn;

	TAILQ_FOREACH(conn, &all->known, of_list)
		if (TAILQ_EMPTY(&conn->asks) && !conn->web &&
		    (!of || conn->holder == of))
			return conn;
	return NULL;
}

/* Find the user (not an admin) who has the most connections. If the user has
 * more than `than`, returns the user's longest idle connection; else NULL. */
static struct conn *find_greedy(const struct conns *all, size_t than)
{
	const struct holder *most = NULL, *h;
	struct conn *conn;
	size_t at = 0;

	while ((h = map_each(&all->holders, &at)))
		if (!h->admin && h->nconns > than &&
		    (!most || h->nconns > most->nconns))
			most = h;
	if (!most)
		return NULL;
	TAILQ_FOREACH(conn, &all->known, of_list)
		if (conn->holder == most)
			break;
	return conn;
}

static bool close_found(struct conn *conn)
{
	if (conn)
		conn_close(conn);
	return conn != NULL;
}

static size_t count_of(const struct conns *all, uid_t uid)
{
	const struct holder *h = map_find(&all->holders, uid);

	return h ? h->nconns : 0;
}

static int make_way(struct conns *all, const struct peer *peer, bool admin,
                    struct err *err)
{
	size_t has = count_of(all, peer->uid);
	size_t most = admin ? LIMIT_CONNS : LIMIT_CONNS - LIMIT_CONNS_KEPT;

	if (!admin && has >= LIMIT_CONNS_USER &&
	    !close_found(find_idle(all, map_find(&all->holders, peer->uid))))
		return err_set(err, EBUSY,
		               "user '%s' has %zu connections to aischedd and "
		               "all wait for an answer: no more are served at "
		               "a time; try again when one has ended",
		               peer->user, has);
	if (all->nknown >= most && !close_found(find_idle(all, NULL)) &&
	    !close_found(find_greedy(all, has + 1)))
		return err_set(err, EBUSY,
		               "all %zu connections of aischedd wait for an "
		               "answer; try again",
		               most);
	return 0;
}

/* Count the connection as this user's, no longer as a stranger's. */
static void adopt(struct conn *conn, uid_t uid, bool admin)
{
	struct conns *all = conn->all;
	struct holder *h = map_find(&all->holders, uid);
	const struct ask *ask;

	if (!h) {
		h = xcalloc(1, sizeof(*h));
		h->uid = uid;
		map_set(&all->holders, h->uid, h);
	}
	remove_stranger(conn);
	TAILQ_FOREACH(ask, &conn->asks, next)
		h->body_bytes += ask->charged;
	h->nasks += conn->nasks;
	h->admin = admin;
	h->nconns++;
	conn->holder = h;
	TAILQ_INSERT_TAIL(&all->known, conn, of_list);
	all->nknown++;
}

int holder_admit(struct conn *conn, const struct peer *peer, struct err *err)
{
	struct conns *all = conn->all;
	bool admin = all->calls.is_admin(peer, all->calls.arg);

	if (make_way(all, peer, admin, err) < 0)
		return -1;
	adopt(conn, peer->uid, admin);
	return 0;
}

void holder_admit_web(struct conn *conn)
{
	adopt(conn, WEB_UID, true);
}

bool holder_make_room(struct conns *all)
{
	for (int tcp = 1; tcp >= 0; tcp--)
		if (close_found(find_superfluous(&all->strangers[tcp])))
			return true;
	return close_found(find_idle(all, NULL));
}

bool holder_may_ask(const struct conn *conn)
{
	const struct holder *h = conn->holder;

	if (!conn->nasks)
		return true;
	return conn->nasks < (conn->web ? ASKS_WEB : ASKS_MAX) &&
	       (!h || h->admin || h->nasks < LIMIT_ASKS_USER);
}

/* --- memory ------------------------------------------------------------ */

bool holder_has_memory(const struct conn *conn, size_t len)
{
	const struct conns *all = conn->all;
	const struct rpc_limits *limits = &all->limits;
	const struct holder *h = conn->holder;
	size_t most = limits->body_bytes;

	if (!h)
		return len <= READ_AHEAD;
	if (!h->admin) {
		if (h->body_bytes && h->body_bytes + len > limits->body_user)
			return false;
		most -= limits->body_kept;
	}
	return len <= READ_AHEAD || all->body_bytes + len <= most;
}

static void count(struct ask *ask, size_t bytes)
{
	ask->charged += bytes;
	ask->conn->all->body_bytes += bytes;
	if (ask->conn->holder)
		ask->conn->holder->body_bytes += bytes;
}

void holder_charge(struct ask *ask, size_t bytes)
{
	count(ask, bytes);
}

void holder_discharge(struct ask *ask)
{
	count(ask, -ask->charged);
}
