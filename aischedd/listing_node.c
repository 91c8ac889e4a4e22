/* listing_node.c - the fields of a node */

#include "aischedd/listing_row.h"
#include "aischedd/state/reserve.h"

static const struct node *node_of(const struct row_view *v)
{
	return state_node(v->state, v->index);
}

static void put_free(struct row_view *v, enum resource r, bool milli)
{
	int64_t left[RES_N];
	uint32_t jobs;

	state_node_free(v->state, v->index, left, &jobs);
	if (milli)
		put_milli(v, left[r]);
	else
		put_int(v, left[r]);
}

static void n_name(struct row_view *v)
{
	put_text(v, node_of(v)->name);
}

static void n_pool(struct row_view *v)
{
	put_text(v, state_conf(v->state)->pools[node_of(v)->pool].name);
}

static const struct reservation *keeper(const struct row_view *v)
{
	return state_node_reserved(v->state, v->index, v->now);
}

static void n_state(struct row_view *v)
{
	const struct node *n = node_of(v);
	int64_t left[RES_N];
	uint32_t jobs;
	bool out;

	state_node_free(v->state, v->index, left, &jobs);
	out = n->drained || n->cordoned;
	put_text(v, n->gone || n->down       ? "DOWN"
	            : out && jobs            ? "DRAINING"
	            : out                    ? "DRAINED"
	            : jobs && left[0] < 1000 ? "ALLOCATED"
	            : jobs                   ? "MIXED"
	            : keeper(v)              ? "RESERVED"
	                                     : "IDLE");
}

static void n_reason(struct row_view *v)
{
	const struct reservation *r = keeper(v);
	struct buf text = { 0 };

	if (node_of(v)->reason || !r) {
		put_text(v, node_of(v)->reason ? node_of(v)->reason : "");
		return;
	}
	buf_printf(&text, "reservation '%s' until ", r->name);
	format_time(&text, r->end);
	put_buf(v, &text);
}

static void n_cpus(struct row_view *v)
{
	put_milli(v, node_of(v)->cpu_milli);
}

static void n_cpus_free(struct row_view *v)
{
	put_free(v, RES_CPU, true);
}

static void n_memory_mib(struct row_view *v)
{
	put_int(v, node_of(v)->mem_mib);
}

static void n_memory_free_mib(struct row_view *v)
{
	put_free(v, RES_MEM, false);
}

static void n_gpus(struct row_view *v)
{
	put_int(v, node_of(v)->ngpus);
}

static void n_gpus_free(struct row_view *v)
{
	put_free(v, RES_GPU, true);
}

static void n_gpu_type(struct row_view *v)
{
	put_text(v, node_of(v)->gpu_type);
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

static void n_topology(struct row_view *v)
{
	const struct node *node = node_of(v);

	put_text(v, node->conf && node->conf->topology ? node->conf->topology
	                                               : node->topology);
}

static void n_jobs(struct row_view *v)
{
	int64_t left[RES_N];
	uint32_t jobs;

	state_node_free(v->state, v->index, left, &jobs);
	put_int(v, jobs);
}

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
	F(features),
	F(topology),
	F(jobs),
	{ NULL, NULL, false }
#undef F
};
