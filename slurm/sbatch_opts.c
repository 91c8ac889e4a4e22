/* sbatch_opts.c - the options of sbatch, from command line, environment and
 * scripts */
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "libcommon/directive.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"
#include "libcommon/spec/spec_set.h"
#include "slurm/sbatch.h"
#include "slurm/words.h"

enum { STATUS_USAGE = 255, SIGNAL_MOST_S = UINT16_MAX };

/* --- options whose values aisub writes differently ------------------------ */

/* Returns the number of nodes in "4" or "1k"; -1 if the text is no number. */
static int64_t count_nodes(const char *text, size_t len)
{
	static const char units[] = "kKmM";
	int64_t n = 0, unit = 1;
	char *digits;

	if (len && strchr(units, text[len - 1])) {
		unit = text[len - 1] == 'k' || text[len - 1] == 'K'
		           ? 1024
		           : 1024 * 1024;
		len--;
	}
	digits = xstrndup(text, len);
	if (parse_int(digits, 0, LIMIT_NODES, &n, NULL) < 0)
		n = -1;
	free(digits);
	return n < 0 ? -1 : n * unit;
}

int sbatch_parse_immediate(const char *value, int64_t *ret_s, struct err *err)
{
	return parse_int(value ? value : "1", 0, MAX_SECONDS, ret_s, err);
}

int sbatch_parse_nodes(const char *value, int64_t *ret_least, int64_t *ret_most,
                       struct err *err)
{
	size_t len = strcspn(value, "-");
	const char *second = value[len] ? value + len + 1 : NULL;
	int64_t least = count_nodes(value, len);
	int64_t most = second ? count_nodes(second, strlen(second)) : least;

	if (least < 0 || most < 0 || most > LIMIT_NODES || least > LIMIT_NODES)
		return err_set(err, EINVAL, "\"%s\" is not a valid node count",
		               least < 0 || !second ? value : second);
	if (most < least)
		return err_set(err, EINVAL,
		               "Maximum node count %lld is less than minimum "
		               "node count %lld",
		               (long long)most, (long long)least);
	if (!least)
		return err_set(err, ERANGE, "Node count specification invalid");
	*ret_least = least;
	*ret_most = most;
	return 0;
}

/* Set the number of nodes from "MIN[-MAX]". */
static int set_nodes(void *ctx, const struct opt *opt, const char *value,
                     struct err *err)
{
	struct submit *submit = &((struct sbatch *)ctx)->submit;
	int64_t least, most;

	(void)opt;
	if (sbatch_parse_nodes(value, &least, &most, err) < 0)
		return -1;
	submit->spec.nodes = least;
	submit->max_nodes = most > least ? most : SPEC_UNSET;
	return 0;
}

/* --spread-job: prefer a spread over as many nodes as possible, with the tasks
 * divided evenly. */
static int set_spread_job(void *ctx, const struct opt *opt, const char *value,
                          struct err *err)
{
	(void)value;
	return spec_set_text(ctx, opt, "node:preferred", err);
}

static int set_qos(void *ctx, const struct opt *opt, const char *value,
                   struct err *err)
{
	return strcmp(value, "normal") != 0
	           ? spec_set_text(ctx, opt, value, err)
	           : 0;
}

void sbatch_put_dependency(const char *value, struct buf *out)
{
	for (const char *s = value; *s; s += *s != '\0') {
		size_t len = strcspn(s, ",?");

		if (len && strspn(s, "0123456789_+:") >= len)
			buf_puts(out, "afterany:");
		buf_add(out, s, len);
		s += len;
		if (*s)
			buf_addc(out, *s);
	}
}

static int set_dependency(void *ctx, const struct opt *opt, const char *value,
                          struct err *err)
{
	struct buf text = { 0 };
	int rc;

	sbatch_put_dependency(value, &text);
	rc = spec_set_text(ctx, opt, text.data ? text.data : "", err);
	buf_free(&text);
	return rc;
}

/* Parse "[R][B:]SIG[@SECONDS]". Without B the signal is sent to the job's steps
 * only. */
static int set_signal(void *ctx, const struct opt *opt, const char *value,
                      struct err *err)
{
	struct sbatch *sbatch = ctx;
	const char *colon = strchr(value, ':');
	size_t len = colon ? (size_t)(colon - value) : 0;
	bool batch = memchr(value, 'B', len) != NULL;
	const char *rest = colon ? colon + 1 : value;

