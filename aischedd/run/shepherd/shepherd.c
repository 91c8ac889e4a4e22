/*
 * shepherd.c - run one attempt of a job
 *
 * The daemon starts the program as aisched-shepherd LOCK WHERE. LOCK is the
 * number of the open file that has the daemon's lock; WHERE is as in
 * nursery_serve(). This first process is the nursery (nursery.h); each child
 * that it forks runs one attempt with the functions below.
 */
#include "aischedd/run/shepherd/shepherd.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "aischedd/run/quota.h"
#include "aischedd/run/shepherd/end.h"
#include "aischedd/run/shepherd/gang.h"
#include "aischedd/run/shepherd/nursery.h"
#include "aischedd/run/shepherd/steps.h"
#include "aischedd/run/shepherd/task.h"
#include "aischedd/run/shepherd/tmp.h"
#include "libcommon/buf.h"
#include "libcommon/clock.h"
#include "libcommon/fdpass.h"
#include "libcommon/parse.h"
#include "libcommon/step_msg.h"

#define CLEAN_SLICE 10000 /* files removed between two looks at the clock */
#define CLEAN_MS    INT64_C(3600000)
#define OWN_FDS     5 /* descriptors to poll, not counting those of steps */

/* --- messages from and to the daemon --- */

/* Send the event to the daemon. If the daemon has ended, the event is lost: the
 * next daemon connects and asks, or reads the record. */
static void tell(struct shepherd *s, json_t *event)
{
	char *text = json_dumps(event, JSON_COMPACT);

	if (s->conn >= 0 && text &&
	    send(s->conn, text, strlen(text), MSG_NOSIGNAL) < 0) {
		close(s->conn);
		s->conn = -1;
	}
	free(text);
	json_decref(event);
}

static void tell_started(struct shepherd *s)
{
	tell(s, json_pack("{s:s s:I s:b}", "event", "started", "time",
	                  (json_int_t)s->outcome.start, "suspended",
	                  s->suspended));
}

void tell_replaced(struct shepherd *s)
{
	tell(s,
	     json_pack("{s:s s:I s:s}", "event", "replaced", "tasks",
	               (json_int_t)s->replaced, "text", s->last_failure.data));
}

void tell_resized(struct shepherd *s)
{
	tell(s, json_pack("{s:s s:I}", "event", "resized", "resize",
	                  (json_int_t)s->resize));
}

void tell_used(struct shepherd *s)
{
	json_t *use = gpu_use_to_json(&s->gpu.use);

	if (use)
		tell(s, json_pack("{s:s s:o s:I}", "event", "used", "gpu", use,
		                  "idle_ms", (json_int_t)s->gpu.idle_ms));
}

static void tell_failed(struct shepherd *s, enum start_fault fault,
                        const char *text)
{
	tell(s, json_pack("{s:s s:i s:s}", "event", "failed", "fault",
	                  (int)fault, "text", text));
}

static void tell_ended(struct shepherd *s)
{
	tell(s, json_pack("{s:s s:o}", "event", "ended", "outcome",
	                  outcome_to_json(&s->outcome)));
}

/* Stop the job. end: the line for the job's end_file; NULL if the message came
 * from an older daemon, which sends none. */
static void do_stop(struct shepherd *s, const char *why, const char *end,
                    int64_t grace)
{
	struct buf now = { 0 };

	if (!s->ending) {
		format_time(&now, time(NULL));
		tasks_say(s, "*** JOB %" PRIu64 " ON %s CANCELLED AT %s%s ***",
		          s->order.job.job, s->order.host, now.data, why);
		buf_free(&now);
		if (end)
			job_note_end(s, end);
	}
	job_end(s, grace);
}

/* Send a signal to the job's processes in this scope. While steps run, send a
 * signal for the job only to the steps, so that the shell that waits for them
 * is not killed. */
