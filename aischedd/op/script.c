/* script.c - show the script of a job */
#include "aischedd/op/access.h"
#include "aischedd/op/op.h"
#include "aischedd/store/blob.h"
#include "libcommon/jobid.h"

struct found_script {
	const struct daemon *d;
	bool found;
	uint32_t uid;
	int queue; /* index of its queue; -1: that queue no longer exists */
	int64_t script;
};

static void active_script(struct found_script *f, const struct job *job)
{
	f->found = true;
	f->uid = job->uid;
	f->queue = (int)job->queue;
	f->script = job->script;
}

static void past_script(const struct past_job *past, void *arg)
{
	struct found_script *f = arg;

	f->found = true;
	f->uid = past->job.uid;
	f->queue = conf_queue_find(f->d->conf, past->queue);
	f->script = past->job.script;
}

/* Find the script of a job, in any record of the job: all records of an array
 * have the same script. */
static int find_script(struct daemon *d, uint64_t id, struct found_script *f,
                       struct err *err)
{
	struct history_query query = { .ended_only = true,
		                       .unordered = true,
		                       .since = NO_TIME,
		                       .until = NO_TIME,
		                       .after = NO_TIME,
		                       .id = id,
		                       .task = NO_TASK,
		                       .limit = 1 };
	const struct array *array = state_array(d->state, id);
	const struct job *job = array ? array->first : state_job(d->state, id);

	if (job) {
		active_script(f, job);
		return 0;
	}
	return store_history(store_path(d->store), &query, past_script, f, err);
}

static int check_script(const struct peer *peer, const struct found_script *f,
                        const char *text, struct err *err)
{
	if (!f->found)
		return err_set(err, ENOENT, "there is no job %s", text);
	if (!access_read(f->d, peer, f->uid, f->queue))
		return access_refuse(f->d, peer, text, err);
	if (f->script <= 0)
		return err_set(err, ENODATA,
		               "job %s has no script: it was made with kubectl",
		               text);
	return 0;
}

int op_script(struct daemon *d, struct ask *ask, const struct request_in *in,
              struct err *err)
{
	struct found_script f = { .d = d };
	struct buf script = { 0 };
	struct jobid id;
	const char *text = json_string_value(json_object_get(in->body, "id"));
	bool allocation;

	if (!text)
		return err_set(err, EPROTO, "script: id is expected");
	if (jobid_parse(&id, text, err) < 0)
		return -1;
	idset_free(&id.tasks);
	if (find_script(d, id.job, &f, err) < 0 ||
	    check_script(in->peer, &f, text, err) < 0 ||
	    store_blob_get(d->store, f.script, &script, err) < 0)
		return -1;
	allocation = !script.len;
	if (!allocation)
		rpc_part(ask, script.data, script.len);
	buf_free(&script);
	if (allocation)
		return err_set(err, ENODATA,
		               "job %s has no script: it is an allocation",
		               text);
	daemon_say(d, ask, json_object());
	return 0;
}
