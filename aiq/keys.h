/*
 * keys.h - decode the bytes that a terminal sends for keys
 *
 * The bytes of one key may arrive in several reads; they are kept until the key
 * is complete. An ESC with nothing behind it is the key Esc; the caller decides
 * how long to wait for more bytes (`late` of keys_next()).
 */
#ifndef AIQ_KEYS_H
#define AIQ_KEYS_H

#include <stdbool.h>
#include <stddef.h>

/* Codes of keys that send several bytes, and some names; the code of any other
 * key is its byte. */
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
	KEY_OTHER, /* any other sequence */
};

struct keys {
	char byte[64];
	size_t len;
};

/* Add bytes that were read; those that do not fit are dropped. */
void keys_add(struct keys *keys, const char *bytes, size_t n);

/* Returns the next key, or KEY_NONE if none is complete. `late` means that
 * nothing has followed for some time, so a single ESC is the key Esc. */
int keys_next(struct keys *keys, bool late);

#endif
