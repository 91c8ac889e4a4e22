/* status.c - the configuration is read again; how the daemon is */
#include <string.h>
#include <unistd.h>

#include "aischedd/daemon.h"
#include "aischedd/state/node.h"
#include "aischedd/state/reconf.h"
#include "config.h"
#include "libcommon/clock.h"
#include "libcommon/log.h"

static int same(const char *key, const char *a, const char *b, struct err *err)
{
	if (!strcmp(a, b))
		return 0;
	return err_set(err, EINVAL, "changing %s takes a restart", key);
}

static int same_list(const char *key, const struct strlist *a,
                     const struct strlist *b, struct err *err)
{
	if (a->n != b->n)
		return same(key, "", "changed", err);
	for (size_t i = 0; i < a->n; i++)
		if (same(key, a->s[i], b->s[i], err) < 0)
			return -1;
	return 0;
}

/* Where a cluster is, and what of it is ours. */
static int check_cluster(const struct conf_pool *old,
                         const struct conf_pool *pool, struct err *err)
{
	const struct {
		const char *key, *was, *is;
	} keys[] = {
		{ "kubeconfig", old->kubeconfig, pool->kubeconfig },
		{ "context", old->context, pool->context },
		{ "namespace", old->namespace, pool->namespace },
		{ "node_selector", old->node_selector, pool->node_selector },
		{ "gpu_resource", old->gpu_resource, pool->gpu_resource },
	};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (strcmp(keys[i].was ? keys[i].was : "",
		           keys[i].is ? keys[i].is : "") != 0)
			return err_set(err, EINVAL,
			               "changing %s of pool '%s' takes a "
			               "restart",
			               keys[i].key, pool->name);
	return 0;
}

static int check_pool(const struct conf *old, const struct conf *conf, size_t i,
                      struct err *err)
{
	const struct conf_pool *was = &old->pools[i], *is = &conf->pools[i];

	if (same("pools", was->name, is->name, err) < 0)
		return -1;
	if (was->runner != is->runner)
		return same("pools", "", "changed", err);
	if (was->runner != RUNNER_KUBERNETES)
		return 0;
	/* Nodes of a cluster are looked at with these once. */
	if (same_list("topology.levels", &old->topology_levels,
	              &conf->topology_levels, err) < 0)
		return -1;
	return check_cluster(was, is, err);
}

static int check_reload(const struct conf *old, const struct conf *conf,
                        struct err *err)
{
	if (same("cluster", old->cluster, conf->cluster, err) < 0 ||
	    same("state_dir", old->state_dir, conf->state_dir, err) < 0 ||
	    same("munge_socket", old->munge_socket, conf->munge_socket, err) <
	        0)
		return -1;
	if (same_list("listen", &old->listen, &conf->listen, err) < 0)
		return -1;
	if (old->npools != conf->npools)
		return same("pools", "", "changed", err);
	for (size_t i = 0; i < old->npools; i++)
		if (check_pool(old, conf, i, err) < 0)
			return -1;
	return 0;
}

int daemon_reload(struct daemon *d, struct buf *warnings, struct err *err)
{
	struct conf *conf = conf_load(d->conf_path, warnings, err);

	if (!conf)
		return -1;
	if (check_reload(d->conf, conf, err) < 0 ||
	    state_reconf(d->state, conf, clock_wall_s(), err) < 0) {
		conf_free(conf);
		return -1;
	}
	for (size_t i = 0; i < d->npools; i++) {
		struct runner *r = d->pool[i].runner;

		if (r && r->ops->reconf)
			r->ops->reconf(r, conf, &conf->pools[i]);
	}
	if (d->conf != d->first_conf)
		conf_free(d->conf);
	d->conf = conf;
	log_notice("configuration reloaded");
	return 0;
}

static json_t *shortcomings(const struct daemon *d)
{
	json_t *list = json_array();

	for (size_t i = 0; i < d->npools; i++) {
		struct runner *r = d->pool[i].runner;
		const char *text = r ? r->ops->shortcomings(r) : NULL;

		if (text && *text)
			json_array_append_new(list, json_string(text));
	}
	return list;
}

static double mean(double sum, uint64_t n)
{
	return n ? sum / (double)n : 0;
}

json_t *daemon_status(struct daemon *d)
{
	const uint64_t *counts = state_counts(d->state);
	json_t *jobs = json_object();
	struct store_stats s;

	store_stats(d->store, &s);
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
	return json_pack(
	    "{s:s, s:s, s:i, s:I, s:o, s:I, s:I, s:I, s:{s:s, s:I, s:I}, s:I,"
	    " s:I, s:{s:f, s:f, s:f}, s:I, s:{s:f, s:f, s:f}, s:o, s:b}",
	    "version", PACKAGE_VERSION, "cluster", d->conf->cluster, "pid",
	    (int)getpid(), "uptime_s",
	    (json_int_t)(clock_wall_s() - d->started), "jobs", jobs, "queues",
	    (json_int_t)d->conf->nqueues, "nodes",
	    (json_int_t)state_nnodes(d->state), "connections",
	    (json_int_t)rpc_connections(d->rpc), "store", "path",
	    store_path(d->store), "bytes", (json_int_t)s.bytes, "wal_bytes",
	    (json_int_t)s.wal_bytes, "turns", (json_int_t)d->turns, "passes",
	    (json_int_t)d->stats.passes, "pass_ms", "last", d->stats.last_ms,
	    "mean", mean(d->stats.sum_ms, d->stats.passes), "max",
	    d->stats.max_ms, "commits", (json_int_t)s.commits, "commit_ms",
	    "last", s.commit_ms_last, "mean", mean(s.commit_ms_sum, s.commits),
	    "max", s.commit_ms_max, "shortcomings", shortcomings(d),
	    "space_left", !d->full);
}
