/* standin.c - make the Job whose pods stand in for nodes to be added */
#include "aischedd/run/kube/object/standin.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/client/json.h"
#include "libcommon/map.h"
#include "libcommon/mem.h"

/* The image of the pods, if the pool names none. It is never pulled. */
#define IMAGE "registry.k8s.io/pause:3.10"

enum {
	NOBODY = 65534,
	/* The Job ends after this many delays of its template, and no sooner
	 * than this. The daemon gives up a node that does not come after two
	 * delays; if others are still wanted, it makes another Job. */
	DEADLINE_DELAYS = 4,
	DEADLINE_MIN_S = 600
};

void kube_standin_name(char ret[KUBE_NAME_SIZE], const char *cluster,
                       const char *scale)
{
	char first[KUBE_NAME_SIZE];
	const char *end;

	/* names that begin with aj- are ours: contrib's policies */
	kube_object_name(first, cluster, 0, 0);
	end = strrchr(first, '-');
	snprintf(ret, KUBE_NAME_SIZE, "%.*sstandin-%s", (int)(end - first) - 1,
	         first, scale);
}

/* --- nodes on which the pods could run --- */

static void add_term(json_t *terms, const char *text, size_t len)
{
	const char *eq = memchr(text, '=', len);
	size_t key = eq ? (size_t)(eq - text) : len;
	json_t *term = json_pack("{s:s%, s:s}", "key", text, key, "operator",
	                         eq ? "In" : "Exists");

	if (eq)
		json_object_set_new(term, "values",
		                    json_pack("[s%]", eq + 1, len - key - 1));
	json_array_append_new(terms, term);
}

static json_t *affinity(const struct conf_pool *pool,
                        const struct strlist *labels)
{
	json_t *terms = json_array();

	for (size_t i = 0; i < labels->n; i++)
		add_term(terms, labels->s[i], strlen(labels->s[i]));
	for (const char *s = pool->node_selector; s && *s;) {
		size_t len = strcspn(s, ",");

		if (len)
			add_term(terms, s, len);
		s += len + (s[len] == ',');
	}
	return json_pack("{s:{s:{s:[{s:o}]}}}", "nodeAffinity",
	                 "requiredDuringSchedulingIgnoredDuringExecution",
	                 "nodeSelectorTerms", "matchExpressions", terms);
}

/* Jobs tolerate the taint that keeps nodes for us; the others must be named. */
static json_t *tolerations(const struct strlist *taints)
{
	json_t *list = json_pack("[{s:s, s:s}]", "key", "aisched.io/dedicated",
	                         "operator", "Exists");

	for (size_t i = 0; i < taints->n; i++) {
		const char *key = taints->s[i];

		json_array_append_new(list, json_pack("{s:s%, s:s}", "key", key,
		                                      strcspn(key, "="),
		                                      "operator", "Exists"));
	}
	return list;
}

/* --- the Job --- */

static json_t *resources(const struct conf_pool *pool,
                         const struct run_standin *what)
{
	json_t *list = json_object();

	kube_object_amounts(list, kube_cpus_less(pool, what->cpu_milli),
	                    what->mem_mib, what->tmp_mib);
	if (what->conf->gpus)
		kube_object_number(list, pool->gpu_resource,
		                   (uint64_t)what->conf->gpus);
	/* GPUs must have a limit; a Job with limits is refused by no quota for
	 * lack of them. */
	return json_pack("{s:O, s:o}", "requests", list, "limits", list);
}

static json_t *pod_spec(const struct conf_pool *pool,
                        const struct run_standin *what)
{
	const struct conf_scale *conf = what->conf;
	json_t *spec = json_pack(
	    "{s:s, s:s, s:i, s:b, s:b, s:o, s:o,"
	    " s:{s:b, s:i, s:{s:s}}, s:[{s:s, s:s, s:o, s:{s:b, s:{s:[s]}}}]}",
	    "schedulerName", "aisched", "restartPolicy", "Never",
	    "terminationGracePeriodSeconds", 0, "enableServiceLinks", 0,
	    "automountServiceAccountToken", 0, "tolerations",
	    tolerations(&conf->taints), "affinity",
	    affinity(pool, &conf->labels), "securityContext", "runAsNonRoot", 1,
	    "runAsUser", NOBODY, "seccompProfile", "type", "RuntimeDefault",
	    "containers", "name", "standin", "image",
	    pool->image ? pool->image : IMAGE, "resources",
	    resources(pool, what), "securityContext",
	    "allowPrivilegeEscalation", 0, "capabilities", "drop", "ALL");

	if (conf->priority_class)
		json_object_set_new(spec, "priorityClassName",
		                    json_string(conf->priority_class));
	return spec;
}

