/* opts.c - the command line of aicancel */
#include "aicancel/aicancel.h"
#include "libcommon/client/filter_opt.h"
#include "libcommon/parse.h"

static int set_signal(void *ctx, const struct opt *opt, const char *value,
                      struct err *err)
{
	struct cancel *cancel = ctx;

	(void)opt;
	return parse_signal(value, &cancel->signo, err);
}

#define AT(member) .offset = offsetof(struct cancel, member)

/* clang-format off */
static const struct opt opts[] = {
	{ 'u', "user", "USER,...", "jobs of these users",
	  opt_add_items, AT(users) },
	{ 'q', "queue", "QUEUE,...", "jobs of these queues",
	  opt_add_items, AT(queues) },
	{ 'p', "partition", "QUEUE,...", NULL, opt_add_items, AT(queues) },
	{ 't', "state", "STATE,...", "jobs in these states, like PENDING or PD",
	  opt_add_states, AT(states) },
	{ 'n', "name", "NAME,...", "jobs of these names",
	  opt_add_items, AT(names) },
	{ 'l', "label", "KEY[=VALUE],...", "jobs that have all these labels",
	  opt_add_items, AT(labels) },
	{ 0, "all", NULL, "all your jobs; for an admin, those of everyone",
	  opt_set_true, AT(all) },
	{ 's', "signal", "SIGNAL", "send SIGNAL instead, like USR1 or 10",
	  .set = set_signal },
	{ 0, "wait", NULL, "return when the jobs have ended",
	  opt_set_true, AT(wait) },
	{ 0, "json", NULL, "print the outcome as JSON",
	  opt_set_true, AT(json) },
	{ 0, "socket", "ADDRESS", "the daemon at this path or host:port",
	  opt_set_text, AT(socket) },
	OPT_END
};
/* clang-format on */

const struct opt_prog aicancel_prog = {
	.name = "aicancel",
	.usage = "[OPTION]... [JOB]...",
	.about = "Cancel jobs, or send them a signal.  JOB is 12, 12_3 or "
		 "12_[1-5].",
	.opts = opts,
};
