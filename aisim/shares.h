/*
 * shares.h - print the fair share of each queue, as JSON
 */
#ifndef AISIM_SHARES_H
#define AISIM_SHARES_H

#include <stdio.h>

#include "aischedd/state/state.h"

/* One object a line for each queue: quota, fair_share, allocated, each {cpus,
 * memory_mib, gpus}; null if it is not rationed. */
void shares_print(struct state *state, int64_t now, FILE *out);

#endif
