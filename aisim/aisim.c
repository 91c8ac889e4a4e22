/* aisim - run jobs through the scheduler with a virtual clock */
#include <err.h>
#include <malloc.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "aischedd/state/cluster/node.h"
#include "aischedd/state/cluster/scale.h"
#include "aischedd/state/pass/why.h"
#include "aisim/advise.h"
#include "aisim/cluster.h"
#include "aisim/compare.h"
#include "aisim/nodes.h"
#include "aisim/sim.h"
#include "libcommon/clock.h"
#include "libcommon/err.h"
#include "libcommon/mem.h"
#include "libcommon/opt.h"
#include "libcommon/parse.h"

#define EPOCH_MAX INT64_C(253402300799) /* the end of 9999 */

struct args {
	const char *conf, *jobs, *swf, *history, *compare;
	const char *events, *summary;
	const char *epoch_text;
	int64_t until, epoch;
	bool check, shares, advise, json;
	bool replayed; /* the jobs have been read before, and warnings about
	                  them printed */
};

static struct args arg = { .until = TRACE_NEVER, .epoch = TRACE_EPOCH };

static int set_until(void *ctx, const struct opt *opt, const char *value,
                     struct err *err)
{
	(void)ctx;
	(void)opt;
	return parse_int(value, 0, TRACE_MAX_S, &arg.until, err);
}

#define AT(member) .offset = offsetof(struct args, member)

/* clang-format off */
static const struct opt opts[] = {
	{ 'c', "config", "FILE", "the configuration: queues, nodes, policy",
	  opt_set_text, AT(conf) },
	{ 'j', "jobs", "FILE", "jobs and events, one JSON object a line",
	  opt_set_text, AT(jobs) },
	{ 0, "swf", "FILE", "jobs in the Standard Workload Format",
	  opt_set_text, AT(swf) },
	{ 0, "history", "FILE",
	  "jobs as `aiq --history --replay` or --json prints them",
	  opt_set_text, AT(history) },
	{ 0, "compare", "FILE",
	  "compare with what this configuration makes of them",
	  opt_set_text, AT(compare) },
	{ 0, "until", "SECOND", "end after this second", .set = set_until },
	{ 0, "epoch", "TIME", "second 0 is this time, in UTC",
	  opt_set_text, AT(epoch_text) },
	{ 0, "events", "FILE", "write events, one JSON object a line",
	  opt_set_text, AT(events) },
	{ 0, "summary", "FILE", "write sums and speed, as one JSON object",
	  opt_set_text, AT(summary) },
	{ 0, "shares", NULL, "print the fair shares in second 0",
	  opt_set_true, AT(shares) },
	{ 0, "advise", NULL, "compare all orders of jobs on these jobs",
	  opt_set_true, AT(advise) },
	{ 0, "json", NULL, "print what --advise or --compare found as JSON",
	  opt_set_true, AT(json) },
	{ 0, "check", NULL, "verify every plan, fail on the first bad one",
	  opt_set_true, AT(check) },
	OPT_END
};
/* clang-format on */

static const struct opt_prog prog = {
	.name = "aisim",
	.usage = "-c FILE (-j FILE | --swf FILE | --history FILE) [OPTION]...",
	.about = "Run jobs through the scheduler of aischedd with a virtual "
		 "clock.\nWithout --events, --summary, --shares, --advise and "
		 "--compare the summary is printed.",
	.opts = opts,
};

static int usage(const char *text)
{
	warnx("%s", text);
	fprintf(stderr, "Try 'aisim --help'.\n");
	return EXIT_USAGE;
}

/* --- input ------------------------------------------------------------- */

/* Get the state of an ended array: COMPLETED if all of its tasks completed,
 * else the state of a task that did not. Returns -1 if a task has not ended. */
