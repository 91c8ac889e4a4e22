/* spec.c - what a user asks for when submitting a job */
#include "libcommon/spec.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "libcommon/constraint.h"
#include "libcommon/hostlist.h"
#include "libcommon/idset.h"
#include "libcommon/limits.h"
#include "libcommon/topology.h"

#define MAX_MIB     ((int64_t)1 << 40)
#define MAX_SECONDS (((int64_t)1 << 40) - 1)

enum { RESTARTS_DEFAULT = 5 }; /* of what fails, for jobs that do not say */

/* clang-format off */

/* Least and greatest value of every number: a new field needs one here. */
#define RANGE_priority       INT32_MIN, INT32_MAX
#define RANGE_nice           INT32_MIN, INT32_MAX
#define RANGE_tasks          1, LIMIT_TASKS
#define RANGE_min_tasks      1, LIMIT_TASKS
#define RANGE_nodes          1, LIMIT_NODES
#define RANGE_tasks_per_node 1, LIMIT_TASKS
#define RANGE_cpus           0, LIMIT_CPUS * 1000
#define RANGE_mem            0, MAX_MIB
#define RANGE_mem_node       1, MAX_MIB
#define RANGE_mem_cpu        1, MAX_MIB
#define RANGE_gpus           0, LIMIT_GPUS * 1000
#define RANGE_gpus_job       0, LIMIT_GPUS * LIMIT_NODES
#define RANGE_gpus_node      0, LIMIT_GPUS
#define RANGE_exclusive      0, 1
#define RANGE_time_limit     TIME_UNLIMITED, MAX_SECONDS
#define RANGE_begin          0, MAX_SECONDS
#define RANGE_deadline       0, MAX_SECONDS
#define RANGE_signal         1, 64
#define RANGE_signal_before  0, MAX_SECONDS
#define RANGE_signal_batch   0, 1
#define RANGE_grace          0, MAX_SECONDS
#define RANGE_hold           0, 1
#define RANGE_requeue        0, 1
#define RANGE_max_restarts   0, INT32_MAX
#define RANGE_append         0, 1
#define RANGE_umask          0, 0777
#define RANGE_launch_script  0, 1

#define S(name) { #name, true, offsetof(struct spec, name), 0, 0 },
#define I(name) { #name, false, offsetof(struct spec, name), RANGE_##name },

const struct spec_field spec_fields[] = { SPEC_FIELDS(S, I) };
const size_t spec_nfields = ARRAY_SIZE(spec_fields);

#undef S
#undef I
/* clang-format on */

enum field {
#define X(name) F_##name,
	SPEC_FIELDS(X, X)
#undef X
};

const char **spec_text(struct spec *spec, const struct spec_field *field)
{
	assert(field->is_text);
	return (const char **)(void *)((char *)spec + field->offset);
}

int64_t *spec_int(struct spec *spec, const struct spec_field *field)
{
	assert(!field->is_text);
	return (int64_t *)(void *)((char *)spec + field->offset);
}

/* The same for a spec that is only read. */
static const char *text_of(const struct spec *spec,
                           const struct spec_field *field)
{
	return *(const char *const *)(const void *)((const char *)spec +
	                                            field->offset);
}

static int64_t int_of(const struct spec *spec, const struct spec_field *field)
{
	return *(const int64_t *)(const void *)((const char *)spec +
	                                        field->offset);
}

void spec_init(struct spec *spec)
{
	*spec = (struct spec){ 0 };
	for (size_t i = 0; i < spec_nfields; i++)
		if (!spec_fields[i].is_text)
			*spec_int(spec, &spec_fields[i]) = SPEC_UNSET;
}

static int check_array(const char *s, struct err *err)
{
	struct idset set;
	uint32_t max;

	if (idset_parse(&set, &max, s, err) < 0)
		return -1;
	idset_free(&set);
	return 0;
}

static int check_hostlist(const char *s, struct err *err)
{
	struct hostlist list;

	if (hostlist_parse(&list, s, err) < 0)
		return -1;
	hostlist_free(&list);
	return 0;
}

static int32_t any_word(const char *word, size_t len, void *arg)
{
	(void)word, (void)len, (void)arg;
	return 0;
}

static int check_constraint(const char *s, struct err *err)
{
	int32_t rule[LIMIT_TEXT];
	size_t n;

	return constraint_parse(s, any_word, NULL, rule, ARRAY_SIZE(rule), &n,
	                        err);
}

