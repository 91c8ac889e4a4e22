/* wait.c - answer requests when the jobs that they wait for have ended */
#include "aischedd/op/wait.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/op/access.h"
#include "aischedd/op/op.h"
#include "aischedd/store/ended.h"
#include "libcommon/jobid.h"
#include "libcommon/map.h"
#include "libcommon/mem.h"
#include "libcommon/steps.h"

struct target {
	struct jobid id; /* its set of tasks is owned by this struct */
	/* all awaited tasks with numbers up to this one have ended; -1: no task
	 * is known to have ended */
	int64_t over;
	/* the id as the request has it; valid only while the request is read */
	const char *text;
	const struct target
	    /* an earlier target with the same text, or NULL */
	    *same;
	struct ended ended;
	/* id of the record with the first task that has not ended;
	 * 0: unknown */
	uint64_t lives;
};

struct waiter {
	struct waiter *next;
	struct kept_ask ask;
	/* the sender; valid while the request is open */
	const struct peer *peer;
	/* n targets, of which those before index `at` have ended */
	size_t n, at;
	size_t looked; /* targets before this one were checked to exist */
	size_t told;   /* targets before this index are in the answer already */
	json_t *jobs;
	struct target target[];
};

/* Whether the task has ended. t->lives remembers the record that has the task,
 * to find it at once the next time. */
static bool task_is_over(const struct daemon *d, struct target *t,
                         uint32_t task)
{
	const struct job *job = state_job(d->state, t->lives);

	if (!job || (job->task != task && !idset_has(&job->tasks, task)))
		job = state_task(d->state, t->id.job, task);
	t->lives = job ? job->id : 0;
	steps_add(1);
	return !job;
}

/* Whether the target has ended. Returns false, too, if the steps are used up
 * before that is known. */
static bool is_over(const struct daemon *d, struct target *t, uint64_t until)
{
	int64_t task;

	steps_add(1);
	if (t->same)
		return true; /* the earlier target is checked before this one */
	if (!state_array(d->state, t->id.job))
		return t->id.tasks.n || !state_job(d->state, t->id.job);
	if (!t->id.tasks.n)
		return false;
	while ((task = idset_next(&t->id.tasks, t->over)) >= 0) {
		if (steps_so_far >= until ||
		    !task_is_over(d, t, (uint32_t)task))
			return false;
		t->over = task;
	}
	return true;
}

static void waiter_free(struct waiter *w)
{
	for (size_t i = 0; i < w->n; i++)
		idset_free(&w->target[i].id.tasks);
	json_decref(w->jobs);
	free(w);
}

/* Append to the answer how the target's job ended, unless its row has been
 * removed from the history. */
static void add_answer(struct waiter *w, const struct target *t)
{
	const struct ended *e = &t->ended;

	w->told++;
	if (e->found)
		json_array_append_new(
		    w->jobs, json_pack("{s:I, s:s, s:i, s:i}", "job_id",
		                       (json_int_t)t->id.job, "state",
		                       job_state_name(e->state), "exit_code",
		                       e->exit_code, "signal", e->signal));
}

/* Fill the answer with how each job ended, from the history, until the steps
 * are used up. For a long array, only some tasks are read in one turn. */
static void make_answer(struct daemon *d, struct waiter *w, uint64_t until)
{
	while (w->told < w->n && steps_so_far < until) {
		struct target *t = &w->target[w->told];

		steps_add(t->same ? 1 : STEPS_QUERY);
		if (t->same)
			t->ended = t->same->ended;
		if (t->same ||
		    store_ended(d->store, t->id.job, &t->id.tasks, &t->ended))
			add_answer(w, t);
	}
}

static void put_id(const struct jobid *id, struct buf *out)
{
	buf_printf(out, "%llu", (unsigned long long)id->job);
	if (!id->tasks.n)
		return;
	buf_puts(out, "_[");
	idset_format(&id->tasks, out);
	buf_addc(out, ']');
}

/* Whether the history has this task of the array or, if task is NO_TASK, the
 * job or array as a whole. */
static bool was_there(const struct daemon *d, const struct target *t,
                      uint32_t task)
{
	struct past past;

	steps_add(STEPS_QUERY);
	return task == NO_TASK
	           ? store_has(d->store, t->id.job)
	           : store_past(t->id.job, task, &past, d->store) == 0;
}

