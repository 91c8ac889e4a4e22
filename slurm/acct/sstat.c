/* sstat.c - the resources that running steps on this machine use */
#include <stdlib.h>
#include <string.h>

#include "libcommon/jobid.h"
#include "libcommon/mem.h"
#include "slurm/acct/columns.h"
#include "slurm/acct/procs.h"
#include "slurm/command.h"
#include "slurm/job.h"
#include "slurm/rows.h"
#include "slurm/steps.h"
#include "slurm/words.h"

VALUE(v_number)
{
	UNUSED;
	buf_i64(out, row_int(row, field->needs));
}

VALUE(v_kib)
{
	UNUSED;
	buf_printf(out, "%lldK", (long long)row_int(row, field->needs));
}

VALUE(v_seconds)
{
	UNUSED;
	put_clock(row_int(row, field->needs), out);
}

#define EMPTY(name, width)                                \
	{                                                 \
		0, name, name, "", v_none, NULL, 1, width \
	}

/* clang-format off */
static const struct slurm_field fields[] = {
	{ 0, "AveCPU", "AveCPU", "cpu_s", v_seconds, NULL, 1, 10 },
	EMPTY("AveCPUFreq", 10), EMPTY("AveDiskRead", 12),
	EMPTY("AveDiskWrite", 12), EMPTY("AvePages", 10),
	{ 0, "AveRSS", "AveRSS", "rss_kib", v_kib, NULL, 1, 10 },
	{ 0, "AveVMSize", "AveVMSize", "vm_kib", v_kib, NULL, 1, 10 },
	EMPTY("ConsumedEnergy", 14), EMPTY("ConsumedEnergyRaw", 17),
	{ 0, "JobID", "JobID", "id", v_text, NULL, 1, -12 },
	EMPTY("MaxDiskRead", 12), EMPTY("MaxDiskReadNode", 15),
	EMPTY("MaxDiskReadTask", 15), EMPTY("MaxDiskWrite", 12),
	EMPTY("MaxDiskWriteNode", 16), EMPTY("MaxDiskWriteTask", 16),
	EMPTY("MaxPages", 8), EMPTY("MaxPagesNode", 12),
	EMPTY("MaxPagesTask", 14),
	{ 0, "MaxRSS", "MaxRSS", "peak_kib", v_kib, NULL, 1, 10 },
	{ 0, "MaxRSSNode", "MaxRSSNode", "node", v_text, NULL, 1, 10 },
	EMPTY("MaxRSSTask", 10),
	{ 0, "MaxVMSize", "MaxVMSize", "vm_peak_kib", v_kib, NULL, 1, 10 },
	{ 0, "MaxVMSizeNode", "MaxVMSizeNode", "node", v_text, NULL, 1, 14 },
	EMPTY("MaxVMSizeTask", 14), EMPTY("MinCPU", 10),
	EMPTY("MinCPUNode", 10), EMPTY("MinCPUTask", 10),
	{ 0, "Nodelist", "Nodelist", "node", v_text, NULL, 1, 20 },
	{ 0, "NTasks", "NTasks", "ntasks", v_number, NULL, 1, 8 },
	{ 0, "Pids", "Pids", "pids", v_text, NULL, 1, 20 },
	EMPTY("ReqCPUFreq", 13), EMPTY("ReqCPUFreqMin", 13),
	EMPTY("ReqCPUFreqMax", 13), EMPTY("ReqCPUFreqGov", 13),
	EMPTY("TRESUsageInAve", 14), EMPTY("TRESUsageInMax", 14),
	EMPTY("TRESUsageInMaxNode", 18), EMPTY("TRESUsageInMaxTask", 18),
	EMPTY("TRESUsageInMin", 14), EMPTY("TRESUsageInMinNode", 18),
	EMPTY("TRESUsageInMinTask", 18), EMPTY("TRESUsageInTot", 14),
	EMPTY("TRESUsageOutAve", 15), EMPTY("TRESUsageOutMax", 15),
	EMPTY("TRESUsageOutMaxNode", 19), EMPTY("TRESUsageOutMaxTask", 19),
	EMPTY("TRESUsageOutMin", 15), EMPTY("TRESUsageOutMinNode", 19),
	EMPTY("TRESUsageOutMinTask", 19), EMPTY("TRESUsageOutTot", 15),
	{ 0, NULL, NULL, NULL, NULL, NULL, 0, 0 },
};
/* clang-format on */

