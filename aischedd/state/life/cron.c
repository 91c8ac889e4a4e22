/* cron.c - recurring work: its entries, and which runs are due */
#include "aischedd/state/life/cron.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/state/life/alarm.h"
#include "aischedd/state/life/letter.h"
#include "aischedd/state/state_priv.h"
#include "libcommon/cron/due.h"
#include "libcommon/mem.h"
#include "libcommon/steps.h"

/* steps of computing the next time of an entry again, without those that
 * schedule_next() counts */
enum { STEPS_ENTRY = 10 };

/* --- the table of entries ----------------------------------------------- */

void state_cron_zones(struct state *state,
                      const struct zone *(*fn)(const char *name,
                                               struct err *err, void *arg),
                      void *arg)
{
	state->crons.zone = fn;
	state->crons.zone_arg = arg;
}

struct cron_entry *state_cron(const struct state *state, uint64_t id)
{
	return map_find(&state->crons.by_id, id);
}

struct cron_entry *state_first_cron(const struct state *state)
{
	return state->crons.first;
}

const struct cron_table *state_cron_table(const struct state *state)
{
	return &state->crons;
}

static void set_text(char **to, const char *text)
{
	char *copy = text ? xstrdup(text) : NULL;

	free(*to);
	*to = copy;
}

static void rule_copy(struct cron_rule *to, const struct cron_rule *from)
{
	char *schedule = xstrdup(from->schedule), *zone = xstrdup(from->zone);

	free((char *)(uintptr_t)to->schedule);
	free((char *)(uintptr_t)to->zone);
	*to = *from;
	to->schedule = schedule;
	to->zone = zone;
}

static void entry_free(struct cron_entry *e)
{
	free((char *)(uintptr_t)e->rule.schedule);
	free((char *)(uintptr_t)e->rule.zone);
	free(e->packed);
	free(e->blocked);
	free(e->reason);
	free(e->run);
	free(e);
}

void cron_free(struct state *state)
{
	struct cron_entry *next;

	for (struct cron_entry *e = state->crons.first; e; e = next) {
		next = e->next;
		entry_free(e);
	}
	map_free(&state->crons.by_id);
	free(state->crons.gone);
	free(state->crons.file);
}

static void touch(struct state *state, struct cron_entry *e)
{
	e->is_dirty = true;
	state->crons.is_dirty = true;
}

void cron_committed(struct state *state)
{
	if (!state->crons.is_dirty)
		return;
	for (struct cron_entry *e = state->crons.first; e; e = e->next)
		e->is_dirty = false;
	for (size_t i = 0; i < state->crons.nfiles; i++)
		state->crons.file[i].is_dirty = false;
	state->crons.ngone = 0;
	state->crons.is_dirty = false;
}

/* Insert the entry in the list, which is in order of ids. A new entry has the
 * largest id, but the store may load entries in any order. */
static void link_entry(struct cron_table *t, struct cron_entry *e)
{
	struct cron_entry *prev = t->last;

	while (prev && prev->id > e->id)
		prev = prev->prev;
	e->prev = prev;
	e->next = prev ? prev->next : t->first;
	*(prev ? &prev->next : &t->first) = e;
	*(e->next ? &e->next->prev : &t->last) = e;
	map_set(&t->by_id, e->id, e);
	t->n++;
}

void state_cron_remove(struct state *state, struct cron_entry *e)
{
	struct cron_table *t = &state->crons;

	*(e->prev ? &e->prev->next : &t->first) = e->next;
	*(e->next ? &e->next->prev : &t->last) = e->prev;
	if (t->recheck == e)
		t->recheck = e->next;
	map_del(&t->by_id, e->id);
	t->n--;
	t->gone = GROW(t->gone, t->ngone, &t->gone_cap);
	t->gone[t->ngone++] = e->id;
	t->is_dirty = true;
	entry_free(e);
}

/* --- the next run ------------------------------------------------------- */

const struct zone *state_cron_zone(const struct state *state,
                                   const struct cron_rule *rule,
                                   struct err *err)
{
	const char *name =
	    *rule->zone ? rule->zone : state->conf->cron.time_zone;

