/* kube.c - the runner of a cluster: what it hears, and who is told */
#include "aischedd/run/kube.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube_call.h"
#include "libcommon/mem.h"

enum { TICK_S = 1 };

/* A pod that is not ours, as far as it takes of a node. */
struct other {
	char *node;
	struct kube_amount use;
	bool marked;
};

static struct kube *kube_of(struct runner *r)
{
	return (struct kube *)(void *)((char *)r -
	                               offsetof(struct kube, runner));
}

/* --- trouble ----------------------------------------------------------- */

static const char *trouble(const struct kube *kube)
{
	const struct err *err = kube_http_trouble(kube->http);

	if (err)
		return err->text;
	for (int i = 0; i < SEE_N; i++)
		if (kube->blind[i].code)
			return kube->blind[i].text;
	return kube_lease_trouble(kube->lease);
}

/* It is told when it begins, changes and is over. */
static void tell_trouble(struct kube *kube)
{
	const char *text = trouble(kube);
	const char *was = kube->told.len ? kube->told.data : "";

	if (!strcmp(text ? text : "", was))
		return;
	buf_clear(&kube->told);
	if (text)
		buf_puts(&kube->told, text);
	kube->fn(&(struct run_event){ .kind = RUN_TROUBLE, .text = text },
	         kube->arg);
}

static void on_trouble(const struct err *err, void *arg)
{
	struct kube *kube = arg;

	(void)err;
	if (kube->lease) /* not while it is being made */
		tell_trouble(kube);
}

static const char *kube_shortcomings(struct runner *r)
{
	struct kube *kube = kube_of(r);
	const char *text = trouble(kube);
	const char *lacks =
	    kube->recovered ? kube_nodes_lacks(kube->nodes) : NULL;

	buf_clear(&kube->lacks);
	buf_puts(&kube->lacks, "");
	if (text)
		buf_printf(&kube->lacks, "Pool '%s': %s.", kube->pool->name,
		           text);
	if (lacks)
		buf_printf(&kube->lacks, "%sPool '%s': %s", text ? " " : "",
		           kube->pool->name, lacks);
	return kube->lacks.data;
}

/* --- pods of ours ------------------------------------------------------ */

void kube_task_count(struct kube *kube, struct kube_task *task)
{
	bool counts = !task->attempt && !task->gone && *task->pod.node &&
	              !kube_pod_is_over(&task->pod);

	if (counts == task->counted)
		return;
	task->counted = counts;
	kube_nodes_use(kube->nodes, task->pod.node, &task->pod.use, counts);
}

void kube_task_free(struct kube *kube, struct kube_task *task)
{
	TAILQ_REMOVE(&kube->loose, task, of_list);
	if (task->counted)
		kube_nodes_use(kube->nodes, task->pod.node, &task->pod.use,
		               false);
	map_del(&kube->pods, kube_text_key(task->pod.uid));
	kube_pod_fini(&task->pod);
	free(task);
}

static struct kube_task *task_seen(struct kube *kube, struct kube_pod *pod,
                                   const struct kube_owner *owner)
{
	uint64_t key = kube_text_key(pod->uid);
	struct kube_task *task = map_find(&kube->pods, key);

	if (!task) {
		task = xcalloc(1, sizeof(*task));
		task->owner = *owner;
		TAILQ_INSERT_TAIL(&kube->loose, task, of_list);
		map_set(&kube->pods, key, task);
	} else {
		kube_pod_fini(&task->pod);
	}
	task->pod = *pod;
	task->marked = false;
	if (pod->deleting && !task->gone_ms)
		task->gone_ms = kube_now_ms();
	return task;
}

/* How it ended is kept until its attempt is done with. */
static void task_deleted(struct kube *kube, struct kube_task *task)
{
	struct kube_attempt *a = task->attempt;

	task->gone = true;
	if (a && kube_pod_is_over(&task->pod)) {
		kube_attempt_step(a);
		return;
	}
	if (a)
		kube_attempt_lose(a, task);
	kube_task_free(kube, task);
	if (a)
		kube_attempt_step(a);
}

static void on_task(struct kube *kube, struct kube_pod *pod,
                    const struct kube_owner *owner, bool deleted)
{
	struct kube_task *task = task_seen(kube, pod, owner);
	struct kube_attempt *a = kube_attempt_find(kube, owner);

	if (deleted) {
		task_deleted(kube, task);
		return;
	}
	if (a && !task->attempt)
		kube_attempt_link(a, task);
	kube_task_count(kube, task);
	if (a)
		kube_attempt_step(a);
}

