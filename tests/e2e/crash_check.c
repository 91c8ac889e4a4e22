/* crash_check.c - check what must be true however often the daemon was
 * killed */
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libcommon/map.h"
#include "libcommon/mem.h"
#include "libcommon/names.h"
#include "tests/e2e/crash.h"

/* --- what the jobs wrote ------------------------------------------------- */

/* A line that a process of a job wrote: "begin w1-17 23.1 -1 0 RUNID", with the
 * job's name, its id and attempt, array task and rank. */
struct line {
	/* number of the line in the file; lines are written in the order of
	 * time */
	size_t at;
	bool end;
	uint64_t job;
	uint32_t attempt, proc;
	char name[24], run_id[40];
};

struct ran {
	struct line *line; /* sorted by job, attempt, rank; begin before end */
	size_t n, cap;
};

static int by_job(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->job != y->job)
		return x->job < y->job ? -1 : 1;
	if (x->attempt != y->attempt)
		return x->attempt < y->attempt ? -1 : 1;
	if (x->proc != y->proc)
		return x->proc < y->proc ? -1 : 1;
	return x->end - y->end;
}

struct ran *ran_read(void)
{
	struct ran *ran = xcalloc(1, sizeof(*ran));
	FILE *file = fopen("ran", "re");
	char text[256], word[8];

	while (file && fgets(text, sizeof(text), file)) {
		struct line l = { .at = ran->n };

		if (sscanf(text,
		           "%7s %23s %" SCNu64 ".%" SCNu32 " %*d %" SCNu32
		           " %39s",
		           word, l.name, &l.job, &l.attempt, &l.proc,
		           l.run_id) != 6)
			problem("a job wrote: %s", text);
		l.end = !strcmp(word, "end");
		ran->line = GROW(ran->line, ran->n, &ran->cap);
		ran->line[ran->n++] = l;
	}
	if (file)
		fclose(file);
	if (ran->n)
		qsort(ran->line, ran->n, sizeof(*ran->line), by_job);
	return ran;
}

void ran_free(struct ran *ran)
{
	if (!ran)
		return;
	free(ran->line);
	free(ran);
}

/* Returns the first line of this job or, if the job has none, the place where
 * that line would be; use is_of() to tell. */
static const struct line *ran_job(const struct ran *ran, uint64_t job)
{
	size_t low = 0, high = ran->n;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (ran->line[mid].job < job)
			low = mid + 1;
		else
			high = mid;
	}
	return ran->line + low;
}

static bool is_of(const struct ran *ran, const struct line *l, uint64_t job)
{
	return l < ran->line + ran->n && l->job == job;
}

/* --- what the daemon lists ----------------------------------------------- */

struct seen_row {
	uint64_t job, array;
	int64_t task; /* -1: none */
	enum job_state state;
	bool held;
	int exit_code;
	char name[24];
};

struct rows {
	struct seen_row *row; /* sorted by name, then job */
	size_t n, cap;
};

static int by_name(const void *a, const void *b)
{
	const struct seen_row *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	if (order)
		return order;
	return x->job < y->job ? -1 : x->job > y->job;
}

static int64_t number(json_t *obj, const char *key)
{
	json_t *value = json_object_get(obj, key);

	return json_is_integer(value) ? json_integer_value(value) : -1;
}

static struct seen_row row_of(json_t *obj)
{
	const char *reason = json_string_value(json_object_get(obj, "reason"));
	struct seen_row row = {
		.job = (uint64_t)number(obj, "job_id"),
		.task = number(obj, "array_task_id"),
		.state = (enum job_state)job_state_parse(
		    json_string_value(json_object_get(obj, "state"))),
		.exit_code = (int)number(obj, "exit_code"),
		.held = reason && !strncmp(reason, "JobHeld", 7),
	};

	if (number(obj, "array_job_id") > 0)
		row.array = (uint64_t)number(obj, "array_job_id");
	snprintf(row.name, sizeof(row.name), "%s",
	         json_string_value(json_object_get(obj, "name")));
	return row;
}

