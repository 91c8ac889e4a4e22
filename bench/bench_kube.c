/*
 * bench_kube - measure how fast pods are bound and run, for bench/kube
 *
 *	bench_kube bound KUBECONFIG NAMESPACE PODS PID COMMAND [WORD]...
 *	bench_kube stock KUBECONFIG NAMESPACE JOBS PODS
 *	bench_kube fill KUBECONFIG NAMESPACE PODS NODES
 *	bench_kube slices KUBECONFIG NAMESPACE NODES
 *
 * bound runs the command and waits until PODS pods run. It prints the pods
 * bound per second, the ms from the start of the command until half of the pods
 * run and until all run, and how many ms of CPU the process PID used per pod.
 *
 * stock makes JOBS Jobs of PODS pods each, like those that aischedd makes, but
 * for the default scheduler of Kubernetes. fill makes pods that are already
 * bound, to node-0, node-1 and so on. slices makes a ResourceSlice with 8 GPUs
 * for each of gpu-0, gpu-1 and so on.
 */
#include <err.h>
#include <event2/event.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "aischedd/run/kube/client/http.h"
#include "aischedd/run/kube/client/path.h"
#include "aischedd/run/kube/client/watch.h"
#include "aischedd/run/kube/object/job.h"
#include "aischedd/run/kube/object/object.h"
#include "libcommon/clock.h"
#include "libcommon/limits.h"
#include "libcommon/map.h"
#include "libcommon/mem.h"

extern char **environ;

static struct event_base *base;

static size_t count_arg(const char *s)
{
	char *end;
	unsigned long n = strtoul(s, &end, 10);

	if (!n || *end)
		errx(EXIT_USAGE, "'%s' is no count", s);
	return n;
}

static void on_trouble(const struct err *trouble, void *arg)
{
	(void)arg;
	if (trouble)
		warnx("%s", trouble->text);
}

/* --- bound and running pods --- */

struct bound {
	char **command;
	const char *pid;
	size_t want;
	double start, cpu, last_bound;
	struct map seen; /* maps the hash of a uid to BOUND or RUNS */
	size_t nrun;
	double *run; /* [nrun] when each pod began to run, earliest first */
};

/* Returns the CPU time of a process, user and system, in ms. */
static double cpu_ms(const char *pid)
{
	char path[64], text[1024];
	unsigned long user = 0, system = 0;
	const char *rest;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	f = fopen(path, "re");
	if (!f || !fgets(text, sizeof(text), f))
		errx(EXIT_FAILURE, "no process %s", pid);
	fclose(f);
	rest = strrchr(text, ')');
	/* utime and stime are fields 14 and 15 of proc_pid_stat(5); field 2
	 * ends with the last ")". */
	if (!rest || sscanf(rest + 1,
	                    " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u"
	                    " %lu %lu",
	                    &user, &system) != 2)
		errx(EXIT_FAILURE, "%s: not as expected", path);
	return (double)(user + system) * 1e3 / (double)sysconf(_SC_CLK_TCK);
}

/* Exit if the command has failed, because its pods would be awaited forever. */
static void on_command(evutil_socket_t fd, short what, void *arg)
{
	int status;

	(void)fd, (void)what, (void)arg;
	if (waitpid(-1, &status, WNOHANG) > 0 && status)
		errx(EXIT_FAILURE, "the command has failed");
}

static void begin(struct bound *b)
{
	pid_t pid;

	b->cpu = cpu_ms(b->pid);
	b->start = clock_fine_ms();
	if (posix_spawnp(&pid, b->command[0], NULL, NULL, b->command, environ))
		err(EXIT_FAILURE, "%s", b->command[0]);
}

static void tell_bound(const struct bound *b)
{
	printf("%.1f %.0f %.0f %.2f\n",
	       (double)b->want * 1e3 / (b->last_bound - b->start),
	       b->run[b->want / 2] - b->start, b->run[b->want - 1] - b->start,
	       (cpu_ms(b->pid) - b->cpu) / (double)b->want);
}

