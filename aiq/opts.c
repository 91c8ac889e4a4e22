/* opts.c - the command line of aiq */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "aiq/aiq.h"
#include "libcommon/client/filter_opt.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"

/* Set the view for --queues, --nodes and the like; it is an error to give two
 * of them. */
static int set_view(void *ctx, const struct opt *opt, const char *value,
                    struct err *err)
{
	static const struct {
		const char *name;
		const struct view *view;
	} views[] = {
		{ "queues", &view_queues },      { "nodes", &view_nodes },
		{ "shares", &view_shares },      { "history", &view_history },
		{ "log", &view_jobs },           { "script", &view_jobs },
		{ "web", &view_jobs },           { "report", &view_jobs },
		{ "efficiency", &view_history },
	};
	struct aiq *aiq = ctx;

	(void)value;
	if (aiq->view)
		return err_set(err, EINVAL,
		               "only one of --queues, --nodes, --shares, "
		               "--history, --report, --efficiency, --log, "
		               "--script and --web can be given");
	for (size_t i = 0; i < ARRAY_SIZE(views); i++)
		if (!strcmp(opt->name, views[i].name))
			aiq->view = views[i].view;
	aiq->history = aiq->view == &view_history;
	aiq->report = !strcmp(opt->name, "report");
	aiq->efficiency = !strcmp(opt->name, "efficiency");
	aiq->log = !strcmp(opt->name, "log");
	aiq->script = !strcmp(opt->name, "script");
	aiq->web = !strcmp(opt->name, "web");
	return 0;
}

/* Parse a time in the past: like parse_time(), but 18:30 is the last 18:30, not
 * the next. */
static int set_past(void *ctx, const struct opt *opt, const char *value,
                    struct err *err)
{
	int64_t *ret = (int64_t *)((char *)ctx + opt->offset);
	int64_t now = time(NULL), t;

	if (!strncmp(value, "now-", 4)) {
		char *later = xasprintf("now+%s", value + 4);
		int rc = parse_time(later, now, &t, NULL);

		free(later);
		if (rc < 0)
			return err_set(err, EINVAL,
			               "'%s' is not a time: write it as "
			               "now-2h or now-3d",
			               value);
		*ret = now - (t - now);
		return 0;
	}
	if (parse_time(value, now, &t, err) < 0)
		return -1;
	*ret = t > now && strchr(value, ':') && !strchr(value, '-')
	           ? t - 24 * 60 * 60
	           : t;
	return 0;
}

static int set_task(void *ctx, const struct opt *opt, const char *value,
                    struct err *err)
{
	struct aiq *aiq = ctx;

	(void)opt;
	return parse_int(value, 0, LIMIT_TASKS - 1, &aiq->task, err);
}

static int set_cron(void *ctx, const struct opt *opt, const char *value,
                    struct err *err)
{
	struct aiq *aiq = ctx;

	(void)opt;
	return parse_int(value, 1, INT64_MAX, &aiq->cron, err);
}

static int set_watch(void *ctx, const struct opt *opt, const char *value,
                     struct err *err)
{
	struct aiq *aiq = ctx;

	(void)opt;
	aiq->watch = true;
	if (!value)
		return 0;
	return parse_int(value, WATCH_MIN_S, WATCH_MAX_S, &aiq->period_s, err);
}

static int set_limit(void *ctx, const struct opt *opt, const char *value,
                     struct err *err)
{
	struct aiq *aiq = ctx;

	(void)opt;
	return parse_int(value, 0, INT32_MAX, &aiq->limit, err);
}

static int set_top(void *ctx, const struct opt *opt, const char *value,
                   struct err *err)
{
	struct aiq *aiq = ctx;

	(void)opt;
	return parse_int(value, 0, INT32_MAX, &aiq->top, err);
}

static int set_me(void *ctx, const struct opt *opt, const char *value,
                  struct err *err)
{
	struct aiq *aiq = ctx;

	(void)opt, (void)value, (void)err;
	aiq->all = false;
	return 0;
}

#define STARTS "display_id,queue,name,user,state_letter,start,num_nodes,where"

/* Set the columns and the filter for --start, unless other options have
 * set them. */
static int set_start(void *ctx, const struct opt *opt, const char *value,
                     struct err *err)
{
	struct aiq *aiq = ctx;

	(void)opt, (void)value, (void)err;
	if (!aiq->format)
		aiq->format = STARTS;
	if (!aiq->states)
		aiq->states = json_pack("[s]", "PENDING");
	return 0;
}

#define AT(member) .offset = offsetof(struct aiq, member)

