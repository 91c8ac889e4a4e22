/* listing.c - rows of text for aiq: jobs, nodes, queues, shares */
#include "aischedd/listing.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/run/output.h"
#include "aischedd/state/reserve.h"
#include "libcommon/hostlist.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"

/* One row while it is written; what several fields need is made once. */
struct row_view {
	struct buf *out;
	bool json;
	const struct state *state; /* NULL: a past job */
	int64_t now;

	const struct job *job;
	struct spec spec;
	struct request req;
	const char *user, *queue;
	uint32_t array_limit;
	char **node;     /* name of each task's node */
	uint32_t nnodes; /* tasks that are placed */
	bool explained;
	enum reason why;
	int64_t expected;
	uint32_t position;
	struct buf text;

	uint32_t index; /* node, queue */
	const struct share_row *share;
};

typedef void field_fn(struct row_view *v);

struct field {
	const char *name;
	field_fn *write;
	bool usual; /* in a JSON row that names no fields */
};

/* --- values ------------------------------------------------------------ */

static void put_null(struct row_view *v)
{
	if (v->json)
		buf_puts(v->out, "null");
}

static void put_int(struct row_view *v, int64_t value)
{
	buf_i64(v->out, value);
}

/* A time, an id: none is null. */
static void put_int_or(struct row_view *v, int64_t value, int64_t none)
{
	if (value == none)
		put_null(v);
	else
		put_int(v, value);
}

static void put_text(struct row_view *v, const char *s)
{
	size_t plain;

	if (!s) {
		put_null(v);
		return;
	}
	if (v->json) {
		buf_json(v->out, s);
		return;
	}
	while ((plain = strcspn(s, "\t\n\\")), s[plain]) {
		buf_add(v->out, s, plain);
		buf_puts(v->out, s[plain] == '\t'   ? "\\t"
		                 : s[plain] == '\n' ? "\\n"
		                                    : "\\\\");
		s += plain + 1;
	}
	buf_add(v->out, s, plain);
}

/* JSON without the quotes: into a column as it is. */
static void put_milli(struct row_view *v, int64_t milli)
{
	format_milli(v->out, milli);
}

/* Around text that needs no escapes and goes straight into the row. */
static void put_quote(struct row_view *v)
{
	if (v->json)
		buf_addc(v->out, '"');
}

static void put_buf(struct row_view *v, struct buf *text)
{
	put_text(v, text->data ? text->data : "");
	buf_free(text);
}

/* --- jobs -------------------------------------------------------------- */

static void explain(struct row_view *v)
{
	if (v->explained)
		return;
	v->explained = true;
	v->expected = NO_TIME;
	if (v->state) {
		v->why = state_why(v->state, v->job, v->now, &v->text,
		                   &v->expected, &v->position);
		return;
	}
	v->why = (enum reason)v->job->why;
	buf_puts(&v->text, v->job->text ? v->job->text : reason_text(v->why));
}

/* The code without the sentence, which costs ten times as much. */
static enum reason why(struct row_view *v)
{
	int64_t expected;
	uint32_t position;

	if (v->explained || !v->state) {
		explain(v);
		return v->why;
	}
	return state_why(v->state, v->job, v->now, NULL, &expected, &position);
}

static bool pending(const struct row_view *v)
{
	return v->job->state == JOB_PENDING;
}

static void j_job_id(struct row_view *v)
{
	/* What waits of an array goes by the array's, divided or not. */
	put_int(v, (int64_t)(v->job->tasks.n ? v->job->array : v->job->id));
}

static void j_array_job_id(struct row_view *v)
{
	put_int_or(v, (int64_t)v->job->array, 0);
}

static void j_array_task_id(struct row_view *v)
{
	put_int_or(v, v->job->task, NO_TASK);
}

static void j_display_id(struct row_view *v)
{
	put_quote(v);
	job_display_id(v->job, v->array_limit, v->out);
	put_quote(v);
}

