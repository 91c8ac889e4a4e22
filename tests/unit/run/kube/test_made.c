/* test_made.c - partitions that a driver makes as they are claimed */
#include "aischedd/run/kube/device/shown.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/buf.h"
#include "libcommon/mem.h"
#include "libcommon/mig.h"
#include "tests/unit/check.h"
#include "tests/unit/run/kube/stage.h"

static struct kube_stage st;

static void begin(void)
{
	static char driver[] = "d";

	stage_begin(&st);
	st.pool.device_driver = driver;
	st.kube->sight.synced[SEE_GRANTS] = true;
	kube_devices_known(st.kube);
}

static void end(void)
{
	stage_end(&st);
}

static void seen(int what, const char *text)
{
	json_t *obj = json_loads(text, 0, NULL);

	ck_assert_ptr_nonnull(obj);
	kube_devices_news(st.kube, what, KUBE_ADDED, obj);
	json_decref(obj);
}

/* Append counters: the memory slices of the mask, and as many multiprocessors,
 * but at least one. */
static void put_counters(struct buf *out, uint32_t units, int64_t amount)
{
	buf_printf(out,
	           "\"counters\": {\"multiprocessors\": {\"value\": \"%lld\"}",
	           (long long)amount);
	for (uint32_t i = 0; i < 32; i++)
		if (units >> i & 1)
			buf_printf(out,
			           ", \"memory-slice-%u\": {\"value\": \"1\"}",
			           (unsigned)i);
	buf_puts(out, "}");
}

/* Append the partition of a profile at these units. */
static void put_part(struct buf *out, const char *profile, uint32_t units,
                     int64_t amount)
{
	buf_printf(out,
	           ", {\"name\": \"%s-%d\", \"attributes\": {\"type\": "
	           "{\"string\": \"mig\"}, \"parentUUID\": {\"string\": \"U\"}"
	           ", \"profile\": {\"string\": \"%s\"}, \"productName\": "
	           "{\"string\": \"NVIDIA H100 80GB HBM3\"}}, "
	           "\"consumesCounters\": [{\"counterSet\": \"s\", ",
	           profile, __builtin_ctz(units), profile);
	put_counters(out, units, amount);
	buf_puts(out, "}]}");
}

/* Append all partitions of a model. */
static void put_model(struct buf *out, uint8_t model, int64_t extra)
{
	for (uint8_t p = 1; p < mig_nprofiles(); p++)
		for (uint32_t start = 0; start < MIG_UNITS; start++)
			if (mig_has(model, p) &&
			    mig_profile[p].starts >> start & 1)
				put_part(out, mig_profile[p].name,
				         mig_mask(p, start),
				         mig_profile[p].units + extra);
}

/* Show GPU "g" with these partitions, whose counters have these units, and
 * return what the daemon is told. */
static struct kube_gpus show(const struct buf *parts, uint32_t units,
                             int64_t amount)
{
	struct kube_node_said said = { .dedicated = true };
	struct buf text = { 0 };
	struct kube_gpus ret;

	buf_puts(&text,
	         "{\"metadata\": {\"name\": \"s0\"}, \"spec\": {\"driver\":"
	         " \"d\", \"nodeName\": \"n0\", \"pool\": {\"name\": \"n0\","
	         " \"generation\": 1, \"resourceSliceCount\": 1}, "
	         "\"sharedCounters\": [{\"name\": \"s\", ");
	put_counters(&text, units, amount);
	buf_puts(&text, "}], \"devices\": [{\"name\": \"g\", \"attributes\": "
	                "{\"uuid\": {\"string\": \"U\"}}, "
	                "\"consumesCounters\": [{\"counterSet\": \"s\", ");
	put_counters(&text, units, amount);
	buf_printf(&text, "}]}%s]}}", parts->data);
	seen(SEE_SLICES, text.data);
	buf_free(&text);
	ck_assert(kube_devices_show(st.kube, "n0", &said, &ret));
	return ret;
}

START_TEST(each_model_is_found)
{
	uint8_t model = (uint8_t)_i;
	struct buf parts = { 0 };
	struct kube_gpus gpus;

	put_model(&parts, model, 0);
	put_part(&parts, "1g.1gb+me", 1, 1);
	gpus = show(&parts, (1u << mig_units(model)) - 1, mig_units(model));
	/* two models have the same partitions: the type decides */
	ck_assert_uint_eq(gpus.mig, model == MIG_A100_80 ? MIG_H100_80 : model);
	ck_assert_uint_eq(gpus.n, 1);
	ck_assert_uint_eq(gpus.held[0], 0);
	ck_assert_uint_eq(gpus.parts[0], 0);
	buf_free(&parts);
}
END_TEST

