/* kube.c - the runner of a cluster: its watches, its timer, its construction */
#include "aischedd/run/kube/kube.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/adopt/adopt.h"
#include "aischedd/run/kube/adopt/pod.h"
#include "aischedd/run/kube/attempt.h"
#include "aischedd/run/kube/client/http.h"
#include "aischedd/run/kube/client/path.h"
#include "aischedd/run/kube/client/watch.h"
#include "aischedd/run/kube/device/share.h"
#include "aischedd/run/kube/drain.h"
#include "aischedd/run/kube/exec/command.h"
#include "aischedd/run/kube/exec/signal.h"
#include "aischedd/run/kube/jobs.h"
#include "aischedd/run/kube/lease.h"
#include "aischedd/run/kube/log.h"
#include "aischedd/run/kube/log_pods.h"
#include "aischedd/run/kube/nodes.h"
#include "aischedd/run/kube/note.h"
#include "aischedd/run/kube/pods.h"
#include "aischedd/run/kube/recover.h"
#include "aischedd/run/kube/scale/standin.h"
#include "aischedd/run/kube/shared.h"
#include "aischedd/run/kube/space/ports.h"
#include "aischedd/run/kube/space/space.h"
#include "aischedd/run/kube/trouble.h"
#include "aischedd/run/kube/version.h"
#include "libcommon/mem.h"

enum {
	TICK_S = 1,
	/* how long until NodeResourceTopologies are looked for again in a
	 * cluster that has none */
	ABSENT_MS = 300000
};

static void on_trouble(const struct err *err, void *arg)
{
	struct kube *kube = arg;

	(void)err;
	if (kube->lease) /* NULL while runner_kube_new() runs */
		kube_trouble_tell(kube);
}

/* --- watches ----------------------------------------------------------- */

/* Note whether the watch `what` works: all news but KUBE_TROUBLE show that it
 * does. After the first list and after a refusal, check whether recover() can
 * be answered now. */
static void heard_in(struct kube *kube, struct kube_sight *sight, int what,
                     enum kube_news news, const struct err *err)
{
	if (news == KUBE_TROUBLE)
		sight->blind[what] = *err;
	else
		sight->blind[what].code = 0;
	kube_trouble_tell(kube);
	if (news == KUBE_SYNCED)
		sight->synced[what] = true;
	if (news == KUBE_SYNCED || news == KUBE_TROUBLE)
		kube_recover_try(kube);
}

static void heard(struct kube *kube, int what, enum kube_news news,
                  const struct err *err)
{
	heard_in(kube, &kube->sight, what, news, err);
}

static void on_nodes(enum kube_news news, json_t *obj, const struct err *err,
                     void *arg)
{
	struct kube *kube = arg;

	kube_nodes_news(kube->nodes, news, obj);
	if (obj)
		kube_drain_seen(kube, obj, news == KUBE_DELETED);
	if (news == KUBE_SYNCED)
		kube_nodes_flush(kube->nodes);
	heard(kube, SEE_NODES, news, err);
}

static void on_pods(enum kube_news news, json_t *obj, const struct err *err,
                    void *arg)
{
	kube_standin_pods_news(arg, news);
	kube_pods_news(arg, news, obj);
	kube_adopt_pod_news(arg, news);
	if (((struct kube *)arg)->claims.at_once)
		kube_claims_tell(arg);
	heard(arg, SEE_PODS, news, err);
}

static void on_jobs(enum kube_news news, json_t *obj, const struct err *err,
                    void *arg)
{
	struct kube_space *space = arg;

	kube_jobs_news(space, news, obj);
	kube_adopt_news(space, news);
	kube_standin_jobs_news(space, news);
	heard_in(space->kube, &space->sight, SEE_JOBS, news, err);
}

static void on_claims(enum kube_news news, json_t *obj, const struct err *err,
                      void *arg)
{
	struct kube_space *space = arg;

	kube_claims_news(space->kube, space, SEE_CLAIMS, news, obj);
	heard_in(space->kube, &space->sight, SEE_CLAIMS, news, err);
}

static void on_volumes(enum kube_news news, json_t *obj, const struct err *err,
                       void *arg)
{
	kube_claims_news(arg, NULL, SEE_VOLUMES, news, obj);
	heard(arg, SEE_VOLUMES, news, err);
}

static void on_classes(enum kube_news news, json_t *obj, const struct err *err,
                       void *arg)
{
	kube_claims_news(arg, NULL, SEE_CLASSES, news, obj);
	heard(arg, SEE_CLASSES, news, err);
}

