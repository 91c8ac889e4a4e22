/*
 * recover.c - what became of attempts whose shepherd does not answer
 *
 * The record of an attempt says whether a shepherd claimed the attempt, whether
 * this shepherd lives, and how the attempt ended. If the shepherd neither lives
 * nor wrote an outcome, it was killed or the machine went down. The processes
 * that are left of the job are then found by its cgroup or its run id, and
 * killed.
 */
#include "aischedd/run/local/recover.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "aischedd/run/local/attempt.h"
#include "aischedd/run/local/local.h"
#include "aischedd/run/local/overdue.h"
#include "aischedd/run/shepherd/proc.h"
#include "libcommon/environ.h"

#define GIVE_UP_S 60
/* processes that one turn of the loop looks at */
#define SCAN_PIDS  256
#define SCAN_BYTES ((size_t)1 << 20)

bool local_lock(struct local *l)
{
	if (!l->locked)
		l->locked = flock(l->lock_fd, LOCK_EX | LOCK_NB) == 0;
	return l->locked;
}

/* --- connecting to a shepherd that lives --- */

static int connect_ctl(int dirfd, struct err *err)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	/* A shepherd that hangs accepts no connection: do not wait for it. */
	int fd =
	    socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct ucred peer;
	socklen_t len = sizeof(peer);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "/proc/self/fd/%d/ctl",
	         dirfd);
	if (fd >= 0 && !connect(fd, (struct sockaddr *)&addr, sizeof(addr)) &&
	    !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) &&
	    peer.uid == geteuid())
		return fd;
	err_sys(err, "cannot reach a shepherd");
	if (fd >= 0)
		close(fd);
	return -1;
}

static bool reach(struct attempt *a, int dirfd)
{
	int fd = connect_ctl(dirfd, NULL);

	if (a->stray)
		overdue_watch(a, 0);
	/* If nothing listens, the shepherd is about to end, so its outcome will
	 * be found in the next tick. */
	a->unreached = fd < 0;
	if (fd < 0)
		return false;
	attempt_connect(a, fd);
	if (a->stray)
		attempt_send(a, json_pack("{s:s s:s s:i}", "do", "stop", "why",
		                          "", "grace", 0));
	return true;
}

/* --- killing what a dead shepherd left --- */

static bool is_left(pid_t pid, const void *arg)
{
	const struct claim *claim = arg;

	return proc_has_env(pid, RUN_ID_VAR, claim->run_id, NULL);
}

static void kill_left(pid_t pid, void *arg)
{
	proc_signal(pid, SIGKILL, is_left, arg);
}

static bool is_rebooted(const struct attempt *a)
{
	return strcmp(a->claim.boot, a->local->boot) != 0;
}

/* Begin a scan of /proc for processes of all attempts that are dying now. */
static void begin_scan(struct local *l)
{
	l->proc = opendir("/proc");
	l->scan++;
	for (struct attempt *a = l->work; a; a = a->next) {
		if (a->state != ATTEMPT_DYING || is_rebooted(a))
			continue;
		cgroup_kill(&a->claim.cgroup);
		a->scan = l->scan;
		a->left = 0;
	}
}

static void end_scan(struct local *l)
{
	if (l->proc)
		closedir(l->proc);
	l->proc = NULL;
	for (struct attempt *a = l->work; a; a = a->next)
		a->scanned = a->state == ATTEMPT_DYING && a->scan == l->scan;
}

/*
 * Count the process as left if it belongs to a dying attempt of this scan,
 * and kill it. If the environment cannot be read because the process is in
 * the middle of an exec, count the process for each dying attempt that has no
 * cgroup.
 */
static void scan_one(struct local *l, pid_t pid, struct buf *env)
{
	bool unclear = environ_read(pid, env) == EAGAIN;
	const char *run_id = unclear ? NULL : environ_value(env, RUN_ID_VAR);

	if (!run_id && !unclear)
		return;
	for (struct attempt *a = l->work; a; a = a->next) {
		bool is = run_id && strcmp(a->claim.run_id, run_id) == 0;

		if (a->state != ATTEMPT_DYING || a->scan != l->scan)
			continue;
		a->left += is || (unclear && !cgroup_holds(&a->claim.cgroup));
		if (is)
			kill_left(pid, &a->claim);
	}
}

void local_scan(struct local *l)
{
	struct buf env = { 0 };
	size_t bytes = 0;
	bool any = false;
	pid_t pid = 0;

	for (struct attempt *a = l->work; a; a = a->next)
		any = any || (a->state == ATTEMPT_DYING && !is_rebooted(a));
	if (!any)
		return;
	if (!l->proc)
		begin_scan(l);
	for (size_t n = 0; l->proc && n < SCAN_PIDS && bytes < SCAN_BYTES;
	     n++) {
		pid = proc_next(l->proc);
		if (!pid)
			break;
		scan_one(l, pid, &env);
		bytes += env.len;
	}
	buf_free(&env);
	if (!pid)
		end_scan(l);
}

