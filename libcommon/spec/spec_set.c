/* spec_set.c - set the fields of a request from options of aisub */
#include "libcommon/spec/spec_set.h"

#include "libcommon/cron/cron_rule.h"
#include "libcommon/cron/schedule.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/export.h"
#include "libcommon/idset.h"
#include "libcommon/labels.h"
#include "libcommon/limits.h"
#include "libcommon/mail.h"
#include "libcommon/mig.h"
#include "libcommon/parse.h"
#include "libcommon/spec/devices.h"
#include "libcommon/spec/ports.h"
#include "libcommon/spec/spec_opt.h"

static const char **text_at(void *ctx, const struct opt *opt)
{
	return (const char **)(void *)((char *)ctx + opt->offset);
}

static int64_t *int_at(void *ctx, const struct opt *opt)
{
	return (int64_t *)(void *)((char *)ctx + opt->offset);
}

static const struct spec_field *field_at(size_t offset)
{
	for (size_t i = 0; i < spec_nfields; i++)
		if (offsetof(struct submit, spec) + spec_fields[i].offset ==
		    offset)
			return &spec_fields[i];
	return NULL;
}

/* Returns NULL if the option has no field in the spec. */
static const struct spec_field *field_of(const struct opt *opt)
{
	return field_at(opt->offset);
}

#define AT(member) offsetof(struct submit, member)

/* Returns the field whose range applies to the option's value. An amount for
 * each GPU has the range of the amount for each task. */
static const struct spec_field *number_of(const struct opt *opt)
{
	size_t at = opt->offset;
	const struct spec_field *field =
	    field_at(at == AT(per_gpu.cpus)    ? AT(spec.cpus)
	             : at == AT(per_gpu.mem)   ? AT(spec.mem)
	             : at == AT(per_gpu.tasks) ? AT(spec.tasks)
	                                       : at);

	assert(field && !field->is_text);
	return field;
}

int spec_set_text(void *ctx, const struct opt *opt, const char *value,
                  struct err *err)
{
	struct submit *submit = ctx;
	const struct spec_field *field = field_of(opt);

	if (field && spec_check_text(field, value, err) < 0)
		return -1;
	*text_at(ctx, opt) = arena_strdup(submit->arena, value);
	return 0;
}

/* Labels of several --label options are merged. */
int spec_set_labels(void *ctx, const struct opt *opt, const char *value,
                    struct err *err)
{
	struct submit *submit = ctx;
	struct buf text = { 0 };
	int rc = labels_add(&text, *text_at(ctx, opt), value, err);

	if (rc == 0)
		*text_at(ctx, opt) = arena_strdup(submit->arena, text.data);
	buf_free(&text);
	return rc;
}

/* Append an item to a list, joined by a comma, if `check` accepts the list. */
static int add_item(struct submit *submit, const struct opt *opt,
                    const char *value,
                    int (*check)(const char *s, struct err *err),
                    struct err *err)
{
	const char **list = text_at(submit, opt);
	char *all = *list ? xasprintf("%s,%s", *list, value) : xstrdup(value);
	int rc = check(all, err);

	if (rc == 0)
		*list = arena_strdup(submit->arena, all);
	free(all);
	return rc;
}

/* Ports of several --port options add up. */
int spec_set_ports(void *ctx, const struct opt *opt, const char *value,
                   struct err *err)
{
	return add_item(ctx, opt, value, ports_check, err);
}

/* So do devices of several --device options. */
int spec_set_device(void *ctx, const struct opt *opt, const char *value,
                    struct err *err)
{
	return add_item(ctx, opt, value, devices_check, err);
}

/* The path may be relative to a folder that only aisub knows: check it
 * later. */
int spec_set_workdir(void *ctx, const struct opt *opt, const char *value,
                     struct err *err)
{
	struct submit *submit = ctx;

	if (!*value)
		return err_set(err, EINVAL, "it is empty");
	*text_at(ctx, opt) = arena_strdup(submit->arena, value);
	return 0;
}

int spec_set_flag(void *ctx, const struct opt *opt, const char *value,
                  struct err *err)
{
	(void)value, (void)err;
	*int_at(ctx, opt) = 1;
	return 0;
}

int spec_set_int(void *ctx, const struct opt *opt, const char *value,
                 struct err *err)
{
	const struct spec_field *field = number_of(opt);

	return parse_int(value, field->min, field->max, int_at(ctx, opt), err);
}

