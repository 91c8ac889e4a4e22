/* plan.c - the pass: order, place, verdict */
#include "aischedd/sched/plan.h"

#include <string.h>

struct scratch {
	const struct snap *s;
	int64_t *cpu, *mem;
	uint16_t *gpu, *thread;
	struct snap_task *task;
	struct snap_cpu_use *use;
	uint32_t ntasks, nuse;
};

static bool take_threads(struct scratch *w, uint32_t node, int64_t need)
{
	uint32_t first = w->s->node.cpu_first[node];
	uint32_t n = w->s->node.cpu_first[node + 1] - first;

	for (uint32_t i = 0; i < n && need; i++) {
		int64_t part = need >= 1000 ? 1000 : need;

		if (w->thread[first + i] < part)
			continue;
		w->thread[first + i] -= (uint16_t)part;
		w->use[w->nuse++] =
		    (struct snap_cpu_use){ (uint16_t)i, (uint16_t)part };
		need -= part;
	}
	return !n || !need;
}

static bool take_gpus(struct scratch *w, uint32_t node, int64_t need,
                      struct snap_task *t)
{
	uint32_t first = w->s->node.gpu_first[node];

	t->gpu_milli = need >= 1000 ? 1000 : (uint16_t)need;
	for (uint32_t i = first; i < w->s->node.gpu_first[node + 1]; i++) {
		if (need <= 0 || w->gpu[i] < t->gpu_milli)
			continue;
		w->gpu[i] -= t->gpu_milli;
		t->gpus |= (uint64_t)1 << (i - first);
		need -= t->gpu_milli;
	}
	return need <= 0;
}

static bool take(struct scratch *w, uint32_t req, uint32_t node)
{
	const struct snap *s = w->s;
	struct snap_task *t = &w->task[w->ntasks];

	if (s->node.state[node] != NODE_UP ||
	    !s->pool.ready[s->node.pool[node]] ||
	    !(s->req.pools[req] >> s->node.pool[node] & 1) ||
	    w->cpu[node] < s->req.cpus[req] || w->mem[node] < s->req.mem[req])
		return false;
	*t = (struct snap_task){ .node = node, .cpu_first = w->nuse };
	if (!take_gpus(w, node, s->req.gpus[req], t) ||
	    !take_threads(w, node, s->req.cpus[req]))
		return false;
	w->cpu[node] -= s->req.cpus[req];
	w->mem[node] -= s->req.mem[req];
	w->task[++w->ntasks].cpu_first = w->nuse;
	return true;
}

const struct plan *sched_plan(const struct snap *s, struct arena *arena)
{
	struct plan *plan = arena_array(arena, struct plan, 1);
	struct verdict *v = arena_array(arena, struct verdict, s->pend.n);
	struct scratch w = { .s = s };
	size_t ntasks = 0, nmembers = 0, ncpus = 0;
	struct start *start;

	for (uint32_t i = 0; i < s->pend.n; i++) {
		size_t n = s->pend.member_first[i + 1] -
		           s->pend.member_first[i];

		nmembers += n;
		ntasks += n * s->req.tasks[s->pend.req[i]];
		ncpus += n * s->req.tasks[s->pend.req[i]] *
		         (size_t)(s->req.cpus[s->pend.req[i]] / 1000 + 1);
	}
	start = arena_array(arena, struct start, nmembers + 1);
	w.task = arena_array(arena, struct snap_task, ntasks + 1);
	w.use = arena_array(arena, struct snap_cpu_use, ncpus + 1);
	w.cpu = arena_array(arena, int64_t, s->node.n + 1);
	w.mem = arena_array(arena, int64_t, s->node.n + 1);
	w.gpu = arena_array(arena, uint16_t, s->gpu.n + 1);
	w.thread = arena_array(arena, uint16_t, s->cpu.n + 1);
	for (uint32_t i = 0; i < s->node.n; i++) {
		w.cpu[i] = s->node.cpu_free[i];
		w.mem[i] = s->node.mem_free[i];
	}
	for (uint32_t i = 0; i < s->gpu.n; i++)
		w.gpu[i] = s->gpu.free[i];
	for (uint32_t i = 0; i < s->cpu.n; i++)
		w.thread[i] = s->cpu.free[i];

	for (uint32_t i = 0; i < s->pend.n; i++) {
		uint32_t req = s->pend.req[i], from = w.ntasks, got = 0;
		uint32_t m = s->pend.member_first[i];

		v[i] = (struct verdict){ .why = WHY_Resources,
			                 .name = SNAP_NONE,
			                 .expected = SNAP_NEVER,
			                 .position = 1 };
		if (s->pend.resumes[i] != SNAP_NONE || s->req.tasks[req] > 1)
			continue;
		for (; m < s->pend.member_first[i + 1]; m++) {
			uint32_t n = 0;

			if (s->member[m].count > 1)
				break;
			while (n < s->node.n && !take(&w, req, n))
				n++;
			if (n == s->node.n)
				break;
			start[plan->nstarts++] =
			    (struct start){ i, m, from + got++, 1 };
		}
		v[i].started = got;
		if (m == s->pend.member_first[i + 1])
			v[i].why = WHY_None;
	}
	plan->gen = s->gen;
	plan->nverdicts = s->pend.n;
	plan->verdict = v;
	plan->start = start;
	plan->task = w.task;
	plan->cpu_use = w.use;
	return plan;
}

int sched_could_fit(const struct snap *snap, uint32_t row, struct err *err)
{
	(void)snap, (void)row, (void)err;
	return 0;
}
