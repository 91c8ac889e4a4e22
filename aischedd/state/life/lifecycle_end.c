/* lifecycle_end.c - how a job ends, and whether it is requeued */
#include "aischedd/state/life/lifecycle_end.h"
#include "aischedd/state/cluster/counts.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/state/cluster/ledger.h"
#include "aischedd/state/life/adopt.h"
#include "aischedd/state/life/alarm.h"
#include "aischedd/state/life/depend.h"
#include "aischedd/state/life/depend_watch.h"
#include "aischedd/state/life/evict.h"
#include "aischedd/state/life/lifecycle.h"
#include "aischedd/state/life/lifecycle_start.h"
#include "aischedd/state/life/submit.h"
#include "aischedd/state/pass/row.h"
#include "aischedd/state/placement.h"
#include "aischedd/state/state_priv.h"
#include "libcommon/mem.h"
#include "libcommon/steps.h"

/* Steps charged for the end of a job: it takes some 20 µs, nearly all of which
 * the store needs to write it at the end of the turn. */
enum { STEPS_END = 100 };

void life_stop_clock(struct job *job, int64_t now)
{
	job_runs(job)->ran = job_elapsed(job, now);
	job_runs(job)->resumed = NO_TIME;
}

void life_set_text(struct job *job, const char *text)
{
	text_set(&job->text, text && *text ? text : NULL);
}

/* Save the job's placement as text for the history, before its nodes
 * are freed. */
static void keep_place(const struct state *state, struct job *job)
{
	struct buf text = { 0 };

	if (!job->place)
		return;
	state_placement_format(state, job->place, false, &text);
	free(job->runs->last_place);
	job_runs(job)->last_place = buf_take(&text);
}

/* Save in the job's request the class that it had from its queue, for the
 * history: the queue's class may change later. "train", the default class, is
 * not saved. */
static void keep_class(const struct state *state, struct job *job)
{
	char *packed = job->packed;
	const char *class;
	struct spec spec;

	spec_unpack(&spec, packed);
	class = state_class(state, &spec, job->queue);
	if (spec.class || !strcmp(class, "train"))
		return;
	spec.class = class;
	job->packed = spec_pack(&spec);
	free(packed);
}

static void array_lost_tasks(struct state *state, struct job *job, int64_t now)
{
	struct array *array = state_array(state, job->array);

	array->unfinished -= job_count(job);
	if (job->state != JOB_COMPLETED)
		array->failed += job_count(job);
	if (job->runs->exit_code > array->exit_high)
		array->exit_high = job->runs->exit_code;
	if (job->runs->exit_code >= 0 &&
	    (array->exit_low < 0 || job->runs->exit_code < array->exit_low))
		array->exit_low = job->runs->exit_code;
	state_touch_array(state, array);
	if (!array->unfinished)
		letter_array_ended(state, array, job, now);
}

void job_end(struct state *state, struct job *job, enum job_state to,
             enum reason why, int64_t now)
{
	steps_add(STEPS_END);
	life_stop_clock(job, now);
	claim_drop(state, job);
	row_remove(state, job);
	keep_place(state, job);
	keep_class(state, job);
	ledger_close(state, job, to, why, now);
	life_unplace(state, job, now);
	deps_forget(state, job);
	names_del(state, job);
	affinity_del(state, job);
	job_runs(job)->end = now;
	job->why = (uint8_t)why;
	job->wants_resume = false;
	state_set(state, job, to);
	letter_ended(state, job, now);
	if (job->array)
		array_lost_tasks(state, job, now);
	deps_happened(state, job, now);
	affinity_moved(state, job, now);
	names_tell(state, job->name_key, now);
	if (job->adopted)
		adopt_tell(state, job);
	if (job->ports)
		state_effect(state, (struct effect){ .kind = EFFECT_PORTS,
		                                     .job = job->id });
}

/* Whether the job is requeued after it has failed. node: it failed because its
 * node failed. */
static bool comes_back(const struct job *job, bool node)
{
	struct spec spec;

	spec_unpack(&spec, job->packed);
	if (job->cause != CAUSE_NONE || spec.requeue == 0 ||
	    job->runs->restarts >= spec_max_restarts(&spec))
		return false;
	switch (spec_task_failure(&spec)) {
	case FAILURE_ENDS:
		return node && spec.requeue == 1;
	case FAILURE_RESTARTS:
		return true;
	case FAILURE_REPLACES:
		/* If a task failed, do not requeue the job: the runner has
		 * already replaced as many tasks as the job allows. */
		return node;
	}
	return false;
}

bool life_ends_preempted(const struct job *job)
{
	struct spec spec;

	spec_unpack(&spec, job->packed);
	return job->on_preempt == PREEMPT_CANCEL || spec.requeue == 0;
}

