/*
 * serve.h - one claim of a pass, and its answer
 *
 * Limits are checked first. Then the claim is placed in what is free; else jobs
 * are evicted for it; else it is promised a start, or holds back the jobs
 * behind it.
 */
#ifndef AISCHEDD_SCHED_SERVE_H
#define AISCHEDD_SCHED_SERVE_H

#include "aischedd/sched/pass.h"

/* How a claim was answered. */
enum serve_answer {
	STARTS,
	CLAIMS,   /* jobs are evicted for it */
	PROMISED, /* the job waits and is promised a start */
	WAITS     /* the job waits, and so do all jobs of its row */
};

/* Start the next job of the row, or say why it waits. */
enum serve_answer serve_row(struct pass *p, uint32_t row);

/* Answer the claim for one more task. serve_grower(): the claim of a running
 * job. serve_elastic(): the claim of a job that starts in this pass; no job is
 * evicted for it. */
enum serve_answer serve_grower(struct pass *p, uint32_t run,
                               uint32_t *ret_tasks);
enum serve_answer serve_elastic(struct pass *p, struct order_elastic *e);

#endif
