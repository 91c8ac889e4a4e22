/*
 * test_local.c - the runner of this machine with real jobs
 *
 * Each test runs in three ways: as the user who runs the tests; as root with a
 * job of another user; and unprivileged, without cgroups. Tests wait for
 * events, pipes and ends of processes, never for time.
 */
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <linux/keyctl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "aischedd/run/runner.h"
#include "aischedd/run/shepherd/cgroup.h"
#include "aischedd/run/shepherd/cgroup_find.h"
#include "aischedd/run/shepherd/proc.h"
#include "aischedd/run/shepherd/record.h"
#include "aischedd/run/shepherd/tree.h"
#include "libcommon/buf.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"
#include "tests/unit/check.h"

#define NOBODY    65534
#define PATIENCE  60 /* seconds until a test gives up on an event */
#define MAX_SEEN  1024
#define MANY      400
#define MAX_TASKS 4
/* Longer than a socket address. */
#define STATE                                                              \
	"state-of-a-daemon-in-a-folder-whose-name-is-so-long-that-it-was-" \
	"surely-made-up-by-someone-who-wants-to-see-what-happens"

enum mode { MODE_SELF, MODE_OTHER, MODE_PLAIN, NMODES };

struct seen {
	enum run_event_kind kind;
	uint64_t job;
	uint32_t attempt, replaced, resize;
	bool suspended, rebooted;
	enum start_fault fault;
	struct outcome out;
	char text[400];
};

struct local_world {
	enum mode mode;
	char dir[64]; /* STATE below it is the daemon's, work the job's */
	struct arena *arena;
	struct event_base *base;
	struct runner *r;
	struct seen seen[MAX_SEEN];
	size_t n, taken;
	uint32_t ncpus;
	bool gave_up;
};

/* A job as the tests write it; the rest are defaults. */
struct local_job {
	uint64_t id;
	uint32_t attempt; /* 1 unless given */
	const char *script;
	const char *env, *args, *output, *error, *input, *workdir, *rlimits;
	uint32_t tasks; /* 1 unless given */
	uint32_t most;  /* the most tasks; equal to tasks unless given */
	uint32_t resize;
	const char *on_task_failure;
	int64_t cpus_milli, mem_mib, grace;
	uint32_t cpu; /* its first CPU */
	bool whole;   /* one process with the whole allocation */
	bool append;
	uint64_t array_job;
	uint32_t array_task, restarts;
};

/* --- the world --- */

static void on_event(const struct run_event *ev, void *arg)
{
	struct local_world *w = arg;
	struct seen *s = &w->seen[w->n++];

	ck_assert_uint_lt(w->n, MAX_SEEN);
	*s = (struct seen){ .kind = ev->kind,
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

/* Returns the next event not taken yet; for a kind of event about a job, skips
 * those about nodes and the like. */
static const struct seen *next(struct local_world *w)
{
	struct timeval patience = { .tv_sec = PATIENCE };
	struct event *timer = evtimer_new(w->base, give_up, w);

	event_add(timer, &patience);
	while (w->taken == w->n && !w->gave_up)
		event_base_loop(w->base, EVLOOP_ONCE);
	event_free(timer);
	ck_assert_msg(!w->gave_up, "no event came");
	return &w->seen[w->taken++];
}

static const struct seen *expect(struct local_world *w,
                                 enum run_event_kind kind, uint64_t job)
{
	const struct seen *s = next(w);

	ck_assert_msg(s->kind == kind && s->job == job,
	              "wanted event %d of %" PRIu64 ", got %d of %" PRIu64
	              ": %s",
	              kind, job, s->kind, s->job, s->text);
	return s;
}

static void daemon_begins(struct local_world *w)
{
	char state[256], tmp[256];
	struct runner_local_conf conf = { .state_dir = state,
		                          .tmp_dir = tmp,
		                          .max_processes = 4000,
		                          .rlimits = ~0U };
	struct err err;

	snprintf(state, sizeof(state), "%s/" STATE, w->dir);
	snprintf(tmp, sizeof(tmp), "%s/tmp", w->dir);
	w->base = event_base_new();
	w->n = w->taken = 0;
	w->r = runner_local_new(w->base, &conf, on_event, w, &err);
	ck_assert_msg(w->r != NULL, "%s", err.text);
	expect(w, RUN_NODE, 0);
}

static void daemon_ends(struct local_world *w)
{
	w->r->ops->free(w->r);
	event_base_free(w->base);
}

static void recover(struct local_world *w, size_t n, const uint64_t *job)
{
	uint32_t attempt[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };

	w->r->ops->recover(w->r, n, job, attempt);
}

static void be_nobody(void)
{
	ck_assert_int_eq(setgroups(0, NULL), 0);
	ck_assert_int_eq(setresgid(NOBODY, NOBODY, NOBODY), 0);
	ck_assert_int_eq(setresuid(NOBODY, NOBODY, NOBODY), 0);
}

/* Other users may be unable to reach the build folder. */
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

/* Returns false if this mode is not possible here. */
static bool begin(struct local_world *w, int mode)
{
	char path[256];

	*w = (struct local_world){ .mode = (enum mode)mode };
	if (mode != MODE_SELF && geteuid() != 0)
		return false;
	snprintf(w->dir, sizeof(w->dir), "/tmp/test_run.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(w->dir));
	chmod(w->dir, 0755);
	if (mode == MODE_PLAIN) {
		ck_assert_int_eq(chown(w->dir, NOBODY, NOBODY), 0);
		be_nobody();
		if (!nobody_reaches_shepherd()) {
			fprintf(stderr, "# SKIP unprivileged: nobody cannot "
			                "look into this folder\n");
			rmdir(w->dir);
			return false;
		}
	}
	snprintf(path, sizeof(path), "%s/" STATE, w->dir);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/tmp", w->dir);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/work", w->dir);
	mkdir(path, 0755);
	if (mode == MODE_OTHER)
		ck_assert_int_eq(chown(path, NOBODY, NOBODY), 0);
	w->arena = arena_new();
	daemon_begins(w);
	recover(w, 0, NULL);
	expect(w, RUN_SYNCED, 0);
	return true;
}

static void finish(struct local_world *w)
{
	daemon_ends(w);
	tree_remove(AT_FDCWD, w->dir, TREE_ALL);
	arena_free(w->arena);
}

/* --- jobs --- */

/* fn: start or resize. */
static void order(struct local_world *w, const struct local_job *j,
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
		               .mem_mib = j->mem_mib ? j->mem_mib : 512 };
	struct spec spec;
	struct run_job job = {
		.job = j->id,
		.attempt = j->attempt ? j->attempt : 1,
		.array_job = j->array_job,
		.array_task = j->array_task,
		.restarts = j->restarts,
		.uid = w->mode == MODE_OTHER ? NOBODY : geteuid(),
		.gid = w->mode == MODE_OTHER ? NOBODY : getegid(),
		.user = w->mode == MODE_SELF ? "root" : "nobody",
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

static void start(struct local_world *w, const struct local_job *j)
{
	order(w, j, w->r->ops->start);
}

static const struct seen *run_job(struct local_world *w,
                                  const struct local_job *j)
{
	start(w, j);
	expect(w, RUN_STARTED, j->id);
	return expect(w, RUN_ENDED, j->id);
}

/* Returns the contents of a file in the job's folder; "" if there is none. */
static const char *content(struct local_world *w, const char *name)
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

static bool file_has(const char *path, const char *text)
{
	FILE *file = fopen(path, "r");
	char line[1024];
	bool has = false;

	ck_assert_ptr_nonnull(file);
	while (!has && fgets(line, sizeof(line), file))
		has = strstr(line, text) != NULL;
	fclose(file);
	return has;
}

static void copy_file(const char *from, const char *to)
{
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);

	ck_assert_int_ge(in, 0);
	ck_assert_int_ge(out, 0);
	while (sendfile(out, in, NULL, 1 << 20) > 0)
		;
	close(in);
	close(out);
}

/* Make a pipe in the job's folder, through which it reports. */
static void make_pipe(struct local_world *w, const char *name)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/work/%s", w->dir, name);
	ck_assert_int_eq(mkfifo(path, 0666), 0);
	ck_assert_int_eq(chmod(path, 0666), 0);
}

/* Wait until the job has written a line to it. */
static const char *hear(struct local_world *w, const char *name)
{
	return content(w, name);
}

/* Start it, and wait until it has written a line to "pipe". */
static void start_ready(struct local_world *w, const struct local_job *j)
{
	make_pipe(w, "pipe");
	start(w, j);
	expect(w, RUN_STARTED, j->id);
	hear(w, "pipe");
}

/* Wait until no process has this pipe open for writing. */
static void wait_closed(struct local_world *w, const char *name)
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

static struct claim read_claim(struct local_world *w, uint64_t job)
{
	struct record rec;
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/" STATE "/run/%" PRIu64 ".1", w->dir,
	         job);
	fd = open(path, O_RDONLY | O_DIRECTORY);
	ck_assert_int_ge(fd, 0);
	record_read(fd, &rec, w->arena);
	close(fd);
	return rec.claim;
}

