/* listing_job.c - the fields of a job */
#include <stdlib.h>
#include <string.h>

#include "aischedd/listing_row.h"
#include "libcommon/hostlist.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"

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

static void j_replaced_tasks(struct row_view *v)
{
	put_int(v, v->job->replaced);
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

static void j_on_task_failure(struct row_view *v)
{
	put_text(v, v->spec.on_task_failure);
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

const struct field listing_job_fields[] = {
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
	F(replaced_tasks),
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
	G(on_task_failure),
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

_Static_assert(ARRAY_SIZE(listing_job_fields) <= LISTING_FIELDS,
               "too many fields");
