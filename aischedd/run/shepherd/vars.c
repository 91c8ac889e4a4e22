/* vars.c - the environment variables that we set, and their values */
#include "aischedd/run/shepherd/vars.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "aischedd/run/shepherd/env.h"
#include "aischedd/run/shepherd/record.h"
#include "libcommon/parse.h"

/* First port for MASTER_PORT; all are below the range from which the kernel
 * takes free ports. */
#define MASTER_PORT_FIRST 10000
#define MASTER_PORTS      20000

typedef bool env_fn(const struct env_of *e, struct buf *out);

static bool number(struct buf *out, int64_t n)
{
	buf_i64(out, n);
	return true;
}

static bool text(struct buf *out, const char *s)
{
	if (!s)
		return false;
	buf_puts(out, s);
	return true;
}

/* Append the number of an option. Returns false, which leaves the variable
 * unset, if the option was not given. */
static bool echo(struct buf *out, int64_t n)
{
	return n != SPEC_UNSET && number(out, n);
}

/* Returns a number of CPUs as a whole number, rounded up, as programs
 * expect it. */
static int64_t whole(int64_t milli)
{
	return (milli + 999) / 1000;
}

uint32_t env_nprocs(const struct run_job *job)
{
	return job->spec->launch_script == 1 ? 1 : job->ntasks;
}

/* Returns the number of tasks for which the job's steps are meant. */
static int64_t tasks_of_job(const struct env_of *e)
{
	int64_t shared = e->order->job.spec->shared_tasks;
	int64_t own = e->order->job.ntasks;

	return shared > own ? shared : own;
}

static bool is_gang(const struct env_of *e)
{
	return e->order->job.req->tasks > 1 ||
	       e->order->job.spec->shared_tasks > 1;
}

/* Whether the job's processes have ranks: true if the job asks for several
 * tasks and its script runs in each of them. */
static bool is_ranked(const struct env_of *e)
{
	return !e->step && is_gang(e) && e->order->job.spec->launch_script != 1;
}

static uint64_t gpus_of_job(const struct run_job *job)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < job->ntasks; i++)
		all |= job->task[i].gpus;
	return all;
}

static void gpu_list(const struct env_of *e, struct buf *out, uint64_t gpus)
{
	for (int i = 0; i < LIMIT_GPUS; i++)
		if (gpus >> i & 1)
			buf_printf(out, "%s%u", out->len ? "," : "",
			           e->order->gpu_index[i]);
}

static int64_t cpus_of_job(const struct run_job *job)
{
	return whole(job->whole.cpus_milli
	                 ? job->whole.cpus_milli
	                 : job->req->cpus_milli * job->ntasks);
}

static bool job_id(const struct env_of *e, struct buf *out)
{
	return number(out, (int64_t)e->order->job.job);
}

static bool job_name(const struct env_of *e, struct buf *out)
{
	if (e->step && e->step->job_name)
		return text(out, e->step->job_name);
	return text(out, e->order->job.spec->name);
}

static bool job_queue(const struct env_of *e, struct buf *out)
{
	return text(out, e->order->job.queue);
}

static bool job_account(const struct env_of *e, struct buf *out)
{
	return text(out, e->order->job.spec->account);
}

static bool job_class(const struct env_of *e, struct buf *out)
{
	const char *class = e->order->job.spec->class;

	return text(out, class ? class : "train");
}

static bool job_dependency(const struct env_of *e, struct buf *out)
{
	return text(out, e->order->job.spec->dependency);
}

static bool job_reservation(const struct env_of *e, struct buf *out)
{
	return text(out, e->order->job.spec->reservation);
}

static bool job_user(const struct env_of *e, struct buf *out)
{
	return text(out, e->order->job.user);
}

static bool job_uid(const struct env_of *e, struct buf *out)
{
	return number(out, e->order->job.uid);
}

static bool job_gid(const struct env_of *e, struct buf *out)
{
	return number(out, e->order->job.gid);
}

static bool job_start(const struct env_of *e, struct buf *out)
{
	return number(out, e->start);
}

static bool job_end(const struct env_of *e, struct buf *out)
{
	int64_t limit = e->order->job.time_limit;

	return limit != TIME_UNLIMITED && number(out, e->start + limit);
}