	return state->crons.zone(name ? name : "", err, state->crons.zone_arg);
}

int64_t state_cron_shift(const struct state *state, const struct cron_entry *e)
{
	return due_shift(&e->schedule, state->conf->cluster, e->id,
	                 e->rule.jitter_s);
}

static bool queue_is_there(const struct state *state,
                           const struct cron_entry *e, struct err *err)
{
	struct spec spec;
	int q;

	spec_unpack(&spec, e->packed);
	q = spec.queue ? conf_queue_find(state->conf, spec.queue)
	               : conf_default_queue(state->conf);
	if (q >= 0)
		return true;
	err_set(err, ENOENT,
	        spec.queue ? "queue '%s' is no longer in the configuration"
	                   : "there is no default queue%.0s",
	        spec.queue ? spec.queue : "");
	return false;
}

/* Set an alarm, unless it is there from an earlier call. */
static void set_alarm(struct state *state, struct cron_entry *e, int64_t at)
{
	if (at == e->alarm_at)
		return;
	e->alarm_at = at;
	state_alarm(state, at, e->id);
}

/* Compute when the entry's next run is due, and set an alarm for it. If there
 * is no run before --cron-until, set the alarm that removes the entry after
 * that time. */
static void arm(struct state *state, struct cron_entry *e)
{
	struct err err;
	const struct zone *zone = state_cron_zone(state, &e->rule, &err);
	int64_t shift = state_cron_shift(state, e), next;

	e->next_at = NO_TIME;
	if (!zone) {
		set_text(&e->blocked, err.text);
		return;
	}
	next = schedule_next(&e->schedule, zone, e->created, e->looked);
	if (next <= e->rule.until && next != SCHEDULE_NEVER)
		e->next_at = next + shift;
	else if (e->rule.until != SCHEDULE_NEVER)
		set_alarm(state, e, e->rule.until + shift + 1);
	if (!e->paused && e->next_at != NO_TIME)
		set_alarm(state, e, e->next_at);
}

/* Block the entry if its zone or queue is gone; unblock it if both exist.
 * An entry blocked because its owner is gone stays blocked: the daemon looks up
 * the owner again when the next run is due. */
static void judge(struct state *state, struct cron_entry *e)
{
	bool there;
	struct err err;

	there = queue_is_there(state, e, &err) &&
	        state_cron_zone(state, &e->rule, &err);
	if (!there || !e->ownerless)
		set_text(&e->blocked, there ? NULL : err.text);
	arm(state, e);
}

void cron_recheck_slice(struct state *state, int64_t now)
{
	uint64_t until = steps_so_far + steps_slice();
	struct cron_table *t = &state->crons;

	while (t->recheck && steps_so_far < until) {
		struct cron_entry *e = t->recheck;

		t->recheck = e->next;
		judge(state, e);
		cron_tick(state, e, now);
		steps_add(STEPS_ENTRY);
	}
}

void state_cron_recheck(struct state *state, int64_t now)
{
	state->crons.recheck = state->crons.first;
	cron_recheck_slice(state, now);
}

/* Handle an alarm: remove the entry if --cron-until has passed, or leave
 * EFFECT_CRON if a run is due. A stale alarm has no effect. */
void cron_tick(struct state *state, struct cron_entry *e, int64_t now)
{
	if (e->alarm_at != NO_TIME && e->alarm_at <= now)
		e->alarm_at = NO_TIME;
	if (e->next_at == NO_TIME && e->rule.until != SCHEDULE_NEVER &&
	    now > e->rule.until + state_cron_shift(state, e)) {
		state_cron_remove(state, e);
		return;
	}
	if (e->asking || e->paused || e->next_at == NO_TIME || e->next_at > now)
		return;
	e->asking = true;
	state_effect(state,
	             (struct effect){ .kind = EFFECT_CRON, .job = e->id });
}

void cron_loaded(struct state *state, int64_t now)
{
	/* Entries that were just loaded need not be written: have
	 * cron_committed() clear their is_dirty. It does so only if is_dirty of
	 * the table is set. */
	state->crons.is_dirty = true;
	cron_committed(state);
	state_cron_recheck(state, now);
}

