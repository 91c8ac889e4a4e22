/*
 * space.h - a full disk must not keep jobs from being ended
 *
 * Commits are appended to the -wal file, which SQLite writes again from its
 * begin after a checkpoint.  Blocks are allocated behind what is in it, more
 * than it grows to between two checkpoints, so that ends, cancels and limits
 * can be committed when others have filled the disk: what is allocated to a
 * file nobody else can take, unlike the blocks of a reserve that is released.
 */
#ifndef AISCHEDD_STORE_SPACE_H
#define AISCHEDD_STORE_SPACE_H

#include <stdbool.h>

struct store;

/* Allocate them, as far as the disk has room: when the store is open, and when
 * there is room again. */
void space_reserve(const struct store *store);

/* Whether next to nothing is free.  A commit may still succeed. */
bool space_is_low(const struct store *store);

#endif