/* Wait until the process has ended. */
static void wait_gone(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd p = { .fd = fd, .events = POLLIN };

	if (fd < 0)
		return; /* ended */
	ck_assert_int_eq(poll(&p, 1, PATIENCE * 1000), 1);
	close(fd);
}

/* --- ends --- */

static const struct {
	const char *name, *script;
	int exit_code, signal;
} ends[] = {
	{ "true", "true", 0, 0 },
	{ "false", "false", 1, 0 },
	{ "an exit status", "exit 7", 7, 0 },
	{ "a signal", "kill -9 $$", 0, SIGKILL },
	{ "another signal", "kill -USR1 $$", 0, SIGUSR1 },
	{ "the highest status", "exit 255", 255, 0 },
};

START_TEST(ends_are_kept_exactly)
{
	struct local_world w;

	if (!begin(&w, _i))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		const struct seen *s =
		    run_job(&w, &(struct local_job){
				    .id = i + 1, .script = ends[i].script });

		ck_assert_msg(s->out.exit_code == ends[i].exit_code &&
		                  s->out.signal == ends[i].signal &&
		                  !s->out.oom,
		              "%s: exit %d signal %d", ends[i].name,
		              s->out.exit_code, s->out.signal);
		ck_assert_int_ge(s->out.end, s->out.start);
		ck_assert_int_ge(s->out.peak_mem_kib, 0);
		w.r->ops->forget(w.r, i + 1, 1);
	}
	finish(&w);
}
END_TEST

/* --- files --- */

START_TEST(names_of_files_are_expanded)
{
	struct local_world w;

	if (!begin(&w, _i))
		return;
	run_job(&w, &(struct local_job){ .id = 17,
	                                 .script = "echo out; echo err >&2",
	                                 .output = "a/%x/o-%j-%t.%%",
	                                 .error = "e-%A_%a",
	                                 .array_job = 12,
	                                 .array_task = 3 });
	ck_assert_str_eq(content(&w, "a/job/o-17-0.%"), "out\n");
	ck_assert_str_eq(content(&w, "e-12_3"), "err\n");
	finish(&w);
}
END_TEST

START_TEST(tasks_share_one_file)
{
	struct local_world w;
	const char *text;

	if (!begin(&w, _i))
		return;
	run_job(&w, &(struct local_job){ .id = 1,
	                                 .tasks = 2,
	                                 .script = "echo $RANK/$WORLD_SIZE",
	                                 .cpus_milli = 500 });
	text = content(&w, "out");
	ck_assert_msg(!strcmp(text, "0/2\n1/2\n") ||
	                  !strcmp(text, "1/2\n0/2\n"),
	              "%s", text);
	finish(&w);
}
END_TEST

START_TEST(output_is_truncated_or_appended_to)
{
	struct local_world w;

	if (!begin(&w, _i))
		return;
	run_job(&w, &(struct local_job){ .id = 1, .script = "echo one" });
	run_job(&w, &(struct local_job){ .id = 2, .script = "echo two" });
	ck_assert_str_eq(content(&w, "out"), "two\n");
	run_job(&w, &(struct local_job){
			.id = 3, .script = "echo three", .append = true });
	ck_assert_str_eq(content(&w, "out"), "two\nthree\n");
	finish(&w);
}
END_TEST

START_TEST(input_and_arguments_arrive)
{
	struct local_world w;

	if (!begin(&w, _i))
		return;
	run_job(&w, &(struct local_job){ .id = 1, .script = "echo hello" });
	run_job(&w, &(struct local_job){ .id = 2,
	                                 .script = "cat; echo \"$#:$1:$2\"",
	                                 .input = "out",
	                                 .output = "out2",
	                                 .args = "[\"a b\", \"\"]" });
	ck_assert_str_eq(content(&w, "out2"), "hello\n2:a b:\n");
	/* Without an input it reads an end of file. */
	run_job(&w, &(struct local_job){ .id = 3, .script = "cat; echo end" });
	ck_assert_str_eq(content(&w, "out"), "end\n");
	finish(&w);
}
END_TEST

START_TEST(pipes_and_devices_are_fine_as_output)
{
	struct local_world w;

	if (!begin(&w, _i))
		return;
	make_pipe(&w, "pipe");
	/* Nobody reads it: the job must neither hang nor die. */
	run_job(&w, &(struct local_job){
			.id = 1, .script = "echo lost", .output = "pipe" });
	run_job(&w, &(struct local_job){ .id = 2,
	                                 .script = "echo lost",
	                                 .output = "/dev/null" });
	finish(&w);
}
END_TEST

static const struct {
	const char *name;
	struct local_job job;
	const char *text;
} faults[] = {
	{ "no such interpreter",
	  { .script = "#!/no/such/shell -x\n" },
	  "cannot run the script with its interpreter '/no/such/shell': No "
	  "such file or directory" },
	{ "interpreter is no program",
	  { .script = "#! /etc/passwd\n" },
	  "cannot run the script with its interpreter '/etc/passwd': Permission "
	  "denied" },
	{ "no such working directory",
	  { .script = "true", .workdir = "/no/such" },
	  "cannot enter working directory '/no/such': No such file or "
	  "directory" },
	{ "output is a folder",
	  { .script = "true", .output = "/tmp" },
	  "cannot open output '/tmp': Is a directory" },
	{ "no such input",
	  { .script = "true", .input = "/no/such" },
	  "cannot open input '/no/such': No such file or directory" },
	{ "a folder cannot be made",
	  { .script = "true", .output = "/proc/no/out" },
	  "cannot open output '/proc/no/out': No such file or directory" },
};

