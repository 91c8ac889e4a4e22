/* promise_limit.c - what is left of limits and licences from now on */
#include "aischedd/sched/promise_limit.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/sched/future/runs.h"

/* limit_future_start() goes through all limits of a job again whenever one of
 * them delays the start. It gives up after this many times. */
enum { ROUNDS = 32 };

/* sort_changes() empties limit.recent if it has more than this many entries. */
enum { RECENT = 256 };

struct change {
	int64_t at, more;
	uint64_t job;
};

/* A time, and the sum of changes of a limit until then. */
struct point {
	int64_t at, sum;
	uint64_t job; /* the job of this change, or the promised job that starts
	                 at this time */
};

/* A limit or licence. Most changes are the ends of running jobs. They are added
 * in the order of time, and summed at once. Other changes, such as those of
 * promised jobs, are kept apart as long as they are few. */
struct limit {
	int64_t left; /* what is left now, without the changes below */
	bool license;
	uint32_t name;            /* the licence, or the queue */
	struct arena_list summed; /* struct point, sorted by time */
	struct arena_list recent; /* struct change */
	size_t nsorted; /* this many recent changes, from the first on, are
	                   sorted by time */
	struct arena_list start; /* struct point: the starts of promised jobs
	                            with the sums of all changes until then,
	                            sorted by time */
};

/* Indices of the limits of a queue: LIMIT_JOBS, then for each resource a limit
 * from LIMIT_AMOUNT on and a quota from LIMIT_QUOTA on. A user in a queue has
 * only LIMIT_JOBS and LIMIT_GPUS. */
enum {
	LIMIT_JOBS,
	LIMIT_GPUS,
	LIMITS_USER,
	LIMIT_AMOUNT = LIMIT_GPUS,
	LIMIT_QUOTA = LIMIT_AMOUNT + RES_N,
	LIMITS_QUEUE = LIMIT_QUOTA + RES_N
};

struct item {
	struct limit *limit;
	int64_t need;
};

/* A change, at one time, of all limits that a demand counts against;
 * see book(). */
struct booking {
	struct demand demand;
	int sign;
	int64_t at;
	uint64_t job;
};

struct limit_future {
	const struct place *p;
	const struct snap *s;
	struct limit *license;  /* by licence */
	struct limit **queue;   /* by queue: its LIMITS_QUEUE limits; NULL: not
	                           used yet */
	struct limit **user;    /* the same for a user in a queue, by index in
	                           work.user_use */
	struct arena_list item; /* struct item: what one demand counts
	                           against */
	struct arena_list booking; /* struct booking: collected until ready()
	                              makes the lists */
	uint8_t *gone; /* by run: 1 if this pass evicts or suspends all of it */
	uint8_t *kind; /* by queue: HAS_* of the queue and of all queues above
	                  it */
	bool any;      /* a limit or licence is configured */
	bool is_ready;
	bool keeps; /* something is kept for promised jobs */
};

enum { HAS_LIMIT = 1, HAS_QUOTA = 2 };

static uint8_t kind_of(const struct snap *s, uint32_t q)
{
	bool limit =
	    s->queue.max_jobs[q] != CONF_NONE || snap_counts_users(s, q);
	bool quota = false;

	for (int r = 0; r < RES_N; r++) {
		limit |= s->queue.limit[q][r] != CONF_NONE;
		quota |= s->queue.quota[q][r] != CONF_NONE;
	}
	return (uint8_t)((limit ? HAS_LIMIT : 0) | (quota ? HAS_QUOTA : 0));
}

struct limit_future *limit_future_new(const struct place *p)
{
	struct limit_future *f = arena_array(p->arena, struct limit_future, 1);
	const struct snap *s = p->snap;

	f->p = p;
	f->s = s;
	f->any = s->license.n;
	f->kind = arena_array(p->arena, uint8_t, s->queue.n);
	/* Queues are sorted so that each comes after its parent. */
	for (uint32_t q = 0; q < s->queue.n; q++) {
		uint32_t parent = s->queue.parent[q];

		f->kind[q] = kind_of(s, q);
		if (parent != SNAP_NONE)
			f->kind[q] |= f->kind[parent];
		f->any |= f->kind[q];
	}
	return f;
}

