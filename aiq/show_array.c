/* show_array.c - show the sum of an array's jobs */
#include "aiq/show_array.h"

#include <stdlib.h>
#include <string.h>

#include "aiq/list.h"
#include "aiq/show.h"
#include "libcommon/buf.h"
#include "libcommon/idset.h"
#include "libcommon/jobid.h"
#include "libcommon/mem.h"
#include "libcommon/names.h"

/* Maximum number of running, and of failed, tasks to name. */
enum { IDS_SHOWN = 10 };

/* A row, by its first task. */
struct named_task {
	int64_t index;
	char *id;
};

struct named_tasks {
	struct named_task *task;
	size_t n, cap;
};

struct sum {
	uint64_t id;
	uint32_t rows;
	uint64_t tasks[JOB_NSTATES]; /* number of tasks in each state */
	struct named_tasks running, failed;
	/* the row whose details are shown: a waiting one, if there is any */
	json_t *first;
	bool first_waits;
};

struct arrays {
	size_t n;
	struct sum sum[];
};

struct arrays *arrays_new(const struct aiq *aiq)
{
	struct arrays *a =
	    xcalloc(1, sizeof(*a) + aiq->noperands * sizeof(*a->sum));

	for (size_t i = 0; !aiq->tasks && i < aiq->noperands; i++) {
		struct jobid id;

		if (jobid_parse(&id, aiq->operand[i], NULL) < 0)
			continue;
		if (!id.tasks.n)
			a->sum[a->n++].id = id.job;
		idset_free(&id.tasks);
	}
	return a;
}

static void tasks_free(struct named_tasks *tasks)
{
	for (size_t i = 0; i < tasks->n; i++)
		free(tasks->task[i].id);
	free(tasks->task);
}

void arrays_free(struct arrays *a)
{
	for (size_t i = 0; i < a->n; i++) {
		tasks_free(&a->sum[i].running);
		tasks_free(&a->sum[i].failed);
		json_decref(a->sum[i].first);
	}
	free(a);
}

/* Returns how many tasks a row stands for: tasks of an array that have not
 * started share a row. */
static uint32_t count_of(const json_t *job)
{
	const char *text = show_text_of(job, "array_tasks");
	struct idset tasks = { 0 };
	uint32_t limit, n = 1;

	if (text && idset_parse(&tasks, &limit, text, NULL) == 0)
		n = idset_count(&tasks);
	idset_free(&tasks);
	return n;
}

/* Returns the first index in the id of a row, such as "14_8" or "14_[8-99]"; -1
 * if it has none. */
static int64_t index_of(const char *text)
{
	struct jobid id;
	int64_t index;

	if (jobid_parse(&id, text, NULL) < 0)
		return -1;
	index = idset_next(&id.tasks, -1);
	idset_free(&id.tasks);
	return index;
}

static void add_id(struct named_tasks *out, const json_t *job)
{
	const char *id = show_text_of(job, "display_id");

	if (!id)
		return;
	out->task = GROW(out->task, out->n, &out->cap);
	out->task[out->n++] = (struct named_task){ index_of(id), xstrdup(id) };
}

static void sum_add(struct sum *sum, json_t *job)
{
	const char *name = show_text_of(job, "state");
	int state = name ? job_state_parse(name) : -1;

	sum->rows++;
	if (state < 0)
		return;
	sum->tasks[state] += count_of(job);
	if (state == JOB_RUNNING)
		add_id(&sum->running, job);
	else if (job_state_is_final((enum job_state)state) &&
	         state != JOB_COMPLETED)
		add_id(&sum->failed, job);
	if (!sum->first || (state == JOB_PENDING && !sum->first_waits)) {
		json_decref(sum->first);
		sum->first = json_incref(job);
		sum->first_waits = state == JOB_PENDING;
	}
}

bool arrays_take(struct arrays *a, json_t *job)
{
	int64_t array;

	if (!show_int_of(job, "array_job_id", &array))
		return false;
	for (size_t i = 0; i < a->n; i++) {
		if (a->sum[i].id != (uint64_t)array)
			continue;
		sum_add(&a->sum[i], job);
		return true;
	}
	return false;
}

static int by_index(const void *a, const void *b)
{
	const struct named_task *x = a, *y = b;

	return (x->index > y->index) - (x->index < y->index);
}

static void show_ids(const char *label, const struct named_tasks *tasks)
{
	struct buf text = { 0 };

	if (!tasks->n)
		return;
	qsort(tasks->task, tasks->n, sizeof(*tasks->task), by_index);
	for (size_t i = 0; i < tasks->n && i < IDS_SHOWN; i++)
		buf_printf(&text, "%s%s", i ? ", " : "", tasks->task[i].id);
	if (tasks->n > IDS_SHOWN)
		buf_printf(&text, " and %zu more", tasks->n - IDS_SHOWN);
	show_line(label, "%s", text.data);
	buf_free(&text);
}

/* Print "50 tasks: 20 PENDING, 4 RUNNING, 26 COMPLETED". */
static void show_states(const struct sum *sum)
{
	struct buf text = { 0 };
	uint64_t all = 0;

	for (int s = 0; s < JOB_NSTATES; s++) {
		if (!sum->tasks[s])
			continue;
		buf_printf(&text, "%s%llu %s", text.len ? ", " : "",
		           (unsigned long long)sum->tasks[s],
		           job_state_name((enum job_state)s));
		all += sum->tasks[s];
	}
	show_line("state", "%llu task%s: %s", (unsigned long long)all,
	          all == 1 ? "" : "s", text.len ? text.data : "?");
	buf_free(&text);
}

static void sum_show(const struct sum *sum)
{
	const char *name = show_text_of(sum->first, "name");
	unsigned long long id = sum->id;

	printf("array %llu ", id);
	put_clean(stdout, name ? name : "", name ? strlen(name) : 0);
	putchar('\n');
	show_states(sum);
	show_ids("running", &sum->running);
	show_ids("not completed", &sum->failed);
	if (sum->first_waits)
		show_why(sum->first);
	show_owner(sum->first);
	show_request(sum->first);
	show_files(sum->first);
	show_line("each task", "`aiq --tasks %llu`, `aiq %llu_N`", id, id);
}

int arrays_show(const struct arrays *a, struct client *client, bool first,
                struct err *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < a->n; i++) {
		const struct sum *sum = &a->sum[i];

		if (!sum->rows)
			continue;
		if (!first)
			putchar('\n');
		first = false;
		if (sum->rows == 1)
			rc = show_job(client, sum->first, err);
		else
			sum_show(sum);
	}
	return rc;
}
