/* test_evict.c - apply plans with evictions */
#include <stdlib.h>

#include "aischedd/state/cluster/pool.h"
#include "aischedd/state/life/lifecycle.h"
#include "tests/unit/check.h"
#include "tests/unit/state/world.h"

static const struct {
	const char *name;
	const char *step[24];
} cases[] = {
	{ "a victim leaves and its nodes are held",
	  { "submit cpus-per-task=4", "run", "tell", "submit",
	    "decide evict 1 all reclaim 2; claim 2 n0",
	    "jobs => 1 CG, 2 PD Preempting", "effects => stop 1.1",
	    "why 2 => Preempting: 1 job is being evicted for it (job 1); n0 is held",
	    "snap run => run 1 *ending*", "snap pend => pend 2 *claim=n0",
	    "wants => no", "end 1 0", "wants => yes",
	    "jobs => 1 PD Unevaluated, 2 PD Preempting",
	    "why 2 => Preempting: n0 is held", "decide start 2 n0",
	    "jobs => 1 PD Resources, 2 CF" } },
	{ "a claim stays as long as plans list it",
	  { "submit", "submit", "decide claim 1 n0; claim 2 n0",
	    "jobs => 1 PD Preempting, 2 PD Preempting", "decide claim 2 n0",
	    "jobs => 1 PD Unevaluated, 2 PD Preempting", "decide",
	    "jobs => 1 PD Resources, 2 PD Resources", "wants => no" } },
	{ "a claim of many nodes is named in short",
	  { "node n1 4", "node n2 4", "node n3 4", "node n4 4", "submit",
	    "decide claim 1 n0,n0,n1,n2,n3,n4",
	    "why => Preempting: n0, n1, n2, n3 and 1 more node are held",
	    "snap pend => pend 1 *claim=n0?2,n1,n2,n3,n4" } },
	{ "who is held, has no claim",
	  { "submit", "decide claim 1 n0", "hold", "release",
	    "jobs => 1 PD Unevaluated" } },
	{ "who asks for something else, has no claim",
	  { "submit", "decide claim 1 n0", "update 1 cpus-per-task=2",
	    "jobs => 1 PD Unevaluated" } },
	{ "a job that moves keeps the nodes held for it",
	  { "submit", "run", "tell", "submit",
	    "decide evict 1 all consolidate 2; hold 1 n0; claim 2 n0",
	    "effects => stop 1.1", "snap run => run 1 *ending*claim=n0",
	    "end 1 0", "jobs => 1 PD Preempting, 2 PD Preempting",
	    "decide start 1 n0; claim 2 n0", "jobs => 1 CF, 2 PD Preempting",
	    "snap pend => pend 2 *claim=n0" } },
	{ "a plan that was overtaken takes from nobody for nobody",
	  { "submit", "run", "tell", "submit", "look", "cancel 2",
	    "decide evict 1 all reclaim 2; claim 2 n0",
	    "jobs => 1 R, 2 CA Cancelled", "effects =>", "wants => yes" } },
	{ "nobody is told twice",
	  { "submit", "run", "tell", "submit", "look", "cancel 1", "tell",
	    "decide evict 1 all reclaim 2; claim 2 n0", "effects =>",
	    "jobs => 1 CG, 2 PD Preempting" } },
	{ "a job that ended meanwhile keeps the nodes held for it",
	  { "submit", "run", "submit",
	    "decide evict 1 all consolidate 2; hold 1 n0; claim 2 n0", "look",
	    "end 1 0", "decide hold 1 n0; claim 2 n0",
	    "jobs => 1 PD Preempting, 2 PD Preempting" } },
	{ "when nodes change, all stays as it is",
	  { "submit", "run", "tell", "submit", "decide claim 2 n0", "look",
	    "node n1 4", "decide evict 1 all reclaim 2",
	    "jobs => 1 R, 2 PD Preempting", "effects =>", "wants => yes" } },
	{ "a task of an array that claims is a job of its own",
	  { "submit", "run", "submit array=0-3",
	    "decide evict 1 all reclaim 2; claim 2 n0; claim 2 n0",
	    "jobs => 1 CG, 2_[2-3] PD Resources, 2_0 PD Preempting, "
	    "2_1 PD Preempting",
	    "why 3 => Preempting: 1 job is being evicted for it (job 1); n0 is held",
	    "why 4 => Preempting: n0 is held",
	    "snap pend => *pend 3 *claim=n0"
	    "*" } },
	{ "who claims counts within the limit of an array",
	  { "submit", "run", "submit array=0-3%1",
	    "decide evict 1 all reclaim 2; claim 2 n0",
	    "snap pend => *pend 2?3/0 *pend 3 *claim=n0*" } },
	{ "a job that only lends its CPUs resumes by itself",
	  { "submit", "run", "tell", "submit",
	    "decide evict 1 all preempt 2 suspend", "effects => suspend 1.1",
	    "jobs => 1 S Preempted, 2 PD Resources", "wants => yes",
	    "snap pend => *pend 1 *resumes*", "decide start 1 n0",
	    "jobs => 1 R, 2 PD Resources" } },
	{ "a suspended job has the rest of its time limit",
	  { "submit time=10", "run", "tell", "+200", "submit",
	    "snap run => run 1 *", "decide evict 1 all preempt 2 suspend",
	    "+100", "snap run => run 1 * suspended * ran=200 *",
	    "decide start 1 n0", "snap run => run 1 * end=1700 *" } },
	{ "some tasks leave, the others go on",
	  { "submit tasks=3", "run", "tell", "submit",
	    "decide evict 1 0,2 reclaim 2; claim 2 n0",
	    "jobs => 1 R, 2 PD Preempting", "effects => resize 1.1",
	    "snap run => run 1 * on=n0:c1; run 1 * ending * on=n0:c0,n0:c2",
	    "why 2 => Preempting: 1 job is being evicted for it (job 1); n0 is held",
	    "wants => no", "shrunk", "wants => yes",
	    "snap run => run 1 * on=n0:c1",
	    "why 2 => Preempting: n0 is held" } },
	{ "more may leave before those are gone",
	  { "submit tasks=4", "run", "tell", "decide evict 1 0 reclaim 0",
	    "decide evict 1 2 reclaim 0",
	    "snap run => run 1 * on=n0:c1,n0:c2; run 1 * on=n0:c0,n0:c3",
	    "cancel", "snap run => run 1 *; run 1 * ending *", "end 1 0",
	    "snap run =>", "jobs => 1 CA Cancelled" } },
	{ "a job grows",
	  { "submit tasks=2", "run", "node n1 4", "tell", "decide hold 1 n1",
	    "snap run => *claim=n1", "decide grow 1 n0,n1",
	    "effects => resize 1.1",
	    "snap run => run 1 * on=n0:c0,n0:c1,n0:c-,n1:c-", "wants => yes",
	    "decide", "wants => no" } },
	{ "what is held for a job may be said in parts",
	  { "submit", "run", "node n1 4", "decide hold 1 n1; hold 1 n0,n0",
	    "snap run => *claim=n1,n0?2" } },
	{ "who grows and is evicted has nothing",
	  { "submit", "run", "tell", "decide grow 1 n0; evict 1 all preempt 0",
	    "jobs => 1 CG" } },
	{ "nobody grows onto a node that is down",
	  { "submit", "run", "node n1 4", "look", "drain n1 broken", "tell",
	    "decide grow 1 n1", "effects =>" } },
	{ "nodes that are not left are nobody's",
	  { "submit grace=10s", "run", "submit",
	    "decide evict 1 all reclaim 2; claim 2 n0", "next => 130", "+129",
	    "jobs => 1 CG, 2 PD Preempting", "+1",
	    "jobs => 1 CG, 2 PD Unevaluated", "wants => yes",
	    "snap node => node n0 * retry_at=1131 *", "+1", "wants => yes" } },
	{ "tasks that do not leave, too",
	  { "submit tasks=2 grace=0s", "run", "submit",
	    "decide evict 1 0 reclaim 2; claim 2 n0", "+120",
	    "jobs => 1 R, 2 PD Unevaluated",
	    "snap node => node n0 * retry_at=1121 *", "shrunk", "+120",
	    "snap node => node n0 * retry_at=1121 *" } },
	{ "the last plan says when it is time for another",
	  { "submit", "decide wake 20", "next => 20", "wants => no", "+20",
	    "wants => yes", "decide wake 40", "decide", "next => -*" } },
	{ "that time may come while there is planned",
	  { "submit", "look", "+30", "wants => no", "decide wake -10",
	    "wants => yes" } },
	{ "who was evicted is left in peace for a while",
	  { "submit",
	    "run",
	    "snap run => run * safe=1000 *",
	    "+10",
	    "preempt",
	    "end 1 0",
	    "+10",
	    "run",
	    "snap run => run * safe=1140 *",
	    "+200",
	    "preempt",
	    "end 1 0",
	    "run",
	    "preempt",
	    "end 1 0",
	    "run",
	    "snap run => run * safe=1340 *",
	    "+300",
	    "preempt",
	    "end 1 0",
	    "run",
	    "snap run => run * safe=4610 *" } },
	{ "a job that failed to start says so until it starts",
	  { "submit", "plan", "start_failed",
	    "why => StartFailed: cannot fork; next try in 0:01", "+1",
	    "why => Unevaluated: *", "decide",
	    "why => StartFailed: cannot fork; next try when it fits: *", "plan",
	    "started", "jobs => 1 R" } },
	{ "one failure says nothing of a node",
	  { "submit", "plan", "start_failed", "+1", "plan", "start_failed",
	    "snap node => node n0 cpus=4 mem=4000M *" } },
	{ "two jobs that fail to start say something",
	  { "submit", "submit", "submit", "plan", "start_failed 1",
	    "start_failed 2", "snap node => node n0 * retry_at=1001 *",
	    "start_failed 3", "snap node => node n0 * retry_at=1002 *", "+2",
	    "plan", "started 1", "snap node => node n0 cpus=4 mem=4000M *" } },
};

