/* step.c - where a job takes steps and commands */
#include "aischedd/op/step.h"

#include "aischedd/op/access.h"
#include "aischedd/op/audit.h"
#include "aischedd/op/op.h"
#include "aischedd/runners.h"
#include "aischedd/state/cluster/node.h"
#include "libcommon/buf.h"
#include "libcommon/idset.h"
#include "libcommon/jobid.h"

/* The text names a task of an array, or a record by its own id, by which a
 * running task of an array knows itself. */
int step_find(const struct daemon *d, const char *text, const struct job **ret,
              struct err *err)
{
	struct jobid id;

	if (jobid_parse(&id, text, err) < 0)
		return -1;
	*ret = id.tasks.n ? state_task(d->state, id.job, idset_min(&id.tasks))
	                  : state_job(d->state, id.job);
	idset_free(&id.tasks);
	return 0;
}

json_t *step_answer(const struct daemon *d, const struct job *job,
                    struct err *err)
{
	struct buf path = { 0 };
	json_t *answer;

	if (job->state == JOB_COMPLETING ||
	    job_state_is_final((enum job_state)job->state)) {
		err_set(err, ESHUTDOWN, "job %llu ends",
		        (unsigned long long)job->id);
		return NULL;
	}
	if (daemon_step_socket(d, job, &path, err) < 0)
		return NULL;
	answer =
	    json_pack("{s:I, s:s, s:s}", "job_id", (json_int_t)job->id, "node",
	              state_node(d->state, job->place->task[0].node)->name,
	              "socket", path.data);
	buf_free(&path);
	return answer;
}

static bool is_hidden(const struct daemon *d, const struct peer *peer,
                      const struct job *job)
{
	return !access_job(d, peer, job) && access_hides(d, peer, "jobs");
}

static int check(const struct daemon *d, const struct peer *peer,
                 const struct job *job, const char *text, struct err *err)
{
	if (!job || is_hidden(d, peer, job))
		return err_set(err, ENOENT, "job %s does not run", text);
	if (!access_job(d, peer, job))
		return err_set(err, EPERM, "job %s is not yours", text);
	if (job->state == JOB_PENDING || !job->place)
		return err_set(err, EAGAIN, "job %s has not started", text);
	return 0;
}

int op_step(struct daemon *d, struct ask *ask, const struct request_in *in,
            struct err *err)
{
	const char *text = json_string_value(json_object_get(in->body, "id"));
	const struct job *job;
	json_t *answer;

	if (!text)
		return err_set(err, EPROTO, "step: id is expected");
	if (step_find(d, text, &job, err) < 0 ||
	    check(d, in->peer, job, text, err) < 0 ||
	    !(answer = step_answer(d, job, err)))
		return -1;
	daemon_say(d, ask, answer);
	return 0;
}

/* --- exec ----------------------------------------------------------------- */

/* Check that the peer may run commands in the job. Only its owner and root may:
 * operators may end jobs of their queues, but not act as the owners. */
static int check_exec(const struct daemon *d, const struct peer *peer,
                      const struct job *job, const char *text, struct err *err)
{
	if (job && peer->uid != job->uid && peer->uid != 0 &&
	    !is_hidden(d, peer, job))
		return err_set(err, EPERM,
		               "job %s is not yours: commands in it are for "
		               "its owner and root",
		               text);
	if (check(d, peer, job, text, err) < 0)
		return -1;
	if (job->state == JOB_SUSPENDED)
		return err_set(err, EAGAIN,
		               "job %s is suspended: no command runs in it "
		               "until it resumes",
		               text);
	return 0;
}

int op_exec(struct daemon *d, struct ask *ask, const struct request_in *in,
            struct err *err)
{
	const char *text = json_string_value(json_object_get(in->body, "id"));
	struct buf id = { 0 };
	const struct job *job;
	json_t *answer;

	if (!text)
		return err_set(err, EPROTO, "exec: id is expected");
	if (step_find(d, text, &job, err) < 0 ||
	    check_exec(d, in->peer, job, text, err) < 0)
		return -1;
	answer = step_answer(d, job, err);
	if (!answer && err->code == EOPNOTSUPP)
		return err_set(err, EOPNOTSUPP,
		               "job %s runs in a cluster, where aictl exec is "
		               "not supported yet: use srun in its script, or "
		               "kubectl exec",
		               text);
	if (!answer)
		return -1;
	json_object_set_new(answer, "uid", json_integer(job->uid));
	job_display_id(job, 0, &id);
	audit_job(d, in->peer, "exec", job->id, id.data,
	          state_user(d->state, job->user)->name);
	buf_free(&id);
	daemon_answer(d, ask, answer);
	return 0;
}
