/* listing_queue.c - the fields of a queue, and of shares */
#include "aischedd/read/listing_row.h"
#include "aischedd/state/cluster/queue.h"
#include "aischedd/state/cluster/usage.h"
#include "aischedd/state/cluster/used.h"

static const struct conf_queue *queue_of(const struct row_view *v)
{
	return &state_conf(v->state)->queues[v->index];
}

static void q_parent(struct row_view *v)
{
	int parent = queue_of(v)->parent;

	put_text(v,
	         parent < 0 ? NULL : state_conf(v->state)->queues[parent].name);
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

static bool is_open(const struct row_view *v)
{
	return state_queue_open(v->state, v->index);
}

/* Write the names of the pools that jobs of the queue may use. */
static void q_pools(struct row_view *v)
{
	const struct conf *conf = state_conf(v->state);
	struct buf text = { 0 };
	bool any = false;

	if (v->json)
		buf_addc(v->out, '[');
	for (size_t i = 0; i < conf->npools; i++) {
		if (!(queue_of(v)->pools >> i & 1))
			continue;
		if (v->json) {
			buf_puts(v->out, any ? "," : "");
			buf_json(v->out, conf->pools[i].name);
		} else {
			buf_printf(&text, "%s%s", any ? "," : "",
			           conf->pools[i].name);
		}
		any = true;
	}
	if (v->json)
		buf_addc(v->out, ']');
	else
		put_buf(v, &text);
}

static bool is_default(const struct row_view *v)
{
	return conf_default_queue(state_conf(v->state)) == (int)v->index;
}

static int64_t jobs(const struct row_view *v, bool running)
{
	return (int64_t)state_queue_count(v->state, v->index, running);
}

/* clang-format off */
FIELD(q_name,            put_text,   queue_of(v)->name)
FIELD(q_state,           put_text,   is_open(v) ? "open" : "closed")
FIELD(q_quota,           put_amounts,queue_of(v)->quota)
FIELD(q_quota_text,      put_amounts_text,queue_of(v)->quota)
FIELD(q_limit,           put_amounts,queue_of(v)->limit)
FIELD(q_limit_text,      put_amounts_text,queue_of(v)->limit)
FIELD(q_pending_jobs,    put_int,    jobs(v, false) - jobs(v, true))
FIELD(q_running_jobs,    put_int,    jobs(v, true))
FIELD(q_leaf,            put_int,    queue_of(v)->leaf)
FIELD(q_is_default,      put_int,    is_default(v))
FIELD(q_max_time,        put_int_or, queue_of(v)->max_time, CONF_NONE)
FIELD(q_default_time,    put_int_or, queue_of(v)->default_time, CONF_NONE)
FIELD(q_grace,           put_int,    queue_of(v)->grace)
/* clang-format on */

const struct field listing_queue_fields[] = {
#define F(name)                       \
	{                             \
#name, q_##name, true \
	}
#define G(name)                        \
	{                              \
#name, q_##name, false \
	}
	F(name),           F(parent),     F(state),      F(quota),
	F(limit),          F(fair_share), F(allocated),  F(pending_jobs),
	F(running_jobs),   G(quota_text), G(limit_text), G(fair_share_text),
	G(allocated_text), G(leaf),       G(is_default), G(max_time),
	G(default_time),   G(grace),      G(pools),      { NULL, NULL, false }
#undef F
#undef G
};

FIELD(put_held, put_amounts, v->share->held)
FIELD(put_held_text, put_amounts_text, v->share->held)

/* Write what the queue holds, divided by its fair share: the largest ratio over
 * all resources that are shared out to the queue. Writes null if the queue
 * holds some of a resource of which its share is 0. */
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

/* Fields of a queue; they are null in rows of users. */
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

/* Write decayed usage; 1 stands for a whole pool that is used for a second. */
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

/* clang-format off */
FIELD(s_user,            put_text,   v->share->user)
FIELD(s_running_jobs,    put_int,    (int64_t)v->share->running)
FIELD(s_pending_jobs,    put_int,    (int64_t)v->share->pending)
FIELD(s_cpu_hours,       put_milli,  v->share->cpu_ms / 3600)
FIELD(s_gpu_hours,       put_milli,  v->share->gpu_ms / 3600)
FIELD(s_jobs,            put_int,    v->share->jobs)
/* clang-format on */

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
