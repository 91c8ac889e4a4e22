/* fit.c - one node: how many tasks fit, and which devices each gets */
#include "aischedd/sched/fit.h"

#include <string.h>

#include "aischedd/sched/fit_devices.h"

static int64_t min(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* How many tasks fit by one amount. */
static int64_t fit_amount(int64_t nfree, int64_t amount, int64_t max)
{
	if (!amount)
		return max;
	return nfree < amount ? 0 : min(nfree / amount, max);
}

/* How many parts of a device are free. Less than none may be free while claims
 * wait for evicted jobs to end. */
static int64_t parts_of(int64_t nfree, int64_t part)
{
	return part && nfree > 0 ? nfree / part : 0;
}

/* How many tasks fit by the GPUs of one NUMA node, or of the whole node. */
static int64_t fit_gpus(const struct work *w, uint32_t req, uint32_t node,
                        int numa, int64_t max)
{
	const struct snap *s = w->snap;
	int64_t gpus = s->req.gpus[req], whole = 0, shares = 0;

	if (!gpus)
		return max;
	if (gpus > 1000 && gpus % 1000)
		return 0;
	if (gpus >= 1000 && s->req.gpu_type[req] == SNAP_NONE &&
	    numa == ANY_NUMA)
		return fit_amount(w->whole[node], gpus / 1000, max);
	for (uint32_t d = s->node.gpu_first[node];
	     d < s->node.gpu_first[node + 1]; d++) {
		if (!fit_devices_is_type(s, req, d) ||
		    (numa != ANY_NUMA && s->gpu.numa[d] != numa))
			continue;
		whole += w->device[d] == 1000;
		shares += gpus < 1000 ? parts_of(w->device[d], gpus) : 0;
	}
	return gpus < 1000 ? min(shares, max)
	                   : fit_amount(whole, gpus / 1000, max);
}

/* Count the idle CPUs of one NUMA node, or of the whole node, and the parts of
 * a CPU that fit into shared ones. */
static void count_threads(const struct work *w, uint32_t node, int numa,
                          int64_t part, int64_t *ret_idle, int64_t *ret_shares)
{
	const struct snap *s = w->snap;

	*ret_idle = *ret_shares = 0;
	for (uint32_t t = s->node.cpu_first[node];
	     t < s->node.cpu_first[node + 1]; t++) {
		if (numa != ANY_NUMA && s->cpu.numa[t] != numa)
			continue;
		if (w->thread[t] == 1000)
			++*ret_idle;
		else if (w->thread[t] < 1000)
			*ret_shares += parts_of(w->thread[t], part);
	}
}

/* Whole CPUs come from idle ones; a fraction fills a shared one first. */
static int64_t fit_threads(const struct work *w, uint32_t req, uint32_t node,
                           int numa, int64_t max)
{
	const struct snap *s = w->snap;
	int64_t whole = s->req.cpus[req] / 1000;
	int64_t part = s->req.cpus[req] % 1000;
	int64_t idle = w->idle[node], shares = 0, n;

	if (!snap_node_ncpus(s, node))
		return max;
	if (part || numa != ANY_NUMA)
		count_threads(w, node, numa, part, &idle, &shares);
	if (!part)
		return fit_amount(idle, whole, max);
	/* n tasks take n * whole idle CPUs and one for each 1000 / part
	 * fractions that the shared ones have no room for. */
	n = whole ? min(max, idle / whole)
	          : min(max, shares + idle * (1000 / part));
	while (n > shares &&
	       n * whole + (n - shares + 1000 / part - 1) / (1000 / part) >
	           idle)
		n--;
	return n;
}

/* How many tasks fit by the devices of one NUMA node. */
static int64_t fit_numa(const struct work *w, uint32_t req, uint32_t node,
                        int numa, int64_t max)
{
	max = fit_gpus(w, req, node, numa, max);
	return max ? fit_threads(w, req, node, numa, max) : 0;
}

/* Whether the devices for a task can lie in one NUMA node or in several. */
static bool has_devices(const struct snap *s, uint32_t req, uint32_t node)
{
	return s->req.gpus[req] ||
	       (s->req.cpus[req] && snap_node_ncpus(s, node));
}

/* Returns one more than the highest NUMA node number there. */
static int count_numas(const struct snap *s, uint32_t node)
{
	int n = 0;

	for (uint32_t d = s->node.gpu_first[node];
	     d < s->node.gpu_first[node + 1]; d++)
		n = s->gpu.numa[d] >= n ? s->gpu.numa[d] + 1 : n;
	for (uint32_t t = s->node.cpu_first[node];
	     t < s->node.cpu_first[node + 1]; t++)
		n = s->cpu.numa[t] >= n ? s->cpu.numa[t] + 1 : n;
	return n;
}

/* How many tasks fit with all devices of each in one NUMA node. */
static int64_t fit_aligned(const struct work *w, uint32_t req, uint32_t node,
                           int64_t max)
{
	int n = count_numas(w->snap, node);
	int64_t sum = 0;

	for (int i = 0; i < n && sum < max; i++)
		sum += fit_numa(w, req, node, i, max - sum);
	return sum;
}

int64_t fit_count(const struct work *w, uint32_t req, uint32_t node,
                  int64_t own, int64_t max)
{
	const struct snap_reqs *r = &w->snap->req;

	if (w->sealed[node] || (r->exclusive[req] && w->tasks[node] != own))
		return 0;
	max = fit_amount(w->cpu[node], r->cpus[req], max);
	max = fit_amount(w->mem[node], r->mem[req], max);
	max = fit_amount(w->slot[node], 1, max);
	if (max)
		max = fit_numa(w, req, node, ANY_NUMA, max);
	if (max && r->numa[req] == NUMA_STRICT && !w->loose &&
	    has_devices(w->snap, req, node))
		max = fit_aligned(w, req, node, max);
	return max;
}

void fit_best_numa(const struct work *w, uint32_t req, uint32_t node,
                   int64_t *ret_gpus, int64_t *ret_cpus)
{
	const struct snap *s = w->snap;
	int n = count_numas(s, node);

	*ret_gpus = *ret_cpus = -1;
	for (int i = 0; i < n; i++) {
		int64_t gpus = 0, idle, shares;

		for (uint32_t d = s->node.gpu_first[node];
		     d < s->node.gpu_first[node + 1]; d++)
			gpus += s->gpu.numa[d] == i &&
			        fit_devices_is_type(s, req, d) &&
			        w->device[d] == 1000;
		count_threads(w, node, i, 0, &idle, &shares);
		if (!s->req.gpus[req])
			gpus = 0;
		if (!snap_node_ncpus(s, node))
			idle = -1;
		if (gpus > *ret_gpus ||
		    (gpus == *ret_gpus && idle > *ret_cpus)) {
			*ret_gpus = gpus;
			*ret_cpus = idle;
		}
	}
}

/* How well a task would fit a NUMA node: less is better. */
struct fitness {
	bool unlinked;     /* its GPUs would be in several link groups */
	int64_t gpu, idle; /* free there */
};

static struct fitness fitness_of(const struct work *w, uint32_t req,
                                 uint32_t node, int numa)
{
	const struct snap *s = w->snap;
	uint32_t first = s->node.gpu_first[node];
	struct fitness ret = { 0 };
	uint64_t whole = 0, group;
	int64_t shares;

	for (uint32_t i = 0; i < snap_node_ngpus(s, node); i++) {
		if (s->gpu.numa[first + i] != numa ||
		    !fit_devices_is_type(s, req, first + i))
			continue;
		ret.gpu += w->device[first + i];
		whole |= (uint64_t)(w->device[first + i] == 1000) << i;
	}
	group = fit_devices_group(s->gpu.link + first, whole,
	                          (int)(s->req.gpus[req] / 1000));
	ret.unlinked = __builtin_popcountll(group) < s->req.gpus[req] / 1000;
	count_threads(w, node, numa, 0, &ret.idle, &shares);
	return ret;
}

static bool fitter(const struct fitness *a, const struct fitness *b)
{
	if (a->unlinked != b->unlinked)
		return b->unlinked;
	if (a->gpu != b->gpu)
		return a->gpu < b->gpu;
	return a->idle < b->idle;
}

/* Whether a task breaks up an idle CPU. It does so only if no shared CPU has
 * enough left, whatever the alignment: fit_count() relies on that. */
static bool breaks_cpu(const struct work *w, uint32_t req, uint32_t node,
                       int numa)
{
	int64_t part = w->snap->req.cpus[req] % 1000, idle, here, all;

	if (!part)
		return false;
	count_threads(w, node, numa, part, &idle, &here);
	count_threads(w, node, ANY_NUMA, part, &idle, &all);
	return !here && all;
}

/* The best NUMA node for the next task, or ANY_NUMA if it does not ask for one
 * or cannot have it. */
static int pick_numa(const struct work *w, uint32_t req, uint32_t node)
{
	const struct snap *s = w->snap;
	int best = ANY_NUMA, n;
	struct fitness least;

	if (s->req.numa[req] == NUMA_ANY || w->loose ||
	    !has_devices(s, req, node))
		return ANY_NUMA;
	n = count_numas(s, node);
	for (int i = 0; i < n; i++) {
		struct fitness f;

		if (!fit_numa(w, req, node, i, 1) ||
		    (s->req.numa[req] == NUMA_PREFER &&
		     breaks_cpu(w, req, node, i)))
			continue;
		f = fitness_of(w, req, node, i);
		if (best == ANY_NUMA || fitter(&f, &least)) {
			best = i;
			least = f;
		}
	}
	return best;
}

uint32_t fit_task(struct work *w, uint32_t req, uint32_t node,
                  struct snap_task *ret, struct snap_cpu_use *use)
{
	const struct snap *s = w->snap;
	int numa = pick_numa(w, req, node), near = numa;
	uint32_t nuse;

	ret->node = node;
	ret->gpus = 0;
	ret->gpu_milli = 0;
	fit_devices_gpus(w, req, numa, ret);
	if (ret->gpus)
		near = s->gpu.numa[s->node.gpu_first[node] +
		                   (uint32_t)__builtin_ctzll(ret->gpus)];
	nuse = fit_devices_cpus(w, req, node, near, numa, use);
	work_cpus(w, req, node, use, nuse, -1);
	work_rest(w, req, ret, -1);
	return nuse;
}

/* The NUMA node of a task's devices, ANY_NUMA if it has none. */
static int numa_of(const struct snap *s, const struct snap_task *t)
{
	if (t->gpus)
		return s->gpu.numa[s->node.gpu_first[t->node] +
		                   (uint32_t)__builtin_ctzll(t->gpus)];
	if (t[1].cpu_first > t->cpu_first)
		return s->cpu.numa[s->node.cpu_first[t->node] +
		                   s->cpu_use[t->cpu_first].cpu];
	return ANY_NUMA;
}

/* The NUMA node where a resumed task must get CPUs: its memory is still
 * there. */
static int numa_again(const struct snap *s, uint32_t req,
                      const struct snap_task *had)
{
	return s->req.numa[req] == NUMA_STRICT ? numa_of(s, had) : ANY_NUMA;
}

bool fit_cpus_again(const struct work *w, uint32_t req,
                    const struct snap_task *had)
{
	int64_t cpus = w->snap->req.cpus[req];

	return !cpus || (fit_amount(w->cpu[had->node], cpus, 1) &&
	                 fit_threads(w, req, had->node,
	                             numa_again(w->snap, req, had), 1));
}

/* Whether the CPUs that a suspended task had are free now. */
static bool had_are_free(const struct work *w, uint32_t req,
                         const struct snap_task *had)
{
	const struct snap *s = w->snap;
	const int64_t *nfree = w->thread + s->node.cpu_first[had->node];
	int64_t sum = 0;

	for (uint32_t i = had->cpu_first; i < had[1].cpu_first; i++) {
		if (nfree[s->cpu_use[i].cpu] < s->cpu_use[i].milli)
			return false;
		sum += s->cpu_use[i].milli;
	}
	return sum == s->req.cpus[req];
}

uint32_t fit_resume(struct work *w, uint32_t req, const struct snap_task *had,
                    struct snap_cpu_use *use)
{
	const struct snap *s = w->snap;
	uint32_t nuse;

	if (had_are_free(w, req, had)) {
		nuse = had[1].cpu_first - had->cpu_first;
		memcpy(use, s->cpu_use + had->cpu_first, nuse * sizeof(*use));
	} else {
		nuse = fit_devices_cpus(w, req, had->node, numa_of(s, had),
		                        numa_again(s, req, had), use);
	}
	work_cpus(w, req, had->node, use, nuse, -1);
	return nuse;
}
