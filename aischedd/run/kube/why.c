/* why.c - find out from Events why a Job has no pods */
#include "aischedd/run/kube/why.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/attempt.h"
#include "aischedd/run/kube/client/json.h"
#include "aischedd/run/kube/jobs.h"
#include "aischedd/run/kube/kube.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"

enum {
	/* time in which the pods of a new Job normally appear */
	FIRST_MS = 3000,
	/* when to read Events again if they did not say why there are no
	 * pods */
	NEXT_MS = 15000
};

void kube_why_look(struct kube_attempt *a)
{
	int64_t now = clock_boot_ms();

	if (!a->uid)
		return;
	if (!a->start.why_ms)
		a->start.why_ms = now + FIRST_MS;
	if (now < a->start.why_ms || now < a->space->why_ms)
		return;
	a->space->why_ms = INT64_MAX; /* no other call until the answer comes */
	kube_ask_why(a->space);
}

/* Fail the start of the attempt whose Job the Event is about, with the Event's
 * message. The daemon starts the job again later: the quota may allow it by
 * then, and meanwhile other jobs can use the nodes. */
static void tell(struct kube_space *space, const json_t *event)
{
	const json_t *about = json_object_get(event, "involvedObject");
	const char *uid = kube_text_at(about, "uid");
	const char *name = kube_text_at(about, "name");
	const char *why = kube_text_at(event, "message");
	const struct kube_job *job = name ? kube_jobs_find(space, name) : NULL;
	struct kube_attempt *a =
	    job ? kube_attempt_find(space->kube, &job->owner) : NULL;
	char *text;

	if (!a || !a->uid || !uid || !why || strcmp(uid, a->uid) != 0 ||
	    kube_make_is_done(a))
		return;
	text = xasprintf("the cluster makes none of its pods: %s", why);
	kube_end_fail(a, FAULT_POOL, text);
	free(text);
	kube_attempt_touch(a);
}

void kube_why_told(struct kube_space *space, const json_t *events)
{
	struct kube *kube = space->kube;
	int64_t now = clock_boot_ms();
	const json_t *event;
	struct kube_attempt *a;
	size_t i, at = 0;

	space->why_ms = now + FIRST_MS;
	while ((a = map_each(&kube->attempts, &at)))
		if (a->space == space && a->start.why_ms &&
		    a->start.why_ms <= now)
			a->start.why_ms = now + NEXT_MS;
	json_array_foreach(json_object_get(events, "items"), i, event)
		tell(space, event);
}
