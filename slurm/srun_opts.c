/* srun_opts.c - the options of srun */
#include "slurm/srun_opts.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/parse.h"
#include "slurm/sbatch.h"

enum { STATUS_USAGE = 255 };

static int64_t *int_at(void *ctx, const struct opt *opt)
{
	return (int64_t *)(void *)((char *)ctx + opt->offset);
}

static int set_count(void *ctx, const struct opt *opt, const char *value,
                     struct err *err)
{
	return parse_int(value, 1, STEP_TASKS_MAX, int_at(ctx, opt), err);
}

/* Set the number of nodes from MIN or MIN-MAX. MAX is checked and ignored. */
static int set_nodes(void *ctx, const struct opt *opt, const char *value,
                     struct err *err)
{
	int64_t most;

	return sbatch_parse_nodes(value, int_at(ctx, opt), &most, err);
}

/* Set -c, which implies --exact: the step gets only the CPUs of its tasks. */
static int set_cpus(void *ctx, const struct opt *opt, const char *value,
                    struct err *err)
{
	((struct srun *)ctx)->exact = true;
	return set_count(ctx, opt, value, err);
}

static int set_seconds(void *ctx, const struct opt *opt, const char *value,
                       struct err *err)
{
	return parse_int(value, 0, MAX_SECONDS, int_at(ctx, opt), err);
}

static int set_mib(void *ctx, const struct opt *opt, const char *value,
                   struct err *err)
{
	return parse_mib(value, 'M', int_at(ctx, opt), err);
}

static int set_limit(void *ctx, const struct opt *opt, const char *value,
                     struct err *err)
{
	int64_t seconds;

	if (parse_duration(value, &seconds, err) < 0)
		return -1;
	*int_at(ctx, opt) = seconds > 0 ? seconds : 0;
	return 0;
}

/* Set a number of GPUs from "2" or "a100:2", or for --gres from "gpu:2",
 * "gpu:a100:2" or "none". The type is ignored. */
static int set_gpus(void *ctx, const struct opt *opt, const char *value,
                    struct err *err)
{
	const char *colon = strrchr(value, ':');
	bool gres = !strcmp(opt->name, "gres");

	if (gres && !strcmp(value, "none"))
		value = "0";
	else if (gres && strncmp(value, "gpu", 3) != 0)
		return err_set(err, EINVAL,
		               "there is no resource '%s' here: use "
		               "gpu[:TYPE][:N], or none",
		               value);
	else if (gres && !colon)
		value = "1";
	else if (colon)
		value = colon + 1;
	/* gpu:TYPE means one GPU of that type. */
	if (gres && (*value < '0' || *value > '9'))
		value = "1";
	return parse_int(value, 0, 64, int_at(ctx, opt), err);
}

static int set_kill(void *ctx, const struct opt *opt, const char *value,
                    struct err *err)
{
	bool *kill = (bool *)((char *)ctx + opt->offset);

	if (value)
		return parse_bool(value, kill, err);
	*kill = true;
	return 0;
}

static int set_mpi(void *ctx, const struct opt *opt, const char *value,
                   struct err *err)
{
	(void)ctx, (void)opt, (void)err;
	if (strcmp(value, "list") != 0)
		return 0;
	puts("MPI plugin types are...\n\tnone");
	exit(EXIT_SUCCESS);
}

static int set_immediate(void *ctx, const struct opt *opt, const char *value,
                         struct err *err)
{
	return sbatch_parse_immediate(value, int_at(ctx, opt), err);
}

static int set_append(void *ctx, const struct opt *opt, const char *value,
                      struct err *err)
{
	if (strchr("at", *value) == NULL)
		return err_set(err, EINVAL, "append or truncate is expected");
	*(bool *)((char *)ctx + opt->offset) = *value == 'a';
	return 0;
}

