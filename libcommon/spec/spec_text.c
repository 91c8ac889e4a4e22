/* spec_text.c - check the syntax of texts in a request */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/clean.h"
#include "libcommon/constraint.h"
#include "libcommon/dependency.h"
#include "libcommon/hostlist.h"
#include "libcommon/idset.h"
#include "libcommon/labels.h"
#include "libcommon/limits.h"
#include "libcommon/mail.h"
#include "libcommon/near.h"
#include "libcommon/rlimits.h"
#include "libcommon/spec/devices.h"
#include "libcommon/spec/ports.h"
#include "libcommon/spec/spec.h"
#include "libcommon/topology.h"

enum text_field {
#define X(name) F_##name,
	SPEC_FIELDS(X, X)
#undef X
};

static int check_array(const char *s, struct err *err)
{
	struct idset set;
	uint32_t max;

	if (idset_parse(&set, &max, s, err) < 0)
		return -1;
	idset_free(&set);
	return 0;
}

static int check_hostlist(const char *s, struct err *err)
{
	struct hostlist list;

	if (hostlist_parse(&list, s, err) < 0)
		return -1;
	hostlist_free(&list);
	return 0;
}

static int check_constraint(const char *s, struct err *err)
{
	int32_t rule[LIMIT_TEXT];
	size_t n;

	return constraint_parse(s, NULL, NULL, rule, ARRAY_SIZE(rule), &n, err);
}

static int check_prefer(const char *s, struct err *err)
{
	int32_t rule[CONSTRAINT_MAX_ITEMS];
	size_t n;

	return constraint_parse_list(s, NULL, NULL, rule, ARRAY_SIZE(rule), &n,
	                             err);
}

/* Parse NAME[:COUNT]. */
static bool take_license(const char **s)
{
	const char *start = *s;
	int64_t count;

	while (isalnum((unsigned char)**s) || (**s && strchr("_.-@", **s)))
		++*s;
	if (*s == start || **s != ':')
		return *s > start;
	++*s;
	return take_number(s, INT32_MAX, &count) && count;
}

static int check_licenses(const char *s, struct err *err)
{
	const char *p = s;
	bool good;

	do
		good = take_license(&p);
	while (good && *p == ',' && *++p);
	if (!good || *p || p[-1] == ',')
		return err_set(err, EINVAL,
		               "bad licences '%s': use name[:count],...", s);
	return 0;
}

static int check_dependency(const char *s, struct err *err)
{
	struct deps *deps;

	if (dependency_parse(s, &deps, err) < 0)
		return -1;
	free(deps);
	return 0;
}

static int check_workdir(const char *s, struct err *err)
{
	if (*s != '/')
		return err_set(err, EINVAL, "'%s' is not an absolute path", s);
	return 0;
}

static int check_args(const char *s, struct err *err)
{
	json_t *args = json_loads(s, JSON_REJECT_DUPLICATES, NULL);
	bool good = json_is_array(args);
	json_t *arg;
	size_t i;

	json_array_foreach(args, i, arg)
		good = good && json_is_string(arg);
	json_decref(args);
	if (!good)
		return err_set(err, EINVAL, "not a JSON array of texts");
	return 0;
}

/* Check only the syntax: the daemon knows which levels exist. */
static int check_topology(const char *s, struct err *err)
{
	struct topology t;

	return topology_parse(s, NULL, &t, err);
}

static int check_spread(const char *s, struct err *err)
{
	int level;
	bool wish;

	return spread_parse(s, NULL, &level, &wish, err);
}

static int check_near(const char *s, struct err *err)
{
	struct near near;

	return near_parse(s, NULL, &near, err);
}

static int check_numa(const char *s, struct err *err)
{
	if (numa_parse(s) < 0)
		return err_set(
		    err, EINVAL,
		    "bad alignment '%s': use strict, tight or prefer", s);
	return 0;
}

static int check_links(const char *s, struct err *err)
{
	if (links_parse(s) < 0)
		return err_set(err, EINVAL,
		               "bad links '%s': use strict, prefer or any", s);
	return 0;
}

static int failure_parse(const char *s)
{
	static const char *const names[] = { [FAILURE_ENDS] = "end",
		                             [FAILURE_RESTARTS] = "restart",
		                             [FAILURE_REPLACES] = "replace" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(s, names[i]))
			return (int)i;
	return -1;
}

static int check_failure(const char *s, struct err *err)
{
	if (failure_parse(s) < 0)
		return err_set(err, EINVAL, "'%s': use end, restart or replace",
		               s);
	return 0;
}

enum task_failure spec_task_failure(const struct spec *spec)
{
	return spec->on_task_failure
	           ? (enum task_failure)failure_parse(spec->on_task_failure)
	           : FAILURE_ENDS;
}

struct spec_loss spec_loss(const struct spec *spec)
{
	struct request req;

	spec_request(spec, 0, &req);
	/* A job that runs its script once, or has one task, ends when its
	 * node fails. */
	if (spec->launch_script == 1 || req.tasks < 2)
		return (struct spec_loss){ 0, 0 };
	if (spec_task_failure(spec) == FAILURE_REPLACES)
		return (struct spec_loss){ 1, req.min_tasks };
	if (req.min_tasks < req.tasks)
		return (struct spec_loss){ req.min_tasks, 0 };
	return (struct spec_loss){ 0, 0 };
}

static int check_rlimits(const char *s, struct err *err)
{
	struct rlimits limits;

	return rlimits_parse(&limits, s, err);
}

/* Functions that check the fields whose texts have a syntax. */
static int (*const syntax[])(const char *s, struct err *err) = {
	[F_licenses] = check_licenses,
	[F_array] = check_array,
	[F_dependency] = check_dependency,
	[F_constraint] = check_constraint,
	[F_prefer] = check_prefer,
	[F_nodelist] = check_hostlist,
	[F_exclude] = check_hostlist,
	[F_topology] = check_topology,
	[F_spread] = check_spread,
	[F_near] = check_near,
	[F_apart] = check_near,
	[F_numa] = check_numa,
	[F_workdir] = check_workdir,
	[F_args] = check_args,
	[F_on_task_failure] = check_failure,
	[F_rlimits] = check_rlimits,
	[F_links] = check_links,
	[F_mail_user] = mail_check_address,
	[F_labels] = labels_check,
	[F_ports] = ports_check,
	[F_device] = devices_check,
};

int spec_check_length(const struct spec_field *field, size_t len,
                      struct err *err)
{
	size_t max = field == &spec_fields[F_args] ? LIMIT_ARGS : LIMIT_TEXT;

	if (!len)
		return err_set(err, EINVAL, "it is empty");
	if (len > max)
		return err_set(err, EINVAL, "longer than %zu bytes", max);
	return 0;
}

int spec_check_text(const struct spec_field *field, const char *s,
                    struct err *err)
{
	size_t i = (size_t)(field - spec_fields);
	json_t *utf8;

	if (spec_check_length(field, strlen(s), err) < 0)
		return -1;
	for (const char *p = s; *p && i != F_args; p++)
		if (text_control(p))
			return err_set(err, EINVAL,
			               "'%s' has control characters", s);
	utf8 = json_string(s); /* json_string() checks UTF-8 */
	if (!utf8)
		return err_set(err, EINVAL, "'%s' is not UTF-8", s);
	json_decref(utf8);
	return i < ARRAY_SIZE(syntax) && syntax[i] ? syntax[i](s, err) : 0;
}
