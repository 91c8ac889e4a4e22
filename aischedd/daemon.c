/* daemon.c - the loop of the daemon; the four steps of each turn are hear,
 * think, commit and tell, see daemon.h */
#include "aischedd/daemon.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "aischedd/logs.h"
#include "aischedd/mailer.h"
#include "aischedd/op/adopt.h"
#include "aischedd/op/alloc.h"
#include "aischedd/op/audit.h"
#include "aischedd/op/mass.h"
#include "aischedd/op/tryout.h"
#include "aischedd/op/wait.h"
#include "aischedd/read/read.h"
#include "aischedd/relays.h"
#include "aischedd/reload.h"
#include "aischedd/runners.h"
#include "aischedd/scaler.h"
#include "aischedd/sched/check/plan_check.h"
#include "aischedd/state/cluster/capacity.h"
#include "aischedd/state/cluster/ledger.h"
#include "aischedd/state/life/alarm.h"
#include "aischedd/state/pass/apply.h"
#include "aischedd/state/pass/snapshot.h"
#include "aischedd/store/space.h"
#include "aischedd/thread.h"
#include "libcommon/clock.h"
#include "libcommon/log.h"
#include "libcommon/map.h"
#include "libcommon/mem.h"
#include "libcommon/steps.h"

enum {
	/* longest pause between two passes under load */
	PASS_MAX_WAIT_MS = 100,
	/* after a pass, pause for this many times its duration */
	PASS_SHARE = 5,
	/* plan a snapshot with more rows and nodes than this on a thread */
	PASS_INLINE = 500,
	/* pause after a commit that found the disk full */
	RETRY_FULL_MS = 1000,
	/* time to send answers when the daemon ends */
	LAST_WORDS_MS = 2000
};

void daemon_arm(struct event *event, double ms)
{
	struct timeval tv;

	if (ms < 0)
		ms = 0;
	tv.tv_sec = (time_t)(ms / 1e3);
	tv.tv_usec = (suseconds_t)((ms - (double)tv.tv_sec * 1e3) * 1e3);
	event_add(event, &tv);
}

/* --- answers ----------------------------------------------------------- */

struct kept_ask daemon_keep(const struct daemon *d, struct ask *ask)
{
	uintptr_t open = (uintptr_t)map_find(&d->open, (uintptr_t)ask);

	return (struct kept_ask){ ask, open / OP_N };
}

bool daemon_is_open(const struct daemon *d, const struct kept_ask *kept)
{
	return daemon_keep(d, kept->ask).serial == kept->serial;
}

static enum op op_of(const struct daemon *d, const struct ask *ask)
{
	return (enum op)((uintptr_t)map_find(&d->open, (uintptr_t)ask) % OP_N);
}

static void end_ask(struct daemon *d, struct ask *ask, enum ask_result result)
{
	uintptr_t open =
	    (uintptr_t)map_find(&d->open, (uint64_t)(uintptr_t)ask);

	if (!open)
		return;
	d->asked[open % OP_N][result]++;
	map_del(&d->open, (uint64_t)(uintptr_t)ask);
}

void daemon_end_ask(struct daemon *d, struct ask *ask)
{
	end_ask(d, ask, ASK_OK);
}

void daemon_answer(struct daemon *d, struct ask *ask, json_t *body)
{
	d->answer = GROW(d->answer, d->nanswers, &d->answer_cap);
	d->answer[d->nanswers++] = (struct answer){ ask, body };
}

void daemon_say(struct daemon *d, struct ask *ask, json_t *body)
{
	daemon_end_ask(d, ask);
	rpc_reply(ask, body);
}

void daemon_refuse(struct daemon *d, struct ask *ask, const struct err *err)
{
	end_ask(d, ask, ASK_REFUSED);
	rpc_refuse(ask, err);
}

void daemon_later(struct daemon *d, later_fn *fn, struct ask *ask, void *arg)
{
	d->later = GROW(d->later, d->nlaters, &d->later_cap);
	d->later[d->nlaters++] = (struct later){ fn, ask, arg };
}

void daemon_go_on(struct daemon *d)
{
	daemon_arm(d->again, 0);
}