START_TEST(faults_of_the_user_are_said)
{
	struct local_world w;

	if (!begin(&w, _i))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		struct local_job job = faults[i].job;
		const struct seen *s;

		job.id = i + 1;
		start(&w, &job);
		s = expect(&w, RUN_START_FAILED, i + 1);
		ck_assert_msg(s->fault == FAULT_USER, "%s", faults[i].name);
		ck_assert_str_eq(s->text, faults[i].text);
	}
	finish(&w);
}
END_TEST

START_TEST(output_of_others_is_not_writable)
{
	const struct seen *s;
	struct local_world w;

	if (_i == MODE_SELF || !begin(&w, _i))
		return;
	start(&w, &(struct local_job){ .id = 1,
	                               .script = "true",
	                               .output = "/etc/aisched-test" });
	s = expect(&w, RUN_START_FAILED, 1);
	ck_assert_int_eq(s->fault, FAULT_USER);
	ck_assert_str_eq(s->text, "cannot open output '/etc/aisched-test': "
	                          "Permission denied");
	finish(&w);
}
END_TEST

/* Nothing can be made there: "No space left on device". */
static bool mount_full(const char *path)
{
	return mkdir(path, 0777) == 0 &&
	       mount("none", path, "tmpfs", 0, "size=4k,nr_inodes=1") == 0 &&
	       chmod(path, 01777) == 0;
}

START_TEST(a_full_disk_of_the_user_is_not_the_nodes_fault)
{
	char path[128];
	const struct seen *s;
	struct local_world w;

	if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return;
	if (!begin(&w, _i))
		return;
	snprintf(path, sizeof(path), "%s/work/full", w.dir);
	if (geteuid() != 0 || !mount_full(path)) {
		rmdir(path);
		finish(&w);
		return;
	}
	start(&w, &(struct local_job){
		      .id = 1, .script = "true", .output = "full/out" });
	s = expect(&w, RUN_START_FAILED, 1);
	ck_assert_int_eq(s->fault, FAULT_USER);
	ck_assert_ptr_nonnull(strstr(s->text, "No space left on device"));
	ck_assert_int_eq(umount(path), 0);
	finish(&w);
}
END_TEST

/* So little that nothing can become the script, or it ends at once. */
static const char *const little[] = { "AS=1:1",   "DATA=0:0",   "STACK=0:0",
	                              "CPU=0:0",  "NOFILE=0:0", "NPROC=0:0",
	                              "FSIZE=0:0" };

START_TEST(little_that_the_user_may_is_not_the_nodes_fault)
{
	const struct seen *s;
	struct local_world w;

	if (!begin(&w, _i))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(little); i++) {
		start(&w, &(struct local_job){ .id = i + 1,
		                               .script = "true",
		                               .rlimits = little[i] });
		do
			s = next(&w);
		while (s->kind == RUN_STARTED);
		ck_assert_msg(s->kind == RUN_ENDED || s->fault == FAULT_USER,
		              "%s: %s", little[i], s->text);
	}
	finish(&w);
}
END_TEST

START_TEST(the_job_runs_as_its_user)
{
	char want[32];
	struct local_world w;

	if (!begin(&w, _i))
		return;
	run_job(&w, &(struct local_job){ .id = 1, .script = "id -u; umask" });
	snprintf(want, sizeof(want), "%u\n0022\n",
	         _i == MODE_SELF ? geteuid() : NOBODY);
	ck_assert_str_eq(content(&w, "out"), want);
	finish(&w);
}
END_TEST

START_TEST(it_has_a_folder_of_its_own_for_a_while)
{
	struct local_world w;
	char path[8192];
	pid_t shepherd;

	if (!begin(&w, _i))
		return;
	run_job(&w,
	        &(struct local_job){ .id = 1,
	                             .script = "cd $TMPDIR && mkdir -p a/b && "
	                                       "touch a/b/c && ln -s /etc l && "
	                                       "chmod 0 a/b && pwd",
	                             .env = "TMPDIR=/nowhere" });
	snprintf(path, sizeof(path), "%s", content(&w, "out"));
	path[strcspn(path, "\n")] = '\0';
	ck_assert_int_eq(path[0], '/');
	shepherd = read_claim(&w, 1).pid;
	w.r->ops->forget(w.r, 1, 1);
	run_job(&w, &(struct local_job){ .id = 2, .script = "true" });
	wait_gone(shepherd);
	ck_assert_ptr_nonnull(strstr(path, "/tmp/aisched-1.1-"));
	ck_assert_int_eq(access(path, F_OK), -1);
	ck_assert_int_eq(access("/etc/passwd", F_OK), 0);
	finish(&w);
}
END_TEST

/* --- processes --- */

#define RUN_AWAY "exec 3>pipe; setsid sleep 1000 & setsid sleep 1000 & "

START_TEST(nothing_is_left_when_the_script_ends)
{
	struct local_world w;

	if (!begin(&w, _i))
		return;
	start_ready(&w,
	            &(struct local_job){
			.id = 1, .script = RUN_AWAY "echo ready >&3; exit 4" });
	ck_assert_int_eq(expect(&w, RUN_ENDED, 1)->out.exit_code, 4);
	wait_closed(&w, "pipe");
	finish(&w);
}
END_TEST

/* It gets a moment, which on a busy machine may be too short. */
START_TEST(what_still_writes_may_finish)
{
	struct local_world w;

	if (!begin(&w, _i))
		return;
	for (uint64_t id = 1; id <= 5; id++) {
		run_job(&w,
		        &(struct local_job){ .id = id,
		                             .script = "rm -f p; mkfifo p\n"
		                                       "(cat p; sleep 0.05; "
		                                       "echo more) >copy &\n"
		                                       "echo hello >p" });
		if (strstr(content(&w, "copy"), "more"))
			break;
	}
	ck_assert_str_eq(content(&w, "copy"), "hello\nmore\n");
	finish(&w);
}
END_TEST

START_TEST(cancel_lets_it_say_goodbye)
{
	struct local_world w;

	if (!begin(&w, _i))
		return;
	start_ready(
	    &w, &(struct local_job){ .id = 1,
	                             .script = "trap 'echo bye; exit 3' TERM\n"
	                                       "sh -c 'echo ready >pipe; "
	                                       "exec sleep 1000' &\n"
	                                       "while :; do wait; done" });
	w.r->ops->stop(w.r, 1, 1, STOP_CANCEL, 1000);
	ck_assert_int_eq(expect(&w, RUN_ENDED, 1)->out.exit_code, 3);
	ck_assert_ptr_nonnull(strstr(content(&w, "out"), "bye\n"));
	finish(&w);
}
END_TEST

