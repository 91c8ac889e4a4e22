/* spread.c - read topologySpreadConstraints of a Job's pods as --spread */
#include "aischedd/run/kube/object/spread.h"

#include <string.h>

#include "aischedd/run/kube/client/json.h"
#include "libcommon/mem.h"

#define FIELD "topologySpreadConstraints"

/* Labels by which the Job controller tells the pods of one Job from others. */
static const char *const of_job[] = {
	"batch.kubernetes.io/controller-uid",
	"batch.kubernetes.io/job-name",
	"controller-uid",
	"job-name",
};

static bool is_of_job(const char *label)
{
	for (size_t i = 0; i < ARRAY_SIZE(of_job); i++)
		if (!strcmp(label, of_job[i]))
			return true;
	return false;
}

/* Whether the constraint's selector matches all pods of the Job. *ret_only:
 * whether it matches only these pods. */
static bool selects_job(const json_t *c, const json_t *labels, const char *name,
                        bool *ret_only)
{
	const json_t *selector = json_object_get(c, "labelSelector"), *item;
	const char *key;
	json_t *value;
	size_t i;

	*ret_only = false;
	if (!selector ||
	    json_array_size(json_object_get(selector, "matchExpressions")))
		return false;
	json_object_foreach(json_object_get(selector, "matchLabels"), key,
	                    value) {
		const char *want = json_string_value(value);
		const char *has = kube_word_at(labels, key);

		if (strstr(key, "job-name") && is_of_job(key)) {
			has = name;
			*ret_only = true;
		}
		if (!want || strcmp(want, has) != 0)
			return false;
	}
	json_array_foreach(json_object_get(c, "matchLabelKeys"), i, item) {
		key = json_string_value(item);
		*ret_only |= key && is_of_job(key);
	}
	return true;
}

const char *kube_spread_level(const struct conf_topology *topology,
                              const char *key)
{
	const char *slash = strrchr(key, '/');

	for (size_t i = 0; i < topology->keys.n; i++)
		if (!strcmp(topology->keys.s[i], key))
			return topology->levels.s[i];
	for (size_t i = 0; slash && i < topology->keys.n; i++)
		if (!strcmp(topology->keys.s[i], slash + 1))
			return topology->levels.s[i];
	for (size_t i = 0; i < topology->levels.n; i++)
		if (!strcmp(topology->levels.s[i], "node"))
			return NULL;
	return strcmp(key, "kubernetes.io/hostname") != 0 ? NULL : "node";
}

/* Returns the level over which a constraint spreads the pods of the Job.
 * Returns NULL with *err set if --spread cannot express the constraint. */
static const char *level_said(const json_t *c, const json_t *labels,
                              const char *name,
                              const struct conf_topology *topology,
                              struct err *err)
{
	const char *key = kube_word_at(c, "topologyKey");
	const char *level = kube_spread_level(topology, key);
	const json_t *least = json_object_get(c, "minDomains");
	bool only;

	if (!name)
		err_set(err, EINVAL,
		        FIELD ": each pod is a job of its own, and --spread "
		              "counts no pods of other jobs: set "
		              "whenUnsatisfiable to ScheduleAnyway");
	else if (!level)
		err_set(err, EINVAL,
		        FIELD ": topologyKey '%.100s' is the label of no level "
		              "of the topology",
		        key);
	else if (json_integer_value(json_object_get(c, "maxSkew")) != 1)
		err_set(err, EINVAL, FIELD ": set maxSkew to 1");
	else if (json_is_integer(least) && json_integer_value(least) != 1)
		err_set(err, EINVAL,
		        FIELD ": minDomains is not supported: leave it out");
	else if (!strcmp(kube_word_at(c, "nodeAffinityPolicy"), "Ignore"))
		err_set(err, EINVAL, FIELD ": set nodeAffinityPolicy to Honor");
	else if (!selects_job(c, labels, name, &only))
		err_set(err, EINVAL,
		        FIELD ": set labelSelector to matchLabels that its "
		              "pods have");
	else if (!only)
		err_set(err, EINVAL,
		        FIELD ": it may count pods of others: add "
		              "matchLabelKeys: [batch.kubernetes.io/job-name]");
	else
		return level;
	return NULL;
}

int kube_spread(const json_t *template, const char *name,
                const struct conf_topology *topology, struct buf *ret,
                struct err *err)
{
	const json_t *labels =
	    json_object_get(json_object_get(template, "metadata"), "labels");
	const json_t *list =
	    json_object_get(json_object_get(template, "spec"), FIELD);
	const char *must = NULL, *would = NULL;
	const json_t *c;
	size_t i;

	json_array_foreach(list, i, c) {
		bool wish = !strcmp(kube_word_at(c, "whenUnsatisfiable"),
		                    "ScheduleAnyway");
		const char *level =
		    level_said(c, labels, name, topology, wish ? NULL : err);

		if (wish) {
			would = would ? would : level;
			continue;
		}
		if (!level)
			return -1;
		if (must)
			return err_set(err, EINVAL,
			               FIELD ": only one with DoNotSchedule "
			                     "is supported");
		must = level;
	}
	if (must)
		buf_puts(ret, must);
	else if (would)
		buf_printf(ret, "%s:preferred", would);
	return 0;
}
