/* order.c - the order: all that a shepherd needs to run one attempt */
#include "aischedd/run/shepherd/order.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define ORDER_VERSION 8

/* The head of an order, before its JSON. */
struct head {
	uint32_t version, reserved;
	uint64_t json_len, script_len, env_len;
};

bool order_is_allocation(const struct order *order)
{
	return order->job.spec->allocation != SPEC_UNSET;
}

uint32_t order_uses(const struct run_job *job)
{
	return job->task[job->ntasks].cpu_first - job->task[0].cpu_first;
}

const struct order_part *order_part(const struct order *order,
                                    const struct snap_task *task)
{
	const struct order_part *part;

	if (!task->units || !task->gpus)
		return NULL;
	part = &order->gpu_part[__builtin_ctzll(task->gpus)]
	                       [__builtin_ctz(task->units)];
	return part->uuid ? part : NULL;
}

static json_t *ways_to_json(const struct cgroup_ways *ways)
{
	json_t *base = json_array(), *v2 = json_array();

	for (enum cgroup_tree t = CG_V2; t < CG_NTREES; t++) {
		json_array_append_new(base, ways->base[t]
		                                ? json_string(ways->base[t])
		                                : json_null());
		json_array_append_new(v2, json_boolean(ways->v2[t]));
	}
	return json_pack("{s:o s:o}", "base", base, "v2", v2);
}

/* Returns the devices of a task by their names: the shepherd may know others of
 * the node than a daemon that was started later. */
static json_t *devices_of(const struct order *order, uint64_t devs)
{
	json_t *names = json_array();

	for (uint32_t i = 0; i < order->ndevices; i++)
		if (devs >> i & 1)
			json_array_append_new(
			    names, json_string(order->device[i].name));
	return names;
}

static json_t *tasks_to_json(const struct order *order)
{
	const struct run_job *job = &order->job;
	json_t *tasks = json_array();

	for (uint32_t i = 0; i < job->ntasks; i++) {
		const struct snap_task *t = &job->task[i];
		uint64_t devs = run_job_devs(job, i);
		json_t *task =
		    json_pack("[I i I]", (json_int_t)t->gpus, (int)t->gpu_milli,
		              (json_int_t)(t[1].cpu_first - t[0].cpu_first));

		/* Shepherds of older versions know no units and devices, and
		 * their tasks have none. */
		if (t->units || devs)
			json_array_append_new(task, json_integer(t->units));
		if (devs)
			json_array_append_new(task, devices_of(order, devs));
		json_array_append_new(tasks, task);
	}
	return tasks;
}

static json_t *uses_to_json(const struct order *order)
{
	const struct run_job *job = &order->job;
	uint32_t n = order_uses(job);
	json_t *uses = json_array();

	for (uint32_t i = 0; i < n; i++) {
		const struct snap_cpu_use *use =
		    &job->cpu_use[job->task[0].cpu_first + i];
		int numa = order->cpu_numa ? order->cpu_numa[i] : -1;

		json_array_append_new(uses, json_pack("[i i i]", (int)use->cpu,
		                                      (int)use->milli, numa));
	}
	return uses;
}

json_t *order_place_to_json(const struct order *order)
{
	return json_pack("{s:o s:o}", "tasks", tasks_to_json(order), "cpus",
	                 uses_to_json(order));
}

static json_t *job_to_json(const struct run_job *job)
{
	const struct request *req = job->req;

	return json_pack(
	    "{s:I s:I s:I s:I s:I s:I s:I s:I s:I s:I s:I"
	    " s:s s:s s:s s:I s:I s:b s:o s:[I I I I I I I I I I]}",
	    "job", (json_int_t)job->job, "attempt", (json_int_t)job->attempt,
	    "array_job", (json_int_t)job->array_job, "array_task",
	    (json_int_t)job->array_task, "array_count",
	    (json_int_t)job->array_count, "array_min",
	    (json_int_t)job->array_min, "array_max", (json_int_t)job->array_max,
	    "array_step", (json_int_t)job->array_step, "restarts",
	    (json_int_t)job->restarts, "uid", (json_int_t)job->uid, "gid",
	    (json_int_t)job->gid, "user", job->user, "queue", job->queue,
	    "cluster", job->cluster, "time_limit", (json_int_t)job->time_limit,
	    "grace", (json_int_t)job->grace, "append", job->append, "spec",
	    spec_to_json(job->spec), "request", (json_int_t)req->tasks,
	    (json_int_t)req->min_tasks, (json_int_t)req->nodes,
	    (json_int_t)req->tasks_per_node, (json_int_t)req->cpus_milli,
	    (json_int_t)req->mem_mib, (json_int_t)req->gpus_milli,
	    (json_int_t)job->whole.cpus_milli, (json_int_t)job->whole.mem_mib,
	    (json_int_t)req->tmp_mib);
}

