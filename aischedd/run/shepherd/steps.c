/* steps.c - the steps of a job: connections of their clients, start and end */
#include "aischedd/run/shepherd/steps.h"

#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "aischedd/run/port_seek.h"
#include "aischedd/run/shepherd/allocation.h"
#include "aischedd/run/shepherd/end.h"
#include "aischedd/run/shepherd/env.h"
#include "aischedd/run/shepherd/job_step.h"
#include "aischedd/run/shepherd/step_record.h"
#include "aischedd/run/shepherd/step_room.h"
#include "aischedd/run/shepherd/step_task.h"
#include "libcommon/clock.h"
#include "libcommon/fdpass.h"
#include "libcommon/parse.h"

#define GREET_MS          5000 /* for a client to request or to disconnect */
#define LOST_GRACE_S      2    /* longest grace if srun has ended */
#define KILL_PAUSE_MS     5    /* doubled after each round of SIGKILL */
#define KILL_PAUSE_MAX_MS 1000
#define LINGER_MS         200  /* how long processes may outlive tasks */
#define LOOKS_MAX         1000 /* see signal_step() */
#define STEPS_MAX         40000
#define OWNER_MS          30000 /* for an allocation's client to connect */
#define SEND_BYTES        (1 << 20)

struct steps {
	int listen_fd;
	struct job_step *step[STEPS_OPEN_MAX]; /* in the order of arrival */
	size_t n;
	uint32_t next_id;
	bool job_ends;
	bool owned; /* a client holds the allocation */
	/* monotonic ms: deadline by which the client of an allocation must
	 * connect; 0: no deadline */
	int64_t owner_by;
};

/* --- messages to clients -------------------------------------------------- */

static void hang_up(struct job_step *step)
{
	if (step->conn >= 0)
		close(step->conn);
	step->conn = -1;
}

/* Send a message together with the descriptors in step->give. Returns false if
 * the connection takes no further data now. */
static bool tell_with(struct job_step *step, json_t *msg, int nfds)
{
	char *text = json_dumps(msg, JSON_COMPACT);
	bool sent = true;

	if (step->conn >= 0 &&
	    fdpass_send(step->conn, text, strlen(text), step->give, nfds,
	                MSG_DONTWAIT) < 0) {
		sent = errno != EAGAIN && errno != ENOBUFS;
		step->wants_out = !sent;
		if (sent)
			hang_up(step);
	}
	free(text);
	json_decref(msg);
	return sent;
}

static bool tell(struct job_step *step, json_t *msg)
{
	return tell_with(step, msg, 0);
}

static void refuse(struct job_step *step, const struct err *err)
{
	tell(step,
	     json_pack("{s:s s:i}", "error", err->text, "code", err->code));
	step_task_close(step);
	step->state = STEP_DONE;
	step->greet_by = clock_ms() + GREET_MS;
}

/* --- the processes of a step ---------------------------------------------- */

struct step_each {
	const struct shepherd *shepherd;
	const struct job_step *step;
	char id[16];
	int signo; /* 0: only count the processes */
	size_t n, unclear;
};

enum belongs { BELONGS_NOT, BELONGS, BELONGS_UNCLEAR };

/* Returns BELONGS if the process is in the session of a task of the step or has
 * the step's number in its environment, BELONGS_UNCLEAR if the environment
 * cannot be read now. */
static enum belongs belongs(pid_t pid, const struct step_each *e)
{
	const struct job_step *step = e->step;
	pid_t sid = getsid(pid);
	bool unclear = false;

	for (uint32_t i = 0; i < step->begun; i++)
		if (step->task[i].pid == sid ||
		    (step->task[i].pid == pid && !step->task[i].ended))
			return BELONGS;
	if (proc_has_env(pid, STEP_ID_VAR, e->id, &unclear))
		return BELONGS;
	return unclear ? BELONGS_UNCLEAR : BELONGS_NOT;
}

static bool is_of_step_now(pid_t pid, const void *arg)
{
	const struct step_each *e = arg;

	return belongs(pid, e) == BELONGS && job_has(pid, e->shepherd);
}

static void signal_if_of_step(pid_t pid, void *arg)
{
	struct step_each *e = arg;
	enum belongs is = belongs(pid, e);

	e->unclear += is == BELONGS_UNCLEAR;
	if (is != BELONGS)
		return;
	e->n++;
	if (e->signo)
		proc_signal(pid, e->signo, is_of_step_now, e);
}

