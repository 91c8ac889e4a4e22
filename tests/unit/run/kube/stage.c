/* stage.c - the runner of a cluster, with attempts and pods that a test makes
 */
#include "tests/unit/run/kube/stage.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/device/devices.h"
#include "aischedd/run/kube/jobs.h"
#include "aischedd/run/kube/shared.h"
#include "libcommon/mem.h"

static char the_namespace[] = "n", other_namespace[] = "o", the_pool[] = "p",
	    the_store[] = "s";

static void on_event(const struct run_event *ev, void *arg)
{
	struct kube_stage *st = arg;

	buf_printf(&st->told, "%s|", ev->text ? ev->text : "-");
	st->ntold++;
	st->last = *ev;
}

static void on_soon(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what;
	kube_signal_step(arg);
}

void stage_begin(struct kube_stage *st)
{
	struct kube *kube = xcalloc(1, sizeof(*kube));

	*st = (struct kube_stage){ .kube = kube };
	world_begin(&st->w, false);
	world_conf(&st->w, "", "");
	world_http(&st->w);
	st->pool.name = the_pool;
	kube->base = st->w.base;
	kube->http = st->w.http;
	kube->conf = &st->conf;
	kube->pool = &st->pool;
	kube->fn = on_event;
	kube->arg = st;
	kube->home = (struct kube_home){ .pool = &st->pool,
		                         .cluster = "c",
		                         .store = the_store };
	kube->nodes =
	    kube_nodes_new(kube, kube->base, &st->pool, &st->conf.topology);
	kube->soon = event_new(st->w.base, -1, 0, on_soon, kube);
	TAILQ_INIT(&kube->pods.loose);
	TAILQ_INIT(&kube->asks.list);
	TAILQ_INIT(&kube->touched);
	kube_signal_init(kube);
	st->space = (struct kube_space){ .kube = kube, .name = the_namespace };
	st->other =
	    (struct kube_space){ .kube = kube, .name = other_namespace };
	st->spaces[0] = &st->space;
	st->spaces[1] = &st->other;
	kube->spaces = (struct kube_spaces){ st->spaces, 2 };
}

void stage_end(struct kube_stage *st)
{
	struct kube *kube = st->kube;

	kube_shared_free(kube);
	kube_signal_free_all(kube);
	for (size_t i = 0; i < kube->attempts.cap; i++)
		if (kube->attempts.slot[i].value) {
			kube_attempt_free(kube->attempts.slot[i].value);
			i = (size_t)-1;
		}
	map_free(&kube->attempts);
	kube_recover_free(kube);
	kube_pods_free(kube);
	kube_jobs_free(kube);
	kube_devices_free(kube);
	kube_nodes_free(kube->nodes);
	kube_lease_free(kube->lease);
	event_free(kube->soon);
	world_end(&st->w);
	kube_ask_free_all(kube);
	free(kube);
	buf_free(&st->told);
}

void stage_lease(struct kube_stage *st)
{
	struct kube *kube = st->kube;

	kube->lease = kube_lease_new(kube->base, kube->http, the_namespace,
	                             "lease", the_store, NULL, NULL);
}

static void on_lease(void *arg)
{
	(void)arg;
}

void stage_hold_lease(struct kube_stage *st)
{
	static const char path[] = "GET /apis/coordination.k8s.io/";
	struct kube *kube = st->kube;

	kube->lease = kube_lease_new(kube->base, kube->http, the_namespace,
	                             "lease", the_store, on_lease, NULL);
	server_json(st->w.server, path, 404, "", "{}");
	server_json(st->w.server, "POST /apis/coordination.k8s.io/", 201, "",
	            "{\"spec\": {\"holderIdentity\": \"s\"}}");
	while (!kube_lease_left_ms(kube->lease))
		event_base_loop(kube->base, EVLOOP_ONCE);
}

void stage_resize(struct kube_attempt *a, uint32_t n, const char *const *node)
{
	kube_slot_set_all(a,
	                  &(struct run_job){ .ntasks = n, .node_name = node });
}

struct kube_attempt *stage_job(struct kube_stage *st, uint64_t job, uint32_t n)
{
	static const char *const node[] = { "n0", "n1", "n2", "n3" };
	const struct kube_owner id = { job, 1 };
	struct kube_attempt *a = kube_attempt_new(&st->space, &id);

	a->start.ordered = a->start.told = true;
	stage_resize(a, n, node);
	return a;
}

struct kube_task *stage_pod(struct kube_attempt *a, int32_t index,
                            const char *name, const char *node)
{
	struct kube_task *task = xcalloc(1, sizeof(*task));

	task->attempt = a;
	task->owner = a->id;
	task->pod = (struct kube_pod){ .namespace = xstrdup(the_namespace),
		                       .name = xstrdup(name),
		                       .uid = xasprintf("uid-%s", name),
		                       .owner = xstrdup(""),
		                       .node = xstrdup(node),
		                       .container = xstrdup("main"),
		                       .leave = xstrdup(""),
		                       .reason = xstrdup(""),
		                       .message = xstrdup(""),
		                       .waits = xstrdup(""),
		                       .waits_why = xstrdup(""),
		                       .index = index,
		                       .phase = POD_RUNNING,
		                       .ran = true };
	TAILQ_INSERT_TAIL(&a->tasks, task, of_list);
	map_set(&a->kube->pods.ours, kube_text_key(task->pod.uid), task);
	map_set(&a->at, (uint32_t)index, task);
	return task;
}

void stage_lose(struct kube_task *task, const char *reason, bool disrupted)
{
	struct kube_pod *pod = &task->pod;

	pod->phase = POD_FAILED;
	pod->disrupted = disrupted;
	free(pod->reason);
	pod->reason = xstrdup(reason);
}
