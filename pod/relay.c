/* relay.c - pass messages between srun and the agents of the pods */
#include "pod/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libcommon/clock.h"
#include "libcommon/fdpass.h"
#include "libcommon/hostlist.h"
#include "pod/link.h"

enum {
	/* The connection to srun, and the one to the agent of the first pod. */
	OWN_FDS = 2,
	CHUNK = 32768,
	SRUN_BYTES = 1 << 20,
	SIZE_MS = 500,
	PROOF_MS = 30000,
	PROOFS = 20,
	PROOF_PAUSE_US = 100000
};

/* A stream of a task: our end of the pipe to srun. */
struct relay_stream {
	int fd;          /* -1: none, or closed */
	struct buf text; /* output that srun has not read yet */
	bool ends;       /* nothing more comes */
};

struct relay_task {
	struct relay_stream in, out[2];
	bool told, ended;
	int64_t node; /* index of its pod in the layout */
};

struct relay_node {
	struct pod_link link;
	int64_t pod, first, tasks;
	bool ended;
};

struct relay {
	const struct pod_job *job;
	const struct srun *srun;
	int sock;       /* to srun */
	struct buf raw; /* the request, as it is sent to agents */
	struct step_request req;
	struct pod_link head;
	char *layout; /* JSON */
	struct relay_node *node;
	size_t nnodes;
	struct relay_task *task; /* [req.tasks] */
	int terminal; /* srun's terminal, whose size tasks get; -1: none */
	struct winsize size;
	int64_t end_at; /* monotonic ms: the time limit of the step; 0: none */
	int worst;      /* wait status of the task with the highest exit code */
	bool by_time, stopped, job_ends;
};

/* --- srun ----------------------------------------------------------------- */

__attribute__((noreturn)) static void leave(int status)
{
	_exit(status);
}

/* Send srun a message with n descriptors, and close these. Exits if srun
 * has gone. */
static void tell_with(struct relay *r, json_t *msg, int *fd, int n)
{
	char *text = json_dumps(msg, JSON_COMPACT);

	if (fdpass_send(r->sock, text, strlen(text), fd, n, 0) < 0)
		leave(EXIT_FAILURE);
	while (n > 0)
		close(fd[--n]);
	free(text);
	json_decref(msg);
}

static void tell(struct relay *r, json_t *msg)
{
	tell_with(r, msg, NULL, 0);
}

__attribute__((noreturn)) static void fail(struct relay *r,
                                           const struct err *err)
{
	tell(r, json_pack("{s:s s:i}", "error", err->text, "code", err->code));
	leave(EXIT_FAILURE);
}

static int read_raw(int fd, struct buf *ret)
{
	ssize_t n;

	lseek(fd, 0, SEEK_SET);
	while ((n = read(fd, buf_room(ret, 65536), 65536)) > 0)
		buf_grew(ret, (size_t)n);
	return n < 0 || ret->len > STEP_REQUEST_MAX ? -1 : 0;
}

/* Read the first message of srun: its request and descriptors. */
static void greet(struct relay *r)
{
	char hello;
	int fd[STEP_FDS], n;
	struct err err;

	if (fdpass_recv(r->sock, &hello, 1, fd, STEP_FDS, &n, 0) != 1 ||
	    n != STEP_FDS)
		leave(EXIT_FAILURE);
	if (read_raw(fd[0], &r->raw) < 0 ||
	    step_request_parse(r->raw.data, r->raw.len, &r->req, &err) < 0) {
		err_set(&err, EINVAL, "bad request for a step");
		fail(r, &err);
	}
	r->terminal = r->req.flags & STEP_PTY ? fd[1] : -1;
	for (int i = 0; i < STEP_FDS; i++)
		if (fd[i] != r->terminal)
			close(fd[i]);
}

/* --- request resources from the first pod --------------------------------- */

