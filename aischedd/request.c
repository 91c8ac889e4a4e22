/* request.c - what is asked of the daemon: check, change the state, answer */
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aischedd/daemon.h"
#include "aischedd/state/reserve.h"
#include "config.h"
#include "libcommon/hostlist.h"
#include "libcommon/jobid.h"
#include "libcommon/limits.h"
#include "libcommon/log.h"
#include "libcommon/mem.h"

enum { SLICE = 5000 }; /* jobs of one mass request in one turn */

/* --- submit ------------------------------------------------------------ */

static bool in_group(const char *group, const void *arg)
{
	const struct peer *peer = arg;

	for (size_t i = 0; i < peer->ngroups; i++)
		if (!strcmp(peer->group_name[i], group))
			return true;
	return false;
}

static struct submitter submitter_of(const struct peer *peer)
{
	return (struct submitter){ .uid = peer->uid,
		                   .gid = peer->gid,
		                   .user = peer->user,
		                   .in_group = in_group,
		                   .arg = peer };
}

/* All jobs of one submit request, checked before the first is taken. */
struct batch {
	struct arena *arena;
	size_t n;
	struct spec *spec;
	uint32_t *queue;
	const char *script, *env;
	size_t script_len, env_len;
	const char *token;
	bool test_only;
};

static int check_sizes(const struct daemon *d, const struct batch *b,
                       size_t raw_len, struct err *err)
{
	if (b->script_len + b->env_len != raw_len)
		return err_set(err, EPROTO,
		               "%zu bytes came beside the request, script and "
		               "environment are said to be %zu",
		               raw_len, b->script_len + b->env_len);
	if (!b->script_len)
		return err_set(err, EINVAL, "the script is empty");
	if (b->script_len > (size_t)d->conf->max_script_size)
		return err_set(err, EFBIG,
		               "the script has %zu bytes, at most %lld are "
		               "taken (max_script_size)",
		               b->script_len,
		               (long long)d->conf->max_script_size);
	if (b->env_len > LIMIT_ENV)
		return err_set(err, EFBIG,
		               "the environment has %zu bytes, at most %d are "
		               "taken: use --export",
		               b->env_len, LIMIT_ENV);
	if (b->env_len && b->env[b->env_len - 1] != '\0')
		return err_set(err, EPROTO, "the environment is cut");
	return 0;
}

static int batch_read(struct daemon *d, const struct request_in *in,
                      struct batch *b, struct err *err)
{
	json_int_t script_len, env_len;
	json_t *specs;
	json_error_t e;
	int test_only = 0;

	if (json_unpack_ex(in->body, &e, JSON_STRICT,
	                   "{s:s, s:s, s:o, s:I, s:I, s?b}", "op",
	                   &(const char *){ NULL }, "token", &b->token, "specs",
	                   &specs, "script_len", &script_len, "env_len",
	                   &env_len, "test_only", &test_only) < 0)
		return err_set(err, EPROTO, "submit: %s", e.text);
	if (script_len < 0 || env_len < 0 || strlen(b->token) != 32)
		return err_set(err, EPROTO, "submit: bad token or length");
	b->script_len = (size_t)script_len;
	b->env_len = (size_t)env_len;
	b->script = in->raw;
	b->env = b->script + b->script_len;
	b->test_only = test_only != 0;
	b->n = json_array_size(specs);
	if (!b->n || b->n > LIMIT_BULK)
		return err_set(err, EPROTO, "submit: 1 to %d jobs at once",
		               LIMIT_BULK);
	if (check_sizes(d, b, in->raw_len, err) < 0)
		return -1;
	b->spec = arena_array(b->arena, struct spec, b->n);
	b->queue = arena_array(b->arena, uint32_t, b->n);
	for (size_t i = 0; i < b->n; i++)
		if (spec_from_json(&b->spec[i], json_array_get(specs, i),
		                   b->arena, err) < 0)
			return -1;
	return 0;
}

static int batch_check(struct daemon *d, const struct peer *peer,
                       struct batch *b, struct err *err)
{
	struct submitter who = submitter_of(peer);
	uint64_t ahead = 0;

