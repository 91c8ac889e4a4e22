/* test_store.c - the store returns what was written to it */
#include "aischedd/state/cluster/node.h"
#include "aischedd/state/cluster/usage.h"
#include "aischedd/state/life/cron.h"
#include "aischedd/state/life/lifecycle.h"
#include "aischedd/state/life/submit.h"
#include "aischedd/state/load.h"
#include "aischedd/state/placement.h"
#include "aischedd/store/steps.h"
#include "aischedd/store/store.h"

#include <ftw.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aischedd/state/acts.h"
#include "aischedd/state/cluster/ledger.h"
#include "aischedd/store/audit.h"
#include "aischedd/store/blob.h"
#include "aischedd/store/damage.h"
#include "aischedd/store/ended.h"
#include "aischedd/store/report.h"
#include "aischedd/store/rollup_check.h"
#include "aischedd/store/rollup_purge.h"
#include "libcommon/parse.h"
#include "libcommon/spec/spec.h"
#include "libcommon/steps.h"
#include "tests/unit/check.h"
#include "tests/unit/state/world.h"

/* A state with a store in a folder of its own. */
struct disk {
	char dir[64];
	struct store *store;
	struct world w;
	const struct zone *zone; /* in which days begin; NULL: UTC */
	struct buf text;
	struct err err;
};

static void disk_start(struct disk *d, const char *conf)
{
	ck_assert_msg((d->store = store_open(d->dir, false, &d->err)) != NULL,
	              "%s", d->err.text);
	world_init_past(&d->w, conf, store_past, d->store);
	state_set_zone(d->w.state, d->zone);
}

/* Begin with a new database. It is in memory if possible, because each commit
 * waits for the disk. */
static void disk_init(struct disk *d)
{
	*d = (struct disk){ 0 };
	snprintf(d->dir, sizeof(d->dir), "%s/test_store.XXXXXX",
	         access("/dev/shm", W_OK) == 0 ? "/dev/shm"
	         : getenv("TMPDIR")            ? getenv("TMPDIR")
	                                       : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(d->dir));
	disk_start(d, NULL);
	world_node(&d->w, "n0", 4, 4000, 2);
}

static void disk_stop(struct disk *d)
{
	world_fini(&d->w);
	store_close(d->store);
}

