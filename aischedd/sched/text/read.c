/* read.c - text to snapshots */
#include <errno.h>
#include <string.h>

#include "aischedd/sched/text/reader.h"
#include "aischedd/sched/text/text.h"
#include "libcommon/limits.h"

static int read_fields(struct snap_reader *r, int section, char *rest)
{
	reader_defaults(section, r->value);
	for (char *text; (text = reader_part(&rest, ' '));) {
		char *key = reader_part(&text, '=');
		int status =
		    *key ? reader_field(r, section, r->value, key, text) : 1;

		if (status < 0)
			return -1;
		if (!status)
			return reader_bad(r, "unknown key", key);
	}
	return 0;
}

static int read_level(struct snap_reader *r, char *name)
{
	if (COUNT(&r->name[SPACE_LEVEL], char *) == LEVEL_NODE)
		return reader_bad(r, "too many levels with", name);
	return reader_new_name(r, SPACE_LEVEL, name);
}

/* Read a line that has only a name and fields. */
static int read_plain(struct snap_reader *r, int section, enum name_space space,
                      char *rest)
{
	char *name = reader_part(&rest, ' ');

	if (section == SECTION_POOL && r->rows[section] == LIMIT_POOLS)
		return reader_bad(r, "too many pools with", name);
	if (section == SECTION_DEV && r->rows[section] == DEVICE_KINDS)
		return reader_bad(r, "too many devices with", name);
	if (read_fields(r, section, rest) < 0 ||
	    reader_new_name(r, space, name) < 0 ||
	    (section == SECTION_LICENSE &&
	     reader_must_say(r, section, "total") < 0) ||
	    (section == SECTION_ARRAY &&
	     reader_must_say(r, section, "limit") < 0))
		return -1;
	reader_end_row(r, section, r->value);
	return 0;
}

/* Append a comma-separated list of names to a column. */
static int read_list(struct snap_reader *r, enum name_space space, char *text,
                     struct buf *column)
{
	struct buf list = { 0 };
	int status = reader_names(r, space, text, &list);

	if (status == 0)
		reader_append(column, &list);
	buf_free(&list);
	return status;
}

static int read_reservation(struct snap_reader *r, char *rest)
{
	char *name = reader_part(&rest, ' '), *nodes = NULL, *users = NULL;

	reader_defaults(SECTION_RESV, r->value);
	for (char *text; (text = reader_part(&rest, ' '));) {
		char *key = reader_part(&text, '=');
		int status = 1;

		if (!strcmp(key, "nodes"))
			nodes = text;
		else if (!strcmp(key, "users"))
			users = text;
		else if (*key)
			status =
			    reader_field(r, SECTION_RESV, r->value, key, text);
		if (status < 0)
			return -1;
		if (!status)
			return reader_bad(r, "unknown key", key);
	}
	APPEND(&r->resv_node_first, uint32_t, COUNT(&r->resv_node, uint32_t));
	APPEND(&r->resv_user_first, uint32_t, COUNT(&r->resv_user, uint32_t));
	if (reader_new_name(r, SPACE_RESV, name) < 0 ||
	    reader_must_say(r, SECTION_RESV, "start") < 0 ||
	    reader_must_say(r, SECTION_RESV, "end") < 0 ||
	    read_list(r, SPACE_NODE, nodes, &r->resv_node) < 0 ||
	    read_list(r, SPACE_USER, users, &r->resv_user) < 0)
		return -1;
	reader_end_row(r, SECTION_RESV, r->value);
	return 0;
}

static int read_policy(struct snap_reader *r, char *rest)
{
	if (r->rows[SECTION_POLICY])
		return reader_bad(r, "this stands here twice:", "policy");
	if (read_fields(r, SECTION_POLICY, rest) < 0)
		return -1;
	reader_end_row(r, SECTION_POLICY, r->value);
	return 0;
}

static int read_promise(struct snap_reader *r, char *rest)
{
	char *text = reader_part(&rest, ' ');
	char *start = rest ? reader_part(&rest, ' ') : NULL;
	struct snap_promise it = {
		.node_first = COUNT(&r->promise_node, uint32_t),
	};
	int64_t job;

	if (!start || !rest)
		return reader_bad(r, "a promise is JOB TIME NODES, not", text);
	if (reader_int(r, text, 1, INT64_MAX, &job) < 0 ||
	    reader_int(r, start, 0, INT64_MAX, &it.start) < 0 ||
	    reader_claim(r, rest, &r->promise_node) < 0)
		return -1;
	it.job = (uint64_t)job;
	it.n = COUNT(&r->promise_node, uint32_t) - it.node_first;
	buf_add(&r->promise, &it, sizeof(it));
	return 0;
}

