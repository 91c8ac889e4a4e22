/* scaler.c - have nodes added and removed, by programs or stand-ins */
#include "aischedd/scaler.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/daemon.h"
#include "aischedd/run/program.h"
#include "aischedd/state/cluster/node.h"
#include "aischedd/state/cluster/scale.h"
#include "libcommon/clock.h"
#include "libcommon/hostlist.h"
#include "libcommon/log.h"
#include "libcommon/mem.h"

/* Most nodes given to one program: their names must fit into one argument. */
enum { NODES_MAX = 1024 };

struct errand {
	uint32_t node;
	bool add;
};

/* A program that runs. */
struct scaling {
	struct scaler *scaler;
	struct scaling *next;
	char *scale; /* the name of the template */
	bool add;
	uint32_t node[NODES_MAX];
	size_t n;
	struct program *program;
};

struct scaler {
	struct daemon *d;
	/* what runners were told about stand-ins, by template; NULL: nothing */
	struct run_standin *told;
	struct errand *errand;
	size_t n, cap;
	struct scaling *running;
};

struct scaler *scaler_new(struct daemon *d)
{
	struct scaler *s = xcalloc(1, sizeof(*s));

	s->d = d;
	return s;
}

void scaler_want(struct scaler *s, uint32_t node, bool add)
{
	const struct conf_scale *conf = state_scale_of(s->d->state, node);

	if (!conf || conf->by != SCALE_PROGRAM)
		return;
	for (size_t i = 0; i < s->n; i++) {
		if (s->errand[i].node == node) {
			s->errand[i].add = add;
			return;
		}
	}
	s->errand = GROW(s->errand, s->n, &s->cap);
	s->errand[s->n++] = (struct errand){ node, add };
}

/* Whether the node is still to be added or removed. */
static bool is_current(const struct scaler *s, const struct errand *it)
{
	const struct node *node = state_node(s->d->state, it->node);

	return node->want == (it->add ? WANT_ADDED : WANT_REMOVED) &&
	       state_scale_of(s->d->state, it->node);
}

static bool is_running(const struct scaler *s, const char *scale)
{
	for (const struct scaling *it = s->running; it; it = it->next)
		if (!strcmp(it->scale, scale))
			return true;
	return false;
}

static void names_of(const struct scaling *it, struct buf *out)
{
	const char *name[NODES_MAX];

	for (size_t i = 0; i < it->n; i++)
		name[i] = state_node(it->scaler->d->state, it->node[i])->name;
	hostlist_format(name, it->n, out);
}

static void tell_result(struct scaling *it, const char *why)
{
	struct daemon *d = it->scaler->d;
	struct buf names = { 0 };

	names_of(it, &names);
	if (why)
		log_warning("scale failed scale=%s nodes=%s: %s", it->scale,
		            names.data, why);
	buf_free(&names);
	daemon_clock(d);
	for (size_t i = 0; i < it->n; i++)
		state_scale_done(d->state, it->node[i], it->add, why,
		                 clock_wall_s());
}

static void scaling_free(struct scaling *it)
{
	struct scaling **at = &it->scaler->running;

	while (*at != it)
		at = &(*at)->next;
	*at = it->next;
	free(it->scale);
	free(it);
}

static void on_result(const char *why, void *arg)
{
	tell_result(arg, why);
}

static void on_ended(void *arg)
{
	struct scaling *it = arg;

	scaling_free(it);
}

static void start(struct scaling *it, const struct conf_scale *conf)
{
	static const struct program_calls calls = { on_result, on_ended };
	struct scaler *s = it->scaler;
	const char *what = it->add ? "resume" : "suspend";
	const char *path = it->add ? conf->resume : conf->suspend;
	struct buf names = { 0 };
	char *why;

	names_of(it, &names);
	log_notice("scale %s scale=%s nodes=%s", what, it->scale, names.data);
	it->next = s->running;
	s->running = it;
	for (size_t i = 0; i < it->n; i++)
		state_scale_started(s->d->state, it->node[i], clock_wall_s());
	it->program = program_start(s->d->base, what,
	                            (const char *[]){ path, names.data, NULL },
	                            2 * conf->delay, &calls, it);
	if (!it->program) {
		why = xasprintf("%s '%s' cannot be started: %s", what, path,
		                strerror(errno));
		tell_result(it, why);
		scaling_free(it);
		free(why);
	}
	buf_free(&names);
}

