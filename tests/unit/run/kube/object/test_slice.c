/* test_slice.c - ResourceSlices, valid and invalid ones */
#include "aischedd/run/kube/object/slice.h"

#include <string.h>

#include "libcommon/mig.h"
#include "tests/unit/check.h"

static bool read(const char *spec, struct kube_slice *ret)
{
	json_t *obj = json_pack("{s:{s:s}, s:o}", "metadata", "name", "s",
	                        "spec", json_loads(spec, 0, NULL));
	bool is = kube_slice_read(obj, "gpu.example.com", ret);

	json_decref(obj);
	return is;
}

#define POOL                                                               \
	"\"driver\": \"gpu.example.com\", \"nodeName\": \"n\", \"pool\": " \
	"{\"name\": \"p\", \"generation\": 4, \"resourceSliceCount\": 2}"

START_TEST(a_slice_of_a_node)
{
	struct kube_slice s;

	ck_assert(read(
	    "{" POOL ", \"devices\": [{\"name\": \"gpu-0\", \"attributes\": "
	    "{\"productName\": {\"string\": \"NVIDIA H100 80GB\"},"
	    "\"resource.kubernetes.io/numaNode\": {\"ints\": [1, 0]},"
	    "\"resource.kubernetes.io/pcieRoot\": {\"string\": \"pci0:1\"},"
	    "\"gpu.example.com/partition8\": {\"int\": 3}}},"
	    "{\"name\": \"gpu-1\", \"allowMultipleAllocations\": true},"
	    "{\"name\": \"gpu-2\", \"consumesCounters\": [], \"taints\": [{\"key\": \"k\", \"effect\": "
	    "\"None\"}], \"attributes\": {\"partition8\": {\"int\": -1}}},"
	    "{\"name\": \"gpu-3\", \"taints\": [{\"key\": \"k\", \"effect\": "
	    "\"NoSchedule\"}]}]}",
	    &s));
	ck_assert_str_eq(s.node, "n");
	ck_assert_str_eq(s.pool, "p");
	ck_assert_int_eq(s.generation, 4);
	ck_assert_int_eq(s.count, 2);
	ck_assert_uint_eq(s.ngpus, 4);
	ck_assert_str_eq(s.gpu[0].type, "NVIDIA-H100-80GB");
	ck_assert_int_eq(s.gpu[0].numa, 1);
	ck_assert_str_eq(s.gpu[0].root, "pci0:1");
	ck_assert_ptr_null(s.gpu[1].root);
	ck_assert_int_eq(s.gpu[0].part[2], 3);
	ck_assert_int_eq(s.gpu[0].part[1], -1);
	ck_assert(!s.gpu[0].shared && s.gpu[1].shared && !s.gpu[1].counted);
	ck_assert(s.gpu[2].counted && !s.gpu[2].set);
	ck_assert_ptr_null(s.gpu[1].type);
	ck_assert_int_eq(s.gpu[2].numa, -1);
	ck_assert_int_eq(s.gpu[2].part[2], -1);
	ck_assert(!s.gpu[2].tainted && s.gpu[3].tainted);
	kube_slice_fini(&s);
}
END_TEST

START_TEST(partitions)
{
	struct kube_slice s;

	ck_assert(
	    read("{" POOL ", \"devices\": [{\"name\": \"a\", \"attributes\": "
	         "{\"type\": {\"string\": \"mig\"}, "
	         "\"gpu.example.com/parentUUID\": {\"string\": \"GPU-1\"}, "
	         "\"profile\": {\"string\": \"3g.40gb\"}}, \"capacity\": "
	         "{\"memorySlice4\": {\"value\": \"1\"}, "
	         "\"gpu.example.com/memorySlice5\": {\"value\": \"1\"}, "
	         "\"memorySlice6\": {\"value\": \"1\"}, "
	         "\"memorySlice7\": {\"value\": \"1\"}, "
	         "\"memorySlice8\": {\"value\": \"1\"}}},"
	         "{\"name\": \"b\", \"attributes\": {\"type\": {\"string\": "
	         "\"mig\"}, \"profile\": {\"string\": \"1c.3g.40gb\"}}},"
	         "{\"name\": \"c\", \"attributes\": {\"type\": {\"string\": "
	         "\"gpu\"}, \"uuid\": {\"string\": \"GPU-2\"}, \"parentUUID\": "
	         "{\"string\": \"GPU-3\"}, \"profile\": "
	         "{\"string\": \"3g.40gb\"}}},"
	         /* it has two slices on the models that we know */
	         "{\"name\": \"d\", \"attributes\": {\"type\": {\"string\": "
	         "\"mig\"}, \"profile\": {\"string\": \"1g.24gb\"}}, "
	         "\"capacity\": {\"memorySlice1\": {\"value\": \"1\"}}}]}",
	         &s));
	ck_assert(s.gpu[0].is_part && s.gpu[1].is_part && !s.gpu[2].is_part);
	ck_assert_str_eq(s.gpu[0].uuid, "GPU-1");
	ck_assert_uint_eq(s.gpu[0].profile, mig_find("3g.40gb"));
	ck_assert_uint_eq(s.gpu[0].units, 0xf0);
	ck_assert_ptr_null(s.gpu[1].uuid);
	ck_assert_uint_eq(s.gpu[1].profile, 0);
	ck_assert_uint_eq(s.gpu[1].units, 0);
	ck_assert_str_eq(s.gpu[2].uuid, "GPU-2");
	ck_assert_uint_eq(s.gpu[2].profile, 0);
	ck_assert_uint_eq(s.gpu[3].profile, 0);
	ck_assert_uint_eq(s.gpu[3].units, 0x02);
	kube_slice_fini(&s);
}
END_TEST

