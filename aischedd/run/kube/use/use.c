/* use.c - ask dcgm-exporter how busy the GPUs of running jobs are */
#include "aischedd/run/kube/use/use.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/attempt.h"
#include "aischedd/run/kube/client/curl.h"
#include "aischedd/run/kube/kube.h"
#include "aischedd/run/kube/use/page.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"

enum {
	FLYING = 32,             /* most requests at a time */
	PAGE_MAX = 16 * 1048576, /* longest page, in bytes */
	WAIT_MS = 5000,          /* limit for getting one page */
	SLACK_MS = 5000          /* how late an expected sample may be */
};

/* A request for the page of a node. */
struct use_ask {
	TAILQ_ENTRY(use_ask) of_list;
	struct kube *kube;
	CURL *easy; /* NULL: it waits for other requests to end */
	char *node, *url;
	size_t got;             /* bytes so far */
	struct kube_page *page; /* NULL while it waits */
};

static int64_t now_ms(void)
{
	return clock_wall_us() / 1000;
}

static int64_t period_ms(const struct kube *kube)
{
	return kube->conf->accounting.sample * 1000;
}

/* --- take samples from pages ------------------------------------------- */

/* Returns how many GPUs the pod has. */
static uint32_t gpus_of(struct kube_attempt *a, const struct kube_task *task)
{
	const struct kube_slot *slot =
	    kube_slot_at(a, (uint32_t)task->pod.index);

	return slot && slot->gpus ? (uint32_t)__builtin_popcountll(slot->gpus)
	                          : (uint32_t)task->pod.use.gpus;
}

static bool is_running(const struct kube_task *task)
{
	return task->attempt && task->pod.ran && !task->pod.ended &&
	       !kube_pod_is_over(&task->pod);
}

/* Add the pod's last sample to the sums, times the ms from use.since to
 * `until`, which are at most two periods and SLACK_MS. As use.since only grows,
 * no time counts twice, even if the clock of a node differs from ours. */
static void count(struct kube_task *task, int64_t until)
{
	struct kube_attempt_use *use = &task->attempt->use;
	int64_t most = 2 * period_ms(task->attempt->kube) + SLACK_MS;
	int64_t ms = until - task->use.since;

	if (ms <= 0)
		return;
	task->use.since = until;
	if (ms > most)
		ms = most;
	use->percent_ms += task->use.percent * ms;
	use->sum.busy_ms = (use->percent_ms + 50) / 100;
	use->sum.known_ms += task->use.known * ms;
}

/* Take the sample of a pod from a page. */
static void take_sample(struct kube_task *task, const struct kube_page *page,
                        uint64_t pod, int64_t now)
{
	int64_t used = 0, total = 0;
	uint32_t n = 0, sized = 0, known = 0;
	int32_t percent = 0;

	for (uint32_t i = 0; i < page->n; i++) {
		const struct kube_page_gpu *gpu = &page->gpu[i];

		if (gpu->pod != pod)
			continue;
		n++;
		known += gpu->percent >= 0;
		percent += gpu->percent >= 0 ? gpu->percent : 0;
		sized += gpu->used_mib >= 0 && gpu->free_mib >= 0;
		used += gpu->used_mib;
		total += gpu->used_mib + gpu->free_mib;
	}
	if (n != gpus_of(task->attempt, task))
		n = known = sized = 0; /* not exactly the GPUs of the pod */
	task->use.percent = known ? percent : 0;
	task->use.known = known;
	task->use.used_mib = sized == n ? used : 0;
	task->use.total_mib = sized == n ? total : 0;
	count(task, now);
	task->attempt->use.changed |= known > 0;
}

/* Note how much memory all GPUs of the attempt have and use, if it is known of
 * all its tasks. */
static void note_memory(struct kube_attempt *a)
{
	struct gpu_use *sum = &a->use.sum;
	int64_t used = 0, total = 0;

	for (uint32_t i = 0; i < a->slots.n; i++) {
		const struct kube_task *task =
		    kube_attempt_at(a, a->slots.slot[i].index);

		if (!task || (gpus_of(a, task) && !task->use.total_mib))
			return;
		used += task->use.used_mib;
		total += task->use.total_mib;
	}
	if (used > sum->mem_mib)
		sum->mem_mib = used;
	if (total > sum->mem_total_mib)
		sum->mem_total_mib = total;
}

