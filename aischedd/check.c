/* check.c - warn if the configuration does not match this machine */
#include "aischedd/check.h"

#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "aischedd/run/local/inventory.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"
#include "libcommon/runner_kind.h"

/* how long to wait for the name service */
enum { NAMES_WAIT_S = 2 };

/* --- users and groups -------------------------------------------------- */

struct name {
	/* a user name, or "@" and a group name */
	char *text;
	char *place;
	bool missing;
};

struct names {
	struct name *name;
	size_t n, cap;
};

static void add_names(struct names *names, const struct strlist *list,
                      const char *place)
{
	for (size_t i = 0; i < list->n; i++) {
		names->name = GROW(names->name, names->n, &names->cap);
		names->name[names->n++] =
		    (struct name){ .text = xstrdup(list->s[i]),
			           .place = xstrdup(place) };
	}
}

static void names_free(struct names *names)
{
	for (size_t i = 0; i < names->n; i++) {
		free(names->name[i].text);
		free(names->name[i].place);
	}
	free(names->name);
	free(names);
}

/* Find out, on the thread, which users and groups do not exist. If the name
 * service fails, a name does not count as missing. */
static void *look_up(void *arg)
{
	struct names *names = arg;

	for (size_t i = 0; i < names->n; i++) {
		const char *s = names->name[i].text;
		bool found;

		errno = 0;
		found =
		    *s == '@' ? getgrnam(s + 1) != NULL : getpwnam(s) != NULL;
		names->name[i].missing =
		    !found && (errno == 0 || errno == ENOENT);
	}
	return NULL;
}

/* Look up the names on a thread. Returns false if the name service does not
 * answer in time; the thread then still uses the names, so that these must not
 * be freed. */
static bool look_up_in_time(struct names *names)
{
	int64_t ms = clock_ms();
	struct timespec until = { .tv_sec = ms / 1000 + NAMES_WAIT_S,
		                  .tv_nsec = ms % 1000 * 1000000 };
	pthread_t thread;

	if (pthread_create(&thread, NULL, look_up, names) != 0)
		return true;
	if (pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &until) == 0)
		return true;
	pthread_detach(thread);
	return false;
}

static void check_names(const struct conf *conf, const char *file,
                        struct buf *out)
{
	struct names *names = xcalloc(1, sizeof(*names));

	add_names(names, &conf->admins, "admins");
	add_names(names, &conf->operators, "operators");
	if (*conf->http_socket)
		add_names(names, &conf->web_proxy_users, "web_proxy_users");
	for (size_t i = 0; i < conf->nclasses; i++) {
		const struct conf_class *c = &conf->classes[i];
		char *place = xasprintf("class '%s': users", c->name);

		add_names(names, &c->users, place);
		free(place);
	}
	for (size_t i = 0; i < conf->nqueues; i++) {
		const struct conf_queue *q = &conf->queues[i];
		char *place = xasprintf("queue '%s': users", q->name);

		add_names(names, &q->users, place);
		free(place);
		place = xasprintf("queue '%s': operators", q->name);
		add_names(names, &q->operators, place);
		free(place);
	}
	if (!look_up_in_time(names)) {
		buf_printf(out,
		           "%s: users and groups are not checked: the name "
		           "service does not answer\n",
		           file);
		return;
	}
	for (size_t i = 0; i < names->n; i++) {
		const struct name *name = &names->name[i];
		bool group = *name->text == '@';

		if (name->missing)
			buf_printf(out, "%s: %s: there is no %s '%s'\n", file,
			           name->place, group ? "group" : "user",
			           name->text + group);
	}
	names_free(names);
}

/* --- nodes and this machine -------------------------------------------- */

static bool is_local(const struct conf *conf, const struct conf_node *node)
{
	return runner_traits(conf->pools[node->pool].runner)->is_here;
}

static bool is_this_machine(const struct conf_node *node)
{
	char host[256] = "";

	gethostname(host, sizeof(host) - 1);
	return !strcmp(node->name, host);
}

