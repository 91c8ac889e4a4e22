/* test_shepherd.c - functions of the local runner and its shepherd, without
 * jobs */
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aischedd/run/output.h"
#include "aischedd/run/quota.h"
#include "aischedd/run/shepherd/env.h"
#include "aischedd/run/shepherd/order.h"
#include "aischedd/run/shepherd/proc.h"
#include "aischedd/run/shepherd/record.h"
#include "aischedd/run/shepherd/tmp.h"
#include "aischedd/run/shepherd/tree.h"
#include "libcommon/parse.h"
#include "tests/unit/check.h"

#define MPS_MEMORY "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"

/* --- names of files --- */

static const struct {
	const char *name, *pattern, *want;
} patterns[] = {
	{ "relative to the folder", "out", "/w/out" },
	{ "absolute", "/tmp/out", "/tmp/out" },
	{ "job", "%j", "/w/17" },
	{ "array and index", "%A_%a", "/w/12_3" },
	{ "name, user, node, task", "%x.%u.%N.%t", "/w/n m.alice.host.2" },
	{ "index of the node", "%n", "/w/0" },
	{ "a width fills with zeros", "%4j-%6a", "/w/0017-000003" },
	{ "a width has a limit", "%999t", "/w/0000000002" },
	{ "a percent sign", "100%%", "/w/100%" },
	{ "an unknown letter stays", "%q%", "/w/%q%" },
	{ "a backslash turns it off", "\\%j", "/w/%j" },
	{ "in the folder too", "log/%j/out", "/w/log/17/out" },
};

START_TEST(names_are_expanded)
{
	struct output_name name = { .job = 17,
		                    .array_job = 12,
		                    .array_task = 3,
		                    .task = 2,
		                    .name = "n m",
		                    .user = "alice",
		                    .node = "host.example" };
	struct buf out = { 0 };

	output_expand(patterns[_i].pattern, "/w", &name, &out);
	ck_assert_msg(!strcmp(out.data, patterns[_i].want), "%s: got %s",
	              patterns[_i].name, out.data);
	buf_free(&out);
}
END_TEST

START_TEST(a_single_job_is_its_own_array)
{
	struct output_name name = { .job = 17 };
	struct buf out = { 0 };

	output_expand("/%A_%a", "", &name, &out);
	ck_assert_str_eq(out.data, "/17_4294967294");
	buf_free(&out);
}
END_TEST

/* --- processes --- */

/* Start a process that spins, or waits, or runs a program that spins. */
static pid_t fork_idler(char what)
{
	pid_t pid = fork();
	volatile bool idles = pid == 0;

	if (idles && what == 'x')
		execl("/bin/sh", "sh", "-c", "while :; do :; done", NULL);
	while (idles)
		if (what == 'w')
			pause();
	ck_assert_int_gt(pid, 0);
	return pid;
}

/* Wait until it is known of such a process whether it is ready, and return
 * that. */
static bool becomes_ready(char what)
{
	pid_t pid = fork_idler(what);
	bool want = what == 's', ret;
	int status;

	while ((ret = proc_is_ready(pid)) != want)
		sched_yield();
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(!proc_is_ready(pid));
	return ret;
}

START_TEST(a_process_before_exec_that_lacks_only_a_cpu_is_ready)
{
	ck_assert(becomes_ready('s'));
	ck_assert(!becomes_ready('w'));
	ck_assert(!becomes_ready('x'));
}
END_TEST

/* --- the environment --- */

struct fixture {
	struct spec spec;
	struct request req;
	struct snap_task task[4];
	uint64_t devs[4];
	struct order order;
	struct env_of e;
};

static void fixture_init(struct fixture *f)
{
	*f = (struct fixture){
		.req = { .tasks = 1, .cpus_milli = 1000, .mem_mib = 100 },
	};
	spec_init(&f->spec);
	f->spec.name = "job";
	f->spec.workdir = "/w";
	f->order = (struct order){
		.job = { .job = 40017,
		         .attempt = 1,
		         .uid = 1000,
		         .gid = 100,
		         .user = "alice",
		         .spec = &f->spec,
		         .req = &f->req,
		         .queue = "gpu",
		         .cluster = "demo",
		         .time_limit = TIME_UNLIMITED,
		         .ntasks = 1,
		         .task = f->task },
		.host = "n0",
		.tmp_dir = "/scratch",
		.max_processes = 100,
		.rlimits = 5,
	};
	for (uint8_t i = 0; i < LIMIT_GPUS; i++)
		f->order.gpu_index[i] = i;
	f->e = (struct env_of){ .order = &f->order,
		                .start = 1000,
		                .tmpdir = "/t",
		                .end_file = "/e",
		                .run_id = "abc",
		                .home = "/home/alice",
		                .shell = "/bin/sh" };
}

static const char *value(char **env, const char *name)
{
	size_t len = strlen(name);
	const char *found = NULL;

	for (; *env; env++) {
		if (strncmp(*env, name, len) || (*env)[len] != '=')
			continue;
		ck_assert_msg(!found, "%s is set twice", name);
		found = *env + len + 1;
	}
	return found ? found : "unset";
}

static void check(struct fixture *f, const char *const want[][2])
{
	struct arena *arena = arena_new();
	char **env = env_build(&f->e, arena);

	env_set_pid(env, 99);
	for (; (*want)[0]; want++)
		ck_assert_msg(!strcmp(value(env, (*want)[0]), (*want)[1]),
		              "%s is '%s', not '%s'", (*want)[0],
		              value(env, (*want)[0]), (*want)[1]);
	arena_free(arena);
}