/* --- pods of others ---------------------------------------------------- */

static void other_free(struct kube *kube, uint64_t key)
{
	struct other *other = map_del(&kube->others, key);

	if (!other)
		return;
	kube_nodes_use(kube->nodes, other->node, &other->use, false);
	free(other->node);
	free(other);
}

static void on_other(struct kube *kube, const struct kube_pod *pod,
                     bool deleted)
{
	uint64_t key = kube_text_key(pod->uid);
	struct other *other = map_find(&kube->others, key);

	if (deleted || !*pod->node || kube_pod_is_over(pod)) {
		other_free(kube, key);
		return;
	}
	if (other && !strcmp(other->node, pod->node) &&
	    !memcmp(&other->use, &pod->use, sizeof(pod->use))) {
		other->marked = false;
		return;
	}
	other_free(kube, key);
	other = xcalloc(1, sizeof(*other));
	other->node = xstrdup(pod->node);
	other->use = pod->use;
	map_set(&kube->others, key, other);
	kube_nodes_use(kube->nodes, other->node, &other->use, true);
}

/* --- watches ----------------------------------------------------------- */

/* What works is no trouble any more; what is complete may be the last. */
static void heard(struct kube *kube, int what, enum kube_news news,
                  const struct err *err)
{
	if (news == KUBE_TROUBLE)
		kube->blind[what] = *err;
	else
		kube->blind[what].code = 0;
	tell_trouble(kube);
	if (news != KUBE_SYNCED)
		return;
	kube->synced[what] = true;
	kube_try_recover(kube);
}

static void on_nodes(enum kube_news news, json_t *obj, const struct err *err,
                     void *arg)
{
	struct kube *kube = arg;

	kube_nodes_news(kube->nodes, news, obj);
	if (news == KUBE_SYNCED)
		kube_nodes_flush(kube->nodes);
	heard(kube, SEE_NODES, news, err);
}

static void pods_mark(struct kube *kube)
{
	struct other *other;
	struct kube_task *task;
	size_t at = 0;

	while ((task = map_each(&kube->pods, &at)))
		task->marked = !task->gone;
	at = 0;
	while ((other = map_each(&kube->others, &at)))
		other->marked = true;
}

/* Those that are still marked are gone; the maps may not change meanwhile. */
static void pods_drop(struct kube *kube)
{
	struct map *maps[] = { &kube->pods, &kube->others };

	for (size_t m = 0; m < ARRAY_SIZE(maps); m++) {
		uint64_t *gone = xcalloc(maps[m]->n + 1, sizeof(*gone));
		size_t n = 0;

		for (size_t i = 0; i < maps[m]->cap; i++) {
			void *p = maps[m]->slot[i].value;

			if (p && (m ? ((struct other *)p)->marked
			            : ((struct kube_task *)p)->marked))
				gone[n++] = maps[m]->slot[i].key;
		}
		for (size_t i = 0; i < n; i++)
			if (m)
				other_free(kube, gone[i]);
			else
				task_deleted(kube,
				             map_find(&kube->pods, gone[i]));
		free(gone);
	}
}

static void on_pod(struct kube *kube, json_t *obj, bool deleted)
{
	struct kube_owner owner;
	struct kube_pod pod;
	struct err err;

	if (kube_pod_read(obj, kube->pool->gpu_resource, &pod, &err) < 0)
		return;
	if (kube_object_is_ours(obj, &kube->home, &owner) &&
	    !strcmp(pod.namespace, kube->pool->namespace)) {
		on_task(kube, &pod, &owner, deleted); /* takes it */
		return;
	}
	on_other(kube, &pod, deleted);
	kube_pod_fini(&pod);
}

static void on_pods(enum kube_news news, json_t *obj, const struct err *err,
                    void *arg)
{
	struct kube *kube = arg;

	if (news == KUBE_RESET)
		pods_mark(kube);
	else if (news == KUBE_SYNCED)
		pods_drop(kube);
	else if (news != KUBE_TROUBLE)
		on_pod(kube, obj, news == KUBE_DELETED);
	heard(kube, SEE_PODS, news, err);
}

static uint32_t number_of(const json_t *value)
{
	const char *s = json_string_value(value);

	return s ? (uint32_t)strtoul(s, NULL, 10)
	         : (uint32_t)json_integer_value(value);
}

