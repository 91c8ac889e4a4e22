/* grant.c - make and read ResourceClaims, which give devices to pods */
#include "aischedd/run/kube/object/grant.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/client/json.h"
#include "libcommon/buf.h"
#include "libcommon/map.h"
#include "libcommon/mem.h"
#include "libcommon/mig.h"

#define FINALIZER "resource.kubernetes.io/delete-protection"
#define REQUEST   "gpus"

void kube_grant_name(char ret[KUBE_GRANT_SIZE], const char *job, uint32_t index)
{
	snprintf(ret, KUBE_GRANT_SIZE, "%s-%" PRIu32, job, index);
}

const char *kube_grant_class(const struct conf_pool *pool, uint8_t profile)
{
	return profile ? pool->mig_class : pool->device_class;
}

/* Append as much of the text as is left to ret, with '-' for each '.': names
 * have no '.' before a '-'. */
static void add_cut(char ret[KUBE_GRANT_SIZE], const char *text)
{
	size_t len = strlen(ret), most = len + 64;

	for (; *text && len < most; text++)
		ret[len++] = *text == '.' ? '-' : *text;
	ret[len] = '\0';
}

void kube_grant_share_name(char ret[KUBE_GRANT_SIZE], const char *cluster,
                           const char *node, const struct kube_given *given)
{
	const char *pool = given->gpu[0].pool, *name = given->gpu[0].name;
	uint64_t hash = hash_bytes(0, node, strlen(node) + 1);

	hash = hash_bytes(hash, pool, strlen(pool) + 1);
	hash = hash_bytes(hash, name, strlen(name));
	snprintf(ret, KUBE_GRANT_SIZE, "aj-%.64s-share-", cluster);
	add_cut(ret, node);
	add_cut(ret, "-");
	add_cut(ret, name);
	snprintf(ret + strlen(ret), KUBE_GRANT_SIZE - strlen(ret),
	         "-%08" PRIx64, hash & 0xffffffff);
}

char *kube_grant_resource(const char *class)
{
	return xasprintf("deviceclass.resource.kubernetes.io/%s", class);
}

static json_t *gpus_text(const struct kube_given *given)
{
	struct buf text = { 0 };
	json_t *value;

	for (uint32_t i = 0; i < given->n; i++)
		buf_printf(&text, "%s%" PRIu32 "=%s/%s", i ? "," : "",
		           given->gpu[i].number, given->gpu[i].pool,
		           given->gpu[i].of);
	value = json_stringn(text.data, text.len);
	buf_free(&text);
	return value;
}

/* Returns "3g.40gb@4". */
static json_t *part_text(struct kube_part part)
{
	char text[64];

	snprintf(text, sizeof(text), "%s@%d", mig_profile[part.profile].name,
	         __builtin_ctz(part.units));
	return json_string(text);
}

static struct kube_part part_read(const char *text)
{
	struct kube_part part = { 0 };
	uint64_t parts;

	if (!text || mig_parts_parse(text, ',', &parts, NULL) < 0)
		return part;
	for (uint32_t i = 0; i < MIG_UNITS; i++) {
		uint8_t profile = mig_parts_at(parts, i);

		if (profile)
			part =
			    (struct kube_part){ profile, mig_mask(profile, i) };
	}
	return part;
}

void kube_grant_request(char ret[24], uint32_t index)
{
	snprintf(ret, 24, "%s-%" PRIu32, REQUEST, index);
}

/* Returns the indexes of the pods, "0,1,2". */
static json_t *indexes_text(const struct kube_given *given)
{
	struct buf text = { 0 };
	json_t *value;

	for (uint32_t i = 0; i < given->npods; i++)
		buf_printf(&text, "%s%" PRIu32, i ? "," : "", given->pod[i]);
	value = json_stringn(text.data, text.len);
	buf_free(&text);
	return value;
}

/* Read these indexes. At least one is stored: 0 if there is none. */
static void indexes_read(const char *note, struct kube_granted *ret)
{
	char *end = (char *)(note ? note : "");

	do {
		ret->pod[ret->npods++] = (uint32_t)strtoul(end, &end, 10);
	} while (*end++ == ',' && ret->npods < KUBE_GRANT_PODS);
	ret->index = ret->pod[0];
}