static int read_gen(struct snap_reader *r, const char *text)
{
	int64_t gen;

	if (reader_int(r, text, 0, INT64_MAX, &gen) < 0)
		return -1;
	r->snap->gen = (uint64_t)gen;
	return 0;
}

static int read_line(struct snap_reader *r, char *line)
{
	char *rest = line, *keyword;

	rest[strcspn(rest, "#")] = 0;
	for (char *c = rest; *c; c++) {
		if (*c == '\t' || *c == '\r')
			*c = ' ';
	}
	rest += strspn(rest, " ");
	keyword = reader_part(&rest, ' ');
	if (!*keyword)
		return 0;
	if (rest)
		rest += strspn(rest, " ");
	if (!rest || !*rest)
		return reader_bad(r, "nothing follows", keyword);
	if (!strcmp(keyword, "now"))
		return reader_int(r, rest, 0, INT64_MAX, &r->snap->now);
	if (!strcmp(keyword, "gen"))
		return read_gen(r, rest);
	if (!strcmp(keyword, "policy"))
		return read_policy(r, rest);
	if (!strcmp(keyword, "node"))
		return reader_node(r, rest);
	if (!strcmp(keyword, "run"))
		return reader_run(r, rest);
	if (!strcmp(keyword, "pend"))
		return reader_pend(r, rest);
	if (!strcmp(keyword, "pool"))
		return read_plain(r, SECTION_POOL, SPACE_POOL, rest);
	if (!strcmp(keyword, "level"))
		return read_level(r, rest);
	if (!strcmp(keyword, "device"))
		return read_plain(r, SECTION_DEV, SPACE_DEV, rest);
	if (!strcmp(keyword, "domain"))
		return read_plain(r, SECTION_DOMAIN, SPACE_DOMAIN, rest);
	if (!strcmp(keyword, "queue"))
		return read_plain(r, SECTION_QUEUE, SPACE_QUEUE, rest);
	if (!strcmp(keyword, "license"))
		return read_plain(r, SECTION_LICENSE, SPACE_LICENSE, rest);
	if (!strcmp(keyword, "array"))
		return read_plain(r, SECTION_ARRAY, SPACE_ARRAY, rest);
	if (!strcmp(keyword, "reservation"))
		return read_reservation(r, rest);
	if (!strcmp(keyword, "promise"))
		return read_promise(r, rest);
	return reader_bad(r, "unknown keyword", keyword);
}

/* Copy a column to the arena, followed by an element of zeros. */
static const void *keep(const struct snap_reader *r, const struct buf *column)
{
	void *p = arena_alloc(r->arena, column->len + sizeof(int64_t), 1);

	return column->len ? memcpy(p, column->data, column->len) : p;
}

/* Append the end of the last slice to the column `first`, which has the
 * beginnings of the slices, and copy `first` to the arena. */
static const uint32_t *keep_first(struct snap_reader *r, struct buf *first,
                                  size_t end)
{
	APPEND(first, uint32_t, (uint32_t)end);
	return keep(r, first);
}

static const char *const *keep_names(const struct snap_reader *r,
                                     enum name_space space)
{
	return keep(r, &r->name[space]);
}

static void keep_policy(struct snap_reader *r)
{
	const struct section *sec = &snap_section[SECTION_POLICY];

	if (!r->rows[SECTION_POLICY]) {
		reader_defaults(SECTION_POLICY, r->value);
		reader_end_row(r, SECTION_POLICY, r->value);
	}
	for (size_t k = 0; k < sec->nfields; k++)
		memcpy((char *)r->snap + sec->field[k].column,
		       r->field[SECTION_POLICY][k].data,
		       field_size(sec->field[k].kind));
}

static void keep_fields(struct snap_reader *r)
{
	char *snap = (char *)r->snap;

	keep_policy(r);
	for (int i = SECTION_POLICY + 1; i < NSECTIONS; i++) {
		const struct section *sec = &snap_section[i];

		memcpy(snap + sec->count, &r->rows[i], sizeof(r->rows[i]));
		for (size_t k = 0; k < sec->nfields; k++) {
			const void *column = keep(r, &r->field[i][k]);

			memcpy(snap + sec->field[k].column, &column,
			       sizeof(column));
		}
	}
}

