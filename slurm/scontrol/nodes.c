/* nodes.c - show partitions and nodes */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/clean.h"
#include "libcommon/hostlist.h"
#include "libcommon/mem.h"
#include "slurm/job.h"
#include "slurm/rows.h"
#include "slurm/scontrol/scontrol.h"
#include "slurm/sinfo.h"
#include "slurm/words.h"

/* Print a line of "Key=value" pairs, indented unless it is the first of a
 * record. With -o, lines are joined. */
__attribute__((format(printf, 3, 4))) static void put_line(
    const struct scontrol *s, bool first, const char *fmt, ...)
{
	char text[4096];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n >= (int)sizeof(text))
		n = sizeof(text) - 1;
	if (!first)
		fputs(s->one_line ? " " : "\n   ", stdout);
	fwrite(text, 1, n > 0 ? text_clean(text, (size_t)n) : 0, stdout);
}

static void end_record(const struct scontrol *s)
{
	fputs(s->one_line ? "\n" : "\n\n", stdout);
}

static char *clock_of(int64_t seconds, const char *none)
{
	struct buf text = { 0 };

	if (seconds == ROW_NONE)
		buf_puts(&text, none);
	else
		put_clock(seconds, &text);
	return buf_take(&text);
}

/* --- partitions ----------------------------------------------------------- */

/* The sums over the nodes of a partition. */
struct node_sum {
	int64_t n, cpus, mem_mib, gpus;
	char *names;
};

static struct node_sum sum_of(const json_t *partition, const json_t *nodes)
{
	const char **name = xcalloc(json_array_size(nodes) + 1, sizeof(*name));
	struct node_sum sum = { 0 };
	struct buf text = { 0 };
	const json_t *node;
	size_t i;

	json_array_foreach(nodes, i, node) {
		if (!partition_has(partition, node))
			continue;
		name[sum.n++] = row_text(node, "name");
		sum.cpus += row_int(node, "cpus");
		sum.mem_mib += row_int(node, "memory_mib");
		sum.gpus += row_int(node, "gpus");
	}
	if (sum.n)
		hostlist_format(name, (size_t)sum.n, &text);
	else
		buf_puts(&text, "(null)");
	sum.names = buf_take(&text);
	free(name);
	return sum;
}

/* Print a partition. No value is empty or has a blank, because clients split
 * the lines at blanks. */
static void print_partition(const struct scontrol *s, const json_t *p,
                            const json_t *nodes)
{
	struct node_sum sum = sum_of(p, nodes);
	char *usual = clock_of(row_int(p, "default_time"), "NONE");
	char *most = clock_of(row_int(p, "max_time"), "UNLIMITED");
	bool is_open = !strcmp(row_text(p, "state"), "open");
	const struct style style = { 0 };
	struct buf mem = { 0 };
	char gpus[48] = "";

	if (sum.gpus)
		snprintf(gpus, sizeof(gpus), ",gres/gpu=%lld",
		         (long long)sum.gpus);
	put_line(s, true, "PartitionName=%s", row_text(p, "name"));
	put_line(s, false, "AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL");
	put_line(s, false, "AllocNodes=ALL Default=%s QoS=N/A",
	         row_int(p, "is_default") == 1 ? "YES" : "NO");
	put_line(s, false,
	         "DefaultTime=%s DisableRootJobs=NO ExclusiveUser=NO "
	         "GraceTime=%lld Hidden=NO",
	         usual, (long long)row_int(p, "grace"));
	put_line(s, false,
	         "MaxNodes=UNLIMITED MaxTime=%s MinNodes=0 LLN=NO "
	         "MaxCPUsPerNode=UNLIMITED",
	         most);
	put_line(s, false, "Nodes=%s", sum.names);
	put_line(s, false,
	         "PriorityJobFactor=1 PriorityTier=1 RootOnly=NO ReqResv=NO "
	         "OverSubscribe=NO");
	put_line(s, false, "OverTimeLimit=NONE PreemptMode=OFF");
	put_line(s, false,
	         "State=%s TotalCPUs=%lld TotalNodes=%lld "
	         "SelectTypeParameters=NONE",
	         is_open ? "UP" : "DOWN", (long long)sum.cpus,
	         (long long)sum.n);
	put_line(s, false, "JobDefaults=(null)");
	put_line(s, false, "DefMemPerNode=UNLIMITED MaxMemPerNode=UNLIMITED");
	put_mib(sum.mem_mib, &style, &mem);
	put_line(s, false, "TRES=cpu=%lld,mem=%s,node=%lld,billing=%lld%s",
	         (long long)sum.cpus, mem.data, (long long)sum.n,
	         (long long)sum.cpus, gpus);
	buf_free(&mem);
	end_record(s);
	free(sum.names);
	free(usual);
	free(most);
}