void daemon_ask_gone(struct ask *ask, void *arg)
{
	struct daemon *d = arg;

	end_ask(d, ask, ASK_FAILED);
	for (size_t i = 0; i < d->nanswers; i++)
		if (d->answer[i].ask == ask) {
			json_decref(d->answer[i].body);
			d->answer[i].ask = NULL;
		}
	for (size_t i = 0; i < d->nlaters; i++)
		if (d->later[i].ask == ask)
			d->later[i].fn = NULL;
	daemon_reading_gone(d, ask);
	daemon_dump_gone(d, ask);
	daemon_log_gone(d, ask);
	daemon_relay_gone(d, ask);
}

/* --- think ------------------------------------------------------------- */

/* One pass of the scheduler. A large one runs on the planner's thread, so that
 * answers need not wait for it. */
struct planning {
	struct thread_task task;
	struct daemon *d;
	struct arena *arena;
	/* the snapshot while it uses parts of the state; NULL after
	 * end_snapshot() */
	struct build *taken;
	const struct snap *snap;
	const struct plan *plan;
	const struct queue_found *found;
	struct apply *apply; /* NULL until there is a plan */
	bool on_thread;
	double began_ms, took_ms;
};

static void end_snapshot(struct planning *pass)
{
	if (pass->taken)
		state_end_snapshot(pass->d->state, pass->taken);
	pass->taken = NULL;
}

static void pass_free(struct planning *pass)
{
	if (!pass)
		return;
	end_snapshot(pass);
	apply_free(pass->apply);
	arena_free(pass->arena);
	free(pass);
}

static void over_work(struct thread_task *task)
{
	struct planning *pass = (struct planning *)(void *)task;

	arena_free(pass->arena);
	pass->arena = NULL;
}

static void over_done(struct thread_task *task)
{
	struct planning *pass = (struct planning *)(void *)task;

	pass->d->over = NULL;
	pass_free(pass);
}

/* Free the pass. If the planner's thread made the plan, let it free the memory,
 * too, as this takes long. */
static void pass_over(struct daemon *d, struct planning *pass)
{
	d->pass = NULL;
	if (!pass->on_thread) {
		pass_free(pass);
		return;
	}
	pass->task =
	    (struct thread_task){ .work = over_work, .done = over_done };
	d->over = pass;
	thread_do(d->planner, &pass->task);
}

static void pass_work(struct thread_task *task)
{
	struct planning *pass = (struct planning *)(void *)task;
	struct err err;

	pass->snap = snapshot_finish(pass->taken);
	pass->plan = sched_plan(pass->snap, pass->arena);
	pass->took_ms = clock_fine_ms() - pass->began_ms;
	if (pass->d->check_plans &&
	    plan_check(pass->snap, pass->plan, &err) < 0) {
		log_err("plan is wrong: %s", err.text);
		abort();
	}
	pass->found = snapshot_read_plan(pass->taken, pass->plan, pass->arena);
}

/* A step of the wall clock smaller than this is a correction, as by NTP, and is
 * not reported to the state. */
enum { CLOCK_STEP_MS = 10000 };

void daemon_clock(struct daemon *d)
{
	int64_t boot_ms, wall_ms, by;

	/* Read both clocks again if there was a pause between the two readings,
	 * as the pause would look like a step. */
	do {
		boot_ms = clock_boot_ms();
		wall_ms = clock_wall_us() / 1000;
	} while (clock_boot_ms() - boot_ms > CLOCK_STEP_MS / 10);
	state_clock(d->state, wall_ms);
	by = wall_ms - boot_ms - d->ahead_ms;
	d->ahead_ms += by;
	if (by > -CLOCK_STEP_MS && by < CLOCK_STEP_MS)
		return;
	log_notice("clock set by_s=%lld", (long long)(by / 1000));
	state_clock_set(d->state, by, wall_ms);
}

int daemon_resume_clock(struct daemon *d, struct err *err)
{
	int64_t wall_ms = clock_wall_us() / 1000, since_ms;
	char boot[BOOT_ID_SIZE];
	struct store_clock was;

	if (store_last_clock(d->store, &was, err) < 0)
		return -1;
	clock_boot_id(boot);
	if (*boot)
		d->boot = (int64_t)(hash_bytes(0, boot, strlen(boot)) >> 1);
	d->ahead_ms = wall_ms - clock_boot_ms();
	since_ms = wall_ms - was.wall_ms;
	/* Count capacity from one hour before the last commit, because amounts
	 * that do not change are booked only once an hour. */
	state_capacity_since(d->state,
	                     was.boot ? was.wall_ms - 3600000 : wall_ms);
	if (!was.boot)
		return 0;
	if (was.boot == d->boot) {
		d->ahead_ms = was.ahead_ms;
		return 0;
	}
	/* The machine was restarted: assume that the wall clock was not set,
	 * unless it is behind the last commit. Then change ahead_ms so that
	 * daemon_clock() notices by how much the clock was set back. */
	log_notice("machine restarted since_last_commit_s=%lld",
	           (long long)(since_ms / 1000));
	if (since_ms < 0)
		d->ahead_ms -= since_ms;
	return 0;
}

