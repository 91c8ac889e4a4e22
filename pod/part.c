/* part.c - the tasks of a step in this pod */
#include "pod/part.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libcommon/clock.h"
#include "pod/proc.h"
#include "pod/task.h"

enum {
	CHUNK = 32768,
	LOST_GRACE_S = 2, /* longest grace of tasks whose srun has gone */
	KILL_PAUSE_MS = 20,
	/* time before SIGKILL for processes that are left after all tasks
	 * have ended */
	LINGER_MS = 200,
	/* The first LOOKS_MAX searches count processes in the middle of an exec
	 * as the step's; later ones ignore them. */
	LOOKS_MAX = 500,
	STREAMS = 3,
	INPUT_MAX = 4 << 20
};

struct step_part {
	const struct pod_job *job;
	struct pod_link *link;
	char *data; /* the launch frame, to which req and image point */
	struct step_request req;
	struct pod_layout layout;
	struct pod_image image;
	struct buf mark;
	struct pod_task *task; /* [n] */
	struct buf *input;     /* [n]: bytes that the task has not read yet */
	bool *input_ends;      /* [n] */
	pid_t *pid;            /* [n] */
	size_t n, alive;
	int64_t kill_at; /* monotonic ms: when to send SIGKILL; 0: never */
	uint32_t looks;  /* number of searches for processes since all tasks
	                    have ended */
	bool stopping, clearing, by_job;
};

/* --- the launch ----------------------------------------------------------- */

static int read_launch(struct step_part *p, const struct pod_frame *frame)
{
	const char *at, *end;
	char **argv;

	p->data = xmalloc(frame->len + 1);
	memcpy(p->data, frame->data, frame->len);
	at = p->data;
	end = p->data + frame->len;
	if (!step_next_text(&at, end) ||
	    step_request_parse(at, (size_t)(end - at), &p->req, NULL) < 0 ||
	    pod_layout_read(p->job, p->data, p->req.tasks, &p->layout, NULL) <
	        0 ||
	    p->req.argc > (int64_t)p->req.texts_len)
		return -1;
	at = p->req.texts;
	p->image.arena = arena_new();
	argv = arena_array(p->image.arena, char *, (size_t)p->req.argc + 1);
	for (int64_t i = 0; i < p->req.argc; i++) {
		argv[i] = (char *)(uintptr_t)step_next_text(&at, end);
		if (!argv[i])
			return -1;
	}
	p->image.job = p->job;
	p->image.layout = &p->layout;
	p->image.req = &p->req;
	p->image.argv = argv;
	p->image.env = at;
	p->image.env_len = (size_t)(end - at);
	return 0;
}

static int64_t rank_of(const struct step_part *p, size_t i)
{
	return pod_layout_first(&p->layout) + (int64_t)i;
}

static void tell(struct step_part *p, json_t *obj)
{
	pod_link_tell(p->link, POD_TELL, obj);
}

/* Signal all processes of the step in this pod; returns how many there are.
 * Processes in the middle of an exec, which may belong to the step, count only
 * the first LOOKS_MAX times. */
static size_t signal_all(struct step_part *p, int signo)
{
	size_t unclear, n;

	n = pod_proc_signal(p->mark.data, p->pid, p->n, signo, &unclear);
	return n || p->looks >= LOOKS_MAX ? n : unclear;
}

static void stop(struct step_part *p, int64_t grace)
{
	int64_t by = clock_ms() + grace * 1000;

	if (!p->stopping && grace) {
		signal_all(p, SIGCONT);
		signal_all(p, SIGTERM);
	}
	p->stopping = true;
	if (!p->kill_at || p->kill_at > by)
		p->kill_at = by;
}

static void start(struct step_part *p)
{
	size_t n = (size_t)p->layout.tasks[p->layout.self];
	struct err err;

	p->task = xcalloc(n, sizeof(*p->task));
	p->input = xcalloc(n, sizeof(*p->input));
	p->input_ends = xcalloc(n, sizeof(*p->input_ends));
	p->pid = xcalloc(n, sizeof(*p->pid));
	for (size_t i = 0; i < n; i++) {
		if (pod_task_start(&p->image, (int64_t)i, &p->task[i], &err) <
		    0) {
			tell(p, json_pack("{s:s s:i}", "error", err.text,
			                  "code", err.code));
			stop(p, 0);
			return;
		}
		p->pid[i] = p->task[i].pid;
		p->n++;
		p->alive++;
		tell(p,
		     json_pack("{s:I s:i}", "task", (json_int_t)rank_of(p, i),
		               "pid", (int)p->pid[i]));
	}
}

struct step_part *part_new(const struct pod_job *job, struct pod_link *link,
                           const struct pod_frame *frame)
{
	struct step_part *p = xcalloc(1, sizeof(*p));

	p->job = job;
	p->link = link;
	if (read_launch(p, frame) < 0) {
		tell(p, json_pack("{s:s s:i}", "error",
		                  "bad request for a step", "code", EINVAL));
		part_free(p);
		return NULL;
	}
	pod_env_mark(job, &p->layout, &p->mark);
	start(p);
	return p;
}