/* Returns the partitions of a GPU as [[4, "MIG-…", 12, 13]]: first unit, UUID
 * and minor numbers of each. */
static json_t *parts_to_json(const struct order_part *part)
{
	json_t *parts = json_array();

	for (int i = 0; i < MIG_UNITS; i++)
		if (part[i].uuid)
			json_array_append_new(
			    parts, json_pack("[i s i i]", i, part[i].uuid,
			                     part[i].cap[0], part[i].cap[1]));
	return parts;
}

/* Returns the GPUs of the node as
 * [[0, 0, "GPU-…", 81559, []], [1, -1, null, 0, []]]: index, minor number,
 * UUID, MiB and partitions of each. */
static json_t *gpus_to_json(const struct order *order)
{
	json_t *gpus = json_array();

	for (uint32_t i = 0; i < order->node_gpus; i++)
		json_array_append_new(
		    gpus, json_pack("[i i s? I o]", order->gpu_index[i],
		                    order->gpu_minor[i], order->gpu_uuid[i],
		                    (json_int_t)order->gpu_mem_mib[i],
		                    parts_to_json(order->gpu_part[i])));
	return gpus;
}

/* Returns the devices of the node as [["rdma", "/dev/r0", [231, 192]]]: kind,
 * name, and major and minor number of each of its files. */
static json_t *devices_to_json(const struct order *order)
{
	json_t *devices = json_array();

	for (uint32_t i = 0; i < order->ndevices; i++) {
		const struct order_device *d = &order->device[i];
		json_t *files = json_array();

		for (uint32_t k = 0; k < d->nfiles; k++) {
			json_array_append_new(files,
			                      json_integer(d->file[k].major));
			json_array_append_new(files,
			                      json_integer(d->file[k].minor));
		}
		json_array_append_new(
		    devices, json_pack("[s s o]", d->kind, d->name, files));
	}
	return devices;
}

static json_t *order_to_json(const struct order *order)
{
	return json_pack(
	    "{s:o s:o s:s s:s s:I s:I s:I s:o s:i s:s? s:I s:b s:b s:o"
	    " s:o s:b}",
	    "job", job_to_json(&order->job), "place",
	    order_place_to_json(order), "host", order->host, "tmp_dir",
	    order->tmp_dir, "max_processes", (json_int_t)order->max_processes,
	    "rlimits", (json_int_t)order->rlimits, "node_cpus",
	    (json_int_t)order->node_cpus, "gpus", gpus_to_json(order),
	    "caps_major", (int)order->caps_major, "gpu_program",
	    order->gpu_program, "sample_s", (json_int_t)order->sample_s, "bind",
	    order->bind, "constrain_devices", order->constrain_devices,
	    "cgroups", ways_to_json(&order->ways), "devices",
	    devices_to_json(order), "constrain_others",
	    order->constrain_others);
}

static int write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0)
			return -1;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int order_write(const struct order *order, struct err *err)
{
	const struct run_job *job = &order->job;
	struct head head = { .version = ORDER_VERSION,
		             .script_len = job->script_len,
		             .env_len = job->env_len };
	int fd = memfd_create("aisched-order", MFD_CLOEXEC);
	json_t *obj = order_to_json(order);
	char *text = obj ? json_dumps(obj, JSON_COMPACT) : NULL;

	json_decref(obj);
	if (fd < 0) {
		free(text);
		return err_sys(err, "cannot make a memory file");
	}
	if (!text) {
		close(fd);
		return err_set(err, EINVAL, "a text of the job is not UTF-8");
	}
	head.json_len = strlen(text);
	if (write_all(fd, &head, sizeof(head)) < 0 ||
	    write_all(fd, text, head.json_len) < 0 ||
	    write_all(fd, job->script, job->script_len) < 0 ||
	    write_all(fd, job->env, job->env_len) < 0) {
		err_sys(err, "cannot write a memory file");
		close(fd);
		fd = -1;
	}
	free(text);
	return fd;
}