static json_t *only(const struct relay *r, struct err *err)
{
	struct hostlist list = { 0 };
	json_t *pods = json_array();

	if (!r->srun->node)
		return pods;
	if (hostlist_parse(&list, r->srun->node, err) < 0)
		goto bad;
	for (size_t i = 0; i < list.n; i++) {
		int64_t pod = 0;
		char name[POD_NAME_MAX];

		for (; pod < r->job->pods; pod++) {
			size_t len = strlen(list.name[i]);

			pod_job_node(r->job, pod, name);
			if (!strncmp(name, list.name[i], len) &&
			    (!name[len] || name[len] == '.'))
				break;
		}
		if (pod == r->job->pods)
			goto bad;
		json_array_append_new(pods, json_integer(pod));
	}
	hostlist_free(&list);
	return pods;
bad:
	hostlist_free(&list);
	json_decref(pods);
	err_set(err, EINVAL, "Requested node configuration is not available");
	return NULL;
}

static json_t *question(const struct relay *r, struct err *err)
{
	const struct srun *s = r->srun;
	json_t *pods = only(r, err);
	int64_t gpus = s->gpus_per_task >= 0 ? -1 : s->gpus;

	/* s->gpus is from --gpus, for the whole step, or from --gres, for each
	 * node. If it is more than a pod has, it must be from --gpus. */
	if (gpus > r->job->gpus)
		gpus = (gpus + (s->nodes ? s->nodes : r->job->pods) - 1) /
		       (s->nodes ? s->nodes : r->job->pods);
	return pods ? json_pack("{s:I s:I s:I s:I s:I s:I s:I s:I s:o s:s}",
	                        "tasks", (json_int_t)r->req.tasks, "nodes",
	                        (json_int_t)s->nodes, "per_node",
	                        (json_int_t)s->tasks_per_node, "cpus",
	                        (json_int_t)r->req.cpus, "mem",
	                        (json_int_t)r->req.mem_mib, "gpus",
	                        (json_int_t)gpus, "gpus_task",
	                        (json_int_t)s->gpus_per_task, "flags",
	                        (json_int_t)r->req.flags, "only", pods, "name",
	                        r->req.name)
	            : NULL;
}

/* Wait until both sides have proved that they have the key. Returns false if
 * the other side closes the connection, or does not answer. */
static bool is_proved(struct relay *r, struct pod_link *link)
{
	struct pod_frame f;

	while (!pod_link_next(link, &f) || f.type != POD_PROOF) {
		struct pollfd p[] = { { r->sock, 0, 0 },
			              { link->fd, POLLIN, 0 } };

		if (link->fd < 0 || poll(p, 2, PROOF_MS) <= 0 ||
		    !pod_link_read(link))
			return false;
		if (p[0].revents)
			leave(EXIT_FAILURE);
	}
	return true;
}

/* Connect to an agent, and prove to have the key. This is tried several times,
 * because the agent may close the connection if others flood it. */
static void meet(struct relay *r, struct pod_link *link, int64_t pod)
{
	char name[POD_NAME_MAX];
	struct err err;

	for (int i = 0; i < PROOFS; i++) {
		int fd = pod_job_connect(r->job, pod, &err);

		if (fd < 0)
			fail(r, &err);
		pod_link_init(link, fd, r->job->key, true);
		if (is_proved(r, link))
			return;
		pod_link_fini(link);
		usleep(PROOF_PAUSE_US);
	}
	pod_job_node(r->job, pod, name);
	err_set(&err, EIO, "the agent in '%s' hung up", name);
	fail(r, &err);
}

/* Handle an answer to the request for resources; returns whether the step
 * has them. */
static bool hear_room(struct relay *r, const struct pod_frame *f)
{
	json_t *msg = pod_link_json(f);
	bool begins = json_object_get(msg, "pods") != NULL;
	const char *text = NULL;
	json_int_t step;
	int code;

	if (!msg)
		return false;
	if (begins && json_unpack(msg, "{s:I}", "step", &step) == 0) {
		tell(r, json_pack("{s:I}", "step", step));
		r->layout = xstrndup((const char *)f->data, f->len);
	} else {
		tell(r, json_incref(msg));
	}
	if (!json_unpack(msg, "{s:s s:i}", "error", &text, "code", &code))
		leave(EXIT_FAILURE);
	json_decref(msg);
	return begins;
}

