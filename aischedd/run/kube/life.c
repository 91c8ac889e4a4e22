/* life.c - the life of an attempt in a cluster */
#include "aischedd/run/kube/life.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/attempt.h"
#include "aischedd/run/kube/client/json.h"
#include "aischedd/run/kube/device/share.h"
#include "aischedd/run/kube/jobs.h"
#include "aischedd/run/kube/kube.h"
#include "aischedd/run/kube/look.h"
#include "aischedd/run/kube/object/agent.h"
#include "aischedd/run/kube/object/job.h"
#include "aischedd/run/kube/object/secret.h"
#include "aischedd/run/kube/shared.h"
#include "aischedd/run/kube/space/ports.h"
#include "aischedd/run/kube/why.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"

/* Returns the text of a start that took longer than s seconds, on the heap: "2
 * of 8 pods did not run within 300 s, the first aj-c-7-1-3-x on node n3", or
 * why the job does not begin although all have run. Marks the slots of these
 * pods as failed, so that their nodes are reported as being at fault. */
static char *late_text(struct kube_attempt *a, int64_t s)
{
	const struct kube_slot *first = NULL;
	const char *name = "";
	uint32_t n = 0;

	for (uint32_t i = 0; i < a->slots.n; i++) {
		struct kube_slot *slot = &a->slots.slot[i];
		struct kube_task *task = kube_attempt_at(a, slot->index);

		slot->failed = !task || !task->pod.ran;
		if (!slot->failed)
			continue;
		if (!n++) {
			first = slot;
			name = task ? task->pod.name : "";
		}
	}
	if (!n)
		return xasprintf("%s within %lld s%s%s",
		                 a->make.service
		                     ? "its pods ran, but had no Service"
		                     : "its pods did not all run at once",
		                 (long long)s, a->make.wait ? ": " : "",
		                 a->make.wait ? a->make.wait : "");
	return xasprintf("%u of %u pods did not run within %lld s, the first "
	                 "%s on node %s%s%s",
	                 n, a->slots.n, (long long)s,
	                 *name ? name : "was to run", first->node,
	                 a->make.wait ? ": " : "",
	                 a->make.wait ? a->make.wait : "");
}

static void check_timeout(struct kube_attempt *a)
{
	int64_t s = a->kube->conf->scheduling.start_timeout;
	bool made = kube_make_is_done(a);
	char *text;

	if (!a->start.since_ms)
		a->start.since_ms = clock_boot_ms();
	if (!made && a->uid)
		kube_why_look(a->space, &a->start.why_ms);
	if (s <= 0 || clock_boot_ms() - a->start.since_ms < s * 1000)
		return;
	text = made ? late_text(a, s)
	            : xasprintf("the cluster had not made all of its pods "
	                        "after %lld s",
	                        (long long)s);
	kube_end_fail(a, made ? FAULT_SYSTEM : FAULT_POOL, text);
	free(text);
}

/* Free the attempt and delete its Job; the cluster deletes what the Job
 * owns. */
static void remove_job(struct kube_attempt *a)
{
	struct kube_job *job = kube_jobs_find(a->space, a->name);

	kube_attempt_free(a);
	if (job && !job->removing)
		kube_ask_remove(job);
}

/* --- the state of an attempt --- */

enum life {
	LIFE_FOUND,
	LIFE_STARTING,
	LIFE_RUNNING,
	LIFE_ENDING,
	LIFE_OVER,
	LIFE_FORGOTTEN
};

static enum life life_of(const struct kube_attempt *a)
{
	if (a->end.over)
		return a->end.forgotten ? LIFE_FORGOTTEN : LIFE_OVER;
	if (a->end.stop || a->end.fault.code || a->end.failing)
		return LIFE_ENDING;
	if (a->start.told)
		return LIFE_RUNNING;
	return a->start.ordered ? LIFE_STARTING : LIFE_FOUND;
}

static bool rests(const struct kube_attempt *a)
{
	return clock_boot_ms() < a->calls.rest_ms;
}

/* --- what is done in each state --- */

/* Make the calls for missing objects and bindings. An attempt that was found
 * running after a restart (!ordered) needs only bindings, for pods that replace
 * failed ones. If the job goes on after it has lost tasks, wait for resize(),
 * which says which tasks it has now. */
static void arrange(struct kube_attempt *a)
{
	if (a->start.ordered && !rests(a)) {
		kube_make_objects(a);
		kube_make_bindings(a);
		kube_slot_shrink(a);
	} else if (a->start.told && a->make.replace && !a->make.loss.least) {
		kube_make_bindings(a);
	}
}