	if (geteuid() != 0 && peer->uid != geteuid())
		return err_set(err, EACCES,
		               "this aischedd runs as uid %u and starts only "
		               "that user's jobs",
		               (unsigned)geteuid());
	for (size_t i = 0; i < b->n; i++) {
		int q = b->spec[i].queue
		            ? conf_queue_find(d->conf, b->spec[i].queue)
		            : conf_default_queue(d->conf);

		who.operator_ = q >= 0 && access_operates(d, peer, (uint32_t)q);
		if (state_check_submit(d->state, &b->spec[i], &who, now_s(),
		                       &ahead, &b->queue[i], err) < 0)
			return b->n > 1 ? err_wrap(err, "job %zu of %zu", i + 1,
			                           b->n)
			                : -1;
	}
	return 0;
}

static json_t *ids_answer(uint64_t first, uint32_t count)
{
	json_t *ids = json_array();

	for (uint32_t i = 0; i < count; i++)
		json_array_append_new(ids,
		                      json_integer((json_int_t)(first + i)));
	return json_pack("{s:o}", "job_ids", ids);
}

static json_t *id_list(const uint64_t *id, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, json_integer((json_int_t)id[i]));
	return list;
}

static json_t *batch_test(struct daemon *d, const struct peer *peer,
                          const struct batch *b)
{
	struct submitter who = submitter_of(peer);
	json_t *tests = json_array();

	for (size_t i = 0; i < b->n; i++) {
		struct what_if t;
		struct buf text = { 0 };

		state_test_submit(d->state, &b->spec[i], &who, b->queue[i],
		                  now_s(), &t, &text);
		json_array_append_new(
		    tests,
		    json_pack("{s:b, s:s, s:s, s:o, s:s, s:o}", "starts",
		              t.starts, "reason", reason_name(t.why),
		              "reason_text", text.data ? text.data : "",
		              "expected_start",
		              t.expected == NO_TIME ? json_null()
		                                    : json_integer(t.expected),
		              "nodes", t.nodes.data ? t.nodes.data : "",
		              "evicts", id_list(t.evict, t.nevicts)));
		free(t.evict);
		buf_free(&text);
		buf_free(&t.nodes);
	}
	return json_pack("{s:o}", "tests", tests);
}

static int batch_submit(struct daemon *d, const struct peer *peer,
                        const struct batch *b, uint64_t *ret_first,
                        struct err *err)
{
	struct submitter who = submitter_of(peer);
	int64_t now = now_s();
	int64_t script = store_blob(d->store, b->script, b->script_len, err);
	int64_t env = store_blob(d->store, b->env, b->env_len, err);

	if (script < 0 || env < 0)
		return -1;
	*ret_first = state_take_ids(d->state, (uint32_t)b->n);
	for (size_t i = 0; i < b->n; i++)
		state_submit(d->state, &b->spec[i], &who, b->queue[i], script,
		             env, *ret_first + i, now);
	store_token(d->store, b->token, peer->uid, *ret_first, (uint32_t)b->n,
	            now);
	log_info("job submit job=%llu count=%zu user=%s",
	         (unsigned long long)*ret_first, b->n, peer->user);
	return 0;
}

static void op_submit(struct daemon *d, struct ask *ask,
                      const struct request_in *in)
{
	struct batch b = { .arena = arena_new() };
	json_t *answer = NULL;
	uint64_t first;
	uint32_t count;
	struct err err;

	if (batch_read(d, in, &b, &err) < 0)
		goto refuse;
	if (!b.test_only && store_token_find(d->store, b.token, in->peer->uid,
	                                     &first, &count)) {
		answer = ids_answer(first, count);
		goto out;
	}
	if (d->full) {
		err = d->full_err;
		goto refuse;
	}
	if (batch_check(d, in->peer, &b, &err) < 0)
		goto refuse;
	if (b.test_only) {
		daemon_say(d, ask, batch_test(d, in->peer, &b));
		arena_free(b.arena);
		return;
	}
	if (batch_submit(d, in->peer, &b, &first, &err) < 0)
		goto refuse;
	answer = ids_answer(first, (uint32_t)b.n);
out:
	daemon_answer(d, ask, answer);
	arena_free(b.arena);
	return;
refuse:
	daemon_refuse(d, ask, &err);
	arena_free(b.arena);
}

/* --- many jobs at once ------------------------------------------------- */

enum mass_kind { MASS_CANCEL, MASS_SIGNAL, MASS_CONTROL, MASS_UPDATE };

