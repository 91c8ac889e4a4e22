#include "aischedd/run/kube/object/output.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aischedd/run/kube/object/mount.h"
#include "aischedd/run/shepherd/tree.h"
#include "libcommon/mem.h"
#include "tests/unit/check.h"

static const char *const nodes[] = { "a.b", "c" };
static struct spec spec;
static struct request req;
static struct run_job job;

static void setup(void)
{
	spec_init(&spec);
	spec.name = "it's";
	spec.workdir = "/home/me";
	req = (struct request){ .tasks = 1 };
	job = (struct run_job){ .job = 17,
		                .user = "me",
		                .spec = &spec,
		                .req = &req,
		                .ntasks = 1,
		                .node_name = nodes };
}

static char *told(void)
{
	struct buf out = { 0 };

	kube_output_env(&out, &job, 1000);
	return buf_take(&out);
}

#define IN   "aisched_in='/dev/null'\n"
#define JOIN "aisched_join=yes\n"
#define ANEW "aisched_since=99999999999\n"
#define RANK "\"$(printf %02d \"$JOB_COMPLETION_INDEX\")\""

static const struct {
	const char *name, *mount, *output, *error, *told;
	bool all; /* the pod writes all output; none is left for the daemon */
} cases[] = {
	{ "no mount", NULL, "/data/x", NULL, IN JOIN ANEW, false },
	{ "below one", "/data", "/data/%j-%x", NULL,
	  IN "aisched_out='/data/17-it'\\''s'\n" JOIN ANEW, true },
	{ "beside one", "/data", "/database", NULL, IN JOIN ANEW, false },
	{ "out of one", "/data", "/data/../x", NULL, IN JOIN ANEW, false },
	{ "to read only", "/data:ro", "/data/x", NULL, IN JOIN ANEW, false },
	{ "the innermost counts", "/data,/data/sets:ro", "/data/sets/x", NULL,
	  IN JOIN ANEW, false },
	{ "from the folder it begins in", "pvc:home:/home", "x%N", NULL,
	  IN "aisched_out='/home/me'/'xa'\n" JOIN ANEW, true },
	{ "each task its own", "/data", "/data/%2t%%t", NULL,
	  IN "aisched_out='/data/'" RANK "'%t'\n" JOIN ANEW, true },
	{ "one of the two is kept", "/data", "/data/x", "/tmp/y",
	  IN "aisched_out='/data/x'\n" ANEW, false },
	{ "the other", "/data", "/tmp/x", "/data/y",
	  IN "aisched_err='/data/y'\n" ANEW, false },
	{ "nowhere", NULL, "/dev/null", NULL,
	  IN "aisched_out='/dev/null'\n" JOIN ANEW, true },
};

START_TEST(where_output_goes)
{
	char *text;

	spec.mount = cases[_i].mount;
	spec.output = cases[_i].output;
	spec.error = cases[_i].error;
	text = told();
	ck_assert_msg(!strcmp(text, cases[_i].told), "%s: told\n%s",
	              cases[_i].name, text);
	ck_assert_int_eq(kube_output_all_files(&job), cases[_i].all);
	free(text);
}
END_TEST

/* The script is told since when pods of this job run: a file changed since then
 * is not truncated again. With append, no file is truncated. */
START_TEST(what_is_made_anew)
{
	char *text;

	spec.output = "x";
	spec.mount = "/home";
	job.ntasks = req.tasks = 2;
	text = told();
	ck_assert_ptr_nonnull(strstr(text, "aisched_since=1000\n"));
	free(text);
	job.append = true;
	text = told();
	ck_assert_ptr_nonnull(strstr(text, "aisched_since=0\n"));
	free(text);
}
END_TEST

