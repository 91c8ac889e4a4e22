/* test_roster.c - entries in order of a number, and copies that share them */
#include "libcommon/roster.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/mem.h"
#include "tests/unit/check.h"

enum { KEYS = 4000, STEPS = 40000, COPIES = 6 };

struct item {
	uint64_t key, value;
};

/* A list, and for each key the value that the list must have; 0: none. */
struct pair {
	struct roster list;
	uint64_t value[KEYS];
};

static uint32_t draw(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

static void ck_same(const struct pair *p)
{
	struct roster_at at = { 0 };
	const struct item *item;
	size_t n = 0;

	for (uint64_t key = 0; key < KEYS; key++) {
		const struct item *found = roster_find(&p->list, key);

		ck_assert_uint_eq(found ? found->value : 0, p->value[key]);
		if (!p->value[key])
			continue;
		n++;
		item = roster_next(&p->list, &at);
		ck_assert_ptr_nonnull(item);
		ck_assert_uint_eq(item->key, key);
	}
	ck_assert_ptr_null(roster_next(&p->list, &at));
	ck_assert_uint_eq(p->list.n, n);
}

static void put(struct pair *p, uint64_t key, uint64_t value)
{
	roster_put(&p->list, &(struct item){ key, value });
	p->value[key] = value;
}

static void del(struct pair *p, uint64_t key)
{
	ck_assert_int_eq(roster_del(&p->list, key), p->value[key] != 0);
	p->value[key] = 0;
}

START_TEST(keeps_order_whatever_order_entries_come_in)
{
	static struct pair p;
	uint32_t seed = (uint32_t)_i;

	memset(&p, 0, sizeof(p));
	roster_init(&p.list, sizeof(struct item));
	ck_assert_ptr_null(roster_find(&p.list, 1));
	ck_assert(!roster_del(&p.list, 1));
	for (uint64_t i = 0; i < KEYS; i++)
		put(&p,
		    _i == 0   ? i
		    : _i == 1 ? KEYS - 1 - i
		              : i * 7 % KEYS,
		    i + 1);
	ck_same(&p);
	for (int i = 0; i < KEYS * 3; i++)
		del(&p, draw(&seed) % KEYS);
	ck_same(&p);
	for (uint64_t key = 0; key < KEYS; key++)
		del(&p, key);
	ck_same(&p);
	ck_assert_uint_eq(p.list.nparts, 0);
	roster_free(&p.list);
}
END_TEST

/* A list from which most entries were deleted has few blocks. */
START_TEST(shrinks)
{
	static struct pair p;

	memset(&p, 0, sizeof(p));
	roster_init(&p.list, sizeof(struct item));
	for (uint64_t key = 0; key < KEYS; key++)
		put(&p, key, 1);
	for (uint64_t key = 0; key < KEYS; key++)
		if (key % 100)
			del(&p, key);
	ck_same(&p);
	ck_assert_uint_le(p.list.nparts, 2);
	roster_free(&p.list);
}
END_TEST

/* Copies are taken and freed while the list changes. */
START_TEST(copies_stay_as_they_were)
{
	static struct pair p, copy[COPIES];
	uint32_t seed = (uint32_t)_i + 7;

	memset(&p, 0, sizeof(p));
	memset(copy, 0, sizeof(copy));
	roster_init(&p.list, sizeof(struct item));
	for (int i = 0; i < STEPS; i++) {
		uint32_t key = draw(&seed) % KEYS, what = draw(&seed) % 1000;
		struct pair *c = &copy[draw(&seed) % COPIES];

		if (what == 0) {
			ck_same(c);
			roster_free(&c->list);
			*c = p;
			roster_copy(&c->list, &p.list);
		} else if (what < (i < STEPS / 2 ? 300 : 700)) {
			del(&p, key);
		} else {
			put(&p, key, what);
		}
	}
	ck_same(&p);
	roster_free(&p.list);
	for (int i = 0; i < COPIES; i++) {
		ck_same(&copy[i]);
		roster_free(&copy[i].list);
	}
}
END_TEST

SUITE(roster)
{
	tcase_add_loop_test(tc, keeps_order_whatever_order_entries_come_in, 0,
	                    3);
	tcase_add_test(tc, shrinks);
	tcase_add_loop_test(tc, copies_stay_as_they_were, 0, 3);
}
