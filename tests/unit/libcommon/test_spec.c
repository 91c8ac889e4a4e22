/* test_spec.c - specs as JSON, and their resolution */
#include "libcommon/spec/spec.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/buf.h"
#include "libcommon/limits.h"
#include "libcommon/spec/spec_marks.h"
#include "tests/unit/check.h"

/* The fields that every job needs, and more fields. */
#define JOB(more) "{\"name\":\"x\",\"output\":\"o\",\"workdir\":\"/w\"" more "}"

/* Returns the spec of a text in JSON, or NULL and *err if it is refused. */
static struct spec *from_text(struct arena *arena, const char *text,
                              struct err *err)
{
	json_t *obj = json_loads(text, JSON_ALLOW_NUL, NULL);
	struct spec *spec = arena_array(arena, struct spec, 1);
	int rc;

	ck_assert_msg(obj, "bad JSON in the test: %s", text);
	rc = spec_from_json(spec, obj, arena, err);
	json_decref(obj);
	return rc < 0 ? NULL : spec;
}

START_TEST(every_field_has_a_range)
{
	for (size_t i = 0; i < spec_nfields; i++)
		ck_assert_msg(spec_fields[i].is_text ||
		                  spec_fields[i].min < spec_fields[i].max,
		              "%s", spec_fields[i].name);
}
END_TEST

/* Every field, each with another value, must survive the round trip. */
START_TEST(round_trip)
{
	struct arena *arena = arena_new();
	struct spec spec, again;
	json_t *obj;
	struct err err;

	spec_init(&spec);
	for (size_t i = 0; i < spec_nfields; i++) {
		const struct spec_field *field = &spec_fields[i];

		if (field->is_text)
			*spec_text(&spec, field) = field->name;
		else
			*spec_int(&spec, field) = field->max;
	}
	obj = spec_to_json(&spec);
	ck_assert_uint_eq(json_object_size(obj), spec_nfields);
	ck_assert_int_eq(spec_from_json(&again, obj, arena, &err), 0);
	json_decref(obj);
	for (size_t i = 0; i < spec_nfields; i++) {
		const struct spec_field *field = &spec_fields[i];

		if (field->is_text)
			ck_assert_str_eq(*spec_text(&again, field),
			                 field->name);
		else
			ck_assert_int_eq(*spec_int(&again, field), field->max);
	}
	arena_free(arena);
}
END_TEST

START_TEST(nothing_given_is_nothing_sent)
{
	struct spec spec;
	json_t *obj;

	spec_init(&spec);
	obj = spec_to_json(&spec);
	ck_assert_uint_eq(json_object_size(obj), 0);
	json_decref(obj);
}
END_TEST

static const struct {
	const char *name, *json, *want;
} refused[] = {
	{ "not an object", "[]", "a job must be a JSON object" },
	{ "no name", "{\"output\":\"o\",\"workdir\":\"/\"}",
	  "a job needs name, output and workdir" },
	{ "no memory", JOB(",\"mem\":0"), "a job needs some memory" },
	{ "an unknown field", JOB(",\"foo\":1"), "a job has no field 'foo'" },
	{ "a number for a text", JOB(",\"queue\":1"),
	  "field 'queue': not a text" },
	{ "null for a text", JOB(",\"queue\":null"),
	  "field 'queue': not a text" },
	{ "an empty text", JOB(",\"queue\":\"\""),
	  "field 'queue': it is empty" },
	{ "a zero byte", JOB(",\"queue\":\"a\\u0000b\""),
	  "field 'queue': a zero byte in the text" },
	{ "a text for a number", JOB(",\"tasks\":\"1\""),
	  "field 'tasks': not a whole number" },
	{ "a fraction", JOB(",\"tasks\":1.5"),
	  "field 'tasks': not a whole number" },
	{ "too small", JOB(",\"tasks\":0"),
	  "field 'tasks': 0 is not from 1 to 65536" },
	{ "too large", JOB(",\"tasks\":65537"),
	  "field 'tasks': 65537 is not from 1 to 65536" },
	{ "the mark of nothing", JOB(",\"nice\":-9223372036854775808"),
	  "field 'nice': -9223372036854775808 is not from -2147483648 to "
	  "2147483647" },
};