static void pass_done(struct thread_task *task)
{
	struct planning *pass = (struct planning *)(void *)task;
	struct daemon *d = pass->d;

	end_snapshot(pass);
	d->stats.rows = pass->snap->pend.n;
	pass->apply = apply_begin(d->state, pass->snap, pass->plan, pass->found,
	                          pass->arena);
	d->stats.passes++;
	histogram_add(&d->stats.pass_s, histogram_steps, pass->took_ms / 1e3);
	d->stats.last_ms = pass->took_ms;
	d->stats.sum_ms += pass->took_ms;
	if (pass->took_ms > d->stats.max_ms)
		d->stats.max_ms = pass->took_ms;
}

/* Whether a part of the plan can be applied now. No job may be started while
 * the disk is full. */
static bool can_apply(const struct daemon *d)
{
	return !d->full && d->pass && d->pass->apply;
}

/* Apply the next part of the plan, one in a turn. */
static void apply(struct daemon *d)
{
	struct planning *pass = d->pass;
	double rest = pass->took_ms * PASS_SHARE;

	if (!apply_part(pass->apply, APPLY_STARTS, clock_wall_s()))
		return;
	d->next_pass_ms = clock_fine_ms() +
	                  (rest < PASS_MAX_WAIT_MS ? rest : PASS_MAX_WAIT_MS);
	pass_over(d, pass);
	daemon_explain_soon(d);
}

static void plan(struct daemon *d)
{
	struct planning *pass = xcalloc(1, sizeof(*pass));

	pass->task =
	    (struct thread_task){ .work = pass_work, .done = pass_done };
	pass->d = d;
	pass->arena = arena_new();
	pass->began_ms = clock_fine_ms();
	pass->taken =
	    state_take_snapshot(d->state, clock_wall_s(), pass->arena);
	d->pass = pass;
	pass->on_thread = snapshot_size(pass->taken) > PASS_INLINE;
	if (pass->on_thread) {
		thread_do(d->planner, &pass->task);
		return;
	}
	pass_work(&pass->task);
	pass_done(&pass->task);
}

/* Call state_look_at_capacity() at most once in LOOK_LEAST_MS, and so rarely
 * that the calls take at most 1/LOOK_SHARE of the time. */
enum { LOOK_SHARE = 100, LOOK_LEAST_MS = 1000 };

static void look(struct daemon *d)
{
	double now_ms = clock_fine_ms(), took_ms;

	if (!state_capacity_stale(d->state))
		return;
	if (now_ms < d->next_look_ms) {
		daemon_arm(d->look, d->next_look_ms - now_ms);
		return;
	}
	if (!state_look_at_capacity(d->state))
		return;
	took_ms = (clock_fine_ms() - now_ms) * LOOK_SHARE;
	d->next_look_ms = clock_fine_ms() +
	                  (took_ms > LOOK_LEAST_MS ? took_ms : LOOK_LEAST_MS);
}

static void think(struct daemon *d)
{
	daemon_clock(d);
	state_tick(d->state, clock_wall_s());
	daemon_go_on_trying(d);
	daemon_go_on_dumping(d);
	look(d);
	daemon_slice_masses(d);
	if (!d->full && !d->pass && state_wants_plan(d->state)) {
		if (clock_fine_ms() >= d->next_pass_ms)
			plan(d);
		else
			daemon_arm(d->pace, d->next_pass_ms - clock_fine_ms());
	}
	if (can_apply(d))
		apply(d);
}

void daemon_free_pass(struct daemon *d)
{
	pass_free(d->pass);
	pass_free(d->over);
}

/* --- commit ------------------------------------------------------------ */