/* Whether a job of this request counts against a limit or licence. firm: it may
 * not be preempted, so quotas count; starts: it starts, so licences count. */
static bool counts_of(const struct limit_future *f, uint32_t queue, bool firm,
                      bool starts, uint32_t req)
{
	const struct snap *s = f->s;

	return f->kind[queue] & (firm ? HAS_LIMIT | HAS_QUOTA : HAS_LIMIT) ||
	       (starts &&
	        s->req.license_first[req] != s->req.license_first[req + 1]);
}

bool limit_future_counts(const struct limit_future *f, const struct demand *d)
{
	return f->any && counts_of(f, d->queue, d->firm, d->starts, d->req);
}

/* --- limits that a demand counts against -------------------------------- */

static void add_item(struct limit_future *f, struct limit *limit, int64_t need)
{
	struct item *item = f->item.p;

	for (size_t i = 0; i < f->item.n; i++) {
		if (item[i].limit == limit) {
			item[i].need += need;
			return;
		}
	}
	*(struct item *)arena_push(f->p->arena, &f->item, sizeof(*item)) =
	    (struct item){ limit, need };
}

static void add_licenses(struct limit_future *f, uint32_t req)
{
	const struct snap *s = f->s;

	for (uint32_t i = s->req.license_first[req];
	     i < s->req.license_first[req + 1]; i++) {
		if (s->license_use[i].count)
			add_item(f, &f->license[s->license_use[i].license],
			         s->license_use[i].count);
	}
}

static struct limit *limits_new(struct limit_future *f, uint32_t queue,
                                uint32_t n)
{
	struct limit *limit = arena_array(f->p->arena, struct limit, n);

	for (uint32_t i = 0; i < n; i++)
		limit[i].name = queue;
	return limit;
}

static void add_queue(struct limit_future *f, const struct demand *d,
                      uint32_t q)
{
	const struct snap_queues *of = &f->s->queue;
	struct limit *limit = f->queue[q];

	if (!limit) {
		limit = f->queue[q] = limits_new(f, q, LIMITS_QUEUE);
		limit[LIMIT_JOBS].left = of->max_jobs[q];
		for (int r = 0; r < RES_N; r++) {
			limit[LIMIT_AMOUNT + r].left = of->limit[q][r];
			limit[LIMIT_QUOTA + r].left = of->quota[q][r];
		}
	}
	if (d->starts && of->max_jobs[q] != CONF_NONE)
		add_item(f, &limit[LIMIT_JOBS], 1);
	for (int r = 0; r < RES_N; r++) {
		if (!d->amount[r])
			continue;
		if (of->limit[q][r] != CONF_NONE)
			add_item(f, &limit[LIMIT_AMOUNT + r], d->amount[r]);
		if (d->firm && of->quota[q][r] != CONF_NONE)
			add_item(f, &limit[LIMIT_QUOTA + r], d->amount[r]);
	}
}

static void add_user(struct limit_future *f, const struct demand *d, uint32_t q)
{
	const struct snap_queues *of = &f->s->queue;
	struct work *w = f->p->work;
	struct limit **at =
	    &f->user[(work_user(w, q, d->user) - w->user_use[0]) / 4];

	if (!*at) {
		*at = limits_new(f, q, LIMITS_USER);
		(*at)[LIMIT_JOBS].left = of->max_jobs_user[q];
		(*at)[LIMIT_GPUS].left = of->max_gpus_user[q];
	}
	if (d->starts && of->max_jobs_user[q] != CONF_NONE)
		add_item(f, &(*at)[LIMIT_JOBS], 1);
	if (d->amount[RES_GPU] && of->max_gpus_user[q] != CONF_NONE)
		add_item(f, &(*at)[LIMIT_GPUS], d->amount[RES_GPU]);
}

/* Make f->item the list of all limits and licences against which a demand
 * counts. Returns the list, which is valid until the next call. */
static const struct item *items_of(struct limit_future *f,
                                   const struct demand *d, size_t *ret_n)
{
	const struct snap *s = f->s;

	f->item.n = 0;
	if (d->starts)
		add_licenses(f, d->req);
	for (uint32_t q = d->queue; q != SNAP_NONE; q = s->queue.parent[q]) {
		if (!f->kind[q])
			break;
		add_queue(f, d, q);
		if (snap_counts_users(s, q))
			add_user(f, d, q);
	}
	*ret_n = f->item.n;
	return f->item.p;
}

