/* spec.c - requests: what users ask for when submitting a job */
#include "libcommon/spec/spec.h"

#include <assert.h>
#include <string.h>

#include "libcommon/limits.h"
#include "libcommon/mail.h"
#include "libcommon/mig.h"

#define MAX_MIB ((int64_t)1 << 40)

/* clang-format off */

/* The range of each number: a new field needs a line here. */
#define RANGE_priority       INT32_MIN, INT32_MAX
#define RANGE_nice           INT32_MIN, INT32_MAX
#define RANGE_tasks          1, LIMIT_TASKS
#define RANGE_min_tasks      1, LIMIT_TASKS
#define RANGE_nodes          1, LIMIT_NODES
#define RANGE_tasks_per_node 1, LIMIT_TASKS
#define RANGE_cpus           0, LIMIT_CPUS * 1000
#define RANGE_mem            0, MAX_MIB
#define RANGE_mem_node       0, MAX_MIB
#define RANGE_tmp            0, MAX_MIB
#define RANGE_mem_cpu        1, MAX_MIB
#define RANGE_gpus           0, LIMIT_GPUS * 1000
#define RANGE_gpus_job       0, LIMIT_GPUS * LIMIT_NODES
#define RANGE_gpus_node      0, LIMIT_GPUS
#define RANGE_exclusive      0, 1
#define RANGE_time_limit     TIME_UNLIMITED, MAX_SECONDS
#define RANGE_begin          0, MAX_SECONDS
#define RANGE_deadline       0, MAX_SECONDS
#define RANGE_signal         1, 64
#define RANGE_signal_before  0, MAX_SECONDS
#define RANGE_signal_batch   0, 2
#define RANGE_grace          0, MAX_SECONDS
#define RANGE_hold           0, 1
#define RANGE_requeue        0, 1
#define RANGE_max_restarts   0, INT32_MAX
#define RANGE_append         0, 1
#define RANGE_umask          0, 0777
#define RANGE_launch_script  0, 1
#define RANGE_allocation     1, 2
#define RANGE_mail_types     0, MAIL_BIT(MAIL_NTYPES) - 1
#define RANGE_segment        1, LIMIT_TASKS
#define RANGE_cron_id        1, MAX_SECONDS
#define RANGE_cron_time      0, MAX_SECONDS
#define RANGE_cron_last      0, MAX_SECONDS
#define RANGE_cron_missed    0, MAX_SECONDS
#define RANGE_has_cpus       0, INT64_MAX
#define RANGE_has_mem        0, INT64_MAX
#define RANGE_kill_on_invalid_dep 0, 1
#define RANGE_no_idle_check 0, 1
#define RANGE_kube_pod 0, 1
#define RANGE_shared_tasks 1, LIMIT_TASKS
#define RANGE_gpu_memory 1, MAX_MIB / 1000
#define RANGE_gpu_part 1, GPU_PART_MOST
#define RANGE_kube_pods 2, 256

#define S(name) { #name, true, offsetof(struct spec, name), 0, 0 },
#define I(name) { #name, false, offsetof(struct spec, name), RANGE_##name },

const struct spec_field spec_fields[] = { SPEC_FIELDS(S, I) };
const size_t spec_nfields = ARRAY_SIZE(spec_fields);

#undef S
#undef I
/* clang-format on */

const char **spec_text(struct spec *spec, const struct spec_field *field)
{
	assert(field->is_text);
	return (const char **)(void *)((char *)spec + field->offset);
}

int64_t *spec_int(struct spec *spec, const struct spec_field *field)
{
	assert(!field->is_text);
	return (int64_t *)(void *)((char *)spec + field->offset);
}

/* Like spec_text(), for a spec that is only read. */
static const char *text_of(const struct spec *spec,
                           const struct spec_field *field)
{
	return *(const char *const *)(const void *)((const char *)spec +
	                                            field->offset);
}

static int64_t int_of(const struct spec *spec, const struct spec_field *field)
{
	return *(const int64_t *)(const void *)((const char *)spec +
	                                        field->offset);
}

