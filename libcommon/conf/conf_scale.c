/* conf_scale.c - the scale sections of a configuration */
#include <string.h>

#include "libcommon/conf/conf_build.h"
#include "libcommon/conf/conf_keys.h"
#include "libcommon/limits.h"

/* Longest name of a template whose stand-ins are named after it. */
enum { STANDIN_NAME = 24 };

/* Whether the name may begin the names of nodes in a cluster: names of
 * Kubernetes objects are in lower case. */
static bool is_lower(const char *name)
{
	return !name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-")];
}

static int check_given(struct conf_build *b, cfg_t *section,
                       const struct conf_scale *scale)
{
	const char *lacks = scale->max == CONF_NONE      ? "max"
	                    : scale->cpus == CONF_NONE   ? "cpus"
	                    : scale->memory == CONF_NONE ? "memory"
	                                                 : NULL;

	if (lacks)
		return build_fail(b, conf_place(section),
		                  "scale '%s': %s is not given", scale->name,
		                  lacks);
	if (scale->gpu_type && !scale->gpus)
		return build_fail(b, build_place(section, "gpu_type"),
		                  "scale '%s': gpu_type is given, but no gpus",
		                  scale->name);
	return 0;
}

/* Check what adding nodes in this way needs. */
static int check_by(struct conf_build *b, cfg_t *section,
                    const struct conf_scale *scale)
{
	const struct conf_value *at = build_place(section, "by");
	const struct conf_pool *pool = &b->conf->pools[scale->pool];
	const char *program = scale->resume    ? "resume"
	                      : scale->suspend ? "suspend"
	                                       : NULL;
	const char *by =
	    scale->by == SCALE_STANDIN ? "standin" : "provisioning";
	size_t len = strlen(scale->name);

	if (scale->by == SCALE_PROGRAM && (!scale->resume || !scale->suspend))
		return build_fail(b, conf_place(section),
		                  "scale '%s': %s is not given", scale->name,
		                  scale->resume ? "suspend" : "resume");
	if (scale->by == SCALE_PROGRAM)
		return 0;
	if (program)
		return build_fail(b, build_place(section, program),
		                  "scale '%s': %s is given, but by = %s "
		                  "runs no program",
		                  scale->name, program, by);
	if (!scale->labels.n)
		return build_fail(b, conf_place(section),
		                  "scale '%s': labels is not given; by = %s "
		                  "knows its nodes by them",
		                  scale->name, by);
	if (scale->gpus && pool->devices == DEVICES_DRA)
		return build_fail(b, at,
		                  "scale '%s': by = %s cannot request GPUs in "
		                  "pool '%s', which has devices = dra",
		                  scale->name, by, pool->name);
	if (len > STANDIN_NAME || scale->name[len - 1] == '-')
		return build_fail(b, conf_place(section),
		                  "scale '%s': with by = %s the name may have "
		                  "%d characters, and not end with '-'",
		                  scale->name, by, STANDIN_NAME);
	return 0;
}

static int check_pool(struct conf_build *b, cfg_t *section,
                      struct conf_scale *scale)
{
	const struct conf_value *at = build_place(section, "pool");
	const struct runner_traits *traits;

	if (scale->pool < 0 && b->conf->npools > 1)
		return build_fail(
		    b, at,
		    "scale '%s': pool is not given, and there are "
		    "several",
		    scale->name);
	scale->pool = scale->pool < 0 ? 0 : scale->pool;
	traits = runner_traits(b->conf->pools[scale->pool].runner);
	if (traits->is_here)
		return build_fail(b, at,
		                  "scale '%s': pool '%s' is this machine, to "
		                  "which no nodes can be added",
		                  scale->name,
		                  b->conf->pools[scale->pool].name);
	return traits->runs ? check_by(b, section, scale) : 0;
}

static int check_others(struct conf_build *b, cfg_t *section,
                        const struct conf_scale *scale, int64_t *nodes)
{
	for (size_t i = 0; i < b->conf->nscales; i++)
		if (!strcmp(b->conf->scales[i].name, scale->name))
			return build_fail(b, conf_place(section),
			                  "scale '%s' is declared twice",
			                  scale->name);
	*nodes += scale->max;
	if (*nodes > LIMIT_NODES)
		return build_fail(b, build_place(section, "max"),
		                  "more than %d nodes", LIMIT_NODES);
	if (!b->conf->scheduling.backfill)
		return build_fail(b, conf_place(section),
		                  "scale '%s': needs scheduling.backfill",
		                  scale->name);
	return 0;
}

int build_scales(struct conf_build *b)
{
	size_t n = build_count(b, "scale");
	struct conf_scale *scale =
	    arena_array(b->conf->arena, struct conf_scale, n + 1);
	int64_t nodes = 0;

	b->conf->scales = scale;
	for (size_t i = 0; i < n; i++, scale++) {
		cfg_t *section = build_section(b, "scale", i);

		build_defaults(b, "scale", scale);
		scale->name = build_name(b, "scale", section);
		if (!scale->name)
			return -1;
		if (!is_lower(scale->name))
			return build_fail(b, conf_place(section),
			                  "scale '%s': the name may have small "
			                  "letters, digits and '-' only",
			                  scale->name);
		if (build_keys(b, "scale", section, scale) < 0 ||
		    check_given(b, section, scale) < 0 ||
		    check_pool(b, section, scale) < 0 ||
		    check_others(b, section, scale, &nodes) < 0)
			return -1;
		if (scale->topology &&
		    build_topology(b, section, "scale", scale->topology) < 0)
			return -1;
		b->conf->nscales++;
	}
	return 0;
}