/* One request over many jobs, a slice of them each turn.  It goes on when
 * the peer has left: what was begun is finished. */
struct mass {
	struct mass *next;
	struct ask *ask;
	enum mass_kind kind;
	enum action action;
	int signo;
	json_t *set;  /* update */
	uint64_t *id; /* records */
	size_t n, cap, at;
	json_t *failed, *ids; /* ids: when the client wants them */
	uint64_t count;
	/* who asked */
	struct peer peer;
	char *user;
	gid_t *group;
	char **group_name;
};

static void mass_free(struct mass *m)
{
	for (size_t i = 0; i < m->peer.ngroups; i++)
		free(m->group_name[i]);
	free(m->group_name);
	free(m->group);
	free(m->user);
	free(m->id);
	json_decref(m->set);
	json_decref(m->failed);
	json_decref(m->ids);
	free(m);
}

/* The request's own peer is gone with it. */
static struct mass *mass_new(struct ask *ask, const struct request_in *in)
{
	struct mass *m = xcalloc(1, sizeof(*m));
	const struct peer *peer = in->peer;

	m->ask = ask;
	m->failed = json_array();
	m->user = xstrdup(peer->user);
	m->group = xcalloc(peer->ngroups + 1, sizeof(*m->group));
	m->group_name = xcalloc(peer->ngroups + 1, sizeof(*m->group_name));
	for (size_t i = 0; i < peer->ngroups; i++) {
		m->group[i] = peer->group[i];
		m->group_name[i] = xstrdup(peer->group_name[i]);
	}
	m->peer = *peer;
	m->peer.user = m->user;
	m->peer.group = m->group;
	m->peer.group_name = (const char *const *)m->group_name;
	return m;
}

static void mass_add(struct mass *m, const struct job *job)
{
	m->id = GROW(m->id, m->n, &m->cap);
	m->id[m->n++] = job->id;
}

static void mass_fail(struct mass *m, const char *job, const struct err *err)
{
	json_array_append_new(
	    m->failed, json_pack("{s:s, s:s}", "job", job, "text", err->text));
}

/* All records of an array, or those of some of its tasks: what is unstarted
 * and meant becomes a record of its own. */
static bool add_array(struct daemon *d, struct mass *m,
                      const struct array *array, const struct idset *tasks)
{
	bool any = false;
	struct job *next;

	for (struct job *job = array->first; job; job = next) {
		struct job *part = job;

		next = job->array_next;
		if (tasks->n && job->task != NO_TASK)
			part = idset_has(tasks, job->task) ? job : NULL;
		else if (tasks->n && access_job(d, &m->peer, job))
			part = state_split(d->state, job, tasks, now_s());
		if (part)
			mass_add(m, part);
		any = any || part;
	}
	return any;
}

static void add_id(struct daemon *d, struct mass *m, const char *text)
{
	const struct array *array;
	struct jobid id;
	struct past past;
	struct job *job;
	struct err err;
	uint32_t task;

	if (jobid_parse(&id, text, &err) < 0) {
		mass_fail(m, text, &err);
		return;
	}
	job = state_job(d->state, id.job);
	array = state_array(d->state, id.job);
	task = id.tasks.n == 1 && idset_count(&id.tasks) == 1
	           ? idset_min(&id.tasks)
	           : NO_TASK;
	if (!id.tasks.n && job && !job->array) {
		mass_add(m, job);
	} else if (array && add_array(d, m, array, &id.tasks)) {
		/* done */
	} else if (!id.tasks.n && job) {
		mass_add(m, job); /* one task, by its own number */
	} else if (store_past(id.job, task, &past, d->store) == 0 ||
	           (id.tasks.n && task == NO_TASK &&
	            store_past(id.job, NO_TASK, &past, d->store) == 0)) {
		err_set(&err, EINVAL, "job %s has ended", text);
		if (m->kind != MASS_CANCEL)
			mass_fail(m, text, &err);
	} else {
		err_set(&err, ENOENT, "there is no job %s", text);
		mass_fail(m, text, &err);
	}
	idset_free(&id.tasks);
}

static bool has_text(const json_t *list, const char *text)
{
	const json_t *item;
	size_t i;

	if (!list)
		return true;
	json_array_foreach(list, i, item) {
		if (json_is_string(item) &&
		    !strcmp(json_string_value(item), text))
			return true;
	}
	return false;
}

