/* web.c - start the web program, and start it again when it ends */
#include "aischedd/web.h"

#include <event2/event.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aischedd/rpc/closer.h"
#include "aischedd/rpc/listen.h"
#include "libcommon/buf.h"
#include "libcommon/clock.h"
#include "libcommon/log.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"
#include "libcommon/paths.h"
#include "libcommon/spawn.h"

enum {
	/* first pause before the program is started again */
	AGAIN_MS = 1000,
	/* longest pause: each pause is twice as long as the one before */
	AGAIN_MAX_MS = 60000,
	/* a program that ran for this long is started again after AGAIN_MS */
	FINE_MS = 60000,
	/* descriptors for the program are first copied to numbers from this one
	 * on, above the numbers that they will have in the program */
	HIGH_FD = 64,
	/* descriptor of the program's end of the socket pair, in the program;
	 * the next ones are those of the pipe and of the listening sockets */
	FIRST_FD = 3,
	HOSTS_MAX = 64, /* most host names passed to the program */
	ANSWERS_MAX =
	    /* most answers with one status in one report of the program */
	1000000
};

const char *const web_codes[] = { "200", "204", "400", "401",  "403",
	                          "404", "405", "413", "421",  "429",
	                          "500", "503", "504", "other" };
enum { WEB_NCODES = ARRAY_SIZE(web_codes) };
const size_t web_ncodes = WEB_NCODES;

struct web {
	struct daemon *d;
	/* url: NULL if only a proxy can reach the page */
	char *program, *url;
	/* path of the socket for the proxy, borrowed from first_conf; NULL:
	 * there is none */
	const char *socket;
	/* ids with which the program runs; "": those of the daemon */
	char uid[16], gid[16];
	char *proxies; /* uids of web_proxy_users, as in ",33,1000," */
	int listener[LISTEN_MAX + 1];
	int nlisteners;
	pid_t pid;
	int life; /* read end of a pipe; the program has the write end */
	struct event *died, *again;
	int64_t began_ms, wait_ms;
	uint64_t answered[WEB_NCODES], connections, bad_proxies;
};

/* --- users and sockets ---------------------------------------------------- */

static int find_user(struct web *web, struct err *err)
{
	const char *name = web->d->conf->web_user;
	struct passwd *pw;

	if (geteuid() != 0)
		return 0;
	pw = getpwnam(*name ? name : "aisched-web");
	if (!pw && !*name)
		pw = getpwnam("nobody");
	if (!pw || pw->pw_uid == 0)
		return err_set(err, ENOENT,
		               "web_user: '%s' is %s; name a user who has no "
		               "rights",
		               *name ? name : "nobody",
		               pw ? "root" : "not known here");
	snprintf(web->uid, sizeof(web->uid), "%u", (unsigned)pw->pw_uid);
	snprintf(web->gid, sizeof(web->gid), "%u", (unsigned)pw->pw_gid);
	return 0;
}

/* Returns the port on which fd listens. The configured port may be 0, which
 * means any free port. */
static unsigned port_of(int fd)
{
	struct sockaddr_storage addr;
	socklen_t len = sizeof(addr);

	if (getsockname(fd, (struct sockaddr *)&addr, &len) < 0)
		return 0;
	return ntohs(addr.ss_family == AF_INET6
	                 ? ((struct sockaddr_in6 *)&addr)->sin6_port
	                 : ((struct sockaddr_in *)&addr)->sin_port);
}

static int listen_http(struct web *web, struct err *err)
{
	const char *http = web->d->conf->http;
	char *host, *port;

	if (address_parse(http, &host, &port, err) < 0)
		return err_wrap(err, "http");
	web->nlisteners = listen_tcp(host, port, web->listener, err);
	if (web->nlisteners > 0)
		web->url =
		    xasprintf("http://%s:%u/", host, port_of(web->listener[0]));
	free(host);
	free(port);
	return web->nlisteners > 0 ? 0 : err_wrap(err, "http");
}

/* Find the uids of the users in web_proxy_users, and the group of the
 * first one. */
