/* kube_job.c - one attempt of a job, from its order to its end */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "aischedd/run/kube.h"
#include "aischedd/run/kube_call.h"
#include "libcommon/mem.h"

enum {
	PULL_MS = 30000,  /* an image that cannot be had is tried for so long */
	SLACK_MS = 15000, /* what is late by more does not come by itself */
	EXIT_SIGNAL = 128 /* a shell's status of what a signal ended */
};

/* --- attempts, their pods --- */

uint64_t kube_key(uint64_t job, uint32_t attempt)
{
	return hash_bytes(attempt, &job, sizeof(job));
}

uint64_t kube_text_key(const char *text)
{
	return hash_bytes(0, text, strlen(text));
}

struct kube_attempt *kube_attempt_find(struct kube *kube,
                                       const struct kube_owner *id)
{
	return map_find(&kube->attempts, kube_key(id->job, id->attempt));
}

struct kube_attempt *kube_attempt_new(struct kube *kube,
                                      const struct kube_owner *id)
{
	struct kube_attempt *a = xcalloc(1, sizeof(*a));
	struct kube_task *task, *next;

	a->kube = kube;
	a->id = *id;
	TAILQ_INIT(&a->tasks);
	kube_object_name(a->name, kube->home.cluster, id->job, id->attempt);
	map_set(&kube->attempts, kube_key(id->job, id->attempt), a);
	for (task = TAILQ_FIRST(&kube->loose); task; task = next) {
		next = TAILQ_NEXT(task, of_list);
		if (task->owner.job == id->job &&
		    task->owner.attempt == id->attempt)
			kube_attempt_link(a, task);
	}
	return a;
}

static void slots_free(struct slot *slot, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		free(slot[i].node);
		free(slot[i].lost);
	}
	free(slot);
}

static void drop_orders(struct kube_attempt *a)
{
	json_t **objs[] = { &a->job, &a->secret, &a->service };

	for (size_t i = 0; i < ARRAY_SIZE(objs); i++) {
		json_decref(*objs[i]);
		*objs[i] = NULL;
	}
}

static void unlink_task(struct kube_task *task)
{
	struct kube_attempt *a = task->attempt;

	TAILQ_REMOVE(&a->tasks, task, of_list);
	TAILQ_INSERT_TAIL(&a->kube->loose, task, of_list);
	task->attempt = NULL;
}

void kube_attempt_free(struct kube_attempt *a)
{
	struct kube *kube = a->kube;
	struct kube_task *task;

	map_del(&kube->attempts, kube_key(a->id.job, a->id.attempt));
	while ((task = TAILQ_FIRST(&a->tasks))) {
		unlink_task(task);
		kube_task_count(kube, task);
		if (task->gone)
			kube_task_free(kube, task);
	}
	drop_orders(a);
	slots_free(a->slot, a->nslots);
	free(a->uid);
	free(a);
}

/* task is among the loose ones. */
void kube_attempt_link(struct kube_attempt *a, struct kube_task *task)
{
	TAILQ_REMOVE(&a->kube->loose, task, of_list);
	TAILQ_INSERT_TAIL(&a->tasks, task, of_list);
	task->attempt = a;
	kube_task_count(a->kube, task);
}

static struct kube_task *task_at(struct kube_attempt *a, uint32_t index)
{
	struct kube_task *task, *found = NULL;

	TAILQ_FOREACH(task, &a->tasks, of_list)
		if (task->pod.index == (int32_t)index &&
		    (!found || !task->pod.deleting))
			found = task;
	return found;
}

static bool is_bound(const struct kube_task *task)
{
	return *task->pod.node || task->binding;
}

/* It holds its node. */
static bool is_alive(const struct kube_task *task)
{
	return is_bound(task) && !kube_pod_is_over(&task->pod);
}

static void slot_lose(struct slot *slot, const char *pod, const char *why)
{
	if (!slot->lost)
		slot->lost =
		    xasprintf("pod %s on node %s: %s", pod, slot->node, why);
}

