/* fields.c - what Slurm says of a job, made from rows of `jobs` */
#include "slurm/fields.h"

#include <grp.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "libcommon/names.h"
#include "libcommon/parse.h"
#include "slurm/rows.h"

/* --- parts ---------------------------------------------------------------- */

static int state_of(const json_t *row)
{
	return job_state_parse(row_text(row, "state"));
}

bool job_is_pending(const json_t *row)
{
	return state_of(row) == JOB_PENDING;
}

bool job_is_over(const json_t *row)
{
	int state = state_of(row);

	return state >= 0 && job_state_is_final((enum job_state)state);
}

bool job_shows_reason(const json_t *row)
{
	static const bool shows[JOB_NSTATES] = {
		[JOB_PENDING] = true,       [JOB_FAILED] = true,
		[JOB_TIMEOUT] = true,       [JOB_DEADLINE] = true,
		[JOB_OUT_OF_MEMORY] = true,
	};
	int state = state_of(row);

	return state >= 0 && shows[state];
}

const char *job_reason(const json_t *row)
{
	const char *reason = row_text(row, "reason");

	return !*reason || !strcmp(reason, "Unevaluated") ? "None" : reason;
}

int64_t job_start(const json_t *row)
{
	int64_t start = row_int(row, "start_time");

	return start == ROW_NONE ? row_int(row, "expected_start") : start;
}

int64_t job_end(const json_t *row)
{
	int64_t limit = row_int(row, "time_limit"), start = job_start(row);

	if (job_is_over(row))
		return row_int(row, "end_time");
	return limit == ROW_NONE || start == ROW_NONE ? ROW_NONE
	                                              : start + limit;
}

static int64_t tasks_of(const json_t *row)
{
	int64_t tasks = row_int(row, "tasks");

	return tasks < 1 ? 1 : tasks;
}

int64_t job_cpus(const json_t *row)
{
	return (int64_t)ceil(row_real(row, "cpus") * (double)tasks_of(row) -
	                     1e-9);
}

int64_t job_mem_mib(const json_t *row)
{
	int64_t mib = row_int(row, "mem_mib");

	return mib == ROW_NONE ? 0 : mib * tasks_of(row);
}

void put_mib(int64_t mib, const struct style *style, struct buf *out)
{
	const char *unit = "MGTP";

	while (!style->no_convert && mib && mib % 1024 == 0 && unit[1]) {
		mib /= 1024;
		unit++;
	}
	buf_i64(out, mib);
	buf_addc(out, *unit);
}

void put_job_memory(const json_t *row, const struct style *style,
                    struct buf *out)
{
	int64_t of_node = row_int(row, "mem_per_node");
	int64_t of_cpu = row_int(row, "mem_per_cpu");
	int64_t nodes = row_int(row, "num_nodes"), tasks = tasks_of(row);

	if (of_cpu != ROW_NONE) {
		put_mib(of_cpu, style, out);
		buf_addc(out, 'c');
		return;
	}
	if (nodes < 1)
		nodes = 1;
	if (of_node == ROW_NONE)
		of_node =
		    job_mem_mib(row) / tasks * ((tasks + nodes - 1) / nodes);
	put_mib(of_node, style, out);
}

void put_job_tres(const json_t *row, const struct style *style, struct buf *out)
{
	int64_t cpus = job_cpus(row), nodes = row_int(row, "num_nodes");
	double gpus = row_real(row, "gpus") * (double)tasks_of(row);

	buf_printf(out, "cpu=%lld,mem=", (long long)cpus);
	put_mib(job_mem_mib(row), style, out);
	buf_printf(out, ",node=%lld,billing=%lld",
	           (long long)(nodes < 1 ? 1 : nodes), (long long)cpus);
	if (gpus > 0)
		buf_printf(out, ",gres/gpu=%lld", (long long)ceil(gpus));
}

