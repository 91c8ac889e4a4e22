/* world.c - a local runner in a folder of its own */
#include "tests/unit/run/local/world.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "aischedd/run/shepherd/record.h"
#include "aischedd/run/shepherd/tree.h"
#include "libcommon/buf.h"
#include "libcommon/mem.h"
#include "libcommon/step_msg.h"

#define MAX_TASKS 4

/* --- the world --- */

static void on_event(const struct run_event *ev, void *arg)
{
	struct local_world *w = arg;
	struct local_seen *s = &w->seen[w->n++];

	ck_assert_uint_lt(w->n, LOCAL_EVENTS);
	*s = (struct local_seen){ .kind = ev->kind,
		                  .job = ev->job,
		                  .attempt = ev->attempt,
		                  .replaced = ev->replaced,
		                  .resize = ev->resize,
		                  .suspended = ev->suspended,
		                  .rebooted = ev->rebooted,
		                  .fault = ev->fault };
	if (ev->text)
		snprintf(s->text, sizeof(s->text), "%s", ev->text);
	if (ev->outcome)
		s->out = *ev->outcome;
	if (ev->outcome && ev->outcome->text)
		snprintf(s->text, sizeof(s->text), "%s", ev->outcome->text);
	s->out.text = NULL;
	if (ev->kind == RUN_NODE)
		w->ncpus = ev->node->ncpus;
}

static void give_up(evutil_socket_t fd, short what, void *arg)
{
	struct local_world *w = arg;

	(void)fd, (void)what;
	w->gave_up = true;
}

const struct local_seen *lw_next(struct local_world *w)
{
	struct timeval patience = { .tv_sec = LOCAL_PATIENCE };
	struct event *timer = evtimer_new(w->base, give_up, w);

	event_add(timer, &patience);
	while (w->taken == w->n && !w->gave_up)
		event_base_loop(w->base, EVLOOP_ONCE);
	event_free(timer);
	ck_assert_msg(!w->gave_up, "no event came");
	return &w->seen[w->taken++];
}

const struct local_seen *lw_expect(struct local_world *w,
                                   enum run_event_kind kind, uint64_t job)
{
	const struct local_seen *s = lw_next(w);

	ck_assert_msg(s->kind == kind && s->job == job,
	              "wanted event %d of %" PRIu64 ", got %d of %" PRIu64
	              ": %s",
	              kind, job, s->kind, s->job, s->text);
	return s;
}

void lw_daemon_begins(struct local_world *w)
{
	char state[256], tmp[256];
	const struct conf_health health = { .program = "" };
	struct runner_local_conf conf = { .state_dir = state,
		                          .health = &health,
		                          .tmp_dir = tmp,
		                          .max_processes = 4000,
		                          .rlimits = ~0U };
	struct err err;

	snprintf(state, sizeof(state), "%s/" LOCAL_STATE, w->dir);
	snprintf(tmp, sizeof(tmp), "%s/tmp", w->dir);
	w->base = event_base_new();
	w->n = w->taken = 0;
	w->r = runner_local_new(w->base, &conf, on_event, w, &err);
	ck_assert_msg(w->r != NULL, "%s", err.text);
	lw_expect(w, RUN_NODE, 0);
}

void lw_daemon_ends(struct local_world *w)
{
	w->r->ops->free(w->r);
	event_base_free(w->base);
}

void lw_recover(struct local_world *w, size_t n, const uint64_t *job)
{
	struct run_attempt list[8];

	for (size_t i = 0; i < n; i++)
		list[i] = (struct run_attempt){ .job = job[i],
			                        .attempt = 1,
			                        .started = true };
	w->r->ops->recover(w->r, n, list);
}

static void be_nobody(void)
{
	ck_assert_int_eq(setgroups(0, NULL), 0);
	ck_assert_int_eq(setresgid(LOCAL_NOBODY, LOCAL_NOBODY, LOCAL_NOBODY),
	                 0);
	ck_assert_int_eq(setresuid(LOCAL_NOBODY, LOCAL_NOBODY, LOCAL_NOBODY),
	                 0);
}

/* Whether this process, which is now user nobody, can execute the shepherd:
 * nobody may lack access to the build folder. */
