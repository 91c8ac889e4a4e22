/* compare.c - compare two configurations on the same jobs */
#include "aisim/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/state/cluster/node.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"

/* Groups of jobs are printed if their wait changed by more than
 * this fraction. */
static const double NOTABLE = 0.1;

/* --- results of a run ----------------------------------------------------- */

static double part(double held, double offered)
{
	return offered > 0 ? held / offered : -1;
}

/* Returns how much of a resource all nodes have, in thousandths. */
static double capacity(const struct sim *sim, int r)
{
	double sum = 0;

	for (size_t i = 0; i < state_nnodes(sim->state); i++) {
		const struct node *node = state_node(sim->state, (uint32_t)i);

		sum += r == RES_GPU ? node->ngpus * 1000.0
		                    : (double)node->cpu_milli;
	}
	return sum;
}

static double held(const struct sim *sim, int r)
{
	double sum = 0;

	for (size_t i = 0; i < state_conf(sim->state)->npools; i++)
		sum += (double)sim->held[i * RES_N + (size_t)r];
	return sum;
}

void compare_take(const struct sim *sim, struct compare_run *ret)
{
	double span = (double)(sim->stats.last_end - sim->stats.first_start);

	if (sim->stats.last_end == NO_TIME)
		span = 0;
	*ret = (struct compare_run){ .n = sim->trace->njobs, .costs = true };
	ret->job = xcalloc(ret->n + 1, sizeof(*ret->job));
	for (size_t i = 0; i < ret->n; i++) {
		const struct job_stats *s = &sim->job[i].stats;

		ret->job[i] = (struct compare_job){
			.wait = s->first_start == NO_TIME
			            ? -1
			            : s->first_start - s->submit,
			.cost = s->cost,
			.evictions = s->evictions,
			.ended = s->end != NO_TIME,
		};
	}
	/* held() is in seconds times thousandths of a CPU or GPU. */
	ret->gpus = part(held(sim, RES_GPU), capacity(sim, RES_GPU) * span);
	ret->cpus = part(held(sim, RES_CPU), capacity(sim, RES_CPU) * span);
}

void compare_take_real(const struct sim *sim, struct compare_run *ret)
{
	const struct trace *trace = sim->trace;
	int64_t first = TRACE_NEVER, last = 0;
	double gpus = 0, cpus = 0, span;

	*ret = (struct compare_run){ .n = trace->njobs };
	ret->job = xcalloc(ret->n + 1, sizeof(*ret->job));
	for (size_t i = 0; i < ret->n; i++) {
		const struct trace_job *tj = &trace->job[i];
		const struct trace_real *real = &tj->real;

		ret->job[i] = (struct compare_job){
			.wait = real->start == TRACE_NEVER
			            ? -1
			            : real->start - tj->submit,
			.cost = real->cost,
			.evictions = real->evictions,
			.ended = real->end != TRACE_NEVER,
		};
		ret->costs = ret->costs || real->costs;
		gpus += (double)real->gpu_ms;
		cpus += (double)real->cpu_ms;
		if (real->start < first)
			first = real->start;
		if (real->end != TRACE_NEVER && real->end > last)
			last = real->end;
	}
	span = last > first ? (double)(last - first) : 0;
	ret->gpus = part(gpus, capacity(sim, RES_GPU) * span);
	ret->cpus = part(cpus, capacity(sim, RES_CPU) * span);
}

void compare_free(struct compare_run *run)
{
	free(run->job);
	run->job = NULL;
}

/* --- figures ----------------------------------------------------------- */

enum figure {
	F_ENDED,
	F_WAIT_MEAN,
	F_WAIT_P50,
	F_WAIT_P95,
	F_GPUS,
	F_CPUS,
	F_EVICTIONS,
	F_COST,
	FIGURES
};

/* The figures of a run or a group of jobs; NAN: not known. */
struct figures {
	double v[FIGURES];
};

/* A job and the name of its group. */
struct member {
	const char *name;
	size_t job;
};

/* Returns the figures of the n jobs in `member` or, if that is NULL, of the
 * first n jobs of the run. */
