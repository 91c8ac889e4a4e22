/* pods.c - our pods and those of others, as the watch reports them */
#include "aischedd/run/kube/pods.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/attempt.h"
#include "aischedd/run/kube/kube.h"
#include "aischedd/run/kube/object/plain.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"

/* A pod that is not ours, and what it uses of its node. */
struct other_pod {
	char *name, *node;
	/* names of the volume claims that it mounts, if its namespace is one of
	 * the pool's; else NULL */
	json_t *claims;
	const struct kube_space *space; /* of these claims */
	struct kube_amount use;
	bool marked;
};

/* --- our pods --- */

static struct kube_task *task_seen(struct kube *kube, struct kube_pod *pod,
                                   const struct kube_owner *owner)
{
	uint64_t key = kube_text_key(pod->uid);
	struct kube_task *task = map_find(&kube->pods.ours, key);

	if (!task) {
		task = xcalloc(1, sizeof(*task));
		task->owner = *owner;
		TAILQ_INSERT_TAIL(&kube->pods.loose, task, of_list);
		map_set(&kube->pods.ours, key, task);
	} else {
		/* keep the first index, even if the label has changed */
		pod->index = task->pod.index;
		kube_pod_fini(&task->pod);
	}
	task->pod = *pod;
	task->marked = false;
	if (pod->deleting && !task->gone_ms)
		task->gone_ms = clock_boot_ms();
	return task;
}

/* Handle the deletion of a pod of ours. Free its task, unless the pod had ended
 * and has an attempt: then the attempt keeps the task for its outcome. */
static void task_deleted(struct kube *kube, struct kube_task *task)
{
	struct kube_attempt *a = task->attempt;

	task->gone = true;
	if (a)
		kube_attempt_touch(a);
	if (a && kube_pod_is_over(&task->pod))
		return;
	if (a)
		kube_attempt_lose(a, task);
	kube_task_free(kube, task);
}

static void on_task(struct kube *kube, struct kube_pod *pod,
                    const struct kube_owner *owner, bool deleted)
{
	struct kube_task *task = task_seen(kube, pod, owner);
	struct kube_attempt *a = kube_attempt_find(kube, owner);

	if (deleted) {
		task_deleted(kube, task);
		return;
	}
	if (a && !task->attempt)
		kube_attempt_link(a, task);
	kube_task_count(kube, task);
	kube_log_look(kube);
	if (a)
		kube_attempt_touch(a);
}

/* --- pods of others --- */

static void other_fini(struct other_pod *other)
{
	json_decref(other->claims);
	free(other->name);
	free(other->node);
	free(other);
}

static void other_free(struct kube *kube, uint64_t key)
{
	struct other_pod *other = map_del(&kube->pods.others, key);

	if (!other)
		return;
	kube_nodes_use(kube->nodes, other->node, &other->use, false);
	if (other->claims)
		kube_claims_mounted(other->space, other->claims);
	other_fini(other);
}

static void on_other(struct kube *kube, const struct kube_pod *pod,
                     bool deleted)
{
	uint64_t key = kube_text_key(pod->uid);
	struct other_pod *other = map_find(&kube->pods.others, key);

	if (deleted || !*pod->node || kube_pod_is_over(pod)) {
		other_free(kube, key);
		return;
	}
	if (other && !strcmp(other->node, pod->node) &&
	    !memcmp(&other->use, &pod->use, sizeof(pod->use))) {
		other->marked = false;
		return;
	}
	other_free(kube, key);
	other = xcalloc(1, sizeof(*other));
	other->node = xstrdup(pod->node);
	other->use = pod->use;
	other->name = xstrdup(pod->name);
	other->space = kube_space_find(kube, pod->namespace);
	if (pod->claims && other->space) {
		other->claims = json_incref(pod->claims);
		kube_claims_mounted(other->space, other->claims);
	}
	map_set(&kube->pods.others, key, other);
	kube_nodes_use(kube->nodes, other->node, &other->use, true);
}