static void take_page(const struct use_ask *ask)
{
	struct kube *kube = ask->kube;
	int64_t now = now_ms();

	for (uint32_t i = 0; i < ask->page->n; i++) {
		uint64_t pod = ask->page->gpu[i].pod;
		void *uid = map_find(&kube->use.pods, pod);
		struct kube_task *task;

		if (!uid)
			continue;
		task = map_find(&kube->pods.ours, (uintptr_t)uid);
		/* ignore what the page says about pods of other nodes */
		if (task && is_running(task) && task->use.since < now &&
		    !strcmp(task->pod.node, ask->node))
			take_sample(task, ask->page, pod, now);
	}
}

/* --- get pages from exporters ------------------------------------------ */

static void ask_free(struct use_ask *ask)
{
	struct kube_use *use = &ask->kube->use;

	if (ask->easy) {
		TAILQ_REMOVE(&use->flying, ask, of_list);
		use->nflying--;
		kube_curl_remove(use->curl, ask->easy);
		curl_easy_cleanup(ask->easy);
	} else {
		TAILQ_REMOVE(&use->waiting, ask, of_list);
	}
	free(ask->page);
	free(ask->node);
	free(ask->url);
	free(ask);
}

static size_t on_data(char *data, size_t size, size_t n, void *arg)
{
	struct use_ask *ask = arg;

	ask->got += size * n;
	if (ask->got > PAGE_MAX)
		return 0;
	kube_page_feed(ask->page, data, size * n);
	return size * n;
}

static void fly(struct use_ask *ask)
{
	struct kube_use *use = &ask->kube->use;
	CURL *easy = curl_easy_init();

	if (!easy)
		abort(); /* out of memory */
	TAILQ_REMOVE(&use->waiting, ask, of_list);
	TAILQ_INSERT_TAIL(&use->flying, ask, of_list);
	use->nflying++;
	ask->easy = easy;
	ask->page = xcalloc(1, sizeof(*ask->page));
	curl_easy_setopt(easy, CURLOPT_URL, ask->url);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http");
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	curl_easy_setopt(easy, CURLOPT_FAILONERROR, 1L);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)WAIT_MS);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	/* do not wait for the thread that resolves a name */
	curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
	curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_data);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, ask);
	curl_easy_setopt(easy, CURLOPT_PRIVATE, ask);
	kube_curl_add(use->curl, easy);
}

static void fly_next(struct kube_use *use)
{
	while (use->nflying < FLYING && !TAILQ_EMPTY(&use->waiting))
		fly(TAILQ_FIRST(&use->waiting));
}

static void on_done(CURL *easy, CURLcode code, void *arg)
{
	struct kube *kube = arg;
	struct use_ask *ask;

	curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&ask);
	if (code == CURLE_OK) {
		kube_page_end(ask->page);
		take_page(ask);
	}
	ask_free(ask);
	fly_next(&kube->use);
}

/* Ask for the page of the pod's node. */
static void ask_node(struct kube *kube, const struct kube_pod *pod)
{
	const char *form = kube->pool->gpu_metrics;
	const char *at = strstr(form, "{node}");
	bool v6 = strchr(pod->host, ':') != NULL;
	struct use_ask *ask = xcalloc(1, sizeof(*ask));

	ask->kube = kube;
	ask->node = xstrdup(pod->node);
	ask->url =
	    xasprintf("%.*s%s%s%s%s", (int)(at - form), form, v6 ? "[" : "",
	              pod->host, v6 ? "]" : "", at + strlen("{node}"));
	TAILQ_INSERT_TAIL(&kube->use.waiting, ask, of_list);
}

/* --- ask about all running pods once per period ------------------------ */

static void ask_about(struct kube_task *task, struct map *nodes, int64_t now)
{
	const struct kube_pod *pod = &task->pod;
	struct kube *kube = task->attempt->kube;
	uint64_t node = kube_text_key(pod->node);

	if (!task->use.since)
		task->use.since = pod->start && pod->start * 1000 < now
		                      ? pod->start * 1000
		                      : now;
	map_set(&kube->use.pods, kube_page_pod(pod->namespace, pod->name),
	        (void *)(uintptr_t)kube_text_key(pod->uid));
	if (*pod->host && !map_find(nodes, node)) {
		map_set(nodes, node, kube);
		ask_node(kube, pod);
	}
}