	if (strspn(value, "RB") < len)
		return err_set(err, EINVAL, "bad signal '%s'", value);
	if (spec_set_signal(ctx, opt, rest, err) < 0)
		return -1;
	if (sbatch->submit.spec.signal_before > SIGNAL_MOST_S)
		return err_set(err, EINVAL, "bad signal '%s'", value);
	sbatch->submit.spec.signal_batch = batch ? 1 : 2;
	return 0;
}

static int set_moment(void *ctx, const struct opt *opt, const char *value,
                      struct err *err)
{
	static const char *const hours[][2] = { { "fika", "15:00" },
		                                { "teatime", "16:00" } };

	for (size_t i = 0; i < ARRAY_SIZE(hours); i++)
		if (!strcmp(value, hours[i][0]))
			value = hours[i][1];
	return spec_set_moment(ctx, opt, value, err);
}

static int set_own_id(void *ctx, const struct opt *opt, const char *value,
                      struct err *err)
{
	bool user = *opt->name == 'u';
	const struct passwd *pw = user ? getpwnam(value) : NULL;
	const struct group *group = user ? NULL : getgrnam(value);
	int64_t id;

	(void)ctx;
	if (pw)
		id = pw->pw_uid;
	else if (group)
		id = group->gr_gid;
	else if (parse_int(value, 0, UINT32_MAX, &id, err) < 0)
		return -1;
	if (id == (user ? (int64_t)geteuid() : (int64_t)getegid()))
		return 0;
	return err_set(err, EOPNOTSUPP,
	               "--%s: jobs are submitted by their own users only",
	               opt->name);
}

static int set_exclusive(void *ctx, const struct opt *opt, const char *value,
                         struct err *err)
{
	static const char *const how[] = { "user", "mcs", "topo" };
	bool known = !value;

	for (size_t i = 0; value && i < ARRAY_SIZE(how); i++)
		known = known || !strcmp(value, how[i]);
	return known ? spec_set_flag(ctx, opt, value, err)
	             : err_set(err, EINVAL, "no such way '%s'", value);
}

/* Set the open mode; "a" and "t" mean append and truncate. */
static int set_open_mode(void *ctx, const struct opt *opt, const char *value,
                         struct err *err)
{
	return spec_set_open_mode(ctx, opt,
	                          !strcmp(value, "a")   ? "append"
	                          : !strcmp(value, "t") ? "truncate"
	                                                : value,
	                          err);
}

/* Set the ids of the array, which may be in brackets, as squeue prints them. */
static int set_array(void *ctx, const struct opt *opt, const char *value,
                     struct err *err)
{
	struct buf text = { 0 };
	int rc;

	for (const char *s = value; *s; s++)
		if (!strchr("[]", *s))
			buf_addc(&text, *s);
	rc = spec_set_array(ctx, opt, text.data ? text.data : "", err);
	buf_free(&text);
	return rc;
}

/* --- the table ------------------------------------------------------------ */

#define SPEC(member) .offset = offsetof(struct sbatch, submit.spec.member)
#define AT(member)   .offset = offsetof(struct sbatch, member)
#define IGNORED(letter, name, arg)                             \
	{                                                      \
		letter, name, arg, NULL, .set = command_ignore \
	}
#define IGNORED_OPTIONAL(letter, name)                            \
	{                                                         \
		letter, name, "HOW", NULL, .set = command_ignore, \
					   .optional = true       \
	}