static void check_amounts(const struct conf_node *node, const char *file,
                          struct buf *out)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
	int64_t mib = (int64_t)pages * size >> 20;

	if (cpus > 0 && node->cpus > cpus)
		buf_printf(out,
		           "%s:%d: node '%s': cpus = %lld, but this machine "
		           "has %ld: jobs will share them\n",
		           file, node->line, node->name, (long long)node->cpus,
		           cpus);
	if (pages <= 0 || node->memory <= mib)
		return;
	buf_printf(out, "%s:%d: node '%s': memory = ", file, node->line,
	           node->name);
	format_mib(out, node->memory);
	buf_puts(out, ", but this machine has ");
	format_mib(out, mib);
	buf_puts(out, ": jobs may run out of it\n");
}

static void check_nodes(const struct conf *conf, const char *file,
                        struct buf *out)
{
	char host[256] = "";

	gethostname(host, sizeof(host) - 1);
	for (size_t i = 0; i < conf->nnodes; i++) {
		const struct conf_node *node = &conf->nodes[i];

		if (!is_local(conf, node))
			continue;
		if (is_this_machine(node))
			check_amounts(node, file, out);
		else
			buf_printf(out,
			           "%s:%d: node '%s' has no effect: pool '%s' "
			           "has one node, this machine, '%s'\n",
			           file, node->line, node->name,
			           conf->pools[node->pool].name, host);
	}
}

/* --- quotas ------------------------------------------------------------ */

static const struct {
	const char *key;
	void (*format)(struct buf *out, int64_t amount);
} amounts[RES_N] = { [RES_CPU] = { "cpus", format_milli },
	             [RES_MEM] = { "memory", format_mib },
	             [RES_GPU] = { "gpus", format_milli } };

static bool has_quota(const struct conf *conf)
{
	for (size_t i = 0; i < conf->nqueues; i++)
		for (int r = 0; r < RES_N; r++)
			if (conf->queues[i].quota[r] != CONF_NONE)
				return true;
	return false;
}

/* Get the amounts that jobs can use on this machine: as configured, otherwise
 * as found. Returns 0, or -1 if the machine cannot be read. */
static int local_amounts(const struct conf *conf, int64_t ret[RES_N])
{
	struct arena *arena = arena_new();
	const struct conf_node *node = NULL;
	struct machine machine;
	struct err err;
	int status;

	for (size_t i = 0; i < conf->nnodes; i++)
		if (is_local(conf, &conf->nodes[i]) &&
		    is_this_machine(&conf->nodes[i]))
			node = &conf->nodes[i];
	status = machine_discover(&machine, node, NULL, 0, arena, &err);
	if (status == 0) {
		ret[RES_CPU] = machine.node.cpu_milli;
		ret[RES_MEM] = machine.node.mem_mib;
		ret[RES_GPU] = 1000 * (int64_t)machine.node.ngpus;
	}
	arena_free(arena);
	if (node && node->cpus != CONF_NONE)
		ret[RES_CPU] = 1000 * node->cpus;
	if (node && node->memory != CONF_NONE)
		ret[RES_MEM] = node->memory;
	if (node) {
		ret[RES_CPU] -= node->reserve_cpus;
		ret[RES_MEM] -= node->reserve_memory;
	}
	return status;
}

/* Warn about quotas that exceed what this machine has. Does nothing if any pool
 * is not on this machine: the size of a cluster is not known yet. */
static void check_quotas(const struct conf *conf, const char *file,
                         struct buf *out)
{
	int64_t have[RES_N] = { 0 };

	for (size_t i = 0; i < conf->npools; i++)
		if (!runner_traits(conf->pools[i].runner)->is_here)
			return;
	if (!has_quota(conf) || local_amounts(conf, have) < 0)
		return;
	for (size_t i = 0; i < conf->nqueues * RES_N; i++) {
		const struct conf_queue *q = &conf->queues[i / RES_N];
		int r = (int)(i % RES_N);

		if (q->quota[r] == CONF_NONE || q->quota[r] <= have[r])
			continue;
		buf_printf(out, "%s:%d: queue '%s': quota.%s = ", file, q->line,
		           q->name, amounts[r].key);
		amounts[r].format(out, q->quota[r]);
		buf_puts(out, ", but all nodes together have ");
		amounts[r].format(out, have[r]);
		buf_addc(out, '\n');
	}
}

void check_conf(const struct conf *conf, struct buf *warnings)
{
	const char *file = conf->path ? conf->path : "built-in configuration";

	check_names(conf, file, warnings);
	check_nodes(conf, file, warnings);
	check_quotas(conf, file, warnings);
}
