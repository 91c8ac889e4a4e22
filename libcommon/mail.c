/* mail.c - types, addresses and headers of mails */
#include "libcommon/mail.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "libcommon/mem.h"

enum {
	LOCAL_MAX = 64, /* RFC 5321, 4.5.3.1 */
	DOMAIN_MAX_LEN = 253,
	LABEL_MAX = 63,
	WORD_BYTES = 45, /* bytes of an encoded word, 60 letters when encoded */
	HEADER_MAX = 500 /* bytes of a header's text; more are cut off */
};

static const char *const names[MAIL_NTYPES] = {
#define X(sym, name) name,
	MAIL_TYPES(X)
#undef X
};

const char *mail_type_name(enum mail_type type)
{
	return names[type];
}

/* Names that stand for several types, or for none. */
static const struct {
	const char *name;
	int64_t types;
} words[] = {
	{ "NONE", 0 },
	{ "ALL", MAIL_BIT(MAIL_BEGIN) | MAIL_BIT(MAIL_END) |
	             MAIL_BIT(MAIL_FAIL) | MAIL_BIT(MAIL_REQUEUE) |
	             MAIL_BIT(MAIL_INVALID_DEPEND) },
	{ "STAGE_OUT", 0 }, /* Slurm's, for burst buffers: no mail */
};

/* Returns the bits of a type or of a name in the table above, or -1. */
static int64_t word_parse(const char *s, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strlen(words[i].name) == len &&
		    !strncasecmp(s, words[i].name, len))
			return words[i].types;
	for (int i = 0; i < MAIL_NTYPES; i++)
		if (strlen(names[i]) == len && !strncasecmp(s, names[i], len))
			return MAIL_BIT(i);
	return -1;
}

int mail_types_parse(const char *s, int64_t *ret, struct err *err)
{
	int64_t types = 0;

	for (const char *at = s;; at++) {
		size_t len = strcspn(at, ",");
		int64_t more = word_parse(at, len);

		if (more < 0)
			return err_set(
			    err, EINVAL,
			    "bad mail type '%.*s': use NONE, ALL or a list of "
			    "BEGIN, END, FAIL, REQUEUE, INVALID_DEPEND, "
			    "TIME_LIMIT, TIME_LIMIT_50, TIME_LIMIT_80, "
			    "TIME_LIMIT_90, ARRAY_TASKS, CRON_SKIPPED and "
			    "IDLE_GPU",
			    (int)len, at);
		types |= more;
		at += len;
		if (!*at)
			break;
	}
	*ret = types;
	return 0;
}

void mail_types_format(int64_t types, struct buf *out)
{
	const char *comma = "";

	for (int i = 0; i < MAIL_NTYPES; i++) {
		if (!(types & MAIL_BIT(i)))
			continue;
		buf_printf(out, "%s%s", comma, names[i]);
		comma = ",";
	}
}

/* --- addresses ---------------------------------------------------------- */

/* Whether the len bytes at s are atoms with dots between them (RFC 5321). The
 * first must not begin with '-', '|' or '/', or mail programs may take it for
 * an option, a command or a file. */
static bool is_local_part(const char *s, size_t len)
{
	if (!len || len > LOCAL_MAX || strchr("-|/", *s))
		return false;
	for (size_t i = 0; i < len; i++) {
		bool dot = s[i] == '.';

		if (!dot && !isalnum((unsigned char)s[i]) &&
		    !strchr("!#$%&'*+-/=?^_`{|}~", s[i]))
			return false;
		if (dot && (!i || i + 1 == len || s[i - 1] == '.'))
			return false;
	}
	return true;
}

static bool is_domain(const char *s)
{
	size_t label = 0;

	if (!*s || strlen(s) > DOMAIN_MAX_LEN)
		return false;
	for (; *s; s++) {
		if (*s == '.') {
			if (!label || s[-1] == '-' || !s[1])
				return false;
			label = 0;
			continue;
		}
		if (!isalnum((unsigned char)*s) && (*s != '-' || !label))
			return false;
		if (++label > LABEL_MAX)
			return false;
	}
	return s[-1] != '-';
}

const char *mail_domain(const char *address)
{
	const char *at = strchr(address, '@');

	return at ? at + 1 : NULL;
}

int mail_check_address(const char *s, struct err *err)
{
	const char *domain = mail_domain(s);
	size_t len = domain ? (size_t)(domain - s - 1) : strlen(s);

	if (is_local_part(s, len) && (!domain || is_domain(domain)))
		return 0;
	return err_set(err, EINVAL,
	               "bad address '%s': use one NAME@DOMAIN, or the NAME of "
	               "a local user",
	               s);
}

/* --- headers ------------------------------------------------------------ */

static bool is_plain(const char *s)
{
	for (const char *p = s; *p; p++)
		if (*p < ' ' || *p > '~')
			return false;
	return !strstr(s, "=?");
}

static void put_base64(struct buf *out, const unsigned char *s, size_t len)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "abcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < len; i += 3) {
		size_t n = len - i < 3 ? len - i : 3;
		unsigned bits = (unsigned)s[i] << 16;

		bits |= n > 1 ? (unsigned)s[i + 1] << 8 : 0;
		bits |= n > 2 ? s[i + 2] : 0;
		for (size_t k = 0; k < 4; k++)
			buf_addc(out, k > n
			                  ? '='
			                  : letters[bits >> (18 - 6 * k) & 63]);
	}
}

/* Returns how many bytes of s go into one encoded word; a UTF-8 sequence is
 * not divided. */
static size_t word_len(const char *s, size_t len)
{
	size_t n = len < WORD_BYTES ? len : WORD_BYTES;

	while (n < len && n > 1 && ((unsigned char)s[n] & 0xc0) == 0x80)
		n--;
	return n;
}

void mail_put_header(struct buf *out, const char *name, const char *text)
{
	size_t len = strlen(text);

	if (len > HEADER_MAX)
		for (len = HEADER_MAX;
		     len && ((unsigned char)text[len] & 0xc0) == 0x80;)
			len--;
	buf_printf(out, "%s: ", name);
	if (is_plain(text)) {
		buf_add(out, text, len);
		buf_addc(out, '\n');
		return;
	}
	for (size_t at = 0, n; at < len; at += n) {
		n = word_len(text + at, len - at);
		buf_puts(out, at ? "\n =?UTF-8?B?" : "=?UTF-8?B?");
		put_base64(out, (const unsigned char *)text + at, n);
		buf_puts(out, "?=");
	}
	buf_addc(out, '\n');
}
