/* write.c - snapshots to text */
#include "aischedd/sched/text/writer.h"

#include <string.h>

#include "aischedd/sched/text/fields.h"
#include "libcommon/parse.h"

struct writer {
	const struct snap *snap;
	struct snap_free derived;
	struct buf *out;
};

static void put_u64(struct buf *out, uint64_t n)
{
	buf_printf(out, "%llu", (unsigned long long)n);
}

/* Write a name as one word: each character that is not in `plain` becomes %XX.
 */
static void put_name(struct buf *out, const char *name)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789._/=@+-";

	/* A hyphen alone stands for no name, so escape it. */
	if (!strcmp(name, "-")) {
		buf_puts(out, "%2D");
		return;
	}
	for (; *name; name++) {
		if (strchr(plain, *name))
			buf_addc(out, *name);
		else
			buf_printf(out, "%%%02X",
			           (unsigned)(unsigned char)*name);
	}
}

static void put_mib(struct buf *out, int64_t mib)
{
	buf_i64(out, mib % 1024 ? mib : mib / 1024);
	if (mib)
		buf_addc(out, mib % 1024 ? 'M' : 'G');
}

static const char *name_of(const struct snap *s, enum name_space space,
                           uint32_t i)
{
	switch (space) {
	case SPACE_POOL:
		return s->pool.name[i];
	case SPACE_LEVEL:
		return s->level[i];
	case SPACE_DOMAIN:
		return s->domain.name[i];
	case SPACE_NODE:
		return s->node.name[i];
	case SPACE_QUEUE:
		return s->queue.name[i];
	case SPACE_LICENSE:
		return s->license.name[i];
	case SPACE_ARRAY:
		return s->array.name[i];
	case SPACE_DEV:
		return s->dev.name[i];
	case SPACE_RESV:
		return s->resv.name[i];
	case SPACE_USER:
		return s->user.name[i];
	default:
		return s->word[i];
	}
}

static uint64_t all_pools(const struct snap *s)
{
	return s->pool.n == 64 ? UINT64_MAX : ((uint64_t)1 << s->pool.n) - 1;
}

static void put_pools(struct buf *out, const struct snap *s, uint64_t pools)
{
	const char *comma = "";

	pools &= all_pools(s);
	if (!pools)
		buf_addc(out, '-');
	for (; pools; pools &= pools - 1) {
		buf_puts(out, comma);
		put_name(out, s->pool.name[__builtin_ctzll(pools)]);
		comma = ",";
	}
}

static void put_amounts(struct buf *out, const int64_t amount[RES_N])
{
	const char *comma = "";

	for (int r = 0; r < RES_N; r++) {
		if (amount[r] == CONF_NONE)
			continue;
		buf_printf(out, "%s%s:", comma,
		           r == RES_CPU   ? "cpus"
		           : r == RES_MEM ? "mem"
		                          : "gpus");
		if (r == RES_MEM)
			put_mib(out, amount[r]);
		else
			format_milli(out, amount[r]);
		comma = ",";
	}
}

static void put_kinds(struct buf *out, const struct snap *s, unsigned kinds)
{
	const char *comma = "";

	for (; kinds; kinds &= kinds - 1, comma = ",") {
		buf_puts(out, comma);
		put_name(out, s->dev.name[__builtin_ctz(kinds)]);
	}
}

/* Append numbers of devices other than 0; if all are 0, the first one. */
static void put_devs(struct buf *out, const struct snap *s,
                     const struct device_counts *counts)
{
	bool any = devices_any(counts);
	const char *comma = "";

	for (uint32_t i = 0; i < s->dev.n; i++) {
		if (any ? !counts->n[i] : i)
			continue;
		buf_puts(out, comma);
		put_name(out, s->dev.name[i]);
		buf_printf(out, ":%d", counts->n[i]);
		comma = ",";
	}
}

/* Returns the value of a field in a row, for all kinds but FIELD_AMOUNT and
 * FIELD_DEVS. */
static int64_t get(const struct snap *s, const struct snap_field *f,
                   uint32_t row)
{
	const void *column = field_column(s, f);

	switch (field_size(f->kind)) {
	case 1:
		return ((const uint8_t *)column)[row];
	case 2:
		return ((const uint16_t *)column)[row];
	case 4:
		return ((const uint32_t *)column)[row];
	default:
		return ((const int64_t *)column)[row];
	}
}

/* Whether the reader would set this value by itself, so that it need
 * not be written. */