static bool bury(struct attempt *a)
{
	bool rebooted = is_rebooted(a), all = rebooted;

	if (!rebooted) {
		if (!a->scanned)
			return false;
		a->scanned = false;
		/* Processes that have left the cgroup are counted in a->left:
		 * the scan found them by their run id. */
		all = cgroup_remove(&a->claim.cgroup) == 0 && !a->left;
	}
	if (!all && time(NULL) - a->dying_since < GIVE_UP_S)
		return false;
	attempt_tell(a, &(struct run_event){
			    .kind = RUN_LOST,
			    .rebooted = rebooted,
			    .text = rebooted  ? "the machine was restarted"
	                            : !all    ? "its shepherd was killed, and "
	                                        "processes are left that do "
	                                        "not die"
	                            : a->deaf ? "its shepherd did not answer"
	                                      : "its shepherd was killed" });
	attempt_done(a);
	return true;
}

/* --- reading the record --- */

static void never_ran(struct attempt *a)
{
	struct run_event ev = { .kind = RUN_UNKNOWN };

	/* The attempt was started by this daemon, so its shepherd ended before
	 * it claimed the attempt. */
	if (!a->awaited && !a->stray) {
		ev.kind = RUN_START_FAILED;
		ev.fault = FAULT_SYSTEM;
		ev.text = "the shepherd of the job ended before it began";
	}
	attempt_tell(a, &ev);
	a->forgotten = true;
	attempt_done(a);
}

static bool look(struct attempt *a, int dirfd)
{
	struct record rec;

	if (!a->arena)
		a->arena = arena_new();
	if (dirfd >= 0)
		record_read(dirfd, &rec, a->arena);
	else
		rec = (struct record){ .state = RECORD_NONE };
	switch (rec.state) {
	case RECORD_NONE:
		never_ran(a);
		return true;
	case RECORD_ALIVE:
		return reach(a, dirfd);
	case RECORD_ENDED:
		attempt_tell(a, &(struct run_event){ .kind = RUN_ENDED,
		                                     .outcome = &rec.outcome });
		attempt_done(a);
		return true;
	case RECORD_FAILED:
		attempt_tell(a,
		             &(struct run_event){ .kind = RUN_START_FAILED,
		                                  .fault = rec.fault,
		                                  .text = rec.outcome.text });
		attempt_done(a);
		return true;
	case RECORD_DEAD:
		a->claim = rec.claim;
		a->dying_since = time(NULL);
		a->state = ATTEMPT_DYING;
		return bury(a);
	}
	return true;
}

bool attempt_settle(struct attempt *a)
{
	char name[48];
	bool settled;
	int dirfd;

	if (a->state == ATTEMPT_DYING)
		return bury(a);
	local_name(name, a->job, a->attempt);
	dirfd = openat(a->local->dirfd, name,
	               O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	settled = look(a, dirfd);
	if (dirfd >= 0)
		close(dirfd);
	return settled;
}

/* --- after a restart of the daemon --- */

/* Parse a name of the form JOB.ATTEMPT, as in "17.2". Returns false for any
 * other name. */
static bool parse_name(const char *name, uint64_t *ret_job,
                       uint32_t *ret_attempt)
{
	char back[48];

	if (!isdigit((unsigned char)name[0]) ||
	    sscanf(name, "%" SCNu64 ".%" SCNu32, ret_job, ret_attempt) != 2)
		return false;
	local_name(back, *ret_job, *ret_attempt);
	return !strcmp(back, name);
}

void local_find_strays(struct local *l)
{
	DIR *dir = opendir(l->dir);
	uint32_t attempt;
	uint64_t job;

	if (!dir)
		return;
	for (struct dirent *e; (e = readdir(dir));) {
		struct attempt *a;

		if (!parse_name(e->d_name, &job, &attempt) ||
		    attempt_find(l, job, attempt))
			continue;
		a = attempt_new(l, job, attempt);
		a->stray = true;
		a->state = ATTEMPT_UNCLEAR;
		attempt_queue(a);
	}
	closedir(dir);
}

void local_recover(struct runner *r, size_t n, const struct run_attempt *list)
{
	struct local *l = local_of(r);

	for (size_t i = 0; i < n; i++) {
		struct attempt *a;

		if (attempt_find(l, list[i].job, list[i].attempt))
			continue;
		a = attempt_new(l, list[i].job, list[i].attempt);
		a->awaited = true;
		a->was_started = list[i].started;
		l->awaited++;
		a->state = ATTEMPT_UNCLEAR;
		attempt_queue(a);
		overdue_await(a);
	}
	l->strays_unseen = true;
	l->recovering = true;
	event_active(l->tick, EV_TIMEOUT, 0);
}
