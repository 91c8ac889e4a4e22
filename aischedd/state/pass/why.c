/* why.c - why a job waits or ended, as a sentence */
#include "aischedd/state/pass/why.h"

#include "aischedd/sched/verdict.h"
#include "aischedd/state/acts.h"
#include "aischedd/state/cluster/queue.h"
#include "aischedd/state/cluster/usage.h"
#include "aischedd/state/life/evict.h"
#include "aischedd/state/pass/apply.h"
#include "aischedd/state/pass/row.h"
#include "aischedd/state/pass/snapshot.h"
#include "aischedd/state/state_priv.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"

static void text_since(struct buf *out, int64_t s)
{
	if (s < 0)
		s = 0;
	format_duration(out, s);
}

static void dependency_text(const struct state *state, const struct job *job,
                            struct buf *text)
{
	buf_puts(text, "waits for ");
	dependency_format(job->deps, text);
	for (uint32_t i = 0; i < job->deps->n; i++) {
		const struct dep *dep = &job->deps->dep[i];
		const struct job *on = state_job(state, dep->job);

		if (dep->never)
			buf_printf(text,
			           "; job %llu ended in another way: this can "
			           "no longer be met",
			           (unsigned long long)dep->job);
		else if (on)
			buf_printf(text, "; job %llu is %s",
			           (unsigned long long)dep->job,
			           job_state_name(on->state));
	}
}

static void ineligible_text(const struct state *state, const struct job *job,
                            enum reason why, int64_t now, struct buf *text)
{
	struct act act;
	struct spec spec;

	switch (why) {
	case WHY_JobHeldUser:
	case WHY_JobHeldAdmin:
		buf_printf(text, "%s", reason_text(why));
		if (acts_last(job->acts, "hold", &act) ||
		    acts_last(job->acts, "uhold", &act) ||
		    acts_last(job->acts, "requeuehold", &act))
			buf_printf(text, " (%s)", act.user);
		buf_printf(text, "; `aictl release %llu` lets it go on",
		           (unsigned long long)job->id);
		break;
	case WHY_Dependency:
	case WHY_DependencyNeverSatisfied:
		dependency_text(state, job, text);
		break;
	case WHY_BeginTime:
		buf_puts(text, "may begin in ");
		text_since(text, job->begin - now);
		break;
	case WHY_StartFailed:
		buf_printf(text, "%s; next try in ",
		           job->text ? job->text : reason_text(why));
		text_since(text, job->runs->retry_at - now);
		break;
	case WHY_Reservation:
		spec_unpack(&spec, job->packed);
		buf_printf(text,
		           "reservation '%s' is over; `aictl update %llu "
		           "reservation=` lets it run without",
		           spec.reservation, (unsigned long long)job->id);
		break;
	case WHY_Volume:
		volume_hinders(state, job, text);
		break;
	case WHY_Affinity:
		affinity_hinders(state, job, text);
		break;
	case WHY_QueueClosed:
		buf_printf(
		    text, "queue '%s' is closed",
		    state->conf->queues[queue_closed_by(state, job->queue)]
			.name);
		break;
	default:
		buf_puts(text, reason_text(why));
	}
}

/* If the runner of the pool cannot start jobs, append `before` and
 * the reason. */
static void trouble_text(const struct state *state, size_t pool,
                         const char *before, struct buf *text)
{
	if (pool < LIMIT_POOLS && state->pools.pool[pool].trouble)
		buf_printf(text, "%s%s", before,
		           state->pools.pool[pool].trouble);
}

/* Append why a node is drained or down, as an operator or the runner said. */
static void node_text(const struct state *state, uint32_t node,
                      struct buf *text)
{
	const char *why = node_reason(&state->nodes.node[node]);

	if (why && *why)
		buf_printf(text, ": %s", why);
}

