/* cron_file.c - the entries of recurring work that a user keeps in a file */
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/op/access.h"
#include "aischedd/op/audit.h"
#include "aischedd/op/cron.h"
#include "aischedd/op/submit.h"
#include "aischedd/rpc/ident.h"
#include "aischedd/store/blob.h"
#include "libcommon/clock.h"
#include "libcommon/limits.h"
#include "libcommon/log.h"
#include "libcommon/mem.h"

/* One entry of a file, and the entry that is the same already. */
struct file_entry {
	json_int_t line;
	struct spec spec;
	struct cron_rule rule;
	const char *script, *env;
	size_t script_len, env_len;
	int64_t script_id, env_id;
	struct cron_entry *same;
};

/* An import: all of it, or nothing. */
struct import {
	struct daemon *d;
	const struct peer *owner;
	struct arena *arena;
	const char *text; /* the file as it is */
	size_t text_len;
	struct file_entry *entry;
	size_t n;
	json_t *errors; /* [{line, text}] */
	uint64_t made, kept, gone;
};

static void add_error(struct import *m, json_int_t line, const struct err *err)
{
	json_array_append_new(m->errors, json_pack("{s:I, s:s}", "line", line,
	                                           "text", err->text));
}

/* --- reading ------------------------------------------------------------ */

static int read_entry(struct import *m, struct file_entry *e, json_t *json,
                      const char **raw, size_t *left, struct err *err)
{
	json_int_t script_len, env_len;
	json_t *spec, *cron;
	json_error_t why;

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
	    cron_read_rule(&e->rule, cron, err) < 0) {
		add_error(m, e->line, err);
		return 0;
	}
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

/* --- checking ----------------------------------------------------------- */

static int check_entry(struct import *m, struct file_entry *e, struct err *err)
{
	uint64_t ahead = 0;
	uint32_t queue;

	if (e->spec.kube_uid || e->spec.cron_id != SPEC_UNSET)
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

static void check_entries(struct import *m)
{
	struct err err;

	for (size_t i = 0; i < m->n; i++)
		if (check_entry(m, &m->entry[i], &err) < 0)
			add_error(m, m->entry[i].line, &err);
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

/* --- comparing ---------------------------------------------------------- */

static bool is_same(const struct cron_entry *a, const struct file_entry *b)
{
	char *packed = spec_pack(&b->spec);
	size_t size = spec_packed_size(packed);
	bool same = size == spec_packed_size(a->packed) &&
	            !memcmp(packed, a->packed, size) &&
	            !strcmp(a->rule.schedule, b->rule.schedule) &&
	            !strcmp(a->rule.zone, b->rule.zone) &&
	            a->rule.policy == b->rule.policy &&
	            a->rule.make_up == b->rule.make_up &&
	            a->rule.late_s == b->rule.late_s &&
	            a->rule.jitter_s == b->rule.jitter_s &&
	            a->rule.until == b->rule.until &&
	            a->script == b->script_id && a->env == b->env_id;

	free(packed);
	return same;
}

/* Returns the entry of the file that this one is, or NULL. Entries that are
 * alike are matched one by one. */
static struct file_entry *find_same(struct import *m, struct cron_entry *e)
{
	for (size_t i = 0; i < m->n; i++)
		if (!m->entry[i].same && is_same(e, &m->entry[i]))
			return &m->entry[i];
	return NULL;
}

/* Match the user's imported entries with those of the file; returns how many
 * are new. */
static size_t match(struct import *m)
{
	size_t n = m->n;

	for (struct cron_entry *e = state_first_cron(m->d->state); e;
	     e = e->next) {
		struct file_entry *same = NULL;

		if (e->uid == m->owner->uid && e->imported)
			same = find_same(m, e);
		if (!same)
			continue;
		same->same = e;
		n--;
	}
	return n;
}

static bool is_kept(const struct import *m, const struct cron_entry *e)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->entry[i].same == e)
			return true;
	return false;
}

static size_t drop(struct import *m, bool count_only)
{
	struct cron_entry *next;
	size_t n = 0;

	for (struct cron_entry *e = state_first_cron(m->d->state); e;
	     e = next) {
		next = e->next;
		if (e->uid != m->owner->uid || !e->imported || is_kept(m, e))
			continue;
		n++;
		if (!count_only)
			state_cron_remove(m->d->state, e);
	}
	return n;
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

/* Put the file in the place of the one before. */
static int replace(struct import *m, struct err *err)
{
	int64_t text = 0;
	size_t more, gone;

	if (take_blobs(m, err) < 0)
		return -1;
	more = match(m);
	gone = drop(m, true);
	if (more > gone &&
	    state_cron_check_count(m->d->state, m->owner->uid,
	                           (uint32_t)(more - gone), err) < 0)
		return -1;
	if (m->text_len) {
		text = store_blob(m->d->store, m->text, m->text_len, err);
		if (text < 0)
			return -1;
	}
	m->kept = m->n - more;
	m->gone = drop(m, false);
	make(m);
	state_cron_set_file(m->d->state, m->owner->uid, text);
	return 0;
}

/* --- the request -------------------------------------------------------- */

/* Get the owner of the file: the sender, or a user that an admin names. Owns:
 * the caller, *ret_new if it is not NULL. */
static const struct peer *find_owner(struct daemon *d,
                                     const struct request_in *in,
                                     struct peer **ret_new, struct err *err)
{
	const char *user = json_string_value(json_object_get(in->body, "user"));
	const struct passwd *pw;

	*ret_new = NULL;
	if (!user || !strcmp(user, in->peer->user))
		return in->peer;
	if (access_role(d, in->peer) != ROLE_ADMIN) {
		err_set(err, EPERM, "-u takes an admin; you are '%s'",
		        in->peer->user);
		return NULL;
	}
	pw = getpwnam(user);
	if (!pw) {
		err_set(err, ENOENT, "there is no user '%s'", user);
		return NULL;
	}
	return *ret_new = ident_owner(pw->pw_uid, pw->pw_gid, user, err);
}

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
	if (read_import(m, in, err) < 0)
		return -1;
	if (!json_array_size(m->errors))
		check_entries(m);
	if (json_array_size(m->errors))
		return 0;
	if (replace(m, err) < 0)
		return -1;
	audit_act(m->d, in->peer, "cron-import", "cron file of", m->owner->user,
	          NULL);
	log_notice("cron import user=%s by=%s made=%llu kept=%llu gone=%llu",
	           m->owner->user, in->peer->user, (unsigned long long)m->made,
	           (unsigned long long)m->kept, (unsigned long long)m->gone);
	return 0;
}

int op_cron_file(struct daemon *d, struct ask *ask, const struct request_in *in,
                 struct err *err)
{
	struct import m = { .d = d };
	struct peer *other;
	int rc;

	m.owner = find_owner(d, in, &other, err);
	if (!m.owner)
		return -1;
	if (!json_object_get(in->body, "entries")) {
		rc = give_file(d, ask, m.owner, err);
		free(other);
		return rc;
	}
	m.arena = arena_new();
	m.errors = json_array();
	rc = import(&m, in, err);
	if (rc == 0)
		daemon_answer(d, ask,
		              json_pack("{s:O, s:I, s:I, s:I}", "errors",
		                        m.errors, "made", (json_int_t)m.made,
		                        "kept", (json_int_t)m.kept, "gone",
		                        (json_int_t)m.gone));
	json_decref(m.errors);
	arena_free(m.arena);
	free(m.entry);
	free(other);
	return rc;
}