/* --- adding and changing entries ---------------------------------------- */

int state_cron_check_count(const struct state *state, uint32_t uid,
                           uint32_t more, struct err *err)
{
	const struct conf_cron *conf = &state->conf->cron;
	int64_t own = more;

	if (!more)
		return 0;
	for (struct cron_entry *e = state->crons.first; e; e = e->next)
		own += e->uid == uid;
	if ((int64_t)state->crons.n + more > conf->max)
		return err_set(err, EAGAIN,
		               "there are %zu cron entries, and %lld may be "
		               "there (cron.max)",
		               state->crons.n, (long long)conf->max);
	if (own > conf->max_per_user)
		return err_set(err, EAGAIN,
		               "you would have %lld cron entries, and a user "
		               "may have %lld (cron.max_per_user): delete some",
		               (long long)own, (long long)conf->max_per_user);
	return 0;
}

int state_cron_check(const struct state *state, const struct cron_rule *rule,
                     uint32_t uid, uint32_t more, int64_t now, struct err *err)
{
	const struct zone *zone = state_cron_zone(state, rule, err);
	int64_t least = state->conf->cron.min_period, next;
	struct schedule schedule;

	if (!zone)
		return err_wrap(err, "--cron-tz");
	if (schedule_parse(&schedule, rule->schedule, err) < 0)
		return err_wrap(err, "--cron");
	if (schedule_period(&schedule) < least)
		return err_set(err, EINVAL,
		               "--cron: '%s' comes every %lld s, and %lld s is "
		               "the shortest period (cron.min_period)",
		               rule->schedule,
		               (long long)schedule_period(&schedule),
		               (long long)least);
	next = schedule_next(&schedule, zone, now, now);
	if (next == SCHEDULE_NEVER)
		return err_set(err, EINVAL,
		               "--cron: '%s' has no time within %d years",
		               rule->schedule, SCHEDULE_YEARS);
	if (next > rule->until)
		return err_set(err, EINVAL,
		               "--cron-until: '%s' has no time before that",
		               rule->schedule);
	return state_cron_check_count(state, uid, more, err);
}

struct cron_entry *state_cron_add(struct state *state,
                                  const struct cron_ask *ask, uint64_t id,
                                  int64_t now)
{
	struct cron_entry *e = xcalloc(1, sizeof(*e));

	e->id = id;
	e->uid = ask->uid;
	e->gid = ask->gid;
	e->user = state_intern_user(state, ask->uid, ask->user);
	e->script = ask->script;
	e->env = ask->env;
	e->packed = spec_pack(ask->spec);
	rule_copy(&e->rule, ask->rule);
	schedule_parse(&e->schedule, e->rule.schedule, NULL);
	e->created = e->looked = now;
	e->last = e->alarm_at = NO_TIME;
	e->paused = ask->paused;
	e->imported = ask->imported;
	link_entry(&state->crons, e);
	touch(state, e);
	arm(state, e);
	return e;
}

void state_cron_change(struct state *state, struct cron_entry *e,
                       const struct spec *spec, const struct cron_rule *rule,
                       int64_t script, int64_t env, int64_t now)
{
	char *packed = spec_pack(spec);
	bool other = strcmp(rule->schedule, e->rule.schedule) != 0 ||
	             strcmp(rule->zone, e->rule.zone) != 0;

	free(e->packed);
	e->packed = packed;
	rule_copy(&e->rule, rule);
	schedule_parse(&e->schedule, e->rule.schedule, NULL);
	e->script = script ? script : e->script;
	e->env = env ? env : e->env;
	/* Times of the new schedule that lie before the change have no runs. */
	if (other && e->looked < now)
		e->looked = now;
	touch(state, e);
	judge(state, e);
}

void state_cron_pause(struct state *state, struct cron_entry *e, bool paused,
                      int64_t now)
{
	int64_t over = now - state_cron_shift(state, e);

	if (e->paused && !paused && e->looked < over)
		e->looked = over;
	e->paused = paused;
	touch(state, e);
	arm(state, e);
}

