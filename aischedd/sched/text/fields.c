/* fields.c - the columns of a snapshot that have one value for each row */
#include "aischedd/sched/text/fields.h"

#include <string.h>

#define VALUE(k, t, c, d)                                                \
	{                                                                \
		.key = k, .kind = t, .column = offsetof(struct snap, c), \
		.def = d                                                 \
	}
#define DEVS(k, c, d)                                         \
	{                                                     \
		.key = k, .kind = FIELD_DEVS,                 \
		.column = offsetof(struct snap, c), .def = d, \
		.space = SPACE_DEV                            \
	}
#define REF(k, c, d, s)                                                  \
	{                                                                \
		.key = k, .kind = FIELD_REF,                             \
		.column = offsetof(struct snap, c), .def = d, .space = s \
	}
#define NAME(k, c, d, n)                                                 \
	{                                                                \
		.key = k, .kind = FIELD_NAME,                            \
		.column = offsetof(struct snap, c), .def = d, .names = n \
	}

#define LEVEL(k, c, d)                                        \
	{                                                     \
		.key = k, .kind = FIELD_LEVEL,                \
		.column = offsetof(struct snap, c), .def = d, \
		.space = SPACE_LEVEL                          \
	}

#define SPREAD(k, c)                                                   \
	{                                                              \
		.key = k, .kind = FIELD_SPREAD,                        \
		.column = offsetof(struct snap, c), .def = LEVEL_NONE, \
		.space = SPACE_LEVEL                                   \
	}

#define X(sym, name) name,
static const char *const order_names[] = { NODE_ORDERS(X) NULL };
static const char *const job_order_names[] = { JOB_ORDERS(X) NULL };
#undef X
static const char *const no_yes[] = { "no", "yes", NULL };
static const char *const numa_names[] = { "any", "prefer", "strict", "tight",
	                                  NULL };
static const char *const links_names[] = { "prefer", "any", "strict", NULL };
static const char *const judged_names[] = { "no",       "waits", "blocked",
	                                    "promised", "open",  NULL };
static const char *const state_names[] = { "up", "drain", "down", NULL };
static const char *const coming_names[] = { "here", "off", "asked", NULL };

static const struct snap_field policy_fields[] = {
	NAME("order", policy.order, BY_POINTS, job_order_names),
	NAME("backfill", policy.backfill, 1, no_yes),
	VALUE("depth", FIELD_U32, policy.backfill_depth, 100),
	NAME("consolidate", policy.consolidate, 1, no_yes),
	VALUE("age", FIELD_I64, policy.age_weight, 1),
	VALUE("size", FIELD_I64, policy.size_weight, 0),
	VALUE("fairshare", FIELD_I64, policy.fairshare_weight, 10),
	VALUE("hold_after", FIELD_I64, policy.hold_after, CONF_NONE),
	VALUE("budget", FIELD_I64, policy.budget, CONF_NONE),
};

static const struct snap_field pool_fields[] = {
	NAME("order", pool.order, 0, order_names),
	NAME("ready", pool.ready, 1, no_yes),
	VALUE("weight", FIELD_I64, pool.weight, 1),
};

static const struct snap_field domain_fields[] = {
	REF("parent", domain.parent, SNAP_NONE, SPACE_DOMAIN),
	LEVEL("level", domain.level, 0),
};

