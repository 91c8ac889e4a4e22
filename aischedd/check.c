/* check.c - warn of a configuration that does not match this machine */
#include "aischedd/check.h"

#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "libcommon/mem.h"
#include "libcommon/parse.h"

enum { NAMES_WAIT_S = 2 }; /* patience with the name service */

/* --- users and groups -------------------------------------------------- */

struct name {
	char *text; /* "user" or "@group" */
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

/* A name is missing only if the service says so, not if it fails. */
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

/* Returns false if the service hangs; the thread then still uses the names. */
static bool look_up_in_time(struct names *names)
{
	struct timespec until;
	pthread_t thread;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += NAMES_WAIT_S;
	if (pthread_create(&thread, NULL, look_up, names) != 0)
		return true;
	if (pthread_timedjoin_np(thread, NULL, &until) == 0)
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

/* --- nodes ------------------------------------------------------------- */

static bool is_local(const struct conf *conf, const struct conf_node *node)
{
	return conf->pools[node->pool].runner == RUNNER_LOCAL;
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
		if (!strcmp(node->name, host))
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

/* CPUs of this machine that jobs may use, in thousandths. */
static int64_t local_cpus(const struct conf *conf)
{
	int64_t cpus = sysconf(_SC_NPROCESSORS_ONLN);
	char host[256] = "";

	gethostname(host, sizeof(host) - 1);
	for (size_t i = 0; i < conf->nnodes; i++)
		if (!strcmp(conf->nodes[i].name, host) &&
		    conf->nodes[i].cpus != CONF_NONE)
			cpus = conf->nodes[i].cpus;
	return 1000 * cpus;
}

/* The size of a cluster is not known yet: skip its pools. */
static void check_quotas(const struct conf *conf, const char *file,
                         struct buf *out)
{
	int64_t have = local_cpus(conf);

	for (size_t i = 0; i < conf->npools; i++)
		if (conf->pools[i].runner != RUNNER_LOCAL)
			return;
	for (size_t i = 0; i < conf->nqueues; i++) {
		const struct conf_queue *q = &conf->queues[i];

		if (q->quota[RES_CPU] == CONF_NONE || q->quota[RES_CPU] <= have)
			continue;
		buf_printf(out, "%s:%d: queue '%s': quota.cpus = ", file,
		           q->line, q->name);
		format_milli(out, q->quota[RES_CPU]);
		buf_puts(out, ", but all nodes together have ");
		format_milli(out, have);
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
