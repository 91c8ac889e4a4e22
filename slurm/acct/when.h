/*
 * when.h - times as sacct and sreport take them
 */
#ifndef SLURM_ACCT_WHEN_H
#define SLURM_ACCT_WHEN_H

#include <stdint.h>

#include "libcommon/err.h"

enum { WHEN_FIRST = 1 }; /* the earliest time that can be asked for */

/*
 * Parse what parse_time() takes, and also MMDD[YY], MM/DD[/YY], and a '-'
 * before the hour. A time of day means the last time it was that. Fails with
 * EINVAL.
 */
int when_parse(const char *text, int64_t now, int64_t *ret, struct err *err);

/* Returns when the day of this moment began. */
int64_t when_midnight(int64_t now);

#endif
