/* spec_opt.c - the options of aisub: one table for all four places */
#include "libcommon/spec_opt.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/directive.h"
#include "libcommon/export.h"
#include "libcommon/idset.h"
#include "libcommon/parse.h"

/* --- how values are taken: opt->offset is that in struct submit ---------- */

static const char **text_at(void *ctx, const struct opt *opt)
{
	return (const char **)(void *)((char *)ctx + opt->offset);
}

static int64_t *int_at(void *ctx, const struct opt *opt)
{
	return (int64_t *)(void *)((char *)ctx + opt->offset);
}

/* NULL: the option is not one of the spec. */
static const struct spec_field *field_of(const struct opt *opt)
{
	for (size_t i = 0; i < spec_nfields; i++)
		if (offsetof(struct submit, spec) + spec_fields[i].offset ==
		    opt->offset)
			return &spec_fields[i];
	return NULL;
}

static const struct spec_field *number_of(const struct opt *opt)
{
	const struct spec_field *field = field_of(opt);

	assert(field && !field->is_text);
	return field;
}

static int set_text(void *ctx, const struct opt *opt, const char *value,
                    struct err *err)
{
	struct submit *submit = ctx;
	const struct spec_field *field = field_of(opt);

	if (field && spec_check_text(field, value, err) < 0)
		return -1;
	*text_at(ctx, opt) = arena_strdup(submit->arena, value);
	return 0;
}

/* May be relative, to what only aisub knows; so it is checked later. */
static int set_workdir(void *ctx, const struct opt *opt, const char *value,
                       struct err *err)
{
	struct submit *submit = ctx;

	if (!*value)
		return err_set(err, EINVAL, "it is empty");
	*text_at(ctx, opt) = arena_strdup(submit->arena, value);
	return 0;
}

static int set_flag(void *ctx, const struct opt *opt, const char *value,
                    struct err *err)
{
	(void)value, (void)err;
	*int_at(ctx, opt) = 1;
	return 0;
}

static int set_int(void *ctx, const struct opt *opt, const char *value,
                   struct err *err)
{
	const struct spec_field *field = number_of(opt);

	return parse_int(value, field->min, field->max, int_at(ctx, opt), err);
}

/* -N 2, -N 2-2 */
static int set_nodes(void *ctx, const struct opt *opt, const char *value,
                     struct err *err)
{
	const char *dash = strchr(value, '-');
	size_t len = dash ? (size_t)(dash - value) : strlen(value);

	if (len && dash && !strncmp(value, dash + 1, len) && !dash[1 + len])
		value = dash + 1;
	else if (len && dash)
		return err_set(err, EINVAL,
		               "'%s': ranges are not supported, give one "
		               "number of nodes",
		               value);
	return set_int(ctx, opt, value, err);
}

/* Slurm's plain --nice is 100. */
static int set_nice(void *ctx, const struct opt *opt, const char *value,
                    struct err *err)
{
	return set_int(ctx, opt, value ? value : "100", err);
}

static int set_cpus(void *ctx, const struct opt *opt, const char *value,
                    struct err *err)
{
	int64_t milli;

	if (parse_milli(value, number_of(opt)->max, &milli, err) < 0)
		return -1;
	if (!milli)
		return err_set(err, EINVAL, "a task needs some CPU");
	*int_at(ctx, opt) = milli;
	return 0;
}

static int set_mib(void *ctx, const struct opt *opt, const char *value,
                   struct err *err)
{
	int64_t mib;

	if (parse_mib(value, 'M', &mib, err) < 0)
		return -1;
	if (!mib)
		return err_set(err, EINVAL,
		               "'%s': say how much memory is needed", value);
	if (mib > number_of(opt)->max)
		return err_set(err, EINVAL, "'%s' is too much", value);
	*int_at(ctx, opt) = mib;
	return 0;
}

/* [type:]number: takes the type and returns the number, NULL on failure. */
static const char *take_gpu_type(struct submit *submit, const char *value,
                                 struct err *err)
{
	const char *colon = strrchr(value, ':');
	char *type;

	if (!colon)
		return value;
	type = arena_strdup(submit->arena, value);
	type[colon - value] = '\0';
	if (!*type || strchr(type, ':') || strchr(type, ',')) {
		err_set(err, EINVAL, "bad GPUs '%s': use [TYPE:]NUMBER", value);
		return NULL;
	}
	submit->spec.gpu_type = type;
	return colon + 1;
}

