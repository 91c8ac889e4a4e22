/* verdict.c - why a job waits, as a sentence with its numbers */
#include "aischedd/sched/verdict.h"

#include "libcommon/parse.h"

/* Append a time span in its two largest units: "2h 10m". Less than
 * nothing is "0s". */
static void put_span(struct buf *out, int64_t seconds)
{
	static const struct {
		int64_t size;
		char letter;
	} unit[] = { { 86400, 'd' }, { 3600, 'h' }, { 60, 'm' }, { 1, 's' } };
	size_t i = 0;

	if (seconds < 0)
		seconds = 0;
	while (i + 1 < ARRAY_SIZE(unit) && seconds < unit[i].size)
		i++;
	buf_printf(out, "%lld%c", (long long)(seconds / unit[i].size),
	           unit[i].letter);
	seconds %= unit[i].size;
	if (i + 1 < ARRAY_SIZE(unit) && seconds >= unit[i + 1].size)
		buf_printf(out, " %lld%c",
		           (long long)(seconds / unit[i + 1].size),
		           unit[i + 1].letter);
}

static void put_number(struct buf *out, int64_t what, int64_t n)
{
	if (what == RES_MEM || what == WHAT_TMP)
		format_mib(out, n);
	else if (what < RES_N)
		format_milli(out, n);
	else
		buf_i64(out, n);
}

/* Append the number of devices of one kind that each task needs: "2 rdma". */
static void put_devs(const struct snap *s, uint32_t req, uint32_t kind,
                     struct buf *out)
{
	buf_printf(out, "%d %s", s->req.devs[req].n[kind], s->dev.name[kind]);
}

/* Append where devices must be: "2 rdma, each beside a GPU of the task". */
static void put_near(const struct snap *s, uint32_t req, uint32_t kind,
                     struct buf *out)
{
	put_devs(s, req, kind, out);
	if (s->req.near[req] >> kind & 1)
		buf_puts(out, " in the NUMA nodes of the task");
	else if (s->req.devs[req].n[kind] == 1)
		buf_puts(out, " beside a GPU of the task");
	else
		buf_puts(out, ", each beside a GPU of the task");
}

/* Append an amount with its unit: "4 GPUs", "0.5 CPUs", "1 GPU", "64G
 * of memory", "1T of disk". */
static void put_amount(struct buf *out, int64_t what, int64_t n)
{
	static const char *const unit[RES_N] = {
		[RES_CPU] = " CPU", [RES_MEM] = " of memory", [RES_GPU] = " GPU"
	};

	put_number(out, what, n);
	if (what == WHAT_TMP) {
		buf_puts(out, " of disk");
		return;
	}
	buf_puts(out, unit[what]);
	if (what != RES_MEM && n != 1000)
		buf_addc(out, 's');
}

/* Append the GPUs that each task of a request needs on a node (SNAP_NONE: none
 * is meant): "2 GPUs", or "20G of one GPU, 0.25 of it on n3". */
static void put_gpus(const struct snap *s, uint32_t req, uint32_t node,
                     struct buf *out)
{
	if (s->req.profile[req]) {
		buf_printf(out, "a %s", mig_profile_name[s->req.profile[req]]);
		return;
	}
	if (!snap_is_by_mem(s, req)) {
		put_amount(out, RES_GPU, s->req.gpus[req]);
		return;
	}
	put_number(out, RES_MEM, s->req.gpu_mem[req]);
	buf_puts(out, " of one GPU");
	if (node == SNAP_NONE)
		return;
	buf_puts(out, ", ");
	put_number(out, RES_GPU, snap_gpus_on(s, req, node));
	buf_printf(out, " of it on %s", s->node.name[node]);
}

/* Append "n7 has the most free, 2 of 8". */
static void put_best_node(const struct snap *s, const struct verdict *v,
                          struct buf *out)
{
	buf_printf(out, "%s has the most free, ", s->node.name[v->name]);
	put_number(out, v->what, v->lack.have);
	buf_puts(out, " of ");
	put_number(out, v->what, v->lack.total);
}

/* Append how many nodes the job needs: "2 nodes". */
static void put_nodes(const struct verdict *v, struct buf *out)
{
	buf_printf(out, "%lld node%s", (long long)v->lack.need,
	           v->lack.need == 1 ? "" : "s");
}

/* Append "2 nodes, and fits on 1", with `kind` after "nodes". */
static void put_fewer_nodes(const struct verdict *v, const char *kind,
                            struct buf *out)
{
	put_nodes(v, out);
	buf_printf(out, "%s, and fits on %lld", kind, (long long)v->lack.have);
}

/* Whether the job as a whole needs what is short, not each of its tasks. */
static bool is_of_job(const struct snap *s, uint32_t req,
                      const struct verdict *v)
{
	return v->what == WHAT_COUNTS ||
	       (v->what == WHAT_NODE && !s->req.exclusive[req] &&
	        s->req.nodes[req]);
}

