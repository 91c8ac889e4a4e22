/* agent.c - the first process of a pod */
#include "pod/agent.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libcommon/clean.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"
#include "libcommon/step_msg.h"
#include "pod/part.h"
#include "pod/room.h"

enum {
	OWN_FDS = 2,
	CONNS_MAX = 512,
	STRANGERS_MAX = 8, /* most connections from one address that have not
	                      proved to have the key */
	GREET_MS = 5000,
	/* If the connection to srun is lost, its step keeps its resources for
	 * this time, in which the tasks are to end. */
	HOLD_MS = 4000,
	STEPS_MAX = 40000,
	BACKLOG = 128,
	EXIT_FATAL = 71,
	NAME_BYTES = 64,
	LAST_BYTES = 3800 /* the record of steps may fill this much of the 4096
	                     bytes of the container's last message */
};

struct agent_conn {
	struct pod_link link;
	struct in6_addr peer;
	bool proven, done;
	int64_t until; /* monotonic ms: when to give up a connection that has
	                  not proved to have the key, or that is lost;
	                  0: never */
	struct step_part *part;
	struct room_claim *claim;
	char *name;    /* of the step that srun requests; NULL: none yet */
	json_t *begin; /* line of the record that says that the step began;
	                  NULL: the step has no resources yet */
	bool waits_told;
};

struct agent {
	struct pod_job job;
	int64_t self;
	int listen_fd, signals;
	pid_t script; /* 0: another pod runs it, or it has ended */
	int status;   /* of the script */
	bool ends;    /* SIGTERM has come, or the script has ended */
	struct agent_conn *conn[CONNS_MAX]; /* in order of arrival */
	size_t n;
	int64_t next_step;
	struct buf steps; /* lines of the record of steps, written at the end */
	int64_t signal_at; /* monotonic ms: when to signal steps; 0: never */
};

/* --- beginning ------------------------------------------------------------ */

/* Listen at a port of host, or of all addresses if host is NULL. */
static int listen_at(const char *host, int port, struct err *err)
{
	struct sockaddr_in6 all = { .sin6_family = AF_INET6,
		                    .sin6_port = htons((uint16_t)port) };
	struct sockaddr_in all4 = { .sin_family = AF_INET,
		                    .sin_port = htons((uint16_t)port) };
	int type = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, yes = 1, rc;
	int fd = host ? -1 : socket(AF_INET6, type, 0), no = 0;

	if (host)
		inet_pton(AF_INET, host, &all4.sin_addr);
	if (fd >= 0) {
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
		rc = bind(fd, (struct sockaddr *)&all, sizeof(all));
	} else { /* a kernel without IPv6 */
		fd = socket(AF_INET, type, 0);
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
		rc = bind(fd, (struct sockaddr *)&all4, sizeof(all4));
	}
	if (fd < 0 || rc < 0 || listen(fd, BACKLOG) < 0)
		return err_sys(err, "cannot listen at port %d", port);
	return fd;
}

