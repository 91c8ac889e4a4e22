/* trace_json.c - read jobs and events, one JSON object a line */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/state/cluster/node.h"
#include "aisim/trace.h"
#include "libcommon/cron/schedule.h"
#include "libcommon/idset.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"
#include "libcommon/mig.h"
#include "libcommon/parse.h"

/* A job while its line is read; strings belong to the JSON object. */
struct line {
	struct trace *trace;
	struct trace_job job;
	struct spec spec;
	struct cron_rule cron; /* of a cron entry; times count from second 0 */
	const char *user;
	const char *array; /* "0-99%4", or NULL */
	int64_t preemptible, start_fails;
	size_t ndev; /* number of tasks in job.dev */
};

struct key {
	const char *name;
	int (*set)(struct line *line, const struct key *key, json_t *value,
	           struct err *err);
	size_t offset; /* in struct line */
};

/* --- values ------------------------------------------------------------ */

static void *at(struct line *line, const struct key *key)
{
	return (char *)line + key->offset;
}

/* Get a whole number, which may be written as 5.0. */
static int whole(const json_t *value, int64_t *ret, struct err *err)
{
	double d = json_number_value(value);

	if (json_is_integer(value)) {
		*ret = json_integer_value(value);
		return 0;
	}
	if (!json_is_real(value) || d != floor(d) ||
	    fabs(d) > (double)TRACE_MAX_S)
		return err_set(err, EINVAL, "a whole number is expected");
	*ret = (int64_t)d;
	return 0;
}

static int set_number(struct line *line, const struct key *key, json_t *value,
                      struct err *err)
{
	return whole(value, at(line, key), err);
}

/* Set a member to thousandths: 500 for 0.5. */
static int set_milli(struct line *line, const struct key *key, json_t *value,
                     struct err *err)
{
	double milli = json_number_value(value) * 1000;

	if (!json_is_number(value))
		return err_set(err, EINVAL, "a number is expected");
	if (fabs(milli - round(milli)) > 1e-4 ||
	    fabs(milli) > (double)TRACE_MAX_S)
		return err_set(err, EINVAL,
		               "%g: at most three decimals are kept",
		               json_number_value(value));
	*(int64_t *)at(line, key) = (int64_t)round(milli);
	return 0;
}

static int set_time(struct line *line, const struct key *key, json_t *value,
                    struct err *err)
{
	int64_t s;

	if (whole(value, &s, err) < 0)
		return -1;
	if (s > TRACE_MAX_S || s < TRACE_MIN_S)
		return err_set(err, EINVAL, "%lld seconds are out of range",
		               (long long)s);
	*(int64_t *)at(line, key) = s;
	return 0;
}

static int set_duration(struct line *line, const struct key *key, json_t *value,
                        struct err *err)
{
	if (set_time(line, key, value, err) < 0)
		return -1;
	if (*(int64_t *)at(line, key) < 0)
		return err_set(err, EINVAL, "it cannot be negative");
	return 0;
}

static int set_text(struct line *line, const struct key *key, json_t *value,
                    struct err *err)
{
	if (!json_is_string(value))
		return err_set(err, EINVAL, "a text is expected");
	*(const char **)at(line, key) = json_string_value(value);
	return 0;
}

static int set_flag(struct line *line, const struct key *key, json_t *value,
                    struct err *err)
{
	if (!json_is_boolean(value))
		return err_set(err, EINVAL, "true or false is expected");
	*(int64_t *)at(line, key) = json_is_true(value);
	return 0;
}

static int set_on_evict(struct line *line, const struct key *key, json_t *value,
                        struct err *err)
{
	static const char *const names[] = {
		[ON_EVICT_RESUME] = "resume",
		[ON_EVICT_RESTART] = "restart",
		[ON_EVICT_END] = "end",
	};
	const char *s = json_string_value(value);

