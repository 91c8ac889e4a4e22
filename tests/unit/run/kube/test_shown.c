/* test_shown.c - what the daemon is told of a node's GPUs as slices change */
#include "aischedd/run/kube/device/shown.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/buf.h"
#include "libcommon/mem.h"
#include "tests/unit/check.h"
#include "tests/unit/run/kube/stage.h"

static struct kube_stage st;

/* Show slice `part` of two of node n0, each with two GPUs; or delete it. */
static void slice(int part, int generation, enum kube_news news)
{
	struct buf text = { 0 };
	json_t *obj;

	buf_printf(&text,
	           "{\"metadata\": {\"name\": \"s%d\"}, \"spec\": {\"driver\":"
	           " \"d\", \"nodeName\": \"n0\", \"pool\": {\"name\": \"n0\","
	           " \"generation\": %d, \"resourceSliceCount\": 2}, "
	           "\"devices\": [",
	           part, generation);
	for (int i = 2 * part; i < 2 * part + 2; i++)
		buf_printf(
		    &text,
		    "%s{\"name\": \"g%d\", \"attributes\": {\"productName\": "
		    "{\"string\": \"H\"}, \"partition2\": {\"int\": %d}, "
		    "\"resource.kubernetes.io/numaNode\": {\"int\": %d}, "
		    "\"resource.kubernetes.io/pcieRoot\": {\"string\": "
		    "\"r%d\"}}, \"capacity\": {\"memory\": {\"value\": "
		    "\"%dGi\"}}}",
		    i % 2 ? ", " : "", i, part, part, i, 80 - i);
	buf_puts(&text, "]}}");
	obj = json_loads(text.data, 0, NULL);
	ck_assert_ptr_nonnull(obj);
	kube_devices_news(st.kube, SEE_SLICES, news, obj);
	json_decref(obj);
	buf_free(&text);
}

/* Check what the daemon is told: all GPUs where they are, and how much of each
 * is held. */
static void check_told(uint16_t held)
{
	const struct kube_node_said said = { .dedicated = true };
	struct kube_gpus gpus;

	ck_assert(kube_devices_show(st.kube, "n0", &said, &gpus));
	ck_assert_uint_eq(gpus.n, 4);
	ck_assert_str_eq(gpus.type, "H");
	ck_assert_int_eq(gpus.mem_mib, 77 << 10);
	ck_assert(gpus.numas_known);
	for (uint32_t i = 0; i < 4; i++) {
		const char root[] = { 'r', (char)('0' + i), 0 };

		ck_assert_uint_eq(gpus.numa[i], i / 2);
		ck_assert_uint_eq(gpus.link[i], i / 2);
		ck_assert_str_eq(gpus.root[i], root);
		ck_assert_uint_eq(gpus.held[i], held);
	}
}

START_TEST(gpus_keep_their_places_while_a_driver_starts_again)
{
	static char driver[] = "d";

	stage_begin(&st);
	st.pool.device_driver = driver;
	st.kube->sight.synced[SEE_GRANTS] = true;
	kube_devices_known(st.kube);
	slice(0, 1, KUBE_ADDED);
	slice(1, 1, KUBE_ADDED);
	check_told(0);
	slice(0, 1, KUBE_DELETED); /* half of them are left */
	check_told(1000);
	slice(0, 2, KUBE_ADDED); /* of the next generation, there is half */
	check_told(1000);
	slice(1, 2, KUBE_MODIFIED);
	check_told(0);
	stage_end(&st);
}
END_TEST

SUITE(shown)
{
	tcase_add_test(tc, gpus_keep_their_places_while_a_driver_starts_again);
}
