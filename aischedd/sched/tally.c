/* tally.c - all that runs, summed up */
#include "aischedd/sched/tally.h"

#include "aischedd/sched/stay.h"
#include "aischedd/sched/work.h"

enum { ENDING = 1, SUSPENDED = 2, FIRM = 4, PART = 8 };

/* Runs that are alike are counted before they are multiplied. */
struct kind {
	uint32_t queue, req, flags;
	int64_t runs, tasks;
};

/* More kinds than these take turns. */
enum { KINDS = 256 };

static void add(int64_t sum[RES_N], int64_t n, const int64_t each[RES_N])
{
	for (int r = 0; r < RES_N; r++)
		sum[r] += n * each[r];
}

static void count_kind(const struct snap *s, const struct kind *k,
                       struct tally *t)
{
	struct tally_queue *q = &t->queue[k->queue];
	const int64_t each[RES_N] = { s->req.cpus[k->req], s->req.mem[k->req],
		                      s->req.gpus[k->req] };
	const int64_t held[RES_N] = { k->flags & SUSPENDED ? 0 : each[RES_CPU],
		                      each[RES_MEM], each[RES_GPU] };

	if (!(k->flags & ENDING)) {
		add(q->used, k->tasks, held);
		if (k->flags & FIRM)
			add(q->firm, k->tasks, held);
		q->jobs += k->runs;
	}
	/* What a job gives up it asks for anyway. */
	if (!(k->flags & PART))
		add(q->ask, k->runs * s->req.tasks[k->req], each);
	if (each[RES_GPU]) {
		t->cpus += k->tasks * each[RES_CPU];
		t->gpus += k->tasks * each[RES_GPU];
	}
}

static uint32_t flags_of(const struct snap *s, uint32_t run)
{
	return (s->run.ending[run] ? ENDING : 0) |
	       (s->run.suspended[run] ? SUSPENDED : 0) |
	       (s->run.preemptible[run] ? 0 : FIRM) |
	       (snap_is_part(s, run) ? PART : 0);
}

struct tally *tally_new(const struct snap *s, struct arena *arena)
{
	struct tally *t = arena_array(arena, struct tally, 1);
	struct kind *kind = arena_array(arena, struct kind, KINDS);

	t->queue = arena_array(arena, struct tally_queue, s->queue.n);
	for (uint32_t run = 0; run < s->run.n; run++) {
		uint32_t queue = s->run.queue[run], req = s->run.req[run];
		uint32_t flags = flags_of(s, run);
		struct kind *k = &kind[(req + queue * 31 + flags) % KINDS];

		if (k->req != req || k->queue != queue || k->flags != flags) {
			if (k->runs)
				count_kind(s, k, t);
			*k = (struct kind){ queue, req, flags, 0, 0 };
		}
		k->runs++;
		k->tasks += run_ntasks(s, run);
		if (tally_may_grow(s, run)) {
			t->queue[queue].growers++;
			t->growers++;
		}
		if (!t->ends)
			t->ends = stay_end(s, run) != SNAP_NEVER;
	}
	for (int i = 0; i < KINDS; i++) {
		if (kind[i].runs)
			count_kind(s, &kind[i], t);
	}
	return t;
}