static bool cluster(const struct env_of *e, struct buf *out)
{
	return text(out, e->order->job.cluster);
}

static bool submit_dir(const struct env_of *e, struct buf *out)
{
	return text(out, e->order->job.spec->workdir);
}

static bool submit_host(const struct env_of *e, struct buf *out)
{
	return text(out, e->order->job.spec->submit_host);
}

static bool host(const struct env_of *e, struct buf *out)
{
	return text(out, e->order->host);
}

static bool one(const struct env_of *e, struct buf *out)
{
	(void)e;
	return number(out, 1);
}

static bool zero(const struct env_of *e, struct buf *out)
{
	(void)e;
	return number(out, 0);
}

static bool node_word(const struct env_of *e, struct buf *out)
{
	(void)e;
	return text(out, "node");
}

static bool cpus_on_node(const struct env_of *e, struct buf *out)
{
	return number(out, cpus_of_job(&e->order->job));
}

static bool tasks_per_node(const struct env_of *e, struct buf *out)
{
	return number(out, e->step ? e->step->tasks : tasks_of_job(e));
}

static bool ntasks(const struct env_of *e, struct buf *out)
{
	const struct spec *spec = e->order->job.spec;

	if (e->step)
		return number(out, e->step->tasks);
	if (spec->tasks == SPEC_UNSET && spec->tasks_per_node == SPEC_UNSET &&
	    !is_gang(e))
		return false;
	return number(out, tasks_of_job(e));
}

static bool overcommit(const struct env_of *e, struct buf *out)
{
	return e->order->job.spec->shared_tasks != SPEC_UNSET && one(e, out);
}

static bool ntasks_per_node(const struct env_of *e, struct buf *out)
{
	return echo(out, e->order->job.spec->tasks_per_node);
}

static bool cpus_per_task(const struct env_of *e, struct buf *out)
{
	int64_t milli = e->order->job.spec->cpus;

	if (e->step && e->step->cpus)
		return number(out, e->step->cpus);
	return milli != SPEC_UNSET && number(out, whole(milli));
}

static bool mem_per_task(const struct env_of *e, struct buf *out)
{
	return echo(out, e->order->job.spec->mem);
}

static bool mem_per_node(const struct env_of *e, struct buf *out)
{
	int64_t mib = e->order->job.spec->mem_node;

	/* 0 stands for all memory of the node: then set no variable */
	return mib && echo(out, mib);
}

static bool mem_per_cpu(const struct env_of *e, struct buf *out)
{
	return echo(out, e->order->job.spec->mem_cpu);
}

static bool gpus(const struct env_of *e, struct buf *out)
{
	return echo(out, e->order->job.spec->gpus_job);
}

static bool gpus_per_node(const struct env_of *e, struct buf *out)
{
	return echo(out, e->order->job.spec->gpus_node);
}

static bool gpus_per_task(const struct env_of *e, struct buf *out)
{
	int64_t milli = e->order->job.spec->gpus;

	if (milli == SPEC_UNSET)
		return false;
	format_milli(out, milli);
	return true;
}

static bool gpus_on_node(const struct env_of *e, struct buf *out)
{
	uint64_t all = gpus_of_job(&e->order->job);

	return all && number(out, __builtin_popcountll(all));
}

static bool job_gpus(const struct env_of *e, struct buf *out)
{
	uint64_t all = gpus_of_job(&e->order->job);

	gpu_list(e, out, all);
	return all != 0;
}

static bool rank(const struct env_of *e, struct buf *out)
{
	return number(out, e->rank);
}

static bool ranks(const struct env_of *e, struct buf *out)
{
	uint32_t n = e->step ? e->step->tasks : env_nprocs(&e->order->job);

	for (uint32_t i = 0; i < n; i++)
		buf_printf(out, "%s%" PRIu32, i ? "," : "", i);
	return true;
}

static bool task_pid(const struct env_of *e, struct buf *out)
{
	(void)e;
	return text(out, TASK_PID_ROOM);
}

static bool in_array(const struct env_of *e)
{
	return e->order->job.array_job != 0;
}

static bool array_job(const struct env_of *e, struct buf *out)
{
	return in_array(e) && number(out, (int64_t)e->order->job.array_job);
}

