/* nodes.c - the nodes of a replay, for a configuration that has none */
#include "aisim/nodes.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "libcommon/mem.h"

enum { LINE_MOST = 1024 * 1024 };

/* Append a text in quotes, escaped for a configuration file. */
static void put_quoted(struct buf *out, const char *text)
{
	buf_addc(out, '"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			buf_addc(out, '\\');
		buf_addc(out, *text);
	}
	buf_addc(out, '"');
}

static void put_text(struct buf *out, const char *key, const json_t *value)
{
	const char *text = json_string_value(value);

	if (!text || !*text)
		return;
	buf_printf(out, "  %s = ", key);
	put_quoted(out, text);
}

/* Whether a template of the configuration adds the node, which then need not
 * exist from the start. */
static bool is_added(const struct conf *conf, const char *name)
{
	for (size_t i = 0; i < conf->nscales; i++) {
		const struct conf_scale *scale = &conf->scales[i];
		size_t len = strlen(scale->name);
		const char *number = name + len + 1;

		if (!strncmp(name, scale->name, len) && name[len] == '-' &&
		    *number && !number[strspn(number, "0123456789")] &&
		    strtoll(number, NULL, 10) <= scale->max)
			return true;
	}
	return false;
}

static void put_node(const struct conf *conf, const json_t *node,
                     struct buf *out, struct buf *lacks)
{
	const char *name = json_string_value(json_object_get(node, "name"));
	const char *pool = json_string_value(json_object_get(node, "pool"));
	const json_t *features = json_object_get(node, "features"), *item;
	const json_t *weight = json_object_get(node, "weight");
	const json_t *tmp = json_object_get(node, "tmp_mib");
	const json_t *gpu_mem = json_object_get(node, "gpu_memory_mib");
	size_t i;

	if (!name || !pool)
		return;
	if (conf_pool_find(conf, pool) < 0) {
		if (lacks)
			buf_printf(lacks, "node '%s': there is no pool '%s'\n",
			           name, pool);
		return;
	}
	if (is_added(conf, name))
		return;
	buf_puts(out, "node ");
	put_quoted(out, name);
	buf_puts(out, " {");
	put_text(out, "pool", json_object_get(node, "pool"));
	buf_printf(
	    out, "  cpus = %lld  memory = \"%lldM\"  gpus = %lld",
	    (long long)json_number_value(json_object_get(node, "cpus")),
	    (long long)json_integer_value(json_object_get(node, "memory_mib")),
	    (long long)json_integer_value(json_object_get(node, "gpus")));
	put_text(out, "gpu_type", json_object_get(node, "gpu_type"));
	put_text(out, "topology", json_object_get(node, "topology"));
	put_text(out, "devices", json_object_get(node, "devices"));
	if (json_is_integer(gpu_mem))
		buf_printf(out, "  gpu_memory = \"%lldM\"",
		           (long long)json_integer_value(gpu_mem));
	if (tmp)
		buf_printf(out, "  tmp = \"%lldM\"",
		           (long long)json_integer_value(tmp));
	if (weight)
		buf_printf(out, "  weight = %lld",
		           (long long)json_integer_value(weight));
	json_array_foreach(features, i, item) {
		buf_puts(out, i ? ", " : "  features = {");
		put_quoted(out, json_string_value(item));
	}
	buf_puts(out, i ? "} }\n" : " }\n");
}

/* Append a node section for each node at the beginning of a replay. */
static void put_nodes(const struct conf *conf, gzFile file, struct buf *out,
                      struct buf *lacks)
{
	static const char head[] = "{\"replay\":", key[] = "{\"node\":";
	char *line = xmalloc(LINE_MOST);
	bool is_replay = gzgets(file, line, LINE_MOST) &&
	                 !strncmp(line, head, sizeof(head) - 1);

	while (is_replay && gzgets(file, line, LINE_MOST) &&
	       !strncmp(line, key, sizeof(key) - 1)) {
		json_t *obj = json_loads(line, 0, NULL);

		put_node(conf, json_object_get(obj, "node"), out, lacks);
		json_decref(obj);
	}
	free(line);
}

struct conf *nodes_load_conf(const char *path, const char *history,
                             struct buf *warnings, struct buf *lacks,
                             struct err *err)
{
	struct conf *conf = conf_load(path, warnings, err);
	char *real = NULL;
	struct buf text = { 0 }, nodes = { 0 };
	gzFile file;

	if (!conf || conf->nnodes || !history)
		return conf;
	file = gzopen(history, "rb");
	if (!file)
		return conf; /* reading the jobs will report this error */
	put_nodes(conf, file, &nodes, lacks);
	gzclose(file);
	real = nodes.len ? realpath(path, NULL) : NULL;
	if (real) {
		conf_free(conf);
		buf_puts(&text, "include(");
		put_quoted(&text, real);
		buf_printf(&text, ")\n%s", nodes.data);
		conf = conf_parse(text.data, history, NULL, err);
	}
	free(real);
	buf_free(&text);
	buf_free(&nodes);
	return conf;
}