static void job_free(struct kube *kube, struct job_seen *job)
{
	struct kube_attempt *a = kube_attempt_find(kube, &job->owner);

	map_del(&kube->jobs, kube_text_key(job->name));
	if (a && a->uid && !strcmp(a->uid, job->uid)) {
		a->job_gone = true;
		kube_attempt_step(a);
	}
	free(job->name);
	free(job->uid);
	free(job);
}

static void on_job(struct kube *kube, const json_t *obj, bool deleted)
{
	const json_t *meta = json_object_get(obj, "metadata");
	const char *name = json_string_value(json_object_get(meta, "name"));
	const char *uid = json_string_value(json_object_get(meta, "uid"));
	const json_t *notes = json_object_get(meta, "annotations");
	const json_t *spec = json_object_get(obj, "spec");
	struct kube_owner owner;
	struct job_seen *job;

	if (!name || !uid || !kube_object_is_ours(obj, &kube->home, &owner))
		return;
	job = map_find(&kube->jobs, kube_text_key(name));
	if (job && strcmp(job->uid, uid) != 0) {
		job_free(kube, job);
		job = NULL;
	}
	if (deleted) {
		if (job)
			job_free(kube, job);
		return;
	}
	if (!job) {
		job = xcalloc(1, sizeof(*job));
		job->name = xstrdup(name);
		job->uid = xstrdup(uid);
		map_set(&kube->jobs, kube_text_key(name), job);
	}
	job->owner = owner;
	job->marked = false;
	job->deleting = json_object_get(meta, "deletionTimestamp") != NULL;
	job->indexes = number_of(json_object_get(spec, "completions"));
	job->tasks = number_of(json_object_get(notes, KUBE_NOTE_TASKS));
	kube_sweep_one(kube, job);
}

static void jobs_drop(struct kube *kube)
{
	uint64_t *gone = xcalloc(kube->jobs.n + 1, sizeof(*gone));
	size_t n = 0;

	for (size_t i = 0; i < kube->jobs.cap; i++) {
		struct job_seen *job = kube->jobs.slot[i].value;

		if (job && job->marked)
			gone[n++] = kube->jobs.slot[i].key;
	}
	for (size_t i = 0; i < n; i++)
		job_free(kube, map_find(&kube->jobs, gone[i]));
	free(gone);
}

static void on_jobs(enum kube_news news, json_t *obj, const struct err *err,
                    void *arg)
{
	struct kube *kube = arg;
	struct job_seen *job;
	size_t at = 0;

	if (news == KUBE_RESET)
		while ((job = map_each(&kube->jobs, &at)))
			job->marked = true;
	else if (news == KUBE_SYNCED)
		jobs_drop(kube);
	else if (news != KUBE_TROUBLE)
		on_job(kube, obj, news == KUBE_DELETED);
	heard(kube, SEE_JOBS, news, err);
}

static void watch(struct kube *kube)
{
	kube_watch_fn *const fn[] = { on_nodes, on_pods, on_jobs };

	for (int i = 0; i < SEE_N; i++) {
		struct kube_watch_spec spec = kube_watch_default;
		struct buf path = { 0 };

		if (i == SEE_JOBS) {
			buf_puts(&path, "/apis/batch/v1/namespaces");
			kube_path_name(&path, kube->pool->namespace);
			buf_puts(&path, "/jobs");
			kube_path_query(&path, "labelSelector",
			                KUBE_LABEL_CLUSTER);
		} else {
			buf_puts(&path, i == SEE_NODES ? "/api/v1/nodes"
			                               : "/api/v1/pods");
		}
		spec.path = path.data;
		spec.fn = fn[i];
		spec.arg = kube;
		kube->watch[i] = kube_watch_new(kube->http, &spec);
		buf_free(&path);
	}
}

/* --- time -------------------------------------------------------------- */

/* Attempts may go while all are looked at. */
static void step_all(struct kube *kube)
{
	uint64_t *key = xcalloc(kube->attempts.n + 1, sizeof(*key));
	size_t n = 0;

	for (size_t i = 0; i < kube->attempts.cap; i++)
		if (kube->attempts.slot[i].value)
			key[n++] = kube->attempts.slot[i].key;
	for (size_t i = 0; i < n; i++) {
		struct kube_attempt *a = map_find(&kube->attempts, key[i]);

		if (a)
			kube_attempt_step(a);
	}
	free(key);
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct kube *kube = arg;

	(void)fd, (void)what;
	step_all(kube);
	tell_trouble(kube);
}

