/* snap_read.c - text to snapshots */
#include <stdlib.h>
#include <string.h>

#include "aischedd/sched/snap_fields.h"
#include "aischedd/sched/snap_text.h"
#include "libcommon/hostlist.h"
#include "libcommon/limits.h"
#include "libcommon/map.h"
#include "libcommon/parse.h"

/* A few bytes of text must not become gigabytes of snapshot. */
enum { MAX_DEVICES = 1 << 22, MAX_TASKS = 1 << 20, MAX_MEMBERS = 1 << 22 };

enum { MAX_FIELDS = 16 };

struct name {
	struct name *next; /* of the same hash */
	const char *text;
	uint32_t index;
};

/* A request, and the text of it that two alike have in common. */
struct shape {
	struct shape *next; /* of the same hash */
	const char *key;
	size_t len;
	uint32_t index;
};

/* A value as it is read; amounts need three. */
struct value {
	int64_t v[RES_N];
	bool said;
};

struct reader {
	struct arena *arena;
	struct err *err;
	unsigned line;
	struct snap *snap;

	struct map names;         /* by hash of space and text */
	struct buf name[NSPACES]; /* const char *, by index */
	struct map shapes;

	/* Columns as they grow; in the arena at the end. */
	struct buf field[NSECTIONS][MAX_FIELDS];
	uint32_t rows[NSECTIONS];
	struct value value[MAX_FIELDS]; /* of the line, of its section */
	struct value req[MAX_FIELDS];   /* of the line, of its request */
	struct buf gpu_first, gpu_type, gpu_numa, gpu_link, gpu_free;
	struct buf cpu_first, core, numa, thread_free;
	struct buf feature_first, feature, taint_first, taint;
	struct buf rule_first, rule, want_first, want, avoid_first, avoid;
	struct buf license_first, license_use;
	struct buf pend_req, resumes, member_first, member;
	struct buf run_job, run_req, task_first, task, cpu_use;

	/* What the running tasks read so far left of the devices. */
	struct buf gpu_left, thread_left;
};

#define APPEND(buf, type, value) buf_add((buf), &(type){ value }, sizeof(type))
#define COUNT(buf, type)         ((uint32_t)((buf)->len / sizeof(type)))

static int bad(const struct reader *r, const char *what, const char *text)
{
	return err_set(r->err, EINVAL, "line %u: %s '%s'", r->line, what, text);
}

/* Put the line before an error of a parser. */
static int in_line(const struct reader *r)
{
	return err_wrap(r->err, "line %u", r->line);
}

/* --- words and names ------------------------------------------------------ */

/* The next part of *list up to sep, or NULL; *list is cut. */
static char *next_part(char **list, char sep)
{
	char *part = *list, *end;

	if (!part)
		return NULL;
	end = strchr(part, sep);
	*list = end ? end + 1 : NULL;
	if (end)
		*end = 0;
	return part;
}