	(void)key;
	for (size_t i = 0; s && i < ARRAY_SIZE(names); i++) {
		if (!strcmp(s, names[i])) {
			line->job.on_evict = (uint8_t)i;
			return 0;
		}
	}
	return err_set(err, EINVAL,
	               "\"resume\", \"restart\" or \"end\" is expected");
}

static int node_of(const struct trace *trace, const json_t *value,
                   uint32_t *ret, struct err *err)
{
	const char *name = json_string_value(value);
	int node;

	if (!name)
		return err_set(err, EINVAL, "the name of a node is expected");
	node = state_node_find(trace->state, name);
	if (node < 0)
		return err_set(err, ENOENT, "there is no node '%s'", name);
	*ret = (uint32_t)node;
	return 0;
}

static int set_nodes(struct line *line, const struct key *key, json_t *value,
                     struct err *err)
{
	size_t n = json_array_size(value), i;
	uint32_t *node;
	json_t *name;

	(void)key;
	if (!n)
		return err_set(err, EINVAL,
		               "an array of node names is expected");
	node = arena_array(line->trace->arena, uint32_t, n);
	json_array_foreach(value, i, name)
		if (node_of(line->trace, name, &node[i], err) < 0)
			return -1;
	line->job.node = node;
	line->job.nrunning = (uint32_t)n;
	return 0;
}

/* Parse a partition, GPU:PROFILE@START, such as "0:3g.40gb@4". */
static int partition_of(const char *text, struct trace_dev *ret,
                        struct err *err)
{
	const char *colon = strchr(text, ':'), *at = strchr(text, '@');
	int64_t gpu, start;
	char *name;

	if (!colon || !at || at < colon ||
	    parse_int(at + 1, 0, MIG_UNITS - 1, &start, NULL) < 0)
		return err_set(err, EINVAL,
		               "bad partition '%s': use GPU:PROFILE@START",
		               text);
	name = xstrndup(text, (size_t)(colon - text));
	if (parse_int(name, 0, LIMIT_GPUS - 1, &gpu, NULL) < 0)
		gpu = -1;
	free(name);
	name = xstrndup(colon + 1, (size_t)(at - colon - 1));
	ret->profile = mig_find(name);
	free(name);
	if (gpu < 0 || !ret->profile ||
	    !(mig_profile[ret->profile].starts >> start & 1))
		return err_set(err, EINVAL,
		               "no GPU can have the partition '%s'", text);
	ret->gpus = (uint64_t)1 << gpu;
	ret->units = mig_mask(ret->profile, (uint32_t)start);
	return 0;
}

/* Parse the devices of a task: a partition, or indices such as [2,3], which
 * become bits 2 and 3. */
static int devices_of(const json_t *list, struct trace_dev *ret,
                      struct err *err)
{
	const json_t *item;
	int64_t device;
	size_t i;

	*ret = (struct trace_dev){ 0 };
	if (json_is_string(list))
		return partition_of(json_string_value(list), ret, err);
	if (!json_is_array(list))
		return err_set(err, EINVAL,
		               "the devices of a task are an array");
	json_array_foreach(list, i, item) {
		if (whole(item, &device, err) < 0)
			return -1;
		if (device < 0 || device >= LIMIT_GPUS ||
		    ret->gpus >> device & 1)
			return err_set(err, EINVAL,
			               "no such GPU, or given twice: %lld",
			               (long long)device);
		ret->gpus |= (uint64_t)1 << device;
	}
	return 0;
}

static int set_dev(struct line *line, const struct key *key, json_t *value,
                   struct err *err)
{
	size_t n = json_array_size(value), i;
	struct trace_dev *dev;
	json_t *list;

	(void)key;
	if (!n)
		return err_set(err, EINVAL,
		               "an array of the devices of each task is "
		               "expected");
	dev = arena_array(line->trace->arena, struct trace_dev, n);
	json_array_foreach(value, i, list)
		if (devices_of(list, &dev[i], err) < 0)
			return -1;
	line->job.dev = dev;
	line->ndev = n;
	return 0;
}