/* clang-format off */
static const struct opt opts[] = {
	{ 'a', "all", NULL, "jobs of everyone, not only yours",
	  opt_set_true, AT(all) },
	{ 0, "me", NULL, "your jobs only, as without -a", .set = set_me },
	{ 'u', "user", "USER,...", "jobs of these users",
	  opt_add_items, AT(users) },
	{ 'q', "queue", "QUEUE,...", "jobs of these queues",
	  opt_add_items, AT(queues) },
	{ 'p', "partition", "QUEUE,...", NULL, opt_add_items, AT(queues) },
	{ 't', "state", "STATE,...",
	  "jobs in these states, like RUNNING, PD, or all",
	  opt_add_states, AT(states) },
	{ 0, "states", "STATE,...", NULL, opt_add_states, AT(states) },
	{ 0, "start", NULL, "jobs that wait, and when they are expected to start",
	  .set = set_start },
	{ 'n', "name", "NAME,...", "jobs of these names",
	  opt_add_items, AT(names) },
	{ 0, "node", "NODE,...", "jobs on these nodes",
	  opt_add_items, AT(nodes) },
	{ 'w', "nodelist", "NODE,...", NULL, opt_add_items, AT(nodes) },
	{ 0, "cron", "ID", "runs of this cron entry", .set = set_cron },
	{ 0, "queues", NULL, "list queues", .set = set_view },
	{ 0, "nodes", NULL, "list nodes", .set = set_view },
	{ 0, "shares", NULL, "list shares and use of queues and users",
	  .set = set_view },
	{ 0, "history", NULL, "list finished jobs, the newest last",
	  .set = set_view },
	{ 0, "file", "FILE", "history from a file that aictl archived",
	  opt_set_text, AT(file) },
	{ 0, "attempts", NULL, "list each start of the finished jobs",
	  opt_set_true, AT(attempts) },
	{ 0, "replay", NULL, "with --history: all that aisim needs to replay it",
	  opt_set_true, AT(replay) },
	{ 0, "anonymous", NULL, "with --replay: codes in place of names",
	  opt_set_true, AT(anonymous) },
	{ 0, "report", NULL, "sum up what was used and what it cost",
	  .set = set_view },
	{ 0, "by", "KEY,...",
	  "a line for each user, group, account, queue, pool, class, gpu_type, "
	  "hour, day, week or month; total",
	  opt_set_text, AT(by) },
	{ 0, "efficiency", NULL,
	  "list what finished jobs used of what they held", .set = set_view },
	{ 0, "running", NULL, "with --efficiency: jobs that run",
	  opt_set_true, AT(running) },
	{ 'A', "account", "ACCOUNT,...", "jobs or use of these accounts",
	  opt_add_items, AT(accounts) },
	{ 'l', "label", "KEY[=VALUE],...", "jobs that have all these labels",
	  opt_add_items, AT(labels) },
	{ 0, "pool", "POOL,...", "use of these pools",
	  opt_add_items, AT(pools) },
	{ 0, "class", "CLASS,...", "use by these classes",
	  opt_add_items, AT(classes) },
	{ 0, "top", "N", "the first N lines of a report or of --efficiency", .set = set_top },
	{ 0, "csv", NULL, "history, a report or --efficiency as CSV", opt_set_true, AT(csv) },
	{ 0, "since", "TIME", "history from TIME on", set_past, AT(since) },
	{ 0, "until", "TIME", "history up to TIME", set_past, AT(until) },
	{ 0, "log", NULL, "print the output of JOB", .set = set_view },
	{ 0, "script", NULL, "print the script of JOB", .set = set_view },
	{ 0, "task", "N", "print the output of task N", .set = set_task },
	{ 'f', "follow", NULL, "print output as it is written, until JOB ends",
	  opt_set_true, AT(follow) },
	{ 0, "tasks", NULL, "describe each task of an array",
	  opt_set_true, AT(tasks) },
	{ 0, "watch", "SEC", "look on the whole screen, live; ? lists the keys",
	  .set = set_watch, .optional = true },
	{ 'S', "sort", "COLUMN", "sort jobs by this column; -COLUMN: descending",
	  opt_set_text, AT(sort) },
	{ 0, "limit", "N", "list at most N jobs", .set = set_limit },
	{ 0, "after", "PLACE", "continue where a listing with --limit ended",
	  opt_set_text, AT(after) },
	{ 0, "web", NULL, "print a link to the web page, for one use",
	  .set = set_view },
	{ 0, "open", NULL, "with --web: open it in the browser",
	  opt_set_true, AT(open) },
	{ 0, "list", NULL, "with --web: list where I am logged in",
	  opt_set_true, AT(list) },
	{ 0, "logout", NULL, "with --web: log me out everywhere",
	  opt_set_true, AT(logout) },
	{ 'o', "format", "FORMAT",
	  "columns: state,name or +name, or squeue's %i %T",
	  opt_set_text, AT(format) },
	{ 'h', "no-header", NULL, "print no header line",
	  opt_set_true, AT(no_header) },
	{ 0, "noheader", NULL, NULL, opt_set_true, AT(no_header) },
	{ 0, "json", NULL, "print JSON", opt_set_true, AT(json) },
	{ 0, "socket", "ADDRESS", "the daemon at this path or host:port",
	  opt_set_text, AT(socket) },
	OPT_END
};
/* clang-format on */

const struct opt_prog aiq_prog = {
	.name = "aiq",
	.usage = "[OPTION]... [JOB]...",
	.about = "List waiting and running jobs, by default your own.\n"
		 "With JOB, say everything about it, finished or not.",
	.opts = opts,
};
