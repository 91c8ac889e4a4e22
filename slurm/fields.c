/* fields.c - the columns of jobs, in squeue and sacct */
#include "slurm/fields.h"

#include <math.h>
#include <pwd.h>
#include <string.h>
#include <time.h>

#include "libcommon/parse.h"
#include "slurm/job.h"
#include "slurm/rows.h"

/* --- helpers -------------------------------------------------------------- */

static bool is_batch(const json_t *row)
{
	return json_object_get(row, "batch") != NULL;
}

/* Whether the row is a step. Rows of steps have the key "batch", too, because
 * most columns treat steps and scripts alike. */
static bool is_step(const json_t *row)
{
	return json_object_get(row, "step") != NULL;
}

static bool has_started(const json_t *row)
{
	return row_int(row, "start_time") != ROW_NONE;
}

static bool is_state(const json_t *row, const char *state)
{
	return !strcmp(row_text(row, "state"), state);
}

/* --- columns of squeue and sacct ------------------------------------------ */

/* Print the first key in `needs`, unchanged. */
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
	if (!is_batch(row))
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

/* Print the CPUs of one task, rounded up: the fewest that a node must have. */
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

VALUE(v_tmp)
{
	UNUSED;
	put_job_tmp(row, style, out);
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

VALUE(v_task_gpus)
{
	UNUSED;
	if (row_real(row, "gpus") > 0)
		put_gpus(row, "gpus", out);
}

VALUE(v_exit_code)
{
	int64_t code = row_int(row, "exit_code");

	UNUSED;
	buf_i64(out, code > 0 ? code : 0);
}

/* Print how many seconds the job was pending: from its submission until its
 * start or, if it never started, until its end; if it is pending, until now. */
VALUE(v_pending)
{
	int64_t until = row_int(row, "start_time");

	UNUSED;
	if (until == ROW_NONE)
		until = row_int(row, "end_time");
	if (until == ROW_NONE)
		until = time(NULL);
	buf_i64(out, until - row_int(row, "submit_time"));
}

VALUE(v_fraction)
{
	UNUSED;
	buf_printf(out, "%.14f",
	           (double)job_priority(row) / (double)UINT32_MAX);
}

VALUE(v_priority)
{
	UNUSED;
	buf_i64(out, job_priority(row));
}

VALUE(v_dependency)
{
	UNUSED;
	put_job_dependency(row, out);
}

VALUE(v_group)
{
	UNUSED;
	if (!is_batch(row))
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
	if (!is_batch(row))
		buf_puts(out, *error ? error : row_text(row, "output"));
}

VALUE(v_input)
{
	const char *input = row_text(row, "input");

	UNUSED;
	buf_puts(out, *input ? input : "/dev/null");
}

/* --- columns of sacct only ------------------------------------------------ */

/* Print the value for jobs, and nothing for their scripts and steps. */
VALUE(v_of_job)
{
	if (!is_batch(row))
		v_as_is(row, field, style, out);
}

VALUE(v_id)
{
	v_as_is(row, field, style, out);
	if (is_step(row))
		buf_printf(out, ".%lld", (long long)row_int(row, "step"));
	else if (is_batch(row))
		buf_puts(out, ".batch");
}

VALUE(v_name)
{
	UNUSED;
	buf_puts(out, is_step(row)    ? row_text(row, "step_name")
	              : is_batch(row) ? "batch"
	                              : row_text(row, "name"));
}

/* Returns the uid of the user who cancelled the job. If no user is recorded,
 * returns the owner's uid, or ROW_NONE if --kill-on-invalid-dep ended the
 * job. */
static int64_t canceller(const json_t *row)
{
	const json_t *acts = json_object_get(row, "acts"), *act;
	const char *user = NULL;
	const struct passwd *pw;
	size_t i;

	json_array_foreach(acts, i, act)
		if (!strcmp(row_text(act, "act"), "cancel"))
			user = row_text(act, "user");
	if (!user && !strcmp(row_text(row, "reason"), "Dependency"))
		return ROW_NONE;
	pw = getpwnam(user ? user : row_text(row, "user"));
	return pw ? (int64_t)pw->pw_uid : row_int(row, "uid");
}

VALUE(v_state)
{
	bool killed = is_state(row, "TIMEOUT") ||
	              (is_state(row, "FAILED") && row_int(row, "signal") > 0);

	UNUSED;
	if (is_batch(row) && !is_step(row) && killed)
		buf_puts(out, "CANCELLED");
	else
		buf_puts(out, row_text(row, "state"));
	if (is_state(row, "CANCELLED") && (!is_batch(row) || is_step(row)) &&
	    canceller(row) != ROW_NONE)
		buf_printf(out, " by %lld", (long long)canceller(row));
}

/* Print the exit code as "STATUS:SIGNAL". If the job was cancelled or timed
 * out, print 0:0 for the job and 0:15 for its script. */
VALUE(v_exit)
{
	int64_t code = row_int(row, "exit_code"),
		signal = row_int(row, "signal");
	bool ended = is_state(row, "CANCELLED") || is_state(row, "TIMEOUT");

	UNUSED;
	if (ended && !is_step(row))
		buf_puts(out, is_batch(row) ? "0:15" : "0:0");
	else
		buf_printf(out, "%lld:%lld",
		           signal > 0 || code < 0 ? 0 : (long long)code,
		           signal > 0 ? (long long)signal : 0);
}

/* Print the highest exit status of the job's steps. Signals do not count. */
VALUE(v_derived)
{
	UNUSED;
	if (!is_batch(row))
		buf_printf(out, "%lld:0", (long long)job_derived(row));
}

VALUE(v_job_priority)
{
	if (!is_batch(row))
		v_priority(row, field, style, out);
}

/* Print a time. As in Slurm, the submit time of a batch script is the start of
 * its job. */
VALUE(v_acct_moment)
{
	UNUSED;
	put_moment(row_int(row, is_batch(row) && *field->needs != 'e'
	                            ? "start_time"
	                            : field->needs),
	           out);
}

VALUE(v_acct_end)
{
	UNUSED;
	if (job_is_over(row))
		put_moment(row_int(row, "end_time"), out);
}

static int64_t elapsed(const json_t *row)
{
	int64_t seconds = row_int(row, "elapsed");

	return seconds < 0 ? 0 : seconds;
}

VALUE(v_elapsed)
{
	UNUSED;
	put_clock(elapsed(row), out);
}

VALUE(v_elapsed_raw)
{
	UNUSED;
	buf_i64(out, elapsed(row));
}

VALUE(v_limit)
{
	int64_t limit = row_int(row, "time_limit");

	UNUSED;
	if (is_batch(row))
		return;
	if (limit == ROW_NONE)
		buf_puts(out, "UNLIMITED");
	else
		put_clock(limit, out);
}

VALUE(v_limit_raw)
{
	int64_t limit = row_int(row, "time_limit");

	UNUSED;
	if (!is_batch(row) && limit != ROW_NONE)
		buf_i64(out, (limit + 59) / 60);
	else if (!is_batch(row))
		buf_puts(out, "UNLIMITED");
}

/* Print the number of tasks that the job is for. */
VALUE(v_job_tasks)
{
	UNUSED;
	buf_i64(out, job_tasks(row));
}

VALUE(v_alloc_nodes)
{
	UNUSED;
	buf_i64(out, has_started(row) ? row_int(row, "num_nodes") : 0);
}

/* Print the number of tasks: 1 for a script, the step's own for a step, nothing
 * for a job. */
VALUE(v_tasks)
{
	UNUSED;
	if (is_step(row))
		buf_i64(out, row_int(row, "step_tasks"));
	else if (is_batch(row))
		buf_addc(out, '1');
}

VALUE(v_req_mem)
{
	UNUSED;
	if (!is_batch(row))
		put_mib(job_mem_mib(row), style, out);
}

VALUE(v_peak)
{
	int64_t mib = row_int(row, "peak_mem_mib");

	UNUSED;
	if (is_step(row) && row_int(row, "peak_kib") > 0)
		put_kib(row_int(row, "peak_kib"), style, out);
	else if (is_batch(row) && mib != ROW_NONE)
		put_kib(mib * 1024, style, out);
}

/* Print CPU time as "[D-]HH:MM:SS", or as "MM:SS.mmm" below an hour. */
VALUE(v_total_cpu)
{
	double seconds = row_real(row, "cpu_seconds");
	int64_t ms = (int64_t)llround(seconds * 1000);

	UNUSED;
	if (ms >= 3600 * 1000)
		put_clock(ms / 1000, out);
	else
		buf_printf(out, "%02d:%02d.%03d", (int)(ms / 60000),
		           (int)(ms / 1000 % 60), (int)(ms % 1000));
}

VALUE(v_average_cpu)
{
	UNUSED;
	if (is_batch(row) && job_is_over(row))
		put_clock((int64_t)row_real(row, "cpu_seconds"), out);
}

VALUE(v_cpu_time)
{
	UNUSED;
	put_clock(elapsed(row) * job_cpus(row), out);
}

VALUE(v_cpu_time_raw)
{
	UNUSED;
	buf_i64(out, elapsed(row) * job_cpus(row));
}

static void put_tres(const json_t *row, const struct style *style,
                     struct buf *out)
{
	double gpus = row_real(row, "gpus") * row_real(row, "tasks");
	int64_t nodes = row_int(row, "num_nodes");

	if (!is_batch(row))
		buf_printf(out, "billing=%lld,", (long long)job_cpus(row));
	buf_printf(out, "cpu=%lld,", (long long)job_cpus(row));
	if (gpus > 0)
		buf_printf(out, "gres/gpu=%lld,", (long long)ceil(gpus));
	if (job_mem_mib(row)) {
		buf_puts(out, "mem=");
		put_mib(job_mem_mib(row), style, out);
		buf_addc(out, ',');
	}
	buf_printf(out, "node=%lld", (long long)(nodes < 1 ? 1 : nodes));
}

VALUE(v_alloc_tres)
{
	UNUSED;
	if (has_started(row))
		put_tres(row, style, out);
}

VALUE(v_req_tres)
{
	UNUSED;
	if (!is_batch(row))
		put_tres(row, style, out);
}

/* Returns how many seconds the job waited after it had become eligible to
 * start; -1: not known. */
static int64_t waited(const json_t *row)
{
	int64_t from = row_int(row, "eligible_time");
	int64_t to = row_int(row, "start_time");

	if (is_batch(row) || from == ROW_NONE)
		return -1;
	if (to == ROW_NONE)
		to = job_is_over(row) ? row_int(row, "end_time") : time(NULL);
	return to > from ? to - from : 0;
}

VALUE(v_reserved)
{
	UNUSED;
	if (waited(row) >= 0)
		put_clock(waited(row), out);
}

VALUE(v_reserved_cpu)
{
	int64_t seconds = waited(row) * job_cpus(row);

	UNUSED;
	if (waited(row) >= 0 && strlen(field->name) > strlen("ResvCPU"))
		buf_i64(out, seconds);
	else if (waited(row) >= 0)
		put_clock(seconds, out);
}

VALUE(v_peak_node)
{
	v_peak(row, field, style, out);
	if (out->len) {
		buf_clear(out);
		buf_puts(out, row_text(row, "nodelist"));
	}
}

/* Columns of Slurm for which aisched has no values; they are empty. */
#define EMPTY(name)                                           \
	{                                                     \
		0, name, name, "", v_none, NULL, OF_SACCT, 10 \
	}

#define TIMES  "start_time expected_start begin_time end_time time_limit state"
#define MEMORY "mem_per_node mem_per_cpu alloc_mem_mib tasks num_nodes"
#define TRES   "alloc_cpus alloc_mem_mib gpus tasks num_nodes"

/* Columns of squeue that have the same value for every job. */
#define SAME(name, header, value)                                \
	{                                                        \
		0, name, header, "", v_none, value, OF_SQUEUE, 0 \
	}

/* clang-format off */
const struct slurm_field job_fields[] = {
	{ 'a', "Account", "ACCOUNT", "account", v_as_is, "(null)", OF_SQUEUE, 0 },
	{ 'A', "JobID", "JOBID", "job_id", v_as_is, NULL, OF_SQUEUE, 0 },
	{ 'b', "tres-per-node", "TRES_PER_NODE", "gpus_per_node gpu_type", v_node_gpus, "N/A", OF_SQUEUE, 0 },
	{ 'B', "BatchHost", "EXEC_HOST", "batch_host", v_as_is, "n/a", OF_SQUEUE, 0 },
	{ 'c', "MinCpus", "MIN_CPUS", "cpus", v_min_cpus, NULL, OF_SQUEUE, 0 },
	{ 'C', "NumCPUs", "CPUS", "alloc_cpus", v_cpus, NULL, OF_SQUEUE, 0 },
	{ 'd', "MinTmpDisk", "MIN_TMP_DISK", "tmp_mib", v_tmp, NULL, OF_SQUEUE, 0 },
	{ 'D', "NumNodes", "NODES", "num_nodes", v_as_is, NULL, OF_SQUEUE, 0 },
	{ 'e', "EndTime", "END_TIME", TIMES, v_end, "N/A", OF_SQUEUE, 0 },
	{ 'E', "Dependency", "DEPENDENCY", "dependency dependency_never state", v_dependency, "(null)", OF_SQUEUE, 0 },
	{ 'f', "Feature", "FEATURES", "constraint", v_as_is, "(null)", OF_SQUEUE, 0 },
	{ 'F', "ArrayJobID", "ARRAY_JOB_ID", "array_job_id job_id", v_array_job, NULL, OF_SQUEUE, 0 },
	{ 'g', "GroupName", "GROUP", "gid", v_group, NULL, OF_SQUEUE, 0 },
	{ 'G', "GroupID", "GROUP", "gid", v_as_is, NULL, OF_SQUEUE, 0 },
	{ 'h', "OverSubscribe", "OVER_SUBSCRIBE", "exclusive", v_oversubscribe, NULL, OF_SQUEUE, 0 },
	{ 'H', "SocketsPerNode", "SOCKETS_PER_NODE", "", v_none, "*", OF_SQUEUE, 0 },
	{ 'i', "JobArrayID", "JOBID", "display_id array_job_id job_id array_task_id", v_as_is, NULL, OF_SQUEUE, 0 },
	{ 'I', "CoresPerSocket", "CORES_PER_SOCKET", "", v_none, "*", OF_SQUEUE, 0 },
	{ 'j', "Name", "NAME", "name", v_as_is, NULL, OF_SQUEUE, 0 },
	{ 'J', "ThreadsPerCore", "THREADS_PER_CORE", "", v_none, "*", OF_SQUEUE, 0 },
	{ 'k', "Comment", "COMMENT", "comment", v_as_is, "(null)", OF_SQUEUE, 0 },
	{ 'K', "ArrayTaskID", "ARRAY_TASK_ID", "array_task_id array_tasks", v_array_task, "N/A", OF_SQUEUE, 0 },
	{ 'l', "TimeLimit", "TIME_LIMIT", "limit time_limit", v_as_is, NULL, OF_SQUEUE | FIELD_WHOLE, 0 },
	{ 'L', "TimeLeft", "TIME_LEFT", "time_left time_limit", v_time_left, "N/A", OF_SQUEUE | FIELD_WHOLE, 0 },
	{ 'm', "MinMemory", "MIN_MEMORY", MEMORY, v_memory, NULL, OF_SQUEUE, 0 },
	{ 'M', "TimeUsed", "TIME", "time elapsed", v_as_is, NULL, OF_SQUEUE | FIELD_WHOLE, 0 },
	{ 'n', "ReqNodes", "REQ_NODES", "req_nodes", v_as_is, "", OF_SQUEUE, 0 },
	{ 'N', "NodeList", "NODELIST", "nodelist", v_as_is, "", OF_SQUEUE, 0 },
	{ 'o', "Command", "COMMAND", "command", v_as_is, "(null)", OF_SQUEUE, 0 },
	{ 'O', "Contiguous", "CONTIGUOUS", "", v_none, "0", OF_SQUEUE, 0 },
	{ 'p', "Priority", "PRIORITY", "priority reason", v_fraction, NULL, OF_SQUEUE, 0 },
	{ 'P', "Partition", "PARTITION", "queue", v_as_is, NULL, OF_SQUEUE, 0 },
	{ 'q', "QOS", "QOS", "class", v_as_is, "(null)", OF_SQUEUE, 0 },
	{ 'Q', "PriorityLong", "PRIORITY", "priority reason", v_priority, NULL, OF_SQUEUE, 0 },
	{ 'r', "Reason", "REASON", "reason", v_reason, NULL, OF_SQUEUE, 0 },
	{ 'R', "ReasonList", "NODELIST(REASON)", "state reason nodelist", v_where, "", OF_SQUEUE, 0 },
	{ 's', "SelectJobInfo", "", "", v_none, "", OF_SQUEUE, 0 },
	{ 'S', "StartTime", "START_TIME", "start_time expected_start begin_time state", v_start, "N/A", OF_SQUEUE, 0 },
	{ 't', "StateCompact", "ST", "state_letter state", v_as_is, NULL, OF_SQUEUE, 0 },
	{ 'T', "State", "STATE", "state", v_as_is, NULL, OF_SQUEUE, 0 },
	{ 'u', "UserName", "USER", "user", v_as_is, NULL, OF_SQUEUE, 0 },
	{ 'U', "UserID", "UID", "uid", v_as_is, NULL, OF_SQUEUE, 0 },
	{ 'v', "ReservationName", "RESERVATION", "reservation", v_as_is, "(null)", OF_SQUEUE, 0 },
	{ 'V', "SubmitTime", "SUBMIT_TIME", "submit_time", v_moment, "N/A", OF_SQUEUE, 0 },
	{ 'w', "WCKey", "WCKEY", "", v_none, "(null)", OF_SQUEUE, 0 },
	{ 'W', "Licenses", "LICENSES", "licenses", v_as_is, "(null)", OF_SQUEUE, 0 },
	{ 'x', "ExcNodes", "EXC_NODES", "exclude", v_as_is, "", OF_SQUEUE, 0 },
	{ 'X', "CoreSpec", "CORE_SPEC", "", v_none, "N/A", OF_SQUEUE, 0 },
	{ 'y', "Nice", "NICE", "nice", v_as_is, "0", OF_SQUEUE, 0 },
	{ 'Y', "SchedNodes", "SCHEDNODES", "", v_none, "(null)", OF_SQUEUE, 0 },
	{ 'z', "SCT", "S:C:T", "", v_none, "*:*:*", OF_SQUEUE, 0 },
	{ 'Z', "WorkDir", "WORK_DIR", "workdir", v_as_is, NULL, OF_SQUEUE, 0 },
	{ 0, "AccrueTime", "ACCRUE_TIME", "", v_none, "N/A", OF_SQUEUE, 0 },
	{ 0, "AllocNodes", "ALLOC_NODES", "submit_host", v_as_is, "(null)", OF_SQUEUE, 0 },
	{ 0, "cpus-per-task", "CPUS_PER_TASK", "cpus", v_min_cpus, NULL, OF_SQUEUE, 0 },
	{ 0, "Deadline", "DEADLINE", "deadline", v_moment, "N/A", OF_SQUEUE, 0 },
	{ 0, "DelayBoot", "DELAY_BOOT", "", v_none, "0:00", OF_SQUEUE, 0 },
	{ 0, "EligibleTime", "ELIGIBLE_TIME", "eligible_time", v_moment, "N/A", OF_SQUEUE, 0 },
	{ 0, "exit_code", "EXIT_CODE", "exit_code", v_exit_code, NULL, OF_SQUEUE, 0 },
	{ 0, "HetJobID", "HET_JOB_ID", "", v_none, "N/A", OF_SQUEUE, 0 },
	{ 0, "HetJobIDSet", "HET_JOB_ID_SET", "", v_none, "N/A", OF_SQUEUE, 0 },
	{ 0, "HetJobOffset", "HET_JOB_OFFSET", "", v_none, "N/A", OF_SQUEUE, 0 },
	{ 0, "MinTime", "TIME_MIN", "", v_none, "0:00", OF_SQUEUE, 0 },
	{ 0, "Network", "NETWORK", "", v_none, "(null)", OF_SQUEUE, 0 },
	{ 0, "NumTasks", "TASKS", "tasks shared_tasks", v_job_tasks, NULL, OF_SQUEUE, 0 },
	{ 0, "PendingTime", "PENDING_TIME", "submit_time start_time end_time", v_pending, NULL, OF_SQUEUE, 0 },
	{ 0, "PreemptTime", "PREEMPT_TIME", "", v_none, "N/A", OF_SQUEUE, 0 },
	{ 0, "Profile", "PROFILE", "", v_none, "NotSet", OF_SQUEUE, 0 },
	{ 0, "Reboot", "REBOOT", "", v_none, "0", OF_SQUEUE, 0 },
	{ 0, "Requeue", "REQUEUE", "requeue", v_as_is, "1", OF_SQUEUE, 0 },
	{ 0, "RestartCnt", "RESTART_COUNT", "restarts", v_as_is, NULL, OF_SQUEUE, 0 },
	{ 0, "STDERR", "STDERR", "error output", v_error, NULL, OF_SQUEUE, 0 },
	{ 0, "STDIN", "STDIN", "input", v_input, NULL, OF_SQUEUE, 0 },
	{ 0, "STDOUT", "STDOUT", "output", v_as_is, NULL, OF_SQUEUE, 0 },
	{ 0, "tres-alloc", "TRES_ALLOC", TRES, v_tres, NULL, OF_SQUEUE, 0 },
	{ 0, "tres-per-job", "TRES_PER_JOB", "gpus_per_job gpu_type", v_job_gpus, "N/A", OF_SQUEUE, 0 },
	{ 0, "tres-per-socket", "TRES_PER_SOCKET", "", v_none, "N/A", OF_SQUEUE, 0 },
	{ 0, "tres-per-task", "TRES_PER_TASK", "gpus gpu_type", v_task_gpus, "N/A", OF_SQUEUE, 0 },
	SAME("AllocSID", "ALLOC_SID", "0"),
	SAME("AssocID", "ASSOC_ID", "0"),
	SAME("BatchFlag", "BATCH_FLAG", "1"),
	SAME("BoardsPerNode", "BOARDS_PER_NODE", "0"),
	SAME("BurstBuffer", "BURST_BUFFER", "(null)"),
	SAME("BurstBufferState", "BURST_BUFFER_STATE", "(null)"),
	SAME("ClusterFeature", "CLUSTER_FEATURES", "(null)"),
	SAME("Cores", "CORES_PER_SOCKET", "*"),
	SAME("cpus-per-tres", "CPUS_PER_TRES", "N/A"),
	SAME("DerivedEC", "DERIVED_EC", "0"),
	SAME("LastSchedEval", "LAST_SCHED_EVAL", "N/A"),
	SAME("MaxCPUs", "MAX_CPUS", "0"),
	SAME("MaxNodes", "MAX_NODES", "0"),
	SAME("MCSLabel", "MCSLABEL", "(null)"),
	SAME("mem-per-tres", "MEM_PER_TRES", "N/A"),
	SAME("NTPerBoard", "NTASKS_PER_BOARD", "0"),
	SAME("NTPerCore", "NTASKS_PER_CORE", "N/A"),
	SAME("NTPerNode", "NTASKS_PER_NODE", "0"),
	SAME("NTPerSocket", "NTASKS_PER_SOCKET", "N/A"),
	SAME("Origin", "ORIGIN", "NA"),
	SAME("OriginRaw", "ORIGIN_RAW", "NA"),
	SAME("ReqSwitch", "REQ_SWITCH", "0"),
	{ 0, "Reservation", "RESERVATION", "reservation", v_as_is, "(null)", OF_SQUEUE, 0 },
	SAME("ResizeTime", "RESIZE_TIME", "N/A"),
	SAME("SiblingsActive", "ACTIVE_SIBLINGS", "NA"),
	SAME("SiblingsActiveRaw", "ACTIVE_SIBLINGS_RAW", "NA"),
	SAME("SiblingsViable", "VIABLE_SIBLINGS", "NA"),
	SAME("SiblingsViableRaw", "VIALBLE_SIBLINGS_RAW", "NA"),
	SAME("Sockets", "SOCKETS_PER_NODE", "*"),
	SAME("SPerBoard", "SOCKETS_PER_BOARD", "0"),
	SAME("Threads", "THREADS_PER_CORE", "*"),
	SAME("tres-bind", "TRES_BIND", "N/A"),
	SAME("tres-freq", "TRES_FREQ", "N/A"),
	SAME("Wait4Switch", "WAIT4SWITCH", "0:00"),

	{ 0, "Account", "Account", "account", v_as_is, NULL, OF_SACCT, 10 },
	{ 0, "AdminComment", "AdminComment", "", v_none, NULL, OF_SACCT, 19 },
	{ 0, "AllocCPUS", "AllocCPUS", "", v_cpus, NULL, OF_SACCT, 10 },
	{ 0, "AllocNodes", "AllocNodes", "", v_alloc_nodes, NULL, OF_SACCT, 10 },
	{ 0, "AllocTRES", "AllocTRES", "", v_alloc_tres, NULL, OF_SACCT, 10 },
	EMPTY("AssocID"),
	{ 0, "AveCPU", "AveCPU", "", v_average_cpu, NULL, OF_SACCT, 10 },
	EMPTY("AveCPUFreq"),
	EMPTY("AveDiskRead"),
	EMPTY("AveDiskWrite"),
	EMPTY("AvePages"),
	{ 0, "AveRSS", "AveRSS", "", v_peak, NULL, OF_SACCT, 10 },
	EMPTY("AveVMSize"),
	EMPTY("BlockID"),
	{ 0, "Cluster", "Cluster", "cluster", v_as_is, NULL, OF_SACCT, 10 },
	{ 0, "Comment", "Comment", "comment", v_of_job, NULL, OF_SACCT, 14 },
	{ 0, "Constraints", "Constraints", "constraint", v_of_job, NULL, OF_SACCT, 19 },
	EMPTY("ConsumedEnergy"),
	EMPTY("ConsumedEnergyRaw"),
	EMPTY("Container"),
	{ 0, "CPUTime", "CPUTime", "", v_cpu_time, NULL, OF_SACCT, 10 },
	{ 0, "CPUTimeRAW", "CPUTimeRAW", "", v_cpu_time_raw, NULL, OF_SACCT, 10 },
	EMPTY("DBIndex"),
	{ 0, "DerivedExitCode", "DerivedExitCode", "", v_derived, NULL, OF_SACCT, 15 },
	{ 0, "Elapsed", "Elapsed", "", v_elapsed, NULL, OF_SACCT, 10 },
	{ 0, "ElapsedRaw", "ElapsedRaw", "", v_elapsed_raw, NULL, OF_SACCT, 10 },
	{ 0, "Eligible", "Eligible", "eligible_time", v_acct_moment, "Unknown", OF_SACCT, 19 },
	{ 0, "End", "End", "end_time", v_acct_end, "Unknown", OF_SACCT, 19 },
	{ 0, "ExitCode", "ExitCode", "", v_exit, NULL, OF_SACCT, 8 },
	{ 0, "Flags", "Flags", "", v_none, NULL, OF_SACCT, 20 },
	{ 0, "GID", "GID", "gid", v_of_job, NULL, OF_SACCT, 6 },
	{ 0, "Group", "Group", "", v_group, NULL, OF_SACCT, 9 },
	{ 0, "JobID", "JobID", "display_id", v_id, NULL, OF_SACCT, -12 },
	{ 0, "JobIDRaw", "JobIDRaw", "job_id", v_id, NULL, OF_SACCT, -12 },
	{ 0, "JobName", "JobName", "", v_name, NULL, OF_SACCT, 10 },
	EMPTY("Layout"),
	EMPTY("MaxDiskRead"),
	EMPTY("MaxDiskReadNode"),
	EMPTY("MaxDiskReadTask"),
	EMPTY("MaxDiskWrite"),
	EMPTY("MaxDiskWriteNode"),
	EMPTY("MaxDiskWriteTask"),
	EMPTY("MaxPages"),
	EMPTY("MaxPagesNode"),
	EMPTY("MaxPagesTask"),
	{ 0, "MaxRSS", "MaxRSS", "", v_peak, NULL, OF_SACCT, 10 },
	{ 0, "MaxRSSNode", "MaxRSSNode", "", v_peak_node, NULL, OF_SACCT, 10 },
	EMPTY("MaxRSSTask"),
	{ 0, "MaxVMSize", "MaxVMSize", "", v_none, NULL, OF_SACCT, 10 },
	EMPTY("MaxVMSizeNode"),
	EMPTY("MaxVMSizeTask"),
	EMPTY("McsLabel"),
	EMPTY("MinCPU"),
	EMPTY("MinCPUNode"),
	EMPTY("MinCPUTask"),
	{ 0, "NCPUS", "NCPUS", "", v_cpus, NULL, OF_SACCT, 10 },
	{ 0, "NNodes", "NNodes", "num_nodes", v_as_is, NULL, OF_SACCT, 8 },
	{ 0, "NodeList", "NodeList", "nodelist", v_as_is, "None assigned", OF_SACCT, 15 },
	{ 0, "NTasks", "NTasks", "", v_tasks, NULL, OF_SACCT, 8 },
	{ 0, "Partition", "Partition", "queue", v_of_job, NULL, OF_SACCT, 10 },
	{ 0, "Priority", "Priority", "priority", v_job_priority, NULL, OF_SACCT, 10 },
	{ 0, "QOS", "QOS", "class", v_of_job, NULL, OF_SACCT, 10 },
	EMPTY("QOSRAW"),
	{ 0, "Reason", "Reason", "", v_reason, NULL, OF_SACCT, 22 },
	EMPTY("ReqCPUFreq"),
	EMPTY("ReqCPUFreqGov"),
	EMPTY("ReqCPUFreqMax"),
	EMPTY("ReqCPUFreqMin"),
	{ 0, "ReqCPUS", "ReqCPUS", "", v_cpus, NULL, OF_SACCT, 8 },
	{ 0, "ReqMem", "ReqMem", "", v_req_mem, NULL, OF_SACCT, 10 },
	{ 0, "ReqNodes", "ReqNodes", "num_nodes", v_as_is, NULL, OF_SACCT, 8 },
	{ 0, "ReqTRES", "ReqTRES", "", v_req_tres, NULL, OF_SACCT, 10 },
	{ 0, "Reservation", "Reservation", "reservation", v_of_job, NULL, OF_SACCT, 20 },
	EMPTY("ReservationId"),
	{ 0, "Reserved", "Reserved", "", v_reserved, NULL, OF_SACCT, 10 },
	{ 0, "Restarts", "Restarts", "restarts", v_of_job, NULL, OF_SACCT, 8 },
	{ 0, "ResvCPU", "ResvCPU", "", v_reserved_cpu, NULL, OF_SACCT, 10 },
	{ 0, "ResvCPURAW", "ResvCPURAW", "", v_reserved_cpu, NULL, OF_SACCT, 10 },
	{ 0, "Start", "Start", "start_time", v_acct_moment, "Unknown", OF_SACCT, 19 },
	{ 0, "State", "State", "", v_state, NULL, OF_SACCT, 10 },
	{ 0, "StdErr", "StdErr", "", v_error, NULL, OF_SACCT, 20 },
	{ 0, "StdOut", "StdOut", "output", v_of_job, NULL, OF_SACCT, 20 },
	{ 0, "Submit", "Submit", "submit_time", v_acct_moment, "Unknown", OF_SACCT, 19 },
	{ 0, "SubmitLine", "SubmitLine", "command", v_of_job, NULL, OF_SACCT, 20 },
	EMPTY("Suspended"),
	EMPTY("SystemComment"),
	{ 0, "SystemCPU", "SystemCPU", "", v_none, NULL, OF_SACCT, 10 },
	{ 0, "Timelimit", "Timelimit", "", v_limit, NULL, OF_SACCT, 10 },
	{ 0, "TimelimitRaw", "TimelimitRaw", "", v_limit_raw, NULL, OF_SACCT, 10 },
	{ 0, "TotalCPU", "TotalCPU", "", v_total_cpu, NULL, OF_SACCT, 10 },
	EMPTY("TRESUsageInAve"),
	EMPTY("TRESUsageInMax"),
	EMPTY("TRESUsageInMaxNode"),
	EMPTY("TRESUsageInMaxTask"),
	EMPTY("TRESUsageInMin"),
	EMPTY("TRESUsageInMinNode"),
	EMPTY("TRESUsageInMinTask"),
	{ 0, "TRESUsageInTot", "TRESUsageInTot", "", v_none, NULL, OF_SACCT, 15 },
	EMPTY("TRESUsageOutAve"),
	EMPTY("TRESUsageOutMax"),
	EMPTY("TRESUsageOutMaxNode"),
	EMPTY("TRESUsageOutMaxTask"),
	EMPTY("TRESUsageOutMin"),
	EMPTY("TRESUsageOutMinNode"),
	EMPTY("TRESUsageOutMinTask"),
	EMPTY("TRESUsageOutTot"),
	{ 0, "UID", "UID", "uid", v_of_job, NULL, OF_SACCT, 6 },
	{ 0, "User", "User", "user", v_of_job, NULL, OF_SACCT, 9 },
	{ 0, "UserCPU", "UserCPU", "", v_none, NULL, OF_SACCT, 10 },
	{ 0, "WCKey", "WCKey", "", v_none, NULL, OF_SACCT, 10 },
	EMPTY("WCKeyID"),
	{ 0, "WorkDir", "WorkDir", "workdir", v_of_job, NULL, OF_SACCT, 20 },
	{ 0, NULL, NULL, NULL, NULL, NULL, 0, 0 },
};
/* clang-format on */
