/* license.c - parse the licenses that a request names */
#include "aischedd/state/cluster/license.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/state/state_priv.h"
#include "libcommon/mem.h"

int licenses_parse(const struct conf *conf, const char *text,
                   struct snap_license_use ret[MAX_LICENSES], size_t *ret_n,
                   struct err *err)
{
	const char **name = xcalloc(conf->nlicenses + 1, sizeof(*name));
	int result;

	for (size_t i = 0; i < conf->nlicenses; i++)
		name[i] = conf->licenses[i].name;
	result =
	    licenses_parse_named(name, conf->nlicenses, text, ret, ret_n, err);
	free(name);
	return result;
}

int licenses_parse_named(const char *const *name, size_t nnames,
                         const char *text,
                         struct snap_license_use ret[MAX_LICENSES],
                         size_t *ret_n, struct err *err)
{
	size_t n = 0;

	for (const char *s = text; *s; s += *s == ',') {
		size_t len = strcspn(s, ",:"), i = 0;
		int64_t count = 1;
		char *end;

		while (i < nnames &&
		       (strlen(name[i]) != len || strncmp(name[i], s, len)))
			i++;
		if (i == nnames)
			return err_set(err, ENOENT,
			               "there is no licence '%.*s'", (int)len,
			               s);
		s += len;
		if (*s == ':') {
			errno = 0;
			count = strtoll(s + 1, &end, 10);
			if (end == s + 1 || errno || count < 1 ||
			    (*end && *end != ','))
				return err_set(err, EINVAL,
				               "licences '%s': a count of 1 "
				               "or more is expected after ':'",
				               text);
			s = end;
		}
		if (n == MAX_LICENSES)
			return err_set(err, EINVAL,
			               "a job may need at most %d kinds of "
			               "licences",
			               MAX_LICENSES);
		ret[n++] = (struct snap_license_use){ .license = (uint32_t)i,
			                              .count = count };
	}
	*ret_n = n;
	return 0;
}