/* Take digits, a value of 1 to max. */
static bool take_count(const char **s, int64_t max)
{
	const char *p = *s;
	int64_t value = 0;

	for (; *p >= '0' && *p <= '9' && value <= max; p++)
		value = value * 10 + (*p - '0');
	*s = p;
	return value >= 1 && value <= max;
}

/* name[:count] */
static bool take_license(const char **s)
{
	const char *start = *s;

	while (isalnum((unsigned char)**s) || (**s && strchr("_.-@", **s)))
		++*s;
	if (*s == start || **s != ':')
		return *s > start;
	++*s;
	return take_count(s, INT32_MAX);
}

static int check_licenses(const char *s, struct err *err)
{
	const char *p = s;
	bool good;

	do
		good = take_license(&p);
	while (good && *p == ',' && *++p);
	if (!good || *p || p[-1] == ',')
		return err_set(err, EINVAL,
		               "bad licences '%s': use name[:count],...", s);
	return 0;
}

/* Take the word up to a colon; false: no kind of dependency. */
static bool take_kind(const char **s, bool *ret_alone, bool *ret_delay)
{
	static const char *const kind[] = { "singleton",  "after",
		                            "afterany",   "afterok",
		                            "afternotok", "aftercorr" };
	size_t len = strcspn(*s, ":,?");

	for (size_t i = 0; i < ARRAY_SIZE(kind); i++) {
		if (strlen(kind[i]) != len || strncmp(*s, kind[i], len))
			continue;
		*s += len;
		*ret_alone = i == 0;
		*ret_delay = i == 1;
		return true;
	}
	return false;
}

/* :12, :12_3, with delay also :12+10 */
static bool take_dep_job(const char **s, bool delay)
{
	int64_t id;

	if (*(*s)++ != ':' || !take_count(s, INT64_MAX / 10 - 1))
		return false;
	if (**s == '_') {
		const char *digits = ++*s;

		for (id = 0; isdigit((unsigned char)**s); ++*s)
			id = id < LIMIT_ARRAY ? id * 10 + (**s - '0') : id;
		if (*s == digits || id >= LIMIT_ARRAY)
			return false;
	}
	if (delay && **s == '+') {
		++*s;
		return take_count(s, MAX_SECONDS / 60);
	}
	return true;
}

/* kind:job[:job],... or with '?' between them */
static int check_dependency(const char *s, struct err *err)
{
	const char *p = s;
	char between = 0;
	int jobs = 0;

	for (;;) {
		bool alone, delay;

		if (!take_kind(&p, &alone, &delay))
			break;
		while (!alone) {
			if (!take_dep_job(&p, delay))
				goto bad;
			jobs++;
			alone = *p != ':';
		}
		if (jobs > LIMIT_DEPS)
			return err_set(err, EINVAL,
			               "a dependency names at most %d jobs",
			               LIMIT_DEPS);
		if (!*p)
			return 0;
		if (between && between != *p)
			return err_set(err, EINVAL,
			               "bad dependency '%s': use ',' (all) or "
			               "'?' (any), not both",
			               s);
		between = *p++;
		if (between != ',' && between != '?')
			break;
	}
bad:
	return err_set(err, EINVAL,
	               "bad dependency '%s': use after, afterany, afterok, "
	               "afternotok or aftercorr with :JOB[:JOB], or singleton",
	               s);
}

static int check_workdir(const char *s, struct err *err)
{
	if (*s != '/')
		return err_set(err, EINVAL, "'%s' is not an absolute path", s);
	return 0;
}

static int check_args(const char *s, struct err *err)
{
	json_t *args = json_loads(s, JSON_REJECT_DUPLICATES, NULL);
	bool good = json_is_array(args);
	json_t *arg;
	size_t i;

	json_array_foreach(args, i, arg)
		good = good && json_is_string(arg);
	json_decref(args);
	if (!good)
		return err_set(err, EINVAL, "not a JSON array of texts");
	return 0;
}

/* Which levels there are only the daemon knows. */
static int check_topology(const char *s, struct err *err)
{
	struct topology t;

	return topology_parse(s, NULL, &t, err);
}

static int check_numa(const char *s, struct err *err)
{
	if (numa_parse(s) < 0)
		return err_set(err, EINVAL,
		               "bad alignment '%s': use strict or prefer", s);
	return 0;
}

static int failure_parse(const char *s)
{
	static const char *const names[] = { [FAILURE_ENDS] = "end",
		                             [FAILURE_RESTARTS] = "restart",
		                             [FAILURE_REPLACES] = "replace" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(s, names[i]))
			return (int)i;
	return -1;
}