START_TEST(who_ignores_it_is_killed)
{
	struct local_world w;

	if (!begin(&w, _i))
		return;
	start_ready(&w,
	            &(struct local_job){ .id = 1,
	                                 .script = "trap '' TERM\n" RUN_AWAY
	                                           "echo ready >&3; wait" });
	w.r->ops->stop(w.r, 1, 1, STOP_CANCEL, 1000);
	/* A second stop shortens the first. */
	w.r->ops->stop(w.r, 1, 1, STOP_CANCEL, 0);
	ck_assert_int_eq(expect(&w, RUN_ENDED, 1)->out.signal, SIGKILL);
	finish(&w);
}
END_TEST

static const struct {
	enum stop_why why;
	const char *text;
} whys[] = {
	{ STOP_CANCEL, "" },
	{ STOP_TIME_LIMIT, " DUE TO TIME LIMIT" },
	{ STOP_REQUEUE, " DUE TO JOB REQUEUE" },
	{ STOP_PREEMPT, " DUE TO PREEMPTION" },
	{ STOP_NODE_FAIL, " DUE TO NODE FAILURE" },
	{ STOP_DEADLINE, " DUE TO DEADLINE" },
};

START_TEST(the_output_says_why_it_was_stopped)
{
	struct local_world w;

	if (!begin(&w, _i))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(whys); i++) {
		char host[256] = "", head[300], tail[64];
		const char *text;

		start(&w, &(struct local_job){ .id = i + 1,
		                               .script = "exec sleep 1000",
		                               .error = "err" });
		expect(&w, RUN_STARTED, i + 1);
		w.r->ops->stop(w.r, i + 1, 1, whys[i].why, 1000);
		ck_assert_int_eq(expect(&w, RUN_ENDED, i + 1)->out.signal,
		                 SIGTERM);
		gethostname(host, sizeof(host) - 1);
		snprintf(head, sizeof(head),
		         "aischedd: error: *** JOB %zu ON %s CANCELLED AT 20",
		         i + 1, host);
		/* The time between them is 2026-11-21T18:30:00. */
		snprintf(tail, sizeof(tail), "%s ***\n", whys[i].text);
		text = content(&w, "err");
		ck_assert_msg(!strncmp(text, head, strlen(head)), "%s", text);
		ck_assert_str_eq(text + strlen(head) + 17, tail);
	}
	finish(&w);
}
END_TEST

static void send_signal(struct local_world *w, int signo,
                        enum signal_scope scope)
{
	const struct run_signal what = { signo, scope, -1 };

	w->r->ops->signal(w->r, 1, 1, &what);
}

START_TEST(signals_go_to_all_or_to_the_script)
{
	struct local_world w;

	if (!begin(&w, _i))
		return;
	make_pipe(&w, "pipe");
	start(&w, &(struct local_job){
		      .id = 1,
		      .script = "trap 'echo script >&3' USR1\n"
				"exec 3>pipe; (trap 'echo child >&3; exit' "
				"USR1; echo ready >&3; while :; do sleep 1000 "
				"& wait; done) &\nwhile :; do wait; done" });
	expect(&w, RUN_STARTED, 1);
	{
		char path[160], text[64];
		FILE *f;

		snprintf(path, sizeof(path), "%s/work/pipe", w.dir);
		f = fopen(path, "r");
		ck_assert_ptr_nonnull(f);
		ck_assert_ptr_nonnull(fgets(text, sizeof(text), f));
		ck_assert_str_eq(text, "ready\n");
		send_signal(&w, SIGUSR1, SIGNAL_script);
		ck_assert_ptr_nonnull(fgets(text, sizeof(text), f));
		ck_assert_str_eq(text, "script\n");
		send_signal(&w, SIGUSR1, SIGNAL_job);
		for (int i = 0, seen = 0; i < 2; i++) {
			ck_assert_ptr_nonnull(fgets(text, sizeof(text), f));
			seen |= !strcmp(text, "script\n") ? 1 : 2;
			ck_assert_msg(i == 0 || seen == 3, "%s", text);
		}
		fclose(f);
	}
	w.r->ops->stop(w.r, 1, 1, STOP_CANCEL, 0);
	expect(&w, RUN_ENDED, 1);
	finish(&w);
}
END_TEST

START_TEST(a_gang_ends_with_its_first_failure)
{
	struct local_world w;

	if (!begin(&w, _i))
		return;
	start(&w, &(struct local_job){ .id = 1,
	                               .tasks = 3,
	                               .grace = 1000,
	                               .cpus_milli = 500,
	                               .script = "[ $RANK != 1 ] || exit 3; "
	                                         "exec sleep 1000" });
	expect(&w, RUN_STARTED, 1);
	ck_assert_int_eq(expect(&w, RUN_ENDED, 1)->out.exit_code, 3);
	ck_assert_str_eq(content(&w, "out"),
	                 "aischedd: error: task 1 ended with exit status "
	                 "3, ending the others\n");
	finish(&w);
}
END_TEST

static void resume_on(struct local_world *w, uint64_t job, uint16_t cpu)
{
	struct snap_task task[2] = { { 0 }, { .cpu_first = 1 } };
	struct snap_cpu_use use = { cpu, 1000 };

	w->r->ops->resume(w->r, job, 1, 1, task, &use);
}

START_TEST(a_task_that_succeeds_ends_nobody)
{
	struct local_world w;

	if (!begin(&w, _i))
		return;
	make_pipe(&w, "go");
	/* The first one is gone when the second one begins to wait. */
	start(&w, &(struct local_job){ .id = 1,
	                               .tasks = 2,
	                               .cpus_milli = 500,
	                               .script =
	                                   "[ $RANK = 1 ] || { echo $$ >go; "
	                                   "exit 0; }; read pid <go; "
	                                   "while kill -0 $pid 2>/dev/null; do "
	                                   "sleep 0.01; done; echo alone; "
	                                   "exit 4" });
	expect(&w, RUN_STARTED, 1);
	ck_assert_int_eq(expect(&w, RUN_ENDED, 1)->out.exit_code, 4);
	ck_assert_str_eq(content(&w, "out"), "alone\n");
	finish(&w);
}
END_TEST

/* Processes it left behind are killed first, even in a session of their own. */
START_TEST(a_task_that_failed_is_replaced_alone)
{
	const struct seen *s;
	struct local_world w;

	if (!begin(&w, _i))
		return;
	make_pipe(&w, "go");
	start(&w, &(struct local_job){
		      .id = 1,
		      .tasks = 2,
		      .cpus_milli = 500,
		      .on_task_failure = "replace",
		      .output = "out-%t",
		      .script = "echo $RANK/$WORLD_SIZE\n"
				"[ $RANK = 1 ] || { read x <go; exit; }\n"
				"if [ -e left ]; then\n"
				"grep -qs sleep /proc/$(cat left)/cmdline "
				"&& echo left\n"
				"echo x >go; exit\nfi\n"
				"setsid sleep 1000 & echo $! >left\n"
				"while ! grep -qs sleep /proc/$!/cmdline\n"
				"do sleep 0.01; done\n"
				"exit 3" });
	expect(&w, RUN_STARTED, 1);
	s = expect(&w, RUN_REPLACED, 1);
	ck_assert_uint_eq(s->replaced, 1);
	ck_assert_str_eq(s->text,
	                 "task 1 ended with exit status 3 and starts again");
	ck_assert_int_eq(expect(&w, RUN_ENDED, 1)->out.exit_code, 0);
	/* Once each, in any order. */
	ck_assert_uint_eq(strlen(content(&w, "out-0")),
	                  strlen("0/2\naischedd: error: task 1 ended with exit "
	                         "status 3 and starts again\n"));
	ck_assert_str_eq(
	    content(&w, "out-1"),
	    "1/2\naischedd: error: task 1 ended with exit status 3 "
	    "and starts again\n1/2\n");
	finish(&w);
}
END_TEST

