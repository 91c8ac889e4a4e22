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

/* Returns Slurm's text for a refused request about a job; our own text if Slurm
 * has none. */
const char *words_of_job(const struct err *err);

/* Returns Slurm's text for a refused submission. Sets *ret_first to a line to
 * print before it, our own text, if Slurm's alone does not say what is wrong;
 * else to NULL. */
const char *words_of_submit(const struct err *err, const char **ret_first);

#endif
