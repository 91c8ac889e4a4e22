/* read_job.c - text to snapshots: running and waiting jobs */
#include <stdio.h>
#include <string.h>

#include "aischedd/sched/text/reader.h"
#include "libcommon/constraint.h"
#include "libcommon/limits.h"

struct req_line {
	char *rule, *prefer, *want, *avoid, *shun, *beside, *licenses;
	struct buf rules, prefers, wants, avoids, shuns, besides, uses;
};

/* Read a key of a request. Returns 1, or 0 if a request has no such key. */
static int try_req_key(struct snap_reader *r, struct req_line *line,
                       const char *key, char *text)
{
	const struct {
		const char *word;
		char **text;
	} list[] = {
		{ "rule", &line->rule },        { "prefer", &line->prefer },
		{ "want", &line->want },        { "avoid", &line->avoid },
		{ "shun", &line->shun },        { "beside", &line->beside },
		{ "licenses", &line->licenses }
	};

	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		if (strcmp(key, list[i].word) != 0)
			continue;
		if (!text)
			return reader_bad(r, "no value for", key);
		*list[i].text = text;
		return 1;
	}
	return reader_field(r, SECTION_REQ, r->req, key, text);
}

static int read_rule(struct snap_reader *r, char *text, struct buf *ret)
{
	for (char *part; (part = reader_part(&text, ','));) {
		uint32_t word;

		if (!strcmp(part, "&")) {
			APPEND(ret, int32_t, RULE_AND);
		} else if (!strcmp(part, "|")) {
			APPEND(ret, int32_t, RULE_OR);
		} else if (!strcmp(part, "!")) {
			APPEND(ret, int32_t, RULE_NOT);
		} else if (*part == '*') {
			uint32_t n;

			if (reader_u32(r, part + 1, CONSTRAINT_MAX_COUNT, &n) <
			    0)
				return -1;
			if (!n)
				return reader_bad(
				    r, "rule is not well formed:", part);
			APPEND(ret, int32_t, RULE_NOT - (int32_t)n);
		} else {
			if (reader_name(r, SPACE_WORD, part, &word) < 0)
				return -1;
			APPEND(ret, int32_t, (int32_t)word);
		}
	}
	return 0;
}

static int read_jobs(struct snap_reader *r, char *text, struct buf *ret)
{
	for (char *part; (part = reader_part(&text, ','));) {
		int64_t job;

		if (reader_int(r, part, 1, INT64_MAX, &job) < 0)
			return -1;
		APPEND(ret, uint64_t, (uint64_t)job);
	}
	return 0;
}

static int read_licenses(struct snap_reader *r, char *text, struct buf *ret)
{
	for (char *part; (part = reader_part(&text, ','));) {
		char *count = part, *name = reader_part(&count, ':');
		struct snap_license_use use = { 0 };

		use.count = 1;
		if (reader_name(r, SPACE_LICENSE, name, &use.license) < 0 ||
		    (count &&
		     reader_int(r, count, 0, INT32_MAX, &use.count) < 0))
			return -1;
		buf_add(ret, &use, sizeof(use));
	}
	return 0;
}

static void append_key(struct buf *key, const struct buf *list)
{
	APPEND(key, uint64_t, list->len);
	reader_append(key, list);
}

