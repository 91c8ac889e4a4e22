/* admit.c - limits that do not depend on nodes */
#include "aischedd/sched/admit.h"

#include "aischedd/sched/pass.h"
#include "aischedd/sched/verdict.h"

struct demand admit_demand_start(const struct snap *s, uint32_t row,
                                 uint32_t ntasks)
{
	uint32_t req = s->pend.req[row], run = s->pend.resumes[row];
	bool resumes = run != SNAP_NONE;
	int64_t tasks = resumes ? snap_run_ntasks(s, run) : ntasks;

	/* A job that resumes still holds its memory and GPUs, and needs
	 * only CPUs. */
	return (struct demand){
		.queue = s->pend.queue[row],
		.user = s->pend.user[row],
		.req = req,
		.firm = !s->pend.preemptible[row],
		.starts = !resumes,
		.amount = { [RES_CPU] = tasks * s->req.cpus[req],
		            [RES_MEM] = resumes ? 0 : tasks * s->req.mem[req],
		            [RES_GPU] = resumes ? 0 : tasks * s->req.gpus[req] }
	};
}

struct demand admit_demand_extra(const struct snap *s, uint32_t row)
{
	struct demand d = admit_demand_start(s, row, 1);

	d.starts = false;
	return d;
}

struct demand admit_demand_more(const struct snap *s, uint32_t run,
                                size_t ntasks)
{
	uint32_t req = s->run.req[run];
	int64_t tasks = (int64_t)ntasks;

	return (struct demand){ .queue = s->run.queue[run],
		                .user = s->run.user[run],
		                .req = req,
		                .firm = !s->run.preemptible[run],
		                .amount = {
				    [RES_CPU] = tasks * s->req.cpus[req],
				    [RES_MEM] = tasks * s->req.mem[req],
				    [RES_GPU] = tasks * s->req.gpus[req] } };
}

static enum reason say(struct verdict *ret, enum reason why, uint32_t name,
                       int what, struct verdict_limit limit)
{
	ret->why = why;
	ret->name = name;
	ret->what = what;
	ret->limit = limit;
	return why;
}

/* Returns the first resource for which used plus amount exceeds the limit, or
 * RES_N. */
static int over_limit(const int64_t limit[RES_N], const int64_t used[RES_N],
                      const int64_t amount[RES_N])
{
	for (int r = 0; r < RES_N; r++) {
		if (limit[r] != CONF_NONE && amount[r] &&
		    used[r] + amount[r] > limit[r])
			return r;
	}
	return RES_N;
}

/* used: the use once all evicted jobs have ended; late: what evicted jobs still
 * use. Returns `used` or, with `now`, the present use. */
static int64_t in_use(bool now, int64_t used, int64_t late)
{
	return now && late > 0 ? used + late : used;
}

/* Returns how many of a licence a job of the request needs. */
static int64_t license_need(const struct snap *s, uint32_t req,
                            uint32_t license)
{
	int64_t need = 0;

	for (uint32_t i = s->req.license_first[req];
	     i < s->req.license_first[req + 1]; i++) {
		if (s->license_use[i].license == license)
			need += s->license_use[i].count;
	}
	return need;
}

static enum reason check_licenses(const struct snap *s, uint32_t req,
                                  const int64_t *have, enum reason why,
                                  struct verdict *ret)
{
	for (uint32_t i = s->req.license_first[req];
	     i < s->req.license_first[req + 1]; i++) {
		uint32_t name = s->license_use[i].license;
		int64_t need = license_need(s, req, name);

		if (need > have[name])
			return say(ret, why, name, WHAT_LICENSES,
			           (struct verdict_limit){
				       need,
				       s->license.total[name] - have[name],
				       s->license.total[name] });
	}
	return WHY_None;
}

enum reason admit_ever(const struct snap *s, uint32_t row, struct verdict *ret)
{
	static const int64_t nothing[RES_N];
	struct demand d =
	    admit_demand_start(s, row, s->req.min_tasks[s->pend.req[row]]);
	const int64_t *amount = d.amount;

