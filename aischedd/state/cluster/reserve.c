/* reserve.c - reservations: nodes kept for some users, or for nobody */
#include "aischedd/state/cluster/reserve.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/state/cluster/node.h"
#include "aischedd/state/cluster/window.h"
#include "aischedd/state/life/lifecycle.h"
#include "aischedd/state/pass/snap_node.h"
#include "aischedd/state/pass/sweep.h"
#include "aischedd/state/state_priv.h"
#include "libcommon/conf/conf_keys.h"
#include "libcommon/hostlist.h"
#include "libcommon/mem.h"

enum {
	DAY_S = 24 * 60 * 60,
	/* a reservation may begin this many seconds from now at the latest, and
	 * last this long at most */
	HORIZON_S = 366 * DAY_S,
	/* a start may lie this many seconds in the past, so that "now"
	 * is allowed */
	LATE_S = 60
};

static struct window window_of(const struct reservation *r)
{
	return (struct window){ r->start, r->end, r->repeat };
}

/* --- find reservations ---------------------------------------------------- */

size_t state_nreservations(const struct state *state)
{
	return state->reservations.n;
}

const struct reservation *state_reservation(const struct state *state, size_t i)
{
	return &state->reservations.resv[i];
}

struct reservation *reserve_find(const struct state *state, const char *name)
{
	for (size_t i = 0; i < state->reservations.n; i++)
		if (!strcmp(state->reservations.resv[i].name, name))
			return &state->reservations.resv[i];
	return NULL;
}

static bool keeps(const struct reservation *r, uint32_t node)
{
	for (uint32_t i = 0; i < r->nnodes; i++)
		if (r->node[i] == node)
			return true;
	return false;
}

const struct reservation *state_node_reserved(const struct state *state,
                                              uint32_t node, int64_t at)
{
	for (size_t i = 0; i < state->reservations.n; i++) {
		const struct reservation *r = &state->reservations.resv[i];

		if (r->start <= at && at < r->end && keeps(r, node))
			return r;
	}
	return NULL;
}

void state_reservation_nodes(const struct state *state,
                             const struct reservation *r, bool by_pool,
                             struct buf *out)
{
	const char **name = xcalloc(r->nnodes + 1, sizeof(*name));

	for (uint32_t i = 0; i < r->nnodes; i++)
		name[i] = by_pool ? state->nodes.node[r->node[i]].full
		                  : state_node_label(state, r->node[i]);
	hostlist_format(name, r->nnodes, out);
	free(name);
}

static void resv_fini(struct reservation *r)
{
	free(r->name);
	free(r->users);
	free(r->guests);
	free(r->node);
}

void reserve_free(struct state *state)
{
	for (size_t i = 0; i < state->reservations.n; i++)
		resv_fini(&state->reservations.resv[i]);
	free(state->reservations.resv);
}

/* --- update what depends on reservations -------------------------------- */

void reserve_arm(struct state *state, int64_t now)
{
	state->reservations.next = NO_TIME;
	for (size_t i = 0; i < state->reservations.n; i++) {
		const struct reservation *r = &state->reservations.resv[i];
		int64_t at = r->start > now ? r->start : r->end;

		if (state->reservations.next == NO_TIME ||
		    at < state->reservations.next)
			state->reservations.next = at;
	}
}

/* Update everything that depends on reservations after one has changed: the
 * rows of jobs that name one, and state->gen, which makes plans stale. */
static void changed(struct state *state, int64_t now)
{
	state->reservations.dirty = true;
	reserve_arm(state, now);
	sweep_begin(state, SWEEP_RESERVED, now);
	state->gen++;
	state_replan(state);
}

/* --- choose nodes for a reservation ------------------------------------ */

/* Find the reservations that are in force at some time of the window w or of a
 * repetition of it. */
static void find_meeting(struct state *state, struct window w)
{
	for (size_t i = 0; i < state->reservations.n; i++) {
		struct reservation *r = &state->reservations.resv[i];

		r->meets = windows_meet(w, window_of(r));
	}
}

/* Returns a reservation that find_meeting() has found and that keeps the node,
 * or NULL. */
static const struct reservation *kept_by(const struct state *state,
                                         uint32_t node)
{
	for (size_t i = 0; i < state->reservations.n; i++) {
		const struct reservation *r = &state->reservations.resv[i];

		if (r->meets && keeps(r, node))
			return r;
	}
	return NULL;
}

static int by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void sort_nodes(struct reservation *r)
{
	uint32_t n = 0;

	qsort(r->node, r->nnodes, sizeof(*r->node), by_number);
	for (uint32_t i = 0; i < r->nnodes; i++)
		if (!n || r->node[i] != r->node[n - 1])
			r->node[n++] = r->node[i];
	r->nnodes = n;
}

