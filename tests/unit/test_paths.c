#include "libcommon/paths.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/mem.h"
#include "tests/unit/check.h"

static const struct {
	const char *address, *host, *port; /* host NULL: a path */
	int want;
} cases[] = {
	{ "/run/aisched/aischedd.sock", NULL, NULL, 0 },
	{ "aischedd.sock", NULL, NULL, 0 },
	{ "./odd:name", NULL, NULL, 0 },
	{ "tcp://head:7117", "head", "7117", 1 },
	{ "head:7117", "head", "7117", 1 },
	{ "tcp://[::1]:7117", "::1", "7117", 1 },
	{ "tcp://:7117", "", "7117", 1 },
	{ "tcp://head", NULL, NULL, -1 },
	{ "tcp://head:", NULL, NULL, -1 },
	{ "tcp://[::1:7117", NULL, NULL, -1 },
	{ "tcp://head:7117/x", NULL, NULL, -1 },
	{ "", NULL, NULL, -1 },
};

START_TEST(address_case)
{
	char *host = NULL, *port = NULL;
	struct err err;
	int got = address_parse(cases[_i].address, &host, &port, &err);

	ck_assert_msg(got == cases[_i].want, "'%s': got %d", cases[_i].address,
	              got);
	if (got == -1)
		ck_assert_int_eq(err.code, EINVAL);
	if (got == 1) {
		ck_assert_str_eq(host, cases[_i].host);
		ck_assert_str_eq(port, cases[_i].port);
	}
	free(host);
	free(port);
}
END_TEST

SUITE(paths)
{
	tcase_add_loop_test(tc, address_case, 0, ARRAY_SIZE(cases));
}
