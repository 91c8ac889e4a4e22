/*
 * test_inventory.c - the resources found on machines that hwloc describes
 *
 * The machines are invented: one whose GPUs are linked in pairs, and one whose
 * GPUs are all linked through switches.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/local/inventory.h"
#include "libcommon/mem.h"
#include "tests/unit/check.h"

struct want {
	const char *file, *type, *numa, *link, *last;
};

static const struct want wants[] = {
	{ "pairs", "p100", "0011", "0011", "GPU-00000003" },
	{ "switched", "v100", "00001111", "00000000", "GPU-00000007" },
};

static void digits(char *out, const uint8_t *number, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		out[i] = (char)('0' + number[i]);
	out[n] = '\0';
}

START_TEST(gpus_and_numa_nodes_are_those_of_hwloc)
{
	const struct want *want = &wants[_i];
	const char *top = getenv("top_srcdir");
	struct arena *arena = arena_new();
	struct machine machine;
	char path[4096], text[LIMIT_GPUS + 1];
	struct err err;

	snprintf(path, sizeof(path), "%s/tests/unit/run/local/machines/%s.xml",
	         top ? top : ".", want->file);
	setenv("HWLOC_XMLFILE", path, 1);
	ck_assert_int_eq(machine_discover(&machine, NULL, NULL, 0, arena, &err),
	                 0);
	unsetenv("HWLOC_XMLFILE");
	ck_assert_uint_eq(machine.node.ngpus, strlen(want->numa));
	ck_assert_str_eq(machine.node.gpu_type, want->type);
	digits(text, machine.node.gpu_numa, machine.node.ngpus);
	ck_assert_str_eq(text, want->numa);
	digits(text, machine.node.gpu_link, machine.node.ngpus);
	ck_assert_str_eq(text, want->link);
	ck_assert_str_eq(machine.gpus.id[machine.node.ngpus - 1].uuid,
	                 want->last);
	ck_assert_uint_eq(machine.node.nnumas, 2);
	ck_assert_int_gt(machine.node.numa_mem[0], 0);
	ck_assert_int_eq(machine.node.numa_mem[0], machine.node.numa_mem[1]);
	ck_assert_int_le(machine.node.numa_mem[0] * 2, machine.node.mem_mib);
	arena_free(arena);
}
END_TEST

START_TEST(devices_are_near_gpus)
{
	static const char *const patterns[] = { "15b3:*" };
	const struct conf_device kind = { .name = "rdma",
		                          .pci = { 1, patterns } };
	const char *top = getenv("top_srcdir");
	struct arena *arena = arena_new();
	const struct node_info *node;
	struct machine machine;
	char path[4096];
	struct err err;

	snprintf(path, sizeof(path), "%s/tests/unit/run/local/machines/%s.xml",
	         top ? top : ".", "pairs");
	setenv("HWLOC_XMLFILE", path, 1);
	ck_assert_int_eq(
	    machine_discover(&machine, NULL, &kind, 1, arena, &err), 0);
	unsetenv("HWLOC_XMLFILE");
	node = &machine.node;
	ck_assert_uint_eq(node->ndevices, 2);
	ck_assert_int_eq(node->devs.n[0], 2);
	ck_assert_str_eq(node->device[1].name, "0000:43:00.0");
	ck_assert_uint_eq(node->device[0].numa, 0);
	ck_assert_uint_eq(node->device[1].numa, 1);
	ck_assert_uint_ne(node->gpu_root[0], 0);
	ck_assert_uint_eq(node->gpu_root[0], node->device[0].root);
	ck_assert_uint_eq(node->gpu_root[3], node->device[1].root);
	ck_assert_uint_ne(node->gpu_root[0], node->gpu_root[3]);
	arena_free(arena);
}
END_TEST

START_TEST(link_groups_are_cliques_at_half_the_best_width)
{
	/* The link widths between 4 GPUs: the upper half of their matrix, row
	 * by row. */
	static const struct {
		uint64_t width[6];
		const char *link;
	} cases[] = {
		{ { 2, 1, 1, 1, 1, 2 }, "0000" },
		{ { 3, 1, 1, 1, 1, 3 }, "0011" },
		{ { 1, 0, 0, 1, 0, 1 }, "0011" }, /* a chain */
		{ { 0, 0, 4, 4, 0, 0 }, "0110" },
		{ { 0, 0, 0, 0, 0, 1 }, "0122" },
	};
	uint64_t width[16];
	uint8_t link[4];
	char text[5];

	for (size_t c = 0; c < ARRAY_SIZE(cases); c++) {
		const uint64_t *from = cases[c].width;

		memset(width, 0, sizeof(width));
		for (int i = 0; i < 4; i++)
			for (int j = i + 1; j < 4; j++)
				width[i * 4 + j] = width[j * 4 + i] = *from++;
		ck_assert(gpus_group(4, width, link));
		digits(text, link, 4);
		ck_assert_msg(!strcmp(text, cases[c].link), "case %zu: %s", c,
		              text);
	}
	memset(width, 0, sizeof(width));
	ck_assert(!gpus_group(4, width, link));
}
END_TEST

SUITE(inventory)
{
	tcase_add_loop_test(tc, gpus_and_numa_nodes_are_those_of_hwloc, 0,
	                    ARRAY_SIZE(wants));
	tcase_add_test(tc, devices_are_near_gpus);
	tcase_add_test(tc, link_groups_are_cliques_at_half_the_best_width);
}