static bool has_state(const json_t *list, const struct job *job)
{
	const json_t *item;
	size_t i;

	if (!list)
		return true;
	json_array_foreach(list, i, item) {
		if (json_is_string(item) &&
		    job_state_parse(json_string_value(item)) == job->state)
			return true;
	}
	return false;
}

static bool matches(const struct daemon *d, const struct job *job, json_t *body)
{
	struct spec spec;

	spec_unpack(&spec, job->packed);
	return has_text(json_object_get(body, "queues"),
	                d->conf->queues[job->queue].name) &&
	       has_text(json_object_get(body, "users"),
	                state_user(d->state, job->user)->name) &&
	       has_text(json_object_get(body, "names"), spec.name) &&
	       has_state(json_object_get(body, "states"), job);
}

/* Without a filter on users: mine; an admin's --all is everybody's. */
static void add_matching(struct daemon *d, struct mass *m, json_t *body)
{
	bool mine = !json_object_get(body, "users") &&
	            !(json_is_true(json_object_get(body, "all")) &&
	              access_role(d, &m->peer) == ROLE_ADMIN);

	for (struct job *job = state_first_job(d->state); job;
	     job = job->all_next)
		if ((!mine || job->uid == m->peer.uid) &&
		    !job_state_is_final((enum job_state)job->state) &&
		    access_job(d, &m->peer, job) && matches(d, job, body))
			mass_add(m, job);
}

static const char *job_text(const struct job *job, char *text, size_t size)
{
	struct buf id = { 0 };

	job_display_id(job, 0, &id);
	snprintf(text, size, "%s", id.data);
	buf_free(&id);
	return text;
}

static int update_one(struct daemon *d, const struct mass *m, struct job *job,
                      struct err *err)
{
	struct submitter who = submitter_of(&m->peer);
	size_t n = 0, most = json_object_size(m->set);
	struct assignment *set = xcalloc(most ? most : 1, sizeof(*set));
	const char *field;
	json_t *value;
	int result;

	who.operator_ = access_operates(d, &m->peer, job->queue);
	json_object_foreach(m->set, field, value)
		set[n++] =
		    (struct assignment){ field, json_string_value(value) };
	result = state_update(d->state, job, &who, set, n, now_s(), err);
	free(set);
	return result;
}

static int control_one(struct daemon *d, const struct mass *m, struct job *job,
                       struct err *err)
{
	static const enum event_kind kinds[ACTION_N] = {
		[ACTION_hold] = EV_hold,       [ACTION_release] = EV_release,
		[ACTION_suspend] = EV_suspend, [ACTION_resume] = EV_resume,
		[ACTION_requeue] = EV_requeue, [ACTION_preempt] = EV_preempt,
	};
	bool operates = access_operates(d, &m->peer, job->queue);
	struct event_in ev = { .kind = kinds[m->action],
		               .now = now_s(),
		               .by_operator = operates };

	if (action_role(m->action) >= ROLE_OPERATOR && !operates)
		return err_set(err, EPERM,
		               "%s takes an operator of queue '%s'; you are "
		               "'%s'",
		               action_name(m->action),
		               d->conf->queues[job->queue].name, m->peer.user);
	if (m->action == ACTION_top)
		return state_top(d->state, job, err);
	/* Holding one's own job is a user's hold, whoever one is. */
	if (m->action == ACTION_hold && job->uid == m->peer.uid &&
	    m->peer.uid != 0)
		ev.by_operator = false;
	return state_event(d->state, job, &ev, err);
}

static int mass_one(struct daemon *d, const struct mass *m, struct job *job,
                    struct err *err)
{
	struct event_in ev = { .now = now_s(), .signo = m->signo };

	if (!access_job(d, &m->peer, job))
		return err_set(err, EPERM,
		               "job %llu is %s's: you are '%s' and no operator "
		               "of queue '%s'",
		               (unsigned long long)job->id,
		               state_user(d->state, job->user)->name,
		               m->peer.user, d->conf->queues[job->queue].name);
	switch (m->kind) {
	case MASS_CANCEL:
		ev.kind = EV_cancel;
		return state_event(d->state, job, &ev, err);
	case MASS_SIGNAL:
		ev.kind = EV_signal;
		return state_event(d->state, job, &ev, err);
	case MASS_CONTROL:
		return control_one(d, m, job, err);
	case MASS_UPDATE:
		return update_one(d, m, job, err);
	}
	return 0;
}

