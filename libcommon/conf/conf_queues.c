/* conf_queues.c - the queue sections of a configuration, as a tree */
#include <string.h>

#include "libcommon/conf/conf_build.h"
#include "libcommon/limits.h"

/* A queue as written in the file. */
struct file_queue {
	cfg_t *section;
	const char *name;
	int parent; /* index in entry; -1: the root */
	int index;  /* in conf->queues; -1: not placed yet */
};

static const char *const resource[RES_N] = {
	[RES_CPU] = "cpus",
	[RES_MEM] = "memory",
	[RES_GPU] = "gpus",
};

struct queues {
	struct conf_build *b;
	struct file_queue *entry;
	size_t n;
	struct conf_queue *queue; /* of n queues, parents before children */
	cfg_t **section;          /* for each queue its section */
	size_t ntaken;
};

static int find_entry(const struct queues *q, const char *name)
{
	for (size_t i = 0; i < q->n; i++)
		if (!strcmp(q->entry[i].name, name))
			return (int)i;
	return -1;
}

static int read_entries(struct queues *q)
{
	for (size_t i = 0; i < q->n; i++) {
		struct file_queue *e = &q->entry[i];

		e->section = build_section(q->b, "queue", i);
		e->name = build_name(q->b, "queue", e->section);
		e->index = -1;
		if (!e->name)
			return -1;
	}
	return 0;
}

static int link_parents(struct queues *q)
{
	for (size_t i = 0; i < q->n; i++) {
		struct file_queue *e = &q->entry[i];
		const struct conf_value *at = build_place(e->section, "parent");

		e->parent = -1;
		if (at == conf_place(e->section) || !*at->text)
			continue;
		e->parent = find_entry(q, at->text);
		if (e->parent < 0)
			return build_fail(q->b, at,
			                  "queue '%s': parent: there is no "
			                  "queue '%s'",
			                  e->name, at->text);
	}
	return 0;
}

static int check_circles(const struct queues *q)
{
	for (size_t i = 0; i < q->n; i++) {
		const struct file_queue *e = &q->entry[i];
		size_t steps = 0;

		/* The queues above this one may form a circle without it: stop
		 * after as many steps as there are queues. */
		for (int up = e->parent; up >= 0 && steps++ < q->n;
		     up = q->entry[up].parent)
			if (up == (int)i)
				return build_fail(
				    q->b, build_place(e->section, "parent"),
				    "queue '%s': parent: '%s' is itself below "
				    "'%s'",
				    e->name, q->entry[e->parent].name, e->name);
	}
	return 0;
}

static void inherit(struct conf_queue *queue, const struct conf_queue *parent)
{
	const struct conf_key_table *table = conf_keys_of("queue");

	for (size_t i = 0; i < table->n; i++)
		if (table->key[i].inherited)
			key_copy(&table->key[i], queue, parent);
}

static int take_entry(struct queues *q, struct file_queue *e)
{
	struct conf_queue *queue, *parent;

	if (e->index >= 0)
		return 0;
	if (e->parent >= 0 && take_entry(q, &q->entry[e->parent]) < 0)
		return -1;
	e->index = (int)q->ntaken++;
	q->section[e->index] = e->section;
	queue = &q->queue[e->index];
	build_defaults(q->b, "queue", queue);
	if (e->parent >= 0) {
		queue->parent = q->entry[e->parent].index;
		parent = &q->queue[queue->parent];
		parent->leaf = false;
		inherit(queue, parent);
	}
	queue->name = e->name;
	queue->line = conf_place(e->section)->line;
	queue->leaf = true;
	return build_keys(q->b, "queue", e->section, queue);
}

static int check_classes(struct queues *q, size_t i)
{
	const struct conf *conf = q->b->conf;
	const struct conf_queue *queue = &q->queue[i];
	cfg_t *section = q->section[i];
	int not_in;

	if (conf_class_find(conf, queue->class) < 0)
		return build_fail(q->b, build_place(section, "class"),
		                  "queue '%s': there is no class '%s'",
		                  queue->name, queue->class);
	for (size_t k = 0; k < queue->classes.n; k++)
		if (conf_class_find(conf, queue->classes.s[k]) < 0)
			return build_fail(q->b, build_place(section, "classes"),
			                  "queue '%s': classes: there is no "
			                  "class '%s'",
			                  queue->name, queue->classes.s[k]);
	not_in = conf_queue_without_class(conf, (int)i, queue->class);
	if (queue->leaf && not_in >= 0)
		return build_fail(q->b, build_place(section, "class"),
		                  "queue '%s': its class '%s' is not among "
		                  "the classes of queue '%s'",
		                  queue->name, queue->class,
		                  q->queue[not_in].name);
	return 0;
}

