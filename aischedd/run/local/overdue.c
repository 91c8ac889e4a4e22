/* overdue.c - end attempts whose shepherd does not end them */
#include "aischedd/run/local/overdue.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "aischedd/run/local/attempt.h"
#include "aischedd/run/shepherd/proc.h"
#include "libcommon/clock.h"

static void on_overdue(evutil_socket_t fd, short what, void *arg);

static void look_in(struct attempt *a, int64_t ms)
{
	const struct timeval when = { .tv_sec = ms / 1000,
		                      .tv_usec = ms % 1000 * 1000 };

	if (!a->overdue)
		a->overdue = evtimer_new(a->local->base, on_overdue, a);
	event_add(a->overdue, &when);
}

/* Call on_overdue() at end_by, or once a message is unread for deaf_ms, but
 * after deaf_ms at the latest. */
static void look_again(struct attempt *a, int64_t now)
{
	int64_t ms = a->local->deaf_ms, left = a->end_by - now;
	int64_t hears = a->silent_since + ms - now;

	if (left > 0 && left < ms)
		ms = left;
	if (hears > 0 && hears < ms)
		ms = hears;
	look_in(a, ms);
}

static int open_dir(const struct attempt *a)
{
	char name[48];

	local_name(name, a->job, a->attempt);
	return openat(a->local->dirfd, name,
	              O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* --- end an attempt ------------------------------------------------------- */

/* Whether the shepherd has read all that was sent to it. */
static bool has_heard(const struct attempt *a)
{
	int unread;

	return a->fd >= 0 && ioctl(a->fd, SIOCOUTQ, &unread) == 0 && !unread;
}

void overdue_sends(struct attempt *a)
{
	if (has_heard(a))
		a->silent_since = clock_ms();
}

static bool is_deaf(const struct attempt *a, int64_t now)
{
	return !has_heard(a) && now - a->silent_since >= a->local->deaf_ms;
}

static bool is_shepherd(pid_t pid, const void *arg)
{
	return record_shepherd(*(const int *)arg) == pid;
}

/* Kill the shepherd, so that the attempt is treated as one whose shepherd
 * was killed. */
static void kill_shepherd(struct attempt *a)
{
	int dirfd = open_dir(a);
	pid_t pid = dirfd >= 0 ? record_shepherd(dirfd) : 0;

	if (pid > 0) {
		a->deaf = true;
		proc_signal(pid, SIGKILL, is_shepherd, &dirfd);
	}
	if (dirfd >= 0)
		close(dirfd);
}

/* Go on without the shepherd, which was sent SIGKILL, but waits in the kernel
 * where signals do not reach it. It will end as soon as this wait ends. */
static void leave_shepherd(struct attempt *a)
{
	int dirfd = open_dir(a);
	struct record rec;

	if (dirfd < 0)
		return;
	if (!a->arena)
		a->arena = arena_new();
	record_read(dirfd, &rec, a->arena);
	close(dirfd);
	/* Without a claim, the processes of the job cannot be found. An outcome
	 * is told when the shepherd has ended. */
	if (!rec.claim.run_id[0] ||
	    (rec.state != RECORD_ALIVE && rec.state != RECORD_DEAD))
		return;
	attempt_hang_up(a);
	a->claim = rec.claim;
	a->dying_since = time(NULL);
	if (a->state == ATTEMPT_TALKS)
		attempt_queue(a);
	a->state = ATTEMPT_DYING;
}

static void look(struct attempt *a, int64_t now)
{
	bool ends = a->end_by && now >= a->end_by;

	if (a->deaf)
		leave_shepherd(a);
	else if ((ends || a->must_read) && is_deaf(a, now))
		kill_shepherd(a);
	else if (ends && has_heard(a))
		attempt_send(a, json_pack("{s:s s:s s:i}", "do", "stop", "why",
		                          "", "grace", 0));
	if (has_heard(a))
		a->must_read = false;
}

/* --- answer for a shepherd ------------------------------------------------ */

/* Answer recover() for the shepherd. If the daemon knows that the attempt has
 * started, send RUN_STARTED again: upon this the daemon stops or suspends the
 * attempt if that is due. */
static void answer(struct attempt *a)
{
	struct local *l = a->local;

	if (a->was_started) {
		attempt_tell(a, &(struct run_event){ .kind = RUN_STARTED,
		                                     .time = time(NULL) });
		return;
	}
	a->awaited = false;
	if (!--l->awaited)
		event_active(l->tick, EV_TIMEOUT, 0);
}

static void on_overdue(evutil_socket_t fd, short what, void *arg)
{
	struct attempt *a = arg;
	int64_t now = clock_ms();

	(void)fd, (void)what;
	if (a->state >= ATTEMPT_DYING ||
	    (!a->awaited && !a->end_by && !a->must_read && !a->deaf))
		return;
	look_again(a, now);
	look(a, now);
	if (a->awaited && (a->state == ATTEMPT_TALKS || a->unreached))
		answer(a);
}

void overdue_watch(struct attempt *a, int64_t grace)
{
	int64_t now = clock_ms(), at = now + grace * 1000 + a->local->deaf_ms;

	if (a->end_by && a->end_by <= at)
		return;
	a->end_by = at;
	look_again(a, now);
}

void overdue_must_read(struct attempt *a)
{
	if (a->must_read || a->state >= ATTEMPT_DYING)
		return;
	a->must_read = true;
	look_again(a, clock_ms());
}

void overdue_await(struct attempt *a)
{
	look_in(a, a->local->deaf_ms);
}

void overdue_free(struct attempt *a)
{
	if (a->overdue)
		event_free(a->overdue);
}