static int remove_one(const char *path, const struct stat *st, int flag,
                      struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static void disk_remove(struct disk *d)
{
	buf_free(&d->text);
	nftw(d->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void disk_fini(struct disk *d)
{
	disk_stop(d);
	disk_remove(d);
}

static void say_wrong(const char *text, void *arg)
{
	(void)arg;
	printf("# %s\n", text);
}

/* Check that rollups agree with attempts and running jobs. */
static void check_rollups(struct disk *d)
{
	struct rollup_check check = { .said = say_wrong };

	do {
		ck_assert_msg(store_rollup_check(store_path(d->store), d->zone,
		                                 &check, &d->err) == 0,
		              "%s", d->err.text);
		ck_assert_uint_eq(check.wrong, 0);
		check.from = check.next;
	} while (check.next);
}

static void save(struct disk *d)
{
	ck_assert_msg(store_commit(d->store, d->w.state, &d->err) == 0, "%s",
	              d->err.text);
	ck_assert(!state_is_dirty(d->w.state));
	world_check(&d->w);
	check_rollups(d);
}

static void load(struct disk *d)
{
	ck_assert_msg(store_load(d->store, d->w.state, d->w.now, &d->err) == 0,
	              "%s", d->err.text);
	world_check(&d->w);
}

/* Restart like the daemon; the nodes have not been reported yet. */
static void again(struct disk *d, const char *conf)
{
	int64_t now = d->w.now;

	disk_stop(d);
	disk_start(d, conf);
	d->w.now = now;
	load(d);
}

static void play(struct disk *d, const char *const *step)
{
	world_play(&d->w, "", step);
}

#define PLAY(d, ...) play(d, (const char *const[]){ __VA_ARGS__, NULL })

/* Execute SQL on the database while it is closed. */
static void sql(const struct disk *d, const char *text)
{
	char *path = xasprintf("%s/aisched.db", d->dir), *why = NULL;
	sqlite3 *db;

	ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
	ck_assert_msg(sqlite3_exec(db, text, NULL, NULL, &why) == SQLITE_OK,
	              "%s: %s", text, why);
	sqlite3_close(db);
	free(path);
}

static int keep_number(void *arg, int n, char **value, char **name)
{
	(void)n;
	(void)name;
	*(char **)arg = xstrdup(value[0]);
	return 0;
}

/* Returns the SQL that sets the database's version to what it is now. */
static char *version_undo(const struct disk *d)
{
	char *path = xasprintf("%s/aisched.db", d->dir), *version, *undo;
	sqlite3 *db;

	ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
	ck_assert_int_eq(sqlite3_exec(db, "PRAGMA user_version", keep_number,
	                              &version, NULL),
	                 SQLITE_OK);
	undo = xasprintf("PRAGMA user_version = %s", version);
	sqlite3_close(db);
	free(version);
	free(path);
	return undo;
}

/* --- everything about jobs, as text ------------------------------------ */

static void describe(const struct state *state, const struct job *job,
                     struct buf *out)
{
	const int64_t numbers[] = {
		(int64_t)job->id,
		(int64_t)job->array,
		job->task,
		job->uid,
		job->gid,
		job->state,
		job->hold,
		job->cause,
		job->why,
		job->wants_resume,
		job->signalled,
		job->attempt,
		job->runs->restarts,
		job->runs->preemptions,
		job->runs->replaced,
		job->runs->start_fails,
		job->priority,
		job->time_limit,
		job->grace,
		job->submit,
		job->eligible,
		job->begin,
		job->deadline,
		job->runs->start,
		job->runs->end,
		job->runs->resumed,
		job->runs->ran,
		job->mem_default,
		job->runs->retry_at,
		job->script,
		job->env,
		job->runs->exit_code,
		job->runs->signal,
		job->runs->cpu_ms,
		job->runs->peak_mem_kib,
		job->runs->charge,
		job->evict,
		(int64_t)job->runs->evict_by,
		job->runs->served,
	};
	struct spec spec;
	json_t *asked;
	char *text;

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		buf_printf(out, "%lld ", (long long)numbers[i]);
	buf_printf(out, "%s %s tasks=", state_user(state, job->user)->name,
	           state_conf(state)->queues[job->queue].name);
	idset_format(&job->tasks, out);
	buf_printf(out, " text=%s place=", job->text ? job->text : "");
	if (job->place)
		state_placement_format(state, job->place, true, out);
	buf_puts(out, " leaving=");
	if (job->runs->leaving)
		state_placement_format(state, job->runs->leaving, true, out);
	buf_puts(out, " claim=");
	state_claim_format(state, job->claim, out);
	buf_puts(out, " evictions=");
	state_evictions_format(job->runs->evictions, out);
	buf_printf(out, " acts=%s ledger=", job->acts ? job->acts : "");
	if (job->ledger)
		ledger_format(job->ledger, out);
	buf_puts(out, " depend=");
	dependency_format(job->deps, out);
	spec_unpack(&spec, job->packed);
	asked = spec_to_json(&spec);
	text = json_dumps(asked, JSON_COMPACT);
	buf_printf(out, " %s\n", text);
	free(text);
	json_decref(asked);
}

static void describe_usage(const struct state *state, struct buf *out)
{
	for (size_t i = 0; i < state_nusages(state); i++) {
		const struct usage *u = state_usage(state, i);

		if (u->at)
			buf_printf(out, "usage %s %s %lld %lld %lld %d %d\n",
			           state_conf(state)->queues[u->queue].name,
			           state_user(state, u->user)->name,
			           (long long)u->amount, (long long)u->at,
			           (long long)u->rate, (int)u->jobs,
			           (int)u->running);
	}
}

static const char *all_jobs(struct disk *d)
{
	const struct state *state = d->w.state;

	buf_clear(&d->text);
	for (const struct job *job = state_first_job(state); job;
	     job = job->all_next) {
		const struct array *a = state_array(state, job->array);

		describe(state, job, &d->text);
		if (a && a->first == job)
			buf_printf(
			    &d->text, "array %u %u %u %u %u %u %u %lld\n",
			    a->limit, a->count, a->min, a->max, a->step,
			    a->unfinished, a->failed, (long long)a->started);
	}
	describe_usage(state, &d->text);
	buf_addc(&d->text, '\0');
	return d->text.data;
}

/* Save, stop and load: every job must be as before. */
static void come_back(struct disk *d, const char *name)
{
	uint64_t next_id = state_next_id(d->w.state);
	char *before;

	save(d);
	before = xstrdup(all_jobs(d));
	again(d, NULL);
	ck_assert_msg(!strcmp(all_jobs(d), before), "%s\nbefore: %safter:  %s",
	              name, before, d->text.data);
	ck_assert_uint_eq(state_next_id(d->w.state), next_id);
	ck_assert(!state_is_dirty(d->w.state));
	free(before);
}

static const struct {
	const char *name;
	const char *step[16];
} cases[] = {
	{ "no job", { NULL } },
	{ "one that waits", { "submit time=10 comment=it's" } },
	{ "one that is held",
	  { "submit hold", "submit", "operator", "hold 2" } },
	{ "one for later", { "submit begin=now+60 deadline=now+600" } },
	{ "one that is about to start", { "submit tasks=2 gpus=2", "plan" } },
	{ "one that runs",
	  { "submit cpus-per-task=0.5 signal=B:USR1@5", "run" } },
	{ "one that was signalled",
	  { "submit time=60s signal=USR1@20", "run", "+45" } },
	{ "one that is suspended", { "submit", "run", "+5", "suspend" } },
	{ "one that wants to go on",
	  { "submit", "run", "+5", "suspend", "resume" } },
	{ "one that is to end", { "submit", "run", "cancel" } },
	{ "one that is to come back", { "submit", "run", "requeue" } },
	{ "one that came back", { "submit", "run", "requeue", "end 1 3" } },
	{ "one whose start failed", { "submit", "plan", "start_failed" } },
	{ "an array that waits", { "submit array=0-9:3,20%2" } },
	{ "an array that is under way",
	  { "submit array=0-9%3", "split 1 7-8", "hold 2", "run", "end 3 1",
	    "requeue 4", "end 4 0" } },
	{ "jobs that wait for others",
	  { "submit", "submit hold", "submit dependency=after:2+7,afterany:1",
	    "submit dependency=afterok:1?afternotok:2", "run" } },
	{ "a dependency that can never be met",
	  { "submit", "submit dependency=afterok:1", "run", "end 1 1" } },
	{ "tasks that wait for theirs",
	  { "submit array=0-3", "submit array=0-3 dependency=aftercorr:1",
	    "run", "end 4 0" } },
	{ "one of a name at a time",
	  { "submit job-name=a", "submit job-name=a dependency=singleton" } },
	{ "what was used", { "submit gpus=1", "run", "+9", "end 1 0" } },
	{ "what is used of it",
	  { "submit gpus=1", "run", "+9", "submit", "run" } },
	{ "one that was put to the top", { "submit", "submit", "top 2" } },
	{ "one that leaves for another",
	  { "submit", "run", "+5", "submit",
	    "decide evict 1 all reclaim 2; claim 2 n0,n0,n0" } },
	{ "one that was evicted",
	  { "submit", "run", "+5", "preempt", "end 1 0", "run", "+9", "preempt",
	    "end 1 0" } },
	{ "one that gives way for a while",
	  { "submit", "run", "+5", "submit",
	    "decide evict 1 all preempt 2 suspend" } },
	{ "one that comes back elsewhere",
	  { "submit", "run", "submit",
	    "decide evict 1 all consolidate 2; hold 1 n0; claim 2 n0",
	    "end 1 0" } },
	{ "one that shrinks",
	  { "submit tasks=3", "run",
	    "decide evict 1 0,2 reclaim 0; hold 1 n0" } },
	{ "one that was changed",
	  { "submit time=10", "run", "update 1 time=5" } },
};

START_TEST(comes_back)
{
	struct disk d;

	disk_init(&d);
	play(&d, cases[_i].step);
	save(&d); /* ended jobs have moved to the history */
	come_back(&d, cases[_i].name);
	disk_fini(&d);
}
END_TEST

/* A job in which each field has a value other than the default. */
START_TEST(every_field_comes_back)
{
	struct disk d;
	struct spec spec;
	struct job *job;

	disk_init(&d);
	world_submit(&d.w, "hold");
	spec_init(&spec);
	for (size_t i = 0; i < spec_nfields; i++) {
		const struct spec_field *field = &spec_fields[i];

		if (field->is_text)
			*spec_text(&spec, field) = field->name;
		else
			*spec_int(&spec, field) = field->max - 1;
	}
	spec.array = "1-9:2%3";
	spec.dependency = "afterany:1";
	spec.queue = "batch";
	spec.hold = 1;
	state_submit(d.w.state, &spec, &d.w.who, 0, 11, 22, 2, d.w.now);
	state_load_next_id(d.w.state, 3);
	job = state_job(d.w.state, 2);
	job->attempt = 3;
	job_runs(job)->restarts = 4;
	job_runs(job)->preemptions = 5;
	job_runs(job)->start_fails = 6;
	job_runs(job)->replaced = 7;
	job_runs(job)->cpu_ms = (int64_t)1 << 40;
	job_runs(job)->peak_mem_kib = (int64_t)1 << 41;
	job_runs(job)->exit_code = 255;
	job_runs(job)->signal = 64;
	job_runs(job)->retry_at = 0; /* 0 is a time here, not "none" */
	job->text = xstrdup("it's\n\"text\"");
	come_back(&d, "every field");
	disk_fini(&d);
}
END_TEST

START_TEST(what_is_judged_again_ends_well)
{
	struct disk d;

	disk_init(&d);
	PLAY(&d, "submit", "submit dependency=afterok:1", "submit job-name=x",
	     "submit job-name=x dependency=singleton", "submit array=0-1",
	     "submit array=0-1 dependency=aftercorr:5", "run",
	     "end 7 0"); /* job 7 is task 5_0 */
	save(&d);
	again(&d, NULL);
	world_node(&d.w, "n0", 4, 4000, 2);
	ck_assert_str_eq(world_jobs(&d.w),
	                 "1 R, 2 PD Dependency, 3 R, 4 PD Dependency, "
	                 "6_[1] PD Dependency, 5_1 R, 6_0 PD Unevaluated");
	PLAY(&d, "end 1 0", "end 3 0", "end 8 0",
	     "jobs => 1 CD, 2 PD Unevaluated, 3 CD, 4 PD Unevaluated, 5_1 CD, "
	     "6_0 PD Unevaluated, 6_1 PD Unevaluated");
	save(&d);
	disk_fini(&d);
}
END_TEST

/* If a dependency was met but not evaluated before the daemon ended, it is
 * evaluated when jobs are loaded. */
START_TEST(tasks_are_divided_while_loading)
{
	struct disk d;

	disk_init(&d);
	PLAY(&d, "submit array=0-2", "submit array=0-2 dependency=aftercorr:1",
	     "run");
	save(&d);
	disk_stop(&d);
	sql(&d, "UPDATE job SET state = 5, end_time = 5 WHERE array_id = 1;"
	        "DELETE FROM array WHERE id = 1");
	disk_start(&d, NULL);
	load(&d);
	ck_assert_str_eq(world_jobs(&d.w),
	                 "2_0 PD Unevaluated, 2_1 PD Unevaluated, 2_2 PD "
	                 "Unevaluated");
	save(&d);
	again(&d, NULL);
	ck_assert_str_eq(world_jobs(&d.w),
	                 "2_0 PD Unevaluated, 2_1 PD Unevaluated, 2_2 PD "
	                 "Unevaluated");
	disk_fini(&d);
}
END_TEST

START_TEST(time_goes_on)
{
	struct disk d;

	disk_init(&d);
	PLAY(&d, "submit time=60s signal=USR1@20", "submit begin=now+10",
	     "submit deadline=now+30 hold", "run", "+5");
	save(&d);
	again(&d, NULL);
	PLAY(&d, "+5", "jobs => 1 R, 2 PD Unevaluated, 3 PD JobHeldUser", "+21",
	     "jobs => 1 R, 2 PD Unevaluated, 3 DL DeadLine", "effects =>",
	     "+10", "effects => signal 1.1 10", "+20",
	     "jobs => 1 CG, 2 PD Unevaluated, 3 DL DeadLine");
	disk_fini(&d);
}
END_TEST

START_TEST(runners_are_asked_for_what_ran)
{
	struct run_attempt *list;
	struct disk d;

	disk_init(&d);
	PLAY(&d, "submit", "submit", "run", "suspend 2", "requeue 1", "end 1 0",
	     "run", "submit hold");
	save(&d);
	again(&d, NULL);
	ck_assert_uint_eq(state_attempts(d.w.state, 0, &list), 2);
	for (int i = 0; i < 2; i++) {
		ck_assert_uint_eq(list[i].attempt, list[i].job == 1 ? 2 : 1);
		ck_assert(list[i].started);
		ck_assert_ptr_null(list[i].space);
	}
	free(list);
	disk_fini(&d);
}
END_TEST

/* A million jobs may wait: those that never had nodes share what attempts
 * leave, also in the next daemon. */
START_TEST(waiting_jobs_share_their_runs)
{
	struct disk d;

	disk_init(&d);
	PLAY(&d, "submit", "hold 1", "release 1", "update 1 cpus-per-task=2",
	     "submit cpus-per-task=2", "submit array=0-2", "top 2");
	for (int i = 0; i < 2; i++) {
		for (uint64_t id = 1; id <= 3; id++)
			ck_assert_ptr_eq(state_job(d.w.state, id)->runs,
			                 &job_runs_none);
		save(&d);
		again(&d, NULL);
	}
	PLAY(&d, "node n0 4", "run");
	ck_assert_int_ne(state_job(d.w.state, 1)->runs->start, NO_TIME);
	ck_assert_int_eq(job_runs_none.start, NO_TIME);
	disk_fini(&d);
}
END_TEST

/* The namespace of an attempt stays what it was, whatever its queue names by
 * now. For an attempt of an older version the runner finds it, once. */
START_TEST(attempts_keep_their_namespace)
{
	struct event_in found = { .kind = EV_started,
		                  .now = 1000,
		                  .attempt = 1,
		                  .time = 1000,
		                  .space = "team" };
	struct run_attempt *list;
	struct disk d;

	disk_init(&d);
	PLAY(&d, "submit", "run");
	state_event(d.w.state, state_job(d.w.state, 1), &found, NULL);
	save(&d);
	again(&d, NULL);
	ck_assert_uint_eq(state_attempts(d.w.state, 0, &list), 1);
	ck_assert_str_eq(list[0].space, "team");
	free(list);
	found.space = "other";
	state_event(d.w.state, state_job(d.w.state, 1), &found, NULL);
	ck_assert_str_eq(state_job(d.w.state, 1)->runs->space, "team");
	PLAY(&d, "requeue 1", "end 1 0");
	ck_assert_ptr_null(state_job(d.w.state, 1)->runs->space);
	disk_fini(&d);
}
END_TEST

START_TEST(ids_are_never_used_again)
{
	struct disk d;

	disk_init(&d);
	PLAY(&d, "submit array=0-2", "run", "end 2 0", "end 3 0", "end 4 0");
	save(&d);
	again(&d, NULL);
	ck_assert_ptr_null(state_first_job(d.w.state));
	ck_assert_uint_eq(world_submit(&d.w, ""), 5);
	disk_fini(&d);
}
END_TEST

START_TEST(nodes_and_queues)
{
	static const char closed[] = "pool here { runner = local }\n"
				     "queue batch { state = closed }\n";
	struct disk d;

	disk_init(&d);
	PLAY(&d, "submit", "drain n0 new disk", "close batch");
	save(&d);
	again(&d, NULL);
	world_node(&d.w, "n0", 4, 4000, 2);
	PLAY(&d, "plan", "why => QueueClosed: *", "open batch", "plan",
	     "why => NodeDown: *");
	ck_assert_str_eq(node_reason(state_node(d.w.state, 0)), "new disk");
	save(&d);
	again(&d, closed);
	PLAY(&d, "why => QueueClosed: *", "open batch");
	save(&d);
	again(&d, closed);
	PLAY(&d, "why => Unevaluated: *");
	disk_fini(&d);
}
END_TEST

START_TEST(nodes_that_are_gone)
{
	struct disk d;

	disk_init(&d);
	world_node(&d.w, "n1", 4, 4000, 0);
	world_node(&d.w, "n2", 4, 4000, 0);
	PLAY(&d, "drain n1 disk");
	save(&d);
	PLAY(&d, "gone here/n0", "gone here/n1", "gone here/n2", "plan");
	world_node(&d.w, "n2", 4, 4000, 0);
	save(&d);
	again(&d, NULL);
	ck_assert_int_lt(state_node_find(d.w.state, "n0"), 0);
	ck_assert_int_eq(state_node_find(d.w.state, "n1"), 0);
	ck_assert(state_node(d.w.state, 0)->drained);
	ck_assert_int_eq(state_node_find(d.w.state, "n2"), 1);
	disk_fini(&d);
}
END_TEST

/* --- loads that are refused ---------------------------------------------- */

static const struct {
	const char *name, *sql, *want;
} broken[] = {
	{ "a queue that is not configured", "UPDATE job SET queue = 'gone'",
	  "database '*': job 1: its queue 'gone' is no longer in the "
	  "configuration: put it back, or cancel the job first" },
	{ "a job without its array", "DELETE FROM array",
	  "database '*': job 1: its array 1 is not there" },
	{ "a state that is none", "UPDATE job SET state = 99",
	  "database '*': job 1: column 'state' is 99, and must be 0 to 13: "
	  "restore a copy of the database, or correct this row" },
	{ "no state", "UPDATE job SET state = NULL",
	  "database '*': job 1: column 'state' is null, *" },
	{ "no user", "UPDATE job SET user = NULL",
	  "database '*': job 1: column 'user' is null, and must be a text: *" },
	{ "a hold that is none", "UPDATE job SET hold = 3",
	  "database '*': job 1: column 'hold' is 3, *" },
	{ "no request", "UPDATE job SET asked = NULL",
	  "database '*': job 1: column 'asked' has no request" },
	{ "one that runs nowhere", "UPDATE job SET state = 2, start_time = 5",
	  "database '*': job 1: column 'state' is RUNNING, which *" },
	{ "an array of no tasks", "UPDATE array SET count = 0",
	  "database '*': array 1: column 'count' is 0, *" },
	{ "a node that is neither drained nor not",
	  "INSERT INTO node VALUES ('n9', 'here', NULL, NULL, 0, 0)",
	  "database '*': node n9: column 'drained' is null, *" },
	{ "a node of which something unknown is wanted",
	  "INSERT INTO node VALUES ('n9', 'here', 0, NULL, 3, 0)",
	  "database '*': node n9: column 'want' is 3, *" },
	{ "no next id", "UPDATE meta SET value = NULL WHERE key = 'next_id'",
	  "database '*': meta 'next_id': column 'value' is null, *" },
	{ "tasks that are none", "UPDATE job SET tasks = 'x'",
	  "database '*': *'x'*" },
	{ "a dependency that is none", "UPDATE job SET depend = 'x'",
	  "database '*': *'x'*" },
	{ "a claim that is none", "UPDATE job SET claim = 'n0*x'",
	  "database '*': job 1: bad claim 'n0*x'" },
	{ "times that are none", "UPDATE job SET evictions = '5,x'",
	  "database '*': job 1: bad times '5,x'" },
	{ "tasks that leave no place",
	  "UPDATE job SET state = 2, tasks = NULL, array_task = 0, start_time = 5,"
	  " place = 'n0:0:0:',"
	  " leaving = 'x'",
	  "database '*': job 1: bad placement 'x'" },
	{ "a place that is none",
	  "UPDATE job SET state = 2, tasks = NULL, array_task = 0, start_time = 5,"
	  " place = 'x'",
	  "database '*': job 1: bad placement 'x'" },
	{ "a table that is not there", "DROP TABLE job",
	  "database '*': *no such table: job*" },
};

START_TEST(refused_by_load)
{
	struct disk d;

	disk_init(&d);
	PLAY(&d, "submit array=0-3");
	save(&d);
	disk_stop(&d);
	sql(&d, broken[_i].sql);
	disk_start(&d, NULL);
	ck_assert_int_eq(store_load(d.store, d.w.state, d.w.now, &d.err), -1);
	ck_assert_msg(glob_match(broken[_i].want, d.err.text), "%s: %s",
	              broken[_i].name, d.err.text);
	disk_fini(&d);
}
END_TEST

/* --- any value in any column -------------------------------------------- */

/* Append "TABLE.COLUMN.TYPE " for a column. */
static int add_column(void *arg, int n, char **value, char **name)
{
	(void)n;
	(void)name;
	buf_printf(arg, "%s.%s.%s ", value[0], value[1],
	           *value[2] ? value[2] : "ANY");
	return 0;
}

/* Execute SQL. Returns -1 if SQLite refuses it. */
static int try_sql(const struct disk *d, const char *text,
                   int (*fn)(void *, int, char **, char **), void *arg)
{
	char *path = xasprintf("%s/aisched.db", d->dir);
	sqlite3 *db;
	int status;

	ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
	status = sqlite3_exec(db, text, fn, arg, NULL);
	sqlite3_close(db);
	free(path);
	return status == SQLITE_OK ? 0 : -1;
}

static int whole_history(struct disk *d);

/* Open and use the database like the daemon. Returns -1 if that is refused,
 * with the reason in d->err. */
static int use(struct disk *d)
{
	int result;

	if (!(d->store = store_open(d->dir, false, &d->err)))
		return -1;
	world_init_past(&d->w, NULL, store_past, d->store);
	result = store_load(d->store, d->w.state, 2000, &d->err);
	if (result == 0) {
		d->w.now = 2000;
		world_node(&d->w, "n0", 4, 4000, 2);
		world_plan(&d->w);
		whole_history(d);
	}
	disk_stop(d);
	return result;
}

/* Put a value into all rows of a column: the daemon must refuse or accept it
 * without harm. For bytes in place of a number, the error must name the
 * column. */
static void use_with(struct disk *d, const char *table, const char *column,
                     const char *type, const char *value)
{
	char *name = xasprintf("column '%s'", column);
	char *text = xasprintf("CREATE TABLE was AS SELECT * FROM %s;"
	                       "UPDATE OR IGNORE %s SET %s = %s",
	                       table, table, column, value);
	char *back = xasprintf("DELETE FROM %s; INSERT INTO %s SELECT * FROM"
	                       " was; DROP TABLE was",
	                       table, table);

	if (try_sql(d, text, NULL, NULL) == 0 && use(d) == 0)
		ck_assert_msg(*value != 'x' || strcmp(type, "INTEGER") != 0 ||
		                  (strcmp(table, "job") != 0 &&
		                   strcmp(table, "array") != 0),
		              "%s", text);
	else if (*value == 'x' && !strcmp(type, "INTEGER") &&
	         strcmp(column, "id") != 0 && !strcmp(table, "job"))
		ck_assert_msg(strstr(d->err.text, name) != NULL, "%s: %s", text,
		              d->err.text);
	sql(d, back);
	free(name);
	free(text);
	free(back);
}

START_TEST(no_value_ends_it)
{
	static const char *const values[] = { "NULL", "-7",
		                              "77",   "1152921504606846977",
		                              "'x'",  "x'00'" };
	struct buf columns = { 0 };
	struct disk d;
	char *at, *table;
	size_t n = 0;

	disk_init(&d);
	PLAY(&d, "reserve a 60 120 n0 ann weekly", "submit time=10s", "submit",
	     "submit array=0-3%2 time=10s", "run", "suspend 1", "end 4 1",
	     "submit hold dependency=after:2", "drain n0 old", "close batch");
	save(&d);
	disk_stop(&d);
	ck_assert_int_eq(
	    try_sql(&d,
	            "SELECT m.name, c.name, c.type FROM sqlite_master m,"
	            " pragma_table_info(m.name) c WHERE m.type = 'table'",
	            add_column, &columns),
	    0);
	for (table = strtok_r(columns.data, ". ", &at); table;
	     table = strtok_r(NULL, ". ", &at)) {
		const char *column = strtok_r(NULL, ". ", &at);
		const char *type = strtok_r(NULL, ". ", &at);

		for (size_t i = 0; i < ARRAY_SIZE(values); i++)
			use_with(&d, table, column, type, values[i]);
		n++;
	}
	ck_assert_uint_gt(n, 60);
	buf_free(&columns);
	disk_remove(&d);
}
END_TEST

/* --- foreign databases --------------------------------------------------- */

static const struct {
	const char *name, *sql, *want;
} foreign[] = {
	{ "a newer one", "PRAGMA user_version = 99",
	  "database '*': was written by a newer aischedd (schema 99, this one "
	  "knows *): upgrade, or use another state_dir" },
	{ "another program's", "PRAGMA application_id = 7",
	  "database '*': is a database, but not one of aischedd" },
};

static void refused_by_open(struct disk *d, const char *name, const char *want)
{
	d->store = store_open(d->dir, false, &d->err);
	ck_assert_msg(!d->store, "%s", name);
	ck_assert_int_eq(d->err.code, EINVAL);
	ck_assert_msg(glob_match(want, d->err.text), "%s: %s", name,
	              d->err.text);
}

START_TEST(foreign_databases)
{
	struct disk d;
	char *undo;

	disk_init(&d);
	PLAY(&d, "submit");
	save(&d);
	disk_stop(&d);
	undo = version_undo(&d);
	sql(&d, foreign[_i].sql);
	refused_by_open(&d, foreign[_i].name, foreign[_i].want);
	/* The refused database was not changed. */
	sql(&d, undo);
	sql(&d, "PRAGMA application_id = 1634300771");
	free(undo);
	disk_start(&d, NULL);
	load(&d);
	ck_assert_str_eq(world_jobs(&d.w), "1 PD Unevaluated");
	disk_fini(&d);
}
END_TEST

static void overwrite(const struct disk *d, long at, size_t n)
{
	char *path = xasprintf("%s/aisched.db", d->dir);
	FILE *f = fopen(path, "r+");

	ck_assert_ptr_nonnull(f);
	fseek(f, at, SEEK_SET);
	while (n--)
		fputc('x', f);
	fclose(f);
	free(path);
}

START_TEST(damaged_databases)
{
	struct disk d;

	disk_init(&d);
	for (int i = 0; i < 200; i++)
		world_submit(&d.w, "hold");
	save(&d);
	disk_stop(&d);
	overwrite(&d, 4096, 20000);
	refused_by_open(&d, "pages",
	                "database '*': *: restore a copy, or move "
	                "it away and *");
	overwrite(&d, 0, 20);
	refused_by_open(&d, "the header",
	                "database '*': *: restore a copy, or move it away and "
	                "start with --accept-loss to begin anew");
	disk_remove(&d);
}
END_TEST

/* --- databases that lack commits ----------------------------------------- */

/* Rename a file of the database in its folder. */
static void move_file(const struct disk *d, const char *from, const char *to)
{
	char *a = xasprintf("%s/%s", d->dir, from);
	char *b = xasprintf("%s/%s", d->dir, to);

	ck_assert_int_eq(rename(a, b), 0);
	free(a);
	free(b);
}

static void copy_file(const struct disk *d, const char *from, const char *to)
{
	char *a = xasprintf("%s/%s", d->dir, from);
	char *b = xasprintf("%s/%s", d->dir, to);
	FILE *in = fopen(a, "r"), *out = fopen(b, "w");
	int c;

	ck_assert(in && out);
	while ((c = fgetc(in)) != EOF)
		fputc(c, out);
	fclose(in);
	ck_assert_int_eq(fclose(out), 0);
	free(a);
	free(b);
}

static void accept_loss(struct disk *d)
{
	d->store = store_open(d->dir, true, &d->err);
	ck_assert_msg(d->store != NULL, "%s", d->err.text);
	world_init_past(&d->w, NULL, store_past, d->store);
	load(d);
}

START_TEST(a_log_that_is_gone_is_noticed)
{
	struct disk d;

	disk_init(&d);
	PLAY(&d, "submit");
	save(&d);
	copy_file(&d, "aisched.db", "old");
	copy_file(&d, "aisched.db-wal", "old-wal");
	PLAY(&d, "submit");
	save(&d);
	/* The files as after a kill, but without the last part of the log. */
	disk_stop(&d);
	move_file(&d, "aisched.db", "new");
	move_file(&d, "old", "aisched.db");
	move_file(&d, "old-wal", "aisched.db-wal");
	refused_by_open(&d, "the log",
	                "database '*': lacks commits: '*/commits' notes commit "
	                "2, but the last it has is 1: put back the newest copy "
	                "with its -wal file, or start once with --accept-loss");
	accept_loss(&d);
	ck_assert_str_eq(world_jobs(&d.w), "1 PD Unevaluated");
	disk_stop(&d);
	/* After one --accept-loss the database is accepted. */
	disk_start(&d, NULL);
	disk_fini(&d);
}
END_TEST

START_TEST(a_database_that_is_gone_is_noticed)
{
	struct disk d;
	char *run;

	disk_init(&d);
	disk_stop(&d);
	run = xasprintf("%s/run", d.dir);
	ck_assert_int_eq(mkdir(run, 0700), 0);
	free(run);
	run = xasprintf("%s/run/12.1", d.dir);
	ck_assert_int_eq(mkdir(run, 0700), 0);
	free(run);
	move_file(&d, "aisched.db", "gone");
	refused_by_open(&d, "the database",
	                "database '*': lacks *: '*/run' has job 12, *: *");
	accept_loss(&d);
	/* The id 12 is not given a second time. */
	ck_assert_uint_eq(world_submit(&d.w, ""), 13);
	disk_fini(&d);
}
END_TEST

START_TEST(no_folder)
{
	struct err err;

	ck_assert_ptr_null(store_open("/nonexistent/folder", false, &err));
	ck_assert_msg(glob_match("database '/nonexistent/folder/aisched.db': *",
	                         err.text),
	              "%s", err.text);
}
END_TEST

/* --- scripts, tokens --------------------------------------------------- */

START_TEST(blobs_are_kept_once)
{
	static const char script[] = "#!/bin/sh\n\0\377";
	struct buf got = { 0 };
	struct disk d;
	int64_t a, b, none;

	disk_init(&d);
	a = store_blob(d.store, script, sizeof(script), &d.err);
	b = store_blob(d.store, "other", 5, &d.err);
	none = store_blob(d.store, "", 0, &d.err);
	ck_assert_int_ne(a, b);
	ck_assert_int_eq(store_blob(d.store, script, sizeof(script), &d.err),
	                 a);
	PLAY(&d, "submit"); /* it has blobs a and b */
	save(&d);
	ck_assert_int_eq(store_blob(d.store, "other", 5, &d.err), b);
	ck_assert_int_eq(store_blob_get(d.store, none, &got, &d.err), 0);
	ck_assert_uint_eq(got.len, 0);
	again(&d, NULL);
	ck_assert_int_eq(store_blob(d.store, script, sizeof(script), &d.err),
	                 a);
	ck_assert_int_eq(store_blob_get(d.store, a, &got, &d.err), 0);
	ck_assert_uint_eq(got.len, sizeof(script));
	ck_assert_mem_eq(got.data, script, sizeof(script));
	ck_assert_int_eq(store_blob_get(d.store, 99, &got, &d.err), -1);
	ck_assert_int_eq(d.err.code, ENOENT);
	buf_free(&got);
	disk_fini(&d);
}
END_TEST

static void check_token(struct disk *d)
{
	uint64_t first;
	uint32_t count;

	ck_assert(store_token_find(d->store, "abc", 7, &first, &count));
	ck_assert_uint_eq(first, 12);
	ck_assert_uint_eq(count, 3);
	ck_assert(!store_token_find(d->store, "abd", 7, &first, &count));
	ck_assert(!store_token_find(d->store, "abc", 8, &first, &count));
}

START_TEST(tokens_are_known)
{
	struct disk d;

	disk_init(&d);
	store_token(d.store, "abc", 7, 12, 3, d.w.now);
	check_token(&d);
	save(&d);
	check_token(&d);
	again(&d, NULL);
	check_token(&d);
	disk_fini(&d);
}
END_TEST

/* --- ended jobs ---------------------------------------------------------- */

/* Make jobs that end in different ways at different times. Job 1 exits with 3.
 * In array 2, task 0 completes, signal 9 kills task 1, tasks 2 to 4 and 6 are
 * cancelled before they begin, and task 5 runs. */
static void make_past(struct disk *d)
{
	const struct outcome killed = { .signal = 9, .end = 1030 };
	const struct event_in ev = { .kind = EV_ended, .outcome = &killed };

	PLAY(d, "submit time=1 cpus-per-task=2", "run", "+10", "end 1 3",
	     "submit array=0-6", "split 2 2-4,6", "+10", "cancel 3", "run",
	     "+10", "end 4 0");
	state_event(d->w.state, state_task(d->w.state, 2, 1), &ev, NULL);
	PLAY(d, "jobs => 1 F NonZeroExitCode, 2_[2-4,6] CA Cancelled, 2_0 CD, "
	        "2_1 F RaisedSignal, 2_5 R");
	save(d);
}

START_TEST(past_jobs)
{
	static const struct {
		uint64_t job;
		uint32_t task;
		int state; /* -1: not in the history */
	} want[] = {
		{ 1, NO_TASK, JOB_FAILED },
		{ 2, NO_TASK, JOB_CANCELLED },
		{ 2, 0, JOB_COMPLETED },
		{ 2, 1, JOB_FAILED },
		{ 2, 3, JOB_CANCELLED },
		{ 2, 6, JOB_CANCELLED },
		{ 2, 5, -1 /* still running */ },
		{ 2, 7, -1 },
		{ 4, NO_TASK, JOB_COMPLETED },
		{ 1, 0, -1 },
		{ 99, NO_TASK, -1 },
	};
	struct disk d;

	disk_init(&d);
	make_past(&d);
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		struct past past;
		int found =
		    store_past(want[i].job, want[i].task, &past, d.store);

		ck_assert_msg(found == (want[i].state < 0 ? -1 : 0), "%llu_%u",
		              (unsigned long long)want[i].job, want[i].task);
		if (found == 0) {
			ck_assert_int_eq((int)past.state, want[i].state);
			ck_assert_uint_eq(past.uid, d.w.who.uid);
		}
	}
	disk_fini(&d);
}
END_TEST

/* Returns "STATE EXIT SIGNAL" for ended tasks of a job, "" if there are
 * none. */
static const char *ended(struct disk *d, uint64_t job, const char *tasks)
{
	struct idset set = { 0 };
	struct ended e = { 0 };

	if (*tasks)
		ck_assert_int_eq(idset_parse(&set, NULL, tasks, NULL), 0);
	while (!store_ended(d->store, job, &set, &e))
		;
	idset_free(&set);
	buf_clear(&d->text);
	if (e.found)
		buf_printf(&d->text, "%s %d %d", job_state_letter(e.state),
		           e.exit_code, e.signal);
	buf_addc(&d->text, '\0');
	return d->text.data;
}

START_TEST(how_jobs_ended)
{
	struct disk d;

	disk_init(&d);
	make_past(&d);
	ck_assert_str_eq(ended(&d, 1, ""), "F 3 0");
	ck_assert_str_eq(ended(&d, 2, ""), "F 0 9");
	ck_assert_str_eq(ended(&d, 2, "0"), "CD 0 0");
	ck_assert_str_eq(ended(&d, 2, "0-1"), "F 0 9");
	ck_assert_str_eq(ended(&d, 2, "3"), "CA -1 0");
	ck_assert_str_eq(ended(&d, 2, "5"), "");
	ck_assert_str_eq(ended(&d, 99, ""), "");
	disk_fini(&d);
}
END_TEST

static void put_id(const struct past_job *past, void *arg)
{
	struct buf *out = arg;

	job_display_id(&past->job, 0, out);
	buf_printf(out, ":%s ", past->queue);
	ck_assert_str_eq(past->user, "ada");
	ck_assert((past->place != NULL) == (past->job.runs->start != NO_TIME));
}

/* A query of the history. Members that are 0 select all jobs; task is the
 * index of an array task plus 1. */
struct asked {
	uint64_t id, task;
	int64_t since, until, after;
	uint64_t after_id, limit;
};

static int ask_history(struct disk *d, const struct asked *a, past_job_fn *fn)
{
	const struct history_query q = {
		.ended_only = true,
		.since = a->since ? a->since : NO_TIME,
		.until = a->until ? a->until : NO_TIME,
		.id = a->id,
		.task = a->task ? (uint32_t)a->task - 1 : NO_TASK,
		.after = a->after ? a->after : NO_TIME,
		.after_id = a->after_id,
		.limit = a->limit ? a->limit : 100,
	};

	buf_clear(&d->text);
	return store_history(store_path(d->store), &q, fn, &d->text, &d->err);
}

static const char *history(struct disk *d, const struct asked *a)
{
	ck_assert_int_eq(ask_history(d, a, put_id), 0);
	buf_addc(&d->text, '\0');
	return d->text.data;
}

static void ignore_past(const struct past_job *past, void *arg)
{
	(void)past;
	(void)arg;
}

static int whole_history(struct disk *d)
{
	return ask_history(d, &(struct asked){ 0 }, ignore_past);
}

START_TEST(history_is_asked)
{
	static const struct {
		struct asked asked;
		const char *want;
	} asked[] = {
		{ { 0 }, "1:batch 2_[2-4,6]:batch 2_0:batch 2_1:batch " },
		{ { .since = 1015 }, "2_[2-4,6]:batch 2_0:batch 2_1:batch " },
		{ { .until = 1015 }, "1:batch " },
		{ { .id = 2 }, "2_[2-4,6]:batch 2_0:batch 2_1:batch " },
		{ { .id = 2, .task = 1 }, "2_[2-4,6]:batch 2_0:batch " },
		{ { .id = 4 }, "2_0:batch " },
		{ { .id = 99 }, "" },
		{ { .limit = 2 }, "1:batch 2_[2-4,6]:batch " },
		{ { .limit = 2, .after = 1020, .after_id = 3 },
		  "2_0:batch 2_1:batch " },
	};
	struct disk d;

	disk_init(&d);
	make_past(&d);
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++)
		ck_assert_str_eq(history(&d, &asked[i].asked), asked[i].want);
	disk_fini(&d);
}
END_TEST

/* --- attempts ---------------------------------------------------------- */

static void put_total(const struct total *total, void *arg);

static int add_row(void *arg, int n, char **value, char **name)
{
	(void)name;
	for (int i = 0; i < n; i++)
		buf_printf(arg, "%s%s", i ? " " : "",
		           value[i] ? value[i] : "-");
	buf_puts(arg, "\n");
	return 0;
}

static const char *rows(struct disk *d, const char *query)
{
	buf_clear(&d->text);
	ck_assert_int_eq(try_sql(d, query, add_row, &d->text), 0);
	buf_addc(&d->text, '\0');
	return d->text.data;
}

#define ATTEMPTS                                                    \
	"SELECT job, attempt, ended_ms - held_ms, ended_ms,"        \
	" held_ms - idle_ms, state, cause, exit_code, held_cpu_ms," \
	" held_mem_mib_s, held_gpu_ms, queue, nodes"                \
	" FROM attempt JOIN holder h ON h.id = holder ORDER BY job, attempt"

/* Add an array of many tasks, all of which have ended. */
static void add_history(struct disk *d)
{
	static const char sql[] =
	    "INSERT INTO job (id, array_id, array_task, state, end_time)"
	    " WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n"
	    " WHERE i < 29999) SELECT 1000 + i, 1000, i, 5, i FROM n";
	sqlite3 *sql_db;

	ck_assert_int_eq(sqlite3_open(store_path(d->store), &sql_db),
	                 SQLITE_OK);
	ck_assert_int_eq(sqlite3_exec(sql_db, sql, NULL, NULL, NULL),
	                 SQLITE_OK);
	sqlite3_close(sql_db);
}

/* Make all kinds of queries about a job and a task (NO_TASK: all). */
static void ask_all(struct disk *d, uint64_t job, uint32_t task)
{
	char text[16] = "";
	struct past past;

	if (task != NO_TASK)
		snprintf(text, sizeof(text), "%u", task);
	store_past(job, task, &past, d->store);
	ended(d, job, text);
	if (task == NO_TASK)
		store_others_failed(d->store, job, job + 1);
	ask_history(d,
	            &(struct asked){ .id = job, .task = (uint64_t)(task + 1) },
	            ignore_past);
}

START_TEST(history_is_not_read_as_a_whole)
{
	static const struct {
		uint64_t job;
		uint32_t task;
	} asked[] = {
		{ 1, NO_TASK },  { 2, NO_TASK },    { 2, 0 },  { 2, 6 },
		{ 2, 9 },        { 3, NO_TASK },    { 99, 1 }, { 1, 0 },
		{ 1000, 29999 }, { 1005, NO_TASK },
	};
	struct disk d;

	disk_init(&d);
	make_past(&d);
	add_history(&d);
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
		uint64_t before = steps_so_far;

		ask_all(&d, asked[i].job, asked[i].task);
		ck_assert_msg(steps_so_far - before < 4 * STEPS_QUERY,
		              "%llu_%u: %llu steps",
		              (unsigned long long)asked[i].job, asked[i].task,
		              (unsigned long long)(steps_so_far - before));
	}
	disk_fini(&d);
}
END_TEST

