/*
 * when.h - parse times as sacct and sreport accept them
 */
#ifndef SLURM_ACCT_WHEN_H
#define SLURM_ACCT_WHEN_H

#include <stdint.h>

#include "libcommon/err.h"

enum { WHEN_FIRST = 1 }; /* the earliest time that can be asked for */

/*
 * Parse what parse_time() accepts, and also MMDD[YY], MM/DD[/YY], and a '-'
 * before the hour. A time of day without a date is the last time the clock
 * showed it. Fails with EINVAL.
 */
int when_parse(const char *text, int64_t now, int64_t *ret, struct err *err);

/* Returns the midnight at which the day of this time began. */
int64_t when_midnight(int64_t now);

#endif