void kube_attempt_lose(struct kube_attempt *a, struct kube_task *task)
{
	const struct kube_pod *pod = &task->pod;
	const char *why = "was deleted";

	if (*pod->node && !kube_nodes_is_there(a->kube->nodes, pod->node))
		why = "the node is no longer there";
	else if (*pod->node && !kube_nodes_is_up(a->kube->nodes, pod->node))
		why = "the node is lost";
	for (uint32_t i = 0; i < a->nslots; i++)
		if (a->slot[i].seen && task_at(a, a->slot[i].index) == task)
			slot_lose(&a->slot[i], pod->name, why);
	unlink_task(task);
}

/* --- telling --- */

static void tell(struct kube_attempt *a, struct run_event *ev)
{
	ev->job = a->id.job;
	ev->attempt = a->id.attempt;
	a->kube->fn(ev, a->kube->arg);
}

static void tell_last(struct kube_attempt *a, struct run_event *ev)
{
	a->over = true;
	drop_orders(a);
	tell(a, ev);
}

/* Of tasks that ended badly, the first. */
static bool is_worse(const struct kube_pod *pod, const struct kube_pod *worst)
{
	bool bad = pod->exit_code || pod->oom;
	bool was = worst && (worst->exit_code || worst->oom);

	return !worst || (bad && !was) || (bad && pod->end < worst->end);
}

static void tell_ended(struct kube_attempt *a, const char *text)
{
	struct outcome o = { .peak_mem_kib = SPEC_UNSET, .text = text };
	const struct kube_pod *worst = NULL;

	for (uint32_t i = 0; i < a->nslots; i++) {
		struct kube_task *task = task_at(a, a->slot[i].index);

		if (!task || !task->pod.ended)
			continue;
		if (!o.start || (task->pod.start && task->pod.start < o.start))
			o.start = task->pod.start;
		if (task->pod.end > o.end)
			o.end = task->pod.end;
		o.oom |= task->pod.oom;
		if (is_worse(&task->pod, worst))
			worst = &task->pod;
	}
	if (worst)
		o.exit_code = worst->exit_code;
	else
		o.signal = SIGTERM; /* it was deleted before it said */
	if (o.exit_code > EXIT_SIGNAL && o.exit_code <= EXIT_SIGNAL + 64) {
		o.signal = o.exit_code - EXIT_SIGNAL;
		o.exit_code = 0;
	}
	if (!o.start)
		o.start = time(NULL);
	if (!o.end)
		o.end = time(NULL);
	tell_last(a, &(struct run_event){ .kind = RUN_ENDED, .outcome = &o });
}

static void fail(struct kube_attempt *a, enum start_fault whose,
                 const char *text)
{
	if (a->fault.code || a->started)
		return;
	err_set(&a->fault, EIO, "%s", text);
	a->whose = whose;
}

static const char *first_loss(const struct kube_attempt *a)
{
	for (uint32_t i = 0; i < a->nslots; i++)
		if (a->slot[i].lost)
			return a->slot[i].lost;
	return NULL;
}

/* Nothing of it runs any more, or will. */
static void tell_end(struct kube_attempt *a)
{
	const char *lost = first_loss(a);

	if (a->stop)
		tell_ended(a, NULL);
	else if (a->fault.code)
		tell_last(a, &(struct run_event){ .kind = RUN_START_FAILED,
		                                  .fault = a->whose,
		                                  .text = a->fault.text });
	else if (lost)
		tell_last(
		    a, &(struct run_event){ .kind = RUN_LOST, .text = lost });
	else
		tell_ended(a, NULL);
}

/* --- what is there to be seen --- */

/* Why a container does not start, where that will not pass by itself. */
static bool is_stuck(struct kube_attempt *a, const struct kube_pod *pod)
{
	static const char *const fatal[] = { "InvalidImageName",
		                             "ErrImageNeverPull",
		                             "CreateContainerConfigError",
		                             "CreateContainerError",
		                             "RunContainerError" };
	bool pulls = !strcmp(pod->waits, "ErrImagePull") ||
	             !strcmp(pod->waits, "ImagePullBackOff");

	for (size_t i = 0; i < ARRAY_SIZE(fatal); i++)
		if (!strcmp(pod->waits, fatal[i]))
			return true;
	if (!pulls)
		return false;
	if (!a->waits_ms)
		a->waits_ms = kube_now_ms();
	return kube_now_ms() - a->waits_ms > PULL_MS;
}

