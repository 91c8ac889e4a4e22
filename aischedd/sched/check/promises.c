/*
 * promises.c - check that promised starts can be kept, and are not delayed by
 * jobs behind them
 *
 * The future is a list of tasks, each on its node from one time until another:
 * tasks that run, tasks that the plan starts, tasks that have claims, and tasks
 * that are promised a start. On the nodes of a promised job, what is free is
 * summed up for each time at which it can change.
 */
#include <stdlib.h>

#include "aischedd/sched/check/align.h"
#include "aischedd/sched/check/amounts.h"
#include "aischedd/sched/check/audit.h"
#include "aischedd/sched/check/lists.h"
#include "aischedd/sched/check/nodes.h"

static const int64_t FOREVER = INT64_MAX;

/* Points for waiting are given by the day, for a week at most. */
enum { DAY_S = 86400, WAITS_MOST_S = 7 * DAY_S };

/* A task on its node, from one time until another. */
struct stay {
	uint32_t node, req;
	int64_t from, until;
	uint32_t queue, user;
	uint32_t array; /* as in struct snap_run */
	bool firm;      /* the job may not be preempted, so it counts against
	                   quotas */
	bool head;      /* the task that stands for its job and the job's
	                   licences */
	bool runs;    /* the task runs now: the free amounts do not include what
	                 it holds */
	bool floats;  /* the task has a node, but its devices are not chosen
	                 yet */
	bool no_cpus; /* the task is suspended, so it holds no CPUs */
	bool no_rest; /* the task resumes: it already holds its memory and
	                 GPUs */
	uint32_t run, task; /* the task in the snapshot, if it runs */
	const struct snap_task
	    *on;              /* the task in the plan, if it starts; or NULL */
	uint32_t row, member; /* of the waiting job, or SNAP_NONE if the job
	                         already runs */
	uint32_t promise;     /* index in plan.promise, else SNAP_NONE */
};

struct future_check {
	const struct audit *a;
	const struct snap *s;
	/* now: what is free at present; then: scratch, what is free on one node
	 * at some time */
	struct check_amounts now, then;
	struct stay *stay;
	uint32_t n;
	uint32_t *first; /* by node: slice of stay */
	/* for each run: the row and member of the waiting job for which it is
	 * evicted, else SNAP_NONE */
	uint32_t *by_row, *by_member;
};

/* --- tasks on nodes, now and later -------------------------------------- */

static int64_t after(const struct snap *s, uint32_t req, uint32_t queue,
                     int64_t from)
{
	uint32_t resv = s->req.reservation[req];
	int64_t length = s->req.time_limit[req];

	if (length == SNAP_NEVER && s->queue.assumed_time[queue] != CONF_NONE)
		length = s->queue.assumed_time[queue];
	if (length != SNAP_NEVER)
		return from + length;
	return resv != SNAP_NONE ? s->resv.end[resv] : FOREVER;
}

/* Returns when a job of the row that begins at `from` leaves its nodes. For a
 * job that resumes, a part of the time limit is already over. */
static int64_t row_ends(const struct snap *s, uint32_t row, int64_t from)
{
	uint32_t req = s->pend.req[row], run = s->pend.resumes[row];
	int64_t end = after(s, req, s->pend.queue[row], from);

	if (run == SNAP_NONE || s->req.time_limit[req] == SNAP_NEVER)
		return end;
	end -= s->run.ran[run];
	return end > from ? end : from + 1;
}

/* Returns when a suspended job that the plan resumes ends, or FOREVER. */
static int64_t resumed_ends(const struct audit *a, uint32_t run)
{
	const struct snap *s = a->s;

	for (uint32_t i = 0; i < a->plan->nstarts; i++) {
		uint32_t row = a->plan->start[i].row;

		if (s->pend.resumes[row] == run)
			return row_ends(s, row, s->now);
	}
	return FOREVER;
}

static int64_t run_ends(const struct audit *a, uint32_t run)
{
	const struct snap *s = a->s;
	int64_t assumed = s->queue.assumed_time[s->run.queue[run]];
	uint32_t resv = s->req.reservation[s->run.req[run]];

	if (s->run.ending[run])
		return s->now;
	if (s->run.suspended[run])
		return resumed_ends(a, run);
	if (s->run.end[run] != SNAP_NEVER)
		return s->run.end[run] > s->now ? s->run.end[run] : s->now;
	/* A job without a time limit ends with its reservation. */
	if (assumed == CONF_NONE || !assumed)
		return resv != SNAP_NONE && s->resv.end[resv] > s->now
		           ? s->resv.end[resv]
		           : FOREVER;
	while (s->run.start[run] + assumed <= s->now && assumed < FOREVER / 4)
		assumed *= 2;
	return s->run.start[run] + assumed;
}

static struct stay *add(struct future_check *f, uint32_t node, uint32_t req,
                        int64_t from, int64_t until)
{
	struct stay *it = &f->stay[f->n++];

	*it = (struct stay){ .node = node,
		             .req = req,
		             .from = from,
		             .until = until,
		             .run = SNAP_NONE,
		             .row = SNAP_NONE,
		             .member = SNAP_NONE,
		             .promise = SNAP_NONE };
	return it;
}

