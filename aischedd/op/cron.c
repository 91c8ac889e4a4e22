/* cron.c - requests about recurring work */
#include "aischedd/op/cron.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/op/access.h"
#include "aischedd/op/audit.h"
#include "aischedd/op/cron_run.h"
#include "aischedd/op/filter.h"
#include "aischedd/op/submit.h"
#include "aischedd/store/blob.h"
#include "aischedd/store/ended.h"
#include "libcommon/clock.h"
#include "libcommon/limits.h"
#include "libcommon/log.h"
#include "libcommon/mem.h"
#include "libcommon/spec/spec_opt.h"
#include "libcommon/steps.h"

enum {
	NEXT_TIMES = 5,
	NAMED_MAX = 50, /* entries that one request may name by id */
	/* steps charged for writing one entry as JSON */
	STEPS_ENTRY = 100
};

/* --- an entry as JSON --------------------------------------------------- */

static int queue_of(const struct daemon *d, const struct spec *spec)
{
	return spec->queue ? conf_queue_find(d->conf, spec->queue)
	                   : conf_default_queue(d->conf);
}

const char *cron_queue(const struct daemon *d, const struct cron_entry *e)
{
	struct spec spec;
	int q;

	spec_unpack(&spec, e->packed);
	q = queue_of(d, &spec);
	return q >= 0 ? d->conf->queues[q].name : spec.queue ? spec.queue : "";
}

static const char *state_name(const struct cron_entry *e)
{
	return e->paused ? "paused" : e->blocked ? "blocked" : "active";
}

/* Returns the state of the job of the entry's last run, or NULL if it has not
 * run or that job is unknown by now. */
static const char *last_state(struct daemon *d, const struct cron_entry *e)
{
	const struct array *array = state_array(d->state, e->last_job);
	const struct job *job =
	    array ? array->first : state_job(d->state, e->last_job);
	struct past past;

	if (!e->last_job)
		return NULL;
	if (job)
		return job_state_name((enum job_state)job->state);
	steps_add(STEPS_QUERY);
	if (store_past(e->last_job, NO_TASK, &past, d->store) == 0)
		return job_state_name(past.state);
	return NULL;
}

static json_t *time_or_null(int64_t time)
{
	return time == NO_TIME || time == SCHEDULE_NEVER ? json_null()
	                                                 : json_integer(time);
}

/* Returns the next times of the schedule after `at`, NEXT_TIMES at most and
 * none after `until`. Each is moved by `shift` seconds and given as text in
 * local time of the zone and in Unix seconds. */
static json_t *next_times(const struct schedule *schedule,
                          const struct zone *zone, int64_t created, int64_t at,
                          int64_t until, int64_t shift)
{
	json_t *list = json_array();
	char text[ZONE_TEXT];

	for (int i = 0; i < NEXT_TIMES; i++) {
		at = schedule_next(schedule, zone, created, at);
		if (at == SCHEDULE_NEVER || at > until)
			break;
		zone_format(zone, at + shift, text);
		json_array_append_new(
		    list, json_pack("{s:s, s:I}", "time", text, "unix",
		                    (json_int_t)(at + shift)));
	}
	return list;
}

json_t *cron_next_json(struct daemon *d, const struct cron_rule *rule)
{
	const struct zone *zone = state_cron_zone(d->state, rule, NULL);
	int64_t now = clock_wall_s();
	struct schedule schedule;

	schedule_parse(&schedule, rule->schedule, NULL);
	return next_times(&schedule, zone, now, now, rule->until, 0);
}

static void add_times(struct daemon *d, const struct cron_entry *e, json_t *to)
{
	const struct zone *zone = state_cron_zone(d->state, &e->rule, NULL);
	const struct {
		const char *name;
		int64_t time;
	} times[] = { { "next_text", e->next_at },
		      { "last_text", e->last },
		      { "created_text", e->created } };
	char text[ZONE_TEXT];

	json_object_set_new(to, "next",
	                    zone ? next_times(&e->schedule, zone, e->created,
	                                      e->looked, e->rule.until,
	                                      state_cron_shift(d->state, e))
	                         : json_array());
	for (size_t i = 0; zone && i < ARRAY_SIZE(times); i++) {
		if (times[i].time == NO_TIME)
			continue;
		zone_format(zone, times[i].time, text);
		json_object_set_new(to, times[i].name, json_string(text));
	}
}