START_TEST(refused_json)
{
	struct arena *arena = arena_new();
	struct err err;

	ck_assert_msg(!from_text(arena, refused[_i].json, &err), "%s",
	              refused[_i].name);
	ck_assert_int_eq(err.code, EINVAL);
	ck_assert_msg(!strcmp(err.text, refused[_i].want), "%s: got %s",
	              refused[_i].name, err.text);
	arena_free(arena);
}
END_TEST

START_TEST(text_limit)
{
	struct arena *arena = arena_new();
	char *text = xcalloc(LIMIT_TEXT + 2, 1);
	struct spec spec;
	struct err err;
	json_t *obj;

	for (int over = 0; over < 2; over++) {
		memset(text, 'x', LIMIT_TEXT + (size_t)over);
		obj = json_pack("{s:s, s:s, s:s}", "name", text, "output", "o",
		                "workdir", "/");
		ck_assert_int_eq(spec_from_json(&spec, obj, arena, &err),
		                 -over);
		json_decref(obj);
	}
	ck_assert_str_eq(err.text, "field 'name': longer than 4096 bytes");
	free(text);
	arena_free(arena);
}
END_TEST

#define RACK ",\"topology\":\"rack\""

/* A request, and what it is resolved to, as "TASKS/MIN NODES PER_NODE CPUS MEM
 * GPUS", or the error. The default is 100 MiB for each CPU. */
