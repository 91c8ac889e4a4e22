/* trace_replay.c - read the output of `aiq --history --replay`, line by line */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/state/cluster/node.h"
#include "aisim/trace.h"
#include "libcommon/hostlist.h"
#include "libcommon/idset.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"

enum {
	CHUNK = 256 * 1024,
	LINE_MOST = 64 * 1024 * 1024,
	VERSION = 1,
	MS = 1000
};

struct replay {
	struct trace *trace;
	json_int_t from, to;
	json_int_t njobs, nattempts; /* job and attempt lines so far */
	size_t running;              /* jobs that had not ended */
	size_t repeats;              /* reservations that repeat */
	uint32_t line;
	bool ended;
	struct arena *arena; /* for the values of one line */
};

/* --- values ------------------------------------------------------------ */

static const char *text_of(const json_t *obj, const char *key)
{
	return json_string_value(json_object_get(obj, key));
}

/* Returns the number with this key, or `none` if it is null or absent. */
static int64_t int_of(const json_t *obj, const char *key, int64_t none)
{
	const json_t *value = json_object_get(obj, key);

	return json_is_integer(value) ? json_integer_value(value) : none;
}

/* Returns milliseconds as seconds, rounded to the nearest. */
static int64_t seconds(int64_t ms)
{
	return (ms + MS / 2) / MS;
}

/* --- a job ------------------------------------------------------------- */

/* A job of the past.  Times are unix seconds; TRACE_NEVER: none. */
struct old_job {
	const char *user, *queue, *class, *state;
	int64_t submit, start, end, limit, longest_ms, attempt;
	json_t *asked;
	bool ran, over;
};

static int take_job(const json_t *obj, struct old_job *ret, struct err *err)
{
	*ret = (struct old_job){
		.user = text_of(obj, "user"),
		.queue = text_of(obj, "queue"),
		.class = text_of(obj, "class"),
		.state = text_of(obj, "state"),
		.submit = int_of(obj, "submit_time", -1),
		.start = int_of(obj, "start_time", TRACE_NEVER),
		.end = int_of(obj, "end_time", TRACE_NEVER),
		.limit = int_of(obj, "time_limit", TIME_UNLIMITED),
		.longest_ms = int_of(obj, "longest_ms", 0),
		.attempt = int_of(obj, "attempt", 0),
		.asked = json_object_get(obj, "asked"),
	};
	ret->over = ret->end != TRACE_NEVER;
	ret->ran = ret->attempt > 0;
	if (!ret->user || !ret->queue || !ret->class || !ret->state ||
	    !json_is_object(ret->asked) || ret->submit < 0)
		return err_set(err, EINVAL,
		               "a job needs user, queue, class, state, "
		               "submit_time and asked");
	if (ret->over && ret->end < ret->submit)
		return err_set(err, EINVAL,
		               "the clock runs backwards: the job ended before "
		               "it was submitted");
	if (ret->submit > TRACE_MAX_S || (ret->over && ret->end > TRACE_MAX_S))
		return err_set(err, EINVAL, "a time is out of range");
	return 0;
}

/* Write the name of a job: "12", or "12_3" for a task of an array. */
static void name_of(const json_t *obj, char name[48])
{
	int64_t task = int_of(obj, "array_task_id", -1);

	if (task < 0)
		snprintf(name, 48, "%lld", (long long)int_of(obj, "job_id", 0));
	else
		snprintf(name, 48, "%lld_%lld",
		         (long long)int_of(obj, "array_job_id", 0),
		         (long long)task);
}

/* Get the original request of a job. An anonymous replay lacks some fields that
 * spec_from_json() requires: set them to any text. */
static int take_asked(struct replay *r, const struct old_job *past,
                      struct trace_job *job, struct spec *spec, struct err *err)
{
	static const char *const needed[] = { "name", "output", "workdir" };
	struct idset tasks = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
		if (!json_object_get(past->asked, needed[i]))
			json_object_set_new(past->asked, needed[i],
			                    json_string("/"));
	if (spec_from_json(spec, past->asked, r->arena, err) < 0)
		return err_wrap(err, "asked");
	if (spec->begin != SPEC_UNSET)
		job->begin = spec->begin;
	if (spec->deadline != SPEC_UNSET)
		job->deadline = spec->deadline;
	spec->begin = spec->deadline = SPEC_UNSET;
	job->dependency = spec->dependency;
	spec->dependency = NULL;
	job->near = spec->near;
	job->apart = spec->apart;
	spec->near = spec->apart = NULL;
	if (spec->array &&
	    idset_parse(&tasks, &job->limit, spec->array, err) < 0)
		return err_wrap(err, "asked: array");
	idset_free(&tasks);
	spec->array = NULL;
	/* Do not report the job to the cluster that it once came from. */
	spec->kube_uid = spec->kube_marks = NULL;
	spec->kube_pod = SPEC_UNSET;
	spec->queue = past->queue;
	spec->class = past->class;
	spec->time_limit = past->limit;
	return 0;
}

