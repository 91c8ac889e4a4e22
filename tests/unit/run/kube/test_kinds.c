/* test_kinds.c - devices other than GPUs that drivers list */
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/device/devices.h"
#include "aischedd/run/kube/device/kinds.h"
#include "libcommon/mem.h"
#include "tests/unit/check.h"
#include "tests/unit/run/kube/stage.h"

static struct kube_stage st;
static struct kube_kinds_told told;
static const struct conf_device kinds[] = {
	{ .name = "counted", .resource = "rdma/hca" },
	{ .name = "nic", .class = "nics", .driver = "d" },
	{ .name = "fpga", .class = "e", .driver = "e" },
};
static const char *const names[] = { "counted", "nic", "fpga" };
static struct kube_node_said said = { .dedicated = true };

static void set_up(void)
{
	static char gpus[] = "g";

	stage_begin(&st);
	st.pool.device_driver = gpus;
	st.pool.kinds = kinds;
	st.pool.kind_names = names;
	st.pool.nkinds = 3;
	st.kube->devices.known = true;
	st.kube->sight.synced[SEE_GRANTS] = true;
}

static void tear_down(void)
{
	stage_end(&st);
}

static void seen(int what, enum kube_news news, char *text)
{
	json_t *obj = json_loads(text, 0, NULL);

	ck_assert_msg(obj != NULL, "%s", text);
	kube_devices_news(st.kube, what, news, obj);
	json_decref(obj);
	free(text);
}

/* A slice of node n0, one of `count` of this generation. */
static void slice(const char *name, const char *driver, int generation,
                  int count, const char *devices)
{
	seen(SEE_SLICES, KUBE_ADDED,
	     xasprintf("{\"metadata\": {\"name\": \"%s\"}, \"spec\": "
	               "{\"driver\": \"%s\", \"nodeName\": \"n0\", "
	               "\"pool\": {\"name\": \"p\", \"generation\": %d, "
	               "\"resourceSliceCount\": %d}, \"devices\": [%s]}}",
	               name, driver, generation, count, devices));
}

static void show(void)
{
	kube_kinds_show(st.kube, "n0", &said, &told);
}

START_TEST(a_node_has_the_devices_of_its_slices)
{
	slice("s", "d", 1, 1,
	      "{\"name\": \"a10\"}, {\"name\": \"a2\"}, {\"name\": \"a3\","
	      " \"taints\": [{\"effect\": \"NoSchedule\"}]}, {\"name\": \"c\","
	      " \"consumesCounters\": []}");
	slice("t", "e", 1, 1, "{\"name\": \"a2\"}");
	slice("u", "other", 1, 1, "{\"name\": \"a4\"}");
	show();
	ck_assert_uint_eq(told.named, 6);
	ck_assert_int_eq(told.all.n[1], 3);
	ck_assert_int_eq(told.held.n[1], 1);
	ck_assert_int_eq(told.all.n[2], 1);
	ck_assert_uint_eq(told.n, 3);
	ck_assert_str_eq(told.device[0].name, "nic/p/a2");
	ck_assert_str_eq(told.device[1].name, "nic/p/a10");
	ck_assert_str_eq(told.device[2].name, "fpga/p/a2");
}
END_TEST

START_TEST(half_of_them_are_not_given)
{
	slice("s", "d", 2, 2, "{\"name\": \"a\"}");
	slice("t", "d", 1, 2, "{\"name\": \"b\"}");
	slice("u", "e", 1, 1, "{\"name\": \"a\"}");
	show();
	ck_assert_int_eq(told.all.n[1], 1);
	ck_assert_int_eq(told.held.n[1], 1);
	ck_assert_int_eq(told.held.n[2], 0);
	slice("t", "d", 2, 2, "{\"name\": \"b\"}");
	show();
	ck_assert_int_eq(told.all.n[1], 2);
	ck_assert_int_eq(told.held.n[1], 0);
}
END_TEST

START_TEST(at_most_64_are_held)
{
	struct buf many = { 0 };

	for (int i = 0; i < 70; i++)
		buf_printf(&many, "%s{\"name\": \"a%d\"}", i ? ", " : "", i);
	slice("s", "d", 1, 1, many.data);
	buf_free(&many);
	show();
	ck_assert_int_eq(told.all.n[1], LIMIT_DEVICES);
	ck_assert_int_eq(told.held.n[1], LIMIT_DEVICES);
	ck_assert_uint_eq(told.n, 0);
}
END_TEST

/* A claim of others for device a of this driver. */
static void claim(const char *driver)
{
	seen(SEE_GRANTS, KUBE_ADDED,
	     xasprintf("{\"metadata\": {\"namespace\": \"x\", \"name\": "
	               "\"%s\", \"uid\": \"u\"}, \"status\": {\"allocation\": "
	               "{\"devices\": {\"results\": [{\"driver\": \"%s\", "
	               "\"pool\": \"p\", \"device\": \"a\"}]}}}}",
	               driver, driver));
}