static const struct {
	const char *name, *json, *want;
} resolved[] = {
	{ "nothing said", "", "1/1 0 0 1000 100 0" },
	{ "tasks", ",\"tasks\":4", "4/4 0 0 1000 100 0" },
	{ "a task a node", ",\"nodes\":3", "3/3 3 0 1000 100 0" },
	{ "nodes and tasks on each", ",\"nodes\":3,\"tasks_per_node\":2",
	  "6/6 3 2 1000 100 0" },
	{ "tasks on one node", ",\"tasks_per_node\":2", "2/2 0 2 1000 100 0" },
	{ "default memory in proportion to the CPUs", ",\"cpus\":2500",
	  "1/1 0 0 2500 250 0" },
	{ "a part of a CPU has a part of its memory", ",\"cpus\":50",
	  "1/1 0 0 50 5 0" },
	{ "a part of a MiB is a whole one", ",\"cpus\":11", "1/1 0 0 11 2 0" },
	{ "memory a CPU for a part of one", ",\"mem_cpu\":7,\"cpus\":1500",
	  "1/1 0 0 1500 11 0" },
	{ "memory a task", ",\"mem\":7,\"tasks\":2", "2/2 0 0 1000 7 0" },
	{ "memory a CPU", ",\"mem_cpu\":7,\"cpus\":3000", "1/1 0 0 3000 21 0" },
	{ "all memory of a node", ",\"mem_node\":0,\"tasks\":2",
	  "2/2 0 0 1000 1 0" },
	{ "memory a node, for the only task", ",\"mem_node\":7",
	  "1/1 0 0 1000 7 0" },
	{ "memory a node, among all tasks", ",\"mem_node\":7,\"tasks\":2",
	  "2/2 0 0 1000 4 0" },
	{ "memory a node, among its tasks",
	  ",\"mem_node\":8,\"tasks\":5,\"nodes\":2", "5/5 2 0 1000 3 0" },
	{ "memory a node, among as many as may be there",
	  ",\"mem_node\":8,\"tasks\":6,\"tasks_per_node\":2",
	  "6/6 0 2 1000 4 0" },
	{ "GPUs a task", ",\"gpus\":500,\"tasks\":2", "2/2 0 0 1000 100 500" },
	{ "GPUs among tasks", ",\"gpus_job\":4,\"tasks\":2",
	  "2/2 0 0 1000 100 2000" },
	{ "tasks that share a GPU", ",\"gpus_job\":1,\"tasks\":4",
	  "4/4 0 0 1000 100 250" },
	{ "tasks that share GPUs", ",\"gpus_job\":2,\"tasks\":6",
	  "6/6 0 0 1000 100 333" },
	{ "partitions", ",\"gpus_job\":2,\"tasks\":2,\"gpu_type\":\"1g.10gb\"",
	  "2/2 0 0 1000 100 125" },
	{ "GPUs with memory", ",\"gpus\":2000,\"gpu_memory\":40960",
	  "1/1 0 0 1000 100 2000" },
	{ "a part by memory", ",\"gpu_memory\":20480,\"gpu_part\":250",
	  "1/1 0 0 1000 100 250" },
	{ "a part by memory that only the daemon knows",
	  ",\"gpus\":0,\"gpu_memory\":20480,\"gpu_type\":\"h100\"",
	  "1/1 0 0 1000 100 999" },
	{ "GPUs a node", ",\"gpus_node\":4,\"nodes\":2,\"tasks_per_node\":2",
	  "4/4 2 2 1000 100 2000" },
	{ "no GPUs", ",\"gpus_job\":0,\"tasks\":3", "3/3 0 0 1000 100 0" },
	{ "min_tasks that changes nothing", ",\"tasks\":3,\"min_tasks\":3",
	  "3/3 0 0 1000 100 0" },
	{ "the deadline is just met",
	  ",\"begin\":100,\"time_limit\":10,\"deadline\":110",
	  "1/1 0 0 1000 100 0" },
	{ "dependencies",
	  ",\"dependency\":\"after:3+10:4_7,afterok:1:2,singleton\"",
	  "1/1 0 0 1000 100 0" },
	{ "any of the dependencies",
	  ",\"dependency\":\"afterok:1?aftercorr:2\"", "1/1 0 0 1000 100 0" },
	{ "licences", ",\"licenses\":\"matlab:2,ansys@lab\"",
	  "1/1 0 0 1000 100 0" },

	{ "two kinds of memory", ",\"mem\":1,\"mem_node\":1",
	  "give only one of --mem-per-task, --mem and --mem-per-cpu" },
	{ "an unknown partition", ",\"gpus\":1000,\"gpu_type\":\"3g.41gb\"",
	  "no GPU has MIG profile 3g.41gb; there are 3g.20gb, 3g.40gb, "
	  "3g.71gb, 3g.47gb, 3g.48gb, 3g.90gb, 3g.72gb" },
	{ "a partition of five slices",
	  ",\"gpus\":1000,\"gpu_type\":\"5g.41gb\"",
	  "no GPU has MIG profile 5g.41gb" },
	{ "two partitions", ",\"gpus\":2000,\"gpu_type\":\"3g.40gb\"",
	  "a task can have one 3g.40gb, not 2: CUDA sees no more than one "
	  "partition" },
	{ "half a partition",
	  ",\"gpus_job\":1,\"tasks\":2,\"gpu_type\":\"3g.40gb\"",
	  "a task can have one 3g.40gb, not 0.5: CUDA sees no more than one "
	  "partition" },
	{ "two kinds of GPUs", ",\"gpus\":1,\"gpus_node\":1",
	  "give only one of --gpus-per-task, --gpus and --gpus-per-node (or "
	  "--gres)" },
	{ "more nodes than tasks", ",\"nodes\":3,\"tasks\":2",
	  "--nodes 3 is more than --tasks 2: some nodes would be idle" },
	{ "more tasks than nodes take",
	  ",\"nodes\":2,\"tasks\":5,\"tasks_per_node\":2",
	  "--tasks 5 is more than --nodes 2 times --tasks-per-node 2" },
	{ "too many tasks by the nodes",
	  ",\"nodes\":65536,\"tasks_per_node\":65536",
	  "4294967296 tasks: a job has at most 65536" },
	{ "min_tasks above tasks", ",\"tasks\":2,\"min_tasks\":3",
	  "--min-tasks 3 is more than --tasks 2" },
	{ "one process cannot grow",
	  ",\"tasks\":2,\"min_tasks\":1,\"launch_script\":1",
	  "--min-tasks: a script that runs once cannot get more tasks; use "
	  "--launch=tasks" },
	{ "GPUs that cannot be divided", ",\"gpus_job\":3,\"tasks\":2",
	  "3 GPUs cannot be divided evenly among 2 tasks" },
	{ "tasks that cannot be divided among GPUs",
	  ",\"gpus_job\":2,\"tasks\":3",
	  "2 GPUs cannot be divided evenly among 3 tasks" },
	{ "too many tasks on a GPU", ",\"gpus_job\":1,\"tasks\":1001",
	  "1001 tasks are too many for 1 GPU" },
	{ "one GPU and a half", ",\"gpus\":1500",
	  "--gpus-per-task must be a part of one GPU or a whole number of "
	  "them" },
	{ "a type of no GPUs", ",\"gpu_type\":\"h100\"",
	  "--gpu-type 'h100', but no GPUs are asked for" },
	{ "two parts of a GPU", ",\"gpus\":500,\"gpu_memory\":20480",
	  "--gpu-memory and 0.5 of a GPU: give only one, or whole GPUs" },
	{ "two parts of a GPU among tasks",
	  ",\"gpus_job\":1,\"tasks\":4,\"gpu_memory\":20480",
	  "--gpu-memory and 0.25 of a GPU: give only one, or whole GPUs" },
	{ "a partition and memory",
	  ",\"gpus\":1000,\"gpu_type\":\"1g.10gb\",\"gpu_memory\":20480",
	  "--gpu-memory and MIG profile 1g.10gb: give only one; the profile "
	  "says how much memory it has" },
	{ "no time", ",\"time_limit\":0", "a time limit must be above 0" },
	{ "a deadline too early",
	  ",\"begin\":100,\"time_limit\":11,\"deadline\":110",
	  "the deadline is earlier than the begin time plus the time limit" },
	{ "again and never again",
	  ",\"on_task_failure\":\"restart\",\"requeue\":0",
	  "--on-task-failure=restart runs it again, --no-requeue never does: "
	  "give only one" },
	{ "a failure that nobody knows", ",\"on_task_failure\":\"retry\"",
	  "on_task_failure: 'retry': use end, restart or replace" },
	{ "bad ports", ",\"ports\":\"web=0\"", "ports: bad port *" },
	{ "ports of an array", ",\"ports\":\"web=80\",\"array\":\"1-2\"",
	  "--port and --array: give only one; *" },
	{ "a bad array", ",\"array\":\"5-1\"", "array: *" },
	{ "a bad host list", ",\"nodelist\":\"n[1-\"", "nodelist: *" },
	{ "a bad constraint", ",\"constraint\":\"a&\"", "constraint: *" },
	{ "a bad licence", ",\"licenses\":\"a:0\"",
	  "licenses: bad licences 'a:0': use name[:count],..." },
	{ "a comma too many", ",\"licenses\":\"a,\"",
	  "licenses: bad licences 'a,': use name[:count],..." },
	{ "an unknown dependency", ",\"dependency\":\"later:1\"",
	  "dependency: bad dependency 'later:1'*" },
	{ "a dependency on nothing", ",\"dependency\":\"afterok\"",
	  "dependency: bad dependency 'afterok'*" },
	{ "a dependency on job 0", ",\"dependency\":\"afterok:0\"",
	  "dependency: bad dependency 'afterok:0'*" },
	{ "a singleton of a job", ",\"dependency\":\"singleton:1\"",
	  "dependency: bad dependency 'singleton:1'*" },
	{ "a delay of the wrong kind", ",\"dependency\":\"afterok:1+5\"",
	  "dependency: bad dependency 'afterok:1+5'*" },
	{ "all and any", ",\"dependency\":\"after:1,after:2?after:3\"",
	  "dependency: bad dependency *: use ',' (all) or '?'*" },
	{ "arguments that are none", ",\"args\":\"[1]\"",
	  "args: not a JSON array of texts" },
	{ "control characters", ",\"comment\":\"a\\nb\"",
	  "comment: 'a?b' has control characters" },
	{ "control characters of two bytes", ",\"comment\":\"a\\u009bb\"",
	  "comment: 'a?b' has control characters" },
	{ "the first control character of two bytes", ",\"name\":\"\\u0080\"",
	  "name: '?' has control characters" },
	{ "characters that are no control characters",
	  ",\"comment\":\"\\u00a0\\u00e9\\u0142\\u4e2d\"",
	  "1/1 0 0 1000 100 0" },
	{ "an alignment that there is not", ",\"numa\":\"loose\"",
	  "numa: bad alignment 'loose': use strict, tight or prefer" },
	{ "links that there are not", ",\"links\":\"loose\"",
	  "links: bad links 'loose': use strict, prefer or any" },
	{ "limits that there are not", ",\"rlimits\":\"FILES=1:1\"",
	  "rlimits: bad limits 'FILES=1:1': use NOFILE=SOFT:HARD,..." },
	{ "more counted nodes than tasks",
	  ",\"tasks\":3,\"constraint\":\"ib&ssd*4\"",
	  "constraint 'ib&ssd*4' asks for 4 nodes, but the job has at most 3" },
	{ "more counted nodes than nodes",
	  ",\"tasks\":9,\"nodes\":2,\"constraint\":\"ssd*3\"",
	  "constraint 'ssd*3' asks for 3 nodes, but the job has at most 2" },
	{ "as many counted nodes as tasks",
	  ",\"tasks\":2,\"constraint\":\"[a*1&b*2]\"", "2/2 0 0 1000 100 0" },
	{ "spread over two levels", ",\"spread\":\"zone,rack\"",
	  "spread: bad spread 'zone,rack': use LEVEL or LEVEL:preferred" },
	{ "spread over a preference", ",\"spread\":\":preferred\"",
	  "spread: bad spread ':preferred': use *" },
	{ "spread in one domain", RACK ",\"tasks\":4,\"spread\":\"rack\"",
	  "--spread and --topology: give only one" },
	{ "spread, but elastic",
	  ",\"tasks\":4,\"min_tasks\":2,\"spread\":\"rack\"",
	  "--spread and --min-tasks: give only one; *" },
	{ "spread, with tasks replaced",
	  ",\"tasks\":4,\"spread\":\"rack\",\"on_task_failure\":\"replace\"",
	  "--spread: --on-task-failure=replace may *" },
	{ "spread, with nodes counted",
	  ",\"tasks\":4,\"spread\":\"rack\",\"constraint\":\"[a*1&b*2]\"",
	  "--spread: constraint * counts nodes; *" },
	{ "nodes that are not alike spread",
	  ",\"tasks\":7,\"nodes\":2,\"spread\":\"rack\"",
	  "--spread: 7 tasks do not divide evenly among 2 nodes; *" },
	{ "nodes spread over racks",
	  ",\"tasks\":8,\"nodes\":2,\"spread\":\"rack:preferred\"",
	  "8/8 2 4 1000 100 0" },
	{ "nodes spread over nodes",
	  ",\"tasks\":7,\"nodes\":2,\"spread\":\"node\"",
	  "7/7 2 0 1000 100 0" },
	{ "near jobs and tasks", ",\"near\":\"5,6_2:rack\"",
	  "1/1 0 0 1000 100 0" },
	{ "near no job", ",\"near\":\":rack\"",
	  "near: ':rack': use JOB[,JOB]...[:LEVEL]" },
	{ "near a list that ends in a comma", ",\"near\":\"5,\"",
	  "near: '': use JOB[,JOB]...[:LEVEL]" },
	{ "apart from several tasks", ",\"apart\":\"5_[1-2]\"",
	  "apart: '5_[1-2]': name one task, or the whole array" },
	{ "apart with two levels", ",\"apart\":\"5:rack:zone\"",
	  "apart: bad topology level 'rack:zone'" },
	{ "two levels at once", ",\"topology\":\"zone,rack\"",
	  "topology: bad topology 'zone,rack': use *" },
};

