/* align.c - NUMA nodes and link groups of tasks, found by trying all sets */
#include "aischedd/sched/check/align.h"

#include "aischedd/sched/check/amounts.h"
#include "aischedd/sched/check/lists.h"
#include "aischedd/sched/check/near.h"
#include "aischedd/sched/check/slices.h"

enum {
	SETS_OF = 8, /* if a node has at most this many NUMA nodes, all sets of
	                them are tried */
	SETS_MAX = SNAP_NUMAS * (SNAP_NUMAS + 1) / 2
};

/* The sets of NUMA nodes that a task can get: any set if there are up to
 * SETS_OF NUMA nodes; else only sets of consecutive ones. */
struct numa_sets {
	uint32_t n, set[SETS_MAX];
};

static struct numa_sets list_sets(uint32_t nnumas)
{
	struct numa_sets ret = { 0 };

	for (uint32_t set = 1; nnumas <= SETS_OF && set < (uint32_t)1 << nnumas;
	     set++)
		ret.set[ret.n++] = set;
	for (uint32_t from = 0; nnumas > SETS_OF && from < nnumas; from++) {
		uint32_t set = 0;

		for (uint32_t i = from; i < nnumas; i++)
			ret.set[ret.n++] = set |= (uint32_t)1 << i;
	}
	return ret;
}

bool check_align_demands(const struct snap *s, uint32_t req)
{
	return s->req.numa[req] == NUMA_STRICT ||
	       s->req.numa[req] == NUMA_TIGHT ||
	       (s->req.links[req] == LINKS_STRICT &&
	        s->req.gpus[req] >= 1000) ||
	       check_near_matters(s, req);
}

static bool is_of_type(const struct snap *s, uint32_t req, uint32_t node,
                       uint32_t gpu)
{
	return (s->req.gpu_type[req] == SNAP_NONE ||
	        s->gpu.type[gpu] == s->req.gpu_type[req]) &&
	       check_slices_may(s, req, node, gpu);
}

static uint32_t count_numas(const struct snap *s, uint32_t node)
{
	uint32_t n = snap_node_nnumas(s, node);

	n = n ? n : 1;
	for (uint32_t i = 0; i < snap_node_npieces(s, node); i++) {
		uint8_t numa = s->piece.numa[s->node.piece_first[node] + i];

		n = numa < SNAP_NUMAS && numa >= n ? numa + 1u : n;
	}
	for (uint32_t i = s->node.gpu_first[node];
	     i < s->node.gpu_first[node + 1]; i++)
		n = s->gpu.numa[i] >= n ? s->gpu.numa[i] + 1u : n;
	for (uint32_t i = s->node.cpu_first[node];
	     i < s->node.cpu_first[node + 1]; i++)
		n = s->cpu.numa[i] >= n ? s->cpu.numa[i] + 1u : n;
	return n;
}

/* Returns the smallest number of groups of these sizes that have n GPUs
 * together, or UINT32_MAX if all groups have too few. Sets the sizes that it
 * uses to 0. */
static uint32_t fewest(uint32_t *size, uint32_t nsizes, uint32_t n)
{
	uint32_t groups = 0;

	while (n) {
		uint32_t best = 0;

		for (uint32_t i = 1; i < nsizes; i++)
			best = size[i] > size[best] ? i : best;
		if (!size[best])
			return UINT32_MAX;
		n -= size[best] < n ? size[best] : n;
		size[best] = 0;
		groups++;
	}
	return groups;
}

/* Returns the fewest link groups for n wholly free GPUs (gpu NULL: all GPUs are
 * free) in these NUMA nodes, or UINT32_MAX if there are too few. */
