/*
 * alloc.c - allocations: jobs without a script, whose clients wait for them
 *
 * While an allocation waits to start, its client keeps a connection to the
 * daemon: if the connection is lost, the job is cancelled. When the job has
 * started, the client connects to the job's shepherd instead, which notices if
 * the client disconnects. An allocation for which no client asks, because its
 * client died or the daemon did not run, is cancelled after ORPHAN_S.
 */
#include "aischedd/op/alloc.h"

#include <event2/event.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "aischedd/op/access.h"
#include "aischedd/op/op.h"
#include "aischedd/op/step.h"
#include "aischedd/state/life/lifecycle.h"
#include "aischedd/state/pass/why.h"
#include "libcommon/clock.h"
#include "libcommon/limits.h"
#include "libcommon/log.h"
#include "libcommon/mem.h"
#include "libcommon/steps.h"

enum { ORPHAN_S = 15 };

/* An allocation that has not started yet: in the list `waiting` if its client
 * is connected, else in `orphans`. */
struct alloc_wait {
	TAILQ_ENTRY(alloc_wait) next;
	uint64_t job;
	struct kept_ask ask;
	/* the client was sent the reason why the job waits */
	bool told;
	/* in `orphans`: the time at which the job is cancelled unless a client
	 * asks for it before */
	int64_t due_ms;
};

TAILQ_HEAD(alloc_list, alloc_wait);

struct allocs {
	struct alloc_list waiting; /* never more than there are connections */
	struct alloc_list orphans; /* sorted by due_ms */
	struct event *timer;       /* fires when the first orphan is due */
};

static bool is_waiting(const struct job *job)
{
	return job->state == JOB_PENDING || job->state == JOB_CONFIGURING;
}

static void drop(struct alloc_list *list, struct alloc_wait *a)
{
	TAILQ_REMOVE(list, a, next);
	free(a);
}

static void abandon(struct daemon *d, struct job *job)
{
	const struct event_in ev = { .kind = EV_cancel, .now = clock_wall_s() };

	log_info("job cancel job=%llu: nobody waits for this allocation",
	         (unsigned long long)job->id);
	state_event(d->state, job, &ev, NULL);
}

/* --- allocations without a client ----------------------------------------- */

static void arm(struct daemon *d)
{
	const struct alloc_wait *first = TAILQ_FIRST(&d->allocs->orphans);

	if (first)
		daemon_arm(d->allocs->timer,
		           (double)(first->due_ms - clock_ms()));
}

void daemon_add_alloc(struct daemon *d, uint64_t job)
{
	struct alloc_wait *a = xcalloc(1, sizeof(*a));

	a->job = job;
	a->due_ms = clock_ms() + ORPHAN_S * INT64_C(1000);
	TAILQ_INSERT_TAIL(&d->allocs->orphans, a, next);
	if (a == TAILQ_FIRST(&d->allocs->orphans))
		arm(d);
}

static bool has_client(const struct daemon *d, uint64_t job)
{
	const struct alloc_wait *a;

	TAILQ_FOREACH(a, &d->allocs->waiting, next)
		if (a->job == job && daemon_is_open(d, &a->ask))
			return true;
	return false;
}

/* Timer: cancel the orphans whose time is up, if they still wait to start and
 * no client has asked for them. */
static void orphans_due(evutil_socket_t fd, short what, void *arg)
{
	struct daemon *d = arg;
	uint64_t until = steps_so_far + steps_slice();
	struct alloc_wait *a;

	(void)fd, (void)what;
	while (steps_so_far < until && (a = TAILQ_FIRST(&d->allocs->orphans)) &&
	       a->due_ms <= clock_ms()) {
		struct job *job = state_job(d->state, a->job);

		if (job && is_waiting(job) && !has_client(d, a->job))
			abandon(d, job);
		drop(&d->allocs->orphans, a);
		steps_add(LIMIT_CONNS);
	}
	arm(d);
}

/* --- allocations with a client -------------------------------------------- */

