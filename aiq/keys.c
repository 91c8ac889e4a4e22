/* keys.c - decode what a terminal sends for keys */
#include "aiq/keys.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/mem.h"

void keys_add(struct keys *keys, const char *bytes, size_t n)
{
	size_t room = sizeof(keys->byte) - keys->len;

	if (n > room)
		n = room;
	memcpy(keys->byte + keys->len, bytes, n);
	keys->len += n;
}

static int take(struct keys *keys, size_t n, int key)
{
	keys->len -= n;
	memmove(keys->byte, keys->byte + n, keys->len);
	return key;
}

/* Returns the key of a sequence like ESC [ A, ESC O A or ESC [ 5 ~, given its
 * last byte and the number before it. */
static int meaning(char last, int number)
{
	static const struct {
		char last;
		int number, key;
	} known[] = {
		{ 'A', 0, KEY_UP },      { 'B', 0, KEY_DOWN },
		{ 'C', 0, KEY_RIGHT },   { 'D', 0, KEY_LEFT },
		{ 'H', 0, KEY_HOME },    { 'F', 0, KEY_END },
		{ '~', 1, KEY_HOME },    { '~', 4, KEY_END },
		{ '~', 7, KEY_HOME },    { '~', 8, KEY_END },
		{ '~', 5, KEY_PAGE_UP }, { '~', 6, KEY_PAGE_DOWN },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (known[i].last == last &&
		    (last != '~' || known[i].number == number))
			return known[i].key;
	return KEY_OTHER;
}

int keys_next(struct keys *keys, bool late)
{
	size_t i = 2;
	int number = 0;

	if (!keys->len)
		return KEY_NONE;
	if (keys->byte[0] != KEY_ESC)
		return take(keys, 1, (unsigned char)keys->byte[0]);
	if (keys->len == 1)
		return late ? take(keys, 1, KEY_ESC) : KEY_NONE;
	if (keys->byte[1] != '[' && keys->byte[1] != 'O')
		return take(keys, 1, KEY_ESC);
	for (; i < keys->len && keys->byte[i] < '@'; i++)
		if (number < 100)
			number = number * 10 + keys->byte[i] - '0';
	if (i < keys->len)
		return take(keys, i + 1, meaning(keys->byte[i], number));
	if (late || keys->len == sizeof(keys->byte))
		return take(keys, keys->len, KEY_OTHER);
	return KEY_NONE;
}
