/* sinfo_fields.c - the columns of sinfo */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/hostlist.h"
#include "libcommon/mem.h"
#include "slurm/job.h"
#include "slurm/rows.h"
#include "slurm/sinfo.h"

/* --- partitions and nodes ------------------------------------------------- */

static const char queue_needs[] =
    "name state leaf is_default max_time default_time grace pools";
static const char node_needs[] =
    "name pool state reason cpus cpus_free memory_mib memory_free_mib gpus "
    "gpus_free gpu_type features jobs weight tmp_mib";

int partitions_read(struct client *client, json_t **ret_partitions,
                    json_t **ret_nodes, struct err *err)
{
	json_t *fields = json_array(), *queues = NULL, *queue;
	size_t i;
	int rc;

	rows_add_fields(fields, queue_needs);
	rc = rows_read(client, json_pack("{s:s}", "op", "queues"), fields,
	               &queues, NULL, err);
	json_array_clear(fields);
	rows_add_fields(fields, node_needs);
	if (rc == 0)
		rc = rows_read(client, json_pack("{s:s}", "op", "nodes"),
		               fields, ret_nodes, NULL, err);
	json_decref(fields);
	if (rc < 0) {
		json_decref(queues);
		return -1;
	}
	*ret_partitions = json_array();
	json_array_foreach(queues, i, queue)
		if (row_int(queue, "leaf") == 1)
			json_array_append(*ret_partitions, queue);
	json_decref(queues);
	return 0;
}

bool partition_has(const json_t *partition, const json_t *node)
{
	const json_t *pools = json_object_get(partition, "pools"), *pool;
	size_t i;

	json_array_foreach(pools, i, pool)
		if (!strcmp(json_string_value(pool), row_text(node, "pool")))
			return true;
	return false;
}

const char *node_state(const json_t *node, bool is_short)
{
	static const char *const names[][3] = {
		{ "IDLE", "idle", "idle" },
		{ "ALLOCATED", "allocated", "alloc" },
		{ "MIXED", "mixed", "mix" },
		{ "DOWN", "down", "down" },
		{ "DRAINED", "drained", "drain" },
		{ "DRAINING", "draining", "drng" },
		{ "RESERVED", "reserved", "resv" },
		{ "POWERED_DOWN", "idle~", "idle~" },
		{ "POWERING_UP", "idle#", "idle#" },
		{ "POWERING_DOWN", "idle%", "idle%" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i][0], row_text(node, "state")))
			return names[i][is_short ? 2 : 1];
	return "unknown";
}

static void put_gpus(const json_t *node, int64_t n, struct buf *out)
{
	const char *type = row_text(node, "gpu_type");

	if (row_int(node, "gpus") > 0)
		buf_printf(out, "gpu:%s%s%lld", type, *type ? ":" : "",
		           (long long)n);
}

void put_node_gres(const json_t *node, struct buf *out)
{
	put_gpus(node, row_int(node, "gpus"), out);
}

/* --- values --------------------------------------------------------------- */

static const json_t *nodes_of(const json_t *row)
{
	return json_object_get(row, "nodes");
}

VALUE(v_as_is)
{
	const json_t *value = json_object_get(row, field->needs);

	UNUSED;
	if (json_is_integer(value))
		buf_i64(out, json_integer_value(value));
	else
		buf_puts(out, row_text(row, field->needs));
}

VALUE(v_partition)
{
	UNUSED;
	buf_puts(out, row_text(row, "partition"));
	if (row_int(row, "is_default") == 1)
		buf_addc(out, '*');
}

VALUE(v_available)
{
	UNUSED;
	buf_puts(out, strcmp(row_text(row, "partition_state"), "open") != 0
	                  ? "down"
	                  : "up");
}

/* Print a time limit, "infinite" if there is none. Hours are printed even if
 * they are 0. */
VALUE(v_limit)
{
	int64_t s = row_int(row, field->needs);

	UNUSED;
	if (s == ROW_NONE)
		return;
	if (s >= 24 * 3600)
		buf_printf(out, "%lld-%02d:%02d:%02d",
		           (long long)(s / (24 * 3600)), (int)(s / 3600 % 24),
		           (int)(s / 60 % 60), (int)(s % 60));
	else if (s >= 3600)
		buf_printf(out, "%d:%02d:%02d", (int)(s / 3600),
		           (int)(s / 60 % 60), (int)(s % 60));
	else
		buf_printf(out, "%d:%02d", (int)(s / 60), (int)(s % 60));
}

VALUE(v_state)
{
	UNUSED;
	buf_puts(out,
	         json_array_size(nodes_of(row))
	             ? node_state(row, field->letter == 't' ||
	                                   !strcmp(field->name, "statecompact"))
	             : "n/a");
}

VALUE(v_count)
{
	UNUSED;
	buf_i64(out, (int64_t)json_array_size(nodes_of(row)));
}