void part_free(struct step_part *p)
{
	for (size_t i = 0; i < p->n; i++) {
		int *ends[] = { &p->task[i].in, &p->task[i].out,
			        &p->task[i].err };

		for (size_t k = 0; k < ARRAY_SIZE(ends); k++)
			if (*ends[k] >= 0)
				close(*ends[k]);
		buf_free(&p->input[i]);
	}
	pod_layout_free(&p->layout);
	free(p->task);
	free(p->input);
	free(p->input_ends);
	free(p->pid);
	buf_free(&p->mark);
	arena_free(p->image.arena);
	free(p->data);
	free(p);
}

/* --- streams -------------------------------------------------------------- */

static void send_output(struct step_part *p, size_t i, uint8_t which,
                        const void *data, size_t len)
{
	uint32_t rank = (uint32_t)rank_of(p, i);
	uint8_t head[5] = { (uint8_t)(rank >> 24), (uint8_t)(rank >> 16),
		            (uint8_t)(rank >> 8), (uint8_t)rank, which };

	pod_link_put(p->link, POD_OUTPUT, head, sizeof(head), data, len);
}

static void end_output(struct step_part *p, size_t i, uint8_t which, int *fd)
{
	if (*fd < 0)
		return;
	close(*fd);
	*fd = -1;
	send_output(p, i, which, NULL, 0);
}