START_TEST(resolve_case)
{
	struct arena *arena = arena_new();
	char *json = xasprintf(JOB("%s"), resolved[_i].json);
	struct spec *spec;
	struct request req;
	char got[sizeof(((struct err *)0)->text)];
	struct err err;

	spec = from_text(arena, json, &err);
	ck_assert_msg(spec, "%s: %s", resolved[_i].name, err.text);
	if (spec_resolve(spec, 100, &req, &err) < 0) {
		snprintf(got, sizeof(got), "%s", err.text);
		ck_assert_int_eq(err.code, EINVAL);
	} else {
		snprintf(got, sizeof(got), "%u/%u %u %u %lld %lld %lld",
		         req.tasks, req.min_tasks, req.nodes,
		         req.tasks_per_node, (long long)req.cpus_milli,
		         (long long)req.mem_mib, (long long)req.gpus_milli);
	}
	ck_assert_msg(glob_match(resolved[_i].want, got), "%s: got %s",
	              resolved[_i].name, got);
	free(json);
	arena_free(arena);
}
END_TEST

/* want: tasks of a segment, nodes, tasks on each node; or the error. */
static const struct {
	const char *json, *want;
} segments[] = {
	{ RACK ",\"tasks\":8,\"segment\":4", "4 0 0" },
	{ RACK ",\"nodes\":8,\"segment\":4", "4 8 1" },
	{ RACK ",\"nodes\":8,\"tasks\":16,\"segment\":4", "8 8 2" },
	{ RACK ",\"nodes\":8,\"tasks_per_node\":3,\"segment\":2", "6 8 3" },
	{ RACK ",\"tasks\":8,\"tasks_per_node\":2,\"segment\":2", "4 4 2" },
	{ RACK ",\"tasks\":3,\"tasks_per_node\":8,\"segment\":1", "3 1 3" },
	{ RACK ",\"tasks\":4,\"segment\":4", "4 0 0" },
	{ RACK ",\"tasks\":6,\"segment\":4",
	  "--segment 4 does not divide the 6 tasks of the job" },
	{ RACK ",\"nodes\":6,\"segment\":4",
	  "--segment 4 does not divide the 6 nodes of the job" },
	{ RACK ",\"nodes\":4,\"tasks\":6,\"segment\":2",
	  "--segment: 6 tasks do not divide evenly among the nodes*" },
	{ RACK ",\"tasks\":6,\"tasks_per_node\":4,\"segment\":1",
	  "--segment: 6 tasks do not divide evenly among the nodes*" },
	{ RACK ",\"nodes\":2,\"tasks\":4,\"tasks_per_node\":4,\"segment\":1",
	  "2 2 2" },
	{ ",\"tasks\":4,\"segment\":2", "--segment: give one level *" },
	{ ",\"topology\":\"rack:preferred\",\"tasks\":4,\"segment\":2",
	  "--segment: give one level *" },
	{ ",\"topology\":\"zone,rack:preferred\",\"tasks\":4,\"segment\":2",
	  "--segment: give one level *" },
	{ RACK ",\"tasks\":4,\"min_tasks\":2,\"segment\":2",
	  "--segment and --min-tasks: give only one; *" },
	{ RACK ",\"tasks\":4,\"segment\":2,\"on_task_failure\":\"replace\"",
	  "--segment: --on-task-failure=replace may *" },
	{ RACK ",\"tasks\":4,\"segment\":2,\"constraint\":\"[a*1&b*2]\"",
	  "--segment: constraint * counts nodes, *" },
	{ RACK ",\"tasks\":4,\"segment\":0",
	  "field 'segment': 0 is not from 1 *" },
};

