/* srun_relay.c - srun --overlap in a job of a cluster */
#include "slurm/srun_relay.h"

#include <stdlib.h>
#include <unistd.h>

#include "libcommon/client/client.h"
#include "libcommon/client/relay.h"
#include "slurm/words.h"

int srun_relay_check(const struct srun *s)
{
	const struct {
		bool asked;
		const char *option;
	} of_steps[] = {
		{ !s->pty && s->tasks > 1, "ntasks" },
		{ s->tasks_per_node > 1, "ntasks-per-node" },
		{ s->nodes > 1, "nodes" },
		{ s->node, "nodelist" },
		{ s->workdir, "chdir" },
		{ s->export_env, "export" },
		{ s->file[0], "input" },
		{ s->file[1], "output" },
		{ s->file[2], "error" },
		{ s->label, "label" },
		{ s->multi_prog, "multi-prog" },
		{ s->limit_s, "time" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(of_steps); i++) {
		if (!of_steps[i].asked)
			continue;
		command_error("Unable to create step for job %s: in a job of a "
		              "cluster --overlap goes without --%s",
		              s->job, of_steps[i].option);
		return -1;
	}
	return 0;
}

int srun_relay(const struct srun *s, char *const *argv)
{
	struct err err;
	struct client *client = command_connect(&err);
	int status = -1;

	if (client)
		status = relay_run(&(struct relay_wish){ .client = client,
		                                         .job = s->job,
		                                         .input = STDIN_FILENO,
		                                         .tty = s->pty },
		                   argv, &err);
	client_close(client);
	if (status >= 0)
		return status;
	command_error("Unable to create step for job %s: %s", s->job, err.text);
	return EXIT_FAILURE;
}
