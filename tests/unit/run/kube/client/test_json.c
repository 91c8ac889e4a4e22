#include "aischedd/run/kube/client/json.h"

#include <string.h>

#include "libcommon/mem.h"
#include "libcommon/rfc3339.h"
#include "tests/unit/check.h"

enum { BAD = -77 };

/* The same results as ParseQuantity(), MilliValue() and Value() of
 * apimachinery, with two differences: apimachinery overflows where we return
 * the maximum, and accepts a suffix without a number as 0. */
static const struct {
	const char *text;
	int64_t milli, whole;
} quantities[] = {
	{ "0", 0, 0 },
	{ "1", 1000, 1 },
	{ "500m", 500, 1 },
	{ "1500m", 1500, 2 },
	{ "0.5", 500, 1 },
	{ ".5", 500, 1 },
	{ "1.", 1000, 1 },
	{ "+1", 1000, 1 },
	{ "-1.5", -1500, -2 },
	{ "1k", 1000000, 1000 },
	{ "2e3", 2000000, 2000 },
	{ "2E3", 2000000, 2000 },
	{ "2e+3", 2000000, 2000 },
	{ "5e-1", 500, 1 },
	{ "1E", INT64_MAX, 1000000000000000000 },
	{ "1Ki", 1024000, 1024 },
	{ "1.5Gi", 1610612736000, 1610612736 },
	{ "0.1Ki", 102400, 103 },
	{ "2Ti", 2199023255552000, 2199023255552 },
	{ "100u", 1, 1 },
	{ "1n", 1, 1 },
	{ "1000000n", 1, 1 },
	{ "1000001n", 2, 1 },
	{ "0.0005", 1, 1 },
	{ "0.0000000000000000000001", 1, 1 },
	{ "0e99", 0, 0 },
	{ "1e-99", 1, 1 },
	{ "1e99", INT64_MAX, INT64_MAX },
	{ "8Ei", INT64_MAX, INT64_MAX },
	{ "7.999999999999Ei", INT64_MAX, 9223372036853622887 },
	{ "9223372036854775807", INT64_MAX, INT64_MAX },
	{ "99999999999999999999999999999999999999999", INT64_MAX, INT64_MAX },
	{ "", BAD, BAD },
	{ ".", BAD, BAD },
	{ "m", BAD, BAD },
	{ "1 ", BAD, BAD },
	{ " 1", BAD, BAD },
	{ "1Kib", BAD, BAD },
	{ "1K", BAD, BAD }, /* only k and Ki are suffixes */
	{ "1ki", BAD, BAD },
	{ "1e", BAD, BAD },
	{ "1e 3", BAD, BAD },
	{ "1e3m", BAD, BAD },
	{ "1e+", BAD, BAD },
	{ "0x10", BAD, BAD },
	{ "--1", BAD, BAD },
	{ "1,5", BAD, BAD },
};

START_TEST(quantity_case)
{
	json_t *value = json_string(quantities[_i].text);
	int64_t milli = BAD, whole = BAD;

	kube_milli_of(value, &milli, NULL);
	kube_whole_of(value, &whole, NULL);
	json_decref(value);
	ck_assert_msg(milli == quantities[_i].milli &&
	                  whole == quantities[_i].whole,
	              "'%s': got %lld milli, %lld", quantities[_i].text,
	              (long long)milli, (long long)whole);
}
END_TEST

static const struct {
	const char *text;
	int64_t us;
} times[] = {
	{ "1970-01-01T00:00:01Z", 1000000 },
	{ "2026-11-21T07:00:00Z", 1795244400000000 },
	{ "2026-11-21T09:00:00+02:00", 1795244400000000 },
	{ "2026-11-21T02:30:00-04:30", 1795244400000000 },
	{ "2026-11-21T07:00:00.000001Z", 1795244400000001 },
	{ "2026-11-21T07:00:00.5Z", 1795244400500000 },
	{ "2026-11-21T07:00:00.123456789Z", 1795244400123456 },
	{ "2028-02-29T00:00:00Z", 1835395200000000 },
	{ "2026-02-29T00:00:00Z", BAD },
	{ "2026-13-01T00:00:00Z", BAD },
	{ "2026-11-21T24:00:00Z", BAD },
	{ "2026-11-21T07:60:00Z", BAD },
	{ "2026-11-21T07:00:00", BAD },
	{ "2026-11-21T07:00:00.Z", BAD },
	{ "2026-11-21T07:00:00+2:00", BAD },
	{ "2026-11-21T07:00:00Zulu", BAD },
	{ "2026-11-21", BAD },
	{ "", BAD },
};

START_TEST(time_case)
{
	int64_t us = BAD;

	rfc3339_parse(times[_i].text, &us, NULL);
	ck_assert_msg(us == times[_i].us, "'%s': got %lld", times[_i].text,
	              (long long)us);
}
END_TEST

