/* wanted.c - the ResourceClaims for which pods of others ask */
#include "aischedd/run/kube/object/wanted.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "aischedd/run/kube/client/json.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"

#define NUMA "resource.kubernetes.io/numaNode"

/* Returns spec.devices of a claim. */
static const json_t *devices_of(const json_t *claim)
{
	return json_object_get(json_object_get(claim, "spec"), "devices");
}

/* Whether the field says nothing: it is absent, false, null or empty. */
static bool is_empty(const json_t *value)
{
	return !value || json_is_null(value) || json_is_false(value) ||
	       (json_is_array(value) && !json_array_size(value)) ||
	       (json_is_object(value) && !json_object_size(value));
}

/* Returns the first field of obj that says something and is not one of these,
 * which are separated by blanks; NULL: there is none. */
static const char *other_field(const json_t *obj, const char *known)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)obj, key, value) {
		size_t len = strlen(key);
		const char *at = strstr(known, key);

		if (is_empty(value) || (at && (at == known || at[-1] == ' ') &&
		                        (!at[len] || at[len] == ' ')))
			continue;
		return key;
	}
	return NULL;
}

/* --- requests and constraints --------------------------------------------- */

/* Read a request of a claim. Returns how many GPUs it asks for; -1: it cannot
 * be given any. */
static int read_request(const json_t *request, const struct conf_pool *pool,
                        struct err *err)
{
	const json_t *exactly = json_object_get(request, "exactly");
	const char *mode = kube_word_at(exactly, "allocationMode");
	const char *class = kube_word_at(exactly, "deviceClassName");
	const char *name = kube_word_at(request, "name"), *other;
	const json_t *count = json_object_get(exactly, "count");
	json_int_t n = count ? json_integer_value(count) : 1;

	other = other_field(request, "name exactly");
	if (!other)
		other = other_field(exactly,
		                    "deviceClassName allocationMode count");
	if (other)
		return err_set(err, EINVAL,
		               "its request '%.63s' has %.63s, which is not "
		               "supported",
		               name, other);
	if (*mode && strcmp(mode, "ExactCount") != 0)
		return err_set(err, EINVAL,
		               "its request '%.63s' has allocationMode %.63s: "
		               "only ExactCount is supported",
		               name, mode);
	if (strcmp(class, pool->device_class) != 0)
		return err_set(err, EINVAL,
		               "its request '%.63s' is for class '%.100s': "
		               "pool '%s' gives '%s'",
		               name, class, pool->name, pool->device_class);
	if (n < 1 || n > LIMIT_GPUS)
		return err_set(err, EINVAL,
		               "its request '%.63s' is for %lld GPUs: 1 to %d "
		               "are possible",
		               name, (long long)n, LIMIT_GPUS);
	return (int)n;
}

/* The attributes that all GPUs of a claim can be asked to share: those of the
 * driver, in the order of struct kube_gpu.part, and the NUMA node. */
enum attribute {
	ATTRIBUTE_PARTITION_2,
	ATTRIBUTE_PARTITION_4,
	ATTRIBUTE_PARTITION_8,
	ATTRIBUTE_PRODUCT,
	ATTRIBUTE_NUMA,
	ATTRIBUTE_OTHER
};

static enum attribute attribute_of(const char *name,
                                   const struct conf_pool *pool)
{
	static const char *const names[] = { "partition2", "partition4",
		                             "partition8", "productName" };
	size_t len = strlen(pool->device_driver);
	int i = 0;

	if (!strcmp(name, NUMA))
		return ATTRIBUTE_NUMA;
	if (!strncmp(name, pool->device_driver, len) && name[len] == '/')
		name += len + 1;
	while (i < ATTRIBUTE_NUMA && strcmp(name, names[i]) != 0)
		i++;
	return i < ATTRIBUTE_NUMA ? (enum attribute)i : ATTRIBUTE_OTHER;
}

/* Check a constraint of a claim: that all GPUs share an attribute which is
 * known. n: how many requests the claim has. */
static int read_constraint(const json_t *constraint, size_t n,
                           const struct conf_pool *pool,
                           struct kube_wanted *ret, struct err *err)
{
	const char *attribute = kube_word_at(constraint, "matchAttribute");
	const char *other = other_field(constraint, "requests matchAttribute");
	size_t some = json_array_size(json_object_get(constraint, "requests"));
	enum attribute known = attribute_of(attribute, pool);

	if (other)
		return err_set(err, EINVAL,
		               "it has a constraint with %.63s, which is not "
		               "supported",
		               other);
	if (some && some != n)
		return err_set(err, EINVAL,
		               "it has a constraint for some of its requests "
		               "only, which is not supported");
	if (known == ATTRIBUTE_OTHER)
		return err_set(err, EINVAL,
		               "it has matchAttribute '%.100s': only " NUMA
		               " and %s/productName, partition2, 4 and 8 are "
		               "supported",
		               attribute, pool->device_driver);
	ret->numa |= known == ATTRIBUTE_NUMA;
	ret->links |= known <= ATTRIBUTE_PARTITION_8;
	return 0;
}

/* Add up the GPUs of a claim in *ret_n, and note its constraints in ret. */
static int read_devices(const json_t *devices, const struct conf_pool *pool,
                        struct kube_wanted *ret, uint32_t *ret_n,
                        struct err *err)
{
	const char *other = other_field(devices, "requests constraints config");
	const json_t *requests = json_object_get(devices, "requests"), *one;
	size_t i, n = json_array_size(requests);

