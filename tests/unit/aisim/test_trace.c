#include "aisim/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aisim/cluster.h"
#include "tests/unit/check.h"

#define CONF                                             \
	"pool sim { }\n"                                 \
	"node n[0-1] { pool = sim cpus = 4 gpus = 2 }\n" \
	"queue q { }\n"                                  \
	"queue 7 { }\n"                                  \
	"default_queue = \"q\"\n"                        \
	"licenses { matlab = 4 }\n"

static struct conf *conf;
static struct state *state;
static struct trace *trace;
static char path[] = "/tmp/test_trace.XXXXXX";

static int no_past(uint64_t job, uint32_t task, struct past *ret, void *arg)
{
	(void)job;
	(void)task;
	(void)ret;
	(void)arg;
	return -1;
}

static void setup(void)
{
	struct err err;

	conf = conf_parse(CONF, "conf", NULL, &err);
	ck_assert_msg(conf, "%s", err.text);
	state = state_new(conf, no_past, NULL);
	ck_assert_int_eq(cluster_begin(state, &err), 0);
	trace = trace_new(state, path);
}

static void teardown(void)
{
	trace_free(trace);
	state_free(state);
	conf_free(conf);
}

/* Write text to a temporary file and read it with the function `read`. In
 * errors the file is called F. */
