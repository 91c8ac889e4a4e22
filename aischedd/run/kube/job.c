/* job.c - one attempt of a job, from its order to its end */
#include <stdlib.h>
#include <time.h>

#include "aischedd/run/kube/adopt.h"
#include "aischedd/run/kube/client/call.h"
#include "aischedd/run/kube/client/json.h"
#include "aischedd/run/kube/log.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"

/* "2 of 8 pods did not run within 300 s, the first aj-c-7-1-3-x on node n3":
 * it is the fault of their nodes. */
static char *late_text(struct kube_attempt *a, int64_t s)
{
	const struct slot *first = NULL;
	const char *name = "";
	uint32_t n = 0;

	for (uint32_t i = 0; i < a->nslots; i++) {
		struct slot *slot = &a->slot[i];
		struct kube_task *task = kube_task_at(a, slot->index);

		slot->failed = !task || !task->pod.ran;
		if (!slot->failed)
			continue;
		if (!n++) {
			first = slot;
			name = task ? task->pod.name : "";
		}
	}
	return xasprintf("%u of %u pods did not run within %lld s, the first "
	                 "%s on node %s",
	                 n, a->nslots, (long long)s, name,
	                 first ? first->node : "");
}

static void check_timeout(struct kube_attempt *a)
{
	int64_t s = a->kube->conf->scheduling.start_timeout;
	bool made = kube_attempt_is_made(a);
	char *text;

	if (!a->since_ms)
		a->since_ms = clock_boot_ms();
	if (!made)
		kube_attempt_ask_why(a);
	if (s <= 0 || clock_boot_ms() - a->since_ms < s * 1000)
		return;
	text = made ? late_text(a, s)
	            : xasprintf("the cluster had not made all of its pods "
	                        "after %lld s",
	                        (long long)s);
	kube_attempt_fail(a, made ? FAULT_SYSTEM : FAULT_POOL, text);
	free(text);
}

/* Its Job goes, and all that the Job owns. */
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
	kube_attempt_tell(
	    a, &(struct run_event){ .kind = RUN_STARTED,
	                            .time = start ? start : time(NULL) });
}

static void act(struct kube_attempt *a)
{
	bool down = a->stop || a->fault.code || a->ending;
	bool rests = clock_boot_ms() < a->rest_ms;
	struct kube_look look;
	bool all_run;

	if (!down && a->ordered && !a->started)
		check_timeout(a);
	look = kube_attempt_look(a);
	if (!rests)
		kube_attempt_fence(a);
	if (a->job_gone && !a->started && !kube_attempt_any_alive(a))
		kube_attempt_fail(a, FAULT_POOL, "its Job was deleted");
	down = a->stop || a->fault.code || a->ending;
	all_run = a->started || (a->ordered && !look.idle);
	if (!rests && !down && all_run)
		kube_attempt_publish(a);
	if (!down && all_run && !a->started && !a->service)
		step_started(a, look.start);
	if (a->started && look.bad)
		a->ending = true; /* one ends all, as on any machine */
	down = a->stop || a->fault.code || a->ending;
	if (!rests && down) {
		kube_attempt_take_down(a);
	} else if (!rests && a->ordered) {
		kube_attempt_make(a);
		kube_attempt_bind(a);
		kube_attempt_shrink(a);
	} else if (a->replace) {
		kube_attempt_bind(a); /* of one that was found running */
	}
	if (kube_attempt_is_asking(a) || kube_attempt_any_alive(a))
		return;
	if (!down && (!a->started || look.idle || look.alive))
		return;
	if (!a->keep)
		a->keep = kube_keep_begin(a->kube, &a->id);
	if (kube_keep_is_done(a->keep))
		kube_attempt_tell_end(a);
}

void kube_attempt_step(struct kube_attempt *a)
{
	if (!kube_lease_left_ms(a->kube->lease))
		return;
	if (!a->over)
		act(a);
	else if (a->forgotten && !kube_attempt_is_asking(a))
		remove_job(a);
}

static void order(struct kube_attempt *a, const struct run_job *job)
{
	const struct kube_home *home = &a->kube->home;
	char *own;
	struct err err;

	a->ordered = true;
	a->grace_s = job->grace;
	a->resize = job->resize;
	a->replace = kube_object_replace(job->spec);
	kube_attempt_set_slots(a, job);
	a->secret = kube_object_secret(home, job, time(NULL), &own);
	if (own)
		a->shared = kube_shared_get(
		    a->kube,
		    kube_text_at(json_object_get(a->secret, "metadata"),
		                 "name"));
	if (kube_object_is_gang(job))
		a->service = kube_object_service(home, job);
	if (!a->uid && !(a->job = kube_object_job(home, job, &err)))
		kube_attempt_fail(a, FAULT_USER, err.text);
	if (a->job && own)
		kube_object_share(a->job, a->shared->name, own);
	free(own);
}

void kube_job_start(struct runner *r, const struct run_job *job)
{
	struct kube *kube = kube_of(r);
	struct kube_owner id = { job->job, job->attempt };
	struct kube_attempt *a = kube_attempt_find(kube, &id);

	if (kube_adopt_start(kube, job) || (a && (a->ordered || a->over)))
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

	if (kube_adopt_start(kube_of(r), job) || !a || a->over)
		return;
	a->ordered = true;
	a->grace_s = job->grace;
	kube_attempt_set_slots(a, job);
	a->resize = job->resize;
	a->resizing = true;
	kube_attempt_step(a);
}

void kube_job_stop(struct runner *r, uint64_t job, uint32_t attempt,
                   enum stop_why why, int64_t grace)
{
	struct kube_owner id = { job, attempt };
	struct kube_attempt *a = kube_attempt_find(kube_of(r), &id);

	if (kube_adopt_stop(kube_of(r), job, attempt, why, grace) || !a ||
	    a->over)
		return;
	a->stop = true;
	a->grace_s = grace;
	kube_attempt_step(a);
}

void kube_job_forget(struct runner *r, uint64_t job, uint32_t attempt)
{
	struct kube_owner id = { job, attempt };
	struct kube_attempt *a = kube_attempt_find(kube_of(r), &id);

	if (kube_adopt_forget(kube_of(r), job, attempt) || !a)
		return;
	a->over = a->forgotten = true;
	kube_attempt_step(a);
}