static const struct snap_field node_fields[] = {
	REF("pool", node.pool, 0, SPACE_POOL),
	NAME("state", node.state, 0, state_names),
	VALUE("cpus", FIELD_MILLI, node.cpu_total, FIELD_MUST),
	VALUE("mem", FIELD_MIB, node.mem_total, 0),
	VALUE("cpus_free", FIELD_MILLI, node.cpu_free, FIELD_DERIVED),
	VALUE("mem_free", FIELD_MIB, node.mem_free, FIELD_DERIVED),
	VALUE("tmp", FIELD_MIB, node.tmp_total, 0),
	VALUE("tmp_free", FIELD_MIB, node.tmp_free, FIELD_DERIVED),
	VALUE("slots", FIELD_I64, node.slot_total, SLOTS_ANY),
	VALUE("slots_free", FIELD_I64, node.slot_free, FIELD_DERIVED),
	DEVS("devices", node.dev_total, 0),
	DEVS("devices_free", node.dev_free, FIELD_DERIVED),
	REF("domain", node.domain, SNAP_NONE, SPACE_DOMAIN),
	NAME("mig", node.mig, MIG_NONE, mig_model_name),
	VALUE("gpu_mem", FIELD_MIB, node.gpu_mem, 0),
	VALUE("chooses", FIELD_FLAG, node.chooses, 0),
	VALUE("retry_at", FIELD_I64, node.retry_at, 0),
	NAME("coming", node.coming, NODE_HERE, coming_names),
	VALUE("weight", FIELD_I64, node.weight, 1),
};

static const struct snap_field queue_fields[] = {
	REF("parent", queue.parent, SNAP_NONE, SPACE_QUEUE),
	VALUE("quota", FIELD_AMOUNT, queue.quota, CONF_NONE),
	VALUE("limit", FIELD_AMOUNT, queue.limit, CONF_NONE),
	VALUE("weight", FIELD_I64, queue.weight, 1),
	VALUE("priority", FIELD_I64, queue.priority, 0),
	VALUE("max_jobs", FIELD_I64, queue.max_jobs, CONF_NONE),
	VALUE("max_jobs_user", FIELD_I64, queue.max_jobs_user, CONF_NONE),
	VALUE("max_gpus_user", FIELD_MILLI, queue.max_gpus_user, CONF_NONE),
	VALUE("assumed_time", FIELD_I64, queue.assumed_time, CONF_NONE),
	VALUE("max_wait", FIELD_I64, queue.max_wait, CONF_NONE),
};

static const struct snap_field license_fields[] = {
	VALUE("total", FIELD_I64, license.total, FIELD_MUST),
	VALUE("free", FIELD_I64, license.free, FIELD_DERIVED),
};

static const struct snap_field array_fields[] = {
	VALUE("limit", FIELD_U32, array.limit, FIELD_MUST),
};

static const struct snap_field resv_fields[] = {
	VALUE("start", FIELD_I64, resv.start, FIELD_MUST),
	VALUE("end", FIELD_I64, resv.end, FIELD_MUST),
};

static const struct snap_field req_fields[] = {
	VALUE("tasks", FIELD_U32, req.tasks, 1),
	VALUE("min_tasks", FIELD_U32, req.min_tasks, FIELD_DERIVED),
	VALUE("nodes", FIELD_U32, req.nodes, 0),
	VALUE("tasks_per_node", FIELD_U32, req.tasks_per_node, 0),
	VALUE("cpus", FIELD_MILLI, req.cpus, 1000),
	VALUE("mem", FIELD_MIB, req.mem, 0),
	VALUE("tmp", FIELD_MIB, req.tmp, 0),
	VALUE("gpus", FIELD_MILLI, req.gpus, 0),
	DEVS("devices", req.devs, 0),
	REF("gpu_type", req.gpu_type, SNAP_NONE, SPACE_WORD),
	NAME("profile", req.profile, 0, mig_profile_name),
	VALUE("gpu_mem", FIELD_MIB, req.gpu_mem, 0),
	VALUE("pools", FIELD_POOLS, req.pools, FIELD_DERIVED),
	VALUE("exclusive", FIELD_FLAG, req.exclusive, 0),
	VALUE("one_process", FIELD_FLAG, req.one_process, 0),
	VALUE("time", FIELD_I64, req.time_limit, SNAP_NEVER),
	LEVEL("need", req.need, LEVEL_NONE),
	LEVEL("like", req.like, LEVEL_NONE),
	VALUE("segment", FIELD_U32, req.segment, 0),
	SPREAD("spread", req.spread),
	SPREAD("spread_like", req.spread_like),
	NAME("numa", req.numa, NUMA_ANY, numa_names),
	NAME("links", req.links, LINKS_PREFER, links_names),
	REF("reservation", req.reservation, SNAP_NONE, SPACE_RESV),
	VALUE("refused", FIELD_I64, req.refused, 0),
	VALUE("pcie", FIELD_KINDS, req.pcie, 0),
	VALUE("near", FIELD_KINDS, req.near, 0),
};