/* Options that srun, outside of a job, passes on to the job that it makes. */
static const char *const of_jobs[] = {
	"account",
	"begin",
	"comment",
	"constraint",
	"cpus-per-gpu",
	"cpus-per-task",
	"deadline",
	"dependency",
	"exclude",
	"exclusive",
	"gpus",
	"gpus-per-node",
	"gpus-per-task",
	"gres",
	"hold",
	"job-name",
	"licenses",
	"mem",
	"mem-per-cpu",
	"mem-per-gpu",
	"nice",
	"nodelist",
	"nodes",
	"ntasks",
	"ntasks-per-gpu",
	"ntasks-per-node",
	"partition",
	"priority",
	"qos",
	"reservation",
	"signal",
	"time",
	"tmp",
};

static void remember(struct srun *srun, const struct opt *opt,
                     const char *value)
{
	struct srun_asked *asked;

	for (size_t i = 0; i < ARRAY_SIZE(of_jobs); i++) {
		if (!opt->name || strcmp(opt->name, of_jobs[i]) != 0)
			continue;
		asked = arena_push(srun->arena, &srun->asked, sizeof(*asked));
		*asked = (struct srun_asked){
			command_find(&sbatch_line, opt->name),
			value ? arena_strdup(srun->arena, value) : NULL
		};
	}
}

static int refuse(void *ctx, const struct opt *opt, const char *value,
                  struct err *err)
{
	(void)ctx, (void)value;
	return err_set(err, EOPNOTSUPP, "%s",
	               !strcmp(opt->name, "het-group")
	                   ? "heterogeneous jobs are not supported"
	                   : "containers are not supported");
}

#define AT(member) .offset = offsetof(struct srun, member)
#define IGNORED(letter, name, arg)                             \
	{                                                      \
		letter, name, arg, NULL, .set = command_ignore \
	}

