/*
 * clock.c - a wall clock that a test sets, for clock.t
 *
 * A library for LD_PRELOAD. $CLOCK_FILE names a file with one int64_t: how many
 * nanoseconds the wall clock is ahead of the real one. After changing it, the
 * test writes eight bytes to the FIFO $CLOCK_FILE.set, which stands in for a
 * timer that fires when the clock is set.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *ahead;

__attribute__((constructor)) static void map(void)
{
	const char *path = getenv("CLOCK_FILE");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *at;

	if (fd < 0)
		return;
	at = mmap(NULL, sizeof(*ahead), PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (at != MAP_FAILED)
		ahead = at;
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
	int64_t ns;
	long rc = syscall(SYS_clock_gettime, clock, t);

	if (rc || !ahead ||
	    (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE))
		return (int)rc;
	ns = t->tv_sec * INT64_C(1000000000) + t->tv_nsec + *ahead;
	t->tv_sec = ns / 1000000000;
	t->tv_nsec = ns % 1000000000;
	return 0;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
	struct timespec now;

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &now);
	*t = (struct timeval){ now.tv_sec, now.tv_nsec / 1000 };
	return 0;
}

time_t time(time_t *ret)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (ret)
		*ret = now.tv_sec;
	return now.tv_sec;
}

int timerfd_create(int clock, int flags)
{
	const char *path = getenv("CLOCK_FILE");
	char fifo[PATH_MAX];

	if (clock != CLOCK_REALTIME || !path)
		return (int)syscall(SYS_timerfd_create, clock, flags);
	snprintf(fifo, sizeof(fifo), "%s.set", path);
	return open(fifo, O_RDWR | O_NONBLOCK | O_CLOEXEC);
}
