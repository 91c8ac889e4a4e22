/*
 * trace_swf.c - read the Standard Workload Format
 *
 * This is the format of the Parallel Workloads Archive. A processor becomes a
 * task with one CPU. Errors in the logs are corrected in the usual way: a job
 * with no run time or no processors runs for a second, on at least one
 * processor; a job that ran longer than it requested ends after the requested
 * time.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aisim/cluster.h"
#include "aisim/trace.h"
#include "libcommon/limits.h"

/* Fields of a line, in order; -1 means unknown. */
enum {
	SWF_JOB,
	SWF_SUBMIT,
	SWF_WAIT,
	SWF_RUN,
	SWF_PROCS,
	SWF_CPU_TIME,
	SWF_MEMORY,
	SWF_ASKED_PROCS,
	SWF_ASKED_TIME,
	SWF_ASKED_MEMORY,
	SWF_STATUS,
	SWF_USER,
	SWF_GROUP,
	SWF_EXECUTABLE,
	SWF_QUEUE,
	SWF_PARTITION,
	SWF_PRECEDING,
	SWF_THINK_TIME,
	SWF_FIELDS
};

static int read_fields(const char *text, int64_t field[SWF_FIELDS],
                       struct err *err)
{
	for (int i = 0; i < SWF_FIELDS; i++) {
		char *end;
		double d = strtod(text, &end);

		if (end == text || fabs(d) > (double)TRACE_MAX_S)
			return err_set(err, EINVAL,
			               "field %d is not a number in range; a "
			               "line has %d fields",
			               i + 1, SWF_FIELDS);
		field[i] = (int64_t)d;
		text = end;
	}
	if (text[strspn(text, " \t\r\n")])
		return err_set(err, EINVAL, "more than %d fields", SWF_FIELDS);
	return 0;
}

static int64_t largest(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static void clean(const int64_t field[SWF_FIELDS], struct trace_job *job,
                  struct spec *spec)
{
	int64_t run = field[SWF_RUN], asked = field[SWF_ASKED_TIME];
	int64_t procs =
	    field[SWF_PROCS] > 0 ? field[SWF_PROCS] : field[SWF_ASKED_PROCS];

	if (run <= 0 || procs <= 0)
		run = 1;
	spec->tasks = largest(procs, 1);
	spec->time_limit = largest(asked, run);
	job->work = asked > 0 && asked < run ? asked : run;
}

/* Returns the queue of this number if it exists, else the default. */
static const char *queue_of(const struct trace *trace, const char *number)
{
	return conf_queue_find(state_conf(trace->state), number) < 0 ? NULL
	                                                             : number;
}

static int read_line(struct trace *trace, const char *text, uint32_t line,
                     int64_t cpus, struct err *err)
{
	struct trace_job job = { .line = line,
		                 .preemptible = -1,
		                 .deadline = TRACE_NEVER };
	char name[24], user[24], queue[24];
	int64_t field[SWF_FIELDS];
	struct spec spec;

	if (read_fields(text, field, err) < 0)
		return -1;
	spec_init(&spec);
	clean(field, &job, &spec);
	if (spec.tasks * 1000 > cpus || spec.tasks > LIMIT_TASKS) {
		struct err why;

		err_set(&why, EINVAL,
		        "it asks for more processors than the simulated nodes "
		        "have");
		trace_leave(trace, "", &why);
		return 0;
	}
	snprintf(name, sizeof(name), "%lld", (long long)field[SWF_JOB]);
	snprintf(user, sizeof(user), "%lld", (long long)field[SWF_USER]);
	snprintf(queue, sizeof(queue), "%lld", (long long)field[SWF_QUEUE]);
	job.name = name;
	job.user = trace_user(trace, user);
	job.submit = field[SWF_SUBMIT];
	spec.queue = queue_of(trace, queue);
	return trace_add(trace, &job, &spec, err);
}

int trace_read_swf(struct trace *trace, struct err *err)
{
	int64_t cpus = cluster_cpus(trace->state);
	FILE *in = fopen(trace->file, "re");
	char *text = NULL;
	uint32_t line = 0;
	size_t cap = 0;
	int rc = 0;

	if (!in)
		return err_sys(err, "cannot read '%s'", trace->file);
	while (rc == 0 && getline(&text, &cap, in) >= 0) {
		line++;
		if (*text == ';' || !text[strspn(text, " \t\r\n")])
			continue;
		rc = read_line(trace, text, line, cpus, err);
		if (rc < 0)
			err_wrap(err, "%s:%u", trace->file, line);
	}
	if (rc == 0 && ferror(in))
		rc = err_sys(err, "cannot read '%s'", trace->file);
	free(text);
	fclose(in);
	return rc;
}