/* Say which resource is short, and on which node. */
static void put_lack(const struct snap *s, uint32_t req,
                     const struct verdict *v, struct buf *out)
{
	switch (v->what) {
	case WHAT_NODE:
		if (s->req.exclusive[req])
			buf_puts(out, "a node without other jobs, and none "
			              "is left");
		else if (s->req.nodes[req])
			put_fewer_nodes(v, "", out);
		else if (s->req.tasks_per_node[req])
			buf_puts(out, "another node, and fits on no other");
		else
			buf_puts(out,
			         "a node, and exclusive jobs hold all of them");
		break;
	case WHAT_COUNTS:
		put_fewer_nodes(v, " of one part of its constraint", out);
		break;
	case WHAT_SLOT:
		buf_printf(out,
		           "a node that takes another task; %s, with the most "
		           "free, runs as many as it may: %lld",
		           s->node.name[v->name], (long long)v->lack.total);
		break;
	case WHAT_DEVICES:
		put_amount(out, RES_CPU, v->lack.need);
		buf_printf(out, " on one node, and %s has as much free, but ",
		           s->node.name[v->name]);
		if (v->lack.need < 1000) {
			buf_puts(out, "not on one CPU");
			break;
		}
		buf_puts(out, "in parts, with ");
		put_amount(out, RES_CPU, v->lack.have);
		buf_puts(out, " whole");
		break;
	case WHAT_KEPT:
		if (s->req.gpus[req])
			put_gpus(s, req, SNAP_NONE, out);
		else
			put_amount(out, RES_CPU, v->lack.need);
		buf_printf(out,
		           " on one node, and %s has as much free, but keeps "
		           "it for other jobs",
		           s->node.name[v->name]);
		break;
	default:
		if (v->what == RES_GPU)
			put_gpus(s, req, v->name, out);
		else if (v->what >= WHAT_NEAR) {
			put_near(s, req, (uint32_t)(v->what - WHAT_NEAR), out);
			buf_printf(out, "; %s has %lld", s->node.name[v->name],
			           (long long)v->lack.have);
			break;
		} else if (v->what >= WHAT_DEV)
			put_devs(s, req, (uint32_t)(v->what - WHAT_DEV), out);
		else
			put_amount(out, v->what, v->lack.need);
		buf_puts(out, v->what == RES_GPU && snap_is_by_mem(s, req)
		                  ? "; "
		                  : " on one node; ");
		put_best_node(s, v, out);
	}
}

/* If a reservation ends at this time, say that the job waits for that. */
static void put_reservation_until(const struct snap *s, int64_t end,
                                  struct buf *out)
{
	for (uint32_t i = 0; i < s->resv.n; i++) {
		if (s->resv.end[i] != end)
			continue;
		buf_printf(out, ", when reservation '%s' is over",
		           s->resv.name[i]);
		return;
	}
}

static void put_job(const struct verdict *v, struct buf *out)
{
	if (v->job_name)
		buf_printf(out, "job %s", v->job_name);
	else
		buf_printf(out, "job %llu", (unsigned long long)v->job);
}

static void put_blocker(const struct snap *s, const struct verdict *v,
                        struct buf *out)
{
	if (!v->job && v->expected > s->now) {
		buf_puts(out, "; starts in ");
		put_span(out, v->expected - s->now);
		buf_puts(out, " at the latest");
		put_reservation_until(s, v->expected, out);
	}
	if (!v->job)
		return;
	buf_puts(out, "; waits for ");
	put_job(v, out);
	buf_puts(out, " to end");
	if (v->expected == SNAP_NEVER)
		return;
	if (v->expected <= s->now) {
		buf_puts(out, " (its time is up)");
		return;
	}
	buf_puts(out, " (in ");
	put_span(out, v->expected - s->now);
	buf_puts(out, " at the latest)");
}

static void put_resources(const struct snap *s, uint32_t row,
                          const struct verdict *v, struct buf *out)
{
	uint32_t req = s->pend.req[row], tasks = s->req.tasks[req];

	if (s->pend.resumes[row] != SNAP_NONE) {
		buf_puts(out, "needs its ");
		put_amount(out, RES_CPU, v->lack.need);
		buf_printf(out, " on %s again; ", s->node.name[v->name]);
		put_number(out, RES_CPU, v->lack.have);
		buf_puts(out, " of ");
		put_number(out, RES_CPU, v->lack.total);
		buf_puts(out, " free there");
		put_blocker(s, v, out);
		return;
	}
	if (v->lack.got)
		buf_printf(out, "%lld of its %u tasks would fit; %s ",
		           (long long)v->lack.got, (unsigned)tasks,
		           is_of_job(s, req, v) ? "it" : "the next");
	else if (tasks > 1 && !is_of_job(s, req, v))
		buf_printf(out, "each of its %u tasks ", (unsigned)tasks);
	buf_puts(out, "needs ");
	put_lack(s, req, v, out);
	if (v->why == WHY_Fragmentation && v->what < RES_N) {
		buf_puts(out, "; ");
		put_amount(out, v->what, v->lack.sum);
		buf_puts(out, " free in all");
	}
	put_blocker(s, v, out);
}

