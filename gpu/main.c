/*
 * aisched-gpu - list this machine's GPUs for the daemon
 *
 *	aisched-gpu list
 *
 * A program of its own, because a driver may hang, or crash its caller. Prints
 * one JSON object (list.h). Exits with NO_LIBRARY if no driver is installed.
 */
#include <err.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/list.h"
#include "libcommon/opt.h"

enum { NO_LIBRARY = 3 };

static const struct opt options[] = { OPT_END };

static const struct opt_prog prog = {
	.name = "aisched-gpu",
	.usage = "list",
	.about = "Print the GPUs of this machine as JSON, as their driver "
		 "tells of them.\naischedd asks it when it starts.",
	.opts = options,
};

int main(int argc, char **argv)
{
	int first = opt_parse(&prog, NULL, argc, argv);
	struct nvml nvml;
	struct err why;
	json_t *all;

	if (argc - first != 1 || strcmp(argv[first], "list"))
		errx(EXIT_USAGE, "expected 'list'; try '--help'");
	if (nvml_open(&nvml, &why) < 0)
		errx(why.code == ENOENT ? NO_LIBRARY : EXIT_FAILURE, "%s",
		     why.text);
	all = list_gpus(&nvml);
	json_dumpf(all, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(all);
	nvml_close(&nvml);
	return fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}
