/* spec_layers.c - merge options of command line, variables and script */
#include <ctype.h>
#include <string.h>

#include "libcommon/directive.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"
#include "libcommon/spec/devices.h"
#include "libcommon/spec/spec_opt.h"
#include "libcommon/spec/spec_set.h"

/* --- precedence ----------------------------------------------------------- */

void submit_init(struct submit *submit, struct arena *arena,
                 struct buf *warnings, int64_t now)
{
	*submit =
	    (struct submit){ .per_gpu = { SPEC_UNSET, SPEC_UNSET, SPEC_UNSET },
		             .max_nodes = SPEC_UNSET,
		             .now = now,
		             .arena = arena,
		             .warnings = warnings };
	spec_init(&submit->spec);
}

/* Fields that express the same in several ways, or that belong together: all of
 * them come from the first place that sets one of them. */
enum { OF_MEMORY, OF_CPUS };
static const struct group {
	size_t first, last;
	size_t per_gpu; /* offset in struct submit of the amount for each GPU;
	                   0: there is none */
} groups[] = {
	[OF_MEMORY] = { offsetof(struct spec, mem),
	                offsetof(struct spec, mem_cpu),
	                offsetof(struct submit, per_gpu.mem) },
	[OF_CPUS] = { offsetof(struct spec, cpus), offsetof(struct spec, cpus),
	              offsetof(struct submit, per_gpu.cpus) },
	{ offsetof(struct spec, gpus), offsetof(struct spec, gpus_node), 0 },
	{ offsetof(struct spec, signal), offsetof(struct spec, signal_batch),
	  0 },
};

static bool group_has(const struct group *group, size_t offset)
{
	return (offset >= group->first && offset <= group->last) ||
	       (group->per_gpu && offset == group->per_gpu);
}

static bool is_given(struct spec *spec, const struct spec_field *field)
{
	return field->is_text ? *spec_text(spec, field) != NULL
	                      : *spec_int(spec, field) != SPEC_UNSET;
}