/* --- nodes ---------------------------------------------------------------- */

static char *state_of(const json_t *node)
{
	char *state = xstrdup(row_text(node, "state"));
	bool busy = row_int(node, "jobs") > 0;
	char *ret;

	if (strncmp(state, "DRAIN", 5) != 0)
		return state;
	free(state);
	ret = xasprintf("%s+DRAIN", busy ? "MIXED" : "IDLE");
	return ret;
}

static char *partitions_of(const json_t *node, const json_t *partitions)
{
	struct buf text = { 0 };
	const json_t *p;
	size_t i;

	json_array_foreach(partitions, i, p)
		if (partition_has(p, node))
			buf_printf(&text, "%s%s", text.len ? "," : "",
			           row_text(p, "name"));
	return buf_take(&text);
}

static char *features_of(const json_t *node)
{
	const json_t *list = json_object_get(node, "features"), *item;
	struct buf text = { 0 };
	size_t i;

	json_array_foreach(list, i, item)
		buf_printf(&text, "%s%s", i ? "," : "",
		           json_string_value(item));
	if (!text.len)
		buf_puts(&text, "(null)");
	return buf_take(&text);
}

static void put_tres(const struct scontrol *s, const json_t *node)
{
	int64_t cpus = row_int(node, "cpus"), gpus = row_int(node, "gpus");
	int64_t mem = row_int(node, "memory_mib");
	int64_t used_cpus = cpus - row_int(node, "cpus_free");
	int64_t used_mem = mem - row_int(node, "memory_free_mib");
	int64_t used_gpus = gpus - row_int(node, "gpus_free");
	char all[48] = "", used[48] = "";
	const struct style style = { 0 };
	struct buf size = { 0 };

	if (gpus > 0)
		snprintf(all, sizeof(all), ",gres/gpu=%lld", (long long)gpus);
	if (used_gpus > 0)
		snprintf(used, sizeof(used), ",gres/gpu=%lld",
		         (long long)used_gpus);
	put_mib(mem, &style, &size);
	put_line(s, false, "CfgTRES=cpu=%lld,mem=%s,billing=%lld%s",
	         (long long)cpus, size.data, (long long)cpus, all);
	buf_clear(&size);
	put_mib(used_mem, &style, &size);
	if (row_int(node, "jobs") > 0)
		put_line(s, false, "AllocTRES=cpu=%lld,mem=%s%s",
		         (long long)used_cpus, size.data, used);
	else
		put_line(s, false, "AllocTRES=");
	buf_free(&size);
}