START_TEST(how_an_array_ended_is_found_by_index)
{
	struct disk d;
	struct past past;
	uint64_t before;

	disk_init(&d);
	make_past(&d);
	add_history(&d);
	before = steps_so_far;
	ck_assert_int_eq(store_past(1000, NO_TASK, &past, d.store), 0);
	ck_assert_uint_lt(steps_so_far - before, STEPS_QUERY);
	ck_assert_int_eq(past.state, JOB_COMPLETED);
	ck_assert(!store_others_failed(d.store, 1000, 1000));
	ck_assert_uint_lt(steps_so_far - before, 2 * STEPS_QUERY);
	disk_fini(&d);
}
END_TEST

static const char rollups[] =
    "SELECT level, start, user, pool, held_cpu / 1000, held_gpu / 1000, jobs,"
    " wait_ms, attempts, completed FROM rollup JOIN rollup_key ON id = key"
    " ORDER BY level, start, key";

START_TEST(use_is_kept_by_the_hour)
{
	struct disk d;

	disk_init(&d);
	PLAY(&d, "submit cpus-per-task=2 gpus=1", "+100", "run", "+3000");
	come_back(&d, "an hour has passed");
	ck_assert_str_eq(rows(&d, rollups), "0 0 ada here 0 0 1 100000 0 0\n"
	                                    "1 0 ada here 0 0 1 100000 0 0\n"
	                                    "2 0 ada here 0 0 1 100000 0 0\n");
	PLAY(&d, "end 1 0");
	save(&d);
	ck_assert_str_eq(rows(&d, rollups),
	                 "0 0 ada here 5000000 2500000 1 100000 0 0\n"
	                 "0 3600 ada here 1000000 500000 0 0 1 1\n"
	                 "1 0 ada here 6000000 3000000 1 100000 1 1\n"
	                 "2 0 ada here 6000000 3000000 1 100000 1 1\n");
	ck_assert_str_eq(rows(&d, "SELECT bucket, n FROM rollup_wait"
	                          " WHERE level = 0"),
	                 "49 1\n");
	disk_fini(&d);
}
END_TEST

