/* forward.c - connect a port of this machine to a port of a job */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aictl/command.h"
#include "libcommon/client/relay.h"
#include "libcommon/client/tcp_peer.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"

enum {
	FAMILIES = 2, /* IPv4 and IPv6 */
	TRIES = 20,   /* to find a port that is free in both */
	/* exit status of a connection: the job has ended, or another user
	 * has connected */
	NO_JOB = 3,
	NOT_OURS = 4
};

struct forward {
	struct ctl *ctl;
	char *job;
	int64_t rank;
	uint16_t local, port; /* local 0: any that is free */
	const char *name; /* of the port, until the daemon says its number */
	bool same;        /* local is the same as the job's port */
	int listens[FAMILIES];
	unsigned open;   /* connections, each of which is a process of ours */
	bool over;       /* a connection found that the job has ended */
	bool told;       /* the user knows that others have connected */
	sigset_t before; /* signal mask before SIGCHLD was blocked */
};

static void close_listens(struct forward *f)
{
	for (int i = 0; i < FAMILIES; i++) {
		if (f->listens[i] >= 0)
			close(f->listens[i]);
		f->listens[i] = -1;
	}
}

/* --- connections ---------------------------------------------------------- */

/* Go on only if we or root have made the connection. Others can reach our port,
 * too, but would act in the job with our rights. */
static void check_caller(int conn)
{
	uid_t user;

	if (tcp_peer_user(conn, &user, NULL) < 0)
		_exit(EXIT_FAILURE); /* the caller has hung up */
	if (user != geteuid() && user != 0)
		_exit(NOT_OURS);
}

static void carry(struct forward *f, int conn)
{
	struct relay_wish wish = { .address = f->ctl->socket,
		                   .job = f->job,
		                   .task = f->rank,
		                   .port = f->port };
	struct err err;
	int status = -1;
	bool asked = false;

	check_caller(conn);
	if (dup2(conn, STDIN_FILENO) < 0 || dup2(conn, STDOUT_FILENO) < 0) {
		err_sys(&err, "cannot use the connection");
	} else if ((wish.client = client_open(f->ctl->socket, &err))) {
		asked = true;
		status = relay_run(&wish, NULL, &err);
	}
	client_close(wish.client);
	if (status >= 0)
		_exit(EXIT_SUCCESS);
	ctl_warn(f->ctl, "%s", err.text);
	_exit(asked && err.code == ENOENT ? NO_JOB : EXIT_FAILURE);
}

/* Carry a connection in a child process, which ends when this process ends. */
static void begin(struct forward *f, int conn)
{
	pid_t parent = getpid(), pid = fork();

	if (pid < 0)
		ctl_warn(f->ctl, "cannot fork: %s", strerror(errno));
	else if (pid > 0)
		f->open++;
	if (pid)
		return;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(EXIT_FAILURE);
	sigprocmask(SIG_SETMASK, &f->before, NULL);
	close_listens(f);
	carry(f, conn);
}

static void reap(struct forward *f)
{
	int status;

	while (f->open && waitpid(-1, &status, WNOHANG) > 0) {
		f->open--;
		f->over |= WIFEXITED(status) && WEXITSTATUS(status) == NO_JOB;
		if (f->told || !WIFEXITED(status) ||
		    WEXITSTATUS(status) != NOT_OURS)
			continue;
		f->told = true;
		ctl_warn(f->ctl,
		         "another user tried to connect to 127.0.0.1:%u",
		         f->local);
	}
}

/* --- listening ------------------------------------------------------------ */

/* Listen at the loopback address only: check_caller() knows only the users of
 * this machine. */
static int listen_at(int family, uint16_t port)
{
	const struct sockaddr_in v4 = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	const struct sockaddr_in6 v6 = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(port),
		.sin6_addr = IN6ADDR_LOOPBACK_INIT,
	};
	bool is_4 = family == AF_INET;
	const void *at = is_4 ? (const void *)&v4 : (const void *)&v6;
	socklen_t len = is_4 ? sizeof(v4) : sizeof(v6);
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int yes = 1, code;

	if (fd >= 0 &&
	    !setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) &&
	    !bind(fd, at, len) && !listen(fd, SOMAXCONN))
		return fd;
	code = errno;
	if (fd >= 0)
		close(fd);
	errno = code;
	return -1;
}

