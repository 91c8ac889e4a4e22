/* main.c - the name of the program says which command it is */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slurm/command.h"

const struct slurm_command commands[] = {
	{ "sacct", sacct_main },
	{ "sacctmgr", sacctmgr_main },
	{ "salloc", salloc_main },
	{ "sbatch", sbatch_main },
	{ "sbcast", sbcast_main },
	{ "scancel", scancel_main },
	{ "scontrol", scontrol_main },
	{ "sdiag", sdiag_main },
	{ "seff", seff_main },
	{ "sinfo", sinfo_main },
	{ "sprio", sprio_main },
	{ "squeue", squeue_main },
	{ "sreport", sreport_main },
	{ "srun", srun_main },
	{ "sshare", sshare_main },
	{ "sstat", sstat_main },
	{ NULL, NULL },
};

const char *command_name = "slurm";

int main(int argc, char **argv)
{
	const char *slash = strrchr(argv[0], '/');
	int status;

	command_name = slash ? slash + 1 : argv[0];
	for (const struct slurm_command *c = commands; c->name; c++) {
		if (strcmp(c->name, command_name) != 0)
			continue;
		status = c->run(argc, argv);
		if (fflush(stdout) || ferror(stdout)) {
			command_error("stdout cannot be written");
			return EXIT_FAILURE;
		}
		return status;
	}
	fprintf(stderr,
	        "%s: call it by the name of a command, as the links in bin "
	        "beside it do:",
	        command_name);
	for (const struct slurm_command *c = commands; c->name; c++)
		fprintf(stderr, " %s", c->name);
	fputc('\n', stderr);
	return EXIT_USAGE;
}
