/* amount.c - counters that devices share: what a set has, what one consumes */
#include "aischedd/run/kube/object/amount.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/client/json.h"
#include "libcommon/map.h"
#include "libcommon/mem.h"
#include "libcommon/mig.h"

#define SLICE "memory-slice-"

static void add(struct kube_amounts *a, const char *name, int64_t n)
{
	const char *digit = name + strlen(SLICE);

	/* A sum, so that the order does not matter. */
	a->sum += hash_bytes((uint64_t)n, name, strlen(name));
	if (!strncmp(name, SLICE, strlen(SLICE))) {
		if (n != 1 || *digit < '0' || *digit >= '0' + MIG_UNITS ||
		    digit[1])
			a->odd = true;
		else
			a->units |= (uint8_t)(1u << (*digit - '0'));
	} else if (a->n < KUBE_AMOUNTS) {
		a->of[a->n++] = (struct kube_counter){ xstrdup(name), n };
	} else {
		a->more = true;
	}
}

void kube_amounts_read(const json_t *counters, struct kube_amounts *ret)
{
	const char *name;
	json_t *one;

	*ret = (struct kube_amounts){ 0 };
	json_object_foreach((json_t *)counters, name, one) {
		int64_t n = 0;

		(void)kube_whole_of(json_object_get(one, "value"), &n, NULL);
		if (n)
			add(ret, name, n);
	}
}

void kube_amounts_fini(struct kube_amounts *a)
{
	for (uint32_t i = 0; i < a->n; i++)
		free(a->of[i].name);
	*a = (struct kube_amounts){ 0 };
}

int64_t kube_amounts_of(const struct kube_amounts *a, const char *name)
{
	for (uint32_t i = 0; i < a->n; i++)
		if (!strcmp(a->of[i].name, name))
			return a->of[i].n;
	return 0;
}

const char *kube_amounts_lack(const struct kube_amounts *set,
                              const struct kube_amounts *part)
{
	if (part->units & ~set->units)
		return "memory slices";
	for (uint32_t i = 0; i < part->n; i++)
		if (part->of[i].n > kube_amounts_of(set, part->of[i].name))
			return part->of[i].name;
	return NULL;
}