static void put_parts(const struct snap *s, uint32_t req, int64_t tasks,
                      struct buf *out)
{
	int64_t n = tasks / snap_segment_part(s, req);

	buf_printf(out, "%lld %s%s", (long long)n,
	           s->req.nodes[req] ? "node" : "task", n == 1 ? "" : "s");
}

/* Append "its 2 segments of 4 tasks need one rack each; 1 would fit, and r3 has
 * room for 2 tasks of another". */
static void put_segments(const struct snap *s, uint32_t req,
                         const struct verdict *v, struct buf *out)
{
	uint32_t segment = s->req.segment[req];

	buf_printf(out, "its %u segments of ",
	           (unsigned)(s->req.tasks[req] / segment));
	put_parts(s, req, segment, out);
	buf_printf(out, " need one %s each; %u would fit",
	           s->level[s->req.need[req]],
	           (unsigned)(v->lack.got / segment));
	if (!v->lack.have)
		return;
	buf_printf(out, ", and %s has room for ",
	           s->domain.name[v->lack.domain]);
	put_parts(s, req, v->lack.have, out);
	buf_puts(out, " of another");
}

static const char *level_name(const struct snap *s, uint8_t level)
{
	return level == LEVEL_NODE ? "node" : s->level[level];
}

/* Append "its 9 tasks, spread evenly over 4 racks, need room for 2 tasks in
 * each; z1/r3 has room for 1 task". */
static void put_spread(const struct snap *s, uint32_t req,
                       const struct verdict *v, struct buf *out)
{
	uint8_t level = s->req.spread[req];
	int64_t part = snap_segment_part(s, req);

	buf_puts(out, "its ");
	put_parts(s, req, s->req.tasks[req], out);
	if (!v->lack.sum) {
		buf_printf(out,
		           " are to be spread over %ss, but no %s could "
		           "hold one",
		           level_name(s, level), level_name(s, level));
		return;
	}
	buf_printf(out, ", spread evenly over %lld %s%s, need room for ",
	           (long long)v->lack.sum, level_name(s, level),
	           v->lack.sum == 1 ? "" : "s");
	put_parts(s, req, v->lack.need * part, out);
	if (v->lack.total) {
		buf_printf(out, " in %lld of them; %lld %s that",
		           (long long)v->lack.total, (long long)v->lack.have,
		           v->lack.have == 1 ? "has" : "have");
		return;
	}
	buf_printf(out, " in each; %s has ",
	           level == LEVEL_NODE ? s->node.name[v->name]
	                               : s->domain.name[v->lack.domain]);
	if (!v->lack.have) {
		buf_puts(out, "none");
		return;
	}
	buf_puts(out, "room for ");
	put_parts(s, req, v->lack.have * part, out);
}

/* Append "its 4 tasks fit in no rack; z1/b1/r3 would hold 2". */
static void put_topology(const struct snap *s, uint32_t row,
                         const struct verdict *v, struct buf *out)
{
	uint32_t req = s->pend.req[row], tasks = s->req.min_tasks[req];
	uint32_t domain = v->lack.domain;
	const char *level;

	if (s->req.spread[req] != LEVEL_NONE) {
		put_spread(s, req, v, out);
		put_blocker(s, v, out);
		return;
	}
	level = s->level[s->req.need[req]];
	if (s->req.segment[req]) {
		put_segments(s, req, v, out);
		put_blocker(s, v, out);
		return;
	}
	if (tasks == 1)
		buf_printf(out, "fits in no %s, only on other nodes", level);
	else if (!v->lack.got)
		buf_printf(out, "none of its %u tasks fits in a %s",
		           (unsigned)tasks, level);
	else
		buf_printf(out, "its %u tasks fit in no %s", (unsigned)tasks,
		           level);
	if (v->lack.got && v->lack.got < tasks)
		buf_printf(out, "; %s would hold %lld", s->domain.name[domain],
		           (long long)v->lack.got);
	else if (v->lack.got)
		buf_puts(out, " when spread over nodes as the job asks");
	put_blocker(s, v, out);
}

/* Append "4 GPUs, 16 CPUs and 200G"; leave out amounts below 0. */
static void put_devices(struct buf *out, const int64_t amount[RES_N])
{
	static const enum resource order[] = { RES_GPU, RES_CPU, RES_MEM };
	size_t said = 0, n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		n += amount[order[i]] >= 0;
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		int64_t have = amount[order[i]];

		if (have < 0)
			continue;
		if (said)
			buf_puts(out, said + 1 < n ? ", " : " and ");
		said++;
		if (order[i] == RES_MEM)
			put_number(out, RES_MEM, have);
		else
			put_amount(out, order[i], have);
	}
}

static int64_t unless_none(int64_t amount)
{
	return amount ? amount : -1;
}

/* Append "needs 4 GPUs, 16 CPUs and 200G of one NUMA node; the best is on n3,
 * with" and the best amounts. */
