/* node.c - drain and resume nodes, close and open queues */
#include <string.h>

#include "aischedd/op/access.h"
#include "aischedd/op/audit.h"
#include "aischedd/op/op.h"
#include "aischedd/state/cluster/node.h"
#include "aischedd/state/cluster/queue.h"
#include "libcommon/clock.h"
#include "libcommon/hostlist.h"
#include "libcommon/log.h"

/* Check all nodes before the first one is changed. Fails with ENOENT unless
 * each is known or may still be reported by a runner. */
static int find_nodes(struct daemon *d, const struct hostlist *list,
                      struct err *err)
{
	for (size_t i = 0; i < list->n; i++)
		if (state_node_expect(d->state, list->name[i]) < 0)
			return err_set(err, ENOENT, "there is no node '%s'",
			               list->name[i]);
	return 0;
}

static int drain(struct daemon *d, const struct hostlist *list, bool drained,
                 const char *reason, struct err *err)
{
	for (size_t i = 0; i < list->n; i++)
		for (int node = state_node_find(d->state, list->name[i]);
		     node >= 0;
		     node = state_node_next(d->state, list->name[i], node))
			if (state_drain(d->state, (uint32_t)node, drained,
			                reason, err) < 0)
				return -1;
	return 0;
}

int op_drain(struct daemon *d, struct ask *ask, const struct request_in *in,
             struct err *err)
{
	const char *nodes =
	    json_string_value(json_object_get(in->body, "nodes"));
	const char *reason =
	    json_string_value(json_object_get(in->body, "reason"));
	struct hostlist list = { 0 };
	int result = -1;

	if (!nodes)
		return err_set(err, EPROTO, "drain: nodes are expected");
	if (hostlist_parse(&list, nodes, err) == 0 &&
	    find_nodes(d, &list, err) == 0 &&
	    drain(d, &list, in->op == OP_drain, reason, err) == 0) {
		audit_act(d, in->peer, op_name(in->op), "node", nodes, reason);
		log_notice("node %s nodes=%s user=%s", op_name(in->op), nodes,
		           in->peer->user);
		daemon_answer(d, ask,
		              json_pack("{s:I}", "count", (json_int_t)list.n));
		result = 0;
	}
	hostlist_free(&list);
	return result;
}

int op_queue(struct daemon *d, struct ask *ask, const struct request_in *in,
             struct err *err)
{
	const char *name, *to;
	json_error_t e;
	int queue;

	if (json_unpack_ex(in->body, &e, JSON_STRICT, "{s:s, s:s, s:s}", "op",
	                   &(const char *){ NULL }, "name", &name, "state",
	                   &to) < 0)
		return err_set(err, EPROTO, "queue: %s", e.text);
	queue = conf_queue_find(d->conf, name);
	if (queue < 0)
		return err_set(err, ENOENT, "there is no queue '%s'", name);
	if (!access_operates(d, in->peer, (uint32_t)queue))
		return err_set(err, EPERM,
		               "opening or closing queue '%s' needs an "
		               "operator of it; you are '%s'",
		               name, in->peer->user);
	if (strcmp(to, "open") && strcmp(to, "closed"))
		return err_set(err, EINVAL,
		               "bad state '%s' of a queue: use open or closed",
		               to);
	state_queue_set_open(d->state, (uint32_t)queue, !strcmp(to, "open"),
	                     clock_wall_s());
	audit_act(d, in->peer, to, "queue", name, NULL);
	log_notice("queue %s queue=%s user=%s", to, name, in->peer->user);
	daemon_answer(d, ask, json_object());
	return 0;
}