static void fail_for_pod(struct kube_attempt *a, const struct kube_pod *pod)
{
	char *text = NULL;

	if (is_stuck(a, pod)) {
		text =
		    xasprintf("its container cannot start: %s: %s", pod->waits,
		              *pod->waits_why ? pod->waits_why : "no reason");
		fail(a, FAULT_USER, text);
	} else if (pod->phase == POD_FAILED && !pod->ran) {
		text =
		    xasprintf("node '%s' does not take pod %s: %s %s",
		              pod->node, pod->name, pod->reason, pod->message);
		fail(a, FAULT_SYSTEM, text);
	}
	free(text);
}

/* What the pods of the slots say; how many have not run, and live. */
static void look(struct kube_attempt *a, uint32_t *ret_idle,
                 uint32_t *ret_alive, bool *ret_bad, int64_t *ret_start)
{
	for (uint32_t i = 0; i < a->nslots; i++) {
		struct slot *slot = &a->slot[i];
		struct kube_task *task = task_at(a, slot->index);

		if (!task) {
			*ret_idle += !slot->seen;
			*ret_bad |= slot->seen;
			continue;
		}
		slot->seen = true;
		*ret_alive += is_alive(task);
		*ret_idle += !task->pod.ran;
		if (task->pod.start > *ret_start)
			*ret_start = task->pod.start;
		if (!a->started)
			fail_for_pod(a, &task->pod);
		if (!kube_pod_is_over(&task->pod))
			continue;
		if (kube_pod_is_lost(&task->pod))
			slot_lose(slot, task->pod.name, task->pod.reason);
		else if (task->pod.deleting && !a->stop && !a->ending)
			slot_lose(slot, task->pod.name, "was deleted");
		*ret_bad |= task->pod.exit_code || task->pod.oom || slot->lost;
	}
}

/* --- taking down --- */

static void leave(struct kube_attempt *a, struct kube_task *task,
                  const char *why)
{
	if (task->leaving || *task->pod.leave || !*task->pod.node ||
	    kube_pod_is_over(&task->pod))
		return;
	task->leaving = true;
	kube_ask_pod(a, ASK_LEAVE, task, kube_object_leave(task->pod.uid, why));
}

/* The node is not going to say that it has ended. */
static void force(struct kube_attempt *a, struct kube_task *task)
{
	if (task->forced)
		return;
	task->forced = true;
	kube_ask_pod(a, ASK_FORCE, task,
	             kube_object_deletion(task->pod.uid, 0));
}

/* Of a node that is lost, pods stay: their end is ours to say. */
static void fence(struct kube_attempt *a)
{
	struct kube_nodes *nodes = a->kube->nodes;
	int64_t late = a->grace_s * 1000 + SLACK_MS;
	struct kube_task *task;

	TAILQ_FOREACH(task, &a->tasks, of_list) {
		if (!*task->pod.node || kube_pod_is_over(&task->pod))
			continue;
		if (!kube_nodes_is_there(nodes, task->pod.node))
			force(a, task);
		else if (task->gone_ms && kube_now_ms() - task->gone_ms > late)
			force(a, task);
	}
}

static void take_down(struct kube_attempt *a)
{
	const char *why = a->stop ? "stop" : a->ending ? "failure" : "start";
	struct kube_task *task;

	if (!a->stop_ms)
		a->stop_ms = kube_now_ms();
	TAILQ_FOREACH(task, &a->tasks, of_list)
		leave(a, task, why);
	if (a->uid && !a->asking[ASK_DELETE] && !a->job_gone &&
	    kube_now_ms() - a->stop_ms > a->grace_s * 1000 + SLACK_MS)
		kube_ask_job(a, ASK_DELETE, kube_object_deletion(a->uid, -1));
}

/* --- making it --- */

static void make_objects(struct kube_attempt *a)
{
	if (!a->uid) {
		if (!a->asking[ASK_JOB] && !a->asking[ASK_LOOK])
			kube_ask_job(a, ASK_JOB, json_incref(a->job));
		return;
	}
	if (a->secret && !a->asking[ASK_SECRET]) {
		kube_object_own(a->secret, a->name, a->uid);
		kube_ask_job(a, ASK_SECRET, json_incref(a->secret));
	}
	if (a->service && !a->asking[ASK_SERVICE]) {
		kube_object_own(a->service, a->name, a->uid);
		kube_ask_job(a, ASK_SERVICE, json_incref(a->service));
	}
	if (a->indexes > a->have && !a->asking[ASK_INDEXES])
		kube_ask_job(a, ASK_INDEXES,
		             kube_object_indexes(a->uid, a->indexes));
}

