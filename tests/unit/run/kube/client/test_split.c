#include "aischedd/run/kube/client/split.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/mem.h"
#include "tests/unit/check.h"

/* want: the objects found, then the list without them, then the error */
static const struct {
	const char *name;
	bool list;
	const char *text, *want;
} cases[] = {
	{ "a document a line", false, "{\"a\":1}\n{\"b\":2}\n",
	  "{\"a\":1};{\"b\":2};whole" },
	{ "documents without lines between", false, "{}{} {}",
	  "{};{};{};whole" },
	{ "braces and quotes in texts", false, "{\"a\":\"}\\\"{[\\\\\"}",
	  "{\"a\":\"}\\\"{[\\\\\"};whole" },
	{ "a document that is not whole", false, "{\"a\":1}{\"b\":[",
	  "{\"a\":1};cut" },
	{ "zero bytes in texts", false, "{\"a\":\"x\\u0000y\"}",
	  "{\"a\":\"x\\u0000y\"};whole" },
	{ "who wrote a field, at the end", false,
	  "{\"a\":1,\"managedFields\":[{\"x\":\"]\"},[]]}", "{\"a\":1};whole" },
	{ "who wrote a field, before others", false,
	  "{\"managedFields\":[{}],\"a\":[1]}", "{\"a\":[1]};whole" },
	{ "who wrote a field, alone", false, "{\"m\":{\"managedFields\":[]}}",
	  "{\"m\":{}};whole" },
	{ "a text that says so", false, "{\"a\":\"\\\"managedFields\\\":[\"}",
	  "{\"a\":\"\\\"managedFields\\\":[\"};whole" },
	{ "items of a list", true,
	  "{\"kind\":\"L\",\"metadata\":{\"continue\":\"x\"},"
	  "\"items\":[{\"a\":1},{\"items\":[{}]}]}",
	  "{\"a\":1};{\"items\":[{}]};"
	  "{\"kind\":\"L\",\"metadata\":{\"continue\":\"x\"},\"items\":[]};"
	  "whole" },
	{ "items before metadata", true,
	  "{ \"items\" : [ {\"a\":1} ], \"metadata\": {\"items\": [1]} }",
	  "{\"a\":1};{\"items\":[],\"metadata\":{\"items\":[1]}};whole" },
	{ "a text that is called items", true,
	  "{\"a\":\"items\",\"b\":[{}],\"items\":[{}]}",
	  "{};{\"a\":\"items\",\"b\":[{}],\"items\":[]};whole" },
	{ "no items", true, "{\"items\":null}", "{\"items\":null};whole" },
	{ "a list cut in its items", true, "{\"items\":[{\"a\":1},",
	  "{\"a\":1};cut" },
	{ "an object that is too large", false,
	  "{\"a\":\"0123456789abc012345678901234567890123456789012345678901234567"
	  "89\"}",
	  "an object is larger than 0 KiB" },
	{ "garbage between documents", false, "{}x",
	  "{};the answer is not JSON: unexpected 'x'" },
	{ "garbage instead of an item", true, "{\"items\":[7]}",
	  "the answer is not JSON: unexpected '7'" },
	{ "more is closed than was open", true, "{}]",
	  "the answer is not JSON: unexpected ']'" },
	{ "garbage in a document", false, "{\"a\":nope}",
	  "the answer is not JSON: invalid token near 'nope'" },
};

static int note(json_t *obj, void *arg, struct err *err)
{
	char *text = json_dumps(obj, JSON_COMPACT);

	(void)err;
	buf_printf(arg, "%s;", text);
	free(text);
	return 0;
}

static void split(size_t i, size_t chunk, struct buf *out)
{
	const char *text = cases[i].text;
	struct kube_split s;
	struct err err;
	json_t *rest;
	int rc = 0;

	kube_split_init(&s, cases[i].list, 70);
	for (size_t at = 0; at < strlen(text) && rc == 0; at += chunk) {
		size_t len = strlen(text + at);

		rc = kube_split_feed(&s, text + at, len < chunk ? len : chunk,
		                     note, out, &err);
	}
	if (rc < 0) {
		buf_puts(out, err.text);
	} else if (!kube_split_is_whole(&s)) {
		buf_puts(out, "cut");
	} else {
		rest = cases[i].list ? kube_split_rest(&s, &err) : NULL;
		if (rest)
			note(rest, out, NULL);
		json_decref(rest);
		buf_puts(out, "whole");
	}
	kube_split_fini(&s);
}

START_TEST(split_case)
{
	for (size_t chunk = 1; chunk < 100; chunk += 7) {
		struct buf got = { 0 };

		split((size_t)_i, chunk, &got);
		ck_assert_msg(!strcmp(got.data, cases[_i].want),
		              "%s, by %zu bytes: got %s", cases[_i].name, chunk,
		              got.data);
		buf_free(&got);
	}
}
END_TEST

static int refuse(json_t *obj, void *arg, struct err *err)
{
	(void)obj;
	++*(int *)arg;
	return err_set(err, ECANCELED, "enough");
}

START_TEST(the_receiver_can_stop)
{
	struct kube_split s;
	struct err err;
	int n = 0;

	kube_split_init(&s, false, 100);
	ck_assert_int_lt(kube_split_feed(&s, "{}{}", 4, refuse, &n, &err), 0);
	ck_assert_int_eq(n, 1);
	ck_assert_int_eq(err.code, ECANCELED);
	kube_split_fini(&s);
}
END_TEST

SUITE(kube_split)
{
	tcase_add_loop_test(tc, split_case, 0, ARRAY_SIZE(cases));
	tcase_add_test(tc, the_receiver_can_stop);
}
