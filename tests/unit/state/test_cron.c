/* test_cron.c - recurring jobs: which runs are due, and what becomes of them */
#include "aischedd/state/life/cron.h"

#include <stdio.h>
#include <string.h>

#include "aischedd/state/cluster/reconf.h"
#include "aischedd/state/life/alarm.h"
#include "aischedd/state/life/letter.h"
#include "aischedd/state/state_priv.h"
#include "libcommon/cron/zones.h"
#include "libcommon/steps.h"
#include "tests/unit/check.h"
#include "tests/unit/state/world.h"

enum { HOUR = 3600, DAY = 24 * HOUR, NOTHING = -1 };

static const char conf[] = "cron { min_period = \"1s\" max = 5 "
			   "max_per_user = 3 max_runs = 3 }\n" WORLD_CONF
			   "mail { command = \"/sbin/sendmail\" }\n";

/* A world with time zones and the time at which the daemon started. */
struct cron_world {
	struct world w;
	struct zones *zones;
	bool zone_is_gone;
	int64_t up_since;
};

static const struct zone *get_zone(const char *name, struct err *err, void *arg)
{
	struct cron_world *c = arg;

	if (c->zone_is_gone) {
		err_set(err, ENOENT, "zone '%s' is gone", name);
		return NULL;
	}
	return zones_get(c->zones, name, err);
}

static void cron_world_init(struct cron_world *c, int64_t now)
{
	*c = (struct cron_world){ .zones = zones_new(), .up_since = now };
	world_with_node(&c->w, conf);
	c->w.now = now;
	state_cron_zones(c->w.state, get_zone, c);
}

static void cron_world_fini(struct cron_world *c)
{
	world_fini(&c->w);
	zones_free(c->zones);
}

/* Make an entry. rule_text has its rules, such as "cron=@hourly", and ends with
 * NULL; `options` are those of its runs. */
static struct cron_entry *add(struct cron_world *c, const char *options,
                              const char *const *rule_text)
{
	struct spec spec = world_spec(&c->w, options);
	struct cron_rule rule;
	struct cron_ask ask = { .uid = c->w.who.uid,
		                .gid = c->w.who.gid,
		                .user = c->w.who.user,
		                .spec = &spec,
		                .script = 1,
		                .env = 2,
		                .rule = &rule };

	cron_rule_init(&rule);
	cron_rule_set(&rule, "cron-tz", "UTC", c->w.now, NULL);
	for (; *rule_text; rule_text += 2)
		ck_assert_msg(cron_rule_set(&rule, rule_text[0], rule_text[1],
		                            c->w.now, &c->w.err) == 0,
		              "%s", c->w.err.text);
	if (state_cron_check(c->w.state, &rule, ask.uid, 1, c->w.now,
	                     &c->w.err) < 0)
		return NULL;
	return state_cron_add(c->w.state, &ask, state_take_ids(c->w.state, 1),
	                      c->w.now);
}

#define ADD(c, options, ...) \
	add(c, options, (const char *const[]){ __VA_ARGS__, NULL })

/* Advance the state to the clock. Returns whether it asks the daemon to look up
 * the owner of the entry. */
static bool asks(struct cron_world *c, const struct cron_entry *e)
{
	const struct effect *effect;
	size_t n;
	bool found = false;

	state_tick(c->w.state, c->w.now);
	n = state_take_effects(c->w.state, &effect);
	for (size_t i = 0; i < n; i++)
		found |=
		    effect[i].kind == EFFECT_CRON && effect[i].job == e->id;
	return found;
}

/* Submit the entry's job for a time. Returns the id of the job. */
static uint64_t start(struct cron_world *c, struct cron_entry *e, int64_t time)
{
	uint64_t id = state_take_ids(c->w.state, 1);
	struct spec spec;

	spec_unpack(&spec, e->packed);
	state_cron_spec(c->w.state, e, time, &spec);
	state_submit(c->w.state, &spec, &c->w.who, 0, 1, 2, id, c->w.now);
	state_cron_ran(c->w.state, e, id, time);
	return id;
}