static int find_proxies(struct web *web, gid_t *ret_gid, struct err *err)
{
	const struct strlist *users = &web->d->conf->web_proxy_users;
	struct buf list = { 0 };

	buf_addc(&list, ',');
	for (size_t i = 0; i < users->n; i++) {
		const struct passwd *pw = getpwnam(users->s[i]);

		if (!pw) {
			buf_free(&list);
			return err_set(err, ENOENT,
			               "web_proxy_users: there is no user '%s'",
			               users->s[i]);
		}
		if (i == 0)
			*ret_gid = pw->pw_gid;
		buf_printf(&list, "%u,", (unsigned)pw->pw_uid);
	}
	web->proxies = buf_take(&list);
	return 0;
}

/* Listen on the socket for the proxy. Its mode keeps out most other users; the
 * program checks the uid of the peer of each connection. */
static int listen_proxy(struct web *web, struct err *err)
{
	const char *group = web->d->conf->http_group;
	const struct group *gr = *group ? getgrnam(group) : NULL;
	gid_t gid = (gid_t)-1;
	int fd;

	if (find_proxies(web, &gid, err) < 0)
		return -1;
	if (*group && !gr)
		return err_set(err, ENOENT,
		               "http_group: there is no group '%s'", group);
	fd = listen_unix(web->d->conf->http_socket, 0660, gr ? gr->gr_gid : gid,
	                 err);
	if (fd < 0)
		return err_wrap(err, "http_socket");
	web->listener[web->nlisteners++] = fd;
	web->socket = web->d->conf->http_socket;
	return 0;
}

/* --- starting and watching the program ------------------------------------ */

static size_t arguments(const struct web *web, const char **args, char *number)
{
	static const char *const access[] = { "none", "loopback", "open" };
	const struct conf *conf = web->d->conf;
	size_t n = 0;

	snprintf(number, 12, "%d", web->nlisteners);
	args[n++] = web->program;
	args[n++] = number;
	args[n++] = web->uid;
	args[n++] = web->gid;
	args[n++] = access[conf->metrics_access];
	args[n++] = conf->web_proxy_header;
	args[n++] = web->proxies ? web->proxies : "";
	for (size_t i = 0; i < conf->http_hosts.n && i < HOSTS_MAX; i++)
		args[n++] = conf->http_hosts.s[i];
	args[n] = NULL;
	return n;
}

static int start_program(struct web *web, const int *fd, size_t nfd,
                         struct err *err)
{
	const char *args[HOSTS_MAX + 10];
	const struct spawn s = { .argv = args,
		                 .env = (const char *[]){ "LC_ALL=C", NULL },
		                 .fd = fd,
		                 .nfd = nfd };
	char number[12];

	arguments(web, args, number);
	errno = spawn(&s, &web->pid);
	if (!errno)
		return 0;
	web->pid = 0;
	return err_sys(err, "cannot start '%s'", web->program);
}

static int pass(int fd)
{
	return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);
}

/* Start the program. It gets our stderr, its end of the socket pair, the write
 * end of the pipe, and the listening sockets. */
static int start(struct web *web, struct err *err)
{
	int pair[2] = { -1, -1 }, life[2] = { -1, -1 },
	    give[LISTEN_MAX + FIRST_FD + 2] = { -1, -1, 2 };
	int n = FIRST_FD, rc = -1;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
	               pair) < 0 ||
	    pipe2(life, O_CLOEXEC | O_NONBLOCK) < 0) {
		err_sys(err, "cannot make a socket for '%s'", web->program);
	} else {
		give[n++] = pass(pair[1]);
		give[n++] = pass(life[1]);
		for (int i = 0; i < web->nlisteners; i++)
			give[n++] = pass(web->listener[i]);
		rc = start_program(web, give, (size_t)n, err);
	}
	for (int i = FIRST_FD; i < n; i++)
		close(give[i]);
	close(pair[1]);
	close(life[1]);
	if (rc < 0) {
		close(pair[0]);
		close(life[0]);
		return -1;
	}
	web->life = life[0];
	web->began_ms = clock_ms();
	rpc_add_web(web->d->rpc, pair[0]);
	return 0;
}

static void watch(struct web *web);

static void end(struct web *web)
{
	if (web->died) {
		event_free(web->died);
		close(web->life);
	}
	web->died = NULL;
	web->connections = 0;
	if (web->pid <= 0)
		return;
	/* The program has closed the pipe: it has ended, or it is faulty and
	 * must be killed. */
	kill(web->pid, SIGKILL);
	waitpid(web->pid, NULL, 0);
	web->pid = 0;
}