void put_group(int64_t gid, struct buf *out)
{
	const struct group *group = gid < 0 ? NULL : getgrgid((gid_t)gid);

	if (group)
		buf_puts(out, group->gr_name);
	else if (gid >= 0)
		buf_i64(out, gid);
}

void put_clock(int64_t seconds, struct buf *out)
{
	if (seconds >= 24 * 60 * 60)
		buf_printf(out, "%lld-", (long long)(seconds / (24 * 60 * 60)));
	buf_printf(out, "%02d:%02d:%02d", (int)(seconds / 3600 % 24),
	           (int)(seconds / 60 % 60), (int)(seconds % 60));
}

void put_moment(int64_t t, struct buf *out)
{
	const char *format = getenv("SLURM_TIME_FORMAT");
	time_t value = (time_t)t;
	char text[256];
	struct tm tm;

	if (t == ROW_NONE)
		return;
	if (!format || !strcmp(format, "standard") || *format != '%') {
		format_time(out, t);
		return;
	}
	localtime_r(&value, &tm);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	/* The user's own format, for the user's own terminal. */
	if (strftime(text, sizeof(text), format, &tm))
		buf_puts(out, text);
#pragma GCC diagnostic pop
}

/* --- values --------------------------------------------------------------- */

#define VALUE(name)                                                          \
	static void name(const json_t *row, const struct slurm_field *field, \
	                 const struct style *style, struct buf *out)
#define UNUSED (void)row, (void)field, (void)style, (void)out

/* The first field of the row that it needs, as it is. */
VALUE(v_as_is)
{
	size_t len = strcspn(field->needs, " ");
	char key[32];
	const json_t *value;

	UNUSED;
	snprintf(key, sizeof(key), "%.*s", (int)len, field->needs);
	value = json_object_get(row, key);
	if (json_is_integer(value))
		buf_i64(out, json_integer_value(value));
	else
		buf_puts(out, row_text(row, key));
}

/* Always the same: what `none` says. */
VALUE(v_none)
{
	UNUSED;
}

VALUE(v_moment)
{
	UNUSED;
	put_moment(row_int(row, field->needs), out);
}

VALUE(v_start)
{
	UNUSED;
	put_moment(job_start(row), out);
}

VALUE(v_end)
{
	UNUSED;
	put_moment(job_end(row), out);
}

VALUE(v_time_left)
{
	int64_t left = row_int(row, "time_left");

	UNUSED;
	if (row_int(row, "time_limit") == ROW_NONE)
		buf_puts(out, "UNLIMITED");
	else if (left != ROW_NONE)
		format_duration(out, left);
}

VALUE(v_array_job)
{
	int64_t array = row_int(row, "array_job_id");

	UNUSED;
	buf_i64(out, array == ROW_NONE ? row_int(row, "job_id") : array);
}

VALUE(v_array_task)
{
	int64_t task = row_int(row, "array_task_id");

	UNUSED;
	if (task == ROW_NONE)
		buf_puts(out, row_text(row, "array_tasks"));
	else
		buf_i64(out, task);
}

VALUE(v_reason)
{
	UNUSED;
	buf_puts(out, job_reason(row));
}

VALUE(v_where)
{
	UNUSED;
	if (job_shows_reason(row))
		buf_printf(out, "(%s)", job_reason(row));
	else
		buf_puts(out, row_text(row, "nodelist"));
}

VALUE(v_cpus)
{
	UNUSED;
	buf_i64(out, job_cpus(row));
}

/* The least CPUs of a node: those of one task. */
VALUE(v_min_cpus)
{
	UNUSED;
	buf_i64(out, (int64_t)ceil(row_real(row, "cpus") - 1e-9));
}

VALUE(v_memory)
{
	UNUSED;
	put_job_memory(row, style, out);
}

VALUE(v_tres)
{
	UNUSED;
	put_job_tres(row, style, out);
}

static void put_gpus(const json_t *row, const char *key, struct buf *out)
{
	const char *type = row_text(row, "gpu_type");
	int64_t gpus = row_int(row, key);

	if (gpus != ROW_NONE)
		buf_printf(out, "gres:gpu%s%s:%lld", *type ? ":" : "", type,
		           (long long)gpus);
}