static int past_array(const struct sim *sim, const struct trace_array *array,
                      struct past *ret)
{
	*ret = (struct past){ .state = JOB_COMPLETED, .start = NO_TIME };
	for (uint32_t task = array->min; task <= array->max; task++) {
		uint64_t id = trace_task(sim->trace, array, task);
		const struct sim_job *sj = id ? &sim->job[id - 1] : NULL;

		if (!sj)
			continue;
		if (sj->stats.end == NO_TIME)
			return -1;
		if (sj->end != JOB_COMPLETED)
			ret->state = (enum job_state)sj->end;
		if (sj->stats.first_start > ret->start || ret->start == NO_TIME)
			ret->start = sj->stats.first_start;
	}
	return 0;
}

/* For state_new(): get the end of a job or task that the state no
 * longer has. */
static int past(uint64_t job, uint32_t task, struct past *ret, void *ctx)
{
	const struct sim *sim = ctx;
	const struct sim_job *sj;
	const struct trace_array *array = trace_array(sim->trace, job);

	if (array && task == NO_TASK)
		return past_array(sim, array, ret);
	if (array)
		job = trace_task(sim->trace, array, task);
	if (!job || job > sim->trace->njobs)
		return -1;
	sj = &sim->job[job - 1];
	if (sj->stats.end == NO_TIME)
		return -1;
	*ret = (struct past){ .state = (enum job_state)sj->end,
		              .start = sj->stats.first_start };
	return 0;
}

static struct conf *load_conf(const char *path, struct buf *lacks)
{
	struct buf warnings = { 0 };
	struct err why;
	struct conf *conf =
	    nodes_load_conf(path, arg.history, &warnings, lacks, &why);

	if (!conf)
		errx(EXIT_FAILURE, "%s", why.text);
	if (warnings.len)
		fputs(warnings.data, stderr);
	buf_free(&warnings);
	return conf;
}

/* Warn about what a replay lacks, because the simulation may then look better
 * than the past was. */
static void warn_lacks(const struct trace *trace)
{
	const char *at = trace->lacks.data, *line;
	size_t len;

	while ((line = text_line(&at, &len)))
		warnx("%s: left out: %.*s", trace->file, (int)len, line);
	if (trace->ndropped)
		warnx("%s: dependencies on jobs that are not in it are met: "
		      "%zu",
		      trace->file, trace->ndropped);
}

static int read_trace(struct trace *trace, struct err *err)
{
	int rc = arg.swf       ? trace_read_swf(trace, err)
	         : arg.history ? trace_read_history(trace, err)
	                       : trace_read_jobs(trace, err);

	if (rc < 0)
		return -1;
	if (trace->nleft_out && !arg.replayed)
		warnx("%s: jobs left out: %zu; the first: %s", trace->file,
		      trace->nleft_out, trace->left_out.text);
	if (trace_finish(trace, err) < 0)
		return -1;
	if (!arg.replayed)
		warn_lacks(trace);
	return 0;
}

/* --- output ------------------------------------------------------------ */

static FILE *open_output(const char *path)
{
	FILE *out;

	if (!path)
		return NULL;
	if (!strcmp(path, "-"))
		return stdout;
	out = fopen(path, "we");
	if (!out)
		err(EXIT_FAILURE, "cannot write '%s'", path);
	return out;
}

static void close_output(FILE *out, const char *path)
{
	if (out &&
	    (fflush(out) || ferror(out) || (out != stdout && fclose(out))))
		err(EXIT_FAILURE, "cannot write '%s'", path);
}

static bool prints_summary(void)
{
	return arg.summary || !(arg.events || arg.shares);
}

static void print_summary(const struct sim *sim)
{
	const char *path = arg.summary ? arg.summary : "-";
	FILE *out;

	if (!prints_summary())
		return;
	out = open_output(path);
	stats_print(sim, out);
	close_output(out, path);
}

/* If no job has started, which is seldom intended, print why the first
 * one waits. */
static void warn_if_none_started(const struct sim *sim)
{
	const struct job *job = state_first_job(sim->state);
	struct buf text = { 0 };
	int64_t expected;
	uint32_t position;

	for (size_t i = 0; i < sim->trace->njobs; i++)
		if (sim->job[i].stats.first_start != NO_TIME)
			return;
	if (!job || job->state != JOB_PENDING)
		return;
	state_why(sim->state, job, sim->now, &text, &expected, &position);
	warnx("no job has started; the first: %s", text.data ? text.data : "?");
	buf_free(&text);
}