/* Append the devices other than GPUs that must be in the NUMA nodes of a task
 * that is bound to them: ", with 2 rdma". */
static void put_bound_devs(const struct snap *s, uint32_t req, struct buf *out)
{
	bool any = false;

	for (uint32_t k = 0; k < s->dev.n && s->piece.n; k++) {
		if (!s->req.devs[req].n[k])
			continue;
		buf_puts(out, any ? ", " : ", with ");
		put_devs(s, req, k, out);
		any = true;
	}
	buf_puts(out, any ? "," : "");
}

static void put_numas(const struct snap *s, uint32_t req,
                      const struct verdict *v, struct buf *out)
{
	const struct verdict_lack *l = &v->lack;
	bool mem = l->numa_mem >= 0;
	const int64_t need[RES_N] = {
		[RES_GPU] = unless_none(snap_gpus_on(s, req, v->name)),
		[RES_CPU] = unless_none(s->req.cpus[req]),
		[RES_MEM] = mem ? unless_none(s->req.mem[req]) : -1
	};
	const int64_t have[RES_N] = {
		[RES_GPU] = need[RES_GPU] < 0 ? -1 : 1000 * l->numa_gpus,
		[RES_CPU] = need[RES_CPU] < 0 ? -1 : 1000 * l->numa_cpus,
		[RES_MEM] = need[RES_MEM] < 0 ? -1 : l->numa_mem
	};

	buf_puts(out, "needs ");
	put_devices(out, need);
	put_bound_devs(s, req, out);
	if (l->need > 1) {
		buf_printf(out, " of %lld NUMA nodes; on %s no ",
		           (long long)l->need, s->node.name[v->name]);
		buf_printf(out, "%lld have them", (long long)l->need);
		return;
	}
	buf_printf(out, " of one NUMA node; the best is on %s, with ",
	           s->node.name[v->name]);
	put_devices(out, have);
}

static void put_tasks(const struct snap *s, uint32_t req, struct buf *out)
{
	if (s->req.min_tasks[req] > 1)
		buf_printf(out, "each of its %u tasks ",
		           (unsigned)s->req.min_tasks[req]);
}

static void put_numa(const struct snap *s, uint32_t row,
                     const struct verdict *v, struct buf *out)
{
	put_tasks(s, s->pend.req[row], out);
	put_numas(s, s->pend.req[row], v, out);
	put_blocker(s, v, out);
}

/* Append "needs 4 GPUs in one link group; n3 has 3 in one, and 6 free in all".
 */
static void put_links(const struct snap *s, uint32_t row,
                      const struct verdict *v, struct buf *out)
{
	uint32_t req = s->pend.req[row];

	if (s->req.min_tasks[req] > 1) {
		buf_printf(out, "each of its %u tasks needs ",
		           (unsigned)s->req.min_tasks[req]);
		put_amount(out, RES_GPU, s->req.gpus[req]);
		buf_puts(out, ", all on a node in the fewest link groups");
	} else {
		buf_puts(out, "needs ");
		put_amount(out, RES_GPU, s->req.gpus[req]);
		if (v->lack.need > 1)
			buf_printf(out, " in %lld link groups",
			           (long long)v->lack.need);
		else
			buf_puts(out, " in one link group");
	}
	buf_printf(out, "; %s has %lld in one, and %lld free in all",
	           s->node.name[v->name], (long long)v->lack.link_gpus,
	           (long long)v->lack.all_gpus);
	put_blocker(s, v, out);
}

/* Append "needs a 3g.40gb; GPU 2 of n1 has 5 of 8 slices free, none of 0-3 or
 * 4-7 whole". */
static void put_partition(const struct snap *s, uint32_t row,
                          const struct verdict *v, struct buf *out)
{
	uint32_t req = s->pend.req[row];
	const struct mig_profile *p = &mig_profile[s->req.profile[req]];
	const char *between = "";

	put_tasks(s, req, out);
	buf_printf(out,
	           "needs a %s; GPU %lld of %s has %lld of %u slices free, "
	           "none of ",
	           p->name, (long long)v->lack.need, s->node.name[v->name],
	           (long long)v->lack.slices, (unsigned)p->all);
	for (uint32_t left = p->starts; left; left &= left - 1) {
		int start = __builtin_ctz(left);

		buf_printf(out, "%s%d", between, start);
		if (p->units > 1)
			buf_printf(out, "-%d", start + p->units - 1);
		between = left & (left - 1) & ((left & (left - 1)) - 1)
		              ? ", "
		              : " or ";
	}
	buf_puts(out, p->units > 1 ? " whole" : "");
	put_blocker(s, v, out);
}

/* Returns the profiles that the GPUs of a node have or can have, as bits. */
static uint64_t profiles_of(const struct snap *s, uint32_t node)
{
	uint64_t ret = 0;

	for (uint8_t p = 1; p < mig_nprofiles(); p++)
		ret |= (uint64_t)mig_has(s->node.mig[node], p) << p;
	for (uint32_t i = s->node.gpu_first[node];
	     s->gpu.parts && i < s->node.gpu_first[node + 1]; i++) {
		for (uint32_t u = 0; u < MIG_UNITS; u++)
			ret |= (uint64_t)1 << mig_parts_at(s->gpu.parts[i], u);
	}
	return ret;
}