static bool is_default(const struct writer *w, const struct snap_field *f,
                       uint32_t row)
{
	const struct snap *s = w->snap;

	if (f->kind == FIELD_AMOUNT) {
		const int64_t(*column)[RES_N] = field_column(s, f);
		const int64_t *amount = column[row];

		return amount[0] == f->def && amount[1] == f->def &&
		       amount[2] == f->def;
	}
	if (f->column == offsetof(struct snap, node.dev_free))
		return !memcmp(&s->node.dev_free[row], &w->derived.dev[row],
		               sizeof(*s->node.dev_free));
	if (f->kind == FIELD_DEVS) {
		const struct device_counts *column = field_column(s, f);

		return !devices_any(&column[row]);
	}
	if (f->kind == FIELD_POOLS)
		return !(all_pools(s) & ~s->req.pools[row]);
	if (f->column == offsetof(struct snap, node.cpu_free))
		return s->node.cpu_free[row] == w->derived.cpu[row];
	if (f->column == offsetof(struct snap, node.mem_free))
		return s->node.mem_free[row] == w->derived.mem[row];
	if (f->column == offsetof(struct snap, node.tmp_free))
		return s->node.tmp_free[row] == w->derived.tmp[row];
	if (f->column == offsetof(struct snap, node.slot_free))
		return s->node.slot_free[row] == w->derived.slot[row];
	if (f->column == offsetof(struct snap, license.free))
		return s->license.free[row] == w->derived.license[row];
	if (f->column == offsetof(struct snap, req.min_tasks))
		return s->req.min_tasks[row] == s->req.tasks[row];
	return f->def != FIELD_MUST && get(s, f, row) == f->def;
}

static void put_value(const struct writer *w, const struct snap_field *f,
                      uint32_t row)
{
	const struct snap *s = w->snap;
	int64_t v;

	if (f->kind == FIELD_AMOUNT) {
		const int64_t(*column)[RES_N] = field_column(s, f);

		put_amounts(w->out, column[row]);
		return;
	}
	if (f->kind == FIELD_DEVS) {
		const struct device_counts *column = field_column(s, f);

		put_devs(w->out, s, &column[row]);
		return;
	}
	v = get(s, f, row);
	switch (f->kind) {
	case FIELD_MILLI:
		format_milli(w->out, v);
		break;
	case FIELD_MIB:
		put_mib(w->out, v);
		break;
	case FIELD_NAME:
		buf_puts(w->out, f->names[v]);
		break;
	case FIELD_SPREAD:
	case FIELD_REF:
	case FIELD_LEVEL:
		if (f->kind == FIELD_SPREAD && v == LEVEL_NODE) {
			buf_puts(w->out, "node");
			break;
		}
		put_name(w->out, name_of(s, f->space, (uint32_t)v));
		break;
	case FIELD_POOLS:
		put_pools(w->out, s, (uint64_t)v);
		break;
	case FIELD_KINDS:
		put_kinds(w->out, s, (unsigned)v);
		break;
	default:
		buf_i64(w->out, v);
	}
}

static void put_fields(const struct writer *w, int section, uint32_t row)
{
	const struct section *sec = &snap_section[section];

	for (size_t i = 0; i < sec->nfields; i++) {
		const struct snap_field *f = &sec->field[i];

		if (is_default(w, f, row))
			continue;
		buf_printf(w->out, " %s", f->key);
		if (f->kind == FIELD_FLAG || f->kind == FIELD_NOT)
			continue;
		buf_addc(w->out, '=');
		put_value(w, f, row);
	}
}

/* A list of numbers, one for each device of a node. */
struct list {
	const void *value;
	size_t size; /* bytes of each: 1, 2 or 4 */
	uint32_t n;
};

static uint32_t at(const struct list *l, uint32_t i)
{
	switch (l->size) {
	case 1:
		return ((const uint8_t *)l->value)[i];
	case 2:
		return ((const uint16_t *)l->value)[i];
	default:
		return ((const uint32_t *)l->value)[i];
	}
}

/* Whether the values are first, first + step, first + 2 * step, ... */
static bool is_run(const struct list *l, uint32_t first, uint32_t step)
{
	for (uint32_t i = 0; i < l->n; i++) {
		if (at(l, i) != first + i * step)
			return false;
	}
	return true;
}

