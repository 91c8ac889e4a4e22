/* shares.c - check that shares have the properties of a fair division */
#include <stdlib.h>

#include "aischedd/sched/check/audit.h"

/* Returns the unit of shares: one GPU, a thousandth of a CPU, a MiB. */
static int64_t unit(int r)
{
	return r == RES_GPU ? 1000 : 1;
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t capacity_of(const struct snap *s, int r)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < s->node.n; i++) {
		if (s->node.state[i] == NODE_DOWN)
			continue;
		sum += r == RES_CPU ? s->node.cpu_total[i]
		       : r == RES_MEM
		           ? s->node.mem_total[i]
		           : 1000 * (int64_t)(s->node.gpu_first[i + 1] -
		                              s->node.gpu_first[i]);
	}
	return sum;
}

static int64_t need_of(const struct snap *s, uint32_t req, int r)
{
	return r == RES_CPU   ? s->req.cpus[req]
	       : r == RES_MEM ? s->req.mem[req]
	                      : s->req.gpus[req];
}

/* Returns the demand of each queue: what the jobs in it and below it use and
 * ask for, but in each queue at most its limit. */
static int64_t *asks(const struct audit *a, int r)
{
	const struct snap *s = a->s;
	int64_t *ask = arena_array(a->arena, int64_t, s->queue.n);

	for (uint32_t i = 0; i < s->run.n; i++) {
		uint32_t req = s->run.req[i];

		/* An elastic job that is losing tasks has two entries: count
		 * only the first. */
		if (i && s->run.job[i] == s->run.job[i - 1])
			continue;
		ask[s->run.queue[i]] += s->req.tasks[req] * need_of(s, req, r);
	}
	for (uint32_t row = 0; row < s->pend.n; row++) {
		enum reason why = a->plan->verdict[row].why;
		uint32_t req = s->pend.req[row];
		int64_t jobs = 0;

		if (s->pend.resumes[row] != SNAP_NONE ||
		    reason_kind(why) == REASON_NEVER)
			continue;
		for (uint32_t m = s->pend.member_first[row];
		     m < s->pend.member_first[row + 1]; m++)
			jobs += least(s->member[m].room, s->member[m].count);
		ask[s->pend.queue[row]] +=
		    jobs * s->req.tasks[req] * need_of(s, req, r);
	}
	for (uint32_t q = s->queue.n; q-- > 0;) {
		if (s->queue.limit[q][r] != CONF_NONE)
			ask[q] = least(ask[q], s->queue.limit[q][r]);
		if (s->queue.parent[q] != SNAP_NONE)
			ask[s->queue.parent[q]] += ask[q];
	}
	return ask;
}

/* The queues directly below one queue, for one resource. total: what is divided
 * among them; given: the sum of their shares. */
struct family {
	const struct audit *a;
	int r;
	const int64_t *ask;
	int64_t *extra; /* by queue: its share minus its quota */
	int64_t total, given;
};

static int64_t share_of(const struct family *f, uint32_t q)
{
	return f->a->plan->share[q][f->r];
}

static bool is_satisfied(const struct family *f, uint32_t q)
{
	return share_of(f, q) >= f->ask[q];
}

static int unfair(const struct family *f, uint32_t q, const char *what)
{
	return err_set(f->a->err, EINVAL, "plan: share of queue '%s': %s",
	               f->a->s->queue.name[q], what);
}

/* Check the share of one queue against its own quota, demand and weight. */
static int check_one(struct family *f, uint32_t q)
{
	const struct snap_queues *queue = &f->a->s->queue;
	int64_t quota = least(f->ask[q], queue->quota[q][f->r]);

	f->extra[q] = share_of(f, q) - quota;
	f->given += share_of(f, q);
	if (f->extra[q] < 0)
		return unfair(f, q, "less than its quota");
	if (share_of(f, q) > f->ask[q])
		return unfair(f, q, "more than it asks for");
	if (f->extra[q] && !queue->weight[q])
		return unfair(f, q, "more than its quota without weight");
	return 0;
}

/* Check two siblings: `poor` asks for more than its share, so what `rich` has
 * above its quota must not exceed what its priority and weight allow. */
static int check_two(const struct family *f, uint32_t poor, uint32_t rich)
{
	const struct snap_queues *queue = &f->a->s->queue;
	int64_t one = unit(f->r);
	__int128 x = (__int128)f->extra[poor] + one;
	__int128 y = (__int128)f->extra[rich] - one;

	if (queue->priority[poor] > queue->priority[rich] &&
	    f->extra[rich] >= one)
		return unfair(f, poor, "another of lower priority has more");
	if (queue->priority[poor] == queue->priority[rich] &&
	    x * queue->weight[rich] < y * queue->weight[poor])
		return unfair(f, poor, "another has more for its weight");
	return 0;
}

static int check_family(struct family *f, uint32_t parent)
{
	const struct snap_queues *queue = &f->a->s->queue;
	uint32_t *kid = arena_array(f->a->arena, uint32_t, queue->n), n = 0;

	f->given = 0;
	for (uint32_t q = 0; q < queue->n; q++) {
		if (queue->parent[q] != parent ||
		    queue->quota[q][f->r] == CONF_NONE)
			continue;
		kid[n++] = q;
		if (check_one(f, q) < 0)
			return -1;
	}
	for (uint32_t i = 0; i < n; i++) {
		if (is_satisfied(f, kid[i]) || !queue->weight[kid[i]])
			continue;
		if (f->given + 2 * unit(f->r) <= f->total)
			return unfair(f, kid[i], "less than there is");
		for (uint32_t k = 0; k < n; k++) {
			if (check_two(f, kid[i], kid[k]) < 0)
				return -1;
		}
	}
	for (uint32_t i = 0; i < n; i++) {
		if (f->given > f->total && f->extra[kid[i]])
			return unfair(f, kid[i], "more than there is");
	}
	return 0;
}

static int check_resource(struct audit *a, int r)
{
	const struct snap_queues *queue = &a->s->queue;
	struct family f = {
		.a = a,
		.r = r,
		.ask = asks(a, r),
		.extra = arena_array(a->arena, int64_t, queue->n),
		.total = capacity_of(a->s, r),
	};
	int64_t capacity = f.total;

	if (check_family(&f, SNAP_NONE) < 0)
		return -1;
	for (uint32_t q = 0; q < queue->n; q++) {
		int64_t limit = queue->limit[q][r];

		if ((share_of(&f, q) == CONF_NONE) !=
		    (queue->quota[q][r] == CONF_NONE))
			return unfair(&f, q, "rationed or not");
		f.total = share_of(&f, q) != CONF_NONE ? share_of(&f, q)
		          : limit != CONF_NONE         ? least(capacity, limit)
		                                       : capacity;
		if (check_family(&f, q) < 0)
			return -1;
	}
	return 0;
}

/* Whether shares can be checked, because the demand is known. It is not known
 * while a row waits for a runner or has no verdict. */
static bool can_judge(const struct audit *a)
{
	for (uint32_t row = 0; row < a->plan->nverdicts; row++) {
		enum reason why = a->plan->verdict[row].why;

		if (why == WHY_RunnerDown || why == WHY_Unevaluated)
			return false;
	}
	return true;
}

int check_shares(struct audit *a)
{
	for (int r = 0; can_judge(a) && r < RES_N; r++) {
		if (check_resource(a, r) < 0)
			return -1;
	}
	return 0;
}
