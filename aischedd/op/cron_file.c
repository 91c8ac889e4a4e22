/* cron_file.c - recurring work that a user keeps in a file */
#include "aischedd/op/cron_file.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/op/access.h"
#include "aischedd/op/audit.h"
#include "aischedd/op/cron.h"
#include "aischedd/op/cron_run.h"
#include "aischedd/op/submit.h"
#include "aischedd/rpc/ident.h"
#include "aischedd/store/blob.h"
#include "aischedd/thread.h"
#include "libcommon/clock.h"
#include "libcommon/limits.h"
#include "libcommon/log.h"
#include "libcommon/map.h"
#include "libcommon/mem.h"
#include "libcommon/steps.h"

/* An entry of the file. error: why it is refused, or NULL. same: the user's
 * existing entry that equals it, or NULL. */
struct file_entry {
	json_int_t line;
	const char *error;
	struct spec spec;
	struct cron_rule rule;
	const char *script, *env;
	size_t script_len, env_len;
	int64_t script_id, env_id;
	char *packed;
	struct file_entry *next; /* next entry of the file with the same hash */
	struct cron_entry *same;
};

/* One import of a file of cron entries: either all its entries are taken,
 * or none. */
struct import {
	struct daemon *d;
	const struct peer *owner;
	struct arena *arena;
	const char *text; /* the text of the file */
	size_t text_len;
	struct file_entry *entry;
	size_t n;
	/* by_hash: the file's entries; kept: existing entries that are also in
	 * the file, by id */
	struct map by_hash, kept;
	json_t *errors; /* [{line, text}] */
	uint64_t made, nkept, gone;
};

static void import_fini(struct import *m)
{
	for (size_t i = 0; i < m->n; i++)
		free(m->entry[i].packed);
	free(m->entry);
	map_free(&m->by_hash);
	map_free(&m->kept);
	json_decref(m->errors);
	arena_free(m->arena);
}

/* --- reading the request ------------------------------------------------ */

static int read_entry(struct import *m, struct file_entry *e, json_t *json,
                      const char **raw, size_t *left, struct err *err)
{
	json_int_t script_len, env_len;
	json_t *spec, *cron;
	json_error_t why;
	const char *text;

	/* The tool could not read this line: it is only to be told with those
	 * that the daemon refuses. */
	if (!json_unpack(json, "{s:I, s:s !}", "line", &e->line, "error",
	                 &text)) {
		e->error = text;
		return 0;
	}
	if (json_unpack_ex(json, &why, JSON_STRICT, "{s:I, s:o, s:o, s:I, s:I}",
	                   "line", &e->line, "spec", &spec, "cron", &cron,
	                   "script_len", &script_len, "env_len", &env_len) < 0)
		return err_set(err, EPROTO, "cron_file: %s", why.text);
	if (script_len < 1 || env_len < 0 || (size_t)script_len > *left ||
	    (size_t)env_len > *left - (size_t)script_len)
		return err_set(err, EPROTO, "cron_file: bad lengths");
	e->script = *raw;
	e->script_len = (size_t)script_len;
	e->env = *raw + script_len;
	e->env_len = (size_t)env_len;
	*raw += script_len + env_len;
	*left -= (size_t)(script_len + env_len);
	if (!json_is_object(cron))
		return err_set(err, EPROTO,
		               "cron_file: cron must be an object");
	cron_rule_init(&e->rule);
	if (spec_from_json(&e->spec, spec, m->arena, err) < 0 ||
	    cron_read_rule(&e->rule, cron, err) < 0)
		e->error = arena_strdup(m->arena, err->text);
	return 0;
}

static int read_import(struct import *m, const struct request_in *in,
                       struct err *err)
{
	json_t *entries = json_object_get(in->body, "entries"), *one;
	json_int_t text_len =
	    json_integer_value(json_object_get(in->body, "text_len"));
	const char *raw = in->raw;
	size_t left = in->raw_len, i;