/* The disk of each task, and what the job must ask for on each node so that
 * each task gets that. */
static const struct {
	const char *json, *want;
} disks[] = {
	{ "", "0 0" },
	{ ",\"tmp\":0", "0 0" },
	{ ",\"tmp\":7", "7 7" },
	{ ",\"tmp\":7,\"tasks\":2", "4 8" },
	{ ",\"tmp\":8,\"tasks\":5,\"nodes\":2", "3 9" },
	{ ",\"tmp\":8,\"tasks\":6,\"tasks_per_node\":2", "4 8" },
	{ ",\"tmp\":-1", "field 'tmp': -1 is not from 0 *" },
};

START_TEST(disk_case)
{
	struct arena *arena = arena_new();
	char *json = xasprintf(JOB("%s"), disks[_i].json);
	struct spec *spec;
	struct request req;
	char got[sizeof(((struct err *)0)->text)];
	struct err err;

	spec = from_text(arena, json, &err);
	if (!spec || spec_resolve(spec, 100, &req, &err) < 0)
		snprintf(got, sizeof(got), "%s", err.text);
	else
		snprintf(got, sizeof(got), "%lld %lld", (long long)req.tmp_mib,
		         (long long)spec_tmp_of_node(spec, req.tmp_mib));
	ck_assert_msg(glob_match(disks[_i].want, got), "%s: got %s", json, got);
	free(json);
	arena_free(arena);
}
END_TEST