/* Start the program that entry `from` needs. It gets the nodes of all entries,
 * from this one on, that need the same program; these entries are removed. */
static void start_for(struct scaler *s, size_t from)
{
	const struct conf_scale *conf =
	    state_scale_of(s->d->state, s->errand[from].node);
	struct scaling *it = xcalloc(1, sizeof(*it));
	size_t left = from;

	it->scaler = s;
	it->scale = xstrdup(conf->name);
	it->add = s->errand[from].add;
	for (size_t i = from; i < s->n; i++) {
		const struct errand w = s->errand[i];

		if (it->n < NODES_MAX && w.add == it->add &&
		    state_scale_of(s->d->state, w.node) == conf)
			it->node[it->n++] = w.node;
		else
			s->errand[left++] = w;
	}
	s->n = left;
	start(it, conf);
}

/* --- stand-ins --- */

static void tell_pool(struct scaler *s, uint32_t pool)
{
	const struct conf *conf = s->d->conf;
	struct runner *r = s->d->pool[pool].runner;
	struct run_standin *list = xcalloc(conf->nscales + 1, sizeof(*list));
	size_t n = 0;

	for (size_t i = 0; i < conf->nscales; i++)
		if ((uint32_t)conf->scales[i].pool == pool &&
		    conf->scales[i].by != SCALE_PROGRAM)
			list[n++] = s->told[i];
	r->ops->stand_in(r, n, list);
	free(list);
}

static bool is_same(const struct run_standin *a, const struct run_standin *b)
{
	return a->n == b->n && a->there == b->there &&
	       a->cpu_milli == b->cpu_milli && a->mem_mib == b->mem_mib &&
	       a->tmp_mib == b->tmp_mib;
}

/* Tell each runner about the stand-ins of its pool, if they have changed. */
static void tell_standins(struct scaler *s)
{
	const struct conf *conf = s->d->conf;
	bool all = !s->told;
	uint64_t pools = 0;

	if (all)
		s->told = xcalloc(conf->nscales + 1, sizeof(*s->told));
	for (size_t i = 0; i < conf->nscales; i++) {
		struct run_standin now;

		if (!state_scale_standins(s->d->state, i, &now) ||
		    (!all && is_same(&now, &s->told[i])))
			continue;
		if (now.n != s->told[i].n)
			log_notice("scale stand_in scale=%s nodes=%u",
			           now.conf->name, now.n);
		s->told[i] = now;
		pools |= UINT64_C(1) << conf->scales[i].pool;
	}
	for (uint32_t i = 0; i < s->d->npools; i++) {
		const struct runner *r = s->d->pool[i].runner;

		if (r && r->ops->stand_in && (all || pools >> i & 1))
			tell_pool(s, i);
	}
}

/* --- programs --- */

static void start_all(struct scaler *s)
{
	size_t i = 0, n = 0;

	for (; i < s->n; i++)
		if (is_current(s, &s->errand[i]))
			s->errand[n++] = s->errand[i];
	s->n = n;
	for (i = 0; i < s->n;) {
		const struct conf_scale *conf =
		    state_scale_of(s->d->state, s->errand[i].node);

		if (is_running(s, conf->name) || !conf->resume)
			i++;
		else
			start_for(s, i);
	}
}

void scaler_reconf(struct scaler *s)
{
	free(s->told);
	s->told = NULL;
}

void scaler_go(struct scaler *s)
{
	tell_standins(s);
	start_all(s);
}

void scaler_free(struct scaler *s)
{
	if (!s)
		return;
	while (s->running) {
		program_free(s->running->program);
		scaling_free(s->running);
	}
	free(s->errand);
	free(s->told);
	free(s);
}
