/* columns.c - the kinds of listings, and the formats of -o */
#include "aiq/columns.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "aiq/aiq.h"
#include "libcommon/buf.h"
#include "libcommon/mem.h"

enum { WIDTH_MAX = 1000 }; /* maximum width of a column in a template */

/* clang-format off */
static const struct column job_columns[] = {
	{ "display_id", "JOBID", .letter = 'i' },
	{ "job_id", "ID", .letter = 'A', .right = true },
	{ "array_job_id", "ARRAY_JOB_ID", .letter = 'F', .right = true },
	{ "array_task_id", "ARRAY_TASK_ID", .letter = 'K', .right = true },
	{ "array_tasks", "ARRAY_TASKS", .show = SHOW_TEXT },
	{ "queue", "QUEUE", .letter = 'P' },
	{ "name", "NAME", .letter = 'j' },
	{ "user", "USER", .letter = 'u' },
	{ "uid", "UID", .letter = 'U', .right = true },
	{ "account", "ACCOUNT", .letter = 'a' },
	{ "class", "CLASS", .letter = 'q' },
	{ "comment", "COMMENT", .letter = 'k' },
	{ "labels", "LABELS", .letter = 0 },
	{ "ports", "PORTS", .letter = 0 },
	{ "mail_type", "MAIL_TYPE", .letter = 0 },
	{ "mail_user", "MAIL_USER", .letter = 0 },
	{ "state_letter", "ST", .letter = 't' },
	{ "state", "STATE", .letter = 'T' },
	{ "reason", "REASON", .letter = 'r' },
	{ "reason_text", "REASON_TEXT", .show = SHOW_TEXT },
	{ "time", "TIME", .letter = 'M', .right = true },
	{ "elapsed", "ELAPSED", .right = true, .show = SHOW_SPAN },
	{ "elapsed_ms", "ELAPSED_MS", .right = true },
	{ "elapsed_all", "ELAPSED",
	  .right = true, .show = SHOW_MS, .field = { "elapsed_ms" } },
	{ "limit", "TIME_LIMIT", .letter = 'l', .right = true },
	{ "time_limit", "LIMIT_SECONDS", .right = true },
	{ "submit_time", "SUBMIT_TIME", .letter = 'V', .show = SHOW_TIME },
	{ "eligible_time", "ELIGIBLE_TIME", .show = SHOW_TIME },
	{ "begin_time", "BEGIN_TIME", .show = SHOW_TIME },
	{ "deadline", "DEADLINE", .show = SHOW_TIME },
	{ "cron_id", "CRON", .right = true },
	{ "cron_time", "CRON_TIME", .show = SHOW_TIME },
	{ "start", "START_TIME",
	  .letter = 'S', .show = SHOW_TIME,
	  .field = { "start_time", "expected_start" } },
	{ "start_time", "START", .show = SHOW_TIME },
	{ "end_time", "END_TIME", .letter = 'e', .show = SHOW_TIME },
	{ "expected_start", "EXPECTED_START", .show = SHOW_TIME },
	{ "priority", "PRIORITY", .letter = 'p', .right = true },
	{ "priority", "PRIORITY", .letter = 'Q', .right = true },
	{ "score", "SCORE", .right = true },
	{ "position", "POSITION", .right = true },
	{ "tasks", "TASKS", .right = true },
	{ "min_tasks", "MIN_TASKS", .right = true },
	{ "running_tasks", "RUNNING", .right = true },
	{ "cpus", "CPUS/TASK", .letter = 'c', .right = true },
	{ "mem_mib", "MEM/TASK",
	  .letter = 'm', .right = true, .show = SHOW_MIB },
	{ "tmp_mib", "TMP/NODE",
	  .letter = 'd', .right = true, .show = SHOW_MIB },
	{ "gpus", "GPUS/TASK", .letter = 'b', .right = true },
	{ "total_cpus", "CPUS",
	  .letter = 'C', .right = true, .show = SHOW_PRODUCT,
	  .field = { "cpus", "tasks" } },
	{ "total_gpus", "GPUS",
	  .right = true, .show = SHOW_PRODUCT, .field = { "gpus", "tasks" } },
	{ "alloc_cpus", "ALLOC_CPUS", .right = true },
	{ "alloc_mem_mib", "ALLOC_MEM", .right = true, .show = SHOW_MIB },
	{ "num_nodes", "NODES", .letter = 'D', .right = true },
	{ "nodelist", "NODELIST", .letter = 'N' },
	{ "where", "NODELIST(REASON)", .letter = 'R' },
	{ "req_nodes", "REQ_NODES", .letter = 'n' },
	{ "exclude", "EXCLUDE", .letter = 'x' },
	{ "constraint", "FEATURES", .letter = 'f' },
	{ "prefer", "PREFERS", .letter = 0 },
	{ "topology", "TOPOLOGY", .show = SHOW_TEXT },
	{ "spread", "SPREAD", .show = SHOW_TEXT },
	{ "near", "NEAR", .show = SHOW_TEXT },
	{ "apart", "APART", .show = SHOW_TEXT },
	{ "segment", "SEGMENT", .right = true },
	{ "numa", "NUMA", .show = SHOW_TEXT },
	{ "links", "LINKS", .show = SHOW_TEXT },
	{ "licenses", "LICENSES", .letter = 'W' },
	{ "device", "DEVICE", .show = SHOW_TEXT },
	{ "dependency", "DEPENDENCY", .letter = 'E' },
	{ "dependency_never", "NEVER", .show = SHOW_TEXT },
	{ "kill_invalid", "KILL_INVALID", .show = SHOW_TEXT },
	{ "hold", "HOLD", .show = SHOW_TEXT },
	{ "requeue", "REQUEUE", .show = SHOW_TEXT },
	{ "restarts", "RESTARTS", .right = true },
	{ "max_restarts", "MAX_RESTARTS", .right = true },
	{ "on_task_failure", "ON_TASK_FAILURE", .show = SHOW_TEXT },
	{ "replaced_tasks", "REPLACED", .right = true },
	{ "preemptions", "PREEMPTIONS", .right = true },
	{ "attempt", "ATTEMPT", .right = true },
	{ "attempts", "ATTEMPTS", .right = true },
	{ "pool", "POOL", .show = SHOW_TEXT },
	{ "namespace", "NAMESPACE", .show = SHOW_TEXT },
	{ "cost", "COST", .right = true },
	{ "exit", "EXIT",
	  .right = true, .show = SHOW_EXIT,
	  .field = { "exit_code", "signal" } },
	{ "exit_code", "EXIT_CODE", .right = true },
	{ "signal", "SIGNAL", .right = true },
	{ "cpu_seconds", "CPU", .right = true, .show = SHOW_SPAN },
	{ "held_cpu_seconds", "CPU_HELD", .right = true, .show = SHOW_SPAN },
	{ "held_gpu_seconds", "GPU_HELD", .right = true, .show = SHOW_SPAN },
	{ "peak_mem_mib", "PEAKMEM", .right = true, .show = SHOW_MIB },
	{ "gpu_util", "GPUEFF", .right = true, .show = SHOW_RATIO },
	{ "gpu_busy_seconds", "GPU_BUSY", .right = true, .show = SHOW_SPAN },
	{ "gpu_known_seconds", "GPU_KNOWN", .right = true, .show = SHOW_SPAN },
	{ "gpu_idle_seconds", "GPUIDLE", .right = true, .show = SHOW_SPAN },
	{ "gpu_mem_mib", "GPUMEM", .right = true, .show = SHOW_MIB },
	{ "gpu_mem_total_mib", "GPUMEM_OF", .right = true, .show = SHOW_MIB },
	{ "workdir", "WORK_DIR", .letter = 'Z' },
	{ "output", "OUTPUT", .show = SHOW_TEXT },
	{ "error", "ERROR", .show = SHOW_TEXT },
	{ "input", "INPUT", .show = SHOW_TEXT },
	{ "submit_host", "SUBMIT_HOST", .show = SHOW_TEXT },
	{ "command", "COMMAND", .letter = 'o' },
	{ "batch_host", "BATCH_HOST", .letter = 'B' },
	{ "devices", "DEVICES", .show = SHOW_TEXT },
	{ "time_left", "TIME_LEFT",
	  .letter = 'L', .right = true, .show = SHOW_SPAN },
	{ "nice", "NICE", .letter = 'y', .right = true },
	{ "reservation", "RESERVATION", .letter = 'v' },
	{ "gid", "GID", .letter = 'G', .right = true },
	{ "gpu_type", "GPU_TYPE", .show = SHOW_TEXT },
	{ "gpu_memory_mib", "GPU_MEMORY", .right = true, .show = SHOW_MIB },
	{ "gpus_per_node", "GPUS/NODE", .right = true },
	{ "gpus_per_job", "GPUS/JOB", .right = true },
	{ "mem_per_node", "MEM/NODE", .right = true, .show = SHOW_MIB },
	{ "mem_per_cpu", "MEM/CPU", .right = true, .show = SHOW_MIB },
	{ "exclusive", "EXCLUSIVE", .letter = 'h' },
	{ "allocation", "ALLOCATION", .show = SHOW_TEXT },
	{ "shared_tasks", "SHARED_TASKS", .right = true },
};