#define USUAL                                                                \
	"JobID,MaxVMSize,MaxVMSizeNode,MaxVMSizeTask,AveVMSize,MaxRSS,"      \
	"MaxRSSNode,MaxRSSTask,AveRSS,MaxPages,MaxPagesNode,MaxPagesTask,"   \
	"AvePages,MinCPU,MinCPUNode,MinCPUTask,AveCPU,NTasks,AveCPUFreq,"    \
	"ReqCPUFreqMin,ReqCPUFreqMax,ReqCPUFreqGov,ConsumedEnergy,"          \
	"MaxDiskRead,MaxDiskReadNode,MaxDiskReadTask,AveDiskRead,"           \
	"MaxDiskWrite,MaxDiskWriteNode,MaxDiskWriteTask,AveDiskWrite,"       \
	"TRESUsageInAve,TRESUsageInMax,TRESUsageInMaxNode,"                  \
	"TRESUsageInMaxTask,TRESUsageInMin,TRESUsageInMinNode,"              \
	"TRESUsageInMinTask,TRESUsageInTot,TRESUsageOutAve,TRESUsageOutMax," \
	"TRESUsageOutMaxNode,TRESUsageOutMaxTask,TRESUsageOutMin,"           \
	"TRESUsageOutMinNode,TRESUsageOutMinTask,TRESUsageOutTot"
#define PIDS "JobID,Nodelist,Pids"

enum { SCRIPT = -1 }; /* stands for a step's number */

struct sstat {
	struct acct_columns columns;
	const char *format;
	json_t *jobs; /* as given: "12", "12.0", "12.batch" */
	bool all, pids, help;
};

/* --- rows ----------------------------------------------------------------- */

static void print_step(const struct sstat *s, const json_t *job, int64_t step,
                       int64_t tasks)
{
	const char *name = row_text(job, "display_id");
	struct procs_use use;
	json_t *row;
	char *id = step == SCRIPT ? xasprintf("%s.batch", name)
	                          : xasprintf("%s.%lld", name, (long long)step);

	procs_read(row_int(job, "job_id"), step, &use);
	row = json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:s}", "id",
	                id, "node", row_text(job, "nodelist"), "ntasks",
	                (json_int_t)tasks, "cpu_s",
	                (json_int_t)(use.cpu_ms / 1000 / tasks), "rss_kib",
	                (json_int_t)(use.rss_kib / tasks), "peak_kib",
	                (json_int_t)use.peak_kib, "vm_kib",
	                (json_int_t)(use.vm_kib / tasks), "vm_peak_kib",
	                (json_int_t)use.vm_peak_kib, "pids",
	                use.pids.data ? use.pids.data : "");
	columns_row(&s->columns, row);
	json_decref(row);
	procs_free(&use);
	free(id);
}

/* Print the steps of a job that `part` selects: "batch", a number, or "". With
 * "", print the first step, or with --allsteps all. Returns how many were
 * printed. */
static size_t print_steps(const struct sstat *s, const json_t *job,
                          const char *part)
{
	const json_t *steps = json_object_get(job, "steps"), *step;
	bool has_script = row_int(job, "allocation") == ROW_NONE;
	char id[24];
	size_t n = 0, i;

	if (has_script && (!strcmp(part, "batch") || (s->all && !*part))) {
		print_step(s, job, SCRIPT, 1);
		n++;
	}
	json_array_foreach(steps, i, step) {
		int64_t tasks = row_int(step, "step_tasks");

		snprintf(id, sizeof(id), "%lld",
		         (long long)row_int(step, "step"));
		if (strcmp(row_text(step, "state"), "RUNNING") != 0 ||
		    (*part ? strcmp(part, id) != 0 : n && !s->all))
			continue;
		print_step(s, job, row_int(step, "step"),
		           tasks > 0 ? tasks : 1);
		n++;
	}
	return n;
}

static json_t *read_job(struct client *client, const char *id, struct err *err)
{
	json_t *needs = json_array(), *rows = NULL;
	json_t *req =
	    json_pack("{s:s, s:[s], s:b}", "op", "jobs", "ids", id, "all", 1);

	rows_add_fields(needs, "job_id display_id allocation state start_time "
	                       "end_time elapsed nodelist");
	if (rows_read(client, req, needs, &rows, NULL, err) == 0 &&
	    steps_read(client, rows, err) < 0) {
		json_decref(rows);
		rows = NULL;
	}
	json_decref(needs);
	return rows;
}

/* Whether the job runs on this machine, where its processes can be seen. */
static bool is_here(struct client *client, const char *id, struct err *err)
{
	json_t *req = json_pack("{s:s, s:s}", "op", "step", "id", id);
	json_t *answer = client_call(client, req, NULL, 0, NULL, NULL, err);
	bool here = answer != NULL;

	json_decref(req);
	json_decref(answer);
	return here;
}