static int take_signals(void)
{
	static const int taken[] = { SIGCHLD, SIGTERM, SIGINT, SIGHUP };
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(taken); i++)
		sigaddset(&set, taken[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int start_script(struct agent *a, char *const *argv, struct err *err)
{
	sigset_t none;

	if (a->self != 0)
		return 0;
	a->script = fork();
	if (a->script == 0) {
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		signal(SIGPIPE, SIG_DFL);
		execvp(argv[0], argv);
		fprintf(stderr, "aisched: error: cannot run %s: %s\n", argv[0],
		        strerror(errno));
		_exit(127);
	}
	return a->script < 0 ? err_sys(err, "cannot start a process") : 0;
}

/* --- connections ---------------------------------------------------------- */

static struct in6_addr address_of(const struct sockaddr_storage *from)
{
	struct in6_addr ret = { 0 };

	if (from->ss_family == AF_INET6)
		ret = ((const struct sockaddr_in6 *)(const void *)from)
		          ->sin6_addr;
	else
		memcpy(
		    &ret.s6_addr[12],
		    &((const struct sockaddr_in *)(const void *)from)->sin_addr,
		    4);
	return ret;
}

static void drop_room(struct agent_conn *c)
{
	if (c->claim)
		room_free(c->claim);
	free(c->claim);
	c->claim = NULL;
}

static void remove_conn(struct agent *a, size_t at)
{
	struct agent_conn *c = a->conn[at];

	pod_link_fini(&c->link);
	if (c->part)
		part_free(c->part);
	drop_room(c);
	free(c->name);
	json_decref(c->begin);
	free(c);
	a->n--;
	memmove(a->conn + at, a->conn + at + 1, (a->n - at) * sizeof(*a->conn));
}

/* Make room for a new connection from `peer`. If its address has too many
 * unproven connections, close the oldest of them; if no slot is free, close the
 * oldest unproven connection of all addresses. */
static void make_way(struct agent *a, const struct in6_addr *peer)
{
	size_t strangers = 0, oldest = a->n, any = a->n;

	for (size_t i = a->n; i-- > 0;) {
		const struct agent_conn *c = a->conn[i];

		if (c->proven)
			continue;
		any = i;
		if (memcmp(&c->peer, peer, sizeof(*peer)) != 0)
			continue;
		strangers++;
		oldest = i;
	}
	if (strangers >= STRANGERS_MAX)
		remove_conn(a, oldest);
	else if (a->n == CONNS_MAX && any < a->n)
		remove_conn(a, any);
}

static void accept_conn(struct agent *a)
{
	struct sockaddr_storage from = { 0 };
	socklen_t len = sizeof(from);
	struct agent_conn *c;
	int fd = accept4(a->listen_fd, (struct sockaddr *)&from, &len,
	                 SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;
	c = xcalloc(1, sizeof(*c));
	c->peer = address_of(&from);
	make_way(a, &c->peer);
	if (a->n == CONNS_MAX) {
		close(fd);
		free(c);
		return;
	}
	pod_link_init(&c->link, fd, a->job.key, false);
	c->until = clock_ms() + GREET_MS;
	a->conn[a->n++] = c;
}

/* --- resources of steps --------------------------------------------------- */

static void refuse(struct agent_conn *c, const struct err *err)
{
	pod_link_tell(
	    &c->link, POD_TELL,
	    json_pack("{s:s s:i}", "error", err->text, "code", err->code));
	drop_room(c);
}

static void refuse_ended(struct agent_conn *c)
{
	struct err err;

	err_set(&err, ESHUTDOWN, "Job/step already completing or completed");
	refuse(c, &err);
}

/* Add two lines to the record of steps: how the step began and how it ended.
 * Add none if the container's last message would become too long. */
static void remember(struct agent *a, struct agent_conn *c, const json_t *end)
{
	char *begin = json_dumps(c->begin, JSON_COMPACT), *text;
	json_t *line = json_copy((json_t *)(uintptr_t)end);

	json_object_set(line, "step", json_object_get(c->begin, "step"));
	json_object_set_new(line, "end", json_integer(clock_wall_s()));
	text = json_dumps(line, JSON_COMPACT);
	if (begin && text &&
	    a->steps.len + strlen(begin) + strlen(text) +
	            2 * sizeof(POD_LAST_STEP "\n") <
	        LAST_BYTES)
		buf_printf(&a->steps, POD_LAST_STEP "%s\n" POD_LAST_STEP "%s\n",
		           begin, text);
	free(begin);
	free(text);
	json_decref(line);
}

/* Returns the line for the beginning of a step, in the format of the
 * shepherd's record. */
static json_t *begin_of(const struct agent_conn *c, int64_t step)
{
	const struct room_claim *claim = c->claim;
	int64_t cpus = 0, mem = 0;
	int gpus = 0;

	for (size_t i = 0; i < claim->nparts; i++) {
		cpus += claim->part[i].cpus;
		mem += claim->part[i].mem_mib;
		gpus += __builtin_popcountll(claim->part[i].gpus);
	}
	return json_pack("{s:I s:s s:I s:I s:I s:i s:I}", "step",
	                 (json_int_t)step, "name", c->name, "tasks",
	                 (json_int_t)claim->ask.tasks, "cpus", (json_int_t)cpus,
	                 "mem_mib", (json_int_t)mem, "gpus", gpus, "start",
	                 (json_int_t)clock_wall_s());
}

static void tell_layout(struct agent *a, struct agent_conn *c)
{
	const struct room_claim *claim = c->claim;
	json_t *pods = json_array(), *tasks = json_array(),
	       *gpus = json_array();
	bool has = claim->ask.gpus >= 0 || claim->ask.gpus_task >= 0;

	c->begin = begin_of(c, a->next_step);
	for (size_t i = 0; i < claim->nparts; i++) {
		const struct room_part *p = &claim->part[i];

		json_array_append_new(pods, json_integer(p->pod));
		json_array_append_new(tasks, json_integer(p->tasks));
		json_array_append_new(gpus, json_integer((json_int_t)p->gpus));
	}
	pod_link_tell(&c->link, POD_ROOM,
	              json_pack("{s:I s:o s:o s:o s:I s:b}", "step",
	                        (json_int_t)a->next_step++, "pods", pods,
	                        "tasks", tasks, "gpus", gpus, "gpus_task",
	                        (json_int_t)claim->ask.gpus_task, "has_gpus",
	                        has));
}

static size_t claims(const struct agent *a, struct room_claim **ret)
{
	size_t n = 0;

	for (size_t i = 0; i < a->n; i++)
		if (a->conn[i]->claim && a->conn[i]->claim->nparts)
			ret[n++] = a->conn[i]->claim;
	return n;
}

/* Give resources to waiting steps in order of arrival. If too little is free
 * for a step, later steps wait, too, except steps with --overlap. */
static void serve_waiting(struct agent *a)
{
	struct room_claim *other[CONNS_MAX];
	bool blocked = false;

	for (size_t i = 0; i < a->n; i++) {
		struct agent_conn *c = a->conn[i];
		struct room_claim *claim = c->claim;

		if (!claim || claim->nparts || c->link.fd < 0)
			continue;
		if ((!blocked || claim->ask.flags & STEP_OVERLAP) &&
		    room_take(&a->job, claim, other, claims(a, other))) {
			tell_layout(a, c);
			continue;
		}
		blocked = true;
		if (!c->waits_told)
			pod_link_tell(&c->link, POD_ROOM,
			              json_pack("{s:s}", "waits",
			                        "Requested nodes are busy"));
		c->waits_told = true;
	}
}

static void hear_ask(struct agent *a, struct agent_conn *c,
                     const struct pod_frame *f)
{
	json_t *obj = pod_link_json(f);
	const char *name = "";
	struct err err;

	json_unpack(obj, "{s?s}", "name", &name);
	c->name = xstrndup(name, NAME_BYTES);
	c->name[text_clean(c->name, strlen(c->name))] = '\0';
	c->claim = xcalloc(1, sizeof(*c->claim));
	if (a->ends) {
		refuse_ended(c);
	} else if (a->next_step >= STEPS_MAX) {
		err_set(&err, EDQUOT, "Step limit reached for this job");
		refuse(c, &err);
	} else if (room_ask_read(&a->job, obj, &c->claim->ask, &err) < 0 ||
	           room_check(&a->job, &c->claim->ask, &err) < 0) {
		refuse(c, &err);
	}
	json_decref(obj);
}

/* --- messages of srun ----------------------------------------------------- */

static void hear_done(struct agent *a, struct agent_conn *c,
                      const struct pod_frame *f)
{
	json_t *end = pod_link_json(f);

	drop_room(c);
	c->done = true;
	if (json_is_object(end))
		remember(a, c, end);
	json_decref(end);
}

static void hear_frame(struct agent *a, struct agent_conn *c,
                       const struct pod_frame *f)
{
	bool fresh = !c->part && !c->name && !c->done;

	if (f->type == POD_PROOF && !c->proven) {
		c->proven = true;
		c->until = 0;
		pod_link_put(&c->link, POD_PROOF, NULL, 0, NULL, 0);
	} else if (f->type == POD_ASK && fresh && a->self == 0) {
		hear_ask(a, c, f);
	} else if (f->type == POD_LAUNCH && fresh) {
		c->part = part_new(&a->job, &c->link, f);
		if (c->part && a->ends)
			part_end(c->part);
	} else if (f->type == POD_DONE && c->begin && !c->done) {
		hear_done(a, c, f);
	} else if (c->part) {
		part_hear(c->part, f);
	} else {
		pod_link_close(&c->link);
	}
}

static void hear_conn(struct agent *a, struct agent_conn *c)
{
	struct pod_frame f;

	if (!pod_link_read(&c->link))
		pod_link_close(&c->link);
	while (pod_link_next(&c->link, &f))
		hear_frame(a, c, &f);
}

static void reap(struct agent *a)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == a->script) {
			a->script = 0;
			a->status = status;
			a->ends = true;
			continue;
		}
		for (size_t i = 0; i < a->n; i++)
			if (a->conn[i]->part &&
			    part_reaped(a->conn[i]->part, pid, status))
				break;
	}
}