START_TEST(what_was_not_asked_for_is_not_echoed)
{
	struct fixture f;

	fixture_init(&f);
	check(&f, (const char *const[][2]){ { "AISCHED_JOB_ID", "40017" },
	                                    { "SLURM_JOB_ID", "40017" },
	                                    { "SLURM_JOBID", "40017" },
	                                    { "SLURM_JOB_NAME", "job" },
	                                    { "SLURM_JOB_PARTITION", "gpu" },
	                                    { "AISCHED_JOB_QUEUE", "gpu" },
	                                    { "SLURM_JOB_USER", "alice" },
	                                    { "SLURM_JOB_UID", "1000" },
	                                    { "SLURM_JOB_GID", "100" },
	                                    { "SLURM_JOB_NODELIST", "n0" },
	                                    { "SLURM_NNODES", "1" },
	                                    { "SLURM_CPUS_ON_NODE", "1" },
	                                    { "SLURM_SUBMIT_DIR", "/w" },
	                                    { "SLURMD_NODENAME", "n0" },
	                                    { "SLURM_PROCID", "0" },
	                                    { "SLURM_TASK_PID", "99" },
	                                    { "AISCHED_TASK_PID", "99" },
	                                    { "SLURM_JOB_START_TIME", "1000" },
	                                    { "TMPDIR", "/t" },
	                                    { "AISCHED_END_FILE", "/e" },
	                                    { RUN_ID_VAR, "abc" },
	                                    { "SLURM_JOB_END_TIME", "unset" },
	                                    { "SLURM_NTASKS", "unset" },
	                                    { "SLURM_CPUS_PER_TASK", "unset" },
	                                    { "SLURM_MEM_PER_NODE", "unset" },
	                                    { "SLURM_GPUS", "unset" },
	                                    { "SLURM_JOB_GPUS", "unset" },
	                                    { "SLURM_ARRAY_JOB_ID", "unset" },
	                                    { "SLURM_RESTART_COUNT", "unset" },
	                                    { "CUDA_VISIBLE_DEVICES", "unset" },
	                                    { "CUDA_DEVICE_ORDER", "unset" },
	                                    { "AISCHED_GPU_UUIDS", "unset" },
	                                    { MPS_MEMORY, "unset" },
	                                    { "RANK", "unset" },
	                                    { "MASTER_ADDR", "unset" },
	                                    { NULL, NULL } });
}
END_TEST

START_TEST(what_was_asked_for_is_echoed)
{
	struct fixture f;

	fixture_init(&f);
	f.spec.tasks = 1;
	f.spec.tasks_per_node = 1;
	f.spec.cpus = 1500;
	f.spec.mem_node = 100;
	f.spec.gpus = 500;
	f.spec.account = "acc";
	f.order.job.time_limit = 60;
	f.order.job.restarts = 2;
	f.order.node_gpus = 4;
	f.order.gpu_uuid[0] = "GPU-a";
	f.order.gpu_uuid[2] = "GPU-c";
	f.order.gpu_mem_mib[0] = 81559;
	f.order.gpu_mem_mib[2] = 1000;
	f.task[0].gpus = 5;
	f.task[0].gpu_milli = 500;
	f.order.job.array_job = 40000;
	f.order.job.array_task = 7;
	f.order.job.array_count = 10;
	f.order.job.array_max = 9;
	f.order.job.array_step = 1;
	check(&f, (const char *const[][2]){
		      { "SLURM_NTASKS", "1" },
		      { "SLURM_NPROCS", "1" },
		      { "SLURM_NTASKS_PER_NODE", "1" },
		      { "SLURM_CPUS_PER_TASK", "2" },
		      { "SLURM_MEM_PER_NODE", "100" },
		      { "SLURM_GPUS_PER_TASK", "0.5" },
		      { "SLURM_GPUS_ON_NODE", "2" },
		      { "SLURM_JOB_GPUS", "0,2" },
		      { "SLURM_JOB_ACCOUNT", "acc" },
		      { "SLURM_JOB_QOS", "train" },
		      { "SLURM_JOB_END_TIME", "1060" },
		      { "SLURM_RESTART_COUNT", "2" },
		      { "AISCHED_ARRAY_JOB_ID", "40000" },
		      { "SLURM_ARRAY_TASK_ID", "7" },
		      { "SLURM_ARRAY_TASK_COUNT", "10" },
		      { "SLURM_ARRAY_TASK_MIN", "0" },
		      { "SLURM_ARRAY_TASK_MAX", "9" },
		      { "SLURM_ARRAY_TASK_STEP", "1" },
		      { "CUDA_VISIBLE_DEVICES", "0,2" },
		      { "CUDA_DEVICE_ORDER", "PCI_BUS_ID" },
		      { "AISCHED_GPU_UUIDS", "GPU-a,GPU-c" },
		      { MPS_MEMORY, "GPU-a=40779M,GPU-c=500M" },
		      { "ROCR_VISIBLE_DEVICES", "0,2" },
		      { "GPU_DEVICE_ORDINAL", "0,2" },
		      { NULL, NULL } });
}
END_TEST

START_TEST(each_task_of_a_gang_has_its_rank)
{
	struct fixture f;

	fixture_init(&f);
	f.req.tasks = f.order.job.ntasks = 3;
	f.order.node_gpus = 8;
	f.task[0].gpus = 1;
	f.task[1].gpus = 6;
	f.e.slot = f.e.rank = 1;
	check(&f, (const char *const[][2]){ { "RANK", "1" },
	                                    { "LOCAL_RANK", "1" },
	                                    { "WORLD_SIZE", "3" },
	                                    { "MASTER_ADDR", "127.0.0.1" },
	                                    { "MASTER_PORT", "10017" },
	                                    { "SLURM_PROCID", "1" },
	                                    { "SLURM_LOCALID", "1" },
	                                    { "SLURM_GTIDS", "0,1,2" },
	                                    { "SLURM_NTASKS", "3" },
	                                    { "SLURM_TASKS_PER_NODE", "3" },
	                                    { "SLURM_CPUS_ON_NODE", "3" },
	                                    { "SLURM_JOB_GPUS", "0,1,2" },
	                                    { "CUDA_VISIBLE_DEVICES", "1,2" },
	                                    { NULL, NULL } });
	/* A script that runs once for all tasks starts their ranks itself. */
	f.spec.launch_script = 1;
	f.e.slot = f.e.rank = 0;
	check(&f, (const char *const[][2]){ { "RANK", "unset" },
	                                    { "WORLD_SIZE", "unset" },
	                                    { "MASTER_ADDR", "127.0.0.1" },
	                                    { "SLURM_PROCID", "0" },
	                                    { "SLURM_GTIDS", "0" },
	                                    { "SLURM_NTASKS", "3" },
	                                    { "CUDA_VISIBLE_DEVICES", "0,1,2" },
	                                    { NULL, NULL } });
}
END_TEST

