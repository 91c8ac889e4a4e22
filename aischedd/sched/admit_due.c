/* admit_due.c - what is limited goes to whom it is due */
#include "aischedd/sched/admit_due.h"

#include "aischedd/sched/verdict.h"

/* Each limit has one to whom it is due; of more limits than this nobody is
 * held back for in one pass. */
enum { DUES_MAX = 64 };

struct due {
	uint64_t job;
	enum reason why;
	uint32_t name, user; /* queue or licence; UserLimit: whose */
	int64_t what;
};

static bool is_same(const struct due *a, const struct due *b)
{
	return a->why == b->why && a->name == b->name && a->user == b->user &&
	       a->what == b->what;
}

void due_add(struct pass *p, uint32_t row, const struct verdict *limit)
{
	bool user = limit->why == WHY_UserLimit;
	const struct due due = {
		.job = p->snap->member[p->order->next[row]].job,
		.why = limit->why,
		.name = limit->name,
		.user = user ? p->snap->pend.user[row] : 0,
		.what = limit->num[NUM_WHAT],
	};
	const struct due *had = p->due.p;

	/* What is never enough is nobody's. */
	if (limit->num[NUM_NEED] > limit->num[NUM_TOTAL] ||
	    p->due.n == DUES_MAX)
		return;
	for (size_t i = 0; i < p->due.n; i++) {
		if (is_same(&had[i], &due))
			return;
	}
	*(struct due *)arena_push(p->arena, &p->due, sizeof(due)) = due;
}

static bool is_below(const struct snap *s, uint32_t queue, uint32_t top)
{
	while (queue != SNAP_NONE && queue != top)
		queue = s->queue.parent[queue];
	return queue == top;
}

static bool uses_license(const struct snap *s, const struct demand *d,
                         uint32_t license)
{
	for (uint32_t i = s->req.license_first[d->req];
	     d->starts && i < s->req.license_first[d->req + 1]; i++) {
		if (s->license_use[i].license == license)
			return true;
	}
	return false;
}

static bool would_use(const struct snap *s, const struct demand *d,
                      const struct due *due)
{
	if (due->why == WHY_Licenses)
		return uses_license(s, d, due->name);
	if (!is_below(s, d->queue, due->name) ||
	    (due->why == WHY_UserLimit && d->user != due->user) ||
	    (due->why == WHY_QueueQuota && !d->firm))
		return false;
	return due->what == WHAT_JOBS ? d->starts : d->amount[due->what] > 0;
}

enum reason due_check(const struct pass *p, const struct demand *d,
                      struct verdict *ret)
{
	const struct due *due = p->due.p;

	for (size_t i = 0; i < p->due.n; i++) {
		if (!would_use(p->snap, d, &due[i]))
			continue;
		*ret = (struct verdict){ .why = WHY_Priority,
			                 .job = due[i].job,
			                 .name = due[i].name,
			                 .expected = SNAP_NEVER };
		ret->num[NUM_WHAT] = WAY_IS_DUE;
		ret->num[NUM_NEED] = due[i].why == WHY_Licenses;
		return WHY_Priority;
	}
	return WHY_None;
}
