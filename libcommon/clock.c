/* clock.c - read clocks */
#include "libcommon/clock.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int64_t read_us(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

int64_t clock_wall_s(void)
{
	return read_us(CLOCK_REALTIME) / 1000000;
}

int64_t clock_wall_us(void)
{
	return read_us(CLOCK_REALTIME);
}

int64_t clock_ms(void)
{
	return read_us(CLOCK_MONOTONIC) / 1000;
}

double clock_fine_ms(void)
{
	return (double)read_us(CLOCK_MONOTONIC) / 1e3;
}

int64_t clock_boot_ms(void)
{
	return read_us(CLOCK_BOOTTIME) / 1000;
}

void clock_boot_id(char ret[BOOT_ID_SIZE])
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;

	if (fd >= 0) {
		n = read(fd, ret, BOOT_ID_SIZE - 1);
		close(fd);
	}
	ret[n > 0 ? n : 0] = '\0';
	ret[strcspn(ret, "\n")] = '\0';
}
