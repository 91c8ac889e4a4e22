/* provision.c - make a ProvisioningRequest, which asks an autoscaler for nodes
 */
#include "aischedd/run/kube/object/provision.h"

#include <stdio.h>
#include <string.h>

#include "aischedd/run/kube/client/json.h"
#include "libcommon/mem.h"

/* The class whose requests have an end, by a parameter of this name. */
#define ATOMIC "best-effort-atomic-scale-up.autoscaling.x-k8s.io"
#define UNTIL  "ValidUntilSeconds"

void kube_provision_name(char ret[KUBE_PROVISION_SIZE], const json_t *job,
                         const char *uid)
{
	snprintf(ret, KUBE_PROVISION_SIZE, "%s-%.8s",
	         kube_word_at(json_object_get(job, "metadata"), "name"), uid);
}

/* Returns the metadata of an object that the Job owns. */
static json_t *metadata(const json_t *job, const char *uid)
{
	const json_t *meta = json_object_get(job, "metadata");
	char name[KUBE_PROVISION_SIZE];

	kube_provision_name(name, job, uid);
	return json_pack("{s:s, s:O, s:O, s:O}", "name", name, "namespace",
	                 json_object_get(meta, "namespace"), "labels",
	                 json_object_get(meta, "labels"), "annotations",
	                 json_object_get(meta, "annotations"));
}

static json_t *owned(json_t *obj, const json_t *job, const char *uid)
{
	const json_t *meta = json_object_get(job, "metadata");

	json_object_set_new(obj, "metadata", metadata(job, uid));
	kube_object_own(obj, kube_word_at(meta, "name"), uid);
	return obj;
}

json_t *kube_provision_template(const json_t *job, const char *uid)
{
	return owned(json_pack("{s:s, s:s, s:O}", "apiVersion", "v1", "kind",
	                       "PodTemplate", "template",
	                       json_object_get(json_object_get(job, "spec"),
	                                       "template")),
	             job, uid);
}

json_t *kube_provision_request(const json_t *job, const char *uid,
                               const struct conf_scale *conf, uint32_t n)
{
	char name[KUBE_PROVISION_SIZE], until[24];
	json_t *spec;

	kube_provision_name(name, job, uid);
	spec = json_pack("{s:s, s:[{s:{s:s}, s:i}]}", "provisioningClassName",
	                 conf->provisioning_class, "podSets", "podTemplateRef",
	                 "name", name, "count", (int)n);
	snprintf(until, sizeof(until), "%lld", 2 * (long long)conf->delay);
	if (!strcmp(conf->provisioning_class, ATOMIC))
		json_object_set_new(spec, "parameters",
		                    json_pack("{s:s}", UNTIL, until));
	return owned(json_pack("{s:s, s:s, s:o}", "apiVersion",
	                       "autoscaling.x-k8s.io/v1", "kind",
	                       "ProvisioningRequest", "spec", spec),
	             job, uid);
}

char *kube_provision_failure(const json_t *request)
{
	static const char *const ends[] = { "Failed", "CapacityRevoked",
		                            "BookingExpired" };
	const json_t *status = json_object_get(request, "status"), *c;
	const char *name =
	    kube_word_at(json_object_get(request, "metadata"), "name");
	size_t i;

	json_array_foreach(json_object_get(status, "conditions"), i, c) {
		const char *type = kube_word_at(c, "type");
		const char *why = kube_word_at(c, "message");

		for (size_t k = 0; k < ARRAY_SIZE(ends); k++)
			if (!strcmp(type, ends[k]) &&
			    !strcmp(kube_word_at(c, "status"), "True"))
				return xasprintf("ProvisioningRequest '%s': "
				                 "%s%s%.300s",
				                 name, type, *why ? ": " : "",
				                 why);
	}
	return NULL;
}