/* --- reading an order --- */

static int bad(struct err *err, const json_error_t *why)
{
	return err_set(err, EINVAL, "the daemon speaks another version: %s",
	               why->text);
}

static int read_ways(struct cgroup_ways *ret, json_t *obj, struct err *err)
{
	json_t *base, *v2;
	json_error_t why;

	if (json_unpack_ex(obj, &why, JSON_STRICT, "{s:o s:o}", "base", &base,
	                   "v2", &v2) < 0)
		return bad(err, &why);
	for (enum cgroup_tree t = CG_V2; t < CG_NTREES; t++) {
		ret->base[t] = json_string_value(json_array_get(base, t));
		ret->v2[t] = json_is_true(json_array_get(v2, t));
	}
	return 0;
}

static int read_uses(struct order *ret, json_t *uses, struct arena *arena,
                     struct err *err)
{
	size_t n = json_array_size(uses), i;
	struct snap_cpu_use *use = arena_array(arena, struct snap_cpu_use, n);
	uint8_t *numa = arena_array(arena, uint8_t, n);
	json_error_t why;
	bool known = true;
	json_t *entry;

	json_array_foreach(uses, i, entry) {
		int cpu, milli, node;

		if (json_unpack_ex(entry, &why, JSON_STRICT, "[i i i]", &cpu,
		                   &milli, &node) < 0)
			return bad(err, &why);
		use[i] =
		    (struct snap_cpu_use){ (uint16_t)cpu, (uint16_t)milli };
		numa[i] = (uint8_t)node;
		known = known && node >= 0;
	}
	ret->job.cpu_use = use;
	ret->cpu_numa = known ? numa : NULL;
	return 0;
}

static uint8_t units_of(const json_t *task)
{
	return (uint8_t)json_integer_value(json_array_get(task, 3));
}

static uint64_t devs_of(const struct order *order, const json_t *task)
{
	json_t *names = json_array_get(task, 4), *name;
	uint64_t devs = 0;
	size_t i;

	json_array_foreach(names, i, name) {
		const char *text = json_string_value(name);

		for (uint32_t k = 0; text && k < order->ndevices; k++)
			if (!strcmp(order->device[k].name, text))
				devs |= UINT64_C(1) << k;
	}
	return devs;
}

static int read_tasks(struct order *ret, json_t *tasks, struct arena *arena,
                      struct err *err)
{
	size_t n = json_array_size(tasks), i;
	struct snap_task *task = arena_array(arena, struct snap_task, n + 1);
	const char **node = arena_array(arena, const char *, n + 1);
	uint64_t *devs = arena_array(arena, uint64_t, n + 1);
	uint32_t at = 0;
	json_error_t why;
	json_t *entry;

	json_array_foreach(tasks, i, entry) {
		json_int_t gpus, uses;
		int milli;

		if (json_unpack_ex(entry, &why, 0, "[I i I]", &gpus, &milli,
		                   &uses) < 0)
			return bad(err, &why);
		task[i] = (struct snap_task){ .gpus = (uint64_t)gpus,
			                      .gpu_milli = (uint16_t)milli,
			                      .units = units_of(entry),
			                      .cpu_first = at };
		devs[i] = devs_of(ret, entry);
		node[i] = ret->host;
		at += (uint32_t)uses;
	}
	task[n].cpu_first = at;
	ret->job.ntasks = (uint32_t)n;
	ret->job.task = task;
	ret->job.devs = devs;
	ret->job.node_name = node;
	return 0;
}

int order_place_from_json(struct order *ret, json_t *obj, struct arena *arena,
                          struct err *err)
{
	json_t *tasks, *uses;
	json_error_t why;

	if (json_unpack_ex(obj, &why, JSON_STRICT, "{s:o s:o}", "tasks", &tasks,
	                   "cpus", &uses) < 0)
		return bad(err, &why);
	if (read_tasks(ret, tasks, arena, err) < 0)
		return -1;
	return read_uses(ret, uses, arena, err);
}