static uint32_t groups_in(const struct snap *s, uint32_t req, uint32_t node,
                          const int64_t *gpu, uint32_t set, uint32_t n)
{
	uint32_t size[256] = { 0 };

	for (uint32_t i = s->node.gpu_first[node];
	     i < s->node.gpu_first[node + 1]; i++) {
		if (set >> s->gpu.numa[i] & 1 && is_of_type(s, req, node, i) &&
		    (!gpu || gpu[i] == 1000))
			size[s->gpu.link[i]]++;
	}
	return fewest(size, 256, n);
}

uint32_t check_align_groups(const struct snap *s, uint32_t req, uint32_t node,
                            uint32_t n)
{
	return groups_in(s, req, node, NULL, UINT32_MAX, n);
}

static bool has_cpus(const struct snap *s, uint32_t req, uint32_t node,
                     const int64_t *thread, uint32_t set)
{
	int64_t idle = 0;

	for (uint32_t i = s->node.cpu_first[node];
	     i < s->node.cpu_first[node + 1]; i++)
		idle +=
		    set >> s->cpu.numa[i] & 1 && (!thread || thread[i] == 1000);
	return !snap_node_ncpus(s, node) || 1000 * idle >= s->req.cpus[req];
}

/* Whether the memory of a task fits in the NUMA nodes of `set`. Each of them
 * must have the task's part of the memory free (check_amounts_divide()). Where
 * a NUMA node has less than 0 free, other tasks may have that much memory in
 * `set` instead: subtract it from the free memory of `set`. */
static bool has_mem(const struct snap *s, uint32_t req, uint32_t node,
                    const int64_t *mem, uint32_t set)
{
	const int64_t *total = s->numa_mem + s->node.numa_first[node];
	uint32_t n = snap_node_nnumas(s, node);
	int64_t all = 0, elsewhere = 0, part[SNAP_NUMAS];

	if (!n || !s->req.mem[req])
		return true;
	check_amounts_divide(s, node, set, s->req.mem[req], part);
	mem = mem ? mem + s->node.numa_first[node] : total;
	for (uint32_t i = 0; i < n; i++) {
		elsewhere += mem[i] < 0 ? -mem[i] : 0;
		if (!(set >> i & 1))
			continue;
		all += mem[i] > 0 ? mem[i] : 0;
		if (part[i] && mem[i] < part[i])
			return false;
	}
	return all - elsewhere >= s->req.mem[req];
}

uint32_t check_align_span(const struct snap *s, uint32_t req, uint32_t node)
{
	struct numa_sets all = list_sets(count_numas(s, node));
	uint32_t gpus = (uint32_t)((s->req.gpus[req] + 999) / 1000), least = 0;

	for (uint32_t i = 0; i < all.n; i++) {
		uint32_t set = all.set[i];
		uint32_t size = (uint32_t)__builtin_popcount(set);

		if ((!least || size < least) &&
		    groups_in(s, req, node, NULL, set, gpus) != UINT32_MAX &&
		    has_cpus(s, req, node, NULL, set) &&
		    has_mem(s, req, node, NULL, set) &&
		    (!snap_binds(s, req) ||
		     check_near_could(s, req, node, set)))
			least = size;
	}
	return least;
}

/* Whether a task takes whole devices only, and those other than GPUs are known
 * if it matters where they are. */
static bool is_countable(const struct snap *s, uint32_t req,
                         const struct align_free *nfree)
{
	return s->req.gpus[req] % 1000 == 0 && s->req.cpus[req] % 1000 == 0 &&
	       (nfree->taken || !check_near_matters(s, req));
}

/* Returns the sets of NUMA nodes that are small enough for the
 * demands of the request. */
static struct numa_sets sets_for(const struct snap *s, uint32_t req,
                                 uint32_t node)
{
	enum numa numa = (enum numa)s->req.numa[req];
	struct numa_sets all = list_sets(count_numas(s, node)), ret = { 0 };
	uint32_t most = numa == NUMA_STRICT  ? 1
	                : numa == NUMA_TIGHT ? check_align_span(s, req, node)
	                                     : SNAP_NUMAS;

	/* A task that has devices in the NUMA nodes of its CPUs is tried in
	 * each single one: in several, these are for the planner to choose. */
	if (s->req.near[req] && !s->req.gpus[req])
		most = 1;
	else if (numa == NUMA_ANY)
		return (struct numa_sets){ 1, { UINT32_MAX } };
	for (uint32_t i = 0; i < all.n; i++) {
		if ((uint32_t)__builtin_popcount(all.set[i]) <= most)
			ret.set[ret.n++] = all.set[i];
	}
	return ret;
}