static const struct column node_columns[] = {
	{ "name", "NODE", .letter = 'N' },
	{ "pool", "POOL", .letter = 'P' },
	{ "state", "STATE", .letter = 'T' },
	{ "cpus", "CPUS", .letter = 'c', .right = true },
	{ "cpus_free", "CPUS_FREE", .right = true },
	{ "memory_mib", "MEMORY",
	  .letter = 'm', .right = true, .show = SHOW_MIB },
	{ "memory_free_mib", "MEMORY_FREE", .right = true, .show = SHOW_MIB },
	{ "tmp_mib", "TMP", .letter = 'd', .right = true, .show = SHOW_MIB },
	{ "tmp_free_mib", "TMP_FREE", .right = true, .show = SHOW_MIB },
	{ "gpus", "GPUS", .letter = 'G', .right = true },
	{ "gpus_free", "GPUS_FREE", .right = true },
	{ "gpu_type", "GPU_TYPE", .show = SHOW_TEXT },
	{ "gpu_memory_mib", "GPU_MEMORY", .right = true, .show = SHOW_MIB },
	{ "devices", "DEVICES", .show = SHOW_TEXT },
	{ "devices_free", "DEVICES_FREE", .show = SHOW_TEXT },
	{ "features", "FEATURES", .letter = 'f' },
	{ "topology", "TOPOLOGY", .show = SHOW_TEXT },
	{ "jobs", "JOBS", .right = true },
	{ "weight", "WEIGHT", .letter = 'w', .right = true },
	{ "reason", "REASON", .letter = 'E' },
};

