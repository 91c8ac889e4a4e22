/* conf_nodes.c - the node sections of a configuration, expanded */
#include <stdlib.h>
#include <string.h>

#include "libcommon/conf/conf_build.h"
#include "libcommon/hostlist.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"
#include "libcommon/mig.h"
#include "libcommon/parse.h"

struct nodes {
	struct conf_build *b;
	struct conf_node *node;
	/* For each node, the place of its section in the file. */
	const struct conf_value **at;
	size_t n, cap, at_cap;
};

/* Check that a list has a number for each GPU. */
static int check_length(struct nodes *nodes, cfg_t *section,
                        const struct conf_node *node, const char *key,
                        const struct strlist *list)
{
	if (list->n && node->gpus != CONF_NONE && list->n != (size_t)node->gpus)
		return build_fail(nodes->b, build_place(section, key),
		                  "node '%s': %s has %zu numbers for %lld GPUs",
		                  cfg_title(section), key, list->n,
		                  (long long)node->gpus);
	return 0;
}

/* Check that a list of NUMA nodes or link groups has a number for each GPU, and
 * that its numbers begin at 0 without gaps. */
static int check_list(struct nodes *nodes, cfg_t *section,
                      const struct conf_node *node, const char *key,
                      const struct strlist *list)
{
	const struct conf_value *at = build_place(section, key);
	uint64_t seen = 0;

	if (check_length(nodes, section, node, key, list) < 0)
		return -1;
	for (size_t i = 0; i < list->n; i++)
		seen |= (uint64_t)1 << strtoul(list->s[i], NULL, 10);
	if (seen & (seen + 1))
		return build_fail(nodes->b, at,
		                  "node '%s': %s has gaps: number from 0",
		                  cfg_title(section), key);
	return 0;
}

/* Check that the node may have partitions, by this key. */
static int check_partitions(struct nodes *nodes, cfg_t *section,
                            const struct conf_node *node, const char *key)
{
	if (nodes->b->conf->pools[node->pool].runner == RUNNER_NONE)
		return 0;
	return build_fail(nodes->b, build_place(section, key),
	                  "node '%s': %s: its pool has a runner; only the "
	                  "nodes of aisim have partitions by it",
	                  cfg_title(section), key);
}

/* Read one text of mig_fixed, "GPU:PARTITIONS", into parts[GPU]. */
static int read_fixed(struct nodes *nodes, cfg_t *section,
                      const struct conf_node *node, const char *text,
                      uint64_t *parts)
{
	const struct conf_value *at = build_place(section, "mig_fixed");
	int64_t most = node->gpus == CONF_NONE ? LIMIT_GPUS : node->gpus, gpu;
	const char *colon = strchr(text, ':');
	char number[8];

	snprintf(number, sizeof(number), "%.*s",
	         colon ? (int)(colon - text) : 0, text);
	if (!colon || parse_int(number, 0, most - 1, &gpu, NULL) < 0)
		return build_fail(nodes->b, at,
		                  "node '%s': mig_fixed: '%s' names no GPU of "
		                  "it: use GPU:PARTITIONS, like 0:1g.10gb*7",
		                  cfg_title(section), text);
	if (parts[gpu])
		return build_fail(nodes->b, at,
		                  "node '%s': mig_fixed: GPU %s is given twice",
		                  cfg_title(section), number);
	if (mig_parts_parse(colon + 1, ',', &parts[gpu], nodes->b->err) < 0)
		return err_wrap(nodes->b->err,
		                "%s:%d: node '%s': mig_fixed: GPU %s", at->file,
		                at->line, cfg_title(section), number);
	if (node->mig &&
	    mig_units(mig_find_model(node->mig)) != mig_parts_all(parts[gpu]))
		return build_fail(nodes->b, at,
		                  "node '%s': mig_fixed: GPU %s has no "
		                  "partitions of %s",
		                  cfg_title(section), number, node->mig);
	return 0;
}

static int build_fixed(struct nodes *nodes, cfg_t *section,
                       struct conf_node *node)
{
	uint64_t *parts;

