/*
 * audit.h - the parts of the verifier of plans
 *
 * plan_check.c goes through what starts and grows now, room.c looks at
 * the time when all who were told to leave have left, rules.c at who
 * may have, and may take, what.  They share no code with the planner.
 */
#ifndef AISCHEDD_SCHED_CHECK_AUDIT_H
#define AISCHEDD_SCHED_CHECK_AUDIT_H

#include "aischedd/sched/plan.h"

/* A plan, and what each run loses by it. */
struct audit {
	const struct snap *s;
	const struct plan *plan;
	struct err *err;
	struct arena *arena;
	const struct eviction **out; /* by run: NULL, it stays */
	const struct plan_claim *
	    *moved;            /* by run: where it goes on, if it leaves;
	                        * more tasks, if it stays; or NULL */
	uint8_t *lost;         /* by task of the snapshot: it leaves */
	uint32_t *more;        /* by run: tasks it gets */
	uint32_t *served;      /* by member: jobs that start, or have a claim */
	const struct use *use; /* of rules.c */
	uint32_t *scratch;     /* by node: 0 */
};

/*
 * In this order; all but check_use() say -1 and why in *err if something is
 * not as it has to be.
 */
int check_lists(struct audit *a);
void check_use(struct audit *a);
int check_shares(struct audit *a);
int check_rules(struct audit *a);
int check_room(struct audit *a);

/* Whether the only claimant of the plan is surely within limits and shares if
 * a run keeps so many of the tasks that it loses. */
bool check_could_keep(const struct audit *a, uint32_t run, uint32_t tasks);

int check_bad(const struct audit *a, uint64_t job, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* What a claim, or who is named in an eviction, stands for. */
struct party {
	uint32_t req, queue, user;
	uint32_t tasks;   /* it asks for so many more */
	int64_t standing; /* standing.c */
	uint64_t job;
	bool starts, firm;
};

/* A job may preempt one of its queue whose standing is lower. */
int64_t check_standing_of_row(const struct snap *s, uint32_t row);
int64_t check_standing_of_run(const struct snap *s, uint32_t run);

struct party check_claimant(const struct audit *a, const struct plan_claim *c);

/* The claim of the job for which others leave, or NULL. */
const struct plan_claim *check_claim_of(const struct audit *a, uint64_t job);

static inline uint32_t check_ntasks(const struct snap *s, uint32_t run)
{
	return s->run.task_first[run + 1] - s->run.task_first[run];
}

/* Whether all of a run leaves, and not only tasks that it can do without. */
static inline bool check_is_whole(const struct audit *a, uint32_t run)
{
	return a->out[run] && a->out[run]->nlosses == check_ntasks(a->s, run);
}

/* Whether it was told to leave by an earlier plan, or it is by this one. */
static inline bool check_leaves(const struct audit *a, uint32_t run)
{
	return a->s->run.ending[run] || check_is_whole(a, run);
}

/* The tasks that it keeps. */
static inline uint32_t check_stays(const struct audit *a, uint32_t run)
{
	return check_ntasks(a->s, run) -
	       (a->out[run] ? a->out[run]->nlosses : 0);
}

/* Why the request may not run on a node, or NULL. */
const char *check_forbidden(const struct snap *s, uint32_t req, uint32_t node);

/* The domain of this level that has the node, or SNAP_NONE. */
uint32_t check_domain(const struct snap *s, uint32_t node, uint8_t level);

/* Whether a job may have these nodes, one a task; and whether a run may have
 * those by which it grows. */
int check_nodes(const struct audit *a, uint32_t req, uint64_t job,
                const struct snap_task *t, uint32_t n);
int check_growth(const struct audit *a, uint32_t run);

#endif