START_TEST(evict_case)
{
	struct world w;

	world_with_node(&w, NULL);
	world_play(&w, cases[_i].name, cases[_i].step);
	world_commit(&w);
	world_fini(&w);
}
END_TEST

/* An elastic job that starts with fewer tasks than it requests asks for another
 * pass. */
START_TEST(elastic_jobs_grow_in_the_next_pass)
{
	static const char *const steps[] = { "submit tasks=3 min-tasks=2",
		                             "decide start 1 n0,n0",
		                             "wants => yes",
		                             "decide",
		                             "wants => no",
		                             "started 1",
		                             "decide grow 1 n0",
		                             "wants => yes",
		                             NULL };
	struct world w;

	world_with_node(&w, NULL);
	world_play(&w, "", steps);
	world_fini(&w);
}
END_TEST

/* While a pool's runner is away, plans leave out the pool, and claims on its
 * nodes are kept. */
START_TEST(claims_outlive_a_runner_that_is_away)
{
	static const char *const held[] = { "submit", "decide claim 1 n0",
		                            NULL };
	static const char *const away[] = { "decide", "jobs => 1 PD Preempting",
		                            NULL };
	static const char *const back[] = { "decide",
		                            "jobs => 1 PD Unevaluated", NULL };
	struct world w;

	world_with_node(&w, NULL);
	world_play(&w, "", held);
	state_pool_ready(w.state, 0, false);
	world_play(&w, "away", away);
	state_pool_ready(w.state, 0, true);
	world_play(&w, "back", back);
	world_fini(&w);
}
END_TEST

