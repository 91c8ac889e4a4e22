/* test_local_start.c - jobs start, or their users are told why not */
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/dead_mount.h"
#include "tests/unit/run/local/world.h"

enum { MANY = 400 };

static bool file_has(const char *path, const char *text)
{
	FILE *file = fopen(path, "r");
	char line[1024];
	bool has = false;

	ck_assert_ptr_nonnull(file);
	while (!has && fgets(line, sizeof(line), file))
		has = strstr(line, text) != NULL;
	fclose(file);
	return has;
}

static void copy_file(const char *from, const char *to)
{
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);

	ck_assert_int_ge(in, 0);
	ck_assert_int_ge(out, 0);
	while (sendfile(out, in, NULL, 1 << 20) > 0)
		;
	close(in);
	close(out);
}

static const struct {
	const char *name;
	struct local_job job;
	const char *text;
} faults[] = {
	{ "no such interpreter",
	  { .script = "#!/no/such/shell -x\n" },
	  "cannot run the script with its interpreter '/no/such/shell': No "
	  "such file or directory" },
	{ "interpreter is no program",
	  { .script = "#! /etc/passwd\n" },
	  "cannot run the script with its interpreter '/etc/passwd': Permission "
	  "denied" },
	{ "no such working directory",
	  { .script = "true", .workdir = "/no/such" },
	  "cannot enter working directory '/no/such': No such file or "
	  "directory" },
	{ "output is a folder",
	  { .script = "true", .output = "/tmp" },
	  "cannot open output '/tmp': Is a directory" },
	{ "no such input",
	  { .script = "true", .input = "/no/such" },
	  "cannot open input '/no/such': No such file or directory" },
	{ "a folder cannot be made",
	  { .script = "true", .output = "/proc/no/out" },
	  "cannot open output '/proc/no/out': No such file or directory" },
};

LOCAL_TEST(faults_of_the_user_are_said)
{
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		struct local_job job = faults[i].job;
		const struct local_seen *s;

		job.id = i + 1;
		lw_start(w, &job);
		s = lw_expect(w, RUN_START_FAILED, i + 1);
		ck_assert_msg(s->fault == FAULT_USER, "%s", faults[i].name);
		ck_assert_str_eq(s->text, faults[i].text);
	}
}

LOCAL_TEST(output_of_others_is_not_writable)
{
	const struct local_seen *s;

	if (w->mode == LOCAL_SELF)
		return;
	lw_start(w, JOB(.script = "true", .output = "/etc/aisched-test"));
	s = lw_expect(w, RUN_START_FAILED, 1);
	ck_assert_int_eq(s->fault, FAULT_USER);
	ck_assert_str_eq(s->text, "cannot open output '/etc/aisched-test': "
	                          "Permission denied");
}

/* Mount a file system in which no file can be made: "No space left on
 * device". */
static bool mount_full(const char *path)
{
	return mkdir(path, 0777) == 0 &&
	       mount("none", path, "tmpfs", 0, "size=4k,nr_inodes=1") == 0 &&
	       chmod(path, 01777) == 0;
}

START_TEST(a_full_disk_of_the_user_is_not_the_nodes_fault)
{
	char path[128];
	const struct local_seen *s;
	struct local_world w;

	if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return;
	if (!lw_begin(&w, _i))
		return;
	snprintf(path, sizeof(path), "%s/work/full", w.dir);
	if (geteuid() != 0 || !mount_full(path)) {
		rmdir(path);
		lw_finish(&w);
		return;
	}
	lw_start(&w, JOB(.script = "true", .output = "full/out"));
	s = lw_expect(&w, RUN_START_FAILED, 1);
	ck_assert_int_eq(s->fault, FAULT_USER);
	ck_assert_ptr_nonnull(strstr(s->text, "No space left on device"));
	ck_assert_int_eq(umount(path), 0);
	lw_finish(&w);
}
END_TEST

/* Limits of the user that are so low that the script cannot be started, or ends
 * at once. */
