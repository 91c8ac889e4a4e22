/* wait.c - requests that are answered when jobs have ended */
#include <stdlib.h>
#include <string.h>

#include "aischedd/daemon.h"
#include "libcommon/jobid.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"

struct target {
	uint64_t job;
	uint32_t task; /* NO_TASK: the job, or the whole array */
};

struct waiter {
	struct waiter *next;
	struct ask *ask;
	size_t n, at; /* those before at have ended */
	struct target target[];
};

static bool is_over(const struct daemon *d, const struct target *t)
{
	if (t->task != NO_TASK)
		return !state_task(d->state, t->job, t->task);
	return !state_array(d->state, t->job) && !state_job(d->state, t->job);
}

static json_t *answer_of(struct daemon *d, const struct waiter *w)
{
	json_t *jobs = json_array();

	for (size_t i = 0; i < w->n; i++) {
		const struct target *t = &w->target[i];
		struct ended ended;

		if (store_ended(d->store, t->job, t->task, &ended) < 0)
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
		free(w);
	}
}

void daemon_free_waiters(struct daemon *d)
{
	for (struct waiter *w = d->waiter, *next; w; w = next) {
		next = w->next;
		free(w);
	}
	d->waiter = NULL;
}

static int target_parse(struct daemon *d, json_t *text, struct target *ret,
                        struct err *err)
{
	struct jobid id;
	struct past past;

	if (!json_is_string(text))
		return err_set(err, EPROTO, "wait: ids are texts");
	if (jobid_parse(&id, json_string_value(text), err) < 0)
		return -1;
	*ret = (struct target){ id.job, NO_TASK };
	if (id.tasks.n) {
		if (idset_count(&id.tasks) > 1) {
			idset_free(&id.tasks);
			return err_set(err, EINVAL,
			               "wait for one task or the whole "
			               "array, not '%s'",
			               json_string_value(text));
		}
		ret->task = idset_min(&id.tasks);
	}
	idset_free(&id.tasks);
	if (is_over(d, ret) &&
	    store_past(ret->job, ret->task, &past, d->store) < 0)
		return err_set(err, ENOENT, "there is no job %s",
		               json_string_value(text));
	return 0;
}

void daemon_wait(struct daemon *d, struct ask *ask, json_t *body)
{
	json_t *ids = json_object_get(body, "ids");
	size_t n = json_array_size(ids);
	struct waiter *w;
	struct err err;

	if (!json_is_array(ids) || n > LIMIT_IDS) {
		err_set(&err, EPROTO, "wait: ids, at most %d texts", LIMIT_IDS);
		daemon_refuse(d, ask, &err);
		return;
	}
	w = xcalloc(1, sizeof(*w) + n * sizeof(struct target));
	w->ask = ask;
	w->n = n;
	for (size_t i = 0; i < n; i++)
		if (target_parse(d, json_array_get(ids, i), &w->target[i],
		                 &err) < 0) {
			free(w);
			daemon_refuse(d, ask, &err);
			return;
		}
	w->next = d->waiter;
	d->waiter = w;
}
