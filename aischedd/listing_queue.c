/* listing_queue.c - the fields of a queue, and of what it and its users have */
#include "aischedd/listing_row.h"

static const struct conf_queue *queue_of(const struct row_view *v)
{
	return &state_conf(v->state)->queues[v->index];
}

static void q_name(struct row_view *v)
{
	put_text(v, queue_of(v)->name);
}

static void q_parent(struct row_view *v)
{
	int parent = queue_of(v)->parent;

	put_text(v,
	         parent < 0 ? NULL : state_conf(v->state)->queues[parent].name);
}

static void q_state(struct row_view *v)
{
	put_text(v, state_queue_open(v->state, v->index) ? "open" : "closed");
}

static void q_quota(struct row_view *v)
{
	put_amounts(v, queue_of(v)->quota);
}

static void q_limit(struct row_view *v)
{
	put_amounts(v, queue_of(v)->limit);
}

static void q_fair_share(struct row_view *v)
{
	const int64_t *share = state_queue_share(v->state, v->index);

	if (share)
		put_amounts(v, share);
	else
		put_null(v);
}

static void q_allocated(struct row_view *v)
{
	int64_t used[RES_N];

	state_queue_used(v->state, v->index, used);
	put_amounts(v, used);
}

static void q_quota_text(struct row_view *v)
{
	put_amounts_text(v, queue_of(v)->quota);
}

static void q_limit_text(struct row_view *v)
{
	put_amounts_text(v, queue_of(v)->limit);
}

static void q_fair_share_text(struct row_view *v)
{
	const int64_t *share = state_queue_share(v->state, v->index);

	if (share)
		put_amounts_text(v, share);
}

static void q_allocated_text(struct row_view *v)
{
	int64_t used[RES_N];

	state_queue_used(v->state, v->index, used);
	put_amounts_text(v, used);
}

static void q_pending_jobs(struct row_view *v)
{
	put_int(v, (int64_t)(state_queue_count(v->state, v->index, false) -
	                     state_queue_count(v->state, v->index, true)));
}

static void q_running_jobs(struct row_view *v)
{
	put_int(v, (int64_t)state_queue_count(v->state, v->index, true));
}

const struct field listing_queue_fields[] = {
#define F(name)                       \
	{                             \
#name, q_##name, true \
	}
#define G(name)                        \
	{                              \
#name, q_##name, false \
	}
	F(name),           F(parent),
	F(state),          F(quota),
	F(limit),          F(fair_share),
	F(allocated),      F(pending_jobs),
	F(running_jobs),   G(quota_text),
	G(limit_text),     G(fair_share_text),
	G(allocated_text), { NULL, NULL, false }
#undef F
#undef G
};

static void put_held(struct row_view *v)
{
	put_amounts(v, v->share->held);
}

static void put_held_text(struct row_view *v)
{
	put_amounts_text(v, v->share->held);
}

/* What it has against what it may call its own: the largest, of what it
 * rations.  More than nothing of nothing is no number. */
static void put_ratio(struct row_view *v)
{
	const int64_t *share = state_queue_share(v->state, v->index);
	const int64_t *held = v->share->held;
	int64_t most = -1;

	for (int r = 0; share && r < RES_N; r++) {
		int64_t ratio = 0;

		if (share[r] == CONF_NONE)
			continue;
		if (held[r] && !share[r]) {
			put_null(v);
			return;
		}
		if (held[r])
			ratio = (int64_t)((__int128)held[r] * 1000 / share[r]);
		most = ratio > most ? ratio : most;
	}
	if (most < 0)
		put_null(v);
	else
		put_milli(v, most);
}

/* What the rows of users do not have. */
#define OF_QUEUE(name, fn)                       \
	static void s_##name(struct row_view *v) \
	{                                        \
		if (v->share->user)              \
			put_null(v);             \
		else                             \
			fn(v);                   \
	}
OF_QUEUE(quota, q_quota)
OF_QUEUE(quota_text, q_quota_text)
OF_QUEUE(fair_share, q_fair_share)
OF_QUEUE(fair_share_text, q_fair_share_text)
OF_QUEUE(allocated, put_held)
OF_QUEUE(allocated_text, put_held_text)
OF_QUEUE(ratio, put_ratio)
#undef OF_QUEUE

static void s_queue(struct row_view *v)
{
	q_name(v);
}

static void s_user(struct row_view *v)
{
	put_text(v, v->share->user);
}

/* Seconds of a whole pool. */
static void s_usage(struct row_view *v)
{
	const int64_t milli = CHARGE_ALL / 1000;

	put_milli(v, (v->share->used + milli / 2) / milli);
}

static void s_share(struct row_view *v)
{
	if (v->share->user)
		put_milli(v, (v->share->part + 500) / 1000);
	else
		put_null(v);
}

static void s_factor(struct row_view *v)
{
	if (v->share->user)
		put_milli(v, v->share->light);
	else
		put_null(v);
}

static void s_running_jobs(struct row_view *v)
{
	put_int(v, (int64_t)v->share->running);
}

static void s_pending_jobs(struct row_view *v)
{
	put_int(v, (int64_t)v->share->pending);
}

static void s_cpu_hours(struct row_view *v)
{
	put_milli(v, v->share->cpu_ms / 3600);
}

static void s_gpu_hours(struct row_view *v)
{
	put_milli(v, v->share->gpu_ms / 3600);
}

static void s_jobs(struct row_view *v)
{
	put_int(v, v->share->jobs);
}

const struct field listing_share_fields[] = {
#define F(name)                       \
	{                             \
#name, s_##name, true \
	}
#define G(name)                        \
	{                              \
#name, s_##name, false \
	}
	F(queue),           F(user),           F(quota),
	F(fair_share),      F(allocated),      F(ratio),
	F(usage),           F(share),          F(factor),
	F(running_jobs),    F(pending_jobs),   F(cpu_hours),
	F(gpu_hours),       F(jobs),           G(quota_text),
	G(fair_share_text), G(allocated_text), { NULL, NULL, false }
#undef F
#undef G
};