static int set_gpus(void *ctx, const struct opt *opt, const char *value,
                    struct err *err)
{
	const char *number = take_gpu_type(ctx, value, err);

	return number ? set_int(ctx, opt, number, err) : -1;
}

static int set_gpus_per_task(void *ctx, const struct opt *opt,
                             const char *value, struct err *err)
{
	const char *number = take_gpu_type(ctx, value, err);

	return number ? parse_milli(number, number_of(opt)->max,
	                            int_at(ctx, opt), err)
	              : -1;
}

/* gpu[:type][:number] */
static int set_gres(void *ctx, const struct opt *opt, const char *value,
                    struct err *err)
{
	const char *rest = value + strlen("gpu");
	char *gpus;
	int rc;

	if (!strcmp(value, "none"))
		return 0;
	if (strncmp(value, "gpu", strlen("gpu")) || (*rest && *rest != ':') ||
	    strchr(value, ','))
		return err_set(err, EINVAL,
		               "'%s': only gpu[:TYPE][:NUMBER] is supported",
		               value);
	if (!*rest)
		return set_gpus(ctx, opt, "1", err);
	if (isdigit((unsigned char)strrchr(rest, ':')[1]))
		return set_gpus(ctx, opt, rest + 1, err);
	gpus = xasprintf("%s:1", rest + 1);
	rc = set_gpus(ctx, opt, gpus, err);
	free(gpus);
	return rc;
}

/* Slurm's --time=0 is no limit. */
static int set_time_limit(void *ctx, const struct opt *opt, const char *value,
                          struct err *err)
{
	int64_t seconds;

	if (parse_duration(value, &seconds, err) < 0)
		return -1;
	*int_at(ctx, opt) = seconds ? seconds : TIME_UNLIMITED;
	return 0;
}

static int set_grace(void *ctx, const struct opt *opt, const char *value,
                     struct err *err)
{
	int64_t seconds;

	if (parse_duration(value, &seconds, err) < 0)
		return -1;
	if (seconds < 0)
		return err_set(err, EINVAL, "'%s': a grace must end", value);
	*int_at(ctx, opt) = seconds;
	return 0;
}

static int set_moment(void *ctx, const struct opt *opt, const char *value,
                      struct err *err)
{
	const struct submit *submit = ctx;

	return parse_time(value, submit->now, int_at(ctx, opt), err);
}

static int set_signal(void *ctx, const struct opt *opt, const char *value,
                      struct err *err)
{
	struct submit *submit = ctx;
	int64_t before;
	int signo;
	bool batch;

	(void)opt;
	if (parse_signal_spec(value, &signo, &before, &batch, err) < 0)
		return -1;
	submit->spec.signal = signo;
	submit->spec.signal_before = before;
	submit->spec.signal_batch = batch;
	return 0;
}

static int set_array(void *ctx, const struct opt *opt, const char *value,
                     struct err *err)
{
	struct submit *submit = ctx;
	struct idset set;
	struct buf text = { 0 };
	uint32_t max;

	(void)opt;
	if (idset_parse(&set, &max, value, err) < 0)
		return -1;
	idset_format(&set, &text);
	if (max)
		buf_printf(&text, "%%%u", max);
	submit->spec.array = arena_strdup(submit->arena, text.data);
	buf_free(&text);
	idset_free(&set);
	return 0;
}

/* A value only turns it off: an empty one is what templates leave over. */
static int set_no_requeue(void *ctx, const struct opt *opt, const char *value,
                          struct err *err)
{
	bool yes = true;

	if (value && *value && parse_bool(value, &yes, err) < 0)
		return -1;
	if (yes)
		*int_at(ctx, opt) = 0;
	return 0;
}

static int set_open_mode(void *ctx, const struct opt *opt, const char *value,
                         struct err *err)
{
	if (strcmp(value, "append") && strcmp(value, "truncate"))
		return err_set(err, EINVAL,
		               "bad mode '%s': use append or truncate", value);
	*int_at(ctx, opt) = *value == 'a';
	return 0;
}

static int set_launch(void *ctx, const struct opt *opt, const char *value,
                      struct err *err)
{
	if (strcmp(value, "tasks") && strcmp(value, "script"))
		return err_set(err, EINVAL,
		               "bad launch '%s': use tasks or script", value);
	return set_text(ctx, opt, value, err);
}

/* Checked now, so that the error names the place; taken when it is sent. */
static int set_export(void *ctx, const struct opt *opt, const char *value,
                      struct err *err)
{
	char *const none[] = { NULL };
	struct buf out = { 0 };
	int rc = export_env(&out, value, none, err);