static bool array_task(const struct env_of *e, struct buf *out)
{
	return in_array(e) && number(out, e->order->job.array_task);
}

static bool array_count(const struct env_of *e, struct buf *out)
{
	return in_array(e) && number(out, e->order->job.array_count);
}

static bool array_min(const struct env_of *e, struct buf *out)
{
	return in_array(e) && number(out, e->order->job.array_min);
}

static bool array_max(const struct env_of *e, struct buf *out)
{
	return in_array(e) && number(out, e->order->job.array_max);
}

static bool array_step(const struct env_of *e, struct buf *out)
{
	return in_array(e) && number(out, e->order->job.array_step);
}

static bool restarts(const struct env_of *e, struct buf *out)
{
	uint32_t n = e->order->job.restarts;

	return n && number(out, n);
}

/* Whether the process is one task of its job and not a step. */
static bool is_one_task(const struct env_of *e)
{
	return !e->step && env_nprocs(&e->order->job) == e->order->job.ntasks;
}

/* Returns the GPUs that this process may use: those of its step, of its task,
 * or of the whole job. */
static uint64_t own_gpus(const struct env_of *e)
{
	const struct run_job *job = &e->order->job;

	if (e->step && e->step->has_gpus)
		return e->step->gpus;
	return is_one_task(e) ? job->task[e->slot].gpus : gpus_of_job(job);
}

/* Append the GPUs by the numbers that CUDA gives them. CUDA counts only GPUs
 * that the job can open. */
static void visible_list(const struct env_of *e, struct buf *out, uint64_t gpus)
{
	uint64_t all = gpus_of_job(&e->order->job);
	uint32_t n = 0;

	if (!e->order->constrain_devices) {
		gpu_list(e, out, gpus);
		return;
	}
	for (int i = 0; i < LIMIT_GPUS; i++) {
		if (gpus >> i & 1)
			buf_printf(out, "%s%u", out->len ? "," : "", n);
		n += all >> i & 1;
	}
}

/* Append the UUIDs of the partitions that this process may use. Returns false
 * if it has none. */
static bool part_list(const struct env_of *e, struct buf *out)
{
	const struct run_job *job = &e->order->job;
	bool one = is_one_task(e);
	uint32_t end = one ? e->slot + 1 : job->ntasks;
	uint64_t gpus = own_gpus(e);

	for (uint32_t i = one ? e->slot : 0; i < end; i++) {
		const struct order_part *part =
		    order_part(e->order, &job->task[i]);

		if (part && job->task[i].gpus & gpus)
			buf_printf(out, "%s%s", out->len ? "," : "",
			           part->uuid);
	}
	return out->len > 0;
}

/* Whether tasks of the job have partitions. Then they have no other GPUs, as a
 * job asks for one type of GPUs. */
static bool has_parts(const struct run_job *job)
{
	return job->ntasks && job->task[0].units;
}

static bool visible_gpus(const struct env_of *e, struct buf *out)
{
	if (!e->order->node_gpus)
		return false;
	/* For a job without GPUs on a node with GPUs, the list is empty. */
	if (!has_parts(&e->order->job))
		visible_list(e, out, own_gpus(e));
	return true;
}

/* As above, but CUDA knows partitions by their UUIDs. */
static bool visible_cuda(const struct env_of *e, struct buf *out)
{
	bool is_set = visible_gpus(e, out);

	if (is_set)
		(void)part_list(e, out);
	return is_set;
}

/* Append the kernel's numbers of the NUMA nodes to which the CPUs of the
 * process belong. */
static bool numa_nodes(const struct env_of *e, struct buf *out)
{
	const struct order *o = e->order;
	const struct snap_task *task = o->job.task;
	bool one = is_one_task(e);
	uint32_t i = task[one ? e->slot : 0].cpu_first;
	uint32_t end = task[one ? e->slot + 1 : o->job.ntasks].cpu_first;
	uint64_t in = o->bind && i < end;

	if (o->cpu_numa)
		for (in = 0; i < end; i++)
			in |= UINT64_C(1) << o->cpu_numa[i] % 64;
	for (int n = 0; n < 64; n++)
		if (in >> n & 1)
			buf_printf(out, "%s%d", out->len ? "," : "", n);
	return in != 0;
}

