/* steps.c - read the steps of jobs, and add them to the jobs' rows */
#include "slurm/steps.h"

#include <string.h>
#include <time.h>

#include "libcommon/buf.h"
#include "libcommon/map.h"
#include "slurm/job.h"
#include "slurm/rows.h"

/* --- rows for steps ------------------------------------------------------- */

static void set_int(json_t *row, const char *key, int64_t value)
{
	json_object_set_new(row, key, json_integer(value));
}

static const char *state_of(const json_t *step)
{
	const char *why = row_text(step, "why");

	if (!strcmp(why, "time"))
		return "TIMEOUT";
	if (!strcmp(why, "cancel"))
		return "CANCELLED";
	return row_int(step, "exit_code") > 0 || row_int(step, "signal") > 0
	           ? "FAILED"
	           : "COMPLETED";
}

static json_t *begin_row(const json_t *job, const json_t *line)
{
	json_t *row = json_copy((json_t *)(uintptr_t)job);
	int64_t start = row_int(line, "start"), end = row_int(job, "end_time");
	bool over = job_is_over(job);

	json_object_del(row, "steps");
	set_int(row, "step", row_int(line, "step"));
	json_object_set_new(row, "batch", json_true());
	json_object_set_new(row, "step_name",
	                    json_string(row_text(line, "name")));
	set_int(row, "step_tasks", row_int(line, "tasks"));
	set_int(row, "tasks", 1);
	set_int(row, "alloc_cpus", row_int(line, "cpus"));
	set_int(row, "alloc_mem_mib", row_int(line, "mem_mib"));
	set_int(row, "gpus", row_int(line, "gpus"));
	set_int(row, "start_time", start);
	/* A step without a recorded end runs or, if its job is over, was killed
	 * with its shepherd. */
	json_object_set_new(row, "state",
	                    json_string(over ? "CANCELLED" : "RUNNING"));
	set_int(row, "exit_code", 0);
	set_int(row, "signal", 0);
	set_int(row, "elapsed", (over ? end : time(NULL)) - start);
	json_object_del(row, "peak_mem_mib");
	json_object_set_new(row, "cpu_seconds", json_real(0));
	return row;
}

static void end_row(json_t *row, const json_t *line)
{
	int64_t end = row_int(line, "end");

	json_object_set_new(row, "state", json_string(state_of(line)));
	set_int(row, "exit_code", row_int(line, "exit_code"));
	set_int(row, "signal", row_int(line, "signal"));
	set_int(row, "end_time", end);
	set_int(row, "elapsed", end - row_int(row, "start_time"));
	set_int(row, "peak_kib", row_int(line, "peak_kib"));
	json_object_set_new(row, "cpu_seconds",
	                    json_real((double)row_int(line, "cpu_ms") / 1000));
}

/* --- reading steps from the daemon ---------------------------------------- */

struct steps_reading {
	struct map by_id; /* job_id -> its row */
	struct buf text;  /* of one answer */
};

static int keep_part(const void *data, size_t len, void *arg)
{
	struct steps_reading *r = arg;

	buf_add(&r->text, data, len);
	return 0;
}

/* Take a line of a job's record of steps. A line with a name begins a step; one
 * without ends the last step with its number. */
static void take_line(json_t *job, json_t *line)
{
	json_t *steps = json_object_get(job, "steps"), *row;
	size_t i = json_array_size(steps);

	if (json_object_get(line, "name")) {
		json_array_append_new(steps, begin_row(job, line));
		return;
	}
	while (i-- > 0) {
		row = json_array_get(steps, i);
		if (row_int(row, "step") == row_int(line, "step")) {
			end_row(row, line);
			return;
		}
	}
}

static void take_lines(struct steps_reading *r)
{
	const char *at = r->text.data, *text;
	json_t *job = NULL, *line;
	size_t len;

	while ((text = text_line(&at, &len))) {
		line = json_loadb(text, len, 0, NULL);
		if (json_object_get(line, "job"))
			job =
			    map_find(&r->by_id, (uint64_t)row_int(line, "job"));
		else if (line && job)
			take_line(job, line);
		json_decref(line);
	}
}

/* Ask for the steps of the jobs from ids[*done] on. The daemon answers for as
 * many of them as fit into an answer; their number is added to *done. */
static int read_some(struct client *client, struct steps_reading *r,
                     json_t *ids, size_t *done, struct err *err)
{
	json_t *rest = json_array(), *req, *answer;

	for (size_t i = *done; i < json_array_size(ids) && i < *done + 256; i++)
		json_array_append(rest, json_array_get(ids, i));
	req = json_pack("{s:s, s:o}", "op", "steps", "ids", rest);
	buf_clear(&r->text);
	answer = client_call(client, req, NULL, 0, keep_part, r, err);
	json_decref(req);
	if (!answer)
		return -1;
	*done += (size_t)row_int(answer, "done");
	json_decref(answer);
	take_lines(r);
	return 0;
}

int steps_read(struct client *client, json_t *rows, struct err *err)
{
	struct steps_reading r = { .text = { 0 } };
	json_t *ids = json_array(), *row;
	size_t i, done = 0;
	int rc = 0;

	json_array_foreach(rows, i, row) {
		char text[24];

		if (row_int(row, "start_time") == ROW_NONE)
			continue;
		snprintf(text, sizeof(text), "%lld",
		         (long long)row_int(row, "job_id"));
		json_array_append_new(ids, json_string(text));
		json_object_set_new(row, "steps", json_array());
		map_set(&r.by_id, (uint64_t)row_int(row, "job_id"), row);
	}
	while (rc == 0 && done < json_array_size(ids))
		rc = read_some(client, &r, ids, &done, err);
	json_decref(ids);
	map_free(&r.by_id);
	buf_free(&r.text);
	return rc;
}