/* Set the queue and the user of a task: those of the run or, if `row` is not
 * SNAP_NONE, those of the waiting job. */
static void set_owner(const struct snap *s, struct stay *it, uint32_t run,
                      uint32_t row)
{
	bool waits = row != SNAP_NONE;

	it->queue = waits ? s->pend.queue[row] : s->run.queue[run];
	it->user = waits ? s->pend.user[row] : s->run.user[run];
	it->array = waits ? s->pend.array[row] : s->run.array[run];
	it->firm = waits ? !s->pend.preemptible[row] : !s->run.preemptible[run];
}

static void add_runs(struct future_check *f)
{
	const struct snap *s = f->s;

	for (uint32_t run = 0; run < s->run.n; run++) {
		for (uint32_t t = s->run.task_first[run];
		     t < s->run.task_first[run + 1]; t++) {
			struct stay *it =
			    add(f, s->task[t].node, s->run.req[run], s->now,
			        run_ends(f->a, run));

			it->head = t == s->run.task_first[run] &&
			           !snap_is_part(s, run);
			it->runs = true;
			it->no_cpus = s->run.suspended[run];
			set_owner(s, it, run, SNAP_NONE);
			it->run = run;
			it->task = t;
		}
	}
}

static void add_placed(struct future_check *f)
{
	const struct plan *plan = f->a->plan;
	const struct snap *s = f->s;

	for (uint32_t i = 0; i < plan->nstarts; i++) {
		const struct start *start = &plan->start[i];
		uint32_t req = s->pend.req[start->row];
		int64_t until = row_ends(s, start->row, s->now);

		for (uint32_t k = 0; k < start->ntasks; k++) {
			const struct snap_task *t =
			    &plan->task[start->task_first + k];
			struct stay *it = add(f, t->node, req, s->now, until);

			it->on = t;
			it->no_rest = s->pend.resumes[start->row] != SNAP_NONE;
			it->head = !k && !it->no_rest;
			set_owner(s, it, SNAP_NONE, start->row);
			it->row = start->row;
			it->member = start->member;
		}
	}
	for (uint32_t i = 0; i < plan->ngrows; i++) {
		const struct grow *g = &plan->grow[i];

		for (uint32_t k = 0; k < g->ntasks; k++) {
			const struct snap_task *t =
			    &plan->task[g->task_first + k];

			struct stay *it = add(f, t->node, s->run.req[g->run],
			                      s->now, run_ends(f->a, g->run));

			it->on = t;
			set_owner(s, it, g->run, SNAP_NONE);
		}
	}
}

/* Add the tasks of all claims. A job that moves begins its time limit anew; a
 * job that grows ends as before. */
static void add_claims(struct future_check *f)
{
	const struct plan *plan = f->a->plan;
	const struct snap *s = f->s;

	for (uint32_t i = 0; i < plan->nclaims; i++) {
		const struct plan_claim *c = &plan->claim[i];
		bool starts = c->row != SNAP_NONE;
		uint32_t req =
		    starts ? s->pend.req[c->row] : s->run.req[c->run];
		uint32_t queue =
		    starts ? s->pend.queue[c->row] : s->run.queue[c->run];
		int64_t until = starts || check_leaves(f->a, c->run)
		                    ? after(s, req, queue, s->now)
		                    : run_ends(f->a, c->run);

		for (uint32_t k = 0; k < c->n; k++) {
			struct stay *it =
			    add(f, plan->claim_node[c->node_first + k], req,
			        s->now, until);

			it->head = !k && (starts || check_leaves(f->a, c->run));
			set_owner(s, it, c->run, c->row);
			it->floats = true;
			it->row = c->row;
			it->member = c->member;
			it->run = starts ? SNAP_NONE : c->run;
		}
	}
}

/* Find the row and member of the waiting job with this id. Returns false if
 * there is none. */
static bool find_job(const struct snap *s, uint64_t job, uint32_t *row,
                     uint32_t *member)
{
	for (*row = 0; *row < s->pend.n; (*row)++) {
		for (*member = s->pend.member_first[*row];
		     *member < s->pend.member_first[*row + 1]; (*member)++) {
			if (s->member[*member].job == job)
				return true;
		}
	}
	*row = *member = SNAP_NONE;
	return false;
}

static void add_promises(struct future_check *f)
{
	const struct plan *plan = f->a->plan;
	const struct snap *s = f->s;

	for (uint32_t i = 0; i < plan->npromises; i++) {
		const struct snap_promise *p = &plan->promise[i];
		uint32_t row, member;

		if (!find_job(s, p->job, &row, &member))
			continue;
		for (uint32_t k = 0; k < p->n; k++) {
			struct stay *it =
			    add(f, plan->promise_node[p->node_first + k],
			        s->pend.req[row], p->start,
			        row_ends(s, row, p->start));

			it->head = !k && s->pend.resumes[row] == SNAP_NONE;
			set_owner(s, it, SNAP_NONE, row);
			it->floats = true;
			it->row = row;
			it->member = member;
			it->promise = i;
		}
	}
}