static void put_item(const struct writer *w, uint32_t value, bool is_word)
{
	if (!is_word)
		put_u64(w->out, value);
	else if (value == SNAP_NONE)
		buf_addc(w->out, '-');
	else
		put_name(w->out, w->snap->word[value]);
}

/* Write a list in short form, such as " key=0*4,1*4" or " key=0-7". */
static void put_list(const struct writer *w, const char *key,
                     const struct list *l, bool is_word)
{
	buf_printf(w->out, " %s=", key);
	for (uint32_t i = 0, same, rise; i < l->n;) {
		uint32_t v = at(l, i);

		for (same = 1; i + same < l->n; same++) {
			if (at(l, i + same) != v)
				break;
		}
		for (rise = 1; i + rise < l->n && !is_word; rise++) {
			if (at(l, i + rise) != v + rise)
				break;
		}
		if (i)
			buf_addc(w->out, ',');
		put_item(w, v, is_word);
		if (same > 1)
			buf_printf(w->out, "*%u", (unsigned)same);
		else if (rise > 1)
			buf_printf(w->out, "-%u", (unsigned)(v + rise - 1));
		i += same > 1 ? same : rise;
	}
}

/* Write the partitions that n GPUs from `gpu` on have for good, if any has. */
static void put_parts(const struct writer *w, uint32_t gpu, uint32_t n)
{
	const uint64_t *parts = w->snap->gpu.parts;
	bool any = false;

	for (uint32_t i = 0; parts && i < n; i++)
		any |= parts[gpu + i] != 0;
	for (uint32_t i = 0; any && i < n; i++) {
		buf_puts(w->out, i ? "," : " parts=");
		if (parts[gpu + i])
			mig_parts_put(parts[gpu + i], '/', w->out);
		else
			buf_addc(w->out, '-');
	}
}

/* Write the pieces of a node, "rdma@1/0,rdma@2/-". */
static void put_pieces(const struct writer *w, uint32_t node)
{
	const struct snap *s = w->snap;

	for (uint32_t i = 0; i < snap_node_npieces(s, node); i++) {
		uint32_t at = s->node.piece_first[node] + i;

		buf_puts(w->out, i ? "," : " pieces=");
		put_name(w->out, s->dev.name[s->piece.kind[at]]);
		buf_printf(w->out, "@%u/", (unsigned)s->piece.root[at]);
		if (s->piece.numa[at] == PIECE_NOWHERE)
			buf_addc(w->out, '-');
		else
			buf_printf(w->out, "%u", (unsigned)s->piece.numa[at]);
	}
}

static void put_devices(const struct writer *w, uint32_t node)
{
	const struct snap *s = w->snap;
	uint32_t g = s->node.gpu_first[node], c = s->node.cpu_first[node];
	uint32_t ngpus = s->node.gpu_first[node + 1] - g;
	uint32_t ncpus = s->node.cpu_first[node + 1] - c;
	const struct list type = { s->gpu.type + g, 4, ngpus };
	const struct list gpu_numa = { s->gpu.numa + g, 1, ngpus };
	const struct list link = { s->gpu.link + g, 1, ngpus };
	const struct list root = { s->gpu.root ? s->gpu.root + g : NULL, 2,
		                   s->gpu.root ? ngpus : 0 };
	const struct list gpu_free = { s->gpu.free + g, 2, ngpus };
	const struct list core = { s->cpu.core + c, 2, ncpus };
	const struct list numa = { s->cpu.numa + c, 1, ncpus };
	const struct list thread_free = { s->cpu.free + c, 2, ncpus };

	if (ngpus)
		buf_printf(w->out, " gpus=%u", (unsigned)ngpus);
	if (!is_run(&type, SNAP_NONE, 0))
		put_list(w, "gpu_type", &type, true);
	if (!is_run(&gpu_numa, 0, 0))
		put_list(w, "gpu_numa", &gpu_numa, false);
	if (!is_run(&link, 0, 0))
		put_list(w, "gpu_link", &link, false);
	if (!is_run(&root, 0, 0))
		put_list(w, "gpu_root", &root, false);
	if (ngpus && memcmp(s->gpu.free + g, w->derived.gpu + g,
	                    ngpus * sizeof(*s->gpu.free)))
		put_list(w, "gpu_free", &gpu_free, false);
	put_parts(w, g, ngpus);
	put_pieces(w, node);
	if (ncpus)
		buf_printf(w->out, " threads=%u", (unsigned)ncpus);
	if (!is_run(&core, 0, 1))
		put_list(w, "core", &core, false);
	if (!is_run(&numa, 0, 0))
		put_list(w, "numa", &numa, false);
	if (ncpus && memcmp(s->cpu.free + c, w->derived.thread + c,
	                    ncpus * sizeof(*s->cpu.free)))
		put_list(w, "thread_free", &thread_free, false);
	for (uint32_t i = 0; i < snap_node_nnumas(s, node); i++) {
		buf_puts(w->out, i ? "," : " numa_mem=");
		put_mib(w->out, s->numa_mem[s->node.numa_first[node] + i]);
	}
}

