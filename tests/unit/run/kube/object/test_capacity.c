/* test_capacity.c - how much of a shared device a part takes */
#include "aischedd/run/kube/object/capacity.h"

#include <stdlib.h>

#include "libcommon/mem.h"
#include "tests/unit/check.h"

/* policy: the requestPolicy of a device with 80Gi; want: what the part takes,
 * or "" if the driver does not allow as much */
static const struct {
	const char *name, *all, *policy;
	uint32_t milli;
	int64_t mem_mib;
	const char *want;
} cases[] = {
	{ "half of it", "80Gi", "null", 500, 0, "40Gi" },
	{ "all of it", "80Gi", "null", 1000, 0, "80Gi" },
	{ "a part that is no whole number is rounded down", "1001", "null", 500,
	  0, "500" },
	{ "as much as was asked for, at least", "1Gi", "null", 500, 513,
	  "513Mi" },
	{ "a small step loses nothing worth a step", "81559Mi",
	  "{'validRange': {'min': '1Mi', 'step': '1Mi'}}", 500, 0, "40779Mi" },
	{ "but not below what was asked for", "81559Mi",
	  "{'validRange': {'min': '2Mi', 'step': '2Mi'}}", 500, 40779,
	  "40780Mi" },
	{ "a large step is rounded up", "80Gi",
	  "{'validRange': {'min': '1Gi', 'step': '1Gi', 'max': '80Gi'}}", 333,
	  0, "27Gi" },
	{ "steps begin at the least", "80Gi",
	  "{'validRange': {'min': '3Gi', 'step': '10Gi'}}", 200, 0, "23Gi" },
	{ "the least is given to smaller parts", "80Gi",
	  "{'validRange': {'min': '10Gi'}}", 10, 0, "10Gi" },
	{ "the largest", "80Gi",
	  "{'validRange': {'min': '1Gi', 'max': '40Gi'}}", 500, 0, "40Gi" },
	{ "more than the largest", "80Gi",
	  "{'validRange': {'min': '1Gi', 'max': '40Gi'}}", 501, 0, "" },
	{ "more than the largest step", "80Gi",
	  "{'validRange': {'min': '1Gi', 'step': '9Gi', 'max': '79Gi'}}", 950,
	  0, "" },
	{ "the next of a list", "80Gi",
	  "{'validValues': ['10Gi', '20Gi', '80Gi']}", 300, 0, "80Gi" },
	{ "one of a list", "80Gi", "{'validValues': ['10Gi', '20Gi', '80Gi']}",
	  250, 0, "20Gi" },
	{ "more than the list has", "80Gi", "{'validValues': ['10Gi', '20Gi']}",
	  300, 0, "" },
	{ "fields of other types", "80Gi",
	  "{'validRange': [], 'validValues': {'min': 1}}", 500, 0, "40Gi" },
};

/* Returns the JSON of a text on the heap that has ' for ", and frees it. */
static json_t *load(char *text)
{
	json_t *obj;

	for (char *c = text; *c; c++)
		if (*c == '\'')
			*c = '"';
	obj = json_loads(text, JSON_DECODE_ANY, NULL);
	ck_assert_ptr_nonnull(obj);
	free(text);
	return obj;
}

START_TEST(capacity_case)
{
	json_t *obj = load(
	    xasprintf("{'capacity': {'d.example.com/memory': {'value': '%s', "
	              "'requestPolicy': %s}}}",
	              cases[_i].all, cases[_i].policy));
	const struct kube_capacity *lack = NULL;
	struct kube_capacities caps;
	json_t *map;
	const char *got;

	kube_capacities_read(obj, &caps);
	ck_assert_uint_eq(caps.n, 1);
	map = kube_capacities_part(&caps, cases[_i].milli, cases[_i].mem_mib,
	                           &lack);
	ck_assert(map ? !lack : lack == &caps.of[0]);
	got = json_string_value(json_object_get(map, "d.example.com/memory"));
	ck_assert_msg(!strcmp(got ? got : "", cases[_i].want), "%s: got '%s'",
	              cases[_i].name, got ? got : "");
	json_decref(map);
	json_decref(obj);
	kube_capacities_fini(&caps);
}
END_TEST

START_TEST(what_a_device_has)
{
	json_t *obj = load(
	    xstrdup("{'capacity': {'memory': {'value': '81559Mi'}, 'none': "
	            "{'value': '0'}, 'bad': {'value': 'x'}, 'big': {'value': "
	            "'9223372036854775807'}, 'odd': []}}"));
	struct kube_capacities caps;

	kube_capacities_read(obj, &caps);
	ck_assert_uint_eq(caps.n, 1);
	ck_assert_int_eq(kube_capacities_mem(&caps), 81559);
	kube_capacities_fini(&caps);
	json_decref(obj);
}
END_TEST

START_TEST(what_a_claim_has)
{
	static const struct {
		const char *consumed;
		int64_t want;
	} of[] = {
		{ "null", 100 }, { "{'memory': '30'}", 30 },
		{ "{}", 0 },     { "{'memory': '101'}", 100 },
		{ "[]", 0 },     { "{'memory': 'x'}", 100 },
	};
	const struct kube_capacity c = { .name = (char *)"memory", .all = 100 };

	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
		json_t *map = load(xstrdup(of[i].consumed));

		ck_assert_int_eq(
		    kube_capacity_used(&c, json_is_null(map) ? NULL : map),
		    of[i].want);
		json_decref(map);
	}
}
END_TEST

SUITE(kube_capacity)
{
	tcase_add_loop_test(tc, capacity_case, 0,
	                    sizeof(cases) / sizeof(*cases));
	tcase_add_test(tc, what_a_device_has);
	tcase_add_test(tc, what_a_claim_has);
}