static void on_slices(enum kube_news news, json_t *obj, const struct err *err,
                      void *arg)
{
	kube_devices_news(arg, SEE_SLICES, news, obj);
	heard(arg, SEE_SLICES, news, err);
}

static void on_grants(enum kube_news news, json_t *obj, const struct err *err,
                      void *arg)
{
	kube_devices_news(arg, SEE_GRANTS, news, obj);
	heard(arg, SEE_GRANTS, news, err);
}

static void on_device_classes(enum kube_news news, json_t *obj,
                              const struct err *err, void *arg)
{
	kube_devices_news(arg, SEE_DEVICE_CLASSES, news, obj);
	heard(arg, SEE_DEVICE_CLASSES, news, err);
}

static void on_topologies(enum kube_news news, json_t *obj,
                          const struct err *err, void *arg)
{
	kube_numa_news(arg, news, obj);
	heard(arg, SEE_TOPOLOGIES, news, err);
}

static void on_templates(enum kube_news news, json_t *obj,
                         const struct err *err, void *arg)
{
	kube_devices_news(arg, SEE_GRANT_TEMPLATES, news, obj);
	heard(arg, SEE_GRANT_TEMPLATES, news, err);
}

/* The objects of each watch. label: only objects with this label are watched,
 * NULL: all. own: there is one watch in each of the pool's namespaces, instead
 * of one for the whole cluster. */
static const struct {
	const char *api, *kind, *label;
	bool own;
	kube_watch_fn *fn;
} sights[SEE_N] = {
	[SEE_NODES] = { "/api/v1", "/nodes", NULL, false, on_nodes },
	[SEE_PODS] = { "/api/v1", "/pods", NULL, false, on_pods },
	[SEE_JOBS] = { "/apis/batch/v1", "/jobs", KUBE_LABEL_QUEUE, true,
	               on_jobs },
	[SEE_CLAIMS] = { "/api/v1", "/persistentvolumeclaims", NULL, true,
	                 on_claims },
	[SEE_VOLUMES] = { "/api/v1", "/persistentvolumes", NULL, false,
	                  on_volumes },
	[SEE_CLASSES] = { "/apis/storage.k8s.io/v1", "/storageclasses", NULL,
	                  false, on_classes },
	[SEE_SLICES] = { "/apis/resource.k8s.io/v1", "/resourceslices", NULL,
	                 false, on_slices },
	[SEE_GRANTS] = { "/apis/resource.k8s.io/v1", "/resourceclaims", NULL,
	                 false, on_grants },
	[SEE_DEVICE_CLASSES] = { "/apis/resource.k8s.io/v1", "/deviceclasses",
	                         NULL, false, on_device_classes },
	[SEE_TOPOLOGIES] = { "/apis/topology.node.k8s.io/v1alpha2",
	                     "/noderesourcetopologies", NULL, false,
	                     on_topologies },
	[SEE_GRANT_TEMPLATES] = { "/apis/resource.k8s.io/v1",
	                          "/resourceclaimtemplates", NULL, false,
	                          on_templates },
};

/* Start a watch. space: the namespace to watch; NULL: the whole cluster. */
static void watch_one(struct kube *kube, struct kube_space *space, int what)
{
	struct kube_sight *sight = space ? &space->sight : &kube->sight;
	struct kube_watch_spec spec = kube_watch_default;
	struct buf path = { 0 };

	buf_puts(&path, sights[what].api);
	if (space) {
		buf_puts(&path, "/namespaces");
		kube_path_name(&path, space->name);
	}
	buf_puts(&path, sights[what].kind);
	if (sights[what].label)
		kube_path_query(&path, "labelSelector", sights[what].label);
	if (what == SEE_TOPOLOGIES)
		spec.absent_ms = ABSENT_MS;
	spec.path = path.data;
	spec.fn = sights[what].fn;
	spec.arg = space ? (void *)space : kube;
	sight->watch[what] = kube_watch_new(kube->http, &spec);
	buf_free(&path);
}

/* Whether the pool can use what the watch reports. */
static bool is_wanted(const struct conf_pool *pool, int what)
{
	if (what == SEE_TOPOLOGIES)
		return pool->devices != DEVICES_DRA;
	return what < SEE_SLICES || pool->devices != DEVICES_PLUGIN ||
	       (kube_kinds_any(pool) && what != SEE_GRANT_TEMPLATES);
}