/* Append "NAME:N", "NAME:N:pcie" or "NAME:N:numa" for an item [N], [N,"pcie"]
 * or [N,"numa"]. */
static int put_device(const char *name, const json_t *item, struct buf *out,
                      struct err *err)
{
	const char *near = json_string_value(json_array_get(item, 1));
	size_t n = json_array_size(item);
	int64_t count;

	if (n < 1 || n > 2 || whole(json_array_get(item, 0), &count, err) < 0 ||
	    (n == 2 &&
	     (!near || (strcmp(near, "pcie") != 0 && strcmp(near, "numa")))))
		return err_set(err, EINVAL,
		               "%s: [N], [N,\"pcie\"] or [N,\"numa\"] is "
		               "expected, N a number of devices",
		               name);
	buf_printf(out, "%s%s:%lld%s%s", out->len ? "," : "", name,
	           (long long)count, near ? ":" : "", near ? near : "");
	return 0;
}

/* Set the devices of each task other than GPUs: {"rdma": [2]}. */
static int set_devices(struct line *line, const struct key *key, json_t *value,
                       struct err *err)
{
	struct buf text = { 0 };
	const char *name;
	json_t *item;
	int rc = 0;

	if (!json_object_size(value))
		return err_set(err, EINVAL,
		               "an object such as {\"rdma\": [2]} is expected");
	json_object_foreach(value, name, item)
		rc = rc < 0 ? rc : put_device(name, item, &text, err);
	if (rc == 0)
		rc = devices_check(text.data, err);
	if (rc == 0)
		*(const char **)at(line, key) =
		    arena_strdup(line->trace->arena, text.data);
	buf_free(&text);
	return rc;
}

/* Set an option of --cron, whose name has a dash. */
static int set_cron(struct line *line, const struct key *key, json_t *value,
                    struct err *err)
{
	char name[16];

	if (!json_is_string(value))
		return err_set(err, EINVAL, "a text is expected");
	snprintf(name, sizeof(name), "%s", key->name);
	if (strchr(name, '_'))
		*strchr(name, '_') = '-';
	return cron_rule_set(&line->cron, name, json_string_value(value), 0,
	                     err);
}

static int set_jitter(struct line *line, const struct key *key, json_t *value,
                      struct err *err)
{
	if (set_duration(line, key, value, err) < 0)
		return -1;
	if (line->cron.jitter_s > CRON_JITTER_MAX_S)
		return err_set(err, EINVAL, "it is at most %d s",
		               CRON_JITTER_MAX_S);
	return 0;
}

/* --- a job ------------------------------------------------------------- */

#define JOB(key, set, member)                           \
	{                                               \
		key, set, offsetof(struct line, member) \
	}

static const struct key keys[] = {
	JOB("apart", set_text, job.apart),
	JOB("array", set_text, array),
	JOB("class", set_text, spec.class),
	JOB("constraint", set_text, spec.constraint),
	JOB("prefer", set_text, spec.prefer),
	JOB("cpus", set_milli, spec.cpus),
	JOB("cron", set_cron, cron),
	JOB("cron_jitter", set_jitter, cron.jitter_s),
	JOB("cron_policy", set_cron, cron),
	JOB("cron_tz", set_cron, cron),
	JOB("cron_until", set_duration, cron.until),
	JOB("deadline", set_time, job.deadline),
	JOB("dependency", set_text, job.dependency),
	JOB("dev", set_dev, job.dev),
	JOB("devices", set_devices, spec.device),
	JOB("duration", set_duration, job.work),
	JOB("exclusive", set_flag, spec.exclusive),
	JOB("gpu_memory", set_number, spec.gpu_memory),
	JOB("gpu_type", set_text, spec.gpu_type),
	JOB("gpus", set_milli, spec.gpus),
	JOB("grace", set_duration, job.grace),
	JOB("held", set_flag, spec.hold),
	JOB("id", set_text, job.name),
	JOB("licenses", set_text, spec.licenses),
	JOB("links", set_text, spec.links),
	JOB("memory", set_number, spec.mem),
	JOB("min_tasks", set_number, spec.min_tasks),
	JOB("near", set_text, job.near),
	JOB("nodes", set_nodes, job.node),
	JOB("numa", set_text, spec.numa),
	JOB("on_preempt", set_on_evict, job.on_evict),
	JOB("preemptible", set_flag, preemptible),
	JOB("priority", set_number, spec.priority),
	JOB("queue", set_text, spec.queue),
	JOB("reservation", set_text, spec.reservation),
	JOB("resume_cost", set_duration, job.resume_cost),
	JOB("segment", set_number, spec.segment),
	JOB("spread", set_text, spec.spread),
	JOB("start_fails", set_flag, start_fails),
	JOB("started", set_time, job.started),
	JOB("submit", set_time, job.submit),
	JOB("tasks", set_number, spec.tasks),
	JOB("tasks_per_node", set_number, spec.tasks_per_node),
	JOB("time_limit", set_duration, spec.time_limit),
	JOB("tmp", set_number, spec.tmp),
	JOB("topology", set_text, spec.topology),
	JOB("user", set_text, user),
};