/* Advance the clock to `now`. Returns the time for which a run is due, or
 * NOTHING. */
static int64_t at(struct cron_world *c, struct cron_entry *e, int64_t now)
{
	int64_t time;

	c->w.now = now;
	if (!asks(c, e) ||
	    !state_cron_take(c->w.state, e, c->up_since, now, &time))
		return NOTHING;
	start(c, e, time);
	return time;
}

static void reconf(struct cron_world *c, const char *text)
{
	struct world *w = &c->w;

	conf_free(w->old_conf);
	w->old_conf = w->conf;
	w->conf = world_conf(text);
	ck_assert_int_eq(state_reconf(w->state, w->conf, w->now, &w->err), 0);
	state_cron_recheck(w->state, w->now);
}

START_TEST(each_time_once)
{
	struct cron_entry *e;
	struct cron_world c;

	cron_world_init(&c, 1000);
	e = ADD(&c, "", "cron", "@hourly", "cron-policy", "allow");
	ck_assert_int_eq(state_next_tick(c.w.state), HOUR);
	ck_assert_int_eq(at(&c, e, HOUR - 1), NOTHING);
	ck_assert_int_eq(at(&c, e, HOUR), HOUR);
	ck_assert_int_eq(at(&c, e, HOUR), NOTHING);
	ck_assert_int_eq(state_next_tick(c.w.state), 2 * HOUR);
	ck_assert_int_eq(at(&c, e, 2 * HOUR + 5), 2 * HOUR);
	ck_assert_uint_eq(e->runs, 2);
	ck_assert_uint_eq(e->missed, 0);
	cron_world_fini(&c);
}
END_TEST

START_TEST(asked_once_at_a_time)
{
	struct cron_entry *e;
	struct cron_world c;
	int64_t time;

	cron_world_init(&c, 1000);
	e = ADD(&c, "", "cron", "@hourly");
	c.w.now = HOUR;
	ck_assert(asks(&c, e));
	state_cron_recheck(c.w.state, HOUR + 1);
	ck_assert(!asks(&c, e));
	/* The name service did not answer, so the owner is looked up again
	 * later. */
	state_cron_later(c.w.state, e, HOUR + 10);
	c.w.now = HOUR + 9;
	ck_assert(!asks(&c, e));
	c.w.now = HOUR + 10;
	ck_assert(asks(&c, e));
	ck_assert(state_cron_take(c.w.state, e, 0, HOUR + 10, &time));
	ck_assert_int_eq(time, HOUR);
	cron_world_fini(&c);
}
END_TEST

/* In Berlin, clocks go forward on 28 March 2027 and back on 31 October. */
START_TEST(over_changes_of_the_clock)
{
	static const struct {
		const char *schedule;
		int64_t from;
		int64_t runs[4];
	} cases[] = {
		{ "30 2 * * *", 1806145200, { 1806195600, 1806280200 } },
		{ "30 2 * * *", 1824880000, { 1824942600, 1825032600 } },
		{ "0 * * * *", 1806190000, { 1806192000, 1806195600 } },
		{ "0 2 * * *", 1824937199, { 1824940800, 1825030800 } },
		{ "*/30 2 * * *",
		  1824940799,
		  { 1824940800, 1824942600, 1824944400, 1824946200 } },
	};
	struct cron_entry *e;
	struct cron_world c;

	cron_world_init(&c, cases[_i].from);
	e = ADD(&c, "", "cron", cases[_i].schedule, "cron-tz", "Europe/Berlin",
	        "cron-policy", "allow");
	for (int i = 0; i < 4 && cases[_i].runs[i]; i++) {
		int64_t run = cases[_i].runs[i];

		ck_assert_int_eq(e->next_at, run);
		ck_assert_int_eq(at(&c, e, run - 1), NOTHING);
		ck_assert_int_eq(at(&c, e, run), run);
		world_run(&c.w);
		world_end(&c.w, e->last_job, 0);
		world_commit(&c.w);
	}
	cron_world_fini(&c);
}
END_TEST

