/*
 * rules.c - check limits and quotas, and who may take from whom
 *
 * A plan does not say in which order it was decided. So assume the most
 * favourable order for each eviction: that the claimant's queue used as little,
 * and the victim's queue as much, as was possible at any time.
 */
#include "aischedd/sched/check/audit.h"
#include "aischedd/sched/check/lists.h"

/* The use of queues, each with all queues below it. All members are by queue,
 * unless another index is given. */
struct use {
	int64_t (*base)[RES_N];   /* use before the plan */
	int64_t (*lost)[RES_N];   /* the part of base that evictions take
	                             away */
	int64_t (*frozen)[RES_N]; /* the part of `lost` that suspended jobs
	                             keep */
	int64_t (*more)[RES_N];   /* use added by starts, growth and claims */
	int64_t (*held)[RES_N];   /* the part of `more` used by starts on nodes
	                             that earlier plans claimed */
	int64_t (*firm)[RES_N];   /* the part of `base` and `more` of jobs that
	                             may not be preempted */
	int64_t (*now)[RES_N];  /* use at present, when evicted jobs still run:
	                           by all runs, starts and growth */
	uint8_t (*adds)[RES_N]; /* 1: the plan adds to the use of this resource;
	                           moves do not count */
	/* 1: starts or growth add to the use at present */
	uint8_t (*adds_now)[RES_N];
	uint8_t (*hardens)[RES_N]; /* 1: the plan adds to the use of jobs that
	                              may not be preempted */
	int64_t *jobs, *starts;
	int64_t *jobs_now, *starts_now; /* jobs and starts at present */
	uint32_t *limited;              /* by queue: its row in `user`, or
	                                   SNAP_NONE if it does not limit
	                                   users */
	int64_t (*user)[2];  /* by limited queue and user: jobs, GPUs */
	uint8_t (*rises)[2]; /* by limited queue and user: 1 if the plan adds to
	                        this */
	int64_t (*user_now)[2];
	uint8_t (*rises_now)[2];
	int64_t *license; /* by licence: how many are free */
};

static struct use *use_new(const struct audit *a)
{
	const struct snap *s = a->s;
	struct use *u = arena_array(a->arena, struct use, 1);
	uint32_t n = s->queue.n, limited = 0;

	u->base = arena_alloc(a->arena, n, sizeof(*u->base));
	u->lost = arena_alloc(a->arena, n, sizeof(*u->lost));
	u->frozen = arena_alloc(a->arena, n, sizeof(*u->frozen));
	u->more = arena_alloc(a->arena, n, sizeof(*u->more));
	u->now = arena_alloc(a->arena, n, sizeof(*u->now));
	u->adds_now = arena_alloc(a->arena, n, sizeof(*u->adds_now));
	u->held = arena_alloc(a->arena, n, sizeof(*u->held));
	u->firm = arena_alloc(a->arena, n, sizeof(*u->firm));
	u->adds = arena_alloc(a->arena, n, sizeof(*u->adds));
	u->hardens = arena_alloc(a->arena, n, sizeof(*u->hardens));
	u->jobs = arena_array(a->arena, int64_t, n);
	u->starts = arena_array(a->arena, int64_t, n);
	u->jobs_now = arena_array(a->arena, int64_t, n);
	u->starts_now = arena_array(a->arena, int64_t, n);
	u->limited = arena_array(a->arena, uint32_t, n);
	for (uint32_t q = 0; q < n; q++) {
		bool is = s->queue.max_jobs_user[q] != CONF_NONE ||
		          s->queue.max_gpus_user[q] != CONF_NONE;

		u->limited[q] = is ? limited++ : SNAP_NONE;
	}
	u->user = arena_alloc(a->arena, (size_t)limited * s->user.n,
	                      sizeof(*u->user));
	u->rises = arena_alloc(a->arena, (size_t)limited * s->user.n,
	                       sizeof(*u->rises));
	u->user_now = arena_alloc(a->arena, (size_t)limited * s->user.n,
	                          sizeof(*u->user_now));
	u->rises_now = arena_alloc(a->arena, (size_t)limited * s->user.n,
	                           sizeof(*u->rises_now));
	u->license = arena_array(a->arena, int64_t, s->license.n);
	for (uint32_t i = 0; i < s->license.n; i++)
		u->license[i] = s->license.free[i];
	return u;
}