static void await_room(struct relay *r)
{
	struct pod_frame f;
	struct err err;
	json_t *ask = question(r, &err);

	if (!ask)
		fail(r, &err);
	meet(r, &r->head, 0);
	pod_link_tell(&r->head, POD_ASK, ask);
	for (;;) {
		struct pollfd p[] = { { r->sock, POLLIN, 0 },
			              { r->head.fd, POLLIN, 0 } };

		while (pod_link_next(&r->head, &f))
			if (hear_room(r, &f))
				return;
		if (r->head.fd < 0 || poll(p, 2, -1) < 0 ||
		    (p[1].revents && !pod_link_read(&r->head))) {
			err_set(&err, EIO, "the agent of the job hung up");
			fail(r, &err);
		}
		if (p[0].revents)
			leave(EXIT_FAILURE);
	}
}

/* --- launch --------------------------------------------------------------- */

static void launch_node(struct relay *r, size_t i)
{
	struct relay_node *n = &r->node[i];
	json_t *layout = json_loads(r->layout, 0, NULL);
	char *text;

	json_object_set_new(layout, "node", json_integer((json_int_t)i));
	text = json_dumps(layout, JSON_COMPACT);
	meet(r, &n->link, n->pod);
	pod_link_put(&n->link, POD_LAUNCH, text, strlen(text) + 1, r->raw.data,
	             r->raw.len);
	free(text);
	json_decref(layout);
}

static void launch(struct relay *r)
{
	json_t *layout = json_loads(r->layout, 0, NULL);
	const json_t *pods = json_object_get(layout, "pods");
	const json_t *tasks = json_object_get(layout, "tasks");
	int64_t rank = 0;

	r->nnodes = json_array_size(pods);
	r->node = xcalloc(r->nnodes, sizeof(*r->node));
	r->task = xcalloc((size_t)r->req.tasks, sizeof(*r->task));
	for (size_t i = 0; i < r->nnodes; i++) {
		struct relay_node *n = &r->node[i];

		n->pod = json_integer_value(json_array_get(pods, i));
		n->first = rank;
		n->tasks = json_integer_value(json_array_get(tasks, i));
		for (int64_t k = 0; k < n->tasks && rank < r->req.tasks; k++)
			r->task[rank++].node = (int64_t)i;
	}
	json_decref(layout);
	for (int64_t i = 0; i < r->req.tasks; i++)
		r->task[i].in.fd = r->task[i].out[0].fd = r->task[i].out[1].fd =
		    -1;
	for (size_t i = 0; i < r->nnodes; i++)
		launch_node(r, i);
	if (r->req.limit_s)
		r->end_at = clock_ms() + r->req.limit_s * 1000;
}

static void order_all(struct relay *r, json_t *msg)
{
	for (size_t i = 0; i < r->nnodes; i++)
		pod_link_tell(&r->node[i].link, POD_ORDER, json_incref(msg));
	json_decref(msg);
}

/* --- streams -------------------------------------------------------------- */

static bool has_stream(const struct relay *r, int i, int64_t rank)
{
	return r->req.task[i] == STEP_ALL_TASKS || r->req.task[i] == rank;
}

static void make_pipe(struct relay_stream *s, bool input, int *theirs)
{
	int fd[2];

	if (pipe2(fd, O_CLOEXEC) < 0)
		leave(EXIT_FAILURE);
	s->fd = fd[!input];
	*theirs = fd[input];
	fcntl(s->fd, F_SETFL, O_NONBLOCK);
}

/* Give srun a socket in place of the master end of the task's terminal, which
 * is in the pod. */
static void make_terminal(struct relay_task *t, int *theirs)
{
	int fd[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) < 0)
		leave(EXIT_FAILURE);
	fcntl(fd[0], F_SETFL, O_NONBLOCK);
	*theirs = fd[1];
	t->in.fd = fd[0];
	t->out[0].fd = fcntl(fd[0], F_DUPFD_CLOEXEC, 0);
}

static void task_began(struct relay *r, int64_t rank, json_int_t pid)
{
	static const int64_t pipes[] = { STEP_PIPE_IN, STEP_PIPE_OUT,
		                         STEP_PIPE_ERR };
	struct relay_task *t = &r->task[rank];
	struct relay_stream *stream[] = { &t->in, &t->out[0], &t->out[1] };
	bool pty = r->req.flags & STEP_PTY;
	int fd[STEP_FDS], n = 0;

	if (t->told)
		return;
	t->told = true;

	if (pty)
		make_terminal(t, &fd[n++]);
	for (int i = 0; !pty && i < 3; i++)
		if (r->req.flags & pipes[i] && has_stream(r, i, rank))
			make_pipe(stream[i], i == 0, &fd[n++]);
	tell_with(r,
	          json_pack("{s:I s:I s:I}", "task", (json_int_t)rank, "pid",
	                    pid, "node", (json_int_t)r->node[t->node].pod),
	          fd, n);
}