static json_t *all_states(void)
{
	json_t *names = json_array();

	for (int i = 0; i < JOB_NSTATES; i++)
		json_array_append_new(
		    names, json_string(job_state_name((enum job_state)i)));
	return names;
}

static struct rows rows_get(void)
{
	json_t *req =
	    json_pack("{s:s, s:b, s:o, s:[s, s, s, s, s, s, s], s:s}", "op",
	              "jobs", "all", true, "states", all_states(), "fields",
	              "job_id", "array_job_id", "array_task_id", "name",
	              "state", "reason", "exit_code", "format", "json");
	struct client *client = NULL;
	struct buf text = { 0 };
	struct rows rows = { 0 };
	struct err err;
	json_t *answer = persist(&client, req, NULL, &text, &err);

	if (!answer)
		problem("no listing: %s", err.text);
	for (char *at = text.data, *end; answer && at && *at; at = end + 1) {
		json_t *obj;

		end = strchr(at, '\n');
		obj = json_loadb(at, (size_t)(end - at), 0, NULL);
		rows.row = GROW(rows.row, rows.n, &rows.cap);
		rows.row[rows.n++] = row_of(obj);
		json_decref(obj);
	}
	if (rows.n)
		qsort(rows.row, rows.n, sizeof(*rows.row), by_name);
	json_decref(answer);
	json_decref(req);
	client_close(client);
	buf_free(&text);
	return rows;
}

/* Returns the rows of the submission with this name, as a part of rows. */
static struct rows rows_named(const struct rows *rows, const char *name)
{
	size_t low = 0, high = rows->n, n = 0;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (strcmp(rows->row[mid].name, name) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	while (low + n < rows->n && !strcmp(rows->row[low + n].name, name))
		n++;
	return (struct rows){ .row = rows->row + low, .n = n };
}

/* --- right after a restart ----------------------------------------------- */

struct finals {
	struct map state; /* maps a job to its final state plus one */
};

struct finals *finals_new(void)
{
	return xcalloc(1, sizeof(struct finals));
}

void finals_free(struct finals *finals)
{
	map_free(&finals->state);
	free(finals);
}

static void check_final(struct finals *finals, const struct seen_row *row)
{
	uintptr_t was = (uintptr_t)map_find(&finals->state, row->job);

	if (was && was - 1 != row->state)
		problem("job %" PRIu64 " was %s and is %s", row->job,
		        job_state_name((enum job_state)(was - 1)),
		        job_state_name(row->state));
	if (job_state_is_final(row->state))
		map_set(&finals->state, row->job,
		        (void *)((uintptr_t)row->state + 1));
}

/* Whether the last run of the job began and did not end. */
static bool was_running(const struct ran *ran, uint64_t job)
{
	bool runs = false;

	for (const struct line *l = ran_job(ran, job); is_of(ran, l, job); l++)
		runs = !l->end;
	return runs;
}

static void check_sub(const struct sub *sub, const struct rows *rows,
                      const struct ran *before)
{
	bool held = sub->held && !sub->released && !sub->cancelled;

	/* A listing reads active jobs, then ended ones. A job that is requeued
	 * between the two is in neither. */
	if (!rows->n && !sub->requeues)
		problem("%s: lost; its id was %" PRIu64, sub->name, sub->id);
	for (size_t i = 0; i < rows->n; i++) {
		const struct seen_row *row = &rows->row[i];

		if (held && (row->state != JOB_PENDING || !row->held))
			problem("%s: job %" PRIu64 " is held and is %s",
			        sub->name, row->job,
			        job_state_name(row->state));
		if ((row->state == JOB_PENDING ||
		     row->state == JOB_NODE_FAIL) &&
		    !sub->requeues && was_running(before, row->job))
			problem("%s: job %" PRIu64 " ran and is %s", sub->name,
			        row->job, job_state_name(row->state));
	}
}

void check_restart(struct crash *crash, const struct ran *before,
                   struct finals *finals)
{
	struct sub **known;
	struct rows rows;
	size_t n = 0;

