/* stats.c - the statistics of a simulation */
#include "aisim/stats.h"

#include <math.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "aisim/sim.h"
#include "libcommon/mem.h"

enum {
	/* Jobs that ran shorter than this count as if they had run this
	 * long. */
	SLOWDOWN_BOUND_S = 10,
	/* A start is late if it is later than promised by more than this. */
	PROMISE_SLACK_S = 1
};

/* --- during the simulation --------------------------------------------- */

void stats_advance(struct stats *stats, int64_t now, int64_t then)
{
	if (stats->first_start == NO_TIME)
		return;
	stats->used_s += stats->gpus_used * (then - now);
	stats->offered_s += stats->gpus_offered * (then - now);
}

void stats_promise(struct job_stats *job, int64_t start, int64_t now)
{
	if (job->promise != NO_TIME && job->promise <= start)
		return;
	job->promise = start;
	job->promised_at = now;
}

/* Whether something has intervened since the promise was made: a job arrived, a
 * node changed, or an earlier job evicted others. */
static bool is_overtaken(const struct stats *stats, const struct job_stats *job,
                         uint64_t id)
{
	if (stats->upset != NO_TIME && stats->upset > job->promised_at)
		return true;
	for (size_t i = stats->nevicted; i-- > 0;) {
		const struct eviction_note *e = &stats->evicted[i];

		if (e->at < job->promised_at)
			return false;
		if (e->by && e->by < id)
			return true;
	}
	return false;
}

/* Compare the start of a job with its promised start. */
static void settle_promise(struct stats *stats, struct job_stats *job,
                           uint64_t id, int64_t now)
{
	bool late = now > job->promise + PROMISE_SLACK_S;

	if (job->promise == NO_TIME)
		return;
	stats->promises++;
	if (late && is_overtaken(stats, job, id)) {
		stats->overtaken++;
	} else if (late && job->passed && !job->slipped) {
		stats->passed++;
	} else if (late) {
		stats->late_s =
		    GROW(stats->late_s, stats->nlate, &stats->late_cap);
		stats->late_s[stats->nlate++] = (double)(now - job->promise);
	}
	job->promise = NO_TIME;
	job->passed = job->slipped = false;
}

void stats_start(struct stats *stats, struct job_stats *job, uint64_t id,
                 int64_t now)
{
	stats->starts++;
	settle_promise(stats, job, id, now);
	if (stats->first_start == NO_TIME)
		stats->first_start = now;
	if (job->first_start == NO_TIME)
		job->first_start = now;
	/* The job starts elsewhere before its grace is over: it was moved. */
	if (job->evicted != NO_TIME && job->evicted + job->grace >= now)
		stats->moved++;
	job->evicted = NO_TIME;
}

void stats_evict(struct stats *stats, struct job_stats *job, uint64_t by,
                 int64_t now)
{
	stats->evicted =
	    GROW(stats->evicted, stats->nevicted, &stats->evicted_cap);
	stats->evicted[stats->nevicted++] = (struct eviction_note){ now, by };
	stats->evictions++;
	job->evictions++;
	job->evicted = now;
}

void stats_end(struct stats *stats, struct job_stats *job, int64_t now)
{
	job->end = now;
	if (job->first_start == NO_TIME && !job->was_running)
		return;
	stats->last_end = now;
	stats->used_at_end = stats->used_s;
	stats->offered_at_end = stats->offered_s;
}

void stats_pass(struct stats *stats, double ms, double core_ms)
{
	stats->pass_ms = GROW(stats->pass_ms, stats->npasses, &stats->pass_cap);
	stats->pass_ms[stats->npasses++] = ms;
	stats->core_s += core_ms / 1e3;
}

/* --- at the end -------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

double stats_mean(const double *v, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += v[i];
	return n ? sum / (double)n : 0;
}

double stats_percentile(double *v, size_t n, unsigned percent)
{
	size_t rank = (n * percent + 99) / 100;

	if (!n)
		return 0;
	qsort(v, n, sizeof(*v), by_value);
	return v[rank ? rank - 1 : 0];
}

/* Print {"mean":..,"p50":..,"pNN":..,"max":..}; sorts the values. */
static void print_values(FILE *out, const char *name, double *v, size_t n,
                         unsigned high)
{
	fprintf(out,
	        "\"%s\":{\"mean\":%.4f,\"p50\":%.4f,\"p%u\":%.4f,"
	        "\"max\":%.4f}",
	        name, stats_mean(v, n), stats_percentile(v, n, 50), high,
	        stats_percentile(v, n, high), stats_percentile(v, n, 100));
}