static bool group_is_given(struct spec *spec, const struct group *group)
{
	for (size_t i = 0; i < spec_nfields; i++)
		if (group_has(group, spec_fields[i].offset) &&
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

static void clear_range(struct spec *spec, size_t first, size_t last)
{
	for (size_t i = 0; i < spec_nfields; i++)
		if (spec_fields[i].offset >= first &&
		    spec_fields[i].offset <= last)
			clear_field(spec, &spec_fields[i]);
}

void submit_clear(struct submit *submit, const struct opt *opt)
{
	size_t first = opt->offset, last = opt->offset;

	if (opt->set == spec_set_ignored)
		return; /* the option has no field */
	if (opt->offset == offsetof(struct submit, spec.nodes))
		submit->max_nodes = SPEC_UNSET;
	for (size_t g = 0; g < ARRAY_SIZE(groups); g++)
		if (group_has(&groups[g], opt->offset)) {
			first = groups[g].first;
			last = groups[g].last;
			break;
		}
	clear_range(&submit->spec, first, last);
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
			if (group_has(&groups[g], field->offset))
				has = taken[g];
		if (has)
			continue;
		if (field->is_text)
			*spec_text(to, field) = *spec_text(from, field);
		else
			*spec_int(to, field) = *spec_int(from, field);
	}
}

static void cron_merge(struct submit_cron *to, const struct submit_cron *from)
{
	const char **at = (const char **)to;
	const char *const *other = (const char *const *)from;

	for (size_t i = 0; i < sizeof(*to) / sizeof(*at); i++)
		if (!at[i])
			at[i] = other[i];
}

/* Merge an amount per GPU, such as --mem-per-gpu: *each is that of `to`,
 * `other` that of `from`. If *each is given, discard the other amounts
 * of the group in `from`. If `to` gives no amount of the group, set
 * *each to `other`. */
static void merge_per_gpu(struct submit *to, struct submit *from,
                          const struct group *group, int64_t *each,
                          int64_t other)
{
	if (*each != SPEC_UNSET)
		clear_range(&from->spec, group->first, group->last);
	else if (!group_is_given(&to->spec, group))
		*each = other;
}

void submit_merge(struct submit *to, struct submit *from)
{
	merge_per_gpu(to, from, &groups[OF_MEMORY], &to->per_gpu.mem,
	              from->per_gpu.mem);
	merge_per_gpu(to, from, &groups[OF_CPUS], &to->per_gpu.cpus,
	              from->per_gpu.cpus);
	if (to->per_gpu.tasks == SPEC_UNSET)
		to->per_gpu.tasks = from->per_gpu.tasks;
	if (!to->node_devices)
		to->node_devices = from->node_devices;
	if (to->spec.nodes == SPEC_UNSET)
		to->max_nodes = from->max_nodes;
	spec_merge(&to->spec, &from->spec);
	if (!to->export_env)
		to->export_env = from->export_env;
	if (!to->launch)
		to->launch = from->launch;
	cron_merge(&to->cron, &from->cron);
	to->parsable |= from->parsable;
	to->json |= from->json;
	to->quiet |= from->quiet;
	to->wait |= from->wait;
	to->follow |= from->follow;
	to->test_only |= from->test_only;
}

/* --- amounts for each GPU ------------------------------------------------- */

/* Set the number of tasks from the number of GPUs, or the other way round; each
 * GPU gets `each` tasks. */
static int divide_gpus(struct spec *spec, int64_t each, struct err *err)
{
	int64_t nodes = spec_is_set(spec->nodes) ? spec->nodes : 1, gpus;

	if (spec_is_set(spec->gpus))
		return err_set(err, EINVAL,
		               "give only one of --gpus-per-task and "
		               "--tasks-per-gpu");
	if (spec_is_set(spec->gpus_job) || spec_is_set(spec->gpus_node)) {
		gpus = spec_is_set(spec->gpus_job) ? spec->gpus_job
		                                   : spec->gpus_node * nodes;
		if (!spec_is_set(spec->tasks))
			spec->tasks = gpus * each;
		if (spec->tasks != gpus * each)
			return err_set(err, EINVAL,
			               "%lld tasks are not %lld for each of "
			               "%lld GPU%s",
			               (long long)spec->tasks, (long long)each,
			               (long long)gpus, gpus == 1 ? "" : "s");
		return 0;
	}
	if (!spec_is_set(spec->tasks))
		return err_set(err, EINVAL,
		               "--tasks-per-gpu: say how many --tasks or "
		               "--gpus there are");
	spec->gpus_job = (spec->tasks + each - 1) / each;
	return 0;
}

static int64_t part_of(int64_t each, int64_t gpus_milli)
{
	return (each * gpus_milli + 999) / 1000;
}

/* Set the CPUs and the memory of each task from the amounts for each GPU. */
static int take_per_gpu(struct submit *submit, const struct request *req,
                        struct err *err)
{
	const struct submit_gpu *each = &submit->per_gpu;
	struct spec *spec = &submit->spec;

	if (!req->gpus_milli)
		return err_set(err, EINVAL,
		               "--%s-per-gpu, but no GPUs are asked for",
		               spec_is_set(each->cpus) ? "cpus" : "mem");
	if (spec_gets_part(spec))
		return err_set(err, EINVAL,
		               "--%s-per-gpu and --gpu-memory: say how many "
		               "GPUs; without a number it is a part that "
		               "depends on the node",
		               spec_is_set(each->cpus) ? "cpus" : "mem");
	if (spec_is_set(each->cpus) && spec_is_set(spec->cpus))
		return err_set(err, EINVAL,
		               "give only one of --cpus-per-task and "
		               "--cpus-per-gpu");
	if (spec_is_set(each->mem) && group_is_given(spec, &groups[OF_MEMORY]))
		return err_set(err, EINVAL,
		               "give only one of --mem-per-task, --mem, "
		               "--mem-per-cpu and --mem-per-gpu");
	if (spec_is_set(each->cpus))
		spec->cpus = part_of(each->cpus, req->gpus_milli);
	if (spec_is_set(each->mem))
		spec->mem = part_of(each->mem, req->gpus_milli);
	return 0;
}

/* Add the devices that each task has of those of its node. */
static int take_node_devices(struct submit *submit, const struct request *req,
                             struct err *err)
{
	const char *own = submit->spec.device;
	struct buf all = { 0 };
	int rc;

	if (!submit->node_devices)
		return 0;
	if (own)
		buf_puts(&all, own);
	rc = devices_divide(submit->node_devices, request_tasks_on_node(req),
	                    &all, err);
	if (rc == 0) {
		submit->spec.device = arena_strdup(submit->arena, all.data);
		submit->node_devices = NULL;
	}
	buf_free(&all);
	return rc;
}

int submit_resolve(struct submit *submit, struct request *ret, struct err *err)
{
	struct submit_gpu *each = &submit->per_gpu;

	if (spec_is_set(each->tasks) &&
	    divide_gpus(&submit->spec, each->tasks, err) < 0)
		return -1;
	each->tasks = SPEC_UNSET;
	if (spec_resolve(&submit->spec, 0, ret, err) < 0 ||
	    take_node_devices(submit, ret, err) < 0)
		return -1;
	if (!spec_is_set(each->cpus) && !spec_is_set(each->mem))
		return 0;
	if (take_per_gpu(submit, ret, err) < 0)
		return -1;
	each->cpus = each->mem = SPEC_UNSET;
	return spec_resolve(&submit->spec, 0, ret, err);
}

/* --- options outside the command line ------------------------------------- */

/* Whether the option is only valid on the command line. */
static bool is_private(const struct opt *opt)
{
	return opt->offset == offsetof(struct submit, wrap) ||
	       opt->offset == offsetof(struct submit, pty) ||
	       opt->offset == offsetof(struct submit, socket);
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

/* Returns the option that a variable sets, or NULL if there is none. `name` is
 * without the prefix: CPUS_PER_TASK sets --cpus-per-task. */
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

/* Set an option from a variable. An empty value does nothing; the value of a
 * flag is yes or no. */
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
	/* Options of #AISUB lines and of #SBATCH lines. */
	struct submit ours, slurm;
	const char *name;
	bool has_ours, has_slurm;
};

/* Returns the option of a directive; NULL if it is unknown, or if it is on an
 * #SBATCH line and means something else in Slurm. */
static const struct opt *find_directive(const char *option, bool slurm)
{
	const char *letter = option + 1, *name = option + 2;

	if (slurm && !strncmp(option, "--cron", 6))
		return NULL;

	if (*letter != '-')
		return slurm && strchr("qF", *letter)
		           ? NULL
		           : opt_find(spec_opts, letter);
	/* opt_find() would take a name of one character for an
	 * option letter. */
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
