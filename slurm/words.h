/*
 * words.h - Slurm's words for what went wrong
 */
#ifndef SLURM_WORDS_H
#define SLURM_WORDS_H

#include <stdbool.h>

#include "libcommon/err.h"

#define WORDS_NO_JOB "Invalid job id specified"

/* Whether no daemon answered. */
bool words_is_unreachable(const struct err *err);

/* What Slurm says of a request about a job that was refused for this reason;
 * our own text if Slurm has no word for it. */
const char *words_of_job(const struct err *err);

#endif