static void do_signal(struct shepherd *s, int signo, enum signal_scope scope)
{
	if (order_is_allocation(&s->order) && signo == SIGKILL &&
	    scope != SIGNAL_steps) {
		s->outcome.signal = SIGKILL;
		job_end(s, 0);
		return;
	}
	if (scope == SIGNAL_steps ||
	    (scope == SIGNAL_job && signo != SIGKILL && steps_run(s))) {
		steps_signal(s, signo);
		return;
	}
	if (scope != SIGNAL_script) {
		job_signal(s, signo);
		return;
	}
	for (uint32_t i = 0; i < s->ntasks; i++)
		if (s->task[i].state == TASK_RUNS)
			kill(s->task[i].pid, signo);
}

static void obey_signal(struct shepherd *s, json_t *msg)
{
	const char *name = "job";
	json_int_t step = -1;
	int signo, scope, only;

	if (json_unpack(msg, "{s:i s:b s?s s?I}", "signo", &signo,
	                "script_only", &only, "scope", &name, "step",
	                &step) < 0)
		return;
	scope = only ? SIGNAL_script : signal_scope_parse(name);
	if (step >= 0 && step <= UINT32_MAX)
		steps_signal_one(s, (uint32_t)step, signo);
	else if (scope >= 0 && step < 0)
		do_signal(s, signo, (enum signal_scope)scope);
}

static void do_resume(struct shepherd *s, json_t *place)
{
	gang_place(s, place);
	job_resume(s);
}

/* Change the job's tasks to those of this placement. gang_step() answers the
 * daemon when all tasks that must end have ended. */
static void do_resize(struct shepherd *s, json_t *place, json_int_t resize,
                      json_int_t grace)
{
	s->leave_grace = grace;
	gang_place(s, place);
	s->resizing = true;
	s->resize = (uint32_t)resize;
}

/* Do what a message of the daemon says. Unknown messages are ignored, as they
 * come from a newer daemon. */
static void obey(struct shepherd *s, json_t *msg)
{
	const char *what, *why, *end = NULL;
	json_int_t grace = s->order.job.grace, resize;
	json_t *place;

	if (json_unpack(msg, "{s:s}", "do", &what) < 0)
		return;
	if (!strcmp(what, "stop") &&
	    !json_unpack(msg, "{s:s s:I s?s}", "why", &why, "grace", &grace,
	                 "end", &end))
		do_stop(s, why, end, grace);
	else if (!strcmp(what, "signal"))
		obey_signal(s, msg);
	else if (!strcmp(what, "suspend") && !s->ending)
		job_suspend(s);
	else if (!strcmp(what, "resume") &&
	         !json_unpack(msg, "{s:o}", "place", &place))
		do_resume(s, place);
	else if (!strcmp(what, "resize") &&
	         !json_unpack(msg, "{s:o s:I s?I}", "place", &place, "resize",
	                      &resize, "grace", &grace))
		do_resize(s, place, resize, grace);
}

static void hear(struct shepherd *s)
{
	ssize_t len = recv(s->conn, NULL, 0, MSG_PEEK | MSG_TRUNC);
	struct buf buf = { 0 };
	json_t *msg;

	if (len > 0)
		len =
		    recv(s->conn, buf_room(&buf, (size_t)len), (size_t)len, 0);
	if (len <= 0) {
		close(s->conn);
		s->conn = -1;
		return;
	}
	buf_grew(&buf, (size_t)len);
	msg = json_loadb(buf.data, buf.len, JSON_REJECT_DUPLICATES, NULL);
	obey(s, msg);
	json_decref(msg);
	buf_free(&buf);
}

/* Accept the connection of a daemon that was restarted. Only one may be
 * connected, and it must run as our user. */
static void welcome(struct shepherd *s)
{
	int fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC);
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (fd < 0)
		return;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 ||
	    peer.uid != geteuid()) {
		close(fd);
		return;
	}
	if (s->conn >= 0)
		close(s->conn);
	s->conn = fd;
	if (s->started)
		tell_started(s);
	if (s->replaced)
		tell_replaced(s);
	tell_used(s);
}