/* Show a claim of others for this device. */
static void claimed(const char *device)
{
	char *text = xasprintf(
	    "{\"metadata\": {\"namespace\": \"x\", \"name\": \"%s\", \"uid\": "
	    "\"u\", \"resourceVersion\": \"1\"}, \"status\": {\"allocation\": "
	    "{\"devices\": {\"results\": [{\"driver\": \"d\", \"pool\": \"n0\","
	    " \"device\": \"%s\"}]}}}}",
	    device, device);

	seen(SEE_GRANTS, text);
	free(text);
}

static const struct {
	const char *device;
	uint8_t held;
} claims[] = {
	{ "3g.40gb-4", 0xf0 }, { "1g.10gb-6", 0x40 },    { "2g.20gb-0", 0x03 },
	{ "g", 0xff },         { "1g.10gb+me-2", 0xff }, { "unknown", 0x00 },
};

START_TEST(units_of_others_are_held)
{
	struct buf parts = { 0 };
	struct kube_gpus gpus;

	claimed(claims[_i].device);
	put_model(&parts, MIG_H100_80, 0);
	put_part(&parts, "1g.10gb+me", 4, 1);
	gpus = show(&parts, 0xff, 8);
	ck_assert_uint_eq(gpus.mig, MIG_H100_80);
	ck_assert_uint_eq(mig_parts_held(gpus.parts[0]), claims[_i].held);
	ck_assert_uint_eq(gpus.held[0], 0);
	buf_free(&parts);
}
END_TEST

/* A partition that is listed besides those of an H100, which consume `extra`
 * more than units; `all` and `have`: what the counters have. */
static const struct {
	const char *profile; /* NULL: nothing */
	uint32_t units, all;
	int64_t amount, have, extra;
	const char *want; /* in the sentence; NULL: of no model */
} lies[] = {
	{ NULL, 0, 0x1ff, 0, 8, 0, "more than 8 memory slices" },
	{ "1g.10gb+me", 0x100, 0xff, 1, 8, 0, "without its memory slices" },
	{ "2g.20gb+me", 0x180, 0xff, 1, 8, 0, "not from 0 to 7" },
	{ "2g.20gb+me", 0x05, 0xff, 1, 8, 0, "beside each other" },
	{ "1g.10gb+me", 0x01, 0xff, 9, 8, 0,
	  "'1g.10gb+me-0' with more multiprocessors than its counters 's'" },
	{ "1g.10gb", 0x02, 0xff, 1, 8, 0, "at the same place" },
	{ NULL, 0, 0xff, 0, 7, 0, "with more multiprocessors than" },
	{ NULL, 0, 0xff, 0, 9, 1, "'s' with too little of 'multiprocessors'" },
	{ NULL, 0, 0x7f, 0, 8, 0, "with more memory slices than" },
	{ "1g.20gb", 0x02, 0xff, 1, 8, 0, NULL },
	{ "3g.40gb", 0x3c, 0xff, 1, 8, 0, NULL },
};

START_TEST(lies_are_told)
{
	struct buf parts = { 0 };
	const struct kube_shown *node;
	struct kube_gpus gpus;

	put_model(&parts, MIG_H100_80, lies[_i].extra);
	if (lies[_i].profile)
		put_part(&parts, lies[_i].profile, lies[_i].units,
		         lies[_i].amount);
	gpus = show(&parts, lies[_i].all, lies[_i].have);
	node = map_find(&st.kube->devices.nodes, kube_text_key("n0"));
	if (!lies[_i].want) {
		ck_assert_str_eq(node->unmade, "g");
		ck_assert_uint_eq(gpus.mig, MIG_NONE);
		ck_assert_uint_eq(gpus.held[0], 0);
	} else {
		ck_assert_msg(node->wrong && strstr(node->wrong, lies[_i].want),
		              "%s", node->wrong);
		ck_assert(!gpus.n || gpus.held[0] == 1000 ||
		          mig_parts_held(gpus.parts[0]) == 0xff);
	}
	buf_free(&parts);
}
END_TEST

SUITE(made)
{
	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_loop_test(tc, each_model_is_found, 1, MIG_NMODELS);
	tcase_add_loop_test(tc, units_of_others_are_held, 0,
	                    sizeof(claims) / sizeof(claims[0]));
	tcase_add_loop_test(tc, lies_are_told, 0,
	                    sizeof(lies) / sizeof(lies[0]));
}