static void amount_of(const struct snap *s, uint32_t req, int64_t tasks,
                      int64_t ret[RES_N])
{
	ret[RES_CPU] = tasks * s->req.cpus[req];
	ret[RES_MEM] = tasks * s->req.mem[req];
	ret[RES_GPU] = tasks * s->req.gpus[req];
}

static void amount_of_run(const struct snap *s, uint32_t run, int64_t tasks,
                          int64_t ret[RES_N])
{
	amount_of(s, s->run.req[run], tasks, ret);
	if (s->run.suspended[run])
		ret[RES_CPU] = 0;
}

static void add_up(const struct snap *s, int64_t (*use)[RES_N], uint32_t queue,
                   const int64_t amount[RES_N])
{
	for (; queue != SNAP_NONE; queue = s->queue.parent[queue]) {
		for (int r = 0; r < RES_N; r++)
			use[queue][r] += amount[r];
	}
}

/* Add what tasks use to the use at present; with `job`, add one job, too. */
static void add_now(const struct audit *a, struct use *u, uint32_t queue,
                    uint32_t user, bool job, const int64_t amount[RES_N])
{
	const struct snap *s = a->s;

	add_up(s, u->now, queue, amount);
	for (; queue != SNAP_NONE; queue = s->queue.parent[queue]) {
		size_t at = (size_t)u->limited[queue] * s->user.n + user;

		u->jobs_now[queue] += job;
		if (u->limited[queue] == SNAP_NONE)
			continue;
		u->user_now[at][0] += job;
		u->user_now[at][1] += amount[RES_GPU];
	}
}

/* Add a start or growth of this plan to the use at present. */
static void begin_now(const struct audit *a, struct use *u,
                      const struct party *p, const int64_t amount[RES_N])
{
	const struct snap *s = a->s;

	add_now(a, u, p->queue, p->user, p->starts, amount);
	for (uint32_t q = p->queue; q != SNAP_NONE; q = s->queue.parent[q]) {
		size_t at = (size_t)u->limited[q] * s->user.n + p->user;

		u->starts_now[q] += p->starts;
		for (int r = 0; r < RES_N; r++)
			u->adds_now[q][r] |= amount[r] > 0;
		if (u->limited[q] == SNAP_NONE)
			continue;
		u->rises_now[at][0] |= p->starts;
		u->rises_now[at][1] |= amount[RES_GPU] > 0;
	}
}

/* Add jobs and GPUs to a user's counts in all queues that count them. */
static void add_user(const struct audit *a, struct use *u, uint32_t queue,
                     uint32_t user, int64_t jobs, int64_t gpus)
{
	const struct snap *s = a->s;

	for (; queue != SNAP_NONE; queue = s->queue.parent[queue]) {
		size_t at = (size_t)u->limited[queue] * s->user.n + user;

		u->jobs[queue] += jobs;
		if (u->limited[queue] == SNAP_NONE)
			continue;
		u->user[at][0] += jobs;
		u->user[at][1] += gpus;
	}
}

static void use_run(const struct audit *a, struct use *u, uint32_t run)
{
	const struct snap *s = a->s;
	const struct eviction *e = a->out[run];
	uint32_t queue = s->run.queue[run];
	int64_t amount[RES_N];

	amount_of_run(s, run, check_ntasks(s, run), amount);
	add_now(a, u, queue, s->run.user[run],
	        !run || s->run.job[run - 1] != s->run.job[run], amount);
	/* A run that an earlier plan evicted counts only in the use at present.
	 */
	if (s->run.ending[run])
		return;
	add_up(s, u->base, queue, amount);
	if (!s->run.preemptible[run])
		add_up(s, u->firm, queue, amount);
	add_user(a, u, queue, s->run.user[run], 1, amount[RES_GPU]);
	if (!e)
		return;
	amount_of_run(s, run, e->nlosses, amount);
	add_up(s, u->lost, queue, amount);
	if (!e->suspend) {
		add_user(a, u, queue, s->run.user[run],
		         -(int64_t)check_is_whole(a, run), -amount[RES_GPU]);
		return;
	}
	amount[RES_CPU] = 0;
	add_up(s, u->frozen, queue, amount);
}