/* Returns the index of the request of this line; equal requests share one. */
static uint32_t intern_req(struct snap_reader *r, const struct req_line *line)
{
	struct buf key = { 0 };
	struct shape *shape;
	uint64_t hash;

	for (size_t i = 0; i < snap_section[SECTION_REQ].nfields; i++)
		buf_add(&key, r->req[i].v, sizeof(r->req[i].v));
	append_key(&key, &line->rules);
	append_key(&key, &line->prefers);
	append_key(&key, &line->wants);
	append_key(&key, &line->avoids);
	append_key(&key, &line->shuns);
	append_key(&key, &line->besides);
	append_key(&key, &line->uses);
	hash = hash_bytes(0, key.data, key.len);
	for (shape = map_find(&r->shapes, hash); shape; shape = shape->next) {
		if (shape->len == key.len &&
		    !memcmp(shape->key, key.data, key.len)) {
			buf_free(&key);
			return shape->index;
		}
	}
	shape = arena_array(r->arena, struct shape, 1);
	*shape = (struct shape){
		.next = map_find(&r->shapes, hash),
		.key = memcpy(arena_alloc(r->arena, key.len, 1), key.data,
		              key.len),
		.len = key.len,
		.index = r->rows[SECTION_REQ],
	};
	map_set(&r->shapes, hash, shape);
	buf_free(&key);
	APPEND(&r->rule_first, uint32_t, COUNT(&r->rule, int32_t));
	APPEND(&r->prefer_first, uint32_t, COUNT(&r->prefer, int32_t));
	APPEND(&r->want_first, uint32_t, COUNT(&r->want, uint32_t));
	APPEND(&r->avoid_first, uint32_t, COUNT(&r->avoid, uint32_t));
	APPEND(&r->shun_first, uint32_t, COUNT(&r->shun, uint32_t));
	APPEND(&r->beside_first, uint32_t, COUNT(&r->beside, uint64_t));
	APPEND(&r->license_first, uint32_t,
	       COUNT(&r->license_use, struct snap_license_use));
	reader_append(&r->rule, &line->rules);
	reader_append(&r->prefer, &line->prefers);
	reader_append(&r->want, &line->wants);
	reader_append(&r->avoid, &line->avoids);
	reader_append(&r->shun, &line->shuns);
	reader_append(&r->beside, &line->besides);
	reader_append(&r->license_use, &line->uses);
	reader_end_row(r, SECTION_REQ, r->req);
	return shape->index;
}

static int end_req(struct snap_reader *r, struct req_line *line, uint32_t *ret)
{
	struct snap_value *min = reader_value(r->req, SECTION_REQ, "min_tasks");
	struct snap_value *pools = reader_value(r->req, SECTION_REQ, "pools");

	if (!min->said)
		min->v[0] = reader_value(r->req, SECTION_REQ, "tasks")->v[0];
	if (!pools->said)
		pools->v[0] = -1;
	if (read_rule(r, line->rule, &line->rules) < 0 ||
	    read_rule(r, line->prefer, &line->prefers) < 0 ||
	    reader_names(r, SPACE_NODE, line->want, &line->wants) < 0 ||
	    reader_names(r, SPACE_NODE, line->avoid, &line->avoids) < 0 ||
	    reader_names(r, SPACE_NODE, line->shun, &line->shuns) < 0 ||
	    read_jobs(r, line->beside, &line->besides) < 0 ||
	    read_licenses(r, line->licenses, &line->uses) < 0)
		return -1;
	*ret = intern_req(r, line);
	return 0;
}

static void req_line_free(struct req_line *line)
{
	buf_free(&line->rules);
	buf_free(&line->prefers);
	buf_free(&line->wants);
	buf_free(&line->avoids);
	buf_free(&line->shuns);
	buf_free(&line->besides);
	buf_free(&line->uses);
}

/* Read a range of numbers, such as "0-3", or a single one, "8". */
static int read_range(const struct snap_reader *r, char *text, uint32_t max,
                      uint32_t *ret_first, uint32_t *ret_last)
{
	char *last = text, *first = reader_part(&last, '-');

	if (reader_u32(r, first, max, ret_first) < 0 ||
	    (last && reader_u32(r, last, max, ret_last) < 0))
		return -1;
	if (!last)
		*ret_last = *ret_first;
	return *ret_last < *ret_first ? reader_bad(r, "bad range to", last) : 0;
}

/* A task while it is read, and what is still free of the devices of its node.
 */