static int hex(char c)
{
	static const char digits[] = "0123456789ABCDEF";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* %XX to what it stands for, in place. */
static int unescape(const struct reader *r, char *s)
{
	char *to = s;

	for (const char *from = s; *from; from++) {
		int high, low;

		if (*from != '%') {
			*to++ = *from;
			continue;
		}
		high = hex(from[1]);
		low = high < 0 ? -1 : hex(from[2]);
		if (low < 0 || !(high | low))
			return bad(r, "bad % in", s);
		*to++ = (char)(high << 4 | low);
		from += 2;
	}
	*to = 0;
	return 0;
}

static const struct name *find_name(const struct reader *r,
                                    enum name_space space, const char *text)
{
	const struct name *n =
	    map_find(&r->names, hash_bytes(space, text, strlen(text)));

	/* Names of other spaces may share the hash. */
	for (; n; n = n->next) {
		const char *const *name =
		    (const char *const *)r->name[space].data;

		if (!strcmp(n->text, text) &&
		    n->index < COUNT(&r->name[space], char *) &&
		    name[n->index] == n->text)
			return n;
	}
	return NULL;
}

static uint32_t add_name(struct reader *r, enum name_space space,
                         const char *text)
{
	uint64_t hash = hash_bytes(space, text, strlen(text));
	struct name *n = arena_array(r->arena, struct name, 1);

	n->text = arena_strdup(r->arena, text);
	n->index = COUNT(&r->name[space], char *);
	n->next = map_find(&r->names, hash);
	map_set(&r->names, hash, n);
	APPEND(&r->name[space], const char *, n->text);
	return n->index;
}

/* Words and users exist as soon as somebody names them; the rest must be
 * known.  text is unescaped in place. */
static int read_name(struct reader *r, enum name_space space, char *text,
                     uint32_t *ret)
{
	static const char *const kind[NSPACES] = {
		[SPACE_POOL] = "unknown pool",
		[SPACE_DOMAIN] = "unknown domain",
		[SPACE_NODE] = "unknown node",
		[SPACE_QUEUE] = "unknown queue",
		[SPACE_LICENSE] = "unknown licence",
		[SPACE_JOB] = "no running job",
	};
	const struct name *n;

	if (unescape(r, text) < 0)
		return -1;
	n = find_name(r, space, text);
	if (n)
		*ret = n->index;
	else if (space == SPACE_WORD || space == SPACE_USER)
		*ret = add_name(r, space, text);
	else
		return bad(r, kind[space], text);
	return 0;
}

static int new_name(struct reader *r, enum name_space space, char *text)
{
	if (unescape(r, text) < 0)
		return -1;
	if (find_name(r, space, text))
		return bad(r, "this stands here twice:", text);
	add_name(r, space, text);
	return 0;
}

/* --- numbers -------------------------------------------------------------- */

static int read_int(const struct reader *r, const char *text, int64_t min,
                    int64_t max, int64_t *ret)
{
	return parse_int(text, min, max, ret, r->err) < 0 ? in_line(r) : 0;
}

static int read_u32(const struct reader *r, const char *text, uint32_t max,
                    uint32_t *ret)
{
	int64_t v;

	if (read_int(r, text, 0, max, &v) < 0)
		return -1;
	*ret = (uint32_t)v;
	return 0;
}

/* Free amounts may be negative. */
static int read_amount(const struct reader *r, enum field_kind kind,
                       const char *text, int64_t *ret)
{
	const char *digits = text + (*text == '-');
	int status = kind == FIELD_MIB
	                 ? parse_mib(digits, 'M', ret, r->err)
	                 : parse_milli(digits, (int64_t)1 << 50, ret, r->err);

	if (status < 0)
		return in_line(r);
	if (digits > text)
		*ret = -*ret;
	return 0;
}

/* "cpus:8,mem:64G" */
static int read_amounts(const struct reader *r, char *text, int64_t *ret)
{
	static const char *const word[RES_N] = {
		[RES_CPU] = "cpus", [RES_MEM] = "mem", [RES_GPU] = "gpus"
	};

	for (char *part; (part = next_part(&text, ','));) {
		char *number = part, *name = next_part(&number, ':');
		int i = 0;

		while (i < RES_N && strcmp(name, word[i]) != 0)
			i++;
		if (i == RES_N || !number)
			return bad(r, "bad amount", name);
		if (read_amount(r, i == RES_MEM ? FIELD_MIB : FIELD_MILLI,
		                number, &ret[i]) < 0)
			return -1;
	}
	return 0;
}

static int read_pools(struct reader *r, char *text, int64_t *ret)
{
	uint64_t pools = 0;

	for (char *part; (part = next_part(&text, ','));) {
		uint32_t pool;

		if (!strcmp(part, "-"))
			continue;
		if (read_name(r, SPACE_POOL, part, &pool) < 0)
			return -1;
		pools |= (uint64_t)1 << pool;
	}
	*ret = (int64_t)pools;
	return 0;
}

static int read_word_of(const struct reader *r, const char *const *names,
                        const char *text, int64_t *ret)
{
	for (int i = 0; names[i]; i++) {
		if (!strcmp(names[i], text)) {
			*ret = i;
			return 0;
		}
	}
	return bad(r, "bad value", text);
}

static int read_value(struct reader *r, const struct field *f, char *text,
                      struct value *ret)
{
	uint32_t index = 0;
	int status = -1;

	ret->said = true;
	if (!text && f->kind != FIELD_FLAG)
		return bad(r, "no value for", f->key);
	switch (f->kind) {
	case FIELD_FLAG:
		if (text)
			return bad(r, "no value goes with", f->key);
		ret->v[0] = 1;
		return 0;
	case FIELD_MILLI:
	case FIELD_MIB:
		return read_amount(r, f->kind, text, ret->v);
	case FIELD_AMOUNT:
		return read_amounts(r, text, ret->v);
	case FIELD_NAME:
		return read_word_of(r, f->names, text, ret->v);
	case FIELD_POOLS:
		return read_pools(r, text, ret->v);
	case FIELD_REF:
		status = read_name(r, f->space, text, &index);
		ret->v[0] = index;
		return status;
	case FIELD_U32:
		return read_int(r, text, 0, UINT32_MAX - 1, ret->v);
	case FIELD_U8:
		return read_int(r, text, 0, UINT8_MAX, ret->v);
	case FIELD_I64:
		break;
	}
	return read_int(r, text, INT64_MIN / 2, INT64_MAX / 2, ret->v);
}

static void set_defaults(int section, struct value *value)
{
	const struct section *sec = &snap_section[section];

	for (size_t i = 0; i < sec->nfields; i++)
		value[i] =
		    (struct value){ { sec->field[i].def, sec->field[i].def,
			              sec->field[i].def },
			            false };
}

/* 1: it is a field of the section and was read; 0: it is not. */
static int try_field(struct reader *r, int section, struct value *value,
                     const char *key, char *text)
{
	const struct section *sec = &snap_section[section];

	for (size_t i = 0; i < sec->nfields; i++) {
		if (strcmp(sec->field[i].key, key) != 0)
			continue;
		return read_value(r, &sec->field[i], text, &value[i]) < 0 ? -1
		                                                          : 1;
	}
	return 0;
}

static void append_value(struct buf *column, enum field_kind kind,
                         const struct value *value)
{
	switch (field_size(kind)) {
	case sizeof(uint8_t):
		APPEND(column, uint8_t, (uint8_t)value->v[0]);
		break;
	case sizeof(uint32_t):
		APPEND(column, uint32_t, (uint32_t)value->v[0]);
		break;
	case sizeof(int64_t):
		APPEND(column, int64_t, value->v[0]);
		break;
	default:
		buf_add(column, value->v, sizeof(value->v));
	}
}

static void end_row(struct reader *r, int section, const struct value *value)
{
	const struct section *sec = &snap_section[section];

	for (size_t i = 0; i < sec->nfields; i++)
		append_value(&r->field[section][i], sec->field[i].kind,
		             &value[i]);
	r->rows[section]++;
}

/* What was said on this line for a field. */
static struct value *value_of(struct value *value, int section, const char *key)
{
	size_t i = 0;

	while (strcmp(snap_section[section].field[i].key, key) != 0)
		i++;
	return &value[i];
}

/* Append n values of size bytes: first, first + step, ... */
static void append_run(struct buf *column, size_t size, uint32_t first,
                       uint32_t step, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++, first += step) {
		if (size == sizeof(uint8_t))
			APPEND(column, uint8_t, (uint8_t)first);
		else if (size == sizeof(uint16_t))
			APPEND(column, uint16_t, (uint16_t)first);
		else
			APPEND(column, uint32_t, first);
	}
}