	if (!node->mig_fixed.n)
		return 0;
	if (check_partitions(nodes, section, node, "mig_fixed") < 0)
		return -1;
	parts = arena_array(nodes->b->conf->arena, uint64_t, LIMIT_GPUS);
	for (size_t i = 0; i < node->mig_fixed.n; i++) {
		if (read_fixed(nodes, section, node, node->mig_fixed.s[i],
		               parts) < 0)
			return -1;
	}
	node->parts = parts;
	return 0;
}

/* Check that all numbers of gpu_numa are those of a NUMA node. */
static int check_gpu_numa(struct nodes *nodes, cfg_t *section,
                          const struct conf_node *node)
{
	const struct conf_value *at = build_place(section, "gpu_numa");

	for (size_t i = 0; i < node->gpu_numa.n; i++) {
		unsigned long n = strtoul(node->gpu_numa.s[i], NULL, 10);

		if (n >= LIMIT_SOCKETS)
			return build_fail(
			    nodes->b, at,
			    "node '%s': gpu_numa: NUMA nodes are numbered "
			    "from 0 to %d",
			    cfg_title(section), LIMIT_SOCKETS - 1);
		if (node->sockets != CONF_NONE &&
		    n >= (unsigned long)node->sockets)
			return build_fail(
			    nodes->b, at,
			    "node '%s': gpu_numa: there is no NUMA node %lu: "
			    "sockets is %lld, and numbers begin at 0",
			    cfg_title(section), n, (long long)node->sockets);
	}
	return 0;
}

/* Warn of what cannot be quite as it is written. */
static void warn_of_numas(struct nodes *nodes, cfg_t *section,
                          const struct conf_node *node)
{
	int64_t mib, sum = 0;

	if (node->sockets != CONF_NONE && node->cpus != CONF_NONE &&
	    node->cpus % node->sockets)
		build_warn(nodes->b, build_place(section, "sockets"),
		           "node '%s': its %lld CPUs are not divided evenly "
		           "among %lld sockets",
		           cfg_title(section), (long long)node->cpus,
		           (long long)node->sockets);
	for (size_t i = 0; i < node->numa_memory.n; i++)
		if (parse_mib(node->numa_memory.s[i], 'M', &mib, NULL) == 0)
			sum += mib;
	if (sum && node->memory != CONF_NONE && sum != node->memory)
		build_warn(nodes->b, build_place(section, "numa_memory"),
		           "node '%s': numa_memory is %lld MiB in all, but "
		           "memory is %lld MiB: the difference is taken from "
		           "all NUMA nodes evenly",
		           cfg_title(section), (long long)sum,
		           (long long)node->memory);
}

static int check_devices(struct nodes *nodes, cfg_t *section,
                         const struct conf_node *node)
{
	size_t numas = node->numa_memory.n;

	if (check_list(nodes, section, node, "gpu_numa", &node->gpu_numa) < 0 ||
	    check_list(nodes, section, node, "gpu_links", &node->gpu_links) <
	        0 ||
	    check_length(nodes, section, node, "gpu_roots", &node->gpu_roots) <
	        0)
		return -1;
	if (numas && node->sockets != CONF_NONE &&
	    numas != (size_t)node->sockets)
		return build_fail(nodes->b, build_place(section, "numa_memory"),
		                  "node '%s': numa_memory has %zu sizes for "
		                  "%lld sockets",
		                  cfg_title(section), numas,
		                  (long long)node->sockets);
	if (numas > LIMIT_SOCKETS)
		return build_fail(nodes->b, build_place(section, "numa_memory"),
		                  "node '%s': numa_memory has %zu sizes, more "
		                  "than %d",
		                  cfg_title(section), numas, LIMIT_SOCKETS);
	if (node->mig && node->gpu_memory != CONF_NONE &&
	    !mig_is_of_size(mig_find_model(node->mig), node->gpu_memory))
		return build_fail(nodes->b, build_place(section, "gpu_memory"),
		                  "node '%s': gpu_memory is not that of %s",
		                  cfg_title(section), node->mig);
	if (node->mig && check_partitions(nodes, section, node, "mig") < 0)
		return -1;
	warn_of_numas(nodes, section, node);
	return check_gpu_numa(nodes, section, node);
}

