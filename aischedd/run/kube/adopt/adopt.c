/* adopt.c - adopt Jobs made with kubectl: offer them to the daemon, follow them
 * to their end */
#include "aischedd/run/kube/adopt/adopt.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/adopt/give.h"
#include "aischedd/run/kube/kube.h"
#include "aischedd/run/kube/object/peers.h"
#include "aischedd/run/kube/object/plain.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"
#include "libcommon/spec/spec_marks.h"

enum { OFFER_MS = 30000 }; /* a refused Job is offered again after this */

/* --- find, make and free adoptees --- */

struct kube_adoptee *kube_adopt_find(struct kube *kube, const char *owner)
{
	return map_find(&kube->adopt.by_uid, kube_text_key(owner));
}

struct kube_adoptee *kube_adopt_of(struct kube *kube, uint64_t job)
{
	return map_find(&kube->adopt.by_job, job);
}

static void texts_free(struct kube_foreign *at)
{
	free((char *)at->name);
	free((char *)at->uid);
	free((char *)at->version);
	free((char *)at->reason);
	free((char *)at->message);
}

static struct kube_adoptee *adoptee_new(struct kube *kube, const char *uid)
{
	struct kube_adoptee *j = xcalloc(1, sizeof(*j));

	j->kube = kube;
	j->at = (struct kube_foreign){ .name = xstrdup(""),
		                       .uid = xstrdup(uid),
		                       .version = xstrdup(""),
		                       .reason = xstrdup(""),
		                       .message = xstrdup("") };
	TAILQ_INIT(&j->pods);
	map_set(&kube->adopt.by_uid, kube_text_key(uid), j);
	return j;
}

static void adoptee_free(struct kube_adoptee *j)
{
	struct kube_adopt_pod *p;

	kube_adopt_run_reset(j);
	while ((p = TAILQ_FIRST(&j->pods)))
		kube_adopt_pod_free(p);
	map_del(&j->kube->adopt.by_uid, kube_text_key(j->at.uid));
	if (j->job)
		map_del(&j->kube->adopt.by_job, j->job);
	kube_note_fini(&j->note);
	texts_free(&j->at);
	json_decref(j->obj);
	json_decref(j->labels);
	json_decref(j->apart);
	free(j->refused);
	free(j->asks);
	free(j->taken);
	free(j);
}

void kube_adopt_free(struct kube *kube)
{
	for (size_t i = 0; i < kube->adopt.by_uid.cap; i++)
		if (kube->adopt.by_uid.slot[i].value) {
			adoptee_free(kube->adopt.by_uid.slot[i].value);
			/* freeing has changed the map: start again */
			i = (size_t)-1;
		}
	map_free(&kube->adopt.by_uid);
	map_free(&kube->adopt.by_job);
	kube_adopt_ask_free_all(kube);
}

/* --- handle what the watch of Jobs reports --- */

/* Store the state of the Job, unless obj is older than what is stored: the
 * answer to a call may arrive before older news of the watch. */
void kube_adopt_look(struct kube_adoptee *j, json_t *obj)
{
	struct kube_foreign at;
	struct err err;

	if (kube_foreign_look(obj, &j->kube->home, &at, &err) < 0 ||
	    strcmp(at.uid, j->at.uid) != 0 || at.generation < j->at.generation)
		return;
	at.name = xstrdup(at.name);
	at.uid = xstrdup(at.uid);
	at.version = xstrdup(at.version);
	at.reason = xstrdup(at.reason);
	at.message = xstrdup(at.message);
	texts_free(&j->at);
	j->at = at;
}

bool kube_adopt_is_over(const struct kube_adoptee *j)
{
	return j->at.complete || j->at.failed;
}

/* Read what the Job requests, and which GPUs its claims ask for; see
 * kube_foreign_read(). */
static int read_request(const struct kube_adoptee *j, json_t *obj, int64_t now,
                        struct arena *arena, struct spec *ret,
                        const char **ret_user, struct err *err)
{
	const struct kube *kube = j->kube;
	bool by_claims = kube->pool->devices != DEVICES_PLUGIN;
	struct kube_wanted wanted = { 0 };

	if (by_claims && kube_adopt_give_read(j, obj, &wanted, err) < 0)
		return -1;
	return kube_foreign_read(obj, kube->pool, &kube->conf->topology,
	                         by_claims ? &wanted : NULL, now, arena, ret,
	                         ret_user, err);
}