static int check_failure(const char *s, struct err *err)
{
	if (failure_parse(s) < 0)
		return err_set(err, EINVAL, "'%s': use end, restart or replace",
		               s);
	return 0;
}

enum task_failure spec_task_failure(const struct spec *spec)
{
	return spec->on_task_failure
	           ? (enum task_failure)failure_parse(spec->on_task_failure)
	           : FAILURE_ENDS;
}

int64_t spec_max_restarts(const struct spec *spec)
{
	return spec->max_restarts == SPEC_UNSET ? RESTARTS_DEFAULT
	                                        : spec->max_restarts;
}

/* The fields whose texts have a syntax. */
static int (*const syntax[])(const char *s, struct err *err) = {
	[F_licenses] = check_licenses,       [F_array] = check_array,
	[F_dependency] = check_dependency,   [F_constraint] = check_constraint,
	[F_nodelist] = check_hostlist,       [F_exclude] = check_hostlist,
	[F_topology] = check_topology,       [F_numa] = check_numa,
	[F_workdir] = check_workdir,         [F_args] = check_args,
	[F_on_task_failure] = check_failure,
};

static int check_length(const struct spec_field *field, size_t len,
                        struct err *err)
{
	size_t max = field == &spec_fields[F_args] ? LIMIT_ARGS : LIMIT_TEXT;

	if (!len)
		return err_set(err, EINVAL, "it is empty");
	if (len > max)
		return err_set(err, EINVAL, "longer than %zu bytes", max);
	return 0;
}

int spec_check_text(const struct spec_field *field, const char *s,
                    struct err *err)
{
	size_t i = (size_t)(field - spec_fields);
	json_t *utf8;

	if (check_length(field, strlen(s), err) < 0)
		return -1;
	for (const char *p = s; *p && i != F_args; p++)
		if (iscntrl((unsigned char)*p))
			return err_set(err, EINVAL,
			               "'%s' has control characters", s);
	utf8 = json_string(s); /* which is what it must become */
	if (!utf8)
		return err_set(err, EINVAL, "'%s' is not UTF-8", s);
	json_decref(utf8);
	return i < ARRAY_SIZE(syntax) && syntax[i] ? syntax[i](s, err) : 0;
}

json_t *spec_to_json(const struct spec *spec)
{
	json_t *obj = json_object();

	for (size_t i = 0; i < spec_nfields; i++) {
		const struct spec_field *field = &spec_fields[i];
		json_t *value = NULL;

		if (field->is_text && text_of(spec, field))
			value = json_string(text_of(spec, field));
		else if (!field->is_text && int_of(spec, field) != SPEC_UNSET)
			value = json_integer(int_of(spec, field));
		else
			continue;
		assert(value);
		json_object_set_new_nocheck(obj, field->name, value);
	}
	return obj;
}

static const struct spec_field *find_field(const char *name)
{
	for (size_t i = 0; i < spec_nfields; i++)
		if (!strcmp(spec_fields[i].name, name))
			return &spec_fields[i];
	return NULL;
}

static int text_from_json(const char **ret, const struct spec_field *field,
                          const json_t *value, struct arena *arena,
                          struct err *err)
{
	const char *s = json_string_value(value);

	if (!s)
		return err_set(err, EINVAL, "not a text");
	if (strlen(s) != json_string_length(value))
		return err_set(err, EINVAL, "a zero byte in the text");
	if (check_length(field, strlen(s), err) < 0)
		return -1;
	*ret = arena_strdup(arena, s);
	return 0;
}

static int check_range(const struct spec_field *field, int64_t value,
                       struct err *err)
{
	if (value < field->min || value > field->max)
		return err_set(err, EINVAL, "%lld is not from %lld to %lld",
		               (long long)value, (long long)field->min,
		               (long long)field->max);
	return 0;
}

static int int_from_json(int64_t *ret, const struct spec_field *field,
                         const json_t *value, struct err *err)
{
	if (!json_is_integer(value))
		return err_set(err, EINVAL, "not a whole number");
	if (check_range(field, json_integer_value(value), err) < 0)
		return -1;
	*ret = json_integer_value(value);
	return 0;
}

int spec_from_json(struct spec *ret, json_t *obj, struct arena *arena,
                   struct err *err)
{
	struct spec spec;
	const char *name;
	json_t *value;