static void put_names(const struct writer *w, const char *key,
                      enum name_space space, const uint32_t *index,
                      uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		if (i == from)
			buf_printf(w->out, " %s=", key);
		else
			buf_addc(w->out, ',');
		put_name(w->out, name_of(w->snap, space, index[i]));
	}
}

static void put_rule(const struct writer *w, const char *key,
                     const int32_t *rule, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		if (i == from)
			buf_printf(w->out, " %s=", key);
		else
			buf_addc(w->out, ',');
		if (rule[i] >= 0)
			put_name(w->out, w->snap->word[rule[i]]);
		else if (rule_count(rule[i]))
			buf_printf(w->out, "*%u",
			           (unsigned)rule_count(rule[i]));
		else
			buf_addc(w->out, rule[i] == RULE_AND  ? '&'
			                 : rule[i] == RULE_OR ? '|'
			                                      : '!');
	}
}

static void put_req(const struct writer *w, uint32_t req)
{
	const struct snap *s = w->snap;
	const struct snap_reqs *r = &s->req;
	const char *before = " licenses=";

	put_fields(w, SECTION_REQ, req);
	put_rule(w, "rule", s->rule, r->rule_first[req],
	         r->rule_first[req + 1]);
	put_rule(w, "prefer", s->prefer, r->prefer_first[req],
	         r->prefer_first[req + 1]);
	put_names(w, "want", SPACE_NODE, s->want, r->want_first[req],
	          r->want_first[req + 1]);
	put_names(w, "avoid", SPACE_NODE, s->avoid, r->avoid_first[req],
	          r->avoid_first[req + 1]);
	put_names(w, "shun", SPACE_NODE, s->shun, r->shun_first[req],
	          r->shun_first[req + 1]);
	for (uint32_t i = r->beside_first[req]; i < r->beside_first[req + 1];
	     i++)
		buf_printf(w->out, "%s%llu",
		           i == r->beside_first[req] ? " beside=" : ",",
		           (unsigned long long)s->beside[i]);
	for (uint32_t i = r->license_first[req]; i < r->license_first[req + 1];
	     i++) {
		buf_puts(w->out, before);
		before = ",";
		put_name(w->out, s->license.name[s->license_use[i].license]);
		buf_printf(w->out, ":%lld", (long long)s->license_use[i].count);
	}
}

static void put_units(struct buf *out, uint8_t units)
{
	if (units)
		buf_printf(out, ":u%d-%d", __builtin_ctz(units),
		           31 - __builtin_clz(units));
}

void snap_put_task(struct buf *out, const struct snap *s,
                   const struct snap_task *t, const struct snap_cpu_use *use,
                   uint64_t held)
{
	uint32_t n = t[1].cpu_first - t->cpu_first;

	put_name(out, s->node.name[t->node]);
	for (uint64_t left = t->gpus; left;) {
		int first = __builtin_ctzll(left), last = first;

		buf_puts(out, left == t->gpus ? ":g" : "+");
		for (; last < 64 && left >> last & 1; last++)
			left &= ~((uint64_t)1 << last);
		buf_printf(out, last - first > 1 ? "%d-%d" : "%d", first,
		           last - 1);
	}
	if (t->gpus && t->gpu_milli != 1000)
		buf_printf(out, "/%u", (unsigned)t->gpu_milli);
	put_units(out, t->units);
	for (uint64_t left = held; left; left &= left - 1)
		buf_printf(out, "%s%d", left == held ? ":d" : "+",
		           __builtin_ctzll(left));
	if (n) /* without CPUs, use may be NULL */
		use += t->cpu_first;
	for (uint32_t i = 0, rise; i < n; i += rise) {
		buf_puts(out, i ? "+" : ":c");
		for (rise = 1; i + rise < n; rise++) {
			if (use[i + rise].cpu != use[i].cpu + rise ||
			    use[i + rise].milli != use[i].milli)
				break;
		}
		buf_printf(out, rise > 1 ? "%u-%u" : "%u", (unsigned)use[i].cpu,
		           (unsigned)(use[i].cpu + rise - 1));
		if (use[i].milli != 1000)
			buf_printf(out, "/%u", (unsigned)use[i].milli);
	}
	if (!t->numas || t->numas == snap_task_numas(s, t, use - t->cpu_first))
		return;
	for (uint32_t left = t->numas; left; left &= left - 1)
		buf_printf(out, "%s%d", left == t->numas ? ":m" : "+",
		           __builtin_ctz(left));
}

