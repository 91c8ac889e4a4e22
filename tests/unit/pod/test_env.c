#include "pod/env.h"

#include <stdio.h>
#include <string.h>

#include "libcommon/buf.h"
#include "libcommon/mem.h"
#include "tests/unit/check.h"

static struct pod_job job = { .id = 7,
	                      .name = (char[]){ "aj-c-7-1" },
	                      .pods = 3,
	                      .tasks = 2,
	                      .cpus = 4,
	                      .gpus = 4 };

static struct pod_layout read_it(int self)
{
	char text[256];
	struct pod_layout layout;
	struct err err;

	snprintf(text, sizeof(text),
	         "{\"step\": 5, \"node\": %d, \"pods\": [0, 2], \"tasks\": [1,"
	         " 2], \"gpus\": [0, 15], \"gpus_task\": 2, \"has_gpus\":"
	         " true}",
	         self);
	ck_assert_msg(pod_layout_read(&job, text, 3, &layout, &err) == 0, "%s",
	              err.text);
	return layout;
}

static const char *value(char **env, const char *name)
{
	size_t len = strlen(name);

	for (; *env; env++)
		if (!strncmp(*env, name, len) && (*env)[len] == '=')
			return *env + len + 1;
	return "(none)";
}

START_TEST(a_task_knows_where_it_is)
{
	static const struct {
		const char *name, *value;
	} want[] = {
		{ "SLURM_JOB_ID", "7" },
		{ "SLURM_PROCID", "2" },
		{ "AISCHED_PROCID", "2" },
		{ "SLURM_LOCALID", "1" },
		{ "SLURM_NODEID", "1" },
		{ "SLURM_GTIDS", "1,2" },
		{ "SLURM_NTASKS", "3" },
		{ "SLURM_NNODES", "2" },
		{ "SLURM_JOB_NUM_NODES", "3" },
		{ "SLURM_STEP_ID", "5" },
		{ "SLURM_TASKS_PER_NODE", "1,2" },
		{ "SLURMD_NODENAME", "aj-c-7-1-2.aj-c-7-1" },
		{ "SLURM_JOB_NODELIST", "aj-c-7-1-[0-2].aj-c-7-1" },
		{ "CUDA_VISIBLE_DEVICES", "2,3" },
		{ "OTHER", "x=y" },
		{ "RANK", "(none)" },
	};
	static const char texts[] = "SLURM_PROCID=9\0OTHER=x=y\0no\0=z";
	struct step_request req = { .tasks = 3, .job_name = "" };
	struct pod_layout layout = read_it(1);
	struct arena *arena = arena_new();
	char **env =
	    pod_env(&job, &layout, &req, 1, texts, sizeof(texts), arena);

	for (size_t i = 0; i < ARRAY_SIZE(want); i++)
		ck_assert_str_eq(value(env, want[i].name), want[i].value);
	arena_free(arena);
	pod_layout_free(&layout);
}
END_TEST

static const char *const bad[] = {
	"",
	"[]",
	"{}",
	"{\"step\": 5, \"node\": 2, \"pods\": [0], \"tasks\": [3], \"gpus\":"
	" [0], \"gpus_task\": -1, \"has_gpus\": false}",
	"{\"step\": 5, \"node\": 0, \"pods\": [3], \"tasks\": [3], \"gpus\":"
	" [0], \"gpus_task\": -1, \"has_gpus\": false}",
	"{\"step\": 5, \"node\": 0, \"pods\": [0], \"tasks\": [2], \"gpus\":"
	" [0], \"gpus_task\": -1, \"has_gpus\": false}",
	"{\"step\": 5, \"node\": 0, \"pods\": [0], \"tasks\": [\"3\"],"
	" \"gpus\": [0], \"gpus_task\": -1, \"has_gpus\": false}",
	"{\"step\": 5, \"node\": 0, \"pods\": [0, 1, 2, 0], \"tasks\": [3],"
	" \"gpus\": [0], \"gpus_task\": -1, \"has_gpus\": false}",
};

START_TEST(what_is_no_layout)
{
	struct pod_layout layout;
	struct err err;

	ck_assert_int_lt(pod_layout_read(&job, bad[_i], 3, &layout, &err), 0);
	pod_layout_free(&layout);
}
END_TEST

START_TEST(counts_are_written_as_slurm_does)
{
	static const int64_t counts[] = { 3, 3, 1, 2, 2 };
	struct buf out = { 0 };

	pod_env_counts(counts, 5, &out);
	ck_assert_str_eq(out.data, "3(x2),1,2(x2)");
	buf_free(&out);
}
END_TEST

SUITE(pod_env)
{
	tcase_add_test(tc, a_task_knows_where_it_is);
	tcase_add_loop_test(tc, what_is_no_layout, 0, ARRAY_SIZE(bad));
	tcase_add_test(tc, counts_are_written_as_slurm_does);
}