/* Returns the marks of a suspended Job's request and user; "" if the Job would
 * be refused. Sets j->lacks. Times in the Job are read relative to a fixed
 * time, so that the marks of two versions of the Job differ only if the
 * requests do.
 */
static char *marks_of(struct kube_adoptee *j, json_t *obj)
{
	static const int64_t any_time = 1000000000;
	struct arena *arena = arena_new();
	struct buf text = { 0 };
	const char *user;
	struct spec spec;
	struct err err;

	buf_puts(&text, "");
	err.code = 0;
	if (read_request(j, obj, any_time, arena, &spec, &user, &err) == 0) {
		spec_marks(&spec, &text);
		buf_printf(&text, ",user=%016" PRIx64,
		           kube_text_key(user ? user : ""));
	}
	j->lacks = err.code == ENOENT;
	j->kube->adopt.lacking |= j->lacks;
	arena_free(arena);
	return buf_take(&text);
}

/* Whether the suspended Job's request may have changed since its job was made.
 * False if the job has ended. */
static bool is_changed(const struct kube_adoptee *j)
{
	return j->job && j->asks && !job_state_is_final(j->state) &&
	       (!j->taken || strcmp(j->asks, j->taken) != 0);
}

/* Store the labels and podAntiAffinity of the Job's pods, and its user: the
 * affinity of other Jobs may select these pods. */
static void keep_for_peers(struct kube_adoptee *j, json_t *obj)
{
	json_decref(j->labels);
	json_decref(j->apart);
	j->labels = json_incref(kube_peers_labels(obj));
	j->apart = json_incref(kube_peers_apart(obj));
	j->user = kube_text_key(kube_foreign_user(obj, j->kube->pool));
}

static void keep_for_offer(struct kube_adoptee *j, json_t *obj)
{
	json_decref(j->obj);
	j->obj = !j->job || is_changed(j) ? json_incref(obj) : NULL;
	j->offered_ms = 0;
}

void kube_adopt_seen(struct kube_space *space, json_t *obj, bool deleted)
{
	struct kube *kube = space->kube;
	struct kube_adoptee *j;
	struct kube_foreign at;
	struct err err;
	bool suspended;

	if (kube_foreign_look(obj, &kube->home, &at, &err) < 0)
		return;
	suspended = at.suspended;
	j = kube_adopt_find(kube, at.uid);
	if (!j && (deleted || !at.queued))
		return;
	if (!j)
		j = adoptee_new(kube, at.uid);
	if (!j->space)
		kube_adopt_pod_keep(j, space);
	j->space = space;
	j->seen = true;
	j->marked = false;
	j->gone = deleted;
	kube_adopt_look(j, obj);
	free(j->asks);
	j->asks = suspended ? marks_of(j, obj) : NULL;
	keep_for_offer(j, obj);
	keep_for_peers(j, obj);
	kube_adopt_step(j);
}

void kube_adopt_claim_made(struct kube *kube)
{
	struct kube_adoptee *j;
	size_t at = 0;

	if (!kube->adopt.lacking)
		return;
	kube->adopt.lacking = false;
	while ((j = map_each(&kube->adopt.by_uid, &at))) {
		if (!j->lacks || !j->obj || !j->space)
			continue;
		free(j->asks);
		j->asks = marks_of(j, j->obj);
		if (!j->lacks)
			j->offered_ms = 0;
	}
	kube_adopt_step_all(kube);
}

void kube_adopt_plain_seen(struct kube_space *space, json_t *pod, bool deleted)
{
	json_t *job = kube_plain_job(pod);

	kube_adopt_seen(space, job, deleted);
	json_decref(job);
}

/* Whether a Job or pod that no watch has shown in any namespace is gone: all
 * Jobs and pods have been listed. */
static bool all_listed(const struct kube *kube)
{
	return kube_space_all_known(kube) && kube->sight.synced[SEE_PODS];
}

