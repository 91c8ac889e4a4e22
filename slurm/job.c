/* job.c - values of a job as Slurm prints them, made from rows of the daemon's
 * listing `jobs` */
#include "slurm/job.h"

#include <grp.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "libcommon/names.h"
#include "libcommon/parse.h"
#include "slurm/rows.h"

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

	/* Print None for cancelled jobs, as Slurm gives no reason for them.
	 * GangPartial is not among Slurm's reasons: print Resources. */
	if (!*reason || !strcmp(reason, "Unevaluated") ||
	    !strcmp(reason, "Cancelled"))
		return "None";
	if (!strcmp(reason, "GangPartial"))
		return "Resources";
	return !strcmp(reason, "RaisedSignal") ? "JobLaunchFailure" : reason;
}

int64_t job_priority(const json_t *row)
{
	return !strncmp(row_text(row, "reason"), "JobHeld", 7)
	           ? 0
	           : row_int(row, "priority");
}

int64_t job_start(const json_t *row)
{
	int64_t start = row_int(row, "start_time");

	if (start == ROW_NONE)
		start = row_int(row, "expected_start");
	/* If a job waits for its begin time, show this time as its start. */
	if (start == ROW_NONE && job_is_pending(row))
		start = row_int(row, "begin_time");
	return start;
}

int64_t job_end(const json_t *row)
{
	int64_t limit = row_int(row, "time_limit"), start = job_start(row);

	if (job_is_over(row))
		return row_int(row, "end_time");
	return limit == ROW_NONE || start == ROW_NONE ? ROW_NONE
	                                              : start + limit;
}

int64_t job_derived(const json_t *row)
{
	const json_t *step;
	int64_t code = 0;
	size_t i;

	json_array_foreach(json_object_get(row, "steps"), i, step)
		if (row_int(step, "exit_code") > code)
			code = row_int(step, "exit_code");
	return code;
}

static int64_t tasks_of(const json_t *row)
{
	int64_t tasks = row_int(row, "tasks");

	return tasks < 1 ? 1 : tasks;
}

int64_t job_cpus(const json_t *row)
{
	return (int64_t)ceil(row_real(row, "alloc_cpus") - 1e-9);
}

int64_t job_tasks(const json_t *row)
{
	int64_t shared = row_int(row, "shared_tasks");

	return shared > tasks_of(row) ? shared : tasks_of(row);
}

int64_t job_mem_mib(const json_t *row)
{
	int64_t mib = row_int(row, "alloc_mem_mib");

	return mib == ROW_NONE ? 0 : mib;
}

void put_kib(int64_t kib, const struct style *style, struct buf *out)
{
	double value = (double)kib;

	if (!style->unit) {
		buf_printf(out, "%lldK", (long long)kib);
		return;
	}
	for (const char *s = "KMGTP"; *s != style->unit; s++)
		value /= 1024;
	if (value > floor(value))
		buf_printf(out, "%.2f%c", value, style->unit);
	else
		buf_printf(out, "%.0f%c", value, style->unit);
}

void put_mib(int64_t mib, const struct style *style, struct buf *out)
{
	const char *unit = "MGTP";

	if (style->unit && mib) {
		put_kib(mib * 1024, style, out);
		return;
	}
	while (!style->no_convert && mib && mib % 1024 == 0 && unit[1]) {
		mib /= 1024;
		unit++;
	}
	buf_i64(out, mib);
	if (mib)
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
		return;
	}
	if (nodes < 1)
		nodes = 1;
	if (of_node == ROW_NONE)
		of_node =
		    job_mem_mib(row) / tasks * ((tasks + nodes - 1) / nodes);
	put_mib(of_node, style, out);
}

void put_job_tmp(const json_t *row, const struct style *style, struct buf *out)
{
	int64_t mib = row_int(row, "tmp_mib");

	if (mib > 0)
		put_mib(mib, style, out);
	else
		buf_addc(out, '0');
}

void put_job_tres(const json_t *row, const struct style *style, struct buf *out)
{
	int64_t cpus = job_cpus(row), nodes = row_int(row, "num_nodes");
	double gpus = row_real(row, "gpus") * (double)tasks_of(row);

	buf_printf(out, "cpu=%lld", (long long)cpus);
	if (job_mem_mib(row)) {
		buf_puts(out, ",mem=");
		put_mib(job_mem_mib(row), style, out);
	}
	buf_printf(out, ",node=%lld", (long long)(nodes < 1 ? 1 : nodes));
	if (row_int(row, "step") == ROW_NONE)
		buf_printf(out, ",billing=%lld", (long long)cpus);
	if (gpus > 0)
		buf_printf(out, ",gres/gpu=%lld", (long long)ceil(gpus));
}

void put_job_dependency(const json_t *row, struct buf *out)
{
	const char *s = row_text(row, "dependency");
	/* those conditions of s that can no longer be met, in its order */
	const char *never = row_text(row, "dependency_never");

	while (*s) {
		size_t len = strcspn(s, ",?");
		bool failed =
		    len == strcspn(never, ",?") && !strncmp(s, never, len);

		buf_add(out, s, len);
		buf_puts(out, failed ? "(failed)" : "(unfulfilled)");
		if (failed)
			never += len + (never[len] != '\0');
		s += len;
		if (*s)
			buf_addc(out, *s++);
	}
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

/* Returns the strftime() format that SLURM_TIME_FORMAT=relative gives this
 * time. */
static const char *relative(const struct tm *tm)
{
	time_t now = time(NULL);
	struct tm today;
	int days;

	localtime_r(&now, &today);
	days =
	    1000 * (tm->tm_year - today.tm_year) + tm->tm_yday - today.tm_yday;
	if (days == 0)
		return "%H:%M:%S";
	if (days == -1)
		return "Ystday %H:%M";
	if (days == 1)
		return "Tomorr %H:%M";
	if (days < -365 || days > 365)
		return "%-d %b %Y";
	return days < -1 || days > 6 ? "%-d %b %H:%M" : "%a %H:%M";
}

void put_moment(int64_t t, struct buf *out)
{
	const char *format = getenv("SLURM_TIME_FORMAT");
	time_t value = (time_t)t;
	char text[256];
	struct tm tm;

	if (t == ROW_NONE)
		return;
	localtime_r(&value, &tm);
	if (format && !strcmp(format, "relative")) {
		format = relative(&tm);
	} else if (!format || *format != '%') {
		format_time(out, t);
		return;
	}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	/* The user chose this format, and it only affects the user's own
	 * terminal. */
	if (strftime(text, sizeof(text), format, &tm))
		buf_puts(out, text);
#pragma GCC diagnostic pop
}