/* --- nodes ---------------------------------------------------------------- */

/* One item of a list: "5", "0-7", "0*4", or a word. */
static int read_item(struct reader *r, char *item, size_t size, uint32_t room,
                     struct buf *ret)
{
	char *times = item, *last = next_part(&times, '*');
	uint32_t max = size == sizeof(uint8_t) ? UINT8_MAX : UINT16_MAX;
	uint32_t first = SNAP_NONE, end, n = 1, step = 0;

	if (times && read_u32(r, times, LIMIT_CPUS, &n) < 0)
		return -1;
	if (size == sizeof(uint32_t)) {
		if (strcmp(item, "-") != 0 &&
		    read_name(r, SPACE_WORD, item, &first) < 0)
			return -1;
	} else {
		item = next_part(&last, '-');
		if (read_u32(r, item, max, &first) < 0 ||
		    (last && read_u32(r, last, max, &end) < 0))
			return -1;
		if (last && (times || end < first))
			return bad(r, "bad range to", last);
		n = last ? end - first + 1 : n;
		step = last != NULL;
	}
	if (n > room)
		return bad(r, "too many values from", item);
	append_run(ret, size, first, step, n);
	return 0;
}

/* n values of size bytes each: those of the list, or first, first + step,
 * ... when there is none. */
static int read_list(struct reader *r, char *text, size_t size, uint32_t n,
                     uint32_t first, uint32_t step, struct buf *ret)
{
	const char *list = text;

	buf_clear(ret);
	if (!text) {
		append_run(ret, size, first, step, n);
		return 0;
	}
	for (char *item; (item = next_part(&text, ','));) {
		if (read_item(r, item, size, n - (uint32_t)(ret->len / size),
		              ret) < 0)
			return -1;
	}
	return ret->len == n * size ? 0 : bad(r, "too few values from", list);
}

static int read_names(struct reader *r, enum name_space space, char *text,
                      struct buf *ret)
{
	buf_clear(ret);
	for (char *part; (part = next_part(&text, ','));) {
		uint32_t index;

		if (read_name(r, space, part, &index) < 0)
			return -1;
		APPEND(ret, uint32_t, index);
	}
	return 0;
}

/* Lists of a node line, as text and as they go into the columns. */
enum {
	GPU_TYPE,
	GPU_NUMA,
	GPU_LINK,
	GPU_FREE,
	CORE,
	NUMA,
	THREAD_FREE,
	FEATURES,
	TAINTS,
	NLISTS
};

#define FREE_DERIVED UINT16_MAX

struct node_line {
	uint32_t ngpus, ncpus;
	char *text[NLISTS];
	struct buf list[NLISTS];
};

static int read_node_key(struct reader *r, struct node_line *line,
                         const char *key, char *text)
{
	static const char *const word[NLISTS] = {
		[GPU_TYPE] = "gpu_type",
		[GPU_NUMA] = "gpu_numa",
		[GPU_LINK] = "gpu_link",
		[GPU_FREE] = "gpu_free",
		[CORE] = "core",
		[NUMA] = "numa",
		[THREAD_FREE] = "thread_free",
		[FEATURES] = "features",
		[TAINTS] = "taints",
	};

	if (!text)
		return bad(r, "no value for", key);
	if (!strcmp(key, "gpus"))
		return read_u32(r, text, LIMIT_GPUS, &line->ngpus);
	if (!strcmp(key, "threads"))
		return read_u32(r, text, LIMIT_CPUS, &line->ncpus);
	for (int i = 0; i < NLISTS; i++) {
		if (!strcmp(key, word[i])) {
			line->text[i] = text;
			return 0;
		}
	}
	return bad(r, "unknown key", key);
}

static int read_node_lists(struct reader *r, struct node_line *l)
{
	struct buf *b = l->list;
	char **t = l->text;

	/* A type that is said once is that of all. */
	if (t[GPU_TYPE] && !strpbrk(t[GPU_TYPE], ",*") && l->ngpus) {
		uint32_t type;

		if (read_name(r, SPACE_WORD, t[GPU_TYPE], &type) < 0)
			return -1;
		append_run(&b[GPU_TYPE], 4, type, 0, l->ngpus);
	} else if (read_list(r, t[GPU_TYPE], 4, l->ngpus, SNAP_NONE, 0,
	                     &b[GPU_TYPE]) < 0) {
		return -1;
	}
	if (read_list(r, t[GPU_NUMA], 1, l->ngpus, 0, 0, &b[GPU_NUMA]) < 0 ||
	    read_list(r, t[GPU_LINK], 1, l->ngpus, 0, 0, &b[GPU_LINK]) < 0 ||
	    read_list(r, t[GPU_FREE], 2, l->ngpus, FREE_DERIVED, 0,
	              &b[GPU_FREE]) < 0 ||
	    read_list(r, t[CORE], 2, l->ncpus, 0, 1, &b[CORE]) < 0 ||
	    read_list(r, t[NUMA], 1, l->ncpus, 0, 0, &b[NUMA]) < 0 ||
	    read_list(r, t[THREAD_FREE], 2, l->ncpus, FREE_DERIVED, 0,
	              &b[THREAD_FREE]) < 0 ||
	    read_names(r, SPACE_WORD, t[FEATURES], &b[FEATURES]) < 0)
		return -1;
	return read_names(r, SPACE_WORD, t[TAINTS], &b[TAINTS]);
}