/* A job of one CPU that begins an hour before a day on which the clock changes,
 * runs through it and ends an hour after it: the seconds of each day and month
 * (levels 1 and 2), by their begins. */
static const struct {
	const char *zone;
	int64_t begin, day_s;
	const char *sums;
} clock_days[] = {
	{ "Europe/Berlin", 1806188400 - 3600, 23 * 3600,
	  "1 1806102000 3600\n1 1806188400 82800\n1 1806271200 3600\n"
	  "2 1803855600 90000\n" },
	{ "Europe/Berlin", 1824933600 - 3600, 25 * 3600,
	  "1 1824847200 3600\n1 1824933600 90000\n1 1825023600 3600\n"
	  "2 1822341600 93600\n2 1825023600 3600\n" },
	{ "Australia/Lord_Howe", 1806757200 - 3600, 24 * 3600 + 1800,
	  "1 1806670800 3600\n1 1806757200 88200\n1 1806845400 3600\n"
	  "2 1806498000 95400\n" },
};

START_TEST(a_day_is_as_long_as_its_clock_says)
{
	struct disk d;
	struct zone *zone = zone_load(clock_days[_i].zone, &d.err);

	ck_assert_msg(zone != NULL, "%s", d.err.text);
	disk_init(&d);
	d.zone = zone;
	state_set_zone(d.w.state, zone);
	d.w.now = clock_days[_i].begin;
	PLAY(&d, "submit cpus-per-task=1", "run", "+4000");
	save(&d);
	again(&d, NULL);
	d.w.now = clock_days[_i].begin + clock_days[_i].day_s + 2 * 3600;
	PLAY(&d, "end 1 0");
	save(&d);
	ck_assert_str_eq(rows(&d, "SELECT level, start, held_cpu / 1000000"
	                          " FROM rollup WHERE level > 0"
	                          " ORDER BY level, start"),
	                 clock_days[_i].sums);
	disk_fini(&d);
	zone_free(zone);
}
END_TEST