static const struct column attempt_columns[] = {
	{ "display_id", "JOBID", .letter = 'i' },
	{ "job_id", "JOBID", .letter = 'A', .right = true },
	{ "array_job_id", "ARRAY_JOB_ID", .letter = 'F' },
	{ "array_task_id", "ARRAY_TASK_ID", .letter = 'K' },
	{ "attempt", "ATTEMPT", .right = true },
	{ "user", "USER", .letter = 'u' },
	{ "uid", "UID", .letter = 'U', .right = true },
	{ "queue", "QUEUE", .letter = 'P' },
	{ "account", "ACCOUNT", .letter = 'a' },
	{ "class", "CLASS", .letter = 'q' },
	{ "pool", "POOL", .show = SHOW_TEXT },
	{ "gpu_type", "GPU_TYPE", .show = SHOW_TEXT },
	{ "state", "STATE", .letter = 'T' },
	{ "reason", "REASON", .letter = 'r' },
	{ "evicted", "EVICTED", .show = SHOW_TEXT },
	{ "evicted_by", "EVICTED_BY", .right = true },
	{ "exit", "EXIT",
	  .right = true, .show = SHOW_EXIT,
	  .field = { "exit_code", "signal" } },
	{ "exit_code", "EXIT_CODE", .right = true },
	{ "signal", "SIGNAL", .right = true },
	{ "tasks", "TASKS", .right = true },
	{ "nodelist", "NODELIST", .letter = 'N' },
	{ "start_time", "START", .letter = 'S', .show = SHOW_TIME },
	{ "end_time", "END_TIME", .letter = 'e', .show = SHOW_TIME },
	{ "start_ms", "START_MS", .right = true },
	{ "end_ms", "END_MS", .right = true },
	{ "elapsed", "ELAPSED", .right = true, .show = SHOW_SPAN },
	{ "elapsed_ms", "ELAPSED_MS", .right = true },
	{ "cpu_seconds", "CPU", .right = true, .show = SHOW_SPAN },
	{ "held_cpu_seconds", "CPU_HELD", .right = true, .show = SHOW_SPAN },
	{ "held_mem_mib_seconds", "MEM_HELD", .right = true },
	{ "held_gpu_seconds", "GPU_HELD", .right = true, .show = SHOW_SPAN },
	{ "peak_mem_mib", "PEAKMEM", .right = true, .show = SHOW_MIB },
	{ "cpu_util", "CPUEFF", .right = true, .show = SHOW_RATIO },
	{ "mem_util", "MEMEFF", .right = true, .show = SHOW_RATIO },
	{ "gpu_util", "GPUEFF", .right = true, .show = SHOW_RATIO },
	{ "gpu_busy_seconds", "GPU_BUSY", .right = true, .show = SHOW_SPAN },
	{ "gpu_known_seconds", "GPU_KNOWN", .right = true, .show = SHOW_SPAN },
	{ "gpu_mem_mib", "GPUMEM", .right = true, .show = SHOW_MIB },
	{ "gpu_mem_total_mib", "GPUMEM_OF", .right = true, .show = SHOW_MIB },
	{ "cost", "COST", .right = true },
};