double stats_slowdown(const struct job_stats *job)
{
	double ran = (double)job->ran;
	double all = (double)(job->end - job->submit);
	double bound = fmax(ran, SLOWDOWN_BOUND_S);

	return fmax(all / bound, 1);
}

/* Returns the time from the first submission to the last end. */
static int64_t makespan(const struct sim *sim)
{
	const struct trace *trace = sim->trace;
	int64_t first = trace->epoch;

	if (!trace->njobs || sim->stats.last_end == NO_TIME)
		return 0;
	if (trace->job[0].submit > 0)
		first += trace->job[0].submit;
	return sim->stats.last_end - first;
}

static void print_waits(const struct sim_job *job, size_t njobs, FILE *out)
{
	double *wait = xcalloc(njobs + 1, sizeof(*wait));
	double *slow = xcalloc(njobs + 1, sizeof(*slow));
	size_t nwaits = 0, nslow = 0, ended = 0;

	for (size_t i = 0; i < njobs; i++) {
		const struct job_stats *s = &job[i].stats;

		ended += s->end != NO_TIME;
		if (s->was_running || s->first_start == NO_TIME)
			continue;
		wait[nwaits++] = (double)(s->first_start - s->submit);
		if (s->end != NO_TIME)
			slow[nslow++] = stats_slowdown(s);
	}
	fprintf(out, "\"ended\":%zu,", ended);
	print_values(out, "wait", wait, nwaits, 95);
	fputc(',', out);
	print_values(out, "bounded_slowdown", slow, nslow, 95);
	free(wait);
	free(slow);
}

static double ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

static void print_promises(const struct stats *stats, FILE *out)
{
	uint64_t missed = stats->overtaken + stats->passed + stats->nlate;

	fprintf(out,
	        "\"promises\":%llu,\"promises_kept\":%.4f,"
	        "\"promises_overtaken\":%llu,\"promises_passed\":%llu,",
	        (unsigned long long)stats->promises,
	        stats->promises
	            ? 1 - ratio((double)missed, (double)stats->promises)
	            : 1,
	        (unsigned long long)stats->overtaken,
	        (unsigned long long)stats->passed);
	print_values(out, "promises_late", stats->late_s, stats->nlate, 95);
}

/* Count the jobs that ask for partitions and found none when they arrived. */
static size_t count_refused(const struct sim *sim)
{
	size_t n = 0;

	for (size_t i = 0; i < sim->trace->njobs; i++) {
		const struct job_stats *s = &sim->job[i].stats;

		n +=
		    s->parted && !s->was_running && s->first_start != s->submit;
	}
	return n;
}

void stats_print(const struct sim *sim, FILE *out)
{
	const struct stats *stats = &sim->stats;
	const struct sim_job *job = sim->job;
	size_t njobs = sim->trace->njobs;
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	fprintf(out, "{\"jobs\":%zu,", njobs - sim->nskipped);
	print_waits(job, njobs, out);
	fprintf(out, ",\"makespan\":%lld", (long long)makespan(sim));
	fprintf(
	    out, ",\"gpu_utilisation\":%.4f",
	    ratio((double)stats->used_at_end, (double)stats->offered_at_end));
	fputc(',', out);
	print_promises(stats, out);
	fprintf(out, ",\"evictions\":%llu,\"moved\":%llu,\"passes\":%zu,",
	        (unsigned long long)stats->evictions,
	        (unsigned long long)stats->moved, stats->npasses);
	print_values(out, "pass_ms", stats->pass_ms, stats->npasses, 99);
	if (state_conf(sim->state)->nscales)
		scaled_print(&sim->scaled, sim->state, sim->now, out);
	align_print(&sim->align, out);
	fprintf(out, ",\"mig_refused\":%zu", count_refused(sim));
	fprintf(out, ",\"placements_per_second\":%.0f,\"peak_rss_mib\":%ld}\n",
	        ratio((double)stats->starts, stats->core_s),
	        usage.ru_maxrss / 1024);
}

void stats_fini(struct stats *stats)
{
	free(stats->pass_ms);
	free(stats->late_s);
	free(stats->evicted);
}