static int by_node(const void *a, const void *b)
{
	const struct stay *x = a, *y = b;

	return (x->node > y->node) - (x->node < y->node);
}

static struct future_check future_check_new(const struct audit *a)
{
	const struct plan *plan = a->plan;
	const struct snap *s = a->s;
	struct future_check f = { .a = a, .s = s };
	size_t n = s->run.n ? s->run.task_first[s->run.n] : 0;

	for (uint32_t i = 0; i < plan->nstarts; i++)
		n += plan->start[i].ntasks;
	for (uint32_t i = 0; i < plan->ngrows; i++)
		n += plan->grow[i].ntasks;
	for (uint32_t i = 0; i < plan->nclaims; i++)
		n += plan->claim[i].n;
	for (uint32_t i = 0; i < plan->npromises; i++)
		n += plan->promise[i].n;
	f.stay = arena_array(a->arena, struct stay, n);
	f.first = arena_array(a->arena, uint32_t, s->node.n + 1);
	f.by_row = arena_array(a->arena, uint32_t, s->run.n);
	f.by_member = arena_array(a->arena, uint32_t, s->run.n);
	f.now = check_amounts_now(s, a->arena);
	f.then = check_amounts_now(s, a->arena);
	add_runs(&f);
	add_placed(&f);
	add_claims(&f);
	add_promises(&f);
	qsort(f.stay, f.n, sizeof(*f.stay), by_node);
	for (uint32_t i = 0, node = 0; node <= s->node.n; node++) {
		while (i < f.n && f.stay[i].node < node)
			i++;
		f.first[node] = i;
	}
	for (uint32_t run = 0; run < s->run.n; run++) {
		f.by_row[run] = f.by_member[run] = SNAP_NONE;
		if (a->out[run])
			find_job(s, a->out[run]->by, &f.by_row[run],
			         &f.by_member[run]);
	}
	return f;
}

/* --- which jobs come after a job in its queue --------------------------- */

/* The waiting job that is being checked. alone: ignore jobs that are certainly
 * behind it in its queue. */
struct one {
	uint32_t row, member;
	bool alone;
};

/* Returns the points that a member of a row has for waiting, in thousandths. */
static int64_t points_for_waiting(const struct snap *s, uint32_t member)
{
	int64_t waited = s->now - s->member[member].since;

	if (waited > WAITS_MOST_S)
		waited = WAITS_MOST_S;
	return waited > 0 ? s->policy.age_weight * waited * 1000 / DAY_S : 0;
}

/* Whether a waiting job has fewer points for waiting than p and than each job
 * ahead of p in p's row or, if the points are equal, a higher id. The jobs
 * ahead of p count, because p has its turn only after them. */
static bool came_later(const struct snap *s, const struct one *p,
                       uint32_t member)
{
	int64_t points = points_for_waiting(s, member);

	for (uint32_t m = s->pend.member_first[p->row]; m <= p->member; m++) {
		int64_t more = points_for_waiting(s, m) - points;

		if (more < 0 ||
		    (!more && s->member[member].job <= s->member[m].job))
			return false;
	}
	return true;
}

/* Whether the job of this row and member is certainly behind job p in the same
 * queue: it came later, and does not get more points for anything. */
static bool is_behind(const struct snap *s, const struct one *p, uint32_t row,
                      uint32_t member)
{
	const struct snap_pend *q = &s->pend;
	uint32_t a = q->req[p->row], b;

	if (row == SNAP_NONE || s->policy.order != BY_POINTS ||
	    q->queue[row] != q->queue[p->row] ||
	    q->claim_first[row] != q->claim_first[row + 1])
		return false;
	b = q->req[row];
	return came_later(s, p, member) &&
	       q->priority[row] <= q->priority[p->row] &&
	       q->light[row] <= q->light[p->row] &&
	       (!s->policy.size_weight ||
	        (s->req.tasks[b] * s->req.cpus[b] <=
	             s->req.tasks[a] * s->req.cpus[a] &&
	         s->req.tasks[b] * s->req.mem[b] <=
	             s->req.tasks[a] * s->req.mem[a] &&
	         s->req.tasks[b] * s->req.gpus[b] <=
	             s->req.tasks[a] * s->req.gpus[a]));
}

/* Whether, in a check of job p, the task counts as being on its node at this
 * time. With p->alone, ignore jobs behind p, and count evicted tasks as
 * staying, because they may have been evicted after p had its turn. */
