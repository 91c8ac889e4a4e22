/* cron_run.c - submit runs of recurring work in the name of their owners */
#include "aischedd/op/cron_run.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/op/access.h"
#include "aischedd/op/audit.h"
#include "aischedd/op/submit.h"
#include "aischedd/rpc/ident.h"
#include "aischedd/state/life/cron.h"
#include "aischedd/state/life/lifecycle.h"
#include "aischedd/state/life/submit.h"
#include "aischedd/store/blob.h"
#include "aischedd/thread.h"
#include "libcommon/clock.h"
#include "libcommon/cron/zones.h"
#include "libcommon/log.h"
#include "libcommon/mem.h"

enum {
	/* most runs that are submitted or refused in one turn, so that other
	 * work need not wait for long */
	BATCH = 200,
	/* seconds until the next try if the disk was full or the owner could
	 * not be looked up */
	RETRY_S = 10,
};

/* A run of an entry that is due. Its owner is looked up before it
 * is submitted. */
struct cron_due {
	uint64_t entry;
	bool by_hand;
	struct kept_ask ask; /* the request to answer, if by_hand */
	uint32_t uid, gid;
	char *user;
	struct peer *owner; /* NULL: the look-up failed, and err says why */
	struct err err;
};

struct crons {
	struct thread_task task;
	struct daemon *d;
	struct thread *thread; /* asks the name service */
	struct zones *zones;
	/* runs whose owners are still to be looked up, from due[0] on */
	struct cron_due *due;
	size_t n, cap;
	/* runs whose owners the thread is looking up now */
	struct cron_due batch[BATCH];
	size_t nbatch;
};

/* --- submitting one run ------------------------------------------------- */

static void end_run(struct daemon *d, uint64_t id, int64_t now)
{
	const struct event_in ev = { .kind = EV_cancel, .now = now };
	const struct array *array = state_array(d->state, id);
	struct job *job = array ? array->first : state_job(d->state, id), *next;

	for (; job; job = next) {
		next = array ? job->array_next : NULL;
		if (!job_state_is_final((enum job_state)job->state))
			state_event(d->state, job, &ev, NULL);
	}
}

void cron_end_runs(struct daemon *d, struct cron_entry *e)
{
	int64_t now = clock_wall_s();
	const uint64_t *run;
	size_t n = state_cron_live(d->state, e, &run);

	for (size_t i = 0; i < n; i++)
		end_run(d, run[i], now);
}

/* Check the script's size against max_script_size, which may have been lowered
 * since the entry was made. */
static int check_script(struct daemon *d, const struct cron_entry *e,
                        struct err *err)
{
	struct buf script = { 0 };
	int rc = store_blob_get(d->store, e->script, &script, err);

	if (rc == 0 && script.len > (size_t)d->conf->max_script_size)
		rc = err_set(err, EFBIG,
		             "the script has %zu bytes, at most %lld are taken "
		             "(max_script_size)",
		             script.len, (long long)d->conf->max_script_size);
	buf_free(&script);
	return rc;
}

/* Submit the entry's job for this time of its schedule. The job is stored with
 * this turn's commit. */
static int start(struct daemon *d, struct cron_entry *e,
                 const struct peer *owner, int64_t time, uint64_t *ret,
                 struct err *err)
{
	struct submitter who = access_submitter(owner);
	int64_t now = clock_wall_s();
	struct spec spec;
	uint64_t ahead = 0;
	uint32_t queue;

	spec_unpack(&spec, e->packed);
	state_cron_spec(d->state, e, time, &spec);
	if (check_script(d, e, err) < 0 ||
	    submit_check_one(d, owner, &spec, &ahead, &queue, err) < 0)
		return -1;
	if (e->rule.policy == CRON_REPLACE)
		cron_end_runs(d, e);
	*ret = state_take_ids(d->state, 1);
	state_submit(d->state, &spec, &who, queue, e->script, e->env, *ret,
	             now);
	state_cron_ran(d->state, e, *ret, time);
	log_info("cron run cron=%llu job=%llu user=%s time=%lld",
	         (unsigned long long)e->id, (unsigned long long)*ret,
	         owner->user, (long long)time);
	return 0;
}

static void refused(struct daemon *d, struct cron_entry *e,
                    const struct err *err, int64_t now)
{
	log_notice("cron refused cron=%llu: %s", (unsigned long long)e->id,
	           err->text);
	state_cron_refused(d->state, e, err->text, now);
}

/* Submit the run of an entry whose time has come, or note why it was refused.
 * If the disk is full or the name service failed, try again after RETRY_S. */
static void run_due(struct daemon *d, struct cron_entry *e,
                    const struct cron_due *due)
{
	int64_t now = clock_wall_s(), time;
	struct err err = due->err;
	uint64_t job;

	if (d->full || (!due->owner && due->err.code != ENOENT)) {
		state_cron_later(d->state, e, now + RETRY_S);
		return;
	}
	if (!state_cron_take(d->state, e, d->started, now, &time))
		return;
	if (!due->owner)
		state_cron_block(d->state, e, err.text);
	else if (start(d, e, due->owner, time, &job, &err) == 0)
		return;
	refused(d, e, &err, now);
}