	if (!json_is_object(obj))
		return err_set(err, EINVAL, "a job must be a JSON object");
	spec_init(&spec);
	json_object_foreach(obj, name, value) {
		const struct spec_field *field = find_field(name);
		int rc;

		if (!field)
			return err_set(err, EINVAL, "a job has no field '%s'",
			               name);
		if (field->is_text)
			rc = text_from_json(spec_text(&spec, field), field,
			                    value, arena, err);
		else
			rc = int_from_json(spec_int(&spec, field), field, value,
			                   err);
		if (rc < 0)
			return err_wrap(err, "field '%s'", name);
	}
	if (!spec.name || !spec.output || !spec.workdir)
		return err_set(err, EINVAL,
		               "a job needs name, output and workdir");
	/* Only in simulations, which make their specs themselves. */
	if (spec.mem == 0)
		return err_set(err, EINVAL, "a job needs some memory");
	*ret = spec;
	return 0;
}

static bool is_set(int64_t value)
{
	return value != SPEC_UNSET;
}

static int check_fields(const struct spec *spec, struct err *err)
{
	for (size_t i = 0; i < spec_nfields; i++) {
		const struct spec_field *field = &spec_fields[i];
		int rc = 0;

		if (field->is_text && text_of(spec, field))
			rc = spec_check_text(field, text_of(spec, field), err);
		else if (!field->is_text && is_set(int_of(spec, field)))
			rc = check_range(field, int_of(spec, field), err);
		if (rc < 0)
			return err_wrap(err, "%s", field->name);
	}
	return 0;
}

/* Each node that a constraint counts has a task. */
static int check_counts(const struct spec *spec, const struct request *req,
                        struct err *err)
{
	uint32_t most = req->nodes ? req->nodes : req->min_tasks;
	int32_t rule[LIMIT_TEXT];
	size_t n = 0;

