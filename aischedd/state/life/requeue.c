/* requeue.c - requeue an ended job under its id */
#include "aischedd/state/life/requeue.h"

#include "aischedd/state/cluster/ledger.h"
#include "aischedd/state/life/alarm.h"
#include "aischedd/state/life/submit.h"
#include "aischedd/state/life/submit_check.h"
#include "aischedd/state/pass/row.h"
#include "aischedd/state/pass/what_if.h"
#include "aischedd/state/state_priv.h"
#include "libcommon/mem.h"

static int check_kind(const struct job *job, const struct spec *spec,
                      int64_t now, struct err *err)
{
	struct job_id_text id = job_id_text(job);

	if (spec->kube_uid)
		return err_set(err, EINVAL,
		               "job %s was made with kubectl: make it anew "
		               "there",
		               id.text);
	if (job->tasks.n)
		return err_set(err, EINVAL,
		               "these tasks of array %llu never started: "
		               "submit them again",
		               (unsigned long long)job->array);
	if (spec->requeue == 0)
		return err_set(err, EPERM,
		               "job %s was submitted with --no-requeue",
		               id.text);
	if (spec->deadline != SPEC_UNSET && spec->deadline <= now)
		return err_set(err, EINVAL, "the deadline of job %s has passed",
		               id.text);
	return 0;
}

static int check_queue(struct state *state, const struct requeue *what,
                       const struct spec *spec, const struct submitter *owner,
                       uint32_t *ret, struct err *err)
{
	int q = conf_queue_find(state->conf, what->queue);

	if (q < 0 || !state->conf->queues[q].leaf)
		return err_set(err, ENOENT,
		               "job %s was in queue '%s', which is no longer "
		               "there: submit it again",
		               job_id_text(what->job).text, what->queue);
	*ret = (uint32_t)q;
	if (what->who->uid == owner->uid &&
	    (submit_check_access(state, *ret, what->who, err) < 0 ||
	     submit_check_class(state, spec, *ret, what->who, err) < 0))
		return -1;
	return submit_check_counts(state, *ret, owner, 1, err);
}

static struct job *make_again(struct state *state, const struct job *old,
                              const struct spec *spec,
                              const struct submitter *owner, uint32_t queue,
                              int64_t now)
{
	struct job *job =
	    state_make_job(state, spec, owner, queue, old->id, now);

	job->is_new = false; /* the database already has its row */
	job->came_back = true;
	job->hold = HOLD_NONE;
	job->begin = NO_TIME;
	job->array = old->array;
	job->task = old->task;
	job->submit = old->submit;
	job->attempt = old->attempt;
	job_runs(job)->restarts = old->runs->restarts + 1;
	job_runs(job)->preemptions = old->runs->preemptions;
	job_runs(job)->cpu_ms = old->runs->cpu_ms;
	job_runs(job)->peak_mem_kib = old->runs->peak_mem_kib;
	if (old->ledger) {
		job->ledger = xmalloc(sizeof(*job->ledger));
		*job->ledger =
		    (struct ledger){ .before = old->ledger->before,
			             .gpu_before = old->ledger->gpu_before };
	}
	job->acts = old->acts ? xstrdup(old->acts) : NULL;
	job->script = old->script;
	job->env = old->env;
	return job;
}

/* Count the task as unfinished in its array. If all tasks of the array had
 * ended, it is no longer in memory: make it again. */
static void reopen_array(struct state *state, const struct requeue *what,
                         const struct spec *spec)
{
	struct array *array = state_array(state, what->job->array);

	if (!array) {
		array = submit_new_array(state, what->job->array, spec);
		array->unfinished = 0;
		array->failed =
		    what->others_failed(array->id, what->job->id, what->arg);
	} else if (what->job->state != JOB_COMPLETED && array->failed) {
		array->failed--;
	}
	array->unfinished++;
	state_touch_array(state, array);
}

int requeue_ended(struct state *state, const struct requeue *what, int64_t now,
                  struct err *err)
{
	const struct job *old = what->job;
	const struct submitter owner = { .uid = old->uid,
		                         .gid = old->gid,
		                         .user = what->user };
	struct spec spec;
	uint32_t queue = 0;
	struct job *job;

	spec_unpack(&spec, old->packed);
	if (check_kind(old, &spec, now, err) < 0 ||
	    check_queue(state, what, &spec, &owner, &queue, err) < 0)
		return -1;
	job = make_again(state, old, &spec, &owner, queue, now);
	if (state_check_fit(state, job, err) < 0) {
		job_free(job);
		return -1;
	}
	if (job->array)
		reopen_array(state, what, &spec);
	state_add_job(state, job);
	state_arm(state, job);
	state_reindex(state, job, now);
	return 0;
}
