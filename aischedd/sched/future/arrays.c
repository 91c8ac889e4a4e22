/* arrays.c - starts of tasks above the limit of their array */
#include "aischedd/sched/future/arrays.h"

#include <stdlib.h>

#include "aischedd/sched/future/runs.h"
#include "aischedd/sched/promise_keep.h"
#include "aischedd/sched/promise_last.h"

/* The nodes of a task of an array until `end`, when the next task may have
 * them.
 */
struct turn_at {
	int64_t end; /* SNAP_NEVER: unknown */
	uint32_t req, n;
	const uint32_t *node; /* n nodes, one for each of its tasks */
	/* keep_all() keeps the nodes for this many jobs, from this one on */
	uint32_t times;
	uint64_t job;
};

struct future_arrays {
	struct promise_seeker *sr;
	struct arena_list *turn; /* struct turn_at, by array */
	uint8_t *keeps;          /* by array: 1 if promises depend on it */
	/* by run: 1 if it moves or is suspended; its turn was added then */
	uint8_t *changed;
	bool has_runs;
};

/* The jobs of a row that wait for their array. */
struct tail {
	struct future_arrays *f;
	uint32_t row, array;
	int64_t length;       /* of each, or SNAP_NEVER */
	struct turn_at *turn; /* sorted by time */
	size_t nturns;
	uint64_t left;          /* how many have no start yet */
	uint32_t member, begun; /* the next of them */
	int64_t first;          /* the first start */
	struct arena_list *told;
};

struct future_arrays *future_arrays_new(struct promise_seeker *sr)
{
	struct arena *arena = sr->p->arena;
	struct future_arrays *f = arena_array(arena, struct future_arrays, 1);

	f->sr = sr;
	f->turn = arena_array(arena, struct arena_list, sr->s->array.n);
	f->keeps = arena_array(arena, uint8_t, sr->s->array.n);
	f->changed = arena_array(arena, uint8_t, sr->s->run.n);
	return f;
}

static void add(struct future_arrays *f, uint32_t array,
                const struct turn_at *turn)
{
	*(struct turn_at *)arena_push(f->sr->p->arena, &f->turn[array],
	                              sizeof(*turn)) = *turn;
}

static uint32_t *copy_nodes(struct future_arrays *f, const uint32_t *node,
                            uint32_t n)
{
	uint32_t *to = arena_array_raw(f->sr->p->arena, uint32_t, n + 1);

	for (uint32_t i = 0; i < n; i++)
		to[i] = node[i];
	return to;
}

void future_arrays_add(struct future_arrays *f, uint32_t row, int64_t end,
                       const uint32_t *node, uint32_t n)
{
	const struct snap_pend *pend = &f->sr->s->pend;

	if (pend->array[row] != SNAP_NONE && pend->resumes[row] == SNAP_NONE)
		add(f, pend->array[row],
		    &(struct turn_at){ .end = end,
		                       .req = pend->req[row],
		                       .n = n,
		                       .node = copy_nodes(f, node, n) });
}

void future_arrays_change(struct future_arrays *f, uint32_t run, int64_t end)
{
	const struct snap_run *r = &f->sr->s->run;

	if (r->array[run] == SNAP_NONE || snap_is_part(f->sr->s, run) ||
	    f->changed[run])
		return;
	f->changed[run] = 1;
	if (!f->has_runs)
		add(f, r->array[run],
		    &(struct turn_at){ .end = end, .req = r->req[run] });
}

bool future_arrays_may_change(const struct future_arrays *f, uint32_t run)
{
	uint32_t array = f->sr->s->run.array[run];

	return array == SNAP_NONE || !f->keeps[array];
}

/* Add the running tasks of all arrays. */
static void add_runs(struct future_arrays *f)
{
	const struct snap *s = f->sr->s;

	f->has_runs = true;
	for (uint32_t run = 0; run < s->run.n; run++) {
		uint32_t n = snap_run_ntasks(s, run), *node;

		if (s->run.array[run] == SNAP_NONE || snap_is_part(s, run) ||
		    f->changed[run])
			continue;
		node = arena_array_raw(f->sr->p->arena, uint32_t, n + 1);
		for (uint32_t i = 0; i < n; i++)
			node[i] = s->task[s->run.task_first[run] + i].node;
		add(f, s->run.array[run],
		    &(struct turn_at){ .end = future_runs_end(s, run),
		                       .req = s->run.req[run],
		                       .n = n,
		                       .node = node });
	}
}