/* Parse N or MIN-MAX. */
int spec_set_nodes(void *ctx, const struct opt *opt, const char *value,
                   struct err *err)
{
	size_t len = strcspn(value, "-");
	char *least = xstrndup(value, len);
	struct submit *submit = ctx;
	int64_t most = SPEC_UNSET;
	int rc = spec_set_int(ctx, opt, least, err);

	free(least);
	if (rc < 0)
		return -1;
	if (value[len] && parse_int(value + len + 1, submit->spec.nodes,
	                            LIMIT_NODES, &most, err) < 0)
		return err_wrap(err, "bad range of nodes '%s'", value);
	submit->max_nodes = most == submit->spec.nodes ? SPEC_UNSET : most;
	return 0;
}

/* As in Slurm, --nice without a value means 100. */
int spec_set_nice(void *ctx, const struct opt *opt, const char *value,
                  struct err *err)
{
	return spec_set_int(ctx, opt, value ? value : "100", err);
}

int spec_set_cpus(void *ctx, const struct opt *opt, const char *value,
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

int spec_set_mib(void *ctx, const struct opt *opt, const char *value,
                 struct err *err)
{
	int64_t mib;

	if (parse_mib(value, 'M', &mib, err) < 0)
		return -1;
	if (!mib && (opt->offset == offsetof(struct submit, spec.mem_node) ||
	             opt->offset == offsetof(struct submit, spec.mem_cpu))) {
		((struct submit *)ctx)->spec.mem_node = 0;
		return 0;
	}
	if (!mib && opt->offset != offsetof(struct submit, spec.tmp))
		return err_set(err, EINVAL,
		               "'%s': say how much memory is needed", value);
	if (mib > number_of(opt)->max)
		return err_set(err, EINVAL, "'%s' is too much", value);
	*int_at(ctx, opt) = mib;
	return 0;
}

/* Parse [TYPE:]NUMBER: store the type, and return the number as text, or NULL
 * on failure. */
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

int spec_set_gpus(void *ctx, const struct opt *opt, const char *value,
                  struct err *err)
{
	const char *number = take_gpu_type(ctx, value, err);

	return number ? spec_set_int(ctx, opt, number, err) : -1;
}

int spec_set_gpus_per_task(void *ctx, const struct opt *opt, const char *value,
                           struct err *err)
{
	const char *number = take_gpu_type(ctx, value, err);

	return number ? parse_milli(number, number_of(opt)->max,
	                            int_at(ctx, opt), err)
	              : -1;
}

/* Set the GPUs of each node from gpu[:TYPE][:NUMBER]. */
static int set_gres_gpu(struct submit *submit, const struct opt *opt,
                        const char *value, struct err *err)
{
	const char *rest = value + strlen("gpu");
	char *gpus;
	int rc;

	if (!*rest)
		return spec_set_gpus(submit, opt, "1", err);
	if (isdigit((unsigned char)strrchr(rest, ':')[1]) &&
	    !mig_is_name(strrchr(rest, ':') + 1))
		return spec_set_gpus(submit, opt, rest + 1, err);
	gpus = xasprintf("%s:1", rest + 1);
	rc = spec_set_gpus(submit, opt, gpus, NULL);
	free(gpus);
	if (rc < 0)
		return err_set(err, EINVAL,
		               "'%s': use gpu[:TYPE][:NUMBER], or "
		               "NAME[:NUMBER] of other devices",
		               value);
	return rc;
}

static int set_gres_item(struct submit *submit, const struct opt *opt,
                         const char *value, struct buf *devices,
                         struct err *err)
{
	if (!strncmp(value, "gpu", 3) && (!value[3] || value[3] == ':'))
		return set_gres_gpu(submit, opt, value, err);
	if (devices_check(value, NULL) < 0)
		return err_set(err, EINVAL,
		               "'%s': use gpu[:TYPE][:NUMBER], or "
		               "NAME[:NUMBER] of other devices",
		               value);
	buf_printf(devices, "%s%s", devices->len ? "," : "", value);
	return 0;
}

/* Parse a list of gpu[:TYPE][:NUMBER], and NAME[:NUMBER] of other devices. */
int spec_set_gres(void *ctx, const struct opt *opt, const char *value,
                  struct err *err)
{
	struct submit *submit = ctx;
	struct buf devices = { 0 };
	int rc = 0;

	if (!strcmp(value, "none"))
		return 0;
	for (size_t len; rc == 0; value += len + 1) {
		char *item;

		len = strcspn(value, ",");
		item = xstrndup(value, len);
		rc = set_gres_item(submit, opt, item, &devices, err);
		free(item);
		if (!value[len])
			break;
	}
	if (rc == 0 && devices.len)
		submit->node_devices =
		    arena_strdup(submit->arena, devices.data);
	buf_free(&devices);
	return rc;
}

/* The flag enforce-binding is --numa strict; others have no effect. */
int spec_set_gres_flags(void *ctx, const struct opt *opt, const char *value,
                        struct err *err)
{
	static const char flag[] = "enforce-binding";

	for (size_t len; *value; value += len + (value[len] == ',')) {
		len = strcspn(value, ",");
		if (len == strlen(flag) && !strncmp(value, flag, len))
			return spec_set_text(ctx, opt, "strict", err);
	}
	return 0;
}

/* As in Slurm, --time=0 means no limit. */
int spec_set_time_limit(void *ctx, const struct opt *opt, const char *value,
                        struct err *err)
{
	int64_t seconds;

	if (parse_duration(value, &seconds, err) < 0)
		return -1;
	*int_at(ctx, opt) = seconds ? seconds : TIME_UNLIMITED;
	return 0;
}

int spec_set_grace(void *ctx, const struct opt *opt, const char *value,
                   struct err *err)
{
	int64_t seconds;

	if (parse_duration(value, &seconds, err) < 0)
		return -1;
	if (seconds < 0)
		return err_set(err, EINVAL,
		               "'%s': UNLIMITED is not possible; "
		               "give a time",
		               value);
	*int_at(ctx, opt) = seconds;
	return 0;
}

int spec_set_moment(void *ctx, const struct opt *opt, const char *value,
                    struct err *err)
{
	const struct submit *submit = ctx;

	return parse_time(value, submit->now, int_at(ctx, opt), err);
}

int spec_set_signal(void *ctx, const struct opt *opt, const char *value,
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

int spec_set_array(void *ctx, const struct opt *opt, const char *value,
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

int spec_set_yes(void *ctx, const struct opt *opt, const char *value,
                 struct err *err)
{
	bool yes;

	if (parse_bool(value, &yes, err) < 0)
		return -1;
	*int_at(ctx, opt) = yes;
	return 0;
}

/* An empty value, as in scripts made from templates, means yes. */
int spec_set_no_requeue(void *ctx, const struct opt *opt, const char *value,
                        struct err *err)
{
	bool yes = true;

	if (value && *value && parse_bool(value, &yes, err) < 0)
		return -1;
	if (yes)
		*int_at(ctx, opt) = 0;
	return 0;
}

int spec_set_open_mode(void *ctx, const struct opt *opt, const char *value,
                       struct err *err)
{
	if (strcmp(value, "append") && strcmp(value, "truncate"))
		return err_set(err, EINVAL,
		               "bad mode '%s': use append or truncate", value);
	*int_at(ctx, opt) = *value == 'a';
	return 0;
}

int spec_set_launch(void *ctx, const struct opt *opt, const char *value,
                    struct err *err)
{
	if (strcmp(value, "tasks") && strcmp(value, "script"))
		return err_set(err, EINVAL,
		               "bad launch '%s': use tasks or script", value);
	return spec_set_text(ctx, opt, value, err);
}

/* Check the list now, so that the error names the place where it was given; it
 * is applied when the job is sent. */
int spec_set_export(void *ctx, const struct opt *opt, const char *value,
                    struct err *err)
{
	char *const none[] = { NULL };
	struct buf out = { 0 };
	int rc = export_env(&out, value, none, err);

	buf_free(&out);
	return rc < 0 ? rc : spec_set_text(ctx, opt, value, err);
}

int spec_set_mail_types(void *ctx, const struct opt *opt, const char *value,
                        struct err *err)
{
	return mail_types_parse(value, int_at(ctx, opt), err);
}

int spec_set_ignored(void *ctx, const struct opt *opt, const char *value,
                     struct err *err)
{
	(void)ctx, (void)opt, (void)value, (void)err;
	return 0;
}

int spec_set_cron(void *ctx, const struct opt *opt, const char *value,
                  struct err *err)
{
	struct submit *submit = ctx;
	struct cron_rule rule;
	char at[32];

	cron_rule_init(&rule);
	if (cron_rule_set(&rule, opt->name, value, submit->now, err) < 0)
		return -1;
	/* A relative time counts from now, not from when the daemon reads
	 * it. */
	if (rule.until != SCHEDULE_NEVER) {
		snprintf(at, sizeof(at), "@%lld", (long long)rule.until);
		value = arena_strdup(submit->arena, at);
	}
	return spec_set_text(ctx, opt, value, err);
}