static void use_party(const struct audit *a, struct use *u,
                      const struct party *p, const int64_t amount[RES_N])
{
	const struct snap *s = a->s;

	add_up(s, u->more, p->queue, amount);
	if (p->firm)
		add_up(s, u->firm, p->queue, amount);
	add_user(a, u, p->queue, p->user, p->starts, amount[RES_GPU]);
	for (uint32_t q = p->queue; q != SNAP_NONE; q = s->queue.parent[q]) {
		uint8_t *rises =
		    u->rises[(size_t)u->limited[q] * s->user.n + p->user];

		for (int r = 0; r < RES_N; r++) {
			u->adds[q][r] |= amount[r] > 0;
			u->hardens[q][r] |= p->firm && amount[r] > 0;
		}
		u->starts[q] += p->starts;
		if (u->limited[q] == SNAP_NONE)
			continue;
		rises[0] |= p->starts;
		rises[1] |= amount[RES_GPU] > 0;
	}
	for (uint32_t i = s->req.license_first[p->req];
	     p->starts && i < s->req.license_first[p->req + 1]; i++)
		u->license[s->license_use[i].license] -=
		    s->license_use[i].count;
}

static void use_claim(const struct audit *a, struct use *u,
                      const struct plan_claim *c)
{
	const struct snap *s = a->s;
	struct party p = check_claimant(a, c);
	int64_t amount[RES_N];

	amount_of(s, p.req, c->n, amount);
	if (c->row != SNAP_NONE ||
	    (!check_leaves(a, c->run) && !a->out[c->run])) {
		use_party(a, u, &p, amount);
		return;
	}
	/* The run, or some of its tasks, moves. */
	add_up(s, u->more, p.queue, amount);
	add_user(a, u, p.queue, p.user, check_leaves(a, c->run),
	         amount[RES_GPU]);
}

/* Whether the job starts on exactly the nodes of its claim. */
static bool starts_where_held(const struct audit *a, const struct start *start)
{
	const struct snap *s = a->s;
	const uint32_t *first = s->pend.claim_first + start->row;

	for (uint32_t i = 0; i < start->ntasks && first[0] + i < first[1];
	     i++) {
		if (s->claim[first[0] + i] !=
		    a->plan->task[start->task_first + i].node)
			return false;
	}
	return first[1] - first[0] == start->ntasks;
}

static void use_start(const struct audit *a, struct use *u,
                      const struct start *start)
{
	const struct snap *s = a->s;
	uint32_t row = start->row;
	bool resumes = s->pend.resumes[row] != SNAP_NONE;
	struct party p = { .req = s->pend.req[row],
		           .queue = s->pend.queue[row],
		           .user = s->pend.user[row],
		           .starts = !resumes,
		           .firm = !s->pend.preemptible[row] };
	int64_t amount[RES_N];

	amount_of(s, p.req, start->ntasks, amount);
	if (resumes)
		amount[RES_MEM] = amount[RES_GPU] = 0;
	use_party(a, u, &p, amount);
	begin_now(a, u, &p, amount);
	if (starts_where_held(a, start))
		add_up(s, u->held, p.queue, amount);
}

static void use_grow(const struct audit *a, struct use *u,
                     const struct grow *grow)
{
	const struct snap *s = a->s;
	struct party p = { .req = s->run.req[grow->run],
		           .queue = s->run.queue[grow->run],
		           .user = s->run.user[grow->run],
		           .firm = !s->run.preemptible[grow->run] };
	int64_t amount[RES_N];

	amount_of(s, p.req, grow->ntasks, amount);
	use_party(a, u, &p, amount);
	begin_now(a, u, &p, amount);
}

void check_use(struct audit *a)
{
	const struct plan *plan = a->plan;
	struct use *u = use_new(a);

	for (uint32_t i = 0; i < a->s->run.n; i++)
		use_run(a, u, i);
	for (uint32_t i = 0; i < plan->nstarts; i++)
		use_start(a, u, &plan->start[i]);
	for (uint32_t i = 0; i < plan->ngrows; i++)
		use_grow(a, u, &plan->grow[i]);
	for (uint32_t i = 0; i < plan->nclaims; i++)
		use_claim(a, u, &plan->claim[i]);
	a->use = u;
}

/* --- limits ------------------------------------------------------------ */