	pthread_mutex_lock(&crash->lock);
	known = xcalloc(crash->nsubs + 1, sizeof(struct sub *));
	for (size_t i = 0; i < crash->nsubs; i++)
		if (crash->sub[i]->id)
			known[n++] = crash->sub[i];
	pthread_mutex_unlock(&crash->lock);
	rows = rows_get();
	for (size_t i = 0; i < n; i++) {
		struct rows its = rows_named(&rows, known[i]->name);
		struct sub sub;

		pthread_mutex_lock(&crash->lock);
		sub = *known[i];
		pthread_mutex_unlock(&crash->lock);
		check_sub(&sub, &its, before);
		/* A requeue may change a final state, so do not compare. */
		for (size_t j = 0; j < its.n && !sub.requeues; j++)
			check_final(finals, &its.row[j]);
	}
	free(rows.row);
	free(known);
}

/* --- after all jobs have ended ------------------------------------------- */

/* Whether the row stands for the tasks of a cancelled array that never
 * started. */
static bool is_rest(const struct seen_row *row)
{
	return row->array && row->task < 0;
}

static void check_taken_once(const struct sub *sub, const struct rows *rows)
{
	size_t want = sub->njobs * (sub->ntasks ? sub->ntasks : 1);
	bool rest = false;

	for (size_t i = 0; i < rows->n; i++) {
		const struct seen_row *row = &rows->row[i];
		uint64_t id = sub->ntasks ? row->array : row->job - i;

		if (sub->id && id != sub->id)
			problem("%s: has id %" PRIu64 ", not %" PRIu64,
			        sub->name, id, sub->id);
		rest = rest || is_rest(row);
	}
	if (rest ? rows->n > want : rows->n != want && (rows->n || sub->id))
		problem("%s: %zu jobs, not %zu", sub->name, rows->n, want);
}

static void check_ids(const struct rows *rows)
{
	struct map seen = { 0 };

	for (size_t i = 0; i < rows->n; i++) {
		if (map_find(&seen, rows->row[i].job))
			problem("id %" PRIu64 " was given twice",
			        rows->row[i].job);
		map_set(&seen, rows->row[i].job, &rows->row[i]);
	}
	map_free(&seen);
}

/* A summary of the lines that one job wrote. */
struct runs {
	uint32_t attempts, twice;
	uint32_t begun, ended; /* processes of the last attempt */
	size_t first, last;    /* numbers of lines in the file */
};

static struct runs runs_of(const struct ran *ran, const struct seen_row *row)
{
	struct runs runs = { .first = SIZE_MAX };
	const struct line *before = NULL;

	for (const struct line *l = ran_job(ran, row->job);
	     is_of(ran, l, row->job); before = l++) {
		if (!before || before->attempt != l->attempt) {
			runs.attempts++;
			runs.begun = runs.ended = 0;
		} else if (!by_job(before, l)) {
			runs.twice++;
		}
		*(l->end ? &runs.ended : &runs.begun) += 1;
		if (l->at < runs.first)
			runs.first = l->at;
		if (l->at > runs.last)
			runs.last = l->at;
		if (strcmp(l->name, row->name))
			problem("job %" PRIu64 " is %s and ran as %s", row->job,
			        row->name, l->name);
	}
	return runs;
}

static void check_runs(const struct sub *sub, const struct seen_row *row,
                       const struct rows *all, const struct ran *ran)
{
	struct runs runs = runs_of(ran, row);
	/* If a rank fails, the other ranks may be killed before they write. */
	uint32_t least = sub->code ? 1 : sub->procs;

	(void)all;
	if (runs.twice || runs.attempts > 1 + sub->requeues)
		problem("%s: job %" PRIu64 " ran %u times, requeued %u, "
		        "repeated lines %u",
		        sub->name, row->job, runs.attempts, sub->requeues,
		        runs.twice);
	if ((row->state == JOB_COMPLETED || row->state == JOB_FAILED) &&
	    (runs.begun < least || runs.ended < least))
		problem("%s: job %" PRIu64 " is %s: %u processes began, %u "
		        "ended",
		        sub->name, row->job, job_state_name(row->state),
		        runs.begun, runs.ended);
}

/* Returns the jobs on which the submission depends: all tasks of an array, or
 * the first job of a submission without an array. */
static struct rows needed(const struct sub *sub, const struct rows *all)
{
	struct rows rows = rows_named(all, sub->after->name);

