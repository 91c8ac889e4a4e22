/*
 * bench_slices - measure how nodes' ResourceSlices are read, and their changes
 *
 *	bench_slices [NODES [JOBS]]
 *
 * Each of the NODES (5,000) has 8 GPUs that a driver lists in two
 * ResourceSlices. The list comes in pages, as from an API server, and goes to
 * the runner of a cluster, and from there to the state. JOBS jobs (10,000) of 4
 * GPUs run when single slices change. Then all is measured again with 8 network
 * adapters a node, in a third slice, of which the jobs have 4 each.
 *
 * All times are CPU times. `list` is what it takes from the first byte of the
 * list to the first plan; `change` is what a change costs the daemon's loop:
 * reading it, telling the state, and of the next pass the snapshot and applying
 * the plan, which is made on another thread.
 */
#include <err.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "aischedd/run/kube/client/split.h"
#include "aischedd/run/kube/kube.h"
#include "aischedd/sched/plan.h"
#include "aischedd/state/cluster/node.h"
#include "aischedd/state/cluster/pool.h"
#include "aischedd/state/life/alarm.h"
#include "aischedd/state/life/submit.h"
#include "aischedd/state/life/submit_check.h"
#include "aischedd/state/pass/apply.h"
#include "aischedd/state/pass/snapshot.h"
#include "aischedd/state/state.h"
#include "libcommon/buf.h"
#include "libcommon/log.h"
#include "libcommon/mem.h"

enum { PAGE = 500, HALF = 4, CHANGES = 30 };

static const char config[] =
    "pool gpu { runner = kubernetes  kubeconfig = \"/nonexistent\" }\n"
    "device rdma { class = \"rdma\"  driver = \"nic\" }\n"
    "queue default { }\n";

struct bench {
	struct kube *kube;
	struct state *state;
	/* of the stream that is read: the watch, and what it reports */
	int what;
	enum kube_news news;
};

struct fleet {
	int nodes, jobs;
	int each; /* slices of a node: 2 of GPUs, a third one of adapters */
};

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* --- what the API server sends -------------------------------------------- */

static void put_node(struct buf *out, int node)
{
	buf_printf(out,
	           "{\"metadata\":{\"name\":\"node-%d\",\"uid\":\"n%d\","
	           "\"resourceVersion\":\"1\",\"labels\":{\"pool\":\"gpu\"}},"
	           "\"spec\":{\"taints\":[{\"key\":\"aisched.io/dedicated\","
	           "\"effect\":\"NoSchedule\"}]},\"status\":{\"conditions\":[{"
	           "\"type\":\"Ready\",\"status\":\"True\"}],\"allocatable\":{"
	           "\"cpu\":\"128\",\"memory\":\"1024Gi\",\"pods\":\"250\"}}}",
	           node, node);
}

/* A slice in which devices are to be shown. */
struct sent_slice {
	const char *driver, *kind;
	int node, part, first, n; /* devices from first on */
	int64_t generation;
	bool tainted; /* the first of them */
};

static void put_device(struct buf *out, const struct sent_slice *s, int i)
{
	bool gpu = !strcmp(s->kind, "gpu");

	buf_printf(
	    out,
	    "%s{\"name\":\"%s-%d\",\"attributes\":{"
	    "\"architecture\":{\"string\":\"Hopper\"},"
	    "\"brand\":{\"string\":\"Nvidia\"},"
	    "\"cudaComputeCapability\":{\"version\":\"9.0.0\"},"
	    "\"cudaDriverVersion\":{\"version\":\"12.8.0\"},"
	    "\"driverVersion\":{\"version\":\"570.86.15\"},"
	    "\"productName\":{\"string\":\"NVIDIA H100 80GB HBM3\"},"
	    "\"resource.kubernetes.io/numaNode\":{\"int\":%d},"
	    "\"resource.kubernetes.io/pciBusID\":{\"string\":"
	    "\"0000:%02x:00.0\"},\"resource.kubernetes.io/pcieRoot\":{"
	    "\"string\":\"pci0000:%02x\"},\"type\":{\"string\":\"%s\"},"
	    "\"uuid\":{\"string\":\"GPU-%08x-%04x-4000-8000-000000000000\"}},"
	    "\"capacity\":{\"memory\":{\"value\":\"81559Mi\"}}%s}",
	    i == s->first ? "" : ",", s->kind, i, i / HALF, 16 * i, 16 * i,
	    gpu ? "gpu" : "nic", (unsigned)s->node, (unsigned)i,
	    s->tainted && i == s->first
		? ",\"taints\":[{\"key\":\"x\",\"effect\":\"NoExecute\"}]"
		: "");
}