/* Whether each task of the attempt has a running pod, and the last sample of
 * each pod says that all its GPUs are idle. */
static bool is_idle(struct kube_attempt *a, int64_t now)
{
	for (uint32_t i = 0; i < a->slots.n; i++) {
		const struct kube_task *task =
		    kube_attempt_at(a, a->slots.slot[i].index);
		uint32_t n = task ? gpus_of(a, task) : 0;

		if (!task || !is_running(task) || task->use.percent ||
		    task->use.known != n ||
		    (n && now - task->use.since >= 2 * period_ms(a->kube)))
			return false;
	}
	return true;
}

struct use_round {
	struct map nodes; /* by name: nodes whose pages are awaited */
	int64_t now;      /* wall clock in ms */
	int64_t passed;   /* ms since the last round */
};

/* Report what the last round has found about an attempt, then ask about its
 * pods again. arg: struct use_round. */
static void step_attempt(struct kube_attempt *a, void *arg)
{
	struct use_round *round = arg;
	struct kube_attempt_use *use = &a->use;
	struct kube_task *task;
	bool any = false, changed = use->changed;

	TAILQ_FOREACH(task, &a->tasks, of_list)
		if (gpus_of(a, task) && is_running(task)) {
			any = true;
			ask_about(task, &round->nodes, round->now);
		}
	if (!any)
		return;
	use->idle_ms =
	    is_idle(a, round->now) ? use->idle_ms + round->passed : 0;
	note_memory(a);
	use->changed = false;
	if (changed && !a->end.over)
		kube_tell(a, &(struct run_event){ .kind = RUN_USED,
		                                  .gpu = use->sum,
		                                  .idle_ms = use->idle_ms });
}

/* Forget the pods of the last round, and note the nodes whose pages are still
 * awaited. */
static void forget_round(struct kube_use *use, struct map *nodes)
{
	struct use_ask *ask;

	TAILQ_FOREACH(ask, &use->waiting, of_list)
		map_set(nodes, kube_text_key(ask->node), ask);
	TAILQ_FOREACH(ask, &use->flying, of_list)
		map_set(nodes, kube_text_key(ask->node), ask);
	map_free(&use->pods);
	use->pods = (struct map){ 0 };
}

static void begin_round(struct kube_use *use, struct kube *kube)
{
	struct timeval period = { .tv_sec = kube->conf->accounting.sample };

	event_add(use->timer, &period);
}

static void on_round(evutil_socket_t fd, short what, void *arg)
{
	struct kube *kube = arg;
	int64_t ms = clock_ms();
	struct use_round round = { .now = now_ms(),
		                   .passed = ms - kube->use.round_ms };

	(void)fd, (void)what;
	kube->use.round_ms = ms;
	forget_round(&kube->use, &round.nodes);
	if (kube->pool->gpu_metrics)
		kube_attempt_each(kube, step_attempt, &round);
	map_free(&round.nodes);
	fly_next(&kube->use);
	begin_round(&kube->use, kube);
}

void kube_use_begin(struct kube *kube)
{
	struct kube_use *use = &kube->use;

	TAILQ_INIT(&use->waiting);
	TAILQ_INIT(&use->flying);
	use->round_ms = clock_ms();
	use->curl = kube_curl_new(kube->base, on_done, kube);
	use->timer = event_new(kube->base, -1, 0, on_round, kube);
	begin_round(use, kube);
}

void kube_use_free(struct kube *kube)
{
	struct kube_use *use = &kube->use;
	struct use_ask *ask;

	while ((ask = TAILQ_FIRST(&use->waiting)) ||
	       (ask = TAILQ_FIRST(&use->flying)))
		ask_free(ask);
	kube_curl_free(use->curl);
	event_free(use->timer);
	map_free(&use->pods);
}

struct gpu_use kube_use_end(struct kube_attempt *a)
{
	struct kube_task *task;

	TAILQ_FOREACH(task, &a->tasks, of_list)
		if (task->use.since && task->pod.end)
			count(task, task->pod.end * 1000);
	note_memory(a);
	return a->use.sum;
}
