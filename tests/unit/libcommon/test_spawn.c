/* test_spawn.c - programs that an admin names are started, however long that
 * takes */
#include "libcommon/spawn.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libcommon/mem.h"
#include "tests/unit/check.h"

static const struct {
	const char *argv[4], *out;
	int status;
} cases[] = {
	{ { "/bin/echo", "a b", "$c", NULL }, "a b $c\n", 0 },
	{ { "/usr/bin/env", NULL },
	  "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n",
	  0 },
	{ { "/bin/sh", "-c", "echo x >&2; exit 3", NULL }, "x\n", 3 },
	/* whoever starts it does not wait for the exec, which may take for
	 * ever */
	{ { "/no/such/program", NULL }, "/no/such/program: ", 127 },
	{ { "/", NULL }, "/: ", 126 },
};

START_TEST(spawn_case)
{
	int status, fd = memfd_create("out", MFD_CLOEXEC);
	char text[200] = "";
	pid_t pid;

	ck_assert_int_eq(spawn_program(cases[_i].argv, -1, fd, &pid), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), cases[_i].status);
	ck_assert_int_ge(pread(fd, text, sizeof(text) - 1, 0), 0);
	/* The shell says in its own words why it cannot start a program. */
	if (cases[_i].status > 125)
		text[strlen(cases[_i].out)] = '\0';
	ck_assert_str_eq(text, cases[_i].out);
	close(fd);
}
END_TEST

START_TEST(it_reads_what_it_is_given)
{
	static const char *const argv[] = { "/bin/cat", NULL };
	int in = memfd_create("in", MFD_CLOEXEC), status;
	int out = memfd_create("out", MFD_CLOEXEC);
	char text[20] = "";
	pid_t pid;

	ck_assert_int_eq(pwrite(in, "mail\n", 5, 0), 5);
	ck_assert_int_eq(spawn_program(argv, in, out, &pid), 0);
	ck_assert_int_eq(getpgid(pid), pid);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(pread(out, text, sizeof(text), 0), 5);
	ck_assert_str_eq(text, "mail\n");
	close(in);
	close(out);
}
END_TEST

SUITE(spawn)
{
	tcase_add_loop_test(tc, spawn_case, 0, (int)ARRAY_SIZE(cases));
	tcase_add_test(tc, it_reads_what_it_is_given);
}