struct task_line {
	struct snap_task task;
	uint16_t *gpu_left, *thread_left;
	uint32_t ngpus, ncpus;
	uint32_t nnumas, npieces;
	uint64_t held;
	bool gpus_said, cpus_said;
};

static struct task_line task_on(struct snap_reader *r, uint32_t node)
{
	const uint32_t *gpu = (const uint32_t *)r->gpu_first.data + node;
	const uint32_t *cpu = (const uint32_t *)r->cpu_first.data + node;
	const uint32_t *numa = (const uint32_t *)r->numa_first.data + node;
	const uint32_t *piece = (const uint32_t *)r->piece_first.data + node;
	bool last = node + 1 == r->rows[SECTION_NODE];
	struct task_line t = {
		.task = { .node = node,
		          .cpu_first =
		              COUNT(&r->cpu_use, struct snap_cpu_use) },
	};

	t.ngpus = (last ? COUNT(&r->gpu_numa, uint8_t) : gpu[1]) - gpu[0];
	t.ncpus = (last ? COUNT(&r->numa, uint8_t) : cpu[1]) - cpu[0];
	t.npieces =
	    (last ? COUNT(&r->piece_kind, uint8_t) : piece[1]) - piece[0];
	t.nnumas = (last ? COUNT(&r->numa_mem, int64_t) : numa[1]) - numa[0];
	if (t.ngpus)
		t.gpu_left = (uint16_t *)r->gpu_left.data + gpu[0];
	if (t.ncpus)
		t.thread_left = (uint16_t *)r->thread_left.data + cpu[0];
	return t;
}

static void take(uint16_t *left, uint32_t milli)
{
	*left = *left > milli ? (uint16_t)(*left - milli) : 0;
}

/* Read "g0-3+5/500": the number after the slash applies to each of the GPUs. */
static int read_task_gpus(struct snap_reader *r, struct task_line *t,
                          char *text)
{
	char *milli = text, *list = reader_part(&milli, '/');
	uint32_t each = 1000;

	t->gpus_said = true;
	if (!strcmp(list, "-"))
		return 0;
	if (milli && reader_u32(r, milli, 1000, &each) < 0)
		return -1;
	t->task.gpu_milli = (uint16_t)each;
	for (char *part; (part = reader_part(&list, '+'));) {
		uint32_t first, last;

		if (read_range(r, part, LIMIT_GPUS - 1, &first, &last) < 0)
			return -1;
		if (last >= t->ngpus)
			return reader_bad(r, "the node has fewer GPUs than",
			                  part);
		for (; first <= last; first++) {
			if (t->gpu_left[first] < each)
				return reader_bad(
				    r, "tasks hold more than there is of GPU",
				    part);
			t->task.gpus |= (uint64_t)1 << first;
			take(&t->gpu_left[first], each);
		}
	}
	return 0;
}

static void add_cpu(struct snap_reader *r, struct task_line *t, uint32_t cpu,
                    uint32_t milli)
{
	struct snap_cpu_use use = { (uint16_t)cpu, (uint16_t)milli };

	buf_add(&r->cpu_use, &use, sizeof(use));
	take(&t->thread_left[cpu], milli);
}

/* Read the CPUs of a task, such as "c0-7+8/250" (after the letter). */
static int read_task_cpus(struct snap_reader *r, struct task_line *t,
                          char *text)
{
	t->cpus_said = true;
	if (!strcmp(text, "-"))
		return 0;
	for (char *part; (part = reader_part(&text, '+'));) {
		char *milli = part, *range = reader_part(&milli, '/');
		uint32_t first, last, each = 1000;

		if (read_range(r, range, LIMIT_CPUS, &first, &last) < 0 ||
		    (milli && reader_u32(r, milli, 1000, &each) < 0))
			return -1;
		if (last >= t->ncpus)
			return reader_bad(r, "the node has fewer CPUs than",
			                  range);
		for (; first <= last; first++)
			add_cpu(r, t, first, each);
	}
	return 0;
}