static int read_job(struct run_job *ret, json_t *obj, struct arena *arena,
                    struct err *err)
{
	struct request *req = arena_array(arena, struct request, 1);
	struct spec *spec = arena_array(arena, struct spec, 1);
	json_int_t n[13], r[10];
	json_error_t why;
	json_t *s;
	int append;

	if (json_unpack_ex(
		obj, &why, JSON_STRICT,
		"{s:I s:I s:I s:I s:I s:I s:I s:I s:I s:I s:I"
		" s:s s:s s:s s:I s:I s:b s:o s:[I I I I I I I I I I]}",
		"job", &n[0], "attempt", &n[1], "array_job", &n[2],
		"array_task", &n[3], "array_count", &n[4], "array_min", &n[5],
		"array_max", &n[6], "array_step", &n[7], "restarts", &n[8],
		"uid", &n[9], "gid", &n[10], "user", &ret->user, "queue",
		&ret->queue, "cluster", &ret->cluster, "time_limit", &n[11],
		"grace", &n[12], "append", &append, "spec", &s, "request",
		&r[0], &r[1], &r[2], &r[3], &r[4], &r[5], &r[6], &r[7], &r[8],
		&r[9]) < 0)
		return bad(err, &why);
	if (spec_from_json(spec, s, arena, err) < 0)
		return -1;
	*req = (struct request){ .tasks = (uint32_t)r[0],
		                 .min_tasks = (uint32_t)r[1],
		                 .nodes = (uint32_t)r[2],
		                 .tasks_per_node = (uint32_t)r[3],
		                 .cpus_milli = r[4],
		                 .mem_mib = r[5],
		                 .gpus_milli = r[6],
		                 .tmp_mib = r[9] };
	ret->job = (uint64_t)n[0];
	ret->attempt = (uint32_t)n[1];
	ret->array_job = (uint64_t)n[2];
	ret->array_task = (uint32_t)n[3];
	ret->array_count = (uint32_t)n[4];
	ret->array_min = (uint32_t)n[5];
	ret->array_max = (uint32_t)n[6];
	ret->array_step = (uint32_t)n[7];
	ret->restarts = (uint32_t)n[8];
	ret->uid = (uid_t)n[9];
	ret->gid = (gid_t)n[10];
	ret->time_limit = n[11];
	ret->grace = n[12];
	ret->whole = (struct request_sum){ r[7], r[8] };
	ret->append = append;
	ret->spec = spec;
	ret->req = req;
	return 0;
}

static int read_parts(struct order_part *ret, json_t *parts, struct err *err)
{
	json_error_t why;
	json_t *entry;
	size_t i;

	json_array_foreach(parts, i, entry) {
		struct order_part part;
		int unit;

		if (json_unpack_ex(entry, &why, JSON_STRICT, "[i s i i]", &unit,
		                   &part.uuid, &part.cap[0], &part.cap[1]) < 0)
			return bad(err, &why);
		if (unit < 0 || unit >= MIG_UNITS)
			return err_set(err, EINVAL,
			               "the order has a bad partition");
		ret[unit] = part;
	}
	return 0;
}

static int read_gpus(struct order *ret, json_t *gpus, struct err *err)
{
	size_t n = json_array_size(gpus), i;
	json_error_t why;
	json_t *gpu, *uuid, *parts;
	json_int_t mib;
	int index;

	if (!json_is_array(gpus) || n > LIMIT_GPUS)
		return err_set(err, EINVAL, "the order has bad GPUs");
	ret->node_gpus = (uint32_t)n;
	json_array_foreach(gpus, i, gpu) {
		if (json_unpack_ex(gpu, &why, JSON_STRICT, "[i i o I o]",
		                   &index, &ret->gpu_minor[i], &uuid, &mib,
		                   &parts) < 0)
			return bad(err, &why);
		if (read_parts(ret->gpu_part[i], parts, err) < 0)
			return -1;
		ret->gpu_index[i] = (uint8_t)index;
		ret->gpu_uuid[i] = json_string_value(uuid);
		ret->gpu_mem_mib[i] = mib;
	}
	return 0;
}