static bool nobody_reaches_shepherd(void)
{
	char self[PATH_MAX], path[PATH_MAX + 64];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	ck_assert_int_gt(len, 0);
	self[len] = '\0';
	snprintf(path, sizeof(path),
	         "%s/../../aischedd/run/shepherd/aisched-shepherd",
	         dirname(self));
	return access(path, X_OK) == 0;
}

bool lw_begin(struct local_world *w, int mode)
{
	char path[256];

	*w = (struct local_world){ .mode = (enum local_mode)mode };
	if (mode != LOCAL_SELF && geteuid() != 0)
		return false;
	snprintf(w->dir, sizeof(w->dir), "/tmp/test_run.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(w->dir));
	chmod(w->dir, 0755);
	if (mode == LOCAL_PLAIN) {
		ck_assert_int_eq(chown(w->dir, LOCAL_NOBODY, LOCAL_NOBODY), 0);
		be_nobody();
		if (!nobody_reaches_shepherd()) {
			fprintf(stderr, "# SKIP unprivileged: nobody cannot "
			                "look into this folder\n");
			rmdir(w->dir);
			return false;
		}
	}
	snprintf(path, sizeof(path), "%s/" LOCAL_STATE, w->dir);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/tmp", w->dir);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/work", w->dir);
	mkdir(path, 0755);
	if (mode == LOCAL_OTHER)
		ck_assert_int_eq(chown(path, LOCAL_NOBODY, LOCAL_NOBODY), 0);
	w->arena = arena_new();
	lw_daemon_begins(w);
	lw_recover(w, 0, NULL);
	lw_expect(w, RUN_SYNCED, 0);
	return true;
}

void lw_finish(struct local_world *w)
{
	lw_daemon_ends(w);
	tree_remove(AT_FDCWD, w->dir, TREE_ALL);
	arena_free(w->arena);
}

/* --- jobs --- */

static uint64_t id_of(const struct local_job *j)
{
	return j->id ? j->id : 1;
}

void lw_order(struct local_world *w, const struct local_job *j,
              void (*fn)(struct runner *r, const struct run_job *job))
{
	uint32_t ntasks = j->tasks ? j->tasks : 1;
	int64_t milli = j->cpus_milli ? j->cpus_milli : 1000;
	struct snap_task task[MAX_TASKS + 1] = { 0 };
	struct snap_cpu_use use[MAX_TASKS];
	const char *node[MAX_TASKS];
	char workdir[80];
	struct buf script = { 0 };
	struct request req = { .tasks = j->most ? j->most : ntasks,
		               .min_tasks = ntasks,
		               .cpus_milli = milli,
		               .mem_mib = j->mem_mib ? j->mem_mib : 512,
		               .tmp_mib = j->tmp_mib };
	struct spec spec;
	struct run_job job = {
		.job = id_of(j),
		.attempt = j->attempt ? j->attempt : 1,
		.array_job = j->array_job,
		.array_task = j->array_task,
		.restarts = j->restarts,
		.uid = w->mode == LOCAL_OTHER ? LOCAL_NOBODY : geteuid(),
		.gid = w->mode == LOCAL_OTHER ? LOCAL_NOBODY : getegid(),
		.user = w->mode == LOCAL_SELF ? "root" : "nobody",
		.spec = &spec,
		.req = &req,
		.queue = "default",
		.cluster = "test",
		.time_limit = TIME_UNLIMITED,
		.grace = j->grace,
		.ntasks = ntasks,
		.task = task,
		.cpu_use = use,
		.node_name = node,
		.env = j->env,
		.env_len = j->env ? strlen(j->env) + 1 : 0,
		.append = j->append,
		.resize = j->resize,
	};

	snprintf(workdir, sizeof(workdir), "%s/work", w->dir);
	spec_init(&spec);
	spec.name = "job";
	spec.output = j->output ? j->output : "out";
	spec.error = j->error;
	spec.input = j->input;
	spec.workdir = j->workdir ? j->workdir : workdir;
	spec.args = j->args;
	spec.rlimits = j->rlimits;
	spec.launch_script = j->whole;
	spec.on_task_failure = j->on_task_failure;
	spec.max_restarts = 1;
	for (uint32_t i = 0; i < ntasks; i++) {
		node[i] = "here";
		task[i + 1].cpu_first = i + 1;
		use[i].cpu = (uint16_t)((j->cpu + i) % w->ncpus);
		use[i].milli = (uint16_t)(milli < 1000 ? milli : 1000);
	}
	if (strncmp(j->script, "#!", 2))
		buf_puts(&script, "#!/bin/sh\n");
	buf_puts(&script, j->script);
	job.script = script.data;
	job.script_len = script.len;
	fn(w->r, &job);
	buf_free(&script);
}