static void put_slice(struct buf *out, const struct sent_slice *s)
{
	buf_printf(
	    out,
	    "{\"apiVersion\":\"resource.k8s.io/v1\",\"kind\":"
	    "\"ResourceSlice\",\"metadata\":{\"name\":\"node-%d-%s-%d\","
	    "\"uid\":\"s%d\",\"resourceVersion\":\"7\"},\"spec\":{"
	    "\"driver\":\"%s\",\"nodeName\":\"node-%d\",\"pool\":{\"name\":"
	    "\"node-%d\",\"generation\":%lld,\"resourceSliceCount\":%d},"
	    "\"devices\":[",
	    s->node, s->kind, s->part, s->node, s->driver, s->node, s->node,
	    (long long)s->generation, s->n == HALF ? 2 : 1);
	for (int i = 0; i < s->n; i++)
		put_device(out, s, s->first + i);
	buf_puts(out, "]}}");
}

static struct sent_slice gpus_of(int node, int part, int64_t generation)
{
	return (
	    struct sent_slice){ "gpu.nvidia.com", "gpu", node,       part,
		                part * HALF,      HALF,  generation, false };
}

/* --- feed it to the runner ------------------------------------------------ */

static void pass_on(struct bench *b, enum kube_news news, json_t *obj)
{
	if (b->what == SEE_NODES)
		kube_nodes_news(b->kube->nodes, news, obj);
	else
		kube_devices_news(b->kube, b->what, news, obj);
	kube_trouble_tell(b->kube);
}

static int on_object(json_t *obj, void *arg, struct err *err)
{
	struct bench *b = arg;

	(void)err;
	pass_on(b, b->news, obj);
	return 0;
}

/* Read a page of a list, or an event of a watch. Returns the ms. */
static double feed(struct bench *b, const struct buf *text, bool list)
{
	double began = now_ms();
	struct kube_split split;
	struct err err;

	kube_split_init(&split, list, (size_t)16 << 20);
	if (kube_split_feed(&split, text->data, text->len, on_object, b, &err) <
	    0)
		errx(EXIT_FAILURE, "a page cannot be read: %s", err.text);
	kube_split_fini(&split);
	return now_ms() - began;
}

/* Append object i of a list. */
typedef void put_fn(struct buf *out, int i);

/* Read a list of n objects in pages. Returns the ms. */
static double read_list(struct bench *b, int what, int n, put_fn *put)
{
	double ms = 0;

	b->what = what;
	b->news = KUBE_ADDED;
	pass_on(b, KUBE_RESET, NULL);
	for (int i = 0; i < n;) {
		struct buf page = { 0 };

		buf_puts(&page, "{\"metadata\":{\"resourceVersion\":\"9\"},"
		                "\"items\":[");
		for (int k = 0; k < PAGE && i < n; k++, i++) {
			buf_puts(&page, k ? "," : "");
			put(&page, i);
		}
		buf_puts(&page, "]}");
		ms += feed(b, &page, true);
		buf_free(&page);
	}
	ms -= now_ms();
	pass_on(b, KUBE_SYNCED, NULL);
	b->kube->sight.synced[what] = true;
	return ms + now_ms();
}

static void put_gpus(struct buf *out, int i)
{
	struct sent_slice s = gpus_of(i / 2, i % 2, 1);

	put_slice(out, &s);
}

