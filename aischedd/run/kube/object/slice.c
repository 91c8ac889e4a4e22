/* slice.c - read a ResourceSlice, in which a driver lists GPUs of a node */
#include "aischedd/run/kube/object/slice.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/client/json.h"
#include "libcommon/mem.h"
#include "libcommon/mig.h"

#define ROOT "resource.kubernetes.io/pcieRoot"

/* Returns an attribute or capacity that the driver has defined; its name may
 * have the driver as prefix, "DRIVER/NAME". NULL: there is none. */
static const json_t *qualified(const json_t *map, const char *driver,
                               const char *name)
{
	char *full = xasprintf("%s/%s", driver, name);
	const json_t *value = json_object_get(map, full);

	free(full);
	return value ? value : json_object_get(map, name);
}

static const json_t *attribute(const json_t *device, const char *driver,
                               const char *name)
{
	return qualified(json_object_get(device, "attributes"), driver, name);
}

/* Returns the integer of an attribute, or the first one of its list; -1: it has
 * none from 0 to INT32_MAX. */
static int number_of(const json_t *attr)
{
	const json_t *n = json_object_get(attr, "int");

	if (!n)
		n = json_array_get(json_object_get(attr, "ints"), 0);
	if (!json_is_integer(n) || json_integer_value(n) < 0 ||
	    json_integer_value(n) > INT32_MAX)
		return -1;
	return (int)json_integer_value(n);
}

/* Returns a product's name with '-' for each character that a label of a node
 * may not have, "NVIDIA-H100-80GB-HBM3"; on the heap, or NULL. */
static char *read_type(const json_t *attr)
{
	const char *s = kube_text_at(attr, "string");
	char *type = s && *s ? xstrdup(s) : NULL;

	for (char *c = type; c && *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("._-/", *c))
			*c = '-';
	return type;
}

static bool is_tainted(const json_t *device)
{
	const json_t *taint;
	size_t i;

	json_array_foreach(json_object_get(device, "taints"), i, taint) {
		const char *effect = kube_text_at(taint, "effect");

		if (effect && (!strcmp(effect, "NoSchedule") ||
		               !strcmp(effect, "NoExecute")))
			return true;
	}
	return false;
}

/* Returns the memory slices of a partition, one bit each: the driver lists each
 * of them as a capacity, "memorySlice4". */
static uint8_t read_units(const json_t *device, const char *driver)
{
	const json_t *map = json_object_get(device, "capacity");
	uint8_t units = 0;

	for (unsigned i = 0; i < MIG_UNITS; i++) {
		char name[16];

		snprintf(name, sizeof(name), "memorySlice%u", i);
		if (qualified(map, driver, name))
			units |= (uint8_t)(1u << i);
	}
	return units;
}

/* Read what a device says as a partition, if it is one. */
static void read_part(const json_t *device, const char *driver,
                      struct kube_gpu *ret)
{
	const char *type =
	    kube_text_at(attribute(device, driver, "type"), "string");
	const json_t *uuid;

	ret->is_part = type && !strcmp(type, "mig");
	uuid = attribute(device, driver, ret->is_part ? "parentUUID" : "uuid");
	if (kube_text_at(uuid, "string"))
		ret->uuid = xstrdup(kube_text_at(uuid, "string"));
	if (!ret->is_part)
		return;
	ret->profile = mig_find(
	    kube_text_at(attribute(device, driver, "profile"), "string"));
	ret->units = read_units(device, driver);
}

/* Read which counters a device consumes. */
static void read_consumed(const json_t *device, struct kube_gpu *ret)
{
	const json_t *list = json_object_get(device, "consumesCounters");
	const json_t *one = json_array_get(list, 0);
	const char *set = kube_text_at(one, "counterSet");

	ret->counted = list != NULL;
	if (json_array_size(list) != 1 || !set)
		return;
	ret->set = xstrdup(set);
	kube_amounts_read(json_object_get(one, "counters"), &ret->consumes);
	ret->units = ret->consumes.units;
}

/* Forget the profile of a partition that is there for good and has another size
 * than we know it by: some models have one of the same name (libcommon/mig.c).
 */