	buf_free(&out);
	return rc < 0 ? rc : set_text(ctx, opt, value, err);
}

static int set_ignored(void *ctx, const struct opt *opt, const char *value,
                       struct err *err)
{
	(void)ctx, (void)opt, (void)value, (void)err;
	return 0;
}

static int set_idle(void *ctx, const struct opt *opt, const char *value,
                    struct err *err)
{
	(void)ctx, (void)opt, (void)value;
	return err_set(err, EINVAL, "has no effect yet in this version");
}

/* --- the table ------------------------------------------------------------ */

#define AT(member) offsetof(struct submit, member)

/* clang-format off */
const struct opt spec_opts[] = {
	{ 'J', "job-name", "NAME", "name of the job",
	  set_text, AT(spec.name), false },
	{ 'q', "queue", "QUEUE", "queue it waits in",
	  set_text, AT(spec.queue), false },
	{ 'p', "partition", "QUEUE", NULL, set_text, AT(spec.queue), false },
	{ 'A', "account", "ACCOUNT", "account it is charged to",
	  set_text, AT(spec.account), false },
	{ 0, "class", "CLASS", "class of work: train, interactive, ...",
	  set_text, AT(spec.class), false },
	{ 0, "priority", "N", "priority in place of its class's",
	  set_int, AT(spec.priority), false },
	{ 0, "nice", "N", "take N (100) off its priority",
	  set_nice, AT(spec.nice), true },
	{ 0, "comment", "TEXT", "free text, kept with the job",
	  set_text, AT(spec.comment), false },

	{ 'n', "tasks", "N", "number of tasks, which start together (1)",
	  set_int, AT(spec.tasks), false },
	{ 0, "ntasks", "N", NULL, set_int, AT(spec.tasks), false },
	{ 0, "min-tasks", "N", "start with N tasks; more come and go",
	  set_int, AT(spec.min_tasks), false },
	{ 'N', "nodes", "N", "spread them over exactly N nodes",
	  set_nodes, AT(spec.nodes), false },
	{ 0, "tasks-per-node", "N", "at most N tasks on a node",
	  set_int, AT(spec.tasks_per_node), false },
	{ 0, "ntasks-per-node", "N", NULL,
	  set_int, AT(spec.tasks_per_node), false },

	{ 'c', "cpus-per-task", "N", "CPUs of each task (1); 0.1 is a tenth",
	  set_cpus, AT(spec.cpus), false },
	{ 0, "mem-per-task", "SIZE", "memory of each task: 512M, 1.5G",
	  set_mib, AT(spec.mem), false },
	{ 0, "mem-per-cpu", "SIZE", "memory for each CPU",
	  set_mib, AT(spec.mem_cpu), false },
	{ 0, "mem", "SIZE", "memory on each node",
	  set_mib, AT(spec.mem_node), false },
	{ 0, "gpus-per-task", "[TYPE:]N", "GPUs of each task; 0.5 is half a GPU",
	  set_gpus_per_task, AT(spec.gpus), false },
	{ 0, "gpus-per-node", "[TYPE:]N", "GPUs on each node",
	  set_gpus, AT(spec.gpus_node), false },
	{ 'G', "gpus", "[TYPE:]N", "GPUs of all tasks together",
	  set_gpus, AT(spec.gpus_job), false },
	{ 0, "gres", "gpu[:TYPE][:N]", "the same as --gpus-per-node",
	  set_gres, AT(spec.gpus_node), false },
	{ 0, "gpu-type", "TYPE", "type its GPUs must have",
	  set_text, AT(spec.gpu_type), false },
	{ 0, "exclusive", NULL, "no other job on its nodes",
	  set_flag, AT(spec.exclusive), false },
	{ 'L', "licenses", "NAME[:N],...", "licences it holds while it runs",
	  set_text, AT(spec.licenses), false },

	{ 't', "time", "TIME", "time limit: minutes, h:m:s, d-h, 90s, 12h",
	  set_time_limit, AT(spec.time_limit), false },
	{ 'b', "begin", "TIME", "not before: HH:MM, a date, now+2h",
	  set_moment, AT(spec.begin), false },
	{ 0, "deadline", "TIME", "remove it if it cannot end by then",
	  set_moment, AT(spec.deadline), false },
	{ 0, "signal", "[B:]SIG[@SEC]",
	  "send SIG so long (60 s) before its time limit",
	  set_signal, AT(spec.signal), false },
	{ 0, "grace", "TIME", "from SIGTERM to SIGKILL when it is ended",
	  set_grace, AT(spec.grace), false },

	{ 'a', "array", "IDS[%MAX]", "one job for each id: 0-99:2%10",
	  set_array, AT(spec.array), false },
	{ 'd', "dependency", "LIST", "wait for jobs: afterok:12:13,singleton",
	  set_text, AT(spec.dependency), false },
	{ 'H', "hold", NULL, "hold it until it is released",
	  set_flag, AT(spec.hold), false },
	{ 0, "requeue", NULL, "run it again when its node fails",
	  set_flag, AT(spec.requeue), false },
	{ 0, "no-requeue", "yes", "never run it again",
	  set_no_requeue, AT(spec.requeue), true },
	{ 0, "max-restarts", "N", "run it again at most N times (5)",
	  set_int, AT(spec.max_restarts), false },
	{ 0, "on-task-failure", "end|restart|replace",
	  "then all end, all start again, or that task does",
	  set_text, AT(spec.on_task_failure), false },

	{ 'C', "constraint", "FEATURES", "nodes with features: ib&(h100|a100)",
	  set_text, AT(spec.constraint), false },
	{ 'w', "nodelist", "NODES", "on these nodes only: n[1-4],login",
	  set_text, AT(spec.nodelist), false },
	{ 'x', "exclude", "NODES", "not on these nodes",
	  set_text, AT(spec.exclude), false },
	{ 0, "pool", "POOL", "pool of nodes it runs in",
	  set_text, AT(spec.pool), false },
	{ 0, "topology", "LEVEL[,LEVEL:preferred]",
	  "all tasks in one domain of the level, as rack",
	  set_text, AT(spec.topology), false },
	{ 0, "numa", "strict|prefer",
	  "CPUs and GPUs of a task from one NUMA node",
	  set_text, AT(spec.numa), false },
	{ 0, "reservation", "NAME", "in this reservation, on its nodes",
	  set_text, AT(spec.reservation), false },

	{ 'o', "output", "FILE", "standard output (slurm-%j.out)",
	  set_text, AT(spec.output), false },
	{ 'e', "error", "FILE", "standard error (joins standard output)",
	  set_text, AT(spec.error), false },
	{ 'i', "input", "FILE", "standard input (/dev/null)",
	  set_text, AT(spec.input), false },
	{ 0, "open-mode", "MODE", "append to its files, or truncate them",
	  set_open_mode, AT(spec.append), false },
	{ 'D', "chdir", "DIR", "folder it runs in (this one)",
	  set_workdir, AT(spec.workdir), false },
	{ 0, "export", "LIST", "variables it gets: ALL, NONE, A,B=1,...",
	  set_export, AT(export_env), false },
	{ 0, "launch", "HOW", "run the script in all tasks, or once: script",
	  set_launch, AT(launch), false },
	{ 0, "image", "IMAGE", "of its containers, in a cluster",
	  set_text, AT(spec.image), false },
	{ 0, "mount", "MOUNT,...", "PATH[:PATH][:ro], pvc:CLAIM:PATH[:ro]",
	  set_text, AT(spec.mount), false },
	{ 0, "wrap", "COMMAND", "run this shell command, without a script",
	  set_text, AT(wrap), false },

	{ 'W', "wait", NULL, "wait for its end; exit with its status",
	  opt_set_true, AT(wait), false },
	{ 'F', "follow", NULL, "print its output until it ends, as --wait",
	  opt_set_true, AT(follow), false },
	{ 0, "test-only", NULL, "say when it would start; submit nothing",
	  opt_set_true, AT(test_only), false },
	{ 0, "cron", "TIMES", NULL, set_idle, 0, false },
	{ 0, "cron-policy", "POLICY", NULL, set_idle, 0, false },
	{ 0, "parsable", NULL, "print the id alone",
	  opt_set_true, AT(parsable), false },
	{ 0, "json", NULL, "print the job as JSON",
	  opt_set_true, AT(json), false },
	{ 'Q', "quiet", NULL, "print errors only",
	  opt_set_true, AT(quiet), false },
	{ 0, "socket", "ADDRESS", "the daemon's: PATH or HOST:PORT",
	  set_text, AT(socket), false },

	{ 0, "mail-type", "TYPES", NULL, set_ignored, 0, false },
	{ 0, "mail-user", "USER", NULL, set_ignored, 0, false },
	{ 0, "wckey", "KEY", NULL, set_ignored, 0, false },
	{ 0, "get-user-env", "HOW", NULL, set_ignored, 0, true },
	OPT_END
};
/* clang-format on */