static int listen_ctl(struct shepherd *s, struct err *err)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	/* Bind by /proc/self/fd, as the path of the folder may be too long for
	 * a socket address. */
	snprintf(addr.sun_path, sizeof(addr.sun_path), "/proc/self/fd/%d/ctl",
	         s->dirfd);
	s->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	fdpass_refuse(s->listen_fd);
	unlinkat(s->dirfd, "ctl", 0);
	if (s->listen_fd < 0 ||
	    bind(s->listen_fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
	    listen(s->listen_fd, 4) < 0)
		return err_sys(err, "cannot listen at '%s/ctl'", s->dir);
	return 0;
}

/* --- running the job --- */

static void drain_signals(struct shepherd *s)
{
	struct signalfd_siginfo info[16];

	while (read(s->signal_fd, info, sizeof(info)) > 0)
		;
}

static void wait_event(struct shepherd *s, int timeout_ms)
{
	struct pollfd p[OWN_FDS + STEPS_POLL_MAX] = {
		{ .fd = s->signal_fd, .events = POLLIN },
		{ .fd = s->listen_fd, .events = POLLIN },
		{ .fd = s->conn, .events = POLLIN },
		{ .fd = s->report, .events = POLLIN },
		{ .fd = s->gpu.fd, .events = POLLIN },
	};
	size_t nsteps = steps_poll(s, p + OWN_FDS);

	if (poll(p, OWN_FDS + nsteps, timeout_ms) <= 0)
		return;
	if (p[0].revents)
		drain_signals(s);
	if (p[2].revents)
		hear(s);
	if (p[1].revents)
		welcome(s);
	if (p[4].revents)
		gpu_watch_hear(s);
	steps_hear(s, p + OWN_FDS, nsteps);
}

/* Remove the temporary folder, for at most CLEAN_MS. If the user makes files
 * faster than they can be removed, the next daemon removes the rest. */
static void remove_tmp(struct shepherd *s)
{
	int64_t until = clock_ms() + CLEAN_MS;

	/* The user may have removed the folder, so that tmp_remove() does not
	 * find it. */
	if (s->project)
		quota_close(s->tmp_fd);
	while (tmp_remove(s->dirfd, CLEAN_SLICE) && clock_ms() < until)
		;
}

static void clean(struct shepherd *s)
{
	remove_tmp(s);
	unlinkat(s->dirfd, "script", 0);
	unlinkat(s->dirfd, END_FILE, 0);
	unlinkat(s->dirfd, "ctl", 0);
	unlinkat(s->dirfd, STEP_SOCKET, 0);
}

static void fail(struct shepherd *s, enum start_fault fault, struct err *why)
{
	job_kill(s);
	job_account(s);
	record_fail(s->claim_fd, fault, why->text, NULL);
	tell_failed(s, fault, why->text);
}

static void finish(struct shepherd *s)
{
	gpu_watch_end(s);
	job_account(s);
	/* If the disk is full but a daemon is connected, go on: the daemon then
	 * stores the outcome itself. */
	while (record_end(s->claim_fd, &s->outcome, NULL) < 0 && s->conn < 0)
		wait_event(s, 1000);
	tell_ended(s);
}

/* Wait until all tasks have called exec, or one has failed. Messages of the
 * daemon are handled meanwhile; they may end the tasks. */
static int await_tasks(struct shepherd *s, enum start_fault *ret_fault,
                       struct err *err)
{
	int64_t left;
	int done, wait;

	while (!(done = tasks_started(s, ret_fault, err))) {
		if (s->ending)
			job_step(s);
		left = s->exec_by - clock_ms();
		wait = job_timeout(s);
		wait_event(s, wait >= 0 && wait < left ? wait
		              : left > 0               ? (int)left
		                                       : 0);
	}
	return done < 0 ? -1 : 0;
}