/* Refuse what must be stored until set_writable(). */
static void set_full(struct daemon *d, const struct err *why)
{
	bool moved = why->code == ESTALE;

	if (!d->full || d->full_err.code != why->code)
		log_err("%s; no job is started or accepted until %s", why->text,
		        moved ? "it is put back" : "there is space");
	if (moved)
		err_set(&d->full_err, ESTALE,
		        "the database '%s' was removed or replaced: the daemon "
		        "cannot store anything; tell its admin",
		        store_path(d->store));
	else
		err_set(&d->full_err, ENOSPC,
		        "the disk of '%s' is full: the daemon cannot store "
		        "anything; try again when there is space",
		        d->state_dir);
	d->full = true;
	if (!moved)
		space_reuse(d->store);
	daemon_arm(d->retry, RETRY_FULL_MS);
}

static void set_writable(struct daemon *d)
{
	if (!d->full)
		return;
	if (d->full_err.code == ESTALE)
		log_notice("the database '%s' is back", store_path(d->store));
	else
		log_notice("the disk of '%s' has space again", d->state_dir);
	space_reserve(d->store);
	d->full = false;
}

void daemon_check_files(struct daemon *d)
{
	struct err err;

	if (store_check_files(d->store, &err) < 0)
		set_full(d, &err);
}

/* Note whether the disk is full or the database was removed. On a full disk
 * commits use space that was reserved for them (space.h), and no job is
 * accepted or started. */
static void check_disk(struct daemon *d)
{
	struct err err;

	if (store_check_files(d->store, &err) < 0) {
		set_full(d, &err);
	} else if (space_is_low(d->store)) {
		err_set(&err, ENOSPC, "little space is left");
		set_full(d, &err);
	} else {
		set_writable(d);
	}
}

static void note_clock(const struct daemon *d)
{
	const struct store_clock now = { .boot = d->boot,
		                         .ahead_ms = d->ahead_ms,
		                         .wall_ms = clock_wall_us() / 1000 };

	store_set_clock(d->store, &now);
}

/* Commit. Returns whether all changes so far are on disk. */
static bool commit(struct daemon *d)
{
	struct err err;

	if (d->unwritten && clock_fine_ms() < d->retry_ms)
		return false;
	note_clock(d);
	steps_owed = 0; /* the commit counts its own steps */
	if (store_commit(d->store, d->state, &err) == 0) {
		d->unwritten = false;
		check_disk(d);
		return true;
	}
	if (err.code != ENOSPC && err.code != ESTALE) {
		/* The state has changes that cannot be stored: end, so that the
		 * next daemon loads the state from the database. */
		log_err("%s", err.text);
		_exit(1);
	}
	set_full(d, &err);
	d->unwritten = true;
	d->retry_ms = clock_fine_ms() + RETRY_FULL_MS;
	return false;
}

/* --- tell -------------------------------------------------------------- */

static void run_laters(struct daemon *d)
{
	/* A function may add others: they run in this turn, too. */
	for (size_t i = 0; i < d->nlaters; i++)
		if (d->later[i].fn)
			d->later[i].fn(d, d->later[i].arg);
	d->nlaters = 0;
}

static bool is_urgent(const struct effect *effect)
{
	return effect->kind == EFFECT_STOP || effect->kind == EFFECT_SIGNAL;
}

static void tell(struct daemon *d)
{
	const struct effect *effect;
	size_t n = state_take_effects(d->state, &effect);

	for (size_t i = 0; i < n; i++)
		if (i >= d->nstops || effect[i].kind != EFFECT_SIGNAL)
			daemon_do_effect(d, &effect[i]);
	d->nstops = 0;
	for (size_t i = 0; i < d->nanswers; i++)
		if (d->answer[i].ask)
			daemon_say(d, d->answer[i].ask, d->answer[i].body);
	d->nanswers = 0;
	daemon_check_waiters(d);
	daemon_check_allocs(d);
}

/*
 * Carry out stops and signals although nothing can be stored and they are not
 * committed. Nothing is lost if the daemon crashes before the commit: the next
 * daemon finds exceeded time limits again, and no user was told that a cancel
 * is stored.
 */
static void carry_out_stops(struct daemon *d)
{
	const struct effect *effect;
	size_t n = state_effects(d->state, &effect);

	for (; d->nstops < n; d->nstops++)
		if (is_urgent(&effect[d->nstops]))
			daemon_do_effect(d, &effect[d->nstops]);
}