static json_t *labels_of(const struct kube_grant_of *of)
{
	const struct run_job job = { .job = of->owner.job,
		                     .attempt = of->owner.attempt,
		                     .queue = "" };
	json_t *labels = kube_object_labels(of->home, &job);

	json_object_del(labels, KUBE_LABEL_QUEUE);
	return labels;
}

static json_t *notes_of(const struct kube_grant_of *of,
                        const struct kube_given *given)
{
	const struct run_job job = { .job = of->owner.job,
		                     .attempt = of->owner.attempt,
		                     .queue = "" };
	json_t *notes = kube_object_notes(of->home, &job);

	if (given->npods > 1)
		json_object_set_new(notes, KUBE_NOTE_INDEX,
		                    indexes_text(given));
	else
		kube_object_number(notes, KUBE_NOTE_INDEX, of->index);
	json_object_set_new(notes, KUBE_NOTE_NODE, json_string(of->node));
	if (given->n)
		json_object_set_new(notes, KUBE_NOTE_GPUS, gpus_text(given));
	if (given->devs)
		json_object_set_new(notes, KUBE_NOTE_DEVICES,
		                    json_string(given->devs));
	if (given->milli < 1000 && of->owner.job)
		kube_object_number(notes, KUBE_NOTE_PART, given->milli);
	if (given->part.units)
		json_object_set_new(notes, KUBE_NOTE_PARTITION,
		                    part_text(given->part));
	return notes;
}

static json_t *request_for(const char *name, const char *class, uint32_t n,
                           json_t *amounts)
{
	json_t *exactly =
	    json_pack("{s:s, s:s, s:I}", "deviceClassName", class,
	              "allocationMode", "ExactCount", "count", (json_int_t)n);

	if (amounts)
		json_object_set_new(exactly, "capacity",
		                    json_pack("{s:O}", "requests", amounts));
	return json_pack("{s:s, s:o}", "name", name, "exactly", exactly);
}

/* Append the requests for GPUs to the list: one for each pod. */
static void add_requests(json_t *list, const struct conf_pool *pool,
                         const struct kube_given *given, json_t *amounts)
{
	const char *class = kube_grant_class(pool, given->part.profile);
	char name[24];

	if (given->npods <= 1) {
		json_array_append_new(
		    list, request_for(REQUEST, class, given->n, amounts));
		return;
	}
	for (uint32_t i = 0; i < given->npods; i++) {
		kube_grant_request(name, given->pod[i]);
		json_array_append_new(
		    list,
		    request_for(name, class, given->n / given->npods, amounts));
	}
}

/* Returns the requests of a claim: first those for GPUs, then one for each kind
 * of other devices. */
static json_t *requests_of(const struct conf_pool *pool,
                           const struct kube_given *given, json_t *amounts)
{
	json_t *list = json_array();
	uint32_t n;

	if (given->n)
		add_requests(list, pool, given, amounts);
	for (uint32_t i = 0; i < given->ndevs; i += n) {
		char name[24];

		for (n = 1; i + n < given->ndevs; n++)
			if (given->dev[i + n].kind != given->dev[i].kind)
				break;
		snprintf(name, sizeof(name), "devices-%zu",
		         json_array_size(list));
		json_array_append_new(
		    list,
		    request_for(name, given->dev[i].kind->class, n, NULL));
	}
	return list;
}

json_t *kube_grant_object(const struct kube_grant_of *of,
                          const struct kube_given *given, json_t *amounts)
{
	json_t *obj;
	char name[KUBE_GRANT_SIZE];

	if (of->name)
		snprintf(name, sizeof(name), "%s", of->name);
	else
		kube_grant_name(name, of->job, of->index);
	obj = json_pack(
	    "{s:s, s:s, s:{s:s, s:s, s:o, s:o, s:[s]}, s:{s:{s:o}}}",
	    "apiVersion", "resource.k8s.io/v1", "kind", "ResourceClaim",
	    "metadata", "name", name, "namespace", of->home->namespace,
	    "labels", labels_of(of), "annotations", notes_of(of, given),
	    "finalizers", FINALIZER, "spec", "devices", "requests",
	    requests_of(of->home->pool, given, amounts));
	if (of->uid)
		kube_object_own(obj, of->job, of->uid);
	return obj;
}

