/* run.c - run an attempt of a job whose Job was made with kubectl */
#include "aischedd/run/kube/adopt/run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/adopt/end.h"
#include "aischedd/run/kube/adopt/give.h"
#include "aischedd/run/kube/kube.h"
#include "aischedd/run/kube/object/plain.h"
#include "aischedd/run/kube/object/volume.h"
#include "aischedd/run/kube/why.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"

static void slots_free(struct kube_adopt_run *run)
{
	for (uint32_t i = 0; i < run->nslots; i++) {
		if (run->slot[i].pod)
			run->slot[i].pod->slot = NULL;
		free(run->slot[i].node);
	}
	free(run->slot);
	run->slot = NULL;
	run->nslots = 0;
}

void kube_adopt_run_reset(struct kube_adoptee *j)
{
	slots_free(&j->run);
	free(j->run.lost);
	free(j->run.mount);
	free(j->run.wait);
	kube_keep_free(j->run.keep);
	j->run = (struct kube_adopt_run){ 0 };
	kube_adopt_pod_count(j);
}

/* --- start an attempt, and follow it --- */

static void let_run(struct kube_adoptee *j)
{
	char text[128];

	if (j->at.width > j->run.nslots) {
		snprintf(text, sizeof(text),
		         "it was queued with parallelism %u and has %u now: "
		         "delete it and create it again",
		         j->run.nslots, j->at.width);
		kube_adopt_end_fail(j, FAULT_USER, text);
		return;
	}
	kube_adopt_ask(j, ADOPT_RESUME,
	               j->at.plain ? kube_plain_open(j->at.uid)
	                           : kube_foreign_suspend(j->at.uid, false));
}

/* The owner has suspended the Job: tell the daemon, once, to requeue the
 * job. */
static void give_back(struct kube_adoptee *j)
{
	if (j->run.taken_back)
		return;
	j->run.taken_back = true;
	kube_adopt_tell(j, &(struct run_event){ .kind = RUN_TAKEN_BACK });
}

/* Returns why the pod cannot be bound although its Job was admitted. */
static char *more_text(const struct kube_adopt_pod *p,
                       const struct kube_amount *most)
{
	const struct kube_amount *use = &p->pod.use;

	return xasprintf(
	    "pod %s asks for more than the Job did when it was queued: %" PRId64
	    "m CPU, %" PRId64 "Mi memory, %" PRId64
	    "Mi disk, instead of %" PRId64 "m, %" PRId64 "Mi, %" PRId64
	    "Mi: if a LimitRange or a webhook adds "
	    "that, create the Job again with requests",
	    p->pod.name, use->cpu_milli, use->mem_mib, use->tmp_mib,
	    most->cpu_milli, most->mem_mib, most->tmp_mib);
}

static bool has_more_devices(const struct kube_amount *use,
                             const struct kube_amount *most)
{
	bool more = use->gpus > most->gpus;

	for (int i = 0; i < MIG_PROFILES_MOST; i++)
		more |= use->parts[i] > most->parts[i];
	for (int i = 0; i < DEVICE_KINDS; i++)
		more |= use->devs[i] > most->devs[i];
	return more;
}

static void bind_one(struct kube_adoptee *j, struct kube_adopt_slot *slot)
{
	const struct conf_pool *pool = j->kube->pool;
	const struct kube_amount *most = &j->run.most;
	bool up = kube_nodes_is_up(j->kube->nodes, slot->node);
	struct kube_adopt_pod *p = slot->pod;
	char *text = NULL;
	bool claims;

	claims = kube_amount_has_gpus(&p->pod.use) &&
	         kube_devices_has(j->kube, slot->node);
	if (!up)
		text = xasprintf("node %s is lost", slot->node);
	else if (claims)
		text = xasprintf("node %s gives its GPUs by claims, and the "
		                 "Job asks for GPUs that a plugin counts",
		                 slot->node);
	else if (kube_cpus_more(pool, p->pod.use.cpu_milli, true) >
	             most->cpu_milli ||
	         p->pod.use.mem_mib > most->mem_mib ||
	         p->pod.use.tmp_mib > most->tmp_mib ||
	         has_more_devices(&p->pod.use, most))
		text = more_text(p, most);
	if (text) {
		slot->failed = true;
		kube_adopt_end_fail(
		    j, up && !claims ? FAULT_USER : FAULT_SYSTEM, text);
		free(text);
		return;
	}
	p->binding = true;
	kube_adopt_ask_pod(p, ADOPT_BIND,
	                   kube_object_binding(p->pod.namespace, p->pod.name,
	                                       p->pod.uid, slot->node));
}