static void tell_end(struct agent_conn *c)
{
	if (c->part)
		part_job_ends(c->part);
	else if (c->claim && c->claim->nparts)
		pod_link_tell(&c->link, POD_TELL,
		              json_pack("{s:s}", "ends", "job"));
	else if (c->claim)
		refuse_ended(c);
}

/* Tell all connections that the job ends, then send SIGTERM to the script. The
 * script's shell signals all processes of the pod; so an srun among them hears
 * that the job ends before it gets the signal. */
static void terminate(struct agent *a)
{
	if (a->ends)
		return;
	a->ends = true;
	for (size_t i = 0; i < a->n; i++)
		tell_end(a->conn[i]);
	if (a->script)
		kill(a->script, SIGTERM);
	else if (getpid() == 1)
		kill(-1, SIGTERM);
}

static void take_signal(struct agent *a)
{
	struct signalfd_siginfo info;

	while (read(a->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
		if (info.ssi_signo == SIGCHLD)
			reap(a);
		else
			terminate(a);
}

/* Send the signal of --signal to the steps when it is time. */
static void signal_steps(struct agent *a)
{
	if (!a->signal_at || clock_ms() < a->signal_at)
		return;
	a->signal_at = 0;
	for (size_t i = 0; i < a->n; i++)
		if (a->conn[i]->part)
			part_signal(a->conn[i]->part, (int)a->job.signal);
}

/* --- the loop ------------------------------------------------------------- */

/* Returns the earlier of two times; -1 is never. */
static int64_t sooner(int64_t a, int64_t b)
{
	return a < 0 || (b >= 0 && b < a) ? b : a;
}

static int64_t until(int64_t when)
{
	int64_t left = when - clock_ms();

	return !when ? -1 : left > 0 ? left : 0;
}

static int timeout(const struct agent *a)
{
	int64_t least = until(a->signal_at);

	for (size_t i = 0; i < a->n; i++) {
		const struct agent_conn *c = a->conn[i];

		least = sooner(least, until(c->until));
		if (c->part && c->link.fd < 0 && part_timeout(c->part) < 0)
			return 0;
		if (c->part)
			least = sooner(least, part_timeout(c->part));
	}
	return least > INT32_MAX ? INT32_MAX : (int)least;
}

static size_t fill_poll(const struct agent *a, struct pollfd *p)
{
	size_t n = OWN_FDS;

	p[0] = (struct pollfd){ a->listen_fd, POLLIN, 0 };
	p[1] = (struct pollfd){ a->signals, POLLIN, 0 };
	for (size_t i = 0; i < a->n; i++) {
		const struct pod_link *l = &a->conn[i]->link;
		short out = pod_link_unsent(l) ? POLLOUT : 0;

		p[n++] = (struct pollfd){ l->fd, (short)(POLLIN | out), 0 };
	}
	for (size_t i = 0; i < a->n; i++)
		if (a->conn[i]->part)
			n += part_poll(a->conn[i]->part, p + n);
	return n;
}

static void move(struct agent *a, const struct pollfd *p)
{
	size_t conns = a->n, at = OWN_FDS + conns;

	for (size_t i = 0; i < conns; i++) {
		struct step_part *part = a->conn[i]->part;
		size_t most = part ? part_most(part) : 0;

		if (part)
			part_move(part, p + at, most);
		at += most;
	}
	if (p[1].revents)
		take_signal(a);
	for (size_t i = 0; i < conns; i++) {
		struct agent_conn *c = a->conn[i];

		if (p[OWN_FDS + i].revents & POLLOUT)
			pod_link_flush(&c->link);
		if (p[OWN_FDS + i].revents & (POLLIN | POLLHUP | POLLERR) &&
		    c->link.fd >= 0)
			hear_conn(a, c);
	}
	if (p[0].revents)
		accept_conn(a);
}

static bool is_over(struct agent_conn *c, int64_t now)
{
	if (c->part) {
		if (part_step(c->part))
			return false;
		part_free(c->part);
		c->part = NULL;
		c->done = true;
	}
	if (c->link.fd >= 0)
		return c->until && now >= c->until;
	if (!c->claim || !c->claim->nparts)
		return true;
	/* srun has gone: keep the resources until its tasks have had time
	 * to end. */
	if (!c->until)
		c->until = now + HOLD_MS;
	return now >= c->until;
}

/* Close a connection. If srun has not reported the end of its step, record the
 * step as cancelled. */
static void close_conn(struct agent *a, size_t at)
{
	struct agent_conn *c = a->conn[at];
	json_t *end;

	if (c->begin && !c->done) {
		end = json_pack("{s:i s:i s:s}", "exit_code", 0, "signal",
		                SIGKILL, "why", "cancel");
		remember(a, c, end);
		json_decref(end);
	}
	remove_conn(a, at);
}

static void turn(struct agent *a)
{
	size_t most = OWN_FDS + a->n;
	struct pollfd *p;

	for (size_t i = 0; i < a->n; i++)
		if (a->conn[i]->part)
			most += part_most(a->conn[i]->part);
	p = xcalloc(most, sizeof(*p));
	if (poll(p, fill_poll(a, p), timeout(a)) > 0)
		move(a, p);
	free(p);
	signal_steps(a);
	for (size_t i = a->n; i-- > 0;)
		if (is_over(a->conn[i], clock_ms()))
			close_conn(a, i);
	serve_waiting(a);
}

static bool has_tasks(const struct agent *a)
{
	for (size_t i = 0; i < a->n; i++)
		if (a->conn[i]->part)
			return true;
	return false;
}

/* Whether the agent must keep running: in the first pod until the script has
 * ended, in other pods until SIGTERM has come and all tasks have ended. */
static bool goes_on(const struct agent *a)
{
	if (a->self == 0)
		return a->script != 0;
	return !a->ends || has_tasks(a);
}

static int exit_status(const struct agent *a)
{
	if (a->self != 0)
		return EXIT_SUCCESS;
	return WIFSIGNALED(a->status) ? 128 + WTERMSIG(a->status)
	                              : WEXITSTATUS(a->status);
}

/* Append the record of steps to the container's termination message, after what
 * the script's shell has written there. */
static void leave_steps(struct agent *a)
{
	const char *path = getenv(POD_LAST_VAR);
	int fd = a->steps.len
	             ? open(path ? path : POD_LAST_FILE,
	                    O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600)
	             : -1;

	if (fd >= 0 && write(fd, a->steps.data, a->steps.len) < 0)
		errno = 0; /* go on without the record, which is lost */
	if (fd >= 0)
		close(fd);
	buf_free(&a->steps);
}

int pod_agent(char *const *argv)
{
	struct agent a = { .listen_fd = -1 };
	struct err err;

	if (pod_job_read(&a.job, &err) < 0)
		goto failed;
	a.self = pod_job_self(&a.job);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	a.signals = take_signals();
	a.listen_fd = listen_at(
	    a.job.host, (int)(a.job.port + (a.job.host ? a.self : 0)), &err);
	if (a.job.signal && (a.self || a.job.signal_first))
		a.signal_at = clock_ms() + a.job.signal_after * 1000;
	if (a.listen_fd < 0 || start_script(&a, argv, &err) < 0)
		goto failed;
	while (goes_on(&a))
		turn(&a);
	while (a.n)
		close_conn(&a, 0);
	leave_steps(&a);
	pod_job_free(&a.job);
	return exit_status(&a);
failed:
	fprintf(stderr, "aisched: error: %s\n", err.text);
	return EXIT_FATAL;
}
