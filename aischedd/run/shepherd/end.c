/* end.c - signal and suspend the job, watch its memory, end it */
#include "aischedd/run/shepherd/end.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "aischedd/run/shepherd/gang.h"
#include "aischedd/run/shepherd/shepherd.h"
#include "aischedd/run/shepherd/steps.h"
#include "aischedd/run/shepherd/task.h"
#include "libcommon/buf.h"
#include "libcommon/clock.h"
#include "libcommon/parse.h"

/* how long processes may outlive the script */
#define LINGER_MS 1000
/* first pause between two rounds of SIGKILL; doubled each round */
#define KILL_PAUSE_MS     5
#define KILL_PAUSE_MAX_MS 1000
#define LOOK_MS           500
/* pause between two looks at memory that is above half of its limit */
#define LOOK_CLOSE_MS 100
/* the pause after a look at memory lasts at least this many times as long as
 * the look took */
#define LOOK_SHARE  20
#define STOP_ROUNDS 10

int64_t job_mem_mib(const struct shepherd *s)
{
	const struct run_job *job = &s->order.job;

	return job->whole.mem_mib
	           ? job->whole.mem_mib
	           : job->req->mem_mib * (job->ntasks + s->nleaving);
}

int64_t job_tmp_mib(const struct shepherd *s)
{
	const struct run_job *job = &s->order.job;

	return job->req->tmp_mib * ((int64_t)job->ntasks + s->nleaving);
}

/* Returns how many MiB may be stored in the temporary folder before the
 * shepherd ends the job; 0: any number. A user can move files out of the
 * folder's project, so a job with a quota is watched, too. It may have twice as
 * much, because files that are moved while the shepherd looks count twice. ext4
 * does not hold root to quotas. */
static int64_t watched_mib(const struct shepherd *s)
{
	return job_tmp_mib(s) * (s->project && s->order.job.uid ? 2 : 1);
}

size_t job_each(struct shepherd *s, proc_fn *fn, void *arg)
{
	return cgroup_holds(&s->cg) ? cgroup_procs(&s->cg, fn, arg)
	                            : proc_descendants(s->claim.pid, fn, arg);
}

bool job_has(pid_t pid, const void *arg)
{
	const struct shepherd *s = arg;

	return cgroup_holds(&s->cg) ? cgroup_has(&s->cg, pid)
	                            : proc_is_below(pid, getpid());
}

struct each {
	const struct shepherd *shepherd;
	int signo;
};

static void signal_one(pid_t pid, void *arg)
{
	const struct each *e = arg;

	proc_signal(pid, e->signo, job_has, e->shepherd);
}

static size_t signal_each(struct shepherd *s, int signo)
{
	struct each e = { s, signo };

	return job_each(s, signal_one, &e);
}

void job_signal(struct shepherd *s, int signo)
{
	signal_each(s, signo);
}

void job_suspend(struct shepherd *s)
{
	size_t n = 0, before;

	s->suspended = true;
	s->frozen = cgroup_freeze(&s->cg, true) == 0;
	if (s->frozen)
		return;
	/* Repeat until a round finds no new process: during each round, a
	 * process that is not stopped yet may fork. */
	for (int round = 0; round < STOP_ROUNDS; round++) {
		before = n;
		n = signal_each(s, SIGSTOP);
		if (n == before)
			break;
	}
}

void job_resume(struct shepherd *s)
{
	if (!s->suspended)
		return;
	s->suspended = false;
	if (!s->frozen || cgroup_freeze(&s->cg, false) < 0)
		job_signal(s, SIGCONT);
	s->frozen = false;
}

static void kill_by(struct shepherd *s, int64_t when)
{
	if (!s->kill_at || s->kill_at > when)
		s->kill_at = when;
}

/* Write the line to the file END_FILE, first under another name, so that the
 * job never reads half a line. */