/* As groups_in(), for wholly free GPUs beside which the task has its devices.
 * Clears *all if not all sets of GPUs were tried. */
static uint32_t groups_near(const struct snap *s, uint32_t req, uint32_t node,
                            const struct align_free *nfree, uint32_t set,
                            uint32_t n, bool *all)
{
	uint32_t first = s->node.gpu_first[node];
	uint64_t gpus = 0;

	for (uint32_t i = first; i < s->node.gpu_first[node + 1]; i++) {
		if (set >> s->gpu.numa[i] & 1 && is_of_type(s, req, node, i) &&
		    (!nfree->gpu || nfree->gpu[i] == 1000))
			gpus |= (uint64_t)1 << (i - first);
	}
	return check_near_groups(s, req, node, nfree->taken, set, gpus, n, all);
}

struct align_best check_align_best(const struct snap *s, uint32_t req,
                                   uint32_t node,
                                   const struct align_free *nfree)
{
	uint32_t gpus = (uint32_t)(s->req.gpus[req] / 1000);
	uint32_t n = count_numas(s, node);
	struct numa_sets all = sets_for(s, req, node);
	struct align_best ret = { .known = is_countable(s, req, nfree) };
	bool near = check_near_matters(s, req), tried = true;

	for (uint32_t i = 0; ret.known && i < all.n; i++) {
		uint32_t set = all.set[i], groups;
		uint32_t size = (uint32_t)__builtin_popcount(set);

		/* A task that gets all NUMA nodes needs free memory in each of
		 * them only if it is bound. */
		if ((ret.fits && size > ret.numas) ||
		    !has_cpus(s, req, node, nfree->thread, set) ||
		    ((snap_binds(s, req) || size < n) &&
		     !has_mem(s, req, node, nfree->numa_mem, set)))
			continue;
		groups =
		    near ? groups_near(s, req, node, nfree, set, gpus, &tried)
			 : groups_in(s, req, node, nfree->gpu, set, gpus);
		if (groups == UINT32_MAX ||
		    (s->req.links[req] == LINKS_STRICT &&
		     groups > check_align_groups(s, req, node, gpus)))
			continue;
		if (ret.fits && size == ret.numas && groups >= ret.groups)
			continue;
		ret.fits = true;
		ret.numas = size;
		ret.groups = groups;
	}
	ret.known &= tried;
	return ret;
}

uint32_t check_align_numas(const struct snap *s, const struct snap_task *t,
                           const struct snap_cpu_use *use)
{
	const uint8_t *gpu = s->gpu.numa + s->node.gpu_first[t->node];
	const uint8_t *cpu = s->cpu.numa + s->node.cpu_first[t->node];
	uint32_t set = 0;

	for (uint64_t left = t->gpus; left; left &= left - 1)
		set |= (uint32_t)1 << gpu[__builtin_ctzll(left)];
	for (uint32_t i = t->cpu_first; i < t[1].cpu_first; i++)
		set |= (uint32_t)1 << cpu[use[i].cpu];
	return set;
}

uint32_t check_align_links(const struct snap *s, uint32_t node, uint64_t gpus)
{
	const uint8_t *link = s->gpu.link + s->node.gpu_first[node];
	bool seen[256] = { false };
	uint32_t n = 0;

	for (; gpus; gpus &= gpus - 1) {
		uint8_t group = link[__builtin_ctzll(gpus)];

		n += !seen[group];
		seen[group] = true;
	}
	return n;
}