/* clang-format off */
static const struct opt opts[] = {
	{ 'A', "account", "NAME", "account it is charged to", spec_set_text, SPEC(account) },
	{ 'a', "array", "IDS[%MAX]", "one job for each id", set_array, SPEC(array) },
	{ 'b', "begin", "TIME", "not before", set_moment, SPEC(begin) },
	{ 'D', "chdir", "DIR", "folder it runs in", spec_set_workdir, SPEC(workdir) },
	{ 0, "workdir", "DIR", NULL, spec_set_workdir, SPEC(workdir) },
	{ 'M', "clusters", "NAME", "this cluster's own name, or all", command_add_items, AT(clusters) },
	{ 0, "cluster", "NAME", NULL, command_add_items, AT(clusters) },
	{ 0, "comment", "TEXT", "free text", spec_set_text, SPEC(comment) },
	{ 'C', "constraint", "FEATURES", "nodes with features", spec_set_text, SPEC(constraint) },
	{ 0, "prefer", "FEATURES", "rather nodes with features", spec_set_text, SPEC(prefer) },
	{ 0, "cpus-per-gpu", "N", "CPUs for each GPU", spec_set_cpus, AT(submit.per_gpu.cpus) },
	{ 'c', "cpus-per-task", "N", "CPUs of each task", spec_set_cpus, SPEC(cpus) },
	{ 0, "deadline", "TIME", "stop it if it cannot finish by then", set_moment, SPEC(deadline) },
	{ 'd', "dependency", "LIST", "wait for jobs", set_dependency, SPEC(dependency) },
	{ 'e', "error", "FILE", "standard error", spec_set_text, SPEC(error) },
	{ 'x', "exclude", "NODES", "not on these nodes", spec_set_text, SPEC(exclude) },
	{ 0, "exclusive", "HOW", "no other job on its nodes", set_exclusive, SPEC(exclusive), .optional = true },
	{ 0, "export", "LIST", "variables it gets", spec_set_export, AT(submit.export_env) },
	{ 0, "export-file", "FILE", "file with the variables it gets", spec_set_text, AT(export_file) },
	{ 0, "gid", "GID", NULL, .set = set_own_id },
	{ 'G', "gpus", "[TYPE:]N", "GPUs of all tasks together", spec_set_gpus, SPEC(gpus_job) },
	{ 0, "gpus-per-node", "[TYPE:]N", "GPUs on each node", spec_set_gpus, SPEC(gpus_node) },
	{ 0, "gpus-per-task", "[TYPE:]N", "GPUs of each task", spec_set_gpus_per_task, SPEC(gpus) },
	{ 0, "gres", "gpu[:TYPE][:N],...", "GPUs and other devices of each node", spec_set_gres, SPEC(gpus_node) },
	{ 0, "gres-flags", "FLAGS", "enforce-binding: one NUMA node a task", spec_set_gres_flags, SPEC(numa) },
	{ 'H', "hold", NULL, "hold it until it is released", spec_set_flag, SPEC(hold) },
	{ 'i', "input", "FILE", "standard input", spec_set_text, SPEC(input) },
	{ 'J', "job-name", "NAME", "name of the job", spec_set_text, SPEC(name) },
	{ 0, "kill-on-invalid-dep", "yes|no", "end it if --dependency cannot be met", spec_set_yes, SPEC(kill_on_invalid_dep) },
	{ 'L', "licenses", "NAME[:N],...", "licences it holds", spec_set_text, SPEC(licenses) },
	{ 0, "mail-type", "TYPE,...", "mail when it begins, ends, ...", spec_set_mail_types, SPEC(mail_types) },
	{ 0, "mail-user", "ADDRESS", "recipient of these mails", spec_set_text, SPEC(mail_user) },
	{ 0, "mem", "SIZE", "memory on each node", spec_set_mib, SPEC(mem_node) },
	{ 0, "mem-per-cpu", "SIZE", "memory for each CPU", spec_set_mib, SPEC(mem_cpu) },
	{ 0, "mem-per-gpu", "SIZE", "memory for each GPU", spec_set_mib, AT(submit.per_gpu.mem) },
	{ 0, "nice", "N", "reduce its priority by N", spec_set_nice, SPEC(nice), .optional = true },
	{ 'w', "nodelist", "NODES", "on these nodes only", spec_set_text, SPEC(nodelist) },
	{ 'N', "nodes", "MIN[-MAX]", "spread over MIN to MAX nodes", set_nodes, SPEC(nodes) },
	{ 0, "no-requeue", "yes", "never run it again", spec_set_no_requeue, SPEC(requeue), .optional = true },
	{ 'n', "ntasks", "N", "number of tasks", spec_set_int, SPEC(tasks) },
	{ 0, "ntasks-per-gpu", "N", "tasks for each GPU", spec_set_int, AT(submit.per_gpu.tasks) },
	{ 0, "ntasks-per-node", "N", "at most N tasks on a node", spec_set_int, SPEC(tasks_per_node) },
	{ 0, "open-mode", "MODE", "append, or truncate", set_open_mode, SPEC(append) },
	{ 'o', "output", "FILE", "standard output", spec_set_text, SPEC(output) },
	{ 'O', "overcommit", NULL, "let all tasks on a node share the CPUs of one", opt_set_true, AT(overcommit) },
	{ 0, "parsable", NULL, "print only the id", opt_set_true, AT(submit.parsable) },
	{ 'p', "partition", "QUEUE,...", "queue it waits in", spec_set_text, SPEC(queue) },
	{ 0, "priority", "N", "priority instead of its class's", spec_set_int, SPEC(priority) },
	{ 'q', "qos", "CLASS", "class of work", set_qos, SPEC(class) },
	{ 'Q', "quiet", NULL, "print errors only", opt_set_true, AT(submit.quiet) },
	{ 0, "requeue", NULL, "run it again when its node fails", spec_set_flag, SPEC(requeue) },
	{ 0, "reservation", "NAME", "in this reservation", spec_set_text, SPEC(reservation) },
	{ 0, "signal", "[B:]SIG[@SEC]", "send SIG before its time limit", set_signal, SPEC(signal) },
	{ 0, "spread-job", NULL, "tasks evenly over many nodes", set_spread_job, SPEC(spread) },
	{ 0, "test-only", NULL, "say when it would start", opt_set_true, AT(submit.test_only) },
	{ 't', "time", "TIME", "time limit", spec_set_time_limit, SPEC(time_limit) },
	{ 0, "tmp", "SIZE", "disk on each node", spec_set_mib, SPEC(tmp) },
	{ 0, "uid", "UID", NULL, .set = set_own_id },
	{ 'v', "verbose", NULL, "print warnings, too", opt_set_true, AT(verbose) },
	{ 'W', "wait", NULL, "wait for its end; exit with its status", opt_set_true, AT(submit.wait) },
	{ 0, "wrap", "COMMAND", "run this shell command", spec_set_text, AT(submit.wrap) },

	/* Accepted without effect. */
	IGNORED(0, "accel-bind", "HOW"), IGNORED(0, "acctg-freq", "HOW"),
	IGNORED(0, "contiguous", NULL), IGNORED('S', "core-spec", "N"),
	IGNORED(0, "cores-per-socket", "N"), IGNORED(0, "cpu-freq", "HOW"),
	IGNORED(0, "delay-boot", "MINUTES"),
	IGNORED('m', "distribution", "HOW"), IGNORED(0, "extra", "TEXT"),
	IGNORED('B', "extra-node-info", "S:C:T"),
	IGNORED_OPTIONAL(0, "get-user-env"), IGNORED(0, "gpu-bind", "HOW"),
	IGNORED(0, "gpu-freq", "HOW"),
	IGNORED(0, "hint", "HOW"), IGNORED(0, "ignore-pbs", NULL),
	IGNORED(0, "mem-bind", "HOW"), IGNORED(0, "mincpus", "N"),
	IGNORED(0, "network", "HOW"), IGNORED_OPTIONAL('k', "no-kill"),
	IGNORED(0, "ntasks-per-core", "N"), IGNORED(0, "ntasks-per-socket", "N"),
	IGNORED(0, "oom-kill-step", "HOW"), IGNORED('s', "oversubscribe", NULL), IGNORED(0, "power", "HOW"),
	IGNORED(0, "profile", "HOW"),
	IGNORED_OPTIONAL(0, "propagate"), IGNORED(0, "reboot", NULL),
	IGNORED(0, "segment", "N"), IGNORED(0, "share", NULL),
	IGNORED(0, "sockets-per-node", "N"),
	IGNORED(0, "stepmgr", NULL), IGNORED(0, "switches", "N"),
	IGNORED(0, "thread-spec", "N"), IGNORED(0, "threads-per-core", "N"),
	IGNORED(0, "time-min", "TIME"),
	IGNORED(0, "umask", "MASK"), IGNORED(0, "use-min-nodes", NULL),
	IGNORED(0, "wait-all-nodes", "HOW"), IGNORED(0, "wckey", "KEY"),
	OPT_END
};
/* clang-format on */