START_TEST(the_clock_jumps)
{
	struct cron_entry *e;
	struct cron_world c;

	cron_world_init(&c, 1000);
	e = ADD(&c, "", "cron", "@hourly", "cron-policy", "allow");
	ck_assert_int_eq(at(&c, e, HOUR), HOUR);
	/* The clock is set forward: only the latest of the missed times runs,
	 * the others are counted. */
	ck_assert_int_eq(at(&c, e, 9 * HOUR + 600), 9 * HOUR);
	ck_assert_uint_eq(e->missed, 7);
	/* The clock is set back: no time runs twice. */
	ck_assert_int_eq(at(&c, e, 2 * HOUR), NOTHING);
	ck_assert_int_eq(at(&c, e, 9 * HOUR), NOTHING);
	ck_assert_int_eq(at(&c, e, 10 * HOUR), 10 * HOUR);
	ck_assert_uint_eq(e->runs, 3);
	cron_world_fini(&c);
}
END_TEST

START_TEST(missed_times)
{
	static const struct {
		const char *field, *value;
		int64_t run;
		uint64_t missed;
	} cases[] = {
		{ "cron-missed", "run", 5 * HOUR, 3 },
		{ "cron-missed", "skip", NOTHING, 4 },
		{ "cron-late", "9m", NOTHING, 4 },
		{ "cron-late", "11m", 5 * HOUR, 3 },
	};
	struct cron_entry *e;
	struct cron_world c;

	cron_world_init(&c, 1000);
	e = ADD(&c, "", "cron", "@hourly", cases[_i].field, cases[_i].value,
	        "cron-policy", "allow");
	ck_assert_int_eq(at(&c, e, HOUR), HOUR);
	c.up_since = 5 * HOUR + 600; /* the daemon started then */
	ck_assert_int_eq(at(&c, e, 5 * HOUR + 600), cases[_i].run);
	ck_assert_uint_eq(e->missed, cases[_i].missed);
	/* The next time runs as usual. */
	ck_assert_int_eq(at(&c, e, 6 * HOUR), 6 * HOUR);
	cron_world_fini(&c);
}
END_TEST

START_TEST(runs_are_told_which_times_they_stand_for)
{
	struct cron_entry *e;
	struct cron_world c;
	struct spec spec;

	cron_world_init(&c, 1000);
	e = ADD(&c, "", "cron", "@hourly", "cron-policy", "allow");
	spec_unpack(&spec, e->packed);
	state_cron_spec(c.w.state, e, HOUR, &spec);
	ck_assert_int_eq(spec.cron_id, (int64_t)e->id);
	ck_assert_int_eq(spec.cron_time, HOUR);
	ck_assert_int_eq(spec.cron_last, SPEC_UNSET);
	ck_assert_int_eq(spec.cron_missed, 0);
	state_cron_ran(c.w.state, e, 7, HOUR);
	state_cron_spec(c.w.state, e, 5 * HOUR, &spec);
	ck_assert_int_eq(spec.cron_last, HOUR);
	ck_assert_int_eq(spec.cron_missed, 3);
	cron_world_fini(&c);
}
END_TEST

/* The state of the earlier run, made by steps of world_play(), and whether the
 * policy forbid allows the next run to start. */
static const struct {
	const char *name, *options;
	const char *step[4];
	bool runs;
} overlaps[] = {
	{ "pending", "cpus-per-task=4 hold", { "plan" }, false },
	{ "running", "", { "run" }, false },
	{ "suspended", "", { "run", "operator", "suspend 2" }, false },
	{ "completing", "", { "run", "cancel 2" }, false },
	{ "completed", "", { "run", "end 2 0", "commit" }, true },
	{ "failed", "", { "run", "end 2 1" }, true },
	{ "an array", "array=0-1", { "run" }, false },
};