static void print_node(const struct scontrol *s, const json_t *node,
                       const json_t *partitions)
{
	const char *name = row_text(node, "name");
	char *state = state_of(node), *features = features_of(node);
	char *of = partitions_of(node, partitions);
	int64_t cpus = row_int(node, "cpus");
	int64_t mem = row_int(node, "memory_mib");
	int64_t unused = row_int(node, "memory_free_mib");
	struct buf gres = { 0 };

	put_node_gres(node, &gres);
	put_line(s, true, "NodeName=%s CoresPerSocket=%lld", name,
	         (long long)cpus);
	put_line(s, false,
	         "CPUAlloc=%lld CPUEfctv=%lld CPUTot=%lld CPULoad=N/A",
	         (long long)(cpus - row_int(node, "cpus_free")),
	         (long long)cpus, (long long)cpus);
	put_line(s, false, "AvailableFeatures=%s", features);
	put_line(s, false, "ActiveFeatures=%s", features);
	put_line(s, false, "Gres=%s", gres.len ? gres.data : "(null)");
	put_line(s, false, "NodeAddr=%s NodeHostName=%s Version=%s", name, name,
	         SLURM_VERSION);
	put_line(
	    s, false,
	    "RealMemory=%lld AllocMem=%lld FreeMem=%lld Sockets=1 Boards=1",
	    (long long)mem, (long long)(mem - unused), (long long)unused);
	put_line(s, false,
	         "State=%s ThreadsPerCore=1 TmpDisk=%lld Weight=%lld Owner=N/A "
	         "MCS_label=N/A",
	         state, (long long)row_int(node, "tmp_mib"),
	         (long long)row_int(node, "weight"));
	put_line(s, false, "Partitions=%s ", of);
	put_tres(s, node);
	if (*row_text(node, "reason"))
		put_line(s, false, "Reason=%s", row_text(node, "reason"));
	end_record(s);
	buf_free(&gres);
	free(state);
	free(features);
	free(of);
}

/* --- partitions and nodes ------------------------------------------------- */

/* Read the names of nodes from a list such as "n[0-2],m". The name of a
 * partition and a text that is no list are one name. NULL: no names. */
static struct hostlist names_of(const char *what, bool partition)
{
	struct hostlist names = { 0 };

	if (what && (partition || hostlist_parse(&names, what, NULL) < 0)) {
		names.name = xcalloc(1, sizeof(*names.name));
		names.name[names.n++] = xstrdup(what);
	}
	return names;
}

/* Whether to show a row: all are if there are no names. Removes its name, which
 * a list may have twice. */
static bool is_named(struct hostlist *names, const char *what, const char *name)
{
	bool named = !what;

	for (size_t i = 0; i < names->n;) {
		if (strcmp(names->name[i], name) != 0) {
			i++;
			continue;
		}
		free(names->name[i]);
		names->name[i] = names->name[--names->n];
		named = true;
	}
	return named;
}

static int show(struct scontrol *s, const char *what, bool partition)
{
	const char *kind = partition ? "Partition" : "Node";
	json_t *partitions = NULL, *nodes = NULL, *row;
	const char *call =
	    partition ? "slurm_load_partitions" : "slurm_load_nodes";
	struct hostlist names;
	struct err err;
	int status;
	size_t i;

	if (!scontrol_connect(s, call))
		return EXIT_FAILURE;
	if (partitions_read(s->client, &partitions, &nodes, &err) < 0) {
		fprintf(stderr, "%s error: %s\n", call, words_of_job(&err));
		return EXIT_FAILURE;
	}
	names = names_of(what, partition);
	json_array_foreach(partition ? partitions : nodes, i, row) {
		if (!is_named(&names, what, row_text(row, "name")))
			continue;
		if (partition)
			print_partition(s, row, nodes);
		else
			print_node(s, row, partitions);
	}
	json_decref(partitions);
	json_decref(nodes);
	for (i = 0; i < names.n; i++)
		printf("%s %s not found\n", kind, names.name[i]);
	status = names.n ? EXIT_FAILURE : EXIT_SUCCESS;
	hostlist_free(&names);
	return status;
}

int scontrol_show_partition(struct scontrol *s, const char *name)
{
	return show(s, name, true);
}

int scontrol_show_node(struct scontrol *s, const char *name)
{
	return show(s, name, false);
}