	if (other)
		return err_set(err, EINVAL, "it has %.63s, which is not known",
		               other);
	json_array_foreach(requests, i, one) {
		int gpus = read_request(one, pool, err);

		if (gpus < 0)
			return -1;
		*ret_n += (uint32_t)gpus;
		if (*ret_n > LIMIT_GPUS)
			return err_set(err, EINVAL,
			               "it asks for more than %d GPUs",
			               LIMIT_GPUS);
	}
	if (!n)
		return err_set(err, EINVAL, "it asks for no device");
	json_array_foreach(json_object_get(devices, "constraints"), i, one)
		if (read_constraint(one, n, pool, ret, err) < 0)
			return -1;
	return 0;
}

int kube_wanted_claim(const json_t *claim, const struct conf_pool *pool,
                      struct err *err)
{
	struct kube_wanted all = { 0 };
	uint32_t n = 0;

	if (read_devices(devices_of(claim), pool, &all, &n, err) < 0)
		return -1;
	return (int)n;
}

/* --- the claims of a pod -------------------------------------------------- */

/* Whether an earlier entry of the list names the same claim. */
static bool is_again(const json_t *list, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(kube_word_at(json_array_get(list, i),
		                         "resourceClaimName"),
		            name))
			return true;
	return false;
}

static int read_claim(const json_t *entry, const struct conf_pool *pool,
                      kube_wanted_fn *find, const void *arg,
                      struct kube_wanted *ret, struct err *err)
{
	const char *template = kube_text_at(entry, "resourceClaimTemplateName");
	const char *name =
	    template ? template : kube_word_at(entry, "resourceClaimName");
	const char *kind = template ? "ResourceClaimTemplate" : "ResourceClaim";
	const json_t *claim = find(arg, name, template != NULL);

	if (!claim)
		return err_set(err, ENOENT, "%s '%.253s' does not exist", kind,
		               name);
	if (template)
		claim = json_object_get(claim, "spec");
	if (read_devices(devices_of(claim), pool, ret,
	                 template ? &ret->own : &ret->shared, err) < 0)
		return err_wrap(err, "%s '%.100s'", kind, name);
	return 0;
}

int kube_wanted_read(const json_t *pod, const struct conf_pool *pool,
                     kube_wanted_fn *find, const void *arg,
                     struct kube_wanted *ret, struct err *err)
{
	const json_t *list = json_object_get(pod, "resourceClaims"), *entry;
	struct kube_wanted all = { .n = (uint32_t)json_array_size(list) };
	size_t i;

	if (all.n > KUBE_WANTED_CLAIMS)
		return err_set(err, EINVAL,
		               "its pods have %" PRIu32
		               " resourceClaims, at most %d are possible",
		               all.n, KUBE_WANTED_CLAIMS);
	json_array_foreach(list, i, entry) {
		const char *name = kube_text_at(entry, "resourceClaimName");

		if (name && is_again(list, i, name))
			return err_set(err, EINVAL,
			               "its pods name ResourceClaim '%.253s' "
			               "twice",
			               name);
		if (read_claim(entry, pool, find, arg, &all, err) < 0)
			return -1;
	}
	*ret = all;
	return 0;
}

/* Whether both GPUs have the attribute, and share it. */
static bool share(const struct kube_gpu *a, const struct kube_gpu *b,
                  enum attribute attribute)
{
	if (attribute == ATTRIBUTE_PRODUCT)
		return a->type && b->type && !strcmp(a->type, b->type);
	if (attribute == ATTRIBUTE_NUMA)
		return a->numa >= 0 && a->numa == b->numa;
	return a->part[attribute] >= 0 &&
	       a->part[attribute] == b->part[attribute];
}

const char *kube_wanted_differs(const json_t *claim,
                                const struct conf_pool *pool,
                                const struct kube_given *given)
{
	const json_t *list = json_object_get(devices_of(claim), "constraints");
	const json_t *one;
	size_t i;

	json_array_foreach(list, i, one) {
		const char *attribute = kube_word_at(one, "matchAttribute");
		enum attribute known = attribute_of(attribute, pool);

		for (uint32_t k = 1; k < given->n; k++)
			if (!share(given->gpu[0].shown, given->gpu[k].shown,
			           known))
				return attribute;
	}
	return NULL;
}

/* Returns the name of the claim that the cluster has made for this entry of a
 * pod's resourceClaims, or NULL. */
static const char *made_for(const json_t *status, const char *entry)
{
	const json_t *one;
	size_t i;

	json_array_foreach(json_object_get(status, "resourceClaimStatuses"), i,
	                   one)
		if (!strcmp(kube_word_at(one, "name"), entry))
			return kube_text_at(one, "resourceClaimName");
	return NULL;
}

json_t *kube_wanted_names(const json_t *pod)
{
	const json_t *list =
	    json_object_get(json_object_get(pod, "spec"), "resourceClaims");
	const json_t *status = json_object_get(pod, "status"), *entry;
	json_t *names = json_array_size(list) ? json_array() : NULL;
	size_t i;

	json_array_foreach(list, i, entry) {
		const char *name = kube_text_at(entry, "resourceClaimName");
		bool own = !name;

		if (own)
			name = made_for(status, kube_word_at(entry, "name"));
		json_array_append_new(
		    names, json_pack("{s:s?, s:b}", "claim", name, "own", own));
	}
	return names;
}