static int over(const struct audit *a, uint32_t queue, const char *what)
{
	return err_set(a->err, EINVAL, "plan: queue '%s' is over its %s",
	               a->s->queue.name[queue], what);
}

/* Returns what queue q uses of resource r once all evicted jobs have ended;
 * suspended jobs still use memory and GPUs. */
static int64_t use_then(const struct use *u, uint32_t q, int r)
{
	return u->base[q][r] - u->lost[q][r] + u->frozen[q][r] + u->more[q][r];
}

static int check_amounts(const struct audit *a, uint32_t q)
{
	const struct snap_queues *queue = &a->s->queue;
	const struct use *u = a->use;

	for (int r = 0; r < RES_N; r++) {
		if (u->adds[q][r] && queue->limit[q][r] != CONF_NONE &&
		    use_then(u, q, r) > queue->limit[q][r])
			return over(a, q, "limit");
		if (u->adds_now[q][r] && queue->limit[q][r] != CONF_NONE &&
		    u->now[q][r] > queue->limit[q][r])
			return over(a, q, "limit until others have left");
		if (u->hardens[q][r] && queue->quota[q][r] != CONF_NONE &&
		    u->firm[q][r] > queue->quota[q][r])
			return over(a, q, "quota");
	}
	return 0;
}

static int check_users(const struct audit *a, uint32_t q)
{
	const struct snap *s = a->s;
	const struct use *u = a->use;
	const int64_t most[2] = { s->queue.max_jobs_user[q],
		                  s->queue.max_gpus_user[q] };

	for (uint32_t i = 0; u->limited[q] != SNAP_NONE && i < s->user.n; i++) {
		size_t at = (size_t)u->limited[q] * s->user.n + i;

		for (int k = 0; k < 2; k++) {
			if (u->rises[at][k] && most[k] != CONF_NONE &&
			    u->user[at][k] > most[k])
				return over(a, q, "limit for a user");
			if (u->rises_now[at][k] && most[k] != CONF_NONE &&
			    u->user_now[at][k] > most[k])
				return over(a, q,
				            "limit for a user until others "
				            "have left");
		}
	}
	return 0;
}

static int check_limits(const struct audit *a)
{
	const struct snap *s = a->s;
	const struct use *u = a->use;

	for (uint32_t q = 0; q < s->queue.n; q++) {
		if (check_amounts(a, q) < 0 || check_users(a, q) < 0)
			return -1;
		if (u->starts[q] && s->queue.max_jobs[q] != CONF_NONE &&
		    u->jobs[q] > s->queue.max_jobs[q])
			return over(a, q, "number of jobs");
		if (u->starts_now[q] && s->queue.max_jobs[q] != CONF_NONE &&
		    u->jobs_now[q] > s->queue.max_jobs[q])
			return over(a, q,
			            "number of jobs until others have left");
	}
	for (uint32_t i = 0; i < s->license.n; i++) {
		if (u->license[i] < 0 && u->license[i] < s->license.free[i])
			return err_set(a->err, EINVAL,
			               "plan: licence '%s' is given twice",
			               s->license.name[i]);
	}
	return 0;
}

/* --- who may take from whom -------------------------------------------- */

static bool is_below(const struct snap *s, uint32_t queue, uint32_t top)
{
	while (queue != SNAP_NONE && queue != top)
		queue = s->queue.parent[queue];
	return queue == top;
}

/* Returns the queue whose share counts when a job of queue `loser` is evicted
 * for a job of queue `taker`: on the way up from `loser`, the queue directly
 * below the lowest common ancestor of both. */
static uint32_t branch(const struct snap *s, uint32_t loser, uint32_t taker)
{
	while (s->queue.parent[loser] != SNAP_NONE &&
	       !is_below(s, taker, s->queue.parent[loser]))
		loser = s->queue.parent[loser];
	return loser;
}

/* The amounts that queues reclaim from each other in a plan. */
struct taken {
	/* By queue that branch() returns. lost: what its runs lose; largest:
	 * the largest loss of one run; loses: 1 if a run loses some of this
	 * resource, even if it only moves. */
	int64_t (*lost)[RES_N];
	int64_t (*largest)[RES_N];
	uint8_t (*loses)[RES_N];
	/* By queue: what its claimants, and those of queues below it, ask for,
	 * if jobs of other queues are evicted for them. */
	int64_t (*asked)[RES_N];
};

