/* user_sums.c - the GPUs and the pending jobs of each user at present */
#include "aischedd/user_sums.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/state/cluster/rollup.h"
#include "aischedd/state/cluster/usage.h"
#include "aischedd/state/state.h"
#include "libcommon/mem.h"

static int by_name(const void *a, const void *b)
{
	const struct user_sum *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int by_gpus_held(const void *a, const void *b)
{
	const struct user_sum *x = a, *y = b;

	return x->gpus != y->gpus ? (x->gpus < y->gpus ? 1 : -1)
	                          : by_name(a, b);
}

static int by_pending(const void *a, const void *b)
{
	const struct user_sum *x = a, *y = b;

	return x->pending != y->pending ? (x->pending < y->pending ? 1 : -1)
	                                : by_name(a, b);
}

/* Sort the entries by user and add up those of the same user. Returns how many
 * are left. */
static size_t merge(struct user_sum *sum, size_t n)
{
	size_t last = 0;

	if (!n)
		return 0;
	qsort(sum, n, sizeof(*sum), by_name);
	for (size_t i = 1; i < n; i++) {
		if (strcmp(sum[i].name, sum[last].name) != 0) {
			sum[++last] = sum[i];
			continue;
		}
		sum[last].gpus += sum[i].gpus;
		sum[last].pending += sum[i].pending;
	}
	return last + 1;
}

size_t user_sums(const struct state *state, struct user_sum **ret)
{
	size_t nusages = state_nusages(state), nrollups = state_nrollups(state);
	struct user_sum *sum = xcalloc(nusages + nrollups + 1, sizeof(*sum));
	size_t n = 0;

	for (size_t i = 0; i < nusages; i++) {
		const struct usage *u = state_usage(state, i);

		sum[n++] =
		    (struct user_sum){ .name = state_user(state, u->user)->name,
			               .pending =
			                   (int64_t)(u->jobs - u->running) };
	}
	for (size_t i = 0; i < nrollups; i++) {
		const struct rollup *r = state_rollup(state, i);

		if (r->rate[RES_GPU] && *r->part[PART_USER])
			sum[n++] =
			    (struct user_sum){ .name = r->part[PART_USER],
				               .gpus = r->rate[RES_GPU] };
	}
	*ret = sum;
	return merge(sum, n);
}

void user_sums_sort(struct user_sum *sum, size_t n, bool by_gpus)
{
	if (n)
		qsort(sum, n, sizeof(*sum),
		      by_gpus ? by_gpus_held : by_pending);
}