/* Jobs without a known end are last. */
static int by_end(const void *a, const void *b)
{
	uint64_t x = (uint64_t)((const struct turn_at *)a)->end;
	uint64_t y = (uint64_t)((const struct turn_at *)b)->end;

	return (x > y) - (x < y);
}

static uint64_t count_left(const struct snap *s, uint32_t row, uint32_t member,
                           uint32_t begun)
{
	uint64_t n = 0;

	for (uint32_t m = member; m < s->pend.member_first[row + 1]; m++)
		n += s->member[m].count;
	return n - begun;
}

/* Set the turns of the array, sorted, those with a known end only. If more
 * tasks run than may, the first to end let no other start. Returns false if
 * fewer run than may: why the jobs wait is not known here. */
static bool list_turns(struct tail *t)
{
	const struct snap *s = t->f->sr->s;
	struct arena_list *list = &t->f->turn[t->array];
	size_t limit = s->array.limit[t->array], n = list->n;

	if (n < limit)
		return false;
	t->turn = list->p;
	qsort(t->turn, n, sizeof(*t->turn), by_end);
	t->turn += n - limit;
	t->nturns = limit;
	while (t->nturns && t->turn[t->nturns - 1].end == SNAP_NEVER)
		t->nturns--;
	for (size_t i = 0; i < t->nturns; i++) {
		if (t->turn[i].end <= s->now)
			t->turn[i].end = s->now + 1;
	}
	return true;
}

/* Go on to the next job that waits. Returns the present one's member. */
static uint32_t next_member(struct tail *t)
{
	uint32_t member = t->member;

	if (++t->begun == t->f->sr->s->member[member].count) {
		t->member++;
		t->begun = 0;
	}
	return member;
}

static void place_for_next(struct tail *t)
{
	const struct snap *s = t->f->sr->s;

	place_for(t->f->sr->p, t->row, s->member[t->member].job);
}

/* Called after a promise was made that is the last of the list. Leave it in the
 * list if it is certainly the next start of the array; else the plan only keeps
 * its room. */
static void note(struct tail *t, int64_t at)
{
	struct promise_seeker *sr = t->f->sr;
	const struct snap_promise *made = sr->made.p;
	bool is_next = t->first == SNAP_NEVER || t->length == SNAP_NEVER ||
	               at <= t->first + t->length;

	if (t->first == SNAP_NEVER)
		t->first = at;
	if (is_next && t->member < sr->s->pend.member_first[t->row + 1]) {
		*(struct array_promise *)arena_push(
		    sr->p->arena, t->told, sizeof(struct array_promise)) =
		    (struct array_promise){ next_member(t), at };
		return;
	}
	sr->made_node.n = made[sr->made.n - 1].node_first;
	sr->made.n--;
}

/* Returns how many jobs start on the nodes of this turn until `until`, if each
 * job starts when the one before it ends. */
static uint64_t count_starts(const struct tail *t, const struct turn_at *turn,
                             int64_t until)
{
	if (turn->end > until)
		return 0;
	return t->length == SNAP_NEVER
	           ? 1
	           : (uint64_t)((until - turn->end) / t->length) + 1;
}

static uint64_t count_all_starts(const struct tail *t, int64_t until)
{
	uint64_t n = 0;

	for (size_t i = 0; i < t->nturns; i++)
		n += count_starts(t, &t->turn[i], until);
	return n;
}

/* Returns the time of the last start, if each job starts when one before it
 * ends. */
static int64_t last_start(const struct tail *t)
{
	int64_t from = t->turn[0].end, to = t->turn[t->nturns - 1].end;

	if (t->length != SNAP_NEVER)
		to += (int64_t)(t->left / t->nturns + 1) * t->length;
	while (from < to) {
		int64_t mid = from + (to - from) / 2;

		if (count_all_starts(t, mid) >= t->left)
			to = mid;
		else
			from = mid + 1;
	}
	return from;
}

/* Let this many jobs follow each other on the nodes of the turn. Returns false
 * if that is not possible. */
static bool keep_there(struct tail *t, const struct turn_at *turn,
                       uint64_t times)
{
	const struct snap *s = t->f->sr->s;

	place_for_next(t);
	if (turn->req != s->pend.req[t->row] ||
	    turn->n != s->req.min_tasks[turn->req] || times > UINT32_MAX ||
	    !promise_keep_there(t->f->sr, t->row, turn->end, (uint32_t)times,
	                        turn->node, turn->n))
		return false;
	t->left -= times;
	note(t, turn->end);
	return true;
}