void job_note_end(struct shepherd *s, const char *line)
{
	int fd =
	    openat(s->dirfd, END_FILE ".new",
	           O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	bool written = fd >= 0 && fchmod(fd, 0644) == 0 &&
	               dprintf(fd, "%s\n", line) == (int)strlen(line) + 1;

	if (fd >= 0)
		close(fd);
	if (!written ||
	    renameat(s->dirfd, END_FILE ".new", s->dirfd, END_FILE) < 0)
		unlinkat(s->dirfd, END_FILE ".new", 0);
}

void job_end(struct shepherd *s, int64_t grace)
{
	bool again = s->ending;

	s->ending = true;
	steps_job_ends(s);
	job_resume(s);
	if (!again) {
		job_signal(s, SIGCONT);
		job_signal(s, SIGTERM);
	}
	kill_by(s, clock_ms() + grace * 1000);
}

static bool is_below_us(pid_t pid, const void *arg)
{
	(void)arg;
	return proc_is_below(pid, getpid());
}

static void kill_one(pid_t pid, void *arg)
{
	(void)arg;
	proc_signal(pid, SIGKILL, is_below_us, NULL);
}

static void kill_round(struct shepherd *s)
{
	cgroup_kill(&s->cg);
	/* Also kill processes that have left the cgroup; if there is no cgroup,
	 * all are killed this way. */
	proc_descendants(getpid(), kill_one, NULL);
	s->kill_pause = s->kill_pause ? s->kill_pause * 2 : KILL_PAUSE_MS;
	if (s->kill_pause > KILL_PAUSE_MAX_MS)
		s->kill_pause = KILL_PAUSE_MAX_MS;
	s->kill_at = clock_ms() + s->kill_pause;
}

/* --- watching memory without a cgroup --- */

static void add_memory(pid_t pid, void *arg)
{
	*(int64_t *)arg += proc_memory_kib(pid);
}

static void add_memory_exact(pid_t pid, void *arg)
{
	*(int64_t *)arg += proc_memory_exact_kib(pid);
}

/* Kill the job at once because it uses more memory or temporary disk than it
 * may. */
static void end_greedy(struct shepherd *s, int64_t now)
{
	s->ending = true;
	steps_job_ends(s);
	kill_by(s, now);
}

static void look_at_memory(struct shepherd *s)
{
	int64_t limit = job_mem_mib(s) * 1024, begin = clock_ms();
	int64_t kib = 0, pause, cost;

	job_each(s, add_memory, &kib);
	if (kib > limit) {
		/* This sum counted shared pages more than once: count
		 * again exactly. */
		kib = 0;
		job_each(s, add_memory_exact, &kib);
	}
	if (kib > s->peak_kib)
		s->peak_kib = kib;
	if (kib > limit) {
		s->out_of_memory = true;
		end_greedy(s, begin);
	}
	cost = clock_ms() - begin;
	pause = kib > limit / 2 ? LOOK_CLOSE_MS : LOOK_MS;
	if (pause < cost * LOOK_SHARE)
		pause = cost * LOOK_SHARE;
	s->look_at = begin + cost + pause;
}

/* --- ended processes --- */

static int64_t time_us(const struct timeval *tv)
{
	return tv->tv_sec * INT64_C(1000000) + tv->tv_usec;
}

int64_t end_cpu_us(const struct rusage *use)
{
	return time_us(&use->ru_utime) + time_us(&use->ru_stime);
}

static void reap(struct shepherd *s)
{
	struct rusage use;
	int status;
	pid_t pid;

	while ((pid = wait4(-1, &status, WNOHANG, &use)) > 0) {
		s->cpu_us += end_cpu_us(&use);
		if (use.ru_maxrss > s->peak_kib)
			s->peak_kib = use.ru_maxrss;
		if (!steps_task_ended(s, pid, status, &use))
			gang_task_ended(s, pid, status);
	}
	/* A process whose parent has died becomes our child, so no child means
	 * that no process of the job is left. */
	s->childless = pid < 0;
}

bool job_step(struct shepherd *s)
{
	int64_t now = clock_ms();

	reap(s);
	gang_step(s, now);
	steps_step(s, now);
	gpu_watch_step(s, now);
	if (s->ending && order_is_allocation(&s->order))
		s->alive = 0;
	if (s->childless && !s->alive)
		return true;
	if (!s->alive && !s->ending) {
		/* The script has ended: let processes such as tee write what
		 * they have read, before they are killed. */
		s->ending = true;
		steps_job_ends(s);
		kill_by(s, now + LINGER_MS);
	}
	if (!s->look_at)
		s->look_at = now + LOOK_CLOSE_MS;
	if (s->watch_memory && now >= s->look_at && !s->out_of_memory)
		look_at_memory(s);
	if (watched_mib(s) &&
	    tmp_watch_step(&s->tmp_watch, s->tmpdir, watched_mib(s), now))
		end_greedy(s, now);
	if (s->kill_at && now >= s->kill_at)
		kill_round(s);
	return false;
}

int job_timeout(const struct shepherd *s)
{
	int64_t at = s->kill_at, left;
	int64_t due[] = { gang_due(s), steps_due(s), gpu_watch_due(s),
		          watched_mib(s) ? tmp_watch_due(&s->tmp_watch) : 0 };

	for (size_t i = 0; i < ARRAY_SIZE(due); i++)
		if (due[i] && (!at || due[i] < at))
			at = due[i];
	if (s->watch_memory && !s->out_of_memory && (!at || s->look_at < at))
		at = s->look_at;
	if (!at)
		return -1;
	left = at - clock_ms();
	return left < 0 ? 0 : left > 60000 ? 60000 : (int)left;
}

void job_kill(struct shepherd *s)
{
	kill_by(s, clock_ms());
	s->ending = true;
	while (!job_step(s))
		poll(NULL, 0, KILL_PAUSE_MS);
}

void job_account(struct shepherd *s)
{
	struct outcome *out = &s->outcome;
	struct cgroup_usage use;
	struct buf text = { 0 };

	cgroup_usage(&s->cg, &use);
	out->end = time(NULL);
	out->cpu_ms = use.cpu_ms >= 0 ? use.cpu_ms : s->cpu_us / 1000;
	out->peak_mem_kib = use.peak_kib >= 0 ? use.peak_kib : s->peak_kib;
	out->oom = use.oom_kills > 0 || s->out_of_memory;
	if (out->oom) {
		format_mib(&text, job_mem_mib(s));
		tasks_say(s,
		          "*** JOB %" PRIu64 " ON %s OUT OF MEMORY: it may "
		          "use %s; ask for more with --mem ***",
		          s->order.job.job, s->order.host, text.data);
		buf_free(&text);
	}
	tmp_watch_end(&s->tmp_watch);
	out->out_of_disk = s->tmp_watch.full;
	if (out->out_of_disk) {
		format_mib(&text, job_tmp_mib(s));
		tasks_say(s,
		          "*** JOB %" PRIu64 " ON %s OUT OF DISK: it may store "
		          "%s in $TMPDIR; ask for more with --tmp ***",
		          s->order.job.job, s->order.host, text.data);
		buf_free(&text);
	}
	/* Processes that were killed may need a moment to end. */
	for (int64_t i = 1; cgroup_remove(&s->cg) < 0 && i < 100; i++) {
		cgroup_kill(&s->cg);
		poll(NULL, 0, 1);
	}
}
