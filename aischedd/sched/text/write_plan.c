/* write_plan.c - plans to text */
#include "aischedd/sched/text/writer.h"
#include "aischedd/sched/verdict.h"

/* Write a line such as "start 12 n0*2" or "grow 11 n1:g0". */
static void put_placed(const struct snap *s, const struct plan *plan,
                       const char *what, uint64_t job, uint32_t first,
                       uint32_t n, struct buf *out)
{
	const struct snap_task *t = plan->task + first;

	buf_printf(out, "%s %llu ", what, (unsigned long long)job);
	for (uint32_t i = 0, same; i < n; i += same) {
		uint64_t held = plan->held ? plan->held[first + i] : 0;
		bool bare =
		    !t[i].gpus && !held && t[i].cpu_first == t[i + 1].cpu_first;

		if (i)
			buf_addc(out, ',');
		snap_put_task(out, s, &t[i], plan->cpu_use, held);
		for (same = 1; bare && i + same < n; same++) {
			if (t[i + same].node != t[i].node)
				break;
		}
		if (same > 1)
			buf_printf(out, "*%u", (unsigned)same);
	}
	buf_addc(out, '\n');
}

/* Write "evict 11 all why=reclaim by=15" or "evict 11 0,2 why=preempt by=15".
 */
static void put_eviction(const struct snap *s, const struct plan *plan,
                         const struct eviction *e, struct buf *out)
{
	static const char *const why[] = {
#define X(sym, name) [EVICT_##sym] = #name,
		EVICTS(X)
#undef X
	};
	uint32_t tasks =
	    s->run.task_first[e->run + 1] - s->run.task_first[e->run];

	buf_printf(out, "evict %llu ", (unsigned long long)s->run.job[e->run]);
	for (uint32_t i = 0; e->nlosses < tasks && i < e->nlosses; i++)
		buf_printf(out, i ? ",%u" : "%u",
		           (unsigned)plan->loss[e->loss_first + i]);
	buf_printf(out, "%s why=%s", e->nlosses < tasks ? "" : "all",
	           why[e->why]);
	if (e->by)
		buf_printf(out, " by=%llu", (unsigned long long)e->by);
	buf_puts(out, e->suspend ? " suspend\n" : "\n");
}

/* Write "claim 15 n0,n1*2" or "claim run 11 n3". */
static void put_held(const struct snap *s, const struct plan *plan,
                     const struct plan_claim *c, struct buf *out)
{
	uint64_t job =
	    c->row == SNAP_NONE ? s->run.job[c->run] : s->member[c->member].job;

	buf_printf(out, "claim %s%llu", c->row == SNAP_NONE ? "run " : "",
	           (unsigned long long)job);
	snap_put_nodes(s, " ", plan->claim_node + c->node_first, c->n, out);
	buf_addc(out, '\n');
}

static void put_wait(const struct snap *s, uint32_t row,
                     const struct verdict *v, const uint32_t *started,
                     struct buf *out)
{
	uint64_t waiting = 0, job = 0;

	for (uint32_t m = s->pend.member_first[row];
	     m < s->pend.member_first[row + 1]; m++) {
		if (started[m] == s->member[m].count)
			continue;
		if (!waiting)
			job = s->member[m].job;
		waiting += s->member[m].count - started[m];
	}
	buf_printf(out, "wait %llu", (unsigned long long)job);
	if (waiting > 1)
		buf_printf(out, " +%llu", (unsigned long long)waiting - 1);
	buf_printf(out, " %s position=%u", reason_name(v->why),
	           (unsigned)v->position);
	if (v->expected != SNAP_NEVER)
		buf_printf(out, " at=%lld", (long long)v->expected);
	buf_puts(out, ": ");
	verdict_text(s, row, v, out);
	buf_addc(out, '\n');
}

static void put_promised(const struct snap *s, const struct promised *it,
                         struct buf *out)
{
	buf_printf(out, "promised %llu position=%u at=%lld",
	           (unsigned long long)s->member[it->member].job,
	           (unsigned)it->position, (long long)it->expected);
	if (it->job)
		buf_printf(out, " waits for %llu", (unsigned long long)it->job);
	buf_addc(out, '\n');
}

void plan_write(const struct snap *s, const struct plan *plan, struct buf *out)
{
	struct arena *arena = arena_new();
	uint32_t nmembers = s->pend.n ? s->pend.member_first[s->pend.n] : 0;
	uint32_t *started = arena_array(arena, uint32_t, nmembers);

	for (uint32_t i = 0; i < plan->nevictions; i++)
		put_eviction(s, plan, &plan->eviction[i], out);
	for (uint32_t i = 0; i < plan->nstarts; i++) {
		const struct start *start = &plan->start[i];

		started[start->member]++;
		put_placed(s, plan, "start", s->member[start->member].job,
		           start->task_first, start->ntasks, out);
	}
	for (uint32_t i = 0; i < plan->ngrows; i++) {
		const struct grow *grow = &plan->grow[i];

		put_placed(s, plan, "grow", s->run.job[grow->run],
		           grow->task_first, grow->ntasks, out);
	}
	for (uint32_t i = 0; i < plan->nclaims; i++) {
		const struct plan_claim *c = &plan->claim[i];

		put_held(s, plan, c, out);
		/* If the row's verdict is about another waiting job, do not
		 * count the claimant as waiting in the line of the row. */
		if (c->row < plan->nverdicts &&
		    plan->verdict[c->row].why != WHY_Preempting)
			started[c->member]++;
	}
	if (plan->nasked) {
		buf_puts(out, "ask");
		snap_put_nodes(s, " ", plan->asked, plan->nasked, out);
		buf_addc(out, '\n');
	}
	if (plan->wake > s->now)
		buf_printf(out, "wake %lld\n", (long long)plan->wake);
	if (plan->again)
		buf_puts(out, "again\n");
	if (plan->partial)
		buf_puts(out, "partial\n");
	for (uint32_t row = 0; row < plan->nverdicts; row++) {
		if (plan->verdict[row].why != WHY_None)
			put_wait(s, row, &plan->verdict[row], started, out);
	}
	for (uint32_t i = 0; i < plan->npromised; i++)
		put_promised(s, &plan->promised[i], out);
	arena_free(arena);
}