/* When a list begins, mark all that it can have: the Jobs of a namespace, or
 * all pods if space is NULL. When it ends, those that are still marked are
 * gone. synced: whether the list has ended; the caller sets it only after this.
 */
static void take_list(struct kube *kube, const struct kube_space *space,
                      bool *synced, enum kube_news news)
{
	struct kube_adoptee *j;
	size_t at = 0;
	bool all;

	if (news != KUBE_RESET && news != KUBE_SYNCED)
		return;
	*synced |= news == KUBE_SYNCED;
	all = all_listed(kube);
	while ((j = map_each(&kube->adopt.by_uid, &at))) {
		bool listed =
		    space ? !j->at.plain && j->space == space : j->at.plain;

		if (news == KUBE_RESET)
			j->marked |= listed;
		else if (j->space ? listed && j->marked : all)
			j->gone = true;
	}
}

void kube_adopt_news(struct kube_space *space, enum kube_news news)
{
	take_list(space->kube, space, &space->sight.synced[SEE_JOBS], news);
	if (news == KUBE_SYNCED)
		kube_adopt_step_all(space->kube);
}

void kube_adopt_plain_news(struct kube *kube, enum kube_news news)
{
	take_list(kube, NULL, &kube->sight.synced[SEE_PODS], news);
}

void kube_adopt_tell(struct kube_adoptee *j, struct run_event *ev)
{
	ev->job = j->job;
	ev->attempt = j->run.attempt;
	j->kube->fn(ev, j->kube->arg);
}

/* --- offer Jobs to the daemon --- */

static bool may_offer(const struct kube_adoptee *j)
{
	if (!j->obj || !j->space || j->space->leaving || j->gone ||
	    j->at.deleting || kube_adopt_is_over(j) ||
	    (j->at.taken && !j->at.ours) ||
	    (j->offered_ms && clock_boot_ms() - j->offered_ms <= OFFER_MS))
		return false;
	/* Peers may be listed after the Job that names them: wait for the end
	 * of the list. */
	if (!j->job && !j->space->sight.synced[SEE_JOBS] &&
	    kube_peers_asked(j->obj))
		return false;
	return j->job ? is_changed(j) && j->state == JOB_PENDING : j->at.queued;
}

/* Refuse a Job whose queue runs jobs in another namespace, which has other
 * volume claims and other users. */
static int check_space(const struct kube_adoptee *j, const struct spec *spec,
                       struct err *err)
{
	const struct kube_space *its;

	if (!spec->queue || conf_queue_find(j->kube->conf, spec->queue) < 0)
		return 0; /* the daemon refuses the unknown queue */
	its = kube_space_of_queue(j->kube, spec->queue);
	if (its == j->space)
		return 0;
	return err_set(err, EINVAL,
	               "queue '%s' takes %s of namespace '%s' only",
	               spec->queue, j->at.plain ? "pods" : "Jobs", its->name);
}

/* Add to the request what the affinity between its pods and those of other Jobs
 * demands. */
static int read_peers(const struct kube_adoptee *j, struct arena *arena,
                      struct spec *spec, struct err *err)
{
	const struct kube_adoption *all = &j->kube->adopt;
	struct kube_peer *peer =
	    arena_array(arena, struct kube_peer, all->by_job.n + 1);
	const struct kube_adoptee *other;
	bool asked = kube_peers_asked(j->obj);
	size_t n = 0, at = 0;

	while ((other = map_each(&all->by_job, &at)))
		if ((asked || other->apart) && other->space == j->space &&
		    other->user == j->user && !other->gone &&
		    !job_state_is_final(other->state))
			peer[n++] =
			    (struct kube_peer){ other->job, other->labels,
				                other->apart };
	return kube_peers_read(j->obj, &j->kube->conf->topology, peer, n, arena,
	                       spec, err);
}

static int read_job(const struct kube_adoptee *j, struct arena *arena,
                    struct spec *ret, const char **ret_user, struct err *err)
{
	if (read_request(j, j->obj, clock_wall_s(), arena, ret, ret_user, err) <
	    0)
		return -1;
	if (check_space(j, ret, err) < 0)
		return -1;
	/* Read the affinity to pods only once: Kubernetes lets nobody change it
	 * after the Job is made. */
	return j->job ? 0 : read_peers(j, arena, ret, err);
}

