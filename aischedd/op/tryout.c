/* tryout.c - plan jobs without submitting them (--test-only) */
#include "aischedd/op/tryout.h"

#include <stdlib.h>

#include "aischedd/op/access.h"
#include "aischedd/op/submit.h"
#include "aischedd/read/listing_devices.h"
#include "aischedd/session.h"
#include "aischedd/state/pass/sweep.h"
#include "aischedd/state/pass/what_if.h"
#include "aischedd/thread.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"
#include "libcommon/steps.h"
#include "libcommon/topology.h"

/* The loop's thread plans a snapshot that has at most this number of rows and
 * nodes. */
enum { TRY_INLINE = 500 };

/* A request to plan jobs without submitting them. Requests form a list; the
 * first one is being served. */
struct tryout {
	struct thread_task task;
	struct tryout *next;
	struct daemon *d;
	struct kept_ask ask;
	struct peer *peer;
	json_t *body; /* the request's body, from which the specs borrow */
	struct tryout_ask what;
	/* name of the first job's queue */
	const char *queue;
	/* time has passed since the jobs were checked, so check them again */
	bool waited;
	/* its next job is planned when the state no longer sweeps */
	bool held_up;
	/* index of the job that is planned now */
	size_t at;
	/* The job prefers few NUMA nodes or link groups, and would start
	 * without these: it is planned again, demanding them. */
	bool demands;
	struct spec demand;
	struct state_test *test; /* NULL: no job is being planned */
	struct arena *past;      /* snapshot of the last test; NULL: freed */
	int result;              /* result of the last test */
	struct err why;
	uint64_t steps;
	json_t *tests;
};

static void tryout_free(struct tryout *t)
{
	state_test_free(t->d->state, t->test);
	arena_free(t->past);
	free(t->peer);
	json_decref(t->body);
	arena_free(t->what.arena);
	json_decref(t->what.next);
	json_decref(t->tests);
	free(t);
}

static json_t *id_list(const uint64_t *id, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, json_integer((json_int_t)id[i]));
	return list;
}

/* Returns the job that is planned now. */
static const struct spec *spec_now(const struct tryout *t)
{
	return t->demands ? &t->demand : &t->what.spec[t->at];
}

static json_t *show(const struct tryout *t, const struct what_if *w,
                    const char *text)
{
	struct buf devices = { 0 };
	json_t *ret;

	if (w->place)
		listing_devices(t->d->state, w->place, spec_now(t)->gpu_type,
		                &devices);
	ret = json_pack(
	    "{s:b, s:s, s:s, s:o, s:o, s:s, s:s?, s:o}", "starts", w->starts,
	    "reason", reason_name(w->why), "reason_text", text,
	    "expected_start",
	    w->expected == NO_TIME ? json_null() : json_integer(w->expected),
	    "position", w->position ? json_integer(w->position) : json_null(),
	    "nodes", w->nodes.data ? w->nodes.data : "", "devices",
	    devices.data, "evicts", id_list(w->evict, w->nevicts));
	buf_free(&devices);
	return ret;
}

/* Whether the only job of the request, which would start as `w` says, prefers
 * fewer NUMA nodes or link groups than it would get. Sets t->demand to the
 * same job that demands them. */
static bool misses_wish(struct tryout *t, const struct what_if *w)
{
	const struct spec *spec = &t->what.spec[t->at];
	bool numas, links;

	if (t->what.n > 1 || t->demands || !w->place)
		return false;
	listing_apart(t->d->state, w->place, &numas, &links);
	numas &= numa_parse(spec->numa) == NUMA_PREFER;
	links &= links_parse(spec->links) == LINKS_PREFER;
	t->demand = *spec;
	if (numas)
		t->demand.numa = "tight";
	if (links)
		t->demand.links = "strict";
	return numas || links;
}

/* Add what became of the job that demands what was preferred only, unless it
 * would start just as well. */
static void add_demand(struct tryout *t, const struct what_if *w,
                       const char *text)
{
	json_t *test = json_array_get(t->tests, t->at);
	json_t *demand;

	if (w->starts)
		return;
	demand = show(t, w, text);
	json_object_update_new(demand,
	                       json_pack("{s:s?, s:s?}", "numa", t->demand.numa,
	                                 "links", t->demand.links));
	json_object_set_new(test, "demand", demand);
}

/* Begin to plan a job. Fails if it may no longer be submitted. */
static int begin(struct tryout *t, struct err *err)
{
	struct daemon *d = t->d;
	const struct spec *spec = spec_now(t);
	struct submitter who = access_submitter(t->peer);
	uint32_t queue = t->what.queue[t->at];
	uint64_t ahead = 0, before = steps_so_far;

	if ((t->waited || t->demands) &&
	    submit_check_one(d, t->peer, spec, &ahead, &queue, err) < 0)
		return -1;
	t->test = state_test_take(d->state, spec, &who, queue, clock_wall_s());
	t->steps += steps_so_far - before;
	return 0;
}

static void plan(struct tryout *t)
{
	uint64_t before = steps_so_far;

	state_test_plan(t->test);
	t->steps += steps_so_far - before;
}

/* Add the result of the plan to the answer and go on to the next job. Fails
 * with EMSGSIZE if planning took so long that the remaining jobs must not
 * be tried. */