/* A slice; whether it is done. */
static bool mass_slice(struct daemon *d, struct mass *m)
{
	size_t until = m->n - m->at < SLICE ? m->n : m->at + SLICE;

	for (; m->at < until; m->at++) {
		struct job *job = state_job(d->state, m->id[m->at]);
		char text[64];
		struct err err;

		if (!job)
			continue; /* ended since */
		job_text(job, text, sizeof(text));
		if (m->ids)
			json_array_append_new(m->ids, json_string(text));
		if (mass_one(d, m, job, &err) < 0)
			mass_fail(m, text, &err);
		else
			m->count++;
	}
	return m->at == m->n;
}

static void mass_answer(struct daemon *d, struct mass *m)
{
	json_t *body;

	if (!daemon_is_open(d, m->ask))
		return;
	body = json_pack("{s:I, s:O}", "count", (json_int_t)m->count, "failed",
	                 m->failed);
	if (m->ids)
		json_object_set(body, "ids", m->ids);
	daemon_answer(d, m->ask, body);
}

void daemon_slice_masses(struct daemon *d)
{
	struct mass **at = &d->mass;

	while (*at) {
		struct mass *m = *at;

		if (!mass_slice(d, m)) {
			daemon_go_on(d);
			at = &m->next;
			continue;
		}
		mass_answer(d, m);
		*at = m->next;
		mass_free(m);
	}
}

void daemon_free_masses(struct daemon *d)
{
	for (struct mass *m = d->mass, *next; m; m = next) {
		next = m->next;
		mass_free(m);
	}
	d->mass = NULL;
}

/* Sliced in the think step of this turn, for the first time. */
static void mass_begin(struct daemon *d, struct mass *m)
{
	m->next = d->mass;
	d->mass = m;
}

static int mass_ids(struct daemon *d, struct mass *m, json_t *ids,
                    struct err *err)
{
	const json_t *id;
	size_t i;

	if (!json_is_array(ids) || json_array_size(ids) > LIMIT_IDS)
		return err_set(err, EPROTO, "ids: at most %d texts", LIMIT_IDS);
	json_array_foreach(ids, i, id) {
		if (!json_is_string(id))
			return err_set(err, EPROTO, "ids: texts are expected");
		add_id(d, m, json_string_value(id));
	}
	return 0;
}

static void op_cancel(struct daemon *d, struct ask *ask,
                      const struct request_in *in)
{
	json_t *ids = json_object_get(in->body, "ids");
	struct mass *m = mass_new(ask, in);
	struct err err;

	m->signo = (int)json_integer_value(json_object_get(in->body, "signal"));
	m->kind = m->signo ? MASS_SIGNAL : MASS_CANCEL;
	if (m->signo < 0 || m->signo > 64) {
		err_set(&err, EINVAL, "there is no signal %d", m->signo);
		goto refuse;
	}
	if (json_is_true(json_object_get(in->body, "list")))
		m->ids = json_array();
	if (!ids)
		add_matching(d, m, in->body);
	else if (mass_ids(d, m, ids, &err) < 0)
		goto refuse;
	mass_begin(d, m);
	return;
refuse:
	mass_free(m);
	daemon_refuse(d, ask, &err);
}

static void op_control(struct daemon *d, struct ask *ask,
                       const struct request_in *in)
{
	struct mass *m = mass_new(ask, in);
	const char *name;
	json_t *ids;
	json_error_t e;
	struct err err;
	int action;

	m->kind = MASS_CONTROL;
	if (json_unpack_ex(in->body, &e, JSON_STRICT, "{s:s, s:s, s:o}", "op",
	                   &(const char *){ NULL }, "action", &name, "ids",
	                   &ids) < 0) {
		err_set(&err, EPROTO, "control: %s", e.text);
		goto refuse;
	}
	action = action_parse(name);
	if (action < 0) {
		err_set(&err, EPROTO, "there is no action '%s'", name);
		goto refuse;
	}
	m->action = (enum action)action;
	if (mass_ids(d, m, ids, &err) < 0)
		goto refuse;
	mass_begin(d, m);
	return;
refuse:
	mass_free(m);
	daemon_refuse(d, ask, &err);
}