static bool is_there(const struct future_check *f, const struct one *p,
                     const struct stay *it, int64_t at)
{
	const struct audit *a = f->a;
	int64_t until = it->until;

	if (it->row == p->row && it->member == p->member &&
	    (p->alone || it->promise != SNAP_NONE))
		return false;
	if (p->alone && is_behind(f->s, p, it->row, it->member))
		return false;
	/* Ignore the new place of a run that is moved for a job behind p. */
	if (p->alone && !it->runs && it->run != SNAP_NONE &&
	    is_behind(f->s, p, f->by_row[it->run], f->by_member[it->run]))
		return false;
	if (it->runs && a->lost[it->task] && !p->alone)
		until = f->s->now;
	return it->from <= at && at < until;
}

/* --- amounts ----------------------------------------------------------- */

/* The amounts that are left free on a node. */
struct left {
	int64_t cpu, mem, tmp, slot, gpu, whole;
	int64_t dev[DEVICE_KINDS]; /* by kind */
	uint32_t others, sealed;   /* tasks of other jobs; those of exclusive
	                              ones */
};

static void count_devices(const struct snap_task *t, int64_t *device, int sign)
{
	for (uint64_t left = t->gpus; left; left &= left - 1)
		device[__builtin_ctzll(left)] += sign * t->gpu_milli;
}

static void count(const struct future_check *f, const struct one *p,
                  const struct stay *it, uint32_t node, bool there,
                  struct left *left, int64_t *device)
{
	const struct snap *s = f->s;
	int sign = there ? -1 : 1;

	if (it->runs == there) {
		/* The task is on the node both now and at the time asked about,
		 * or at neither of them: the free amounts need no change. */
	} else {
		left->cpu += it->no_cpus ? 0 : sign * s->req.cpus[it->req];
		if (!it->no_rest) {
			left->mem += sign * s->req.mem[it->req];
			left->tmp += sign * s->req.tmp[it->req];
			left->slot += sign;
			for (uint32_t i = 0; i < s->dev.n; i++)
				left->dev[i] +=
				    sign * s->req.devs[it->req].n[i];
		}
		if (it->floats) {
			left->gpu += sign * check_gpus(s, it->req, node);
			left->whole += sign * (s->req.gpus[it->req] / 1000);
		} else if (!it->no_rest) {
			count_devices(it->on ? it->on : &s->task[it->task],
			              device, sign);
		}
	}
	if (!there || (it->row == p->row && it->member == p->member))
		return;
	left->others++;
	left->sealed += s->req.exclusive[it->req] && !it->no_cpus;
}

static bool has(int64_t left, int64_t need)
{
	return !need || left >= need;
}

/* Whether n tasks of job p fit on the node beside all tasks that are there at
 * this time, except those of its own promise. */
static bool fits_at(const struct future_check *f, const struct one *p,
                    uint32_t node, int64_t n, int64_t at)
{
	const struct snap *s = f->s;
	uint32_t req = s->pend.req[p->row], first = s->node.gpu_first[node];
	struct left left = { .cpu = s->node.cpu_free[node],
		             .mem = s->node.mem_free[node],
		             .tmp = s->node.tmp_free[node],
		             .slot = s->node.slot_free[node] };
	int64_t device[64] = { 0 };

	for (uint32_t i = 0; i < s->dev.n; i++)
		left.dev[i] = s->node.dev_free[node].n[i];
	for (uint32_t i = first; i < s->node.gpu_first[node + 1]; i++)
		device[i - first] = s->gpu.free[i];
	for (uint32_t i = f->first[node]; i < f->first[node + 1]; i++)
		count(f, p, &f->stay[i], node, is_there(f, p, &f->stay[i], at),
		      &left, device);
	for (uint32_t i = first; i < s->node.gpu_first[node + 1]; i++) {
		left.gpu += device[i - first];
		left.whole += device[i - first] >= 1000;
	}
	for (uint32_t i = 0; i < s->dev.n; i++) {
		if (!has(left.dev[i], n * s->req.devs[req].n[i]))
			return false;
	}
	return has(left.cpu, n * s->req.cpus[req]) &&
	       has(left.mem, n * s->req.mem[req]) &&
	       has(left.tmp, n * s->req.tmp[req]) && left.slot >= n &&
	       has(left.gpu, n * check_gpus(s, req, node)) &&
	       has(left.whole, n * (s->req.gpus[req] / 1000)) && !left.sealed &&
	       !(s->req.exclusive[req] && left.others);
}

/* --- licences ---------------------------------------------------------- */

static int64_t licenses_of(const struct snap *s, uint32_t req, uint32_t license)
{
	int64_t n = 0;

	for (uint32_t i = s->req.license_first[req];
	     i < s->req.license_first[req + 1]; i++)
		n += s->license_use[i].license == license
		         ? s->license_use[i].count
		         : 0;
	return n;
}

/* Whether the job of a task has its licences at this time. A job that loses
 * only some tasks, or is suspended, keeps them. */
static bool is_licensed(const struct future_check *f, const struct one *p,
                        const struct stay *it, int64_t at)
{
	const struct eviction *out = it->runs ? f->a->out[it->run] : NULL;

	if (!it->head)
		return false;
	if (out && !p->alone && out->suspend)
		return true;
	if (out && !check_is_whole(f->a, it->run))
		return it->from <= at && at < it->until;
	return is_there(f, p, it, at);
}