	for (uint32_t q = d.queue; q != SNAP_NONE; q = s->queue.parent[q]) {
		int64_t gpus = s->queue.max_gpus_user[q];
		int r = over_limit(s->queue.limit[q], nothing, amount);

		if (r < RES_N)
			return say(ret, WHY_ExceedsQueueLimit, q, r,
			           (struct verdict_limit){
				       amount[r], 0, s->queue.limit[q][r] });
		if (gpus != CONF_NONE && amount[RES_GPU] > gpus)
			return say(
			    ret, WHY_ExceedsQueueLimit, q, RES_GPU,
			    (struct verdict_limit){ amount[RES_GPU], 0, gpus });
	}
	if (s->pend.resumes[row] != SNAP_NONE)
		return WHY_None;
	return check_licenses(s, s->pend.req[row], s->license.total,
	                      WHY_NeverFits, ret);
}

static enum reason check_jobs(const struct work *w, uint32_t queue, bool now,
                              struct verdict *ret)
{
	const struct snap *s = w->snap;

	for (uint32_t q = queue; q != SNAP_NONE; q = s->queue.parent[q]) {
		int64_t max = s->queue.max_jobs[q];
		int64_t jobs = in_use(now, w->jobs[q], w->late_jobs[q]);

		if (max != CONF_NONE && jobs >= max)
			return say(ret, WHY_QueueMaxJobs, q, WHAT_JOBS,
			           (struct verdict_limit){ 1, jobs, max });
	}
	return WHY_None;
}

static enum reason check_user(struct work *w, const struct demand *d, bool now,
                              struct verdict *ret)
{
	const struct snap *s = w->snap;

	for (uint32_t q = d->queue; q != SNAP_NONE; q = s->queue.parent[q]) {
		int64_t jobs = s->queue.max_jobs_user[q];
		int64_t gpus = s->queue.max_gpus_user[q];
		int64_t more = d->amount[RES_GPU], has_jobs, has_gpus, *use;

		if (!snap_counts_users(s, q))
			continue;
		use = work_user(w, q, d->user);
		has_jobs = in_use(now, use[USER_JOBS], use[USER_LATE_JOBS]);
		has_gpus = in_use(now, use[USER_GPUS], use[USER_LATE_GPUS]);
		if (d->starts && jobs != CONF_NONE && has_jobs >= jobs)
			return say(ret, WHY_UserLimit, q, WHAT_JOBS,
			           (struct verdict_limit){ 1, has_jobs, jobs });
		if (gpus != CONF_NONE && more && has_gpus + more > gpus)
			return say(
			    ret, WHY_UserLimit, q, RES_GPU,
			    (struct verdict_limit){ more, has_gpus, gpus });
	}
	return WHY_None;
}

/* Check the resource limits of the demand's queue, then those of its ancestors.
 */
static enum reason check_limits(const struct work *w, const struct demand *d,
                                bool now, struct verdict *ret)
{
	const struct snap *s = w->snap;

	for (uint32_t q = d->queue; q != SNAP_NONE; q = s->queue.parent[q]) {
		const int64_t *limit = s->queue.limit[q];
		int64_t used[RES_N];
		int r;

		for (r = 0; r < RES_N; r++)
			used[r] = in_use(now, w->used[q][r], w->late[q][r]);
		r = over_limit(limit, used, d->amount);
		if (r < RES_N)
			return say(ret, WHY_QueueLimit, q, r,
			           (struct verdict_limit){ d->amount[r],
			                                   used[r], limit[r] });
	}
	return WHY_None;
}

/* Check the quotas of the demand's queue, then those of its ancestors. Only
 * jobs that may not be preempted count against quotas. Such jobs are never
 * evicted, so what they use is the same now and later. */
static enum reason check_quotas(const struct work *w, const struct demand *d,
                                struct verdict *ret)
{
	const struct snap *s = w->snap;

	for (uint32_t q = d->queue; q != SNAP_NONE; q = s->queue.parent[q]) {
		const int64_t *quota = s->queue.quota[q], *firm = w->firm[q];
		int r = over_limit(quota, firm, d->amount);

		if (r < RES_N)
			return say(ret, WHY_QueueQuota, q, r,
			           (struct verdict_limit){ d->amount[r],
			                                   firm[r], quota[r] });
	}
	return WHY_None;
}

static enum reason admit(struct work *w, const struct demand *d, bool now,
                         struct verdict *ret)
{
	enum reason why = WHY_None;

