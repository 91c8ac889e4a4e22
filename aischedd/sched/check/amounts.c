/* amounts.c - the free devices and memory of NUMA nodes, computed from the runs
 */
#include "aischedd/sched/check/amounts.h"

static void take_threads(const struct snap *s, const struct snap_task *t,
                         int64_t *thread)
{
	thread += s->node.cpu_first[t->node];
	for (uint32_t i = t->cpu_first; i < t[1].cpu_first; i++)
		thread[s->cpu_use[i].cpu] -= s->cpu_use[i].milli;
}

static void free_threads(const struct snap *s, int64_t *ret)
{
	for (uint32_t i = 0; i < s->cpu.n; i++)
		ret[i] = 1000;
	for (uint32_t run = 0; run < s->run.n; run++) {
		for (uint32_t t = s->run.task_first[run];
		     t < s->run.task_first[run + 1]; t++) {
			if (!s->run.suspended[run])
				take_threads(s, &s->task[t], ret);
		}
	}
	/* The snapshot may have less free than its runs leave: use the smaller
	 * amount. */
	for (uint32_t i = 0; i < s->cpu.n; i++) {
		if (s->cpu.free[i] < ret[i])
			ret[i] = s->cpu.free[i];
	}
}

void check_amounts_divide(const struct snap *s, uint32_t node, uint32_t numas,
                          int64_t mem, int64_t ret[SNAP_NUMAS])
{
	const int64_t *size = s->numa_mem + s->node.numa_first[node];
	uint32_t n = snap_node_nnumas(s, node);
	int64_t all = 0, upto = 0, given = 0;

	for (uint32_t i = 0; i < n; i++)
		all += numas >> i & 1 ? size[i] : 0;
	for (uint32_t i = 0; i < n; i++) {
		ret[i] = 0;
		if (!(numas >> i & 1))
			continue;
		/* Each part is the difference of two rounded running sums, so
		 * that all parts add up to mem. */
		upto += size[i];
		ret[i] = all ? (int64_t)((__int128)mem * upto / all) - given
		             : mem - given;
		given += ret[i];
	}
}

/* Set ret to the free memory of each NUMA node. bound: subtract only the memory
 * of tasks that are bound to their NUMA nodes. */
static void free_numas(const struct snap *s, bool bound, int64_t *ret)
{
	uint32_t n = s->node.n ? s->node.numa_first[s->node.n] : 0;

	for (uint32_t i = 0; i < n; i++)
		ret[i] = s->numa_mem[i];
	for (uint32_t run = 0; n && run < s->run.n; run++) {
		uint32_t req = s->run.req[run];

		for (uint32_t k = s->run.task_first[run];
		     k < s->run.task_first[run + 1]; k++) {
			const struct snap_task *t = &s->task[k];
			int64_t part[SNAP_NUMAS];

			if (bound && !snap_binds(s, req))
				continue;
			check_amounts_divide(s, t->node, t->numas,
			                     s->req.mem[req], part);
			for (uint32_t i = 0; i < snap_node_nnumas(s, t->node);
			     i++)
				ret[s->node.numa_first[t->node] + i] -= part[i];
		}
	}
}

int64_t *check_amounts_devs(const struct snap *s, struct arena *arena)
{
	uint32_t n = s->dev.n;
	int64_t *ret = arena_array(arena, int64_t, (size_t)s->node.n * n);

	for (uint32_t i = 0; i < s->node.n; i++)
		for (uint32_t k = 0; k < n; k++)
			ret[i * n + k] = s->node.dev_free[i].n[k];
	return ret;
}

uint8_t *check_amounts_slices(const struct snap *s, const struct snap_task *t,
                              uint8_t *slices)
{
	if (!t->units)
		return NULL;
	return slices + s->node.gpu_first[t->node] + __builtin_ctzll(t->gpus);
}

/* Set ret to what is free of each GPU; less than 0 if others hold units of a
 * GPU that a job uses otherwise. */
static void free_gpus(const struct snap *s, int64_t *ret)
{
	uint32_t ntasks = s->run.n ? s->run.task_first[s->run.n] : 0;

	for (uint32_t node = 0; node < s->node.n; node++) {
		for (uint32_t i = s->node.gpu_first[node];
		     i < s->node.gpu_first[node + 1]; i++)
			ret[i] = s->gpu.parts
			             ? mig_parts_free(s->gpu.parts[i],
			                              s->node.mig[node])
			             : 1000;
	}
	for (uint32_t i = 0; i < ntasks; i++) {
		int64_t *gpu = ret + s->node.gpu_first[s->task[i].node];

		for (uint32_t k = 0; k < 64; k++)
			if (s->task[i].gpus >> k & 1)
				gpu[k] -= s->task[i].gpu_milli;
	}
	for (uint32_t i = 0; i < s->gpu.n; i++) {
		if (s->gpu.free[i] < ret[i])
			ret[i] = s->gpu.free[i];
	}
}

struct check_amounts check_amounts_now(const struct snap *s,
                                       struct arena *arena)
{
	uint32_t nnumas = s->node.n ? s->node.numa_first[s->node.n] : 0;
	struct check_amounts r = {
		arena_array(arena, int64_t, s->gpu.n),
		arena_array(arena, int64_t, s->cpu.n),
		arena_array(arena, int64_t, nnumas),
		arena_array(arena, int64_t, nnumas),
		arena_array(arena, uint8_t, s->gpu.n),
	};
	uint32_t ntasks = s->run.n ? s->run.task_first[s->run.n] : 0;

	for (uint32_t i = 0; s->gpu.parts && i < s->gpu.n; i++)
		r.slices[i] = mig_parts_held(s->gpu.parts[i]);
	for (uint32_t i = 0; i < ntasks; i++) {
		uint8_t *slices =
		    check_amounts_slices(s, &s->task[i], r.slices);

		if (slices)
			*slices |= s->task[i].units;
	}
	free_gpus(s, r.gpu);
	free_threads(s, r.thread);
	free_numas(s, false, r.numa_mem);
	free_numas(s, true, r.unbound);
	return r;
}