static bool has_licenses_at(const struct future_check *f, const struct one *p,
                            int64_t at)
{
	const struct snap *s = f->s;
	uint32_t req = s->pend.req[p->row];

	for (uint32_t i = s->req.license_first[req];
	     i < s->req.license_first[req + 1]; i++) {
		uint32_t license = s->license_use[i].license;
		int64_t have = s->license.free[license];

		for (uint32_t k = 0; k < f->n; k++) {
			const struct stay *it = &f->stay[k];
			bool has = is_licensed(f, p, it, at);

			if (it->head && has != it->runs)
				have += (has ? -1 : 1) *
				        licenses_of(s, it->req, license);
		}
		if (have < licenses_of(s, req, license))
			return false;
	}
	return true;
}

/* Whether enough licences are left for the job from this time on, for as long
 * as it runs. */
static bool has_licenses(const struct future_check *f, const struct one *p,
                         int64_t at)
{
	const struct snap *s = f->s;
	uint32_t req = s->pend.req[p->row];
	int64_t until = row_ends(s, p->row, at);

	if (s->req.license_first[req] == s->req.license_first[req + 1] ||
	    s->pend.resumes[p->row] != SNAP_NONE)
		return true;
	if (!has_licenses_at(f, p, at))
		return false;
	for (uint32_t i = 0; i < f->n; i++) {
		const struct stay *it = &f->stay[i];

		if (it->head && it->from > at && it->from < until &&
		    s->req.license_first[it->req] !=
		        s->req.license_first[it->req + 1] &&
		    !has_licenses_at(f, p, it->from))
			return false;
	}
	return true;
}

/* --- limits ------------------------------------------------------------ */

/* The use that counts against the limits of a queue, and of one user in it. */
struct use_then {
	int64_t jobs, amount[RES_N], firm[RES_N], user_jobs, user_gpus;
};

/* Whether the task holds its memory and GPUs at this time. A suspended task
 * holds them, too. */
static bool holds_rest(const struct future_check *f, const struct one *p,
                       const struct stay *it, int64_t at)
{
	const struct eviction *out = it->runs ? f->a->out[it->run] : NULL;

	if (out && !p->alone && out->suspend)
		return true;
	return !it->no_rest && is_there(f, p, it, at);
}

static void use_then_add(const struct future_check *f, const struct one *p,
                         const struct stay *it, int64_t at,
                         struct use_then *use)
{
	const struct snap *s = f->s;
	bool rest = holds_rest(f, p, it, at);
	bool cpus = !it->no_cpus && is_there(f, p, it, at);
	bool job = is_licensed(f, p, it, at);
	const int64_t amount[RES_N] = {
		[RES_CPU] = cpus ? s->req.cpus[it->req] : 0,
		[RES_MEM] = rest ? s->req.mem[it->req] : 0,
		[RES_GPU] = rest ? s->req.gpus[it->req] : 0
	};

	use->jobs += job;
	for (int r = 0; r < RES_N; r++) {
		use->amount[r] += amount[r];
		use->firm[r] += it->firm ? amount[r] : 0;
	}
	if (it->user == s->pend.user[p->row]) {
		use->user_jobs += job;
		use->user_gpus += amount[RES_GPU];
	}
}

static bool is_below(int64_t max, int64_t used, int64_t need)
{
	return max == CONF_NONE || !need || used + need <= max;
}

static bool is_limited(const struct snap_queues *q, uint32_t queue)
{
	bool any = q->max_jobs[queue] != CONF_NONE ||
	           q->max_jobs_user[queue] != CONF_NONE ||
	           q->max_gpus_user[queue] != CONF_NONE;

	for (int r = 0; r < RES_N; r++)
		any |= q->limit[queue][r] != CONF_NONE ||
		       q->quota[queue][r] != CONF_NONE;
	return any;
}

/* Whether the queue is within its limits at this time if job p runs
 * with n tasks. */
static bool keeps_limits_of(const struct future_check *f, const struct one *p,
                            uint32_t queue, uint32_t n, int64_t at)
{
	const struct snap *s = f->s;
	const struct snap_queues *q = &s->queue;
	uint32_t req = s->pend.req[p->row];
	const int64_t need[RES_N] = { [RES_CPU] = n * s->req.cpus[req],
		                      [RES_MEM] = n * s->req.mem[req],
		                      [RES_GPU] = n * s->req.gpus[req] };
	struct use_then use = { 0 };
	bool keeps;

	if (!is_limited(q, queue))
		return true;

	for (uint32_t i = 0; i < f->n; i++) {
		if (snap_queue_is_above(s, queue, f->stay[i].queue))
			use_then_add(f, p, &f->stay[i], at, &use);
	}
	keeps = is_below(q->max_jobs[queue], use.jobs, 1) &&
	        is_below(q->max_jobs_user[queue], use.user_jobs, 1) &&
	        is_below(q->max_gpus_user[queue], use.user_gpus, need[RES_GPU]);
	for (int r = 0; r < RES_N; r++)
		keeps = keeps &&
		        is_below(q->limit[queue][r], use.amount[r], need[r]) &&
		        (s->pend.preemptible[p->row] ||
		         is_below(q->quota[queue][r], use.firm[r], need[r]));
	return keeps;
}