static void end_stream(struct relay_stream *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	buf_free(&s->text);
}

static void put_stream(struct relay_stream *s)
{
	ssize_t n = 1;

	while (s->fd >= 0 && s->text.len && n > 0) {
		n = write(s->fd, s->text.data, s->text.len);
		if (n > 0) {
			memmove(s->text.data, s->text.data + n,
			        s->text.len - (size_t)n);
			s->text.len -= (size_t)n;
		} else if (errno != EAGAIN && errno != EINTR) {
			end_stream(s);
		}
	}
	if (s->ends && !s->text.len)
		end_stream(s);
}

static void hear_output(struct relay *r, const struct relay_node *n,
                        const struct pod_frame *f)
{
	int64_t rank;
	struct relay_stream *s;

	if (f->len < 5 || f->data[4] < 1 || f->data[4] > 2)
		return;
	rank = (int64_t)((uint32_t)f->data[0] << 24 | f->data[1] << 16 |
	                 f->data[2] << 8 | f->data[3]);
	if (rank < n->first || rank >= n->first + n->tasks)
		return;
	s = &r->task[rank].out[f->data[4] - 1];
	if (f->len == 5)
		s->ends = true;
	else if (s->fd >= 0)
		buf_add(&s->text, f->data + 5, f->len - 5);
	put_stream(s);
}

static void send_input(struct relay *r, int64_t rank, const void *data,
                       size_t len)
{
	uint8_t head[4] = { (uint8_t)(rank >> 24), (uint8_t)(rank >> 16),
		            (uint8_t)(rank >> 8), (uint8_t)rank };

	pod_link_put(&r->node[r->task[rank].node].link, POD_INPUT, head,
	             sizeof(head), data, len);
}

static void take_input(struct relay *r, int64_t rank)
{
	static char chunk[CHUNK];
	struct relay_stream *s = &r->task[rank].in;
	ssize_t n = read(s->fd, chunk, sizeof(chunk));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	send_input(r, rank, chunk, n > 0 ? (size_t)n : 0);
	if (n <= 0)
		end_stream(s);
}

static void send_size(struct relay *r)
{
	struct winsize size;
	uint8_t to[4];

	if (r->terminal < 0 || ioctl(r->terminal, TIOCGWINSZ, &size) < 0 ||
	    !memcmp(&size, &r->size, sizeof(size)))
		return;
	r->size = size;
	to[0] = (uint8_t)(size.ws_row >> 8);
	to[1] = (uint8_t)size.ws_row;
	to[2] = (uint8_t)(size.ws_col >> 8);
	to[3] = (uint8_t)size.ws_col;
	pod_link_put(&r->node[0].link, POD_SIZE, to, sizeof(to), NULL, 0);
}

/* --- messages of agents and srun ------------------------------------------ */

static int code_of(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status)
	                           : WEXITSTATUS(status);
}

static void task_ended(struct relay *r, int64_t rank, int status)
{
	struct relay_task *t = &r->task[rank];

	if (t->ended)
		return;
	task_began(r, rank, 0);
	t->ended = true;
	if (code_of(status) > code_of(r->worst))
		r->worst = status;
	tell(r, json_pack("{s:I s:i}", "task", (json_int_t)rank, "status",
	                  status));
}

/* Tell all agents that the job ends, so that they give tasks the job's grace
 * even if srun, which gets the job's signal, asks to stop the step sooner. */
static void job_ends(struct relay *r, const json_t *msg)
{
	if (r->job_ends)
		return;
	r->job_ends = r->stopped = true;
	tell(r, json_copy((json_t *)(uintptr_t)msg));
	order_all(r, json_copy((json_t *)(uintptr_t)msg));
}

