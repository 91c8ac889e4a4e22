/* test_environ.c - the environments of other processes */
#include "libcommon/environ.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/check.h"

START_TEST(values_and_variables)
{
	static const char text[] = "A=1\0AB=2\0C=\0D";
	struct buf env = { 0 };

	buf_add(&env, text, sizeof(text));
	ck_assert_str_eq(environ_value(&env, "A"), "1");
	ck_assert_str_eq(environ_value(&env, "AB"), "2");
	ck_assert_str_eq(environ_value(&env, "C"), "");
	ck_assert_ptr_null(environ_value(&env, "D"));
	ck_assert_ptr_null(environ_value(&env, "B"));
	ck_assert(environ_has(&env, "AB=2"));
	ck_assert(!environ_has(&env, "B=2"));
	ck_assert(!environ_has(&env, "A=12"));
	buf_free(&env);
}
END_TEST

static void write_script(char *path)
{
	int fd = mkstemp(path);

	ck_assert_int_gt(dprintf(fd, "#!/bin/sh\nexec \"$0\"\n"), 0);
	ck_assert_int_eq(fchmod(fd, 0700), 0);
	close(fd);
}

START_TEST(a_process_that_execs_keeps_its_environment)
{
	char script[] = "/tmp/test-environ-XXXXXX";
	struct buf env = { 0 };
	int known = 0, status;
	pid_t child;

	write_script(script);
	child = fork();
	if (child == 0) {
		execle(script, script, NULL,
		       (char *[]){ (char[]){ "MARK=x" }, NULL });
		_exit(127);
	}
	/* The child has the variable after its first exec. */
	while (environ_read(child, &env) || !environ_has(&env, "MARK=x"))
		ck_assert_int_eq(waitpid(child, &status, WNOHANG), 0);
	for (int i = 0; i < 5000 || known < 100; i++) {
		int code = environ_read(child, &env);

		ck_assert(code == 0 || code == EAGAIN);
		ck_assert(code == EAGAIN || environ_has(&env, "MARK=x"));
		known += !code;
	}
	kill(child, SIGKILL);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(environ_read(child, &env), ESRCH);
	unlink(script);
	buf_free(&env);
}
END_TEST

START_TEST(an_empty_one_is_known)
{
	struct buf env = { 0 };
	int status, out[2];
	pid_t child;
	char c;

	ck_assert_int_eq(pipe(out), 0);
	child = fork();
	if (child == 0) {
		dup2(out[1], STDOUT_FILENO);
		execle("/bin/sh", "sh", "-c", "echo; kill -STOP $$", NULL,
		       (char *[]){ NULL });
		_exit(127);
	}
	ck_assert_int_eq(read(out[0], &c, 1), 1);
	ck_assert_int_eq(environ_read(child, &env), 0);
	ck_assert_uint_eq(env.len, 0);
	kill(child, SIGKILL);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	buf_free(&env);
}
END_TEST

SUITE(environ)
{
	tcase_add_test(tc, values_and_variables);
	tcase_add_test(tc, a_process_that_execs_keeps_its_environment);
	tcase_add_test(tc, an_empty_one_is_known);
}
