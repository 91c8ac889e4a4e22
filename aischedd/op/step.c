/* step.c - where a job takes steps */
#include "aischedd/op/access.h"
#include "aischedd/op/op.h"
#include "aischedd/runners.h"
#include "aischedd/state/cluster/node.h"
#include "libcommon/buf.h"
#include "libcommon/idset.h"
#include "libcommon/jobid.h"

/* A number may be that of an array and of one of its tasks: a job that runs
 * knows itself by the latter. */
static const struct job *find(const struct daemon *d, const struct jobid *id)
{
	return id->tasks.n
	           ? state_task(d->state, id->job, idset_min(&id->tasks))
	           : state_job(d->state, id->job);
}

static int check(const struct daemon *d, const struct peer *peer,
                 const struct job *job, const char *text, struct err *err)
{
	if (!job)
		return err_set(err, ENOENT, "job %s does not run", text);
	if (!access_job(d, peer, job))
		return err_set(err, EPERM, "job %s is not yours", text);
	if (job->state == JOB_PENDING || !job->place)
		return err_set(err, EAGAIN, "job %s has not started", text);
	if (job->state == JOB_COMPLETING ||
	    job_state_is_final((enum job_state)job->state))
		return err_set(err, ESHUTDOWN, "job %s ends", text);
	return 0;
}

int op_step(struct daemon *d, struct ask *ask, const struct request_in *in,
            struct err *err)
{
	const char *text = json_string_value(json_object_get(in->body, "id"));
	struct buf path = { 0 };
	const struct job *job;
	struct jobid id;

	if (!text)
		return err_set(err, EPROTO, "step: id is expected");
	if (jobid_parse(&id, text, err) < 0)
		return -1;
	job = find(d, &id);
	idset_free(&id.tasks);
	if (check(d, in->peer, job, text, err) < 0 ||
	    daemon_step_socket(d, job, &path, err) < 0)
		return -1;
	daemon_say(
	    d, ask,
	    json_pack("{s:I, s:s, s:s}", "job_id", (json_int_t)job->id, "node",
	              state_node(d->state, job->place->task[0].node)->name,
	              "socket", path.data));
	buf_free(&path);
	return 0;
}