static const struct key *find_key(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (!strcmp(keys[i].name, name))
			return &keys[i];
	return NULL;
}

static int add_cron(struct line *line, struct err *err)
{
	struct cron_rule *rule = &line->cron;

	if (rule->until != SCHEDULE_NEVER)
		rule->until += line->trace->epoch;
	return trace_add_cron(line->trace, &line->job, &line->spec, rule, err);
}

/* Whether the job has a key that only cron entries have. */
static bool is_like_cron(const struct cron_rule *rule)
{
	return rule->policy || *rule->zone || rule->jitter_s ||
	       rule->until != SCHEDULE_NEVER;
}

/* Add a job for each task of an array. */
static int add_array(struct line *line, struct err *err)
{
	struct buf name = { 0 };
	struct trace_job job = line->job;
	struct idset set;
	int rc = 0;

	if (job.node)
		return err_set(err, EINVAL, "an array does not run already");
	if (idset_parse(&set, &job.limit, line->array, err) < 0)
		return -1;
	job.in = line->job.name;
	for (int64_t id = -1; rc == 0 && (id = idset_next(&set, id)) >= 0;) {
		struct spec spec = line->spec;

		buf_clear(&name);
		buf_printf(&name, "%s_%lld", job.in, (long long)id);
		job.name = name.data;
		job.task = (uint32_t)id;
		rc = trace_add(line->trace, &job, &spec, err);
	}
	buf_free(&name);
	idset_free(&set);
	return rc;
}

static int read_job(struct trace *trace, json_t *obj, uint32_t number,
                    struct err *err)
{
	struct line line = { .trace = trace,
		             .user = "u",
		             .preemptible = -1,
		             .job = { .line = number,
		                      .work = TRACE_NEVER,
		                      .deadline = TRACE_NEVER } };
	const char *name;
	json_t *value;

	spec_init(&line.spec);
	cron_rule_init(&line.cron);
	json_object_foreach(obj, name, value) {
		const struct key *key = find_key(name);

		if (!key)
			return err_set(err, EINVAL, "a job has no key '%s'",
			               name);
		/* A key with null counts as absent. */
		if (!json_is_null(value) &&
		    key->set(&line, key, value, err) < 0)
			return err_wrap(err, "%s", name);
	}
	if (!line.job.name)
		return err_set(err, EINVAL, "a job needs an id");
	if (line.job.dev && line.ndev != line.job.nrunning)
		return err_set(err, EINVAL,
		               "dev: devices of %zu tasks for %u nodes",
		               line.ndev, line.job.nrunning);
	line.job.preemptible = (int8_t)line.preemptible;
	line.job.start_fails = line.start_fails == 1;
	line.job.user = trace_user(trace, line.user);
	if (line.cron.schedule && line.array)
		return err_set(err, EINVAL, "a cron entry is no array");
	if (line.cron.schedule)
		return add_cron(&line, err);
	if (is_like_cron(&line.cron))
		return err_set(err, EINVAL, "a cron entry needs \"cron\"");
	if (line.array)
		return add_array(&line, err);
	return trace_add(trace, &line.job, &line.spec, err);
}