VALUE(v_names)
{
	size_t n = json_array_size(nodes_of(row)), i;
	const char **name = xcalloc(n + 1, sizeof(*name));

	UNUSED;
	for (i = 0; i < n; i++)
		name[i] = row_text(json_array_get(nodes_of(row), i), "name");
	if (n)
		hostlist_format(name, n, out);
	free(name);
}

/* Print the smallest value of the nodes, with a '+' if some have more: "8+". */
static void put_least(const json_t *row, const char *key, struct buf *out)
{
	const json_t *node;
	int64_t least = -1, most = -1;
	size_t i;

	json_array_foreach(nodes_of(row), i, node) {
		int64_t value = row_int(node, key);

		least = least < 0 || value < least ? value : least;
		most = value > most ? value : most;
	}
	buf_i64(out, least < 0 ? 0 : least);
	if (most > least)
		buf_addc(out, '+');
}

VALUE(v_least)
{
	UNUSED;
	put_least(row, field->needs, out);
}

/* Print sockets, cores of each and threads of each: as in `scontrol show node`,
 * all CPUs are cores of one socket. */
VALUE(v_sct)
{
	UNUSED;
	buf_puts(out, "1:");
	put_least(row, field->needs, out);
	buf_puts(out, ":1");
}

static bool is_out(const json_t *node)
{
	const char *state = row_text(node, "state");

	return !strcmp(state, "DOWN") || !strcmp(state, "DRAINED") ||
	       !strcmp(state, "DRAINING");
}

/* Print the numbers of CPUs as ALLOCATED/IDLE/UNAVAILABLE/ALL. */
VALUE(v_cpus)
{
	int64_t sum[4] = { 0 };
	const json_t *node;
	size_t i;

	UNUSED;
	json_array_foreach(nodes_of(row), i, node) {
		int64_t all = row_int(node, "cpus");
		int64_t unused = row_int(node, "cpus_free");

		sum[0] += all - unused;
		sum[is_out(node) ? 2 : 1] += unused;
		sum[3] += all;
	}
	buf_printf(out, "%lld/%lld/%lld/%lld", (long long)sum[0],
	           (long long)sum[1], (long long)sum[2], (long long)sum[3]);
}

static void count_nodes(const json_t *row, int64_t sum[4])
{
	const json_t *node;
	size_t i;

	json_array_foreach(nodes_of(row), i, node) {
		bool busy = row_int(node, "jobs") > 0;

		sum[busy ? 0 : is_out(node) ? 2 : 1]++;
		sum[3]++;
	}
}

VALUE(v_nodes)
{
	int64_t sum[4] = { 0 };

	UNUSED;
	count_nodes(row, sum);
	buf_printf(out, "%lld/%lld/%lld/%lld", (long long)sum[0],
	           (long long)sum[1], (long long)sum[2], (long long)sum[3]);
}

VALUE(v_nodes_short)
{
	int64_t sum[4] = { 0 };

	UNUSED;
	count_nodes(row, sum);
	buf_printf(out, "%lld/%lld", (long long)sum[0], (long long)sum[1]);
}

VALUE(v_used_memory)
{
	UNUSED;
	buf_i64(out,
	        row_int(row, "memory_mib") - row_int(row, "memory_free_mib"));
}

VALUE(v_gres)
{
	UNUSED;
	put_node_gres(row, out);
}

VALUE(v_used_gres)
{
	double used = row_real(row, "gpus") - row_real(row, "gpus_free");

	UNUSED;
	put_gpus(row, (int64_t)ceil(used), out);
}

VALUE(v_features)
{
	const json_t *list = json_object_get(row, "features"), *item;
	size_t i;

	UNUSED;
	json_array_foreach(list, i, item)
		buf_printf(out, "%s%s", i ? "," : "", json_string_value(item));
}

