/* blocks.c - whether GPUs can be taken from a node without breaking up
 * blocks of linked GPUs */
#include "aischedd/sched/fit/blocks.h"

#include "libcommon/limits.h"

struct fit_blocks {
	const struct work *work;
	uint8_t *cell;   /* by GPU: the number of its cell on its node */
	uint8_t *ncells; /* by node */
	/* by free GPUs of a cell, modulo 8, and GPUs taken, less one */
	uint16_t harm[8][FIT_BLOCKS_GPUS];
};

/* Number the cells of a node. Returns how many it has. */
static uint8_t number_cells(const struct snap *s, uint32_t node, uint8_t *cell)
{
	uint32_t first = s->node.gpu_first[node];
	uint32_t end = s->node.gpu_first[node + 1];
	uint32_t one[LIMIT_GPUS]; /* by cell: its first GPU */
	uint8_t n = 0;

	for (uint32_t d = first; d < end; d++) {
		uint8_t c = 0;

		while (c < n && (s->gpu.link[one[c]] != s->gpu.link[d] ||
		                 s->gpu.numa[one[c]] != s->gpu.numa[d]))
			c++;
		if (c == n)
			one[n++] = d;
		cell[d] = c;
	}
	return n;
}

/* Returns the harm, as a bit, of taking n of the free GPUs of a cell, which has
 * as many. */
static uint16_t harm_of(uint32_t nfree, uint32_t n)
{
	uint32_t ret = 0;

	for (uint32_t size = 8; size > 1; size /= 2)
		ret = 2 * ret + (nfree % size < n % size);
	return (uint16_t)(1u << ret);
}

struct fit_blocks *fit_blocks_new(const struct work *w, struct arena *arena)
{
	const struct snap *s = w->snap;
	uint32_t ngpus = s->node.gpu_first[s->node.n], i = 0;
	struct fit_blocks *b;

	while (i < ngpus && !s->gpu.link[i] && !s->gpu.numa[i])
		i++;
	if (i == ngpus)
		return NULL;
	b = arena_array(arena, struct fit_blocks, 1);
	b->work = w;
	b->cell = arena_array_raw(arena, uint8_t, ngpus);
	b->ncells = arena_array_raw(arena, uint8_t, s->node.n);
	for (i = 0; i < s->node.n; i++)
		b->ncells[i] = number_cells(s, i, b->cell);
	for (uint32_t nfree = 0; nfree < 8; nfree++)
		for (uint32_t n = 1; n <= FIT_BLOCKS_GPUS; n++)
			b->harm[nfree][n - 1] = harm_of(nfree, n);
	return b;
}

void fit_blocks_read(const struct fit_blocks *b, uint32_t node,
                     uint16_t ret[FIT_BLOCKS_GPUS])
{
	const struct snap *s = b->work->snap;
	uint8_t nfree[LIMIT_GPUS] = { 0 };
	bool one = b->ncells[node] <= 1;

	for (uint32_t d = s->node.gpu_first[node];
	     d < s->node.gpu_first[node + 1]; d++)
		nfree[b->cell[d]] += b->work->device[d] == 1000;
	for (uint32_t n = 0; n < FIT_BLOCKS_GPUS; n++)
		ret[n] = one ? 1 : 1 << FIT_BLOCKS_NO_CELL;
	for (uint32_t c = 0; c < b->ncells[node] && !one; c++) {
		const uint16_t *harm = b->harm[nfree[c] % 8];

		for (uint32_t n = 0; n < nfree[c] && n < FIT_BLOCKS_GPUS; n++)
			ret[n] = harm[n] < ret[n] ? harm[n] : ret[n];
	}
}
