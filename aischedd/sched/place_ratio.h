/*
 * place_ratio.h - how many CPUs go with a GPU, in what runs and waits
 *
 * GPUs on a node whose CPUs are used up are of no use to anybody, nor are
 * CPUs where no GPU is left.  So both are counted in GPUs: a CPU is worth as
 * many as the jobs of the snapshot ask for beside it.
 */
#ifndef AISCHEDD_SCHED_PLACE_RATIO_H
#define AISCHEDD_SCHED_PLACE_RATIO_H

#include "aischedd/sched/tally.h"

/* GPUs for a CPU, in 2^20ths; 0: nobody asks for both. */
int64_t mix_worth(const struct snap *snap, const struct tally *tally);

/* What so many CPUs are worth, less so many GPUs: thousandths of GPUs. */
static inline int64_t mix_balance(int64_t worth, int64_t cpu, int64_t gpu)
{
	return worth ? (cpu * worth >> 20) - gpu : 0;
}

#endif