void lw_start(struct local_world *w, const struct local_job *j)
{
	lw_order(w, j, w->r->ops->start);
}

const struct local_seen *lw_run_job(struct local_world *w,
                                    const struct local_job *j)
{
	lw_start(w, j);
	lw_expect(w, RUN_STARTED, id_of(j));
	return lw_expect(w, RUN_ENDED, id_of(j));
}

const char *lw_content(struct local_world *w, const char *name)
{
	static char text[8192];
	char path[160];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/work/%s", w->dir, name);
	fd = open(path, O_RDONLY);
	n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
	return text;
}

void lw_make_pipe(struct local_world *w, const char *name)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/work/%s", w->dir, name);
	ck_assert_int_eq(mkfifo(path, 0666), 0);
	ck_assert_int_eq(chmod(path, 0666), 0);
}

const char *lw_hear(struct local_world *w, const char *name)
{
	return lw_content(w, name);
}

void lw_start_ready(struct local_world *w, const struct local_job *j)
{
	lw_make_pipe(w, "pipe");
	lw_start(w, j);
	lw_expect(w, RUN_STARTED, id_of(j));
	lw_hear(w, "pipe");
}

void lw_wait_closed(struct local_world *w, const char *name)
{
	char path[160], c;
	int fd;

	snprintf(path, sizeof(path), "%s/work/%s", w->dir, name);
	fd = open(path, O_RDONLY | O_NONBLOCK);
	ck_assert_int_ge(fd, 0);
	fcntl(fd, F_SETFL, 0);
	while (read(fd, &c, 1) > 0)
		;
	close(fd);
}

struct claim lw_read_claim(struct local_world *w, uint64_t job)
{
	struct record rec;
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/" LOCAL_STATE "/run/%" PRIu64 ".1",
	         w->dir, job);
	fd = open(path, O_RDONLY | O_DIRECTORY);
	ck_assert_int_ge(fd, 0);
	record_read(fd, &rec, w->arena);
	close(fd);
	return rec.claim;
}

int lw_connect_steps(struct local_world *w)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0), dirfd;
	char path[256];

	snprintf(path, sizeof(path), "%s/" LOCAL_STATE "/run/1.1", w->dir);
	dirfd = open(path, O_RDONLY | O_DIRECTORY);
	snprintf(addr.sun_path, sizeof(addr.sun_path),
	         "/proc/self/fd/%d/" STEP_SOCKET, dirfd);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&addr, sizeof(addr)),
	                 0);
	close(dirfd);
	return fd;
}

void lw_wait_gone(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd p = { .fd = fd, .events = POLLIN };

	if (fd < 0)
		return; /* the job has ended */
	ck_assert_int_eq(poll(&p, 1, LOCAL_PATIENCE * 1000), 1);
	close(fd);
}

void lw_daemon_restarts(struct local_world *w, size_t n, const uint64_t *job)
{
	lw_daemon_ends(w);
	lw_daemon_begins(w);
	lw_recover(w, n, job);
}

void lw_stop(struct local_world *w, uint64_t job, enum stop_why why,
             int64_t grace)
{
	w->r->ops->stop(w->r, job, 1, why, grace);
}

void lw_forget(struct local_world *w, uint64_t job)
{
	w->r->ops->forget(w->r, job, 1);
}

void lw_signal(struct local_world *w, int signo, enum signal_scope scope)
{
	const struct run_signal what = { signo, scope, -1, 0 };

	w->r->ops->signal(w->r, 1, 1, &what);
}

void lw_resume(struct local_world *w, uint16_t cpu)
{
	struct snap_task task[2] = { { 0 }, { .cpu_first = 1 } };
	struct snap_cpu_use use = { cpu, 1000 };
	struct run_job job = { .job = 1,
		               .attempt = 1,
		               .ntasks = 1,
		               .task = task,
		               .cpu_use = &use };

	w->r->ops->resume(w->r, &job);
}

void lw_test(int mode, void (*fn)(struct local_world *w))
{
	struct local_world w;

	if (!lw_begin(&w, mode))
		return;
	fn(&w);
	lw_finish(&w);
}