static void append(struct buf *column, const struct buf *list)
{
	buf_add(column, list->data, list->len);
}

static int add_node(struct reader *r, const struct node_line *l, char *name)
{
	if (r->rows[SECTION_NODE] == LIMIT_NODES ||
	    COUNT(&r->gpu_left, uint16_t) + COUNT(&r->thread_left, uint16_t) >
	        MAX_DEVICES)
		return bad(r, "too many nodes or devices with", name);
	if (new_name(r, SPACE_NODE, name) < 0)
		return -1;
	end_row(r, SECTION_NODE, r->value);
	APPEND(&r->gpu_first, uint32_t, COUNT(&r->gpu_numa, uint8_t));
	APPEND(&r->cpu_first, uint32_t, COUNT(&r->numa, uint8_t));
	APPEND(&r->feature_first, uint32_t, COUNT(&r->feature, uint32_t));
	APPEND(&r->taint_first, uint32_t, COUNT(&r->taint, uint32_t));
	append(&r->gpu_type, &l->list[GPU_TYPE]);
	append(&r->gpu_numa, &l->list[GPU_NUMA]);
	append(&r->gpu_link, &l->list[GPU_LINK]);
	append(&r->gpu_free, &l->list[GPU_FREE]);
	append(&r->core, &l->list[CORE]);
	append(&r->numa, &l->list[NUMA]);
	append(&r->thread_free, &l->list[THREAD_FREE]);
	append(&r->feature, &l->list[FEATURES]);
	append(&r->taint, &l->list[TAINTS]);
	append_run(&r->gpu_left, sizeof(uint16_t), 1000, 0, l->ngpus);
	append_run(&r->thread_left, sizeof(uint16_t), 1000, 0, l->ncpus);
	return 0;
}

/* Scenarios need not say that there is a pool or a queue. */
static void need_one(struct reader *r, int section, enum name_space space)
{
	struct value value[MAX_FIELDS];

	if (r->rows[section])
		return;
	set_defaults(section, value);
	add_name(r, space, "default");
	end_row(r, section, value);
}

static int must_say(const struct reader *r, int section, const char *key)
{
	const struct section *sec = &snap_section[section];

	for (size_t i = 0; i < sec->nfields; i++) {
		if (!strcmp(sec->field[i].key, key) && !r->value[i].said)
			return bad(r, "needs a value:", key);
	}
	return 0;
}

static int read_node_line(struct reader *r, char *rest, struct node_line *line,
                          struct hostlist *hosts)
{
	char *name = next_part(&rest, ' ');

	need_one(r, SECTION_POOL, SPACE_POOL);
	set_defaults(SECTION_NODE, r->value);
	for (char *text; (text = next_part(&rest, ' '));) {
		char *key = next_part(&text, '=');
		int status =
		    *key ? try_field(r, SECTION_NODE, r->value, key, text) : 1;

		if (status < 0 ||
		    (!status && read_node_key(r, line, key, text) < 0))
			return -1;
	}
	if (must_say(r, SECTION_NODE, "cpus") < 0 ||
	    read_node_lists(r, line) < 0)
		return -1;
	/* A name as such may be longer than one in a list. */
	if (!strpbrk(name, "[,"))
		return add_node(r, line, name);
	if (hostlist_parse(hosts, name, r->err) < 0)
		return in_line(r);
	for (size_t i = 0; i < hosts->n; i++) {
		if (add_node(r, line, hosts->name[i]) < 0)
			return -1;
	}
	return 0;
}

static int read_node(struct reader *r, char *rest)
{
	struct node_line line = { 0 };
	struct hostlist hosts = { 0 };
	int status = read_node_line(r, rest, &line, &hosts);

	for (int i = 0; i < NLISTS; i++)
		buf_free(&line.list[i]);
	hostlist_free(&hosts);
	return status;
}

/* --- requests ------------------------------------------------------------- */

struct req_line {
	char *rule, *want, *avoid, *licenses;
	struct buf rules, wants, avoids, uses;
};

/* 1: it is a key of a request and was read. */
static int try_req_key(struct reader *r, struct req_line *line, const char *key,
                       char *text)
{
	const struct {
		const char *word;
		char **text;
	} list[] = { { "rule", &line->rule },
		     { "want", &line->want },
		     { "avoid", &line->avoid },
		     { "licenses", &line->licenses } };

	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		if (strcmp(key, list[i].word) != 0)
			continue;
		if (!text)
			return bad(r, "no value for", key);
		*list[i].text = text;
		return 1;
	}
	return try_field(r, SECTION_REQ, r->req, key, text);
}

