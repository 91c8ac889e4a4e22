/*
 * shared.h - Secrets that the tasks of an array share
 *
 * Script and environment of an array are the same for all of its tasks, and
 * may be a megabyte.  Of 1,000 tasks 999 POSTs are saved, of at most two
 * thirds of all that a start asks for, and as many objects in etcd.
 */
#ifndef AISCHEDD_RUN_KUBE_SHARED_H
#define AISCHEDD_RUN_KUBE_SHARED_H

#include <stdbool.h>

struct err;
struct kube;
struct kube_attempt;
struct kube_job;

struct kube_shared {
	struct kube *kube;
	char *name;
	unsigned users; /* attempts, and Jobs that are to stay */
	bool there;     /* as far as is known */
	bool asking;    /* for it, or for its deletion */
};

/* One user more, or less: without users it is deleted. */
struct kube_shared *kube_shared_get(struct kube *kube, const char *name);
void kube_shared_put(struct kube_shared *shared); /* NULL is fine */

/* When recover() has been answered: delete those that nobody uses. */
void kube_shared_recall(struct kube *kube);

/* Ask for that of a, which uses it, unless it is there. */
void kube_shared_make(struct kube_attempt *a);

/* The Job is to go, and is no longer a user.  Returns true if its Secret is on
 * its way out, after which kube_shared_gone() sees to the Job. */
bool kube_shared_goes_first(struct kube_job *job);

/* The answers to kube_ask_shared(); gone() may free it. */
void kube_shared_made(struct kube_shared *shared, const struct err *err);
void kube_shared_gone(struct kube_shared *shared, const struct err *err);

/* When attempts and Jobs are about to be freed. */
void kube_shared_free(struct kube *kube);

#endif
