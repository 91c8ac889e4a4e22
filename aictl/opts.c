/* opts.c - the command line of aictl, up to the command */
#include "aictl/aictl.h"

static const struct opt opts[] = {
	{ 0, "json", NULL, "print answers as JSON", opt_set_true,
	  .offset = offsetof(struct ctl, json) },
	{ 0, "socket", "ADDRESS", "the daemon at this path or host:port",
	  opt_set_text, .offset = offsetof(struct ctl, socket) },
	OPT_END
};

const struct opt_prog aictl_prog = {
	.name = "aictl",
	.usage = "[OPTION]... [COMMAND [WORD]...]",
	.about = "Control jobs, queues, nodes and the daemon.  Without "
		 "COMMAND, ask for commands\non a terminal, else read them "
		 "from stdin, one a line.",
	.opts = opts,
	.stop_at_operand = true,
};