START_TEST(forbid)
{
	struct cron_entry *e;
	struct cron_world c;

	cron_world_init(&c, 1000);
	e = ADD(&c, overlaps[_i].options, "cron", "@hourly");
	ck_assert_int_eq(at(&c, e, HOUR), HOUR);
	world_play(&c.w, overlaps[_i].name, overlaps[_i].step);
	ck_assert_int_eq(at(&c, e, 2 * HOUR),
	                 overlaps[_i].runs ? 2 * HOUR : NOTHING);
	ck_assert_uint_eq(e->skipped, !overlaps[_i].runs);
	ck_assert(!e->reason == overlaps[_i].runs);
	if (e->reason)
		ck_assert_str_eq(e->reason,
		                 "skipped 1970-01-01T02:00:00+00:00: job 2 had "
		                 "not ended");
	cron_world_fini(&c);
}
END_TEST

START_TEST(allow_has_a_limit)
{
	struct cron_entry *e;
	struct cron_world c;
	const uint64_t *run;

	cron_world_init(&c, 1000);
	e = ADD(&c, "hold", "cron", "@hourly", "cron-policy", "allow");
	ck_assert_int_eq(at(&c, e, HOUR), HOUR);
	ck_assert_int_eq(at(&c, e, 2 * HOUR), 2 * HOUR);
	ck_assert_int_eq(at(&c, e, 3 * HOUR), 3 * HOUR);
	ck_assert_int_eq(at(&c, e, 4 * HOUR), NOTHING);
	ck_assert_uint_eq(e->skipped, 1);
	ck_assert_uint_eq(state_cron_table(c.w.state)->skips[CRON_SKIP_LIMIT],
	                  1);
	ck_assert_uint_eq(state_cron_live(c.w.state, e, &run), 3);
	cron_world_fini(&c);
}
END_TEST

START_TEST(replace_always_runs)
{
	struct cron_entry *e;
	struct cron_world c;

	cron_world_init(&c, 1000);
	e = ADD(&c, "hold", "cron", "@hourly", "cron-policy", "replace");
	for (int i = 1; i < 5; i++)
		ck_assert_int_eq(at(&c, e, i * HOUR), i * HOUR);
	ck_assert_uint_eq(e->skipped, 0);
	cron_world_fini(&c);
}
END_TEST

START_TEST(a_queue_goes_and_comes_back)
{
	static const char less[] = "pool here { runner = local }\n"
				   "queue other { }\n";
	struct cron_entry *e;
	struct cron_world c;

	cron_world_init(&c, 1000);
	e = ADD(&c, "queue=batch", "cron", "@hourly", "cron-policy", "allow");
	reconf(&c, less);
	ck_assert_str_eq(e->blocked,
	                 "queue 'batch' is no longer in the configuration");
	/* It stays, and its runs are refused. */
	ck_assert_int_eq(e->next_at, HOUR);
	reconf(&c, conf);
	ck_assert_ptr_null(e->blocked);
	ck_assert_int_eq(at(&c, e, HOUR), HOUR);
	cron_world_fini(&c);
}
END_TEST

START_TEST(a_pause_is_not_made_up_for)
{
	struct cron_entry *e;
	struct cron_world c;

	cron_world_init(&c, 1000);
	e = ADD(&c, "", "cron", "@hourly", "cron-policy", "allow");
	state_cron_pause(c.w.state, e, true, 1000);
	ck_assert_int_eq(at(&c, e, 3 * HOUR), NOTHING);
	state_cron_pause(c.w.state, e, false, 3 * HOUR + 1);
	ck_assert_int_eq(at(&c, e, 3 * HOUR + 2), NOTHING);
	ck_assert_int_eq(at(&c, e, 4 * HOUR), 4 * HOUR);
	ck_assert_uint_eq(e->missed, 0);
	cron_world_fini(&c);
}
END_TEST

START_TEST(it_goes_when_its_end_has_come)
{
	struct cron_entry *e;
	struct cron_world c;
	uint64_t id;

	cron_world_init(&c, 1000);
	e = ADD(&c, "", "cron", "@hourly", "cron-until", "@7200", "cron-policy",
	        "allow");
	id = e->id;
	ck_assert_int_eq(at(&c, e, HOUR), HOUR);
	ck_assert_int_eq(at(&c, e, 2 * HOUR), 2 * HOUR);
	ck_assert_ptr_nonnull(state_cron(c.w.state, id));
	state_tick(c.w.state, 2 * HOUR + 1);
	ck_assert_ptr_null(state_cron(c.w.state, id));
	cron_world_fini(&c);
}
END_TEST