static void keep_pieces(struct snap_reader *r)
{
	struct snap *s = r->snap;

	s->piece.n = COUNT(&r->piece_kind, uint8_t);
	if (!s->piece.n)
		return;
	s->node.piece_first = keep_first(r, &r->piece_first, s->piece.n);
	s->piece.kind = keep(r, &r->piece_kind);
	s->piece.numa = keep(r, &r->piece_numa);
	s->piece.root = keep(r, &r->piece_root);
}

static void keep_nodes(struct snap_reader *r)
{
	struct snap *s = r->snap;

	s->pool.name = keep_names(r, SPACE_POOL);
	s->nlevels = COUNT(&r->name[SPACE_LEVEL], char *);
	s->level = keep_names(r, SPACE_LEVEL);
	s->dev.name = keep_names(r, SPACE_DEV);
	s->domain.name = keep_names(r, SPACE_DOMAIN);
	s->node.name = keep_names(r, SPACE_NODE);
	s->gpu.n = COUNT(&r->gpu_numa, uint8_t);
	s->cpu.n = COUNT(&r->numa, uint8_t);
	s->node.gpu_first = keep_first(r, &r->gpu_first, s->gpu.n);
	s->node.cpu_first = keep_first(r, &r->cpu_first, s->cpu.n);
	s->node.numa_first =
	    keep_first(r, &r->numa_first, COUNT(&r->numa_mem, int64_t));
	s->node.feature_first =
	    keep_first(r, &r->feature_first, COUNT(&r->feature, uint32_t));
	s->node.taint_first =
	    keep_first(r, &r->taint_first, COUNT(&r->taint, uint32_t));
	s->gpu.type = keep(r, &r->gpu_type);
	s->gpu.numa = keep(r, &r->gpu_numa);
	s->gpu.link = keep(r, &r->gpu_link);
	s->gpu.free = keep(r, &r->gpu_free);
	s->gpu.parts = r->has_parts ? keep(r, &r->gpu_parts) : NULL;
	s->gpu.root = r->has_roots ? keep(r, &r->gpu_root) : NULL;
	keep_pieces(r);
	s->cpu.core = keep(r, &r->core);
	s->cpu.numa = keep(r, &r->numa);
	s->cpu.free = keep(r, &r->thread_free);
	s->numa_mem = keep(r, &r->numa_mem);
	s->feature = keep(r, &r->feature);
	s->taint = keep(r, &r->taint);
}

static void keep_reservations(struct snap_reader *r)
{
	struct snap *s = r->snap;

	s->resv.name = keep_names(r, SPACE_RESV);
	s->resv.node_first =
	    keep_first(r, &r->resv_node_first, COUNT(&r->resv_node, uint32_t));
	s->resv.user_first =
	    keep_first(r, &r->resv_user_first, COUNT(&r->resv_user, uint32_t));
	s->resv_node = keep(r, &r->resv_node);
	s->resv_user = keep(r, &r->resv_user);
}

/* A member without "since" begins to wait now. */
static void keep_members(struct snap_reader *r)
{
	uint32_t n = COUNT(&r->member, struct snap_member);
	struct snap_member *m = (struct snap_member *)(void *)r->member.data;

	for (uint32_t i = 0; i < n; i++) {
		if (m[i].since == SNAP_NEVER)
			m[i].since = r->snap->now;
	}
	r->snap->member = keep(r, &r->member);
}

/* Put all claims into one list: those of running jobs, then those of
 * waiting jobs. */
static void keep_claims(struct snap_reader *r)
{
	uint32_t nrun = COUNT(&r->run_claim, uint32_t);
	uint32_t npend = COUNT(&r->pend_claim, uint32_t);
	uint32_t *first = (uint32_t *)(void *)r->pend_claim_first.data;

	for (uint32_t i = 0; i < r->rows[SECTION_PEND]; i++)
		first[i] += nrun;
	r->snap->run.claim_first = keep_first(r, &r->run_claim_first, nrun);
	r->snap->pend.claim_first =
	    keep_first(r, &r->pend_claim_first, nrun + npend);
	reader_append(&r->run_claim, &r->pend_claim);
	r->snap->claim = keep(r, &r->run_claim);
}