static int check_numbers(struct nodes *nodes, cfg_t *section,
                         const struct conf_node *node)
{
	const char *title = cfg_title(section);

	if (node->cpus != CONF_NONE && node->reserve_cpus > node->cpus * 1000)
		return build_fail(
		    nodes->b, build_place(section, "reserve_cpus"),
		    "node '%s': reserve_cpus is more than cpus", title);
	if (node->memory != CONF_NONE && node->reserve_memory > node->memory)
		return build_fail(
		    nodes->b, build_place(section, "reserve_memory"),
		    "node '%s': reserve_memory is more than memory", title);
	if (node->cpus != CONF_NONE && node->sockets > node->cpus)
		return build_fail(nodes->b, build_place(section, "sockets"),
		                  "node '%s': more sockets than cpus", title);
	return check_devices(nodes, section, node);
}

/* Read the roots of the devices "NAME:N", such as "0,0,1,1", and add these
 * devices to the pieces of the node. */
static int read_roots(struct nodes *nodes, cfg_t *section,
                      struct conf_node *node, const char *text, size_t kind,
                      int n, const char *roots)
{
	const struct conf_value *at = build_place(section, "devices");
	struct conf_piece *piece =
	    arena_array(nodes->b->conf->arena, struct conf_piece,
	                node->npieces + (uint32_t)n);
	const char *s = roots;

	if (node->npieces)
		memcpy(piece, node->pieces, node->npieces * sizeof(*piece));
	for (int i = 0; i < n; i++) {
		char *end;
		unsigned long root = strtoul(s, &end, 10);

		if (end == s || *s < '0' || *s > '9' || root >= LIMIT_DEVICES ||
		    *end != (i + 1 < n ? ',' : '\0'))
			return build_fail(
			    nodes->b, at,
			    "node '%s': devices: '%s': roots needs %d numbers "
			    "from 0 to %d, separated by commas",
			    cfg_title(section), text, n, LIMIT_DEVICES - 1);
		piece[node->npieces + (uint32_t)i] =
		    (struct conf_piece){ (uint8_t)kind, (uint16_t)root };
		s = end + 1;
	}
	node->pieces = piece;
	node->npieces += (uint32_t)n;
	return 0;
}

/* Read one item of the list of devices, "NAME[:N][:roots=ROOT,...]". */
static int read_devices(struct nodes *nodes, cfg_t *section,
                        struct conf_node *node, const char *text)
{
	const struct conf *conf = nodes->b->conf;
	const struct conf_value *at = build_place(section, "devices");
	const char *roots = strstr(text, ":roots=");
	char *head =
	    xstrndup(text, roots ? (size_t)(roots - text) : strlen(text));
	struct device_need need;
	int status = devices_parse_need(conf->device_names, conf->ndevices,
	                                head, &need, nodes->b->err);

	free(head);
	if (status < 0 && nodes->b->err && nodes->b->err->code == EINVAL)
		return build_fail(nodes->b, at,
		                  "node '%s': devices: bad devices '%s': use "
		                  "NAME[:N] or NAME:N:roots=ROOT,...",
		                  cfg_title(section), text);
	if (status < 0)
		return err_wrap(nodes->b->err, "%s:%d: node '%s': devices",
		                at->file, at->line, cfg_title(section));
	if (need.pcie || need.numa)
		return build_fail(nodes->b, at,
		                  "node '%s': devices: '%s': only requests say "
		                  ":pcie or :numa",
		                  cfg_title(section), text);
	for (size_t k = 0; k < conf->ndevices; k++) {
		int n = need.counts.n[k];

		if (node->devs.n[k] + n > DEVICE_MAX)
			return build_fail(nodes->b, at,
			                  "node '%s': devices: more than %d of "
			                  "'%s'",
			                  cfg_title(section), DEVICE_MAX,
			                  conf->device_names[k]);
		node->devs.n[k] = (int16_t)(node->devs.n[k] + n);
		if (!n || !roots)
			continue;
		if (node->npieces + (uint32_t)n > LIMIT_DEVICES)
			return build_fail(nodes->b, at,
			                  "node '%s': devices: more than %d "
			                  "with roots",
			                  cfg_title(section), LIMIT_DEVICES);
		if (read_roots(nodes, section, node, text, k, n,
		               roots + strlen(":roots=")) < 0)
			return -1;
	}
	return 0;
}