START_TEST(a_zone_goes_and_comes_back)
{
	struct cron_entry *e;
	struct cron_world c;

	cron_world_init(&c, 1000);
	e = ADD(&c, "", "cron", "@hourly", "cron-policy", "allow");
	c.zone_is_gone = true;
	state_cron_recheck(c.w.state, 1000);
	ck_assert_str_eq(e->blocked, "zone 'UTC' is gone");
	ck_assert_int_eq(at(&c, e, 3 * HOUR), NOTHING);
	c.zone_is_gone = false;
	state_cron_recheck(c.w.state, 3 * HOUR + 1);
	ck_assert_ptr_null(e->blocked);
	c.w.now = 3 * HOUR + 1;
	ck_assert_int_eq(e->next_at, HOUR);
	cron_world_fini(&c);
}
END_TEST

START_TEST(an_owner_is_gone_until_the_next_time)
{
	struct cron_entry *e;
	struct cron_world c;
	int64_t time;

	cron_world_init(&c, 1000);
	e = ADD(&c, "", "cron", "@hourly");
	c.w.now = HOUR;
	ck_assert(asks(&c, e));
	ck_assert(state_cron_take(c.w.state, e, 0, HOUR, &time));
	state_cron_block(c.w.state, e, "user 'u' is gone");
	state_cron_recheck(c.w.state, HOUR + 1);
	ck_assert_str_eq(e->blocked, "user 'u' is gone");
	c.w.now = 2 * HOUR;
	ck_assert(asks(&c, e));
	state_cron_block(c.w.state, e, NULL);
	ck_assert_ptr_null(e->blocked);
	cron_world_fini(&c);
}
END_TEST

START_TEST(a_refusal_is_told)
{
	struct cron_entry *e;
	struct cron_world c;
	int64_t time;

	cron_world_init(&c, 1000);
	e = ADD(&c, "", "cron", "@hourly");
	c.w.now = HOUR;
	ck_assert(asks(&c, e));
	ck_assert(state_cron_take(c.w.state, e, 0, HOUR, &time));
	state_cron_refused(c.w.state, e, "queue 'batch' is closed", c.w.now);
	ck_assert_uint_eq(e->refused, 1);
	ck_assert_str_eq(e->reason, "queue 'batch' is closed");
	/* The entry is tried again only at the next time of its schedule. */
	ck_assert_int_eq(at(&c, e, 2 * HOUR - 1), NOTHING);
	ck_assert_int_eq(at(&c, e, 2 * HOUR), 2 * HOUR);
	ck_assert_ptr_null(e->reason);
	cron_world_fini(&c);
}
END_TEST

/* An hourly entry has run at its first time. After `step` has happened to that
 * run, the next times are checked at `now`. event: the mail that is sent, or
 * NULL. */