START_TEST(a_process_with_a_part_of_a_gpu_has_a_part_of_its_memory)
{
	struct fixture f;

	fixture_init(&f);
	f.req.tasks = f.order.job.ntasks = 2;
	f.order.node_gpus = 2;
	f.order.gpu_uuid[1] = "GPU-b";
	f.order.gpu_mem_mib[1] = 1000;
	f.task[0].gpus = f.task[1].gpus = 2;
	f.task[0].gpu_milli = 300;
	f.task[1].gpu_milli = 700;
	f.e.slot = f.e.rank = 1;
	check(&f, (const char *const[][2]){ { MPS_MEMORY, "GPU-b=700M" },
	                                    { NULL, NULL } });
	/* A script that runs once for all tasks has the whole GPU. */
	f.spec.launch_script = 1;
	f.e.slot = f.e.rank = 0;
	check(&f, (const char *const[][2]){ { MPS_MEMORY, "unset" },
	                                    { NULL, NULL } });
	f.task[1].gpu_milli = 300;
	check(&f, (const char *const[][2]){ { MPS_MEMORY, "GPU-b=600M" },
	                                    { NULL, NULL } });
}
END_TEST

START_TEST(a_process_with_a_partition_knows_it_by_its_uuid)
{
	struct fixture f;

	fixture_init(&f);
	f.req.tasks = f.order.job.ntasks = 2;
	f.order.node_gpus = 2;
	f.order.gpu_uuid[1] = "GPU-b";
	f.order.gpu_mem_mib[1] = 1000;
	f.order.gpu_part[1][0].uuid = "MIG-0";
	f.order.gpu_part[1][4].uuid = "MIG-4";
	f.task[0].gpus = f.task[1].gpus = 2;
	f.task[0].gpu_milli = f.task[1].gpu_milli = 500;
	f.task[0].units = 0x0f;
	f.task[1].units = 0xf0;
	f.e.slot = f.e.rank = 1;
	check(&f, (const char *const[][2]){ { "CUDA_VISIBLE_DEVICES", "MIG-4" },
	                                    { "AISCHED_GPU_UUIDS", "MIG-4" },
	                                    { "ROCR_VISIBLE_DEVICES", "" },
	                                    { "SLURM_JOB_GPUS", "1" },
	                                    { MPS_MEMORY, "unset" },
	                                    { NULL, NULL } });
	/* A script that runs once for all tasks has both. */
	f.spec.launch_script = 1;
	f.e.slot = f.e.rank = 0;
	check(&f, (const char *const[][2]){
		      { "CUDA_VISIBLE_DEVICES", "MIG-0,MIG-4" },
		      { "AISCHED_GPU_UUIDS", "MIG-0,MIG-4" },
		      { NULL, NULL } });
}
END_TEST

/* A task of an elastic job has a rank even if it is the only one, because tasks
 * may be added later. */
START_TEST(a_task_of_an_elastic_job_has_its_rank)
{
	struct fixture f;

	fixture_init(&f);
	f.req.tasks = 3;
	f.order.node_gpus = 8;
	f.task[0].gpus = 2;
	f.e.rank = 2;
	check(&f, (const char *const[][2]){ { "RANK", "2" },
	                                    { "WORLD_SIZE", "1" },
	                                    { "MASTER_ADDR", "127.0.0.1" },
	                                    { "CUDA_VISIBLE_DEVICES", "1" },
	                                    { NULL, NULL } });
}
END_TEST

START_TEST(a_job_without_gpus_sees_none)
{
	struct fixture f;

	fixture_init(&f);
	f.order.node_gpus = 8;
	check(&f, (const char *const[][2]){ { "CUDA_VISIBLE_DEVICES", "" },
	                                    { "SLURM_JOB_GPUS", "unset" },
	                                    { NULL, NULL } });
}
END_TEST

START_TEST(a_task_of_a_step_has_the_variables_of_its_step)
{
	static const char caller[] = "A=1\0SLURM_NTASKS=9\0RANK=5\0"
				     "SLURM_NTASKS_PER_NODE=7";
	struct env_step step = { .id = 3,
		                 .tasks = 2,
		                 .cpus = 2,
		                 .has_gpus = true,
		                 .gpus = 4,
		                 .umask = 027,
		                 .env = caller,
		                 .env_len = sizeof(caller) };
	struct fixture f;

	fixture_init(&f);
	f.req.tasks = f.order.job.ntasks = 4;
	f.order.node_gpus = 4;
	f.task[0].gpus = 5;
	f.e.step = &step;
	f.e.rank = 1;
	check(&f, (const char *const[][2]){ { "SLURM_STEP_ID", "3" },
	                                    { "AISCHED_STEPID", "3" },
	                                    { "SLURM_NTASKS", "2" },
	                                    { "SLURM_TASKS_PER_NODE", "2" },
	                                    { "SLURM_STEP_NUM_TASKS", "2" },
	                                    { "SLURM_STEP_NODELIST", "n0" },
	                                    { "SLURM_STEP_GPUS", "2" },
	                                    { "CUDA_VISIBLE_DEVICES", "2" },
	                                    { "SLURM_JOB_GPUS", "0,2" },
	                                    { "SLURM_CPUS_PER_TASK", "2" },
	                                    { "SLURM_PROCID", "1" },
	                                    { "SLURM_GTIDS", "0,1" },
	                                    { "SLURM_JOB_NAME", "job" },
	                                    { "SLURM_UMASK", "0027" },
	                                    { "SLURM_NTASKS_PER_NODE", "7" },
	                                    { "A", "1" },
	                                    { "RANK", "5" },
	                                    { "WORLD_SIZE", "unset" },
	                                    { "MASTER_ADDR", "unset" },
	                                    { NULL, NULL } });
}
END_TEST