/* Usage is booked while job 2 runs. If the end that is reported later lies
 * before the booking, the surplus is taken off again. */
START_TEST(late_news_are_taken_off)
{
	struct disk d;

	disk_init(&d);
	PLAY(&d, "submit", "submit", "run", "+3000", "end 1 0", "+100");
	state_book_some(d.w.state, 5000000);
	save(&d);
	ck_assert_str_eq(rows(&d, rollups),
	                 "0 0 ada here 5200000 0 2 0 0 0\n"
	                 "0 3600 ada here 1800000 0 0 0 1 1\n"
	                 "1 0 ada here 7000000 0 2 0 1 1\n"
	                 "2 0 ada here 7000000 0 2 0 1 1\n");
	again(&d, NULL);
	d.w.now = 1010;
	PLAY(&d, "end 2 0");
	save(&d);
	ck_assert_str_eq(rows(&d, rollups), "0 0 ada here 2610000 0 2 0 1 1\n"
	                                    "0 3600 ada here 400000 0 0 0 1 1\n"
	                                    "1 0 ada here 3010000 0 2 0 2 2\n"
	                                    "2 0 ada here 3010000 0 2 0 2 2\n");
	disk_fini(&d);
}
END_TEST

/* Book usage up to now_ms in several turns, each with a commit. Returns the
 * largest number of hourly sums that one commit changes. */
static size_t book_all(struct disk *d, int64_t now_ms)
{
	size_t most = 0;
	bool more;

	do {
		struct changes changes;
		size_t n = 0;

		more = state_book_some(d->w.state, now_ms);
		state_changes(d->w.state, &changes);
		for (size_t i = 0; i < changes.nrollups; i++)
			n += changes.rollup[i]->ndue;
		most = n > most ? n : most;
		ck_assert_int_eq(store_commit(d->store, d->w.state, &d->err),
		                 0);
	} while (more);
	return most;
}

static enum report_part all_of_it(const struct rollup *rollup, void *arg)
{
	(void)rollup, (void)arg;
	return REPORT_ROW;
}

/* Returns a sum over all time, as in a report. */
static int64_t reported(struct disk *d, enum rollup_sum sum)
{
	struct report r = { .until = d->w.now, .most = 1 };
	int64_t total;

	ck_assert_int_eq(report_begin(&r, d->w.state, store_path(d->store),
	                              d->w.now * 1000, all_of_it, NULL,
	                              &d->err),
	                 0);
	ck_assert_int_eq(report_run(&r, &d->err), 0);
	total = (int64_t)r.total.sum[sum];
	report_fini(&r);
	return total;
}

static const char held[] =
    "SELECT level, count(*), sum(c), sum(g), min(c), max(c), sum(j), sum(e)"
    " FROM (SELECT level, sum(held_cpu) c, sum(held_gpu) g, sum(jobs) j,"
    " sum(completed) e FROM rollup GROUP BY level, start) GROUP BY level";

/* The clock jumps 3 years ahead while a job runs; then another job ends. The
 * daemon restarts when only a part of these years is booked. */
START_TEST(a_leap_of_the_clock_is_booked_in_parts)
{
	const int64_t hours = 3 * 366 * 24, leap_s = hours * 3600;
	struct rollup_check check = { .said = say_wrong };
	char *sums;
	struct disk d;

	disk_init(&d);
	PLAY(&d, "submit cpus-per-task=2 gpus=1", "submit", "run");
	save(&d);
	d.w.now += leap_s;
	PLAY(&d, "end 2 0");
	ck_assert_int_eq(state_lag_hours(d.w.state), hours);
	ck_assert_int_eq(store_commit(d.store, d.w.state, &d.err), 0);
	for (int i = 0; i < 10; i++) {
		state_book_some(d.w.state, d.w.now * 1000);
		ck_assert_int_eq(store_commit(d.store, d.w.state, &d.err), 0);
	}
	ck_assert_int_eq(
	    store_rollup_check(store_path(d.store), NULL, &check, &d.err), -1);
	ck_assert_int_eq(d.err.code, EAGAIN);
	again(&d, NULL);
	ck_assert_int_gt(state_lag_hours(d.w.state), 0);
	ck_assert_int_eq(reported(&d, SUM_held_cpu), leap_s * 3000000);
	ck_assert_uint_le(book_all(&d, d.w.now * 1000), 1100);
	ck_assert_int_eq(state_lag_hours(d.w.state), 0);
	ck_assert_int_eq(reported(&d, SUM_held_cpu), leap_s * 3000000);
	/* The job held 3 CPUs and a GPU all the time. */
	sums = xasprintf("0 %lld %lld %lld 3000000000 10800000000 2 1\n",
	                 (long long)hours + 1, (long long)leap_s * 3000000,
	                 (long long)leap_s * 1000000);
	ck_assert_msg(!strncmp(rows(&d, held), sums, strlen(sums)), "%s%s",
	              sums, d.text.data);
	free(sums);
	save(&d);
	disk_fini(&d);
}
END_TEST

static const char *lab_of(const char *user, void *arg)
{
	(void)arg;
	return strcmp(user, "ada") ? "" : "lab";
}

START_TEST(a_report_is_by_group)
{
	struct report r = { .by = { REPORT_QUEUE, REPORT_GROUP, REPORT_DAY },
		            .nby = 3,
		            .most = 10 };
	struct disk d;

	disk_init(&d);
	PLAY(&d, "submit gpus=1", "run", "+10", "end 1 0");
	save(&d);
	r.until = d.w.now;
	ck_assert_int_eq(report_begin(&r, d.w.state, store_path(d.store),
	                              d.w.now * 1000, all_of_it, NULL, &d.err),
	                 0);
	report_set_groups(&r, lab_of, NULL);
	ck_assert_int_eq(report_run(&r, &d.err), 0);
	ck_assert_uint_eq(r.nrows, 1);
	ck_assert_str_eq(report_row_text(r.row[0], REPORT_GROUP), "lab");
	ck_assert_str_eq(report_row_text(r.row[0], REPORT_USER), "ada");
	ck_assert(r.row[0]->sum[SUM_held_cpu] == 10000000);
	report_fini(&r);
	disk_fini(&d);
}
END_TEST

/* Sum up a range by this key. Returns what report_begin() returns; *ret_held:
 * the CPU time held. */
static int report_range(struct disk *d, enum report_key by, int64_t since,
                        int64_t until, int64_t *ret_held)
{
	struct report r = { .by = { by },
		            .nby = 1,
		            .since = since,
		            .until = until,
		            .most = 1000 };
	int result = report_begin(&r, d->w.state, store_path(d->store),
	                          d->w.now * 1000, all_of_it, NULL, &d->err);

	if (result == 0)
		ck_assert_int_eq(report_run(&r, &d->err), 0);
	*ret_held = (int64_t)r.total.sum[SUM_held_cpu];
	report_fini(&r);
	return result;
}

START_TEST(old_hours_are_removed)
{
	static const char left[] =
	    "SELECT min(start), (SELECT count(*) FROM rollup_wait"
	    " WHERE level = 0) FROM rollup WHERE level = 0";
	enum { DAY = 86400, BEGAN = 1000 };
	struct disk d;
	int64_t cpu;
	bool more;
	int n = 0;

	disk_init(&d);
	PLAY(&d, "submit", "run", "+300000");
	book_all(&d, d.w.now * 1000);
	PLAY(&d, "end 1 0");
	save(&d);
	ck_assert_str_eq(rows(&d, left), "0 1\n");
	do {
		ck_assert_int_eq(store_purge_hours(d.store, NULL, 2 * DAY + 5,
		                                   10, &more, &d.err),
		                 0);
		check_rollups(&d);
	} while (++n < 9 && more);
	ck_assert_int_eq(n, 5); /* 48 hours */
	ck_assert_str_eq(rows(&d, left), "172800 0\n");
	ck_assert_int_eq(
	    report_range(&d, REPORT_USER, DAY + 7200, DAY + 7300, &cpu), 0);
	ck_assert_int_eq(cpu, DAY * 1000000LL); /* the whole day */
	ck_assert_int_eq(report_range(&d, REPORT_DAY, 0, DAY, &cpu), 0);
	ck_assert_int_eq(cpu, (DAY - BEGAN) * 1000000LL);
	ck_assert_int_eq(report_range(&d, REPORT_HOUR, DAY, 3 * DAY, &cpu), -1);
	ck_assert_ptr_nonnull(strstr(d.err.text, "hours before 1970-01-03"));
	ck_assert_int_eq(report_range(&d, REPORT_HOUR, 2 * DAY, 3 * DAY, &cpu),
	                 0);
	ck_assert_int_eq(cpu, DAY * 1000000LL);
	disk_fini(&d);
}
END_TEST

/* A job holds 8 PiB for a month, so the sum of a month exceeds 64 bits. */
START_TEST(sums_that_do_not_fit_stay_at_the_most)
{
	const int64_t rate[RATES] = { [RES_MEM] = INT64_C(8) << 30 };
	int64_t sum[ROLLUP_NSUMS] = { 0 };

	rollup_add(sum, rate, 100);
	ck_assert_int_eq(sum[SUM_held_mem], rate[RES_MEM] * 100);
	rollup_add(sum, rate, INT64_C(31) * 86400000);
	ck_assert_int_eq(sum[SUM_held_mem], INT64_MAX);
	rollup_add(sum, rate, 1);
	ck_assert_int_eq(sum[SUM_held_mem], INT64_MAX);
	ck_assert_int_eq(rollup_sum(INT64_MIN, -1), INT64_MIN);
	ck_assert_int_eq(rollup_sum(INT64_MAX, -1), INT64_MAX - 1);
}
END_TEST