static bool may_bind(struct kube_attempt *a, const struct kube_task *task)
{
	return task && !is_bound(task) && !task->pod.deleting &&
	       !kube_pod_is_over(&task->pod) &&
	       !strcmp(task->pod.owner, a->uid);
}

/* All of them or none: the first is bound when the last is there. */
static void bind_all(struct kube_attempt *a)
{
	const char *namespace = a->kube->pool->namespace;

	if (!a->uid || a->secret || a->service)
		return;
	for (uint32_t i = 0; i < a->nslots; i++)
		if (!task_at(a, a->slot[i].index) && !a->slot[i].seen)
			return;
	for (uint32_t i = 0; i < a->nslots; i++) {
		struct kube_task *task = task_at(a, a->slot[i].index);

		if (!may_bind(a, task))
			continue;
		task->binding = true;
		kube_ask_pod(a, ASK_BIND, task,
		             kube_object_binding(namespace, task->pod.name,
		                                 task->pod.uid,
		                                 a->slot[i].node));
	}
}

/* What is not wanted any more ends; told when it has. */
static void shrink(struct kube_attempt *a)
{
	struct kube_task *task;
	bool alive = false;

	TAILQ_FOREACH(task, &a->tasks, of_list) {
		bool wanted = false;

		for (uint32_t i = 0; !wanted && i < a->nslots; i++)
			wanted = a->slot[i].index == (uint32_t)task->pod.index;
		if (wanted)
			continue;
		leave(a, task, KUBE_LEAVE_SHRINK);
		alive |= is_alive(task);
	}
	if (!a->resizing || alive)
		return;
	a->resizing = false;
	tell(a,
	     &(struct run_event){ .kind = RUN_RESIZED, .resize = a->resize });
}

static void check_timeout(struct kube_attempt *a)
{
	int64_t s = a->kube->conf->scheduling.start_timeout;
	char text[64];

	if (!a->since_ms)
		a->since_ms = kube_now_ms();
	if (s <= 0 || kube_now_ms() - a->since_ms < s * 1000)
		return;
	snprintf(text, sizeof(text), "not all of it ran after %lld s",
	         (long long)s);
	fail(a, FAULT_SYSTEM, text);
}

/* --- one step --- */

static bool is_asking(const struct kube_attempt *a)
{
	for (int i = 0; i < ASK_KINDS; i++)
		if (a->asking[i])
			return true;
	return false;
}

static bool any_alive(struct kube_attempt *a)
{
	struct kube_task *task;

	TAILQ_FOREACH(task, &a->tasks, of_list)
		if (is_alive(task))
			return true;
	return false;
}

/* Its Job goes, and all that the Job owns.  What is to be kept of it, as its
 * log, must have been read by now. */
static void remove_job(struct kube_attempt *a)
{
	struct kube *kube = a->kube;
	struct job_seen *job = map_find(&kube->jobs, kube_text_key(a->name));

	kube_attempt_free(a);
	if (job && !job->removing)
		kube_ask_remove(kube, job);
}

static void step_started(struct kube_attempt *a, int64_t start)
{
	a->started = true;
	tell(a, &(struct run_event){ .kind = RUN_STARTED,
	                             .time = start ? start : time(NULL) });
}

static void act(struct kube_attempt *a)
{
	bool down = a->stop || a->fault.code || a->ending;
	uint32_t idle = 0, alive = 0;
	int64_t start = 0;
	bool bad = false;

	if (!down && a->ordered && !a->started)
		check_timeout(a);
	look(a, &idle, &alive, &bad, &start);
	fence(a);
	if (a->job_gone && !a->started && !any_alive(a))
		fail(a, FAULT_SYSTEM, "its Job was deleted");
	if (!a->fault.code && !a->stop && a->ordered && !a->started && !idle)
		step_started(a, start);
	if (a->started && bad)
		a->ending = true; /* one ends all, as on any machine */
	down = a->stop || a->fault.code || a->ending;
	if (down) {
		take_down(a);
	} else if (a->ordered) {
		make_objects(a);
		bind_all(a);
		shrink(a);
	}
	if (is_asking(a) || any_alive(a))
		return;
	if (down || (a->started && !idle && !alive))
		tell_end(a);
}