/* Write the tasks of a run. If a task has no devices, write "-": otherwise the
 * reader would give it the lowest free devices. */
static void put_run_tasks(const struct writer *w, uint32_t run)
{
	const struct snap *s = w->snap;
	uint32_t req = s->run.req[run];
	const char *before = " on=";

	for (uint32_t i = s->run.task_first[run];
	     i < s->run.task_first[run + 1]; i++) {
		const struct snap_task *t = &s->task[i];

		buf_puts(w->out, before);
		before = ",";
		snap_put_task(w->out, s, t, s->cpu_use, snap_held(s, i));
		if (!t->gpus && s->req.gpus[req])
			buf_puts(w->out, ":g-");
		if (t[1].cpu_first == t->cpu_first && s->req.cpus[req] &&
		    s->node.cpu_first[t->node + 1] > s->node.cpu_first[t->node])
			buf_puts(w->out, ":c-");
	}
}

void snap_put_nodes(const struct snap *s, const char *before,
                    const uint32_t *node, uint32_t n, struct buf *out)
{
	for (uint32_t i = 0, same; i < n; i += same) {
		buf_puts(out, i ? "," : before);
		put_name(out, s->node.name[node[i]]);
		for (same = 1; i + same < n; same++) {
			if (node[i + same] != node[i])
				break;
		}
		if (same > 1)
			buf_printf(out, "*%u", (unsigned)same);
	}
}

/* Write a claim, the slice of snap.claim from first[0] to first[1]. */
static void put_claim(const struct writer *w, const uint32_t *first)
{
	snap_put_nodes(w->snap, " claim=", w->snap->claim + first[0],
	               first[1] - first[0], w->out);
}

static bool is_single(const struct snap_member *m)
{
	return m->count == 1 && m->room == 1;
}

static void put_members(const struct writer *w, uint32_t row)
{
	const struct snap *s = w->snap;
	uint32_t end = s->pend.member_first[row + 1], rise;

	for (uint32_t i = s->pend.member_first[row]; i < end; i += rise) {
		const struct snap_member *m = &s->member[i];

		buf_addc(w->out, i == s->pend.member_first[row] ? ' ' : ',');
		put_u64(w->out, m->job);
		for (rise = 1; i + rise < end && is_single(m); rise++) {
			if (m[rise].job != m->job + rise ||
			    !is_single(&m[rise]))
				break;
		}
		if (rise > 1) {
			buf_addc(w->out, '-');
			put_u64(w->out, m->job + rise - 1);
		}
		if (!is_single(m))
			buf_printf(w->out, "*%u", (unsigned)m->count);
		if (m->room != m->count)
			buf_printf(w->out, "/%u", (unsigned)m->room);
	}
}

/* Write " since=900,950*3", or nothing if all members begin to wait now. */
static void put_since(const struct writer *w, uint32_t row)
{
	const struct snap *s = w->snap;
	const struct snap_member *m = s->member;
	uint32_t from = s->pend.member_first[row];
	uint32_t end = s->pend.member_first[row + 1], last = end - 1;

	while (last > from && m[last - 1].since == m[last].since)
		last--;
	if (last == from && m[from].since == s->now)
		return;
	for (uint32_t i = from, same; i <= last; i += same) {
		buf_puts(w->out, i == from ? " since=" : ",");
		buf_i64(w->out, m[i].since);
		for (same = 1; i + same < last; same++) {
			if (m[i + same].since != m[i].since)
				break;
		}
		if (same > 1)
			buf_printf(w->out, "*%u", (unsigned)same);
	}
}

static void put_named(const struct writer *w, int section,
                      enum name_space space, uint32_t row)
{
	buf_printf(w->out, "%s ", snap_section[section].keyword);
	put_name(w->out, name_of(w->snap, space, row));
	put_fields(w, section, row);
}

