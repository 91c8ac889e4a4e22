/* sacct_fields.c - the columns of sacct */
#include <math.h>
#include <pwd.h>
#include <string.h>

#include "libcommon/parse.h"
#include "slurm/fields.h"
#include "slurm/rows.h"
#include "slurm/sacct.h"

const char acct_needs[] =
    "display_id job_id array_job_id array_task_id name user uid gid account "
    "queue class state acts exit_code signal reason submit_time eligible_time "
    "start_time expected_start end_time elapsed time_limit cpus tasks gpus "
    "mem_mib num_nodes peak_mem_mib cpu_seconds nodelist workdir comment "
    "command priority restarts constraint reservation output error cluster";

#define VALUE(name)                                                          \
	static void name(const json_t *row, const struct slurm_field *field, \
	                 const struct style *style, struct buf *out)
#define UNUSED (void)row, (void)field, (void)style, (void)out

static bool is_batch(const json_t *row)
{
	return json_object_get(row, "batch") != NULL;
}

static bool has_started(const json_t *row)
{
	return row_int(row, "start_time") != ROW_NONE;
}

static bool is_state(const json_t *row, const char *state)
{
	return !strcmp(row_text(row, "state"), state);
}

/* --- values --------------------------------------------------------------- */

VALUE(v_as_is)
{
	const json_t *value = json_object_get(row, field->needs);

	UNUSED;
	if (json_is_integer(value))
		buf_i64(out, json_integer_value(value));
	else
		buf_puts(out, row_text(row, field->needs));
}

/* Fields that only jobs have. */
VALUE(v_of_job)
{
	if (!is_batch(row))
		v_as_is(row, field, style, out);
}

VALUE(v_empty)
{
	UNUSED;
}

VALUE(v_id)
{
	v_as_is(row, field, style, out);
	if (is_batch(row))
		buf_puts(out, ".batch");
}

VALUE(v_name)
{
	UNUSED;
	buf_puts(out, is_batch(row) ? "batch" : row_text(row, "name"));
}

VALUE(v_group)
{
	UNUSED;
	if (!is_batch(row))
		put_group(row_int(row, "gid"), out);
}

/* The user who cancelled it, else its owner. */
static int64_t canceller(const json_t *row)
{
	const json_t *acts = json_object_get(row, "acts"), *act;
	const char *user = row_text(row, "user");
	const struct passwd *pw;
	size_t i;

	json_array_foreach(acts, i, act)
		if (!strcmp(row_text(act, "act"), "cancel"))
			user = row_text(act, "user");
	pw = getpwnam(user);
	return pw ? (int64_t)pw->pw_uid : row_int(row, "uid");
}

VALUE(v_state)
{
	UNUSED;
	if (is_batch(row) && is_state(row, "TIMEOUT"))
		buf_puts(out, "CANCELLED");
	else
		buf_puts(out, row_text(row, "state"));
	if (is_state(row, "CANCELLED") && !is_batch(row))
		buf_printf(out, " by %lld", (long long)canceller(row));
}

/* A job that was ended has 0:0, and its script the signal. */
VALUE(v_exit)
{
	int64_t code = row_int(row, "exit_code"),
		signal = row_int(row, "signal");
	bool ended = is_state(row, "CANCELLED") || is_state(row, "TIMEOUT");

	UNUSED;
	if (ended)
		buf_puts(out, is_batch(row) ? "0:15" : "0:0");
	else
		buf_printf(out, "%lld:%lld",
		           signal > 0 || code < 0 ? 0 : (long long)code,
		           signal > 0 ? (long long)signal : 0);
}

VALUE(v_reason)
{
	UNUSED;
	if (!is_batch(row))
		buf_puts(out, job_reason(row));
}

/* Its script is submitted and can start when it starts. */
VALUE(v_moment)
{
	UNUSED;
	put_moment(row_int(row, is_batch(row) && *field->needs != 'e'
	                            ? "start_time"
	                            : field->needs),
	           out);
}

VALUE(v_end)
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

VALUE(v_cpus)
{
	UNUSED;
	buf_i64(out, job_cpus(row));
}

VALUE(v_alloc_cpus)
{
	UNUSED;
	buf_i64(out, has_started(row) ? job_cpus(row) : 0);
}

VALUE(v_alloc_nodes)
{
	UNUSED;
	buf_i64(out, has_started(row) ? row_int(row, "num_nodes") : 0);
}