static void take_mem(const struct snap *s, uint32_t req,
                     const struct snap_task *t, int64_t *mem)
{
	int64_t part[SNAP_NUMAS];

	mem += s->node.numa_first[t->node];
	check_amounts_divide(s, t->node, t->numas, s->req.mem[req], part);
	for (uint32_t i = 0; i < snap_node_nnumas(s, t->node); i++)
		mem[i] -= part[i];
}

int check_align_task(const struct audit *a, uint32_t req, uint64_t job,
                     const struct snap_task *t, bool bound_only,
                     int64_t *numa_mem, int64_t *unbound)
{
	const struct snap *s = a->s;
	enum numa numa = (enum numa)s->req.numa[req];
	uint32_t n = snap_node_nnumas(s, t->node), most = 1;
	uint32_t set = check_align_numas(s, t, a->plan->cpu_use) |
	               (s->req.mem[req] ? t->numas : 0);
	const char *node = s->node.name[t->node];
	bool beside;

	if (n ? !t->numas || (n < 32 && t->numas >> n) : t->numas != 0)
		return check_bad(a, job, "has memory in no NUMA node of %s",
		                 node);
	beside = bound_only || has_mem(s, req, t->node, numa_mem, t->numas);
	take_mem(s, req, t, numa_mem);
	if (!snap_binds(s, req))
		return 0;
	take_mem(s, req, t, unbound);
	unbound += s->node.numa_first[t->node];
	if (numa == NUMA_TIGHT)
		most = check_align_span(s, req, t->node);
	if ((uint32_t)__builtin_popcount(set) > most)
		return check_bad(a, job, "is in %d NUMA nodes of %s, not %u",
		                 __builtin_popcount(set), node, (unsigned)most);
	for (uint32_t i = 0; s->req.mem[req] && i < n; i++) {
		if (t->numas >> i & 1 && unbound[i] < 0)
			return check_bad(a, job,
			                 "memory of NUMA node %u of %s is "
			                 "given twice",
			                 (unsigned)i, node);
	}
	if (!beside)
		return check_bad(
		    a, job, "is bound to memory of %s that others have", node);
	return 0;
}

/* Returns the GPUs of a node that a run gets by this plan. */
static uint64_t gpus_grown(const struct audit *a, uint32_t node, uint32_t run)
{
	uint64_t gpus = 0;

	for (uint32_t i = 0; run != SNAP_NONE && i < a->plan->ngrows; i++) {
		const struct grow *g = &a->plan->grow[i];

		for (uint32_t k = 0; g->run == run && k < g->ntasks; k++) {
			const struct snap_task *t =
			    &a->plan->task[g->task_first + k];

			gpus |= t->node == node ? t->gpus : 0;
		}
	}
	return gpus;
}

int check_align_job(const struct audit *a, uint32_t req, uint64_t job,
                    const struct snap_task *t, uint32_t n, uint32_t run)
{
	const struct snap *s = a->s;

	if (s->req.links[req] != LINKS_STRICT || s->req.gpus[req] < 1000)
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t node = t[i].node, groups;
		uint64_t gpus = 0;

		for (uint32_t k = 0; k < n; k++)
			gpus |= t[k].node == node ? t[k].gpus : 0;
		gpus |= gpus_grown(a, node, run);
		for (uint32_t k = run == SNAP_NONE ? 0 : s->run.task_first[run];
		     run != SNAP_NONE && k < s->run.task_first[run + 1]; k++) {
			if (!a->lost[k] && s->task[k].node == node)
				gpus |= s->task[k].gpus;
		}
		groups = check_align_links(s, node, gpus);
		if (groups >
		    check_align_groups(s, req, node,
		                       (uint32_t)__builtin_popcountll(gpus)))
			return check_bad(a, job,
			                 "has GPUs of %u link groups of %s",
			                 (unsigned)groups, s->node.name[node]);
	}
	return 0;
}