/* --- which value wins ----------------------------------------------------- */

void submit_init(struct submit *submit, struct arena *arena,
                 struct buf *warnings, int64_t now)
{
	*submit =
	    (struct submit){ .now = now, .arena = arena, .warnings = warnings };
	spec_init(&submit->spec);
}

/* Fields that say the same thing in several ways, or one thing together:
 * whoever sets one of them decides all. */
static const struct group {
	size_t first, last;
} groups[] = {
	{ offsetof(struct spec, mem), offsetof(struct spec, mem_cpu) },
	{ offsetof(struct spec, gpus), offsetof(struct spec, gpus_node) },
	{ offsetof(struct spec, signal), offsetof(struct spec, signal_batch) },
};

static bool is_given(struct spec *spec, const struct spec_field *field)
{
	return field->is_text ? *spec_text(spec, field) != NULL
	                      : *spec_int(spec, field) != SPEC_UNSET;
}

static bool group_is_given(struct spec *spec, const struct group *group)
{
	for (size_t i = 0; i < spec_nfields; i++)
		if (spec_fields[i].offset >= group->first &&
		    spec_fields[i].offset <= group->last &&
		    is_given(spec, &spec_fields[i]))
			return true;
	return false;
}

static void clear_field(struct spec *spec, const struct spec_field *field)
{
	if (field->is_text)
		*spec_text(spec, field) = NULL;
	else
		*spec_int(spec, field) = SPEC_UNSET;
}