void state_cron_block(struct state *state, struct cron_entry *e,
                      const char *why)
{
	(void)state;
	e->ownerless = why != NULL;
	set_text(&e->blocked, why);
}

/* --- runs of an entry --------------------------------------------------- */

static bool has_ended(const struct state *state, uint64_t id)
{
	const struct array *array = state_array(state, id);
	const struct job *job = state_job(state, id);

	return array ? !array->unfinished
	             : !job || job_state_is_final((enum job_state)job->state);
}

void cron_note_run(struct state *state, const struct job *job)
{
	struct cron_entry *e = state_cron(state, job->cron);
	uint64_t id = job->array ? job->array : job->id;

	for (size_t i = 0; e && i < e->nruns; i++)
		if (e->run[i] == id)
			return;
	if (!e)
		return;
	e->run = GROW(e->run, e->nruns, &e->run_cap);
	e->run[e->nruns++] = id;
}

size_t state_cron_live(struct state *state, struct cron_entry *e,
                       const uint64_t **ret)
{
	size_t n = 0;

	for (size_t i = 0; i < e->nruns; i++)
		if (!has_ended(state, e->run[i]))
			e->run[n++] = e->run[i];
	e->nruns = n;
	*ret = e->run;
	return n;
}

static void skip(struct state *state, struct cron_entry *e, enum cron_skip why,
                 uint64_t n)
{
	uint64_t *const count[CRON_SKIPS] = {
		[CRON_SKIP_OVERLAP] = &e->skipped,
		[CRON_SKIP_LATE] = &e->missed,
		[CRON_SKIP_MISSED] = &e->missed,
		[CRON_SKIP_REFUSED] = &e->refused,
		[CRON_SKIP_LIMIT] = &e->skipped,
	};

	*count[why] += n;
	state->crons.skips[why] += n;
}

/* Set entry->reason to a sentence that says why the missed times had no run and
 * will have none. late: because they are further back than --cron-late. */
static void explain_missed(const struct state *state, struct cron_entry *e,
                           const struct due *due, bool late)
{
	char when[ZONE_TEXT], *text;

	zone_format(state_cron_zone(state, &e->rule, NULL), due->last, when);
	text = xasprintf(
	    "missed %llu time%s, the last %s: %s",
	    (unsigned long long)due->missed, due->missed == 1 ? "" : "s", when,
	    late ? "further back than --cron-late" : "--cron-missed is skip");
	set_text(&e->reason, text);
	free(text);
}

/* Count the scheduled times that passed without a run; if no run is due now,
 * also explain them in entry->reason. */
static void count_missed(struct state *state, struct cron_entry *e,
                         const struct due *due)
{
	bool late =
	    due->time == SCHEDULE_NEVER && e->rule.make_up && due->missed;

	if (late)
		skip(state, e, CRON_SKIP_LATE, 1);
	skip(state, e, CRON_SKIP_MISSED, due->missed - late);
	if (due->time == SCHEDULE_NEVER)
		explain_missed(state, e, due, late);
}

/* Whether the entry's overlap policy allows a run now although earlier runs may
 * not have ended. If not, count the run as skipped and set the reason. */
static bool may_overlap(struct state *state, struct cron_entry *e, int64_t time)
{
	const uint64_t *run;
	size_t n = state_cron_live(state, e, &run);
	int64_t most = state->conf->cron.max_runs;
	char when[ZONE_TEXT], *text;

	if (!n || e->rule.policy == CRON_REPLACE ||
	    (e->rule.policy == CRON_ALLOW && (int64_t)n < most))
		return true;
	zone_format(state_cron_zone(state, &e->rule, NULL), time, when);
	if (e->rule.policy == CRON_FORBID)
		text = xasprintf("skipped %s: job %llu had not ended", when,
		                 (unsigned long long)run[0]);
	else
		text = xasprintf("skipped %s: %zu runs had not ended "
		                 "(cron.max_runs)",
		                 when, n);
	skip(state, e,
	     e->rule.policy == CRON_FORBID ? CRON_SKIP_OVERLAP
	                                   : CRON_SKIP_LIMIT,
	     1);
	set_text(&e->reason, text);
	free(text);
	return false;
}