START_TEST(as_many_are_replaced_as_may_be)
{
	const struct seen *s;
	struct local_world w;

	if (!begin(&w, _i))
		return;
	start(&w, &(struct local_job){ .id = 1,
	                               .tasks = 2,
	                               .cpus_milli = 500,
	                               .grace = 1000,
	                               .on_task_failure = "replace",
	                               .script =
	                                   "[ $RANK = 1 ] || exec sleep 1000; "
	                                   "kill -KILL $$" });
	expect(&w, RUN_STARTED, 1);
	expect(&w, RUN_REPLACED, 1);
	s = expect(&w, RUN_ENDED, 1);
	ck_assert_int_eq(s->out.signal, SIGKILL);
	ck_assert_str_eq(s->text, "task 1 was ended by SIGKILL");
	finish(&w);
}
END_TEST

/* A child reports on a pipe that the task is there: signals end it at any time,
 * but not always what a shell has only just forked. And wait sleeps only if no
 * signal has come by then; other commands that wait would check before. */
#define ELASTIC                                          \
	"trap 'echo $RANK left >>log; exit 0' TERM; "    \
	"echo $RANK/$WORLD_SIZE >>log; "                 \
	"sh -c 'echo up >pipe$RANK; exec sleep 1000' & " \
	"while :; do wait; done"

static void resize(struct local_world *w, uint32_t tasks, uint32_t number)
{
	order(w,
	      &(struct local_job){ .id = 1,
	                           .tasks = tasks,
	                           .most = 3,
	                           .grace = 1000,
	                           .resize = number,
	                           .script = ELASTIC,
	                           .cpus_milli = 500 },
	      w->r->ops->resize);
	ck_assert_uint_eq(expect(w, RUN_RESIZED, 1)->resize, number);
}

static void start_elastic(struct local_world *w, uint32_t tasks)
{
	static const char *const pipes[] = { "pipe0", "pipe1", "pipe2" };

	for (uint32_t i = 0; i < 3; i++)
		make_pipe(w, pipes[i]);
	start(w, &(struct local_job){ .id = 1,
	                              .tasks = tasks,
	                              .most = 3,
	                              .script = ELASTIC,
	                              .grace = 1000,
	                              .cpus_milli = 500 });
	expect(w, RUN_STARTED, 1);
	for (uint32_t i = 0; i < tasks; i++)
		hear(w, pipes[i]);
}

START_TEST(tasks_come_and_the_highest_leave)
{
	struct local_world w;

	if (!begin(&w, _i))
		return;
	start_elastic(&w, 1);
	resize(&w, 2, 1);
	hear(&w, "pipe1");
	resize(&w, 3, 2);
	hear(&w, "pipe2");
	resize(&w, 2, 3);
	ck_assert_str_eq(content(&w, "log"), "0/1\n1/2\n2/3\n2 left\n");
	/* The next daemon repeats it. */
	daemon_ends(&w);
	daemon_begins(&w);
	recover(&w, 1, &(uint64_t){ 1 });
	expect(&w, RUN_STARTED, 1);
	expect(&w, RUN_SYNCED, 0);
	resize(&w, 2, 0);
	resize(&w, 3, 4);
	hear(&w, "pipe2");
	w.r->ops->stop(w.r, 1, 1, STOP_CANCEL, 1000);
	ck_assert_int_eq(expect(&w, RUN_ENDED, 1)->out.exit_code, 0);
	ck_assert_msg(
	    !strncmp(content(&w, "log"), "0/1\n1/2\n2/3\n2 left\n2/3\n", 23),
	    "%s", content(&w, "log"));
	finish(&w);
}
END_TEST

START_TEST(who_leaves_a_suspended_job_hears_of_it)
{
	struct local_world w;

	if (!begin(&w, _i))
		return;
	start_elastic(&w, 2);
	w.r->ops->suspend(w.r, 1, 1);
	resize(&w, 1, 1);
	ck_assert_ptr_nonnull(strstr(content(&w, "log"), "1 left\n"));
	/* The other stood still, and ends as soon as it resumes. */
	send_signal(&w, SIGTERM, SIGNAL_job);
	resize(&w, 1, 2);
	ck_assert_ptr_null(strstr(content(&w, "log"), "0 left\n"));
	resume_on(&w, 1, 0);
	expect(&w, RUN_ENDED, 1);
	ck_assert_ptr_nonnull(strstr(content(&w, "log"), "0 left\n"));
	finish(&w);
}
END_TEST

START_TEST(a_launched_script_runs_once)
{
	struct local_world w;

	if (!begin(&w, _i))
		return;
	run_job(&w, &(struct local_job){ .id = 1,
	                                 .tasks = 3,
	                                 .whole = true,
	                                 .script =
	                                     "echo $SLURM_NTASKS ${RANK-none} "
	                                     "$SLURM_PROCID" });
	ck_assert_str_eq(content(&w, "out"), "3 none 0\n");
	finish(&w);
}
END_TEST

START_TEST(too_much_memory_is_told_from_other_ends)
{
	const struct seen *s;
	struct local_world w;

	if (!begin(&w, _i))
		return;
	start(&w,
	      &(struct local_job){ .id = 1,
	                           .mem_mib = 64,
	                           .script = "cat /dev/zero | tail -c 300m" });
	expect(&w, RUN_STARTED, 1);
	s = expect(&w, RUN_ENDED, 1);
	ck_assert(s->out.oom);
	ck_assert_ptr_nonnull(strstr(content(&w, "out"), "OUT OF MEMORY"));
	finish(&w);
}
END_TEST

/* --- CPUs --- */

START_TEST(it_is_bound_to_the_cpus_of_the_plan)
{
	struct local_world w;

	if (!begin(&w, _i))
		return;
	for (uint32_t cpu = 0; cpu < w.ncpus && cpu < 2; cpu++) {
		struct seen s = *run_job(
		    &w, &(struct local_job){ .id = cpu + 1,
		                             .cpu = cpu,
		                             .script = "nproc; grep -c . "
		                                       "/proc/self/status" });
		ck_assert_int_eq(s.out.exit_code, 0);
		ck_assert_int_eq(content(&w, "out")[0], '1');
	}
	finish(&w);
}
END_TEST