START_TEST(sums_of_the_database_stay_at_the_most)
{
	struct disk d;

	disk_init(&d);
	PLAY(&d, "submit mem=100M", "run", "+10");
	come_back(&d, NULL);
	ck_assert_int_eq(
	    try_sql(&d,
	            "UPDATE rollup SET held_mem = 9223372036854775806"
	            " WHERE level = 2",
	            NULL, NULL),
	    0);
	PLAY(&d, "+10", "end 1 0");
	save(&d);
	ck_assert_str_eq(rows(&d, "SELECT typeof(held_mem), held_mem,"
	                          " held_cpu FROM rollup WHERE level = 2"),
	                 "integer 9223372036854775807 20000000\n");
	disk_fini(&d);
}
END_TEST

START_TEST(each_attempt_has_a_row)
{
	struct disk d;

	disk_init(&d);
	PLAY(&d, "submit cpus-per-task=2 gpus=1 mem=100M", "plan", "+2",
	     "started", "+10", "requeue", "+1", "end 1 143");
	save(&d);
	again(&d, NULL);
	world_node(&d.w, "n0", 4, 4000, 2);
	PLAY(&d, "run", "+5", "suspend", "+7", "resume", "plan", "+3");
	save(&d);
	again(&d, NULL); /* the job's placement is loaded */
	world_node(&d.w, "n0", 4, 4000, 2);
	PLAY(&d, "end 1 0");
	save(&d);
	ck_assert_str_eq(
	    rows(&d, ATTEMPTS),
	    "1 1 1000000 1013000 11000 0 3 143 26000 1300 13000 batch n0\n"
	    "1 2 1013000 1028000 8000 5 0 0 16000 1500 15000 batch n0\n");
	buf_clear(&d.text);
	ck_assert_int_eq(
	    store_totals(d.store, NULL, NULL, 9, put_total, &d.text, &d.err),
	    0);
	ck_assert_str_eq(d.text.data, "ada batch 42000 28000 1\n");
	disk_fini(&d);
}
END_TEST

/* Report the GPU use of job 1 with an event. */
static void tell_gpus(struct disk *d, enum event_kind kind,
                      const struct gpu_use *use)
{
	const struct outcome outcome = { .start = d->w.now - 10,
		                         .end = d->w.now,
		                         .gpu = *use,
		                         .peak_mem_kib = SPEC_UNSET };
	const struct event_in ev = {
		.kind = kind, .now = d->w.now, .gpu = *use, .outcome = &outcome
	};

	ck_assert_int_eq(
	    state_event(d->w.state, state_job(d->w.state, 1), &ev, &d->err), 0);
	world_check(&d->w);
}

static void check_gpus(struct disk *d, struct gpu_use want)
{
	struct gpu_use use;

	ledger_gpu(state_job(d->w.state, 1), &use);
	ck_assert_int_eq(use.busy_ms, want.busy_ms);
	ck_assert_int_eq(use.known_ms, want.known_ms);
	ck_assert_int_eq(use.mem_mib, want.mem_mib);
	ck_assert_int_eq(use.mem_total_mib, want.mem_total_mib);
}

/* The first attempt reports its GPU use when it ends, the second is lost after
 * it has reported some, and the third reports none. */
START_TEST(the_use_of_gpus_is_kept)
{
	const struct gpu_use first = { 4000, 10000, 512, 1024 },
			     some = { 100, 5000, 700, 1024 },
			     more = { 2500, 9000, 300, 1024 },
			     both = { 6500, 19000, 512, 1024 }, none = { 0 };
	struct disk d;

	disk_init(&d);
	PLAY(&d, "submit gpus=1 requeue", "run", "+10", "requeue");
	tell_gpus(&d, EV_ended, &first);
	check_gpus(&d, first);
	come_back(&d, "between attempts");
	world_node(&d.w, "n0", 4, 4000, 2);
	PLAY(&d, "run", "+10");
	tell_gpus(&d, EV_used, &some);
	ck_assert(!state_is_dirty(d.w.state) ||
	          store_commit(d.store, d.w.state, &d.err) == 0);
	check_gpus(&d, (struct gpu_use){ 4100, 15000, 700, 1024 });
	tell_gpus(&d, EV_used, &more);
	ck_assert(!state_is_dirty(d.w.state)); /* no commit is needed */
	tell_gpus(&d, EV_lost, &none);
	check_gpus(&d, both);
	come_back(&d, "after a loss");
	world_node(&d.w, "n0", 4, 4000, 2);
	PLAY(&d, "+600", "run", "+10", "end 1 0");
	save(&d);
	ck_assert_str_eq(
	    rows(&d, "SELECT gpu_busy_ms, gpu_known_ms, gpu_mem_mib,"
	             " gpu_mem_total_mib FROM attempt ORDER BY attempt"),
	    "4000 10000 512 1024\n2500 9000 300 1024\n- - - -\n");
	ck_assert_str_eq(rows(&d, "SELECT gpu_busy_ms, gpu_known_ms FROM rollup"
	                          " WHERE level = 2"),
	                 "6500 19000\n");
	ck_assert_int_eq(reported(&d, SUM_gpu_busy_ms), 6500);
	ck_assert_int_eq(reported(&d, SUM_gpu_known_ms), 19000);
	disk_fini(&d);
}
END_TEST

START_TEST(a_ledger_with_a_bad_end_is_refused)
{
	static const char *const bad[] = {
		"1,2,3,4@",          "1,2,3,4@1,2,3",   "1,2,3,4@1,2,3,4,5",
		"1,2,3,4@1,-2,3,4",  "1,2,3,4@1,2,3,x", "1,2,3,4@1 2 3 4",
		"1,2,3,4@1,2,3,4@1", "1,2,3,4x",        "1,2,3,4$",
		"1,2,3,4$5",         "1,2,3,4$5:",      "1,2,3,4$-5:gpu",
		"1,2,3,4$:gpu",      "1,2,3,4@1,2$3:g",
	};
	struct ledger *l = ledger_parse("1,2,3,4@5,6,7,8$9:gpu", NULL);

	ck_assert_ptr_nonnull(l);
	ck_assert_int_eq(l->cost_before, 9);
	ck_assert_str_eq(l->pool, "gpu");
	ck_assert_int_eq(l->gpu_before.busy_ms, 5);
	ck_assert_int_eq(l->gpu_before.mem_total_mib, 8);
	ledger_free(l);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_msg(!ledger_parse(bad[i], NULL), "%s", bad[i]);
	/* a ledger written by a version without prices */
	l = ledger_parse("1,2,3,4", NULL);
	ck_assert_int_eq(l->cost_before, SPEC_UNSET);
	ledger_free(l);
}
END_TEST

/* A large database is checked if the computer stopped while it was open. */
START_TEST(large_databases_are_checked_after_a_crash)
{
	const int64_t large = INT64_C(1) << 30;
	char boot[BOOT_ID];
	struct disk d;
	char *want;

	ck_assert(damage_is_possible(4096, "", "a"));
	ck_assert(damage_is_possible(large, NULL, "a"));
	ck_assert(!damage_is_possible(large, "", "a"));
	ck_assert(!damage_is_possible(large, "a", "a"));
	ck_assert(damage_is_possible(large, "b", "a"));
	ck_assert(damage_is_possible(large, "?", "?"));
	damage_boot(boot);
	disk_init(&d);
	want = xasprintf("%s\n", boot);
	ck_assert_str_eq(
	    rows(&d, "SELECT value FROM meta WHERE key = 'opened'"), want);
	free(want);
	disk_stop(&d);
	sql(&d, "INSERT INTO queue (name) SELECT 'closed' FROM meta"
	        " WHERE key = 'opened' AND value = ''");
	disk_start(&d, NULL);
	ck_assert_str_eq(rows(&d, "SELECT name FROM queue"), "closed\n");
	disk_fini(&d);
}
END_TEST

/* A start looks at 20,000 blobs at most, the next one goes on from there. */
START_TEST(blobs_without_use_go_by_and_by)
{
	static const char count[] = "SELECT count(*) FROM blob";
	struct disk d;

	disk_init(&d);
	ck_assert_int_eq(
	    try_sql(&d,
	            "INSERT INTO blob (id, hash) WITH RECURSIVE n(i) AS"
	            " (SELECT 1 UNION ALL SELECT i + 1 FROM n"
	            " WHERE i < 20010) SELECT i, i FROM n",
	            NULL, NULL),
	    0);
	again(&d, NULL);
	ck_assert_str_eq(rows(&d, count), "10\n");
	again(&d, NULL);
	ck_assert_str_eq(rows(&d, count), "0\n");
	disk_fini(&d);
}
END_TEST

/* Pieces of an attempt are read as they were packed; none is read from a part
 * of one, or from a number of 64 bits. */
START_TEST(pieces_are_packed)
{
	static const struct ledger_piece pieces[] = {
		{ 1, false, { 0 } },
		{ 5034, false, { 1000, 100 } },
		{ 128, true, { 0, 0, 0, 127 } },
		{ INT64_MAX >> 3, true, { INT64_MAX, 1, INT64_MAX, 128 } },
	};
	unsigned char wide[11];

	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		struct buf packed = { 0 };
		struct ledger_piece is;

		ledger_piece_pack(&pieces[i], &packed);
		for (size_t n = 0; n <= packed.len; n++) {
			const unsigned char *at = (void *)packed.data;
			size_t left = n;

			ck_assert_int_eq(ledger_piece_unpack(&at, &left, &is),
			                 n == packed.len);
		}
		ck_assert_mem_eq(&is, &pieces[i], sizeof(is));
		buf_free(&packed);
	}
	memset(wide, 0xff, sizeof(wide));
	for (int i = 0; i < 2; i++) {
		const unsigned char *at = wide;
		size_t left = sizeof(wide);
		struct ledger_piece is;

		ck_assert(!ledger_piece_unpack(&at, &left, &is));
		wide[9] = 1;
	}
}
END_TEST

static void put_attempt(const struct past_attempt *past, void *arg)
{
	buf_printf(arg, "%llu.%lld %s %s %lld %lld\n",
	           (unsigned long long)past->job, (long long)past->attempt,
	           past->user, past->queue, (long long)past->state,
	           (long long)past->ran_ms);
}

static int list_attempts(struct disk *d, const struct history_query *q)
{
	int result;

	buf_clear(&d->text);
	result = store_attempts(store_path(d->store), q, put_attempt, &d->text,
	                        &d->err);
	buf_addc(&d->text, '\0');
	return result;
}

START_TEST(attempts_are_listed)
{
	static const char *const wrong[] = { "state = 99", "state = -1",
		                             "reason = 255", "holder = NULL",
		                             "holder = 4711" };
	static const char right[] =
	    "UPDATE attempt SET state = 5, reason = 0, holder = 1";
	struct history_query q = { .since = NO_TIME,
		                   .until = NO_TIME,
		                   .task = NO_TASK,
		                   .after = NO_TIME,
		                   .limit = 1 };
	struct disk d;

	disk_init(&d);
	PLAY(&d, "submit", "plan", "+2", "started", "+10", "requeue", "+1",
	     "end 1 143", "plan", "+1", "started", "+3", "end 1 0");
	save(&d);
	ck_assert_int_eq(list_attempts(&d, &q), 0);
	ck_assert_str_eq(d.text.data, "1.1 ada batch 0 11000\n");
	q.after = 1013000;
	q.after_id = 1;
	q.after_attempt = 1;
	ck_assert_int_eq(list_attempts(&d, &q), 0);
	ck_assert_str_eq(d.text.data, "1.2 ada batch 5 3000\n");
	q.after = NO_TIME;
	q.limit = 10;
	q.id = 2;
	ck_assert_int_eq(list_attempts(&d, &q), 0);
	ck_assert_str_eq(d.text.data, "");
	q.id = 1;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		char sql[80];

		snprintf(sql, sizeof(sql), "UPDATE attempt SET %s", wrong[i]);
		ck_assert_int_eq(try_sql(&d, sql, NULL, NULL), 0);
		ck_assert_int_eq(list_attempts(&d, &q), -1);
		ck_assert_ptr_nonnull(strstr(d.err.text, "of job 1: "));
		ck_assert_int_eq(try_sql(&d, right, NULL, NULL), 0);
		ck_assert_int_eq(list_attempts(&d, &q), 0);
	}
	disk_fini(&d);
}
END_TEST