json_t *kube_grant_take(const json_t *obj, const struct kube_grant_of *of,
                        const struct kube_given *given)
{
	const json_t *meta = json_object_get(obj, "metadata");
	const json_t *has = json_object_get(meta, "finalizers");
	json_t *finalizers = has ? json_copy((json_t *)has) : json_array();
	json_t *notes = notes_of(of, given);

	if (!kube_list_has(finalizers, FINALIZER))
		json_array_append_new(finalizers, json_string(FINALIZER));
	if (given->milli == 1000)
		json_object_set_new(notes, KUBE_NOTE_PART, json_null());
	return json_pack("{s:{s:s, s:s, s:o, s:o, s:o}}", "metadata", "uid",
	                 kube_word_at(meta, "uid"), "resourceVersion",
	                 kube_word_at(meta, "resourceVersion"), "labels",
	                 labels_of(of), "annotations", notes, "finalizers",
	                 finalizers);
}

static const json_t *devices_of(const json_t *obj)
{
	return json_object_get(json_object_get(obj, "spec"), "devices");
}

json_t *kube_grant_amounts(const json_t *obj, const struct kube_given *given,
                           uint32_t i)
{
	const struct kube_capacity *lack;
	const json_t *one =
	    json_array_get(json_object_get(devices_of(obj), "requests"), 0);

	if (!given->gpu[i].caps)
		return NULL;
	if (given->milli == 1000)
		return kube_capacities_part(given->gpu[i].caps, 1000, 0, &lack);
	return json_deep_copy(json_object_get(
	    json_object_get(json_object_get(one, "exactly"), "capacity"),
	    "requests"));
}

/* Write the UUID of device i of a claim. */
static void share_id(const json_t *obj, uint32_t i, char ret[37])
{
	const char *uid = kube_word_at(json_object_get(obj, "metadata"), "uid");
	uint64_t a = hash_bytes(i, uid, strlen(uid));
	uint64_t b = hash_bytes(~(uint64_t)i, uid, strlen(uid));

	snprintf(ret, 37,
	         "%08" PRIx64 "-%04" PRIx64 "-8%03" PRIx64 "-8%03" PRIx64
	         "-%012" PRIx64,
	         a >> 32, a >> 16 & 0xffff, a & 0xfff, b >> 48 & 0xfff,
	         b & 0xffffffffffff);
}

/* Returns the name of the request that gets device i of the claim, as the
 * requests get theirs in turn. */
static const char *request_of(const json_t *obj, uint32_t i)
{
	const json_t *requests = json_object_get(devices_of(obj), "requests");
	const json_t *one = NULL;
	json_int_t sum = 0;
	size_t k;

	json_array_foreach(requests, k, one) {
		const json_t *count =
		    json_object_get(json_object_get(one, "exactly"), "count");

		sum += count ? json_integer_value(count) : 1;
		if (sum > (json_int_t)i)
			break;
	}
	return kube_word_at(one, "name");
}

static const char *class_of(const json_t *request)
{
	return kube_word_at(json_object_get(request, "exactly"),
	                    "deviceClassName");
}

/* Returns the name of the claim's request for devices of a class. */
static const char *request_of_class(const json_t *obj, const char *class)
{
	const json_t *one;
	size_t i;

	json_array_foreach(json_object_get(devices_of(obj), "requests"), i, one)
		if (!strcmp(class_of(one), class))
			return kube_word_at(one, "name");
	return "";
}

static json_t *result_of(const char *request, const char *driver,
                         const char *pool, const char *device)
{
	return json_pack("{s:s, s:s, s:s, s:s}", "request", request, "driver",
	                 driver, "pool", pool, "device", device);
}

