/* conf_value.c - parse and format values of the configuration */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "libcommon/conf/conf_keys.h"
#include "libcommon/parse.h"

struct unit {
	const char *name;
	int64_t size;
};

/* Units from the largest to 1. */
static const struct unit mib_units[] = { { "T", 1 << 20 },
	                                 { "G", 1 << 10 },
	                                 { "M", 1 } };
static const struct unit byte_units[] = {
	{ "G", 1 << 30 }, { "M", 1 << 20 }, { "K", 1 << 10 }, { "", 1 }
};
static const struct unit time_units[] = {
	{ "d", 86400 }, { "h", 3600 }, { "m", 60 }, { "s", 1 }
};

/* Append a value in the largest unit of which it is a multiple. */
static void put_units(struct buf *out, int64_t value, const struct unit *unit)
{
	while (value % unit->size || (value == 0 && unit->size > 1))
		unit++;
	buf_i64(out, value / unit->size);
	buf_puts(out, unit->name);
}

static void put_quoted(struct buf *out, const char *s)
{
	buf_addc(out, '"');
	for (; *s; s++) {
		if (strchr("\"\\$", *s))
			buf_addc(out, '\\');
		buf_addc(out, *s);
	}
	buf_addc(out, '"');
}

static void put_list(struct buf *out, const char *const *s, size_t n)
{
	buf_addc(out, '{');
	for (size_t i = 0; i < n; i++) {
		if (i)
			buf_puts(out, ", ");
		put_quoted(out, s[i]);
	}
	buf_addc(out, '}');
}

static void put_number(struct buf *out, const struct conf_key *key,
                       int64_t value)
{
	switch (key->kind) {
	case KEY_MILLI:
		format_milli(out, value);
		break;
	case KEY_MICRO:
		format_micro(out, value);
		break;
	case KEY_MIB:
		put_units(out, value, mib_units);
		break;
	case KEY_BYTES:
		put_units(out, value, byte_units);
		break;
	case KEY_UNTIL:
	case KEY_TIME:
		if (value == CONF_UNLIMITED)
			buf_puts(out, "UNLIMITED");
		else
			put_units(out, value, time_units);
		break;
	default:
		buf_i64(out, value);
	}
}

static int parse_number(const struct conf_key *key, const char *s, int64_t *ret,
                        struct err *err)
{
	switch (key->kind) {
	case KEY_MILLI:
		return parse_milli(s, key->max, ret, err);
	case KEY_MICRO:
		return parse_micro(s, key->max, ret, err);
	case KEY_MIB:
		return parse_mib(s, 'M', ret, err);
	case KEY_BYTES:
		return parse_bytes(s, 0, ret, err);
	case KEY_UNTIL:
	case KEY_TIME:
		return parse_duration(s, ret, err);
	default:
		return parse_int(s, key->min, key->max, ret, err);
	}
}

static int set_number(const struct conf_key *key, int64_t *ret, const char *s,
                      struct err *err)
{
	struct buf min = { 0 }, max = { 0 };
	int64_t value;

	if (parse_number(key, s, &value, err) < 0)
		return -1;
	if ((value >= key->min && value <= key->max) ||
	    (key->kind == KEY_UNTIL && value == CONF_UNLIMITED)) {
		*ret = value;
		return 0;
	}
	put_number(&min, key, key->min);
	put_number(&max, key, key->max);
	err_set(err, EINVAL, "bad value '%s': use %s to %s", s, min.data,
	        max.data);
	buf_free(&min);
	buf_free(&max);
	return -1;
}

static int set_text(const struct conf_key *key, const char **ret, const char *s,
                    struct arena *arena, struct err *err)
{
	if (!*s)
		s = key->initial;
	else if (key->check && key->check(s, err) < 0)
		return -1;
	*ret = s ? arena_strdup(arena, s) : NULL;
	return 0;
}

static int set_list(const struct conf_key *key, struct strlist *ret,
                    const char *const *value, size_t n, struct arena *arena,
                    struct err *err)
{
	const char **s = arena_array(arena, const char *, n);

	for (size_t i = 0; i < n; i++) {
		if (!*value[i])
			return err_set(err, EINVAL, "an empty text in a list");
		if (key->check && key->check(value[i], err) < 0)
			return -1;
		s[i] = arena_strdup(arena, value[i]);
	}
	*ret = (struct strlist){ n, s };
	return 0;
}

/* Returns the index of a word of the key, or -1 with an error that lists all
 * of them. */
static int find_word(const struct conf_key *key, const char *s, struct err *err)
{
	struct buf all = { 0 };
	int i;

	for (i = 0; key->words[i]; i++)
		if (!strcasecmp(key->words[i], s))
			return i;
	for (i = 0; key->words[i]; i++) {
		if (i)
			buf_puts(&all, key->words[i + 1] ? ", " : " or ");
		buf_puts(&all, key->words[i]);
	}
	err_set(err, EINVAL, "bad value '%s': use %s", s, all.data);
	buf_free(&all);
	return -1;
}

static int set_bool(const struct conf_key *key, bool *ret, const char *s,
                    struct err *err)
{
	int i;

	if (!key->words)
		return parse_bool(s, ret, err);
	i = find_word(key, s, err);
	if (i < 0)
		return -1;
	*ret = i;
	return 0;
}

static int set_word(const struct conf_key *key, void *ret, const char *s,
                    struct err *err)
{
	int i = find_word(key, s, err);