/* --- messages for wrong values -------------------------------------------- */

/* Options whose values Slurm checks in its daemon, and the message of sbatch
 * when the daemon refuses them. */
static const struct {
	const char *name, *words;
} judged[] = {
	{ "array", "Invalid job array specification" },
	{ "dependency", "Job dependency problem" },
	{ "constraint", "Invalid feature specification" },
	{ "prefer", "Invalid feature specification" },
	{ "licenses", "Invalid license specification" },
	{ "nodelist", "Invalid node name specified" },
	{ "exclude", "Invalid node name specified" },
	{ "gres", "Invalid generic resource (gres) specification" },
};

const char *sbatch_failed(void)
{
	return !strcmp(command_name, "salloc") ? "Job submit/allocate failed"
	       : !strcmp(command_name, "srun") ? "Unable to allocate resources"
	                                       : "Batch job submission failed";
}

static int report(const struct opt *opt, const char *value,
                  const struct err *err)
{
	if (err->code == EOPNOTSUPP) {
		command_error("%s", err->text);
		return EXIT_FAILURE;
	}
	for (size_t i = 0; i < ARRAY_SIZE(judged); i++) {
		if (strcmp(judged[i].name, opt->name) != 0)
			continue;
		command_error("%s: %s", sbatch_failed(), judged[i].words);
		return EXIT_FAILURE;
	}
	if (opt->set == set_nodes && err->code == ERANGE) {
		command_error("%s: %s", sbatch_failed(), err->text);
		return EXIT_FAILURE;
	}
	if (opt->set == set_nodes) {
		command_error("%s", err->text);
		return STATUS_USAGE;
	}
	if (opt->set == spec_set_int || opt->set == spec_set_cpus) {
		command_error("Invalid numeric value \"%s\" for --%s.", value,
		              opt->name);
		return EXIT_FAILURE;
	}
	if (opt->set == spec_set_gpus || opt->set == spec_set_gpus_per_task) {
		command_error("Invalid generic resource (gres) specification");
		return EXIT_FAILURE;
	}
	command_error("Invalid --%s specification", opt->name);
	return STATUS_USAGE;
}

