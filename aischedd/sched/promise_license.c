/* promise_license.c - licences from now on */
#include "aischedd/sched/promise_license.h"

#include <string.h>

#include "aischedd/sched/admit.h"
#include "aischedd/sched/future/runs.h"

/* How often a start is put off because another licence is not free. */
enum { ROUNDS = 32 };

struct change {
	int64_t at, more;
	uint64_t job;
	int64_t least; /* of the sums of `more` up to here */
};

struct license {
	struct change *change; /* by time; of each time, more before less */
	uint32_t n, cap;
	uint32_t nleast; /* `least` is known for this many of them */
	uint32_t nkept;  /* promises */
};

struct license_future {
	const struct place *p;
	const struct snap *s;
	struct license *of; /* by licence */
	uint8_t *gone;      /* by run: 1 if evicted in this pass */
	bool is_ready;
};

struct license_future *license_future_new(const struct place *p)
{
	struct license_future *f =
	    arena_array(p->arena, struct license_future, 1);

	f->p = p;
	f->s = p->snap;
	return f;
}

static void add(struct license_future *f, uint32_t license, int64_t at,
                int64_t more, uint64_t job)
{
	struct license *l = &f->of[license];
	struct change *old = l->change;
	uint32_t lo = 0, hi = l->n;

	if (at == SNAP_NEVER)
		return;
	if (l->n == l->cap) {
		l->cap = l->cap ? 2 * l->cap : 16;
		l->change = arena_array(f->p->arena, struct change, l->cap);
		if (l->n)
			memcpy(l->change, old, l->n * sizeof(*old));
	}
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		const struct change *c = &l->change[mid];

		if (c->at < at || (c->at == at && (c->more > 0 || more < 0)))
			lo = mid + 1;
		else
			hi = mid;
	}
	memmove(l->change + lo + 1, l->change + lo,
	        (l->n - lo) * sizeof(*l->change));
	l->change[lo] = (struct change){ .at = at, .more = more, .job = job };
	l->n++;
	if (l->nleast > lo)
		l->nleast = lo;
}

/* Change all licences of a request by its need, times the sign. */
static void add_all(struct license_future *f, uint32_t req, int64_t at,
                    int sign, uint64_t job)
{
	const struct snap *s = f->s;

	for (uint32_t i = s->req.license_first[req];
	     i < s->req.license_first[req + 1]; i++) {
		if (s->license_use[i].count)
			add(f, s->license_use[i].license, at,
			    sign * s->license_use[i].count, job);
	}
}

/* A suspended job keeps its licences, and nobody knows for how long. */
static void ready(struct license_future *f)
{
	const struct snap *s = f->s;

	if (f->is_ready)
		return;
	f->is_ready = true;
	f->of = arena_array(f->p->arena, struct license, s->license.n);
	f->gone = arena_array(f->p->arena, uint8_t, s->run.n);
	for (uint32_t run = 0; run < s->run.n; run++) {
		if (license_future_needs(s, s->run.req[run]) &&
		    !snap_is_part(s, run))
			add_all(f, s->run.req[run], future_runs_end(s, run), 1,
			        s->run.job[run]);
	}
}

static int64_t end_of(int64_t at, int64_t length)
{
	return length == SNAP_NEVER ? INT64_MAX : at + length;
}

/* The same for one licence. */
static int64_t start_of(const struct license_future *f, uint32_t license,
                        int64_t need, int64_t from, int64_t length)
{
	const struct license *l = &f->of[license];
	int64_t have = f->p->work->license[license], at = from;
	bool fits = false;
	uint32_t i = 0;

	while (i < l->n && l->change[i].at <= from)
		have += l->change[i++].more;
	fits = have >= need;
	while (i < l->n) {
		int64_t next = l->change[i].at;

		if (fits && next >= end_of(at, length))
			return at;
		while (i < l->n && l->change[i].at == next)
			have += l->change[i++].more;
		if (!fits)
			at = next;
		fits = have >= need;
	}
	return fits ? at : SNAP_NEVER;
}

int64_t license_future_start(struct license_future *f, uint32_t req,
                             int64_t from, int64_t length, size_t *looks)
{
	const struct snap *s = f->s;
	uint32_t first = s->req.license_first[req];
	uint32_t n = s->req.license_first[req + 1] - first;

	if (!n)
		return from;
	ready(f);
	for (uint32_t i = 0, right = 0; i < ROUNDS * n; i++) {
		uint32_t license = s->license_use[first + i % n].license;
		int64_t need = admit_license_need(s, req, license);
		int64_t at = start_of(f, license, need, from, length);

		*looks += f->of[license].n;
		right = at == from ? right + 1 : 1;
		if (at == SNAP_NEVER || right == n)
			return at;
		from = at;
	}
	return SNAP_NEVER;
}

