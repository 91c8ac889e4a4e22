/* listing_node.c - the fields of a node */
#include "aischedd/read/listing_row.h"
#include "aischedd/state/cluster/node.h"
#include "aischedd/state/cluster/reserve.h"
#include "aischedd/state/cluster/scale.h"

static const struct node *node_of(const struct row_view *v)
{
	return state_node(v->state, v->index);
}

static const char *pool_of(const struct row_view *v)
{
	return state_conf(v->state)->pools[node_of(v)->pool].name;
}

static const struct reservation *keeper(const struct row_view *v)
{
	return state_node_reserved(v->state, v->index, v->now);
}

static void n_state(struct row_view *v)
{
	const struct node *n = node_of(v);
	bool out = n->drained || n->cordoned, full = v->left->free[0] < 1000;

	if (n->want == WANT_REMOVED) {
		put_text(v, "POWERING_DOWN");
		return;
	}
	if (n->coming && !n->drained) {
		put_text(v, n->want == WANT_ADDED ? "POWERING_UP"
		                                  : "POWERED_DOWN");
		return;
	}
	put_text(v, n->gone || n->down      ? "DOWN"
	            : out && v->left->jobs  ? "DRAINING"
	            : out                   ? "DRAINED"
	            : v->left->jobs && full ? "ALLOCATED"
	            : v->left->jobs         ? "MIXED"
	            : keeper(v)             ? "RESERVED"
	                                    : "IDLE");
}

static void n_reason(struct row_view *v)
{
	const struct reservation *r = keeper(v);
	const char *reason = node_reason(node_of(v));
	const char *trouble = state_scale_trouble(v->state, v->index);
	struct buf text = { 0 };

	if (trouble && node_of(v)->coming)
		reason = trouble;
	if (reason || !r) {
		put_text(v, reason ? reason : "");
		return;
	}
	buf_printf(&text, "reservation '%s' until ", r->name);
	format_time(&text, r->end);
	put_buf(v, &text);
}

static void put_words(struct row_view *v, const struct strlist *list,
                      struct buf *text, size_t *n)
{
	for (size_t i = 0; i < list->n; i++, ++*n)
		if (v->json) {
			if (*n)
				buf_addc(v->out, ',');
			buf_json(v->out, list->s[i]);
		} else {
			buf_printf(text, "%s%s", *n ? "," : "", list->s[i]);
		}
}

static void n_features(struct row_view *v)
{
	const struct node *node = node_of(v);
	struct buf text = { 0 };
	size_t n = 0;

	if (v->json)
		buf_addc(v->out, '[');
	if (node->conf)
		put_words(v, &node->conf->features, &text, &n);
	put_words(v, &node->features, &text, &n);
	if (v->json)
		buf_addc(v->out, ']');
	else
		put_buf(v, &text);
}

static void put_devs(struct row_view *v, const struct device_counts *devs)
{
	const struct conf *conf = state_conf(v->state);
	struct buf text = { 0 };

	devices_put(conf->device_names, conf->ndevices, devs, "", &text);
	put_text(v, text.data);
	buf_free(&text);
}

static void n_devices(struct row_view *v)
{
	put_devs(v, &node_of(v)->devs);
}

static void n_devices_free(struct row_view *v)
{
	put_devs(v, &v->left->dev_free);
}

static void n_topology(struct row_view *v)
{
	const struct node *node = node_of(v);

	put_text(v, node->conf && node->conf->topology ? node->conf->topology
	                                               : node->topology);
}

/* clang-format off */
FIELD(n_name,            put_text,   state_node_label(v->state, v->index))
FIELD(n_pool,            put_text,   pool_of(v))
FIELD(n_cpus,            put_milli,  node_of(v)->cpu_milli)
FIELD(n_cpus_free,       put_milli,  v->left->free[RES_CPU])
FIELD(n_memory_mib,      put_int,    node_of(v)->mem_mib)
FIELD(n_memory_free_mib, put_int,    v->left->free[RES_MEM])
FIELD(n_tmp_mib,         put_int,    node_of(v)->tmp_mib)
FIELD(n_tmp_free_mib,    put_int,    v->left->tmp_free)
FIELD(n_gpus,            put_int,    node_of(v)->ngpus)
FIELD(n_gpus_free,       put_milli,  v->left->free[RES_GPU])
FIELD(n_gpu_type,        put_text,   node_of(v)->gpu_type)
FIELD(n_gpu_memory_mib,  put_int_or, node_gpu_mem(node_of(v)), 0)
FIELD(n_jobs,            put_int,    v->left->jobs)
FIELD(n_weight,          put_int,    node_weight(node_of(v)))
/* clang-format on */

const struct field listing_node_fields[] = {
#define F(name)                       \
	{                             \
#name, n_##name, true \
	}
	F(name),
	F(pool),
	F(state),
	F(reason),
	F(cpus),
	F(cpus_free),
	F(memory_mib),
	F(memory_free_mib),
	F(gpus),
	F(gpus_free),
	F(gpu_type),
	F(gpu_memory_mib),
	F(features),
	F(topology),
	F(jobs),
	F(weight),
	F(tmp_mib),
	F(tmp_free_mib),
	F(devices),
	F(devices_free),
	{ NULL, NULL, false }
#undef F
};
