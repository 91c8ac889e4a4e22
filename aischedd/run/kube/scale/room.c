/* room.c - how many stand-ins would fit on the nodes that are there */
#include "aischedd/run/kube/scale/room.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/adopt/pod.h"
#include "aischedd/run/kube/client/json.h"
#include "aischedd/run/kube/kube.h"
#include "aischedd/run/kube/object/node.h"
#include "libcommon/mem.h"

struct standin_room {
	const json_t *terms, *tolerations; /* of the pods */
	/* by name: what is free on a node on which the pods may run */
	struct map left;
};

/* --- may the pods run there? ---------------------------------------------- */

/* Whether a label of the node, "KEY=VALUE" or "KEY", is as the term demands. */
static bool is_met_by(const json_t *term, const char *label)
{
	const char *key = kube_word_at(term, "key");
	const char *value = json_string_value(
	    json_array_get(json_object_get(term, "values"), 0));
	size_t len = strlen(key);

	if (strncmp(label, key, len) != 0 || (label[len] && label[len] != '='))
		return false;
	return !value || !strcmp(label[len] ? label + len + 1 : "", value);
}

static bool is_met(const json_t *term, const json_t *features)
{
	const json_t *label;
	size_t i;

	json_array_foreach(features, i, label)
		if (is_met_by(term, json_string_value(label)))
			return true;
	return false;
}

/* Whether the pods tolerate the taint, "KEY[:EFFECT][=VALUE]". */
static bool is_tolerated(const json_t *tolerations, const char *taint)
{
	size_t len = strcspn(taint, ":="), i;
	const json_t *t;

	json_array_foreach(tolerations, i, t) {
		const char *key = kube_word_at(t, "key");

		if (strlen(key) == len && !strncmp(key, taint, len))
			return true;
	}
	return !strncmp(taint + len, ":PreferNoSchedule", 17);
}

static void add_node(const char *name, const struct kube_node_said *said,
                     const struct kube_amount *used, void *arg)
{
	struct standin_room *room = arg;
	struct kube_amount *left;
	const json_t *it;
	size_t i;

	json_array_foreach(room->terms, i, it)
		if (!is_met(it, said->features))
			return;
	json_array_foreach(said->taints, i, it)
		if (!is_tolerated(room->tolerations, json_string_value(it)))
			return;
	left = xcalloc(1, sizeof(*left));
	*left = (struct kube_amount){
		.cpu_milli = said->have.cpu_milli - used->cpu_milli,
		.mem_mib = said->have.mem_mib - used->mem_mib,
		.tmp_mib = said->have.tmp_mib - used->tmp_mib,
		.gpus = said->have.gpus - used->gpus,
		.pods = said->have.pods - used->pods,
	};
	map_set(&room->left, kube_text_key(name), left);
}

/* --- what do our pods use there? ------------------------------------------ */

static void take(struct standin_room *room, const struct kube_pod *pod)
{
	struct kube_amount *left =
	    map_find(&room->left, kube_text_key(pod->node));

	if (!left || kube_pod_is_over(pod))
		return;
	left->cpu_milli -= pod->use.cpu_milli;
	left->mem_mib -= pod->use.mem_mib;
	left->tmp_mib -= pod->use.tmp_mib;
	left->gpus -= pod->use.gpus;
	left->pods -= pod->use.pods;
}

/* Count the pods of jobs; the others are counted as used by others. */
static void take_all(struct kube *kube, struct standin_room *room)
{
	const struct kube_adopt_pod *p;
	const struct kube_adoptee *j;
	const struct kube_task *task;
	size_t at = 0;

	while ((task = map_each(&kube->pods.ours, &at)))
		if (!task->counted && !task->gone)
			take(room, &task->pod);
	at = 0;
	while ((j = map_each(&kube->adopt.by_uid, &at)))
		TAILQ_FOREACH(p, &j->pods, of_list)
			if (!p->counted && !p->gone)
				take(room, &p->pod);
}

static void least(int64_t *n, int64_t left, int64_t size)
{
	if (size > 0 && left / size < *n)
		*n = left / size;
}

int64_t kube_room(struct kube *kube, const json_t *job,
                  const struct kube_amount *size)
{
	struct kube_reader r = { .obj = job };
	const json_t *spec = kube_map(&r, "spec.template.spec"), *term;
	struct standin_room room = { .tolerations =
		                         json_object_get(spec, "tolerations") };
	struct kube_amount *left;
	int64_t all = 0;
	size_t at = 0;

	r = (struct kube_reader){ .obj = spec };
	term = json_array_get(
	    kube_list(&r, "affinity.nodeAffinity."
	                  "requiredDuringSchedulingIgnoredDuringExecution."
	                  "nodeSelectorTerms"),
	    0);
	room.terms = json_object_get(term, "matchExpressions");
	kube_nodes_each_free(kube->nodes, add_node, &room);
	take_all(kube, &room);
	while ((left = map_each(&room.left, &at))) {
		int64_t n = left->pods;

		least(&n, left->cpu_milli, size->cpu_milli);
		least(&n, left->mem_mib, size->mem_mib);
		least(&n, left->tmp_mib, size->tmp_mib);
		least(&n, left->gpus, size->gpus);
		all += n > 0 ? n : 0;
		free(left);
	}
	map_free(&room.left);
	return all;
}