/* Append a slice of GPUs, or every third time one of adapters. */
static void put_both(struct buf *out, int i)
{
	struct sent_slice s = { "nic", "nic", i / 3, 2, 0, 2 * HALF, 1, false };

	if (i % 3 < 2)
		s = gpus_of(i / 3, i % 3, 1);
	put_slice(out, &s);
}

/* --- the daemon ----------------------------------------------------------- */

static void on_event(const struct run_event *ev, void *arg)
{
	struct bench *b = arg;

	if (ev->kind == RUN_NODE)
		state_node_seen(b->state, 0, ev->node);
}

static int no_past(uint64_t job, uint32_t task, struct past *ret, void *arg)
{
	(void)job, (void)task, (void)ret, (void)arg;
	return -1;
}

static bool in_group(const char *group, const void *arg)
{
	return group == arg; /* false: nobody is in a group */
}

static void add_jobs(struct state *state, const struct fleet *fleet)
{
	struct submitter who = { .user = "ada", .in_group = in_group };
	struct spec spec;

	spec_init(&spec);
	spec.name = "job";
	spec.output = "out";
	spec.workdir = "/";
	spec.gpus = HALF * 1000;
	spec.device = fleet->each > 2 ? "rdma:4" : NULL;
	for (int i = 0; i < fleet->jobs; i++) {
		uint32_t queue;
		struct err err;

		if (state_check_request(state, &spec, &who, 0, &queue, &err) <
		    0)
			errx(EXIT_FAILURE, "%s", err.text);
		state_submit(state, &spec, &who, queue, 1, 1,
		             state_take_ids(state, 1), 0);
	}
}

/* The ms of a pass: on the loop, and on the thread that plans. */
struct pass_ms {
	double loop, thread;
	uint32_t nstarts;
};

static struct pass_ms make_pass(struct state *state)
{
	struct arena *arena = arena_new();
	double began = now_ms(), took;
	struct build *build;
	const struct snap *snap;
	const struct plan *plan;
	const struct queue_found *found;
	struct apply *apply;
	struct pass_ms ms = { 0 };

	state_tick(state, 1);
	build = state_take_snapshot(state, 1, arena);
	ms.loop = now_ms() - began;
	began = now_ms();
	snap = snapshot_finish(build);
	plan = sched_plan(snap, arena);
	found = snapshot_read_plan(build, plan, arena);
	ms.thread = now_ms() - began;
	ms.nstarts = plan->nstarts;
	took = now_ms();
	state_end_snapshot(state, build);
	apply = apply_begin(state, snap, plan, found, arena);
	while (!apply_part(apply, APPLY_STARTS, 1))
		;
	ms.loop += now_ms() - took;
	apply_free(apply);
	arena_free(arena);
	return ms;
}

/* --- measure -------------------------------------------------------------- */

static void measure_list(struct bench *b, const struct fleet *fleet)
{
	double read, tell;
	struct pass_ms pass;

	read_list(b, SEE_NODES, fleet->nodes, put_node);
	kube_nodes_flush(b->kube->nodes);
	read_list(b, SEE_GRANTS, 0, NULL);
	read = read_list(b, SEE_SLICES, fleet->nodes * fleet->each,
	                 fleet->each > 2 ? put_both : put_gpus);
	tell = now_ms();
	b->kube->recovery.done = true;
	kube_devices_known(b->kube);
	kube_nodes_flush(b->kube->nodes);
	state_pool_ready(b->state, 0, true);
	tell = now_ms() - tell;
	add_jobs(b->state, fleet);
	pass = make_pass(b->state);
	printf("list nodes=%d slices=%d read_ms=%.0f tell_ms=%.0f "
	       "pass_loop_ms=%.1f pass_thread_ms=%.1f started=%u all_ms=%.0f\n",
	       fleet->nodes, fleet->nodes * fleet->each, read, tell, pass.loop,
	       pass.thread, pass.nstarts,
	       read + tell + pass.loop + pass.thread);
	while (state_wants_plan(b->state))
		make_pass(b->state);
}

