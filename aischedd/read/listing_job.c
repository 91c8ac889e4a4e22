/* listing_job.c - the fields of a job */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/read/listing_devices.h"
#include "aischedd/read/listing_row.h"
#include "aischedd/state/acts.h"
#include "aischedd/state/cluster/ledger.h"
#include "aischedd/state/life/submit.h"
#include "aischedd/state/pass/why.h"
#include "libcommon/hostlist.h"
#include "libcommon/job_fields.h"
#include "libcommon/labels.h"
#include "libcommon/mail.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"
#include "libcommon/spec/ports.h"

static void explain(struct row_view *v)
{
	struct act act;

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
	if (v->job->text)
		buf_puts(&v->text, v->job->text);
	else if (v->why == WHY_Cancelled &&
	         acts_last(v->job->acts, "cancel", &act))
		buf_printf(&v->text, "cancelled by %s", act.user);
	else if (v->why != WHY_None)
		buf_puts(&v->text, reason_text(v->why));
}

/* Returns the reason why the job waits, without making the sentence that
 * explains it: that takes ten times as long. */
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

static enum job_state state_of(const struct row_view *v)
{
	return (enum job_state)v->job->state;
}

static bool is_over(const struct row_view *v)
{
	return job_state_is_final(state_of(v));
}

/* Returns the name of the job's class. For an ended job, the class is in the
 * stored spec; see keep_class(). */
static const char *class_of(const struct row_view *v)
{
	if (v->state)
		return state_class(v->state, &v->spec, v->job->queue);
	return v->spec.class ? v->spec.class : "train";
}

