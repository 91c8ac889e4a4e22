/* test_page.c - pages of dcgm-exporter, valid and invalid ones */
#include "aischedd/run/kube/use/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/mem.h"
#include "tests/unit/check.h"

#define GPU(uuid, pod)                                                            \
	"{gpu=\"0\",UUID=\"" uuid "\",pci_bus_id=\"0\",device=\"nvidia0\","       \
	"modelName=\"NVIDIA \\\"A\\\" {80}\",Hostname=\"n1\",container=\"main\"," \
	"namespace=\"lab\",pod=\"" pod "\"} "

static const char whole[] =
    "# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %).\n"
    "# TYPE DCGM_FI_DEV_GPU_UTIL gauge\n"
    "DCGM_FI_DEV_GPU_UTIL" GPU(
	"GPU-1",
	"a-0") "30\n"
	       "DCGM_FI_DEV_GPU_UTIL" GPU(
		   "GPU-2",
		   "a-0") "50\n"
			  "DCGM_FI_DEV_GPU_UTIL" GPU(
			      "GPU-3",
			      "b-0") "100\n"
				     "DCGM_FI_DEV_GPU_UTIL{gpu=\"3\",UUID=\"GPU-4\"} 7\n"
				     "DCGM_FI_PROF_GR_ENGINE_ACTIVE" GPU(
					 "GPU-1",
					 "a-0") "0.99\n"
						"DCGM_FI_DEV_FB_USED" GPU(
						    "GPU-1",
						    "a-0") "1024\n"
							   "DCGM_FI_DEV_FB_FREE" GPU(
							       "GPU-1",
							       "a-0") "3072\n"
								      "DCGM_FI_DEV_SM_CLOCK" GPU(
									  "GPU-9",
									  "a-0") "1\n"
										 "DCGM_FI_PROF_GR_ENGINE_ACTIVE{UUID=\"GPU-5\",GPU_I_ID=\"1\","
										 "namespace=\"lab\",pod=\"m\"} 0.256\n"
										 "DCGM_FI_PROF_GR_ENGINE_ACTIVE{UUID=\"GPU-5\",GPU_I_ID=\"2\","
										 "namespace=\"lab\",pod=\"m\"} 1";

/* Read a page in parts of this size. */
static struct kube_page *read_page(const char *text, size_t part)
{
	struct kube_page *page = xcalloc(1, sizeof(*page));

	for (size_t len = strlen(text), n; len; text += n, len -= n) {
		n = part < len ? part : len;
		kube_page_feed(page, text, n);
	}
	kube_page_end(page);
	return page;
}

START_TEST(a_page_in_parts)
{
	static const size_t parts[] = { 1, 7, 100, 100000 };
	struct kube_page *page = read_page(whole, parts[_i]);
	const struct kube_page_gpu *gpu = page->gpu;

	ck_assert_uint_eq(page->n, 5);
	ck_assert_uint_eq(gpu[0].pod, kube_page_pod("lab", "a-0"));
	ck_assert_uint_eq(gpu[1].pod, gpu[0].pod);
	ck_assert_uint_eq(gpu[2].pod, kube_page_pod("lab", "b-0"));
	ck_assert_int_eq(gpu[0].percent, 30);
	ck_assert_int_eq(gpu[1].percent, 50);
	ck_assert_int_eq(gpu[2].percent, 100);
	ck_assert_int_eq(gpu[0].used_mib, 1024);
	ck_assert_int_eq(gpu[0].free_mib, 3072);
	ck_assert_int_eq(gpu[1].used_mib, -1);
	/* MIG instances */
	ck_assert_int_eq(gpu[3].percent, 26);
	ck_assert_int_eq(gpu[4].percent, 100);
	free(page);
}
END_TEST

static const struct {
	const char *name, *text;
} none[] = {
	{ "nothing", "" },
	{ "a web page", "<html>{\"a\":1}\n\n{}}{\n" },
	{ "a GPU of no pod", "DCGM_FI_DEV_GPU_UTIL{UUID=\"1\"} 7" },
	{ "a GPU that pods share",
	  "DCGM_FI_DEV_GPU_UTIL{UUID=\"1\",namespace=\"l\",pod=\"a\","
	  "vgpu=\"0\"} 7" },
	{ "labels without end", "DCGM_FI_DEV_GPU_UTIL{UUID=\"1\",pod=\"a\n" },
	{ "a label without value", "DCGM_FI_DEV_GPU_UTIL{UUID}\n" },
	{ "an escape without end", "DCGM_FI_DEV_GPU_UTIL{UUID=\"\\\n" },
	{ "no value", "DCGM_FI_DEV_GPU_UTIL" GPU("GPU-1", "a-0") "\n" },
};

START_TEST(what_is_skipped)
{
	struct kube_page *page = read_page(none[_i].text, 3);

	ck_assert_msg(page->n == 0, "%s", none[_i].name);
	free(page);
}
END_TEST

static const char *const values[] = { "-1", "101", "NaN", "1e300", "-Inf" };

START_TEST(impossible_values)
{
	char *text = xasprintf("DCGM_FI_DEV_GPU_UTIL%s%s\n",
	                       GPU("GPU-1", "a-0"), values[_i]);
	struct kube_page *page = read_page(text, 1000);

	ck_assert_uint_eq(page->n, 1);
	ck_assert_int_eq(page->gpu[0].percent, -1);
	free(page);
	free(text);
}
END_TEST

START_TEST(too_much)
{
	struct kube_page *page = xcalloc(1, sizeof(*page));
	char line[2 * KUBE_PAGE_LINE];

	memset(line, 'x', sizeof(line));
	kube_page_feed(page, line, sizeof(line));
	for (int i = 0; i < 2 * KUBE_PAGE_GPUS; i++) {
		int len = snprintf(line, sizeof(line),
		                   "\nDCGM_FI_DEV_GPU_UTIL{UUID=\"%d\","
		                   "namespace=\"l\",pod=\"a\"} 1",
		                   i);

		kube_page_feed(page, line, (size_t)len);
	}
	kube_page_end(page);
	ck_assert_uint_eq(page->n, KUBE_PAGE_GPUS);
	free(page);
}
END_TEST

SUITE(kube_page)
{
	tcase_add_loop_test(tc, a_page_in_parts, 0, 4);
	tcase_add_loop_test(tc, what_is_skipped, 0, 8);
	tcase_add_loop_test(tc, impossible_values, 0, 5);
	tcase_add_test(tc, too_much);
}