static enum reason why_it_came_back(const struct job *job)
{
	switch ((enum cause)job->cause) {
	case CAUSE_NONE:
		return WHY_JobLaunchFailure;
	case CAUSE_PREEMPT:
		return WHY_Preempted;
	case CAUSE_FAILURE:
		return job->evict == EVICT_NODE_DOWN ? WHY_NodeFail
		       : job->runs->signal           ? WHY_RaisedSignal
		                                     : WHY_NonZeroExitCode;
	default:
		return WHY_None; /* a user requeued the job */
	}
}

/* Move job->eligible, the start of the waiting time, later by the time for
 * which the job held nodes: the job did not wait then. */
static void wait_on(struct job *job, int64_t now)
{
	if (job->eligible != NO_TIME && job->runs->start != NO_TIME &&
	    now > job->runs->start)
		job->eligible += now - job->runs->start;
}

void life_back_to_queue(struct state *state, struct job *job, int64_t now)
{
	wait_on(job, now);
	ledger_close(state, job, JOB_PENDING, why_it_came_back(job), now);
	life_unplace(state, job, now);
	if (job->cause == CAUSE_PREEMPT)
		job_runs(job)->served += job_elapsed(job, now);
	job_runs(job)->start = job_runs(job)->resumed = NO_TIME;
	job_runs(job)->ran = 0;
	job->signalled = job->wants_resume = false;
	job_runs(job)->mailed = 0;
	state_set(state, job, JOB_PENDING);
	job->cause = CAUSE_NONE;
	state_arm(state, job);
	state_reindex(state, job, now);
}

static void requeue(struct state *state, struct job *job, int64_t now)
{
	letter_requeued(state, job, now);
	life_back_to_queue(state, job, now);
}

void life_settle(struct state *state, struct job *job, enum job_state to,
                 enum reason why, int64_t now)
{
	switch ((enum cause)job->cause) {
	case CAUSE_CANCEL:
		job_end(state, job, JOB_CANCELLED, WHY_Cancelled, now);
		return;
	case CAUSE_IDLE:
		job_end(state, job, JOB_CANCELLED, WHY_IdleGpu, now);
		return;
	case CAUSE_TIME_LIMIT:
		job_end(state, job, JOB_TIMEOUT, WHY_TimeLimit, now);
		return;
	case CAUSE_DEADLINE:
		job_end(state, job, JOB_DEADLINE, WHY_DeadLine, now);
		return;
	case CAUSE_PREEMPT:
		job_runs(job)->preemptions++;
		if (life_ends_preempted(job) && !job->hold)
			job_end(state, job, JOB_PREEMPTED, WHY_Preempted, now);
		else
			requeue(state, job, now);
		return;
	case CAUSE_REQUEUE:
	case CAUSE_RECALL:
	case CAUSE_FAILURE:
		job_runs(job)->restarts++;
		requeue(state, job, now);
		return;
	case CAUSE_NONE:
		break;
	}
	job_end(state, job, to, why, now);
}

int life_ended(struct state *state, struct job *job, const struct event_in *ev,
               struct err *err)
{
	const struct outcome *o = ev->outcome;
	enum job_state to = JOB_COMPLETED;
	enum reason why = WHY_None;

	(void)err;
	job_runs(job)->exit_code = o->exit_code;
	job_runs(job)->signal = o->signal;
	job_runs(job)->cpu_ms += o->cpu_ms;
	ledger_used(job, o);
	if (o->peak_mem_kib > job->runs->peak_mem_kib)
		job_runs(job)->peak_mem_kib = o->peak_mem_kib;
	life_set_text(job, o->text);
	if (o->late) {
		to = JOB_TIMEOUT;
		why = WHY_TimeLimit;
	} else if (o->oom) {
		to = JOB_OUT_OF_MEMORY;
		why = WHY_OutOfMemory;
	} else if (o->out_of_disk) {
		to = JOB_FAILED;
		why = WHY_OutOfDisk;
	} else if (o->signal) {
		to = JOB_FAILED;
		why = WHY_RaisedSignal;
	} else if (o->exit_code) {
		to = JOB_FAILED;
		why = WHY_NonZeroExitCode;
	}
	if (job->runs->start == NO_TIME || job->state == JOB_CONFIGURING)
		job_runs(job)->start = job_runs(job)->resumed = o->start;
	if (to != JOB_COMPLETED && comes_back(job, false)) {
		/* Delay the next attempt: else a job that fails at once would
		 * be started over and over. */
		job_runs(job)->retry_at =
		    ev->now + backoff_s(job->runs->restarts);
		job->cause = CAUSE_FAILURE;
	}
	life_settle(state, job, to, why,
	            o->end > job->runs->start ? o->end : job->runs->start);
	return 0;
}

int life_lost(struct state *state, struct job *job, const struct event_in *ev,
              struct err *err)
{
	(void)err;
	life_set_text(job, ev->text);
	job->evict = EVICT_NODE_DOWN;
	job_runs(job)->evict_by = 0;
	counts_evicted(state, job, EVICT_NODE_DOWN);
	if (comes_back(job, true))
		job->cause = CAUSE_FAILURE;
	life_settle(state, job, JOB_NODE_FAIL, WHY_NodeFail, ev->now);
	return 0;
}