void submit_clear(struct submit *submit, const struct opt *opt)
{
	size_t first = opt->offset, last = opt->offset;

	if (opt->set == set_ignored || opt->set == set_idle)
		return; /* they set nothing */
	for (size_t g = 0; g < ARRAY_SIZE(groups); g++)
		if (first >= groups[g].first && first <= groups[g].last) {
			first = groups[g].first;
			last = groups[g].last;
			break;
		}
	for (size_t i = 0; i < spec_nfields; i++)
		if (spec_fields[i].offset >= first &&
		    spec_fields[i].offset <= last)
			clear_field(&submit->spec, &spec_fields[i]);
}

static void spec_merge(struct spec *to, struct spec *from)
{
	bool taken[ARRAY_SIZE(groups)];

	for (size_t g = 0; g < ARRAY_SIZE(groups); g++)
		taken[g] = group_is_given(to, &groups[g]);
	for (size_t i = 0; i < spec_nfields; i++) {
		const struct spec_field *field = &spec_fields[i];
		bool has = is_given(to, field);

		for (size_t g = 0; g < ARRAY_SIZE(groups); g++)
			if (field->offset >= groups[g].first &&
			    field->offset <= groups[g].last)
				has = taken[g];
		if (has)
			continue;
		if (field->is_text)
			*spec_text(to, field) = *spec_text(from, field);
		else
			*spec_int(to, field) = *spec_int(from, field);
	}
}

/* Take from another place what is not set yet. */
static void submit_merge(struct submit *to, struct submit *from)
{
	spec_merge(&to->spec, &from->spec);
	if (!to->export_env)
		to->export_env = from->export_env;
	if (!to->launch)
		to->launch = from->launch;
	to->parsable |= from->parsable;
	to->json |= from->json;
	to->quiet |= from->quiet;
	to->wait |= from->wait;
	to->follow |= from->follow;
	to->test_only |= from->test_only;
}

/* Options that make sense on the command line alone. */
static bool is_private(const struct opt *opt)
{
	return opt->offset == AT(wrap) || opt->offset == AT(socket);
}

static int apply_elsewhere(struct submit *submit, const struct opt *opt,
                           const char *value, struct err *err)
{
	if (is_private(opt))
		return err_set(err, EINVAL, "--%s is for the command line only",
		               opt->name);
	return opt_apply(spec_opts, submit, opt->name, value, err);
}

/* --- AISUB_* variables ---------------------------------------------------- */

#define ENV_PREFIX "AISUB_"

/* AISUB_CPUS_PER_TASK is --cpus-per-task. */
static const struct opt *find_variable(const char *name, size_t len)
{
	char option[32];

	if (len >= sizeof(option))
		return NULL;
	for (size_t i = 0; i < len; i++)
		option[i] =
		    (char)(name[i] == '_' ? '-'
		                          : tolower((unsigned char)name[i]));
	option[len] = '\0';
	return len > 1 ? opt_find(spec_opts, option) : NULL;
}

