#include "libcommon/spec/devices.h"

#include <errno.h>
#include <string.h>

#include "libcommon/mem.h"
#include "tests/unit/check.h"

static const char *const kinds[] = { "rdma", "fpga" };

/* want: the numbers as text again, or the error */
static const struct {
	const char *text, *want;
} cases[] = {
	{ "rdma", "rdma:1" },
	{ "fpga:2,rdma:9999", "rdma:9999,fpga:2" },
	{ "rdma,fpga,rdma:2", "rdma:3,fpga:1" },
	{ "rdm", "there is no device 'rdm'" },
	{ "rdmaa:1", "there is no device 'rdmaa'" },
	{ "rdma:0",
	  "bad devices 'rdma:0': a number from 1 to 9999 is expected" },
	{ "rdma:10000",
	  "bad devices 'rdma:10000': a number from 1 to 9999 is expected" },
	{ "rdma:99999999999999999999999",
	  "bad devices 'rdma:99999999999999999999999': a number from 1 to 9999 "
	  "is expected" },
	{ "rdma:9999,rdma",
	  "bad devices 'rdma:9999,rdma': more than 9999 of 'rdma'" },
	{ "", "bad devices '': use NAME[:N][:pcie|:numa]" },
	{ "rdma,", "bad devices 'rdma,': use NAME[:N][:pcie|:numa]" },
	{ ",rdma", "bad devices ',rdma': use NAME[:N][:pcie|:numa]" },
	{ "rdma:", "bad devices 'rdma:': use NAME[:N][:pcie|:numa]" },
	{ "rdma:2:numa", "rdma:2 numa=1" },
	{ "rdma:pcie,fpga:2:numa,rdma:3:pcie", "rdma:4,fpga:2 pcie=1 numa=2" },
	{ "rdma:2:pci", "bad devices 'rdma:2:pci': use NAME[:N][:pcie|:numa]" },
	{ "rdma:pcie:2",
	  "bad devices 'rdma:pcie:2': use NAME[:N][:pcie|:numa]" },
	{ "rdma:pcie,rdma",
	  "bad devices 'rdma:pcie,rdma': 'rdma' must be in one "
	  "place: all of them :pcie, all :numa, or none" },
	{ "rdma:-1", "bad devices 'rdma:-1': use NAME[:N][:pcie|:numa]" },
};

START_TEST(device_case)
{
	struct device_need need;
	struct buf text = { 0 };
	struct err why;

	if (devices_parse_need(kinds, ARRAY_SIZE(kinds), cases[_i].text, &need,
	                       &why) < 0) {
		ck_assert_str_eq(why.text, cases[_i].want);
		ck_assert_int_eq(devices_check(cases[_i].text, NULL) < 0,
		                 why.code != ENOENT &&
		                     !strstr(why.text, "more than") &&
		                     !strstr(why.text, "one place"));
		return;
	}
	ck_assert_int_eq(devices_check(cases[_i].text, NULL), 0);
	devices_put(kinds, ARRAY_SIZE(kinds), &need.counts, "", &text);
	if (need.pcie)
		buf_printf(&text, " pcie=%d", need.pcie);
	if (need.numa)
		buf_printf(&text, " numa=%d", need.numa);
	ck_assert_str_eq(text.data, cases[_i].want);
	buf_free(&text);
}
END_TEST

SUITE(devices)
{
	tcase_add_loop_test(tc, device_case, 0, ARRAY_SIZE(cases));
}
