/* topology.c - parse --topology: "zone,rack:preferred" */
#include "libcommon/topology.h"

#include <string.h>

#include "libcommon/buf.h"
#include "libcommon/mem.h"

static int no_level(const char *name, size_t len, const struct strlist *levels,
                    struct err *err)
{
	struct buf text = { 0 };

	if (!levels->n)
		return err_set(err, ENOENT,
		               "there is no topology level '%.*s'; the "
		               "configuration has none",
		               (int)len, name);
	for (size_t i = 0; i < levels->n; i++)
		buf_printf(&text, "%s%s", i ? ", " : "", levels->s[i]);
	err_set(err, ENOENT, "there is no topology level '%.*s'; levels are %s",
	        (int)len, name, text.data);
	buf_free(&text);
	return -1;
}

static int find_level(const char *name, size_t len,
                      const struct strlist *levels, int *ret, struct err *err)
{
	*ret = 0;
	if (!levels)
		return 0;
	for (size_t i = 0; i < levels->n; i++) {
		if (strlen(levels->s[i]) == len &&
		    !strncmp(levels->s[i], name, len)) {
			*ret = (int)i;
			return 0;
		}
	}
	return no_level(name, len, levels, err);
}

static const char mark[] = ":preferred";
static const size_t mark_len = sizeof(mark) - 1;

/* Whether an item of this length ends with ":preferred". */
static bool is_marked(const char *item, size_t len)
{
	return len > mark_len &&
	       !strncmp(item + len - mark_len, mark, mark_len);
}

int level_parse(const char *name, size_t len, const struct strlist *levels,
                int *ret, struct err *err)
{
	if (!len || memchr(name, ',', len) || memchr(name, ':', len))
		return err_set(err, EINVAL, "bad topology level '%.*s'",
		               (int)len, name);
	if (len == strlen("node") && !strncmp(name, "node", len) &&
	    (!levels || find_level(name, len, levels, ret, NULL) < 0)) {
		*ret = SPREAD_NODE;
		return 0;
	}
	return find_level(name, len, levels, ret, err);
}

int spread_parse(const char *s, const struct strlist *levels, int *ret_level,
                 bool *ret_wish, struct err *err)
{
	size_t len = strlen(s);
	bool wish = is_marked(s, len);

	len -= wish ? mark_len : 0;
	if (!len || memchr(s, ',', len) || memchr(s, ':', len))
		return err_set(err, EINVAL,
		               "bad spread '%s': use LEVEL or LEVEL:preferred",
		               s);
	*ret_wish = wish;
	return level_parse(s, len, levels, ret_level, err);
}

int topology_parse(const char *s, const struct strlist *levels,
                   struct topology *ret, struct err *err)
{
	struct topology t = { -1, -1 };
	const char *p = s;

	for (;; p++) {
		size_t len = strcspn(p, ",");
		bool soft = is_marked(p, len);
		int *level = soft ? &t.like : &t.need;

		if (!len || *level >= 0 || t.like >= 0 ||
		    (!soft && memchr(p, ':', len)))
			return err_set(err, EINVAL,
			               "bad topology '%s': use LEVEL, "
			               "LEVEL:preferred, or "
			               "LEVEL,LEVEL:preferred",
			               s);
		if (find_level(p, soft ? len - mark_len : len, levels, level,
		               err) < 0)
			return -1;
		p += len;
		if (!*p)
			break;
	}
	*ret = t;
	return 0;
}

int numa_parse(const char *s)
{
	static const char *const word[] = { NULL, "prefer", "strict", "tight" };

	for (size_t i = 1; s && i < ARRAY_SIZE(word); i++)
		if (!strcmp(s, word[i]))
			return (int)i;
	return s ? -1 : 0;
}

int links_parse(const char *s)
{
	static const char *const word[] = { "prefer", "any", "strict" };

	for (size_t i = 0; s && i < ARRAY_SIZE(word); i++)
		if (!strcmp(s, word[i]))
			return (int)i;
	return s ? -1 : 0;
}