/* Append why adding nodes of this node's template failed last, if it did. */
static void scale_text(const struct state *state, uint32_t node,
                       struct buf *text)
{
	const char *trouble = state_scale_trouble(state, node);

	if (trouble)
		buf_printf(text, "; the last try failed: %s", trouble);
}

void why_verdict_text(const struct state *state, const struct snap *snap,
                      uint32_t row, const struct verdict *v, struct buf *text)
{
	const struct job *other = v->job ? state_job(state, v->job) : NULL;
	struct job_id_text name;
	struct verdict named = *v;

	if (other) {
		name = job_id_text(other);
		named.job_name = name.text;
	}
	verdict_text(snap, row, &named, text);
	if (v->why == WHY_RunnerDown)
		trouble_text(state, v->name, ": ", text);
	if (v->why == WHY_NodesComing)
		scale_text(state, v->name, text);
	if (v->why == WHY_NodeDown && v->name != SNAP_NONE)
		node_text(state, v->name, text);
}

/* Say what the last plan decided, with times that count from now. */
static void planned_text(const struct state *state, const struct job *job,
                         const struct verdict *v, int64_t now, struct buf *text)
{
	struct arena *arena = arena_new();
	struct snap snap =
	    *snap_of_job(state, state->last_plan.names, job, arena);

	if (snap.now < now)
		snap.now = now;
	why_verdict_text(state, &snap, 0, v, text);
	arena_free(arena);
}

/* Whether this reason says only that the job does not fit or has no turn now.
 * Then it is more useful to say that its last start failed. */
static bool is_want_of_room(enum reason why)
{
	enum reason_kind kind = reason_kind(why);

	return kind == REASON_ROOM || kind == REASON_PLACE ||
	       kind == REASON_DOMAIN || kind == REASON_TURN;
}

/* Returns the last plan's verdict on the job's row, or NULL if there is none.
 * If that plan started all jobs of the row, its verdict does not apply to jobs
 * that joined the row later. */
static const struct verdict *verdict_on(const struct state *state,
                                        const struct job *job)
{
	const struct verdict *v =
	    job->row ? row_verdict(state, job->row) : NULL;

	return !v || v->why == WHY_None ? NULL : v;
}

/* state_why() for a job that is in a row: says what the last plan decided about
 * it, or what has happened since. */
static enum reason turn_why(const struct state *state, const struct job *job,
                            int64_t now, struct buf *text,
                            int64_t *ret_expected, uint32_t *ret_position)
{
	const struct verdict *row = verdict_on(state, job), *v = NULL;
	struct verdict own;
	enum reason why = row ? verdict_reason(row) : WHY_Unevaluated;

	if (row) {
		own = told_verdict(&state->last_plan.told, job->id, row);
		v = &own;
		*ret_expected =
		    v->expected == SNAP_NEVER ? NO_TIME : v->expected;
		*ret_position = v->position;
	}
	if (job->claim) {
		evict_why(state, job, text, ret_expected);
		return WHY_Preempting;
	}
	if (job->runs->start_fails && is_want_of_room(why)) {
		why = WHY_StartFailed;
		if (text)
			buf_printf(text, "%s; next try when it fits: ",
			           job->text ? job->text : reason_text(why));
	}
	if (text && v)
		planned_text(state, job, v, now, text);
	else if (text)
		buf_puts(text, reason_text(why));
	return why;
}

static void suspended_text(const struct job *job, struct buf *text)
{
	struct act act;

	buf_puts(text, "was suspended");
	if (acts_last(job->acts, "suspend", &act))
		buf_printf(text, " (%s)", act.user);
	buf_printf(text, "; `aictl resume %llu` lets it go on",
	           (unsigned long long)job->id);
}

/* state_why() for a suspended job: says which job has its CPUs, and when
 * it resumes. */
static enum reason suspended_why(const struct state *state,
                                 const struct job *job, int64_t now,
                                 struct buf *text, int64_t *ret_expected)
{
	const struct job *other = state_job(state, job->runs->evict_by);
	bool evicted = job->wants_resume && job->evict != EVICT_NONE;

