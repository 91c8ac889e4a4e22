/* env.c - the environment of a task in a pod */
#include "pod/env.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libcommon/idset.h"

struct vars {
	struct arena *arena;
	struct arena_list list;
	size_t ours;
};

static void add(struct vars *v, const char *name, const char *value)
{
	size_t len = strlen(name) + strlen(value) + 2;
	char *var = arena_alloc(v->arena, len, 1);

	snprintf(var, len, "%s=%s", name, value);
	*(char **)arena_push(v->arena, &v->list, sizeof(char *)) = var;
}

/* Set AISCHED_NAME and SLURM_NAME. */
static void twin(struct vars *v, const char *name, const char *value)
{
	char both[64];

	snprintf(both, sizeof(both), "SLURM_%s", name);
	add(v, both, value);
	snprintf(both, sizeof(both), "AISCHED_%s", name);
	add(v, both, value);
}

static void twin_int(struct vars *v, const char *name, int64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, n);
	twin(v, name, text);
}

void pod_env_counts(const int64_t *count, size_t n, struct buf *out)
{
	for (size_t i = 0, same; i < n; i += same) {
		for (same = 1; i + same < n && count[i + same] == count[i];)
			same++;
		buf_printf(out, "%s%" PRId64, i ? "," : "", count[i]);
		if (same > 1)
			buf_printf(out, "(x%zu)", same);
	}
}

void pod_env_mark(const struct pod_job *job, const struct pod_layout *layout,
                  struct buf *out)
{
	char name[POD_NAME_MAX];

	pod_job_node(job, layout->pod[layout->self], name);
	buf_printf(out, POD_STEP_VAR "=%s:%" PRId64, name, layout->step);
}

/* Append the host names of n pods, as "name-[0-2,4].name"; if pod is NULL, of
 * the first n. */
static void nodes(const struct pod_job *job, const int64_t *pod, size_t n,
                  struct buf *out)
{
	char name[POD_NAME_MAX];
	struct idset set = { 0 };
	size_t prefix = strlen(job->name) + 1;

	for (size_t i = 0; i < n; i++)
		idset_add(&set, pod ? (uint32_t)pod[i] : (uint32_t)i);
	pod_job_node(job, pod ? pod[0] : 0, name);
	if (n == 1) {
		buf_puts(out, name);
	} else {
		buf_add(out, name, prefix);
		buf_puts(out, "[");
		idset_format(&set, out);
		buf_printf(out, "]%s",
		           name + prefix + strspn(name + prefix, "0123456789"));
	}
	idset_free(&set);
}

static void of_job(struct vars *v, const struct pod_job *job)
{
	struct buf all = { 0 };

	nodes(job, NULL, (size_t)job->pods, &all);
	twin_int(v, "JOB_ID", job->id);
	twin_int(v, "JOBID", job->id);
	twin(v, "JOB_NODELIST", all.data);
	twin(v, "NODELIST", all.data);
	twin_int(v, "JOB_NUM_NODES", job->pods);
	twin_int(v, "CPUS_ON_NODE", job->cpus);
	buf_free(&all);
}

static void of_step(struct vars *v, const struct pod_job *job,
                    const struct pod_layout *layout,
                    const struct step_request *req)
{
	struct buf where = { 0 }, counts = { 0 };
	char mask[8];

	nodes(job, layout->pod, layout->n, &where);
	pod_env_counts(layout->tasks, layout->n, &counts);
	snprintf(mask, sizeof(mask), "%04o", (unsigned)req->umask);
	twin_int(v, "STEP_ID", layout->step);
	twin_int(v, "STEPID", layout->step);
	twin(v, "STEP_NODELIST", where.data);
	twin_int(v, "STEP_NUM_NODES", (int64_t)layout->n);
	twin_int(v, "NNODES", (int64_t)layout->n);
	twin_int(v, "STEP_NUM_TASKS", req->tasks);
	twin_int(v, "NTASKS", req->tasks);
	twin_int(v, "NPROCS", req->tasks);
	twin(v, "STEP_TASKS_PER_NODE", counts.data);
	twin(v, "TASKS_PER_NODE", counts.data);
	twin(v, "DISTRIBUTION", "block");
	twin(v, "UMASK", mask);
	if (*req->job_name)
		twin(v, "JOB_NAME", req->job_name);
	if (req->cpus)
		twin_int(v, "CPUS_PER_TASK", req->cpus);
	buf_free(&where);
	buf_free(&counts);
}