/*
 * Send signo (0: none) to all processes of the step. Returns how many there
 * are. A process in the middle of an exec may belong to the step, but its
 * environment cannot be read: if only such processes are found, returns their
 * number, or 0 after LOOKS_MAX of these calls.
 */
static size_t signal_step(struct shepherd *s, struct job_step *step, int signo)
{
	struct step_each e = { .shepherd = s, .step = step, .signo = signo };

	snprintf(e.id, sizeof(e.id), "%" PRIu32, step->id);
	job_each(s, signal_if_of_step, &e);
	step->look_at = 0;
	if (e.n || !e.unclear || step->looks >= LOOKS_MAX)
		return e.n;
	step->looks++;
	step->look_at = clock_ms() + KILL_PAUSE_MS;
	return e.unclear;
}

static void kill_step_by(struct job_step *step, int64_t when)
{
	if (!step->kill_at || step->kill_at > when)
		step->kill_at = when;
}

static void stop_step(struct shepherd *s, struct job_step *step, int64_t grace)
{
	step->no_more = true;
	if (!step->stopping && grace) {
		signal_step(s, step, SIGCONT);
		signal_step(s, step, SIGTERM);
	}
	step->stopping = true;
	kill_step_by(step, clock_ms() + grace * 1000);
}

static size_t kill_step_round(struct shepherd *s, struct job_step *step,
                              int64_t now)
{
	size_t left = signal_step(s, step, SIGKILL);

	step->kill_pause =
	    step->kill_pause ? step->kill_pause * 2 : KILL_PAUSE_MS;
	if (step->kill_pause > KILL_PAUSE_MAX_MS)
		step->kill_pause = KILL_PAUSE_MAX_MS;
	step->kill_at = now + step->kill_pause;
	return left;
}

/* --- connections ---------------------------------------------------------- */

static struct job_step *step_new(int conn)
{
	struct job_step *step = xcalloc(1, sizeof(*step));

	step->conn = conn;
	step->request = -1;
	for (int i = 0; i < 3; i++)
		step->fd[i] = -1;
	step->greet_by = clock_ms() + GREET_MS;
	return step;
}

static void step_free(struct job_step *step)
{
	hang_up(step);
	step_task_given(step);
	step_task_close(step);
	free(step->task);
	free(step->cpu);
	free(step);
}

static bool is_welcome(const struct shepherd *s, int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
	       (peer.uid == s->order.job.uid || peer.uid == 0);
}

