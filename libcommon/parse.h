/*
 * parse.h - parse and format durations, sizes, counts, times, signals
 *
 * Pure; the whole string must be the value. All fail with EINVAL and a text
 * that quotes the value and says what is allowed; *ret is written only on
 * success.
 */
#ifndef LIBCOMMON_PARSE_H
#define LIBCOMMON_PARSE_H

#include <stdbool.h>
#include <stdint.h>

#include "libcommon/buf.h"
#include "libcommon/err.h"

#define TIME_UNLIMITED (-1)                     /* a time limit without end */
#define NO_TIME        (-1)                     /* no time */
#define MAX_SECONDS    (((int64_t)1 << 40) - 1) /* of any time */

/* Whether c is one of 0 to 9, in any locale. */
static inline bool parse_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/*
 * Slurm's durations: min, min:sec, h:m:s, d-h, d-h:m, d-h:m:s (fields may
 * exceed 59 and 23), or 90s 45m 12h 3d 2w and sums of them ("1h30m");
 * UNLIMITED, INFINITE and -1 are TIME_UNLIMITED. Seconds, 0 to MAX_SECONDS.
 */
int parse_duration(const char *s, int64_t *ret, struct err *err);

/* Sizes: a number, with or without fraction, and K M G T (1024), with or
 * without B, any case; without a letter the unit is `unit` ('M', or 0 for
 * bytes). */
int parse_mib(const char *s, char unit, int64_t *ret, struct err *err);
int parse_bytes(const char *s, char unit, int64_t *ret, struct err *err);

/* A whole number within min .. max, both of which the error names. */
int parse_int(const char *s, int64_t min, int64_t max, int64_t *ret,
              struct err *err);

/* "0.5" -> 500: at most three decimals, within 0 .. max_milli.  parse_micro()
 * takes six decimals, and returns millionths. */
int parse_micro(const char *s, int64_t max_micro, int64_t *ret,
                struct err *err);
int parse_milli(const char *s, int64_t max_milli, int64_t *ret,
                struct err *err);

/* yes no true false on off 1 0 */
int parse_bool(const char *s, bool *ret, struct err *err);

/*
 * A time: HH:MM[:SS] (the next one), midnight noon today tomorrow now,
 * now+N[unit] and now-N[unit] (seconds unless s m h d w or Slurm's minutes
 * hours days weeks), YYYY-MM-DD[THH:MM[:SS][Z]], or @UNIX. Local time.
 */
int parse_time(const char *s, int64_t now, int64_t *ret, struct err *err);

/* "USR1", "SIGUSR1", "10" -> 10; and back ("USR1", or the number). */
int parse_signal(const char *s, int *ret, struct err *err);
const char *signal_name(int signo);

/* Slurm's [B:]SIG[@SEC]; SEC is 60 by default. */
int parse_signal_spec(const char *s, int *ret_signo, int64_t *ret_before_s,
                      bool *ret_batch_only, struct err *err);

/* "1-02:03:04", "0:59"; TIME_UNLIMITED: "UNLIMITED". */
void format_duration(struct buf *out, int64_t seconds);
/* "2026-11-21T18:30:00" in local time; negative: "N/A". */
void format_time(struct buf *out, int64_t unix_s);
/* "512M", "1.5G": MiB for people. */
void format_mib(struct buf *out, int64_t mib);
/* 1500 -> "1.5", 2000 -> "2" */
void format_micro(struct buf *out, int64_t micro);
void format_milli(struct buf *out, int64_t milli);

/* For parsers: take the digits at *s, at least one; no sign, no space. Returns
 * false if there are none, or they exceed max. */
bool take_number(const char **s, int64_t max, int64_t *ret);

#endif