static struct figures sum_up(const struct compare_run *run,
                             const struct member *member, size_t n)
{
	double *wait = xcalloc(n + 1, sizeof(*wait)), cost = 0;
	struct figures f = { { 0 } };
	size_t nwaits = 0;

	for (size_t i = 0; i < n; i++) {
		const struct compare_job *job =
		    &run->job[member ? member[i].job : i];

		f.v[F_ENDED] += job->ended;
		f.v[F_EVICTIONS] += job->evictions;
		cost += (double)job->cost;
		if (job->wait >= 0)
			wait[nwaits++] = (double)job->wait;
	}
	f.v[F_COST] = run->costs ? cost / 1e6 : (double)NAN;
	f.v[F_WAIT_MEAN] = nwaits ? stats_mean(wait, nwaits) : (double)NAN;
	f.v[F_WAIT_P50] =
	    nwaits ? stats_percentile(wait, nwaits, 50) : (double)NAN;
	f.v[F_WAIT_P95] =
	    nwaits ? stats_percentile(wait, nwaits, 95) : (double)NAN;
	f.v[F_GPUS] = run->gpus < 0 ? (double)NAN : run->gpus;
	f.v[F_CPUS] = run->cpus < 0 ? (double)NAN : run->cpus;
	free(wait);
	return f;
}

static struct figures minus(const struct figures *a, const struct figures *b)
{
	struct figures f;

	for (int i = 0; i < FIGURES; i++)
		f.v[i] = a->v[i] - b->v[i];
	return f;
}

/* --- groups ------------------------------------------------------------ */

struct group {
	const char *name;
	struct figures was, is;
	/* Change of the mean wait, as a fraction of the old one. */
	double change;
};

static double change_of(double was, double is)
{
	/* Treat waits below a second as a second. */
	double least = was > 1 ? was : 1;

	return isnan(was) || isnan(is) ? 0 : (is - was) / least;
}

static int worst_first(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->change > y->change || x->change < y->change)
		return x->change > y->change ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int by_name(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : (x->job > y->job) - (x->job < y->job);
}

static struct member *sort_members(const char *const *names, size_t n)
{
	struct member *member = xcalloc(n + 1, sizeof(*member));

	for (size_t i = 0; i < n; i++)
		member[i] = (struct member){ names[i], i };
	if (n)
		qsort(member, n, sizeof(*member), by_name);
	return member;
}

static struct group group_of(const struct compare *c,
                             const struct member *member, size_t n)
{
	struct group g = { .name = member->name,
		           .was = sum_up(c->was, member, n),
		           .is = sum_up(c->is, member, n) };

	g.change = change_of(g.was.v[F_WAIT_P95], g.is.v[F_WAIT_P95]);
	return g;
}

static bool is_notable(const struct group *g)
{
	return fabs(g->change) > NOTABLE ||
	       fabs(change_of(g->was.v[F_WAIT_P50], g->is.v[F_WAIT_P50])) >
	           NOTABLE;
}

/* Returns the groups whose wait changed by more than NOTABLE, the worst first;
 * the caller frees the array. */
static struct group *groups_of(const struct compare *c,
                               const char *const *names, size_t *ret_n)
{
	size_t n = c->was->n, told = 0, cap = 0, end;
	struct member *member = sort_members(names, n);
	struct group *group = NULL;

	for (size_t i = 0; i < n; i = end) {
		struct group g;

		for (end = i + 1;
		     end < n && !strcmp(member[end].name, member[i].name);)
			end++;
		g = group_of(c, &member[i], end - i);
		if (!is_notable(&g))
			continue;
		group = GROW(group, told, &cap);
		group[told++] = g;
	}
	if (told)
		qsort(group, told, sizeof(*group), worst_first);
	free(member);
	*ret_n = told;
	return group;
}

/* --- output as JSON ------------------------------------------------------- */

static const char *const keys[FIGURES] = {
	[F_ENDED] = "ended",         [F_WAIT_MEAN] = "wait_mean",
	[F_WAIT_P50] = "wait_p50",   [F_WAIT_P95] = "wait_p95",
	[F_GPUS] = "gpus_allocated", [F_CPUS] = "cpus_allocated",
	[F_EVICTIONS] = "evictions", [F_COST] = "cost",
};

