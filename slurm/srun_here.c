/* srun_here.c - srun on the daemon's machine, where the job's shepherd runs its
 * steps */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libcommon/clock.h"
#include "slurm/alloc.h"
#include "slurm/rows.h"
#include "slurm/srun_relay.h"
#include "slurm/srun_step.h"
#include "slurm/words.h"

enum { PATIENCE_MS = 9000, PAUSE_US = 100000 };

/* --- the job -------------------------------------------------------------- */

/* Connect to the daemon, waiting a while if it is being restarted, because
 * steps also outlive a restart of the daemon. */
static struct client *connect_patiently(struct err *err)
{
	int64_t until = clock_ms() + PATIENCE_MS;
	struct client *client;

	while (!(client = command_connect(err)) && words_is_unreachable(err) &&
	       clock_ms() < until)
		usleep(PAUSE_US);
	return client;
}

static json_t *ask_for_job(const char *id, struct err *err)
{
	struct client *client = connect_patiently(err);
	json_t *req = json_pack("{s:s, s:s}", "op", "step", "id", id), *answer;

	answer = client && req
	             ? client_call(client, req, NULL, 0, NULL, NULL, err)
	             : NULL;
	if (!req)
		err_set(err, ENOENT, "'%s' is no job", id);
	json_decref(req);
	client_close(client);
	return answer;
}

static int find_job(const struct srun *s, struct srun_job *ret)
{
	const char *id = s->job;
	struct err err;
	json_t *answer = ask_for_job(id, &err);

	if (answer) {
		*ret = (struct srun_job){
			.id = row_int(answer, "job_id"),
			.node = xstrdup(row_text(answer, "node")),
			.socket = xstrdup(row_text(answer, "socket")),
		};
		json_decref(answer);
		return 0;
	}
	if (err.code == EOPNOTSUPP && s->overlap) {
		*ret = (struct srun_job){ .run = srun_relay };
		return srun_relay_check(s);
	}
	if (err.code == EINVAL) {
		command_error("Invalid numeric value \"%s\" for --jobid.", id);
		return -1;
	}
	if (err.code == ESHUTDOWN || err.code == EOPNOTSUPP) {
		command_error("Unable to create step for job %s: %s", id,
		              err.code == ESHUTDOWN
		                  ? "Job/step already completing or completed"
		                  : err.text);
		return -1;
	}
	command_error("Unable to confirm allocation for job %s: %s", id,
	              err.code == EAGAIN ? "Job is pending execution"
	                                 : words_of_job(&err));
	if (err.code == ENOENT || err.code == EAGAIN)
		fprintf(stderr,
		        "srun: Check SLURM_JOB_ID environment variable. "
		        "Expired or invalid job %s\n",
		        id);
	return -1;
}

static bool is_node(const char *name, const char *node)
{
	size_t len = strcspn(node, ".");

	return !strcmp(name, node) ||
	       (strlen(name) == len && !strncmp(name, node, len)) ||
	       !strcmp(name, "localhost");
}

/* Check -N and -w: a job on this machine has only one node. Returns -1 after
 * printing Slurm's message. */
static int check_nodes(const struct srun *s, const struct srun_job *job)
{
	if (s->nodes <= 1 && (!s->node || is_node(s->node, job->node)))
		return 0;
	if (s->nodes > 1)
		command_error("Only allocated 1 nodes asked for %lld",
		              (long long)s->nodes);
	else
		command_error("Unable to create step for job %lld: Requested "
		              "node configuration is not available",
		              (long long)job->id);
	return -1;
}

static void complete(struct srun *s)
{
	if (s->pty)
		s->tasks = 1;
	else if (!s->tasks)
		s->tasks = s->tasks_per_node ? s->tasks_per_node : 1;
}

static int find(struct srun *s, struct srun_job *ret)
{
	if (find_job(s, ret) < 0)
		return -1;
	if (ret->run)
		return 0;
	complete(s);
	return check_nodes(s, ret);
}

/* --- srun outside of jobs ------------------------------------------------- */

/* Fill in the request for the job that srun makes for its step. Returns the
 * status to exit with, 0 to go on. */
static int ask_as(const struct srun *s, struct sbatch *job, const char *program)
{
	const struct srun_asked *asked = s->asked.p;
	int status = 0;

	for (size_t i = 0; i < s->asked.n && !status; i++)
		status = sbatch_apply(asked[i].opt, job, asked[i].value);
	job->overcommit = s->overcommit;
	job->submit.quiet = s->quiet;
	job->submit.wrap = program;
	if (!job->submit.spec.name)
		job->submit.spec.name = srun_base_name(program);
	return status;
}

/* Make the step use all resources of its own job. */
static void take_all(struct srun *s, const struct spec *spec)
{
	if (!s->tasks && spec->tasks != SPEC_UNSET)
		s->tasks = spec->tasks;
	if (!s->tasks && spec->shared_tasks != SPEC_UNSET)
		s->tasks = spec->shared_tasks;
	s->exact = false;
	s->mem_mib = s->mem_cpu_mib = s->limit_s = 0;
	if (s->gpus_per_task < 0)
		s->gpus = -1;
	complete(s);
}

static int run_alone(struct srun *s, char *const *argv)
{
	struct buf warnings = { 0 };
	struct sbatch sbatch;
	struct srun_job job;
	struct held_job a;
	int status;

	sbatch_init(&sbatch, s->arena, &warnings);
	status = ask_as(s, &sbatch, argv[0]);
	buf_free(&warnings);
	if (!status)
		status = alloc_make(&sbatch, false, s->immediate_s, &a);
	if (status)
		return status;
	take_all(s, &sbatch.submit.spec);
	job =
	    (struct srun_job){ .id = a.id, .node = a.node, .socket = a.socket };
	status = srun_step(s, &job, argv);
	held_job_end(&a, status);
	return status;
}

int srun_main(int argc, char **argv)
{
	static const struct srun_way way = { find, run_alone };

	return srun_run(&way, argc, argv);
}