START_TEST(it_goes_on_with_other_cpus)
{
	struct local_world w;
	char first[64];

	if (!begin(&w, _i) || w.ncpus < 2)
		return;
	make_pipe(&w, "pipe");
	make_pipe(&w, "go");
	start(&w,
	      &(struct local_job){ .id = 1,
	                           .script = "l() { grep Cpus_allowed_list "
	                                     "/proc/self/status; }; l >pipe; "
	                                     "read x <go; l" });
	expect(&w, RUN_STARTED, 1);
	snprintf(first, sizeof(first), "%s", hear(&w, "pipe"));
	w.r->ops->suspend(w.r, 1, 1);
	/* The next daemon learns that it is suspended. */
	daemon_ends(&w);
	daemon_begins(&w);
	recover(&w, 1, &(uint64_t){ 1 });
	ck_assert(expect(&w, RUN_STARTED, 1)->suspended);
	expect(&w, RUN_SYNCED, 0);
	resume_on(&w, 1, 1);
	{
		char path[160];
		int fd;

		snprintf(path, sizeof(path), "%s/work/go", w.dir);
		fd = open(path, O_WRONLY);
		ck_assert_int_eq(write(fd, "x\n", 2), 2);
		close(fd);
	}
	expect(&w, RUN_ENDED, 1);
	ck_assert_str_ne(content(&w, "out"), first);
	ck_assert_ptr_nonnull(strstr(content(&w, "out"), "Cpus_allowed_list"));
	finish(&w);
}
END_TEST

START_TEST(a_suspended_job_can_be_stopped)
{
	struct local_world w;

	if (!begin(&w, _i))
		return;
	start_ready(&w,
	            &(struct local_job){
			.id = 1, .script = RUN_AWAY "echo ready >&3; wait" });
	w.r->ops->suspend(w.r, 1, 1);
	w.r->ops->stop(w.r, 1, 1, STOP_PREEMPT, 1000);
	ck_assert_int_eq(expect(&w, RUN_ENDED, 1)->out.signal, SIGTERM);
	finish(&w);
}
END_TEST

/* --- the daemon restarts --- */

static bool attempt_exists(struct local_world *w, uint64_t job)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/" STATE "/run/%" PRIu64 ".1", w->dir,
	         job);
	return access(path, F_OK) == 0;
}

START_TEST(jobs_outlive_the_daemon)
{
	struct local_world w;
	pid_t shepherd;

	if (!begin(&w, _i))
		return;
	make_pipe(&w, "pipe");
	make_pipe(&w, "pipe2");
	start(&w, &(struct local_job){ .id = 1,
	                               .script = "echo ready >pipe; exit 5" });
	start(&w, &(struct local_job){ .id = 2,
	                               .output = "out2",
	                               .script = "echo ready >pipe2; "
	                                         "exec sleep 1000" });
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(next(&w)->kind, RUN_STARTED);
	shepherd = read_claim(&w, 1).pid;
	daemon_ends(&w);
	hear(&w, "pipe");
	wait_gone(shepherd);
	daemon_begins(&w);
	recover(&w, 3, (uint64_t[]){ 1, 2, 3 });
	for (int i = 0; i < 3; i++) {
		const struct seen *s = next(&w);

		if (s->job == 1)
			ck_assert_int_eq(s->out.exit_code, 5);
		ck_assert_int_eq(s->kind, s->job == 1   ? RUN_ENDED
		                          : s->job == 2 ? RUN_STARTED
		                                        : RUN_UNKNOWN);
	}
	expect(&w, RUN_SYNCED, 0);
	/* A repeated start of a running job has no effect. */
	start(&w, &(struct local_job){ .id = 2, .script = "echo again" });
	w.r->ops->stop(w.r, 2, 1, STOP_CANCEL, 0);
	expect(&w, RUN_ENDED, 2);
	w.r->ops->forget(w.r, 1, 1);
	ck_assert(!attempt_exists(&w, 1));
	finish(&w);
}
END_TEST

START_TEST(a_start_cut_short_happens_once_at_most)
{
	struct local_world w;

	if (!begin(&w, _i))
		return;
	for (uint64_t id = 1; id <= 20; id++) {
		enum run_event_kind kind;
		struct local_job job = { .id = id,
			                 .script = "echo x >>$SLURM_JOB_ID" };
		char name[8];

		start(&w, &job);
		daemon_ends(&w);
		daemon_begins(&w);
		recover(&w, 1, &id);
		for (bool synced = false, ended = false; !synced || !ended;) {
			kind = next(&w)->kind;
			synced |= kind == RUN_SYNCED;
			ended |= kind == RUN_ENDED;
			if (kind == RUN_UNKNOWN)
				start(&w, &job);
			ck_assert_int_ne(kind, RUN_START_FAILED);
			ck_assert_int_ne(kind, RUN_LOST);
		}
		snprintf(name, sizeof(name), "%d", (int)id);
		ck_assert_str_eq(content(&w, name), "x\n");
		w.r->ops->forget(w.r, id, 1);
	}
	finish(&w);
}
END_TEST

START_TEST(a_killed_shepherd_takes_its_job_along)
{
	const struct seen *s;
	struct local_world w;

	if (!begin(&w, _i))
		return;
	start_ready(&w,
	            &(struct local_job){
			.id = 1, .script = RUN_AWAY "echo ready >&3; wait" });
	kill(read_claim(&w, 1).pid, SIGKILL);
	s = expect(&w, RUN_LOST, 1);
	ck_assert_str_eq(s->text, "its shepherd was killed");
	ck_assert(!s->rebooted);
	wait_closed(&w, "pipe");
	finish(&w);
}
END_TEST

/* /proc is read for all of them together. */
START_TEST(shepherds_killed_together_take_their_jobs_along)
{
	enum { N = 6 };
	struct local_world w;
	unsigned lost = 0;
	char path[128];

	if (!begin(&w, _i))
		return;
	snprintf(path, sizeof(path), "%s/work/pipe", w.dir);
	for (uint64_t id = 1; id <= N; id++) {
		struct local_job job = { .id = id,
			                 .cpus_milli = 100,
			                 .mem_mib = 50,
			                 .script =
			                     RUN_AWAY "echo ready >&3; wait" };

		unlink(path);
		start_ready(&w, &job);
	}
	for (uint64_t id = 1; id <= N; id++)
		kill(read_claim(&w, id).pid, SIGKILL);
	for (int i = 0; i < N; i++) {
		const struct seen *s = next(&w);

		ck_assert_int_eq(s->kind, RUN_LOST);
		ck_assert_str_eq(s->text, "its shepherd was killed");
		lost |= 1U << s->job;
	}
	ck_assert_uint_eq(lost, ((1U << N) - 1) << 1);
	wait_closed(&w, "pipe");
	finish(&w);
}
END_TEST

START_TEST(a_shepherd_killed_meanwhile_is_noticed_later)
{
	struct local_world w;
	pid_t shepherd;

	if (!begin(&w, _i))
		return;
	start_ready(&w,
	            &(struct local_job){
			.id = 1, .script = RUN_AWAY "echo ready >&3; wait" });
	shepherd = read_claim(&w, 1).pid;
	daemon_ends(&w);
	kill(shepherd, SIGKILL);
	wait_gone(shepherd);
	daemon_begins(&w);
	recover(&w, 1, &(uint64_t){ 1 });
	ck_assert(!expect(&w, RUN_LOST, 1)->rebooted);
	expect(&w, RUN_SYNCED, 0);
	wait_closed(&w, "pipe");
	finish(&w);
}
END_TEST