/* Whether the volumes of the Job can be mounted on the nodes of its slots. If a
 * claim has no volume yet, change the claim so that it gets one. */
static bool volumes_are_ready(struct kube_adoptee *j)
{
	struct kube_adopt_run *run = &j->run;
	struct kube_claims_next next;
	enum kube_claims_state state;
	const char **node;

	if (!run->mount || run->started)
		return true;
	node = xcalloc(run->nslots + 1, sizeof(*node));
	for (uint32_t i = 0; i < run->nslots; i++)
		node[i] = run->slot[i].node;
	state = kube_claims_look(j->space, run->mount, node, run->nslots,
	                         run->refusals, &next);
	if (run->refusals == UINT32_MAX)
		run->refusals = next.refusals;
	text_set(&run->wait, state == CLAIMS_WAIT ? next.text : NULL);
	if (state == CLAIMS_ASK)
		kube_adopt_ask_volume(j, next.claim, kube_claims_patch(&next));
	if (state == CLAIMS_REFUSED) {
		run->slot[0].failed = next.fault == FAULT_SYSTEM;
		kube_adopt_end_fail(j, next.fault, next.text);
	}
	free(node);
	return state == CLAIMS_READY;
}

/* Whether the slot has a pod that is to be bound. */
static bool waits(const struct kube_adopt_slot *slot)
{
	return slot->pod && !*slot->pod->pod.node && !slot->pod->binding;
}

/* Make the next calls about the claims of all pods that are to be bound.
 * Returns whether these have their GPUs. */
static bool give_all(struct kube_adoptee *j)
{
	bool all = true;

	for (uint32_t i = 0; i < j->run.nslots && !kube_adopt_end_is_due(j);
	     i++)
		if (waits(&j->run.slot[i]))
			all &= kube_adopt_give(j, &j->run.slot[i]);
	return all;
}

/* Bind the pods to the nodes of their slots. At the start wait until all pods
 * exist; later bind each pod when it appears. */
static void bind_all(struct kube_adoptee *j)
{
	struct kube_adopt_run *run = &j->run;
	uint32_t there = 0;

	for (uint32_t i = 0; i < run->nslots; i++)
		there += run->slot[i].pod || run->slot[i].ran;
	if (!run->started && there < run->nslots && there < j->at.rest) {
		if (!j->at.plain)
			kube_why_look(j->space, &run->why_ms);
		return;
	}
	if (!volumes_are_ready(j) || (!give_all(j) && !run->started))
		return;
	for (uint32_t i = 0; i < run->nslots && !kube_adopt_end_is_due(j); i++)
		if (waits(&run->slot[i]) && kube_adopt_give(j, &run->slot[i]))
			bind_one(j, &run->slot[i]);
}

static int64_t last_start(const struct kube_adoptee *j)
{
	const struct kube_adopt_pod *p;
	int64_t start = 0;

	TAILQ_FOREACH(p, &j->pods, of_list)
		if (p->slot && p->pod.start > start)
			start = p->pod.start;
	return start ? start : clock_wall_s();
}

static void check_started(struct kube_adoptee *j)
{
	struct kube_adopt_run *run = &j->run;
	uint32_t ran = 0;

	for (uint32_t i = 0; i < run->nslots; i++)
		ran += run->slot[i].ran;
	if (run->started ||
	    (ran < run->nslots && ran < j->at.rest && !kube_adopt_is_over(j)))
		return;
	run->started = true;
	kube_note(j, false, "Started",
	          j->at.plain ? "it runs" : "all of its pods run");
	kube_adopt_tell(j, &(struct run_event){ .kind = RUN_STARTED,
	                                        .time = last_start(j) });
}

/* Returns why the first waiting pod waits, from its status; if no pod says so,
 * why the attempt itself waits. */
static const char *first_wait(const struct kube_adoptee *j)
{
	const struct kube_adopt_pod *p;

	TAILQ_FOREACH(p, &j->pods, of_list)
		if (p->slot && *p->pod.waits)
			return p->pod.waits;
	return j->run.wait;
}