static int check_preempt(const struct audit *a, const struct eviction *e,
                         const struct party *by)
{
	const struct snap *s = a->s;

	if (e->why != EVICT_PREEMPT)
		return check_bad(a, s->run.job[e->run],
		                 "is of the same queue as job %llu",
		                 (unsigned long long)by->job);
	if (check_standing_as_victim(s, e->run) >= by->standing)
		return check_bad(a, s->run.job[e->run],
		                 "is not of lower priority than job %llu",
		                 (unsigned long long)by->job);
	return 0;
}

/* Add to ret what is used by those jobs of the run's queue that the run could
 * preempt. Returns whether there are such jobs. */
static bool add_lower(const struct snap *s, uint32_t run, int64_t ret[RES_N])
{
	int64_t standing = check_standing_of_run(s, run), amount[RES_N];
	bool any = false;

	for (uint32_t i = 0; i < s->run.n; i++) {
		if (s->run.queue[i] != s->run.queue[run] || s->run.ending[i] ||
		    !s->run.preemptible[i] ||
		    check_standing_as_victim(s, i) >= standing)
			continue;
		amount_of_run(s, i, check_ntasks(s, i), amount);
		for (int r = 0; r < RES_N; r++)
			ret[r] += amount[r];
		any = true;
	}
	return any;
}

/* Check that `loser` (the run's queue or one above it) uses more than its share
 * of some resource that the run loses. The use of jobs that the run could
 * preempt in its queue is not counted. */
static int check_lower(const struct audit *a, const struct eviction *e,
                       uint32_t loser, const int64_t loses[RES_N])
{
	const struct use *u = a->use;
	int64_t lower[RES_N] = { 0 };
	bool above = false;

	/* If there are no such jobs, check_taken() checks the share. */
	if (!add_lower(a->s, e->run, lower))
		return 0;
	for (int r = 0; r < RES_N; r++) {
		int64_t share = a->plan->share[loser][r];

		above |=
		    loses[r] > 0 && share != CONF_NONE &&
		    u->base[loser][r] + u->more[loser][r] - lower[r] > share;
	}
	if (above)
		return 0;
	return check_bad(a, a->s->run.job[e->run],
	                 "is evicted although jobs that it could preempt use "
	                 "what its queue has above its share");
}

/* Check that the plan calls the eviction a reclaim and that the run may lose
 * the resources of its evicted tasks. Add these to *t. */
static int check_reclaim(const struct audit *a, const struct eviction *e,
                         const struct party *by, struct taken *t)
{
	const struct snap *s = a->s;
	uint32_t loser = branch(s, s->run.queue[e->run], by->queue);
	int64_t loses[RES_N];

	if (e->why != EVICT_RECLAIM)
		return check_bad(a, s->run.job[e->run],
		                 "is of another queue than job %llu",
		                 (unsigned long long)by->job);
	amount_of_run(s, e->run, e->nlosses, loses);
	for (int r = 0; r < RES_N; r++) {
		t->loses[loser][r] |= loses[r] > 0;
		if (a->moved[e->run])
			continue;
		/* A suspended job keeps its memory and GPUs. */
		if (!e->suspend || r == RES_CPU)
			t->lost[loser][r] += loses[r];
		if (loses[r] > t->largest[loser][r])
			t->largest[loser][r] = loses[r];
	}
	return check_lower(a, e, loser, loses);
}

static int check_move(const struct audit *a, const struct eviction *e)
{
	const struct snap *s = a->s;
	uint64_t job = s->run.job[e->run];

	if (!s->policy.consolidate)
		return check_bad(a, job, "is moved, which nobody wants");
	if (check_is_whole(a, e->run)
	        ? !a->moved[e->run] || a->moved[e->run]->n != e->nlosses
	        : a->more[e->run] != e->nlosses)
		return check_bad(a, job, "is moved nowhere");
	return 0;
}

/* Add what the claimant asks for to t->asked, once for all its evictions: for
 * its queue and the queues above it, up to but not including the highest queue
 * that it has in common with a victim. */