/* Append `none` and the profiles that exist: "no node of its pools has MIG
 * profile 3g.20gb; there are 1g.10gb". */
static void put_no_profile(const struct snap *s, uint32_t req, const char *none,
                           struct buf *out)
{
	const char *between = "; there are ";
	uint64_t has = 0;

	for (uint32_t i = 0; i < s->node.n; i++) {
		if (s->req.pools[req] >> s->node.pool[i] & 1)
			has |= profiles_of(s, i);
	}
	buf_printf(out, "%s MIG profile %s", none,
	           mig_profile_name[s->req.profile[req]]);
	for (uint8_t p = 1; p < mig_nprofiles(); p++) {
		if (!(has >> p & 1))
			continue;
		buf_printf(out, "%s%s", between, mig_profile_name[p]);
		between = ", ";
	}
}

static void put_never_together(const struct snap *s, uint32_t row,
                               const struct verdict *v, struct buf *out)
{
	uint32_t req = s->pend.req[row];
	bool spreads = s->req.spread[req] != LEVEL_NONE;
	const char *level =
	    level_name(s, spreads ? s->req.spread[req] : s->req.need[req]);

	buf_puts(out, "even if all nodes were empty, ");
	if (spreads && !v->lack.got)
		buf_printf(out,
		           "none of its tasks would fit, spread evenly over "
		           "%ss",
		           level);
	else if (spreads)
		buf_printf(out,
		           "only %lld of its %u tasks would fit, spread evenly "
		           "over %ss",
		           (long long)v->lack.got, (unsigned)s->req.tasks[req],
		           level);
	else if (s->req.segment[req])
		buf_printf(out,
		           "only %u of its %u segments would fit, each in one "
		           "%s",
		           (unsigned)(v->lack.got / s->req.segment[req]),
		           (unsigned)(s->req.tasks[req] / s->req.segment[req]),
		           level);
	else if (v->lack.got)
		buf_printf(out,
		           "at most %lld of its %u tasks would fit in one %s",
		           (long long)v->lack.got,
		           (unsigned)s->req.min_tasks[req], level);
	else
		buf_printf(out,
		           "none of its tasks would fit in a %s, only on nodes "
		           "outside of any",
		           level);
}

/* Append `none` and the largest GPU memory that is known: "no node of its pools
 * has a GPU with 100G; the largest that is known is 80G, of n3". */
static void put_no_gpu_memory(const struct snap *s, uint32_t req,
                              const char *none, struct buf *out)
{
	uint32_t best = SNAP_NONE;

	for (uint32_t i = 0; i < s->node.n; i++) {
		if (s->req.pools[req] >> s->node.pool[i] & 1 &&
		    snap_node_ngpus(s, i) && s->node.gpu_mem[i] &&
		    (best == SNAP_NONE ||
		     s->node.gpu_mem[i] > s->node.gpu_mem[best]))
			best = i;
	}
	buf_printf(out, "%s a GPU with ", none);
	put_number(out, RES_MEM, s->req.gpu_mem[req]);
	if (best == SNAP_NONE) {
		buf_puts(out, " of memory; how much its GPUs have is not "
		              "known, but gpu_memory in a node section says "
		              "it");
		return;
	}
	buf_puts(out, " of memory; the largest that is known has ");
	put_number(out, RES_MEM, s->node.gpu_mem[best]);
	buf_printf(out, " (%s)", s->node.name[best]);
}

/* Returns the node of the request's pools that has the most devices of a kind,
 * or SNAP_NONE if none has any. */
static uint32_t most_devs(const struct snap *s, uint32_t req, uint32_t kind)
{
	uint32_t best = SNAP_NONE;
	int most = 0;

	for (uint32_t i = 0; i < s->node.n; i++) {
		if (!(s->req.pools[req] >> s->node.pool[i] & 1) ||
		    s->node.dev_total[i].n[kind] <= most)
			continue;
		most = s->node.dev_total[i].n[kind];
		best = i;
	}
	return best;
}

/* Append `none` and the devices of a kind that no node has: "no node of its
 * pools has 8 rdma; the most that one has is 4 (n3)". If there is no such kind,
 * append all devices. */
static void put_no_devs(const struct snap *s, uint32_t req, const char *none,
                        struct buf *out)
{
	const char *before = " ";
	uint32_t best;

	for (uint32_t i = 0; i < s->dev.n; i++) {
		int need = s->req.devs[req].n[i];
		int have;

		if (!need)
			continue;
		best = most_devs(s, req, i);
		have = best == SNAP_NONE ? 0 : s->node.dev_total[best].n[i];
		if (have >= need)
			continue;
		buf_printf(out, "%s ", none);
		put_devs(s, req, i, out);
		if (have)
			buf_printf(out, "; the most that one has is %d (%s)",
			           have, s->node.name[best]);
		return;
	}
	buf_puts(out, none);
	for (uint32_t i = 0; i < s->dev.n; i++) {
		if (!s->req.devs[req].n[i])
			continue;
		buf_puts(out, before);
		put_devs(s, req, i, out);
		before = ", ";
	}
	buf_puts(out, " and what else it asks for");
}