void kube_attempt_step(struct kube_attempt *a)
{
	if (!kube_lease_left_ms(a->kube->lease))
		return;
	if (!a->over)
		act(a);
	else if (a->forgotten && !is_asking(a))
		remove_job(a);
}

/* --- answers --- */

static bool is_worth_another(const struct err *err)
{
	return err->code == ETIMEDOUT || err->code == EAGAIN ||
	       err->code == EIO || err->code == ESTALE;
}

static void refused(struct kube_attempt *a, const struct err *err)
{
	if (is_worth_another(err))
		return; /* the tick asks again */
	fail(a,
	     err->code == EINVAL || err->code == EMSGSIZE ? FAULT_USER
	                                                  : FAULT_SYSTEM,
	     err->text);
}

static void have_job(struct kube_attempt *a, json_t *obj)
{
	const json_t *meta = json_object_get(obj, "metadata");
	const char *uid = json_string_value(json_object_get(meta, "uid"));
	const json_t *spec = json_object_get(obj, "spec");
	struct kube_owner owner;

	if (!uid || !kube_object_is_ours(obj, &a->kube->home, &owner) ||
	    owner.job != a->id.job || owner.attempt != a->id.attempt) {
		char *text = xasprintf("Job '%s' in namespace '%s' exists and "
		                       "is not ours: delete it",
		                       a->name, a->kube->pool->namespace);

		fail(a, FAULT_SYSTEM, text);
		free(text);
		return;
	}
	free(a->uid);
	a->uid = xstrdup(uid);
	a->have =
	    (uint32_t)json_integer_value(json_object_get(spec, "completions"));
	json_decref(a->job);
	a->job = NULL;
}

static void on_object(struct kube_attempt *a, enum ask_kind kind,
                      const struct kube_answer *answer)
{
	json_t **obj = kind == ASK_SECRET ? &a->secret : &a->service;

	/* Its name is ours alone: it is the one of a call before. */
	if (answer->err && answer->err->code != EEXIST) {
		refused(a, answer->err);
		return;
	}
	json_decref(*obj);
	*obj = NULL;
}

static void on_bound(struct kube_attempt *a, struct kube_task *task,
                     const struct err *err)
{
	if (!err)
		return;
	if (err->code == ENOENT || err->code == ESTALE) {
		/* It is gone, or bound: the watch says which. */
		if (task && err->code == ENOENT)
			task->binding = false;
		return;
	}
	if (task)
		task->binding = false;
	refused(a, err);
}

void kube_attempt_answered(struct kube_attempt *a, enum ask_kind kind,
                           struct kube_task *task,
                           const struct kube_answer *answer)
{
	const struct err *err = answer->err;

	a->asking[kind]--;
	switch (kind) {
	case ASK_JOB:
	case ASK_LOOK:
		if (!err)
			have_job(a, answer->body);
		else if (kind == ASK_JOB && err->code == EEXIST)
			kube_ask_job(a, ASK_LOOK, NULL);
		else if (kind == ASK_JOB || err->code != ENOENT)
			refused(a, err);
		break;
	case ASK_SECRET:
	case ASK_SERVICE:
		on_object(a, kind, answer);
		break;
	case ASK_INDEXES:
		if (!err)
			a->have = a->indexes;
		break;
	case ASK_BIND:
		on_bound(a, task, err);
		break;
	case ASK_LEAVE:
		if (err && task && is_worth_another(err))
			task->leaving = false;
		break;
	case ASK_FORCE:
		if (err && task)
			task->forced = false;
		break;
	case ASK_DELETE:
		if (!err || err->code == ENOENT)
			a->job_gone = true;
		break;
	case ASK_REMOVE:
	case ASK_KINDS:
		break;
	}
	/* What was refused is asked for again by the tick, not at once. */
	if (!err || err->code == EEXIST || a->fault.code || a->over)
		kube_attempt_step(a);
}

/* --- what is asked of it --- */

static bool index_is_taken(struct kube_attempt *a, const struct slot *slot,
                           uint32_t n, uint32_t index)
{
	struct kube_task *task = task_at(a, index);

	for (uint32_t i = 0; i < n; i++)
		if (slot[i].node && slot[i].index == index)
			return true;
	return task && (is_bound(task) || *task->pod.leave ||
	                kube_pod_is_over(&task->pod));
}

