/* trace_cron.c - the cron entries of a trace, and their runs */
#include <stdio.h>
#include <stdlib.h>

#include "aischedd/state/life/cron.h"
#include "aisim/trace.h"
#include "libcommon/cron/zones.h"
#include "libcommon/mem.h"

enum { RUNS_MAX = 1000000 };

/* The id of the first entry: larger than that of any job. */
static const uint64_t FIRST_ID = (uint64_t)1 << 48;

/* A simulation is the same on every machine, so the zone of an entry that names
 * none is UTC. */
static const struct zone *get_zone(const char *name, struct err *err, void *arg)
{
	struct trace *trace = arg;

	return zones_get(trace->zones, *name ? name : "UTC", err);
}

void trace_set_zones(struct trace *trace)
{
	trace->zones = zones_new();
	state_cron_zones(trace->state, get_zone, trace);
}

/* Whether the job has a key that a cron entry cannot have. */
static int check_keys(const struct trace_job *job, const struct spec *spec,
                      struct err *err)
{
	const char *bad = job->node         ? "nodes"
	                  : job->dependency ? "dependency"
	                  : spec->hold == 1 ? "held"
	                                    : NULL;

	if (bad)
		return err_set(err, EINVAL, "%s does not go with cron", bad);
	if (job->submit < 0)
		return err_set(err, EINVAL,
		               "submit: a cron entry cannot be made before "
		               "second 0");
	return 0;
}

static const char *copy(struct trace *trace, const char *text)
{
	return text ? arena_strdup(trace->arena, text) : NULL;
}

int trace_add_cron(struct trace *trace, const struct trace_job *job,
                   struct spec *spec, const struct cron_rule *rule,
                   struct err *err)
{
	struct trace_cron cron = { .job = *job,
		                   .id = FIRST_ID + trace->ncrons };
	int64_t now = trace->epoch + job->submit;
	struct cron_ask ask = { .uid = job->user,
		                .gid = job->user,
		                .user = trace->user[job->user],
		                .spec = spec,
		                .rule = rule };

	if (check_keys(job, spec, err) < 0 ||
	    state_cron_check(trace->state, rule, job->user, 0, now, err) < 0 ||
	    trace_check(trace, &cron.job, spec, err) < 0)
		return -1;
	state_cron_add(trace->state, &ask, cron.id, now);
	cron.job.cron = cron.id;
	cron.job.name = copy(trace, job->name);
	cron.job.near = copy(trace, job->near);
	cron.job.apart = copy(trace, job->apart);
	cron.packed = spec_pack(spec);
	trace->cron = GROW(trace->cron, trace->ncrons, &trace->cron_cap);
	trace->cron[trace->ncrons++] = cron;
	return 0;
}

static int add_run(struct trace *trace, const struct trace_cron *cron,
                   int64_t second, int64_t shift, struct err *err)
{
	struct trace_job job = cron->job;
	struct spec spec;
	char *name = xasprintf("%s@%lld", cron->job.name, (long long)second);
	int rc;

	spec_unpack(&spec, cron->packed);
	job.name = name;
	job.submit = second + shift;
	rc = trace_add(trace, &job, &spec, err);
	free(name);
	return rc;
}

/* Returns the last time for which the entry may have a run. */
static int64_t last_time(const struct trace *trace, const struct cron_entry *e)
{
	int64_t last = TRACE_NEVER;

	if (trace->until != TRACE_NEVER)
		last = trace->epoch + trace->until -
		       state_cron_shift(trace->state, e);
	return e->rule.until < last ? e->rule.until : last;
}

static int add_runs(struct trace *trace, const struct trace_cron *cron,
                    uint64_t *left, struct err *err)
{
	const struct cron_entry *e = state_cron(trace->state, cron->id);
	const struct zone *zone = state_cron_zone(trace->state, &e->rule, err);
	int64_t shift = state_cron_shift(trace->state, e), at = e->created;
	int64_t last = last_time(trace, e), unused;
	uint64_t n;

	if (last == TRACE_NEVER)
		return err_set(err, EINVAL,
		               "cron entry '%s' never ends: set its cron_until "
		               "or --until",
		               cron->job.name);
	if (!zone)
		return -1;
	n = schedule_count(&e->schedule, zone, at, at, last, &unused);
	if (n > *left)
		return err_set(err, E2BIG,
		               "cron entries have more than %d runs", RUNS_MAX);
	*left -= n;
	while (n--) {
		at = schedule_next(&e->schedule, zone, e->created, at);
		if (add_run(trace, cron, at - trace->epoch, shift, err) < 0)
			return -1;
	}
	return 0;
}

int trace_add_runs(struct trace *trace, struct err *err)
{
	uint64_t left = RUNS_MAX;

	for (size_t i = 0; i < trace->ncrons; i++) {
		const struct trace_cron *cron = &trace->cron[i];

		if (add_runs(trace, cron, &left, err) < 0)
			return err_wrap(err, "%s:%u", trace->file,
			                cron->job.line);
	}
	return 0;
}