static bool take_output(struct step_part *p, size_t i, uint8_t which, int *fd)
{
	static char chunk[CHUNK];
	ssize_t n = *fd < 0 ? 0 : read(*fd, chunk, sizeof(chunk));

	if (*fd < 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
		return false;
	if (n <= 0)
		end_output(p, i, which, fd);
	else
		send_output(p, i, which, chunk, (size_t)n);
	return n > 0;
}

/* Returns the descriptor to write a task's input to. With a terminal, output is
 * read from the same descriptor, so it stays open when the input ends. */
static int input_fd(const struct step_part *p, size_t i)
{
	return p->req.flags & STEP_PTY ? p->task[i].out : p->task[i].in;
}

static void put_input(struct step_part *p, size_t i)
{
	struct buf *b = &p->input[i];
	int fd = input_fd(p, i);
	ssize_t n = 0;

	if (fd >= 0 && b->len)
		n = write(fd, b->data, b->len);
	if (n > 0) {
		memmove(b->data, b->data + n, b->len - (size_t)n);
		b->len -= (size_t)n;
	}
	if (fd < 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		buf_clear(b);
		p->input_ends[i] = true;
	}
	if (!b->len && p->input_ends[i] && p->task[i].in >= 0) {
		close(p->task[i].in);
		p->task[i].in = -1;
	}
}

static void hear_input(struct step_part *p, const struct pod_frame *f)
{
	int64_t local;

	if (f->len < 4)
		return;
	local = (int64_t)((uint32_t)f->data[0] << 24 | f->data[1] << 16 |
	                  f->data[2] << 8 | f->data[3]) -
	        pod_layout_first(&p->layout);
	if (local < 0 || local >= (int64_t)p->n)
		return;
	if (f->len == 4)
		p->input_ends[local] = true;
	else if (p->input[local].len < INPUT_MAX)
		buf_add(&p->input[local], f->data + 4, f->len - 4);
	put_input(p, (size_t)local);
}

static void hear_size(struct step_part *p, const struct pod_frame *f)
{
	struct winsize size = { 0 };

	if (f->len != 4 || !(p->req.flags & STEP_PTY) || !p->n)
		return;
	size.ws_row = (unsigned short)(f->data[0] << 8 | f->data[1]);
	size.ws_col = (unsigned short)(f->data[2] << 8 | f->data[3]);
	ioctl(p->task[0].out, TIOCSWINSZ, &size);
}

static void hear_order(struct step_part *p, const struct pod_frame *f)
{
	json_t *msg = pod_link_json(f);
	json_int_t grace;
	int signo;

	if (!json_unpack(msg, "{s:i}", "signal", &signo) && signo > 0 &&
	    signo < NSIG)
		signal_all(p, signo);
	else if (json_object_get(msg, "ends"))
		part_job_ends(p);
	else if (!json_unpack(msg, "{s:I}", "stop", &grace) && grace >= 0 &&
	         !p->by_job)
		stop(p, grace < p->job->grace ? grace : p->job->grace);
	json_decref(msg);
}

void part_hear(struct step_part *p, const struct pod_frame *f)
{
	if (f->type == POD_INPUT)
		hear_input(p, f);
	else if (f->type == POD_SIZE)
		hear_size(p, f);
	else if (f->type == POD_ORDER)
		hear_order(p, f);
}

size_t part_most(const struct step_part *p)
{
	return STREAMS * p->n;
}

/* While much earlier output is unsent, do not poll for more. */
size_t part_poll(const struct step_part *p, struct pollfd *ret)
{
	bool full = pod_link_unsent(p->link) > POD_LINK_FULL;

	for (size_t i = 0; i < p->n; i++) {
		const struct pod_task *t = &p->task[i];

		ret[STREAMS * i] =
		    (struct pollfd){ .fd =
			                 p->input[i].len ? input_fd(p, i) : -1,
			             .events = POLLOUT };
		ret[STREAMS * i + 1] =
		    (struct pollfd){ .fd = full ? -1 : t->out,
			             .events = POLLIN };
		ret[STREAMS * i + 2] =
		    (struct pollfd){ .fd = full ? -1 : t->err,
			             .events = POLLIN };
	}
	return STREAMS * p->n;
}

void part_move(struct step_part *p, const struct pollfd *polled, size_t n)
{
	for (size_t i = 0; i < n / STREAMS; i++) {
		const struct pollfd *at = polled + STREAMS * i;

		if (at[0].revents)
			put_input(p, i);
		if (at[1].revents)
			take_output(p, i, 1, &p->task[i].out);
		if (at[2].revents)
			take_output(p, i, 2, &p->task[i].err);
	}
}

/* --- signals and ends ----------------------------------------------------- */

bool part_reaped(struct step_part *p, pid_t pid, int status)
{
	for (size_t i = 0; i < p->n; i++) {
		struct pod_task *t = &p->task[i];

		if (t->pid != pid || t->ended)
			continue;
		t->ended = true;
		t->status = status;
		p->alive--;
		/* Send the output of the task before its end is reported. */
		while (pod_link_unsent(p->link) <= POD_LINK_FULL &&
		       take_output(p, i, 1, &t->out))
			;
		while (pod_link_unsent(p->link) <= POD_LINK_FULL &&
		       take_output(p, i, 2, &t->err))
			;
		tell(p, json_pack("{s:I s:i}", "task",
		                  (json_int_t)rank_of(p, i), "status", status));
		return true;
	}
	return false;
}

void part_signal(struct step_part *p, int signo)
{
	signal_all(p, signo);
}

/* Give the tasks the job's grace, even if srun has asked for a shorter one: an
 * srun in the script gets the job's SIGTERM, and then stops its step. */
void part_job_ends(struct step_part *p)
{
	if (p->by_job)
		return;
	p->by_job = true;
	if (p->stopping && !p->clearing && p->link->fd >= 0)
		p->kill_at = clock_ms() + p->job->grace * 1000;
	tell(p, json_pack("{s:s}", "ends", "job"));
}

void part_end(struct step_part *p)
{
	stop(p, p->job->grace);
	part_job_ends(p);
}

/* Whether a pipe has output that was not read yet. All output that tasks wrote
 * before they ended is read, even if srun reads it slowly. The end of a pipe is
 * not waited for: processes that have left the step may keep it open. */
static bool has_output(const struct step_part *p)
{
	struct pollfd fd[2];

	if (p->link->fd < 0)
		return false;
	for (size_t i = 0; i < p->n; i++) {
		fd[0] = (struct pollfd){ p->task[i].out, POLLIN, 0 };
		fd[1] = (struct pollfd){ p->task[i].err, POLLIN, 0 };
		if (poll(fd, 2, 0) > 0)
			return true;
	}
	return false;
}

static bool finish(struct step_part *p)
{
	if (has_output(p))
		return true;
	for (size_t i = 0; i < p->n; i++) {
		end_output(p, i, 1, &p->task[i].out);
		end_output(p, i, 2, &p->task[i].err);
	}
	tell(p, json_pack("{s:i}", "end", 0));
	return false;
}

bool part_step(struct step_part *p)
{
	int64_t now = clock_ms();

	if (p->link->fd < 0 && !p->stopping)
		stop(p, p->job->grace < LOST_GRACE_S ? p->job->grace
		                                     : LOST_GRACE_S);
	if (p->alive) {
		if (p->kill_at && now >= p->kill_at) {
			signal_all(p, SIGKILL);
			p->kill_at = now + KILL_PAUSE_MS;
		}
		return true;
	}
	if (!p->clearing) {
		p->clearing = true;
		p->kill_at = now + (p->stopping ? 0 : LINGER_MS);
	}
	if (signal_all(p, now >= p->kill_at ? SIGKILL : 0)) {
		p->looks++;
		if (now >= p->kill_at)
			p->kill_at = now + KILL_PAUSE_MS;
		return true;
	}
	return finish(p);
}

int part_timeout(const struct step_part *p)
{
	int64_t left = p->kill_at - clock_ms();

	if (p->clearing)
		return KILL_PAUSE_MS;
	return !p->kill_at ? -1 : left > 0 ? (int)left : 0;
}