uint64_t license_future_blocker(const struct license_future *f, uint32_t req,
                                int64_t at)
{
	const struct snap *s = f->s;
	uint64_t job = 0;

	for (uint32_t i = s->req.license_first[req];
	     i < s->req.license_first[req + 1]; i++) {
		const struct license *l = &f->of[s->license_use[i].license];

		for (uint32_t k = 0; k < l->n && l->change[k].at <= at; k++) {
			const struct change *c = &l->change[k];

			if (c->at == at && c->more > 0 && c->job &&
			    (!job || c->job < job))
				job = c->job;
		}
	}
	return job;
}

/* Work out `least` of all changes. */
static void find_least(struct license *l)
{
	int64_t sum = 0, least = INT64_MAX;

	if (l->nleast == l->n)
		return;
	for (uint32_t i = 0; i < l->n; i++) {
		sum += l->change[i].more;
		least = sum < least ? sum : least;
		l->change[i].least = least;
	}
	l->nleast = l->n;
}

/* The job of the first promise that lacks some of a licence if `need` of it are
 * taken until then, or 0. */
static uint64_t first_lacking(struct license_future *f, uint32_t license,
                              int64_t need, int64_t until)
{
	struct license *l = &f->of[license];
	int64_t have = f->p->work->license[license];
	uint32_t lo = 0, hi = l->n;

	if (!l->nkept)
		return 0;
	find_least(l);
	/* The first change after which there is too little. */
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (have + l->change[mid].least < need)
			hi = mid;
		else
			lo = mid + 1;
	}
	/* Not the end of a job that was evicted: that has none. */
	while (lo + 1 < l->n && !l->change[lo].job &&
	       l->change[lo + 1].at == l->change[lo].at)
		lo++;
	return lo < l->n && future_ends_before(l->change[lo].at, until)
	           ? l->change[lo].job
	           : 0;
}

bool license_future_allows(struct license_future *f, uint32_t req,
                           int64_t until, uint32_t *ret_license,
                           uint64_t *ret_job)
{
	const struct snap *s = f->s;

	for (uint32_t i = s->req.license_first[req];
	     f->is_ready && i < s->req.license_first[req + 1]; i++) {
		*ret_license = s->license_use[i].license;
		*ret_job = first_lacking(
		    f, *ret_license, admit_license_need(s, req, *ret_license),
		    until);
		if (*ret_job)
			return false;
	}
	return true;
}

void license_future_keep(struct license_future *f, uint32_t req, int64_t from,
                         int64_t until, uint64_t job)
{
	const struct snap *s = f->s;

	if (!license_future_needs(s, req))
		return;
	ready(f);
	add_all(f, req, from, -1, job);
	add_all(f, req, until, 1, 0);
	for (uint32_t i = s->req.license_first[req];
	     i < s->req.license_first[req + 1]; i++)
		f->of[s->license_use[i].license].nkept++;
}

void license_future_take(struct license_future *f, uint32_t req, int64_t until)
{
	if (!license_future_needs(f->s, req))
		return;
	ready(f);
	add_all(f, req, until, 1, 0);
}

void license_future_leave(struct license_future *f, uint32_t run, bool ends)
{
	const struct snap *s = f->s;
	uint32_t req = s->run.req[run];

	if (!license_future_needs(s, req) || snap_is_part(s, run))
		return;
	ready(f);
	if (f->gone[run] || s->run.ending[run] || s->run.suspended[run])
		return;
	f->gone[run] = 1;
	if (ends)
		add_all(f, req, s->now, 1, s->run.job[run]);
	add_all(f, req, future_runs_end(s, run), -1, 0);
}

/* Whether this much of a licence is free whenever a promise begins, from one
 * time until another. */
static bool has_spare(const struct license_future *f, uint32_t license,
                      int64_t need, int64_t from, int64_t until)
{
	const struct license *l = &f->of[license];
	int64_t have = f->p->work->license[license];

	for (uint32_t i = 0; i < l->n; i++) {
		if (!future_ends_before(l->change[i].at, until))
			break;
		have += l->change[i].more;
		if (!future_ends_before(l->change[i].at, from) &&
		    l->change[i].more < 0 && have < need)
			return false;
	}
	return true;
}

bool license_future_may_move(const struct license_future *f, uint32_t run,
                             int64_t until, size_t nmoves)
{
	const struct snap *s = f->s;
	uint32_t req = s->run.req[run];

	for (uint32_t i = s->req.license_first[req];
	     f->is_ready && i < s->req.license_first[req + 1]; i++) {
		uint32_t license = s->license_use[i].license;
		int64_t need =
		    admit_license_need(s, req, license) * (int64_t)nmoves;

		if (f->of[license].nkept &&
		    !has_spare(f, license, need, future_runs_end(s, run),
		               until))
			return false;
	}
	return true;
}

void license_future_move(struct license_future *f, uint32_t run, int64_t until)
{
	const struct snap *s = f->s;
	uint32_t req = s->run.req[run];

	if (!license_future_needs(s, req))
		return;
	ready(f);
	add_all(f, req, s->now, -1, s->run.job[run]);
	add_all(f, req, until, 1, s->run.job[run]);
}