/* Copy the tasks of running jobs to the arena. If no NUMA nodes are given for
 * the memory of a task, use those of snap_task_numas(). */
static void keep_tasks(struct snap_reader *r)
{
	struct snap *s = r->snap;
	struct snap_task *task;
	uint32_t n = COUNT(&r->task, struct snap_task);
	struct snap_task end = { .cpu_first =
		                     COUNT(&r->cpu_use, struct snap_cpu_use) };

	s->run.task_first = keep_first(r, &r->task_first, n);
	buf_add(&r->task, &end, sizeof(end));
	task = (struct snap_task *)(void *)r->task.data;
	s->cpu_use = keep(r, &r->cpu_use);
	for (uint32_t i = 0; i < n; i++) {
		if (!task[i].numas && snap_node_nnumas(s, task[i].node))
			task[i].numas =
			    snap_task_numas(s, &task[i], s->cpu_use);
	}
	s->task = keep(r, &r->task);
	s->held = s->piece.n ? keep(r, &r->held) : NULL;
}

static void keep_jobs(struct snap_reader *r)
{
	struct snap *s = r->snap;

	s->queue.name = keep_names(r, SPACE_QUEUE);
	s->user.n = COUNT(&r->name[SPACE_USER], char *);
	s->user.name = keep_names(r, SPACE_USER);
	s->license.name = keep_names(r, SPACE_LICENSE);
	s->array.name = keep_names(r, SPACE_ARRAY);
	s->nwords = COUNT(&r->name[SPACE_WORD], char *);
	s->word = keep_names(r, SPACE_WORD);
	s->req.rule_first =
	    keep_first(r, &r->rule_first, COUNT(&r->rule, int32_t));
	s->req.prefer_first =
	    keep_first(r, &r->prefer_first, COUNT(&r->prefer, int32_t));
	s->req.want_first =
	    keep_first(r, &r->want_first, COUNT(&r->want, uint32_t));
	s->req.avoid_first =
	    keep_first(r, &r->avoid_first, COUNT(&r->avoid, uint32_t));
	s->req.shun_first =
	    keep_first(r, &r->shun_first, COUNT(&r->shun, uint32_t));
	s->req.beside_first =
	    keep_first(r, &r->beside_first, COUNT(&r->beside, uint64_t));
	s->req.license_first =
	    keep_first(r, &r->license_first,
	               COUNT(&r->license_use, struct snap_license_use));
	s->rule = keep(r, &r->rule);
	s->prefer = keep(r, &r->prefer);
	s->want = keep(r, &r->want);
	s->avoid = keep(r, &r->avoid);
	s->shun = keep(r, &r->shun);
	s->beside = keep(r, &r->beside);
	s->license_use = keep(r, &r->license_use);
	s->run.job = keep(r, &r->run_job);
	s->run.req = keep(r, &r->run_req);
	keep_tasks(r);
	s->pend.req = keep(r, &r->pend_req);
	s->pend.resumes = keep(r, &r->resumes);
	s->pend.member_first = keep_first(
	    r, &r->member_first, COUNT(&r->member, struct snap_member));
	keep_claims(r);
	s->npromises = COUNT(&r->promise, struct snap_promise);
	s->promise = keep(r, &r->promise);
	s->promise_node = keep(r, &r->promise_node);
	keep_members(r);
	keep_reservations(r);
}

/* Derive free amounts from the running jobs where the text does not give them.
 */
