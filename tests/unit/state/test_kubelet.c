/* test_kubelet.c - NUMA nodes that a kubelet chose */
#include "aischedd/state/pass/kubelet.h"

#include <string.h>

#include "libcommon/limits.h"
#include "libcommon/mem.h"
#include "tests/unit/check.h"

enum { N = 8 };

/* The NUMA node of each device, a digit each; which are free for jobs, as far
 * as the daemon knows (+); how many are free in each NUMA node, as the kubelet
 * says, a digit each. First GPUs, then CPUs ("": they are only counted). */
static const struct {
	const char *name, *gpus, *gpus_free, *gpus_said;
	const char *cpus, *cpus_free, *cpus_said;
	int others;
	const char *want, *want_cpus;
} cases[] = {
	{ "as planned", "0011", "-+++", "12", "", "", "", 0, "0011", "" },
	{ "another NUMA node", "0011", "++-+", "12", "", "", "", 0, "0101",
	  "" },
	{ "as few change as possible", "00001111", "++++--++", "24", "", "", "",
	  0, "00110011", "" },
	{ "a start that it has not seen", "0011", "-+-+", "12", "", "", "", 0,
	  "0011", "" },
	{ "an end that it has not seen", "0011", "++++", "12", "", "", "", 0,
	  "0011", "" },
	{ "more than there are", "0011", "-+++", "30", "", "", "", 0, "0011",
	  "" },
	{ "all", "0011", "----", "00", "", "", "", 0, "0011", "" },
	{ "a pod of others, of which only the number is known", "0011", "++++",
	  "12", "", "", "", 1, "0110", "" },
	{ "CPUs with them", "0011", "++-+", "12", "0011", "+++-", "12", 0,
	  "0101", "0110" },
	{ "CPUs that do not agree", "0011", "++-+", "12", "0011", "++--", "12",
	  0, "0011", "0011" },
};

/* Copy the digits to ret, and return how many they are. */
static uint32_t digits(const char *text, uint8_t *ret)
{
	for (uint32_t i = 0; text[i]; i++)
		ret[i] = (uint8_t)(text[i] - '0');
	return (uint32_t)strlen(text);
}

static void said(const char *text, int64_t *ret)
{
	for (uint32_t i = 0; text[i]; i++)
		ret[i] = text[i] - '0';
}

static void check(const char *name, const uint8_t *numa, const char *want)
{
	char got[N + 1] = "";

	for (uint32_t i = 0; want[i]; i++)
		got[i] = (char)('0' + numa[i]);
	ck_assert_msg(!strcmp(got, want), "%s: got %s, want %s", name, got,
	              want);
}

START_TEST(place_case)
{
	uint8_t gpus[N], cpus[N];
	uint16_t gpu[N] = { 0 }, cpu[N] = { 0 };
	int64_t zone_gpus[LIMIT_SOCKETS] = { 0 };
	int64_t zone_cpus[LIMIT_SOCKETS] = { 0 };
	struct node node = {
		.gpu_numa = gpus,
		.cpu_numa = cpus,
		.ngpus = digits(cases[_i].gpus, gpus),
		.ncpus = digits(cases[_i].cpus, cpus),
		.zone_gpus = zone_gpus,
		.zone_cpus = zone_cpus,
		.gpu_others = 1000 * cases[_i].others,
	};

	for (uint32_t i = 0; i < node.ngpus; i++)
		gpu[i] = cases[_i].gpus_free[i] == '+' ? 1000 : 0;
	for (uint32_t i = 0; i < node.ncpus; i++)
		cpu[i] = cases[_i].cpus_free[i] == '+' ? 500 : 0;
	said(cases[_i].gpus_said, zone_gpus);
	said(cases[_i].cpus_said, zone_cpus);
	kubelet_place(&node, gpu, cpu);
	check(cases[_i].name, gpus, cases[_i].want);
	check(cases[_i].name, cpus, cases[_i].want_cpus);
}
END_TEST

START_TEST(what_a_kubelet_chose_is_kept)
{
	uint8_t found[4] = { 0, 0, 1, 1 }, chosen[4] = { 0, 1, 1, 0 };
	uint8_t other[4] = { 0, 1, 1, 1 };

	kubelet_keep(found, chosen, 4);
	ck_assert_mem_eq(found, chosen, 4);
	kubelet_keep(found, other, 4);
	ck_assert_mem_eq(found, chosen, 4);
}
END_TEST

SUITE(kubelet)
{
	tcase_add_loop_test(tc, place_case, 0, ARRAY_SIZE(cases));
	tcase_add_test(tc, what_a_kubelet_chose_is_kept);
}