static bool is_texts(json_t *set)
{
	const char *field;
	json_t *value;

	json_object_foreach(set, field, value)
		if (!json_is_string(value))
			return false;
	return json_is_object(set);
}

static void op_update(struct daemon *d, struct ask *ask,
                      const struct request_in *in)
{
	struct mass *m = mass_new(ask, in);
	json_t *ids, *set;
	json_error_t e;
	struct err err;

	m->kind = MASS_UPDATE;
	if (json_unpack_ex(in->body, &e, JSON_STRICT, "{s:s, s:o, s:o}", "op",
	                   &(const char *){ NULL }, "ids", &ids, "set",
	                   &set) < 0 ||
	    !is_texts(set)) {
		err_set(&err, EPROTO,
		        "update: ids and a set of texts are expected");
		goto refuse;
	}
	m->set = json_incref(set);
	if (mass_ids(d, m, ids, &err) < 0)
		goto refuse;
	mass_begin(d, m);
	return;
refuse:
	mass_free(m);
	daemon_refuse(d, ask, &err);
}

/* --- nodes, queues ------------------------------------------------------ */

static void op_drain(struct daemon *d, struct ask *ask,
                     const struct request_in *in)
{
	const char *nodes =
	    json_string_value(json_object_get(in->body, "nodes"));
	const char *reason =
	    json_string_value(json_object_get(in->body, "reason"));
	struct hostlist list = { 0 };
	struct err err;

	if (!nodes) {
		err_set(&err, EPROTO, "drain: nodes are expected");
		goto refuse;
	}
	if (hostlist_parse(&list, nodes, &err) < 0)
		goto refuse;
	for (size_t i = 0; i < list.n; i++)
		if (state_node_find(d->state, list.name[i]) < 0) {
			err_set(&err, ENOENT, "there is no node '%s'",
			        list.name[i]);
			goto refuse;
		}
	for (size_t i = 0; i < list.n; i++)
		if (state_drain(
			d->state,
			(uint32_t)state_node_find(d->state, list.name[i]),
			in->op == OP_drain, reason, &err) < 0)
			goto refuse;
	log_notice("node %s nodes=%s user=%s", op_name(in->op), nodes,
	           in->peer->user);
	daemon_answer(d, ask, json_pack("{s:I}", "count", (json_int_t)list.n));
	hostlist_free(&list);
	return;
refuse:
	hostlist_free(&list);
	daemon_refuse(d, ask, &err);
}

static void op_queue(struct daemon *d, struct ask *ask,
                     const struct request_in *in)
{
	const char *name, *to;
	json_error_t e;
	struct err err;
	int queue;

	if (json_unpack_ex(in->body, &e, JSON_STRICT, "{s:s, s:s, s:s}", "op",
	                   &(const char *){ NULL }, "name", &name, "state",
	                   &to) < 0) {
		err_set(&err, EPROTO, "queue: %s", e.text);
		goto refuse;
	}
	queue = conf_queue_find(d->conf, name);
	if (queue < 0) {
		err_set(&err, ENOENT, "there is no queue '%s'", name);
		goto refuse;
	}
	if (!access_operates(d, in->peer, (uint32_t)queue)) {
		err_set(&err, EPERM,
		        "that takes an operator of queue '%s'; you are '%s'",
		        name, in->peer->user);
		goto refuse;
	}
	if (strcmp(to, "open") && strcmp(to, "closed")) {
		err_set(&err, EINVAL, "a queue is open or closed, not '%s'",
		        to);
		goto refuse;
	}
	state_queue_set_open(d->state, (uint32_t)queue, !strcmp(to, "open"),
	                     now_s());
	log_notice("queue %s queue=%s user=%s", to, name, in->peer->user);
	daemon_answer(d, ask, json_object());
	return;
refuse:
	daemon_refuse(d, ask, &err);
}

/* --- reservations ------------------------------------------------------ */

