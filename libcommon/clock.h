/*
 * clock.h - read clocks
 *
 * Deadlines and durations use the monotonic clock; times that users and the
 * database see use the wall clock, which may be set back. The code in sched/
 * and state/ calls none of these functions: it gets the time as an argument.
 */
#ifndef LIBCOMMON_CLOCK_H
#define LIBCOMMON_CLOCK_H

#include <stdint.h>

/* Wall clock: seconds or microseconds since 1970, UTC. */
int64_t clock_wall_s(void);
int64_t clock_wall_us(void);

/* Monotonic clock in milliseconds; clock_fine_ms() has fractions,
 * for measuring. */
int64_t clock_ms(void);
double clock_fine_ms(void);

/* Monotonic clock that also counts the time in which the machine
 * is suspended. */
int64_t clock_boot_ms(void);

#define BOOT_ID_SIZE 40

/* Get the random id that the kernel gave to this boot, or "" if /proc does not
 * have it. */
void clock_boot_id(char ret[BOOT_ID_SIZE]);

#endif
