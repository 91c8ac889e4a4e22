/* main.c - the name of the program says what it is */
#include <stdio.h>
#include <string.h>

#include "pod/agent.h"
#include "pod/names.h"
#include "slurm/command.h"

enum { EXIT_USAGE_ = 2 };

const char *command_name = "aisched-pod";

int main(int argc, char **argv)
{
	const char *slash = strrchr(argv[0], '/');
	int status;

	command_name = slash ? slash + 1 : argv[0];
	status = pod_command(command_name, argc, argv);
	if (status >= 0) {
		if (fflush(stdout) || ferror(stdout))
			return 1;
		return status;
	}
	if (argc == 3 && !strcmp(argv[1], "install"))
		return pod_install("/proc/self/exe", argv[2]);
	if (argc > 2 && !strcmp(argv[1], "run"))
		return pod_agent(argv + 2);
	fprintf(stderr,
	        "Usage: aisched-pod install FOLDER\n"
	        "       aisched-pod run COMMAND [ARG]...\n"
	        "aischedd puts it into pods; nobody needs to call it.\n");
	return EXIT_USAGE_;
}