static void accept_step(struct shepherd *s)
{
	struct steps *steps = s->steps;
	int fd =
	    accept4(steps->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	int bytes = SEND_BYTES;

	if (fd < 0)
		return;
	if (!is_welcome(s, fd)) {
		close(fd);
		return;
	}
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	steps->step[steps->n++] = step_new(fd);
}

/* Whether the file is a sealed memory file of allowed size: then its sender can
 * no longer change it, and reading it never blocks. */
static bool is_sealed(int fd)
{
	const int seals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW;
	int has = fcntl(fd, F_GET_SEALS);
	struct stat st;

	return has >= 0 && (has & seals) == seals && fstat(fd, &st) == 0 &&
	       st.st_size <= STEP_REQUEST_MAX;
}

static int check_rank(const struct shepherd *s, const struct step_request *req,
                      struct err *err)
{
	if (!(req->flags & STEP_AS_TASK) || step_task_slot(s, req->rank) >= 0)
		return 0;
	return err_set(err, EINVAL, "no task %" PRIi64 " of the job runs",
	               req->rank);
}

static void take_request(struct shepherd *s, struct job_step *step)
{
	struct err err;
	ssize_t n = -1;

	if (is_sealed(step->request))
		n = pread(step->request, step->head, sizeof(step->head), 0);
	if (n <= 0) {
		err_set(&err, EINVAL, "the request is not in a sealed file");
		refuse(step, &err);
		return;
	}
	if (step_request_parse(step->head, (size_t)n, &step->req, &err) < 0 ||
	    step_room_check(s, &step->req, &err) < 0 ||
	    check_rank(s, &step->req, &err) < 0) {
		refuse(step, &err);
		return;
	}
	step->task = xcalloc((size_t)step->req.tasks, sizeof(*step->task));
	step->state = STEP_WAITS;
}

/* --- the client of an allocation ------------------------------------------ */

void steps_await_owner(struct shepherd *s)
{
	if (s->order.job.spec->allocation == ALLOCATION_HELD)
		s->steps->owner_by = clock_ms() + OWNER_MS;
}

static int64_t lost_grace(const struct shepherd *s)
{
	return s->order.job.grace < LOST_GRACE_S ? s->order.job.grace
	                                         : LOST_GRACE_S;
}

/* Send the allocation's variables to a client that asks for these. If the job
 * is ALLOCATION_HELD, this client holds the job from now on. */
static void own(struct shepherd *s, struct job_step *step)
{
	struct steps *steps = s->steps;
	bool held = s->order.job.spec->allocation == ALLOCATION_HELD;

	if (!order_is_allocation(&s->order) || steps->owned ||
	    steps->job_ends) {
		hang_up(step);
		return;
	}
	steps->owned = held;
	steps->owner_by = 0;
	step->state = held ? STEP_OWNS : STEP_DONE;
	tell(step, json_pack("{s:o}", "env", allocation_env(s)));
}

/* End the job because the client that held it has ended with this status or, if
 * status is -1, has disconnected without one. */
static void release(struct shepherd *s, int status)
{
	if (s->ending)
		return;
	s->outcome.exit_code = status;
	if (status < 0) {
		s->outcome.exit_code = 0;
		s->outcome.signal = SIGHUP;
	}
	job_end(s, lost_grace(s));
}

static void obey_owner(struct shepherd *s, const char *text, size_t len)
{
	json_t *msg = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	int status;

	if (!json_unpack(msg, "{s:i}", "status", &status))
		release(s, status & 0xff);
	json_decref(msg);
}

/* --- ports ---------------------------------------------------------------- */

static void each_process(port_fn *fn, void *fn_arg, void *arg)
{
	job_each(arg, fn, fn_arg);
}

/* Let a process connect the client to a port of the job. It may have to look at
 * very many descriptors, so there is one such process at a time. */
static void seek_next_port(struct shepherd *s)
{
	struct job_step *next = NULL;
	struct err err;

	for (size_t i = 0; i < s->steps->n; i++) {
		struct job_step *step = s->steps->step[i];

		if (step->seeker)
			return;
		if (!next && step->state == STEP_SEEKS && step->conn >= 0)
			next = step;
	}
	if (!next)
		return;
	next->seeker = port_seek(next->conn, next->port, s->order.job.uid,
	                         each_process, s, &err);
	if (next->seeker > 0)
		return;
	next->seeker = 0;
	refuse(next, &err);
}

static void take_port(struct shepherd *s, struct job_step *step,
                      const char *text)
{
	int64_t port;
	struct err err;

	if (parse_int(text, 1, UINT16_MAX, &port, &err) < 0) {
		refuse(step, &err);
		return;
	}
	step->port = (uint16_t)port;
	step->state = STEP_SEEKS;
	seek_next_port(s);
}

/* The process that connects the client has ended, with this status as
 * from wait(). */
static void port_found(struct shepherd *s, struct job_step *step, int status)
{
	struct err err;

	step->seeker = 0;
	if (step->state == STEP_SEEKS && status) {
		err_set(&err, ETIMEDOUT,
		        "it takes too long to look for port %u in the job",
		        step->port);
		refuse(step, &err);
	} else {
		step->state = STEP_DONE;
		step->greet_by = clock_ms() + GREET_MS;
	}
	seek_next_port(s);
}

/* --- the first message of a client ---------------------------------------- */

/* Read the client's first message: a request for a step, for the allocation or
 * for a port. Disconnect a client that sends anything else. */
static void greet(struct shepherd *s, struct job_step *step)
{
	char hello[8];
	int fd[STEP_FDS], got;
	ssize_t n = fdpass_recv(step->conn, hello, sizeof(hello), fd, STEP_FDS,
	                        &got, MSG_DONTWAIT);

	if (n == 1 && hello[0] == STEP_HELLO && got == STEP_FDS) {
		step->request = fd[0];
		memcpy(step->fd, fd + 1, sizeof(step->fd));
		take_request(s, step);
		return;
	}
	if (n == 1 && hello[0] == STEP_OWN && !got) {
		own(s, step);
		return;
	}
	if (n > 1 && n < (ssize_t)sizeof(hello) && hello[0] == STEP_PORT &&
	    !got) {
		hello[n] = '\0';
		take_port(s, step, hello + 1);
		return;
	}
	while (got > 0)
		close(fd[--got]);
	hang_up(step);
}

static void obey_client(struct shepherd *s, struct job_step *step,
                        const char *text, size_t len)
{
	json_t *msg = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	json_int_t grace;
	int signo;

	if (!json_unpack(msg, "{s:i}", "signal", &signo) && signo > 0 &&
	    signo < NSIG)
		signal_step(s, step, signo);
	else if (!json_unpack(msg, "{s:I}", "stop", &grace) && grace >= 0)
		stop_step(s, step,
		          grace < s->order.job.grace ? grace
		                                     : s->order.job.grace);
	json_decref(msg);
}

static void hear_step(struct shepherd *s, struct job_step *step)
{
	char text[256];
	ssize_t n;

	if (step->state == STEP_GREETS) {
		greet(s, step);
		return;
	}
	n = recv(step->conn, text, sizeof(text), MSG_DONTWAIT);
	if (n > 0 && step->state == STEP_RUNS)
		obey_client(s, step, text, (size_t)n);
	else if (n > 0 && step->state == STEP_OWNS)
		obey_owner(s, text, (size_t)n);
	else if (n == 0 || (n < 0 && errno != EAGAIN))
		hang_up(step);
}

int steps_open(struct shepherd *s, struct err *err)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct steps *steps = xcalloc(1, sizeof(*steps));

	snprintf(addr.sun_path, sizeof(addr.sun_path), "/proc/self/fd/%d/%s",
	         s->dirfd, STEP_SOCKET);
	s->steps = steps;
	unlinkat(s->dirfd, STEP_SOCKET, 0);
	steps->listen_fd =
	    socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* The shepherd's umask makes the socket usable by its owner only. */
	if (steps->listen_fd < 0 ||
	    bind(steps->listen_fd, (struct sockaddr *)&addr, sizeof(addr)) <
	        0 ||
	    (s->other_user && fchownat(s->dirfd, STEP_SOCKET, s->order.job.uid,
	                               (gid_t)-1, AT_SYMLINK_NOFOLLOW) < 0) ||
	    listen(steps->listen_fd, STEPS_OPEN_MAX) < 0)
		return err_sys(err, "cannot listen at '%s/%s'", s->dir,
		               STEP_SOCKET);
	return 0;
}

