/*
 * audit.h - the parts of the verifier of plans
 *
 * plan_check.c checks what starts and grows now, room.c whether claims fit once
 * all evicted jobs have ended, promises.c whether promised starts have room,
 * rules.c limits and the rules of eviction. They share no code with the
 * planner.
 */
#ifndef AISCHEDD_SCHED_CHECK_AUDIT_H
#define AISCHEDD_SCHED_CHECK_AUDIT_H

#include "aischedd/sched/plan.h"

/* A plan that is being checked, and what it takes from each run. */
struct audit {
	const struct snap *s;
	const struct plan *plan;
	struct err *err;
	struct arena *arena;
	const struct eviction **out; /* by run: its eviction; NULL: it is not
	                                evicted */
	/* by run: the claim on which it starts again after an eviction, or
	 * NULL */
	const struct plan_claim **moved;
	uint8_t *lost;         /* by task of the snapshot: 1 if it is evicted */
	uint32_t *more;        /* by run: how many tasks the plan adds */
	uint32_t *served;      /* by member: number of starts and claims */
	const struct use *use; /* made by rules.c */
	uint32_t *scratch;     /* by node; each function that uses it leaves it
	                          zero */
};

/*
 * The parts of the verifier, called in this order. All but check_use() return
 * -1 and set *err if the plan is wrong.
 */
int check_lists(struct audit *a);
void check_use(struct audit *a);
int check_shares(struct audit *a);
int check_rules(struct audit *a);
int check_room(struct audit *a);
int check_promises(struct audit *a);

/* Whether the only claimant of the plan would certainly be within its limits
 * and shares even if the run kept this many of the tasks that it loses. */
bool check_could_keep(const struct audit *a, uint32_t run, uint32_t tasks);

/* A claimant: a job that waits, or a run that grows or moves. */
struct party {
	uint32_t req, queue, user;
	uint32_t tasks;   /* the number of tasks it asks for */
	int64_t standing; /* see standing.c */
	uint64_t job;
	bool starts, firm;
};

/* Return the standing of a job: the job may preempt jobs of its queue whose
 * standing as a victim is lower. */
int64_t check_standing_of_row(const struct snap *s, uint32_t row);
int64_t check_standing_of_run(const struct snap *s, uint32_t run);
int64_t check_standing_as_victim(const struct snap *s, uint32_t run);

static inline uint32_t check_ntasks(const struct snap *s, uint32_t run)
{
	return s->run.task_first[run + 1] - s->run.task_first[run];
}

/* Whether all of a run is evicted, not only tasks above its minimum. */
static inline bool check_is_whole(const struct audit *a, uint32_t run)
{
	return a->out[run] && a->out[run]->nlosses == check_ntasks(a->s, run);
}

/* Whether the run is evicted by an earlier plan or by this one. */
static inline bool check_leaves(const struct audit *a, uint32_t run)
{
	return a->s->run.ending[run] || check_is_whole(a, run);
}

/* Returns how many of its tasks the run keeps. */
static inline uint32_t check_stays(const struct audit *a, uint32_t run)
{
	return check_ntasks(a->s, run) -
	       (a->out[run] ? a->out[run]->nlosses : 0);
}

#endif