static const char *const little[] = { "AS=1:1",   "DATA=0:0",   "STACK=0:0",
	                              "CPU=0:0",  "NOFILE=0:0", "NPROC=0:0",
	                              "FSIZE=0:0" };

LOCAL_TEST(little_that_the_user_may_is_not_the_nodes_fault)
{
	const struct local_seen *s;

	for (size_t i = 0; i < ARRAY_SIZE(little); i++) {
		lw_start(w, JOB(.id = i + 1, .script = "true",
		                .rlimits = little[i]));
		do
			s = lw_next(w);
		while (s->kind == RUN_STARTED);
		ck_assert_msg(s->kind == RUN_ENDED || s->fault == FAULT_USER,
		              "%s: %s", little[i], s->text);
	}
}

LOCAL_TEST(the_job_runs_as_its_user)
{
	char want[32];

	lw_run_job(w, JOB(.script = "id -u; umask"));
	snprintf(want, sizeof(want), "%u\n0022\n",
	         w->mode == LOCAL_SELF ? geteuid() : LOCAL_NOBODY);
	ck_assert_str_eq(lw_content(w, "out"), want);
}

LOCAL_TEST(it_is_bound_to_the_cpus_of_the_plan)
{
	for (uint32_t cpu = 0; cpu < w->ncpus && cpu < 2; cpu++) {
		struct local_seen s =
		    *lw_run_job(w, JOB(.id = cpu + 1, .cpu = cpu,
		                       .script = "nproc; grep -c . "
		                                 "/proc/self/status"));
		ck_assert_int_eq(s.out.exit_code, 0);
		ck_assert_int_eq(lw_content(w, "out")[0], '1');
	}
}

LOCAL_TEST(many_starts_at_once_all_happen)
{
	for (uint64_t id = 1; id <= MANY; id++)
		lw_start(w, JOB(.id = id, .script = "true", .cpus_milli = 50));
	for (size_t started = 0, ended = 0; ended < MANY;) {
		const struct local_seen *s = lw_next(w);

		started += s->kind == RUN_STARTED;
		ended += s->kind == RUN_ENDED;
		ck_assert(s->kind == RUN_STARTED || s->kind == RUN_ENDED);
		ck_assert_uint_ge(started, ended);
	}
}

/* Make a copy of the shell with a lease on it, so that execve() of it waits
 * until the lease is given back, or for 45 s. Returns the descriptor with the
 * lease. */
static int lease_shell(struct local_world *w)
{
	char path[160];
	sigset_t io;
	int fd;

	sigemptyset(&io);
	sigaddset(&io, SIGIO);
	sigprocmask(SIG_BLOCK, &io, NULL);
	snprintf(path, sizeof(path), "%s/work/sh", w->dir);
	copy_file("/bin/sh", path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fcntl(fd, F_SETLEASE, F_WRLCK), 0);
	return fd;
}

static void start_leased(struct local_world *w, uint64_t id)
{
	struct timespec patience = { .tv_sec = LOCAL_PATIENCE };
	char script[200];
	sigset_t io;

	snprintf(script, sizeof(script), "#!%s/work/sh\ntrue\n", w->dir);
	lw_start(w, JOB(.id = id, .script = script));
	sigemptyset(&io);
	sigaddset(&io, SIGIO);
	ck_assert_int_eq(sigtimedwait(&io, NULL, &patience), SIGIO);
}

LOCAL_TEST(a_start_that_hangs_can_be_stopped)
{
	const struct local_seen *s;
	int lease;

	lease = lease_shell(w);
	start_leased(w, 1);
	lw_stop(w, 1, STOP_CANCEL, 0);
	lw_expect(w, RUN_STARTED, 1);
	s = lw_expect(w, RUN_ENDED, 1);
	ck_assert_int_ne(s->out.signal, 0);
	close(lease);
}

