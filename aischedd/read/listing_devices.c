/* listing_devices.c - the devices of a job, as text */
#include "aischedd/read/listing_devices.h"

#include "aischedd/state/cluster/node.h"
#include "aischedd/state/job.h"
#include "aischedd/state/state.h"
#include "libcommon/runner_kind.h"

/* Append the numbers of the set bits, as in " 0-3,6". */
static void put_bits(struct buf *out, uint64_t bits)
{
	for (unsigned i = 0, end; i < 64; i = end) {
		end = i + 1;
		if (!(bits >> i & 1))
			continue;
		while (end < 64 && bits >> end & 1)
			end++;
		buf_printf(out, "%s%u",
		           bits & ((UINT64_C(1) << i) - 1) ? "," : " ", i);
		if (end > i + 1)
			buf_printf(out, "-%u", end - 1);
	}
}

/* The devices that a job's tasks have on one node; sets are bit masks. */
struct had {
	uint64_t gpus, gpu_numas, links, cpu_numas;
	uint64_t devs; /* besides GPUs */
	uint32_t ncpus;
	/* the share of a GPU that each task has, in thousandths; 0:
	 * whole GPUs */
	uint16_t part;
	bool parted; /* they have partitions */
};

static void look_at(struct had *had, const struct placement *place, uint32_t i,
                    const struct node *node)
{
	const struct snap_task *task = &place->task[i];

	had->gpus |= task->gpus;
	had->devs |= placement_devs(place, i);
	if (task->gpus && task->gpu_milli < 1000)
		had->part = task->gpu_milli;
	had->parted |= task->gpus && task->units;
	for (uint32_t g = 0; g < node->ngpus && g < 64; g++) {
		if (!(task->gpus >> g & 1))
			continue;
		had->gpu_numas |= UINT64_C(1) << node_gpu_numa(node, g) % 64;
		had->links |= UINT64_C(1) << node_gpu_link(node, g) % 64;
	}
	for (uint32_t c = task->cpu_first; c < task[1].cpu_first; c++) {
		uint16_t cpu = place->cpu_use[c].cpu;

		had->ncpus++;
		if (cpu < node->ncpus)
			had->cpu_numas |= UINT64_C(1)
			                  << node->cpu_numa[cpu] % 64;
	}
}

/* Returns the text behind "WORD/" if it begins with that; else NULL. */
static const char *behind(const char *text, const char *word)
{
	size_t len = strlen(word);

	return !strncmp(text, word, len) && text[len] == '/' ? text + len + 1
	                                                     : NULL;
}

/* Returns a device's name without what is said before: the "KIND/NODE/" of
 * names in clusters, "KIND/POOL/NAME", whose pool is mostly the node. */
static const char *short_name(const char *text, const char *kind,
                              const char *node)
{
	const char *in = behind(text, kind);
	const char *on = in ? behind(in, node) : NULL;

	return on ? on : in ? in : text;
}

/* Append the devices of a kind besides GPUs, as in ", rdma /dev/r0,/dev/r1".
 * before: what comes before the first. Devices that are gone have no kind and
 * are left out. Returns whether there are any. */
static bool put_kind(struct buf *out, const struct node *node, size_t kind,
                     const char *name, uint64_t devs, const char *before)
{
	const struct node_devices *d = node->named;
	bool any = false;

	for (uint32_t i = 0; i < d->nhere; i++) {
		if (!(devs >> i & 1) || d->kind[i] != kind)
			continue;
		if (any)
			buf_addc(out, ',');
		else
			buf_printf(out, "%s %s ", before, name);
		buf_puts(out, short_name(d->name[i], name, node->name));
		any = true;
	}
	return any;
}

static void put_devs(struct buf *out, const struct conf *conf,
                     const struct node *node, uint64_t devs, bool first)
{
	for (size_t k = 0; devs && k < conf->ndevices; k++)
		if (put_kind(out, node, k, conf->device_names[k], devs,
		             first ? "" : ","))
			first = false;
}