START_TEST(counters)
{
	struct kube_slice s;

	ck_assert(read(
	    "{" POOL ", \"sharedCounters\": [{\"name\": \"s\", \"counters\": "
	    "{\"memory\": {\"value\": \"1Gi\"}, \"a\": {\"value\": \"0\"}, "
	    "\"slice\": {\"value\": \"1\"}}}], \"devices\": ["
	    "{\"name\": \"a\", \"consumesCounters\": [{\"counterSet\": \"s\", "
	    "\"counters\": {\"slice\": {\"value\": \"1\"}, \"memory\": "
	    "{\"value\": \"1024Mi\"}}}]},"
	    "{\"name\": \"b\", \"consumesCounters\": [{\"counterSet\": \"s\", "
	    "\"counters\": {\"slice\": {\"value\": \"1\"}}}]},"
	    "{\"name\": \"c\", \"consumesCounters\": [{\"counterSet\": \"s\"}, "
	    "{\"counterSet\": \"t\"}]}]}",
	    &s));
	ck_assert_uint_eq(s.nsets, 1);
	ck_assert_str_eq(s.set[0].name, "s");
	ck_assert_str_eq(s.gpu[0].set, "s");
	ck_assert(s.gpu[0].consumes.sum == s.set[0].has.sum &&
	          s.set[0].has.sum);
	ck_assert(s.gpu[1].consumes.sum != s.set[0].has.sum);
	ck_assert(s.gpu[2].counted && !s.gpu[2].set);
	kube_slice_fini(&s);
}
END_TEST

START_TEST(what_is_none)
{
	static const char *const specs[] = {
		"null",
		"{}",
		"{\"driver\": \"other.example.com\", \"nodeName\": \"n\", "
		"\"pool\": {\"name\": \"p\"}}",
		"{\"driver\": \"gpu.example.com\", \"allNodes\": true, "
		"\"pool\": {\"name\": \"p\"}}",
		"{\"driver\": \"gpu.example.com\", \"nodeName\": \"n\"}",
	};
	struct kube_slice s;

	ck_assert(!read(specs[_i], &s));
}
END_TEST

START_TEST(fields_of_other_types)
{
	struct kube_slice s;

	ck_assert(read("{" POOL ", \"devices\": [1, {}, {\"name\": 2}, "
	               "{\"name\": \"a\", \"attributes\": [], \"taints\": {}},"
	               "{\"name\": \"b\", \"attributes\": {\"productName\": "
	               "{\"int\": 1}, \"resource.kubernetes.io/numaNode\": "
	               "{\"int\": 99999999999}}}]}",
	               &s));
	ck_assert_uint_eq(s.ngpus, 2);
	ck_assert_ptr_null(s.gpu[1].type);
	ck_assert_int_eq(s.gpu[1].numa, -1);
	kube_slice_fini(&s);
}
END_TEST

SUITE(kube_slice)
{
	tcase_add_test(tc, a_slice_of_a_node);
	tcase_add_test(tc, partitions);
	tcase_add_test(tc, counters);
	tcase_add_loop_test(tc, what_is_none, 0, 5);
	tcase_add_test(tc, fields_of_other_types);
}