/* --- events ------------------------------------------------------------ */

static void add_act(struct trace *trace, const struct trace_act *act)
{
	trace->act = GROW(trace->act, trace->nacts, &trace->act_cap);
	trace->act[trace->nacts++] = *act;
}

/* Join a list of names with commas: ["a","b"] becomes "a,b". */
static int joined(struct trace *trace, const json_t *list, const char **ret,
                  struct err *err)
{
	struct buf text = { 0 };
	const json_t *item;
	size_t i;

	if (!json_is_array(list))
		return err_set(err, EINVAL, "an array of names is expected");
	json_array_foreach(list, i, item) {
		const char *name = json_string_value(item);

		if (!name || !*name || strchr(name, ',')) {
			buf_free(&text);
			return err_set(err, EINVAL,
			               "a name without ',' is expected");
		}
		buf_printf(&text, "%s%s", i ? "," : "", name);
	}
	*ret = arena_strdup(trace->arena, text.data ? text.data : "");
	buf_free(&text);
	return 0;
}

/*
 * Parse a reservation:
 * {"name":"r","start":S,"end":S,"nodes":[..],"users":[..]}.
 */
static int set_reserve(struct trace *trace, struct reserve_ask *ask,
                       const json_t *value, struct err *err)
{
	json_t *nodes, *users = NULL, *start, *end;
	const char *name;
	json_error_t why;

	if (json_unpack_ex((json_t *)value, &why, JSON_STRICT,
	                   "{s:s, s:o, s:o, s:o, s?o}", "name", &name, "start",
	                   &start, "end", &end, "nodes", &nodes, "users",
	                   &users) < 0)
		return err_set(err, EINVAL, "%s", why.text);
	if (whole(start, &ask->start, err) < 0 ||
	    whole(end, &ask->end, err) < 0 ||
	    joined(trace, nodes, &ask->nodes, err) < 0)
		return -1;
	ask->users = "";
	if (users && joined(trace, users, &ask->users, err) < 0)
		return -1;
	if (ask->start < 0 || ask->end > TRACE_MAX_S)
		return err_set(err, EINVAL, "times are from 0 to %lld",
		               (long long)TRACE_MAX_S);
	if (ask->end <= ask->start)
		return err_set(err, EINVAL, "it would end before it begins");
	ask->name = arena_strdup(trace->arena, name);
	return 0;
}

/* Parse the GPU of an event, "NODE:GPU". */
static int set_gpu(struct trace *trace, struct trace_act *act,
                   const json_t *value, struct err *err)
{
	const char *text = json_string_value(value);
	const char *colon = text ? strrchr(text, ':') : NULL;
	const struct conf_node *node;
	json_t *name;
	int64_t gpu;
	int rc;

	if (!colon)
		return err_set(err, EINVAL, "NODE:GPU is expected, as in n1:3");
	name = json_stringn(text, (size_t)(colon - text));
	rc = node_of(trace, name, &act->node, err);
	json_decref(name);
	if (rc < 0)
		return -1;
	node = &state_conf(trace->state)->nodes[act->node];
	if (parse_int(colon + 1, 0, node->gpus - 1, &gpu, NULL) < 0)
		return err_set(err, EINVAL, "node '%s' has no GPU '%s'",
		               node->name, colon + 1);
	if (node->parts && node->parts[gpu])
		return err_set(err, EINVAL,
		               "GPU %s of node '%s' has its partitions for "
		               "good (mig_fixed), and cannot go down",
		               colon + 1, node->name);
	act->gpu = (uint32_t)gpu;
	return 0;
}