VALUE(v_node_gpus)
{
	UNUSED;
	put_gpus(row, "gpus_per_node", out);
}

VALUE(v_job_gpus)
{
	UNUSED;
	put_gpus(row, "gpus_per_job", out);
}

VALUE(v_fraction)
{
	UNUSED;
	buf_printf(out, "%.14f",
	           (double)row_int(row, "priority") / (double)UINT32_MAX);
}

/* Each of them with "(unfulfilled)" while the job waits for it. */
VALUE(v_dependency)
{
	const char *s = row_text(row, "dependency");

	UNUSED;
	for (; *s; s += *s != '\0') {
		size_t len = strcspn(s, ",?");

		buf_add(out, s, len);
		if (job_is_pending(row))
			buf_puts(out, "(unfulfilled)");
		s += len;
		if (*s)
			buf_addc(out, *s);
	}
}

VALUE(v_group)
{
	UNUSED;
	put_group(row_int(row, "gid"), out);
}

VALUE(v_oversubscribe)
{
	UNUSED;
	buf_puts(out, row_int(row, "exclusive") == 1 ? "NO" : "OK");
}

VALUE(v_error)
{
	const char *error = row_text(row, "error");

	UNUSED;
	buf_puts(out, *error ? error : row_text(row, "output"));
}

VALUE(v_input)
{
	const char *input = row_text(row, "input");

	UNUSED;
	buf_puts(out, *input ? input : "/dev/null");
}

#define TIMES  "start_time expected_start end_time time_limit state"
#define MEMORY "mem_per_node mem_per_cpu mem_mib tasks num_nodes"