	if (!job->wants_resume) {
		if (text)
			suspended_text(job, text);
		return WHY_JobHeldAdmin;
	}
	if (other && job_is_placed(other))
		*ret_expected = job_due(other);
	if (!text)
		return evicted ? WHY_Preempted : WHY_Resources;
	if (other && job_is_placed(other))
		buf_printf(text, "job %s has its CPUs; ",
		           job_id_text(other).text);
	buf_printf(text, "goes on when its CPUs are free on '%s'",
	           state_node_label(state, job->place->task[0].node));
	if (*ret_expected != NO_TIME) {
		buf_puts(text, ", in ");
		text_since(text, *ret_expected - now);
		buf_puts(text, " at the latest");
	}
	return evicted ? WHY_Preempted : WHY_Resources;
}

enum reason state_why(const struct state *state, const struct job *job,
                      int64_t now, struct buf *text, int64_t *ret_expected,
                      uint32_t *ret_position)
{
	enum reason why;

	*ret_expected = NO_TIME;
	*ret_position = 0;
	if (job_state_is_final(job->state)) {
		why = (enum reason)job->why;
		if (text)
			buf_puts(text,
			         job->text ? job->text : reason_text(why));
		return why;
	}
	if (job->state == JOB_SUSPENDED)
		return suspended_why(state, job, now, text, ret_expected);
	if (job->state != JOB_PENDING) {
		if (text && job->text)
			buf_puts(text, job->text);
		else if (text && job->place && job->state != JOB_RUNNING)
			trouble_text(
			    state,
			    state->nodes.node[job->place->task[0].node].pool,
			    "", text);
		return WHY_None;
	}
	why = state_ineligible(state, job);
	if (why == WHY_None)
		return turn_why(state, job, now, text, ret_expected,
		                ret_position);
	if (why == WHY_BeginTime)
		*ret_expected = job->begin;
	if (text)
		ineligible_text(state, job, why, now, text);
	return why;
}

/* Whether the job has waited for longer than the max_wait of its queue, or of
 * the closest queue above that has one. If there is none, the scheduling
 * policy sets the limit (hold_after), and jobs of a user who has used more
 * than the average are never overdue. light: how little the user has used, as
 * in struct usage. */
static bool is_overdue(const struct conf *conf, const struct job *job,
                       const struct snap_policy *policy, uint32_t light,
                       int64_t now)
{
	int q = (int)job->queue;
	int64_t most;

	while (q >= 0 && conf->queues[q].max_wait == CONF_NONE)
		q = conf->queues[q].parent;
	if (q >= 0)
		most = conf->queues[q].max_wait;
	else if (order_score_is_above(policy, light))
		return false;
	else
		most = order_score_overdue((uint8_t)conf->scheduling.order,
		                           conf->scheduling.hold_after);
	return most != CONF_NONE && now - job->eligible >= most;
}

bool state_score(const struct state *state, const struct job *job, int64_t now,
                 struct order_score *ret)
{
	const struct usage *usage = usage_find(state, job->queue, job->user);
	int64_t ask[RES_N];
	struct request req;
	struct spec spec;

	if (!job->row || !state->last_plan.names)
		return false;
	spec_unpack(&spec, job->packed);
	spec_request(&spec, job->mem_default, &req);
	ask[RES_CPU] = req.tasks * req.cpus_milli;
	ask[RES_MEM] = req.tasks * req.mem_mib;
	ask[RES_GPU] = req.tasks * req.gpus_milli;
	*ret = order_score_make(&state->last_plan.names->policy, job->priority,
	                        now - job->eligible, ask,
	                        state->last_plan.capacity, usage->light);
	ret->overdue =
	    is_overdue(state->conf, job, &state->last_plan.names->policy,
	               usage->light, now);
	return true;
}