static const struct column queue_columns[] = {
	{ "name", "QUEUE", .letter = 'P' },
	{ "parent", "PARENT", .show = SHOW_TEXT },
	{ "state", "STATE", .letter = 'a' },
	{ "quota", "QUOTA", .field = { "quota_text" } },
	{ "limit", "LIMIT", .field = { "limit_text" } },
	{ "fair_share", "FAIR_SHARE", .field = { "fair_share_text" } },
	{ "allocated", "ALLOCATED", .field = { "allocated_text" } },
	{ "pending_jobs", "PENDING", .right = true },
	{ "running_jobs", "RUNNING", .right = true },
};

/* aiq lists cron entries only in --watch; aictl cron list has columns of
 * its own. */
static const struct column cron_columns[] = {
	{ "cron_id", "CRON", .right = true },
	{ "name", "NAME", .show = SHOW_TEXT },
	{ "user", "USER", .show = SHOW_TEXT },
	{ "queue", "QUEUE", .show = SHOW_TEXT },
	{ "schedule", "SCHEDULE", .show = SHOW_TEXT },
	{ "state", "STATE", .show = SHOW_TEXT },
	{ "next_text", "NEXT", .show = SHOW_TEXT },
	{ "last_text", "LAST", .show = SHOW_TEXT },
	{ "runs", "RUNS", .right = true },
	{ "skipped", "SKIPPED", .right = true },
};

static const struct column share_columns[] = {
	{ "queue", "QUEUE", .letter = 'P' },
	{ "user", "USER", .letter = 'u' },
	{ "quota", "QUOTA", .field = { "quota_text" } },
	{ "fair_share", "FAIR_SHARE", .field = { "fair_share_text" } },
	{ "allocated", "ALLOCATED", .field = { "allocated_text" } },
	{ "ratio", "RATIO", .right = true },
	{ "usage", "USAGE", .right = true },
	{ "share", "SHARE", .right = true },
	{ "factor", "FACTOR", .right = true },
	{ "running_jobs", "RUNNING", .right = true },
	{ "pending_jobs", "PENDING", .right = true },
	{ "cpu_hours", "CPU_HOURS", .right = true },
	{ "gpu_hours", "GPU_HOURS", .right = true },
	{ "jobs", "JOBS", .right = true },
};
/* clang-format on */

const struct view view_jobs = {
	"jobs", job_columns, ARRAY_SIZE(job_columns),
	"display_id,queue,name,user,state_letter,time,num_nodes,where"
};
const struct view view_history = {
	"jobs", job_columns, ARRAY_SIZE(job_columns),
	"display_id,name,user,queue,state,exit,start_time,elapsed_all,"
	"cpu_seconds,"
	"peak_mem_mib,nodelist"
};
const struct view view_attempts = {
	"attempts", attempt_columns, ARRAY_SIZE(attempt_columns),
	"display_id,attempt,user,queue,state,exit,start_time,elapsed,"
	"cpu_seconds,peak_mem_mib,nodelist"
};
const struct view view_queues = {
	"queues", queue_columns, ARRAY_SIZE(queue_columns),
	"name,parent,state,quota,limit,fair_share,allocated,pending_jobs,"
	"running_jobs"
};
const struct view view_nodes = {
	"nodes", node_columns, ARRAY_SIZE(node_columns),
	"name,pool,state,cpus,cpus_free,memory_mib,memory_free_mib,"
	"tmp_mib,tmp_free_mib,gpus,"
	"gpus_free,gpu_type,jobs,reason"
};
const struct view view_crons = {
	"crons", cron_columns, ARRAY_SIZE(cron_columns),
	"cron_id,name,user,queue,schedule,state,next_text,last_text,runs,"
	"skipped"
};
const struct view view_shares = {
	"shares", share_columns, ARRAY_SIZE(share_columns),
	"queue,user,quota,fair_share,allocated,ratio,usage,share,factor,"
	"running_jobs,pending_jobs"
};

static struct pick *add_pick(struct format *format, const struct column *column)
{
	format->pick = GROW(format->pick, format->n, &format->cap);
	format->pick[format->n] = (struct pick){ .column = column };
	return &format->pick[format->n++];
}