/* Say why the request may run on no node, whatever the sizes of the nodes. */
static void put_no_node(const struct snap *s, uint32_t req,
                        const struct verdict *v, struct buf *out)
{
	bool names = s->req.want_first[req] < s->req.want_first[req + 1];
	const char *none = names ? "none of the nodes that it names has"
	                         : "no node of its pools has";

	switch (v->lack.kind) {
	case MATCH_POOL:
		buf_puts(out, names ? "the nodes that it names are in none of "
		                      "its pools"
		                    : "its pools have no nodes");
		break;
	case MATCH_GPU:
		buf_printf(out, "%s a GPU", none);
		break;
	case MATCH_GPU_TYPE:
		if (s->req.profile[req])
			put_no_profile(s, req, none, out);
		else
			buf_printf(out, "%s a GPU of type '%s'", none,
			           s->word[s->req.gpu_type[req]]);
		break;
	case MATCH_GPU_MEMORY:
		put_no_gpu_memory(s, req, none, out);
		break;
	case MATCH_DEVICES:
		put_no_devs(s, req, none, out);
		break;
	case MATCH_FEATURES:
		buf_printf(out, "%s the features that it asks for%s", none,
		           s->req.gpus[req] ? ", and such GPUs" : "");
		break;
	case MATCH_TAINTS:
		buf_puts(out, "its constraint does not name the taints of any "
		              "node that it could use");
		break;
	case MATCH_NOTHING:
		buf_puts(out, "it excludes all nodes that it could use");
	}
}

/* Append all that a task needs at once: "1 GPU, 1 CPU and 2G of memory
 * together". */
static void put_whole(const struct snap *s, uint32_t req, struct buf *out)
{
	const struct {
		int64_t what, amount;
	} rest[] = { { RES_MEM, s->req.mem[req] },
		     { WHAT_TMP, s->req.tmp[req] } };
	size_t left = (rest[0].amount != 0) + (rest[1].amount != 0);

	if (s->req.gpus[req]) {
		put_gpus(s, req, SNAP_NONE, out);
		buf_puts(out, left ? ", " : " and ");
	}
	put_amount(out, RES_CPU, s->req.cpus[req]);
	for (size_t i = 0; i < ARRAY_SIZE(rest); i++) {
		if (!rest[i].amount)
			continue;
		buf_puts(out, --left ? ", " : " and ");
		put_amount(out, rest[i].what, rest[i].amount);
	}
	buf_puts(out, " together");
}

static void put_never(const struct snap *s, uint32_t row,
                      const struct verdict *v, struct buf *out)
{
	uint32_t req = s->pend.req[row];

	switch (v->what) {
	case WHAT_FEATURES:
		put_no_node(s, req, v, out);
		break;
	case WHAT_NODE:
		buf_puts(out, "needs ");
		put_nodes(v, out);
		buf_printf(out,
		           "; %lld of those that it may use could hold one of "
		           "its tasks",
		           (long long)v->lack.have);
		break;
	case WHAT_GANG:
		buf_printf(out,
		           "has %u tasks; at most %lld fit even if all "
		           "nodes are empty",
		           (unsigned)s->req.tasks[req], (long long)v->lack.got);
		break;
	case WHAT_DOMAIN:
		put_never_together(s, row, v, out);
		break;
	case WHAT_NUMA:
		put_numas(s, req, v, out);
		break;
	case WHAT_LINKS:
		put_tasks(s, req, out);
		buf_puts(out, "needs ");
		put_amount(out, RES_GPU, s->req.gpus[req]);
		buf_puts(out, " in as few link groups as its NUMA nodes "
		              "allow on no node");
		break;
	case WHAT_COUNTS:
		buf_puts(out, "needs ");
		put_nodes(v, out);
		buf_printf(out,
		           " of one part of its constraint; it may use "
		           "%lld",
		           (long long)v->lack.have);
		break;
	case WHAT_LICENSES:
		buf_printf(out, "needs %lld of licence '%s', which has %lld",
		           (long long)v->limit.need, s->license.name[v->name],
		           (long long)v->limit.max);
		break;
	case WHAT_PART_OF_GPU:
		buf_puts(out, "asks for ");
		put_amount(out, RES_GPU, s->req.gpus[req]);
		buf_puts(out, " a task; more than 1 must be a whole number");
		break;
	case WHAT_DEVICES:
		buf_puts(out, "no node has ");
		if (snap_places_devs(s, req)) {
			put_near(s, req,
			         (uint32_t)__builtin_ctz(s->req.pcie[req] |
			                                 s->req.near[req]),
			         out);
			buf_puts(out, ", with ");
		}
		put_whole(s, req, out);
		break;
	default:
		buf_puts(out, "needs ");
		put_amount(out, v->what, v->lack.need);
		buf_puts(out, " on one node; the largest that it may use has ");
		put_number(out, v->what, v->lack.have);
		buf_printf(out, " (%s)", s->node.name[v->name]);
	}
}

