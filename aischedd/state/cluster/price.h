/*
 * price.h - what it costs to hold resources for an hour
 *
 * All numbers are integers. A price is in millionths of the currency, for an
 * hour of a CPU, a GiB or a GPU.
 */
#ifndef AISCHEDD_STATE_CLUSTER_PRICE_H
#define AISCHEDD_STATE_CLUSTER_PRICE_H

#include <stdint.h>

#include "libcommon/conf/conf.h"

struct job;
struct state;

/* Returns what a job with nodes costs under the present configuration if it
 * holds the amounts in rate[], in millionths of the currency for each hour. */
int64_t price_of(const struct state *state, const struct job *job,
                 const int64_t rate[RES_N]);

#endif