static void j_array_tasks(struct row_view *v)
{
	put_quote(v);
	if (v->job->tasks.n) {
		idset_format(&v->job->tasks, v->out);
		if (v->array_limit)
			buf_printf(v->out, "%%%u", v->array_limit);
	}
	put_quote(v);
}

static void j_name(struct row_view *v)
{
	put_text(v, v->spec.name);
}

static void j_user(struct row_view *v)
{
	put_text(v, v->user);
}

static void j_uid(struct row_view *v)
{
	put_int(v, v->job->uid);
}

static void j_queue(struct row_view *v)
{
	put_text(v, v->queue);
}

static void j_class(struct row_view *v)
{
	put_text(v, v->spec.class ? v->spec.class : "train");
}

static void j_state(struct row_view *v)
{
	put_text(v, job_state_name((enum job_state)v->job->state));
}

static void j_state_letter(struct row_view *v)
{
	put_text(v, job_state_letter((enum job_state)v->job->state));
}

static void j_reason(struct row_view *v)
{
	put_text(v, reason_name(why(v)));
}

static void j_reason_text(struct row_view *v)
{
	explain(v);
	put_text(v, v->text.data ? v->text.data : "");
}

static void j_expected_start(struct row_view *v)
{
	explain(v);
	put_int_or(v, v->expected, NO_TIME);
}

static void j_position(struct row_view *v)
{
	explain(v);
	put_int_or(v, v->position, 0);
}

static void j_priority(struct row_view *v)
{
	put_int(v, v->job->priority);
}

/* How its place in the queue comes about; one number in a column. */
static void j_score(struct row_view *v)
{
	struct score s;

	if (!v->state || !state_score(v->state, v->job, v->now, &s)) {
		put_null(v);
		return;
	}
	if (v->json) {
		buf_puts(v->out, "{\"priority\":");
		put_milli(v, s.priority);
		buf_puts(v->out, ",\"age\":");
		put_milli(v, s.age);
		buf_puts(v->out, ",\"size\":");
		put_milli(v, s.size);
		buf_puts(v->out, ",\"fair_share\":");
		put_milli(v, s.fair_share);
		buf_printf(v->out, ",\"overdue\":%s,\"total\":",
		           s.overdue ? "true" : "false");
	}
	put_milli(v, score_sum(&s));
	if (v->json)
		buf_addc(v->out, '}');
}

static void j_tasks(struct row_view *v)
{
	put_int(v, v->req.tasks);
}

static void j_min_tasks(struct row_view *v)
{
	put_int(v, v->req.min_tasks);
}

static void j_running_tasks(struct row_view *v)
{
	bool runs =
	    !pending(v) && !job_state_is_final((enum job_state)v->job->state);

	put_int(v, runs ? v->nnodes : 0);
}

static void j_cpus(struct row_view *v)
{
	put_milli(v, v->req.cpus_milli);
}

static void j_mem_mib(struct row_view *v)
{
	put_int(v, v->req.mem_mib);
}

static void j_gpus(struct row_view *v)
{
	put_milli(v, v->req.gpus_milli);
}

static void put_resources(struct row_view *v, int64_t cpus, int64_t mem,
                          int64_t gpus)
{
	buf_puts(v->out, "{\"cpus\":");
	put_milli(v, cpus);
	buf_puts(v->out, ",\"memory_mib\":");
	put_int(v, mem);
	buf_puts(v->out, ",\"gpus\":");
	put_milli(v, gpus);
	buf_addc(v->out, '}');
}