enum { BOUND = 1, RUNS };

static void on_pod(struct bound *b, const json_t *obj)
{
	const json_t *meta = json_object_get(obj, "metadata");
	const char *uid = json_string_value(json_object_get(meta, "uid"));
	const char *phase = json_string_value(
	    json_object_get(json_object_get(obj, "status"), "phase"));
	uint64_t key = hash_bytes(0, uid, strlen(uid));
	uintptr_t was = (uintptr_t)map_find(&b->seen, key);
	bool runs = phase && !strcmp(phase, "Running");

	if (!was)
		b->last_bound = clock_fine_ms();
	if (was != RUNS && runs)
		b->run[b->nrun++] = clock_fine_ms();
	map_set(&b->seen, key, (void *)(uintptr_t)(runs ? RUNS : BOUND));
	if (b->nrun == b->want)
		event_base_loopbreak(base);
}

static void on_news(enum kube_news news, json_t *obj, const struct err *err,
                    void *arg)
{
	struct bound *b = arg;

	/* A busy API server ends watches. Go on: the next watch delivers what
	 * was missed. */
	if (news == KUBE_TROUBLE)
		warnx("%s", err->text);
	if (news == KUBE_SYNCED && !b->start)
		begin(b);
	else if (news == KUBE_ADDED || news == KUBE_MODIFIED)
		on_pod(b, obj);
}

static void bound(struct kube_http *http, const char *namespace, char **argv)
{
	struct kube_watch_spec spec = kube_watch_default;
	struct bound b = { .want = count_arg(argv[0]),
		           .pid = argv[1],
		           .command = argv + 2 };
	struct buf path = { 0 };
	struct kube_watch *watch;
	struct event *command = evsignal_new(base, SIGCHLD, on_command, NULL);

	event_add(command, NULL);
	b.run = xcalloc(b.want, sizeof(*b.run));
	buf_puts(&path, "/api/v1/namespaces");
	kube_path_name(&path, namespace);
	buf_puts(&path, "/pods");
	kube_path_query(&path, "fieldSelector", "spec.nodeName!=");
	spec.path = path.data;
	spec.fn = on_news;
	spec.arg = &b;
	watch = kube_watch_new(http, &spec);
	event_base_dispatch(base);
	tell_bound(&b);
	kube_watch_free(watch);
	event_free(command);
	map_free(&b.seen);
	buf_free(&path);
	free(b.run);
}

/* --- make objects --- */

static size_t pending;

static void on_made(const struct kube_answer *answer, void *arg)
{
	(void)arg;
	if (answer->err)
		errx(EXIT_FAILURE, "%s", answer->err->text);
	if (--pending == 0)
		event_base_loopbreak(base);
}

/* Create an object; on_made() is called with the answer. Takes obj. */
static void make(struct kube_http *http, const char *path, json_t *obj)
{
	pending++;
	kube_http_send(http, &(struct kube_request){ .method = KUBE_POST,
	                                             .path = path,
	                                             .body = obj,
	                                             .done = on_made });
	json_decref(obj);
}

static void stock(struct kube_http *http, const char *namespace, char **argv)
{
	static const char *const no_node[1];
	size_t jobs = count_arg(argv[0]);
	struct conf_pool pool = { .name = "gpu",
		                  .namespace = namespace,
		                  .gpu_resource = "nvidia.com/gpu",
		                  .image = "local/box:1",
		                  .run_as_root = true };
	struct kube_home home = { .pool = &pool,
		                  .cluster = "stock",
		                  .store = "stock",
		                  .node_timeout = 60 };
	struct spec spec = { .name = NULL };
	struct request req = { .cpus_milli = 1000, .mem_mib = 1024 };
	struct run_job job = { .attempt = 1,
		               .spec = &spec,
		               .req = &req,
		               .queue = "default",
		               .grace = 30,
		               .node_name = no_node };
	char *path = xasprintf("/apis/batch/v1/namespaces/%s/jobs", namespace);

	spec_init(&spec);
	spec.workdir = "/work";
	spec.output = "aisched-%j.out";
	req.tasks = job.ntasks = (uint32_t)count_arg(argv[1]);
	for (job.job = 1; job.job <= jobs; job.job++) {
		struct err err;
		json_t *obj = kube_object_job(&home, &job, &err), *pods;

		if (!obj)
			errx(EXIT_FAILURE, "%s", err.text);
		pods = json_object_get(
		    json_object_get(json_object_get(obj, "spec"), "template"),
		    "spec");
		json_object_set_new(pods, "schedulerName",
		                    json_string("default-scheduler"));
		make(http, path, obj);
	}
	event_base_dispatch(base);
	free(path);
}