static int read_text(int (*read)(struct trace *, struct err *),
                     const char *text, struct err *err)
{
	int fd = mkstemp(path), rc;

	ck_assert(fd >= 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	rc = read(trace, err);
	if (rc == 0)
		rc = trace_finish(trace, err);
	unlink(path);
	if (rc < 0 && !strncmp(err->text, path, strlen(path)))
		memmove(err->text, err->text + strlen(path),
		        strlen(err->text + strlen(path)) + 1);
	memcpy(path + strlen(path) - 6, "XXXXXX", 6);
	return rc;
}

/* --- errors ------------------------------------------------------------ */

static const struct {
	const char *text, *want;
} bad[] = {
	{ "{\"id\":\"a\"}\n\n{", ":3: not JSON" },
	{ "[]", ":1: a JSON object is expected" },
	{ "{\"id\":\"a\",\"id\":\"b\"}", ":1: not JSON: duplicate" },
	{ "{}", ":1: a job needs an id" },
	{ "{\"id\":7}", ":1: id: a text is expected" },
	{ "{\"id\":\"\"}", ":1: job '': name: it is empty" },
	{ "{\"id\":\"a\",\"tsaks\":1}", ":1: a job has no key 'tsaks'" },
	{ "{\"id\":\"a\"}\n{\"id\":\"a\"}",
	  ":2: job 'a' was given in line 1 already" },
	{ "{\"id\":\"a\",\"tasks\":1.5}", ":1: tasks: a whole number" },
	{ "{\"id\":\"a\",\"tasks\":\"2\"}", ":1: tasks: a whole number" },
	{ "{\"id\":\"a\",\"tasks\":0}", ":1: job 'a': tasks: 0 is not from" },
	{ "{\"id\":\"a\",\"cpus\":0.0005}", ":1: cpus: 0.0005: at most three" },
	{ "{\"id\":\"a\",\"cpus\":-1}",
	  ":1: job 'a': cpus: -1000 is not from" },
	{ "{\"id\":\"a\",\"cpus\":1e300}", ":1: cpus: 1e+300" },
	{ "{\"id\":\"a\",\"gpus\":1.5}", ":1: job 'a': --gpus-per-task" },
	{ "{\"id\":\"a\",\"duration\":-1}", ":1: duration: it cannot be neg" },
	{ "{\"id\":\"a\",\"submit\":1e13}", ":1: submit: a whole number" },
	{ "{\"id\":\"a\",\"submit\":-2000000000}", ":1: submit: -2000000000" },
	{ "{\"id\":\"a\",\"time_limit\":0}", ":1: job 'a': a time limit must" },
	{ "{\"id\":\"a\",\"held\":1}", ":1: held: true or false" },
	{ "{\"id\":\"a\",\"on_preempt\":\"stay\"}",
	  ":1: on_preempt: \"resume" },
	{ "{\"id\":\"a\",\"queue\":\"x\"}",
	  ":1: job 'a': there is no queue 'x'" },
	{ "{\"id\":\"a\",\"class\":\"x\"}",
	  ":1: job 'a': there is no class 'x'" },
	{ "{\"id\":\"a\",\"licenses\":\"x\"}", ":1: job 'a': there is no lic" },
	{ "{\"id\":\"a\",\"constraint\":\"a&\"}", ":1: job 'a': constraint" },
	{ "{\"id\":\"a\",\"array\":\"0-x\"}", ":1: bad task ids '0-x'" },
	{ "{\"id\":\"a\",\"array\":\"3-1\"}", ":1: bad task ids '3-1'" },
	{ "{\"id\":\"a\",\"array\":\"0-3%0\"}", ":1: bad task ids '0-3%0'" },
	{ "{\"id\":\"a\",\"array\":\"0-3\",\"nodes\":[\"n0\"]}",
	  ":1: an array does not run already" },
	{ "{\"id\":\"a\",\"array\":\"0-3\",\"cron\":\"0 3 * * *\"}",
	  ":1: a cron entry is no array" },
	{ "{\"id\":\"a_1\"}\n{\"id\":\"a\",\"array\":\"0-3\"}",
	  ":2: job 'a_1' was given in line 1 already" },
	{ "{\"id\":\"a\",\"cron\":\"x\"}", ":1: cron: 'x' has 1 field, not 5" },
	{ "{\"id\":\"a\",\"cron_tz\":\"UTC\"}",
	  ":1: a cron entry needs \"cron\"" },
	{ "{\"id\":\"a\",\"nodes\":\"n0\"}", ":1: nodes: an array" },
	{ "{\"id\":\"a\",\"nodes\":[\"x\"]}",
	  ":1: nodes: there is no node 'x'" },
	{ "{\"id\":\"a\",\"nodes\":[\"n0\",\"n0\"]}",
	  ":1: job 'a': nodes: 2 tasks run, but the job has 1" },
	{ "{\"id\":\"a\",\"nodes\":[\"n0\"],\"submit\":5}",
	  ":1: job 'a': a job that runs from the beginning" },
	{ "{\"id\":\"a\",\"dependency\":\"afterok:b\"}",
	  ":1: job 'a' depends on 'b', which is not a job" },
	{ "{\"id\":\"a\",\"dependency\":\"afterok:a\"}",
	  ":1: job 'a' depends on 'a', which does not arrive before it" },
	{ "{\"id\":\"b\"}\n{\"id\":\"a\",\"dependency\":\"behind:b\"}",
	  ":2: job 'a': dependency" },
	{ "{\"at\":1}", ":1: an event has \"at\"" },
	{ "{\"at\":1,\"drain\":\"n0\",\"cancel\":\"a\"}",
	  ":1: an event has \"at\"" },
	{ "{\"at\":1,\"explode\":\"n0\"}", ":1: explode: there is no event" },
	{ "{\"at\":1,\"drain\":\"x\"}", ":1: drain: there is no node 'x'" },
	{ "{\"at\":1,\"node_down\":\"x\"}",
	  ":1: node_down: there is no node 'x'" },
	{ "{\"at\":1,\"node_up\":1}", ":1: node_up: the name of a node" },
	{ "{\"at\":1,\"gpu_down\":\"n0\"}", ":1: gpu_down: NODE:GPU" },
	{ "{\"at\":1,\"gpu_up\":\"n0:2\"}",
	  ":1: gpu_up: node 'n0' has no GPU '2'" },
	{ "{\"at\":1,\"reserve\":{\"name\":\"r\",\"start\":2,"
	  "\"end\":1,\"nodes\":[\"n0\"]}}",
	  ":1: reserve: it would end before it begins" },
	{ "{\"at\":-1,\"drain\":\"n0\"}",
	  ":1: at: -1 is no second of the simulation" },
	{ "{\"at\":\"1\",\"drain\":\"n0\"}", ":1: at: a whole number" },
	{ "{\"at\":1,\"cancel\":\"a\"}", ":1: cancel: there is no job 'a'" },
	{ "{\"at\":1,\"cancel\":\"a\"}\n{\"id\":\"a\",\"submit\":2}",
	  ":1: cancel: job 'a' arrives later, in second 2" },
};

START_TEST(bad_line)
{
	struct err err = { .text = "taken" };

	ck_assert_int_eq(read_text(trace_read_jobs, bad[_i].text, &err), -1);
	ck_assert_msg(!strncmp(err.text, bad[_i].want, strlen(bad[_i].want)),
	              "%s: %s", bad[_i].text, err.text);
}
END_TEST

/* All keys of a job but its id. */
static const char *const keys[] = {
	"apart",       "array",       "class",
	"constraint",  "prefer",      "cpus",
	"cron",        "cron_jitter", "cron_policy",
	"cron_tz",     "cron_until",  "deadline",
	"dependency",  "dev",         "devices",
	"duration",    "exclusive",   "gpu_memory",
	"gpu_type",    "gpus",        "grace",
	"held",        "licenses",    "links",
	"memory",      "min_tasks",   "near",
	"nodes",       "numa",        "on_preempt",
	"preemptible", "priority",    "queue",
	"reservation", "resume_cost", "segment",
	"spread",      "start_fails", "started",
	"submit",      "tasks",       "tasks_per_node",
	"time_limit",  "tmp",         "topology",
	"user",
};

START_TEST(no_key_takes_an_object)
{
	struct err err = { .text = "taken" };
	char text[80], want[40];

	snprintf(text, sizeof(text), "{\"id\":\"a\",\"%s\":{}}", keys[_i]);
	snprintf(want, sizeof(want), ":1: %s: ", keys[_i]);
	ck_assert_int_eq(read_text(trace_read_jobs, text, &err), -1);
	ck_assert_msg(!strncmp(err.text, want, strlen(want)), "%s: %s", text,
	              err.text);
}
END_TEST

/* --- JSON lines -------------------------------------------------------- */

START_TEST(ids_follow_submit_then_line)
{
	struct err err;

	ck_assert_int_eq(read_text(trace_read_jobs,
	                           "{\"id\":\"late\",\"submit\":9}\n"
	                           "{\"id\":\"b\",\"submit\":5.0}\n"
	                           "{\"id\":\"a\",\"submit\":5,"
	                           "\"dependency\":\"afterok:b,after:x+1+2\"}\n"
	                           "{\"id\":\"x+1\",\"submit\":null}\n",
	                           &err),
	                 0);
	ck_assert_uint_eq(trace->njobs, 4);
	ck_assert_str_eq(trace->job[0].name, "x+1");
	ck_assert_str_eq(trace->job[1].name, "b");
	ck_assert_str_eq(trace->job[2].name, "a");
	ck_assert_str_eq(trace->job[2].dependency, "afterok:2,after:1+2");
	ck_assert_str_eq(trace->job[3].name, "late");
}
END_TEST

START_TEST(values_arrive)
{
	struct trace_job *job;
	struct spec spec;
	struct err err;

	ck_assert_int_eq(
	    read_text(trace_read_jobs,
	              "{\"id\":\"a\",\"queue\":\"7\",\"user\":\"eve\","
	              "\"tasks\":2,\"cpus\":0,\"gpus\":0.1,\"memory\":5,"
	              "\"grace\":3,\"resume_cost\":4,\"started\":-8,"
	              "\"duration\":10,\"on_preempt\":\"restart\","
	              "\"preemptible\":false,\"start_fails\":true,"
	              "\"nodes\":[\"n1\",\"n0\"]}\n",
	              &err),
	    0);
	job = &trace->job[0];
	spec_unpack(&spec, job->packed);
	ck_assert_str_eq(trace->user[job->user], "eve");
	ck_assert_int_eq(spec.cpus, 0);
	ck_assert_int_eq(spec.gpus, 100);
	ck_assert_int_eq(spec.mem, 5);
	ck_assert_int_eq(job->grace, 3);
	ck_assert_int_eq(job->resume_cost, 4);
	ck_assert_int_eq(job->started, -8);
	ck_assert_int_eq(job->work, 10);
	ck_assert_int_eq(job->on_evict, ON_EVICT_RESTART);
	ck_assert_int_eq(job->preemptible, 0);
	ck_assert(job->start_fails);
	ck_assert_uint_eq(job->nrunning, 2);
	ck_assert_uint_eq(job->node[0], 1);
}
END_TEST

START_TEST(happenings_in_order)
{
	struct err err;

	ck_assert_int_eq(read_text(trace_read_jobs,
	                           "{\"at\":5,\"cancel\":\"a\"}\n"
	                           "{\"at\":5,\"node_up\":\"n1\"}\n"
	                           "{\"at\":4,\"drain\":\"n0\"}\n"
	                           "{\"id\":\"a\",\"submit\":5}\n",
	                           &err),
	                 0);
	ck_assert_uint_eq(trace->nacts, 3);
	ck_assert_int_eq(trace->act[0].kind, TRACE_DRAIN);
	ck_assert_int_eq(trace->act[1].kind, TRACE_NODE_UP);
	ck_assert_uint_eq(trace->act[1].node, 1);
	ck_assert_int_eq(trace->act[2].kind, TRACE_CANCEL);
	ck_assert_uint_eq(trace->act[2].job, 1);
}
END_TEST

/* --- the Standard Workload Format -------------------------------------- */

/* Fields of a job: run time, processors used, processors requested, time
 * requested; want: tasks, work and limit of the job that is read. */
static const struct {
	const char *name;
	int run, procs, asked_procs, asked;
	const char *want;
} swf[] = {
	{ "as asked", 50, 3, 3, 60, "3 50 60" },
	{ "no estimate", 50, 3, 3, -1, "3 50 50" },
	{ "it ran longer than it asked for", 80, 3, 3, 60, "3 60 80" },
	{ "no run time", 0, 3, 3, 60, "3 1 60" },
	{ "no processors", 50, -1, -1, 60, "1 1 60" },
	{ "only processors that were asked for", 50, -1, 2, 60, "2 50 60" },
	{ "nothing is known", -1, -1, -1, -1, "1 1 1" },
	{ "as many as there are", 50, 8, 8, 60, "8 50 60" },
	{ "more than there are", 50, 9, 9, 60, "" },
};

START_TEST(swf_job)
{
	char text[200], got[60] = "";
	struct spec spec;
	struct err err;

	snprintf(text, sizeof(text),
	         "; a comment\n\n 1 10 -1 %d %d -1.5 -1 %d %d -1 1 4 5 -1 7 -1 "
	         "-1 -1\n",
	         swf[_i].run, swf[_i].procs, swf[_i].asked_procs,
	         swf[_i].asked);
	ck_assert_msg(read_text(trace_read_swf, text, &err) == 0, "%s",
	              err.text);
	if (trace->njobs) {
		const struct trace_job *job = &trace->job[0];

		spec_unpack(&spec, job->packed);
		snprintf(got, sizeof(got), "%lld %lld %lld",
		         (long long)spec.tasks, (long long)job->work,
		         (long long)spec.time_limit);
		ck_assert_str_eq(trace->user[job->user], "4");
		ck_assert_str_eq(spec.queue, "7");
		ck_assert_int_eq(job->submit, 10);
	}
	ck_assert_msg(!strcmp(got, swf[_i].want), "%s: %s", swf[_i].name, got);
	ck_assert_uint_eq(trace->nleft_out, trace->njobs ? 0 : 1);
}
END_TEST

START_TEST(swf_bad)
{
	struct err err;

	ck_assert_int_eq(read_text(trace_read_swf, ";\n1 2 3\n", &err), -1);
	ck_assert_str_eq(err.text, ":2: field 4 is not a number in range; a "
	                           "line has 18 fields");
}
END_TEST

/* --- history ----------------------------------------------------------- */

#define PAST(id, more)                                                       \
	"{\"job_id\":" id ",\"user\":\"u\",\"class\":\"train\",\"tasks\":1," \
	"\"priority\":50,\"min_tasks\":1,\"resources\":{\"cpus\":0.5,"       \
	"\"memory_mib\":0,\"gpus\":0},\"other\":[{}]," more "}"

START_TEST(history)
{
	struct spec spec;
	struct err err;

	ck_assert_msg(
	    read_text(
		trace_read_history,
		"{\"jobs\":[\n" PAST(
		    "5",
		    "\"queue\":\"q\",\"state\":\"COMPLETED\","
		    "\"submit_time\":1000,\"start_time\":1010,"
		    "\"end_time\":1050,\"time_limit\":60") ",\n" PAST("6",
	                                                              "\"queue\":\"q\",\"state\":\"CANCELLED\","
	                                                              "\"submit_time\":1005,\"start_time\":null,"
	                                                              "\"end_time\":1007,\"time_limit\":null") "," PAST("7",
	                                                                                                                "\"queue\":\"gone\",\"state\":\"COMPLETED\","
	                                                                                                                "\"submit_time\":900,\"start_time\":1010,"
	                                                                                                                "\"end_time\":1050,\"time_limit\":60") "," PAST("8",
	                                                                                                                                                                "\"queue\":\"q\",\"state\":\"TIMEOUT\","
	                                                                                                                                                                "\"submit_time\":1001,\"start_time\":1010,"
	                                                                                                                                                                "\"end_time\":1072,\"time_limit\":60") "\n]}\n",
		&err) == 0,
	    "%s", err.text);
	ck_assert_uint_eq(trace->njobs, 3);
	ck_assert_uint_eq(trace->nleft_out, 1);
	ck_assert_str_eq(trace->left_out.text,
	                 "job '7': there is no queue 'gone'; `aiq --queues` "
	                 "lists them");
	ck_assert_str_eq(trace->job[0].name, "5");
	ck_assert_int_eq(trace->job[0].submit, 0);
	ck_assert_int_eq(trace->job[0].work, 40);
	spec_unpack(&spec, trace->job[0].packed);
	ck_assert_int_eq(spec.cpus, 500);
	ck_assert_int_eq(spec.time_limit, 60);
	ck_assert_str_eq(trace->job[1].name, "8");
	ck_assert(trace->job[1].work == TRACE_NEVER);
	ck_assert_uint_eq(trace->nacts, 1);
	ck_assert_int_eq(trace->act[0].at, 7);
	ck_assert_uint_eq(trace->act[0].job, 3);
}
END_TEST

static const struct {
	const char *text, *want;
} bad_history[] = {
	{ "", ":1: the output of `aiq --history --json`" },
	{ "{\"jobs\":\n[\n{}]}", ":3: Object item not found: job_id" },
	{ "{\"jobs\":[\n", ":2: not JSON" },
	{ "{\"jobs\":[\n" PAST("5", "\"queue\":\"q\",\"state\":\"RUNNING\","
	                            "\"submit_time\":1,\"start_time\":1,"
	                            "\"end_time\":null,\"time_limit\":9") "]}",
	  ":2: job 5 has not ended" },
};

START_TEST(history_bad)
{
	struct err err = { .text = "taken" };

	ck_assert_int_eq(
	    read_text(trace_read_history, bad_history[_i].text, &err), -1);
	ck_assert_msg(!strncmp(err.text, bad_history[_i].want,
	                       strlen(bad_history[_i].want)),
	              "%s", err.text);
}
END_TEST

SUITE(trace)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, bad_line, 0, ARRAY_SIZE(bad));
	tcase_add_loop_test(tc, no_key_takes_an_object, 0, ARRAY_SIZE(keys));
	tcase_add_test(tc, ids_follow_submit_then_line);
	tcase_add_test(tc, values_arrive);
	tcase_add_test(tc, happenings_in_order);
	tcase_add_loop_test(tc, swf_job, 0, ARRAY_SIZE(swf));
	tcase_add_test(tc, swf_bad);
	tcase_add_test(tc, history);
	tcase_add_loop_test(tc, history_bad, 0, ARRAY_SIZE(bad_history));
}