/* Set an option. Ignores empty values, which programs pass to mean "not
 * given". */
int sbatch_apply(const struct opt *opt, void *ctx, const char *value)
{
	struct sbatch *sbatch = ctx;
	struct err err;

	if (opt->set == command_ignore)
		buf_printf(sbatch->submit.warnings, "%s: --%s has no effect\n",
		           command_name, opt->name);
	if (value && !*value && opt->set != spec_set_no_requeue)
		return 0;
	return opt->set(ctx, opt, value, &err) < 0 ? report(opt, value, &err)
	                                           : 0;
}

const struct command_line sbatch_line = {
	.name = "sbatch",
	.usage = "[OPTION]... SCRIPT [ARG]...",
	.opts = opts,
	.env = "SBATCH_",
	.usage_status = STATUS_USAGE,
	.stop_at_operand = true,
	.apply = sbatch_apply,
};

/* --- environment and script ----------------------------------------------- */

void sbatch_init(struct sbatch *sbatch, struct arena *arena,
                 struct buf *warnings)
{
	*sbatch = (struct sbatch){ 0 };
	submit_init(&sbatch->submit, arena, warnings, time(NULL));
}

static void merge(struct sbatch *to, struct sbatch *from)
{
	submit_merge(&to->submit, &from->submit);
	if (!to->clusters)
		to->clusters = from->clusters;
	else
		json_decref(from->clusters);
	if (!to->export_file)
		to->export_file = from->export_file;
	to->verbose |= from->verbose;
	to->overcommit |= from->overcommit;
}

void sbatch_from_env(struct sbatch *sbatch)
{
	static const struct command_variable special[] = {
		{ "TIMELIMIT", "time" },
		{ "ARRAY_INX", "array" },
		{ "MEM_PER_NODE", "mem" },
		{ NULL, NULL },
	};
	struct sbatch env;

	sbatch_init(&env, sbatch->submit.arena, sbatch->submit.warnings);
	command_take_variables(&sbatch_line, special, &env);
	merge(sbatch, &env);
}

static const struct opt *find_directive(const char *option)
{
	if (option[1] == '-')
		return option[2] ? command_find(&sbatch_line, option + 2)
		                 : NULL;
	return opt_find(opts, option + 1);
}

static enum directive_takes directive_takes(const char *option, bool slurm,
                                            void *arg)
{
	const struct opt *opt = slurm ? find_directive(option) : NULL;

	(void)arg;
	if (!opt)
		return DIRECTIVE_UNKNOWN;
	if (!opt->arg)
		return DIRECTIVE_FLAG;
	return opt->optional ? DIRECTIVE_OPTIONAL : DIRECTIVE_VALUE;
}