void spec_init(struct spec *spec)
{
	*spec = (struct spec){ 0 };
	for (size_t i = 0; i < spec_nfields; i++)
		if (!spec_fields[i].is_text)
			*spec_int(spec, &spec_fields[i]) = SPEC_UNSET;
}

json_t *spec_to_json(const struct spec *spec)
{
	json_t *obj = json_object();

	for (size_t i = 0; i < spec_nfields; i++) {
		const struct spec_field *field = &spec_fields[i];
		json_t *value = NULL;

		if (field->is_text && text_of(spec, field))
			value = json_string(text_of(spec, field));
		else if (!field->is_text && int_of(spec, field) != SPEC_UNSET)
			value = json_integer(int_of(spec, field));
		else
			continue;
		assert(value);
		json_object_set_new_nocheck(obj, field->name, value);
	}
	return obj;
}

static const struct spec_field *find_field(const char *name)
{
	for (size_t i = 0; i < spec_nfields; i++)
		if (!strcmp(spec_fields[i].name, name))
			return &spec_fields[i];
	return NULL;
}

static int text_from_json(const char **ret, const struct spec_field *field,
                          const json_t *value, struct arena *arena,
                          struct err *err)
{
	const char *s = json_string_value(value);

	if (!s)
		return err_set(err, EINVAL, "not a text");
	if (strlen(s) != json_string_length(value))
		return err_set(err, EINVAL, "a zero byte in the text");
	if (spec_check_length(field, strlen(s), err) < 0)
		return -1;
	*ret = arena_strdup(arena, s);
	return 0;
}

static int check_range(const struct spec_field *field, int64_t value,
                       struct err *err)
{
	if (value < field->min || value > field->max)
		return err_set(err, EINVAL, "%lld is not from %lld to %lld",
		               (long long)value, (long long)field->min,
		               (long long)field->max);
	return 0;
}

static int int_from_json(int64_t *ret, const struct spec_field *field,
                         const json_t *value, struct err *err)
{
	if (!json_is_integer(value))
		return err_set(err, EINVAL, "not a whole number");
	if (check_range(field, json_integer_value(value), err) < 0)
		return -1;
	*ret = json_integer_value(value);
	return 0;
}

int spec_from_json(struct spec *ret, json_t *obj, struct arena *arena,
                   struct err *err)
{
	struct spec spec;
	const char *name;
	json_t *value;

	if (!json_is_object(obj))
		return err_set(err, EINVAL, "a job must be a JSON object");
	spec_init(&spec);
	json_object_foreach(obj, name, value) {
		const struct spec_field *field = find_field(name);
		int rc;

		if (!field)
			return err_set(err, EINVAL, "a job has no field '%s'",
			               name);
		if (field->is_text)
			rc = text_from_json(spec_text(&spec, field), field,
			                    value, arena, err);
		else
			rc = int_from_json(spec_int(&spec, field), field, value,
			                   err);
		if (rc < 0)
			return err_wrap(err, "field '%s'", name);
	}
	if (!spec.name || !spec.output || !spec.workdir)
		return err_set(err, EINVAL,
		               "a job needs name, output and workdir");
	/* Only aisim, which does not read specs from JSON, has jobs
	 * without memory. */
	if (spec.mem == 0)
		return err_set(err, EINVAL, "a job needs some memory");
	*ret = spec;
	return 0;
}

int spec_check(const struct spec *spec, struct err *err)
{
	for (size_t i = 0; i < spec_nfields; i++) {
		const struct spec_field *field = &spec_fields[i];
		int rc = 0;

		if (field->is_text && text_of(spec, field))
			rc = spec_check_text(field, text_of(spec, field), err);
		else if (!field->is_text && int_of(spec, field) != SPEC_UNSET)
			rc = check_range(field, int_of(spec, field), err);
		if (rc < 0)
			return err_wrap(err, "%s", field->name);
	}
	return 0;
}

enum signal_scope spec_signal_scope(const struct spec *spec)
{
	return spec->signal_batch == 1   ? SIGNAL_script
	       : spec->signal_batch == 2 ? SIGNAL_steps
	                                 : SIGNAL_job;
}