static void note_taker(const struct audit *a, uint32_t first, struct taken *t)
{
	const struct snap *s = a->s;
	const struct eviction *e = &a->plan->eviction[first];
	struct party by = check_claimant(a, check_claim_of(a, e->by));
	uint32_t top = by.queue, end;
	int64_t ask[RES_N];

	for (uint32_t i = 0; i < first; i++) {
		if (a->plan->eviction[i].by == e->by)
			return;
	}
	for (uint32_t i = first; i < a->plan->nevictions; i++) {
		const struct eviction *o = &a->plan->eviction[i];

		if (o->by != e->by || o->why != EVICT_RECLAIM)
			continue;
		end =
		    s->queue.parent[branch(s, s->run.queue[o->run], by.queue)];
		if (is_below(s, top, end))
			top = end;
	}
	amount_of(s, by.req, by.tasks, ask);
	for (uint32_t q = by.queue; q != top; q = s->queue.parent[q]) {
		for (int r = 0; r < RES_N; r++)
			t->asked[q][r] += ask[r];
	}
}

/* Check a queue against its share. If it loses something, it must have been
 * above its share when its last victim was evicted. If it takes something from
 * other queues, it must be within its share with all that its claimants ask
 * for. */
static int check_taken(const struct audit *a, uint32_t q, const struct taken *t)
{
	const struct use *u = a->use;
	bool taken = false, above = false;

	for (int r = 0; r < RES_N; r++) {
		int64_t share = a->plan->share[q][r];
		int64_t most = u->base[q][r] + u->more[q][r] - t->lost[q][r] +
		               t->largest[q][r];

		taken |= t->loses[q][r];
		above |= t->loses[q][r] && share != CONF_NONE && most > share;
		if (t->asked[q][r] && share != CONF_NONE &&
		    u->base[q][r] - u->lost[q][r] + u->held[q][r] +
		            t->asked[q][r] >
		        share)
			return err_set(a->err, EINVAL,
			               "plan: queue '%s' takes more than its "
			               "share",
			               a->s->queue.name[q]);
	}
	if (taken && !above)
		return err_set(a->err, EINVAL,
		               "plan: queue '%s' loses some of its share",
		               a->s->queue.name[q]);
	return 0;
}

int check_rules(struct audit *a)
{
	const struct snap *s = a->s;
	struct taken t;

	t.lost = arena_alloc(a->arena, s->queue.n, sizeof(*t.lost));
	t.largest = arena_alloc(a->arena, s->queue.n, sizeof(*t.largest));
	t.loses = arena_alloc(a->arena, s->queue.n, sizeof(*t.loses));
	t.asked = arena_alloc(a->arena, s->queue.n, sizeof(*t.asked));
	for (uint32_t i = 0; i < a->plan->nevictions; i++) {
		const struct eviction *e = &a->plan->eviction[i];
		struct party by = check_claimant(a, check_claim_of(a, e->by));
		int status;

		if (e->why == EVICT_CONSOLIDATE)
			status = check_move(a, e);
		else if (s->run.queue[e->run] == by.queue)
			status = check_preempt(a, e, &by);
		else
			status = check_reclaim(a, e, &by, &t);
		if (status < 0)
			return -1;
		note_taker(a, i, &t);
	}
	for (uint32_t q = 0; q < s->queue.n; q++) {
		if (check_taken(a, q, &t) < 0)
			return -1;
	}
	return check_limits(a);
}

bool check_could_keep(const struct audit *a, uint32_t run, uint32_t tasks)
{
	const struct snap *s = a->s;
	const struct use *u = a->use;
	const struct plan_claim *c = check_claim_of(a, a->plan->eviction[0].by);
	struct party by = check_claimant(a, c);
	int64_t ask[RES_N], amount[RES_N];

	amount_of(s, by.req, by.tasks, ask);
	amount_of_run(s, run, tasks, amount);
	for (uint32_t q = by.queue; q != SNAP_NONE; q = s->queue.parent[q]) {
		bool below = is_below(s, s->run.queue[run], q);

		for (int r = 0; r < RES_N; r++) {
			int64_t use = use_then(u, q, r) + below * amount[r];
			int64_t limit = s->queue.limit[q][r];
			int64_t share = a->plan->share[q][r];

			if (ask[r] && limit != CONF_NONE && use > limit)
				return false;
			if (ask[r] && share != CONF_NONE && use > share &&
			    below)
				return false;
		}
	}
	return true;
}