/* clang-format off */
const struct slurm_field node_fields[] = {
	{ 'A', "nodeai", "NODES(A/I)", "nodes", v_nodes_short, NULL, OF_SINFO, 0 },
	{ 'a', "available", "AVAIL", "partition", v_available, NULL, OF_SINFO, 0 },
	{ 'B', "maxcpuspernode", "MAX_CPUS_PER_NODE", "partition", v_none, "UNLIMITED", OF_SINFO, 0 },
	{ 'b', "features_act", "ACTIVE_FEATURES", "features", v_features, "(null)", OF_SINFO, 0 },
	{ 'C', "cpusstate", "CPUS(A/I/O/T)", "nodes", v_cpus, NULL, OF_SINFO, 0 },
	{ 'c', "cpus", "CPUS", "cpus", v_least, NULL, OF_SINFO, 0 },
	{ 'D', "nodes", "NODES", "nodes", v_count, NULL, OF_SINFO, 0 },
	{ 'd', "disk", "TMP_DISK", "tmp_mib", v_least, NULL, OF_SINFO, 0 },
	{ 'E', "reason", "REASON", "reason", v_as_is, "none", OF_SINFO, 0 },
	{ 'e', "freemem", "FREE_MEM", "memory_free_mib", v_as_is, "N/A", OF_SINFO, 0 },
	{ 'F', "nodeaiot", "NODES(A/I/O/T)", "nodes", v_nodes, NULL, OF_SINFO, 0 },
	{ 'f', "features", "AVAIL_FEATURES", "features", v_features, "(null)", OF_SINFO, 0 },
	{ 'G', "gres", "GRES", "gpus", v_gres, "(null)", OF_SINFO, 0 },
	{ 'g', "groups", "GROUPS", "partition", v_none, "all", OF_SINFO, 0 },
	{ 'H', "timestamp", "TIMESTAMP", "", v_none, "Unknown", OF_SINFO, 0 },
	{ 'h', "oversubscribe", "OVERSUBSCRIBE", "partition", v_none, "NO", OF_SINFO, 0 },
	{ 'I', "priorityjobfactor", "PRIO_JOB_FACTOR", "partition", v_none, "1", OF_SINFO, 0 },
	{ 'i', "reservation", "RESERVATION", "", v_none, "", OF_SINFO, 0 },
	{ 'L', "defaulttime", "DEFAULTTIME", "default_time", v_limit, "n/a", OF_SINFO, 0 },
	{ 'l', "time", "TIMELIMIT", "max_time", v_limit, "infinite", OF_SINFO, 0 },
	{ 'M', "preemptmode", "PREEMPT_MODE", "partition", v_none, "OFF", OF_SINFO, 0 },
	{ 'm', "memory", "MEMORY", "memory_mib", v_least, NULL, OF_SINFO, 0 },
	{ 'N', "nodelist", "NODELIST", "nodes", v_names, NULL, OF_SINFO, 0 },
	{ 'n', "nodehost", "HOSTNAMES", "name", v_as_is, NULL, OF_SINFO, 0 },
	{ 'O', "cpusload", "CPU_LOAD", "", v_none, "N/A", OF_SINFO, 0 },
	{ 'o', "nodeaddr", "NODE_ADDR", "name", v_as_is, NULL, OF_SINFO, 0 },
	{ 'P', "partition", "PARTITION", "partition", v_partition, NULL, OF_SINFO, 0 },
	{ 'p', "prioritytier", "PRIO_TIER", "partition", v_none, "1", OF_SINFO, 0 },
	{ 'R', "partitionname", "PARTITION", "partition", v_as_is, NULL, OF_SINFO, 0 },
	{ 'r', "root", "ROOT", "partition", v_none, "no", OF_SINFO, 0 },
	{ 'S', "allocnodes", "ALLOCNODES", "partition", v_none, "all", OF_SINFO, 0 },
	{ 's', "size", "JOB_SIZE", "partition", v_none, "1-infinite", OF_SINFO, 0 },
	{ 'T', "statelong", "STATE", "state", v_state, NULL, OF_SINFO, 0 },
	{ 't', "statecompact", "STATE", "state", v_state, NULL, OF_SINFO, 0 },
	{ 'U', "userlong", "USER", "", v_none, "Unknown", OF_SINFO, 0 },
	{ 'u', "user", "USER", "", v_none, "Unknown", OF_SINFO, 0 },
	{ 'V', "cluster", "CLUSTER", "", v_none, "N/A", OF_SINFO, 0 },
	{ 'v', "version", "VERSION", "", v_none, "24.05.0", OF_SINFO, 0 },
	{ 'w', "weight", "WEIGHT", "weight", v_least, NULL, OF_SINFO, 0 },
	{ 'X', "sockets", "SOCKETS", "", v_none, "1", OF_SINFO, 0 },
	{ 'Y', "cores", "CORES", "cpus", v_least, NULL, OF_SINFO, 0 },
	{ 'Z', "threads", "THREADS", "", v_none, "1", OF_SINFO, 0 },
	{ 'z', "socketcorethread", "S:C:T", "cpus", v_sct, NULL, OF_SINFO, 0 },
	{ 0, "allocmem", "ALLOCMEM", "memory_free_mib", v_used_memory, NULL, OF_SINFO, 0 },
	{ 0, "comment", "COMMENT", "", v_none, "(null)", OF_SINFO, 0 },
	{ 0, "extra", "EXTRA", "", v_none, "(null)", OF_SINFO, 0 },
	{ 0, "gresused", "GRES_USED", "gpus_free", v_used_gres, "(null)", OF_SINFO, 0 },
	{ 0, "statecomplete", "STATECOMPLETE", "state", v_state, NULL, OF_SINFO, 0 },
	{ 0, NULL, NULL, NULL, NULL, NULL, 0, 0 },
};
/* clang-format on */

bool node_field_gathers(const struct slurm_field *field)
{
	return !strcmp(field->needs, "nodes") || field->value == v_least ||
	       field->value == v_none;
}

bool node_field_is_of_partition(const struct slurm_field *field)
{
	return !strcmp(field->needs, "partition") || field->value == v_limit;
}