static void put_limit(const struct snap *s, uint32_t row,
                      const struct verdict *v, struct buf *out)
{
	const char *user = s->user.name[s->pend.user[row]];
	const char *queue = s->queue.name[v->name];
	int64_t what = v->what;

	if (what == WHAT_JOBS) {
		if (v->why == WHY_UserLimit)
			buf_printf(out,
			           "user '%s' runs %lld of at most %lld "
			           "job%s in queue '%s'",
			           user, (long long)v->limit.used,
			           (long long)v->limit.max,
			           v->limit.max == 1 ? "" : "s", queue);
		else
			buf_printf(out,
			           "queue '%s' runs %lld of at most %lld "
			           "job%s",
			           queue, (long long)v->limit.used,
			           (long long)v->limit.max,
			           v->limit.max == 1 ? "" : "s");
		return;
	}
	buf_puts(out, "needs ");
	put_amount(out, what, v->limit.need);
	if (v->why == WHY_ExceedsQueueLimit) {
		buf_printf(out, " in all; queue '%s' never allows more than ",
		           queue);
		put_number(out, what, v->limit.max);
		return;
	}
	if (v->why == WHY_UserLimit)
		buf_printf(out, "; user '%s' uses ", user);
	else
		buf_printf(out, "; queue '%s' uses ", queue);
	put_number(out, what, v->limit.used);
	buf_puts(out, " of at most ");
	put_number(out, what, v->limit.max);
	if (v->why == WHY_UserLimit)
		buf_printf(out, " in queue '%s'", queue);
}

/* Say that the job would exceed the quota. Only jobs that may not be preempted
 * count against a quota. */
static void put_quota(const struct snap *s, const struct verdict *v,
                      struct buf *out)
{
	int64_t what = v->what;

	buf_puts(out, "needs ");
	put_amount(out, what, v->limit.need);
	buf_printf(out, " and may not be preempted; queue '%s' has a quota of ",
	           s->queue.name[v->name]);
	put_number(out, what, v->limit.max);
	if (!v->limit.used)
		return;
	buf_puts(out, ", of which such jobs use ");
	put_number(out, what, v->limit.used);
}

static void put_down(const struct snap *s, uint32_t row,
                     const struct verdict *v, struct buf *out)
{
	static const char *const state[] = { [NODE_UP] = "not ready",
		                             [NODE_DRAIN] = "drained",
		                             [NODE_DOWN] = "down" };
	uint32_t tasks = s->req.tasks[s->pend.req[row]];

	if (v->lack.got)
		buf_printf(out,
		           "only %lld of its %u tasks would fit on nodes that "
		           "are up",
		           (long long)v->lack.got, (unsigned)tasks);
	else
		buf_puts(out, "no node that could run it is up");
	if (v->name != SNAP_NONE)
		buf_printf(out, "; %s is %s", s->node.name[v->name],
		           state[s->node.state[v->name]]);
}

/* Append which reservation keeps the node: "reservation 'maint' begins
 * there in 2h". */
static void put_reserved(const struct snap *s, const struct verdict *v,
                         struct buf *out)
{
	uint32_t resv = v->keep.resv;

	buf_printf(out, "would fit on %s, ", s->node.name[v->name]);
	if (s->resv.start[resv] <= s->now) {
		buf_printf(out, "which reservation '%s' keeps for another ",
		           s->resv.name[resv]);
		put_span(out, s->resv.end[resv] - s->now);
		return;
	}
	if (v->keep.end == SNAP_NEVER)
		buf_puts(out, "but has no time limit, and");
	else
		buf_puts(out, "but would not end before");
	buf_printf(out, " reservation '%s' begins there in ",
	           s->resv.name[resv]);
	put_span(out, s->resv.start[resv] - s->now);
}

/* Say why the job may not start although it would fit: for which job or
 * reservation the node or the limit is kept. */
static void put_way(const struct snap *s, const struct verdict *v,
                    struct buf *out)
{
	bool any = v->keep.whom == KEPT_LIMIT || v->keep.whom == KEPT_ENTITLED;
	const char *node = any ? NULL : s->node.name[v->name];

