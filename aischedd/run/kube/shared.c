/* shared.c - Secrets that the tasks of an array share */
#include "aischedd/run/kube/shared.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aischedd/run/kube/attempt.h"
#include "aischedd/run/kube/jobs.h"
#include "aischedd/run/kube/kube.h"
#include "aischedd/run/kube/object/secret.h"
#include "libcommon/mem.h"

/* --- find Secrets after a restart --- */

/*
 * Returns the folder with an empty file for each shared Secret, on the heap. A
 * file is called "NAME@NAMESPACE", or "NAME" if a daemon wrote it that did not
 * know several namespaces yet.
 *
 * A Secret is made after the first of its Jobs and deleted before the last one,
 * and each Job names its Secret. So the files are needed after a restart only
 * if somebody has deleted all Jobs of a Secret meanwhile. Listing all Secrets
 * instead would need the right to read the Secrets of others.
 */
static char *folder_of(const struct kube *kube)
{
	char *all = xasprintf("%s/secrets", kube->conf->state_dir);
	char *own = xasprintf("%s/%s", all, kube->pool->name);

	(void)mkdir(all, 0700);
	(void)mkdir(own, 0700);
	free(all);
	return own;
}

static char *file_of(const struct kube_shared *shared)
{
	char *folder = folder_of(shared->kube);
	char *file =
	    xasprintf("%s/%s@%s", folder, shared->name, shared->space->name);

	free(folder);
	return file;
}

/* Make the Secret's file before the Secret is made. If this fails, a restarted
 * daemon finds the Secret only through its Jobs. */
static void note(const struct kube_shared *shared)
{
	char *file = file_of(shared);
	int fd = open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
	free(file);
}

static void forget(const struct kube_shared *shared)
{
	char *file = file_of(shared);

	(void)unlink(file);
	*strrchr(file, '@') = '\0'; /* the name that older daemons gave it */
	if (shared->space == shared->kube->spaces.s[0])
		(void)unlink(file);
	free(file);
}

static void recall_one(struct kube *kube, const char *file)
{
	struct kube_space *space = kube->spaces.s[0];
	char *name = xstrdup(file), *at = strchr(name, '@');

	if (at) {
		*at = '\0';
		space = kube_space_find(kube, at + 1);
	}
	if (space && kube_object_secret_may_share(name, &kube->home))
		kube_shared_put(kube_shared_get(space, name));
	free(name);
}

void kube_shared_recall(struct kube *kube)
{
	char *folder = folder_of(kube);
	DIR *dir = opendir(folder);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		recall_one(kube, entry->d_name);
	if (dir)
		closedir(dir);
	free(folder);
}

/* --- count users, make and delete Secrets --- */

struct kube_shared *kube_shared_get(struct kube_space *space, const char *name)
{
	struct kube *kube = space->kube;
	uint64_t key = kube_space_key(space, name);
	struct kube_shared *shared = map_find(&kube->shared, key);

	if (!shared) {
		shared = xcalloc(1, sizeof(*shared));
		shared->kube = kube;
		shared->space = space;
		shared->name = xstrdup(name);
		map_set(&kube->shared, key, shared);
	}
	shared->users++;
	return shared;
}

static void shared_free(struct kube_shared *shared)
{
	map_del(&shared->kube->shared,
	        kube_space_key(shared->space, shared->name));
	free(shared->name);
	free(shared);
}

/* Whether the Job is to be deleted after the Secret has been deleted. */
static bool is_waiting(const struct kube_job *job,
                       const struct kube_shared *shared)
{
	return job->shared == shared && job->removing;
}

static bool is_wanted(const struct kube_shared *shared)
{
	unsigned users = shared->users;
	struct kube_job *job;
	size_t at = 0;

	while (users && (job = map_each(&shared->kube->jobs, &at)))
		users -= is_waiting(job, shared);
	return users;
}

static void make_it_go(struct kube_shared *shared)
{
	if (shared->asking || is_wanted(shared))
		return;
	if (kube_lease_left_ms(shared->kube->lease)) {
		/* A task that starts meanwhile makes it anew. */
		shared->there = false;
		kube_ask_shared(shared, NULL);
	} else if (!shared->users) {
		shared_free(shared);
	}
}

void kube_shared_put(struct kube_shared *shared)
{
	if (shared && --shared->users == 0)
		make_it_go(shared);
}

void kube_shared_make(struct kube_attempt *a)
{
	if (a->make.shared->there) {
		json_decref(a->make.secret);
		a->make.secret = NULL;
	} else if (!a->make.shared->asking) {
		note(a->make.shared);
		kube_ask_shared(a->make.shared, a);
	}
}

bool kube_shared_goes_first(struct kube_job *job)
{
	struct kube_shared *shared = job->shared;

	if (!shared)
		return false;
	if (shared->users > 1) {
		shared->users--;
		job->shared = NULL;
		return false;
	}
	make_it_go(shared);
	return true;
}

/* Touch all attempts that use the Secret. */
static void touch_users(struct kube_shared *shared)
{
	struct kube_attempt *a;
	size_t at = 0;

	while ((a = map_each(&shared->kube->attempts, &at)))
		if (a->make.shared == shared)
			kube_attempt_touch(a);
}

void kube_shared_made(struct kube_shared *shared, const struct err *err)
{
	shared->asking = false;
	shared->there = !err || err->code == EEXIST;
	if (shared->there)
		touch_users(shared);
	make_it_go(shared);
}

void kube_shared_gone(struct kube_shared *shared, const struct err *err)
{
	bool gone = !err || err->code == ENOENT;
	struct kube_job *job;
	size_t at = 0;

	shared->asking = false;
	shared->there = false;
	if (gone)
		forget(shared);
	while ((job = map_each(&shared->kube->jobs, &at))) {
		if (!is_waiting(job, shared))
			continue;
		if (gone) {
			shared->users--;
			job->shared = NULL;
			kube_ask_remove(job);
		} else {
			kube_jobs_remove_later(job);
		}
	}
	if (shared->users)
		touch_users(shared);
	else
		shared_free(shared);
}

void kube_shared_free(struct kube *kube)
{
	struct kube_shared *shared;
	struct kube_attempt *a;
	struct kube_job *job;
	size_t at = 0;

	while ((a = map_each(&kube->attempts, &at)))
		a->make.shared = NULL;
	at = 0;
	while ((job = map_each(&kube->jobs, &at)))
		job->shared = NULL;
	at = 0;
	while ((shared = map_each(&kube->shared, &at))) {
		free(shared->name);
		free(shared);
	}
	map_free(&kube->shared);
}