	if (text_len < 0 || (size_t)text_len > left)
		return err_set(err, EPROTO, "cron_file: bad text_len");
	if (json_array_size(entries) > LIMIT_IDS)
		return err_set(err, E2BIG, "more than %d entries", LIMIT_IDS);
	m->text = raw;
	m->text_len = (size_t)text_len;
	raw += text_len;
	left -= (size_t)text_len;
	m->n = json_array_size(entries);
	m->entry = xcalloc(m->n + 1, sizeof(*m->entry));
	json_array_foreach(entries, i, one)
		if (read_entry(m, &m->entry[i], one, &raw, &left, err) < 0)
			return -1;
	return left
	           ? err_set(err, EPROTO, "cron_file: %zu bytes too much", left)
	           : 0;
}

/* --- checking entries --------------------------------------------------- */

static int check_entry(struct import *m, struct file_entry *e, struct err *err)
{
	uint64_t ahead = 0;
	uint32_t queue;

	if (e->spec.kube_uid || e->spec.kube_marks ||
	    e->spec.kube_pod != SPEC_UNSET || e->spec.kube_pods != SPEC_UNSET ||
	    e->spec.cron_id != SPEC_UNSET)
		return err_set(err, EPERM, "not a request of a user");
	if (e->script_len > (size_t)m->d->conf->max_script_size)
		return err_set(err, EFBIG,
		               "the script is too long "
		               "(max_script_size)");
	if (e->env_len > LIMIT_ENV ||
	    (e->env_len && e->env[e->env_len - 1] != '\0'))
		return err_set(err, EFBIG, "bad environment");
	if (cron_check_spec(&e->spec, err) < 0 ||
	    state_cron_check(m->d->state, &e->rule, m->owner->uid, 0,
	                     clock_wall_s(), err) < 0)
		return -1;
	return submit_check_one(m->d, m->owner, &e->spec, &ahead, &queue, err);
}

/* Collect all errors, in the order of the file. */
static void check_entries(struct import *m)
{
	struct err err;

	for (size_t i = 0; i < m->n; i++) {
		struct file_entry *e = &m->entry[i];
		const char *error = e->error;

		if (!error && check_entry(m, e, &err) < 0)
			error = err.text;
		if (error)
			json_array_append_new(
			    m->errors, json_pack("{s:I, s:s}", "line", e->line,
			                         "text", error));
	}
}

static int take_blobs(struct import *m, struct err *err)
{
	for (size_t i = 0; i < m->n; i++) {
		struct file_entry *e = &m->entry[i];

		e->script_id =
		    store_blob(m->d->store, e->script, e->script_len, err);
		e->env_id = store_blob(m->d->store, e->env, e->env_len, err);
		if (e->script_id < 0 || e->env_id < 0)
			return -1;
	}
	return 0;
}

/* Whether the existing entry was imported from the file of this user. */
static bool is_of_file(const struct import *m, const struct cron_entry *e)
{
	return e->imported && e->uid == m->owner->uid;
}

/* Check that the user may own as many entries as there will be after the
 * import. This comes before the file's entries are checked one by one. */
static int check_count(const struct import *m, struct err *err)
{
	const struct cron_entry *e = state_first_cron(m->d->state);
	size_t gone = 0, n = 0;

	for (; e; e = e->next)
		gone += is_of_file(m, e);
	for (size_t i = 0; i < m->n; i++)
		n += !m->entry[i].error;
	if (n <= gone)
		return 0;
	return state_cron_check_count(m->d->state, m->owner->uid,
	                              (uint32_t)(n - gone), err);
}

/* --- comparing with existing entries ------------------------------------ */

static bool is_same(const struct cron_entry *a, const struct file_entry *b)
{
	size_t size = spec_packed_size(b->packed);

	steps_add(1);
	return size == spec_packed_size(a->packed) &&
	       !memcmp(b->packed, a->packed, size) &&
	       !strcmp(a->rule.schedule, b->rule.schedule) &&
	       !strcmp(a->rule.zone, b->rule.zone) &&
	       a->rule.policy == b->rule.policy &&
	       a->rule.make_up == b->rule.make_up &&
	       a->rule.late_s == b->rule.late_s &&
	       a->rule.jitter_s == b->rule.jitter_s &&
	       a->rule.until == b->rule.until && a->script == b->script_id &&
	       a->env == b->env_id;
}