/* Called when all pods run: make the Service by which they find each other,
 * then report RUN_STARTED. */
static void meet(struct kube_attempt *a, const struct kube_look *look)
{
	if (!rests(a))
		kube_make_service(a);
	if (a->start.told || a->make.service)
		return;
	a->start.told = true;
	kube_tell(a, &(struct run_event){
			 .kind = RUN_STARTED,
			 .time = look->start ? look->start : clock_wall_s() });
}

static void take_down(struct kube_attempt *a)
{
	if (!rests(a))
		kube_end_take_down(a);
}

static void (*const act[])(struct kube_attempt *a) = {
	[LIFE_STARTING] = arrange,
	[LIFE_RUNNING] = arrange,
	[LIFE_ENDING] = take_down,
	[LIFE_FORGOTTEN] = NULL,
};

/* --- look at pods, and end the attempt --- */

/* Save the logs of the pods that are being deleted or, if `all`, of all
 * pods. */
static void keep_logs(struct kube_attempt *a, bool all)
{
	if (!a->end.keep)
		a->end.keep = kube_keep_new(a->kube, &a->id);
	kube_keep_add(a->end.keep, all);
}

/* Returns what the attempt's pods show. Also saves the logs of pods that are
 * being deleted, gives up pods on lost nodes, and fails the start if it takes
 * too long, if a container cannot start, or if the Job was deleted. */
static struct kube_look look_at(struct kube_attempt *a)
{
	struct kube_look seen;

	if (life_of(a) == LIFE_STARTING)
		check_timeout(a);
	seen = kube_look_at(a);
	if (seen.leaving)
		keep_logs(a, false);
	if (!rests(a))
		kube_end_fence(a);
	if (a->end.job_gone && !a->start.told && !kube_attempt_any_alive(a))
		kube_end_fail(a, FAULT_POOL, "its Job was deleted");
	return seen;
}

/* Whether the attempt can be reported as ended: no call is open, no pod holds a
 * node, and no further pod will be bound. */
static bool is_quiet(struct kube_attempt *a, const struct kube_look *look)
{
	enum life life = life_of(a);

	if (kube_ask_is_open(a) || kube_attempt_any_alive(a))
		return false;
	return life == LIFE_ENDING ||
	       (life == LIFE_RUNNING && !look->idle && !look->alive);
}

static void finish(struct kube_attempt *a)
{
	keep_logs(a, true);
	if (kube_keep_is_done(a->end.keep))
		kube_tell_end(a);
}

void kube_life_step(struct kube_attempt *a)
{
	struct kube_look look;

	if (!kube_lease_left_ms(a->kube->lease))
		return;
	if (a->end.over) {
		if (a->end.forgotten && !kube_ask_is_open(a))
			remove_job(a);
		return;
	}
	look = look_at(a);
	if (life_of(a) == LIFE_RUNNING ||
	    (life_of(a) == LIFE_STARTING && !look.idle))
		meet(a, &look);
	if (a->start.told && look.bad)
		a->end.failing =
		    /* end all tasks, as other runners do */
		    true;
	if (act[life_of(a)])
		act[life_of(a)](a);
	if (is_quiet(a, &look))
		finish(a);
}

/* --- requests of the daemon --- */

/* Returns the most memory that a node of the attempt has, in MiB. */
static int64_t most_memory(const struct kube_attempt *a)
{
	int64_t most = 0;

	for (uint32_t i = 0; i < a->slots.n; i++) {
		int64_t mib =
		    kube_nodes_memory(a->kube->nodes, a->slots.slot[i].node);

		most = mib > most ? mib : most;
	}
	return most;
}

static void make_job(struct kube_attempt *a, const struct run_job *job)
{
	struct kube_home home = kube_space_home(a->space);
	char claim[KUBE_GRANT_SIZE];
	struct err err;

	home.by_claims = a->give.by_claims;
	if (a->give.named && kube_share_is(a, &a->slots.slot[0]) &&
	    kube_share_name(a, &a->slots.slot[0], claim))
		home.claim = claim;
	a->make.job = kube_object_job(&home, job, &err);
	if (!a->make.job)
		kube_end_fail(a, FAULT_USER, err.text);
	else if (job->spec->mem_node == 0)
		kube_object_job_limit(a->make.job, most_memory(a));
}