/* Answer requests to cancel at once. They must not wait for free space, as the
 * jobs to be cancelled may be those that fill the disk. All other answers wait
 * until their requests are stored. */
static void answer_stops(struct daemon *d)
{
	struct err err;

	if (d->full_err.code == ESTALE)
		err_set(&err, ESTALE,
		        "this is done, but not stored, as the database '%s' "
		        "was removed or replaced: repeat it if the daemon "
		        "restarts",
		        store_path(d->store));
	else
		err_set(&err, ENOSPC,
		        "this is done, but not stored, as the disk of '%s' is "
		        "full: repeat it if the daemon restarts before there "
		        "is space",
		        d->state_dir);
	for (size_t i = 0; i < d->nanswers; i++) {
		struct answer *a = &d->answer[i];

		if (!a->ask || op_of(d, a->ask) != OP_cancel)
			continue;
		if (json_integer_value(json_object_get(a->body, "count"))) {
			json_decref(a->body);
			daemon_refuse(d, a->ask, &err);
		} else {
			daemon_say(d, a->ask, a->body);
		}
		a->ask = NULL;
	}
}

static void arm_tick(struct daemon *d)
{
	int64_t at = state_next_tick(d->state);

	if (at == NO_TIME) {
		event_del(d->tick);
		return;
	}
	daemon_arm(d->tick, (double)(at * 1000000 - clock_wall_us()) / 1e3);
}

static void turn(struct daemon *d)
{
	double began_ms = clock_fine_ms();

	think(d);
	if (commit(d)) {
		tell(d);
		scaler_go(d->scaler);
		mailer_check(d->mailer);
	} else {
		carry_out_stops(d);
		answer_stops(d);
	}
	run_laters(d);
	daemon_slice_readings(d);
	daemon_check_logs(d);
	/* The tell step may have changed the state: commit that in another
	 * turn, in which the next part of a plan is applied, too. */
	if (can_apply(d) || (!d->unwritten && state_is_dirty(d->state)))
		daemon_arm(d->again, 0);
	else if (!d->full && !d->pass && state_wants_plan(d->state))
		daemon_arm(d->pace, d->next_pass_ms - clock_fine_ms());
	arm_tick(d);
	d->turns++;
	histogram_add(&d->turn_s, histogram_steps,
	              (clock_fine_ms() - began_ms) / 1e3);
	if (steps_of_turn() > d->steps_max)
		d->steps_max = steps_of_turn();
	steps_begin_turn();
}

/* --- the loop ----------------------------------------------------------- */

static void notify_systemd(const char *text)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	size_t len = path ? strlen(path) : 0;
	int fd;

	if (!len || len >= sizeof(un.sun_path))
		return;
	memcpy(un.sun_path, path, len);
	if (path[0] == '@')
		un.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	if (sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&un,
	           (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) <
	    0)
		log_warning("systemd cannot be told '%s'", text);
	close(fd);
}

static void reload_on_hup(struct daemon *d)
{
	struct buf warnings = { 0 };
	const char *line;
	struct err err;
	size_t len;

	d->reload = false;
	if (daemon_reload(d, &warnings, &err) < 0)
		log_err("configuration not reloaded: %s", err.text);
	else
		daemon_note_signal(d, "reload", "configuration", "SIGHUP");
	for (const char *at = warnings.data; (line = text_line(&at, &len));)
		log_warning("%.*s", (int)len, line);
	buf_free(&warnings);
}

/* When the daemon ends, give peers that still read their answers a short time
 * to do so. */
static void say_last_words(struct daemon *d)
{
	double until = clock_fine_ms() + LAST_WORDS_MS;

	while (!rpc_stop(d->rpc) && clock_fine_ms() < until) {
		daemon_arm(d->again, LAST_WORDS_MS / 20);
		event_base_loop(d->base, EVLOOP_ONCE);
	}
}

int daemon_run(struct daemon *d)
{
	notify_systemd("READY=1");
	log_notice("daemon ready cluster=%s", d->conf->cluster);
	turn(d); /* carry out what the loaded state still has to do */
	while (!d->quit) {
		event_base_loop(d->base, EVLOOP_ONCE);
		if (d->reload)
			reload_on_hup(d);
		turn(d);
	}
	notify_systemd("STOPPING=1");
	say_last_words(d);
	log_notice("daemon stopped; jobs go on");
	return 0;
}
