/* wait.c - requests that are answered when jobs have ended */
#include <stdlib.h>

#include "aischedd/op/op.h"
#include "libcommon/jobid.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"

struct waiter {
	struct waiter *next;
	struct ask *ask;
	size_t n, at;          /* those before at have ended */
	struct jobid target[]; /* owns their sets */
};

static bool is_over(const struct daemon *d, const struct jobid *t)
{
	const struct array *array = state_array(d->state, t->job);

	if (!array)
		return t->tasks.n || !state_job(d->state, t->job);
	if (!t->tasks.n)
		return false;
	for (const struct job *job = array->first; job; job = job->array_next)
		for (int64_t i = -1; (i = idset_next(&t->tasks, i)) >= 0;)
			if (job->task == (uint32_t)i ||
			    idset_has(&job->tasks, (uint32_t)i))
				return false;
	return true;
}

static void waiter_free(struct waiter *w)
{
	for (size_t i = 0; i < w->n; i++)
		idset_free(&w->target[i].tasks);
	free(w);
}

static json_t *answer_of(struct daemon *d, const struct waiter *w)
{
	json_t *jobs = json_array();

	for (size_t i = 0; i < w->n; i++) {
		const struct jobid *t = &w->target[i];
		struct ended ended;

		if (store_ended(d->store, t->job, &t->tasks, &ended) < 0)
			continue; /* history has forgotten it */
		json_array_append_new(
		    jobs, json_pack("{s:I, s:s, s:i, s:i}", "job_id",
		                    (json_int_t)t->job, "state",
		                    job_state_name(ended.state), "exit_code",
		                    ended.exit_code, "signal", ended.signal));
	}
	return json_pack("{s:o}", "jobs", jobs);
}

/* Ended jobs leave the state with the commit, so this is asked after it. */
void daemon_check_waiters(struct daemon *d)
{
	struct waiter **at = &d->waiter;

	while (*at) {
		struct waiter *w = *at;
		bool open = daemon_is_open(d, w->ask);

		while (open && w->at < w->n && is_over(d, &w->target[w->at]))
			w->at++;
		if (open && w->at < w->n) {
			at = &w->next;
			continue;
		}
		if (open)
			daemon_say(d, w->ask, answer_of(d, w));
		*at = w->next;
		waiter_free(w);
	}
}

void daemon_free_waiters(struct daemon *d)
{
	for (struct waiter *w = d->waiter, *next; w; w = next) {
		next = w->next;
		waiter_free(w);
	}
	d->waiter = NULL;
}

static int target_parse(struct daemon *d, json_t *text, struct jobid *ret,
                        struct err *err)
{
	struct past past;
	uint32_t task = NO_TASK;

	if (!json_is_string(text))
		return err_set(err, EPROTO, "wait: ids are texts");
	if (jobid_parse(ret, json_string_value(text), err) < 0)
		return -1;
	if (ret->tasks.n)
		task = idset_min(&ret->tasks);
	if (!is_over(d, ret) ||
	    store_past(ret->job, task, &past, d->store) == 0)
		return 0;
	idset_free(&ret->tasks);
	return err_set(err, ENOENT, "there is no job %s",
	               json_string_value(text));
}

int op_wait(struct daemon *d, struct ask *ask, const struct request_in *in,
            struct err *err)
{
	json_t *ids = json_object_get(in->body, "ids");
	size_t n = json_array_size(ids);
	struct waiter *w;

	if (!json_is_array(ids) || n > LIMIT_IDS)
		return err_set(err, EPROTO, "wait: ids, at most %d texts",
		               LIMIT_IDS);
	w = xcalloc(1, sizeof(*w) + n * sizeof(struct jobid));
	w->ask = ask;
	for (; w->n < n; w->n++)
		if (target_parse(d, json_array_get(ids, w->n), &w->target[w->n],
		                 err) < 0) {
			waiter_free(w);
			return -1;
		}
	w->next = d->waiter;
	d->waiter = w;
	return 0;
}
