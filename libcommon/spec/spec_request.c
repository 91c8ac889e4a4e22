/* spec_request.c - resolve a request: what each task gets */
#include <assert.h>

#include "libcommon/buf.h"
#include "libcommon/constraint.h"
#include "libcommon/limits.h"
#include "libcommon/mig.h"
#include "libcommon/spec/spec.h"
#include "libcommon/topology.h"

enum { RESTARTS_DEFAULT = 5 }; /* if max_restarts is not given */

int64_t spec_max_restarts(const struct spec *spec)
{
	return spec->max_restarts == SPEC_UNSET ? RESTARTS_DEFAULT
	                                        : spec->max_restarts;
}

/* Check that no count in the constraint is greater than the largest number of
 * nodes that the job can have. */
static int check_counts(const struct spec *spec, const struct request *req,
                        struct err *err)
{
	uint32_t most = req->nodes ? req->nodes : req->min_tasks;
	int32_t rule[LIMIT_TEXT];
	size_t n = 0;

	if (spec->constraint &&
	    constraint_parse(spec->constraint, NULL, NULL, rule,
	                     ARRAY_SIZE(rule), &n, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (constraint_count(rule[i]) > (int64_t)most)
			return err_set(err, EINVAL,
			               "constraint '%s' asks for %d nodes, but "
			               "the job has at most %u",
			               spec->constraint,
			               (int)constraint_count(rule[i]),
			               (unsigned)most);
	return 0;
}

static int check_times(const struct spec *spec, struct err *err)
{
	int64_t begin = spec_is_set(spec->begin) ? spec->begin : 0;
	int64_t limit = spec->time_limit > 0 ? spec->time_limit : 0;

	if (spec->time_limit == 0)
		return err_set(err, EINVAL, "a time limit must be above 0");
	if (spec_is_set(spec->deadline) && begin + limit > spec->deadline)
		return err_set(err, EINVAL,
		               "the deadline is earlier than the begin time "
		               "plus the time limit");
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

static int check_ports(const struct spec *spec, struct err *err)
{
	if (spec->ports && spec->array)
		return err_set(err, EINVAL,
		               "--port and --array: give only one; each task "
		               "would have an address of its own");
	return 0;
}

static int resolve_tasks(const struct spec *spec, struct request *req,
                         struct err *err)
{
	int64_t nodes = spec_is_set(spec->nodes) ? spec->nodes : 0;
	int64_t each =
	    spec_is_set(spec->tasks_per_node) ? spec->tasks_per_node : 0;
	int64_t tasks = spec_is_set(spec->tasks)
	                    ? spec->tasks
	                    : (nodes ? nodes : 1) * (each ? each : 1);
	int64_t least = spec_is_set(spec->min_tasks) ? spec->min_tasks : tasks;

	if (tasks > LIMIT_TASKS)
		return err_set(err, EINVAL, "%lld tasks: a job has at most %d",
		               (long long)tasks, LIMIT_TASKS);
	if (least > tasks)
		return err_set(err, EINVAL,
		               "--min-tasks %lld is more than --tasks %lld",
		               (long long)least, (long long)tasks);
	if (least < tasks && spec->launch_script == 1)
		return err_set(err, EINVAL,
		               "--min-tasks: a script that runs once cannot "
		               "get more tasks; use --launch=tasks");
	if (nodes > tasks)
		return err_set(err, EINVAL,
		               "--nodes %lld is more than --tasks %lld: some "
		               "nodes would be idle",
		               (long long)nodes, (long long)tasks);
	if (nodes && each && tasks > nodes * each)
		return err_set(err, EINVAL,
		               "--tasks %lld is more than --nodes %lld times "
		               "--tasks-per-node %lld",
		               (long long)tasks, (long long)nodes,
		               (long long)each);
	req->tasks = (uint32_t)tasks;
	req->min_tasks = (uint32_t)least;
	req->nodes = (uint32_t)nodes;
	req->tasks_per_node = (uint32_t)each;
	return 0;
}

/* Set *ret to whether the constraint of the job counts nodes. */
static int constraint_counts(const struct spec *spec, bool *ret,
                             struct err *err)
{
	int32_t rule[LIMIT_TEXT];
	size_t n = 0;

	*ret = false;
	if (spec->constraint &&
	    constraint_parse(spec->constraint, NULL, NULL, rule,
	                     ARRAY_SIZE(rule), &n, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		*ret |= constraint_count(rule[i]) != 0;
	return 0;
}

/* Check that the other options of a job go together with --segment. */
static int check_segment(const struct spec *spec, const struct request *req,
                         struct err *err)
{
	struct topology t = { -1, -1 };
	bool counts;

	if (spec->topology && topology_parse(spec->topology, NULL, &t, err) < 0)
		return -1;
	if (t.need < 0 || t.like >= 0)
		return err_set(err, EINVAL,
		               "--segment: give one level of the topology "
		               "that each segment must be in, as --topology "
		               "LEVEL");
	if (req->min_tasks < req->tasks)
		return err_set(err, EINVAL,
		               "--segment and --min-tasks: give only one; a "
		               "job of segments has a fixed size");
	if (spec_task_failure(spec) == FAILURE_REPLACES)
		return err_set(err, EINVAL,
		               "--segment: --on-task-failure=replace may take "
		               "a task out of its segment; use restart");
	if (constraint_counts(spec, &counts, err) < 0)
		return -1;
	if (counts)
		return err_set(err, EINVAL,
		               "--segment: constraint '%s' counts nodes, which "
		               "segments do not; leave the count out",
		               spec->constraint);
	return 0;
}

/* Set the number of tasks in a segment. If the job gives nodes or tasks per
 * node, a segment is given in nodes, and each node must have the same number
 * of tasks. */
static int resolve_segment(const struct spec *spec, struct request *req,
                           struct err *err)
{
	uint32_t each = 1, all = req->tasks;

	if (!spec_is_set(spec->segment))
		return 0;
	if (check_segment(spec, req, err) < 0)
		return -1;
	if (req->nodes || req->tasks_per_node) {
		each = req->tasks_per_node;
		if (req->nodes || each > req->tasks)
			each = req->tasks / (req->nodes ? req->nodes : 1);
		if (req->tasks % each ||
		    (req->nodes && req->nodes * each != req->tasks))
			return err_set(err, EINVAL,
			               "--segment: %u tasks do not divide "
			               "evenly among the nodes; each must "
			               "have as many",
			               (unsigned)req->tasks);
		all = req->nodes = req->tasks / each;
		req->tasks_per_node = each;
	}
	if (all % (uint32_t)spec->segment)
		return err_set(err, EINVAL,
		               "--segment %lld does not divide the %u %s of "
		               "the job",
		               (long long)spec->segment, (unsigned)all,
		               req->nodes ? "nodes" : "tasks");
	req->segment = (uint32_t)spec->segment * each;
	return 0;
}

/* Check that the other options of a job go together with --spread. */
static int check_spread(const struct spec *spec, const struct request *req,
                        struct err *err)
{
	bool counts;

	if (spec->topology)
		return err_set(err, EINVAL,
		               "--spread and --topology: give only one");
	if (req->min_tasks < req->tasks)
		return err_set(err, EINVAL,
		               "--spread and --min-tasks: give only one; a "
		               "job that is spread has a fixed size");
	if (spec_task_failure(spec) == FAILURE_REPLACES)
		return err_set(err, EINVAL,
		               "--spread: --on-task-failure=replace may make "
		               "it uneven; use restart");
	if (constraint_counts(spec, &counts, err) < 0)
		return -1;
	if (counts)
		return err_set(err, EINVAL,
		               "--spread: constraint '%s' counts nodes; leave "
		               "the count out",
		               spec->constraint);
	return 0;
}

/* If the job requests a number of nodes, these nodes are spread over domains of
 * the level, and each node must have the same number of tasks: set
 * tasks_per_node. The level "node" does not need this. */
static int resolve_spread(const struct spec *spec, struct request *req,
                          struct err *err)
{
	int level;
	bool wish;

	if (!spec->spread)
		return 0;
	if (check_spread(spec, req, err) < 0 ||
	    spread_parse(spec->spread, NULL, &level, &wish, err) < 0)
		return -1;
	if (!req->nodes || level == SPREAD_NODE)
		return 0;
	if (req->tasks % req->nodes)
		return err_set(err, EINVAL,
		               "--spread: %u tasks do not divide evenly among "
		               "%u nodes; each must have as many",
		               (unsigned)req->tasks, (unsigned)req->nodes);
	req->tasks_per_node = req->tasks / req->nodes;
	return 0;
}

int64_t request_tasks_on_node(const struct request *req)
{
	int64_t nodes = req->nodes ? req->nodes : 1;

	if (req->tasks_per_node && req->tasks_per_node < req->tasks)
		return req->tasks_per_node;
	return (req->tasks + nodes - 1) / nodes;
}

/* Returns the MiB of a task that has per_cpu MiB for each CPU; for half a CPU
 * it has half of per_cpu. */
static int64_t mem_of_cpus(const struct request *req, int64_t per_cpu)
{
	return (per_cpu * req->cpus_milli + 999) / 1000;
}

static int resolve_memory(const struct spec *spec, int64_t default_per_cpu,
                          struct request *req, struct err *err)
{
	int64_t sharers = request_tasks_on_node(req);

	if (spec_is_set(spec->mem) + spec_is_set(spec->mem_node) +
	        spec_is_set(spec->mem_cpu) >
	    1)
		return err_set(err, EINVAL,
		               "give only one of --mem-per-task, --mem and "
		               "--mem-per-cpu");
	if (spec_is_set(spec->mem))
		req->mem_mib = spec->mem;
	else if (spec->mem_node == 0)
		req->mem_mib = 1; /* the job gets all memory of its nodes, so
		                     this need not be more */
	else if (spec_is_set(spec->mem_node))
		req->mem_mib = (spec->mem_node + sharers - 1) / sharers;
	else if (spec_is_set(spec->mem_cpu))
		req->mem_mib = mem_of_cpus(req, spec->mem_cpu);
	else
		req->mem_mib = mem_of_cpus(req, default_per_cpu);
	return 0;
}

static void resolve_tmp(const struct spec *spec, struct request *req)
{
	int64_t sharers = request_tasks_on_node(req);

	if (spec_is_set(spec->tmp))
		req->tmp_mib = (spec->tmp + sharers - 1) / sharers;
}

int64_t spec_tmp_of_node(const struct spec *spec, int64_t task_mib)
{
	struct request req = { 0 };
	int64_t mib;

	if (resolve_tasks(spec, &req, NULL) < 0 ||
	    resolve_segment(spec, &req, NULL) < 0 ||
	    resolve_spread(spec, &req, NULL) < 0)
		return task_mib; /* spec_resolve() will report the error */
	return __builtin_mul_overflow(task_mib, request_tasks_on_node(&req),
	                              &mib)
	           ? INT64_MAX
	           : mib;
}

/* Divide GPUs evenly among tasks: one or more for each task, or one for
 * several tasks. */
static int divide_gpus(int64_t gpus, int64_t tasks, int64_t *ret_milli,
                       struct err *err)
{
	if (gpus && (gpus < tasks ? tasks % gpus : gpus % tasks))
		return err_set(err, EINVAL,
		               "%lld GPU%s cannot be divided evenly among %lld "
		               "tasks",
		               (long long)gpus, gpus == 1 ? "" : "s",
		               (long long)tasks);
	if (gpus && gpus * 1000 < tasks)
		return err_set(
		    err, EINVAL, "%lld tasks are too many for %lld GPU%s",
		    (long long)tasks, (long long)gpus, gpus == 1 ? "" : "s");
	*ret_milli = gpus * 1000 / tasks;
	return 0;
}

/* If the GPU type is a MIG profile, set gpus_milli to the share of a GPU that
 * a partition with this profile has. */
static int resolve_partition(const struct spec *spec, struct request *req,
                             struct err *err)
{
	uint8_t profile = mig_find(spec->gpu_type);
	struct buf names = { 0 };

	if (!profile) {
		mig_put_profiles(&names, ~0u, spec->gpu_type);
		err_set(err, EINVAL, "no GPU has MIG profile %s%s%s",
		        spec->gpu_type, names.len ? "; there are " : "",
		        names.len ? names.data : "");
		buf_free(&names);
		return -1;
	}
	if (req->gpus_milli != 1000)
		return err_set(err, EINVAL,
		               "a task can have one %s, not %g: CUDA sees no "
		               "more than one partition",
		               spec->gpu_type, (double)req->gpus_milli / 1000);
	req->gpus_milli = mig_milli(profile);
	return 0;
}

static int resolve_gpus(const struct spec *spec, struct request *req,
                        struct err *err)
{
	int asked = spec_is_set(spec->gpus) + spec_is_set(spec->gpus_job) +
	            spec_is_set(spec->gpus_node);

	if (asked > 1)
		return err_set(err, EINVAL,
		               "give only one of --gpus-per-task, --gpus and "
		               "--gpus-per-node (or --gres)");
	if (!asked && spec->gpu_type && !spec_is_set(spec->gpu_memory))
		return err_set(err, EINVAL,
		               "--gpu-type '%s', but no GPUs are asked for",
		               spec->gpu_type);
	if (spec_is_set(spec->gpus_job))
		return divide_gpus(spec->gpus_job, req->tasks, &req->gpus_milli,
		                   err);
	if (spec_is_set(spec->gpus_node))
		return divide_gpus(spec->gpus_node, request_tasks_on_node(req),
		                   &req->gpus_milli, err);
	req->gpus_milli = spec_is_set(spec->gpus) ? spec->gpus : 0;
	if (req->gpus_milli > 1000 && req->gpus_milli % 1000)
		return err_set(err, EINVAL,
		               "--gpus-per-task must be a part of one GPU or a "
		               "whole number of them");
	return 0;
}

static bool is_none(int64_t number)
{
	return !spec_is_set(number) || !number;
}

bool spec_gets_part(const struct spec *spec)
{
	return spec_is_set(spec->gpu_memory) && is_none(spec->gpus) &&
	       is_none(spec->gpus_job) && is_none(spec->gpus_node);
}

/* Set the memory of the GPUs. The part of a GPU with that memory is known to
 * the daemon only (gpu_part). */
static int resolve_gpu_memory(const struct spec *spec, struct request *req,
                              struct err *err)
{
	if (!spec_is_set(spec->gpu_memory))
		return 0;
	if (mig_is_name(spec->gpu_type))
		return err_set(err, EINVAL,
		               "--gpu-memory and MIG profile %s: give only "
		               "one; the profile says how much memory it has",
		               spec->gpu_type);
	if (req->gpus_milli % 1000)
		return err_set(err, EINVAL,
		               "--gpu-memory and %g of a GPU: give only one, "
		               "or whole GPUs",
		               (double)req->gpus_milli / 1000);
	req->gpu_mem_mib = spec->gpu_memory;
	if (spec_gets_part(spec))
		req->gpus_milli = spec_is_set(spec->gpu_part) ? spec->gpu_part
		                                              : GPU_PART_MOST;
	return 0;
}

static int resolve_devices(const struct spec *spec, struct request *req,
                           struct err *err)
{
	if (resolve_gpus(spec, req, err) < 0 ||
	    resolve_gpu_memory(spec, req, err) < 0)
		return -1;
	if (spec->device && strstr(spec->device, ":pcie") && !req->gpus_milli)
		return err_set(err, EINVAL,
		               "--device %s: the task has no GPUs beside which "
		               "its devices could be; ask for some, or leave "
		               "out :pcie",
		               spec->device);
	return mig_is_name(spec->gpu_type) ? resolve_partition(spec, req, err)
	                                   : 0;
}

static int64_t cpus_of(const struct spec *spec)
{
	return spec_is_set(spec->cpus) ? spec->cpus : 1000;
}

int spec_resolve(const struct spec *spec, int64_t default_mem_per_cpu_mib,
                 struct request *ret, struct err *err)
{
	struct request req = { .cpus_milli = cpus_of(spec) };

	if (spec_check(spec, err) < 0 || check_times(spec, err) < 0 ||
	    check_restarts(spec, err) < 0 || check_ports(spec, err) < 0 ||
	    resolve_tasks(spec, &req, err) < 0 ||
	    resolve_segment(spec, &req, err) < 0 ||
	    resolve_spread(spec, &req, err) < 0 ||
	    check_counts(spec, &req, err) < 0 ||
	    resolve_memory(spec, default_mem_per_cpu_mib, &req, err) < 0 ||
	    resolve_devices(spec, &req, err) < 0)
		return -1;
	resolve_tmp(spec, &req);
	*ret = req;
	return 0;
}

void spec_request(const struct spec *spec, int64_t default_mem_per_cpu_mib,
                  struct request *ret)
{
	*ret = (struct request){ .cpus_milli = cpus_of(spec) };
	if (resolve_tasks(spec, ret, NULL) < 0 ||
	    resolve_segment(spec, ret, NULL) < 0 ||
	    resolve_spread(spec, ret, NULL) < 0 ||
	    resolve_memory(spec, default_mem_per_cpu_mib, ret, NULL) < 0 ||
	    resolve_gpus(spec, ret, NULL) < 0 ||
	    resolve_gpu_memory(spec, ret, NULL) < 0)
		assert(!"a spec that was checked");
	resolve_tmp(spec, ret);
	/* In a job of an earlier version, the name of a profile may be an
	 * ordinary GPU type: ignore errors here. */
	if (mig_is_name(spec->gpu_type))
		resolve_partition(spec, ret, NULL);
}

bool spec_takes_nodes(const struct spec *spec)
{
	return spec->exclusive == 1 || spec->mem_node == 0;
}

bool spec_may_spread(const struct spec *spec)
{
	struct request req;

	spec_request(spec, 0, &req);
	return req.tasks > 1 && req.nodes != 1;
}

static int64_t exclusive_memory(const struct spec *spec,
                                const struct request *req, int64_t per_cpu,
                                uint32_t tasks, uint32_t nodes,
                                const struct request_sum *whole)
{
	int64_t mib = (whole->cpus_milli * per_cpu + 999) / 1000;

	if (spec_is_set(spec->mem))
		return req->mem_mib * tasks;
	if (spec_is_set(spec->mem_node))
		return spec->mem_node * nodes;
	return mib < whole->mem_mib ? mib : whole->mem_mib;
}

struct request_sum spec_has(const struct spec *spec, const struct request *req,
                            int64_t default_mem_per_cpu_mib, uint32_t tasks,
                            uint32_t nodes, const struct request_sum *whole)
{
	int64_t per_cpu = spec_is_set(spec->mem_cpu) ? spec->mem_cpu
	                                             : default_mem_per_cpu_mib;
	struct request_sum has = { req->cpus_milli * tasks,
		                   req->mem_mib * tasks };

	if (spec->exclusive == 1) {
		has.cpus_milli = whole->cpus_milli;
		has.mem_mib =
		    exclusive_memory(spec, req, per_cpu, tasks, nodes, whole);
	}
	if (spec->mem_node == 0)
		has.mem_mib = whole->mem_mib;
	return has;
}