__attribute__((noreturn)) static void unknown(const struct directive *d)
{
	if (d->option[1] == '-')
		fprintf(stderr, "sbatch: unrecognized option '%s%s%s'\n",
		        d->option, d->value ? "=" : "",
		        d->value ? d->value : "");
	else
		fprintf(stderr, "sbatch: invalid option -- '%s'\n",
		        d->option + 1);
	fputs("Try \"sbatch --help\" for more information\n", stderr);
	exit(STATUS_USAGE);
}

static int directive_option(const struct directive *d, void *arg,
                            struct err *err)
{
	const struct opt *opt;

	(void)err;
	if (!d->slurm)
		return 0; /* #AISUB is a comment to sbatch */
	opt = find_directive(d->option);
	if (!opt)
		unknown(d);
	command_apply(&sbatch_line, opt, arg, d->value);
	return 0;
}

static int directive_word(const char *word, bool slurm, void *arg,
                          struct err *err)
{
	(void)arg, (void)err;
	if (!slurm)
		return 0;
	if (!strcmp(word, "hetjob") || !strcmp(word, "packjob")) {
		command_error("heterogeneous jobs are not supported");
		exit(EXIT_FAILURE);
	}
	command_error("Invalid directive found in batch script: %s", word);
	exit(STATUS_USAGE);
}

static void directive_late(int line, void *arg)
{
	(void)line, (void)arg;
}

/* Turn "script:2: -n needs a value" into the message of getopt() and print it.
 * Returns false if the text is another message. */
static bool tell_missing_value(const char *text)
{
	const char *end = strstr(text, " needs a value");
	const char *option = strstr(text, ": -");

	if (!end || !option || end < option)
		return false;
	option += 2;
	if (option[1] == '-')
		fprintf(stderr, "sbatch: option '%.*s' requires an argument\n",
		        (int)(end - option), option);
	else
		fprintf(stderr, "sbatch: option requires an argument -- '%c'\n",
		        option[1]);
	fputs("Try \"sbatch --help\" for more information\n", stderr);
	return true;
}

void sbatch_from_script(struct sbatch *sbatch, const struct buf *script)
{
	struct sbatch layer;
	const struct directive_handler handler = {
		.takes = directive_takes,
		.option = directive_option,
		.word = directive_word,
		.late = directive_late,
		.arg = &layer,
	};
	struct err err;

	sbatch_init(&layer, sbatch->submit.arena, sbatch->submit.warnings);
	if (directive_scan(script->data, script->len, "script", &handler,
	                   &err) < 0) {
		if (!tell_missing_value(err.text))
			command_error("%s", err.text);
		exit(STATUS_USAGE);
	}
	merge(sbatch, &layer);
}

/* --- the request ---------------------------------------------------------- */

/* --overcommit: ask for the CPUs of one task on each node, which all tasks
 * share. GPUs are still those of all tasks. */
static void share_cpus(struct spec *spec)
{
	int64_t nodes = spec_is_set(spec->nodes) ? spec->nodes : 1;
	int64_t each =
	    spec_is_set(spec->tasks_per_node) ? spec->tasks_per_node : 1;
	int64_t tasks = spec_is_set(spec->tasks) ? spec->tasks : nodes * each;

	if (spec_is_set(spec->gpus)) {
		spec->gpus_job = (spec->gpus * tasks + 999) / 1000;
		spec->gpus = SPEC_UNSET;
	}
	spec->shared_tasks = tasks;
	spec->tasks = spec->tasks_per_node = SPEC_UNSET;
}

int sbatch_resolve(struct sbatch *sbatch, struct err *err)
{
	struct spec *spec = &sbatch->submit.spec;
	struct request req;

	if (spec_is_set(spec->nodes) && spec_is_set(spec->tasks) &&
	    spec->nodes > spec->tasks) {
		if (!sbatch->submit.quiet)
			fprintf(stderr,
			        "%s: warning: can't run %lld processes on "
			        "%lld nodes, setting nnodes to %lld\n",
			        command_name, (long long)spec->tasks,
			        (long long)spec->nodes, (long long)spec->tasks);
		spec->nodes = spec->tasks;
	}
	if (sbatch->overcommit)
		share_cpus(spec);
	/* Ignore --spread-job if the constraint says how many nodes have each
	 * feature. */
	if (spec->constraint && strchr(spec->constraint, '*'))
		spec->spread = NULL;
	return submit_resolve(&sbatch->submit, &req, err);
}
