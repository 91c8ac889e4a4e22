/* step.c - requests to run steps and commands in a job, or to connect to its
 * ports */
#include "aischedd/op/step.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/op/access.h"
#include "aischedd/op/audit.h"
#include "aischedd/op/op.h"
#include "aischedd/relays.h"
#include "aischedd/runners.h"
#include "aischedd/state/cluster/node.h"
#include "libcommon/buf.h"
#include "libcommon/clean.h"
#include "libcommon/idset.h"
#include "libcommon/jobid.h"
#include "libcommon/mem.h"
#include "libcommon/relay_msg.h"
#include "libcommon/spec/ports.h"

/* Accepts also the id of the record of one started task of an array, as the
 * processes of such a task know only this id. */
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

static int check_goes_on(const struct job *job, struct err *err)
{
	if (job->state != JOB_COMPLETING &&
	    !job_state_is_final((enum job_state)job->state))
		return 0;
	return err_set(err, ESHUTDOWN, "job %s ends", job_id_text(job).text);
}

json_t *step_answer(const struct daemon *d, const struct job *job,
                    struct err *err)
{
	struct buf path = { 0 };
	json_t *answer;

	if (check_goes_on(job, err) < 0 ||
	    daemon_step_socket(d, job, &path, err) < 0)
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

/* --- who may run commands, and connect to ports --------------------------- */

struct reach {
	const char *act; /* for the audit log */
	const char *what, *does;
};

static const struct reach by_command = { "exec", "commands in it",
	                                 "no command runs in it" };
static const struct reach by_port = { "forward", "its ports",
	                              "its ports do not answer" };

/* Check that the peer may run commands in the job, or connect to its ports:
 * only its owner and root may. Operators may end jobs of their queues, but not
 * act as the jobs' owners; and whoever reaches the port of a notebook or a
 * debugger can run commands as the owner. */
static int check_reach(const struct daemon *d, const struct peer *peer,
                       const struct reach *by, const struct job *job,
                       const char *text, struct err *err)
{
	if (job && peer->uid != job->uid && peer->uid != 0 &&
	    !is_hidden(d, peer, job))
		return err_set(err, EPERM,
		               "job %s is not yours: %s are for its owner and "
		               "root",
		               text, by->what);
	if (check(d, peer, job, text, err) < 0)
		return -1;
	if (job->state == JOB_SUSPENDED)
		return err_set(err, EAGAIN,
		               "job %s is suspended: %s until it resumes", text,
		               by->does);
	return check_goes_on(job, err);
}

static void note_reach(struct daemon *d, const struct peer *peer,
                       const struct reach *by, const struct job *job,
                       const char *text)
{
	struct buf id = { 0 };

	job_display_id(job, 0, &id);
	audit_job(d, peer, by->act, job->id, id.data,
	          state_user(d->state, job->user)->name, text);
	buf_free(&id);
}

/* Check that the peer may run commands in the job, or connect to its ports. If
 * the peer may not, record that, unless the peer must not even know that there
 * is such a job. */
static int reach(struct daemon *d, const struct peer *peer,
                 const struct reach *by, const struct job *job,
                 const char *text, struct err *err)
{
	bool last;

	if (check_reach(d, peer, by, job, text, err) == 0)
		return 0;
	if (job && err->code == EPERM && audit_may_refuse(d, peer, &last))
		note_reach(d, peer, by, job,
		           last ? "refused; no more are recorded this minute"
		                : "refused");
	return -1;
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
	    reach(d, in->peer, &by_command, job, text, err) < 0)
		return -1;
	if (relays_runner(d, job)) {
		daemon_say(d, ask, json_pack("{s:b}", "relay", 1));
		return 0;
	}
	answer = step_answer(d, job, err);
	if (!answer)
		return -1;
	json_object_set_new(answer, "uid", json_integer(job->uid));
	note_reach(d, in->peer, &by_command, job, NULL);
	daemon_answer(d, ask, answer);
	return 0;
}

/* --- connect to ports ----------------------------------------------------- */

static int check_port(const struct daemon *d, const struct job *job,
                      struct err *err)
{
	if (relays_forward(d, job))
		return 0;
	return err_set(err, EOPNOTSUPP,
	               "job %s runs where its ports cannot be reached",
	               job_id_text(job).text);
}

/* Set *ret to the port of the job that has this name. */
static int find_port(const struct job *job, const char *name, uint16_t *ret,
                     struct err *err)
{
	struct spec spec;

	spec_unpack(&spec, job->packed);
	*ret = ports_find(spec.ports, name);
	if (*ret)
		return 0;
	return err_set(err, ENOENT, "job %s has no port '%.63s'; it has %s",
	               job_id_text(job).text, name,
	               spec.ports ? spec.ports : "none with a name");
}