static void put_node(const struct writer *w, uint32_t i)
{
	const struct snap *s = w->snap;

	put_named(w, SECTION_NODE, SPACE_NODE, i);
	put_devices(w, i);
	put_names(w, "features", SPACE_WORD, s->feature,
	          s->node.feature_first[i], s->node.feature_first[i + 1]);
	put_names(w, "taints", SPACE_WORD, s->taint, s->node.taint_first[i],
	          s->node.taint_first[i + 1]);
	buf_addc(w->out, '\n');
}

static void put_reservation(const struct writer *w, uint32_t i)
{
	const struct snap *s = w->snap;

	put_named(w, SECTION_RESV, SPACE_RESV, i);
	put_names(w, "nodes", SPACE_NODE, s->resv_node, s->resv.node_first[i],
	          s->resv.node_first[i + 1]);
	put_names(w, "users", SPACE_USER, s->resv_user, s->resv.user_first[i],
	          s->resv.user_first[i + 1]);
	buf_addc(w->out, '\n');
}

static void put_promise(const struct writer *w, const struct snap_promise *it)
{
	buf_printf(w->out, "promise %llu %lld", (unsigned long long)it->job,
	           (long long)it->start);
	snap_put_nodes(w->snap, " ", w->snap->promise_node + it->node_first,
	               it->n, w->out);
	buf_addc(w->out, '\n');
}

static void put_run(const struct writer *w, uint32_t i)
{
	buf_puts(w->out, "run ");
	put_u64(w->out, w->snap->run.job[i]);
	put_fields(w, SECTION_RUN, i);
	put_req(w, w->snap->run.req[i]);
	put_run_tasks(w, i);
	put_claim(w, w->snap->run.claim_first + i);
	buf_addc(w->out, '\n');
}

static void put_pend(const struct writer *w, uint32_t i)
{
	buf_puts(w->out, "pend");
	put_members(w, i);
	put_fields(w, SECTION_PEND, i);
	if (w->snap->pend.resumes[i] != SNAP_NONE)
		buf_puts(w->out, " resumes");
	put_since(w, i);
	put_req(w, w->snap->pend.req[i]);
	put_claim(w, w->snap->pend.claim_first + i);
	buf_addc(w->out, '\n');
}

/* Write the policy line, or nothing if all values are defaults. */
static void put_policy(const struct writer *w)
{
	struct buf fields = { 0 };
	struct writer to = { w->snap, w->derived, &fields };

	put_fields(&to, SECTION_POLICY, 0);
	if (fields.len)
		buf_printf(w->out, "policy%s\n", fields.data);
	buf_free(&fields);
}

void snap_write(const struct snap *s, struct buf *out)
{
	static const struct {
		int section;
		enum name_space space;
	} plain[] = { { SECTION_POOL, SPACE_POOL },
		      { SECTION_DEV, SPACE_DEV },
		      { SECTION_DOMAIN, SPACE_DOMAIN },
		      { SECTION_QUEUE, SPACE_QUEUE },
		      { SECTION_LICENSE, SPACE_LICENSE },
		      { SECTION_ARRAY, SPACE_ARRAY } };
	struct arena *arena = arena_new();
	struct writer w = { s, snap_free_derive(s, arena), out };

	buf_printf(out, "now %lld\ngen %llu\n", (long long)s->now,
	           (unsigned long long)s->gen);
	put_policy(&w);
	for (uint32_t i = 0; i < s->nlevels; i++) {
		buf_puts(out, "level ");
		put_name(out, s->level[i]);
		buf_addc(out, '\n');
	}
	for (size_t k = 0; k < ARRAY_SIZE(plain); k++) {
		const struct section *sec = &snap_section[plain[k].section];
		uint32_t n;

		memcpy(&n, (const char *)s + sec->count, sizeof(n));
		for (uint32_t i = 0; i < n; i++) {
			put_named(&w, plain[k].section, plain[k].space, i);
			buf_addc(out, '\n');
		}
	}
	for (uint32_t i = 0; i < s->node.n; i++)
		put_node(&w, i);
	for (uint32_t i = 0; i < s->resv.n; i++)
		put_reservation(&w, i);
	for (uint32_t i = 0; i < s->run.n; i++)
		put_run(&w, i);
	for (uint32_t i = 0; i < s->pend.n; i++)
		put_pend(&w, i);
	for (uint32_t i = 0; i < s->npromises; i++)
		put_promise(&w, &s->promise[i]);
	arena_free(arena);
}