START_TEST(time_as_leases_have_it)
{
	char text[28];

	rfc3339_format(1795244400000042, text);
	ck_assert_str_eq(text, "2026-11-21T07:00:00.000042Z");
}
END_TEST

static json_t *object(const char *text)
{
	json_t *obj = json_loads(text, 0, NULL);

	ck_assert_ptr_nonnull(obj);
	return obj;
}

START_TEST(fields_have_types)
{
	json_t *obj =
	    object("{\"spec\": {\"nodeName\": \"n1\", \"n\": 3, \"on\": true,"
	           "\"list\": [1], \"cpu\": \"1500m\", \"ports\": 7},"
	           "\"at\": \"1970-01-01T00:00:01Z\", \"none\": null}");
	struct kube_reader r = { .obj = obj };

	ck_assert_str_eq(kube_text(&r, "spec.nodeName"), "n1");
	ck_assert_int_eq(kube_int(&r, "spec.n", -1), 3);
	ck_assert(kube_bool(&r, "spec.on", false));
	ck_assert_uint_eq(json_array_size(kube_list(&r, "spec.list")), 1);
	ck_assert_uint_eq(json_object_size(kube_map(&r, "spec")), 6);
	ck_assert_int_eq(kube_time(&r, "at"), 1000000);
	ck_assert_int_eq(r.err.code, 0);
	json_decref(obj);
}
END_TEST

START_TEST(absent_fields_are_no_error)
{
	json_t *obj = object("{\"spec\": {}, \"none\": null}");
	struct kube_reader r = { .obj = obj }, none = { .obj = NULL };

	ck_assert_ptr_null(kube_text(&r, "spec.nodeName"));
	ck_assert_ptr_null(kube_text(&r, "none"));
	ck_assert_ptr_null(kube_text(&r, "none.below"));
	ck_assert_int_eq(kube_int(&r, "status.n", -1), -1);
	ck_assert(kube_bool(&r, "status.on", true));
	ck_assert_ptr_null(kube_list(&r, "spec.list"));
	ck_assert_int_eq(kube_time(&r, "at"), 0);
	ck_assert_int_eq(r.err.code, 0);
	ck_assert_ptr_null(kube_map(&none, "spec"));
	ck_assert_int_eq(none.err.code, 0);
	json_decref(obj);
}
END_TEST

START_TEST(the_first_wrong_field_is_told)
{
	json_t *obj = object("{\"spec\": {\"nodeName\": 1, \"cpu\": \"x\"}}");
	struct kube_reader r = { .obj = obj };

	ck_assert_ptr_null(kube_text(&r, "spec.nodeName"));
	kube_list(&r, "spec.cpu");
	ck_assert_str_eq(r.err.text, "spec.nodeName is not a text");
	json_decref(obj);
}
END_TEST

START_TEST(every_type_is_checked)
{
	json_t *obj = object("{\"a\": {\"text\": \"x\"}}");
	const char *want[] = {
		"a is not a text",         "a is not a whole number",
		"a is not a boolean",      "a is not a list",
		"a.text is not an object", "a.text is not a time"
	};

	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		struct kube_reader r = { .obj = obj };

		switch (i) {
		case 0:
			kube_text(&r, "a");
			break;
		case 1:
			kube_int(&r, "a", 0);
			break;
		case 2:
			kube_bool(&r, "a", false);
			break;
		case 3:
			kube_list(&r, "a");
			break;
		case 4:
			kube_map(&r, "a.text");
			break;
		default:
			kube_time(&r, "a.text");
		}
		ck_assert_str_eq(r.err.text, want[i]);
	}
	json_decref(obj);
}
END_TEST

START_TEST(mib_of_asked_and_of_had)
{
	ck_assert_int_eq(kube_mib_up(1), 1);
	ck_assert_int_eq(kube_mib_up(1 << 20), 1);
	ck_assert_int_eq(kube_mib_down((1 << 20) - 1), 0);
	ck_assert_int_eq(kube_mib_down(3 << 20), 3);
}
END_TEST

SUITE(kube_json)
{
	tcase_add_loop_test(tc, quantity_case, 0, ARRAY_SIZE(quantities));
	tcase_add_loop_test(tc, time_case, 0, ARRAY_SIZE(times));
	tcase_add_test(tc, time_as_leases_have_it);
	tcase_add_test(tc, fields_have_types);
	tcase_add_test(tc, absent_fields_are_no_error);
	tcase_add_test(tc, the_first_wrong_field_is_told);
	tcase_add_test(tc, every_type_is_checked);
	tcase_add_test(tc, mib_of_asked_and_of_had);
}
