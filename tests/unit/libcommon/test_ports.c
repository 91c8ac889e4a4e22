/* test_ports.c - ports of jobs that have names */
#include "libcommon/spec/ports.h"

#include <string.h>

#include "libcommon/jobid.h"
#include "libcommon/mem.h"
#include "tests/unit/check.h"

#define NAME_63 \
	"a23456789012345678901234567890123456789012345678901234567890123"

static const struct {
	const char *ports, *why; /* NULL: accepted */
} checked[] = {
	{ "a=1", NULL },
	{ "jupyter=8888,b-2=65535", NULL },
	{ "web=080", NULL },
	{ NAME_63 "=80", NULL },
	{ "a=1,b=2,c=3,d=4,e=5,f=6,g=7,h=8", NULL },
	{ "a=1,b=2,c=3,d=4,e=5,f=6,g=7,h=8,i=9",
	  "a job may have 8 ports with names" },
	{ "a=1,b=2,a=3", "two ports have the name 'a'" },
	{ "a=80,b=80", "port 80 has two names: give it one" },
	{ "a=80,b=080", "port 80 has two names: give it one" },
	{ "a=0", "bad port 'a=0': ports are 1 to 65535" },
	{ "a=65536", "bad port 'a=65536': ports are 1 to 65535" },
	{ "a=-1", "bad port 'a=-1': ports are 1 to 65535" },
	{ "a=", "bad port 'a=': ports are 1 to 65535" },
	{ "a=8x", "bad port 'a=8x': ports are 1 to 65535" },
	{ "a=1=2", "bad port 'a=1=2': ports are 1 to 65535" },
	{ "a=99999999999999999999", "bad port *" },
	{ "a", "bad port 'a': use NAME=PORT, *" },
	{ "", "bad port '': use NAME=PORT, *" },
	{ "a=1,", "bad port '': use NAME=PORT, *" },
	{ "=1", "bad port '=1': use NAME=PORT, *" },
	{ "8888=8888", "bad port '8888=8888': use NAME=PORT, *" },
	{ "Web=80", "bad port *" },
	{ "-a=80", "bad port *" },
	{ "a-=80", "bad port *" },
	{ "a_b=80", "bad port *" },
	{ "a.b=80", "bad port *" },
	{ "\xc3\xa4=80", "bad port *" },
	{ NAME_63 "4=80", "bad port *" },
};

START_TEST(ports_are_checked)
{
	struct err err = { 0 };
	int rc = ports_check(checked[_i].ports, &err);

	ck_assert_int_eq(rc, checked[_i].why ? -1 : 0);
	if (checked[_i].why)
		ck_assert_msg(glob_match(checked[_i].why, err.text), "%s",
		              err.text);
}
END_TEST

START_TEST(ports_are_found_by_name)
{
	ck_assert_uint_eq(ports_find("a=1,ab=22,b=65535", "a"), 1);
	ck_assert_uint_eq(ports_find("a=1,ab=22,b=65535", "ab"), 22);
	ck_assert_uint_eq(ports_find("a=1,ab=22,b=65535", "b"), 65535);
	ck_assert_uint_eq(ports_find("a=1,ab=22", "abc"), 0);
	ck_assert_uint_eq(ports_find("a=1,ab=22", ""), 0);
	ck_assert_uint_eq(ports_find(NULL, "a"), 0);
}
END_TEST

START_TEST(a_service_has_a_name_of_dns)
{
	struct buf name = { 0 };

	ports_service("My.Cluster", 17, &name);
	ck_assert_str_eq(name.data, "aj-my-cluster-17-ports");
	buf_clear(&name);
	ports_service("a-very-long-name-of-a-cluster", UINT64_MAX, &name);
	ck_assert_uint_lt(name.len, JOBID_OBJECT_SIZE);
	buf_free(&name);
}
END_TEST

SUITE(ports)
{
	tcase_add_loop_test(tc, ports_are_checked, 0, ARRAY_SIZE(checked));
	tcase_add_test(tc, ports_are_found_by_name);
	tcase_add_test(tc, a_service_has_a_name_of_dns);
}