static void check_timeout(struct kube_adoptee *j)
{
	int64_t s = j->kube->conf->scheduling.start_timeout;
	const char *wait = first_wait(j);
	char text[640];

	if (j->run.started || s <= 0 ||
	    clock_boot_ms() - j->run.since_ms < s * 1000)
		return;
	snprintf(text, sizeof(text),
	         "not all of its pods ran within %lld s%s%s", (long long)s,
	         wait ? ": " : "", wait ? wait : "");
	for (uint32_t i = 0; i < j->run.nslots; i++)
		j->run.slot[i].failed = !j->run.slot[i].ran;
	kube_adopt_end_fail(j, FAULT_SYSTEM, text);
}

static void run_on(struct kube_adoptee *j)
{
	if (!kube_adopt_claim(j))
		return;
	check_started(j);
	check_timeout(j);
	if (kube_adopt_is_over(j) || j->gone || j->at.deleting ||
	    kube_adopt_end_is_due(j))
		return;
	if (j->at.suspended) {
		if (j->run.on && !j->at.plain)
			give_back(j);
		else
			let_run(j);
		return;
	}
	j->run.on = true;
	bind_all(j);
}

/* Whether the Job controller will make no further pods for the Job. */
static bool is_still(const struct kube_adoptee *j)
{
	return j->at.plain || j->gone || j->at.deleting || j->at.suspended ||
	       kube_adopt_is_over(j);
}

/* Whether a pod of this attempt that has run is being deleted. */
static bool is_leaving(const struct kube_adoptee *j)
{
	const struct kube_adopt_pod *p;

	TAILQ_FOREACH(p, &j->pods, of_list)
		if (p->pod.deleting && !p->gone && !p->former && p->pod.ran)
			return true;
	return false;
}

void kube_adopt_run_step(struct kube_adoptee *j)
{
	if (j->run.over)
		return;
	kube_adopt_pod_deal(j);
	if (is_leaving(j))
		kube_adopt_end_keep(j, false);
	if (!kube_adopt_end_is_due(j) && j->run.ordered)
		run_on(j);
	kube_adopt_end_fence(j);
	if (kube_adopt_end_is_due(j))
		kube_adopt_end_take_down(j);
	else if (!kube_adopt_is_over(j) || !j->run.started)
		return;
	if (j->at.plain && !kube_adopt_give_back(j))
		return;
	if (is_still(j) && !kube_adopt_ask_is_open(j) &&
	    !kube_adopt_pod_any_alive(j) && kube_adopt_end_is_kept(j))
		kube_adopt_end_tell(j);
}

/* --- requests of the daemon --- */

/* Returns how many pods run as one task of the job, as they share claims. */
static uint32_t pods_of(const struct spec *spec)
{
	return spec->kube_pods == SPEC_UNSET ? 1 : (uint32_t)spec->kube_pods;
}

/* Set run->most to what one of its pods may ask for. */
static void set_most(struct kube_adoptee *j, const struct run_job *job)
{
	struct kube_amount *most = &j->run.most;
	uint8_t profile = mig_find(job->spec->gpu_type);
	int64_t pods = pods_of(job->spec);

	*most =
	    (struct kube_amount){ .cpu_milli = job->req->cpus_milli / pods,
		                  .mem_mib = job->req->mem_mib / pods,
		                  .tmp_mib = job->req->tmp_mib / pods,
		                  .gpus = (job->req->gpus_milli + 999) / 1000 };
	if (profile) {
		most->gpus = 0;
		most->parts[profile] = 1;
	}
	kube_devs_asked(j->kube->pool, job->spec->device, most->devs);
	for (int i = 0; i < DEVICE_KINDS; i++)
		most->devs[i] /= pods;
}

static void order(struct kube_adoptee *j, const struct run_job *job)
{
	struct kube_adopt_run *run = &j->run;
	uint32_t pods = pods_of(job->spec);

	slots_free(run);
	run->ordered = true;
	run->grace_s = job->grace;
	run->nslots = job->ntasks * pods;
	run->refusals = UINT32_MAX;
	text_set(&run->mount, job->spec->mount);
	run->slot = xcalloc(run->nslots, sizeof(*run->slot));
	for (uint32_t i = 0; i < run->nslots; i++) {
		const char *node = job->node_name[i / pods];

		run->slot[i].node = xstrdup(node);
		run->slot[i].gpus = job->task ? job->task[i / pods].gpus : 0;
		run->by_claims |=
		    run->slot[i].gpus && kube_devices_has(j->kube, node);
	}
	set_most(j, job);
}

