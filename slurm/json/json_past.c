/* json_past.c - jobs and their steps as sacct --json prints them */
#include "slurm/json/json_past.h"

#include <stdio.h>

#include "libcommon/buf.h"
#include "libcommon/mem.h"
#include "slurm/job.h"
#include "slurm/json/json.h"
#include "slurm/rows.h"

static json_t *tres_of(const json_t *row)
{
	double gpus = row_real(row, "gpus") * row_real(row, "tasks");
	json_t *list = json_pack(
	    "[{s:s, s:s, s:I}, {s:s, s:s, s:I}, {s:s, s:s, s:I}]", "type",
	    "cpu", "name", "", "count", (json_int_t)job_cpus(row), "type",
	    "mem", "name", "", "count", (json_int_t)job_mem_mib(row), "type",
	    "node", "name", "", "count", (json_int_t)row_int(row, "num_nodes"));

	if (gpus > 0)
		json_array_append_new(
		    list, json_pack("{s:s, s:s, s:I}", "type", "gres", "name",
		                    "gpu", "count", (json_int_t)(gpus + .999)));
	return list;
}

static json_int_t at_least_0(int64_t n)
{
	return n > 0 ? n : 0;
}

static json_t *time_of(const json_t *row)
{
	int64_t limit = row_int(row, "time_limit");
	double cpu = row_real(row, "cpu_seconds");

	return json_pack(
	    "{s:I, s:I, s:I, s:I, s:I, s:o, s:{s:I, s:I}}", "elapsed",
	    at_least_0(row_int(row, "elapsed")), "eligible",
	    at_least_0(row_int(row, "eligible_time")), "end",
	    job_is_over(row) ? at_least_0(row_int(row, "end_time")) : 0,
	    "start", at_least_0(row_int(row, "start_time")), "submission",
	    at_least_0(row_int(row, "submit_time")), "limit",
	    json_limit(limit == ROW_NONE ? limit : (limit + 59) / 60), "total",
	    "seconds", (json_int_t)cpu, "microseconds",
	    (json_int_t)((cpu - (double)(json_int_t)cpu) * 1e6));
}

static json_t *step_of(const json_t *row, const json_t *step)
{
	char id[48];

	if (step)
		snprintf(id, sizeof(id), "%lld.%lld",
		         (long long)row_int(row, "job_id"),
		         (long long)row_int(step, "step"));
	else
		snprintf(id, sizeof(id), "%lld.batch",
		         (long long)row_int(row, "job_id"));
	return json_pack(
	    "{s:{s:s, s:s}, s:s, s:o, s:o, s:{s:I}, s:o}", "step", "id", id,
	    "name", step ? row_text(step, "step_name") : "batch", "state",
	    row_text(step ? step : row, "state"), "exit_code",
	    json_exit(step ? step : row), "time", time_of(step ? step : row),
	    "tasks", "count",
	    step ? (json_int_t)row_int(step, "step_tasks") : (json_int_t)1,
	    "tres", tres_of(step ? step : row));
}

static json_t *steps_of(const json_t *row)
{
	json_t *list = json_array(), *step;
	size_t i;

	if (row_int(row, "start_time") == ROW_NONE)
		return list;
	if (row_int(row, "allocation") == ROW_NONE)
		json_array_append_new(list, step_of(row, NULL));
	json_array_foreach(json_object_get(row, "steps"), i, step)
		json_array_append_new(list, step_of(row, step));
	return list;
}

static json_t *array_of(const json_t *row)
{
	int64_t array = row_int(row, "array_job_id");

	return json_pack("{s:I, s:o, s:s}", "job_id", at_least_0(array),
	                 "task_id", json_number(row_int(row, "array_task_id")),
	                 "task", row_text(row, "array_tasks"));
}

static json_t *group_of(const json_t *row)
{
	struct buf text = { 0 };
	json_t *ret;

	put_group(row_int(row, "gid"), &text);
	ret = json_string(text.data ? text.data : "");
	buf_free(&text);
	return ret;
}

json_t *json_past(const json_t *row)
{
	static const struct {
		const char *name, *key;
	} texts[] = {
		{ "account", "account" },
		{ "cluster", "cluster" },
		{ "constraints", "constraint" },
		{ "name", "name" },
		{ "partition", "queue" },
		{ "qos", "class" },
		{ "submit_line", "command" },
		{ "user", "user" },
		{ "working_directory", "workdir" },
		{ "stdout", "output" },
		{ "stderr", "error" },
	};
	const char *nodes = row_text(row, "nodelist");
	json_t *job = json_object();

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		json_object_set_new(job, texts[i].name,
		                    json_text(row, texts[i].key));
	json_object_set_new(job, "job_id",
	                    json_integer(row_int(row, "job_id")));
	json_object_set_new(job, "array", array_of(row));
	json_object_set_new(job, "group", group_of(row));
	json_object_set_new(job, "nodes",
	                    json_string(*nodes ? nodes : "None assigned"));
	json_object_set_new(
	    job, "allocation_nodes",
	    json_integer(*nodes ? at_least_0(row_int(row, "num_nodes")) : 0));
	json_object_set_new(job, "priority",
	                    json_number(row_int(row, "priority")));
	json_object_set_new(job, "restart_cnt",
	                    json_integer(at_least_0(row_int(row, "restarts"))));
	json_object_set_new(job, "state",
	                    json_pack("{s:s, s:s}", "current",
	                              row_text(row, "state"), "reason",
	                              job_reason(row)));
	json_object_set_new(job, "exit_code", json_exit(row));
	json_object_set_new(job, "time", time_of(row));
	json_object_set_new(
	    job, "comment",
	    json_pack("{s:s}", "job", row_text(row, "comment")));
	json_object_set_new(job, "required",
	                    json_pack("{s:I, s:I}", "CPUs",
	                              (json_int_t)job_cpus(row), "memory",
	                              (json_int_t)job_mem_mib(row)));
	json_object_set_new(job, "tres",
	                    json_pack("{s:o, s:o}", "allocated",
	                              *nodes ? tres_of(row) : json_array(),
	                              "requested", tres_of(row)));
	json_object_set_new(job, "steps", steps_of(row));
	return job;
}
