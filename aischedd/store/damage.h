/*
 * damage.h - whether to look for damage in the database at the start
 *
 * SQLite's quick_check reads the whole file, which takes 5 s for each GiB. A
 * file is damaged by a computer that stops, or by a disk; not by a daemon that
 * is killed. So a large file is only checked if the last daemon did not close
 * it and the computer was started since.
 */
#ifndef AISCHEDD_STORE_DAMAGE_H
#define AISCHEDD_STORE_DAMAGE_H

#include <stdbool.h>
#include <stdint.h>

enum { BOOT_ID = 64 };

/* Returns whether to check a file of `bytes` bytes. opened: where the database
 * was opened last, as damage_boot() said then; "" if it was closed since; NULL
 * if that is not known. boot: what damage_boot() says now. */
bool damage_is_possible(int64_t bytes, const char *opened, const char *boot);

/* Write an id of this run of the computer's kernel to ret. If there is none,
 * "?", which counts as another run each time. */
void damage_boot(char ret[BOOT_ID]);

#endif