static int named_node(struct state *state, struct reservation *r, size_t *cap,
                      const char *name, struct err *err)
{
	const struct reservation *other;
	bool found = false;

	for (int n = state_node_expect(state, name); n >= 0;
	     n = state_node_next(state, name, n)) {
		const struct node *node = &state->nodes.node[n];

		if (node->gone && state_pool_is_ready(state, node->pool))
			continue;
		found = true;
		other = kept_by(state, (uint32_t)n);
		if (other)
			return err_set(err, EBUSY,
			               "reservation '%s' keeps node '%s' at "
			               "that time",
			               other->name, name);
		r->node = GROW(r->node, r->nnodes, cap);
		r->node[r->nnodes++] = (uint32_t)n;
	}
	if (found)
		return 0;
	return err_set(err, ENOENT,
	               "there is no node '%s'; `aiq --nodes` lists them", name);
}

static int named_nodes(struct state *state, struct reservation *r,
                       const char *text, struct err *err)
{
	struct hostlist list;
	size_t cap = 0;
	int result = 0;

	if (hostlist_parse(&list, text, err) < 0)
		return -1;
	for (size_t i = 0; i < list.n && result == 0; i++)
		result = named_node(state, r, &cap, list.name[i], err);
	hostlist_free(&list);
	if (result == 0 && !r->nnodes)
		result = err_set(err, EINVAL, "no nodes are named");
	return result;
}

static void mark(const struct placement *p, bool *busy)
{
	for (uint32_t i = 0; p && i < p->ntasks; i++)
		busy[p->task[i].node] = true;
}

/* Returns a rank for each node; 0 is the best. A node on which a job may still
 * run at `start` gets 1, and a node that is not up gets 2 more. The caller
 * frees the array with free(). */
static int *rank_nodes(const struct state *state, int64_t start)
{
	int *rank = xcalloc(state->nodes.n + 1, sizeof(*rank));
	bool *busy = xcalloc(state->nodes.n + 1, sizeof(*busy));

	for (const struct job *job = state->records.placed; job;
	     job = job->row_next) {
		int64_t due = job_due(job);

		if (due != NO_TIME && due <= start)
			continue;
		mark(job->place, busy);
		mark(job->runs->leaving, busy);
	}
	for (size_t i = 0; i < state->nodes.n; i++)
		rank[i] = 2 * (node_status(&state->nodes.node[i]) != NODE_UP) +
		          busy[i];
	free(busy);
	return rank;
}

static int pool_of(const struct state *state, const char *name, struct err *err)
{
	int pool = name ? conf_pool_find(state->conf, name) : 0;

	if (!name && state->conf->npools != 1)
		return err_set(err, EINVAL,
		               "there are several pools: name one of them");
	if (pool < 0)
		return err_set(err, ENOENT, "there is no pool '%s'", name);
	return pool;
}

static int nodes_of_pool(const struct state *state, struct reservation *r,
                         const struct reserve_ask *ask, struct err *err)
{
	int pool = pool_of(state, ask->pool, err);
	int *rank;

	if (pool < 0)
		return -1;
	rank = rank_nodes(state, r->start);
	r->node = xcalloc(state->nodes.n + 1, sizeof(*r->node));
	for (int worst = 0; worst < 4; worst++)
		for (uint32_t i = 0; i < state->nodes.n; i++)
			if (r->nnodes < ask->count && rank[i] == worst &&
			    (int)state->nodes.node[i].pool == pool &&
			    !state->nodes.node[i].gone && !kept_by(state, i))
				r->node[r->nnodes++] = i;
	free(rank);
	if (r->nnodes == ask->count && ask->count)
		return 0;
	if (!state_pool_is_ready(state, (uint32_t)pool))
		return err_set(err, EAGAIN,
		               "pool '%s' has not listed its nodes yet: try "
		               "again, or name them",
		               state->conf->pools[pool].name);
	return err_set(err, EBUSY,
	               "pool '%s' has only %u of the %u nodes free at that "
	               "time",
	               state->conf->pools[pool].name, r->nnodes, ask->count);
}

/* --- make and delete reservations -------------------------------------- */

static int check_times(const struct reserve_ask *ask, int64_t now,
                       struct err *err)
{
	int days = repeat_days(ask->repeat);