static const struct snap_field run_fields[] = {
	REF("queue", run.queue, 0, SPACE_QUEUE),
	REF("user", run.user, FIELD_MUST, SPACE_USER),
	REF("array", run.array, SNAP_NONE, SPACE_ARRAY),
	VALUE("priority", FIELD_I64, run.priority, 0),
	VALUE("start", FIELD_I64, run.start, 0),
	VALUE("end", FIELD_I64, run.end, SNAP_NEVER),
	VALUE("suspended", FIELD_FLAG, run.suspended, 0),
	VALUE("preemptible", FIELD_FLAG, run.preemptible, 0),
	VALUE("ending", FIELD_FLAG, run.ending, 0),
	VALUE("freezable", FIELD_FLAG, run.freezable, 0),
	VALUE("safe", FIELD_I64, run.safe_until, 0),
	VALUE("waited", FIELD_I64, run.waited, 0),
	VALUE("served", FIELD_I64, run.served, 0),
	VALUE("ran", FIELD_I64, run.ran, 0),
};

static const struct snap_field pend_fields[] = {
	REF("queue", pend.queue, 0, SPACE_QUEUE),
	REF("user", pend.user, FIELD_MUST, SPACE_USER),
	REF("array", pend.array, SNAP_NONE, SPACE_ARRAY),
	VALUE("priority", FIELD_I64, pend.priority, 0),
	VALUE("nonpreemptible", FIELD_NOT, pend.preemptible, 1),
	VALUE("barred", FIELD_FLAG, pend.barred, 0),
	VALUE("light", FIELD_U16, pend.light, 1000),
	NAME("judged", pend.judged, JUDGED_NO, judged_names),
	VALUE("served", FIELD_I64, pend.served, 0),
};

/* Let compilation fail if a section has more fields than a reader can hold. */
#define COUNT(fields)         \
	(ARRAY_SIZE(fields) + \
	 0 * sizeof(char[ARRAY_SIZE(fields) <= MAX_FIELDS ? 1 : -1]))

#define SECTION(word, name, count)                         \
	{                                                  \
		word, name##_fields, COUNT(name##_fields), \
		    offsetof(struct snap, count)           \
	}

/* clang-format off */
const struct section snap_section[NSECTIONS] = {
	[SECTION_POLICY] = SECTION("policy", policy, policy),
	[SECTION_POOL] = SECTION("pool", pool, pool.n),
	[SECTION_DEV] = { "device", NULL, 0, offsetof(struct snap, dev.n) },
	[SECTION_DOMAIN] = SECTION("domain", domain, domain.n),
	[SECTION_NODE] = SECTION("node", node, node.n),
	[SECTION_QUEUE] = SECTION("queue", queue, queue.n),
	[SECTION_LICENSE] = SECTION("license", license, license.n),
	[SECTION_ARRAY] = SECTION("array", array, array.n),
	[SECTION_RESV] = SECTION("reservation", resv, resv.n),
	[SECTION_REQ] = SECTION(NULL, req, req.n),
	[SECTION_RUN] = SECTION("run", run, run.n),
	[SECTION_PEND] = SECTION("pend", pend, pend.n),
};
/* clang-format on */

bool field_is_derived(const struct device_counts *counts)
{
	const int64_t derived = FIELD_DERIVED;

	return !memcmp(counts, &derived, sizeof(derived));
}

size_t field_size(enum field_kind kind)
{
	switch (kind) {
	case FIELD_AMOUNT:
		return RES_N * sizeof(int64_t);
	case FIELD_DEVS:
		return sizeof(struct device_counts);
	case FIELD_U32:
	case FIELD_REF:
		return sizeof(uint32_t);
	case FIELD_U16:
		return sizeof(uint16_t);
	case FIELD_U8:
	case FIELD_FLAG:
	case FIELD_NOT:
	case FIELD_NAME:
	case FIELD_LEVEL:
	case FIELD_SPREAD:
	case FIELD_KINDS:
		return sizeof(uint8_t);
	default:
		return sizeof(int64_t);
	}
}

