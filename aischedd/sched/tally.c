/* tally.c - sums over all running jobs */
#include "aischedd/sched/tally.h"

#include "aischedd/sched/future/runs.h"
#include "aischedd/sched/order_service.h"
#include "aischedd/sched/work.h"

enum { ENDING = 1, SUSPENDED = 2, FIRM = 4, PART = 8, SAFE = 16 };

/* Runs that count in the same way: `runs` of them are collected, then added to
 * the sums at once. */
struct kind {
	int64_t standing;
	uint32_t queue, req, tasks, flags;
	int64_t runs;
};

/* Size of the hash table of kinds that are being collected; a new kind replaces
 * the one in its slot. */
enum { KINDS = 256 };

static void add(int64_t sum[RES_N], int64_t n, const int64_t each[RES_N])
{
	for (int r = 0; r < RES_N; r++)
		sum[r] += n * each[r];
}

static void add_used(const struct snap *s, const struct kind *k,
                     struct tally_queue *q, struct tally *t)
{
	const int64_t each[RES_N] = { s->req.cpus[k->req], s->req.mem[k->req],
		                      s->req.gpus[k->req] };
	const int64_t held[RES_N] = { k->flags & SUSPENDED ? 0 : each[RES_CPU],
		                      each[RES_MEM], each[RES_GPU] };
	int64_t tasks = k->runs * k->tasks;

	if (!(k->flags & ENDING)) {
		add(q->used, tasks, held);
		if (k->flags & FIRM)
			add(q->firm, tasks, held);
		q->jobs += k->runs;
	} else {
		add(q->late, tasks, held);
		q->late_jobs += k->flags & PART ? 0 : k->runs;
	}
	/* An elastic job that is losing tasks has two entries. Only the first
	 * is added to `ask`, with all tasks of the job. */
	if (!(k->flags & PART))
		add(q->ask, k->runs * s->req.tasks[k->req], each);
	if (each[RES_GPU]) {
		t->cpus += tasks * each[RES_CPU];
		t->gpus += tasks * each[RES_GPU];
		t->req_gpus[k->req] += tasks * each[RES_GPU];
	}
}

static void count_kind(const struct snap *s, const struct kind *k,
                       struct tally *t)
{
	struct tally_queue *q = &t->queue[k->queue];

	add_used(s, k, q, t);
	if (!(k->flags & (ENDING | SUSPENDED)) &&
	    k->tasks < s->req.tasks[k->req]) {
		q->growers += (uint32_t)k->runs;
		t->growers += (uint32_t)k->runs;
	}
	if (!(k->flags & (ENDING | FIRM | SAFE))) {
		t->victims += (uint32_t)k->runs;
		if (k->standing < q->lowest)
			q->lowest = k->standing;
	}
}

static uint32_t flags_of(const struct snap *s, uint32_t run)
{
	uint32_t flags = (s->run.ending[run] ? ENDING : 0) |
	                 (s->run.suspended[run] ? SUSPENDED : 0) |
	                 (s->run.preemptible[run] ? 0 : FIRM);

	if (flags & ENDING && snap_is_part(s, run))
		flags |= PART;
	if (!(flags & (ENDING | FIRM)) && s->run.safe_until[run] > s->now)
		flags |= SAFE;
	return flags;
}

/* Add a run to its kind. If another kind is in the slot, add that one to the
 * sums first. */
static void add_run(const struct snap *s, uint32_t run, uint32_t flags,
                    struct kind *kind, struct tally *t)
{
	int64_t standing = order_standing_kept(s, run);
	uint32_t queue = s->run.queue[run], req = s->run.req[run];
	uint32_t tasks = snap_run_ntasks(s, run);
	struct kind *k = &kind[(req + queue * 31 + tasks * 7 + flags) % KINDS];

	if (k->standing != standing || k->queue != queue || k->req != req ||
	    k->tasks != tasks || k->flags != flags) {
		if (k->runs)
			count_kind(s, k, t);
		*k = (struct kind){ standing, queue, req, tasks, flags, 0 };
	}
	k->runs++;
}

/* Returns when other jobs may become able to evict the run, because its
 * protection ends or its standing changes, or SNAP_NEVER. */
static int64_t wake_of(const struct snap *s, uint32_t run, uint32_t flags)
{
	int64_t rises, kept;

	if (flags & (ENDING | FIRM))
		return SNAP_NEVER;
	if (flags & SAFE)
		return s->run.safe_until[run];
	rises = order_rung_rises(s, run);
	kept = order_kept_until(s, run);
	return kept > s->now && future_ends_before(kept, rises) ? kept : rises;
}

struct tally *tally_new(const struct snap *s, struct arena *arena)
{
	struct tally *t = arena_array(arena, struct tally, 1);
	struct kind *kind = arena_array(arena, struct kind, KINDS);
	bool rungs = order_rung_counts(s->policy.order);

	t->wake = SNAP_NEVER;
	t->queue = arena_array(arena, struct tally_queue, s->queue.n);
	t->req_gpus = arena_array(arena, int64_t, s->req.n);
	for (uint32_t q = 0; q < s->queue.n; q++)
		t->queue[q].lowest = INT64_MAX;
	for (uint32_t run = 0; run < s->run.n; run++) {
		uint32_t flags = flags_of(s, run);

		add_run(s, run, flags, kind, t);
		if (rungs || flags & SAFE || s->run.waited[run]) {
			int64_t at = wake_of(s, run, flags);

			if (future_ends_before(at, t->wake))
				t->wake = at;
		}
		t->ends = t->ends || future_runs_end(s, run) != SNAP_NEVER;
	}
	for (int i = 0; i < KINDS; i++) {
		if (kind[i].runs)
			count_kind(s, &kind[i], t);
	}
	return t;
}