static void hear_tell(struct relay *r, struct relay_node *n,
                      const struct pod_frame *f)
{
	json_t *msg = pod_link_json(f);
	json_int_t rank = -1, pid;
	int status;
	bool own;

	json_unpack(msg, "{s?I}", "task", &rank);
	own = rank >= n->first && rank < n->first + n->tasks;
	if (own && !json_unpack(msg, "{s:i}", "status", &status))
		task_ended(r, rank, status);
	else if (own && !json_unpack(msg, "{s:I}", "pid", &pid))
		task_began(r, rank, pid);
	else if (json_object_get(msg, "end"))
		n->ended = true;
	else if (json_object_get(msg, "error"))
		tell(r, json_incref(msg));
	else if (json_object_get(msg, "ends"))
		job_ends(r, msg);
	json_decref(msg);
}

/* Read from the agent of the first pod, which reports that the job ends. */
static void hear_head(struct relay *r)
{
	struct pod_frame f;
	json_t *msg;

	if (!pod_link_read(&r->head))
		pod_link_close(&r->head);
	while (pod_link_next(&r->head, &f)) {
		msg = pod_link_json(&f);
		if (json_object_get(msg, "ends"))
			job_ends(r, msg);
		json_decref(msg);
	}
}

/* End the step because the connection to an agent is lost, which happens if its
 * pod has failed. */
static void lose(struct relay *r, struct relay_node *n)
{
	char name[POD_NAME_MAX];

	if (n->ended)
		return;
	n->ended = true;
	pod_job_node(r->job, n->pod, name);
	fprintf(stderr, "srun: error: Node failure on %s\n", name);
	for (int64_t i = n->first; i < n->first + n->tasks; i++) {
		task_ended(r, i, SIGKILL);
		r->task[i].out[0].ends = r->task[i].out[1].ends = true;
		put_stream(&r->task[i].out[0]);
		put_stream(&r->task[i].out[1]);
	}
	r->stopped = true;
	order_all(r, json_pack("{s:I}", "stop", (json_int_t)r->job->grace));
}

static void hear_node(struct relay *r, struct relay_node *n)
{
	struct pod_frame f;

	if (!pod_link_read(&n->link))
		pod_link_close(&n->link);
	while (pod_link_next(&n->link, &f))
		if (f.type == POD_OUTPUT)
			hear_output(r, n, &f);
		else if (f.type == POD_TELL)
			hear_tell(r, n, &f);
	if (n->link.fd < 0)
		lose(r, n);
}

static void hear_srun(struct relay *r)
{
	char text[256];
	ssize_t n = recv(r->sock, text, sizeof(text), MSG_DONTWAIT);
	json_t *msg;

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		leave(EXIT_FAILURE);
	msg = n > 0 ? json_loadb(text, (size_t)n, 0, NULL) : NULL;
	if (json_object_get(msg, "stop")) {
		/* The agent reports the end of the job before srun gets the
		 * job's signal: read this report first. */
		hear_head(r);
		r->stopped = true;
	}
	if (msg)
		order_all(r, msg);
}

/* --- the loop ------------------------------------------------------------- */

/* Whether reading output of the pod must pause, because srun has more than
 * SRUN_BYTES of earlier output to read. */
static bool is_full(const struct relay *r, const struct relay_node *n)
{
	size_t waits = 0;

	for (int64_t i = n->first; i < n->first + n->tasks; i++)
		waits +=
		    r->task[i].out[0].text.len + r->task[i].out[1].text.len;
	return waits > SRUN_BYTES;
}

static size_t fill_poll(const struct relay *r, struct pollfd *p)
{
	size_t n = 0;

	p[n++] = (struct pollfd){ r->sock, POLLIN, 0 };
	p[n++] = (struct pollfd){ r->head.fd, POLLIN, 0 };
	for (size_t i = 0; i < r->nnodes; i++) {
		const struct relay_node *node = &r->node[i];
		int events = is_full(r, node) ? 0 : POLLIN;

		if (pod_link_unsent(&node->link))
			events |= POLLOUT;
		p[n++] = (struct pollfd){ node->link.fd, (short)events, 0 };
	}
	for (int64_t i = 0; i < r->req.tasks; i++) {
		const struct relay_task *t = &r->task[i];
		bool full =
		    pod_link_unsent(&r->node[t->node].link) > POD_LINK_FULL;

		p[n++] = (struct pollfd){ full ? -1 : t->in.fd, POLLIN, 0 };
		for (int k = 0; k < 2; k++)
			p[n++] =
			    (struct pollfd){ t->out[k].text.len ? t->out[k].fd
				                                : -1,
				             POLLOUT, 0 };
	}
	return n;
}