/* Returns what a job of this queue does after an eviction: if it is requeued,
 * it starts from the beginning. */
static uint8_t on_evict(const struct trace *trace, uint32_t queue)
{
	switch (
	    (enum preempt_how)state_conf(trace->state)->queues[queue].preempt) {
	case PREEMPT_SUSPEND:
		return ON_EVICT_RESUME;
	case PREEMPT_REQUEUE:
		return ON_EVICT_RESTART;
	case PREEMPT_CANCEL:
		break;
	}
	return ON_EVICT_END;
}

/* Returns the work of a job; TRACE_NEVER if it reached its time limit before
 * its work was done. */
static int64_t work_of(const struct old_job *past, int64_t ran_ms)
{
	if (!past->ran || (!strcmp(past->state, job_state_name(JOB_TIMEOUT)) &&
	                   past->limit != TIME_UNLIMITED))
		return TRACE_NEVER;
	return seconds(ran_ms);
}

/* Add events for what was done to the job: holds, releases, and the
 * cancellation of a job that never ran. */
static void add_acts(struct replay *r, const struct old_job *past,
                     const char *name, const json_t *acts)
{
	const json_t *item;
	bool released = false;
	size_t i;

	json_array_foreach(acts, i, item) {
		const char *act = text_of(item, "act");
		int64_t at = int_of(item, "time", 0);

		if (!act || at < past->submit)
			continue;
		if (!strcmp(act, "hold"))
			trace_act(r->trace, TRACE_HOLD, name, r->line, at);
		if (!strcmp(act, "release"))
			trace_act(r->trace, TRACE_RELEASE, name, r->line, at);
		released = released || !strcmp(act, "release");
	}
	if (int_of(past->asked, "hold", 0) == 1 && !released && past->ran &&
	    past->start != TRACE_NEVER)
		trace_act(r->trace, TRACE_RELEASE, name, r->line, past->start);
	if (!past->ran)
		trace_act(r->trace, TRACE_CANCEL, name, r->line, past->end);
}

static int add_job(struct replay *r, const json_t *obj,
                   const struct old_job *past, const char *name,
                   struct err *err)
{
	struct trace *trace = r->trace;
	struct trace_job job = { .line = r->line,
		                 .preemptible = -1,
		                 .replayed = true,
		                 .begin = TRACE_NEVER,
		                 .deadline = TRACE_NEVER };
	struct spec spec;
	struct err why;
	char array[24];
	int64_t task = int_of(obj, "array_task_id", -1);

	spec_init(&spec);
	if (take_asked(r, past, &job, &spec, err) < 0)
		return -1;
	job.name = name;
	job.user = trace_user(trace, past->user);
	job.rank = (uint64_t)int_of(obj, "job_id", 0);
	job.submit = past->submit;
	job.longest = past->longest_ms;
	job.work = work_of(past, past->longest_ms);
	job.real.start = past->ran ? past->start : TRACE_NEVER;
	job.real.end = past->end;
	if (task >= 0 && task < LIMIT_TASKS) {
		snprintf(array, sizeof(array), "%lld",
		         (long long)int_of(obj, "array_job_id", 0));
		job.in = array;
		job.rank = (uint64_t)int_of(obj, "array_job_id", 0);
		job.task = (uint32_t)task;
	}
	if (trace_add(trace, &job, &spec, &why) < 0) {
		if (trace_find(trace, name))
			return err_set(err, EINVAL, "%s", why.text);
		trace_leave(trace, name, &why);
		return 0;
	}
	trace->job[trace->njobs - 1].on_evict =
	    on_evict(trace, trace->job[trace->njobs - 1].queue);
	add_acts(r, past, name, json_object_get(obj, "acts"));
	return 0;
}

static int read_job(struct replay *r, json_t *obj, struct err *err)
{
	struct old_job past;
	struct err why;
	char name[48];

	r->njobs++;
	if (take_job(obj, &past, err) < 0)
		return -1;
	name_of(obj, name);
	if (trace_leaves(r->trace, name))
		return 0;
	if (!past.over && !past.ran) {
		err_set(&why, EINVAL,
		        "it had not started when the replay was made");
		trace_leave(r->trace, name, &why);
		return 0;
	}
	r->running += !past.over;
	return add_job(r, obj, &past, name, err);
}

/* --- an attempt -------------------------------------------------------- */