/* --- changes ------------------------------------------------------------ */

static void add_change(struct limit_future *f, struct limit *l,
                       const struct change *change)
{
	struct arena *arena = f->p->arena;
	const struct point *last = l->summed.p;
	struct point *start = l->start.p;
	int64_t sum = 0;

	for (size_t i = l->start.n; i-- > 0 && start[i].at >= change->at;)
		start[i].sum += change->more;
	if (l->summed.n) {
		last += l->summed.n - 1;
		sum = last->sum;
	}
	if (l->recent.n || (last && last->at > change->at))
		*(struct change *)arena_push(arena, &l->recent,
		                             sizeof(*change)) = *change;
	else
		*(struct point *)arena_push(arena, &l->summed, sizeof(*last)) =
		    (struct point){ change->at, sum + change->more,
			            change->job };
}

/* Give the demand back to all limits that it counts against (sign 1), or
 * take it from them (-1), at this time. job: the running job that gives it
 * back, or 0. */
static void book(struct limit_future *f, const struct demand *d, int sign,
                 int64_t at, uint64_t job)
{
	const struct item *item;
	size_t n;

	if (at == SNAP_NEVER || !limit_future_counts(f, d))
		return;
	if (!f->is_ready) {
		*(struct booking *)arena_push(f->p->arena, &f->booking,
		                              sizeof(struct booking)) =
		    (struct booking){ *d, sign, at, job };
		return;
	}
	item = items_of(f, d, &n);
	for (size_t i = 0; i < n; i++) {
		if (at <= f->s->now && !job)
			item[i].limit->left += sign * item[i].need;
		else
			add_change(
			    f, item[i].limit,
			    &(struct change){ at, sign * item[i].need, job });
	}
}

/* Returns the demand of this many tasks of a run. With `starts`, include what
 * the job needs only once, such as licences. */
static struct demand demand_of_run(const struct snap *s, uint32_t run,
                                   uint32_t ntasks, bool starts)
{
	struct demand d = admit_demand_more(s, run, ntasks);

	if (s->run.suspended[run])
		d.amount[RES_CPU] = 0;
	d.starts = starts && !snap_is_part(s, run);
	return d;
}

/* Subtract the use of a running job from its limits, and note that the job
 * gives it back when it ends. Its licences are not subtracted, because
 * license.free does not include them. */
static void add_run(struct limit_future *f, uint32_t run, int64_t end)
{
	const struct snap *s = f->s;
	struct demand d = demand_of_run(s, run, snap_run_ntasks(s, run), true);
	size_t n;
	const struct item *item = items_of(f, &d, &n);

	for (size_t i = 0; i < n; i++) {
		if (!item[i].limit->license)
			item[i].limit->left -= item[i].need;
	}
	if (n)
		book(f, &d, 1, end, s->run.job[run]);
}

/* Add all running jobs that count against a limit or licence, in the order in
 * which they end. */
static void add_runs(struct limit_future *f)
{
	const struct snap *s = f->s;
	struct future_run *run =
	    arena_array_raw(f->p->arena, struct future_run, s->run.n);
	size_t n = 0;

	for (uint32_t i = 0; i < s->run.n; i++) {
		if (counts_of(f, s->run.queue[i], !s->run.preemptible[i], true,
		              s->run.req[i]))
			run[n++] =
			    (struct future_run){ future_runs_end(s, i), i, i };
	}
	future_runs_sort(run, n);
	for (size_t i = 0; i < n; i++)
		add_run(f, run[i].run, run[i].end);
}

/* Make the lists of changes, from all running jobs and the bookings so far. A
 * suspended job keeps its licences and all but its CPUs, and the time at which
 * it ends is not known. */
static void ready(struct limit_future *f)
{
	const struct snap *s = f->s;
	struct arena *arena = f->p->arena;
	const struct booking *b = f->booking.p;

	if (f->is_ready)
		return;
	f->is_ready = true;
	f->license = arena_array(arena, struct limit, s->license.n);
	f->queue = arena_array(arena, struct limit *, s->queue.n);
	f->user = arena_array(arena, struct limit *, f->p->work->user_mask + 1);
	for (uint32_t i = 0; i < s->license.n; i++)
		f->license[i] = (struct limit){ .left = s->license.free[i],
			                        .license = true,
			                        .name = i };
	add_runs(f);
	for (size_t i = 0; i < f->booking.n; i++)
		book(f, &b[i].demand, b[i].sign, b[i].at, b[i].job);
}