static int set_act(struct trace *trace, struct trace_act *act, const char *name,
                   const json_t *value, struct err *err)
{
	static const struct {
		const char *name;
		enum trace_act_kind kind;
	} kinds[] = {
		{ "cancel", TRACE_CANCEL },
		{ "drain", TRACE_DRAIN },
		{ "node_down", TRACE_NODE_DOWN },
		{ "node_up", TRACE_NODE_UP },
		{ "reserve", TRACE_RESERVE },
		{ "gpu_down", TRACE_GPU_DOWN },
		{ "gpu_up", TRACE_GPU_UP },
	};
	size_t i = 0;

	while (i < ARRAY_SIZE(kinds) && strcmp(kinds[i].name, name))
		i++;
	if (i == ARRAY_SIZE(kinds))
		return err_set(err, EINVAL, "there is no event '%s'", name);
	act->kind = kinds[i].kind;
	if (act->kind == TRACE_RESERVE)
		return set_reserve(trace, &act->reserve, value, err);
	if (act->kind == TRACE_GPU_DOWN || act->kind == TRACE_GPU_UP)
		return set_gpu(trace, act, value, err);
	if (act->kind != TRACE_CANCEL)
		return node_of(trace, value, &act->node, err);
	if (!json_is_string(value))
		return err_set(err, EINVAL, "the id of a job is expected");
	act->name = arena_strdup(trace->arena, json_string_value(value));
	return 0;
}

/* Parse an event, such as {"at":S,"node_down":"n1"}, and add it. */
static int read_act(struct trace *trace, json_t *obj, uint32_t number,
                    struct err *err)
{
	struct trace_act act = { .line = number };
	const char *name;
	json_t *value;

	if (json_object_size(obj) != 2)
		return err_set(err, EINVAL,
		               "an event has \"at\" and one other key");
	json_object_foreach(obj, name, value) {
		int rc = strcmp(name, "at")
		             ? set_act(trace, &act, name, value, err)
		             : whole(value, &act.at, err);

		if (rc < 0)
			return err_wrap(err, "%s", name);
	}
	if (act.at < 0 || act.at > TRACE_MAX_S)
		return err_set(err, EINVAL,
		               "at: %lld is no second of the simulation, "
		               "which begins at 0",
		               (long long)act.at);
	add_act(trace, &act);
	return 0;
}

/* --- lines ------------------------------------------------------------- */

static bool is_blank(const char *text, size_t len)
{
	while (len && strchr(" \t\r\n", text[len - 1]))
		len--;
	return len == 0;
}

int trace_line(struct trace *trace, const char *text, size_t len, uint32_t line,
               struct err *err)
{
	json_error_t why;
	json_t *obj;
	int rc;

	if (is_blank(text, len))
		return 0;
	obj = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
	if (!obj)
		return err_set(err, EINVAL, "not JSON: %s", why.text);
	if (!json_is_object(obj))
		rc = err_set(err, EINVAL, "a JSON object is expected");
	else if (json_object_get(obj, "at"))
		rc = read_act(trace, obj, line, err);
	else
		rc = read_job(trace, obj, line, err);
	json_decref(obj);
	return rc;
}

int trace_read_jobs(struct trace *trace, struct err *err)
{
	FILE *in = fopen(trace->file, "re");
	char *text = NULL;
	uint32_t line = 0;
	size_t cap = 0;
	ssize_t len;
	int rc = 0;

	if (!in)
		return err_sys(err, "cannot read '%s'", trace->file);
	while (rc == 0 && (len = getline(&text, &cap, in)) >= 0) {
		rc = trace_line(trace, text, (size_t)len, ++line, err);
		if (rc < 0)
			err_wrap(err, "%s:%u", trace->file, line);
	}
	if (rc == 0 && ferror(in))
		rc = err_sys(err, "cannot read '%s'", trace->file);
	free(text);
	fclose(in);
	return rc;
}