struct kube_task *kube_pods_find(const struct kube *kube, const char *uid)
{
	return map_find(&kube->pods.ours, kube_text_key(uid));
}

void kube_pods_mark(struct kube *kube)
{
	const struct other_pod *other;
	const json_t *name;
	size_t at = 0, i;

	while ((other = map_each(&kube->pods.others, &at)))
		json_array_foreach(other->claims, i, name) {
			struct kube_seen *seen =
			    map_find(&kube->claims.claims,
			             kube_space_key(other->space,
			                            json_string_value(name)));

			if (!seen || seen->pod)
				continue;
			seen->pod = other->name;
			seen->pod_node = other->node;
		}
}

/* --- handle what the watch of pods reports --- */

static void pods_mark(struct kube *kube)
{
	struct other_pod *other;
	struct kube_task *task;
	size_t at = 0;

	while ((task = map_each(&kube->pods.ours, &at)))
		task->marked = !task->gone;
	at = 0;
	while ((other = map_each(&kube->pods.others, &at)))
		other->marked = true;
}

/* At the end of a list, drop the pods that are still marked, as they no longer
 * exist. Collect them first: a map must not change during a walk. */
static void pods_drop(struct kube *kube)
{
	struct map *maps[] = { &kube->pods.ours, &kube->pods.others };

	for (size_t m = 0; m < ARRAY_SIZE(maps); m++) {
		uint64_t *gone = xcalloc(maps[m]->n + 1, sizeof(*gone));
		size_t n = 0;

		for (size_t i = 0; i < maps[m]->cap; i++) {
			void *p = maps[m]->slot[i].value;

			if (p && (m ? ((struct other_pod *)p)->marked
			            : ((struct kube_task *)p)->marked))
				gone[n++] = maps[m]->slot[i].key;
		}
		for (size_t i = 0; i < n; i++)
			if (m)
				other_free(kube, gone[i]);
			else
				task_deleted(
				    kube, map_find(&kube->pods.ours, gone[i]));
		free(gone);
	}
}

/* Whether the pod is a job of its own. */
static bool is_plain(struct kube *kube, const json_t *obj,
                     const struct kube_pod *pod)
{
	return kube_plain_is(obj) || kube_adopt_find(kube, pod->uid);
}

static void on_pod(struct kube *kube, json_t *obj, bool deleted)
{
	struct kube_space *space;
	struct kube_owner owner;
	struct kube_pod pod;
	struct err err;
	uint64_t key;

	if (kube_pod_read(obj, kube->pool, &pod, &err) < 0)
		return;
	space = kube_space_find(kube, pod.namespace);
	if (space && kube_object_is_ours(obj, &kube->home, &owner)) {
		/* on_task() takes over the pod */
		on_task(kube, &pod, &owner, deleted);
		return;
	}
	if (kube_standin_pod_seen(kube, obj, &pod, deleted)) {
		kube_pod_fini(&pod);
		return;
	}
	key = kube_text_key(pod.uid);
	if (space && is_plain(kube, obj, &pod))
		kube_adopt_plain_seen(space, obj, deleted);
	if (kube_adopt_pod_seen(kube, &pod, deleted)) {
		/* until its Job was known, it counted as a pod of others */
		other_free(kube, key);
		return;
	}
	on_other(kube, &pod, deleted);
	kube_pod_fini(&pod);
}

void kube_pods_news(struct kube *kube, enum kube_news news, json_t *obj)
{
	if (news == KUBE_RESET)
		pods_mark(kube);
	else if (news == KUBE_SYNCED)
		pods_drop(kube);
	else if (news != KUBE_TROUBLE)
		on_pod(kube, obj, news == KUBE_DELETED);
}

void kube_pods_free(struct kube *kube)
{
	struct other_pod *other;
	struct kube_task *task;
	size_t at = 0;

	while ((task = TAILQ_FIRST(&kube->pods.loose)))
		kube_task_free(kube, task);
	while ((other = map_each(&kube->pods.others, &at)))
		other_fini(other);
	map_free(&kube->pods.ours);
	map_free(&kube->pods.others);
}
