/* admit.c - limits that have nothing to do with nodes */
#include "aischedd/sched/admit.h"

#include "aischedd/sched/why.h"

/* What a start of a job of the row adds to the use of its queue: one that
 * resumes has kept memory and GPUs. */
static void amount_of(const struct snap *s, uint32_t row, int64_t ret[RES_N])
{
	uint32_t req = s->pend.req[row], run = s->pend.resumes[row];
	bool resumes = run != SNAP_NONE;
	int64_t tasks = resumes ? run_ntasks(s, run) : s->req.tasks[req];

	ret[RES_CPU] = tasks * s->req.cpus[req];
	ret[RES_MEM] = resumes ? 0 : tasks * s->req.mem[req];
	ret[RES_GPU] = resumes ? 0 : tasks * s->req.gpus[req];
}

static enum reason say(struct verdict *ret, enum reason why, uint32_t name,
                       int what, const int64_t need_have_total[3])
{
	ret->why = why;
	ret->name = name;
	ret->num[NUM_WHAT] = what;
	for (int i = 0; i < 3; i++)
		ret->num[NUM_NEED + i] = need_have_total[i];
	return why;
}

/* The first resource of which amount more than used is over the limit. */
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

/* How many of a licence a request needs in all. */
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
			           (int64_t[]){ need, have[name],
			                        s->license.total[name] });
	}
	return WHY_None;
}

enum reason admit_ever(const struct snap *s, uint32_t row, struct verdict *ret)
{
	static const int64_t nothing[RES_N];
	int64_t amount[RES_N];

	amount_of(s, row, amount);
	for (uint32_t q = s->pend.queue[row]; q != SNAP_NONE;
	     q = s->queue.parent[q]) {
		int64_t gpus = s->queue.max_gpus_user[q];
		int r = over_limit(s->queue.limit[q], nothing, amount);

		if (r < RES_N)
			return say(
			    ret, WHY_ExceedsQueueLimit, q, r,
			    (int64_t[]){ amount[r], 0, s->queue.limit[q][r] });
		if (gpus != CONF_NONE && amount[RES_GPU] > gpus)
			return say(ret, WHY_ExceedsQueueLimit, q, RES_GPU,
			           (int64_t[]){ amount[RES_GPU], 0, gpus });
	}
	if (s->pend.resumes[row] != SNAP_NONE)
		return WHY_None;
	return check_licenses(s, s->pend.req[row], s->license.total,
	                      WHY_NeverFits, ret);
}

static enum reason check_counts(struct work *w, uint32_t row,
                                struct verdict *ret)
{
	const struct snap *s = w->snap;
	uint32_t first = s->pend.queue[row];

	for (uint32_t q = first; q != SNAP_NONE; q = s->queue.parent[q]) {
		int64_t max = s->queue.max_jobs[q];

		if (max != CONF_NONE && w->jobs[q] >= max)
			return say(ret, WHY_QueueMaxJobs, q, WHAT_JOBS,
			           (int64_t[]){ 1, w->jobs[q], max });
	}
	for (uint32_t q = first; q != SNAP_NONE; q = s->queue.parent[q]) {
		int64_t jobs = s->queue.max_jobs_user[q];
		int64_t gpus = s->queue.max_gpus_user[q];
		int64_t amount[RES_N], *use;

		if (!queue_counts_users(s, q))
			continue;
		use = work_user(w, q, s->pend.user[row]);
		if (jobs != CONF_NONE && use[USER_JOBS] >= jobs)
			return say(ret, WHY_UserLimit, q, WHAT_JOBS,
			           (int64_t[]){ 1, use[USER_JOBS], jobs });
		amount_of(s, row, amount);
		if (gpus != CONF_NONE && amount[RES_GPU] &&
		    use[USER_GPUS] + amount[RES_GPU] > gpus)
			return say(ret, WHY_UserLimit, q, RES_GPU,
			           (int64_t[]){ amount[RES_GPU], use[USER_GPUS],
			                        gpus });
	}
	return WHY_None;
}

enum reason admit_now(struct work *w, uint32_t row, struct verdict *ret)
{
	const struct snap *s = w->snap;
	int64_t amount[RES_N];

	if (s->pend.resumes[row] == SNAP_NONE) {
		enum reason why = check_licenses(s, s->pend.req[row],
		                                 w->license, WHY_Licenses, ret);

		if (why == WHY_None)
			why = check_counts(w, row, ret);
		if (why != WHY_None)
			return why;
	}
	amount_of(s, row, amount);
	for (uint32_t q = s->pend.queue[row]; q != SNAP_NONE;
	     q = s->queue.parent[q]) {
		int r = over_limit(s->queue.limit[q], w->used[q], amount);

		if (r < RES_N)
			return say(ret, WHY_QueueLimit, q, r,
			           (int64_t[]){ amount[r], w->used[q][r],
			                        s->queue.limit[q][r] });
	}
	return WHY_None;
}

void admit_charge(struct work *w, uint32_t row)
{
	const struct snap *s = w->snap;
	uint32_t req = s->pend.req[row];
	int64_t amount[RES_N];

	amount_of(s, row, amount);
	work_charge(w, s->pend.queue[row], amount);
	if (s->pend.resumes[row] != SNAP_NONE)
		return;
	work_charge_job(w, s->pend.queue[row], s->pend.user[row],
	                amount[RES_GPU]);
	for (uint32_t i = s->req.license_first[req];
	     i < s->req.license_first[req + 1]; i++)
		work_add(w, &w->license[s->license_use[i].license],
		         -s->license_use[i].count);
}