/* clang-format off */
static const struct opt opts[] = {
	{ 'D', "chdir", "DIR", "folder it runs in", opt_set_text, AT(workdir) },
	{ 'c', "cpus-per-task", "N", "CPUs of each task; implies --exact", set_cpus, AT(cpus) },
	{ 'e', "error", "FILE", "standard error", opt_set_text, AT(file[2]) },
	{ 0, "exact", NULL, "take only what is asked for", opt_set_true, AT(exact) },
	{ 0, "exclusive", "HOW", NULL, set_kill, AT(exact), .optional = true },
	{ 0, "export", "LIST", "variables it gets", opt_set_text, AT(export_env) },
	{ 'G', "gpus", "[TYPE:]N", "GPUs of the step", set_gpus, AT(gpus) },
	{ 0, "gpus-per-node", "[TYPE:]N", "the same", set_gpus, AT(gpus) },
	{ 0, "gpus-per-task", "[TYPE:]N", "GPUs of each task", set_gpus, AT(gpus_per_task) },
	{ 0, "gres", "gpu[:TYPE][:N]", "the same as --gpus", set_gpus, AT(gpus) },
	{ 'i', "input", "FILE", "standard input; none, all, or a task's number", opt_set_text, AT(file[0]) },
	{ 'J', "job-name", "NAME", "name of the step", opt_set_text, AT(name) },
	{ 0, "jobid", "JOB", "run in this job", opt_set_text, AT(job) },
	{ 'K', "kill-on-bad-exit", "0|1", "end the step when a task fails", set_kill, AT(kill_on_bad_exit), .optional = true },
	{ 'l', "label", NULL, "begin lines with the number of the task", opt_set_true, AT(label) },
	{ 0, "mem", "SIZE", "memory of the step", set_mib, AT(mem_mib) },
	{ 0, "mem-per-cpu", "SIZE", "memory for each CPU", set_mib, AT(mem_cpu_mib) },
	{ 'w', "nodelist", "NODE", "the job's own node", opt_set_text, AT(node) },
	{ 'N', "nodes", "N", "number of nodes", set_nodes, AT(nodes) },
	{ 'n', "ntasks", "N", "number of tasks", set_count, AT(tasks) },
	{ 0, "ntasks-per-node", "N", "tasks on the node", set_count, AT(tasks_per_node) },
	{ 0, "multi-prog", NULL, "the command is a file that says what each task runs", opt_set_true, AT(multi_prog) },
	{ 0, "open-mode", "MODE", "append, or truncate", set_append, AT(append) },
	{ 'o', "output", "FILE", "standard output", opt_set_text, AT(file[1]) },
	{ 0, "overlap", NULL, "beside other steps, on what they have", opt_set_true, AT(overlap) },
	{ 'O', "overcommit", NULL, "more tasks than CPUs", opt_set_true, AT(overcommit) },
	{ 0, "pty", "FD", "a terminal for task 0", set_kill, AT(pty), .optional = true },
	{ 'Q', "quiet", NULL, "print errors only", opt_set_true, AT(quiet) },
	{ 't', "time", "TIME", "time limit", set_limit, AT(limit_s) },
	{ 'v', "verbose", NULL, "say what is done", opt_set_true, AT(verbose) },
	{ 'W', "wait", "SECONDS", "end the others so long after the first", set_seconds, AT(wait_s) },
	{ 0, "het-group", "GROUP", NULL, .set = refuse },
	{ 0, "container", "PATH", NULL, .set = refuse },
	{ 0, "container-image", "IMAGE", NULL, .set = refuse },

	/* Accepted without effect. */
	IGNORED(0, "accel-bind", "HOW"), IGNORED(0, "acctg-freq", "HOW"),
	IGNORED('s', "oversubscribe", NULL),
	IGNORED(0, "compress", NULL), IGNORED(0, "contiguous", NULL),
	IGNORED(0, "cores-per-socket", "N"), IGNORED(0, "cpu-bind", "HOW"),
	IGNORED(0, "cpu-freq", "HOW"), 
	IGNORED(0, "disable-status", NULL), IGNORED('m', "distribution", "HOW"),
	IGNORED('X', "disable-x", NULL), IGNORED(0, "gpu-bind", "HOW"),
	IGNORED(0, "gpu-freq", "HOW"), IGNORED(0, "gres-flags", "HOW"),
	IGNORED(0, "hint", "HOW"), IGNORED(0, "mem-bind", "HOW"),
	{ 0, "mpi", "HOW", NULL, .set = set_mpi }, IGNORED(0, "network", "HOW"),
	IGNORED('k', "no-kill", NULL), IGNORED(0, "ntasks-per-core", "N"),
	IGNORED(0, "ntasks-per-socket", "N"), IGNORED('E', "preserve-env", NULL),
	IGNORED(0, "profile", "HOW"), IGNORED(0, "propagate", "HOW"),
	IGNORED(0, "quit-on-interrupt", NULL), IGNORED(0, "slurmd-debug", "LEVEL"),
	IGNORED(0, "sockets-per-node", "N"), IGNORED(0, "spread-job", NULL),
	IGNORED(0, "threads-per-core", "N"), IGNORED('T', "threads", "N"),
	IGNORED('u', "unbuffered", NULL), IGNORED(0, "use-min-nodes", NULL),
	IGNORED(0, "wckey", "KEY"),

	/* Options for the job that srun makes outside of a job. */
	{ 'A', "account", "NAME", "account of a job of its own", .set = command_ignore },
	{ 0, "begin", "TIME", "start that job no earlier", .set = command_ignore },
	{ 0, "comment", "TEXT", "its comment", .set = command_ignore },
	{ 'C', "constraint", "FEATURES", "features of its node", .set = command_ignore },
	{ 0, "cpus-per-gpu", "N", "its CPUs for each GPU", .set = command_ignore },
	{ 0, "deadline", "TIME", "when it must have ended", .set = command_ignore },
	{ 'd', "dependency", "LIST", "jobs it waits for", .set = command_ignore },
	{ 'x', "exclude", "NODES", "nodes it does not use", .set = command_ignore },
	{ 'H', "hold", NULL, "hold it", .set = command_ignore },
	{ 'I', "immediate", "SECONDS", "give it up if it cannot start", set_immediate, AT(immediate_s), .optional = true },
	{ 'L', "licenses", "NAME[:N],...", "licences it has", .set = command_ignore },
	{ 0, "mem-per-gpu", "SIZE", "its memory for each GPU", .set = command_ignore },
	{ 0, "nice", "N", "its priority, reduced by N", .set = command_ignore, .optional = true },
	{ 0, "ntasks-per-gpu", "N", "its tasks for each GPU", .set = command_ignore },
	{ 'p', "partition", "QUEUE", "its queue", .set = command_ignore },
	{ 0, "priority", "N", "its priority", .set = command_ignore },
	{ 'q', "qos", "CLASS", "its class", .set = command_ignore },
	{ 0, "reservation", "NAME", "its reservation", .set = command_ignore },
	{ 0, "signal", "[B:]SIG[@SECONDS]", "signal it gets before its time is over", .set = command_ignore },
	OPT_END
};
/* clang-format on */

