/*
 * aisched-gpu - list this machine's GPUs, or tell how busy they are
 *
 *	aisched-gpu list
 *	aisched-gpu sample [--cgroup DIR] SECONDS GPU[/THOUSANDTHS]...
 *
 * This is a program of its own, because a driver may hang or crash. The daemon
 * runs it with list when it starts, and reads one JSON object (list.h); the
 * shepherd of each job with GPUs runs it with sample (sample.h). Exits with
 * NO_LIBRARY if no driver is installed.
 */
#include <err.h>
#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/list.h"
#include "gpu/sample.h"
#include "libcommon/opt.h"
#include "libcommon/parse.h"

enum { NO_LIBRARY = 3, PERIOD_MOST = 86400 };

struct settings {
	const char *cgroup;
};

static const struct opt options[] = {
	{ 0, "cgroup", "DIR",
	  "the cgroup of the job, to measure its part of GPUs", opt_set_text,
	  offsetof(struct settings, cgroup), false },
	OPT_END
};

static const struct opt_prog prog = {
	.name = "aisched-gpu",
	.usage = "list | sample SECONDS GPU[/THOUSANDTHS]...",
	.about = "Print the GPUs of this machine as JSON, or now and then how "
		 "busy some are,\nas their driver tells of them. aischedd and "
		 "its shepherds ask it.",
	.opts = options,
};

static int status_of(const struct err *why)
{
	return why->code == ENOENT ? NO_LIBRARY : EXIT_FAILURE;
}

static int list(void)
{
	struct nvml nvml;
	struct err why;
	json_t *all;

	if (nvml_open(&nvml, &why) < 0)
		errx(status_of(&why), "%s", why.text);
	all = list_gpus(&nvml);
	json_dumpf(all, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(all);
	nvml_close(&nvml);
	return fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Run `sample`; the words are SECONDS GPU... */
static int sample(const char *cgroup, char *const *words, int n)
{
	int64_t period;
	struct err why;

	if (n < 2 || n - 1 > LIMIT_GPUS)
		errx(EXIT_USAGE, "sample: expected SECONDS and 1 to %d GPUs",
		     LIMIT_GPUS);
	if (parse_int(words[0], 1, PERIOD_MOST, &period, &why) < 0)
		errx(EXIT_USAGE, "sample: SECONDS: %s", why.text);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGALRM, SIG_DFL);
	if (sample_gpus(period, cgroup, words + 1, n - 1, &why) < 0)
		errx(status_of(&why), "%s", why.text);
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct settings set = { 0 };
	int first = opt_parse(&prog, &set, argc, argv);

	if (argc - first == 1 && !strcmp(argv[first], "list"))
		return list();
	if (argc > first && !strcmp(argv[first], "sample"))
		return sample(set.cgroup, argv + first + 1, argc - first - 1);
	errx(EXIT_USAGE, "expected 'list' or 'sample'; try '--help'");
}