static const struct {
	const char *list, *path, *file, *claim;
} found[] = {
	{ "/data:/mnt", "/mnt/a/b", "/data/a/b", NULL },
	{ "/data", "/data/a", "/data/a", NULL },
	{ "/x:/,/data", "/a", "/x/a", NULL },
	{ "pvc:home:/home", "/home/a", "/home/a", "home" },
	{ "/data,pvc:c:/data/in", "/data/in/a", "/data/in/a", "c" },
	{ "/data:/mnt", "/data/a", NULL, NULL },
	{ "nonsense", "/data/a", NULL, NULL },
	{ NULL, "/data/a", NULL, NULL },
};

START_TEST(where_a_file_is_outside)
{
	struct kube_mount_file at = { 0 };
	bool is = kube_mount_find(found[_i].list, found[_i].path, &at);

	ck_assert_int_eq(is, found[_i].file != NULL);
	if (!is)
		return;
	ck_assert_str_eq(at.file, found[_i].file);
	ck_assert_pstr_eq(at.claim, found[_i].claim);
	free(at.file);
	free(at.claim);
}
END_TEST

/* --- scripts that a shell runs -------------------------------------------- */

static char dir[] = "/tmp/test_kube_output.XXXXXX";

static char *in_dir(const char *name)
{
	return xasprintf("%s/%s", dir, name);
}

/* Run a command as the first process of a container does, for task 1. */
static void run_shell(const char *what)
{
	struct buf text = { 0 };
	int status;
	pid_t pid;

	buf_puts(&text, "JOB_COMPLETION_INDEX=1\n");
	kube_output_env(&text, &job, 1000);
	buf_puts(&text, kube_output_script);
	buf_puts(&text, what);
	pid = fork();
	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", text.data, (char *)NULL);
		_exit(127);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	buf_free(&text);
}

static void expect(const char *name, const char *want)
{
	char *path = in_dir(name), text[100] = "";
	FILE *f = fopen(path, "r");

	ck_assert_msg(f != NULL, "%s", path);
	ck_assert_uint_lt(fread(text, 1, sizeof(text) - 1, f), sizeof(text));
	ck_assert_str_eq(text, want);
	fclose(f);
	free(path);
}

static void write_old(const char *name, int64_t age)
{
	const struct timespec at[2] = { { .tv_sec = age }, { .tv_sec = age } };
	char *path = in_dir(name);
	FILE *f = fopen(path, "w");

	ck_assert_msg(f != NULL, "%s", path);
	fputs("old\n", f);
	fclose(f);
	ck_assert_int_eq(utimensat(AT_FDCWD, path, at, 0), 0);
	free(path);
}

START_TEST(files_are_opened)
{
	memcpy(dir + sizeof(dir) - 7, "XXXXXX", 6);
	ck_assert_ptr_nonnull(mkdtemp(dir));
	spec.mount = spec.workdir = dir;

	spec.output = "a/b/%t's";
	run_shell("echo out; echo err >&2");
	expect("a/b/1's", "out\nerr\n");
	spec.error = "a/e";
	run_shell("echo out; echo err >&2");
	expect("a/b/1's", "out\n");
	expect("a/e", "err\n");

	spec.output = "x";
	spec.error = NULL;
	spec.input = "a/e";
	write_old("x", 5000000000);
	run_shell("true");
	expect("x", ""); /* the file was truncated */
	job.append = true;
	run_shell("cat <\"$aisched_in\"");
	expect("x", "err\n");
	job.append = false;

	job.ntasks = req.tasks = 2;
	write_old("x", 999);
	run_shell("echo new");
	expect("x", "new\n");
	write_old("x", 1000);
	run_shell("echo new");
	expect("x", "old\nnew\n");
	tree_remove(AT_FDCWD, dir, TREE_ALL);
}
END_TEST

SUITE(kube_output)
{
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_loop_test(tc, where_output_goes, 0, ARRAY_SIZE(cases));
	tcase_add_test(tc, what_is_made_anew);
	tcase_add_loop_test(tc, where_a_file_is_outside, 0, ARRAY_SIZE(found));
	tcase_add_test(tc, files_are_opened);
}