static int read_device(struct order_device *ret, json_t *entry, struct err *err)
{
	json_error_t why;
	json_t *files;

	if (json_unpack_ex(entry, &why, JSON_STRICT, "[s s o]", &ret->kind,
	                   &ret->name, &files) < 0)
		return bad(err, &why);
	ret->nfiles = (uint32_t)json_array_size(files) / 2;
	if (ret->nfiles > ORDER_FILES)
		return err_set(err, EINVAL, "the order has bad devices");
	for (uint32_t i = 0; i < ret->nfiles; i++) {
		const json_t *major = json_array_get(files, 2 * (size_t)i);
		const json_t *minor = json_array_get(files, 2 * (size_t)i + 1);

		ret->file[i].major = (uint32_t)json_integer_value(major);
		ret->file[i].minor = (uint32_t)json_integer_value(minor);
	}
	return 0;
}

static int read_devices(struct order *ret, json_t *devices, struct err *err)
{
	size_t n = json_array_size(devices), i;
	json_t *entry;

	if (!json_is_array(devices) || n > LIMIT_DEVICES)
		return err_set(err, EINVAL, "the order has bad devices");
	ret->ndevices = (uint32_t)n;
	json_array_foreach(devices, i, entry) {
		if (read_device(&ret->device[i], entry, err) < 0)
			return -1;
	}
	return 0;
}

static int order_from_json(struct order *ret, json_t *obj, struct arena *arena,
                           struct err *err)
{
	json_t *job, *place, *gpus, *ways, *program, *devices;
	json_int_t cpus, pids, rlimits, sample;
	json_error_t why;
	int bind, constrain, others, caps;

	if (json_unpack_ex(
		obj, &why, JSON_STRICT,
		"{s:o s:o s:s s:s s:I s:I s:I s:o s:i s:o s:I s:b "
		"s:b s:o s:o s:b}",
		"job", &job, "place", &place, "host", &ret->host, "tmp_dir",
		&ret->tmp_dir, "max_processes", &pids, "rlimits", &rlimits,
		"node_cpus", &cpus, "gpus", &gpus, "caps_major", &caps,
		"gpu_program", &program, "sample_s", &sample, "bind", &bind,
		"constrain_devices", &constrain, "cgroups", &ways, "devices",
		&devices, "constrain_others", &others) < 0)
		return bad(err, &why);
	ret->max_processes = pids;
	ret->rlimits = (uint32_t)rlimits;
	ret->caps_major = (uint32_t)caps;
	ret->node_cpus = (uint32_t)cpus;
	ret->gpu_program = json_string_value(program);
	ret->sample_s = sample;
	ret->bind = bind;
	ret->constrain_devices = constrain;
	ret->constrain_others = others;
	if (read_job(&ret->job, job, arena, err) < 0 ||
	    read_gpus(ret, gpus, err) < 0 ||
	    read_devices(ret, devices, err) < 0 ||
	    order_place_from_json(ret, place, arena, err) < 0)
		return -1;
	return read_ways(&ret->ways, ways, err);
}

int order_read(int fd, struct order *ret, struct arena *arena, struct err *err)
{
	const struct head *head;
	const char *data;
	struct stat st;
	json_error_t why;
	json_t *obj;

	if (fstat(fd, &st) < 0)
		return err_sys(err, "cannot read the order");
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return err_sys(err, "cannot map the order");
	head = (const void *)data;
	data += sizeof(*head);
	if ((size_t)st.st_size < sizeof(*head) ||
	    head->version != ORDER_VERSION ||
	    (size_t)st.st_size != sizeof(*head) + head->json_len +
	                              head->script_len + head->env_len)
		return err_set(err, EINVAL,
		               "the daemon speaks another version");
	*ret = (struct order){ 0 };
	obj = json_loadb(data, head->json_len, JSON_REJECT_DUPLICATES, &why);
	if (!obj)
		return bad(err, &why);
	ret->texts = obj;
	ret->job.script = data + head->json_len;
	ret->job.script_len = head->script_len;
	ret->job.env = data + head->json_len + head->script_len;
	ret->job.env_len = head->env_len;
	return order_from_json(ret, obj, arena, err);
}