static void start_again(evutil_socket_t fd, short what, void *arg)
{
	struct web *web = arg;
	struct err err;

	(void)fd;
	(void)what;
	if (start(web, &err) == 0) {
		watch(web);
		return;
	}
	log_warning("web start error='%s'", err.text);
	daemon_arm(web->again, AGAIN_MAX_MS);
}

static void on_death(evutil_socket_t fd, short what, void *arg)
{
	struct web *web = arg;

	(void)fd;
	(void)what;
	if (clock_ms() - web->began_ms >= FINE_MS)
		web->wait_ms = AGAIN_MS;
	end(web);
	log_warning("web program ended, starting it again in %lld ms",
	            (long long)web->wait_ms);
	daemon_arm(web->again, (double)web->wait_ms);
	if (web->wait_ms < AGAIN_MAX_MS)
		web->wait_ms *= 2;
}

static void watch(struct web *web)
{
	web->died = event_new(web->d->base, web->life, EV_READ, on_death, web);
	event_add(web->died, NULL);
}

int web_new(struct web **ret, struct daemon *d, struct err *err)
{
	struct web *web;

	*ret = NULL;
	if (!*d->conf->http && !*d->conf->http_socket)
		return 0;
	web = xcalloc(1, sizeof(*web));
	web->d = d;
	web->wait_ms = AGAIN_MS;
	web->again = evtimer_new(d->base, start_again, web);
	web->program = program_path("web", "aisched-web", err);
	if (!web->program || find_user(web, err) < 0 ||
	    (*d->conf->http && listen_http(web, err) < 0) ||
	    (*d->conf->http_socket && listen_proxy(web, err) < 0) ||
	    start(web, err) < 0) {
		web_free(web);
		return -1;
	}
	watch(web);
	if (web->url)
		log_notice("page ready url=%s", web->url);
	if (web->socket)
		log_notice("page ready socket=%s", web->socket);
	*ret = web;
	return 0;
}

/* Close a listening socket with a closer (closer.h): unread messages in the
 * socket for the proxy may have descriptors. */
static void close_listener(int fd)
{
	struct closer *closer = closer_new();

	closer_close(closer, fd);
	closer_free(closer);
}

void web_free(struct web *web)
{
	if (!web)
		return;
	end(web);
	event_free(web->again);
	for (int i = 0; i < web->nlisteners; i++)
		close_listener(web->listener[i]);
	if (web->socket)
		unlink(web->socket);
	free(web->proxies);
	free(web->program);
	free(web->url);
	free(web);
}

const char *web_url(const struct web *web)
{
	return web->url;
}

/* --- counts of answers ---------------------------------------------------- */

int web_add_answers(struct web *web, const json_t *told, struct err *err)
{
	uint64_t more[WEB_NCODES] = { 0 };
	json_int_t connections =
		       json_integer_value(json_object_get(told, "connections")),
		   bad =
		       json_integer_value(json_object_get(told, "bad_proxies"));
	const char *code;
	json_t *value;

	if (connections < 0 || connections > ANSWERS_MAX || bad < 0 ||
	    bad > ANSWERS_MAX)
		return err_set(err, EINVAL,
		               "session: bad number of connections");
	json_object_foreach(json_object_get(told, "codes"), code, value) {
		size_t i = 0;
		int64_t n;

		if (parse_int(json_string_value(value), 0, ANSWERS_MAX, &n,
		              err) < 0)
			return err_wrap(err, "session: answers of %.10s", code);
		while (i + 1 < WEB_NCODES && strcmp(code, web_codes[i]) != 0)
			i++;
		more[i] += (uint64_t)n;
	}
	for (size_t i = 0; i < WEB_NCODES; i++)
		web->answered[i] += more[i];
	web->connections = (uint64_t)connections;
	web->bad_proxies += (uint64_t)bad;
	return 0;
}

uint64_t web_answered(const struct web *web, size_t i)
{
	return web->answered[i];
}

uint64_t web_connections(const struct web *web)
{
	return web->connections;
}

uint64_t web_bad_proxies(const struct web *web)
{
	return web->bad_proxies;
}
