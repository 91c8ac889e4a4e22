/* step.c - show running steps */
#include <stdlib.h>
#include <string.h>

#include "libcommon/mem.h"
#include "slurm/job.h"
#include "slurm/rows.h"
#include "slurm/scontrol/scontrol.h"
#include "slurm/steps.h"
#include "slurm/words.h"

static void print_step(const struct scontrol *s, const char *id,
                       const json_t *job, const json_t *step)
{
	const char *next = s->one_line ? " " : "\n   ";
	const struct style style = { 0 };
	struct buf start = { 0 }, tres = { 0 };

	put_moment(row_int(step ? step : job, "start_time"), &start);
	if (step)
		put_job_tres(step, &style, &tres);
	printf("StepId=%s UserId=%lld StartTime=%s TimeLimit=UNLIMITED%s", id,
	       (long long)row_int(job, "uid"), start.data, next);
	printf("State=RUNNING Partition=%s NodeList=%s%s",
	       row_text(job, "queue"), row_text(job, "nodelist"), next);
	printf("Nodes=1 CPUs=%lld Tasks=%lld Name=%s Network=(null)%s",
	       step ? (long long)job_cpus(step) : 0LL,
	       step ? (long long)row_int(step, "step_tasks") : 1LL,
	       step ? row_text(step, "step_name") : "batch", next);
	printf("TRES=%s%sResvPorts=(null)%sCPUFreqReq=Default%s"
	       "SrunHost:Pid=(null):0\n%s",
	       step ? tres.data : "(null)", next, next, next,
	       s->one_line ? "" : "\n");
	buf_free(&start);
	buf_free(&tres);
}

/* Print the running steps of a job that `part` selects: the text behind the dot
 * of the step's id, or "" for all. Returns how many were printed. */
static size_t print_steps(const struct scontrol *s, const json_t *job,
                          const char *part)
{
	const json_t *steps = json_object_get(job, "steps"), *step;
	const char *name = row_text(job, "display_id");
	char *id = xasprintf("%s.batch", name);
	size_t n = 0, i;

	if (row_int(job, "allocation") == ROW_NONE &&
	    (!*part || !strcmp(part, "batch"))) {
		print_step(s, id, job, NULL);
		n++;
	}
	free(id);
	json_array_foreach(steps, i, step) {
		id = xasprintf("%s.%lld", name,
		               (long long)row_int(step, "step"));
		if (!strcmp(row_text(step, "state"), "RUNNING") &&
		    (!*part || !strcmp(part, strrchr(id, '.') + 1))) {
			print_step(s, id, job, step);
			n++;
		}
		free(id);
	}
	return n;
}

static int read_jobs(struct scontrol *s, const char *job, json_t **ret,
                     struct err *err)
{
	json_t *fields = json_array();
	json_t *req = json_pack("{s:s, s:b, s:[s, s]}", "op", "jobs", "all", 1,
	                        "states", "RUNNING", "COMPLETING");
	int rc;

	rows_add_fields(
	    fields,
	    "job_id display_id allocation uid queue nodelist state "
	    "start_time end_time alloc_cpus tasks alloc_mem_mib gpus num_nodes "
	    "elapsed");
	if (job) {
		json_object_del(req, "states");
		json_object_set_new(req, "ids", json_pack("[s]", job));
	}
	rc = rows_read(s->client, req, fields, ret, NULL, err);
	json_decref(fields);
	if (rc == 0 && job && !json_array_size(*ret))
		rc = err_set(err, ENOENT, "there is no job %s", job);
	return rc < 0 ? -1 : steps_read(s->client, *ret, err);
}

/* Show the steps of all jobs (`what` is NULL), of a job ("12"), or one step
 * ("12.0"). */
int scontrol_show_step(struct scontrol *s, const char *what)
{
	const char *dot = what ? strchr(what, '.') : NULL;
	char *job = what ? xstrndup(what, strcspn(what, ".")) : NULL;
	json_t *rows = NULL, *row;
	struct err err;
	size_t n = 0, i;
	int status = EXIT_SUCCESS;

	if (!scontrol_connect(s, "slurm_get_job_steps")) {
		free(job);
		return EXIT_FAILURE;
	}
	if (read_jobs(s, job, &rows, &err) < 0) {
		fprintf(stderr, "slurm_get_job_steps error: %s\n",
		        err.code == EINVAL ? WORDS_NO_JOB : words_of_job(&err));
		status = EXIT_FAILURE;
	}
	answer_clean(rows);
	json_array_foreach(status ? NULL : rows, i, row)
		if (!job_is_over(row) && row_int(row, "start_time") != ROW_NONE)
			n += print_steps(s, row, dot ? dot + 1 : "");
	if (!status && !n && what) {
		printf("Job step %s%s not found\n", what, dot ? "" : ".");
		status = EXIT_FAILURE;
	} else if (!status && !n) {
		puts("No job steps in the system");
	}
	json_decref(rows);
	free(job);
	return status;
}