/* Changes of the slices of a node. */
static void put_tainted(struct buf *out, int round)
{
	struct sent_slice s = gpus_of(round, 0, 1);

	s.tainted = true;
	put_slice(out, &s);
}

static void put_next(struct buf *out, int round)
{
	struct sent_slice s = gpus_of(round, 0, 2);

	put_slice(out, &s);
	s = gpus_of(round, 1, 2);
	put_slice(out, &s);
}

static void put_last(struct buf *out, int round)
{
	struct sent_slice s = gpus_of(round, 1, 2);

	put_slice(out, &s);
}

static void put_nics(struct buf *out, int round)
{
	put_both(out, 3 * round + 2);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *ms)
{
	qsort(ms, CHANGES, sizeof(*ms), by_value);
	return ms[CHANGES / 2];
}

/* Make the same change at some nodes, one at a time. */
static void measure_change(struct bench *b, const char *what,
                           enum kube_news news, put_fn *put)
{
	double read[CHANGES], tell[CHANGES], pass[CHANGES], all[CHANGES];

	b->what = SEE_SLICES;
	b->news = news;
	for (int i = 0; i < CHANGES; i++) {
		struct buf event = { 0 };

		put(&event, i);
		read[i] = feed(b, &event, false);
		tell[i] = now_ms();
		kube_nodes_flush(b->kube->nodes);
		tell[i] = now_ms() - tell[i];
		pass[i] = make_pass(b->state).loop;
		all[i] = read[i] + tell[i] + pass[i];
		buf_free(&event);
	}
	printf("change what=%s read_ms=%.3f tell_ms=%.3f pass_loop_ms=%.3f "
	       "all_ms=%.3f",
	       what, median(read), median(tell), median(pass), median(all));
	printf(" most_ms=%.3f\n", all[CHANGES - 1]);
}

static void measure_tick(struct bench *b)
{
	double ms[CHANGES];

	for (int i = 0; i < CHANGES; i++) {
		ms[i] = now_ms();
		kube_trouble_tell_lacks(b->kube);
		ms[i] = now_ms() - ms[i];
	}
	printf("tick lacks_ms=%.3f\n", median(ms));
}

static void measure(const struct fleet *fleet)
{
	struct buf warnings = { 0 };
	struct err err;
	struct bench b = { 0 };
	struct event_base *base = event_base_new();
	struct conf *conf = conf_parse(config, "bench", &warnings, &err);

	if (!conf)
		errx(EXIT_FAILURE, "%s", err.text);
	b.state = state_new(conf, no_past, NULL);
	b.kube = kube_of(runner_kube_new(base, conf, &conf->pools[0], "store",
	                                 "/nonexistent", on_event, &b));
	measure_list(&b, fleet);
	measure_change(&b, "taint", KUBE_MODIFIED, put_tainted);
	measure_change(&b, "generation", KUBE_MODIFIED, put_next);
	measure_change(&b, "deleted", KUBE_DELETED, put_last);
	measure_change(&b, "added", KUBE_ADDED, put_last);
	if (fleet->each > 2)
		measure_change(&b, "adapters", KUBE_MODIFIED, put_nics);
	measure_tick(&b);
	b.kube->runner.ops->free(&b.kube->runner);
	state_free(b.state);
	conf_free(conf);
	buf_free(&warnings);
	event_base_free(base);
}

static int count_arg(const char *s, long least)
{
	char *end;
	long n = strtol(s, &end, 10);

	if (n < least || n > 1000000 || *end)
		errx(EXIT_USAGE, "'%s' is not a number from %ld on", s, least);
	return (int)n;
}

int main(int argc, char **argv)
{
	struct fleet fleet = { .nodes = 5000, .jobs = 10000, .each = 2 };

	log_init(LOG_ERR_);
	if (argc > 1)
		fleet.nodes = count_arg(argv[1], CHANGES);
	if (argc > 2)
		fleet.jobs = count_arg(argv[2], 0);
	measure(&fleet);
	fleet.each = 3;
	measure(&fleet);
	return 0;
}