/* If a job was told to shrink again, the runner's answer to the earlier request
 * frees no tasks of the later one. */
START_TEST(answers_that_were_overtaken)
{
	struct event_in ev = { .kind = EV_shrunk, .resize = 1 };
	const uint32_t loss[] = { 0, 1, 2 };
	struct event_in shrink = { .kind = EV_shrink, .loss = loss };
	struct world w;
	struct job *job;

	world_with_node(&w, NULL);
	world_submit(&w, "tasks=4");
	world_run(&w);
	job = state_job(w.state, 1);
	shrink.nlosses = 1;
	state_event(w.state, job, &shrink, NULL);
	shrink.nlosses = 2;
	state_event(w.state, job, &shrink, NULL);
	ck_assert_uint_eq(job->runs->leaving->ntasks, 3);
	state_event(w.state, job, &ev, NULL);
	ck_assert_uint_eq(job->runs->leaving->ntasks, 3);
	ev.resize = 0;
	ev.nlosses = 1;
	state_event(w.state, job, &ev, NULL);
	ck_assert_uint_eq(job->runs->leaving->ntasks, 2);
	ev.resize = 2;
	ev.nlosses = 0;
	state_event(w.state, job, &ev, NULL);
	ck_assert_ptr_null(job->runs->leaving);
	world_fini(&w);
}
END_TEST

START_TEST(nobody_has_more_than_evict_timeout_to_make_room)
{
	struct world w;

	world_with_node(&w, NULL);
	w.who.operator_ = true;
	world_play(&w, "",
	           (const char *const[]){
		       "submit grace=300s", "run", "tell", "submit",
		       "decide evict 1 all reclaim 2; claim 2 n0",
		       "effects => stop 1.1 grace=120", "next => 240", NULL });
	world_fini(&w);
}
END_TEST

SUITE(evict)
{
	tcase_add_loop_test(tc, evict_case, 0, (int)ARRAY_SIZE(cases));
	tcase_add_test(tc, elastic_jobs_grow_in_the_next_pass);
	tcase_add_test(tc, answers_that_were_overtaken);
	tcase_add_test(tc, claims_outlive_a_runner_that_is_away);
	tcase_add_test(tc, nobody_has_more_than_evict_timeout_to_make_room);
}
