/* calendar.c - what will happen to running jobs, the earliest first */
#include "aisim/calendar.h"

#include <stdlib.h>

#include "libcommon/mem.h"

static bool before(const struct calendar_entry *a,
                   const struct calendar_entry *b)
{
	if (a->at != b->at)
		return a->at < b->at;
	if (a->job != b->job)
		return a->job < b->job;
	return a->turn < b->turn;
}

void calendar_add(struct calendar *c, struct calendar_entry entry)
{
	size_t i = c->n, up;

	c->entry = GROW(c->entry, c->n, &c->cap);
	c->n++;
	for (; i; i = up) {
		up = (i - 1) / 2;
		if (!before(&entry, &c->entry[up]))
			break;
		c->entry[i] = c->entry[up];
	}
	c->entry[i] = entry;
}

const struct calendar_entry *calendar_first(const struct calendar *c)
{
	return c->n ? &c->entry[0] : NULL;
}

void calendar_drop_first(struct calendar *c)
{
	struct calendar_entry last = c->entry[--c->n];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < c->n) {
		if (child + 1 < c->n &&
		    before(&c->entry[child + 1], &c->entry[child]))
			child++;
		if (before(&last, &c->entry[child]))
			break;
		c->entry[i] = c->entry[child];
		i = child;
	}
	c->entry[i] = last;
}

void calendar_fini(struct calendar *c)
{
	free(c->entry);
}