/* Its pod is on the node of one of the names that are not taken yet. */
static void keep_slots(struct kube_attempt *a, struct slot *to, uint32_t n,
                       const char *const *name)
{
	struct kube_task *task;

	for (uint32_t i = 0; i < a->nslots; i++)
		for (uint32_t k = 0; k < n; k++)
			if (!to[k].node && !strcmp(name[k], a->slot[i].node)) {
				to[k] = a->slot[i];
				a->slot[i].node = xstrdup("");
				a->slot[i].lost = NULL;
				break;
			}
	TAILQ_FOREACH(task, &a->tasks, of_list) {
		uint32_t index = (uint32_t)task->pod.index;
		bool known = !is_alive(task) || *task->pod.leave;

		for (uint32_t k = 0; !known && k < n; k++)
			known = to[k].node && to[k].index == index;
		for (uint32_t k = 0; !known && k < n; k++)
			if (!to[k].node && !strcmp(name[k], task->pod.node)) {
				to[k] = (struct slot){ .node = xstrdup(name[k]),
					               .index = index };
				known = true;
			}
	}
}

static void set_slots(struct kube_attempt *a, const struct run_job *job)
{
	struct slot *to = xcalloc(job->ntasks, sizeof(*to));
	uint32_t index = 0;

	keep_slots(a, to, job->ntasks, job->node_name);
	for (uint32_t k = 0; k < job->ntasks; k++) {
		if (to[k].node)
			continue;
		while (index_is_taken(a, to, job->ntasks, index))
			index++;
		to[k].index = index;
		to[k].node = xstrdup(job->node_name[k]);
	}
	slots_free(a->slot, a->nslots);
	a->slot = to;
	a->nslots = job->ntasks;
	a->indexes = a->have;
	for (uint32_t k = 0; k < job->ntasks; k++)
		if (to[k].index >= a->indexes)
			a->indexes = to[k].index + 1;
}

static struct kube *kube_of(struct runner *r)
{
	return (struct kube *)(void *)((char *)r -
	                               offsetof(struct kube, runner));
}

static void order(struct kube_attempt *a, const struct run_job *job)
{
	const struct kube_home *home = &a->kube->home;
	struct err err;

	a->ordered = true;
	a->grace_s = job->grace;
	a->resize = job->resize;
	set_slots(a, job);
	a->secret = kube_object_secret(home, job, time(NULL));
	if (job->ntasks > 1 || job->req->tasks > 1)
		a->service = kube_object_service(home, job);
	if (a->uid)
		return;
	a->job = kube_object_job(home, job, &err);
	if (!a->job)
		fail(a, FAULT_USER, err.text);
}

void kube_job_start(struct runner *r, const struct run_job *job)
{
	struct kube *kube = kube_of(r);
	struct kube_owner id = { job->job, job->attempt };
	struct kube_attempt *a = kube_attempt_find(kube, &id);

	if (a && (a->ordered || a->over))
		return;
	if (!a)
		a = kube_attempt_new(kube, &id);
	order(a, job);
	kube_attempt_step(a);
}

void kube_job_resize(struct runner *r, const struct run_job *job)
{
	struct kube_owner id = { job->job, job->attempt };
	struct kube_attempt *a = kube_attempt_find(kube_of(r), &id);

	if (!a || a->over)
		return;
	a->ordered = true;
	a->grace_s = job->grace;
	set_slots(a, job);
	a->resize = job->resize;
	a->resizing = true;
	kube_attempt_step(a);
}

void kube_job_stop(struct runner *r, uint64_t job, uint32_t attempt,
                   enum stop_why why, int64_t grace)
{
	struct kube_owner id = { job, attempt };
	struct kube_attempt *a = kube_attempt_find(kube_of(r), &id);

	(void)why;
	if (!a || a->over)
		return;
	a->stop = true;
	a->grace_s = grace;
	kube_attempt_step(a);
}

void kube_job_forget(struct runner *r, uint64_t job, uint32_t attempt)
{
	struct kube_owner id = { job, attempt };
	struct kube_attempt *a = kube_attempt_find(kube_of(r), &id);

	if (!a)
		return;
	a->over = a->forgotten = true;
	kube_attempt_step(a);
}