/* --- the run ----------------------------------------------------------- */

static const char *input(void)
{
	return arg.swf ? arg.swf : arg.history ? arg.history : arg.jobs;
}

static int run(struct sim *sim, FILE *events, struct left_out *left,
               struct err *err)
{
	if (cluster_begin(sim->state, err) < 0)
		return -1;
	sim->trace = trace_new(sim->state, input());
	sim->trace->epoch = arg.epoch;
	sim->trace->until = arg.until;
	sim->trace->left = left;
	if (read_trace(sim->trace, err) < 0)
		return -1;
	sim_init(sim);
	state_scale_simulate(sim->state);
	state_scale_begin(sim->state);
	tell_init(&sim->tell, state_nnodes(sim->state), events);
	if (prints_summary())
		align_init(&sim->align, state_nnodes(sim->state));
	return sim_run(sim, err);
}

/* Let malloc() keep freed memory: each pass needs as much as the last one, and
 * this saves a tenth of the time. */
static void keep_memory(void)
{
	mallopt(M_MMAP_THRESHOLD, 32 << 20); /* glibc refuses more */
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

/* Run a simulation. The caller must call end_run(). */
static void begin_run(struct sim *sim, const struct conf *conf, FILE *events,
                      struct left_out *left)
{
	struct err why;

	sim->check = arg.check;
	sim->shares = arg.shares ? stdout : NULL;
	sim->state = state_new(conf, past, sim);
	if (run(sim, events, left, &why) < 0)
		errx(EXIT_FAILURE, "%s", why.text);
}

static void end_run(struct sim *sim)
{
	sim_fini(sim);
	state_free(sim->state);
}

static void simulate(const struct conf *conf)
{
	FILE *events = open_output(arg.events);
	struct sim sim = { 0 };

	begin_run(&sim, conf, events, NULL);
	warn_if_none_started(&sim);
	close_output(events, arg.events);
	close_output(sim.shares, "standard output");
	print_summary(&sim);
	end_run(&sim);
}

static void advise(struct conf *conf)
{
	const struct conf configured = *conf;
	struct advise_sums sums[ADVISE_N];

	for (int i = 0; i < ADVISE_N; i++) {
		struct sim sim = { 0 };

		advise_prepare(conf, &configured, i);
		begin_run(&sim, conf, NULL, NULL);
		if (!i)
			warn_if_none_started(&sim);
		arg.replayed = true;
		advise_sum(&sim, &sums[i]);
		if (sums[i].jobs != sums[0].jobs)
			errx(EXIT_FAILURE,
			     "'%s' has other jobs each time it is read: give "
			     "--advise a file, not a pipe",
			     sim.trace->file);
		end_run(&sim);
	}
	advise_print(&configured, sums, arg.json, stdout);
	close_output(stdout, "standard output");
}

/* Read the jobs without running them. Add to `left` the jobs that this
 * configuration cannot take. */
static void find_left(const struct conf *conf, struct left_out *left)
{
	struct state *state = state_new(conf, past, NULL);
	struct trace *trace = trace_new(state, input());
	struct err why;

	trace->epoch = arg.epoch;
	trace->left = left;
	if (cluster_begin(state, &why) < 0 || read_trace(trace, &why) < 0)
		errx(EXIT_FAILURE, "%s", why.text);
	trace_free(trace);
	state_free(state);
}

static void take_names(const struct sim *sim, struct compare_names *ret)
{
	const struct trace *trace = sim->trace;

	ret->queue = xcalloc(trace->njobs + 1, sizeof(*ret->queue));
	ret->user = xcalloc(trace->njobs + 1, sizeof(*ret->user));
	for (size_t i = 0; i < trace->njobs; i++) {
		const struct trace_job *tj = &trace->job[i];

		ret->queue[i] = state_conf(sim->state)->queues[tj->queue].name;
		ret->user[i] = trace->user[tj->user];
	}
}

/* Simulate both configurations and print the comparison. Jobs that one of them
 * cannot take are left out of both runs, so that these have the same jobs. */
static void compare(const struct conf *is, const struct conf *was,
                    const struct buf *lacks)
{
	struct compare_run is_run, was_run, real = { 0 };
	struct sim is_sim = { 0 }, was_sim = { 0 };
	struct left_out left = { 0 };
	struct stat st;
	struct buf all = { 0 };
	struct compare c = {
		.was = &was_run, .is = &is_run, .left = &left, .lacks = &all
	};

	arg.replayed = true;
	if (stat(input(), &st) == 0 && !S_ISREG(st.st_mode))
		errx(EXIT_FAILURE,
		     "'%s' is read several times: give --compare a file, not a "
		     "pipe",
		     input());
	find_left(is, &left);
	find_left(was, &left);
	begin_run(&is_sim, is, NULL, &left);
	compare_take(&is_sim, &is_run);
	end_run(&is_sim);
	begin_run(&was_sim, was, NULL, &left);
	compare_take(&was_sim, &was_run);
	if (was_sim.trace->is_replay) {
		compare_take_real(&was_sim, &real);
		c.real = &real;
	}
	take_names(&was_sim, &c.names);
	buf_add(&all, lacks->data, lacks->len);
	buf_add(&all, was_sim.trace->lacks.data, was_sim.trace->lacks.len);
	if (was_sim.trace->ndropped)
		buf_printf(&all,
		           "%zu dependencies on jobs that are not in it\n",
		           was_sim.trace->ndropped);
	buf_addc(&all, '\0');
	compare_print(&c, arg.json, stdout);
	close_output(stdout, "standard output");
	end_run(&was_sim);
	compare_free(&is_run);
	compare_free(&was_run);
	compare_free(&real);
	free(c.names.queue);
	free(c.names.user);
	left_free(&left);
	buf_free(&all);
}

static const char *mistake(void)
{
	if (!arg.conf)
		return "give a configuration with -c";
	if (!arg.jobs + !arg.swf + !arg.history != 2)
		return "give one of --jobs, --swf and --history";
	if (arg.advise && (arg.events || arg.summary || arg.shares))
		return "--advise goes without --events, --summary and --shares";
	if (arg.compare && (arg.events || arg.summary || arg.shares ||
	                    arg.advise || arg.until != TRACE_NEVER))
		return "--compare goes without --events, --summary, --shares, "
		       "--advise and --until";
	if (arg.json && !arg.advise && !arg.compare)
		return "--json goes with --advise and --compare; all else is "
		       "JSON anyway";
	return NULL;
}

/* A trace may have times before second 0, but the state has none that are
 * negative: so second 0 cannot be earlier than TRACE_EPOCH. */
static int read_epoch(struct err *err)
{
	if (!arg.epoch_text)
		return 0;
	if (parse_time(arg.epoch_text, clock_wall_s(), &arg.epoch, err) < 0)
		return -1;
	if (arg.epoch < TRACE_EPOCH || arg.epoch > EPOCH_MAX)
		return err_set(err, ERANGE,
		               "'%s' is not from 2001-09-09 to 9999-12-31",
		               arg.epoch_text);
	return 0;
}

int main(int argc, char **argv)
{
	struct conf *conf, *old = NULL;
	struct buf lacks = { 0 };
	struct err why;

	keep_memory();
	if (opt_parse(&prog, &arg, argc, argv) < argc)
		return usage("no operands are expected");
	if (mistake())
		return usage(mistake());
	setenv("TZ", "UTC0",
	       1); /* so that the output does not depend on the time zone */
	if (read_epoch(&why) < 0) {
		err_wrap(&why, "--epoch");
		return usage(why.text);
	}
	conf = load_conf(arg.conf, &lacks);
	if (arg.compare)
		old = load_conf(arg.compare, NULL);
	if (lacks.len && !arg.compare)
		fprintf(stderr, "aisim: left out: %s", lacks.data);
	if (arg.compare)
		compare(conf, old, &lacks);
	else if (arg.advise)
		advise(conf);
	else
		simulate(conf);
	conf_free(conf);
	conf_free(old);
	buf_free(&lacks);
	return EXIT_SUCCESS;
}