/* Let CUDA number GPUs by their bus ids; by default it numbers them
 * by speed. */
static bool cuda_order(const struct env_of *e, struct buf *out)
{
	if (e->order->node_gpus)
		buf_puts(out, "PCI_BUS_ID");
	return e->order->node_gpus > 0;
}

static bool gpu_uuids(const struct env_of *e, struct buf *out)
{
	uint64_t gpus = own_gpus(e);

	if (has_parts(&e->order->job))
		return part_list(e, out);
	for (int i = 0; i < LIMIT_GPUS; i++)
		if (gpus >> i & 1 && e->order->gpu_uuid[i])
			buf_printf(out, "%s%s", out->len ? "," : "",
			           e->order->gpu_uuid[i]);
	return out->len > 0;
}

/* Returns how many thousandths of a GPU this process may use. */
static uint32_t own_part(const struct env_of *e, int gpu)
{
	const struct run_job *job = &e->order->job;
	bool one = is_one_task(e);
	uint32_t end = one ? e->slot + 1 : job->ntasks, sum = 0;

	for (uint32_t i = one ? e->slot : 0; i < end; i++)
		if (job->task[i].gpus >> gpu & 1)
			sum += job->task[i].gpu_milli;
	return sum;
}

/* Append how much memory of each GPU the process may allocate, if it has a part
 * of it. NVIDIA's MPS obeys this; if MPS does not run, nothing does. */
static bool mps_memory(const struct env_of *e, struct buf *out)
{
	const struct order *o = e->order;
	uint64_t gpus = has_parts(&o->job) ? 0 : own_gpus(e);

	for (int i = 0; i < LIMIT_GPUS; i++) {
		uint32_t part = own_part(e, i);

		if (gpus >> i & 1 && part < 1000 && o->gpu_uuid[i] &&
		    o->gpu_mem_mib[i])
			buf_printf(out, "%s%s=%lldM", out->len ? "," : "",
			           o->gpu_uuid[i],
			           (long long)o->gpu_mem_mib[i] * part / 1000);
	}
	return out->len > 0;
}

static bool torch_rank(const struct env_of *e, struct buf *out)
{
	return is_ranked(e) && rank(e, out);
}

static bool torch_world(const struct env_of *e, struct buf *out)
{
	return is_ranked(e) && number(out, e->order->job.ntasks);
}

static bool master_addr(const struct env_of *e, struct buf *out)
{
	/* Use this address instead of the machine's name, which need not
	 * resolve: all tasks of this runner are on one machine. */
	return !e->step && is_gang(e) && text(out, "127.0.0.1");
}

static bool master_port(const struct env_of *e, struct buf *out)
{
	uint64_t id = e->order->job.job;

	return !e->step && is_gang(e) &&
	       number(out, MASTER_PORT_FIRST + (int64_t)(id % MASTER_PORTS));
}

static bool tmpdir(const struct env_of *e, struct buf *out)
{
	return text(out, e->tmpdir);
}

static bool end_file(const struct env_of *e, struct buf *out)
{
	return text(out, e->end_file);
}

static bool run_id(const struct env_of *e, struct buf *out)
{
	return text(out, e->run_id);
}

/* --- variables of steps ------------------------------------------------ */

static bool step_id(const struct env_of *e, struct buf *out)
{
	return e->step && number(out, e->step->id);
}

static bool step_nodes(const struct env_of *e, struct buf *out)
{
	return e->step && host(e, out);
}

static bool step_num_nodes(const struct env_of *e, struct buf *out)
{
	return e->step && one(e, out);
}

static bool step_tasks(const struct env_of *e, struct buf *out)
{
	return e->step && number(out, e->step->tasks);
}

static bool step_gpus(const struct env_of *e, struct buf *out)
{
	if (!e->step || !e->step->has_gpus || !e->step->gpus)
		return false;
	gpu_list(e, out, e->step->gpus);
	return true;
}

static bool step_address(const struct env_of *e, struct buf *out)
{
	return e->step && text(out, "127.0.0.1");
}

static bool step_distribution(const struct env_of *e, struct buf *out)
{
	return e->step && text(out, "block");
}