/* clang-format off */
const struct slurm_field job_fields[] = {
	{ 'a', "Account", "ACCOUNT", "account", v_as_is, "(null)" },
	{ 'A', "JobID", "JOBID", "job_id", v_as_is, NULL },
	{ 'b', "tres-per-node", "TRES_PER_NODE", "gpus_per_node gpu_type", v_node_gpus, "N/A" },
	{ 'B', "BatchHost", "EXEC_HOST", "batch_host", v_as_is, "n/a" },
	{ 'c', "MinCpus", "MIN_CPUS", "cpus", v_min_cpus, NULL },
	{ 'C', "NumCPUs", "CPUS", "cpus tasks", v_cpus, NULL },
	{ 'd', "MinTmpDisk", "MIN_TMP_DISK", "", v_none, "0" },
	{ 'D', "NumNodes", "NODES", "num_nodes", v_as_is, NULL },
	{ 'e', "EndTime", "END_TIME", TIMES, v_end, "N/A" },
	{ 'E', "Dependency", "DEPENDENCY", "dependency state", v_dependency, "(null)" },
	{ 'f', "Feature", "FEATURES", "constraint", v_as_is, "(null)" },
	{ 'F', "ArrayJobID", "ARRAY_JOB_ID", "array_job_id job_id", v_array_job, NULL },
	{ 'g', "GroupName", "GROUP", "gid", v_group, NULL },
	{ 'G', "GroupID", "GROUP", "gid", v_as_is, NULL },
	{ 'h', "OverSubscribe", "OVER_SUBSCRIBE", "exclusive", v_oversubscribe, NULL },
	{ 'H', "SocketsPerNode", "SOCKETS_PER_NODE", "", v_none, "*" },
	{ 'i', "JobArrayID", "JOBID", "display_id array_job_id job_id array_task_id", v_as_is, NULL },
	{ 'I', "CoresPerSocket", "CORES_PER_SOCKET", "", v_none, "*" },
	{ 'j', "Name", "NAME", "name", v_as_is, NULL },
	{ 'J', "ThreadsPerCore", "THREADS_PER_CORE", "", v_none, "*" },
	{ 'k', "Comment", "COMMENT", "comment", v_as_is, "(null)" },
	{ 'K', "ArrayTaskID", "ARRAY_TASK_ID", "array_task_id array_tasks", v_array_task, "N/A" },
	{ 'l', "TimeLimit", "TIME_LIMIT", "limit time_limit", v_as_is, NULL },
	{ 'L', "TimeLeft", "TIME_LEFT", "time_left time_limit", v_time_left, "N/A" },
	{ 'm', "MinMemory", "MIN_MEMORY", MEMORY, v_memory, NULL },
	{ 'M', "TimeUsed", "TIME", "time elapsed", v_as_is, NULL },
	{ 'n', "ReqNodes", "REQ_NODES", "req_nodes", v_as_is, "" },
	{ 'N', "NodeList", "NODELIST", "nodelist", v_as_is, "" },
	{ 'o', "Command", "COMMAND", "command", v_as_is, "(null)" },
	{ 'O', "Contiguous", "CONTIGUOUS", "", v_none, "0" },
	{ 'p', "Priority", "PRIORITY", "priority", v_fraction, NULL },
	{ 'P', "Partition", "PARTITION", "queue", v_as_is, NULL },
	{ 'q', "QOS", "QOS", "class", v_as_is, "(null)" },
	{ 'Q', "PriorityLong", "PRIORITY", "priority", v_as_is, NULL },
	{ 'r', "Reason", "REASON", "reason", v_reason, NULL },
	{ 'R', "ReasonList", "NODELIST(REASON)", "state reason nodelist", v_where, "" },
	{ 's', "SelectJobInfo", "SELECT_JOBINFO", "", v_none, "" },
	{ 'S', "StartTime", "START_TIME", "start_time expected_start", v_start, "N/A" },
	{ 't', "StateCompact", "ST", "state_letter state", v_as_is, NULL },
	{ 'T', "State", "STATE", "state", v_as_is, NULL },
	{ 'u', "UserName", "USER", "user", v_as_is, NULL },
	{ 'U', "UserID", "UID", "uid", v_as_is, NULL },
	{ 'v', "ReservationName", "RESERVATION", "reservation", v_as_is, "(null)" },
	{ 'V', "SubmitTime", "SUBMIT_TIME", "submit_time", v_moment, "N/A" },
	{ 'w', "WCKey", "WCKEY", "", v_none, "(null)" },
	{ 'W', "Licenses", "LICENSES", "licenses", v_as_is, "(null)" },
	{ 'x', "ExcNodes", "EXC_NODES", "exclude", v_as_is, "" },
	{ 'X', "CoreSpec", "CORE_SPEC", "", v_none, "N/A" },
	{ 'y', "Nice", "NICE", "nice", v_as_is, "0" },
	{ 'Y', "SchedNodes", "SCHEDNODES", "", v_none, "(null)" },
	{ 'z', "SCT", "S:C:T", "", v_none, "*:*:*" },
	{ 'Z', "WorkDir", "WORK_DIR", "workdir", v_as_is, NULL },
	{ 0, "EligibleTime", "ELIGIBLE_TIME", "eligible_time", v_moment, "N/A" },
	{ 0, "NumTasks", "TASKS", "tasks", v_as_is, NULL },
	{ 0, "Requeue", "REQUEUE", "requeue", v_as_is, "1" },
	{ 0, "RestartCnt", "RESTART_COUNT", "restarts", v_as_is, NULL },
	{ 0, "STDERR", "STDERR", "error output", v_error, NULL },
	{ 0, "STDIN", "STDIN", "input", v_input, NULL },
	{ 0, "STDOUT", "STDOUT", "output", v_as_is, NULL },
	{ 0, "tres-alloc", "TRES_ALLOC", "cpus tasks mem_mib gpus num_nodes", v_tres, NULL },
	{ 0, "tres-per-job", "TRES_PER_JOB", "gpus_per_job gpu_type", v_job_gpus, "N/A" },
	{ 0, NULL, NULL, NULL, NULL, NULL },
};
/* clang-format on */