static void j_job_id(struct row_view *v)
{
	/* Tasks that have not started are listed under the id of their array,
	 * even if several records share them. */
	put_int(v, (int64_t)(v->job->tasks.n ? v->job->array : v->job->id));
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

/* Write the score that decides the job's place in its queue: as JSON with all
 * its parts, in a column only the number. */
static void j_score(struct row_view *v)
{
	struct order_score s;

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
	put_milli(v, order_score_sum(&s));
	if (v->json)
		buf_addc(v->out, '}');
}

static void j_running_tasks(struct row_view *v)
{
	put_int(v, state_of(v) == JOB_PENDING || is_over(v) ? 0 : v->nnodes);
}

static void j_resources(struct row_view *v)
{
	int64_t task[RES_N] = { [RES_CPU] = v->req.cpus_milli,
		                [RES_MEM] = v->req.mem_mib,
		                [RES_GPU] = v->req.gpus_milli };

	put_amounts(v, task);
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

static void j_nodelist(struct row_view *v)
{
	struct buf text = { 0 };

	if (v->nnodes)
		hostlist_format((const char *const *)v->node, v->nnodes, &text);
	put_buf(v, &text);
}

static void j_where(struct row_view *v)
{
	if (state_of(v) != JOB_PENDING && v->nnodes) {
		j_nodelist(v);
		return;
	}
	put_quote(v);
	buf_addc(v->out, '(');
	buf_puts(v->out, reason_name(why(v)));
	buf_addc(v->out, ')');
	put_quote(v);
}

static void j_limit(struct row_view *v)
{
	put_quote(v);
	format_duration(v->out, v->job->time_limit);
	put_quote(v);
}

static void j_time(struct row_view *v)
{
	put_quote(v);
	format_duration(v->out, job_elapsed(v->job, v->now));
	put_quote(v);
}

static void j_exit_code(struct row_view *v)
{
	if (is_over(v))
		put_int_or(v, v->job->runs->exit_code, -1);
	else
		put_null(v);
}

/* Returns the namespace of the job's pods if the job's pool has several
 * namespaces, else NULL. A job without nodes has the pool of its request. */
static const char *namespace_of(const struct row_view *v)
{
	const char *name = ledger_pool(v->job);
	const struct conf *conf;
	int pool;

	if (!name)
		name = v->spec.pool;
	if (!v->state || !name)
		return NULL;
	conf = state_conf(v->state);
	pool = conf_pool_find(conf, name);
	if (pool < 0 || conf->pools[pool].spaces.n < 2)
		return NULL;
	if (v->job->runs->space)
		return v->job->runs->space;
	return conf_namespace(conf, (int)v->job->queue, pool);
}

/* Returns the name of the job's first node, without its pool; "" if the job has
 * no nodes. */
static const char *first_host(const struct row_view *v)
{
	const char *slash = v->nnodes ? strchr(v->node[0], '/') : NULL;

	return slash ? slash + 1 : v->nnodes ? v->node[0] : "";
}

static void put_file(struct row_view *v, bool error)
{
	struct buf text = { 0 };

	listing_output(v->job, v->user, first_host(v), 0, error, &text);
	put_buf(v, &text);
}

static void j_dependency(struct row_view *v)
{
	struct buf text = { 0 };

	if (!v->job->deps) {
		put_null(v);
		return;
	}
	dependency_format(v->job->deps, &text);
	put_buf(v, &text);
}

/* Write the conditions of --dependency that can no longer be met. */
static void j_dependency_never(struct row_view *v)
{
	struct buf text = { 0 };

	dependency_format_never(v->job->deps, &text);
	if (text.len)
		put_buf(v, &text);
	else
		put_null(v);
}

/* Write the labels: as JSON {"team":"nlp"}, in a column team=nlp. */
static void j_labels(struct row_view *v)
{
	const char *at = v->spec.labels;
	struct label l;
	bool any = false;

	if (!v->json) {
		put_text(v, at);
		return;
	}
	buf_addc(v->out, '{');
	/* Keys and values of labels have only characters that need
	 * no escapes. */
	for (; labels_next(&at, &l); any = true)
		buf_printf(v->out, "%s\"%.*s\":\"%.*s\"", any ? "," : "",
		           (int)l.key_len, l.key, (int)l.value_len, l.value);
	buf_addc(v->out, '}');
}

/* Append the host at which the job's ports can be reached: in a cluster the
 * name of its Service, elsewhere its node. Nothing while the job has no
 * nodes. */
static void port_host(const struct row_view *v, struct buf *out)
{
	const struct conf *conf;

	if (!v->state || !v->job->place)
		return;
	conf = state_conf(v->state);
	if (!v->job->runs->space) {
		buf_puts(out, first_host(v));
		return;
	}
	ports_service(conf->cluster, v->job->id, out);
	buf_printf(out, ".%s.svc", v->job->runs->space);
}

/* Write the ports: as JSON a list, in a column as --port has them. */
static void j_ports(struct row_view *v)
{
	const char *at = v->spec.ports;
	struct buf host = { 0 };
	struct port p;
	bool any = false;

	if (!v->json) {
		put_text(v, at);
		return;
	}
	port_host(v, &host);
	buf_addc(v->out, '[');
	/* Names of ports have only characters that need no escapes. */
	for (; ports_next(&at, &p); any = true) {
		buf_printf(v->out,
		           "%s{\"name\":\"%.*s\",\"address\":", any ? "," : "",
		           (int)p.name_len, p.name);
		if (host.len)
			buf_json(v->out, host.data);
		else
			buf_puts(v->out, "null");
		buf_printf(v->out, ",\"port\":%u}", (unsigned)p.number);
	}
	buf_addc(v->out, ']');
	buf_free(&host);
}

static void j_mail_type(struct row_view *v)
{
	struct buf text = { 0 };

	if (v->spec.mail_types == SPEC_UNSET || !v->spec.mail_types) {
		put_null(v);
		return;
	}
	mail_types_format(v->spec.mail_types, &text);
	put_buf(v, &text);
}

/* Append a word of a command, in quotes if a shell would need them. */
static void put_word(struct buf *out, const char *word)
{
	bool plain = *word && !strpbrk(word, " \t\n'\"\\$`&|;<>()*?[#~");

	if (plain) {
		buf_puts(out, word);
		return;
	}
	buf_addc(out, '\'');
	for (const char *s = word; *s; s++)
		buf_puts(out, *s == '\'' ? "'\\''" : (char[]){ *s, '\0' });
	buf_addc(out, '\'');
}

/* Write the script's name and arguments, or the command given with --wrap. */
static void j_command(struct row_view *v)
{
	json_t *args = NULL, *arg;
	struct buf text = { 0 };
	size_t i;

	if (!v->spec.command) {
		put_null(v);
		return;
	}
	buf_puts(&text, v->spec.command);
	if (v->spec.args)
		args = json_loads(v->spec.args, 0, NULL);
	json_array_foreach(args, i, arg) {
		buf_addc(&text, ' ');
		put_word(&text, json_string_value(arg));
	}
	json_decref(args);
	put_text(v, text.data);
	buf_free(&text);
}

/* Write what users did to the job: as JSON a list, in a column only the
 * last act. */
static void j_acts(struct row_view *v)
{
	const char *at = v->job->acts;
	struct buf text = { 0 };
	struct act act;
	bool any = false;

	if (v->json)
		buf_addc(v->out, '[');
	while (acts_next(&at, &act)) {
		buf_clear(&text);
		if (!v->json) {
			buf_printf(&text, "%s by %s", act.name, act.user);
			continue;
		}
		buf_printf(v->out, "%s{\"time\":%lld,\"act\":", any ? "," : "",
		           (long long)act.time);
		buf_json(v->out, act.name);
		buf_puts(v->out, ",\"user\":");
		buf_json(v->out, act.user);
		buf_addc(v->out, '}');
		any = true;
	}
	if (v->json)
		buf_addc(v->out, ']');
	else
		buf_puts(v->out, text.data ? text.data : "");
	buf_free(&text);
}

static void j_hold(struct row_view *v)
{
	static const char *const names[] = { "none", "user", "admin" };

	put_text(v, names[v->job->hold]);
}

static void j_peak_mem_mib(struct row_view *v)
{
	int64_t kib = v->job->runs->peak_mem_kib;

	put_int_or(v, kib == SPEC_UNSET ? kib : (kib + 1023) / 1024,
	           SPEC_UNSET);
}

/* Returns sums over all attempts of the job. A job without a ledger, such as
 * one stored by an older version, has only the run time of its last attempt. */
static struct ledger_sum total_of(const struct row_view *v)
{
	struct ledger_sum sum;

	ledger_total(v->job, v->now * 1000, &sum);
	if (!v->job->ledger)
		sum.ran_ms = 1000 * job_elapsed(v->job, v->now);
	return sum;
}

static int64_t longest_of(const struct row_view *v)
{
	return v->job->ledger ? ledger_longest(v->job, v->now * 1000)
	                      : 1000 * job_elapsed(v->job, v->now);
}

/* Whether the job has or had whole nodes. The spec of such a job also has the
 * amounts that the job got. */
static bool has_nodes(const struct row_view *v)
{
	return v->spec.has_mem != SPEC_UNSET && state_of(v) != JOB_PENDING;
}

static uint32_t tasks_of(const struct row_view *v)
{
	return v->nnodes ? v->nnodes : v->req.tasks;
}

static void j_alloc_cpus(struct row_view *v)
{
	put_milli(v, has_nodes(v) ? v->spec.has_cpus
	                          : v->req.cpus_milli * tasks_of(v));
}

static void j_alloc_mem_mib(struct row_view *v)
{
	if (has_nodes(v))
		put_int(v, v->spec.has_mem);
	else if (v->spec.mem_node == 0)
		put_null(v);
	else
		put_int(v, v->req.mem_mib * tasks_of(v));
}

static struct gpu_use gpu_of(const struct row_view *v)
{
	struct gpu_use use;

	ledger_gpu(v->job, &use);
	return use;
}

static void j_gpu_busy_seconds(struct row_view *v)
{
	struct gpu_use use = gpu_of(v);

	put_milli_or(v, use.known_ms ? use.busy_ms : -1, -1);
}

/* Write for how long all GPUs of a running job have been idle; null if one is
 * busy or if this is not known. */
static void j_gpu_idle_seconds(struct row_view *v)
{
	const struct ledger *l = v->job->ledger;

	put_int_or(v, l && v->job->place ? l->idle_ms / 1000 : 0, 0);
}

static void j_gpu_util(struct row_view *v)
{
	struct gpu_use use = gpu_of(v);

	put_gpu_util(v, &use, total_of(v).held[RES_GPU]);
}

static void j_gpu_mem_mib(struct row_view *v)
{
	struct gpu_use use = gpu_of(v);

	put_int_or(v, use.mem_total_mib ? use.mem_mib : -1, -1);
}

/* Write the name of the node of the job's first task. */
static void j_batch_host(struct row_view *v)
{
	if (v->nnodes && state_of(v) != JOB_PENDING)
		put_text(v, first_host(v));
	else
		put_null(v);
}

static void j_devices(struct row_view *v)
{
	struct buf text = { 0 };

	if (v->state && v->job->place &&
	    listing_devices(v->state, v->job->place, v->spec.gpu_type, &text))
		put_text(v, text.data);
	else
		put_null(v);
	buf_free(&text);
}

/* Write the request as it was submitted, for replays: without the amounts that
 * the daemon added to it. */
static void j_asked(struct row_view *v)
{
	struct spec spec = v->spec;
	json_t *obj;
	char *text;

	spec.has_cpus = spec.has_mem = spec.gpu_part = SPEC_UNSET;
	obj = spec_to_json(&spec);
	text = json_dumps(obj, JSON_COMPACT);
	if (v->json)
		buf_puts(v->out, text);
	else
		put_text(v, text);
	free(text);
	json_decref(obj);
}

/* Write how many seconds of the job's time limit are left. */
static void j_time_left(struct row_view *v)
{
	int64_t limit = v->job->time_limit;
	int64_t left = limit - job_elapsed(v->job, v->now);

	put_int_or(v,
	           limit == TIME_UNLIMITED ? limit
	           : left < 0              ? 0
	                                   : left,
	           TIME_UNLIMITED);
}

/* Fields that consist of one value. */
/* clang-format off */
FIELD(j_array_job_id,    put_int_or, (int64_t)v->job->array, 0)
FIELD(j_array_task_id,   put_int_or, v->job->task, NO_TASK)
FIELD(j_name,            put_text,   v->spec.name)
FIELD(j_user,            put_text,   v->user)
FIELD(j_uid,             put_int,    v->job->uid)
FIELD(j_queue,           put_text,   v->queue)
FIELD(j_class,           put_text,   class_of(v))
FIELD(j_state,           put_text,   job_state_name(state_of(v)))
FIELD(j_state_letter,    put_text,   job_state_letter(state_of(v)))
FIELD(j_reason,          put_text,   reason_name(why(v)))
FIELD(j_priority,        put_int,    v->job->priority)
FIELD(j_tasks,           put_int,    v->req.tasks)
FIELD(j_min_tasks,       put_int,    v->req.min_tasks)
FIELD(j_cpus,            put_milli,  v->req.cpus_milli)
FIELD(j_mem_mib,         put_int,    v->req.mem_mib)
FIELD(j_tmp_mib,         put_int_or, v->spec.tmp, SPEC_UNSET)
FIELD(j_gpus,            put_milli,  v->req.gpus_milli)
FIELD(j_submit_time,     put_int_or, v->job->submit, NO_TIME)
FIELD(j_eligible_time,   put_int_or, v->job->eligible, NO_TIME)
FIELD(j_start_time,      put_int_or, v->job->runs->start, NO_TIME)
FIELD(j_end_time,        put_int_or, v->job->runs->end, NO_TIME)
FIELD(j_begin_time,      put_int_or, v->spec.begin, SPEC_UNSET)
FIELD(j_cron_id,         put_int_or, v->spec.cron_id, SPEC_UNSET)
FIELD(j_cron_time,       put_int_or, v->spec.cron_time, SPEC_UNSET)
FIELD(j_deadline,        put_int_or, v->job->deadline, NO_TIME)
FIELD(j_time_limit,      put_int_or, v->job->time_limit, TIME_UNLIMITED)
FIELD(j_elapsed,         put_int,    job_elapsed(v->job, v->now))
FIELD(j_signal,          put_int_or, is_over(v) ? v->job->runs->signal : 0, 0)
FIELD(j_restarts,        put_int,    v->job->runs->restarts)
FIELD(j_preemptions,     put_int,    v->job->runs->preemptions)
FIELD(j_replaced_tasks,  put_int,    v->job->runs->replaced)
FIELD(j_attempt,         put_int,    v->job->attempt)
FIELD(j_workdir,         put_text,   v->spec.workdir)
FIELD(j_output,          put_file,   false)
FIELD(j_error,           put_file,   true)
FIELD(j_input,           put_text,   v->spec.input)
FIELD(j_account,         put_text,   v->spec.account)
FIELD(j_comment,         put_text,   v->spec.comment)
FIELD(j_mail_user,       put_text,   v->spec.mail_user)
FIELD(j_kill_invalid,    put_int_or, v->spec.kill_on_invalid_dep, SPEC_UNSET)
FIELD(j_requeue,         put_int_or, v->spec.requeue, SPEC_UNSET)
FIELD(j_max_restarts,    put_int_or, v->spec.max_restarts, SPEC_UNSET)
FIELD(j_on_task_failure, put_text,   v->spec.on_task_failure)
FIELD(j_cpu_seconds,     put_milli,  v->job->runs->cpu_ms)
FIELD(j_elapsed_ms,      put_int,    total_of(v).ran_ms)
FIELD(j_pool,            put_text,   ledger_pool(v->job))
FIELD(j_namespace,       put_text,   namespace_of(v))
FIELD(j_cost,            put_micro_or, ledger_cost(v->job, v->now * 1000), SPEC_UNSET)
FIELD(j_attempts,        put_int,    v->job->attempt)
FIELD(j_longest_ms,      put_int,    longest_of(v))
FIELD(j_held_cpu_seconds, put_milli, total_of(v).held[RES_CPU])
FIELD(j_held_gpu_seconds, put_milli, total_of(v).held[RES_GPU])
FIELD(j_gpu_known_seconds, put_milli_or, gpu_of(v).known_ms, 0)
FIELD(j_gpu_mem_total_mib, put_int_or, gpu_of(v).mem_total_mib, 0)
FIELD(j_constraint,      put_text,   v->spec.constraint)
FIELD(j_prefer,          put_text,   v->spec.prefer)
FIELD(j_topology,        put_text,   v->spec.topology)
FIELD(j_spread,          put_text,   v->spec.spread)
FIELD(j_near,            put_text,   v->spec.near)
FIELD(j_apart,           put_text,   v->spec.apart)
FIELD(j_segment,         put_int_or, v->spec.segment, SPEC_UNSET)
FIELD(j_numa,            put_text,   v->spec.numa)
FIELD(j_links,           put_text,   v->spec.links)
FIELD(j_req_nodes,       put_text,   v->spec.nodelist)
FIELD(j_exclude,         put_text,   v->spec.exclude)
FIELD(j_licenses,        put_text,   v->spec.licenses)
FIELD(j_device,          put_text,   v->spec.device)
FIELD(j_submit_host,     put_text,   v->spec.submit_host)
FIELD(j_gid,             put_int,    v->job->gid)
FIELD(j_nice,            put_int_or, v->spec.nice, SPEC_UNSET)
FIELD(j_mem_per_node,    put_int_or, v->spec.mem_node, SPEC_UNSET)
FIELD(j_mem_per_cpu,     put_int_or, v->spec.mem_cpu, SPEC_UNSET)
FIELD(j_gpus_per_node,   put_int_or, v->spec.gpus_node, SPEC_UNSET)
FIELD(j_gpus_per_job,    put_int_or, v->spec.gpus_job, SPEC_UNSET)
FIELD(j_gpu_type,        put_text,   v->spec.gpu_type)
FIELD(j_gpu_memory_mib,  put_int_or, v->spec.gpu_memory, SPEC_UNSET)
FIELD(j_exclusive,       put_int_or, v->spec.exclusive, SPEC_UNSET)
FIELD(j_reservation,     put_text,   v->spec.reservation)
FIELD(j_allocation,      put_int_or, v->spec.allocation, SPEC_UNSET)
FIELD(j_shared_tasks,    put_int_or, v->spec.shared_tasks, SPEC_UNSET)
/* clang-format on */

const struct field listing_job_fields[] = {
#define X(name, usual, shown) { #name, j_##name, usual },
	JOB_FIELDS(X)
#undef X
	    { NULL, NULL, false }
};

_Static_assert(ARRAY_SIZE(listing_job_fields) <= LISTING_FIELDS,
               "too many fields");