/* Set node->devs and node->pieces from the list of devices. */
static int build_devs(struct nodes *nodes, cfg_t *section,
                      struct conf_node *node)
{
	for (size_t i = 0; i < node->devices.n; i++)
		if (read_devices(nodes, section, node, node->devices.s[i]) < 0)
			return -1;
	if ((node->npieces || node->gpu_roots.n) &&
	    nodes->b->conf->pools[node->pool].runner != RUNNER_NONE)
		return build_fail(
		    nodes->b,
		    build_place(section,
		                node->npieces ? "devices" : "gpu_roots"),
		    "node '%s': its pool has a runner, which "
		    "finds the PCIe roots; only the nodes of aisim "
		    "have them by the configuration",
		    cfg_title(section));
	return 0;
}

/* Put a node whose section names no pool into the only pool; fail if there
 * are several. */
static int check_pool(struct nodes *nodes, cfg_t *section,
                      struct conf_node *node)
{
	if (node->pool >= 0)
		return 0;
	if (nodes->b->conf->npools > 1)
		return build_fail(nodes->b, conf_place(section),
		                  "node '%s': pool is not given, and there are "
		                  "several",
		                  cfg_title(section));
	node->pool = 0;
	return 0;
}

/* Returns the number of parts of a path like "z1/b1/r3", or 0 if one
 * is empty. */
static size_t count_parts(const char *path)
{
	size_t n = 0;

	for (size_t len; (len = strcspn(path, "/")); path += len + 1) {
		n++;
		if (!path[len])
			return n;
	}
	return 0;
}

int build_topology(struct conf_build *b, cfg_t *section, const char *what,
                   const char *path)
{
	const struct conf_value *at = build_place(section, "topology");
	size_t n = count_parts(path), max = b->conf->topology.levels.n;

	if (!n)
		return build_fail(b, at,
		                  "%s '%s': topology '%s' has an empty part",
		                  what, cfg_title(section), path);
	if (n > max)
		return build_fail(b, at,
		                  "%s '%s': topology '%s' has %zu part%s, "
		                  "but topology.levels has %zu",
		                  what, cfg_title(section), path, n,
		                  n == 1 ? "" : "s", max);
	return 0;
}

/* Divide n nodes evenly among the places in the hostlist `paths`: of k
 * places, the first one gets the first n/k nodes, the second the next n/k,
 * and so on. */
static int deal_places(struct nodes *nodes, cfg_t *section, const char *paths,
                       struct conf_node *node, size_t n)
{
	const struct conf_value *at = build_place(section, "topology");
	const struct conf *conf = nodes->b->conf;
	struct hostlist list = { 0 };
	int status = -1;

	if (hostlist_parse(&list, paths, nodes->b->err) < 0)
		return err_wrap(nodes->b->err, "%s:%d: node '%s': topology",
		                at->file, at->line, cfg_title(section));
	if (n % list.n) {
		build_fail(nodes->b, at,
		           "node '%s': topology has %zu places, which do not "
		           "divide %zu node%s evenly",
		           cfg_title(section), list.n, n, n == 1 ? "" : "s");
		goto out;
	}
	for (size_t i = 0; i < list.n; i++) {
		const char *place = arena_strdup(conf->arena, list.name[i]);

		if (build_topology(nodes->b, section, "node", place) < 0)
			goto out;
		for (size_t k = 0; k < n / list.n; k++)
			(node++)->topology = place;
	}
	status = 0;
out:
	hostlist_free(&list);
	return status;
}

