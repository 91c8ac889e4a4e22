/*
 * words.h - Slurm's messages for the daemon's errors
 */
#ifndef SLURM_WORDS_H
#define SLURM_WORDS_H

#include <stdbool.h>

#include "libcommon/err.h"

#define WORDS_NO_JOB "Invalid job id specified"

/* Whether the error means that no daemon answered. */
bool words_is_unreachable(const struct err *err);

/* Returns Slurm's message for a refused request about a job; the daemon's own
 * text if Slurm has none. */
const char *words_of_job(const struct err *err);

/* Returns Slurm's message for a refused submission. If Slurm's message alone
 * does not explain the error, sets *ret_first to the daemon's own text, to be
 * printed before it; else to NULL. */
const char *words_of_submit(const struct err *err, const char **ret_first);

#endif
