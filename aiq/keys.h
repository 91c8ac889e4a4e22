/*
 * keys.h - decode the bytes that a terminal sends for keys
 *
 * A sequence may arrive in several reads, and waits until it is complete. An
 * ESC that is not followed by anything is the key Esc; only the caller knows
 * how long it has waited.
 */
#ifndef AIQ_KEYS_H
#define AIQ_KEYS_H

#include <stdbool.h>
#include <stddef.h>

/* Keys that are no byte; others are their byte. */
enum key_code {
	KEY_NONE = 0,
	KEY_ENTER = '\r',
	KEY_ESC = 27,
	KEY_UP = 256,
	KEY_DOWN,
	KEY_LEFT,
	KEY_RIGHT,
	KEY_HOME,
	KEY_END,
	KEY_PAGE_UP,
	KEY_PAGE_DOWN,
	KEY_OTHER, /* a sequence without a meaning here */
};

struct keys {
	char byte[64];
	size_t len;
};

/* Add what was read; bytes that do not fit are lost. */
void keys_add(struct keys *keys, const char *bytes, size_t n);

/* Returns the next key, or KEY_NONE if none is complete. late: nothing more is
 * coming, so an ESC stands for itself. */
int keys_next(struct keys *keys, bool late);

#endif