static int add_names(struct nodes *nodes, cfg_t *section,
                     const struct conf_node *common,
                     const struct hostlist *list)
{
	const struct conf_value *at = conf_place(section);
	size_t first = nodes->n;

	if (list->n > LIMIT_NODES - nodes->n)
		return build_fail(nodes->b, at, "more than %d nodes",
		                  LIMIT_NODES);
	for (size_t i = 0; i < list->n; i++) {
		const char *pool = nodes->b->conf->pools[common->pool].name;
		const char *name = list->name[i], *slash = strchr(name, '/');
		size_t len = slash ? (size_t)(slash - name) : 0;
		struct conf_node *node;

		if (slash && (strlen(pool) != len || memcmp(pool, name, len)))
			return build_fail(nodes->b, at,
			                  "node '%s': its pool is '%s'", name,
			                  pool);
		if (slash)
			name = slash + 1;
		if (conf_check_node_name(name, nodes->b->err) < 0)
			return err_wrap(nodes->b->err, "%s:%d", at->file,
			                at->line);
		nodes->node = GROW(nodes->node, nodes->n, &nodes->cap);
		nodes->at = GROW(nodes->at, nodes->n, &nodes->at_cap);
		nodes->at[nodes->n] = at;
		node = &nodes->node[nodes->n++];
		*node = *common;
		node->by_pool = slash != NULL;
		node->name = arena_strdup(nodes->b->conf->arena, name);
	}
	if (!common->topology)
		return 0;
	return deal_places(nodes, section, common->topology,
	                   &nodes->node[first], list->n);
}

static int add_section(struct nodes *nodes, cfg_t *section)
{
	const struct conf_value *at = conf_place(section);
	struct conf_node common = { .line = at->line };
	struct hostlist list = { 0 };
	int status;

	if (hostlist_parse(&list, cfg_title(section), nodes->b->err) < 0)
		return err_wrap(nodes->b->err, "%s:%d: node", at->file,
		                at->line);
	build_defaults(nodes->b, "node", &common);
	status = build_keys(nodes->b, "node", section, &common) < 0 ||
	                 check_pool(nodes, section, &common) < 0 ||
	                 check_numbers(nodes, section, &common) < 0 ||
	                 build_fixed(nodes, section, &common) < 0 ||
	                 build_devs(nodes, section, &common) < 0 ||
	                 add_names(nodes, section, &common, &list) < 0
	             ? -1
	             : 0;
	hostlist_free(&list);
	return status;
}

/* Sort by name, then pool, then place in the file. */
static int by_name(const void *a, const void *b)
{
	const struct conf_node *x = *(const struct conf_node *const *)a;
	const struct conf_node *y = *(const struct conf_node *const *)b;
	int order = strcmp(x->name, y->name);

	if (!order)
		order = (x->pool > y->pool) - (x->pool < y->pool);
	return order ? order : (x > y) - (x < y);
}

/* Returns the first node in the file that has the same name and pool as an
 * earlier one, or NULL. */
static const struct conf_node *find_twice(const struct nodes *nodes)
{
	const struct conf_node **sorted =
	    xcalloc(nodes->n + 1, sizeof(*sorted));
	const struct conf_node *found = NULL;

	for (size_t i = 0; i < nodes->n; i++)
		sorted[i] = &nodes->node[i];
	qsort(sorted, nodes->n, sizeof(*sorted), by_name);
	for (size_t i = 1; i < nodes->n; i++)
		if (!strcmp(sorted[i - 1]->name, sorted[i]->name) &&
		    sorted[i - 1]->pool == sorted[i]->pool &&
		    (!found || sorted[i] < found))
			found = sorted[i];
	free(sorted);
	return found;
}

static int check_names(struct conf_build *b, const struct conf_value *at)
{
	const struct strlist *levels = &b->conf->topology.levels;

	if (levels->n > LIMIT_LEVELS)
		return build_fail(b, at, "topology.levels: at most %d levels",
		                  LIMIT_LEVELS);
	for (size_t i = 0; i < levels->n; i++)
		for (size_t k = 0; k < i; k++)
			if (!strcmp(levels->s[i], levels->s[k]))
				return build_fail(b, at,
				                  "topology.levels: '%s' is "
				                  "given twice",
				                  levels->s[i]);
	return 0;
}

