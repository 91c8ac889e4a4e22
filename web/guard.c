/* guard.c - limit the rate of requests of an address or a session */
#include "web/guard.h"

#include "libcommon/mem.h"

void guard_init(struct guard *g, double rate, double burst)
{
	g->rate = rate;
	g->burst = burst;
	for (size_t i = 0; i < ARRAY_SIZE(g->bucket); i++)
		g->bucket[i] = (struct guard_bucket){ burst, 0 };
}

bool guard_take(struct guard *g, uint64_t hash, int64_t now_ms)
{
	struct guard_bucket *b = &g->bucket[hash % ARRAY_SIZE(g->bucket)];

	b->left += (double)(now_ms - b->at_ms) / 1e3 * g->rate;
	b->at_ms = now_ms;
	if (b->left > g->burst)
		b->left = g->burst;
	if (b->left < 1)
		return false;
	b->left--;
	return true;
}
