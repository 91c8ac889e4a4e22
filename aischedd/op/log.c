/* log.c - find a job's output, or send output that the daemon keeps */
#include "aischedd/op/log.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/logs.h"
#include "aischedd/op/access.h"
#include "aischedd/op/op.h"
#include "aischedd/read/listing.h"
#include "aischedd/run/kube/object/mount.h"
#include "aischedd/run/kube/object/output.h"
#include "aischedd/state/cluster/node.h"
#include "libcommon/jobid.h"
#include "libcommon/limits.h"

/* The most rows of the history that are read to find one task: first the row of
 * the task itself, then rows of tasks of its array that never started. */
enum { ROWS_MAX = 1000 };

/*
 * Whether the output is a file of the user; otherwise the daemon keeps it. If a
 * container wrote the file to a mounted volume, f->path becomes the file's path
 * outside of the container, and f->where names the node or the
 * PersistentVolumeClaim that has the file.
 * Jobs that were adopted from a cluster have no such files.
 */
static bool is_file(struct found_log *f, const struct job *job,
                    const char *node)
{
	struct kube_mount_file at;
	struct spec spec;

	spec_unpack(&spec, job->packed);
	if (spec.kube_uid || !kube_output_is_file(&spec, f->path.data))
		return false;
	if (!kube_mount_find(spec.mount, f->path.data, &at))
		return true;
	buf_clear(&f->path);
	buf_puts(&f->path, at.file);
	if (at.claim)
		buf_printf(&f->where, "of claim '%s'", at.claim);
	else if (f->task)
		buf_printf(&f->where, "on the node of task %u", f->task);
	else if (*node)
		buf_printf(&f->where, "on node '%.*s'",
		           (int)strcspn(node, ":,"), node);
	free(at.file);
	free(at.claim);
	return true;
}

static uint32_t tasks_of(const struct job *job)
{
	struct request req;
	struct spec spec;

	spec_unpack(&spec, job->packed);
	spec_request(&spec, job->mem_default, &req);
	return req.tasks;
}

static void past_log(const struct past_job *past, void *arg)
{
	const struct job *job = &past->job;
	struct found_log *f = arg;
	const char *place = past->place ? past->place : "";

	/* The query returns all rows of an array: skip those of other tasks. */
	if (f->found || (f->id->tasks.n && job->tasks.n &&
	                 !idset_has(&job->tasks, idset_min(&f->id->tasks))))
		return;
	f->found = true;
	f->is_array = !f->id->tasks.n && job->array == f->id->job;
	f->job = job->id;
	f->state = job_state_name((enum job_state)job->state);
	f->queue = conf_queue_find(f->d->conf, past->queue);
	f->uid = job->uid;
	f->ntasks = tasks_of(job);
	listing_output(job, past->user, place, f->task, f->error, &f->path);
	f->streamed = !is_file(f, job, place) && logs_are_kept(f->d, job->id);
}

static void active_log(const struct job *job, struct found_log *f)
{
	const struct state *state = f->d->state;
	struct job copy = *job;
	const char *node =
	    job->place ? state_node(state, job->place->task[0].node)->name : "";

	if (f->id->tasks.n)
		copy.task = idset_min(&f->id->tasks);
	f->found = true;
	f->job = job->id;
	f->state = job_state_name((enum job_state)job->state);
	f->queue = (int)job->queue;
	f->uid = job->uid;
	f->ntasks = tasks_of(job);
	listing_output(&copy, state_user(state, job->user)->name, node, f->task,
	               f->error, &f->path);
	f->streamed = !is_file(f, job, node) &&
	              (job->place ? logs_runner(f->d, job) != NULL
	                          : logs_are_kept(f->d, job->id));
}

static int find_log(struct daemon *d, struct found_log *f, struct err *err)
{
	const struct jobid *id = f->id;
	struct history_query query = { .ended_only = true,
		                       .unordered = true,
		                       .since = NO_TIME,
		                       .until = NO_TIME,
		                       .after = NO_TIME,
		                       .id = id->job,
		                       .task = NO_TASK,
		                       .limit = 1 };
	const struct array *array = state_array(d->state, id->job);
	const struct job *job = state_job(d->state, id->job);

	if (id->tasks.n) {
		query.task = idset_min(&id->tasks);
		query.limit = ROWS_MAX;
		job = state_task(d->state, id->job, query.task);
	} else if (array) {
		f->found = f->is_array = true;
		f->uid = array->first->uid;
		f->queue = (int)array->first->queue;
		return 0;
	}
	if (job) {
		active_log(job, f);
		return 0;
	}
	return store_history(store_path(d->store), &query, past_log, f, err);
}

static int check_log(const struct peer *peer, const struct found_log *f,
                     const char *text, struct err *err)
{
	if (!f->found)
		return err_set(err, ENOENT, "there is no job %s", text);
	if (!access_read(f->d, peer, f->uid, f->queue))
		return access_refuse(f->d, peer, text, err);
	if (f->is_array)
		return err_set(err, EINVAL,
		               "job %s is an array: name one task, as in %s_0",
		               text, text);
	/* If the output is streamed, the runner checks the task's number: an
	 * adopted Job may have more tasks in all than ntasks, the number of
	 * tasks that run at once. */
	if (!f->streamed && f->task >= f->ntasks)
		return err_set(err, ENOENT,
		               "there is no task %u of job %s: its last is %u",
		               f->task, text, f->ntasks - 1);
	return 0;
}

int64_t found_log_number(const struct request_in *in, const char *key,
                         int64_t absent)
{
	json_t *value = json_object_get(in->body, key);

	return json_is_integer(value) ? json_integer_value(value) : absent;
}

int found_log_find(struct found_log *f, struct daemon *d,
                   const struct request_in *in, struct err *err)
{
	const char *text = json_string_value(json_object_get(in->body, "id"));
	const char *stream =
	    json_string_value(json_object_get(in->body, "stream"));
	struct jobid id = { 0 };
	int rc = -1;

	*f = (struct found_log){ .d = d, .id = &id };
	f->task = (uint32_t)found_log_number(in, "task", 0);
	f->error = stream && !strcmp(stream, "err");
	if (!text)
		return err_set(err, EPROTO, "%s: id is expected",
		               op_name(in->op));
	if (jobid_parse(&id, text, err) == 0 && find_log(d, f, err) == 0)
		rc = check_log(in->peer, f, text, err);
	idset_free(&id.tasks);
	f->id = NULL;
	return rc;
}

void found_log_free(struct found_log *f)
{
	buf_free(&f->path);
	buf_free(&f->where);
}

static int answer_log(struct daemon *d, struct ask *ask,
                      const struct request_in *in, const struct found_log *f,
                      const char *text, struct err *err)
{
	const struct logs_wish wish = {
		.id = text,
		.job = f->job,
		.uid = in->peer->uid,
		.task = found_log_number(in, "task", EVERY_TASK),
		.follow = json_is_true(json_object_get(in->body, "follow")),
		.skip = found_log_number(in, "skip", 0),
	};

	if (f->streamed)
		return logs_begin(d, ask, &wish, err);
	daemon_say(d, ask,
	           json_pack("{s:s, s:s, s:s*}", "path", f->path.data, "state",
	                     f->state, "where", f->where.data));
	return 0;
}

int op_log(struct daemon *d, struct ask *ask, const struct request_in *in,
           struct err *err)
{
	const char *text = json_string_value(json_object_get(in->body, "id"));
	struct found_log f;
	int result = found_log_find(&f, d, in, err);

	if (result == 0)
		result = answer_log(d, ask, in, &f, text, err);
	found_log_free(&f);
	return result;
}