void *field_column(const struct snap *snap, const struct snap_field *field)
{
	void *column = (char *)(uintptr_t)snap + field->column;

	if (field >= policy_fields &&
	    field < policy_fields + ARRAY_SIZE(policy_fields))
		return column;
	/* Columns have many types, but all pointers to them have the same
	 * representation. */
	memcpy(&column, (const char *)snap + field->column, sizeof(column));
	return column;
}

static void take(uint16_t *nfree, uint16_t milli)
{
	*nfree = *nfree > milli ? *nfree - milli : 0;
}

static void take_run(const struct snap *s, uint32_t run, struct snap_free *f)
{
	uint32_t req = s->run.req[run];

	for (uint32_t i = s->run.task_first[run];
	     i < s->run.task_first[run + 1]; i++) {
		const struct snap_task *t = &s->task[i];
		uint16_t *gpu = f->gpu + s->node.gpu_first[t->node];
		uint16_t *thread = f->thread + s->node.cpu_first[t->node];

		f->mem[t->node] -= s->req.mem[req];
		f->tmp[t->node] -= s->req.tmp[req];
		f->slot[t->node]--;
		for (uint32_t k = 0; k < s->dev.n; k++)
			f->dev[t->node].n[k] -= s->req.devs[req].n[k];
		for (uint64_t left = t->gpus; left; left &= left - 1)
			take(&gpu[__builtin_ctzll(left)], t->gpu_milli);
		if (s->run.suspended[run])
			continue;
		f->cpu[t->node] -= s->req.cpus[req];
		for (uint32_t k = t->cpu_first; k < t[1].cpu_first; k++)
			take(&thread[s->cpu_use[k].cpu], s->cpu_use[k].milli);
	}
	/* The ending tasks of an elastic job hold no licences: its other tasks
	 * keep them. */
	for (uint32_t i = s->req.license_first[req];
	     i < s->req.license_first[req + 1] && !snap_is_part(s, run); i++)
		f->license[s->license_use[i].license] -=
		    s->license_use[i].count;
}

/* Set what is free of the GPUs of a node while no job runs there. */
static void derive_gpus(const struct snap *s, uint32_t node, uint16_t *gpu)
{
	for (uint32_t i = s->node.gpu_first[node];
	     i < s->node.gpu_first[node + 1]; i++)
		gpu[i] = s->gpu.parts ? (uint16_t)mig_parts_free(
					    s->gpu.parts[i], s->node.mig[node])
		                      : 1000;
}

struct snap_free snap_free_derive(const struct snap *s, struct arena *arena)
{
	struct snap_free f = {
		.cpu = arena_array(arena, int64_t, s->node.n),
		.mem = arena_array(arena, int64_t, s->node.n),
		.tmp = arena_array(arena, int64_t, s->node.n),
		.slot = arena_array(arena, int64_t, s->node.n),
		.dev = arena_array(arena, struct device_counts, s->node.n),
		.gpu = arena_array(arena, uint16_t, s->gpu.n),
		.thread = arena_array(arena, uint16_t, s->cpu.n),
		.license = arena_array(arena, int64_t, s->license.n),
	};

	for (uint32_t i = 0; i < s->node.n; i++) {
		f.cpu[i] = s->node.cpu_total[i];
		f.mem[i] = s->node.mem_total[i];
		f.tmp[i] = s->node.tmp_total[i];
		f.slot[i] = s->node.slot_total[i];
		f.dev[i] = s->node.dev_total[i];
	}
	for (uint32_t i = 0; i < s->node.n; i++)
		derive_gpus(s, i, f.gpu);
	for (uint32_t i = 0; i < s->cpu.n; i++)
		f.thread[i] = 1000;
	for (uint32_t i = 0; i < s->license.n; i++)
		f.license[i] = s->license.total[i];
	for (uint32_t i = 0; i < s->run.n; i++)
		take_run(s, i, &f);
	return f;
}