/* Check that the job exists or existed. Fails with ENOENT if not, or if the
 * peer may not see it. */
static int look_for(const struct daemon *d, const struct peer *peer,
                    struct target *t, struct err *err)
{
	uint32_t task = t->id.tasks.n ? idset_min(&t->id.tasks) : NO_TASK;
	struct buf text = { 0 };

	if (t->same)
		return 0;
	if ((!is_over(d, t, UINT64_MAX) || was_there(d, t, task)) &&
	    access_sees(d, peer, t->id.job, task))
		return 0;
	put_id(&t->id, &text);
	err_set(err, ENOENT, "there is no job %s", text.data);
	buf_free(&text);
	return -1;
}

/* Continue with one waiter until the steps of this slice are used up: check
 * that its jobs exist, then whether they have ended, then answer it. Returns
 * whether it is done and can be freed. */
static bool go_on(struct daemon *d, struct waiter *w, uint64_t until)
{
	struct err err;

	if (!daemon_is_open(d, &w->ask))
		return true;
	for (; w->looked < w->n && steps_so_far < until; w->looked++)
		if (look_for(d, w->peer, &w->target[w->looked], &err) < 0) {
			daemon_refuse(d, w->ask.ask, &err);
			return true;
		}
	while (w->at < w->looked && steps_so_far < until &&
	       is_over(d, &w->target[w->at], until))
		w->at++;
	if (w->at < w->n)
		return false;
	make_answer(d, w, until);
	if (w->told < w->n)
		return false;
	daemon_say(d, w->ask.ask, json_pack("{s:O}", "jobs", w->jobs));
	return true;
}

/* Call this after the commit, which removes ended jobs from the state. Waiters
 * not reached in this slice come first in the next turn. */
void daemon_check_waiters(struct daemon *d)
{
	uint64_t until = steps_so_far + steps_slice();
	struct waiter **at = &d->waiter, *rest, *first;

	while (*at && steps_so_far < until) {
		struct waiter *w = *at;

		if (!go_on(d, w, until)) {
			if (w->looked < w->n || w->at == w->n ||
			    steps_so_far >= until)
				daemon_go_on(d);
			at = &w->next;
			continue;
		}
		*at = w->next;
		waiter_free(w);
	}
	rest = *at;
	first = d->waiter;
	if (!rest || rest == first)
		return;
	*at = NULL;
	d->waiter = rest;
	for (at = &rest->next; *at; at = &(*at)->next)
		;
	*at = first;
	daemon_go_on(d);
}

void daemon_free_waiters(struct daemon *d)
{
	for (struct waiter *w = d->waiter, *next; w; w = next) {
		next = w->next;
		waiter_free(w);
	}
	d->waiter = NULL;
}

/* Add the job or tasks that the text names to those waited for. known: targets
 * by a hash of their texts, to find names that are given twice. */
static int add_target(struct waiter *w, const char *text, struct map *known,
                      struct err *err)
{
	uint64_t hash = hash_bytes(0, text, strlen(text));
	struct target *t = &w->target[w->n], *was = map_find(known, hash);

	steps_add(1);
	t->over = -1;
	t->text = text;
	if (was && !strcmp(was->text, text)) {
		t->id.job = was->id.job;
		t->same = was;
		w->n++;
		return 0;
	}
	if (jobid_parse(&t->id, text, err) < 0)
		return -1;
	map_set(known, hash, t);
	w->n++;
	return 0;
}

int op_wait(struct daemon *d, struct ask *ask, const struct request_in *in,
            struct err *err)
{
	json_t *ids = json_object_get(in->body, "ids");
	struct map known = { 0 };
	struct waiter *w;
	const json_t *id;
	size_t i;

	if (!ids)
		return err_set(err, EPROTO, "wait: ids are expected");
	w = xcalloc(1,
	            sizeof(*w) + json_array_size(ids) * sizeof(w->target[0]));
	w->ask = daemon_keep(d, ask);
	w->peer = in->peer;
	w->jobs = json_array();
	json_array_foreach(ids, i, id)
		if (add_target(w, json_string_value(id), &known, err) < 0) {
			map_free(&known);
			waiter_free(w);
			return -1;
		}
	map_free(&known);
	w->next = d->waiter;
	d->waiter = w;
	return 0;
}