/* One of two tasks is evicted: at each time the job is charged for the tasks it
 * had. */
START_TEST(an_elastic_job_held_what_it_had)
{
	struct disk d;

	disk_init(&d);
	PLAY(&d, "submit tasks=2 min-tasks=1", "run", "run", "+10", "submit",
	     "decide evict 1 1 reclaim 2", "+5", "end 1 0");
	save(&d);
	ck_assert_str_eq(rows(&d, "SELECT tasks, held_cpu_ms FROM attempt"),
	                 "2 25000\n");
	disk_fini(&d);
}
END_TEST

/* GPU time was lost if an operator requeued the job, but not if its user did.
 */
START_TEST(a_requeue_by_an_operator_loses_gpu_time)
{
	struct disk d;

	disk_init(&d);
	PLAY(&d, "submit gpus=1", "run", "+10", "requeue", "end 1 0", "run",
	     "+5", "operator", "requeue");
	come_back(&d, "while it is being stopped");
	world_node(&d.w, "n0", 4, 4000, 2);
	PLAY(&d, "end 1 0");
	save(&d);
	ck_assert_str_eq(rows(&d, "SELECT sum(evicted), sum(evicted_gpu_ms)"
	                          " FROM rollup WHERE level = 0"),
	                 "0 5000\n");
	disk_fini(&d);
}
END_TEST

/* While a suspended job is being stopped, it has its CPUs again. */
START_TEST(a_suspended_job_that_is_stopped_holds_cpus)
{
	struct disk d;

	disk_init(&d);
	PLAY(&d, "submit cpus-per-task=2", "run", "+10", "suspend", "+7",
	     "cancel", "+5", "end 1 0");
	save(&d);
	ck_assert_str_eq(
	    rows(&d, "SELECT held_ms - idle_ms, held_cpu_ms FROM attempt"),
	    "10000 30000\n");
	disk_fini(&d);
}
END_TEST

/* Durations are exact to the millisecond, so that short jobs add up. */
START_TEST(short_jobs_are_not_noise)
{
	int64_t ms = 1000400;
	struct disk d;

	disk_init(&d);
	for (int i = 1; i <= 10; i++) {
		world_submit(&d.w, "");
		state_clock(d.w.state, ms);
		world_run(&d.w);
		state_clock(d.w.state, ms += 300);
		d.w.now = ms / 1000;
		world_end(&d.w, (uint64_t)i, 0);
		save(&d);
	}
	ck_assert_str_eq(rows(&d, "SELECT count(*), sum(held_ms - idle_ms),"
	                          " sum(held_cpu_ms) FROM attempt"),
	                 "10 3000 3000\n");
	disk_fini(&d);
}
END_TEST

START_TEST(attempts_go_with_their_jobs)
{
	struct disk d;
	size_t gone;

	disk_init(&d);
	make_past(&d);
	ck_assert_int_eq(store_purge(d.store, 1025, 100, &gone, &d.err), 0);
	ck_assert_str_eq(rows(&d, "SELECT DISTINCT job FROM attempt"),
	                 "4\n5\n");
	disk_fini(&d);
}
END_TEST

static void put_act(const struct audit_row *row, void *arg)
{
	buf_printf(arg, "%lld %s %s %s %s\n", (long long)row->time_ms,
	           row->user, row->act, row->target,
	           row->owner ? row->owner : "-");
}

static const char *acts(struct disk *d, const struct audit_query *q)
{
	buf_clear(&d->text);
	ck_assert_int_eq(store_audit_list(store_path(d->store), q, put_act,
	                                  &d->text, &d->err),
	                 0);
	buf_addc(&d->text, '\0');
	return d->text.data;
}

START_TEST(who_did_what_is_kept)
{
	const struct audit_row rows[] = {
		{ 900500, 0, "root", "cancel", 1, "job 1", "ada", NULL },
		{ 1030000, 7, "bob", "drain", 0, "node n0", NULL, "disk" },
		{ 1040000, 8, "ada", "hold", 3, "job 2_[2-4,6]", "ada", NULL },
	};
	struct audit_query q = { .since = NO_TIME,
		                 .until = NO_TIME,
		                 .limit = 9 };
	struct disk d;
	size_t gone;

	disk_init(&d);
	make_past(&d);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		store_audit(d.store, &rows[i]);
	save(&d);
	ck_assert_str_eq(acts(&d, &q), "1040000 ada hold job 2_[2-4,6] ada\n"
	                               "1030000 bob drain node n0 -\n"
	                               "900500 root cancel job 1 ada\n");
	q.about = "ada";
	q.until = 1000;
	ck_assert_str_eq(acts(&d, &q), "900500 root cancel job 1 ada\n");
	q = (struct audit_query){
		.since = NO_TIME, .until = NO_TIME, .job = 2, .limit = 9
	};
	ck_assert_str_eq(acts(&d, &q), "1040000 ada hold job 2_[2-4,6] ada\n");
	q.job = 0;
	q.limit = 1;
	ck_assert_int_eq(store_purge(d.store, 1035, 100, &gone, &d.err), 0);
	ck_assert_str_eq(acts(&d, &q), "1040000 ada hold job 2_[2-4,6] ada\n");
	disk_fini(&d);
}
END_TEST

/* While commits fail, users can add rows without end. */
START_TEST(rows_without_commit_are_bounded)
{
	struct audit_row row = {
		0, 7, "bob", "cancel", 1, "job 1", "bob", NULL
	};
	struct audit_query q = { .since = NO_TIME,
		                 .until = NO_TIME,
		                 .limit = 1 };
	struct disk d;

	disk_init(&d);
	for (int i = 0; i < AUDITS_KEPT + 2; i++) {
		row.time_ms = i;
		store_audit(d.store, &row);
	}
	save(&d);
	row.time_ms = AUDITS_KEPT - 1;
	ck_assert_int_eq(strtoll(acts(&d, &q), NULL, 10), row.time_ms);
	disk_fini(&d);
}
END_TEST

START_TEST(the_last_acts_stay_with_a_job)
{
	struct disk d;
	struct job *job;
	struct act act;

	disk_init(&d);
	PLAY(&d, "submit array=0-3");
	job = state_job(d.w.state, 1);
	for (int i = 0; i < ACTS_KEPT + 3; i++) {
		char *was = job->acts;

		job->acts =
		    acts_add(was, 1000 + i, i ? "hold" : "release", "a b");
		free(was);
	}
	acts_changed(d.w.state, 1);
	ck_assert(!acts_last(job->acts, "release", &act));
	ck_assert(acts_last(job->acts, "hold", &act));
	ck_assert_int_eq(act.time, 1000 + ACTS_KEPT + 2);
	ck_assert_str_eq(act.user, "a b");
	/* both records keep the list of who did what */
	PLAY(&d, "split 1 2-3");
	come_back(&d, "acts");
	ck_assert(strstr(all_jobs(&d), "acts=1003 hold a b\n") != NULL);
	disk_fini(&d);
}
END_TEST

static void put_total(const struct total *total, void *arg)
{
	buf_printf(arg, "%s %s %lld %lld %lld\n", total->user, total->queue,
	           (long long)total->cpu_ms, (long long)total->gpu_ms,
	           (long long)total->jobs);
}

START_TEST(totals_add_up)
{
	struct disk d;

	disk_init(&d);
	make_past(&d);
	PLAY(&d, "submit tasks=2 cpus-per-task=0.5 gpus-per-task=1", "run",
	     "+7", "end 7 0");
	save(&d);
	buf_clear(&d.text);
	ck_assert_int_eq(
	    store_totals(d.store, NULL, NULL, 9, put_total, &d.text, &d.err),
	    0);
	/* A job of 10 s on 2 CPUs, two array tasks of 10 s, a gang of 7 s, and
	 * four array tasks that never began: eight jobs. */
	ck_assert_str_eq(d.text.data, "ada batch 47000 14000 8\n");
	buf_clear(&d.text);
	ck_assert_int_eq(
	    store_totals(d.store, "ada", "a", 1, put_total, &d.text, &d.err),
	    0);
	ck_assert_str_eq(d.text.data, "ada batch 47000 14000 8\n");
	buf_clear(&d.text);
	ck_assert_int_eq(store_totals(d.store, "ada", "batch", 1, put_total,
	                              &d.text, &d.err),
	                 0);
	ck_assert_uint_eq(d.text.len, 0);
	disk_fini(&d);
}
END_TEST

static void add_id(uint64_t job, void *arg)
{
	*(uint64_t *)arg += job;
}

START_TEST(what_is_old_is_forgotten)
{
	struct buf got = { 0 };
	uint64_t sum = 0;
	struct past past;
	uint64_t first;
	uint32_t count;
	struct disk d;
	size_t gone;

	disk_init(&d);
	ck_assert_int_eq(store_blob(d.store, "script", 6, &d.err), 1);
	ck_assert_int_eq(store_blob(d.store, "env", 3, &d.err), 2);
	ck_assert_int_eq(store_blob(d.store, "unused", 6, &d.err), 3);
	store_token(d.store, "abc", 7, 12, 3, 5);
	make_past(&d);
	ck_assert_int_eq(store_purge(d.store, 1000, 100, &gone, &d.err), 0);
	ck_assert_uint_eq(gone, 0);
	ck_assert_int_eq(store_old(d.store, 1025, 1, add_id, &sum, &d.err), 0);
	ck_assert_uint_eq(sum, 1);
	ck_assert_int_eq(store_purge(d.store, 1025, 1, &gone, &d.err), 0);
	ck_assert_uint_eq(gone, 1);
	ck_assert_int_eq(store_past(1, NO_TASK, &past, d.store), -1);
	ck_assert_int_eq(store_past(2, 3, &past, d.store), 0);
	ck_assert(!store_token_find(d.store, "abc", 7, &first, &count));
	ck_assert_int_eq(store_purge(d.store, 1025, 100, &gone, &d.err), 0);
	ck_assert_uint_eq(gone, 1);
	ck_assert_int_eq(store_past(2, 3, &past, d.store), -1);
	ck_assert_int_eq(store_past(2, 0, &past, d.store), 0);
	/* Blobs are kept until the last of their jobs is purged; the one that
	 * never had a job, until the next start. */
	ck_assert_int_eq(store_blob_get(d.store, 1, &got, NULL), 0);
	ck_assert_int_eq(store_blob_get(d.store, 3, &got, NULL), 0);
	PLAY(&d, "end 6 0");
	save(&d);
	ck_assert_int_eq(store_purge(d.store, 1999, 100, &gone, &d.err), 0);
	ck_assert_uint_gt(gone, 0);
	ck_assert_int_eq(store_blob_get(d.store, 1, &got, NULL), -1);
	ck_assert_int_eq(store_blob_get(d.store, 2, &got, NULL), -1);
	again(&d, NULL);
	ck_assert_int_eq(store_blob_get(d.store, 3, &got, NULL), -1);
	buf_free(&got);
	disk_fini(&d);
}
END_TEST

