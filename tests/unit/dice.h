/* dice.h - random choices that are the same in each run */
#ifndef TESTS_UNIT_DICE_H
#define TESTS_UNIT_DICE_H

#include <stdint.h>

struct dice {
	uint64_t state; /* not 0 */
};

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

#endif