static int listen_both(struct forward *f, uint16_t port, struct err *err)
{
	struct sockaddr_in at = { 0 };
	socklen_t len = sizeof(at);

	f->listens[0] = listen_at(AF_INET, port);
	if (f->listens[0] < 0 ||
	    getsockname(f->listens[0], (struct sockaddr *)&at, &len) < 0)
		return err_sys(err, "cannot listen at 127.0.0.1 port %u", port);
	f->local = ntohs(at.sin_port);
	/* Programs that resolve "localhost" to ::1 need this socket. It may be
	 * missing where there is no IPv6, but whoever else has it would get
	 * their connections. */
	f->listens[1] = listen_at(AF_INET6, f->local);
	if (f->listens[1] >= 0 || errno != EADDRINUSE)
		return 0;
	return err_sys(err, "cannot listen at ::1 port %u", f->local);
}

static int listen_all(struct forward *f, const char *ports, struct err *err)
{
	uint16_t port = f->local;
	struct err why;

	for (int i = 0; i < TRIES; i++) {
		if (listen_both(f, port, &why) == 0)
			return 0;
		close_listens(f);
		if (port)
			break;
	}
	if (f->same && why.code == EADDRINUSE)
		return err_set(err, why.code, "%s: ':%s' takes a free port",
		               why.text, ports);
	*err = why;
	return -1;
}

static void on_child(int signo)
{
	(void)signo; /* ends ppoll() */
}

static void serve(struct forward *f)
{
	const struct sigaction how = { .sa_handler = on_child };
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, &f->before);
	sigaction(SIGCHLD, &how, NULL);
	for (; !f->over; reap(f)) {
		struct pollfd p[FAMILIES];
		bool full = f->open >= LIMIT_RELAYS_USER;

		for (int i = 0; i < FAMILIES; i++)
			p[i] = (struct pollfd){ full ? -1 : f->listens[i],
				                POLLIN, 0 };
		if (ppoll(p, FAMILIES, NULL, &f->before) <= 0)
			continue;
		for (int i = 0; i < FAMILIES; i++) {
			int conn = p[i].revents
			               ? accept(f->listens[i], NULL, NULL)
			               : -1;

			if (conn < 0)
				continue;
			begin(f, conn);
			close(conn);
		}
	}
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_SETMASK, &f->before, NULL);
}

/* --- the command ---------------------------------------------------------- */

/* Read [LOCAL:]PORT or [LOCAL:]NAME; nothing before the colon means any free
 * port. */
static int read_ports(struct forward *f, const char *text, struct err *err)
{
	const char *colon = strchr(text, ':');
	char *local = xstrndup(text, colon ? (size_t)(colon - text) : 0);
	const char *of_job = colon ? colon + 1 : text;
	int64_t port = 0, from = 0;
	int rc = 0;

	if (*of_job >= 'a' && *of_job <= 'z')
		f->name = of_job;
	else
		rc = parse_int(of_job, 1, UINT16_MAX, &port, err);
	if (rc == 0 && *local)
		rc = parse_int(local, 1, UINT16_MAX, &from, err);
	f->port = (uint16_t)port;
	f->local = (uint16_t)from;
	f->same = !colon;
	free(local);
	return rc;
}

/* Ask the daemon whether this user may connect to the port, so that errors are
 * reported now, not when the first connection is made; and which port has the
 * name. */
static int check(struct forward *f, struct err *err)
{
	json_t *req = json_pack("{s:s, s:s, s:s*}", "op", "forward", "id",
	                        f->job, "name", f->name);
	json_t *answer = NULL;

	if (!req)
		return err_set(err, EINVAL, "'%s' is not UTF-8",
		               f->name ? f->name : f->job);
	if (!f->name)
		json_object_set_new(req, "port", json_integer(f->port));
	answer = ctl_call(f->ctl, req, NULL, NULL, err);
	json_decref(req);
	if (!answer)
		return -1;
	f->port = (uint16_t)json_integer_value(json_object_get(answer, "port"));
	json_decref(answer);
	if (f->same)
		f->local = f->port;
	return 0;
}

int run_forward(struct ctl *ctl, int argc, char **argv)
{
	struct forward f = { .ctl = ctl, .job = xstrdup(argv[1]) };
	struct err err;

	(void)argc;
	f.listens[0] = f.listens[1] = -1;
	if (take_rank(f.job, &f.rank, &err) == 0 &&
	    read_ports(&f, argv[2], &err) == 0 && check(&f, &err) == 0 &&
	    listen_all(&f, argv[2], &err) == 0) {
		ctl_disconnect(ctl);
		printf("127.0.0.1:%u is port %u of job %s\n", f.local, f.port,
		       argv[1]);
		fflush(stdout);
		serve(&f);
		err_set(&err, ESRCH, "job %s has ended", f.job);
	}
	ctl_warn(ctl, "%s", err.text);
	close_listens(&f);
	free(f.job);
	return EXIT_FAILURE;
}