START_TEST(a_blob_is_not_forgotten_while_it_is_lent)
{
	struct buf got = { 0 };
	struct disk d;
	size_t gone;

	disk_init(&d);
	store_blob(d.store, "script", 6, &d.err);
	store_blob(d.store, "env", 3, &d.err);
	PLAY(&d, "submit", "run", "end 1 0");
	save(&d);
	ck_assert_int_eq(store_blob(d.store, "script", 6, &d.err), 1);
	ck_assert_int_eq(store_purge(d.store, 9999, 100, &gone, &d.err), 0);
	ck_assert_uint_eq(gone, 1);
	PLAY(&d, "submit");
	save(&d);
	ck_assert_int_eq(store_blob_get(d.store, 1, &got, &d.err), 0);
	buf_free(&got);
	disk_fini(&d);
}
END_TEST

START_TEST(steps_of_an_attempt_go_with_their_job)
{
	struct buf text = { 0 }, got = { 0 };
	struct disk d;
	size_t gone;

	disk_init(&d);
	buf_puts(&text, "{\"step\":0}\n");
	PLAY(&d, "submit", "run");
	save(&d);
	/* A job's end may be reported twice, but its steps are stored once. */
	store_steps(d.store, 1, 1, &text);
	store_steps(d.store, 1, 1, &text);
	PLAY(&d, "end 1 0");
	save(&d);
	ck_assert_int_eq(store_steps_get(d.store, 1, &got, &d.err), 0);
	ck_assert_str_eq(got.data, text.data);
	buf_clear(&got);
	ck_assert_int_eq(store_steps_get(d.store, 2, &got, &d.err), 0);
	ck_assert_uint_eq(got.len, 0);
	ck_assert_int_eq(store_purge(d.store, 9999, 100, &gone, &d.err), 0);
	ck_assert_str_eq(rows(&d, "SELECT count(*) FROM step"), "0\n");
	buf_free(&text);
	buf_free(&got);
	disk_fini(&d);
}
END_TEST

/* --- migrations -------------------------------------------------------- */

START_TEST(old_schemas_are_read)
{
	char *file =
	    xasprintf("%s/tests/unit/store/v%d.sql",
	              getenv("top_srcdir") ? getenv("top_srcdir") : ".", _i);
	FILE *f = fopen(file, "r");
	struct buf text = { 0 };
	struct disk d;
	size_t n;

	ck_assert_msg(f, "%s", file);
	while ((n = fread(buf_room(&text, 4096), 1, 4096, f)) > 0)
		buf_grew(&text, n);
	buf_addc(&text, '\0');
	fclose(f);
	free(file);
	disk_init(&d);
	disk_fini(&d);
	ck_assert_int_eq(mkdir(d.dir, 0700), 0);
	sql(&d, text.data);
	disk_start(&d, NULL);
	d.w.now = 1030;
	load(&d);
	ck_assert_str_eq(world_jobs(&d.w),
	                 "2_5 R, 7 PD JobHeldUser, 8 S JobHeldAdmin, "
	                 "9_[1-3%2] PD Dependency");
	ck_assert_str_eq(history(&d, &(struct asked){ 0 }),
	                 "1:batch 2_[2-4,6]:batch 2_0:batch 2_1:batch ");
	ck_assert_uint_eq(state_next_id(d.w.state), 10);
	/* Ended jobs of old schemas have one attempt each. */
	ck_assert_str_eq(
	    rows(&d, "SELECT job, attempt, ended_ms - held_ms, ended_ms,"
	             " held_ms - idle_ms, state, nullif(held_cpu_ms, 10000),"
	             " user FROM attempt JOIN holder h ON h.id = holder"),
	    "1 1 1000000 1010000 10000 6 - ada\n"
	    "4 1 1020000 1030000 10000 5 - ada\n"
	    "5 1 1020000 1030000 10000 6 - ada\n");
	if (_i >= 17) /* pieces are packed, and the cost follows from them */
		ck_assert_str_eq(
		    rows(&d, "SELECT hex(pieces), account, pool, class"
		             " FROM attempt JOIN holder h ON h.id = holder"
		             " WHERE pieces IS NOT NULL"),
		    "86FA01E807640080DDDB0183F702A84628 team here \n");
	if (_i >= 10) /* rollups count from their last booking on */
		ck_assert_ptr_nonnull(strstr(
		    all_jobs(&d), ",1500,0,1000,300,0,1,1,1,0,1025000,0,0|"
				  "5000*0 "));
	PLAY(&d, _i < 4 ? "reservations =>"
	                : "reservations => spare 970-1970 n0 ada+ada");
	come_back(&d, "an old database");
	buf_free(&text);
	disk_fini(&d);
}
END_TEST

static const struct zone *utc(const char *name, struct err *err, void *arg)
{
	static struct zone *zone;

	(void)name;
	(void)arg;
	if (!zone)
		zone = zone_load("UTC", err);
	return zone;
}

static struct cron_entry *add_cron(struct disk *d, const char *schedule)
{
	struct spec spec = world_spec(&d->w, "");
	struct cron_rule rule;
	struct cron_ask ask = { .uid = 7,
		                .gid = 8,
		                .user = "ann",
		                .spec = &spec,
		                .rule = &rule,
		                .imported = true };

	cron_rule_init(&rule);
	cron_rule_set(&rule, "cron", schedule, 0, NULL);
	cron_rule_set(&rule, "cron-late", "90", 0, NULL);
	ask.script = store_blob(d->store, schedule, strlen(schedule), &d->err);
	ask.env = store_blob(d->store, "env", 3, &d->err);
	return state_cron_add(d->w.state, &ask, state_take_ids(d->w.state, 1),
	                      d->w.now);
}

/* A recurring job and its run are loaded as they were saved, with the time up
 * to which runs were made. Blobs are kept as long as a recurring job needs
 * them. */
START_TEST(recurring_work_comes_back)
{
	struct buf script = { 0 };
	struct cron_entry *e;
	struct disk d;
	int64_t time;
	size_t gone;

	disk_init(&d);
	state_cron_zones(d.w.state, utc, NULL);
	e = add_cron(&d, "@hourly");
	state_cron_remove(d.w.state, add_cron(&d, "@daily"));
	save(&d);
	ck_assert(state_cron_take(d.w.state, e, 0, 3600, &time));
	state_cron_ran(d.w.state, e, 9, time);
	state_cron_set_file(d.w.state, 7, e->script);
	save(&d);
	disk_stop(&d);
	disk_start(&d, NULL);
	state_cron_zones(d.w.state, utc, NULL);
	load(&d);
	e = state_first_cron(d.w.state);
	ck_assert_ptr_nonnull(e);
	ck_assert_ptr_null(e->next);
	ck_assert_uint_eq(e->id, 1);
	ck_assert_str_eq(e->rule.schedule, "@hourly");
	ck_assert_int_eq(e->rule.late_s, 90 * 60);
	ck_assert_int_eq(e->rule.until, SCHEDULE_NEVER);
	ck_assert_int_eq(e->looked, 3600);
	ck_assert_int_eq(e->last, 3600);
	ck_assert_uint_eq(e->last_job, 9);
	ck_assert_uint_eq(e->runs, 1);
	ck_assert(e->imported && !e->paused);
	ck_assert_int_eq(e->next_at, 7200);
	ck_assert_int_eq(state_cron_file(d.w.state, 7), e->script);
	ck_assert(!state_is_dirty(d.w.state));
	/* Entries and jobs share one sequence of ids. */
	ck_assert_uint_ge(state_next_id(d.w.state), 3);
	ck_assert_int_eq(store_purge(d.store, 9999, 100, &gone, &d.err), 0);
	ck_assert_int_eq(store_blob_get(d.store, e->script, &script, NULL), 0);
	buf_free(&script);
	disk_fini(&d);
}
END_TEST

START_TEST(reservations_come_back)
{
	struct disk d;

	disk_init(&d);
	world_node(&d.w, "n1", 4, 4000, 0);
	PLAY(&d, "reserve a 60 120 n[0-1] ann,@staff weekly",
	     "reserve b 200 300 n1 -");
	save(&d);
	again(&d, NULL);
	PLAY(&d,
	     "reservations => a 60-120 n[0-1] ann,@staff+; "
	     "b 200-300 n1 +",
	     "next => 60", "unreserve a");
	save(&d);
	again(&d, NULL);
	PLAY(&d, "reservations => b 200-300 n1 +", "+300", "reservations =>");
	save(&d);
	again(&d, NULL);
	PLAY(&d, "reservations =>");
	disk_fini(&d);
}
END_TEST

SUITE(store)
{
	tcase_add_test(tc, recurring_work_comes_back);
	tcase_add_test(tc, reservations_come_back);
	tcase_add_loop_test(tc, comes_back, 0, ARRAY_SIZE(cases));
	tcase_add_test(tc, every_field_comes_back);
	tcase_add_test(tc, what_is_judged_again_ends_well);
	tcase_add_test(tc, tasks_are_divided_while_loading);
	tcase_add_test(tc, time_goes_on);
	tcase_add_test(tc, runners_are_asked_for_what_ran);
	tcase_add_test(tc, attempts_keep_their_namespace);
	tcase_add_test(tc, ids_are_never_used_again);
	tcase_add_test(tc, nodes_and_queues);
	tcase_add_test(tc, nodes_that_are_gone);
	tcase_add_loop_test(tc, refused_by_load, 0, ARRAY_SIZE(broken));
	tcase_add_test(tc, no_value_ends_it);
	tcase_add_loop_test(tc, foreign_databases, 0, ARRAY_SIZE(foreign));
	tcase_add_test(tc, damaged_databases);
	tcase_add_test(tc, large_databases_are_checked_after_a_crash);
	tcase_add_test(tc, a_log_that_is_gone_is_noticed);
	tcase_add_test(tc, a_database_that_is_gone_is_noticed);
	tcase_add_test(tc, no_folder);
	tcase_add_test(tc, blobs_are_kept_once);
	tcase_add_test(tc, tokens_are_known);
	tcase_add_test(tc, waiting_jobs_share_their_runs);
	tcase_add_test(tc, past_jobs);
	tcase_add_test(tc, how_jobs_ended);
	tcase_add_test(tc, history_is_asked);
	tcase_add_test(tc, history_is_not_read_as_a_whole);
	tcase_add_test(tc, how_an_array_ended_is_found_by_index);
	tcase_add_test(tc, use_is_kept_by_the_hour);
	tcase_add_loop_test(tc, a_day_is_as_long_as_its_clock_says, 0,
	                    ARRAY_SIZE(clock_days));
	tcase_add_test(tc, late_news_are_taken_off);
	tcase_add_test(tc, a_leap_of_the_clock_is_booked_in_parts);
	tcase_add_test(tc, a_report_is_by_group);
	tcase_add_test(tc, old_hours_are_removed);
	tcase_add_test(tc, sums_that_do_not_fit_stay_at_the_most);
	tcase_add_test(tc, sums_of_the_database_stay_at_the_most);
	tcase_add_test(tc, each_attempt_has_a_row);
	tcase_add_test(tc, the_use_of_gpus_is_kept);
	tcase_add_test(tc, a_ledger_with_a_bad_end_is_refused);
	tcase_add_test(tc, blobs_without_use_go_by_and_by);
	tcase_add_test(tc, pieces_are_packed);
	tcase_add_test(tc, an_elastic_job_held_what_it_had);
	tcase_add_test(tc, a_suspended_job_that_is_stopped_holds_cpus);
	tcase_add_test(tc, short_jobs_are_not_noise);
	tcase_add_test(tc, a_requeue_by_an_operator_loses_gpu_time);
	tcase_add_test(tc, attempts_go_with_their_jobs);
	tcase_add_test(tc, who_did_what_is_kept);
	tcase_add_test(tc, rows_without_commit_are_bounded);
	tcase_add_test(tc, the_last_acts_stay_with_a_job);
	tcase_add_test(tc, totals_add_up);
	tcase_add_test(tc, attempts_are_listed);
	tcase_add_test(tc, what_is_old_is_forgotten);
	tcase_add_test(tc, a_blob_is_not_forgotten_while_it_is_lent);
	tcase_add_loop_test(tc, old_schemas_are_read, 1, 18);
	tcase_add_test(tc, steps_of_an_attempt_go_with_their_job);
}
