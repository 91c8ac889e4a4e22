/* file.c - read small files with credentials */
#include "aischedd/run/kube/client/file.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libcommon/buf.h"
#include "libcommon/mem.h"

#define FILE_MAX ((off_t)4 << 20)

static int read_all(int fd, char *text, size_t size, size_t *ret_len)
{
	size_t len = 0;
	ssize_t n;

	do {
		n = read(fd, text + len, size - len);
		if (n > 0)
			len += (size_t)n;
	} while (n > 0 && len < size);
	*ret_len = len;
	return n < 0 ? -1 : 0;
}

char *kube_file_read(const char *path, struct arena *arena, size_t *ret_len,
                     struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char *text = NULL;
	struct stat st;
	size_t len;

	if (fd < 0 || fstat(fd, &st) < 0) {
		err_sys(err, "'%s'", path);
	} else if (!S_ISREG(st.st_mode)) {
		err_set(err, EINVAL, "'%s' is not a file", path);
	} else if (st.st_size > FILE_MAX) {
		err_set(err, EFBIG, "'%s' is larger than %d MiB", path,
		        (int)(FILE_MAX >> 20));
	} else {
		text = arena_alloc(arena, (size_t)st.st_size + 1, 1);
		if (read_all(fd, text, (size_t)st.st_size, &len) < 0) {
			err_sys(err, "'%s'", path);
			text = NULL;
		} else if (memchr(text, '\0', len)) {
			err_set(err, EINVAL, "'%s' is not text", path);
			text = NULL;
		} else {
			*ret_len = len;
		}
	}
	if (fd >= 0)
		close(fd);
	return text;
}

static int digit_of(char c)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

char *kube_base64(const char *s, struct arena *arena, struct err *err)
{
	char *text = arena_alloc(arena, strlen(s) / 4 * 3 + 4, 1), *out = text;
	unsigned bits = 0;
	int n = 0, pad = 0;

	for (; *s; s++) {
		int digit = digit_of(*s);

		if (strchr(" \t\r\n", *s))
			continue;
		if (*s == '=')
			pad++;
		else if (digit < 0 || pad)
			break;
		bits = bits << 6 | (unsigned)(digit < 0 ? 0 : digit);
		if (++n % 4)
			continue;
		*out++ = (char)(bits >> 16);
		*out++ = (char)(bits >> 8);
		*out++ = (char)bits;
		bits = 0;
	}
	if (*s || n % 4 || pad > 2) {
		err_set(err, EINVAL, "is not base64");
		return NULL;
	}
	out[-pad * (n > 0)] = '\0';
	if (memchr(text, '\0', (size_t)(out - text) - (size_t)pad)) {
		err_set(err, EINVAL, "is not text after decoding");
		return NULL;
	}
	return text;
}

char *kube_base64_of(const void *data, size_t len)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *p = data;
	struct buf out = { 0 };

	buf_puts(&out, "");
	for (size_t i = 0; i < len; i += 3) {
		uint32_t bits = (uint32_t)p[i] << 16;

		if (i + 1 < len)
			bits |= (uint32_t)p[i + 1] << 8;
		if (i + 2 < len)
			bits |= p[i + 2];
		buf_addc(&out, digits[bits >> 18]);
		buf_addc(&out, digits[bits >> 12 & 63]);
		buf_addc(&out, i + 1 < len ? digits[bits >> 6 & 63] : '=');
		buf_addc(&out, i + 2 < len ? digits[bits & 63] : '=');
	}
	return buf_take(&out);
}

int kube_pem_check(const char *text, enum kube_pem kind, struct err *err)
{
	const char *begin = strstr(text, "-----BEGIN ");

	if (kind == PEM_CERTIFICATE) {
		if (!strstr(text, "-----BEGIN CERTIFICATE-----"))
			return err_set(err, EINVAL, "has no PEM certificate");
		return 0;
	}
	if (!begin || !strstr(begin, "PRIVATE KEY-----"))
		return err_set(err, EINVAL, "has no PEM private key");
	/* OpenSSL would ask for the passphrase on the terminal, and block. */
	if (strstr(text, "ENCRYPTED"))
		return err_set(err, EINVAL,
		               "is encrypted; give a key without passphrase");
	return 0;
}

char *kube_token(const char *text, struct arena *arena, struct err *err)
{
	size_t len;
	char *token;

	text += strspn(text, " \t\r\n");
	len = strcspn(text, " \t\r\n");
	token = arena_alloc(arena, len + 1, 1);
	memcpy(token, text, len);
	text += len;
	for (const char *p = token; *p; p++)
		if (*p < '!' || *p > '~')
			len = 0;
	if (!len || text[strspn(text, " \t\r\n")]) {
		err_set(err, EINVAL, "has no token in it");
		return NULL;
	}
	return token;
}