/* Set CUDA_VISIBLE_DEVICES and the like to the numbers of a task's GPUs in
 * the container. */
static void of_gpus(struct vars *v, const struct pod_layout *layout,
                    int64_t local)
{
	uint64_t gpus = layout->gpus[layout->self];
	int64_t each = layout->gpus_task, seen = 0;
	struct buf list = { 0 };

	if (!layout->has_gpus)
		return;
	buf_puts(&list, "");
	for (int i = 0; i < 64; i++) {
		if (!(gpus >> i & 1))
			continue;
		if (each < 0 ||
		    (seen >= each * local && seen < each * (local + 1)))
			buf_printf(&list, "%s%d", list.len ? "," : "", i);
		seen++;
	}
	add(v, "CUDA_VISIBLE_DEVICES", list.data);
	add(v, "ROCR_VISIBLE_DEVICES", list.data);
	add(v, "GPU_DEVICE_ORDINAL", list.data);
	if (list.len)
		twin(v, "STEP_GPUS", list.data);
	buf_free(&list);
}

static void of_task(struct vars *v, const struct pod_job *job,
                    const struct pod_layout *layout, int64_t local)
{
	int64_t first = pod_layout_first(layout);
	char name[POD_NAME_MAX], host[256] = "";
	struct buf ranks = { 0 };

	for (int64_t i = 0; i < layout->tasks[layout->self]; i++)
		buf_printf(&ranks, "%s%" PRId64, i ? "," : "", first + i);
	pod_job_node(job, layout->pod[layout->self], name);
	twin_int(v, "NODEID", layout->self);
	twin_int(v, "PROCID", first + local);
	twin_int(v, "LOCALID", local);
	twin_int(v, "TASK_PID", getpid());
	twin(v, "GTIDS", ranks.data);
	add(v, "SLURMD_NODENAME", name);
	add(v, "AISCHEDD_NODENAME", name);
	twin(v, "TOPOLOGY_ADDR", name);
	if (gethostname(host, sizeof(host) - 1) == 0)
		add(v, "HOSTNAME", host);
	if (getenv("JOB_COMPLETION_INDEX"))
		add(v, "JOB_COMPLETION_INDEX", getenv("JOB_COMPLETION_INDEX"));
	pod_job_node(job, layout->pod[0], name);
	twin(v, "LAUNCH_NODE_IPADDR", name);
	buf_free(&ranks);
}

static bool is_ours(const struct vars *v, const char *var, size_t len)
{
	char *const *own = v->list.p;

	for (size_t i = 0; i < v->ours; i++)
		if (!strncmp(own[i], var, len) && own[i][len] == '=')
			return true;
	return false;
}

char **pod_env(const struct pod_job *job, const struct pod_layout *layout,
               const struct step_request *req, int64_t local, const char *texts,
               size_t len, struct arena *arena)
{
	struct vars v = { .arena = arena };
	const char *end = texts + len, *var;
	struct buf mark = { 0 };

	pod_env_mark(job, layout, &mark);
	add(&v, POD_STEP_VAR, strchr(mark.data, '=') + 1);
	buf_free(&mark);
	of_job(&v, job);
	of_step(&v, job, layout, req);
	of_gpus(&v, layout, local);
	of_task(&v, job, layout, local);
	v.ours = v.list.n;
	while ((var = step_next_text(&texts, end))) {
		size_t name = strcspn(var, "=");

		if (name && var[name] && !is_ours(&v, var, name))
			*(const char **)arena_push(arena, &v.list,
			                           sizeof(char *)) =
			    arena_strdup(arena, var);
	}
	arena_push(arena, &v.list, sizeof(char *));
	return v.list.p;
}
