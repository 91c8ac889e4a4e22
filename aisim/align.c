/* align.c - alignment of running tasks, and blocks of GPUs that are left */
#include "aisim/align.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/state/cluster/node.h"
#include "aisim/sim.h"
#include "libcommon/mem.h"
#include "libcommon/topology.h"

struct align_node {
	uint16_t users[LIMIT_GPUS]; /* by GPU: tasks that have it, or a part */
};

void align_init(struct align *align, size_t nnodes)
{
	*align = (struct align){
		.node = xcalloc(nnodes + 1, sizeof(*align->node)),
	};
}

void align_fini(struct align *align)
{
	free(align->node);
}

/* --- blocks -------------------------------------------------------------- */

static bool is_beside(const struct node *node, uint32_t a, uint32_t b)
{
	return node_gpu_link(node, a) == node_gpu_link(node, b) &&
	       node_gpu_numa(node, a) == node_gpu_numa(node, b);
}

/* Add sign times the blocks of a node; it has none if it is not there. */
static void count_blocks(struct sim *sim, uint32_t at, int sign)
{
	const struct node *node = state_node(sim->state, at);
	const uint16_t *users = sim->align.node[at].users;
	uint64_t left = 0;

	for (uint32_t g = 0; !node->down && !node->gone && g < node->ngpus; g++)
		left |= (uint64_t)!users[g] << g;
	while (left) {
		uint32_t first = (uint32_t)__builtin_ctzll(left), n = 0;

		for (uint32_t g = first; g < node->ngpus; g++) {
			if (!(left >> g & 1) || !is_beside(node, first, g))
				continue;
			left &= ~((uint64_t)1 << g);
			n++;
		}
		for (int b = 0; b < ALIGN_BLOCKS; b++)
			sim->align.blocks[b] += sign * (int64_t)(n / (8u >> b));
	}
}

void align_nodes(struct sim *sim)
{
	memset(sim->align.blocks, 0, sizeof(sim->align.blocks));
	for (size_t i = 0; i < state_nnodes(sim->state); i++)
		count_blocks(sim, (uint32_t)i, 1);
}

static void use_gpus(struct sim *sim, const struct placement *place, int sign)
{
	for (uint32_t i = 0; place && i < place->ntasks; i++) {
		const struct snap_task *t = &place->task[i];
		uint16_t *users = sim->align.node[t->node].users;

		if (!t->gpus)
			continue;
		count_blocks(sim, t->node, -1);
		for (uint64_t left = t->gpus; left; left &= left - 1) {
			int g = __builtin_ctzll(left);

			users[g] = (uint16_t)(users[g] + sign);
		}
		count_blocks(sim, t->node, 1);
	}
}

/* --- alignment ----------------------------------------------------------- */

uint32_t align_numas(struct sim *sim, const struct placement *place,
                     uint32_t task)
{
	const struct snap_task *t = &place->task[task];
	const struct node *node = state_node(sim->state, t->node);
	uint32_t set = t->numas;

	for (uint64_t left = t->gpus; left; left &= left - 1)
		set |= (uint32_t)1
		       << node_gpu_numa(node, (uint32_t)__builtin_ctzll(left));
	for (uint32_t i = t->cpu_first; i < t[1].cpu_first; i++)
		set |= (uint32_t)1 << node->cpu_numa[place->cpu_use[i].cpu];
	return set ? set : 1;
}

/* The request of a task, or the contents of a NUMA node. */
struct amounts {
	int64_t cpu, gpu, mem;
};

/* Set ret[i] to all that is in NUMA node i. CPUs and memory that the node does
 * not count by NUMA node count as enough. */
static void count_numas(const struct node *node, struct amounts *ret)
{
	for (uint32_t i = 0; i < SNAP_NUMAS; i++) {
		ret[i] = (struct amounts){
			.cpu = node->ncpus ? 0 : INT32_MAX,
			.mem = !node->numa_mem    ? INT32_MAX
			       : i < node->nnumas ? node->numa_mem[i]
			                          : 0,
		};
	}
	for (uint32_t i = 0; i < node->ncpus; i++)
		ret[node->cpu_numa[i]].cpu += 1000;
	for (uint32_t g = 0; g < node->ngpus; g++)
		ret[node_gpu_numa(node, g)].gpu += 1000;
}

static bool could_hold(const struct amounts *numa, uint32_t set,
                       const struct amounts *ask)
{
	struct amounts sum = { 0 };

	for (; set; set &= set - 1) {
		const struct amounts *it = &numa[__builtin_ctz(set)];

		sum.cpu += it->cpu;
		sum.gpu += it->gpu;
		sum.mem += it->mem;
	}
	return sum.cpu >= ask->cpu && sum.gpu >= ask->gpu &&
	       sum.mem >= ask->mem;
}

/* Returns the fewest NUMA nodes for a task on the empty node: of up to 8 any
 * may be together, of more only consecutive ones. */
static int fewest_numas(const struct node *node, const struct amounts *ask)
{
	uint32_t n = node_nnumas(node);
	struct amounts numa[SNAP_NUMAS];
	int least = SNAP_NUMAS;

	count_numas(node, numa);
	for (uint32_t set = 1; n <= 8 && set < 1u << n; set++) {
		if (__builtin_popcount(set) < least &&
		    could_hold(numa, set, ask))
			least = __builtin_popcount(set);
	}
	for (uint32_t from = 0; n > 8 && from < n; from++) {
		uint32_t set = 0;

		for (uint32_t i = from; i < n && (int)(i - from) < least; i++) {
			set |= 1u << i;
			if (could_hold(numa, set, ask))
				least = __builtin_popcount(set);
		}
	}
	return least;
}