static bool keeps_limits_at(const struct future_check *f, const struct one *p,
                            uint32_t n, int64_t at)
{
	const struct snap *s = f->s;

	for (uint32_t q = s->pend.queue[p->row]; q != SNAP_NONE;
	     q = s->queue.parent[q]) {
		if (!keeps_limits_of(f, p, q, n, at))
			return false;
	}
	return true;
}

/* Whether all queues are within their limits from this time on, for as long as
 * job p runs with n tasks. */
static bool keeps_limits(const struct future_check *f, const struct one *p,
                         uint32_t n, int64_t at)
{
	int64_t until = row_ends(f->s, p->row, at);

	if (f->s->pend.resumes[p->row] != SNAP_NONE)
		return true;
	if (!keeps_limits_at(f, p, n, at))
		return false;
	for (uint32_t i = 0; i < f->n; i++) {
		int64_t from = f->stay[i].from;

		if (from > at && from < until &&
		    !keeps_limits_at(f, p, n, from))
			return false;
	}
	return true;
}

/* --- limits of arrays --------------------------------------------------- */

static bool keeps_array_at(const struct future_check *f, uint32_t array,
                           int64_t at)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->n; i++) {
		const struct stay *it = &f->stay[i];
		bool leaves = it->runs && f->a->lost[it->task];
		int64_t until = leaves ? f->s->now : it->until;

		n += it->head && it->array == array && it->from <= at &&
		     at < until;
	}
	return n <= f->s->array.limit[array];
}

/* Whether the array of promised job p runs no more tasks than it may from this
 * time on, for as long as p runs. */
static bool keeps_array(const struct future_check *f, const struct one *p,
                        int64_t at)
{
	uint32_t array = f->s->pend.array[p->row];
	int64_t until = row_ends(f->s, p->row, at);

	if (array == SNAP_NONE || f->s->pend.resumes[p->row] != SNAP_NONE)
		return true;
	if (!keeps_array_at(f, array, at))
		return false;
	for (uint32_t i = 0; i < f->n; i++) {
		int64_t from = f->stay[i].from;

		if (from > at && from < until &&
		    !keeps_array_at(f, array, from))
			return false;
	}
	return true;
}

/* Whether tasks of an array with a limit wait that may be ahead of job p. The
 * plan keeps room for all of them, but lists only the first ones. */
static bool may_follow_array(const struct future_check *f, const struct one *p)
{
	const struct snap *s = f->s;

	for (uint32_t row = 0; s->array.n && row < s->pend.n; row++) {
		for (uint32_t m = s->pend.member_first[row];
		     s->pend.array[row] != SNAP_NONE &&
		     m < s->pend.member_first[row + 1];
		     m++) {
			if (!is_behind(s, p, row, m))
				return true;
		}
	}
	return false;
}

/* --- promises ---------------------------------------------------------- */

static int64_t max64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Whether job p fits on these nodes, one for each task, from this time on until
 * it ends. */
static bool fits_from(const struct future_check *f, const struct one *p,
                      const uint32_t *node, uint32_t n, int64_t at)
{
	const struct snap *s = f->s;
	int64_t until = row_ends(s, p->row, at);

	for (uint32_t i = 0; i < n; i++) {
		int64_t tasks = 0;

		for (uint32_t k = 0; k < n; k++)
			tasks += node[k] == node[i];
		if (!fits_at(f, p, node[i], tasks, at))
			return false;
		for (uint32_t k = f->first[node[i]]; k < f->first[node[i] + 1];
		     k++) {
			int64_t from = f->stay[k].from;

			if (from > at && from < until &&
			    !fits_at(f, p, node[i], tasks, from))
				return false;
		}
	}
	return true;
}

/* Returns the promise to the job; NULL if there is none, or if the job is an
 * array with several promises. */
static const struct snap_promise *only(const struct snap_promise *promise,
                                       uint32_t n, uint64_t job)
{
	const struct snap_promise *found = NULL;

	for (uint32_t i = 0; i < n; i++) {
		if (promise[i].job != job)
			continue;
		if (found)
			return NULL;
		found = &promise[i];
	}
	return found;
}

/* Whether any job has waited for so long that it may hold back others, or is
 * served before jobs with more points. */
static bool is_any_due(const struct snap *s)
{
	for (uint32_t row = 0; row < s->pend.n; row++) {
		int64_t hold = s->policy.hold_after;

		for (uint32_t q = s->pend.queue[row]; q != SNAP_NONE;
		     q = s->queue.parent[q]) {
			if (s->queue.max_wait[q] != CONF_NONE &&
			    (hold == CONF_NONE || s->queue.max_wait[q] < hold))
				hold = s->queue.max_wait[q];
		}
		for (uint32_t m = s->pend.member_first[row];
		     m < s->pend.member_first[row + 1]; m++) {
			if (hold != CONF_NONE &&
			    s->now - s->member[m].since >= hold)
				return true;
		}
	}
	return false;
}