static void offer(struct kube_adoptee *j)
{
	struct arena *arena = arena_new();
	char *name = xasprintf("%s/%s", j->space->name, j->at.name);
	char *people = xasprintf("k8s:%s", j->space->name);
	struct adoption a = { .job = j->job,
		              .uid = j->at.uid,
		              .name = name,
		              .marks = j->asks,
		              .priority_class = j->at.priority_class };
	struct spec spec;
	struct err err;

	j->offered_ms = clock_boot_ms();
	j->changing = j->job && j->taken;
	if (read_job(j, arena, &spec, &a.user, &err) < 0)
		a.why = err.text;
	else
		a.spec = &spec;
	if (!a.user)
		a.user = people;
	j->offering = true;
	j->kube->fn(&(struct run_event){ .kind = RUN_ADOPT, .adopt = &a },
	            j->kube->arg);
	j->offering = false;
	free(people);
	free(name);
	arena_free(arena);
}

/* --- handle what the daemon says about a Job --- */

static bool on_refused(struct kube_adoptee *j, const char *why)
{
	char *text;

	if (!j || (j->refused && !strcmp(j->refused, why)))
		return false;
	free(j->refused);
	j->refused = xstrdup(why);
	text =
	    xasprintf("%s%s", j->job ? "its change has no effect: " : "", why);
	kube_note(j, true, "Refused", text);
	free(text);
	return true;
}

static void on_taken(struct kube_adoptee *j, uint64_t job)
{
	const char *ignored = kube_peers_ignored(j->obj);
	char *text;

	j->job = job;
	map_set(&j->kube->adopt.by_job, job, j);
	if (j->at.ours || job_state_is_final(j->state))
		return; /* the Job is claimed already, or its job has ended */
	text = xasprintf("it is job %" PRIu64 " of cluster %s: `aiq %" PRIu64
	                 "` shows it%s%s%s",
	                 job, j->kube->home.cluster, job,
	                 ignored ? "; preferred " : "", ignored ? ignored : "",
	                 ignored ? " is ignored" : "");
	kube_note(j, false, "Queued", text);
	free(text);
}

/* Note the marks of the job's spec. If the Job asks for the same as the job, do
 * not offer the Job again. */
static void on_marks(struct kube_adoptee *j, const char *marks)
{
	char *text;

	if (marks) {
		free(j->taken);
		j->taken = xstrdup(marks);
	}
	if (is_changed(j))
		return;
	json_decref(j->obj);
	j->obj = NULL;
	if (!j->changing || job_state_is_final(j->state))
		return;
	j->changing = false;
	free(j->refused);
	j->refused = NULL;
	text = xasprintf("job %" PRIu64 " asks for what the %s asks for now",
	                 j->job, j->at.plain ? "pod" : "Job");
	kube_note(j, false, "Changed", text);
	free(text);
}

bool kube_adopt_told(struct runner *r, const struct adopted *what)
{
	struct kube *kube = kube_of(r);
	struct kube_adoptee *j = what->uid ? kube_adopt_find(kube, what->uid)
	                                   : kube_adopt_of(kube, what->job);
	bool news;

	if (!what->job)
		return on_refused(j, what->why);
	if (!j && what->uid)
		j = adoptee_new(kube, what->uid);
	if (!j)
		return false;
	news = !j->job;
	j->state = what->state;
	if (news)
		on_taken(j, what->job);
	on_marks(j, what->marks);
	if (!j->offering) /* offer() steps the Job itself */
		kube_adopt_step(j);
	return news;
}

bool kube_adopt_claim(struct kube_adoptee *j)
{
	if (j->at.ours && j->at.job == j->job)
		return true;
	kube_adopt_ask(j, ADOPT_CLAIM,
	               kube_foreign_claim(&j->kube->home, j->at.uid,
	                                  j->at.version, j->job));
	return false;
}

