/* ports.c - ports of a job that have names: `jupyter=8888,board=6006` */
#include "libcommon/spec/ports.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "libcommon/jobid.h"
#include "libcommon/parse.h"

bool ports_next(const char **at, struct port *ret)
{
	const char *s = *at;

	if (!s || !*s)
		return false;
	ret->name = s;
	ret->name_len = strcspn(s, "=");
	s += ret->name_len;
	for (ret->number = 0; *s && *s != ','; s++)
		if (*s != '=')
			ret->number = (uint16_t)(ret->number * 10 + (*s - '0'));
	*at = s + (*s == ',');
	return true;
}

static bool is_name(const char *s, size_t len)
{
	bool small = len && len <= PORT_NAME_MAX && *s >= 'a' && *s <= 'z' &&
	             s[len - 1] != '-';

	for (size_t i = 0; small && i < len; i++)
		small = (s[i] >= 'a' && s[i] <= 'z') ||
		        (s[i] >= '0' && s[i] <= '9') || s[i] == '-';
	return small;
}

/* Read the port in the first len bytes of s. */
static int read_port(const char *s, size_t len, struct port *ret,
                     struct err *err)
{
	size_t name_len = strcspn(s, "=,");
	char digits[16] = "";
	int64_t number;

	if (name_len == len || !is_name(s, name_len))
		return err_set(err, EINVAL,
		               "bad port '%.*s': use NAME=PORT, where NAME has "
		               "up to %d small letters, digits and '-', with a "
		               "letter first and no '-' last",
		               (int)len, s, PORT_NAME_MAX);
	if (len - name_len - 1 < sizeof(digits))
		memcpy(digits, s + name_len + 1, len - name_len - 1);
	if (parse_int(digits, 1, UINT16_MAX, &number, err) < 0)
		return err_set(err, EINVAL,
		               "bad port '%.*s': ports are 1 to %d", (int)len,
		               s, UINT16_MAX);
	*ret = (struct port){ s, name_len, (uint16_t)number };
	return 0;
}

/* Check that the list has neither the name nor the number of the port. */
static int check_new(const struct port *list, size_t n, const struct port *p,
                     struct err *err)
{
	for (size_t i = 0; i < n; i++) {
		if (list[i].name_len == p->name_len &&
		    !memcmp(list[i].name, p->name, p->name_len))
			return err_set(err, EINVAL,
			               "two ports have the name '%.*s'",
			               (int)p->name_len, p->name);
		if (list[i].number == p->number)
			return err_set(err, EINVAL,
			               "port %u has two names: give it one",
			               (unsigned)p->number);
	}
	return 0;
}

int ports_check(const char *ports, struct err *err)
{
	struct port list[PORTS_MAX];
	size_t n = 0;

	for (const char *s = ports; s;) {
		size_t len = strcspn(s, ",");
		struct port p;

		if (read_port(s, len, &p, err) < 0 ||
		    check_new(list, n, &p, err) < 0)
			return -1;
		if (n == PORTS_MAX)
			return err_set(err, EINVAL,
			               "a job may have %d ports with names",
			               PORTS_MAX);
		list[n++] = p;
		s = s[len] ? s + len + 1 : NULL;
	}
	return 0;
}

uint16_t ports_find(const char *ports, const char *name)
{
	struct port p;

	while (ports_next(&ports, &p))
		if (strlen(name) == p.name_len &&
		    !memcmp(name, p.name, p.name_len))
			return p.number;
	return 0;
}

void ports_service(const char *cluster, uint64_t job, struct buf *out)
{
	char name[JOBID_OBJECT_SIZE];

	jobid_object(name, cluster, job, "ports");
	buf_puts(out, name);
}