static void watch(struct kube *kube)
{
	for (int i = 0; i < SEE_N; i++)
		if (!is_wanted(kube->pool, i))
			kube->sight.synced[i] = true;
		else if (!sights[i].own)
			watch_one(kube, NULL, i);
	for (size_t i = 0; i < kube->spaces.n; i++) {
		watch_one(kube, kube->spaces.s[i], SEE_JOBS);
		if (!kube->spaces.s[i]->leaving)
			watch_one(kube, kube->spaces.s[i], SEE_CLAIMS);
	}
}

/* --- timers ----------------------------------------------------------- */

static void step(struct kube_attempt *a, void *arg)
{
	(void)arg;
	kube_life_step(a);
}

static void step_all(struct kube *kube)
{
	kube_attempt_each(kube, step, NULL);
}

/* Step each touched attempt once, even if it was touched several times. */
static void on_soon(evutil_socket_t fd, short what, void *arg)
{
	struct kube *kube = arg;
	struct kube_attempt *a;

	(void)fd, (void)what;
	while ((a = TAILQ_FIRST(&kube->touched))) {
		TAILQ_REMOVE(&kube->touched, a, of_touched);
		a->touched = false;
		kube_life_step(a);
	}
	kube_signal_step(kube);
	kube_log_step(kube);
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct kube *kube = arg;

	(void)fd, (void)what;
	kube_version_ask(kube);
	kube_claims_tell(kube);
	step_all(kube);
	kube_recover_sweep(kube);
	kube_devices_step(kube);
	kube_share_step_all(kube);
	kube_adopt_step_all(kube);
	kube_drain_step(kube);
	kube_log_step(kube);
	kube_trouble_tell(kube);
	kube_trouble_tell_lacks(kube);
	kube_space_step(kube);
	kube_recover_try(kube);
	kube_ports_step(kube);
	kube_standin_step(kube);
}

static void on_lease(void *arg)
{
	struct kube *kube = arg;

	kube_trouble_tell(kube);
	if (!kube_lease_left_ms(kube->lease))
		return;
	kube_recover_try(kube);
	kube_recover_sweep(kube);
	step_all(kube);
	kube_adopt_step_all(kube);
	kube_drain_step(kube);
	kube_standin_step(kube);
}

/* --- create and free the runner -------------------------------------- */

/* Never called: the daemon suspends no jobs in a cluster, as containers cannot
 * be frozen from outside. */
static void no_suspend(struct runner *r, uint64_t job, uint32_t attempt)
{
	(void)r, (void)job, (void)attempt;
}

static void no_resume(struct runner *r, const struct run_job *job)
{
	(void)r, (void)job;
}

static void free_attempt(struct kube_attempt *a, void *arg)
{
	(void)arg;
	kube_attempt_free(a);
}

static void runner_free(struct runner *r)
{
	struct kube *kube = kube_of(r);

	kube_lease_free(kube->lease);
	for (int i = 0; i < SEE_N; i++)
		kube_watch_free(kube->sight.watch[i]);
	for (size_t i = 0; i < kube->spaces.n; i++)
		kube_space_blind(kube->spaces.s[i]);
	kube_log_free_all(kube);
	kube_command_free_all(kube);
	kube_forward_free_all(kube);
	kube_signal_free_all(kube);
	kube_shared_free(kube);
	/* Free attempts and adopted Jobs, with the calls that save their logs,
	 * before the client. */
	kube_attempt_each(kube, free_attempt, NULL);
	map_free(&kube->attempts);
	kube_adopt_free(kube);
	kube_http_free(kube->http);
	event_free(kube->tick);
	event_free(kube->soon);
	kube_ask_free_all(kube);
	kube_ports_free(kube);
	kube_use_free(kube);
	kube_pods_free(kube);
	kube_jobs_free(kube);
	kube_note_free_all(kube);
	kube_drain_free(kube);
	kube_standin_free(kube);
	kube_devices_free(kube);
	kube_numa_free(kube);
	kube_nodes_free(kube->nodes);
	kube_claims_free(&kube->claims);
	kube_space_free(kube);
	kube_trouble_fini(&kube->told);
	kube_recover_free(kube);
	free(kube->store);
	free(kube->lease_name);
	free(kube->log.folder);
	free(kube);
}

/* Use the new configuration. The daemon allows no change of the pool's cluster
 * or namespace. */
static void kube_reconf(struct runner *r, const struct conf *conf,
                        const struct conf_pool *pool)
{
	struct kube *kube = kube_of(r);

	kube->conf = conf;
	kube->pool = kube->home.pool = pool;
	kube->home.namespace = pool->namespace;
	kube->home.cluster = conf->cluster;
	kube->home.node_timeout = conf->scheduling.node_timeout;
}