static json_t *notes_of(const struct kube_home *home)
{
	return json_pack("{s:s, s:s}", KUBE_NOTE_STORE, home->store,
	                 KUBE_NOTE_POOL, home->pool->name);
}

static void add_shape(json_t *obj)
{
	char *text = json_dumps(obj, JSON_SORT_KEYS | JSON_COMPACT);
	char shape[24];

	snprintf(shape, sizeof(shape), "%016" PRIx64,
	         hash_bytes(0, text, strlen(text)));
	json_object_set_new(
	    json_object_get(json_object_get(obj, "metadata"), "annotations"),
	    KUBE_NOTE_SHAPE, json_string(shape));
	free(text);
}

json_t *kube_standin_job(const struct kube_home *home,
                         const struct run_standin *what)
{
	const char *scale = what->conf->name;
	int64_t deadline = DEADLINE_DELAYS * what->conf->delay;
	char name[KUBE_NAME_SIZE];
	json_t *obj;

	kube_standin_name(name, home->cluster, scale);
	/* The watch of Jobs shows those with the label of a queue. */
	obj = json_pack(
	    "{s:s, s:s, s:{s:s, s:s, s:{s:s, s:s, s:s}, s:o},"
	    " s:{s:i, s:I, s:i, s:{s:{s:{s:s, s:s}, s:o}, s:o}}}",
	    "apiVersion", "batch/v1", "kind", "Job", "metadata", "name", name,
	    "namespace", home->namespace, "labels", KUBE_LABEL_QUEUE, "",
	    KUBE_LABEL_CLUSTER, home->cluster, KUBE_LABEL_STANDIN, scale,
	    "annotations", notes_of(home), "spec", "parallelism", 0,
	    "activeDeadlineSeconds",
	    (json_int_t)(deadline > DEADLINE_MIN_S ? deadline : DEADLINE_MIN_S),
	    "ttlSecondsAfterFinished", 0, "template", "metadata", "labels",
	    KUBE_LABEL_CLUSTER, home->cluster, KUBE_LABEL_STANDIN, scale,
	    "annotations", notes_of(home), "spec", pod_spec(home->pool, what));
	/* A request cannot be changed: another number of nodes needs another
	 * one. A node that comes changes nothing. */
	if (what->conf->by == SCALE_PROVISIONING)
		kube_object_number(
		    json_object_get(json_object_get(obj, "metadata"),
		                    "annotations"),
		    KUBE_NOTE_TARGET, (uint64_t)what->n + what->there);
	add_shape(obj);
	return obj;
}

struct kube_amount kube_standin_size(const json_t *job,
                                     const struct conf_pool *pool)
{
	struct kube_reader r = { .obj = job };

	return kube_pod_use(kube_map(&r, "spec.template.spec"), pool);
}

/* --- what the watch shows --- */

static bool says(const json_t *map, const char *key, const char *value)
{
	const char *s = kube_text_at(map, key);

	return s && !strcmp(s, value);
}

const char *kube_standin_is(const json_t *obj, const struct kube_home *home)
{
	const json_t *meta = json_object_get(obj, "metadata");
	const json_t *labels = json_object_get(meta, "labels");
	const json_t *notes = json_object_get(meta, "annotations");
	const char *scale = kube_text_at(labels, KUBE_LABEL_STANDIN);

	if (!scale)
		return NULL;
	return says(labels, KUBE_LABEL_CLUSTER, home->cluster) &&
	               says(notes, KUBE_NOTE_STORE, home->store) &&
	               says(notes, KUBE_NOTE_POOL, home->pool->name)
	           ? scale
	           : "";
}

bool kube_standin_is_told(const json_t *pod)
{
	const json_t *status = json_object_get(pod, "status"), *c;
	size_t i;

	json_array_foreach(json_object_get(status, "conditions"), i, c)
		if (says(c, "type", "PodScheduled"))
			return says(c, "status", "False") &&
			       says(c, "reason", "Unschedulable");
	return false;
}

/* --- patches --- */

json_t *kube_standin_tell(const char *uid)
{
	return json_pack("{s:{s:s}, s:{s:[{s:s, s:s, s:s, s:s}]}}", "metadata",
	                 "uid", uid, "status", "conditions", "type",
	                 "PodScheduled", "status", "False", "reason",
	                 "Unschedulable", "message",
	                 "stands in for a node that jobs of aisched wait for");
}

json_t *kube_standin_count(const char *uid, uint32_t n)
{
	return json_pack("{s:{s:s}, s:{s:i}}", "metadata", "uid", uid, "spec",
	                 "parallelism", (int)n);
}