	switch (v->keep.whom) {
	case KEPT_LIMIT:
		buf_puts(out, "is within the limits, but ");
		put_job(v, out);
		buf_puts(out, " ahead of it waits for ");
		if (v->keep.license)
			buf_printf(out, "licence '%s'",
			           s->license.name[v->name]);
		else
			buf_printf(out, "the limits of queue '%s'",
			           s->queue.name[v->name]);
		break;
	case KEPT_PROMISE:
		buf_printf(out, "would fit on %s, but that would delay ", node);
		put_job(v, out);
		buf_puts(out, ", which is promised to start there ");
		if (v->keep.start <= s->now) {
			buf_puts(out, "next");
			break;
		}
		buf_puts(out, "in ");
		put_span(out, v->keep.start - s->now);
		break;
	case KEPT_RESERVATION:
		put_reserved(s, v, out);
		break;
	case KEPT_OWN_END:
		buf_printf(out,
		           "would fit on %s, but not within its reservation "
		           "'%s', which ends in ",
		           node, s->resv.name[v->keep.resv]);
		put_span(out, s->resv.end[v->keep.resv] - s->now);
		break;
	case KEPT_ENTITLED:
		buf_puts(out, "if it started, it would be evicted for ");
		put_job(v, out);
		buf_puts(out, " at once");
		break;
	case KEPT_WAITER:
		buf_printf(out, "would fit on %s, which ", node);
		put_job(v, out);
		buf_puts(out, " ahead of it waits for");
	}
}

static void put_reservation(const struct snap *s, const struct verdict *v,
                            struct buf *out)
{
	buf_printf(out, "reservation '%s' ", s->resv.name[v->name]);
	switch (v->resv) {
	case RESV_OF_OTHERS:
		buf_puts(out, "is not for its user");
		break;
	case RESV_BEGINS:
		buf_puts(out, "begins in ");
		put_span(out, s->resv.start[v->name] - s->now);
		break;
	default:
		buf_puts(out, "is over");
	}
}

static void put_coming(const struct snap *s, const struct verdict *v,
                       struct buf *out)
{
	const char *node = s->node.name[v->name];

	if (!v->ncoming) {
		buf_printf(out, "needs nodes such as %s, which do not run yet",
		           node);
		return;
	}
	buf_printf(out, "waits for %s", node);
	if (v->ncoming > 1)
		buf_printf(out, " and %u more node%s", (unsigned)v->ncoming - 1,
		           v->ncoming > 2 ? "s" : "");
	buf_puts(out, " to be added; starts in about ");
	put_span(out, v->expected - s->now);
}

enum reason verdict_reason(const struct verdict *v)
{
	if (v->why == WHY_Priority &&
	    (v->keep.whom == KEPT_RESERVATION || v->keep.whom == KEPT_OWN_END))
		return WHY_Reservation;
	return v->why;
}

void verdict_text(const struct snap *s, uint32_t row, const struct verdict *v,
                  struct buf *out)
{
	switch (v->why) {
	case WHY_Resources:
	case WHY_Devices:
	case WHY_Fragmentation:
	case WHY_GangPartial:
		put_resources(s, row, v, out);
		break;
	case WHY_Preempting:
		buf_printf(out, "jobs are being evicted for it; ");
		if (v->held > 1)
			buf_printf(out,
			           "places for %lld tasks are held, the first "
			           "on %s",
			           (long long)v->held, s->node.name[v->name]);
		else
			buf_printf(out, "%s is held", s->node.name[v->name]);
		break;
	case WHY_Topology:
		put_topology(s, row, v, out);
		break;
	case WHY_NumaAlignment:
		put_numa(s, row, v, out);
		break;
	case WHY_LinkAlignment:
		put_links(s, row, v, out);
		break;
	case WHY_Partition:
		put_partition(s, row, v, out);
		break;
	case WHY_Affinity:
		buf_puts(out, "would fit, but not where --near and --apart "
		              "allow it now");
		break;
	case WHY_Priority:
		put_way(s, v, out);
		break;
	case WHY_Reservation:
		put_reservation(s, v, out);
		break;
	case WHY_NeverFits:
		put_never(s, row, v, out);
		break;
	case WHY_Licenses:
		buf_printf(out, "needs %lld of licence '%s'; %lld of %lld free",
		           (long long)v->limit.need, s->license.name[v->name],
		           (long long)(v->limit.max - v->limit.used),
		           (long long)v->limit.max);
		put_blocker(s, v, out);
		break;
	case WHY_ExceedsQueueLimit:
	case WHY_QueueLimit:
	case WHY_QueueMaxJobs:
	case WHY_UserLimit:
		put_limit(s, row, v, out);
		put_blocker(s, v, out);
		break;
	case WHY_QueueQuota:
		put_quota(s, v, out);
		put_blocker(s, v, out);
		break;
	case WHY_ArrayLimit:
		buf_printf(out, "array %llu runs as many tasks as it may",
		           (unsigned long long)v->job);
		break;
	case WHY_StartFailed:
		buf_printf(out, "a start on %s failed; the next try is in ",
		           s->node.name[v->name]);
		put_span(out, v->retry_at - s->now);
		break;
	case WHY_NodesComing:
		put_coming(s, v, out);
		break;
	case WHY_NodeDown:
		put_down(s, row, v, out);
		break;
	case WHY_RunnerDown:
		buf_printf(out, "the runner of pool '%s' is not ready",
		           s->pool.name[v->name]);
		break;
	default:
		buf_puts(out, reason_text(v->why));
	}
}