LOCAL_TEST(a_start_that_hangs_ends_by_itself)
{
	const struct local_seen *s;
	int lease;

	/* Run this test in one mode only: it takes long, and the mode makes no
	 * difference. */
	if (w->mode != LOCAL_SELF)
		return;
	lease = lease_shell(w);
	start_leased(w, 1);
	s = lw_expect(w, RUN_START_FAILED, 1);
	ck_assert_int_eq(s->fault, FAULT_USER);
	ck_assert_ptr_nonnull(strstr(s->text, "did not run the script"));
	close(lease);
}

START_TEST(outputs_that_cannot_be_opened_end_the_start)
{
	char path[128];
	const struct local_seen *s;
	struct local_world w;
	int fuse;

	/* Run this test in one mode only, as root: it takes long, and only root
	 * may mount. */
	if (_i != LOCAL_OTHER || geteuid() != 0 || !dead_mount_may() ||
	    !lw_begin(&w, _i))
		return;
	snprintf(path, sizeof(path), "%s/work/dead", w.dir);
	fuse = dead_mount(path);
	if (fuse < 0) {
		lw_finish(&w);
		return;
	}
	lw_start(&w, JOB(.script = "true", .output = "dead/out"));
	s = lw_expect(&w, RUN_START_FAILED, 1);
	ck_assert_int_eq(s->fault, FAULT_USER);
	ck_assert_ptr_nonnull(strstr(s->text, "could not be opened within"));
	ck_assert_int_eq(umount2(path, MNT_DETACH), 0);
	close(fuse);
	lw_finish(&w);
}
END_TEST

LOCAL_TEST(input_shows_nothing_of_the_shepherd)
{
	const struct local_seen *s;

	lw_start(w, JOB(.script = "cat", .input = "/proc/self/maps"));
	s = lw_expect(w, RUN_START_FAILED, 1);
	ck_assert_int_eq(s->fault, FAULT_USER);
	ck_assert_ptr_nonnull(strstr(s->text, "/proc"));
}

/* The daemon has a key that only processes with its session keyring can read.
 * Jobs must not have this keyring. */
START_TEST(a_job_does_not_possess_the_keys_of_the_daemon)
{
	const uint32_t possessor = 0x3f000000;
	struct local_world w;
	long key;

	syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
	key = syscall(SYS_add_key, "user", "aisched-secret", "x", (size_t)1,
	              KEY_SPEC_SESSION_KEYRING);
	if (key < 0 && (errno == ENOSYS || errno == EPERM))
		return;
	ck_assert_int_ge(key, 0);
	ck_assert_int_eq(syscall(SYS_keyctl, KEYCTL_SETPERM, key, possessor),
	                 0);
	ck_assert(file_has("/proc/keys", "aisched-secret"));
	if (!lw_begin(&w, _i))
		return;
	lw_run_job(&w, JOB(.script = "cat /proc/keys"));
	ck_assert_ptr_nonnull(strstr(lw_content(&w, "out"), "keyring"));
	ck_assert_ptr_null(strstr(lw_content(&w, "out"), "aisched-secret"));
	lw_finish(&w);
}
END_TEST

SUITE(local_start)
{
	const TTest *const tests[] = {
		faults_of_the_user_are_said,
		output_of_others_is_not_writable,
		a_full_disk_of_the_user_is_not_the_nodes_fault,
		little_that_the_user_may_is_not_the_nodes_fault,
		the_job_runs_as_its_user,
		it_is_bound_to_the_cpus_of_the_plan,
		many_starts_at_once_all_happen,
		a_start_that_hangs_can_be_stopped,
		a_start_that_hangs_ends_by_itself,
		outputs_that_cannot_be_opened_end_the_start,
		input_shows_nothing_of_the_shepherd,
		a_job_does_not_possess_the_keys_of_the_daemon,
	};

	for (size_t i = 0; i < ARRAY_SIZE(tests); i++)
		tcase_add_loop_test(tc, tests[i], 0, LOCAL_MODES);
}