	_Static_assert(sizeof(i) == sizeof(enum runner_kind), "enums are int");
	if (i < 0)
		return -1;
	memcpy(ret, &i, sizeof(i));
	return 0;
}

static int find_pool(const struct conf *conf, const char *s, struct err *err)
{
	int pool = conf_pool_find(conf, s);

	if (pool < 0)
		err_set(err, EINVAL, "there is no pool '%s'", s);
	return pool;
}

static uint64_t all_pools(const struct conf *conf)
{
	return conf->npools < 64 ? ((uint64_t)1 << conf->npools) - 1
	                         : UINT64_MAX;
}

static int set_pools(uint64_t *ret, const char *const *value, size_t n,
                     const struct conf *conf, struct err *err)
{
	uint64_t set = n ? 0 : all_pools(conf);

	for (size_t i = 0; i < n; i++) {
		int pool = find_pool(conf, value[i], err);

		if (pool < 0)
			return -1;
		set |= (uint64_t)1 << pool;
	}
	*ret = set;
	return 0;
}

static int set_pool(int *ret, const char *s, const struct conf *conf,
                    struct err *err)
{
	int pool = find_pool(conf, s, err);

	if (pool < 0)
		return -1;
	*ret = pool;
	return 0;
}

int key_set(const struct conf_key *key, void *base, const char *const *value,
            size_t n, const struct conf *conf, struct arena *arena,
            struct err *err)
{
	void *member = (char *)base + key->offset;

	switch (key->kind) {
	case KEY_TEXT:
		return set_text(key, member, value[0], arena, err);
	case KEY_LIST:
		return set_list(key, member, value, n, arena, err);
	case KEY_BOOL:
		return set_bool(key, member, value[0], err);
	case KEY_WORD:
		return set_word(key, member, value[0], err);
	case KEY_POOL:
		return set_pool(member, value[0], conf, err);
	case KEY_POOLS:
		return set_pools(member, value, n, conf, err);
	default:
		return set_number(key, member, value[0], err);
	}
}

void key_set_defaults(const struct conf_key_table *table, void *base,
                      const struct conf *conf, struct arena *arena)
{
	for (size_t i = 0; i < table->n; i++) {
		const struct conf_key *key = &table->key[i];
		void *member = (char *)base + key->offset;

		if (key->initial) {
			if (key_set(key, base, &key->initial, 1, conf, arena,
			            NULL) < 0)
				abort(); /* a mistake in the table */
		} else if (key->kind == KEY_POOLS) {
			*(uint64_t *)member = all_pools(conf);
		} else if (key->kind == KEY_POOL || key->kind == KEY_PARENT) {
			*(int *)member = -1;
		} else if (key->kind == KEY_GROUP) {
			key_set_defaults(key->table, member, conf, arena);
		} else if (key->kind >= KEY_INT && key->kind <= KEY_UNTIL) {
			*(int64_t *)member = CONF_NONE;
		}
	}
}

void key_copy(const struct conf_key *key, void *base, const void *other)
{
	size_t size = key->kind == KEY_TEXT   ? sizeof(const char *)
	              : key->kind == KEY_WORD ? sizeof(int)
	                                      : sizeof(int64_t);

	memcpy((char *)base + key->offset, (const char *)other + key->offset,
	       size);
}

static bool format_text(const char *s, struct buf *out)
{
	if (!s || !*s)
		return false;
	put_quoted(out, s);
	return true;
}

static bool format_list(const struct conf_key *key, const struct strlist *list,
                        struct buf *out)
{
	if (!list->n && !key->initial)
		return false;
	put_list(out, list->s, list->n);
	return true;
}

static bool format_number(const struct conf_key *key, int64_t value,
                          struct buf *out)
{
	if (value == CONF_NONE && !key->initial)
		return false;
	put_number(out, key, value);
	return true;
}

static bool format_word(const struct conf_key *key, const void *member,
                        struct buf *out)
{
	unsigned i;

	memcpy(&i, member, sizeof(i));
	buf_puts(out, key->words[i]);
	return true;
}

static bool format_bool(const struct conf_key *key, bool value, struct buf *out)
{
	static const char *const no_yes[] = { "no", "yes" };

	buf_puts(out, (key->words ? key->words : no_yes)[value]);
	return true;
}

static bool format_pools(uint64_t set, const struct conf *conf, struct buf *out)
{
	const char *name[64];
	size_t n = 0;

	for (size_t i = 0; i < conf->npools; i++)
		if (set >> i & 1)
			name[n++] = conf->pools[i].name;
	put_list(out, name, n);
	return true;
}

bool key_format(const struct conf_key *key, const void *base,
                const struct conf *conf, struct buf *out)
{
	const void *member = (const char *)base + key->offset;
	int i;

	switch (key->kind) {
	case KEY_TEXT:
		return format_text(*(const char *const *)member, out);
	case KEY_LIST:
		return format_list(key, member, out);
	case KEY_BOOL:
		return format_bool(key, *(const bool *)member, out);
	case KEY_WORD:
		return format_word(key, member, out);
	case KEY_POOL:
		i = *(const int *)member;
		return i >= 0 && format_text(conf->pools[i].name, out);
	case KEY_POOLS:
		return format_pools(*(const uint64_t *)member, conf, out);
	case KEY_PARENT:
		i = *(const int *)member;
		return i >= 0 && format_text(conf->queues[i].name, out);
	default:
		return format_number(key, *(const int64_t *)member, out);
	}
}