START_TEST(a_restart_of_the_machine_is_told)
{
	struct local_world w;
	char path[256];
	FILE *f;

	if (!begin(&w, _i))
		return;
	snprintf(path, sizeof(path), "%s/" STATE "/run/9.1", w.dir);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/" STATE "/run/9.1/claim", w.dir);
	f = fopen(path, "w");
	fprintf(f,
	        "{\"boot\":\"another\",\"pid\":%d,\"run_id\":\"x\","
	        "\"cgroups\":[]}\n",
	        getpid());
	fclose(f);
	daemon_ends(&w);
	daemon_begins(&w);
	recover(&w, 1, &(uint64_t){ 9 });
	ck_assert(expect(&w, RUN_LOST, 9)->rebooted);
	expect(&w, RUN_SYNCED, 0);
	finish(&w);
}
END_TEST

START_TEST(what_nobody_asks_about_is_ended)
{
	struct local_world w;

	if (!begin(&w, _i))
		return;
	start_ready(&w,
	            &(struct local_job){
			.id = 1, .script = RUN_AWAY "echo ready >&3; wait" });
	daemon_ends(&w);
	daemon_begins(&w);
	recover(&w, 0, NULL);
	expect(&w, RUN_SYNCED, 0);
	wait_closed(&w, "pipe");
	while (attempt_exists(&w, 1))
		event_base_loop(w.base, EVLOOP_ONCE);
	finish(&w);
}
END_TEST

/* Kill it if it is our own child: the nursery is. */
static void kill_child(pid_t pid, void *arg)
{
	siginfo_t info;

	(void)arg;
	if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT | WNOHANG) < 0)
		return;
	kill(pid, SIGKILL);
	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
}

START_TEST(a_killed_nursery_is_replaced)
{
	struct local_world w;

	if (!begin(&w, _i))
		return;
	make_pipe(&w, "pipe");
	start(&w, &(struct local_job){ .id = 1, .script = "echo ready >pipe" });
	expect(&w, RUN_STARTED, 1);
	proc_descendants(getpid(), kill_child, NULL);
	hear(&w, "pipe");
	expect(&w, RUN_ENDED, 1);
	run_job(&w, &(struct local_job){ .id = 2, .script = "true" });
	finish(&w);
}
END_TEST

START_TEST(many_starts_at_once_all_happen)
{
	struct local_world w;

	if (!begin(&w, _i))
		return;
	for (uint64_t id = 1; id <= MANY; id++)
		start(&w, &(struct local_job){
			      .id = id, .script = "true", .cpus_milli = 50 });
	for (size_t started = 0, ended = 0; ended < MANY;) {
		const struct seen *s = next(&w);

		started += s->kind == RUN_STARTED;
		ended += s->kind == RUN_ENDED;
		ck_assert(s->kind == RUN_STARTED || s->kind == RUN_ENDED);
		ck_assert_uint_ge(started, ended);
	}
	finish(&w);
}
END_TEST