START_TEST(the_submitters_variables_go_along)
{
	static const char theirs[] = "A=1\0PATH=/p\0A=2\0nonsense\0=x\0"
				     "SLURM_JOB_ID=3\0SLURM_ARRAY_TASK_ID=4\0"
				     "SLURM_CONF=/c\0AISCHED_SOCKET=/s\0"
				     "TMPDIR=/other\0RANK=5\0EMPTY=\0cut=off";
	struct fixture f;

	fixture_init(&f);
	f.order.job.env = theirs;
	f.order.job.env_len = sizeof(theirs) - 1;
	check(&f, (const char *const[][2]){
		      { "A", "1" },
		      { "PATH", "/p" },
		      { "EMPTY", "" },
		      { "SLURM_CONF", "/c" },
		      { "AISCHED_SOCKET", "/s" },
		      { "RANK", "5" },
		      { "SLURM_JOB_ID", "40017" }, /* set for this job */
		      { "TMPDIR", "/t" },
		      /* the submitter's is of another job: dropped */
		      { "SLURM_ARRAY_TASK_ID", "unset" },
		      { "nonsense", "unset" },
		      { "cut", "unset" },
		      /* set unless the submitter sent one */
		      { "HOME", "/home/alice" },
		      { "USER", "alice" },
		      { "LOGNAME", "alice" },
		      { "SHELL", "/bin/sh" },
		      { NULL, NULL } });
}
END_TEST

#define MANY_VARS 200000

/* Each variable must not be compared with all others, which would take
 * minutes. */
START_TEST(an_environment_may_be_large)
{
	struct arena *arena = arena_new();
	struct buf theirs = { 0 };
	struct fixture f;
	char **env;

	fixture_init(&f);
	for (int i = 0; i < 2 * MANY_VARS; i++) {
		buf_printf(&theirs, "V%d=%d", i % MANY_VARS, i);
		buf_add(&theirs, "", 1);
	}
	f.order.job.env = theirs.data;
	f.order.job.env_len = theirs.len;
	env = env_build(&f.e, arena);
	ck_assert_str_eq(value(env, "V0"), "0");
	ck_assert_str_eq(value(env, "V199999"), "199999");
	arena_free(arena);
	buf_free(&theirs);
}
END_TEST

/* --- processes --- */

static bool never(pid_t pid, const void *arg)
{
	(void)pid, (void)arg;
	return false;
}

static bool is_below(pid_t pid, const void *arg)
{
	return proc_is_below(pid, *(const pid_t *)arg);
}

START_TEST(a_process_that_is_not_meant_is_not_signalled)
{
	pid_t self = getpid(), pid = fork();
	int status;

	if (pid == 0)
		for (;;)
			pause();
	proc_signal(pid, SIGKILL, never, NULL);
	ck_assert_int_eq(waitpid(pid, &status, WNOHANG), 0);
	proc_signal(self, SIGUSR2, is_below, &self);
	proc_signal(pid, SIGKILL, is_below, &self);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(WTERMSIG(status), SIGKILL);
	/* The process is gone. */
	proc_signal(pid, SIGKILL, is_below, &self);
}
END_TEST