size_t steps_poll(const struct shepherd *s, struct pollfd *ret)
{
	const struct steps *steps = s->steps;
	size_t n = 0;

	if (!steps)
		return 0;
	for (; n < steps->n; n++) {
		const struct job_step *step = steps->step[n];

		ret[n] = (struct pollfd){
			.fd = step->conn,
			.events =
			    (short)(POLLIN | (step->wants_out ? POLLOUT : 0))
		};
	}
	ret[n] = (struct pollfd){ .fd = n < STEPS_OPEN_MAX && !steps->job_ends
		                            ? steps->listen_fd
		                            : -1,
		                  .events = POLLIN };
	return n + 1;
}

void steps_hear(struct shepherd *s, const struct pollfd *p, size_t n)
{
	struct steps *steps = s->steps;

	if (!n)
		return;
	for (size_t i = 0; i + 1 < n; i++) {
		if (p[i].revents & POLLOUT)
			steps->step[i]->wants_out = false;
		if (p[i].revents & (POLLIN | POLLHUP | POLLERR))
			hear_step(s, steps->step[i]);
	}
	if (p[n - 1].revents)
		accept_step(s);
}

/* --- starting and ending steps -------------------------------------------- */

static void begin(struct shepherd *s, struct job_step *step)
{
	step->state = STEP_RUNS;
	step->id = s->steps->next_id++;
	step->start = time(NULL);
	if (step->req.limit_s)
		step->end_at = clock_ms() + step->req.limit_s * 1000;
	step_record_begin(s, step);
	tell(step, json_pack("{s:I}", "step", (json_int_t)step->id));
}

/* Start waiting steps in order of arrival. Once a step must wait for resources,
 * all later ones wait, too, except those with STEP_OVERLAP. */