static int apply(const struct opt *opt, void *ctx, const char *value)
{
	struct err err;

	remember(ctx, opt, value);
	if (opt->set(ctx, opt, value, &err) == 0)
		return 0;
	if (err.code == EOPNOTSUPP) {
		command_error("%s", err.text);
		return EXIT_FAILURE;
	}
	if (opt->set == set_nodes) {
		command_error(
		    "%s%s",
		    err.code == ERANGE ? "Unable to allocate resources: " : "",
		    err.text);
		return err.code == ERANGE ? EXIT_FAILURE : STATUS_USAGE;
	}
	if (opt->set == set_count || opt->set == set_cpus ||
	    opt->set == set_seconds || opt->set == set_immediate) {
		command_error("Invalid numeric value \"%s\" for --%s.", value,
		              opt->name);
		return EXIT_FAILURE;
	}
	command_error("Invalid --%s specification", opt->name);
	return STATUS_USAGE;
}

const struct command_line srun_line = {
	.name = "srun",
	.usage = "[OPTION]... COMMAND [ARG]...",
	.opts = opts,
	.usage_status = STATUS_USAGE,
	.stop_at_operand = true,
	.apply = apply,
};

/* Environment variables that set an option. A job sets some of them for the
 * srun in its script. */
static const struct {
	const char *variable, *option;
} variables[] = {
	{ "SLURM_JOBID", "jobid" },
	{ "SLURM_JOB_ID", "jobid" },
	{ "SLURM_NPROCS", "ntasks" },
	{ "SLURM_NTASKS", "ntasks" },
	{ "SLURM_NNODES", "nodes" },
	{ "SLURM_EXPORT_ENV", "export" },
	{ "SLURM_LABELIO", "label" },
	{ "SLURM_KILL_BAD_EXIT", "kill-on-bad-exit" },
	{ "SLURM_ACCOUNT", "account" },
	{ "SLURM_PARTITION", "partition" },
	{ "SLURM_QOS", "qos" },
	{ "SLURM_WAIT", "wait" },
	{ "SLURM_STEP_GRES", "gres" },
	{ "SLURM_EXACT", "exact" },
	{ "SLURM_OVERLAP", "overlap" },
	{ "SLURM_OVERCOMMIT", "overcommit" },
	{ "SLURM_OPEN_MODE", "open-mode" },
	{ "SLURM_STDINMODE", "input" },
	{ "SLURM_STDOUTMODE", "output" },
	{ "SLURM_STDERRMODE", "error" },
	{ "SRUN_CPUS_PER_TASK", "cpus-per-task" },
	{ "SRUN_EXPORT_ENV", "export" },
	{ "SRUN_ERROR", "error" },
	{ "SRUN_INPUT", "input" },
	{ "SRUN_OUTPUT", "output" },
};

void srun_options(struct srun *srun, int argc, char **argv, int *ret_first)
{
	*srun = (struct srun){ .arena = srun->arena,
		               .gpus = -1,
		               .gpus_per_task = -1,
		               .immediate_s = SBATCH_PATIENT,
		               .wait_s = -1 };
	for (size_t i = 0; i < ARRAY_SIZE(variables); i++) {
		const struct opt *opt = opt_find(opts, variables[i].option);
		const char *value = getenv(variables[i].variable);

		if (!value || (!*value && strcmp(opt->name, "ntasks") != 0))
			continue;
		command_apply(&srun_line, opt, srun, opt->arg ? value : NULL);
	}
	*ret_first = command_parse(&srun_line, srun, argc, argv);
}