START_TEST(a_process_is_below_its_parents)
{
	int ready[2];
	pid_t pid, below;

	ck_assert_int_eq(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		below = fork();
		if (below > 0 && write(ready[1], &below, sizeof(below)) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	ck_assert_int_eq(read(ready[0], &below, sizeof(below)), sizeof(below));
	ck_assert(proc_is_below(below, pid));
	ck_assert(proc_is_below(below, getpid()));
	ck_assert(!proc_is_below(pid, below));
	ck_assert(!proc_is_below(getpid(), pid));
	ck_assert(!proc_is_below(1, getpid()));
	kill(below, SIGKILL);
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}
END_TEST

/* --- causes of failed starts  */

static const struct {
	int code;
	enum start_fault want;
} codes[] = {
	{ EACCES, FAULT_USER },       { EPERM, FAULT_USER },
	{ ENOENT, FAULT_USER },       { ENOTDIR, FAULT_USER },
	{ EISDIR, FAULT_USER },       { ELOOP, FAULT_USER },
	{ ENAMETOOLONG, FAULT_USER }, { EROFS, FAULT_USER },
	{ ENOSPC, FAULT_USER },       { EDQUOT, FAULT_USER },
	{ EFBIG, FAULT_USER },        { EMFILE, FAULT_USER },
	{ ETXTBSY, FAULT_USER },      { ENOEXEC, FAULT_USER },
	{ E2BIG, FAULT_USER },        { EAGAIN, FAULT_USER },
	{ ENXIO, FAULT_USER },        { ENODEV, FAULT_USER },
	{ ENOTCONN, FAULT_USER },     { EIO, FAULT_SYSTEM },
	{ ESTALE, FAULT_SYSTEM },     { ETIMEDOUT, FAULT_SYSTEM },
	{ EHOSTDOWN, FAULT_SYSTEM },  { ENFILE, FAULT_SYSTEM },
	{ ENOMEM, FAULT_SYSTEM },
};

START_TEST(an_error_on_a_file_is_somebodys)
{
	ck_assert_msg(fault_of(codes[_i].code) == codes[_i].want, "%s",
	              strerror(codes[_i].code));
}
END_TEST

/* --- orders --- */

START_TEST(an_order_arrives_as_it_was)
{
	static const struct snap_cpu_use use[] = { { 4, 1000 }, { 6, 250 } };
	static const uint8_t numa[] = { 0, 1 };
	struct arena *arena = arena_new();
	struct order got;
	struct fixture f;
	struct err err;
	int fd;

	fixture_init(&f);
	f.spec.output = "out";
	f.spec.args = "[\"a\"]";
	f.order.job.ntasks = 2;
	f.order.job.script = "#!/bin/sh\n";
	f.order.job.script_len = 10;
	f.order.job.env = "A=\xff";
	f.order.job.env_len = 4;
	f.order.job.cpu_use = use;
	f.task[0].gpus = UINT64_C(1) << 63;
	f.task[0].gpu_milli = 500;
	f.task[1].gpus = 2;
	f.task[1].units = 0xf0;
	f.devs[0] = 2;
	f.order.job.devs = f.devs;
	f.order.ndevices = 2;
	f.order.device[0] =
	    (struct order_device){ "ib", "/dev/i0", 0, { { 0, 0 } } };
	f.order.device[1] = (struct order_device){
		"ib", "/dev/i1", 2, { { 231, 9 }, { 7, 8 } }
	};
	f.order.constrain_others = true;
	f.order.node_gpus = 2;
	f.order.gpu_part[1][4] = (struct order_part){ "MIG-4", { 12, -1 } };
	f.order.caps_major = 234;
	f.task[1].cpu_first = 1;
	f.task[2].cpu_first = 2;
	f.order.cpu_numa = numa;
	f.order.bind = true;
	f.order.ways = (struct cgroup_ways){ .base = { "/a", NULL, "/b" },
		                             .v2 = { [CG_MEMORY] = true } };
	fd = order_write(&f.order, &err);
	ck_assert_int_ge(fd, 0);
	ck_assert_msg(!order_read(fd, &got, arena, &err), "%s", err.text);
	ck_assert_str_eq(got.tmp_dir, "/scratch");
	ck_assert_int_eq(got.max_processes, 100);
	ck_assert_uint_eq(got.rlimits, 5);
	ck_assert_uint_eq(got.job.job, 40017);
	ck_assert_uint_eq(got.job.ntasks, 2);
	ck_assert_int_eq(got.job.time_limit, TIME_UNLIMITED);
	ck_assert_str_eq(got.job.spec->args, "[\"a\"]");
	ck_assert(got.job.spec->cpus == SPEC_UNSET);
	ck_assert_mem_eq(got.job.script, "#!/bin/sh\n", 10);
	ck_assert_mem_eq(got.job.env, "A=\xff", 4);
	ck_assert(got.job.task[0].gpus == UINT64_C(1) << 63);
	ck_assert_uint_eq(got.job.task[0].gpu_milli, 500);
	ck_assert_uint_eq(got.job.task[0].units, 0);
	ck_assert_uint_eq(got.job.task[1].units, 0xf0);
	ck_assert_uint_eq(got.job.devs[0], 2);
	ck_assert_uint_eq(got.job.devs[1], 0);
	ck_assert_uint_eq(got.ndevices, 2);
	ck_assert_str_eq(got.device[1].kind, "ib");
	ck_assert_uint_eq(got.device[0].nfiles, 0);
	ck_assert_uint_eq(got.device[1].nfiles, 2);
	ck_assert_uint_eq(got.device[1].file[0].major, 231);
	ck_assert_uint_eq(got.device[1].file[0].minor, 9);
	ck_assert_uint_eq(got.device[1].file[1].minor, 8);
	ck_assert(got.constrain_others && !got.constrain_devices);
	ck_assert_str_eq(order_part(&got, &got.job.task[1])->uuid, "MIG-4");
	ck_assert_int_eq(got.gpu_part[1][4].cap[0], 12);
	ck_assert_int_eq(got.gpu_part[1][4].cap[1], -1);
	ck_assert_ptr_null(got.gpu_part[1][0].uuid);
	ck_assert_uint_eq(got.caps_major, 234);
	ck_assert_uint_eq(got.job.task[1].cpu_first, 1);
	ck_assert_uint_eq(got.job.task[2].cpu_first, 2);
	ck_assert_uint_eq(got.job.cpu_use[1].cpu, 6);
	ck_assert_uint_eq(got.job.cpu_use[1].milli, 250);
	ck_assert_uint_eq(got.cpu_numa[1], 1);
	ck_assert(got.bind);
	ck_assert_str_eq(got.ways.base[CG_CPU], "/b");
	ck_assert_ptr_null(got.ways.base[CG_MEMORY]);
	ck_assert(got.ways.v2[CG_MEMORY] && !got.ways.v2[CG_CPU]);
	json_decref(got.texts);
	arena_free(arena);
	close(fd);
}
END_TEST

START_TEST(another_version_of_an_order_is_refused)
{
	struct arena *arena = arena_new();
	struct order got;
	struct fixture f;
	struct err err;
	uint32_t version = 9999;
	int fd;

	fixture_init(&f);
	fd = order_write(&f.order, &err);
	ck_assert_int_eq(pwrite(fd, &version, sizeof(version), 0), 4);
	ck_assert_int_eq(order_read(fd, &got, arena, &err), -1);
	ck_assert_str_eq(err.text, "the daemon speaks another version");
	ck_assert_int_eq(ftruncate(fd, 3), 0);
	ck_assert_int_eq(order_read(fd, &got, arena, &err), -1);
	arena_free(arena);
	close(fd);
}
END_TEST

/* --- records --- */

struct folder {
	char path[64];
	int fd;
	struct arena *arena;
};

static void folder_init(struct folder *d)
{
	snprintf(d->path, sizeof(d->path), "/tmp/test_run.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(d->path));
	d->fd = open(d->path, O_RDONLY | O_DIRECTORY);
	d->arena = arena_new();
}

static void folder_fini(struct folder *d)
{
	arena_free(d->arena);
	close(d->fd);
	tree_remove(AT_FDCWD, d->path, TREE_ALL);
	ck_assert_int_eq(access(d->path, F_OK), -1);
}

/* Returns the state of a record as another process sees it: a process does not
 * see its own lock. */
static enum record_state state_of(struct folder *d)
{
	struct record rec;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		record_read(d->fd, &rec, d->arena);
		_exit((int)rec.state);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return (enum record_state)WEXITSTATUS(status);
}

START_TEST(a_claim_is_exclusive_and_lives_with_its_owner)
{
	struct claim claim;
	struct folder d;
	struct err err;
	int fd;

	folder_init(&d);
	ck_assert_int_eq(state_of(&d), RECORD_NONE);
	claim_new(&claim);
	ck_assert_uint_eq(strlen(claim.run_id), RUN_ID_LEN);
	fd = record_claim(d.fd, &claim, &err);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(record_claim(d.fd, &claim, &err), -1);
	ck_assert_int_eq(err.code, EEXIST);
	ck_assert_int_eq(record_sync(fd, d.fd, &err), 0);
	ck_assert_int_eq(state_of(&d), RECORD_ALIVE);
	close(fd);
	ck_assert_int_eq(state_of(&d), RECORD_DEAD);
	folder_fini(&d);
}
END_TEST

START_TEST(an_outcome_is_kept)
{
	struct outcome out = { .exit_code = 3,
		               .signal = 9,
		               .oom = true,
		               .out_of_disk = true,
		               .start = 100,
		               .end = 200,
		               .cpu_ms = 5,
		               .peak_mem_kib = SPEC_UNSET,
		               .gpu = { 40, 100, 512, 1024 },
		               .text = "a \"text\"" };
	struct record rec;
	struct claim claim;
	struct folder d;
	int fd;

	folder_init(&d);
	claim_new(&claim);
	claim.cgroup.dir[CG_PIDS] = "/pids/1";
	fd = record_claim(d.fd, &claim, NULL);
	ck_assert_int_eq(record_end(fd, &out, NULL), 0);
	ck_assert_int_eq(state_of(&d), RECORD_ENDED);
	close(fd);
	record_read(d.fd, &rec, d.arena);
	ck_assert_int_eq(rec.state, RECORD_ENDED);
	ck_assert_str_eq(rec.claim.run_id, claim.run_id);
	ck_assert_str_eq(rec.claim.boot, claim.boot);
	ck_assert_str_eq(rec.claim.cgroup.dir[CG_PIDS], "/pids/1");
	ck_assert_ptr_null(rec.claim.cgroup.dir[CG_V2]);
	ck_assert_int_eq(rec.outcome.exit_code, 3);
	ck_assert_int_eq(rec.outcome.signal, 9);
	ck_assert(rec.outcome.oom);
	ck_assert(rec.outcome.out_of_disk);
	ck_assert_int_eq(rec.outcome.start, 100);
	ck_assert_int_eq(rec.outcome.end, 200);
	ck_assert_int_eq(rec.outcome.cpu_ms, 5);
	ck_assert(rec.outcome.peak_mem_kib == SPEC_UNSET);
	ck_assert_int_eq(rec.outcome.gpu.busy_ms, 40);
	ck_assert_int_eq(rec.outcome.gpu.known_ms, 100);
	ck_assert_int_eq(rec.outcome.gpu.mem_mib, 512);
	ck_assert_int_eq(rec.outcome.gpu.mem_total_mib, 1024);
	ck_assert_str_eq(rec.outcome.text, "a \"text\"");
	folder_fini(&d);
}
END_TEST

static const struct {
	const char *name, *text;
	enum record_state want;
} records[] = {
#define CLAIM "{\"boot\":\"b\",\"pid\":1,\"run_id\":\"r\",\"cgroups\":[]}\n"
	{ "empty: nothing ran yet", "", RECORD_NONE },
	{ "a claim that was cut", "{\"boot\":\"b\",\"pi", RECORD_NONE },
	{ "a claim", CLAIM, RECORD_DEAD },
	{ "an outcome that was cut", CLAIM "{\"ended\":{\"exit_code\":0",
	  RECORD_DEAD },
	{ "an outcome with a part missing",
	  CLAIM "{\"ended\":{\"exit_code\":0}}\n", RECORD_DEAD },
	{ "a use of GPUs that cannot be",
	  CLAIM "{\"ended\":{\"exit_code\":0,\"signal\":0,\"oom\":false,"
	        "\"start\":1,\"end\":2,\"cpu_ms\":3,\"gpu\":[2,1,0,0]}}\n",
	  RECORD_DEAD },
	{ "a start that failed",
	  CLAIM "{\"failed\":{\"fault\":1,\"text\":\"no\"}}\n", RECORD_FAILED },
	{ "nonsense", "\xff\xfe\n\n", RECORD_NONE },
};

START_TEST(a_record_is_read_as_far_as_it_goes)
{
	struct record rec;
	struct folder d;
	int fd;

	folder_init(&d);
	fd = openat(d.fd, "claim", O_WRONLY | O_CREAT, 0600);
	ck_assert_int_eq(write(fd, records[_i].text, strlen(records[_i].text)),
	                 (ssize_t)strlen(records[_i].text));
	close(fd);
	record_read(d.fd, &rec, d.arena);
	ck_assert_msg(rec.state == records[_i].want, "%s: got %d",
	              records[_i].name, rec.state);
	folder_fini(&d);
}
END_TEST

START_TEST(a_record_is_written_whatever_the_text)
{
	struct record rec;
	struct folder d;
	struct err err;
	int fd;

	folder_init(&d);
	claim_new(&rec.claim);
	fd = record_claim(d.fd, &rec.claim, &err);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(record_fail(fd, FAULT_USER, "no '\xff\xd0'", &err), 0);
	close(fd);
	record_read(d.fd, &rec, d.arena);
	ck_assert_int_eq(rec.state, RECORD_FAILED);
	ck_assert_str_eq(rec.outcome.text, "no '?"
	                                   "?'");
	folder_fini(&d);
}
END_TEST

START_TEST(a_record_keeps_the_fault)
{
	struct record rec;
	struct folder d;
	struct err err;
	int fd;

	folder_init(&d);
	claim_new(&rec.claim);
	fd = record_claim(d.fd, &rec.claim, &err);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(record_fail(fd, (enum start_fault)_i, "why", &err), 0);
	close(fd);
	record_read(d.fd, &rec, d.arena);
	ck_assert_int_eq(rec.fault, _i);
	folder_fini(&d);
}
END_TEST

/* --- processes and trees --- */

static void kill_it(pid_t pid, void *arg)
{
	*(pid_t *)arg = pid;
	kill(pid, SIGKILL);
}

START_TEST(processes_are_found_below)
{
	pid_t child, found = 0;
	int go[2], status;
	char c;

	ck_assert_int_eq(pipe(go), 0);
	child = fork();
	if (child == 0) {
		ck_assert_int_eq(read(go[0], &c, 1), 1);
		_exit(0);
	}
	ck_assert_uint_eq(proc_descendants(getpid(), kill_it, &found), 1);
	ck_assert_int_eq(found, child);
	ck_assert_int_gt(proc_memory_kib(getpid()), 100);
	ck_assert_int_gt(proc_memory_exact_kib(getpid()), 100);
	ck_assert_int_eq(proc_memory_kib(-1), 0);
	waitpid(child, &status, 0);
}
END_TEST

START_TEST(a_tree_is_removed_but_not_what_it_points_to)
{
	struct folder d, other;

	folder_init(&other);
	ck_assert_int_eq(mkdirat(other.fd, "keep", 0700), 0);
	folder_init(&d);
	ck_assert_int_eq(mkdirat(d.fd, "a", 0700), 0);
	ck_assert_int_eq(mkdirat(d.fd, "a/b", 0700), 0);
	ck_assert_int_eq(symlinkat(other.path, d.fd, "a/b/link"), 0);
	ck_assert_int_eq(symlinkat(other.path, d.fd, "direct"), 0);
	ck_assert_int_eq(fchmodat(d.fd, "a/b", 0, 0), 0);
	tree_remove(d.fd, "direct", TREE_ALL);
	tree_remove(d.fd, "a", TREE_ALL);
	tree_remove(d.fd, "missing", TREE_ALL);
	ck_assert_int_eq(faccessat(d.fd, "a", F_OK, 0), -1);
	ck_assert_int_eq(faccessat(other.fd, "keep", F_OK, 0), 0);
	folder_fini(&d);
	folder_fini(&other);
}
END_TEST

/* Put kib KiB into a new file. */
static void fill(int at, const char *name, size_t kib)
{
	int fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
	char text[1024];

	memset(text, 'x', sizeof(text));
	ck_assert_int_ge(fd, 0);
	for (size_t i = 0; i < kib; i++)
		ck_assert_int_eq(write(fd, text, sizeof(text)), sizeof(text));
	close(fd);
}

/* Whether one round of the watch finds more than limit_mib in the folder. */
static bool stores_more(const struct folder *d, int64_t limit_mib)
{
	struct tmp_watch w = { 0 };
	bool more = false;

	do {
		more |= tmp_watch_step(&w, d->path, limit_mib, w.at);
	} while (w.depth);
	ck_assert_int_eq(more, w.full);
	ck_assert_int_eq(!tmp_watch_due(&w), more);
	return more;
}

START_TEST(what_a_folder_stores_is_counted)
{
	struct folder d, other;

	folder_init(&d);
	folder_init(&other);
	ck_assert(!stores_more(&d, 1));
	ck_assert_int_eq(mkdirat(d.fd, "a", 0700), 0);
	ck_assert_int_eq(mkdirat(d.fd, "a/b", 0700), 0);
	fill(d.fd, "a/b/x", 1500);
	ck_assert(stores_more(&d, 1));
	/* A file with two hard links counts once; symbolic links are not
	 * followed. */
	ck_assert_int_eq(linkat(d.fd, "a/b/x", d.fd, "y", 0), 0);
	fill(other.fd, "z", 1500);
	ck_assert_int_eq(symlinkat(other.path, d.fd, "a/out"), 0);
	ck_assert(!stores_more(&d, 2));
	fill(d.fd, "a/z", 1500);
	ck_assert(stores_more(&d, 2));
	folder_fini(&d);
	folder_fini(&other);
}
END_TEST

START_TEST(many_files_are_counted_in_slices)
{
	struct tmp_watch w = { 0 };
	struct folder d;
	uint32_t steps = 0;
	char name[16];

	folder_init(&d);
	for (int i = 0; i < 1200; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		fill(d.fd, name, 1);
	}
	do {
		ck_assert(!tmp_watch_step(&w, d.path, 100, w.at));
		steps++;
	} while (w.depth);
	ck_assert_uint_eq(steps, 3);
	ck_assert_int_ge(w.blocks, 2400);
	folder_fini(&d);
}
END_TEST

/* Make folders inside each other, entering each, so that no path gets too
 * long. */
static void make_deep(int at, int levels)
{
	int fd = dup(at);

	for (int i = 0; i < levels; i++) {
		int next;

		ck_assert_int_eq(mkdirat(fd, "deeper", 0700), 0);
		next = openat(fd, "deeper", O_RDONLY | O_DIRECTORY);
		ck_assert_int_ge(next, 0);
		close(openat(next, "file", O_WRONLY | O_CREAT, 0600));
		close(fd);
		fd = next;
	}
	close(fd);
}

START_TEST(a_deep_folder_is_counted_in_part)
{
	struct folder d;

	folder_init(&d);
	make_deep(d.fd, 2 * TMP_WATCH_DEPTH);
	fill(d.fd, "deeper/deeper/x", 1500);
	ck_assert(stores_more(&d, 1));
	folder_fini(&d);
}
END_TEST

START_TEST(a_tree_of_any_depth_is_removed_with_few_files_open)
{
	struct rlimit few = { .rlim_cur = 16, .rlim_max = 16 };
	struct folder d;

	folder_init(&d);
	ck_assert_int_eq(mkdirat(d.fd, "a", 0700), 0);
	make_deep(d.fd, 5000);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	ck_assert(!tree_remove(d.fd, "deeper", TREE_ALL));
	ck_assert_int_eq(faccessat(d.fd, "deeper", F_OK, 0), -1);
	folder_fini(&d);
}
END_TEST

static int count_entries(int at)
{
	DIR *dir = fdopendir(openat(at, ".", O_RDONLY | O_DIRECTORY));
	int n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n - 2;
}

START_TEST(a_tree_is_removed_in_slices)
{
	struct folder d;
	int slices = 1, at;

	folder_init(&d);
	ck_assert_int_eq(mkdirat(d.fd, "a", 0700), 0);
	at = openat(d.fd, "a", O_RDONLY | O_DIRECTORY);
	make_deep(at, 50);
	for (int i = 0; i < 100; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%d", i);
		close(openat(at, name, O_WRONLY | O_CREAT, 0600));
	}
	ck_assert(tree_remove(d.fd, "a", 10));
	ck_assert_int_ge(count_entries(at), 91);
	while (tree_remove(d.fd, "a", 10))
		slices++;
	/* There are 100 files and 50 nested folders with a file in each. With
	 * slices of 10 steps, 200 entries take 20 slices, and moving the nested
	 * folders up takes a few more. */
	ck_assert_int_ge(slices, 20);
	ck_assert_int_le(slices, 26);
	ck_assert_int_eq(faccessat(d.fd, "a", F_OK, 0), -1);
	close(at);
	folder_fini(&d);
}
END_TEST

/* --- projects --- */

START_TEST(projects_of_jobs_are_in_their_range)
{
	ck_assert_uint_eq(quota_id(17, 0), QUOTA_FIRST + 17);
	ck_assert_uint_eq(quota_id(17, 1), QUOTA_FIRST + 18);
	ck_assert_uint_eq(quota_id(QUOTA_IDS - 1, 1), QUOTA_FIRST);
	ck_assert_uint_lt(quota_id(UINT32_MAX, 31), QUOTA_FIRST + QUOTA_IDS);
}
END_TEST

static const struct {
	const char *line;
	bool has;
} project_lines[] = {
	{ "scratch:1700000017\n", true },
	{ "scratch:1700000017", true },
	{ "1700000017:/scratch\n", true },
	{ "1700000017:/a:b\n", true },
	{ "scratch:17000000170\n", false },
	{ "scratch:170000001\n", false },
	{ "#1700000017:/scratch\n", false },
	{ "\n", false },
	{ "", false },
	{ ":", false },
};

START_TEST(projects_of_the_admin_are_found)
{
	ck_assert_msg(quota_line_has(project_lines[_i].line, 1700000017) ==
	                  project_lines[_i].has,
	              "%s", project_lines[_i].line);
}
END_TEST

SUITE(run)
{
	tcase_add_loop_test(tc, names_are_expanded, 0, ARRAY_SIZE(patterns));
	tcase_add_test(tc, a_single_job_is_its_own_array);
	tcase_add_test(tc,
	               a_process_before_exec_that_lacks_only_a_cpu_is_ready);
	tcase_add_test(tc, what_was_not_asked_for_is_not_echoed);
	tcase_add_test(tc, what_was_asked_for_is_echoed);
	tcase_add_test(tc, each_task_of_a_gang_has_its_rank);
	tcase_add_test(tc,
	               a_process_with_a_part_of_a_gpu_has_a_part_of_its_memory);
	tcase_add_test(tc, a_process_with_a_partition_knows_it_by_its_uuid);
	tcase_add_test(tc, a_task_of_an_elastic_job_has_its_rank);
	tcase_add_test(tc, a_job_without_gpus_sees_none);
	tcase_add_test(tc, a_task_of_a_step_has_the_variables_of_its_step);
	tcase_add_test(tc, the_submitters_variables_go_along);
	tcase_add_test(tc, an_environment_may_be_large);
	tcase_add_test(tc, a_process_that_is_not_meant_is_not_signalled);
	tcase_add_test(tc, a_process_is_below_its_parents);
	tcase_add_loop_test(tc, an_error_on_a_file_is_somebodys, 0,
	                    ARRAY_SIZE(codes));
	tcase_add_test(tc, an_order_arrives_as_it_was);
	tcase_add_test(tc, another_version_of_an_order_is_refused);
	tcase_add_test(tc, a_claim_is_exclusive_and_lives_with_its_owner);
	tcase_add_test(tc, an_outcome_is_kept);
	tcase_add_loop_test(tc, a_record_is_read_as_far_as_it_goes, 0,
	                    ARRAY_SIZE(records));
	tcase_add_test(tc, a_record_is_written_whatever_the_text);
	tcase_add_loop_test(tc, a_record_keeps_the_fault, FAULT_SYSTEM,
	                    FAULT_POOL + 1);
	tcase_add_test(tc, processes_are_found_below);
	tcase_add_test(tc, a_tree_is_removed_but_not_what_it_points_to);
	tcase_add_test(tc, a_tree_of_any_depth_is_removed_with_few_files_open);
	tcase_add_test(tc, a_tree_is_removed_in_slices);
	tcase_add_test(tc, what_a_folder_stores_is_counted);
	tcase_add_test(tc, many_files_are_counted_in_slices);
	tcase_add_test(tc, a_deep_folder_is_counted_in_part);
	tcase_add_test(tc, projects_of_jobs_are_in_their_range);
	tcase_add_loop_test(tc, projects_of_the_admin_are_found, 0,
	                    ARRAY_SIZE(project_lines));
}