/* Send the client the reason why its job waits, if a pass has found one. */
static void tell_why(struct daemon *d, struct alloc_wait *a,
                     const struct job *job)
{
	struct buf text = { 0 };
	int64_t expected = NO_TIME;
	uint32_t position = 0;
	enum reason why;

	if (a->told || job->state != JOB_PENDING)
		return;
	why = state_why(d->state, job, clock_wall_s(), NULL, &expected,
	                &position);
	if (why == WHY_Unevaluated || why == WHY_None)
		return;
	a->told = true;
	buf_printf(&text, "{\"waits\": \"%s\"}\n", reason_name(why));
	rpc_part(a->ask.ask, text.data, text.len);
	buf_free(&text);
}

static void answer(struct daemon *d, const struct alloc_wait *a,
                   const struct job *job)
{
	struct err err;
	json_t *body = job ? step_answer(d, job, &err) : NULL;

	if (!job)
		err_set(&err, ESHUTDOWN, "job %llu has ended",
		        (unsigned long long)a->job);
	if (body)
		daemon_say(d, a->ask.ask, body);
	else
		daemon_refuse(d, a->ask.ask, &err);
}

void daemon_check_allocs(struct daemon *d)
{
	struct alloc_list *list = &d->allocs->waiting;
	struct alloc_wait *a, *next;

	for (a = TAILQ_FIRST(list); a; a = next) {
		struct job *job = state_job(d->state, a->job);
		bool waits = job && is_waiting(job);

		next = TAILQ_NEXT(a, next);
		steps_add(1);
		if (!daemon_is_open(d, &a->ask)) {
			if (waits)
				abandon(d, job);
			drop(list, a);
		} else if (waits) {
			tell_why(d, a, job);
		} else {
			answer(d, a, job);
			drop(list, a);
		}
	}
}

static int check(const struct daemon *d, const struct peer *peer,
                 const struct job *job, const char *text, struct err *err)
{
	struct spec spec;

	if (!job)
		return err_set(err, ENOENT,
		               "job %s has ended, or never existed", text);
	if (job->uid != peer->uid)
		return access_sees(d, peer, job->id, NO_TASK)
		           ? err_set(err, EPERM, "job %s is not yours", text)
		           : err_set(err, ENOENT,
		                     "job %s has ended, or never existed",
		                     text);
	spec_unpack(&spec, job->packed);
	if (spec.allocation != ALLOCATION_HELD &&
	    spec.allocation != ALLOCATION_KEPT)
		return err_set(err, EINVAL,
		               "job %s has a script: it is no allocation",
		               text);
	if (has_client(d, job->id))
		return err_set(err, EBUSY,
		               "another client waits for allocation %s", text);
	return 0;
}

int op_alloc(struct daemon *d, struct ask *ask, const struct request_in *in,
             struct err *err)
{
	const char *text = json_string_value(json_object_get(in->body, "id"));
	const struct job *job;
	struct alloc_wait *a;

	if (!text)
		return err_set(err, EPROTO, "alloc: id is expected");
	if (step_find(d, text, &job, err) < 0 ||
	    check(d, in->peer, job, text, err) < 0)
		return -1;
	a = xcalloc(1, sizeof(*a));
	a->job = job->id;
	a->ask = daemon_keep(d, ask);
	TAILQ_INSERT_TAIL(&d->allocs->waiting, a, next);
	return 0;
}

/* --- setup and end -------------------------------------------------------- */

/* Treat each waiting allocation in the loaded state as an orphan until its
 * client, whose connection ended with the previous daemon, connects again. */
void daemon_new_allocs(struct daemon *d)
{
	const struct job *job = state_first_job(d->state);

	d->allocs = xcalloc(1, sizeof(*d->allocs));
	TAILQ_INIT(&d->allocs->waiting);
	TAILQ_INIT(&d->allocs->orphans);
	d->allocs->timer = evtimer_new(d->base, orphans_due, d);
	for (; job; job = job->all_next) {
		struct spec spec;

		if (!is_waiting(job))
			continue;
		spec_unpack(&spec, job->packed);
		if (spec.allocation == ALLOCATION_HELD)
			daemon_add_alloc(d, job->id);
	}
}

void daemon_free_allocs(struct daemon *d)
{
	struct alloc_wait *a;

	if (!d->allocs)
		return;
	while ((a = TAILQ_FIRST(&d->allocs->waiting)))
		drop(&d->allocs->waiting, a);
	while ((a = TAILQ_FIRST(&d->allocs->orphans)))
		drop(&d->allocs->orphans, a);
	event_free(d->allocs->timer);
	free(d->allocs);
}
