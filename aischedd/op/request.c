/* request.c - the table of requests: who may send them, and who serves them */
#include "aischedd/op/request.h"

#include <string.h>
#include <unistd.h>

#include "aischedd/metrics.h"
#include "aischedd/op/access.h"
#include "aischedd/op/audit.h"
#include "aischedd/op/fields.h"
#include "aischedd/op/op.h"
#include "aischedd/prometheus.h"
#include "aischedd/reload.h"
#include "aischedd/state/cluster/pool.h"
#include "config.h"
#include "libcommon/clock.h"
#include "libcommon/log.h"

static json_t *lines(const char *text)
{
	json_t *list = json_array();
	const char *line;
	size_t len;

	while ((line = text_line(&text, &len)))
		json_array_append_new(list, json_stringn(line, len));
	return list;
}

static int op_reload(struct daemon *d, struct ask *ask,
                     const struct request_in *in, struct err *err)
{
	struct buf warnings = { 0 };
	int result = daemon_reload(d, &warnings, err);

	if (result == 0) {
		audit_act(d, in->peer, "reload", "configuration", "", NULL);
		daemon_answer(
		    d, ask,
		    json_pack("{s:o}", "warnings", lines(warnings.data)));
	}
	buf_free(&warnings);
	return result;
}

static int op_ping(struct daemon *d, struct ask *ask,
                   const struct request_in *in, struct err *err)
{
	bool synced = true;

	(void)in;
	(void)err;
	for (uint32_t i = 0; i < d->conf->npools; i++)
		if (runner_traits(d->conf->pools[i].runner)->is_here)
			synced = synced && state_pool_is_ready(d->state, i);
	daemon_say(d, ask,
	           json_pack("{s:s, s:s, s:i, s:I, s:b}", "version",
	                     PACKAGE_VERSION, "cluster", d->conf->cluster,
	                     "pid", (int)getpid(), "uptime",
	                     (json_int_t)(clock_wall_s() - d->started),
	                     "synced", synced));
	return 0;
}

static int op_status(struct daemon *d, struct ask *ask,
                     const struct request_in *in, struct err *err)
{
	(void)in;
	(void)err;
	daemon_say(d, ask, metrics_json(d));
	return 0;
}

static int op_metrics(struct daemon *d, struct ask *ask,
                      const struct request_in *in, struct err *err)
{
	struct buf text = { 0 };

	(void)in;
	(void)err;
	prometheus_text(d, &text);
	rpc_part(ask, text.data, text.len);
	buf_free(&text);
	daemon_say(d, ask, json_object());
	return 0;
}

static int op_config(struct daemon *d, struct ask *ask,
                     const struct request_in *in, struct err *err)
{
	struct buf text = { 0 };

	(void)in;
	(void)err;
	conf_print(d->conf, &text);
	rpc_part(ask, text.data, text.len);
	buf_free(&text);
	daemon_say(d, ask, json_object());
	return 0;
}

static int op_shutdown(struct daemon *d, struct ask *ask,
                       const struct request_in *in, struct err *err)
{
	(void)err;
	log_notice("daemon shutdown user=%s", in->peer->user);
	audit_act(d, in->peer, "shutdown", "daemon", "", NULL);
	daemon_answer(d, ask, json_object());
	d->quit = true;
	return 0;
}

#define FILTERS "users=l queues=l states=l names=l labels=l "
#define LISTING "fields=l format=t "

/* writes: refuse the request while the disk is full. This is not set for
 * cancels, which free space, nor for submissions: op_submit() must still answer
 * a repeated submission that is already stored. */