/* Append how many GPUs and CPUs a job has on a node whose kubelet chooses them,
 * and the NUMA nodes where the plan expects them to be. */
static void put_predicted(struct buf *out, const struct had *had)
{
	int ngpus = __builtin_popcountll(had->gpus);

	if (ngpus)
		buf_printf(out, " %d GPU%s%s", ngpus, ngpus == 1 ? "" : "s",
		           had->ncpus ? "," : "");
	if (had->ncpus)
		buf_printf(out, " %u CPU%s", had->ncpus,
		           had->ncpus == 1 ? "" : "s");
	buf_puts(out, " (NUMA");
	put_bits(out, had->gpu_numas | had->cpu_numas);
	buf_puts(out, ", predicted)");
}

/* Whether the GPUs of the node are in several link groups. */
static bool has_groups(const struct node *node)
{
	for (uint32_t g = 1; g < node->ngpus; g++)
		if (node_gpu_link(node, g) != node_gpu_link(node, 0))
			return true;
	return false;
}

static void put_had(struct buf *out, const struct had *had, bool many,
                    bool groups, const char *type)
{
	if (had->gpus) {
		if (had->parted && type)
			buf_printf(out, " %s of", type);
		else if (had->part)
			buf_printf(out, " %g of", had->part / 1e3);
		buf_puts(out, " GPU");
		put_bits(out, had->gpus);
		if (many) {
			buf_puts(out, " (NUMA");
			put_bits(out, had->gpu_numas);
		}
		if (many || groups) {
			buf_puts(out, many ? ", links" : " (links");
			put_bits(out, had->links);
			buf_addc(out, ')');
		}
	}
	if (many && had->ncpus) {
		buf_printf(out, "%s %u CPU%s (NUMA", had->gpus ? "," : "",
		           had->ncpus, had->ncpus == 1 ? "" : "s");
		put_bits(out, had->cpu_numas);
		buf_addc(out, ')');
	}
}

bool listing_devices(const struct state *state, const struct placement *place,
                     const char *type, struct buf *out)
{
	const struct conf *conf = state_conf(state);
	size_t was = out->len;

	for (uint32_t i = 0, end; i < place->ntasks; i = end) {
		const struct node *node =
		    state_node(state, place->task[i].node);
		struct had had = { 0 };
		bool many = node_nnumas(node) > 1;
		bool binds =
		    runner_traits(conf->pools[node->pool].runner)->binds;
		bool gives = binds || node->gpus_named;
		bool predicted =
		    many && !gives && node->policy >= NODE_POLICY_RESTRICTED;

		for (end = i; end < place->ntasks &&
		              place->task[end].node == place->task[i].node;
		     end++)
			look_at(&had, place, end, node);
		many = many && (gives || predicted);
		if (!gives && !predicted)
			had.gpus = 0;
		/* Nothing binds the CPUs of a pod with claimed GPUs. */
		if (!binds && !predicted)
			had.ncpus = 0;
		if (!had.gpus && !had.devs && !(many && had.ncpus))
			continue;
		buf_printf(out, "%s%s:", out->len > was ? "; " : "",
		           state_node_label(state, place->task[i].node));
		if (predicted && (had.gpus || had.ncpus))
			put_predicted(out, &had);
		else
			put_had(out, &had, many, has_groups(node), type);
		put_devs(out, conf, node, had.devs,
		         !had.gpus && !(many && had.ncpus));
	}
	return out->len > was;
}

void listing_apart(const struct state *state, const struct placement *place,
                   bool *numas, bool *links)
{
	struct had there = { 0 };

	*numas = *links = false;
	for (uint32_t i = 0; i < place->ntasks; i++) {
		const struct node *node =
		    state_node(state, place->task[i].node);
		struct had had = { 0 };
		uint64_t in;

		if (i && place->task[i].node != place->task[i - 1].node)
			there.links = 0;
		look_at(&had, place, i, node);
		in = had.gpu_numas | had.cpu_numas;
		there.links |= had.links;
		*numas |= (in & (in - 1)) != 0;
		*links |= (there.links & (there.links - 1)) != 0;
	}
}