static void check_limit(const char *dir, const char *file, const char *want)
{
	char path[512], text[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	fd = open(path, O_RDONLY);
	ck_assert_msg(fd >= 0, "no '%s'", path);
	n = read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	close(fd);
	ck_assert_msg(!strcmp(text, want), "%s is %s, not %s", path, text,
	              want);
}

START_TEST(groups_limit_it_and_are_removed)
{
	struct cgroup_ways ways;
	struct claim claim;
	const char **dir;
	struct local_world w;

	if (!begin(&w, _i))
		return;
	cgroup_find(&ways, w.arena);
	start_ready(&w, &(struct local_job){ .id = 1,
	                                     .cpus_milli = 50,
	                                     .mem_mib = 64,
	                                     .script = "echo ready >pipe; "
	                                               "exec sleep 1000" });
	claim = read_claim(&w, 1);
	dir = claim.cgroup.dir;
	if (ways.v2[CG_MEMORY])
		check_limit(dir[CG_V2], "memory.max", "67108864");
	else if (dir[CG_MEMORY])
		check_limit(dir[CG_MEMORY], "memory.limit_in_bytes",
		            "67108864");
	if (ways.v2[CG_CPU])
		check_limit(dir[CG_V2], "cpu.max", "5000 100000");
	else if (dir[CG_CPU])
		check_limit(dir[CG_CPU], "cpu.cfs_quota_us", "5000");
	if (ways.v2[CG_PIDS])
		check_limit(dir[CG_V2], "pids.max", "4000");
	else if (dir[CG_PIDS])
		check_limit(dir[CG_PIDS], "pids.max", "4000");
	w.r->ops->stop(w.r, 1, 1, STOP_CANCEL, 0);
	expect(&w, RUN_ENDED, 1);
	for (enum cgroup_tree t = CG_V2; t < CG_NTREES; t++)
		if (dir[t])
			ck_assert_int_eq(access(dir[t], F_OK), -1);
	finish(&w);
}
END_TEST

START_TEST(what_it_used_is_counted)
{
	const struct seen *s;
	struct local_world w;

	if (!begin(&w, _i))
		return;
	s = run_job(&w, &(struct local_job){ .id = 1,
	                                     .script =
	                                         "dd if=/dev/zero of=/dev/null "
	                                         "bs=32M count=8" });
	ck_assert_int_gt(s->out.cpu_ms, 0);
	ck_assert_int_gt(s->out.peak_mem_kib, 32 * 1024);
	ck_assert_int_lt(s->out.peak_mem_kib, 512 * 1024);
	finish(&w);
}
END_TEST

/* The kernel killed the shepherd; nobody else knows where its folder is. */
START_TEST(the_folder_of_a_killed_shepherd_goes_too)
{
	struct local_world w;
	char path[256];

	if (!begin(&w, _i))
		return;
	start_ready(&w, &(struct local_job){
			    .id = 1,
			    .script = "mkdir -p $TMPDIR/a/b; pwd; echo "
				      "$TMPDIR; echo up >pipe; exec sleep "
				      "1000" });
	snprintf(path, sizeof(path), "%s",
	         strchr(content(&w, "out"), '\n') + 1);
	path[strcspn(path, "\n")] = '\0';
	ck_assert_int_eq(access(path, F_OK), 0);
	kill(read_claim(&w, 1).pid, SIGKILL);
	expect(&w, RUN_LOST, 1);
	w.r->ops->forget(w.r, 1, 1);
	ck_assert_int_eq(access(path, F_OK), -1);
	finish(&w);
}
END_TEST

/* --- before exec --- */

/* Make a copy of the shell that nobody else can run for a while: exec waits
 * until the lease is given back, or for 45 s. Returns the lease. */
static int lease_shell(struct local_world *w)
{
	char path[160];
	sigset_t io;
	int fd;

	sigemptyset(&io);
	sigaddset(&io, SIGIO);
	sigprocmask(SIG_BLOCK, &io, NULL);
	snprintf(path, sizeof(path), "%s/work/sh", w->dir);
	copy_file("/bin/sh", path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fcntl(fd, F_SETLEASE, F_WRLCK), 0);
	return fd;
}

static void start_leased(struct local_world *w, uint64_t id)
{
	struct timespec patience = { .tv_sec = PATIENCE };
	char script[200];
	sigset_t io;

	snprintf(script, sizeof(script), "#!%s/work/sh\ntrue\n", w->dir);
	start(w, &(struct local_job){ .id = id, .script = script });
	sigemptyset(&io);
	sigaddset(&io, SIGIO);
	ck_assert_int_eq(sigtimedwait(&io, NULL, &patience), SIGIO);
}

START_TEST(a_start_that_hangs_can_be_stopped)
{
	const struct seen *s;
	struct local_world w;
	int lease;

	if (!begin(&w, _i))
		return;
	lease = lease_shell(&w);
	start_leased(&w, 1);
	w.r->ops->stop(w.r, 1, 1, STOP_CANCEL, 0);
	expect(&w, RUN_STARTED, 1);
	s = expect(&w, RUN_ENDED, 1);
	ck_assert_int_ne(s->out.signal, 0);
	close(lease);
	finish(&w);
}
END_TEST

START_TEST(a_start_that_hangs_ends_by_itself)
{
	const struct seen *s;
	struct local_world w;
	int lease;

	/* It takes long, and the mode makes no difference. */
	if (_i != MODE_SELF || !begin(&w, _i))
		return;
	lease = lease_shell(&w);
	start_leased(&w, 1);
	s = expect(&w, RUN_START_FAILED, 1);
	ck_assert_int_eq(s->fault, FAULT_USER);
	ck_assert_ptr_nonnull(strstr(s->text, "did not run the script"));
	close(lease);
	finish(&w);
}
END_TEST

/* A file system whose server answers nothing; its connection, or -1. */
static int mount_dead(const char *path)
{
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	char options[128];

	snprintf(options, sizeof(options),
	         "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fd);
	if (fd < 0 || mkdir(path, 0777) < 0 ||
	    mount("dead", path, "fuse", 0, options) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

START_TEST(outputs_that_cannot_be_opened_end_the_start)
{
	char path[128];
	const struct seen *s;
	struct local_world w;
	int fuse;

	/* It takes its time, and root alone may mount. */
	if (_i != MODE_OTHER || geteuid() != 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    !begin(&w, _i))
		return;
	snprintf(path, sizeof(path), "%s/work/dead", w.dir);
	fuse = mount_dead(path);
	if (fuse < 0) {
		rmdir(path);
		finish(&w);
		return;
	}
	start(&w, &(struct local_job){
		      .id = 1, .script = "true", .output = "dead/out" });
	s = expect(&w, RUN_START_FAILED, 1);
	ck_assert_int_eq(s->fault, FAULT_USER);
	ck_assert_ptr_nonnull(strstr(s->text, "could not be opened within"));
	ck_assert_int_eq(umount2(path, MNT_DETACH), 0);
	close(fuse);
	finish(&w);
}
END_TEST

START_TEST(input_shows_nothing_of_the_shepherd)
{
	const struct seen *s;
	struct local_world w;

	if (!begin(&w, _i))
		return;
	start(&w, &(struct local_job){
		      .id = 1, .script = "cat", .input = "/proc/self/maps" });
	s = expect(&w, RUN_START_FAILED, 1);
	ck_assert_int_eq(s->fault, FAULT_USER);
	ck_assert_ptr_nonnull(strstr(s->text, "/proc"));
	finish(&w);
}
END_TEST

/* A key that only processes with this keyring can see. */
START_TEST(a_job_does_not_possess_the_keys_of_the_daemon)
{
	const uint32_t possessor = 0x3f000000;
	struct local_world w;
	long key;

	syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
	key = syscall(SYS_add_key, "user", "aisched-secret", "x", (size_t)1,
	              KEY_SPEC_SESSION_KEYRING);
	if (key < 0 && (errno == ENOSYS || errno == EPERM))
		return;
	ck_assert_int_ge(key, 0);
	ck_assert_int_eq(syscall(SYS_keyctl, KEYCTL_SETPERM, key, possessor),
	                 0);
	ck_assert(file_has("/proc/keys", "aisched-secret"));
	if (!begin(&w, _i))
		return;
	run_job(&w, &(struct local_job){ .id = 1, .script = "cat /proc/keys" });
	ck_assert_ptr_nonnull(strstr(content(&w, "out"), "keyring"));
	ck_assert_ptr_null(strstr(content(&w, "out"), "aisched-secret"));
	finish(&w);
}
END_TEST

SUITE(run_local)
{
	const TTest *const tests[] = {
		ends_are_kept_exactly,
		names_of_files_are_expanded,
		tasks_share_one_file,
		output_is_truncated_or_appended_to,
		input_and_arguments_arrive,
		pipes_and_devices_are_fine_as_output,
		faults_of_the_user_are_said,
		output_of_others_is_not_writable,
		a_full_disk_of_the_user_is_not_the_nodes_fault,
		little_that_the_user_may_is_not_the_nodes_fault,
		the_job_runs_as_its_user,
		it_has_a_folder_of_its_own_for_a_while,
		nothing_is_left_when_the_script_ends,
		what_still_writes_may_finish,
		cancel_lets_it_say_goodbye,
		who_ignores_it_is_killed,
		the_output_says_why_it_was_stopped,
		signals_go_to_all_or_to_the_script,
		a_gang_ends_with_its_first_failure,
		a_task_that_succeeds_ends_nobody,
		a_task_that_failed_is_replaced_alone,
		as_many_are_replaced_as_may_be,
		tasks_come_and_the_highest_leave,
		who_leaves_a_suspended_job_hears_of_it,
		a_launched_script_runs_once,
		too_much_memory_is_told_from_other_ends,
		it_is_bound_to_the_cpus_of_the_plan,
		it_goes_on_with_other_cpus,
		a_suspended_job_can_be_stopped,
		jobs_outlive_the_daemon,
		a_start_cut_short_happens_once_at_most,
		a_killed_shepherd_takes_its_job_along,
		shepherds_killed_together_take_their_jobs_along,
		a_shepherd_killed_meanwhile_is_noticed_later,
		a_restart_of_the_machine_is_told,
		what_nobody_asks_about_is_ended,
		a_killed_nursery_is_replaced,
		many_starts_at_once_all_happen,
		groups_limit_it_and_are_removed,
		what_it_used_is_counted,
		the_folder_of_a_killed_shepherd_goes_too,
		a_start_that_hangs_can_be_stopped,
		a_start_that_hangs_ends_by_itself,
		outputs_that_cannot_be_opened_end_the_start,
		input_shows_nothing_of_the_shepherd,
		a_job_does_not_possess_the_keys_of_the_daemon,
	};

	for (size_t i = 0; i < ARRAY_SIZE(tests); i++)
		tcase_add_loop_test(tc, tests[i], 0, NMODES);
}