/* Whether amounts alone decide if job p fits on the node from this time on.
 * They do not if p or a task there uses parts of devices, if some GPUs have
 * partitions for good, which p may or may not use, or if a task that
 * begins later has demands for NUMA nodes or links: these depend on which
 * devices the other tasks have. */
static bool is_plain(const struct future_check *f, const struct one *p,
                     uint32_t node, int64_t at)
{
	const struct snap *s = f->s;
	uint32_t req = s->pend.req[p->row];
	bool plain = s->req.gpu_type[req] == SNAP_NONE && !s->gpu.parts &&
	             !check_align_demands(s, req) &&
	             s->req.gpus[req] % 1000 == 0;

	for (uint32_t i = f->first[node]; i < f->first[node + 1]; i++) {
		const struct stay *it = &f->stay[i];
		int64_t begins = it->from > at ? it->from : at;

		plain &= !it->floats || s->req.gpus[it->req] % 1000 == 0;
		plain &= s->req.cpus[it->req] % 1000 == 0;
		plain &= !it->floats || it->from < at ||
		         !check_align_demands(s, it->req) ||
		         !is_there(f, p, it, begins);
	}
	return plain;
}

/* Check a promise of the last plan. If this plan promises the job a later
 * start, something other than jobs behind it must prevent the earlier start. */
static int check_later(const struct future_check *f,
                       const struct snap_promise *last)
{
	const struct plan *plan = f->a->plan;
	const struct snap *s = f->s;
	const uint32_t *node = s->promise_node + last->node_first;
	const struct snap_promise *next =
	    only(plan->promise, plan->npromises, last->job);
	int64_t then = max64(last->start, s->now);
	struct one p = { .alone = true };

	if (!next || next->start <= then ||
	    !only(s->promise, s->npromises, last->job) ||
	    !find_job(s, last->job, &p.row, &p.member) ||
	    s->member[p.member].count != 1 ||
	    last->n != s->req.min_tasks[s->pend.req[p.row]] ||
	    may_follow_array(f, &p))
		return 0;
	for (uint32_t i = 0; i < last->n; i++) {
		if (check_forbidden(s, s->pend.req[p.row], node[i]) ||
		    !is_plain(f, &p, node[i], then))
			return 0;
	}
	if (!fits_from(f, &p, node, last->n, then) ||
	    !has_licenses(f, &p, then) || !keeps_limits(f, &p, last->n, then))
		return 0;
	return check_bad(f->a, last->job,
	                 "is promised %lld, not %lld, for jobs behind it",
	                 (long long)next->start, (long long)then);
}

/* --- devices ------------------------------------------------------------ */

/* Set f->then to what is free on the node now. */
static void reset_devices(const struct future_check *f, uint32_t node)
{
	const struct snap_nodes *n = &f->s->node;

	for (uint32_t i = n->gpu_first[node]; i < n->gpu_first[node + 1]; i++)
		f->then.gpu[i] = f->now.gpu[i];
	for (uint32_t i = n->cpu_first[node]; i < n->cpu_first[node + 1]; i++)
		f->then.thread[i] = f->now.thread[i];
	for (uint32_t i = n->numa_first[node]; i < n->numa_first[node + 1]; i++)
		f->then.numa_mem[i] = f->now.numa_mem[i];
}

/* Give the devices of a task back to f->then (sign 1), or take them (-1). */
static void give_devices(const struct future_check *f, const struct stay *it,
                         int sign)
{
	const struct snap *s = f->s;
	const struct snap_task *t = it->on ? it->on : &s->task[it->task];
	const struct snap_cpu_use *use =
	    it->on ? f->a->plan->cpu_use : s->cpu_use;
	int64_t *thread = f->then.thread + s->node.cpu_first[t->node];
	int64_t part[SNAP_NUMAS];

	for (uint32_t i = t->cpu_first; !it->no_cpus && i < t[1].cpu_first; i++)
		thread[use[i].cpu] += sign * use[i].milli;
	if (it->no_rest)
		return;
	count_devices(t, f->then.gpu + s->node.gpu_first[t->node], sign);
	check_amounts_divide(s, t->node, t->numas, s->req.mem[it->req], part);
	for (uint32_t i = 0; i < snap_node_nnumas(s, t->node); i++)
		f->then.numa_mem[s->node.numa_first[t->node] + i] +=
		    sign * part[i];
}

/* Whether the demands of a task for NUMA nodes and links can be met at this
 * time, if it is the only task of its job on the node. Returns true if this
 * cannot be decided because the devices of other tasks are not known. */