START_TEST(a_claim_of_others_holds_a_device_of_its_driver)
{
	slice("s", "d", 1, 1, "{\"name\": \"a\"}, {\"name\": \"b\"}");
	slice("t", "e", 1, 1, "{\"name\": \"a\"}");
	claim("d");
	show();
	ck_assert_int_eq(told.held.n[1], 1);
	ck_assert_int_eq(told.held.n[2], 0);
	ck_assert_uint_eq(told.n, 2);
	ck_assert_str_eq(told.device[0].name, "nic/p/b");
}
END_TEST

/* Returns the text for a task on n0 that asks for this, and has these devices,
 * one bit each. */
static char *text_of(const char *asks, uint64_t devs)
{
	static const char *const node[] = { "n0" };
	struct spec spec;

	spec_init(&spec);
	spec.device = asks;
	return kube_kinds_text(
	    st.kube,
	    &(struct run_job){
		.spec = &spec, .ntasks = 1, .devs = &devs, .node_name = node },
	    0, 1);
}

START_TEST(a_task_has_devices_by_name)
{
	struct kube_given given = { .node = "n0" };
	char *text;

	slice("s", "d", 1, 1, "{\"name\": \"a\"}, {\"name\": \"b\"}");
	slice("t", "e", 1, 1, "{\"name\": \"a\"}");
	show();
	text = text_of("nic:1,fpga:1", 6);
	ck_assert_str_eq(text, "nic/p/b,fpga/p/a");
	ck_assert(kube_kinds_find(st.kube, "n0", text, &given));
	ck_assert_uint_eq(given.ndevs, 2);
	ck_assert_ptr_eq(given.dev[0].kind, &kinds[1]);
	ck_assert_str_eq(given.dev[0].pool, "p");
	ck_assert_str_eq(given.dev[0].name, "b");
	slice("s", "d", 2, 1, "{\"name\": \"a\"}");
	given.ndevs = 0;
	ck_assert(!kube_kinds_find(st.kube, "n0", text, &given));
	free(text);
}
END_TEST

START_TEST(too_few_devices_are_none)
{
	char *text;

	slice("s", "d", 1, 1, "{\"name\": \"a\"}, {\"name\": \"b\"}");
	show();
	ck_assert_ptr_null(text_of(NULL, 0));
	ck_assert_ptr_null(text_of("counted:2", 0));
	text = text_of("nic:2", 1);
	ck_assert(!kube_kinds_is_known(text));
	free(text);
}
END_TEST

START_TEST(unknown_places_are_not_the_first)
{
	slice("s", "d", 1, 1,
	      "{\"name\": \"a\"}, {\"name\": \"b\", \"attributes\": {"
	      "\"resource.kubernetes.io/numaNode\": {\"int\": 1}}},"
	      "{\"name\": \"c\", \"attributes\": {"
	      "\"resource.kubernetes.io/numaNode\": {\"int\": 64},"
	      "\"resource.kubernetes.io/pcieRoot\": {\"string\": \"r\"}}}");
	slice("t", "e", 1, 1, "{\"name\": \"a\"}");
	show();
	ck_assert_uint_eq(told.n, 4);
	ck_assert_uint_eq(told.device[0].numa, RUN_NUMA_UNKNOWN);
	ck_assert_uint_eq(told.device[1].numa, 1);
	ck_assert_uint_eq(told.device[2].numa, RUN_NUMA_UNKNOWN);
	ck_assert_ptr_null(told.root[1]);
	ck_assert_str_eq(told.root[2], "r");
	ck_assert_uint_eq(told.numas_known, 2);
	ck_assert_uint_eq(told.roots_known, 2);
}
END_TEST

START_TEST(places_are_known_of_devices_that_others_have)
{
	slice("s", "d", 1, 1,
	      "{\"name\": \"a\", \"attributes\": {"
	      "\"resource.kubernetes.io/pcieRoot\": {\"string\": \"r\"}}}");
	claim("d");
	show();
	ck_assert_uint_eq(told.n, 0);
	ck_assert_uint_eq(told.roots_known, 2);
}
END_TEST

SUITE(kube_kinds)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_node_has_the_devices_of_its_slices);
	tcase_add_test(tc, half_of_them_are_not_given);
	tcase_add_test(tc, at_most_64_are_held);
	tcase_add_test(tc, a_claim_of_others_holds_a_device_of_its_driver);
	tcase_add_test(tc, a_task_has_devices_by_name);
	tcase_add_test(tc, too_few_devices_are_none);
	tcase_add_test(tc, unknown_places_are_not_the_first);
	tcase_add_test(tc, places_are_known_of_devices_that_others_have);
}