static void put_number(FILE *out, double v)
{
	if (isnan(v))
		fputs("null", out);
	else
		fprintf(out, "%.10g", round(v * 1e6) / 1e6 + 0.0);
}

/* Print figures as JSON; whole: also those that are known only for all
 * jobs together. */
static void put_figures(FILE *out, const char *name, const struct figures *f,
                        bool whole)
{
	bool any = false;

	fprintf(out, "\"%s\":{", name);
	for (int i = 0; i < FIGURES; i++) {
		if (!whole && (i == F_GPUS || i == F_CPUS))
			continue;
		fprintf(out, "%s\"%s\":", any ? "," : "", keys[i]);
		put_number(out, f->v[i]);
		any = true;
	}
	fputc('}', out);
}

static void put_groups(const struct compare *c, const char *key,
                       const char *word, const char *const *names, FILE *out)
{
	size_t n;
	struct group *group = groups_of(c, names, &n);
	struct buf name = { 0 };

	fprintf(out, ",\"%s\":[", key);
	for (size_t i = 0; i < n; i++) {
		buf_clear(&name);
		buf_json(&name, group[i].name);
		fprintf(out, "%s{\"%s\":%s,", i ? "," : "", word, name.data);
		put_figures(out, "old", &group[i].was, false);
		fputc(',', out);
		put_figures(out, "new", &group[i].is, false);
		fputc('}', out);
	}
	fputc(']', out);
	buf_free(&name);
	free(group);
}

/* Print the list of what was left out: {"jobs":2,"reason":"..."} for jobs, and
 * {"reason":"..."} for anything else that the replay lacks. */
static void put_left(const struct compare *c, FILE *out)
{
	const char *at = c->lacks->data, *line;
	struct buf text = { 0 };
	bool any = false;
	size_t len;

	fputs(",\"left_out\":[", out);
	for (size_t i = 0; i < c->left->nreasons; i++, any = true) {
		buf_clear(&text);
		buf_json(&text, c->left->reason[i].text);
		fprintf(out, "%s{\"jobs\":%zu,\"reason\":%s}", any ? "," : "",
		        c->left->reason[i].n, text.data);
	}
	while ((line = text_line(&at, &len))) {
		char *copy = xstrndup(line, len);

		buf_clear(&text);
		buf_json(&text, copy);
		fprintf(out, "%s{\"jobs\":null,\"reason\":%s}", any ? "," : "",
		        text.data);
		free(copy);
		any = true;
	}
	fputc(']', out);
	buf_free(&text);
}

static void print_json(const struct compare *c, FILE *out)
{
	struct figures was = sum_up(c->was, NULL, c->was->n);
	struct figures is = sum_up(c->is, NULL, c->is->n);
	struct figures real, differ = minus(&is, &was), error;

	fprintf(out, "{\"jobs\":%zu,", c->was->n);
	put_figures(out, "old", &was, true);
	fputc(',', out);
	put_figures(out, "new", &is, true);
	fputc(',', out);
	put_figures(out, "difference", &differ, true);
	fputc(',', out);
	if (c->real) {
		real = sum_up(c->real, NULL, c->real->n);
		error = minus(&was, &real);
		put_figures(out, "real", &real, true);
		fputc(',', out);
		put_figures(out, "model_error", &error, true);
	} else {
		fputs("\"real\":null,\"model_error\":null", out);
	}
	put_left(c, out);
	put_groups(c, "by_queue", "queue", c->names.queue, out);
	put_groups(c, "by_user", "user", c->names.user, out);
	fputs("}\n", out);
}

/* --- output as text ------------------------------------------------------- */

static const char *const words[FIGURES] = {
	[F_ENDED] = "jobs ended",    [F_WAIT_MEAN] = "wait mean",
	[F_WAIT_P50] = "wait p50",   [F_WAIT_P95] = "wait p95",
	[F_GPUS] = "GPUs allocated", [F_CPUS] = "CPUs allocated",
	[F_EVICTIONS] = "evictions", [F_COST] = "cost",
};

