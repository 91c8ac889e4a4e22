/* web.c - make links that log in to the web page, and answer the web program's
 * requests about sessions */
#include "aischedd/op/web.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/op/access.h"
#include "aischedd/op/cron_run.h"
#include "aischedd/op/op.h"
#include "aischedd/rpc/ident.h"
#include "aischedd/session.h"
#include "aischedd/thread.h"
#include "aischedd/web.h"
#include "libcommon/clock.h"
#include "libcommon/log.h"
#include "libcommon/mem.h"

static int make_link(struct daemon *d, struct ask *ask, const struct peer *peer,
                     struct err *err)
{
	char token[SESSION_TEXT + 1];

	if (!web_url(d->web))
		return err_set(err, ENOENT,
		               "the page is reached through a proxy only: to "
		               "use links, set http in aischedd.conf");
	session_link(d->sessions, peer, clock_ms(), token);
	daemon_say(d, ask,
	           json_pack("{s:s, s:s, s:i}", "url", web_url(d->web), "token",
	                     token, "seconds", LINK_MS / 1000));
	return 0;
}

static int list(struct daemon *d, struct ask *ask, const struct peer *peer,
                struct err *err)
{
	(void)err;
	daemon_say(d, ask,
	           json_pack("{s:o}", "sessions",
	                     session_list(d->sessions, peer->uid, clock_ms(),
	                                  clock_wall_s())));
	return 0;
}

static int end_all(struct daemon *d, struct ask *ask, const struct peer *peer,
                   struct err *err)
{
	size_t n = session_end_all(d->sessions, peer->uid);

	(void)err;
	daemon_say(d, ask, json_pack("{s:I}", "count", (json_int_t)n));
	return 0;
}

int op_web(struct daemon *d, struct ask *ask, const struct request_in *in,
           struct err *err)
{
	static const struct {
		const char *action;
		int (*fn)(struct daemon *d, struct ask *ask,
		          const struct peer *peer, struct err *err);
	} table[] = { { "link", make_link },
		      { "list", list },
		      { "logout", end_all } };
	const char *action =
	    json_string_value(json_object_get(in->body, "action"));

	if (!d->web)
		return err_set(err, ENOENT,
		               "the page is not served: set http in "
		               "aischedd.conf and start the daemon again");
	for (size_t i = 0; action && i < sizeof(table) / sizeof(*table); i++)
		if (!strcmp(action, table[i].action))
			return table[i].fn(d, ask, in->peer, err);
	return err_set(err, EINVAL, "web: action must be link, list or logout");
}

/* --- requests of the web program ------------------------------------------ */

static int log_in(struct daemon *d, struct ask *ask, const char *token,
                  struct err *err)
{
	char cookie[SESSION_TEXT + 1];
	const struct peer *peer =
	    session_begin(d->sessions, token, clock_ms(),
	                  d->conf->web_session * 1000, cookie);

	if (!peer) {
		d->bad_links++;
		return err_set(err, EACCES,
		               "this link was used or is too old: get another "
		               "one with `aiq --web`");
	}
	log_info("page login user=%s", peer->user);
	daemon_say(
	    d, ask,
	    json_pack("{s:s, s:s}", "cookie", cookie, "user", peer->user));
	return 0;
}

/* A look-up of a user whom the proxy named, on the thread that asks the
 * name service. */
struct proxied {
	struct thread_task task;
	struct daemon *d;
	struct kept_ask ask;
	char *user;
	struct peer *peer;
	struct err err;
};

static void look_up(struct thread_task *task)
{
	struct proxied *p = (struct proxied *)(void *)task;

	p->peer = ident_named(p->user, &p->err);
}

static void looked_up(struct thread_task *task)
{
	struct proxied *p = (struct proxied *)(void *)task;
	struct daemon *d = p->d;

	if (!p->peer && p->err.code == ENOENT)
		p->err.code = EPERM;
	else if (p->peer && p->peer->uid == 0)
		err_set(&p->err, EPERM, "root is not served behind a proxy");
	if (!daemon_is_open(d, &p->ask)) {
		free(p->peer);
	} else if (p->err.code) {
		free(p->peer);
		daemon_refuse(d, p->ask.ask, &p->err);
	} else {
		session_name(d->sessions, p->peer, clock_ms());
		daemon_say(d, p->ask.ask, json_object());
	}
	free(p->user);
	free(p);
}

/* Accept the user name that the proxy sends: look the user up, and keep the
 * result for a while. */
static int believe(struct daemon *d, struct ask *ask, const char *user,
                   struct err *err)
{
	struct proxied *p;

	if (!*d->conf->web_proxy_header)
		return err_set(err, EPERM, "there is no proxy");
	p = xcalloc(1, sizeof(*p));
	p->task = (struct thread_task){ .work = look_up, .done = looked_up };
	p->d = d;
	p->ask = daemon_keep(d, ask);
	p->user = xstrdup(user);
	thread_do(cron_names(d), &p->task);
	return 0;
}

static int say_who(struct daemon *d, struct ask *ask, const struct peer *peer)
{
	static const char *const roles[] = { "nobody", "user", "operator",
		                             "admin" };

	daemon_say(d, ask,
	           json_pack("{s:s, s:s, s:s, s:I}", "user", peer->user, "role",
	                     roles[access_role(d, peer)], "cluster",
	                     d->conf->cluster, "time",
	                     (json_int_t)clock_wall_s()));
	return 0;
}

int op_session(struct daemon *d, struct ask *ask, const struct request_in *in,
               struct err *err)
{
	const char *action =
	    json_string_value(json_object_get(in->body, "action"));
	const char *k = json_string_value(json_object_get(in->body, "k"));

	if (!in->from_web)
		return err_set(err, EPERM,
		               "session is a request of the web program");
	if (action && !strcmp(action, "login") && k)
		return log_in(d, ask, k, err);
	if (action && !strcmp(action, "proxy") && k)
		return believe(d, ask, k, err);
	if (action && !strcmp(action, "answers")) {
		if (web_add_answers(d->web, in->body, err) < 0)
			return -1;
		daemon_say(d, ask, json_object());
		return 0;
	}
	if (!in->peer->known)
		return err_set(err, EACCES, "nobody has logged in");
	if (action && !strcmp(action, "logout") && k) {
		session_end(d->sessions, k);
		daemon_say(d, ask, json_object());
		return 0;
	}
	if (action && !strcmp(action, "who"))
		return say_who(d, ask, in->peer);
	return err_set(err, EINVAL,
	               "session: action must be login, proxy, answers, who or "
	               "logout");
}

struct peer *daemon_session(const char *cookie, size_t len, void *arg)
{
	struct daemon *d = arg;
	struct peer *peer = NULL;

	if (d->sessions)
		peer = session_find(d->sessions, cookie, len, clock_ms());
	if (peer && *cookie == '=')
		peer->plain = !d->conf->web_proxy_admins;
	return peer;
}
