/* listing.c - rows for aiq: jobs, nodes, queues, shares */
#include "aischedd/read/listing.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/read/listing_row.h"
#include "aischedd/run/output.h"
#include "aischedd/state/cluster/node.h"
#include "aischedd/state/cluster/used.h"
#include "libcommon/mem.h"

static const struct field no_fields[] = { { 0 } };

static const struct field *const tables[] = {
	[LIST_JOBS] = listing_job_fields,
	[LIST_NODES] = listing_node_fields,
	[LIST_QUEUES] = listing_queue_fields,
	[LIST_SHARES] = listing_share_fields,
	[LIST_ATTEMPTS] = listing_attempt_fields,
	[LIST_CRONS] = no_fields,
};

static int find_field(const struct field *table, const char *name)
{
	for (int i = 0; table[i].name; i++)
		if (!strcmp(table[i].name, name))
			return i;
	return -1;
}

int listing_new(struct listing *ret, enum listing_kind kind, json_t *fields,
                const char *format, struct err *err)
{
	const struct field *table = tables[kind];

	*ret = (struct listing){ .kind = kind };
	if (!format || !strcmp(format, "json"))
		ret->json = true;
	else if (strcmp(format, "tsv"))
		return err_set(err, EINVAL, "there is no format '%s'", format);
	if (json_array_size(fields) > LISTING_FIELDS)
		return err_set(err, EINVAL, "at most %d fields",
		               LISTING_FIELDS);
	for (size_t i = 0; i < json_array_size(fields); i++) {
		const char *name = json_string_value(json_array_get(fields, i));
		int f = name ? find_field(table, name) : -1;

		if (f < 0)
			return err_set(err, EINVAL, "there is no field '%s'",
			               name ? name : "");
		ret->field[ret->nfields++] = (uint8_t)f;
	}
	if (!fields || !json_array_size(fields))
		for (int f = 0; table[f].name; f++)
			if (table[f].usual)
				ret->field[ret->nfields++] = (uint8_t)f;
	return 0;
}

static void put_key(struct row_view *v, const char *name)
{
	buf_addc(v->out, '"');
	buf_puts(v->out, name);
	buf_puts(v->out, "\":");
}

static void write_row(const struct listing *l, struct row_view *v)
{
	const struct field *table = tables[l->kind];

	v->json = l->json;
	if (l->json)
		buf_addc(v->out, '{');
	for (size_t i = 0; i < l->nfields; i++) {
		const struct field *f = &table[l->field[i]];

		if (i)
			buf_addc(v->out, l->json ? ',' : '\t');
		if (l->json)
			put_key(v, f->name);
		f->write(v);
	}
	buf_puts(v->out, l->json ? "}\n" : "\n");
}

static void write_job(const struct listing *l, struct row_view *v)
{
	spec_unpack(&v->spec, v->job->packed);
	spec_request(&v->spec, v->job->mem_default, &v->req);
	write_row(l, v);
	buf_free(&v->text);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void listing_job(const struct listing *l, const struct state *state,
                 const struct job *job, int64_t now, struct buf *out)
{
	const struct placement *p = job->place;
	struct row_view v = {
		.out = out,
		.state = state,
		.now = now,
		.job = job,
		.user = state_user(state, job->user)->name,
		.queue = state_conf(state)->queues[job->queue].name,
	};
	const struct array *array =
	    job->array ? state_array(state, job->array) : NULL;

	v.array_limit = array ? array->limit : 0;
	if (p) {
		v.nnodes = p->ntasks;
		v.node = xcalloc(p->ntasks, sizeof(*v.node));
		for (uint32_t i = 0; i < p->ntasks; i++)
			v.node[i] = (char *)(uintptr_t)state_node_label(
			    state, p->task[i].node);
		qsort(v.node, v.nnodes, sizeof(*v.node), by_name);
	}
	write_job(l, &v);
	free(v.node);
}

/* Get the node names of a stored placement, the text before each ':'. Returns
 * the memory that holds them; the caller frees that and *ret. */
static char *place_names(const char *place, char ***ret, uint32_t *ret_n)
{
	char *copy = xstrdup(place ? place : ""), *s = copy, *next;
	size_t n = 0, cap = 0;
	char **name = NULL;

	for (; s && *s; s = next) {
		char *colon = strchr(s, ':');

		next = strchr(s, ';');
		if (next)
			*next++ = '\0';
		if (!colon)
			break;
		*colon = '\0';
		name = GROW(name, n, &cap);
		name[n++] = s;
	}
	*ret = name;
	*ret_n = (uint32_t)n;
	return copy;
}

void listing_past(const struct listing *l, const struct past_job *past,
                  struct buf *out)
{
	struct row_view v = {
		.out = out,
		.now = past->job.runs->end,
		.job = &past->job,
		.user = past->user,
		.queue = past->queue,
	};
	char *names = place_names(past->place, &v.node, &v.nnodes);

	if (v.nnodes)
		qsort(v.node, v.nnodes, sizeof(*v.node), by_name);
	write_job(l, &v);
	free(v.node);
	free(names);
}

void listing_attempt(const struct listing *l, const struct past_attempt *past,
                     struct buf *out)
{
	struct row_view v = { .out = out, .attempt = past };

	write_row(l, &v);
}

void listing_node(const struct listing *l, const struct state *state,
                  uint32_t node, const struct node_left *left, int64_t now,
                  struct buf *out)
{
	struct row_view v = { .out = out,
		              .state = state,
		              .now = now,
		              .index = node,
		              .left = left };

	write_row(l, &v);
}

void listing_queue(const struct listing *l, const struct state *state,
                   uint32_t queue, struct buf *out)
{
	struct row_view v = { .out = out, .state = state, .index = queue };

	write_row(l, &v);
}

void listing_share(const struct listing *l, const struct state *state,
                   const struct share_row *row, struct buf *out)
{
	struct row_view v = {
		.out = out, .state = state, .index = row->queue, .share = row
	};

	write_row(l, &v);
}

void listing_output(const struct job *job, const char *user, const char *place,
                    uint32_t task, bool want_error, struct buf *out)
{
	char *node = xstrndup(place, strcspn(place, ":"));
	struct spec spec;
	struct output_name name = {
		.job = job->id,
		.array_job = job->array,
		.array_task = job->task == NO_TASK ? 0 : job->task,
		.task = task,
		.user = user,
		.node = node,
	};

	spec_unpack(&spec, job->packed);
	name.name = spec.name;
	output_expand(want_error && spec.error ? spec.error : spec.output,
	              spec.workdir, &name, out);
	free(node);
}