static void format(enum figure i, double v, struct buf *out)
{
	buf_clear(out);
	if (isnan(v))
		buf_addc(out, '-');
	else if (i == F_WAIT_MEAN || i == F_WAIT_P50 || i == F_WAIT_P95)
		format_duration(out, (int64_t)(v + 0.5));
	else if (i == F_GPUS || i == F_CPUS)
		buf_printf(out, "%.1f %%", 100 * v);
	else if (i == F_COST)
		buf_printf(out, "%.2f", v);
	else
		buf_printf(out, "%.0f", v);
}

/* Format a change in per cent of the old value or, for allocated fractions, in
 * percentage points. */
static void format_change(enum figure i, double was, double is, struct buf *out)
{
	double points = 100 * (is - was);

	buf_clear(out);
	if (isnan(was) || isnan(is)) {
		buf_addc(out, '-');
	} else if (i == F_GPUS || i == F_CPUS) {
		if (fabs(points) >= 0.05)
			buf_printf(out, "%+.1f", points);
	} else if (fabs(is - was) > 1e-9) {
		if (was > 0)
			buf_printf(out, "%+.0f %%", 100 * (is - was) / was);
		else
			buf_addc(out, '-');
	}
}

static void print_figure(const struct figures f[3], bool real, enum figure i,
                         FILE *out)
{
	struct buf text[5] = { { 0 } };

	format(i, f[0].v[i], &text[0]);
	format(i, f[1].v[i], &text[1]);
	format_change(i, f[0].v[i], f[1].v[i], &text[2]);
	if (real) {
		format(i, f[2].v[i], &text[3]);
		format_change(i, f[2].v[i], f[0].v[i], &text[4]);
	}
	fprintf(out, "%-14s", words[i]);
	for (int k = 0; k < (real ? 5 : 3); k++)
		fprintf(out, " %12s", text[k].data ? text[k].data : "");
	fputc('\n', out);
	for (int k = 0; k < 5; k++)
		buf_free(&text[k]);
}

static void print_groups(const struct compare *c, const char *word,
                         const char *const *names, FILE *out)
{
	size_t n;
	struct group *group = groups_of(c, names, &n);
	struct buf was = { 0 }, is = { 0 };

	for (size_t i = 0; i < n; i++) {
		const struct group *g = &group[i];
		enum figure f =
		    fabs(g->change) > NOTABLE ? F_WAIT_P95 : F_WAIT_P50;

		format(f, g->was.v[f], &was);
		format(f, g->is.v[f], &is);
		fprintf(out, "%s %s: %s %s -> %s%s\n", word, g->name, words[f],
		        was.data, is.data,
		        g->is.v[f] > g->was.v[f] ? " (worse)" : "");
	}
	buf_free(&was);
	buf_free(&is);
	free(group);
}

static void print_left(const struct compare *c, FILE *out)
{
	const char *at = c->lacks->data, *line;
	size_t len;

	for (size_t i = 0; i < c->left->nreasons; i++)
		fprintf(out, "left out: %zu job%s (%s)\n", c->left->reason[i].n,
		        c->left->reason[i].n == 1 ? "" : "s",
		        c->left->reason[i].text);
	while ((line = text_line(&at, &len)))
		fprintf(out, "left out: %.*s\n", (int)len, line);
}

static void print_text(const struct compare *c, FILE *out)
{
	struct figures f[3] = { sum_up(c->was, NULL, c->was->n),
		                sum_up(c->is, NULL, c->is->n) };

	if (c->real)
		f[2] = sum_up(c->real, NULL, c->real->n);
	fprintf(out, "%-14s %12s %12s %12s", "", "OLD", "NEW", "DIFFERENCE");
	if (c->real)
		fprintf(out, " %12s %12s", "REAL PAST", "MODEL ERROR");
	fputc('\n', out);
	for (int i = 0; i < FIGURES; i++) {
		bool priced = f[0].v[F_COST] > 0 || f[1].v[F_COST] > 0;

		if (i == F_COST && !priced)
			continue;
		if (i == F_GPUS && isnan(f[0].v[i]) && isnan(f[1].v[i]))
			continue;
		print_figure(f, c->real != NULL, (enum figure)i, out);
	}
	print_groups(c, "queue", c->names.queue, out);
	print_groups(c, "user", c->names.user, out);
	print_left(c, out);
}

void compare_print(const struct compare *c, bool json, FILE *out)
{
	if (json)
		print_json(c, out);
	else
		print_text(c, out);
}
