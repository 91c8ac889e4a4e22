/* price.c - what it costs to hold resources for an hour */
#include "aischedd/state/cluster/price.h"

#include <string.h>

#include "aischedd/state/state_priv.h"
#include "libcommon/parse.h"

typedef __int128 wide;

enum { MICRO = 1000000 };

/* Parse the price in an entry such as "h100:3.20"; returns false if the entry
 * is for another type of GPU. */
static bool price_of_type(const char *entry, const char *type, int64_t *ret)
{
	size_t len = strlen(type);

	return !strncmp(entry, type, len) && entry[len] == ':' &&
	       parse_micro(entry + len + 1, INT64_MAX / 2, ret, NULL) == 0;
}

static int64_t price_in(const struct state *state, const struct conf_pool *pool,
                        const char *gpu_type, int r)
{
	int64_t price = pool->price[r];

	for (size_t i = 0; r == RES_GPU && gpu_type && i < pool->gpu_price.n;
	     i++)
		if (price_of_type(pool->gpu_price.s[i], gpu_type, &price))
			return price;
	if (price == CONF_NONE)
		price = state->conf->price[r];
	return price == CONF_NONE ? 0 : price;
}

int64_t price_of(const struct state *state, const struct job *job,
                 const int64_t rate[RES_N])
{
	static const int64_t unit[RES_N] = { 1000, 1024, 1000 };
	const struct node *node = &state->nodes.node[job->place->task[0].node];
	const struct conf_pool *pool = &state->conf->pools[node->pool];
	int64_t factor = state->conf->queues[job->queue].price_factor;
	wide cost = 0;

	for (int r = 0; r < RES_N; r++) {
		wide part = (wide)rate[r] *
		            price_in(state, pool, node->gpu_type, r) / unit[r];

		if (state->conf->accounting.charge == CHARGE_SUM)
			cost += part;
		else if (part > cost)
			cost = part;
	}
	return (int64_t)((cost * factor + MICRO / 2) / MICRO);
}