static void begin_waiting(struct shepherd *s)
{
	struct steps *steps = s->steps;
	bool blocked = false;

	for (size_t i = 0; i < steps->n; i++) {
		struct job_step *step = steps->step[i];
		bool overlaps = step->req.flags & STEP_OVERLAP;

		if (step->state != STEP_WAITS || step->conn < 0)
			continue;
		if (steps->next_id >= STEPS_MAX) {
			struct err err;

			err_set(&err, EDQUOT,
			        "Step limit reached for this job");
			refuse(step, &err);
			continue;
		}
		if ((!blocked || overlaps) &&
		    step_room_take(s, step, steps->step, steps->n)) {
			begin(s, step);
			continue;
		}
		blocked = true;
		if (!step->waits_told)
			tell(step, json_pack("{s:s}", "waits",
			                     "Requested nodes are busy"));
		step->waits_told = true;
	}
}

static bool give(struct job_step *step)
{
	const struct step_task *t = &step->task[step->begun - 1];

	if (!tell_with(step,
	               json_pack("{s:I s:i}", "task",
	                         (json_int_t)(step->begun - 1), "pid",
	                         (int)t->pid),
	               step->ngive))
		return false;
	step_task_given(step);
	return true;
}

static void launch_step(struct shepherd *s, struct job_step *step)
{
	struct err err;

	while (!step->gives || give(step)) {
		if (step->no_more || step->begun == step->req.tasks) {
			step_task_close(step);
			return;
		}
		if (step_task_start(s, step, &err) == 0)
			continue;
		step_task_given(step);
		tell(step, json_pack("{s:s s:i}", "error", err.text, "code",
		                     err.code));
		stop_step(s, step, 0);
	}
}

static void tell_ended_tasks(struct job_step *step)
{
	for (uint32_t i = 0; i < step->begun && !step->wants_out; i++) {
		struct step_task *t = &step->task[i];

		if (!t->ended || t->told ||
		    (step->gives && i + 1 == step->begun))
			continue;
		t->told =
		    tell(step, json_pack("{s:I s:i}", "task", (json_int_t)i,
		                         "status", t->status));
	}
}

static bool all_told(const struct job_step *step)
{
	for (uint32_t i = 0; i < step->begun && step->conn >= 0; i++)
		if (!step->task[i].told)
			return false;
	return true;
}

static void run_step(struct shepherd *s, struct job_step *step, int64_t now)
{
	if (!s->suspended)
		launch_step(s, step);
	tell_ended_tasks(step);
	if (step->conn < 0 && !step->stopping)
		stop_step(s, step, lost_grace(s));
	if (step->end_at && now >= step->end_at && !step->stopping) {
		step->by_time = true;
		tell(step, json_pack("{s:s}", "ends", "time"));
		stop_step(s, step, s->order.job.grace);
	}
	if (step->alive || (!step->no_more && step->begun < step->req.tasks)) {
		if (step->kill_at && now >= step->kill_at)
			kill_step_round(s, step, now);
		return;
	}
	step->state = STEP_CLEARS;
	step->kill_pause = 0;
	step->kill_at = now + (step->stopping ? 0 : LINGER_MS);
}

/* All tasks of the step have ended: give processes that they left behind time
 * to end, then kill them. Once none is left, send srun the end of the step. */
static void clear_step(struct shepherd *s, struct job_step *step, int64_t now)
{
	size_t left = now >= step->kill_at ? kill_step_round(s, step, now)
	                                   : signal_step(s, step, 0);

	tell_ended_tasks(step);
	if (left)
		return;
	if (!step->recorded)
		step_record_end(s, step);
	step->recorded = true;
	if (!all_told(step) ||
	    !tell(step, json_pack("{s:I}", "end", (json_int_t)step->id)))
		return;
	step_task_close(step);
	step->state = STEP_DONE;
	step->kill_at = 0;
	step->greet_by = now + GREET_MS;
}

static void step_on(struct shepherd *s, struct job_step *step, int64_t now)
{
	if (step->state == STEP_RUNS)
		run_step(s, step, now);
	if (step->state == STEP_CLEARS)
		clear_step(s, step, now);
	else if (step->state == STEP_OWNS && step->conn < 0)
		release(s, -1);
	else if ((step->state == STEP_GREETS || step->state == STEP_DONE) &&
	         now >= step->greet_by)
		hang_up(step);
}

