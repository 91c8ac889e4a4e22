/* order_service.c - orders in which long jobs take turns */
#include "aischedd/sched/order_service.h"

#include "aischedd/sched/order_score.h"

/* The end of the first rung: 10 hours of one GPU or CPU, in thousandths of a
 * device times seconds. */
static const int64_t SERVED_FIRST = (int64_t)36000 * 1000;

/* Longer than any job runs. */
static const int64_t LONGEST_S = (int64_t)1 << 36;

typedef __int128 wide;

/* Returns the GPUs of a job's minimum of tasks, in thousandths; if the job asks
 * for no GPUs, the CPUs. */
static int64_t devices(const struct snap *s, uint32_t req)
{
	int64_t each = s->req.gpus[req] ? s->req.gpus[req] : s->req.cpus[req];

	return each * s->req.min_tasks[req];
}

static int64_t product(int64_t a, int64_t b)
{
	wide x = (wide)a * b;

	return x < INT64_MAX ? (int64_t)x : INT64_MAX;
}

static int64_t left_of(const struct snap *s, uint32_t req, uint32_t queue,
                       int64_t served)
{
	int64_t length = s->req.time_limit[req];

	if (length == SNAP_NEVER)
		length = s->queue.assumed_time[queue];
	if (length == CONF_NONE || length > LONGEST_S)
		length = LONGEST_S;
	/* A job that was evicted may have run for longer than its time limit,
	 * all its runs together. */
	return product(length > served ? length - served : 1, devices(s, req));
}

/* Returns the rung of a job by its past service x: 0 below SERVED_FIRST, 1
 * below ten times as much, 2 below a hundred times as much, ... */
static int64_t decade(int64_t x)
{
	int64_t n = 0;

	for (; x >= SERVED_FIRST; x /= 10)
		n++;
	return n;
}

/* Returns the rung of a job whose remaining service is x: there are eight rungs
 * for each doubling of x. */
static int64_t eighth(int64_t x)
{
	int log = 63 - __builtin_clzll((uint64_t)x | 8);

	return 8 * log + (x >> (log - 3) & 7);
}

static int64_t rung(const struct snap *s, uint32_t req, uint32_t queue,
                    int64_t served)
{
	switch (s->policy.order) {
	case BY_SERVED:
		return decade(product(served, devices(s, req)));
	case BY_REST:
		return eighth(left_of(s, req, queue, served));
	default:
		return 0;
	}
}

static int64_t rung_of_row(const struct snap *s, uint32_t row)
{
	return rung(s, s->pend.req[row], s->pend.queue[row],
	            s->pend.served[row]);
}

int64_t order_rung_rank(const struct snap *s, uint32_t row)
{
	if (s->policy.order == BY_SERVED)
		return rung_of_row(s, row);
	return left_of(s, s->pend.req[row], s->pend.queue[row],
	               s->pend.served[row]);
}

int64_t order_standing_of_row(const struct snap *s, uint32_t row)
{
	return s->pend.priority[row] * RUNGS - rung_of_row(s, row);
}

int64_t order_rung_of_run(const struct snap *s, uint32_t run)
{
	return rung(s, s->run.req[run], s->run.queue[run], s->run.served[run]);
}

int64_t order_kept_until(const struct snap *s, uint32_t run)
{
	int64_t wait = order_score_overdue_in(s, s->run.queue[run]);

	return wait != CONF_NONE && s->run.waited[run] >= wait
	           ? s->run.start[run] + wait
	           : 0;
}

int64_t order_rung_rises(const struct snap *s, uint32_t run)
{
	int64_t each = devices(s, s->run.req[run]);
	int64_t at = SERVED_FIRST;

	if (s->policy.order != BY_SERVED || !each)
		return SNAP_NEVER;
	while (at <= product(s->run.served[run], each)) {
		if (at > INT64_MAX / 10)
			return SNAP_NEVER;
		at *= 10;
	}
	return s->now + (at + each - 1) / each - s->run.served[run];
}