	if (ask->end <= ask->start)
		return err_set(err, EINVAL, "it would end before it begins");
	if (ask->start < now - LATE_S || ask->end <= now)
		return err_set(err, EINVAL, "it would begin in the past");
	if (ask->start > now + HORIZON_S ||
	    ask->end - ask->start > (int64_t)HORIZON_S)
		return err_set(err, EINVAL,
		               "it must begin within a year and last at most a "
		               "year");
	if (days && ask->end - ask->start >= (int64_t)days * DAY_S)
		return err_set(
		    err, EINVAL, "a %s reservation must be shorter than %s",
		    repeat_name(ask->repeat), days == 1 ? "a day" : "a week");
	return 0;
}

static int check_ask(const struct state *state, const struct reserve_ask *ask,
                     int64_t now, struct err *err)
{
	if (conf_check_name(ask->name, err) < 0 ||
	    check_times(ask, now, err) < 0)
		return -1;
	if (reserve_find(state, ask->name))
		return err_set(err, EEXIST,
		               "there is a reservation '%s' already",
		               ask->name);
	if (state->reservations.n == LIMIT_RESERVATIONS)
		return err_set(err, EAGAIN,
		               "there are %d reservations, the most allowed",
		               LIMIT_RESERVATIONS);
	if (strlen(ask->users) > LIMIT_TEXT)
		return err_set(err, EINVAL,
		               "the list of users has more than %d bytes",
		               LIMIT_TEXT);
	return 0;
}

static void add(struct state *state, struct reservation *r,
                const struct reserve_ask *ask, const char *guests)
{
	sort_nodes(r);
	r->name = xstrdup(ask->name);
	r->users = xstrdup(ask->users);
	r->guests = xstrdup(guests);
	state->reservations.resv =
	    GROW(state->reservations.resv, state->reservations.n,
	         &state->reservations.cap);
	state->reservations.resv[state->reservations.n++] = *r;
}

int state_reserve(struct state *state, const struct reserve_ask *ask,
                  int64_t now, struct err *err)
{
	struct reservation r = { .start = ask->start > now ? ask->start : now,
		                 .end = ask->end,
		                 .repeat = ask->repeat };
	int result = check_ask(state, ask, now, err);

	if (result == 0) {
		find_meeting(state, window_of(&r));
		result = ask->nodes ? named_nodes(state, &r, ask->nodes, err)
		                    : nodes_of_pool(state, &r, ask, err);
	}
	if (result < 0) {
		free(r.node);
		return -1;
	}
	add(state, &r, ask, "");
	changed(state, now);
	return 0;
}

static void drop(struct state *state, struct reservation *r)
{
	size_t at = (size_t)(r - state->reservations.resv);

	resv_fini(r);
	memmove(r, r + 1, (--state->reservations.n - at) * sizeof(*r));
}

int state_unreserve(struct state *state, const char *name, int64_t now,
                    struct err *err)
{
	struct reservation *r = reserve_find(state, name);

	if (!r)
		return err_set(err, ENOENT, "there is no reservation '%s'",
		               name);
	drop(state, r);
	changed(state, now);
	return 0;
}

int state_load_reservation(struct state *state, const struct reserve_ask *ask,
                           const char *guests, struct err *err)
{
	struct reservation r = { .start = ask->start,
		                 .end = ask->end,
		                 .repeat = ask->repeat };
	struct hostlist list;

	if (hostlist_parse(&list, ask->nodes, err) < 0)
		return err_wrap(err, "reservation '%s'", ask->name);
	r.node = xcalloc(list.n + 1, sizeof(*r.node));
	for (size_t i = 0; i < list.n; i++)
		r.node[r.nnodes++] = node_intern(state, list.name[i]);
	hostlist_free(&list);
	add(state, &r, ask, guests);
	return 0;
}

/* --- begin and end of reservations ---------------------------------------- */

static bool names(const struct job *job, const char *name)
{
	struct spec spec;

	if (!job->reserved)
		return false;
	spec_unpack(&spec, job->packed);
	return !strcmp(spec.reservation, name);
}

/* The reservation is over: stop the running jobs that name it and have no
 * time limit. */
static void clear(struct state *state, const struct reservation *r, int64_t now)
{
	struct event_in ev = { .kind = EV_time_limit, .now = now };

	for (struct job *job = state->records.placed, *next; job; job = next) {
		next = job->row_next;
		if (job->time_limit == TIME_UNLIMITED && names(job, r->name))
			state_event(state, job, &ev, NULL);
	}
}

void reserve_tick(struct state *state, int64_t now)
{
	for (size_t i = 0; i < state->reservations.n;) {
		struct reservation *r = &state->reservations.resv[i];
		struct window w = window_of(r);

		if (w.end <= now)
			clear(state, r, now);
		while (w.end <= now && window_next(&w))
			;
		if (w.end <= now) {
			drop(state, r);
			continue;
		}
		r->start = w.start;
		r->end = w.end;
		i++;
	}
	changed(state, now);
}