bool state_cron_take(struct state *state, struct cron_entry *e,
                     int64_t up_since, int64_t now, int64_t *ret)
{
	struct due_rule rule = {
		.schedule = &e->schedule,
		.zone = state_cron_zone(state, &e->rule, NULL),
		.created = e->created,
		.until = e->rule.until,
		.shift = state_cron_shift(state, e),
		.late_s = e->rule.late_s,
		.make_up = e->rule.make_up,
	};
	struct due due;
	bool runs;

	e->asking = false;
	if (!rule.zone || e->paused)
		return false;
	due_look(&rule, e->looked, up_since, now, &due);
	if (due.last == e->looked) {
		arm(state, e);
		return false;
	}
	e->looked = due.last;
	count_missed(state, e, &due);
	touch(state, e);
	runs = due.time != SCHEDULE_NEVER && may_overlap(state, e, due.time);
	arm(state, e);
	if (!runs)
		letter_cron_skipped(state, e, now);
	*ret = due.time;
	return runs;
}

void state_cron_ran(struct state *state, struct cron_entry *e, uint64_t job,
                    int64_t time)
{
	e->last = time;
	e->last_job = job;
	e->runs++;
	state->crons.runs++;
	set_text(&e->reason, NULL);
	touch(state, e);
}

void state_cron_refused(struct state *state, struct cron_entry *e,
                        const char *why, int64_t now)
{
	skip(state, e, CRON_SKIP_REFUSED, 1);
	set_text(&e->reason, why);
	letter_cron_skipped(state, e, now);
	touch(state, e);
}

void state_cron_later(struct state *state, struct cron_entry *e, int64_t at)
{
	e->asking = false;
	set_alarm(state, e, at);
}

void state_cron_spec(const struct state *state, const struct cron_entry *e,
                     int64_t time, struct spec *spec)
{
	const struct zone *zone = state_cron_zone(state, &e->rule, NULL);
	int64_t from = e->last == NO_TIME ? e->created : e->last, last;

	spec->cron_id = (int64_t)e->id;
	spec->cron_time = time;
	spec->cron_last = e->last == NO_TIME ? SPEC_UNSET : e->last;
	spec->cron_missed = 0;
	if (zone && time - 1 > from)
		spec->cron_missed = (int64_t)schedule_count(
		    &e->schedule, zone, e->created, from, time - 1, &last);
}

/* --- imported files ----------------------------------------------------- */

static struct cron_file *find_file(const struct state *state, uint32_t uid)
{
	for (size_t i = 0; i < state->crons.nfiles; i++)
		if (state->crons.file[i].uid == uid)
			return &state->crons.file[i];
	return NULL;
}

int64_t state_cron_file(const struct state *state, uint32_t uid)
{
	const struct cron_file *file = find_file(state, uid);

	return file ? file->text : 0;
}

static struct cron_file *add_file(struct state *state, uint32_t uid)
{
	struct cron_table *t = &state->crons;

	t->file = GROW(t->file, t->nfiles, &t->file_cap);
	t->file[t->nfiles] = (struct cron_file){ .uid = uid };
	return &t->file[t->nfiles++];
}

void state_load_cron_file(struct state *state, uint32_t uid, int64_t text)
{
	add_file(state, uid)->text = text;
}

void state_cron_set_file(struct state *state, uint32_t uid, int64_t text)
{
	struct cron_file *file = find_file(state, uid);

	if (!file)
		file = add_file(state, uid);
	file->text = text;
	file->is_dirty = true;
	state->crons.is_dirty = true;
}

int state_load_cron(struct state *state, struct cron_entry **entry,
                    struct err *err)
{
	struct cron_entry *e = *entry;
	struct cron_rule texts = e->rule;

	*entry = NULL;
	e->rule.schedule = e->rule.zone = NULL;
	if (schedule_parse(&e->schedule, texts.schedule, err) < 0) {
		entry_free(e);
		return -1;
	}
	rule_copy(&e->rule, &texts);
	link_entry(&state->crons, e);
	return 0;
}
