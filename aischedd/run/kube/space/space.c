/* space.c - the namespaces of a pool */
#include "aischedd/run/kube/space/space.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aischedd/run/kube/jobs.h"
#include "aischedd/run/kube/kube.h"
#include "aischedd/run/kube/shared.h"
#include "libcommon/durable.h"
#include "libcommon/limits.h"
#include "libcommon/log.h"
#include "libcommon/mem.h"

/* --- files that name the namespaces in use --- */

/* The number of folders that folder_of() may have made: `namespaces`, and the
 * pool's folder in it. */
enum { NEW_FOLDERS = 2 };

static char *folder_of(const struct kube *kube)
{
	char *all = xasprintf("%s/namespaces", kube->conf->state_dir);
	char *own = xasprintf("%s/%s", all, kube->pool->name);

	(void)mkdir(all, 0700);
	(void)mkdir(own, 0700);
	free(all);
	return own;
}

static char *file_of(const struct kube_space *space)
{
	char *folder = folder_of(space->kube);
	char *file = xasprintf("%s/%s", folder, space->name);

	free(folder);
	return file;
}

/* Make the file of the namespace, before any object is made in the namespace.
 * Without this file, the next daemon does not find the jobs in the namespace if
 * the namespace is no longer configured. */
static void note(const struct kube_space *space)
{
	char *file = file_of(space);
	struct err err;

	if (durable_touch(file, NEW_FOLDERS, &err) < 0)
		log_warning("pool %s: namespace '%s' is not noted: %s",
		            space->kube->pool->name, space->name, err.text);
	free(file);
}

static void forget(const struct kube_space *space)
{
	char *file = file_of(space);

	(void)unlink(file);
	free(file);
}

/* --- the list of namespaces --- */

static struct kube_space *add(struct kube *kube, const char *name)
{
	struct kube_spaces *list = &kube->spaces;
	struct kube_space *space = xcalloc(1, sizeof(*space));

	space->kube = kube;
	space->name = xstrdup(name);
	list->s[list->n++] = space;
	return space;
}

/* Add the namespaces that earlier daemons used. */
static void recall(struct kube *kube)
{
	char *folder = folder_of(kube);
	DIR *dir = opendir(folder);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)) &&
	       kube->spaces.n < 2 * LIMIT_NAMESPACES)
		if (*entry->d_name != '.' &&
		    !kube_space_find(kube, entry->d_name))
			add(kube, entry->d_name)->leaving = true;
	if (dir)
		closedir(dir);
	free(folder);
}

void kube_space_init(struct kube *kube)
{
	const struct strlist *names = &kube->pool->spaces;

	kube->spaces.s =
	    xcalloc(2 * LIMIT_NAMESPACES, sizeof(struct kube_space *));
	add(kube, kube->pool->namespace);
	for (size_t i = 0; i < names->n; i++)
		if (!kube_space_find(kube, names->s[i]))
			add(kube, names->s[i]);
	for (size_t i = 0; i < kube->spaces.n; i++) {
		kube->spaces.s[i]->leaving = kube->pool->leaving;
		note(kube->spaces.s[i]);
	}
	recall(kube);
}

void kube_space_blind(struct kube_space *space)
{
	for (int i = 0; i < SEE_N; i++) {
		kube_watch_free(space->sight.watch[i]);
		space->sight.watch[i] = NULL;
		space->sight.blind[i].code = 0;
	}
}

void kube_space_free(struct kube *kube)
{
	for (size_t i = 0; i < kube->spaces.n; i++) {
		free(kube->spaces.s[i]->name);
		free(kube->spaces.s[i]);
	}
	free(kube->spaces.s);
}

struct kube_space *kube_space_find(const struct kube *kube, const char *name)
{
	for (size_t i = 0; i < kube->spaces.n; i++)
		if (!strcmp(kube->spaces.s[i]->name, name))
			return kube->spaces.s[i];
	return NULL;
}

struct kube_space *kube_space_of_queue(const struct kube *kube,
                                       const char *queue)
{
	const char *name =
	    conf_namespace(kube->conf, conf_queue_find(kube->conf, queue),
	                   (int)(kube->pool - kube->conf->pools));
	struct kube_space *space = kube_space_find(kube, name);

	return space ? space : kube->spaces.s[0];
}

uint64_t kube_space_key(const struct kube_space *space, const char *name)
{
	return hash_bytes(kube_text_key(space->name), name, strlen(name));
}

struct kube_home kube_space_home(const struct kube_space *space)
{
	struct kube_home home = space->kube->home;

	home.namespace = space->name;
	return home;
}

/* --- whether Jobs have been listed --- */

bool kube_space_is_known(const struct kube_space *space)
{
	return space->left || space->sight.synced[SEE_JOBS];
}

bool kube_space_all_known(const struct kube *kube)
{
	for (size_t i = 0; i < kube->spaces.n; i++)
		if (!kube_space_is_known(kube->spaces.s[i]))
			return false;
	return true;
}

bool kube_space_all_tried(const struct kube *kube)
{
	for (size_t i = 0; i < kube->spaces.n; i++) {
		const struct kube_space *space = kube->spaces.s[i];

		if (!kube_space_is_known(space) &&
		    (!i || !space->sight.blind[SEE_JOBS].code))
			return false;
	}
	return true;
}

/* --- namespaces that are no longer configured --- */

/* Whether the namespace is still needed for this Job: its job or an attempt has
 * not ended. If no job is known yet, the namespace is needed if the Job is ours
 * and has not ended. */
static bool is_served(const struct kube_adoptee *j)
{
	if (j->job)
		return !job_state_is_final(j->state) || j->run.attempt;
	return j->at.ours && !kube_adopt_is_over(j);
}

/* Whether an object of ours in the namespace is known. Pods are watched in the
 * whole cluster, so they are known even if the namespace is forbidden. */
static bool is_used(const struct kube_space *space)
{
	const struct kube *kube = space->kube;
	const struct kube_adoptee *j;
	const struct kube_job *job;
	const struct kube_task *task;
	const struct kube_shared *shared;
	size_t at = 0;

	if (kube_ports_used(space) ||
	    (space == kube->spaces.s[0] && kube_standin_any(kube)))
		return true;
	while ((shared = map_each(&kube->shared, &at)))
		if (shared->space == space)
			return true;
	at = 0;
	while ((job = map_each(&kube->jobs, &at)))
		if (job->space == space)
			return true;
	at = 0;
	while ((j = map_each(&kube->adopt.by_uid, &at)))
		if (j->space == space && is_served(j))
			return true;
	at = 0;
	while ((task = map_each(&kube->pods.ours, &at)))
		if (!strcmp(task->pod.namespace, space->name))
			return true;
	return false;
}

void kube_space_step(struct kube *kube)
{
	bool left = kube->pool->leaving && !kube->left;

	for (size_t i = 0; i < kube->spaces.n; i++) {
		struct kube_space *space = kube->spaces.s[i];

		if (!space->leaving || space->left || !kube->recovery.done ||
		    (!kube_space_is_known(space) &&
		     !space->sight.blind[SEE_JOBS].code) ||
		    is_used(space)) {
			left &= space->left;
			continue;
		}
		space->left = true;
		kube_space_blind(space);
		forget(space);
	}
	if (!left)
		return;
	kube->left = true;
	kube->fn(&(struct run_event){ .kind = RUN_LEFT }, kube->arg);
}
