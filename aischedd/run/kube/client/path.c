/* path.c - build paths of requests */
#include "aischedd/run/kube/client/path.h"

#include <string.h>

static void put_escaped(struct buf *out, const char *s)
{
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c < 128 &&
		    (strchr("-._~", c) || (c >= '0' && c <= '9') ||
		     (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')))
			buf_addc(out, *s);
		else
			buf_printf(out, "%%%02X", c);
	}
}

void kube_path_name(struct buf *path, const char *name)
{
	buf_addc(path, '/');
	put_escaped(path, name);
}

void kube_path_query(struct buf *path, const char *key, const char *value)
{
	buf_addc(path, path->data && strchr(path->data, '?') ? '&' : '?');
	put_escaped(path, key);
	buf_addc(path, '=');
	put_escaped(path, value);
}
