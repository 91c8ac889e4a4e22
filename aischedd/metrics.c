/* metrics.c - what the daemon counts and measures */
#include "aischedd/metrics.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "aischedd/daemon.h"
#include "aischedd/state/cluster/counts.h"
#include "aischedd/state/cluster/node.h"
#include "config.h"
#include "libcommon/clock.h"

/* The data that all getters read, taken at one moment. */
struct metrics_seen {
	const struct daemon *d;
	struct store_stats store;
};

static double mean(double sum, uint64_t n)
{
	return n ? sum / (double)n : 0;
}

/* Returns the number of jobs in each state that is not final, as {"pending":
 * 3, ...}. */
static json_t *get_jobs(const struct metrics_seen *seen)
{
	const uint64_t *counts = state_counts(seen->d->state);
	json_t *jobs = json_object();

	for (int i = 0; i < JOB_NSTATES; i++) {
		char name[32];
		const char *from = job_state_name((enum job_state)i);
		size_t n = 0;

		if (job_state_is_final((enum job_state)i))
			continue;
		for (; from[n] && n < sizeof(name) - 1; n++)
			name[n] = (char)(from[n] | 0x20);
		name[n] = '\0';
		json_object_set_new(jobs, name,
		                    json_integer((json_int_t)counts[i]));
	}
	return jobs;
}

/* Append a sentence if a list of a node's section has another length than the
 * node has GPUs: only the runner knows how many these are. */
static void add_list(json_t *all, const struct node *node, const char *key,
                     const struct strlist *list)
{
	if (list->n && node->ngpus && list->n != node->ngpus)
		json_array_append_new(
		    all, json_sprintf("Node '%s': %s has %zu numbers for %u "
		                      "GPUs.",
		                      node->name, key, list->n,
		                      (unsigned)node->ngpus));
}

static void add_lists(json_t *all, const struct daemon *d)
{
	for (size_t i = 0; i < d->conf->nnodes; i++) {
		const struct conf_node *conf = &d->conf->nodes[i];
		int node =
		    state_node_of(d->state, (uint32_t)conf->pool, conf->name);

		if (node < 0)
			continue;
		add_list(all, state_node(d->state, (uint32_t)node), "gpu_numa",
		         &conf->gpu_numa);
		add_list(all, state_node(d->state, (uint32_t)node), "gpu_links",
		         &conf->gpu_links);
	}
}

static json_t *get_shortcomings(const struct metrics_seen *seen)
{
	json_t *list = json_array();

	for (size_t i = 0; i < seen->d->npools; i++) {
		struct runner *r = seen->d->pool[i].runner;
		const char *text = r ? r->ops->shortcomings(r) : NULL;

		if (text && *text)
			json_array_append_new(list, json_string(text));
	}
	add_lists(list, seen->d);
	if (seen->d->full && seen->d->full_err.code == ESTALE)
		json_array_append_new(list,
		                      json_string(seen->d->full_err.text));
	return list;
}

/* Returns how many starts the nodes of each pool of a cluster have refused, as
 * {"gpu": 2, ...}. */
static json_t *get_starts_refused(const struct metrics_seen *seen)
{
	const struct conf *conf = seen->d->conf;
	const struct count_table *t = state_count_table(seen->d->state);
	json_t *pools = json_object();

	for (size_t i = 0; i < conf->npools; i++) {
		uint64_t n = t->start_failures[i][FAULT_REFUSED];

		if (runner_traits(conf->pools[i].runner)->has_api)
			json_object_set_new(pools, conf->pools[i].name,
			                    json_integer((json_int_t)n));
	}
	return pools;
}

/* GET(name, kind of JSON value, value): defines the getter of a metric; value
 * is an expression that may use d and store. */
#define GET(name, kind, value)                                     \
	static json_t *get_##name(const struct metrics_seen *seen) \
	{                                                          \
		const struct daemon *d = seen->d;                  \
		const struct store_stats *store = &seen->store;    \
                                                                   \
		(void)d;                                           \
		(void)store;                                       \
		return json_##kind(value);                         \
	}

/* clang-format off */

