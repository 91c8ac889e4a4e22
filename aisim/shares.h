/*
 * shares.h - print the fair share of each queue, as JSON
 */
#ifndef AISIM_SHARES_H
#define AISIM_SHARES_H

#include <stdio.h>

#include "aischedd/state/state.h"

/* Print one line of JSON for each queue, with quota, fair_share and allocated,
 * each {cpus, memory_mib, gpus}; amounts without a quota are null. */
void shares_print(struct state *state, int64_t now, FILE *out);

#endif
