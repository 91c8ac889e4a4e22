/* squeue_steps.c - rows and columns of running steps */
#include "slurm/squeue_steps.h"

#include <stdint.h>
#include <string.h>

#include "libcommon/buf.h"
#include "libcommon/names.h"
#include "libcommon/parse.h"
#include "slurm/fields.h"
#include "slurm/job.h"
#include "slurm/rows.h"

const char squeue_step_needs[] =
    "job_id display_id array_job_id array_task_id allocation state queue user "
    "uid nodelist start_time end_time elapsed alloc_cpus";

/* --- rows ----------------------------------------------------------------- */

static bool is_wanted(const json_t *wanted, const char *job, const char *step)
{
	const json_t *item;
	size_t i;

	json_array_foreach(wanted, i, item)
		if (!strcmp(json_string_value(item), job) ||
		    !strcmp(json_string_value(item), step))
			return true;
	return !json_array_size(wanted);
}

/* Add the row if it is wanted. part: what follows the dot of its id. */
static void add(json_t *rows, json_t *row, const char *part,
                const json_t *wanted)
{
	const char *job = row_text(row, "display_id");
	struct buf id = { 0 };

	buf_printf(&id, "%s.%s", job, part);
	if (is_wanted(wanted, job, id.data)) {
		json_object_set_new(row, "display_id", json_string(id.data));
		json_array_append(rows, row);
	}
	buf_free(&id);
}

/* Add the job's script, which is listed behind the job's steps and, as in
 * Slurm, without CPUs. */
static void add_batch(json_t *rows, json_t *job, const json_t *wanted)
{
	json_t *row = json_copy(job);

	json_object_del(row, "steps");
	json_object_set_new(row, "step", json_integer(INT32_MAX));
	json_object_set_new(row, "step_name", json_string("batch"));
	json_object_set_new(row, "step_tasks", json_integer(1));
	json_object_set_new(row, "alloc_cpus", json_integer(0));
	add(rows, row, "batch", wanted);
	json_decref(row);
}

json_t *squeue_steps(json_t *jobs, const json_t *wanted)
{
	json_t *ret = json_array(), *job, *step;
	size_t i, k;

	json_array_foreach(jobs, i, job) {
		json_array_foreach(json_object_get(job, "steps"), k, step) {
			char part[24];

			snprintf(part, sizeof(part), "%lld",
			         (long long)row_int(step, "step"));
			if (!strcmp(row_text(step, "state"), "RUNNING"))
				add(ret, step, part, wanted);
		}
		if (json_object_get(job, "steps") && !job_is_over(job) &&
		    !job_is_pending(job) &&
		    row_int(job, "allocation") == ROW_NONE)
			add_batch(ret, job, wanted);
	}
	return ret;
}

/* --- columns -------------------------------------------------------------- */

VALUE(v_number)
{
	int64_t n = row_int(row, field->needs);

	UNUSED;
	if (n != ROW_NONE)
		buf_i64(out, n);
}

VALUE(v_id)
{
	UNUSED;
	buf_puts(out, row_text(row, "display_id"));
}

/* Print the array's id; 0 if the job is in no array. */
VALUE(v_array)
{
	int64_t array = row_int(row, "array_job_id");

	UNUSED;
	buf_i64(out, row_int(row, "array_task_id") == ROW_NONE ? 0 : array);
}

VALUE(v_used)
{
	UNUSED;
	format_duration(out, row_int(row, "elapsed"));
}

VALUE(v_start)
{
	UNUSED;
	put_moment(row_int(row, "start_time"), out);
}

VALUE(v_cpus)
{
	UNUSED;
	buf_i64(out, job_cpus(row));
}

/* Columns of Slurm for which aisched has no values. */
#define NONE(letter, name, header)                                       \
	{                                                                \
		letter, name, header, "", v_none, "(null)", OF_SQUEUE, 0 \
	}

/* clang-format off */
const struct slurm_field squeue_step_fields[] = {
	{ 'A', "NumTasks", "TASKS", "step_tasks", v_number, NULL, OF_SQUEUE, 0 },
	NONE('b', "tres-per-node", "TRES_PER_JOB"),
	{ 'i', "StepID", "STEPID", "array_job_id job_id array_task_id step", v_id, NULL, OF_SQUEUE, 0 },
	{ 'j', "StepName", "NAME", "step_name", v_text, NULL, OF_SQUEUE, 0 },
	{ 'l', "TimeLimit", "TIME_LIMIT", "", v_none, "UNLIMITED", OF_SQUEUE | FIELD_WHOLE, 0 },
	{ 'M', "TimeUsed", "TIME", "elapsed", v_used, NULL, OF_SQUEUE | FIELD_WHOLE, 0 },
	{ 'N', "Nodes", "NODELIST", "nodelist", v_text, "", OF_SQUEUE, 0 },
	{ 'P', "Partition", "PARTITION", "queue", v_text, NULL, OF_SQUEUE, 0 },
	{ 'S', "StartTime", "START_TIME", "start_time", v_start, "N/A", OF_SQUEUE, 0 },
	{ 'T', "StepState", "STATE", "state", v_text, NULL, OF_SQUEUE, 0 },
	{ 'u', "UserName", "USER", "user", v_text, NULL, OF_SQUEUE, 0 },
	{ 'U', "UserID", "UID", "uid", v_number, NULL, OF_SQUEUE, 0 },
	{ 0, "ArrayJobID", "ARRAY_JOB_ID", "", v_array, NULL, OF_SQUEUE, 0 },
	{ 0, "ArrayTaskID", "ARRAY_TASK_ID", "array_task_id", v_number, "N/A", OF_SQUEUE, 0 },
	NONE(0, "Container", "CONTAINER"),
	NONE(0, "cpus-per-tres", "CPUS_PER_TRES"),
	{ 0, "JobID", "JOB_ID", "job_id", v_number, NULL, OF_SQUEUE, 0 },
	NONE(0, "mem-per-tres", "MEM_PER_TRES"),
	NONE(0, "Network", "NETWORK"),
	{ 0, "NumCPUs", "NUM_CPUS", "", v_cpus, NULL, OF_SQUEUE, 0 },
	{ 0, "NumTask", "TASKS", "step_tasks", v_number, NULL, OF_SQUEUE, 0 },
	NONE(0, "ResvPorts", "RESERVED_PORTS"),
	NONE(0, "tres-bind", "TRES_BIND"),
	NONE(0, "tres-freq", "TRES_FREQ"),
	NONE(0, "tres-per-job", "TRES_PER_STEP"),
	NONE(0, "tres-per-step", "TRES_PER_STEP"),
	NONE(0, "tres-per-task", "TRES_PER_TASK"),
	{ 0, NULL, NULL, NULL, NULL, NULL, 0, 0 },
};
/* clang-format on */