GET(version,        string,  PACKAGE_VERSION)
GET(cluster,        string,  d->conf->cluster)
GET(pid,            integer, getpid())
GET(uptime,         integer, clock_wall_s() - d->started)
GET(queues,         integer, (json_int_t)d->conf->nqueues)
GET(nodes,          integer, (json_int_t)state_nodes_there(d->state))
GET(connections,    integer, (json_int_t)rpc_connections(d->rpc))
GET(store_path,     string,  store_path(d->store))
GET(store_bytes,    integer, store->bytes)
GET(wal_bytes,      integer, store->wal_bytes)
GET(turns,          integer, (json_int_t)d->turns)
GET(turn_steps_max, integer, (json_int_t)d->steps_max)
GET(passes,         integer, (json_int_t)d->stats.passes)
GET(pass_ms_last,   real,    d->stats.last_ms)
GET(pass_ms_mean,   real,    mean(d->stats.sum_ms, d->stats.passes))
GET(pass_ms_max,    real,    d->stats.max_ms)
GET(commits,        integer, (json_int_t)store->commits)
GET(commit_ms_last, real,    store->commit_ms_last)
GET(commit_ms_mean, real,    mean(store->commit_ms_sum, store->commits))
GET(commit_ms_max,  real,    store->commit_ms_max)
GET(space_left,     boolean, !d->full)

#define M(name, type, get, help) { name, help, METRIC_##type, get_##get },

const struct metric metrics[] = {
M("version",         INFO,    version,        "version of aischedd")
M("cluster",         INFO,    cluster,        "name of the cluster")
M("pid",             INFO,    pid,            "process id of the daemon")
M("uptime_s",        GAUGE,   uptime,         "time since the daemon started")
M("jobs",            GAUGE,   jobs,           "jobs in each state that is not final")
M("queues",          GAUGE,   queues,         "configured queues")
M("nodes",           GAUGE,   nodes,          "nodes that are known")
M("connections",     GAUGE,   connections,    "open connections")
M("store.path",      INFO,    store_path,     "path of the database")
M("store.bytes",     GAUGE,   store_bytes,    "size of the database")
M("store.wal_bytes", GAUGE,   wal_bytes,      "size of its write-ahead log")
M("turns",           COUNTER, turns,          "turns of the daemon's loop")
M("turn_steps_max",  GAUGE,   turn_steps_max, "steps of the longest turn, of 100 ns or less")
M("passes",          COUNTER, passes,         "passes of the scheduler")
M("pass_ms.last",    GAUGE,   pass_ms_last,   "duration of the last pass")
M("pass_ms.mean",    GAUGE,   pass_ms_mean,   "mean duration of a pass")
M("pass_ms.max",     GAUGE,   pass_ms_max,    "duration of the longest pass")
M("commits",         COUNTER, commits,        "transactions of the database")
M("commit_ms.last",  GAUGE,   commit_ms_last, "duration of the last transaction")
M("commit_ms.mean",  GAUGE,   commit_ms_mean, "mean duration of a transaction")
M("commit_ms.max",   GAUGE,   commit_ms_max,  "duration of the longest transaction")
M("starts_refused",  COUNTER, starts_refused, "starts that nodes refused, in each pool of a cluster")
M("shortcomings",    INFO,    shortcomings,   "what the runners cannot do, and why")
M("space_left",      INFO,    space_left,     "whether the database can grow")
};
const size_t nmetrics = ARRAY_SIZE(metrics);

/* clang-format on */

/* Returns the object to which the metric is added: a member of `all` if the
 * name has a dot, else `all` itself. The member is made if it is missing. */
static json_t *holder_of(json_t *all, const char *name)
{
	const char *dot = strchr(name, '.');
	size_t len = dot ? (size_t)(dot - name) : 0;
	json_t *holder;

	if (!dot)
		return all;
	holder = json_object_getn(all, name, len);
	if (!holder) {
		holder = json_object();
		json_object_setn_new(all, name, len, holder);
	}
	return holder;
}

json_t *metrics_json(const struct daemon *d)
{
	struct metrics_seen seen = { .d = d };
	json_t *all = json_object();

	store_stats(d->store, &seen.store);
	for (size_t i = 0; i < nmetrics; i++) {
		const char *name = metrics[i].name, *dot = strchr(name, '.');

		json_object_set_new(holder_of(all, name), dot ? dot + 1 : name,
		                    metrics[i].get(&seen));
	}
	return all;
}