/* Read the NUMA nodes of a task's memory, such as "m0+1" (after the letter). */
static int read_task_numas(struct snap_reader *r, struct task_line *t,
                           char *text)
{
	for (char *part; (part = reader_part(&text, '+'));) {
		uint32_t numa;

		if (reader_u32(r, part, SNAP_NUMAS - 1, &numa) < 0)
			return -1;
		if (numa >= t->nnumas)
			return reader_bad(
			    r, "the node has fewer NUMA nodes than", part);
		t->task.numas |= (uint32_t)1 << numa;
	}
	return 0;
}

/* Read the slices of a task's partition, such as "u4-7" (after the letter). */
static int read_task_units(struct snap_reader *r, struct task_line *t,
                           char *text)
{
	uint32_t first, last;

	if (read_range(r, text, MIG_UNITS - 1, &first, &last) < 0)
		return -1;
	t->task.units = (uint8_t)((2u << last) - (1u << first));
	return 0;
}

/* Read the pieces of a task, such as "d0+2" (after the letter). */
static int read_task_pieces(struct snap_reader *r, struct task_line *t,
                            char *text)
{
	for (char *part; (part = reader_part(&text, '+'));) {
		uint32_t piece;

		if (reader_u32(r, part, LIMIT_DEVICES - 1, &piece) < 0)
			return -1;
		if (piece >= t->npieces)
			return reader_bad(r, "the node has fewer pieces than",
			                  part);
		t->held |= (uint64_t)1 << piece;
	}
	return 0;
}

/* Read the devices "g0-3", "u4-7", "c0-7", "d0" or "m0" of a task. */
static int read_task_part(struct snap_reader *r, struct task_line *t,
                          char *text)
{
	switch (*text) {
	case 'g':
		return read_task_gpus(r, t, text + 1);
	case 'u':
		return read_task_units(r, t, text + 1);
	case 'c':
		return read_task_cpus(r, t, text + 1);
	case 'd':
		return read_task_pieces(r, t, text + 1);
	case 'm':
		return read_task_numas(r, t, text + 1);
	default:
		return reader_bad(r, "bad devices", text);
	}
}

/* If no devices are given for a task, give it the lowest that have enough left.
 */
static void choose_devices(struct snap_reader *r, struct task_line *t,
                           bool suspended)
{
	int64_t gpus = reader_value(r->req, SECTION_REQ, "gpus")->v[0];
	int64_t cpus = reader_value(r->req, SECTION_REQ, "cpus")->v[0];
	uint16_t each = gpus < 1000 ? (uint16_t)gpus : 1000;

	for (uint32_t i = 0; i < t->ngpus && gpus > 0 && !t->gpus_said; i++) {
		if (t->gpu_left[i] < each)
			continue;
		t->task.gpus |= (uint64_t)1 << i;
		t->task.gpu_milli = each;
		take(&t->gpu_left[i], each);
		gpus -= each;
	}
	for (uint32_t i = 0;
	     i < t->ncpus && cpus > 0 && !t->cpus_said && !suspended; i++) {
		uint16_t milli = cpus < 1000 ? (uint16_t)cpus : 1000;

		if (t->thread_left[i] < milli)
			continue;
		add_cpu(r, t, i, milli);
		cpus -= milli;
	}
}

static int read_task(struct snap_reader *r, char *text, bool suspended)
{
	char *details = text, *name = reader_part(&details, ':');
	char *times = name;
	uint32_t node, n = 1;

	name = reader_part(&times, '*');
	if (reader_name(r, SPACE_NODE, name, &node) < 0 ||
	    (times && reader_u32(r, times, LIMIT_TASKS, &n) < 0))
		return -1;
	if (times && details)
		return reader_bad(r, "devices of many tasks:", details);
	if (COUNT(&r->task, struct snap_task) + n > MAX_TASKS)
		return reader_bad(r, "too many tasks with", name);
	while (n--) {
		struct task_line t = task_on(r, node);

		for (char *part; (part = reader_part(&details, ':'));) {
			if (read_task_part(r, &t, part) < 0)
				return -1;
		}
		choose_devices(r, &t, suspended);
		buf_add(&r->task, &t.task, sizeof(t.task));
		buf_add(&r->held, &t.held, sizeof(t.held));
	}
	return 0;
}