static int groups_of(const struct node *node, uint64_t gpus)
{
	uint64_t seen[4] = { 0 };
	int n = 0;

	for (; gpus; gpus &= gpus - 1) {
		uint8_t link =
		    node_gpu_link(node, (uint32_t)__builtin_ctzll(gpus));

		n += !(seen[link / 64] >> link % 64 & 1);
		seen[link / 64] |= (uint64_t)1 << link % 64;
	}
	return n;
}

/* Returns the fewest link groups of the node that have n GPUs. */
static int fewest_groups(const struct node *node, int n)
{
	uint32_t size[256] = { 0 };
	int groups = 0;

	for (uint32_t g = 0; g < node->ngpus; g++)
		size[node_gpu_link(node, g)]++;
	for (; n > 0; groups++) {
		uint32_t *most = size;

		for (int i = 1; i < 256; i++)
			most = size[i] > *most ? &size[i] : most;
		n -= (int)*most;
		*most = 0;
	}
	return groups;
}

/* Returns the GPUs that the job has on the node, and its number of tasks there.
 */
static uint64_t gpus_there(const struct placement *place, uint32_t node,
                           int *ret_tasks)
{
	uint64_t gpus = 0;

	*ret_tasks = 0;
	for (uint32_t i = 0; i < place->ntasks; i++) {
		if (place->task[i].node != node)
			continue;
		gpus |= place->task[i].gpus;
		++*ret_tasks;
	}
	return gpus;
}

/* Returns how many tasks have more NUMA nodes than they need. */
static int count_numa(struct sim *sim, const struct placement *place,
                      const struct amounts *ask)
{
	uint32_t last = UINT32_MAX;
	int n = 0, least = 0;

	for (uint32_t i = 0; i < place->ntasks; i++) {
		uint32_t node = place->task[i].node;

		if (node != last)
			least = fewest_numas(state_node(sim->state, node), ask);
		last = node;
		n += __builtin_popcount(align_numas(sim, place, i)) > least;
	}
	return n;
}

/* Returns how many tasks are on nodes where the job has its GPUs in more link
 * groups than necessary. */
static int count_links(struct sim *sim, const struct placement *place)
{
	uint32_t last = UINT32_MAX;
	int n = 0;

	for (uint32_t i = 0; i < place->ntasks; i++) {
		uint32_t at = place->task[i].node;
		const struct node *node = state_node(sim->state, at);
		uint64_t gpus;
		int tasks;

		if (at == last)
			continue;
		last = at;
		gpus = gpus_there(place, at, &tasks);
		if (groups_of(node, gpus) >
		    fewest_groups(node, __builtin_popcountll(gpus)))
			n += tasks;
	}
	return n;
}

static struct align_tasks tasks_of(struct sim *sim, const char *packed,
                                   const struct placement *place)
{
	struct align_tasks ret = { 0 };
	struct request req;
	struct spec spec;
	int numa, links;

	spec_unpack(&spec, packed);
	spec_resolve(&spec, 0, &req, NULL);
	numa = numa_parse(spec.numa);
	links = links_parse(spec.links);
	if (numa != NUMA_ANY)
		ret.numa[numa != NUMA_PREFER] = count_numa(
		    sim, place,
		    &(struct amounts){ req.cpus_milli, req.gpus_milli,
		                       req.mem_mib });
	if (links != LINKS_ANY && req.gpus_milli >= 1000)
		ret.links[links == LINKS_STRICT] = count_links(sim, place);
	return ret;
}

bool align_is_met(struct sim *sim, const char *packed,
                  const struct placement *place)
{
	struct align_tasks t = tasks_of(sim, packed, place);

	return !t.numa[1] && !t.links[1];
}

static void add_tasks(struct align *align, const struct align_tasks *t,
                      int sign)
{
	for (int i = 0; i < 2; i++) {
		align->now.numa[i] += sign * t->numa[i];
		align->now.links[i] += sign * t->links[i];
	}
}

void align_note(struct sim *sim, const struct job *job,
                const struct placement *before, const struct placement *after)
{
	struct align_tasks *tasks = &sim->job[job->id - 1].unaligned;

	if (!sim->align.node)
		return;
	use_gpus(sim, before, -1);
	use_gpus(sim, after, 1);
	add_tasks(&sim->align, tasks, -1);
	*tasks = after ? tasks_of(sim, job->packed, after)
	               : (struct align_tasks){ 0 };
	add_tasks(&sim->align, tasks, 1);
}

/* --- the summary --------------------------------------------------------- */

void align_advance(struct align *align, int64_t seconds)
{
	align->seconds += seconds;
	for (int i = 0; i < 2; i++) {
		align->numa_s[i] += align->now.numa[i] * seconds;
		align->links_s[i] += align->now.links[i] * seconds;
	}
	for (int b = 0; b < ALIGN_BLOCKS; b++)
		align->blocks_s[b] += align->blocks[b] * seconds;
}

static void print_excess(const char *name, const int64_t s[2], FILE *out)
{
	fprintf(out, ",\"%s\":{\"wish\":%lld,\"demand\":%lld}", name,
	        (long long)s[0], (long long)s[1]);
}

void align_print(const struct align *align, FILE *out)
{
	print_excess("numa_excess", align->numa_s, out);
	print_excess("link_excess", align->links_s, out);
	fputs(",\"blocks\":{", out);
	for (int b = 0; b < ALIGN_BLOCKS; b++)
		fprintf(out, "%s\"%d\":%.2f", b ? "," : "", 8 >> b,
		        align->seconds ? (double)align->blocks_s[b] /
		                             (double)align->seconds
		                       : 0);
	fputc('}', out);
}