static bool step_umask(const struct env_of *e, struct buf *out)
{
	if (!e->step)
		return false;
	buf_printf(out, "%04o", (unsigned)e->step->umask);
	return true;
}

/* The next four variables are set in runs of recurring jobs. */
static bool cron_id(const struct env_of *e, struct buf *out)
{
	return echo(out, e->order->job.spec->cron_id);
}

static bool cron_time(const struct env_of *e, struct buf *out)
{
	return echo(out, e->order->job.spec->cron_time);
}

static bool cron_last(const struct env_of *e, struct buf *out)
{
	return echo(out, e->order->job.spec->cron_last);
}

static bool cron_missed(const struct env_of *e, struct buf *out)
{
	return echo(out, e->order->job.spec->cron_missed);
}

#define TWIN(name, fn)                             \
	{                                          \
		"AISCHED_" name, "SLURM_" name, fn \
	}

static const struct env_var {
	const char *name, *twin; /* twin may be NULL */
	/* returns false if the variable is not to be set */
	env_fn *value;
} vars[] = {
	/* The run id comes first, so that a search of an environment finds
	 * it early. */
	{ RUN_ID_VAR, NULL, run_id },
	TWIN("JOB_ID", job_id),
	TWIN("JOBID", job_id),
	TWIN("JOB_NAME", job_name),
	{ "AISCHED_JOB_QUEUE", "SLURM_JOB_PARTITION", job_queue },
	TWIN("JOB_ACCOUNT", job_account),
	{ "AISCHED_JOB_CLASS", "SLURM_JOB_QOS", job_class },
	TWIN("JOB_DEPENDENCY", job_dependency),
	TWIN("JOB_RESERVATION", job_reservation),
	TWIN("JOB_USER", job_user),
	TWIN("JOB_UID", job_uid),
	TWIN("JOB_GID", job_gid),
	TWIN("JOB_START_TIME", job_start),
	TWIN("JOB_END_TIME", job_end),
	TWIN("JOB_NODELIST", host),
	TWIN("NODELIST", host),
	TWIN("JOB_NUM_NODES", one),
	TWIN("NNODES", one),
	TWIN("JOB_CPUS_PER_NODE", cpus_on_node),
	TWIN("CPUS_ON_NODE", cpus_on_node),
	TWIN("TASKS_PER_NODE", tasks_per_node),
	TWIN("NTASKS", ntasks),
	TWIN("NPROCS", ntasks),
	TWIN("NTASKS_PER_NODE", ntasks_per_node),
	TWIN("OVERCOMMIT", overcommit),
	TWIN("CPUS_PER_TASK", cpus_per_task),
	TWIN("MEM_PER_TASK", mem_per_task),
	TWIN("MEM_PER_NODE", mem_per_node),
	TWIN("MEM_PER_CPU", mem_per_cpu),
	TWIN("GPUS", gpus),
	TWIN("GPUS_PER_NODE", gpus_per_node),
	TWIN("GPUS_PER_TASK", gpus_per_task),
	TWIN("GPUS_ON_NODE", gpus_on_node),
	TWIN("JOB_GPUS", job_gpus),
	TWIN("CLUSTER_NAME", cluster),
	TWIN("SUBMIT_DIR", submit_dir),
	TWIN("SUBMIT_HOST", submit_host),
	{ "AISCHEDD_NODENAME", "SLURMD_NODENAME", host },
	TWIN("TOPOLOGY_ADDR", host),
	TWIN("TOPOLOGY_ADDR_PATTERN", node_word),
	TWIN("NODEID", zero),
	TWIN("PROCID", rank),
	TWIN("LOCALID", rank),
	TWIN("GTIDS", ranks),
	{ TASK_PID_VAR, TASK_PID_TWIN, task_pid },
	TWIN("PRIO_PROCESS", zero),
	TWIN("ARRAY_JOB_ID", array_job),
	TWIN("ARRAY_TASK_ID", array_task),
	TWIN("ARRAY_TASK_COUNT", array_count),
	TWIN("ARRAY_TASK_MIN", array_min),
	TWIN("ARRAY_TASK_MAX", array_max),
	TWIN("ARRAY_TASK_STEP", array_step),
	TWIN("RESTART_COUNT", restarts),
	{ STEP_ID_VAR, "SLURM_STEP_ID", step_id },
	TWIN("STEPID", step_id),
	TWIN("STEP_NODELIST", step_nodes),
	TWIN("STEP_NUM_NODES", step_num_nodes),
	TWIN("STEP_NUM_TASKS", step_tasks),
	TWIN("STEP_TASKS_PER_NODE", step_tasks),
	TWIN("STEP_GPUS", step_gpus),
	TWIN("LAUNCH_NODE_IPADDR", step_address),
	TWIN("DISTRIBUTION", step_distribution),
	TWIN("UMASK", step_umask),
	{ "AISCHED_CRON_ID", NULL, cron_id },
	{ "AISCHED_CRON_TIME", NULL, cron_time },
	{ "AISCHED_CRON_LAST", NULL, cron_last },
	{ "AISCHED_CRON_MISSED", NULL, cron_missed },
	{ "AISCHED_NUMA_NODES", NULL, numa_nodes },
	{ "AISCHED_GPU_UUIDS", NULL, gpu_uuids },
	{ "CUDA_DEVICE_ORDER", NULL, cuda_order },
	{ "CUDA_VISIBLE_DEVICES", NULL, visible_cuda },
	{ "ROCR_VISIBLE_DEVICES", NULL, visible_gpus },
	{ "GPU_DEVICE_ORDINAL", NULL, visible_gpus },
	{ "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", NULL, mps_memory },
	{ "RANK", NULL, torch_rank },
	{ "LOCAL_RANK", NULL, torch_rank },
	{ "WORLD_SIZE", NULL, torch_world },
	{ "MASTER_ADDR", NULL, master_addr },
	{ "MASTER_PORT", NULL, master_port },
	{ "TMPDIR", NULL, tmpdir },
	{ "AISCHED_END_FILE", NULL, end_file },
};

