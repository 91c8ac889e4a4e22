/*
 * clock.h - read clocks
 *
 * Deadlines and durations use the monotonic clock; times that users and the
 * database see use the wall clock, which may be set back. sched/ and state/
 * call none of these: they get the time as an argument.
 */
#ifndef LIBCOMMON_CLOCK_H
#define LIBCOMMON_CLOCK_H

#include <stdint.h>

/* Since 1970, UTC. */
int64_t clock_wall_s(void);
int64_t clock_wall_us(void);

/* Monotonic; the second form keeps fractions, for measuring. */
int64_t clock_ms(void);
double clock_fine_ms(void);

/* Monotonic, and continues while the machine sleeps. */
int64_t clock_boot_ms(void);

#define BOOT_ID_SIZE 40

/* The id of this boot of the machine, "" if /proc does not have it. */
void clock_boot_id(char ret[BOOT_ID_SIZE]);

#endif