json_t *cron_json(struct daemon *d, const struct cron_entry *e, bool full)
{
	const struct cron_rule *rule = &e->rule;
	const char *zone = *rule->zone ? rule->zone : d->conf->cron.time_zone;
	const char *why = e->blocked ? e->blocked : e->reason;
	const char *last = last_state(d, e);
	struct spec spec;
	json_t *json;

	spec_unpack(&spec, e->packed);
	json = json_pack(
	    "{s:I, s:s, s:s, s:s, s:s?, s:s, s:s, s:s, s:s, s:o, s:I, s:o, s:s,"
	    " s:s, s:o, s:o, s:o, s:s?, s:I, s:I, s:I, s:I, s:I, s:b}",
	    "cron_id", (json_int_t)e->id, "name", spec.name, "user",
	    state_user(d->state, e->user)->name, "queue", cron_queue(d, e),
	    "account", spec.account, "schedule", rule->schedule, "time_zone",
	    zone ? zone : "", "policy", cron_policy_name(rule->policy),
	    "missed_policy", rule->make_up ? "run" : "skip", "late",
	    time_or_null(rule->late_s), "jitter", (json_int_t)rule->jitter_s,
	    "until", time_or_null(rule->until), "state", state_name(e),
	    "reason_text", why ? why : "", "next_time",
	    e->paused ? json_null() : time_or_null(e->next_at), "last_time",
	    time_or_null(e->last), "last_job_id",
	    e->last_job ? json_integer((json_int_t)e->last_job) : json_null(),
	    "last_state", last, "runs", (json_int_t)e->runs, "skipped",
	    (json_int_t)e->skipped, "missed", (json_int_t)e->missed, "refused",
	    (json_int_t)e->refused, "created", (json_int_t)e->created,
	    "imported", e->imported);
	if (full)
		add_times(d, e, json);
	return json;
}

/* --- listing entries ---------------------------------------------------- */

void cron_row(struct daemon *d, const struct cron_entry *e, bool full,
              struct buf *out)
{
	json_t *json = cron_json(d, e, full);
	char *text = json_dumps(json, JSON_COMPACT);

	steps_add(STEPS_ENTRY);
	buf_printf(out, "%s\n", text);
	free(text);
	json_decref(json);
}

/* Whether the peer may pause, resume, delete or run the entry. (Updates are
 * allowed only to the entry's owner and admins.) */
static bool may_act(const struct daemon *d, const struct peer *peer,
                    const struct cron_entry *e)
{
	struct spec spec;
	int q;

	spec_unpack(&spec, e->packed);
	q = queue_of(d, &spec);
	return e->uid == peer->uid || access_role(d, peer) == ROLE_ADMIN ||
	       (q >= 0 && access_operates(d, peer, (uint32_t)q));
}

/* Find the entry with the id that a peer gives as text. Fails with ENOENT if
 * there is none or the peer may not see it. */
static struct cron_entry *find_entry(const struct daemon *d,
                                     const struct peer *peer, const char *text,
                                     struct err *err)
{
	struct cron_entry *e;
	int64_t id;

	if (parse_int(text, 1, INT64_MAX, &id, NULL) < 0) {
		err_set(err, EINVAL, "'%s' is not the id of a cron entry",
		        text);
		return NULL;
	}
	e = state_cron(d->state, (uint64_t)id);
	if (e && (may_act(d, peer, e) || !access_hides(d, peer, "jobs")))
		return e;
	if (state_job(d->state, (uint64_t)id) ||
	    state_array(d->state, (uint64_t)id))
		err_set(err, EINVAL, "%s is a job, not a cron entry", text);
	else
		err_set(err, ENOENT, "there is no cron entry %s", text);
	return NULL;
}

/* List the ids that a request names, without duplicates, and return their
 * number. Fails with E2BIG if the request names more than NAMED_MAX. */
static int read_ids(const json_t *ids, const char *ret[NAMED_MAX],
                    struct err *err)
{
	if (json_array_size(ids) > NAMED_MAX)
		return err_set(err, E2BIG,
		               "%zu cron entries are named, and a request may "
		               "name %d: name fewer",
		               json_array_size(ids), NAMED_MAX);
	return (int)filter_unique(ids, ret);
}

/* Append to out the rows of the entries with these n ids, with their
 * next times. */
static int put_named(struct daemon *d, const struct peer *peer,
                     const char *const *id, int n, struct buf *out,
                     struct err *err)
{
	for (int i = 0; i < n; i++) {
		const struct cron_entry *e = find_entry(d, peer, id[i], err);

		if (!e)
			return -1;
		cron_row(d, e, true, out);
	}
	return 0;
}

int op_crons(struct daemon *d, struct ask *ask, const struct request_in *in,
             struct err *err)
{
	const json_t *ids = json_object_get(in->body, "ids");
	const char *id[NAMED_MAX];
	struct buf out = { 0 };
	int n, rc;