static bool is_over(const struct job_step *step)
{
	return step->conn < 0 && !step->seeker && step->state != STEP_RUNS &&
	       step->state != STEP_CLEARS;
}

void steps_step(struct shepherd *s, int64_t now)
{
	struct steps *steps = s->steps;
	size_t left = 0;

	if (!steps)
		return;
	if (steps->owner_by && now >= steps->owner_by)
		release(s, -1);
	for (size_t i = 0; i < steps->n; i++)
		step_on(s, steps->step[i], now);
	for (size_t i = 0; i < steps->n; i++)
		if (is_over(steps->step[i]))
			step_free(steps->step[i]);
		else
			steps->step[left++] = steps->step[i];
	steps->n = left;
	if (s->suspended || s->ending || !s->started)
		return;
	begin_waiting(s);
	for (size_t i = 0; i < steps->n; i++)
		if (steps->step[i]->state == STEP_RUNS)
			run_step(s, steps->step[i], now);
}

static int64_t step_due(const struct job_step *step)
{
	int64_t at = step->kill_at;

	if (step->state == STEP_CLEARS && step->look_at &&
	    (!at || step->look_at < at))
		at = step->look_at;

	if (step->state == STEP_GREETS || step->state == STEP_DONE)
		return step->greet_by;
	if (step->state == STEP_RUNS && step->end_at && !step->stopping &&
	    (!at || step->end_at < at))
		at = step->end_at;
	return at;
}

int64_t steps_due(const struct shepherd *s)
{
	int64_t at = s->steps && !s->ending ? s->steps->owner_by : 0;

	for (size_t i = 0; s->steps && i < s->steps->n; i++) {
		int64_t due = step_due(s->steps->step[i]);

		if (due && (!at || due < at))
			at = due;
	}
	return at;
}

bool steps_task_ended(struct shepherd *s, pid_t pid, int status,
                      const struct rusage *use)
{
	for (size_t i = 0; s->steps && i < s->steps->n; i++) {
		struct job_step *step = s->steps->step[i];

		if (step->seeker == pid) {
			port_found(s, step, status);
			return true;
		}
		for (uint32_t r = 0; r < step->begun; r++) {
			struct step_task *t = &step->task[r];

			if (t->pid != pid || t->ended)
				continue;
			t->ended = true;
			t->status = status;
			step->alive--;
			if (use->ru_maxrss > step->peak_kib)
				step->peak_kib = use->ru_maxrss;
			step->cpu_us += end_cpu_us(use);
			return true;
		}
	}
	return false;
}

/* --- signals -------------------------------------------------------------- */

static bool has_processes(const struct job_step *step)
{
	return step->state == STEP_RUNS || step->state == STEP_CLEARS;
}

void steps_signal(struct shepherd *s, int signo)
{
	for (size_t i = 0; s->steps && i < s->steps->n; i++)
		if (has_processes(s->steps->step[i]))
			signal_step(s, s->steps->step[i], signo);
}

bool steps_signal_one(struct shepherd *s, uint32_t id, int signo)
{
	for (size_t i = 0; s->steps && i < s->steps->n; i++) {
		struct job_step *step = s->steps->step[i];

		if (!has_processes(step) || step->id != id)
			continue;
		if (signo)
			signal_step(s, step, signo);
		else
			stop_step(s, step, s->order.job.grace);
		return true;
	}
	return false;
}

bool steps_run(const struct shepherd *s)
{
	for (size_t i = 0; s->steps && i < s->steps->n; i++)
		if (has_processes(s->steps->step[i]))
			return true;
	return false;
}

void steps_job_ends(struct shepherd *s)
{
	struct err err;

	if (!s->steps || s->steps->job_ends)
		return;
	s->steps->job_ends = true;
	for (size_t i = 0; i < s->steps->n; i++) {
		struct job_step *step = s->steps->step[i];

		step->no_more = true;
		step->by_job = true;
		if (has_processes(step) || step->state == STEP_OWNS) {
			tell(step, json_pack("{s:s}", "ends", "job"));
		} else if (step->state != STEP_DONE) {
			err_set(&err, ESHUTDOWN,
			        "Job/step already completing or completed");
			refuse(step, &err);
		}
	}
}
