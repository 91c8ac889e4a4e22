/* reader.c - text to snapshots: names, numbers, fields */
#include "aischedd/sched/text/reader.h"

#include <string.h>

#include "libcommon/limits.h"
#include "libcommon/parse.h"

int reader_bad(const struct snap_reader *r, const char *what, const char *text)
{
	return err_set(r->err, EINVAL, "line %u: %s '%s'", r->line, what, text);
}

int reader_in_line(const struct snap_reader *r)
{
	return err_wrap(r->err, "line %u", r->line);
}

char *reader_part(char **list, char sep)
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

/* Replace each %XX by its character, in place. */
static int unescape(const struct snap_reader *r, char *s)
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
			return reader_bad(r, "bad % in", s);
		*to++ = (char)(high << 4 | low);
		from += 2;
	}
	*to = 0;
	return 0;
}

const struct snap_name *reader_find(const struct snap_reader *r,
                                    enum name_space space, const char *text)
{
	const struct snap_name *n =
	    map_find(&r->names, hash_bytes(space, text, strlen(text)));

	/* Skip names of other name spaces that have the same hash. */
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

static uint32_t add_name(struct snap_reader *r, enum name_space space,
                         const char *text)
{
	uint64_t hash = hash_bytes(space, text, strlen(text));
	struct snap_name *n = arena_array(r->arena, struct snap_name, 1);

	n->text = arena_strdup(r->arena, text);
	n->index = COUNT(&r->name[space], char *);
	n->next = map_find(&r->names, hash);
	map_set(&r->names, hash, n);
	APPEND(&r->name[space], const char *, n->text);
	return n->index;
}

int reader_name(struct snap_reader *r, enum name_space space, char *text,
                uint32_t *ret)
{
	static const char *const kind[NSPACES] = {
		[SPACE_POOL] = "unknown pool",
		[SPACE_LEVEL] = "unknown level",
		[SPACE_DOMAIN] = "unknown domain",
		[SPACE_NODE] = "unknown node",
		[SPACE_QUEUE] = "unknown queue",
		[SPACE_LICENSE] = "unknown licence",
		[SPACE_RESV] = "unknown reservation",
		[SPACE_JOB] = "no running job",
	};
	const struct snap_name *n;

	if (unescape(r, text) < 0)
		return -1;
	n = reader_find(r, space, text);
	if (n)
		*ret = n->index;
	else if (space == SPACE_WORD || space == SPACE_USER)
		*ret = add_name(r, space, text);
	else
		return reader_bad(r, kind[space], text);
	return 0;
}

int reader_new_name(struct snap_reader *r, enum name_space space, char *text)
{
	if (unescape(r, text) < 0)
		return -1;
	if (reader_find(r, space, text))
		return reader_bad(r, "this stands here twice:", text);
	add_name(r, space, text);
	return 0;
}

int reader_int(const struct snap_reader *r, const char *text, int64_t min,
               int64_t max, int64_t *ret)
{
	return parse_int(text, min, max, ret, r->err) < 0 ? reader_in_line(r)
	                                                  : 0;
}

int reader_u32(const struct snap_reader *r, const char *text, uint32_t max,
               uint32_t *ret)
{
	int64_t v;

	if (reader_int(r, text, 0, max, &v) < 0)
		return -1;
	*ret = (uint32_t)v;
	return 0;
}

/* Read an amount, which may be negative because free amounts can be. */
static int read_amount(const struct snap_reader *r, enum field_kind kind,
                       const char *text, int64_t *ret)
{
	const char *digits = text + (*text == '-');
	int status = kind == FIELD_MIB
	                 ? parse_mib(digits, 'M', ret, r->err)
	                 : parse_milli(digits, (int64_t)1 << 50, ret, r->err);

	if (status < 0)
		return reader_in_line(r);
	if (digits > text)
		*ret = -*ret;
	return 0;
}

int reader_mib(const struct snap_reader *r, const char *text, int64_t *ret)
{
	return read_amount(r, FIELD_MIB, text, ret);
}

/* Read amounts such as "cpus:8,mem:64G". */
static int read_amounts(const struct snap_reader *r, char *text, int64_t *ret)
{
	static const char *const word[RES_N] = {
		[RES_CPU] = "cpus", [RES_MEM] = "mem", [RES_GPU] = "gpus"
	};

	for (char *part; (part = reader_part(&text, ','));) {
		char *number = part, *name = reader_part(&number, ':');
		int i = 0;

		while (i < RES_N && strcmp(name, word[i]) != 0)
			i++;
		if (i == RES_N || !number)
			return reader_bad(r, "bad amount", name);
		if (read_amount(r, i == RES_MEM ? FIELD_MIB : FIELD_MILLI,
		                number, &ret[i]) < 0)
			return -1;
	}
	return 0;
}

/* Read numbers of devices such as "rdma:2,fpga:1". */
static int read_devs(struct snap_reader *r, char *text, int64_t *ret)
{
	struct device_counts counts = { { 0 } };

	for (char *part; (part = reader_part(&text, ','));) {
		char *number = part, *name = reader_part(&number, ':');
		uint32_t kind;
		int64_t n;

		if (!number)
			return reader_bad(r, "no number for", name);
		if (reader_name(r, SPACE_DEV, name, &kind) < 0 ||
		    reader_int(r, number, -DEVICE_MAX, DEVICE_MAX, &n) < 0)
			return -1;
		counts.n[kind] = (int16_t)n;
	}
	memcpy(ret, &counts, sizeof(counts));
	return 0;
}

static int read_pools(struct snap_reader *r, char *text, int64_t *ret)
{
	uint64_t pools = 0;

	for (char *part; (part = reader_part(&text, ','));) {
		uint32_t pool;

		if (!strcmp(part, "-"))
			continue;
		if (reader_name(r, SPACE_POOL, part, &pool) < 0)
			return -1;
		pools |= (uint64_t)1 << pool;
	}
	*ret = (int64_t)pools;
	return 0;
}

static int read_kinds(struct snap_reader *r, char *text, int64_t *ret)
{
	for (char *part; (part = reader_part(&text, ','));) {
		uint32_t kind;

		if (reader_name(r, SPACE_DEV, part, &kind) < 0)
			return -1;
		*ret |= (int64_t)1 << kind;
	}
	return 0;
}

static int read_word_of(const struct snap_reader *r, const char *const *names,
                        const char *text, int64_t *ret)
{
	for (int i = 0; names[i]; i++) {
		if (!strcmp(names[i], text)) {
			*ret = i;
			return 0;
		}
	}
	return reader_bad(r, "bad value", text);
}

static int read_value(struct snap_reader *r, const struct snap_field *f,
                      char *text, struct snap_value *ret)
{
	uint32_t index = 0;
	int status = -1;

	ret->said = true;
	if (!text && f->kind != FIELD_FLAG && f->kind != FIELD_NOT)
		return reader_bad(r, "no value for", f->key);
	switch (f->kind) {
	case FIELD_FLAG:
	case FIELD_NOT:
		if (text)
			return reader_bad(r, "no value goes with", f->key);
		ret->v[0] = f->kind == FIELD_FLAG;
		return 0;
	case FIELD_MILLI:
	case FIELD_MIB:
		return read_amount(r, f->kind, text, ret->v);
	case FIELD_AMOUNT:
		return read_amounts(r, text, ret->v);
	case FIELD_DEVS:
		return read_devs(r, text, ret->v);
	case FIELD_NAME:
		return read_word_of(r, f->names, text, ret->v);
	case FIELD_POOLS:
		return read_pools(r, text, ret->v);
	case FIELD_KINDS:
		ret->v[0] = 0;
		return read_kinds(r, text, ret->v);
	case FIELD_SPREAD:
	case FIELD_REF:
	case FIELD_LEVEL:
		ret->v[0] = LEVEL_NODE;
		if (f->kind == FIELD_SPREAD && !strcmp(text, "node") &&
		    !reader_find(r, f->space, text))
			return 0;
		status = reader_name(r, f->space, text, &index);
		ret->v[0] = index;
		return status;
	case FIELD_U32:
		return reader_int(r, text, 0, UINT32_MAX - 1, ret->v);
	case FIELD_U16:
		return reader_int(r, text, 0, UINT16_MAX, ret->v);
	case FIELD_U8:
		return reader_int(r, text, 0, UINT8_MAX, ret->v);
	case FIELD_I64:
		break;
	}
	return reader_int(r, text, INT64_MIN / 2, INT64_MAX / 2, ret->v);
}

void reader_defaults(int section, struct snap_value *value)
{
	const struct section *sec = &snap_section[section];

	for (size_t i = 0; i < sec->nfields; i++)
		value[i] =
		    (struct snap_value){ { sec->field[i].def, sec->field[i].def,
			                   sec->field[i].def },
			                 false };
}

int reader_field(struct snap_reader *r, int section, struct snap_value *value,
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
                         const struct snap_value *value)
{
	switch (field_size(kind)) {
	case sizeof(uint8_t):
		APPEND(column, uint8_t, (uint8_t)value->v[0]);
		break;
	case sizeof(uint16_t):
		APPEND(column, uint16_t, (uint16_t)value->v[0]);
		break;
	case sizeof(uint32_t):
		APPEND(column, uint32_t, (uint32_t)value->v[0]);
		break;
	case sizeof(int64_t):
		APPEND(column, int64_t, value->v[0]);
		break;
	default:
		buf_add(column, value->v, field_size(kind));
	}
}

void reader_end_row(struct snap_reader *r, int section,
                    const struct snap_value *value)
{
	const struct section *sec = &snap_section[section];

	for (size_t i = 0; i < sec->nfields; i++)
		append_value(&r->field[section][i], sec->field[i].kind,
		             &value[i]);
	r->rows[section]++;
}

struct snap_value *reader_value(struct snap_value *value, int section,
                                const char *key)
{
	size_t i = 0;

	while (strcmp(snap_section[section].field[i].key, key) != 0)
		i++;
	return &value[i];
}

void reader_fill(struct buf *column, size_t size, uint32_t first, uint32_t step,
                 uint32_t n)
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

int reader_names(struct snap_reader *r, enum name_space space, char *text,
                 struct buf *ret)
{
	buf_clear(ret);
	for (char *part; (part = reader_part(&text, ','));) {
		uint32_t index;

		if (reader_name(r, space, part, &index) < 0)
			return -1;
		APPEND(ret, uint32_t, index);
	}
	return 0;
}

int reader_claim(struct snap_reader *r, char *text, struct buf *ret)
{
	for (char *part; (part = reader_part(&text, ','));) {
		char *times = part, *name = reader_part(&times, '*');
		uint32_t node, n = 1;

		if (reader_name(r, SPACE_NODE, name, &node) < 0 ||
		    (times && reader_u32(r, times, LIMIT_TASKS, &n) < 0))
			return -1;
		if (COUNT(ret, uint32_t) + n > MAX_TASKS)
			return reader_bad(r, "too many claims with", name);
		reader_fill(ret, sizeof(node), node, 0, n);
	}
	return 0;
}

void reader_append(struct buf *column, const struct buf *list)
{
	buf_add(column, list->data, list->len);
}

void reader_need_one(struct snap_reader *r, int section, enum name_space space)
{
	struct snap_value value[MAX_FIELDS];

	if (r->rows[section])
		return;
	reader_defaults(section, value);
	add_name(r, space, "default");
	reader_end_row(r, section, value);
}

int reader_must_say(const struct snap_reader *r, int section, const char *key)
{
	const struct section *sec = &snap_section[section];

	for (size_t i = 0; i < sec->nfields; i++) {
		if (!strcmp(sec->field[i].key, key) && !r->value[i].said)
			return reader_bad(r, "needs a value:", key);
	}
	return 0;
}
