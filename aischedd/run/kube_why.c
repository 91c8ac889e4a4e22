/* kube_why.c - why no pods come of a Job: a cluster says so in Events alone */
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube.h"
#include "aischedd/run/kube_call.h"
#include "libcommon/mem.h"

enum {
	FIRST_MS = 3000, /* by then they are there */
	NEXT_MS = 15000
};

void kube_attempt_ask_why(struct kube_attempt *a)
{
	int64_t now = kube_now_ms();

	if (!a->uid || a->asking[ASK_WHY])
		return;
	if (!a->why_ms)
		a->why_ms = now + FIRST_MS;
	if (now < a->why_ms)
		return;
	a->why_ms = now + NEXT_MS;
	kube_ask_why(a);
}

/* It is tried again as a whole: a quota may have room by then, and whoever
 * fits meanwhile gets the nodes. */
void kube_attempt_told_why(struct kube_attempt *a, const json_t *events)
{
	const json_t *event;
	size_t i;

	if (kube_attempt_is_made(a))
		return;
	json_array_foreach(json_object_get(events, "items"), i, event) {
		const char *reason =
		    json_string_value(json_object_get(event, "reason"));
		const char *message =
		    json_string_value(json_object_get(event, "message"));
		char *text;

		if (!reason || !message || strcmp(reason, "FailedCreate") != 0)
			continue;
		text = xasprintf("the cluster makes none of its pods: %s",
		                 message);
		kube_attempt_fail(a, FAULT_POOL, text);
		free(text);
	}
}
