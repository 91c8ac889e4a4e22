/* partition.c - partitions of GPUs (MIG) that a node's device plugin counts */
#include "aischedd/run/kube/object/partition.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/client/json.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"

#define PREFIX "nvidia.com/mig-"
#define MEDIA  "+me"
/* ends a resource of partitions each of which several pods may have at once */
#define SHARED ".shared"

enum { REPLICAS_MOST = 1000000 }; /* a larger value of a label counts as none */

bool kube_partition_is(const char *resource, uint8_t *ret)
{
	char name[KUBE_PARTITION_SIZE];
	char *dot;

	if (strncmp(resource, PREFIX, strlen(PREFIX)) != 0)
		return false;
	snprintf(name, sizeof(name), "%s", resource + strlen(PREFIX));
	dot = strstr(name, ".me");
	if (dot && !dot[strlen(MEDIA)])
		memcpy(dot, MEDIA, strlen(MEDIA));
	*ret = mig_find(name);
	return true;
}

void kube_partition_name(uint8_t profile, char ret[KUBE_PARTITION_SIZE])
{
	char *plus;

	snprintf(ret, KUBE_PARTITION_SIZE, PREFIX "%s",
	         mig_profile[profile].name);
	if ((plus = strchr(ret, '+')) != NULL)
		*plus = '.';
}

static int64_t number_of(const json_t *value)
{
	struct err err;
	int64_t n = 0;

	(void)kube_whole_of(value, &n, &err);
	return n < 0 ? 0 : n;
}

void kube_partition_read(const json_t *map, uint16_t ret[MIG_PROFILES_MOST])
{
	const char *key;
	json_t *value;
	uint8_t profile;

	json_object_foreach((json_t *)map, key, value) {
		int64_t n;

		if (!kube_partition_is(key, &profile) || !profile)
			continue;
		n = number_of(value);
		ret[profile] = n < UINT16_MAX ? (uint16_t)n : UINT16_MAX;
	}
}

const char *kube_partition_unknown(const json_t *map)
{
	const char *key, *first = NULL;
	json_t *value;
	uint8_t profile;

	json_object_foreach((json_t *)map, key, value) {
		if (kube_partition_is(key, &profile) && !profile &&
		    !kube_partition_is_shared(key) && number_of(value) > 0 &&
		    (!first || strcmp(key, first) < 0))
			first = key;
	}
	return first;
}

int64_t kube_replicas_of(const json_t *labels, const char *resource)
{
	char *label = xasprintf("%s.replicas", resource);
	const char *s = kube_text_at(labels, label);
	int64_t n;

	free(label);
	return s && parse_int(s, 1, REPLICAS_MOST, &n, NULL) == 0 ? n : 1;
}

bool kube_partition_is_shared(const char *resource)
{
	size_t len = strlen(resource);

	return !strncmp(resource, PREFIX, strlen(PREFIX)) &&
	       len > strlen(SHARED) &&
	       !strcmp(resource + len - strlen(SHARED), SHARED);
}

const char *kube_partition_drop_shared(const json_t *map, const json_t *labels,
                                       uint16_t ret[MIG_PROFILES_MOST])
{
	const char *key, *first = NULL;
	json_t *value;
	uint8_t profile;

	json_object_foreach((json_t *)map, key, value) {
		if (!kube_partition_is(key, &profile) ||
		    (!kube_partition_is_shared(key) &&
		     kube_replicas_of(labels, key) == 1))
			continue;
		ret[profile] = 0;
		if (number_of(value) > 0 && (!first || strcmp(key, first) < 0))
			first = key;
	}
	return first;
}

/* Returns the profile with the most units among those of which partitions are
 * left, or 0. */
static uint8_t largest(const uint16_t left[MIG_PROFILES_MOST])
{
	uint8_t best = 0;

	for (uint8_t p = 1; p < mig_nprofiles(); p++) {
		if (left[p] && mig_profile[p].units > mig_profile[best].units)
			best = p;
	}
	return best;
}

uint32_t kube_partition_lay(const uint16_t count[MIG_PROFILES_MOST],
                            uint32_t max, uint64_t *ret)
{
	uint16_t left[MIG_PROFILES_MOST];
	uint32_t n = 0, gpu;
	uint8_t profile;

	memcpy(left, count, sizeof(left));
	while ((profile = largest(left))) {
		left[profile]--;
		for (gpu = 0; gpu < n; gpu++) {
			if (mig_parts_add(&ret[gpu], profile, MIG_UNITS))
				break;
		}
		if (gpu < n || n == max)
			continue;
		ret[n] = 0;
		(void)mig_parts_add(&ret[n++], profile, MIG_UNITS);
	}
	return n;
}