/* Let the turn end when this many jobs have followed each other. */
static void advance(const struct tail *t, struct turn_at *turn, uint64_t times)
{
	if (times)
		turn->end = t->length == SNAP_NEVER
		                ? SNAP_NEVER
		                : turn->end + (int64_t)times * t->length;
}

/* Give back what is kept on the nodes of the first n turns. */
static void release(const struct tail *t, size_t n)
{
	struct promise_seeker *sr = t->f->sr;

	for (size_t i = 0; i < n; i++) {
		const struct turn_at *turn = &t->turn[i];

		if (!turn->times)
			continue;
		place_for(sr->p, t->row, turn->job);
		promise_keep_release(sr, t->row, turn->end, turn->times,
		                     turn->node, turn->n);
	}
}

/* Let the jobs follow each other on the nodes of each turn, as many as start
 * until none is left. Returns false, and keeps nothing, if that is not possible
 * for one of the turns. */
static bool keep_all(struct tail *t)
{
	struct promise_seeker *sr = t->f->sr;
	struct tail old = *t;
	size_t made = sr->made.n, made_node = sr->made_node.n;
	size_t told = t->told->n, used = 0;
	int64_t last = last_start(t);
	uint64_t before = count_all_starts(t, last - 1), more;

	more = t->left > before ? t->left - before : 0;
	for (; used < t->nturns && t->left; used++) {
		struct turn_at *turn = &t->turn[used];
		uint64_t n = count_starts(t, turn, last - 1);
		bool at_last = more && count_starts(t, turn, last) > n;

		more -= at_last;
		n += at_last;
		turn->times = (uint32_t)n;
		turn->job = sr->s->member[t->member].job;
		if (n && !keep_there(t, turn, n)) {
			release(t, used);
			*t = old;
			sr->made.n = made;
			sr->made_node.n = made_node;
			t->told->n = told;
			return false;
		}
	}
	for (size_t i = 0; i < used; i++)
		advance(t, &t->turn[i], t->turn[i].times);
	return true;
}

/* Find a start for the next job when this turn ends, or later. If there is
 * none, this turn was the last one there. Returns false if that is not known.
 */
static bool seek(struct tail *t, struct turn_at *turn)
{
	struct promise_seeker *sr = t->f->sr;
	const struct snap *s = sr->s;
	const struct snap_promise *made;
	uint64_t blocker;
	int64_t at;

	if (keep_there(t, turn, 1)) {
		advance(t, turn, 1);
		return true;
	}
	at = promise_keep_start(
	    sr, t->row, turn->end,
	    promise_last(s, s->member[t->member].job, t->begun), &blocker);
	if (at == SNAP_NEVER) {
		turn->end = SNAP_NEVER;
		return future_patience(sr->future) > 0;
	}
	made = (const struct snap_promise *)sr->made.p + sr->made.n - 1;
	*turn = (struct turn_at){
		.end = t->length == SNAP_NEVER ? SNAP_NEVER : at + t->length,
		.req = s->pend.req[t->row],
		.n = made->n,
		.node = copy_nodes(
		    t->f, (uint32_t *)sr->made_node.p + made->node_first,
		    made->n),
	};
	t->left--;
	note(t, at);
	return true;
}

static struct turn_at *first_turn(const struct tail *t)
{
	struct turn_at *first = NULL;

	for (size_t i = 0; i < t->nturns; i++) {
		if (t->turn[i].end != SNAP_NEVER &&
		    (!first || t->turn[i].end < first->end))
			first = &t->turn[i];
	}
	return first;
}

bool future_arrays_keep(struct future_arrays *f, uint32_t row, uint32_t member,
                        uint32_t begun, uint32_t most, struct arena_list *ret)
{
	const struct place *p = f->sr->p;
	const struct snap *s = f->sr->s;
	struct tail t = {
		.f = f,
		.row = row,
		.array = s->pend.array[row],
		.length = p->until == SNAP_NEVER ? SNAP_NEVER
		          : p->until > s->now    ? p->until - s->now
		                                 : 1,
		.left = count_left(s, row, member, begun),
		.member = member,
		.begun = begun,
		.first = SNAP_NEVER,
		.told = ret,
	};
	struct turn_at *turn;

	f->keeps[t.array] = 1;
	if (!f->has_runs)
		add_runs(f);
	if (!list_turns(&t))
		return false;
	if (!t.nturns || keep_all(&t))
		return true;
	while (t.left && most-- && (turn = first_turn(&t))) {
		if (!seek(&t, turn))
			return false;
	}
	return !t.left || !first_turn(&t);
}