static void add_real(struct trace_real *real, const json_t *obj)
{
	const json_t *cost = json_object_get(obj, "cost");
	int64_t start = int_of(obj, "start_ms", TRACE_NEVER);

	if (start != TRACE_NEVER && start / MS < real->start)
		real->start = start / MS;
	real->evictions += text_of(obj, "evicted") != NULL;
	real->gpu_ms += (int64_t)(json_number_value(json_object_get(
				      obj, "held_gpu_seconds")) *
	                          MS);
	real->cpu_ms += (int64_t)(json_number_value(json_object_get(
				      obj, "held_cpu_seconds")) *
	                          MS);
	real->costs = real->costs || json_is_number(cost);
	real->cost += (int64_t)(json_number_value(cost) * 1e6 + 0.5);
}

/* Read an attempt. The work of a job is its longest attempt that was
 * not evicted. */
static int read_attempt(struct replay *r, json_t *obj, struct err *err)
{
	struct trace *trace = r->trace;
	const char *name = text_of(obj, "display_id");
	int64_t ran = int_of(obj, "elapsed_ms", -1);
	struct trace_job *job;

	r->nattempts++;
	if (!name)
		return err_set(err, EINVAL, "an attempt needs display_id");
	if (int_of(obj, "end_ms", INT64_MAX) < int_of(obj, "start_ms", 0))
		return err_set(err, EINVAL,
		               "the clock runs backwards: the attempt ended "
		               "before it began");
	job = trace_find(trace, name);
	if (!job)
		return 0; /* its job was left out, or is not in this replay */
	add_real(&job->real, obj);
	if (text_of(obj, "evicted") || ran < 0 || job->work == TRACE_NEVER ||
	    job->real.end == TRACE_NEVER)
		return 0;
	/* This is the job's first attempt that was not evicted: it replaces the
	 * work that the job's line gave. */
	if (job->longest != TRACE_NEVER) {
		job->longest = TRACE_NEVER;
		job->work = 0;
	}
	if (seconds(ran) > job->work)
		job->work = seconds(ran);
	return 0;
}

/* --- nodes ------------------------------------------------------------- */

/* Read an event of a node, such as {"at":S,"drain":"n1"}. */
static int read_event(struct replay *r, json_t *obj, struct err *err)
{
	const char *drain = text_of(obj, "drain");
	const char *name = drain ? drain : text_of(obj, "undrain");
	struct trace *trace = r->trace;
	int64_t at = int_of(obj, "at", -1);
	int node;

	if (!name || at < 0)
		return err_set(err, EINVAL,
		               "an event has \"at\", and \"drain\" or "
		               "\"undrain\" with a node");
	node = state_node_find(trace->state, name);
	if (node < 0)
		return 0;
	trace->act = GROW(trace->act, trace->nacts, &trace->act_cap);
	trace->act[trace->nacts++] = (struct trace_act){
		.at = at,
		.kind = drain ? TRACE_DRAIN : TRACE_UNDRAIN,
		.line = r->line,
		.node = (uint32_t)node,
	};
	return 0;
}

/* Whether all nodes of a hostlist are in the simulation. */
static bool has_nodes(const struct trace *trace, const char *nodes)
{
	struct hostlist list;
	bool has = true;

	if (hostlist_parse(&list, nodes, NULL) < 0)
		return false;
	for (size_t i = 0; i < list.n && has; i++)
		has = state_node_find(trace->state, list.name[i]) >= 0;
	hostlist_free(&list);
	return has;
}

static int read_reservation(struct replay *r, json_t *obj, struct err *err)
{
	struct trace *trace = r->trace;
	const char *name = text_of(obj, "name"), *nodes = text_of(obj, "nodes");
	const char *repeat = text_of(obj, "repeat");
	int64_t start = int_of(obj, "start_time", -1);
	int64_t end = int_of(obj, "end_time", -1);
	struct buf users = { 0 };
	const json_t *user;
	size_t i;

	if (!name || !nodes || start < 0 || end <= start)
		return err_set(err, EINVAL,
		               "a reservation needs name, nodes, and an "
		               "end_time after start_time");
	r->repeats += repeat && strcmp(repeat, "none") != 0;
	if (!has_nodes(trace, nodes)) {
		buf_printf(&trace->lacks,
		           "reservation '%s': not all of its nodes are here\n",
		           name);
		return 0;
	}
	json_array_foreach(json_object_get(obj, "users"), i, user)
		buf_printf(&users, "%s%s", i ? "," : "",
		           json_string_value(user));
	trace->act = GROW(trace->act, trace->nacts, &trace->act_cap);
	trace->act[trace->nacts++] = (struct trace_act){
		.kind = TRACE_RESERVE,
		.line = r->line,
		.reserve = { .name = arena_strdup(trace->arena, name),
		             .start = start,
		             .end = end,
		             .nodes = arena_strdup(trace->arena, nodes),
		             .users = arena_strdup(
				 trace->arena, users.data ? users.data : "") },
	};
	buf_free(&users);
	return 0;
}

