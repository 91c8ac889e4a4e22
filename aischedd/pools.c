/* pools.c - pools of clusters that are taken out of the configuration */
#include "aischedd/pools.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aischedd/daemon.h"
#include "aischedd/state/cluster/pool.h"
#include "libcommon/durable.h"
#include "libcommon/log.h"
#include "libcommon/mem.h"

/* A configuration needs this key; its value does not count here. */
#define HEAD "state_dir = \"/\"\n"

static char *file_of(const struct daemon *d, const char *name)
{
	return xasprintf("%s/pools/%s", d->state_dir, name);
}

static bool has_cluster(const struct conf_pool *pool)
{
	return runner_traits(pool->runner)->has_api;
}

/* --- recall pools --- */

static int recall(struct conf *conf, const char *file, const char *name,
                  struct err *err)
{
	struct conf *old = conf_load(file, NULL, err);

	if (!old)
		return -1;
	conf_own(conf, old);
	if (strcmp(old->pools[0].name, name) != 0 ||
	    !has_cluster(&old->pools[0]))
		return err_set(err, EINVAL,
		               "%s: this is no pool '%s' of a cluster", file,
		               name);
	return conf_keep_pool(conf, &old->pools[0], err);
}

void daemon_recall_pools(struct daemon *d, struct conf *conf)
{
	char *folder = xasprintf("%s/pools", d->state_dir);
	DIR *dir = opendir(folder);
	struct dirent *entry;
	struct err err;

	while (dir && (entry = readdir(dir))) {
		const char *name = entry->d_name;
		char *file;

		if (*name == '.' || strchr(name, '~') ||
		    conf_pool_find(conf, name) >= 0)
			continue;
		file = file_of(d, name);
		if (recall(conf, file, name, &err) < 0)
			log_err("pool %s: its jobs are lost, as it is no "
			        "longer configured, and its file cannot be "
			        "used: %s",
			        name, err.text);
		else
			log_notice("pool %s: it is no longer configured: its "
			           "jobs go on until they end",
			           name);
		free(file);
	}
	if (dir)
		closedir(dir);
	free(folder);
}

int daemon_keep_pools(const struct daemon *d, struct conf *conf,
                      struct err *err)
{
	const struct conf *first = d->first_conf;

	for (size_t i = 0; i < first->npools; i++)
		if (first->pools[i].leaving &&
		    conf_keep_pool(conf, &first->pools[i], err) < 0)
			return -1;
	return 0;
}

/* --- check pools --- */

static bool is_same(const char *a, const char *b)
{
	return !strcmp(a ? a : "", b ? b : "");
}

static bool is_same_cluster(const struct conf_pool *a,
                            const struct conf_pool *b)
{
	return a->runner == b->runner &&
	       is_same(a->kubeconfig, b->kubeconfig) &&
	       is_same(a->context, b->context);
}

/* was: the pool as the last daemon had it, from this file. */
static int check(const struct daemon *d, uint32_t pool,
                 const struct conf_pool *was, const char *file, struct err *err)
{
	uint32_t jobs = state_pool_jobs(d->state, pool);
	const char *path = was->kubeconfig ? was->kubeconfig : "";

	if (!jobs || is_same_cluster(was, &d->conf->pools[pool]))
		return 0;
	return err_set(err, EBUSY,
	               "pool '%s' still has %u running job%s in the cluster of "
	               "kubeconfig '%.60s': give the new cluster another name, "
	               "or, if it is the same one, remove %s",
	               was->name, (unsigned)jobs, jobs > 1 ? "s" : "", path,
	               file);
}

int daemon_check_pools(const struct daemon *d, struct err *err)
{
	int status = 0;

	for (uint32_t i = 0; !status && i < d->conf->npools; i++) {
		char *file = file_of(d, d->conf->pools[i].name);
		struct conf *old =
		    access(file, F_OK) ? NULL : conf_load(file, NULL, NULL);

		if (old && !d->conf->pools[i].leaving)
			status = check(d, i, &old->pools[0], file, err);
		if (old)
			conf_free(old);
		free(file);
	}
	return status;
}

/* --- note and forget pools --- */

static void note(const struct daemon *d, const struct conf_pool *pool)
{
	char *file = file_of(d, pool->name);
	struct buf text = { 0 };
	struct err err;

	buf_puts(&text, HEAD);
	conf_print_pool(d->conf, pool, &text);
	if (durable_write(file, text.data, text.len, 1, &err) < 0)
		log_warning("pool %s: if it is taken out of the "
		            "configuration, its jobs are lost: %s",
		            pool->name, err.text);
	buf_free(&text);
	free(file);
}

void daemon_note_pools(const struct daemon *d)
{
	char *folder = xasprintf("%s/pools", d->state_dir);

	(void)mkdir(folder, 0700);
	free(folder);
	for (size_t i = 0; i < d->conf->npools; i++)
		if (has_cluster(&d->conf->pools[i]) &&
		    !d->conf->pools[i].leaving)
			note(d, &d->conf->pools[i]);
}

void daemon_forget_pool(const struct daemon *d, const struct conf_pool *pool)
{
	char *file = file_of(d, pool->name);

	log_notice("pool %s: nothing of ours is left there", pool->name);
	(void)unlink(file);
	free(file);
}
