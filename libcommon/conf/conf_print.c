/* conf_print.c - print a configuration as a file */
#include <string.h>

#include "libcommon/conf/conf_keys.h"
#include "libcommon/hostlist.h"

struct printer {
	const struct conf *conf;
	struct buf *out;
	/* Owns the defaults that values are compared with. */
	struct arena *arena;
};

static void indent(struct printer *p, int depth)
{
	while (depth--)
		buf_addc(p->out, '\t');
}

/* Print one key, but not a special key (conf_keys.h) that has its default. */
static void print_key(struct printer *p, const struct conf_key *key,
                      const void *base, const void *initial, int depth)
{
	struct buf value = { 0 }, usual = { 0 };

	if (key_format(key, base, p->conf, &value) &&
	    !(key->special && key_format(key, initial, p->conf, &usual) &&
	      !strcmp(value.data, usual.data))) {
		indent(p, depth);
		buf_printf(p->out, "%s = %s\n", key->name, value.data);
	}
	buf_free(&value);
	buf_free(&usual);
}

static void print_group(struct printer *p, const struct conf_key *group,
                        const void *base, const void *initial, int depth)
{
	size_t start = p->out->len, body;

	indent(p, depth);
	buf_printf(p->out, "%s {\n", group->name);
	body = p->out->len;
	for (size_t i = 0; i < group->table->n; i++)
		print_key(p, &group->table->key[i],
		          (const char *)base + group->offset,
		          (const char *)initial + group->offset, depth + 1);
	if (p->out->len == body) {
		p->out->len = start;
		p->out->data[start] = '\0';
		return;
	}
	indent(p, depth);
	buf_puts(p->out, "}\n");
}

static void print_keys(struct printer *p, const struct conf_key_table *table,
                       const void *base, const void *initial, int depth)
{
	for (size_t i = 0; i < table->n; i++) {
		const struct conf_key *key = &table->key[i];

		if (key->kind == KEY_GROUP)
			print_group(p, key, base, initial, depth);
		else if (key->kind < KEY_GROUP)
			print_key(p, key, base, initial, depth);
	}
}

static void *defaults(struct printer *p, const struct conf_key_table *table)
{
	void *base = arena_alloc(p->arena, 1, table->size);

	key_set_defaults(table, base, p->conf, p->arena);
	return base;
}

static void print_section(struct printer *p, const char *what,
                          const char *title, const void *base,
                          const void *initial)
{
	buf_printf(p->out, "\n%s \"%s\" {\n", what, title);
	print_keys(p, conf_keys_of(what), base, initial, 1);
	buf_puts(p->out, "}\n");
}

/* Whether two nodes have the same values, except for their names. */
static bool is_same_node(struct printer *p, const struct conf_node *a,
                         const struct conf_node *b)
{
	const struct conf_key_table *table = conf_keys_of("node");
	struct buf x = { 0 }, y = { 0 };
	bool same = true;

	for (size_t i = 0; same && i < table->n; i++) {
		/* Append whether there is a value, so that an empty value
		 * differs from none. */
		x.len = y.len = 0;
		buf_addc(&x, key_format(&table->key[i], a, p->conf, &x));
		buf_addc(&y, key_format(&table->key[i], b, p->conf, &y));
		same = x.len == y.len && !memcmp(x.data, y.data, x.len);
	}
	buf_free(&x);
	buf_free(&y);
	return same;
}

/* Returns the title of a section for this node: "NAME" or "POOL/NAME". */
static const char *node_title(const struct printer *p,
                              const struct conf_node *node)
{
	const char *pool = p->conf->pools[node->pool].name;
	struct buf text = { 0 };
	const char *title;

	if (!node->by_pool)
		return node->name;
	buf_printf(&text, "%s/%s", pool, node->name);
	title = arena_strdup(p->arena, text.data);
	buf_free(&text);
	return title;
}

/* Print the nodes from a up to, but without, b as one section. Returns false,
 * and prints nothing, if a hostlist of them would change their order. */
