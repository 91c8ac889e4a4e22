/*
 * standing.c - who may preempt whom in a queue, calculated independently
 *
 * The job with the higher priority may preempt the other; at equal priority,
 * the job on the lower rung (order_service.h).
 */
#include "aischedd/sched/check/audit.h"

/* An upper bound of the number of rungs. */
enum { RUNGS_MAX = 1024 };

/* Longer than any job runs. */
static const int64_t FOREVER_S = (int64_t)1 << 36;

/* Returns seconds times the devices of the job's minimum of tasks, in
 * thousandths of a device; at most INT64_MAX. */
static int64_t amount(const struct snap *s, uint32_t req, int64_t seconds)
{
	int64_t each = s->req.gpus[req] ? s->req.gpus[req] : s->req.cpus[req];
	__int128 all = (__int128)each * s->req.min_tasks[req] * seconds;

	return all < INT64_MAX ? (int64_t)all : INT64_MAX;
}

/* Returns the rung of a job that has been served this much: 0 below 10 hours of
 * a device, 1 below 100, 2 below 1000, ... */
static int64_t rung_by_service(int64_t served)
{
	__int128 bound = (__int128)10 * 3600 * 1000;
	int64_t rung = 0;

	for (; served >= bound; bound *= 10)
		rung++;
	return rung;
}

/* Returns the rung of a job with this much service left: below 8, each amount
 * has its own rung; above, there are eight rungs from each power of two to the
 * next. */
static int64_t rung_by_rest(int64_t rest)
{
	int64_t power = 8, rung = 3 * 8;

	if (rest < power)
		return rung + rest;
	for (; rest / 2 >= power; power *= 2)
		rung += 8;
	return rung + (rest - power) / (power / 8);
}

static int64_t rung_of(const struct snap *s, uint32_t req, uint32_t queue,
                       int64_t served)
{
	int64_t length = s->req.time_limit[req];

	if (s->policy.order == BY_SERVED)
		return rung_by_service(amount(s, req, served));
	if (s->policy.order != BY_REST)
		return 0;
	if (length == SNAP_NEVER)
		length = s->queue.assumed_time[queue];
	if (length == CONF_NONE || length > FOREVER_S)
		length = FOREVER_S;
	length = length > served ? length - served : 1;
	return rung_by_rest(amount(s, req, length));
}

int64_t check_standing_of_row(const struct snap *s, uint32_t row)
{
	return s->pend.priority[row] * RUNGS_MAX - rung_of(s, s->pend.req[row],
	                                                   s->pend.queue[row],
	                                                   s->pend.served[row]);
}

/* Whether the job started because it had waited too long, and has not yet run
 * for as long as it had waited. */
static bool is_kept(const struct snap *s, uint32_t run)
{
	int64_t wait = CONF_NONE;

	for (uint32_t q = s->run.queue[run];
	     q != SNAP_NONE && wait == CONF_NONE; q = s->queue.parent[q])
		wait = s->queue.max_wait[q];
	if (wait == CONF_NONE && s->policy.hold_after == CONF_NONE)
		return false;
	if (wait == CONF_NONE)
		wait = s->policy.hold_after +
		       (s->policy.order == BY_POINTS) * 7 * 24 * 3600;
	return s->run.waited[run] && s->run.waited[run] >= wait &&
	       s->now < s->run.start[run] + wait;
}

int64_t check_standing_as_victim(const struct snap *s, uint32_t run)
{
	return is_kept(s, run) ? INT64_MAX : check_standing_of_run(s, run);
}

int64_t check_standing_of_run(const struct snap *s, uint32_t run)
{
	return s->run.priority[run] * RUNGS_MAX - rung_of(s, s->run.req[run],
	                                                  s->run.queue[run],
	                                                  s->run.served[run]);
}
