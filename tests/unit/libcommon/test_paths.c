#include "libcommon/paths.h"

#include <stdlib.h>
#include <unistd.h>

#include "libcommon/conf/conf.h"
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

/* After su, XDG_RUNTIME_DIR may still be that of the calling user. */
START_TEST(folder_of_another_user_is_not_used)
{
	char dir[] = "/tmp/test-paths.XXXXXX", *ours, *tmp, *got;
	uid_t uid = geteuid() ? geteuid() : 65534;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	setenv("XDG_RUNTIME_DIR", dir, 1);
	got = conf_default_socket();
	if (geteuid() == 0) {
		ck_assert_str_eq(got, "/run/aisched/aischedd.sock");
		free(got);
		ck_assert_int_eq(seteuid(uid), 0);
		got = conf_default_socket();
		tmp = xasprintf("/tmp/aisched-%u/aischedd.sock", (unsigned)uid);
		ck_assert_str_eq(got, tmp);
		ck_assert_int_eq(seteuid(0), 0);
		free(tmp);
	} else {
		ours = xasprintf("%s/aisched/aischedd.sock", dir);
		ck_assert_str_eq(got, ours);
		free(ours);
	}
	free(got);
	rmdir(dir);
}
END_TEST

SUITE(paths)
{
	tcase_add_test(tc, folder_of_another_user_is_not_used);
	tcase_add_loop_test(tc, address_case, 0, ARRAY_SIZE(cases));
}