static bool is_aligned_at(const struct future_check *f, const struct one *p,
                          uint32_t node, int64_t at)
{
	uint32_t req = f->s->pend.req[p->row];
	struct align_free nfree = { f->then.gpu, f->then.thread,
		                    f->then.numa_mem, NULL };
	struct align_best best;

	reset_devices(f, node);
	for (uint32_t i = f->first[node]; i < f->first[node + 1]; i++) {
		const struct stay *it = &f->stay[i];
		bool there = is_there(f, p, it, at);

		if (there && it->floats)
			return true;
		if (there != it->runs)
			give_devices(f, it, there ? -1 : 1);
	}
	best = check_align_best(f->s, req, node, &nfree);
	return best.fits || !best.known;
}

/* Check that the demands of a job for NUMA nodes and links can be met at its
 * promised start. Only nodes that get one of its tasks are checked. */
static int check_aligned(const struct future_check *f, const struct one *p,
                         const struct snap_promise *promise)
{
	const uint32_t *node = f->a->plan->promise_node + promise->node_first;
	const struct snap *s = f->s;

	if (s->pend.resumes[p->row] != SNAP_NONE ||
	    !check_align_demands(s, s->pend.req[p->row]))
		return 0;
	for (uint32_t i = 0; i < promise->n; i++) {
		uint32_t n = 0;

		for (uint32_t k = 0; k < promise->n; k++)
			n += node[k] == node[i];
		if (n == 1 && !is_aligned_at(f, p, node[i], promise->start))
			return check_bad(f->a, promise->job,
			                 "is promised %lld on %s, where it "
			                 "cannot be aligned then",
			                 (long long)promise->start,
			                 s->node.name[node[i]]);
	}
	return 0;
}

static int check_kept(const struct future_check *f,
                      const struct snap_promise *promise)
{
	const uint32_t *node = f->a->plan->promise_node + promise->node_first;
	struct one p = { 0 };

	if (!find_job(f->s, promise->job, &p.row, &p.member))
		return 0;
	for (uint32_t i = 0; i < promise->n; i++)
		if (f->s->node.retry_at[node[i]] > promise->start)
			return check_bad(f->a, promise->job,
			                 "is promised %lld on %s, which is not "
			                 "ready then",
			                 (long long)promise->start,
			                 f->s->node.name[node[i]]);
	if (!fits_from(f, &p, node, promise->n, promise->start))
		return check_bad(
		    f->a, promise->job,
		    "is promised %lld, when there is no room for it",
		    (long long)promise->start);
	if (!has_licenses(f, &p, promise->start))
		return check_bad(f->a, promise->job,
		                 "is promised %lld, when it has no licence",
		                 (long long)promise->start);
	if (!keeps_limits(f, &p, promise->n, promise->start))
		return check_bad(f->a, promise->job,
		                 "is promised %lld, when a limit forbids it",
		                 (long long)promise->start);
	if (!keeps_array(f, &p, promise->start))
		return check_bad(f->a, promise->job,
		                 "is promised %lld, when its array runs as "
		                 "many tasks as it may",
		                 (long long)promise->start);
	return check_aligned(f, &p, promise);
}

/* Returns the job that is promised a start on the node at the first time at
 * which the node could be up; 0 if there is no such job. */
static uint64_t needs_at_once(const struct audit *a, uint32_t node)
{
	const struct plan *plan = a->plan;

	for (uint32_t i = 0; i < plan->npromises; i++) {
		const struct snap_promise *it = &plan->promise[i];

		for (uint32_t k = 0; k < it->n; k++)
			if (plan->promise_node[it->node_first + k] == node &&
			    it->start <= a->s->node.retry_at[node])
				return it->job;
	}
	return 0;
}

/* Check that the plan asks for each node that a job needs at once, and for no
 * other node. */
static int check_asked(struct audit *a)
{
	const struct plan *plan = a->plan;
	const struct snap *s = a->s;
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->node.n; i++) {
		uint64_t job =
		    s->node.coming[i] == NODE_OFF ? needs_at_once(a, i) : 0;
		bool asked = n < plan->nasked && plan->asked[n] == i;

		n += asked;
		if (asked != (job != 0))
			return check_bad(a, job, "%s is %s", s->node.name[i],
			                 asked ? "needlessly asked for"
			                       : "not asked for");
	}
	return n == plan->nasked
	           ? 0
	           : check_bad(a, 0, "nodes are asked for out of order");
}

int check_promises(struct audit *a)
{
	const struct plan *plan = a->plan;
	const struct snap *s = a->s;
	struct future_check f;

	if (check_asked(a) < 0)
		return -1;
	if (!plan->npromises)
		return 0;
	f = future_check_new(a);
	for (uint32_t i = 0; i < plan->npromises; i++) {
		if (check_kept(&f, &plan->promise[i]) < 0)
			return -1;
	}
	if (s->resv.n || is_any_due(s))
		return 0;
	for (uint32_t i = 0; i < s->npromises; i++) {
		if (check_later(&f, &s->promise[i]) < 0)
			return -1;
	}
	return 0;
}