	if (d->starts) {
		why = check_licenses(w->snap, d->req, w->license, WHY_Licenses,
		                     ret);
		if (why == WHY_None)
			why = check_jobs(w, d->queue, now, ret);
	}
	if (why == WHY_None)
		why = check_user(w, d, now, ret);
	if (why == WHY_None)
		why = check_limits(w, d, now, ret);
	if (why == WHY_None && d->firm)
		why = check_quotas(w, d, ret);
	return why;
}

enum reason admit_then(struct work *w, const struct demand *d,
                       struct verdict *ret)
{
	return admit(w, d, false, ret);
}

enum reason admit_now(struct work *w, const struct demand *d,
                      struct verdict *ret)
{
	enum reason why = admit(w, d, false, ret);

	return why == WHY_None ? admit(w, d, true, ret) : why;
}

void admit_charge(struct work *w, const struct demand *d, int sign)
{
	const struct snap *s = w->snap;

	work_charge(w, d->queue, d->amount, d->firm, sign);
	work_charge_job(w, d->queue, d->user, d->amount[RES_GPU], d->starts,
	                sign);
	if (!d->starts)
		return;
	for (uint32_t i = s->req.license_first[d->req];
	     i < s->req.license_first[d->req + 1]; i++)
		work_add(w, &w->license[s->license_use[i].license],
		         -sign * s->license_use[i].count);
}

void admit_hold(struct work *w, const struct demand *d)
{
	admit_charge(w, d, 1);
	work_delay(w, d->queue, d->user, d->amount, d->starts, -1);
}

/* The most limits that one pass keeps for jobs that have waited too long. */
enum { DUES_MAX = 64 };

struct admit_due {
	uint64_t job;
	enum reason why;
	uint32_t name, user; /* name: the queue or licence; user: 0 unless why
	                        is WHY_UserLimit */
	int what;
};

static bool is_same(const struct admit_due *a, const struct admit_due *b)
{
	return a->why == b->why && a->name == b->name && a->user == b->user &&
	       a->what == b->what;
}

void admit_due_add(struct pass *p, uint32_t row, const struct verdict *limit)
{
	bool user = limit->why == WHY_UserLimit;
	const struct admit_due due = {
		.job = p->snap->member[p->order->next[row]].job,
		.why = limit->why,
		.name = limit->name,
		.user = user ? p->snap->pend.user[row] : 0,
		.what = limit->what,
	};
	const struct admit_due *had = p->due.p;

	/* Do not keep a limit that is below what the job needs, because that
	 * job never fits. */
	if (limit->limit.need > limit->limit.max || p->due.n == DUES_MAX)
		return;
	for (size_t i = 0; i < p->due.n; i++) {
		if (is_same(&had[i], &due))
			return;
	}
	*(struct admit_due *)arena_push(p->arena, &p->due, sizeof(due)) = due;
}

static bool uses_license(const struct snap *s, const struct demand *d,
                         uint32_t license)
{
	for (uint32_t i = s->req.license_first[d->req];
	     d->starts && i < s->req.license_first[d->req + 1]; i++) {
		if (s->license_use[i].license == license)
			return true;
	}
	return false;
}

static bool would_use(const struct snap *s, const struct demand *d,
                      const struct admit_due *due)
{
	if (due->why == WHY_Licenses)
		return uses_license(s, d, due->name);
	if (!snap_queue_is_above(s, due->name, d->queue) ||
	    (due->why == WHY_UserLimit && d->user != due->user) ||
	    (due->why == WHY_QueueQuota && !d->firm))
		return false;
	return due->what == WHAT_JOBS ? d->starts : d->amount[due->what] > 0;
}

enum reason admit_due_check(const struct pass *p, const struct demand *d,
                            struct verdict *ret)
{
	const struct admit_due *due = p->due.p;

	for (size_t i = 0; i < p->due.n; i++) {
		if (!would_use(p->snap, d, &due[i]))
			continue;
		*ret = (struct verdict){ .why = WHY_Priority,
			                 .job = due[i].job,
			                 .name = due[i].name,
			                 .expected = SNAP_NEVER };
		ret->keep.whom = KEPT_LIMIT;
		ret->keep.license = due[i].why == WHY_Licenses;
		return WHY_Priority;
	}
	return WHY_None;
}