static int try_by_hand(struct daemon *d, struct cron_entry *e,
                       const struct cron_due *due, uint64_t *ret,
                       struct err *err)
{
	const uint64_t *run;

	*err = due->err;
	if (d->full)
		*err = d->full_err;
	if (d->full || !due->owner)
		return -1;
	if (e->rule.policy == CRON_FORBID && state_cron_live(d->state, e, &run))
		return err_set(
		    err, EBUSY, "job %llu of cron entry %llu has not ended",
		    (unsigned long long)run[0], (unsigned long long)e->id);
	return start(d, e, due->owner, clock_wall_s(), ret, err);
}

static void run_by_hand(struct daemon *d, struct cron_entry *e,
                        const struct cron_due *due)
{
	struct err err;
	uint64_t job;
	int rc;

	if (e)
		rc = try_by_hand(d, e, due, &job, &err);
	else
		rc = err_set(&err, ENOENT, "there is no cron entry %llu",
		             (unsigned long long)due->entry);
	if (!daemon_is_open(d, &due->ask))
		return;
	if (rc < 0)
		daemon_refuse(d, due->ask.ask, &err);
	else
		daemon_answer(d, due->ask.ask,
		              json_pack("{s:I}", "job_id", (json_int_t)job));
}

/* --- looking up owners, in batches -------------------------------------- */

static void due_fini(struct cron_due *due)
{
	free(due->user);
	free(due->owner);
}

/* Look up the owners of the batch. This runs on the thread, as the name service
 * may be slow. */
static void ask_owners(struct thread_task *task)
{
	struct crons *c = (struct crons *)(void *)task;

	for (size_t i = 0; i < c->nbatch; i++) {
		struct cron_due *due = &c->batch[i];

		due->owner =
		    ident_owner(due->uid, due->gid, due->user, &due->err);
	}
}

static void begin(struct crons *c)
{
	if (c->nbatch || !c->n)
		return;
	c->nbatch = c->n < BATCH ? c->n : BATCH;
	memcpy(c->batch, c->due, c->nbatch * sizeof(*c->due));
	c->n -= c->nbatch;
	memmove(c->due, c->due + c->nbatch, c->n * sizeof(*c->due));
	thread_do(c->thread, &c->task);
}

static void run_batch(struct thread_task *task)
{
	struct crons *c = (struct crons *)(void *)task;
	struct daemon *d = c->d;

	for (size_t i = 0; i < c->nbatch; i++) {
		struct cron_due *due = &c->batch[i];
		struct cron_entry *e = state_cron(d->state, due->entry);

		if (due->by_hand)
			run_by_hand(d, e, due);
		else if (e)
			run_due(d, e, due);
		due_fini(due);
	}
	c->nbatch = 0;
	begin(c);
}

static void add(struct daemon *d, const struct cron_entry *e,
                const struct cron_due *due)
{
	struct crons *c = d->crons;

	c->due = GROW(c->due, c->n, &c->cap);
	c->due[c->n] = *due;
	c->due[c->n].uid = e->uid;
	c->due[c->n].gid = e->gid;
	c->due[c->n++].user = xstrdup(state_user(d->state, e->user)->name);
	begin(c);
}

void daemon_cron_due(struct daemon *d, uint64_t entry)
{
	struct cron_entry *e = state_cron(d->state, entry);

	if (e)
		add(d, e, &(struct cron_due){ .entry = entry });
}

void cron_run_by_hand(struct daemon *d, struct cron_entry *e, struct ask *ask)
{
	add(d, e,
	    &(struct cron_due){
		.entry = e->id, .by_hand = true, .ask = daemon_keep(d, ask) });
}

/* --- setup, and functions for other files ------------------------------- */

static const struct zone *get_zone(const char *name, struct err *err, void *arg)
{
	struct crons *c = arg;

	return zones_get(c->zones, name, err);
}

void daemon_cron_recheck(struct daemon *d)
{
	zones_refresh(d->crons->zones);
	state_cron_recheck(d->state, clock_wall_s());
}

struct thread *cron_names(const struct daemon *d)
{
	return d->crons->thread;
}

int daemon_new_crons(struct daemon *d, struct err *err)
{
	struct crons *c = xcalloc(1, sizeof(*c));

	d->crons = c;
	c->task = (struct thread_task){ .work = ask_owners, .done = run_batch };
	c->d = d;
	c->zones = zones_new();
	state_cron_zones(d->state, get_zone, c);
	c->thread = thread_new(d->base, err);
	return c->thread ? 0 : -1;
}

void daemon_free_crons(struct daemon *d)
{
	struct crons *c = d->crons;

	if (!c)
		return;
	thread_free(c->thread);
	for (size_t i = 0; i < c->nbatch; i++)
		due_fini(&c->batch[i]);
	for (size_t i = 0; i < c->n; i++)
		due_fini(&c->due[i]);
	free(c->due);
	zones_free(c->zones);
	free(c);
}