/* Before an attempt begins, exclude the pods of the attempt before it: free
 * those that are gone, and set `former` for those that are ending. */
static void leave_behind(struct kube_adoptee *j)
{
	struct kube_adopt_pod *p, *next;

	for (p = TAILQ_FIRST(&j->pods); p; p = next) {
		next = TAILQ_NEXT(p, of_list);
		if (p->gone)
			kube_adopt_pod_free(p);
		else if (p->pod.deleting || kube_pod_is_over(&p->pod))
			p->former = true;
	}
}

/* Serve start() and resize() of a job whose Job was made with kubectl. Both do
 * the same, as the number of tasks never changes. Returns false for other
 * jobs. */
bool kube_adopt_run_start(struct kube *kube, const struct run_job *job)
{
	struct kube_adoptee *j = kube_adopt_of(kube, job->job);

	if (!j)
		return false;
	if (j->run.attempt == job->attempt && (j->run.ordered || j->run.over))
		return true;
	if (j->run.attempt != job->attempt) {
		kube_adopt_run_reset(j);
		leave_behind(j);
		j->run.attempt = job->attempt;
		j->run.since_ms = clock_boot_ms();
		kube_adopt_pod_count(j);
	}
	order(j, job);
	kube_adopt_step(j);
	return true;
}

static const char *const why_text[] = {
	[STOP_CANCEL] = "it was cancelled",
	[STOP_TIME_LIMIT] = "it reached its time limit",
	[STOP_REQUEUE] = "it was requeued",
	[STOP_PREEMPT] = "it was evicted for other jobs, or by an operator",
	[STOP_NODE_FAIL] = "its node failed",
	[STOP_DEADLINE] = "it cannot meet its deadline",
};

static const char *const why_code[] = {
	[STOP_CANCEL] = "Cancelled",   [STOP_TIME_LIMIT] = "TimeLimit",
	[STOP_REQUEUE] = "Requeued",   [STOP_PREEMPT] = "Preempted",
	[STOP_NODE_FAIL] = "NodeFail", [STOP_DEADLINE] = "DeadLine",
};

bool kube_adopt_run_stop(struct kube *kube, uint64_t job, uint32_t attempt,
                         enum stop_why why, int64_t grace)
{
	struct kube_adoptee *j = kube_adopt_of(kube, job);

	if (!j)
		return false;
	if (j->run.attempt != attempt || j->run.over)
		return true;
	if (!j->run.stop && !j->gone)
		kube_note(j, false, why_code[why], why_text[why]);
	j->run.stop = true;
	j->run.why = why;
	j->run.grace_s = grace;
	kube_adopt_step(j);
	return true;
}

bool kube_adopt_run_forget(struct kube *kube, uint64_t job, uint32_t attempt)
{
	struct kube_adoptee *j = kube_adopt_of(kube, job);

	if (!j)
		return false;
	if (j->run.attempt == attempt)
		kube_adopt_run_reset(j);
	return true;
}

/* Answer the daemon's recover() for a job whose Job was made with kubectl: with
 * RUN_STARTED, or RUN_UNKNOWN if it had not started. Returns false for
 * other jobs. */
bool kube_adopt_run_recover(struct kube *kube, const struct kube_owner *id)
{
	struct kube_adoptee *j = kube_adopt_of(kube, id->job);
	struct run_event ev = { .kind = RUN_STARTED };

	if (!j)
		return false;
	j->run.attempt = id->attempt;
	j->run.since_ms = clock_boot_ms();
	kube_adopt_pod_count(j);
	if (j->state == JOB_CONFIGURING)
		ev.kind =
		    /* the daemon calls start() again, which continues this
		     * attempt */
		    RUN_UNKNOWN;
	else
		j->run.started = j->run.on = true;
	ev.time = last_start(j);
	kube_adopt_tell(j, &ev);
	return true;
}