static uint64_t hash_of(const char *packed, const struct cron_rule *rule)
{
	const int64_t numbers[] = { rule->late_s, rule->jitter_s, rule->until };
	uint64_t hash = hash_bytes(0, packed, spec_packed_size(packed));

	hash = hash_bytes(hash, rule->schedule, strlen(rule->schedule));
	return hash_bytes(hash, numbers, sizeof(numbers));
}

/* Enter the file's entries into by_hash, the last entry first: a search then
 * finds the first one of several equal entries. */
static void hash_entries(struct import *m)
{
	for (size_t i = m->n; i-- > 0;) {
		struct file_entry *e = &m->entry[i];
		void **at;

		e->packed = spec_pack(&e->spec);
		at = map_at(&m->by_hash, hash_of(e->packed, &e->rule));
		e->next = *at;
		*at = e;
	}
}

/* Remove from the map the entry of the file that equals the existing entry e,
 * and return it; NULL if there is none. As it is removed, it matches no other
 * existing entry. */
static struct file_entry *take_same(struct import *m, struct cron_entry *e)
{
	uint64_t hash = hash_of(e->packed, &e->rule);
	struct file_entry *first = map_del(&m->by_hash, hash), **at = &first;
	struct file_entry *same;

	while (*at && !is_same(e, *at))
		at = &(*at)->next;
	same = *at;
	if (same)
		*at = same->next;
	if (first)
		map_set(&m->by_hash, hash, first);
	return same;
}

/* Match the user's existing imported entries with those of the file. Returns
 * how many entries of the file are new. */
static size_t match(struct import *m)
{
	size_t n = m->n;

	hash_entries(m);
	for (struct cron_entry *e = state_first_cron(m->d->state); e;
	     e = e->next) {
		struct file_entry *same = NULL;

		steps_add(1);
		if (is_of_file(m, e))
			same = take_same(m, e);
		if (!same)
			continue;
		same->same = e;
		map_set(&m->kept, e->id, same);
		n--;
	}
	return n;
}

/* Delete the user's imported entries that are no longer in the file. */
static void drop(struct import *m)
{
	struct cron_entry *next;

	for (struct cron_entry *e = state_first_cron(m->d->state); e;
	     e = next) {
		next = e->next;
		steps_add(1);
		if (!is_of_file(m, e) || map_find(&m->kept, e->id))
			continue;
		m->gone++;
		state_cron_remove(m->d->state, e);
	}
}

static void make(struct import *m)
{
	for (size_t i = 0; i < m->n; i++) {
		struct file_entry *e = &m->entry[i];
		struct spec spec = e->spec;
		const struct cron_ask ask = { .uid = m->owner->uid,
			                      .gid = m->owner->gid,
			                      .user = m->owner->user,
			                      .spec = &spec,
			                      .script = e->script_id,
			                      .env = e->env_id,
			                      .rule = &e->rule,
			                      .imported = true };

		if (e->same)
			continue;
		state_cron_add(m->d->state, &ask,
		               state_take_ids(m->d->state, 1), clock_wall_s());
		m->made++;
	}
}

/* Store the new file in place of the user's previous one, and add, keep and
 * delete entries accordingly. */
static int replace(struct import *m, struct err *err)
{
	int64_t text = 0;

	if (take_blobs(m, err) < 0)
		return -1;
	if (m->text_len) {
		text = store_blob(m->d->store, m->text, m->text_len, err);
		if (text < 0)
			return -1;
	}
	m->nkept = m->n - match(m);
	drop(m);
	make(m);
	state_cron_set_file(m->d->state, m->owner->uid, text);
	return 0;
}

/* --- the request -------------------------------------------------------- */

static int give_file(struct daemon *d, struct ask *ask,
                     const struct peer *owner, struct err *err)
{
	int64_t id = state_cron_file(d->state, owner->uid);
	struct buf text = { 0 };
	int rc = id ? store_blob_get(d->store, id, &text, err) : 0;

	if (rc == 0) {
		if (text.len)
			rpc_part(ask, text.data, text.len);
		daemon_say(d, ask, json_pack("{s:b}", "there", id != 0));
	}
	buf_free(&text);
	return rc;
}

