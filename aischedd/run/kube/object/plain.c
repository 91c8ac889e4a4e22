/* plain.c - read pods that wait in a queue by themselves, without a Job */
#include "aischedd/run/kube/object/plain.h"

#include <string.h>

#include "aischedd/run/kube/client/json.h"
#include "aischedd/run/kube/object/foreign.h"
#include "aischedd/run/kube/object/object.h"

static const json_t *gates_of(const json_t *pod)
{
	return json_object_get(json_object_get(pod, "spec"), "schedulingGates");
}

/* Whether the pod has our gate and no other. */
static bool is_gated(const json_t *pod)
{
	const json_t *gates = gates_of(pod);

	return json_array_size(gates) == 1 &&
	       !strcmp(kube_word(json_array_get(gates, 0), "name"), KUBE_GATE);
}

static bool is_of_job(const json_t *pod)
{
	const json_t *meta = json_object_get(pod, "metadata"), *owner;
	size_t i;

	json_array_foreach(json_object_get(meta, "ownerReferences"), i, owner)
		if (json_is_true(json_object_get(owner, "controller")) &&
		    !strcmp(kube_word(owner, "kind"), "Job"))
			return true;
	return false;
}

bool kube_plain_is(const json_t *pod)
{
	const json_t *meta = json_object_get(pod, "metadata");
	const json_t *notes = json_object_get(meta, "annotations");
	const json_t *labels = json_object_get(meta, "labels");

	if (!json_object_get(labels, KUBE_LABEL_QUEUE) || is_of_job(pod))
		return false;
	if (json_object_get(notes, KUBE_NOTE_STORE) || is_gated(pod))
		return true;
	/* Only the gate is missing, so nobody would ever bind the pod: its
	 * owner is told. */
	return !json_array_size(gates_of(pod)) &&
	       !*kube_word(pod, "spec.nodeName") &&
	       !strcmp(kube_word(pod, "spec.schedulerName"), KUBE_SCHEDULER);
}

/* Returns the status of the Job: whether its only pod has ended, and how. */
static json_t *status_of(const json_t *pod)
{
	const char *phase = kube_word(pod, "status.phase");
	bool done = !strcmp(phase, "Succeeded");

	if (!done && strcmp(phase, "Failed") != 0)
		return json_object();
	return json_pack("{s:i, s:[{s:s, s:s, s:s, s:s}]}", "succeeded", done,
	                 "conditions", "type", done ? "Complete" : "Failed",
	                 "status", "True", "reason",
	                 kube_word(pod, "status.reason"), "message",
	                 kube_word(pod, "status.message"));
}

json_t *kube_plain_job(const json_t *pod)
{
	json_t *meta = json_object_get(pod, "metadata");
	json_t *spec = json_object_get(pod, "spec");

	return json_pack(
	    "{s:s, s:O?, s:{s:b, s:i, s:i, s:O*, s:{s:O?, s:O?}},"
	    " s:o}",
	    "kind", "Pod", "metadata", meta, "spec", "suspend", is_gated(pod),
	    "parallelism", 1, "completions", 1, "activeDeadlineSeconds",
	    json_object_get(spec, "activeDeadlineSeconds"), "template",
	    "metadata", meta, "spec", spec, "status", status_of(pod));
}

json_t *kube_plain_open(const char *uid)
{
	return json_pack("{s:{s:s}, s:{s:n}}", "metadata", "uid", uid, "spec",
	                 "schedulingGates");
}