_Static_assert((int)CALL_CLASSES == (int)KUBE_CLASSES, "other classes");

static void count_silence(const struct kube_sight *sight, struct run_calls *ret)
{
	for (int i = 0; i < SEE_N; i++) {
		int64_t ms = sight->watch[i]
		                 ? kube_watch_silent_ms(sight->watch[i])
		                 : -1;

		if (ms > ret->silent_ms)
			ret->silent_ms = ms;
	}
}

static void count_calls(struct runner *r, struct run_calls *ret)
{
	static const enum call_verb verb[KUBE_METHODS] = {
		[KUBE_GET] = CALL_GET,         [KUBE_POST] = CALL_POST,
		[KUBE_PUT] = CALL_PUT,         [KUBE_DELETE] = CALL_DELETE,
		[KUBE_MERGE] = CALL_PATCH,     [KUBE_STRATEGIC] = CALL_PATCH,
		[KUBE_JSON_PATCH] = CALL_PATCH
	};
	struct kube *kube = kube_of(r);

	for (int m = 0; m < KUBE_METHODS; m++)
		for (int i = 0; i < CALL_CLASSES; i++)
			ret->n[verb[m]][i] += kube_http_answered(
			    kube->http, (enum kube_method)m, i);
	count_silence(&kube->sight, ret);
	for (size_t i = 0; i < kube->spaces.n; i++)
		count_silence(&kube->spaces.s[i]->sight, ret);
}

static const struct runner_ops kube_ops = {
	.start = kube_life_start,
	.stop = kube_life_stop,
	.signal = kube_signal_send,
	.exec = &kube_command_calls,
	.forward = &kube_forward_calls,
	.steps = kube_tell_steps,
	.suspend = no_suspend,
	.resume = no_resume,
	.resize = kube_life_resize,
	.forget = kube_life_forget,
	.recover = kube_recover,
	.no_ports = kube_ports_none,
	.adopt = kube_adopt_told,
	.explain = kube_adopt_explain,
	.drain = kube_drain,
	.stand_in = kube_standin_want,
	.reconf = kube_reconf,
	.shortcomings = kube_trouble_shortcomings,
	.calls = count_calls,
	.log_next = kube_log_pods_next,
	.log_open = kube_log_open,
	.log_pause = kube_log_pause,
	.log_close = kube_log_close,
	.free = runner_free,
};

struct runner *runner_kube_new(struct event_base *base, const struct conf *conf,
                               const struct conf_pool *pool, const char *store,
                               const char *logs, run_event_fn *fn, void *arg)
{
	struct kube *kube = xcalloc(1, sizeof(*kube));
	struct timeval tick = { .tv_sec = TICK_S };

	kube->runner.ops = &kube_ops;
	kube->base = base;
	kube->store = xstrdup(store);
	kube->home.store = kube->store;
	kube_reconf(&kube->runner, conf, pool);
	kube_space_init(kube);
	kube->lease_name = xasprintf("aischedd-%s", conf->cluster);
	kube->fn = fn;
	kube->arg = arg;
	TAILQ_INIT(&kube->pods.loose);
	TAILQ_INIT(&kube->asks.list);
	TAILQ_INIT(&kube->touched);
	kube->soon = event_new(base, -1, 0, on_soon, kube);
	TAILQ_INIT(&kube->adopt.calls);
	TAILQ_INIT(&kube->notes.list);
	TAILQ_INIT(&kube->drain.calls);
	kube_standin_init(kube);
	kube->log.folder = xstrdup(logs);
	TAILQ_INIT(&kube->log.readers);
	TAILQ_INIT(&kube->keep.list);
	kube_signal_init(kube);
	TAILQ_INIT(&kube->commands.list);
	TAILQ_INIT(&kube->forwards.list);
	kube->nodes = kube_nodes_new(kube, base, pool, &conf->topology);
	kube->http = kube_http_new(base, pool->kubeconfig, pool->context, NULL,
	                           on_trouble, kube);
	kube->lease =
	    kube_lease_new(base, kube->http, pool->namespace, kube->lease_name,
	                   kube->store, on_lease, kube);
	kube_version_ask(kube);
	watch(kube);
	kube_use_begin(kube);
	kube->tick = event_new(base, -1, EV_PERSIST, on_tick, kube);
	event_add(kube->tick, &tick);
	return &kube->runner;
}