START_TEST(segment_case)
{
	struct arena *arena = arena_new();
	char *json = xasprintf(JOB("%s"), segments[_i].json);
	struct spec *spec;
	struct request req;
	char got[sizeof(((struct err *)0)->text)];
	struct err err;

	spec = from_text(arena, json, &err);
	if (!spec || spec_resolve(spec, 100, &req, &err) < 0)
		snprintf(got, sizeof(got), "%s", err.text);
	else
		snprintf(got, sizeof(got), "%u %u %u", req.segment, req.nodes,
		         req.tasks_per_node);
	ck_assert_msg(glob_match(segments[_i].want, got), "%s: got %s", json,
	              got);
	free(json);
	arena_free(arena);
}
END_TEST

static const struct {
	const char *json;
	uint32_t least, whole;
} losses[] = {
	{ ",\"tasks\":4", 0, 0 },
	{ ",\"tasks\":4,\"on_task_failure\":\"restart\"", 0, 0 },
	{ ",\"tasks\":4,\"on_task_failure\":\"replace\"", 1, 4 },
	{ ",\"tasks_per_node\":3,\"on_task_failure\":\"replace\"", 1, 3 },
	{ ",\"tasks\":4,\"min_tasks\":2", 2, 0 },
	{ ",\"tasks\":4,\"min_tasks\":2,\"on_task_failure\":\"replace\"", 1,
	  2 },
	{ ",\"on_task_failure\":\"replace\"", 0, 0 },
	{ ",\"nodes\":4,\"on_task_failure\":\"replace\"", 1, 4 },
	{ ",\"nodes\":4,\"constraint\":\"[a*1&b*3]\","
	  "\"on_task_failure\":\"replace\"",
	  1, 4 },
	{ ",\"tasks\":4,\"launch_script\":1,\"on_task_failure\":\"replace\"", 0,
	  0 },
};