static const struct {
	op_fn *fn;
	bool writes;
	/* its fields and their types, as fields_check() reads them */
	const char *fields;
	/* whether the web program may send it */
	bool web;
} ops[OP_N] = {
	[OP_ping] = { op_ping, false, "", true },
	[OP_submit] = { op_submit, false,
	                "token=t specs=j script_len=i env_len=i test_only=b "
	                "cron=o",
	                false },
	[OP_cancel] = { op_mass, false,
	                FILTERS "ids=l all=b signal=i scope=t step=i list=b",
	                false },
	[OP_control] = { op_mass, true, "action=t ids=l", false },
	[OP_update] = { op_mass, true, "ids=l set=o", false },
	[OP_wait] = { op_wait, false, "ids=l", false },
	[OP_drain] = { op_drain, true, "nodes=t reason=t", false },
	[OP_undrain] = { op_drain, true, "nodes=t", false },
	[OP_queue] = { op_queue, true, "name=t state=t", false },
	[OP_reserve] = { op_reserve, true,
	                 "name=t start=i end=i repeat=t users=l nodes=t "
	                 "count=i pool=t",
	                 false },
	[OP_unreserve] = { op_unreserve, true, "name=t", false },
	[OP_reservations] = { op_reservations, false, "", true },
	[OP_reload] = { op_reload, false, "", false },
	[OP_status] = { op_status, false, "", true },
	[OP_metrics] = { op_metrics, false, "", true },
	[OP_log] = { op_log, false, "id=t task=i stream=t follow=b skip=i",
	             false },
	[OP_jobs] = { op_list, false,
	              LISTING FILTERS
	              "nodes=l accounts=l ids=l all=b history=b since=i "
	              "until=i sort=t after=t back=b limit=i count=b "
	              "cron=i",
	              true },
	[OP_queues] = { op_list, false, LISTING "names=l", true },
	[OP_nodes] = { op_list, false, LISTING "names=l", true },
	[OP_shares] = { op_list, false, LISTING "users=l queues=l", true },
	[OP_attempts] = { op_list, false,
	                  LISTING
	                  "users=l queues=l states=l nodes=l accounts=l ids=l "
	                  "all=b since=i until=i",
	                  true },
	[OP_web] = { op_web, false, "action=t", false },
	[OP_session] = { op_session, false,
	                 "action=t k=t codes=o connections=i bad_proxies=i",
	                 true },
	[OP_excerpt] = { op_excerpt, false, "id=t task=i stream=t from=i len=i",
	                 true },
	[OP_dump] = { op_dump, false, "", false },
	[OP_config] = { op_config, false, "", false },
	[OP_shutdown] = { op_shutdown, false, "", false },
	[OP_script] = { op_script, false, "id=t", false },
	[OP_step] = { op_step, false, "id=t", false },
	[OP_alloc] = { op_alloc, false, "id=t", false },
	[OP_exec] = { op_exec, true, "id=t", false },
	[OP_forward] = { op_forward, true, "id=t port=i name=t", false },
	[OP_relay] = { op_relay, true,
	               "id=t task=i tty=b input=b term=t rows=i columns=i port=i",
	               false },
	[OP_relay_input] = { op_relay_input, false,
	                     "relay=i end=b rows=i columns=i signal=i", false },
	[OP_steps] = { op_steps, false, "ids=l", false },
	[OP_crons] = { op_crons, false, "ids=l users=l queues=l all=b", true },
	[OP_cron] = { op_cron, true, "action=t ids=l cancel=b set=o", false },
	[OP_cron_file] = { op_cron_file, false, "user=t entries=j text_len=i",
	                   false },
	[OP_accounting] = { op_accounting, false, "from=i", false },
	[OP_history] = { op_history, true, "before=i expect=i", false },
	[OP_report] = { op_report, false,
	                "by=l since=i until=i users=l accounts=l queues=l "
	                "classes=l pools=l gpu_types=l",
	                true },
	[OP_audit] = { op_audit, false,
	               "user=t act=t job=i since=i until=i limit=i", false },
};

static int check_role(const struct daemon *d, const struct request_in *in,
                      struct err *err)
{
	static const char *const names[] = { "anyone", "a user", "an operator",
		                             "an admin" };
	enum role least = op_role(in->op);

	/* OP_queue is not refused here: op_queue() checks whether the sender
	 * operates the queue that the request names. */
	if (in->from_web && !ops[in->op].web)
		return err_set(err, EPERM, "%s is not for the page",
		               op_name(in->op));
	if (in->from_web && rpc_is_open(in->op))
		return 0;
	if (access_role(d, in->peer) >= least || in->op == OP_queue)
		return 0;
	return err_set(err, EPERM, "%s needs %s; you are '%s'", op_name(in->op),
	               names[least],
	               in->peer->known ? in->peer->user : "nobody");
}

static int obey(struct daemon *d, struct ask *ask, const struct request_in *in,
                struct err *err)
{
	if (check_role(d, in, err) < 0 ||
	    fields_check(ops[in->op].fields, in->body, err) < 0)
		return -1;
	daemon_check_files(d);
	if (d->full && ops[in->op].writes) {
		*err = d->full_err;
		return -1;
	}
	return ops[in->op].fn(d, ask, in, err);
}

bool daemon_is_admin(const struct peer *peer, void *arg)
{
	return access_role(arg, peer) == ROLE_ADMIN;
}

void daemon_request(struct ask *ask, const struct request_in *in, void *arg)
{
	struct daemon *d = arg;
	struct err err;

	map_set(&d->open, (uint64_t)(uintptr_t)ask,
	        (void *)(uintptr_t)(++d->serial * OP_N + in->op));
	if (obey(d, ask, in, &err) < 0)
		daemon_refuse(d, ask, &err);
}
