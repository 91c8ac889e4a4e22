/* reload.c - read the configuration again */
#include "aischedd/reload.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "aischedd/check.h"
#include "aischedd/daemon.h"
#include "aischedd/mailer.h"
#include "aischedd/op/cron_run.h"
#include "aischedd/pools.h"
#include "aischedd/runners.h"
#include "aischedd/scaler.h"
#include "aischedd/state/cluster/reconf.h"
#include "libcommon/clock.h"
#include "libcommon/log.h"

static int same(const char *key, const char *a, const char *b, struct err *err)
{
	if (!strcmp(a, b))
		return 0;
	return err_set(err, EINVAL, "changing %s needs a restart", key);
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

static const char *devices_word(const struct conf_pool *pool)
{
	return pool->devices == DEVICES_AUTO  ? "auto"
	       : pool->devices == DEVICES_DRA ? "dra"
	                                      : "plugin";
}

/* Writes the number to `text`, so that it can be compared as text, and
 * returns `text`. */
static const char *number(int64_t n, char text[24])
{
	snprintf(text, 24, "%" PRId64, n);
	return text;
}

static const char *sharing_word(const struct conf_pool *pool)
{
	return pool->gpu_sharing == SHARING_NONE       ? "none"
	       : pool->gpu_sharing == SHARING_CAPACITY ? "capacity"
	                                               : "claims";
}

static const char *yes_no(bool is)
{
	return is ? "yes" : "no";
}

/* Refuse changes of the keys that say where a cluster is and which part of it
 * the pool uses. */
static int check_cluster(const struct conf_pool *old,
                         const struct conf_pool *pool, struct err *err)
{
	char was_cpus[24], is_cpus[24];
	const struct {
		const char *key, *was, *is;
	} keys[] = {
		{ "kubeconfig", old->kubeconfig, pool->kubeconfig },
		{ "context", old->context, pool->context },
		{ "namespace", old->namespace, pool->namespace },
		{ "node_selector", old->node_selector, pool->node_selector },
		{ "gpu_resource", old->gpu_resource, pool->gpu_resource },
		{ "device_driver", old->device_driver, pool->device_driver },
		{ "device_class", old->device_class, pool->device_class },
		{ "mig_class", old->mig_class, pool->mig_class },
		{ "devices", devices_word(old), devices_word(pool) },
		{ "gpu_sharing", sharing_word(old), sharing_word(pool) },
		{ "devices_shared", yes_no(old->devices_shared),
		  yes_no(pool->devices_shared) },
		{ "cpu_overcommit", number(old->cpu_overcommit, was_cpus),
		  number(pool->cpu_overcommit, is_cpus) },
	};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (strcmp(keys[i].was ? keys[i].was : "",
		           keys[i].is ? keys[i].is : "") != 0)
			return err_set(err, EINVAL,
			               "changing %s of pool '%s' needs a "
			               "restart",
			               keys[i].key, pool->name);
	return 0;
}

/* Refuse to change which GPUs this machine has: jobs hold them by number. */
static int check_host(const struct conf *old, const struct conf *conf, size_t i,
                      struct err *err)
{
	const struct conf_node *was = daemon_this_host(old, (uint32_t)i);
	const struct conf_node *is = daemon_this_host(conf, (uint32_t)i);
	const char *type = was && was->gpu_type ? was->gpu_type : "";

	if ((was ? was->gpus : CONF_NONE) != (is ? is->gpus : CONF_NONE))
		return same("gpus of this machine", "", "changed", err);
	return same("gpu_type of this machine", type,
	            is && is->gpu_type ? is->gpu_type : "", err);
}

static int check_pool(const struct conf *old, const struct conf *conf, size_t i,
                      struct err *err)
{
	const struct conf_pool *was = &old->pools[i], *is = &conf->pools[i];

	if (same("pools", was->name, is->name, err) < 0)
		return -1;
	if (was->runner != is->runner)
		return same("pools", "", "changed", err);
	if (runner_traits(was->runner)->is_here)
		return check_host(old, conf, i, err);
	if (!runner_traits(was->runner)->has_api)
		return 0;
	/* The runner of a cluster uses these keys only when it starts, so a
	 * change would have no effect. */
	if (same_list("topology.levels", &old->topology.levels,
	              &conf->topology.levels, err) < 0 ||
	    same_list("topology.labels", &old->topology.labels,
	              &conf->topology.labels, err) < 0 ||
	    same_list("drain_conditions", &was->drain_conditions,
	              &is->drain_conditions, err) < 0 ||
	    check_cluster(was, is, err) < 0)
		return -1;
	return same_list("namespaces", &was->spaces, &is->spaces, err);
}

static const char *or_none(const char *s)
{
	return s ? s : "";
}

/* The kinds of devices have numbers, in the order of their sections. */
static int check_devices(const struct conf *old, const struct conf *conf,
                         struct err *err)
{
	if (old->ndevices != conf->ndevices)
		return same("device sections", "", "changed", err);
	for (size_t i = 0; i < old->ndevices; i++)
		if (same("device sections", old->device_names[i],
		         conf->device_names[i], err) < 0 ||
		    same("device sections", or_none(old->devices[i].resource),
		         or_none(conf->devices[i].resource), err) < 0 ||
		    same("device sections", or_none(old->devices[i].class),
		         or_none(conf->devices[i].class), err) < 0 ||
		    same("device sections", or_none(old->devices[i].driver),
		         or_none(conf->devices[i].driver), err) < 0 ||
		    same_list("device sections", &old->devices[i].pci,
		              &conf->devices[i].pci, err) < 0 ||
		    same_list("device sections", &old->devices[i].path,
		              &conf->devices[i].path, err) < 0)
			return -1;
	return 0;
}

static int check_reload(const struct conf *old, const struct conf *conf,
                        struct err *err)
{
	if (same("cluster", old->cluster, conf->cluster, err) < 0 ||
	    same("state_dir", old->state_dir, conf->state_dir, err) < 0 ||
	    same("log_file", old->log_file, conf->log_file, err) < 0 ||
	    same("munge_socket", old->munge_socket, conf->munge_socket, err) <
	        0 ||
	    same("http", old->http, conf->http, err) < 0 ||
	    same("http_socket", old->http_socket, conf->http_socket, err) < 0 ||
	    same("http_group", old->http_group, conf->http_group, err) < 0 ||
	    same("web_proxy_header", old->web_proxy_header,
	         conf->web_proxy_header, err) < 0 ||
	    same_list("web_proxy_users", &old->web_proxy_users,
	              &conf->web_proxy_users, err) < 0 ||
	    same("web_user", old->web_user, conf->web_user, err) < 0)
		return -1;
	if (check_devices(old, conf, err) < 0)
		return -1;
	if (old->metrics_access != conf->metrics_access)
		return same("metrics_access", "", "changed", err);
	if (same_list("http_hosts", &old->http_hosts, &conf->http_hosts, err) <
	        0 ||
	    same_list("listen", &old->listen, &conf->listen, err) < 0)
		return -1;
	if (same("accounting.time_zone",
	         old->accounting.time_zone ? old->accounting.time_zone : "",
	         conf->accounting.time_zone ? conf->accounting.time_zone : "",
	         err) < 0)
		return -1;
	if (old->npools != conf->npools)
		return same("pools", "", "changed", err);
	for (size_t i = 0; i < old->npools; i++)
		if (check_pool(old, conf, i, err) < 0)
			return -1;
	return 0;
}

/* Open the log file again, so that it is a new file after a log rotation, even
 * if the configuration cannot be read. */
static void reopen_log(const struct conf *conf)
{
	struct err err;

	if (*conf->log_file && log_open(conf->log_file, &err) < 0)
		log_err("log not opened again: %s", err.text);
}

int daemon_reload(struct daemon *d, struct buf *warnings, struct err *err)
{
	/* Read the file that the daemon found when it started: if that was
	 * removed since, the reload must fail. */
	const char *path = d->conf_path ? d->conf_path : d->conf->path;
	struct conf *conf = conf_load(path, warnings, err);

	reopen_log(d->conf);
	d->reload_failed = true;
	if (!conf)
		return -1;
	check_conf(conf, warnings);
	if (daemon_keep_pools(d, conf, err) < 0 ||
	    check_reload(d->conf, conf, err) < 0 ||
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
	daemon_see_sections(d);
	scaler_reconf(d->scaler);
	daemon_cron_recheck(d);
	mailer_wake(d->mailer);
	d->reloaded = clock_wall_s();
	d->reload_failed = false;
	log_notice("configuration reloaded");
	return 0;
}