static void run(struct shepherd *s, const struct birth *birth)
{
	enum start_fault fault = FAULT_SYSTEM;
	struct err why;

	if (listen_ctl(s, &why) < 0) {
		fail(s, fault, &why);
		return;
	}
	/* From here on, the next daemon finds the claim and a shepherd that
	 * answers, so release the daemon's lock. */
	close(birth->lock_fd);
	if (tasks_start(s, &fault, &why) < 0 ||
	    await_tasks(s, &fault, &why) < 0) {
		fail(s, fault, &why);
		return;
	}
	tell_started(s);
	gpu_watch_begin(s);
	while (!job_step(s))
		wait_event(s, job_timeout(s));
	finish(s);
}

/* --- claim and setup --- */

/* Block all signals and return a descriptor that reports SIGCHLD. Signals from
 * a terminal are for whoever started the daemon there, not for the shepherd. */
static int take_signals(struct err *err)
{
	sigset_t all, child;
	int fd;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? err_sys(err, "cannot watch signals") : fd;
}

static void name_cgroup(struct shepherd *s, const struct birth *birth)
{
	struct cgroup_ways *ways = &s->order.ways;
	char name[64];

	if (birth->in_scope)
		*ways = birth->ways;
	snprintf(name, sizeof(name), "%" PRIu64 ".%" PRIu32 "-%.8s",
	         s->order.job.job, s->order.job.attempt, s->claim.run_id);
	cgroup_name(&s->cg, ways, name, s->arena);
	s->claim.cgroup = s->cg;
}

/* Read the order and claim the attempt. Returns 1 if the claim is ours, 0 if
 * another shepherd has claimed the attempt. */
static int claim(struct shepherd *s, const struct birth *birth, struct err *err)
{
	umask(077);
	if (order_read(birth->order_fd, &s->order, s->arena, err) < 0)
		return -1;
	s->signal_fd = take_signals(err);
	if (s->signal_fd < 0)
		return -1;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (mkdir(s->dir, 0700) < 0 && errno != EEXIST)
		return err_sys(err, "cannot make '%s'", s->dir);
	s->dirfd = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->dirfd < 0)
		return err_sys(err, "cannot open '%s'", s->dir);
	claim_new(&s->claim);
	name_cgroup(s, birth);
	s->claim_fd = record_claim(s->dirfd, &s->claim, err);
	if (s->claim_fd < 0)
		return err->code == EEXIST ? 0 : -1;
	return 1;
}

static void shepherd(const struct birth *birth)
{
	struct shepherd s = { .arena = arena_new(),
		              .dir = birth->dir,
		              .conn = birth->conn,
		              .tmp_fd = -1,
		              .listen_fd = -1,
		              .deny_fd = -1,
		              .report = -1,
		              .gpu = { .fd = -1, .pidfd = -1 } };
	struct err why;
	int mine = claim(&s, birth, &why);

	if (mine < 0)
		tell_failed(&s, FAULT_SYSTEM, why.text);
	else if (mine == 0)
		tell(&s, json_pack("{s:s}", "event", "claimed"));
	if (mine <= 0)
		return;
	close(birth->order_fd);
	run(&s, birth);
	clean(&s);
}

/* Close descriptors that were inherited from the daemon, except `keep` and the
 * standard ones. */
static void close_others(int keep)
{
	if (keep > 3)
		close_range(3, (unsigned)keep - 1, 0);
	close_range((unsigned)keep + 1, ~0U, 0);
	fcntl(keep, F_SETFD, FD_CLOEXEC);
}

int main(int argc, char **argv)
{
	static struct birth birth;
	int lock_fd;

	if (argc != 3) {
		fprintf(stderr, "aisched-shepherd is started by aischedd\n");
		return EXIT_USAGE;
	}
	lock_fd = (int)strtol(argv[1], NULL, 10);
	close_others(lock_fd);
	/* Seed hash tables at random, so that users cannot choose keys
	 * that collide. */
	json_object_seed(0);
	nursery_serve(argv[2], lock_fd, &birth);
	shepherd(&birth);
	_exit(EXIT_SUCCESS);
}