/* [name, ..] -> "name,.."; each is a user, or "@" and a group. */
static int user_list(const json_t *users, struct buf *ret, struct err *err)
{
	const json_t *item;
	size_t i;

	if (users && !json_is_array(users))
		return err_set(err, EPROTO, "users: texts are expected");
	json_array_foreach(users, i, item) {
		const char *name = json_string_value(item);

		if (!name || !*name || strchr(name, ','))
			return err_set(err, EINVAL, "'%s' is no name of a user",
			               name ? name : "");
		if (*name == '@' ? !getgrnam(name + 1) : !getpwnam(name))
			return err_set(err, ENOENT, "there is no %s '%s'",
			               *name == '@' ? "group" : "user",
			               name + (*name == '@'));
		buf_printf(ret, "%s%s", i ? "," : "", name);
	}
	return 0;
}

static int reserve(struct daemon *d, const struct request_in *in,
                   struct buf *users, struct err *err)
{
	const char *repeat = "never";
	struct reserve_ask ask = { 0 };
	json_int_t start, end, count = 0;
	json_t *names = NULL;
	json_error_t e;

	if (json_unpack_ex(in->body, &e, JSON_STRICT,
	                   "{s:s, s:s, s:I, s:I, s?s, s?o, s?s, s?I, s?s}",
	                   "op", &(const char *){ NULL }, "name", &ask.name,
	                   "start", &start, "end", &end, "repeat", &repeat,
	                   "users", &names, "nodes", &ask.nodes, "count",
	                   &count, "pool", &ask.pool) < 0)
		return err_set(err, EPROTO, "reserve: %s", e.text);
	if (repeat_parse(repeat) < 0)
		return err_set(err, EINVAL, "nothing repeats '%s'", repeat);
	if (!ask.nodes && (count < 1 || count > LIMIT_NODES))
		return err_set(err, EINVAL,
		               "nodes, or a count of 1 to %d, are expected",
		               LIMIT_NODES);
	if (user_list(names, users, err) < 0)
		return -1;
	ask.repeat = (enum repeat)repeat_parse(repeat);
	ask.start = start;
	ask.end = end;
	ask.count = (uint32_t)count;
	ask.users = users->data ? users->data : "";
	if (state_reserve(d->state, &ask, now_s(), err) < 0)
		return -1;
	log_notice("reservation create reservation=%s user=%s", ask.name,
	           in->peer->user);
	return 0;
}

static void op_reserve(struct daemon *d, struct ask *ask,
                       const struct request_in *in)
{
	struct buf users = { 0 }, nodes = { 0 };
	struct err err;

	if (reserve(d, in, &users, &err) < 0) {
		daemon_refuse(d, ask, &err);
	} else {
		size_t last = state_nreservations(d->state) - 1;

		state_reservation_nodes(
		    d->state, state_reservation(d->state, last), &nodes);
		daemon_answer(d, ask, json_pack("{s:s}", "nodes", nodes.data));
	}
	buf_free(&users);
	buf_free(&nodes);
}

static void op_unreserve(struct daemon *d, struct ask *ask,
                         const struct request_in *in)
{
	const char *name = json_string_value(json_object_get(in->body, "name"));
	struct err err;

	if (!name)
		err_set(&err, EPROTO, "unreserve: a name is expected");
	if (!name || state_unreserve(d->state, name, now_s(), &err) < 0) {
		daemon_refuse(d, ask, &err);
		return;
	}
	log_notice("reservation delete reservation=%s user=%s", name,
	           in->peer->user);
	daemon_answer(d, ask, json_object());
}

static json_t *show_users(const char *users)
{
	json_t *list = json_array();

	for (const char *s = users; *s;) {
		size_t len = strcspn(s, ",");

		json_array_append_new(list, json_stringn(s, len));
		s += len + (s[len] == ',');
	}
	return list;
}

static json_t *show_reservation(const struct state *state,
                                const struct reservation *r)
{
	struct buf nodes = { 0 };
	int64_t now = now_s();
	json_t *shown;

	state_reservation_nodes(state, r, &nodes);
	shown = json_pack("{s:s, s:I, s:I, s:b, s:s, s:o, s:s}", "name",
	                  r->name, "start_time", (json_int_t)r->start,
	                  "end_time", (json_int_t)r->end, "active",
	                  r->start <= now && now < r->end, "repeat",
	                  repeat_name(r->repeat), "users", show_users(r->users),
	                  "nodes", nodes.data);
	buf_free(&nodes);
	return shown;
}