static void move(struct relay *r, const struct pollfd *p)
{
	const struct pollfd *at = p + OWN_FDS + r->nnodes;

	for (int64_t i = 0; i < r->req.tasks; i++, at += 3) {
		if (at[0].revents && r->task[i].in.fd >= 0)
			take_input(r, i);
		for (int k = 0; k < 2; k++)
			if (at[1 + k].revents)
				put_stream(&r->task[i].out[k]);
	}
	for (size_t i = 0; i < r->nnodes; i++) {
		short is = p[OWN_FDS + i].revents;

		if (is & POLLOUT)
			pod_link_flush(&r->node[i].link);
		if (is & (POLLIN | POLLHUP | POLLERR))
			hear_node(r, &r->node[i]);
	}
	if (p[1].revents)
		hear_head(r);
	if (p[0].revents)
		hear_srun(r);
}

static bool is_over(const struct relay *r)
{
	for (size_t i = 0; i < r->nnodes; i++)
		if (!r->node[i].ended)
			return false;
	for (int64_t i = 0; i < r->req.tasks; i++)
		for (int k = 0; k < 2; k++)
			if (r->task[i].out[k].fd >= 0 &&
			    r->task[i].out[k].text.len)
				return false;
	return true;
}

static int wait_ms(const struct relay *r)
{
	int64_t left = r->end_at ? r->end_at - clock_ms() : -1;

	if (r->end_at && left < 0)
		left = 0;
	if (r->terminal >= 0 && (left < 0 || left > SIZE_MS))
		left = SIZE_MS;
	return left > INT32_MAX ? INT32_MAX : (int)left;
}

static void check_limit(struct relay *r)
{
	if (!r->end_at || clock_ms() < r->end_at)
		return;
	r->end_at = 0;
	r->by_time = true;
	tell(r, json_pack("{s:s}", "ends", "time"));
	order_all(r, json_pack("{s:I}", "stop", (json_int_t)r->job->grace));
}

static void live(struct relay *r)
{
	size_t most = OWN_FDS + r->nnodes + 3 * (size_t)r->req.tasks;
	struct pollfd *p = xcalloc(most, sizeof(*p));

	send_size(r);
	while (!is_over(r)) {
		if (poll(p, fill_poll(r, p), wait_ms(r)) > 0)
			move(r, p);
		check_limit(r);
		send_size(r);
	}
	free(p);
}

__attribute__((noreturn)) static void relay(const struct pod_job *job,
                                            const struct srun *srun, int sock)
{
	struct relay r = { .job = job, .srun = srun, .sock = sock };

	greet(&r);
	await_room(&r);
	launch(&r);
	live(&r);
	for (int64_t i = 0; i < r.req.tasks; i++) {
		end_stream(&r.task[i].out[0]);
		end_stream(&r.task[i].out[1]);
	}
	pod_link_tell(
	    &r.head, POD_DONE,
	    json_pack("{s:i s:i s:s}", "exit_code",
	              WIFEXITED(r.worst) ? WEXITSTATUS(r.worst) : 0, "signal",
	              WIFSIGNALED(r.worst) ? WTERMSIG(r.worst) : 0, "why",
	              r.by_time   ? "time"
	              : r.stopped ? "cancel"
	                          : ""));
	tell(&r, json_pack("{s:i}", "end", 0));
	leave(EXIT_SUCCESS);
}

/* Raise the number of open files: each task has up to four descriptors. */
static void raise_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

int relay_start(const struct pod_job *job, const struct srun *srun,
                struct err *err)
{
	pid_t parent = getpid(), pid;
	sigset_t all;
	int fd[2];

	raise_files();
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd) < 0)
		return err_sys(err, "cannot make a connection");
	pid = fork();
	if (pid < 0) {
		close(fd[0]);
		close(fd[1]);
		return err_sys(err, "cannot start a process");
	}
	if (pid == 0) {
		/* Block all signals: srun handles them. */
		sigfillset(&all);
		sigprocmask(SIG_BLOCK, &all, NULL);
		signal(SIGPIPE, SIG_IGN);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(fd[0]);
		if (getppid() != parent)
			leave(EXIT_FAILURE);
		relay(job, srun, fd[1]);
	}
	close(fd[1]);
	return fd[0];
}