static const struct {
	const char *name, *options, *rule[4];
	const char *step[4];
	int64_t up_since, now;
	const char *event, *reason;
} skips[] = {
	{ "overlap",
	  "mail-type=CRON_SKIPPED",
	  { "cron-policy", "forbid" },
	  { "run" },
	  0,
	  2 * HOUR,
	  "1.0.CRON_SKIPPED.7200",
	  "skipped 1970-01-01T02:00:00+00:00: job 2 had not ended" },
	{ "nobody asked",
	  "mail-type=END",
	  { "cron-policy", "forbid" },
	  { "run" },
	  0,
	  2 * HOUR,
	  NULL,
	  "skipped 1970-01-01T02:00:00+00:00: job 2 had not ended" },
	{ "it runs",
	  "mail-type=CRON_SKIPPED",
	  { "cron-policy", "allow" },
	  { NULL },
	  0,
	  2 * HOUR,
	  NULL,
	  NULL },
	{ "a late run stands for them",
	  "mail-type=CRON_SKIPPED",
	  { "cron-policy", "allow" },
	  { NULL },
	  5 * HOUR + 600,
	  5 * HOUR + 600,
	  NULL,
	  NULL },
	{ "missed and not made up for",
	  "mail-type=CRON_SKIPPED",
	  { "cron-policy", "allow", "cron-missed", "skip" },
	  { NULL },
	  5 * HOUR + 600,
	  5 * HOUR + 600,
	  "1.0.CRON_SKIPPED.18000",
	  "missed 4 times, the last 1970-01-01T05:00:00+00:00: --cron-missed "
	  "is skip" },
	{ "too late",
	  "mail-type=CRON_SKIPPED",
	  { "cron-policy", "allow", "cron-late", "9m" },
	  { NULL },
	  2 * HOUR + 600,
	  2 * HOUR + 600,
	  "1.0.CRON_SKIPPED.7200",
	  "missed 1 time, the last 1970-01-01T02:00:00+00:00: further back "
	  "than --cron-late" },
};

START_TEST(a_skipped_time_is_mailed)
{
	const char *const *rule = skips[_i].rule;
	struct changes changes;
	struct cron_entry *e;
	struct cron_world c;

	cron_world_init(&c, 1000);
	e = ADD(&c, skips[_i].options, "cron", "@hourly", rule[0], rule[1],
	        rule[2], rule[3]);
	ck_assert_int_eq(at(&c, e, HOUR), HOUR);
	world_play(&c.w, skips[_i].name, skips[_i].step);
	world_commit(&c.w);
	c.up_since = skips[_i].up_since;
	at(&c, e, skips[_i].now);
	state_changes(c.w.state, &changes);
	ck_assert_uint_eq(changes.nletters, skips[_i].event != NULL);
	ck_assert_pstr_eq(e->reason, skips[_i].reason);
	if (changes.nletters) {
		ck_assert_str_eq(changes.letter[0].event, skips[_i].event);
		ck_assert_str_eq(changes.letter[0].to, "ada");
		ck_assert_ptr_nonnull(
		    strstr(changes.letter[0].body, skips[_i].reason));
	}
	cron_world_fini(&c);
}
END_TEST

START_TEST(a_refusal_is_mailed)
{
	struct changes changes;
	struct cron_entry *e;
	struct cron_world c;
	int64_t time;

	cron_world_init(&c, 1000);
	e = ADD(&c, "mail-type=CRON_SKIPPED mail-user=x@y job-name=nightly",
	        "cron", "@hourly");
	c.w.now = HOUR;
	ck_assert(asks(&c, e));
	ck_assert(state_cron_take(c.w.state, e, 0, HOUR, &time));
	state_cron_refused(c.w.state, e, "queue 'batch' is closed", c.w.now);
	state_changes(c.w.state, &changes);
	ck_assert_uint_eq(changes.nletters, 1);
	ck_assert_str_eq(changes.letter[0].event, "1.0.CRON_SKIPPED.3600");
	ck_assert_str_eq(changes.letter[0].to, "x@y");
	ck_assert_str_eq(changes.letter[0].subject,
	                 "aisched Cron_id=1 Name=nightly Skipped");
	ck_assert_ptr_nonnull(strstr(
	    changes.letter[0].body, "Reason:       queue 'batch' is closed\n"));
	cron_world_fini(&c);
}
END_TEST

START_TEST(a_period_may_be_too_short)
{
	struct cron_world c;

	cron_world_init(&c, 1000);
	reconf(&c, "cron { min_period = \"5m\" }\n" WORLD_CONF);
	ck_assert_ptr_null(ADD(&c, "", "cron", "*/4 * * * *"));
	ck_assert_str_eq(c.w.err.text,
	                 "--cron: '*/4 * * * *' comes every 240 s, and 300 s "
	                 "is the shortest period (cron.min_period)");
	ck_assert_ptr_null(ADD(&c, "", "cron", "@every 299s"));
	ck_assert_ptr_null(ADD(&c, "", "cron", "0,58 * * * *"));
	ck_assert_ptr_nonnull(ADD(&c, "", "cron", "*/5 * * * *"));
	ck_assert_ptr_nonnull(ADD(&c, "", "cron", "@every 5m"));
	cron_world_fini(&c);
}
END_TEST