static json_t *results_of(const json_t *obj, const char *driver,
                          const struct kube_given *given)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < given->n; i++) {
		json_t *amounts = kube_grant_amounts(obj, given, i), *result;
		char id[37];

		result = result_of(request_of(obj, i), driver,
		                   given->gpu[i].pool, given->gpu[i].name);
		if (amounts) {
			share_id(obj, i, id);
			json_object_set_new(result, "shareID", json_string(id));
			json_object_set_new(result, "consumedCapacity",
			                    amounts);
		}
		json_array_append_new(list, result);
	}
	for (uint32_t i = 0; i < given->ndevs; i++) {
		const struct kube_given_dev *dev = &given->dev[i];

		json_array_append_new(
		    list, result_of(request_of_class(obj, dev->kind->class),
		                    dev->kind->driver, dev->pool, dev->name));
	}
	return list;
}

/* Append a configuration to the list, as drivers expect it in an allocation:
 * each entry has the field `source`, as kube-scheduler writes it. request: the
 * request to which it applies; NULL: to those that it names, or all. */
static void add_config(json_t *list, const json_t *config, const char *source,
                       const char *request)
{
	const json_t *one;
	size_t i;

	json_array_foreach(config, i, one) {
		json_t *copy = json_deep_copy(one);

		json_object_set_new(copy, "source", json_string(source));
		if (request)
			json_object_set_new(copy, "requests",
			                    json_pack("[s]", request));
		json_array_append_new(list, copy);
	}
}

/* Returns the configuration of all classes of the claim, and its own. */
static json_t *configs_of(const json_t *obj, const struct kube_given *given,
                          const json_t *config)
{
	json_t *list = json_array();

	add_config(list, config, "FromClass", given->ndevs ? REQUEST : NULL);
	for (uint32_t i = 0; i < given->ndevs; i++)
		if (!i || given->dev[i].kind != given->dev[i - 1].kind)
			add_config(
			    list, given->dev[i].config, "FromClass",
			    request_of_class(obj, given->dev[i].kind->class));
	add_config(list, json_object_get(devices_of(obj), "config"),
	           "FromClaim", NULL);
	return list;
}

json_t *kube_grant_pods(json_t *list, const char *pod, const char *uid)
{
	list = list ? list : json_array();
	json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "resource",
	                                      "pods", "name", pod, "uid", uid));
	return list;
}

json_t *kube_grant_allocated(const json_t *obj, const char *driver,
                             const char *node, const struct kube_given *given,
                             const json_t *config, json_t *pods)
{
	json_t *copy = json_copy((json_t *)obj), *devices;
	json_t *list = configs_of(obj, given, given->n ? config : NULL);

	devices = json_pack("{s:o}", "results", results_of(obj, driver, given));
	if (json_array_size(list))
		json_object_set(devices, "config", list);
	json_decref(list);
	json_object_set_new(
	    copy, "status",
	    json_pack("{s:{s:o, s:{s:[{s:[{s:s, s:s, s:[s]}]}]}}, s:o}",
	              "allocation", "devices", devices, "nodeSelector",
	              "nodeSelectorTerms", "matchFields", "key",
	              "metadata.name", "operator", "In", "values", node,
	              "reservedFor", pods));
	return copy;
}

json_t *kube_grant_reserved(const json_t *obj, json_t *pods)
{
	json_t *copy = json_copy((json_t *)obj);
	json_t *status = json_copy(json_object_get(obj, "status"));
	json_t *list = json_object_get(status, "reservedFor");

	list = list ? json_copy(list) : json_array();
	json_array_extend(list, pods);
	json_decref(pods);
	json_object_set_new(status, "reservedFor", list);
	json_object_set_new(copy, "status", status);
	return copy;
}

json_t *kube_grant_deletion(const char *uid, const char *version)
{
	return json_pack("{s:s, s:s, s:{s:s, s:s}}", "apiVersion", "v1", "kind",
	                 "DeleteOptions", "preconditions", "uid", uid,
	                 "resourceVersion", version);
}

json_t *kube_grant_freed(const json_t *obj)
{
	json_t *copy = json_copy((json_t *)obj);

	json_object_set_new(copy, "status", json_object());
	return copy;
}