static struct spec_loss loss_of(const struct kube_attempt *a,
                                const struct run_job *job)
{
	struct kube_home home = kube_space_home(a->space);

	home.by_claims = a->give.by_claims;
	return kube_object_job_loss(&home, job);
}

static void order(struct kube_attempt *a, const struct run_job *job)
{
	const struct kube_home its = kube_space_home(a->space), *home = &its;
	struct kube_agent_pods pods;
	char *own;

	a->start.ordered = true;
	a->end.grace_s = job->grace;
	a->slots.resize = job->resize;
	a->make.replace = kube_object_job_replace(job->spec);
	a->make.refusals = UINT32_MAX;
	text_set(&a->make.mount, job->spec->mount);
	a->make.once = kube_agent_is(home, job);
	if (a->make.once) {
		kube_agent_pods(job, &pods, NULL);
		a->make.pod_tasks = pods.tasks;
		kube_slot_set_all(a, &pods.job);
		a->give.named = !kube_object_is_gang(&pods.job);
		if (!a->give.named)
			a->make.service = kube_object_service(home, job);
		kube_agent_pods_free(&pods);
	} else {
		kube_slot_set_all(a, job);
		a->give.named = !kube_object_is_gang(job);
		if (!a->give.named)
			a->make.service = kube_object_service(home, job);
	}
	a->make.secret = kube_object_secret(home, job, clock_wall_s(), &own);
	if (own)
		a->make.shared = kube_shared_get(
		    a->space,
		    kube_text_at(json_object_get(a->make.secret, "metadata"),
		                 "name"));
	if (home->pool->isolate_network)
		a->make.policy = kube_object_policy(home, job);
	kube_ports_order(a, job);
	if (kube_give_order(a, job) && !a->uid)
		make_job(a, job);
	if (!a->uid)
		a->make.loss = loss_of(a, job);
	if (a->make.job && own)
		kube_object_secret_share(a->make.job, a->make.shared->name,
		                         own);
	free(own);
}

/* Start nothing in a namespace that is no longer one of the pool's, or whose
 * Jobs cannot be listed. */
static void check_space(struct kube_attempt *a, const struct run_job *job)
{
	char *text;

	if (strcmp(a->space->name, job->space) != 0) {
		text = xasprintf("namespace '%s' is no longer one of the "
		                 "pool's",
		                 job->space);
		kube_end_fail(a, FAULT_POOL, text);
		free(text);
		return;
	}
	if (!kube_space_is_known(a->space))
		kube_end_fail(a, FAULT_POOL,
		              a->space->sight.blind[SEE_JOBS].text);
}

void kube_life_start(struct runner *r, const struct run_job *job)
{
	struct kube *kube = kube_of(r);
	struct kube_owner id = { job->job, job->attempt };
	struct kube_attempt *a = kube_attempt_find(kube, &id);
	struct kube_space *space = kube_space_find(kube, job->space);

	if (kube_adopt_run_start(kube, job) ||
	    (a && (a->start.ordered || a->end.over)))
		return;
	if (!a)
		a = kube_attempt_new(space ? space : kube->spaces.s[0], &id);
	order(a, job);
	check_space(a, job);
	kube_life_step(a);
}

void kube_life_resize(struct runner *r, const struct run_job *job)
{
	struct kube_owner id = { job->job, job->attempt };
	struct kube_attempt *a = kube_attempt_find(kube_of(r), &id);

	if (kube_adopt_run_start(kube_of(r), job) || !a || a->end.over)
		return;
	a->start.ordered = true;
	a->end.grace_s = job->grace;
	kube_slot_set_all(a, job);
	a->slots.resize = job->resize;
	a->slots.resizing = true;
	kube_life_step(a);
}

void kube_life_stop(struct runner *r, uint64_t job, uint32_t attempt,
                    enum stop_why why, int64_t grace)
{
	struct kube_owner id = { job, attempt };
	struct kube_attempt *a = kube_attempt_find(kube_of(r), &id);

	if (kube_adopt_run_stop(kube_of(r), job, attempt, why, grace) || !a ||
	    a->end.over)
		return;
	a->end.stop = true;
	a->end.grace_s = grace;
	kube_life_step(a);
}

void kube_life_forget(struct runner *r, uint64_t job, uint32_t attempt)
{
	struct kube_owner id = { job, attempt };
	struct kube_attempt *a = kube_attempt_find(kube_of(r), &id);

	if (kube_adopt_run_forget(kube_of(r), job, attempt) || !a)
		return;
	a->end.over = a->end.forgotten = true;
	kube_life_step(a);
}