const char *const *env_names(void)
{
	static const char *names[2 * ARRAY_SIZE(vars) + 1];
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(vars); i++) {
		names[n++] = vars[i].name;
		if (vars[i].twin)
			names[n++] = vars[i].twin;
	}
	names[n] = NULL;
	return names;
}

/* Returns the devices besides GPUs that this process may use. */
static uint64_t own_devs(const struct env_of *e)
{
	const struct run_job *job = &e->order->job;
	uint64_t devs = 0;

	if (is_one_task(e))
		return run_job_devs(job, e->slot);
	for (uint32_t i = 0; i < job->ntasks; i++)
		devs |= run_job_devs(job, i);
	return devs;
}

/* Write the name of the variable for a kind: AISCHED_DEVICE_IB_HCA for
 * "ib-hca". */
static void put_device_var(struct buf *out, const char *kind)
{
	buf_clear(out);
	buf_puts(out, DEVICE_VAR);
	for (; *kind; kind++)
		buf_addc(out, isalnum((unsigned char)*kind)
		                  ? (char)toupper((unsigned char)*kind)
		                  : '_');
}

/* Set a variable for each kind of devices of the node; that of a kind of which
 * the process has none is empty. Devices of a kind follow each other. */
static void each_device(const struct env_of *e, env_set_fn *fn, void *arg)
{
	const struct order_device *d = e->order->device;
	uint32_t n = e->order->ndevices;
	struct buf name = { 0 }, value = { 0 };
	uint64_t own = own_devs(e);

	for (uint32_t i = 0; i < n; i++) {
		if (own >> i & 1)
			buf_printf(&value, "%s%s", value.len ? "," : "",
			           d[i].name);
		if (i + 1 < n && !strcmp(d[i].kind, d[i + 1].kind))
			continue;
		put_device_var(&name, d[i].kind);
		buf_puts(&value, "");
		fn(arg, name.data, value.data);
		buf_clear(&value);
	}
	buf_free(&name);
	buf_free(&value);
}

void env_each(const struct env_of *e, env_set_fn *fn, void *arg)
{
	struct buf value = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(vars); i++) {
		buf_clear(&value);
		buf_puts(&value, "");
		if (!vars[i].value(e, &value))
			continue;
		fn(arg, vars[i].name, value.data);
		if (vars[i].twin)
			fn(arg, vars[i].twin, value.data);
	}
	buf_free(&value);
	each_device(e, fn, arg);
}