json_t *kube_grant_stirred(const char *uid, const char *version)
{
	return json_pack("{s:{s:s, s:{s:s}}}", "metadata", "uid", uid,
	                 "annotations", KUBE_NOTE_STIRRED, version);
}

json_t *kube_grant_finalizer(const char *uid, const char *version)
{
	return json_pack("{s:{s:s, s:s, s:[s]}}", "metadata", "uid", uid,
	                 "resourceVersion", version, "finalizers", FINALIZER);
}

/* Returns for each request of a claim, or only for that of this name, the
 * extended resource of its class. */
static json_t *mappings_of(const json_t *obj, const char *name)
{
	json_t *list = json_array();
	const json_t *one;
	size_t i;

	json_array_foreach(json_object_get(devices_of(obj), "requests"), i,
	                   one) {
		char *resource;

		if (name && strcmp(kube_word_at(one, "name"), name) != 0)
			continue;
		resource = kube_grant_resource(class_of(one));
		json_array_append_new(
		    list, json_pack("{s:s, s:s, s:s}", "containerName", "main",
		                    "resourceName", resource, "requestName",
		                    kube_word_at(one, "name")));
		free(resource);
	}
	return list;
}

json_t *kube_grant_mapping(const json_t *obj, const char *pod_uid,
                           const char *request)
{
	return json_pack("{s:{s:s}, s:{s:{s:s, s:o}}}", "metadata", "uid",
	                 pod_uid, "status", "extendedResourceClaimStatus",
	                 "resourceClaimName",
	                 kube_word_at(json_object_get(obj, "metadata"), "name"),
	                 "requestMappings", mappings_of(obj, request));
}

static const char *or_none(const char *s)
{
	return s ? s : "";
}

static uint32_t part_of(const char *note)
{
	unsigned long milli = note ? strtoul(note, NULL, 10) : 1000;

	return milli > 0 && milli < 1000 ? (uint32_t)milli : 1000;
}

bool kube_grant_read(const json_t *obj, const struct kube_home *home,
                     struct kube_granted *ret)
{
	const json_t *meta = json_object_get(obj, "metadata");
	const json_t *notes = json_object_get(meta, "annotations");
	const json_t *status = json_object_get(obj, "status");
	const json_t *allocation = json_object_get(status, "allocation");

	*ret = (struct kube_granted){
		.namespace = or_none(kube_text_at(meta, "namespace")),
		.name = kube_text_at(meta, "name"),
		.uid = kube_text_at(meta, "uid"),
		.version = or_none(kube_text_at(meta, "resourceVersion")),
		.node = or_none(kube_text_at(notes, KUBE_NOTE_NODE)),
		.gpus = or_none(kube_text_at(notes, KUBE_NOTE_GPUS)),
		.devs = or_none(kube_text_at(notes, KUBE_NOTE_DEVICES)),
		.milli = part_of(kube_text_at(notes, KUBE_NOTE_PART)),
		.part = part_read(kube_text_at(notes, KUBE_NOTE_PARTITION)),
		.finalizer = kube_list_has(json_object_get(meta, "finalizers"),
		                           FINALIZER),
		.allocated = json_is_object(allocation),
		.results = json_object_get(
		    json_object_get(allocation, "devices"), "results"),
		.reserved = json_object_get(status, "reservedFor"),
	};
	if (!ret->name || !ret->uid)
		return false;
	ret->ours = kube_object_is_ours(obj, home, &ret->owner);
	ret->share = ret->ours && !ret->owner.job;
	ret->deleting = json_object_get(meta, "deletionTimestamp") != NULL;
	indexes_read(kube_text_at(notes, KUBE_NOTE_INDEX), ret);
	return true;
}

bool kube_grant_is_for(const json_t *reserved, const char *uid)
{
	const json_t *one;
	size_t i;

	json_array_foreach(reserved, i, one) {
		const char *s = kube_text_at(one, "uid");

		if (s && !strcmp(s, uid))
			return true;
	}
	return false;
}