static int by_time(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

/* Add all recent changes to the summed ones. */
static void sum_changes(struct limit_future *f, struct limit *l)
{
	struct change *recent = l->recent.p;
	size_t n = l->recent.n, old = l->summed.n, to = old + n;
	struct point *pt;
	int64_t more = 0; /* the sum of the recent changes that are left */

	qsort(recent, n, sizeof(*recent), by_time);
	for (size_t i = 0; i < n; i++) {
		more += recent[i].more;
		arena_push(f->p->arena, &l->summed, sizeof(*pt));
	}
	pt = l->summed.p;
	while (n) {
		if (old && pt[old - 1].at > recent[n - 1].at) {
			pt[--to] = pt[--old];
			pt[to].sum += more;
			continue;
		}
		n--;
		pt[--to] = (struct point){ recent[n].at,
			                   more + (old ? pt[old - 1].sum : 0),
			                   recent[n].job };
		more -= recent[n].more;
	}
	l->recent.n = l->nsorted = 0;
}

/* Sort the recent changes by time or, if they are more than RECENT, merge them
 * into the summed ones. */
static void sort_changes(struct limit_future *f, struct limit *l)
{
	struct change *recent = l->recent.p;

	if (l->recent.n > RECENT) {
		sum_changes(f, l);
		return;
	}
	for (; l->nsorted < l->recent.n; l->nsorted++) {
		struct change it = recent[l->nsorted];
		size_t i = l->nsorted;

		for (; i && recent[i - 1].at > it.at; i--)
			recent[i] = recent[i - 1];
		recent[i] = it;
	}
}

/* A time, and what is left of a limit then. */
struct cursor {
	const struct limit *limit;
	size_t summed, recent; /* how many summed and recent changes are not
	                          later than that time */
	int64_t more;          /* the sum of these recent changes */
};

/* Returns the cursor of a limit at this time. Sorts the recent changes of the
 * limit. */
static struct cursor cursor_at(struct limit_future *f, struct limit *l,
                               int64_t at)
{
	struct cursor c = { .limit = l };
	const struct point *pt;
	const struct change *recent;
	size_t end;

	sort_changes(f, l);
	pt = l->summed.p;
	recent = l->recent.p;
	end = l->summed.n;
	while (c.summed < end) {
		size_t mid = c.summed + (end - c.summed) / 2;

		if (pt[mid].at <= at)
			c.summed = mid + 1;
		else
			end = mid;
	}
	for (; c.recent < l->recent.n && recent[c.recent].at <= at; c.recent++)
		c.more += recent[c.recent].more;
	return c;
}

static int64_t cursor_left(const struct cursor *c)
{
	const struct point *pt = c->limit->summed.p;

	return c->limit->left + (c->summed ? pt[c->summed - 1].sum : 0) +
	       c->more;
}

/* Go to the next time at which something changes. Returns false if there is
 * none. */
static bool cursor_next(struct cursor *c, int64_t *ret)
{
	const struct point *pt = c->limit->summed.p;
	const struct change *recent = c->limit->recent.p;
	size_t n = c->limit->summed.n, nrecent = c->limit->recent.n;
	int64_t at = INT64_MAX;

	if (c->summed == n && c->recent == nrecent)
		return false;
	if (c->summed < n)
		at = pt[c->summed].at;
	if (c->recent < nrecent && recent[c->recent].at < at)
		at = recent[c->recent].at;
	while (c->summed < n && pt[c->summed].at == at)
		c->summed++;
	for (; c->recent < nrecent && recent[c->recent].at == at; c->recent++)
		c->more += recent[c->recent].more;
	*ret = at;
	return true;
}

/* --- promises ----------------------------------------------------------- */

static int64_t end_of(int64_t at, int64_t length)
{
	return length == SNAP_NEVER ? INT64_MAX : at + length;
}

/* Whether this much of a limit is left at any time from now on. It is enough to
 * look at the starts of promised jobs, because only these reduce what is left.
 */
static bool is_always_left(const struct limit *l, int64_t need)
{
	const struct point *start = l->start.p;
	bool is_left = l->left >= need;

	for (size_t i = 0; i < l->start.n && is_left; i++)
		is_left = l->left + start[i].sum >= need;
	return is_left;
}

/* Returns the same as limit_future_start(), but for one limit. */
static int64_t start_of(struct limit_future *f, struct limit *l, int64_t need,
                        int64_t from, int64_t length, size_t *looks)
{
	int64_t at = from, next;
	struct cursor c;
	size_t passed;
	bool fits;

	if (is_always_left(l, need))
		return from;
	c = cursor_at(f, l, from);
	passed = c.summed;
	fits = cursor_left(&c) >= need;
	while (cursor_next(&c, &next)) {
		if (fits && next >= end_of(at, length))
			break;
		if (!fits)
			at = next;
		fits = cursor_left(&c) >= need;
	}
	*looks += (c.summed - passed + c.recent) / 8;
	return fits ? at : SNAP_NEVER;
}

int64_t limit_future_start(struct limit_future *f, const struct demand *d,
                           int64_t from, int64_t length, size_t *looks)
{
	const struct item *item;
	size_t n, right = 0;

	if (!limit_future_counts(f, d))
		return from;
	ready(f);
	item = items_of(f, d, &n);
	for (size_t i = 0; i < ROUNDS * n && right < n; i++) {
		int64_t at = start_of(f, item[i % n].limit, item[i % n].need,
		                      from, length, looks);

		if (at == SNAP_NEVER)
			return at;
		right = at == from ? right + 1 : 1;
		from = at;
	}
	return right == n ? from : SNAP_NEVER;
}

/* Returns the job with the lowest id that gives back some of a limit at this
 * time, or 0. */
static uint64_t giver(struct limit_future *f, struct limit *l, int64_t at)
{
	struct cursor c = cursor_at(f, l, at);
	const struct point *pt = l->summed.p;
	const struct change *recent = l->recent.p;
	uint64_t job = UINT64_MAX;

	for (size_t i = c.summed; i-- > 0 && pt[i].at == at;) {
		if (pt[i].job && pt[i].job < job &&
		    pt[i].sum > (i ? pt[i - 1].sum : 0))
			job = pt[i].job;
	}
	for (size_t i = c.recent; i-- > 0 && recent[i].at == at;) {
		if (recent[i].job && recent[i].job < job && recent[i].more > 0)
			job = recent[i].job;
	}
	return job == UINT64_MAX ? 0 : job;
}

uint64_t limit_future_blocker(struct limit_future *f, const struct demand *d,
                              int64_t at)
{
	const struct item *item;
	uint64_t job = 0;
	size_t n;

	if (!f->is_ready || !limit_future_counts(f, d))
		return 0;
	item = items_of(f, d, &n);
	for (size_t i = 0; i < n; i++) {
		uint64_t by = giver(f, item[i].limit, at);

		if (by && (!job || by < job))
			job = by;
	}
	return job;
}

/* Among the promised starts at `from` or later, but before `until`, returns the
 * first at which less than `need` of the limit is left; NULL if there is none.
 */
static const struct point *first_lack(const struct limit *l, int64_t need,
                                      int64_t from, int64_t until)
{
	const struct point *start = l->start.p;

	for (size_t i = 0; i < l->start.n; i++) {
		const struct point *pt = &start[i];

		if (!future_ends_before(pt->at, until))
			break;
		if (!future_ends_before(pt->at, from) &&
		    l->left + pt->sum < need)
			return pt;
	}
	return NULL;
}

bool limit_future_allows(struct limit_future *f, const struct demand *d,
                         int64_t until, struct limit_lack *ret)
{
	const struct item *item;
	size_t n;

	if (!f->keeps)
		return true;
	item = items_of(f, d, &n);
	for (size_t i = 0; i < n; i++) {
		const struct limit *l = item[i].limit;
		const struct point *pt = first_lack(l, item[i].need, 0, until);

		if (!pt)
			continue;
		*ret = (struct limit_lack){ l->license, l->name, pt->job };
		return false;
	}
	return true;
}

/* Add a promised start to those of a limit. */
static void add_start(struct limit_future *f, struct limit *l, int64_t at,
                      uint64_t job)
{
	struct cursor c = cursor_at(f, l, at);
	struct point *start;
	size_t i = l->start.n;

	arena_push(f->p->arena, &l->start, sizeof(*start));
	start = l->start.p;
	for (; i && start[i - 1].at > at; i--)
		start[i] = start[i - 1];
	start[i] = (struct point){ at, cursor_left(&c) - l->left, job };
}

void limit_future_keep(struct limit_future *f, const struct demand *d,
                       int64_t from, int64_t until, uint64_t job)
{
	const struct item *item;
	size_t n;

	if (!limit_future_counts(f, d))
		return;
	ready(f);
	book(f, d, -1, from, 0);
	book(f, d, 1, until, 0);
	item = items_of(f, d, &n);
	for (size_t i = 0; i < n; i++)
		add_start(f, item[i].limit, from, job);
	f->keeps |= n > 0;
}

static void drop_start(struct limit *l, int64_t at, uint64_t job)
{
	struct point *start = l->start.p;
	size_t i = 0;

	while (start[i].at != at || start[i].job != job)
		i++;
	l->start.n--;
	memmove(start + i, start + i + 1, (l->start.n - i) * sizeof(*start));
}

void limit_future_release(struct limit_future *f, const struct demand *d,
                          int64_t from, int64_t until, uint64_t job)
{
	const struct item *item;
	size_t n;

	if (!limit_future_counts(f, d))
		return;
	book(f, d, 1, from, 0);
	book(f, d, -1, until, 0);
	item = items_of(f, d, &n);
	for (size_t i = 0; i < n; i++)
		drop_start(item[i].limit, from, job);
}

void limit_future_take(struct limit_future *f, const struct demand *d,
                       const struct demand *back, int64_t until)
{
	book(f, d, -1, f->s->now, 0);
	book(f, back, 1, until, 0);
}

void limit_future_leave(struct limit_future *f, uint32_t run, uint32_t ntasks,
                        bool whole, bool suspend)
{
	const struct snap *s = f->s;
	struct demand d = demand_of_run(s, run, ntasks, whole || suspend);
	struct demand free = d;

	if (!f->any || s->run.ending[run])
		return;
	if (!f->gone)
		f->gone = arena_array(f->p->arena, uint8_t, s->run.n);
	if (f->gone[run])
		return;
	f->gone[run] = whole || suspend;
	if (suspend) {
		free.starts = false;
		free.amount[RES_MEM] = free.amount[RES_GPU] = 0;
	}
	book(f, &free, 1, s->now, s->run.job[run]);
	book(f, &d, -1, future_runs_end(s, run), 0);
}

/* Returns the demand of a run that moves. A suspended run uses its CPUs again
 * once it has moved. */
static struct demand demand_of_moved(const struct snap *s, uint32_t run)
{
	struct demand d = admit_demand_more(s, run, snap_run_ntasks(s, run));

	d.starts = !snap_is_part(s, run);
	return d;
}

/* Whether, at each promised start from `from` until `until`, every limit has
 * this many times the demand left. */
static bool have_spare(struct limit_future *f, const struct demand *d,
                       size_t times, int64_t from, int64_t until)
{
	const struct item *item;
	size_t n;

	if (!f->keeps)
		return true;
	item = items_of(f, d, &n);
	for (size_t i = 0; i < n; i++) {
		if (first_lack(item[i].limit, item[i].need * (int64_t)times,
		               from, until))
			return false;
	}
	return true;
}

bool limit_future_may_move(struct limit_future *f, uint32_t run, int64_t until,
                           size_t nmoves)
{
	struct demand d = demand_of_moved(f->s, run);

	return have_spare(f, &d, nmoves, future_runs_end(f->s, run), until);
}

bool limit_future_may_suspend(struct limit_future *f, uint32_t run)
{
	struct demand d =
	    demand_of_run(f->s, run, snap_run_ntasks(f->s, run), true);

	d.amount[RES_CPU] = 0;
	return have_spare(f, &d, 1, future_runs_end(f->s, run), SNAP_NEVER);
}

void limit_future_move(struct limit_future *f, uint32_t run, int64_t until)
{
	struct demand d = demand_of_moved(f->s, run);

	book(f, &d, -1, f->s->now, 0);
	book(f, &d, 1, until, f->s->run.job[run]);
}
