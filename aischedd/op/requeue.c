/* requeue.c - requeue ended jobs */
#include "aischedd/op/requeue.h"

#include "aischedd/op/access.h"
#include "aischedd/state/life/requeue.h"
#include "aischedd/store/ended.h"
#include "libcommon/clock.h"

/* The most rows of the history that are read to find one task: the row of the
 * task itself, and rows of tasks of its array that never started. */
enum { ROWS_MAX = 1000 };

struct finding {
	struct daemon *d;
	const struct peer *peer;
	uint64_t id;
	/* number of the wanted task; NO_TASK: the job is not an array */
	uint32_t task;
	bool found;
	int result;
	struct err *err;
};

static bool others_failed(uint64_t array, uint64_t job, void *arg)
{
	return store_others_failed(arg, array, job);
}

static int requeue_one(struct finding *f, const struct past_job *past)
{
	struct submitter who = access_submitter(f->peer);
	struct requeue what = { .others_failed = others_failed,
		                .arg = f->d->store,
		                .job = &past->job,
		                .user = past->user,
		                .queue = past->queue,
		                .who = &who };
	int queue = conf_queue_find(f->d->conf, past->queue);
	char id[24];

	who.operator_ = queue < 0
	                    ? access_role(f->d, f->peer) >= ROLE_OPERATOR
	                    : access_operates(f->d, f->peer, (uint32_t)queue);
	if (past->job.uid != f->peer->uid && !who.operator_) {
		snprintf(id, sizeof(id), "%llu",
		         (unsigned long long)past->job.id);
		return access_refuse(f->d, f->peer, id, f->err);
	}
	return requeue_ended(f->d->state, &what, clock_wall_s(), f->err);
}

/* Whether the record is that of the wanted task. Tasks of an array that never
 * started share one record. */
static bool is_meant(const struct finding *f, const struct job *job)
{
	if (f->task == NO_TASK)
		return true;
	return job->task == NO_TASK ? idset_has(&job->tasks, f->task)
	                            : job->task == f->task;
}

static void take(const struct past_job *past, void *arg)
{
	struct finding *f = arg;

	if (f->found || !is_meant(f, &past->job))
		return;
	f->found = true;
	if (f->task == NO_TASK && past->job.array == f->id)
		f->result = err_set(f->err, EINVAL,
		                    "job %llu is an array: name its tasks, as "
		                    "in %llu_[0-3]",
		                    (unsigned long long)f->id,
		                    (unsigned long long)f->id);
	else
		f->result = requeue_one(f, past);
}

int op_requeue_ended(struct daemon *d, const struct peer *peer, uint64_t id,
                     uint32_t task, struct err *err)
{
	struct finding f = {
		.d = d, .peer = peer, .id = id, .task = task, .err = err
	};
	struct history_query query = {
		.ended_only = true,
		.unordered = true,
		.since = NO_TIME,
		.until = NO_TIME,
		.after = NO_TIME,
		.id = id,
		.task = task,
		.limit = task == NO_TASK ? 1 : ROWS_MAX,
	};

	if (store_history(store_path(d->store), &query, take, &f, err) < 0)
		return -1;
	if (!f.found)
		return err_set(err, ENOENT, "there is no job %llu",
		               (unsigned long long)id);
	return f.result;
}
