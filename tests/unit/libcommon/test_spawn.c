/* test_spawn.c - start programs named by an admin, however long that takes */
#include "libcommon/spawn.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libcommon/mem.h"
#include "tests/unit/check.h"
#include "tests/unit/dead_mount.h"

static const struct {
	const char *argv[4], *out;
	int status;
} cases[] = {
	{ { "/bin/echo", "a b", "$c", NULL }, "a b $c\n", 0 },
	{ { "/usr/bin/env", NULL },
	  "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n",
	  0 },
	{ { "/bin/sh", "-c", "echo x >&2; exit 3", NULL }, "x\n", 3 },
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
	/* Cut off the shell's own message that it cannot start a program. */
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

START_TEST(an_exec_that_hangs_holds_nobody_up)
{
	char path[] = "/tmp/aisched-dead.XXXXXX", program[40];
	const char *const argv[] = { program, NULL };
	int fd = memfd_create("out", MFD_CLOEXEC), fuse, status;
	pid_t pid;

	if (!dead_mount_may())
		return;
	ck_assert_ptr_nonnull(mkdtemp(path));
	ck_assert_int_eq(rmdir(path), 0);
	fuse = dead_mount(path);
	if (fuse < 0)
		return;
	snprintf(program, sizeof(program), "%s/x", path);
	ck_assert_int_eq(spawn_program(argv, -1, fd, &pid), 0);
	/* When the file server ends, so does the program. */
	ck_assert_int_eq(close(fuse), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	ck_assert_int_ge(WEXITSTATUS(status), 126);
	ck_assert_int_eq(umount2(path, MNT_DETACH), 0);
	ck_assert_int_eq(rmdir(path), 0);
	close(fd);
}
END_TEST

START_TEST(a_shell_takes_many_words)
{
	static const char *const env[] = { "A=b", NULL };
	const char *argv[40] = { "/usr/bin/env", "sh", "-c", "echo $#$A" };
	int fd = memfd_create("out", MFD_CLOEXEC), status;
	const struct spawn s = { .argv = argv,
		                 .env = env,
		                 .fd = (int[]){ -1, fd },
		                 .nfd = 2,
		                 .by_shell = true };
	char text[20] = "";
	pid_t pid;

	for (size_t i = 4; i < 39; i++)
		argv[i] = "x";
	ck_assert_int_eq(spawn(&s, &pid), 0);
	ck_assert_int_eq(getpgid(pid), getpgid(0));
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_ge(pread(fd, text, sizeof(text) - 1, 0), 0);
	ck_assert_str_eq(text, "34b\n");
	close(fd);
}
END_TEST

SUITE(spawn)
{
	tcase_add_loop_test(tc, spawn_case, 0, (int)ARRAY_SIZE(cases));
	tcase_add_test(tc, it_reads_what_it_is_given);
	tcase_add_test(tc, an_exec_that_hangs_holds_nobody_up);
	tcase_add_test(tc, a_shell_takes_many_words);
}
