/* step.c - where a job takes steps and commands */
#include "aischedd/op/step.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/op/access.h"
#include "aischedd/op/audit.h"
#include "aischedd/op/op.h"
#include "aischedd/relays.h"
#include "aischedd/runners.h"
#include "aischedd/state/cluster/node.h"
#include "libcommon/buf.h"
#include "libcommon/idset.h"
#include "libcommon/jobid.h"
#include "libcommon/mem.h"
#include "libcommon/relay_msg.h"

/* Besides a job or a task of an array, the text may be the id of a task's own
 * record: the processes of a running task know only that id. */
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

/* Check that the peer may run commands in the job: only its owner and root may.
 * Operators may end jobs of their queues, but not act as their owners. */
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

static void note_exec(struct daemon *d, const struct peer *peer,
                      const struct job *job)
{
	struct buf id = { 0 };

	job_display_id(job, 0, &id);
	audit_job(d, peer, "exec", job->id, id.data,
	          state_user(d->state, job->user)->name);
	buf_free(&id);
}

int op_exec(struct daemon *d, struct ask *ask, const struct request_in *in,
            struct err *err)
{
	const char *text = json_string_value(json_object_get(in->body, "id"));
	const struct job *job;
	json_t *answer;

	if (!text)
		return err_set(err, EPROTO, "exec: id is expected");
	if (step_find(d, text, &job, err) < 0 ||
	    check_exec(d, in->peer, job, text, err) < 0)
		return -1;
	answer = step_answer(d, job, err);
	if (!answer && err->code == EOPNOTSUPP && relays_runner(d, job)) {
		daemon_say(d, ask, json_pack("{s:b}", "relay", 1));
		return 0;
	}
	if (!answer)
		return -1;
	json_object_set_new(answer, "uid", json_integer(job->uid));
	note_exec(d, in->peer, job);
	daemon_answer(d, ask, answer);
	return 0;
}

/* --- commands whose streams the daemon relays ----------------------------- */

/* bytes of a terminal type's name (TERM) */
enum { TERM_MAX = 64 };

/* Returns the words of the command in the request's raw bytes, to which they
 * point. Returns NULL with *err set if there are none, if they are too long, or
 * if the last one is not terminated. */
static const char **words_of(const struct request_in *in, struct err *err)
{
	const char *at = in->raw, *end = at + in->raw_len;
	const char **word;
	size_t n = 0;

	if (!in->raw_len || end[-1] || !*at) {
		err_set(err, EPROTO, "relay: a command is expected");
		return NULL;
	}
	if (in->raw_len > RELAY_PIECE) {
		err_set(err, E2BIG,
		        "a command in a job of a cluster may have %d KiB",
		        RELAY_PIECE >> 10);
		return NULL;
	}
	for (; at < end; at += strlen(at) + 1)
		n++;
	word = xcalloc(n + 1, sizeof(*word));
	n = 0;
	for (at = in->raw; at < end; at += strlen(at) + 1)
		word[n++] = at;
	return word;
}

static int check_relay(const struct daemon *d, const struct job *job,
                       struct err *err)
{
	if (job->state == JOB_COMPLETING)
		return err_set(err, ESHUTDOWN, "job %llu ends",
		               (unsigned long long)job->id);
	if (!relays_runner(d, job))
		return err_set(err, EOPNOTSUPP,
		               "job %llu does not run in a cluster",
		               (unsigned long long)job->id);
	return 0;
}

int op_relay(struct daemon *d, struct ask *ask, const struct request_in *in,
             struct err *err)
{
	const char *text = json_string_value(json_object_get(in->body, "id"));
	json_int_t task = json_integer_value(json_object_get(in->body, "task"));
	bool tty = json_is_true(json_object_get(in->body, "tty"));
	const char *term = json_string_value(json_object_get(in->body, "term"));
	const struct job *job;
	const char **argv;
	int rc;

	if (!text || task < 0 || task > UINT32_MAX ||
	    (term && strlen(term) > TERM_MAX))
		return err_set(err, EPROTO,
		               "relay: id, task and a short term are expected");
	if (step_find(d, text, &job, err) < 0 ||
	    check_exec(d, in->peer, job, text, err) < 0 ||
	    check_relay(d, job, err) < 0 || !(argv = words_of(in, err)))
		return -1;
	rc = relays_begin(
	    d, ask, job, in,
	    &(struct run_exec_wish){
		.job = job->id,
		.attempt = job->attempt,
		.task = (uint32_t)task,
		.argv = argv,
		.tty = tty,
		.term = tty ? term : NULL,
		.rows = relays_number(in, "rows", UINT16_MAX),
		.columns = relays_number(in, "columns", UINT16_MAX),
	    },
	    err);
	free(argv);
	if (rc == 0)
		note_exec(d, in->peer, job);
	return rc;
}

int op_relay_input(struct daemon *d, struct ask *ask,
                   const struct request_in *in, struct err *err)
{
	return relays_input(d, ask, in, err);
}
