/* why.c - find out from Events why a Job has no pods */
#include "aischedd/run/kube/why.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/adopt/end.h"
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

void kube_why_look(struct kube_space *space, int64_t *next_ms)
{
	int64_t now = clock_boot_ms();

	if (!*next_ms)
		*next_ms = now + FIRST_MS;
	if (now < *next_ms || now < space->why_ms)
		return;
	space->why_ms = INT64_MAX; /* no other call until the answer comes */
	kube_ask_why(space);
}

static void tell_attempt(struct kube_attempt *a, const char *uid,
                         const char *text)
{
	if (!a->uid || strcmp(uid, a->uid) != 0 || kube_make_is_done(a))
		return;
	kube_end_fail(a, FAULT_POOL, text);
	kube_attempt_touch(a);
}

/* Ignore Events about earlier attempts of the Job: each attempt resumes it, and
 * so sets its startTime. */
static void tell_adoptee(struct kube_adoptee *j, const json_t *event,
                         const char *text)
{
	struct kube_reader r = { .obj = event };
	int64_t at = kube_time(&r, "lastTimestamp");

	if (!j->run.why_ms || j->run.started || j->at.suspended ||
	    !j->at.start || at < j->at.start)
		return;
	kube_adopt_end_fail(j, FAULT_POOL, text);
	kube_adopt_step(j);
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
	struct kube_adoptee *j;
	char *text;

	if (!uid || !why)
		return;
	j = kube_adopt_find(space->kube, uid);
	text = xasprintf("the cluster makes none of its pods: %s", why);
	if (a)
		tell_attempt(a, uid, text);
	else if (j && j->space == space)
		tell_adoptee(j, event, text);
	free(text);
}

/* Look at Events again later if those that were read do not say why. */
static void wait(int64_t *next_ms, int64_t now)
{
	if (*next_ms && *next_ms <= now)
		*next_ms = now + NEXT_MS;
}

void kube_why_told(struct kube_space *space, const json_t *events)
{
	struct kube *kube = space->kube;
	int64_t now = clock_boot_ms();
	const json_t *event;
	struct kube_attempt *a;
	struct kube_adoptee *j;
	size_t i, at = 0;

	space->why_ms = now + FIRST_MS;
	while ((a = map_each(&kube->attempts, &at)))
		if (a->space == space)
			wait(&a->start.why_ms, now);
	at = 0;
	while ((j = map_each(&kube->adopt.by_uid, &at)))
		if (j->space == space)
			wait(&j->run.why_ms, now);
	json_array_foreach(json_object_get(events, "items"), i, event)
		tell(space, event);
}
