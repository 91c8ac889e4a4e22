/* clean.c - make text from users and other programs safe for a terminal */
#include "libcommon/clean.h"

#include <stdbool.h>
#include <string.h>

#include "libcommon/mem.h"

static const struct {
	uint32_t first, last;
} bad[] = {
	{ 0x00, 0x1f },     /* control characters */
	{ 0x7f, 0x9f },     /* control characters */
	{ 0x061c, 0x061c }, /* a direction mark */
	{ 0x200e, 0x200f }, /* direction marks */
	{ 0x2028, 0x202e }, /* line ends, direction controls */
	{ 0x2066, 0x2069 }, /* direction controls */
	{ 0xd800, 0xdfff }, /* surrogates */
	{ 0xfeff, 0xfeff }, /* byte order mark */
};

bool text_is_hidden(uint32_t c)
{
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (c >= bad[i].first && c <= bad[i].last)
			return true;
	return false;
}

size_t text_char(const char *text, size_t len, uint32_t *ret)
{
	const unsigned char *s = (const unsigned char *)text;
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = s[0] < 0x80             ? 1
	           : (s[0] & 0xe0) == 0xc0 ? 2
	           : (s[0] & 0xf0) == 0xe0 ? 3
	           : (s[0] & 0xf8) == 0xf0 ? 4
	                                   : 0;
	uint32_t c = n == 1 ? s[0] : s[0] & (0x7fu >> n);

	if (!n || n > len)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3fu);
	}
	*ret = c;
	return c < least[n] || c > 0x10ffff ? 0 : n;
}

size_t text_clean(char *s, size_t len)
{
	size_t to = 0, n;

	for (size_t at = 0; at < len; at += n ? n : 1) {
		uint32_t c = 0;

		n = text_char(s + at, len - at, &c);
		if (n && !text_is_hidden(c)) {
			memmove(s + to, s + at, n);
			to += n;
		} else {
			s[to++] = '?';
		}
	}
	return to;
}

size_t text_control(const char *s)
{
	const unsigned char *c = (const unsigned char *)s;

	if (c[0] == 0xc2 && c[1] >= 0x80 && c[1] <= 0x9f)
		return 2; /* U+0080 to U+009F */
	return (c[0] && c[0] < 0x20) || c[0] == 0x7f;
}
