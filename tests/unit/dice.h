/*
 * dice.h - random choices that are the same in each run
 *
 * A test of random worlds gets the number of a world, from which all choices
 * follow:
 *
 *	DICE_TEST(random_world, seed)
 *	{
 *		struct dice d = dice_of(seed);
 *		...
 *	}
 *
 *	SUITE(sched_random) { dice_add(tc, random_world, 600); }
 *
 * This draws the worlds 0 to 599. In the environment, DICE_TIMES=N means N
 * times as many, and DICE_SEED=N world N only, or with DICE_TIMES those from N
 * on.
 */
#ifndef TESTS_UNIT_DICE_H
#define TESTS_UNIT_DICE_H

#include <stdint.h>

#include "libcommon/buf.h"
#include "tests/unit/check.h"

struct dice {
	uint64_t state; /* not 0 */
};

static inline struct dice dice_of(uint64_t seed)
{
	return (struct dice){ (seed + 1) * 0x9e3779b97f4a7c15 };
}

static inline uint32_t roll(struct dice *d, uint32_t n)
{
	d->state ^= d->state << 13;
	d->state ^= d->state >> 7;
	d->state ^= d->state << 17;
	return (uint32_t)((d->state >> 16) % n);
}

static inline const char *pick(struct dice *d, const char *const *word)
{
	uint32_t n = 0;

	while (word[n])
		n++;
	return word[roll(d, n)];
}

/* Returns one of these texts. */
#define PICK(d, ...) pick(d, (const char *const[]){ __VA_ARGS__, NULL })

/*
 * Append a text in which each %s is replaced by one of the texts of a list:
 *
 *	dice_puts(d, out, "cpus=%s%s", ANY("1", "2"), ANY("", " exclusive"));
 *
 * There are no other conversions. The last list has its turn first; a list with
 * one text draws nothing. Compilers differ in the order in which they evaluate
 * arguments, so a call must not have two arguments that draw.
 */
void dice_puts(struct dice *d, struct buf *out, const char *format, ...);

#define ANY(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* clang-format off */
#define DICE_TEST(name, seed)                    \
	static void name##_in(uint64_t seed);    \
	START_TEST(name)                         \
	{                                        \
		dice_begin(#name, (uint64_t)_i); \
		name##_in((uint64_t)_i);         \
		dice_end();                      \
	}                                        \
	END_TEST                                 \
	static void name##_in(uint64_t seed)
/* clang-format on */

/* Add a DICE_TEST of n worlds to a suite. When a world fails, the command that
 * repeats it is printed to stderr. */
void dice_add(TCase *tc, const TTest *test, int n);

/* Add n to a sum over all worlds that the test program draws. It is printed to
 * stderr in the end, "# 25 starts" if `what` is the literal "starts". */
void dice_sum(const char *what, uint64_t n);

/* DICE_TEST calls these. */
void dice_begin(const char *test, uint64_t seed);
void dice_end(void);

#endif