static int read_rule(struct reader *r, char *text, struct buf *ret)
{
	for (char *part; (part = next_part(&text, ','));) {
		uint32_t word;

		if (!strcmp(part, "&")) {
			APPEND(ret, int32_t, RULE_AND);
		} else if (!strcmp(part, "|")) {
			APPEND(ret, int32_t, RULE_OR);
		} else {
			if (read_name(r, SPACE_WORD, part, &word) < 0)
				return -1;
			APPEND(ret, int32_t, (int32_t)word);
		}
	}
	return 0;
}

static int read_licenses(struct reader *r, char *text, struct buf *ret)
{
	for (char *part; (part = next_part(&text, ','));) {
		char *count = part, *name = next_part(&count, ':');
		/* Padding is part of the key of the request. */
		struct snap_license_use use;

		memset(&use, 0, sizeof(use));
		use.count = 1;
		if (read_name(r, SPACE_LICENSE, name, &use.license) < 0 ||
		    (count && read_int(r, count, 0, INT32_MAX, &use.count) < 0))
			return -1;
		buf_add(ret, &use, sizeof(use));
	}
	return 0;
}

static void append_key(struct buf *key, const struct buf *list)
{
	APPEND(key, uint64_t, list->len);
	append(key, list);
}

/* The request of this line; one that was there before is used again. */
static uint32_t intern_req(struct reader *r, const struct req_line *line)
{
	struct buf key = { 0 };
	struct shape *shape;
	uint64_t hash;

	for (size_t i = 0; i < snap_section[SECTION_REQ].nfields; i++)
		APPEND(&key, int64_t, r->req[i].v[0]);
	append_key(&key, &line->rules);
	append_key(&key, &line->wants);
	append_key(&key, &line->avoids);
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
	APPEND(&r->want_first, uint32_t, COUNT(&r->want, uint32_t));
	APPEND(&r->avoid_first, uint32_t, COUNT(&r->avoid, uint32_t));
	APPEND(&r->license_first, uint32_t,
	       COUNT(&r->license_use, struct snap_license_use));
	append(&r->rule, &line->rules);
	append(&r->want, &line->wants);
	append(&r->avoid, &line->avoids);
	append(&r->license_use, &line->uses);
	end_row(r, SECTION_REQ, r->req);
	return shape->index;
}

static int end_req(struct reader *r, struct req_line *line, uint32_t *ret)
{
	struct value *min = value_of(r->req, SECTION_REQ, "min_tasks");
	struct value *pools = value_of(r->req, SECTION_REQ, "pools");

	if (!min->said)
		min->v[0] = value_of(r->req, SECTION_REQ, "tasks")->v[0];
	if (!pools->said)
		pools->v[0] = -1;
	if (read_rule(r, line->rule, &line->rules) < 0 ||
	    read_names(r, SPACE_NODE, line->want, &line->wants) < 0 ||
	    read_names(r, SPACE_NODE, line->avoid, &line->avoids) < 0 ||
	    read_licenses(r, line->licenses, &line->uses) < 0)
		return -1;
	*ret = intern_req(r, line);
	return 0;
}

static void req_line_free(struct req_line *line)
{
	buf_free(&line->rules);
	buf_free(&line->wants);
	buf_free(&line->avoids);
	buf_free(&line->uses);
}

/* --- running jobs --------------------------------------------------------- */

/* "0-3", "8" */
static int read_range(const struct reader *r, char *text, uint32_t max,
                      uint32_t *ret_first, uint32_t *ret_last)
{
	char *last = text, *first = next_part(&last, '-');

	if (read_u32(r, first, max, ret_first) < 0 ||
	    (last && read_u32(r, last, max, ret_last) < 0))
		return -1;
	if (!last)
		*ret_last = *ret_first;
	return *ret_last < *ret_first ? bad(r, "bad range to", last) : 0;
}

/* A task while it is read, and the devices that are left on its node. */
struct task_line {
	struct snap_task task;
	uint16_t *gpu_left, *thread_left;
	uint32_t ngpus, ncpus;
	bool gpus_said, cpus_said;
};

static struct task_line task_on(struct reader *r, uint32_t node)
{
	const uint32_t *gpu = (const uint32_t *)r->gpu_first.data + node;
	const uint32_t *cpu = (const uint32_t *)r->cpu_first.data + node;
	bool last = node + 1 == r->rows[SECTION_NODE];
	struct task_line t = {
		.task = { .node = node,
		          .cpu_first =
		              COUNT(&r->cpu_use, struct snap_cpu_use) },
	};