static int import(struct import *m, const struct request_in *in,
                  struct err *err)
{
	if (m->d->full) {
		*err = m->d->full_err;
		return -1;
	}
	if (read_import(m, in, err) < 0 || check_count(m, err) < 0)
		return -1;
	check_entries(m);
	if (json_array_size(m->errors))
		return 0;
	if (replace(m, err) < 0)
		return -1;
	audit_act(m->d, in->peer, "cron-import", "cron file of", m->owner->user,
	          NULL);
	log_notice("cron import user=%s by=%s made=%llu kept=%llu gone=%llu",
	           m->owner->user, in->peer->user, (unsigned long long)m->made,
	           (unsigned long long)m->nkept, (unsigned long long)m->gone);
	return 0;
}

static int serve(struct daemon *d, struct ask *ask, const struct request_in *in,
                 const struct peer *owner, struct err *err)
{
	struct import m = { .d = d, .owner = owner };
	int rc;

	if (!json_object_get(in->body, "entries"))
		return give_file(d, ask, owner, err);
	m.arena = arena_new();
	m.errors = json_array();
	rc = import(&m, in, err);
	if (rc == 0)
		daemon_answer(d, ask,
		              json_pack("{s:O, s:I, s:I, s:I}", "errors",
		                        m.errors, "made", (json_int_t)m.made,
		                        "kept", (json_int_t)m.nkept, "gone",
		                        (json_int_t)m.gone));
	import_fini(&m);
	return rc;
}

/* --- files of other users ----------------------------------------------- */

/* A request that acts on another user's file, while a thread looks that
 * user up. */
struct file_ask {
	struct thread_task task;
	struct file_ask *next;
	struct daemon *d;
	struct kept_ask ask;
	/* owner: the user whose file it is; NULL if not found */
	struct peer *peer, *owner;
	json_t *body;
	char *raw;
	size_t raw_len;
	struct err err;
};

static void file_ask_free(struct file_ask *f)
{
	free(f->peer);
	free(f->owner);
	free(f->raw);
	json_decref(f->body);
	free(f);
}

static const char *user_of(const json_t *body)
{
	return json_string_value(json_object_get(body, "user"));
}

static void look_up(struct thread_task *task)
{
	struct file_ask *f = (struct file_ask *)(void *)task;

	f->owner = ident_named(user_of(f->body), &f->err);
}

/* Carry out the request now that the owner was looked up, or drop it if its
 * sender has disconnected. */
static void looked_up(struct thread_task *task)
{
	struct file_ask *f = (struct file_ask *)(void *)task, **at;
	const struct request_in in = { .op = OP_cron_file,
		                       .peer = f->peer,
		                       .body = f->body,
		                       .raw = f->raw,
		                       .raw_len = f->raw_len };
	struct daemon *d = f->d;

	if (daemon_is_open(d, &f->ask) &&
	    (!f->owner || serve(d, f->ask.ask, &in, f->owner, &f->err) < 0))
		daemon_refuse(d, f->ask.ask, &f->err);
	for (at = &d->file_asks; *at != f; at = &(*at)->next)
		;
	*at = f->next;
	file_ask_free(f);
}

void daemon_free_file_asks(struct daemon *d)
{
	struct file_ask *f;

	while ((f = d->file_asks)) {
		d->file_asks = f->next;
		file_ask_free(f);
	}
}

int op_cron_file(struct daemon *d, struct ask *ask, const struct request_in *in,
                 struct err *err)
{
	const char *user = user_of(in->body);
	struct file_ask *f;

	if (!user || !strcmp(user, in->peer->user))
		return serve(d, ask, in, in->peer, err);
	if (access_role(d, in->peer) != ROLE_ADMIN)
		return err_set(err, EPERM, "-u needs an admin; you are '%s'",
		               in->peer->user);
	f = xcalloc(1, sizeof(*f));
	f->task = (struct thread_task){ .work = look_up, .done = looked_up };
	f->d = d;
	f->ask = daemon_keep(d, ask);
	f->peer = ident_copy(in->peer);
	f->body = json_incref(in->body);
	f->raw_len = in->raw_len;
	f->raw = xmalloc(f->raw_len);
	if (f->raw_len)
		memcpy(f->raw, in->raw, f->raw_len);
	f->next = d->file_asks;
	d->file_asks = f;
	thread_do(cron_names(d), &f->task);
	return 0;
}
