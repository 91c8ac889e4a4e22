/* calendar.c - future events of running jobs, the earliest first */
#include "aisim/calendar.h"

#include <stdlib.h>

#include "libcommon/heap.h"
#include "libcommon/mem.h"

static bool before(struct calendar_entry a, struct calendar_entry b)
{
	if (a.at != b.at)
		return a.at < b.at;
	if (a.job != b.job)
		return a.job < b.job;
	return a.turn < b.turn;
}

#define AT(of, i)        ((of)[i])
#define BEFORE(of, a, b) before(a, b)
#define PUT(of, i, item) ((of)[i] = (item))
HEAP(entries, struct calendar_entry, struct calendar_entry *, AT, BEFORE, PUT)

void calendar_add(struct calendar *c, struct calendar_entry entry)
{
	c->entry = GROW(c->entry, c->n, &c->cap);
	entries_rise(c->entry, c->n++, entry);
}

const struct calendar_entry *calendar_first(const struct calendar *c)
{
	return c->n ? &c->entry[0] : NULL;
}

void calendar_drop_first(struct calendar *c)
{
	struct calendar_entry last = c->entry[--c->n];

	entries_sink(c->entry, c->n, 0, last);
}

void calendar_fini(struct calendar *c)
{
	free(c->entry);
}
