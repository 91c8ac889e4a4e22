/* json_node.c - nodes as sinfo --json prints them */
#include "slurm/json/json_node.h"

#include <math.h>
#include <string.h>

#include "libcommon/buf.h"
#include "libcommon/mem.h"
#include "slurm/command.h"
#include "slurm/json/json.h"
#include "slurm/rows.h"
#include "slurm/sinfo.h"

static json_t *states_of(const json_t *node)
{
	static const char *const states[][3] = {
		{ "DRAINED", "IDLE", "DRAIN" },
		{ "DRAINING", "MIXED", "DRAIN" },
		{ "RESERVED", "IDLE", "RESERVED" },
		{ "POWERED_DOWN", "IDLE", "POWERED_DOWN" },
		{ "POWERING_UP", "IDLE", "POWERING_UP" },
		{ "POWERING_DOWN", "IDLE", "POWERING_DOWN" },
	};
	const char *state = row_text(node, "state");

	for (size_t i = 0; i < ARRAY_SIZE(states); i++)
		if (!strcmp(state, states[i][0]))
			return json_pack("[s, s]", states[i][1], states[i][2]);
	return json_pack("[s]", state);
}

static json_t *partitions_of(const json_t *node, const json_t *partitions)
{
	json_t *list = json_array();
	const json_t *partition;
	size_t i;

	json_array_foreach(partitions, i, partition)
		if (partition_has(partition, node))
			json_array_append(list,
			                  json_object_get(partition, "name"));
	return list;
}

static json_t *gres_of(const json_t *node, double n)
{
	const char *type = row_text(node, "gpu_type");
	struct buf text = { 0 };
	json_t *ret;

	if (row_int(node, "gpus") > 0)
		buf_printf(&text, "gpu:%s%s%.0f", type, *type ? ":" : "",
		           ceil(n));
	ret = json_string(text.data ? text.data : "");
	buf_free(&text);
	return ret;
}

json_t *json_node(const json_t *node, const json_t *partitions)
{
	const char *name = row_text(node, "name");
	const json_t *features = json_object_get(node, "features");
	int64_t cpus = row_int(node, "cpus");
	int64_t idle = row_int(node, "cpus_free");
	int64_t mem = row_int(node, "memory_mib");
	int64_t unused = row_int(node, "memory_free_mib");
	double gpus = row_real(node, "gpus");
	json_t *ret = json_pack(
	    "{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:o, s:s, s:i, s:s}",
	    "name", name, "hostname", name, "address", name, "cpus",
	    (json_int_t)cpus, "alloc_cpus", (json_int_t)(cpus - idle),
	    "alloc_idle_cpus", (json_int_t)idle, "real_memory", (json_int_t)mem,
	    "alloc_memory", (json_int_t)(mem - unused), "free_mem",
	    json_number(unused), "reason", row_text(node, "reason"), "weight",
	    (int)row_int(node, "weight"), "version", SLURM_VERSION);

	json_object_set_new(ret, "idle_cpus", json_integer(idle));
	json_object_set_new(ret, "temporary_disk",
	                    json_integer(row_int(node, "tmp_mib")));
	json_object_set_new(ret, "state", states_of(node));
	json_object_set_new(ret, "partitions", partitions_of(node, partitions));
	json_object_set_new(ret, "features",
	                    features ? json_copy((json_t *)(uintptr_t)features)
	                             : json_array());
	json_object_set(ret, "active_features",
	                json_object_get(ret, "features"));
	json_object_set_new(ret, "gres", gres_of(node, gpus));
	json_object_set_new(ret, "gres_used",
	                    gres_of(node, gpus - row_real(node, "gpus_free")));
	return ret;
}
