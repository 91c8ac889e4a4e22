/* pool_devices.c - whether a pool gives devices where a request wants them */
#include "aischedd/state/cluster/pool_devices.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "aischedd/state/cluster/node.h"
#include "aischedd/state/state_priv.h"

_Static_assert(NODE_KNOWS <= 32, "one bit each");

uint32_t pool_devices_known(const struct node *node)
{
	uint32_t ret = (uint32_t)node->kinds_rooted << KNOWS_ROOT |
	               (uint32_t)node->kinds_zoned << KNOWS_NUMA;
	bool rooted = false;

	if (node->gone || !node->gpus_named)
		return 0;
	for (uint32_t i = 0; i < node->ngpus; i++)
		rooted |= node->gpu_root[i] != 0;
	if (rooted)
		ret |= (uint32_t)1 << KNOWS_GPU_ROOT |
		       (uint32_t)node->kinds_rooted << KNOWS_BOTH;
	return ret;
}

bool pool_devices_are_placed(const struct spec *spec)
{
	return spec->device &&
	       (strstr(spec->device, ":pcie") || strstr(spec->device, ":numa"));
}

/* Whether the plan chooses the devices of a kind and the GPUs of all nodes; for
 * :pcie, those of some nodes suffice: the others have no known PCIe roots. */
static bool are_chosen(const struct state *state, const struct pool *pool,
                       uint32_t kind, bool pcie)
{
	const uint32_t *n = pool->gives;
	uint32_t others = 0;

	if (!state->conf->devices[kind].class)
		return false;
	for (int i = GIVES_COUNTED; i <= GIVES_STRICT; i++)
		others += n[i];
	return !pool->ready ||
	       (n[GIVES_NAMED] + n[GIVES_NO_NUMA] && (pcie || !others));
}

/* Write what keeps the pool from giving the kind to tasks with GPUs; "": it can
 * give it. */
static void put_unknown(const struct pool *pool, const char *kind_name,
                        uint32_t kind, bool pcie, char *ret, size_t size)
{
	const uint32_t *n = pool->knows;

	*ret = '\0';
	if (!pool->ready)
		return;
	if (pcie && !n[KNOWS_GPU_ROOT])
		snprintf(ret, size, "PCIe roots of its GPUs are not known");
	else if (pcie && !n[KNOWS_ROOT + kind])
		snprintf(ret, size, "PCIe roots of its %s are not known",
		         kind_name);
	else if (pcie && !n[KNOWS_BOTH + kind])
		snprintf(ret, size,
		         "no node has known PCIe roots of both GPUs and %s",
		         kind_name);
	else if (!pcie && pool->gives[GIVES_NO_NUMA])
		snprintf(ret, size,
		         "NUMA nodes of its GPUs are not known ('node' "
		         "sections can say them)");
	else if (!pcie && !n[KNOWS_NUMA + kind])
		snprintf(ret, size, "NUMA nodes of its %s are not known",
		         kind_name);
}

/* Whether the pool gives the kind of devices near the task's GPUs. */
static bool gives_near(const struct state *state, uint32_t pool,
                       const struct spec *spec, uint32_t kind, bool pcie,
                       struct err *err)
{
	const struct pool *it = &state->pools.pool[pool];
	struct request req;
	char why[160];

	spec_request(spec, 0, &req);
	if (!are_chosen(state, it, kind, pcie))
		snprintf(why, sizeof(why),
		         "its nodes choose devices themselves (device plugin)");
	else if (!req.gpus_milli)
		snprintf(why, sizeof(why),
		         "its jobs are bound to no NUMA nodes, and this one "
		         "asks for no GPUs");
	else
		put_unknown(it, state->conf->devices[kind].name, kind, pcie,
		            why, sizeof(why));
	if (!*why)
		return true;
	err_set(err, EINVAL, "pool '%s': %s: --device %s cannot be had there",
	        state->conf->pools[pool].name, why, spec->device);
	return false;
}

bool pool_devices_aligns(const struct state *state, uint32_t pool,
                         const struct spec *spec, struct err *err)
{
	const struct conf *conf = state->conf;
	struct device_need need;

	/* A text that cannot be parsed is refused elsewhere. */
	if (devices_parse_need(conf->device_names, conf->ndevices, spec->device,
	                       &need, NULL) < 0)
		return true;
	for (uint32_t i = 0; i < DEVICE_KINDS; i++) {
		bool pcie = need.pcie >> i & 1;

		if ((pcie || need.numa >> i & 1) &&
		    !gives_near(state, pool, spec, i, pcie, err))
			return false;
	}
	return true;
}
