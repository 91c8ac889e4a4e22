/* idset.c - sets of array task ids */
#include "libcommon/idset.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/limits.h"
#include "libcommon/mem.h"
#include "libcommon/steps.h"

static struct idrange range_of(uint32_t lo, uint32_t hi, uint32_t step)
{
	hi -= (hi - lo) % step;
	return (struct idrange){ lo, hi, lo == hi ? 1 : step };
}

static bool range_has(const struct idrange *r, uint32_t id)
{
	return id >= r->lo && id <= r->hi && (id - r->lo) % r->step == 0;
}

/* Returns the first range that ends at id or later; set->n if there is none. */
static size_t find(const struct idset *set, uint32_t id)
{
	size_t low = 0, high = set->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (set->range[mid].hi < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Make room for one more range. */
static void grow(struct idset *set)
{
	size_t cap = set->cap;

	set->range = GROW(set->range, set->n, &cap);
	set->cap = (uint32_t)cap;
}

static void insert(struct idset *set, size_t i, struct idrange r)
{
	if (set->n == set->cap && set->gone) {
		set->range -= set->gone;
		memmove(set->range, set->range + set->gone, set->n * sizeof(r));
		set->cap += set->gone;
		set->gone = 0;
	}
	grow(set);
	memmove(&set->range[i + 1], &set->range[i], (set->n - i) * sizeof(r));
	set->range[i] = r;
	set->n++;
}

/* Remove range i. Tasks of an array start in ascending order, so mostly the
 * first range is removed: this only moves the pointer to it. */
static void drop(struct idset *set, size_t i)
{
	set->n--;
	if (i == 0) {
		set->range++;
		set->gone++;
		set->cap--;
	} else {
		memmove(&set->range[i], &set->range[i + 1],
		        (set->n - i) * sizeof(*set->range));
	}
	if (!set->n)
		idset_free(set);
}

/* Merge ranges i and i + 1 if together they form one range with a constant
 * step; two single ids always do. If range i has two ids, and the upper one is
 * nearer to range i + 1 than to the lower one, move it to range i + 1. */
static void join(struct idset *set, size_t i)
{
	struct idrange *a, *b;
	uint32_t gap;
	bool a_fits, b_fits;

	if (i + 1 >= set->n)
		return;
	a = &set->range[i];
	b = a + 1;
	gap = b->lo - a->hi;
	a_fits = a->lo == a->hi || a->step == gap;
	b_fits = b->lo == b->hi || b->step == gap;
	if (a_fits && b_fits) {
		b->lo = a->lo;
		b->step = gap;
		drop(set, i);
	} else if (b_fits && a->hi - a->lo == a->step && gap < a->step) {
		b->lo = a->hi;
		b->step = gap;
		*a = range_of(a->lo, a->lo, 1);
	}
}

static void append(struct idset *set, struct idrange r)
{
	insert(set, set->n, r);
	if (set->n > 1)
		join(set, set->n - 2);
}

/* Parse the digits at *s; returns false if there are none. Skip digits that
 * follow a value above LIMIT_ARRAY: it is too large anyway. */
static bool take_number(const char **s, uint32_t *ret)
{
	const char *p = *s;
	uint32_t value = 0;

	for (; *p >= '0' && *p <= '9'; p++)
		if (value <= LIMIT_ARRAY)
			value = value * 10 + (uint32_t)(*p - '0');
	if (p == *s)
		return false;
	*s = p;
	*ret = value;
	return true;
}

/* Parse 7, 0-99 or 0-99:2. */
static bool take_range(const char **s, struct idrange *ret)
{
	uint32_t lo, hi, step = 1;

	if (!take_number(s, &lo))
		return false;
	hi = lo;
	if (**s == '-') {
		++*s;
		if (!take_number(s, &hi) || hi < lo)
			return false;
		if (**s == ':') {
			++*s;
			if (!take_number(s, &step) || !step)
				return false;
		}
	}
	*ret = range_of(lo, hi, step);
	return true;
}

static int by_lo(const void *a, const void *b)
{
	const struct idrange *x = a, *y = b;

	return (x->lo > y->lo) - (x->lo < y->lo);
}

/* Add the ids of all ranges in terms, which may overlap; max is the largest. */
static void gather_each(struct idset *set, const struct idset *terms,
                        uint32_t max)
{
	bool *has = xcalloc((size_t)max + 1, sizeof(*has));

	for (size_t i = 0; i < terms->n; i++) {
		const struct idrange *r = &terms->range[i];

		for (uint32_t id = r->lo; id <= r->hi; id += r->step)
			has[id] = true;
	}
	for (uint32_t id = 0; id <= max; id++)
		if (has[id])
			append(set, range_of(id, id, 1));
	free(has);
	steps_add(max / 8);
}

/* Add the ids of all ranges in terms. One pass is enough unless a range with a
 * step above 1 overlaps another range. Returns false if there is such an
 * overlap, and all ranges together name more ids than an array may have. */
static bool gather(struct idset *set, struct idset *terms)
{
	uint32_t max = 0;
	uint64_t named = 0;
	bool tangled = false;

	qsort(terms->range, terms->n, sizeof(*terms->range), by_lo);
	for (size_t i = 0; i < terms->n; i++) {
		const struct idrange *r = &terms->range[i];
		struct idrange *last = set->n ? &set->range[set->n - 1] : NULL;

		if (!last || r->lo > last->hi)
			append(set, *r);
		else if (last->step == 1 && r->step == 1)
			last->hi = r->hi > last->hi ? r->hi : last->hi;
		else
			tangled = true;
		max = r->hi > max ? r->hi : max;
		named += (r->hi - r->lo) / r->step + 1;
	}
	steps_add(terms->n);
	if (!tangled)
		return true;
	idset_free(set);
	if (named > LIMIT_ARRAY)
		return false;
	gather_each(set, terms, max);
	return true;
}

int idset_parse(struct idset *ret, uint32_t *ret_max, const char *s,
                struct err *err)
{
	struct idset set = { 0 }, terms = { 0 };
	uint32_t at_once = 0, highest = 0;
	const char *p = s;
	int rc = -1;

	do {
		struct idrange r;

		if (!take_range(&p, &r))
			goto bad;
		grow(&terms);
		terms.range[terms.n++] = r;
		highest = r.hi > highest ? r.hi : highest;
	} while (*p++ == ',');
	if (ret_max && p[-1] == '%') {
		if (!take_number(&p, &at_once) || !at_once || *p++)
			goto bad;
	}
	if (p[-1])
		goto bad;
	if (highest >= LIMIT_ARRAY) {
		err_set(err, ERANGE, "task ids '%s' go beyond %d", s,
		        LIMIT_ARRAY - 1);
		goto out;
	}
	if (at_once > LIMIT_ARRAY) {
		err_set(err, ERANGE,
		        "task ids '%s': at most %%%d may run at once", s,
		        LIMIT_ARRAY);
		goto out;
	}
	if (!gather(&set, &terms)) {
		err_set(err, ERANGE,
		        "task ids '%s': ranges with steps overlap and name "
		        "more than %d ids: name each once",
		        s, LIMIT_ARRAY);
		goto out;
	}
	*ret = set;
	if (ret_max)
		*ret_max = at_once;
	rc = 0;
	goto out;
bad:
	err_set(err, EINVAL, "bad task ids '%s': use ids and ranges like %s", s,
	        ret_max ? "7, 0-99, 0-99:2 or 0-99%10" : "7, 0-99 or 0-99:2");
out:
	idset_free(&terms);
	return rc;
}

void idset_free(struct idset *set)
{
	if (set->range)
		free(set->range - set->gone);
	*set = (struct idset){ 0 };
}

uint32_t idset_count(const struct idset *set)
{
	uint32_t count = 0;

	for (size_t i = 0; i < set->n; i++) {
		const struct idrange *r = &set->range[i];

		count += (r->hi - r->lo) / r->step + 1;
	}
	return count;
}

bool idset_has(const struct idset *set, uint32_t id)
{
	size_t i = find(set, id);

	return i < set->n && range_has(&set->range[i], id);
}

uint32_t idset_min(const struct idset *set)
{
	assert(set->n);
	return set->range[0].lo;
}

uint32_t idset_max(const struct idset *set)
{
	assert(set->n);
	return set->range[set->n - 1].hi;
}

int64_t idset_next(const struct idset *set, int64_t after)
{
	const struct idrange *r;
	size_t i;

	if (after >= UINT32_MAX)
		return -1;
	i = find(set, (uint32_t)(after + 1));
	if (i == set->n)
		return -1;
	r = &set->range[i];
	if (r->lo > after)
		return r->lo;
	return r->lo + ((after - r->lo) / r->step + 1) * r->step;
}

void idset_add(struct idset *set, uint32_t id)
{
	size_t i = find(set, id);
	struct idrange *r = i < set->n ? &set->range[i] : NULL;

	if (r && range_has(r, id))
		return;
	if (r && id > r->lo) {
		/* The id is between two members of a range: cut the range
		 * there. */
		uint32_t above = (uint32_t)idset_next(set, id);
		struct idrange upper = range_of(above, r->hi, r->step);

		*r = range_of(r->lo, above - r->step, r->step);
		insert(set, ++i, upper);
	}
	insert(set, i, range_of(id, id, 1));
	join(set, i);
	if (i)
		join(set, i - 1);
}

bool idset_del(struct idset *set, uint32_t id)
{
	size_t i = find(set, id);
	struct idrange *r = i < set->n ? &set->range[i] : NULL;

	if (!r || !range_has(r, id))
		return false;
	if (r->lo == r->hi) {
		drop(set, i);
	} else if (id == r->lo) {
		*r = range_of(r->lo + r->step, r->hi, r->step);
	} else if (id == r->hi) {
		*r = range_of(r->lo, r->hi - r->step, r->step);
	} else {
		struct idrange upper = range_of(id + r->step, r->hi, r->step);

		*r = range_of(r->lo, id - r->step, r->step);
		insert(set, i + 1, upper);
		join(set, i + 1);
	}
	join(set, i);
	if (i)
		join(set, i - 1);
	return true;
}

/* Append the members of r from lo up to, but without, id. */
static void append_before(struct idset *set, const struct idrange *r,
                          int64_t lo, int64_t id)
{
	if (lo < id)
		append(set,
		       range_of((uint32_t)lo, (uint32_t)id - r->step, r->step));
}

/* Divide the members of r into those that `which` has and the rest. The loop
 * goes from a possible common member to the next, so it takes as many rounds as
 * the smaller set has members. */
static void divide(const struct idrange *r, const struct idset *which,
                   struct idset *taken, struct idset *rest)
{
	int64_t lo = r->lo, id = r->lo;
	uint64_t n = 0;

	while (id <= r->hi) {
		int64_t at = idset_next(which, id - 1);

		if (at < 0)
			break;
		n++;
		if (at > id) {
			id = r->lo +
			     (at - r->lo + r->step - 1) / r->step * r->step;
			continue;
		}
		append(taken, range_of((uint32_t)id, (uint32_t)id, 1));
		append_before(rest, r, lo, id);
		id += r->step;
		lo = id;
	}
	append_before(rest, r, lo, (int64_t)r->hi + r->step);
	steps_add(n / 4); /* a round takes some 25 ns, a step 100 ns */
}

void idset_take(struct idset *set, const struct idset *which, struct idset *ret)
{
	struct idset rest = { 0 };

	*ret = (struct idset){ 0 };
	for (size_t i = 0; i < set->n; i++)
		divide(&set->range[i], which, ret, &rest);
	steps_add(set->n);
	idset_free(set);
	*set = rest;
}

/* Returns the first member of r that is not below id; a number above r->hi if
 * there is none. */
static int64_t range_from(const struct idrange *r, int64_t id)
{
	return id <= r->lo
	           ? r->lo
	           : r->lo + (id - r->lo + r->step - 1) / r->step * r->step;
}

/* Whether the ranges have a member in common. Let s be the smaller of the two
 * steps. Members of the range with the larger step repeat modulo s after at
 * most s members, so it is enough to try s of them. */
static bool ranges_meet(const struct idrange *a, const struct idrange *b)
{
	const struct idrange *wide = a->step > b->step ? a : b;
	const struct idrange *narrow = wide == a ? b : a;
	int64_t id = range_from(wide, narrow->lo);
	uint32_t tries = narrow->step;

	for (; tries && id <= wide->hi && id <= narrow->hi; tries--) {
		if (range_has(narrow, (uint32_t)id))
			return true;
		id += wide->step;
		steps_add(1);
	}
	return false;
}

bool idset_meets(const struct idset *a, const struct idset *b)
{
	size_t i = 0, j;

	if (!a->n || !b->n)
		return false;
	j = find(b, a->range[0].lo);
	while (i < a->n && j < b->n) {
		const struct idrange *x = &a->range[i], *y = &b->range[j];

		if (x->lo <= y->hi && y->lo <= x->hi && ranges_meet(x, y))
			return true;
		if (x->hi < y->hi)
			i++;
		else
			j++;
		steps_add(1);
	}
	return false;
}

void idset_copy(struct idset *ret, const struct idset *set)
{
	*ret = (struct idset){ .n = set->n, .cap = set->n };
	if (!set->n)
		return;
	ret->range = xcalloc(set->n, sizeof(*set->range));
	memcpy(ret->range, set->range, set->n * sizeof(*set->range));
}

void idset_format(const struct idset *set, struct buf *out)
{
	for (size_t i = 0; i < set->n; i++) {
		const struct idrange *r = &set->range[i];

		if (i)
			buf_addc(out, ',');
		buf_i64(out, r->lo);
		if (r->lo == r->hi)
			continue;
		/* Write two ids that are far apart as "3,9", not as "3-9:6". */
		if (r->step > 1 && r->hi - r->lo == r->step)
			buf_addc(out, ',');
		else
			buf_addc(out, '-');
		buf_i64(out, r->hi);
		if (r->hi - r->lo > r->step && r->step > 1) {
			buf_addc(out, ':');
			buf_i64(out, r->step);
		}
	}
}
