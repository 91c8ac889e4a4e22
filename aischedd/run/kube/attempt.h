/*
 * attempt.h - attempts of jobs, and the pods of each
 *
 * life.h describes the life of an attempt. Each part of struct kube_attempt is
 * changed only by the files that declare the part's type.
 */
#ifndef AISCHEDD_RUN_KUBE_ATTEMPT_H
#define AISCHEDD_RUN_KUBE_ATTEMPT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "aischedd/run/kube/ask.h"
#include "aischedd/run/kube/device/give.h"
#include "aischedd/run/kube/end.h"
#include "aischedd/run/kube/life.h"
#include "aischedd/run/kube/make.h"
#include "aischedd/run/kube/object/object.h"
#include "aischedd/run/kube/slot.h"
#include "aischedd/run/kube/task.h"
#include "aischedd/run/kube/tell.h"
#include "aischedd/run/kube/use/use.h"
#include "libcommon/map.h"

struct kube;
struct kube_space;

struct kube_attempt {
	TAILQ_ENTRY(kube_attempt) of_touched; /* entry of kube->touched */
	bool touched;
	struct kube *kube;
	struct kube_space *space;
	struct kube_owner id;
	char name[KUBE_NAME_SIZE];
	char *uid;               /* uid of its Job; NULL: not known yet */
	struct kube_tasks tasks; /* its pods */
	struct map at;           /* the latest pod of each index of the Job */

	struct kube_start start;     /* life.c */
	struct kube_orders make;     /* make.c */
	struct kube_slots slots;     /* slot.c */
	struct kube_gives give;      /* device/give.c */
	struct kube_calls calls;     /* used by ask.c and answer.c */
	struct kube_end end;         /* end.c */
	struct kube_telling telling; /* tell.c */
	struct kube_attempt_use use; /* use/use.c */
};

/* The key of an attempt in maps such as kube->attempts. */
uint64_t kube_attempt_key(uint64_t job, uint32_t attempt);

/* Returns NULL if the runner does not know the attempt. */
struct kube_attempt *kube_attempt_find(struct kube *kube,
                                       const struct kube_owner *id);
struct kube_attempt *kube_attempt_new(struct kube_space *space,
                                      const struct kube_owner *id);
void kube_attempt_free(struct kube_attempt *a);

/* Call fn for each attempt. fn may free attempts. */
typedef void kube_attempt_fn(struct kube_attempt *a, void *arg);
void kube_attempt_each(struct kube *kube, kube_attempt_fn *fn, void *arg);

/* Call kube_life_step() for the attempt once, after the loop has handled the
 * events that are pending now. */
void kube_attempt_touch(struct kube_attempt *a);

/* Set the uid of the attempt's Job. Pods whose owner has this uid belong to the
 * attempt. */
void kube_attempt_set_uid(struct kube_attempt *a, const char *uid);

/* Add to the attempt a task that has no attempt yet, if the Job of the attempt
 * owns the task's pod. */
void kube_attempt_link(struct kube_attempt *a, struct kube_task *task);

/* Note that a pod of the attempt was deleted before its end was seen. */
void kube_attempt_lose(struct kube_attempt *a, struct kube_task *task);

/* Returns the latest pod of that index, or NULL. */
struct kube_task *kube_attempt_at(struct kube_attempt *a, uint32_t index);

/* Whether a pod of the attempt holds a node: it is bound and has not ended. */
bool kube_attempt_any_alive(struct kube_attempt *a);

/*
 * Returns the failed pod that decides how the attempt ends: the one that failed
 * first or, if failed tasks are replaced, last. NULL: none has failed. *ret_n:
 * the number of failed pods.
 */
struct kube_task *kube_attempt_failed(struct kube_attempt *a, uint32_t *ret_n);

#endif