static void tell(const struct err *err, const char *text, const char *id,
                 bool whole)
{
	if (err->code == EOPNOTSUPP)
		command_error("%s", err->text);
	else if (words_is_unreachable(err) || err->code == EPERM)
		command_error("couldn't get steps for job %s: %s", id,
		              words_of_job(err));
	else if (whole)
		command_error("No steps running for job %s", id);
	else
		command_error("StepId=%s not found running.", text);
}

static void print_job(const struct sstat *s, struct client *client,
                      const char *text)
{
	const char *dot = strchr(text, '.');
	char *id = xstrndup(text, strcspn(text, "."));
	struct err err = { 0 };
	json_t *rows = read_job(client, id, &err), *row;
	size_t n = 0, i;

	if (!json_array_size(rows))
		command_error("couldn't get steps for job %s", id);
	else if (!is_here(client, id, &err))
		tell(&err, text, id, !dot);
	else {
		json_array_foreach(rows, i, row)
			n += print_steps(s, row, dot ? dot + 1 : "");
		if (!n)
			tell(&err, text, id, !dot);
	}
	json_decref(rows);
	free(id);
}

static int run(const struct sstat *s)
{
	struct err err;
	struct client *client = command_connect(&err);
	const json_t *item;
	size_t i;

	if (!client) {
		command_error("%s", words_of_job(&err));
		return EXIT_FAILURE;
	}
	columns_header(&s->columns);
	json_array_foreach(s->jobs, i, item) {
		fflush(stdout);
		print_job(s, client, json_string_value(item));
	}
	client_close(client);
	return EXIT_SUCCESS;
}

/* --- the command ---------------------------------------------------------- */

static int set_jobs(void *ctx, const struct opt *opt, const char *value,
                    struct err *err)
{
	const struct sstat *s = ctx;
	const json_t *item;
	size_t i;

	if (command_add_items(ctx, opt, value, err) < 0)
		return -1;
	json_array_foreach(s->jobs, i, item) {
		const char *text = json_string_value(item);
		char *job = xstrndup(text, strcspn(text, "."));
		struct jobid id;
		bool bad = jobid_parse(&id, job, NULL) < 0;

		free(job);
		if (bad) {
			fprintf(stderr,
			        "sstat: fatal: Bad job/step specified: %s\n",
			        text);
			exit(EXIT_FAILURE);
		}
		idset_free(&id.tasks);
	}
	return 0;
}

#define AT(member) .offset = offsetof(struct sstat, member)

/* clang-format off */
static const struct opt opts[] = {
	{ 'a', "allsteps", NULL, "all steps that run", opt_set_true, AT(all) },
	{ 'o', "format", "NAME[%WIDTH],...", "columns", opt_set_text, AT(format) },
	{ 0, "fields", "NAME,...", NULL, opt_set_text, AT(format) },
	{ 'e', "helpformat", NULL, "list the columns", opt_set_true, AT(help) },
	{ 'j', "jobs", "JOB[.STEP],...", "these jobs or steps", set_jobs, AT(jobs) },
	{ 0, "noconvert", NULL, NULL, .set = command_ignore },
	{ 'n', "noheader", NULL, "print no header line", opt_set_true, AT(columns.no_header) },
	{ 'p', "parsable", NULL, "columns end with |", opt_set_true, AT(columns.parsable) },
	{ 'P', "parsable2", NULL, "| between columns", opt_set_true, AT(columns.parsable2) },
	{ 'i', "pidformat", NULL, "processes of each step", opt_set_true, AT(pids) },
	{ 'v', "verbose", NULL, NULL, .set = command_ignore },
	OPT_END
};
/* clang-format on */

static const struct command_line line = {
	.name = "sstat",
	.usage = "[OPTION]... -j JOB[.STEP],...",
	.opts = opts,
	.usage_status = 1,
};

int sstat_main(int argc, char **argv)
{
	struct sstat s = { .columns = { .table = fields, .of = 1 } };
	int rc = EXIT_FAILURE;

	command_parse(&line, &s, argc, argv);
	if (s.help) {
		columns_help(fields, 1);
		return EXIT_SUCCESS;
	}
	if (!json_array_size(s.jobs))
		command_error("You didn't give me any jobs to stat.");
	else if (columns_make(&s.columns, s.format ? s.format
	                                  : s.pids ? PIDS
	                                           : USUAL) == 0)
		rc = run(&s);
	columns_free(&s.columns);
	json_decref(s.jobs);
	return rc;
}
