/* json_job.c - jobs as squeue --json prints them */
#include "slurm/json/json_job.h"

#include <string.h>

#include "libcommon/buf.h"
#include "libcommon/hostlist.h"
#include "libcommon/mem.h"
#include "slurm/job.h"
#include "slurm/json/json.h"
#include "slurm/rows.h"

const char json_job_needs[] =
    "account array_job_id array_task_id array_tasks batch_host class command "
    "alloc_cpus alloc_mem_mib comment constraint cpus dependency dependency_never eligible_time end_time error exclude "
    "exclusive exit_code expected_start gid gpus job_id licenses "
    "mem_per_cpu mem_per_node name nice nodelist num_nodes output input "
    "priority queue reason req_nodes reservation restarts signal start_time "
    "state submit_host submit_time tasks shared_tasks time_limit tmp_mib uid user workdir display_id";

static json_t *taken(struct buf *text)
{
	json_t *ret = json_string(text->data ? text->data : "");

	buf_free(text);
	return ret;
}

static json_t *group_of(const json_t *row)
{
	struct buf text = { 0 };

	put_group(row_int(row, "gid"), &text);
	return taken(&text);
}

static json_t *tres_of(const json_t *row)
{
	const struct style style = { 0 };
	struct buf text = { 0 };

	put_job_tres(row, &style, &text);
	return taken(&text);
}

static json_t *minutes_of(const json_t *row)
{
	int64_t limit = row_int(row, "time_limit");

	return json_limit(limit == ROW_NONE ? limit : (limit + 59) / 60);
}

/* Returns the job's nodes, with its CPUs and memory divided among them as
 * evenly as possible. */
static json_t *resources_of(const json_t *row)
{
	const char *list = row_text(row, "nodelist");
	struct hostlist hosts = { 0 };
	json_t *nodes, *ret;
	int64_t cpus = job_cpus(row), mem = job_mem_mib(row), n;

	if (!*list || hostlist_parse(&hosts, list, NULL) < 0)
		return json_null();
	nodes = json_array();
	n = (int64_t)hosts.n;
	for (int64_t i = 0; i < n; i++) {
		json_int_t c = cpus / n + (i < cpus % n);
		json_int_t m = mem / n + (i < mem % n);

		json_array_append_new(
		    nodes,
		    json_pack("{s:s, s:{s:I, s:I}, s:{s:I, s:I}}", "name",
		              hosts.name[i], "cpus", "count", c, "used", c,
		              "memory", "used", m, "allocated", m));
	}
	ret =
	    json_pack("{s:I, s:{s:I, s:s, s:b, s:o}}", "cpus", (json_int_t)cpus,
	              "nodes", "count", (json_int_t)n, "list", list, "whole",
	              row_int(row, "exclusive") == 1, "allocation", nodes);
	hostlist_free(&hosts);
	return ret;
}

static void set_texts(json_t *to, const json_t *row)
{
	static const struct {
		const char *name, *key;
	} texts[] = {
		{ "account", "account" },
		{ "array_task_string", "array_tasks" },
		{ "batch_host", "batch_host" },
		{ "command", "command" },
		{ "comment", "comment" },
		{ "current_working_directory", "workdir" },
		{ "excluded_nodes", "exclude" },
		{ "features", "constraint" },
		{ "licenses", "licenses" },
		{ "name", "name" },
		{ "nodes", "nodelist" },
		{ "partition", "queue" },
		{ "qos", "class" },
		{ "required_nodes", "req_nodes" },
		{ "resv_name", "reservation" },
		{ "standard_error", "error" },
		{ "standard_input", "input" },
		{ "standard_output", "output" },
		{ "submit_host", "submit_host" },
		{ "user_name", "user" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		json_object_set_new(to, texts[i].name,
		                    json_text(row, texts[i].key));
	if (!*row_text(row, "error"))
		json_object_set_new(to, "standard_error",
		                    json_text(row, "output"));
}

static void set_numbers(json_t *to, const json_t *row)
{
	static const struct {
		const char *name, *key;
		bool plain; /* print a plain number, not {"set": ...} */
	} numbers[] = {
		{ "array_job_id", "array_job_id", false },
		{ "array_task_id", "array_task_id", false },
		{ "eligible_time", "eligible_time", false },
		{ "group_id", "gid", true },
		{ "job_id", "job_id", true },
		{ "memory_per_cpu", "mem_per_cpu", false },
		{ "memory_per_node", "mem_per_node", false },
		{ "minimum_tmp_disk_per_node", "tmp_mib", false },
		{ "nice", "nice", true },
		{ "node_count", "num_nodes", false },
		{ "priority", "priority", false },
		{ "restart_cnt", "restarts", true },
		{ "submit_time", "submit_time", false },
		{ "user_id", "uid", true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		int64_t n = row_int(row, numbers[i].key);
		json_t *value = json_number(n);

		if (numbers[i].plain) {
			json_decref(value);
			value = json_integer(n == ROW_NONE ? 0 : n);
		}
		json_object_set_new(to, numbers[i].name, value);
	}
	json_object_set_new(to, "tasks", json_number(job_tasks(row)));
}

static json_t *dependency_of(const json_t *row)
{
	struct buf text = { 0 };

	put_job_dependency(row, &text);
	return taken(&text);
}

json_t *json_job(const json_t *row, const char *cluster)
{
	json_t *job = json_object();

	set_texts(job, row);
	set_numbers(job, row);
	json_object_set_new(job, "cluster", json_string(cluster));
	json_object_set_new(job, "cpus", json_number(job_cpus(row)));
	json_object_set_new(job, "dependency", dependency_of(row));
	json_object_set_new(job, "end_time", json_number(job_end(row)));
	json_object_set_new(job, "exit_code", json_exit(row));
	json_object_set_new(job, "group_name", group_of(row));
	json_object_set_new(job, "het_job_id", json_number(0));
	json_object_set_new(job, "job_resources", resources_of(row));
	json_object_set_new(job, "job_state",
	                    json_pack("[s]", row_text(row, "state")));
	json_object_set_new(job, "start_time", json_number(job_start(row)));
	json_object_set_new(job, "state_reason", json_string(job_reason(row)));
	json_object_set_new(job, "time_limit", minutes_of(row));
	json_object_set_new(job, "tres_alloc_str",
	                    *row_text(row, "nodelist") ? tres_of(row)
	                                               : json_string(""));
	json_object_set_new(job, "tres_req_str", tres_of(row));
	return job;
}