/* Returns the column of this name, or NULL with EINVAL. */
static const struct column *find_name(const struct view *view, const char *name,
                                      size_t len, struct err *err)
{
	for (size_t i = 0; i < view->ncolumns; i++)
		if (!strncmp(view->columns[i].name, name, len) &&
		    !view->columns[i].name[len])
			return &view->columns[i];
	err_set(err, EINVAL,
	        "there is no column '%.*s' of %s; aiq(1) lists them", (int)len,
	        name, view->op);
	return NULL;
}

char *format_sort(const struct view *view, const char *text, struct err *err)
{
	const char *name = text + (*text == '-');
	const struct column *column = find_name(view, name, strlen(name), err);

	if (!column)
		return NULL;
	if (column->show == SHOW_PRODUCT) {
		err_set(err, EINVAL,
		        "jobs cannot be sorted by '%s'; '%s' can be", name,
		        column->field[0]);
		return NULL;
	}
	return xasprintf("%s%s", *text == '-' ? "-" : "",
	                 column->field[0] ? column->field[0] : column->name);
}

static int add_names(struct format *format, const struct view *view,
                     const char *text, struct err *err)
{
	for (const char *s = text;; s++) {
		size_t len = strcspn(s, ",");
		const struct column *column = find_name(view, s, len, err);

		if (!column)
			return -1;
		add_pick(format, column);
		s += len;
		if (!*s)
			return 0;
	}
}

static const struct column *find_letter(const struct view *view, char letter)
{
	for (size_t i = 0; letter && i < view->ncolumns; i++)
		if (view->columns[i].letter == letter)
			return &view->columns[i];
	return NULL;
}

/* Parse a template like those of squeue: text, with %[[.]WIDTH]LETTER
 * for columns. */
static int add_template(struct format *format, const struct view *view,
                        const char *text, struct err *err)
{
	struct buf before = { 0 };
	const char *s = text;

	format->is_template = true;
	while (*s) {
		const struct column *column;
		struct pick *pick;
		bool right;
		long width;

		if (*s != '%' || s[1] == '%') {
			buf_addc(&before, *s);
			s += *s == '%' ? 2 : 1;
			continue;
		}
		right = *++s == '.';
		s += right;
		width =
		    isdigit((unsigned char)*s) ? strtol(s, (char **)&s, 10) : 0;
		column = find_letter(view, *s);
		if (!column || width > WIDTH_MAX) {
			buf_free(&before);
			return err_set(err, EINVAL,
			               "'%%%s' of the format '%s' is not a "
			               "column of squeue that aiq knows; see "
			               "aiq(1)",
			               s, text);
		}
		pick = add_pick(format, column);
		pick->before = buf_take(&before);
		pick->width = (int)width;
		pick->right = right;
		s++;
	}
	format->after = buf_take(&before);
	if (!format->n)
		return err_set(err, EINVAL, "the format '%s' has no column",
		               text);
	return 0;
}

/* Parse a list in which names begin with +, as in "+a,+b": its columns are
 * added to the default ones. Names without + in such a list are added, too. */
static int add_more(struct format *format, const struct view *view,
                    const char *text, struct err *err)
{
	struct buf names = { 0 };
	int rc;

	for (const char *s = text; *s; s++)
		if (*s != '+')
			buf_addc(&names, *s);
	rc = add_names(format, view, view->standard, err);
	if (!rc)
		rc = add_names(format, view, names.data ? names.data : "", err);
	buf_free(&names);
	return rc;
}

int format_parse(struct format *ret, const struct view *view, const char *text,
                 struct err *err)
{
	struct format format = { 0 };
	int rc;

	if (!text)
		rc = add_names(&format, view, view->standard, err);
	else if (strchr(text, '%'))
		rc = add_template(&format, view, text, err);
	else if (strchr(text, '+'))
		rc = add_more(&format, view, text, err);
	else
		rc = add_names(&format, view, text, err);
	if (rc < 0) {
		format_free(&format);
		return -1;
	}
	*ret = format;
	return 0;
}

void format_free(struct format *format)
{
	for (size_t i = 0; i < format->n; i++)
		free(format->pick[i].before);
	free(format->pick);
	free(format->after);
	*format = (struct format){ 0 };
}

json_t *format_fields(const struct format *format, bool json)
{
	json_t *fields = json_array();

	for (size_t i = 0; i < format->n; i++) {
		const struct column *c = format->pick[i].column;
		/* Tables show the column quota from the field quota_text, which
		 * is one text; for JSON, request the field quota, an object.
		 * Likewise for other such columns. */
		bool own = !c->field[0] || (json && c->show == SHOW_TEXT);

		json_array_append_new(fields,
		                      json_string(own ? c->name : c->field[0]));
		if (c->field[1])
			json_array_append_new(fields, json_string(c->field[1]));
	}
	return fields;
}
