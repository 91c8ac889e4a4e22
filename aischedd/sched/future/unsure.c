/* unsure.c - jobs whose start is not known, and the starts that they may delay
 */
#include "aischedd/sched/future/unsure.h"

#include "aischedd/sched/future/runs.h"

/* The first times from which some jobs may use these, or SNAP_NEVER. */
struct unsure_from {
	int64_t *class; /* nodes of a class */
	int64_t limits; /* limits and licences */
};

/* Limits and licences are held for a job for this time. */
struct unsure_hold {
	int64_t from, until;
};

struct future_unsure {
	const struct place *p;
	struct unsure_from *open;
	struct unsure_from **bar; /* by queue */
	int64_t held;            /* limits and licences are held from then on */
	struct arena_list holds; /* struct unsure_hold */
};

struct future_unsure *future_unsure_new(const struct place *p)
{
	struct future_unsure *u =
	    arena_array(p->arena, struct future_unsure, 1);

	u->p = p;
	u->held = SNAP_NEVER;
	u->bar = arena_array(p->arena, struct unsure_from *, p->snap->queue.n);
	return u;
}

static int64_t earlier(int64_t a, int64_t b)
{
	return future_ends_before(a, b) ? a : b;
}

static void note(const struct place *p, struct unsure_from **ret, uint32_t req,
                 bool limited, int64_t from)
{
	const struct allowed *a;
	struct unsure_from *it = *ret;
	uint32_t n = match_nclasses(p->match);

	if (!it) {
		*ret = it = arena_array(p->arena, struct unsure_from, 1);
		it->class = arena_array(p->arena, int64_t, n);
		for (uint32_t i = 0; i < n; i++)
			it->class[i] = SNAP_NEVER;
		it->limits = SNAP_NEVER;
	}
	if (limited)
		it->limits = earlier(it->limits, from);
	a = match_req(p->match, req);
	for (uint32_t i = 0; i < a->nclasses; i++) {
		uint32_t class = a->class[i];

		if (!match_class_too_small(match_class(p->match, class),
		                           p->snap, req))
			it->class[class] = earlier(it->class[class], from);
	}
}

void future_unsure_note(struct future_unsure *u, uint32_t req, bool limited,
                        int64_t from)
{
	note(u->p, &u->open, req, limited, from);
}

void future_unsure_bar(struct future_unsure *u, uint32_t queue, uint32_t req,
                       int64_t from)
{
	note(u->p, &u->bar[queue], req, false, from);
}

void future_unsure_hold(struct future_unsure *u, int64_t from, int64_t until)
{
	if (until == SNAP_NEVER)
		u->held = earlier(u->held, from);
	else if (from < until)
		*(struct unsure_hold *)arena_push(u->p->arena, &u->holds,
		                                  sizeof(struct unsure_hold)) =
		    (struct unsure_hold){ from, until };
}

static bool is_held(const struct future_unsure *u, int64_t at)
{
	const struct unsure_hold *it = u->holds.p;
	bool ret = !future_ends_before(at, u->held);

	for (size_t i = 0; i < u->holds.n; i++)
		ret |= it[i].from <= at && at < it[i].until;
	return ret;
}

/* Returns the first of these times that concerns the job. */
static int64_t first_for(const struct place *p, const struct unsure_from *it,
                         const struct unsure_promise *job)
{
	const struct allowed *a = match_req(p->match, job->req);
	int64_t at = SNAP_NEVER;

	if (!it)
		return at;
	if (job->limited)
		at = it->limits;
	for (uint32_t i = 0; i < job->n; i++)
		at = earlier(at,
		             it->class[match_class_of(p->match, job->node[i])]);
	for (uint32_t i = 0; !job->node && i < a->nclasses; i++)
		at = earlier(at, it->class[a->class[i]]);
	return at;
}

bool future_unsure_allows(const struct future_unsure *u,
                          const struct unsure_promise *job)
{
	int64_t open = first_for(u->p, u->open, job);
	int64_t bar = first_for(u->p, u->bar[job->queue], job);

	return !future_ends_before(open, job->end) &&
	       future_ends_before(job->start, bar) &&
	       !(job->limited && is_held(u, job->start));
}
