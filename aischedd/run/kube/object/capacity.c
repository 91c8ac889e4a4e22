/* capacity.c - what a device has of each kind, and how much a part takes */
#include "aischedd/run/kube/object/capacity.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/client/json.h"
#include "libcommon/mem.h"

/* Amounts up to this one can be multiplied by 1000. */
#define MOST (INT64_MAX / 1000)

/* Returns a quantity in whole units; -1: there is none from 0 to MOST. */
static int64_t amount_of(const json_t *quantity)
{
	int64_t n;

	if (!json_is_string(quantity) ||
	    kube_whole_of(quantity, &n, NULL) < 0 || n < 0 || n > MOST)
		return -1;
	return n;
}

/* --- read ----------------------------------------------------------------- */

static void read_range(const json_t *range, struct kube_capacity *c)
{
	int64_t least = amount_of(json_object_get(range, "min"));
	int64_t step = amount_of(json_object_get(range, "step"));
	int64_t most = amount_of(json_object_get(range, "max"));

	c->least = least > 0 ? least : 0;
	c->step = step > 0 ? step : 0;
	c->most = most >= 0 && most < c->all ? most : c->all;
}

static void read_values(const json_t *values, struct kube_capacity *c)
{
	const json_t *one;
	size_t i;

	json_array_foreach(values, i, one) {
		int64_t n = amount_of(one);

		if (n > 0 && c->nvalues < KUBE_CAPACITY_VALUES)
			c->value[c->nvalues++] = n;
	}
}

void kube_capacities_read(const json_t *device, struct kube_capacities *ret)
{
	json_t *map = json_object_get(device, "capacity"), *one;
	size_t room = json_object_size(map);
	const char *name;

	if (room > KUBE_CAPACITIES)
		room = KUBE_CAPACITIES;
	*ret = (struct kube_capacities){
		.of = xcalloc(room + 1, sizeof(*ret->of)),
	};
	json_object_foreach(map, name, one) {
		const json_t *policy = json_object_get(one, "requestPolicy");
		int64_t all = amount_of(json_object_get(one, "value"));
		struct kube_capacity *c;

		if (all < 1 || ret->n == room)
			continue;
		c = &ret->of[ret->n++];
		*c =
		    (struct kube_capacity){ .name = xstrdup(name), .all = all };
		read_range(json_object_get(policy, "validRange"), c);
		read_values(json_object_get(policy, "validValues"), c);
	}
}

void kube_capacities_fini(struct kube_capacities *caps)
{
	for (uint32_t i = 0; i < caps->n; i++)
		free(caps->of[i].name);
	free(caps->of);
	*caps = (struct kube_capacities){ 0 };
}

/* Whether it is the memory of the device; its name may have the driver as
 * prefix, "DRIVER/memory". */
static bool is_memory(const struct kube_capacity *c)
{
	const char *slash = strrchr(c->name, '/');

	return !strcmp(slash ? slash + 1 : c->name, "memory");
}

int64_t kube_capacities_mem(const struct kube_capacities *caps)
{
	for (uint32_t i = 0; i < caps->n; i++)
		if (is_memory(&caps->of[i]))
			return kube_mib_down(caps->of[i].all);
	return 0;
}

/* --- parts ---------------------------------------------------------------- */

/* Returns the amount that a claim for this part of the device consumes, at
 * least `needs`; -1: the driver allows no amount that is large enough. */
static int64_t part_of(const struct kube_capacity *c, uint32_t milli,
                       int64_t needs)
{
	int64_t want = c->all * milli / 1000, down;

	if (want < needs)
		want = needs;
	for (uint32_t i = 0; i < c->nvalues; i++)
		if (c->value[i] >= want)
			return c->value[i];
	if (c->nvalues)
		return -1;
	if (want < c->least)
		want = c->least;
	if (!c->step)
		return want > c->most ? -1 : want;
	down = want - (want - c->least) % c->step;
	if (down < want && (down < needs || (want - down) * 1000 >= c->all))
		down += c->step;
	return down > c->most ? -1 : down;
}

char *kube_capacity_text(int64_t amount)
{
	if (amount && amount % (INT64_C(1) << 30) == 0)
		return xasprintf("%" PRId64 "Gi", amount >> 30);
	if (amount && amount % (INT64_C(1) << 20) == 0)
		return xasprintf("%" PRId64 "Mi", amount >> 20);
	return xasprintf("%" PRId64, amount);
}

json_t *kube_capacities_part(const struct kube_capacities *caps, uint32_t milli,
                             int64_t mem_mib,
                             const struct kube_capacity **ret_lack)
{
	json_t *map = json_object();

	for (uint32_t i = 0; i < caps->n; i++) {
		const struct kube_capacity *c = &caps->of[i];
		int64_t amount =
		    part_of(c, milli, is_memory(c) ? mem_mib << 20 : 0);
		char *text;

		if (amount < 0) {
			*ret_lack = c;
			json_decref(map);
			return NULL;
		}
		text = kube_capacity_text(amount);
		json_object_set_new(map, c->name, json_string(text));
		free(text);
	}
	return map;
}

int64_t kube_capacity_used(const struct kube_capacity *c,
                           const json_t *consumed)
{
	const json_t *one = json_object_get(consumed, c->name);
	int64_t n = one ? amount_of(one) : 0;

	return !consumed || n < 0 || n > c->all ? c->all : n;
}