static void check_size(struct kube_gpu *gpu)
{
	if (!gpu->counted && gpu->units &&
	    __builtin_popcount(gpu->units) != mig_profile[gpu->profile].units)
		gpu->profile = 0;
}

static void read_sets(const json_t *list, struct kube_slice *ret)
{
	const json_t *one;
	size_t i;

	json_array_foreach(list, i, one) {
		const char *name = kube_text_at(one, "name");

		if (!name || ret->nsets == KUBE_SLICE_SETS)
			continue;
		ret->set[ret->nsets].name = xstrdup(name);
		kube_amounts_read(json_object_get(one, "counters"),
		                  &ret->set[ret->nsets++].has);
	}
}

static void read_gpu(const json_t *device, const char *name, const char *driver,
                     struct kube_gpu *ret)
{
	const json_t *attrs = json_object_get(device, "attributes");

	*ret = (struct kube_gpu){
		.name = xstrdup(name),
		.type = read_type(attribute(device, driver, "productName")),
		.numa = number_of(
		    json_object_get(attrs, "resource.kubernetes.io/numaNode")),
		.tainted = is_tainted(device),
		.shared = json_is_true(
		    json_object_get(device, "allowMultipleAllocations")),
	};
	if (kube_text_at(json_object_get(attrs, ROOT), "string"))
		ret->root = xstrdup(
		    kube_text_at(json_object_get(attrs, ROOT), "string"));
	read_part(device, driver, ret);
	read_consumed(device, ret);
	check_size(ret);
	kube_capacities_read(device, &ret->caps);
	for (int i = 0; i < 3; i++) {
		char part[16];

		snprintf(part, sizeof(part), "partition%d", 2 << i);
		ret->part[i] = number_of(attribute(device, driver, part));
	}
}

static void read_gpus(const json_t *list, const char *driver,
                      struct kube_slice *ret)
{
	const json_t *device;
	size_t i, most = json_array_size(list);

	if (most > KUBE_SLICE_DEVICES)
		most = KUBE_SLICE_DEVICES;
	ret->gpu = xcalloc(most + 1, sizeof(*ret->gpu));
	json_array_foreach(list, i, device) {
		const char *name = kube_text_at(device, "name");

		if (name && *name && ret->ngpus < most)
			read_gpu(device, name, driver, &ret->gpu[ret->ngpus++]);
	}
}

bool kube_slice_read(const json_t *obj, const char *driver,
                     struct kube_slice *ret)
{
	const json_t *spec = json_object_get(obj, "spec");
	const json_t *pool = json_object_get(spec, "pool");
	const char *name =
	    kube_text_at(json_object_get(obj, "metadata"), "name");
	const char *of = kube_text_at(spec, "driver");
	const char *node = kube_text_at(spec, "nodeName");
	const char *in = kube_text_at(pool, "name");

	if (!name || !of || strcmp(of, driver) != 0 || !node || !*node || !in)
		return false;
	*ret = (struct kube_slice){
		.name = xstrdup(name),
		.node = xstrdup(node),
		.pool = xstrdup(in),
		.generation =
		    json_integer_value(json_object_get(pool, "generation")),
		.count = json_integer_value(
		    json_object_get(pool, "resourceSliceCount")),
	};
	read_gpus(json_object_get(spec, "devices"), driver, ret);
	read_sets(json_object_get(spec, "sharedCounters"), ret);
	return true;
}

void kube_slice_fini(struct kube_slice *slice)
{
	for (uint32_t i = 0; i < slice->ngpus; i++) {
		free(slice->gpu[i].name);
		free(slice->gpu[i].type);
		free(slice->gpu[i].root);
		free(slice->gpu[i].uuid);
		free(slice->gpu[i].set);
		kube_amounts_fini(&slice->gpu[i].consumes);
		kube_capacities_fini(&slice->gpu[i].caps);
	}
	for (uint32_t i = 0; i < slice->nsets; i++) {
		free(slice->set[i].name);
		kube_amounts_fini(&slice->set[i].has);
	}
	free(slice->gpu);
	free(slice->name);
	free(slice->node);
	free(slice->pool);
	*slice = (struct kube_slice){ 0 };
}
