/* relays.c - relay between users and their commands or ports in jobs */
#include "aischedd/relays.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/op/request.h"
#include "aischedd/runners.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"
#include "libcommon/relay_msg.h"

struct relayed {
	struct relayed *next;
	struct daemon *d;
	/* request that is answered when the command ends; NULL: the user has
	 * disconnected */
	struct ask *ask;
	/* request that is answered when there is room for more input; NULL:
	 * there is none */
	struct ask *input;
	uint64_t number;
	uid_t uid;
	const struct runner_exec *calls;
	struct run_exec *exec;
	bool began;
	struct buf part;
};

static void relay_free(struct relayed *r)
{
	struct relayed **at = &r->d->relays;

	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
	buf_free(&r->part);
	free(r);
}

static void free_input(struct relayed *r)
{
	struct ask *input = r->input;

	r->input = NULL;
	if (input)
		daemon_say(r->d, input, json_object());
}

/* The connection of a request was closed. If the request began a command, end
 * the command; it counts against the limits until it has ended. */
void daemon_relay_gone(struct daemon *d, const struct ask *ask)
{
	for (struct relayed *r = d->relays; r; r = r->next) {
		if (r->input == ask)
			r->input = NULL;
		if (r->ask != ask)
			continue;
		r->ask = NULL;
		free_input(r);
		r->calls->close(r->exec);
	}
}

void daemon_free_relays(struct daemon *d)
{
	while (d->relays)
		relay_free(d->relays);
}

/* --- calls by the runner -------------------------------------------------- */

static void send_part(struct relayed *r, char kind, const void *data,
                      size_t len)
{
	if (!r->ask)
		return;
	buf_clear(&r->part);
	buf_addc(&r->part, kind);
	buf_add(&r->part, data, len);
	rpc_part(r->ask, r->part.data, r->part.len);
}

static void on_sent(struct ask *ask, void *arg)
{
	struct relayed *r = arg;

	(void)ask;
	r->calls->pause(r->exec, false);
}

static void on_output(int stream, const void *data, size_t len, void *arg)
{
	struct relayed *r = arg;

	send_part(r, stream == 1 ? RELAY_OUT : RELAY_ERR, data, len);
	if (!r->ask)
		return;
	r->calls->pause(r->exec, true);
	rpc_when_drained(r->ask, on_sent, r);
}

/* Called when there is room for input. The first call means that the command
 * has begun, which is reported to the user. */
static void on_drained(void *arg)
{
	struct relayed *r = arg;
	struct buf number = { 0 };

	if (!r->began) {
		r->began = true;
		buf_i64(&number, (int64_t)r->number);
		send_part(r, RELAY_BEGINS, number.data, number.len);
		buf_free(&number);
	}
	free_input(r);
}

static void on_end(int status, const struct err *err, void *arg)
{
	struct relayed *r = arg;
	struct daemon *d = r->d;
	struct ask *ask = r->ask;

	free_input(r);
	relay_free(r);
	if (!ask)
		return;
	if (err)
		daemon_refuse(d, ask, err);
	else
		daemon_say(d, ask, json_pack("{s:i}", "status", status));
}

/* --- requests ------------------------------------------------------------- */

struct runner *relays_runner(const struct daemon *d, const struct job *job)
{
	struct runner *r = daemon_runner_of(d, job);

	return r && r->ops->exec ? r : NULL;
}

bool relays_forward(const struct daemon *d, const struct job *job)
{
	struct runner *r = daemon_runner_of(d, job);

	return r && r->ops->forward;
}

static int check_limits(const struct daemon *d, const struct peer *peer,
                        struct err *err)
{
	unsigned all = 0, own = 0, kept = LIMIT_RELAYS_KEPT;

	if (daemon_is_admin(peer, (void *)(uintptr_t)d))
		kept = 0;
	for (const struct relayed *r = d->relays; r; r = r->next) {
		all++;
		own += r->uid == peer->uid;
	}
	if (own >= LIMIT_RELAYS_USER)
		return err_set(err, EBUSY,
		               "you have %u commands in jobs of clusters and "
		               "connections to jobs: end one",
		               own);
	if (all >= LIMIT_RELAYS - kept)
		return err_set(err, EBUSY,
		               "there are %u commands in jobs of clusters and "
		               "connections to jobs: try again later",
		               all);
	return 0;
}

int relays_begin(struct daemon *d, struct ask *ask, const struct job *job,
                 const struct request_in *in, const struct run_exec_wish *wish,
                 struct err *err)
{
	static const struct run_exec_ops ops = { on_output, on_drained,
		                                 on_end };
	static uint64_t last;
	struct runner *runner = daemon_runner_of(d, job);
	struct relayed *r;

	if (check_limits(d, in->peer, err) < 0)
		return -1;
	r = xcalloc(1, sizeof(*r));
	r->d = d;
	r->ask = ask;
	r->uid = in->peer->uid;
	r->number = ++last;
	r->calls = wish->port ? runner->ops->forward : runner->ops->exec;
	r->next = d->relays;
	d->relays = r;
	r->exec = r->calls->open(runner, wish, &ops, r, err);
	if (r->exec)
		return 0;
	relay_free(r);
	return -1;
}

static struct relayed *find(const struct daemon *d, const struct request_in *in,
                            struct err *err)
{
	json_int_t number =
	    json_integer_value(json_object_get(in->body, "relay"));

	for (struct relayed *r = d->relays; r; r = r->next)
		if ((json_int_t)r->number == number &&
		    r->uid == in->peer->uid && r->began && r->ask)
			return r;
	err_set(err, ESRCH, "the command or the connection has ended");
	return NULL;
}

uint16_t relays_number(const struct request_in *in, const char *key,
                       uint16_t most)
{
	json_int_t n = json_integer_value(json_object_get(in->body, key));

	return n < 0 || n > most ? 0 : (uint16_t)n;
}

int relays_input(struct daemon *d, struct ask *ask, const struct request_in *in,
                 struct err *err)
{
	struct relayed *r = find(d, in, err);
	const struct runner_exec *exec;
	uint16_t rows = relays_number(in, "rows", UINT16_MAX);
	uint16_t columns = relays_number(in, "columns", UINT16_MAX);
	uint16_t signo = relays_number(in, "signal", (uint16_t)SIGRTMAX);
	bool end = json_is_true(json_object_get(in->body, "end"));

	if (!r)
		return -1;
	exec = r->calls;
	if (in->raw_len > RELAY_PIECE)
		return err_set(err, EMSGSIZE,
		               "input of more than %d KiB at a time",
		               RELAY_PIECE >> 10);
	if ((in->raw_len || end) && (r->input || exec->is_full(r->exec)))
		return err_set(err, EBUSY, "other input waits");
	if (in->raw_len)
		exec->input(r->exec, in->raw, in->raw_len);
	if (end)
		exec->end_input(r->exec);
	if (rows && columns && exec->resize)
		exec->resize(r->exec, rows, columns);
	if (signo && exec->signal)
		exec->signal(r->exec, signo);
	if (in->raw_len && exec->is_full(r->exec))
		r->input = ask;
	else
		daemon_say(d, ask, json_object());
	return 0;
}
