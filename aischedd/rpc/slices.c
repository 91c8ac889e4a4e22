/* slices.c - long requests take turns */
#include "aischedd/rpc/slices.h"

#include <stddef.h>

#include "libcommon/steps.h"

void slices_init(struct slices *s)
{
	TAILQ_INIT(&s->queue);
}

void slices_fini(struct slices *s)
{
	map_free(&s->had);
}

void slices_add(struct slices *s, struct slice *slice)
{
	if (slice->waits)
		return;
	slice->waits = true;
	TAILQ_INSERT_TAIL(&s->queue, slice, next);
}

void slices_put_back(struct slices *s, struct slice *slice)
{
	slice->waits = true;
	TAILQ_INSERT_HEAD(&s->queue, slice, next);
}

void slices_remove(struct slices *s, struct slice *slice)
{
	if (!slice->waits)
		return;
	slice->waits = false;
	TAILQ_REMOVE(&s->queue, slice, next);
}

struct slice *slices_take(struct slices *s)
{
	struct slice *best = NULL, *slice;
	uintptr_t least = UINTPTR_MAX;

	TAILQ_FOREACH(slice, &s->queue, next) {
		uintptr_t had = (uintptr_t)map_find(&s->had, slice->uid);

		steps_add(1);
		if (had < least) {
			least = had;
			best = slice;
		}
	}
	if (best)
		slices_remove(s, best);
	else
		map_free(&s->had);
	return best;
}

void slices_charge(struct slices *s, uid_t uid, uint64_t steps)
{
	uintptr_t had = (uintptr_t)map_find(&s->had, uid);

	map_set(&s->had, uid, (void *)(had + (uintptr_t)steps + 1));
}