void kube_adopt_explain(struct runner *r, uint64_t job, const char *code,
                        const char *text)
{
	struct kube_adoptee *j = kube_adopt_of(kube_of(r), job);

	if (j)
		kube_note(j, false, code, text);
}

/* --- make the calls that a Job needs now --- */

/* Whether the job is being stopped. After a restart, the daemon calls stop()
 * only when the attempt has been found again. */
static bool is_stopping(const struct kube_adoptee *j)
{
	return j->run.stop || (j->state == JOB_COMPLETING && j->run.attempt &&
	                       !j->run.ordered);
}

/* Report RUN_WITHDRAWN once if the Job is no longer ours: it is deleted, has
 * ended without an attempt, or belongs to another daemon. A pod that we delete
 * to stop its job does not count; nor does an object that is gone and was not
 * seen since a restart, as it may have been such a pod. */
static void check_owner(struct kube_adoptee *j)
{
	bool lost = j->gone || j->at.deleting || (j->at.taken && !j->at.ours) ||
	            (kube_adopt_is_over(j) && !j->run.attempt);

	if (!lost || j->withdrawn ||
	    ((j->at.plain || !j->seen) && is_stopping(j)))
		return;
	j->withdrawn = true;
	j->kube->fn(&(struct run_event){ .kind = RUN_WITHDRAWN, .job = j->job },
	            j->kube->arg);
}

/* When the job has ended, delete its Job if the job was cancelled or preempted
 * or missed its deadline. The Job of a failed job stays, for its owner to
 * see; a pod that has not ended itself does not, as it cannot be suspended. */
static void wind_up(struct kube_adoptee *j)
{
	bool goes = j->state == JOB_CANCELLED || j->state == JOB_DEADLINE ||
	            j->state == JOB_PREEMPTED || j->at.plain;

	if (j->gone && !kube_adopt_pod_any_alive(j)) {
		adoptee_free(j);
		return;
	}
	if (j->gone || j->at.deleting || kube_adopt_is_over(j) ||
	    (j->at.taken && !j->at.ours))
		return;
	if (goes)
		kube_adopt_ask(j, ADOPT_DELETE,
		               kube_object_deletion(j->at.uid, -1));
	else if (!j->at.suspended)
		kube_adopt_ask(j, ADOPT_SUSPEND,
		               kube_foreign_suspend(j->at.uid, true));
}

/* While the job waits in the queue, suspend its Job again if somebody has
 * resumed it, or delete its pod if somebody has bound it. */
static void keep_waiting(struct kube_adoptee *j)
{
	if (j->withdrawn || !kube_adopt_claim(j) || j->at.suspended)
		return;
	if (j->at.plain) {
		if (kube_adopt_pod_any_alive(j))
			kube_adopt_ask(j, ADOPT_DELETE,
			               kube_object_deletion(j->at.uid, -1));
		return;
	}
	kube_adopt_ask(j, ADOPT_SUSPEND, kube_foreign_suspend(j->at.uid, true));
}

void kube_adopt_step(struct kube_adoptee *j)
{
	struct kube *kube = j->kube;

	if (!kube->recovery.done || !kube_lease_left_ms(kube->lease) ||
	    (!j->space && !j->gone))
		return;
	if (may_offer(j))
		offer(j);
	kube_note_step(j);
	if (!j->job) {
		if (j->gone)
			adoptee_free(j);
		return;
	}
	if (job_state_is_final(j->state) && !j->run.attempt) {
		wind_up(j);
		return;
	}
	check_owner(j);
	if (j->run.attempt)
		kube_adopt_run_step(j);
	else
		keep_waiting(j);
}

void kube_adopt_step_all(struct kube *kube)
{
	uint64_t *key = xcalloc(kube->adopt.by_uid.n + 1, sizeof(*key));
	size_t n = 0;

	for (size_t i = 0; i < kube->adopt.by_uid.cap; i++)
		if (kube->adopt.by_uid.slot[i].value)
			key[n++] = kube->adopt.by_uid.slot[i].key;
	for (size_t i = 0; i < n; i++) {
		struct kube_adoptee *j = map_find(&kube->adopt.by_uid, key[i]);

		if (j)
			kube_adopt_step(j);
	}
	free(key);
}