static void op_reservations(struct daemon *d, struct ask *ask)
{
	json_t *list = json_array();

	for (size_t i = 0; i < state_nreservations(d->state); i++)
		json_array_append_new(
		    list,
		    show_reservation(d->state, state_reservation(d->state, i)));
	daemon_say(d, ask, json_pack("{s:o}", "reservations", list));
}

/* --- the daemon itself ------------------------------------------------- */

static json_t *lines(const struct buf *text)
{
	json_t *list = json_array();

	for (const char *s = text->data; s && *s;) {
		size_t len = strcspn(s, "\n");

		if (len)
			json_array_append_new(list, json_stringn(s, len));
		s += len + (s[len] == '\n');
	}
	return list;
}

static void op_reload(struct daemon *d, struct ask *ask)
{
	struct buf warnings = { 0 };
	struct err err;

	if (daemon_reload(d, &warnings, &err) < 0)
		daemon_refuse(d, ask, &err);
	else
		daemon_answer(d, ask,
		              json_pack("{s:o}", "warnings", lines(&warnings)));
	buf_free(&warnings);
}

static void op_ping(struct daemon *d, struct ask *ask)
{
	bool synced = true;

	for (uint32_t i = 0; i < d->conf->npools; i++)
		if (d->conf->pools[i].runner == RUNNER_LOCAL)
			synced = synced && state_pool_is_ready(d->state, i);
	daemon_say(d, ask,
	           json_pack("{s:s, s:s, s:i, s:I, s:b}", "version",
	                     PACKAGE_VERSION, "cluster", d->conf->cluster,
	                     "pid", (int)getpid(), "uptime",
	                     (json_int_t)(now_s() - d->started), "synced",
	                     synced));
}

static int check_role(const struct daemon *d, const struct request_in *in,
                      struct err *err)
{
	static const char *const names[] = { "anyone", "a user", "an operator",
		                             "an admin" };
	enum role least = op_role(in->op);

	/* Operators of a queue are told apart by the request itself. */
	if (access_role(d, in->peer) >= least || in->op == OP_queue)
		return 0;
	return err_set(err, EPERM, "%s takes %s; you are '%s'", op_name(in->op),
	               names[least],
	               in->peer->known ? in->peer->user : "nobody");
}

void daemon_request(struct ask *ask, const struct request_in *in, void *arg)
{
	struct daemon *d = arg;
	struct err err;

	map_set(&d->open, (uint64_t)(uintptr_t)ask, ask);
	if (check_role(d, in, &err) < 0) {
		daemon_refuse(d, ask, &err);
		return;
	}
	if (d->full && (in->op == OP_control || in->op == OP_update ||
	                in->op == OP_cancel || in->op == OP_drain ||
	                in->op == OP_undrain || in->op == OP_queue ||
	                in->op == OP_reserve || in->op == OP_unreserve)) {
		daemon_refuse(d, ask, &d->full_err);
		return;
	}
	switch (in->op) {
	case OP_ping:
		op_ping(d, ask);
		break;
	case OP_submit:
		op_submit(d, ask, in);
		break;
	case OP_cancel:
		op_cancel(d, ask, in);
		break;
	case OP_control:
		op_control(d, ask, in);
		break;
	case OP_update:
		op_update(d, ask, in);
		break;
	case OP_wait:
		daemon_wait(d, ask, in->body);
		break;
	case OP_drain:
	case OP_undrain:
		op_drain(d, ask, in);
		break;
	case OP_queue:
		op_queue(d, ask, in);
		break;
	case OP_reserve:
		op_reserve(d, ask, in);
		break;
	case OP_unreserve:
		op_unreserve(d, ask, in);
		break;
	case OP_reservations:
		op_reservations(d, ask);
		break;
	case OP_reload:
		op_reload(d, ask);
		break;
	case OP_status:
		daemon_say(d, ask, daemon_status(d));
		break;
	case OP_log:
		daemon_log(d, ask, in);
		break;
	case OP_jobs:
	case OP_queues:
	case OP_nodes:
	case OP_shares:
		daemon_list(d, ask, in);
		break;
	case OP_dump:
		daemon_dump(d, ask);
		break;
	case OP_shutdown:
		log_notice("daemon shutdown user=%s", in->peer->user);
		daemon_answer(d, ask, json_object());
		d->quit = true;
		break;
	case OP_N:
		break;
	}
}