/* Whether jobs of the queue may use the pool. */
static bool may_use(const struct queues *q, int queue, size_t pool)
{
	for (; queue >= 0; queue = q->queue[queue].parent)
		if (!(q->queue[queue].pools >> pool & 1))
			return false;
	return true;
}

/* Check that each cluster that jobs of the queue may use has the namespace of
 * the queue. */
static int check_namespace(struct queues *q, size_t i)
{
	const struct conf *conf = q->b->conf;
	const struct conf_queue *queue = &q->queue[i];

	if (!queue->leaf || !queue->namespace)
		return 0;
	for (size_t k = 0; k < conf->npools; k++) {
		const struct conf_pool *pool = &conf->pools[k];

		if (runner_traits(pool->runner)->has_api &&
		    may_use(q, (int)i, k) &&
		    !strlist_has(&pool->spaces, queue->namespace))
			return build_fail(
			    q->b, build_place(q->section[i], "namespace"),
			    "queue '%s': namespace '%s' is not among those of "
			    "pool '%s'",
			    queue->name, queue->namespace, pool->name);
	}
	return 0;
}

static int check_queue(struct queues *q, size_t i)
{
	struct conf_queue *queue = &q->queue[i];
	cfg_t *section = q->section[i];

	if (check_classes(q, i) < 0 || check_namespace(q, i) < 0)
		return -1;
	if (queue->max_time == CONF_NONE ||
	    queue->default_time <= queue->max_time)
		return 0;
	if (conf_is_given(cfg_getopt(section, "default_time")))
		return build_fail(q->b, build_place(section, "default_time"),
		                  "queue '%s': default_time is more than "
		                  "max_time",
		                  queue->name);
	queue->default_time =
	    queue->max_time; /* the inherited default is above the maximum */
	return 0;
}

static void warn_of_rations(struct queues *q, size_t i, size_t r)
{
	const struct conf_queue *queue = &q->queue[i];
	const struct conf_value *at = conf_place(q->section[i]);
	int64_t sum = 0;

	if (queue->quota[r] == CONF_NONE)
		return;
	if (queue->limit[r] != CONF_NONE && queue->limit[r] < queue->quota[r])
		build_warn(q->b, at, "queue '%s': limit.%s is below quota.%s",
		           queue->name, resource[r], resource[r]);
	for (size_t k = i + 1; k < q->n; k++)
		if (q->queue[k].parent == (int)i &&
		    q->queue[k].quota[r] != CONF_NONE)
			sum += q->queue[k].quota[r];
	if (sum > queue->quota[r])
		build_warn(q->b, at,
		           "queue '%s': quota.%s is less than those of the "
		           "queues below it together",
		           queue->name, resource[r]);
}

static int check_default(struct queues *q)
{
	const struct conf *conf = q->b->conf;
	const struct conf_value *at = build_place(q->b->top, "default_queue");
	int i;

	if (!*conf->default_queue)
		return 0;
	i = conf_queue_find(conf, conf->default_queue);
	if (i < 0)
		return build_fail(q->b, at,
		                  "default_queue: there is no queue '%s'",
		                  conf->default_queue);
	if (!conf->queues[i].leaf)
		return build_fail(q->b, at,
		                  "default_queue: '%s' takes no jobs, there "
		                  "are queues below it",
		                  conf->default_queue);
	return 0;
}

static int take_all(struct queues *q)
{
	if (read_entries(q) < 0 || link_parents(q) < 0 || check_circles(q) < 0)
		return -1;
	for (size_t i = 0; i < q->n; i++)
		if (take_entry(q, &q->entry[i]) < 0)
			return -1;
	for (size_t i = 0; i < q->n; i++) {
		if (check_queue(q, i) < 0)
			return -1;
		for (size_t r = 0; r < RES_N; r++)
			warn_of_rations(q, i, r);
	}
	return 0;
}

/* Add a queue "default", which everybody may use: for configurations
 * without queues. */
static void add_standard(struct queues *q)
{
	build_defaults(q->b, "queue", q->queue);
	q->queue->name = "default";
	q->queue->leaf = true;
	q->b->conf->nqueues = 1;
}

int build_queues(struct conf_build *b)
{
	struct queues q = { .b = b, .n = build_count(b, "queue") };
	int status = 0;

	if (q.n > LIMIT_QUEUES)
		return build_fail(
		    b, conf_place(build_section(b, "queue", LIMIT_QUEUES)),
		    "more than %d queues", LIMIT_QUEUES);
	q.queue = arena_array(b->conf->arena, struct conf_queue, q.n + 1);
	q.section = arena_array(b->conf->arena, cfg_t *, q.n);
	q.entry = arena_array(b->conf->arena, struct file_queue, q.n);
	b->conf->queues = q.queue;
	b->conf->nqueues = q.n;
	if (!q.n)
		add_standard(&q);
	else
		status = take_all(&q);
	return status < 0 ? -1 : check_default(&q);
}
