/* shares.c - what each queue may call its own, as JSON */
#include "aisim/shares.h"

#include "aischedd/sched/share.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"

typedef int64_t amounts[RES_N];

static void ask_more(const struct snap *s, uint32_t req, int64_t jobs,
                     amounts ask)
{
	int64_t tasks = jobs * s->req.tasks[req];

	ask[RES_CPU] += tasks * s->req.cpus[req];
	ask[RES_MEM] += tasks * s->req.mem[req];
	ask[RES_GPU] += tasks * s->req.gpus[req];
}

/* What each leaf runs and what could start there, all at their largest. */
static amounts *asks(const struct snap *s, struct arena *arena)
{
	amounts *ask = arena_array(arena, amounts, s->queue.n + 1);

	for (uint32_t i = 0; i < s->run.n; i++)
		ask_more(s, s->run.req[i], 1, ask[s->run.queue[i]]);
	for (uint32_t row = 0; row < s->pend.n; row++) {
		int64_t jobs = 0;

		if (s->pend.resumes[row] != SNAP_NONE ||
		    sched_could_fit(s, row, NULL) < 0)
			continue;
		for (uint32_t m = s->pend.member_first[row];
		     m < s->pend.member_first[row + 1]; m++)
			jobs += s->member[m].count;
		ask_more(s, s->pend.req[row], jobs, ask[s->pend.queue[row]]);
	}
	return ask;
}

static void sum_capacity(const struct snap *s, amounts ret)
{
	for (uint32_t i = 0; i < s->node.n; i++) {
		if (s->node.state[i] == NODE_DOWN)
			continue;
		ret[RES_CPU] += s->node.cpu_total[i];
		ret[RES_MEM] += s->node.mem_total[i];
		ret[RES_GPU] += 1000 * (int64_t)(s->node.gpu_first[i + 1] -
		                                 s->node.gpu_first[i]);
	}
}

static void put_amount(struct buf *line, int64_t amount, bool milli)
{
	if (amount == CONF_NONE)
		buf_puts(line, "null");
	else if (milli)
		format_milli(line, amount);
	else
		buf_i64(line, amount);
}

static void put(struct buf *line, const char *key, const int64_t amount[RES_N])
{
	buf_printf(line, ",\"%s\":{\"cpus\":", key);
	put_amount(line, amount[RES_CPU], true);
	buf_puts(line, ",\"memory_mib\":");
	put_amount(line, amount[RES_MEM], false);
	buf_puts(line, ",\"gpus\":");
	put_amount(line, amount[RES_GPU], true);
	buf_addc(line, '}');
}

void shares_print(struct state *state, int64_t now, FILE *out)
{
	struct arena *arena = arena_new();
	const struct snap *s = state_peek(state, now, arena);
	amounts *share = arena_array(arena, amounts, s->queue.n + 1);
	amounts *ask = asks(s, arena);
	struct buf line = { 0 };
	amounts capacity = { 0 }, used;

	sum_capacity(s, capacity);
	share_divide(&s->queue, ask, capacity, share, arena);
	for (uint32_t q = 0; q < s->queue.n; q++) {
		buf_clear(&line);
		buf_puts(&line, "{\"queue\":");
		buf_json(&line, s->queue.name[q]);
		put(&line, "quota", s->queue.quota[q]);
		put(&line, "fair_share", share[q]);
		state_queue_used(state, q, used);
		put(&line, "allocated", used);
		buf_puts(&line, "}\n");
		fwrite(line.data, 1, line.len, out);
	}
	buf_free(&line);
	arena_free(arena);
}