static int end(struct tryout *t, struct err *err)
{
	const char *text;
	const struct what_if *w = state_test_tell(t->d->state, t->test, &text);
	bool again = misses_wish(t, w);

	if (t->demands)
		add_demand(t, w, text);
	else
		json_array_append_new(t->tests, show(t, w, text));
	t->past = state_test_end(t->d->state, t->test);
	t->test = NULL;
	t->demands = again;
	if (again)
		return 0;
	if (++t->at < t->what.n && t->steps > STEPS_TURN / 4)
		return err_set(err, EMSGSIZE,
		               "%zu jobs at once take too long to plan: test "
		               "at most %zu of them at once",
		               t->what.n, t->at);
	return 0;
}

static void answer(struct tryout *t)
{
	json_t *body =
	    json_pack("{s:O, s:s}", "tests", t->tests, "queue", t->queue);

	if (t->what.next)
		json_object_set(body, "next", t->what.next);
	daemon_say(t->d, t->ask.ask, body);
}

static void planned(struct thread_task *task);

static void work(struct thread_task *task)
{
	plan((struct tryout *)(void *)task);
}

static int plan_beside(struct tryout *t, struct err *err)
{
	struct daemon *d = t->d;

	if (!d->trier && !(d->trier = thread_new(d->base, err)))
		return -1;
	t->waited = true;
	t->task = (struct thread_task){ .work = work, .done = planned };
	thread_do(d->trier, &t->task);
	return 1;
}

/* Plan the remaining jobs of the request. Returns 1 if the thread is planning
 * one of them now or the state sweeps, 0 if all have been planned, -1
 * on failure. */
static int go_on(struct tryout *t, struct err *err)
{
	int result;

	while (t->at < t->what.n) {
		if (state_is_sweeping(t->d->state)) {
			t->held_up = t->waited = true;
			return 1;
		}
		if (begin(t, err) < 0) {
			if (!t->demands)
				return -1;
			/* The demand cannot be made in its pools. */
			t->demands = false;
			t->at++;
			continue;
		}
		if (state_test_size(t->test) > TRY_INLINE)
			return plan_beside(t, err);
		plan(t);
		result = end(t, err);
		arena_free(t->past);
		t->past = NULL;
		if (result < 0)
			return -1;
	}
	return 0;
}

/* Answer the first request of the list with this result and remove it. Then
 * serve the following requests, until the list is empty or the thread is
 * planning a job. Does nothing if result is 1: the first request is still
 * being served. */
static void next(struct daemon *d, int result, struct err *err)
{
	while (result <= 0) {
		struct tryout *t = d->tryouts;

		if (daemon_is_open(d, &t->ask) && result < 0)
			daemon_refuse(d, t->ask.ask, err);
		else if (daemon_is_open(d, &t->ask))
			answer(t);
		d->tryouts = t->next;
		tryout_free(t);
		t = d->tryouts;
		if (!t)
			return;
		t->waited = true;
		/* If the sender has disconnected, plan none of its jobs. */
		if (!daemon_is_open(d, &t->ask))
			t->at = t->what.n;
		result = go_on(t, err);
	}
}

void daemon_go_on_trying(struct daemon *d)
{
	struct tryout *t = d->tryouts;
	struct err err;

	if (!t || !t->held_up || state_is_sweeping(d->state))
		return;
	t->held_up = false;
	if (!daemon_is_open(d, &t->ask))
		t->at = t->what.n;
	next(d, go_on(t, &err), &err);
}

static void free_work(struct thread_task *task)
{
	struct tryout *t = (struct tryout *)(void *)task;

	arena_free(t->past);
	t->past = NULL;
}

static void freed(struct thread_task *task)
{
	struct tryout *t = (struct tryout *)(void *)task;
	struct daemon *d = t->d;
	struct err err = t->why;

	if (!daemon_is_open(d, &t->ask))
		t->at = t->what.n;
	next(d, t->result < 0 ? t->result : go_on(t, &err), &err);
}

/* The thread has planned a job: note the result, then let the thread free the
 * snapshot, too. */
static void planned(struct thread_task *task)
{
	struct tryout *t = (struct tryout *)(void *)task;

	t->result = end(t, &t->why);
	t->task = (struct thread_task){ .work = free_work, .done = freed };
	thread_do(t->d->trier, &t->task);
}

int daemon_try(struct daemon *d, struct ask *ask, const struct request_in *in,
               const struct tryout_ask *what, struct err *err)
{
	struct tryout *t = xcalloc(1, sizeof(*t)), **at = &d->tryouts;
	int result = 1;

	*t = (struct tryout){ .d = d,
		              .ask = daemon_keep(d, ask),
		              .peer = session_copy(in->peer),
		              .body = json_incref(in->body),
		              .what = *what,
		              .tests = json_array() };
	t->queue =
	    arena_strdup(what->arena, d->conf->queues[what->queue[0]].name);
	while (*at)
		at = &(*at)->next;
	*at = t;
	if (d->tryouts == t)
		result = go_on(t, err);
	if (result > 0)
		return 0;
	if (result == 0)
		answer(t);
	*at = NULL;
	tryout_free(t);
	return result;
}

void daemon_free_tryouts(struct daemon *d)
{
	struct tryout *t;

	while ((t = d->tryouts)) {
		d->tryouts = t->next;
		tryout_free(t);
	}
}