	if (spec->constraint &&
	    constraint_parse(spec->constraint, any_word, NULL, rule,
	                     ARRAY_SIZE(rule), &n, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (constraint_count(rule[i]) > (int64_t)most)
			return err_set(err, EINVAL,
			               "constraint '%s' asks for %d nodes, the "
			               "job is on no more than %u",
			               spec->constraint,
			               (int)constraint_count(rule[i]),
			               (unsigned)most);
	return 0;
}

static int check_times(const struct spec *spec, struct err *err)
{
	int64_t begin = is_set(spec->begin) ? spec->begin : 0;
	int64_t limit = spec->time_limit > 0 ? spec->time_limit : 0;

	if (spec->time_limit == 0)
		return err_set(err, EINVAL, "a time limit must be above 0");
	if (is_set(spec->deadline) && begin + limit > spec->deadline)
		return err_set(err, EINVAL,
		               "the deadline is before the time it begins and "
		               "its time limit");
	return 0;
}

static int check_restarts(const struct spec *spec, struct err *err)
{
	if (spec->requeue == 0 && spec_task_failure(spec) == FAILURE_RESTARTS)
		return err_set(err, EINVAL,
		               "--on-task-failure=restart runs it again, "
		               "--no-requeue never does: give only one");
	return 0;
}

static int resolve_tasks(const struct spec *spec, struct request *req,
                         struct err *err)
{
	int64_t nodes = is_set(spec->nodes) ? spec->nodes : 0;
	int64_t each = is_set(spec->tasks_per_node) ? spec->tasks_per_node : 0;
	int64_t tasks = is_set(spec->tasks)
	                    ? spec->tasks
	                    : (nodes ? nodes : 1) * (each ? each : 1);
	int64_t least = is_set(spec->min_tasks) ? spec->min_tasks : tasks;

	if (tasks > LIMIT_TASKS)
		return err_set(err, EINVAL, "%lld tasks: a job has at most %d",
		               (long long)tasks, LIMIT_TASKS);
	if (least > tasks)
		return err_set(err, EINVAL,
		               "--min-tasks %lld is more than the %lld tasks",
		               (long long)least, (long long)tasks);
	if (least < tasks && spec->launch_script == 1)
		return err_set(err, EINVAL,
		               "--min-tasks: a script that runs once cannot "
		               "come to have more tasks; use --launch=tasks");
	if (nodes > tasks)
		return err_set(err, EINVAL,
		               "%lld nodes for %lld tasks: some would be idle",
		               (long long)nodes, (long long)tasks);
	if (nodes && each && tasks > nodes * each)
		return err_set(err, EINVAL,
		               "%lld tasks do not fit %lld nodes with at most "
		               "%lld on each",
		               (long long)tasks, (long long)nodes,
		               (long long)each);
	req->tasks = (uint32_t)tasks;
	req->min_tasks = (uint32_t)least;
	req->nodes = (uint32_t)nodes;
	req->tasks_per_node = (uint32_t)each;
	return 0;
}

/* How many tasks may share what was asked for one node. */
static int64_t tasks_on_node(const struct request *req)
{
	int64_t nodes = req->nodes ? req->nodes : 1;

	if (req->tasks_per_node && req->tasks_per_node < req->tasks)
		return req->tasks_per_node;
	return (req->tasks + nodes - 1) / nodes;
}

/* MiB for the CPUs of a task, in proportion to their parts. */
static int64_t mem_of_cpus(const struct request *req, int64_t per_cpu)
{
	return (per_cpu * req->cpus_milli + 999) / 1000;
}

static int resolve_memory(const struct spec *spec, int64_t default_per_cpu,
                          struct request *req, struct err *err)
{
	int64_t sharers = tasks_on_node(req);

	if (is_set(spec->mem) + is_set(spec->mem_node) + is_set(spec->mem_cpu) >
	    1)
		return err_set(err, EINVAL,
		               "give only one of --mem-per-task, --mem and "
		               "--mem-per-cpu");
	if (is_set(spec->mem))
		req->mem_mib = spec->mem;
	else if (is_set(spec->mem_node))
		req->mem_mib = (spec->mem_node + sharers - 1) / sharers;
	else if (is_set(spec->mem_cpu))
		req->mem_mib = mem_of_cpus(req, spec->mem_cpu);
	else
		req->mem_mib = mem_of_cpus(req, default_per_cpu);
	return 0;
}

/* Whole devices among tasks: so many each, or so many tasks on each. */
static int divide_gpus(int64_t gpus, int64_t tasks, int64_t *ret_milli,
                       struct err *err)
{
	if (gpus && (gpus < tasks ? tasks % gpus : gpus % tasks))
		return err_set(err, EINVAL,
		               "%lld GPUs cannot be divided evenly among %lld "
		               "tasks",
		               (long long)gpus, (long long)tasks);
	if (gpus && gpus * 1000 < tasks)
		return err_set(err, EINVAL,
		               "%lld tasks are too many for %lld GPUs",
		               (long long)tasks, (long long)gpus);
	*ret_milli = gpus * 1000 / tasks;
	return 0;
}

static int resolve_gpus(const struct spec *spec, struct request *req,
                        struct err *err)
{
	int asked = is_set(spec->gpus) + is_set(spec->gpus_job) +
	            is_set(spec->gpus_node);

	if (asked > 1)
		return err_set(err, EINVAL,
		               "give only one of --gpus-per-task, --gpus and "
		               "--gpus-per-node (or --gres)");
	if (!asked && spec->gpu_type)
		return err_set(err, EINVAL,
		               "--gpu-type '%s', but no GPUs are asked for",
		               spec->gpu_type);
	if (is_set(spec->gpus_job))
		return divide_gpus(spec->gpus_job, req->tasks, &req->gpus_milli,
		                   err);
	if (is_set(spec->gpus_node))
		return divide_gpus(spec->gpus_node, tasks_on_node(req),
		                   &req->gpus_milli, err);
	req->gpus_milli = is_set(spec->gpus) ? spec->gpus : 0;
	if (req->gpus_milli > 1000 && req->gpus_milli % 1000)
		return err_set(err, EINVAL,
		               "--gpus-per-task must be a part of one GPU or a "
		               "whole number of them");
	return 0;
}

static int64_t cpus_of(const struct spec *spec)
{
	return is_set(spec->cpus) ? spec->cpus : 1000;
}

int spec_resolve(const struct spec *spec, int64_t default_mem_per_cpu_mib,
                 struct request *ret, struct err *err)
{
	struct request req = { .cpus_milli = cpus_of(spec) };

	if (check_fields(spec, err) < 0 || check_times(spec, err) < 0 ||
	    check_restarts(spec, err) < 0 ||
	    resolve_tasks(spec, &req, err) < 0 ||
	    check_counts(spec, &req, err) < 0 ||
	    resolve_memory(spec, default_mem_per_cpu_mib, &req, err) < 0 ||
	    resolve_gpus(spec, &req, err) < 0)
		return -1;
	*ret = req;
	return 0;
}

void spec_request(const struct spec *spec, int64_t default_mem_per_cpu_mib,
                  struct request *ret)
{
	*ret = (struct request){ .cpus_milli = cpus_of(spec) };
	if (resolve_tasks(spec, ret, NULL) < 0 ||
	    resolve_memory(spec, default_mem_per_cpu_mib, ret, NULL) < 0 ||
	    resolve_gpus(spec, ret, NULL) < 0)
		assert(!"a spec that was checked");
}