static void j_resources(struct row_view *v)
{
	put_resources(v, v->req.cpus_milli, v->req.mem_mib, v->req.gpus_milli);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* {"n0":2,"n1":1}: the names are sorted when the view is made. */
static void j_nodes(struct row_view *v)
{
	uint32_t i = 0, run;

	buf_addc(v->out, '{');
	while (i < v->nnodes) {
		for (run = 1; i + run < v->nnodes &&
		              !strcmp(v->node[i], v->node[i + run]);
		     run++)
			;
		if (i)
			buf_addc(v->out, ',');
		buf_json(v->out, v->node[i]);
		buf_printf(v->out, ":%u", run);
		i += run;
	}
	buf_addc(v->out, '}');
}

static uint32_t different_nodes(const struct row_view *v)
{
	uint32_t n = v->nnodes > 0;

	for (uint32_t i = 1; i < v->nnodes; i++)
		n += strcmp(v->node[i - 1], v->node[i]) != 0;
	return n;
}

static void j_num_nodes(struct row_view *v)
{
	uint32_t n = different_nodes(v);

	put_int(v, n ? n : v->req.nodes ? v->req.nodes : 1);
}

static void node_list(const struct row_view *v, struct buf *out)
{
	hostlist_format((const char *const *)v->node, v->nnodes, out);
}

static void j_nodelist(struct row_view *v)
{
	struct buf text = { 0 };

	if (v->nnodes)
		node_list(v, &text);
	put_buf(v, &text);
}

static void j_where(struct row_view *v)
{
	if (!pending(v) && v->nnodes) {
		j_nodelist(v);
		return;
	}
	put_quote(v);
	buf_addc(v->out, '(');
	buf_puts(v->out, reason_name(why(v)));
	buf_addc(v->out, ')');
	put_quote(v);
}

static void j_submit_time(struct row_view *v)
{
	put_int_or(v, v->job->submit, NO_TIME);
}

static void j_eligible_time(struct row_view *v)
{
	put_int_or(v, v->job->eligible, NO_TIME);
}

static void j_start_time(struct row_view *v)
{
	put_int_or(v, v->job->start, NO_TIME);
}

static void j_end_time(struct row_view *v)
{
	put_int_or(v, v->job->end, NO_TIME);
}

static void j_begin_time(struct row_view *v)
{
	put_int_or(v, v->spec.begin, SPEC_UNSET);
}

static void j_deadline(struct row_view *v)
{
	put_int_or(v, v->job->deadline, NO_TIME);
}

static void j_time_limit(struct row_view *v)
{
	put_int_or(v, v->job->time_limit, TIME_UNLIMITED);
}

static void j_limit(struct row_view *v)
{
	put_quote(v);
	format_duration(v->out, v->job->time_limit);
	put_quote(v);
}

static void j_elapsed(struct row_view *v)
{
	put_int(v, job_elapsed(v->job, v->now));
}

static void j_time(struct row_view *v)
{
	put_quote(v);
	format_duration(v->out, job_elapsed(v->job, v->now));
	put_quote(v);
}

static bool is_over(const struct row_view *v)
{
	return job_state_is_final((enum job_state)v->job->state);
}

static void j_exit_code(struct row_view *v)
{
	if (is_over(v))
		put_int_or(v, v->job->exit_code, -1);
	else
		put_null(v);
}

static void j_signal(struct row_view *v)
{
	put_int_or(v, is_over(v) ? v->job->signal : 0, 0);
}

static void j_restarts(struct row_view *v)
{
	put_int(v, v->job->restarts);
}

static void j_preemptions(struct row_view *v)
{
	put_int(v, v->job->preemptions);
}

static void j_attempt(struct row_view *v)
{
	put_int(v, v->job->attempt);
}

static void j_workdir(struct row_view *v)
{
	put_text(v, v->spec.workdir);
}

static void put_file(struct row_view *v, bool error)
{
	struct buf text = { 0 };

	listing_output(v->job, v->user, v->nnodes ? v->node[0] : "", 0, error,
	               &text);
	put_buf(v, &text);
}

static void j_output(struct row_view *v)
{
	put_file(v, false);
}

static void j_error(struct row_view *v)
{
	put_file(v, true);
}

static void j_input(struct row_view *v)
{
	put_text(v, v->spec.input);
}

static void j_account(struct row_view *v)
{
	put_text(v, v->spec.account);
}

static void j_comment(struct row_view *v)
{
	put_text(v, v->spec.comment);
}

static void j_dependency(struct row_view *v)
{
	struct buf text = { 0 };

	if (!v->job->deps) {
		put_null(v);
		return;
	}
	state_depend_format(v->job, &text);
	put_buf(v, &text);
}

static void j_hold(struct row_view *v)
{
	static const char *const names[] = { "none", "user", "admin" };

	put_text(v, names[v->job->hold]);
}

static void j_requeue(struct row_view *v)
{
	put_int_or(v, v->spec.requeue, SPEC_UNSET);
}

static void j_max_restarts(struct row_view *v)
{
	put_int_or(v, v->spec.max_restarts, SPEC_UNSET);
}

static void j_cpu_seconds(struct row_view *v)
{
	put_milli(v, v->job->cpu_ms);
}

static void j_peak_mem_mib(struct row_view *v)
{
	int64_t kib = v->job->peak_mem_kib;

	put_int_or(v, kib == SPEC_UNSET ? kib : (kib + 1023) / 1024,
	           SPEC_UNSET);
}

static void j_constraint(struct row_view *v)
{
	put_text(v, v->spec.constraint);
}

static void j_topology(struct row_view *v)
{
	put_text(v, v->spec.topology);
}

static void j_numa(struct row_view *v)
{
	put_text(v, v->spec.numa);
}

static void j_req_nodes(struct row_view *v)
{
	put_text(v, v->spec.nodelist);
}

static void j_exclude(struct row_view *v)
{
	put_text(v, v->spec.exclude);
}

static void j_licenses(struct row_view *v)
{
	put_text(v, v->spec.licenses);
}

static void j_submit_host(struct row_view *v)
{
	put_text(v, v->spec.submit_host);
}

static const struct field job_fields[] = {
#define F(name)                       \
	{                             \
#name, j_##name, true \
	}
#define G(name)                        \
	{                              \
#name, j_##name, false \
	}
	F(job_id),
	F(array_job_id),
	F(array_task_id),
	F(name),
	F(user),
	F(queue),
	F(class),
	F(state),
	F(reason),
	F(reason_text),
	F(priority),
	F(tasks),
	F(min_tasks),
	F(running_tasks),
	F(resources),
	F(nodes),
	F(submit_time),
	F(eligible_time),
	F(start_time),
	F(end_time),
	F(expected_start),
	F(time_limit),
	F(exit_code),
	F(signal),
	F(restarts),
	F(preemptions),
	F(workdir),
	F(output),
	F(account),
	F(comment),
	F(cpu_seconds),
	F(peak_mem_mib),
	F(attempt),
	F(dependency),
	F(position),
	F(score),
	/* Only when somebody asks for them. */
	G(display_id),
	G(state_letter),
	G(nodelist),
	G(where),
	G(cpus),
	G(mem_mib),
	G(gpus),
	G(num_nodes),
	G(elapsed),
	G(time),
	G(limit),
	G(begin_time),
	G(deadline),
	G(error),
	G(input),
	G(array_tasks),
	G(hold),
	G(requeue),
	G(max_restarts),
	G(constraint),
	G(topology),
	G(numa),
	G(req_nodes),
	G(exclude),
	G(licenses),
	G(uid),
	G(submit_host),
	{ NULL, NULL, false }
#undef F
#undef G
};

/* --- nodes ------------------------------------------------------------- */

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

static const struct field node_fields[] = {
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

/* --- queues ------------------------------------------------------------ */

static const struct conf_queue *queue_of(const struct row_view *v)
{
	return &state_conf(v->state)->queues[v->index];
}

/* {"cpus":..,...}; what is not rationed is null. */
static void put_amounts(struct row_view *v, const int64_t amount[RES_N])
{
	static const char *const names[] = { "cpus", "memory_mib", "gpus" };

	buf_addc(v->out, '{');
	for (int r = 0; r < RES_N; r++) {
		buf_printf(v->out, "%s\"%s\":", r ? "," : "", names[r]);
		if (amount[r] == CONF_NONE)
			buf_puts(v->out, "null");
		else if (r == RES_MEM)
			put_int(v, amount[r]);
		else
			put_milli(v, amount[r]);
	}
	buf_addc(v->out, '}');
}

static void put_amounts_text(struct row_view *v, const int64_t amount[RES_N])
{
	static const char *const names[] = { "cpus=", "mem=", "gpus=" };
	struct buf text = { 0 };

	for (int r = 0; r < RES_N; r++) {
		if (amount[r] == CONF_NONE)
			continue;
		buf_printf(&text, "%s%s", text.len ? "," : "", names[r]);
		if (r == RES_MEM)
			format_mib(&text, amount[r]);
		else
			format_milli(&text, amount[r]);
	}
	put_buf(v, &text);
}

static void q_name(struct row_view *v)
{
	put_text(v, queue_of(v)->name);
}

static void q_parent(struct row_view *v)
{
	int parent = queue_of(v)->parent;

	put_text(v,
	         parent < 0 ? NULL : state_conf(v->state)->queues[parent].name);
}

static void q_state(struct row_view *v)
{
	put_text(v, state_queue_open(v->state, v->index) ? "open" : "closed");
}

static void q_quota(struct row_view *v)
{
	put_amounts(v, queue_of(v)->quota);
}

static void q_limit(struct row_view *v)
{
	put_amounts(v, queue_of(v)->limit);
}

static void q_fair_share(struct row_view *v)
{
	const int64_t *share = state_queue_share(v->state, v->index);

	if (share)
		put_amounts(v, share);
	else
		put_null(v);
}

static void q_allocated(struct row_view *v)
{
	int64_t used[RES_N];

	state_queue_used(v->state, v->index, used);
	put_amounts(v, used);
}

static void q_quota_text(struct row_view *v)
{
	put_amounts_text(v, queue_of(v)->quota);
}

static void q_limit_text(struct row_view *v)
{
	put_amounts_text(v, queue_of(v)->limit);
}

static void q_fair_share_text(struct row_view *v)
{
	const int64_t *share = state_queue_share(v->state, v->index);

	if (share)
		put_amounts_text(v, share);
}

static void q_allocated_text(struct row_view *v)
{
	int64_t used[RES_N];

	state_queue_used(v->state, v->index, used);
	put_amounts_text(v, used);
}

static void q_pending_jobs(struct row_view *v)
{
	put_int(v, (int64_t)(state_queue_count(v->state, v->index, false) -
	                     state_queue_count(v->state, v->index, true)));
}

static void q_running_jobs(struct row_view *v)
{
	put_int(v, (int64_t)state_queue_count(v->state, v->index, true));
}

static const struct field queue_fields[] = {
#define F(name)                       \
	{                             \
#name, q_##name, true \
	}
#define G(name)                        \
	{                              \
#name, q_##name, false \
	}
	F(name),           F(parent),
	F(state),          F(quota),
	F(limit),          F(fair_share),
	F(allocated),      F(pending_jobs),
	F(running_jobs),   G(quota_text),
	G(limit_text),     G(fair_share_text),
	G(allocated_text), { NULL, NULL, false }
#undef F
#undef G
};

/* --- shares ------------------------------------------------------------ */

static void put_held(struct row_view *v)
{
	put_amounts(v, v->share->held);
}

static void put_held_text(struct row_view *v)
{
	put_amounts_text(v, v->share->held);
}

/* What it has against what it may call its own: the largest, of what it
 * rations.  More than nothing of nothing is no number. */
static void put_ratio(struct row_view *v)
{
	const int64_t *share = state_queue_share(v->state, v->index);
	const int64_t *held = v->share->held;
	int64_t most = -1;

	for (int r = 0; share && r < RES_N; r++) {
		int64_t ratio = 0;

		if (share[r] == CONF_NONE)
			continue;
		if (held[r] && !share[r]) {
			put_null(v);
			return;
		}
		if (held[r])
			ratio = (int64_t)((__int128)held[r] * 1000 / share[r]);
		most = ratio > most ? ratio : most;
	}
	if (most < 0)
		put_null(v);
	else
		put_milli(v, most);
}

/* What the rows of users do not have. */
#define OF_QUEUE(name, fn)                       \
	static void s_##name(struct row_view *v) \
	{                                        \
		if (v->share->user)              \
			put_null(v);             \
		else                             \
			fn(v);                   \
	}
OF_QUEUE(quota, q_quota)
OF_QUEUE(quota_text, q_quota_text)
OF_QUEUE(fair_share, q_fair_share)
OF_QUEUE(fair_share_text, q_fair_share_text)
OF_QUEUE(allocated, put_held)
OF_QUEUE(allocated_text, put_held_text)
OF_QUEUE(ratio, put_ratio)
#undef OF_QUEUE

static void s_queue(struct row_view *v)
{
	q_name(v);
}

static void s_user(struct row_view *v)
{
	put_text(v, v->share->user);
}

/* Seconds of a whole pool. */
static void s_usage(struct row_view *v)
{
	const int64_t milli = CHARGE_ALL / 1000;

	put_milli(v, (v->share->used + milli / 2) / milli);
}

static void s_share(struct row_view *v)
{
	if (v->share->user)
		put_milli(v, (v->share->part + 500) / 1000);
	else
		put_null(v);
}

static void s_factor(struct row_view *v)
{
	if (v->share->user)
		put_milli(v, v->share->light);
	else
		put_null(v);
}

static void s_running_jobs(struct row_view *v)
{
	put_int(v, (int64_t)v->share->running);
}

static void s_pending_jobs(struct row_view *v)
{
	put_int(v, (int64_t)v->share->pending);
}

static void s_cpu_hours(struct row_view *v)
{
	put_milli(v, v->share->cpu_ms / 3600);
}

static void s_gpu_hours(struct row_view *v)
{
	put_milli(v, v->share->gpu_ms / 3600);
}

static void s_jobs(struct row_view *v)
{
	put_int(v, v->share->jobs);
}

static const struct field share_fields[] = {
#define F(name)                       \
	{                             \
#name, s_##name, true \
	}
#define G(name)                        \
	{                              \
#name, s_##name, false \
	}
	F(queue),           F(user),           F(quota),
	F(fair_share),      F(allocated),      F(ratio),
	F(usage),           F(share),          F(factor),
	F(running_jobs),    F(pending_jobs),   F(cpu_hours),
	F(gpu_hours),       F(jobs),           G(quota_text),
	G(fair_share_text), G(allocated_text), { NULL, NULL, false }
#undef F
#undef G
};

/* --- rows -------------------------------------------------------------- */

static const struct field *const tables[] = {
	[LIST_JOBS] = job_fields,
	[LIST_NODES] = node_fields,
	[LIST_QUEUES] = queue_fields,
	[LIST_SHARES] = share_fields,
};

_Static_assert(ARRAY_SIZE(job_fields) <= LISTING_FIELDS, "too many fields");

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
			v.node[i] = (char *)(uintptr_t)state_node(
					state, p->task[i].node)
			                ->name;
		qsort(v.node, v.nnodes, sizeof(*v.node), by_name);
	}
	write_job(l, &v);
	free(v.node);
}

/* Node names of a stored placement: what stands before each ':'. */
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
		.now = past->job.end,
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

void listing_node(const struct listing *l, const struct state *state,
                  uint32_t node, int64_t now, struct buf *out)
{
	struct row_view v = {
		.out = out, .state = state, .now = now, .index = node
	};

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
