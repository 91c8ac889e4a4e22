/*
 * parse.h - parse and format durations, sizes, counts, times, signals
 *
 * These functions have no side effects, and the whole string must be the value.
 * All of them fail with EINVAL and a text that quotes the value and says what
 * is allowed; *ret is written only on success.
 */
#ifndef LIBCOMMON_PARSE_H
#define LIBCOMMON_PARSE_H

#include <stdbool.h>
#include <stdint.h>

#include "libcommon/buf.h"
#include "libcommon/err.h"

#define TIME_UNLIMITED (-1) /* a time limit without end */
/* a time that is not known or not set */
#define NO_TIME (-1)
/* the largest time or duration */
#define MAX_SECONDS (((int64_t)1 << 40) - 1)

/* Whether c is one of 0 to 9, in any locale. */
static inline bool parse_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/*
 * Slurm's durations: min, min:sec, h:m:s, d-h, d-h:m, d-h:m:s (fields
 * may exceed 59 and 23), or 90s 45m 12h 3d 2w and sums of them
 * ("1h30m"); UNLIMITED, INFINITE and -1 are TIME_UNLIMITED. *ret is in
 * seconds, 0 to MAX_SECONDS.
 */
int parse_duration(const char *s, int64_t *ret, struct err *err);

/* Parse a size: a number, which may have a fraction, then K, M, G or T (powers
 * of 1024), then B. Letters may be lower case, or left out. Without K to T the
 * unit is `unit`: 'M', or 0 for bytes. Results are rounded up. */
int parse_mib(const char *s, char unit, int64_t *ret, struct err *err);
int parse_bytes(const char *s, char unit, int64_t *ret, struct err *err);

/* Parse a whole number from min to max; the error names both. */
int parse_int(const char *s, int64_t min, int64_t max, int64_t *ret,
              struct err *err);

/* Parse "0.5" into 500 (parse_milli(): at most three decimals) or into 500000
 * (parse_micro(): at most six). The value must be from 0 to the maximum. */
int parse_micro(const char *s, int64_t max_micro, int64_t *ret,
                struct err *err);
int parse_milli(const char *s, int64_t max_milli, int64_t *ret,
                struct err *err);

/* Parse one of: yes no true false on off 1 0. */
int parse_bool(const char *s, bool *ret, struct err *err);

/*
 * Parse a time: HH:MM[:SS], midnight or noon (the next one); today, tomorrow or
 * yesterday at 0:00; now, now+N[unit] or now-N[unit];
 * YYYY-MM-DD[THH:MM[:SS][Z]]; or @UNIX. A unit is s, m, h, d, w or one of
 * Slurm's words, such as minutes; if left out, it is seconds. Times are local
 * unless they have a Z.
 */
int parse_time(const char *s, int64_t now, int64_t *ret, struct err *err);

/* Parse a signal, "USR1", "SIGUSR1" or "10", into its number. */
int parse_signal(const char *s, int *ret, struct err *err);
const char *signal_name(int signo);

/* Parse Slurm's [B:]SIG[@SEC]: the signal, how many seconds before the time
 * limit it is sent (60 by default), and with B: only to the script. */
int parse_signal_spec(const char *s, int *ret_signo, int64_t *ret_before_s,
                      bool *ret_batch_only, struct err *err);

/* Append "1-02:03:04" or "0:59"; "UNLIMITED" if negative. */
void format_duration(struct buf *out, int64_t seconds);
/* Append "2026-11-21T18:30:00", in local time; "N/A" if negative. */
void format_time(struct buf *out, int64_t unix_s);
/* Append a number of MiB in the largest unit: "512M", "1.5G". */
void format_mib(struct buf *out, int64_t mib);
/* Append thousandths or millionths as a decimal number: format_milli() writes
 * 1500 as "1.5" and 2000 as "2". */
void format_micro(struct buf *out, int64_t micro);
void format_milli(struct buf *out, int64_t milli);

/* Parse the digits at *s, at least one, with no sign or space, and move *s
 * behind them. Returns false, and changes nothing, if there are none or the
 * value exceeds max. */
bool take_number(const char **s, int64_t max, int64_t *ret);

#endif