/* --- lines ------------------------------------------------------------- */

static int read_head(struct replay *r, const json_t *obj, struct err *err)
{
	int64_t version = int_of(obj, "replay", -1);

	if (version != VERSION)
		return err_set(err, EINVAL,
		               "a replay of version %lld; this aisim reads "
		               "version %d",
		               (long long)version, VERSION);
	r->from = int_of(obj, "from", -1);
	r->to = int_of(obj, "to", -1);
	if (r->from < 0 || r->to < r->from)
		return err_set(err, EINVAL,
		               "the clock runs backwards: 'to' is before "
		               "'from'");
	return 0;
}

static int read_end(struct replay *r, const json_t *obj, struct err *err)
{
	if (int_of(obj, "jobs", -1) != r->njobs ||
	    int_of(obj, "attempts", -1) != r->nattempts)
		return err_set(err, EINVAL,
		               "lines are missing: it should have %lld jobs "
		               "and %lld attempts, and has %lld and %lld",
		               (long long)int_of(obj, "jobs", -1),
		               (long long)int_of(obj, "attempts", -1),
		               (long long)r->njobs, (long long)r->nattempts);
	r->ended = true;
	if (json_is_true(json_object_get(obj, "private")))
		buf_puts(&r->trace->lacks,
		         "jobs of other users, which are private\n");
	return 0;
}

static int skip(struct replay *r, json_t *obj, struct err *err)
{
	(void)r;
	(void)obj;
	(void)err;
	return 0;
}

static int read_object(struct replay *r, json_t *obj, struct err *err)
{
	static const struct {
		const char *kind;
		int (*read)(struct replay *r, json_t *obj, struct err *err);
	} kinds[] = {
		{ "job", read_job },     { "attempt", read_attempt },
		{ "event", read_event }, { "reservation", read_reservation },
		{ "node", skip }, /* read by nodes.c */
	};
	json_t *value;

	if (r->line == 1)
		return read_head(r, obj, err);
	if (r->ended)
		return err_set(err, EINVAL, "a line behind its end");
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if ((value = json_object_get(obj, kinds[i].kind)))
			return kinds[i].read(r, value, err);
	value = json_object_get(obj, "end");
	return value ? read_end(r, value, err)
	             : err_set(err, EINVAL, "not a line of a replay");
}

static int read_line(struct replay *r, const char *text, size_t len,
                     struct err *err)
{
	json_error_t why;
	json_t *obj = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
	int rc;

	r->line++;
	if (!obj)
		return err_set(err, EINVAL, "not JSON: %s", why.text);
	r->arena = arena_new();
	rc = read_object(r, obj, err);
	arena_free(r->arena);
	json_decref(obj);
	return rc;
}

/* Read the complete lines in the text, and remove them. */
static int read_lines(struct replay *r, struct buf *text, struct err *err)
{
	const char *at = text->data, *end = text->data + text->len, *eol;
	int rc = 0;

	while (rc == 0 && (eol = memchr(at, '\n', (size_t)(end - at)))) {
		rc = read_line(r, at, (size_t)(eol - at), err);
		at = eol + 1;
	}
	text->len = (size_t)(end - at);
	memmove(text->data, at, text->len);
	if (rc == 0 && text->len > LINE_MOST)
		rc = err_set(err, EINVAL, "the next line is too long");
	return rc;
}

static void tell_lacks(struct replay *r)
{
	struct buf *lacks = &r->trace->lacks;

	if (r->running)
		buf_printf(lacks,
		           "the rest of %zu jobs that still ran: they end when "
		           "they have run as long as they had\n",
		           r->running);
	if (r->repeats)
		buf_printf(lacks,
		           "%zu reservations are kept once, not repeated\n",
		           r->repeats);
	buf_puts(lacks, "nodes that failed and came back: no history of "
	                "them is kept\n");
}

int trace_read_replay(struct trace *trace, gzFile file, struct buf *begun,
                      struct err *err)
{
	struct replay r = { .trace = trace };
	int n = 0, rc;

	trace->is_replay = true;
	do {
		rc = read_lines(&r, begun, err);
		if (rc < 0)
			break;
		n = gzread(file, buf_room(begun, CHUNK), CHUNK);
		if (n > 0)
			buf_grew(begun, (size_t)n);
	} while (n > 0);
	if (rc == 0 && (n < 0 || begun->len || !r.ended))
		rc = err_set(err, EINVAL, "the replay has no end: it was cut");
	if (rc < 0)
		return err_wrap(err, "%s:%u", trace->file, r.line);
	tell_lacks(&r);
	return 0;
}