static void derive_free(struct snap_reader *r)
{
	struct snap *s = r->snap;
	struct snap_free f = snap_free_derive(s, r->arena);

	for (uint32_t i = 0; i < s->node.n; i++) {
		if (s->node.cpu_free[i] != FIELD_DERIVED)
			f.cpu[i] = s->node.cpu_free[i];
		if (s->node.mem_free[i] != FIELD_DERIVED)
			f.mem[i] = s->node.mem_free[i];
		if (s->node.tmp_free[i] != FIELD_DERIVED)
			f.tmp[i] = s->node.tmp_free[i];
		if (s->node.slot_free[i] != FIELD_DERIVED)
			f.slot[i] = s->node.slot_free[i];
		if (!field_is_derived(&s->node.dev_free[i]))
			f.dev[i] = s->node.dev_free[i];
	}
	for (uint32_t i = 0; i < s->gpu.n; i++) {
		if (s->gpu.free[i] != FREE_DERIVED)
			f.gpu[i] = s->gpu.free[i];
	}
	for (uint32_t i = 0; i < s->cpu.n; i++) {
		if (s->cpu.free[i] != FREE_DERIVED)
			f.thread[i] = s->cpu.free[i];
	}
	for (uint32_t i = 0; i < s->license.n; i++) {
		if (s->license.free[i] != FIELD_DERIVED)
			f.license[i] = s->license.free[i];
	}
	s->node.cpu_free = f.cpu;
	s->node.mem_free = f.mem;
	s->node.tmp_free = f.tmp;
	s->node.slot_free = f.slot;
	s->node.dev_free = f.dev;
	s->gpu.free = f.gpu;
	s->cpu.free = f.thread;
	s->license.free = f.license;
}

static void reader_fini(struct snap_reader *r)
{
	struct buf *const column[] = {
		&r->gpu_first,     &r->gpu_type,
		&r->gpu_numa,      &r->gpu_link,
		&r->gpu_root,      &r->piece_first,
		&r->piece_kind,    &r->piece_numa,
		&r->piece_root,    &r->held,
		&r->gpu_parts,     &r->gpu_free,
		&r->cpu_first,     &r->core,
		&r->numa,          &r->thread_free,
		&r->numa_first,    &r->numa_mem,
		&r->feature_first, &r->feature,
		&r->taint_first,   &r->taint,
		&r->rule_first,    &r->rule,
		&r->prefer_first,  &r->prefer,
		&r->want_first,    &r->want,
		&r->avoid_first,   &r->avoid,
		&r->shun_first,    &r->shun,
		&r->beside_first,  &r->beside,
		&r->license_first, &r->license_use,
		&r->pend_req,      &r->resumes,
		&r->member_first,  &r->member,
		&r->run_job,       &r->run_req,
		&r->task_first,    &r->task,
		&r->cpu_use,       &r->gpu_left,
		&r->thread_left,   &r->promise,
		&r->promise_node,  &r->run_claim_first,
		&r->run_claim,     &r->pend_claim_first,
		&r->pend_claim,    &r->resv_node_first,
		&r->resv_node,     &r->resv_user_first,
		&r->resv_user,
	};

	for (size_t i = 0; i < ARRAY_SIZE(column); i++)
		buf_free(column[i]);
	for (int i = 0; i < NSPACES; i++)
		buf_free(&r->name[i]);
	for (int i = 0; i < NSECTIONS; i++) {
		for (int k = 0; k < MAX_FIELDS; k++)
			buf_free(&r->field[i][k]);
	}
	map_free(&r->names);
	map_free(&r->shapes);
}

/* Check that each job is listed once: it either runs or waits in one row. */
static int check_jobs(const struct snap *s, struct err *err)
{
	const struct snap_pend *p = &s->pend;
	struct map seen = { 0 };
	int status = 0;

	for (uint32_t i = 0; i < s->run.n; i++)
		map_set(&seen, s->run.job[i], &seen);
	for (uint32_t i = 0; i < p->n && status == 0; i++)
		for (uint32_t m = p->member_first[i];
		     m < p->member_first[i + 1] && status == 0; m++) {
			uint64_t job = s->member[m].job;

			if (p->resumes[i] == SNAP_NONE && map_find(&seen, job))
				status = err_set(
				    err, EINVAL,
				    "snapshot: job %llu runs or waits already",
				    (unsigned long long)job);
			map_set(&seen, job, &seen);
		}
	map_free(&seen);
	return status;
}

const struct snap *snap_read(const char *text, struct arena *arena,
                             struct err *err)
{
	struct snap_reader r = { .arena = arena, .err = err };
	char *rest = arena_strdup(arena, text);
	int status = 0;

	r.snap = arena_array(arena, struct snap, 1);
	for (char *line; status == 0 && (line = reader_part(&rest, '\n'));) {
		r.line++;
		status = read_line(&r, line);
	}
	if (status == 0) {
		keep_fields(&r);
		keep_nodes(&r);
		keep_jobs(&r);
		derive_free(&r);
		status = snap_check(r.snap, err);
	}
	if (status == 0)
		status = check_jobs(r.snap, err);
	reader_fini(&r);
	return status < 0 ? NULL : r.snap;
}