	if (!sub->after->ntasks)
		rows.n = rows.n ? 1 : 0;
	return rows;
}

static bool is_met(const struct sub *sub, const struct rows *all)
{
	struct rows rows = needed(sub, all);
	bool ok = true;

	for (size_t i = 0; i < rows.n; i++)
		ok = ok && rows.row[i].state == JOB_COMPLETED;
	return sub->need == NEED_ANY || ok == (sub->need == NEED_OK);
}

static void check_state(const struct sub *sub, const struct seen_row *row,
                        const struct rows *all, const struct ran *ran)
{
	bool right =
	    sub->code ? row->state == JOB_FAILED : row->state == JOB_COMPLETED;

	(void)ran;
	if (right && row->exit_code == sub->code)
		return;
	if (row->state == JOB_CANCELLED &&
	    (sub->cancelled || (sub->need && !is_met(sub, all))))
		return;
	problem("%s: job %" PRIu64 " is %s, exit code %d, not %d", sub->name,
	        row->job, job_state_name(row->state), row->exit_code,
	        sub->code);
}

static void check_order(const struct sub *sub, const struct seen_row *row,
                        const struct rows *all, const struct ran *ran)
{
	struct runs runs = runs_of(ran, row);
	struct rows before;

	/* A requeued job has lost its dependency, and may itself run after the
	 * jobs that depended on it. */
	if (!sub->need || !runs.attempts || sub->requeues ||
	    sub->after->requeues)
		return;
	if (!is_met(sub, all))
		problem("%s: ran though its condition on %s is not met",
		        sub->name, sub->after->name);
	before = needed(sub, all);
	for (size_t i = 0; i < before.n; i++) {
		struct runs was = runs_of(ran, &before.row[i]);

		if (was.attempts && was.last > runs.first)
			problem("%s: ran before %s had ended", sub->name,
			        sub->after->name);
	}
}

typedef void check_fn(const struct sub *sub, const struct seen_row *row,
                      const struct rows *all, const struct ran *ran);

static void each_job(const struct crash *crash, const struct rows *all,
                     const struct ran *ran, check_fn *check)
{
	for (size_t i = 0; i < crash->nsubs; i++) {
		const struct sub *sub = crash->sub[i];
		struct rows its = rows_named(all, sub->name);

		for (size_t j = 0; j < its.n; j++)
			check(sub, &its.row[j], all, ran);
	}
}

void check_end(struct crash *crash)
{
	struct rows rows = rows_get();
	struct ran *ran = ran_read();

	printf("# %zu submissions, %zu jobs, %zu lines written by them\n",
	       crash->nsubs, rows.n, ran->n);
	for (size_t i = 0; i < crash->nsubs; i++) {
		struct rows its = rows_named(&rows, crash->sub[i]->name);

		check_taken_once(crash->sub[i], &its);
	}
	verdict("no acknowledged job is lost, none is taken twice");
	check_ids(&rows);
	verdict("no id is given twice");
	each_job(crash, &rows, ran, check_runs);
	verdict("no attempt runs twice");
	each_job(crash, &rows, ran, check_state);
	verdict("every job is accounted as it ended");
	each_job(crash, &rows, ran, check_order);
	verdict("dependencies hold");
	free(rows.row);
	ran_free(ran);
}

/* --- leftovers ----------------------------------------------------------- */

enum { REMOVED_MS = 60000 /* by then, all folders have been removed */ };

static bool file_has(const char *dir, const char *name, const char *text)
{
	char *path = xasprintf("/proc/%s/%s", dir, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct buf buf = { 0 };
	bool has;
	ssize_t n;

	while (fd >= 0 && (n = read(fd, buf_room(&buf, 4096), 4096)) > 0)
		buf_grew(&buf, (size_t)n);
	has = buf.len && memmem(buf.data, buf.len, text, strlen(text));
	if (fd >= 0)
		close(fd);
	buf_free(&buf);
	free(path);
	return has;
}

static void check_processes(const char *run_dir)
{
	DIR *dir = opendir("/proc");

	for (struct dirent *e; dir && (e = readdir(dir));)
		if (strspn(e->d_name, "0123456789") == strlen(e->d_name) &&
		    (file_has(e->d_name, "cmdline", run_dir) ||
		     file_has(e->d_name, "environ", run_dir)))
			problem("process %s is left", e->d_name);
	closedir(dir);
	verdict("no process is left");
}

/* Returns the number of folders of attempts in run_dir; if `tell`, reports each
 * as a problem. */
static size_t attempts_in(const char *run_dir, bool tell)
{
	DIR *dir = opendir(run_dir);
	size_t n = 0;

	for (struct dirent *e; dir && (e = readdir(dir));) {
		if (e->d_name[0] == '.' || !strcmp(e->d_name, "lock"))
			continue;
		n++;
		if (tell)
			problem("'%s/%s' is left", run_dir, e->d_name);
	}
	closedir(dir);
	return n;
}

void await_removal(const struct crash *crash)
{
	char *run_dir = xasprintf("%s/run", crash->dir);

	for (int ms = 0; ms < REMOVED_MS && attempts_in(run_dir, false);
	     ms += 20)
		pause_ms(20);
	free(run_dir);
}

static void check_run_dir(const char *run_dir)
{
	attempts_in(run_dir, true);
	verdict("no directory of an attempt is left");
}

/* global, because nftw() passes no argument */
static const struct ran *cgroups_of;

static int look_at_cgroup(const char *path, const struct stat *st, int flag,
                          struct FTW *ftw)
{
	const struct ran *ran = cgroups_of;
	uint32_t attempt;
	char run_id[9];
	uint64_t job;

	(void)st;
	if (flag != FTW_D ||
	    sscanf(path + ftw->base, "%" SCNu64 ".%" SCNu32 "-%8s", &job,
	           &attempt, run_id) != 3)
		return 0;
	for (const struct line *l = ran_job(ran, job); is_of(ran, l, job); l++)
		if (l->attempt == attempt && !strncmp(l->run_id, run_id, 8)) {
			problem("cgroup '%s' is left", path);
			break;
		}
	return 0;
}

void check_left(const struct crash *crash)
{
	char *run_dir = xasprintf("%s/run", crash->dir);
	struct ran *ran = ran_read();

	check_processes(run_dir);
	check_run_dir(run_dir);
	cgroups_of = ran;
	nftw("/sys/fs/cgroup", look_at_cgroup, 64, FTW_PHYS);
	verdict("no cgroup is left");
	ran_free(ran);
	free(run_dir);
}

void check_database(const struct crash *crash)
{
	char *path = xasprintf("%s/aisched.db", crash->dir);
	sqlite3_stmt *s = NULL;
	sqlite3 *db = NULL;

	if (sqlite3_open(path, &db) != SQLITE_OK ||
	    sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &s, NULL) !=
	        SQLITE_OK ||
	    sqlite3_step(s) != SQLITE_ROW)
		problem("database: %s", sqlite3_errmsg(db));
	else if (strcmp((const char *)sqlite3_column_text(s, 0), "ok"))
		problem("database: %s", sqlite3_column_text(s, 0));
	sqlite3_finalize(s);
	sqlite3_close(db);
	verdict("the database is sound");
	free(path);
}