/* An empty value is none; flags are yes or no. */
static int apply_variable(struct submit *submit, const struct opt *opt,
                          const char *value, struct err *err)
{
	bool yes;

	if (!*value)
		return 0;
	if (opt->arg)
		return apply_elsewhere(submit, opt, value, err);
	if (parse_bool(value, &yes, err) < 0)
		return -1;
	return yes ? apply_elsewhere(submit, opt, NULL, err) : 0;
}

int submit_from_env(struct submit *submit, char *const *env, struct err *err)
{
	const size_t prefix = strlen(ENV_PREFIX);
	struct submit layer;

	submit_init(&layer, submit->arena, submit->warnings, submit->now);
	for (; *env; env++) {
		const char *name = *env + prefix;
		const struct opt *opt;
		int len;

		if (strncmp(*env, ENV_PREFIX, prefix))
			continue;
		len = (int)strcspn(*env, "=");
		opt = find_variable(name, (size_t)len - prefix);
		if (!opt)
			buf_printf(submit->warnings,
			           "aisub: warning: %.*s names no option, "
			           "ignored\n",
			           len, *env);
		else if (apply_variable(&layer, opt,
		                        (*env)[len] ? *env + len + 1 : "",
		                        err) < 0)
			return err_wrap(err, "%.*s", len, *env);
	}
	submit_merge(submit, &layer);
	return 0;
}

/* --- directives ----------------------------------------------------------- */

struct script {
	struct submit ours, slurm; /* set by #AISUB, by #SBATCH */
	const char *name;
	bool has_ours, has_slurm;
};

/* NULL: unknown, or means something else to Slurm. */
static const struct opt *find_directive(const char *option, bool slurm)
{
	const char *letter = option + 1, *name = option + 2;

	if (*letter != '-')
		return slurm && strchr("qF", *letter)
		           ? NULL
		           : opt_find(spec_opts, letter);
	/* One letter would be found as a letter. */
	return *name && name[1] ? opt_find(spec_opts, name) : NULL;
}

static enum directive_takes directive_takes(const char *option, bool slurm,
                                            void *arg)
{
	const struct opt *opt = find_directive(option, slurm);

	(void)arg;
	if (!opt)
		return DIRECTIVE_UNKNOWN;
	if (!opt->arg)
		return DIRECTIVE_FLAG;
	return opt->optional ? DIRECTIVE_OPTIONAL : DIRECTIVE_VALUE;
}

static int directive_option(const struct directive *d, void *arg,
                            struct err *err)
{
	struct script *script = arg;
	struct submit *layer = d->slurm ? &script->slurm : &script->ours;
	const struct opt *opt = find_directive(d->option, d->slurm);

	*(d->slurm ? &script->has_slurm : &script->has_ours) = true;
	if (!opt && !d->slurm)
		return err_set(err, EINVAL, "unknown option '%s'", d->option);
	if (!opt) {
		buf_printf(layer->warnings,
		           "aisub: %s:%d: warning: unknown option '%s', "
		           "ignored\n",
		           script->name, d->line, d->option);
		return 0;
	}
	if (d->value && strchr(d->value, '$'))
		buf_printf(layer->warnings,
		           "aisub: %s:%d: warning: variables are not replaced "
		           "in '%s'\n",
		           script->name, d->line, d->value);
	return apply_elsewhere(layer, opt, d->value, err);
}

static void directive_late(int line, void *arg)
{
	struct script *script = arg;

	buf_printf(script->ours.warnings,
	           "aisub: %s:%d: warning: options after the first command "
	           "are ignored\n",
	           script->name, line);
}

int submit_from_script(struct submit *submit, const char *name,
                       const char *script, size_t len, struct err *err)
{
	struct script arg = { .name = name };
	const struct directive_handler handler = {
		.takes = directive_takes,
		.option = directive_option,
		.late = directive_late,
		.arg = &arg,
	};

	submit_init(&arg.ours, submit->arena, submit->warnings, submit->now);
	submit_init(&arg.slurm, submit->arena, submit->warnings, submit->now);
	if (directive_scan(script, len, name, &handler, err) < 0)
		return -1;
	submit_merge(submit, &arg.ours);
	submit_merge(submit, &arg.slurm);
	submit->only_slurm = arg.has_slurm && !arg.has_ours;
	return 0;
}
