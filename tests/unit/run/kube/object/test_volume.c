/* test_volume.c - which free volumes suit a claim */
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/object/volume.h"
#include "libcommon/mem.h"
#include "tests/unit/check.h"

#define SPEC                                                            \
	"'storageClassName': 'local', 'accessModes': ['ReadWriteOnce'," \
	" 'ReadOnlyMany'], 'capacity': {'storage': '2Gi'}"
#define FREE "'status': {'phase': 'Available'}"
#define FOR(name, uid)                                         \
	"'claimRef': {'namespace': 'ns', 'name': '" name "', " \
	"'uid': '" uid "'}"

/* Fields of a claim besides its class, size and access mode; fields of a
 * volume; and whether the volume suits the claim. */
static const struct {
	const char *claim, *volume;
	bool suits;
} cases[] = {
	{ "", "'spec': {" SPEC "}, " FREE, true },
	{ "", "'spec': {" SPEC "}", false },
	{ "", "'spec': {" SPEC "}, 'status': {'phase': 'Bound'}", false },
	{ "", "'spec': {" SPEC ", " FOR("c", "u-1") "}, " FREE, true },
	{ "", "'spec': {" SPEC ", " FOR("c", "") "}, " FREE, true },
	{ "", "'spec': {" SPEC ", " FOR("c", "u-2") "}, " FREE, false },
	{ "", "'spec': {" SPEC ", " FOR("d", "") "}, " FREE, false },
	{ "", "'spec': {" SPEC ", 'volumeMode': 'Block'}, " FREE, false },
	{ ", 'volumeMode': 'Block'",
	  "'spec': {" SPEC ", 'volumeMode': 'Block'}, " FREE, true },
	{ ", 'volumeName': 'v'", "'spec': {" SPEC "}, " FREE, true },
	{ ", 'volumeName': 'w'", "'spec': {" SPEC "}, " FREE, false },
	{ ", 'selector': {'matchLabels': {'disk': 'nvme'}}",
	  "'spec': {" SPEC "}, " FREE, true },
	{ ", 'selector': {'matchLabels': {'disk': 'hdd'}}",
	  "'spec': {" SPEC "}, " FREE, false },
	{ ", 'selector': {}", "'spec': {" SPEC "}, " FREE, true },
	{ "",
	  "'spec': {'accessModes': ['ReadWriteOnce'], 'capacity': {'storage':"
	  " '2Gi'}}, " FREE,
	  false },
	{ "",
	  "'spec': {'storageClassName': 'local', 'accessModes':"
	  " ['ReadOnlyMany'], 'capacity': {'storage': '2Gi'}}, " FREE,
	  false },
	{ "",
	  "'spec': {'storageClassName': 'local', 'accessModes':"
	  " ['ReadWriteOnce'], 'capacity': {'storage': '1023Mi'}}, " FREE,
	  false },
	{ "",
	  "'spec': {'storageClassName': 'local', 'accessModes':"
	  " ['ReadWriteOnce']}, " FREE,
	  false },
	{ "", "'spec': 1, " FREE, false },
};

static json_t *json_of(char *text)
{
	json_error_t e;
	json_t *obj;

	for (char *p = text; *p; p++)
		*p = *p == '\'' ? '"' : *p;
	obj = json_loads(text, 0, &e);
	ck_assert_msg(obj != NULL, "%s: %s", text, e.text);
	free(text);
	return obj;
}

START_TEST(a_volume_suits_a_claim)
{
	json_t *claim = json_of(xasprintf(
	    "{'metadata': {'name': 'c', 'namespace': 'ns', 'uid': 'u-1'},"
	    " 'spec': {'storageClassName': 'local', 'accessModes':"
	    " ['ReadWriteOnce'], 'resources': {'requests': {'storage': '1Gi'}}"
	    "%s}}",
	    cases[_i].claim));
	json_t *volume = json_of(xasprintf(
	    "{'metadata': {'name': 'v', 'labels': {'disk': 'nvme'}}, %s}",
	    cases[_i].volume));
	int64_t size = 0;

	ck_assert_msg(kube_volume_suits(volume, claim, &size) ==
	                  cases[_i].suits,
	              "%s for %s", cases[_i].volume, cases[_i].claim);
	if (cases[_i].suits)
		ck_assert_int_eq(size, 2LL << 30);
	json_decref(claim);
	json_decref(volume);
}
END_TEST

SUITE(kube_volume)
{
	tcase_add_loop_test(tc, a_volume_suits_a_claim, 0, ARRAY_SIZE(cases));
}