static void user_if_unsaid(struct snap_reader *r, int section)
{
	struct snap_value *user = reader_value(r->value, section, "user");
	char name[] = "u";
	uint32_t index;

	if (!user->said && reader_name(r, SPACE_USER, name, &index) == 0)
		user->v[0] = index;
}

/* A key that only run or pend lines have: it is neither a field nor part of the
 * request. text: its value; the key itself if it is a flag; NULL: not given. */
struct own_key {
	const char *word;
	char *text;
};

/* Read a key that is in the list `own`. Returns 1, or 0 if it is not there. */
static int try_own_key(struct own_key *own, char *key, char *text)
{
	for (; own->word; own++) {
		if (strcmp(key, own->word) != 0)
			continue;
		own->text = text ? text : key;
		return 1;
	}
	return 0;
}

/* Read the keys of a run or pend line. The list `own` ends with an entry whose
 * word is NULL. */
static int read_keys(struct snap_reader *r, int section, char *rest,
                     struct req_line *line, struct own_key *own)
{
	reader_need_one(r, SECTION_QUEUE, SPACE_QUEUE);
	reader_defaults(section, r->value);
	reader_defaults(SECTION_REQ, r->req);
	for (char *text; (text = reader_part(&rest, ' '));) {
		char *key = reader_part(&text, '=');
		int status = *key ? try_own_key(own, key, text) : 1;

		if (!status)
			status = reader_field(r, section, r->value, key, text);
		if (!status)
			status = try_req_key(r, line, key, text);
		if (!status)
			return reader_bad(r, "unknown key", key);
		if (status < 0)
			return -1;
	}
	user_if_unsaid(r, section);
	return 0;
}

static int read_job(struct snap_reader *r, const char *text, uint64_t *ret)
{
	int64_t job;

	if (reader_int(r, text, 1, INT64_MAX, &job) < 0)
		return -1;
	*ret = (uint64_t)job;
	return 0;
}

/* Add the name of a running job. A job may have two lines: one for the tasks
 * that stay, and one for the tasks that are ending. */
static int name_run(struct snap_reader *r, uint64_t job)
{
	bool ending = reader_value(r->value, SECTION_RUN, "ending")->v[0];
	char name[40];

	snprintf(name, sizeof(name), "%llu%s", (unsigned long long)job,
	         ending ? " ending" : "");
	return reader_new_name(r, SPACE_JOB, name);
}

static int read_run_line(struct snap_reader *r, char *rest,
                         struct req_line *line)
{
	struct own_key own[] = { { "on", NULL }, { "claim", NULL }, { 0 } };
	char *name = reader_part(&rest, ' ');
	uint64_t job;
	uint32_t req;
	bool suspended;

	if (read_job(r, name, &job) < 0 ||
	    read_keys(r, SECTION_RUN, rest, line, own) < 0 ||
	    end_req(r, line, &req) < 0 || name_run(r, job) < 0)
		return -1;
	APPEND(&r->run_claim_first, uint32_t, COUNT(&r->run_claim, uint32_t));
	if (reader_claim(r, own[1].text, &r->run_claim) < 0)
		return -1;
	suspended = reader_value(r->value, SECTION_RUN, "suspended")->v[0];
	APPEND(&r->task_first, uint32_t, COUNT(&r->task, struct snap_task));
	for (char *part; (part = reader_part(&own[0].text, ','));) {
		if (read_task(r, part, suspended) < 0)
			return -1;
	}
	APPEND(&r->run_job, uint64_t, job);
	APPEND(&r->run_req, uint32_t, req);
	reader_end_row(r, SECTION_RUN, r->value);
	return 0;
}

