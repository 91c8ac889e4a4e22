/* shares.c - print the fair share of each queue, as JSON */
#include "aisim/shares.h"

#include "aischedd/state/cluster/used.h"
#include "aischedd/state/pass/snapshot.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"

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
	const struct plan *plan = sched_plan(s, arena);
	struct buf line = { 0 };
	int64_t used[RES_N];

	for (uint32_t q = 0; q < s->queue.n; q++) {
		buf_clear(&line);
		buf_puts(&line, "{\"queue\":");
		buf_json(&line, s->queue.name[q]);
		put(&line, "quota", s->queue.quota[q]);
		put(&line, "fair_share", plan->share[q]);
		state_queue_used(state, q, used);
		put(&line, "allocated", used);
		buf_puts(&line, "}\n");
		fwrite(line.data, 1, line.len, out);
	}
	buf_free(&line);
	arena_free(arena);
}
