/* main.c - run as the command that the program's name says */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "libcommon/parse.h"
#include "pod/agent.h"

#include "pod/names.h"
#include "pod/proc.h"
#include "slurm/command.h"

enum { EXIT_USAGE_ = 2 };

const char *command_name = "aisched-pod";

/* Send a signal, given as text, to all steps in this pod. Returns the exit
 * status, 1 if there are no steps. */
static int signal_steps(const char *number)
{
	int64_t signo;
	struct err err;

	if (parse_int(number, 1, SIGRTMAX, &signo, &err) < 0)
		return EXIT_USAGE_;
	return pod_proc_signal_steps((int)signo) ? 0 : 1;
}

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
	if (argc == 3 && !strcmp(argv[1], "signal"))
		return signal_steps(argv[2]);
	fprintf(stderr,
	        "Usage: aisched-pod install FOLDER\n"
	        "       aisched-pod run COMMAND [ARG]...\n"
	        "       aisched-pod signal NUMBER\n"
	        "aischedd puts it into pods; nobody needs to call it.\n");
	return EXIT_USAGE_;
}