static bool print_nodes_as_one(struct printer *p, size_t a, size_t b,
                               const void *initial)
{
	const struct conf_node *node = p->conf->nodes;
	const char **name = arena_array(p->arena, const char *, b - a);
	struct hostlist list = { 0 };
	struct buf title = { 0 };
	bool same;

	for (size_t i = a; i < b; i++)
		name[i - a] = node_title(p, &node[i]);
	hostlist_format(name, b - a, &title);
	same = hostlist_parse(&list, title.data, NULL) == 0 && list.n == b - a;
	for (size_t i = 0; same && i < list.n; i++)
		same = !strcmp(list.name[i], name[i]);
	if (same)
		print_section(p, "node", title.data, &node[a], initial);
	hostlist_free(&list);
	buf_free(&title);
	return same;
}

static void print_nodes(struct printer *p)
{
	const struct conf_node *node = p->conf->nodes;
	const void *initial = defaults(p, conf_keys_of("node"));

	for (size_t a = 0, b; a < p->conf->nnodes; a = b) {
		b = a + 1;
		while (b < p->conf->nnodes &&
		       is_same_node(p, &node[a], &node[b]))
			b++;
		if (print_nodes_as_one(p, a, b, initial))
			continue;
		for (size_t i = a; i < b; i++)
			print_section(p, "node", node_title(p, &node[i]),
			              &node[i], initial);
	}
}

static void print_licenses(struct printer *p)
{
	if (!p->conf->nlicenses)
		return;
	buf_puts(p->out, "\nlicenses {\n");
	for (size_t i = 0; i < p->conf->nlicenses; i++)
		buf_printf(p->out, "\t%s = %lld\n", p->conf->licenses[i].name,
		           (long long)p->conf->licenses[i].count);
	buf_puts(p->out, "}\n");
}

void conf_print_pool(const struct conf *conf, const struct conf_pool *pool,
                     struct buf *out)
{
	struct printer p = { conf, out, arena_new() };

	print_section(&p, "pool", pool->name, pool,
	              defaults(&p, conf_keys_of("pool")));
	arena_free(p.arena);
}

void conf_print(const struct conf *conf, struct buf *out)
{
	struct printer p = { conf, out, arena_new() };
	const void *initial;

	buf_puts(out, "# All values in force; what is not here is not set.\n");
	print_keys(&p, conf_keys_of(NULL), conf,
	           defaults(&p, conf_keys_of(NULL)), 0);
	print_licenses(&p);
	initial = defaults(&p, conf_keys_of("device"));
	for (size_t i = 0; i < conf->ndevices; i++)
		print_section(&p, "device", conf->devices[i].name,
		              &conf->devices[i], initial);
	initial = defaults(&p, conf_keys_of("class"));
	for (size_t i = 0; i < conf->nclasses; i++) {
		const struct conf_class *class = &conf->classes[i];
		const void *standard = conf_standard_class(class->name);

		print_section(&p, "class", class->name, class,
		              standard ? standard : initial);
	}
	initial = defaults(&p, conf_keys_of("pool"));
	for (size_t i = 0; i < conf->npools; i++)
		if (!conf->pools[i].leaving)
			print_section(&p, "pool", conf->pools[i].name,
			              &conf->pools[i], initial);
	print_nodes(&p);
	initial = defaults(&p, conf_keys_of("scale"));
	for (size_t i = 0; i < conf->nscales; i++)
		print_section(&p, "scale", conf->scales[i].name,
		              &conf->scales[i], initial);
	initial = defaults(&p, conf_keys_of("queue"));
	for (size_t i = 0; i < conf->nqueues; i++)
		print_section(&p, "queue", conf->queues[i].name,
		              &conf->queues[i], initial);
	arena_free(p.arena);
}

bool conf_same(const struct conf *a, const struct conf *b)
{
	struct buf x = { 0 }, y = { 0 };
	bool same;

	conf_print(a, &x);
	conf_print(b, &y);
	same = x.len == y.len && !memcmp(x.data, y.data, x.len);
	buf_free(&x);
	buf_free(&y);
	return same;
}
