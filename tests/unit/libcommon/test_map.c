/* test_map.c - maps from numbers, and hashes of texts */
#include "libcommon/map.h"

#include <string.h>

#include "libcommon/mem.h"
#include "tests/unit/check.h"

enum { MANY = 5000 };

START_TEST(what_was_put_in_is_found)
{
	static char values[MANY];
	struct map map = { 0 };
	size_t at = 0, n = 0;

	ck_assert_ptr_null(map_find(&map, 1));
	ck_assert_ptr_null(map_del(&map, 1));
	for (uint64_t i = 0; i < MANY; i++)
		map_set(&map, i * 64, &values[i]);
	for (uint64_t i = 0; i < MANY; i += 3)
		ck_assert_ptr_eq(map_del(&map, i * 64), &values[i]);
	for (uint64_t i = 0; i < MANY; i++)
		ck_assert_ptr_eq(map_find(&map, i * 64),
		                 i % 3 ? &values[i] : NULL);
	while (map_each(&map, &at))
		n++;
	ck_assert_uint_eq(n, map.n);
	map_set(&map, 64, values);
	ck_assert_uint_eq(n, map.n);
	ck_assert_ptr_eq(map_find(&map, 64), values);
	map_free(&map);
	ck_assert_ptr_null(map_find(&map, 64));
}
END_TEST

START_TEST(hashes_differ)
{
	uint64_t seen[16 * 16];
	size_t n = 0;

	for (unsigned char seed = 0; seed < 16; seed++)
		for (unsigned char c = 0; c < 16; c++) {
			seen[n] = hash_bytes(seed, &c, 1);
			for (size_t i = 0; i < n; i++)
				ck_assert_msg(seen[i] != seen[n],
				              "seed %u, byte %u", seed, c);
			n++;
		}
	ck_assert(hash_bytes(0, "", 0) != hash_bytes(0, "\0", 1));
}
END_TEST

SUITE(map)
{
	tcase_add_test(tc, what_was_put_in_is_found);
	tcase_add_test(tc, hashes_differ);
}