/* Whether a job goes on when tasks are lost with their node. */
START_TEST(loss_case)
{
	struct arena *arena = arena_new();
	char *json = xasprintf(JOB("%s"), losses[_i].json);
	struct spec_loss loss;
	struct spec *spec;
	struct err err;

	spec = from_text(arena, json, &err);
	ck_assert_msg(spec != NULL, "%s", err.text);
	loss = spec_loss(spec);
	ck_assert_msg(loss.least == losses[_i].least &&
	                  loss.whole == losses[_i].whole,
	              "%s: %u of %u", json, loss.least, loss.whole);
	free(json);
	arena_free(arena);
}
END_TEST

START_TEST(workdir_is_absolute)
{
	struct arena *arena = arena_new();
	struct request req;
	struct err err;
	struct spec *spec = from_text(arena, JOB(""), &err);

	spec->workdir = "w";
	ck_assert_int_lt(spec_resolve(spec, 0, &req, &err), 0);
	ck_assert_str_eq(err.text, "workdir: 'w' is not an absolute path");
	spec->workdir = "/w";
	spec->name = "\xff";
	ck_assert_int_lt(spec_resolve(spec, 0, &req, &err), 0);
	ck_assert_str_eq(err.text, "name: '?' is not UTF-8");
	arena_free(arena);
}
END_TEST