START_TEST(limits)
{
	struct cron_world c;

	cron_world_init(&c, 1000);
	for (int i = 0; i < 3; i++)
		ck_assert_ptr_nonnull(ADD(&c, "", "cron", "@hourly"));
	ck_assert_ptr_null(ADD(&c, "", "cron", "@hourly"));
	ck_assert_str_eq(c.w.err.text,
	                 "you would have 4 cron entries, and a user may have 3 "
	                 "(cron.max_per_user): delete some");
	c.w.who.uid++;
	ck_assert_ptr_nonnull(ADD(&c, "", "cron", "@hourly"));
	ck_assert_ptr_nonnull(ADD(&c, "", "cron", "@hourly"));
	ck_assert_ptr_null(ADD(&c, "", "cron", "@hourly"));
	ck_assert_str_eq(c.w.err.text,
	                 "there are 5 cron entries, and 5 may be there "
	                 "(cron.max)");
	cron_world_fini(&c);
}
END_TEST

/* All entries are computed again in slices, and an entry that is removed
 * between two slices does no harm. No alarm is set twice. */
START_TEST(many_are_checked_in_slices)
{
	enum { MANY = 30000 };
	struct cron_entry *e;
	struct cron_world c;
	uint64_t before;
	size_t alarms;

	cron_world_init(&c, 1000);
	reconf(&c, "cron { max = 100000 max_per_user = 100000 }\n" WORLD_CONF);
	do
		e = ADD(&c, "", "cron", "0 0 29 2 *");
	while (e && c.w.state->crons.n < MANY);
	ck_assert_ptr_nonnull(e);
	alarms = c.w.state->alarms.n;
	e->next_at = 0;
	before = steps_so_far;
	state_cron_recheck(c.w.state, c.w.now);
	ck_assert_int_eq(e->next_at, 0);
	state_cron_remove(c.w.state, c.w.state->crons.recheck);
	while (state_next_tick(c.w.state) == 0) {
		ck_assert_uint_lt(steps_so_far - before, 2 * STEPS_SLICE);
		before = steps_so_far;
		state_tick(c.w.state, c.w.now);
	}
	ck_assert_int_gt(e->next_at, c.w.now);
	ck_assert_uint_le(c.w.state->alarms.n, alarms + 2);
	cron_world_fini(&c);
}
END_TEST

SUITE(cron)
{
	tcase_add_test(tc, each_time_once);
	tcase_add_test(tc, asked_once_at_a_time);
	tcase_add_loop_test(tc, over_changes_of_the_clock, 0, 5);
	tcase_add_test(tc, the_clock_jumps);
	tcase_add_loop_test(tc, missed_times, 0, 4);
	tcase_add_test(tc, runs_are_told_which_times_they_stand_for);
	tcase_add_loop_test(tc, forbid, 0, ARRAY_SIZE(overlaps));
	tcase_add_test(tc, allow_has_a_limit);
	tcase_add_test(tc, replace_always_runs);
	tcase_add_test(tc, a_queue_goes_and_comes_back);
	tcase_add_test(tc, a_pause_is_not_made_up_for);
	tcase_add_test(tc, it_goes_when_its_end_has_come);
	tcase_add_test(tc, a_zone_goes_and_comes_back);
	tcase_add_test(tc, an_owner_is_gone_until_the_next_time);
	tcase_add_test(tc, a_refusal_is_told);
	tcase_add_loop_test(tc, a_skipped_time_is_mailed, 0, ARRAY_SIZE(skips));
	tcase_add_test(tc, a_refusal_is_mailed);
	tcase_add_test(tc, a_period_may_be_too_short);
	tcase_add_test(tc, limits);
	tcase_add_test(tc, many_are_checked_in_slices);
}
