/*
 * local.c - the runner of this machine: starts shepherds, talks to them
 *
 * A start costs the loop no file and no wait: the nursery is sent one end of
 * a socket pair and a memory file with the order, and forks the shepherd.
 */
#include "aischedd/run/local.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aischedd/run/order.h"
#include "aischedd/run/tree.h"
#include "libcommon/mem.h"

#define MAX_MESSAGE ((size_t)64 * 1024)
#define TICK_US     10000

static struct local *local_of(struct runner *r)
{
	return (struct local *)(void *)((char *)r -
	                                offsetof(struct local, runner));
}

void local_name(char ret[48], uint64_t job, uint32_t attempt)
{
	snprintf(ret, 48, "%" PRIu64 ".%" PRIu32, job, attempt);
}

static uint64_t key(uint64_t job, uint32_t attempt)
{
	return hash_bytes(attempt, &job, sizeof(job));
}

/* --- attempts --- */

struct attempt *attempt_find(struct local *l, uint64_t job, uint32_t attempt)
{
	return map_find(&l->attempts, key(job, attempt));
}

struct attempt *attempt_new(struct local *l, uint64_t job, uint32_t attempt)
{
	struct attempt *a = xcalloc(1, sizeof(*a));

	a->local = l;
	a->job = job;
	a->attempt = attempt;
	a->fd = a->order_fd = a->child_fd = -1;
	map_set(&l->attempts, key(job, attempt), a);
	return a;
}

static void attempt_hang_up(struct attempt *a)
{
	if (a->fd < 0)
		return;
	event_free(a->readable);
	close(a->fd);
	a->fd = -1;
}

static void attempt_free(struct attempt *a)
{
	attempt_hang_up(a);
	if (a->order_fd >= 0)
		close(a->order_fd);
	if (a->child_fd >= 0)
		close(a->child_fd);
	arena_free(a->arena);
	json_decref(a->stop);
	free(a);
}

static void attempt_remove(struct attempt *a)
{
	struct local *l = a->local;
	char name[48];

	local_name(name, a->job, a->attempt);
	tree_remove(l->dirfd, name);
	map_del(&l->attempts, key(a->job, a->attempt));
	attempt_free(a);
}

void attempt_done(struct attempt *a)
{
	a->state = ATTEMPT_DONE;
	/* While it is connected the shepherd is still tidying up. */
	if ((a->stray || a->forgotten) && a->fd < 0)
		attempt_remove(a);
}

void attempt_tell(struct attempt *a, struct run_event *ev)
{
	struct local *l = a->local;

	ev->job = a->job;
	ev->attempt = a->attempt;
	if (a->awaited) {
		a->awaited = false;
		if (!--l->awaited) /* RUN_SYNCED is due */
			event_active(l->tick, EV_TIMEOUT, 0);
	}
	if (!a->stray)
		l->fn(ev, l->arg); /* may forget it */
}

void attempt_queue(struct attempt *a)
{
	struct local *l = a->local;

	a->next = l->work;
	l->work = a;
	event_active(l->tick, EV_TIMEOUT, 0);
}

/* --- what shepherds say --- */

static void on_started(struct attempt *a, json_t *msg)
{
	json_int_t when;
	int suspended;

	if (a->started || json_unpack(msg, "{s:I s:b}", "time", &when,
	                              "suspended", &suspended) < 0)
		return;
	a->started = true;
	attempt_tell(a, &(struct run_event){ .kind = RUN_STARTED,
	                                     .time = when,
	                                     .suspended = suspended });
}

static void on_failed(struct attempt *a, json_t *msg)
{
	const char *text;
	int fault;

	if (json_unpack(msg, "{s:i s:s}", "fault", &fault, "text", &text) < 0)
		return;
	a->state = ATTEMPT_DONE;
	attempt_tell(a, &(struct run_event){ .kind = RUN_START_FAILED,
	                                     .fault = (enum start_fault)fault,
	                                     .text = text });
}

static void on_ended(struct attempt *a, json_t *msg)
{
	json_t *obj = json_object_get(msg, "outcome");
	struct arena *arena = arena_new();
	struct outcome out;

	if (obj && !outcome_from_json(&out, obj, arena, NULL)) {
		a->state = ATTEMPT_DONE;
		attempt_tell(a, &(struct run_event){ .kind = RUN_ENDED,
		                                     .outcome = &out });
	}
	arena_free(arena);
}

static void on_message(struct attempt *a, const char *text, size_t len)
{
	json_t *msg = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	const char *event = json_string_value(json_object_get(msg, "event"));

	if (!event || a->state != ATTEMPT_TALKS)
		;
	else if (!strcmp(event, "started"))
		on_started(a, msg);
	else if (!strcmp(event, "failed"))
		on_failed(a, msg);
	else if (!strcmp(event, "ended"))
		on_ended(a, msg);
	json_decref(msg);
}