int reader_run(struct snap_reader *r, char *rest)
{
	struct req_line line = { 0 };
	int status = read_run_line(r, rest, &line);

	req_line_free(&line);
	return status;
}

/* Read members, such as "12", "15-18" or "20*100/8". */
static int read_member(struct snap_reader *r, char *text)
{
	char *room = text, *count = reader_part(&room, '/');
	char *last = reader_part(&count, '*'), *first = reader_part(&last, '-');
	struct snap_member m = { .count = 1, .since = SNAP_NEVER };
	uint64_t end;

	if (read_job(r, first, &m.job) < 0 ||
	    (count && reader_u32(r, count, INT32_MAX, &m.count) < 0))
		return -1;
	m.room = m.count;
	if (room && reader_u32(r, room, UINT32_MAX, &m.room) < 0)
		return -1;
	end = m.job;
	if (last && read_job(r, last, &end) < 0)
		return -1;
	if (end < m.job || (last && (count || room)) ||
	    end - m.job >= MAX_MEMBERS ||
	    COUNT(&r->member, struct snap_member) + (end - m.job) > MAX_MEMBERS)
		return reader_bad(r, "bad range from", first);
	for (; m.job <= end; m.job++)
		buf_add(&r->member, &m, sizeof(m));
	return 0;
}

/* Read "900,950*3" into the members from `first` on; the last value applies to
 * all members after it. */
static int read_since(struct snap_reader *r, char *text, uint32_t first)
{
	struct snap_member *m =
	    (struct snap_member *)(void *)r->member.data + first;
	const struct snap_member *end =
	    (struct snap_member *)(void *)r->member.data +
	    COUNT(&r->member, struct snap_member);
	int64_t since = SNAP_NEVER;

	for (char *part; (part = reader_part(&text, ','));) {
		char *times = part;
		uint32_t n = 1;

		part = reader_part(&times, '*');
		if (reader_int(r, part, 0, INT64_MAX, &since) < 0 ||
		    (times && reader_u32(r, times, MAX_MEMBERS, &n) < 0))
			return -1;
		if (n > end - m)
			return reader_bad(r, "too many values from", part);
		while (n--)
			m++->since = since;
	}
	for (; m < end; m++)
		m->since = since;
	return 0;
}

static int read_pend_line(struct snap_reader *r, char *rest,
                          struct req_line *line)
{
	struct own_key own[] = {
		{ "resumes", NULL }, { "claim", NULL }, { "since", NULL }, { 0 }
	};
	uint32_t from = COUNT(&r->member, struct snap_member);
	char *members = reader_part(&rest, ' ');
	const char *first = members;
	uint32_t req, run = SNAP_NONE;

	APPEND(&r->member_first, uint32_t, from);
	for (char *part; (part = reader_part(&members, ','));) {
		if (read_member(r, part) < 0)
			return -1;
	}
	if (read_keys(r, SECTION_PEND, rest, line, own) < 0 ||
	    end_req(r, line, &req) < 0 || read_since(r, own[2].text, from) < 0)
		return -1;
	APPEND(&r->pend_claim_first, uint32_t, COUNT(&r->pend_claim, uint32_t));
	if (reader_claim(r, own[1].text, &r->pend_claim) < 0)
		return -1;
	if (own[0].text) {
		const struct snap_name *name = reader_find(r, SPACE_JOB, first);

		if (!name)
			return reader_bad(r, "no running job", first);
		run = name->index;
	}
	APPEND(&r->pend_req, uint32_t, req);
	APPEND(&r->resumes, uint32_t, run);
	reader_end_row(r, SECTION_PEND, r->value);
	return 0;
}

int reader_pend(struct snap_reader *r, char *rest)
{
	struct req_line line = { 0 };
	int status = read_pend_line(r, rest, &line);

	req_line_free(&line);
	return status;
}