	if (!ids)
		return op_list(d, ask, in, err);
	n = read_ids(ids, id, err);
	rc = n < 0 ? -1 : put_named(d, in->peer, id, n, &out, err);
	if (rc == 0) {
		if (out.len)
			rpc_part(ask, out.data, out.len);
		daemon_say(d, ask, json_object());
	}
	buf_free(&out);
	return rc;
}

/* --- changing entries --------------------------------------------------- */

int cron_read_rule(struct cron_rule *rule, json_t *set, struct err *err)
{
	const char *field;
	json_t *value;

	json_object_foreach(set, field, value)
		if (cron_rule_set(rule, field, json_string_value(value),
		                  clock_wall_s(), err) < 0)
			return err_wrap(err, "--%s", field);
	if (!rule->schedule)
		return err_set(err, EINVAL, "--cron: a schedule is needed");
	return 0;
}

int cron_check_spec(const struct spec *spec, struct err *err)
{
	const char *name = spec->begin != SPEC_UNSET        ? "begin"
	                   : spec->deadline != SPEC_UNSET   ? "deadline"
	                   : spec->dependency               ? "dependency"
	                   : spec->allocation != SPEC_UNSET ? "allocation"
	                                                    : NULL;

	if (!name)
		return 0;
	return err_set(err, EINVAL, "--%s does not go with --cron", name);
}

static bool is_cron_field(const char *field)
{
	for (size_t i = 0; cron_fields[i]; i++)
		if (!strcmp(field, cron_fields[i]))
			return true;
	return false;
}

/* Set one field of the entry's job. The field is the long name of an option of
 * aisub, or a name that `aictl update` uses; an empty value clears it. */
static int set_option(struct submit *submit, const char *field,
                      const char *value, struct err *err)
{
	const char *name = !strcmp(field, "time-limit") ? "time"
	                   : !strcmp(field, "name")     ? "job-name"
	                                                : field;
	const struct opt *opt = opt_find(spec_opts, name);
	bool yes = true;

	if (!opt || opt->offset >= sizeof(struct spec) ||
	    !strcmp(opt->name, "hold"))
		return err_set(err, EINVAL,
		               "a cron entry has no field '%s': they are the "
		               "long options of aisub",
		               field);
	submit_clear(submit, opt);
	if (!*value)
		return 0;
	if (!opt->arg && parse_bool(value, &yes, err) < 0)
		return err_wrap(err, "%s", field);
	return yes ? opt_apply(spec_opts, submit, opt->name,
	                       opt->arg ? value : NULL, err)
	           : 0;
}

static int take_fields(struct submit *submit, struct cron_rule *rule,
                       json_t *set, struct err *err)
{
	const char *key, *text;
	json_t *value;

	json_object_foreach(set, key, value) {
		char *field = xstrdup(key);
		int rc;

		text = json_string_value(value);
		for (char *s = field; *s; s++)
			*s = *s == '_' ? '-' : *s;
		if (is_cron_field(field)) {
			rc = cron_rule_set(rule, field, text, submit->now, err);
			if (rc < 0)
				err_wrap(err, "--%s", field);
		} else {
			rc = set_option(submit, field, text, err);
		}
		free(field);
		if (rc < 0)
			return -1;
	}
	return 0;
}

static int change(struct daemon *d, const struct request_in *in,
                  struct cron_entry *e, struct err *err)
{
	json_t *set = json_object_get(in->body, "set");
	int64_t now = clock_wall_s(), script = 0;
	struct cron_rule rule = e->rule;
	struct buf warnings = { 0 };
	struct submit submit;
	struct request req;
	int rc;

	submit_init(&submit, arena_new(), &warnings, now);
	spec_unpack(&submit.spec, e->packed);
	rc = take_fields(&submit, &rule, set, err);
	if (rc == 0)
		rc = cron_check_spec(&submit.spec, err);
	if (rc == 0)
		rc = submit_resolve(&submit, &req, err);
	if (rc == 0)
		rc = state_cron_check(d->state, &rule, e->uid, 0, now, err);
	if (rc == 0 && in->raw_len > (size_t)d->conf->max_script_size)
		rc = err_set(err, EFBIG,
		             "the script has %zu bytes, at most "
		             "%lld are taken (max_script_size)",
		             in->raw_len, (long long)d->conf->max_script_size);
	if (rc == 0 && in->raw_len) {
		script = store_blob(d->store, in->raw, in->raw_len, err);
		rc = script < 0 ? -1 : 0;
	}
	if (rc == 0)
		state_cron_change(d->state, e, &submit.spec, &rule, script, 0,
		                  now);
	arena_free(submit.arena);
	buf_free(&warnings);
	return rc;
}