static void on_lease(void *arg)
{
	struct kube *kube = arg;

	tell_trouble(kube);
	if (!kube_lease_left_ms(kube->lease))
		return;
	kube_try_recover(kube);
	kube_sweep(kube);
	step_all(kube);
}

/* --- beginning and end ------------------------------------------------- */

/* Nothing can be sent to, or frozen in, a container from outside: state does
 * not ask for that. */
static void no_signal(struct runner *r, uint64_t job, uint32_t attempt,
                      int signo, bool script_only)
{
	(void)r, (void)job, (void)attempt, (void)signo, (void)script_only;
}

static void no_suspend(struct runner *r, uint64_t job, uint32_t attempt)
{
	(void)r, (void)job, (void)attempt;
}

static void no_resume(struct runner *r, uint64_t job, uint32_t attempt,
                      uint32_t ntasks, const struct snap_task *task,
                      const struct snap_cpu_use *cpu_use)
{
	(void)r, (void)job, (void)attempt, (void)ntasks, (void)task;
	(void)cpu_use;
}

static void free_all(struct kube *kube)
{
	struct job_seen *job;
	struct kube_attempt *a;
	struct other *other;
	struct kube_task *task;
	size_t at = 0;

	for (size_t i = 0; i < kube->attempts.cap; i++)
		if ((a = kube->attempts.slot[i].value)) {
			kube_attempt_free(a);
			i = (size_t)-1; /* the map has changed */
		}
	while ((task = TAILQ_FIRST(&kube->loose)))
		kube_task_free(kube, task);
	while ((job = map_each(&kube->jobs, &at))) {
		free(job->name);
		free(job->uid);
		free(job);
	}
	at = 0;
	while ((other = map_each(&kube->others, &at))) {
		free(other->node);
		free(other);
	}
}

static void kube_free(struct runner *r)
{
	struct kube *kube = kube_of(r);

	kube_lease_free(kube->lease);
	for (int i = 0; i < SEE_N; i++)
		kube_watch_free(kube->watch[i]);
	kube_http_free(kube->http);
	event_free(kube->tick);
	kube_asks_free(kube);
	free_all(kube);
	kube_nodes_free(kube->nodes);
	map_free(&kube->attempts);
	map_free(&kube->pods);
	map_free(&kube->others);
	map_free(&kube->jobs);
	buf_free(&kube->lacks);
	buf_free(&kube->told);
	free(kube->want_job);
	free(kube->want_attempt);
	free(kube->store);
	free(kube->lease_name);
	free(kube);
}

static const struct runner_ops kube_ops = {
	.start = kube_job_start,
	.stop = kube_job_stop,
	.signal = no_signal,
	.suspend = no_suspend,
	.resume = no_resume,
	.resize = kube_job_resize,
	.forget = kube_job_forget,
	.recover = kube_recover,
	.shortcomings = kube_shortcomings,
	.free = kube_free,
};

struct runner *runner_kube_new(struct event_base *base, const struct conf *conf,
                               const struct conf_pool *pool, const char *store,
                               run_event_fn *fn, void *arg)
{
	struct kube *kube = xcalloc(1, sizeof(*kube));
	struct timeval tick = { .tv_sec = TICK_S };

	kube->runner.ops = &kube_ops;
	kube->base = base;
	kube->conf = conf;
	kube->pool = pool;
	kube->store = xstrdup(store);
	kube->home = (struct kube_home){ .pool = pool,
		                         .cluster = conf->cluster,
		                         .store = kube->store };
	kube->lease_name = xasprintf("aischedd-%s", conf->cluster);
	kube->fn = fn;
	kube->arg = arg;
	TAILQ_INIT(&kube->loose);
	TAILQ_INIT(&kube->asks);
	kube->nodes =
	    kube_nodes_new(base, pool, &conf->topology_levels, fn, arg);
	kube->http = kube_http_new(base, pool->kubeconfig, pool->context, NULL,
	                           on_trouble, kube);
	kube->lease =
	    kube_lease_new(base, kube->http, pool->namespace, kube->lease_name,
	                   kube->store, on_lease, kube);
	watch(kube);
	kube->tick = event_new(base, -1, EV_PERSIST, on_tick, kube);
	event_add(kube->tick, &tick);
	return &kube->runner;
}