/* The script is one task; what jobs have are steps. */
VALUE(v_tasks)
{
	UNUSED;
	if (is_batch(row))
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
	if (is_batch(row) && mib != ROW_NONE)
		buf_printf(out, "%lldK", (long long)mib * 1024);
}

/* "[D-]HH:MM:SS", or "MM:SS.mmm" below an hour. */
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
	buf_puts(out, "mem=");
	put_mib(job_mem_mib(row), style, out);
	buf_printf(out, ",node=%lld", (long long)(nodes < 1 ? 1 : nodes));
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

VALUE(v_error)
{
	const char *error = row_text(row, "error");

	UNUSED;
	if (!is_batch(row))
		buf_puts(out, *error ? error : row_text(row, "output"));
}

#define F(name, needs, value, none, width)                   \
	{                                                    \
		{ 0, name, name, needs, value, none }, width \
	}

const struct acct_field acct_fields[] = {
	F("Account", "account", v_as_is, NULL, 10),
	F("AdminComment", "", v_empty, NULL, 19),
	F("AllocCPUS", "", v_alloc_cpus, NULL, 10),
	F("AllocNodes", "", v_alloc_nodes, NULL, 10),
	F("AllocTRES", "", v_alloc_tres, NULL, 10),
	F("AveCPU", "", v_average_cpu, NULL, 10),
	F("AveRSS", "", v_peak, NULL, 10),
	F("Cluster", "cluster", v_as_is, NULL, 10),
	F("Comment", "comment", v_of_job, NULL, 14),
	F("Constraints", "constraint", v_of_job, NULL, 19),
	F("CPUTime", "", v_cpu_time, NULL, 10),
	F("CPUTimeRAW", "", v_cpu_time_raw, NULL, 10),
	F("DerivedExitCode", "", v_empty, "0:0", 15),
	F("Elapsed", "", v_elapsed, NULL, 10),
	F("ElapsedRaw", "", v_elapsed_raw, NULL, 10),
	F("Eligible", "eligible_time", v_moment, "Unknown", 19),
	F("End", "end_time", v_end, "Unknown", 19),
	F("ExitCode", "", v_exit, NULL, 8),
	F("Flags", "", v_empty, NULL, 20),
	F("GID", "gid", v_of_job, NULL, 6),
	F("Group", "", v_group, NULL, 9),
	F("JobID", "display_id", v_id, NULL, -12),
	F("JobIDRaw", "job_id", v_id, NULL, -12),
	F("JobName", "", v_name, NULL, 10),
	F("MaxRSS", "", v_peak, NULL, 10),
	F("MaxVMSize", "", v_empty, NULL, 10),
	F("NCPUS", "", v_cpus, NULL, 10),
	F("NNodes", "num_nodes", v_as_is, NULL, 8),
	F("NodeList", "nodelist", v_as_is, "None assigned", 15),
	F("NTasks", "", v_tasks, NULL, 8),
	F("Partition", "queue", v_of_job, NULL, 10),
	F("Priority", "priority", v_of_job, NULL, 10),
	F("QOS", "class", v_of_job, NULL, 10),
	F("Reason", "", v_reason, NULL, 22),
	F("ReqCPUS", "", v_cpus, NULL, 8),
	F("ReqMem", "", v_req_mem, NULL, 10),
	F("ReqNodes", "num_nodes", v_as_is, NULL, 8),
	F("ReqTRES", "", v_req_tres, NULL, 10),
	F("Reservation", "reservation", v_of_job, NULL, 20),
	F("Restarts", "restarts", v_of_job, NULL, 8),
	F("Start", "start_time", v_moment, "Unknown", 19),
	F("State", "", v_state, NULL, 10),
	F("StdErr", "", v_error, NULL, 20),
	F("StdOut", "output", v_of_job, NULL, 20),
	F("Submit", "submit_time", v_moment, "Unknown", 19),
	F("SubmitLine", "command", v_of_job, NULL, 20),
	F("SystemCPU", "", v_empty, NULL, 10),
	F("Timelimit", "", v_limit, NULL, 10),
	F("TimelimitRaw", "", v_limit_raw, NULL, 10),
	F("TotalCPU", "", v_total_cpu, NULL, 10),
	F("TRESUsageInTot", "", v_empty, NULL, 15),
	F("UID", "uid", v_of_job, NULL, 6),
	F("User", "user", v_of_job, NULL, 9),
	F("UserCPU", "", v_empty, NULL, 10),
	F("WCKey", "", v_empty, NULL, 10),
	F("WorkDir", "workdir", v_of_job, NULL, 20),
	{ { 0, NULL, NULL, NULL, NULL, NULL }, 0 },
};