/* What the shepherd did not say its record does, also when it only found
 * that another one has the attempt. */
static void on_hang_up(struct attempt *a)
{
	attempt_hang_up(a);
	if (a->state == ATTEMPT_DONE) {
		attempt_done(a);
		return;
	}
	a->state = ATTEMPT_UNCLEAR;
	attempt_queue(a);
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	static char text[MAX_MESSAGE];
	ssize_t len = recv(fd, text, sizeof(text), MSG_DONTWAIT);

	(void)what;
	if (len > 0)
		on_message(arg, text, (size_t)len);
	else if (len == 0 || (errno != EAGAIN && errno != EINTR))
		on_hang_up(arg);
}

/*
 * A shepherd reads at once unless it was stopped by hand; then what does not
 * fit the socket's buffer, some hundred messages, is lost on it.
 */
void attempt_send(struct attempt *a, json_t *msg)
{
	char *text = json_dumps(msg, JSON_COMPACT);

	if (a->fd >= 0 && text &&
	    send(a->fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
		/* Its end is noticed where it is read. */
	}
	free(text);
	json_decref(msg);
}

void attempt_connect(struct attempt *a, int fd)
{
	struct local *l = a->local;

	a->fd = fd;
	a->state = ATTEMPT_TALKS;
	a->readable =
	    event_new(l->base, fd, EV_READ | EV_PERSIST, on_readable, a);
	event_add(a->readable, NULL);
	if (a->stop)
		attempt_send(a, a->stop);
	a->stop = NULL;
}

/* --- starting --- */

/* The plan's CPU numbers to the kernel's. */
static void order_place(struct local *l, struct order *order,
                        struct arena *arena)
{
	struct run_job *job = &order->job;
	uint32_t n = order_uses(job), first = job->task[0].cpu_first;
	struct snap_task *task =
	    arena_array(arena, struct snap_task, job->ntasks + 1);
	struct snap_cpu_use *use = arena_array(arena, struct snap_cpu_use, n);
	uint8_t *numa = arena_array(arena, uint8_t, n);

	for (uint32_t i = 0; i <= job->ntasks; i++) {
		task[i] = job->task[i];
		task[i].cpu_first -= first;
	}
	order->bind = l->machine.node.ncpus > 0;
	for (uint32_t i = 0; i < n; i++) {
		uint16_t cpu = job->cpu_use[first + i].cpu;

		use[i].milli = job->cpu_use[first + i].milli;
		/* A declared node may have more CPUs than there are. */
		if (cpu >= l->machine.node.ncpus) {
			order->bind = false;
			continue;
		}
		use[i].cpu = l->machine.os_cpu[cpu];
		numa[i] = l->machine.os_numa[cpu];
	}
	job->task = task;
	job->cpu_use = use;
	order->cpu_numa = l->machine.many_numa && order->bind ? numa : NULL;
}

static int write_order(struct local *l, const struct run_job *job,
                       struct err *err)
{
	struct order order = {
		.job = *job,
		.host = l->machine.node.name,
		.node_cpus = l->machine.node.ncpus,
		.node_gpus = l->machine.node.ngpus,
		.ways = l->ways,
	};
	struct arena *arena = arena_new();
	int fd;

	order_place(l, &order, arena);
	fd = order_write(&order, err);
	arena_free(arena);
	return fd;
}

/* Hand it to the nursery; false: it has no room for more, try again. */
static bool attempt_launch(struct attempt *a)
{
	int done = nursery_send(a->local, a, &a->err);

	if (done == 0)
		return false;
	close(a->child_fd);
	close(a->order_fd);
	a->child_fd = a->order_fd = -1;
	if (done < 0)
		attempt_hang_up(a);
	a->state = done < 0 ? ATTEMPT_FAILED : ATTEMPT_TALKS;
	return true;
}

static int attempt_prepare(struct attempt *a, const struct run_job *job)
{
	int pair[2];

	a->order_fd = write_order(a->local, job, &a->err);
	if (a->order_fd < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(&a->err, "cannot make a socket");
	a->child_fd = pair[1];
	attempt_connect(a, pair[0]);
	return 0;
}

static void local_start(struct runner *r, const struct run_job *job)
{
	struct local *l = local_of(r);
	struct attempt *a;

	if (attempt_find(l, job->job, job->attempt))
		return;
	a = attempt_new(l, job->job, job->attempt);
	if (attempt_prepare(a, job) < 0)
		a->state = ATTEMPT_FAILED;
	else if (!attempt_launch(a))
		a->state = ATTEMPT_WAITS;
	if (a->state != ATTEMPT_TALKS)
		attempt_queue(a);
}

/* --- the other requests --- */

static void local_stop(struct runner *r, uint64_t job, uint32_t attempt,
                       enum stop_why why, int64_t grace)
{
	static const char *const words[] = {
		[STOP_CANCEL] = "",
		[STOP_TIME_LIMIT] = " DUE TO TIME LIMIT",
		[STOP_REQUEUE] = " DUE TO JOB REQUEUE",
		[STOP_PREEMPT] = " DUE TO PREEMPTION",
		[STOP_NODE_FAIL] = " DUE TO NODE FAILURE",
		[STOP_DEADLINE] = " DUE TO DEADLINE",
	};
	struct attempt *a = attempt_find(local_of(r), job, attempt);

	assert((size_t)why < ARRAY_SIZE(words));
	if (!a || a->state == ATTEMPT_DONE)
		return;
	json_decref(a->stop);
	a->stop = json_pack("{s:s s:s s:I}", "do", "stop", "why", words[why],
	                    "grace", (json_int_t)grace);
	if (a->fd < 0)
		return; /* until its shepherd is found again */
	attempt_send(a, a->stop);
	a->stop = NULL;
}

static void local_signal(struct runner *r, uint64_t job, uint32_t attempt,
                         int signo, bool script_only)
{
	struct attempt *a = attempt_find(local_of(r), job, attempt);

	if (a)
		attempt_send(a,
		             json_pack("{s:s s:i s:b}", "do", "signal", "signo",
		                       signo, "script_only", script_only));
}

static void local_suspend(struct runner *r, uint64_t job, uint32_t attempt)
{
	struct attempt *a = attempt_find(local_of(r), job, attempt);

	if (a)
		attempt_send(a, json_pack("{s:s}", "do", "suspend"));
}

static void local_resume(struct runner *r, uint64_t job, uint32_t attempt,
                         uint32_t ntasks, const struct snap_task *task,
                         const struct snap_cpu_use *cpu_use)
{
	struct local *l = local_of(r);
	struct attempt *a = attempt_find(l, job, attempt);
	struct order order = {
		.job = { .ntasks = ntasks, .task = task, .cpu_use = cpu_use }
	};
	struct arena *arena;

	if (!a)
		return;
	arena = arena_new();
	order_place(l, &order, arena);
	attempt_send(a, json_pack("{s:s s:o}", "do", "resume", "place",
	                          order_place_to_json(&order)));
	arena_free(arena);
}

static void local_forget(struct runner *r, uint64_t job, uint32_t attempt)
{
	struct attempt *a = attempt_find(local_of(r), job, attempt);

	if (!a)
		return;
	a->forgotten = true;
	if (a->state == ATTEMPT_DONE)
		attempt_done(a);
}

static const char *local_shortcomings(struct runner *r)
{
	struct local *l = local_of(r);

	return l->shortcomings.len ? l->shortcomings.data : "";
}

static void local_free(struct runner *r)
{
	struct local *l = local_of(r);
	struct attempt *a;
	size_t at = 0;

	while ((a = map_each(&l->attempts, &at)))
		attempt_free(a);
	map_free(&l->attempts);
	if (l->tick)
		event_free(l->tick);
	nursery_close(l);
	for (int i = 0; i < 3; i++) {
		int fd = (int[]){ l->dirfd, l->null_fd, l->lock_fd }[i];

		if (fd >= 0)
			close(fd);
	}
	arena_free(l->arena);
	buf_free(&l->shortcomings);
	free(l->dir);
	free(l->shepherd);
	free(l);
}

static const struct runner_ops local_ops = {
	.start = local_start,
	.stop = local_stop,
	.signal = local_signal,
	.suspend = local_suspend,
	.resume = local_resume,
	.forget = local_forget,
	.recover = local_recover,
	.shortcomings = local_shortcomings,
	.free = local_free,
};

/* --- the tick: what cannot be done at once --- */

static bool attempt_work(struct attempt *a)
{
	if (a->state == ATTEMPT_WAITS && !attempt_launch(a))
		return false;
	switch (a->state) {
	case ATTEMPT_FAILED:
		attempt_tell(a, &(struct run_event){ .kind = RUN_START_FAILED,
		                                     .fault = FAULT_SYSTEM,
		                                     .text = a->err.text });
		attempt_done(a);
		return true;
	case ATTEMPT_UNCLEAR:
	case ATTEMPT_DYING:
		return attempt_settle(a);
	default:
		return true;
	}
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct local *l = arg;
	struct attempt *a, *next, *again = NULL;
	struct timeval soon = { .tv_usec = TICK_US };

	(void)fd, (void)what;
	if (l->hello) {
		l->hello = false;
		l->fn(&(struct run_event){ .kind = RUN_NODE,
		                           .node = &l->machine.node },
		      l->arg);
	}
	if ((l->work || l->recovering) && !local_lock(l)) {
		event_add(l->tick, &soon);
		return;
	}
	if (l->strays_unseen) {
		l->strays_unseen = false;
		local_find_strays(l);
	}
	a = l->work;
	l->work = NULL;
	for (; a; a = next) {
		next = a->next;
		if (!attempt_work(a)) {
			a->next = again;
			again = a;
		}
	}
	while ((a = again)) {
		again = a->next;
		a->next = l->work;
		l->work = a;
	}
	if (l->recovering && !l->awaited) {
		l->recovering = false;
		l->fn(&(struct run_event){ .kind = RUN_SYNCED }, l->arg);
	}
	if (l->work)
		event_add(l->tick, &soon);
}

/* --- beginning --- */

/* Relative to our own program: installed, or in the folder it was built. */
static char *find_shepherd(struct err *err)
{
	static const char *const places[] = {
		"/../libexec/aisched/aisched-shepherd", "/run/aisched-shepherd",
		"/../../aischedd/run/aisched-shepherd", /* of a test */
	};
	char self[PATH_MAX], *dir;
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (len < 0) {
		err_sys(err, "cannot read '/proc/self/exe'");
		return NULL;
	}
	self[len] = '\0';
	dir = dirname(self);
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		char *path = xasprintf("%s%s", dir, places[i]);

		if (!access(path, X_OK))
			return path;
		free(path);
	}
	err_set(err, ENOENT,
	        "no program 'aisched-shepherd' found from '%s%s' on", dir,
	        places[0]);
	return NULL;
}

static void note_shortcomings(struct local *l)
{
	static const struct {
		enum cgroup_tree controller;
		const char *text;
	} missing[] = {
		{ CG_MEMORY, "Memory: no cgroup controller; the memory of a "
		             "job is looked at several times a second and "
		             "may exceed its limit in between." },
		{ CG_CPU, "CPUs: no cgroup controller; jobs that share a CPU "
		          "are not held to their parts of it." },
		{ CG_CPUSET, "CPUs: no cgroup controller; a job starts on its "
		             "CPUs but could leave them." },
		{ CG_PIDS, "Processes: no cgroup controller; their number is "
		           "not limited." },
	};

	for (size_t i = 0; i < ARRAY_SIZE(missing); i++)
		if (!cgroup_can(&l->ways, missing[i].controller))
			buf_printf(&l->shortcomings, "%s%s",
			           l->shortcomings.len ? " " : "",
			           missing[i].text);
	if (!l->machine.node.ncpus)
		buf_printf(&l->shortcomings, "%sCPUs: cannot be bound.",
		           l->shortcomings.len ? " " : "");
}

static int open_dir(struct local *l, const char *state_dir, struct err *err)
{
	/* Other users' jobs reach their scripts through it. */
	mode_t mode = geteuid() == 0 ? 0711 : 0700;

	l->dir = xasprintf("%s/run", state_dir);
	if (mkdir(l->dir, mode) < 0 && errno != EEXIST)
		return err_sys(err, "cannot make '%s'", l->dir);
	l->dirfd = open(l->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (l->dirfd < 0 || fchmod(l->dirfd, mode) < 0)
		return err_sys(err, "cannot use '%s'", l->dir);
	l->lock_fd =
	    openat(l->dirfd, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (l->lock_fd < 0)
		return err_sys(err, "cannot open '%s/lock'", l->dir);
	l->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (l->null_fd < 0)
		return err_sys(err, "cannot open '/dev/null'");
	return 0;
}

static int prepare(struct local *l, const char *state_dir,
                   const struct conf_node *node, struct err *err)
{
	if (open_dir(l, state_dir, err) < 0)
		return -1;
	l->shepherd = find_shepherd(err);
	if (!l->shepherd)
		return -1;
	if (machine_discover(&l->machine, node, l->arena, err) < 0)
		return -1;
	if (nursery_open(l, err) < 0)
		return -1;
	boot_id(l->boot);
	note_shortcomings(l);
	return 0;
}

struct runner *runner_local_new(struct event_base *base, const char *state_dir,
                                const struct conf_node *node, run_event_fn *fn,
                                void *arg, struct err *err)
{
	struct local *l = xcalloc(1, sizeof(*l));

	l->runner.ops = &local_ops;
	l->base = base;
	l->fn = fn;
	l->arg = arg;
	l->dirfd = l->lock_fd = l->null_fd = l->nursery_fd = -1;
	l->arena = arena_new();
	if (prepare(l, state_dir, node, err) < 0) {
		local_free(&l->runner);
		return NULL;
	}
	l->tick = event_new(base, -1, 0, on_tick, l);
	l->hello = true;
	event_active(l->tick, EV_TIMEOUT, 0);
	return &l->runner;
}