/* Fields that changed from one version of a request to the next are taken,
 * others are not. */
START_TEST(marks_tell_what_changed)
{
	struct buf was = { 0 }, is = { 0 };
	struct spec first, second, job;

	spec_init(&first);
	first.name = "train";
	first.queue = "a";
	first.constraint = "x";
	first.cpus = 1000;
	first.nice = 1;
	spec_marks(&first, &was);
	second = first;
	second.queue = "b";
	second.constraint = NULL;
	second.nice = SPEC_UNSET;
	second.mem = 10;
	spec_marks(&second, &is);
	spec_init(&job);
	job.name = "renamed";
	job.queue = "c";
	job.constraint = "z";
	job.cpus = 2000;
	job.nice = 3;
	spec_take_marked(&job, &second, was.data, is.data);
	ck_assert_str_eq(job.name, "renamed");
	ck_assert_str_eq(job.queue, "b");
	ck_assert_ptr_null(job.constraint);
	ck_assert_int_eq(job.cpus, 2000);
	ck_assert_int_eq(job.nice, SPEC_UNSET);
	ck_assert_int_eq(job.mem, 10);
	/* without marks, all that is given counts as changed */
	spec_take_marked(&job, &first, "", was.data);
	ck_assert_str_eq(job.name, "train");
	ck_assert_int_eq(job.cpus, 1000);
	ck_assert_int_eq(job.mem, 10);
	buf_free(&was);
	buf_free(&is);
}
END_TEST

/* The marks of all fields together fit into one text field of a request. */
START_TEST(marks_are_a_text_of_a_request)
{
	struct buf all = { 0 };
	struct spec spec;

	for (size_t i = 0; i < spec_nfields; i++)
		if (spec_fields[i].is_text)
			*spec_text(&spec, &spec_fields[i]) = "x";
		else
			*spec_int(&spec, &spec_fields[i]) = 1;
	spec_marks(&spec, &all);
	ck_assert_uint_lt(all.len, LIMIT_TEXT);
	buf_free(&all);
}
END_TEST

SUITE(spec)
{
	tcase_add_test(tc, marks_tell_what_changed);
	tcase_add_test(tc, marks_are_a_text_of_a_request);
	tcase_add_test(tc, every_field_has_a_range);
	tcase_add_test(tc, round_trip);
	tcase_add_test(tc, nothing_given_is_nothing_sent);
	tcase_add_loop_test(tc, refused_json, 0, ARRAY_SIZE(refused));
	tcase_add_test(tc, text_limit);
	tcase_add_loop_test(tc, resolve_case, 0, ARRAY_SIZE(resolved));
	tcase_add_loop_test(tc, disk_case, 0, ARRAY_SIZE(disks));
	tcase_add_loop_test(tc, segment_case, 0, ARRAY_SIZE(segments));
	tcase_add_loop_test(tc, loss_case, 0, ARRAY_SIZE(losses));
	tcase_add_test(tc, workdir_is_absolute);
}