static void fill(struct kube_http *http, const char *namespace, char **argv)
{
	size_t pods = count_arg(argv[0]), nodes = count_arg(argv[1]);
	char *path = xasprintf("/api/v1/namespaces/%s/pods", namespace);

	for (size_t i = 0; i < pods; i++) {
		char *name = xasprintf("other-%zu", i);
		char *node = xasprintf("node-%zu", i % nodes);

		make(http, path,
		     json_pack("{s:s, s:s, s:{s:s, s:{s:s, s:s}},"
		               " s:{s:s, s:b, s:[{s:s, s:s,"
		               " s:{s:{s:s, s:s}}}]}}",
		               "apiVersion", "v1", "kind", "Pod", "metadata",
		               "name", name, "labels", "app", "other", "team",
		               "others", "spec", "nodeName", node,
		               "automountServiceAccountToken", false,
		               "containers", "name", "main", "image", "other:1",
		               "resources", "requests", "cpu", "100m", "memory",
		               "128Mi"));
		free(name);
		free(node);
	}
	event_base_dispatch(base);
	free(path);
}

/* Returns the devices of a slice. */
static json_t *gpus(void)
{
	json_t *list = json_array();

	for (int i = 0; i < 8; i++)
		json_array_append_new(
		    list,
		    json_pack("{s:o, s:{s:{s:s}, s:{s:i}}}", "name",
		              json_sprintf("gpu-%d", i), "attributes",
		              "productName", "string", "Test GPU",
		              "resource.kubernetes.io/numaNode", "int", i / 4));
	return list;
}

static void slices(struct kube_http *http, const char *namespace, char **argv)
{
	size_t nodes = count_arg(argv[0]);

	(void)namespace;
	for (size_t i = 0; i < nodes; i++) {
		char *node = xasprintf("gpu-%zu", i);

		make(http, "/apis/resource.k8s.io/v1/resourceslices",
		     json_pack("{s:s, s:s, s:{s:s}, s:{s:s, s:s,"
		               " s:{s:s, s:i, s:i}, s:o}}",
		               "apiVersion", "resource.k8s.io/v1", "kind",
		               "ResourceSlice", "metadata", "name", node,
		               "spec", "driver", "gpu.test", "nodeName", node,
		               "pool", "name", node, "generation", 1,
		               "resourceSliceCount", 1, "devices", gpus()));
		free(node);
	}
	event_base_dispatch(base);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int nargs; /* required number of arguments */
		void (*run)(struct kube_http *, const char *, char **);
	} commands[] = {
		{ "bound", 3, bound },
		{ "stock", 2, stock },
		{ "fill", 2, fill },
		{ "slices", 1, slices },
	};
	struct kube_http *http;

	base = event_base_new();
	for (size_t i = 0; argc > 3 && i < ARRAY_SIZE(commands); i++) {
		if (strcmp(argv[1], commands[i].name) != 0 ||
		    argc - 4 < commands[i].nargs)
			continue;
		http =
		    kube_http_new(base, argv[2], NULL, NULL, on_trouble, NULL);
		commands[i].run(http, argv[3], argv + 4);
		kube_http_free(http);
		event_base_free(base);
		return EXIT_SUCCESS;
	}
	errx(EXIT_USAGE, "usage: see the beginning of bench_kube.c");
}