/* Whether some pool has nodes whose labels may give their place in
 * the topology. */
static bool may_have_labels(const struct conf *conf)
{
	for (size_t i = 0; i < conf->npools; i++)
		if (runner_traits(conf->pools[i].runner)->has_labels)
			return true;
	return false;
}

/* Returns the index of the level in a text like "LEVEL=LABEL"; levels->n if
 * there is no such level. */
static size_t labelled(const struct strlist *levels, const char *text)
{
	size_t len = strcspn(text, "="), i = 0;

	while (i < levels->n && (strlen(levels->s[i]) != len ||
	                         strncmp(levels->s[i], text, len) != 0))
		i++;
	return i;
}

/* Set topology.keys: for each level, the key of the label that names the domain
 * of a node. */
static int build_labels(struct conf_build *b)
{
	struct conf_topology *t = &b->conf->topology;
	const struct conf_value *at = NULL;
	const char **key =
	    arena_array(b->conf->arena, const char *, t->levels.n);

	for (size_t i = 0; i < t->levels.n; i++)
		key[i] = t->levels.s[i];
	if (t->labels.n)
		at = build_place(build_section(b, "topology", 0), "labels");
	if (t->labels.n && !may_have_labels(b->conf))
		build_warn(b, at,
		           "topology.labels: no pool has nodes with labels");
	for (size_t i = 0; i < t->labels.n; i++) {
		const char *text = t->labels.s[i];
		size_t level = labelled(&t->levels, text);

		if (level == t->levels.n)
			return build_fail(b, at,
			                  "topology.labels: '%s': there is no "
			                  "such level",
			                  text);
		if (key[level] != t->levels.s[level])
			return build_fail(b, at,
			                  "topology.labels: '%s' is given a "
			                  "label twice",
			                  t->levels.s[level]);
		key[level] = strchr(text, '=') + 1;
	}
	t->keys = (struct strlist){ t->levels.n, key };
	return 0;
}

/* Check that some node's topology has a part for every level, unless labels of
 * nodes may give the parts. */
static int check_levels(struct conf_build *b)
{
	const struct conf *conf = b->conf;
	const struct conf_value *at;
	size_t most = 0;

	if (build_labels(b) < 0)
		return -1;
	if (!conf->topology.levels.n)
		return 0;
	at = build_place(build_section(b, "topology", 0), "levels");
	if (check_names(b, at) < 0)
		return -1;
	for (size_t i = 0; i < conf->nnodes; i++) {
		const char *path = conf->nodes[i].topology;

		if (path && count_parts(path) > most)
			most = count_parts(path);
	}
	for (size_t i = 0; i < conf->nscales; i++) {
		const char *path = conf->scales[i].topology;

		if (path && count_parts(path) > most)
			most = count_parts(path);
	}
	if (most == conf->topology.levels.n || may_have_labels(conf))
		return 0;
	if (conf->nnodes)
		return build_fail(b, at,
		                  "topology.levels: no node has the level '%s'",
		                  conf->topology.levels.s[most]);
	build_warn(b, at, "topology.levels: no node has them");
	return 0;
}

int build_nodes(struct conf_build *b)
{
	struct nodes nodes = { .b = b };
	const struct conf_node *twice;
	int status = 0;

	for (size_t i = 0; !status && i < build_count(b, "node"); i++)
		status = add_section(&nodes, build_section(b, "node", i));
	twice = status ? NULL : find_twice(&nodes);
	if (twice)
		status = build_fail(b, nodes.at[twice - nodes.node],
		                    "node '%s' is declared twice", twice->name);
	if (!status && nodes.n) {
		struct conf_node *copy =
		    arena_array(b->conf->arena, struct conf_node, nodes.n);

		memcpy(copy, nodes.node, nodes.n * sizeof(*copy));
		b->conf->nodes = copy;
		b->conf->nnodes = nodes.n;
	}
	free(nodes.node);
	free(nodes.at);
	return status ? status : check_levels(b);
}