int op_forward(struct daemon *d, struct ask *ask, const struct request_in *in,
               struct err *err)
{
	const char *text = json_string_value(json_object_get(in->body, "id"));
	const char *name = json_string_value(json_object_get(in->body, "name"));
	uint16_t port = relays_number(in, "port", UINT16_MAX);
	const struct job *job;

	if (!text || !port == !name)
		return err_set(err, EPROTO,
		               "forward: id and a port or its name are "
		               "expected");
	if (step_find(d, text, &job, err) < 0 ||
	    reach(d, in->peer, &by_port, job, text, err) < 0 ||
	    check_port(d, job, err) < 0 ||
	    (name && find_port(job, name, &port, err) < 0))
		return -1;
	daemon_say(d, ask, json_pack("{s:i}", "port", port));
	return 0;
}

/* --- commands and connections that the daemon relays ---------------------- */

enum {
	TERM_MAX = 64, /* bytes of a terminal type's name (TERM) */
	NOTED = 1000   /* most bytes of a command in the audit log */
};

/* Returns the words of the command, which point into the request's raw bytes.
 * Returns NULL with *err set if there are no words, if they are too long, or if
 * the last one is not terminated. */
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
	if (!relays_runner(d, job))
		return err_set(err, EOPNOTSUPP,
		               "job %s does not run in a cluster",
		               job_id_text(job).text);
	return 0;
}

static int relay_port(struct daemon *d, struct ask *ask, const struct job *job,
                      const struct request_in *in, struct run_exec_wish *wish,
                      struct err *err)
{
	if (in->raw_len)
		return err_set(err, EPROTO,
		               "relay: a command or a port is expected");
	if (check_port(d, job, err) < 0)
		return -1;
	return relays_begin(d, ask, job, in, wish, err);
}

static int relay_command(struct daemon *d, struct ask *ask,
                         const struct job *job, const struct request_in *in,
                         struct run_exec_wish *wish, struct err *err)
{
	const char *term = json_string_value(json_object_get(in->body, "term"));
	const char **argv;
	int rc;

	if (term && strlen(term) > TERM_MAX)
		return err_set(err, EPROTO, "relay: a short term is expected");
	if (check_relay(d, job, err) < 0 || !(argv = words_of(in, err)))
		return -1;
	wish->argv = argv;
	wish->tty = json_is_true(json_object_get(in->body, "tty"));
	wish->no_input = json_is_false(json_object_get(in->body, "input"));
	wish->term = wish->tty ? term : NULL;
	wish->rows = relays_number(in, "rows", UINT16_MAX);
	wish->columns = relays_number(in, "columns", UINT16_MAX);
	rc = relays_begin(d, ask, job, in, wish, err);
	free(argv);
	return rc;
}

/* Record the task, and the port or the command. */
static void note_relay(struct daemon *d, const struct request_in *in,
                       const struct reach *by, const struct job *job,
                       const struct run_exec_wish *wish)
{
	struct buf text = { 0 };
	size_t begin;

	buf_printf(&text, "task %" PRIu32 ", ", wish->task);
	if (wish->port) {
		buf_printf(&text, "port %u", (unsigned)wish->port);
	} else {
		begin = text.len;
		buf_add(&text, in->raw,
		        in->raw_len < NOTED ? in->raw_len : NOTED);
		for (size_t i = begin; i < text.len; i++)
			if (!text.data[i])
				text.data[i] = ' ';
		while (text.len > begin && text.data[text.len - 1] == ' ')
			text.len--;
		text.len =
		    begin + text_clean(text.data + begin, text.len - begin);
		text.data[text.len] = '\0';
		if (in->raw_len > NOTED)
			buf_puts(&text, "...");
	}
	note_reach(d, in->peer, by, job, text.data);
	buf_free(&text);
}

int op_relay(struct daemon *d, struct ask *ask, const struct request_in *in,
             struct err *err)
{
	const char *text = json_string_value(json_object_get(in->body, "id"));
	json_int_t task = json_integer_value(json_object_get(in->body, "task"));
	struct run_exec_wish wish = { .port = relays_number(in, "port",
		                                            UINT16_MAX) };
	const struct reach *by = wish.port ? &by_port : &by_command;
	const struct job *job;
	int rc;

	if (!text || task < 0 || task > UINT32_MAX)
		return err_set(err, EPROTO, "relay: id and task are expected");
	if (step_find(d, text, &job, err) < 0 ||
	    reach(d, in->peer, by, job, text, err) < 0)
		return -1;
	wish.job = job->id;
	wish.attempt = job->attempt;
	wish.user = job->user;
	wish.task = (uint32_t)task;
	rc = wish.port ? relay_port(d, ask, job, in, &wish, err)
	               : relay_command(d, ask, job, in, &wish, err);
	if (rc == 0)
		note_relay(d, in, by, job, &wish);
	return rc;
}

int op_relay_input(struct daemon *d, struct ask *ask,
                   const struct request_in *in, struct err *err)
{
	return relays_input(d, ask, in, err);
}