	t.ngpus = (last ? COUNT(&r->gpu_numa, uint8_t) : gpu[1]) - gpu[0];
	t.ncpus = (last ? COUNT(&r->numa, uint8_t) : cpu[1]) - cpu[0];
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

/* "g0-3+5/500": the part after the slash counts for all. */
static int read_task_gpus(struct reader *r, struct task_line *t, char *text)
{
	char *milli = text, *list = next_part(&milli, '/');
	uint32_t each = 1000;

	t->gpus_said = true;
	if (!strcmp(list, "-"))
		return 0;
	if (milli && read_u32(r, milli, 1000, &each) < 0)
		return -1;
	t->task.gpu_milli = (uint16_t)each;
	for (char *part; (part = next_part(&list, '+'));) {
		uint32_t first, last;

		if (read_range(r, part, LIMIT_GPUS - 1, &first, &last) < 0)
			return -1;
		if (last >= t->ngpus)
			return bad(r, "the node has fewer GPUs than", part);
		for (; first <= last; first++) {
			t->task.gpus |= (uint64_t)1 << first;
			take(&t->gpu_left[first], each);
		}
	}
	return 0;
}

static void add_cpu(struct reader *r, struct task_line *t, uint32_t cpu,
                    uint32_t milli)
{
	struct snap_cpu_use use = { (uint16_t)cpu, (uint16_t)milli };

	buf_add(&r->cpu_use, &use, sizeof(use));
	take(&t->thread_left[cpu], milli);
}

/* "c0-7+8/250" */
static int read_task_cpus(struct reader *r, struct task_line *t, char *text)
{
	t->cpus_said = true;
	if (!strcmp(text, "-"))
		return 0;
	for (char *part; (part = next_part(&text, '+'));) {
		char *milli = part, *range = next_part(&milli, '/');
		uint32_t first, last, each = 1000;

		if (read_range(r, range, LIMIT_CPUS, &first, &last) < 0 ||
		    (milli && read_u32(r, milli, 1000, &each) < 0))
			return -1;
		if (last >= t->ncpus)
			return bad(r, "the node has fewer CPUs than", range);
		for (; first <= last; first++)
			add_cpu(r, t, first, each);
	}
	return 0;
}

/* A task that does not say has the lowest devices with room. */
static void choose_devices(struct reader *r, struct task_line *t,
                           bool suspended)
{
	int64_t gpus = value_of(r->req, SECTION_REQ, "gpus")->v[0];
	int64_t cpus = value_of(r->req, SECTION_REQ, "cpus")->v[0];
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

static int read_task(struct reader *r, char *text, bool suspended)
{
	char *details = text, *name = next_part(&details, ':');
	char *times = name;
	uint32_t node, n = 1;

	name = next_part(&times, '*');
	if (read_name(r, SPACE_NODE, name, &node) < 0 ||
	    (times && read_u32(r, times, LIMIT_TASKS, &n) < 0))
		return -1;
	if (times && details)
		return bad(r, "devices of many tasks:", details);
	if (COUNT(&r->task, struct snap_task) + n > MAX_TASKS)
		return bad(r, "too many tasks with", name);
	while (n--) {
		struct task_line t = task_on(r, node);

		for (char *part; (part = next_part(&details, ':'));) {
			if (*part != 'g' && *part != 'c')
				return bad(r, "bad devices", part);
			if ((*part == 'g' ? read_task_gpus : read_task_cpus)(
				r, &t, part + 1) < 0)
				return -1;
		}
		choose_devices(r, &t, suspended);
		buf_add(&r->task, &t.task, sizeof(t.task));
	}
	return 0;
}

static void user_if_unsaid(struct reader *r, int section)
{
	struct value *user = value_of(r->value, section, "user");
	char name[] = "u";
	uint32_t index;

	if (!user->said && read_name(r, SPACE_USER, name, &index) == 0)
		user->v[0] = index;
}

/* The keys of a run or pend line; *ret_own is for the one that is neither a
 * field nor of the request. */
static int read_keys(struct reader *r, int section, char *rest,
                     struct req_line *line, const char *own_key, char **ret_own)
{
	need_one(r, SECTION_QUEUE, SPACE_QUEUE);
	set_defaults(section, r->value);
	set_defaults(SECTION_REQ, r->req);
	for (char *text; (text = next_part(&rest, ' '));) {
		char *key = next_part(&text, '=');
		int status = 1;

		if (!strcmp(key, own_key))
			*ret_own = text ? text : key;
		else if (*key)
			status = try_field(r, section, r->value, key, text);
		if (!status)
			status = try_req_key(r, line, key, text);
		if (!status)
			return bad(r, "unknown key", key);
		if (status < 0)
			return -1;
	}
	user_if_unsaid(r, section);
	return 0;
}

static int read_job(struct reader *r, const char *text, uint64_t *ret)
{
	int64_t job;

	if (read_int(r, text, 1, INT64_MAX, &job) < 0)
		return -1;
	*ret = (uint64_t)job;
	return 0;
}

static int read_run_line(struct reader *r, char *rest, struct req_line *line)
{
	char *name = next_part(&rest, ' '), *on = NULL;
	uint64_t job;
	uint32_t req;
	bool suspended;

	if (read_job(r, name, &job) < 0 ||
	    read_keys(r, SECTION_RUN, rest, line, "on", &on) < 0 ||
	    end_req(r, line, &req) < 0 || new_name(r, SPACE_JOB, name) < 0)
		return -1;
	suspended = value_of(r->value, SECTION_RUN, "suspended")->v[0];
	APPEND(&r->task_first, uint32_t, COUNT(&r->task, struct snap_task));
	for (char *part; (part = next_part(&on, ','));) {
		if (read_task(r, part, suspended) < 0)
			return -1;
	}
	APPEND(&r->run_job, uint64_t, job);
	APPEND(&r->run_req, uint32_t, req);
	end_row(r, SECTION_RUN, r->value);
	return 0;
}

static int read_run(struct reader *r, char *rest)
{
	struct req_line line = { 0 };
	int status = read_run_line(r, rest, &line);

	req_line_free(&line);
	return status;
}

/* --- waiting jobs --------------------------------------------------------- */

/* "12", "15-18", "20*100/8" */
static int read_member(struct reader *r, char *text)
{
	char *room = text, *count = next_part(&room, '/');
	char *last = next_part(&count, '*'), *first = next_part(&last, '-');
	struct snap_member m = { .count = 1 };
	uint64_t end;

	if (read_job(r, first, &m.job) < 0 ||
	    (count && read_u32(r, count, INT32_MAX, &m.count) < 0))
		return -1;
	m.room = m.count;
	if (room && read_u32(r, room, UINT32_MAX, &m.room) < 0)
		return -1;
	end = m.job;
	if (last && read_job(r, last, &end) < 0)
		return -1;
	if (end < m.job || (last && (count || room)) ||
	    end - m.job >= MAX_MEMBERS ||
	    COUNT(&r->member, struct snap_member) + (end - m.job) > MAX_MEMBERS)
		return bad(r, "bad range from", first);
	for (; m.job <= end; m.job++)
		buf_add(&r->member, &m, sizeof(m));
	return 0;
}

static int read_pend_line(struct reader *r, char *rest, struct req_line *line)
{
	char *members = next_part(&rest, ' '), *resumes = NULL;
	const char *first = members;
	uint32_t req, run = SNAP_NONE;

	APPEND(&r->member_first, uint32_t,
	       COUNT(&r->member, struct snap_member));
	for (char *part; (part = next_part(&members, ','));) {
		if (read_member(r, part) < 0)
			return -1;
	}
	if (read_keys(r, SECTION_PEND, rest, line, "resumes", &resumes) < 0 ||
	    end_req(r, line, &req) < 0)
		return -1;
	if (resumes) {
		const struct name *name = find_name(r, SPACE_JOB, first);

		if (!name)
			return bad(r, "no running job", first);
		run = name->index;
	}
	APPEND(&r->pend_req, uint32_t, req);
	APPEND(&r->resumes, uint32_t, run);
	end_row(r, SECTION_PEND, r->value);
	return 0;
}

static int read_pend(struct reader *r, char *rest)
{
	struct req_line line = { 0 };
	int status = read_pend_line(r, rest, &line);

	req_line_free(&line);
	return status;
}

/* --- the rest ------------------------------------------------------------- */

/* A line that is a name and fields. */
static int read_plain(struct reader *r, int section, enum name_space space,
                      char *rest)
{
	char *name = next_part(&rest, ' ');

	if (section == SECTION_POOL && r->rows[section] == LIMIT_POOLS)
		return bad(r, "too many pools with", name);
	set_defaults(section, r->value);
	for (char *text; (text = next_part(&rest, ' '));) {
		char *key = next_part(&text, '=');
		int status =
		    *key ? try_field(r, section, r->value, key, text) : 1;

		if (status < 0)
			return -1;
		if (!status)
			return bad(r, "unknown key", key);
	}
	if (new_name(r, space, name) < 0 ||
	    (section == SECTION_LICENSE && must_say(r, section, "total") < 0))
		return -1;
	end_row(r, section, r->value);
	return 0;
}

static int read_gen(struct reader *r, const char *text)
{
	int64_t gen;

	if (read_int(r, text, 0, INT64_MAX, &gen) < 0)
		return -1;
	r->snap->gen = (uint64_t)gen;
	return 0;
}

static int read_line(struct reader *r, char *line)
{
	char *rest = line, *keyword;

	rest[strcspn(rest, "#")] = 0;
	for (char *c = rest; *c; c++) {
		if (*c == '\t' || *c == '\r')
			*c = ' ';
	}
	rest += strspn(rest, " ");
	keyword = next_part(&rest, ' ');
	if (!*keyword)
		return 0;
	if (rest)
		rest += strspn(rest, " ");
	if (!rest || !*rest)
		return bad(r, "nothing follows", keyword);
	if (!strcmp(keyword, "now"))
		return read_int(r, rest, 0, INT64_MAX, &r->snap->now);
	if (!strcmp(keyword, "gen"))
		return read_gen(r, rest);
	if (!strcmp(keyword, "node"))
		return read_node(r, rest);
	if (!strcmp(keyword, "run"))
		return read_run(r, rest);
	if (!strcmp(keyword, "pend"))
		return read_pend(r, rest);
	if (!strcmp(keyword, "pool"))
		return read_plain(r, SECTION_POOL, SPACE_POOL, rest);
	if (!strcmp(keyword, "domain"))
		return read_plain(r, SECTION_DOMAIN, SPACE_DOMAIN, rest);
	if (!strcmp(keyword, "queue"))
		return read_plain(r, SECTION_QUEUE, SPACE_QUEUE, rest);
	if (!strcmp(keyword, "license"))
		return read_plain(r, SECTION_LICENSE, SPACE_LICENSE, rest);
	return bad(r, "unknown keyword", keyword);
}

/* A column as it stays: in the arena, one element longer than it was. */
static const void *keep(const struct reader *r, const struct buf *column)
{
	void *p = arena_alloc(r->arena, column->len + sizeof(int64_t), 1);

	return column->len ? memcpy(p, column->data, column->len) : p;
}

/* Where the slices begin, and where the last one ends. */
static const uint32_t *keep_first(struct reader *r, struct buf *first,
                                  size_t end)
{
	APPEND(first, uint32_t, (uint32_t)end);
	return keep(r, first);
}

static const char *const *keep_names(const struct reader *r,
                                     enum name_space space)
{
	return keep(r, &r->name[space]);
}

static void keep_fields(struct reader *r)
{
	char *snap = (char *)r->snap;

	for (int i = 0; i < NSECTIONS; i++) {
		const struct section *sec = &snap_section[i];

		memcpy(snap + sec->count, &r->rows[i], sizeof(r->rows[i]));
		for (size_t k = 0; k < sec->nfields; k++) {
			const void *column = keep(r, &r->field[i][k]);

			memcpy(snap + sec->field[k].column, &column,
			       sizeof(column));
		}
	}
}

static void keep_nodes(struct reader *r)
{
	struct snap *s = r->snap;

	s->pool.name = keep_names(r, SPACE_POOL);
	s->domain.name = keep_names(r, SPACE_DOMAIN);
	s->node.name = keep_names(r, SPACE_NODE);
	s->gpu.n = COUNT(&r->gpu_numa, uint8_t);
	s->cpu.n = COUNT(&r->numa, uint8_t);
	s->node.gpu_first = keep_first(r, &r->gpu_first, s->gpu.n);
	s->node.cpu_first = keep_first(r, &r->cpu_first, s->cpu.n);
	s->node.feature_first =
	    keep_first(r, &r->feature_first, COUNT(&r->feature, uint32_t));
	s->node.taint_first =
	    keep_first(r, &r->taint_first, COUNT(&r->taint, uint32_t));
	s->gpu.type = keep(r, &r->gpu_type);
	s->gpu.numa = keep(r, &r->gpu_numa);
	s->gpu.link = keep(r, &r->gpu_link);
	s->gpu.free = keep(r, &r->gpu_free);
	s->cpu.core = keep(r, &r->core);
	s->cpu.numa = keep(r, &r->numa);
	s->cpu.free = keep(r, &r->thread_free);
	s->feature = keep(r, &r->feature);
	s->taint = keep(r, &r->taint);
}

static void keep_jobs(struct reader *r)
{
	struct snap *s = r->snap;
	struct snap_task end = { .cpu_first =
		                     COUNT(&r->cpu_use, struct snap_cpu_use) };

	s->queue.name = keep_names(r, SPACE_QUEUE);
	s->user.n = COUNT(&r->name[SPACE_USER], char *);
	s->user.name = keep_names(r, SPACE_USER);
	s->license.name = keep_names(r, SPACE_LICENSE);
	s->nwords = COUNT(&r->name[SPACE_WORD], char *);
	s->word = keep_names(r, SPACE_WORD);
	s->req.rule_first =
	    keep_first(r, &r->rule_first, COUNT(&r->rule, int32_t));
	s->req.want_first =
	    keep_first(r, &r->want_first, COUNT(&r->want, uint32_t));
	s->req.avoid_first =
	    keep_first(r, &r->avoid_first, COUNT(&r->avoid, uint32_t));
	s->req.license_first =
	    keep_first(r, &r->license_first,
	               COUNT(&r->license_use, struct snap_license_use));
	s->rule = keep(r, &r->rule);
	s->want = keep(r, &r->want);
	s->avoid = keep(r, &r->avoid);
	s->license_use = keep(r, &r->license_use);
	s->run.job = keep(r, &r->run_job);
	s->run.req = keep(r, &r->run_req);
	s->run.task_first =
	    keep_first(r, &r->task_first, COUNT(&r->task, struct snap_task));
	buf_add(&r->task, &end, sizeof(end));
	s->task = keep(r, &r->task);
	s->cpu_use = keep(r, &r->cpu_use);
	s->pend.req = keep(r, &r->pend_req);
	s->pend.resumes = keep(r, &r->resumes);
	s->pend.member_first = keep_first(
	    r, &r->member_first, COUNT(&r->member, struct snap_member));
	s->member = keep(r, &r->member);
}

/* What was not said to be free follows from what runs. */
static void derive_free(struct reader *r)
{
	struct snap *s = r->snap;
	struct snap_free f = snap_free_derive(s, r->arena);

	for (uint32_t i = 0; i < s->node.n; i++) {
		if (s->node.cpu_free[i] != FIELD_DERIVED)
			f.cpu[i] = s->node.cpu_free[i];
		if (s->node.mem_free[i] != FIELD_DERIVED)
			f.mem[i] = s->node.mem_free[i];
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
	s->gpu.free = f.gpu;
	s->cpu.free = f.thread;
	s->license.free = f.license;
}

static void reader_fini(struct reader *r)
{
	struct buf *const column[] = {
		&r->gpu_first,     &r->gpu_type,      &r->gpu_numa,
		&r->gpu_link,      &r->gpu_free,      &r->cpu_first,
		&r->core,          &r->numa,          &r->thread_free,
		&r->feature_first, &r->feature,       &r->taint_first,
		&r->taint,         &r->rule_first,    &r->rule,
		&r->want_first,    &r->want,          &r->avoid_first,
		&r->avoid,         &r->license_first, &r->license_use,
		&r->pend_req,      &r->resumes,       &r->member_first,
		&r->member,        &r->run_job,       &r->run_req,
		&r->task_first,    &r->task,          &r->cpu_use,
		&r->gpu_left,      &r->thread_left,
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

const struct snap *snap_read(const char *text, struct arena *arena,
                             struct err *err)
{
	struct reader r = { .arena = arena, .err = err };
	char *rest = arena_strdup(arena, text);
	int status = 0;

	r.snap = arena_array(arena, struct snap, 1);
	for (char *line; status == 0 && (line = next_part(&rest, '\n'));) {
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
	reader_fini(&r);
	return status < 0 ? NULL : r.snap;
}