enum cron_act { ACT_PAUSE, ACT_RESUME, ACT_DELETE, ACT_RUN, ACT_UPDATE, ACTS };

static const char *const act_names[ACTS] = { "pause", "resume", "delete", "run",
	                                     "update" };

static int check_access(const struct daemon *d, const struct request_in *in,
                        const struct cron_entry *e, enum cron_act act,
                        struct err *err)
{
	bool may = act == ACT_UPDATE
	               ? e->uid == in->peer->uid ||
	                     access_role(d, in->peer) == ROLE_ADMIN
	               : may_act(d, in->peer, e);

	if (may)
		return 0;
	if (access_hides(d, in->peer, "jobs"))
		return err_set(err, ENOENT, "there is no cron entry %llu",
		               (unsigned long long)e->id);
	return err_set(err, EPERM, "cron entry %llu is %s's: you are '%s'%s",
	               (unsigned long long)e->id,
	               state_user(d->state, e->user)->name, in->peer->user,
	               act == ACT_UPDATE ? ""
	                                 : " and no operator of its queue");
}

static int act_on(struct daemon *d, const struct request_in *in,
                  struct cron_entry *e, enum cron_act act, struct err *err)
{
	int64_t now = clock_wall_s();

	switch (act) {
	case ACT_PAUSE:
	case ACT_RESUME:
		state_cron_pause(d->state, e, act == ACT_PAUSE, now);
		return 0;
	case ACT_DELETE:
		if (json_is_true(json_object_get(in->body, "cancel")))
			cron_end_runs(d, e);
		state_cron_remove(d->state, e);
		return 0;
	case ACT_UPDATE:
		return change(d, in, e, err);
	case ACT_RUN:
	case ACTS:
		break;
	}
	return 0;
}

static int act_find(const char *name, struct err *err)
{
	for (int i = 0; name && i < ACTS; i++)
		if (!strcmp(name, act_names[i]))
			return i;
	return err_set(err, EPROTO, "cron: there is no action '%s'",
	               name ? name : "");
}

static int act_by_id(struct daemon *d, const struct request_in *in,
                     enum cron_act act, const char *id, struct err *err)
{
	struct cron_entry *e = find_entry(d, in->peer, id, err);
	char *name;

	if (!e || check_access(d, in, e, act, err) < 0 ||
	    act_on(d, in, e, act, err) < 0)
		return -1;
	name = xasprintf("cron-%s", act_names[act]);
	audit_act(d, in->peer, name, "cron", id, NULL);
	log_notice("cron %s cron=%s user=%s", act_names[act], id,
	           in->peer->user);
	free(name);
	return 0;
}

/* Run the one entry of the request now. The answer is sent later, as the owner
 * has to be looked up first. */
static int run_one(struct daemon *d, struct ask *ask,
                   const struct request_in *in, const json_t *ids,
                   struct err *err)
{
	const char *id = json_string_value(json_array_get(ids, 0));
	struct cron_entry *e;

	if (json_array_size(ids) != 1)
		return err_set(err, EPROTO, "cron: run takes one id");
	e = find_entry(d, in->peer, id, err);
	if (!e || check_access(d, in, e, ACT_RUN, err) < 0)
		return -1;
	audit_act(d, in->peer, "cron-run", "cron", id, NULL);
	cron_run_by_hand(d, e, ask);
	return 0;
}

int op_cron(struct daemon *d, struct ask *ask, const struct request_in *in,
            struct err *err)
{
	const json_t *ids = json_object_get(in->body, "ids");
	const char *id[NAMED_MAX];
	json_t *failed;
	json_int_t count = 0;
	int n, act = act_find(
		   json_string_value(json_object_get(in->body, "action")), err);

	if (act < 0)
		return -1;
	if (act == ACT_RUN)
		return run_one(d, ask, in, ids, err);
	n = read_ids(ids, id, err);
	if (n < 0)
		return -1;
	failed = json_array();
	for (int i = 0; i < n; i++) {
		if (act_by_id(d, in, (enum cron_act)act, id[i], err) == 0)
			count++;
		else
			json_array_append_new(
			    failed,
			    json_pack("{s:s, s:i, s:s}", "job", id[i], "code",
			              err->code, "text", err->text));
	}
	daemon_answer(
	    d, ask, json_pack("{s:I, s:o}", "count", count, "failed", failed));
	return 0;
}
